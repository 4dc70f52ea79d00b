from __future__ import annotations

import math

import pytest

from mirflow.errors import InvalidAnnotationError
from mirflow.published.mapping import parse_table, read_number
from mirflow.readers.patterns import Pattern


def test_rows_have_the_lines_of_the_file() -> None:
    table = parse_table('Rule\n\nFile,Score\n# not me\n"a,b", 1\n\nc,2\n', "x.csv", skip=1, comment="#")
    assert table.columns == ("File", "Score")
    assert [(row.line, row.fields) for row in table.rows] == [(5, ["a,b", "1"]), (7, ["c", "2"])]


def test_a_header_that_stands_again_is_no_row() -> None:
    table = parse_table("t,s\na,1\nt,s\nb,2\n", "x.csv")
    assert [row.fields[0] for row in table.rows] == ["a", "b"]


def test_headings_hold_for_the_rows_below_them() -> None:
    headings = Pattern("Algorithm {system}"), Pattern("{track}-{voices}")
    text = "Algorithm A\nP, R\nx-one\n1, 2\n\ny-y-two\n3, 4\nAlgorithm B\nP, R\nx-one\n5, 6\n"
    table = parse_table(text, "x.txt", headings=headings)
    found = [(row.values["system"], row.values["track"], row.values["voices"], row.fields[0]) for row in table.rows]
    assert found == [("A", "x", "one", "1"), ("A", "y-y", "two", "3"), ("B", "x", "one", "5")]


@pytest.mark.parametrize(
    ("delimiter", "line"), [(";", "a; 1"), ("\t", "a\t1"), (None, "  a   1 "), (",", '"a" , 1'), ("|", "a | 1")]
)
def test_delimiters(delimiter: str | None, line: str) -> None:
    table = parse_table(line, "x", delimiter=delimiter, header=("track", "score"))
    assert [table.text(table.rows[0], table.place(name)).strip('"') for name in table.columns] == ["a", "1"]


def test_columns_are_found_by_name_and_by_position() -> None:
    table = parse_table(",F,F,Track ID\n0,1,2,a\n", "x.csv")
    assert (table.place("Track ID"), table.place(1)) == (3, 1)
    with pytest.raises(InvalidAnnotationError, match=r"x.csv: no column 'Track Id'; did you mean 'Track ID'\?"):
        table.place("Track Id")
    with pytest.raises(InvalidAnnotationError, match="several columns are called 'F'; give a position"):
        table.place("F")
    with pytest.raises(InvalidAnnotationError, match="its columns have no names"):
        parse_table("1,2\n", "x.csv", header=False).place("F")


def test_a_short_row_is_named_with_its_line() -> None:
    table = parse_table("track,F\na,1\nb\n", "x.csv")
    with pytest.raises(InvalidAnnotationError, match=r"x.csv:3: a row of 1 field has no column 1 'F'"):
        table.text(table.rows[1], 1)


@pytest.mark.parametrize(
    ("text", "value", "decimals"),
    [
        ("78.250000", 78.25, 6),
        ("-0.0", 0.0, 1),
        ("5", 5.0, 0),
        ("1e-3", 0.001, 3),
        ("1.5e3", 1500.0, 0),
        ("+.5", 0.5, 1),
    ],
)
def test_numbers_tell_how_many_decimals_they_have(text: str, value: float, decimals: int) -> None:
    assert read_number(text) == (value, decimals)


@pytest.mark.parametrize("text", ["", "-", "NaN", "nan", "N/A", "NA", "None"])
def test_what_says_that_there_is_no_number(text: str) -> None:
    value, decimals = read_number(text)
    assert math.isnan(value)
    assert decimals == 0


def test_anything_else_is_no_number() -> None:
    with pytest.raises(ValueError, match="could not convert"):
        read_number("78 %")


def test_another_delimiter_is_named() -> None:
    table = parse_table("track;f\na;0,5\n", "x.csv")
    with pytest.raises(InvalidAnnotationError, match="or declare delimiter: semicolon"):
        table.place("track")
