"""Which systems do not differ significantly from the best one, beside their figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from ..errors import QueryError
from ..ragged import Bool
from .answer import EVERY, UNTESTED, Answer, show_span
from .extra import ExtraAnswer
from .inference import Comparison, compare
from .question import Question
from .scoreboard import Scoreboard

Marked = TypeVar("Marked", bound=Answer | ExtraAnswer)


def mark_best(
    board: Scoreboard,
    question: Question,
    answer: Marked,
    *,
    level: float = 0.95,
    correction: str = "auto",
    cluster: str | None = None,
) -> Marked:
    """An answer that says which systems do not differ significantly from the best one, itself among them.

    Parameters
    ----------
    board : Scoreboard
    question : Question
        What was answered.
    answer : Answer or ExtraAnswer
        Of figures of classes or tags each one has a best system of its own.
    level, correction, cluster
        As for :func:`mirflow.analysis.inference.comparisons.compare`.

    Raises
    ------
    QueryError
        If tracks are grouped, or systems cannot be compared by such figures.
    """
    if answer.groupings:
        raise QueryError("significance is that of figures over all tracks; ask without groups (by, --by)")
    names = answer.metrics if isinstance(answer, Answer) else answer.metric
    same = replace(question, metric=names, exact=True, system=answer.systems, sort=None)
    found = compare(board, same, level=level, correction=correction, cluster=cluster, sizes=False)
    few = [name for metric, name in enumerate(found.metrics) if not found.can_tell(metric)]
    attrs = {"test": ", ".join(dict.fromkeys(found.tests)), "correction": found.attrs["correction"]}
    counts = found.arrays["n"][np.triu_indices(len(found.systems), 1)]
    attrs |= {"test_level": f"{level:g}", "tested_units": show_span(counts)}
    if few:
        attrs[UNTESTED] = EVERY if len(few) == len(found.metrics) else "\n".join(few)
    marks = _like_best(found).reshape(answer.value.shape)
    return replace(answer, like_best=marks, attrs={**answer.attrs, **attrs})


def _like_best(found: Comparison) -> Bool:
    """Whether a system is not told apart from the best one, for each figure: bool (systems, metrics)."""
    marks: Bool = np.zeros(found.value.shape, dtype=np.bool_)
    for metric, orientation in enumerate(found.orientations):
        figures = found.value[:, metric]
        if orientation == "none" or np.isnan(figures).all() or not found.can_tell(metric):
            continue
        best = int(np.nanargmin(figures) if orientation == "lower" else np.nanargmax(figures))
        marks[:, metric] = ~found.significant[best, :, metric] & ~np.isnan(figures)
    return marks
