"""Largest matchings of graphs, compared with another implementation."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from mir_eval.util import _bipartite_match

from mirflow.kernels.matching import match_edges

_edges = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=30)


def size_of(edges: list[tuple[int, int]]) -> int:
    graph: dict[int, list[int]] = {}
    for left, right in edges:
        graph.setdefault(left, []).append(right)
    return len(_bipartite_match(graph))


@settings(deadline=None, max_examples=300)
@given(edges=_edges)
def test_a_matching_uses_no_vertex_twice_and_is_as_large_as_possible(edges: list[tuple[int, int]]) -> None:
    left, right = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    found = match_edges(left, right, 8, 8)
    assert len(set(left[found].tolist())) == len(set(right[found].tolist())) == len(found)
    assert len(found) == size_of(edges)
    assert (np.diff(found) > 0).all()


@settings(deadline=None)
@given(parts=st.lists(_edges, min_size=1, max_size=6))
def test_separate_graphs_are_matched_as_if_alone(parts: list[list[tuple[int, int]]]) -> None:
    every = [(8 * number + left, 8 * number + right) for number, part in enumerate(parts) for left, right in part]
    left, right = np.array(every, dtype=np.int64).reshape(-1, 2).T
    found = match_edges(left, right, 8 * len(parts), 8 * len(parts))
    assert np.bincount(left[found] // 8, minlength=len(parts)).tolist() == [size_of(part) for part in parts]


def test_a_long_path_and_a_circle() -> None:
    steps = np.arange(100)
    assert len(match_edges(np.append(steps, steps[1:]), np.append(steps, steps[:-1]), 100, 100)) == 100
    assert len(match_edges(np.append(steps, steps), np.append(steps, np.roll(steps, 1)), 100, 100)) == 100


def test_tens_of_thousands_of_edges_that_are_no_tree() -> None:
    left, right = np.nonzero(np.abs(np.subtract.outer(np.arange(1500), np.arange(1500))) < 10)
    assert len(match_edges(left, right, 1500, 1500)) == 1500
