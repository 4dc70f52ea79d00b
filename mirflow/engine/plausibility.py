"""Doubts about scored annotations: MIDI numbers or cents for Hz, stretched times, odd spacing, labels, ignored pedals.

Doubts are warnings and never change scores; masks choose the few annotations that are looked at. Other units,
recordings and ends, which a transformation of one side would make right, are found by :mod:`mirflow.causes`. Doubted
here is what one side shows alone, and pairs that no transformation would help: MIDI numbers on both sides, names of two
vocabularies, a pedal. Doubts of one task are declared with it; `every_doubt` lists them all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.collection import Collection
from ..annotations.schema import kind_of
from ..annotations.validation import FASTEST, MANY, USUAL, extents, odd_spacing
from ..metrics.base import Convention, Doubt, get_task, tasks
from ..metrics.measures import FUNCTIONS, LABELS, Measure
from ..ragged import Bool, Float, Int
from ..theory.pitch import HIGHEST_MIDI, hz_to_midi, midi_to_hz

NUMBERED = 3  # minimum number of pitches of an annotation to report whole numbers
_ABSURD = 1e6  # Hz above which a number is not a pitch
_CENTS = 2500.0  # maximum plausible median pitch in Hz if some pitches are above `_PIANO`
_PIANO = 4200.0  # Hz just above the highest note of a piano
_LOWEST_KEY = 21  # MIDI number of the lowest key of a piano; as MIDI numbers, pitches are as high on average
_APART = 36.0  # most semitones between the medians of two sides of the same music

_STEPS = 5  # different semitones by which numbers without a whole one among them are recognised
_CLEARLY = 0.3  # by how much the regularity of one reading must exceed that of the other


def midi_numbers(annotation: Annotation) -> str | None:
    """Doubt about an annotation whose pitches are MIDI numbers, where Hz is expected; None without any. Several whole
    numbers, none above 127, are hardly ever frequencies."""
    numbers = _whole_numbers(_low_pitches(annotation))
    return numbers and f"the pitches are {numbers}: are they MIDI numbers? {_remedy_for_numbers(annotation)}"


def _remedy_for_numbers(annotation: Annotation, side: str = "", other: Annotation | None = None) -> str:
    """What may be done about MIDI numbers; without an option if as MIDI numbers they would not be those of music.
    `side`: the side that alone has them, or empty. `other`: the other side, if it is in Hz."""
    numbers = _low_pitches(annotation)
    middle = float(np.median(numbers)) if len(numbers) else 0.0
    usual = middle >= _LOWEST_KEY
    if usual and other is not None and len(pitch := _sounding(other)):
        usual = abs(middle - float(hz_to_midi(np.median(pitch)))) <= _APART
    if not usual:
        return "Hz is expected"
    option = f"pitch_unit: MIDI of this side alone (--{side}-pitch-unit MIDI)" if side else "pitch_unit: MIDI"
    return f"Hz is expected; {option} reads files of such numbers, mirflow.metrics.util.midi_to_hz converts arrays"


def _whole_numbers(pitch: Float) -> str | None:
    if len(pitch) < NUMBERED or (pitch != pitch.round()).any() or pitch.min() == pitch.max():
        return None
    return f"whole numbers from {pitch.min():.0f} to {pitch.max():.0f}"


_RANGE = "numbers from {:.4g} to {:.4g}"


def numbered_pitches(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str | None:
    """Warning about a pair of which a side, or each, has MIDI numbers where Hz is expected. Those of one side are whole
    numbers, or half or less of the other side's frequencies and, as MIDI numbers, within an octave. Of two sides
    without a pitch above 127 one has whole numbers, or the pitches of one lie a whole number of semitones apart as MIDI
    numbers, and not as frequencies: by their distances in cents other notes match than by their numbers."""
    low = _low_pitches(reference), _low_pitches(estimate)
    if len(low[0]) and len(low[1]):
        # Of two sides without a pitch above 127, which are of a bass, or MIDI numbers.
        whole = [_whole_numbers(pitch) for pitch in low]
        grids = [] if all(whole) else [_regularity(pitch) for pitch in low]
        if any(hertz >= numbers + _CLEARLY for numbers, hertz in grids):
            return None
        if not any(whole) and not any(numbers >= hertz + _CLEARLY for numbers, hertz in grids):
            return None
        ranges = [text or _RANGE.format(pitch.min(), pitch.max()) for text, pitch in zip(whole, low, strict=True)]
        if all(whole):
            ranges[1] = ranges[1].removeprefix("whole numbers ") if ranges[0] != ranges[1] else ""
        both = " and ".join(filter(None, ranges))
        return f"the pitches of both sides are {both}: are they MIDI numbers? {_remedy_for_numbers(estimate)}"
    for name, pitch, other in (("reference", low[0], estimate), ("estimate", low[1], reference)):
        pitches = _sounding(other) if len(pitch) else pitch
        if not len(pitches) or not HIGHEST_MIDI < pitches.max() < _ABSURD:
            continue
        what, low_middle, middle = _whole_numbers(pitch), np.median(pitch), np.median(pitches)
        # Near the others as MIDI numbers, and far below them in Hz.
        if what is None and middle / 2 < midi_to_hz(low_middle) < middle * 2 and middle >= 2 * low_middle:
            what = _RANGE.format(pitch.min(), pitch.max())
        if what:
            numbered = reference if name == "reference" else estimate
            remedy = _remedy_for_numbers(numbered, name, other)
            return f"the {name}'s pitches are {what}: are they MIDI numbers? {remedy}"
    return None


def _regularity(pitch: Float) -> tuple[float, float]:
    """How regularly pitches lie in steps of a semitone, if they are MIDI numbers, and if they are in Hz. 1 if all are a
    whole number of semitones apart, near 0 if they lie anywhere; 0 for few different ones. Each semitone counts once,
    however long it sounds."""
    regularities = []
    for numbers in (pitch, np.asarray(hz_to_midi(pitch))):
        steps, step = np.unique(numbers.round(), return_inverse=True)
        turns = np.exp(2j * np.pi * numbers)
        means = np.array([np.bincount(step, part) for part in (turns.real, turns.imag)]) / np.bincount(step)
        regularities.append(float(np.hypot(*means.mean(axis=1))) if len(steps) >= _STEPS else 0.0)
    return regularities[0], regularities[1]


def pitches_in_cents(annotation: Annotation) -> str | None:
    """Evidence that the pitches of an annotation are in cents: half of them are too high for a frequency of music."""
    column = annotation.pitches
    if not len(column) or column.max() < _PIANO:
        return None
    pitch = _sounding(annotation)
    if len(pitch) < NUMBERED or not _CENTS < np.median(pitch) < _ABSURD or pitch.min() == pitch.max():
        return None
    return (
        f"the pitches reach from {pitch.min():.5g} to {pitch.max():.5g}: are they in cents? Hz is expected; convert "
        "cents above MIDI number 0 with mirflow.metrics.util.midi_to_hz(cents / 100)"
    )


def _low_pitches(annotation: Annotation) -> Float:
    """The frequencies of voiced items, if none is above the highest MIDI number; else nothing."""
    column = annotation.pitches
    if not len(column) or column.max() > HIGHEST_MIDI:
        return np.zeros(0)
    pitch = _sounding(annotation)
    return pitch if len(pitch) and pitch.max() <= HIGHEST_MIDI else np.zeros(0)


def _sounding(annotation: Annotation) -> Float:
    """Frequencies of voiced items, and of unvoiced ones that have an estimate (negative numbers)."""
    pitch: Float = np.abs(annotation.pitches)
    return pitch[np.isfinite(pitch) & (pitch > 0)]


def _pitches(annotations: Collection) -> Float:
    columns = annotations.rows.columns
    pitches: Float = columns["pitch"] if "pitch" in columns else columns["frequency"]
    return pitches


PITCH_UNITS = (
    Doubt(
        "pitch_unit",
        "the pitches of a side, or of both, are MIDI numbers where Hz is expected: whole numbers up to 127, or numbers "
        "with fractions that are near the other side's pitches or lie in steps of a semitone only as MIDI numbers",
        of_pair=numbered_pitches,
        suspects=lambda _, annotations: ~annotations.holding(_pitches(annotations) > HIGHEST_MIDI),
    ),
    Doubt(
        "pitch_unit",
        f"half of the pitches of a side are above {_CENTS:.0f} Hz, and some above {_PIANO:.0f} Hz: cents",
        of_side=pitches_in_cents,
        suspects=lambda _, annotations: annotations.holding(~(_pitches(annotations) < _PIANO)),
    ),
)


LABELLED = 5  # labelled items that each side must have for labels without a match to be reported
MATCHED = 0.1
"""Share of an estimate's labelled items from which nothing is reported, if the reference has their labels."""


