"""Scores of batches of hierarchies, their cleaning, and mir_eval's scores of real data."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mirflow.errors import MetricError
from mirflow.metrics.base import Pairs, Scores, get_task
from mirflow.metrics.hierarchy import clean, kernel, tmeasure

from .hierarchies import Hierarchy, before, hierarchies, mir_eval_scores, salami, to_rows

CONVENTION = get_task("hierarchy").convention("mir_eval")
DEFAULT = CONVENTION.select()
MORE = CONVENTION.select(
    [
        *map(str, DEFAULT),
        *("t_recall_reduced@3.0(frame_size=0.5)", "t_precision_full@1000.0", "t_measure_full@2.0(beta=0.5)"),
        *("l_measure@0.37(beta=2.0)", "l_precision@1.0"),
    ]
)


def score_pairs(pairs: list[tuple[Hierarchy, Hierarchy]], measures=DEFAULT) -> Scores:
    references, estimates = to_rows([one for one, _ in pairs]), to_rows([one for _, one in pairs])
    return CONVENTION.score(Pairs.in_order(references, estimates), measures, "union")


def level(*bounds: float, labels: str = "") -> tuple[np.ndarray, list[str]]:
    names = list(labels) or [chr(97 + place) for place in range(len(bounds) - 1)]
    return np.column_stack([bounds[:-1], bounds[1:]]), names


def hierarchy(*levels: tuple[np.ndarray, list[str]]) -> Hierarchy:
    return [times for times, _ in levels], [labels for _, labels in levels]


def with_(window: float, frame_size: float, beta: float) -> list[str]:
    """The nine default metrics with other parameters."""
    t = f"(window={window},frame_size={frame_size}"
    names = [measure.metric.name for measure in DEFAULT]
    rest = {"precision": ")", "recall": ")", "measure": f",beta={beta})"}
    return [
        (name + t if name[0] == "t" else f"{name}(frame_size={frame_size}") + rest[name.split("_")[1]] for name in names
    ]


def test_defaults_are_mir_evals_scores_in_its_order() -> None:
    one = hierarchy(level(0, 30, 60))
    assert [measure.metric.key for measure in DEFAULT] == list(mir_eval_scores(one, one))
    assert score_pairs([(one, one)]).score.tolist() == [[1.0] * 9]


@given(hierarchies(), hierarchies(end=12.0) | hierarchies(end=9.5) | hierarchies(end=15.25))
@settings(max_examples=40, deadline=None)
def test_equals_mir_eval(reference: Hierarchy, estimate: Hierarchy) -> None:
    expected = mir_eval_scores(reference, before(12.0, estimate), window=4.0, frame_size=0.5)
    found = score_pairs([(reference, estimate)], CONVENTION.select(with_(4.0, 0.5, 1.0)))
    np.testing.assert_allclose(found.score[0], list(expected.values()), rtol=0, atol=1e-12)


@given(hierarchies(free=True), hierarchies(free=True), st.sampled_from((1.1, 2.5, 30.0)), st.sampled_from((0.5, 2.0)))
@settings(max_examples=40, deadline=None)
def test_equals_mir_eval_with_gaps_and_overlaps_within_levels(reference, estimate, window, beta) -> None:
    ends = [times.max() for times in reference[0]]
    if not np.allclose(ends, ends[0]):
        assert "level" in score_pairs([(reference, estimate)]).refused[0]
        return
    assume(max(ends) >= 1)  # mir_eval stumbles over a track of one frame
    expected = mir_eval_scores(reference, before(max(ends), estimate), window=window, frame_size=0.5, beta=beta)
    found = score_pairs([(reference, estimate)], CONVENTION.select(with_(window, 0.5, beta)))
    np.testing.assert_allclose(found.score[0], list(expected.values()), rtol=0, atol=1e-12)


@pytest.mark.slow
@given(st.lists(st.tuples(hierarchies(free=True), hierarchies(free=True)), min_size=1, max_size=6), st.randoms())
@settings(max_examples=40, deadline=None)
def test_each_pair_alone_equals_the_same_pair_in_any_batch_to_the_bit(pairs, random) -> None:
    order = list(range(len(pairs)))
    random.shuffle(order)
    together = score_pairs([pairs[place] for place in order], MORE)
    for place, index in enumerate(order):
        alone = score_pairs([pairs[index]], MORE)
        assert alone.score[0].tobytes() == together.score[place].tobytes()
        assert alone.weight[0].tobytes() == together.weight[place].tobytes()


@given(hierarchies(), hierarchies())
@settings(max_examples=30, deadline=None)
def test_the_size_of_the_pieces_changes_nothing_but_the_last_bits(reference: Hierarchy, estimate: Hierarchy) -> None:
    expected = score_pairs([(reference, estimate)], MORE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mirflow.metrics.hierarchy.kernel._LIMIT", 30)
        found = score_pairs([(reference, estimate)], MORE)
    np.testing.assert_allclose(found.score, expected.score, rtol=0, atol=1e-12)
    assert np.array_equal(found.weight, expected.weight)


def test_weight_is_the_seconds_with_something_to_order() -> None:
    reference, estimate = hierarchy(level(0, 4, 40)), hierarchy(level(0, 40))
    measures = CONVENTION.select(with_(5.0, 1.0, 2.0))
    found = score_pairs([(reference, estimate)], measures)
    # The window of a frame begins 5 frames before it and ends 4 after it, so frames 0 to 8 have frames of both segments
    # around them; in the whole track every frame has.
    assert found.weight[0].tolist() == [0.0, 9.0, 7.2, 0.0, 9.0, 7.2, 0.0, 40.0, 32.0]
    assert not found.score.any()


def test_letter_case_does_not_tell_labels_apart() -> None:
    one, other = hierarchy(level(0, 5, 9, labels="aA")), hierarchy(level(0, 5, 9, labels="bb"))
    assert score_pairs([(one, other), (one, one)], CONVENTION.select(["l_recall"])).score.tolist() == [[0.0], [0.0]]


def test_an_empty_level_of_the_estimate_is_one_segment() -> None:
    reference, nothing = hierarchy(level(0, 10, 20), level(0, 5, 20)), (np.zeros((0, 2)), [])
    estimate = hierarchy(level(0, 12, 20), nothing)
    expected = list(mir_eval_scores(reference, estimate).values())
    np.testing.assert_allclose(score_pairs([(reference, estimate)]).score[0], expected, rtol=0, atol=1e-12)


def test_an_empty_estimate_scores_0_with_the_references_weight() -> None:
    reference = hierarchy(level(0, 10, 20), level(0, 5, 20))
    found = score_pairs([(reference, ([], [])), (reference, hierarchy(level(0, 20)))])
    assert not found.score.any()
    assert np.array_equal(found.weight[0], found.weight[1])
    assert found.weight[0, 1] > 0


def test_an_empty_reference_scores_0_with_weight_0() -> None:
    found = score_pairs([(([], []), hierarchy(level(0, 20))), (([np.zeros((0, 2))], [[]]), ([], []))])
    assert not found.score.any()
    assert not found.weight.any()
    assert not found.refused


def test_references_whose_levels_do_not_fit_are_refused_and_spoil_nothing_else() -> None:
    good = hierarchy(level(0, 10, 20), level(0, 5, 20))
    short, hollow = hierarchy(level(0, 20), level(0, 5, 12)), hierarchy(level(0, 20), (np.zeros((0, 2)), []))
    found = score_pairs([(good, good), (short, good), (hollow, good), (good, short)])
    assert found.refused == {
        1: "reference: level 2 ends at 12.0 s, but level 1 at 20.0 s",
        2: "reference: level 2 has no segments",
    }
    assert np.isnan(found.score[1:3]).all()
    assert not found.weight[1:3].any()
    assert np.array_equal(found.score[0], score_pairs([(good, good)]).score[0])
    assert np.isfinite(found.score[3]).all()


def test_times_are_rounded_down_to_multiples_before_they_are_counted() -> None:
    # 1.0 is a little less than ten times 0.1 in binary, so it is frame 9.
    start, end, same = np.array([0.0, 0.95, 1.0]), np.array([0.95, 1.0, 1.05]), np.zeros(3, dtype=np.int64)
    frames = kernel.Hierarchy(start, end, same, same, 1).frames(0.1)
    assert [bound.tolist() for bound in frames[:2]] == [[0, 9, 9], [9, 9, 10]]


def test_one_frame_and_no_frame() -> None:
    tiny, none = hierarchy(level(0, 0.15)), hierarchy(level(0, 0.05))
    found = score_pairs([(tiny, tiny), (none, none)])
    assert not found.score.any()
    assert not found.weight.any()


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("t_recall_full@0.05", r"frame_size \(0.10\) cannot exceed window \(0.05\)"),
        ("l_recall@0.0", "frame_size.* must be greater than 0"),
    ],
)
def test_impossible_frames_are_refused(measure: str, message: str) -> None:
    one = hierarchy(level(0, 10))
    with pytest.raises(MetricError, match=message):
        score_pairs([(one, one)], CONVENTION.select([measure]))


@pytest.mark.parametrize(("end", "size"), [(10.0, 1e-7), (10.0, 5e-324), (1e8, 0.1)])
def test_references_with_too_many_frames_are_refused_and_spoil_nothing_else(end: float, size: float) -> None:
    good, late = hierarchy(level(0, 4 * size, 9 * size)), hierarchy(level(0, end))
    measures = CONVENTION.select([f"t_recall_full(frame_size={size})", f"l_recall(frame_size={size})"])
    found = score_pairs([(good, good), (late, good), (good, late)], measures)
    assert list(found.refused) == [1]
    assert re.search(r"^reference: ends at .* s, too late for frames of .* are its times in seconds", found.refused[1])
    assert np.isnan(found.score[1]).all()
    assert np.array_equal(found.score[0], score_pairs([(good, good)], measures).score[0])
    with pytest.raises(ValueError, match="too late for frames"):
        tmeasure(late[0], late[0], frame_size=size)


GOOD = [np.array([[0.0, 9.0]]), np.array([[0.0, 4.0], [4.0, 9.0]])], [["A"], ["a", "b"]]


def with_second(start: float, end: float) -> Hierarchy:
    return [np.array([[0.0, 9.0]]), np.array([[0.0, 4.0], [start, end]])], [["A"], ["a", "b"]]


def test_segments_without_length_are_dropped_and_counted() -> None:
    cleaned = clean(to_rows([with_second(4.0, 4.0), GOOD]))
    assert [counts.tolist() for counts in cleaned.rows.counts] == [[2, 2], [1, 1, 1, 2]]
    assert cleaned.rows.columns["end"].tolist() == [9.0, 4.0, 9.0, 4.0, 9.0]
    assert cleaned.repairs.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (4.0, np.nan, "time is not finite: 4.0 to nan s"),
        (4.0, 3.0, "interval ends before it starts: 4.0 to 3.0 s"),
        (-1.0, 3.0, "time is negative: -1.0 to 3.0 s"),
    ],
)
def test_flaws_name_the_segment_within_the_row(start: float, end: float, message: str) -> None:
    cleaned = clean(to_rows([with_second(4.0, 4.0), with_second(start, end), GOOD]))
    assert {row: (flaw.item, flaw.message) for row, flaw in cleaned.flaws.items()} == {1: (2, message)}
    assert [counts.tolist() for counts in cleaned.rows.counts] == [[2, 0, 2], [1, 1, 1, 2]]
    assert cleaned.repairs.tolist() == [1, 0, 0]


def test_rows_without_levels_and_without_rows() -> None:
    assert clean(to_rows([([], []), GOOD])).rows.counts[0].tolist() == [0, 2]
    assert len(clean(to_rows([])).rows) == 0


GivenPairs = list[tuple[Hierarchy, Hierarchy]]


def check_real(pairs: GivenPairs) -> None:
    found = score_pairs(pairs)
    assert not found.refused
    for score, (reference, estimate) in zip(found.score, pairs, strict=True):
        end = max(times.max() for times in reference[0])
        expected = list(mir_eval_scores(reference, before(end, estimate)).values())
        np.testing.assert_allclose(score, expected, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_a_listener_against_another_on_the_shortest_song(shared_data: Path) -> None:
    check_real([min(salami(shared_data), key=lambda pair: pair[0][0][0].max())])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_sample_of_songs_both_ways_round(seed: int, shared_data: Path) -> None:
    pairs = salami(shared_data)
    assert len(pairs) == 120
    check_real(random.Random(seed).sample([*pairs, *((other, one) for one, other in pairs)], 6))
