"""A metric that a user's module declares, and the functions that follow from declarations."""

from __future__ import annotations

import importlib
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.errors import MetricError, UnknownNameError
from mirflow.metrics.base import Convention, Scores, get_task
from mirflow.metrics.beat.kernel import Batch, continuity
from mirflow.metrics.events import evidence, rows_of_times
from mirflow.metrics.measures import CountedWeight, Measure, Parameter, Weight, family, metric, metrics_in
from mirflow.metrics.pair import PairFunctions
from mirflow.ragged import Float

from .batches import Pair, score_pairs


@metric(
    "Continuity error",
    CountedWeight("the larger number of beats of both sides", "beats", "larger"),
    needs="intervals",
    orientation="lower",
    perfect=0.0,
    parameters=(
        Parameter("phase", 0.175, least=0.0, help="largest deviation of a beat, as a share of the interval"),
        Parameter("period", 0.175, least=0.0, help="largest deviation of an interval, as a share of it"),
        Parameter("trim", 5.0, "s", help="beats before it are left out"),
    ),
)
def continuity_error(batch: Batch, measure: Measure) -> tuple[Float, Float]:
    """Share of beats outside of the longest run of right ones, at the annotated level.

    The complement of CMLc.
    """
    longest, _, number = continuity(batch, measure)
    return 1 - longest[:, 0], number[:, 0]


BEATS = get_task("beat").convention()
OWN = replace(BEATS, name="own", metrics=(*BEATS.metrics, continuity_error))


def events(*times: float) -> Annotation:
    return Annotation("events", {"time": np.array(times)})


PAIRS = [
    (events(*np.arange(6.0, 14.0)), events(*np.arange(6.0, 10.0), 10.5, 11.0, 12.0, 13.0)),
    (events(*np.arange(6.0, 9.0)), events(*np.arange(6.1, 9.1))),
    (events(*np.arange(6.0, 9.0)), events()),
]


def scored_elsewhere(convention: Convention, pairs: list[Pair], measures: tuple[Measure, ...]) -> Scores:
    return score_pairs(convention, pairs, measures)


def test_a_declared_metric_names_itself_after_its_function() -> None:
    assert (continuity_error.name, continuity_error.weight_unit) == ("continuity_error", "beats")
    assert continuity_error.summary == "share of beats outside of the longest run of right ones, at the annotated level"
    assert metrics_in(globals()) == (continuity_error, *ends)


def test_a_metric_from_outside_is_selected_and_scored_with_those_of_its_task() -> None:
    found = score_pairs(OWN, PAIRS, OWN.select(["continuity_error", "cmlc", "continuity_error@0.05"]))
    error, cmlc, strict = found.score.T
    assert error[:2].tolist() == (1 - cmlc[:2]).tolist() == [0.5, 0.0]
    assert strict[1] == 1.0
    assert np.isnan(error[2]), "without estimated beats the best score would be perfect"
    assert cmlc[2] == 0.0
    assert found.weight[:, 0].tolist() == found.weight[:, 1].tolist() == [8.0, 3.0, 3.0]
    assert str(OWN.select(["continuity_error@0.05(period=0.1)"])[0]) == "continuity_error@0.05(period=0.1)"
    with pytest.raises(UnknownNameError, match="continuity_error"):
        OWN.select(["continuty_error"])
    with pytest.raises(UnknownNameError, match="continuity_error"):
        BEATS.select(["continuity_error"])


def test_weights_that_a_scorer_cannot_count_are_refused_where_they_are_declared() -> None:
    uncounted = replace(continuity_error, counts="")
    with pytest.raises(
        MetricError, match=r"weight of 'continuity_error' is not derived .* CountedWeight\(words, unit, \"larger\"\)"
    ):
        replace(BEATS, metrics=(uncounted,))
    with pytest.raises(MetricError, match="unknown counts 'largest'; known: mean, larger, reference"):
        metric("Error", CountedWeight("the larger number of beats", "beats", "largest"))(len)


def test_evidence_of_a_task_without_itemwise_metrics_says_what_to_declare() -> None:
    lonely = replace(BEATS, metrics=(continuity_error,), explain=partial(evidence, "beats", (continuity_error,)))
    with pytest.raises(
        MetricError, match="continuity_error does not judge beats one by one; declare a metric that does"
    ):
        lonely.explain(*PAIRS[0], lonely.select(["continuity_error"])[0])  # type: ignore[misc]


def test_a_metric_from_outside_is_sent_to_a_worker() -> None:
    measures = OWN.select(["continuity_error@0.1", "f_measure"])
    assert pickle.loads(pickle.dumps(measures)) == measures
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(scored_elsewhere, OWN, PAIRS, measures).result()
    here = score_pairs(OWN, PAIRS, measures)
    assert found.score.tobytes() == here.score.tobytes()
    assert found.weight.tobytes() == here.weight.tobytes()


def test_a_function_over_one_pair_follows_from_the_declaration() -> None:
    scores = PairFunctions(
        [continuity_error],
        lambda reference, estimate, measures: OWN.score_pair(*rows_of_times(reference, estimate), measures),
        fixed={"trim": -np.inf},
    )
    function = scores.functions("Beat times.")["continuity_error"]
    assert function(np.arange(4.0), np.array([0.0, 1.0, 2.5, 3.0])) == 0.5
    assert function(np.arange(3.0), np.arange(3.0) + 0.1, phase=0.05) == 1.0
    assert "phase : float, default 0.175" in str(function.__doc__)
    with pytest.raises(TypeError, match="did you mean 'phase'"):
        function(np.arange(3.0), np.arange(3.0), phas=0.1)
    with pytest.raises(MetricError, match="'phase' must be at least 0"):
        function(np.arange(3.0), np.arange(3.0), phase=-0.1)


