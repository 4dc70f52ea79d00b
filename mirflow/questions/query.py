"""The question what systems score: aggregates over tracks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..analysis.query_options import OPTIONS, Query, QueryOption
from ..errors import QueryError
from . import Answer, Boards, question, replicating, testing

if TYPE_CHECKING:
    import xarray as xr

    from ..analysis.signatures import Signature
    from ..reports.tables import Table


def _cost(scores: int, systems: int, tracks: int, words: Mapping[str, Any]) -> float:
    size = scores, systems, tracks, words
    return ("ci" in words and replicating(*size)) + ("significance" in words and testing(*size))


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
    cost=_cost,
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
    from ..analysis.queries import evaluate_query, headline_metrics, primary_results, say_left_out
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

    def signed(ds: xr.Dataset, asked: Query, result: xr.Dataset) -> Callable[..., list[Signature]]:
        return lambda percent=False: sign(ds, asked, result, percent=percent)

    if primary:
        from ..reports.summaries import primary_table

        results, bare = primary_results(boards, query, ask)
        signing = [(one, signed(boards[one.attrs.get("group", "")], query, one)) for one in results]
        return Tabulation(
            results,
            lambda width: [
                primary_table(
                    results,
                    percent=percent,
                    left_out=bare,
                    signatures=lambda: [one for _, sign_cells in signing for one in sign_cells(percent=percent)],
                )
            ],
            lambda: [long_table(*each) for each in signing],
            [f"{name}: left out, without {lacking}" for name, lacking in bare.items()],
        )
    found: list[tuple[xr.Dataset, Callable[..., list[Signature]], Sequence[str]]] = []
    for name, ds in boards.items():
        asked, notes = query, tuple[str, ...]()
        if main and query.metric is None and query.aggregate is None and not query.param:
            shown = headline_metrics(ds)
            left = say_left_out(names_of(ds, "metric"), shown)
            if left:
                asked, notes = replace(query, metric=shown, exact=True), (f"{left}: --all prints them",)
        found += [(result, signed(ds, asked, result), notes) for result in ask(ds, asked, name)]

    def tables(width: int) -> list[Table]:
        layout: dict[str, Any] = {"percent": percent, "width": width, "across": pivot}
        return [
            table
            for result, sign_cells, notes in found
            for table in readable_tables(result, **layout, notes=notes, signatures=partial(sign_cells, percent=percent))
        ]

    def rows() -> list[Table]:
        return [
            long_table(result, sign_cells) if pivot is None else wide_table(result, pivot)
            for result, sign_cells, _ in found
        ]

    return Tabulation([result for result, *_ in found], tables, rows)


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
