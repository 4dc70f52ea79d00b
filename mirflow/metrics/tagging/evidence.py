"""Evidence for a tagging score: the tags of both sides, with what became of them."""

from __future__ import annotations

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...annotations.classes import Classes
from ...errors import MetricError
from ...kernels.outcomes import COUNTED, RATIOS
from ...ragged import Column
from ..base.flaws import usable
from ..base.identity import Measure
from .cleaning import clean
from .decisions import Decisions

_VERDICTS = dict(zip(COUNTED, ("hit", "extra", "missed", "rejected"), strict=True))


def evidence(
    reference: Annotation, estimate: Annotation, measure: Measure, *, classes: Classes | None = None
) -> dict[str, Column]:
    """The tags that a clip is about, in the estimate's order, with their verdicts.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind labels.
    measure : Measure
        One that decides on each tag: ``f_measure``, ``precision``, ``recall``, ``accuracy``, ``negative_accuracy``.
    classes : Classes or None

    Returns
    -------
    dict of str to array
        ``label``, ``affinity`` (minus infinity for a tag that is not listed, infinity for one without a number) and
        ``verdict``: ``hit``, ``extra``, ``missed`` or ``rejected``.

    Raises
    ------
    AnnotationError
        If a side cannot be scored.
    MetricError
        If the measure does not decide on tags one by one.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> measure = get_task("tagging").convention().select(["recall"])[0]
    >>> tags = [Annotation("labels", {}, names) for names in (["slow", "guitar"], ["guitar", "loud"])]
    >>> found = evidence(*tags, measure)
    >>> dict(zip(found["label"].tolist(), found["verdict"].tolist()))
    {'guitar': 'hit', 'loud': 'extra', 'slow': 'missed'}
    """
    if measure.metric.name not in RATIOS:
        raise MetricError(f"{measure} does not judge tags one by one; ask for one of {', '.join(RATIOS)}")
    sides = [
        usable(annotation, clean(to_ragged([annotation]), classes), side)
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    ]
    only = np.zeros(1, dtype=np.int64)
    decisions = Decisions.of(sides[0], sides[1], only, only, classes)
    flags = np.column_stack(decisions.decided(float(measure["relevance"]), float(measure["threshold"])))
    return {
        "label": np.array([decisions.tags[tag] for tag in decisions.tag.tolist()], dtype=str),
        "affinity": decisions.affinity,
        "verdict": np.array([_VERDICTS[COUNTED[one]] for one in flags.argmax(axis=1).tolist()], dtype=str),
    }
