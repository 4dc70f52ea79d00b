"""What the hierarchy metrics take, and what becomes a flaw."""

from __future__ import annotations

import numpy as np
import pytest

from mirflow.metrics.hierarchy.metrics import clean

from .hierarchies import Hierarchy, to_rows

GOOD = [np.array([[0.0, 9.0]]), np.array([[0.0, 4.0], [4.0, 9.0]])], [["A"], ["a", "b"]]


def with_second(start: float, end: float) -> Hierarchy:
    return [np.array([[0.0, 9.0]]), np.array([[0.0, 4.0], [start, end]])], [["A"], ["a", "b"]]


def test_well_formed_rows_stay_as_they_are() -> None:
    rows = to_rows([GOOD, GOOD])
    cleaned = clean(rows)
    assert cleaned.rows is rows
    assert (cleaned.repairs.tolist(), cleaned.flaws) == ([0, 0], {})


def test_segments_without_length_are_dropped_and_counted() -> None:
    cleaned = clean(to_rows([with_second(4.0, 4.0), GOOD]))
    assert [counts.tolist() for counts in cleaned.rows.counts] == [[2, 2], [1, 1, 1, 2]]
    assert cleaned.rows.columns["end"].tolist() == [9.0, 4.0, 9.0, 4.0, 9.0]
    assert cleaned.repairs.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (4.0, np.nan, "time is not finite: 4.0 to nan s"),
        (4.0, 3.0, "interval ends before it starts: 4.0 to 3.0 s"),
        (-1.0, 3.0, "time is negative: -1.0 to 3.0 s"),
    ],
)
def test_flaws_name_the_segment_within_the_row(start: float, end: float, message: str) -> None:
    cleaned = clean(to_rows([with_second(4.0, 4.0), with_second(start, end), GOOD]))
    assert {row: (flaw.item, flaw.message) for row, flaw in cleaned.flaws.items()} == {1: (2, message)}
    assert [counts.tolist() for counts in cleaned.rows.counts] == [[2, 0, 2], [1, 1, 1, 2]]
    assert cleaned.repairs.tolist() == [1, 0, 0]


def test_rows_without_levels_and_without_rows() -> None:
    assert clean(to_rows([([], []), GOOD])).rows.counts[0].tolist() == [0, 2]
    assert len(clean(to_rows([])).rows) == 0
