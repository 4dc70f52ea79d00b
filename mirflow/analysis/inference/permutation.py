"""Permutation tests of pairs of systems: their results are swapped unit by unit, and the values compared again.

A swap is a sign. For means and weighted ratios the sums of all systems under all swaps are two matrix products, which
all pairs share: the difference of a pair is computed from two rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from ...kernels.ratios import divide
from ...metrics.aggregates import STATISTICS
from ...ragged import Float, Int
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


@dataclass(frozen=True)
class Swaps:
    """Differences of pairs of statistics when the results of the two systems are swapped, cluster by cluster."""

    difference: Callable[[Float], Float]
    """Signs float64 (replicates, clusters), -1 for swapped, to float64 (replicates, pairs, values)."""
    clusters: int
    near: Float
    """Differences up to this one are rounding: float64 (pairs, values)."""
    observed: Float
    """Observed absolute differences: float64 (pairs, values)."""
    stored: Callable[[], Iterator[Float]] | None = None
    """Returns chunks of the differences where sums under all swaps are stored; then `difference` is not called."""

    def chunks(self, how: Resampling) -> Iterator[Float]:
        """Differences under all swaps: float64 (some replicates, pairs, values)."""
        if self.stored is not None:
            return self.stored()
        return map(self.difference, how.signs(self.clusters, self.near.size)[0])


class SignedSums(NamedTuple):
    """Sums over clusters, each with its sign, of some replicates."""

    above: Float
    """float64 (systems, replicates)."""
    below: Float
    """float64 (different denominators, replicates)."""

    def part(self, replicates: slice) -> SignedSums:
        """Those of some replicates."""
        return SignedSums(self.above[:, replicates], self.below[:, replicates])


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
    ratios: Ratios | None
    """The terms of all systems."""
    sums: SignedSums | None = None
    """The sums under all swaps; in place of the terms, where these do not fit in one block."""

    @classmethod
    def of(cls, ratios: Ratios) -> SwappedRatios:
        """All systems at once."""
        total = SignedSums(ratios.above.sum(axis=0)[:, np.newaxis], ratios.below.sum(axis=0)[:, np.newaxis])
        return cls(total, np.abs(ratios.above).sum(axis=0), ratios.denominator, ratios.clusters, ratios)

    def signed(self, signs: Float) -> SignedSums:
        """The sums under swaps float64 (replicates, clusters)."""
        assert self.ratios is not None
        # The replicates of a system lie side by side, as those of a pair do later.
        return SignedSums(*((signs @ terms).T.copy() for terms in (self.ratios.above, self.ratios.below)))

    def chunks(self, how: Resampling, width: int) -> Iterator[SignedSums]:
        """The sums under all swaps, in chunks of replicates of which `width` numbers each fit in the memory."""
        if self.sums is None:
            return map(self.signed, how.signs(self.clusters, width)[0])
        sums = self.sums
        return (sums.part(part) for part in chunks(sums.above.shape[1], max(width, 1)))

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
                change = _half_difference(sums.above, left[part], right[part])
                if constant:
                    np.divide(change, both[1][part] / 2, out=found[part])
                    continue
                below = _half_difference(sums.below, denominators[0][part], denominators[1][part])
                first, second = (
                    _ratios(both[0][part] + way * change, both[1][part] + way * below, least[part, np.newaxis])
                    for way in (1, -1)
                )
                np.subtract(first, second, out=found[part])
            return found

        return difference

    def near(self, pairs: Int) -> Float:
        """Differences of pairs up to this one are rounding: float64 (pairs,)."""
        size = divide(self.scale, self.total.below[self.denominator, 0])
        return np.asarray(_NEAR * (size[pairs[:, 0]] + size[pairs[:, 1]]))

    def swaps(self, pairs: Int) -> Swaps:
        """The swaps of pairs (pairs, 2)."""
        compare, near = self.compare(pairs), self.near(pairs)[:, np.newaxis]

        def difference(signs: Float) -> Float:
            return compare(self.signed(signs)).T[..., np.newaxis]

        def stored() -> Iterator[Float]:
            # One number of `how` is enough here: all replicates are drawn.
            assert self.sums is not None
            for part in chunks(self.sums.above.shape[1], near.size):
                yield compare(self.sums.part(part)).T[..., np.newaxis]

        observed = np.abs(compare(self.total))
        return Swaps(difference, self.clusters, near, observed, stored if self.sums is not None else None)


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

    def add(self, sample: Sample, metric: int, systems: Int) -> None:
        """Add the systems of a sample, each once however often it is met."""
        for row, system in enumerate(systems.tolist()):
            if system not in self._systems:
                above, below = sample.sums(row, metric)
                digest = blake2b(below.tobytes()).digest()
                if digest not in self._denominators:
                    self._denominators[digest] = self._wait(below)
                self._systems[system] = self._wait(above), self._denominators[digest]

    def _wait(self, terms: Float) -> int:
        """Put terms among those of the next product, and return their row."""
        row = len(self._totals)
        self._totals[row] = float(terms.sum()), float(np.abs(terms).sum())
        self._waiting.append((row, terms))
        if len(self._waiting) * self._clusters >= _TERMS:
            self._multiply()
        return row

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
        return SwappedRatios(total, scale, denominator, self._clusters, None, sums)


def swap_ratios(sample: Sample, metric: int) -> SwappedRatios:
    """Swap what systems add above and below the fraction line; for means, flip differences."""
    return SwappedRatios.of(Ratios.of(sample, [(system, metric) for system in range(len(sample.score))]))


def swap_scores(sample: Sample, metric: int, pairs: Int) -> Swaps:
    """Swaps of the scores of pairs of systems, for any aggregate of one metric."""
    if sample.kinds[metric] in STATISTICS:
        return _swap_ordered(sample, metric, pairs)
    systems = np.unique(pairs)
    every = np.arange(len(sample.duration), dtype=np.int64)
    return swap_ratios(sample.take(every, systems), metric).swaps(np.searchsorted(systems, pairs))


def _swap_ordered(sample: Sample, metric: int, pairs: Int) -> Swaps:
    """Swap two systems' scores unit by unit, and compare their medians or another statistic."""
    score, cluster, aggregate = sample.score[:, :, metric], sample.cluster, STATISTICS[sample.kinds[metric]]
    number = np.int64(score.shape[1])
    size = np.where(np.isfinite(score), np.abs(score), 0.0)
    near = _NEAR * size.max(axis=1)

    def difference(signs: Float) -> Float:
        stays = signs[:, cluster] > 0
        found = np.empty((len(signs), len(pairs), 1))
        for index, (left, right) in enumerate(pairs.tolist()):
            sides = ((score[left], score[right]), (score[right], score[left]))
            first, second = (
                aggregate.of_ordered(np.sort(np.where(stays, *side), axis=1), np.full(len(signs), number))
                for side in sides
            )
            found[:, index, 0] = differences(first, second)
        return found

    observed = np.abs(difference(np.ones((1, sample.clusters)))[0])
    return Swaps(difference, sample.clusters, near[pairs].sum(axis=1)[:, np.newaxis], observed)


