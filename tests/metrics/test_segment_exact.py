"""Agreement of labels with durations in place of frames: a plain count over all boundaries, and published numbers."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings

import mirflow
from mirflow.errors import MetricError
from mirflow.metrics import segment

from .chord_pairs import to_rows
from .segment_pairs import Segments, intervals_of, segments

NAMES = (
    *("pairwise_precision", "pairwise_recall", "pairwise_f_measure"),
    *("v_precision", "v_recall", "v_measure", "nce_over", "nce_under", "nce_f"),
)
EXACT = [f"{name}@exact" for name in NAMES]


def label_at(side: Segments, time: Fraction, fold=str.lower) -> str:
    """The last interval that holds a time has it; outside of all there are mir_eval's labels."""
    starts, ends, labels = side
    for start, end, label in reversed(list(zip(starts, ends, labels, strict=True))):
        if Fraction(start) <= time < Fraction(end):
            return fold(label)
    before = not starts or time < Fraction(min(starts))
    after = bool(starts) and time >= Fraction(max(ends))
    return "__t_min" if before else "__t_max" if after else "none"


def plain_scores(reference: Segments, estimate: Segments, fold=str.lower) -> list[float]:
    """The nine scores from a table of seconds by both labels."""
    end = Fraction(max(reference[1]))
    times = {Fraction(0), end, *(Fraction(time) for side in (reference, estimate) for time in side[0] + side[1])}
    bounds = sorted(time for time in times if 0 <= time <= end)
    cells: Counter[tuple[str, str]] = Counter()
    for first, last in pairwise(bounds):
        middle = (first + last) / 2
        cells[label_at(reference, middle, fold), label_at(estimate, middle, fold)] += last - first
    rows, columns = Counter(), Counter()
    for (row, column), seconds in cells.items():
        rows[row] += seconds
        columns[column] += seconds
    squares = [float(sum(value**2 for value in one.values())) for one in (cells, rows, columns)]
    found = harmonic(squares[0] / squares[2], squares[0] / squares[1])

    def entropy(one: Counter) -> float:
        return -sum(float(value / end) * math.log2(value / end) for value in one.values())

    joint, left, right = entropy(cells), entropy(rows), entropy(columns)
    for most in ((right, left), (math.log2(len(columns)), math.log2(len(rows)))):
        known = zip((joint - left, joint - right), most, (columns, rows), strict=True)
        found += harmonic(*(max(1 - bits / one, 0.0) if len(labels) > 1 else 0.0 for bits, one, labels in known))
    return found


def harmonic(precision: float, recall: float) -> list[float]:
    both = precision + recall
    return [precision, recall, 2 * precision * recall / both if both else 0.0]


def scores(reference: Segments, estimate: Segments, convention: str = "mir_eval") -> np.ndarray:
    rules = segment.TASK.convention(convention)
    sides = [rules.clean(to_rows([side])).rows for side in (reference, estimate)]
    return rules.score_pair(*sides, rules.select(EXACT if convention == "mir_eval" else NAMES))


@settings(max_examples=40)
@given(segments(min_size=1), segments(min_size=1))
def test_scores_are_those_of_a_plain_table_of_seconds(reference: Segments, estimate: Segments) -> None:
    np.testing.assert_allclose(scores(reference, estimate), plain_scores(reference, estimate), rtol=0, atol=1e-9)


@settings(max_examples=30)
@given(segments(min_size=1), segments(min_size=1))
def test_convention_frameless_keeps_the_case_of_labels_and_rounds_times(
    reference: Segments, estimate: Segments
) -> None:
    assume(all(max(end) - min(start) > 1e-3 for start, end, _ in (reference, estimate)))
    rounded = [
        (np.round(start, 5).tolist(), np.round(end, 5).tolist(), label) for start, end, label in (reference, estimate)
    ]
    # The labels of what is filled in are no others there, whatever their case.
    named = [(start, end, [label.replace("__T_MIN", "__t_min") for label in labels]) for start, end, labels in rounded]
    expected = plain_scores(named[0], named[1], str)
    given = [(start, end, named[side][2]) for side, (start, end, _) in enumerate((reference, estimate))]
    np.testing.assert_allclose(scores(given[0], given[1], "frameless"), expected, rtol=0, atol=1e-9)


