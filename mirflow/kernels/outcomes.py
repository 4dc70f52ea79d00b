"""Outcomes of decisions by class: true and false positives and negatives, and statistics of their sums.

Outcomes can be counted from confusion matrices, from whose sums the correlation of both sides is computed as well.
"""

from __future__ import annotations

from collections.abc import Mapping
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

    def parts(self, name: str) -> tuple[Float, Float]:
        """Numerator and denominator of a statistic in `RATIOS`."""
        above, below = (sum(getattr(self, count) for count in counts.split()) for counts in RATIOS[name])
        return above, below

    def ratio(self, name: str) -> Float:
        """A statistic in `RATIOS`; NaN if there is nothing to count, such as no estimates for the precision."""
        return divide(*self.parts(name), np.nan)


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


RATIOS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "precision": ("hit", "hit false_alarm"),
        "recall": ("hit", "hit miss"),
        "f_measure": ("hit hit", "hit hit false_alarm miss"),
        "iou": ("hit", "hit false_alarm miss"),
        "accuracy": ("hit rejection", "hit false_alarm miss rejection"),
        "negative_accuracy": ("rejection", "rejection false_alarm"),
    }
)
"""Numerators and denominators of statistics by name, as sums of counts.

Precision, recall and F-measure are equations 4 to 6 of the MIREX chapter; recall is the accuracy on positive examples.
"""
