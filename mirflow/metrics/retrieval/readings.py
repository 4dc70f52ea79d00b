"""Each metric of retrieval, read off judged rankings: a score and its weight for every pair."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np

from ...kernels.sums import sum_by
from ...ragged import Bool, Float, Int
from ..base.identity import Measure
from .judging import Hits, Judged

Reading = tuple[Float, Float]
"""Scores and weights, float64 (pairs,) each."""


def _hits(judged: Judged, measure: Measure) -> Hits:
    return judged.hits(float(measure["level"]))


def _within(rank: Int, k: int) -> Bool:
    """Ranks down to `k`; 0 stands for all."""
    return rank <= k if k else np.ones(len(rank), dtype=np.bool_)


def _count(hits: Hits, k: int) -> Float:
    """How many relevant items stand in the first `k` of each ranking."""
    return np.bincount(hits.pair[_within(hits.rank, k)], minlength=len(hits.relevant)).astype(np.float64)


def _ratio(part: Float, whole: Float) -> Float:
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


def _depth(judged: Judged, k: int) -> Float:
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


def _reciprocal_rank(judged: Judged, measure: Measure) -> Reading:
    hits, k = _hits(judged, measure), int(measure["k"])
    first = _first(hits, np.inf)
    return np.where(first <= (k or np.inf), 1.0 / first, 0.0), _answerable(hits)


def _average_precision(judged: Judged, measure: Measure) -> Reading:
    hits = _hits(judged, measure)
    inside = _within(hits.rank, int(measure["k"]))
    total = sum_by(hits.pair[inside], hits.number[inside] / hits.rank[inside], len(judged))
    relevant = hits.relevant.astype(np.float64)
    return _ratio(total, relevant), relevant


def _precision(judged: Judged, measure: Measure) -> Reading:
    hits, k = _hits(judged, measure), int(measure["k"])
    depth = _depth(judged, k)
    return _ratio(_count(hits, k), depth), depth * _answerable(hits)


def _recall(judged: Judged, measure: Measure) -> Reading:
    hits = _hits(judged, measure)
    relevant = hits.relevant.astype(np.float64)
    return _ratio(_count(hits, int(measure["k"])), relevant), relevant


def _f_measure(judged: Judged, measure: Measure) -> Reading:
    hits, k = _hits(judged, measure), int(measure["k"])
    mean = (_depth(judged, k) + hits.relevant) / 2
    return _ratio(_count(hits, k), mean), mean * _answerable(hits)


def _r_precision(judged: Judged, measure: Measure) -> Reading:
    hits = _hits(judged, measure)
    inside = hits.rank <= hits.relevant[hits.pair]
    found = np.bincount(hits.pair[inside], minlength=len(judged)).astype(np.float64)
    relevant = hits.relevant.astype(np.float64)
    return _ratio(found, relevant), relevant


def _hit_rate(judged: Judged, measure: Measure) -> Reading:
    hits = _hits(judged, measure)
    return (_first(hits, np.inf) <= int(measure["k"])).astype(np.float64), _answerable(hits)


def _covers_in_first(judged: Judged, measure: Measure) -> Reading:
    hits = _hits(judged, measure)
    return _count(hits, int(measure["k"])), _answerable(hits)


def _rank_of_first(judged: Judged, measure: Measure) -> Reading:
    hits = _hits(judged, measure)
    # 0 is the parameter's way to say that there is no such rank.
    return _first(hits, float(measure["not_found"]) or np.nan), _answerable(hits)


def _ndcg(judged: Judged, measure: Measure) -> Reading:
    k, exponential = int(measure["k"]), measure["gain"] == "exp2"
    owner, place = judged.wanted_place
    with np.errstate(over="ignore", invalid="ignore"):  # a gain beyond all numbers is refused by its weight
        best = _discounted(owner, place, judged.wanted.columns["grade"], k, len(judged), exponential)
        return _ratio(_discounted(judged.pair, judged.rank, judged.grade, k, len(judged), exponential), best), best


def _discounted(pair: Int, rank: Int, grade: Float, k: int, pairs: int, exponential: bool) -> Float:
    """The discounted cumulative gain of each pair."""
    inside = _within(rank, k)
    gain = np.exp2(grade[inside]) - 1 if exponential else grade[inside]
    return sum_by(pair[inside], gain / np.log2(rank[inside] + 1.0), pairs)


READINGS: MappingProxyType[str, Callable[[Judged, Measure], Reading]] = MappingProxyType(
    {
        "average_precision": _average_precision,
        "reciprocal_rank": _reciprocal_rank,
        "precision": _precision,
        "recall": _recall,
        "f_measure": _f_measure,
        "r_precision": _r_precision,
        "ndcg": _ndcg,
        "hit_rate": _hit_rate,
        "covers_in_first": _covers_in_first,
        "rank_of_first": _rank_of_first,
    }
)
"""How each metric is read off judged rankings."""
