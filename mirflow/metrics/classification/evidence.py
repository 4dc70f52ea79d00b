"""Evidence for a classification score: both classes, and whether they are the same."""

from __future__ import annotations

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...annotations.classes import Classes
from ...errors import AnnotationError, MetricError
from ...ragged import Column
from ..base.flaws import usable
from ..base.identity import Measure
from .cleaning import clean


def evidence(
    reference: Annotation, estimate: Annotation, measure: Measure, *, classes: Classes | None = None
) -> dict[str, Column]:
    """The two classes and the verdict.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind labels.
    measure : Measure
        ``accuracy`` or ``hierarchical_accuracy``.
    classes : Classes or None

    Returns
    -------
    dict of str to array (1,)
        ``reference``, ``estimate`` (classes), ``verdict``: ``right``, ``near`` (worth something) or ``wrong``, and
        ``credit``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored or is empty.
    MetricError
        If the measure does not judge single tracks.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> measure = get_task("classification").convention().select(["accuracy"])[0]
    >>> found = evidence(Annotation("labels", {}, ["jazz"]), Annotation("labels", {}, ["rock"]), measure)
    >>> found["verdict"].tolist()
    ['wrong']
    """
    if measure.metric.dims:
        raise MetricError(f"{measure} does not judge single tracks; ask for accuracy or hierarchical_accuracy")
    names = []
    for annotation, side in ((reference, "reference"), (estimate, "estimate")):
        rows = usable(annotation, clean(to_ragged([annotation]), classes), side)
        if not len(rows.columns["label"]):
            raise AnnotationError(f"the {side} is empty, so there is nothing to explain")
        names.append(rows.labels[int(rows.columns["label"][0])])
    credit = float(names[0] == names[1])
    if classes is not None and measure.metric.name == "hierarchical_accuracy":
        credit = float(classes.table[classes.names.index(names[0]), classes.names.index(names[1])])
    verdict = "right" if names[0] == names[1] else "near" if credit else "wrong"
    return {
        "reference": np.array(names[:1], dtype=str),
        "estimate": np.array(names[1:], dtype=str),
        "verdict": np.array([verdict], dtype=str),
        "credit": np.array([credit]),
    }
