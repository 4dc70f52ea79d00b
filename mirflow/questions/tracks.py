"""Questions about tracks: the worst and best, what changed, what explains scores, and which references are doubtful.

Scores are explained by covariates, kinds of errors, and causes such as a displaced side. Losses by kind of errors can
be compared between two systems and written to a store; references that seem wrong can be written as a patch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..analysis.query_options import BEST, DEFAULT_LEVEL, Query, QueryOption, as_names
from ..errors import QueryError
from . import CHOICE, HEADLINE, Answer, Boards, each_evaluation, question, replicating

if TYPE_CHECKING:
    from pathlib import Path

    import xarray as xr

    from ..analysis.queries import ScoresLike
    from ..reports.origins import Roots
    from ..reports.tables import Table


_LISTING: dict[str, Any] = {
    "words": CHOICE | {"sort"},
    "options": {
        "n": QueryOption("How many tracks, at most.", metavar="N", least=1),
        "overall": QueryOption("By the mean over the systems."),
    },
    "defaults": {"undefined": "skip"},
    "helps": {**HEADLINE, "undefined": "Treatment of scores with nothing to measure. Default: skip."},
    "by_track": True,
    "cost": lambda scores, systems, tracks, words: 0.0,
}
"""How questions are declared that list single tracks."""


@question("List the worst tracks.", **_LISTING)
def worst(boards: Boards, query: Query, *, n: int = 10, overall: bool = False, percent: bool = False) -> Answer:
    """List the tracks with the worst scores of one metric, of each system or over all of them.

    Scores with nothing to measure are left out by default.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation that of :func:`mirflow.analysis.where_to_look.extremes`.
    """
    from ..analysis.where_to_look import extremes
    from ..reports.summaries import extremes_long_table, extremes_table

    infer, readable = partial(extremes, count=n, overall=overall), partial(extremes_table, percent=percent)
    return each_evaluation(boards, query, infer, lambda ds: [readable(ds)], extremes_long_table)


@question("List the best tracks.", **_LISTING)
def best(boards: Boards, query: Query, *, n: int = 10, overall: bool = False, percent: bool = False) -> Answer:
    """List the tracks with the best scores of one metric, of each system or over all of them.

    Scores with nothing to measure are left out by default.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation that of :func:`mirflow.analysis.where_to_look.extremes`.
    """
    from ..analysis.where_to_look import extremes
    from ..reports.summaries import extremes_long_table, extremes_table

    infer, readable = partial(extremes, count=n, best=True, overall=overall), partial(extremes_table, percent=percent)
    return each_evaluation(boards, query, infer, lambda ds: [readable(ds)], extremes_long_table)


@question(
    "List what changed from a baseline, by track.",
    words=CHOICE,
    options={
        "baseline": QueryOption("The system, or the label of the store, to compare with.", metavar="SYSTEM|LABEL"),
        "n": QueryOption("How many tracks of each system, at most.", metavar="N", least=1),
        "gains": QueryOption("The tracks that gain most, instead of those that lose most."),
    },
    helps=HEADLINE,
    by_track=True,
    cost=lambda scores, systems, tracks, words: 0.0,
)
def changes(
    boards: Boards, query: Query, *, baseline: str, n: int = 10, gains: bool = False, percent: bool = False
) -> Answer:
    """List the tracks on which systems lose most against a baseline by one metric, or gain most.

    The baseline is a system, or the systems of one of several labelled stores. Tracks without a loss, or without a
    gain, are not listed.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation that of :func:`mirflow.analysis.where_to_look.changes`.
    """
    from ..analysis.where_to_look import changes as list_changes
    from ..reports.comparisons_tables import changes_table
    from ..reports.summaries import extremes_long_table

    infer = partial(list_changes, baseline=baseline, count=n, best=gains)
    readable = partial(changes_table, percent=percent)
    return each_evaluation(boards, query, infer, lambda ds: [readable(ds)], extremes_long_table)


@question(
    "Correlate scores with a property of the tracks.",
    words=CHOICE | {"sort"},
    options={"against": QueryOption("The covariate.", metavar="COORDINATE|duration|others|METRIC")},
    helps=HEADLINE,
    best_first=True,
    cost=replicating,
)
def correlate(
    boards: Boards,
    query: Query,
    *,
    against: str,
    level: float = DEFAULT_LEVEL,
    cluster: str | None = None,
    method: str = "auto",
) -> Answer:
    """Correlate the scores of tracks with a covariate of theirs.

    The covariate is a numeric coordinate of the tracks, ``duration`` (of the references, in seconds), ``others`` (the
    mean score of all other systems, which says how easy a track is), or another metric, such as an imported one. Each
    track counts once, whatever the aggregate.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation that of :func:`mirflow.analysis.inference.correlations.correlations`.
    """
    from ..analysis.inference.correlations import correlations
    from ..reports.inference_tables import correlation_tables

    infer = partial(correlations, covariate=against, level=level, cluster=cluster, method=method)
    columns = "metric covariate system r low high tau n level method replicates missing undefined resampled"
    return each_evaluation(boards, query, infer, correlation_tables, columns)


@question(
    "Split what systems lose by kinds of errors.",
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
    """Split what the systems in STORE lose among kinds of errors.

    STORE may be a pipeline file as well. The annotations are read again. The share of a kind is what mending all of its
    errors adds to the score, averaged over all orders in which the kinds may be mended (Shapley value); the score and
    all shares sum to the score of the reference by itself. A store written by --save answers every command about
    stores.

    Tables for people leave out the kinds of errors that cost nothing, and have the best system first.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation that of :func:`mirflow.query` about :func:`mirflow.losses`; with `compare` that of
        :func:`mirflow.compare`.
    """
    import xarray as xr

    from ..analysis.inference.paired import correct_metrics
    from ..analysis.queries import boards_of
    from ..reports.comparisons_tables import comparison_long_table, kinds_table
    from ..reports.error_budgets import budgets, costly
    from ..reports.tables import Table, Tabulation
    from ..store.write import save as write
    from .stores import query as aggregate
    from .systems import compare as compare_systems

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
        boards, asked = boards_of(xr.DataTree.from_dict(dict(losses))), replace(query, metric=None, sort=sort)
        if not compare:
            return aggregate.question.answer(boards, asked, ci=ci, cluster=cluster, percent=percent)
        compared: list[xr.Dataset] = []
        for name, ds in boards.items():
            pair = replace(asked, system=list(compare), metric=ds["metric"].values.tolist())
            test = partial(compare_systems.question.answer, {name: ds}, pair, correction="none", cluster=cluster)
            for one in test():
                family = one["kind"].values != ""
                compared.append(correct_metrics(one, family, lambda level, test=test: next(iter(test(level=level)))))  # type: ignore[misc]
        return Tabulation(
            compared,
            lambda width: [kinds_table(ds, percent=percent) for ds in compared],
            lambda: [comparison_long_table(ds) for ds in compared],
        )

    def tables(width: int) -> list[Table]:
        shown = {name: costly(ds) for name, ds in found.items()}
        made = ask({name: ds for name, (ds, _) in shown.items()}, None if compare else BEST).tables(width)
        notes = [f"{name}: nothing is lost by {', '.join(kinds)}" for name, (_, kinds) in shown.items() if kinds]
        return [*made, *([Table((), (), notes=tuple(notes))] if notes else [])]

    answer = ask(found, None)
    return Tabulation(answer.items, tables, lambda: [answer.rows()], answer.notes)


@question(
    "List where systems agree against the reference.",
    words=("system", "tracks"),
    options={
        "least": QueryOption("Share of the systems that must agree on a label, above 0.5."),
        "shortest": QueryOption("Length in seconds from which labels count.", least=0.0, metavar="SECONDS"),
        "worst": QueryOption("Only the N heaviest of each evaluation.", least=1, metavar="N"),
    },
)
def consensus(
    scores: ScoresLike,
    query: Query,
    *,
    group: str | None = None,
    least: float = 1.0,
    shortest: float = 0.3,
    worst: int | None = None,
    root: Roots = None,
) -> Answer:
    """List where systems agree with each other against the reference, the heaviest places first.

    The annotations are read again. Labels of systems are weighed by how reliable each system is about each class (Dawid
    and Skene); events must be those of all systems. The weight is the length, or the number of events, times the
    agreement.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation a dataset along ``disagreement``, the heaviest first: ``track``, ``annotator``, ``start``
        and ``end`` in seconds, ``reference`` and ``consensus`` (labels, or times of events), the number of ``systems``
        that agree ``of`` those with an estimate, their ``agreement``, and the ``weight``: seconds, or the number of
        events or tracks, times agreement.
    """
    from ..reports.doubted_references import consensus as find_consensus

    return find_consensus(
        scores, query.system, query.tracks, group=group, least=least, shortest=shortest, worst=worst, root=root
    )


@question(
    "Say what would make low scores right.",
    place=1,
    words=("metric", "system", "tracks"),
    helps=HEADLINE,
    options={"patch": QueryOption("Write a patch for the references found wrong to this file.", metavar="FILE")},
)
def diagnose(
    scores: ScoresLike, query: Query, *, group: str | None = None, root: Roots = None, patch: str | None = None
) -> Answer:
    """Say what would make low scores right: a side displaced, transposed, in another unit, of another track.

    Simple transformations of one side are tried on cells with low scores, and scored by the metric's own kernel; the
    annotations are read again. A cause that most systems of a track share is that of its reference or recording; one
    that most tracks of a system share is the system's. Nothing is changed, and no score moves.

    Returns
    -------
    Tabulation of xr.Dataset
        For each evaluation a dataset along ``finding``: ``track`` and ``system`` (``*``: all), the ``side``, the
        ``cause``, ``amount`` and ``unit`` of what would make this side right (seconds to add, the factor by which to
        multiply, semitones to add), the ``metric`` with its ``score`` and what it ``would_be``, the number of
        ``systems`` with the cause ``of`` those with an estimate, the number of ``tracks``, a ``sentence``, and as
        ``remedy`` the options of reading, if there are any.
    """
    from ..reports.causes import diagnose_scores

    return diagnose_scores(scores, query, group=group, root=root, patch=patch)
