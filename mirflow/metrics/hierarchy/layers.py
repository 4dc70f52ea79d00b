"""One hierarchy of segments as plain columns, and how it is fitted to the span that is evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...kernels.meets import Level, frames_of, level_of
from ...ragged import Float, Int, Ragged, offsets_of, rows_of
from ..checks import Array

BEFORE, AFTER = "__T_MIN", "__T_MAX"
"""Labels of what is put before the first and after the last segment of a level, as mir_eval names them."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Segments of several levels.

    Parameters
    ----------
    start, end : float64 (segments,), seconds
    label : int64 (segments,)
        Codes, the same for labels that differ in letter case only.
    level : int64 (segments,)
        From 0, the top.
    depth : int
        Number of levels.
    padding : (int, int)
        The codes of `BEFORE` and `AFTER`.
    """

    start: Float
    end: Float
    label: Int
    level: Int
    depth: int
    padding: tuple[int, int] = (-1, -1)

    def frames(self, frame_size: float) -> tuple[Int, Int, int]:
        """Begin and end of each segment, and how many frames there are in all."""
        bounds = np.array([self.start.min(), self.end.max()])
        low, high = bounds - np.mod(bounds, frame_size)
        return frames_of(self.start, frame_size), frames_of(self.end, frame_size), int((high - low) / frame_size)

    def levels(self, begin: Int, end: Int, edges: Int, labelled: bool) -> list[Level]:
        """Each level on blocks of frames; what two frames share is a label or a segment."""
        name = self.label if labelled else np.arange(len(self.label))
        every = [np.flatnonzero(self.level == level) for level in range(self.depth)]
        return [level_of(begin[own], end[own], name[own], edges) for own in every]

    def ends(self) -> Float:
        """The latest time of each level: float64 (depth,); minus infinity for a level without segments."""
        ends = np.full(self.depth, -np.inf)
        np.maximum.at(ends, self.level, self.end)
        return ends


def fit(given: Hierarchy, span: float | None = None) -> Hierarchy:
    """A hierarchy whose levels all begin at 0 and, if a span is given, all end there.

    Parameters
    ----------
    given : Hierarchy
    span : float or None, seconds
        What lies beyond it is cut off, and levels that end earlier are padded; None leaves the ends alone.

    Examples
    --------
    >>> level = np.array([0, 1])
    >>> one = Hierarchy(np.array([1.0, 0.0]), np.array([9.0, 3.0]), level, level, 2)
    >>> fitted = fit(one, 5.0)
    >>> fitted.start.tolist(), fitted.end.tolist(), fitted.level.tolist()
    ([0.0, 1.0, 0.0, 3.0], [1.0, 5.0, 3.0, 5.0], [0, 0, 1, 1])
    """
    limit = float(given.end.max()) if span is None else span
    lasting = np.minimum(given.end, limit) > given.start
    start, end, within = given.start[lasting], np.minimum(given.end[lasting], limit), given.level[lasting]
    low = np.full(given.depth, limit)
    np.minimum.at(low, within, start)
    high = low.copy()
    np.maximum.at(high, within, end)
    before = np.flatnonzero(low > 0)
    after = np.flatnonzero(high < limit) if span is not None else before[:0]
    start = np.concatenate([np.zeros(len(before)), start, high[after]])
    end = np.concatenate([low[before], end, np.full(len(after), limit)])
    first, last = given.padding
    label = np.concatenate([np.full(len(before), first), given.label[lasting], np.full(len(after), last)])
    level = np.concatenate([before, within, after])
    order = np.argsort(level, kind="stable")
    return Hierarchy(start[order], end[order], label[order], level[order], given.depth, given.padding)


class Side:
    """The hierarchies of one side of a batch.

    Parameters
    ----------
    rows : Ragged
        Columns start, end (float64, seconds) and label; counts of levels and of segments.
    """

    def __init__(self, rows: Ragged) -> None:
        self._rows = rows
        self._levels = rows.offsets
        self._segments = offsets_of(rows.counts[1])
        *codes, before, after, nothing = _fold([*rows.labels, BEFORE, AFTER, ""])
        self._codes = np.array([*codes, nothing], dtype=np.int64)  # the last one is for label -1
        self._padding = before, after

    def __getitem__(self, row: int) -> Hierarchy:
        """One row; without any level it is one level without segments."""
        levels = slice(int(self._levels[row]), int(self._levels[row + 1]))
        own = slice(int(self._segments[levels.start]), int(self._segments[levels.stop]))
        columns = self._rows.columns
        level = rows_of(self._rows.counts[1][levels])
        depth = max(levels.stop - levels.start, 1)
        label = self._codes[columns["label"][own]]
        return Hierarchy(columns["start"][own], columns["end"][own], label, level, depth, self._padding)


def to_rows(intervals_hier: Sequence[Array], labels_hier: Sequence[Iterable[Any]] | None) -> Ragged:
    """One hierarchy, given as one array of intervals and one list of labels a level, as a row.

    Examples
    --------
    >>> to_rows([np.array([[0, 2]]), np.array([[0, 1], [1, 2]])], [["A"], ["a", "b"]]).counts
    (array([2]), array([1, 2]))
    """
    counts = np.array([len(intervals) for intervals in intervals_hier], dtype=np.int64)
    times = np.concatenate([np.asarray(intervals, dtype=np.float64) for intervals in intervals_hier])
    names = [""] * len(times) if labels_hier is None else [str(label) for level in labels_hier for label in level]
    vocabulary = {name: code for code, name in enumerate(dict.fromkeys(names))}
    codes = np.array([vocabulary[name] for name in names], dtype=np.int64)
    columns = {"start": times[:, 0], "end": times[:, 1], "label": codes}
    return Ragged(columns, (np.array([len(counts)]), counts), tuple(vocabulary))


def _fold(labels: Sequence[str]) -> list[int]:
    """One code for all labels that differ in letter case only."""
    vocabulary: dict[str, int] = {}
    return [vocabulary.setdefault(label.lower(), len(vocabulary)) for label in labels]
