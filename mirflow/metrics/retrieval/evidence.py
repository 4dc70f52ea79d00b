"""Evidence for a score of retrieval: which relevant items were found at which rank, and which were missed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...ragged import Column, Ragged
from ..base.flaws import usable
from ..base.identity import Measure
from ..base.task import Cleaned
from .cleaning import clean
from .judging import judge, judgements


def evidence(
    reference: Annotation, estimate: Annotation, measure: Measure, cleaner: Callable[[Ragged], Cleaned] = clean
) -> dict[str, Column]:
    """The relevant items of a query, with the rank at which each was found.

    Parameters
    ----------
    reference, estimate : Annotation
        Of kind ranking.
    measure : Measure
        Any; its ``level``, if it has one, says what is relevant.
    cleaner : callable
        That of the convention; it says which order counts.

    Returns
    -------
    dict of str to array
        ``item``, ``grade``, ``rank`` (float64, counted without items that are left out; NaN for one that the list does
        not have) and ``verdict`` (``found`` or ``missed``): what was found in the order of rank, then what was not.

    Raises
    ------
    AnnotationError
        If a side cannot be scored.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> measure = get_task("retrieval").convention().select(["average_precision"])[0]
    >>> found = evidence(Annotation("ranking", {}, ["x", "y"]), Annotation("ranking", {}, ["z", "x"]), measure)
    >>> found["item"].tolist(), found["rank"].tolist(), found["verdict"].tolist()
    (['x', 'y'], [2.0, nan], ['found', 'missed'])
    """
    references, estimates = (
        usable(annotation, cleaner(to_ragged([annotation])), side)
        for annotation, side in ((reference, "reference"), (estimate, "estimate"))
    )
    only = np.zeros(1, dtype=np.int64)
    judged = judge(references, estimates, only, only)
    left_out, grade = judgements(references)
    rank = np.full(len(grade), np.nan)
    rank[judged.item] = judged.rank
    wanted = np.flatnonzero((grade > 0) & (grade >= float(measure.parameters.get("level", 0.0))) & ~left_out)
    wanted = wanted[np.lexsort((-grade[wanted], rank[wanted]))]
    return {
        "item": np.array([references.labels[code] for code in references.columns["label"][wanted].tolist()], dtype=str),
        "grade": grade[wanted],
        "rank": rank[wanted],
        "verdict": np.where(np.isnan(rank[wanted]), "missed", "found"),
    }
