"""Matchings: the largest, the heaviest and the nearest-first ones, for many pairs of sequences at once.

Sequences are flat over the pairs, with int64 counts of events a pair; times are finite float64 seconds, ascending
within a pair. Vertices of graphs are numbered from 0; many separate graphs may be given at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..ragged import Bool, Float, Int, offsets_of, ranges, rows_of
from .ragged_ops import advance, search_rows


@dataclass(frozen=True, slots=True)
class Matching:
    """Matched events of many pairs: indices into the flat sequences, ascending, and the matches of each pair."""

    reference: Int
    estimate: Int
    counts: Int


def within_reach(
    references: Float, reference_counts: Int, estimates: Float, estimate_counts: Int, window: float
) -> tuple[Int, Int]:
    """The references that each estimate may take: those with ``estimate - window <= reference <= estimate + window``.

    The sums are formed like that and compared, so whether an event exactly at the window's edge is a hit depends on
    rounding in the same way as in mir_eval. With a negative window nothing is within reach.

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
    if len(reference_counts) == 1 and window >= 0:
        one, other = reference_counts, estimate_counts
        first = search_rows(references, one, estimates - window, other)
        return first, search_rows(references, one, estimates + window, other, "right")
    end = np.repeat(offsets_of(reference_counts)[1:], estimate_counts)
    if not window >= 0:
        return end, end
    first = search_rows(references, reference_counts, estimates - window, estimate_counts)
    return first, advance(references, first, end, estimates + window, "right")


def within_distance(
    references: Float, reference_counts: Int, estimates: Float, estimate_counts: Int, window: float
) -> tuple[Int, Int]:
    """The references that each estimate may take: those with ``abs(estimate - reference) <= window``, as in madmom.

    The difference is rounded before it is compared, so that an event exactly at the window's edge may be a hit here and
    none for `within_reach`, or the other way round. Parameters and returns are those of `within_reach`.

    Examples
    --------
    >>> one, reference, estimate = np.array([1]), np.array([1.0]), np.array([1.07])
    >>> [len(match(reference, one, estimate, one, 0.07, reach).estimate) for reach in (within_reach, within_distance)]
    [1, 0]
    """
    offsets = offsets_of(reference_counts)
    starts, ends = offsets[:-1].repeat(estimate_counts), offsets[1:].repeat(estimate_counts)
    first, last = within_reach(references, reference_counts, estimates, estimate_counts, window)

    def move(place: Int, limit: Int, step: int, beside: int, near: bool) -> None:
        """Move places step by step, up to their limits, past references that are near, or that are not."""
        moving = (place != limit).nonzero()[0]
        while len(moving):
            distance = np.abs(estimates[moving] - references[place[moving] + beside])
            moving = moving[(distance <= window) == near]
            place[moving] += step
            moving = moving[place[moving] != limit[moving]]

    move(first, starts, -1, -1, True)
    move(last, ends, 1, 0, True)
    move(first, last, 1, 0, False)
    move(last, first, -1, -1, False)
    return first, last


Reach = Callable[[Float, Int, Float, Int, float], tuple[Int, Int]]


def match(
    references: Float,
    reference_counts: Int,
    estimates: Float,
    estimate_counts: Int,
    window: float,
    reach: Reach = within_reach,
) -> Matching:
    """A maximum matching of the events of each pair that are within reach; equal times may repeat.

    Estimates, in order, take the first reference that is free: the pass over both lists that drops the earlier of two
    events that are too far apart finds the same.

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
    first, last = reach(references, reference_counts, estimates, estimate_counts, window)
    candidate = (last > first).nonzero()[0]
    matched, reference = _assign(first[candidate], last[candidate])
    estimate = candidate[matched]
    return Matching(reference[matched], estimate, _count(estimate, estimate_counts))


def _count(matched: Int, counts: Int) -> Int:
    """The number of matched events of each pair: int64 (pairs,)."""
    if len(counts) == 1:
        return np.array([len(matched)], dtype=np.int64)
    return np.bincount(rows_of(counts)[matched], minlength=len(counts)).astype(np.int64, copy=False)


def match_greedily(
    references: Float, reference_counts: Int, estimates: Float, estimate_counts: Int, window: float
) -> Matching:
    """The matching of the Beat Evaluation Toolbox, which MIREX used; it may be smaller than a maximum one.

    The references are gone through in order of time. Each claims all estimates within reach that no reference before
    it has claimed. If there are any, the first of them is its match; the others are lost to later references.

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
    return Matching(reference, free[reference], _count(reference, reference_counts))


