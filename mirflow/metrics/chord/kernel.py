"""Kernels of the chord metrics: sequences cut at common boundaries, and sums of seconds over the segments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...kernels.intervals import Timeline, batches, fragmentation, frames_before, merge, rank, steps_between
from ...kernels.ragged_ops import sum_by
from ...ragged import Bool, Column, Float, Int, Ragged, offsets_of, ranges, rows_of
from ...theory.chords import OCTAVE, ChordTable
from .rules import RULES, VOCABULARIES, Chords, compare, to_25

NOTHING = -1  # Item for times outside all intervals, which count as no chord


@dataclass(frozen=True, slots=True)
class Steps:
    """Sequences as step functions."""

    time: Column
    """Times or their ranks, strictly ascending within a sequence: float64 (steps,), seconds, or int64 (steps,)."""
    item: Int
    """int64 (steps,): index into the flat intervals of the one that is in force from this step on; `NOTHING` for
    none."""
    stop: Bool
    """bool (steps,): whether an interval ends and none begins. Its label stays in force, which is how mir_eval treats
    gaps."""
    edge: Bool  # Whether a run of intervals of the same chord begins or ends: bool (steps,)
    counts: Int  # int64 (sequences,)


def steps_of(rows: Ragged, chord: Int | None) -> Steps:
    """Make step functions of rows of intervals that are sorted by both start and end.

    Neighbouring intervals of one `chord` form a run; None: every interval is a separate run.
    """
    start, end = rows.columns["start"], rows.columns["end"]
    size, offsets = len(start), rows.offsets
    first = np.zeros(size + 1, dtype=np.bool_)
    first[offsets[:-1]] = True
    first[size] = True
    opens = first.copy()  # whether a run begins; one would after the last interval
    if chord is None:
        opens[:] = True
    else:
        opens[1:size] |= chord[1:] != chord[:-1]
    stops = first[1:].copy()
    stops[:-1] |= end[:-1] < start[1:]
    before = offsets_of(stops.astype(np.int64))
    position = np.arange(size, dtype=np.int64) + before[:-1]
    after = position[stops] + 1
    total = size + len(after)
    time = np.empty(total)
    stop, edge = np.zeros(total, dtype=np.bool_), np.empty(total, dtype=np.bool_)
    time[position], time[after] = start, end[stops]
    edge[position], edge[after] = opens[:-1], opens[1:][stops]
    stop[after] = True
    item = np.repeat(np.arange(size, dtype=np.int64), 1 + stops)
    counts = rows.counts[0] + before[offsets[1:]] - before[offsets[:-1]]
    # Of simultaneous steps, which are due to intervals of zero length, the last is kept.
    offsets = offsets_of(counts)
    again = np.zeros(total, dtype=np.bool_)
    again[:-1] = time[:-1] == time[1:]
    again[offsets[1:][counts > 0] - 1] = False
    if not again.any():
        return Steps(time, item, stop, edge, counts)
    last = np.flatnonzero(~again)
    edge = np.logical_or.reduceat(edge, np.concatenate([[0], last[:-1] + 1]))
    index = np.concatenate([[0], np.cumsum(~again)])
    return Steps(time[last], item[last], stop[last], edge, index[offsets[1:]] - index[offsets[:-1]])


class StepRows:
    """Steps of distinct rows, which are looked up by row and rank.

    A label stays in force during the gap after it if `carry`. Times are given as ranks, whose number includes those of
    other sequences.
    """

    def __init__(self, steps: Steps, rank: Int, ranks: int, carry: bool = True) -> None:
        self.counts, self.offsets = steps.counts, offsets_of(steps.counts)
        self._bits = ranks.bit_length()
        self._keys = (rows_of(steps.counts) << self._bits) + rank
        # One more step, so that an index just before the first or after the last row is valid.
        self._rank, self._item = np.append(rank, -1), np.append(steps.item, NOTHING)
        self.bounds = self._rank[self.offsets[:-1]], self._rank[self.offsets[1:] - 1]
        """Ranks of the first and the last step of each row; arbitrary for empty rows."""
        self._stop, self._edge = np.append(steps.stop, False), np.append(steps.edge, True)
        if not carry:
            self._item[self._stop] = NOTHING
            self._edge |= self._stop
            self._stop = np.zeros_like(self._stop)

    def take(self, rows: Int) -> Steps:
        """Take the steps of rows unchanged, with ranks as times."""
        counts = self.counts[rows]
        source = ranges(self.offsets[rows], counts)
        return Steps(self._rank[source], self._item[source], self._stop[source], self._edge[source], counts)

    def fit(self, rows: Int, low: Int, high: Int, chord: Int | None, stretched: bool = False) -> Steps:
        """Crop and pad rows to the span of each pair, in ranks.

        Intervals entirely before `low` or after `high` are dropped, intervals across are cut, and intervals of which
        only an instant would remain are dropped. Nothing (no chord) is in force before the first and after the last
        interval of a row; during gaps in between, the earlier label is. The first step of each pair is at `low`; all
        others are between `low` and `high`.

        Neighbours with equal `chord` numbers form runs; the last number is for `NOTHING`. None: each step is an edge.
        If `stretched`, the first and last interval in the span are extended to its ends if the row continues beyond
        them after a gap.
        """
        first = np.searchsorted(self._keys, (rows << self._bits) + low, side="right")
        last = np.maximum(np.searchsorted(self._keys, (rows << self._bits) + high, side="left"), first)
        # If the row's step before `high` is a stop, its step at `high` is the start of the next interval.
        resumes = (last < self.offsets[rows + 1]) & (self._rank[last] == high)
        counts = 1 + last - first
        source = ranges(first - 1, counts)  # starts with the step in force at `low`, or a placeholder
        rank, item, stop, edge = self._rank[source], self._item[source], self._stop[source], self._edge[source]
        front = offsets_of(counts)[:-1]
        # An interval that ends exactly at `low` is in force only if the next one continues its run.
        goes_on = (rank[front] == low) & ((last > first) | resumes)
        goes_on &= False if chord is None else chord[item[front]] == chord[self._item[first]]
        in_force = (first > self.offsets[rows]) & (~stop[front] | goes_on)
        item[front] = np.where(in_force, item[front], NOTHING)
        if stretched:
            late = (first > self.offsets[rows]) & ~in_force & (last > first)
            item[front[late]] = self._item[first[late]]
        rank[front], stop[front], edge[front] = low, False, True
        if chord is not None:  # whether a run begins at the first interval after the pad
            second = front[counts > 1] + 1
            edge[second] = np.where(stop[second], edge[second], chord[item[second]] != chord[item[second - 1]])
        # A row that ends before its span is followed by no chord.
        final = front + counts - 1
        over = final[stop[final] & (edge[final] | ~resumes)]
        if stretched:
            ends = last >= self.offsets[rows + 1]
            over = final[stop[final] & ends]
            on = final[stop[final] & ~ends & (counts > 1)]
            stop[on] = edge[on] = False
        if chord is not None:
            edge[over] = chord[item[over]] != chord[NOTHING]
        item[over], stop[over] = NOTHING, False
        return Steps(rank, item, stop, edge, counts)


_POINTS = 1 << 15  # Points per batch: more would not fit into the cache, fewer would cost more calls


@dataclass(frozen=True, slots=True)
class ChordSide:
    """The intervals of one side with the chord of each; the last chord, for the item -1, is no chord."""

    rows: Ragged
    chord: Int


@dataclass(frozen=True, slots=True)
class ChordTimelines:
    """All pairs of one call, before they are cut."""

    times: Float  # float64 (k,): distinct times by rank: seconds, or frames counted from the reference's start
    reference: StepRows
    estimate: StepRows
    sides: tuple[ChordSide, ChordSide]
    reference_row: Int
    estimate_row: Int  # int64 (pairs,)
    low: Int
    high: Int  # The reference's span, as ranks: int64 (pairs,)
    unit: float  # Seconds of a difference of 1 in `times`
    merged: Int | None
    """int64 (chords,) or None: chord number by which neighbours form runs; None: they are never merged."""
    run: Int | None  # This number for each item of the estimates
    span: Float  # The length of each pair's reference: float64 (pairs,), seconds
    ragged_ends: Int
    """Number of late starts and early ends of each pair's estimate relative to its reference: 0, 1 or 2."""
    stretched: bool = False  # See `StepRows.fit`


