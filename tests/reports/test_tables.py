from __future__ import annotations

import csv
import io
import json
import math
import sys

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.errors import QueryError
from mirflow.reports.comparisons_tables import show_p
from mirflow.reports.layout import show_value
from mirflow.reports.tables import Table, Tabulation, full_width, merge, show_entry, to_markdown, to_text

ROWS = (("KO2", 0.79263874, 217), ("a long name", math.nan, 3))
TABLE = Table(("system", "majmin", "n"), ROWS, "title", ("note",))


def tabulation(table: Table) -> Tabulation:
    return Tabulation((), lambda width: [table], lambda: [table])


class TestText:
    def test_names_lose_what_they_share_and_their_middle_where_a_terminal_is_too_narrow(self):
        rows = (("model_2024_" + "a" * 30, "chord_0001", 0.8), ("model_2024_b", "chord_0002", 0.5))
        table = Table(("system", "track", "majmin"), rows, keys=2)
        assert rows[0][0] in to_text(table, 80, short=True)
        assert rows[0][0] in to_text(table, 40), "files and other programs get whole names"
        lines = to_text(table, 40, short=True).splitlines()
        assert [line.split() for line in lines[2:]] == [
            ["aaaaaaaaa…aaaaaaaa", "0001", "0.8000"],
            ["b", "0002", "0.5000"],
        ]

    def test_a_wide_terminal_draws_intervals_beside_their_values(self):
        table = Table(("system", "f"), (("A", "0.8 [0.72, 0.9]"), ("B", "0.5 [-]"), ("C", "0.6 [0.5, 0.7]")))
        lines = to_text(table, 120, charts=True).splitlines()
        assert lines[2] == "A        0.8 [0.72, 0.9]                ├───●─────┤"
        assert lines[3].split() == ["B", "0.5", "[-]"]
        assert lines[4] == "C         0.6 [0.5, 0.7]   ├─────●────┤"
        assert "●" not in to_text(table, 119, charts=True) + to_text(table, 120)

    def test_charts_that_have_no_room_are_left_out(self):
        names = tuple(f"metric {number}" for number in range(5))
        table = Table(("system", *names), tuple((name, *["0.8 [0.7, 0.9]"] * 5) for name in "AB"))
        assert to_text(table, 120, charts=True) == to_text(table, 120)

    def test_looks_like_this(self):
        expected = [
            "title",
            "system        majmin     n",
            "──────────────────────────",
            "KO2           0.7926   217",
            "a long name        -     3",
            "note",
        ]
        assert to_text(TABLE).splitlines() == expected

    def test_names_are_not_markup_and_cannot_steer_the_terminal(self):
        table = Table(("system",), (("[red]x[/red]",), ("\x1b[31mred",), ("two\nlines",)))
        assert to_text(table).splitlines()[2:] == ["[red]x[/red]", "\\x1b[31mred", "two\\nlines"]

    def test_numbers_are_never_cut(self):
        assert "0.7926" in to_text(TABLE, width=10)

    @pytest.mark.parametrize("value", [-0.0, -1e-9, -0.00004])
    def test_what_rounds_to_zero_has_no_sign(self, value):
        assert show_entry(value) == show_value(value, False) == "0.0000"
        assert show_value(value / 100, True) == "0.00"

    def test_prose_folds(self):
        table = Table(("metric", "what"), (("majmin", "word " * 40),), folds=("what",))
        assert max(map(len, to_text(table, width=60).splitlines())) <= 60
        assert to_text(table, width=60).count("word") == 40

    def test_wide_characters_count_double(self):
        assert full_width(Table(("日本",), ())) == 4

    def test_nothing_to_show(self):
        assert to_text(Table(("a",), ())).splitlines()[0] == "a"


class TestMarkdown:
    def test_looks_like_this(self):
        expected = [
            "title",
            "",
            "| system | majmin | n |",
            "|---|---|---|",
            "| KO2 | 0.7926 | 217 |",
            "| a long name | - | 3 |",
            "",
            "note  ",
        ]
        assert to_markdown(TABLE).splitlines() == expected


names = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=8)
entries = st.one_of(names, st.integers(-5, 5), st.floats(allow_infinity=False, allow_nan=False))


class TestForPrograms:
    @given(st.lists(st.tuples(entries, entries), max_size=4))
    def test_json_gives_everything_back(self, rows):
        back = json.loads(tabulation(Table(("a", "b"), tuple(rows))).to_json())
        assert [(row["a"], row["b"]) for row in back] == rows

    @given(st.lists(st.tuples(names, st.floats(allow_infinity=False, allow_nan=False)), max_size=4))
    def test_csv_keeps_full_precision(self, rows):
        back = list(csv.reader(io.StringIO(tabulation(Table(("a", "b"), tuple(rows))).to_csv(), newline="")))
        assert back[0] == ["a", "b"]
        assert [(name, float(number)) for name, number in back[1:]] == rows

    def test_nothing_is_null_or_empty(self):
        table = Table(("a", "b"), ((math.nan, None),))
        assert json.loads(tabulation(table).to_json()) == [{"a": None, "b": None}]
        assert tabulation(table).to_csv() == "a,b\n,\n"

    def test_what_is_infinite_is_not_nothing(self):
        table = Table(("a", "b"), ((math.inf, -math.inf),))
        assert json.loads(tabulation(table).to_json()) == [{"a": "inf", "b": "-inf"}]
        assert [float(text) for text in tabulation(table).to_csv().splitlines()[1].split(",")] == [math.inf, -math.inf]


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="a row of 1 entries under 2 columns"):
        Table(("a", "b"), ((1,),))


def test_tables_with_other_columns_merge():
    both = merge([Table(("a", "b"), ((1, 2),)), Table(("a", "c"), ((3, 4),))])
    assert both.columns == ("a", "b", "c")
    assert both.rows == ((1, 2, None), (3, None, 4))


def test_p_values():
    assert [show_p(p) for p in (0.04567, 0.00012, 0.00001234, 0.0, math.nan)] == [
        "0.0457", "0.0001", "1e-05", "0.0000", "-",
    ]  # fmt: skip


class TestParquet:
    """Parquet gives back what csv and json hold, with types."""

    @pytest.fixture(autouse=True)
    def pyarrow(self):
        pytest.importorskip("pyarrow")

    @staticmethod
    def back(tmp_path, *rows, columns=("name", "value", "n")) -> pd.DataFrame:
        tabulation(Table(columns, rows)).to_parquet(tmp_path / "x.parquet")
        return pd.read_parquet(tmp_path / "x.parquet")

    def test_texts_numbers_and_whole_numbers(self, tmp_path):
        frame = self.back(tmp_path, ("ä|b", 0.1, 217), ("c", 2, 3))
        assert frame["name"].tolist() == ["ä|b", "c"]
        assert frame["value"].tolist() == [0.1, 2.0]
        assert frame["n"].dtype == "int64"

    def test_what_is_not_there_is_null_and_infinity_is_not(self, tmp_path):
        frame = self.back(tmp_path, (None, math.nan, 1), ("x", math.inf, None))
        assert frame["name"].isna().tolist() == [True, False]
        assert frame["value"].isna().tolist() == [True, False]
        assert frame["value"][1] == math.inf
        assert frame["n"].isna().tolist() == [False, True]

    def test_mixed_columns_are_text(self, tmp_path):
        assert self.back(tmp_path, (1, 1.0, 1), ("x", 1.0, 1))["name"].tolist() == ["1", "x"]

    def test_no_rows(self, tmp_path):
        assert self.back(tmp_path).columns.tolist() == ["name", "value", "n"]

    def test_without_pyarrow_it_says_how_to_install_it(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(QueryError, match=r"pip install 'mirflow\[parquet\]' .*, or choose csv"):
            self.back(tmp_path)
