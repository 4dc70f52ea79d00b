"""Normal intervals of means and weighted ratios: their standard errors by the delta method.

A ratio of sums A / B is, to first order, a mean: a unit that adds a to A and b to B moves it by (a - b A / B) / B. The
sum of the squares of what all units move is the variance that a bootstrap over the units has, up to terms that vanish
as units become many (Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993, chapters 5 and 22).
"""

from __future__ import annotations

import numpy as np

from ...kernels.ratios import divide
from ...ragged import Float, Int
from .sample import Sample

_NEAR = 1e-12
_ALLOWANCE = 1.5
"""How much larger than the skewness of a sample the one of the units may be: systems whose worst units were not drawn
look better and less skewed than they are. Chosen by simulation (benchmarks/inference_simulations.py gates)."""


def influence(sample: Sample, system: int, metric: int) -> Float:
    """How far each cluster of units moves a ratio, to first order: float64 (clusters,); NaN where nothing weighs."""
    above, below = sample.sums(system, metric)
    whole = float(below.sum())
    value = float(above.sum()) / whole if whole else np.nan
    found: Float = above - value * below
    found /= whole or np.nan
    return found


def standard_error(influences: Float) -> float:
    """The standard error of a value, or of the difference of two, of which the influences are subtracted.

    Examples
    --------
    >>> score, one = np.array([0.2, 0.4, 0.9, 0.5]).reshape(1, 4, 1), np.ones((1, 4, 1))
    >>> sample = Sample(["mean"], score, one, one > 0, one[0, :, 0], np.arange(4))
    >>> round(standard_error(influence(sample, 0, 0)), 6), round(float(np.std(score)) / 2, 6)
    (0.127475, 0.127475)
    """
    # Not a product of vectors: for these few numbers BLAS would wake up its threads.
    return float(np.sqrt(np.square(influences).sum()))


def difference_errors(sample: Sample, metric: int, pairs: Int) -> Float:
    """The standard errors of the differences of ratios of pairs of systems, by the delta method: float64 (pairs,)."""
    systems = np.unique(pairs)
    influences = np.stack([influence(sample, system, metric) for system in systems.tolist()])
    place = np.searchsorted(systems, pairs).tolist()
    return np.array([standard_error(influences[left] - influences[right]) for left, right in place])


def normal_bounds(value: Float, error: Float, level: float) -> tuple[Float, Float]:
    """The ends of normal intervals.

    `value`, `error` (float64 (n,)): values with their standard errors. Returns `low`, `high` (float64 (n,)): a value
    without an error but that of rounding has an interval without width.
    """
    from scipy.special import ndtri

    half = ndtri((1 + level) / 2) * np.where(error > _NEAR * np.abs(value), error, 0.0)
    half = np.where(np.isnan(error), np.nan, half)
    return value - half, value + half


def skewed_bounds(sample: Sample, metric: int, pairs: Int, difference: Float, alpha: float) -> tuple[Float, ...]:
    """The ends of intervals of differences of ratios, by Student's t without the skewness of what units add.

    Where few units lose much, samples without them look better and spread less, so that t of a worse system is large
    too often. Hall's transformation is monotone and takes the skewness off t; its moments are those of the units, from
    which the residuals of heavy units differ. Degrees of freedom are Satterthwaite's, by the weights.

    `pairs` (int64 (pairs, 2)), `difference` (float64 (pairs,)). Returns `low`, `high`, `skewness` (float64 (pairs,)):
    the skewness of the differences of units; 0 where these do not differ.

    References
    ----------
    P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical Society B 54(1), 1992.
    """
    from scipy.special import stdtrit

    systems, place = np.unique(pairs, return_inverse=True)
    moved = np.stack([influence(sample, system, metric) for system in systems.tolist()])
    weight = np.stack([sample.sums(system, metric)[1] for system in systems.tolist()])
    first, second = place.reshape(pairs.shape).T
    own, share = moved[first] - moved[second], divide(weight, weight.sum(axis=1, keepdims=True))
    share = (share[first] + share[second]) / 2
    square, cube, fourth = ((share**power).sum(axis=1) for power in (2, 3, 4))
    left = (share**3 * ((1 - share) ** 3 - cube[:, np.newaxis] + share**3)).sum(axis=1)
    variance = divide((own**2).sum(axis=1), 1 + square - 2 * cube / square, np.inf)
    error = np.where(np.sqrt(variance) > _NEAR * np.abs(difference), np.sqrt(variance), 0.0)
    third = divide((own**3).sum(axis=1) * cube, left, 0.0, where=left > 0)
    skewness = divide(third, error**3, 0.0, where=np.isfinite(error) & (error > 0))
    t = stdtrit(np.maximum(square**2 / fourth - 1, 1), 1 - alpha / 2)
    slope = _ALLOWANCE * np.where(np.abs(skewness) > _NEAR, skewness, _NEAR)
    low, high = (difference - error * 3 / slope * (np.cbrt(1 + slope * (end - slope / 6)) - 1) for end in (t, -t))
    return low, high, skewness * square**1.5 / cube
