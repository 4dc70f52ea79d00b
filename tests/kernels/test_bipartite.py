"""Largest matchings of graphs: in mir_eval's order, and with the largest weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mir_eval.util import _bipartite_match

from mirflow.kernels.matching import find_partners, match_heaviest, match_in_order

Graph = tuple[np.ndarray, np.ndarray, int, int]
"""Left and right vertex of each edge, and the numbers of vertices."""


@st.composite
def graphs(draw: st.DrawFn, most: int = 12) -> Graph:
    """Any graph, from none to dense, with its edges in the order of rows."""
    rows, columns = draw(st.integers(1, most)), draw(st.integers(1, most))
    density = draw(st.sampled_from([0.0, 0.1, 0.2, 0.35, 0.6]))
    table = np.random.default_rng(draw(st.integers(0, 2**32))).random((rows, columns)) < density
    left, right = np.nonzero(table)
    return left, right, rows, columns


def theirs(left: np.ndarray, right: np.ndarray) -> list[tuple[int, int]]:
    """mir_eval's matching: the right vertices look for left ones."""
    graph: dict[int, list[int]] = {}
    for one, other in zip(left.tolist(), right.tolist(), strict=True):
        graph.setdefault(other, []).append(one)
    return sorted(_bipartite_match(graph).items())


def beside(parts: list[Graph]) -> Graph:
    """Separate graphs as one, with their edges in turn."""
    lefts = np.cumsum([0, *(part[2] for part in parts)])
    rights = np.cumsum([0, *(part[3] for part in parts)])
    left = np.concatenate([part[0] + start for part, start in zip(parts, lefts, strict=False)])
    right = np.concatenate([part[1] + start for part, start in zip(parts, rights, strict=False)])
    return left, right, int(lefts[-1]), int(rights[-1])


@given(graphs())
def test_the_matching_in_order_is_mir_evals(graph: Graph) -> None:
    left, right, rows, columns = graph
    found = match_in_order(right, left, columns, rows)
    assert [(int(left[edge]), int(right[edge])) for edge in found] == theirs(left, right)


@given(st.lists(graphs(7), min_size=2, max_size=5))
def test_graphs_that_are_matched_together_do_not_influence_each_other(parts: list[Graph]) -> None:
    left, right, rows, columns = beside(parts)
    found = match_in_order(right, left, columns, rows)
    assert [(int(left[edge]), int(right[edge])) for edge in found] == theirs(left, right)
    heavy = match_heaviest(left, right, np.cos(np.arange(len(left))))
    first = 0
    for own_left, own_right, own_rows, own_columns in parts:
        last = first + len(own_left)
        alone = match_in_order(own_right, own_left, own_columns, own_rows)
        assert (alone + first).tolist() == found[(found >= first) & (found < last)].tolist()
        weight = np.cos(np.arange(len(left)))[first:last]
        lone = match_heaviest(own_left, own_right, weight)
        assert (lone + first).tolist() == heavy[(heavy >= first) & (heavy < last)].tolist()
        first = last


def test_long_alternating_paths_need_no_recursion() -> None:
    size = 4000
    graph = {left: [left, left + 1] for left in range(size)}
    graph[size] = [0]
    partner = find_partners(graph)
    assert len(partner) == size + 1
    assert all(right in graph[left] for right, left in partner.items())


def best(edges: list[tuple[int, int, float]]) -> tuple[int, float]:
    """Number and weight of the best matching, by trying all of them."""
    if not edges:
        return 0, 0.0
    (left, right, weight), *others = edges
    number, total = best([edge for edge in others if edge[0] != left and edge[1] != right])
    return max(best(others), (number + 1, total + weight))


@given(graphs(5), st.integers(0, 2**32))
def test_the_heaviest_of_the_largest_matchings_is_found(graph: Graph, seed: int) -> None:
    left, right, _, _ = graph
    weight = np.random.default_rng(seed).uniform(-1, 1, len(left))
    found = match_heaviest(left, right, weight)
    assert len(set(left[found].tolist())) == len(set(right[found].tolist())) == len(found)
    number, total = best(list(zip(left.tolist(), right.tolist(), weight.tolist(), strict=True))[:14])
    if len(left) <= 14:
        assert len(found) == number
        assert weight[found].sum() == pytest.approx(total, abs=1e-9)
    assert len(found) == len(theirs(left, right))
