"""Checks of plain arrays, with mir_eval's messages: what the pair functions refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..annotations.schema import LATEST

Array = npt.NDArray[Any]

BOUNDED = f"must be finite, and not beyond {LATEST:g}"


def are_times(times: npt.ArrayLike) -> bool:
    """Whether all numbers are finite and may be times: infinities, NaN and what is later than any recording are none.

    Examples
    --------
    >>> are_times([0.0, 12.5]), are_times([0.0, 1e300]), are_times([np.nan])
    (True, False, False)
    """
    return bool((np.abs(times) <= LATEST).all())


def validate_intervals(intervals: Array) -> None:
    """Check an array of intervals.

    Parameters
    ----------
    intervals : (n, 2), seconds
        Start and end of each interval.

    Raises
    ------
    ValueError
        If the shape is another one, a time is negative, or an interval does not end after it starts.

    Examples
    --------
    >>> validate_intervals(np.array([[0.0, 1.0], [1.0, 2.5]]))
    """
    if intervals.ndim != 2 or intervals.shape[1] != 2:
        raise ValueError(f"Intervals should be n-by-2 numpy ndarray, but shape={intervals.shape}")
    if (intervals < 0).any():
        raise ValueError("Negative interval times found")
    if (intervals[:, 1] <= intervals[:, 0]).any():
        raise ValueError("All interval durations must be strictly positive")


def validate_events(events: Array, max_time: float = 30000.0) -> None:
    """Check an array of event times.

    Parameters
    ----------
    events : (n,), seconds
    max_time : float, seconds
        Later events are taken for a wrong unit.

    Raises
    ------
    ValueError
        If a time is later than `max_time`, the array is not flat, or the times decrease somewhere.

    Examples
    --------
    >>> validate_events(np.array([0.5, 1.0, 1.0]))
    """
    if (events > max_time).any():
        raise ValueError(
            f"An event at time {events.max()} was found which is greater than the maximum allowable time of "
            f"max_time = {max_time} (did you supply event times in seconds?)"
        )
    if events.ndim != 1:
        raise ValueError(f"Event times should be 1-d numpy ndarray, but shape={events.shape}")
    if (np.diff(events) < 0).any():
        raise ValueError("Events should be in increasing order.")


def validate_frequencies(frequencies: Array, max_freq: float, min_freq: float, allow_negatives: bool = False) -> None:
    """Check an array of frequencies.

    Parameters
    ----------
    frequencies : (n,), Hz
    max_freq, min_freq : float, Hz
        Bounds of the absolute value.
    allow_negatives : bool
        Whether the report names absolute values; the sign is never checked, as in mir_eval.

    Raises
    ------
    ValueError
        If an absolute value is out of bounds or the array is not flat.

    Examples
    --------
    >>> validate_frequencies(np.array([110.0, 440.0]), 5000.0, 20.0)
    """
    size = np.abs(frequencies)
    shown = size if allow_negatives else frequencies
    if (size > max_freq).any():
        raise ValueError(
            f"A frequency of {shown.max()} was found which is greater than the maximum allowable value of "
            f"max_freq = {max_freq} (did you supply frequency values in Hz?)"
        )
    if (size < min_freq).any():
        raise ValueError(
            f"A frequency of {shown.min()} was found which is less than the minimum allowable value of "
            f"min_freq = {min_freq} (did you supply frequency values in Hz?)"
        )
    if frequencies.ndim != 1:
        raise ValueError(f"Frequencies should be 1-d numpy ndarray, but shape={frequencies.shape}")
