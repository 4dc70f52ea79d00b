"""Between intervals, boundaries, durations and samples, as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from .checks import Array, validate_intervals


def intervals_to_durations(intervals: Array) -> Array:
    """Length of each interval.

    Parameters
    ----------
    intervals : (n, 2), seconds

    Returns
    -------
    (n,), seconds

    Raises
    ------
    ValueError
        As `validate_intervals` does.

    Examples
    --------
    >>> intervals_to_durations(np.array([[0.0, 1.0], [1.0, 3.5]])).tolist()
    [1.0, 2.5]
    """
    validate_intervals(intervals)
    durations: Array = intervals[:, 1] - intervals[:, 0]
    return durations


def intervals_to_boundaries(intervals: Array, q: int = 5) -> Array:
    """The distinct times at which intervals start or end.

    Parameters
    ----------
    intervals : (n, 2), seconds
    q : int
        Decimals to round to before times are compared.

    Returns
    -------
    (m,), seconds, ascending

    Examples
    --------
    >>> intervals_to_boundaries(np.array([[0.0, 1.0], [1.0000001, 2.0]])).tolist()
    [0.0, 1.0, 2.0]
    """
    return np.unique(np.round(intervals, decimals=q))


def boundaries_to_intervals(boundaries: npt.ArrayLike) -> Array:
    """The intervals between neighbouring boundaries.

    Parameters
    ----------
    boundaries : (n,), seconds
        Distinct and ascending.

    Returns
    -------
    (n - 1, 2), seconds

    Raises
    ------
    ValueError
        If they are not distinct and ascending.

    Examples
    --------
    >>> boundaries_to_intervals([0.0, 1.0, 2.5]).tolist()
    [[0.0, 1.0], [1.0, 2.5]]
    """
    times = np.asarray(boundaries)
    distinct = np.unique(times)
    if len(distinct) != len(times) or not np.allclose(times, distinct):
        raise ValueError("Boundary times are not unique or not ascending.")
    return np.column_stack((times[:-1], times[1:]))


def interpolate_intervals(
    intervals: Array, labels: Sequence[Any], time_points: npt.ArrayLike, fill_value: Any = None
) -> list[Any]:
    """The label of the interval that each time point lies in.

    Parameters
    ----------
    intervals : (n, 2), seconds
        Both ends belong to an interval; where two meet, the later row counts.
    labels : sequence
        One for each interval.
    time_points : (m,), seconds, not decreasing
    fill_value : any
        For time points outside all intervals.

    Returns
    -------
    list, m items

    Raises
    ------
    ValueError
        If the time points decrease.

    Examples
    --------
    >>> interpolate_intervals(np.array([[0.0, 1.0], [2.0, 3.0]]), ["a", "b"], [0.5, 1.5, 3.0], "N")
    ['a', 'N', 'b']
    """
    points = np.asarray(time_points)
    if np.any(points[1:] < points[:-1]):
        raise ValueError("time_points must be in non-decreasing order")
    found = [fill_value] * len(points)
    firsts = np.searchsorted(points, intervals[:, 0], side="left").tolist()
    stops = np.searchsorted(points, intervals[:, 1], side="right").tolist()
    for first, stop, label in zip(firsts, stops, labels, strict=False):
        found[first:stop] = [label] * (stop - first)
    return found


def intervals_to_samples(
    intervals: Array, labels: Sequence[Any], offset: float = 0, sample_size: float = 0.1, fill_value: Any = None
) -> tuple[list[float], list[Any]]:
    """Labels at regular times, up to the last whole sample.

    Parameters
    ----------
    intervals : (n, 2), seconds
    labels : sequence
        One for each interval.
    offset : float, seconds
        Time of the first sample.
    sample_size : float, seconds
        Time between samples.
    fill_value : any
        For times outside all intervals.

    Returns
    -------
    times : list of float, seconds
        Computed in single precision, as in mir_eval.
    labels : list

    Examples
    --------
    >>> intervals_to_samples(np.array([[0.0, 1.0], [1.0, 2.0]]), ["a", "b"], sample_size=0.5)
    ([0.0, 0.5, 1.0, 1.5], ['a', 'a', 'b', 'b'])
    """
    count = int(np.floor(intervals.max() / sample_size))
    times: list[float] = (np.arange(count, dtype=np.float32) * sample_size + offset).tolist()
    return times, interpolate_intervals(intervals, labels, times, fill_value)


@overload
def sort_labeled_intervals(intervals: Array, labels: None = None) -> Array: ...
@overload
def sort_labeled_intervals(intervals: Array, labels: Sequence[Any]) -> tuple[Array, list[Any]]: ...
def sort_labeled_intervals(intervals: Array, labels: Sequence[Any] | None = None) -> Array | tuple[Array, list[Any]]:
    """Sort intervals, and their labels if given, by start.

    Parameters
    ----------
    intervals : (n, 2), seconds
    labels : sequence or None
        One for each interval.

    Returns
    -------
    intervals : (n, 2), seconds
        Rows that start together keep their order.
    labels : list
        Only where labels were given.

    Examples
    --------
    >>> times, labels = sort_labeled_intervals(np.array([[1, 2], [0, 1]]), ["b", "a"])
    >>> times.tolist(), labels
    ([[0, 1], [1, 2]], ['a', 'b'])
    """
    order = np.argsort(intervals[:, 0], kind="stable")
    if labels is None:
        return intervals[order]
    return intervals[order], [labels[row] for row in order]
