"""The sample in force at a time, compared with a plain search of each row."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import interp1d

from mirflow.kernels.ragged_ops import holding, nearest

_times = st.floats(-3, 50, allow_nan=False) | st.integers(0, 20).map(float) | st.sampled_from([0.1, 0.1 + 2**-55, 1e9])
_rows = st.lists(
    st.tuples(
        st.lists(_times, min_size=1, max_size=12).map(sorted), st.lists(_times, max_size=12) | st.just([0.0, 1e300])
    ),
    min_size=1,
    max_size=5,
)


def laid_out(rows: list[tuple[list[float], list[float]]]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    keys = np.concatenate([[*row, np.inf] for row, _ in rows])
    queries = np.concatenate([np.array(wanted, dtype=float) for _, wanted in rows])
    return keys, np.array([len(row) for row, _ in rows]), queries, np.array([len(wanted) for _, wanted in rows])


@settings(deadline=None)
@given(rows=_rows)
def test_the_last_sample_at_or_before_a_time_holds(rows: list[tuple[list[float], list[float]]]) -> None:
    keys, counts, queries, query_counts = laid_out(rows)
    found = holding(keys, counts).find(np.arange(len(rows)), queries, query_counts)
    start = np.cumsum(counts + 1) - counts - 1
    expected = [
        first + np.maximum(np.searchsorted(row, wanted, side="right") - 1, 0)
        for first, (row, wanted) in zip(start, rows, strict=True)
    ]
    assert found.tolist() == np.concatenate(expected).tolist()


@settings(deadline=None)
@given(rows=_rows)
def test_the_nearest_sample_is_scipys(rows: list[tuple[list[float], list[float]]]) -> None:
    keys, counts, queries, query_counts = laid_out(rows)
    found = nearest(keys, counts).find(np.arange(len(rows)), queries, query_counts)
    start = np.cumsum(counts + 1) - counts - 1
    expected = [
        interp1d(row, first + np.arange(len(row)), "nearest", fill_value="extrapolate")(wanted)
        for first, (row, wanted) in zip(start, rows, strict=True)
    ]
    assert found.tolist() == np.concatenate(expected).tolist()


def test_rows_may_be_asked_in_any_order_and_again() -> None:
    axis = holding(np.array([0.0, 1.0, np.inf, 0.0, 5.0, 6.0, np.inf]), np.array([2, 3]))
    found = axis.find(np.array([1, 0, 1]), np.array([5.5, 0.5, 7.0, 0.0]), np.array([1, 1, 2]))
    assert found.tolist() == [4, 0, 5, 3]


def test_a_row_that_is_no_number_does_not_touch_others() -> None:
    axis = holding(np.array([np.nan, np.nan, np.inf, 0.0, 5.0, np.inf]), np.array([2, 2]))
    assert axis.find(np.array([0, 1]), np.array([1.0, 1.0, 6.0]), np.array([1, 2]))[1:].tolist() == [3, 4]
