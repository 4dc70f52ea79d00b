"""Kernels of the hierarchy metrics: hierarchies fitted to a span, and their agreement on ranks around frames.

A hierarchy ranks the frames around each frame q by the deepest level on which they share a segment or a label with it.
Ranks are constant over blocks of frames between boundaries. While q moves within a run, the frames that its window
gains and loses come from one block each. Therefore, a table of counts by rank in both hierarchies is computed from
blocks once per run, and expanded to single frames only if it changes within the run.

For moments, the durations in the table change linearly within a run. The agreement is then a quotient of two quadratic
polynomials whose coefficients are sums of products of durations. In a logistic coordinate, all its poles have an
imaginary part of at least pi / 2, so that the trapezoidal rule in that coordinate converges to the last digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import MetricError
from ...kernels.intervals import MOST_FRAMES, batches
from ...kernels.ragged_ops import sum_by
from ...ragged import Column, Float, Int, Ragged, ranges, rows_of
from ..util import Array

BEFORE, AFTER = "__T_MIN", "__T_MAX"
"""Labels of padding before the first and after the last segment of a level, as in mir_eval."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Segments of several levels."""

    start: Float
    end: Float  # float64 (segments,), seconds
    label: Int  # Codes, equal for labels that differ only in case: int64 (segments,)
    level: Int  # From 0, the top: int64 (segments,)
    depth: int  # Number of levels
    padding: tuple[int, int] = (-1, -1)  # Codes of `BEFORE` and `AFTER`: (int, int)

    def frames(self, frame_size: float) -> tuple[Int, Int, int]:
        """Begin and end of each segment in frames, and the total number of frames."""
        bounds = self.start, self.end, np.array([self.start.min(), self.end.max()])
        # Times are rounded down to a multiple of the frame size first.
        start, end, (low, high) = (times - np.mod(times, frame_size) for times in bounds)
        begin, stop = ((times / frame_size).astype(np.int64) for times in (start, end))
        return begin, stop, int((high - low) / frame_size)

    def levels(self, begin: Times, end: Times, edges: Times, labelled: bool) -> list[Level]:
        """Levels on blocks of frames between edges, by label or by segment: int64 (layers, blocks) each.

        Segments contain the frames from `begin` to before `end`, which are edges or outside of them.
        """
        name = self.label if labelled else np.arange(len(self.label))
        levels = []
        for depth in range(self.depth):
            own = np.flatnonzero(self.level == depth)
            first = np.searchsorted(edges[:-1], begin[own])
            counts = np.maximum(np.searchsorted(edges[:-1], end[own]) - first, 0)
            block, names = ranges(first, counts), np.repeat(name[own], counts)
            order = np.argsort(block, kind="stable")
            block, names = block[order], names[order]
            layer = np.arange(len(block)) - np.searchsorted(block, block)
            level = np.full((int(layer.max(initial=0)) + 1, len(edges) - 1), -1, dtype=np.int64)
            level[layer, block] = names
            levels.append(level)
        return levels


def fit(given: Hierarchy, span: float | None = None) -> Hierarchy:
    """Crop and pad all levels to begin at 0 and, if a span is given in seconds, to end there."""
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


def hierarchies_of(
    rows: Ragged, fold: Callable[[str], str] = str.lower, decimals: int | None = None
) -> list[Hierarchy]:
    """The hierarchies of rows with counts of levels and of segments; an empty row has one level without segments.

    Labels are compared after `fold`; times are rounded to `decimals` if given.
    """
    start, end = (rows.columns[name] for name in ("start", "end"))
    if decimals is not None:
        start, end = np.round(start, decimals), np.round(end, decimals)
    vocabulary: dict[str, int] = {}
    *codes, before, after, nothing = [
        vocabulary.setdefault(fold(label), len(vocabulary)) for label in [*rows.labels, BEFORE, AFTER, ""]
    ]
    label = np.array([*codes, nothing], dtype=np.int64)[rows.columns["label"]]  # the last one is for label -1
    hierarchies = []
    for levels, segments in zip(*(map(slice, bounds, bounds[1:]) for bounds in rows.bounds), strict=True):
        level = rows_of(rows.counts[1][levels])
        depth = max(int(levels.stop - levels.start), 1)
        hierarchies.append(Hierarchy(start[segments], end[segments], label[segments], level, depth, (before, after)))
    return hierarchies


