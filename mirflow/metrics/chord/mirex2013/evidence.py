"""Evidence for a score of convention mirex2013: every stretch of time with both labels and what became of it."""

from __future__ import annotations

import numpy as np

from ....annotations.annotation import Annotation, to_ragged
from ....errors import InvalidAnnotationError, MetricError
from ....ragged import Column, Int, Ragged
from ...base.identity import Measure
from .cleaning import clean
from .scoring import RIGHT, Outcome, outcomes, rule_of
from .timeline import rank_times, walk
from .vocabulary import encode


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """The stretches between cut points that a rule judges, with the verdict on each.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind intervals.
    measure : Measure
        One of the five rules, or a column of one.

    Returns
    -------
    dict of str to array (stretches,)
        ``start``, ``end`` (float64, seconds), ``reference``, ``estimate`` (labels, N where there is none), ``verdict``
        (``right``, ``wrong`` or ``not comparable``) and ``outcome`` (the column that the time is counted in, or
        ``left_out``).

    Raises
    ------
    InvalidAnnotationError
        If a side cannot be scored or the reference is empty.
    MetricError
        If the measure compares segmentations, which have no verdict on a stretch of time.

    Examples
    --------
    >>> from mirflow.metrics.chord.mirex2013 import CONVENTION
    >>> def chords(end, label):
    ...     return Annotation("intervals", {"start": np.array([0.0]), "end": np.array([end])}, [label])
    >>> found = evidence(chords(4.0, "C:7"), chords(3.0, "C"), CONVENTION.select(["majmin"])[0])
    >>> found["end"].tolist(), found["estimate"].tolist(), found["outcome"].tolist()
    ([3.0, 4.0], ['C', 'N'], ['all_correct', 'deleted'])
    """
    rule = rule_of(measure)
    if not rule:
        raise MetricError(f"{measure} does not judge stretches of time; ask for one of the rules, such as majmin")
    references, estimates = _usable(reference, "reference"), _usable(estimate, "estimate")
    if not len(references.columns["label"]):
        raise InvalidAnnotationError("the reference is empty, so there is nothing to explain")
    pieces = walk(*rank_times(references, estimates))
    sides = encode(references.labels, [rule], reference=True), encode(estimates.labels, [rule], reference=False)
    outcome = outcomes(pieces, *sides)[rule]
    right = np.isin(outcome, RIGHT)
    return {
        "start": pieces.start,
        "end": pieces.end,
        "reference": _texts(references, pieces.reference),
        "estimate": _texts(estimates, pieces.estimate),
        "verdict": np.where(right, "right", np.where(outcome == Outcome.left_out, "not comparable", "wrong")),
        "outcome": np.array([one.name for one in Outcome])[outcome],
    }


def _usable(annotation: Annotation, side: str) -> Ragged:
    cleaned = clean(to_ragged([annotation]))
    for flaw in cleaned.flaws.values():
        path = annotation.attrs.get("source")
        line = annotation.line(flaw.item)
        raise InvalidAnnotationError(f"{side}: {flaw.message}", path=None if path is None else str(path), line=line)
    return cleaned.rows


def _texts(rows: Ragged, codes: Int) -> Column:
    return np.array([*rows.labels, "N"], dtype=str)[codes]
