"""The segment scores of one pair: the same numbers, errors and warnings as mir_eval's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mir_eval
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mirflow.errors import MirflowWarning
from mirflow.metrics import segment

from .segment_pairs import Segments, exact_information, intervals_of, messy_segments, mir_eval_scores, segments

BOUNDARY = ("detection", "deviation")
STRUCTURE = ("pairwise", "rand_index", "ari", "mutual_information", "nce", "vmeasure")


def rows(*given: tuple[float, float, str]) -> Segments:
    return [row[0] for row in given], [row[1] for row in given], [row[2] for row in given]


def ours(reference: Segments, estimate: Segments, **parameters: Any) -> dict[str, float] | str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MirflowWarning)
        try:
            scores = segment.evaluate(
                intervals_of(reference), reference[2], intervals_of(estimate), estimate[2], **parameters
            )
        except ValueError as error:
            return str(error)
    return dict(scores)


def outcome(call: Callable[[], Any]) -> list[float] | str:
    """The numbers that a function returns, or the message of its ValueError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [float(value) for value in np.atleast_1d(call())]
        except ValueError as error:
            return str(error)


HALVES = rows((0.0, 2.0, "a"), (2.0, 4.0, "b"))


@given(segments() | messy_segments(), segments() | messy_segments())
@settings(max_examples=75, deadline=None)
@example(rows((0.0, 2.0, "a")), rows((0.0, 2.0, "a"), (2.0, 3.0, "b")))  # touches the reference's end
@example(HALVES, rows((0.0, 1.0, "a"), (4.5, 5.0, "b"), (1.0, 2.0, "c"), (2.0, 4.0, "a")))  # one begins behind its end
@example(rows((0.0, 2.0, "a")), rows((-1.0, 1.0, "a")))
@example(rows((-3.0, -1.0, "a"), (0.0, 1.0, "b")), rows((0.0, 1.0, "a")))
@example(rows((0.0, 0.0, "a"), (0.0, 1.0, "b")), rows((0.0, 1.0, "a")))
@example(rows((1.0, 0.5, "a"), (1.0, 2.0, "b")), rows((0.0, 1.0, "a")))
def test_scores_and_errors_are_mir_evals(reference: Segments, estimate: Segments) -> None:
    expected = mir_eval_scores(reference, estimate)
    found = ours(reference, estimate)
    if isinstance(expected, str):
        if expected.startswith("zero-size array"):  # all rows come after one that starts too late
            expected = found
            assert isinstance(found, str)
        assert found == expected
    else:
        assert isinstance(found, dict)
        assert list(found) == list(expected)
        assert found == pytest.approx(expected | exact_information(reference, estimate), abs=1e-9, nan_ok=True)


PARAMETERS = [{"trim": True, "beta": 2.0}, {"frame_size": 0.25, "beta": 0.5}, {"marginal": True}]


@given(segments(min_size=1), segments(min_size=1), st.sampled_from(PARAMETERS))
@settings(max_examples=40, deadline=None)
def test_keyword_arguments_mean_the_same(reference: Segments, estimate: Segments, parameters: dict[str, Any]) -> None:
    expected = mir_eval_scores(reference, estimate, **parameters)
    found = ours(reference, estimate, **parameters)
    if isinstance(expected, dict):
        expected |= exact_information(reference, estimate, parameters.get("frame_size", 0.1))
        assert found == pytest.approx(expected, abs=1e-9, nan_ok=True)
    else:
        assert found == expected


@given(messy_segments(), messy_segments(), st.sampled_from([0.1, 0.5, 3.0]), st.booleans())
@settings(max_examples=50, deadline=None)
@pytest.mark.parametrize("name", BOUNDARY)
def test_boundary_functions_one_by_one(name, reference, estimate, window, trim) -> None:
    sides = intervals_of(reference), intervals_of(estimate)
    given_here = {"trim": trim} | ({"window": window, "beta": 0.5} if name == "detection" else {})
    expected = outcome(lambda: getattr(mir_eval.segment, name)(*sides, **given_here))
    found = outcome(lambda: getattr(segment, name)(*sides, **given_here))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@st.composite
def same_span(draw: st.DrawFn) -> tuple[Segments, Segments]:
    """Two sides that start at 0 and end together, in any order of rows."""
    sides = []
    for _ in range(2):
        starts, _, labels = draw(segments(min_size=1))
        times = np.unique([0.0, *(np.array(starts) - starts[0]), 20.0])
        times = times[times <= 20.0]
        order = draw(st.permutations(range(len(times) - 1)))
        names = [labels[i % len(labels)] for i in order]
        sides.append(([float(times[i]) for i in order], [float(times[i + 1]) for i in order], names))
    return sides[0], sides[1]


def labels_on_frames(side: Segments, frame_size: float) -> int:
    """How many different labels the frames of a side have; short segments may lie between two frames."""
    _, labels = mir_eval.util.intervals_to_samples(intervals_of(side), side[2], sample_size=frame_size)
    return len({str(label).lower() for label in labels})


