"""Several references of one track: one score per cell, and the scores of each annotator beside it where asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..metrics.base import Measure, Scores, Sparse
from ..ragged import Float, Int
from .work import Combine

EACH = EACH_SCORE, EACH_WEIGHT = "score_by_annotator", "weight_by_annotator"
"""Variables that keep every annotator's scores."""


def combine_references(
    how: Combine,
    measures: Sequence[Measure],
    scores: Scores,
    cell: Int,
    annotator: Sequence[str],
    count: int,
) -> tuple[Float, Float, dict[str, Sparse]]:
    """Scores of cells from the scores of their pairs.

    Parameters
    ----------
    how : {"", "mean", "max", "each"}
        ``mean``: the plain means of score and weight over the annotators whose references have something to measure
        (weight above 0; all, if none has). ``max``: the best score, by the metric's orientation, with its own weight.
        ``each``: as ``mean``, and every annotator's score and weight as well.
    measures : sequence of Measure
        The columns of the scores.
    scores : Scores
    cell : int64 (pairs,)
        The cell of each pair.
    annotator : sequence of str, one per pair
    count : int
        Number of cells; a cell without a pair gets score NaN and weight 0.

    Returns
    -------
    score, weight : float64 (cells, measures)
    extras : dict of str to Sparse
        Over cells; seconds and counts are means over the annotators, scores over those that have the entry.
    """
    single = len(cell) == count and bool((cell == np.arange(count)).all())
    pairs_per_cell = np.bincount(cell, minlength=count)
    extras = {name: _mean_extra(sparse, cell, pairs_per_cell) for name, sparse in scores.extras.items()}
    if how == "each":
        extras |= _each(measures, scores, cell, annotator)
    if single:
        return scores.score.copy(), scores.weight.copy(), extras
    score = np.full((count, len(measures)), np.nan)
    weight = np.zeros((count, len(measures)))
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(count))
    for one in np.flatnonzero(pairs_per_cell):
        rows = order[starts[one] : starts[one] + pairs_per_cell[one]]
        own = scores.score[rows], scores.weight[rows]
        score[one], weight[one] = _best(measures, *own) if how == "max" else _mean(*own)
    return score, weight, extras


def _mean(score: Float, weight: Float) -> tuple[Float, Float]:
    """Means over the annotators that have something to measure; over all where none has."""
    counted = (weight > 0) | ~(weight > 0).any(axis=0)
    # A reference without velocities gives no score where they are compared; the others do, and count.
    told = counted & ~np.isnan(score)
    counted = np.where(told.any(axis=0), told, counted)
    return np.mean(score, axis=0, where=counted), np.mean(weight, axis=0, where=counted)


def _best(measures: Sequence[Measure], score: Float, weight: Float) -> tuple[Float, Float]:
    """Score and weight of the annotator with the best score, for each measure; of the first on ties."""
    sign = np.array([-1.0 if measure.metric.orientation == "lower" else 1.0 for measure in measures])
    # An annotator with nothing to measure scores 0 by convention, which must not be the smallest error.
    usable = ~np.isnan(score) & ((weight > 0) | ~(weight > 0).any(axis=0))
    chosen = np.where(usable, score * sign, -np.inf).argmax(axis=0)
    columns = np.arange(len(measures))
    return score[chosen, columns], weight[chosen, columns]


def _mean_extra(sparse: Sparse, cell: Int, pairs_per_cell: Int) -> Sparse:
    """The mean over the pairs of a cell: of all of them where an absent entry is 0, else of those that have it."""
    index = sparse.index.copy()
    index[:, 0] = cell[index[:, 0]]
    if not (pairs_per_cell > 1).any():
        return replace(sparse, index=index)
    index, place = np.unique(index, axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), weights=sparse.value, minlength=len(index))
    among = np.bincount(place.ravel(), minlength=len(index)) if np.isnan(sparse.fill) else pairs_per_cell[index[:, 0]]
    return replace(sparse, index=index, value=total / among)


def name_extras(extras: Mapping[str, Sparse], measures: Sequence[Measure]) -> dict[str, Sparse]:
    """Results with extra dims that carry the identity of their measure, so that a store can be asked for it."""
    identity = {measure.variable: str(measure) for measure in measures if measure.metric.dims}
    return {name: replace(sparse, attrs={**sparse.attrs, "metric": identity[name]}) for name, sparse in extras.items()}


def _each(measures: Sequence[Measure], scores: Scores, cell: Int, annotator: Sequence[str]) -> dict[str, Sparse]:
    names = tuple(sorted(set(annotator)))
    place = np.array([names.index(name) for name in annotator], dtype=np.int64)
    metric = tuple(str(measure) for measure in measures)
    columns = np.arange(len(metric), dtype=np.int64)
    index = np.column_stack(
        [np.repeat(cell, len(metric)), np.repeat(place, len(metric)), np.tile(columns, len(cell))]
    ).astype(np.int64)
    dims, coords = ("annotator", "metric"), (names, metric)
    return {
        EACH_SCORE: Sparse(dims, coords, index, scores.score.ravel(), {"long_name": "score by annotator"}, np.nan),
        EACH_WEIGHT: Sparse(dims, coords, index, scores.weight.ravel(), {"long_name": "weight by annotator"}),
    }
