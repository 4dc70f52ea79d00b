"""Medians of rows of different lengths."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..ragged import Float, Int, offsets_of


def medians(values: Float, counts: Int, upper: bool = False) -> Float:
    """The median of each row.

    Parameters
    ----------
    values : float64
        Flat rows, in any order.
    counts : int64 (rows,)
    upper : bool
        Of an even number of values take the upper one of the two in the middle, instead of their mean.

    Returns
    -------
    float64 (rows,)
        NaN for a row without values.

    Examples
    --------
    >>> row = np.array([4.0, 1.0, 2.0, 9.0]), np.array([4])
    >>> medians(*row).tolist(), medians(*row, upper=True).tolist()
    ([3.0], [4.0])
    """
    result = np.full(len(counts), np.nan)
    offsets = offsets_of(counts)
    ascending = values.copy()
    bounds = offsets.tolist()
    # One row at a time: numpy sorts a short contiguous array in less time than it takes to lay rows out for one call.
    for start, stop in pairwise(bounds):
        ascending[start:stop].sort()
    filled = counts > 0
    first, count = offsets[:-1][filled], counts[filled]
    high = ascending[first + count // 2]
    result[filled] = high if upper else (ascending[first + (count - 1) // 2] + high) / 2
    return result