def lay_out(
    sides: tuple[ChordSide, ChordSide],
    reference_row: Int,
    estimate_row: Int,
    merged: Int | None,
    unit: float = 1.0,
    carry: bool = True,
) -> ChordTimelines:
    """Rank all times of the rows that occur in pairs, none of which has an empty reference.

    With `carry`, the previous label is in force during gaps; otherwise nothing is.
    """
    steps = [steps_of(side.rows, None if merged is None else merged[side.chord[:-1]]) for side in sides]
    times, ranks = rank(*(step.time for step in steps))
    reference, estimate = (StepRows(step, own, len(times), carry) for step, own in zip(steps, ranks, strict=True))
    low, high = (bound[reference_row] for bound in reference.bounds)
    first, last = (bound[estimate_row] for bound in estimate.bounds)
    ragged = np.where(estimate.counts[estimate_row] > 0, (first > low).astype(np.int64) + (last < high), 0)
    run = None if merged is None else merged[sides[1].chord]
    return ChordTimelines(
        times,
        reference,
        estimate,
        sides,
        reference_row,
        estimate_row,
        low=low,
        high=high,
        unit=unit,
        merged=merged,
        run=run,
        span=(times[high] - times[low]) * unit,
        ragged_ends=ragged,
    )


@dataclass(frozen=True, slots=True)
class Cut:
    """A batch of pairs, cut at the boundaries of either side."""

    pairs: slice  # Indices of the pairs within the call
    line: Timeline
    times: Float
    seconds: Float
    """Time of each point, and the length of the segment up to the next point of its pair: float64 (points,)."""
    reference: Steps
    estimate: Steps
    pair: Int  # Pair of each point, counted within the batch: int64 (points,)
    reference_chord: Int
    estimate_chord: Int  # The chord in force on each side: int64 (points,)
    size: int  # Number of pairs

    @property
    def edge(self) -> Bool:
        """Whether a run of either side begins at each point: bool (points,)."""
        side = self.line.is_right
        edge: Bool = np.empty(len(side), dtype=np.bool_)
        edge[~side], edge[side] = self.reference.edge, self.estimate.edge
        return edge


