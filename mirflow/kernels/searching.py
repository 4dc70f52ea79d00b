"""Sorted rows searched for many values at once: `numpy.searchsorted`, row by row, without a loop over rows."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..ragged import Float, Int, offsets_of, rows_of

Side = Literal["left", "right"]


def search_rows(times: Float, counts: Int, queries: Float, query_counts: Int, side: Side = "left") -> Int:
    """Where values belong in sorted rows, each row being searched for its own values.

    Integers that are in nearly the order of the values find a place that is never too far right; from there what
    decides is the values themselves, so that the result is exact and does not depend on the other rows.

    Parameters
    ----------
    times : float64
        Flat rows of finite values, ascending within a row; equal ones may repeat.
    counts : int64 (rows,)
    queries : float64
        Flat values, in any order within their row; infinite ones are allowed.
    query_counts : int64 (rows,)
        How many values each row is searched for.
    side : {"left", "right"}
        As in :func:`numpy.searchsorted`: before or after values that are equal.

    Returns
    -------
    int64 (sum of query_counts,)
        Index into the flat `times`, from the start of the row to its end, both included.

    Examples
    --------
    >>> times = np.array([0.0, 1.0, 1.0, 0.5])
    >>> search_rows(times, np.array([3, 1]), np.array([1.0, 2.0, 0.5]), np.array([2, 1])).tolist()
    [1, 3, 3]
    >>> search_rows(times, np.array([3, 1]), np.array([1.0, 2.0, 0.5]), np.array([2, 1]), "right").tolist()
    [3, 3, 4]
    """
    offsets = offsets_of(counts)
    if not len(times) or not len(queries):
        return np.repeat(offsets[:-1], query_counts)
    end = np.repeat(offsets[1:], query_counts)
    low, high = float(times.min()), float(times.max())
    bits = 62 - len(counts).bit_length()
    scale = 2.0 ** (bits - 1) / (high - low) if high > low else np.inf
    if not 0 < scale < np.inf:
        return advance(times, np.repeat(offsets[:-1], query_counts), end, queries, side)
    keys = _keys(times, counts, low, scale, bits)
    query_keys = _keys(np.clip(queries, low, high), query_counts, low, scale, bits)
    return advance(times, np.searchsorted(keys, query_keys), end, queries, side)


def _keys(values: Float, counts: Int, low: float, scale: float, bits: int) -> Int:
    """Integers that ascend with the row and, as far as they can tell values apart, with the value."""
    return (rows_of(counts) << bits) + ((values - low) * scale).astype(np.int64)


def advance(times: Float, place: Int, end: Int, bounds: Float, side: Side) -> Int:
    """Move places to the right, past all values that are before a bound.

    Parameters
    ----------
    times : float64
        Ascending from each place to its end.
    place, end : int64 (n,)
        Where to start, and where to stop at the latest.
    bounds : float64 (n,)
    side : {"left", "right"}
        Whether to stop before values equal to the bound or after them.

    Returns
    -------
    int64 (n,)
        The first places, up to `end`, whose value is not before the bound.

    Examples
    --------
    >>> times = np.array([0.0, 1.0, 1.0, 3.0])
    >>> advance(times, np.array([0, 0]), np.array([4, 4]), np.array([1.0, 2.0]), "left").tolist()
    [1, 3]
    """
    before = np.less if side == "left" else np.less_equal
    times = np.append(times, np.nan)  # so that every place, the last end too, has a value
    first_step = before(times[place], bounds)
    first_step &= place < end
    place = place + first_step
    again = before(times[place], bounds)
    again &= first_step
    moving = np.flatnonzero(again)
    moving = moving[place[moving] < end[moving]]
    if len(moving):
        place[moving] = _bisect(times, place[moving] + 1, end[moving], bounds[moving], side)
    return place


def retreat(times: Float, start: Int, place: Int, bounds: Float) -> Int:
    """Move places to the left, as long as the value before them is not before a bound.

    Parameters
    ----------
    times : float64
        Ascending from each start to its place.
    start, place : int64 (n,)
        Where to stop at the latest, and where to start.
    bounds : float64 (n,)

    Returns
    -------
    int64 (n,)
        The first places, down to `start`, from which on no value is before the bound.

    Examples
    --------
    >>> times = np.array([0.0, 1.0, 1.0, 3.0])
    >>> retreat(times, np.array([0, 0]), np.array([3, 3]), np.array([1.0, 2.0])).tolist()
    [1, 3]
    """
    if not len(times):
        return place
    step = times[np.maximum(place - 1, 0)] >= bounds
    step &= place > start
    place = place - step
    moving = np.flatnonzero(step)
    moving = moving[(place[moving] > start[moving]) & (times[np.maximum(place[moving] - 1, 0)] >= bounds[moving])]
    if len(moving):
        place[moving] = _bisect(times, start[moving], place[moving] - 1, bounds[moving], "left")
    return place


def _bisect(times: Float, low: Int, high: Int, bounds: Float, side: Side) -> Int:
    """The first places from `low` up to `high` whose value is not before the bound, by halving."""
    before = np.less if side == "left" else np.less_equal
    low, high = low.copy(), high.copy()
    while (low < high).any():
        middle = np.minimum((low + high) >> 1, len(times) - 1)
        short = (low < high) & before(times[middle], bounds)
        high = np.where(short, high, np.minimum(middle, high))
        low = np.where(short, middle + 1, low)
    return low
