"""Matchings that take the nearest events first, and medians of rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.kernels.matching import match, match_nearest_first
from mirflow.kernels.ragged_ops import medians

events = st.lists(st.integers(0, 40), max_size=8).map(lambda ticks: sorted(tick / 8 for tick in ticks))


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


@given(st.lists(st.tuples(events, events), max_size=5), st.sampled_from([0.0, 0.125, 0.5, 0.51, 3.0]))
@settings(max_examples=300)
def test_counts_are_those_of_matching_one_by_one(pairs: list[tuple[list[float], list[float]]], window: float) -> None:
    sides = []
    for side in range(2):
        sides.append(np.array([time for pair in pairs for time in pair[side]], dtype=np.float64))
        sides.append(np.array([len(pair[side]) for pair in pairs], dtype=np.int64))
    found = match_nearest_first(*sides, window).counts
    assert found.tolist() == [one_by_one(*pair, window) for pair in pairs]
    assert (found <= match(*sides, window).counts).all()


@given(st.lists(st.lists(st.floats(-100.0, 100.0), max_size=9), max_size=6))
def test_medians_are_numpys(rows: list[list[float]]) -> None:
    values = np.array([value for row in rows for value in row], dtype=np.float64)
    counts = np.array([len(row) for row in rows], dtype=np.int64)
    expected = [np.median(row) if row else np.nan for row in rows]
    np.testing.assert_array_equal(medians(values, counts), np.array(expected))
    upper = [sorted(row)[len(row) // 2] if row else np.nan for row in rows]
    np.testing.assert_array_equal(medians(values, counts, upper=True), np.array(upper))