def match_ranges(first: Int, last: Int) -> Bool:
    """Ranges that get an element of theirs in a largest matching of ranges and elements; each element is taken once.

    Parameters
    ----------
    first, last : int64 (ranges,)
        In any order; `last` is excluded, and no range is empty.

    Returns
    -------
    bool (ranges,)
        Their number among ranges that hang together does not depend on the others.

    Examples
    --------
    >>> match_ranges(np.array([0, 0, 1, 7]), np.array([9, 1, 2, 8])).tolist()
    [True, True, True, True]
    >>> int(match_ranges(np.array([0, 0, 0]), np.array([2, 1, 2])).sum())
    2
    """
    if (first[1:] >= first[:-1]).all() and (last[1:] >= last[:-1]).all():
        return _assign(first, last)[0]
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
    """The ranges of a list that get an element of theirs when each takes the first free one, and that element.

    Both ends of the ranges must not descend, and no range may be empty. After item j the first free element is
    ``free[j] = min(last[j], max(first[j], free[j - 1]) + 1)``. With j subtracted that is a clamp of what was before.
    """
    taken = np.ones(len(first), dtype=np.bool_)
    # Where a range lies behind the one before it, nothing before it matters.
    chained = (first[1:] < last[:-1]).nonzero()[0]
    if not len(chained):
        return taken, first
    chained += 1
    free = first + 1
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


