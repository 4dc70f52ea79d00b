"""Frames on a uniform grid: how many there are before a time, and which interval each frame falls into."""

from __future__ import annotations

import numpy as np

from ..errors import AnnotationError
from ..ragged import Float, Int, offsets_of, ranges, rows_of
from .timeline import rank

MOST_FRAMES = 2**22
"""Of a grid that is laid out in memory: more than eleven hours of 10 ms."""


def grid_frames(end: float, hop: float) -> int:
    """How many frames from 0 s on lie before an end.

    Raises
    ------
    AnnotationError
        If there are more than `MOST_FRAMES`: a single late time would fill the memory.

    Examples
    --------
    >>> grid_frames(0.3, 0.1)
    3
    """
    if not end <= MOST_FRAMES * hop:
        message = f"{end / hop:.0f} frames of {hop:g} s are more than {MOST_FRAMES}"
        raise AnnotationError(f"{message}; choose a longer hop, or see whether {end:g} is a time in seconds")
    return int(frames_before(np.zeros(1), hop, np.array([end]))[0])


def frames_before(start: Float, hop: float, time: Float) -> Int:
    """How many frames of a grid lie before a time.

    Parameters
    ----------
    start : float64 (n,), seconds
        Time of the grid's first frame; frame k is at ``start + k * hop``, computed like that.
    hop : float, seconds
        Distance of the frames, above 0.
    time : float64 (n,), seconds

    Returns
    -------
    int64 (n,)
        The number of frames k >= 0 with ``start + k * hop < time``, which is also the first frame at or after `time`.

    Examples
    --------
    >>> frames_before(np.array([0.0, 0.0]), 0.1, np.array([0.3, 0.35])).tolist()
    [3, 4]
    """
    guess = np.maximum(np.ceil((time - start) / hop), 0.0)
    # The quotient is rounded, so it may miss by a frame; what decides is the frame's own time.
    guess += start + guess * hop < time
    guess -= (guess > 0) & (start + (guess - 1) * hop >= time)
    return guess.astype(np.int64)


def frame_times(start: Float, hop: float, counts: Int) -> Float:
    """The times of the frames of grids that lie one after the other.

    Parameters
    ----------
    start : float64 (grids,), seconds
    hop : float, seconds
    counts : int64 (grids,)

    Returns
    -------
    float64 (sum of counts,), seconds

    Examples
    --------
    >>> frame_times(np.array([0.0, 1.0]), 0.5, np.array([2, 1])).tolist()
    [0.0, 0.5, 1.0]
    """
    frame = ranges(np.zeros(len(counts), dtype=np.int64), counts)
    return np.repeat(start, counts) + frame * hop


def sample(start: Float, end: Float, counts: Int, times: Float, time_counts: Int) -> Int:
    """The interval that each of some times falls into, row by row.

    Parameters
    ----------
    start, end : float64, seconds
        Flat intervals, sorted by start within a row.
    counts : int64 (rows,)
        How many intervals each row has.
    times : float64, seconds
        Flat times at which the rows are sampled, in any order.
    time_counts : int64 (rows,)
        How many times each row is sampled at.

    Returns
    -------
    int64 (sum of time_counts,)
        Index into the flat intervals: the last of the row with ``start <= time`` if also ``time < end``; otherwise -1.

    Examples
    --------
    >>> start, end = np.array([0.0, 2.0]), np.array([1.0, 3.0])
    >>> sample(start, end, np.array([2]), np.array([0.0, 1.0, 2.5]), np.array([3])).tolist()
    [0, -1, 1]
    """
    distinct, (start_rank, time_rank) = rank(start, times)
    bits = len(distinct).bit_length()
    keys = (rows_of(counts) << bits) + start_rank
    found = np.searchsorted(keys, (rows_of(time_counts) << bits) + time_rank, side="right") - 1
    inside = found >= np.repeat(offsets_of(counts)[:-1], time_counts)
    inside[inside] = times[inside] < end[found[inside]]
    return np.where(inside, found, -1)
