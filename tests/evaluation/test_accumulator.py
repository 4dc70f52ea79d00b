"""Accumulators: pairs in any order and any parts come to the dataset of `score` and the aggregates of `query`."""

from __future__ import annotations

import json
import math
import pickle
import random
import warnings
from contextlib import nullcontext
from functools import reduce
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import xarray as xr
from hypothesis import Phase, given, settings

import mirflow
from mirflow import Accumulator
from mirflow.errors import AnnotationError, MirflowWarning, QueryError, ScoreError, UnknownNameError
from mirflow.store.cells import SCORED

from ..annotation_strategies import annotations
from ..commands import listed_tasks
from ..documentation import ROOT, blocks
from ..forms import arguments, as_read, dataset
from ..groups import CODES
from ..samples import sample

TASKS = listed_tasks()
Pairs = list[tuple[str, Any, Any]]


def accumulated(task: str, pairs: Pairs, *, named: bool = True, **options: Any) -> Accumulator:
    scores = Accumulator(task, **options)
    for track, reference, estimate in pairs:
        scores.update(reference, estimate, track if named else None)
    return scores


def computed(scores: Accumulator, *options: Any) -> bytes:
    """The aggregates, to the bit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MirflowWarning)
        found = scores.compute(*options)
    return json.dumps(found).encode()


@pytest.mark.filterwarnings("ignore::mirflow.errors.MirflowWarning")  # which random annotations give rise to
@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=4, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(data=st.data())
def test_parts_in_any_order_come_to_the_scores_of_all_pairs(task: str, data: st.DataObject) -> None:
    forms = [lambda one: one, arguments, lambda one: dataset(one, task)]
    draw = [[as_read(data.draw(annotations(task))) for _ in range(6)] for _ in range(2)]
    pairs = [(str(track), *pair) for track, pair in enumerate(zip(*draw, strict=True))]
    given_pairs = [(track, *(data.draw(st.sampled_from(forms))(one) for one in pair)) for track, *pair in pairs]
    expected = mirflow.score(pairs, task=task).load()
    whole = accumulated(task, given_pairs)
    xr.testing.assert_identical(whole.dataset().load(), expected)
    values = expected.mirflow.query(missing="skip")
    found = whole.compute(missing="skip")
    assert list(found) == [f"{task}/{name}" for name in values.metric.values]
    # Where nothing is measured in any pair, a query gives mir_eval's value beside the number of undefined scores.
    measured = (expected.weight > 0).where(expected.status.isin(list(SCORED)), False).any(["system", "track"]).values
    np.testing.assert_array_equal(list(found.values()), np.where(measured, values["value"].values[0], np.nan))

    numbered = accumulated(task, given_pairs, named=False)
    shuffled = random.Random(data.draw(st.integers(0, 99)))
    for named in (True, False):
        own = shuffled.sample(given_pairs, k=6)
        cuts = sorted(shuffled.choices(range(7), k=3))
        ranks = [accumulated(task, own[a:b], named=named) for a, b in zip([0, *cuts], [*cuts, 6], strict=True)]
        states = [json.loads(json.dumps(one.state())) for one in ranks]
        by_states = reduce(Accumulator.merge, states, Accumulator(task))
        first, second, third, fourth = (pickle.loads(pickle.dumps(one)) for one in ranks)
        left, right = (first + second) + (third + fourth), first + (second + (third + fourth))
        for other in (by_states, left, right):
            assert computed(other) == computed(whole if named else numbered)
            assert len(other) == 6
            if named:
                xr.testing.assert_identical(other.dataset().load(), expected)
        if not named:
            xr.testing.assert_identical(left.dataset().load(), right.dataset().load())
        assert list(map(len, ranks)) == [b - a for a, b in zip([0, *cuts], [*cuts, 6], strict=True)]


REFERENCES = {"a": np.array([1.0, 2.0]), "b": np.array([0.5, 1.5]), "10": np.array([3.0]), "9": np.array([])}
ESTIMATES = {"a": np.array([1.0]), "b": np.array([0.5, 1.5]), "10": np.array([3.0, 4.0]), "9": np.array([1.0])}


def test_many_pairs_are_given_as_mappings_collections_tables_or_sequences() -> None:
    expected = accumulated("onset", [(name, REFERENCES[name], ESTIMATES[name]) for name in REFERENCES]).dataset()
    assert expected.track.values.tolist() == ["9", "10", "a", "b"]
    sides = REFERENCES, ESTIMATES
    for form in (dict, lambda side: mirflow.collection("onset", side)):
        scores = Accumulator("onset")
        scores.update(*map(form, sides))
        xr.testing.assert_identical(scores.dataset().load(), expected.load())
    scores = Accumulator("onset")
    scores.update(*(list(side.values()) for side in sides), tracks=np.array(list(REFERENCES)))
    xr.testing.assert_identical(scores.dataset().load(), expected.load())
    scores.reset()
    scores.update(*(list(side.values())[:2] for side in sides), tracks=np.array([7, 8]))
    scores.update([1.0], [1.0], np.int64(9))
    assert scores.dataset().track.values.tolist() == ["7", "8", "9"]


ONSETS = [1.0, 2.0]
ROWS = [[1.0, 0.5, 60.0], [2.0, 1.0, 62.0]]
PATTERNS = [[[(0.0, 60.0), (1.0, 62.0)], [(8.0, 60.0), (9.0, 62.0)]]]
CURVE = (np.array([0.0, 0.1]), np.array([220.0, 0.0]))


@pytest.mark.parametrize(
    ("task", "references", "count"),
    [
        ("onset", [np.array(ONSETS), np.array([3.0])], 2),
        ("onset", [np.array(ONSETS), {"time": [3.0]}, mirflow.annotation("onset", [4.0])], 3),
        ("onset", ONSETS, 1),
        ("onset", np.array([[1.0, 2.0]])[0], 1),
        ("melody", [CURVE, CURVE], 2),
        ("melody", CURVE, 1),
        ("key", ["C major", "A minor"], 2),
        ("classification", ["rock", "jazz"], 2),
        ("tagging", ["loud", "slow"], 1),
        ("tempo", [60.0, 120.0], 1),
        ("tempo", [(np.array([60.0, 120.0]), 0.3), np.array([60.0, 120.0])], 2),
        ("score_following", ROWS, 1),
        ("score_following", [np.array(ROWS), np.array(ROWS)], 2),
        ("pattern", PATTERNS, 1),
        ("pattern", [{"patterns": PATTERNS}] * 2, 2),
    ],
)
def test_a_list_of_annotations_needs_no_names_and_a_list_of_values_is_one(
    task: str, references: Any, count: int
) -> None:
    scores, one_by_one = Accumulator(task), Accumulator(task)
    scores.update(references, references)
    assert len(scores) == count
    for one in references if count > 1 else [references]:
        one_by_one.update(one, one)
    xr.testing.assert_identical(scores.dataset().load(), one_by_one.dataset().load())
    if count > 1:
        scores.update([*references[:-1], None], references)
        assert len(scores) == 2 * count
        assert scores.dataset().status.sel(track=str(2 * count - 1)).item() == CODES["missing_reference"]
        with pytest.raises(AnnotationError, match=f"{count} references and {count - 1} estimate"):
            scores.update(references, references[:-1])


def test_lists_of_annotations_are_on_both_sides_or_on_none() -> None:
    scores = Accumulator("onset")
    with pytest.raises(AnnotationError, match="the estimates must be a list of annotations, as the other side is"):
        scores.update([np.array(ONSETS)], ONSETS)
    with pytest.raises(AnnotationError, match="the references must be a list of annotations, as the other side is"):
        scores.update(np.array(ONSETS), [np.array(ONSETS)])
    assert len(scores) == 0


@pytest.mark.parametrize("form", [lambda one: one, lambda one: mirflow.annotation("onset", one)])
def test_arrays_may_change_after_an_update(form: Any) -> None:
    times = np.array([1.0, 2.0])
    given_form = form(times)
    scores = Accumulator("onset", metrics=["f_measure"])
    scores.update(given_form, [1.0, 2.0])
    times += 9
    if isinstance(given_form, xr.Dataset):
        given_form.time.values[:] = 9.0
    assert scores.compute() == {"onset/f_measure": 1.0}


def test_aggregates_are_those_of_queries() -> None:
    scores = Accumulator("chord", metrics=["majmin", "seg"])
    scores.update(([[0, 3], [3, 4]], ["C:maj", "G:7"]), ([[0, 4]], ["C:maj"]))
    scores.update(([[0, 12]], ["A:min"]), ([[0, 12]], ["A:min"]))
    assert scores.compute() == {"chord/majmin": 15 / 16, "chord/seg": 0.875}
    assert scores.compute("mean")["chord/majmin"] == 0.875
    with pytest.raises(UnknownNameError, match="unknown aggregate 'men'"):
        scores.compute("men")
    with pytest.raises(UnknownNameError, match="unknown missing 'zreo'; did you mean 'zero'"):
        scores.compute(missing="zreo")


def test_intervals_are_those_of_queries() -> None:
    rng = np.random.default_rng(0)
    pairs = [
        (f"t{place}", beats, beats[rng.random(40) < 0.8]) for place, beats in enumerate(rng.uniform(5, 30, (9, 40)))
    ]
    pairs = [(name, np.sort(reference), np.sort(estimate)) for name, reference, estimate in pairs]
    scores = accumulated("beat", pairs, metrics=["f_measure", "cemgil"])
    cases: list[tuple[dict[str, Any], float]] = [({"ci": True}, 0.95), ({"ci": 0.8, "aggregate": "median"}, 0.8)]
    for options, level in cases:
        found = scores.compute(**options)
        query = mirflow.query(scores.dataset(), ci=level, aggregate=options.get("aggregate"))
        for place, metric in enumerate(["f_measure", "cemgil"]):
            ends = [found[f"beat/{metric}{end}"] for end in ("_low", "", "_high")]
            assert ends == [query[name].values[0, place] for name in ("low", "value", "high")]
            assert ends == sorted(set(ends))
    few = accumulated("onset", [("a", [1.0], [1.0])], metrics=["f_measure"]).compute(ci=True)
    assert few["onset/f_measure"] == 1.0
    assert np.isnan([few["onset/f_measure_low"], few["onset/f_measure_high"]]).all()
    with pytest.raises(QueryError, match="level"):
        scores.compute(ci=95)


def test_pairs_without_a_score_are_kept_and_warned_of() -> None:
    scores = accumulated("onset", [("a", [1.0], [1.0]), ("b", [1.0], [1.0, "x"]), ("c", [1.0], None)])
    with pytest.warns(MirflowWarning, match="2 of 3 pairs .*, the first being track 'b': estimate b: time is"):
        assert scores.compute()["onset/f_measure"] == 1.0
    assert scores.compute(missing="zero")["onset/f_measure"] == 1 / 3
    with pytest.raises(QueryError, match="track 'b': invalid"):
        scores.compute(missing="raise")
    wanted = [CODES[name] for name in ("ok", "invalid", "missing_estimate")]
    assert scores.dataset().status.values.tolist() == [wanted]


def test_an_error_leaves_the_pairs_of_its_update_out() -> None:
    scores = Accumulator("onset", on_error="raise")
    scores.update([1.0], [1.0], "a")
    for bad, message in (([1.0, "x"], "time is not a number: 'x'"), ([1.0, np.nan], "b:2: time is not finite")):
        with pytest.raises(ScoreError, match=f"track 'b': invalid: estimate {message if 'b:' in message else ''}"):
            scores.update({"c": [1.0], "b": [1.0]}, {"c": [1.0], "b": bad})
    scores.update({"c": [1.0], "b": [1.0]}, {"c": [1.0], "b": [1.0]})
    assert scores.dataset().track.values.tolist() == ["a", "b", "c"]


def test_repeated_tracks_count_once_if_their_results_are_the_same() -> None:
    left = accumulated("onset", [("a", [1.0], [1.0]), ("b", [1.0, 2.0], [1.0])])
    right = accumulated("onset", [("b", [1.0, 2.0], [1.0]), ("c", [1.0], [1.0])])
    assert (left + right).dataset().track.values.tolist() == ["a", "b", "c"]
    assert len(left) == len(right) == 2
    with pytest.raises(AnnotationError, match="track 'b' has different results in both"):
        left.merge(accumulated("onset", [("b", [1.0, 2.0], [9.0])]))


def test_what_cannot_be_added_is_an_error() -> None:
    scores = accumulated("onset", [("a", [1.0], [1.0])])
    other = accumulated("onset", [("a", [1.0], [1.0])], named=False)
    for call, message in (
        (lambda: scores.update([1.0], [1.0], "a"), "track 'a' was given before"),
        (lambda: scores.update([1.0], [1.0]), "some pairs are named and others are numbered"),
        (lambda: scores.merge(other), "some pairs are named and others are numbered"),
        (lambda: scores.update([[1.0]], [[1.0]], ["b", "c"]), "2 tracks and 1 reference: the numbers must agree"),
        (lambda: scores.update({"b": [1.0]}, {"b": [1.0]}, ["b"]), "the references must be a sequence"),
        (lambda: scores.update([[1.0]] * 2, [[1.0]] * 2, ["b", "b"]), "track 'b' is named twice"),
        (lambda: scores.update([1.0], [1.0], 0.5), "invalid name of a track: 0.5"),
        (lambda: scores.merge(Accumulator("beat")), "different task: 'beat' in the state, 'onset' here"),
        (lambda: scores.merge(Accumulator("onset", metrics=["f_measure"])), "different metrics"),
        (lambda: scores.load_state({"layout": 9}), "not a state of an accumulator"),
        (lambda: scores.load_state({"layout": np.ones(2)}), "not a state of an accumulator"),
        (lambda: Accumulator("onset").compute(), "no pair was given"),
    ):
        with pytest.raises(AnnotationError, match=message):
            call()
    assert len(scores) == 1
    with pytest.raises(UnknownNameError, match="on_error"):
        Accumulator("onset", on_error="rise")  # type: ignore[arg-type]


def test_a_state_takes_the_place_of_what_was_there() -> None:
    scores, other = (accumulated("key", [(name, "C major", "G major")]) for name in "ab")
    scores.load_state(other.state())
    assert scores.dataset().track.values.tolist() == ["b"]
    assert repr(scores) == "<mirflow.Accumulator: key, 1 pair>"


def without(state: Any, *path: Any) -> Any:
    """A copy of a state without the item at a path."""
    found = parent = json.loads(json.dumps(state))
    for key in path[:-1]:
        parent = parent[key]
    del parent[path[-1]]
    return found


def changed(state: Any, value: Any, *path: Any) -> Any:
    """A copy of a state with another value at a path."""
    found = parent = json.loads(json.dumps(state))
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return found


_MADE = ("other", "unheard_of")
"""Keys that no state has."""


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("cells", "score", 0), None),
        (("cells", "score", 0), [0.5]),
        (("cells", "score", 0, 0), "x"),
        (("cells", "weight", 0, 0), math.nan),
        (("cells", "status", 0), 99),
        (("cells", "status", 0), 10**30),
        (("cells", "track", 0), 3),
        (("cells", "track", 0), "b"),
        (("cells", "message"), []),
        (("cells", "other"), []),
        (("extras", "confusion_majmin", "index", 0, 1), 10**6),
        (("extras", "confusion_majmin", "dims"), ["one"]),
        (("extras", "confusion_majmin", "attrs"), None),
        (("extras", "unheard_of"), {}),
        (("named",), "x"),
        (("rules",), []),
    ],
)
def test_a_damaged_state_is_an_error(path: tuple[Any, ...], value: Any) -> None:
    pairs = [(name, ([[0.0, 1.0]], ["C"]), ([[0.0, 1.0]], ["G"])) for name in "ab"]
    scores = accumulated("chord", pairs, metrics=["majmin", "root", "confusion@majmin"])
    state = scores.state()
    for damaged in (changed(state, value, *path), *([without(state, *path)] if path[-1] not in _MADE else [])):
        with pytest.raises(AnnotationError, match="the state is damaged: "):
            scores.load_state(damaged)
    assert len(scores) == 2


@pytest.mark.parametrize("path", [("rules", "task"), ("rules", "metrics", "f_measure"), ("extras",), ("cells",)])
def test_a_state_with_an_array_in_it_is_damaged(path: tuple[str, ...]) -> None:
    scores = accumulated("beat", [("a", [6.0, 7.0], [6.0, 7.0])])
    state = parent = scores.state()
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = np.zeros(0)
    with pytest.raises(AnnotationError, match="the state is damaged: "):
        scores.load_state(state)


def test_doubts_are_warned_of_once_as_by_score() -> None:
    scores = Accumulator("beat", metrics=["f_measure"])
    beats = np.arange(6.0, 16.0, 0.5)
    for _ in range(2):
        scores.reset()
        scores.update(beats, 1000 * beats, "a")
        with pytest.warns(MirflowWarning, match="track 'a': .* are the times in ms") if _ == 0 else nullcontext():
            assert scores.compute() == {"beat/f_measure": 0.0}


def test_what_has_nothing_to_measure_has_no_value() -> None:
    excerpt = np.arange(0.5, 4.5, 0.5)
    scores = accumulated("beat", [("a", excerpt, excerpt)], metrics=["f_measure", "f_measure(trim=0)"])
    with pytest.warns(MirflowWarning, match="nothing to measure for f_measure: "):
        found = scores.compute()
    assert math.isnan(found["beat/f_measure"])
    assert found["beat/f_measure(trim=0.0)"] == 1.0
    scores.update(excerpt + 6, excerpt + 6, "b")
    assert scores.compute()["beat/f_measure"] == 0.5  # as a query and mir_eval's own mean


def test_more_pairs_than_a_block_are_scored_as_each_alone() -> None:
    rng = np.random.default_rng(3)
    pairs = [(str(track), sample("beat", rng), sample("beat", rng)) for track in range(150)]
    scores = accumulated("beat", pairs)
    for track, reference, estimate in pairs[::37]:
        alone = accumulated("beat", [(track, reference, estimate)]).dataset().score
        np.testing.assert_array_equal(scores.dataset().score.sel(track=[track]), alone)


def test_the_metric_of_the_docs_computes_what_the_accumulator_does() -> None:
    pytest.importorskip("torchmetrics")
    names: dict[str, Any] = {}
    (block,) = [one for one in blocks(ROOT / "docs" / "from-python.md") if "class MirflowMetric" in one.body]
    exec(compile(block.body, "from-python.md", "exec"), names)
    metric = names["MirflowMetric"]("onset")
    for _ in range(2):
        metric.reset()
        metric(np.array([1.0, 2.0]), np.array([1.0]), "a")
        metric(np.array([1.0]), np.array([1.0]), "b")
        expected = accumulated("onset", [("a", [1.0, 2.0], [1.0]), ("b", [1.0], [1.0])]).compute()
        assert {name: value.item() for name, value in metric.compute().items()} == expected


def test_labels_that_occur_again_are_scored_as_each_alone() -> None:
    rng = np.random.default_rng(2)
    pairs = [(str(track), *rng.choice(["C major", "a minor", "X", "H major"], 2).tolist()) for track in range(300)]
    scores = Accumulator("key")
    for epoch in range(2):
        scores.reset()
        for track, reference, estimate in pairs:
            scores.update(reference, estimate, track)
        assert len(pickle.loads(pickle.dumps(scores))) == 300, epoch
        with pytest.warns(MirflowWarning, match="128 of 300 cells have no score .128 invalid., .*: 'H major'"):
            expected = mirflow.score(pairs, task="key").load()
        xr.testing.assert_identical(scores.dataset().load(), expected)
    with pytest.raises(AnnotationError, match="track '7' was given before"):
        scores.update("C major", "C major", "7")


def test_what_notes_lack_for_some_metrics_is_warned_of() -> None:
    notes = np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([440.0, 220.0])
    scores = Accumulator("transcription", metrics=["f_measure", "program_f_measure"], convention="mt3")
    scores.update(notes, notes)
    message = r"some metrics \(program_f_measure\) have no score of 1 of 1 pair: track '0': .*a note has no program"
    with pytest.warns(MirflowWarning, match=message):
        found = scores.compute()
    assert found["transcription/f_measure"] == 1.0
    assert np.isnan(found["transcription/program_f_measure"])
    assert scores.compute(missing="skip")["transcription/f_measure"] == 1.0
