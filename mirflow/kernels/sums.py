"""Sums by index that do not depend on what else is summed in the same call."""

from __future__ import annotations

import numpy as np

from ..ragged import Float, Int


def sum_by(index: Int, values: Float, size: int) -> Float:
    """The sum of the values that share an index, added one after the other.

    The order of the additions is that of the values, so that a row's sum is the same to the bit in any batch; the
    pairwise sums of ``np.sum`` or ``np.add.reduceat`` depend on how long the rows are and where they lie.

    Parameters
    ----------
    index : int64 (n,)
        From 0 to ``size - 1``.
    values : float64 (n,)
    size : int

    Returns
    -------
    float64 (size,)

    Examples
    --------
    >>> sum_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 0.5]), 3).tolist()
    [1.5, 0.0, 2.0]
    """
    return np.bincount(index, values, minlength=size).astype(np.float64, copy=False)