def cut(axis: ChordTimelines) -> Iterator[Cut]:
    """Cut pairs in batches that fit into the cache."""
    sizes = axis.reference.counts[axis.reference_row] + axis.estimate.counts[axis.estimate_row] + 1
    for pairs in batches(sizes, _POINTS):
        reference = axis.reference.take(axis.reference_row[pairs])
        span = axis.low[pairs], axis.high[pairs]
        estimate = axis.estimate.fit(axis.estimate_row[pairs], *span, axis.run, axis.stretched)
        line = merge(reference.time, reference.counts, estimate.time, estimate.counts)
        times = axis.times[line.rank]
        yield Cut(
            pairs,
            line,
            times,
            steps_between(times, line.counts) * axis.unit,
            reference,
            estimate,
            rows_of(line.counts),
            axis.sides[0].chord[reference.item][line.left],
            axis.sides[1].chord[estimate.item][line.right],
            len(line.counts),
        )


def fragmented(batch: Cut) -> tuple[Float, Float]:
    """Length of the runs of reference and estimate outside their largest pieces: float64 (pairs,) each."""
    edge = batch.edge
    times, side = batch.times[edge], batch.line.is_right[edge]
    counts = np.bincount(batch.pair[edge], minlength=batch.size)
    return (
        fragmentation(times, counts, ~side, ~batch.reference.stop[batch.reference.edge]),
        fragmentation(times, counts, side, ~batch.estimate.stop[batch.estimate.edge]),
    )


