"""Timelines, frames, runs of frames and fragmentation, compared with plain loops and mir_eval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.kernels.intervals import (
    NOTHING,
    Runs,
    batches,
    fragmentation,
    frame_times,
    frames_before,
    merge,
    paint,
    rank,
    sample,
    single_frames_before,
    steps_between,
)
from mirflow.kernels.ragged_ops import sum_by

times = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.30000000000000004, 0.3, 1e-9, 1e9]) | st.floats(0, 1e6), max_size=12)
pairs = st.lists(st.tuples(st.lists(st.integers(1, 20)), st.lists(st.integers(1, 20))), min_size=1, max_size=6)


@given(st.lists(times, max_size=4))
@settings(deadline=None)
def test_ranks_are_in_the_order_of_the_times_and_give_them_back(columns) -> None:
    arrays = [np.array(column, dtype=np.float64) for column in columns]
    distinct, ranks = rank(*arrays)
    assert (np.diff(distinct) > 0).all()
    assert len(ranks) == len(arrays)
    for array, own in zip(arrays, ranks, strict=True):
        assert distinct[own].tobytes() == (array + 0.0).tobytes()


def sides(pairs):
    """Both sides of each pair, from 0 on, ascending."""
    left = [[0, *sorted(one)] for one, _ in pairs]
    right = [[0, *sorted(one)] for _, one in pairs]
    flat = [np.array([point for row in side for point in row]) for side in (left, right)]
    counts = [np.array([len(row) for row in side]) for side in (left, right)]
    return left, right, merge(flat[0], counts[0], flat[1], counts[1]), flat


@given(pairs)
@settings(deadline=None)
def test_a_timeline_has_the_points_of_both_sides_in_order(pairs) -> None:
    left, right, line, _ = sides(pairs)
    expected = [sorted(a + b) for a, b in zip(left, right, strict=True)]
    assert line.rank.tolist() == [point for row in expected for point in row]
    assert line.counts.tolist() == [len(row) for row in expected]
    assert line.pair.tolist() == [place for place, row in enumerate(expected) for _ in row]


@given(pairs)
@settings(deadline=None)
def test_both_sides_are_in_force_wherever_a_stretch_has_a_length(pairs) -> None:
    left, right, line, flat = sides(pairs)
    lasting = steps_between(np.arange(100.0)[line.rank], line.counts) > 0
    for side, points, index in ((left, flat[0], line.left), (right, flat[1], line.right)):
        owner = np.repeat(np.arange(len(side)), [len(row) for row in side])
        for point in np.flatnonzero(lasting):
            assert owner[index[point]] == line.pair[point]
            last = max(place for place, time in enumerate(side[line.pair[point]]) if time <= line.rank[point])
            assert index[point] == np.searchsorted(owner, line.pair[point]) + last
            assert points[index[point]] <= line.rank[point]


def test_sides_must_start_together() -> None:
    one = np.array([1])
    with pytest.raises(ValueError, match="must start at the same time"):
        merge(np.array([0]), one, np.array([1]), one)
    with pytest.raises(ValueError, match="at least one point on each side"):
        merge(np.array([0]), one, np.zeros(0, dtype=np.int64), np.array([0]))


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(1, 40))
@settings(deadline=None)
def test_batches_cover_everything_once_and_keep_the_limit(sizes, limit) -> None:
    found = list(batches(np.array(sizes, dtype=np.int64), limit))
    assert [place for one in found for place in range(one.start, one.stop)] == list(range(len(sizes)))
    for one in found:
        assert sum(sizes[one]) <= limit or one.stop - one.start == 1


grid_times = st.sampled_from([number / 10 for number in range(30)]) | st.floats(0, 3)
hops = st.sampled_from([0.1, 0.01, 0.3, 1 / 3, 1.0, 5.0])


@given(grid_times, hops, grid_times)
@settings(deadline=None)
def test_frames_before_a_time_are_those_whose_own_time_is_earlier(start, hop, time) -> None:
    count = int(frames_before(np.array([start]), hop, np.array([time]))[0])
    assert count == 0 or start + (count - 1) * hop < time
    assert start + count * hop >= time


@given(st.lists(st.tuples(grid_times, st.integers(0, 5)), max_size=4), hops)
@settings(deadline=None)
def test_frame_times(grids, hop) -> None:
    found = frame_times(np.array([start for start, _ in grids]), hop, np.array([n for _, n in grids], dtype=np.int64))
    assert found.tolist() == [start + number * hop for start, count in grids for number in range(count)]


@given(st.lists(st.tuples(st.lists(st.tuples(grid_times, grid_times)), st.lists(grid_times)), max_size=4))
@settings(deadline=None)
def test_a_time_falls_into_the_last_interval_that_has_begun_unless_that_is_over(rows) -> None:
    rows = [(sorted(spans), points) for spans, points in rows]
    flat = [span for spans, _ in rows for span in spans]
    found = sample(
        np.array([start for start, _ in flat], dtype=np.float64),
        np.array([end for _, end in flat], dtype=np.float64),
        np.array([len(spans) for spans, _ in rows], dtype=np.int64),
        np.array([point for _, points in rows for point in points], dtype=np.float64),
        np.array([len(points) for _, points in rows], dtype=np.int64),
    )
    expected, offset = [], 0
    for spans, points in rows:
        for point in points:
            begun = [place for place, (start, _) in enumerate(spans) if start <= point]
            expected.append(offset + begun[-1] if begun and point < spans[begun[-1]][1] else -1)
        offset += len(spans)
    assert found.tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1e6))))
@settings(deadline=None)
def test_sums_are_taken_in_order(items) -> None:
    expected = [0.0] * 5
    for index, value in items:
        expected[index] += value
    index = np.array([place for place, _ in items], dtype=np.int64)
    assert sum_by(index, np.array([value for _, value in items], dtype=np.float64), 5).tolist() == expected


Interval = tuple[int, int, int]


@given(
    st.lists(st.floats(0.0, 5000.0) | st.integers(0, 50000).map(lambda k: float(np.float32(k) * np.float32(0.1)))),
    st.sampled_from([0.1, 0.25, 0.37, 1.0]),
    st.booleans(),
)
def test_frames_before_a_time_are_those_that_a_search_finds(times, hop, including) -> None:
    frames = (np.arange(60000, dtype=np.float32) * hop).astype(np.float64)
    expected = np.searchsorted(frames, times, side="right" if including else "left")
    assert single_frames_before(np.array(times, dtype=np.float64), hop, including).tolist() == expected.tolist()


def colour(intervals: list[Interval], frames: int) -> list[int]:
    seen = [NOTHING] * frames
    for first, stop, code in intervals:
        seen[first:stop] = [code] * (min(stop, frames) - min(first, frames))
    return seen


def unroll(runs: Runs) -> list[list[int]]:
    rows, place = [], 0
    for count, frames in zip(runs.counts.tolist(), runs.frames.tolist(), strict=True):
        first = [*runs.first[place : place + count].tolist(), frames]
        code = runs.code[place : place + count].tolist()
        assert first[0] == 0
        assert first == sorted(first)
        rows.append([one for one, a, b in zip(code, first, first[1:], strict=False) for _ in range(b - a)])
        place += count
    return rows


_interval = st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(1, 4)).map(lambda i: (i[0], i[0] + i[1], i[2]))


@given(st.lists(st.tuples(st.lists(_interval, max_size=6), st.integers(0, 15)), max_size=5))
@settings(max_examples=300)
def test_later_intervals_hide_earlier_ones(rows: list[tuple[list[Interval], int]]) -> None:
    flat = [interval for intervals, _ in rows for interval in intervals]
    first, stop, code = (np.array([one[i] for one in flat], dtype=np.int64) for i in range(3))
    counts = np.array([len(intervals) for intervals, _ in rows], dtype=np.int64)
    runs = paint(first, stop, code, counts, np.array([frames for _, frames in rows], dtype=np.int64))
    assert unroll(runs) == [colour(intervals, frames) for intervals, frames in rows]


quarters = st.sampled_from([number / 4 for number in range(40)]) | st.floats(0, 10).map(lambda time: round(time, 6))


@st.composite
def intervals(draw: st.DrawFn) -> np.ndarray:
    """Intervals without overlap, some with gaps between them."""
    bounds = sorted(draw(st.lists(quarters, min_size=2, max_size=12, unique=True)))
    spans = np.array([bounds[:-1], bounds[1:]]).T
    kept = draw(st.lists(st.booleans(), min_size=len(spans), max_size=len(spans)))
    return spans[kept] if any(kept) else spans


def test_stretches_that_are_not_counted_add_nothing() -> None:
    points, opens = np.array([0.0, 1.0, 2.0, 5.0]), np.array([True, False, False, False])
    assert fragmentation(points, np.array([4]), opens, np.array([True])).tolist() == [2.0]
    assert fragmentation(points, np.array([4]), opens, np.array([False])).tolist() == [0.0]
    assert fragmentation(points, np.array([4]), opens & False, np.zeros(0, dtype=bool)).tolist() == [0.0]
