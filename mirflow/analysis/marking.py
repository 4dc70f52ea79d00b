"""Which systems do not differ significantly from the best one, beside their figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import QueryError
from ..ragged import Bool
from .answer import Answer
from .inference import compare
from .question import Question
from .scoreboard import Scoreboard


def mark_best(
    board: Scoreboard,
    question: Question,
    answer: Answer,
    *,
    level: float = 0.95,
    correction: str = "holm",
    cluster: str | None = None,
) -> Answer:
    """An answer that says which systems do not differ significantly from the best one, itself among them.

    Parameters
    ----------
    board : Scoreboard
    question : Question
        What was answered.
    answer : Answer
    level, correction, cluster
        As for :func:`mirflow.analysis.inference.comparisons.compare`.

    Raises
    ------
    QueryError
        If tracks are grouped.
    """
    if answer.groupings:
        raise QueryError("significance is that of figures over all tracks; ask without groups (by, --by)")
    same = replace(question, metric=answer.metrics, exact=True)
    found = compare(board, same, level=level, correction=correction, cluster=cluster)
    marks: Bool = np.zeros(answer.value.shape, dtype=np.bool_)
    for metric, orientation in enumerate(found.orientations):
        figures = answer.value[:, metric, 0]
        if orientation == "none" or np.isnan(figures).all():
            continue
        best = int(np.nanargmin(figures) if orientation == "lower" else np.nanargmax(figures))
        marks[:, metric, 0] = ~found.significant[best, :, metric] & ~np.isnan(figures)
    attrs = {"test": ", ".join(dict.fromkeys(found.tests)), "correction": correction, "test_level": f"{level:g}"}
    return replace(answer, like_best=marks, attrs={**answer.attrs, **attrs})
