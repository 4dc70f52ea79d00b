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
from ...ragged import Float, Int, Ragged, offsets_of, ranges, rows_of
from ..util import Array


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
        vocabulary: dict[str, int] = {}
        *codes, before, after, nothing = [
            vocabulary.setdefault(fold(label), len(vocabulary)) for label in [*rows.labels, BEFORE, AFTER, ""]
        ]
        self._codes = np.array([*codes, nothing], dtype=np.int64)  # the last one is for label -1
        self._padding = before, after

    def __getitem__(self, row: int) -> Hierarchy:
        """Return the hierarchy of a row; an empty row has one level without segments."""
        levels = slice(int(self._levels[row]), int(self._levels[row + 1]))
        segments = slice(int(self._segments[levels.start]), int(self._segments[levels.stop]))
        columns = self._rows.columns
        level = rows_of(self._rows.counts[1][levels])
        depth = max(levels.stop - levels.start, 1)
        label = self._codes[columns["label"][segments]]
        return Hierarchy(columns["start"][segments], columns["end"][segments], label, level, depth, self._padding)


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
    agreed: dict[Ranking, tuple[RankSums, RankSums]] = {}
    shared: dict[tuple[bool, float, float], list[Ranking]] = {}
    for ranking in rankings:
        shared.setdefault((ranking.labelled, ranking.window, ranking.frame_size), []).append(ranking)
    for (labelled, window, frame_size), same in shared.items():
        if fault := too_long(float(reference.end.max()), frame_size):
            raise ValueError(f"reference: {fault}")
        compared = _frames if frame_size else _moments
        sums = np.zeros((len(same), 2, 2))
        for tables in compared(reference, estimate, labelled, window, frame_size):
            for index, ranking in enumerate(same):
                for side, table in enumerate((tables.swapped, tables)):
                    sums[index, side] += agreement(table, ranking.transitive)
        for ranking, (precision, recall) in zip(same, sums.tolist(), strict=True):
            agreed[ranking] = RankSums(*precision), RankSums(*recall)
    return agreed


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


_LIMIT = 1 << 19
"""Entries of the largest temporary arrays."""

Level = Int
"""Segments or labels of a level on blocks: int64 (layers, blocks), -1 for none; overlaps need several layers."""


def edges_of(frames: int, *bounds: Int) -> Int:
    """Sort the distinct frames among 0, `frames` and all bounds between them.

    Examples
    --------
    >>> edges_of(10, np.array([4, 0]), np.array([12, 4]))
    array([ 0,  4, 10])
    """
    return np.unique(np.clip(np.concatenate([*bounds, np.array([0, frames])]), 0, frames)).astype(np.int64)


def level_of(begin: Int, end: Int, name: Int, edges: Int) -> Level:
    """Convert a level of a hierarchy to blocks: int64 (layers, blocks).

    Segments contain the frames from `begin` to before `end`, which are edges or outside of them. Names are identifiers
    of segments or labels, 0 or more.

    Examples
    --------
    >>> edges = np.array([0, 2, 5, 9])
    >>> level_of(np.array([0, 2]), np.array([5, 5]), np.array([7, 8]), edges).tolist()
    [[7, 7, -1], [-1, 8, -1]]
    """
    first = np.searchsorted(edges[:-1], begin)
    held = np.maximum(np.searchsorted(edges[:-1], end) - first, 0)
    block, names = ranges(first, held), np.repeat(name, held)
    order = np.argsort(block, kind="stable")
    block, names = block[order], names[order]
    layer = np.arange(len(block)) - np.searchsorted(block, block)
    level = np.full((int(layer.max(initial=0)) + 1, len(edges) - 1), -1, dtype=np.int64)
    level[layer, block] = names
    return level


