"""Agreement of graders: on categories (kappa, alpha), in order or not, and on scales (intraclass correlation).

Measures of ratings are functions of sums over the items, so that items can be resampled efficiently. Two models are
fitted as well: that of Dawid and Skene, of what each observer (a grader, or a system) confuses, and variance components
of objects and observers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import MetricError
from ..ragged import Bool, Float, Int
from .ratios import divide

_STRENGTHS = ((0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))
"""Upper bounds of kappa with their descriptions."""


@dataclass(frozen=True, slots=True)
class GraderAgreement:
    """Agreement of graders."""

    kappa: float  # (observed - expected) / (1 - expected); NaN if undefined
    observed: float
    """Share of the pairs of graders of an item that agree, averaged over the items with at least two graders."""
    expected: float  # The same for random choices with the observed frequencies of the categories
    graded: int
    compared: int
    """Number of items with any grader, and with at least two."""
    unanimous: float
    divided: float
    scattered: float
    """Shares of the compared items on which all graders agree, some do, and no two do."""

    @property
    def strength(self) -> str:
        """Description by Landis and Koch (1977): ``poor`` below 0, ``slight``, ``fair``, ... ``almost perfect``.

        Examples
        --------
        >>> fleiss_kappa([[3, 0], [0, 3], [1, 2]]).strength
        'moderate'
        """
        if np.isnan(self.kappa):
            return ""
        if self.kappa < 0:
            return "poor"
        return next((word for most, word in _STRENGTHS if self.kappa <= most), "almost perfect")


def fleiss_kappa(counts: npt.ArrayLike) -> GraderAgreement:
    """Compute Fleiss's kappa for any number of categories and graders.

    Parameters
    ----------
    counts : (items, categories)
        Number of graders who put each item into each category; items may differ in their number of graders.

    Returns
    -------
    GraderAgreement
        With equal numbers of graders, this is Fleiss's definition. Otherwise, the observed agreement is the mean over
        items with at least two graders, and the share of a category is the share of an item's graders who chose it,
        averaged over all items (Gwet), so that items have equal weight. The kappa is NaN if no item has two graders or
        all chose one category.

    References
    ----------
    J. L. Fleiss, "Measuring nominal scale agreement among many raters", Psychological Bulletin 76(5), 1971;
    K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th edition, 2014, chapter 2 (with missing ratings);
    equations 16 to 18 of Downie et al. 2010, where equation 16 is misprinted: it divides by 1 - P, not 1 - Pe.

    Examples
    --------
    Two of three pairs agree on the first item, all on the second: P = (1/3 + 1) / 2, Pe = (5/6)^2 + (1/6)^2.

    >>> found = fleiss_kappa([[2, 1], [3, 0]])
    >>> round(found.observed, 4), round(found.expected, 4), round(found.kappa, 4)
    (0.6667, 0.7222, -0.2)
    """
    table = _table(counts)
    graders = table.sum(axis=1)
    table, graders = table[graders > 0], graders[graders > 0]
    several = graders > 1
    chosen, number = table[several], graders[several]
    agreeing = (chosen * (chosen - 1)).sum(axis=1)
    share = (table / graders[:, np.newaxis]).mean(axis=0) if len(table) else np.full(table.shape[1], np.nan)
    expected = float((share**2).sum())
    alike, apart = chosen.max(axis=1, initial=0) == number, agreeing == 0
    # Each share is counted because 1 minus the others may be slightly below 0.
    observed, unanimous, divided, scattered = (
        float(values.mean()) if len(values) else float("nan")
        for values in (agreeing / (number * (number - 1)), alike, ~(alike | apart), apart)
    )
    # With a single category, chance agreement is certain; its share is then exactly 1.
    kappa = (observed - expected) / (1 - expected) if expected != 1 else float("nan")
    return GraderAgreement(kappa, observed, expected, len(table), len(chosen), unanimous, divided, scattered)


def _table(counts: npt.ArrayLike) -> Float:
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] == 0:
        raise MetricError(f"expected a table (items, categories) of numbers of graders, got shape {table.shape}")
    wrong = np.argwhere(~((table >= 0) & (table == np.floor(table)) & np.isfinite(table)))
    if len(wrong):
        item, category = wrong[0].tolist()
        raise MetricError(f"not a number of graders: {table[item, category]:g} (item {item}, category {category})")
    return table


def merge_categories(counts: npt.ArrayLike, groups: Sequence[Sequence[int]]) -> Float:
    """Sum counts of graders (items, categories) over groups of categories: float64 (items, groups).

    Examples
    --------
    >>> merge_categories([[1, 1, 1], [0, 2, 1]], [[0], [1, 2]]).tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    table = _table(counts)
    return np.column_stack([table[:, list(group)].sum(axis=1) for group in groups])


