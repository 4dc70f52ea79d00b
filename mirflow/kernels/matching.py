"""Maximum matchings of events within a window, for many pairs of sequences at once.

An estimate may take any reference within its window. Both sides are in order of time, so the references that the
estimates may take are ranges whose two ends never go back. Then a maximum matching is found by going through the
estimates in order and giving each the first reference of its range that is still free. Where the ranges of neighbours
do not overlap, all of this happens at once; where they do, the "next free reference" is a chain of clamped increments,
and clamps can be composed: the chain is solved by doubling, without a loop over events.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ragged import Bool, Float, Int, offsets_of, rows_of
from .searching import advance, search_rows


@dataclass(frozen=True, slots=True)
class Matching:
    """Matched events of many pairs.

    Parameters
    ----------
    reference, estimate : int64 (matches,)
        Indices into the flat sequences, ascending.
    counts : int64 (pairs,)
        How many matches each pair has.
    """

    reference: Int
    estimate: Int
    counts: Int


def within_reach(
    references: Float, reference_counts: Int, estimates: Float, estimate_counts: Int, window: float
) -> tuple[Int, Int]:
    """The references that each estimate may take: those with ``estimate - window <= reference <= estimate + window``.

    The sums are formed like that and compared, so whether an event exactly at the window's edge is a hit depends on
    rounding in the same way as in mir_eval.

    Parameters
    ----------
    references, estimates : float64, seconds
        Flat, ascending within each pair; finite.
    reference_counts, estimate_counts : int64 (pairs,)
    window : float, seconds
        Half of the width; with a negative one nothing is within reach.

    Returns
    -------
    first, last : int64 (estimates,)
        A range of the flat references for each estimate, `last` excluded.

    Examples
    --------
    >>> one = np.array([1])
    >>> within_reach(np.array([0.0, 1.0, 2.0]), 3 * one, np.array([1.5]), one, 0.5)
    (array([1]), array([3]))
    """
    end = np.repeat(offsets_of(reference_counts)[1:], estimate_counts)
    if not window >= 0:
        return end, end
    first = search_rows(references, reference_counts, estimates - window, estimate_counts)
    return first, advance(references, first, end, estimates + window, "right")


def match(references: Float, reference_counts: Int, estimates: Float, estimate_counts: Int, window: float) -> Matching:
    """A maximum matching of the events of each pair.

    Parameters
    ----------
    references, estimates : float64, seconds
        Flat, ascending within each pair; finite. Equal times may repeat.
    reference_counts, estimate_counts : int64 (pairs,)
    window : float, seconds
        Largest distance of matched events; see :func:`within_reach`.

    Returns
    -------
    Matching

    References
    ----------
    F. Glover, "Maximum matching in a convex bipartite graph", Naval Research Logistics Quarterly 14, 1967.

    Examples
    --------
    Both estimates are near the second reference; the first one has to take the first reference.

    >>> two = np.array([2])
    >>> found = match(np.array([0.0, 0.1]), two, np.array([0.06, 0.12]), two, 0.07)
    >>> found.reference.tolist(), found.estimate.tolist(), found.counts.tolist()
    ([0, 1], [0, 1], [2])
    """
    first, last = within_reach(references, reference_counts, estimates, estimate_counts, window)
    candidate = np.flatnonzero(last > first)
    matched, reference = _assign(first[candidate], last[candidate])
    estimate = candidate[matched]
    counts = np.bincount(rows_of(estimate_counts)[estimate], minlength=len(estimate_counts))
    return Matching(reference[matched], estimate, counts.astype(np.int64, copy=False))


def count_matches(
    references: Float, reference_counts: Int, estimates: Float, estimate_counts: Int, window: float
) -> Int:
    """The sizes of the maximum matchings of each pair; parameters as for :func:`match`.

    Returns
    -------
    int64 (pairs,)

    Examples
    --------
    >>> count_matches(np.array([0.0, 1.0]), np.array([2]), np.array([0.04, 0.05]), np.array([2]), 0.07).tolist()
    [1]
    """
    return match(references, reference_counts, estimates, estimate_counts, window).counts


def match_greedily(
    references: Float, reference_counts: Int, estimates: Float, estimate_counts: Int, window: float
) -> Matching:
    """The matching of the Beat Evaluation Toolbox, which MIREX used; it may be smaller than a maximum one.

    The references are gone through in order of time. Each claims all estimates within ``reference - window`` to
    ``reference + window`` that no reference before it has claimed. If there are any, the first of them is its match;
    the others are lost to later references.

    Parameters are those of :func:`match`.

    Returns
    -------
    Matching

    References
    ----------
    M. E. P. Davies, N. Degara and M. D. Plumbley, "Evaluation methods for musical audio beat tracking algorithms",
    Queen Mary University of London, C4DM-TR-09-06, 2009.

    Examples
    --------
    The first reference claims both estimates; a maximum matching has two.

    >>> two = np.array([2])
    >>> match_greedily(np.array([0.0, 0.1]), two, np.array([0.04, 0.06]), two, 0.07).reference.tolist()
    [0]
    """
    first, last = within_reach(estimates, estimate_counts, references, reference_counts, window)
    free = first.copy()
    # What earlier references have claimed ends where the previous one's window does.
    np.maximum(first[1:], last[:-1], out=free[1:])
    reference = np.flatnonzero(last > free)
    counts = np.bincount(rows_of(reference_counts)[reference], minlength=len(reference_counts))
    return Matching(reference, free[reference], counts.astype(np.int64, copy=False))


def match_ranges(first: Int, last: Int) -> Bool:
    """Which ranges get an element of theirs in a largest matching of ranges and elements; each element is taken once.

    Parameters
    ----------
    first, last : int64 (ranges,)
        In any order; `last` is excluded, and no range is empty.

    Returns
    -------
    bool (ranges,)
        How many there are among ranges that hang together does not depend on the others.

    References
    ----------
    F. Glover, "Maximum matching in a convex bipartite graph", Naval Research Logistics Quarterly 14, 1967.

    Examples
    --------
    >>> match_ranges(np.array([0, 0, 1, 7]), np.array([9, 1, 2, 8])).tolist()
    [True, True, True, True]
    >>> int(match_ranges(np.array([0, 0, 0]), np.array([2, 1, 2])).sum())
    2
    """
    order = np.lexsort((last, first))
    lows, highs = first[order], last[order]
    apart = lows[1:] >= np.maximum.accumulate(highs)[:-1]
    group = np.zeros(len(order), dtype=np.int64)
    np.cumsum(apart, out=group[1:])
    nested = np.zeros(len(order), dtype=np.bool_)
    nested[group[1:][(highs[1:] < highs[:-1]) & ~apart]] = True
    rest = nested[group]
    matched = np.empty(len(order), dtype=np.bool_)
    matched[order[~rest]] = _assign(lows[~rest], highs[~rest])[0]
    matched[order[rest]] = _assign_by_end(lows[rest], highs[rest])
    return matched


def _assign_by_end(first: Int, last: Int) -> Bool:
    """The same one by one, for ranges that lie within others: those that end first choose first."""
    order = np.lexsort((first, last))
    taken = []
    later: dict[int, int] = {}  # from a taken element on, the free ones start there or still later
    for element, end in zip(first[order].tolist(), last[order].tolist(), strict=True):
        while element in later:
            after = later[element]
            later[element] = element = later.get(after, after)
        taken.append(element < end)
        if element < end:
            later[element] = element + 1
    matched = np.empty(len(first), dtype=np.bool_)
    matched[order] = taken
    return matched


def _assign(first: Int, last: Int) -> tuple[Bool, Int]:
    """Which items of a list of ranges get an element of theirs when each takes the first free one, and which one.

    Both ends of the ranges must not descend, and no range may be empty. After item j the first free element is
    ``free[j] = min(last[j], max(first[j], free[j - 1]) + 1)``. With j subtracted that is a clamp of what was before.
    """
    free = first + 1
    taken = np.ones(len(first), dtype=np.bool_)
    # Where a range lies behind the one before it, nothing before it matters.
    chained = np.flatnonzero(first[1:] < last[:-1]) + 1
    if len(chained):
        free[chained] = _chain(first, last, chained)
        taken[chained] = free[chained] > np.maximum(first[chained], free[chained - 1])
    return taken, free - 1


def _chain(first: Int, last: Int, chained: Int) -> Int:
    """``free`` at the chained items, those whose range overlaps that of the item before them."""
    low, high = first[chained] + 1 - chained, last[chained] - chained
    begins = np.ones(len(chained), dtype=np.bool_)
    np.not_equal(chained[1:], chained[:-1] + 1, out=begins[1:])
    place = np.arange(len(chained), dtype=np.int64)
    length = place - np.maximum.accumulate(np.where(begins, place, 0))
    # The item before a chain takes the first of its range.
    known = first[chained[begins] - 1] + 2 - chained[begins]
    low[begins] = high[begins] = np.minimum(high[begins], np.maximum(low[begins], known))
    step, open_ = 1, np.flatnonzero(~begins)
    while len(open_):
        before = open_ - step
        lower = np.minimum(high[open_], np.maximum(low[open_], low[before]))
        upper = np.minimum(high[open_], np.maximum(low[open_], high[before]))
        low[open_], high[open_] = lower, upper
        step *= 2
        open_ = open_[length[open_] >= step]
    return low + chained
