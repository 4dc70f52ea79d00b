"""The batched kernel of multiple F0 estimation: all measures of all pairs, some pairs at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import MetricError
from ...kernels.timeline import batches
from ...ragged import Float, Int, Ragged, ranges, rows_of
from ..base.identity import Measure
from ..base.task import Grid, Scores
from .frames import Pitches, beside, count_true_positives, frame_of_estimate, pitches_of
from .readings import CHROMA, READINGS, Counts

_BATCH = 2**15
"""Frames that are handled at once, so that what is computed from them stays in the cache."""

REFERENCE = "reference"
MOST_PAIRS = 2**22
TOO_MANY = f"a frame of the reference has {{}} pitches and that of the estimate {{}}, more than {MOST_PAIRS} pairs"


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = REFERENCE,
) -> Scores:
    """Scores of pairs of multiple F0 estimates.

    Parameters
    ----------
    references, estimates : Ragged
        Columns time (float64, seconds) of depth 1 and frequency (float64, Hz); rows as
        :func:`mirflow.metrics.multipitch.cleaning.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "reference"
        Estimates are read at the times of the reference; there is nothing to choose.

    Returns
    -------
    Scores
        Equal to mir_eval's: 0 where there is nothing to divide by. Weights are numbers of pitches: of the estimate for
        precision, true and false positives and false negatives for accuracy, of the reference for all others.

    Raises
    ------
    MetricError
        For any other grid.

    References
    ----------
    M. Bay, A. F. Ehmann and J. S. Downie, "Evaluation of multiple-F0 estimation and tracking systems", ISMIR 2009.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def frames(*frequencies):
    ...     columns = {"time": 0.01 * np.arange(2), "frequency": np.array(frequencies)}
    ...     return Ragged(columns, (np.array([2]), np.array([2, len(frequencies) - 2])), depths={"time": 1})
    >>> row, wanted = np.array([0]), get_task("multipitch").convention().select(["accuracy", "chroma_accuracy"])
    >>> scores = score(frames(220.0, 330.0, 440.0), frames(221.0, 300.0, 880.0), row, row, wanted)
    >>> scores.score.round(3).tolist(), scores.weight.tolist()
    ([[0.2, 0.5]], [[5.0, 4.0]])
    """
    if grid != REFERENCE:
        raise MetricError(f"multiple F0 estimates are not scored on grid {grid!r}; use {REFERENCE}")
    found = np.zeros((2, len(reference_row), len(measures)))
    refused: dict[int, str] = {}
    sides = pitches_of(references), pitches_of(estimates)
    sizes = references.counts[0][reference_row] + estimates.counts[0][estimate_row]
    for batch in batches(sizes, _BATCH):
        rows = reference_row[batch], estimate_row[batch]
        counts = references.counts[0][rows[0]]
        ours = sides[0].take(ranges(references.offsets[rows[0]], counts))
        theirs = beside(sides[1], frame_of_estimate(references, estimates, *rows))
        pair = rows_of(counts)
        large = np.flatnonzero(ours.counts * theirs.counts > MOST_PAIRS)
        refused |= {
            batch.start + int(pair[frame]): TOO_MANY.format(ours.counts[frame], theirs.counts[frame])
            for frame in large.tolist()
        }
        if len(large):
            kept = ~np.isin(pair, pair[large])
            ours, theirs, pair = ours.take(np.flatnonzero(kept)), theirs.take(np.flatnonzero(kept)), pair[kept]
        found[:, batch] = _score(ours, theirs, pair, len(counts), measures)
    found[0, list(refused)] = np.nan
    return Scores(found[0], found[1], refused=refused)


def _score(ours: Pitches, theirs: Pitches, pair: Int, pairs: int, measures: Sequence[Measure]) -> Float:
    """Scores and weights, float64 (2, pairs, measures)."""
    found = np.zeros((2, pairs, len(measures)))
    of_measure = [(float(one["window"]), one.metric.name.startswith(CHROMA)) for one in measures]
    hits = count_true_positives(ours, theirs, list(dict.fromkeys(of_measure)))
    counts = {way: Counts.of(number, ours.counts, theirs.counts, pair, pairs) for way, number in hits.items()}
    for column, (measure, way) in enumerate(zip(measures, of_measure, strict=True)):
        name = measure.metric.name.removeprefix(CHROMA)
        found[0, :, column], found[1, :, column] = READINGS[name](counts[way])
    return found
