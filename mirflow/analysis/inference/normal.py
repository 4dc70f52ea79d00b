"""Normal intervals of means and weighted ratios: their standard errors by the delta method.

A ratio of sums A / B is, to first order, a mean: a unit that adds a to A and b to B moves it by (a - b A / B) / B. The
sum of the squares of what all units move is the variance that a bootstrap over the units has, up to terms that vanish
as units become many (Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993, chapters 5 and 22).
"""

from __future__ import annotations

import numpy as np

from ...ragged import Float, Int
from .sample import Sample

_NEAR = 1e-12


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

    Parameters
    ----------
    value, error : float64 (n,)
        Values with their standard errors.
    level : float

    Returns
    -------
    low, high : float64 (n,)
        A value without an error but that of rounding has an interval without width.
    """
    from scipy.special import ndtri

    half = ndtri((1 + level) / 2) * np.where(error > _NEAR * np.abs(value), error, 0.0)
    half = np.where(np.isnan(error), np.nan, half)
    return value - half, value + half
