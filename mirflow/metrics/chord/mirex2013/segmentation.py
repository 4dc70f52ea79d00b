"""Directional Hamming distances of merged segments, for many pairs at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....ragged import Float, Int, offsets_of, ranges, rows_of
from .timeline import Side, seconds_by, share_of


@dataclass(frozen=True, slots=True)
class Distances:
    """Directional Hamming distances of pairs.

    Parameters
    ----------
    under, over : float64 (pairs,)
    weight : float64 (pairs,), seconds
        What they are normalised by: the end of the last reference segment, 0 where there is none.
    """

    under: Float
    over: Float
    weight: Float

    def column(self, name: str) -> Float:
        """Scores by the metric of that name; 0 where there is no reference."""
        if name == "undersegmentation":
            return self.under
        if name == "oversegmentation":
            return self.over
        return np.where(self.weight > 0, 1 - np.maximum(self.under, self.over), 0.0)


def merge_equal(side: Side) -> Side:
    """Neighbouring segments with equal labels as one, from the first's start to the latest end, gaps included.

    Segments without length are passed over.
    """
    lasting = side.end > side.start
    owner, label, start, end = (column[lasting] for column in (rows_of(side.counts), side.label, side.start, side.end))
    opens = np.ones(len(owner), dtype=np.bool_)
    opens[1:] = (label[1:] != label[:-1]) | (owner[1:] != owner[:-1])
    first = np.flatnonzero(opens)
    counts = np.bincount(owner[first], minlength=len(side.counts)).astype(np.int64)
    latest = np.maximum.reduceat(end, first) if len(first) else end
    return Side(start[first], latest, label[first], counts, offsets_of(counts))


def silence_where_empty(side: Side, last: Int) -> Side:
    """One segment up to `last` (rank per pair) in the rows that have none."""
    empty = side.counts == 0
    if not empty.any():
        return side
    at = side.offsets[:-1][empty]
    counts = side.counts + empty
    start, end, label = (
        np.insert(side.start, at, 0),
        np.insert(side.end, at, last[empty]),
        np.insert(side.label, at, -1),
    )
    return Side(start, end, label, counts, offsets_of(counts))


def distances(times: Float, reference: Side, estimate: Side) -> Distances:
    """Under- and over-segmentation of each pair.

    Under-segmentation is the time that estimated segments share with reference segments, but for the largest share of
    each estimated segment; over-segmentation the same with the roles swapped; both up to the end of the last reference
    segment, and over it. A side without segments counts as one up to that end.

    Parameters
    ----------
    times : float64 (n,), seconds
        What the ranks stand for.
    reference, estimate : Side
    """
    last = np.maximum(reference.last_end, 0)
    end = times[last]
    reference, estimate = (silence_where_empty(merge_equal(side), last) for side in (reference, estimate))
    here, there = _neighbours(len(times).bit_length(), reference, estimate)
    pair = rows_of(estimate.counts)[here]
    starts = np.maximum(estimate.start[here], reference.start[there])
    stops = np.minimum(np.minimum(estimate.end[here], reference.end[there]), last[pair])
    shared = np.maximum(times[stops] - times[starts], 0.0)
    total = seconds_by(pair, shared, len(end))
    # Both sums round, so that their difference may fall below 0 by a unit in the last place.
    under = share_of(np.maximum(total - _largest(estimate, here, shared), 0.0), end)
    over = share_of(np.maximum(total - _largest(reference, there, shared), 0.0), end)
    return Distances(under, over, end)


def _largest(side: Side, items: Int, shared: Float) -> Float:
    """Sum over each pair's segments of the largest share that a segment has with one of the other side."""
    largest = np.zeros(len(side.start))
    np.maximum.at(largest, items, shared)
    return seconds_by(rows_of(side.counts), largest, len(side.counts))


def _neighbours(bits: int, reference: Side, estimate: Side) -> tuple[Int, Int]:
    """All (estimated, reference) segments of the same pair that may overlap; exactly those where both are in order.

    The latest end so far and the earliest start still to come are monotone even where segments are not, so that two
    searches bound the reference segments that an estimated one can meet.
    """
    reached = reference.reached(bits)
    owner = rows_of(reference.counts) << bits
    coming = np.minimum.accumulate((owner | reference.start)[::-1])[::-1]
    base = rows_of(estimate.counts) << bits
    low = np.searchsorted(reached, base | estimate.start, side="right")
    high = np.searchsorted(coming, base | estimate.end, side="left")
    counts = np.maximum(high - low, 0)
    return np.repeat(np.arange(len(low)), counts), ranges(low, counts)
