"""Split what the systems in STORE lose among kinds of errors.

STORE may be a pipeline file as well. The annotations are read again. The share of a kind is what mending all of its
errors adds to the score, averaged over all orders in which the kinds may be mended (Shapley value); the score and all
shares sum to the score of the reference by itself. A store written by --save answers every command about stores.

Tables for people leave out the kinds of errors that cost nothing, and have the best system first.

Returns
-------
Tabulation of xr.Dataset
    For each evaluation that of :func:`mirflow.query` about :func:`mirflow.losses`; with `compare` that of
    :func:`mirflow.compare`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..analysis.query_options import BEST, Query, QueryOption, as_names
from ..errors import QueryError
from . import Answer, question

if TYPE_CHECKING:
    from pathlib import Path

    import xarray as xr

    from ..analysis.queries import ScoresLike
    from ..reports.origins import Roots
    from ..reports.tables import Table


@question(
    "Split what systems lose by kinds of errors.",
    section="tracks",
    place=5,
    words=("metric", "aggregate", "by", "system", "tracks", "where", "missing", "undefined"),
    options={
        "compare": QueryOption("Test the differences of two systems, by kind.", values=2, metavar="A B"),
        "save": QueryOption("Write the losses of all tracks to a store.", metavar="STORE"),
        "guarded": QueryOption("Whether worker processes may be started, as by :func:`mirflow.run`.", unlisted=True),
    },
    helps={
        "metric": "The metric whose loss is split. Default: the headline metric.",
        "missing": "Treatment of cells without a score: common, skip or raise.",
    },
)
def budget(
    scores: ScoresLike,
    query: Query,
    *,
    group: str | None = None,
    ci: float | None = None,
    cluster: str | None = None,
    compare: Sequence[str] | None = None,
    root: Roots = None,
    save: str | Path | None = None,
    guarded: bool = False,
    percent: bool = False,
) -> Answer:
    import xarray as xr

    from ..analysis.queries import boards_of
    from ..reports.error_budgets import budgets, costly
    from ..reports.tables import Table, Tabulation
    from ..store.write import save as write

    if query.missing == "zero":
        raise QueryError(
            "missing 'zero': a missing estimate has no errors to split its loss among; choose common or skip"
        )
    metrics = as_names(query.metric) or []
    if len(metrics) > 1:
        raise QueryError(f"a budget splits the loss of one metric, and {len(metrics)} are named")
    for name, value in {"by": query.by, "ci": ci, "system": query.system}.items() if compare else ():
        if value is not None:
            raise QueryError(f"'compare' (--compare) takes no {name!r} (--{name})")
    chosen: dict[str, Any] = {"group": group, "tracks": query.tracks, "where": query.where}
    found = budgets(scores, next(iter(metrics), None), root=root, guarded=guarded, **chosen)
    if save is not None:
        write(xr.DataTree.from_dict(found), save)

    def ask(losses: Mapping[str, xr.Dataset], sort: str | None) -> Answer:
        from .query import query as aggregate

        boards, asked = boards_of(xr.DataTree.from_dict(dict(losses))), replace(query, metric=None, sort=sort)
        if compare:
            return _compare(boards, replace(asked, system=list(compare)), cluster, percent)
        return aggregate.question.answer(boards, asked, ci=ci, cluster=cluster, percent=percent)

    def tables(width: int) -> list[Table]:
        shown = {name: costly(ds) for name, ds in found.items()}
        made = ask({name: ds for name, (ds, _) in shown.items()}, None if compare else BEST).tables(width)
        notes = [f"{name}: nothing is lost by {', '.join(kinds)}" for name, (_, kinds) in shown.items() if kinds]
        return [*made, *([Table((), (), notes=tuple(notes))] if notes else [])]

    answer = ask(found, None)
    return Tabulation(answer.items, tables, lambda: [answer.rows()], answer.notes)


def _compare(boards: Mapping[str, xr.Dataset], query: Query, cluster: str | None, percent: bool) -> Answer:
    from ..analysis.inference.paired import correct_metrics
    from ..reports.comparisons_tables import comparison_long_table, kinds_table
    from ..reports.tables import Tabulation
    from .compare import compare

    compared: list[xr.Dataset] = []
    for name, losses in boards.items():
        asked = replace(query, metric=losses["metric"].values.tolist())
        ask = partial(compare.question.answer, {name: losses}, asked, correction="none", cluster=cluster)
        for ds in ask():
            kinds = ds["kind"].values != ""
            compared.append(correct_metrics(ds, kinds, lambda level, ask=ask: next(iter(ask(level=level)))))  # type: ignore[misc]
    return Tabulation(
        compared,
        lambda width: [kinds_table(ds, percent=percent) for ds in compared],
        lambda: [comparison_long_table(ds) for ds in compared],
    )
