"""Kernels of audio-to-score transcription: notations in whole milliseconds, their alignment, and the scores of MV2H.

Notations on different time axes are aligned by dynamic time warping of their notated times.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from ...kernels.ratios import divide, harmonic_mean
from ...ragged import Float, Ragged
from ..util import f_measure

Interval = tuple[int, int]
Meter = tuple[int, int, int, int]
"""Beats per bar, sub-beats per beat, tatums per sub-beat, and tatums of the pickup."""
Key = tuple[int, bool]  # Tonic, counted in semitones from C, and whether the mode is major
DEFAULT_METER: Meter = (4, 2, 4, 0)  # Meter from time 0 on, if a notation does not have one


class NotatedNote(NamedTuple):
    """A note with times in ms; performed and notated onset are separate. Notes are ordered by these fields."""

    start: int
    voice: int
    pitch: int
    onset: int
    end: int


Cluster = tuple[int, int, int]  # Voice, start and end: the notes that sound together in one voice


@dataclass(frozen=True)
class Notation:
    """A score in ms: sorted notes, times of tatums, and meters, keys and chords by the time at which they start."""

    notes: tuple[NotatedNote, ...] = ()
    tatums: tuple[int, ...] = ()
    meters: Mapping[int, Meter] = field(default_factory=lambda: {0: DEFAULT_METER})
    keys: Mapping[int, Key] = field(default_factory=dict)
    chords: Mapping[int, str] = field(default_factory=dict)

    @cached_property
    def end(self) -> int:
        """End of the last note, or the last tatum, key or chord if that is later."""
        return max((*(note.end for note in self.notes), *self.tatums, *self.keys, *self.chords), default=0)

    @cached_property
    def chordal(self) -> list[list[NotatedNote]]:
        """Notes grouped by notated time, in ascending order."""
        return [list(notes) for _, notes in groupby(self.notes, key=lambda note: note.start)]

    @cached_property
    def groupings(self) -> list[Interval]:
        """All whole sub-beats, beats and bars, as start and end; a meter starts at the first tatum after it."""
        meters, groupings = sorted(self.meters.items()), list[Interval]()
        times = [time for time, _ in meters]
        current, number, lengths = -1, 0, (1, 1, 1)
        begun: list[int | None] = [None] * 3
        for tatum in self.tatums:
            index = max(bisect_left(times, tatum + 1) - 1, 0)
            if index != current:
                current = index
                beats, sub_beats, per_sub_beat, pickup = meters[index][1]
                lengths = per_sub_beat, per_sub_beat * sub_beats, per_sub_beat * sub_beats * beats
                number = lengths[2] - pickup if pickup else 0
            for level, length in enumerate(lengths):
                if number % length == 0:
                    start = begun[level]
                    if start is not None:
                        groupings.append((start, tatum))
                    begun[level] = tatum
            number += 1
        return groupings

    def moved(self, convert: Callable[[int], int]) -> Notation:
        """Convert the notation to another time axis; the last of several values at one time is kept."""
        notes = (
            note._replace(start=convert(note.start), onset=convert(note.onset), end=convert(note.end))
            for note in self.notes
        )
        return Notation(
            tuple(sorted(notes)),
            tuple(sorted({convert(time) for time in self.tatums})),
            {convert(0): DEFAULT_METER} | {convert(time): meter for time, meter in sorted(self.meters.items())},
            {convert(time): key for time, key in sorted(self.keys.items())},
            {convert(time): chord for time, chord in sorted(self.chords.items())},
        )


def notations_of(rows: Ragged) -> list[Notation]:
    """Make the notation of each row of clean annotations.

    Columns are ``time``, ``notated_start`` and ``notated_end`` in seconds, ``pitch`` as MIDI numbers and ``voice``;
    labels are ``note``, ``tatum``, ``meter 3 2 4 0``, ``key 7 major``, or ``chord G:maj``.
    """
    whole = {
        name: np.rint(np.nan_to_num(column) * (1 if name in ("pitch", "voice") else 1000)).astype(np.int64).tolist()
        for name, column in rows.columns.items()
        if name != "label"
    }
    labels = [rows.labels[code].partition(" ") for code in rows.columns["label"].tolist()]
    notations = []
    for first, last in pairwise(rows.offsets.tolist()):
        notes, tatums = [], set()
        meters: dict[int, Meter] = {0: DEFAULT_METER}
        keys: dict[int, Key] = {}
        chords: dict[int, str] = {}
        for item in range(first, last):
            time, (what, _, rest) = whole["time"][item], labels[item]
            if what == "note":
                start, end = whole["notated_start"][item], whole["notated_end"][item]
                notes.append(NotatedNote(start, whole["voice"][item], whole["pitch"][item], time, end))
            elif what == "tatum":
                tatums.add(time)
            elif what == "meter":
                beats, sub_beats, per_sub_beat, pickup = map(int, rest.split())
                meters[time] = beats, sub_beats, per_sub_beat, pickup
            elif what == "key":
                tonic, mode = rest.split()
                keys[time] = int(tonic), mode == "major"
            else:
                chords[time] = rest
        notations.append(Notation(tuple(sorted(notes)), tuple(sorted(tatums)), meters, keys, chords))
    return notations


@dataclass(frozen=True, slots=True)
class Tolerances:
    """Largest differences in ms of onsets, note values, and both ends of bars, beats and sub-beats."""

    onset: int = 50
    value: int = 100
    grouping: int = 50


class Judgement(NamedTuple):
    """The five scores of a pair, and the matched notes of reference and estimate."""

    multipitch: float = 0.0
    voice: float = 0.0
    meter: float = 0.0
    value: float = 0.0
    harmony: float = 0.0
    matches: tuple[tuple[int, int], ...] = ()

    @property
    def mv2h(self) -> float:
        """Mean of the five scores."""
        return sum(self[:5]) / 5


def f_measure_of(hits: float, extra: float, missed: float) -> float:
    """F-measure of counts; 0 without hits."""
    return f_measure(hits / (hits + extra), hits / (hits + missed)) if hits else 0.0


def match_notes(reference: Notation, estimate: Notation, tolerance: int, as_program: bool) -> list[tuple[int, int]]:
    """Match notes of equal pitch and close onsets, each estimated note with the first unmatched reference note.

    As in the program, reference notes that begin too early are discarded for all later notes of the estimate, and the
    search ends at the first one that begins too late. Some matches are therefore missed if notes are notated in another
    order than they are played.
    """
    free: dict[int, list[int]] = defaultdict(list)
    for index, note in enumerate(reference.notes):
        free[0 if as_program else note.pitch].append(index)
    matches = []
    for number, note in enumerate(estimate.notes):
        candidates = free[0 if as_program else note.pitch]
        onsets = (reference.notes[index].onset for index in candidates)
        if as_program:
            del candidates[: next((at for at, onset in enumerate(onsets) if onset >= note.onset - tolerance), None)]
        for index in candidates:
            other = reference.notes[index]
            if as_program and other.onset > note.onset + tolerance:
                break
            if other.pitch == note.pitch and abs(other.onset - note.onset) <= tolerance:
                matches.append((index, number))
                candidates.remove(index)
                break
    return matches


class Voices:
    """Notes clustered by voice, start and end, with the notes that follow each cluster."""

    def __init__(self, notation: Notation, numbers: Sequence[int]) -> None:
        self.members: dict[Cluster, list[int]] = defaultdict(list)
        for number in numbers:
            note = notation.notes[number]
            self.members[note.voice, note.start, note.end].append(number)
        self.following: dict[int, list[int]] = {}
        """For each note, those of the clusters that start where its cluster ends, or otherwise of the next ones."""
        for _, clusters in groupby(sorted(self.members), key=lambda member: member[0]):
            ordered = list(clusters)
            starts = [start for _, start, _ in ordered]
            for index, cluster in enumerate(ordered):
                first = max(bisect_left(starts, cluster[2]), index + 1)
                last = bisect_right(starts, starts[first]) if first < len(starts) else first
                following = [note for other in ordered[first:last] for note in self.members[other]]
                self.following.update(dict.fromkeys(self.members[cluster], following))


def voice_and_value(
    reference: Notation, estimate: Notation, matches: Sequence[tuple[int, int]], within: Tolerances
) -> tuple[float, float]:
    """F-measure of the links between matched notes, and mean score of the values of correctly linked notes."""
    played = {number: place for place, number in matches}
    ours, theirs = Voices(estimate, list(played)), Voices(reference, list(played.values()))
    whole = Voices(reference, range(len(reference.notes)))

    def alike(number: int, place: int) -> bool:
        left_note, other = estimate.notes[number], reference.notes[place]
        return left_note.pitch == other.pitch and abs(left_note.onset - other.onset) <= within.onset

    counts, values = [0.0, 0.0, 0.0], []
    for cluster in sorted(ours.members):
        members = ours.members[cluster]
        for number in members:
            place = played[number]
            linked, wanted = ours.following[number], theirs.following[place]
            left, hits = list(wanted), 0
            for left_note in linked:
                partner = next((other for other in left if alike(left_note, other)), None)
                if partner is not None:
                    left.remove(partner)
                    hits += 1
            links = (len(linked) + len(wanted)) / 2 * len(members)
            if links:
                for kind, count in enumerate((hits, len(linked) - hits, len(left))):
                    counts[kind] += count / links
            after = whole.following[place]
            if (not after and not linked) or any(alike(left_note, other) for other in after for left_note in linked):
                note, target = estimate.notes[number], reference.notes[place]
                wanted_value = target.end - target.start
                error = abs(note.end - note.start - wanted_value)
                wrong = max(0.0, 1 - error / wanted_value) if wanted_value else 0.0
                values.append(1.0 if error <= within.value else wrong)
    return f_measure_of(*counts), sum(values) / len(values) if values else 0.0


def match_groupings(estimate: Sequence[Interval], left: list[Interval], tolerance: int) -> float:
    """F-measure of sub-beats, beats and bars; matched ones of the reference are removed from `left`."""
    by_start = sorted(range(len(left)), key=lambda index: left[index][0])
    starts = [left[index][0] for index in by_start]
    matched: set[int] = set()
    for start, end in estimate:
        near = by_start[bisect_left(starts, start - tolerance) : bisect_right(starts, start + tolerance)]
        fitting = [index for index in near if index not in matched and abs(end - left[index][1]) <= tolerance]
        if fitting:
            matched.add(min(fitting))
    left[:] = [grouping for index, grouping in enumerate(left) if index not in matched]
    return f_measure_of(len(matched), len(estimate) - len(matched), len(left))


_Held = TypeVar("_Held")


def score_over_time(
    reference: Mapping[int, _Held], estimate: Mapping[int, _Held], end: int, score: Callable[[_Held, _Held], float]
) -> float:
    """Time-weighted mean score over the reference; NaN without a reference."""
    if not reference or end <= min(reference):
        return math.nan

    # Values with the start and end of their validity; the last is valid until the end.
    wanted, given = (
        [(start, min(end, stop), held[start]) for start, stop in pairwise([*sorted(held), end])]
        for held in (reference, estimate)
    )
    time: dict[float, int] = defaultdict(int)
    for start, stop, value in given:
        for other_start, other_stop, other in wanted:
            common = min(stop, other_stop) - max(start, other_start)
            if common > 0:
                time[score(value, other)] += common
    return sum(worth * duration for worth, duration in time.items()) / (end - min(reference))


def score_harmony(reference: Notation, estimate: Notation) -> float:
    """Mean score of keys and chords; a reference with only one of them is scored on that, and without both on 0."""

    def compare_keys(one: Key, other: Key) -> float:
        """1 for the same key, 0.5 for one a fifth above or below, 0.3 for its relative, 0.2 for its parallel."""
        if one == other:
            return 1.0
        interval = (one[0] - other[0]) % 12
        if one[1] == other[1]:
            return 0.5 if interval in (5, 7) else 0.0
        if interval == 0:
            return 0.2
        return 0.3 if interval == (3 if one[1] else 9) else 0.0

    keys = score_over_time(reference.keys, estimate.keys, reference.end, compare_keys)
    chords = score_over_time(reference.chords, estimate.chords, reference.end, lambda one, other: float(one == other))
    scores = [score for score in (keys, chords) if not math.isnan(score)]
    return sum(scores) / len(scores) if scores else 0.0


def judge(
    reference: Notation,
    estimate: Notation,
    within: Tolerances,
    as_program: bool = True,
    groupings: tuple[Sequence[Interval], list[Interval]] | None = None,
) -> Judgement:
    """Score an estimate on the time axis of its reference.

    Notes are matched as by the program if `as_program`; see `match_notes`. `groupings` are those of the estimate, and
    the remaining ones of the reference; None: all.
    """
    matches = match_notes(reference, estimate, within.onset, as_program)
    hits = len(matches)
    voice, value = voice_and_value(reference, estimate, matches, within)
    ours, theirs = (estimate.groupings, list(reference.groupings)) if groupings is None else groupings
    return Judgement(
        f_measure_of(hits, len(estimate.notes) - hits, len(reference.notes) - hits),
        voice,
        match_groupings(ours, theirs, within.grouping),
        value,
        score_harmony(reference, estimate),
        tuple(matches),
    )


class _Step:
    """The last step of alignments: the time of the estimate that a time of the reference is aligned with (-1: none)."""

    def __init__(self, before: tuple[_Step, ...], aligned: int) -> None:
        self.before, self.aligned = before, aligned
        self.ways: int = max(sum(step.ways for step in before), 1)


Alignment = tuple[int, ...]
"""For each notated time of the reference, the index of the aligned time of the estimate; -1: none."""


def alignments(reference: Notation, estimate: Notation, penalty: float, most: int) -> Iterator[Alignment]:
    """Best alignments of notated times by dynamic time warping, at most `most` of them.

    Skipping a time costs `penalty`; aligning two times costs 1 - F-measure of their pitches.
    """
    if not reference.notes or not estimate.notes:
        return
    left = 0
    # 1 - F-measure of the notated pitches for each pair of times of both sides.
    pitches = sorted({note.pitch for note in reference.notes} & {note.pitch for note in estimate.notes})
    number = {pitch: index for index, pitch in enumerate(pitches)}
    counts, sizes = list[Float](), list[Float]()
    for side in (reference, estimate):
        sizes.append(np.array([len(notes) for notes in side.chordal], dtype=np.float64))
        counts.append(np.zeros((len(sizes[-1]), len(pitches))))
        for index, notes in enumerate(side.chordal):
            for note in notes:
                if note.pitch in number:
                    counts[-1][index, number[note.pitch]] += 1
    hits = np.zeros((len(sizes[0]), len(sizes[1])))
    for pitch in range(len(pitches)):
        hits += np.minimum(counts[0][:, pitch, np.newaxis], counts[1][:, pitch])
    distances = 1.0 - harmonic_mean(divide(hits, sizes[1]), divide(hits, sizes[0][:, np.newaxis]))
    for last in _last_steps(distances, penalty):
        ways = min(last.ways, most - left)
        for way in range(ways):
            step, aligned = last, [last.aligned]
            while step.before:
                before = iter(step.before)
                step = next(before)
                while way >= step.ways:
                    way -= step.ways
                    step = next(before)
                aligned.append(step.aligned)
            yield tuple(reversed(aligned))
        left += ways


def _last_steps(distance: Float, penalty: float) -> tuple[_Step, ...]:
    columns = distance.shape[1]
    above: list[float] = [0.0] + [math.inf] * columns
    steps_above: list[tuple[_Step, ...]] = [()] * (columns + 1)
    for row in distance.tolist():
        cost: list[float] = [math.inf]
        steps: list[tuple[_Step, ...]] = [()]
        for column, together in enumerate(row):
            choices = above[column + 1] + penalty, cost[column] + penalty, above[column] + together
            least = min(choices)
            last: list[_Step] = []
            if choices[0] == least:
                last.append(_Step(steps_above[column + 1], -1))
            if choices[1] == least:
                last += [step for step in steps[column] if step.aligned != -1]
            if choices[2] == least:
                last.append(_Step(steps_above[column], column))
            cost.append(least)
            steps.append(tuple(last) if math.isfinite(least) else ())
        above, steps_above = cost, steps
    return steps_above[-1]


def converter(reference: Notation, estimate: Notation, alignment: Alignment) -> Callable[[int], int]:
    """Convert times of an estimate to the axis of its reference, linearly between and beyond aligned times."""
    anchors = [
        (estimate.chordal[aligned][0].start, reference.chordal[index][0].start)
        for index, aligned in enumerate(alignment)
        if aligned != -1
    ]
    if not anchors:
        return lambda time: time
    times = [time for time, _ in anchors]
    known = dict(anchors)

    def convert(time: int) -> int:
        if time not in known:
            after = bisect_left(times, time)
            if len(anchors) == 1:
                known[time] = time - anchors[0][0] + anchors[0][1]
            else:
                first, last = anchors[max(after - 1, 0) - (after == len(anchors)) :][:2]
                rate = (last[1] - first[1]) / (last[0] - first[0])
                known[time] = math.floor(rate * (time - first[0]) + first[1] + 0.5)
        return known[time]

    return convert


def judge_unaligned(
    reference: Notation, estimate: Notation, within: Tolerances, penalty: float, most: int, as_program: bool
) -> Judgement:
    """Score an estimate with a different time axis under the best of its alignments.

    As in the program, groupings of the estimate are counted twice, groupings of the reference matched in one alignment
    are not available to the next, and the first of the best alignments is used.
    """
    best, left = Judgement(), list[Interval]()
    for alignment in alignments(reference, estimate, penalty, most):
        convert = converter(reference, estimate, alignment)
        moved = estimate.moved(convert)
        if as_program:
            left = left or list(reference.groupings)
            twice = [(convert(start), convert(end)) for start, end in estimate.groupings] + moved.groupings
            judgement = judge(reference, moved, within, groupings=(twice, left))
            if judgement.mv2h > best.mv2h:
                best = judgement
        else:
            judgement = judge(reference, moved, within, as_program=False)
            if (judgement.mv2h, judgement[:5]) > (best.mv2h, best[:5]):
                best = judgement
    return best
