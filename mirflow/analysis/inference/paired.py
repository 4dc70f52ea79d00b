"""Tests of two systems on the same units: permutations that match the figure, Wilcoxon's and Student's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import QueryError, UnknownNameError
from ...ragged import Float, Int
from .figures import Ratios
from .rates import Rates, without_rounding
from .resampling import Resampling
from .sample import Sample, differences, settle

TESTS = {
    "permutation": "the two systems' results swapped unit by unit, compared by the figure itself",
    "wilcoxon": "Wilcoxon's signed-rank test of the units' differences",
    "t": "Student's paired t-test of the units' differences",
}
DEFAULT_TEST = "permutation"
"""The only one that is about the figure itself for every aggregate."""
_DEFINED = {"t": ("mean",), "wilcoxon": ("mean", "median")}
_NEAR = 1e-11


def choose_tests(test: str, kinds: list[str], metrics: list[str], cluster: str | None) -> list[str]:
    """The test of each metric.

    Parameters
    ----------
    test : {"auto", "permutation", "wilcoxon", "t"}
        ``auto`` is the permutation test, the only one that is about the figure itself for every aggregate.

    Raises
    ------
    QueryError
        For a test that is about something else than the figure, or that cannot know of clusters.
    UnknownNameError
        For another test.
    """
    name = DEFAULT_TEST if test == "auto" else test
    if name not in TESTS:
        raise UnknownNameError("test", test, ["auto", *TESTS])
    if name in _DEFINED:
        for kind, metric in zip(kinds, metrics, strict=True):
            if kind not in _DEFINED[name]:
                raise QueryError(
                    f"test {name!r} compares the tracks' scores, each counted once, and not the {kind} of {metric!r}; "
                    "choose test permutation, or aggregate mean"
                )
        if cluster is not None:
            raise QueryError(f"test {name!r} takes all tracks as independent; with cluster, choose test permutation")
    return [name] * len(kinds)


@dataclass(frozen=True)
class Swaps:
    """What pairs of figures differ by when the results of the two systems are swapped, cluster by cluster.

    Parameters
    ----------
    difference : callable
        Signs float64 (replicates, clusters), -1 for swapped, to float64 (replicates, pairs, figures).
    clusters : int
    near : float64 (pairs, figures)
        Differences up to this one are rounding.
    """

    difference: Callable[[Float], Float]
    clusters: int
    near: Float

    def observed(self) -> Float:
        """What they differ by as they are, without sign: float64 (pairs, figures)."""
        return np.asarray(np.abs(self.difference(np.ones((1, self.clusters))))[0])


def p_values(test: str, sample: Sample, metric: int, pairs: Int, how: Resampling) -> Float:
    """The two-sided p-value of each pair of systems.

    Parameters
    ----------
    test : {"permutation", "wilcoxon", "t"}
    sample : Sample
        Units that all systems of the pairs have.
    metric : int
    pairs : int64 (pairs, 2)
    how : Resampling

    Returns
    -------
    float64 (pairs,)
        1 where no unit differs; NaN where there is no unit, or, for Student's test, only one, and for means of
        infinite scores.
    """
    if sample.score.shape[1] == 0:
        return np.full(len(pairs), np.nan)
    if test == "permutation":
        return count_extremes(swap_scores(sample, metric, pairs), how)[0][:, 0]
    first, second = (sample.score[pairs[:, side], :, metric].T for side in (0, 1))
    return _by_units(test, differences(first, second))


def least_p(test: str, clusters: int, how: Resampling) -> float:
    """The smallest p-value that a test of so many units can give.

    Examples
    --------
    >>> least_p("permutation", 5, Resampling.of(0.95, "bca", 10_000, 0))
    0.0625
    """
    if clusters < 1 or (test == "t" and clusters < 2):
        return 1.0
    if test == "t":
        return 0.0
    listed = test == "wilcoxon" or how.lists_signs(clusters)
    return 2.0 ** (1 - clusters) if listed else 1 / (how.replicates + 1)


def _by_units(test: str, difference: Float) -> Float:
    """Wilcoxon's or Student's test of differences (units, pairs)."""
    from scipy import stats

    found = np.ones(difference.shape[1])
    if test == "t" and len(difference) < 2:
        return np.full(len(found), np.nan)
    settled = settle(difference)
    differs = np.flatnonzero(settled.any(axis=0))
    if len(differs):
        columns = (settled if test == "wilcoxon" else difference)[:, differs]
        with np.errstate(all="ignore"):
            if test == "t":
                found[differs] = _student(columns)
            else:
                # One pair at a time: scipy leaves the exact test for all columns if any of them has ties.
                found[differs] = [stats.wilcoxon(column).pvalue for column in columns.T]
    return found


def _student(difference: Float) -> Float:
    from scipy.special import stdtr

    count = len(difference)
    constant = settle(np.ptp(difference, axis=0)) == 0
    mean, error = difference.mean(axis=0), difference.std(axis=0, ddof=1) / np.sqrt(count)
    # All differences equal and not 0: no doubt is left; of infinite ones nothing can be said.
    certain = np.where(np.isfinite(mean), np.inf, np.nan)
    ratio = np.divide(mean, error, out=certain, where=~constant & (error > 0))
    return np.asarray(2 * stdtr(count - 1, -np.abs(ratio)))


def swap_scores(sample: Sample, metric: int, pairs: Int) -> Swaps:
    """Swaps of the scores of pairs of systems, for any aggregate of one metric."""
    return (_swap_medians if sample.kinds[metric] == "median" else _swap_ratios)(sample, metric, pairs)


def _swap_ratios(sample: Sample, metric: int, pairs: Int) -> Swaps:
    """Swap what two systems add above and below the fraction line, unit by unit; for means, flip differences.

    A swap is a sign: the sums of all pairs and all replicates are two matrix products, of signs with the terms of
    the systems.
    """
    systems = np.unique(pairs)
    figures = Ratios.of(sample, [(system, metric) for system in systems.tolist()])
    left, right = np.searchsorted(systems, pairs.T)
    above = figures.above
    totals = above.sum(axis=0), figures.below.sum(axis=0)[figures.denominator]
    size = np.divide(np.abs(above).sum(axis=0), totals[1], out=np.zeros(len(systems)), where=totals[1] > 0)
    near = _NEAR * (size[left] + size[right])
    least = _NEAR * (totals[1][left] + totals[1][right])

    def difference(signs: Float) -> Float:
        both = [(sums[left] + sums[right]) / 2 for sums in totals]
        signed = (signs @ above, (signs @ figures.below)[:, figures.denominator])
        change = [(sums[:, left] - sums[:, right]) / 2 for sums in signed]
        first, second = ((both[0] + way * change[0], both[1] + way * change[1]) for way in (1, -1))
        return (_ratio(*first, least) - _ratio(*second, least))[..., np.newaxis]

    return Swaps(difference, figures.clusters, near[:, np.newaxis])


def _swap_medians(sample: Sample, metric: int, pairs: Int) -> Swaps:
    """Swap two systems' scores unit by unit, and compare their medians."""
    score, cluster = sample.score[:, :, metric], sample.cluster
    size = np.where(np.isfinite(score), np.abs(score), 0.0)
    near = _NEAR * size.max(axis=1)

    def difference(signs: Float) -> Float:
        stays = signs[:, cluster] > 0
        found = np.empty((len(signs), len(pairs), 1))
        for place, (left, right) in enumerate(pairs.tolist()):
            sides = ((score[left], score[right]), (score[right], score[left]))
            with np.errstate(invalid="ignore"):  # infinite scores of both signs
                first, second = (np.median(np.where(stays, *side), axis=1) for side in sides)
            found[:, place, 0] = differences(first, second)
        return found

    return Swaps(difference, int(cluster.max()) + 1, near[pairs].sum(axis=1)[:, np.newaxis])


