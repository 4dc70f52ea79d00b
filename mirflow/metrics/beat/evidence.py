"""Evidence for an F-measure: the beats that found each other, those that were missed, and those that are too many."""

from __future__ import annotations

from ...annotations.annotation import Annotation, to_ragged
from ...errors import MetricError
from ...ragged import Column
from ..base.flaws import usable
from ..base.identity import Measure
from ..events import clean, matched

_JUDGED = "f_measure"


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The beats of both sides, with what became of them.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind events.
    measure : Measure
        ``f_measure``.

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
        If the measure does not judge beats one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from mirflow.metrics.base import get_task
    >>> def beats(*times):
    ...     return Annotation("events", {"time": np.array(times)})
    >>> measure = get_task("beat").convention().select(["f_measure"])[0]
    >>> found = evidence(beats(6.0, 7.0), beats(6.02, 6.5), measure)
    >>> found["verdict"].tolist(), found["estimate"].tolist()
    (['hit', 'extra', 'missed'], [6.02, 6.5, nan])
    """
    if measure.metric.name != _JUDGED:
        raise MetricError(f"{measure} does not judge beats one by one; ask for {_JUDGED}")
    sides = (
        usable(annotation, clean(to_ragged([annotation])), side).columns["time"]
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    )
    references, estimates = (times[times >= float(measure["trim"])] for times in sides)
    return matched(references, estimates, float(measure["window"]), str(measure["matching"]))
