"""Functions that return the tables and figures of the commands: ``query``, ``show``, ``diff``, ``plot``, ..."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from .analysis.aggregation import aggregate_query
from .analysis.evaluations import Boards, ScoresLike, evaluations_of
from .analysis.missing import CellProblem, count_scored, find_problems
from .analysis.over_systems import refuse_over_systems
from .analysis.per_class import rated_kind, rated_variables
from .analysis.queries import choose, coverage, evaluate_query, headline_metrics, primary_results, say_left_out
from .analysis.query_options import BEST, Names, Query, QueryOptions, as_names, make_query
from .analysis.scores import names_of
from .analysis.selection import find_measures, headline_metric
from .errors import AnnotationError, QueryError, UnknownNameError, counted
from .plugins import import_module
from .progress import progress_of
from .reports.layout import long_table, readable_tables, wide_table
from .reports.tables import Table, Tabulation, merge
from .store.format import list_cautions

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from .analysis.differences import Comparable
    from .analysis.signatures import Signature
    from .evaluation.linter import FileCheck
    from .progress import Progress
    from .reports.origins import Roots
    from .reports.page import PageReport


def query(
    scores: ScoresLike,
    metric: Names = None,
    aggregate: str | None = None,
    by: Names = None,
    *,
    group: str | None = None,
    ci: float | None = None,
    significance: float | None = None,
    ranks: float | None = None,
    against: str | None = None,
    oracle: bool = False,
    cluster: str | None = None,
    method: str | None = None,
    primary: bool = False,
    main: bool = False,
    worst: int | None = None,
    best: int | None = None,
    overall: bool = False,
    agreement: str | None = None,
    pivot: str | None = None,
    percent: bool = False,
    **options: Unpack[QueryOptions],
) -> Tabulation[xr.Dataset]:
    """Aggregate scores over tracks, as the command ``mirflow query`` does.

    Parameters
    ----------
    scores : path, sequence or mapping of paths, xr.DataTree or xr.Dataset
        A store, or several as one (see :func:`mirflow.open_store`); an opened tree; or the scores of one evaluation,
        such as :func:`mirflow.score` gives. A mapping of labels may hold all of these.
    metric, aggregate, by, **options
        See :class:`mirflow.analysis.query_options.Query`. Without `sort` the best system comes first, unless `system`
        names an order.
    group : str or None
        The evaluation; None: every one that has the metrics.
    ci : float or None
        Level of confidence intervals, such as 0.95; None: no intervals.
    significance : float or None
        Level of the tests that mark the systems that are not told apart from the best; None: no marks.
    ranks : float or None
        Level of intervals of ranks: the result is that of :func:`mirflow.ranks`. None: no ranks.
    against : str or None
        Correlate the scores of tracks with a covariate: the result is that of
        :func:`mirflow.analysis.inference.covariates.correlations`, with intervals of level `ci` (0.95).
    oracle : bool
        Combine the systems by the best one of each track: the result is that of
        :func:`mirflow.analysis.inference.oracles.oracle`, with an interval of level `ci` (0.95).
    cluster : str or None
        For intervals and tests: a coordinate of the tracks (artist) whose tracks are drawn together.
    method : str or None
        Of intervals: see :func:`mirflow.analysis.inference.confidence_intervals.intervals`; None: ``auto``.
    primary : bool
        The headline metric of each evaluation, in one table with the systems across.
    main : bool
        Of each evaluation the metrics that papers report, if none is named: the headline, and of very many the first.
    worst, best : int or None
        List so many of the worst or the best tracks of each system.
    overall : bool
        List them by the mean over the systems.
    agreement : {"metric", "annotator", "system"} or None
        Kendall's tau between the rankings of the systems by metrics or annotators, or of the tracks by systems; between
        metrics with intervals of level `ci`.
    pivot : {"metric", "system", "group"} or None
        What runs across; None: in tables for people what fits, and in those for programs nothing.
    percent : bool
        Ratios as percentages in tables for people.

    Returns
    -------
    Tabulation of xr.Dataset
        A dataset for each evaluation, and for each metric with extra dims, as ``.mirflow.query`` gives it.

    Raises
    ------
    QueryError
        If options exclude each other, or the query makes no sense for these scores.
    UnknownNameError
        For a name that is not there, with a suggestion.
    StoreError
        If a path is not a result store.

    Examples
    --------
    >>> import numpy as np, mirflow
    >>> references = {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([0.5, 1.5])}
    >>> estimates = {"ours": {"a": np.array([1.0, 2.0]), "b": np.array([0.5, 1.5])}}
    >>> result = query(mirflow.score(references, estimates, "onset"), "f_measure")
    >>> result["value"].values.round(4).tolist()
    [[0.9]]
    >>> print(result.to_csv())  # doctest: +ELLIPSIS
    task,convention,...
    """
    flags = {"by": by, "ci": ci, "significance": significance, "cluster": cluster, "primary": primary, "worst": worst}
    flags |= {
        "ranks": ranks,
        "against": against,
        "oracle": oracle,
        "method": method,
        "best": best,
        "overall": overall,
        "agreement": agreement,
        "pivot": pivot,
        "percent": percent,
    }
    _check_query({"metric": metric, "aggregate": aggregate, **flags, **options})
    listed = worst is not None or best is not None
    if listed:
        options = {"undefined": "skip", **options}
    # The best system comes first, unless systems were named in another order.
    if options.get("sort") is None and not (listed or agreement or ranks or oracle or options.get("system")):
        options = {**options, "sort": BEST}
    asked = make_query("query", metric, aggregate, by, **options)
    boards = choose(evaluations_of(scores), asked.metric, group)
    if agreement is not None:
        return _agreement(boards, asked, agreement, ci, cluster)
    if against is not None:
        return _correlate(boards, asked, against, 0.95 if ci is None else ci, {"cluster": cluster, "method": method})
    if oracle:
        return _oracle(boards, asked, 0.95 if ci is None else ci, percent, {"cluster": cluster, "method": method})
    if ranks is not None:
        from .system_comparisons import rank_systems

        return rank_systems(boards, asked, percent, level=ranks, cluster=cluster)
    if listed:
        return _extremes(boards, asked, worst, best, overall, percent)
    left = {name: _main_metrics(ds, asked) for name, ds in boards.items()} if main else {}
    ask: Callable[..., Sequence[xr.Dataset]] = evaluate_query
    if ci is not None or significance is not None:
        how = {"cluster": cluster, "method": method}
        ask = partial(_infer, ci=ci, significance=significance, how=how, rated=not primary)
    if primary:
        return _primary(*primary_results(boards, asked, ask), boards, asked, percent)
    each = {name: left[name][0] if name in left else asked for name in boards}
    found = [(result, name) for name, ds in boards.items() for result in ask(ds, each[name], name)]
    signed = [(result, partial(_sign, boards[name], each[name], result)) for result, name in found]
    notes = [left[name][1] if name in left else () for _, name in found]

    def tables(width: int) -> list[Table]:
        layout: dict[str, Any] = {"percent": percent, "width": width, "across": pivot}
        return [
            table
            for (one, sign), own in zip(signed, notes, strict=True)
            for table in readable_tables(one, **layout, notes=own, signatures=partial(sign, percent=percent))
        ]

    def rows() -> list[Table]:
        return [long_table(one, sign) if pivot is None else wide_table(one, pivot) for one, sign in signed]

    return Tabulation([result for result, _ in signed], tables, rows)


def _main_metrics(ds: xr.Dataset, asked: Query) -> tuple[Query, Sequence[str]]:
    """A query of the main metrics, where it names none, and what it leaves out."""
    if asked.metric is not None or asked.aggregate is not None or asked.param:
        return asked, ()
    shown = headline_metrics(ds)
    left = say_left_out(names_of(ds, "metric"), shown)
    return (replace(asked, metric=shown, exact=True), (f"{left}: --all prints them",)) if left else (asked, ())


def _sign(ds: xr.Dataset, asked: Query, result: xr.Dataset, percent: bool = False) -> list[Signature]:
    """Sign a result when a table of it is written."""
    from .analysis.signatures import sign

    return sign(ds, asked, result, percent=percent)


def _extremes(
    boards: Boards, asked: Query, worst: int | None, best: int | None, overall: bool, percent: bool
) -> Tabulation[xr.Dataset]:
    """The worst or the best tracks of each evaluation."""
    from .analysis.worst import extremes
    from .reports.summaries import extremes_long_table, extremes_table

    count = (worst if best is None else best) or 0
    found = [
        extremes(ds, asked, count, best=best is not None, overall=overall, group=name) for name, ds in boards.items()
    ]
    return _tabulation(found, partial(extremes_table, percent=percent), extremes_long_table)


def _primary(
    found: Sequence[xr.Dataset], bare: Mapping[str, str], boards: Boards, asked: Query, percent: bool
) -> Tabulation[xr.Dataset]:
    """The headline metrics of all evaluations in one table."""
    from .reports.summaries import primary_table

    notes = [f"{name}: left out, without {lacking}" for name, lacking in bare.items()]

    signed = [(one, partial(_sign, boards[one.attrs.get("group", "")], asked, one)) for one in found]

    def signatures() -> list[Signature]:
        return [signature for _, sign in signed for signature in sign(percent=percent)]

    def one_table(width: int) -> list[Table]:
        return [primary_table(found, percent=percent, left_out=bare, signatures=signatures)]

    return Tabulation(found, one_table, lambda: [long_table(*each) for each in signed], notes)


def _tabulation(
    found: Sequence[xr.Dataset], readable: Callable[[xr.Dataset], Table], rows: Callable[[xr.Dataset], Table]
) -> Tabulation[xr.Dataset]:
    return Tabulation(found, lambda width: list(map(readable, found)), lambda: list(map(rows, found)))


@dataclass(frozen=True)
class Question:
    """A question that a query may put, beside the plain one for aggregated scores."""

    does: str
    """What it does, as errors say it."""
    words: frozenset[str]
    """Arguments of `query` that it looks at; all others are refused."""


_CHOICE = frozenset(("metric", "system", "tracks", "where", "annotator", "param", "over", "missing", "undefined"))
_LISTED = Question("lists single tracks", _CHOICE | {"sort", "overall", "percent"})
QUESTIONS: Mapping[str, Question] = {
    "oracle": Question("combines the systems", _CHOICE | {"aggregate", "ci", "cluster", "method", "percent"}),
    "agreement": Question("compares rankings", _CHOICE | {"aggregate", "ci", "cluster"}),
    "against": Question("correlates the scores of tracks", _CHOICE | {"sort", "ci", "cluster", "method"}),
    "ranks": Question("ranks the systems over all tracks", _CHOICE | {"aggregate", "sort", "cluster", "percent"}),
    "primary": Question(
        "shows the headline metric of each evaluation",
        _CHOICE - {"metric", "param", "over"}
        | {"aggregate", "by", "across", "sort", "ci", "significance", "cluster", "method", "percent"},
    ),
    "worst": _LISTED,
    "best": _LISTED,
}
"""By the argument of `query` that asks it. A new argument is refused by all until a question names it."""


def takes(word: str, options: Mapping[str, Any]) -> bool:
    """Whether every question that some options of a query ask looks at an argument."""
    asked = [one for name, one in QUESTIONS.items() if options.get(name) not in (None, False)]
    return all(word in one.words for one in asked)


def _check_query(options: Mapping[str, Any]) -> None:
    """Refuse options that would not be looked at."""
    given = [name for name, value in options.items() if value not in (None, False, (), [], {})]
    listed = [name for name in ("worst", "best") if name in given]
    if len(listed) == 2:
        raise QueryError("'worst' or 'best', not both")
    if "overall" in given and not listed:
        raise QueryError("'overall' is about listed tracks; add 'worst' or 'best'")
    for name, question in QUESTIONS.items():
        for other in given if name in given else ():
            if other != name and other not in question.words:
                raise QueryError(f"{name!r} {question.does} and takes no {other!r}")
    if "cluster" in given and not {"ci", "significance", "ranks", "against", "oracle"} & set(given):
        raise QueryError("'cluster' is about intervals; add 'ci', 'significance' or 'ranks'")
    if "method" in given and not {"ci", "against", "oracle"} & set(given):
        raise QueryError("'method' is about intervals; add 'ci' or 'against'")


def _infer(
    ds: xr.Dataset,
    asked: Query,
    name: str,
    *,
    ci: float | None,
    significance: float | None,
    how: Mapping[str, str | None],
    rated: bool,
) -> Sequence[xr.Dataset]:
    """Aggregate the scores of one evaluation with intervals or marks, perhaps of classes and tags."""
    from .analysis.inference import intervals
    from .analysis.inference.comparisons import mark_best
    from .analysis.inference.repeated_runs import is_about_runs

    if significance is not None:
        refuse_over_systems(asked, "significance")
    rated = rated and rated_kind(ds, asked) is not None
    if asked.across and not rated and not is_about_runs(ds, asked):
        first = "significance" if ci is None else "ci"
        raise QueryError(f"'across' gives statistics of statistics, and {first!r} is about tracks: leave one out")
    if ci is not None:
        named = [str(find_measures(ds)[one]) for one in rated_variables(ds, asked)] if rated else []
        # Where there is none, or another metric beside it, the query raises the error.
        each = [replace(asked, metric=one, exact=True) for one in named] or [asked]
        words: dict[str, Any] = {key: value for key, value in how.items() if value is not None}
        found = [intervals(ds, one, level=ci, group=name, **words) for one in each]
    elif rated or asked.across:
        found = evaluate_query(ds, asked, name)
    else:
        found = [aggregate_query(ds, asked, name)]
    if significance is None:
        return found
    return [mark_best(ds, asked, one, level=significance, cluster=how["cluster"]) for one in found]


def _agreement(
    boards: Boards, asked: Query, between: str, level: float | None, cluster: str | None
) -> Tabulation[xr.Dataset]:
    """Agreement of metrics (by default all that rank), annotators or systems (by default on the headline)."""
    from .analysis.inference import agreement
    from .reports.inference_tables import agreement_long_table, agreement_table

    found: list[xr.Dataset] = []
    how: dict[str, Any] = {"between": between, "level": level, "cluster": cluster}
    for name, ds in boards.items():
        if asked.metric is None:
            ranking = ds["metric"].values[ds["orientation"].values != "none"].tolist()
            default = ranking if between == "metric" else headline_metric(ds)
            found.append(agreement(ds, replace(asked, metric=default, exact=True), **how, group=name))
        else:
            found.append(agreement(ds, asked, **how, group=name))
    return _tabulation(found, agreement_table, agreement_long_table)


def _correlate(
    boards: Boards, asked: Query, against: str, level: float, how: Mapping[str, str | None]
) -> Tabulation[xr.Dataset]:
    """Correlations of scores with a covariate, by default of the headline metric."""
    from .analysis.inference.covariates import correlations
    from .reports.inference_tables import correlation_long_table, correlation_tables
    from .system_comparisons import each_evaluation

    given: dict[str, Any] = {name: value for name, value in how.items() if value is not None}
    infer = partial(correlations, covariate=against, level=level, **given)
    return each_evaluation(boards, asked, infer, correlation_tables, correlation_long_table)


def _oracle(
    boards: Boards, asked: Query, level: float, percent: bool, how: Mapping[str, str | None]
) -> Tabulation[xr.Dataset]:
    """Systems combined by an oracle, by default by the headline metric."""
    from .analysis.inference import oracle
    from .reports.inference_tables import oracle_long_table, oracle_tables
    from .system_comparisons import each_evaluation

    given: dict[str, Any] = {name: value for name, value in how.items() if value is not None}
    return each_evaluation(
        boards, asked, partial(oracle, level=level, **given), partial(oracle_tables, percent=percent), oracle_long_table
    )


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


def problems(scores: ScoresLike, group: str | None = None) -> Tabulation[CellProblem]:
    """List every cell without a score, of an empty file, or with a warning, with the reason.

    Parameters
    ----------
    scores, group
        As for :func:`mirflow.show`.

    Returns
    -------
    Tabulation of CellProblem
        Its notes are the warnings about whole evaluations.

    Raises
    ------
    StoreError
        If a path is not a result store.
    UnknownNameError
        For another group.
    """
    from .reports.summaries import causes_table, problems_table

    boards = choose(evaluations_of(scores), None, group)
    found = {name: find_problems(ds) for name, ds in boards.items()}
    every = [one for own in found.values() for one in own]
    scored = count_scored(every)
    warned = [f"warning: {name}: {text}" for name, ds in boards.items() for text in list_cautions(ds.attrs)]

    def tables(cut: bool) -> list[Table]:
        made = [causes_table(name, own) if cut else problems_table(name, own) for name, own in found.items()]
        counts = [f"scored yes: {scored}, whose scores count"] if scored else []
        counts = counts if every else ["every cell has a score"]
        return [replace(merge(made), folds=made[0].folds, notes=(*counts, *warned))]

    return Tabulation(every, lambda width: tables(True), lambda: tables(False), warned)


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
