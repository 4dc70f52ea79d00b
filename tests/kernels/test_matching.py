"""Matchings of events and of graphs, compared with other implementations."""

from __future__ import annotations

import mir_eval
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mir_eval.util import _bipartite_match

from mirflow.kernels.matching import (
    Matching,
    find_partners,
    match,
    match_greedily,
    match_heaviest,
    match_in_order,
    match_nearest_first,
    match_ranges,
    within_distance,
)
from tests.event_strategies import pairs, to_rows

windows = st.sampled_from([0.0, 0.05, 0.07, 0.25, 0.5, 3.0, np.inf])
Pair = tuple[np.ndarray, np.ndarray]


def run(batch: list[Pair], window: float, greedy: bool = False) -> Matching:
    sides = to_rows(*(one for one, _ in batch)), to_rows(*(other for _, other in batch))
    flat = [part for side in sides for part in (side.columns["time"], side.counts[0])]
    return (match_greedily if greedy else match)(*flat, window)


@settings(deadline=None)
@given(batch=st.lists(pairs, min_size=1, max_size=5), window=windows)
def test_the_size_is_that_of_a_maximum_matching(batch: list[Pair], window: float) -> None:
    expected = [len(mir_eval.util.match_events(*pair, window)) if min(map(len, pair)) else 0 for pair in batch]
    assert run(batch, window).counts.tolist() == expected


@settings(deadline=None)
@given(batch=st.lists(pairs, min_size=1, max_size=5), window=windows, greedy=st.booleans())
def test_matched_events_are_of_one_pair_within_the_window_and_matched_once(
    batch: list[Pair], window: float, greedy: bool
) -> None:
    found = run(batch, window, greedy)
    references, estimates = (np.concatenate(side) for side in zip(*batch, strict=True))
    owners = [np.repeat(np.arange(len(batch)), [len(row) for row in side]) for side in zip(*batch, strict=True)]
    reference, estimate = references[found.reference], estimates[found.estimate]
    inside = (reference - window <= estimate) & (estimate <= reference + window)
    assert (inside if greedy else (estimate - window <= reference) & (reference <= estimate + window)).all()
    np.testing.assert_array_equal(owners[0][found.reference], owners[1][found.estimate])
    assert (np.diff(found.reference) > 0).all()
    assert (np.diff(found.estimate) > 0).all()
    np.testing.assert_array_equal(np.bincount(owners[0][found.reference], minlength=len(batch)), found.counts)


@settings(deadline=None)
@given(pair=pairs, other=pairs, window=windows, greedy=st.booleans())
def test_a_pair_alone_is_matched_as_beside_another(pair: Pair, other: Pair, window: float, greedy: bool) -> None:
    alone, beside = run([pair], window, greedy), run([pair, other], window, greedy)
    matches = int(alone.counts[0])
    assert beside.counts[0] == matches
    np.testing.assert_array_equal(alone.reference, beside.reference[:matches])
    np.testing.assert_array_equal(alone.estimate, beside.estimate[:matches])


def claim(references: np.ndarray, estimates: np.ndarray, window: float) -> int:
    """The toolbox's hits, event by event."""
    left, hits = list(estimates), 0
    for reference in references:
        claimed = [time for time in left if reference - window <= time <= reference + window]
        left = [time for time in left if time not in claimed]
        hits += bool(claimed)
    return hits


@settings(deadline=None)
@given(batch=st.lists(pairs, min_size=1, max_size=4), window=windows)
def test_greedy_hits_are_those_of_claiming_event_by_event(batch: list[Pair], window: float) -> None:
    assert run(batch, window, greedy=True).counts.tolist() == [claim(*pair, window) for pair in batch]


def test_the_edge_of_the_window_is_judged_by_sums_and_not_by_the_distance() -> None:
    # 1.1 - 0.1 is 1.0 exactly, though 1.1 - 1.0 is more than 0.1.
    assert abs(1.0 - 1.1) > 0.1
    assert match(np.array([1.0]), np.array([1]), np.array([1.1]), np.array([1]), 0.1).counts.tolist() == [1]


def test_long_chains_of_overlapping_windows() -> None:
    references, estimates = np.arange(2000.0), np.arange(2000.0) + 0.9
    counts = np.array([2000])
    assert match(references, counts, estimates, counts, 1.0).counts.tolist() == [2000]
    assert match(references, counts, estimates[:1500], np.array([1500]), 500.0).counts.tolist() == [1500]


