"""F-measures of beats: how many are found within a window, at the annotated or at the best metrical level."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ...ragged import Float, Int
from ..events import MATCHINGS, Events, f_measure_of
from .batch import Batch


def at_levels(batch: Batch, window: float, matching: str, levels: Sequence[str]) -> tuple[Float, Float]:
    """The F-measure at some metrical levels.

    Parameters
    ----------
    batch : Batch
    window : float, seconds
    matching : {"optimal", "greedy"}
    levels : sequence of str

    Returns
    -------
    score, denominator : float64 (pairs, levels)
        The denominator is the mean of the numbers of beats of both sides.
    """
    estimates = batch.estimate
    scores, denominators = [], []
    for level in levels:
        beats = batch.reference if level == "annotated" else batch.levels[level]
        count = partial(_count, beats, estimates, window, matching)
        hits = batch.once(("hits", window, matching, level), count)
        scores.append(f_measure_of(hits, beats.counts, estimates.counts))
        denominators.append((beats.counts + estimates.counts) / 2)
    return np.column_stack(scores), np.column_stack(denominators)


def _count(references: Events, estimates: Events, window: float, matching: str) -> Int:
    return MATCHINGS[matching](references.times, references.counts, estimates.times, estimates.counts, window).counts
