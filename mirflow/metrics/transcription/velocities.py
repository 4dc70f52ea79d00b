"""Velocities of matched notes: the estimate's are fitted to the reference's by a line, then compared."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...ragged import Bool, Float, Int, offsets_of
from .notes import Matches, Notes


def agree(reference: Notes, estimate: Notes, matches: Matches, tolerance: float) -> Bool:
    """Whether the velocities of matched notes agree.

    The reference's velocities are scaled so that those of each pair span 0 to 1 (by 1 if they differ by less). The line
    that takes the estimate's to them is fitted by least squares to the matched notes.

    Parameters
    ----------
    reference, estimate : Notes
        With their velocity.
    matches : Matches
    tolerance : float
        The scaled velocities must be less than that apart.

    Returns
    -------
    bool (matches,)

    References
    ----------
    C. Hawthorne et al., "Onsets and frames: dual-objective piano transcription", ISMIR 2018.
    """
    wanted = _scale(reference.extra["velocity"], reference.counts)[matches.reference]
    heard = estimate.extra["velocity"][matches.estimate]
    found = np.zeros(len(wanted), dtype=np.bool_)
    ends = offsets_of(np.bincount(matches.pair, minlength=len(reference.counts)))
    for low, high in pairwise(ends.tolist()):
        if low < high:
            found[low:high] = _agree(wanted[low:high], heard[low:high], tolerance)
    return found


def _agree(wanted: Float, heard: Float, tolerance: float) -> Bool:
    """The same for one pair.

    Distances of exactly the tolerance are common, as velocities are small integers. What rounding makes of them depends
    on how the line is computed, so it is computed as in mir_eval, by the same solver, and not for all pairs at once.
    """
    design = np.vstack([heard, np.ones(len(heard))]).T
    slope, intercept = np.linalg.lstsq(design, wanted, rcond=None)[0]
    return np.asarray(np.abs(slope * heard + intercept - wanted) < tolerance)


def _scale(velocity: Float, counts: Int) -> Float:
    filled = counts > 0
    if not filled.any():
        return velocity
    starts = offsets_of(counts)[:-1][filled]
    low, high = np.minimum.reduceat(velocity, starts), np.maximum.reduceat(velocity, starts)
    number = counts[filled]
    with np.errstate(invalid="ignore"):  # of rows that are refused, whose velocities are no numbers
        span = np.maximum(1, high - low)
        return np.asarray((velocity - np.repeat(low, number)) / np.repeat(span, number))
