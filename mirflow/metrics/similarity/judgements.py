"""What graders said of each candidate of each query, taken together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.judged import Met, meet_judged
from ...kernels.sums import sum_by
from ...ragged import Float, Int, Ragged, offsets_of, rows_of
from .cleaning import BROAD

_DIGITS = 9
"""Means that agree to so many decimals count as the same: sums of the same judgements may round differently."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The candidates of each query, each once.

    Parameters
    ----------
    label : int64 (candidates,)
        Codes of their names.
    counts : int64 (rows,)
        Candidates of each query.
    chosen : float64 (candidates, 3)
        How many graders chose NS, SS and VS.
    fine : float64 (candidates,)
        Mean of the fine judgements; NaN without any.
    lowest, highest : float64 (rows,)
        Of the fine judgements of each query; infinite without any.
    """

    label: Int
    counts: Int
    chosen: Float
    fine: Float
    lowest: Float
    highest: Float

    def broad(self, weights: tuple[float, ...]) -> Float:
        """The mean over graders of what a candidate's categories count: float64 (candidates,), NaN without any."""
        graders = self.chosen.sum(axis=1)
        total = sum(weight * self.chosen[:, level] for level, weight in enumerate(weights))
        mean: Float = np.divide(total, graders, out=np.full(len(graders), np.nan), where=graders > 0)
        return mean

    def relevance(self, by: str) -> Float:
        """The mean broad level or the mean fine judgement, rounded so that equal means are equal."""
        relevance: Float = self.broad((0.0, 1.0, 2.0)) if by == "broad" else self.fine
        return np.asarray(np.round(relevance, _DIGITS))


def gather(rows: Ragged) -> Judged:
    """The judgements of each candidate together.

    Parameters
    ----------
    rows : Ragged
        As :func:`mirflow.metrics.similarity.cleaning.clean` leaves it.

    Examples
    --------
    >>> rows = Ragged({"label": np.array([0, 0, 1]), "level": np.array([0.0, 2.0, 2.0]),
    ...                "value": np.array([1.0, 8.0, np.nan])}, (np.array([3]),), ("x", "y"))
    >>> found = gather(rows)
    >>> found.chosen.tolist(), found.fine.tolist(), found.broad((0.0, 1.0, 2.0)).tolist()
    ([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]], [4.5, nan], [1.0, 2.0])
    """
    label, level, value = (rows.columns[name] for name in ("label", "level", "value"))
    owner = rows_of(rows.counts[0])
    width = max(len(rows.labels), 1)
    keys, place = np.unique(owner * width + label, return_inverse=True)
    known = ~np.isnan(value)
    with np.errstate(invalid="ignore"):
        fine = sum_by(place[known], value[known], len(keys)) / np.bincount(place[known], minlength=len(keys))
    chosen = np.column_stack([np.bincount(place[level == one], minlength=len(keys)) for one in range(len(BROAD))])
    lowest, highest = np.full(len(rows), np.inf), np.full(len(rows), -np.inf)
    np.minimum.at(lowest, owner[known], value[known])
    np.maximum.at(highest, owner[known], value[known])
    counts = np.bincount(keys // width, minlength=len(rows)).astype(np.int64)
    return Judged(keys % width, counts, chosen.astype(np.float64), fine, lowest, highest)


def meet(judged: Judged, names: tuple[str, ...], lists: Ragged, judged_row: Int, list_row: Int) -> Met:
    """Where the judged candidates of some queries stand in the lists of systems.

    Parameters
    ----------
    judged : Judged
    names : tuple of str
        What its codes stand for.
    lists : Ragged
        Column label, in the order of rank.
    judged_row, list_row : int64 (pairs,)
    """
    codes = {name: code for code, name in enumerate(names)}
    known = np.array([*(codes.get(name, -1) for name in lists.labels), -1], dtype=np.int64)
    listed = known[lists.columns["label"]]
    return meet_judged(judged.label, judged.counts, listed, lists.counts[0], judged_row, list_row)


def stand_ahead(relevance: Float, counts: Int) -> tuple[Int, Int]:
    """How many candidates of its query are more relevant than each one, and how many are relevant at all.

    Parameters
    ----------
    relevance : float64 (candidates,)
        Row after row; candidates at -infinity are not relevant.
    counts : int64 (rows,)

    Returns
    -------
    ahead : int64 (candidates,)
        The number of candidates in the groups before its own, where groups are of equal relevance; -1: not relevant.
    relevant : int64 (rows,)

    Examples
    --------
    >>> ahead, relevant = stand_ahead(np.array([2.0, 1.0, 1.0, -np.inf, 2.0]), np.array([5]))
    >>> ahead.tolist(), relevant.tolist()
    ([0, 2, 2, -1, 0], [4])
    """
    owner = rows_of(counts)
    listed = relevance > -np.inf
    order = np.lexsort((-relevance, owner))
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = (owner[order][1:] != owner[order][:-1]) | (relevance[order][1:] != relevance[order][:-1])
    leader = np.flatnonzero(fresh)[np.cumsum(fresh) - 1]
    ahead = np.full(len(order), -1, dtype=np.int64)
    ahead[order] = leader - offsets_of(counts)[owner[order]]
    return np.where(listed, ahead, -1), np.bincount(owner[listed], minlength=len(counts)).astype(np.int64)
