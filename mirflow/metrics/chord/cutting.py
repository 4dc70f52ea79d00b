"""Pairs of chord sequences cut at their common boundaries, batch by batch, on exact time or on frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...kernels.frames import frames_before
from ...kernels.hamming import fragmentation
from ...kernels.timeline import Timeline, batches, merge, rank, steps_between
from ...ragged import Bool, Float, Int, Ragged, offsets_of, rows_of
from .segments import Sequences, StepRows, steps_of

_POINTS = 1 << 15
"""Points of one batch: more fall out of the cache, fewer cost more calls."""


@dataclass(frozen=True, slots=True)
class Side:
    """The intervals of one side of the pairs, with the chord of each.

    Parameters
    ----------
    rows : Ragged
        Columns start and end.
    chord : int64 (intervals + 1,)
        The last element is no-chord, for the item -1.
    """

    rows: Ragged
    chord: Int


@dataclass(frozen=True, slots=True)
class Axis:
    """All pairs of one call, ready to be cut.

    Parameters
    ----------
    times : float64 (k,)
        The distinct times, by rank: seconds, or frames counted from the reference's start.
    reference, estimate : StepRows
    sides : (Side, Side)
    reference_row, estimate_row : int64 (pairs,)
    low, high : int64 (pairs,)
        The reference's span, as ranks.
    unit : float
        Seconds that a difference of 1 in `times` stands for.
    merged : int64 (chords,) or None
        What makes neighbours one run; None: they are never merged.
    """

    times: Float
    reference: StepRows
    estimate: StepRows
    sides: tuple[Side, Side]
    reference_row: Int
    estimate_row: Int
    low: Int
    high: Int
    unit: float
    merged: Int | None

    @property
    def span(self) -> Float:
        """The length of each pair's reference: float64 (pairs,), seconds."""
        return (self.times[self.high] - self.times[self.low]) * self.unit

    @property
    def ragged_ends(self) -> Int:
        """How often each pair's estimate starts after its reference or ends before it: 0, 1 or 2."""
        first, last = (bound[self.estimate_row] for bound in self.estimate.bounds())
        some = self.estimate.counts[self.estimate_row] > 0
        return np.where(some, (first > self.low).astype(np.int64) + (last < self.high), 0)

    def fit_estimates(self, pairs: slice) -> Sequences:
        """The estimates of some pairs, over their references' spans."""
        run = None if self.merged is None else self.merged[self.sides[1].chord]
        return self.estimate.fit(self.estimate_row[pairs], self.low[pairs], self.high[pairs], run)


def lay_out(
    sides: tuple[Side, Side],
    reference_row: Int,
    estimate_row: Int,
    merged: Int | None,
    unit: float = 1.0,
    carry: bool = True,
) -> Axis:
    """Rank all times of the rows that occur in some pairs.

    Parameters
    ----------
    sides : (Side, Side)
        References and estimates.
    reference_row, estimate_row : int64 (pairs,)
        No reference row is empty.
    merged : int64 (chords,) or None
    unit : float
    carry : bool
        Whether a label stays in force over the gap after it.
    """
    steps = [steps_of(side.rows, None if merged is None else merged[side.chord[:-1]]) for side in sides]
    times, ranks = rank(*(one.time for one in steps))
    reference, estimate = (StepRows(one, own, len(times), carry) for one, own in zip(steps, ranks, strict=True))
    low, high = (bound[reference_row] for bound in reference.bounds())
    return Axis(times, reference, estimate, sides, reference_row, estimate_row, low, high, unit, merged)


@dataclass(frozen=True, slots=True)
class Cut:
    """A batch of pairs, cut at every boundary of either side.

    Parameters
    ----------
    pairs : slice
        Which pairs of the call they are.
    line : Timeline
    times, seconds : float64 (points,)
        The time of each point, and the length of the segment from it to the next one of its pair.
    reference, estimate : Sequences
    pair : int64 (points,)
        The pair of each point, counted within the batch.
    reference_chord, estimate_chord : int64 (points,)
        The chord in force on each side.
    """

    pairs: slice
    line: Timeline
    times: Float
    seconds: Float
    reference: Sequences
    estimate: Sequences
    pair: Int
    reference_chord: Int
    estimate_chord: Int

    def __len__(self) -> int:
        return len(self.line.counts)


def cut(axis: Axis) -> Iterator[Cut]:
    """The pairs in batches that fit into the cache, in order."""
    sizes = axis.reference.counts[axis.reference_row] + axis.estimate.counts[axis.estimate_row] + 1
    for pairs in batches(sizes, _POINTS):
        reference = axis.reference.take(axis.reference_row[pairs])
        estimate = axis.fit_estimates(pairs)
        line = merge(reference.rank, reference.counts, estimate.rank, estimate.counts)
        times = axis.times[line.rank]
        yield Cut(
            pairs,
            line,
            times,
            steps_between(times, line.counts) * axis.unit,
            reference,
            estimate,
            line.pair,
            axis.sides[0].chord[reference.item][line.left],
            axis.sides[1].chord[estimate.item][line.right],
        )


def fragmented(batch: Cut) -> tuple[Float, Float]:
    """Length of the reference's runs outside their largest pieces, and of the estimate's: float64 (pairs,) each."""
    side = batch.line.is_right
    edge: Bool = np.empty(len(side), dtype=np.bool_)
    edge[~side], edge[side] = batch.reference.edge, batch.estimate.edge
    times, side = batch.times[edge], side[edge]
    counts = np.bincount(batch.pair[edge], minlength=len(batch))
    reference = fragmentation(times, counts, ~side, ~batch.reference.stop[batch.reference.edge])
    estimate = fragmentation(times, counts, side, ~batch.estimate.stop[batch.estimate.edge])
    return reference, estimate


def to_frames(axis: Axis, hop: float) -> Axis:
    """The same pairs as seen on frames: what holds at a frame's time holds for the whole frame, gaps are no chord.

    Parameters
    ----------
    axis : Axis
        Laid out with ``carry=False``.
    hop : float, seconds
        Frame k of a pair is at ``reference's start + k * hop``, as long as that is before the reference's end.
    """
    every = slice(0, len(axis.reference_row))
    sides = (
        _sampled(axis, axis.reference.take(axis.reference_row), axis.sides[0], hop),
        _sampled(axis, axis.fit_estimates(every), axis.sides[1], hop),
    )
    row = np.arange(every.stop, dtype=np.int64)
    return lay_out(sides, row, row, axis.merged, unit=hop)


def _sampled(axis: Axis, sequences: Sequences, side: Side, hop: float) -> Side:
    """The intervals of one side with times counted in frames; those that no frame falls into are left out."""
    pair = rows_of(sequences.counts)
    start = axis.times[axis.low]
    before = frames_before(start[pair], hop, axis.times[sequences.rank])
    after = np.empty_like(before)
    after[:-1] = before[1:]
    after[offsets_of(sequences.counts)[1:] - 1] = frames_before(start, hop, axis.times[axis.high])
    kept = after > before
    columns = {"start": before[kept].astype(np.float64), "end": after[kept].astype(np.float64)}
    counts = np.bincount(pair[kept], minlength=len(sequences.counts))
    chord = side.chord[sequences.item[kept]]
    return Side(Ragged(columns, (counts,)), np.append(chord, side.chord[-1]))
