"""Warnings of implausible estimates: times and pitches in another unit, of another recording, cut short; other labels.

Warnings change no score. The limits are far from what a poor system does: wrong units are off
by 10 (frames of 0.1 s) to 48,000 (samples), while a tracker that finds little, or goes on after the end, stays within
them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..annotations.annotation import Annotation
from ..ragged import Bool, Float
from ..readers.label_maps import UNMAPPED
from ..theory.pitch import midi_to_hz

RATIO = 10.0
"""Ratio of the sides' ends above which they are reported."""
SECONDS = 30.0
"""Seconds that it must end later besides: short excerpts have large ratios."""
APART = 1.0
"""Seconds above which sides without a common time are reported."""
SHARE = 0.25
"""Share of the reference's items that an estimate of single events must have to be reported as ending too early or
before the reference begins: with fewer it has only missed what came later."""

LABELLED = 5
"""Labelled items that each side must have for labels without a match to be reported."""
MATCHED = 0.1
"""Share of an estimate's labelled items from which nothing is reported, if the reference has their labels."""

NUMBERED = 3
"""Pitches that an annotation must have for whole numbers to be reported."""
HIGHEST = 127
"""The highest MIDI number."""
_ABSURD = 1e6
"""No pitch, in Hz."""
PITCH_HINT = (
    "Hz is expected; pitch_unit: MIDI reads files of such numbers, mirflow.metrics.util.midi_to_hz converts arrays"
)

_SINGLE = ("events", "hits", "notes", "following")
"""Kinds of single events; items of others cover the time up to their end."""


def extents(annotations: Sequence[Annotation]) -> Float:
    """First time, last time [s] and number of items: float64 (annotations, 3); NaN without items or finite times.

    Examples
    --------
    >>> extents([Annotation("events", {"time": np.array([0.5, 2.0])}), Annotation("key", {}, ["C major"])]).tolist()
    [[0.5, 2.0, 2.0], [nan, nan, nan]]
    """
    found = np.full((len(annotations), 3), np.nan)
    if annotations and not annotations[0].schema.times:
        return found
    for row, annotation in enumerate(annotations):
        first = annotation.columns.get("start", annotation.columns.get("time"))
        last = annotation.columns.get("end", first)
        if first is not None and last is not None and len(first):
            found[row] = first.min(), last.max(), len(first)
    found[~np.isfinite(found).all(axis=1)] = np.nan
    return found


def implausible(kind: str, reference: Float, estimate: Float) -> dict[int, str]:
    """The pairs whose two sides can hardly be of one recording in one unit, with what is odd about each.

    Parameters
    ----------
    kind : str
        Of the annotations.
    reference, estimate : float64 (pairs, 3)
        Rows of `extents`.

    Examples
    --------
    >>> beats, milliseconds = np.array([[0.5, 180.0, 360.0]]), np.array([[500.0, 180000.0, 360.0]])
    >>> implausible("events", beats, milliseconds)[0]
    'the estimate ends at 180000 s, the reference at 180 s: are both in seconds, and of the same recording?'
    """
    (begins, ends, count), (est_begins, est_ends, est_count) = reference.T, estimate.T
    many: Bool = (est_count >= SHARE * count) | (kind not in _SINGLE)
    with np.errstate(over="ignore"):  # what ends beyond all numbers ends too late
        long = (est_ends > RATIO * ends) & (est_ends - ends > SECONDS)
        short = (ends > RATIO * est_ends) & (ends - est_ends > SECONDS) & many
        after, before = est_begins > ends + APART, (est_ends < begins - APART) & many
    found: dict[int, str] = {}
    for pair in np.flatnonzero(long | short | after | before).tolist():
        if long[pair] or short[pair]:
            found[pair] = (
                f"the estimate ends at {est_ends[pair]:.10g} s, the reference at {ends[pair]:.10g} s: "
                "are both in seconds, and of the same recording?"
            )
        else:
            where = f"after the reference ends ({ends[pair]:.10g} s)"
            if before[pair]:
                where = f"before the reference begins ({begins[pair]:.10g} s)"
            found[pair] = (
                f"all of the estimate, from {est_begins[pair]:.10g} to {est_ends[pair]:.10g} s, is {where}: "
                "are both of the same recording?"
            )
    return found


def midi_numbers(annotation: Annotation) -> str | None:
    """Evidence that the pitches of an annotation are MIDI numbers, where Hz is expected; None without any.

    Several whole numbers, none above 127, are hardly ever frequencies.

    Examples
    --------
    >>> midi_numbers(Annotation("notes", {"start": np.arange(3.0), "pitch": np.array([60.0, 64.0, 67.0])}))
    'whole numbers from 60 to 67'
    >>> midi_numbers(Annotation("notes", {"start": np.arange(3.0), "pitch": np.array([82.4, 110.0, 98.0])}))
    """
    pitch = _low_pitches(annotation)
    if len(pitch) < NUMBERED or (pitch != pitch.round()).any() or pitch.min() == pitch.max():
        return None
    return f"whole numbers from {pitch.min():.0f} to {pitch.max():.0f}"


