"""Shapley values: the parts of several players in what they reach together."""

from __future__ import annotations

from functools import cache
from math import factorial

import numpy as np

from ..ragged import Bool, Float

MOST_PLAYERS = 12
"""All coalitions are evaluated, 4096 of so many players."""


def coalitions(players: int) -> Bool:
    """All coalitions of players, the empty one first and that of all last: bool (2 ** players, players).

    Examples
    --------
    >>> coalitions(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    if players > MOST_PLAYERS:
        raise ValueError(f"{players} players have too many coalitions; the most are {MOST_PLAYERS}")
    return (np.arange(2**players)[:, np.newaxis] >> np.arange(players) & 1).astype(np.bool_)


@cache
def _coefficients(players: int) -> Float:
    """Coefficients of the values of all coalitions in each player's share: float64 (players, 2 ** players)."""
    members = coalitions(players)
    size = members.sum(axis=1)
    whole = factorial(players)
    joining = np.array([factorial(n) * factorial(players - 1 - n) / whole for n in range(players)] + [0.0])
    # A coalition with the player counts by the one that it joined, which has one member less.
    return np.where(members, joining[size - 1, np.newaxis], -joining[size, np.newaxis]).T


def shapley(values: Float) -> Float:
    """Shapley values of players from the values of all their coalitions.

    The share of a player is what it adds to the coalition of those before it, averaged over all orders of the players.
    The shares sum to the value of all players less that of none, and a player that never adds anything has the share 0.

    Parameters
    ----------
    values : float64 (2 ** players, ...)
        In the order of :func:`coalitions`.

    Returns
    -------
    float64 (players, ...)

    References
    ----------
    L. S. Shapley, "A value for n-person games", Contributions to the Theory of Games II, 1953, equation 12.

    Examples
    --------
    >>> shapley(np.array([0.0, 1.0, 2.0, 5.0])).tolist()
    [2.0, 3.0]
    """
    shares: Float = np.tensordot(_coefficients(len(values).bit_length() - 1), values, axes=1)
    return shares
