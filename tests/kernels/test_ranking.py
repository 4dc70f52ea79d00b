"""Ranked lists: judged items are met, and areas computed, as item by item and as in scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from mirflow.kernels.ranking import Ordered, average_precision, meet_judged, repeated
from mirflow.ragged import Int, offsets_of

unique = st.lists(st.lists(st.integers(0, 9), max_size=6, unique=True), min_size=1, max_size=5)


def flat(rows: list[list[int]]) -> tuple[Int, Int]:
    items = np.array([item for row in rows for item in row], dtype=np.int64)
    return items, np.array([len(row) for row in rows], dtype=np.int64)


@given(unique, unique, st.data())
def test_judged_items_are_met_where_the_lists_of_any_pairs_hold_them(
    judged: list[list[int]], listed: list[list[int]], data: st.DataObject
) -> None:
    one, other = st.integers(0, len(judged) - 1), st.integers(0, len(listed) - 1)
    chosen = data.draw(st.lists(st.tuples(one, other), max_size=8))
    own, lists = np.array(chosen, dtype=np.int64).reshape(-1, 2).T
    found = meet_judged(*flat(judged), *flat(listed), own, lists)
    expected = [
        (pair, place, offset + judged[row].index(item))
        for pair, (row, column) in enumerate(chosen)
        for offset in [sum(map(len, judged[:row]))]
        for place, item in enumerate(listed[column])
        if item in judged[row]
    ]
    assert [*zip(found.pair.tolist(), found.place.tolist(), found.judged.tolist(), strict=True)] == expected


def test_items_of_every_second_list_are_not_those_of_the_list_between() -> None:
    listed, counts = flat([[1, 2], [7, 8], [3, 4]])
    pairs = np.array([0, 0]), np.array([0, 2])
    found = meet_judged(np.array([7, 4]), np.array([2]), listed, counts, *pairs)
    assert (found.pair.tolist(), found.place.tolist(), found.judged.tolist()) == ([1], [1], [1])


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), min_size=1, max_size=5))
def test_repeated_items_are_those_that_occur_before_in_their_row(rows: list[list[int]]) -> None:
    again, first = repeated(*flat(rows))
    starts = offsets_of(flat(rows)[1]).tolist()
    expected = [
        (start + place, start + row.index(item))
        for start, row in zip(starts, rows, strict=False)
        for place, item in enumerate(row)
        if item in row[:place]
    ]
    assert [*zip(again.tolist(), first.tolist(), strict=True)] == expected


@pytest.mark.parametrize("seed", range(3))
def test_areas_of_rows_with_ties_are_those_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    row, relevant, affinity = np.arange(3).repeat(20), rng.random(60) < 0.4, rng.integers(0, 8, 60).astype(float)
    shuffled = rng.permutation(60)
    ordered = Ordered.of(row[shuffled], relevant[shuffled], affinity[shuffled], 4)
    roc, precision = ordered.roc_auc(), ordered.average_precision()
    for number in range(3):
        sides = relevant[row == number], affinity[row == number]
        assert roc[number] == pytest.approx(roc_auc_score(*sides), abs=1e-12)
        assert precision[number] == pytest.approx(average_precision_score(*sides), abs=1e-12)
    assert np.isnan([roc[3], precision[3]]).all()


def test_average_precision_of_counts_is_that_of_the_ranking() -> None:
    having, every = np.array([[1.0, 1.0, 2.0], [0.0, 0.0, 0.0]]), np.array([[1.0, 2.0, 3.0]] * 2)
    expected = average_precision_score([True, False, True], [0.9, 0.8, 0.7])
    np.testing.assert_allclose(average_precision(having, every), [expected, np.nan], rtol=1e-12)


def test_precision_at_k_counts_the_first_items_also_where_there_are_fewer() -> None:
    row, relevant = np.array([0, 0, 0, 1]), np.array([True, False, True, True])
    ordered = Ordered.of(row, relevant, np.array([0.9, 0.8, 0.7, 0.5]), 2)
    assert ordered.precision_at(2).tolist() == [0.5, 0.5]
    assert ordered.precision_at(3).tolist() == pytest.approx([2 / 3, 1 / 3])
