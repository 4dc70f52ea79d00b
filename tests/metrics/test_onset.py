"""Onset detection: mir_eval's numbers, errors and warnings, and onsets by class."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mir_eval
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mirflow
from mirflow import evaluate, explain
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.errors import MetricError, MirflowWarning, QueryError
from mirflow.metrics import onset
from mirflow.metrics.base import Pairs, Scores, get_task
from tests.event_strategies import pairs, sequences, to_rows

TASK = get_task("onset")
Pair = tuple[np.ndarray, np.ndarray]
windows = st.sampled_from([0.0, 0.01, 0.05, 0.25, 3.0])
Hits = Sequence[tuple[float, str]]
"""Onsets with a label each."""


def score(batch: list[Pair], *metrics: str, convention: str = "mir_eval") -> Scores:
    rules, row = TASK.convention(convention), np.arange(len(batch))
    sides = (to_rows(*side) for side in zip(*batch, strict=True))
    return rules.score(Pairs(*sides, row, row), rules.select(metrics or None), "union")


def drums(*hits: tuple[float, str]) -> Annotation:
    return Annotation("events", {"time": np.array([time for time, _ in hits])}, [label for _, label in hits])


def score_drums(batch: list[tuple[Hits, Hits]], *metrics: str) -> Scores:
    rules, row = TASK.convention(), np.arange(len(batch))
    sides = (to_ragged([drums(*hits) for hits in side]) for side in zip(*batch, strict=True))
    return rules.score(Pairs(*sides, row, row), rules.select(metrics), "union")


def theirs(pair: Pair, window: float) -> list[float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(mir_eval.onset.evaluate(*pair, window=window).values())


@settings(deadline=None)
@given(batch=st.lists(pairs, min_size=1, max_size=6), window=windows)
def test_scores_are_mir_evals_alone_and_in_batches_to_the_bit(batch: list[Pair], window: float) -> None:
    together = score(batch, *(f"{name}@{window}" for name in ("f_measure", "precision", "recall")))
    for number, pair in enumerate(batch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MirflowWarning)
            alone = list(onset.evaluate(*pair, window=window).values())
        assert together.score[number].tolist() == alone
        np.testing.assert_allclose(alone, theirs(pair, window), rtol=0, atol=1e-9)


def test_weights_are_the_scores_own_denominators() -> None:
    found = score([(np.arange(3.0), np.arange(5.0)), (np.arange(3.0), np.zeros(0)), (np.zeros(0), np.arange(2.0))])
    assert found.weight.tolist() == [[4.0, 5.0, 3.0], [1.5, 0.0, 3.0], [1.0, 2.0, 0.0]]
    assert found.score[1:].tolist() == [[0.0] * 3] * 2


def test_onsets_of_real_tracks_are_mir_evals(shared_data: Path) -> None:
    """Beats of two systems against each other, as onsets: 250 tracks, of which a few have hundreds."""
    folder = shared_data / "harmonix" / "estimates" / "beats"
    batch = []
    for path in sorted((folder / "Bock_1").glob("*.txt")):
        sides = [np.array(one.read_text().split(), dtype=np.float64) for one in (path, folder / "Ellis" / path.name)]
        batch.append((sides[0], sides[1]))
    assert len(batch) == 250
    for window in (0.05, 0.5):
        found = score(batch, *(f"{name}@{window}" for name in ("f_measure", "precision", "recall")))
        np.testing.assert_allclose(found.score, [theirs(pair, window) for pair in batch], rtol=0, atol=1e-9)


def test_empty_sides_warn_and_score_0() -> None:
    with pytest.warns(MirflowWarning, match=r"^Reference onsets are empty\.$"):
        assert onset.f_measure(np.array([]), np.arange(3.0)) == (0.0, 0.0, 0.0)
    with pytest.warns(MirflowWarning, match=r"^Estimated onsets are empty\.$"):
        assert onset.f_measure(np.arange(3.0), np.array([])) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("onsets", "message"),
    [
        (np.array([[1.0, 2.0]]), "Event times should be 1-d"),
        (np.array([1e10, 1e11]), "greater than the maximum allowable time"),
        (np.array([2.0, 1.0]), r"Events should be in increasing order\."),
        (np.array([1.0, np.nan]), "Event times must be finite"),
    ],
)
def test_what_is_no_sequence_of_onsets_is_refused(onsets: np.ndarray, message: str) -> None:
    for function in (onset.validate, onset.f_measure, onset.evaluate):
        with pytest.raises(ValueError, match=message):
            function(onsets, onsets)


def test_a_window_may_be_an_array_without_dims() -> None:
    pair = np.array([1.0, 2.0]), np.array([1.08, 2.0])
    assert onset.f_measure(*pair, window=np.array(0.1))[0] == 1.0
    assert onset.evaluate(*pair, window=np.array(0.05))["F-measure"] == 0.5


def test_greedy_matching_is_a_parameter_and_the_convention_of_mirex() -> None:
    pair = np.array([1.0, 1.1]), np.array([1.04, 1.06])
    assert score([pair], "recall@0.07").score.tolist() == [[1.0]]
    assert score([pair], "recall@0.07(matching=greedy)").score.tolist() == [[0.5]]
    assert score([pair], "recall@0.07", convention="mirex").score.tolist() == [[0.5]]


class TestClasses:
    """Onsets with labels, as of drums."""

    reference: Hits = ((1.0, "bass"), (2.0, "bass"), (3.0, "snare"), (4.0, "hihat"))
    estimate: Hits = ((1.0, "bass"), (2.0, "snare"), (3.0, "snare"), (4.0, "tom"))

    def test_each_class_is_matched_on_its_own_and_the_f_measures_averaged_over_all_classes(self) -> None:
        found = score_drums([(self.reference, self.estimate)], "f_measure", "class_f_measure")
        # bass: 1 of 2 and 1 of 1; snare: 1 of 1 and 1 of 2; hihat and tom: nothing
        assert found.score[0].tolist() == pytest.approx([1.0, (2 / 3 + 2 / 3) / 4])
        assert found.weight[0].tolist() == [4.0, 4.0]

    def test_counts_by_class_stand_over_class_and_count(self) -> None:
        found = evaluate(drums(*self.reference), drums(*self.estimate), "onset", metrics=["f_measure", "by_class"])
        counts = found["by_class_0.05"]
        assert counts.dims == ("class", "count")
        assert counts.sel(count="matched").to_series().to_dict() == {"bass": 1, "hihat": 0, "snare": 1, "tom": 0}
        assert counts.sel(count="reference").to_series().to_dict() == {"bass": 2, "hihat": 1, "snare": 1, "tom": 0}
        assert counts.sel(count="estimate").to_series().to_dict() == {"bass": 1, "hihat": 0, "snare": 2, "tom": 1}

    def test_labels_are_told_apart_whatever_their_codes_are_on_either_side(self) -> None:
        found = score_drums([([(1.0, "b"), (2.0, "a")], [(1.0, "b"), (2.0, "a")])], "class_f_measure")
        assert found.score.tolist() == [[1.0]]

    def test_without_labels_there_is_one_class(self) -> None:
        pair = np.arange(4.0), np.arange(3.0)
        found = score([pair], "f_measure", "class_f_measure")
        assert found.score[0, 0] == found.score[0, 1]
        assert found.weight[0, 1] == 1.0

    def test_a_track_without_onsets_has_no_class(self) -> None:
        found = score_drums([([], []), ([(1.0, "a")], [])], "class_f_measure", "by_class")
        assert found.score[:, 0].tolist() == [0.0, 0.0]
        assert found.weight[:, 0].tolist() == [0.0, 1.0]
        assert found.extras["by_class_0.05"].coords[0] == ("a",)

    @settings(deadline=None)
    @given(batch=st.lists(st.tuples(sequences(), sequences(), st.integers(0, 99)), min_size=1, max_size=4))
    def test_it_is_the_mean_of_mir_evals_f_measures_of_each_class(self, batch: list[tuple]) -> None:
        named = []
        for reference, estimate, seed in batch:
            rng = np.random.default_rng(seed)
            named.append(
                tuple(
                    [(float(time), str(rng.choice(["a", "b", "c"]))) for time in side] for side in (reference, estimate)
                )
            )
        found = score_drums(named, "class_f_measure@0.25")
        for number, (reference, estimate) in enumerate(named):
            classes = {label for _, label in reference + estimate}
            scores = []
            for name in classes:
                pair = [np.array([time for time, label in side if label == name]) for side in (reference, estimate)]
                scores.append(theirs((pair[0], pair[1]), 0.25)[0])
            assert found.score[number, 0] == pytest.approx(np.mean(scores) if scores else 0.0, abs=1e-9)
            assert found.weight[number, 0] == len(classes)
            alone = score_drums([named[number]], "class_f_measure@0.25")
            assert alone.score[0, 0] == found.score[number, 0]


class TestClassesOfFiles:
    """Two tracks with different drums."""

    @pytest.fixture
    def pipeline(self, tmp_path: Path) -> Path:
        for side in ("ref", "est/one"):
            (tmp_path / side).mkdir(parents=True)
            (tmp_path / side / "a.txt").write_text("1.0 bass\n2.0 snare\n")
            (tmp_path / side / "b.txt").write_text("1.0 cymbal\n2.0 bass\n")
        path = tmp_path / "drums.yaml"
        path.write_text(
            f"name: drums\nstore: {tmp_path}/drums.zarr\nevaluations:\n"
            "  - {task: onset, metrics: [by_class],\n"
            "     reference: 'ref/{track}.txt', estimates: 'est/{system}/{track}.txt'}\n"
        )
        return path

    def test_a_store_has_the_classes_of_all_tracks(self, pipeline: Path) -> None:
        mirflow.run(pipeline)
        counts = mirflow.open_store(pipeline.with_name("drums.zarr"))["onset"]["by_class_0.05"]
        matched = counts.sel(count="matched", system="one").sum("track")
        assert matched.to_series().to_dict() == {"bass": 2.0, "cymbal": 1.0, "snare": 1.0}

    def test_a_lazy_pipeline_has_the_classes_of_all_tracks(self, pipeline: Path) -> None:
        mirflow.run(pipeline)
        stored = mirflow.open_store(pipeline.with_name("drums.zarr"))["onset"]["by_class_0.05"]
        lazy = mirflow.open_pipeline(pipeline)["onset"]["by_class_0.05"]
        assert lazy["class"].values.tolist() == ["bass", "cymbal", "snare"]
        np.testing.assert_array_equal(lazy.compute(), stored)

    def test_counts_by_class_give_precision_recall_and_f_measure(self, pipeline: Path) -> None:
        (pipeline.parent / "est/one/b.txt").write_text("1.0 cymbal\n2.0 snare\n")
        mirflow.run(pipeline)
        tree = mirflow.open_store(pipeline.with_name("drums.zarr"))

        def asked(kind: str, **more: Any) -> list[float]:
            return [float(one) for one in tree.mirflow.query("by_class", kind, **more)["value"].values.ravel()]

        assert list(tree.mirflow.query("by_class", "f_measure")["class"].values) == ["bass", "cymbal", "snare"]
        assert asked("precision") == pytest.approx([1, 1, 1 / 2])
        assert asked("recall") == pytest.approx([1 / 2, 1, 1])
        assert asked("f_measure") == pytest.approx([2 / 3, 1, 2 / 3])
        assert asked("f_measure", across={"class": "mean"}) == pytest.approx([7 / 9])
        assert asked("f_measure", over={"class": "sum"}) == pytest.approx([2 * 3 / (4 + 4)])
        with pytest.raises(QueryError, match=r"it has: sum, mean, precision, recall, f_measure, iou$"):
            asked("accuracy")


def test_evidence_shows_hits_misses_and_extra_onsets() -> None:
    one, other = (Annotation("events", {"time": np.array(times)}) for times in ([0.5, 1.0], [0.52, 0.8]))
    assert explain(one, other, "precision", "onset").verdict.values.tolist() == ["hit", "extra", "missed"]
    with pytest.raises(MetricError, match="does not judge onsets one by one"):
        explain(one, other, "class_f_measure", "onset")
