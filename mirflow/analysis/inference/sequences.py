"""Confidence sequences: intervals and p-values of differences that hold at every look while tracks are added.

With a probability of ``1 - alpha`` or more the true value lies, after all numbers n of units at once, within

    s sqrt(2 (n r + 1) / (n r) log(sqrt(n r + 1) / alpha))

of the computed one, where s is its standard error, which falls with the root of n. This is the asymptotic confidence
sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit theory and asymptotic
confidence sequences", Annals of Statistics 52(6), 2024, theorem 2.2, by the normal mixture of Robbins (1970) with the
variance r. The p-value is the smallest alpha whose sequence excludes 0 (Howard, Ramdas, McAuliffe and Sekhon,
"Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49(2), 2021).
"""

from __future__ import annotations

import numpy as np

from ...ragged import Float

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
