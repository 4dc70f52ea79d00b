"""The batched kernel of onset detection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...kernels.timeline import batches
from ...ragged import Float, Int, Ragged
from ..base.identity import Measure
from ..base.task import Grid, Scores, Sparse
from ..events import MATCHINGS, events_of, f_measure_of
from .classes import ClassCounts, count_classes, to_sparse

_BATCH = 2**16
"""Onsets of both sides that are handled at once, so that what is computed from them stays in the cache."""

_OF_CLASSES = ("class_f_measure", "by_class")
Way = tuple[float, str]
"""Window in seconds and the name of the matching."""


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs of onset sequences.

    Parameters
    ----------
    references, estimates : Ragged
        Column time (float64, seconds) and perhaps label; rows as :func:`mirflow.metrics.events.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        Onsets are compared as they are; there is nothing to choose.

    Returns
    -------
    Scores
        Equal to mir_eval's: 0 where a side is empty. The weights of precision, recall and F-measure are the numbers of
        estimates, of references, and their mean.

    References
    ----------
    C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> reference = Ragged({"time": np.array([0.5, 1.0, 1.5])}, (np.array([3]),))
    >>> estimate = Ragged({"time": np.array([0.51, 1.2])}, (np.array([2]),))
    >>> row, wanted = np.array([0]), get_task("onset").convention().select()
    >>> scores = score(reference, estimate, row, row, wanted)
    >>> scores.score.round(3).tolist(), scores.weight.tolist()
    ([[0.4, 0.5, 0.333]], [[2.5, 2.0, 3.0]])
    """
    pairs = len(reference_row)
    scalars = [measure for measure in measures if not measure.metric.dims]
    counts = references.counts[0][reference_row], estimates.counts[0][estimate_row]
    hits = _count_hits(references, estimates, (reference_row, estimate_row), _ways(measures, by_class=False))
    classes: dict[Way, ClassCounts] = {}
    for way in _ways(measures, by_class=True):
        classes[way] = count_classes(references, estimates, reference_row, estimate_row, *way)
    found = np.zeros((2, pairs, len(scalars)))
    for column, measure in enumerate(scalars):
        way = _way(measure)
        if measure.metric.name in _OF_CLASSES:
            found[:, :, column] = classes[way].mean_f_measure(pairs)
        else:
            found[:, :, column] = _read(measure.metric.name, hits[way], *counts)
    extras: dict[str, Sparse] = {}
    for measure in measures:
        if measure.metric.dims:
            extras[measure.variable] = to_sparse(classes[_way(measure)])
    return Scores(found[0], found[1], extras)


def _way(measure: Measure) -> Way:
    return float(measure["window"]), str(measure["matching"])


def _ways(measures: Sequence[Measure], by_class: bool) -> list[Way]:
    chosen = [measure for measure in measures if (measure.metric.name in _OF_CLASSES) == by_class]
    return list(dict.fromkeys(_way(measure) for measure in chosen))


def _count_hits(references: Ragged, estimates: Ragged, rows: tuple[Int, Int], ways: Sequence[Way]) -> dict[Way, Int]:
    """The number of matched onsets of each pair."""
    hits = {way: np.zeros(len(rows[0]), dtype=np.int64) for way in ways}
    if ways:
        sizes = references.counts[0][rows[0]] + estimates.counts[0][rows[1]]
        for batch in batches(sizes, _BATCH):
            one, other = events_of(references, rows[0][batch]), events_of(estimates, rows[1][batch])
            for window, matching in ways:
                match = MATCHINGS[matching]
                hits[window, matching][batch] = match(one.times, one.counts, other.times, other.counts, window).counts
    return hits


def _read(name: str, hits: Int, references: Int, estimates: Int) -> tuple[Float, Float]:
    """Score and weight of each pair."""
    if name == "f_measure":
        return f_measure_of(hits, references, estimates), 0.5 * (references + estimates).astype(np.float64)
    whole: Float = (estimates if name == "precision" else references).astype(np.float64)
    share: Float = np.divide(hits, whole, out=np.zeros(len(hits)), where=whole > 0)
    return share, whole
