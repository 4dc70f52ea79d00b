"""Common timelines of many pairs of sequences: all their points merged by one sort.

The way from annotations to a timeline has three steps. `rank` replaces times by their ranks, small integers in the
same order; the caller arranges, with integers only, what each sequence of each pair consists of (clipped, padded,
with labels for gaps, as its convention wants); `merge` sorts the points of all pairs at once. The times come back as
``times[rank]``, untouched, so that a pair's durations are the exact differences of its own times whatever it is
batched with. Adding an offset to the times of each pair would need no ranks, but it rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..ragged import Bool, Float, Int, offsets_of, rows_of


def rank(*columns: Float) -> tuple[Float, tuple[Int, ...]]:
    """Times as integers in the same order.

    Parameters
    ----------
    *columns : float64 (n,)
        Finite times of any number of sequences, in any order.

    Returns
    -------
    times : float64 (k,)
        The distinct times, ascending.
    ranks : tuple of int64 (n,)
        For each column, where its values stand in `times`.

    Examples
    --------
    >>> times, (a, b) = rank(np.array([0.5, 2.0]), np.array([2.0, 1.5]))
    >>> times.tolist(), a.tolist(), b.tolist()
    ([0.5, 1.5, 2.0], [0, 2], [2, 1])
    """
    every = np.concatenate(columns) if columns else np.zeros(0)
    order = np.argsort(every)
    ascending = every[order]
    fresh = np.ones(len(every), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=fresh[1:])
    ranks = np.empty(len(every), dtype=np.int64)
    ranks[order] = np.cumsum(fresh) - 1
    ends = np.cumsum([len(column) for column in columns])
    return ascending[fresh], tuple(np.split(ranks, ends[:-1])) if columns else ()


@dataclass(frozen=True, slots=True)
class Timeline:
    """The points of many pairs, each pair's in order of time, one pair after the other.

    Points at equal times are not collapsed: they lie next to each other and the stretch between them lasts 0 s.

    Parameters
    ----------
    rank : int64 (points,)
        The time of each point, as its rank.
    counts : int64 (pairs,)
        How many points each pair has: those of both its sequences.
    is_right : bool (points,)
        Which sequence a point is from. Taken in order, the points from one side are that side's points as given.
    left, right : int64 (points,)
        For each side the last of its points up to here, as an index into the flat points as given. At the last of
        several points at one time, and at any earlier one where the stretch is empty anyway, this is what is in force.
    """

    rank: Int
    counts: Int
    is_right: Bool
    left: Int
    right: Int

    @property
    def pair(self) -> Int:
        """The pair of each point: int64 (points,)."""
        return rows_of(self.counts)

    def durations(self, times: Float) -> Float:
        """Seconds from each point to the next one of its pair; 0 at each pair's last: float64 (points,).

        Parameters
        ----------
        times : float64 (k,)
            The distinct times that `rank` returned.
        """
        return steps_between(times[self.rank], self.counts)


def steps_between(times: Float, counts: Int) -> Float:
    """Differences of neighbouring times in rows that lie one after the other; 0 at each row's last.

    Examples
    --------
    >>> steps_between(np.array([0.0, 1.5, 7.0, 8.0]), np.array([2, 2])).tolist()
    [1.5, 0.0, 1.0, 0.0]
    """
    steps = np.empty_like(times)
    np.subtract(times[1:], times[:-1], out=steps[:-1])
    steps[np.cumsum(counts)[counts > 0] - 1] = 0.0
    return steps


def merge(left: Int, left_counts: Int, right: Int, right_counts: Int) -> Timeline:
    """The common timelines of pairs of sequences.

    Parameters
    ----------
    left, right : int64
        Ranks of the points of each side, flat, the pairs one after the other, not descending within a pair.
    left_counts, right_counts : int64 (pairs,)
        How many points each pair has on each side: at least one, and both sides of a pair start at the same rank
        (pad the one that starts later), so that something is in force on both from the start.

    Returns
    -------
    Timeline

    Raises
    ------
    ValueError
        If the two sides of a pair do not start together.

    Examples
    --------
    Two pairs; the first has the points 0, 2, 4 against 0, 3, the second 1, 2 against 1.

    >>> left, right = np.array([0, 2, 4, 1, 2]), np.array([0, 3, 1])
    >>> line = merge(left, np.array([3, 2]), right, np.array([2, 1]))
    >>> line.rank.tolist(), line.counts.tolist()
    ([0, 0, 2, 3, 4, 1, 1, 2], [5, 3])
    >>> left[line.left].tolist(), right[line.right].tolist()
    ([0, 0, 2, 2, 4, 1, 1, 2], [1, 0, 0, 3, 3, 3, 1, 1])
    """
    _check_starts(left, left_counts, right, right_counts)
    counts = left_counts + right_counts
    bits = int(max(left.max(initial=0), right.max(initial=0))).bit_length() + 1
    # pair | rank | side: one integer, so that one sort of plain integers orders everything
    keys = np.empty(len(left) + len(right), dtype=np.int64)
    pair = np.arange(len(counts), dtype=np.int64) << bits
    keys[: len(left)] = np.repeat(pair, left_counts) + (left << 1)
    keys[len(left) :] = np.repeat(pair + 1, right_counts) + (right << 1)
    keys.sort()
    side = keys & 1
    last_right = np.cumsum(side) - 1
    last_left = np.arange(len(keys), dtype=np.int64) - last_right - 1
    ranks = keys >> 1 & ((1 << (bits - 1)) - 1)
    return Timeline(ranks, counts, side.astype(np.bool_), last_left, last_right)


def _check_starts(left: Int, left_counts: Int, right: Int, right_counts: Int) -> None:
    if not (left_counts.all() and right_counts.all()):
        raise ValueError("every pair needs at least one point on each side")
    if not np.array_equal(left[offsets_of(left_counts)[:-1]], right[offsets_of(right_counts)[:-1]]):
        raise ValueError("both sides of a pair must start at the same time; pad the one that starts later")


def batches(sizes: Int, limit: int) -> Iterator[slice]:
    """Consecutive slices whose sizes add up to at most `limit` (more only where one alone is larger).

    Examples
    --------
    >>> [(s.start, s.stop) for s in batches(np.array([3, 4, 9, 1]), 8)]
    [(0, 2), (2, 3), (3, 4)]
    """
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = int(ends[start - 1]) if start else 0
        stop = max(int(np.searchsorted(ends, before + limit, side="right")), start + 1)
        yield slice(start, stop)
        start = stop
