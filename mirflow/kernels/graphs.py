"""Largest matchings in bipartite graphs that are given by their edges."""

from __future__ import annotations

import numpy as np

from ..ragged import Bool, Int


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
        taken.append(_augment(left, right, rest))
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


def _augment(left: Int, right: Int, edges: Int) -> Int:
    """The edges of a largest matching among some edges, by the algorithm of Hopcroft and Karp."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    _, rows = np.unique(left[edges], return_inverse=True)
    _, columns = np.unique(right[edges], return_inverse=True)
    order = np.lexsort((columns, rows))
    edges, rows, columns = edges[order], rows[order], columns[order]
    distinct = np.append(True, (np.diff(rows) != 0) | (np.diff(columns) != 0))
    edges, rows, columns = edges[distinct], rows[distinct], columns[distinct]
    shape = int(rows.max()) + 1, int(columns.max()) + 1
    graph = csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=shape)
    partner = maximum_bipartite_matching(graph, perm_type="column")
    return np.asarray(edges[partner[rows] == columns])
