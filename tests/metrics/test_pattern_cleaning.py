"""What the pattern metrics take, and what becomes a flaw."""

from __future__ import annotations

import numpy as np
import pytest

from mirflow.metrics.pattern.metrics import clean

from .patterns import Patterns, to_rows

A, B = [(0.0, 60.0), (1.0, 62.0)], [(4.0, 65.0)]
GOOD: Patterns = [[A, B], [B]]


def counts(rows) -> list[list[int]]:
    return [level.tolist() for level in rows.counts]


def test_occurrences_without_notes_are_dropped_and_counted() -> None:
    cleaned = clean(to_rows([GOOD, [[[], A, []], [B]], [[B]]]))
    assert counts(cleaned.rows) == [[2, 2, 1], [2, 1, 1, 1, 1], [2, 1, 1, 2, 1, 1]]
    assert cleaned.repairs.tolist() == [0, 2, 0]


def test_rows_without_any_note_are_empty() -> None:
    cleaned = clean(to_rows([[[[]], []], GOOD]))
    assert counts(cleaned.rows) == [[0, 2], [2, 1], [2, 1, 1]]
    assert (cleaned.repairs.tolist(), cleaned.flaws) == ([1, 0], {})


@pytest.mark.parametrize(
    ("bad", "item", "message"),
    [
        ([[A], [[(0.0, np.nan)]]], 2, "onset and pitch of a note must be finite, and not beyond 1e+09: 0.0, nan"),
        ([[A], [[(np.inf, 60.0)], B]], 2, "onset and pitch of a note must be finite, and not beyond 1e+09: inf, 60.0"),
        ([[A], [], [B]], 2, "pattern 2 has no notes"),
        ([[A], [[]]], 1, "pattern 2 has no notes"),  # the last note stands for what comes after it
        ([[], [A], []], 0, "pattern 1 has no notes"),
    ],
)
def test_flaws_name_a_note_within_the_row(bad: Patterns, item: int, message: str) -> None:
    cleaned = clean(to_rows([GOOD, bad, [[B]]]))
    assert {row: (flaw.item, flaw.message) for row, flaw in cleaned.flaws.items()} == {1: (item, message)}
    assert counts(cleaned.rows) == [[2, 0, 1], [2, 1, 1], [2, 1, 1, 1]]
    assert cleaned.repairs.tolist() == [0, 0, 0]
