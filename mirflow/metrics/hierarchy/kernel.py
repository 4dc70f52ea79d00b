"""Kernels of the hierarchy metrics: hierarchies fitted to a span, and their agreement on ranks around frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import MetricError
from ...kernels.intervals import MOST_FRAMES
from ...ragged import Float, Int, Ragged, offsets_of, rows_of
from ..util import Array
from .orders import Level, Tables, agreement, compare, compare_exactly, edges_of, level_of


def frames_of(times: Float, frame_size: float) -> Int:
    """Convert times to frames, rounding down to a multiple of the frame size first: int64 of the same shape.

    Examples
    --------
    >>> frames_of(np.array([0.25, 0.3, 1.0]), 0.1).tolist()
    [2, 2, 9]
    """
    return ((times - np.mod(times, frame_size)) / frame_size).astype(np.int64)


BEFORE, AFTER = "__T_MIN", "__T_MAX"
"""Labels of padding before the first and after the last segment of a level, as in mir_eval."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Segments of several levels."""

    start: Float
    end: Float
    """float64 (segments,), seconds."""
    label: Int
    """Codes, equal for labels that differ only in case: int64 (segments,)."""
    level: Int
    """From 0, the top: int64 (segments,)."""
    depth: int
    """Number of levels."""
    padding: tuple[int, int] = (-1, -1)
    """Codes of `BEFORE` and `AFTER`: (int, int)."""

    def frames(self, frame_size: float) -> tuple[Int, Int, int]:
        """Begin and end of each segment in frames, and the total number of frames."""
        bounds = np.array([self.start.min(), self.end.max()])
        low, high = bounds - np.mod(bounds, frame_size)
        return frames_of(self.start, frame_size), frames_of(self.end, frame_size), int((high - low) / frame_size)

    def levels(self, begin: Int, end: Int, edges: Int, labelled: bool) -> list[Level]:
        """Levels on blocks of frames, by label or by segment."""
        name = self.label if labelled else np.arange(len(self.label))
        every = [np.flatnonzero(self.level == level) for level in range(self.depth)]
        return [level_of(begin[own], end[own], name[own], edges) for own in every]

    def ends(self) -> Float:
        """Latest time of each level: float64 (depth,); minus infinity for a level without segments."""
        ends = np.full(self.depth, -np.inf)
        np.maximum.at(ends, self.level, self.end)
        return ends


def fit(given: Hierarchy, span: float | None = None) -> Hierarchy:
    """Crop and pad all levels to begin at 0 and, if a span is given in seconds, to end there.

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


class HierarchySide:
    """The hierarchies of one side of a batch, from rows with counts of levels and of segments.

    Labels are compared after `fold`; times are rounded to `decimals` if given.
    """

    def __init__(self, rows: Ragged, fold: Callable[[str], str] = str.lower, decimals: int | None = None) -> None:
        if decimals is not None:
            rounded = {name: np.round(rows.columns[name], decimals) for name in ("start", "end")}
            rows = Ragged({**rows.columns, **rounded}, rows.counts, rows.labels, rows.depths)
        self._rows = rows
        self._levels = rows.offsets
        self._segments = offsets_of(rows.counts[1])
        *codes, before, after, nothing = _fold([*rows.labels, BEFORE, AFTER, ""], fold)
        self._codes = np.array([*codes, nothing], dtype=np.int64)  # the last one is for label -1
        self._padding = before, after

    def __getitem__(self, row: int) -> Hierarchy:
        """Return the hierarchy of a row; an empty row has one level without segments."""
        levels = slice(int(self._levels[row]), int(self._levels[row + 1]))
        own = slice(int(self._segments[levels.start]), int(self._segments[levels.stop]))
        columns = self._rows.columns
        level = rows_of(self._rows.counts[1][levels])
        depth = max(levels.stop - levels.start, 1)
        label = self._codes[columns["label"][own]]
        return Hierarchy(columns["start"][own], columns["end"][own], label, level, depth, self._padding)


def to_rows(intervals_hier: Sequence[Array], labels_hier: Sequence[Iterable[Any]] | None) -> Ragged:
    """Make a row of one hierarchy, given as one array of intervals and one list of labels per level.

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


def _fold(labels: Sequence[str], fold: Callable[[str], str] = str.lower) -> list[int]:
    """Code labels, with equal codes for labels that are equal after `fold`."""
    vocabulary: dict[str, int] = {}
    return [vocabulary.setdefault(fold(label), len(vocabulary)) for label in labels]


DIFFERENT_SHAPES = "Estimated and reference hierarchies must have the same shape."


@dataclass(frozen=True, slots=True)
class Ranking:
    """Definition of a ranking of frames, their window, and the compared pairs."""

    labelled: bool
    """Whether frames are related by common labels instead of common segments."""
    transitive: bool
    """Whether to compare pairs of any two different ranks instead of neighbouring ranks only."""
    window: float
    """Infinity for all frames: float, seconds."""
    frame_size: float
    """0 for durations instead of frames: float, seconds."""


