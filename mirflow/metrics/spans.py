"""Fitting annotations to a span and to each other: cropping, padding and merging of plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ragged import Float, Int
from .checks import Array

Labels = list[Any]


def adjust_intervals(
    intervals: Array,
    labels: Sequence[Any] | None = None,
    t_min: float | None = 0.0,
    t_max: float | None = None,
    start_label: Any = "__T_MIN",
    end_label: Any = "__T_MAX",
) -> tuple[Array, Labels | None]:
    """Crop or pad intervals so that they span ``[t_min, t_max]``.

    Parameters
    ----------
    intervals : (n, 2), seconds
        In order of time.
    labels : sequence or None
        One for each interval; it is not changed.
    t_min, t_max : float or None, seconds
        None leaves that side alone.
    start_label, end_label : any
        Labels of the intervals that are put before and after.

    Returns
    -------
    intervals : (m, 2), seconds
        An interval that only touches `t_min` or `t_max` is kept with length zero, as in mir_eval.
    labels : list or None

    Raises
    ------
    ValueError
        If there is no interval and one of `t_min` and `t_max` is None, or all intervals begin after `t_max`.

    Examples
    --------
    >>> times, labels = adjust_intervals(np.array([[1.0, 2.0], [2.0, 5.0]]), ["C", "G"], 0.0, 4.0, "N", "N")
    >>> times.tolist(), labels
    ([[0.0, 1.0], [1.0, 2.0], [2.0, 4.0]], ['N', 'C', 'G'])
    """
    if intervals.size == 0:
        if t_min is None or t_max is None:
            raise ValueError("Supplied intervals are empty, can't append new intervals")
        return np.array([[t_min, t_max]]), [start_label]
    kept = None if labels is None else list(labels)
    if t_min is not None:
        inside = np.flatnonzero(intervals[:, 1] >= t_min)
        intervals, kept = _crop(intervals, kept, slice(inside[0] if len(inside) else 0, None))
        intervals = np.maximum(t_min, intervals)
        if intervals.min() > t_min:
            intervals = np.vstack(([t_min, intervals.min()], intervals))
            kept = None if kept is None else [start_label, *kept]
    if t_max is not None:
        beyond = np.flatnonzero(intervals[:, 0] > t_max)
        intervals, kept = _crop(intervals, kept, slice(beyond[0] if len(beyond) else None))
        if len(intervals) == 0:
            raise ValueError(f"all intervals begin after t_max = {t_max}")
        intervals = np.minimum(t_max, intervals)
        if intervals.max() < t_max:
            intervals = np.vstack((intervals, [intervals.max(), t_max]))
            kept = None if kept is None else [*kept, end_label]
    return intervals, kept


def _crop(times: Array, labels: Labels | None, part: slice) -> tuple[Array, Labels | None]:
    return times[part], None if labels is None else labels[part]


def adjust_events(
    events: Array,
    labels: Sequence[Any] | None = None,
    t_min: float | None = 0.0,
    t_max: float | None = None,
    label_prefix: str = "__",
) -> tuple[Array, Labels | None]:
    """Crop events to ``[t_min, t_max]`` and put events at both ends where there are none.

    Parameters
    ----------
    events : (n,), seconds
        In order of time; at least one within the span.
    labels : sequence or None
        One for each event; it is not changed.
    t_min, t_max : float or None, seconds
        None leaves that side alone.
    label_prefix : str
        Put before the labels ``T_MIN`` and ``T_MAX`` of new events.

    Returns
    -------
    events : (m,), seconds
    labels : list or None

    Raises
    ------
    IndexError
        If there is no event.

    Examples
    --------
    >>> times, labels = adjust_events(np.array([1.0, 2.0, 7.0]), ["a", "b", "c"], 0.0, 5.0)
    >>> times.tolist(), labels
    ([0.0, 1.0, 2.0, 5.0], ['__T_MIN', 'a', 'b', '__T_MAX'])
    """
    kept = None if labels is None else list(labels)
    if t_min is not None:
        inside = np.flatnonzero(events >= t_min)
        events, kept = _crop(events, kept, slice(inside[0] if len(inside) else 0, None))
        if events[0] > t_min:
            events = np.concatenate(([t_min], events))
            kept = None if kept is None else [f"{label_prefix}T_MIN", *kept]
    if t_max is not None:
        beyond = np.flatnonzero(events > t_max)
        events, kept = _crop(events, kept, slice(beyond[0] if len(beyond) else None))
        if events[-1] < t_max:
            events = np.concatenate((events, [t_max]))
            kept = None if kept is None else [*kept, f"{label_prefix}T_MAX"]
    return events, kept


def check_aligned(x_intervals: Array, y_intervals: Array) -> None:
    """Raise a ValueError unless both sequences of intervals start and end together."""
    if x_intervals[0, 0] != y_intervals[0, 0] or x_intervals[-1, 1] != y_intervals[-1, 1]:
        raise ValueError("Time intervals do not align; did you mean to call 'adjust_intervals()' first?")


def merge_labeled_intervals(
    x_intervals: Array, x_labels: Sequence[Any], y_intervals: Array, y_labels: Sequence[Any]
) -> tuple[Float, Labels, Labels]:
    """Cut two labelled sequences at each other's boundaries.

    Parameters
    ----------
    x_intervals, y_intervals : (n, 2) and (m, 2), seconds
        Two sequences that start and end together.
    x_labels, y_labels : sequence
        One for each interval.

    Returns
    -------
    intervals : float64 (k, 2), seconds
        Between neighbouring boundaries of either sequence.
    x_labels, y_labels : list
        The label in force in each of them: that of the last interval that has started, so a label carries on over a
        gap.

    Raises
    ------
    ValueError
        If the sequences do not start and end together, or labels and intervals differ in number.

    Examples
    --------
    >>> times, x, y = merge_labeled_intervals(np.array([[0.0, 1.0], [1.0, 3.0]]), ["C", "G"],
    ...                                       np.array([[0.0, 2.0], [2.0, 3.0]]), ["C", "N"])
    >>> times.tolist(), x, y
    ([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]], ['C', 'G', 'G'], ['C', 'C', 'N'])
    """
    check_aligned(x_intervals, y_intervals)
    bounds = np.unique(np.concatenate([x_intervals, y_intervals], axis=0))
    intervals = np.column_stack((bounds[:-1], bounds[1:]))
    x_merged = [x_labels[row] for row in _in_force(x_intervals, len(x_labels), bounds)]
    y_merged = [y_labels[row] for row in _in_force(y_intervals, len(y_labels), bounds)]
    return intervals, x_merged, y_merged


def _in_force(intervals: Array, labels: int, bounds: Array) -> Int:
    """For each bound but the last, the last row that has started by then."""
    if len(intervals) != labels:
        raise ValueError(f"{len(intervals)} intervals need as many labels, got {labels}")
    started = np.full(len(bounds), -1, dtype=np.int64)
    np.maximum.at(started, np.searchsorted(bounds, intervals[:, 0]), np.arange(labels))
    rows: Int = np.maximum.accumulate(started)[:-1]
    if len(rows) and rows[0] < 0:
        raise ValueError(f"no interval has started at {bounds[0]}, where the sequences begin; sort the intervals first")
    return rows
