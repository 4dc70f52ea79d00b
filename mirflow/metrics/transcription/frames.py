"""Active pitches of notes: when they sound on both sides, in continuous time and in frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ...kernels.ragged_ops import by_group, sum_by
from ...ragged import Bool, Column, Float, Int
from ...theory.pitch import midi_to_hz
from ..measures import Measure, Metric, Parameter, Weight, family
from ..multipitch.metrics import METRICS as OF_FRAMES
from .kernel import SHORTEST, NoteBatch, Notes
from .resolving import HOP, PIANO, cut_overlaps, decode, rate_of

_LOUD = 127
"""The velocity of notes that have none."""
REFERENCE, ESTIMATE = 1, 2
"""Bits of `PitchStretches.sides`."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Notes of some pairs, as stretches of a semitone.

    Parameters
    ----------
    pair, pitch : int64 (notes,)
    start, end : float64 (notes,)
        Seconds or frames.
    weight : int64 (notes,)
    """

    pair: Int
    pitch: Int
    start: Float
    end: Float
    weight: Int

    @classmethod
    def of(cls, notes: Notes) -> Spans:
        """The notes with their nearest semitones, weighing 1 each."""
        pitch = np.rint(12.0 * (notes.octave - np.log2(440.0)) + 69.0).astype(np.int64)
        return cls(notes.pair, pitch, notes.start, notes.end, np.ones(len(pitch), dtype=np.int64))

    def take(self, chosen: Bool | Int) -> Spans:
        """Some of them."""
        start, end = self.start[chosen], self.end[chosen]
        return Spans(self.pair[chosen], self.pitch[chosen], start, end, self.weight[chosen])


@dataclass(frozen=True, slots=True)
class PitchStretches:
    """Stretches of time in which a pitch sounds on some side, by pair, pitch and time.

    Parameters
    ----------
    pair, pitch : int64 (n,)
    start, end : float64 (n,)
    sides : int64 (n,)
        `REFERENCE`, `ESTIMATE`, or the sum of both.
    """

    pair: Int
    pitch: Int
    start: Float
    end: Float
    sides: Int


def levels(key: tuple[Int, ...], start: Float, end: Float, weights: tuple[Int, ...]) -> tuple[Int, Float, list[Int]]:
    """The sums of the weights of what sounds at once.

    Parameters
    ----------
    key : tuple of int64 (n,)
        What must agree for stretches to be added.
    start, end : float64 (n,)
    weights : tuple of int64 (n,)

    Returns
    -------
    place : int64 (m,)
        One of the stretches with the same key, for each piece between two neighbouring times.
    length : float64 (m,)
        From that time, which is ``start`` or ``end`` of the place, to the next one; 0 behind the last.
    sums : list of int64 (m,)
    """
    times, joined = np.concatenate([start, end]), np.zeros(len(start), dtype=np.int64)
    for one in key:
        low = int(one.min(initial=0))
        joined = joined * (int(one.max(initial=0)) - low + 1) + (one - low)
    joined = np.tile(joined, 2)
    order = by_group(joined, np.argsort(times))  # what lies at one time is added up, in any order
    times, joined = times[order], joined[order]
    same = joined[1:] == joined[:-1]
    last = np.append(~(same & (times[1:] == times[:-1])), np.ones(min(len(times), 1), dtype=np.bool_))
    sums = [np.cumsum(np.concatenate([weight, -weight])[order])[last] for weight in weights]
    kept = np.flatnonzero(last)
    follows = np.append(same, np.zeros(min(len(times), 1), dtype=np.bool_))[kept]
    following = np.append(times[kept][1:], np.zeros(min(len(kept), 1)))
    return order[kept], np.where(follows, following - times[kept], 0.0), sums


def compare(reference: Spans, estimate: Spans, least: int = 0) -> PitchStretches:
    """Times at which pitches sound on either side.

    Parameters
    ----------
    least : int
        What the weights of a pitch of the reference must add up to more than, for it to sound.

    Examples
    --------
    >>> zero, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    >>> found = compare(Spans(zero, one, np.array([0.0]), np.array([2.0]), one),
    ...                 Spans(zero, one, np.array([1.5]), np.array([3.0]), one))
    >>> found.start.tolist(), found.end.tolist(), found.sides.tolist()
    ([0.0, 1.5, 2.0], [1.5, 2.0, 3.0], [1, 3, 2])
    """
    names = ("pair", "pitch", "start", "end")
    pair, pitch, start, end = (
        np.concatenate([getattr(side, name) for side in (reference, estimate)]) for name in names
    )
    none = [np.zeros(len(side.weight), dtype=np.int64) for side in (estimate, reference)]
    weights = np.concatenate([reference.weight, none[0]]), np.concatenate([none[1], estimate.weight])
    event, length, (ours, theirs) = levels((pair, pitch), start, end, weights)
    place, time = event % max(len(start), 1), np.concatenate([start, end])[event]
    sides = REFERENCE * (ours > least) + ESTIMATE * (theirs > 0)
    sounds = (sides > 0) & (length > 0)
    place, time, length = place[sounds], time[sounds], length[sounds]
    return PitchStretches(pair[place], pitch[place], time, time + length, sides[sounds])


@dataclass(frozen=True)
class Activity:
    """Sums over the stretches of some pairs, each in seconds times pitches: float64 (pairs,).

    Parameters
    ----------
    hits, reference, estimate
        How long pitches sound on both sides, and on each.
    fewer, more
        The smaller and the larger number of pitches of both sides at a time, over all time.
    """

    hits: Float
    reference: Float
    estimate: Float
    fewer: Float
    more: Float


def hits_and_sides(found: PitchStretches, pairs: int) -> tuple[Float, Float, Float]:
    """Durations of pitches on both sides, in the reference and in the estimate: float64 (pairs,) each."""
    length = found.end - found.start
    both, ours, theirs = (
        sum_by(found.pair, np.where(mask, length, 0.0), pairs)
        for mask in (found.sides == REFERENCE | ESTIMATE, found.sides & REFERENCE > 0, found.sides & ESTIMATE > 0)
    )
    return both, ours, theirs


def fewer_and_more(found: PitchStretches, group: Int, pairs: int) -> tuple[Float, Float]:
    """The smaller and the larger number of pitches of both sides, over all time, where they are added by group."""
    weights = (found.sides & REFERENCE > 0).astype(np.int64), (found.sides & ESTIMATE > 0).astype(np.int64)
    event, length, (ours, theirs) = levels((found.pair, group), found.start, found.end, weights)
    pair = found.pair[event % max(len(group), 1)]
    few, many = np.minimum(ours, theirs) * length, np.maximum(ours, theirs) * length
    return sum_by(pair, few, pairs), sum_by(pair, many, pairs)


@dataclass(frozen=True, slots=True)
class ActivePitches:
    """A way of finding the active pitches of notes.

    Parameters
    ----------
    prepare : callable
        (spans of one side, of the reference, hop) -> the same, in frames or seconds.
    hop : float, seconds
        Distance of frames unless another is asked for; 0: continuous time.
    least : int
        As of `compare`.
    slack : float, seconds
        Added to denominators.
    """

    prepare: Callable[[Spans, Bool, float], Spans]
    hop: float = 0.0
    least: int = 0
    slack: float = 0.0


def _active(spans: Spans, drums: Bool, hop: float) -> Spans:
    if not hop:
        return spans
    first, stop = (np.rint(times * rate_of(hop)) for times in (spans.start, spans.end))
    return Spans(spans.pair, spans.pitch, first, stop, spans.weight)


def _of_piano(spans: Spans) -> Spans:
    return spans.take((spans.pitch >= PIANO[0]) & (spans.pitch <= PIANO[1]))


def _cut(spans: Spans, drums: Bool, hop: float) -> Spans:
    end = cut_overlaps(spans.pair, spans.pitch, spans.start, spans.end)
    spans = Spans(spans.pair, spans.pitch, spans.start, end, spans.weight)
    return _active(_of_piano(spans.take(end > spans.start)), drums, hop)


def _decoded(spans: Spans, drums: Bool, hop: float) -> Spans:
    spans = _of_piano(spans)
    found = decode(spans.pair, spans.pitch, spans.start, spans.end, spans.weight.astype(np.float64), hop)
    first, stop = found.first.astype(np.float64), found.stop.astype(np.float64)
    return Spans(found.pair, found.pitch, first, stop, np.ones(len(first), dtype=np.int64))


def _loud(spans: Spans, drums: Bool, hop: float) -> Spans:
    end = np.maximum(spans.end, spans.start + SHORTEST)
    first, stop = (np.floor(times * rate_of(hop)) for times in (spans.start, end))
    return Spans(spans.pair, spans.pitch, first, stop, spans.weight).take(~drums)


FRAMES: Mapping[str, ActivePitches] = MappingProxyType(
    {
        "active": ActivePitches(_active),
        "cut": ActivePitches(_cut, slack=1e-8),
        "decoded": ActivePitches(_decoded, HOP),
        "loud": ActivePitches(_loud, 0.016, least=30),
    }
)
"""Ways of finding active pitches, by name."""


def stretches_of(block: NoteBatch, way: str, hop: float) -> PitchStretches:
    """Times at which pitches sound on either side of the pairs of a block; in frames where these have a hop."""
    return block.once(("stretches", way, hop), lambda: _find_stretches(block, way, hop))


def _find_stretches(block: NoteBatch, way: str, hop: float) -> PitchStretches:
    rule, sides = FRAMES[way], []
    seen = block if way == "loud" else block.part(block.usual)
    for notes in (seen.reference, seen.estimate):
        spans = Spans.of(notes)
        if way == "loud":
            spans = _weighed(spans, notes, block.reference)
        sides.append(rule.prepare(spans, notes.extra["drum"] > 0, hop or rule.hop))
    return compare(sides[0], sides[1], rule.least)


def _weighed(spans: Spans, notes: Notes, reference: Notes) -> Spans:
    """Notes that weigh their velocities; as short as can be where the reference has nothing but percussion."""
    velocity = notes.extra["loudness"]
    loudness = np.rint(np.where(np.isnan(velocity), _LOUD, velocity)).astype(np.int64)
    pitched = np.bincount(reference.pair[~(reference.extra["drum"] > 0)], minlength=len(reference.counts))
    end = np.where(pitched[spans.pair] > 0, spans.end, spans.start)
    return Spans(spans.pair, spans.pitch, spans.start, end, loudness)


def activity(block: NoteBatch, way: str, hop: float, chroma: bool, numbers: bool) -> Activity:
    """Sums over the active pitches of the pairs of a block; `numbers`: with those of pitches at a time."""
    return block.once(("activity", way, hop, chroma, numbers), lambda: _sum(block, way, hop, chroma, numbers))


def _sum(block: NoteBatch, way: str, hop: float, chroma: bool, numbers: bool) -> Activity:
    found, size = stretches_of(block, way, hop), len(block)
    hits, ours, theirs = block.once(("sides", way, hop), lambda: hits_and_sides(found, size))
    if chroma:
        hits, _ = block.once(("chroma", way, hop), lambda: fewer_and_more(found, found.pitch % 12, size))
    fewer = more = np.zeros(size)
    if numbers:
        fewer, more = block.once(("all", way, hop), lambda: fewer_and_more(found, np.zeros_like(found.pitch), size))
    return Activity(hits, ours, theirs, fewer, more)


NEEDS = "frames"
"""The need of metrics that are read off active pitches."""
_WAY = Parameter(
    "frames",
    "active",
    choices=tuple(FRAMES),
    help="active: while notes sound; cut: until the next note of their pitch, 1e-8 s added to denominators; "
    "decoded: by the labels of Onsets and Frames; loud: of MT3, above velocity 30 in the reference",
)
_HOP = Parameter("hop", 0.0, "s", least=0.0, help="distance of frames; 0: 32 ms if decoded, 16 ms if loud, else none")
_MEANT: Mapping[str, Callable[[Activity], tuple[Float, Float]]] = MappingProxyType(
    {
        "precision": lambda sums: (sums.hits, sums.estimate),
        "recall": lambda sums: (sums.hits, sums.reference),
        "f_measure": lambda sums: (sums.hits, 0.5 * (sums.reference + sums.estimate)),
        "accuracy": lambda sums: (sums.hits, sums.reference + sums.estimate - sums.hits),
        "substitution_error": lambda sums: (sums.fewer - sums.hits, sums.reference),
        "miss_error": lambda sums: (sums.reference - sums.fewer, sums.reference),
        "false_alarm_error": lambda sums: (sums.estimate - sums.fewer, sums.reference),
        "total_error": lambda sums: (sums.more - sums.hits, sums.reference),
    }
)
"""What is divided by what; the latter is the weight."""


def _read(name: str, block: NoteBatch, measure: Measure) -> tuple[Float, Float]:
    way, hop = str(measure["frames"]), float(measure["hop"])
    chroma = name.startswith("chroma_")
    plain = name.removeprefix("chroma_")
    sums = activity(block, way, hop, chroma, plain.endswith("_error"))
    part, whole = _MEANT[plain](sums)
    slack = FRAMES[way].slack * (0.5 if plain == "f_measure" else 1.0)
    score = np.divide(part, whole + slack, out=np.zeros(len(whole)), where=whole > 0)
    unit = hop or FRAMES[way].hop
    return score, whole * unit if unit else whole


def _declared(metric: Metric) -> dict[str, Any]:
    return {
        "name": f"frame_{metric.name}",
        "title": f"{metric.title} (frames)",
        "summary": metric.summary.replace("over all frames", "over all time"),
        "orientation": metric.orientation,
        "range": metric.range,
        "perfect": metric.perfect,
    }


_WORDS = "time that pitches are active {}, added over pitches"
_OVER = {"precision": "in the estimate", "f_measure": "in the reference and in the estimate, halved"}
_OVER |= {"accuracy": "in the reference, the estimate or both"}
METRICS = family(
    {
        one.name: Weight(_WORDS.format(_OVER.get(one.name.removeprefix("chroma_"), "in the reference")), "s")
        for one in OF_FRAMES
    },
    {one.name: _declared(one) for one in OF_FRAMES},
    parameters=(_WAY, _HOP),
    needs=NEEDS,
    default=False,
    perfect_exceptions="less than 1 where frames=cut adds to denominators, where no frame is left of short notes, and "
    "where frames=loud leaves soft notes of the reference out",
    literature="@hawthorne2018; @bay2009; @mirex2024piano",
)(_read)
"""The metrics of multiple F0 estimation, on active pitches of notes."""


def evidence(block: NoteBatch, measure: Measure) -> dict[str, Column]:
    """Stretches of time in which a pitch is active on some side of a pair, with ``hit``, ``missed`` or ``extra``."""
    way, hop = str(measure["frames"]), float(measure["hop"])
    found, unit = stretches_of(block, way, hop), hop or FRAMES[way].hop or 1.0
    order = np.lexsort((found.pitch, found.start))
    start, end, sides = found.start[order] * unit, found.end[order] * unit, found.sides[order]
    hertz = midi_to_hz(found.pitch[order].astype(np.float64))
    return {
        "start": start,
        "end": end,
        "reference_pitch": np.where(sides & REFERENCE, hertz, np.nan),
        "estimate_pitch": np.where(sides & ESTIMATE, hertz, np.nan),
        "verdict": np.array(["", "missed", "extra", "hit"])[sides],
    }