def swap_rates(rates: Rates, pairs: Int) -> Swaps:
    """Swap what two systems add up, cluster by cluster, and compare the figures that are read off the sums."""
    total, scale = rates.counts.sum(axis=1), np.abs(rates.counts).sum(axis=1)
    observed = rates.values()
    near = _NEAR * (np.abs(observed[pairs[:, 0]]) + np.abs(observed[pairs[:, 1]]))

    def difference(signs: Float) -> Float:
        found = np.empty((len(signs), *near.shape))
        for part in rates.parts(len(signs), len(rates.counts)):
            signed = [signs[part] @ own for own in rates.counts]
            for place, (left, right) in enumerate(pairs.tolist()):
                both, change = (total[left] + total[right]) / 2, (signed[left] - signed[right]) / 2
                sides = (without_rounding(both + way * change, scale[left] + scale[right]) for way in (1, -1))
                first, second = map(rates.ratio, sides)
                found[part, place] = first - second
        return found

    return Swaps(difference, rates.clusters, near)


def count_extremes(swaps: Swaps, how: Resampling) -> tuple[Float, Float]:
    """How often a difference is at least as far from 0 as the one observed, among those that are defined.

    Returns
    -------
    p : float64 (pairs, figures)
    spread : float64 (pairs, figures)
        The standard deviation of the differences under swaps; 1 where none is known or all are 0.
    """
    observed = swaps.observed()
    chunks, exact = how.signs(swaps.clusters, swaps.near.size)
    extreme, number, square, finite = (np.zeros(swaps.near.shape) for _ in range(4))
    for signs in chunks:
        found = np.abs(swaps.difference(signs))
        extreme += (found >= observed - swaps.near).sum(axis=0)
        number += (~np.isnan(found)).sum(axis=0)
        bounded = np.isfinite(found)
        square += (np.where(bounded, found, 0.0) ** 2).sum(axis=0)
        finite += bounded.sum(axis=0)
    # What was observed is one of the replicates, listed or not (Phipson and Smyth 2010).
    drawn = 0 if exact else 1
    p = np.divide(extreme + drawn, number + drawn, out=np.full_like(observed, np.nan), where=number + drawn > 0)
    spread = np.sqrt(np.divide(square, finite, out=np.zeros_like(square), where=finite > 0))
    return np.where(np.isnan(observed), np.nan, p), np.where(spread > swaps.near, spread, 1.0)


