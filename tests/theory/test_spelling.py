"""Spelled degrees, and what a chord is reduced to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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

    def test_a_list_adds_and_with_a_star_omits(self) -> None:
        assert parse_spelled("C:min7(2,*b3,4)").degrees == degrees("1", "5", "b7", "2", "4")

    def test_what_a_shorthand_implies_beyond_the_octave_is_not_counted(self) -> None:
        assert parse_spelled("C:9").degrees == degrees("1", "3", "5", "b7")
        assert parse_spelled("C:13").degrees == degrees("1", "3", "5", "b7")

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
        ("labels", "third", "fifth"),
        [
            # The bass can make a chord major; neither a missing fifth nor a missing root matters.
            ("C C:min/3 C:maj(*5) C:maj(*1)/5 C:(3,4)", "3", "5"),
            ("C:min7 C:dim7/5", "b3", "5"),  # a perfect fifth goes before an altered one
            ("C:sus4 C:(1,4,b5)", "4", "5"),  # a suspended chord always has a perfect fifth
            ("C:sus2", "2", "5"),
            ("C:aug C:(3,b5,#5)", "3", "#5"),
            ("C:dim C:(b3,b5,#5)", "b3", "b5"),
            ("C:(3,b5)", "3", "b5"),
            ("C:(b3,#5)", "b3", "#5"),
        ],
    )
    def test_third_then_fifth(self, labels: str, third: str, fifth: str) -> None:
        for label in labels.split():
            assert triad(label) == (position(third), position(fifth)), label

    @pytest.mark.parametrize(
        "label", ["C:(1,5)", "C:(1)", "C:sus4(2)", "C:maj(*3)", "C:9(*3)", "C:(7)", "C:5", "C:min7(2,*b3,4)"]
    )
    def test_without_a_third_and_with_both_or_neither_of_2_and_4_there_is_none(self, label: str) -> None:
        assert triad(label) is None

    def test_the_implied_ninth_is_no_second(self) -> None:
        assert triad("C:9(*3,11)") == (position("4"), position("5"))


class TestTetrad:
    @pytest.mark.parametrize(
        ("labels", "expected"),
        [
            ("C", as_tetrad("3", "5")),
            ("C/b7 C:7(13) C:maj7/b7", as_tetrad("3", "5", "b7")),
            ("C/7", as_tetrad("3", "5", "7")),
            ("C/6 C:maj(13)", as_tetrad("3", "5", "6")),
            ("C:min/b7", as_tetrad("b3", "5", "b7")),
            ("C:hdim7", as_tetrad("b3", "b5", "b7")),
            ("C:dim7", as_tetrad("b3", "b5", "bb7")),
            ("C:dim(7) C:dim(6)", as_tetrad("b3", "b5")),  # 7 and 6 do not count over a diminished triad
            ("C:aug(7)", as_tetrad("3", "#5", "7")),
            ("C:aug(6)", as_tetrad("3", "#5")),  # nor does 6 with any altered fifth
        ],
    )
    def test_first_of_b7_7_and_6(self, labels: str, expected: tuple[int, int, int | None]) -> None:
        assert {tetrad(label) for label in labels.split()} == {expected}


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
