"""Groups of systems that do not differ significantly, and their letters."""

from __future__ import annotations

import string
from collections.abc import Sequence

import numpy as np

from ...ragged import Bool
from ..scores import Array

_LETTERS = string.ascii_lowercase + string.ascii_uppercase


def significance_groups(different: Bool, order: Sequence[int] | None = None) -> list[list[int]]:
    """Sets of systems in which no two differ, none of which can be made larger.

    `different` (bool (systems, systems)): symmetric; the diagonal does not matter. `order`: the systems from the best
    to the worst; None: by their numbers. Returns every two systems that are not told apart share a set, and every
    system has one. The best system's comes first. Where systems differ from some rank distance on, as after a test on
    mean ranks, these are all such sets; in general only as many as are needed, since there can be exponentially many.

    Examples
    --------
    >>> different = np.zeros((3, 3), dtype=bool)
    >>> different[0, 2] = different[2, 0] = True
    >>> significance_groups(different)
    [[0, 1], [1, 2]]
    """
    ranked = list(range(len(different))) if order is None else [int(one) for one in order]
    alike = ~np.asarray(different)[np.ix_(ranked, ranked)]
    np.fill_diagonal(alike, True)
    open_pairs = alike.copy()
    sets: list[list[int]] = []
    for first in range(len(ranked)):
        while (waiting := np.flatnonzero(open_pairs[first, first:])).size:
            # A system alone makes a set only if no other set has taken it.
            second = first + int(waiting[-1])
            members = _extend(alike, [first, second])
            open_pairs[np.ix_(members, members)] = False
            sets.append(members)
    return [[ranked[member] for member in members] for members in sorted(sets)]


def _extend(alike: Bool, seeds: list[int]) -> list[int]:
    """The largest set in order of rank that holds the seeds and in which all are alike."""
    members = sorted(set(seeds))
    fits: Bool = np.asarray(alike[members].all(axis=0))
    fits[members] = False
    for place in range(len(alike)):
        if fits[place]:
            members.append(place)
            fits &= alike[place]
            fits[place] = False
    return sorted(members)


def letters(groups: Sequence[Sequence[int]], systems: int) -> list[str]:
    """Assign letters to systems: two that share a letter do not differ significantly (Piepho 2004).

    Parameters
    ----------
    groups : sequence of sequences of int
        As :func:`significance_groups` gives them.
    systems : int

    Examples
    --------
    >>> letters([[0, 1], [1, 2]], 3)
    ['a', 'ab', 'b']
    """
    names = ["" for _ in range(systems)]
    for index, members in enumerate(groups):
        letter = _LETTERS[index] if index < len(_LETTERS) else f"({index + 1})"
        for member in members:
            names[member] += letter
    return names


def letter_table(groups: Sequence[Sequence[Sequence[int]]], systems: int) -> Array:
    """The letters of each system by each metric: str (systems, metrics)."""
    columns = [letters(own, systems) for own in groups]
    return np.array(columns, dtype=str).reshape(len(columns), systems).T
