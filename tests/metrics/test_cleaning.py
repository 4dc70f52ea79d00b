"""Cleaning of intervals with labels, the same for chords, local keys and segments but for what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.metrics.base import get_task
from mirflow.ragged import Ragged
from mirflow.theory.leadsheet import not_a_chord

Row = tuple[float, float, str]
CONVENTIONS = [
    *(("chord", name) for name in ("mir_eval", "madmom", "mirex2013")),
    *(("local_key", "mirex2017"), ("segment", "mir_eval"), ("segment", "mirex")),
]
IMPOSSIBLE = [
    ((1.0, np.nan, "C"), "time is not finite: 1.0 to nan s"),
    ((np.inf, np.inf, "C"), "time is not finite: inf to inf s"),
    ((2.0, 1.5, "C"), "interval ends before it starts: 2.0 to 1.5 s"),
]
NEGATIVE = (-1.0, 0.0, "C"), "time is negative: -1.0 to 0.0 s"
OVERLAP = (1.5, 3.0, "F"), "overlaps the row before it: 1.5 s is before 2.0 s"
OMITTED = "not a chord: 'C:maj(*b3)' omits the degree b3, which it does not have"
NOT_A_KEY = "not a key: {!r}; keys are written like C, A minor, F#:maj or X; {}"
REFUSED = {
    ("chord", "mir_eval"): [
        *(NEGATIVE, OVERLAP),
        *(((2.0, 3.0, label), not_a_chord(label)) for label in ("H:maj", "C:maj11")),
    ],
    ("chord", "mirex2013"): [
        *(NEGATIVE, ((2.0, 3.0, "H:maj"), not_a_chord("H:maj"))),
        ((2.0, 3.0, "C:maj(*b3)"), OMITTED),
    ],
    ("local_key", "mirex2017"): [
        *(NEGATIVE, OVERLAP, ((2.0, 3.0, "Cm"), NOT_A_KEY.format("Cm", "for C minor write C:min"))),
        ((2.0, 3.0, "Am7"), NOT_A_KEY.format("Am7", "this is a chord; use task chord for chords")),
    ],
}


def rows_of(*sides: list[Row]) -> Ragged:
    each = [
        Annotation("intervals", {"start": np.array(start), "end": np.array(end)}, label)
        for start, end, label in (([row[place] for row in side] for place in range(3)) for side in sides)
    ]
    return to_ragged(each)


@pytest.mark.parametrize(
    ("task", "name", "row", "message"),
    [(*own, *case) for own in CONVENTIONS for case in (*IMPOSSIBLE, *REFUSED.get(own, ()))],
)
def test_flaws_name_the_item_as_read_and_empty_the_row(task: str, name: str, row: Row, message: str) -> None:
    good = [(0.0, 1.0, "C"), (1.0, 2.0, "G")]
    # An interval without length, which some conventions drop, still counts in the index.
    bad = [good[0], (0.5, 0.5, "N"), good[1], row]
    cleaned = get_task(task).convention(name).clean(rows_of(good, bad, good))
    assert {number: (flaw.item, flaw.message) for number, flaw in cleaned.flaws.items()} == {1: (3, message)}
    assert cleaned.rows.counts[0].tolist() == [2, 0, 2]
    assert cleaned.repairs.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("task", "name"), CONVENTIONS)
def test_the_first_flaw_of_a_row_is_named(task: str, name: str) -> None:
    cleaned = get_task(task).convention(name).clean(rows_of([(0.0, 1.0, "C"), (2.0, 1.0, "G"), (3.0, np.nan, "H")]))
    assert cleaned.flaws[0].item == 1


AS_READ, SORTED, WITHOUT_INSTANTS = [4.0, 0.0, 8.0], [0.0, 4.0], [4.0, 0.0]
STARTS = dict(zip(CONVENTIONS, (SORTED, SORTED, AS_READ, SORTED, WITHOUT_INSTANTS, AS_READ), strict=True))


@pytest.mark.parametrize(("task", "name"), CONVENTIONS)
def test_rows_out_of_order_and_without_length_are_counted(task: str, name: str) -> None:
    cleaned = get_task(task).convention(name).clean(rows_of([(4.0, 8.0, "G"), (0.0, 4.0, "C"), (8.0, 8.0, "N")]))
    assert cleaned.rows.columns["start"].tolist() == STARTS[task, name]
    assert cleaned.repairs.tolist() == [2]
