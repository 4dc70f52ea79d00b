"""The scores of pairs of hierarchies: each pair fitted to the reference's span and compared frame by frame."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ...errors import MetricError
from ...ragged import Int, Ragged
from ..base.identity import Measure
from ..base.task import Grid, Scores
from .agreements import Agreement, Ranking, agreements, check_frame_size
from .layers import Hierarchy, Side, fit

MOST_SEGMENTS = 2**14
"""Of both sides, all levels together: every boundary is compared with every other, which then takes seconds."""
TOO_MANY = f"{{}} segments in the reference and {{}} in the estimate are more than {MOST_SEGMENTS} to compare"


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs by mir_eval's rules.

    Parameters
    ----------
    references, estimates : Ragged
        Columns start, end (float64, seconds) and label; counts of levels and of segments. Levels are ordered from the
        top, with few segments, to the bottom.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        The frames on which hierarchies are compared are a parameter of the measures.

    Returns
    -------
    Scores
        Equal to mir_eval's. A reference is refused if one of its levels is empty or does not end with the first one, a
        pair if it has more than `MOST_SEGMENTS`.
        A pair's numbers do not depend on what it is batched with, to the bit.

    Raises
    ------
    MetricError
        If frames have no length or are longer than the window.

    References
    ----------
    B. McFee, O. Nieto, M. Farbood and J. P. Bello, "Evaluating hierarchical structure in music annotations",
    Frontiers in Psychology, 2017.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> times = {"start": np.array([0.0, 30.0]), "end": np.array([30.0, 60.0]), "label": np.array([0, 1])}
    >>> rows = Ragged(times, (np.array([1]), np.array([2])), ("A", "B"))
    >>> row, wanted = np.array([0]), get_task("hierarchy").convention().select(["t_recall_full", "l_measure"])
    >>> scores = score(rows, rows, row, row, wanted)
    >>> scores.score.tolist(), scores.weight.round(1).tolist()
    ([[1.0, 1.0]], [[29.7, 59.9]])
    """
    if grid != "union":
        raise MetricError(f"hierarchies are compared on frames of their own, not on grid {grid!r}; set frame_size")
    rankings = [ranking_of(measure) for measure in measures]
    for ranking in rankings:
        check_frame_size(ranking.frame_size, ranking.window)
    values = np.zeros((2, len(reference_row), len(measures)))
    refused: dict[int, str] = {}
    left, right = Side(references), Side(estimates)

    @lru_cache(maxsize=64)
    def reference_of(row: int) -> tuple[Hierarchy, str]:
        given = left[row]
        fault = _fault(given)
        return (given if fault or not len(given.start) else fit(given)), fault

    for pair, (row, other) in enumerate(zip(reference_row.tolist(), estimate_row.tolist(), strict=True)):
        reference, fault = reference_of(row)
        if fault:
            refused[pair] = f"reference: {fault}"
            values[0, pair] = np.nan
        elif len(reference.start) + len(right[other].start) > MOST_SEGMENTS:
            refused[pair] = TOO_MANY.format(len(reference.start), len(right[other].start))
            values[0, pair] = np.nan
        elif len(reference.start):
            estimate = fit(right[other], float(reference.end.max()))
            found = agreements(reference, estimate, dict.fromkeys(rankings))
            for column, (measure, ranking) in enumerate(zip(measures, rankings, strict=True)):
                values[:, pair, column] = _read(measure, ranking, *found[ranking])
    return Scores(values[0], values[1], refused=refused)


def ranking_of(measure: Measure) -> Ranking:
    """How a measure ranks frames; what its record does not name it does not depend on."""
    given = measure.parameters
    labelled = measure.metric.name.startswith("l_")
    transitive = not measure.metric.name.endswith("_reduced")
    return Ranking(labelled, transitive, float(given.get("window", np.inf)), float(given["frame_size"]))


def _read(measure: Measure, ranking: Ranking, precision: Agreement, recall: Agreement) -> tuple[float, float]:
    """Score and weight of one measure."""
    which = measure.metric.name.split("_")[1]
    if which != "measure":
        one = precision if which == "precision" else recall
        return one.score, one.frames * ranking.frame_size
    squared = float(measure["beta"]) ** 2
    frames = (squared * recall.frames + precision.frames) / (1 + squared)
    both = squared * precision.score + recall.score
    harmonic = (1 + squared) * precision.score * recall.score / both if both else 0.0
    return harmonic, frames * ranking.frame_size


def _fault(reference: Hierarchy) -> str:
    """Why a reference cannot be fitted; empty if it can or has no segments at all."""
    if not len(reference.start):
        return ""
    ends = reference.ends()
    for level, end in enumerate(ends.tolist(), 1):
        if np.isinf(end):
            return f"level {level} has no segments"
        if not np.isclose(ends[0], end):
            return f"level {level} ends at {end} s, level 1 at {ends[0]} s"
    return ""
