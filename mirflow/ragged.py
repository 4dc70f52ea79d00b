"""Rows of different lengths as flat arrays and counts: how everything here is computed, sent and stored."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]
Float = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
Column = npt.NDArray[Any]
Key = TypeVar("Key", bound=Hashable)


def offsets_of(counts: Int) -> Int:
    """Start of each row, and end of the last one: int64 (n + 1,)."""
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    counts.cumsum(out=offsets[1:])
    return offsets


def ranges(starts: Int, counts: Int) -> Int:
    """The concatenation of ``arange(start, start + count)`` over all rows."""
    if len(counts) == 1:  # a pair alone, where each call of numpy counts
        return np.arange(starts[0], starts[0] + counts[0], dtype=np.int64)
    offsets = offsets_of(counts)
    return np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1], dtype=np.int64)


def rows_of(counts: Int) -> Int:
    """The row that each item belongs to: int64 (sum of counts,)."""
    if len(counts) == 1:
        return np.zeros(counts[0], dtype=np.int64)
    return np.repeat(np.arange(len(counts), dtype=np.int64), counts)


def group_by_key(keys: Iterable[Key]) -> dict[Key, Int]:
    """The places of equal keys, in order of the first."""
    codes: dict[Key, int] = {}
    owner = np.fromiter((codes.setdefault(key, len(codes)) for key in keys), dtype=np.int64)
    order, ends = np.argsort(owner, kind="stable"), np.cumsum(np.bincount(owner, minlength=len(codes)))
    return dict(zip(codes, np.split(order, ends[:-1]), strict=True)) if codes else {}


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths in flat columns."""

    columns: Mapping[str, Column]
    """Flat columns. A column of depth d (see `depths`) has as many items as ``counts[d - 1]`` sums to."""
    counts: tuple[Int, ...]
    """``counts[0]`` is the number of items of each row; ``counts[1]``, for nested kinds, the number of inner items of
    each of those, and so on: an occurrence of a pattern of a track has counts three deep."""
    labels: tuple[str, ...] = ()
    """The vocabulary that the integer column ``label`` points into; -1 is no label."""
    depths: Mapping[str, int] = field(default_factory=dict)
    """Depth of each column that is not of the innermost depth."""

    def __post_init__(self) -> None:
        for outer, inner in zip(self.counts, self.counts[1:], strict=False):
            if len(inner) != int(outer.sum()):
                raise ValueError(f"nested counts do not fit: {int(outer.sum())} items, {len(inner)} inner counts")
        totals = [int(counts[0] if len(counts) == 1 else counts.sum()) for counts in self.counts]
        for name, column in self.columns.items():
            expected = totals[self.depths[name] - 1 if name in self.depths else -1]
            if len(column) != expected:
                raise ValueError(f"column {name!r} has {len(column)} items, the counts say {expected}")

    def depth(self, name: str) -> int:
        """Depth of a column; 1 is one value per item of a row."""
        return self.depths.get(name, len(self.counts))

    def __len__(self) -> int:
        return len(self.counts[0])

    @property
    def offsets(self) -> Int:
        """Start of the items of the first depth of each row: int64 (rows + 1,)."""
        return offsets_of(self.counts[0])

    @cached_property
    def bounds(self) -> tuple[Int, ...]:
        """Start of the items of each row, and end of the last one, at every depth: int64 (rows + 1,) each."""
        bounds = [self.offsets]
        for counts in self.counts[1:]:
            bounds.append(offsets_of(counts)[bounds[-1]])
        return tuple(bounds)

    def take(self, rows: Sequence[int] | Int) -> Ragged:
        """The given rows, in the given order; a row may be taken more than once."""
        index = np.asarray(rows, dtype=np.int64)
        taken: list[Int] = []
        items = index
        selections: list[Int] = []
        for counts in self.counts:
            inner = counts[items]
            items = ranges(offsets_of(counts)[items], inner)
            taken.append(inner)
            selections.append(items)
        columns = {name: column[selections[self.depth(name) - 1]] for name, column in self.columns.items()}
        return Ragged(columns, tuple(taken), self.labels, self.depths)

    def keep(self, mask: Bool) -> Ragged:
        """The items of the first depth where `mask` holds; every row stays, perhaps with fewer items."""
        if len(self.counts) != 1:
            raise ValueError("items can be dropped from rows of depth 1 only")
        if mask.all():
            return self
        counts = np.bincount(rows_of(self.counts[0])[mask], minlength=len(self)).astype(np.int64)
        return Ragged({name: column[mask] for name, column in self.columns.items()}, (counts,), self.labels)


def with_used_labels(rows: Ragged) -> Ragged:
    """Rows under a vocabulary of only their own labels, in order of appearance."""
    if "label" not in rows.columns:
        return rows
    codes, first, place = np.unique(rows.columns["label"], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    labels = tuple(rows.labels[code] for code in codes[order].tolist())
    return Ragged({**rows.columns, "label": rank[place]}, rows.counts, labels, rows.depths)


def row_of_items(rows: Ragged) -> Int:
    """The row of each innermost item."""
    owner = rows_of(rows.counts[0])
    for inner in rows.counts[1:]:
        owner = np.repeat(owner, inner)
    return owner


def concatenate(parts: Iterable[Ragged]) -> Ragged:
    """Rows of several ragged arrays under one vocabulary, in order."""
    parts = list(parts)
    if not parts:
        raise ValueError("nothing to concatenate")
    vocabulary: dict[str, int] = {}
    columns: dict[str, list[Column]] = {name: [] for name in parts[0].columns}
    codes_of: dict[int, Int] = {}  # by vocabulary, as rows that were taken from the same ones share theirs
    for part in parts:
        if set(part.columns) != set(columns):
            raise ValueError(f"columns differ: {sorted(part.columns)} and {sorted(columns)}")
        codes = codes_of.get(id(part.labels))
        if codes is None:
            known = [vocabulary.setdefault(label, len(vocabulary)) for label in part.labels]
            codes = codes_of[id(part.labels)] = np.array([*known, -1], dtype=np.int64)
        for name, column in part.columns.items():
            columns[name].append(codes[column] if name == "label" else column)
    counts = tuple(np.concatenate(level) for level in zip(*(part.counts for part in parts), strict=True))
    flat = {name: np.concatenate(values) for name, values in columns.items()}
    return Ragged(flat, counts, tuple(vocabulary), parts[0].depths)
