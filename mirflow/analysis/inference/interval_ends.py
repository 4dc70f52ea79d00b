"""Ends of intervals: normal and skewed ones, those that a permutation test does not exclude, confidence sequences.


*Normal intervals* of means and weighted ratios have standard errors by the delta method. A ratio of sums A / B is, to
first order, a mean: a unit that adds a to A and b to B moves it by (a - b A / B) / B. The sum of the squares of what
all units move is the variance that a bootstrap over the units has, up to terms that vanish as units become many (Efron
and Tibshirani, *An Introduction to the Bootstrap*, 1993, chapters 5 and 22).

*Skewed bounds* are those of Student's t without the skewness of the sample (Hall, 1992), for non-inferiority.

*Intervals of differences* hold the differences that the permutation test does not exclude. The test of a difference d
asks whether the results of two systems could be swapped after the scores of the second were raised by d. What a unit
then adds to the difference of the values is r + (D - d) w, where D is the computed difference, r the influence of the
unit on it (:func:`influence`), and w the share of the weights that the unit has. The standard deviation under swaps is
the root of the sum of their squares, so that the differences D - d of a number of standard deviations are the roots of
a quadratic equation: of means, -c s / sqrt(n - c^2) and c s / sqrt(n - c^2) for c standard deviations, n units, and the
standard deviation s of what two systems differ by on them.

*Confidence sequences* hold at every look while tracks are added. With a probability of ``1 - alpha`` or more the true
value lies, after all numbers n of units at once, within

    s sqrt(2 (n r + 1) / (n r) log(sqrt(n r + 1) / alpha))

of the computed one, where s is its standard error, which falls with the root of n. This is the asymptotic confidence
sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit theory and asymptotic
confidence sequences", Annals of Statistics 52(6), 2024, theorem 2.2, by the normal mixture of Robbins (1970) with the
variance r. The p-value is the smallest alpha whose sequence excludes 0 (Howard, Ramdas, McAuliffe and Sekhon,
"Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49(2), 2021).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels.ratios import divide
from ...ragged import Float, Int
from .sample import Sample

_NEAR = 1e-12
_ALLOWANCE = 1.5
"""How much larger than the skewness of a sample the one of the units may be: systems whose worst units were not drawn
look better and less skewed than they are. Chosen by simulation (benchmarks/inference_simulations.py gates)."""


def influence(sample: Sample, system: int, metric: int) -> Float:
    """How far each cluster of units moves a ratio, to first order: float64 (clusters,); NaN where nothing weighs.

    The root of the sum of their squares is the standard error of the value.

    Examples
    --------
    >>> score, one = np.array([0.2, 0.4, 0.9, 0.5]).reshape(1, 4, 1), np.ones((1, 4, 1))
    >>> sample = Sample(["mean"], score, one, one > 0, one[0, :, 0], np.arange(4))
    >>> error = np.sqrt(np.square(influence(sample, 0, 0)).sum())
    >>> error.round(6).item(), (np.std(score) / 2).round(6).item()
    (0.127475, 0.127475)
    """
    above, below = sample.sums(system, metric)
    whole = float(below.sum())
    value = float(above.sum()) / whole if whole else np.nan
    found: Float = above - value * below
    found /= whole or np.nan
    return found


def difference_errors(sample: Sample, metric: int, pairs: Int) -> Float:
    """The standard errors of the differences of ratios of pairs of systems, by the delta method: float64 (pairs,)."""
    systems = np.unique(pairs)
    influences = np.stack([influence(sample, system, metric) for system in systems.tolist()])
    place = np.searchsorted(systems, pairs).tolist()
    # Not a product of vectors: for these few numbers BLAS would wake up its threads.
    return np.sqrt([np.square(influences[left] - influences[right]).sum() for left, right in place])


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


FIRST_LOOK = 30
"""Units that the first look needs: with fewer, skewed differences are not normal (see docs/inference-methods.md)."""


def mixing(planned: int, alpha: float) -> float:
    """The variance with which a sequence is narrowest at a planned number of units (Waudby-Smith et al. 2024, B.2).

    Examples
    --------
    >>> round(mixing(100, 0.05), 5)
    0.07936
    """
    twice = -2 * np.log(alpha)
    return float((twice + np.log(twice + 1)) / planned)


def sequence_bounds(
    value: Float, error: Float, units: int, planned: int, level: float, alpha: float | None = None
) -> tuple[Float, Float]:
    """The ends of the intervals of values after so many units.

    `value`, `error` (float64 (n,)): values with their standard errors. `units`, `planned`: present number of units, and
    that at which the sequence is narrowest. `level`: the share of sequences that hold the true value at every look.
    `alpha`: another level of significance than ``1 - level``, for which the sequence is narrowest. Returns `low`,
    `high` (float64 (n,)).

    Examples
    --------
    >>> [end.round(4).tolist() for end in sequence_bounds(np.array([0.1]), np.array([0.02]), 100, 100, 0.95)]
    [[0.0393], [0.1607]]
    """
    times = units * mixing(planned, 1 - level)
    alpha = 1 - level if alpha is None else alpha
    half = error * np.sqrt(2 * (times + 1) / times * np.log(np.sqrt(times + 1) / alpha))
    return value - half, value + half


def sequence_p(value: Float, error: Float, units: int, planned: int, level: float) -> Float:
    """p-values of values after so many units: the chance that one falls to alpha at any look is at most alpha.

    `value`, `error`, `units`, `planned`, `level`: as for :func:`sequence_bounds`, of which an end is 0 where the
    p-value is ``1 - level``. Returns float64 (n,): 1 for a value of 0 without an error, 0 for another one.

    Examples
    --------
    >>> sequence_p(np.array([0.05, 0.1, 0.0]), np.array([0.02, 0.02, 0.0]), 100, 100, 0.95).round(5).tolist()
    [0.18633, 5e-05, 1.0]
    """
    times = units * mixing(planned, 1 - level)
    certain = np.where(value == 0, 0.0, np.inf)
    ratio = np.where(error > 0, np.abs(value) / np.where(error > 0, error, 1.0), certain)
    ratio = np.where(np.isnan(value), np.nan, ratio)
    with np.errstate(under="ignore"):
        return np.asarray(np.minimum(np.sqrt(times + 1) * np.exp(-(ratio**2) * times / (2 * (times + 1))), 1.0))


_SAME_SHIFT = 1e-9
_ROUNDING = 1e-14
_NUMBERS = 1 << 20
"""Terms of pairs that are multiplied at once."""


class Spreads(NamedTuple):
    """How the variances of differences of pairs under swaps follow from the true differences: float64 (pairs,) each."""

    own: Float
    """Variance where the true difference is the computed one: sums of squared influences."""
    shares: Float
    """Sums of squared shares of the weights; of units that weigh the same, the inverse of their number."""
    both: Float
    """Sums of influences times shares."""

    @classmethod
    def of(cls, sample: Sample, metric: int, pairs: Int) -> Spreads:
        """Of ratios of sums."""
        systems, place = np.unique(pairs, return_inverse=True)
        moved, share = (np.empty((len(systems), sample.clusters)) for _ in range(2))
        for row, system in enumerate(systems.tolist()):
            moved[row], below = influence(sample, system, metric), sample.sums(system, metric)[1]
            share[row] = divide(below, below.sum(), 1 / max(sample.clusters, 1))
        found = np.empty((3, len(pairs)))
        step = max(1, _NUMBERS // max(sample.clusters, 1))
        for start in range(0, len(pairs), step):
            first, second = place.reshape(pairs.shape)[start : start + step].T
            own, weight = moved[first] - moved[second], (share[first] + share[second]) / 2
            for row, products in enumerate((own * own, weight * weight, own * weight)):
                found[row, start : start + step] = products.sum(axis=1)
        return cls(*found)

    @classmethod
    def by_jackknife(cls, left_out: Float, pairs: Int) -> Spreads:
        """Of values of systems without each cluster of units, which weigh the same: float64 (clusters, systems)."""
        units = len(left_out)
        moved = (left_out - left_out.mean(axis=0)).T * ((units - 1) / units)
        own = np.array([np.square(moved[first] - moved[second]).sum() for first, second in pairs.tolist()])
        return cls(own, np.full(len(pairs), 1 / units), np.zeros(len(pairs)))


def invert(difference: Float, spread: Float, critical: Float, spreads: Spreads) -> tuple[Float, Float]:
    """The ends of the intervals of differences that lie within a number of standard deviations under swaps.

    `difference`, `spread`, `critical` (float64 (pairs,)): the standard deviation is that of the swaps of the scores as
    they are, as of a true difference of 0. Returns `low`, `high` (float64 (pairs,)): infinite where no difference is
    excluded.

    Examples
    --------
    >>> gain = np.array([0.1, 0.3, -0.1, 0.2])
    >>> spread = np.sqrt((gain**2).sum()) / 4  # of the mean under all 16 swaps
    >>> spreads = Spreads(np.array([gain.var() / 4]), np.array([1 / 4]), np.zeros(1))
    >>> ends = invert(np.array([0.125]), np.array([spread]), np.array([1.5]), spreads)
    >>> [end.round(4).item() for end in ends], (1.5 * gain.std() / np.sqrt(4 - 1.5**2)).round(4).item()
    ([-0.0427, 0.2927], 0.1677)
    """
    # Ratios with denominators of their own are not quite sums of what units add.
    with np.errstate(invalid="ignore"):
        # The variance under swaps where the true difference is 0.
        expected = spreads.own + 2 * difference * spreads.both + difference**2 * spreads.shares
        limit = critical**2 * divide(spread**2, expected, 1.0, where=expected > _ROUNDING * difference**2)
        leading, middle = 1 - limit * spreads.shares, limit * spreads.both
        root = np.sqrt(np.maximum(middle**2 + leading * limit * spreads.own, 0.0))
        bounded = leading > _SAME_SHIFT
        far, near = (divide(middle + way * root, leading, way * np.inf, where=bounded) for way in (1, -1))
        low, high = difference - far, difference - near
    unknown = np.isnan(difference) | np.isnan(spread)
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)
