"""Evidence for a chord score: every segment of both sides with the verdict on it, from the kernel that scores."""

from __future__ import annotations

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...errors import AnnotationError, MetricError
from ...ragged import Column, Int, Ragged
from ...theory.harte import NO_CHORD
from ..base.identity import Measure
from .cleaning import clean
from .cutting import Side, cut, lay_out
from .encoding import encode_sides
from .rules import RULES, compare

VERDICTS = {1: "right", 0: "wrong", -1: "not comparable"}


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The segments that a chord rule judges, with the verdict on each.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind intervals.
    measure : Measure
        One of the twelve rules, or a chord symbol recall on exact time by one of them.

    Returns
    -------
    dict of str to array (segments,)
        ``start``, ``end`` (float64, seconds), ``reference``, ``estimate`` (labels) and ``verdict``, one of ``right``,
        ``wrong`` and ``not comparable``. The right seconds over the comparable ones are the score.

    Raises
    ------
    AnnotationError
        If a side cannot be scored or the reference is empty.
    MetricError
        If the measure does not judge segments one by one.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def chords(end, label):
    ...     return Annotation("intervals", {"start": np.array([0.0]), "end": np.array([end])}, [label])
    >>> measure = get_task("chord").convention().select(["majmin"])[0]
    >>> found = evidence(chords(4.0, "C:7"), chords(3.0, "C"), measure)
    >>> found["end"].tolist(), found["estimate"].tolist(), found["verdict"].tolist()
    ([3.0, 4.0], ['C', 'N'], ['right', 'wrong'])
    """
    rule = measure.metric.name if measure.metric.name in RULES else measure.parameters.get("rule")
    if rule is None or "hop" in measure.parameters:
        raise MetricError(f"{measure} does not judge segments one by one; ask for one of {', '.join(RULES)}")
    references, estimates = _usable(reference, "reference"), _usable(estimate, "estimate")
    if not len(references.columns["start"]):
        raise AnnotationError("the reference is empty, so there is nothing to explain")
    chords = encode_sides(references, estimates)
    row = np.zeros(1, dtype=np.int64)
    sides = Side(references, chords.reference), Side(estimates, chords.estimate)
    batch = next(cut(lay_out(sides, row, row, chords.merged)))
    lasting = batch.seconds > 0
    verdict = compare(
        chords.table.take(batch.reference_chord[lasting]), chords.table.take(batch.estimate_chord[lasting]), str(rule)
    )
    start = batch.times[lasting]
    return {
        "start": start,
        "end": np.append(start[1:], batch.times[-1]),
        "reference": _labels(references, batch.reference.item[batch.line.left[lasting]]),
        "estimate": _labels(estimates, batch.estimate.item[batch.line.right[lasting]]),
        "verdict": np.array([VERDICTS[int(one)] for one in verdict], dtype=str),
    }


def _usable(annotation: Annotation, side: str) -> Ragged:
    cleaned = clean(to_ragged([annotation]))
    for flaw in cleaned.flaws.values():
        path = annotation.attrs.get("source")
        raise AnnotationError(
            f"{side}: {flaw.message}", path=None if path is None else str(path), line=annotation.line(flaw.item)
        )
    return cleaned.rows


def _labels(rows: Ragged, item: Int) -> Column:
    labels = np.array([*(rows.labels[code] for code in rows.columns["label"].tolist()), NO_CHORD], dtype=str)
    return labels[item]
