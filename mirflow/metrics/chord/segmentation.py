"""How well chord boundaries agree, for one pair, under mir_eval's names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...kernels.hamming import directional_hamming
from ...ragged import Bool, Int
from ..checks import Array, validate_intervals
from .labels import encode_table

OVERLAP = "Chord Intervals must not overlap"


def check_disjoint(intervals: Array) -> None:
    """Raise a ValueError if an interval begins before the one before it ends."""
    if (intervals[:-1, 1] > intervals[1:, 0]).any():
        raise ValueError(OVERLAP)


def directional_hamming_distance(reference_intervals: Array, estimated_intervals: Array) -> float:
    """The share of time outside the largest pieces into which the estimate cuts the reference's intervals.

    Parameters
    ----------
    reference_intervals : (n, 2), seconds
        In order of time and without overlap; neighbours with the same chord should be merged.
    estimated_intervals : (m, 2), seconds

    Returns
    -------
    float
        0 where no interval of the reference is cut.

    Raises
    ------
    ValueError
        If either side is no valid array of intervals, or the reference is empty or overlaps itself.

    References
    ----------
    C. Harte, "Towards automatic extraction of harmony information from music signals", PhD thesis, 2010.

    Examples
    --------
    >>> directional_hamming_distance(np.array([[0.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 4.0]]))
    0.25
    """
    validate_intervals(estimated_intervals)
    validate_intervals(reference_intervals)
    check_disjoint(reference_intervals)
    if len(reference_intervals) == 0:
        raise ValueError("the directional Hamming distance from no intervals is not defined")
    sides = [np.asarray(side, dtype=np.float64) for side in (reference_intervals, estimated_intervals)]
    (start, end), (cut_start, cut_end) = (side.T for side in sides)
    distance, _ = directional_hamming(
        start, end, np.array([len(start)]), cut_start, cut_end, np.array([len(cut_start)])
    )
    return float(distance[0])


def overseg(reference_intervals: Array, estimated_intervals: Array) -> float:
    """How little the estimate cuts up the reference's intervals: one minus the directional Hamming distance.

    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
        See `directional_hamming_distance`.

    Returns
    -------
    float
        1 where no interval of the reference is cut.

    Examples
    --------
    >>> overseg(np.array([[0.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 4.0]]))
    0.75
    """
    return 1 - directional_hamming_distance(reference_intervals, estimated_intervals)


def underseg(reference_intervals: Array, estimated_intervals: Array) -> float:
    """How little the reference cuts up the estimate's intervals: `overseg` with the sides exchanged.

    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
        See `directional_hamming_distance`.

    Returns
    -------
    float
        1 where no interval of the estimate is cut.

    Examples
    --------
    >>> underseg(np.array([[0.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 4.0]]))
    1.0
    """
    return 1 - directional_hamming_distance(estimated_intervals, reference_intervals)


def seg(reference_intervals: Array, estimated_intervals: Array) -> float:
    """The smaller of `overseg` and `underseg`.

    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
        See `directional_hamming_distance`.

    Returns
    -------
    float
        1 where all boundaries are the same.

    Examples
    --------
    >>> seg(np.array([[0.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 4.0]]))
    0.75
    """
    return min(
        underseg(reference_intervals, estimated_intervals),
        overseg(reference_intervals, estimated_intervals),
    )


def merge_chord_intervals(intervals: Array, labels: Sequence[str]) -> Array:
    """Join neighbouring intervals of the same chord, whatever lies between them.

    Parameters
    ----------
    intervals : (n, 2), seconds
    labels : sequence of str, n items
        Chords are the same if root, bass and semitones are, upper voices of extended chords included.

    Returns
    -------
    (k, 2), seconds
        From the start of the first to the end of the last interval of each run.

    Raises
    ------
    ValueError
        If there are not as many labels as intervals.
    InvalidChordException
        For a label that cannot be encoded.

    Examples
    --------
    >>> times = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    >>> merge_chord_intervals(times, ["C", "C:(1,3,5)", "C/3"]).tolist()
    [[0.0, 2.0], [2.0, 3.0]]
    """
    if len(intervals) != len(labels):
        raise ValueError(f"{len(intervals)} intervals need as many labels, got {len(labels)}")
    first = np.flatnonzero(_begins_run(labels))
    last = np.append(first[1:], len(labels))[: len(first)] - 1
    return np.column_stack((intervals[first, 0], intervals[last, 1]))


def _begins_run(labels: Sequence[str]) -> Bool:
    chords = encode_table(labels, reduce_extended_chords=True)
    codes: Int = np.column_stack((chords.root, chords.pitches, chords.bass)).astype(np.int64)
    begins = np.ones(len(labels), dtype=np.bool_)
    begins[1:] = (codes[1:] != codes[:-1]).any(axis=1)
    return begins
