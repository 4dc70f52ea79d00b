"""mir_eval's helpers between loading and comparing."""

from __future__ import annotations

from typing import Any

import mir_eval
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mirflow.metrics import util

times = st.integers(0, 80).map(lambda eighths: eighths / 8)
bounds = st.one_of(st.none(), times)


@st.composite
def labelled_intervals(draw: st.DrawFn, min_size: int = 0) -> tuple[np.ndarray, list[str]]:
    """Intervals in order, with gaps and instants between them, and a label for each."""
    edges = sorted(draw(st.lists(times, min_size=2 * min_size, max_size=16)))
    rows = np.array(edges[: len(edges) // 2 * 2]).reshape(-1, 2)
    return rows, [f"label {number}" for number in range(len(rows))]


@given(annotation=labelled_intervals(), t_min=bounds, t_max=bounds, labelled=st.booleans())
def test_intervals_are_adjusted_as_by_mir_eval(
    annotation: tuple[np.ndarray, list[str]], t_min: float | None, t_max: float | None, labelled: bool
) -> None:
    intervals, labels = annotation
    assume(len(intervals) or None not in (t_min, t_max))
    assume(t_max is None or t_min <= t_max if t_min is not None else t_max is None or intervals[0, 0] <= t_max)
    given_labels = list(labels) if labelled else None
    ours = util.adjust_intervals(intervals, given_labels, t_min, t_max, "first", "last")
    theirs = mir_eval.util.adjust_intervals(
        intervals, list(labels) if labelled else None, t_min, t_max, "first", "last"
    )
    np.testing.assert_array_equal(ours[0], theirs[0], strict=True)
    assert ours[1] == theirs[1]
    assert given_labels is None or given_labels == labels


def test_the_callers_labels_are_not_changed() -> None:
    labels = ["a"]
    assert util.adjust_intervals(np.array([[1.0, 2.0]]), labels, 0.0, 3.0)[1] == ["__T_MIN", "a", "__T_MAX"]
    assert util.adjust_events(np.array([1.0]), labels, 0.0, 3.0)[1] == ["__T_MIN", "a", "__T_MAX"]
    assert labels == ["a"]


@given(events=st.lists(times, min_size=1).map(sorted), t_min=bounds, t_max=bounds, labelled=st.booleans())
def test_events_are_adjusted_as_by_mir_eval(
    events: list[float], t_min: float | None, t_max: float | None, labelled: bool
) -> None:
    labels = [str(number) for number in range(len(events))] if labelled else None
    try:
        theirs = mir_eval.util.adjust_events(np.array(events), labels and list(labels), t_min, t_max, "x")
    except IndexError:  # nothing is left after the first cut
        with pytest.raises(IndexError):
            util.adjust_events(np.array(events), labels, t_min, t_max, "x")
        return
    ours = util.adjust_events(np.array(events), labels, t_min, t_max, "x")
    np.testing.assert_array_equal(ours[0], theirs[0], strict=True)
    assert ours[1] == theirs[1]


@given(one=labelled_intervals(min_size=1), other=labelled_intervals(min_size=1))
def test_sequences_are_merged_as_by_mir_eval(
    one: tuple[np.ndarray, list[str]], other: tuple[np.ndarray, list[str]]
) -> None:
    fitted = mir_eval.util.adjust_intervals(*other, one[0][0, 0], one[0][-1, 1], "N", "N")
    ours, theirs = util.merge_labeled_intervals(*one, *fitted), mir_eval.util.merge_labeled_intervals(*one, *fitted)
    np.testing.assert_array_equal(ours[0], theirs[0], strict=True)
    assert ours[1:] == theirs[1:]


@given(order=st.permutations(range(1, 4)))
def test_of_unsorted_rows_the_last_one_that_has_started_counts(order: list[int]) -> None:
    intervals, labels = np.array([[0, 9], [0, 2], [2, 3], [1, 4], [4, 9]])[[0, *order, 4]], list("abcde")
    whole = np.array([[0, 9]]), ["x"]
    ours = util.merge_labeled_intervals(intervals, labels, *whole)
    assert ours[1:] == mir_eval.util.merge_labeled_intervals(intervals, labels, *whole)[1:]


@given(annotation=labelled_intervals(min_size=1), offset=times, size=st.sampled_from((0.1, 0.125, 0.5, 1.0)))
def test_samples_are_mir_evals(annotation: tuple[np.ndarray, list[str]], offset: float, size: float) -> None:
    ours = util.intervals_to_samples(*annotation, offset, size, "N")
    assert ours == mir_eval.util.intervals_to_samples(*annotation, offset, size, "N")


@given(annotation=labelled_intervals(), points=st.lists(times).map(sorted))
def test_labels_at_points_are_mir_evals(annotation: tuple[np.ndarray, list[str]], points: list[float]) -> None:
    ours = util.interpolate_intervals(*annotation, points, "N")
    assert ours == mir_eval.util.interpolate_intervals(*annotation, points, "N")


@given(annotation=labelled_intervals())
def test_boundaries_are_mir_evals(annotation: tuple[np.ndarray, list[str]]) -> None:
    boundaries = util.intervals_to_boundaries(annotation[0])
    np.testing.assert_array_equal(boundaries, mir_eval.util.intervals_to_boundaries(annotation[0]), strict=True)
    if len(boundaries) > 1:
        expected = mir_eval.util.boundaries_to_intervals(boundaries)
        np.testing.assert_array_equal(util.boundaries_to_intervals(boundaries), expected, strict=True)


def test_durations_are_differences_of_valid_intervals() -> None:
    intervals = np.array([[0.1, 0.4], [0.4, 1.7]])
    expected = mir_eval.util.intervals_to_durations(intervals)
    np.testing.assert_array_equal(util.intervals_to_durations(intervals), expected)


@given(starts=st.lists(st.integers(0, 5), max_size=12))
def test_intervals_that_start_together_keep_their_order(starts: list[int]) -> None:
    intervals, labels = np.array([[start, start + 1] for start in starts]).reshape(-1, 2), list(range(len(starts)))
    ordered, kept = util.sort_labeled_intervals(intervals, labels)
    assert kept == sorted(labels, key=lambda row: starts[row])
    np.testing.assert_array_equal(ordered[:, 0], sorted(starts))
    np.testing.assert_array_equal(util.sort_labeled_intervals(intervals), ordered)


SECOND, WHOLE = [[0.0, 1.0]], ([[0.0, 1.0]], ["a"])
OF_MIR_EVAL = [
    ("validate_intervals", ([[1.0], [2.5]],), r"^Intervals should be n-by-2 numpy ndarray, but shape=\(2, 1\)$"),
    ("validate_intervals", ([1.0, 2.0],), r"^Intervals should be n-by-2 numpy ndarray, but shape=\(2,\)$"),
    ("validate_intervals", ([[1.0, -2.0]],), "^Negative interval times found$"),
    ("validate_intervals", ([[2.5, 2.5]],), "^All interval durations must be strictly positive$"),
    ("validate_intervals", ([[2.5, 1.5]],), "^All interval durations must be strictly positive$"),
    ("intervals_to_durations", ([[2.5, 1.5]],), "^All interval durations must be strictly positive$"),
    (
        "validate_events",
        ([1.0, 1e5],),
        r"^An event at time 100000\.0 was .* max_time = 30000\.0 \(did you supply event",
    ),
    ("validate_events", ([[1.0, 2.0]],), r"^Event times should be 1-d numpy ndarray, but shape=\(1, 2\)$"),
    ("validate_events", ([1.0, 5.0, 3.0],), r"^Events should be in increasing order\.$"),
    (
        "validate_frequencies",
        ([1e2, 1e4], 5000, 20),
        r"^A frequency of 10000\.0 was .* max_freq = 5000 \(did you supply",
    ),
    ("validate_frequencies", ([2.0, 200.0], 5000, 20), r"^A frequency of 2\.0 was .* min_freq = 20 \(did you supply"),
    ("validate_frequencies", ([-1e4, 100.0], 5000, 20, True), r"^A frequency of 10000\.0 was found which is greater"),
    ("validate_frequencies", ([-1e4, 100.0], 5000, 20), r"^A frequency of 100\.0 was found which is greater"),
    (
        "validate_frequencies",
        ([[1e2, 2e2]], 5000, 20),
        r"^Frequencies should be 1-d numpy ndarray, but shape=\(1, 2\)$",
    ),
    ("boundaries_to_intervals", ([0.0, 2.0, 1.0],), r"^Boundary times are not unique or not ascending\.$"),
    ("interpolate_intervals", (SECOND, ["a"], [0.5, 0.2]), "^time_points must be in non-decreasing order$"),
    (
        "adjust_intervals",
        (np.zeros((0, 2)), [], 0.0, None),
        "^Supplied intervals are empty, can't append new intervals$",
    ),
    ("merge_labeled_intervals", (*WHOLE, [[0.0, 2.0]], ["b"]), r"^Time intervals do not align; did you mean to call '"),
]
"""Functions, their arguments, and what both modules say."""
OURS = [
    ("boundaries_to_intervals", ([0.0, 1.0, 1.0],), r"^Boundary times are not unique or not ascending\.$"),
    ("adjust_intervals", ([[1.0, 2.0]], ["a"], None, 0.5), r"^all intervals begin after t_max = 0\.5$"),
    ("merge_labeled_intervals", (SECOND, ["a", "b"], *WHOLE), "^1 intervals need as many labels, got 2$"),
    (
        "merge_labeled_intervals",
        ([[2.0, 1], [2, 3]], ["a", "b"], [[2.0, 3]], ["c"]),
        r"^no interval has started at 1\.0",
    ),
]


@pytest.mark.parametrize(
    ("modules", "name", "arguments", "message"),
    [*(((util, mir_eval.util), *one) for one in OF_MIR_EVAL), *(((util,), *one) for one in OURS)],
)
def test_what_is_invalid_is_refused(modules: Any, name: str, arguments: Any, message: str) -> None:
    numbers = (isinstance(one, list) and one[:1] and not isinstance(one[0], str) for one in arguments)
    arrays = [np.array(one) if array else one for one, array in zip(arguments, numbers, strict=True)]
    for module in modules:
        with pytest.raises(ValueError, match=message):
            getattr(module, name)(*arrays)


def test_valid_input_passes() -> None:
    util.validate_intervals(np.zeros((0, 2)))
    util.validate_events(np.array([0.0, 0.0, 30000.0]))
    util.validate_frequencies(np.array([20.0, -5000.0]), 5000, 20)


@given(labels=st.lists(st.text("aAbB ", max_size=3)), case_sensitive=st.booleans())
def test_labels_are_numbered_as_by_mir_eval(labels: list[str], case_sensitive: bool) -> None:
    assert util.index_labels(labels, case_sensitive) == mir_eval.util.index_labels(labels, case_sensitive)
    assert util.generate_labels(labels, "x") == mir_eval.util.generate_labels(labels, "x")


@given(precision=st.floats(0, 1), recall=st.floats(0, 1), beta=st.sampled_from((0.5, 1.0, 2.0)))
def test_f_measure_is_mir_evals(precision: float, recall: float, beta: float) -> None:
    assume(precision + recall > 1e-300 or precision == recall == 0)
    assert util.f_measure(precision, recall, beta) == mir_eval.util.f_measure(precision, recall, beta)


def test_files_are_paired_by_name() -> None:
    first, second = ["/a/b/abc.lab", "/c/d/123.lab", "/e/f/xyz.lab"], ["/g/h/xyz.npy", "/i/j/123.txt", "/k/l/456.lab"]
    assert util.intersect_files(first, second) == mir_eval.util.intersect_files(first, second)
    assert util.intersect_files(first[:1], second) == [[], []]


def test_unknown_keyword_arguments_are_filtered() -> None:
    def plain(one: int, *, two: int = 2) -> tuple[int, int]:
        return one, two

    def anything(one: int, **others: int) -> tuple[int, dict[str, int]]:
        return one, others

    assert util.filter_kwargs(plain, 1, two=3, three=4) == (1, 3)
    assert util.filter_kwargs(anything, 1, two=3) == (1, {"two": 3})
    assert not util.has_kwargs(plain)
    assert util.has_kwargs(anything)


_numbers = st.lists(st.integers(0, 12).map(lambda quarters: quarters / 4), max_size=9).map(np.array)


@given(ref=_numbers, est=_numbers, window=st.sampled_from([0.0, 0.25, 0.6]), wrapped=st.booleans())
def test_events_are_matched_as_by_mir_eval(ref: np.ndarray, est: np.ndarray, window: float, wrapped: bool) -> None:
    def circular(ref: np.ndarray, est: np.ndarray) -> np.ndarray:
        return np.abs((np.subtract.outer(ref, est) + 0.5) % 1.0 - 0.5)

    distance = circular if wrapped else None
    expected = mir_eval.util.match_events(ref, est, window, distance)
    assert util.match_events(ref, est, window, distance) == expected


_graphs = st.dictionaries(st.sampled_from("abcdef"), st.lists(st.integers(0, 5), unique=True), max_size=6)


@given(graph=_graphs)
def test_graphs_are_matched_as_by_mir_eval(graph: dict[str, list[int]]) -> None:
    assert util._bipartite_match(graph) == mir_eval.util._bipartite_match(graph)


def test_a_deprecated_function_works_and_warns() -> None:
    @util.deprecated(version="0.1", version_removed="0.2")
    def double(number: int) -> int:
        """Twice the number."""
        return 2 * number

    assert (double.__name__, double.__doc__) == ("double", "Twice the number.")
    with pytest.warns(
        FutureWarning, match=r"double is deprecated since version 0\.1 and will be removed in version 0\.2"
    ):
        assert double(4) == 8
