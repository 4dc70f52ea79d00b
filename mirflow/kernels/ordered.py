"""The largest matching that Hopcroft and Karp's algorithm finds when vertices and edges are visited in a given order.

A graph may have many largest matchings, and what is measured on the matched pairs depends on which one is found. It is
settled by the order in which the algorithm looks at things. Parts of a graph that are not connected do not influence
each other: a round augments along the shortest paths there are, so it may leave out some parts, but every part goes
through the rounds that it would go through alone. So parts that are stars, which end up with the first edge at their
centre, are matched all at once, and it does not matter which graphs are matched together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..ragged import Int

Graph = Mapping[int, Sequence[int]]
"""The right vertices of each left vertex, both in the order in which they are visited."""

_START = -1
"""Stands for the right vertex before an unmatched left vertex, which has none."""


def match_in_order(left: Int, right: Int, left_size: int, right_size: int) -> Int:
    """The edges of the largest matching that is found by visiting vertices in the order of the edges.

    Parameters
    ----------
    left, right : int64 (edges,)
        The vertices that each edge joins, from 0, every edge once. Left vertices are visited in the order in which they
        first occur, and their right vertices in the order of the edges.
    left_size, right_size : int
        Numbers of vertices.

    Returns
    -------
    int64 (matches,)
        Indices of edges, ascending.

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
    simple = np.flatnonzero(~tangled)
    first = np.zeros(len(left), dtype=np.bool_)
    first[simple[_first_of(left[simple])]] = True
    second = np.zeros(len(left), dtype=np.bool_)
    second[simple[_first_of(right[simple])]] = True
    chosen = np.flatnonzero(first & second)
    rest = np.flatnonzero(tangled)
    if not len(rest):
        return chosen
    return np.sort(np.concatenate([chosen, _match(left, right, rest)]))


def _first_of(vertex: Int) -> Int:
    return np.unique(vertex, return_index=True)[1]


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
        search = _Search(graph, partner)
        if not search.ends:
            return partner
        for end in search.ends:
            search.augment(end)


class _Search:
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
