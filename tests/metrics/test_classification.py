"""Classification against scikit-learn, equations of the MIREX chapter worked out by hand, and bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    confusion_matrix,
    matthews_corrcoef,
    precision_recall_fscore_support,
)

import mirflow
from mirflow.analysis.per_class import explain_name
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.annotations.classes import Classes
from mirflow.errors import MetricError
from mirflow.metrics import classification
from mirflow.metrics.base import Pairs, Scores, get_task
from mirflow.metrics.classification import convention

GENRES = Classes.of(
    tree={"Jazz & Blues": ["jazz", "blues"], "Classical & Romantic": ["classical", "romantic"], "Rock": {"metal": None}}
)
lists = st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcdef")), min_size=1, max_size=60)


@given(lists)
def test_figures_equal_those_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    told, guessed = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert classification.accuracy(told, guessed) == pytest.approx(accuracy_score(told, guessed), abs=1e-12)
    matrix, classes = classification.confusion_matrix(told, guessed)
    if len(classes) > 1:  # of one class scikit-learn warns
        np.testing.assert_array_equal(matrix, confusion_matrix(told, guessed, labels=list(classes)))
    expected = precision_recall_fscore_support(told, guessed, labels=list(classes), zero_division=np.nan)
    found = [classification.precision, classification.recall, classification.f_measure]
    for own, other in zip(found, expected[:3], strict=True):
        np.testing.assert_allclose(list(own(told, guessed).values()), other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_normalised_accuracy_is_the_balanced_accuracy_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    told = rng.choice(["a", "b", "c", "d"], 300, p=[0.7, 0.2, 0.09, 0.01])
    guessed = np.where(rng.random(300) < 0.6, told, rng.choice(sorted(set(told)), 300))
    found = classification.normalised_accuracy(told.tolist(), guessed.tolist())
    assert found == pytest.approx(balanced_accuracy_score(told, guessed), abs=1e-12)


@pytest.mark.parametrize("names", ["ab", "abcde"])
@pytest.mark.parametrize("seed", range(10))
def test_the_correlation_is_that_of_scikit_learn(names: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    told = rng.choice(list(names), 300)
    guessed = np.where(rng.random(300) < seed / 10, told, rng.choice([*names, "other"], 300))
    found = classification.matthews_correlation(told.tolist(), guessed.tolist())
    assert found == pytest.approx(matthews_corrcoef(told, guessed), abs=1e-12)


def test_the_correlation_is_0_where_a_side_has_one_class_and_1_where_all_are_right() -> None:
    assert classification.matthews_correlation(["a", "b"], ["a", "a"]) == 0
    assert classification.matthews_correlation(["a", "a"], ["a", "a"]) == 0
    assert classification.matthews_correlation(["a", "b", "c"], ["a", "b", "c"]) == 1
    # As scikit-learn 1.9.1 gives it.
    told, guessed = list("aaabbbccdd"), list("aabbbcccda")
    assert classification.matthews_correlation(told, guessed) == pytest.approx(0.60279628678631, abs=1e-12)


def test_queries_have_the_correlation_of_all_tracks() -> None:
    rng = np.random.default_rng(0)
    tracks = [f"t{number:03}" for number in range(120)]
    told = dict(zip(tracks, rng.choice(list("abc"), 120).tolist(), strict=True))
    guessed = {
        system: {track: one if rng.random() < share else "c" for track, one in told.items()}
        for system, share in (("good", 0.8), ("poor", 0.3))
    }
    scores = mirflow.score(told, guessed, "classification").mirflow
    found = scores.query("confusion", "mcc").value.squeeze()
    for system, labels in guessed.items():
        expected = matthews_corrcoef(list(told.values()), list(labels.values()))
        assert found.sel(system=system).item() == pytest.approx(expected, abs=1e-12)
    halves = scores.query("confusion", "mcc", tracks=tracks[:60]).value.squeeze()
    expected = matthews_corrcoef(list(told.values())[:60], list(guessed["good"].values())[:60])
    assert halves.sel(system="good").item() == pytest.approx(expected, abs=1e-12)


def test_the_correlation_asked_for_as_a_metric_is_explained() -> None:
    boards = [mirflow.score({"a": "x"}, {"a": "x"}, "classification")]
    assert explain_name("matthews_corrcoef", boards) == "it is read off all tracks together: -m confusion -a mcc"


def test_hierarchical_accuracy_discounts_errors_between_similar_genres_by_half_a_point() -> None:
    told = ["jazz", "jazz", "jazz", "classical", "metal", "metal"]
    guessed = ["jazz", "blues", "classical", "romantic", "Rock", "jazz"]
    # Equation 3 with half a point for the 3 near errors: (1 + 0.5 * 3) / 6.
    assert classification.hierarchical_accuracy(told, guessed, GENRES) == (1 + 0.5 * 3) / 6


def test_credits_are_those_of_equation_3_for_the_keys_that_it_was_made_for() -> None:
    keys = Classes.of(credit={"C": {"G": 0.5, "Am": 0.3, "Cm": 0.2}}, names=["F"])
    told, guessed = ["C"] * 10, ["C"] * 4 + ["G"] * 2 + ["Am"] * 2 + ["Cm", "F"]
    expected = (4 + 0.5 * 2 + 0.3 * 2 + 0.2 * 1) / 10
    assert classification.hierarchical_accuracy(told, guessed, keys) == pytest.approx(expected, abs=1e-15)


def test_without_classes_no_error_is_worth_anything() -> None:
    assert classification.evaluate(["a", "b"], ["a", "a"]) == {"Accuracy": 0.5, "Normalised Accuracy": 0.5}
    assert classification.evaluate(["jazz"], ["blues"], GENRES)["Hierarchical Accuracy"] == 0.5


def score(told: list[str | None], guessed: list[str | None], classes: Classes | None = None) -> Scores:
    """Scores of pairs; None stands for a side without a class."""
    rules = convention(classes)
    sides = [
        rules.clean(to_ragged([Annotation("labels", {}, [] if one is None else [one]) for one in side])).rows
        for side in (told, guessed)
    ]
    rows = np.arange(len(told))
    names = ["accuracy", "hierarchical_accuracy", "confusion"]
    return rules.score(Pairs(*sides, rows, rows), rules.select(names), "union")


def test_a_track_without_an_estimate_is_an_error_and_one_without_a_reference_has_no_weight() -> None:
    scores = score(["jazz", None, "jazz"], [None, "jazz", "jazz"], GENRES)
    assert scores.score.tolist() == [[0, 0], [0, 0], [1, 1]]
    assert scores.weight.tolist() == [[1, 1], [0, 0], [1, 1]]
    confusion = scores.extras["confusion"]
    assert confusion.coords == (GENRES.names, (*GENRES.names, "(none)"))
    names = [(confusion.coords[0][one], confusion.coords[1][other]) for _, one, other in confusion.index.tolist()]
    assert names == [("jazz", "(none)"), ("jazz", "jazz")]


def test_a_class_outside_of_those_that_there_are_is_told_with_the_nearest_one() -> None:
    cleaned = convention(GENRES).clean(to_ragged([Annotation("labels", {}, ["blue"])]))
    assert cleaned.flaws[0].message == "not a class here: 'blue'; did you mean 'blues'?"
    with pytest.raises(ValueError, match="estimate 1: not a class here: 'rok'"):
        classification.hierarchical_accuracy(["jazz", "jazz"], ["jazz", "rok"], GENRES)


def test_a_second_class_and_a_class_without_a_name_cannot_be_scored() -> None:
    rows = to_ragged([Annotation("labels", {}, names) for names in (["a", "b"], [""], ["a", "a"])])
    cleaned = convention().clean(rows)
    assert cleaned.flaws[0].message == "a track has one class, and this is another one: 'b'; the first is 'a'"
    assert cleaned.flaws[1].message == "a class without a name"
    assert cleaned.rows.counts[0].tolist() == [0, 0, 1]
    assert cleaned.repairs.tolist() == [0, 0, 1]


def test_what_is_wrong_with_lists_is_told() -> None:
    with pytest.raises(ValueError, match="different lengths: 1 references, 2 estimates"):
        classification.accuracy(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="no tracks"):
        classification.accuracy([], [])
    with pytest.raises(TypeError, match="did you mean 'classes'"):
        classification.evaluate(["a"], ["a"], clases=None)


def test_a_task_that_compares_no_classes_takes_none() -> None:
    with pytest.raises(MetricError, match="'mir_eval' does not compare classes"):
        get_task("chord").convention(None, GENRES)
    rules = get_task("classification").convention()
    with pytest.raises(MetricError, match="hierarchical_accuracy needs credits of errors"):
        rules.demand_classes(rules.select(["accuracy", "hierarchical_accuracy"]))
    rules.with_classes(GENRES).demand_classes(rules.select(["hierarchical_accuracy"]))


def test_evidence_tells_near_errors_from_others() -> None:
    rules = convention(GENRES)
    measure = rules.select(["hierarchical_accuracy"])[0]
    assert rules.explain is not None
    found = [
        rules.explain(Annotation("labels", {}, ["jazz"]), Annotation("labels", {}, [name]), measure)
        for name in ("jazz", "blues", "metal")
    ]
    assert [str(one["verdict"][0]) for one in found] == ["right", "near", "wrong"]
    assert [float(one["credit"][0]) for one in found] == [1.0, 0.5, 0.0]


def test_a_class_that_no_estimate_has_has_no_precision() -> None:
    assert math.isnan(classification.precision(["a", "b"], ["a", "a"])["b"])
    assert math.isnan(classification.recall(["a", "a"], ["a", "b"])["b"])
