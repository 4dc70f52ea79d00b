"""Matchings (largest, heaviest, greedy, nearest-first) of many pairs of sequences at once, or of graphs; nearest times.

Sequences are flat over the pairs, with int64 counts of events per pair; times are finite float64 seconds, ascending
within a pair. Vertices of graphs are numbered from 0; several separate graphs may be given at once.
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
    """Matched events of many pairs: ascending indices into the flat sequences, and the number of matches per pair."""

    reference: Int
    estimate: Int
    counts: Int


def within_reach(
    references: Float, reference_counts: Int, estimates: Float, estimate_counts: Int, window: float
) -> tuple[Int, Int]:
    """Candidates of each estimate: references with ``estimate - window <= reference <= estimate + window``.

    Sums are computed in this way, so that rounding decides about events exactly at the edge of the window as in
    mir_eval. With a negative window, there are no candidates. The result is the range of flat references for each
    estimate, as first and excluded last index.
    """
    if len(reference_counts) == 1 and window >= 0:
        left, right = reference_counts, estimate_counts
        first = search_rows(references, left, estimates - window, right)
        return first, search_rows(references, left, estimates + window, right, "right")
    end = np.repeat(offsets_of(reference_counts)[1:], estimate_counts)
    if not window >= 0:
        return end, end
    first = search_rows(references, reference_counts, estimates - window, estimate_counts)
    return first, advance(references, first, end, estimates + window, "right")


def within_distance(
    references: Float, reference_counts: Int, estimates: Float, estimate_counts: Int, window: float
) -> tuple[Int, Int]:
    """Candidates of each estimate: references with ``abs(estimate - reference) <= window``, as in madmom.

    Because of rounding, events exactly at the edge of the window may be decided differently by `within_reach`, which
    has the same parameters and returns.
    """
    offsets = offsets_of(reference_counts)
    starts, ends = offsets[:-1].repeat(estimate_counts), offsets[1:].repeat(estimate_counts)
    first, last = within_reach(references, reference_counts, estimates, estimate_counts, window)
    # Move both ends step by step, up to a limit: outwards past references that are near, then inwards past others.
    for place, limit, step, beside, near in (
        (first, starts, -1, -1, True),
        (last, ends, 1, 0, True),
        (first, last, 1, 0, False),
        (last, first, -1, -1, False),
    ):
        moving = (place != limit).nonzero()[0]
        while len(moving):
            distance = np.abs(estimates[moving] - references[place[moving] + beside])
            moving = moving[(distance <= window) == near]
            place[moving] += step
            moving = moving[place[moving] != limit[moving]]
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
    """Find a maximum matching of the events of each pair that are within reach; times may be repeated.

    Estimates, in order, are matched with the first free reference. A pass over both lists that drops the earlier of two
    events that are too far apart gives the same result.
    Source: F. Glover, "Maximum matching in a convex bipartite graph", Naval Research Logistics Quarterly 14, 1967.
    """
    first, last = reach(references, reference_counts, estimates, estimate_counts, window)
    candidate = (last > first).nonzero()[0]
    matched, reference = _assign(first[candidate], last[candidate])
    estimate = candidate[matched]
    if len(estimate_counts) == 1:
        return Matching(reference[matched], estimate, np.array([len(estimate)], dtype=np.int64))
    counts = np.bincount(rows_of(estimate_counts)[estimate], minlength=len(estimate_counts))
    return Matching(reference[matched], estimate, counts.astype(np.int64, copy=False))


def match_greedily(
    references: Float, reference_counts: Int, estimates: Float, estimate_counts: Int, window: float
) -> Matching:
    """Match events as in MIREX's Beat Evaluation Toolbox; the matching may be smaller than a maximum one.

    References are processed in order of time. Each claims all estimates within reach that are not yet claimed. The
    first of these is its match; the others are not available to later references.
    Source: M. E. P. Davies, N. Degara and M. D. Plumbley, Queen Mary University of London, C4DM-TR-09-06, 2009.
    """
    first, last = within_reach(estimates, estimate_counts, references, reference_counts, window)
    free = first.copy()
    # Claimed estimates end at the end of the previous reference's window.
    np.maximum(first[1:], last[:-1], out=free[1:])
    reference = np.flatnonzero(last > free)
    counts = np.bincount(rows_of(reference_counts)[reference], minlength=len(reference_counts))
    return Matching(reference, free[reference], counts.astype(np.int64, copy=False))


def match_ranges(first: Int, last: Int) -> Bool:
    """Mask of ranges that are matched with one of their elements in a largest matching of ranges and elements.

    Ranges are not empty and exclude `last`. The number of matched ranges in a connected component does not depend on
    other components.
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
    # Ranges that contain others are matched one by one, those that end first choosing first.
    one_by_one = order[rest]
    one_by_one = one_by_one[np.lexsort((first[one_by_one], last[one_by_one]))]
    taken = []
    later: dict[int, int] = {}  # taken element -> lower bound of the next free one
    for element, end in zip(first[one_by_one].tolist(), last[one_by_one].tolist(), strict=True):
        while element in later:
            after = later[element]
            later[element] = element = later.get(after, after)
        taken.append(element < end)
        if element < end:
            later[element] = element + 1
    matched[one_by_one] = taken
    return matched


