"""mir_eval's functions for one pair of hierarchies: the same numbers, errors and warnings."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable

import mir_eval
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mirflow.errors import MirflowWarning
from mirflow.metrics import hierarchy

from .hierarchies import Hierarchy, hierarchies


def outcome(function: Callable[..., object], *args: object, **kwargs: object) -> object:
    """The numbers, or the message of the ValueError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = function(*args, **kwargs)
        except ValueError as error:
            return str(error)
    return list(found.values()) if isinstance(found, dict) else list(found)


def check(name: str, *args: object, **kwargs: object) -> None:
    expected = outcome(getattr(mir_eval.hierarchy, name), *copy.deepcopy(args), **kwargs)
    found = outcome(getattr(hierarchy, name), *args, **kwargs)
    if isinstance(expected, str):
        assert found == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@given(hierarchies(free=True), hierarchies(free=True) | hierarchies(end=13.0))
@settings(max_examples=40, deadline=None)
def test_evaluate_gives_mir_evals_scores_and_errors(reference: Hierarchy, estimate: Hierarchy) -> None:
    assume(max(times.max() for times in reference[0]) >= 1)  # mir_eval stumbles over a track of one frame
    check("evaluate", *reference, *estimate, window=3.0, frame_size=0.5)


@given(
    hierarchies(free=True, max_levels=2) | hierarchies(),
    hierarchies(free=True, max_levels=2) | hierarchies(),
    st.sampled_from((1.2, 4.0, None)),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_the_measures_give_mir_evals_scores_and_errors(reference, estimate, window, transitive) -> None:
    spans = [max(t.max() for t in one) - min(t.min() for t in one) for one in (reference[0], estimate[0])]
    assume(min(spans) >= 1.5)
    check("tmeasure", reference[0], estimate[0], transitive, window, 0.5, 2.0)
    check("lmeasure", *reference, *estimate, 0.5)


def test_the_callers_labels_are_not_changed() -> None:
    labels = [["b"]]
    hierarchy.evaluate([np.array([[0.0, 9.0]])], [["a"]], [np.array([[2.0, 5.0]])], labels)
    assert labels == [["b"]]


def test_levels_that_do_not_nest_are_warned_of_and_scored() -> None:
    levels = [np.array([[0, 5], [5, 10]]), np.array([[0, 10]])]
    labels, flat = [["a", "b"], ["c"]], (levels[:1], [["a", "b"]])
    calls: list[Callable[[], object]] = [
        lambda: hierarchy.evaluate(levels, labels, *flat),
        lambda: hierarchy.tmeasure(levels, levels[:1]),
        lambda: hierarchy.lmeasure(levels, labels, *flat),
        lambda: hierarchy.validate_hier_intervals(levels),
    ]
    for call in calls:
        with pytest.warns(MirflowWarning, match=r"^Segment hierarchy is inconsistent at level 1$") as seen:
            call()
        assert [warning.filename for warning in seen] == [__file__]


FLAT = [np.array([[0.0, 10.0]])]


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([[[1, 10]], [[1, 5], [5, 10]]], "^Segment intervals do not start at 0$"),
        ([[[0, 5]], [[0, 5], [5, 6]]], "^End times do not match$"),
        ([[[0, 5]], [[0, 5], [5, 5]]], "^All interval durations must be strictly positive$"),
        ([[[0, 5]], [[-1, 5]]], "^Negative interval times found$"),
        ([[[0, 5]], [0, 5]], r"^Intervals should be n-by-2 numpy ndarray, but shape=\(2,\)$"),
        ([[[0, 15]]], "must have the same shape"),
    ],
)
def test_inconsistent_hierarchies_are_refused_as_by_mir_eval(levels: list, message: str) -> None:
    arrays = [np.array(level) for level in levels]
    for module in (hierarchy, mir_eval.hierarchy):
        with pytest.raises(ValueError, match=message):
            module.tmeasure(arrays, FLAT)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"window": None, "frame_size": 0}, r"^frame_size \(0.00\) must be a positive number.$"),
        ({"window": 15, "frame_size": 30}, r"^frame_size \(30.00\) cannot exceed window \(15.00\)$"),
    ],
)
def test_impossible_frames_are_refused_as_by_mir_eval(given_: dict[str, float | None], message: str) -> None:
    for function in (hierarchy.tmeasure, mir_eval.hierarchy.tmeasure):
        with pytest.raises(ValueError, match=message):
            function(FLAT, FLAT, **given_)
    with pytest.raises(ValueError, match=message):
        hierarchy.evaluate(FLAT, [["a"]], FLAT, [["a"]], **given_)


@pytest.mark.parametrize(
    ("levels", "labels", "message"),
    [
        ([[[0, np.nan]]], [["a"]], r"^Interval times must be finite, and not beyond 1e\+09$"),
        ([[[0, 5], [5, 10]]], [["a"]], "^level 1: expected 2 labels, one per interval, got 1$"),
        ([[[0, 10]]], [["a"], ["b"]], "^expected 1 levels of labels, one per level of intervals, got 2$"),
        ([], [], "^A hierarchy needs at least one level$"),
    ],
)
def test_what_mir_eval_takes_by_accident_or_trips_over_is_refused(levels: list, labels: list, message: str) -> None:
    arrays = [np.array(level, dtype=float) for level in levels]
    for sides in ((arrays, labels, FLAT, [["a"]]), (FLAT, [["a"]], arrays, labels)):
        with pytest.raises(ValueError, match=message):
            hierarchy.evaluate(*sides)


def test_negative_times_of_a_single_level_are_refused_by_the_measures() -> None:
    with pytest.raises(ValueError, match=r"^Negative interval times found$"):
        hierarchy.tmeasure([np.array([[-5.0, 5.0]])], FLAT)


def test_a_track_of_one_frame_scores_0() -> None:
    one = [np.array([[0.0, 0.15]])]
    assert hierarchy.tmeasure(one, one) == (0.0, 0.0, 0.0)
