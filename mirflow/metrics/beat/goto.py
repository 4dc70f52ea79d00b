"""Goto's score: whether there is a long enough stretch in which the beats are found, and found precisely."""

from __future__ import annotations

import numpy as np

from ...errors import MetricError
from ...kernels.searching import advance, retreat
from ...ragged import Bool, Float, Int
from .batch import Batch


def goto(batch: Batch, threshold: float, mu: float, sigma: float) -> Float:
    """Goto's score.

    Parameters
    ----------
    batch : Batch
    threshold : float
        Largest error of a beat that is right, in half intervals of the reference; below 1.
    mu, sigma : float
        What the mean of the absolute errors in the stretch, and their standard deviation, must stay below.

    Returns
    -------
    float64 (pairs,)
        1 or 0.

    Raises
    ------
    MetricError
        If the threshold is not below 1: a beat that was not found has the error 1.
    """
    if not threshold < 1:
        raise MetricError(f"goto: the threshold must be below 1, not {threshold}")
    error = _errors(batch)
    beats = batch.reference
    wrong = np.flatnonzero(np.abs(error) > threshold)
    counts = np.bincount(beats.pair[wrong], minlength=len(beats))
    begin, end, long_enough = _longest_stretches(wrong, counts, beats.counts)
    score = np.zeros(len(beats))
    # One stretch a pair: the sums are numpy's own, so that a mean that meets its limit exactly is judged as there.
    for pair in np.flatnonzero(long_enough & (end - begin > 1)).tolist():
        stretch = error[begin[pair] : end[pair]]
        score[pair] = np.mean(np.abs(stretch)) < mu and np.std(stretch, ddof=1) < sigma
    return score


def _errors(batch: Batch) -> Float:
    """The error of each beat of the reference, in half intervals: 1 if none or several estimates are around it."""
    times, estimates = batch.reference.times, batch.estimate.times
    error = np.ones(len(times))
    inner = np.ones(len(times), dtype=np.bool_)
    inner[batch.reference.offsets[:-1]] = inner[batch.reference.offsets[1:] - 1] = False
    beat = np.flatnonzero(inner)
    if not len(beat):
        return error
    before, after = 0.5 * (times[beat] - times[beat - 1]), 0.5 * (times[beat + 1] - times[beat])
    pair = batch.reference.pair[beat]
    start, stop = batch.estimate.offsets[:-1][pair], batch.estimate.offsets[1:][pair]
    # The off-beats around the beat are where its window ends, but for rounding, which is put right.
    off_beat = batch.place_in_estimate["off_beat"]
    number = beat - pair
    low, high = times[beat] - before, times[beat] + after
    first = advance(estimates, retreat(estimates, start, off_beat[number - 1], low), stop, low, "left")
    last = advance(estimates, retreat(estimates, start, off_beat[number], high), stop, high, "left")
    single = last - first == 1
    beat, offset = beat[single], estimates[first[single]] - times[beat[single]]
    error[beat] = offset / np.where(offset < 0, before[single], after[single])
    return error


def _longest_stretches(wrong: Int, counts: Int, beats: Int) -> tuple[Int, Int, Bool]:
    """The stretch of each pair that is looked at, as a range of beats, and whether it is long enough."""
    begins = np.cumsum(counts) - counts
    begin, end = np.zeros_like(counts), np.zeros_like(counts)
    long_enough = np.zeros(len(counts), dtype=np.bool_)
    whole = np.flatnonzero(counts == 2)  # all but the first and the last beat are right
    begin[whole], end[whole] = wrong[begins[whole]] + 1, wrong[begins[whole] + 1] - 1
    long_enough[whole] = True
    broken = counts > 2
    pair = np.repeat(np.arange(len(counts)), counts)
    left = np.flatnonzero((pair[:-1] == pair[1:]) & broken[pair[:-1]])
    gap = wrong[left + 1] - wrong[left]
    if len(left):
        rows = np.flatnonzero(broken)
        sizes = counts[rows] - 1
        starts = np.cumsum(sizes) - sizes
        longest = np.maximum.reduceat(gap, starts)
        chosen = np.flatnonzero(gap == np.repeat(longest, sizes))
        chosen = chosen[np.searchsorted(chosen, starts)]  # the first of the longest ones
        begin[rows], end[rows] = wrong[left[chosen]], wrong[left[chosen] + 1] + 1
        long_enough[rows] = longest - 1 > 0.25 * (beats[rows] - 2)
    return begin, end, long_enough