def to_rows(intervals_hier: Sequence[Array], labels_hier: Sequence[Iterable[Any]] | None) -> Ragged:
    """Make a row of one hierarchy, given as one array of intervals and one list of labels per level."""
    counts = np.array([len(intervals) for intervals in intervals_hier], dtype=np.int64)
    times = np.concatenate([np.asarray(intervals, dtype=np.float64) for intervals in intervals_hier])
    names = [""] * len(times) if labels_hier is None else [str(label) for level in labels_hier for label in level]
    vocabulary = {name: code for code, name in enumerate(dict.fromkeys(names))}
    codes = np.array([vocabulary[name] for name in names], dtype=np.int64)
    columns = {"start": times[:, 0], "end": times[:, 1], "label": codes}
    return Ragged(columns, (np.array([len(counts)]), counts), tuple(vocabulary))


DIFFERENT_SHAPES = "Estimated and reference hierarchies must have the same shape."


@dataclass(frozen=True, slots=True)
class Ranking:
    """Definition of a ranking of frames, their window, and the compared pairs."""

    labelled: bool  # Whether frames are related by common labels instead of common segments
    transitive: bool  # Whether to compare pairs of any two different ranks instead of neighbouring ranks only
    window: float  # Infinity for all frames: float, seconds
    frame_size: float  # 0 for durations instead of frames: float, seconds


@dataclass(frozen=True, slots=True)
class RankSums:
    """Sum over frames for one side, and number of frames; see `agreement`."""

    agreed: float
    frames: float

    @property
    def score(self) -> float:
        """Mean over frames; 0 if no frame has anything to compare."""
        return self.agreed / self.frames if self.frames else 0.0


EXACT = "exact"  # Used instead of a frame size: durations between all boundaries of both sides


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
    """Message for a hierarchy with too many frames up to an end in seconds; empty if there are not too many."""
    if not frame_size or end / frame_size < MOST_FRAMES + 1:
        return ""
    many = f"too late for frames of {frame_size} s (more than {MOST_FRAMES})"
    return f"ends at {end} s, {many}; are its times in seconds?"


def agreements(
    reference: Hierarchy, estimate: Hierarchy, rankings: Iterable[Ranking]
) -> dict[Ranking, tuple[RankSums, RankSums]]:
    """Sums of the agreement of the reference with the order of the estimate (precision), and vice versa (recall)."""
    agreed: dict[Ranking, tuple[RankSums, RankSums]] = {}
    shared: dict[tuple[bool, float, float], list[Ranking]] = {}
    for ranking in rankings:
        shared.setdefault((ranking.labelled, ranking.window, ranking.frame_size), []).append(ranking)
    for (labelled, window, frame_size), same in shared.items():
        if fault := too_long(float(reference.end.max()), frame_size):
            raise ValueError(f"reference: {fault}")
        sums = np.zeros((len(same), 2, 2))
        for tables in compare(reference, estimate, labelled, window, frame_size):
            swapped = Tables(tables.counts.transpose(1, 0, 2), tables.times)
            for index, ranking in enumerate(same):
                for side, table in enumerate((swapped, tables)):
                    sums[index, side] += agreement(table, ranking.transitive)
        for ranking, (precision, recall) in zip(same, sums.tolist(), strict=True):
            agreed[ranking] = RankSums(*precision), RankSums(*recall)
    return agreed


_LIMIT = 1 << 19  # Entries of the largest temporary arrays

Level = Int
"""Segments or labels of a level on blocks: int64 (layers, blocks), -1 for none; overlaps need several layers."""
Times = Column  # Frames or seconds


def meet(levels: Sequence[Level], rows: slice) -> Int:
    """Number of the deepest level on which blocks share a name, from 1; 0 if there is none: int64 (rows, blocks).

    Levels are given from the top to the bottom, and the blocks in `rows` are compared with all blocks.
    """
    deepest = np.zeros((len(levels[0][0, rows]), levels[0].shape[1]), dtype=np.int64)
    for depth, level in enumerate(levels, 1):
        for layer in level[:, rows]:
            # -2 matches nothing, not even -1 on the other side.
            mine = np.where(layer < 0, -2, layer)[:, None]
            for other in level:
                np.copyto(deepest, depth, where=mine == other)
    return deepest