@dataclass(frozen=True, slots=True)
class RankSums:
    """Sum over frames for one side, and number of frames; see `agreement`."""

    agreed: float
    frames: float

    @property
    def score(self) -> float:
        """Mean over frames; 0 if no frame has anything to compare."""
        return self.agreed / self.frames if self.frames else 0.0

    def with_others(self, frames: float) -> RankSums:
        """Extend the sum to `frames`; frames with nothing to compare agree."""
        return RankSums(self.agreed + max(frames - self.frames, 0.0), frames)


EXACT = "exact"
"""Used instead of a frame size: durations between all boundaries of both sides."""


def read_frame_size(frame_size: float | str, window: float) -> float:
    """Convert a frame size for `Ranking`; raise a MetricError unless it is positive and at most the window."""
    if frame_size == EXACT:
        return 0.0
    if isinstance(frame_size, str):
        raise MetricError(f"frame_size ({frame_size!r}) must be a positive number or {EXACT!r}.")
    if not frame_size > 0:
        raise MetricError(f"frame_size ({frame_size:.2f}) must be a positive number.")
    if frame_size > window:
        raise MetricError(f"frame_size ({frame_size:.2f}) cannot exceed window ({window:.2f})")
    return frame_size


def too_long(end: float, frame_size: float) -> str:
    """Message for a hierarchy with too many frames up to an end in seconds; empty if there are not too many.

    Examples
    --------
    >>> too_long(60.0, 0.1), too_long(60.0, 1e-6)[:19]
    ('', 'ends at 60.0 s, too')
    """
    if not frame_size or end / frame_size < MOST_FRAMES + 1:
        return ""
    many = f"too late for frames of {frame_size} s (more than {MOST_FRAMES})"
    return f"ends at {end} s, {many}; are its times in seconds?"


def agreements(
    reference: Hierarchy, estimate: Hierarchy, rankings: Iterable[Ranking]
) -> dict[Ranking, tuple[RankSums, RankSums]]:
    """Sums of the agreement of the reference with the order of the estimate (precision), and vice versa (recall).

    Examples
    --------
    >>> def halves(middle):
    ...     level = np.array([0, 0])
    ...     return Hierarchy(np.array([0.0, middle]), np.array([middle, 4.0]), level, level, 1)
    >>> ranking = Ranking(False, True, float("inf"), 1.0)
    >>> precision, recall = agreements(halves(2.0), halves(3.0), [ranking])[ranking]
    >>> precision.score, recall.score
    (0.3333333333333333, 0.25)
    """
    found: dict[Ranking, tuple[RankSums, RankSums]] = {}
    shared: dict[tuple[bool, float, float], list[Ranking]] = {}
    for ranking in rankings:
        shared.setdefault((ranking.labelled, ranking.window, ranking.frame_size), []).append(ranking)
    for (labelled, window, frame_size), same in shared.items():
        if fault := too_long(float(reference.end.max()), frame_size):
            raise ValueError(f"reference: {fault}")
        compared = _frames if frame_size else _moments
        sums = np.zeros((len(same), 2, 2))
        for tables in compared(reference, estimate, labelled, window, frame_size):
            for place, ranking in enumerate(same):
                for side, one in enumerate((tables.swapped, tables)):
                    sums[place, side] += agreement(one, ranking.transitive)
        for ranking, (precision, recall) in zip(same, sums.tolist(), strict=True):
            found[ranking] = RankSums(*precision), RankSums(*recall)
    return found


def _frames(
    reference: Hierarchy, estimate: Hierarchy, labelled: bool, window: float, frame_size: float
) -> Iterator[Tables]:
    begin, end, frames = reference.frames(frame_size)
    other_begin, other_end, other_frames = estimate.frames(frame_size)
    if frames != other_frames:
        raise ValueError(DIFFERENT_SHAPES)
    edges = edges_of(frames, begin, end, other_begin, other_end)
    left = reference.levels(begin, end, edges, labelled)
    right = estimate.levels(other_begin, other_end, edges, labelled)
    return compare(left, right, edges, window_frames(window, frame_size, frames))


def _moments(
    reference: Hierarchy, estimate: Hierarchy, labelled: bool, window: float, frame_size: float
) -> Iterator[Tables]:
    limit = min(float(reference.end.max()), float(estimate.end.max()))
    bounds = [np.minimum(time, limit) for side in (reference, estimate) for time in (side.start, side.end)]
    edges = np.unique(np.concatenate([*bounds, [0.0, limit]]))
    left = reference.levels(bounds[0], bounds[1], edges, labelled)
    right = estimate.levels(bounds[2], bounds[3], edges, labelled)
    return compare_exactly(left, right, edges, window)


def window_frames(window: float, frame_size: float, frames: int) -> int:
    """Window in frames, rounded down and limited to all frames.

    Examples
    --------
    >>> window_frames(15.0, 0.1, 3000), window_frames(float("inf"), 0.1, 3000)
    (149, 3000)
    """
    if window / frame_size > frames + 1:
        return frames
    return int((window - np.mod(window, frame_size)) / frame_size)
