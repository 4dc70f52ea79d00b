"""Rows of labelled intervals as step functions over ranked time, and an estimate's steps fitted to its reference.

What mir_eval does with intervals is written down here once: the estimate is cut to the reference's span and padded
with no-chord, and between intervals of one sequence the earlier label stays in force.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...ragged import Bool, Float, Int, Ragged, offsets_of, ranges, rows_of

NOTHING = -1
"""The item where a sequence says nothing, which counts as no chord."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Sequences as step functions: at each step something begins, and stays until the next.

    Parameters
    ----------
    time : float64 (steps,), seconds
        Strictly ascending within a sequence.
    item : int64 (steps,)
        The interval whose label is in force from here on, as an index into the flat intervals; `NOTHING` for none.
    stop : bool (steps,)
        Where an interval ends and none begins. Its label stays in force, which is how mir_eval reads a gap.
    edge : bool (steps,)
        Where a run of intervals of the same chord begins or ends.
    counts : int64 (sequences,)
    """

    time: Float
    item: Int
    stop: Bool
    edge: Bool
    counts: Int


def steps_of(rows: Ragged, chord: Int | None) -> Steps:
    """The step functions of rows of intervals.

    Parameters
    ----------
    rows : Ragged
        Columns start and end; sorted by start, none ends before an earlier one of its row does.
    chord : int64 (intervals,) or None
        What makes neighbouring intervals one run; None: every interval is a run of its own.
    """
    start, end = rows.columns["start"], rows.columns["end"]
    size, offsets = len(start), rows.offsets
    first = np.zeros(size + 1, dtype=np.bool_)
    first[offsets[:-1]] = True
    first[size] = True
    opens = first.copy()  # whether a run begins here; beyond the last interval one would
    if chord is None:
        opens[:] = True
    else:
        opens[1:size] |= chord[1:] != chord[:-1]
    stops = first[1:].copy()
    stops[:-1] |= end[:-1] < start[1:]
    before = offsets_of(stops.astype(np.int64))
    place = np.arange(size, dtype=np.int64) + before[:-1]
    after = place[stops] + 1
    total = size + len(after)
    time = np.empty(total)
    stop, edge = np.zeros(total, dtype=np.bool_), np.empty(total, dtype=np.bool_)
    time[place], time[after] = start, end[stops]
    edge[place], edge[after] = opens[:-1], opens[1:][stops]
    stop[after] = True
    item = np.repeat(np.arange(size, dtype=np.int64), 1 + stops)
    counts = rows.counts[0] + before[offsets[1:]] - before[offsets[:-1]]
    return _distinct(Steps(time, item, stop, edge, counts))


def _distinct(steps: Steps) -> Steps:
    """Of several steps of a sequence at one time the last; only intervals without length make several."""
    again = np.zeros(len(steps.time), dtype=np.bool_)
    again[:-1] = steps.time[:-1] == steps.time[1:]
    again[offsets_of(steps.counts)[1:][steps.counts > 0] - 1] = False
    if not again.any():
        return steps
    last = np.flatnonzero(~again)
    edge = np.logical_or.reduceat(steps.edge, np.concatenate([[0], last[:-1] + 1]))
    kept = np.concatenate([[0], np.cumsum(~again)])
    offsets = offsets_of(steps.counts)
    counts = kept[offsets[1:]] - kept[offsets[:-1]]
    return Steps(steps.time[last], steps.item[last], steps.stop[last], edge, counts)


@dataclass(frozen=True, slots=True)
class Sequences:
    """One sequence of steps a pair, with their times as ranks.

    Parameters
    ----------
    rank, item, stop, edge, counts
        As in `Steps`, with ranks for times.
    """

    rank: Int
    item: Int
    stop: Bool
    edge: Bool
    counts: Int


class StepRows:
    """Steps of distinct rows, to be looked up by row and rank.

    Parameters
    ----------
    steps : Steps
    rank : int64 (steps,)
        The times of the steps as ranks.
    ranks : int
        How many ranks there are, those of other sequences included.
    carry : bool
        Whether a label stays in force over the gap after it; otherwise nothing is in force there.
    """

    def __init__(self, steps: Steps, rank: Int, ranks: int, carry: bool = True) -> None:
        self.counts, self.offsets = steps.counts, offsets_of(steps.counts)
        self._bits = ranks.bit_length()
        self._keys = (rows_of(steps.counts) << self._bits) + rank
        # One step more, so that an index just before the first or after the last row reads something.
        self._rank, self._item = np.append(rank, -1), np.append(steps.item, NOTHING)
        self._stop, self._edge = np.append(steps.stop, False), np.append(steps.edge, True)
        if not carry:
            self._item[self._stop] = NOTHING
            self._edge |= self._stop
            self._stop = np.zeros_like(self._stop)

    def bounds(self) -> tuple[Int, Int]:
        """Rank of the first and of the last step of each row; of an empty row anything."""
        return self._rank[self.offsets[:-1]], self._rank[self.offsets[1:] - 1]

    def take(self, rows: Int) -> Sequences:
        """The steps of the given rows, as they are."""
        counts = self.counts[rows]
        source = ranges(self.offsets[rows], counts)
        return Sequences(self._rank[source], self._item[source], self._stop[source], self._edge[source], counts)

    def fit(self, rows: Int, low: Int, high: Int, chord: Int | None) -> Sequences:
        """The given rows cut and padded to a span of their own for each pair.

        Intervals wholly before `low` or after `high` are left out, those across are cut, and one of which only an
        instant would remain is dropped. Where a row starts late, or stops for good before `high`, nothing (no chord)
        is in force; over a gap in between the earlier label is.

        Parameters
        ----------
        rows, low, high : int64 (pairs,)
            The row of each pair, and its span as ranks, with low < high.
        chord : int64 (intervals + 1,) or None
            What makes neighbours one run; the last element stands for `NOTHING`. None: each step is an edge.

        Returns
        -------
        Sequences
            The first step of each is at `low`, all others lie between `low` and `high`.
        """
        first = np.searchsorted(self._keys, (rows << self._bits) + low, side="right")
        last = np.maximum(np.searchsorted(self._keys, (rows << self._bits) + high, side="left"), first)
        # If the row's step before `high` is a stop, its step at `high` is the start of the next interval.
        resumes = (last < self.offsets[rows + 1]) & (self._rank[last] == high)
        counts = 1 + last - first
        source = ranges(first - 1, counts)  # the first of each is the step in force at `low`, or a stand-in for it
        rank, item, stop, edge = self._rank[source], self._item[source], self._stop[source], self._edge[source]
        front = offsets_of(counts)[:-1]
        # An interval that ends just at `low` says something only if the next one continues its run.
        goes_on = (rank[front] == low) & ((last > first) | resumes)
        goes_on &= False if chord is None else chord[item[front]] == chord[self._item[first]]
        speaks = (first > self.offsets[rows]) & (~stop[front] | goes_on)
        item[front] = np.where(speaks, item[front], NOTHING)
        rank[front], stop[front], edge[front] = low, False, True
        fitted = Sequences(rank, item, stop, edge, counts)
        _join_front(fitted, front[counts > 1] + 1, chord)
        _end(fitted, front + counts - 1, resumes, chord)
        return fitted


def _join_front(fitted: Sequences, second: Int, chord: Int | None) -> None:
    """Settle, in place, whether a run begins at the first interval after the pad."""
    if chord is not None:
        begins = chord[fitted.item[second]] != chord[fitted.item[second - 1]]
        fitted.edge[second] = np.where(fitted.stop[second], fitted.edge[second], begins)


def _end(fitted: Sequences, last: Int, resumes: Bool, chord: Int | None) -> None:
    """Put, in place, no-chord where a row stops for good before the end of its span."""
    over = last[fitted.stop[last] & (fitted.edge[last] | ~resumes)]
    if chord is not None:
        fitted.edge[over] = chord[fitted.item[over]] != chord[NOTHING]
    fitted.item[over] = NOTHING
    fitted.stop[over] = False
