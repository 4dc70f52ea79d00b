"""Intervals of differences of systems: the differences that the permutation test does not exclude.

The test of a difference d asks whether the results of two systems could be swapped after the scores of the second were
raised by d. What a unit then adds to the difference of the values is r + (D - d) w, where D is the computed difference,
r the influence of the unit on it (:mod:`.normal`), and w the share of the weights that the unit has. The standard
deviation under swaps is the root of the sum of their squares, so that the differences D - d of a number of standard
deviations are the roots of a quadratic equation: of means, -c s / sqrt(n - c^2) and c s / sqrt(n - c^2) for c standard
deviations, n units, and the standard deviation s of what two systems differ by on them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels.ratios import divide
from ...ragged import Bool, Float, Int
from .normal import influence
from .sample import Sample

_NEAR = 1e-9
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

    def variance(self, away: Float) -> Float:
        """Variance under swaps where the true differences are so far away from the computed ones."""
        return np.asarray(self.own + 2 * away * self.both + away**2 * self.shares)


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
        expected = spreads.variance(difference)
        limit = critical**2 * divide(spread**2, expected, 1.0, where=expected > _ROUNDING * difference**2)
        leading, middle = 1 - limit * spreads.shares, limit * spreads.both
        root = np.sqrt(np.maximum(middle**2 + leading * limit * spreads.own, 0.0))
        bounded = leading > _NEAR
        far, near = (divide(middle + way * root, leading, way * np.inf, where=bounded) for way in (1, -1))
        low, high = difference - far, difference - near
    unknown = np.isnan(difference) | np.isnan(spread)
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def agree(low: Float, high: Float, difference: Float, significant: Bool) -> tuple[Float, Float]:
    """Intervals that exclude 0 where the test does, of which the ends are the roundings of other sums."""
    tiny = np.nextafter(0, 1)
    defined = ~np.isnan(low)
    low, high = np.where(~significant & (low > 0), 0.0, low), np.where(~significant & (high < 0), 0.0, high)
    low = np.where(defined & significant & (difference > 0), np.maximum(low, tiny), low)
    high = np.where(defined & significant & (difference < 0), np.minimum(high, -tiny), high)
    return low, high
