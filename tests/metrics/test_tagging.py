"""Tagging against scikit-learn, clip by clip, and bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    precision_recall_fscore_support,
    recall_score,
    roc_auc_score,
)

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.annotations.classes import Classes
from mirflow.errors import MetricError
from mirflow.metrics import tagging
from mirflow.metrics.base import Pairs, Scores
from mirflow.metrics.tagging import convention
from mirflow.ragged import Float

TAGS = ("guitar", "slow", "loud", "piano", "dance", "sad")
# Few distinct values, so that ties are frequent.
affinities = st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.5000001, 0.9, 1.0]), min_size=len(TAGS), max_size=len(TAGS))
relevances = st.lists(st.booleans(), min_size=len(TAGS), max_size=len(TAGS))


@pytest.mark.slow
@given(st.lists(st.tuples(relevances, affinities), min_size=1, max_size=8))
def test_every_clip_has_the_figures_of_scikit_learn(clips: list[tuple[list[bool], list[float]]]) -> None:
    scores = score([clip[0] for clip in clips], [clip[1] for clip in clips])
    for row, (has, affinity) in zip(scores.score, clips, strict=True):
        given_ = np.array(affinity) >= 0.5
        precision, recall, f_measure, _ = precision_recall_fscore_support(
            has, given_, average="binary", zero_division=0
        )
        other = recall_score(~np.array(has), ~given_, zero_division=0)
        accuracy = accuracy_score(has, given_)
        np.testing.assert_allclose(row[:5], [f_measure, precision, recall, accuracy, other], rtol=0, atol=1e-12)
        if any(has) and not all(has):
            assert row[5] == pytest.approx(roc_auc_score(has, affinity), abs=1e-12)
        else:
            assert math.isnan(row[5])
        if any(has):
            assert row[6] == pytest.approx(average_precision_score(has, affinity), abs=1e-12)
        else:
            assert math.isnan(row[6])


def score(has: list[list[bool]], affinity: list[list[float]], metrics: list[str] | None = None) -> Scores:
    """Scores of clips that are about all of `TAGS`."""
    rules = convention(Classes(TAGS))
    sides = []
    for clips in (has, affinity):
        annotations = [Annotation("labels", {"value": np.array(one, dtype=float)}, list(TAGS)) for one in clips]
        cleaned = rules.clean(to_ragged(annotations))
        assert not cleaned.flaws
        sides.append(cleaned.rows)
    rows = np.arange(len(has))
    names = ["f_measure", "precision", "recall", "accuracy", "negative_accuracy", "roc_auc", "average_precision"]
    return rules.score(Pairs(*sides, rows, rows), rules.select(metrics or names), "union")


def test_weights_are_what_stands_below_the_line() -> None:
    scores = score([[True, True, True, False, False, False]], [[0.9, 0.8, 0.1, 0.7, 0.2, 0.3]])
    np.testing.assert_allclose(scores.score[0], [2 / 3, 2 / 3, 2 / 3, 4 / 6, 2 / 3, 6 / 9, (1 + 1 + 3 / 6) / 3])
    assert scores.weight[0].tolist() == [3.0, 3.0, 3.0, 6.0, 3.0, 9.0, 3.0]


def test_weighted_means_of_the_ratios_are_those_of_all_decisions_together() -> None:
    rng = np.random.default_rng(5)
    has, affinity = rng.random((40, 6)) < 0.4, rng.random((40, 6))
    scores = score(has.tolist(), affinity.tolist())
    pooled = (scores.score[:, :5] * scores.weight[:, :5]).sum(axis=0) / scores.weight[:, :5].sum(axis=0)
    flat, given_ = has.ravel(), affinity.ravel() >= 0.5
    precision, recall, f_measure, _ = precision_recall_fscore_support(flat, given_, average="binary")
    expected = [f_measure, precision, recall, accuracy_score(flat, given_), recall_score(~flat, ~given_)]
    np.testing.assert_allclose(pooled, expected, rtol=0, atol=1e-12)


def test_precision_at_k_goes_by_affinity_and_then_by_the_order_of_the_list() -> None:
    scores = score(
        [[True, False, True, False, False, False]],
        [[0.2, 0.9, 0.9, 0.1, 0.0, 0.0]],
        ["precision_at@1", "precision_at@2", "precision_at", "precision_at@10"],
    )
    assert scores.score[0].tolist() == [0.0, 0.5, 2 / 3, 0.2]
    assert scores.weight[0].tolist() == [1.0, 2.0, 3.0, 10.0]


def test_without_a_vocabulary_a_clip_is_about_the_tags_that_either_side_lists() -> None:
    found = tagging.evaluate({"slow", "guitar"}, {"guitar", "loud"})
    assert found["accuracy"] == 1 / 3
    assert found["negative_accuracy"] == 0.0
    whole = tagging.evaluate({"slow", "guitar"}, {"guitar", "loud"}, TAGS)
    assert whole["accuracy"] == 4 / 6
    assert whole["negative_accuracy"] == 3 / 4


def test_tags_that_are_not_listed_come_last() -> None:
    found = tagging.evaluate({"slow", "sad"}, {"slow": -3.0, "loud": -5.0}, ["slow", "loud", "sad", "piano"])
    # sad and piano are equally last: slow is before both others, sad behind loud and beside piano.
    assert found["roc_auc"] == (2 + 0.5) / 4


def test_thresholds_of_both_sides_are_parameters() -> None:
    found = tagging.evaluate({"slow": 0.3, "loud": 1.0}, {"slow": 2.0, "loud": 1.0}, None, 1.5, 0.2)
    assert (found["precision"], found["recall"]) == (1.0, 0.5)


def test_bad_tags_are_told() -> None:
    def flaw(labels: list[str], value: list[float] | None = None, classes: Classes | None = None) -> str:
        columns: dict[str, Float] = {} if value is None else {"value": np.array(value)}
        (one,) = convention(classes).clean(to_ragged([Annotation("labels", columns, labels)])).flaws.values()
        return one.message

    assert flaw(["slow", "sloww"], None, Classes(TAGS)) == "not a tag here: 'sloww'; did you mean 'slow'?"
    assert flaw([""]) == "a tag without a name"
    assert flaw(["slow", "slow"], [0.1, 0.2]) == "the tag 'slow' occurs twice, with 0.1 and with 0.2"
    assert flaw(["slow", "sad"], [0.1, math.nan]) == "the tag 'sad' has no number, but others have"


def test_a_tag_that_is_merely_told_again_is_a_repair() -> None:
    rows = to_ragged([Annotation("labels", {}, ["slow", "sad", "slow"]), Annotation("labels", {}, [""])])
    cleaned = convention().clean(rows)
    assert cleaned.repairs.tolist() == [1, 0]
    assert [cleaned.rows.labels[code] for code in cleaned.rows.columns["label"]] == ["slow", "sad"]


def test_figures_of_one_clip_refuse_misspelt_arguments_and_bad_tags() -> None:
    with pytest.raises(TypeError, match="did you mean 'threshold'"):
        tagging.evaluate(["slow"], ["slow"], treshold=0.5)
    with pytest.raises(ValueError, match="estimate: not a tag here: 'slw'"):
        tagging.evaluate(["slow"], ["slw"], ["slow"])
    with pytest.raises(ValueError, match="reference: expected a sequence of tags, not a single string: 'slow'"):
        tagging.evaluate("slow", ["slow"])
    with pytest.raises(ValueError, match="estimate: the number of 'slow' is NaN"):
        tagging.evaluate(["slow"], {"slow": math.nan})


def test_evidence_shows_what_became_of_each_tag() -> None:
    rules = convention(Classes(TAGS))
    assert rules.explain is not None
    told = Annotation("labels", {}, ["slow", "sad"])
    guessed = Annotation("labels", {"value": np.array([0.9, 0.8, 0.1])}, ["sad", "loud", "slow"])
    found = rules.explain(told, guessed, rules.select(["f_measure"])[0])
    assert found["label"][:3].tolist() == ["sad", "loud", "slow"]
    assert found["verdict"].tolist() == ["hit", "extra", "missed", "rejected", "rejected", "rejected"]
    with pytest.raises(MetricError, match="does not judge tags one by one"):
        rules.explain(told, guessed, rules.select(["roc_auc"])[0])
