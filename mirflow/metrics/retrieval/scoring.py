"""The batched kernel of retrieval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ragged import Int, Ragged
from ..base.arguments import refuse_grid
from ..base.identity import Measure
from ..base.task import Grid, Scores
from .judging import judge
from .readings import READINGS


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of rankings; a pair is a query.

    Parameters
    ----------
    references : Ragged
        What is relevant for a query: columns label, and perhaps value (grade) and left_out.
    estimates : Ragged
        Column label, in the order of rank; rows of both sides as `mirflow.metrics.retrieval.cleaning` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        Ranks have no time, so there is nothing to choose.

    Returns
    -------
    Scores
        0 with weight 0 for a query without any relevant item. NaN with weight 0 and a message in `partly` where
        the gains of the grades add up to infinity.

    Raises
    ------
    MetricError
        For any other grid.

    References
    ----------
    C. D. Manning, P. Raghavan and H. Schütze, *Introduction to Information Retrieval*, 2008, chapter 8.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> reference = Ragged({"label": np.array([0, 1])}, (np.array([2]),), ("x", "y"))
    >>> estimate = Ragged({"label": np.array([2, 0, 3, 1])}, (np.array([4]),), ("x", "y", "z", "w"))
    >>> row, wanted = np.array([0]), get_task("retrieval").convention().select(["reciprocal_rank", "average_precision"])
    >>> score(reference, estimate, row, row, wanted).score.tolist()
    [[0.5, 0.5]]
    """
    refuse_grid(grid, "rankings")
    judged = judge(references, estimates, reference_row, estimate_row)
    scores = np.zeros((len(judged), len(measures)))
    weights = np.zeros_like(scores)
    for column, measure in enumerate(measures):
        scores[:, column], weights[:, column] = READINGS[measure.metric.name](judged, measure)
    vast = np.isinf(weights)
    scores[vast], weights[vast] = np.nan, 0.0
    partly = dict.fromkeys(np.flatnonzero(vast.any(axis=1)).tolist(), "the gains of the grades are beyond all numbers")
    return Scores(scores, weights, partly=partly)
