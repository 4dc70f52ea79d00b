"""Key estimation: mir_eval's weighted score, MIREX's two conventions and the classes of errors."""

from __future__ import annotations

import inspect
import itertools
import json
from collections import Counter
from pathlib import Path
from types import ModuleType

import mir_eval
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.errors import AnnotationError
from mirflow.metrics import key
from mirflow.metrics.base import get_task
from mirflow.metrics.key import clean
from mirflow.readers.objects import to_annotation
from mirflow.theory.keys import not_a_key

from .batches import score_pairs

TASK = get_task("key")
CLASSES = ["same", "fifth", "relative", "parallel", "other"]
TONICS = tuple(key.KEY_TO_SEMITONE)[:-1]
KEYS = ["X", *(f"{tonic} {mode}" for tonic in TONICS for mode in ("major", "minor", "other"))]

labels = st.one_of(
    st.sampled_from(KEYS),
    st.sampled_from(
        ("x", "C# MAJOR", " a  minor ", "Db\tminor", "C", "", "H major", "C maj", "X minor", "c Major", "Cb major")
    ),
    st.text(alphabet="CxbX# majorin", max_size=9),
)


def annotation(*names: str) -> Annotation:
    return Annotation("key", {}, list(names))


def scores(reference: str, estimate: str, *names: str, convention: str = "mir_eval") -> list[float]:
    rules = TASK.convention(convention)
    return score_pairs(rules, [(annotation(reference), annotation(estimate))], rules.select(names)).score[0].tolist()


def outcome(module: ModuleType, reference: str, estimate: str) -> object:
    try:
        return dict(module.evaluate(reference, estimate))
    except ValueError as error:
        return str(error)


@given(labels, labels)
def test_scores_and_errors_are_mir_evals(reference: str, estimate: str) -> None:
    assert outcome(key, reference, estimate) == outcome(mir_eval.key, reference, estimate)


def verdict(module: ModuleType, label: str) -> object:
    """How a label is split, or the message of the refusal."""
    try:
        module.validate_key(label)
    except ValueError as error:
        return str(error)
    return module.split_key_string(label)


@given(labels)
def test_labels_are_checked_and_split_like_mir_evals(label: str) -> None:
    assert verdict(key, label) == verdict(mir_eval.key, label)


def test_the_batch_equals_mir_eval_for_all_pairs_of_its_keys() -> None:
    pairs = list(itertools.product(KEYS, repeat=2))
    rules = TASK.convention()
    found = score_pairs(rules, [(annotation(one), annotation(other)) for one, other in pairs])
    assert found.score[:, 0].tolist() == [mir_eval.key.weighted_score(*pair) for pair in pairs]
    assert (found.weight == 1).all()


def test_names_and_constants_are_mir_evals() -> None:
    assert key.KEY_TO_SEMITONE == mir_eval.key.KEY_TO_SEMITONE
    assert list(key.KEY_TO_SEMITONE) == list(mir_eval.key.KEY_TO_SEMITONE)
    for name in ("validate_key", "validate", "split_key_string"):
        ours, theirs = (inspect.signature(getattr(module, name)) for module in (key, mir_eval.key))
        assert list(ours.parameters) == list(theirs.parameters)


def test_descending_fifths_are_ascending_ones_with_the_keys_exchanged() -> None:
    pairs = list(itertools.product(KEYS, repeat=2))
    found = score_pairs(
        TASK.convention("mirex2017"), [(annotation(one), annotation(other)) for one, other in pairs]
    ).score[:, 0]
    for (one, other), score in zip(pairs, found.tolist(), strict=True):
        there, back = mir_eval.key.weighted_score(one, other), mir_eval.key.weighted_score(other, one)
        assert score == (0.5 if back == 0.5 else there)
        assert score == key.weighted_score(one, other, allow_descending_fifths=True)


def test_giantsteps_keys_in_both_notations_are_the_same(shared_data: Path) -> None:
    folder = shared_data / "giantsteps-key"
    pairs = []
    for path in sorted((folder / "jams").glob("*.jams")):
        annotations = json.loads(path.read_text())["annotations"]
        (value,) = (row["value"] for one in annotations if one["namespace"] == "key_mode" for row in one["data"])
        pairs.append((value, (folder / "key" / path.name.replace(".jams", ".key")).read_text()))
    assert len(pairs) == 150
    assert all(one != other for one, other in pairs)
    rules = TASK.convention("mirex2017")
    found = score_pairs(rules, [(annotation(one), annotation(other)) for one, other in pairs])
    assert found.score.tolist() == [[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]] * 150


def test_giantsteps_keys_against_those_of_the_next_track(shared_data: Path) -> None:
    names = [path.read_text() for path in sorted((shared_data / "giantsteps-key" / "key").glob("*.key"))]
    pairs = [(one, other) for one, other in itertools.product(names, repeat=2)]
    expected = {pair: mir_eval.key.weighted_score(*pair) for pair in set(pairs)}
    for convention in ("mir_eval", "mirex2005"):
        rules = TASK.convention(convention)
        found = score_pairs(rules, [(annotation(one), annotation(other)) for one, other in pairs])
        assert found.score[:, 0].tolist() == [expected[pair] for pair in pairs]


