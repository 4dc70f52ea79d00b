"""Permutation tests of pairs of systems: their results are swapped unit by unit, and the values compared again.

A swap is a sign. For means and weighted ratios the sums of all systems under all swaps are two matrix products, which
all pairs share: the difference of a pair is computed from two rows. Medians and other statistics of sorted scores are
compared by how far single swaps move them, which is a sum, too. Statistics of swapped scores themselves would have two
modes where systems are far apart, and no standard deviation that tells how far.

p-values of all pairs, or of those with the best system, are corrected together: by the largest difference of any pair
in each replicate (max-T). For values of classes and tags the contributions to sums are swapped, and the values computed
again. The differences that the test of a single pair does not exclude are found, too.

*Sorted scores.* If the results of two systems are swapped at random, unit by unit, the median lies at or below a score
x with a probability H(x) that is that of a binomial variable: of the units on which one of the two has a score up to x,
each counts with a probability of a half, and those on which both have count for certain. A unit with the scores a and b
counts H(a) - H(b), the chance that the median of swapped results lies between them. A swap changes its sign, and leaves
H alone, so that the sum over the units is tested as a sum of differences is. Of another statistic a unit counts the
difference of how far its scores move the statistic of the scores of both systems together (the jackknife).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from ...kernels.ratios import divide
from ...metrics.aggregates import STATISTICS
from ...ragged import Bool, Float, Int
from .interval_ends import influence
from .resampling import Rates, Ratios, Resampling, chunks, without_rounding
from .sample import Sample, differences

_NEAR = 1e-11
KEPT = 1 << 27
"""Bytes of differences that are kept instead of computed again."""
_TERMS = 1 << 23
"""Terms of systems that are multiplied at once: the signs of all replicates are drawn anew for each product."""
_WIDTH = 1 << 13
"""Numbers for each replicate of a chunk of which each pair of systems is looked at."""
_CACHED = 1 << 15
"""Numbers that are in a processor's cache while something is done with them."""
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
        statistic, units = STATISTICS[self.sample.kinds[self.metric]], score.shape[1]
        cluster, clusters = self.sample.cluster, np.arange(self.sample.clusters)
        for start in range(0, len(pairs), step):
            part = slice(start, start + step)
            first, second = score[pairs[part, 0]], score[pairs[part, 1]] + shift[part, np.newaxis]
            every = np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=1)
            order = np.argsort(every, axis=1, kind="stable")
            ordered = np.take_along_axis(every, order, axis=1)
            near = _NEAR * np.where(np.isfinite(every), np.abs(every), 0.0).max(axis=1, keepdims=True)
            if statistic.quantile is not None:
                moved = _share_below(ordered, order >= units, statistic.quantile, near)
            elif statistic.without_each is not None:
                moved = np.stack([-statistic.without_each(scores) for scores in ordered])
            else:
                count, place = ordered.shape[1], np.arange(ordered.shape[1] - 1)
                others = place + (place >= np.arange(count)[:, np.newaxis])
                moved = np.stack([-statistic.of_ordered(row[others], np.full(count, count - 1)) for row in ordered])
            back = np.empty_like(moved)
            np.put_along_axis(back, order, moved, axis=1)
            away = differences(first, second)
            sign = np.sign(np.where(np.abs(away) <= near, 0.0, away))
            moves = np.asarray(sign * (back[:, units:] - back[:, :units]))
            if not np.array_equal(cluster, clusters):
                moves = np.asarray(moves @ (cluster[:, np.newaxis] == clusters).astype(np.float64))
            found[part] = moves
        return found

    def bounds(self, difference: Float, critical: Float) -> tuple[Float, Float]:
        """The ends of the intervals of shifts that the test does not exclude.

        `difference` (float64 (pairs,)): of the values of the two systems. `critical` (float64 (pairs,)): standard
        deviations that are not significant. Returns `low`, `high` (float64 (pairs,)): infinite where every shift is
        possible; NaN for differences that are not finite.
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


@dataclass(frozen=True)
class Swaps:
    """Differences of pairs of statistics when the results of the two systems are swapped, cluster by cluster."""

    difference: Callable[[Any], Float]
    """Signs float64 (replicates, clusters), -1 for swapped, or what `stored` yields, to float64 (replicates, pairs,
    values)."""
    centred: Callable[[Any], Float]
    """As `difference`, in standard deviations, after the scores of one system of each pair were raised such that their
    values are equal."""
    clusters: int
    near: Float
    """Differences up to this one are rounding: float64 (pairs, values)."""
    observed: Float
    """Observed absolute differences: float64 (pairs, values)."""
    spread: Float | None = None
    """The standard deviation of the differences over all swaps, where it is known without them: float64 (pairs,
    values)."""
    stored: Callable[[Resampling], Iterator[SignedSums]] | None = None
    """Returns chunks of the sums under all swaps where these are stored, and not drawn from signs."""

    def chunks(self, how: Resampling, *, centred: bool = False) -> Iterator[Float]:
        """Differences under all swaps, or those of `centred`: float64 (some replicates, pairs, values)."""
        signs = how.signs(self.clusters, self.near.size)[0] if self.stored is None else self.stored(how)
        return map(self.centred if centred else self.difference, signs)


class SignedSums(NamedTuple):
    """Sums over clusters, each with its sign, of some replicates."""

    above: Float
    """float64 (systems, replicates)."""
    below: Float
    """float64 (different denominators, replicates)."""


@dataclass(frozen=True)
class SwappedRatios:
    """Ratios of sums of some systems on the same clusters, and the sums under swaps."""

    total: SignedSums
    """The sums without swaps, as one replicate."""
    scale: Float
    """Sums of absolute terms above the fraction line: float64 (systems,)."""
    denominator: Int
    """The row of the sums below the fraction line of each system: int64 (systems,)."""
    clusters: int
    squares: Float
    """Sums of squared differences of the influences of clusters on every two values (systems, systems); NaN of systems
    that were in no block together."""
    ratios: Ratios | None = None
    """The terms of all systems."""
    sums: SignedSums | None = None
    """The sums under all swaps; in place of the terms, where these do not fit in one block."""

    @classmethod
    def of(cls, sample: Sample, metric: int) -> SwappedRatios:
        """Of all systems of a sample what they add above and below the fraction line; of means, differences."""
        ratios = Ratios.of(sample, [(system, metric) for system in range(len(sample.score))])
        total = SignedSums(ratios.above.sum(axis=0)[:, np.newaxis], ratios.below.sum(axis=0)[:, np.newaxis])
        value = divide(total.above[:, 0], total.below[ratios.denominator, 0], np.nan)
        below = ratios.below[:, ratios.denominator]
        moved = divide(ratios.above - value * below, below.sum(axis=0), np.nan).T
        squares = np.stack([np.square(moved - row).sum(axis=1) for row in moved])
        return cls(total, np.abs(ratios.above).sum(axis=0), ratios.denominator, ratios.clusters, squares, ratios)

    def signed(self, signs: Float | SignedSums) -> SignedSums:
        """The sums under swaps float64 (replicates, clusters); stored sums are returned as they are."""
        if isinstance(signs, SignedSums):
            return signs
        assert self.ratios is not None
        # The replicates of a system lie side by side, as those of a pair do later.
        return SignedSums(*((signs @ terms).T.copy() for terms in (self.ratios.above, self.ratios.below)))

    def chunks(self, how: Resampling, width: int) -> Iterator[SignedSums]:
        """The sums under all swaps, in chunks of replicates of which `width` numbers each fit in the memory."""
        if self.sums is None:
            return map(self.signed, how.signs(self.clusters, width)[0])
        sums = self.sums
        parts = chunks(sums.above.shape[1], max(width, 1))
        return (SignedSums(sums.above[:, part], sums.below[:, part]) for part in parts)

    def compare(self, pairs: Int) -> Callable[[SignedSums], Float]:
        """Prepare the differences of pairs (pairs, 2): of sums under swaps, float64 (pairs, replicates).

        Few pairs are looked at together, so that what is done with them stays in the processor's cache.
        """
        left, right = pairs.T
        own = self.total.above[:, 0], self.total.below[self.denominator, 0]
        both = [(sums[left] + sums[right])[:, np.newaxis] / 2 for sums in own]
        least = _NEAR * (own[1][left] + own[1][right])
        # With one denominator swaps change nothing below the fraction line.
        constant = len(self.total.below) == 1 and bool((both[1][:, 0] > least).all())
        denominators = self.denominator[left], self.denominator[right]

        def difference(sums: SignedSums) -> Float:
            found = np.empty((len(pairs), sums.above.shape[1]))
            step = max(1, _CACHED // max(sums.above.shape[1], 1))
            for part in (slice(start, start + step) for start in range(0, len(pairs), step)):
                change = sums.above[left[part]] - sums.above[right[part]]
                if constant:
                    np.divide(change, both[1][part], out=found[part])
                    continue
                below = sums.below[denominators[0][part]] - sums.below[denominators[1][part]]
                sides = ((both[0][part] + way * change, both[1][part] + way * below) for way in (0.5, -0.5))
                # NaN where nothing weighs, of which the matrix products leave rounding behind.
                enough = least[part, np.newaxis]
                first, second = (divide(own, weighs, np.nan, where=weighs > enough) for own, weighs in sides)
                np.subtract(first, second, out=found[part])
            return found

        return difference

    def moved(self, sums: SignedSums) -> Float:
        """Sums of the influences of clusters on the value of each system, by swaps: float64 (systems, replicates)."""
        below = self.total.below[self.denominator]
        value = divide(self.total.above, below, np.nan)
        return np.asarray(divide(sums.above - value * sums.below[self.denominator], below, np.nan))

    def near(self, pairs: Int) -> Float:
        """Differences of pairs up to this one are rounding: float64 (pairs,)."""
        size = divide(self.scale, self.total.below[self.denominator, 0])
        return np.asarray(_NEAR * (size[pairs[:, 0]] + size[pairs[:, 1]]))

    def swaps(self, pairs: Int) -> Swaps:
        """The swaps of pairs (pairs, 2)."""
        compare, near = self.compare(pairs), self.near(pairs)[:, np.newaxis]
        spread = self.spread_of_moved(pairs)[:, np.newaxis]

        def centred(signs: Float | SignedSums) -> Float:
            moved = self.moved(self.signed(signs))
            return ((moved[pairs[:, 0]] - moved[pairs[:, 1]]) / spread).T[..., np.newaxis]

        return Swaps(
            lambda signs: compare(self.signed(signs)).T[..., np.newaxis],
            centred,
            self.clusters,
            near,
            np.abs(compare(self.total)),
            stored=None if self.sums is None else partial(self.chunks, width=near.size),
        )

    def spread_of_moved(self, pairs: Int) -> Float:
        """Standard deviations of the differences of :meth:`moved` under all swaps; 1 where nothing moves."""
        spread = np.sqrt(self.squares[pairs[:, 0], pairs[:, 1]])
        return np.where((spread > self.near(pairs)) | np.isnan(spread), spread, 1.0)


class SwappedBlocks:
    """Gathers the sums of systems under swaps, so that only some systems' terms are in memory at a time.

    The sums take as many numbers for each system as there are replicates, however many units there are.
    """

    def __init__(self, clusters: int, how: Resampling) -> None:
        self._clusters, self._how = clusters, how
        self._waiting: list[tuple[int, Float]] = []
        self._rows: dict[int, Float] = {}
        self._totals: dict[int, tuple[float, float]] = {}
        self._systems: dict[int, tuple[int, int]] = {}
        self._denominators: dict[bytes, int] = {}
        self._squares: dict[tuple[int, int], float] = {}

    def add(self, sample: Sample, metric: int, systems: Int) -> None:
        """Add the systems of a sample, each once however often it is met."""
        for row, system in enumerate(systems.tolist()):
            if system in self._systems:
                continue
            above, below = sample.sums(row, metric)
            digest = blake2b(below.tobytes()).digest()
            # Terms wait for the next product; their rows are counted as they come.
            for terms in (above,) if digest in self._denominators else (below, above):
                self._waiting.append((len(self._totals), terms))
                self._totals[len(self._totals)] = float(terms.sum()), float(np.abs(terms).sum())
                if len(self._waiting) * self._clusters >= _TERMS:
                    self._multiply()
            self._systems[system] = len(self._totals) - 1, self._denominators.setdefault(digest, len(self._totals) - 2)
        moved = np.stack([influence(sample, row, metric) for row in range(len(systems))])
        squares = np.stack([np.square(moved - row).sum(axis=1) for row in moved])
        every = systems.tolist()
        self._squares |= {(one, two): squares[i, j] for i, one in enumerate(every) for j, two in enumerate(every)}

    def _multiply(self) -> None:
        rows, terms = zip(*self._waiting, strict=True)
        block = np.stack(terms)
        self._waiting = []
        parts = [block @ signs.T for signs in self._how.signs(self._clusters, len(block))[0]]
        self._rows |= dict(zip(rows, np.concatenate(parts, axis=1), strict=True))

    def finish(self) -> SwappedRatios:
        """The sums of all systems, in order."""
        if self._waiting:
            self._multiply()
        systems = [self._systems[system] for system in sorted(self._systems)]
        above, below = [row for row, _ in systems], list(self._denominators.values())
        sums = SignedSums(*(np.stack([self._rows[row] for row in rows]) for rows in (above, below)))
        total = SignedSums(*(np.array([self._totals[row][:1] for row in rows]) for rows in (above, below)))
        scale = np.array([self._totals[row][1] for row in above])
        denominator = np.array([below.index(row) for _, row in systems], dtype=np.int64)
        order = sorted(self._systems)
        squares = np.array([[self._squares.get((system, two), np.nan) for two in order] for system in order])
        return SwappedRatios(total, scale, denominator, self._clusters, squares, sums=sums)


def swap_scores(sample: Sample, metric: int, pairs: Int) -> Swaps:
    """Swaps of the scores of pairs of systems, for any aggregate of one metric."""
    if sample.kinds[metric] not in STATISTICS:
        systems = np.unique(pairs)
        every = np.arange(len(sample.duration), dtype=np.int64)
        return SwappedRatios.of(sample.take(every, systems), metric).swaps(np.searchsorted(systems, pairs))
    # How far each cluster of two systems' units moves a statistic is swapped.
    pooled = PooledScores(sample, metric, pairs)
    moves = pooled.moves(np.zeros(len(pairs)))
    score = sample.score[:, :, metric]
    with np.errstate(invalid="ignore"):
        value = STATISTICS[sample.kinds[metric]].of_ordered(np.sort(score, axis=1), np.full(len(score), score.shape[1]))
        # Ties may tell the scores of two systems apart whose values are equal: these do not differ.
        equal = value[pairs[:, 0]] == value[pairs[:, 1]]
    observed = np.where(equal, 0.0, np.abs(moves.sum(axis=1)))
    observed[np.isnan(value[pairs]).any(axis=1)] = np.nan
    near = _NEAR * np.abs(moves).sum(axis=1)
    spread = np.sqrt(np.square(moves).sum(axis=1))
    columns = moves.T.copy()

    shift = differences(value[pairs[:, 0]], value[pairs[:, 1]])
    raised = pooled.moves(np.where(np.isfinite(shift), shift, 0.0))
    size = np.sqrt(np.square(raised).sum(axis=1, keepdims=True))
    raised = divide(raised, size).T.copy()

    spread = np.where(spread > near, spread, 1.0)
    return Swaps(
        lambda signs: (signs @ columns)[..., np.newaxis],
        lambda signs: (signs @ raised)[..., np.newaxis],
        sample.clusters,
        near[:, np.newaxis],
        observed[:, np.newaxis],
        spread[:, np.newaxis],
    )


def swap_rates(rates: Rates, pairs: Int) -> Swaps:
    """Swap the contributions of two systems, cluster by cluster, and compare the values computed from their sums."""
    total, scale = rates.counts.sum(axis=1), np.abs(rates.counts).sum(axis=1)
    observed = rates.ratio(total)
    near = _NEAR * (np.abs(observed[pairs[:, 0]]) + np.abs(observed[pairs[:, 1]]))

    def difference(signs: Float) -> Float:
        found = np.empty((len(signs), *near.shape))
        for part in chunks(len(signs), rates.counts.shape[2] * len(rates.counts)):
            signed = [signs[part] @ counts for counts in rates.counts]
            for index, (left, right) in enumerate(pairs.tolist()):
                both, change = (total[left] + total[right]) / 2, (signed[left] - signed[right]) / 2
                sides = (without_rounding(both + way * change, scale[left] + scale[right]) for way in (1, -1))
                first, second = map(rates.ratio, sides)
                found[part, index] = first - second
        return found

    size = total.shape[0], rates.clusters, -1
    left_out = rates.left_out().T.reshape(len(rates.counts), -1, rates.clusters).transpose(0, 2, 1).reshape(size)
    moved = left_out - left_out.mean(axis=1, keepdims=True)
    own = np.sqrt(np.square(moved[pairs[:, 0]] - moved[pairs[:, 1]]).sum(axis=1))
    own = np.where(own > near, own, 1.0)

    def centred(signs: Float) -> Float:
        each = np.stack([signs @ row for row in moved])
        return np.asarray(((each[pairs[:, 0]] - each[pairs[:, 1]]) / own[:, np.newaxis]).transpose(1, 0, 2))

    observed = np.abs(difference(np.ones((1, rates.clusters)))[0])
    return Swaps(difference, centred, rates.clusters, near, observed)


def count_extremes(swaps: Swaps, how: Resampling, kept: list[Float] | None = None) -> tuple[Float, Float]:
    """Count the replicates with a difference at least as far from 0 as the observed one, among those that are defined.

    `kept` (list of float64 (replicates, pairs, values) or None): the absolute differences are added to it, for
    :func:`step_down`. Returns `p` (float64 (pairs, values)), `spread` (float64 (pairs, values)): the standard deviation
    of the differences under swaps; 1 where none is known or all are 0.
    """
    observed, exact = swaps.observed, how.lists_signs(swaps.clusters)
    extreme, number, square, finite = (np.zeros(swaps.near.shape) for _ in range(4))
    for swapped in swaps.chunks(how):
        np.abs(swapped, out=swapped)
        if kept is not None:
            kept.append(swapped)
        extreme += np.count_nonzero(swapped >= observed - swaps.near, axis=0)
        bounded = np.isfinite(swapped)
        number += len(swapped) - np.count_nonzero(np.isnan(swapped), axis=0)
        finite += np.count_nonzero(bounded, axis=0)
        square += (np.where(bounded, swapped, 0.0) ** 2).sum(axis=0)
    # What was observed is one of the replicates, listed or not (Phipson and Smyth 2010).
    drawn = 0 if exact else 1
    p = divide(extreme + drawn, number + drawn, np.nan)
    spread = np.sqrt(divide(square, finite)) if swaps.spread is None else swaps.spread
    return np.where(np.isnan(observed), np.nan, p), np.where(spread > swaps.near, spread, 1.0)


def _largest_allowed(ordered: Float, number: Float, drawn: int, alpha: float) -> Float:
    """The largest value that is not significant, of each column.

    `ordered` (float64 (n, columns)): the largest replicates, in ascending order; all of them, or more than are allowed
    to be as large. `number` (float64 (columns,)): of replicates. `drawn`: 1 where what was observed is counted as one
    of them, otherwise 0. Returns float64 (columns,): infinite where so few replicates make nothing significant.
    """
    allowed = np.floor(alpha * (number + drawn) + _NEAR).astype(np.int64) - drawn
    row = np.clip(len(ordered) - 1 - allowed, 0, len(ordered) - 1)
    return np.where(allowed < 0, np.inf, ordered[row, np.arange(ordered.shape[1])])


def critical_of_each(swaps: Swaps, how: Resampling, alpha: float) -> Float:
    """The largest difference of each pair that its swaps do not exclude at a level: float64 (pairs, values)."""
    drawn, shape = 0 if how.lists_signs(swaps.clusters) else 1, swaps.near.shape
    most = int(alpha * (1 << max(swaps.clusters - 1, 0) if not drawn else how.replicates + 1)) + 1
    top, number = np.empty((0, *shape)), np.zeros(shape)
    for swapped in swaps.chunks(how):
        number += len(swapped) - np.count_nonzero(np.isnan(swapped), axis=0)
        top = np.concatenate([top, np.where(np.isnan(swapped), -np.inf, np.abs(swapped))])
        if len(top) > most:
            top = np.partition(top, len(top) - most, axis=0)[-most:]
    top.sort(axis=0)
    return _largest_allowed(top.reshape(len(top), -1), number.ravel(), drawn, alpha).reshape(shape)


def simultaneous(
    parts: Sequence[tuple[Swaps, Int]],
    spreads: Sequence[Float],
    clusters: int,
    how: Resampling,
    kept: Sequence[Float] = (),
) -> tuple[Float, Float]:
    """Simultaneous p-values of all pairs, by the largest difference of all in standard deviations (max-T).

    In each replicate the same clusters are swapped in every pair, so that the distribution of the largest difference
    holds their dependence. A swap does not change the sum of a pair's squared differences: of means, the difference in
    such deviations orders the replicates as Student's t does. All pairs are compared with the largest difference of
    all pairs (a single step), because a step-down has no simultaneous intervals.

    Swaps of the scores are those of equal systems, and bound the chance of a false difference. Where systems are far
    apart they move all of their pairs alike, so that the largest one is too small for intervals that hold together:
    these need the swaps of the scores without the differences of the values. A p-value is the larger one of the two,
    and so is what is not significant. A single pair has no second one.

    `parts` (sequence of (Swaps, int64 (own clusters,))): pairs of systems that have the same units, and the clusters of
    these units among all of them. `spreads` (sequence of float64 (pairs, values)): as :func:`count_extremes` gives
    them. `clusters`: of all parts together. `kept` (sequence of float64 (replicates, pairs, values)): of a single part,
    as :func:`count_extremes` gives them; empty: they are computed. Returns `p` (float64 (pairs, values)): of all parts,
    one after the other; the values are families of their own. NaN where nothing is compared. `critical` (float64
    (values,)): the largest number of standard deviations that is not significant.

    References
    ----------
    Westfall and Young, *Resampling-based multiple testing*, 1993, section 2.3; Hothorn, Bretz and Westfall,
    "Simultaneous inference in general parametric models", Biometrical Journal 50(3), 2008.
    """
    spread, near = np.concatenate(spreads), np.concatenate([swaps.near for swaps, _ in parts])
    observed = np.concatenate([swaps.observed for swaps, _ in parts])
    defined = ~np.isnan(observed)
    computed: Iterable[Sequence[Float]]
    if len(parts) == 1:
        computed = ([chunk] for chunk in kept or parts[0][0].chunks(how))
    else:
        every_sign = how.signs(clusters, near.size)[0]
        computed = ([swaps.difference(signs[:, own]) for swaps, own in parts] for signs in every_sign)
    limits = (observed - near) / spread
    p, critical = _by_maxima(_largest_of_all(computed, defined, spread), limits, how, clusters)
    if len(defined) > 1:
        if len(parts) == 1:
            computed = ([chunk] for chunk in parts[0][0].chunks(how, centred=True))
        else:
            every_sign = how.signs(clusters, near.size)[0]
            computed = ([swaps.centred(signs[:, own]) for swaps, own in parts] for signs in every_sign)
        centred = _by_maxima(_largest_of_all(computed, defined, np.ones_like(spread)), limits, how, clusters)
        p, critical = np.maximum(p, centred[0]), np.maximum(critical, centred[1])
    return p, critical


def _largest_of_all(computed: Iterable[Sequence[Float]], known: Bool, spread: Float) -> Float:
    """The largest difference of known pairs in each replicate, of chunks of parts: float64 (values, replicates)."""
    maxima = []
    for every in computed:
        # By pair: the replicates of each value.
        found = [column for part in every for column in part.transpose(1, 2, 0)]
        largest = np.zeros((known.shape[1], len(every[0])))
        for pair, value in zip(*np.nonzero(known), strict=True):
            # What is undefined is not the largest.
            np.fmax(largest[value], np.abs(found[pair][value]) / spread[pair, value], out=largest[value])
        maxima.append(largest)
    return np.concatenate(maxima, axis=1)


def _by_maxima(maxima: Float, limits: Float, how: Resampling, clusters: int) -> tuple[Float, Float]:
    """p-values of pairs, float64 (pairs, values), by the largest of each replicate, float64 (values, replicates)."""
    ordered, drawn = np.sort(maxima, axis=1), 0 if how.lists_signs(clusters) else 1
    number = ordered.shape[1]
    less = np.stack([np.searchsorted(one, limits[:, value]) for value, one in enumerate(ordered)], axis=1)
    p = np.where(np.isnan(limits), np.nan, (number - less + drawn) / (number + drawn))
    return p, _largest_allowed(ordered.T, np.full(len(ordered), float(number)), drawn, how.alpha)


def simultaneous_of_some(ratios: SwappedRatios, pairs: Int, how: Resampling) -> tuple[Float, Float, Float]:
    """:func:`simultaneous` p-values of some of many pairs, those with the best system, without all pairs in memory.

    As the best one is known by the values themselves, the largest difference of its pairs alone would be too small to
    compare with.

    `pairs` (int64 (pairs, 2)): the smaller number of each pair first. Returns `p, spread` (float64 (pairs,)): NaN where
    nothing is compared; the standard deviation of the differences under swaps. `critical` (float64 (1,)).
    """
    systems = len(ratios.denominator)
    others = [np.arange(first + 1, systems, dtype=np.int64) for first in range(systems - 1)]
    rows = [np.stack([np.full_like(second, first), second], axis=1) for first, second in enumerate(others)]
    compared = [ratios.compare(block) for block in rows]
    square, number, centred = ([np.zeros(len(own)) for own in rows] for _ in range(3))
    for sums in ratios.chunks(how, _WIDTH):
        moved = ratios.moved(sums)
        for first, compare in enumerate(compared):
            centred[first] += np.square(moved[first] - moved[first + 1 :]).sum(axis=1)
            found = compare(sums)
            bounded = np.isfinite(found)
            number[first] += np.count_nonzero(bounded, axis=1)
            found = found if bounded.all() else np.where(bounded, found, 0.0)
            square[first] += np.einsum("pr,pr->p", found, found)
    spreads = [np.sqrt(divide(*both)) for both in zip(square, number, strict=True)]
    spreads = [np.where(one > ratios.near(own), one, 1.0) for one, own in zip(spreads, rows, strict=True)]
    for first, own in enumerate(rows):
        # Of systems that were in no block together by the replicates.
        drawn = np.sqrt(centred[first] / max(int(number[first].max(initial=1)), 1))
        exact = ratios.spread_of_moved(own)
        centred[first] = np.where(np.isnan(exact), np.where(drawn > ratios.near(own), drawn, 1.0), exact)
    spread = np.array([spreads[first][second - first - 1] for first, second in pairs.tolist()])
    observed = np.abs(ratios.compare(pairs)(ratios.total)[:, 0])
    limits = (observed - ratios.near(pairs)) / spread
    maxima: list[Float] = []
    for sums in ratios.chunks(how, _WIDTH):
        (largest, without), moved = np.zeros((2, sums.above.shape[1])), ratios.moved(sums)
        for first, (compare, own, size) in enumerate(zip(compared, spreads, centred, strict=True)):
            found = compare(sums)
            np.abs(found, out=found)
            found /= own[:, np.newaxis]
            # What is undefined is not the largest.
            np.fmax(largest, np.fmax.reduce(found, axis=0), out=largest)
            np.subtract(moved[[first]], moved[first + 1 :], out=found)
            np.abs(found, out=found)
            found /= size[:, np.newaxis]
            np.fmax(without, np.fmax.reduce(found, axis=0), out=without)
        maxima.append(np.stack([largest, without]))
    # As two values of which each has the same limits.
    both = np.stack([limits, limits], axis=1)
    p, critical = _by_maxima(np.concatenate(maxima, axis=1), both, how, ratios.clusters)
    return p.max(axis=1), spread, critical.max(keepdims=True)
