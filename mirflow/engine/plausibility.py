"""Doubts about scored annotations: units of times and pitches that one side shows, other labels, ignored pedals.

Doubts are warnings and do not change scores. What a transformation of one side would make right is not doubted here but
found by :mod:`mirflow.causes`: other units, recordings and ends. A doubt about a pair is left where none would: pitches
that are MIDI numbers on both sides, names of two vocabularies, a pedal, reference and estimate without a common note.
Doubts of one task are declared with it; `every_doubt` lists them all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.collection import Collection
from ..annotations.schema import Kind, kind_of
from ..annotations.spacing import FASTEST, MANY, SLOWEST, odd_spacing
from ..metrics.base import Convention, Doubt, get_task, tasks
from ..metrics.measures import FUNCTIONS, LABELS, Measure
from ..ragged import Bool, Float
from .pitch_units import PITCH_UNITS

LABELLED = 5
"""Labelled items that each side must have for labels without a match to be reported."""
MATCHED = 0.1
"""Share of an estimate's labelled items from which nothing is reported, if the reference has their labels."""


def lone_pedal(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str | None:
    """Warning about a pair if the pedal of the reference's MIDI file is ignored, and the estimate has none.

    Notes of estimates without a pedal are mostly as long as they sound, and end up to seconds after the keys.

    Examples
    --------
    >>> keys = Annotation("notes", {"start": np.zeros(1), "end": np.ones(1), "pitch": np.full(1, 440.0)})
    >>> from mirflow.annotations.account import Remark
    >>> pedal = Remark("pedal", "the sustain pedal is ignored")
    >>> lone_pedal((), Annotation("notes", keys.columns, account=(pedal,)), keys)  # doctest: +ELLIPSIS
    "the reference's sustain pedal is ignored, and the estimate has none: ... (pedal: extend, as convention maestro)"
    >>> lone_pedal((), keys, keys)
    """
    if not _ignores_pedal(reference) or _ignores_pedal(estimate) or "pedal" in estimate.attrs:
        return None
    return (
        "the reference's sustain pedal is ignored, and the estimate has none: are its notes as long as they sound? "
        "Then read the reference's so, too (pedal: extend, as convention maestro)"
    )


def _ignores_pedal(annotation: Annotation) -> bool:
    return any(remark.rule == "pedal" for remark in annotation.account)


def unmatched_labels(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str | None:
    """Warning about an estimate if hardly any of its labels occurs in its reference, and each has `LABELLED` items.

    Upper and lower case are the same where the metrics compare the functions of segments.

    Examples
    --------
    >>> measures = get_task("onset").convention().select(["class_f_measure"])
    >>> reference = Annotation("events", {"time": np.arange(6.0)}, ["kick", "snare"] * 3)
    >>> unmatched_labels(measures, reference, Annotation("events", {"time": np.arange(6.0)}, ["36", "38"] * 3))
    "6 of 6 labels of the estimate ('36', '38') are none of the reference ('kick', 'snare'): are both of one list?"
    """
    wanted, given = ([label for label in side.labels or () if label] for side in (reference, estimate))
    if min(len(wanted), len(given)) < LABELLED:
        return None
    alike = str if any(measure.metric.needs == LABELS for measure in measures) else str.lower
    known = set(map(alike, wanted))
    lost = sum(alike(label) not in known for label in given)
    if len(given) - lost >= MATCHED * len(given):
        return None
    shown = [", ".join(repr(label) for label in sorted(set(side))[:3]) for side in (given, wanted)]
    return (
        f"{lost} of {len(given)} labels of the estimate ({shown[0]}) are none of the reference ({shown[1]}): "
        "are both of one list?"
    )


SPACING = Doubt(
    "time_unit",
    "the items of a side, or of both, are too far apart for seconds: more than "
    f"{SLOWEST['melody']:.0f} s between frames of pitches, {SLOWEST['beat']:.0f} s between beats, "
    f"{SLOWEST['transcription']:.0f} s between notes, {SLOWEST['segment'] / 60:.0f} minutes between sections. They "
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
    found = np.ones(len(annotations) + 1, dtype=np.bool_)
    if doubt.suspects is not None:
        found[:-1] = doubt.suspects(measures, annotations)
    found[-1] = False
    return found


def odd_sides(
    doubts: Sequence[Doubt], measures: Sequence[Measure], task: str, annotations: Collection, spans: Float
) -> dict[int, str]:
    """The annotations of one side that are implausible by themselves, by row, with the doubt about each. `spans`
    (float64 (rows, 3)): rows of `extents`."""
    found = odd_spacing(task, spans)
    texts: dict[int, str] = {}
    for doubt in doubts:
        if doubt.of_side is not None:
            for row in np.flatnonzero(suspects(doubt, measures, annotations)).tolist():
                if row not in texts and (text := doubt.of_side(annotations.at(row))):
                    texts[row] = text
    return {**texts, **found}


def general_doubts(kind: Kind) -> list[Doubt]:
    """The doubts about annotations of a kind, whatever the task, in the order in which they are reported."""
    return [
        *([SPACING] if kind.times else []),
        *(PITCH_UNITS if kind.pitched else []),
        *([_PEDAL] if kind.name == "notes" else []),
        _VOCABULARIES,
    ]


def doubts_of(convention: Convention, measures: Sequence[Measure]) -> list[Doubt]:
    """All doubts about the annotations that some measures of a convention score."""
    doubts = [*general_doubts(kind_of(convention.task)), *convention.doubts]
    compared = any(measure.metric.needs in (LABELS, FUNCTIONS) for measure in measures)
    return doubts if compared else [doubt for doubt in doubts if doubt is not _VOCABULARIES]


def every_doubt() -> list[Doubt]:
    """All doubts of all tasks, those of several tasks once."""
    found = [SPACING, *PITCH_UNITS, _VOCABULARIES, _PEDAL]
    for name in tasks():
        task = get_task(name)
        found += [*general_doubts(kind_of(name)), *task.doubts]
        found += [doubt for convention in task.conventions.values() for doubt in convention.doubts]
    return list({doubt.sign: doubt for doubt in found}.values())
