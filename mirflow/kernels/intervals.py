"""Intervals of many pairs: common timelines, frames, directional Hamming distances, and runs of painted intervals.

Later intervals of a row are painted over earlier ones; the runs are what can still be seen. Columns are flat over rows
or pairs, with int64 counts of items per row; times are finite float64 seconds, ascending within a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from ..ragged import Bool, Float, Int, offsets_of, rows_of
from .ragged_ops import sum_by


def rank(*columns: Float) -> tuple[Float, tuple[Int, ...]]:
    """Convert finite times of any number of columns to ranks: the distinct times, ascending, and indices into them."""
    every = np.concatenate(columns) if columns else np.zeros(0)
    order = np.argsort(every)
    ascending = every[order]
    fresh = np.ones(len(every), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=fresh[1:])
    ranks = np.empty(len(every), dtype=np.int64)
    ranks[order] = np.cumsum(fresh) - 1
    ends = list(accumulate(map(len, columns), initial=0))
    return ascending[fresh], tuple(ranks[low:high] for low, high in pairwise(ends))


@dataclass(frozen=True, slots=True)
class Timeline:
    """Concatenated points of many pairs, in order of time within each pair.

    Points at equal times are not merged; the stretch between them lasts 0 s.
    """

    rank: Int  # Rank of the time of each point: int64 (points,)
    counts: Int  # int64 (pairs,)
    is_right: Bool  # bool (points,): side of each point. The points of a side keep their order.
    left: Int
    right: Int
    """int64 (points,): index of the last point of each side up to here, in the original flat points. It is in force
    from the last of simultaneous points on; stretches between these are empty."""


def steps_between(times: Float, counts: Int) -> Float:
    """Differences of neighbouring times of concatenated rows; 0 at the end of each row."""
    steps = np.empty_like(times)
    np.subtract(times[1:], times[:-1], out=steps[:-1])
    steps[np.cumsum(counts)[counts > 0] - 1] = 0.0
    return steps


def merge(left: Int, left_counts: Int, right: Int, right_counts: Int) -> Timeline:
    """Merge pairs of sequences to common timelines.

    Ranks of the points of each side are not descending within a pair. Each side of a pair has at least one point, and
    both start at the same rank.
    """
    if not (left_counts.all() and right_counts.all()):
        raise ValueError("every pair needs at least one point on each side")
    alone = len(left_counts) == 1
    starts = [slice(0, 1) if alone else offsets_of(counts)[:-1] for counts in (left_counts, right_counts)]
    if (left[starts[0]] != right[starts[1]]).any():
        raise ValueError("both sides of a pair must start at the same time; pad the one that starts later")
    counts = left_counts + right_counts
    bits = int(max(left.max(initial=0), right.max(initial=0))).bit_length() + 1
    # pair | rank | side in one integer, so that a single sort is enough
    keys = np.empty(len(left) + len(right), dtype=np.int64)
    pair = np.arange(len(counts), dtype=np.int64) << bits
    keys[: len(left)] = (pair if alone else np.repeat(pair, left_counts)) + (left << 1)
    keys[len(left) :] = (pair + 1 if alone else np.repeat(pair + 1, right_counts)) + (right << 1)
    keys.sort()
    side = keys & 1
    last_right = side.cumsum() - 1
    last_left = np.arange(len(keys), dtype=np.int64) - last_right - 1
    ranks = keys >> 1 & ((1 << (bits - 1)) - 1)
    return Timeline(ranks, counts, side.astype(np.bool_), last_left, last_right)


def batches(sizes: Int, limit: int) -> Iterator[slice]:
    """Consecutive slices with a total size of at most `limit`, unless a single item is larger."""
    if len(sizes) == 1:
        yield slice(0, 1)
        return
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = int(ends[start - 1]) if start else 0
        stop = max(int(np.searchsorted(ends, before + limit, side="right")), start + 1)
        yield slice(start, stop)
        start = stop


MOST_FRAMES = 2**22  # Largest number of frames of a grid in memory: more than eleven hours of 10 ms


def frames_before(start: Float, hop: float, time: Float) -> Int:
    """Number of frames of a grid before a time, which is the index of the first frame at or after it: int64 (n,).

    Frame k is at ``start + k * hop`` seconds, computed in this way.
    """
    guess = np.maximum(np.ceil((time - start) / hop), 0.0)
    # The rounded quotient may be off by a frame; the time of the frame decides.
    guess += start + guess * hop < time
    guess -= (guess > 0) & (start + (guess - 1) * hop >= time)
    return guess.astype(np.int64)


NOTHING = 0  # Code of frames outside all intervals; codes of other classes must be larger


@dataclass(frozen=True, slots=True)
class Runs:
    """Frames of many rows as runs of equal codes."""

    first: Int  # int64 (runs,): first frame of each run, not descending within a row, from 0; runs may be empty
    code: Int  # int64 (runs,)
    counts: Int
    frames: Int
    """Numbers of runs, at least one, and of frames, where the last run ends: int64 (rows,)."""


def single_frames_before(time: Float, hop: float, including: bool) -> Int:
    """Number of frames before a time if frame k is at ``k * hop`` in single precision: int64 (n,).

    Times are finite, from 0 to about 2**24 hops, the largest exact integer in single precision. A frame exactly at the
    time counts if `including`.
    """
    step = np.float32(hop)
    before = np.less_equal if including else np.less
    # The quotient may be off by a few frames; the time of the frame decides.
    frame = np.floor(time / hop)
    while (short := before((frame.astype(np.float32) * step).astype(np.float64), time)).any():
        frame += short
    while (beyond := (frame > 0) & ~before(((frame - 1).astype(np.float32) * step).astype(np.float64), time)).any():
        frame -= beyond
    return frame.astype(np.int64)


def paint(first: Int, stop: Int, code: Int, counts: Int, frames: Int) -> Runs:
    """Find the visible runs of each row after painting its intervals over each other, in given order.

    An interval covers the frames from `first` to before `stop`; `counts` and `frames` are the numbers of intervals and
    of frames of each row. Intervals are cropped to the frames, and frames outside all intervals have the code
    `NOTHING`.
    """
    limit = frames if len(counts) == 1 else np.repeat(frames, counts)
    first, stop = np.minimum(first, limit), np.minimum(stop, limit)
    owner = rows_of(counts)
    inner = np.zeros(len(first), dtype=np.bool_)
    np.equal(owner[1:], owner[:-1], out=inner[:-1])
    crossing = stop < first
    crossing[:-1] |= inner[:-1] & ((first[1:] < first[:-1]) | (stop[1:] < stop[:-1]))
    if crossing.any():
        first, stop, code, counts = _flatten(first, stop, code, counts, np.unique(owner[crossing]))
    offsets, filled = offsets_of(counts), counts > 0
    after = np.empty_like(stop)
    after[:-1] = first[1:]
    after[offsets[1:][filled] - 1] = frames[filled]
    gap = stop < after
    lead = np.ones(len(counts), dtype=np.bool_)
    lead[filled] = first[offsets[:-1][filled]] > 0
    if not gap.any() and not lead.any():
        return Runs(first, code, counts, frames)
    gaps = offsets_of(gap.astype(np.int64))
    position = np.arange(len(first)) + gaps[:-1] + np.repeat(np.cumsum(lead), counts)
    total = len(first) + int(gaps[-1]) + int(lead.sum())
    run_first, run_code = np.zeros(total, dtype=np.int64), np.full(total, NOTHING, dtype=np.int64)
    run_first[position], run_code[position] = first, code
    run_first[position[gap] + 1] = stop[gap]
    return Runs(run_first, run_code, counts + lead + gaps[offsets[1:]] - gaps[offsets[:-1]], frames)


def _flatten(first: Int, stop: Int, code: Int, counts: Int, rows: Int) -> tuple[Int, Int, Int, Int]:
    """Replace the intervals of some rows by their visible parts; these rows are painted one by one."""
    offsets, sizes, done = offsets_of(counts), counts.copy(), 0
    pieces: list[tuple[Int, Int, Int]] = []
    for row in rows.tolist():
        items = slice(offsets[row], offsets[row + 1])
        pieces.append((first[done : items.start], stop[done : items.start], code[done : items.start]))
        bounds = np.unique(np.concatenate([first[items], stop[items]]))
        begin, end = np.searchsorted(bounds, first[items]), np.searchsorted(bounds, stop[items])
        seen = np.full(max(len(bounds) - 1, 0), -1, dtype=np.int64)
        for interval, (a, b) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
            seen[a:b] = interval
        covered = seen >= 0
        pieces.append((bounds[:-1][covered], bounds[1:][covered], code[items][seen[covered]]))
        sizes[row] = np.count_nonzero(covered)
        done = items.stop
    pieces.append((first[done:], stop[done:], code[done:]))
    starts, stops, codes = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return starts, stops, codes, sizes


def fragmentation(times: Float, counts: Int, opens: Bool, counted: Bool) -> Float:
    """Seconds of the counted stretches of each row outside their largest pieces: float64 (rows,).

    `times` are all points at which a row is cut, possibly repeated. At a point that opens, a stretch begins, which
    lasts until the next one of its row or the row's last point; the first one begins at the row's first time. A stretch
    counts (an interval) or not (a gap): `counted` is bool (stretches,).
    """
    start = np.flatnonzero(opens)
    if not len(start):
        return np.zeros(len(counts))
    largest = np.maximum.reduceat(steps_between(times, counts), start)
    offsets = offsets_of(counts)
    row = np.searchsorted(offsets, start, side="right") - 1
    end = np.empty_like(start)
    end[:-1] = start[1:]
    end[-1] = len(times) - 1
    np.minimum(end, offsets[row + 1] - 1, out=end)
    outside = np.where(counted, times[end] - times[start] - largest, 0.0)
    return sum_by(row, outside, len(counts))


def directional_hamming(
    start: Float, end: Float, counts: Int, cut_start: Float, cut_end: Float, cut_counts: Int
) -> Float:
    """Fragmentation of the intervals of rows by the boundaries of others: float64 (rows,).

    It is the total length of all intervals outside their largest pieces, over the span of the row; 0 without cuts. The
    intervals to cut are ascending and without overlap, at least one per row; those that cut are in any order.
    Source: C. Harte, PhD thesis, 2010, section 8.3.2.
    """
    times, (start_rank, end_rank, cut_start_rank, cut_end_rank) = rank(start, end, cut_start, cut_end)
    offsets = offsets_of(counts)
    low = start_rank[offsets[:-1]]
    points, cuts = (
        np.column_stack(bounds).ravel() for bounds in ((start_rank, end_rank), (cut_start_rank, cut_end_rank))
    )
    # The cuts, preceded by bounds at the start of the row, where all sequences of a timeline must begin.
    clipped = np.maximum(cuts, np.repeat(low, 2 * cut_counts))
    cuts = np.insert(clipped, 2 * offsets_of(cut_counts)[:-1], low)
    line = merge(points, 2 * counts, cuts, 2 * cut_counts + 1)
    is_end = np.tile([False, True], len(start))
    distance = fragmentation(times[line.rank], line.counts, ~line.is_right, ~is_end)
    return distance / (end[offsets[1:] - 1] - start[offsets[:-1]])
