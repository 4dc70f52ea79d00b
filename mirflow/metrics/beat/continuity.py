"""Continuity: which estimated beats are right in phase and period, in all and in the longest unbroken run."""

from __future__ import annotations

import numpy as np

from ...kernels.sums import sum_by
from ...ragged import Bool, Float, Int
from ..events import Events
from .batch import Batch
from .levels import LEVELS, place_in


def continuity(batch: Batch, phase: float, period: float) -> tuple[Float, Float, Float]:
    """The shares of right beats at every metrical level.

    Parameters
    ----------
    batch : Batch
        At least two beats on each side of every pair.
    phase, period : float
        Largest deviation of a beat, and of the interval before it, as shares of the reference's interval.

    Returns
    -------
    longest, total : float64 (pairs, levels)
        Length of the longest run of right beats, and number of right beats, divided by the denominator.
    denominator : float64 (pairs, levels)
        The larger number of beats of both sides.
    """
    return batch.once(("continuity", phase, period), lambda: _continuity(batch, phase, period))


def _continuity(batch: Batch, phase: float, period: float) -> tuple[Float, Float, Float]:
    estimate = batch.estimate
    runs, totals = [], []
    for level in LEVELS:
        right = _is_right(batch.levels[level], estimate, batch.nearest_reference(level), phase, period)
        runs.append(_longest_runs(right, estimate))
        totals.append(sum_by(estimate.pair, right.astype(np.float64), len(estimate)))
    counts = np.column_stack([batch.levels[level].counts for level in LEVELS])
    denominator = np.maximum(counts, estimate.counts[:, np.newaxis]).astype(np.float64)
    return np.column_stack(runs) / denominator, np.column_stack(totals) / denominator, denominator


def _is_right(reference: Events, estimate: Events, nearest: Int, phase: float, period: float) -> Bool:
    """Which estimated beats are right: near enough to a beat that none before them has taken, in about its tempo."""
    first, last = reference.offsets[:-1][estimate.pair], reference.offsets[1:][estimate.pair] - 1
    place = place_in(estimate)
    # At the start of either side there is no interval before, so the one after is looked at.
    forward = (place == 0) | (nearest == first)
    until = np.where(forward & (nearest < last), nearest + 1, nearest)
    since = np.where(until > nearest, nearest, np.maximum(nearest - 1, first))
    interval = reference.times[until] - reference.times[since]
    own_last = place == (estimate.counts - 1)[estimate.pair]
    item = np.arange(len(nearest), dtype=np.int64)
    own_until = np.where(forward & ~own_last, item + 1, item)
    own_interval = estimate.times[own_until] - estimate.times[own_until - 1]
    distance = np.abs(estimate.times - reference.times[nearest])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        phase_error, period_error = np.abs(distance / interval), np.abs(1 - own_interval / interval)
    none = interval == 0
    if none.any():
        phase_error[none] = np.where(distance[none] == 0, 1.0, np.inf)
        period_error[none] = np.where(own_interval[none] == 0, 0.0, np.inf)
    right: Bool = (phase_error < phase) & (period_error < period)
    chosen = np.flatnonzero(right)
    taker = np.empty(len(reference.times), dtype=np.int64)
    # Of several beats that take the same one the first is right: written backwards, it is written last.
    taker[nearest[chosen][::-1]] = chosen[::-1]
    right[chosen] = taker[nearest[chosen]] == chosen
    return right


def _longest_runs(right: Bool, events: Events) -> Float:
    """Length of each pair's longest run of right beats."""
    item = np.arange(len(right), dtype=np.int64)
    begin = np.where(right, events.offsets[:-1][events.pair], item + 1)
    length = item + 1 - np.maximum.accumulate(begin)
    return np.maximum.reduceat(length, events.offsets[:-1]).astype(np.float64)
