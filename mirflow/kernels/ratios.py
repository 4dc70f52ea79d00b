"""Quotients of arrays with denominators that may be 0, and harmonic means."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ragged import Float


def divide(part: Any, whole: Any, otherwise: float | Float = 0.0, *, signed: bool = False) -> Float:
    """Divide arrays, with a given result if the denominator is not positive.

    Parameters
    ----------
    part, whole : array of numbers, of shapes that broadcast
    otherwise : float or float64 array
        Result if `whole` is not positive (or NaN).
    signed : bool
        Also divide by negative denominators: `otherwise` is then the result only if `whole` is 0.

    Examples
    --------
    >>> divide(np.array([1, 1, 0]), np.array([2, 0, 3])).tolist()
    [0.5, 0.0, 0.0]
    >>> divide(np.array([1, 1]), np.array([2, 0]), np.nan).tolist()
    [0.5, nan]
    """
    part, whole = np.asarray(part), np.asarray(whole)
    shape = whole.shape if part.shape == whole.shape else np.broadcast_shapes(part.shape, whole.shape)
    result: Float = np.full(shape, otherwise, dtype=np.float64)
    np.divide(part, whole, out=result, where=whole != 0 if signed else whole > 0)
    return result


def harmonic_mean(precision: Float, recall: Float, beta: float = 1.0) -> Float:
    """Weighted harmonic mean of precision and recall: 0 if both are 0, NaN if one is NaN.

    Parameters
    ----------
    precision, recall : float64 (...)
    beta : float
        Weight of recall relative to precision.

    Examples
    --------
    >>> harmonic_mean(np.array([0.5, 0.0]), np.array([1.0, 0.0])).tolist()
    [0.6666666666666666, 0.0]
    """
    # The order of operations is that of mir_eval, so that results are equal to the bit.
    return divide((1 + beta**2) * precision * recall, beta**2 * precision + recall, signed=True)
