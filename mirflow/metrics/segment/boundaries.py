"""Boundaries of segments: how many are found within a window, and how far they are from each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.medians import medians
from ...kernels.nearest import nearest
from ...ragged import Float, Int, offsets_of, ranges, rows_of
from ..events import MATCHINGS
from .spans import Spans

Scored = tuple[Float, Float]
"""Scores and weights, float64 (pairs,) each."""

DECIMALS = 5


@dataclass(frozen=True, slots=True)
class Boundaries:
    """The boundaries of many pairs: distinct times, flat and ascending within a pair, in seconds."""

    time: Float
    counts: Int

    def trim(self) -> Boundaries:
        """Without the first and the last of each pair."""
        counts = np.maximum(self.counts - 2, 0)
        return Boundaries(self.time[ranges(offsets_of(self.counts)[:-1] + 1, counts)], counts)


def find_boundaries(spans: Spans, decimals: int | None = DECIMALS) -> Boundaries:
    """The distinct times at which intervals start or end, rounded first unless `decimals` is None."""
    time = np.column_stack([spans.start, spans.end]).ravel()
    if decimals is not None:
        time = np.round(time, decimals)
    pair = rows_of(2 * spans.counts)
    fresh = np.ones(len(time), dtype=np.bool_)
    if ((time[1:] < time[:-1]) & (pair[1:] == pair[:-1])).any():
        time = time[np.lexsort((time, pair))]
    fresh[1:] = (time[1:] != time[:-1]) | (pair[1:] != pair[:-1])
    return Boundaries(time[fresh], np.bincount(pair[fresh], minlength=len(spans.counts)).astype(np.int64))


def f_measure(precision: Float, recall: Float, beta: float) -> Float:
    """The weighted harmonic mean, 0 where both are 0 and NaN where one is."""
    product = (1 + beta**2) * precision * recall
    whole = beta**2 * precision + recall
    both = (precision == 0) & (recall == 0)
    return np.divide(product, whole, out=np.where(both, 0.0, np.nan), where=(whole != 0) & ~both)


def f_weight(precision_weight: Float, recall_weight: Float, beta: float) -> Float:
    """The denominator of an F-measure whose precision and recall have the same numerator."""
    return (beta**2 * recall_weight + precision_weight) / (1 + beta**2)


def detect(
    references: Boundaries, estimates: Boundaries, window: float, beta: float, matching: str
) -> tuple[Scored, Scored, Scored]:
    """Precision, recall and F-measure of boundaries, with their weights."""
    hits = MATCHINGS[matching](references.time, references.counts, estimates.time, estimates.counts, window).counts
    found, wanted = estimates.counts.astype(np.float64), references.counts.astype(np.float64)
    both = (found > 0) & (wanted > 0)
    precision = np.divide(hits, found, out=np.zeros(len(hits)), where=both)
    recall = np.divide(hits, wanted, out=np.zeros(len(hits)), where=both)
    f = f_measure(precision, recall, beta)
    return (precision, found), (recall, wanted), (f, f_weight(found, wanted, beta))


def deviate(references: Boundaries, estimates: Boundaries, median: str) -> tuple[Scored, Scored]:
    """Median distances of the boundaries of each side to the nearest of the other, with their weights."""
    sides = []
    for one, other in ((references, estimates), (estimates, references)):
        answered = np.where(other.counts > 0, one.counts, 0)
        time = one.time[np.repeat(other.counts > 0, one.counts)]
        distance = np.abs(time - other.time[nearest(other.time, other.counts, time, answered)])
        sides.append((medians(distance, answered, median == "upper"), one.counts.astype(np.float64)))
    return sides[0], sides[1]
