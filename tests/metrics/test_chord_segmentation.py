"""Agreement of chord boundaries for one pair."""

from __future__ import annotations

import mir_eval
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirflow.metrics import chord
from tests.chord_strategies import labels

FUNCTIONS = ("directional_hamming_distance", "overseg", "underseg", "seg")


@st.composite
def disjoint_intervals(draw: st.DrawFn) -> np.ndarray:
    """Intervals in order, some with gaps between them, on a grid of eighths so that boundaries meet."""
    steps = draw(st.lists(st.integers(1, 20), min_size=2, max_size=16))
    times = np.cumsum([draw(st.integers(0, 12)), *steps]) / 8
    rows = np.column_stack((times[:-1], times[1:]))
    keep = np.array(draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    keep[draw(st.integers(0, len(rows) - 1))] = True
    return rows[keep]


@given(reference=disjoint_intervals(), estimate=disjoint_intervals())
@pytest.mark.parametrize("name", FUNCTIONS)
def test_scores_are_mir_evals(name: str, reference: np.ndarray, estimate: np.ndarray) -> None:
    expected = getattr(mir_eval.chord, name)(reference, estimate)
    assert getattr(chord, name)(reference, estimate) == pytest.approx(expected, abs=1e-12)


@given(reference=disjoint_intervals())
def test_a_sequence_agrees_with_itself(reference: np.ndarray) -> None:
    assert chord.directional_hamming_distance(reference, reference) == 0.0
    assert chord.seg(reference, reference) == 1.0


def test_seg_is_the_smaller_one() -> None:
    coarse, fine = np.array([[0.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 4.0]])
    assert (chord.overseg(coarse, fine), chord.underseg(coarse, fine), chord.seg(coarse, fine)) == (0.75, 1.0, 0.75)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("intervals", "message"),
    [
        ([[0.0, 1.0], [0.9, 2.0]], "^Chord Intervals must not overlap$"),
        ([[0.0, 1.0], [1.0, 1.0]], "^All interval durations must be strictly positive$"),
        ([[-1.0, 1.0]], "^Negative interval times found$"),
        ([[0.0, 1.0, 2.0]], r"^Intervals should be n-by-2 numpy ndarray, but shape=\(1, 3\)$"),
    ],
)
def test_bad_intervals_are_refused_with_mir_evals_messages(
    name: str, intervals: list[list[float]], message: str
) -> None:
    bad, good = np.array(intervals), np.array([[0.0, 2.0]])
    sides = (good, bad) if name == "underseg" else (bad, good)
    with pytest.raises(ValueError, match=message):
        getattr(chord, name)(*sides)


def test_the_distance_from_nothing_is_not_defined() -> None:
    with pytest.raises(ValueError, match="from no intervals is not defined"):
        chord.directional_hamming_distance(np.zeros((0, 2)), np.array([[0.0, 2.0]]))


def test_nothing_cuts_nothing() -> None:
    assert chord.directional_hamming_distance(np.array([[0.0, 2.0]]), np.zeros((0, 2))) == 0.0


@given(many=st.lists(st.tuples(labels, st.integers(1, 3)), max_size=10))
def test_runs_of_the_same_chord_are_merged_as_by_mir_eval(many: list[tuple[str, int]]) -> None:
    named = [label for label, count in many for _ in range(count)]
    intervals = np.arange(2.0 * len(named)).reshape(-1, 2)
    expected = mir_eval.chord.merge_chord_intervals(intervals, named).reshape(-1, 2)
    np.testing.assert_array_equal(chord.merge_chord_intervals(intervals, named), expected, strict=True)


def test_labels_and_intervals_must_be_as_many() -> None:
    with pytest.raises(ValueError, match=r"^1 intervals need as many labels, got 2$"):
        chord.merge_chord_intervals(np.array([[0.0, 1.0]]), ["C", "G"])
