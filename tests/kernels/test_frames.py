"""Frames on a uniform grid, against loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.kernels.intervals import frame_times, frames_before, sample
from mirflow.kernels.ragged_ops import sum_by

times = st.sampled_from([number / 10 for number in range(30)]) | st.floats(0, 3)
hops = st.sampled_from([0.1, 0.01, 0.3, 1 / 3, 1.0, 5.0])


@given(times, hops, times)
@settings(deadline=None)
def test_frames_before_a_time_are_those_whose_own_time_is_earlier(start, hop, time) -> None:
    count = int(frames_before(np.array([start]), hop, np.array([time]))[0])
    assert count == 0 or start + (count - 1) * hop < time
    assert start + count * hop >= time


@given(st.lists(st.tuples(times, st.integers(0, 5)), max_size=4), hops)
@settings(deadline=None)
def test_frame_times(grids, hop) -> None:
    found = frame_times(np.array([start for start, _ in grids]), hop, np.array([n for _, n in grids], dtype=np.int64))
    assert found.tolist() == [start + number * hop for start, count in grids for number in range(count)]


@given(st.lists(st.tuples(st.lists(st.tuples(times, times)), st.lists(times)), max_size=4))
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