KEYS = "C major", "F major"
TEMPI = np.array([60.0, 120.0]), np.array([119.0])
PLAYED = [[0.0, 0.0, 60], [1.0, 0.5, 62]], [[0.25, 0.5, 0.0, 60], [2.5, 2.5, 0.5, 62]]
TAGS = {"slow", "guitar"}, {"guitar": 0.9, "loud": 0.7, "slow": 0.4, "piano": 0.1}
BEAT_TIMES = np.arange(6.0, 14.0), np.arange(6.0, 14.0, 0.5)


def following(rows: list[list[float]], *names: str) -> Annotation:
    return Annotation("following", dict(zip(names, np.array(rows).T, strict=True)))


def tags(given: set[str] | dict[str, float]) -> Annotation:
    if isinstance(given, set):
        return Annotation("labels", {}, sorted(given))
    return Annotation("labels", {"value": np.array(list(given.values()))}, list(given))


@pytest.mark.parametrize(
    ("task", "sides", "pair"),
    [
        ("beat", BEAT_TIMES, tuple(events(*side) for side in BEAT_TIMES)),
        ("downbeat", BEAT_TIMES, tuple(events(*side) for side in BEAT_TIMES)),
        ("key", KEYS, tuple(Annotation("key", {}, [side]) for side in KEYS)),
        (
            "tempo",
            TEMPI,
            tuple(
                Annotation("tempo", {"tempo": side, "salience": np.array([0.75, 0.25])[: len(side)]}) for side in TEMPI
            ),
        ),
        (
            "score_following",
            PLAYED,
            (
                following(PLAYED[0], "time", "position", "pitch"),
                following(PLAYED[1], "time", "detected", "position", "pitch"),
            ),
        ),
        ("tagging", TAGS, tuple(map(tags, TAGS))),
    ],
)
def test_every_metric_that_mir_eval_does_not_have_is_a_function_over_one_pair(
    task: str, sides: tuple[object, object], pair: Pair
) -> None:
    room, convention = importlib.import_module(f"mirflow.metrics.{task}"), get_task(task).convention()
    names = [one.name for one in convention.metrics if not one.key and not one.dims]
    cleaned = [convention.clean(to_ragged([side])).rows for side in pair]
    expected = convention.score_pair(cleaned[0], cleaned[1], convention.select(names))
    found = [getattr(room, name)(*sides) for name in names]
    assert names
    np.testing.assert_array_equal(found, expected)


def test_a_function_over_one_pair_takes_the_parameters_of_its_metric() -> None:
    from mirflow.metrics import key, tagging, tempo

    assert (key.fifth(*KEYS), key.fifth(*KEYS, allow_descending_fifths=True)) == (0.0, 1.0)
    assert (tempo.accuracy1(120.0, 110.0), tempo.accuracy1(120.0, 110.0, tol=0.1)) == (0.0, 1.0)
    assert (tagging.recall(*TAGS), tagging.recall(*TAGS, threshold=0.3)) == (0.5, 1.0)
    with pytest.raises(ValueError, match="one or two non-negative numbers"):
        tempo.oe1(np.array([60.0, 90.0, 120.0]), 60.0)


@family(
    Weight("number of beats", "beats"),
    {"first": {"title": "First", "aliases": ("f",)}, "last": {"title": "Last", "name": "final"}},
    summary="a beat",
    pooling="none",
)
def ends(which: str, times: Float, measure: Measure) -> tuple[Float, Float]:
    """The first or the last beat."""
    return times[:, 0 if which == "first" else -1], np.ones(len(times))


def test_a_family_declares_a_metric_for_each_key() -> None:
    assert [(one.name, one.title, one.pooling) for one in ends] == [
        ("first", "First", "none"),
        ("final", "Last", "none"),
    ]
    assert metrics_in({"ends": ends, "continuity_error": continuity_error}) == (*ends, continuity_error)
    for one in pickle.loads(pickle.dumps(ends[:])):
        assert one.read(np.array([[1.0, 2.0]]), None)[0].tolist() == [1.0 if one.name == "first" else 2.0]


@pytest.mark.filterwarnings("ignore:.*scored although irregular:mirflow.errors.MirflowWarning")  # it ends early
def test_a_function_may_take_labelled_datasets() -> None:
    def covered(reference: xr.Dataset, estimate: xr.Dataset, scale: float = 1.0) -> float:
        assert (reference.attrs["kind"], reference.start.attrs["units"]) == ("intervals", "s")
        return scale * float(estimate.end.max() / reference.end.max())

    sides = [
        Annotation("intervals", {"start": np.array([0.0]), "end": np.array([end])}, [label])
        for end, label in ((4.0, "C"), (3.0, "G"))
    ]
    for task, name in (("chord", "covered"), ("segment", "covered@2.0")):
        measure = get_task(task).convention().select([covered])[0].metric.measure(scale=1.0 + (task == "segment"))
        assert str(measure) == name
        assert mirflow.evaluate(*sides, task, metrics=[measure]).score.item() == 0.75 * (1.0 + (task == "segment"))
