"""Information gain: how far the histogram of beat errors is from a uniform one."""

from __future__ import annotations

import numpy as np

from ...kernels.sums import sum_by
from ...ragged import Float, Int
from ..events import Events
from .batch import Batch


def bin_edges(bins: int, edges: str) -> Float:
    """The edges of the bins of beat errors, from -0.5 to 0.5 intervals.

    Parameters
    ----------
    bins : int
    edges : {"uniform", "half_ends"}
        That many bins of equal width, or one more, of which the first and the last have half the width of the others.

    Examples
    --------
    >>> bin_edges(2, "uniform").tolist(), bin_edges(2, "half_ends").tolist()
    ([-0.5, 0.0, 0.5], [-0.5, -0.25, 0.25, 0.5])
    """
    if edges == "uniform":
        return np.linspace(-0.5, 0.5, bins + 1)
    return np.concatenate([[-0.5], (np.arange(bins) + 0.5) / bins - 0.5, [0.5]])


def information_gain(batch: Batch, edges: Float, normalise: bool) -> Float:
    """The information gain.

    Parameters
    ----------
    batch : Batch
        At least two beats on each side of every pair.
    edges : float64 (bins + 1,)
        Of `bin_edges`.
    normalise : bool
        Whether to divide by the entropy of a uniform histogram; else it is in bits.

    Returns
    -------
    float64 (pairs,)
        NaN where no error can be measured because all beats of the estimate are at one time.
    """
    reference, estimate = batch.reference, batch.estimate
    forward = _entropy(_errors(reference, estimate, batch.nearest_reference("annotated")), estimate, edges)
    backward = _entropy(_errors(estimate, reference, batch.nearest_estimate("annotated")), reference, edges)
    largest = np.log2(len(edges) - 1)
    with np.errstate(invalid="ignore"):
        gain: Float = largest - np.where(forward > backward, forward, backward)
        return gain / largest if normalise else gain


def _errors(target: Events, beats: Events, nearest: Int) -> Float:
    """The error of each beat against its nearest target, as a share of the interval it lies in, in (-0.5, 0.5]."""
    first, last = target.offsets[:-1][beats.pair], target.offsets[1:][beats.pair] - 1
    distance = beats.times - target.times[nearest]
    previous = (distance < 0) | (nearest == last)
    lower = np.where(previous, nearest - 1, nearest)
    # Before the first target the "previous" one is taken to be the last, as by an index of -1.
    wrapped = lower < first
    lower = np.where(wrapped, last, lower)
    upper = np.where(previous, nearest, nearest + 1)
    interval = 0.5 * (target.times[upper] - target.times[lower])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.mod(0.5 * distance / interval + 0.5, -1) + 0.5


def _entropy(errors: Float, beats: Events, edges: Float) -> Float:
    """The entropy of each pair's histogram of errors; errors that are not numbers are left out."""
    bins = len(edges) - 1
    known = ~np.isnan(errors)
    place = np.minimum(np.searchsorted(edges, errors[known], side="right") - 1, bins - 1)
    pairs = len(beats)
    histogram = np.bincount(beats.pair[known] * bins + place, minlength=pairs * bins).reshape(pairs, bins)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = histogram / histogram.sum(axis=1, keepdims=True)
    share[share == 0] = 1
    terms = share * np.log2(share)
    return -sum_by(np.repeat(np.arange(pairs), bins), terms.ravel(), pairs)
