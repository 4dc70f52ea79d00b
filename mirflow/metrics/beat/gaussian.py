"""Cemgil's score: the closeness of the nearest estimate, weighed by a Gaussian."""

from __future__ import annotations

import numpy as np

from ...kernels.sums import sum_by
from ...ragged import Float
from .batch import Batch
from .levels import LEVELS, place_in


def cemgil(batch: Batch, sigma: float) -> tuple[Float, Float]:
    """Cemgil's score at every metrical level.

    Parameters
    ----------
    batch : Batch
    sigma : float, seconds

    Returns
    -------
    score, denominator : float64 (pairs, levels)
        The denominator is the mean of the numbers of beats of both sides.
    """
    return batch.once(("cemgil", sigma), lambda: _cemgil(batch, sigma))


def _cemgil(batch: Batch, sigma: float) -> tuple[Float, Float]:
    closeness, total = {}, {}
    for level in ("annotated", "off_beat"):
        beats = batch.levels[level]
        error = beats.times - batch.estimate.times[batch.nearest_estimate(level)]
        with np.errstate(divide="ignore", invalid="ignore"):
            closeness[level] = np.exp(-(error**2) / (2.0 * sigma**2))
        total[level] = sum_by(beats.pair, closeness[level], len(beats))
    total["double"] = total["annotated"] + total["off_beat"]
    annotated = batch.reference
    odd = place_in(annotated) % 2 == 0
    for level, chosen in (("half_odd", odd), ("half_even", ~odd)):
        total[level] = sum_by(annotated.pair[chosen], closeness["annotated"][chosen], len(annotated))
    counts = np.column_stack([batch.levels[level].counts for level in LEVELS])
    denominator = 0.5 * (batch.estimate.counts[:, np.newaxis] + counts).astype(np.float64)
    return np.column_stack([total[level] for level in LEVELS]) / denominator, denominator
