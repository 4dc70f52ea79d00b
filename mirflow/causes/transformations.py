"""Simple transformations of one side of a pair, each declared once: what to try, how to apply it, what it is called.

They are about times (unit, rate, displacement), metrical levels, pitches (unit, tuning, transposition), labels, columns
of files, missing ends, reversed rankings, exchanged sides, and estimates of other tracks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.schema import KINDS
from ..errors import MirflowError
from ..theory.leadsheet import leadsheet_to_harte
from ..theory.pitch import midi_to_hz
from ..theory.text_form import normal_form, ungarbled
from . import indicators
from .indicators import cut_at, last_time, onsets, pitches, retime, transpose

ESTIMATE, REFERENCE = "estimate", "reference"


@dataclass(frozen=True)
class LowPair:
    """A pair that scores low."""

    task: str
    reference: Annotation
    estimate: Annotation
    others: Mapping[str, Annotation] = field(default_factory=dict)
    """References of other tracks."""


@dataclass(frozen=True)
class Correction:
    """What is done to one side: ``amount`` is a number in ``unit``, or NaN, and the unit then says what."""

    cause: str
    side: str
    amount: float
    unit: str

    def inverse(self) -> Correction | None:
        """The change of the other side that makes the pair as alike; None if there is none."""
        undo = TRANSFORMATIONS[self.cause].undo
        if undo is None:
            return None
        side = REFERENCE if self.side == ESTIMATE else ESTIMATE
        return replace(self, side=side, amount=undo(self.amount))

    def apply(self, pair: LowPair) -> LowPair:
        """The pair after the change."""
        transformation = TRANSFORMATIONS[self.cause]
        if transformation.on_pair is not None:
            return transformation.on_pair(pair, self)
        assert transformation.on_side is not None
        if self.side == REFERENCE:
            return replace(pair, reference=transformation.on_side(pair.reference, self, pair))
        return replace(pair, estimate=transformation.on_side(pair.estimate, self, pair))


Search: TypeAlias = Callable[[LowPair], Iterator[Correction]]


@dataclass(frozen=True)
class Transformation:
    """A transformation that may be the cause of a low score."""

    name: str
    summary: str
    """For the documentation."""
    unit: str
    limits: str
    """What is tried."""
    fits: Callable[[str, str], bool]
    """Whether it makes sense for a task and a kind."""
    search: Search
    """Changes of the pair that are likely, the likeliest first."""
    sentence: str
    several: str
    """What several sides with the cause are."""
    on_side: Callable[[Annotation, Correction, LowPair], Annotation] | None = None
    """Makes the changed side of a pair; None where `on_pair` makes the pair."""
    on_pair: Callable[[LowPair, Correction], LowPair] | None = None
    undo: Callable[[float], float] | None = None
    """The amount of the other side; None if only this side can be changed."""
    near: float = 0.0
    """Amounts that are the same cause: a difference, of factors relative to them."""
    option: Callable[[Correction], dict[str, str | float]] = lambda change: {}
    """The options of reading with which the side would be right; empty without any."""
    result: float = 0.0
    """Least score afterwards, where more is needed than by default."""
    shared: bool = False
    """Whether one pair alone tells nothing: only a whole system or most systems of a track do."""
    first: bool = False
    """Whether it is tried before others, which may only be seen once it is right."""


TRANSFORMATIONS: dict[str, Transformation] = {}
"""By name, in the order in which they are tried."""


def _declare(name: str, search: Search, **how: Any) -> Search:
    TRANSFORMATIONS[name] = Transformation(name, " ".join((search.__doc__ or "").split()), search=search, **how)
    return search


SUDDEN = ("events", "hits", "notes", "series", "multipitch")
"""Kinds in which times are exact."""
_PITCHED = ("notes", "series", "multipitch")
_LASTING = ("intervals", "notes", "pedals")
_CHORDS_AND_KEYS = ("chord", "key", "local_key")
_TIMED = ("events", "intervals", "notes", "hits", "pedals", "series", "multipitch", "hierarchy")


@partial(
    _declare,
    "pitch_unit",
    unit="",
    limits="MIDI numbers, cents above 10 Hz or C-1, log2 of Hz, semitones above 440 Hz",
    fits=lambda task, kind: kind in _PITCHED,
    on_side=lambda side, change, pair: indicators.in_hertz(side, change.unit),
    sentence="the pitches of the {who} are in {unit}, not in Hz",
    several="in another unit of pitch",
    option=lambda change: {"pitch_unit": "MIDI"} if change.unit == "MIDI" else {},
    first=True,
)
def _pitch_units(pair: LowPair) -> Iterator[Correction]:
    """The numbers of pitches are of another unit than Hz."""
    for name, side, other in ((ESTIMATE, pair.estimate, pair.reference), (REFERENCE, pair.reference, pair.estimate)):
        heard = pitches(other)
        if not np.isfinite(heard).any():
            continue
        for unit in indicators.PITCH_UNITS:
            made = pitches(indicators.in_hertz(side, unit))
            if np.isfinite(made).any() and abs(float(np.nanmedian(made) - np.nanmedian(heard))) <= 18:
                yield Correction("pitch_unit", name, float("nan"), unit)


@partial(
    _declare,
    "columns",
    unit="",
    limits="(start, duration) for (start, end) and the reverse; time and pitch, or pitch and velocity swapped",
    fits=lambda task, kind: kind in (*_LASTING, "series"),
    on_side=lambda side, change, pair: _reordered(side, change.unit),
    sentence="the columns of the {who} are in another order: {unit}",
    several="with their columns in another order",
    first=True,
)
def _columns(pair: LowPair) -> Iterator[Correction]:
    """The columns of a text file are in another order."""
    for name, side in ((ESTIMATE, pair.estimate), (REFERENCE, pair.reference)):
        if "end" in side.columns and len(side) > 2:
            start, end = side.columns["start"], side.columns["end"]
            if float(np.mean(end < start)) > 0.3:
                yield Correction("columns", name, float("nan"), "durations where ends are expected")
            elif float(np.mean(end[:-1] > 1.5 * start[1:])) > 0.5:
                yield Correction("columns", name, float("nan"), "ends where durations are expected")
        if "velocity" in side.columns and (side.columns["velocity"] > 0).all():
            yield Correction("columns", name, float("nan"), "velocity before pitch")
        if side.kind == "series" and len(side) > 2:
            frequency = side.columns["frequency"]
            if float(np.mean(np.diff(frequency) > 0)) > 0.95:
                yield Correction("columns", name, float("nan"), "pitch before time")


def _reordered(side: Annotation, unit: str) -> Annotation:
    columns = dict(side.columns)
    if unit.startswith("pitch"):
        columns["time"], columns["frequency"] = columns["frequency"], columns["time"]
        order = np.argsort(columns["time"], kind="stable")
        return replace(side, columns={name: column[order] for name, column in columns.items()})
    if unit.startswith("velocity"):
        return replace(side, columns={**columns, "pitch": midi_to_hz(columns["velocity"]), "velocity": pitches(side)})
    ends = columns["end"] + columns["start"] * (1 if unit.startswith("durations") else -1)
    following = np.append(columns["start"][1:], np.inf)
    columns["end"] = np.where(np.abs(ends - following) < 1e-6, following, ends)  # sums of floats would overlap
    return replace(side, columns=columns)


@partial(
    _declare,
    "labels",
    unit="",
    limits="case, blanks, quotes, hyphens, encoding; symbols such as Cm for C:min",
    fits=lambda task, kind: "label" in {one.name for one in KINDS[kind].variables},
    on_side=lambda side, change, pair: _respelled(side, change.unit, pair),
    sentence="the labels of the {who} are spelled otherwise: {unit}",
    several="with other spellings of labels",
    option=lambda change: {"notation": "leadsheet"} if change.unit.startswith("lead") else {},
    first=True,
)
def _labels(pair: LowPair) -> Iterator[Correction]:
    """Labels differ in spelling only."""
    if not pair.estimate.labels or not pair.reference.labels:
        return
    for name, side, other in ((ESTIMATE, pair.estimate, pair.reference), (REFERENCE, pair.reference, pair.estimate)):
        labels = set(side.labels or ())
        for unit in ("leadsheet symbols", "case, punctuation or encoding"):
            if unit.startswith("lead") and pair.task != "chord":
                continue
            change = Correction("labels", name, float("nan"), unit)
            made = set(_respelled(side, unit, pair).labels or ())
            wanted = set(other.labels or ())
            if made != labels and (unit.startswith("lead") or len(made & wanted) > len(labels & wanted)):
                yield change


def _respelled(side: Annotation, unit: str, pair: LowPair) -> Annotation:
    if unit.startswith("lead"):
        table: dict[str, str] = {}
        for label in set(side.labels or ()):
            try:
                table[label] = leadsheet_to_harte(label)
            except MirflowError:
                table[label] = label
    else:
        other = pair.estimate if side is pair.reference else pair.reference
        usual = {_plain(label): label for label in sorted(set(other.labels or ()))}
        # Otherwise the usual case of a chord that the other side lacks; other labels stay.
        table = {}
        for label in set(side.labels or ()):
            text = label.strip().capitalize()
            chord = pair.task == "chord" and (text in ("N", "X") or indicators.root_of(text, pair.task) is not None)
            table[label] = usual.get(_plain(label), text if chord else label)
    return replace(side, labels=[table[label] for label in side.labels or ()])


@lru_cache(maxsize=65_536)
def _plain(label: str) -> str:
    # Quotes around a label, and what joins its words.
    return " ".join(re.sub(r"^['\"]|['\"]$|(?<=\w)[-_](?=\w)", " ", ungarbled(normal_form(label)).casefold()).split())


_FRAMES = (0.01, 0.02, 0.05, 0.1, 512 / 44100, 256 / 44100, 1024 / 44100, 512 / 22050)
_TIME_UNITS = {
    "ms": 1e-3,
    **{f"samples@{rate}": 1 / rate for rate in (44100, 48000, 22050, 16000)},
    **{f"frames@{hop:.10g}": hop for hop in _FRAMES},
}
"""What numbers of times may be, as the option of reading has it, and their factors to seconds."""
_RATIOS = (*_TIME_UNITS.values(), 60.0, 44100 / 48000, 48000 / 44100)
"""These, minutes, and times by the other usual rate."""


@partial(
    _declare,
    "time_scale",
    unit="factor",
    limits="milliseconds, samples and frames at the usual rates, minutes, 44100 for 48000 Hz; any factor near 1",
    fits=lambda task, kind: kind in _TIMED,
    on_side=lambda side, change, pair: retime(side, change.amount, 0.0),
    sentence="the times of the {who} have to be multiplied by {amount:.6g}",
    several="in another unit of time",
    undo=lambda amount: 1 / amount,
    near=0.01,
    option=lambda change: next(
        ({"time_unit": unit} for unit, ratio in _TIME_UNITS.items() if abs(change.amount / ratio - 1) < 0.005), {}
    ),
    first=True,
)
def _time_scales(pair: LowPair) -> Iterator[Correction]:
    """Times are in another unit, or of another sampling rate or tempo."""
    own, other = onsets(pair.estimate), onsets(pair.reference)
    if len(own) < 3 or len(other) < 3:
        return
    ends = last_time(pair.reference), last_time(pair.estimate)
    if not all(np.isfinite(ends)) or min(ends) <= 0:
        return
    wanted = ends[0] / ends[1]
    lengths = np.log(np.maximum([ends[0] - other[0], ends[1] - own[0]], 1e-9))
    for factor in (*_RATIOS, *(1 / ratio for ratio in _RATIOS)):
        if min(abs(np.log(wanted / factor)), abs(lengths[0] - lengths[1] - np.log(factor))) < 0.3:
            yield Correction("time_scale", ESTIMATE, factor, "factor")
    starts = {(ends[0] - other[0]) / max(1e-9, ends[1] - own[0]), wanted, (other[-1] - other[0]) / (own[-1] - own[0])}
    for factor in sorted(starts) if own[-1] > own[0] and other[-1] > other[0] else ():
        for begin in (0.0, float(other[0] - own[0] * factor)):
            exact, shift = indicators.refine_scale(other, own, factor, begin)
            if 0.5 < exact < 2 and abs(exact - 1) > 0.004 and abs(shift) <= indicators.LONGEST_SHIFT:
                yield Correction("time_scale", ESTIMATE, float(f"{exact:.6g}"), "factor")


PERIODIC = ("beat", "downbeat")
_LEVELS = (2.0, 0.5, 3.0, 1 / 3, 1.5, 2 / 3, 4.0, 0.25)


@partial(
    _declare,
    "metrical_level",
    unit="factor",
    limits="2, 3, 4, 1/2, 1/3, 1/4, 3/2, 2/3 times as many beats, from each beat; beats between the beats",
    fits=lambda task, kind: task in ("beat", "downbeat", "tempo"),
    on_side=lambda side, change, pair: _at_level(side, change),
    sentence="the {who} is on another metrical level: right are {amount:.3g} times as many, {unit}",
    several="on another metrical level",
    near=0.01,
)
def _levels(pair: LowPair) -> Iterator[Correction]:
    """Beats or tempi are those of another metrical level, or beats are between the beats."""
    if pair.estimate.kind == "tempo":
        for factor in _LEVELS[:4]:
            yield Correction("metrical_level", ESTIMATE, factor, "factor")
        return
    own, other = onsets(pair.estimate), onsets(pair.reference)
    if min(len(own), len(other)) < 4:
        return
    wanted = float(np.median(np.diff(own)) / max(1e-9, np.median(np.diff(other))))
    for factor in _LEVELS:
        if abs(np.log(max(wanted, 1e-9) / factor)) < 0.25:
            phases = round(1 / factor) if factor < 1 and factor != 2 / 3 else 1
            for phase in range(phases):
                unit = "factor" if not phase else f"from beat {phase + 1}"
                yield Correction("metrical_level", ESTIMATE, factor, unit)
    if abs(np.log(max(wanted, 1e-9))) < 0.25:
        yield Correction(
            "metrical_level", ESTIMATE, 1.0, f"half a {'bar' if pair.task == 'downbeat' else 'beat'} later"
        )
        for name in [*_PHASES][1:] if pair.task == "downbeat" else ():
            yield Correction("metrical_level", ESTIMATE, 1.0, f"{name} of a bar later")


_PHASES = {"half": 0.5, "a quarter": 0.25, "three quarters": 0.75, "a third": 1 / 3, "two thirds": 2 / 3}


def _at_level(side: Annotation, change: Correction) -> Annotation:
    if side.kind == "tempo":
        return replace(side, columns={**side.columns, "tempo": side.columns["tempo"] * change.amount})
    times, factor = onsets(side), change.amount
    if len(times) < 2:
        return side
    where = np.arange(len(times), dtype=np.float64)
    if factor == 1:
        begin, step = next(value for name, value in _PHASES.items() if change.unit.startswith(name)), 1.0
    else:
        begin, step = (float(change.unit[-1]) - 1 if change.unit.startswith("from") else 0.0), 1 / factor
    made = np.interp(np.arange(begin, len(times) - 1 + 1e-9, step), where, times)
    return replace(side, columns={"time": made}, labels=None, lines=None)


@partial(
    _declare,
    "displacement",
    unit="s",
    limits="within 30 s",
    fits=lambda task, kind: kind in _TIMED,
    on_side=lambda side, change, pair: retime(side, 1.0, change.amount),
    sentence="the {who} is {size:.3g} s {way}",
    several="displaced",
    undo=lambda amount: -amount,
    near=0.35,
)
def _displacements(pair: LowPair) -> Iterator[Correction]:
    """All times of a side are late or early by the same number of seconds."""
    if min(len(pair.reference), len(pair.estimate)) < 3:
        return
    own, other = onsets(pair.estimate), onsets(pair.reference)
    shifts = indicators.likely_shifts(pair.reference, pair.estimate, pair.task)
    if pair.task in PERIODIC:  # whole beats later, a steady track is nearly as good
        period = max(float(np.median(np.diff(own))), 1e-3)
        rests = [seconds - round(seconds / period) * period for seconds in shifts]
        shifts += [indicators.refine_shift(other, own, rest, period / 2) for rest in rests]
    for seconds in dict.fromkeys(round(seconds, 4) for seconds in shifts):
        if 0.03 <= abs(seconds) <= indicators.LONGEST_SHIFT:
            yield Correction("displacement", ESTIMATE, seconds, "s")


@partial(
    _declare,
    "tuning",
    unit="semitones",
    limits="from 20 to 70 cents",
    fits=lambda task, kind: kind in _PITCHED,
    on_side=lambda side, change, pair: transpose(side, change.amount, pair.task),
    sentence="the {who} is tuned {size:.2f} semitones {way}",
    several="tuned apart",
    undo=lambda amount: -amount,
    near=0.1,
)
def _tunings(pair: LowPair) -> Iterator[Correction]:
    """All pitches of a side are out of tune by the same part of a semitone."""
    semitones, _ = indicators.intervals_between(pair.reference, pair.estimate, pair.task)
    close = semitones[np.abs(semitones) <= 1.5]
    if len(close) < 3:
        return
    counts, edges = np.histogram(close, bins=60, range=(-1.5, 1.5))
    counts = np.convolve(counts, [1, 1, 1], mode="same")
    top = int(np.argmax(counts))
    near = close[np.abs(close - (edges[top] + 0.025)) <= 0.15]
    cents = float(np.median(near)) if len(near) else 0.0
    if 0.2 <= abs(cents) <= 0.7:
        yield Correction("tuning", ESTIMATE, round(cents, 3), "semitones")


@partial(
    _declare,
    "transposition",
    unit="semitones",
    limits="whole semitones: 11 of chords and keys, within two octaves of pitches",
    fits=lambda task, kind: task in _CHORDS_AND_KEYS or kind in (*_PITCHED, "patterns"),
    on_side=lambda side, change, pair: transpose(side, change.amount, pair.task),
    sentence="the {who} is {size:.0f} semitone{plural} {way}",
    several="transposed",
    undo=lambda amount: -amount,
    near=0.25,
)
def _transpositions(pair: LowPair) -> Iterator[Correction]:
    """All pitches, chords or keys of a side are higher or lower by the same whole number of semitones."""
    semitones, weight = indicators.intervals_between(pair.reference, pair.estimate, pair.task)
    if not len(semitones):
        return
    whole = np.round(semitones).astype(np.int64)
    if pair.task in _CHORDS_AND_KEYS:
        counts = np.bincount(whole % 12, weight, minlength=12)
        values = [(step + 5) % 12 - 5 for step in range(12)]
    else:
        inside = np.abs(whole) <= 24
        counts = np.bincount(whole[inside] + 24, weight[inside], minlength=49)
        values = list(range(-24, 25))
    unmoved = counts[values.index(0)]
    for place in np.argsort(-counts, kind="stable")[:2].tolist():
        value = values[place]
        if value and counts[place] > 1.2 * unmoved:
            yield Correction("transposition", ESTIMATE, float(value), "semitones")


@partial(
    _declare,
    "part",
    unit="s",
    limits="one side has less than four fifths of the other",
    fits=lambda task, kind: kind in _TIMED and kind != "hierarchy",
    on_pair=lambda pair, change: replace(
        pair, reference=cut_at(pair.reference, change.amount), estimate=cut_at(pair.estimate, change.amount)
    ),
    sentence="the {who} has only the first {amount:.3g} s",
    several="cut short",
    near=np.inf,
)
def _parts(pair: LowPair) -> Iterator[Correction]:
    """Only the first part of a track is annotated."""
    ends = [last_time(side) for side in (pair.reference, pair.estimate)]
    if all(np.isfinite(ends)) and min(ends) > 5 and min(ends) < 0.8 * max(ends):
        short = REFERENCE if ends[0] < ends[1] else ESTIMATE
        yield Correction("part", short, round(min(ends), 3), "s")


@partial(
    _declare,
    "other_track",
    unit="",
    limits="the references of the tracks nearby and of those that end at the same time",
    fits=lambda task, kind: kind in _TIMED,
    on_pair=lambda pair, change: replace(pair, reference=pair.others[change.unit]),
    sentence="the {who} is that of track {unit!r}",
    several="of other tracks",
    result=0.8,
)
def _other_tracks(pair: LowPair) -> Iterator[Correction]:
    """The estimate belongs to another track of the data."""
    end = last_time(pair.estimate)
    lengths = {name: abs(last_time(one) - end) for name, one in pair.others.items()}
    for name in sorted(lengths, key=lambda name: lengths[name])[:8]:
        if lengths[name] <= 0.25 * end:
            yield Correction("other_track", ESTIMATE, float("nan"), name)


# One cell alone shows nothing of these two.
TRANSFORMATIONS["sides"] = Transformation(
    "sides",
    "Reference and estimate are exchanged.",
    unit="",
    limits="whole systems",
    # Grades and rankings, say, are no sides of one kind.
    fits=lambda task, kind: kind not in ("audio", "ranking", "following"),
    search=lambda pair: iter([Correction("sides", ESTIMATE, float("nan"), "")]),
    on_pair=lambda pair, change: replace(pair, reference=pair.estimate, estimate=pair.reference),
    sentence="the {who} and the other side are exchanged",
    several="exchanged with the other side",
    shared=True,
)
TRANSFORMATIONS["order"] = Transformation(
    "order",
    "Scores are distances, of which the smallest is the best.",
    unit="",
    limits="whole systems",
    fits=lambda task, kind: task == "retrieval",
    search=lambda pair: iter([Correction("order", ESTIMATE, float("nan"), "")]),
    on_side=lambda side, change, pair: replace(
        side,
        columns={name: column[::-1] * (-1 if name == "value" else 1) for name, column in side.columns.items()},
        labels=list(side.labels or ())[::-1],
        lines=None,
    ),
    sentence="the {who} ranks the items the other way round, as by distances",
    several="with distances in place of scores",
    shared=True,
)
