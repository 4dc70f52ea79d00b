"""Statistics of distributions from sums over many tracks: histograms and moments."""

from __future__ import annotations

import numpy as np

from ..ragged import Float


def information_gain(histogram: Float) -> Float:
    """Distance of histograms from uniform ones: log2 of the number of bins minus the entropy, in bits.

    Parameters
    ----------
    histogram : float64 (..., bins)
        Counts, at least one bin.

    Returns
    -------
    float64 (...)
        log2 of the number of bins for a histogram without counts.

    References
    ----------
    M. E. P. Davies, N. Degara and M. D. Plumbley, "Measuring the performance of beat tracking algorithms using a beat
    error histogram", IEEE Signal Processing Letters 18, 2011.

    Examples
    --------
    >>> information_gain(np.array([[4.0, 0.0], [1.0, 1.0], [0.0, 0.0]])).tolist()
    [1.0, 0.0, 1.0]
    """
    total = histogram.sum(axis=-1, keepdims=True)
    share = np.divide(histogram, total, out=np.ones_like(histogram), where=(histogram != 0) & (total != 0))
    gain: Float = np.log2(histogram.shape[-1]) + (share * np.log2(share)).sum(axis=-1)
    return gain


def standard_deviation(moments: Float) -> Float:
    """Standard deviations from numbers, sums and sums of squares of values: float64 (...), NaN without values.

    Parameters
    ----------
    moments : float64 (..., 3)

    Examples
    --------
    >>> standard_deviation(np.array([2.0, 4.0, 10.0])).item()
    1.0
    """
    count, total, squares = np.moveaxis(moments, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(np.maximum(squares / count - (total / count) ** 2, 0.0)))
