"""The batched kernel of the beat conventions: all measures of all pairs, some dozens of pairs at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...kernels.timeline import batches
from ...ragged import Float, Int, Ragged
from ..base.identity import Measure
from ..base.task import Grid, Scores
from ..events import events_of
from .batch import Batch
from .impulses import TOO_CLOSE
from .readings import OF_EVENTS, OF_INTERVALS, measurable, plain_weight

_BATCH = 2**16
"""Beats of both sides that are handled at once, so that what is computed from them stays in the cache."""


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs of beat sequences.

    Parameters
    ----------
    references, estimates : Ragged
        Column time (float64, seconds); rows as :func:`mirflow.metrics.events.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        Beats are compared as they are; there is nothing to choose.

    Returns
    -------
    Scores
        Equal to mir_eval's: 0 where a side is empty, or has a single beat and the measure needs an interval. A pair is
        refused if a P-score is asked for and all of its reference beats fall into one frame of 10 ms, as mir_eval
        refuses it. A pair's numbers do not depend on what it is batched with, to the bit.

    References
    ----------
    M. E. P. Davies, N. Degara and M. D. Plumbley, "Evaluation methods for musical audio beat tracking algorithms",
    Queen Mary University of London, C4DM-TR-09-06, 2009.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> beats = Ragged({"time": np.array([6.0, 7.0, 8.0, 9.0])}, (np.array([4]),))
    >>> late = Ragged({"time": np.array([6.05, 7.05, 8.2])}, (np.array([3]),))
    >>> row, wanted = np.array([0]), get_task("beat").convention().select(["f_measure", "cmlt"])
    >>> scores = score(beats, late, row, row, wanted)
    >>> scores.score.round(3).tolist(), scores.weight.tolist()
    ([[0.571, 0.5]], [[3.5, 4.0]])
    """
    found = np.zeros((2, len(reference_row), len(measures)))
    refused: dict[int, str] = {}
    for trim in dict.fromkeys(float(measure["trim"]) for measure in measures):
        sides = _trimmed(references, trim), _trimmed(estimates, trim)
        columns = [place for place, measure in enumerate(measures) if float(measure["trim"]) == trim]
        sizes = sides[0].counts[0][reference_row] + sides[1].counts[0][estimate_row]
        for batch in batches(sizes, _BATCH):
            rows = reference_row[batch], estimate_row[batch]
            refused |= {
                batch.start + pair: TOO_CLOSE for pair in _score(sides, rows, measures, columns, found[:, batch])
            }
    found[0, list(refused)] = np.nan
    return Scores(found[0], found[1], refused=refused)


def _trimmed(rows: Ragged, trim: float) -> Ragged:
    late = rows.columns["time"] >= trim
    return rows if late.all() else rows.keep(late)


def _score(
    sides: tuple[Ragged, Ragged], rows: tuple[Int, Int], measures: Sequence[Measure], columns: Sequence[int], out: Float
) -> list[int]:
    """Write scores and weights of some measures, float64 (2, pairs, measures); returns the refused pairs."""
    counts = [side.counts[0][row] for side, row in zip(sides, rows, strict=True)]
    fewest = np.minimum(*counts)
    batch: dict[int, Batch] = {}
    refused = []
    for column in columns:
        measure = measures[column]
        name = measure.metric.name
        needed = 2 if name in OF_INTERVALS else 1
        enough = np.flatnonzero(fewest >= needed)
        out[1, :, column] = plain_weight(name, *counts)
        if not len(enough):
            continue
        if needed == 1 and (fewest[enough] > 1).all():
            needed = 2  # the same pairs, so the same batch
        if needed not in batch:
            batch[needed] = Batch(*(events_of(side, row[enough]) for side, row in zip(sides, rows, strict=True)))
        read = OF_EVENTS.get(name) or OF_INTERVALS[name]
        out[0, enough, column], out[1, enough, column] = read(batch[needed], measure)
        if name == "p_score":
            refused += enough[~measurable(batch[needed], measure)].tolist()
    return refused