def meet(levels: Sequence[Level], rows: slice) -> Int:
    """Number of the deepest level on which blocks share a name, from 1; 0 if there is none: int64 (rows, blocks).

    Levels are given from the top to the bottom, and the blocks in `rows` are compared with all blocks.

    Examples
    --------
    >>> meet([np.array([[0, 0, 0]]), np.array([[0, 1, 0]])], slice(0, 2)).tolist()
    [[2, 1, 2], [1, 2, 1]]
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

    counts: Float
    """Whole numbers: float64 (ranks on the left, ranks on the right, tables)."""
    times: Float
    """Numbers of frames with each table: float64 (tables,)."""

    @property
    def swapped(self) -> Tables:
        """Swap the sides."""
        return Tables(self.counts.transpose(1, 0, 2), self.times)


def compare(left: Sequence[Level], right: Sequence[Level], edges: Int, window: int) -> Iterator[Tables]:
    """Compute tables of the ranks around all frames of two hierarchies on the same blocks, in pieces of limited size.

    The window of frame q contains the frames from ``q - window`` to before ``q + window``, except q itself.
    """
    frames = int(edges[-1])
    window = min(window, frames)
    if window < 1:
        return
    breaks = np.concatenate([edges, edges - window, edges + window])
    starts = np.unique(breaks[(breaks >= 0) & (breaks < frames)])
    runs = _Runs(starts, np.diff(starts, append=frames), edges, window)
    for part in batches(np.maximum(runs.spans, len(edges)), _LIMIT):
        yield from runs.take(part).tables(left, right)


class _Runs:
    """Runs of frames in one block whose windows begin in one block and end in one block."""

    def __init__(self, start: Int, length: Int, edges: Int, window: int) -> None:
        self.start, self.length, self.edges, self.window = start, length, edges, window
        frames = int(edges[-1])
        self.low, self.high = np.maximum(start - window, 0), np.minimum(start + window, frames)
        self.own, self.first, self.last = self._block(start), self._block(self.low), self._block(self.high - 1)
        self.spans: Int = self.last - self.first + 1

    def _block(self, frame: Int) -> Int:
        return np.searchsorted(self.edges, frame, side="right") - 1

    def take(self, part: slice) -> _Runs:
        return _Runs(self.start[part], self.length[part], self.edges, self.window)

    def tables(self, left: Sequence[Level], right: Sequence[Level]) -> Iterator[Tables]:
        top = int(self.own[0])
        rows = slice(top, int(self.own[-1]) + 1)
        ranks = (len(left) + 1, len(right) + 1)
        code = meet(left, rows) * ranks[1] + meet(right, rows)
        number = self.own - top
        counts = self._count(code, number, ranks[0] * ranks[1])
        gained = self._code_at(code, number, self.start + self.window)
        lost = self._code_at(code, number, self.start - self.window)
        steady = (gained == lost) | (self.length == 1)
        yield Tables(counts[:, steady].reshape(*ranks, -1), self.length[steady].astype(np.float64))
        moving = np.flatnonzero(~steady)
        for part in batches(self.length[moving] * len(counts), _LIMIT):
            chosen = moving[part]
            laid_out = _lay_out(counts[:, chosen], self.length[chosen], gained[chosen], lost[chosen])
            yield Tables(laid_out.reshape(*ranks, -1), np.ones(laid_out.shape[1]))

    def _count(self, code: Int, own: Int, codes: int) -> Float:
        """Frames of each code around the first frame of each run: float64 (codes, runs)."""
        run, block = rows_of(self.spans), ranges(self.first, self.spans)
        overlap = np.minimum(self.edges[block + 1], self.high[run]) - np.maximum(self.edges[block], self.low[run])
        size = len(self.start)
        counts = sum_by(code[own[run], block] * size + run, overlap, codes * size).reshape(codes, size)
        counts[code[own, self.own], np.arange(size)] -= 1
        return counts

    def _code_at(self, code: Int, own: Int, frame: Int) -> Int:
        """Code of a frame at the border of the window; -1 before the first and after the last frame."""
        inside = (frame >= 0) & (frame < self.edges[-1])
        return np.where(inside, code[own, self._block(np.where(inside, frame, 0))], -1)


def _lay_out(counts: Float, length: Int, gained: Int, lost: Int) -> Float:
    run = rows_of(length)
    step = ranges(np.zeros(len(length), dtype=np.int64), length)
    every = counts[:, run]
    position = np.arange(len(run))
    for code, sign in ((gained[run], 1.0), (lost[run], -1.0)):
        inside = code >= 0
        every[code[inside], position[inside]] += sign * step[inside]
    return every


_STEP, _REACH = 0.3, 33.0
"""Parameters of the trapezoidal rule: the error is about ``exp(-pi**2 / step)`` plus ``exp(-reach)``, 1e-14 each."""


def _nodes() -> tuple[Float, Float, Float]:
    """Nodes from 0 to 1, their distances from 1, and weights that sum to 1."""
    coordinate = np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
    node, rest = 1 / (1 + np.exp(-coordinate)), 1 / (1 + np.exp(coordinate))
    weight = node * rest
    return node, rest, weight / weight.sum()


_PLACE, _REST, _WEIGHT = _nodes()


def compare_exactly(left: Sequence[Level], right: Sequence[Level], edges: Float, window: float) -> Iterator[Tables]:
    """Compute tables of the ranks around all moments of two hierarchies on the same blocks, in pieces of limited size.

    Edges of the blocks ascend from 0, in seconds. The window of moment q ranges from ``q - window`` to ``q + window``.
    Tables have durations in seconds, and the seconds of moments with each table.
    """
    end = float(edges[-1])
    breaks = np.concatenate([edges, edges - window, edges + window]) if window < end else edges
    starts = np.unique(breaks[(breaks >= 0) & (breaks < end)])
    runs = _MomentRuns(starts, np.append(starts[1:], end), edges, window)
    for part in batches(np.maximum(runs.spans, len(edges)), _LIMIT):
        yield from runs.take(part).tables(left, right)


class _MomentRuns:
    """Runs of moments in one block whose windows begin in one block and end in one block."""

    def __init__(self, start: Float, stop: Float, edges: Float, window: float) -> None:
        self.start, self.stop, self.edges, self.window = start, stop, edges, window
        # Blocks are determined at the middle of the run because the window may touch a block in a point at its ends.
        middle = (start + stop) / 2
        self.own, self.first, self.last = (self._block(middle + shift) for shift in (0.0, -window, window))
        self.spans: Int = self.last - self.first + 1

    def _block(self, time: Float) -> Int:
        return np.clip(np.searchsorted(self.edges, time, side="right") - 1, 0, len(self.edges) - 2)

    def take(self, part: slice) -> _MomentRuns:
        return _MomentRuns(self.start[part], self.stop[part], self.edges, self.window)

    def tables(self, left: Sequence[Level], right: Sequence[Level]) -> Iterator[Tables]:
        top = int(self.own[0])
        rows = slice(top, int(self.own[-1]) + 1)
        ranks = (len(left) + 1, len(right) + 1)
        code = (meet(left, rows) * ranks[1] + meet(right, rows))[self.own - top]
        codes, length = ranks[0] * ranks[1], self.stop - self.start
        run = np.arange(len(self.start))
        gained = np.where(self.stop + self.window <= self.edges[-1], code[run, self.last], -1)
        lost = np.where(self.start >= self.window, code[run, self.first], -1)
        counts = [self._count(code, codes, moment) for moment in (self.start, self.stop)]
        steady = gained == lost
        yield Tables(counts[0][:, steady].reshape(*ranks, -1), length[steady])
        moving = np.flatnonzero(~steady)
        for part in batches(np.full(len(moving), codes * len(_PLACE)), _LIMIT):
            begin, stop = (side[:, moving[part], np.newaxis] for side in counts)
            laid_out = begin * _REST + stop * _PLACE
            yield Tables(laid_out.reshape(*ranks, -1), np.outer(length[moving[part]], _WEIGHT).ravel())

    def _count(self, code: Int, codes: int, moment: Float) -> Float:
        """Seconds of each code around one moment of each run: float64 (codes, runs)."""
        run, block = rows_of(self.spans), ranges(self.first, self.spans)
        low, high = (moment - self.window)[run], (moment + self.window)[run]
        overlap = np.minimum(self.edges[block + 1], high) - np.maximum(self.edges[block], low)
        size = len(moment)
        return sum_by(code[run, block] * size + run, np.maximum(overlap, 0.0), codes * size).reshape(codes, size)


def agreement(tables: Tables, transitive: bool) -> tuple[float, float]:
    """Sum of the agreement of the right side with the order around frames on the left, and the number of these frames.

    With `transitive`, all pairs of frames of different rank on the left are compared; otherwise only those whose ranks
    differ by one. The agreement of a frame is the share of these pairs with ranks in the same order on the right.

    Examples
    --------
    Two frames have rank 0 and one has rank 1 on the left; on the right, one of the former also has rank 1.

    >>> agreement(Tables(np.array([[[1.0], [1.0]], [[0.0], [1.0]]]), np.array([3.0])), True)
    (1.5, 3.0)
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
