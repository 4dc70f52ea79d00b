"""The checks of arrays for one pair, with mir_eval's messages and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Sequence, Sized
from typing import Any

import numpy as np

from ...errors import MirflowWarning
from ..checks import Array, validate_intervals


def _warn_empty(reference: Sized, estimate: Sized, least: int = 1) -> None:
    for side, intervals in (("Reference", reference), ("Estimated", estimate)):
        if len(intervals) < least:
            warnings.warn(f"{side} intervals are empty.", MirflowWarning, stacklevel=4)


def validate_boundary(reference_intervals: Array, estimated_intervals: Array, trim: bool) -> None:
    """Check two sequences of segments whose boundaries are to be compared.

    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
    trim : bool
        Whether the first and the last boundary will be left out.

    Raises
    ------
    ValueError
        If either is no valid array of intervals.

    Warns
    -----
    MirflowWarning
        For each side with too few intervals to leave a boundary.

    Examples
    --------
    >>> validate_boundary(np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]]), trim=False)
    """
    _warn_empty(reference_intervals, estimated_intervals, 2 if trim else 1)
    for intervals in (reference_intervals, estimated_intervals):
        validate_intervals(intervals)


def validate_structure(
    reference_intervals: Array,
    reference_labels: Sequence[Any],
    estimated_intervals: Array,
    estimated_labels: Sequence[Any],
) -> None:
    """Check two sequences of labelled segments that are to be compared.

    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
        Both from time 0 to the same end.
    reference_labels, estimated_labels : sequence
        One for each interval.

    Raises
    ------
    ValueError
        If either is no valid array of intervals, labels and intervals differ in number, a side does not start at 0,
        or the two end at different times.

    Warns
    -----
    MirflowWarning
        For each side that is empty.

    Examples
    --------
    >>> validate_structure(np.array([[0.0, 4.0]]), ["a"], np.array([[0.0, 1.0], [1.0, 4.0]]), ["x", "y"])
    """
    for intervals, labels in ((reference_intervals, reference_labels), (estimated_intervals, estimated_labels)):
        validate_intervals(intervals)
        if len(intervals) != len(labels):
            raise ValueError("Number of intervals does not match number of labels")
        if intervals.size and not np.allclose(intervals.min(), 0.0):
            raise ValueError("Segment intervals do not start at 0")
    _warn_empty(reference_intervals, estimated_intervals)
    ends = [intervals.max() for intervals in (reference_intervals, estimated_intervals) if intervals.size]
    if len(ends) == 2 and not np.allclose(*ends):
        raise ValueError("End times do not match")
