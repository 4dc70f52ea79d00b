"""Chord symbols of lead sheets in Harte's syntax."""

from __future__ import annotations

import time
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation
from mirflow.metrics.base import get_task
from mirflow.theory.chords import encode_chord
from mirflow.theory.harte import InvalidChordException
from mirflow.theory.leadsheet import NO_CHORDS, SUFFIXES, leadsheet_to_harte, not_a_chord, translate_symbol
from tests.metrics.batches import score_pairs

SOUNDING = {
    # Suffix: semitones above the root within an octave, ninths and beyond included.
    "": {0, 4, 7},
    "m": {0, 3, 7},
    "-7": {0, 3, 7, 10},
    "7": {0, 4, 7, 10},
    "maj7": {0, 4, 7, 11},
    "M7": {0, 4, 7, 11},
    "mM7": {0, 3, 7, 11},
    "m7b5": {0, 3, 6, 10},
    "ø": {0, 3, 6, 10},
    "dim": {0, 3, 6},
    "o7": {0, 3, 6, 9},
    "+": {0, 4, 8},
    "+7": {0, 4, 8, 10},
    "7#5": {0, 4, 8, 10},
    "7b5": {0, 4, 6, 10},
    "sus": {0, 5, 7},
    "sus2": {0, 2, 7},
    "7sus4": {0, 5, 7, 10},
    "sus7": {0, 5, 7, 10},
    "(add2)": {0, 2, 4, 7},
    "m(add2)(add4)": {0, 2, 3, 5, 7},
    "6": {0, 4, 7, 9},
    "6/9": {0, 2, 4, 7, 9},
    "m6": {0, 3, 7, 9},
    "5": {0, 7},
    "add9": {0, 2, 4, 7},
    "7b9": {0, 1, 4, 7, 10},
    "7(#9)": {0, 3, 4, 7, 10},
    "7b9b13": {0, 1, 4, 7, 8, 10},
    "maj7#11": {0, 4, 6, 7, 11},
    "9": {0, 2, 4, 7, 10},
    "m9": {0, 2, 3, 7, 10},
    "13": {0, 2, 4, 5, 7, 9, 10},
    "(b5)": {0, 4, 6},
}
ROOTS = {"C": 0, "F#": 6, "Bb": 10, "Db": 1, "E": 4}


@pytest.mark.parametrize("suffix", SOUNDING)
def test_symbols_sound_as_musicians_read_them_on_any_root(suffix: str) -> None:
    for root, semitones in ROOTS.items():
        code = encode_chord(leadsheet_to_harte(f"{root}{suffix}"), reduce_extended=True)
        assert code.root == semitones
        assert {semitone for semitone in range(12) if code.pitches >> semitone & 1} == SOUNDING[suffix]
        assert code.bass == 0


def test_suffixes_that_music21_reads_too_sound_alike() -> None:
    """music21 writes flats as minus signs, and reads 69 as a sixth on a ninth."""
    from music21.harmony import ChordSymbol

    compared = 0
    for suffix in SUFFIXES:
        if "-" in suffix or suffix == "69":
            continue
        try:
            theirs = {pitch.pitchClass for pitch in ChordSymbol(f"C{suffix}").pitches}
        except Exception:  # it does not read it, by whatever error
            continue
        pitches = encode_chord(leadsheet_to_harte(f"C{suffix}"), reduce_extended=True).pitches
        assert {semitone for semitone in range(12) if pitches >> semitone & 1} == theirs, suffix
        compared += 1
    assert compared >= 40


@pytest.mark.parametrize(
    ("symbol", "label"),
    [
        ("C", "C"),
        ("Fmaj7/C", "F:maj7/5"),
        ("C/Bb", "C/b7"),
        ("D/F#", "D/3"),
        ("Am/G#", "A:min/7"),
        ("C6/9/E", "C:maj6(9)/3"),
        ("Db7b5/G", "Db:7(*5,b5)/#4"),
        ("B\N{MUSIC FLAT SIGN}7", "Bb:7"),
        (" Cm7 ", "C:min7"),
        ("C7(b9,#11)", "C:7(b9,#11)"),
        ("N.C.", "N"),
        ("Cb5", "Cb:5"),  # the accidental belongs to the root
    ],
)
def test_labels(symbol: str, label: str) -> None:
    assert leadsheet_to_harte(symbol) == label


@pytest.mark.parametrize(
    "symbol",
    [
        *("", "C2", "C7alt", "C\N{GREEK CAPITAL LETTER DELTA}", "C0", "c7", "H7", "Bbb7", "Cmaj11", "C7()", "C/3"),
        *("C7b9b9", "C:maj", "X", "%", "A m7", "A7/"),
    ],
)
def test_what_is_not_in_the_table_is_refused(symbol: str) -> None:
    with pytest.raises(InvalidChordException, match="not a chord symbol of lead sheets"):
        leadsheet_to_harte(symbol)


@given(
    st.sampled_from([f"{letter}{sign}" for letter in "ABCDEFG" for sign in ("", "#", "b")]),
    st.sampled_from(sorted(SUFFIXES)),
    st.sampled_from(["", "b9", "(#11)", "add9", "(b5,b9)"]),
    st.sampled_from(["", "/C", "/F#", "/Bb"]),
)
def test_every_symbol_of_the_table_is_a_chord_of_every_convention(
    root: str, suffix: str, altered: str, bass: str
) -> None:
    if altered == "b9" and not suffix:
        altered = ""
    try:
        label = leadsheet_to_harte(f"{root}{suffix}{altered}{bass}")
    except InvalidChordException:
        assert altered  # such as sus4(b5), which is a table's limit, never another chord
        return
    assert encode_chord(label).root == encode_chord(root).root


@given(st.text(alphabet="ABCbg#m7-+()/,adj59 ", max_size=10))
def test_any_text_is_a_chord_or_refused(text: str) -> None:
    with suppress(InvalidChordException):
        encode_chord(leadsheet_to_harte(text))


def test_no_chord() -> None:
    assert {leadsheet_to_harte(symbol) for symbol in NO_CHORDS} == {"N"}


def test_where_harte_is_expected_the_message_names_the_notation() -> None:
    assert not_a_chord("C-7").endswith("for symbols like this one declare notation: leadsheet")
    assert "leadsheet" not in not_a_chord("C7alt")


@pytest.mark.parametrize("name", get_task("chord").conventions)
def test_aug7_is_an_augmented_triad_with_a_minor_seventh_in_every_convention(name: str) -> None:
    rules = get_task("chord").convention(name)
    spelt = [
        Annotation("intervals", {"start": np.array([0.0]), "end": np.array([4.0])}, [label])
        for label in ("C:aug7", "C:aug(b7)", "C:7(*5,#5)")
    ]
    other = Annotation("intervals", {"start": np.array([0.0]), "end": np.array([4.0])}, ["C:7"])
    measures = [one for one in rules.select() if not one.metric.dims]
    for estimate in (*spelt, other):
        scores = [score_pairs(rules, [(one, estimate)], measures).score[0] for one in spelt]
        np.testing.assert_array_equal(scores[0], scores[1])
        np.testing.assert_array_equal(scores[0], scores[2])


def test_what_is_no_symbol_is_told_in_linear_time():
    began = time.process_time()
    assert translate_symbol("C" + "m" * 1_000_000) is None
    assert translate_symbol("C:maj(" + "9," * 500_000 + ")") is None
    assert time.process_time() - began < 5
