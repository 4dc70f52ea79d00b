"""Chords as numbers."""

from __future__ import annotations

from pathlib import Path

import mir_eval
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.theory.chords import EXTENDED_QUALITY_REDUX, NO_CHORD_CODE, QUALITIES, ChordTable, encode_vocabulary
from mirflow.theory.harte import QUALITY_NAMES
from tests.chord_strategies import labels
from tests.real_labels import distinct_chords


def bits(pitches: int) -> list[int]:
    return [pitches >> semitone & 1 for semitone in range(12)]


def assert_row_is_mir_evals(table: ChordTable, row: int, label: str, reduce: bool) -> None:
    root, bitmap, bass = mir_eval.chord.encode(label, reduce)
    assert (table.root[row], table.bass[row]) == (root, bass), label
    assert bits(int(table.pitches[row])) == [abs(value) for value in bitmap], label
    assert table.undefined[row] == (label == "X")


@given(vocabulary=st.lists(labels, max_size=20), reduce=st.booleans())
def test_every_row_of_a_vocabulary_is_mir_evals_encoding(vocabulary: list[str], reduce: bool) -> None:
    table = encode_vocabulary(vocabulary, reduce)
    assert len(table.root) == len(vocabulary)
    assert not table.invalid
    for row, label in enumerate(vocabulary):
        assert_row_is_mir_evals(table, row, label, reduce)


def test_columns_have_their_types_even_without_rows() -> None:
    for table in (encode_vocabulary([]), encode_vocabulary(["C", "X"])):
        columns = (table.root, table.pitches, table.bass, table.undefined)
        assert [column.dtype.name for column in columns] == ["int8", "uint16", "int8", "bool"]


def test_labels_that_cannot_be_encoded_are_listed_and_stand_as_no_chord() -> None:
    table = encode_vocabulary(["G", "H:maj", "C:maj11", "N"])
    assert table.invalid == {
        1: "Invalid chord label: H:maj",
        2: "Unsupported chord quality shorthand: 'maj11' Did you mean to reduce extended chords?",
    }
    for row in (1, 2, 3):
        assert (table.root[row], table.pitches[row], table.bass[row]) == NO_CHORD_CODE


def test_rows_can_be_taken_repeatedly_and_keep_what_is_wrong_with_them() -> None:
    taken = encode_vocabulary(["G", "H:maj", "X"]).take([2, 1, 0, 1])
    assert taken.root.tolist() == [-1, -1, 7, -1]
    assert taken.undefined.tolist() == [True, False, False, False]
    assert sorted(taken.invalid) == [1, 3]


def test_the_tables_are_those_of_mir_eval_and_aug7() -> None:
    assert {quality: value for quality, value in QUALITIES.items() if quality != "aug7"} == mir_eval.chord.QUALITIES
    assert EXTENDED_QUALITY_REDUX == mir_eval.chord.EXTENDED_QUALITY_REDUX
    assert set(QUALITY_NAMES) - set(QUALITIES) == {"maj11"}


def test_every_label_of_the_real_data_is_encoded_or_refused_as_by_mir_eval(shared_data: Path) -> None:
    vocabulary = distinct_chords(shared_data)
    assert len(vocabulary) > 500
    for reduce in (False, True):
        table = encode_vocabulary(vocabulary, reduce)
        for row, label in enumerate(vocabulary):
            if row in table.invalid:
                with pytest.raises(mir_eval.chord.InvalidChordException) as refused:
                    mir_eval.chord.encode(label, reduce)
                assert table.invalid[row] == refused.value.message
            else:
                assert_row_is_mir_evals(table, row, label, reduce)


def test_the_table_does_not_share_memory_with_a_cache() -> None:
    first = encode_vocabulary(["C", "G"])
    first.root[0] = 5
    assert np.array_equal(encode_vocabulary(["C", "G"]).root, [0, 7])