# -- conventions and classes -------------------------------------------------------------------------------------------


def test_default_measures() -> None:
    assert list(map(str, TASK.convention().select())) == ["weighted_score"]
    for name in ("mirex2005", "mirex2017"):
        assert list(map(str, TASK.convention(name).select())) == ["weighted_score", *CLASSES]


@pytest.mark.parametrize(
    ("estimate", "mirex2005", "mirex2017"),
    [
        ("C major", (1.0, "same"), (1.0, "same")),
        ("G major", (0.5, "fifth"), (0.5, "fifth")),
        ("F major", (0.0, "other"), (0.5, "fifth")),
        ("A minor", (0.3, "relative"), (0.3, "relative")),
        ("C minor", (0.2, "parallel"), (0.2, "parallel")),
        ("F minor", (0.0, "other"), (0.0, "other")),
        ("E minor", (0.0, "other"), (0.0, "other")),
        ("X", (0.0, "other"), (0.0, "other")),
    ],
)
def test_points_and_classes(estimate: str, mirex2005: tuple[float, str], mirex2017: tuple[float, str]) -> None:
    for convention, (points, name) in (("mirex2005", mirex2005), ("mirex2017", mirex2017)):
        found = scores("C major", estimate, "weighted_score", *CLASSES, convention=convention)
        assert found == [points, *(float(one == name) for one in CLASSES)]


def test_points_are_parameters() -> None:
    assert scores("C major", "G major", "weighted_score(fifth=0.7)") == [0.7]
    assert scores("C major", "F major", "weighted_score@true(fifth=0.7)") == [0.7]
    assert scores("C major", "A minor", "weighted_score(relative=0)", "weighted_score(parallel=1)") == [0.0, 0.3]
    assert scores("C major", "F major", "weighted_score@false", convention="mirex2017") == [0.0]
    assert scores("C major", "F major", "fifth@true", "other@true", "fifth", "other") == [1.0, 0.0, 0.0, 1.0]


# -- rows --------------------------------------------------------------------------------------------------------------


def test_empty_sides() -> None:
    rules = TASK.convention("mirex2017")
    pairs = [(annotation("X"), annotation()), (annotation(), annotation("C")), (annotation(), annotation())]
    found = score_pairs(rules, pairs)
    assert found.score.tolist() == [[0.0] * 5 + [1.0], [0.0] * 6, [0.0] * 6]
    assert found.weight.tolist() == [[1.0] * 6, [0.0] * 6, [0.0] * 6]


@pytest.mark.parametrize(
    ("bad", "item", "message"),
    [
        (annotation("H major"), 0, not_a_key("H major")),
        (annotation("C major", "C:maj", ""), 2, not_a_key("")),
        (annotation("C major", "A minor"), 1, "a track has one key, and this is another one: 'A minor'"),
        (annotation("J", "A minor"), 0, not_a_key("J")),
    ],
)
def test_flaws(bad: Annotation, item: int, message: str) -> None:
    cleaned = clean(to_ragged([annotation("C major"), bad, annotation()]))
    assert {row: (flaw.item, flaw.message) for row, flaw in cleaned.flaws.items()} == {1: (item, message)}
    assert cleaned.rows.counts[0].tolist() == [1, 0, 0]
    assert cleaned.repairs.tolist() == [0, 0, 0]


def test_a_key_that_is_told_again_is_counted() -> None:
    cleaned = clean(to_ragged([annotation("Db minor", "C#:minor", "db min"), annotation("C")]))
    assert cleaned.rows.counts[0].tolist() == [1, 1]
    assert [cleaned.rows.labels[code] for code in cleaned.rows.columns["label"]] == ["Db minor", "C"]
    assert cleaned.repairs.tolist() == [2, 0]


def test_an_item_without_a_label_is_no_key() -> None:
    rows = to_ragged([annotation("C")])
    rows.columns["label"][0] = -1
    assert clean(rows).flaws[0].message == not_a_key("")


def test_evaluate_and_explain_from_annotations() -> None:
    found = mirflow.evaluate(annotation("Db:minor"), annotation("C# minor"), convention="mirex2017")
    assert found.attrs["task"] == "key"
    assert dict(zip(found.metric.values.tolist(), found.score.values.tolist(), strict=True)) == {
        "weighted_score": 1.0,
        "same": 1.0,
        **dict.fromkeys(CLASSES[1:], 0.0),
    }
    evidence = mirflow.explain(annotation("C"), annotation("A minor"), "weighted_score", task="key")
    assert Counter(evidence["relation"].values.tolist()) == {"relative": 1}
    with pytest.raises(AnnotationError, match="the estimate is empty, so there is nothing to explain"):
        mirflow.explain(annotation("C"), annotation(), "weighted_score", task="key")


def test_no_argument_is_no_key() -> None:
    assert len(to_annotation((), "key")) == 0
    found = mirflow.evaluate((), "C major", task="key")
    assert found.message.item() == "reason (reference): reference: track '' has an empty reference"
