"""Medians of ragged rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.kernels.ragged_ops import medians

Rows = list[list[float]]
rows = st.lists(st.lists(st.one_of(st.floats(0, 1e6), st.just(float("inf"))), max_size=20), max_size=12)


def flat(values: Rows) -> tuple[np.ndarray, np.ndarray]:
    return np.array([x for row in values for x in row]), np.array([len(row) for row in values], dtype=np.int64)


def middle(row: list[float], upper: bool) -> float:
    if not row:
        return float("nan")
    return sorted(row)[len(row) // 2] if upper else float(np.median(row))


@given(values=rows)
@pytest.mark.parametrize("upper", [False, True])
def test_equals_numpy_row_by_row_to_the_bit(upper: bool, values: Rows) -> None:
    np.testing.assert_array_equal(medians(*flat(values), upper), [middle(row, upper) for row in values])


def test_rows_of_very_different_length() -> None:
    rng = np.random.default_rng(1)
    values = [rng.random(size).tolist() for size in (1, 100_000, 2, 3, 4096, 4095, 7, 0)]
    np.testing.assert_array_equal(medians(*flat(values)), [middle(row, False) for row in values])


def test_no_rows() -> None:
    assert medians(np.zeros(0), np.zeros(0, dtype=np.int64)).shape == (0,)
