"""Sorted rows are searched as `numpy.searchsorted` searches them one by one."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.kernels.ragged_ops import advance, retreat, search_rows
from tests.event_strategies import pairs

SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


def flat(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return np.concatenate([np.zeros(0), *rows]), np.array([len(row) for row in rows], dtype=np.int64)


@settings(deadline=None)
@given(batch=st.lists(pairs, max_size=5), shift=st.sampled_from([0.0, 0.05, -7.0, np.inf, -np.inf]))
@pytest.mark.parametrize("side", SIDES)
def test_every_row_is_searched_as_numpy_does(
    batch: list[tuple[np.ndarray, np.ndarray]], shift: float, side: Literal["left", "right"]
) -> None:
    times, counts = flat([row for row, _ in batch])
    queries, query_counts = flat([row + shift for _, row in batch])
    starts = np.cumsum(counts) - counts
    expected = [
        start + np.searchsorted(row, wanted + shift, side) for (row, wanted), start in zip(batch, starts, strict=True)
    ]
    found = search_rows(times, counts, queries, query_counts, side)
    np.testing.assert_array_equal(found, np.concatenate([np.zeros(0), *expected]))


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e6, 1e308])
def test_times_of_any_size_are_told_apart(scale: float) -> None:
    times = np.array([-1.0, -0.5, 0.0, 0.0, 0.5, 1.0]) * scale
    found = search_rows(times, np.array([6]), times, np.array([6]))
    assert found.tolist() == [0, 1, 2, 2, 4, 5]


def test_times_closer_than_the_integers_can_tell_are_told_apart() -> None:
    times = np.array([0.0, 1.0, np.nextafter(1.0, 2.0), 30000.0])
    assert search_rows(times, np.array([4]), times, np.array([4])).tolist() == [0, 1, 2, 3]


def test_long_runs_of_equal_times_are_passed() -> None:
    times = np.ones(1000)
    assert search_rows(times, np.array([1000]), np.array([1.0]), np.array([1]), "right").tolist() == [1000]
    assert retreat(times, np.array([3]), np.array([1000]), np.array([1.0])).tolist() == [3]


def test_places_stay_between_their_limits() -> None:
    times = np.array([0.0, 1.0, 2.0, 3.0])
    assert advance(times, np.array([1]), np.array([3]), np.array([9.0]), "left").tolist() == [3]
    assert retreat(times, np.array([1]), np.array([3]), np.array([-9.0])).tolist() == [1]


def test_empty_rows_have_one_place() -> None:
    assert search_rows(np.zeros(0), np.array([0, 0]), np.array([1.0]), np.array([0, 1])).tolist() == [0]
