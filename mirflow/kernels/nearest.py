"""The nearest event of one sequence for each event of another, for many pairs at once."""

from __future__ import annotations

import numpy as np

from ..ragged import Float, Int, offsets_of
from .searching import search_rows


def nearest(times: Float, counts: Int, queries: Float, query_counts: Int, place: Int | None = None) -> Int:
    """The nearest time of its own row for each query; of several that are equally near the first.

    Equally near means that the distances are equal as floating point numbers, as :func:`numpy.argmin` of them sees it.

    Parameters
    ----------
    times : float64
        Flat rows, ascending within a row; finite.
    counts : int64 (rows,)
        At least one for every row that has queries.
    queries : float64
        Flat values; finite.
    query_counts : int64 (rows,)
    place : int64 (sum of query_counts,) or None
        Where the queries belong in `times`, as :func:`mirflow.kernels.searching.search_rows` finds it on the left;
        None: it is looked up.

    Returns
    -------
    int64 (sum of query_counts,)
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
    start, end = np.repeat(offsets[:-1], query_counts), np.repeat(offsets[1:], query_counts)
    before, after = np.maximum(place - 1, start), np.minimum(place, end - 1)
    distance, other = np.abs(queries - times[before]), np.abs(queries - times[after])
    found = np.where(other < distance, after, before)
    np.minimum(distance, other, out=distance)
    moving = np.flatnonzero(found > start)
    while len(moving):
        moving = moving[np.abs(queries[moving] - times[found[moving] - 1]) <= distance[moving]]
        found[moving] -= 1
        moving = moving[found[moving] > start[moving]]
    return found
