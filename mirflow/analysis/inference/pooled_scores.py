"""How far a swap of two systems on a unit moves a median, or another statistic of sorted scores.

If the results of two systems are swapped at random, unit by unit, the median lies at or below a score x with a
probability H(x) that is that of a binomial variable: of the units on which one of the two has a score up to x, each
counts with a probability of a half, and those on which both have count for certain. A unit with the scores a and b
counts H(a) - H(b), the chance that the median of swapped results lies between them. A swap changes its sign, and
leaves H alone, so that the sum over the units is tested as a sum of differences is. Of another statistic a unit counts
the difference of how far its scores move the statistic of the scores of both systems together (the jackknife).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...metrics.aggregates import STATISTICS, Statistic
from ...ragged import Bool, Float, Int
from .sample import Sample, differences

_NEAR = 1e-11
_STEPS = 32
"""Halvings after which an end of an interval is known to nine digits of the range of the scores."""
_LISTED = 1_000
"""Units up to which the chances of all numbers are computed first."""
_NUMBERS = 1 << 20
"""Scores of pairs that are sorted at once."""


@dataclass(frozen=True)
class PooledScores:
    """Scores of pairs of systems on the same units."""

    sample: Sample
    metric: int
    pairs: Int
    """int64 (pairs, 2)."""

    def moves(self, shift: Float, rows: Int | None = None) -> Float:
        """What each cluster of units counts after the scores of the second system were raised by `shift` (pairs,).

        `shift` (float64 (pairs,)): of some pairs, or of all. `rows` (int64 (n,) or None): which ones these are. Returns
        float64 (pairs, clusters).
        """
        pairs = self.pairs if rows is None else self.pairs[rows]
        score = self.sample.score[:, :, self.metric]
        found = np.empty((len(pairs), self.sample.clusters))
        step = max(1, _NUMBERS // max(score.shape[1], 1))
        for start in range(0, len(pairs), step):
            part = slice(start, start + step)
            first, second = pairs[part].T
            moves = self._moves(score[first], score[second] + shift[part, np.newaxis])
            cluster, count = self.sample.cluster, self.sample.clusters
            if np.array_equal(cluster, np.arange(count)):
                found[part] = moves
            else:
                found[part] = np.asarray(moves @ (cluster[:, np.newaxis] == np.arange(count)).astype(np.float64))
        return found

    def _moves(self, first: Float, second: Float) -> Float:
        """What each unit counts: float64 (pairs, units)."""
        statistic, units = STATISTICS[self.sample.kinds[self.metric]], first.shape[1]
        every = np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=1)
        order = np.argsort(every, axis=1, kind="stable")
        ordered = np.take_along_axis(every, order, axis=1)
        near = _NEAR * np.where(np.isfinite(every), np.abs(every), 0.0).max(axis=1, keepdims=True)
        if statistic.quantile is not None:
            moved = _share_below(ordered, order >= units, statistic.quantile, near)
        else:
            moved = np.stack([-_without_each(statistic, scores) for scores in ordered])
        back = np.empty_like(moved)
        np.put_along_axis(back, order, moved, axis=1)
        away = differences(first, second)
        sign = np.sign(np.where(np.abs(away) <= near, 0.0, away))
        return np.asarray(sign * (back[:, units:] - back[:, :units]))

    def bounds(self, difference: Float, critical: Float) -> tuple[Float, Float]:
        """The ends of the intervals of shifts that the test does not exclude.

        Parameters
        ----------
        difference : float64 (pairs,)
            Of the values of the two systems.
        critical : float64 (pairs,)
            Standard deviations that are not significant.

        Returns
        -------
        low, high : float64 (pairs,)
            Infinite where every shift is possible; NaN for differences that are not finite.
        """
        score = self.sample.score[:, :, self.metric]
        least, most = score.min(axis=1, initial=np.inf), score.max(axis=1, initial=-np.inf)
        first, second = self.pairs.T
        finite = np.isfinite(difference) & np.isfinite(np.stack([least, most]))[:, self.pairs].all(axis=(0, 2))
        ends = []
        for sign, far in ((-1, least[first] - most[second]), (1, most[first] - least[second])):
            outer = np.where(finite, far, 0.0) + sign * (1.0 + np.abs(np.where(finite, far, 0.0)))
            inner, excluded = np.where(finite, difference, 0.0), np.zeros(len(difference), dtype=np.bool_)
            # No difference is an end to begin with, so that it is in the interval just where the test says so.
            for point in (outer, np.zeros(len(difference))):
                rows = np.flatnonzero(finite & (sign * (point - inner) > 0) & (sign * (outer - point) >= 0))
                beyond = self._exceeds(point[rows], critical[rows], rows)
                outer[rows[beyond]], excluded[rows[beyond]] = point[rows[beyond]], True
                inner[rows[~beyond]] = np.where(excluded[rows[~beyond]], point[rows[~beyond]], inner[rows[~beyond]])
            rows = np.flatnonzero(excluded)
            for _ in range(_STEPS if len(rows) else 0):
                middle = (inner[rows] + outer[rows]) / 2
                beyond = self._exceeds(middle, critical[rows], rows)
                outer[rows[beyond]], inner[rows[~beyond]] = middle[beyond], middle[~beyond]
            ends.append(np.where(finite, np.where(excluded, inner, sign * np.inf), np.nan))
        return ends[0], ends[1]

    def _exceeds(self, shift: Float, critical: Float, rows: Int) -> Bool:
        """Whether the test excludes shifts of some pairs: bool (rows,)."""
        moves = self.moves(shift, rows)
        spread = np.sqrt(np.square(moves).sum(axis=1))
        return np.asarray(np.abs(moves.sum(axis=1)) > critical * spread * (1 + _NEAR))


def _share_below(ordered: Float, larger: Bool, quantile: float, near: Float) -> Float:
    """The shares of random swaps in which a quantile lies below each score, those in which it is equal counted half.

    `ordered` (float64 (pairs, 2 units)): the scores of both systems, sorted. `larger` (bool (pairs, 2 units)): whether
    a score is the larger one of its unit. `near` (float64 (pairs, 1)): scores that differ by this are equal.
    """
    units = ordered.shape[1] // 2
    place = np.arange(1, 2 * units + 1)
    with np.errstate(invalid="ignore"):
        differs = ordered[:, 1:] - ordered[:, :-1] > near
    # Numbers of the scores up to each one and those equal to it, and of the ones below it.
    upto = np.where(np.append(differs, np.ones((len(ordered), 1), dtype=np.bool_), axis=1), place, 2 * units)
    upto = np.minimum.accumulate(upto[:, ::-1], axis=1)[:, ::-1]
    below = np.insert(np.where(differs, place[:-1], 0), 0, 0, axis=1)
    below = np.maximum.accumulate(below, axis=1)
    both = np.insert(np.cumsum(larger, axis=1), 0, 0, axis=1)
    lower, share = divmod(quantile * (units - 1), 1)
    ranks = [(1 + int(lower), 1 - share), (2 + int(lower), share)] if share else [(1 + int(lower), 1.0)]
    found: Float = np.zeros(ordered.shape)
    most = np.arange(units + 1)
    for rank, weight in ranks:
        # Whether so many of those that count for certain, and a half of the others, are at least the rank.
        table = None if units > _LISTED else _at_least(rank - most[:, np.newaxis], most)
        for number in (upto, below):
            certain = np.take_along_axis(both, number, axis=1)
            perhaps = number - 2 * certain
            chance = _at_least(rank - certain, perhaps) if table is None else table[certain, perhaps]
            found += weight * chance / 2
    return found


def _at_least(least: Int, number: Int) -> Float:
    """The chance that of so many units half of which count at random at least some do."""
    from scipy.special import bdtr

    sure, never = least <= 0, least > number
    found = 1 - bdtr(np.clip(least - 1, 0, np.maximum(number, 1)), np.maximum(number, 1), 0.5)
    return np.where(sure, 1.0, np.where(never, 0.0, found))


def _without_each(statistic: Statistic, scores: Float) -> Float:
    """A statistic of sorted scores without each of them: float64 (scores,)."""
    if statistic.without_each is not None:
        return statistic.without_each(scores)
    count = len(scores)
    place = np.arange(count - 1)
    left = scores[place + (place >= np.arange(count)[:, np.newaxis])]
    return statistic.of_ordered(left, np.full(count, count - 1))
