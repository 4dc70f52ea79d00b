"""mir_eval's chord functions for one pair."""

from __future__ import annotations

import warnings

import mir_eval
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mirflow.errors import MirflowWarning
from mirflow.metrics import chord
from tests.chord_strategies import labels

Annotation = tuple[np.ndarray, list[str]]

NOTHING_COMPARABLE = r"^No reference chords were comparable to estimated chords, returning 0\.$"

_few = st.sampled_from(("C", "C:7", "C:maj(9)", "C:9", "G", "G/3", "A:min", "N", "X", "C:5"))


@st.composite
def annotations(draw: st.DrawFn, min_size: int = 1) -> Annotation:
    """Chords in order of time, some with gaps between them, on a grid of quarters so that boundaries meet."""
    steps = draw(st.lists(st.integers(1, 8), min_size=min_size, max_size=12))
    starts = draw(st.integers(0, 12)) + np.cumsum([0, *steps])
    gaps = np.array(draw(st.lists(st.sampled_from((0, 0, 0, 1)), min_size=len(steps), max_size=len(steps))), dtype=int)
    ends = np.maximum(starts[1:] - gaps, starts[:-1] + 1) if steps else starts[1:]
    named = draw(st.lists(st.one_of(_few, _few, labels), min_size=len(steps), max_size=len(steps)))
    return np.column_stack((starts[:-1], ends)) / 4, named


def theirs(reference: Annotation, estimate: Annotation) -> dict[str, float] | str:
    """mir_eval's scores, or the message of its ValueError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            scores = mir_eval.chord.evaluate(reference[0], list(reference[1]), estimate[0], list(estimate[1]))
        except ValueError as error:
            return str(error)
    return {name: float(score) for name, score in scores.items()}


def ours(reference: Annotation, estimate: Annotation) -> dict[str, float] | str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MirflowWarning)
        try:
            return dict(chord.evaluate(*reference, *estimate))
        except ValueError as error:
            return str(error)


@given(reference=annotations(), estimate=annotations(min_size=0))
@example((np.array([[2.0, 4.0]]), ["C"]), (np.array([[1.0, 2.0], [3.0, 4.0]]), ["C", "C"]))  # touches it, goes on later
@example((np.array([[0.0, 2.0]]), ["C"]), (np.array([[5.0, 6.0]]), ["C"]))  # starts after the reference ends
@example((np.array([[3.0, 4.0]]), ["C"]), (np.array([[0.0, 3.0]]), ["C"]))  # touches it
@example((np.array([[3.0, 4.0]]), ["N"]), (np.array([[0.0, 1.0], [1.0, 2.0]]), ["C", "G"]))  # ends before it starts
def test_scores_and_errors_are_mir_evals(reference: Annotation, estimate: Annotation) -> None:
    expected = theirs(reference, estimate)
    found = ours(reference, estimate)
    if isinstance(expected, str):
        assert found == expected
    else:
        assert isinstance(found, dict)
        assert list(found) == list(expected)
        assert found == pytest.approx(expected, abs=1e-9)


def test_the_callers_labels_are_not_changed() -> None:
    estimated = ["C"]
    chord.evaluate(np.array([[0.0, 4.0]]), ["C"], np.array([[1.0, 2.0]]), estimated)
    assert estimated == ["C"]


def test_each_rule_without_anything_comparable_warns() -> None:
    times = np.array([[0.0, 1.0]])
    with pytest.warns(MirflowWarning, match=NOTHING_COMPARABLE) as seen:
        found = chord.evaluate(times, ["C:aug"], times, ["C:aug"])
    without = [name for name, score in found.items() if score == 0.0]
    assert without == ["majmin", "majmin_inv", "sevenths", "sevenths_inv"]
    assert len(seen) == len(without)
    assert {warning.filename for warning in seen} == {__file__}


GOOD = np.array([[0.0, 1.0], [1.0, 2.0]]), ["C", "G"]


@pytest.mark.parametrize(
    ("reference", "estimate", "message"),
    [
        (([[0.0, 1.5], [1.0, 2.0]], ["C", "G"]), GOOD, "^Chord Intervals must not overlap$"),
        (GOOD, ([[0.0, 1.5], [1.0, 2.0]], ["C", "G"]), "^Chord Intervals must not overlap$"),
        (([[0.0, 1.0], [1.0, 1.0]], ["C", "G"]), GOOD, "^All interval durations must be strictly positive$"),
        (GOOD, ([[0.0, 1.0], [1.0, 1.0]], ["C", "G"]), "^All interval durations must be strictly positive$"),
        (GOOD, ([[0.0, 2.0], [2.0, 3.0]], ["C", "G"]), "^All interval durations must be strictly positive$"),  # touches
        (([[-1.0, 1.0], [1.0, 2.0]], ["C", "G"]), GOOD, "^Negative interval times found$"),
        (([[1.0, 2.0], [0.0, 1.0]], ["C", "G"]), GOOD, r"^Time intervals do not align; did you mean to call 'adjust"),
        (([], []), GOOD, "zero-size array to reduction operation"),
    ],
)
def test_bad_intervals_are_refused_as_by_mir_eval(reference: Annotation, estimate: Annotation, message: str) -> None:
    for module in (chord, mir_eval.chord):
        with pytest.raises(ValueError, match=message):
            module.evaluate(np.array(reference[0]), list(reference[1]), np.array(estimate[0]), list(estimate[1]))


@pytest.mark.parametrize(
    ("intervals", "named", "message"),
    [
        ([[0.0, 2.0]], ["C", "G"], r"^1 intervals need as many labels, got 2$"),
        ([[0.0, np.nan], [0.5, 2.0]], ["C", "G"], r"^Interval times must be finite, and not beyond 1e\+09$"),
        # one chord within itself
        ([[0.0, 1.5], [0.5, 1.0], [1.0, 2.0]], ["C", "C", "C"], r"^Chord Intervals must not overlap$"),
    ],
)
def test_what_mir_eval_scores_by_accident_or_trips_over_is_refused(
    intervals: list[list[float]], named: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        chord.evaluate(np.array([[0.0, 2.0]]), ["C"], np.array(intervals), named)


def test_a_reference_must_be_finite_but_an_estimate_may_go_on_for_ever() -> None:
    endless, finite = np.array([[0.0, np.inf]]), np.array([[0.0, 2.0]])
    assert chord.evaluate(finite, ["C"], endless, ["C"])["root"] == 1.0
    with pytest.raises(ValueError, match=r"^Interval times must be finite, and not beyond 1e\+09$"):
        chord.evaluate(endless, ["C"], finite, ["C"])


@pytest.mark.parametrize("label", ["H:maj", "C:maj11"])
def test_labels_that_are_no_chords_are_refused_on_either_side(label: str) -> None:
    times = np.array([[0.0, 1.0]])
    for named in ((label, "C"), ("C", label)):
        with pytest.raises(chord.InvalidChordException):
            chord.evaluate(times, [named[0]], times, [named[1]])


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
    with pytest.raises(ValueError, match="the directional Hamming distance is undefined without intervals"):
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