def numbered_pitches(reference: Annotation, estimate: Annotation) -> str | None:
    """Warning about a pair of which a side, or each, has MIDI numbers where Hz is expected.

    Those of one side are whole numbers, or half or less of the other side's frequencies and, as MIDI numbers, within an
    octave; those of both are whole numbers: by their distances in cents other notes match than by their numbers.

    Examples
    --------
    >>> hertz = Annotation("series", {"time": np.arange(3.0), "frequency": np.array([220.0, 0.0, 233.1])})
    >>> numbers = Annotation("series", {"time": np.arange(3.0), "frequency": np.array([57.02, 0.0, 58.1])})
    >>> numbered_pitches(hertz, numbers)  # doctest: +ELLIPSIS
    "the estimate's pitches are numbers from 57.02 to 58.1: are they MIDI numbers? Hz is expected; ..."
    >>> numbered_pitches(numbers, numbers)
    """
    ranges = midi_numbers(reference), midi_numbers(estimate)
    if ranges[0] and ranges[1]:
        both = ranges[0] if ranges[0] == ranges[1] else f"{ranges[0]} and {ranges[1].removeprefix('whole numbers ')}"
        return f"the pitches of both sides are {both}: are they MIDI numbers? {PITCH_HINT}"
    for name, side, other in (("reference", reference, estimate), ("estimate", estimate, reference)):
        pitch = _low_pitches(side)
        given = _sounding(other) if len(pitch) else pitch
        if len(given) and HIGHEST < given.max() < _ABSURD and (what := midi_numbers(side) or _is_far(pitch, given)):
            return f"the {name}'s pitches are {what}: are they MIDI numbers? {PITCH_HINT}"
    return None


def _is_far(pitch: Float, given: Float) -> str | None:
    """The range of pitches that lie near others as MIDI numbers, and far below them in Hz."""
    own, wanted = np.median(pitch), np.median(given)
    near = wanted / 2 < midi_to_hz(own) < wanted * 2
    return f"numbers from {pitch.min():.4g} to {pitch.max():.4g}" if near and wanted >= 2 * own else None


def _low_pitches(annotation: Annotation) -> Float:
    """The frequencies of what sounds, if none is above the highest MIDI number; else nothing."""
    column = annotation.columns.get("pitch", annotation.columns.get("frequency"))
    if column is None or not len(column) or column.max() > HIGHEST:
        return np.zeros(0)
    pitch = _sounding(annotation)
    return pitch if len(pitch) and pitch.max() <= HIGHEST else np.zeros(0)


def _sounding(annotation: Annotation) -> Float:
    """Frequencies of what sounds or might."""
    pitch: Float = np.abs(annotation.columns.get("pitch", annotation.columns.get("frequency", np.zeros(0))))
    return pitch[np.isfinite(pitch) & (pitch > 0)]


def lone_pedal(reference: Annotation, estimate: Annotation) -> str | None:
    """Warning about a pair if the pedal of the reference's MIDI file is ignored, and the estimate has none.

    Notes of estimates without a pedal are mostly as long as they sound, and end up to seconds after the keys.

    Examples
    --------
    >>> keys = Annotation("notes", {"start": np.zeros(1), "end": np.ones(1), "pitch": np.full(1, 440.0)})
    >>> lone_pedal(Annotation("notes", keys.columns, attrs={"pedal": "ignored"}), keys)  # doctest: +ELLIPSIS
    "the reference's sustain pedal is ignored, and the estimate has none: ... (pedal: extend, as convention maestro)"
    >>> lone_pedal(keys, keys)
    """
    if reference.attrs.get("pedal") != "ignored" or "pedal" in estimate.attrs:
        return None
    return (
        "the reference's sustain pedal is ignored, and the estimate has none: are its notes as long as they sound? "
        "Then read the reference's so, too (pedal: extend, as convention maestro)"
    )


def unmapped_labels(reference: Annotation, estimate: Annotation) -> str | None:
    """Warning about a pair of which a side has labels that its map of labels hardly knows.

    Examples
    --------
    >>> from mirflow.readers.label_maps import read_label_map
    >>> letters = Annotation("intervals", {"start": np.arange(2.0), "end": np.arange(1.0, 3.0)}, ["A", "B"])
    >>> mapped = read_label_map("functions7").apply(letters)
    >>> unmapped_labels(mapped, letters)
    "the reference: 2 of 2 labels ('A', 'B') are not in the map and became 'inst': is it the right map?"
    """
    for name, side in (("reference", reference), ("estimate", estimate)):
        if found := side.attrs.get(UNMAPPED):
            return f"the {name}: {found}"
    return None


def unmatched_labels(reference: Annotation, estimate: Annotation, fold: bool = False) -> str | None:
    """Warning about an estimate if hardly any of its labels occurs in its reference, and each has `LABELLED` items.

    With `fold` upper and lower case are the same, as for functional labels.

    Examples
    --------
    >>> reference = Annotation("events", {"time": np.arange(6.0)}, ["kick", "snare"] * 3)
    >>> unmatched_labels(reference, Annotation("events", {"time": np.arange(6.0)}, ["36", "38"] * 3))
    "6 of 6 labels of the estimate ('36', '38') are none of the reference ('kick', 'snare'): are both of one list?"
    >>> shouted = Annotation("events", {"time": np.arange(6.0)}, ["KICK", "SNARE"] * 3)
    >>> unmatched_labels(reference, shouted, fold=True)
    """
    wanted, given = ([one for one in side.labels or () if one] for side in (reference, estimate))
    if min(len(wanted), len(given)) < LABELLED:
        return None
    alike = str.lower if fold else str
    known = set(map(alike, wanted))
    lost = sum(alike(label) not in known for label in given)
    if len(given) - lost >= MATCHED * len(given):
        return None
    shown = [", ".join(repr(one) for one in sorted(set(side))[:3]) for side in (given, wanted)]
    return (
        f"{lost} of {len(given)} labels of the estimate ({shown[0]}) are none of the reference ({shown[1]}): "
        "are both of one list?"
    )
