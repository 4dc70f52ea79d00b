"""Agreement of decisions: graders beyond chance, and correct and wrong decisions by class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from ..errors import MetricError
from ..ragged import Float
from .ratios import divide

_STRENGTHS = ((0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))
"""Upper bounds of kappa with their descriptions."""


@dataclass(frozen=True, slots=True)
class GraderAgreement:
    """Agreement of graders."""

    kappa: float
    """(observed - expected) / (1 - expected); NaN if undefined."""
    observed: float
    """Share of the pairs of graders of an item that agree, averaged over the items with at least two graders."""
    expected: float
    """The same for random choices with the observed frequencies of the categories."""
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
    observed = _mean(agreeing / (number * (number - 1)))
    share = (table / graders[:, np.newaxis]).mean(axis=0) if len(table) else np.full(table.shape[1], np.nan)
    expected = float((share**2).sum())
    # With a single category, chance agreement is certain; its share is then exactly 1.
    kappa = (observed - expected) / (1 - expected) if expected != 1 else float("nan")
    alike, apart = chosen.max(axis=1, initial=0) == number, agreeing == 0
    # Each share is counted because 1 minus the others may be slightly below 0.
    unanimous, divided, scattered = _mean(alike), _mean(~(alike | apart)), _mean(apart)
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


def _mean(values: npt.NDArray[np.float64] | npt.NDArray[np.bool_]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def merge_categories(counts: npt.ArrayLike, groups: Sequence[Sequence[int]]) -> Float:
    """Sum counts of graders (items, categories) over groups of categories: float64 (items, groups).

    Examples
    --------
    >>> merge_categories([[1, 1, 1], [0, 2, 1]], [[0], [1, 2]]).tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    table = _table(counts)
    return np.column_stack([table[:, list(group)].sum(axis=1) for group in groups])


COUNTED = ("hit", "false_alarm", "miss", "rejection")
"""Counts of each class: true positives, false positives, false negatives, true negatives."""

MATCHED = ("matched", "reference", "estimate")
"""Counts or seconds of each class for matched items: matched ones, and all of either side."""

_NEAR = 1e-12
"""Relative size up to which a difference of sums is treated as 0."""

NONE = "(none)"
"""Name of the entry for unclassified items, which is not a class."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Numbers of true positives, false positives, false negatives and true negatives, float64 arrays of one shape.

    Examples
    --------
    >>> both = Outcomes.of_confusion(np.array([[3.0, 1.0], [2.0, 4.0]]))
    >>> both.recall().tolist(), both.precision().tolist()
    ([0.75, 0.6666666666666666], [0.6, 0.8])
    """

    hit: Float
    false_alarm: Float
    miss: Float
    rejection: Float

    @classmethod
    def of_confusion(cls, matrix: Float) -> Outcomes:
        """Count outcomes of each class from counts by class of the reference and the estimate (the last two dims)."""
        hit = np.diagonal(matrix, axis1=-2, axis2=-1).copy()
        row, column = matrix.sum(axis=-1), matrix.sum(axis=-2)
        whole = matrix.sum(axis=(-2, -1))[..., np.newaxis]
        rest = (column - hit, row - hit, whole - row - column + hit)
        # Differences of seconds that should be 0 may be nonzero because of rounding.
        return cls(hit, *(np.where(seconds <= _NEAR * whole, 0.0, seconds) for seconds in rest))

    @classmethod
    def of_counts(cls, counts: Float, axis: int) -> Outcomes:
        """Count outcomes from an array with `COUNTED` along one axis."""
        return cls(*np.moveaxis(counts, axis, 0))

    def precision(self) -> Float:
        """Equation 4 of the MIREX chapter; NaN if nothing was estimated."""
        return divide(self.hit, self.hit + self.false_alarm, np.nan)

    def recall(self) -> Float:
        """Equation 5, accuracy on positive examples; NaN if the reference has none."""
        return divide(self.hit, self.hit + self.miss, np.nan)

    def f_measure(self) -> Float:
        """Equation 6, the harmonic mean of precision and recall; NaN if both sides are empty."""
        return divide(2 * self.hit, 2 * self.hit + self.false_alarm + self.miss, np.nan)

    def iou(self) -> Float:
        """Intersection over union, the index of Jaccard; NaN if both sides are empty."""
        return divide(self.hit, self.hit + self.false_alarm + self.miss, np.nan)

    def accuracy(self) -> Float:
        """Share of the decisions that are right; NaN without decisions."""
        return divide(self.hit + self.rejection, self.hit + self.false_alarm + self.miss + self.rejection, np.nan)

    def negative_accuracy(self) -> Float:
        """Accuracy on negative examples, or specificity; NaN without negative examples."""
        return divide(self.rejection, self.rejection + self.false_alarm, np.nan)


def margins(matrix: Float) -> Float:
    """Sums of confusion matrices, additive over tracks, from which their correlation is computed.

    From counts by class of the reference and the estimate, float64 (..., classes, classes): the sum of the diagonal,
    the total sum, and sums of rows and of columns, float64 (..., 2 + 2 * classes).
    """
    right = np.diagonal(matrix, axis1=-2, axis2=-1).sum(axis=-1, keepdims=True)
    row, column = matrix.sum(axis=-1), matrix.sum(axis=-2)
    return np.concatenate([right, row.sum(axis=-1, keepdims=True), row, column], axis=-1)


def matthews_correlation(sums: Float) -> Float:
    """Correlation of the classes of both sides in [-1, 1]: Matthews's for two, R_K of Gorodkin (2004) for more.

    `sums` are `margins`, or sums of them over tracks. NaN without counts; 0 if a side has only one class, as in
    scikit-learn.

    Examples
    --------
    >>> matthews_correlation(margins(np.array([[2.0, 1.0], [0.0, 3.0]]))).round(4).item()
    0.7071
    """
    right, whole = sums[..., 0], sums[..., 1]
    row, column = np.split(sums[..., 2:], 2, axis=-1)
    covariance = right * whole - (row * column).sum(axis=-1)
    spreads = [whole**2 - (side**2).sum(axis=-1) for side in (row, column)]
    # Variances of seconds that should be 0 may be nonzero because of rounding.
    some = np.minimum(*spreads) > _NEAR * whole**2
    correlation: Float = np.where(whole > 0, 0.0, np.nan)
    correlation[some] = covariance[some] / np.sqrt(spreads[0][some] * spreads[1][some])
    return correlation


RATIOS: Mapping[str, Callable[[Outcomes], Float]] = MappingProxyType(
    {
        "precision": Outcomes.precision,
        "recall": Outcomes.recall,
        "f_measure": Outcomes.f_measure,
        "iou": Outcomes.iou,
        "accuracy": Outcomes.accuracy,
        "negative_accuracy": Outcomes.negative_accuracy,
    }
)
"""Statistics of counts by name."""