def largest_pieces(batch: Cut) -> tuple[Bool, Bool]:
    """Whether each point lies in the largest pieces of the runs of reference and estimate: bool (points,) each.

    The seconds elsewhere are those of :func:`fragmented`. Of equal pieces the first is the largest; gaps are whole.
    """
    edge, side = batch.edge, batch.line.is_right
    piece = np.cumsum(edge) - 1
    seconds = np.bincount(piece, batch.seconds)
    pieces = []
    for own, steps in ((~side, batch.reference), (side, batch.estimate)):
        start = np.flatnonzero(own[edge])
        run = np.maximum(np.cumsum(own[edge]) - 1, 0)
        largest = np.flatnonzero(seconds == np.maximum.reduceat(seconds, start)[run])
        first = largest[np.unique(run[largest], return_index=True)[1]]
        inside = steps.stop[steps.edge][run]
        inside[first] = True
        pieces.append(inside[piece])
    return pieces[0], pieces[1]


def to_frames(axis: ChordTimelines, hop: float, start: Float) -> ChordTimelines:
    """Sample pairs at frames; the chord at a frame's time holds for the whole frame, and gaps are no chord.

    Frame k of a pair is at ``start + k * hop``; those from the start of the reference to before its end count. Pairs
    are laid out with ``carry=False``.
    """
    row = np.arange(len(axis.reference_row), dtype=np.int64)
    sides = []
    estimates = axis.estimate.fit(axis.estimate_row, axis.low, axis.high, axis.run, axis.stretched)
    steps = axis.reference.take(axis.reference_row), estimates
    for sequences, side in zip(steps, axis.sides, strict=True):
        pair = rows_of(sequences.counts)
        before = frames_before(start[pair], hop, axis.times[sequences.time])
        after = np.empty_like(before)
        after[:-1] = before[1:]
        after[offsets_of(sequences.counts)[1:] - 1] = frames_before(start, hop, axis.times[axis.high])
        mask = after > before  # intervals without a frame are dropped
        columns = {"start": before[mask].astype(np.float64), "end": after[mask].astype(np.float64)}
        rows = Ragged(columns, (np.bincount(pair[mask], minlength=len(row)),))
        sides.append(ChordSide(rows, np.append(side.chord[sequences.item[mask]], side.chord[-1])))
    return lay_out((sides[0], sides[1]), row, row, axis.merged, unit=hop)


@dataclass(frozen=True, slots=True)
class Confusion:
    """Seconds by class of the reference and of the estimate, as a sparse matrix."""

    pairs: int  # Number of pairs
    pair: Int
    reference: Int
    estimate: Int  # Indices, sorted and without repetitions: int64 (n,)
    seconds: Float  # Above 0: float64 (n,)

    def sum(self, index: Int, size: int) -> tuple[Float, Float]:
        """Sum seconds by an index of the entries: those with equal classes, and all; float64 (size,) each."""
        right = np.where(self.reference == self.estimate, self.seconds, 0.0)
        return sum_by(index, right, size), sum_by(index, self.seconds, size)


_LARGEST_TABLE = 1 << 22