def _assign(first: Int, last: Int) -> tuple[Bool, Int]:
    """Match each range with its first free element; return which ranges are matched, and the elements.

    Both ends of the ranges must not descend, and no range may be empty. After range j, the first free element is
    ``free[j] = min(last[j], max(first[j], free[j - 1]) + 1)``, which is a clamp of the previous value after subtracting
    j.
    """
    taken = np.ones(len(first), dtype=np.bool_)
    # A range after the end of the previous one does not depend on earlier ones.
    chained = (first[1:] < last[:-1]).nonzero()[0]
    if not len(chained):
        return taken, first
    chained += 1
    free = first + 1
    low, high = first[chained] + 1 - chained, last[chained] - chained
    begins = np.ones(len(chained), dtype=np.bool_)
    np.not_equal(chained[1:], chained[:-1] + 1, out=begins[1:])
    position = np.arange(len(chained), dtype=np.int64)
    length = position - np.maximum.accumulate(np.where(begins, position, 0))
    # The range before a chain takes its first element.
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
    free[chained] = low + chained
    taken[chained] = free[chained] > np.maximum(first[chained], free[chained - 1])
    return taken, free - 1


def match_nearest_first(
    references: Float, reference_counts: Int, estimates: Float, estimate_counts: Int, window: float
) -> Matching:
    """Repeatedly match the two nearest free events of a pair that are less than a window apart.

    Among equally near ones, those with the earlier estimate, then the earlier reference, are matched first. The
    matching may be smaller than a maximum one.
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
        # Events that are each other's nearest are matched, and no longer available to others.
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
    counts = np.bincount(pair[matched], minlength=len(estimate_counts)).astype(np.int64, copy=False)
    return Matching(partner[matched], matched, counts)


def nearest(times: Float, counts: Int, queries: Float, query_counts: Int, place: Int | None = None) -> Int:
    """Nearest time of its row for each query, the first of equally near ones: int64 (queries,), indices into `times`.

    Floating point distances are compared as by :func:`numpy.argmin`.

    Queries are finite and in any order. `place` has their left insertion points in `times`, see
    :func:`mirflow.kernels.ragged_ops.search_rows`.
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
    index = np.where(other < distance, after, before)
    np.minimum(distance, other, out=distance)
    moving = (index > start).nonzero()[0]
    while len(moving):
        moving = moving[np.abs(queries[moving] - times[index[moving] - 1]) <= distance[moving]]
        index[moving] -= 1
        moving = moving[index[moving] > (start if alone else start[moving])]
    return index


