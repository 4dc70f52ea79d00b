"""Metrics of segments as annotated, with evidence and functions for one pair: functional labels, and single sides.

Metrics of functional labels, such as verse and chorus, are shares of the time with equal labels on the exact union of
all boundaries. Unlike other metrics of labels, these require the same vocabulary on both sides; case is ignored.
Metrics of a single side are the variation of the lengths of its segments and the balance of its labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ...annotations.annotation import Annotation, texts_at
from ...kernels.intervals import NOTHING
from ...kernels.outcomes import MATCHED, NONE
from ...kernels.ragged_ops import sum_by
from ...kernels.ratios import Scored, divide
from ...ragged import Column, Float, Int, Ragged, rows_of
from ..base import Pairs, Shared, Sparse, computed_once
from ..cleaning import Cleaned, usable_pair
from ..measures import FUNCTIONS, Measure, Metric, Parameter, Value, Weight, family, metric, metrics_in
from ..pair import documented, row_of_intervals
from ..util import Array, validate_intervals
from . import kernel

MS = "ms"


def milliseconds(times: Float) -> Float:
    """Convert seconds to whole milliseconds like ``int(round(t, 3) * 1000)``, which may be too small by one.

    Examples
    --------
    >>> milliseconds(np.array([1.0, 1.001, 1.0015, 2.0005, 32.3])).tolist()
    [1000.0, 1000.0, 1002.0, 2001.0, 32299.0]
    """
    below = np.floor(times * 1000)
    below -= below / 1000 > times
    # Compares a time with the middle of two milliseconds by its exact product with 2000.
    high = times * 134217729.0
    high -= high - times
    beyond = (high * 2000 - (2 * below + 1)) + (times - high) * 2000
    rounded = below + ((beyond > 0) | ((beyond == 0) & (below % 2 != 0)))
    return np.asarray(np.trunc(rounded / 1000 * 1000))


class LabelTimes(Shared):
    """Labels of unmodified pairs, and the time that they share.

    Pairs without a reference share no time. `names` are the sorted labels of either side in lower case; code 1 is the
    first.
    """

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        sides = pairs.references, pairs.estimates
        lowered = [[label.lower() for label in (*side.labels, "")] for side in sides]
        codes = (np.unique(side.columns["label"]).tolist() for side in sides)
        used = {labels[code] for labels, of_side in zip(lowered, codes, strict=True) for code in of_side}
        self.names = tuple(sorted(used - {""}))
        number = {name: code for code, name in enumerate(self.names, NOTHING + 1)}
        self._codes = [np.array([number.get(label, NOTHING) for label in side], dtype=np.int64) for side in lowered]

    @computed_once
    def stretches(self, extent: Value, times: Value) -> tuple[kernel.Stretches, Float]:
        """Stretches on which either side has a label, within an extent, and the start of each pair's.

        Times are in seconds or milliseconds, from the beginning of the compared extent of a pair.
        """
        sides = [kernel.take(*side, codes) for side, codes in zip(self.pairs.sides, self._codes, strict=True)]
        if times == MS:
            sides = [replace(side, start=milliseconds(side.start), end=milliseconds(side.end)) for side in sides]
        first = [kernel.extreme(np.minimum, side.start, side.counts, np.inf) for side in sides]
        last = [kernel.extreme(np.maximum, side.end, side.counts, -np.inf) for side in sides]
        if extent == "common":
            low, high = np.maximum(*first), np.minimum(*last)
        elif extent == "given":
            low, high = np.minimum(*first), np.maximum(*last)
        else:
            low, high = first[0], last[0]
        # The compared time is empty without a reference.
        mask = (sides[0].counts > 0) & (high > low)
        low, high = np.where(mask, low, 0.0), np.where(mask, high, 0.0)
        cropped = []
        for side in sides:
            begin, stop = np.repeat(low, side.counts), np.repeat(high, side.counts)
            start, end = (np.minimum(np.maximum(time, begin), stop) - begin for time in (side.start, side.end))
            cropped.append(replace(side, start=start, end=end))
        return kernel.find_stretches(cropped[0], cropped[1], high - low), low


_PER_SECOND: Mapping[Value, float] = MappingProxyType({"exact": 1.0, MS: 1000.0})  # By the parameter `times`
_EXTENTS = "compared time: that of the reference, of both sides or of either side"
_TIMES = "unmodified, or truncated to whole milliseconds as in MIREX 2025"
_PARAMETERS = (
    Parameter("extent", "reference", choices=("reference", "common", "given"), help=_EXTENTS),
    Parameter("times", "exact", choices=("exact", MS), help=_TIMES),
)
_of_each = partial(
    metric,
    needs=FUNCTIONS,
    default=False,
    parameters=_PARAMETERS,
    perfect_exceptions="0 without labels",
    unit="s",
    range=(0.0, np.inf),
    orientation="none",
    pooling="none",
    perfect=None,
)


@family(
    {
        "label_accuracy": Weight("time on which either side has a label", "s"),
        "iou": Weight("time with a label on either side, summed over labels", "s"),
    },
    {
        "label_accuracy": {
            "title": "Label accuracy",
            "summary": "share of the time with the same label on both sides",
            "aliases": ("ACC",),
            "literature": "@wang2022; @kim2023; @mirex2025structure",
        },
        "iou": {
            "title": "Intersection over union",
            "summary": "time with a label on both sides, over the time with it on either side, each summed over labels",
            "aliases": ("jaccard",),
            "literature": "@hao2025; @jaccard1912",
        },
    },
    needs=FUNCTIONS,
    default=False,
    parameters=_PARAMETERS,
    perfect_exceptions="0 without labels",
    itemwise=True,
)
def equal_labels(name: str, times: LabelTimes, measure: Measure) -> Scored:
    """Time with one label on both sides, over that of all stretches or, for ``iou``, of the labels of either side."""
    stretches, _ = times.stretches(*measure.values)
    left, right, length = stretches.left, stretches.right, stretches.end - stretches.start
    same, reference, estimate, whole = (
        sum_by(stretches.pair[mask], length[mask], len(times.pairs))
        for mask in (left == right, left != NOTHING, right != NOTHING, slice(None))
    )
    if name == "iou":
        whole = reference + estimate - same
    return divide(same, whole), whole / _PER_SECOND[measure["times"]]


@_of_each("Time by label", Weight("none", "s"), dims=("label", "count"), literature="@hao2025")
def by_label(times: LabelTimes, measure: Measure) -> Sparse:
    """Seconds of each label in the reference, in the estimate, and in both at once."""
    stretches, _ = times.stretches(*measure.values)
    entries, (left, right) = [], (stretches.left, stretches.right)
    for count, (code, mask) in enumerate(((left, left == right), (left, left != NOTHING), (right, right != NOTHING))):
        item = np.flatnonzero(mask)
        entries.append(np.column_stack([item, stretches.pair[item], code[item] - 1, np.full(len(item), count)]))
    item, *index = np.concatenate(entries).T
    seconds = ((stretches.end - stretches.start) / _PER_SECOND[measure["times"]])[item]
    attrs = {"long_name": "time by label", "units": "s"}
    return _added_up(("label", "count"), (times.names, MATCHED), np.column_stack(index), seconds, attrs)


def _added_up(
    dims: tuple[str, ...], coords: tuple[tuple[str, ...], ...], index: Int, value: Float, attrs: dict[str, str]
) -> Sparse:
    """Sort entries and sum those with equal indices."""
    sizes = [len(names) for names in coords]
    key = index[:, 0]
    for column, size in enumerate(sizes, 1):
        key = key * size + index[:, column]
    distinct, first, place_of = np.unique(key, return_index=True, return_inverse=True)
    return Sparse(dims, coords, index[first], sum_by(place_of, value, len(distinct)), attrs)


@_of_each("Confusion of labels", Weight("none", "s"), dims=("ref_class", "est_class"), literature="@kohavi1998")
def confusion(times: LabelTimes, measure: Measure) -> Sparse:
    """Seconds by label of the reference and of the estimate."""
    stretches, names = times.stretches(*measure.values)[0], (*times.names, NONE)
    # The code for no label is 0, and its index the last.
    places = ((code - 1) % len(names) for code in (stretches.left, stretches.right))
    attrs = {"long_name": "time by label of the reference and of the estimate", "units": "s"}
    index = np.column_stack([stretches.pair, *places])
    seconds = (stretches.end - stretches.start) / _PER_SECOND[measure["times"]]
    return _added_up(("ref_class", "est_class"), (names, names), index, seconds, attrs)


METRICS = metrics_in(globals())


def evidence(
    reference: Annotation, estimate: Annotation, measure: Measure, clean: Callable[[Ragged], Cleaned]
) -> dict[str, Column]:
    """Return the stretches between all boundaries, with the labels of both sides and verdicts.

    Columns are ``start``, ``end`` (seconds), ``reference``, ``estimate`` (labels in lower case, empty for none) and
    ``verdict``, ``right`` or ``wrong``. The label accuracy is the share of right seconds.
    """
    times = LabelTimes(Pairs.in_order(*usable_pair(reference, estimate, clean, filled=1)))
    (stretches, begin), names = times.stretches(*measure.values), ("", *times.names)
    return {
        "start": (stretches.start + begin[0]) / _PER_SECOND[measure["times"]],
        "end": (stretches.end + begin[0]) / _PER_SECOND[measure["times"]],
        "reference": texts_at(names, stretches.left),
        "estimate": texts_at(names, stretches.right),
        "verdict": np.where(stretches.left == stretches.right, "right", "wrong"),
    }


_documented = documented(
    """
    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
    reference_labels, estimated_labels : sequence
        One per interval, from the same vocabulary on both sides; case is ignored.

    Raises
    ------
    ValueError
        If either side is not a valid array of intervals, or the numbers of labels and intervals differ.
    """,
    METRICS,
)
_Labels = Sequence[Any]


def _pair(intervals: Array, labels: _Labels, estimated: Array, estimated_labels: _Labels) -> LabelTimes:
    rows = []
    for side, named in ((intervals, labels), (estimated, estimated_labels)):
        validate_intervals(side)
        if len(side) != len(named):
            raise ValueError("Number of intervals does not match number of labels")
        rows.append(row_of_intervals(side, named))
    return LabelTimes(Pairs.in_order(rows[0], rows[1]))


@_documented
def label_accuracy(
    reference_intervals: Array,
    reference_labels: _Labels,
    estimated_intervals: Array,
    estimated_labels: _Labels,
    extent: str = "reference",
    times: str = "exact",
) -> float:
    """Share of the time with the same label on both sides.

    MIREX 2025 uses ``extent="common"`` and ``times="ms"``.

    Returns
    -------
    float
        0 if there is nothing to compare.

    Examples
    --------
    >>> song = np.array([[0.0, 10.0], [10.0, 20.0]])
    >>> label_accuracy(song, ["verse", "chorus"], np.array([[0.0, 15.0]]), ["verse"])
    0.5
    """
    both = _pair(reference_intervals, reference_labels, estimated_intervals, estimated_labels)
    return float(METRICS[0].measure(extent=extent, times=times).read(both)[0][0])


@_documented
def iou(
    reference_intervals: Array,
    reference_labels: _Labels,
    estimated_intervals: Array,
    estimated_labels: _Labels,
    extent: str = "reference",
    times: str = "exact",
) -> float:
    """Time with a label on both sides, over the time with it on either side, each summed over labels.

    Returns
    -------
    float
        0 without labels.

    Examples
    --------
    >>> song = np.array([[0.0, 10.0], [10.0, 20.0]])
    >>> iou(song, ["verse", "chorus"], np.array([[0.0, 15.0]]), ["verse"])
    0.4
    """
    both = _pair(reference_intervals, reference_labels, estimated_intervals, estimated_labels)
    return float(METRICS[1].measure(extent=extent, times=times).read(both)[0][0])


@_documented
def confusion_matrix(
    reference_intervals: Array,
    reference_labels: _Labels,
    estimated_intervals: Array,
    estimated_labels: _Labels,
    extent: str = "reference",
    times: str = "exact",
) -> tuple[Float, tuple[str, ...]]:
    """Seconds by label of the reference and of the estimate.

    Returns
    -------
    matrix : float64 (labels, labels)
        Indexed by the reference's label, then the estimate's; the last row and column are for no label.
    labels : tuple of str
        Sorted labels of either side in lower case, and ``(none)``.

    Examples
    --------
    >>> song = np.array([[0.0, 10.0], [10.0, 20.0]])
    >>> matrix, labels = confusion_matrix(song, ["verse", "chorus"], np.array([[0.0, 15.0]]), ["verse"])
    >>> labels, matrix.tolist()
    (('chorus', 'verse', '(none)'), [[0.0, 5.0, 5.0], [0.0, 10.0, 0.0], [0.0, 0.0, 0.0]])
    """
    both = _pair(reference_intervals, reference_labels, estimated_intervals, estimated_labels)
    sparse = confusion.measure(extent=extent, times=times).read(both)
    matrix = np.zeros((len(sparse.coords[0]), len(sparse.coords[1])))
    np.add.at(matrix, (sparse.index[:, 1], sparse.index[:, 2]), sparse.value)
    return matrix, sparse.coords[0]


ONE_SIDE = "one side"  # The `needs` of these metrics


@family(
    {
        "length_variation": Weight("number of segments", "segments"),
        "label_balance": Weight("length of the segments", "s"),
    },
    {
        "length_variation": {
            "title": "Variation of segment lengths",
            "summary": "standard deviation of the lengths of the segments over their mean: 0 if all are equally long",
            "range": (0.0, float("inf")),
            "literature": "coefficient of variation; on regular lengths @sargent2017",
        },
        "label_balance": {
            "title": "Balance of labels",
            "summary": "entropy of the labels' shares of time over its largest value: 1 if all have equal shares",
            "literature": "evenness of @pielou1966",
        },
    },
    needs=ONE_SIDE,
    default=False,
    orientation="none",
    pooling="none",
    perfect=None,
    parameters=(Parameter("side", "estimate", choices=("estimate", "reference"), help="side to describe"),),
)
def one_side(name: str, times: LabelTimes, measure: Measure) -> Scored:
    """Variation of the lengths of segments, or balance of their labels; NaN if it is undefined."""
    rows, chosen = times.pairs.sides[measure["side"] == "estimate"]
    spans = kernel.take(rows, chosen, kernel.encode(rows.labels).of_label)
    length, pair, number = spans.end - spans.start, rows_of(spans.counts), spans.counts.astype(np.float64)
    seconds = sum_by(pair, length, len(number))
    if name == "length_variation":
        mean = divide(seconds, number, np.nan)
        squares = sum_by(pair, (length - mean[pair]) ** 2, len(number))
        score, weight = divide(np.sqrt(divide(squares, number)), mean, np.nan), number
    else:
        size = int(spans.code.max(initial=0)) + 1
        key, index = np.unique(pair * size + spans.code, return_inverse=True)
        pair, time = key // size, sum_by(index, length, len(key))
        pair, time = pair[time > 0], time[time > 0]
        labels = np.bincount(pair, minlength=len(number)).astype(np.float64)
        whole = seconds[pair]
        entropy = sum_by(pair, time / whole * (np.log(whole) - np.log(time)), len(number))
        score = np.minimum(divide(entropy, np.log(np.maximum(labels, 1.0)), np.nan), 1.0)
        weight = seconds
    return score, np.where(np.isnan(score), 0.0, weight)


OF_ONE_SIDE = metrics_in({"one_side": one_side})
_of_side = documented("", OF_ONE_SIDE)


@_of_side
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
    return _score(OF_ONE_SIDE[0], intervals, [""] * len(intervals))


@_of_side
def label_balance(intervals: Array, labels: _Labels) -> float:
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
    return _score(OF_ONE_SIDE[1], intervals, labels)


def _score(record: Metric, intervals: Array, labels: _Labels) -> float:
    validate_intervals(intervals)
    row = row_of_intervals(intervals, labels)
    return float(record.measure().read(LabelTimes(Pairs.in_order(row, row)))[0][0])
