"""The rules of each kind find what breaks them, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.annotations.schema import KINDS
from mirflow.annotations.validation import inspect
from mirflow.ragged import Ragged


def intervals(*rows: tuple[float, float]) -> Annotation:
    times = np.array(rows, dtype=np.float64).reshape(-1, 2)
    return Annotation("intervals", {"start": times[:, 0], "end": times[:, 1]}, ["C"] * len(times))


def found(*annotations: Annotation) -> dict[str, list[int]]:
    rows = to_ragged(annotations)
    return {name: np.flatnonzero(f.items).tolist() for name, f in inspect(annotations[0].schema, rows).items()}


def test_clean_rows_break_nothing() -> None:
    assert found(intervals((0, 1), (1, 2)), intervals((0, 3))) == {}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(0, 1), (2, 3)], {"gap": [1]}),
        ([(0, 2), (1, 3)], {"overlap": [1]}),
        ([(0, 1), (1, 1)], {"zero_length": [1]}),
        ([(0, 1), (3, 2)], {"reversed": [1], "gap": [1]}),
        ([(-1, 1), (1, 2)], {"negative": [0]}),
        ([(0, 1), (1, np.nan)], {"not_finite": [1]}),
        ([(0, 1), (1, np.inf)], {"not_finite": [1]}),
        ([(1, 2), (0, 1)], {"unsorted": [1]}),
    ],
)
def test_each_irregularity_is_found_where_it_is(
    rows: list[tuple[float, float]], expected: dict[str, list[int]]
) -> None:
    assert found(intervals(*rows)) == expected


def test_rows_are_not_compared_across_tracks() -> None:
    assert found(intervals((0, 5)), intervals((0, 1)), intervals((4, 6))) == {}


def test_events_in_order_and_distinct() -> None:
    beats = Annotation("events", {"time": np.array([0.5, 0.5, 0.2, -1.0])})
    assert found(beats) == {"negative": [3], "unsorted": [2, 3], "duplicate": [1]}


def test_a_finding_describes_itself_with_values() -> None:
    rows = to_ragged([intervals((0, 2), (1, 3))])
    finding = inspect(KINDS["intervals"], rows)["overlap"]
    assert finding.describe(rows, 1) == "overlaps the row above it: 1.0 s is before 2.0 s"


def test_nothing_is_found_in_nothing() -> None:
    empty = Ragged({"start": np.zeros(0), "end": np.zeros(0), "label": np.zeros(0, int)}, (np.array([0, 0]),))
    assert inspect(KINDS["intervals"], empty) == {}
