"""Intervals as runs of frames."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.kernels.intervals import NOTHING, Runs, paint, single_frames_before

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


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_the_order_of_intervals_that_do_not_overlap_does_not_matter(order: list[int]) -> None:
    intervals = [(0, 2, 1), (2, 5, 2), (5, 9, 1)]
    first, stop, code = (np.array([intervals[i][column] for i in order]) for column in range(3))
    runs = paint(first, stop, code, np.array([3]), np.array([9]))
    assert unroll(runs) == [[1, 1, 2, 2, 2, 1, 1, 1, 1]]
