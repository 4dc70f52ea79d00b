"""Energies as ratios in decibels, and the order of the estimated sources that they suggest."""

from __future__ import annotations

import itertools

import numpy as np

from ...ragged import Float, Int
from .decomposition import Energies

NAMES = ("sdr", "sir", "sar", "image_sdr", "image_isr")
"""The rows of a table of ratios; images have the same interference and artifacts as sources."""

_FEW = 7
"""So many sources have few enough orders to try them all, as mir_eval does."""


def decibels(over: Float, under: Float) -> Float:
    """Ratios of energies in dB: infinite where nothing is left below, minus infinity where nothing is above.

    Examples
    --------
    >>> decibels(np.array([10.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0])).tolist()
    [10.0, inf, -inf]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Float = 10 * np.log10(over / under)
    return np.where(under == 0, np.inf, ratio)


def to_ratios(energies: Energies) -> Float:
    """The ratios that `NAMES` lists: float64 (5, meetings), dB."""
    return np.array(
        [
            decibels(energies.filtered, energies.residual),
            decibels(energies.filtered, energies.interference),
            decibels(energies.joint, energies.artifacts),
            decibels(energies.source, energies.image_error),
            decibels(energies.source, energies.spatial),
        ]
    )


def best_order(scores: Float) -> Int:
    """Which estimated source goes to each reference source, for the largest mean of scores.

    Parameters
    ----------
    scores : float64 (sources, sources)
        Of each estimated source (rows) against each reference source (columns).

    Returns
    -------
    int64 (sources,)
        The first of the best orders where several are, up to 7 sources; the given order where none can be told.

    Examples
    --------
    >>> best_order(np.array([[1.0, 9.0], [8.0, 2.0]])).tolist()
    [1, 0]
    """
    count = len(scores)
    columns = np.arange(count)
    if np.isnan(scores).any():
        return columns
    if count <= _FEW:
        orders = np.array(list(itertools.permutations(range(count))), dtype=np.int64).reshape(-1, count)
        with np.errstate(invalid="ignore"):
            means = scores[orders, columns].mean(axis=1)
        chosen: Int = orders[int(np.argmax(means))]
        return chosen
    from scipy.optimize import linear_sum_assignment

    # Of two infinite scores neither is better; a number that outweighs all finite ones stands for both.
    finite = scores[np.isfinite(scores)]
    most = count * (1 + np.abs(finite).max(initial=0.0))
    rows, places = linear_sum_assignment(np.clip(scores, -most, most), maximize=True)
    order = np.empty(count, dtype=np.int64)
    order[places] = rows
    return order