def swap_rates(rates: Rates, pairs: Int) -> Swaps:
    """Swap the contributions of two systems, cluster by cluster, and compare the values computed from their sums."""
    total, scale = rates.counts.sum(axis=1), np.abs(rates.counts).sum(axis=1)
    observed = rates.values()
    near = _NEAR * (np.abs(observed[pairs[:, 0]]) + np.abs(observed[pairs[:, 1]]))

    def difference(signs: Float) -> Float:
        found = np.empty((len(signs), *near.shape))
        for part in rates.parts(len(signs), len(rates.counts)):
            signed = [signs[part] @ own for own in rates.counts]
            for index, (left, right) in enumerate(pairs.tolist()):
                both, change = (total[left] + total[right]) / 2, (signed[left] - signed[right]) / 2
                sides = (without_rounding(both + way * change, scale[left] + scale[right]) for way in (1, -1))
                first, second = map(rates.ratio, sides)
                found[part, index] = first - second
        return found

    return Swaps(difference, rates.clusters, near, np.abs(difference(np.ones((1, rates.clusters)))[0]))


def count_extremes(swaps: Swaps, how: Resampling, kept: list[Float] | None = None) -> tuple[Float, Float]:
    """Count the replicates with a difference at least as far from 0 as the observed one, among those that are defined.

    Parameters
    ----------
    swaps : Swaps
    how : Resampling
    kept : list of float64 (replicates, pairs, values) or None
        The absolute differences are added to it, for :func:`step_down`.

    Returns
    -------
    p : float64 (pairs, values)
    spread : float64 (pairs, values)
        The standard deviation of the differences under swaps; 1 where none is known or all are 0.
    """
    observed, exact = swaps.observed, how.lists_signs(swaps.clusters)
    extreme, number, square, finite = (np.zeros(swaps.near.shape) for _ in range(4))
    for found in swaps.chunks(how):
        np.abs(found, out=found)
        if kept is not None:
            kept.append(found)
        extreme += np.count_nonzero(found >= observed - swaps.near, axis=0)
        bounded = np.isfinite(found)
        number += len(found) - np.count_nonzero(np.isnan(found), axis=0)
        finite += np.count_nonzero(bounded, axis=0)
        square += (np.where(bounded, found, 0.0) ** 2).sum(axis=0)
    # What was observed is one of the replicates, listed or not (Phipson and Smyth 2010).
    drawn = 0 if exact else 1
    p = divide(extreme + drawn, number + drawn, np.nan)
    spread = np.sqrt(divide(square, finite))
    return np.where(np.isnan(observed), np.nan, p), np.where(spread > swaps.near, spread, 1.0)