def step_down(parts: Sequence[tuple[Swaps, Int]], spreads: Sequence[Float], clusters: int, how: Resampling) -> Float:
    """Simultaneous p-values of all pairs: step-down by the largest difference in standard deviations (max-T).

    In each replicate the same clusters are swapped in every pair, so that what the pairs have in common is in the
    distribution of the largest one. A swap leaves the sum of a pair's squared differences as it is: of means, the
    difference in such deviations orders the replicates as Student's t does.

    Parameters
    ----------
    parts : sequence of (Swaps, int64 (own clusters,))
        Pairs of systems that have the same units, and the clusters of these units among all of them.
    spreads : sequence of float64 (pairs, figures)
        As :func:`count_extremes` gives them.
    clusters : int
        Of all parts together.
    how : Resampling

    Returns
    -------
    float64 (pairs, figures)
        Of all parts, one after the other; the figures are families of their own. NaN where nothing is compared.

    References
    ----------
    Westfall and Young, *Resampling-based multiple testing*, 1993, algorithm 4.1; Romano and Wolf, JASA 2005.
    """
    spread, near = np.concatenate(spreads), np.concatenate([swaps.near for swaps, _ in parts])
    observed = np.concatenate([swaps.observed() for swaps, _ in parts]) / spread
    known = ~np.isnan(observed)
    near = near / spread
    # From the smallest to the largest: in each place the largest so far is that of all pairs that are left.
    order = np.argsort(np.where(known, observed, -np.inf), axis=0, kind="stable")
    limits = np.take_along_axis(observed - near, order, axis=0)
    chunks, exact = how.signs(clusters, near.size)
    extreme, number = np.zeros(near.shape), 0
    for signs in chunks:
        found = np.concatenate([swaps.difference(signs[:, own]) for swaps, own in parts], axis=1)
        found = np.where(known & ~np.isnan(found), np.abs(found), 0.0) / spread
        largest = np.maximum.accumulate(np.take_along_axis(found, order[np.newaxis], axis=1), axis=1)
        extreme += (largest >= limits).sum(axis=0)
        number += len(signs)
    drawn = 0 if exact else 1
    ordered = (extreme + drawn) / (number + drawn)
    # A pair is told apart only if all that differ more are.
    ordered = np.maximum.accumulate(ordered[::-1], axis=0)[::-1]
    found_p = np.empty_like(ordered)
    np.put_along_axis(found_p, order, ordered, axis=0)
    return np.where(known, found_p, np.nan)


def _ratio(above: Float, below: Float, least: Float) -> Float:
    """The ratio; NaN where nothing weighs, of which the matrix products leave rounding behind."""
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > least)
