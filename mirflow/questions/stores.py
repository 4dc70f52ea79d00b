"""Questions about stores: what their systems score, what they hold and what they lack, and how two differ.

Aggregates can have confidence intervals and marks beside systems that do not differ significantly from the best.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..analysis.query_options import OPTIONS, Query, QueryOption
from ..errors import QueryError
from . import Answer, Boards, question, replicating, testing

if TYPE_CHECKING:
    from pathlib import Path

    import xarray as xr

    from ..analysis.differences import Comparable
    from ..analysis.signatures import Signature
    from ..reports.tables import Table, Tabulation


@question(
    "Aggregate scores: means, recalls, groups.",
    section="first",
    place=6,
    words=OPTIONS,
    options={
        "primary": QueryOption(
            "One table: the headline metric of each evaluation, with systems as columns.", local=True
        ),
        "main": QueryOption(
            "Of each evaluation the metrics that papers report, if none is named: the headline, and of very many the "
            "first.",
            unlisted=True,
            local=True,
        ),
        "pivot": QueryOption(
            "Columns of the table; in csv, one column each.", choices=lambda: ("metric", "system", "group"), local=True
        ),
    },
    best_first=True,
    cost=lambda *size: ("ci" in size[3] and replicating(*size)) + ("significance" in size[3] and testing(*size)),
)
def query(
    boards: Boards,
    query: Query,
    *,
    primary: bool = False,
    main: bool = False,
    ci: float | None = None,
    cluster: str | None = None,
    method: str | None = None,
    unit: str | None = None,
    replicates: int | None = None,
    rng: int | None = None,
    significance: float | None = None,
    pivot: str | None = None,
    percent: bool = False,
) -> Answer:
    """Aggregate scores over tracks: means, recalls, and others, of all tracks or of groups.

    Several stores are queried as one. Every result names its aggregate, the number of tracks (n), the numbers of cells
    without a score (missing) or with nothing to measure (undefined), and their treatment. The best system comes first
    in tables for people, unless systems are named.

    Returns
    -------
    Tabulation of xr.Dataset
        A dataset for each evaluation, and for each metric with extra dims, as
        :func:`mirflow.analysis.queries.aggregate` gives it; with `ci` those of
        :func:`mirflow.analysis.inference.confidence_intervals.intervals`.

    Examples
    --------
    >>> import numpy as np, mirflow
    >>> references = {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([0.5, 1.5])}
    >>> estimates = {"ours": {"a": np.array([1.0, 2.0]), "b": np.array([0.5, 1.5])}}
    >>> result = mirflow.query(mirflow.score(references, estimates, "onset"), "f_measure")
    >>> result["value"].values.round(4).tolist()
    [[0.9]]
    >>> print(result.to_csv())  # doctest: +ELLIPSIS
    task,convention,...
    """
    from ..analysis.queries import evaluate_query, headline_metrics, say_left_out
    from ..analysis.scores import names_of
    from ..analysis.signatures import sign
    from ..reports.layout import long_table, readable_tables, wide_table
    from ..reports.tables import Tabulation

    for name in ("metric", "param", "over", "pivot") if primary else ():
        if pivot if name == "pivot" else getattr(query, name):
            raise QueryError(f"'primary' shows the headline metric of each evaluation and takes no {name!r}")
    if cluster and ci is None and significance is None:
        raise QueryError("'cluster' is about intervals; add 'ci' or 'significance'")
    drawn = {"method": method, "unit": unit, "replicates": replicates, "rng": rng}
    for name, value in drawn.items():
        if value is not None and ci is None:
            raise QueryError(f"{name!r} is about intervals; add 'ci'")
    ask: Callable[..., Sequence[xr.Dataset]] = evaluate_query
    if ci is not None or significance is not None:
        how = {"cluster": cluster, **drawn}
        ask = partial(_infer, ci=ci, significance=significance, how=how, rated=not primary)

    if primary:
        return _primary(boards, query, ask, percent)
    found: list[tuple[xr.Dataset, Callable[..., list[Signature]], Sequence[str]]] = []
    for name, ds in boards.items():
        asked, notes = query, tuple[str, ...]()
        if main and query.metric is None and query.aggregate is None and not query.param:
            shown = headline_metrics(ds)
            left = say_left_out(names_of(ds, "metric"), shown)
            if left:
                asked, notes = replace(query, metric=shown, exact=True), (f"{left}: --all prints them",)
        found += [(result, partial(sign, ds, asked, result), notes) for result in ask(ds, asked, name)]
    layout: dict[str, Any] = {"percent": percent, "across": pivot}
    return Tabulation(
        [result for result, *_ in found],
        lambda width: [
            table
            for result, sign_cells, notes in found
            for table in readable_tables(
                result, **layout, width=width, notes=notes, signatures=partial(sign_cells, percent=percent)
            )
        ],
        lambda: [
            long_table(result, sign_cells) if pivot is None else wide_table(result, pivot)
            for result, sign_cells, _ in found
        ],
    )


def _primary(
    boards: Boards, query: Query, ask: Callable[..., Sequence[xr.Dataset]], percent: bool
) -> Tabulation[xr.Dataset]:
    """One table of the headline metric of each evaluation."""
    from ..analysis.queries import primary_results
    from ..analysis.signatures import sign
    from ..reports.layout import long_table
    from ..reports.summaries import primary_table
    from ..reports.tables import Tabulation

    results, bare = primary_results(boards, query, ask)
    signing = [(result, partial(sign, boards[result.attrs.get("group", "")], query, result)) for result in results]
    return Tabulation(
        results,
        lambda width: [
            primary_table(
                results,
                percent=percent,
                left_out=bare,
                signatures=lambda: [
                    signature for _, sign_cells in signing for signature in sign_cells(percent=percent)
                ],
            )
        ],
        lambda: [long_table(*each) for each in signing],
        [f"{name}: left out, without {lacking}" for name, lacking in bare.items()],
    )


def _infer(
    ds: xr.Dataset,
    asked: Query,
    name: str,
    *,
    ci: float | None,
    significance: float | None,
    how: Mapping[str, Any],
    rated: bool,
) -> Sequence[xr.Dataset]:
    from ..analysis.aggregation import aggregate_query
    from ..analysis.dims import refuse_over_systems
    from ..analysis.inference import intervals
    from ..analysis.inference.comparisons import mark_best
    from ..analysis.inference.repeated_runs import is_about_runs
    from ..analysis.lookup import find_measures
    from ..analysis.per_class import rated_kind, rated_variables
    from ..analysis.queries import evaluate_query

    if significance is not None:
        refuse_over_systems(asked, "significance")
    rated = rated and rated_kind(ds, asked) is not None
    if asked.across and not rated and not is_about_runs(ds, asked):
        first = "significance" if ci is None else "ci"
        raise QueryError(f"'across' gives statistics of statistics, and {first!r} is about tracks: leave one out")
    if ci is not None:
        named = [str(find_measures(ds)[variable]) for variable in rated_variables(ds, asked)] if rated else []
        # Where there is none, or another metric beside it, the query raises the error.
        each = [replace(asked, metric=metric, exact=True) for metric in named] or [asked]
        words: dict[str, Any] = {key: value for key, value in how.items() if value is not None}
        found = [intervals(ds, single, level=ci, group=name, **words) for single in each]
    elif rated or asked.across:
        found = evaluate_query(ds, asked, name)
    else:
        found = [aggregate_query(ds, asked, name)]
    if significance is None:
        return found
    return [mark_best(ds, asked, result, level=significance, cluster=how["cluster"]) for result in found]


@question(
    "List the contents of a store.",
    place=2,
    words=(),
    options={"pipeline": QueryOption("Print only the pipeline file of the store.", local=True)},
)
def show(boards: Boards, query: Query, *, pipeline: bool = False) -> Answer:
    """List the contents of a store: evaluations, systems, tracks, metrics, coverage and provenance.

    csv and json have the numbers of cells of each system by status.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation the numbers of cells of each system by status, ``cells`` over (system, status).
    """
    from ..analysis.queries import coverage
    from ..reports.summaries import coverage_table, store_tables
    from ..reports.tables import Table, Tabulation

    found = [coverage(ds).assign_attrs(group=name) for name, ds in boards.items()]
    if pipeline:
        text = next((str(ds.attrs.get("pipeline", "")) for ds in boards.values()), "")
        if not text:
            raise QueryError("the store was not made by a pipeline")
        return Tabulation(found, lambda width: [], lambda: [Table(("pipeline",), ((text,),))], text=text)

    return Tabulation(
        found, lambda width: store_tables(boards), lambda: [coverage_table(name, ds) for name, ds in boards.items()]
    )


@question(
    "List cells without a score, with the reasons.",
    place=2,
    words=(),
    by_track=True,
    cost=lambda scores, systems, tracks, words: 0.0,
)
def problems(boards: Boards, query: Query) -> Any:
    """List every cell without a score, of an empty file, or with a warning, with the reason.

    Tables for people group cells by their cause; csv and json have a row for each cell.

    Returns
    -------
    Tabulation of CellProblem
        Its notes are the warnings about whole evaluations.
    """
    from ..analysis.selection import find_problems
    from ..reports.summaries import causes_table, problems_table
    from ..reports.tables import Tabulation
    from ..store.format import list_cautions

    listed = {name: find_problems(ds) for name, ds in boards.items()}
    warned = [f"warning: {name}: {text}" for name, ds in boards.items() for text in list_cautions(ds.attrs)]

    return Tabulation(
        [problem for cells in listed.values() for problem in cells],
        lambda width: [causes_table(listed, warned)],
        lambda: [problems_table(name, cells) for name, cells in listed.items()],
        warned,
    )


TOLERANCE = "tolerance"


@question(
    "Compare two sets of scores.",
    place=4,
    words=("metric", "system", "tracks"),
    options={
        "tolerance": QueryOption(
            "Tolerance of differences. Default: half of the last printed digit of a table, at least 1e-9.", least=0.0
        ),
        "worst": QueryOption("List the N cells of each metric with the largest differences.", metavar="N", least=1),
        "fail_above": QueryOption(
            "Exit with 3 if scores differ by more than X (a number, or tolerance), or only one side has one.",
            metavar="X",
        ),
        "worse": QueryOption("With --fail-above: fail only if B is worse than A, or lacks its score."),
        "pair": QueryOption(
            "Compare metric A of A with metric B of B. Repeat for several; others only with --metric.",
            pairs=True,
            metavar="A=B",
        ),
        "root": QueryOption("Base folder of a mapping's patterns.", folder=True, local=True),
        "every": QueryOption("List every metric, not only those that differ.", flag="--all"),
    },
    helps={
        "metric": "Metrics by name or alias. Repeat for several. Default: all common ones.",
        "system": "Systems, by name or pattern (*). Repeat for several. Default: all common ones.",
        "tracks": "Tracks, by name or pattern (*). Repeat for several. Default: all common ones.",
    },
)
def diff(
    a: Comparable,
    b: Comparable,
    query: Query,
    *,
    tolerance: float | None = None,
    worst: int | None = None,
    fail_above: str | float | None = None,
    worse: bool = False,
    pair: Mapping[str, str] | None = None,
    root: str | Path | None = None,
    every: bool = False,
) -> Answer:
    """Compare the scores of A and B, track by track.

    Each is a store, one evaluation of a store (stores/x.zarr:chord), or a mapping file (.yaml) that describes published
    tables. Evaluations, systems and tracks are matched by name, metrics by name and parameters.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation ``a``, ``b`` and ``difference`` (a - b) float64 over (system, track, metric), NaN where a
        side has no score; over metric ``relative_change`` (the average of ``|a - b| / ((|a| + |b|) / 2)``, 0 where both
        are 0: section 4 of Raffel et al., mir_eval, ISMIR 2014), ``mean_difference``, ``max_difference``, ``n``,
        ``n_agreeing``, ``missing_a`` and ``missing_b`` (a cell of which a published table has no row is not missing
        there); ``setting_a`` and ``setting_b`` over what differs in the settings. Attributes name what only one side
        has.

    Examples
    --------
    >>> import mirflow
    >>> references = {"x": [1.0, 2.0], "y": [3.0]}
    >>> ours = mirflow.score(references, {"x": [1.0], "y": [3.0]}, "onset")
    >>> theirs = mirflow.score(references, {"x": [2.0, 5.0], "y": [3.0]}, "onset")
    >>> found = mirflow.diff(ours, theirs, metric="precision")
    >>> found["max_difference"].item(), found["n_agreeing"].item()
    (0.5, 1)
    """
    from ..analysis.differences import differences, exceeding
    from ..reports.comparisons_tables import DIFFERENCES, difference_table, worst_table
    from ..reports.tables import Tabulation, rows_of

    try:
        most = None if fail_above in (None, TOLERANCE) else float(fail_above or 0)
    except ValueError:
        most = -1.0
    if most is not None and not 0 <= most < float("inf"):
        raise QueryError(f"invalid fail_above {fail_above!r}: expected a number, 0 or more, or {TOLERANCE}")
    if worse and fail_above is None:
        raise QueryError("'worse' is about failing; add 'fail_above' (--fail-above)")
    words = {"metric": query.metric, "system": query.system, "tracks": query.tracks}
    found, left = differences(a, b, **words, tolerance=tolerance, pair=pair, root=root)
    alone = [f"evaluations only in {side}: {', '.join(names)}" for side, names in zip("ab", left, strict=True) if names]

    never_worse: list[list[str]] = []
    for ds in found:
        names = ds["metric"].values[ds["orientation"].values == "none"].tolist() if worse else []
        note = f"never worse, as neither high nor low values are better: {', '.join(names)}"
        never_worse.append([note] if names else [])

    def tables(width: int) -> list[Table]:
        made = []
        for ds, never in zip(found, never_worse, strict=True):
            notes = [*never, *(alone if ds is found[-1] else ())]
            made.append(difference_table(ds, notes, every=every))
            made += [table for table in [worst_table(ds, worst)] if table.rows] if worst else []
        return made

    how = (
        "are worse in b by more than {}, or have a score in a only"
        if worse
        else "differ by more than {}, or lack a score on one side or both"
    )
    failures = [
        f"{how.format(fail_above)}: {ds.attrs['a']}: {', '.join(far)}"
        for ds in found
        if fail_above is not None and (far := exceeding(ds, most, worse=worse))
    ]
    return Tabulation(
        found,
        tables,
        lambda: (
            [worst_table(ds, worst, long=True) for ds in found] if worst else [rows_of(found, ("a", "b"), DIFFERENCES)]
        ),
        [note for notes in never_worse for note in notes],
        failures,
    )