def lone_pedal(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str | None:
    """Warning about a pair if the pedal of the reference's MIDI file is ignored, and the estimate has none. Notes of
    estimates without a pedal are mostly as long as they sound, and end up to seconds after the keys."""
    ignored, also = (any(remark.rule == "pedal" for remark in side.account) for side in (reference, estimate))
    if not ignored or also or "pedal" in estimate.attrs:
        return None
    return (
        "the reference's sustain pedal is ignored, and the estimate has none: are its notes as long as they sound? "
        "Then read the reference's so, too (pedal: extend, as convention maestro)"
    )


def unmatched_labels(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str | None:
    """Warning about an estimate if hardly any of its labels occurs in its reference, and each has `LABELLED` items.
    Upper and lower case are the same where the metrics compare the functions of segments."""
    wanted, estimated = ([label for label in side.labels or () if label] for side in (reference, estimate))
    if min(len(wanted), len(estimated)) < LABELLED:
        return None
    alike = str if any(measure.metric.needs == LABELS for measure in measures) else str.lower
    known = set(map(alike, wanted))
    lost = sum(alike(label) not in known for label in estimated)
    if len(estimated) - lost >= MATCHED * len(estimated):
        return None
    shown = [", ".join(repr(label) for label in sorted(set(side))[:3]) for side in (estimated, wanted)]
    return (
        f"{lost} of {len(estimated)} labels of the estimate ({shown[0]}) are none of the reference ({shown[1]}): "
        "are both of one list?"
    )


def stretched_times(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str | None:
    """Warning about an estimate whose items are all those of its reference, at times multiplied by one factor.

    Examples
    --------
    >>> one, two = ({"start": by * np.arange(3.0), "end": by * np.arange(1.0, 4.0)} for by in (1.5, 3.0))
    >>> labels = ["C", "G", "C"]
    >>> stretched_times((), Annotation("intervals", one, labels), Annotation("intervals", two, labels))
    "the estimate's times are 2 times the reference's, item by item: are the times in beats? Seconds are expected"
    """
    names = [name for name in ("time", "start", "end") if name in reference.columns and name in estimate.columns]
    if not names or len(reference) != len(estimate) or [*(reference.labels or ())] != [*(estimate.labels or ())]:
        return None
    right, stretched = (np.concatenate([side.columns[name] for name in names]) for side in (reference, estimate))
    factor = float(stretched.max() / right.max()) if right.max() > 0 else 1.0
    if np.abs(stretched - factor * right).max() > _NEAR * stretched.max():
        return None
    return (
        f"the estimate's times are {factor:.4g} times the reference's, item by item: are the times in beats? Seconds "
        "are expected"
    )


def _may_be_stretched(references: Collection, estimates: Collection, rows: Int, others: Int) -> Bool:
    """The pairs of as many items, at least `_ITEMS`, that end at different times."""
    counts = references.rows.counts[0][rows], estimates.rows.counts[0][others]
    mask: Bool = (counts[0] == counts[1]) & (counts[0] >= _ITEMS)
    if mask.any():
        ends = [extents(side.schema, side.rows)[:, 1] for side in (references, estimates)]
        known, estimated = ends[0][rows], ends[1][others]
        mask &= (known > 0) & (estimated > 0)
        size = np.abs(np.log(estimated[mask] / known[mask]))
        mask[mask] = (size >= _STRETCHED[0]) & (size <= _STRETCHED[1])
    return mask


_ITEMS = 3
_STRETCHED = (0.1, 2.3)
"""Logarithms of the factors of times that are reported; larger ones are units, which are causes."""
_NEAR = 0.005
"""How far times may be from those multiplied, as a share of the last."""
_SCALE = Doubt(
    "time_scale",
    "the estimate has the items and labels of the reference, at times multiplied by one factor: beats, or another unit",
    of_pair=stretched_times,
    suspect_pairs=_may_be_stretched,
)
SPACING = Doubt(
    "time_unit",
    "the items of a side, or of both, are too far apart for seconds: more than "
    f"{USUAL['melody'][2]:.0f} s between frames of pitches, {USUAL['beat'][2]:.0f} s between beats, "
    f"{USUAL['transcription'][2]:.0f} s between notes, {USUAL['segment'][2] / 60:.0f} minutes between sections. They "
    f"are milliseconds, frames or samples. Or {MANY} beats or more are less than {FASTEST['beat']:g} s apart, as "
    "frames of an activation curve; or items lie so close that seconds were read in another unit",
)
"""The doubt of `odd_spacing`."""
_VOCABULARIES = Doubt(
    "labels",
    "fewer than one in ten labels of the estimate occur in the reference, both have five or more, and a metric "
    "compares labels (onsets by class, notes by instrument): names of two vocabularies, such as `36` and `kick`",
    of_pair=unmatched_labels,
)
_PEDAL = Doubt(
    "pedal",
    "the sustain pedal of the reference's MIDI file is ignored, and the estimate has none",
    of_pair=lone_pedal,
    suspects=lambda _, annotations: annotations.remarked("pedal"),
)


def suspects(doubt: Doubt, measures: Sequence[Measure], annotations: Collection) -> Bool:
    """The annotations that a doubt may be about, by themselves or in a pair; False at the end, for the empty row."""
    mask = np.ones(len(annotations) + 1, dtype=np.bool_)
    if doubt.suspects is not None:
        mask[:-1] = doubt.suspects(measures, annotations)
    mask[-1] = False
    return mask


def odd_sides(
    doubts: Sequence[Doubt], measures: Sequence[Measure], task: str, annotations: Collection, spans: Float
) -> dict[int, str]:
    """The annotations of one side that are implausible by themselves, by row, with the doubt about each. `spans`
    (float64 (rows, 3)): rows of `extents`."""
    spaced = odd_spacing(task, spans)
    texts: dict[int, str] = {}
    for doubt in doubts:
        if doubt.of_side is not None:
            for row in np.flatnonzero(suspects(doubt, measures, annotations)).tolist():
                if row not in texts and (text := doubt.of_side(annotations.at(row))):
                    texts[row] = text
    return {**texts, **spaced}


def doubts_of(convention: Convention, measures: Sequence[Measure]) -> list[Doubt]:
    """All doubts about the annotations that some measures of a convention score, in the order in which they are
    reported."""
    kind = kind_of(convention.task)
    return [
        *([SPACING] if kind.times else []),
        *([_SCALE] if kind.name == "intervals" else []),
        *(PITCH_UNITS if kind.pitched else []),
        *([_PEDAL] if kind.name == "notes" else []),
        *([_VOCABULARIES] if any(measure.metric.needs in (LABELS, FUNCTIONS) for measure in measures) else []),
        *convention.doubts,
    ]


def every_doubt() -> list[Doubt]:
    """All doubts of all tasks, those of several tasks once."""
    doubts = [SPACING, _SCALE, *PITCH_UNITS, _VOCABULARIES, _PEDAL]
    for name in tasks():
        task = get_task(name)
        doubts += task.doubts
        doubts += [doubt for convention in task.conventions.values() for doubt in convention.doubts]
    return list({doubt.sign: doubt for doubt in doubts}.values())
