"""Spelled degrees, and what a chord is reduced to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.errors import InvalidAnnotationError
from mirflow.theory.spelling import (
    NONE,
    UNDEFINED,
    Degrees,
    encode_spelled,
    parse_spelled,
    position,
    reduce_to_seventh,
    reduce_to_triad,
)


def degrees(*names: str) -> set[int]:
    return {position(name) for name in names}


def triad(label: str, *, spelled: bool = True) -> tuple[int, int] | None:
    return reduce_to_triad(Degrees(parse_spelled(label).degrees, spelled))


def tetrad(label: str, *, spelled: bool = True) -> tuple[int, int, int | None]:
    found = triad(label, spelled=spelled)
    assert found is not None
    return (*found, reduce_to_seventh(Degrees(parse_spelled(label).degrees, spelled), found))


def as_tetrad(third: str, fifth: str, seventh: str | None = None) -> tuple[int, int, int | None]:
    return position(third), position(fifth), None if seventh is None else position(seventh)


class TestPosition:
    @given(st.sampled_from("1234567"), st.text(alphabet="#b", max_size=3))
    def test_seven_fifths_per_step_of_pitch(self, number: str, accidentals: str) -> None:
        semitones = {"1": 0, "2": 2, "3": 4, "4": 5, "5": 7, "6": 9, "7": 11}[number]
        expected = (semitones + accidentals.count("#") - accidentals.count("b")) % 12
        assert position(accidentals + number) * 7 % 12 == expected

    def test_the_octave_does_not_matter(self) -> None:
        assert [position(d) for d in ("8", "9", "b10", "11", "12", "13")] == [
            position(d) for d in ("1", "2", "b3", "4", "5", "6")
        ]

    def test_enharmonic_degrees_differ_by_twelve(self) -> None:
        assert position("#4") - position("b5") == 12


class TestParsing:
    @pytest.mark.parametrize("label", ["N", "N.C.", "NC", "S", "Silence"])
    def test_n_or_s_at_the_start_is_no_chord(self, label: str) -> None:
        assert parse_spelled(label).root == NONE

    @pytest.mark.parametrize("label", ["X", "U", "Xunknown"])
    def test_x_or_u_at_the_start_is_undefined(self, label: str) -> None:
        assert parse_spelled(label).root == UNDEFINED

    @pytest.mark.parametrize(("label", "root"), [("C", 0), ("B#", 0), ("Cb", 11), ("F##", 7), ("Abb", 7), ("B", 11)])
    def test_the_root_is_taken_modulo_twelve(self, label: str, root: int) -> None:
        assert parse_spelled(label).root == root

    def test_a_bare_root_is_major_also_with_a_bass(self) -> None:
        assert parse_spelled("C").degrees == degrees("1", "3", "5")
        assert parse_spelled("C/5").degrees == degrees("1", "3", "5")

    def test_the_bass_is_added_to_the_set(self) -> None:
        chord = parse_spelled("C:min/b7")
        assert chord.degrees == degrees("1", "b3", "5", "b7")
        assert chord.bass == position("b7")

    def test_a_list_without_a_shorthand_is_the_whole_set(self) -> None:
        assert parse_spelled("A:(3,5)").degrees == degrees("3", "5")

    def test_a_list_adds_and_with_a_star_omits(self) -> None:
        assert parse_spelled("C:min7(2,*b3,4)").degrees == degrees("1", "5", "b7", "2", "4")

    def test_what_a_shorthand_implies_beyond_the_octave_is_not_counted(self) -> None:
        assert parse_spelled("C:9").degrees == degrees("1", "3", "5", "b7")
        assert parse_spelled("C:13").degrees == degrees("1", "3", "5", "b7")

    def test_but_listed_or_in_the_bass_it_is(self) -> None:
        assert position("2") in parse_spelled("C:7(9)").degrees
        assert position("2") in parse_spelled("C:9/9").degrees

    def test_what_a_shorthand_implies_can_be_omitted(self) -> None:
        assert parse_spelled("C:9(*9)").degrees == degrees("1", "3", "5", "b7")

    @pytest.mark.parametrize(
        "label", ["", "H:maj", "C:", "C:/5", "C:foo", "C:maj(", "C:()", "C/", "c", "C:maj ", "C(9)"]
    )
    def test_what_is_not_a_chord_is_named(self, label: str) -> None:
        with pytest.raises(InvalidAnnotationError, match=re.escape(f"not a chord: {label!r}")):
            parse_spelled(label)

    def test_a_degree_that_is_not_there_cannot_be_omitted(self) -> None:
        with pytest.raises(InvalidAnnotationError, match=r"'C:maj\(\*b3\)' omits the degree b3, which it does"):
            parse_spelled("C:maj(*b3)")

    def test_every_label_of_the_mirex_2013_data_parses(self, shared_data: Path) -> None:
        files = sorted((shared_data / "mirex2013-ace").glob("reference/*.lab"))
        files += sorted((shared_data / "mirex2013-ace").glob("estimates/*/*.lab"))
        labels = {line.split(None, 2)[2].strip() for file in files for line in file.read_text().splitlines() if line}
        assert len(labels) > 500
        assert encode_spelled(sorted(labels), spelled=True).invalid == {}


class TestTriad:
    @pytest.mark.parametrize(
        ("label", "third", "fifth"),
        [
            ("C", "3", "5"),
            ("C:min7", "b3", "5"),
            ("C:aug", "3", "#5"),
            ("C:dim", "b3", "b5"),
            ("C:sus4", "4", "5"),
            ("C:sus2", "2", "5"),
            ("C:min/3", "3", "5"),  # the bass makes it major
            ("C:maj(*5)", "3", "5"),  # a missing fifth does not matter
            ("C:maj(*1)/5", "3", "5"),  # nor a missing root
            ("C:dim7/5", "b3", "5"),  # a perfect fifth goes before an altered one
            ("C:(3,b5)", "3", "b5"),
            ("C:(3,b5,#5)", "3", "#5"),
            ("C:(b3,b5,#5)", "b3", "b5"),
            ("C:(b3,#5)", "b3", "#5"),
            ("C:(1,4,b5)", "4", "5"),  # a suspended chord always has a perfect fifth
            ("C:(3,4)", "3", "5"),
        ],
    )
    def test_third_then_fifth(self, label: str, third: str, fifth: str) -> None:
        assert triad(label) == (position(third), position(fifth))

    @pytest.mark.parametrize(
        "label", ["C:(1,5)", "C:(1)", "C:sus4(2)", "C:maj(*3)", "C:9(*3)", "C:(7)", "C:5", "C:min7(2,*b3,4)"]
    )
    def test_without_a_third_and_with_both_or_neither_of_2_and_4_there_is_none(self, label: str) -> None:
        assert triad(label) is None

    def test_the_implied_ninth_is_no_second(self) -> None:
        assert triad("C:9(*3,11)") == (position("4"), position("5"))


class TestTetrad:
    @pytest.mark.parametrize(
        ("label", "expected"),
        [
            ("C", as_tetrad("3", "5")),
            ("C/b7", as_tetrad("3", "5", "b7")),
            ("C/7", as_tetrad("3", "5", "7")),
            ("C:min/b7", as_tetrad("b3", "5", "b7")),
            ("C/6", as_tetrad("3", "5", "6")),
            ("C:maj(13)", as_tetrad("3", "5", "6")),
            ("C:7(13)", as_tetrad("3", "5", "b7")),
            ("C:maj7/b7", as_tetrad("3", "5", "b7")),
            ("C:hdim7", as_tetrad("b3", "b5", "b7")),
            ("C:dim7", as_tetrad("b3", "b5", "bb7")),
            ("C:dim(7)", as_tetrad("b3", "b5")),  # 7 and 6 do not count over a diminished triad
            ("C:dim(6)", as_tetrad("b3", "b5")),
            ("C:aug(7)", as_tetrad("3", "#5", "7")),
            ("C:aug(6)", as_tetrad("3", "#5")),  # nor does 6 with any altered fifth
        ],
    )
    def test_first_of_b7_7_and_6(self, label: str, expected: tuple[int, int, int | None]) -> None:
        assert tetrad(label) == expected


class TestSpelling:
    @pytest.mark.parametrize(
        ("label", "spelled", "by_pitch"),
        [
            ("C:(3,#4)", ("3", "5", None), ("3", "b5", None)),  # #4 is not b5
            ("C:(3,b6)", ("3", "5", None), ("3", "#5", None)),  # b6 is not #5
            ("C:(b3,b5,6)", ("b3", "b5", None), ("b3", "b5", "bb7")),  # 6 is not bb7
        ],
    )
    def test_a_degree_counts_for_another_only_where_spelling_is_dropped(
        self, label: str, spelled: tuple[str, str, str | None], by_pitch: tuple[str, str, str | None]
    ) -> None:
        assert tetrad(label, spelled=True) == as_tetrad(*spelled)
        assert tetrad(label, spelled=False) == as_tetrad(*by_pitch)

    def test_sharp_nine_is_a_minor_third_by_pitch_only(self) -> None:
        assert triad("C:(1,#9,5)", spelled=True) is None
        assert triad("C:(1,#9,5)", spelled=False) == (position("b3"), position("5"))


class TestTable:
    def test_the_bass_stays_where_it_belongs_to_the_reduced_chord(self) -> None:
        table = encode_spelled(["C/3", "C/b7", "C:min7/2", "C/1", "C"], spelled=True)
        assert table.triad_bass.tolist() == [4, NONE, NONE, 0, NONE]
        assert table.tetrad_bass.tolist() == [4, 10, NONE, 0, NONE]

    def test_a_bass_is_recognised_by_pitch_where_spelling_is_dropped(self) -> None:
        labels = ["C:min(*b3,#9)/b3", "C:min/#2"]
        assert encode_spelled(labels, spelled=True).triad_bass.tolist() == [3, NONE]
        assert encode_spelled(labels, spelled=False).triad_bass.tolist() == [3, 3]

    def test_labels_that_are_not_chords_are_listed_and_read_as_no_chord(self) -> None:
        table = encode_spelled(["C", "oops", "N", "X", "G:(1,5)"], spelled=False)
        assert list(table.invalid) == [1]
        assert table.root.tolist() == [0, NONE, NONE, UNDEFINED, 7]
        assert table.triad.tolist() == [0, NONE, NONE, NONE, NONE]

    def test_no_labels_give_an_empty_table(self) -> None:
        assert encode_spelled([], spelled=True).root.shape == (0,)
