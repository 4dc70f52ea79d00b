"""Beats and downbeats by madmom's rules: against the rules written down plainly, and what madmom gives on real data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.errors import MetricError
from mirflow.metrics.base import Pairs, Scores, get_task
from mirflow.metrics.beat import madmom
from tests.event_strategies import pairs, to_rows
from tests.metrics.plain_madmom import beat_scores

ORACLE = "01_madmom"
CONVENTION = get_task("beat").convention("madmom")
SCALARS = [metric.name for metric in CONVENTION.metrics if not metric.dims]
NAMES = {"fmeasure": "f_measure", "pscore": "p_score", **{name: name for name in SCALARS}}
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "downbeats": {},
    "matlab_compat": {"skip": 5.0, "triple": False},
    "no_triple": {"triple": False},
    "no_double_no_triple": {"double": False, "triple": False},
    "no_variations": {"offbeat": False, "double": False, "triple": False},
}
CUSTOM: Mapping[str, Mapping[str, Any]] = {
    **{key: {"window": 0.05} for key in ("f_measure", "precision", "recall", "accuracy", "mean_error", "std_error")},
    "p_score": {"window": 0.1},
    "cemgil": {"sigma": 0.08},
    "goto": {"threshold": 0.35, "mu": 0.2, "sigma": 0.2},
    "information_gain": {"bins": 20},
    **{key: {"phase": 0.1, "period": 0.25} for key in ("cmlc", "cmlt", "amlc", "amlt")},
}

AVERAGED = ("fmeasure", "precision", "recall", "accuracy", "pscore", "cemgil", "goto", "cmlc", "cmlt", "amlc", "amlt")
"""What madmom averages over the tracks, by its names."""

Side = np.ndarray


def score(pairs: list[tuple[Side, Side]], setting: str = "default", metrics: list[str] = SCALARS) -> Scores:
    given = {name: CUSTOM[name] if setting == "custom" else SETTINGS[setting] for name in metrics}
    records = {metric.name: metric for metric in CONVENTION.metrics}
    measures = [records[name].measure(**given[name]) for name in metrics]
    references, estimates = (
        CONVENTION.clean(to_rows(*(np.asarray(one, dtype=np.float64) for one in side))).rows
        for side in zip(*pairs, strict=True)
    )
    return CONVENTION.score(Pairs.in_order(references, estimates), measures, "union")


def annotation(times: Side) -> Annotation:
    return Annotation("events", {"time": np.asarray(times, dtype=np.float64)})


@pytest.mark.filterwarnings("ignore:.* beats are empty:mirflow.errors.MirflowWarning")
@given(pairs, st.sampled_from([0.0, 0.25, 5.0]))
@settings(max_examples=75)
def test_every_score_is_that_of_the_rules_written_down_plainly(pair: tuple[Side, Side], skip: float) -> None:
    reference, estimate = pair
    expected = beat_scores(reference.tolist(), estimate.tolist(), skip)
    found = madmom.evaluate(reference, estimate, skip=skip)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-12, nan_ok=True), name


@pytest.mark.filterwarnings("ignore:.* beats are empty:mirflow.errors.MirflowWarning")
def test_nothing_estimated_where_there_is_nothing_is_right() -> None:
    scores = madmom.evaluate(np.zeros(0), np.zeros(0))
    assert {name for name, value in scores.items() if value == 1} == {*SCALARS} - {
        "information_gain",
        "mean_error",
        "std_error",
    }
    assert scores["information_gain"] == pytest.approx(np.log2(40))


def test_a_single_reference_beat_has_no_p_score_and_says_why() -> None:
    scores = score([(np.array([1.0]), np.array([1.0, 2.0])), (np.array([1.0, 2.0]), np.array([1.0, 2.0]))])
    column = SCALARS.index("p_score"), SCALARS.index("goto")
    assert np.isnan(scores.score[0, column]).all()
    assert scores.score[1, column].tolist() == [1.0, 1.0]
    assert "single beat" in scores.partly[0]
    assert scores.weight[0, column[0]] == 2  # so that a query sees that it is missing


def test_triple_levels_are_levels() -> None:
    beats = np.arange(1.0, 9.0)
    assert madmom.amlt(beats, beats[::3]) == 1
    assert madmom.amlt(beats, beats[::3], triple=False) == 0


def test_other_levels_are_not_tried_where_half_of_the_beats_are_tracked() -> None:
    reference = np.arange(1.0, 9.0)
    half = np.array([1.0, 2.0, 3.0, 4.0, 5.6, 6.6, 7.6, 8.6])
    assert madmom.cmlc(reference, half) == madmom.amlc(reference, half) == 0.5


def test_skipped_beats_are_those_up_to_a_time() -> None:
    beats = np.array([4.0, 5.0, 6.0, 7.0])
    scores = score([(beats, beats)], "matlab_compat", ["counts"])
    table = scores.extras["counts_0.07_skip_5.0"]
    assert table.value.tolist() == [2.0, 2.0, 2.0]


def test_an_odd_number_of_bins_is_refused() -> None:
    with pytest.raises(MetricError, match="must be even, got 41"):
        madmom.information_gain(np.array([1.0, 2.0]), np.array([1.0, 2.0]), bins=41)


def test_parameters_with_several_meanings_are_refused_by_evaluate() -> None:
    with pytest.raises(TypeError, match="window"):
        madmom.evaluate(np.array([1.0]), np.array([1.0]), window=0.1)


def test_evidence_shows_hits_under_the_rule_of_the_score() -> None:
    one = np.array([1.0, 2.0])
    found = mirflow.explain(annotation(one), annotation(one + 0.07), "f_measure", task="beat", convention="madmom")
    assert found["verdict"].values.tolist() == ["missed", "extra", "hit"]  # 1.07 - 1.0 > 0.07 > 2.07 - 2.0
    found = mirflow.explain(
        annotation(one), annotation(one + 0.08), "f_measure(delay=-0.08)", task="beat", convention="madmom"
    )
    assert found["verdict"].values.tolist() == ["hit", "hit"]
    assert found["estimate"].values.tolist() == [1.08, 2.08]


# what madmom gives


@cache
def read(path: Path, downbeats: bool = False) -> Side:
    rows = np.loadtxt(path, ndmin=2)
    if downbeats and rows.shape[1] > 1:
        rows = rows[rows[:, 1] == 1]
    return rows[:, 0]


def assert_scores(scores: Scores, expected: list[Mapping[str, Any]]) -> None:
    for row, one in enumerate(expected):
        wanted = [float(one[key]) for key in NAMES if key in one]
        found = [scores.score[row, SCALARS.index(NAMES[key])] for key in NAMES if key in one]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("setting", [*SETTINGS, "custom"])
def test_real_beats_and_their_variants_score_as_in_madmom(oracle: Path, expected: dict[str, Any], setting: str) -> None:
    rows = [one for one in expected["beats"].values() if setting in one["results"]]
    assert rows
    first = setting == "downbeats"
    sides = [(read(oracle / one["ann"], first), read(oracle / one["det"], first)) for one in rows]
    assert_scores(score(sides, setting), [one["results"][setting] for one in rows])


@pytest.mark.parametrize("setting", ["default", "matlab_compat"])
def test_edge_cases_score_as_in_madmom(expected: dict[str, Any], setting: str) -> None:
    cases = expected["beats_edge"].values()
    scores = score([(one["ann"], one["det"]) for one in cases], setting)
    raised = np.array(["exception" in one[setting] for one in cases])
    assert [row in scores.partly for row in range(len(raised))] == raised.tolist()
    kept = Scores(scores.score[~raised], scores.weight[~raised])
    assert_scores(kept, [one[setting] for one in cases if "exception" not in one[setting]])


def test_error_histograms_are_those_of_madmom(oracle: Path, expected: dict[str, Any]) -> None:
    real = [one for one in expected["beats"].values() if "default" in one["results"]]
    sides = [(read(oracle / one["ann"]), read(oracle / one["det"])) for one in real]
    wanted = [one["results"]["default"]["error_histogram"] for one in real]
    edges = [one for one in expected["beats_edge"].values() if "exception" not in one["default"]]
    sides += [(one["ann"], one["det"]) for one in edges]
    wanted += [one["default"]["error_histogram"] for one in edges]
    table = score(sides, metrics=["error_histogram"]).extras["error_histogram_40"]
    found = np.zeros((len(sides), 40))
    found[tuple(table.index.T)] = table.value
    np.testing.assert_allclose(found, wanted, atol=1e-12)


LATE = ["p_score(skip=5.0)", "amlt(triple=false,skip=5.0)"]


def test_means_and_the_global_information_gain_are_queries(
    oracle: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    means = expected["beats_mean"]
    names = [*SCALARS, "error_histogram", "counts", *LATE]
    metrics = ", ".join(json.dumps(name) for name in names)
    pipeline = tmp_path / "madmom.yaml"
    pipeline.write_text(
        f"name: madmom\nroot: {oracle / 'inputs'}\nstore: {tmp_path / 'store.zarr'}\n"
        "evaluations:\n- {task: beat, convention: madmom, reference: 'beats/{track}.ann.txt', "
        f"estimates: 'beats/{{track}}.{{system}}.det.txt', metrics: [{metrics}]}}\n"
    )
    assert mirflow.run(pipeline, scheduler="serial").failed == 0
    board = mirflow.open_store(tmp_path / "store.zarr")["beat"].mirflow
    for system in ("Bock_1", "Ellis", "Krebs"):
        wanted = means[f"{system}|default"]
        found = board.query(system=system)["value"].sel(metric=[NAMES[key] for key in AVERAGED]).values[0]
        assert found == pytest.approx([wanted[key] for key in AVERAGED], abs=1e-9)
        gained = board.query("error_histogram", system=system, aggregate="information_gain")
        assert gained["value"].item() == pytest.approx(wanted["global_information_gain"], abs=1e-9)
        counted = board.query("counts", system=system, aggregate="mean")["value"].sel(count="matched")
        assert counted.item() == pytest.approx(wanted["num_tp"], abs=1e-9)
        late = means[f"{system}|matlab_compat"]
        found = board.query(LATE, system=system)["value"].values[0]
        assert found == pytest.approx([late["pscore"], late["amlt"]], abs=1e-9)
    found = board.query("error_histogram", aggregate="information_gain", ci=0.95, replicates=200, rng=0)
    assert (found["low"] < found["value"]).all()
    assert (found["value"] < found["high"]).all()
