"""The batched kernel of key estimation: a look-up in the table of relations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...ragged import Bool, Float, Int, Ragged
from ...theory.keys import FIFTH_DOWN, FIFTH_UP, OTHER, PARALLEL, RELATIVE, SAME, UNNAMED, parse_key, relation_table
from ..base.arguments import refuse_grid
from ..base.identity import Measure
from ..base.task import Grid, Scores


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs of global keys.

    Parameters
    ----------
    references, estimates : Ragged
        Column label, at most one a row; rows as :func:`mirflow.metrics.key.cleaning.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        A key of a whole track has no time, so there is nothing to choose.

    Returns
    -------
    Scores
        Every weight is 1, for the track; 0 without a reference. No estimate is an error of class other.

    Raises
    ------
    MetricError
        For any other grid.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    equation 3.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> rows = Ragged({"label": np.array([0, 1])}, (np.array([1, 1]),), ("C major", "G:major"))
    >>> wanted = get_task("key").convention().select(["weighted_score", "fifth"])
    >>> score(rows, rows, np.array([0]), np.array([1]), wanted).score.tolist()
    [[0.5, 1.0]]
    """
    refuse_grid(grid, "keys")
    known = references.counts[0][reference_row] > 0
    relation = _relations(references, estimates, reference_row, estimate_row, known)
    scores = np.zeros((len(reference_row), len(measures)))
    for column, measure in enumerate(measures):
        scores[known, column] = READINGS[measure.metric.name](relation, measure)[known]
    weights = np.repeat(known[:, np.newaxis].astype(np.float64), len(measures), axis=1)
    return Scores(scores, weights)


def _relations(references: Ragged, estimates: Ragged, reference_row: Int, estimate_row: Int, known: Bool) -> Int:
    """The relation of each pair; that of a pair without an estimate is other: int64 (pairs,)."""
    relation = np.full(len(reference_row), OTHER, dtype=np.int64)
    both = known & (estimates.counts[0][estimate_row] > 0)
    relation[both] = relation_table()[_keys(references, reference_row[both]), _keys(estimates, estimate_row[both])]
    return relation


def _keys(rows: Ragged, row: Int) -> Int:
    """Codes of the keys of some rows that are not empty."""
    of_label = np.array([(parse_key(label) or UNNAMED).code for label in rows.labels], dtype=np.int64)
    codes: Int = of_label[rows.columns["label"][rows.offsets[row]]]
    return codes


def weigh(relation: Int, *, descending: bool, fifth: float, relative: float, parallel: float) -> Float:
    """The points of relations: 1 for the same key, the given ones for near ones.

    Examples
    --------
    >>> weigh(np.array([SAME, FIFTH_DOWN]), descending=True, fifth=0.5, relative=0.3, parallel=0.2).tolist()
    [1.0, 0.5]
    """
    points = np.zeros(OTHER + 1)
    points[[SAME, FIFTH_UP, RELATIVE, PARALLEL]] = 1.0, fifth, relative, parallel
    points[FIFTH_DOWN] = fifth if descending else 0.0
    return np.asarray(points[relation])


def _weighted(relation: Int, measure: Measure) -> Float:
    return weigh(
        relation,
        descending=bool(measure["allow_descending_fifths"]),
        fifth=float(measure["fifth"]),
        relative=float(measure["relative"]),
        parallel=float(measure["parallel"]),
    )


def _is(code: int) -> Callable[[Int, Measure], Float]:
    return lambda relation, measure: (relation == code).astype(np.float64)


def _fifth(relation: Int, measure: Measure) -> Float:
    near = [FIFTH_UP, FIFTH_DOWN] if measure["allow_descending_fifths"] else [FIFTH_UP]
    return np.isin(relation, near).astype(np.float64)


def _other(relation: Int, measure: Measure) -> Float:
    far = [OTHER] if measure["allow_descending_fifths"] else [OTHER, FIFTH_DOWN]
    return np.isin(relation, far).astype(np.float64)


READINGS: dict[str, Callable[[Int, Measure], Float]] = {
    "weighted_score": _weighted,
    "same": _is(SAME),
    "fifth": _fifth,
    "relative": _is(RELATIVE),
    "parallel": _is(PARALLEL),
    "other": _other,
}
"""How each measure is read off the relations."""