@dataclass(frozen=True, slots=True)
class Tables:
    """Counts of frames around given frames, by their ranks in two hierarchies."""

    counts: Float  # Whole numbers: float64 (ranks on the left, ranks on the right, tables)
    times: Float  # Numbers of frames with each table: float64 (tables,)


class _Runs:
    """Runs of frames, or of moments, in one block whose windows begin in one block and end in one block.

    Edges of the blocks ascend from 0, in frames or seconds. The window of q ranges from ``q - window`` to ``q +
    window``: for frames, to before it, except q itself.
    """

    moments = False

    def __init__(self, start: Times, stop: Times, edges: Times, window: float) -> None:
        self.start, self.stop, self.edges, self.window = start, stop, edges, window
        # Windows of moments may touch a block in a point at the ends of a run.
        middle, last = ((start + stop) / 2, 0) if self.moments else (start, 1)
        self.own, self.first, self.last = map(self.block, (middle, middle - window, middle + window - last))
        self.spans: Int = self.last - self.first + 1

    def block(self, time: Times) -> Int:
        """The block of each time; the first or last one for those outside of all."""
        return np.clip(np.searchsorted(self.edges, time, side="right") - 1, 0, len(self.edges) - 2)

    def split(self, code: Int, row: Int, codes: int) -> Iterator[tuple[Float, Float]]:
        """Counts of each code around frames, float64 (codes, tables), and the numbers of frames with each table.

        `code` (int64 (rows, blocks)): codes of all blocks as seen from some, which are those of the runs by `row`.
        """
        length = self.stop - self.start
        counts = self.count(code, row, codes, self.start)
        counts[code[row, self.own], np.arange(len(row))] -= 1
        # Codes of the frames at the borders of the window; -1 before the first and after the last frame.
        gained, lost = (
            np.where((frame >= 0) & (frame < self.edges[-1]), code[row, self.block(frame)], -1)
            for frame in (self.start + self.window, self.start - self.window)
        )
        steady = (gained == lost) | (length == 1)
        yield counts[:, steady], length[steady].astype(np.float64)
        moving = np.flatnonzero(~steady)
        for part in batches(length[moving] * codes, _LIMIT):
            chosen = moving[part]
            run = rows_of(length[chosen])
            step = ranges(np.zeros(len(chosen), dtype=np.int64), length[chosen])
            every = counts[:, chosen][:, run]
            for border, sign in ((gained, 1.0), (lost, -1.0)):
                border = border[chosen][run]
                inside = np.flatnonzero(border >= 0)
                every[border[inside], inside] += sign * step[inside]
            yield every, np.ones(len(run))

    def count(self, code: Int, row: Int, codes: int, time: Times) -> Float:
        """Frames or seconds of each code in the window around one time of each run: float64 (codes, runs)."""
        run, block = rows_of(self.spans), ranges(self.first, self.spans)
        low, high = np.maximum(time - self.window, 0)[run], np.minimum(time + self.window, self.edges[-1])[run]
        overlap = np.maximum(np.minimum(self.edges[block + 1], high) - np.maximum(self.edges[block], low), 0)
        size = len(time)
        return sum_by(code[row[run], block] * size + run, overlap, codes * size).reshape(codes, size)


_STEP, _REACH = 0.3, 33.0
"""Parameters of the trapezoidal rule: the error is about ``exp(-pi**2 / step)`` plus ``exp(-reach)``, 1e-14 each."""


_COORDINATE = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
# Nodes from 0 to 1, their distances from 1, and weights that sum to 1.
_PLACE, _REST = 1 / (1 + np.exp(-_COORDINATE)), 1 / (1 + np.exp(_COORDINATE))
_WEIGHT = _PLACE * _REST / (_PLACE * _REST).sum()