@dataclass(eq=False)
class Verdicts:
    """Verdicts of the rules on segments, summed by pattern.

    A pattern is the outcome of all rules together: right, wrong or not comparable under each. There are far fewer
    patterns than chord pairs, so each segment's seconds are added once to its pattern instead of once per rule.
    Patterns are then summed in the order of their codes, which does not depend on the batch.
    """

    chords: ChordTable
    table: npt.NDArray[np.int32] | None  # Place of the pattern of each pair of chords; -1: not yet known
    place: dict[int, int] = field(default_factory=dict)  # Place of each pattern

    def add_up(self, batch: Cut) -> Float:
        """Seconds of each pattern in each pair: float64 (patterns so far, pairs)."""
        count = len(self.chords.root)
        joint = batch.reference_chord * count + batch.estimate_chord
        new = np.unique(joint if self.table is None else joint[self.table[joint] < 0])
        code = np.zeros(len(new), dtype=np.int64)
        if len(new):
            reference, estimate = self.chords.take(new // count), self.chords.take(new % count)
            for position, rule in enumerate(RULES):
                verdict = compare(reference, estimate, rule)
                code |= (verdict > 0).astype(np.int64) << 2 * position
                code |= (verdict >= 0).astype(np.int64) << 2 * position + 1
        codes, inverse = np.unique(code, return_inverse=True)
        places = [self.place.setdefault(pattern, len(self.place)) for pattern in codes.tolist()]
        of_new = np.array(places, dtype=np.int64)[inverse.reshape(-1)]
        if self.table is None:
            patterns = of_new[np.searchsorted(new, joint)]
        else:
            self.table[new] = of_new
            patterns = self.table[joint].astype(np.int64)
        sums = sum_by(patterns * batch.size + batch.pair, batch.seconds, len(self.place) * batch.size)
        return sums.reshape(len(self.place), batch.size)


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the segments of pairs on one time axis."""

    span: Float  # Length of the reference: float64 (pairs,), seconds
    seconds: Float
    """The same, summed over segments in the same way as `rules`, so that no rule exceeds it: float64 (pairs,)."""
    rules: Mapping[str, tuple[Float, Float]]  # Right and comparable seconds by rule
    fragmentation: tuple[Float, ...]
    """Seconds of the runs of reference and estimate outside their largest pieces: (float64 (pairs,), float64
    (pairs,))."""
    confusions: Mapping[str, Confusion]  # Confusions by vocabulary; `25` is the mapping of 2008


def add_up(axis: ChordTimelines, chords: Chords, rules: bool, fragmentation: bool, vocabularies: set[str]) -> Totals:
    """Add up the requested quantities in one pass over all pairs; the others stay empty."""
    pairs, size_of_table = len(axis.reference_row), len(chords.table.root) ** 2
    table_of_patterns = np.full(size_of_table, -1, dtype=np.int32) if size_of_table <= _LARGEST_TABLE else None
    verdicts = Verdicts(chords.table, table_of_patterns)
    patterns: list[tuple[slice, Float]] = []
    pieces: list[tuple[Float, Float]] = [(np.zeros(0), np.zeros(0))]
    none = np.zeros(0, dtype=np.int64)
    parts: dict[str, list[tuple[Int, Int, Int, Float]]] = {}
    classes: dict[str, tuple[Int, int]] = {}
    for name in sorted(vocabularies):
        parts[name] = [(none, none, none, np.zeros(0))]
        classes[name] = to_25(chords.table), 2 * OCTAVE + 1
        if name != "25":
            classes[name] = VOCABULARIES[name].classify(chords.table), len(VOCABULARIES[name].classes)
    for batch in cut(axis):
        if rules:
            patterns.append((batch.pairs, verdicts.add_up(batch)))
        if fragmentation:
            pieces.append(fragmented(batch))
        for name, part in parts.items():
            table, size = classes[name]
            key = (batch.pair * size + table[batch.reference_chord]) * size + table[batch.estimate_chord]
            distinct, index = np.unique(key, return_inverse=True)
            cells = sum_by(index.reshape(-1), batch.seconds, len(distinct))
            pair, rest = np.divmod(distinct[cells > 0], size * size)
            part.append((pair + batch.pairs.start, rest // size, rest % size, cells[cells > 0]))
    seconds = np.zeros((len(verdicts.place), pairs))
    for part_of_pairs, sums in patterns:
        seconds[: len(sums), part_of_pairs] = sums
    every = np.zeros(pairs)
    right, comparable = np.zeros((len(RULES), pairs)), np.zeros((len(RULES), pairs))
    for code, number in sorted(verdicts.place.items()):
        every += seconds[number]
        for position in range(len(RULES)):
            if code >> 2 * position + 1 & 1:
                comparable[position] += seconds[number]
                if code >> 2 * position & 1:
                    right[position] += seconds[number]
    return Totals(
        span=axis.span,
        seconds=every,
        rules={rule: (right[position], comparable[position]) for position, rule in enumerate(RULES)},
        fragmentation=tuple(np.concatenate(side) * axis.unit for side in zip(*pieces, strict=True)),
        confusions={
            name: Confusion(pairs, *map(np.concatenate, zip(*part, strict=True))) for name, part in parts.items()
        },
    )
