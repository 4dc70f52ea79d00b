"""How many members each two sets have in common, for sets of small integers."""

from __future__ import annotations

import numpy as np

from ..ragged import Float, Int, rows_of

_LIMIT = 1 << 21
"""Entries of the largest table of members."""


def common(left: Int, left_counts: Int, right: Int, right_counts: Int) -> Float:
    """The sizes of the intersections of all sets on the left with all on the right.

    Parameters
    ----------
    left, right : int64
        Members of the sets, flat, one set after the other; what is in a set twice counts once.
    left_counts, right_counts : int64 (sets,)

    Returns
    -------
    float64 (sets on the left, sets on the right)
        Whole numbers.

    Examples
    --------
    >>> common(np.array([1, 2, 2, 5]), np.array([3, 1]), np.array([2, 5, 1]), np.array([2, 1])).tolist()
    [[1.0, 1.0], [1.0, 0.0]]
    """
    shared = np.intersect1d(left, right)
    sizes = np.zeros((len(left_counts), len(right_counts)))
    step = max(_LIMIT // (len(left_counts) + len(right_counts) + 1), 1)
    for low in range(0, len(shared), step):
        members = shared[low : low + step]
        sizes += _table(left, left_counts, members) @ _table(right, right_counts, members).T
    return sizes


def _table(items: Int, counts: Int, members: Int) -> Float:
    """1 where a set has a member, else 0: float64 (sets, members)."""
    place = np.searchsorted(members, items)
    known = place < len(members)
    known[known] = members[place[known]] == items[known]
    table = np.zeros((len(counts), len(members)))
    table[rows_of(counts)[known], place[known]] = 1.0
    return table
