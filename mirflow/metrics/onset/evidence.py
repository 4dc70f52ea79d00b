"""Evidence for an onset score: the onsets that found each other, the missed ones, and the extra ones."""

from __future__ import annotations

from ...annotations.annotation import Annotation, to_ragged
from ...errors import MetricError
from ...ragged import Column
from ..base.flaws import usable
from ..base.identity import Measure
from ..events import clean, matched

_JUDGED = ("f_measure", "precision", "recall")


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The onsets of both sides, with what became of them.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind events.
    measure : Measure
        ``f_measure``, ``precision`` or ``recall``.

    Returns
    -------
    dict of str to array
        ``reference`` and ``estimate`` (float64, seconds; NaN where the other side has no match), in order of time, and
        ``verdict``: ``hit``, ``missed`` or ``extra``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored.
    MetricError
        If the measure does not judge onsets one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from mirflow.metrics.base import get_task
    >>> def onsets(*times):
    ...     return Annotation("events", {"time": np.array(times)})
    >>> measure = get_task("onset").convention().select(["recall"])[0]
    >>> evidence(onsets(0.5, 1.0), onsets(0.52, 0.8), measure)["verdict"].tolist()
    ['hit', 'extra', 'missed']
    """
    if measure.metric.name not in _JUDGED:
        raise MetricError(f"{measure} does not judge onsets one by one; ask for one of {', '.join(_JUDGED)}")
    sides = (
        usable(annotation, clean(to_ragged([annotation])), side).columns["time"]
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    )
    references, estimates = sides
    return matched(references, estimates, float(measure["window"]), str(measure["matching"]))
