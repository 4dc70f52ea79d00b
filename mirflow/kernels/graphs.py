"""Largest matchings in bipartite graphs that are given by their edges."""

from __future__ import annotations

import numpy as np

from ..ragged import Bool, Int
from .ordered import match_in_order

_LARGE = 32
"""Vertices that hang together are matched one after the other if there are more of them."""


def match_edges(left: Int, right: Int, left_size: int, right_size: int) -> Int:
    """The edges of a largest matching.

    A vertex with a single edge can always be matched along it. Such edges are taken, and what they touch is removed,
    until no such vertex is left; only the rest, if there is any, is matched by augmenting paths.

    Parameters
    ----------
    left, right : int64 (edges,)
        The vertices that each edge joins, from 0; many separate graphs may be given at once.
    left_size, right_size : int
        Numbers of vertices.

    Returns
    -------
    int64 (matches,)
        Indices of edges, ascending. Their number depends only on the graph, and is that of its separate parts.

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
    _, rows = np.unique(left[edges], return_inverse=True)
    _, columns = np.unique(right[edges], return_inverse=True)
    size, width = int(rows.max()) + 1, int(columns.max()) + 1
    ones = np.ones(len(edges), dtype=np.int8)
    part = connected_components(coo_array((ones, (rows, columns + size)), shape=(size + width, size + width)))[1]
    large = (np.bincount(part) > _LARGE)[part[:size]][rows]
    graph = csr_array((ones[~large], (rows[~large], columns[~large])), shape=(size, width))
    partner = maximum_bipartite_matching(graph, perm_type="column")
    others = match_in_order(rows[large], columns[large], size, width)
    return np.concatenate([edges[~large][partner[rows[~large]] == columns[~large]], edges[large][others]])