Graph = Mapping[int, Sequence[int]]  # Right vertices of each left vertex, both in visiting order
_START = -1  # Replaces the right vertex before an unmatched left vertex


def match_in_order(left: Int, right: Int, left_size: int, right_size: int) -> Int:
    """Find the largest matching that results from visiting vertices in the order of the edges: ascending edges.

    Edges join a left and a right vertex, without repetitions. Left vertices are visited in the order of their first
    occurrence, and their right vertices in the order of the edges.
    Source: J. E. Hopcroft and R. M. Karp, SIAM Journal on Computing 2, 1973.
    """
    left_degree, right_degree = np.bincount(left, minlength=left_size), np.bincount(right, minlength=right_size)
    # A component is a star if no edge joins two vertices that both have other edges. Otherwise, every other edge of the
    # component touches such an edge, or the component would not be connected.
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
    graph: dict[int, list[int]] = {}
    number: dict[tuple[int, int], int] = {}
    for edge, first, second in zip(rest.tolist(), left[rest].tolist(), right[rest].tolist(), strict=True):
        graph.setdefault(first, []).append(second)
        number[first, second] = edge
    partner = find_partners(graph)
    matched = np.array([number[first, second] for second, first in partner.items()], dtype=np.int64)
    return np.sort(np.concatenate([chosen, matched]))


def find_partners(graph: Graph) -> dict[int, int]:
    """Find the left partner of each matched right vertex of a graph."""
    partner: dict[int, int] = {}
    for vertex, others in graph.items():
        for other in others:
            if other not in partner:
                partner[other] = vertex
                break
    while True:
        # The shortest alternating paths from unmatched left vertices to unmatched right vertices, as layers
        matched = set(partner.values())
        layer = [vertex for vertex in graph if vertex not in matched]
        before = dict.fromkeys(layer, _START)
        parents: dict[int, list[int]] = {}
        ends: list[int] = []
        while layer and not ends:
            reached: dict[int, list[int]] = {}
            for vertex in layer:
                for other in graph[vertex]:
                    if other not in parents:
                        reached.setdefault(other, []).append(vertex)
            parents |= reached
            ends = [other for other in reached if other not in partner]
            behind = [other for other in reached if other in partner]
            layer = [partner[other] for other in behind]
            before.update(zip(layer, behind, strict=True))
        if not ends:
            return partner
        for end in ends:
            # Match along a remaining path to the unmatched right vertex; each vertex is used once.
            path: list[tuple[int, Iterator[int]]] = [(end, iter(parents.pop(end, ())))]
            lefts: list[int] = []
            while path:
                free = next((vertex for vertex in path[-1][1] if vertex in before), None)
                if free is None:
                    path.pop()
                    del lefts[-1:]
                    continue
                lefts.append(free)
                previous = before.pop(free)
                if previous == _START:
                    partner.update((other, mate) for (other, _), mate in zip(path, lefts, strict=True))
                    break
                path.append((previous, iter(parents.pop(previous, ()))))


_LARGE = 32  # Size of connected components above which vertices are matched one by one


