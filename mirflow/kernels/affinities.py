"""Items in order of affinity, some of them relevant: area under the ROC curve, and precision along the order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ragged import Bool, Float, Int, offsets_of
from .sums import sum_by


@dataclass(frozen=True, slots=True)
class Ordered:
    """The items of several rows, in each row from the highest affinity to the lowest; ties stay in their order.

    Parameters
    ----------
    row : int64 (items,)
        Ascending.
    relevant : bool (items,)
    last : bool (items,)
        Where the last of several items of equal affinity stands.
    counts : int64 (rows,)
        Items of each row.
    """

    row: Int
    relevant: Bool
    last: Bool
    counts: Int

    @classmethod
    def of(cls, row: Int, relevant: Bool, affinity: Float, rows: int) -> Ordered:
        """From items in any order.

        Parameters
        ----------
        row : int64 (items,)
        relevant : bool (items,)
        affinity : float64 (items,)
            Not NaN; minus infinity for what a system did not list.
        rows : int
        """
        order = np.lexsort((-affinity, row))
        row, affinity = row[order], affinity[order]
        last = np.ones(len(row), dtype=np.bool_)
        last[:-1] = (row[1:] != row[:-1]) | (affinity[1:] != affinity[:-1])
        return cls(row, relevant[order], last, np.bincount(row, minlength=rows).astype(np.int64))

    @property
    def positives(self) -> Float:
        """Relevant items of each row: float64 (rows,)."""
        return sum_by(self.row, self.relevant.astype(np.float64), len(self.counts))

    def roc_auc(self) -> Float:
        """Area under the ROC curve of each row: float64 (rows,), NaN without relevant or without other items.

        It is the share of the pairs of a relevant and another item that are in the right order, equal ones counting
        half (Mann and Whitney), so that every number below is whole or a half and exact.
        """
        place = np.arange(len(self.row)) - offsets_of(self.counts)[self.row]
        start = np.flatnonzero(np.concatenate([[True], self.last[:-1]])) if len(self.row) else place
        size = np.diff(np.append(start, len(self.row)))
        # Every item of a tie has the mean of their ranks, counted from the lowest affinity.
        rank = self.counts[self.row] - (place[start] + (size - 1) / 2).repeat(size)
        positive = self.positives
        negative = self.counts - positive
        above = sum_by(self.row, np.where(self.relevant, rank, 0.0), len(self.counts)) - positive * (positive + 1) / 2
        return _ratio(above, positive * negative)

    def average_precision(self) -> Float:
        """Average precision of each row: float64 (rows,), NaN without relevant items.

        The mean of the precision at each relevant item; items of equal affinity are taken in at once, so that their
        order does not matter.
        """
        positive = self.positives
        size = np.arange(1, len(self.row) + 1) - offsets_of(self.counts)[self.row]
        found = np.cumsum(self.relevant)
        before = np.concatenate([[0], found])[offsets_of(self.counts)[self.row]]
        found = found - before
        ends = np.flatnonzero(self.last)
        gained = np.diff(np.concatenate([[0], np.cumsum(self.relevant)[ends]]))
        total = sum_by(self.row[ends], gained * (found[ends] / size[ends]), len(self.counts))
        return _ratio(total, positive)

    def precision_at(self, k: int) -> Float:
        """Share of relevant items among the first `k`: float64 (rows,); over `k` also where there are fewer."""
        place = np.arange(len(self.row)) - offsets_of(self.counts)[self.row]
        return sum_by(self.row, (self.relevant & (place < k)) / k, len(self.counts))


def _ratio(above: Float, below: Float) -> Float:
    found: Float = np.full(len(above), np.nan)
    return np.divide(above, below, out=found, where=below > 0)