@given(same_span(), st.sampled_from([0.1, 0.37, 1]))
@settings(max_examples=30, deadline=None)
@pytest.mark.parametrize("name", STRUCTURE)
def test_structure_functions_one_by_one(name: str, pair: tuple[Segments, Segments], frame_size: float) -> None:
    sides = intervals_of(pair[0]), pair[0][2], intervals_of(pair[1]), pair[1][2]
    expected = outcome(lambda: getattr(mir_eval.segment, name)(*sides, frame_size))
    found = outcome(lambda: getattr(segment, name)(*sides, frame_size))
    if name == "mutual_information" and 1 in (labels_on_frames(side, frame_size) for side in pair):
        expected, found = expected[:2], found[:2]  # what mir_eval normalises is rounding error here
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_labels_need_not_be_text() -> None:
    times = np.array([[0.0, 1.0], [1.0, 3.0]])
    assert segment.nce(times, [1, 2], times, [None, 2.5]) == (1.0, 1.0, 1.0)
    assert segment.evaluate(times, [1, 2], times, [None, 2.5])["NCE F-measure"] == 1.0


def test_the_callers_labels_are_left_alone() -> None:
    labels = ["a"]
    segment.evaluate(np.array([[1.0, 3.0]]), labels, np.array([[1.0, 2.0]]), labels)
    assert labels == ["a"]


@pytest.mark.parametrize("name", STRUCTURE)
@pytest.mark.parametrize(
    ("intervals", "labels", "message"),
    [
        (np.arange(4), list("abcd"), "Intervals should be n-by-2 numpy ndarray"),
        (np.array([[-1.0, 2.0]]), ["a"], "Negative interval times found"),
        (np.array([[2.0, 1.0]]), ["a"], "All interval durations must be strictly positive"),
        (np.array([[0.0, 1.0]]), ["a", "b"], "Number of intervals does not match number of labels"),
        (np.array([[1.0, 2.0]]), ["a"], "Segment intervals do not start at 0"),
    ],
)
def test_structure_functions_refuse_with_mir_evals_words(name, intervals, labels, message) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(segment, name)(intervals, labels, intervals, labels)


@pytest.mark.parametrize("name", STRUCTURE)
def test_sides_that_end_at_different_times_are_refused(name: str) -> None:
    short, long = np.array([[0.0, 2.0]]), np.array([[0.0, 3.0]])
    with pytest.raises(ValueError, match=r"^End times do not match$"):
        getattr(segment, name)(short, ["a"], long, ["a"])
    nearly = np.array([[0.0, 300.0]]), np.array([[0.0, 299.999]])
    with pytest.raises(ValueError, match=r"^the numbers of frames differ: 3000 and 2999$"):
        getattr(segment, name)(nearly[0], ["a"], nearly[1], ["a"])


@pytest.mark.parametrize("name", STRUCTURE)
def test_empty_sides_warn_and_score_0(name: str) -> None:
    nothing, one = np.zeros((0, 2)), np.array([[0.0, 1.0]])
    with pytest.warns(MirflowWarning, match=r"^Reference intervals are empty\.$"):
        assert not np.any(getattr(segment, name)(nothing, [], one, ["a"]))
    with pytest.warns(MirflowWarning, match=r"^Estimated intervals are empty\.$"):
        assert not np.any(getattr(segment, name)(one, ["a"], nothing, []))


@pytest.mark.parametrize("name", ["rand_index", "ari"])
def test_single_scores_of_empty_sides_are_single_numbers(name: str) -> None:
    nothing = np.zeros((0, 2))
    with pytest.warns(MirflowWarning, match="intervals are empty"):
        assert getattr(segment, name)(nothing, [], nothing, []) == 0.0


def test_a_window_is_refused_as_both_windows_are_in_the_result() -> None:
    times = np.array([[0.0, 8.0]])
    with pytest.raises(TypeError, match="unexpected keyword argument 'window'"):
        segment.evaluate(times, ["a"], times, ["a"], window=10.0)


def test_trimming_away_everything_is_warned_of() -> None:
    times = np.array([[0.0, 1.0]])
    with pytest.warns(MirflowWarning, match="intervals are empty"):
        found = segment.evaluate(times, ["a"], times, ["a"], trim=True)
    assert (found["F-measure@0.5"], found["Rand Index"]) == (0.0, 1.0)
    assert np.isnan(found["Ref-to-est deviation"])


@pytest.mark.parametrize("size", [0.0, -0.1, float("nan")])
def test_frames_need_a_length(size: float) -> None:
    times = np.array([[0.0, 1.0]])
    with pytest.raises(ValueError, match="the frame size must be greater than 0"):
        segment.ari(times, ["a"], times, ["a"], frame_size=size)
    with pytest.raises(ValueError, match="the frame size must be greater than 0"):
        segment.evaluate(times, ["a"], times, ["a"], frame_size=size)


def test_times_far_too_late_for_frames_are_refused() -> None:
    times = np.array([[0.0, 1e8]])
    for call in (segment.pairwise, segment.evaluate):
        with pytest.raises(ValueError, match=r"frames of 0\.1 s"):
            call(times, ["a"], times, ["a"])


def test_a_reference_must_be_finite_but_an_estimate_may_go_on_for_ever() -> None:
    endless, finite = np.array([[0.0, np.inf]]), np.array([[0.0, 2.0]])
    assert segment.evaluate(finite, ["a"], endless, ["a"])["F-measure@0.5"] == 1.0
    with pytest.raises(ValueError, match=r"^Interval times must be finite, and not beyond 1e\+09$"):
        segment.evaluate(endless, ["a"], finite, ["a"])
