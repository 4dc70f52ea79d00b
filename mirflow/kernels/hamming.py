"""The directional Hamming distance of interval sequences: how finely one cuts up the intervals of the other."""

from __future__ import annotations

import numpy as np

from ..ragged import Bool, Float, Int, offsets_of
from .sums import sum_by
from .timeline import merge, rank, steps_between


def fragmentation(times: Float, counts: Int, opens: Bool, counted: Bool) -> Float:
    """Seconds of the stretches of each row that lie outside the largest piece of their stretch.

    Parameters
    ----------
    times : float64 (points,), seconds
        All points at which a row is cut, ascending within it; equal ones may repeat.
    counts : int64 (rows,)
    opens : bool (points,)
        Where a stretch begins; it lasts until the next one of its row begins, or to the row's last point. A row's
        stretches begin at its first time.
    counted : bool (stretches,)
        Whether a stretch is one to count (an interval) or not (a gap).

    Returns
    -------
    float64 (rows,)
        Each row's sum over its counted stretches, of their length minus that of their largest piece.

    Examples
    --------
    A stretch from 0 to 4 cut at 1, and one from 4 to 6 that is whole: 1 s lies outside the largest pieces.

    >>> times, opens = np.array([0.0, 1.0, 4.0, 6.0]), np.array([True, False, True, False])
    >>> fragmentation(times, np.array([4]), opens, np.array([True, True])).tolist()
    [1.0]
    """
    start = np.flatnonzero(opens)
    if not len(start):
        return np.zeros(len(counts))
    largest = np.maximum.reduceat(steps_between(times, counts), start)
    offsets = offsets_of(counts)
    row = np.searchsorted(offsets, start, side="right") - 1
    end = np.empty_like(start)
    end[:-1] = start[1:]
    end[-1] = len(times) - 1
    np.minimum(end, offsets[row + 1] - 1, out=end)
    outside = np.where(counted, times[end] - times[start] - largest, 0.0)
    return sum_by(row, outside, len(counts))


def directional_hamming(
    start: Float, end: Float, counts: Int, cut_start: Float, cut_end: Float, cut_counts: Int
) -> tuple[Float, Float]:
    """How finely the intervals of some rows are cut up by the boundaries of others, row by row.

    Parameters
    ----------
    start, end : float64, seconds
        Flat intervals that are cut, ascending and without overlap within a row.
    counts : int64 (rows,)
        How many of them each row has; at least one.
    cut_start, cut_end, cut_counts
        The intervals whose starts and ends cut them; they need not be in order.

    Returns
    -------
    distance : float64 (rows,)
        The summed length of all intervals outside their largest pieces, divided by `span`; 0 is no cut at all.
    span : float64 (rows,), seconds
        From the start of the row's first interval to the end of its last.

    References
    ----------
    C. Harte, "Towards automatic extraction of harmony information from music signals", PhD thesis, 2010, section 8.3.2.

    Examples
    --------
    >>> one = np.array([1])
    >>> distance, span = directional_hamming(
    ...     np.array([0.0]), np.array([4.0]), one, np.array([0.0, 1.0]), np.array([1.0, 4.0]), 2 * one)
    >>> distance.tolist(), span.tolist()
    ([0.25], [4.0])
    """
    times, (start_rank, end_rank, cut_start_rank, cut_end_rank) = rank(start, end, cut_start, cut_end)
    offsets = offsets_of(counts)
    low = start_rank[offsets[:-1]]
    points, points_of = _interleave(start_rank, end_rank), 2 * counts
    # The cuts, preceded by one at the row's own start, where all sequences of a timeline have to begin.
    cuts = _interleave(cut_start_rank, cut_end_rank)
    clipped = np.maximum(cuts, np.repeat(low, 2 * cut_counts))
    cuts = np.insert(clipped, 2 * offsets_of(cut_counts)[:-1], low)
    line = merge(points, points_of, cuts, 2 * cut_counts + 1)
    is_end = np.tile([False, True], len(start))
    distance = fragmentation(times[line.rank], line.counts, ~line.is_right, ~is_end)
    span = end[offsets[1:] - 1] - start[offsets[:-1]]
    return distance / span, span


def _interleave(start: Int, end: Int) -> Int:
    return np.column_stack([start, end]).ravel()
