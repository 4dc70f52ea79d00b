"""Search, samples in force, sums, medians, common members and memory of ragged rows."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.kernels.ragged_ops import (
    SortedRows,
    advance,
    ascending,
    by_group_and_time,
    common,
    medians,
    retreat,
    search_rows,
    sum_rows,
)
from tests.event_strategies import pairs

SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


def flat(rows: list, dtype: type = np.float64) -> tuple[np.ndarray, np.ndarray]:
    members = np.concatenate([np.zeros(0), *(np.asarray(row) for row in rows)]).astype(dtype)
    return members, np.array([len(row) for row in rows], dtype=np.int64)


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
def test_times_of_any_size_are_distinct(scale: float) -> None:
    times = np.array([-1.0, -0.5, 0.0, 0.0, 0.5, 1.0]) * scale
    found = search_rows(times, np.array([6]), times, np.array([6]))
    assert found.tolist() == [0, 1, 2, 2, 4, 5]


def test_long_runs_of_equal_times_are_passed() -> None:
    times = np.ones(1000)
    assert search_rows(times, np.array([1000]), np.array([1.0]), np.array([1]), "right").tolist() == [1000]
    assert retreat(times, np.array([3]), np.array([1000]), np.array([1.0])).tolist() == [3]


def test_places_stay_between_their_limits() -> None:
    times = np.array([0.0, 1.0, 2.0, 3.0])
    assert advance(times, np.array([1]), np.array([3]), np.array([9.0]), "left").tolist() == [3]
    assert retreat(times, np.array([1]), np.array([3]), np.array([-9.0])).tolist() == [1]


Rows = list[list[float]]
rows = st.lists(st.lists(st.one_of(st.floats(0, 1e6), st.just(float("inf"))), max_size=20), max_size=12)


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


sets = st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=6)


@given(sets, sets, st.sampled_from((1, 20, 1 << 21)))
def test_sizes_are_those_of_pythons_sets(left: list[list[int]], right: list[list[int]], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mirflow.kernels.ragged_ops._LIMIT", limit)
        found = common(*flat(left, np.int64), *flat(right, np.int64))
    assert found.tolist() == [[len(set(one) & set(other)) for other in right] for one in left]


FAULTS = """
import resource
import numpy as np
{first}

def batch():
    arrays = [np.ones(1 << 17) for _ in range(10)]

for _ in range(3):
    batch()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    batch()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(first: str) -> int:
    # Thresholds that are set, as dask's nannies do for their workers, are not adapted.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    command = [sys.executable, "-c", FAULTS.format(first=first)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True, env=plain).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator is not glibc's")
def test_batches_do_not_ask_for_the_same_pages_again() -> None:
    if faults("") < 20 * 100:
        pytest.skip("the allocator keeps memory without being asked")
    assert faults("import mirflow.kernels") < 100


_LATER = float(np.nextafter(0.25, 1))


@settings(deadline=None)
@given(
    items=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, _LATER, 0.25, 0.5, -1.0])), max_size=30),
    more=st.sampled_from([0, 2**40]),
    last=st.sampled_from([0.0, 1e9, 1e308, np.inf, np.nan]),
)
def test_places_are_put_together_by_group_and_in_it_by_time(
    items: list[tuple[int, float]], more: int, last: float
) -> None:
    group, values = (np.array(column) for column in zip(*items, (more, last), strict=True))
    order, groups, times = by_group_and_time(group.astype(np.int64), values.astype(np.float64))
    np.testing.assert_array_equal(order, np.lexsort((values, group)))
    np.testing.assert_array_equal(groups, group[order])
    np.testing.assert_array_equal(times, values[order])


def test_sums_of_rows_do_not_depend_on_the_rows_around_them() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.exponential(1, size) for size in rng.integers(0, 400, 50)]
    offsets = np.append(0, np.cumsum([len(row) for row in rows]))
    found = sum_rows(np.concatenate(rows), offsets)
    assert found.tolist() == [sum_rows(row, np.array([0, len(row)]))[0] for row in rows]
    np.testing.assert_allclose(found, [row.sum() for row in rows], rtol=1e-13)


def test_samples_in_force_are_found_where_their_distances_differ() -> None:
    times = np.array([0.0, 0.9, 1.9, 2.9, 3.9, 5.0])  # up to a tenth before a regular sample
    keys, asked = np.append(times, np.inf), np.linspace(-1.0, 6.0, 141)
    found = SortedRows.of(keys, np.array([len(times)]), nearest=False).find(
        np.array([0]), asked, np.array([len(asked)])
    )
    np.testing.assert_array_equal(found, np.maximum(np.searchsorted(times, asked, side="right") - 1, 0))


@given(values=st.lists(st.integers(-3, 3), max_size=40))
def test_numbers_are_sorted_as_by_a_stable_sort(values: list[int]) -> None:
    numbers = np.array(values, dtype=np.float64)
    assert ascending(numbers).tolist() == np.argsort(numbers, kind="stable").tolist()
