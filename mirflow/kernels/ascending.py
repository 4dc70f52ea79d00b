"""The order of numbers, equal ones as they stand: a fast sort, mended where there are ties."""

from __future__ import annotations

import numpy as np

from ..ragged import Float, Int


def ascending(values: Float) -> Int:
    """The places of numbers from the smallest to the largest; equal ones keep their order.

    Several times as fast as numpy's stable sort, whose result it gives.

    Parameters
    ----------
    values : float64 (n,)
        Finite.

    Returns
    -------
    int64 (n,)

    Examples
    --------
    >>> ascending(np.array([0.5, 0.1, 0.5, 0.1])).tolist()
    [1, 3, 0, 2]
    """
    order = np.argsort(values).astype(np.int64, copy=False)
    ordered = values[order]
    step = ordered[1:] != ordered[:-1]
    if step.all():
        return order
    # Whole numbers that are in the order of the values and then of the places: they have no ties, and sort fast.
    ahead = np.zeros(len(values), dtype=np.int64)
    np.cumsum(step, out=ahead[1:])
    ahead *= len(values)
    order += ahead
    order.sort()
    order -= ahead
    return order
