"""Rankings of many pairs beside what is relevant: all that the metrics are read off."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...kernels.ranking import ideal, meet_judged
from ...ragged import Bool, Float, Int, Ragged, offsets_of, rows_of


@dataclass(frozen=True, slots=True)
class Hits:
    """The relevant items that rankings hold, pair after pair, in the order of rank.

    Parameters
    ----------
    pair : int64 (n,)
    rank : int64 (n,)
        From 1.
    number : int64 (n,)
        How many relevant ones stand down to this rank: 1, 2, ... in each pair.
    relevant : int64 (pairs,)
        How many relevant items there are to find.
    """

    pair: Int
    rank: Int
    number: Int
    relevant: Int


@dataclass(frozen=True)
class JudgedRankings:
    """Rankings of some pairs, judged.

    Parameters
    ----------
    pair, rank : int64 (n,)
        Of each item with a positive grade that a ranking holds; ranks from 1, counted without what is left out.
    grade : float64 (n,)
    item : int64 (n,)
        Which of all items of the references it is.
    returned : int64 (pairs,)
        Items of each ranking, without what is left out.
    wanted : Ragged
        Column ``grade``: the positive grades of each pair, from the largest to the smallest.
    """

    pair: Int
    rank: Int
    grade: Float
    item: Int
    returned: Int
    wanted: Ragged
    _hits: dict[float, Hits] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.returned)

    def hits(self, level: float) -> Hits:
        """The items whose grade is positive and at least `level`."""
        if level not in self._hits:
            kept = self.grade >= level
            pair, rank = self.pair[kept], self.rank[kept]
            counts = np.bincount(pair, minlength=len(self)).astype(np.int64)
            number = np.arange(len(pair), dtype=np.int64) - offsets_of(counts)[pair] + 1
            owner = rows_of(self.wanted.counts[0])[self.wanted.columns["grade"] >= level]
            relevant = np.bincount(owner, minlength=len(self)).astype(np.int64)
            self._hits[level] = Hits(pair, rank, number, relevant)
        return self._hits[level]

    @cached_property
    def wanted_place(self) -> tuple[Int, Int]:
        """The pair of each positive grade, and its rank in the ideal ranking."""
        owner = rows_of(self.wanted.counts[0])
        return owner, np.arange(len(owner), dtype=np.int64) - self.wanted.offsets[owner] + 1


def judge(references: Ragged, estimates: Ragged, reference_row: Int, estimate_row: Int) -> JudgedRankings:
    """Rankings judged by references.

    Parameters
    ----------
    references : Ragged
        Columns label, perhaps value (the grade; 1 where there is none) and left_out (1: the item counts neither as
        relevant nor as a place in rankings).
    estimates : Ragged
        Column label, in the order of rank.
    reference_row, estimate_row : int64 (pairs,)

    Returns
    -------
    JudgedRankings

    Examples
    --------
    >>> reference = Ragged({"label": np.array([0, 1])}, (np.array([2]),), ("x", "y"))
    >>> estimate = Ragged({"label": np.array([1, 2, 0])}, (np.array([3]),), ("x", "y", "z"))
    >>> judged = judge(reference, estimate, np.array([0]), np.array([0]))
    >>> judged.rank.tolist(), judged.hits(0.0).number.tolist()
    ([1, 3], [1, 2])
    """
    counts, listed_counts = references.counts[0], estimates.counts[0]
    left_out, grade = judgements(references)
    known = left_out | (grade > 0)
    of_label = {label: code for code, label in enumerate(references.labels)}
    codes = np.array([*(of_label.get(label, -1) for label in estimates.labels), -1], dtype=np.int64)
    # What is neither relevant nor left out needs not be found.
    place = np.flatnonzero(known)
    kept = references.columns["label"][place]
    kept_counts = np.bincount(rows_of(counts)[known], minlength=len(counts)).astype(np.int64)
    found = meet_judged(
        kept, kept_counts, codes[estimates.columns["label"]], listed_counts, reference_row, estimate_row
    )
    item = place[found.judged]
    out, pair = left_out[item], found.pair
    gone = np.bincount(pair[out], minlength=len(estimate_row)).astype(np.int64)
    rank = found.place + 1 - (np.cumsum(out) - offsets_of(gone)[pair])
    pair, rank, item = pair[~out], rank[~out], item[~out]
    returned = listed_counts[estimate_row] - gone
    return JudgedRankings(pair, rank, grade[item], item, returned, _wanted(references, grade, left_out, reference_row))


def judgements(references: Ragged) -> tuple[Bool, Float]:
    """Which items are left out, and the grades of all."""
    absent = np.full(len(references.columns["label"]), np.nan)
    grade = references.columns.get("value", absent)
    return references.columns.get("left_out", absent) > 0, np.where(np.isnan(grade), 1.0, grade)


def _wanted(references: Ragged, grade: Float, left_out: Bool, reference_row: Int) -> Ragged:
    """The positive grades of each pair, from the largest to the smallest."""
    rows = Ragged({"grade": grade}, references.counts).keep((grade > 0) & ~left_out)
    sorted_rows = Ragged({"grade": ideal(rows.columns["grade"], rows.counts[0])}, rows.counts)
    return sorted_rows.take(reference_row)
