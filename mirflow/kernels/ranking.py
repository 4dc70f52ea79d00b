"""Ranked lists: look-up of judged items, areas under the ROC curve, precision along a ranking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ragged import Bool, Float, Int, offsets_of, ranges, rows_of
from .intervals import batches
from .ragged_ops import sum_by
from .ratios import divide

_TABLE = 2**20  # Entries of a table, so that it fits into the cache
_ITEMS = 2**18  # Listed items looked up at once


@dataclass(frozen=True, slots=True)
class Met:
    """The judged items in lists, concatenated in the order of the lists: int64 (n,) each."""

    pair: Int  # Pair of judgements and a list
    place: Int  # Rank in the list, from 0
    judged: Int  # Index among all judged items


def meet_judged(
    judged: Int, judged_counts: Int, listed: Int, listed_counts: Int, judged_row: Int, listed_row: Int
) -> Met:
    """Find the judged items of rows in lists.

    Items are concatenated codes, distinct within a row; -1 is an item unknown to the other side. `judged_row` and
    `listed_row` are the rows of each pair.
    """
    # Judged items are numbered from 1, as columns of a table; all others are 0.
    used = np.zeros(max(int(judged.max(initial=-1)), int(listed.max(initial=-1))) + 2, dtype=np.bool_)
    used[judged] = True
    used[-1] = False  # for -1
    number = np.where(used, np.cumsum(used), 0)
    width, columns = int(used.sum()) + 1, number[judged]
    judged_offsets, listed_offsets = offsets_of(judged_counts), offsets_of(listed_counts)
    parts: list[tuple[Int, Int, Int]] = []
    table = np.zeros(0, dtype=np.int32)
    # Batches of consecutive pairs with limited sizes of table and lists
    least = max(_ITEMS // max(_TABLE // width, 1), 1)
    for batch in batches(np.maximum(listed_counts[listed_row], least), _ITEMS):
        if len(table) < (batch.stop - batch.start) * width:
            table = np.zeros((batch.stop - batch.start) * width, dtype=np.int32)
        rows, lists = judged_row[batch], listed_row[batch]
        items = ranges(judged_offsets[rows], judged_counts[rows])
        cells = rows_of(judged_counts[rows]) * width + columns[items]
        table[cells] = items + 1
        table[: len(rows) * width : width] = 0  # the column of items that are not judged
        sizes = listed_counts[lists]
        begins = listed_offsets[lists]
        consecutive = len(lists) > 0 and bool((lists[1:] == lists[:-1] + 1).all())  # needs no copy
        held = number[listed[slice(begins[0], begins[-1] + sizes[-1]) if consecutive else ranges(begins, sizes)]]
        pair = rows_of(sizes)
        entry = table[pair * width + held]
        table[cells] = 0
        hit = np.flatnonzero(entry)
        parts.append((pair[hit] + batch.start, hit - offsets_of(sizes)[pair[hit]], entry[hit].astype(np.int64) - 1))
    if not parts:
        return Met(*np.zeros((3, 0), dtype=np.int64))
    return Met(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def repeated(items: Int, counts: Int) -> tuple[Int, Int]:
    """Find repeated items of rows, and their first occurrences: indices into all items, int64 (n,) each."""
    width = int(items.max(initial=-1)) + 1
    offsets = offsets_of(counts)
    parts: list[tuple[Int, Int]] = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
    table = np.zeros(0, dtype=np.int64)
    least = max(_ITEMS // max(_TABLE // max(width, 1), 1), 1)
    for batch in batches(np.maximum(counts, least), _ITEMS):
        if len(table) < (batch.stop - batch.start) * width:
            table = np.zeros((batch.stop - batch.start) * width, dtype=np.int64)
        start, stop = int(offsets[batch.start]), int(offsets[batch.stop])
        cell = rows_of(counts[batch]) * width + items[start:stop]
        # Written in reverse order, so that the first one stays.
        table[cell[::-1]] = np.arange(stop - 1, start - 1, -1)
        first = table[cell]
        again = np.flatnonzero(first != np.arange(start, stop))
        parts.append((again + start, first[again]))
    again, first = (np.concatenate(part) for part in zip(*parts, strict=True))
    return again, first


@dataclass(frozen=True, slots=True)
class Ordered:
    """The items of several rows, sorted by descending affinity within each row; ties keep their order."""

    row: Int  # Row of each item, ascending: int64 (items,)
    relevant: Bool  # bool (items,)
    last: Bool  # Whether the item is the last of several with equal affinity: bool (items,)
    counts: Int  # int64 (rows,)
    positives: Float  # Number of relevant items of each row: float64 (rows,)

    @classmethod
    def of(cls, row: Int, relevant: Bool, affinity: Float, rows: int) -> Ordered:
        """Sort items; affinities must not be NaN, and are minus infinity for items that are not listed."""
        order = np.lexsort((-affinity, row))
        row, affinity = row[order], affinity[order]
        last = np.ones(len(row), dtype=np.bool_)
        last[:-1] = (row[1:] != row[:-1]) | (affinity[1:] != affinity[:-1])
        positives = sum_by(row, relevant[order].astype(np.float64), rows)
        return cls(row, relevant[order], last, np.bincount(row, minlength=rows).astype(np.int64), positives)

    def roc_auc(self) -> Float:
        """Area under the ROC curve of each row: float64 (rows,), NaN without relevant or without other items.

        It is the share of the pairs of a relevant and another item that are in the right order, with half the weight
        for ties (Mann and Whitney), so that all numbers below are exact multiples of 1/2.
        """
        position = np.arange(len(self.row)) - offsets_of(self.counts)[self.row]
        start = np.flatnonzero(np.concatenate([[True], self.last[:-1]])) if len(self.row) else position
        size = np.diff(np.append(start, len(self.row)))
        # Tied items have their mean rank, counted from the lowest affinity.
        rank = self.counts[self.row] - (position[start] + (size - 1) / 2).repeat(size)
        positive = self.positives
        above = sum_by(self.row, np.where(self.relevant, rank, 0.0), len(self.counts)) - positive * (positive + 1) / 2
        return divide(above, positive * (self.counts - positive), np.nan)

    def average_precision(self) -> Float:
        """Average precision of each row: float64 (rows,), NaN without relevant items.

        It is the mean precision at the relevant items; items of equal affinity are added at once, so that their order
        is irrelevant.
        """
        size = np.arange(1, len(self.row) + 1) - offsets_of(self.counts)[self.row]
        hits = np.cumsum(self.relevant)
        before = np.concatenate([[0], hits])[offsets_of(self.counts)[self.row]]
        hits = hits - before
        ends = np.flatnonzero(self.last)
        gained = np.diff(np.concatenate([[0], np.cumsum(self.relevant)[ends]]))
        total = sum_by(self.row[ends], gained * (hits[ends] / size[ends]), len(self.counts))
        return divide(total, self.positives, np.nan)

    def precision_at(self, k: int) -> Float:
        """Number of relevant items among the first `k`, over `k` even if there are fewer items: float64 (rows,)."""
        position = np.arange(len(self.row)) - offsets_of(self.counts)[self.row]
        return sum_by(self.row, (self.relevant & (position < k)) / k, len(self.counts))


def roc_auc(having: Float, every: Float) -> Float:
    """Share of the pairs of a track with the tag and one without it that are in the right order; ties count half."""
    other = every - having
    gained, passed = (np.diff(counts, axis=1, prepend=0.0) for counts in (having, other))
    above = (gained * (other[:, -1:] - other + passed / 2)).sum(axis=1)
    return divide(above, having[:, -1] * other[:, -1], np.nan)


def average_precision(having: Float, every: Float) -> Float:
    """Mean precision at the tracks with the tag; tracks of equal affinity are added at once."""
    precision = divide(having, every)
    return divide((np.diff(having, axis=1, prepend=0.0) * precision).sum(axis=1), having[:, -1], np.nan)