def match_edges(left: Int, right: Int, left_size: int, right_size: int) -> Int:
    """Find the edges of a largest matching, ascending; their number is the sum over connected components.

    Vertices with a single edge can always be matched along it. Such edges are taken, and the edges that they touch
    removed, until there are no such vertices; the rest is matched by augmenting paths. Parameters are those of
    `match_in_order`.
    Source: R. M. Karp and M. Sipser, "Maximum matchings in sparse random graphs", FOCS 1981.
    """
    taken: list[Int] = []
    rest = np.arange(len(left), dtype=np.int64)
    while len(rest):
        sides = (left[rest], left_size), (right[rest], right_size)
        lone = np.any([np.bincount(side, minlength=size)[side] == 1 for side, size in sides], axis=0)
        if not lone.any():
            break
        chosen = rest[lone]
        # Two such edges may meet in one vertex; the first of them is taken.
        chosen = chosen[_first_of(left[chosen], left_size)]
        chosen = chosen[_first_of(right[chosen], right_size)]
        taken.append(chosen)
        for side, size in ((left, left_size), (right, right_size)):
            gone = np.zeros(size, dtype=np.bool_)
            gone[side[chosen]] = True
            rest = rest[~gone[side[rest]]]
    if len(rest):
        from scipy.sparse import coo_array, csr_array
        from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

        # scipy is fast for small connected components, but takes minutes for those with thousands of vertices.
        edges = rest[np.unique(left[rest] * right_size + right[rest], return_index=True)[1]]
        rows, columns = (np.unique(side[edges], return_inverse=True)[1] for side in (left, right))
        size, width = int(rows.max()) + 1, int(columns.max()) + 1
        ones = np.ones(len(edges), dtype=np.int8)
        part = connected_components(coo_array((ones, (rows, columns + size)), shape=(size + width, size + width)))[1]
        large = (np.bincount(part) > _LARGE)[part[:size]][rows]
        graph = csr_array((ones[~large], (rows[~large], columns[~large])), shape=(size, width))
        partner = maximum_bipartite_matching(graph, perm_type="column")
        others = match_in_order(rows[large], columns[large], size, width)
        taken += [edges[~large][partner[rows[~large]] == columns[~large]], edges[large][others]]
    return np.sort(np.concatenate(taken)) if taken else np.zeros(0, dtype=np.int64)


def _first_of(vertex: Int, size: int) -> Bool:
    """Mask of edges that are the first ones at their vertex."""
    edge = np.arange(len(vertex), dtype=np.int64)
    first = np.empty(size, dtype=np.int64)
    first[vertex[::-1]] = edge[::-1]
    return np.asarray(first[vertex] == edge)


def match_heaviest(left: Int, right: Int, weight: Float) -> Int:
    """Find the edges of the heaviest among all largest matchings, ascending.

    Connected components are solved separately, so that the results do not depend on each other. Sums that differ only
    by rounding count as equal.

    Edges occur once, with weights from -1 to 1.
    Source: R. Jonker and A. Volgenant, Computing 38, 1987.
    """
    left_degree, right_degree = np.bincount(left), np.bincount(right)
    lone = (left_degree[left] == 1) & (right_degree[right] == 1)
    chosen = [np.flatnonzero(lone)]
    rest = np.flatnonzero(~lone)
    if len(rest):
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components, min_weight_full_bipartite_matching

        rows, columns = (np.unique(side[rest], return_inverse=True)[1] for side in (left, right))
        size = int(rows.max()) + 1
        total = size + int(columns.max()) + 1
        joined = coo_array((np.ones(len(rest), dtype=np.int8), (rows, columns + size)), shape=(total, total))
        part = connected_components(joined.tocsr(), directed=False)[1][rows].astype(np.int64)
        order = np.argsort(part, kind="stable")
        ends = offsets_of(np.bincount(part))
        for low, high in pairwise(ends.tolist()):
            edges = rest[order[low:high]]
            _, rows = np.unique(left[edges], return_inverse=True)
            _, columns = np.unique(right[edges], return_inverse=True)
            size, width = int(rows.max()) + 1, int(columns.max()) + 1
            # Left vertices may stay unmatched at a cost that outweighs any choice of real edges.
            vertices = np.arange(size)
            cost = np.concatenate([2.0 - weight[edges], np.full(size, 4.0 * size)])
            cells = np.concatenate([rows, vertices]), np.concatenate([columns, vertices + width])
            graph = coo_array((cost, cells), shape=(size, width + size))
            taken, partner = min_weight_full_bipartite_matching(graph.tocsr())
            matched = np.full(size, -1, dtype=np.int64)
            matched[taken] = partner
            chosen.append(edges[np.flatnonzero(matched[rows] == columns)])
    return np.sort(np.concatenate(chosen))
