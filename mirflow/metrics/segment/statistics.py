"""Regularity and balance: statistics of either the estimate or the reference alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...kernels.ragged_ops import sum_by
from ...kernels.ratios import Scored, divide
from ...ragged import Float, Int, rows_of
from ..base import Pairs, Shared
from ..measures import Measure, Parameter, Weight, metric, metrics_in
from ..pair import documented, row_of_intervals
from ..util import Array, validate_intervals
from .kernel import encode, take

ONE_SIDE = "one side"
"""The `needs` of these metrics."""


class Lengths:
    """Lengths of the unmodified segments of rows, with numbers of labels from 0."""

    def __init__(self, start: Float, end: Float, code: Int, counts: Int) -> None:
        self.length, self.code, self.counts = end - start, code, counts
        self.row = rows_of(counts)

    @cached_property
    def seconds(self) -> Float:
        """Total length of the segments of each row."""
        return sum_by(self.row, self.length, len(self.counts))

    def variation(self) -> Float:
        """Standard deviation of the lengths over their mean; NaN if their sum is 0."""
        number = self.counts.astype(np.float64)
        mean = divide(self.seconds, number, np.nan)
        squares = sum_by(self.row, (self.length - mean[self.row]) ** 2, len(number))
        return divide(np.sqrt(divide(squares, number)), mean, np.nan)

    def balance(self) -> Float:
        """Entropy of the labels' shares of time over that of equal shares; NaN with fewer than two labels."""
        size = int(self.code.max(initial=0)) + 1
        key, index = np.unique(self.row * size + self.code, return_inverse=True)
        row, time = key // size, sum_by(index, self.length, len(key))
        row, time = row[time > 0], time[time > 0]
        labels = np.bincount(row, minlength=len(self.counts)).astype(np.float64)
        whole = self.seconds[row]
        entropy = sum_by(row, time / whole * (np.log(whole) - np.log(time)), len(self.counts))
        return np.minimum(divide(entropy, np.log(np.maximum(labels, 1.0)), np.nan), 1.0)


class OneSide(Shared):
    """Unmodified segments of either side of pairs."""

    def __init__(self, pairs: Pairs) -> None:
        super().__init__()
        self._pairs = pairs

    def lengths(self, measure: Measure) -> Lengths:
        """Lengths of the segments of the side chosen by a measure."""
        side = str(measure["side"])
        rows, chosen = self._pairs.sides[side == "estimate"]

        def of_side() -> Lengths:
            spans = take(rows, chosen, encode(rows.labels).of_label)
            return Lengths(spans.start, spans.end, spans.code, spans.counts)

        return self.once(side, of_side)


_of_one = partial(
    metric,
    needs=ONE_SIDE,
    default=False,
    orientation="none",
    pooling="none",
    perfect=None,
    parameters=(Parameter("side", "estimate", choices=("estimate", "reference"), help="side to describe"),),
)


@_of_one(
    "Variation of segment lengths",
    Weight("number of segments", "segments"),
    range=(0.0, float("inf")),
    literature="coefficient of variation; on regular lengths @sargent2017",
)
def _length_variation(sides: OneSide, measure: Measure) -> Scored:
    """Standard deviation of the lengths of the segments over their mean: 0 if all are equally long."""
    lengths = sides.lengths(measure)
    variation = lengths.variation()
    return variation, np.where(np.isnan(variation), 0.0, lengths.counts.astype(np.float64))


@_of_one("Balance of labels", Weight("length of the segments", "s"), literature="evenness of @pielou1966")
def _label_balance(sides: OneSide, measure: Measure) -> Scored:
    """Entropy of the labels' shares of time over its largest value: 1 if all have equal shares."""
    lengths = sides.lengths(measure)
    balance = lengths.balance()
    return balance, np.where(np.isnan(balance), 0.0, lengths.seconds)


METRICS = metrics_in(globals())
_documented = documented("", METRICS)


@_documented
def length_variation(intervals: Array) -> float:
    """Variation of the lengths of segments: their standard deviation over their mean.

    Parameters
    ----------
    intervals : (n, 2), seconds

    Returns
    -------
    float
        0 if all are equally long, NaN without segments.

    Raises
    ------
    ValueError
        If `intervals` is not a valid array of intervals.

    Examples
    --------
    >>> length_variation(np.array([[0.0, 4.0], [4.0, 8.0], [8.0, 12.0]])), length_variation(np.array([[0, 1], [1, 4]]))
    (0.0, 0.5)
    """
    return float(_lengths(intervals, [""] * len(intervals)).variation()[0])


@_documented
def label_balance(intervals: Array, labels: Sequence[Any]) -> float:
    """Balance of the labels: entropy of their shares of time over its largest value.

    Parameters
    ----------
    intervals : (n, 2), seconds
    labels : sequence
        One per interval; case is ignored.

    Returns
    -------
    float
        1 if all have equal shares, NaN with fewer than two labels.

    Raises
    ------
    ValueError
        If `intervals` is not a valid array of intervals, or the numbers of labels and intervals differ.

    Examples
    --------
    >>> label_balance(np.array([[0.0, 4.0], [4.0, 8.0], [8.0, 16.0]]), ["A", "A", "B"])
    1.0
    >>> round(label_balance(np.array([[0.0, 4.0], [4.0, 8.0], [8.0, 12.0]]), ["A", "B", "A"]), 4)
    0.9183
    """
    if len(intervals) != len(labels):
        raise ValueError("Number of intervals does not match number of labels")
    return float(_lengths(intervals, labels).balance()[0])


def _lengths(intervals: Array, labels: Sequence[Any]) -> Lengths:
    validate_intervals(intervals)
    row = row_of_intervals(intervals, labels)
    code = encode(row.labels).of_label[row.columns["label"]]
    return Lengths(row.columns["start"], row.columns["end"], code, row.counts[0])
