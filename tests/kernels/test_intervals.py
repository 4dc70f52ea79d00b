"""Timelines, frames, runs of frames and fragmentation, compared with plain loops and mir_eval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mirflow.kernels.intervals import NOTHING, batches, fragmentation, frames_before, merge, paint


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


quarters = st.sampled_from([number / 4 for number in range(40)]) | st.floats(0, 10).map(lambda time: round(time, 6))


@st.composite
def intervals(draw: st.DrawFn) -> np.ndarray:
    """Intervals without overlap, some with gaps between them."""
    bounds = sorted(draw(st.lists(quarters, min_size=2, max_size=12, unique=True)))
    spans = np.array([bounds[:-1], bounds[1:]]).T
    kept = draw(st.lists(st.booleans(), min_size=len(spans), max_size=len(spans)))
    return spans[kept] if any(kept) else spans


painted_rows = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4), st.integers(1, 3)), max_size=5), st.integers(0, 9)
    ),
    min_size=1,
    max_size=4,
)


@given(painted_rows)
@example([([(1, 2, 1)], 5)])
@example([([(0, 2, 1), (3, 1, 2)], 5), ([], 3), ([(1, 4, 1), (2, 1, 2)], 6)])
@settings(deadline=None)
def test_every_frame_has_the_code_that_was_painted_last(rows) -> None:
    """Rows of intervals as (first frame, number of frames, code), with the number of frames of the row."""
    items = np.array([item for intervals, _ in rows for item in intervals], dtype=np.int64).reshape(-1, 3)
    counts, frames = (np.array(one, dtype=np.int64) for one in zip(*((len(i), n) for i, n in rows), strict=True))
    runs = paint(items[:, 0], items[:, 0] + items[:, 1], items[:, 2], counts, frames)
    assert (runs.counts >= 1).all()
    ends = np.cumsum(runs.counts)
    for (intervals, size), start, end in zip(rows, ends - runs.counts, ends, strict=True):
        plain = np.full(size, NOTHING)
        for first, length, code in intervals:
            plain[first : first + length] = code
        lengths = np.diff(runs.first[start:end], append=size)
        assert runs.first[start] == 0
        assert np.repeat(runs.code[start:end], lengths).tolist() == plain.tolist()


grid_times = st.sampled_from([number / 10 for number in range(30)]) | st.floats(0, 3)
hops = st.sampled_from([0.1, 0.01, 0.3, 1 / 3, 1.0, 5.0])


@given(grid_times, hops, grid_times)
@example(0.0, 0.1, 3 * 0.1)  # three hops and a little more, by division
@settings(deadline=None)
def test_frames_before_a_time_are_those_whose_own_time_is_earlier(start, hop, time) -> None:
    count = int(frames_before(np.array([start]), hop, np.array([time]))[0])
    assert count == 0 or start + (count - 1) * hop < time
    assert start + count * hop >= time


def test_stretches_that_are_not_counted_add_nothing() -> None:
    points, opens = np.array([0.0, 1.0, 2.0, 5.0]), np.array([True, False, False, False])
    assert fragmentation(points, np.array([4]), opens, np.array([True])).tolist() == [2.0]
    assert fragmentation(points, np.array([4]), opens, np.array([False])).tolist() == [0.0]
    assert fragmentation(points, np.array([4]), opens & False, np.zeros(0, dtype=bool)).tolist() == [0.0]
