"""Evidence for a chord score: every segment of both sides with the verdict on it, from the kernel that scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...errors import AnnotationError, MetricError
from ...ragged import Column, Int, Ragged, offsets_of
from ...theory.harte import NO_CHORD
from ..base.identity import Measure
from ..base.task import Flaw
from .cleaning import clean
from .cutting import Cut, Side, cut, lay_out
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
    (found,) = evidences(reference, [estimate], measure)
    if isinstance(found, AnnotationError):
        raise found
    return found


def evidences(
    reference: Annotation, estimates: Sequence[Annotation], measure: Measure
) -> list[dict[str, Column] | AnnotationError]:
    """What :func:`evidence` says of several estimates of a track, computed together.

    Returns
    -------
    list of dict or AnnotationError
        An error, which is not raised, stands for an estimate that cannot be scored.
    """
    rule = measure.metric.name if measure.metric.name in RULES else measure.parameters.get("rule")
    if rule is None or "hop" in measure.parameters:
        raise MetricError(f"{measure} does not judge segments one by one; ask for one of {', '.join(RULES)}")
    cleaned = clean(to_ragged([reference]))
    for flaw in cleaned.flaws.values():
        raise _error(reference, flaw, "reference")
    if not len(cleaned.rows.columns["start"]):
        raise AnnotationError("the reference is empty, so there is nothing to explain")
    others = clean(to_ragged(estimates))
    sides = encode_sides(cleaned.rows, others.rows)
    row = np.arange(len(estimates), dtype=np.int64)
    laid = Side(cleaned.rows, sides.reference), Side(others.rows, sides.estimate)
    found: list[dict[str, Column] | AnnotationError] = []
    for batch in cut(lay_out(laid, np.zeros_like(row), row, sides.merged)):
        verdict = compare(sides.table.take(batch.reference_chord), sides.table.take(batch.estimate_chord), str(rule))
        labels = (
            _labels(cleaned.rows, batch.reference.item[batch.line.left]),
            _labels(others.rows, batch.estimate.item[batch.line.right]),
        )
        bounds = offsets_of(batch.line.counts)
        for first, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            found.append(_segments(batch, slice(first, end), labels, verdict))
    for place, flaw in others.flaws.items():
        found[place] = _error(estimates[place], flaw, "estimate")
    return found


def _segments(batch: Cut, points: slice, labels: tuple[Column, Column], verdict: Column) -> dict[str, Column]:
    """The segments of one pair: those of its points that last."""
    lasting = batch.seconds[points] > 0
    start = batch.times[points][lasting]
    return {
        "start": start,
        "end": np.append(start[1:], batch.times[points][-1]),
        "reference": labels[0][points][lasting],
        "estimate": labels[1][points][lasting],
        "verdict": np.array([VERDICTS[int(one)] for one in verdict[points][lasting]], dtype=str),
    }


def _error(annotation: Annotation, flaw: Flaw, side: str) -> AnnotationError:
    path = annotation.attrs.get("source")
    return AnnotationError(
        f"{side}: {flaw.message}", path=None if path is None else str(path), line=annotation.line(flaw.item)
    )


def _labels(rows: Ragged, item: Int) -> Column:
    labels = np.array([*(rows.labels[code] for code in rows.columns["label"].tolist()), NO_CHORD], dtype=str)
    return labels[item]
