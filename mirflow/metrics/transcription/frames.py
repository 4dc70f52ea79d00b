"""Active pitches of notes over time and in frames with their metrics, and notes cut or decoded from a piano roll."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType

import numpy as np

from ...annotations.rolls import semitones
from ...kernels.ragged_ops import by_group_and_time, sum_rows
from ...kernels.ratios import divide
from ...ragged import Bool, Column, Float, Int, Ragged, ranges, rows_of
from ...theory.pitch import midi_to_hz
from ..base import computed_once
from ..measures import Measure, Parameter, Weight, family
from ..multipitch.scoring import METRICS as OF_FRAMES
from ..multipitch.scoring import RATIOS
from .kernel import SHORTEST, NoteBatch, Notes

HOP = 512 / 16000  # Seconds between the frames of Onsets and Frames
PIANO = (21, 108)  # The MIDI numbers of the lowest and the highest key of a piano
_FIRST, _LAST, _NEXT = 3, 2, 1  # Labels of frames: the first of a note, the others, and the one after the last
_LOUD = 127  # Velocity of notes without one
LOUD = "loud"  # The way that depends on velocities and percussion


@dataclass(frozen=True, slots=True)
class Spans:
    """Stretches of time on a semitone, on one side of pairs."""

    pair: Int
    pitch: Int
    """int64 (n,)"""
    start: Float
    end: Float
    """Times in seconds or frames: float64 (n,)."""

    @classmethod
    def of(cls, notes: Notes) -> Spans:
        """Round the pitches of notes to semitones."""
        pitch = np.rint(12.0 * (notes.octave - np.log2(440.0)) + 69.0).astype(np.int64)
        return cls(notes.pair, pitch, notes.start, notes.end)

    def take(self, chosen: Bool | Int) -> Spans:
        """Select stretches."""
        return Spans(self.pair[chosen], self.pitch[chosen], self.start[chosen], self.end[chosen])


@dataclass(frozen=True, slots=True)
class ActivePitches:
    """Stretches of time in which a pitch is active on one side, sorted by pair, pitch and start.

    The stretches of a pitch do not overlap; some are empty.
    """

    pair: Int
    pitch: Int
    """int64 (n,)"""
    start: Float
    end: Float
    """float64 (n,)"""
    shared: Float
    """float64 (n,): overlap with the other side's stretch that is already active at the start. Each overlap is counted
    once, because simultaneous starts are ordered."""


Compared = tuple[ActivePitches, ActivePitches]  # Active pitches of the references and the estimates of pairs
_COLUMNS = ("pair", "pitch", "start", "end")  # Columns that `Spans` and `ActivePitches` have


def compare(reference: Spans, estimate: Spans, contained: bool = True) -> Compared:
    """Find the times at which pitches are active on each side, and on both; stretches are sorted by pair.

    If `contained`, a pitch stays active after a stretch that is contained in a longer one.
    """
    pair, pitch, start, end = (np.concatenate([getattr(reference, name), getattr(estimate, name)]) for name in _COLUMNS)
    order, voice, start = by_group_and_time(voices_of(pair, pitch), start)
    estimated, end = order >= len(reference.pair), end[order]
    positions = [np.flatnonzero(~estimated), np.flatnonzero(estimated)]
    voices, starts = [voice[position] for position in positions], [start[position] for position in positions]
    ends = [_end_at_next(voices[side], starts[side], end[positions[side]], contained) for side in (0, 1)]
    active = []
    for side, spans in enumerate((reference, estimate)):
        position, other = positions[side], 1 - side
        shared = np.zeros(len(position))
        if len(positions[other]):
            last = position - np.arange(1, len(position) + 1)  # the other side's previous one; -1 before its first
            np.minimum(ends[side], ends[other][last], out=shared)
            shared -= starts[side]
            np.maximum(shared, 0.0, out=shared)
            shared *= (voices[other][last] == voices[side]) & (last >= 0)
        active.append(ActivePitches(spans.pair, pitch[order[position]], starts[side], ends[side], shared))
    return active[0], active[1]


def _end_at_next(voice: Int, start: Float, end: Float, contained: bool) -> Float:
    """End the stretches of one side no later than the next one of their voice starts."""
    follows = voice[1:] == voice[:-1]
    run = follows if contained else follows & (start[1:] == start[:-1])
    if (run & (end[1:] < end[:-1])).any():
        # The running maximum of the ends within each run of stretches that follow each other.
        end, number, step = end.copy(), np.append(0, np.cumsum(~run)), 1
        while step < len(end):  # doubles the number of preceding ends covered by each maximum
            larger = (number[step:] == number[:-step]) & (end[:-step] > end[step:])
            if not larger.any():
                break
            end[step:] = np.where(larger, end[:-step], end[step:])
            step *= 2
    cut = np.flatnonzero(follows & (start[1:] < end[:-1]))
    if len(cut):
        end = end.copy()
        end[cut] = start[cut + 1]
    return end


Levels = tuple[Int, Float, Float, list[Int]]


def levels(key: tuple[Int, Int], start: Float, end: Float, weights: tuple[Int, ...]) -> Levels:
    """Sum the weights of simultaneous stretches with equal keys (pair and others).

    Returns, for each piece between neighbouring times with nonzero sums, the index of a stretch with the same key,
    start, end, and the sums.
    """
    voice, size = voices_of(*key), len(start)
    order, voice, times = by_group_and_time(np.concatenate([voice, voice]), np.concatenate([start, end]))
    ends = np.ones(len(times), dtype=np.bool_)
    np.not_equal(times[1:], times[:-1], out=ends[:-1])
    ends[:-1] |= voice[1:] != voice[:-1]
    last = np.flatnonzero(ends)
    sums = [np.cumsum(np.concatenate([weight, -weight])[order])[last] for weight in weights]
    # Every stretch ends within its voice, so a voice continues while a sum is not 0.
    sounds = np.flatnonzero(reduce(np.bitwise_or, sums))
    last = last[sounds]
    stretch = order[last]
    stretch -= size * (stretch >= size)
    return stretch, times[last], times[last + 1], [column[sounds] for column in sums]


Counted = tuple[Int, Int, Float, Float, Int, Int]


def count_active(compared: Compared, group: Callable[[Int], Int]) -> Counted:
    """Count the simultaneous active pitches of each side by group of pitches.

    Returns pair, a pitch of the group, start, end, and counts of both sides, which are not both 0: (m,) each.
    """
    pair, pitch, start, end = (np.concatenate([getattr(side, name) for side in compared]) for name in _COLUMNS)
    ours = np.repeat(np.array([1, 0]), [len(side.pair) for side in compared])
    stretch, start, end, (left_active, right_active) = levels((pair, group(pitch)), start, end, (ours, 1 - ours))
    return pair[stretch], pitch[stretch], start, end, left_active, right_active


def fewer_and_more(compared: Compared, group: Callable[[Int], Int], pairs: int) -> tuple[Float, Float]:
    """Integrals of the smaller and the larger number of pitches of both sides, summed over groups."""
    pair, _, start, end, ours, theirs = count_active(compared, group)
    few, many = (numbers(ours, theirs) * (end - start) for numbers in (np.minimum, np.maximum))
    offsets = np.searchsorted(pair, np.arange(pairs + 1))
    return sum_rows(few, offsets), sum_rows(many, offsets)


@dataclass(frozen=True, slots=True)
class Way:
    """A definition of the active pitches of notes."""

    hop: float = 0.0  # float, seconds: default distance of frames; 0: continuous time
    contained: bool = True  # See `compare`
    slack: float = 0.0  # Added to denominators: float, seconds


FRAMES: Mapping[str, Way] = MappingProxyType(
    {"active": Way(), "cut": Way(contained=False, slack=1e-8), "decoded": Way(HOP), LOUD: Way(0.016)}
)
"""Definitions of active pitches by name."""


@computed_once
def active_pitches(block: NoteBatch, way: str, hop: float) -> tuple[Compared, tuple[Float, Float, Float]]:
    """Find the times at which pitches are active on each side of pairs, in frames if there is a hop.

    Durations follow, of pitches on both sides, in the reference and in the estimate: float64 (pairs,) each.
    """
    rule = FRAMES[way]
    hop = hop or rule.hop
    sides = []
    if way == LOUD:
        sides = [_loud(block.reference, block, hop, 30), _loud(block.estimate, block, hop, 0)]
    else:
        part = block.part(block.usual)
        for notes in (part.reference, part.estimate):
            spans = Spans.of(notes)
            mask = (spans.pitch >= PIANO[0]) & (spans.pitch <= PIANO[1])
            if way != "active" and not mask.all():
                spans = spans.take(mask)
            if way == "decoded":
                times = spans.start, spans.end, np.zeros(len(spans.pair))
                pair, pitch, first, stop, _ = decode(spans.pair, spans.pitch, *times, hop)
                spans = Spans(pair, pitch, first.astype(np.float64), stop.astype(np.float64))
            elif hop:
                if way == "cut":  # in continuous time, `compare` cuts them
                    end = cut_overlaps(spans.pair, spans.pitch, spans.start, spans.end)
                    spans = Spans(spans.pair, spans.pitch, spans.start, end).take(end > spans.start)
                start, end = (np.rint(times * rate_of(hop)) for times in (spans.start, spans.end))
                spans = Spans(spans.pair, spans.pitch, start, end)
            sides.append(spans)
    compared = compare(sides[0], sides[1], rule.contained)
    offsets = [np.searchsorted(side.pair, np.arange(len(block) + 1)) for side in compared]
    ours, theirs = (sum_rows(side.end - side.start, rows) for side, rows in zip(compared, offsets, strict=True))
    hits, more = (sum_rows(side.shared, rows) for side, rows in zip(compared, offsets, strict=True))
    # These are summed in another order, so that rounding may make them larger.
    return compared, (np.minimum(hits + more, np.minimum(ours, theirs)), ours, theirs)


def _loud(notes: Notes, block: NoteBatch, hop: float, least: int) -> Spans:
    """Frames in which the sum of the velocities of a pitch, without percussion, exceeds a threshold.

    Notes have minimum length if the reference has only percussion.
    """
    spans, velocity, drum = Spans.of(notes), notes.extra["loudness"], notes.extra["drum"] > 0
    # Clip infinities to integers; all velocities are within these bounds.
    weight = np.rint(np.clip(np.where(np.isnan(velocity), _LOUD, velocity), -(2.0**31), 2.0**31)).astype(np.int64)
    pitched = np.bincount(block.reference.pair[~(block.reference.extra["drum"] > 0)], minlength=len(block))
    end = np.where(pitched[spans.pair] > 0, spans.end, spans.start)
    first, stop = (np.floor(times * rate_of(hop)) for times in (spans.start, np.maximum(end, spans.start + SHORTEST)))
    spans, weight = Spans(spans.pair, spans.pitch, first, stop).take(~drum), weight[~drum]
    if (weight > least).all():
        return spans  # every note is loud enough
    stretch, start, end, (sums,) = levels((spans.pair, spans.pitch), spans.start, spans.end, (weight,))
    return Spans(spans.pair[stretch], spans.pitch[stretch], start, end).take(sums > least)


NEEDS = "frames"  # The `needs` of metrics of active pitches
_WAY = Parameter(
    "frames",
    "active",
    choices=tuple(FRAMES),
    help="active: while notes sound; cut: until the next note of their pitch, 1e-8 s added to denominators; "
    "decoded: by the labels of Onsets and Frames; loud: of MT3, above velocity 30 in the reference",
)
_HOP = Parameter("hop", 0.0, "s", least=0.0, help="distance of frames; 0: 32 ms if decoded, 16 ms if loud, else none")


def _read(name: str, block: NoteBatch, measure: Measure) -> tuple[Float, Float]:
    way, hop, plain = str(measure["frames"]), float(measure["hop"]), name.removeprefix("chroma_")
    (compared, (hits, ours, theirs)), size = active_pitches(block, way, hop), len(block)
    if plain != name:
        hits, _ = block.once(("chroma", way, hop), lambda: fewer_and_more(compared, lambda pitch: pitch % 12, size))
    # The integrals of the smaller and of the larger number of simultaneous pitches of both sides
    fewer = more = np.zeros(size)
    if plain.endswith("_error"):
        fewer, more = block.once(("all", way, hop), lambda: fewer_and_more(compared, np.zeros_like, size))
    part, whole = RATIOS[plain](hits, ours, theirs, fewer, more)
    slack = FRAMES[way].slack * (0.5 if plain == "f_measure" else 1.0)
    score = divide(part, np.where(whole > 0, whole + slack, 0.0))
    unit = hop or FRAMES[way].hop
    weight = np.where(whole > 0, whole, 0.0 - np.maximum(part, 0.0))  # errors without a reference are kept
    return score, weight * unit if unit else weight


_TAKEN = ("orientation", "range", "perfect", "surplus", "version")
_WORDS = "time that pitches are active {}, summed over pitches"
_OVER = {"precision": "in the estimate", "f_measure": "in the reference and in the estimate, halved"}
_OVER |= {"accuracy": "in the reference, the estimate or both"}
METRICS = family(
    {
        record.name: Weight(_WORDS.format(_OVER.get(record.name.removeprefix("chroma_"), "in the reference")), "s")
        for record in OF_FRAMES
    },
    {
        record.name: {
            **{name: getattr(record, name) for name in _TAKEN},
            "name": f"frame_{record.name}",
            "title": f"{record.title} (frames)",
            "summary": record.summary.replace("over all frames", "over all time"),
        }
        for record in OF_FRAMES
    },
    parameters=(_WAY, _HOP),
    needs=NEEDS,
    default=False,
    perfect_exceptions="less than 1 if frames=cut adds to denominators, if short notes cover no frame, and "
    "if frames=loud leaves out soft notes of the reference",
    literature="@hawthorne2018; @bay2009; @mirex2024piano",
)(_read)
"""The metrics of multiple F0 estimation for active pitches of notes."""


def evidence(block: NoteBatch, measure: Measure) -> dict[str, Column]:
    """Return stretches of time in which a pitch is active on either side of a pair, with verdicts."""
    way, hop = str(measure["frames"]), float(measure["hop"])
    (compared, _), unit = active_pitches(block, way, hop), hop or FRAMES[way].hop or 1.0
    _, pitch, start, end, ours, theirs = count_active(compared, lambda pitch: pitch)
    order = np.lexsort((pitch, start))
    ours, theirs, hertz = ours[order], theirs[order], midi_to_hz(pitch[order].astype(np.float64))
    return {
        "start": start[order] * unit,
        "end": end[order] * unit,
        "reference_pitch": np.where(ours > 0, hertz, np.nan),
        "estimate_pitch": np.where(theirs > 0, hertz, np.nan),
        "verdict": np.array(["", "missed", "extra", "hit"])[ours + 2 * theirs],
    }


def rate_of(hop: float) -> float:
    """Frames per second, such that the hop is the nearest double to their inverse."""
    return round(1 / hop, 9)


def voices_of(row: Int, pitch: Int) -> Int:
    """Integers from 0 that ascend with the row, and with the pitch within a row: int64 (notes,)."""
    if not len(pitch):
        return pitch
    low, high = int(pitch.min()), int(pitch.max())
    voice = row * (high - low + 1)
    voice += pitch
    voice -= low
    return voice


def cut_overlaps(row: Int, pitch: Int, start: Float, end: Float) -> Float:
    """Cut the ends of notes at the start of the next note of the same pitch: float64 (notes,).

    Simultaneous notes are ordered by their ends, so that all but the last have zero length.
    """
    order, voice, starts = by_group_and_time(voices_of(row, pitch), start)
    ends = end[order]
    follows = voice[1:] == voice[:-1]
    together = np.flatnonzero(follows & (starts[1:] == starts[:-1]))
    if len(together):
        at = np.union1d(together, together + 1)
        by_end = at[np.lexsort((ends[at], starts[at], voice[at]))]
        order[at], ends[at] = order[by_end], ends[by_end]
    follows &= starts[1:] < ends[:-1]
    cut = np.flatnonzero(follows)
    shortened = end.copy()
    shortened[order[cut]] = starts[cut + 1]
    return shortened


def decode(
    row: Int, pitch: Int, start: Float, end: Float, velocity: Float, hop: float = HOP
) -> tuple[Int, Int, Int, Int, Float]:
    """Decode notes from the labels of their frames.

    Each note writes a label to its first frame, another to its other frames, and a third to the frame after its last;
    later notes overwrite earlier ones. A note is decoded at each first frame that does not follow another one, and
    lasts until a frame with neither of these labels. Its velocity is the mean over all its first frames.

    Notes of a row are written in order; times and hop are in seconds. Returns rows, pitches, first frames, frames after
    the last and velocities of the decoded notes, sorted by row, start and pitch.
    Source: C. Hawthorne et al., "Onsets and frames: dual-objective piano transcription", ISMIR 2018.
    """
    _, index, voice = np.unique(voices_of(row, pitch), return_index=True, return_inverse=True)
    left, right = (np.rint(times * rate_of(hop)).astype(np.int64) for times in (start, end))
    # Frames of all rows and pitches are concatenated, with two empty frames in between.
    sizes = np.zeros(len(index), dtype=np.int64)
    np.maximum.at(sizes, voice, right + 3)
    base = np.cumsum(sizes) - sizes
    left, right = base[voice] + left, base[voice] + right
    # Frames in which no note begins or ends have the label of the previous one, so runs of them are labelled at once.
    frame = np.concatenate([left, left + 1, right, right + 1])
    frame.sort()  # np.unique would take ten times as long
    frame = frame[np.diff(frame, prepend=frame[:1] - 1) > 0]
    left, right = np.searchsorted(frame, left), np.searchsorted(frame, right)
    labels = np.zeros(len(frame) + 1, dtype=np.int8)
    # In order of notes, and of frames within a note: the last label written to an index is kept.
    counts = np.maximum(right - left - 1, 0) + 2
    run = ranges(left, counts)
    label = np.full(len(run), _LAST, dtype=np.int8)
    begin, behind = np.cumsum(counts) - counts, np.cumsum(counts) - 1
    label[begin], label[behind] = _FIRST, _NEXT
    run[behind] = right
    labels[run] = label
    onset, active = labels == _FIRST, labels >= _LAST
    begins = np.flatnonzero(onset & ~np.append(False, onset[:-1]))
    ends = np.flatnonzero(active & ~np.append(active[1:], False)) + 1
    stop = ends[np.searchsorted(ends, begins, side="right")]
    # Of simultaneous notes, the velocity is that of the last in the file.
    onsets, (cells, last) = np.flatnonzero(onset), np.unique(left[::-1], return_index=True)
    values = velocity[::-1][last][np.searchsorted(cells, onsets)]
    low, high = np.searchsorted(onsets, begins), np.searchsorted(onsets, stop)
    sums = np.add.reduceat(np.append(values, 0.0), np.column_stack([low, high]).ravel())[::2] if len(low) else low
    loudness = np.asarray(sums / np.maximum(high - low, 1), dtype=np.float64)
    first, stop = frame[begins], frame[stop]
    group = np.searchsorted(base, first, side="right") - 1
    row, pitch, first, stop = row[index[group]], pitch[index[group]], first - base[group], stop - base[group]
    order = np.lexsort((pitch, first, row))
    return row[order], pitch[order], first[order], stop[order], loudness[order]


def nearest_semitones(frequency: Float) -> Int:
    """MIDI numbers of frequencies, -1 for none: int64 (n,)."""
    midi = semitones(frequency)
    mask = np.isfinite(midi)
    return (midi if mask.all() else np.where(mask, midi, -1)).astype(np.int64)


def decode_rows(rows: Ragged) -> Ragged:
    """Decode piano notes from the labels of frames of 32 ms; see `decode`.

    Times are multiples of the hop. Notes have no labels because several may have been merged.
    """
    velocity = rows.columns.get("velocity", np.full(len(rows.columns["start"]), np.nan))
    pitch = nearest_semitones(rows.columns["pitch"])
    indices = np.flatnonzero((pitch >= PIANO[0]) & (pitch <= PIANO[1]))
    times = rows.columns["start"][indices], rows.columns["end"][indices]
    row, pitch, first, stop, loudness = decode(
        rows_of(rows.counts[0])[indices], pitch[indices], *times, velocity[indices]
    )
    columns: dict[str, Column] = {"start": first * HOP, "end": stop * HOP, "pitch": midi_to_hz(pitch)}
    if "velocity" in rows.columns:
        columns["velocity"] = loudness
    return Ragged(columns, (np.bincount(row, minlength=len(rows)).astype(np.int64),))
