"""All of mir_eval's chord scores for one pair: its checks, then the batched kernel with a batch of one."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import MirflowWarning
from ...ragged import Ragged
from ...theory.harte import NO_CHORD
from ..base.arguments import refuse_unknown
from ..checks import BOUNDED, Array, are_times, validate_intervals
from ..spans import adjust_intervals, check_aligned
from .accuracy import NOTHING_COMPARABLE
from .records import TASK
from .segmentation import OVERLAP, check_disjoint, merge_chord_intervals

_ARGUMENTS = ("ref_intervals", "ref_labels", "est_intervals", "est_labels")


def evaluate(
    ref_intervals: Array, ref_labels: Sequence[str], est_intervals: Array, est_labels: Sequence[str], **kwargs: Any
) -> OrderedDict[str, float]:
    """All chord scores of one estimate.

    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        In order of time and without overlap. The estimate is cropped and padded to the reference's span.
    ref_labels, est_labels : sequence of str
        One for each interval.
    **kwargs
        There are none; they are only named to say so.

    Returns
    -------
    OrderedDict of str to float
        The twelve chord symbol recalls, each 0 where nothing is comparable, then underseg, overseg and seg.

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        For an empty reference, labels and intervals that differ in number, and intervals that are negative, without
        length, not finite, not in order or overlapping, also after the estimate is cropped.
    InvalidChordException
        For a label that cannot be encoded.

    Warns
    -----
    MirflowWarning
        For each recall for which nothing is comparable.

    Examples
    --------
    >>> times = np.array([[0.0, 1.0], [1.0, 4.0]])
    >>> scores = evaluate(times, ["C", "G:7"], times, ["C", "G"])
    >>> scores["majmin"], scores["sevenths"], scores["seg"]
    (1.0, 0.25, 1.0)
    """
    refuse_unknown("evaluate", kwargs, _ARGUMENTS)
    low, high = ref_intervals.min(), ref_intervals.max()
    # The estimate may end at infinity, because it is cropped.
    if not are_times([low, high]) or np.isnan(est_intervals).any():
        raise ValueError(f"Interval times {BOUNDED}")
    est_intervals, fitted = adjust_intervals(est_intervals, est_labels, low, high, NO_CHORD, NO_CHORD)
    est_labels = fitted or []
    check_aligned(ref_intervals, est_intervals)
    for intervals, labels in ((ref_intervals, ref_labels), (est_intervals, est_labels)):
        _check(intervals, labels)
    return _scores(_row(ref_intervals, ref_labels), _row(est_intervals, est_labels))


def _check(intervals: Array, labels: Sequence[str]) -> None:
    merged = merge_chord_intervals(intervals, labels)
    validate_intervals(merged)
    check_disjoint(merged)
    if (np.diff(intervals, axis=0) < 0).any():  # within a run of one chord, which merging hides
        raise ValueError(OVERLAP)


def _row(intervals: Array, labels: Sequence[str]) -> Ragged:
    """One row of labelled intervals."""
    vocabulary = {label: code for code, label in enumerate(dict.fromkeys(labels))}
    start, end = np.asarray(intervals, dtype=np.float64).T
    codes = np.array([vocabulary[label] for label in labels], dtype=np.int64)
    return Ragged({"start": start, "end": end, "label": codes}, (np.array([len(labels)]),), tuple(vocabulary))


def _scores(reference: Ragged, estimate: Ragged) -> OrderedDict[str, float]:
    convention = TASK.convention("mir_eval")
    measures = convention.select()
    only = np.zeros(1, dtype=np.int64)
    scores = convention.score(reference, estimate, only, only, measures, "union")
    if scores.refused:
        raise ValueError(scores.refused[0])
    for measure, weight in zip(measures, scores.weight[0], strict=True):
        if measure.metric.recall and weight == 0:
            warnings.warn(NOTHING_COMPARABLE, MirflowWarning, stacklevel=3)
    return OrderedDict((m.metric.key, float(score)) for m, score in zip(measures, scores.score[0], strict=True))
