"""Compare two systems on the same units: tests, corrections, effect sizes, groups without significant differences.

Student's and Wilcoxon's tests and those by confidence sequences are here, permutation tests in `permutation.py`. Tests
and corrections are also chosen here, and the results of many pairs become the dataset of a comparison.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import QueryError, UnknownNameError
from ...kernels.ratios import divide
from ...ragged import Bool, Float, Int
from ..aggregation import ranked
from ..query_options import COMPARED_WITH, MAX_T, SEQUENCE, alpha_of
from ..scores import Array, names_of
from .interval_ends import difference_errors, sequence_bounds, sequence_p
from .permutation import (
    KEPT,
    SwappedRatios,
    Swaps,
    count_extremes,
    critical_of_each,
    simultaneous,
    simultaneous_of_some,
)
from .resampling import Resampling
from .sample import Sample, columns_by_pattern, dataset_of, differences, settle

if TYPE_CHECKING:
    import xarray as xr

_LETTERS = string.ascii_lowercase + string.ascii_uppercase


def significance_groups(different: Bool, order: Sequence[int] | None = None) -> list[list[int]]:
    """Sets of systems in which no two differ, none of which can be made larger.

    `different` (bool (systems, systems)): symmetric; the diagonal does not matter. `order`: the systems from the best
    to the worst; None: by their numbers. Every two systems that are not told apart share a set, and every
    system has one. The best system's comes first. Where systems differ from some rank distance on, as after a test on
    mean ranks, these are all such sets; in general only as many as are needed, since there can be exponentially many.

    Examples
    --------
    >>> different = np.zeros((3, 3), dtype=bool)
    >>> different[0, 2] = different[2, 0] = True
    >>> significance_groups(different)
    [[0, 1], [1, 2]]
    """
    ranked = list(range(len(different))) if order is None else [int(system) for system in order]
    alike = ~np.asarray(different)[np.ix_(ranked, ranked)]
    np.fill_diagonal(alike, True)
    open_pairs = alike.copy()
    sets: list[list[int]] = []
    for first in range(len(ranked)):
        while (waiting := np.flatnonzero(open_pairs[first, first:])).size:
            # A system alone makes a set only if no other set has taken it.
            second = first + int(waiting[-1])
            members = sorted({first, second})
            fits: Bool = np.asarray(alike[members].all(axis=0))
            fits[members] = False
            # The largest set in order of rank that holds the two and in which all are alike.
            for place in range(len(alike)):
                if fits[place]:
                    members.append(place)
                    fits &= alike[place]
                    fits[place] = False
            members.sort()
            open_pairs[np.ix_(members, members)] = False
            sets.append(members)
    return [[ranked[member] for member in members] for members in sorted(sets)]


def letters(groups: Sequence[Sequence[int]], systems: int) -> list[str]:
    """Assign letters to systems: two that share a letter do not differ significantly (Piepho 2004).

    Parameters
    ----------
    groups : sequence of sequences of int
        As :func:`significance_groups` gives them.
    systems : int

    Examples
    --------
    >>> letters([[0, 1], [1, 2]], 3)
    ['a', 'ab', 'b']
    """
    names = ["" for _ in range(systems)]
    for index, members in enumerate(groups):
        letter = _LETTERS[index] if index < len(_LETTERS) else f"({index + 1})"
        for member in members:
            names[member] += letter
    return names


CORRECTIONS = {
    MAX_T: "Westfall and Young (1993), by the largest difference of all pairs: the chance of any false one is bounded",
    "holm": "Holm (1979): the chance of any false difference is bounded",
    "bh": "Benjamini and Hochberg (1995): the share of false differences among those found is bounded",
    "none": "p-values as they are",
}


def choose_correction(correction: str, tests: Sequence[str]) -> str:
    """The correction that is meant.

    `correction`: ``auto``: what the test allows, ``max-t`` of permutations, ``holm`` of others; or one of
    `CORRECTIONS`.
    """
    swapped = all(test == "permutation" for test in tests)
    if correction == "auto":
        return MAX_T if swapped else "holm"
    if correction not in CORRECTIONS:
        raise UnknownNameError("correction", correction, ["auto", *CORRECTIONS])
    if correction == MAX_T and not swapped:
        raise QueryError("correction 'max-t' is read off permutations; choose test permutation, or correction holm")
    return correction


def correct(p: Float, method: str = "holm") -> Float:
    """p-values corrected for being many.

    Parameters
    ----------
    p : float64 (n,)
        NaN, where nothing was compared, stays.
    method : {"holm", "bh", "none"}

    Returns
    -------
    float64 (n,)

    Raises
    ------
    UnknownNameError
        For another method.

    Examples
    --------
    >>> correct(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    if method not in CORRECTIONS or method == MAX_T:
        raise UnknownNameError("correction", method, [name for name in CORRECTIONS if name != MAX_T])
    defined = ~np.isnan(p)
    count = int(defined.sum())
    if method == "none" or count == 0:
        return p.copy()
    corrected = p.copy()
    if method == "bh":
        from scipy.stats import false_discovery_control

        corrected[defined] = false_discovery_control(p[defined])
        return corrected
    order = np.argsort(p[defined], kind="stable")
    steps = np.maximum.accumulate(p[defined][order] * (count - np.arange(count)))
    holm = np.empty(count)
    holm[order] = np.minimum(steps, 1.0)
    corrected[defined] = holm
    return corrected


def effects(score: Float, pairs: Int, *, lower_is_better: bool = False) -> dict[str, Array]:
    """Effect sizes of pairs of systems.

    `score` (float64 (systems, units)). `pairs` (int64 (pairs, 2)). `lower_is_better`: whose score is smaller wins; the
    other sizes have the sign of the difference all the same. Returns dict of str to array (pairs,): ``wins``,
    ``losses`` and ``ties``, units on which the first system is better, worse or equal; ``superiority``, the share of
    units on which it is better, equal ones counted half; ``dz``, the mean of the differences over their standard
    deviation (Cohen 1988); ``rank_biserial``, the matched-pairs rank-biserial correlation (Kerby 2014), the sum of
    signed ranks over the sum of ranks without units that are equal; ``cliffs_delta``, how often a score of the first
    system is larger than one of the second, minus how often it is smaller, over all pairs of units (Cliff 1993). NaN
    without units.
    """
    step, parts = max(1, _NUMBERS // max(score.shape[1], 1)), []
    # Of so many pairs at once as fit in the memory.
    for start in range(0, max(len(pairs), 1), step):
        first, second = pairs[start : start + step].T
        raw = differences(score[first], score[second]).T
        difference = settle(raw)
        larger, smaller = (flag.sum(axis=0) for flag in (difference > 0, difference < 0))
        equal = len(difference) - larger - smaller
        wins, losses = (smaller, larger) if lower_is_better else (larger, smaller)
        superiority = (wins + equal / 2) / np.where(len(difference), len(difference), np.nan)
        dz, rank_biserial = np.full((2, len(first)), np.nan)
        if len(raw) > 1:
            with np.errstate(invalid="ignore"):  # the spread of infinite differences is NaN
                mean, spread = raw.mean(axis=0), raw.std(axis=0, ddof=1)
                constant = settle(np.ptp(raw, axis=0)) == 0
            # 0 where no unit differs, NaN where all differ by the same.
            dz = divide(mean, spread, np.where(settle(mean) == 0, 0.0, np.nan), where=~constant & (spread > 0))
        if difference.size:
            size = np.abs(difference)
            # Equal units have the lowest ranks; without them all others move down by their number.
            rank = np.where(size > 0, _midranks(size) - (size == 0).sum(axis=0), 0.0)
            rank_biserial = divide((np.sign(difference) * rank).sum(axis=0), rank.sum(axis=0))
        counts = {"wins": wins, "losses": losses, "ties": equal, "superiority": superiority}
        parts.append({**counts, "dz": dz, "rank_biserial": rank_biserial})
    sizes = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    ordered, units = np.sort(settle(score), axis=1), score.shape[1]
    dominance = np.full(len(pairs), np.nan)
    for index, (left, right) in enumerate(pairs.tolist() if units else ()):
        below, upto = (np.searchsorted(ordered[right], ordered[left], side=side) for side in ("left", "right"))
        dominance[index] = ((below + upto).sum() / units - units) / units
    return sizes | {"cliffs_delta": dominance}


_NUMBERS = 1 << 22
"""Differences of scores in a block of pairs."""


def _midranks(values: Float) -> Float:
    """Ranks from 1 in each column, the mean rank where values are equal; NaN in columns with a NaN.

    Importing `scipy.stats` for its ``rankdata`` would take a third of a comparison.
    """
    order = values.argsort(axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    differing = ordered[1:] != ordered[:-1]
    place = np.arange(len(values), dtype=np.float64)[:, np.newaxis]
    first, last = np.zeros(values.shape), np.full(values.shape, len(values) - 1.0)
    first[1:] = np.maximum.accumulate(np.where(differing, place[1:], 0.0), axis=0)
    last[:-1] = np.minimum.accumulate(np.where(differing, place[:-1], len(values) - 1.0)[::-1], axis=0)[::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=0)
    ranks[:, np.isnan(values).any(axis=0)] = np.nan
    return ranks


TESTS = {
    "permutation": "the two systems' results swapped unit by unit, compared by the value itself",
    "wilcoxon": "Wilcoxon's signed-rank test of the units' differences",
    "t": "Student's paired t-test of the units' differences",
    SEQUENCE: "by a confidence sequence, valid at every look while units are added (Waudby-Smith et al. 2024)",
    "runs": "t-test by the variances between units and between runs, with Satterthwaite's degrees of freedom",
}
DEFAULT_TEST = "permutation"
"""The only one that is about the value itself for every aggregate."""
_DEFINED = {"t": ("mean",), "wilcoxon": ("mean", "median")}


def choose_tests(
    test: str, kinds: list[str], metrics: list[str], cluster: str | None, anytime: int | None = None
) -> list[str]:
    """The test of each metric.

    `test` ({"auto", "permutation", "wilcoxon", "t"}): ``auto`` is the permutation test, the only one that is about the
    value itself for every aggregate.
    """
    if anytime is not None:
        if test != "auto":
            raise QueryError(f"anytime has tests of its own, by confidence sequences: leave out test {test!r}")
        return [SEQUENCE] * len(kinds)
    name = DEFAULT_TEST if test == "auto" else test
    chosen = ["auto", *(known for known in TESTS if known not in ("runs", SEQUENCE))]
    if name not in chosen:
        raise UnknownNameError("test", test, chosen)
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


class Tested(NamedTuple):
    """Tests of some pairs, each alone."""

    p: Float
    """float64 (pairs,). 1 where no unit differs; NaN without units, or, for Student's test, with only one, and for
    means of infinite scores."""
    bounds: Callable[[float], tuple[Float, Float]]
    """The ends of the intervals of the differences that are not excluded at a level of significance."""


def test_pairs(test: str, sample: Sample, pairs: Int, how: Resampling) -> Tested:
    """The two-sided tests of pairs of systems that are not permutations.

    `test` ({"wilcoxon", "t", "sequence"}), `sample`: of one metric, on units that all systems of the pairs have.
    `pairs` (int64 (pairs, 2)).
    """
    nothing = np.full(len(pairs), np.nan)
    if sample.score.shape[1] == 0:
        return Tested(nothing, lambda _: (nothing, nothing))
    if test != SEQUENCE:
        from scipy import special, stats

        first, second = (sample.score[pairs[:, side], :, 0].T for side in (0, 1))
        difference = differences(first, second)
        # Signed ranks are about another number than the difference of the values.
        bounds = partial(_student_bounds, difference) if test == "t" else lambda _: (nothing, nothing)
        p, count, settled = np.ones(len(pairs)), len(difference), settle(difference)
        if test == "t" and count < 2:
            return Tested(nothing, bounds)
        differs = np.flatnonzero(settled.any(axis=0))
        columns = (settled if test == "wilcoxon" else difference)[:, differs]
        with np.errstate(all="ignore"):
            if test == "wilcoxon":
                # One pair at a time: scipy leaves the exact test for all columns if any of them has ties.
                p[differs] = [stats.wilcoxon(column).pvalue for column in columns.T]
            elif len(differs):
                constant = settle(np.ptp(columns, axis=0)) == 0
                mean, error = columns.mean(axis=0), columns.std(axis=0, ddof=1) / np.sqrt(count)
                # All differences equal and not 0: no doubt is left; of infinite ones nothing can be said.
                certain = np.where(np.isfinite(mean), np.inf, np.nan)
                ratio = divide(mean, error, certain, where=~constant & (error > 0))
                p[differs] = np.asarray(2 * special.stdtr(count - 1, -np.abs(ratio)))
        return Tested(p, bounds)
    assert how.anytime is not None
    if sample.clusters < how.least:  # nothing is excluded by fewer units than the first look needs
        return Tested(np.ones(len(pairs)), lambda _: (nothing, nothing))
    ratios = [sample.sums(system, 0) for system in range(len(sample.score))]
    value = np.array([divide(above.sum(), below.sum(), np.nan) for above, below in ratios])
    difference, errors = value[pairs[:, 0]] - value[pairs[:, 1]], difference_errors(sample, 0, pairs)
    about = errors, sample.clusters, how.anytime, how.level
    return Tested(sequence_p(settle(difference), *about), partial(sequence_bounds, difference, *about))


def least_p(test: str, clusters: int, how: Resampling) -> float:
    """The smallest p-value that a test of so many units can give.

    Examples
    --------
    >>> least_p("permutation", 5, Resampling.of(0.95, "bca", 10_000, 0))
    0.0625
    """
    if clusters < 1 or (test == "t" and clusters < 2) or (test == SEQUENCE and clusters < how.least):
        return 1.0
    if test in ("t", SEQUENCE):
        return 0.0
    listed = test == "wilcoxon" or how.lists_signs(clusters)
    return 2.0 ** (1 - clusters) if listed else 1 / (how.replicates + 1)


def _student_bounds(difference: Float, alpha: float) -> tuple[Float, Float]:
    from scipy.special import stdtrit

    count = len(difference)
    if count < 2:
        return np.full(difference.shape[1], np.nan), np.full(difference.shape[1], np.nan)
    with np.errstate(invalid="ignore"):
        mean = difference.mean(axis=0)
        half = stdtrit(count - 1, 1 - alpha / 2) * difference.std(axis=0, ddof=1) / np.sqrt(count)
        half = np.where(settle(np.ptp(difference, axis=0)) == 0, 0.0, half)
    return mean - half, mean + half


_SIGNED = ("difference", "dz", "rank_biserial", "cliffs_delta")
_FLOATS = ("difference", "low", "high", "p", "p_corrected", "superiority", *_SIGNED[1:])
_COUNTS = ("n", "wins", "ties")
LONG_NAMES = {
    "value": "aggregate over tracks",
    "letters": "systems that share a letter are not told apart by the test",
    "difference": "value of system minus value of other, on the units of both",
    "low": "lower end of the interval of differences that the corrected test does not exclude",
    "high": "upper end of the interval of differences that the corrected test does not exclude",
    "p": "p-value",
    "p_corrected": "p-value, corrected for all pairs of a metric",
    "least_p_corrected": "smallest corrected p-value that so few units can give",
    "significant": "whether the corrected p-value is 1 - level or less",
    "n": "number of units compared",
    "wins": "number of units on which system is better",
    "ties": "number of units on which both are equal",
    "superiority": "share of units on which system is better, equal ones counted half",
    "dz": "mean of the units' differences over their standard deviation",
    "rank_biserial": "matched-pairs rank-biserial correlation",
    "cliffs_delta": "Cliff's delta of the units' scores",
}


def comparison_dataset(
    frame: xr.Dataset,
    value: Float,
    arrays: Mapping[str, Array],
    least: Float,
    along: Mapping[str, Sequence[str]],
    attrs: Mapping[str, str],
) -> xr.Dataset:
    """Label the arrays of a comparison.

    `value` (float64 (systems, metrics)), `arrays` (mapping of str to array (systems, systems, metrics)): as
    :func:`empty_arrays` makes them, filled. `least` (float64 (metrics,)): the smallest corrected p-value that the units
    could give. `along`: ``aggregate`` and ``test`` of each metric, and perhaps `COMPARED_WITH`. Returns all arrays and
    ``significant`` over (system, other, metric), ``value`` and ``letters`` over (system, metric), ``least_p_corrected``
    over (metric). A system without a value has no letter, and none has where there are too few units for any two
    systems to differ, or where not all pairs were compared.
    """
    alpha = alpha_of(attrs)
    significant = np.asarray(arrays["p_corrected"] <= alpha)
    groups = []
    for metric, orientation in enumerate(names_of(frame, "orientation")):
        lettered = least[metric] <= alpha and not (COMPARED_WITH in along and along[COMPARED_WITH][metric])
        order = ranked(value[:, metric], orientation) if lettered else []
        defined = [system for system in order if not np.isnan(value[system, metric])]
        groups.append(significance_groups(significant[..., metric], defined) if defined else [])
    lettered_systems = np.array([letters(sets, len(value)) for sets in groups], dtype=str).reshape(value.shape[::-1]).T
    of_systems = {"value": value, "letters": lettered_systems, "least_p_corrected": least}
    return dataset_of({**arrays, "significant": significant, **of_systems}, frame, along, LONG_NAMES, attrs)


def empty_arrays(systems: int, metrics: int) -> dict[str, Array]:
    """The arrays of a comparison before anything was compared; NaN or 0 stays for a system against itself."""
    shape = (systems, systems, metrics)
    arrays: dict[str, Array] = {name: np.full(shape, np.nan) for name in _FLOATS}
    return arrays | {name: np.zeros(shape, dtype=np.int64) for name in _COUNTS}


def fill_pairs(arrays: Mapping[str, Array], metric: int, pairs: Int, found: Mapping[str, Array]) -> None:
    """Write results of pairs into both halves of a matrix of systems; no corrected p-value is below the plain one."""
    first, second = pairs.T
    if "p_corrected" in found:
        found = {**found, "p_corrected": np.maximum(found["p_corrected"], arrays["p"][first, second, metric])}
    turned = {name: -values for name, values in found.items() if name in _SIGNED}
    turned |= {name: values for name, values in found.items() if name in ("p", "p_corrected", "n", "ties")}
    if "low" in found:
        turned |= {"low": -found["high"], "high": -found["low"]}
    if "wins" in found:
        turned |= {"wins": found["losses"], "superiority": 1 - found["superiority"]}
    for name, values in turned.items():
        arrays[name][first, second, metric] = found[name]
        arrays[name][second, first, metric] = values


def correct_pairs(arrays: Mapping[str, Array], metric: int, correction: str, pairs: Int, alpha: float) -> float:
    """Write the corrected p-values of one metric, given the p-values of some pairs.

    They are corrected for all pairs, as if those left out did not differ at all: the pairs with the best system are
    chosen by the values themselves.

    Returns the level at which the test of each pair alone is as the corrected one at `alpha`.
    """
    p, systems = arrays["p"][pairs[:, 0], pairs[:, 1], metric], len(arrays["p"])
    others = np.ones(systems * (systems - 1) // 2 - len(pairs))
    every = np.append(p, others)
    corrected = correct(every, correction)
    fill_pairs(arrays, metric, pairs, {"p_corrected": corrected[: len(pairs)]})
    return level_of_each(correction, int((corrected <= alpha).sum()), int((~np.isnan(every)).sum()), alpha)


def level_of_each(correction: str, significant: int, number: int, alpha: float) -> float:
    """The level at which the test of each pair alone is as the corrected one at `alpha`.

    Holm's procedure stops at a pair whose p-value is above ``alpha / (number - significant)``, and those before it have
    smaller ones; Benjamini and Hochberg's intervals of those found are at ``alpha significant / number`` (Benjamini and
    Yekutieli 2005).

    Examples
    --------
    >>> level_of_each("holm", 2, 6, 0.05), level_of_each("bh", 2, 4, 0.05), level_of_each("none", 2, 6, 0.05)
    (0.0125, 0.025, 0.05)
    """
    if correction == "holm":
        return alpha / max(number - significant, 1)
    return alpha * max(significant, 1) / max(number, 1) if correction == "bh" else alpha


def correct_metrics(ds: xr.Dataset, family: Bool, at_level: Callable[[float], xr.Dataset]) -> xr.Dataset:
    """Correct the comparison of two systems by several metrics that are one question, by Holm's procedure.

    `family` (bool (metrics,)): the metrics; each other one is a question of its own. Returns the comparison with
    ``p_corrected``, ``significant``, ``low`` and ``high`` of the family; intervals exclude 0 just where differences are
    significant.
    """
    alpha = alpha_of(ds.attrs)
    corrected = correct(np.where(family, ds["p"].values[0, 1], np.nan))
    level = level_of_each("holm", int((corrected <= alpha).sum()), int((~np.isnan(corrected)).sum()), alpha)
    own = at_level(1 - level)
    variables = {name: ds[name].copy(data=np.where(family, own[name], ds[name])) for name in ("low", "high")}
    p = ds["p_corrected"].copy(data=np.where(family & ~np.isnan(ds["p"]), corrected, ds["p_corrected"]))
    return ds.assign({**variables, "p_corrected": p, "significant": p <= alpha}).assign_attrs(correction="holm")


def write_bounds(arrays: Mapping[str, Array], metric: int, pairs: Int, low: Float, high: Float, alpha: float) -> None:
    """Write the intervals of pairs into both halves; they exclude 0 where the corrected p-value is `alpha` or less.

    Their ends are the roundings of other sums than those of the test.
    """
    at, tiny = (pairs[:, 0], pairs[:, 1], metric), np.nextafter(0, 1)
    difference, significant, defined = arrays["difference"][at], arrays["p_corrected"][at] <= alpha, ~np.isnan(low)
    low, high = np.where(~significant & (low > 0), 0.0, low), np.where(~significant & (high < 0), 0.0, high)
    low = np.where(defined & significant & (difference > 0), np.maximum(low, tiny), low)
    high = np.where(defined & significant & (difference < 0), np.minimum(high, -tiny), high)
    fill_pairs(arrays, metric, pairs, {"low": low, "high": high})


def compared_pairs(ds: xr.Dataset, metric: int) -> Int:
    """The pairs of systems that a comparison holds by one metric: int64 (pairs, 2)."""
    pairs = every_pair(ds.sizes["system"])
    name = str(ds[COMPARED_WITH].values[metric]) if COMPARED_WITH in ds.coords else ""
    return pairs[(pairs == names_of(ds, "system").index(name)).any(axis=1)] if name else pairs


def every_pair(systems: int) -> Int:
    """All pairs of systems: int64 (pairs, 2)."""
    return np.stack(np.triu_indices(systems, 1), axis=1).astype(np.int64)


@dataclass(frozen=True)
class Compared:
    """Pairs of systems, int64 (pairs, 2), and the clusters of the units that all of them have, int64 (clusters,)."""

    pairs: Int
    clusters: Int


Critical = tuple[Float, Float]
"""The largest difference of pairs that is not excluded, in standard deviations, and these: float64 (pairs, values)."""


def swap_pairs(
    arrays: Mapping[str, Array],
    metrics: Sequence[int],
    parts: Sequence[Compared],
    swaps: Sequence[Swaps],
    correction: str,
    how: Resampling,
    leading: SwappedRatios | None = None,
) -> list[Critical]:
    """Write the p-values of permutation tests, and the corrected ones.

    `leading`: the sums of all systems, where the pairs of the only part are those with the best system; they are
    corrected for all pairs all the same.
    """
    spreads = []
    kept: list[Float] = []
    keeps = correction == MAX_T and leading is None and len(swaps) == 1
    keeps = keeps and 8 * how.replicates * swaps[0].near.size <= KEPT
    for part, one in zip(parts, swaps, strict=True):
        p, spread = count_extremes(one, how, kept if keeps else None)
        spreads.append(spread)
        for index, metric in enumerate(metrics):
            fill_pairs(arrays, metric, part.pairs, {"p": p[:, index]})
    if not parts:
        return []
    if correction != MAX_T:
        pairs = every_pair(len(arrays["p"])) if leading is None else parts[0].pairs
        levels = [correct_pairs(arrays, metric, correction, pairs, how.alpha) for metric in metrics]
        limits = []
        for one, spread in zip(swaps, spreads, strict=True):  # by the swaps of each pair alone, at the level of each
            columns = [critical_of_each(one, how, level)[:, index] for index, level in enumerate(levels)]
            limits.append((np.stack(columns, axis=1) / spread, spread))
        return limits
    pairs = np.concatenate([part.pairs for part in parts])
    if leading is None:
        every = np.unique(np.concatenate([part.clusters for part in parts]))
        own = [np.searchsorted(every, part.clusters) for part in parts]
        corrected, critical = simultaneous(list(zip(swaps, own, strict=True)), spreads, len(every), how, kept)
    else:
        of_leader, spread, critical = simultaneous_of_some(leading, pairs, how)
        corrected, spreads = of_leader[:, np.newaxis], [spread[:, np.newaxis]]
    for index, metric in enumerate(metrics):
        fill_pairs(arrays, metric, pairs, {"p_corrected": corrected[:, index]})
    return [(np.broadcast_to(critical, spread.shape), spread) for spread in spreads]


def least_of(test: str, correction: str, parts: Sequence[Compared], pairs: int, how: Resampling) -> float:
    """The smallest corrected p-value that a test can give of some of so many pairs."""
    least = min(least_p(test, len(part.clusters), how) for part in parts)
    if correction == MAX_T:
        every = np.unique(np.concatenate([part.clusters for part in parts]))
        return max(least, least_p(test, len(every), how))
    return min(least * max(pairs, 1), 1.0) if correction == "holm" else least


def pairs_by_units(included: Bool, pairs: Int) -> Iterator[tuple[Int, Int]]:
    """The rows of pairs of systems with the units that both have, for each different set of units.

    `included` (bool (systems, units)), `pairs` (int64 (pairs, 2)).
    """
    if (included == included[0]).all():
        yield np.arange(len(pairs), dtype=np.int64), np.flatnonzero(included[0])
        return
    for units, rows in columns_by_pattern(included[pairs[:, 0]] & included[pairs[:, 1]]):
        yield np.array(rows, dtype=np.int64), np.flatnonzero(units)