@pytest.mark.parametrize("window", [-1.0, np.nan])
def test_nothing_is_within_a_window_that_is_none(window: float) -> None:
    one = np.array([1])
    assert match(np.array([1.0]), one, np.array([1.0]), one, window).counts.tolist() == [0]


ranges_ = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 6)), max_size=14)


def most(ranges: list[tuple[int, int]]) -> int:
    """The size of mir_eval's matching of ranges, each a start and a length, with their elements."""
    graph = {place: list(range(start, start + length)) for place, (start, length) in enumerate(ranges)}
    return len(mir_eval.util._bipartite_match(graph))


@settings(deadline=None, max_examples=150)
@given(parts=st.lists(ranges_, min_size=1, max_size=4))
def test_as_many_ranges_as_possible_get_an_element_in_each_part(parts: list[list[tuple[int, int]]]) -> None:
    first = np.array([20 * number + start for number, part in enumerate(parts) for start, _ in part], dtype=np.int64)
    length = np.array([length for part in parts for _, length in part], dtype=np.int64)
    found = match_ranges(first, first + length)
    counts = np.bincount(first[found] // 20, minlength=len(parts))
    assert counts.tolist() == [most(part) for part in parts]


def test_thousands_of_ranges_within_each_other() -> None:
    first = np.arange(20000)
    assert match_ranges(first, 40000 - first).all()
    assert match_ranges(0 * first, 1 + first % 10000).sum() == 10000


few_events = st.lists(st.integers(0, 40), max_size=8).map(lambda ticks: sorted(tick / 8 for tick in ticks))


def one_by_one(references: list[float], estimates: list[float], window: float) -> int:
    """Match the two nearest that are free, the earliest estimate and reference of several, until none are near."""
    free, open_ = list(range(len(references))), list(range(len(estimates)))
    matched = 0
    while free and open_:
        distance, j, i = min((abs(references[i] - estimates[j]), j, i) for i in free for j in open_)
        if not distance < window:
            break
        free.remove(i)
        open_.remove(j)
        matched += 1
    return matched


@given(st.lists(st.tuples(few_events, few_events), max_size=5), st.sampled_from([0.0, 0.125, 0.5, 0.51, 3.0]))
@settings(max_examples=150)
def test_counts_are_those_of_matching_one_by_one(pairs: list[tuple[list[float], list[float]]], window: float) -> None:
    sides = []
    for side in range(2):
        sides.append(np.array([time for pair in pairs for time in pair[side]], dtype=np.float64))
        sides.append(np.array([len(pair[side]) for pair in pairs], dtype=np.int64))
    found = match_nearest_first(*sides, window).counts
    assert found.tolist() == [one_by_one(*pair, window) for pair in pairs]
    assert (found <= match(*sides, window).counts).all()


Graph = tuple[np.ndarray, np.ndarray, int, int]
"""Left and right vertex of each edge, and the numbers of vertices."""


@st.composite
def ordered_graphs(draw: st.DrawFn, most: int = 12) -> Graph:
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


@given(ordered_graphs())
def test_the_matching_in_order_is_mir_evals(graph: Graph) -> None:
    left, right, rows, columns = graph
    found = match_in_order(right, left, columns, rows)
    assert [(int(left[edge]), int(right[edge])) for edge in found] == theirs(left, right)


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


@given(ordered_graphs(5), st.integers(0, 2**32))
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


def test_distances_decide_where_rounding_differs_at_the_edge() -> None:
    times = np.arange(200) / 100
    one = np.array([len(times)])
    first, last = within_distance(times, one, times, one, 0.07)
    near = np.abs(times[:, None] - times) <= 0.07
    assert first.tolist() == near.argmax(axis=1).tolist()
    assert (last - first).tolist() == near.sum(axis=1).tolist()


def test_the_first_reference_of_a_pair_may_be_near_by_its_distance_alone() -> None:
    reference, estimate, one = np.array([0.001, 0.001]), np.array([0.101, 0.101]), np.array([1, 1])
    assert (reference < estimate - 0.1).all()
    assert (estimate - reference <= 0.1).all()
    first, last = within_distance(reference, one, estimate, one, 0.1)
    assert first.tolist() == [0, 1]
    assert last.tolist() == [1, 2]
