"""Expressions over coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.analysis.selection import LONGEST, holds
from mirflow.errors import QueryError, UnknownNameError

TRACKS = {
    "genre": np.array(["Rock", "Pop", "", "Rock"]),
    "year": np.array([1971.0, 1969.0, np.nan, 1985.0]),
    "bars": np.array([12, 16, 8, 12]),
    "live": np.array([True, False, False, True]),
    "title": np.array(["Help (live)", "Yesterday", "", "Hey"], dtype=np.dtypes.StringDType()),
    "opus number": np.array([1, 2, 3, 4]),
}


def places(expression: str) -> list[int]:
    return np.flatnonzero(holds(expression, TRACKS, 4)).tolist()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("genre == 'Rock'", [0, 3]),
        ("genre == 'Rock' and year < 1980", [0]),
        ("genre == 'Pop' or bars == 8", [1, 2]),
        ("not genre == 'Rock'", [1, 2]),
        ("1969 < year <= 1985", [0, 3]),
        ("1980 > year", [0, 1]),
        ("genre in ['Pop', 'Jazz']", [1]),
        ("genre not in ('Pop', 'Jazz')", [0, 3]),
        ("bars in {8, 16}", [1, 2]),
        ("'live' in title", [0]),
        ("'live' not in title", [1, 3]),
        ("live", [0, 3]),
        ("not live and bars > -1", [1, 2]),
        ("True", [0, 1, 2, 3]),
        ("col('opus number') >= 3", [2, 3]),
        ("bars == year", []),
    ],
)
def test_what_holds(expression: str, expected: list[int]) -> None:
    assert places(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("year is None", [2]),
        ("genre is not None", [0, 1, 3]),
        ("genre != 'Rock'", [1]),
        ("year != 1971", [1, 3]),
        ("genre == ''", []),
    ],
)
def test_what_has_no_value_compares_with_nothing_but_none(expression: str, expected: list[int]) -> None:
    assert places(expression) == expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("genre = 'Rock'", "not an expression"),
        ("", "not an expression"),
        ("genre ==", "not an expression"),
        ("genre", "genre is no condition; compare it with something"),
        ("year < 'x'", "'x' is text, and year is a number"),
        ("genre == 3", "genre is text, and 3 is a number"),
        ("bars in ['a']", "'a' is text"),
        ("bars in 3", "3 is no list and no text"),
        ("year is 1971", "1971 follows 'is'"),
        ("__import__('os').system('true')", "is no condition|is a call"),
        ("open('x') == 1", r"the only one is col\('a name'\)"),
        ("col(3) == 1", "needs a name in quotes"),
        ("genre.upper() == 'ROCK'", "is a call"),
        ("bars + 1 == 13", "is not allowed here"),
        ("(lambda: 1) == 1", "is not allowed here"),
        ("bars == [x for x in (1,)]", "is not allowed here"),
        ("-genre == 'x'", "is not allowed here"),
        ("'" + "a" * LONGEST + "' == genre", "at most 10000 characters"),
        ("(" * 3000 + "live" + ")" * 3000, "not an expression"),
        ("not " * 2000 + "live", "nested too deeply|not an expression"),
        ("a\0b", "not an expression"),
    ],
)
def test_everything_else_is_refused(expression: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        holds(expression, TRACKS, 4)


def test_unknown_names_come_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="unknown coordinate 'gnre'; did you mean 'genre'"):
        holds("gnre == 'Rock'", TRACKS, 4)


@given(st.lists(st.floats(-3, 3) | st.just(float("nan")), max_size=6), st.floats(-3, 3))
def test_comparisons_are_pythons(values: list[float], bound: float) -> None:
    columns = {"x": np.array(values, dtype=np.float64)}
    for text, one in (("<", lambda x: x < bound), (">=", lambda x: x >= bound), ("==", lambda x: x == bound)):
        assert holds(f"x {text} {bound!r}", columns, len(values)).tolist() == [one(x) for x in values]
