"""The batched kernel of classification."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...annotations.classes import Classes
from ...kernels.outcomes import NONE
from ...ragged import Bool, Float, Int, Ragged
from ..base.arguments import refuse_grid
from ..base.identity import Measure
from ..base.task import Grid, Scores, Sparse
from ..labels import number_labels


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
    *,
    classes: Classes | None = None,
) -> Scores:
    """Scores of pairs of classes.

    Parameters
    ----------
    references, estimates : Ragged
        Column label, at most one a row; rows as :func:`mirflow.metrics.classification.cleaning.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        A class of a whole track has no time, so there is nothing to choose.
    classes : Classes or None
        Those that there are, with what errors are worth; None: those that occur, and no error is worth anything.

    Returns
    -------
    Scores
        Every weight is 1, for the track; 0 without a reference. No estimate is an error.

    Raises
    ------
    MetricError
        For any other grid.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    equations 1 and 3.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> rows = Ragged({"label": np.array([0, 1])}, (np.array([1, 1]),), ("jazz", "blues"))
    >>> wanted = get_task("classification").convention().select(["accuracy", "hierarchical_accuracy"])
    >>> near = Classes(("jazz", "blues"), (("jazz", "blues", 0.5),))
    >>> score(rows, rows, np.array([0]), np.array([1]), wanted, classes=near).score.tolist()
    [[0.0, 0.5]]
    """
    refuse_grid(grid, "classes")
    names, numbers = number_labels(references, estimates, classes)
    known = references.counts[0][reference_row] > 0
    told = _class_of(references, numbers[0], reference_row)
    guessed = _class_of(estimates, numbers[1], estimate_row)
    scalars = [measure for measure in measures if not measure.metric.dims]
    scores = np.zeros((len(known), len(scalars)))
    for column, measure in enumerate(scalars):
        scores[known, column] = _READINGS[measure.metric.name](told[known], guessed[known], classes)
    weights = np.repeat(known[:, np.newaxis].astype(np.float64), len(scalars), axis=1)
    extras = {m.variable: _confusion(told, guessed, known, names, classes) for m in measures if m.metric.dims}
    return Scores(scores, weights, extras)


def _class_of(rows: Ragged, numbers: Int, row: Int) -> Int:
    """The class of some rows; -1 for an empty one."""
    filled = rows.counts[0][row] > 0
    found = np.full(len(row), -1, dtype=np.int64)
    found[filled] = numbers[rows.offsets[:-1][row[filled]]]
    return found


def _right(told: Int, guessed: Int, classes: Classes | None) -> Float:
    return np.asarray(told == guessed, dtype=np.float64)


def _credited(told: Int, guessed: Int, classes: Classes | None) -> Float:
    if classes is None:
        return _right(told, guessed, classes)
    worth = np.zeros((len(classes.names), len(classes.names) + 1))  # the last column is that of no class
    worth[:, :-1] = classes.table
    return np.asarray(worth[told, guessed])


_READINGS = {"accuracy": _right, "hierarchical_accuracy": _credited}


def _confusion(told: Int, guessed: Int, known: Bool, names: tuple[str, ...], classes: Classes | None) -> Sparse:
    """Tracks by class of the reference and class of the estimate."""
    pair = np.flatnonzero(known)
    estimated = guessed[known]
    shown = (*names, NONE) if classes is not None or (estimated < 0).any() else names
    index = np.column_stack([pair, told[known], np.where(estimated < 0, len(names), estimated)])
    attrs = {"long_name": "tracks by class of the reference and of the estimate", "units": "1"}
    return Sparse(("ref_class", "est_class"), (names, shown), index, np.ones(len(pair)), attrs)
