"""Evidence for a boundary score: the boundaries that found each other, the missed ones, and the extra ones."""

from __future__ import annotations

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...errors import AnnotationError, MetricError
from ...ragged import Column
from ..base.flaws import usable
from ..base.identity import Measure
from ..events import matched
from .boundaries import find_boundaries
from .cleaning import clean
from .spans import encode, fit_estimate, fit_reference, take

_JUDGED = ("precision", "recall", "f_measure")


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The boundaries of both sides, fitted to each other, with what became of them.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind intervals.
    measure : Measure
        ``precision``, ``recall`` or ``f_measure`` of convention mir_eval.

    Returns
    -------
    dict of str to array
        ``reference`` and ``estimate`` (float64, seconds; NaN where the other side has no match), in order of time, and
        ``verdict``: ``hit``, ``missed`` or ``extra``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored or the reference is empty.
    MetricError
        If the measure does not judge boundaries one by one.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def song(*bounds):
    ...     times = np.array(bounds)
    ...     return Annotation("intervals", {"start": times[:-1], "end": times[1:]}, ["a"] * (len(bounds) - 1))
    >>> measure = get_task("segment").convention().select(["recall"])[0]
    >>> evidence(song(0.0, 10.0, 30.0), song(0.0, 10.3, 20.0, 30.0), measure)["verdict"].tolist()
    ['hit', 'hit', 'extra', 'hit']
    """
    if measure.metric.name not in _JUDGED:
        raise MetricError(f"{measure} does not judge boundaries one by one; ask for one of {', '.join(_JUDGED)}")
    rows = [
        usable(annotation, clean(to_ragged([annotation])), side)
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    ]
    if not len(rows[0].columns["start"]):
        raise AnnotationError("the reference is empty, so there is nothing to explain")
    codes = [encode(side.labels) for side in rows]
    only = np.zeros(1, dtype=np.int64)
    given = [take(side, only, code.of_label) for side, code in zip(rows, codes, strict=True)]
    fitted = fit_reference(given[0], codes[0]), fit_estimate(given[1], codes[1], given[0].latest())
    found = [find_boundaries(side) for side in fitted]
    if measure["trim"]:
        found = [side.trim() for side in found]
    return matched(found[0].time, found[1].time, float(measure["window"]), str(measure["matching"]))
