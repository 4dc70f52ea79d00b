"""Parquet gives back what csv and json hold, with types."""

from __future__ import annotations

import math
import sys

import pandas as pd
import pytest

from mirflow.errors import QueryError
from mirflow.report.tables import Table, write_parquet

pytest.importorskip("pyarrow")


def back(tmp_path, *rows, columns=("name", "value", "n")) -> pd.DataFrame:
    write_parquet(Table(columns, rows), tmp_path / "x.parquet")
    return pd.read_parquet(tmp_path / "x.parquet")


def test_texts_numbers_and_whole_numbers(tmp_path):
    frame = back(tmp_path, ("ä|b", 0.1, 217), ("c", 2, 3))
    assert frame["name"].tolist() == ["ä|b", "c"]
    assert frame["value"].tolist() == [0.1, 2.0]
    assert frame["n"].dtype == "int64"


def test_what_is_not_there_is_null_and_infinity_is_not(tmp_path):
    frame = back(tmp_path, (None, math.nan, 1), ("x", math.inf, None))
    assert frame["name"].isna().tolist() == [True, False]
    assert frame["value"].isna().tolist() == [True, False]
    assert frame["value"][1] == math.inf
    assert frame["n"].isna().tolist() == [False, True]


def test_mixed_columns_are_text(tmp_path):
    assert back(tmp_path, (1, 1.0, 1), ("x", 1.0, 1))["name"].tolist() == ["1", "x"]


def test_no_rows(tmp_path):
    assert back(tmp_path).columns.tolist() == ["name", "value", "n"]


def test_without_pyarrow_it_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(QueryError, match=r"pip install '\.\[parquet\]' in mirflow's checkout, or choose csv or json"):
        write_parquet(Table(("a",), ()), tmp_path / "x.parquet")
