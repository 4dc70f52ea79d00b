"""Evidence for an alignment score: both times of every event, and how far they lie apart."""

from __future__ import annotations

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...errors import AnnotationError
from ...ragged import Column
from ..base.flaws import usable
from ..base.identity import Measure
from .cleaning import clean
from .scoring import differing


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Every event with its error, and for ``percentage_correct`` the verdict on it.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind events, with the same number of them.
    measure : Measure

    Returns
    -------
    dict of str to array (events,)
        ``reference``, ``estimate`` and ``deviation`` (estimate - reference), float64, seconds; for
        ``percentage_correct`` also ``verdict``, ``right`` or ``wrong``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored or the sides differ in number.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def events(*times):
    ...     return Annotation("events", {"time": np.array(times)})
    >>> measure = get_task("alignment").convention().select(["percentage_correct"])[0]
    >>> found = evidence(events(1.0, 2.0), events(1.25, 1.5), measure)
    >>> found["deviation"].tolist(), found["verdict"].tolist()
    ([0.25, -0.5], ['right', 'wrong'])
    """
    own, other = (
        usable(annotation, clean(to_ragged([annotation])), side).columns["time"]
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    )
    if len(own) != len(other):
        raise AnnotationError(differing(len(own), len(other)))
    columns: dict[str, Column] = {"reference": own, "estimate": other, "deviation": other - own}
    if measure.metric.name == "percentage_correct":
        columns["verdict"] = np.where(np.abs(own - other) <= float(measure["window"]), "right", "wrong")
    return columns
