"""Corrections of p-values for many comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import QueryError, UnknownNameError
from ...ragged import Float
from ..names import MAX_T

CORRECTIONS = {
    MAX_T: "Westfall and Young (1993), step-down by the largest difference: the chance of any false one is bounded",
    "holm": "Holm (1979): the chance of any false difference is bounded",
    "bh": "Benjamini and Hochberg (1995): the share of false differences among those found is bounded",
    "none": "p-values as they are",
}


def choose_correction(correction: str, tests: Sequence[str]) -> str:
    """The correction that is meant.

    Parameters
    ----------
    correction : str
        ``auto``: what the test allows, ``max-t`` of permutations, ``holm`` of others; or one of `CORRECTIONS`.
    tests : sequence of str
        One a metric.

    Raises
    ------
    QueryError
        For ``max-t`` where no results are swapped.
    UnknownNameError
        For another one.
    """
    swapped = all(test == "permutation" for test in tests)
    if correction == "auto":
        return MAX_T if swapped else "holm"
    if correction not in CORRECTIONS:
        raise UnknownNameError("correction", correction, ["auto", *CORRECTIONS])
    if correction == MAX_T and not swapped:
        raise QueryError("correction 'max-t' is read off permutations; choose test permutation, or correction holm")
    return correction


def least_corrected(p: float, number: int, method: str) -> float:
    """The smallest corrected p-value of so many, of which each is at least `p`.

    Examples
    --------
    >>> least_corrected(0.01, 6, "holm"), least_corrected(0.01, 6, "max-t")
    (0.06, 0.01)
    """
    return min(p * max(number, 1), 1.0) if method == "holm" else p


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
    if method not in CORRECTIONS or method == MAX_T:
        raise UnknownNameError("correction", method, [name for name in CORRECTIONS if name != MAX_T])
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