def test_frames_come_near_as_they_become_short() -> None:
    one = ([0.0, 10.3, 31.7], [10.3, 31.7, 50.0], ["A", "B", "A"])
    other = ([0.0, 9.9, 20.0], [9.9, 20.0, 50.0], ["x", "y", "z"])
    exact = scores(one, other)
    sides = [(intervals_of(side), side[2]) for side in (one, other)]
    for size in (0.1, 0.01):
        framed = mirflow.evaluate(*sides, "segment", metrics=[f"{name}@{size}" for name in NAMES]).score.values
        assert np.abs(framed - exact).max() < size / 5


def test_two_segments_against_one_count_pairs_of_a_moment_with_itself() -> None:
    halves, whole = np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([[0.0, 2.0]])
    assert segment.pairwise(halves, ["a", "b"], whole, ["x"], frame_size="exact") == (0.5, 1.0, pytest.approx(2 / 3))
    assert round(segment.pairwise(halves, ["a", "b"], whole, ["x"])[0], 4) == 0.4737


def test_a_segment_between_two_frames_counts() -> None:
    song = np.array([[0.0, 1.02], [1.02, 1.05], [1.05, 3.0]])
    assert segment.vmeasure(song, list("aba"), song, list("xyx")) == (0.0, 0.0, 0.0)
    assert segment.vmeasure(song, list("aba"), song, list("xyx"), frame_size="exact") == pytest.approx((1, 1, 1))
    assert segment.nce(song, list("aba"), song, list("xyx"), frame_size="exact") == pytest.approx((1, 1, 1))


@pytest.mark.parametrize("size", ["exct", "0.1", 0, -1.0, float("nan")])
def test_other_words_are_no_frame_sizes(size: object) -> None:
    song = np.array([[0.0, 1.0]])
    with pytest.raises(ValueError, match="the frame size must be greater than 0"):
        segment.pairwise(song, ["a"], song, ["a"], frame_size=size)
    with pytest.raises(MetricError, match="needs a float or 'exact', not 'exct'"):
        segment.TASK.convention().select(["v_measure@exct"])


def test_metrics_that_count_frames_by_chance_have_frames() -> None:
    with pytest.raises(MetricError, match="needs a float, not 'exact'"):
        segment.TASK.convention().select(["adjusted_rand_index@exact"])
    song = np.array([[0.0, 1.0]])
    with pytest.raises(ValueError, match="the frame size must be greater than 0, got 'exact'"):
        segment.ari(song, ["a"], song, ["a"], frame_size="exact")


# Published numbers -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "oracles" / "06_frameless"


def published(entry: dict) -> list[float]:
    nce = next((list(value.values()) for key, value in entry.items() if key.startswith("nce_exact")), [])
    return [float(one) for part in (*entry["frameless"].values(), dict(enumerate(nce))) for one in part.values()]


@pytest.mark.filterwarnings("ignore:.*has the label .* throughout:mirflow.errors.MirflowWarning")
@pytest.mark.parametrize("part", ["flat", "flat_unrounded"])
def test_salami_agrees_with_frameless_eval(folder: Path, part: str) -> None:
    entries = json.loads((folder / "expected.json").read_text())[part]
    references, estimates = ({key: folder / one[side] for key, one in entries.items()} for side in ("ref", "est"))
    for key, one in entries.items():
        found = mirflow.evaluate(
            references[key], estimates[key], "segment", metrics=NAMES, convention="frameless"
        ).score.values
        expected = published(one)
        np.testing.assert_allclose(found[: len(expected)], expected, rtol=0, atol=1e-9, err_msg=key)


def test_odd_pairs_agree_with_frameless_eval_but_for_gaps(folder: Path) -> None:
    entries = json.loads((folder / "expected.json").read_text())["edge_flat"]
    for key, one in entries.items():
        sides = [
            (np.array(one[f"{side}_intervals"], dtype=float).reshape(-1, 2), one[f"{side}_labels"])
            for side in ("ref", "est")
        ]
        found = mirflow.evaluate(*sides, "segment", metrics=NAMES, convention="frameless").score.values
        if key == "empty_ref":  # refused there
            np.testing.assert_array_equal(found, 0.0)
            continue
        if key == "gap":  # there it has the label of what follows; here it is a label of its own, as in mir_eval
            np.testing.assert_allclose(found[:2], (1 / 3, 1.0))
            continue
        expected = published({"frameless": one["frameless"], "nce_exact": one["nce_exact"]})
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9, err_msg=key)
