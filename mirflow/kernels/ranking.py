"""Ranked lists: judged items by look-ups, areas under the ROC curve, precision along an order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..ragged import Bool, Column, Float, Int, offsets_of, ranges, rows_of
from .intervals import batches
from .ragged_ops import sum_by
from .ratios import divide

_TABLE = 2**20
"""Entries of a table, so that it stays in the cache."""
_ITEMS = 2**18
"""Listed items that are looked up at once."""


@dataclass(frozen=True, slots=True)
class Met:
    """The judged items that lists hold, list after list, in the order of the lists: int64 (n,) each.

    Parameters
    ----------
    pair : of judgements and a list
    place : in the list, counted from 0
    judged : which of all judged items it is
    """

    pair: Int
    place: Int
    judged: Int


def meet_judged(
    judged: Int, judged_counts: Int, listed: Int, listed_counts: Int, judged_row: Int, listed_row: Int
) -> Met:
    """Find the judged items of some rows in lists.

    Parameters
    ----------
    judged, listed : int64 (items,)
        Codes of items, row after row, distinct within a row; -1 is an item that the other side does not know.
    judged_counts, listed_counts : int64 (rows,)
    judged_row, listed_row : int64 (pairs,)
        The rows of each pair.

    Returns
    -------
    Met

    Examples
    --------
    >>> both = meet_judged(np.array([4, 7]), np.array([2]), np.array([7, 5, 4]), np.array([3]), *np.zeros((2, 1), int))
    >>> both.place.tolist(), both.judged.tolist()
    ([0, 2], [1, 0])
    """
    # Numbers of the items that are judged at all, from 1, which are columns of a table; 0 for every other.
    used = np.zeros(max(int(judged.max(initial=-1)), int(listed.max(initial=-1))) + 2, dtype=np.bool_)
    used[judged] = True
    used[-1] = False  # where -1 is looked up
    number = np.where(used, np.cumsum(used), 0)
    width, columns = int(used.sum()) + 1, number[judged]
    judged_offsets, listed_offsets = offsets_of(judged_counts), offsets_of(listed_counts)
    found: list[tuple[Int, Int, Int]] = []
    table = np.zeros(0, dtype=np.int32)
    for some in _batches(listed_counts[listed_row], width):
        if len(table) < (some.stop - some.start) * width:
            table = np.zeros((some.stop - some.start) * width, dtype=np.int32)
        own, lists = judged_row[some], listed_row[some]
        items = ranges(judged_offsets[own], judged_counts[own])
        cells = rows_of(judged_counts[own]) * width + columns[items]
        table[cells] = items + 1
        table[: len(own) * width : width] = 0  # the column of whatever is not judged
        sizes = listed_counts[lists]
        held = number[_consecutive(listed, listed_offsets, lists, sizes)]
        pair = rows_of(sizes)
        entry = table[pair * width + held]
        table[cells] = 0
        hit = np.flatnonzero(entry)
        found.append((pair[hit] + some.start, hit - offsets_of(sizes)[pair[hit]], entry[hit].astype(np.int64) - 1))
    if not found:
        return Met(*np.zeros((3, 0), dtype=np.int64))
    return Met(*(np.concatenate(part) for part in zip(*found, strict=True)))


def _batches(sizes: Int, width: int) -> Iterator[slice]:
    """Consecutive pairs whose table and whose lists are not too large."""
    most = max(_TABLE // width, 1)
    return batches(np.maximum(sizes, max(_ITEMS // most, 1)), _ITEMS)


def _consecutive(values: Column, offsets: Int, rows: Int, sizes: Int) -> Column:
    """The values of some rows; neighbours need no copy."""
    if len(rows) and (rows[1:] == rows[:-1] + 1).all():
        return values[offsets[rows[0]] : offsets[rows[-1]] + sizes[-1]]
    return values[ranges(offsets[rows], sizes)]


def repeated(items: Int, counts: Int) -> tuple[Int, Int]:
    """The items that a row holds a second time, and where they occur first: positions among all items, int64 (n,) each.

    Examples
    --------
    >>> again, first = repeated(np.array([3, 1, 3, 3]), np.array([3, 1]))
    >>> again.tolist(), first.tolist()
    ([2], [0])
    """
    width = int(items.max(initial=-1)) + 1
    offsets = offsets_of(counts)
    found: list[tuple[Int, Int]] = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
    table = np.zeros(0, dtype=np.int64)
    for some in _batches(counts, max(width, 1)):
        if len(table) < (some.stop - some.start) * width:
            table = np.zeros((some.stop - some.start) * width, dtype=np.int64)
        start, stop = int(offsets[some.start]), int(offsets[some.stop])
        cell = rows_of(counts[some]) * width + items[start:stop]
        # Written from the last to the first, so that the first stays.
        table[cell[::-1]] = np.arange(stop - 1, start - 1, -1)
        first = table[cell]
        again = np.flatnonzero(first != np.arange(start, stop))
        found.append((again + start, first[again]))
    again, first = (np.concatenate(part) for part in zip(*found, strict=True))
    return again, first


def ideal(values: Float, counts: Int) -> Float:
    """The values of each row from the largest to the smallest: float64 (items,).

    Examples
    --------
    >>> ideal(np.array([1.0, 3.0, 2.0, 5.0]), np.array([3, 1])).tolist()
    [3.0, 2.0, 1.0, 5.0]
    """
    return np.asarray(values[np.lexsort((-values, rows_of(counts)))])


@dataclass(frozen=True, slots=True)
class Ordered:
    """The items of several rows, in each row from the highest affinity to the lowest; ties stay in their order.

    Parameters
    ----------
    row : int64 (items,)
        Ascending.
    relevant : bool (items,)
    last : bool (items,)
        Where the last of several items of equal affinity is.
    counts : int64 (rows,)
    """

    row: Int
    relevant: Bool
    last: Bool
    counts: Int

    @classmethod
    def of(cls, row: Int, relevant: Bool, affinity: Float, rows: int) -> Ordered:
        """Order items; affinities are not NaN, and minus infinity for what a system did not list."""
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
        return divide(above, positive * negative, np.nan)

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
        return divide(total, positive, np.nan)

    def precision_at(self, k: int) -> Float:
        """Share of relevant items among the first `k`: float64 (rows,); over `k` also where there are fewer."""
        place = np.arange(len(self.row)) - offsets_of(self.counts)[self.row]
        return sum_by(self.row, (self.relevant & (place < k)) / k, len(self.counts))


def roc_auc(having: Float, every: Float) -> Float:
    """Share of the pairs of a track with the tag and one without it that are in the right order; ties count half."""
    other = every - having
    gained, passed = (np.diff(one, axis=1, prepend=0.0) for one in (having, other))
    above = (gained * (other[:, -1:] - other + passed / 2)).sum(axis=1)
    return divide(above, having[:, -1] * other[:, -1], np.nan)


def average_precision(having: Float, every: Float) -> Float:
    """The mean of the precision at each track that has the tag, those of one affinity taken in at once."""
    precision = divide(having, every)
    return divide((np.diff(having, axis=1, prepend=0.0) * precision).sum(axis=1), having[:, -1], np.nan)
