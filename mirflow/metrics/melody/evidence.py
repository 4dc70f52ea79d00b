"""Evidence for a melody score: what became of each frame."""

from __future__ import annotations

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...errors import AnnotationError
from ...ragged import Column, Float
from ..base.flaws import usable
from ..base.identity import Measure
from .cleaning import clean
from .frames import CHROMA, HEARD, PITCH, VOICED, Classes, classes_of
from .scoring import compare, refuse

_RIGHT, _OCTAVE, _WRONG, _MISSED, _FALSE_ALARM, _SILENT = VERDICTS = (
    "right",
    "octave",
    "wrong",
    "missed",
    "false alarm",
    "rightly unvoiced",
)
_OF_PITCH = ("raw_pitch_accuracy", "raw_chroma_accuracy")


def evidence(
    reference: Annotation, estimate: Annotation, measure: Measure, hop: float | None = None
) -> dict[str, Column]:
    """The frames of the reference, with what became of them.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind series.
    measure : Measure
        Any of the metrics. For the two raw accuracies a pitch counts whether it is called voiced or not.
    hop : float or None, seconds
        Distance of the frames; None: those of the reference.

    Returns
    -------
    dict of str to array
        ``start`` and ``end`` of each frame (float64, seconds), the frequencies ``reference_frequency`` and
        ``estimate_frequency`` (float64, Hz; NaN where there is none, negative where it is a guess on an unvoiced
        frame), and ``verdict``: ``right``, ``octave``, ``wrong``, ``missed``, ``false alarm`` or ``rightly unvoiced``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def melody(*frequencies):
    ...     columns = {"time": 0.5 * np.arange(len(frequencies)), "frequency": np.array(frequencies)}
    ...     return Annotation("series", columns)
    >>> measure = get_task("melody").convention().select(["overall_accuracy"])[0]
    >>> found = evidence(melody(220.0, 220.0, 0.0), melody(221.0, 440.0, -220.0), measure)
    >>> found["verdict"].tolist()
    ['right', 'octave', 'rightly unvoiced']
    """
    rows = [
        usable(annotation, clean(to_ragged([annotation])), side)
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    ]
    if not rows[0].counts[0][0] or not rows[1].counts[0][0]:
        side = "reference" if not rows[0].counts[0][0] else "estimate"
        raise AnnotationError(f"the {side} is empty, so there is nothing to explain")
    base, only = float(measure.parameters.get("base_frequency", 10.0)), np.zeros(1, dtype=np.int64)
    sides = (rows[0], only), (rows[1], only)
    for message in refuse(*sides, hop).values():
        raise AnnotationError(message)
    frames, length = compare(*sides, base, hop, str(measure["resampling"]))
    classes = classes_of(frames, float(measure.parameters.get("cent_tolerance", 50.0)))
    return {
        "start": frames.times,
        "end": np.append(frames.times[1:], frames.times[-1:] + length),
        "reference_frequency": _frequency(frames.reference_cents, frames.reference_voicing, base),
        "estimate_frequency": _frequency(frames.estimate_cents, frames.estimate_voicing, base),
        "verdict": _verdict(classes, frames.estimate_cents, measure.metric.name in _OF_PITCH),
    }


def _frequency(cents: Float, voicing: Float, base: float) -> Float:
    frequency = np.where(cents == 0, np.nan, base * 2.0 ** (cents / 1200.0))
    return np.where(voicing > 0, frequency, -frequency)


def _verdict(classes: Classes, estimate_cents: Float, of_pitch: bool) -> Column:
    voiced, heard = classes & VOICED > 0, classes & HEARD > 0
    answered = estimate_cents != 0 if of_pitch else heard
    verdict = np.where(heard, _FALSE_ALARM, _SILENT).astype("<U16")
    verdict[voiced] = _MISSED
    verdict[voiced & answered] = _WRONG
    verdict[voiced & answered & (classes & CHROMA > 0)] = _OCTAVE
    verdict[voiced & answered & (classes & PITCH > 0)] = _RIGHT
    return verdict
