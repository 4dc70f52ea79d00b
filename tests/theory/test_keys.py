"""Keys: the labels that name them and how they are related."""

from __future__ import annotations

import itertools

import mir_eval
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.theory.keys import MODES, RELATIONS, UNNAMED, Key, parse_key, relation_table

TONICS = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")


def relation(reference: str, estimate: str) -> str:
    codes = [key.code for label in (reference, estimate) if (key := parse_key(label)) is not None]
    return RELATIONS[relation_table()[codes[0], codes[1]]]


@pytest.mark.parametrize(
    ("label", "tonic", "mode"),
    [
        ("C major", 0, "major"),
        ("C:major", 0, "major"),
        ("c# Minor", 1, "minor"),
        ("DB MINOR", 1, "minor"),
        ("bb\tmin", 10, "minor"),
        ("  F#  :  maj ", 6, "major"),
        ("Cb major", 11, "major"),
        ("B# minor", 0, "minor"),
        ("E# major", 5, "major"),
        ("F## minor", 7, "minor"),
        ("Ebb major", 2, "major"),
        ("A", 9, "major"),
        ("b", 11, "major"),
        ("G:ionian", 7, "major"),
        ("G:aeolian", 7, "minor"),
        ("D:dorian", 2, "dorian"),
        ("C other", 0, "other"),
    ],
)
def test_spellings(label: str, tonic: int, mode: str) -> None:
    assert parse_key(label) == Key(tonic, MODES.index(mode))


@pytest.mark.parametrize("label", ["X", "x", " N ", "n"])
def test_keys_that_cannot_be_named(label: str) -> None:
    assert parse_key(label) == UNNAMED


@pytest.mark.parametrize(
    "label",
    ["", " ", "H major", "C blues", "C#b major", "C major minor", "X minor", "major", "Cmajor", "Am", "C::minor"],
)
def test_what_is_no_key(label: str) -> None:
    assert parse_key(label) is None


@given(st.text(alphabet="abcgxn#:mjor i\u266d\n", max_size=12))
def test_any_text_is_a_key_or_none(label: str) -> None:
    key = parse_key(label)
    assert key is None or key == UNNAMED or (0 <= key.tonic < 12 and 0 <= key.mode < len(MODES))


@pytest.mark.parametrize("mode", ["major", "minor", "other"])
def test_every_pair_of_keys_has_mir_evals_points(mode: str) -> None:
    points = {"same": 1.0, "fifth_up": 0.5, "relative": 0.3, "parallel": 0.2}
    references = [f"{tonic} {mode}" for tonic in TONICS]
    estimates = ["X", *(f"{tonic} {other}" for tonic, other in itertools.product(TONICS, ("major", "minor", "other")))]
    for reference, estimate in itertools.product([*references, "X"], estimates):
        assert points.get(relation(reference, estimate), 0.0) == mir_eval.key.weighted_score(reference, estimate)


def test_the_relative_of_a_fifth_is_another_relation() -> None:
    assert relation("C major", "E minor") == relation("A minor", "G major") == "relative_of_fifth_up"
    assert relation("C major", "D minor") == relation("A minor", "F major") == "relative_of_fifth_down"


def test_a_reference_of_another_mode_has_no_relative_key() -> None:
    assert relation("C major", "A other") == "relative"
    assert relation("A other", "C major") == "other"


def test_other_is_any_church_mode_but_church_modes_differ() -> None:
    assert relation("D dorian", "D other") == relation("D other", "D dorian") == "same"
    assert relation("D dorian", "D phrygian") == "parallel"
    assert relation("D dorian", "A other") == "fifth_up"
    assert relation("D minor", "D other") == "parallel"


def test_a_key_that_cannot_be_named_is_near_nothing() -> None:
    assert relation("X", "N") == "same"
    assert relation("X", "C major") == relation("C major", "X") == "other"


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        relation_table()[0, 0] = 1
