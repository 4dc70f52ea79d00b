"""Which labels are in force between consecutive cut points, for many pairs at once, as MIREX 2013 walks them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....kernels.timeline import merge, rank
from ....ragged import Bool, Float, Int, Ragged, rows_of


@dataclass(frozen=True, slots=True)
class Side:
    """The segments of one side, one row a pair, with ranks of times for times.

    Parameters
    ----------
    start, end : int64 (n,)
        Positions in the sorted distinct times of both sides.
    label : int64 (n,)
    counts, offsets : int64 (pairs,), int64 (pairs + 1,)
    """

    start: Int
    end: Int
    label: Int
    counts: Int
    offsets: Int

    @property
    def last_end(self) -> Int:
        """Rank of the end of each pair's last segment; -1 for a pair without one."""
        last = np.full(len(self.counts), -1, dtype=np.int64)
        some = self.counts > 0
        last[some] = self.end[self.offsets[1:][some] - 1]
        return last

    def reached(self, bits: int) -> Int:
        """The latest end up to each segment, as ``pair << bits | rank``, which never falls along the whole array."""
        return np.maximum.accumulate(rows_of(self.counts) << bits | self.end)


@dataclass(frozen=True, slots=True)
class Pieces:
    """The stretches of time between consecutive cut points of each pair, in order.

    Parameters
    ----------
    pair : int64 (n,)
    start, end : float64 (n,), seconds
    reference, estimate : int64 (n,)
        The label in force on each side; -1 where there is none.
    """

    pair: Int
    start: Float
    end: Float
    reference: Int
    estimate: Int


def rank_times(reference: Ragged, estimate: Ragged) -> tuple[Float, Side, Side]:
    """The sorted distinct times of both sides, 0 among them, and the sides with ranks instead of times.

    Parameters
    ----------
    reference, estimate : Ragged
        One row a pair; columns start, end (float64, seconds, not negative) and label.
    """
    fresh = _fresh_starts(reference), _fresh_starts(estimate)
    starts = (rows.columns["start"][new] for rows, new in zip((reference, estimate), fresh, strict=True))
    times, ranks = rank(np.zeros(1), reference.columns["end"], estimate.columns["end"], *starts)
    return times, _side(reference, ranks[1], ranks[3], fresh[0]), _side(estimate, ranks[2], ranks[4], fresh[1])


def _fresh_starts(rows: Ragged) -> Bool:
    """Segments that do not start at the end before them in the flat column; the others need no rank of their own."""
    start, end = rows.columns["start"], rows.columns["end"]
    fresh = np.ones(len(start), dtype=np.bool_)
    np.not_equal(start[1:], end[:-1], out=fresh[1:])
    return fresh


def _side(rows: Ragged, end: Int, fresh_start: Int, fresh: Bool) -> Side:
    start = np.empty_like(end)
    start[1:] = end[:-1]
    start[fresh] = fresh_start
    return Side(start, end, rows.columns["label"], rows.counts[0], rows.offsets)


def seconds_by(group: Int, seconds: Float, groups: int) -> Float:
    """Seconds summed in each group, one after the other in the order given: float64 (groups,)."""
    return np.asarray(np.bincount(group, weights=seconds, minlength=groups), dtype=np.float64)


def share_of(part: Float, whole: Float) -> Float:
    """The ratio of two times; 0 where there is nothing to have a share of."""
    return np.asarray(np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0))


def walk(times: Float, reference: Side, estimate: Side) -> Pieces:
    """The stretches between cut points from 0 to the end of the last reference segment, with the labels in force.

    Parameters
    ----------
    times : float64 (n,), seconds
        What the ranks stand for.
    reference, estimate : Side

    Returns
    -------
    Pieces
        Pairs without a reference have none.
    """
    bits = len(times).bit_length()
    left, left_counts, left_passed = _points(bits, reference)
    right, right_counts, right_passed = _points(bits, estimate)
    line = merge(left, left_counts, right, right_counts)
    pair, here = line.pair, line.rank
    follows = (pair[1:] == pair[:-1]) & (here[1:] > here[:-1]) & (here[1:] <= reference.last_end[pair[:-1]])
    at = np.flatnonzero(follows)
    pair, until = pair[at], here[at + 1]
    labels = (
        _in_force(reference, pair, until, left_passed[line.left[at]]),
        _in_force(estimate, pair, until, right_passed[line.right[at]]),
    )
    return Pieces(pair, times[here[at]], times[until], *labels)


def _points(bits: int, side: Side) -> tuple[Int, Int, Int]:
    """Cut points of one side: their ranks, how many each pair has, and how many segments are passed beyond each.

    A segment is passed, for good, at the latest end up to it. Starts at which the segment before has just been passed
    add nothing.
    """
    owner = rows_of(side.counts) << bits
    start, end, reached = owner | side.start, owner | side.end, side.reached(bits)
    lone = np.ones(len(start), dtype=np.bool_)
    np.not_equal(start[1:], reached[:-1], out=lone[1:])
    zero = np.arange(len(side.counts), dtype=np.int64) << bits
    keys = np.concatenate([zero << 1, start[lone] << 1, end[end != reached] << 1, reached << 1 | 1])
    keys.sort()
    counts = np.bincount(keys >> (bits + 1), minlength=len(zero)).astype(np.int64)
    return keys >> 1 & ((1 << bits) - 1), counts, np.cumsum(keys & 1)


def _in_force(side: Side, pair: Int, until: Int, passed: Int) -> Int:
    """The label up to a moment: that of the first segment not passed before it, if that has begun by then; else -1."""
    if not len(side.label):
        return np.full(len(pair), -1, dtype=np.int64)
    item = np.minimum(passed, side.offsets[1:][pair] - 1)
    return np.where((side.start[item] < until) & (until <= side.last_end[pair]), side.label[item], -1)
