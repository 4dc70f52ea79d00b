"""Contingency tables of runs of frames, and the mutual information that chance gives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import hypergeom

from mirflow.kernels.clustering import ContingencyTables, expected_mutual_information, restrict, tabulate
from mirflow.kernels.intervals import Runs

Labels = list[int]


def to_runs(rows: list[Labels]) -> Runs:
    """Every frame a run of its own, but for an empty row, which has one run of no frames."""
    firsts = [list(range(len(row))) or [0] for row in rows]
    codes = [row or [0] for row in rows]
    flat = [np.array([value for row in one for value in row], dtype=np.int64) for one in (firsts, codes)]
    counts = np.array([len(row) for row in firsts], dtype=np.int64)
    return Runs(*flat, counts, np.array([len(row) for row in rows], dtype=np.int64))


def of_labels(pairs: list[tuple[Labels, Labels]]) -> ContingencyTables:
    return tabulate(to_runs([left for left, _ in pairs]), to_runs([right for _, right in pairs]))


def test_a_table_without_some_cells_has_only_the_classes_that_are_left() -> None:
    table = of_labels([([0, 0, 1, 2], [5, 6, 6, 6]), ([0], [5])])
    left = restrict(table, table.left.code[table.row] != 0)
    assert left.frames.tolist() == [2.0, 0.0]
    assert (left.left.code.tolist(), left.right.code.tolist()) == ([1, 2], [6])
    assert left.right.frames.tolist() == [2.0]


def test_codes_that_are_far_apart_make_the_same_table() -> None:
    pairs = [([0, 0, 1, 2], [5, 6, 6, 6]), ([2, 0], [5, 5])]
    near = of_labels(pairs)
    far = of_labels([([10**6 * code for code in left], right) for left, right in pairs])
    assert far.left.code.tolist() == [10**6 * code for code in near.left.code.tolist()]
    for name in ("pair", "row", "column", "count", "frames"):
        np.testing.assert_array_equal(getattr(far, name), getattr(near, name))


def information_by_chance(left: list[int], right: list[int]) -> float:
    """The expectation term by term, from class sizes."""
    total = sum(left)
    expected = 0.0
    for a in left:
        for b in right:
            n = np.arange(max(1, a + b - total), min(a, b) + 1)
            expected += float((n / total * np.log(total * n / (a * b)) * hypergeom.pmf(n, total, a, b)).sum())
    return expected


def with_sizes(left: list[int], right: list[int]) -> ContingencyTables:
    sides = [np.repeat(np.arange(len(sizes)), sizes).tolist() for sizes in (left, right)]
    return of_labels([(sides[0], sides[1])])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1], [1]),
        ([1, 1], [1, 1]),
        ([1, 1, 1], [3]),
        ([5, 1], [2, 4]),
        ([300, 700, 1500], [1200, 1200, 100]),
        ([2499, 1], [1, 2499]),
        ([1] * 40, [20, 20]),
        ([900, 900, 200], [1000, 1000]),
    ],
)
def test_information_by_chance_is_the_sum_of_all_terms(left: list[int], right: list[int]) -> None:
    found = expected_mutual_information(with_sizes(left, right))
    assert found[0] == pytest.approx(information_by_chance(left, right), rel=1e-9, abs=1e-13)


def test_thousands_of_classes_take_no_table_of_all_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    pairs = [(rng.integers(0, 60, 400).tolist(), rng.integers(0, 50, 400).tolist()) for _ in range(3)]
    whole = expected_mutual_information(of_labels(pairs))
    for limit in ("_MANY_CELLS", "_CELLS_AT_ONCE"):
        monkeypatch.setattr(f"mirflow.kernels.clustering.{limit}", 100)
    np.testing.assert_allclose(expected_mutual_information(of_labels(pairs)), whole, rtol=1e-13)


def test_long_tables_take_no_list_of_all_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = of_labels([([0] * 300 + [1] * 500, [0, 1] * 400)])
    listed = expected_mutual_information(table)
    monkeypatch.setattr("mirflow.kernels.clustering._TABULATED", 10)
    assert expected_mutual_information(table).tolist() == listed.tolist()
