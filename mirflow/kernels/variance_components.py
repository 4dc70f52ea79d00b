"""Variance components of values that lie in a table of objects by observers, each cell once or empty."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..ragged import Float, Int
from .ratios import divide


class Components(NamedTuple):
    """Variances of a model ``value = mean + object + observer + residual`` with independent random effects.

    Estimates below 0 are 0, as usual (Searle, Casella and McCulloch 1992, section 3.5).
    """

    objects: Float
    """float64 (values,)."""
    observers: Float
    """0 where no observer has two objects: it is part of the residual."""
    residual: Float

    def of_one(self, observers: float) -> Float:
        """The variance of an object's mean over so many observers who observe no other object: float64 (values,)."""
        return np.asarray(self.objects + (self.observers + self.residual) / observers)


def variance_components(values: Float, objects: Int, observers: Int, strata: Int | None = None) -> Components:
    """Estimate variance components by the method of moments.

    Half of the mean squared difference of two values is, by expectation, the sum of the components in which the two
    differ: observer and residual for values of one object, object and residual for values of one observer, and all
    three for others. The three means over all pairs of values give the components without bias, whichever cells are
    empty. In a table without empty cells these are the estimates of the analysis of variance.

    Parameters
    ----------
    values : float64 (observations, values)
    objects, observers : int64 (observations,)
        From 0; no two observations have both in common.
    strata : int64 (observations,) or None
        Groups of objects (queries of candidates), within which objects are compared: their variance is that within a
        group. None: one group.

    Returns
    -------
    Components
        NaN where no object has two values, or no two objects of a group have values of different observers.

    References
    ----------
    Searle, Casella and McCulloch, *Variance Components*, 1992, chapters 4 and 5; Brennan, *Generalizability Theory*,
    2001, chapter 3.

    Examples
    --------
    >>> table = np.array([[2.0, 4.0], [5.0, 5.0], [8.0, 9.0]])
    >>> objects, observers = (axis.ravel() for axis in np.indices(table.shape))
    >>> [part.round(6).tolist() for part in variance_components(table.reshape(-1, 1), objects, observers)]
    [[7.5], [0.333333], [0.5]]
    """
    groups = np.zeros(len(values), np.int64) if strata is None else strata
    size = np.bincount(groups)
    centre = np.zeros((len(size), values.shape[1]))
    np.add.at(centre, groups, values)
    centred = values - (centre / np.maximum(size, 1)[:, np.newaxis])[groups]
    both = np.unique(groups * (int(observers.max(initial=0)) + 1) + observers, return_inverse=True)[1]
    every, same_object, same_observer = (_squares(centred, of) for of in (groups, objects, both))
    others = [every[at] - same_object[at] - same_observer[at] for at in (0, 1)]
    within, between, all_three = (divide(total, count, np.nan) for total, count in (same_object, same_observer, others))
    if not same_observer[1].any():
        components = all_three - within, np.zeros_like(within), within
    else:
        components = all_three - within, all_three - between, within + between - all_three
    return Components(*(np.asarray(np.maximum(part, 0.0)) for part in components))


def _squares(values: Float, groups: Int) -> tuple[Float, Float]:
    """Half of the summed squared differences of pairs within groups (values,), and the number of pairs (values,)."""
    size = np.bincount(groups)
    total, squares = (np.zeros((len(size), values.shape[1])) for _ in range(2))
    np.add.at(total, groups, values)
    np.add.at(squares, groups, values**2)
    pairs = np.full(values.shape[1], float((size * (size - 1) // 2).sum()))
    return (size[:, np.newaxis] * squares - total**2).sum(axis=0) / 2, pairs
