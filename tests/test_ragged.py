"""Ragged rows: what is taken, kept and joined is exactly what was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.ragged import Ragged, concatenate, offsets_of, ranges, rows_of

ROWS = st.lists(st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=6)


def ragged(rows: list[list[int]], labels: tuple[str, ...] = tuple("abcdef")) -> Ragged:
    flat = np.array([value for row in rows for value in row], dtype=np.int64)
    counts = np.array([len(row) for row in rows], dtype=np.int64)
    return Ragged({"label": flat, "time": flat * 0.5}, (counts,), labels)


def unpack(rows: Ragged) -> list[list[str]]:
    texts = [rows.labels[code] for code in rows.columns["label"]]
    return [texts[a:b] for a, b in zip(rows.offsets, rows.offsets[1:], strict=False)]


def test_ranges_concatenates_one_arange_per_row() -> None:
    assert ranges(np.array([3, 0, 9]), np.array([2, 0, 1])).tolist() == [3, 4, 9]
    assert offsets_of(np.array([2, 0, 1])).tolist() == [0, 2, 2, 3]
    assert rows_of(np.array([2, 0, 1])).tolist() == [0, 0, 2]


@given(ROWS, st.data())
def test_take_gives_the_named_rows_in_the_named_order(rows: list[list[int]], data: st.DataObject) -> None:
    order = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8))
    expected = [["abcdef"[code] for code in rows[row]] for row in order]
    assert unpack(ragged(rows).take(order)) == expected


@given(ROWS)
def test_keep_drops_items_but_no_row(rows: list[list[int]]) -> None:
    whole = ragged(rows)
    kept = whole.keep(whole.columns["label"] > 2)
    assert len(kept) == len(rows)
    assert unpack(kept) == [["abcdef"[code] for code in row if code > 2] for row in rows]


@given(ROWS, ROWS)
def test_concatenate_joins_rows_under_one_vocabulary(left: list[list[int]], right: list[list[int]]) -> None:
    a, b = ragged(left), ragged(right, tuple("fedcba"))
    assert unpack(concatenate([a, b])) == unpack(a) + unpack(b)


def test_concatenate_keeps_no_label_as_no_label() -> None:
    one = Ragged({"label": np.array([-1, 0])}, (np.array([2]),), ("x",))
    assert concatenate([one, one]).columns["label"].tolist() == [-1, 0, -1, 0]


def test_nested_rows_are_taken_with_all_their_inner_items() -> None:
    frames = Ragged(
        {"time": np.array([0.0, 0.1, 0.0]), "frequency": np.array([100.0, 200.0, 300.0, 400.0])},
        (np.array([2, 1]), np.array([1, 2, 1])),
        depths={"time": 1},
    )
    second = frames.take([1])
    assert second.columns["time"].tolist() == [0.0]
    assert second.columns["frequency"].tolist() == [400.0]
    assert [counts.tolist() for counts in frames.take([1, 0]).counts] == [[1, 2], [1, 1, 2]]


def test_columns_that_do_not_fit_the_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="column 'time' has 3 items, the counts say 2"):
        Ragged({"time": np.zeros(3)}, (np.array([1, 1]),))
    with pytest.raises(ValueError, match="nested counts do not fit"):
        Ragged({"time": np.zeros(3)}, (np.array([2]), np.array([3])))


def test_items_of_nested_rows_cannot_be_dropped() -> None:
    nested = Ragged({"time": np.zeros(1)}, (np.array([1]), np.array([1])))
    with pytest.raises(ValueError, match="depth 1"):
        nested.keep(np.array([True]))


def test_nothing_or_different_columns_cannot_be_joined() -> None:
    with pytest.raises(ValueError, match="nothing to concatenate"):
        concatenate([])
    with pytest.raises(ValueError, match="columns differ"):
        concatenate([Ragged({"a": np.zeros(1)}, (np.array([1]),)), Ragged({"b": np.zeros(1)}, (np.array([1]),))])
