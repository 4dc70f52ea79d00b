"""Right and wrong decisions counted by class, and the ratios that are read off the counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ..ragged import Float

COUNTED = ("hit", "false_alarm", "miss", "rejection")
"""What is counted of each class: true positives, false positives, false negatives, true negatives."""

_NEAR = 1e-12
"""Of the whole, up to which a difference of sums is none."""

NONE = "(none)"
"""What stands for the class of what was not classified; it is no class of its own."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Counts of decisions, arrays of one shape.

    Parameters
    ----------
    hit, false_alarm, miss, rejection : float64
        True positives, false positives, false negatives and true negatives.

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
        """Of each class, from counts by class of the reference and class of the estimate (the last two dims)."""
        hit = np.diagonal(matrix, axis1=-2, axis2=-1).copy()
        row, column = matrix.sum(axis=-1), matrix.sum(axis=-2)
        whole = matrix.sum(axis=(-2, -1))[..., np.newaxis]
        rest = (column - hit, row - hit, whole - row - column + hit)
        # Of seconds, what should be none is what rounding leaves of their difference.
        return cls(hit, *(np.where(one <= _NEAR * whole, 0.0, one) for one in rest))

    @classmethod
    def of_counts(cls, counts: Float, axis: int) -> Outcomes:
        """From an array that has `COUNTED` along one axis."""
        return cls(*np.moveaxis(counts, axis, 0))

    def precision(self) -> Float:
        """Equation 4 of the MIREX chapter; NaN where nothing was estimated."""
        return _ratio(self.hit, self.hit + self.false_alarm)

    def recall(self) -> Float:
        """Equation 5, accuracy on positive examples; NaN where the reference has none."""
        return _ratio(self.hit, self.hit + self.miss)

    def f_measure(self) -> Float:
        """Equation 6, the harmonic mean of precision and recall; NaN where neither side has anything."""
        return _ratio(2 * self.hit, 2 * self.hit + self.false_alarm + self.miss)

    def accuracy(self) -> Float:
        """Share of the decisions that are right; NaN where there is none."""
        return _ratio(self.hit + self.rejection, self.hit + self.false_alarm + self.miss + self.rejection)

    def negative_accuracy(self) -> Float:
        """Accuracy on negative examples, or specificity; NaN where there is none."""
        return _ratio(self.rejection, self.rejection + self.false_alarm)


RATIOS: Mapping[str, Callable[[Outcomes], Float]] = MappingProxyType(
    {
        "precision": Outcomes.precision,
        "recall": Outcomes.recall,
        "f_measure": Outcomes.f_measure,
        "accuracy": Outcomes.accuracy,
        "negative_accuracy": Outcomes.negative_accuracy,
    }
)
"""Everything that is read off the counts, by name."""


def _ratio(above: Float, below: Float) -> Float:
    found: Float = np.full(np.broadcast_shapes(np.shape(above), np.shape(below)), np.nan)
    return np.divide(above, below, out=found, where=below > 0)
