"""Largest matchings in bipartite graphs with so many edges that looking for simple ones first does not pay."""

from __future__ import annotations

import numpy as np

from ..ragged import Bool, Int, offsets_of


def find_matched(left: Int, right: Int, left_size: int, right_size: int) -> Bool:
    """The left vertices that are matched in a largest matching.

    Which ones they are may depend on which graphs are given together, their number in each connected part does not.

    Parameters
    ----------
    left, right : int64 (edges,)
        The vertices that each edge joins, from 0, every edge once, ordered by the left ones.
    left_size, right_size : int
        Numbers of vertices.

    Returns
    -------
    bool (left_size,)

    References
    ----------
    J. E. Hopcroft and R. M. Karp, "An n^(5/2) algorithm for maximum matchings in bipartite graphs", SIAM Journal on
    Computing 2, 1973.

    Examples
    --------
    >>> find_matched(np.array([0, 0, 1]), np.array([0, 1, 0]), 3, 2).tolist()
    [True, True, False]
    """
    if not len(left):
        return np.zeros(left_size, dtype=np.bool_)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    ends = offsets_of(np.bincount(left, minlength=left_size)).astype(np.int32)
    ones = np.ones(len(right), dtype=np.int8)
    graph = csr_array((ones, right.astype(np.int32), ends), shape=(left_size, right_size))
    return np.asarray(maximum_bipartite_matching(graph, perm_type="column") >= 0)
