"""How large differences are: wins, dominance, standardised differences of two systems on the same units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...ragged import Float, Int
from .sample import differences, settle


@dataclass(frozen=True)
class Effects:
    """Effect sizes of some pairs of systems.

    Parameters
    ----------
    wins, losses, ties : int64 (pairs,)
        Units on which the first system is better, worse, or equal.
    dz : float64 (pairs,)
        Mean of the differences over their standard deviation (Cohen 1988).
    rank_biserial : float64 (pairs,)
        Matched-pairs rank-biserial correlation (Kerby 2014): the sum of signed ranks over the sum of ranks, without
        units that are equal.
    cliffs_delta : float64 (pairs,)
        How often a score of the first system is larger than one of the second, minus how often it is smaller, over
        all pairs of units (Cliff 1993).
    """

    wins: Int
    losses: Int
    ties: Int
    dz: Float
    rank_biserial: Float
    cliffs_delta: Float

    @property
    def superiority(self) -> Float:
        """The share of units on which the first system is better, equal ones counted half; NaN without units."""
        number = self.wins + self.losses + self.ties
        known: Float = np.where(number > 0, number, np.nan)
        return (self.wins + self.ties / 2) / known


def effects(score: Float, pairs: Int, *, lower_is_better: bool = False) -> Effects:
    """Effect sizes of pairs of systems.

    Parameters
    ----------
    score : float64 (systems, units)
    pairs : int64 (pairs, 2)
    lower_is_better : bool
        Whose score is smaller wins; the other sizes have the sign of the difference all the same.

    Examples
    --------
    >>> score = np.array([[0.5, 0.9, 0.7, 0.8], [0.4, 0.6, 0.7, 0.9]])
    >>> found = effects(score, np.array([[0, 1]]))
    >>> found.wins.item(), found.losses.item(), found.ties.item(), found.superiority.item()
    (2, 1, 1, 0.625)
    """
    raw = differences(score[pairs[:, 0]], score[pairs[:, 1]]).T
    difference = settle(raw)
    larger, smaller = (flag.sum(axis=0) for flag in (difference > 0, difference < 0))
    equal = len(difference) - larger - smaller
    wins, losses = (smaller, larger) if lower_is_better else (larger, smaller)
    delta = _dominance(settle(score), pairs)
    return Effects(wins, losses, equal, _standardised(raw), _signed_ranks(difference), delta)


def _standardised(difference: Float) -> Float:
    """Mean over standard deviation; 0 where no unit differs, NaN where all differ by the same."""
    units, pairs = difference.shape
    if units < 2:
        return np.full(pairs, np.nan)
    with np.errstate(invalid="ignore"):  # of infinite differences there is no spread
        mean, spread = difference.mean(axis=0), difference.std(axis=0, ddof=1)
        constant = settle(np.ptp(difference, axis=0)) == 0
    none = np.where(settle(mean) == 0, 0.0, np.nan)
    return np.asarray(np.divide(mean, spread, out=none, where=~constant & (spread > 0)))


def _signed_ranks(difference: Float) -> Float:
    from scipy.stats import rankdata

    if not difference.size:
        return np.full(difference.shape[1], np.nan)
    size = np.abs(difference)
    # Equal units have the lowest ranks; without them all others move down by their number.
    rank = np.where(size > 0, rankdata(size, axis=0) - (size == 0).sum(axis=0), 0.0)
    total = rank.sum(axis=0)
    signed = (np.sign(difference) * rank).sum(axis=0)
    return np.asarray(np.divide(signed, total, out=np.zeros_like(total), where=total > 0))


def _dominance(score: Float, pairs: Int) -> Float:
    ordered = np.sort(score, axis=1)
    units = score.shape[1]
    found = np.full(len(pairs), np.nan)
    for place, (left, right) in enumerate(pairs.tolist()):
        if units:
            below, upto = (np.searchsorted(ordered[right], ordered[left], side=side) for side in ("left", "right"))
            found[place] = ((below + upto).sum() / units - units) / units
    return found
