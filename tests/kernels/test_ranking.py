"""Look-ups of judged items in lists, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.kernels import ranking as judged
from mirflow.kernels.ranking import ideal, meet_judged, repeated

distinct = st.lists(st.integers(-1, 9), unique=True, max_size=8)
rows = st.lists(distinct, min_size=1, max_size=5)


def flat(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    joined = [item for one in lists for item in one]
    return np.array(joined, dtype=np.int64), np.array([len(one) for one in lists], dtype=np.int64)


@pytest.mark.parametrize(("table", "items"), [(2**20, 2**18), (1, 1), (30, 4)])
@given(data=st.data(), left=rows, right=rows)
def test_judged_items_are_found_at_their_places(table, items, data, left, right):
    pairs = data.draw(
        st.lists(st.tuples(st.integers(0, len(left) - 1), st.integers(0, len(right) - 1)), max_size=6), "pairs"
    )
    expected = [
        (number, place, sum(map(len, left[:one])) + left[one].index(item))
        for number, (one, two) in enumerate(pairs)
        for place, item in enumerate(right[two])
        if item >= 0 and item in left[one]
    ]
    index = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judged, "_TABLE", table)
        patch.setattr(judged, "_ITEMS", items)
        found = meet_judged(*flat(left), *flat(right), index[:, 0], index[:, 1])
    assert list(zip(found.pair.tolist(), found.place.tolist(), found.judged.tolist(), strict=True)) == expected


@given(st.lists(st.lists(st.integers(0, 5), max_size=8), max_size=5))
def test_repeated_items_and_their_first_places(lists):
    items, counts = flat(lists)
    start, expected = 0, []
    for one in lists:
        expected += [
            (start + place, start + one.index(item)) for place, item in enumerate(one) if one.index(item) < place
        ]
        start += len(one)
    again, first = repeated(items, counts)
    assert list(zip(again.tolist(), first.tolist(), strict=True)) == expected


@given(st.lists(st.lists(st.floats(0, 5), max_size=6), max_size=5))
def test_the_ideal_order_of_each_row(lists):
    values = np.array([value for one in lists for value in one], dtype=np.float64)
    counts = np.array([len(one) for one in lists], dtype=np.int64)
    assert ideal(values, counts).tolist() == [value for one in lists for value in sorted(one, reverse=True)]
