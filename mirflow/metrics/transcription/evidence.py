"""Evidence for a transcription score: the notes that found each other, the missed ones, and the extra ones."""

from __future__ import annotations

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...errors import MetricError
from ...ragged import Column, Int, Ragged
from ..base.flaws import usable
from ..base.identity import Measure
from .cleaning import clean
from .notes import Block, Notes
from .rules import Reading, is_with_velocity

_SHOWN = {"": "start", "_end": "end", "_pitch": "pitch"}


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The notes of both sides, with what became of them.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind notes.
    measure : Measure
        Any that is one number and does not look at velocities.

    Returns
    -------
    dict of str to array
        ``reference`` and ``estimate`` (onsets, float64, seconds; NaN where the other side has no match), in order of
        time, ``reference_end`` and ``estimate_end`` (float64, seconds), ``reference_pitch`` and ``estimate_pitch``
        (float64, Hz), and ``verdict``: ``hit``, ``missed`` or ``extra``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored.
    MetricError
        If the measure does not judge notes one by one.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def notes(start, pitch):
    ...     return Annotation("notes", {"start": np.array(start), "end": np.array(start) + 1, "pitch": np.array(pitch)})
    >>> measure = get_task("transcription").convention().select(["recall"])[0]
    >>> found = evidence(notes([0.0, 1.0], [440.0, 220.0]), notes([0.02, 1.0], [441.0, 330.0]), measure)
    >>> found["verdict"].tolist(), found["estimate"].tolist()
    (['hit', 'missed', 'extra'], [0.02, nan, 1.0])
    """
    if measure.metric.dims or is_with_velocity(measure):
        raise MetricError(f"{measure} does not judge notes one by one; ask for one like f_measure or onset_recall")
    rows = [
        usable(annotation, clean(to_ragged([annotation])), side)
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    ]
    only = np.zeros(1, dtype=np.int64)
    octaves = [{**side.columns, "octave": np.log2(side.columns["pitch"])} for side in rows]
    sides = [Notes.of(Ragged(columns, side.counts), only) for columns, side in zip(octaves, rows, strict=True)]
    block, reading = Block(sides[0], sides[1]), Reading.of(measure)
    matches = (block.heaviest if reading.quantity.startswith("best") else block.matches)(reading.rule)
    missed = np.setdiff1d(np.arange(len(sides[0].start)), matches.reference)
    extra = np.setdiff1d(np.arange(len(sides[1].start)), matches.estimate)
    shown: dict[str, Column] = {}
    for ending, name in _SHOWN.items():
        one, other = (side.columns[name] for side in rows)
        shown[f"reference{ending}"] = np.concatenate([one[matches.reference], one[missed], _nothing(extra)])
        shown[f"estimate{ending}"] = np.concatenate([other[matches.estimate], _nothing(missed), other[extra]])
    shown["verdict"] = np.repeat(["hit", "missed", "extra"], [len(matches.pair), len(missed), len(extra)])
    order = np.argsort(np.where(np.isnan(shown["reference"]), shown["estimate"], shown["reference"]), kind="stable")
    return {name: column[order] for name, column in shown.items()}


def _nothing(items: Int) -> Column:
    return np.full(len(items), np.nan)
