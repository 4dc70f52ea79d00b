"""Outcomes of decisions by class: true and false positives and negatives, and statistics of their sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ..ragged import Float
from .ratios import divide

COUNTED = ("hit", "false_alarm", "miss", "rejection")
"""Counts of each class: true positives, false positives, false negatives, true negatives."""

MATCHED = ("matched", "reference", "estimate")
"""Counts or seconds of each class for matched items: matched ones, and all of either side."""

_NEAR = 1e-12  # Relative size up to which a difference of sums is treated as 0
NONE = "(none)"  # Name of the entry for unclassified items, which is not a class


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Numbers of true positives, false positives, false negatives and true negatives, float64 arrays of one shape."""

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
    mask = np.minimum(*spreads) > _NEAR * whole**2
    correlation: Float = np.where(whole > 0, 0.0, np.nan)
    correlation[mask] = covariance[mask] / np.sqrt(spreads[0][mask] * spreads[1][mask])
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
