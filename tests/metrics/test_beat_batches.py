"""The batched beat conventions: mir_eval's scores, weights, refusals, and the same numbers in any batch."""

from __future__ import annotations

import warnings

import mir_eval
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mirflow import explain
from mirflow.annotations.annotation import Annotation
from mirflow.errors import MetricError
from mirflow.metrics.base import Pairs, Scores, get_task
from tests.event_strategies import pairs, to_rows

TASK = get_task("beat")
Pair = tuple[np.ndarray, np.ndarray]


def score(batch: list[Pair], *metrics: str, convention: str = "mir_eval") -> Scores:
    rules = TASK.convention(convention)
    sides = (to_rows(*side) for side in zip(*batch, strict=True))
    return rules.score(Pairs.in_order(*sides), rules.select(metrics or None), "union")


def one(pair: Pair, metric: str, convention: str = "mir_eval") -> tuple[float, float]:
    found = score([pair], metric, convention=convention)
    return float(found.score[0, 0]), float(found.weight[0, 0])


@settings(deadline=None, max_examples=40)
@given(batch=st.lists(pairs, min_size=1, max_size=6))
def test_scores_are_those_of_mir_evals_evaluate(batch: list[Pair]) -> None:
    found = score(batch)
    for number, (reference, estimate) in enumerate(batch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = list(mir_eval.beat.evaluate(reference, estimate).values())
            except ValueError:
                assert number in found.refused
                assert np.isnan(found.score[number]).all()
                continue
        np.testing.assert_allclose(found.score[number], expected, rtol=0, atol=1e-9)
        assert number not in found.refused


def test_weights_are_the_scores_own_denominators() -> None:
    pair = np.arange(6.0, 16.0), np.arange(6.0, 12.0)
    for name, weight in {
        "f_measure": 8.0,
        "cemgil": 8.0,
        "goto": 1.0,
        "p_score": 10.0,
        "cmlc": 10.0,
        "cmlt": 10.0,
        "information_gain": 1.0,
    }.items():
        assert one(pair, name)[1] == weight


def test_the_weight_of_the_best_level_is_that_levels_denominator() -> None:
    reference = np.arange(6.0, 16.0)
    every_second = reference[::2]
    assert one((reference, every_second), "f_measure_best") == (1.0, 5.0)
    assert one((reference, every_second), "cemgil_best") == (1.0, 5.0)
    assert one((reference, every_second), "amlt") == (1.0, 5.0)


def test_trimming_is_a_parameter() -> None:
    pair = np.arange(10.0), np.append(np.arange(5.0) + 0.5, np.arange(5.0, 10.0))
    assert one(pair, "f_measure") == (1.0, 5.0)
    assert one(pair, "f_measure(trim=0)") == (0.5, 10.0)
    assert one((np.arange(-2.0, 4.0), np.arange(-2.0, 4.0)), "f_measure(trim=-9)") == (1.0, 6.0)


def test_the_off_beat_counts_among_mir_evals_levels_and_not_among_those_of_harmonix() -> None:
    pair = np.arange(6.0, 16.0), np.arange(6.5, 15.0)
    assert one(pair, "f_measure_best")[0] == 1.0
    # The double tempo hits all estimates: 9 of 9, and 9 of 19.
    assert one(pair, "f_measure_best(levels=harmonix)")[0] == pytest.approx(18 / 28)


def test_a_pair_is_refused_only_where_a_p_score_is_asked_for() -> None:
    same, good = (np.full(3, 6.0), np.arange(6.0, 9.0)), (np.arange(6.0, 9.0), np.arange(6.0, 9.0))
    found = score([good, same, good])
    assert list(found.refused) == [1]
    assert "one frame of 10 ms" in found.refused[1]
    assert np.isnan(found.score[1]).all()
    assert (found.score[[0, 2]] == score([good]).score).all()
    assert not score([same], "f_measure", "cmlt").refused


def test_estimates_at_one_time_have_no_information_gain() -> None:
    assert np.isnan(one((np.arange(6.0, 16.0), np.full(4, 8.0)), "information_gain")[0])


class TestMirex:
    """Each departure from mir_eval is a parameter."""

    def test_matching_is_greedy(self) -> None:
        pair = np.array([6.0, 6.1]), np.array([6.04, 6.06])
        assert one(pair, "f_measure")[0] == 1.0
        assert one(pair, "f_measure", "mirex")[0] == 0.5
        assert one(pair, "f_measure(matching=greedy)")[0] == 0.5

    def test_p_score_depends_on_where_the_frames_start(self) -> None:
        reference, estimate = np.array([6.0, 6.5, 7.0]), np.array([6.105, 6.605, 7.105])
        assert one((reference, estimate), "p_score")[0] == 0.0
        assert one((reference + 0.003, estimate + 0.003), "p_score")[0] == 0.0
        moved = one((reference + 0.003, estimate + 0.003), "p_score", "mirex")[0]
        assert one((reference, estimate), "p_score", "mirex")[0] == 0.0
        assert moved == 1.0

    def test_equations_9_and_10(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(20):
            annotated, found = np.sort(rng.uniform(5, 15, 18)), np.sort(rng.uniform(5, 15, 21))
            trains = [np.zeros(1600), np.zeros(1600)]
            for train, times in zip(trains, (annotated, found), strict=True):
                train[np.ceil(times * 100).astype(int)] = 1
            window = int(np.floor(0.2 * np.median(np.diff(np.flatnonzero(trains[0]))) + 0.5))
            a, y = trains
            total = sum(float(y @ np.roll(a, lag)) for lag in range(-window, window + 1))
            assert one((annotated, found), "p_score", "mirex")[0] == total / max(y.sum(), a.sum())

    def test_impulses_are_counted_where_beats_share_a_frame(self) -> None:
        pair = np.array([6.0, 6.5, 7.0]), np.array([6.0, 6.001, 6.002, 6.5, 7.0])
        assert one(pair, "p_score")[1] == 5.0
        assert one(pair, "p_score(normaliser=impulses)")[1] == 4.0

    def test_information_gain_is_in_bits_over_bins_with_half_as_wide_ends(self) -> None:
        beats = np.arange(6.0, 47.0)
        assert one((beats, beats), "information_gain", "mirex")[0] == np.log2(41)
        assert one((beats, beats), "information_gain")[0] == 1.0
        assert one((beats, beats), "information_gain(normalise=false)")[0] == np.log2(41)


def annotation(*times: float) -> Annotation:
    return Annotation("events", {"time": np.array(times)})


def test_evidence_shows_hits_misses_and_extra_beats_in_order() -> None:
    found = explain(annotation(3.0, 6.0, 7.0, 8.0), annotation(6.02, 7.5, 8.0), "f_measure", "beat")
    assert found.verdict.values.tolist() == ["hit", "missed", "extra", "hit"]
    np.testing.assert_array_equal(found.reference, [6.0, 7.0, np.nan, 8.0])
    np.testing.assert_array_equal(found.estimate, [6.02, np.nan, 7.5, 8.0])


def test_only_an_f_measure_has_evidence() -> None:
    with pytest.raises(MetricError, match="cmlt does not judge beats one by one"):
        explain(annotation(6.0), annotation(6.0), "cmlt", "beat")


@settings(deadline=None, max_examples=50)
@given(pair=pairs)
def test_hits_of_the_evidence_make_the_score(pair: Pair) -> None:
    reference, estimate = (side[side >= 5] for side in pair)
    assume(len(reference) and len(estimate))
    verdicts = explain(annotation(*reference), annotation(*estimate), "f_measure", "beat").verdict.values.tolist()
    hits = verdicts.count("hit")
    assert 2 * hits / (len(reference) + len(estimate)) == pytest.approx(one(pair, "f_measure")[0], abs=1e-12)
    assert hits + verdicts.count("missed") == len(reference)
    assert hits + verdicts.count("extra") == len(estimate)