def step_down(
    parts: Sequence[tuple[Swaps, Int]],
    spreads: Sequence[Float],
    clusters: int,
    how: Resampling,
    kept: Sequence[Float] = (),
) -> Float:
    """Simultaneous p-values of all pairs: step-down by the largest difference in standard deviations (max-T).

    In each replicate the same clusters are swapped in every pair, so that the distribution of the largest difference
    holds their dependence. A swap does not change the sum of a pair's squared differences: of means, the difference in
    such deviations orders the replicates as Student's t does.

    Parameters
    ----------
    parts : sequence of (Swaps, int64 (own clusters,))
        Pairs of systems that have the same units, and the clusters of these units among all of them.
    spreads : sequence of float64 (pairs, values)
        As :func:`count_extremes` gives them.
    clusters : int
        Of all parts together.
    how : Resampling
    kept : sequence of float64 (replicates, pairs, values)
        Of a single part, as :func:`count_extremes` gives them; empty: they are computed.

    Returns
    -------
    float64 (pairs, values)
        Of all parts, one after the other; the values are families of their own. NaN where nothing is compared.

    References
    ----------
    Westfall and Young, *Resampling-based multiple testing*, 1993, algorithm 4.1; Romano and Wolf, JASA 2005.
    """
    spread, near = np.concatenate(spreads), np.concatenate([swaps.near for swaps, _ in parts])
    observed = np.concatenate([swaps.observed for swaps, _ in parts]) / spread
    known = ~np.isnan(observed)
    near = near / spread
    # From the smallest to the largest: in each place the largest so far is that of all pairs that are left.
    order = np.argsort(np.where(known, observed, -np.inf), axis=0, kind="stable")
    limits = np.take_along_axis(observed - near, order, axis=0)
    exact = how.lists_signs(clusters)
    computed: Iterable[Sequence[Float]]
    if len(parts) == 1:
        computed = ([one] for one in kept or parts[0][0].chunks(how))
    else:
        every_sign = how.signs(clusters, near.size)[0]
        computed = ([swaps.difference(signs[:, own]) for swaps, own in parts] for signs in every_sign)
    extreme, number = np.zeros(near.shape), 0
    for every in computed:
        # By pair: the replicates of each value.
        found = [column for one in every for column in one.transpose(1, 2, 0)]
        number += len(every[0])
        for value in range(near.shape[1]):
            largest = np.zeros(len(every[0]))
            for index, pair in enumerate(order[:, value].tolist()):
                if known[pair, value]:
                    # What is undefined is not the largest.
                    np.fmax(largest, np.abs(found[pair][value]) / spread[pair, value], out=largest)
                    extreme[index, value] += np.count_nonzero(largest >= limits[index, value])
    drawn = 0 if exact else 1
    ordered = (extreme + drawn) / (number + drawn)
    # A pair is told apart only if all that differ more are.
    ordered = np.maximum.accumulate(ordered[::-1], axis=0)[::-1]
    found_p = np.empty_like(ordered)
    np.put_along_axis(found_p, order, ordered, axis=0)
    return np.where(known, found_p, np.nan)


