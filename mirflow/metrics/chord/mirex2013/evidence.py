"""Evidence for a score of convention mirex2013: every stretch of time with both labels and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ....annotations.annotation import Annotation, to_ragged
from ....errors import AnnotationError, InvalidAnnotationError, MetricError
from ....ragged import Column, Int, Ragged
from ...base.identity import Measure
from ...base.task import Flaw
from .cleaning import clean
from .scoring import RIGHT, Outcome, outcomes, rule_of
from .timeline import Pieces, rank_times, walk
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
    rule = rule_of(measure)
    if not rule:
        raise MetricError(f"{measure} does not judge stretches of time; ask for one of the rules, such as majmin")
    cleaned = clean(to_ragged([reference]))
    for flaw in cleaned.flaws.values():
        raise _error(reference, flaw, "reference")
    if not len(cleaned.rows.columns["label"]):
        raise InvalidAnnotationError("the reference is empty, so there is nothing to explain")
    others = clean(to_ragged(estimates))
    references = cleaned.rows.take(np.zeros(len(estimates), dtype=np.int64))
    pieces = walk(*rank_times(references, others.rows))
    sides = encode(references.labels, [rule], reference=True), encode(others.rows.labels, [rule], reference=False)
    columns = _columns(pieces, outcomes(pieces, *sides)[rule], references, others.rows)
    bounds = np.searchsorted(pieces.pair, np.arange(len(estimates) + 1)).tolist()
    found: list[dict[str, Column] | AnnotationError] = [
        {name: column[first:end] for name, column in columns.items()} for first, end in pairwise(bounds)
    ]
    for place, flaw in others.flaws.items():
        found[place] = _error(estimates[place], flaw, "estimate")
    return found


def _columns(pieces: Pieces, outcome: Int, references: Ragged, estimates: Ragged) -> dict[str, Column]:
    """The evidence of all pairs, one after the other."""
    verdict = np.where(np.isin(outcome, RIGHT), "right", "wrong")
    return {
        "start": pieces.start,
        "end": pieces.end,
        "reference": _texts(references, pieces.reference),
        "estimate": _texts(estimates, pieces.estimate),
        "verdict": np.where(outcome == Outcome.left_out, "not comparable", verdict),
        "outcome": np.array([one.name for one in Outcome])[outcome],
    }


def _error(annotation: Annotation, flaw: Flaw, side: str) -> AnnotationError:
    path = annotation.attrs.get("source")
    line = annotation.line(flaw.item)
    return InvalidAnnotationError(f"{side}: {flaw.message}", path=None if path is None else str(path), line=line)


def _texts(rows: Ragged, codes: Int) -> Column:
    return np.array([*rows.labels, "N"], dtype=str)[codes]
