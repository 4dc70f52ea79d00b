"""Merging the points of many pairs of sequences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.kernels.intervals import batches, merge, rank, steps_between

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


@given(pairs)
@settings(deadline=None)
def test_points_of_a_side_keep_their_order(pairs) -> None:
    _, _, line, flat = sides(pairs)
    assert line.rank[~line.is_right].tolist() == flat[0].tolist()
    assert line.rank[line.is_right].tolist() == flat[1].tolist()


def test_durations_are_the_exact_differences() -> None:
    distinct, (left, right) = rank(np.array([0.1, 0.7, 0.1, 0.3]), np.array([0.1, 0.2, 0.1]))
    line = merge(left, np.array([2, 2]), right, np.array([2, 1]))
    assert steps_between(distinct[line.rank], line.counts).tolist() == [
        0.0,
        0.2 - 0.1,
        0.7 - 0.2,
        0.0,
        0.0,
        0.3 - 0.1,
        0.0,
    ]


def test_no_pairs() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert len(merge(none, none, none, none).rank) == 0
    assert steps_between(np.zeros(0), none).tolist() == []
    assert rank()[0].tolist() == []


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
