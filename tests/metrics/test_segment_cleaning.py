"""What files of segments may hold, and what becomes of it."""

from __future__ import annotations

import numpy as np

from mirflow.metrics.base import get_task

from .segment_pairs import to_rows
from .test_segment_scoring import rows, score_pairs

TASK = get_task("segment")
CLEAN = TASK.convention("mir_eval").clean
CLEAN_MIREX = TASK.convention("mirex").clean


def test_regular_rows_stay_as_they_are() -> None:
    given = to_rows([rows((0.0, 1.0, "a"), (1.0, 2.0, "a")), rows()])
    cleaned = CLEAN(given)
    assert cleaned.rows is given
    assert (cleaned.repairs.tolist(), cleaned.flaws) == ([0, 0], {})


def test_segments_without_length_are_dropped_and_counted() -> None:
    cleaned = CLEAN(to_rows([rows((0.0, 1.0, "a"), (1.0, 1.0, "b"), (1.0, 2.0, "c"))]))
    assert cleaned.rows.counts[0].tolist() == [2]
    assert cleaned.repairs.tolist() == [1]


def test_time_before_0_is_cut_off_and_counted() -> None:
    cleaned = CLEAN(to_rows([rows((-3.0, -1.0, "a"), (-1.0, 1.0, "b"), (1.0, 2.0, "c"))]))
    assert cleaned.rows.columns["start"].tolist() == [0.0, 1.0]
    assert cleaned.repairs.tolist() == [2]


def test_gaps_overlaps_and_rows_out_of_order_are_taken_as_they_are_and_counted() -> None:
    given = to_rows([rows((0.0, 1.0, "a"), (2.0, 4.0, "b"), (3.0, 5.0, "c"), (1.0, 2.0, "d"))])
    cleaned = CLEAN(given)
    assert cleaned.rows is given
    assert cleaned.repairs.tolist() == [3]


def test_impossible_times_are_flaws_that_name_the_first_row_and_its_values() -> None:
    cleaned = CLEAN(
        to_rows(
            [
                rows((0.0, 1.0, "a"), (2.0, 1.0, "b"), (np.nan, 3.0, "c")),
                rows((0.0, 1.0, "a")),
                rows((0.0, np.inf, "a")),
            ]
        )
    )
    assert {row: (flaw.item, flaw.message) for row, flaw in cleaned.flaws.items()} == {
        0: (1, "interval ends before it starts: 2.0 to 1.0 s"),
        2: (0, "time is not finite: 0.0 to inf s"),
    }
    assert cleaned.rows.counts[0].tolist() == [0, 1, 0]
    assert cleaned.repairs.tolist() == [0, 0, 0]


def test_mirex_takes_all_that_has_a_time() -> None:
    given = to_rows([rows((-1.0, 1.0, "a"), (1.0, 1.0, "b"), (0.5, 2.0, "c"))])
    cleaned = CLEAN_MIREX(given)
    assert cleaned.rows is given
    assert cleaned.repairs.tolist() == [3]


def test_an_estimate_that_only_touches_the_references_end_is_scored_without_it() -> None:
    reference = rows((0.0, 2.0, "a"), (2.0, 4.0, "b"))
    found = score_pairs([(reference, rows((0.0, 4.0, "x"), (4.0, 9.0, "y"))), (reference, rows((0.0, 4.0, "x")))])
    assert np.array_equal(found.score[0], found.score[1])
    assert found.repairs.tolist() == [1, 0]