def match_nearest_first(
    references: Float, reference_counts: Int, estimates: Float, estimate_counts: Int, window: float
) -> Matching:
    """Match the two nearest free events of a pair that are less than a window apart again and again.

    Of equally near ones those with the earlier estimate, then the earlier reference, go first. Such a matching may be
    smaller than a maximum one.

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
    return Matching(partner[matched], matched, _count(matched, estimate_counts))


def nearest(times: Float, counts: Int, queries: Float, query_counts: Int, place: Int | None = None) -> Int:
    """The nearest time of its own row for each query; of several that are equally near the first.

    Distances are compared as floating point numbers, as :func:`numpy.argmin` of them does.

    Parameters
    ----------
    times, counts
        Rows, with at least one time where there are queries.
    queries, query_counts
        Finite values in any order.
    place : int64 (queries,) or None
        Where the queries belong in `times`, as :func:`mirflow.kernels.ragged_ops.search_rows` finds it on the left.

    Returns
    -------
    int64 (queries,)
        Index into the flat `times`.

    Examples
    --------
    >>> times, queries = np.array([0.0, 1.0, 1.0, 5.0]), np.array([0.5, 0.75, 9.0, 0.0])
    >>> nearest(times, np.array([3, 1]), queries, np.array([3, 1])).tolist()
    [0, 1, 1, 3]
    """
    if place is None:
        place = search_rows(times, counts, queries, query_counts)
    offsets = offsets_of(counts)
    start, end = offsets[:-1], offsets[1:]
    alone = len(counts) == 1
    if not alone:
        start, end = np.repeat(start, query_counts), np.repeat(end, query_counts)
    before, after = np.maximum(place - 1, start), np.minimum(place, end - 1)
    distance, other = np.abs(queries - times[before]), np.abs(queries - times[after])
    found = np.where(other < distance, after, before)
    np.minimum(distance, other, out=distance)
    moving = (found > start).nonzero()[0]
    while len(moving):
        moving = moving[np.abs(queries[moving] - times[found[moving] - 1]) <= distance[moving]]
        found[moving] -= 1
        moving = moving[found[moving] > (start if alone else start[moving])]
    return found


Graph = Mapping[int, Sequence[int]]
"""The right vertices of each left vertex, both in the order in which they are visited."""

_START = -1
"""In place of the right vertex before an unmatched left vertex, which has none."""


def match_in_order(left: Int, right: Int, left_size: int, right_size: int) -> Int:
    """The edges of the largest matching that is found by visiting vertices in the order of the edges, ascending.

    Parameters
    ----------
    left, right : int64 (edges,)
        The vertices that each edge joins, every edge once. Left vertices are visited in the order in which they first
        occur, and their right vertices in the order of the edges.
    left_size, right_size : int
        Numbers of vertices.

    References
    ----------
    J. E. Hopcroft and R. M. Karp, "An n^(5/2) algorithm for maximum matchings in bipartite graphs", SIAM Journal on
    Computing 2, 1973.

    Examples
    --------
    Left vertex 1 has to take right vertex 0, so that left vertex 0 can only have the other one.

    >>> match_in_order(np.array([0, 1, 0]), np.array([0, 0, 1]), 2, 2).tolist()
    [1, 2]
    """
    left_degree, right_degree = np.bincount(left, minlength=left_size), np.bincount(right, minlength=right_size)
    # A part of the graph is a star if no edge of it joins two vertices that both have others. Where one does, every
    # other edge of the part has an end at such an edge, or the part would not hang together.
    branching = (left_degree[left] > 1) & (right_degree[right] > 1)
    crowded_left, crowded_right = np.zeros(left_size, dtype=np.bool_), np.zeros(right_size, dtype=np.bool_)
    crowded_left[left[branching]] = True
    crowded_right[right[branching]] = True
    tangled = crowded_left[left] | crowded_right[right]
    rest = tangled.nonzero()[0]
    if not len(rest):
        return np.asarray((_first_of(left, left_size) & _first_of(right, right_size)).nonzero()[0])
    simple = (~tangled).nonzero()[0]
    chosen = simple[_first_of(left[simple], left_size) & _first_of(right[simple], right_size)]
    return np.sort(np.concatenate([chosen, _match(left, right, rest)]))


def _match(left: Int, right: Int, edges: Int) -> Int:
    """The same for some of the edges, one vertex after the other."""
    graph: dict[int, list[int]] = {}
    number: dict[tuple[int, int], int] = {}
    for edge, one, other in zip(edges.tolist(), left[edges].tolist(), right[edges].tolist(), strict=True):
        graph.setdefault(one, []).append(other)
        number[one, other] = edge
    partner = find_partners(graph)
    return np.array([number[one, other] for other, one in partner.items()], dtype=np.int64)


def find_partners(graph: Graph) -> dict[int, int]:
    """The left vertex that each matched right vertex of a graph is matched with.

    Examples
    --------
    >>> sorted(find_partners({0: [0, 1], 1: [0]}).items())
    [(0, 1), (1, 0)]
    """
    partner: dict[int, int] = {}
    for one, others in graph.items():
        for other in others:
            if other not in partner:
                partner[other] = one
                break
    while True:
        search = _PathSearch(graph, partner)
        if not search.ends:
            return partner
        for end in search.ends:
            search.augment(end)


class _PathSearch:
    """The shortest alternating paths from unmatched left vertices to unmatched right vertices, as layers."""

    def __init__(self, graph: Graph, partner: dict[int, int]) -> None:
        self.partner = partner
        matched = set(partner.values())
        layer = [one for one in graph if one not in matched]
        self.before = dict.fromkeys(layer, _START)
        self.parents: dict[int, list[int]] = {}
        self.ends: list[int] = []
        while layer and not self.ends:
            layer = self._extend(graph, layer)

    def _extend(self, graph: Graph, layer: list[int]) -> list[int]:
        """Find what lies behind a layer of left vertices, and return the next such layer."""
        reached: dict[int, list[int]] = {}
        for one in layer:
            for other in graph[one]:
                if other not in self.parents:
                    reached.setdefault(other, []).append(one)
        self.parents |= reached
        self.ends = [other for other in reached if other not in self.partner]
        behind = [other for other in reached if other in self.partner]
        for other in behind:
            self.before[self.partner[other]] = other
        return [self.partner[other] for other in behind]

    def augment(self, end: int) -> None:
        """Match along a path that leads to an unmatched right vertex, if one is left; each vertex is used up."""
        path: list[tuple[int, Iterator[int]]] = [(end, self._take(end))]
        lefts: list[int] = []
        while path:
            one = next((one for one in path[-1][1] if one in self.before), None)
            if one is None:
                path.pop()
                if lefts:
                    lefts.pop()
                continue
            lefts.append(one)
            before = self.before.pop(one)
            if before == _START:
                self.partner.update((other, mate) for (other, _), mate in zip(path, lefts, strict=True))
                return
            path.append((before, self._take(before)))

    def _take(self, other: int) -> Iterator[int]:
        return iter(self.parents.pop(other, ()))


_LARGE = 32
"""Vertices that hang together are matched one after the other if there are more of them."""


def match_edges(left: Int, right: Int, left_size: int, right_size: int) -> Int:
    """The edges of a largest matching, ascending; their number is that of the separate parts of the graph.

    A vertex with a single edge can always be matched along it. Such edges are taken, and what they touch is removed,
    until no such vertex is left; only the rest, if there is any, is matched by augmenting paths. Parameters are those
    of `match_in_order`.

    References
    ----------
    R. M. Karp and M. Sipser, "Maximum matchings in sparse random graphs", FOCS 1981.

    Examples
    --------
    >>> match_edges(np.array([0, 0, 1]), np.array([0, 1, 0]), 2, 2).tolist()
    [1, 2]
    """
    taken: list[Int] = []
    rest = np.arange(len(left), dtype=np.int64)
    while len(rest):
        lone = _lone(left[rest], left_size) | _lone(right[rest], right_size)
        if not lone.any():
            break
        chosen = rest[lone]
        # Two such edges may meet in one vertex; the first of them is taken.
        chosen = chosen[_first_of(left[chosen], left_size)]
        chosen = chosen[_first_of(right[chosen], right_size)]
        taken.append(chosen)
        rest = rest[~_touched(left[rest], left[chosen], left_size) & ~_touched(right[rest], right[chosen], right_size)]
    if len(rest):
        taken.append(_augment(left, right, rest, right_size))
    return np.sort(np.concatenate(taken)) if taken else np.zeros(0, dtype=np.int64)


def _lone(vertex: Int, size: int) -> Bool:
    """Edges that are the only ones at their vertex."""
    return np.asarray(np.bincount(vertex, minlength=size)[vertex] == 1)


def _first_of(vertex: Int, size: int) -> Bool:
    """Edges that are the first ones at their vertex."""
    place = np.arange(len(vertex), dtype=np.int64)
    first = np.empty(size, dtype=np.int64)
    first[vertex[::-1]] = place[::-1]
    return np.asarray(first[vertex] == place)


def _touched(vertex: Int, removed: Int, size: int) -> Bool:
    gone = np.zeros(size, dtype=np.bool_)
    gone[removed] = True
    return np.asarray(gone[vertex])


def _augment(left: Int, right: Int, edges: Int, right_size: int) -> Int:
    """The edges of a largest matching among some edges.

    scipy is fast where what hangs together is small, and takes minutes where some thousands of vertices do.
    """
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

    edges = edges[np.unique(left[edges] * right_size + right[edges], return_index=True)[1]]
    rows, columns = (np.unique(side[edges], return_inverse=True)[1] for side in (left, right))
    size, width = int(rows.max()) + 1, int(columns.max()) + 1
    ones = np.ones(len(edges), dtype=np.int8)
    part = connected_components(coo_array((ones, (rows, columns + size)), shape=(size + width, size + width)))[1]
    large = (np.bincount(part) > _LARGE)[part[:size]][rows]
    graph = csr_array((ones[~large], (rows[~large], columns[~large])), shape=(size, width))
    partner = maximum_bipartite_matching(graph, perm_type="column")
    others = match_in_order(rows[large], columns[large], size, width)
    return np.concatenate([edges[~large][partner[rows[~large]] == columns[~large]], edges[large][others]])


def match_heaviest(left: Int, right: Int, weight: Float) -> Int:
    """The edges of a largest matching whose weights have the largest sum among all largest matchings, ascending.

    Each connected part of the graph is solved by itself, so that what it gives does not depend on the other parts.
    Sums that differ by rounding only count as equal.

    Parameters
    ----------
    left, right : int64 (edges,)
        The vertices that each edge joins, every edge once.
    weight : float64 (edges,)
        From -1 to 1.

    References
    ----------
    R. Jonker and A. Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems",
    Computing 38, 1987.

    Examples
    --------
    Two matchings have two edges; the one with the heaviest edge weighs less.

    >>> left, right = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> match_heaviest(left, right, np.array([0.9, 0.8, 0.8, 0.5])).tolist()
    [1, 2]
    """
    left_degree, right_degree = np.bincount(left), np.bincount(right)
    lone = (left_degree[left] == 1) & (right_degree[right] == 1)
    chosen = [np.flatnonzero(lone)]
    rest = np.flatnonzero(~lone)
    if len(rest):
        part = _parts(*(np.unique(side[rest], return_inverse=True)[1] for side in (left, right)))
        order = np.argsort(part, kind="stable")
        ends = offsets_of(np.bincount(part))
        for low, high in pairwise(ends.tolist()):
            edges = rest[order[low:high]]
            chosen.append(edges[_solve(left[edges], right[edges], weight[edges])])
    return np.sort(np.concatenate(chosen))


def _parts(left: Int, right: Int) -> Int:
    """The number of the connected part that each edge belongs to."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = int(left.max()) + 1
    total = size + int(right.max()) + 1
    graph = coo_array((np.ones(len(left), dtype=np.int8), (left, right + size)), shape=(total, total))
    part = connected_components(graph.tocsr(), directed=False)[1]
    return np.asarray(part[left], dtype=np.int64)


def _solve(left: Int, right: Int, weight: Float) -> Int:
    """The same for one connected part: places among its edges."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    _, rows = np.unique(left, return_inverse=True)
    _, columns = np.unique(right, return_inverse=True)
    size, width = int(rows.max()) + 1, int(columns.max()) + 1
    # Every left vertex may stay alone at a cost that no choice among real edges can make up for.
    own = np.arange(size)
    cost = np.concatenate([2.0 - weight, np.full(size, 4.0 * size)])
    place = np.concatenate([rows, own]), np.concatenate([columns, own + width])
    graph = coo_array((cost, place), shape=(size, width + size))
    taken, partner = min_weight_full_bipartite_matching(graph.tocsr())
    matched = np.full(size, -1, dtype=np.int64)
    matched[taken] = partner
    return np.flatnonzero(matched[rows] == columns)