class _MomentRuns(_Runs):
    moments = True

    def split(self, code: Int, row: Int, codes: int) -> Iterator[tuple[Float, Float]]:
        """Durations of each code around moments, float64 (codes, tables), and the seconds of moments of each table."""
        length = self.stop - self.start
        gained = np.where(self.stop + self.window <= self.edges[-1], code[row, self.last], -1)
        lost = np.where(self.start >= self.window, code[row, self.first], -1)
        counts = [self.count(code, row, codes, moment) for moment in (self.start, self.stop)]
        steady = gained == lost
        yield counts[0][:, steady], length[steady]
        moving = np.flatnonzero(~steady)
        for part in batches(np.full(len(moving), codes * len(_PLACE)), _LIMIT):
            begin, stop = (side[:, moving[part], np.newaxis] for side in counts)
            every = begin * _REST + stop * _PLACE
            yield every.reshape(codes, -1), np.outer(length[moving[part]], _WEIGHT).ravel()


def compare(
    reference: Hierarchy, estimate: Hierarchy, labelled: bool, window: float, frame_size: float
) -> Iterator[Tables]:
    """Compute tables of the ranks around all frames, or moments, of two hierarchies, in pieces of limited size."""
    bounds: list[Times]
    end: float
    if frame_size:
        *own, frames = reference.frames(frame_size)
        *other, other_frames = estimate.frames(frame_size)
        if frames != other_frames:
            raise ValueError(DIFFERENT_SHAPES)
        bounds, end = [*own, *other], frames
        edges = np.unique(np.clip(np.concatenate([*bounds, [0, frames]]), 0, frames)).astype(np.int64)
        # The window is rounded down and limited to all frames.
        if window / frame_size <= frames + 1:
            window = min(int((window - np.mod(window, frame_size)) / frame_size), frames)
        else:
            window = frames
        if window < 1:
            return
    else:
        end = min(float(reference.end.max()), float(estimate.end.max()))
        bounds = [np.minimum(time, end) for side in (reference, estimate) for time in (side.start, side.end)]
        edges = np.unique(np.concatenate([*bounds, [0.0, end]]))
    left = reference.levels(bounds[0], bounds[1], edges, labelled)
    right = estimate.levels(bounds[2], bounds[3], edges, labelled)
    breaks = np.concatenate([edges, edges - window, edges + window]) if frame_size or window < end else edges
    starts = np.unique(breaks[(breaks >= 0) & (breaks < end)])
    stops, runs_of = np.append(starts[1:], end), _Runs if frame_size else _MomentRuns
    ranks = (len(left) + 1, len(right) + 1)
    for part in batches(np.maximum(runs_of(starts, stops, edges, window).spans, len(edges)), _LIMIT):
        runs = runs_of(starts[part], stops[part], edges, window)
        top = int(runs.own[0])
        rows = slice(top, int(runs.own[-1]) + 1)
        code = meet(left, rows) * ranks[1] + meet(right, rows)
        for counts, times in runs.split(code, runs.own - top, ranks[0] * ranks[1]):
            yield Tables(counts.reshape(*ranks, -1), times)


def agreement(tables: Tables, transitive: bool) -> tuple[float, float]:
    """Sum of the agreement of the right side with the order around frames on the left, and the number of these frames.

    With `transitive`, all pairs of frames of different rank on the left are compared; otherwise only those whose ranks
    differ by one. The agreement of a frame is the share of these pairs with ranks in the same order on the right.
    """
    counts = tables.counts
    pairs = np.zeros(counts.shape[2])
    wrong = np.zeros(counts.shape[2])
    farther = np.zeros(counts.shape[1:])
    for nearer, one_less in zip(counts[1:], counts, strict=False):
        farther = farther + one_less if transitive else one_less
        as_near = np.cumsum(farther[::-1], axis=0)[::-1]
        pairs += nearer.sum(axis=0) * as_near[0]
        wrong += (nearer * as_near).sum(axis=0)
    ordered = pairs > 0
    times = tables.times[ordered]
    agreed = times * (1.0 - wrong[ordered] / pairs[ordered])
    return float(sum_by(np.zeros(len(agreed), dtype=np.int64), agreed, 1)[0]), float(times.sum())
