"""Sizes of intersections, against Python's sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.kernels.ragged_ops import common

sets = st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=6)


def flat(several: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    members = np.array([member for one in several for member in one], dtype=np.int64)
    return members, np.array([len(one) for one in several], dtype=np.int64)


@given(sets, sets, st.sampled_from((1, 20, 1 << 21)))
def test_sizes_are_those_of_pythons_sets(left: list[list[int]], right: list[list[int]], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mirflow.kernels.ragged_ops._LIMIT", limit)
        found = common(*flat(left), *flat(right))
    assert found.tolist() == [[len(set(one) & set(other)) for other in right] for one in left]
