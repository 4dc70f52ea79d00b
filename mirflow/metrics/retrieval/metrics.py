"""The metrics of retrieval: their records, readings, cleaning, evidence, and the conventions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...kernels.ragged_ops import sum_by
from ...kernels.ranking import repeated
from ...ragged import Bool, Column, Float, Int, Ragged, rows_of
from ..base import (
    Cleaned,
    Convention,
    Grid,
    Measure,
    Parameter,
    Scores,
    Task,
    Weight,
    metric,
    metrics_in,
    read_scores,
    refuse_grid,
)
from ..cleaning import Problem, set_aside, usable
from .kernel import Hits, JudgedRankings, judge, judgements


def clean(rows: Ragged) -> Cleaned:
    """Rankings in the order in which they were read.

    Parameters
    ----------
    rows : Ragged
        One side of the pairs: columns label, and perhaps value and left_out.

    Returns
    -------
    Cleaned
        Flaws are items without a name, items that stand twice, and values that are NaN or infinite. (Minus infinity is
        a score like others: the last one.)

    Examples
    --------
    >>> cleaned = clean(Ragged({"label": np.array([0, 1, 0, 1])}, (np.array([3, 1]),), ("x", "y")))
    >>> cleaned.rows.counts[0].tolist(), cleaned.flaws[0].message
    ([0, 1], "item 'x' occurs twice: as number 1 and number 3")
    """
    label = rows.columns["label"]
    names = [*rows.labels, ""]
    again, first = repeated(label + 1, rows.counts[0])
    start = rows.offsets[:-1][rows_of(rows.counts[0])] if len(again) else np.zeros(0, dtype=np.int64)
    before = dict(zip(again.tolist(), first.tolist(), strict=True))

    def twice(item: int) -> str:
        one, two = (int(place - start[item]) + 1 for place in (before[item], item))
        return f"item {names[label[item]]!r} occurs twice: as number {one} and number {two}"

    nameless: Bool = np.array([not name for name in names], dtype=np.bool_)[label]  # the last one serves -1
    problems: list[Problem] = [
        (nameless, lambda item: "an item without a name"),
        (_mask(again, len(label)) & ~nameless, twice),
    ]
    if "value" in rows.columns:
        value = rows.columns["value"]
        problems.append((_odd(rows), lambda item: f"value of item {names[label[item]]!r} is no number: {value[item]}"))
    return set_aside(rows, problems)


def clean_by_score(rows: Ragged) -> Cleaned:
    """Rankings in the order of their scores, as trec_eval takes them, whatever the order in which they were read.

    Scores are compared in single precision. Of items with the same score that one is ahead whose name is later in the
    order of its UTF-8 bytes, unless the column tie says which. Rows without scores stay as they are.

    Parameters
    ----------
    rows : Ragged
        As for `clean`; perhaps also tie.

    Returns
    -------
    Cleaned
        Flaws as those of `clean`.

    Examples
    --------
    >>> rows = Ragged({"label": np.array([0, 1, 2]), "value": np.array([0.5, 0.5, 0.9])}, (np.array([3]),),
    ...               ("x", "y", "z"))
    >>> clean_by_score(rows).rows.columns["label"].tolist()
    [2, 1, 0]
    """
    cleaned = clean(rows)
    rows = cleaned.rows
    if "value" not in rows.columns:
        return cleaned
    value, label = rows.columns["value"], rows.columns["label"]
    late = np.zeros(len(rows.labels), dtype=np.int64)
    late[sorted(range(len(rows.labels)), key=lambda code: rows.labels[code].encode())] = np.arange(len(rows.labels))
    scored = ~np.isnan(value)  # after cleaning, of a whole row or of none of it
    told = rows.columns.get("tie", np.full(len(value), np.nan))
    name = np.where(scored, -np.where(np.isnan(told), late[label], told), np.arange(len(value)))
    with np.errstate(over="ignore"):
        single = np.where(scored, -value, 0.0).astype(np.float32)
    order = np.lexsort((name, single, rows_of(rows.counts[0])))
    columns = {name: column[order] for name, column in rows.columns.items()}
    return Cleaned(Ragged(columns, rows.counts, rows.labels), cleaned.repairs, cleaned.flaws)


def _mask(items: Int, size: int) -> Bool:
    mask = np.zeros(size, dtype=np.bool_)
    mask[items] = True
    return mask


def _odd(rows: Ragged) -> Bool:
    """Values that are infinite, or NaN in a row that has others: a row without any has no column of values."""
    value = rows.columns["value"]
    odd: Bool = np.isposinf(value)
    absent = np.isnan(value)
    if absent.any():
        owner = rows_of(rows.counts[0])
        known = np.bincount(owner[~absent], minlength=len(rows)) > 0
        odd |= absent & known[owner]
    return odd


Read = tuple[Float, Float]
"""Score and weight of each pair, float64 (pairs,) each."""


_DOWNIE = "Downie et al., The Music Information Retrieval Evaluation eXchange, 2010"
_COVERS = "MIREX audio cover song identification, 2006-2021; Downie et al., ISMIR 2008"
_MANNING = "Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008"
_QUERIES = Weight("1 for a query that has relevant items", "queries")
_RELEVANT = Weight("number of relevant items", "items")
_metric = partial(metric, pooling="micro")

_LEVEL = Parameter("level", 0.0, least=0.0, help="grade from which an item is relevant; 0: any positive grade")


def _depth_parameter(default: int, *, least: int = 0) -> Parameter:
    whole = "" if least else "; 0: the whole list"
    return Parameter("k", default, "ranks", help=f"how many ranks are looked at{whole}", least=least)


def _hits(judged: JudgedRankings, measure: Measure) -> Hits:
    return judged.hits(float(measure["level"]))


def _within(rank: Int, k: int) -> Bool:
    """Ranks down to `k`; 0 stands for all."""
    return rank <= k if k else np.ones(len(rank), dtype=np.bool_)


def _count(hits: Hits, k: int) -> Float:
    """How many relevant items stand in the first `k` of each ranking."""
    return np.bincount(hits.pair[_within(hits.rank, k)], minlength=len(hits.relevant)).astype(np.float64)


def _ratio(part: Float, whole: Float) -> Float:
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


def _depth_of(judged: JudgedRankings, k: int) -> Float:
    """How many items are looked at in each ranking: `k`, however many it has, or all that it has."""
    return np.full(len(judged), float(k)) if k else judged.returned.astype(np.float64)


def _answerable(hits: Hits) -> Float:
    return (hits.relevant > 0).astype(np.float64)


def _first(hits: Hits, absent: float) -> Float:
    """The rank of the first relevant item of each ranking."""
    first = np.full(len(hits.relevant), absent)
    leading = hits.number == 1
    first[hits.pair[leading]] = hits.rank[leading]
    return first


@_metric(
    "Average precision",
    _RELEVANT,
    aliases=("map", "mean_average_precision"),
    parameters=(_depth_parameter(0), _LEVEL),
    literature=f"{_COVERS}; {_MANNING}, section 8.4",
)
def average_precision(judged: JudgedRankings, measure: Measure) -> Read:
    """Mean over the relevant items of the precision down to the rank of each, 0 for one that is not found."""
    hits = _hits(judged, measure)
    inside = _within(hits.rank, int(measure["k"]))
    total = sum_by(hits.pair[inside], hits.number[inside] / hits.rank[inside], len(judged))
    relevant = hits.relevant.astype(np.float64)
    return _ratio(total, relevant), relevant


@_metric(
    "Reciprocal rank",
    _QUERIES,
    aliases=("mrr", "recip_rank", "mean_reciprocal_rank"),
    parameters=(_depth_parameter(0), _LEVEL),
    literature=f"equation 7 of {_DOWNIE}; Voorhees, TREC-8 question answering track, 1999",
)
def reciprocal_rank(judged: JudgedRankings, measure: Measure) -> Read:
    """1 / rank of the first relevant item, 0 if none is found; its mean over queries is MRR."""
    hits, k = _hits(judged, measure), int(measure["k"])
    first = _first(hits, np.inf)
    return np.where(first <= (k or np.inf), 1.0 / first, 0.0), _answerable(hits)


@_metric(
    "Precision at k",
    Weight("k, or the length of the list where k is 0", "ranks"),
    aliases=("p", "set_p"),
    perfect=None,
    parameters=(_depth_parameter(10), _LEVEL),
    literature=f"equation 4 of {_DOWNIE}; {_MANNING}, section 8.4",
)
def precision(judged: JudgedRankings, measure: Measure) -> Read:
    """Share of the first k ranks that hold a relevant item; a shorter list has empty ranks."""
    hits, k = _hits(judged, measure), int(measure["k"])
    depth = _depth_of(judged, k)
    return _ratio(_count(hits, k), depth), depth * _answerable(hits)


@_metric(
    "Recall at k",
    _RELEVANT,
    aliases=("set_recall",),
    perfect=None,
    parameters=(_depth_parameter(10), _LEVEL),
    literature=f"equation 5 of {_DOWNIE}; {_MANNING}, section 8.4",
)
def recall(judged: JudgedRankings, measure: Measure) -> Read:
    """Share of the relevant items that stand in the first k ranks."""
    hits = _hits(judged, measure)
    relevant = hits.relevant.astype(np.float64)
    return _ratio(_count(hits, int(measure["k"])), relevant), relevant


@_metric(
    "F-measure at k",
    Weight("mean of k (or the length of the list) and the number of relevant items", "items"),
    aliases=("f1", "set_f"),
    perfect=None,
    parameters=(_depth_parameter(10), _LEVEL),
    default=False,
    literature=f"equation 6 of {_DOWNIE}",
)
def f_measure(judged: JudgedRankings, measure: Measure) -> Read:
    """Harmonic mean of precision and recall at k."""
    hits, k = _hits(judged, measure), int(measure["k"])
    mean = (_depth_of(judged, k) + hits.relevant) / 2
    return _ratio(_count(hits, k), mean), mean * _answerable(hits)


@_metric("R-precision", _RELEVANT, aliases=("rprec",), parameters=(_LEVEL,), literature=f"{_MANNING}, section 8.4")
def r_precision(judged: JudgedRankings, measure: Measure) -> Read:
    """Precision at the rank that is the number of relevant items."""
    hits = _hits(judged, measure)
    inside = hits.rank <= hits.relevant[hits.pair]
    found = np.bincount(hits.pair[inside], minlength=len(judged)).astype(np.float64)
    relevant = hits.relevant.astype(np.float64)
    return _ratio(found, relevant), relevant


@_metric(
    "nDCG at k",
    Weight("discounted gain of the ideal ranking", "gain"),
    parameters=(
        _depth_parameter(10),
        Parameter("gain", "linear", choices=("linear", "exp2"), help="the grade, or 2 ** grade - 1"),
    ),
    literature="Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; exp2: Burges et al., ICML 2005",
)
def ndcg(judged: JudgedRankings, measure: Measure) -> Read:
    """Gain of the first k ranks, discounted by log2(rank + 1), over that of the ideal ranking."""
    k, exponential = int(measure["k"]), measure["gain"] == "exp2"
    owner, place = judged.wanted_place
    with np.errstate(over="ignore", invalid="ignore"):  # a gain beyond all numbers is refused by its weight
        best = _discounted(owner, place, judged.wanted.columns["grade"], k, len(judged), exponential)
        return _ratio(_discounted(judged.pair, judged.rank, judged.grade, k, len(judged), exponential), best), best


@_metric(
    "Hit rate at k",
    _QUERIES,
    aliases=("success", "top_k"),
    parameters=(_depth_parameter(10, least=1), _LEVEL),
    literature="MIREX query by singing/humming, 2006-2021 (top-10 hit rate)",
)
def hit_rate(judged: JudgedRankings, measure: Measure) -> Read:
    """1 if a relevant item stands in the first k ranks."""
    hits = _hits(judged, measure)
    return (_first(hits, np.inf) <= int(measure["k"])).astype(np.float64), _answerable(hits)


@_metric(
    "Covers in the first k",
    _QUERIES,
    aliases=("covers_in_top",),
    range=(0.0, float("inf")),
    unit="items",
    perfect=None,
    parameters=(_depth_parameter(10, least=1), _LEVEL),
    literature=_COVERS,
)
def covers_in_first(judged: JudgedRankings, measure: Measure) -> Read:
    """Number of relevant items in the first k ranks."""
    hits = _hits(judged, measure)
    return _count(hits, int(measure["k"])), _answerable(hits)


@_metric(
    "Rank of the first cover",
    _QUERIES,
    aliases=("mr1", "rank_of_first_cover"),
    range=(1.0, float("inf")),
    orientation="lower",
    unit="ranks",
    parameters=(
        Parameter("not_found", 0.0, "ranks", least=0.0, help="rank where the list has none; 0: no score"),
        _LEVEL,
    ),
    literature=_COVERS,
)
def rank_of_first(judged: JudgedRankings, measure: Measure) -> Read:
    """Rank of the first relevant item."""
    hits = _hits(judged, measure)
    # 0 is the parameter's way to say that there is no such rank.
    return _first(hits, float(measure["not_found"]) or np.nan), _answerable(hits)


METRICS = metrics_in(globals())


def _discounted(pair: Int, rank: Int, grade: Float, k: int, pairs: int, exponential: bool) -> Float:
    """The discounted cumulative gain of each pair."""
    inside = _within(rank, k)
    gain = np.exp2(grade[inside]) - 1 if exponential else grade[inside]
    return sum_by(pair[inside], gain / np.log2(rank[inside] + 1.0), pairs)


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of rankings; a pair is a query.

    Parameters
    ----------
    references : Ragged
        What is relevant for a query: columns label, and perhaps value (grade) and left_out.
    estimates : Ragged
        Column label, in the order of rank; rows of both sides as `mirflow.metrics.retrieval.metrics` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        Ranks have no time, so there is nothing to choose.

    Returns
    -------
    Scores
        0 with weight 0 for a query without any relevant item. NaN with weight 0 and a message in `partly` where
        the gains of the grades add up to infinity.

    Raises
    ------
    MetricError
        For any other grid.

    References
    ----------
    C. D. Manning, P. Raghavan and H. Schütze, *Introduction to Information Retrieval*, 2008, chapter 8.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> reference = Ragged({"label": np.array([0, 1])}, (np.array([2]),), ("x", "y"))
    >>> estimate = Ragged({"label": np.array([2, 0, 3, 1])}, (np.array([4]),), ("x", "y", "z", "w"))
    >>> row, wanted = np.array([0]), get_task("retrieval").convention().select(["reciprocal_rank", "average_precision"])
    >>> score(reference, estimate, row, row, wanted).score.tolist()
    [[0.5, 0.5]]
    """
    refuse_grid(grid, "rankings")
    judged = judge(references, estimates, reference_row, estimate_row)
    found = read_scores(measures, judged, len(judged))
    vast = np.isinf(found.weight)
    found.score[vast], found.weight[vast] = np.nan, 0.0
    partly = dict.fromkeys(np.flatnonzero(vast.any(axis=1)).tolist(), "the gains of the grades are beyond all numbers")
    return replace(found, partly=partly)


