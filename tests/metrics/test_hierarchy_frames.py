"""Ranks of frames in hierarchies, counted from blocks, against loops over frames."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.metrics.hierarchy.kernel import Tables, agreement, compare, edges_of, frames_of, level_of, meet

FRAMES = 14

segments = st.lists(st.tuples(st.integers(0, FRAMES + 2), st.integers(0, FRAMES + 2), st.integers(0, 3)), max_size=6)
sides = st.lists(segments, min_size=1, max_size=3)


def columns(level: list[tuple[int, int, int]]) -> list[np.ndarray]:
    return [np.array([segment[place] for segment in level], dtype=np.int64) for place in range(3)]


def rank_by_frame(side: list[list[tuple[int, int, int]]]) -> np.ndarray:
    """The deepest level on which two frames share a name."""
    ranks = np.zeros((FRAMES, FRAMES), dtype=int)
    for depth, level in enumerate(side, 1):
        names = [{name for begin, end, name in level if begin <= frame < end} for frame in range(FRAMES)]
        for one in range(FRAMES):
            for other in range(FRAMES):
                if names[one] & names[other]:
                    ranks[one, other] = depth
    return ranks


def blocks(*both: list[list[tuple[int, int, int]]]) -> tuple[np.ndarray, list[list[np.ndarray]]]:
    parts = [[columns(level) for level in side] for side in both]
    edges = edges_of(FRAMES, *(bound for side in parts for level in side for bound in level[:2]))
    return edges, [[level_of(*level, edges) for level in side] for side in parts]


@given(sides)
@settings(max_examples=100, deadline=None)
def test_meets_of_blocks_are_those_of_their_frames(side) -> None:
    edges, (levels,) = blocks(side)
    found = meet(levels, slice(0, len(edges) - 1))
    block = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    assert np.array_equal(found[block][:, block], rank_by_frame(side))
    assert np.array_equal(meet(levels, slice(0, 1)), found[:1])


@given(sides, sides, st.integers(1, FRAMES + 3), st.booleans(), st.sampled_from((25, 1 << 19)))
@settings(max_examples=150, deadline=None)
def test_agreement_is_that_of_a_loop_over_frames(left, right, window, transitive, limit) -> None:
    ranks = rank_by_frame(left), rank_by_frame(right)
    agreed, counted = 0.0, 0
    for frame in range(FRAMES):
        around = [g for g in range(max(frame - window, 0), min(frame + window, FRAMES)) if g != frame]
        a, b = (one[frame, around] for one in ranks)
        step = a[:, None] - a
        ordered = step > 0 if transitive else step == 1
        if ordered.any():
            agreed += (ordered & (b[:, None] > b)).sum() / ordered.sum()
            counted += 1
    edges, levels = blocks(left, right)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mirflow.metrics.hierarchy.kernel._LIMIT", limit)
        tables = list(compare(*levels, edges, window))
    found = np.sum([agreement(one, transitive) for one in tables], axis=0)
    np.testing.assert_allclose(found, [agreed, counted], rtol=0, atol=1e-12)
    assert sum(one.times.sum() for one in tables) == FRAMES


def test_swapped_tables_exchange_the_sides() -> None:
    tables = Tables(np.arange(6.0).reshape(2, 3, 1), np.ones(1))
    assert np.array_equal(tables.swapped.counts[:, :, 0], tables.counts[:, :, 0].T)


def test_a_window_without_frames_compares_nothing() -> None:
    edges = np.array([0, 4])
    assert list(compare([np.array([[0]])], [np.array([[0]])], edges, 0)) == []


def test_no_frames_at_all() -> None:
    edges = edges_of(0, np.array([0]), np.array([0]))
    level = level_of(np.array([0]), np.array([0]), np.array([0]), edges)
    assert list(compare([level], [level], edges, 5)) == []


def test_times_are_rounded_down_to_multiples_before_they_are_counted() -> None:
    # 1.0 is a little less than ten times 0.1 in binary, so it is frame 9.
    assert frames_of(np.array([0.0, 0.95, 1.0, 1.05]), 0.1).tolist() == [0, 9, 9, 10]
