"""Corrections of p-values for many comparisons."""

from __future__ import annotations

import numpy as np

from ...errors import UnknownNameError
from ...ragged import Float

CORRECTIONS = {
    "holm": "Holm (1979): the chance of any false difference is bounded",
    "bh": "Benjamini and Hochberg (1995): the share of false differences among those found is bounded",
    "none": "p-values as they are",
}


def correct(p: Float, method: str = "holm") -> Float:
    """p-values corrected for being many.

    Parameters
    ----------
    p : float64 (n,)
        NaN is no comparison, and stays.
    method : {"holm", "bh", "none"}

    Returns
    -------
    float64 (n,)

    Raises
    ------
    UnknownNameError
        For another method.

    Examples
    --------
    >>> correct(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    if method not in CORRECTIONS:
        raise UnknownNameError("correction", method, CORRECTIONS)
    known = ~np.isnan(p)
    count = int(known.sum())
    if method == "none" or count == 0:
        return p.copy()
    corrected = p.copy()
    if method == "bh":
        from scipy.stats import false_discovery_control

        corrected[known] = false_discovery_control(p[known])
        return corrected
    order = np.argsort(p[known], kind="stable")
    steps = np.maximum.accumulate(p[known][order] * (count - np.arange(count)))
    holm = np.empty(count)
    holm[order] = np.minimum(steps, 1.0)
    corrected[known] = holm
    return corrected