def evidence(
    reference: Annotation, estimate: Annotation, measure: Measure, cleaner: Callable[[Ragged], Cleaned] = clean
) -> dict[str, Column]:
    """The relevant items of a query, with the rank at which each was found.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind ranking.
    measure : Measure
        Any; its ``level``, if it has one, says what is relevant.
    cleaner : callable
        That of the convention; it says which order counts.

    Returns
    -------
    dict of str to array
        ``item``, ``grade``, ``rank`` (float64, counted without items that are left out; NaN for one that the list does
        not have) and ``verdict`` (``found`` or ``missed``): what was found in the order of rank, then what was not.

    Raises
    ------
    AnnotationError
        If a side cannot be scored.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> measure = get_task("retrieval").convention().select(["average_precision"])[0]
    >>> found = evidence(Annotation("ranking", {}, ["x", "y"]), Annotation("ranking", {}, ["z", "x"]), measure)
    >>> found["item"].tolist(), found["rank"].tolist(), found["verdict"].tolist()
    (['x', 'y'], [2.0, nan], ['found', 'missed'])
    """
    references, estimates = (
        usable(annotation, cleaner(to_ragged([annotation])), side)
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    )
    only = np.zeros(1, dtype=np.int64)
    judged = judge(references, estimates, only, only)
    left_out, grade = judgements(references)
    rank = np.full(len(grade), np.nan)
    rank[judged.item] = judged.rank
    wanted = np.flatnonzero((grade > 0) & (grade >= float(measure.parameters.get("level", 0.0))) & ~left_out)
    wanted = wanted[np.lexsort((-grade[wanted], rank[wanted]))]
    return {
        "item": np.array([references.labels[code] for code in references.columns["label"][wanted].tolist()], dtype=str),
        "grade": grade[wanted],
        "rank": rank[wanted],
        "verdict": np.where(np.isnan(rank[wanted]), "missed", "found"),
    }


MIREX = Convention(
    "mirex",
    "rankings in the order in which they are listed, as MIREX takes them",
    METRICS,
    clean,
    score,
    explain=evidence,
)
TREC_EVAL = Convention(
    "trec_eval",
    "trec_eval 9: rankings in the order of their scores, ties by name from the last to the first",
    METRICS,
    clean_by_score,
    score,
    explain=partial(evidence, cleaner=clean_by_score),
)

TASK = Task(
    "retrieval", "Retrieval", MappingProxyType({one.name: one for one in (MIREX, TREC_EVAL)}), ("average_precision",)
)
