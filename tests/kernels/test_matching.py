"""Matchings of events: as large as mir_eval's, valid, and the same in any batch."""

from __future__ import annotations

import mir_eval
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.kernels.matching import Matching, match, match_greedily, match_ranges
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


@settings(deadline=None)
@given(pair=pairs, window=windows)
def test_a_greedy_matching_is_never_larger(pair: Pair, window: float) -> None:
    assert run([pair], window, greedy=True).counts[0] <= run([pair], window).counts[0]


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


@settings(deadline=None, max_examples=300)
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
