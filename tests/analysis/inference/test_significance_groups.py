from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mirflow.analysis.inference import letters, significance_groups


@st.composite
def relations(draw) -> np.ndarray:
    """Any symmetric relation of up to 9 systems."""
    count = draw(st.integers(1, 9))
    different = np.zeros((count, count), dtype=bool)
    for first, second in combinations(range(count), 2):
        different[first, second] = different[second, first] = draw(st.booleans())
    return different


def maximal_sets(different: np.ndarray) -> set[tuple[int, ...]]:
    """All of them, by looking at every set."""
    count = len(different)
    alike = [
        members
        for size in range(1, count + 1)
        for members in combinations(range(count), size)
        if not any(different[first, second] for first, second in combinations(members, 2))
    ]
    return {one for one in alike if not any(set(one) < set(other) for other in alike)}


@given(relations())
def test_sets_are_maximal_and_tell_exactly_who_differs(different):
    groups = significance_groups(different)
    assert {tuple(members) for members in groups} <= maximal_sets(different)
    assert len({tuple(members) for members in groups}) == len(groups)
    named = letters(groups, len(different))
    for first, second in combinations(range(len(different)), 2):
        assert bool(set(named[first]) & set(named[second])) == (not different[first, second])
    assert all(named)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=9), st.integers(1, 12))
def test_after_a_test_on_ranks_these_are_all_sets(ranks, critical):
    place = np.array(ranks)
    different = np.abs(place[:, np.newaxis] - place) > critical
    order = np.argsort(place, kind="stable")
    groups = significance_groups(different, order)
    assert {tuple(sorted(members)) for members in groups} == maximal_sets(different)
    best = [place[members].min() for members in groups]
    assert best == sorted(best)


def test_letters_run_on():
    groups = [[place] for place in range(54)]
    assert letters(groups, 54)[25:28] == ["z", "A", "B"]
    assert letters(groups, 54)[51:] == ["Z", "(53)", "(54)"]
