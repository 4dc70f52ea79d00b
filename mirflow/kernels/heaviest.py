"""Largest matchings in bipartite graphs with the largest sum of weights."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..ragged import Float, Int, offsets_of


def match_heaviest(left: Int, right: Int, weight: Float) -> Int:
    """The edges of a largest matching whose weights have the largest sum among all largest matchings.

    Each connected part of the graph is solved by itself, so that what it gives does not depend on the other parts.

    Parameters
    ----------
    left, right : int64 (edges,)
        The vertices that each edge joins, from 0, every edge once; many separate graphs may be given at once.
    weight : float64 (edges,)
        From -1 to 1.

    Returns
    -------
    int64 (matches,)
        Indices of edges, ascending. Sums that differ by rounding only count as equal.

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
        part = _parts(left[rest], right[rest])
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

    _, rows = np.unique(left, return_inverse=True)
    _, columns = np.unique(right, return_inverse=True)
    size = int(rows.max()) + 1
    total = size + int(columns.max()) + 1
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns + size)), shape=(total, total))
    part = connected_components(graph.tocsr(), directed=False)[1]
    return np.asarray(part[rows], dtype=np.int64)


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