def single_step(ratios: SwappedRatios, pairs: Int, how: Resampling) -> Float:
    """Simultaneous p-values of some pairs, by the largest difference of all pairs in standard deviations (max-T).

    For pairs that were chosen by the values themselves, as those with the best system are: the largest difference of
    the chosen ones alone would be too small to compare with.

    Parameters
    ----------
    ratios : SwappedRatios
        Of all systems.
    pairs : int64 (pairs, 2)
        The smaller number of each pair first.
    how : Resampling

    Returns
    -------
    float64 (pairs,)
        NaN where nothing is compared.
    """
    systems = len(ratios.denominator)
    others = [np.arange(first + 1, systems, dtype=np.int64) for first in range(systems - 1)]
    rows = [np.stack([np.full_like(second, first), second], axis=1) for first, second in enumerate(others)]
    compared = [ratios.compare(own) for own in rows]
    square, number = ([np.zeros(len(own)) for own in rows] for _ in range(2))
    for sums in ratios.chunks(how, _WIDTH):
        for first, compare in enumerate(compared):
            found = compare(sums)
            bounded = np.isfinite(found)
            number[first] += np.count_nonzero(bounded, axis=1)
            found = found if bounded.all() else np.where(bounded, found, 0.0)
            square[first] += np.einsum("pr,pr->p", found, found)
    spreads = [np.sqrt(divide(*both)) for both in zip(square, number, strict=True)]
    spreads = [np.where(one > ratios.near(own), one, 1.0) for one, own in zip(spreads, rows, strict=True)]
    spread = np.array([spreads[first][second - first - 1] for first, second in pairs.tolist()])
    observed = np.abs(ratios.compare(pairs)(ratios.total)[:, 0])
    limits = (observed - ratios.near(pairs)) / spread
    extreme, drawn = np.zeros(len(pairs)), 0 if how.lists_signs(ratios.clusters) else 1
    replicates = drawn
    for sums in ratios.chunks(how, _WIDTH):
        largest = np.zeros(sums.above.shape[1])
        for compare, own in zip(compared, spreads, strict=True):
            found = compare(sums)
            np.abs(found, out=found)
            found /= own[:, np.newaxis]
            # What is undefined is not the largest.
            np.fmax(largest, np.fmax.reduce(found, axis=0), out=largest)
        extreme += np.count_nonzero(largest >= limits[:, np.newaxis], axis=1)
        replicates += len(largest)
    return np.where(np.isnan(observed), np.nan, (extreme + drawn) / replicates)


def _half_difference(sums: Float, left: Int, right: Int) -> Float:
    """Half the differences of pairs of rows."""
    found: Float = sums[left]
    found -= sums[right]
    found /= 2
    return found


def _ratios(above: Float, below: Float, least: Float) -> Float:
    """The ratio; NaN where nothing weighs, of which the matrix products leave rounding behind."""
    return divide(above, below, np.nan, where=below > least)
