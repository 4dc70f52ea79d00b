"""What makes rows of events fit to be scored."""

from __future__ import annotations

import numpy as np
import pytest

from mirflow.metrics.events import MAX_TIME, clean
from mirflow.ragged import Ragged
from tests.event_strategies import to_rows


def test_rows_out_of_order_are_sorted_with_their_labels_and_counted() -> None:
    columns = {"time": np.array([9.0, 2.0, 1.0]), "label": np.array([2, 1, 0])}
    cleaned = clean(Ragged(columns, (np.array([1, 2]),), ("a", "b", "c")))
    assert cleaned.rows.columns["time"].tolist() == [9.0, 1.0, 2.0]
    assert cleaned.rows.columns["label"].tolist() == [2, 0, 1]
    assert cleaned.repairs.tolist() == [0, 1]


def test_negative_and_repeated_times_are_kept_and_counted() -> None:
    cleaned = clean(to_rows(np.array([-0.1, 1.0, 1.0])))
    assert cleaned.rows.columns["time"].tolist() == [-0.1, 1.0, 1.0]
    assert cleaned.repairs.tolist() == [2]


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (np.nan, "time is not finite: nan"),
        (np.inf, "time is not finite: inf"),
        (MAX_TIME + 1, "time is later than 30000 s, so it may not be in seconds: 30001.0"),
    ],
)
def test_impossible_times_are_flaws_of_their_row_only(time: float, message: str) -> None:
    cleaned = clean(to_rows(np.array([1.0, time, 2.0]), np.array([3.0])))
    assert cleaned.flaws[0].item == 1
    assert cleaned.flaws[0].message == message
    assert cleaned.rows.counts[0].tolist() == [0, 1]
    assert cleaned.rows.columns["time"].tolist() == [3.0]
    assert cleaned.repairs.tolist() == [0, 0]