Weights = Literal["nominal", "linear", "quadratic"]
Scale = Literal["nominal", "ordinal", "interval"]
Form = Literal["1,1", "1,k", "2,1", "3,1"]


class Sums(NamedTuple):
    """Sums from which a measure is computed."""

    groups: Float  # Sums over the items of each group: float64 (groups, sums)
    value: Callable[[Float], Float]  # Returns the measure of sums, float64 (n, sums): float64 (n,)

    def whole(self) -> float:
        """Measure of all items."""
        return float(self.value(self.groups.sum(axis=0, keepdims=True))[0])

    def drawn(self, draws: Int) -> Float:
        """Measure of resampled groups, given by their numbers: int64 (n, groups) to float64 (n,)."""
        number = len(self.groups)
        times = np.array([np.bincount(draw, minlength=number) for draw in draws], dtype=np.float64)
        return self.value(times @ self.groups)


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings of items by several graders."""

    table: Float  # float64 (items, graders): ratings; NaN if not rated
    group: Int  # Consecutive numbers, from 0, of the groups in which items are resampled: int64 (items,)
    groups: int = 1  # Number of groups; 1 without items

    @classmethod
    def of(cls, ratings: npt.ArrayLike) -> Ratings:
        """Make one group of all items; raise a MetricError unless ratings are a table of numbers."""
        table = np.asarray(ratings, dtype=np.float64)
        if table.ndim != 2:
            raise MetricError(f"expected a table (items, graders) of ratings, got shape {table.shape}")
        if np.isinf(table).any():
            raise MetricError("a rating is not finite; use NaN for missing ratings")
        return cls(table, np.zeros(len(table), dtype=np.int64))

    def several(self) -> Ratings:
        """Select items with at least two ratings; groups keep their numbers."""
        mask = (~np.isnan(self.table)).sum(axis=1) > 1
        return Ratings(self.table[mask], self.group[mask], self.groups)

    def added(self, values: Float) -> Float:
        """Sum values of the items (items, ...) over each group (groups, ...)."""
        sums: Float = np.zeros((self.groups, *values.shape[1:]))
        np.add.at(sums, self.group, values)
        return sums


def cohen_kappa(one: npt.ArrayLike, other: npt.ArrayLike, categories: int, weights: Weights = "nominal") -> float:
    """Compute Cohen's kappa of two graders: 1 - observed / expected disagreement, weighted by the distance of
    categories.

    Categories count from 0; NaN if not rated. Items rated by both count. A disagreement weighs 1 (nominal), the
    distance of the categories (linear), or its square. NaN if no disagreement is expected or no item was rated by both.
    Source: J. Cohen, Psychological Bulletin 70(4), 1968.
    """
    return kappa_sums(Ratings.of(np.column_stack([one, other])), categories, weights).whole()


def kappa_sums(ratings: Ratings, categories: int, weights: Weights = "quadratic") -> Sums:
    """Sums of the mean of Cohen's kappa over pairs of graders, weighted by the number of items rated by both.

    They are counts of pairs of categories for pairs of graders. Ratings are categories, from 0. If all graders rated
    all items, the mean is Light's kappa. NaN if it is undefined for all pairs of graders.
    Source: R. J. Light, Psychological Bulletin 76(5), 1971.
    """
    groups, graders = ratings.groups, ratings.table.shape[1]
    if graders < 2:
        return _nothing(groups)
    chosen = (ratings.table[:, :, np.newaxis] == np.arange(categories)).astype(np.float64)
    chosen = chosen.reshape(len(ratings.table), graders * categories)
    first, second = np.triu_indices(graders, 1)
    sums = np.empty((groups, len(first) * categories**2))
    for group in range(groups):
        rows = chosen[ratings.group == group]
        both = (rows.T @ rows).reshape(graders, categories, graders, categories)
        sums[group] = both[first, :, second].ravel()
    category = np.arange(categories, dtype=np.float64)
    distance: Float = np.abs(category[:, np.newaxis] - category)
    apart = {"nominal": (distance > 0).astype(np.float64), "linear": distance, "quadratic": distance**2}[weights]

    def mean_kappa(sums: Float) -> Float:
        both = sums.reshape(len(sums), -1, *apart.shape)
        common = both.sum(axis=(2, 3))
        observed = common * np.einsum("npij,ij->np", both, apart)
        expected = np.einsum("npj,npj->np", both.sum(axis=3) @ apart, both.sum(axis=2))
        kappa = 1 - divide(observed, expected, np.nan)
        mask = ~np.isnan(kappa)
        return divide(np.where(mask, common * kappa, 0.0).sum(axis=1), np.where(mask, common, 0.0).sum(axis=1), np.nan)

    return Sums(sums, mean_kappa)


def _nothing(groups: int) -> Sums:
    """Sums of a measure that is undefined."""
    return Sums(np.zeros((groups, 1)), lambda sums: np.full(len(sums), np.nan))


def intraclass_sums(ratings: Ratings, form: Form = "1,1") -> Sums:
    """Sums of an intraclass correlation of ratings on a scale, named as by Shrout and Fleiss.

    Items with at least two ratings count; if their numbers differ, their mean is that of the unbalanced analysis of
    variance, (N - sum of n^2 / N) / (items - 1).

    ``1,1`` is the correlation of single ratings, if items may be rated by different graders (one-way random effects);
    ``1,k`` that of the mean of an item's ratings. ``2,1`` and ``3,1`` are those of single ratings, if the same graders
    rated all items: absolute agreement (two-way random effects), and consistency, which ignores that some graders rate
    higher (two-way mixed effects).

    The result may be negative. It is NaN for fewer than two items, without variance, and for the last two forms unless
    all graders rated all items.
    Source: P. E. Shrout and J. L. Fleiss, Psychological Bulletin 86(2), 1979; for unequal numbers: S. R. Searle, G.
    Casella and C. E. McCulloch, "Variance components", 1992, section 3.6.
    """
    ratings = ratings.several()
    mask: Bool = ~np.isnan(ratings.table)
    if not len(ratings.table) or (form in ("2,1", "3,1") and not mask.all()):
        return _nothing(ratings.groups)
    number = mask.sum(axis=1).astype(np.float64)
    # Centred numbers do not lose digits when they are squared.
    centred = np.where(mask, ratings.table - ratings.table[mask].mean(), 0.0)
    total = centred.sum(axis=1)
    parts = (np.ones(len(number)), number, number**2, total, total**2 / number, (centred**2).sum(axis=1))
    sums = ratings.added(np.column_stack([*parts, centred]))

    def correlation(sums: Float) -> Float:
        items, number, squares, total, between, everything = sums[:, :6].T
        correction = divide(total**2, number, np.nan)
        of_items = divide(between - correction, items - 1, np.nan)
        if form in ("1,1", "1,k"):
            error = divide(np.maximum(everything - between, 0), number - items, np.nan)
            usual = divide(number - divide(squares, number, np.nan), items - 1, np.nan)
            spread = of_items if form == "1,k" else of_items + (usual - 1) * error
            return divide(of_items - error, spread, np.nan)
        graders = sums.shape[1] - 6
        columns = divide((sums[:, 6:] ** 2).sum(axis=1), items, np.nan) - correction
        error = divide(np.maximum(everything - between - columns, 0), (items - 1) * (graders - 1), np.nan)
        spread = of_items + (graders - 1) * error
        if form == "2,1":
            spread = spread + divide(graders * (columns / (graders - 1) - error), items, np.nan)
        return divide(of_items - error, spread, np.nan)

    return Sums(sums, correlation)


def alpha_sums(ratings: Ratings, scale: Scale = "interval") -> Sums:
    """Sums of Krippendorff's alpha, 1 - observed / expected disagreement, of any number of graders on several scales.

    They are counts of pairs of values of an item; items with at least two ratings count. A disagreement weighs 1
    (nominal), the square of the number of ratings between the two (ordinal), or the square of their difference
    (interval). NaN if all ratings are equal or no item has two.
    Source: K. Krippendorff, "Computing Krippendorff's alpha-reliability", 2011.
    """
    ratings = ratings.several()
    groups, mask = ratings.groups, ~np.isnan(ratings.table)
    if not len(ratings.table):
        return _nothing(groups)
    values, code = np.unique(ratings.table[mask], return_inverse=True)
    width = len(values)
    # Counts of each value of each item.
    cell = np.nonzero(mask)[0] * width + code
    counts = np.bincount(cell, minlength=len(mask) * width).reshape(len(mask), width).astype(np.float64)
    scaled = counts / (counts.sum(axis=1) - 1)[:, np.newaxis]
    met = np.empty((groups, width, width))
    for group in range(groups):
        rows = ratings.group == group
        met[group] = scaled[rows].T @ counts[rows] - np.diag(scaled[rows].sum(axis=0))
    apart: Float = (values[:, np.newaxis] != values).astype(np.float64)
    if scale == "interval":
        apart = (values[:, np.newaxis] - values) ** 2

    def alpha(sums: Float) -> Float:
        share, pairs = sums[:, :width], sums[:, width:]
        if scale == "ordinal":
            # Ratings up to the middle of each value, whose differences are distances.
            middle = np.cumsum(share, axis=1) - share / 2
            distance = (middle[:, :, np.newaxis] - middle[:, np.newaxis]) ** 2
            expected = np.einsum("ni,nij,nj->n", share, distance, share, optimize=True)
            observed = np.einsum("nij,nij->n", pairs.reshape(-1, width, width), distance)
        else:
            expected = np.einsum("ni,ij,nj->n", share, apart, share, optimize=True)
            observed = pairs[:, 0]
        return 1 - divide((share.sum(axis=1) - 1) * observed, expected, np.nan)

    flat = met.reshape(groups, -1) if scale == "ordinal" else np.einsum("gij,ij->g", met, apart)[:, np.newaxis]
    return Sums(np.column_stack([ratings.added(counts), flat]), alpha)


ITERATIONS = 100
TOLERANCE = 1e-6
"""Change of the mean log likelihood of an item from which iterations end."""
_SMALLEST = 1e-10  # Smallest probability of a confusion


class LatentClasses(NamedTuple):
    """The fitted model."""

    posterior: Float  # Probability of each class for each item: float64 (items, classes)
    confusion: Float  # Probability that an observer says a class, given the true one: float64 (observers, true, said)
    prior: Float  # Probability of each true class: float64 (classes,)


def fit_latent_classes(
    codes: Int, weight: Float, classes: int, iterations: int = ITERATIONS, tolerance: float = TOLERANCE
) -> LatentClasses:
    """Fit the model of Dawid and Skene to weighted items, from the shares of votes on.

    Items that all observers classify alike are one item with their weight, so that long annotations cost little.

    `codes` (int64 (observers, items)): class that each observer says, from 0 on; -1 where an observer says nothing.
    `weight` (float64 (items,)): how much each item counts, such as its seconds. `tolerance`: change of the mean log
    likelihood from which iterations end.
    """
    from scipy import sparse

    # Patterns in the order of their classes; ranks stay below the number of items, so that no number overflows.
    number, first = np.zeros(codes.shape[1], dtype=np.int64), np.zeros(min(1, codes.shape[1]), dtype=np.int64)
    for row in codes:
        first, index = np.unique(number * (classes + 1) + row + 1, return_index=True, return_inverse=True)[1:]
        number = index.ravel().astype(np.int64)
    patterns, index = codes[:, first], number
    total: Float = np.bincount(index, weights=weight, minlength=patterns.shape[1]).astype(np.float64)
    # 1 where an observer says a class of an item; a dense array would take many times as long to multiply.
    observer, item = np.nonzero(patterns >= 0)
    rows = observer * classes + patterns[observer, item]
    shape = len(patterns) * classes, patterns.shape[1]
    says = sparse.csr_array((np.ones(len(item)), (rows, item)), shape=shape)
    votes = np.asarray(says.T @ np.tile(np.eye(classes), (len(codes), 1)))
    count = votes.sum(axis=1, keepdims=True)
    posterior = np.divide(votes, count, out=np.full(votes.shape, 1 / classes), where=count > 0)
    likelihood, converged = -np.inf, False
    for iteration in range(iterations + 1):
        # Confusions and priors that make the classifications most probable
        weighted = posterior * total[:, np.newaxis]
        counts = (says @ weighted).reshape(-1, classes, classes).transpose(0, 2, 1)
        sums = counts.sum(axis=2, keepdims=True)
        shares = np.divide(counts, sums, out=np.zeros(counts.shape), where=sums > 0)
        prior = np.maximum(weighted.sum(axis=0) / weighted.sum(), _SMALLEST)
        confusion = np.maximum(shares, _SMALLEST)
        if converged or iteration == iterations:
            break
        joint = np.log(prior) + says.T @ np.log(confusion).transpose(0, 2, 1).reshape(-1, classes)
        highest = joint.max(axis=1, keepdims=True)
        posterior = np.exp(joint - highest)
        evidence = posterior.sum(axis=1, keepdims=True)
        posterior /= evidence
        before, likelihood = likelihood, float(total @ (highest + np.log(evidence)).ravel() / total.sum())
        converged = likelihood - before < tolerance
    return LatentClasses(posterior[index], confusion, prior)


class Components(NamedTuple):
    """Variances of a model ``value = mean + object + observer + residual`` with independent random effects.

    Estimates below 0 are 0, as usual (Searle, Casella and McCulloch 1992, section 3.5).
    """

    objects: Float  # float64 (values,)
    observers: Float  # 0 where no observer has two objects: it is part of the residual
    residual: Float

    def of_one(self, observers: float) -> Float:
        """The variance of an object's mean over so many observers who observe no other object: float64 (values,)."""
        return np.asarray(self.objects + (self.observers + self.residual) / observers)


