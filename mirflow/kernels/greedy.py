"""Matchings of events that take the nearest ones first."""

from __future__ import annotations

import numpy as np

from ..ragged import Float, Int, ranges, rows_of
from .matching import Matching, within_reach


def match_nearest_first(
    references: Float, reference_counts: Int, estimates: Float, estimate_counts: Int, window: float
) -> Matching:
    """Match the two nearest free events of a pair again and again.

    Events match if they are less than `window` apart. Of equally near ones those with the earlier estimate, then the
    earlier reference, go first. Such a matching may be smaller than a maximum one.

    Parameters
    ----------
    references, estimates : float64, seconds
        Flat, ascending within each pair; finite.
    reference_counts, estimate_counts : int64 (pairs,)
    window : float, seconds

    Returns
    -------
    Matching

    Examples
    --------
    The estimate at 1.0 is nearest to the reference at 1.1, which leaves none for the estimate at 1.7.

    >>> two = np.array([2])
    >>> found = match_nearest_first(np.array([0.4, 1.1]), two, np.array([1.0, 1.7]), two, 0.65)
    >>> found.reference.tolist(), found.estimate.tolist()
    ([1], [0])
    """
    first, last = within_reach(references, reference_counts, estimates, estimate_counts, window)
    reference = ranges(first, last - first)
    estimate = rows_of(last - first)
    distance = np.abs(references[reference] - estimates[estimate])
    pair = rows_of(estimate_counts)
    order = np.lexsort((reference, estimate, distance, pair[estimate]))
    order = order[distance[order] < window]
    reference, estimate = reference[order], estimate[order]
    partner = np.full(len(estimates), -1, dtype=np.int64)
    while len(estimate):
        # Matched are those of which each is the other's nearest; what else they had within reach is gone then.
        rank = np.arange(len(estimate))
        of_reference, of_estimate = np.full(len(references), len(rank)), np.full(len(estimates), len(rank))
        np.minimum.at(of_reference, reference, rank)
        np.minimum.at(of_estimate, estimate, rank)
        chosen = (of_reference[reference] == rank) & (of_estimate[estimate] == rank)
        partner[estimate[chosen]] = reference[chosen]
        taken = np.zeros(len(references), dtype=np.bool_)
        taken[reference[chosen]] = True
        left = ~taken[reference] & (partner[estimate] < 0)
        reference, estimate = reference[left], estimate[left]
    matched = np.flatnonzero(partner >= 0)
    counts = np.bincount(pair[matched], minlength=len(reference_counts)).astype(np.int64)
    return Matching(partner[matched], matched, counts)
