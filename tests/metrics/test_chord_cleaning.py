"""What convention mir_eval mends, and what it takes as a flaw."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from mirflow.metrics.chord.metrics import clean, clean_unmerged
from mirflow.theory.harte import not_a_chord

from .chord_pairs import chord_sequences, to_rows
from .test_chord_scoring import chords

GOOD = chords((0.0, 1.0, "C"), (1.0, 2.0, "G"))


def test_what_is_good_is_passed_on_as_it_is() -> None:
    rows = to_rows([GOOD, chords()])
    cleaned = clean(rows)
    assert cleaned.rows is rows
    assert cleaned.repairs.tolist() == [0, 0]
    assert not cleaned.flaws


def test_intervals_without_length_are_dropped_and_counted() -> None:
    cleaned = clean(to_rows([GOOD, chords((0.0, 1.0, "C"), (1.0, 1.0, "N"), (1.0, 2.0, "G"), (2.0, 2.0, "N")), GOOD]))
    assert cleaned.rows.counts[0].tolist() == [2, 2, 2]
    assert cleaned.rows.columns["end"].tolist() == [1.0, 2.0] * 3
    assert cleaned.repairs.tolist() == [0, 2, 0]


def test_rows_out_of_order_are_sorted_and_counted() -> None:
    cleaned = clean(to_rows([GOOD, chords((1.0, 2.0, "G"), (2.0, 3.0, "A"), (0.0, 1.0, "C"))]))
    assert cleaned.rows.columns["start"].tolist() == [0.0, 1.0, 0.0, 1.0, 2.0]
    assert [cleaned.rows.labels[code] for code in cleaned.rows.columns["label"]] == ["C", "G", "C", "G", "A"]
    assert cleaned.repairs.tolist() == [0, 1]


def test_gaps_are_kept_and_counted() -> None:
    cleaned = clean(to_rows([chords((0.0, 1.0, "C"), (1.5, 2.0, "G"), (3.0, 4.0, "C"))]))
    assert cleaned.rows.counts[0].tolist() == [3]
    assert cleaned.repairs.tolist() == [2]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((1.0, float("nan"), "C"), "time is not finite: 1.0 to nan s"),
        ((float("inf"), float("inf"), "C"), "time is not finite: inf to inf s"),
        ((-1.0, 2.0, "C"), "time is negative: -1.0 to 2.0 s"),
        ((2.0, 1.5, "C"), "interval ends before it starts: 2.0 to 1.5 s"),
        ((2.0, 3.0, "H:maj"), not_a_chord("H:maj")),
        ((2.0, 3.0, "C:maj11"), not_a_chord("C:maj11")),
        ((1.5, 3.0, "F"), "overlaps the row before it: 1.5 s is before 2.0 s"),
    ],
)
def test_flaws_name_the_item_as_read(row, message) -> None:
    dropped = (0.5, 0.5, "N")
    bad = chords((0.0, 1.0, "C"), dropped, (1.0, 2.0, "G"), row)
    cleaned = clean(to_rows([GOOD, bad, GOOD]))
    assert {place: (flaw.item, flaw.message) for place, flaw in cleaned.flaws.items()} == {1: (3, message)}
    assert cleaned.rows.counts[0].tolist() == [2, 0, 2]
    assert cleaned.repairs.tolist() == [0, 0, 0]


def test_the_first_flaw_of_a_row_is_told() -> None:
    cleaned = clean(to_rows([chords((0.0, 1.0, "C"), (1.0, 2.0, "H"), (3.0, 2.5, "C"), (4.0, 5.0, "J"))]))
    assert cleaned.flaws[0].item == 1


def test_an_overlap_is_named_by_the_item_as_read_after_sorting() -> None:
    cleaned = clean(to_rows([chords((2.0, 4.0, "G"), (0.0, 3.0, "C"))]))
    assert (cleaned.flaws[0].item, cleaned.flaws[0].message) == (0, "overlaps the row before it: 2.0 s is before 3.0 s")


def test_neighbours_of_one_chord_may_overlap_unless_one_lies_within_the_other() -> None:
    beside, within = chords((0.0, 2.0, "C"), (1.0, 3.0, "C")), chords((0.0, 4.0, "C"), (1.0, 3.0, "C"))
    assert list(clean(to_rows([beside, within])).flaws) == [1]
    assert list(clean_unmerged(to_rows([beside, within])).flaws) == [0, 1]


@given(chord_sequences())
@settings(deadline=None)
def test_sequences_without_overlap_have_no_flaws(sequence) -> None:
    cleaned = clean(to_rows([sequence]))
    assert not cleaned.flaws
    assert np.array_equal(cleaned.rows.columns["start"], sequence[0])