def variance_components(values: Float, objects: Int, observers: Int, strata: Int | None = None) -> Components:
    """Estimate variance components by the method of moments.

    Half of the mean squared difference of two values is, by expectation, the sum of the components in which the two
    differ: observer and residual for values of one object, object and residual for values of one observer, and all
    three for others. The three means over all pairs of values give the components without bias, whichever cells are
    empty. In a table without empty cells these are the estimates of the analysis of variance.

    `values` (float64 (observations, values)), `objects`, `observers` (int64 (observations,)): from 0; no two
    observations have both in common. `strata` (int64 (observations,) or None): groups of objects (queries of
    candidates), within which objects are compared: their variance is that within a group. None: one group. Returns NaN
    where no object has two values, or no two objects of a group have values of different observers.

    References
    ----------
    Searle, Casella and McCulloch, *Variance Components*, 1992, chapters 4 and 5; Brennan, *Generalizability Theory*,
    2001, chapter 3.

    Examples
    --------
    >>> table = np.array([[2.0, 4.0], [5.0, 5.0], [8.0, 9.0]])
    >>> objects, observers = (axis.ravel() for axis in np.indices(table.shape))
    >>> [part.round(6).tolist() for part in variance_components(table.reshape(-1, 1), objects, observers)]
    [[7.5], [0.333333], [0.5]]
    """
    groups = np.zeros(len(values), np.int64) if strata is None else strata
    size = np.bincount(groups)
    centre = np.zeros((len(size), values.shape[1]))
    np.add.at(centre, groups, values)
    centred = values - (centre / np.maximum(size, 1)[:, np.newaxis])[groups]
    both = np.unique(groups * (int(observers.max(initial=0)) + 1) + observers, return_inverse=True)[1]
    # Half of the summed squared differences of pairs within groups (values,), and the number of pairs (values,)
    sums = []
    for index in (groups, objects, both):
        size = np.bincount(index)
        total, squares = (np.zeros((len(size), values.shape[1])) for _ in range(2))
        np.add.at(total, index, centred)
        np.add.at(squares, index, centred**2)
        number = np.full(values.shape[1], float((size * (size - 1) // 2).sum()))
        sums.append(((size[:, np.newaxis] * squares - total**2).sum(axis=0) / 2, number))
    every, same_object, same_observer = sums
    others = [every[at] - same_object[at] - same_observer[at] for at in (0, 1)]
    within, between, all_three = (divide(total, count, np.nan) for total, count in (same_object, same_observer, others))
    if not same_observer[1].any():
        components = all_three - within, np.zeros_like(within), within
    else:
        components = all_three - within, all_three - between, within + between - all_three
    return Components(*(np.asarray(np.maximum(part, 0.0)) for part in components))
