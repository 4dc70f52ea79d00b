"""Operations on ragged rows: sorted search, sampling, order, sums, medians, common members.

Columns are flat over rows, with int64 counts of items per row; times are float64, ascending within a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from ..ragged import Bool, Float, Int, offsets_of, rows_of
from .ratios import divide


def sum_by(index: Int, values: Float, size: int) -> Float:
    """Sum the values that share an index from 0 to ``size - 1`` sequentially: float64 (size,).

    Values are added in order, so that sums are equal to the bit in any batch and with any zeros in between. For
    contiguous rows, `sum_rows` is ten times as fast.
    """
    return np.bincount(index, values, minlength=size).astype(np.float64, copy=False)


def sum_rows(values: Float, offsets: Int) -> Float:
    """Sum each row pairwise: float64 (rows,).

    The order of additions depends only on the number of values in the row, so that sums are equal to the bit in any
    batch.
    """
    sums = np.zeros(len(offsets) - 1)
    filled = np.flatnonzero(offsets[1:] > offsets[:-1])
    if len(filled):
        sums[filled] = np.add.reduceat(values, offsets[filled])
    return sums


def ascending(values: Float) -> Int:
    """Stable argsort of finite numbers: int64 (n,).

    Equivalent to numpy's stable sort, but several times as fast.
    """
    order = np.argsort(values).astype(np.int64, copy=False)
    ordered = values[order]
    step = ordered[1:] != ordered[:-1]
    if step.all():
        return order
    # Integers in the order of values and then indices have no ties and are sorted fast.
    ahead = np.zeros(len(values), dtype=np.int64)
    np.cumsum(step, out=ahead[1:])
    ahead *= len(values)
    order += ahead
    order.sort()
    order -= ahead
    return order


def by_group_and_time(group: Int, times: Float) -> tuple[Int, Int, Float]:
    """Stable argsort of times by group and time: indices, and sorted groups and times.

    Group (from 0), time and index are packed into integers, which are sorted in a fraction of the time of
    ``np.lexsort``. The latter is only used if the packed times are too coarse.
    """
    low, high = float(times.min(initial=0.0)), float(times.max(initial=0.0))
    places = len(times).bit_length()
    bits = 63 - places - int(group.max(initial=0)).bit_length()
    scale = 2.0 ** (bits - 1) / (high - low) if high > low and bits > 1 else 0.0
    if 0 < scale < np.inf:
        keys = ((times - low) * scale).astype(np.int64)
        keys |= group << bits
        keys <<= places
        keys |= np.arange(len(keys))
        keys.sort()
        order = keys & ((1 << places) - 1)
        keys >>= places
        ordered = times[order]
        equal = keys[1:] == keys[:-1]
        if (equal & (ordered[1:] < ordered[:-1])).any():
            equal_to_next = np.flatnonzero(equal)
            at = np.union1d(equal_to_next, equal_to_next + 1)
            again = at[np.lexsort((ordered[at], keys[at]))]
            order[at], ordered[at] = order[again], ordered[again]
        keys >>= bits
        return order, keys, ordered
    order = np.lexsort((times, group))
    return order, group[order], times[order]


def medians(values: Float, counts: Int, upper: bool = False) -> Float:
    """Median of each unsorted row: float64 (rows,), NaN if empty.

    With `upper`, the median of an even number of values is the upper of the middle two instead of their mean.
    """
    result = np.full(len(counts), np.nan)
    offsets = offsets_of(counts)
    ascending = values.copy()
    bounds = offsets.tolist()
    # One row at a time, as numpy sorts short contiguous arrays faster than rows can be laid out for one call.
    for start, stop in pairwise(bounds):
        ascending[start:stop].sort()
    filled = counts > 0
    first, count = offsets[:-1][filled], counts[filled]
    high = ascending[first + count // 2]
    result[filled] = high if upper else (ascending[first + (count - 1) // 2] + high) / 2
    return result


_LIMIT = 1 << 21  # Largest number of entries of a table of members


def common(left: Int, left_counts: Int, right: Int, right_counts: Int) -> Float:
    """Sizes of the intersections of all sets on the left and on the right: float64 (left sets, right sets).

    Members of the sets are concatenated; repeated members count once.
    """
    shared = np.intersect1d(left, right)
    sizes = np.zeros((len(left_counts), len(right_counts)))
    step = max(_LIMIT // (len(left_counts) + len(right_counts) + 1), 1)
    for low in range(0, len(shared), step):
        members = shared[low : low + step]
        tables = []  # indicators of members, float64 (sets, members)
        for items, counts in ((left, left_counts), (right, right_counts)):
            column = np.searchsorted(members, items)
            mask = column < len(members)
            mask[mask] = members[column[mask]] == items[mask]
            tables.append(np.zeros((len(counts), len(members))))
            tables[-1][rows_of(counts)[mask], column[mask]] = 1.0
        sizes += tables[0] @ tables[1].T
    return sizes


Side = Literal["left", "right"]


def search_rows(times: Float, counts: Int, queries: Float, query_counts: Int, side: Side = "left") -> Int:
    """Find insertion points of values in sorted rows, with separate values for each row: indices into the flat `times`.

    Integers in nearly the same order as the values give an index that is never too large; the values themselves are
    compared from there on, so that the result is exact and independent of other rows. Times are finite and possibly
    repeated, queries in any order and possibly infinite. `side` is that of :func:`numpy.searchsorted`.
    """
    if len(counts) == 1:  # a single row needs no keys
        return times.searchsorted(queries, side).astype(np.int64, copy=False)
    offsets = offsets_of(counts)
    if not len(times) or not len(queries):
        return np.repeat(offsets[:-1], query_counts)
    end = np.repeat(offsets[1:], query_counts)
    low, high = float(times.min()), float(times.max())
    bits = 62 - len(counts).bit_length()
    scale = 2.0 ** (bits - 1) / (high - low) if high > low else np.inf
    if not 0 < scale < np.inf:
        return advance(times, np.repeat(offsets[:-1], query_counts), end, queries, side)
    # Integers that ascend with the row and do not descend with the value
    keys, query_keys = (
        (rows_of(number) << bits) + ((values - low) * scale).astype(np.int64)
        for values, number in ((times, counts), (np.clip(queries, low, high), query_counts))
    )
    return advance(times, np.searchsorted(keys, query_keys), end, queries, side)


def advance(times: Float, place: Int, end: Int, bounds: Float, side: Side) -> Int:
    """Move indices to the right, at most to their ends, past ascending values before a bound: int64 (n,).

    Stop before values equal to the bound with ``side="left"``, and after them with ``"right"``.
    """
    before = np.less if side == "left" else np.less_equal
    times = np.append(times, np.nan)  # so that every index, including the last end, is valid
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
    """Move indices to the left, at most to their starts, while the previous value is not before a bound: int64 (n,)."""
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
    """Bisect for the first indices from `low` to `high` whose value is not before the bound."""
    before = np.less if side == "left" else np.less_equal
    low, high = low.copy(), high.copy()
    while (low < high).any():
        middle = np.minimum((low + high) >> 1, len(times) - 1)
        short = (low < high) & before(times[middle], bounds)
        high = np.where(short, high, np.minimum(middle, high))
        low = np.where(short, middle + 1, low)
    return low


@dataclass(frozen=True, slots=True)
class SortedRows:
    """Rows of ascending keys, each followed by an infinite one, with data for a first guess.

    Sample i of a row is in force from its key to the next one.
    """

    keys: Float  # float64 (samples + rows,)
    first: Int
    last: Int
    """int64 (rows,): indices of the first and the last sample of each row in the keys; rows have at least one
    sample."""
    origin: Float
    rate: Float
    """Time of the first sample, and samples per second: float64 (rows,)."""
    closed: bool  # Whether a sample is in force exactly at its key

    @classmethod
    def of(cls, times: Float, counts: Int, nearest: bool) -> SortedRows:
        """Make an axis on which a sample holds until the next one or, with `nearest`, the nearest one is in force.

        Rows have at least one sample, followed by an infinite one that is not counted. The last of simultaneous samples
        holds; of two equally near ones, it is the earlier. Their middle is computed as ``a / 2 + b / 2``.
        """
        first = offsets_of(counts + 1)[:-1]
        last = first + counts - 1
        origin = times[first]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rate = np.where(last > first, (last - first) / (times[last] - origin), 0.0)
        if not nearest:
            return cls(times, first, last, origin, rate, closed=True)
        half = times / 2.0
        middles = np.empty_like(times)
        np.add(half[1:], half[:-1], out=middles[1:])
        middles[first] = -np.inf
        middles[last + 1] = np.inf
        return cls(middles, first, last, origin - divide(0.5, rate), rate, closed=False)

    def find(self, row: Int, times: Float, counts: Int) -> Int:
        """Find the sample in force at given times (the first one for earlier times): int64 (times,), indices into
        `keys`.

        Times are in groups; `row` has the row of each group.
        """
        first, last = self.first[row], self.last[row]
        with np.errstate(invalid="ignore", over="ignore"):
            offset = first - self.origin[row] * self.rate[row]
            steps = times * np.repeat(self.rate[row], counts)
            steps += np.repeat(offset, counts)
        for bound, limit in ((first, np.fmax), (last, np.fmin)):  # NaN becomes the first of the row
            limit(steps, np.repeat(bound.astype(np.float64), counts), out=steps)
        guess = steps.astype(np.int64)
        reached: Callable[[Float, Float], Bool] = np.less_equal if self.closed else np.less
        wrong = reached(self.keys.take(guess + 1, mode="clip"), times)
        wrong |= ~reached(self.keys.take(guess, mode="clip"), times)
        places = np.flatnonzero(wrong)
        if len(places):
            group = np.searchsorted(np.cumsum(counts), places, side="right")
            # Guesses that are wrong or before the first sample are corrected by one, and the others by bisection.
            start, asked, begin, end = guess[places], times[places], first[group], last[group]
            up = reached(self.keys[start + 1], asked)
            sample = np.clip(np.where(up, start + 1, start - 1), begin, end)
            wrong = reached(self.keys[sample + 1], asked) | ~reached(self.keys[sample], asked)
            far = np.flatnonzero(wrong & (sample > begin) | reached(self.keys[sample + 1], asked))
            low, high, asked = begin[far], end[far], asked[far]
            while (low < high).any():
                middle = (low + high + 1) >> 1
                fits = reached(self.keys[middle], asked)
                low, high = np.where(fits, middle, low), np.where(fits, high, np.maximum(middle - 1, low))
            sample[far] = low
            guess[places] = sample
        return guess
