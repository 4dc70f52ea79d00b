"""Functions that return the tables and figures of the commands: ``query``, ``show``, ``diff``, ``plot``, ..."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .analysis.evaluations import ScoresLike, evaluations_of
from .analysis.queries import choose, coverage
from .analysis.query_options import Names, as_names
from .errors import AnnotationError, UnknownNameError, counted
from .plugins import import_module
from .progress import progress_of
from .reports.tables import Table, Tabulation

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from .analysis.differences import Comparable
    from .evaluation.linter import FileCheck
    from .progress import Progress
    from .reports.origins import Roots
    from .reports.page import PageReport


def show(scores: ScoresLike, group: str | None = None) -> Tabulation[xr.Dataset]:
    """List the contents of a store: evaluations, systems, tracks, metrics, coverage and provenance.

    Parameters
    ----------
    scores : path, sequence or mapping of paths, xr.DataTree or xr.Dataset
        As for :func:`mirflow.query`.
    group : str or None
        The evaluation; None: all.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation the numbers of cells of each system by status, ``cells`` over (system, status).

    Raises
    ------
    StoreError
        If a path is not a result store.
    UnknownNameError
        For another group.
    """
    from .reports.summaries import all_scored, contents_table, coverage_table, store_overview_table

    boards = choose(evaluations_of(scores), None, group)

    def counts() -> list[Table]:
        return [coverage_table(name, ds) for name, ds in boards.items()]

    def overview(width: int) -> list[Table]:
        tables = [store_overview_table(boards)]
        for name, ds in boards.items():
            tables += [contents_table(name, ds), *([] if all_scored(ds) else [coverage_table(name, ds)])]
        return tables

    found = [coverage(ds).assign_attrs(group=name) for name, ds in boards.items()]
    return Tabulation(found, overview, counts)


def check(
    paths: str | Path | Sequence[str | Path],
    task: str | None = None,
    *,
    convention: str | None = None,
    schema: bool = True,
    annotator: str | int | None = None,
    reference: str | Path | None = None,
    role: Literal["reference", "estimate"] | None = None,
    beside: str | Path | None = None,
    beside_task: str | None = None,
    worst: int | None = None,
    **options: Any,
) -> Tabulation[FileCheck]:
    """List the problems of annotation files, and of those in folders, with file and line.

    Parameters
    ----------
    paths : path or sequence of paths
        One pipeline file (.yaml): the references of its evaluations, those of several evaluations beside each other.
    task, convention, schema, annotator, reference, role, beside, beside_task, **options
        See :func:`mirflow.evaluation.linter.check_paths`.
    worst : int or None
        List so many of the notes about probable mistakes in the tables, the strongest first, and nothing else.

    Returns
    -------
    Tabulation of FileCheck
        One for each file, those without problems too; the tables have a row for each problem.

    Raises
    ------
    AnnotationError
        If a path does not exist, a folder holds no annotation file, or a reference is given without a task.
    """
    from .evaluation.linter import check_paths, check_pipeline, count_by_severity

    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    words: dict[str, Any] = {"convention": convention, "schema": schema, "annotator": annotator, "beside": beside}
    words |= {"reference": reference, "role": role, "beside_task": beside_task}
    if len(listed) == 1 and Path(listed[0]).suffix.lower() in (".yaml", ".yml"):
        given = [name for name, value in {**words, **options}.items() if value is not None and name != "schema"]
        if given:
            raise AnnotationError(f"{given[0]} does not apply to a pipeline, which says how references are read")
        checks = list(check_pipeline(listed[0], task))
    else:
        checks = list(check_paths(listed, task, **words, **options))
    counts: tuple[Mapping[Any, int], ...] = (Counter(one.what for one in checks), count_by_severity(checks))
    summary = ": ".join(", ".join(counted(number, name) for name, number in one.items()) for one in counts)
    columns = ("file", "line", "severity", "rule", "message", "annotator", "track", "second", "strength")
    found = [(one, problem) for one in checks for problem in one.problems]
    if worst is not None:
        ranked = [(one, problem) for one, problem in found if problem.strength is not None]
        found = sorted(ranked, key=lambda pair: -(pair[1].strength or 0.0))[:worst]
    rows = tuple(
        (one.path, it.line, it.severity, it.rule, it.message, it.annotator, one.track, it.second, it.strength)
        for one, it in found
    )
    table = Table(columns, rows, folds=("message",))
    return Tabulation(checks, lambda width: [replace(table, notes=(summary,))], lambda: [table], (summary,))


def diff(
    a: Comparable,
    b: Comparable,
    *,
    metric: Names = None,
    system: Names = None,
    tracks: Names = None,
    tolerance: float | None = None,
    pair: Mapping[str, str] | None = None,
    root: str | Path | None = None,
    worst: int | None = None,
    every: bool = False,
) -> Tabulation[xr.Dataset]:
    """Differences of the evaluations that two sides have in common, as the command ``mirflow diff`` shows them.

    Parameters
    ----------
    a, b : path, xr.DataTree or xr.Dataset
        A store, one evaluation of a store (``path:group``), a mapping file (.yaml) that describes published tables, or
        what is open already. Systems and tracks are matched by name, metrics by name and parameters.
    metric, system, tracks : str, sequence of str or None
        As in a query; None: all that both have.
    tolerance : float or None
        Up to which scores agree; None: half of the last printed digit of a published table, at least 1e-9.
    pair : mapping of str to str or None
        Metrics of a and the one of b that each is compared with, ``{"f_measure": "f_measure(matching=greedy)"}``; then
        no others are compared unless `metric` names some. Such a metric is called ``A=B``.
    root : path or None
        Folder in which the patterns of mapping files start, instead of the ones that they name.
    worst : int or None
        Show so many of the cells of each metric that differ most, too.
    every : bool
        Show a row for each metric in tables for people, not only for those that differ. Datasets and the rows for
        programs always have all.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation ``a``, ``b`` and ``difference`` (a - b) float64 over (system, track, metric), NaN where a
        side has no score; over metric ``relative_change`` (the average of ``|a - b| / ((|a| + |b|) / 2)``, 0 where
        both are 0: section 4 of Raffel et al., mir_eval, ISMIR 2014), ``mean_difference``, ``max_difference``, ``n``
        and ``n_agreeing``, ``missing_a`` and ``missing_b`` (a cell of which a published table has no row is not missing
        there); ``setting_a`` and ``setting_b`` over what differs in the settings. Attributes name what only one side
        has. ``found["difference"]`` is a variable of the only one.

    Raises
    ------
    QueryError
        If the sides have nothing in common.
    UnknownNameError
        For a name that is not there, with a suggestion.

    Examples
    --------
    >>> import mirflow
    >>> references = {"x": [1.0, 2.0], "y": [3.0]}
    >>> ours = mirflow.score(references, {"x": [1.0], "y": [3.0]}, "onset")
    >>> theirs = mirflow.score(references, {"x": [2.0, 5.0], "y": [3.0]}, "onset")
    >>> found = diff(ours, theirs, metric="precision")
    >>> found["max_difference"].item(), found["n_agreeing"].item()
    (0.5, 1)
    """
    from .analysis.differences import differences
    from .reports.comparisons_tables import difference_long_table, difference_table, worst_table

    found, left = differences(
        a, b, metric=metric, system=system, tracks=tracks, tolerance=tolerance, pair=pair, root=root
    )
    alone = [f"evaluations only in {side}: {', '.join(names)}" for side, names in zip("ab", left, strict=True) if names]

    def tables(width: int) -> list[Table]:
        made = []
        for one in found:
            made.append(difference_table(one, alone if one is found[-1] else (), every=every))
            made += [table for table in [worst_table(one, worst)] if table.rows] if worst else []
        return made

    def rows() -> list[Table]:
        return [worst_table(one, worst, long=True) if worst else difference_long_table(one) for one in found]

    return Tabulation(found, tables, rows)


def plot(scores: ScoresLike, kind: str, path: str | Path | None = None, **options: Any) -> Axes:
    """Draw a figure of scores, as the command ``mirflow plot`` does.

    Parameters
    ----------
    scores : path, sequence or mapping of paths, xr.DataTree or xr.Dataset
        As for :func:`mirflow.query`.
    kind : str
        ``distributions``, ``heatmap`` and the other functions of :mod:`mirflow.reports.figures`.
    path : path or None
        The file to write: .pdf, .png or .svg; None: nothing is written.
    **options
        ``metric`` and the other parameters of that function.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    UnknownNameError
        For another kind, with a suggestion.
    FigureError
        If there is nothing to show, or matplotlib is not installed.
    """
    from .reports.figures import kinds, save

    known = {one.name: one for one in kinds()}
    name = kind.replace("_", "-")
    if name not in known:
        raise UnknownNameError("figure", kind, known)
    axes = known[name].draw(scores, **options)
    if path is not None:
        save(axes, path)
    return axes


def report(
    scores: ScoresLike,
    path: str | Path = "report.html",
    metric: Names = None,
    *,
    timelines: str | int = "auto",
    root: Roots = None,
    title: str | None = None,
    references: bool = True,
    only_aggregates: bool = False,
    where: str | None = None,
    budget: bool = False,
    plugins: Names = None,
    progress: bool | Progress | None = None,
) -> PageReport:
    """Write one HTML page about scores, as the command ``mirflow report`` does.

    Parameters
    ----------
    scores : path, sequence or mapping of paths, xr.DataTree or xr.Dataset
        As for :func:`mirflow.query`. Scores that no pipeline computed have no timelines.
    path : path
        The file to write.
    metric : str, sequence of str or None
        What the page shows first.
    timelines, root, title, references, only_aggregates, where, budget
        See :func:`mirflow.reports.page.write_page`.
    progress : bool, Progress or None
        Whether the stages and the number of timelines are shown; None: on a terminal or in a notebook.
    plugins : str, sequence of str or None
        Python files and modules that declare the tasks and readers of the pipeline, for timelines: they are run, and a
        store's own are not unless they are named here.

    Returns
    -------
    PageReport
        A path: ``open(mirflow.report(...))`` reads the page. Its ``notes`` say what was left out.

    Raises
    ------
    QueryError
        Without scores, or if the file cannot be written.
    UnknownNameError
        For a metric that no evaluation has.
    StoreError
        If a path is not a result store.
    PluginError
        If a plugin cannot be imported.
    """
    from .reports.page import write_page

    for plugin in as_names(plugins) or ():
        import_module(os.path.realpath(plugin) if plugin.endswith(".py") else plugin)
    return write_page(
        scores,
        path,
        timelines=timelines,
        metrics=as_names(metric) or (),
        root=root,
        title=title,
        references=references,
        only_aggregates=only_aggregates,
        where=where,
        budget=budget,
        progress=progress_of(progress),
    )
