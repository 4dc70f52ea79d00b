"""The grammar of chord labels."""

from __future__ import annotations

import pickle

import mir_eval
import pytest
from hypothesis import given

from mirflow.errors import MirflowError
from mirflow.theory.harte import (
    CHORD_RE,
    PITCH_CLASSES,
    SCALE_DEGREES,
    InvalidChordException,
    parse_chord,
    pitch_class_to_semitone,
    scale_degree_to_semitone,
)
from tests.chord_strategies import labels, near_labels


@given(label=labels)
def test_every_generated_label_is_accepted_as_by_mir_eval(label: str) -> None:
    assert CHORD_RE.match(label)
    assert mir_eval.chord.CHORD_RE.match(label)


@given(label=near_labels)
def test_other_strings_are_accepted_exactly_where_mir_eval_does(label: str) -> None:
    if not label.endswith("\n"):
        assert bool(CHORD_RE.match(label)) == bool(mir_eval.chord.CHORD_RE.match(label))


def test_a_line_end_is_not_part_of_a_label() -> None:
    assert not CHORD_RE.match("C\n")


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("C", ("C", "maj", set(), "1")),
        ("N", ("N", "", set(), "")),
        ("X", ("X", "maj", set(), "1")),
        ("Bb/5", ("Bb", "maj", set(), "5")),
        ("F##:(3)", ("F##", "", {"3"}, "1")),
        ("G#:min(*b3,*5,b10)/#13", ("G#", "min", {"*b3", "*5", "b10"}, "#13")),
        ("C:maj7", ("C", "maj7", set(), "1")),
        ("C:13/b7", ("C", "13", set(), "b7")),
        ("C:aug7", ("C", "aug7", set(), "1")),
    ],
)
def test_a_label_has_four_parts_with_defaults(label: str, parts: tuple[str, str, set[str], str]) -> None:
    assert parse_chord(label) == parts


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


def test_pitch_classes_count_from_c_and_wrap_round() -> None:
    assert [pitch_class_to_semitone(name) for name in "CDEFGAB"] == [0, 2, 4, 5, 7, 9, 11]
    assert [pitch_class_to_semitone(name) for name in ("Gbb", "B#", "Cb", "E##", "C#b", "")] == [5, 0, 11, 6, 0, 0]


@pytest.mark.parametrize("name", ["H", "Cab", "#C", "bG", "CC", "N"])
def test_other_pitch_classes_are_refused(name: str) -> None:
    with pytest.raises(InvalidChordException, match=f"^Pitch class improperly formed: {name}$"):
        pitch_class_to_semitone(name)


@pytest.mark.parametrize(
    ("degree", "semitone"), [("1", 0), ("b1", -1), ("#7", 12), ("b7", 10), ("bb5", 5), ("11", 17), ("#13", 22)]
)
def test_degrees_are_not_wrapped_into_the_octave(degree: str, semitone: int) -> None:
    assert scale_degree_to_semitone(degree) == semitone


@pytest.mark.parametrize("degree", ["7b", "4#", "77", "15", "", "0", "b#3", "b", "*3"])
def test_other_degrees_are_refused_with_the_known_ones(degree: str) -> None:
    with pytest.raises(InvalidChordException, match=r"^Scale degree improperly formed: .*, expected one of \['1', '2'"):
        scale_degree_to_semitone(degree)


def test_the_tables_are_those_of_mir_eval() -> None:
    assert PITCH_CLASSES == mir_eval.chord.PITCH_CLASSES
    assert SCALE_DEGREES == mir_eval.chord.SCALE_DEGREES
