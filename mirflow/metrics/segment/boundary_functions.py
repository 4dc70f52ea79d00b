"""The boundary scores of one pair under mir_eval's names: its checks, then the batched kernel with a batch of one."""

from __future__ import annotations

import numpy as np

from ...ragged import Int
from ..checks import Array
from .boundaries import Boundaries, Scored, detect, deviate, find_boundaries
from .checks import validate_boundary
from .spans import Spans


def detection(
    reference_intervals: Array,
    estimated_intervals: Array,
    window: float = 0.5,
    beta: float = 1.0,
    trim: bool = False,
) -> tuple[float, float, float]:
    """How many boundaries are found within a window.

    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
    window : float, seconds
        Largest distance of boundaries that match; each matches at most one of the other side.
    beta : float
        How many times as much recall counts as precision.
    trim : bool
        Leave out the first and the last boundary of each side.

    Returns
    -------
    precision, recall, f_measure : float
        All 0 where a side has no boundary.

    Raises
    ------
    ValueError
        See `validate_boundary`.

    Warns
    -----
    MirflowWarning
        For each side without a boundary.

    References
    ----------
    D. Turnbull et al., "A supervised approach for detecting boundaries in music using difference features and
    boosting", ISMIR 2007.

    Examples
    --------
    >>> precision, recall, f = detection(np.array([[0.0, 9.0], [9.0, 20.0]]), np.array([[0.0, 20.0]]))
    >>> precision, round(recall, 3), f
    (1.0, 0.667, 0.8)
    """
    validate_boundary(reference_intervals, estimated_intervals, trim)
    sides = _boundaries(reference_intervals, trim), _boundaries(estimated_intervals, trim)
    precision, recall, f = (only(one) for one in detect(*sides, window, beta, "optimal"))
    return precision, recall, f


def deviation(reference_intervals: Array, estimated_intervals: Array, trim: bool = False) -> tuple[float, float]:
    """How far boundaries are from the nearest of the other side.

    Parameters
    ----------
    reference_intervals, estimated_intervals : (n, 2) and (m, 2), seconds
    trim : bool
        Leave out the first and the last boundary of each side.

    Returns
    -------
    reference_to_estimated, estimated_to_reference : float, seconds
        Medians over the boundaries of the first; NaN where a side has no boundary.

    Raises
    ------
    ValueError
        See `validate_boundary`.

    Warns
    -----
    MirflowWarning
        For each side without a boundary.

    Examples
    --------
    >>> deviation(np.array([[0.0, 9.0], [9.0, 20.0]]), np.array([[0.0, 8.0], [8.0, 20.0]]))
    (0.0, 0.0)
    """
    validate_boundary(reference_intervals, estimated_intervals, trim)
    sides = _boundaries(reference_intervals, trim), _boundaries(estimated_intervals, trim)
    to_estimate, to_reference = (only(one) for one in deviate(*sides, "middle"))
    return to_estimate, to_reference


def _boundaries(intervals: Array, trim: bool) -> Boundaries:
    found = find_boundaries(spans_of(intervals, np.zeros(len(intervals), dtype=np.int64)))
    return found.trim() if trim else found


def spans_of(intervals: Array, code: Int) -> Spans:
    """One row of intervals."""
    start, end = np.asarray(intervals, dtype=np.float64).T
    return Spans(start, end, code, np.array([len(start)]))


def only(scored: Scored) -> float:
    """The score of the only pair."""
    return float(scored[0][0])
