"""The grammar of chord labels."""

from __future__ import annotations

import pickle

import mir_eval
import pytest
from hypothesis import given

from mirflow.errors import MirflowError
from mirflow.theory.harte import (
    CHORD_RE,
    InvalidChordException,
    parse_chord,
    pitch_class_to_semitone,
    scale_degree_to_semitone,
)
from tests.chord_strategies import near_labels


@given(label=near_labels)
def test_other_strings_are_accepted_exactly_where_mir_eval_does(label: str) -> None:
    if not label.endswith("\n"):
        assert bool(CHORD_RE.match(label)) == bool(mir_eval.chord.CHORD_RE.match(label))


def test_a_line_end_is_not_part_of_a_label() -> None:
    assert not CHORD_RE.match("C\n")


@pytest.mark.parametrize(
    "label",
    ["", "H", "c", "N/3", "X:maj", "C:", "C:/3", "C/", "C:Maj", "C:maj()", "C(3)", "C:maj(14)", "Cb#", "C:maj/0"],
)
def test_what_is_no_label_is_refused_by_name(label: str) -> None:
    with pytest.raises(InvalidChordException, match=r"^Invalid chord label: ") as caught:
        parse_chord(label)
    assert caught.value.chord_label == label


def test_the_error_is_one_of_ours_and_survives_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(InvalidChordException("wrong", "H")))
    assert isinstance(error, MirflowError)
    assert (error.message, error.chord_label, error.name, str(error)) == (
        "wrong",
        "H",
        "InvalidChordException",
        "wrong",
    )


@pytest.mark.parametrize("name", ["H", "Cab", "#C", "bG", "CC", "N"])
def test_other_pitch_classes_are_refused(name: str) -> None:
    with pytest.raises(InvalidChordException, match=f"^Pitch class improperly formed: {name}$"):
        pitch_class_to_semitone(name)


@pytest.mark.parametrize("degree", ["7b", "4#", "77", "15", "", "0", "b#3", "b", "*3"])
def test_other_degrees_are_refused_with_the_known_ones(degree: str) -> None:
    with pytest.raises(InvalidChordException, match=r"^Scale degree improperly formed: .*, expected one of \['1', '2'"):
        scale_degree_to_semitone(degree)
