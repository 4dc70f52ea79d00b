"""Regularity of the lengths of segments, and balance of their labels: metrics and functions of one side alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...kernels.ragged_ops import sum_by
from ...kernels.ratios import Scored, divide
from ...ragged import Float, Int, rows_of
from ..base import Pairs, Shared, computed_once
from ..measures import Measure, Metric, Parameter, Value, Weight, metric, metrics_in
from ..pair import documented, row_of_intervals
from ..util import Array, validate_intervals
from .kernel import encode, take

ONE_SIDE = "one side"  # The `needs` of these metrics


class OneSide(Shared):
    """Unmodified segments of either side of pairs."""

    def __init__(self, pairs: Pairs) -> None:
        super().__init__()
        self._pairs = pairs

    @computed_once
    def segments(self, side: Value) -> tuple[Float, Int, Int, Int, Float]:
        """Lengths of the segments of a side, their labels as numbers from 0, their pairs, and the number and total
        length of the segments of each pair.
        """
        rows, chosen = self._pairs.sides[side == "estimate"]
        spans = take(rows, chosen, encode(rows.labels).of_label)
        length, pair = spans.end - spans.start, rows_of(spans.counts)
        return length, spans.code, pair, spans.counts, sum_by(pair, length, len(spans.counts))


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
    length, _, pair, counts, seconds = sides.segments(measure["side"])
    number = counts.astype(np.float64)
    mean = divide(seconds, number, np.nan)
    squares = sum_by(pair, (length - mean[pair]) ** 2, len(number))
    variation = divide(np.sqrt(divide(squares, number)), mean, np.nan)
    return variation, np.where(np.isnan(variation), 0.0, number)


@_of_one("Balance of labels", Weight("length of the segments", "s"), literature="evenness of @pielou1966")
def _label_balance(sides: OneSide, measure: Measure) -> Scored:
    """Entropy of the labels' shares of time over its largest value: 1 if all have equal shares."""
    length, code, pair, counts, seconds = sides.segments(measure["side"])
    size = int(code.max(initial=0)) + 1
    key, index = np.unique(pair * size + code, return_inverse=True)
    pair, time = key // size, sum_by(index, length, len(key))
    pair, time = pair[time > 0], time[time > 0]
    labels = np.bincount(pair, minlength=len(counts)).astype(np.float64)
    whole = seconds[pair]
    entropy = sum_by(pair, time / whole * (np.log(whole) - np.log(time)), len(counts))
    balance = np.minimum(divide(entropy, np.log(np.maximum(labels, 1.0)), np.nan), 1.0)
    return balance, np.where(np.isnan(balance), 0.0, seconds)


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
    return _score(_length_variation, intervals, [""] * len(intervals))


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
    return _score(_label_balance, intervals, labels)


def _score(metric: Metric, intervals: Array, labels: Sequence[Any]) -> float:
    validate_intervals(intervals)
    row = row_of_intervals(intervals, labels)
    return float(metric.measure().read(OneSide(Pairs.in_order(row, row)))[0][0])
