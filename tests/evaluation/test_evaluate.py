"""The xarray door: annotations in memory, in files and in folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jams
import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.collection import collect
from mirflow.errors import AnnotationError, MetricError, MirflowWarning, UnknownNameError
from mirflow.metrics import chord
from tests.datasets import write_dataset

from ..groups import CODES


def chords(*rows: tuple[float, float, str]) -> Annotation:
    start, end = np.array([[a, b] for a, b, _ in rows], dtype=np.float64).reshape(-1, 2).T
    return Annotation("intervals", {"start": start, "end": end}, [label for _, _, label in rows])


REFERENCE = chords((0, 1, "C:maj"), (1, 3, "G:7"), (3, 4, "N"))
ESTIMATE = chords((0, 2, "C:maj"), (2, 4, "G:maj"))


def test_the_three_doors_give_the_same_numbers() -> None:
    one = mirflow.evaluate(REFERENCE, ESTIMATE, "chord")
    plain = [np.column_stack([a.columns["start"], a.columns["end"]]) for a in (REFERENCE, ESTIMATE)]
    expected = chord.evaluate(plain[0], REFERENCE.labels, plain[1], ESTIMATE.labels)
    assert one.metric.values.tolist() == list(expected)
    np.testing.assert_array_equal(one.score.values, list(expected.values()))
    assert one.attrs.items() >= {"task": "chord", "convention": "mir_eval", "grid": "union"}.items()


def test_datasets_jams_objects_and_metrics_are_taken() -> None:
    jam = mirflow.to_jams([REFERENCE, ESTIMATE], task="chord")
    assert isinstance(jam, jams.JAMS)
    reference, estimate = mirflow.load(jam, task="chord", annotator="all")
    one = mirflow.evaluate(reference, estimate, metrics=["majmin", "csr@root"])
    assert one.score.values.tolist() == [0.5, 0.5]
    assert one.weight.values.tolist() == [4.0, 4.0]


def test_a_loaded_annotation_knows_the_namespace_to_be_written_in(tmp_path: Path) -> None:
    write_dataset(tmp_path, tracks=1)
    loaded = mirflow.load(tmp_path / "ref" / "t00.lab", task="chord")
    assert mirflow.to_jams(loaded).annotations[0].namespace == "chord"


def test_paths_and_jams_objects_are_taken_as_they_are(tmp_path: Path) -> None:
    write_dataset(tmp_path, tracks=1)
    path = tmp_path / "ref" / "t00.lab"
    jam = mirflow.to_jams(mirflow.load(path, task="chord"))
    assert mirflow.evaluate(path, jam, "chord", metrics=["majmin"]).score.values.tolist() == [1.0]
    assert mirflow.evaluate(jam, mirflow.load(path, task="chord"), metrics=["majmin"]).score.values.tolist() == [1.0]
    with pytest.raises(MetricError, match="the task is missing: choose from"):
        mirflow.evaluate(path, path)


def test_options_of_reading_are_those_of_both_sides_or_of_one(tmp_path: Path) -> None:
    seconds, milliseconds = tmp_path / "seconds.txt", tmp_path / "milliseconds.txt"
    seconds.write_text("".join(f"{beat / 2}\n" for beat in range(1, 40)))
    milliseconds.write_text("".join(f"{500 * beat}\n" for beat in range(1, 40)))
    pair = seconds, milliseconds, "beat"
    for door in (mirflow.evaluate, mirflow.evaluate_paths):
        both = door(*pair, metrics=["f_measure"], header=False, estimate_time_unit="ms")
        assert both.score.values.ravel().tolist() == [1.0]
    found = mirflow.explain(*pair[:2], "f_measure", "beat", time_unit="ms", reference_time_unit="s")
    assert set(found.verdict.values) == {"hit"}
    events = mirflow.load(seconds, task="beat")
    mixed = mirflow.evaluate(events, milliseconds, "beat", metrics=["f_measure"], time_unit="ms")
    assert mixed.score.values.tolist() == [1.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"estimate_time_unt": "ms"},
            "unknown option of reading 'estimate_time_unt'; did you mean 'estimate_time_unit'",
        ),
        ({"metric": ["f_measure"]}, "unknown option of reading 'metric'; did you mean 'metrics'"),
        ({"estimate_time_unit": "days"}, "invalid time_unit 'days'"),
        ({"reference_time_unit": "ms"}, "reference_time_unit is an option of reading, but the reference in memory"),
    ],
)
def test_options_that_do_not_fit_are_errors(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "beats.txt"
    path.write_text("0.5\n1.0\n")
    with pytest.raises(AnnotationError, match=message):
        mirflow.evaluate(mirflow.load(path, task="beat"), path, "beat", **options)


def test_options_of_what_is_not_read_are_errors() -> None:
    with pytest.raises(AnnotationError, match="in memory are not read: convert the times"):
        mirflow.evaluate(REFERENCE, ESTIMATE, "chord", time_unit="ms")
    with pytest.raises(AnnotationError, match="the frames of scores are a grid"):
        mirflow.evaluate(REFERENCE, ESTIMATE, "chord", hop=0.01)
    with pytest.raises(AnnotationError, match="'metric'; did you mean 'metrics'"):
        mirflow.evaluate(REFERENCE, ESTIMATE, "chord", metric=["majmin"])


def test_two_annotators_of_one_file_and_an_annotation_against_itself_are_scored() -> None:
    jam = mirflow.to_jams([REFERENCE, ESTIMATE], task="chord")
    reference, _ = mirflow.load(jam, task="chord", annotator="all")
    assert mirflow.evaluate(reference, reference, metrics=["majmin"]).score.values.tolist() == [1.0]


def test_tracks_of_collections_meet_by_name() -> None:
    table = mirflow.evaluate(collect({"a": REFERENCE}), collect({"b": ESTIMATE}), "chord", metrics=["majmin"])
    assert table.status.values.tolist() == [2, 3]


def test_one_spelling_of_a_grid_suits_every_door() -> None:
    for grid in ({"hop": 0.01}, 0.01, "0.01"):
        framed = mirflow.evaluate(REFERENCE, ESTIMATE, "chord", metrics=["majmin"], grid=grid)
        assert framed.attrs["grid"] == 0.01
    for grid in ({"hop": -1}, "unin", 0.0, float("nan"), "reference"):
        with pytest.raises(MetricError, match="is not scored on the grid"):
            mirflow.evaluate(REFERENCE, ESTIMATE, "chord", grid=grid)


def test_collections_are_scored_track_by_track() -> None:
    references = collect({"a": REFERENCE, "b": REFERENCE})
    estimates = collect({"b": ESTIMATE, "c": ESTIMATE, "a": chords((0, 4, "H"))})
    with pytest.warns(MirflowWarning, match=r"1 of 3 cells has no score \(1 invalid\), .*: 'H'"):
        table = mirflow.evaluate(references, estimates, "chord", metrics=["majmin"])
    assert table.score.dims == ("track", "metric")
    assert table.score.sel(track="b").item() == 0.5
    assert table.status.sel(track="c").item() == 3
    assert "not a chord: 'H'" in table.message.sel(track="a").item()
    with pytest.warns(MirflowWarning, match="1 of 3 cells has no score"):
        ragged = mirflow.evaluate(references.dataset, estimates.dataset, "chord", metrics=["majmin"])
    xr.testing.assert_equal(ragged.score, table.score)


def test_a_single_annotation_that_cannot_be_scored_is_an_error() -> None:
    with pytest.raises(AnnotationError, match="estimate:2: not a chord: 'H'"):
        mirflow.evaluate(REFERENCE, chords((0, 2, "C"), (2, 4, "H")), "chord")


def test_names_that_nothing_answers_to_are_errors() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'majmin'"):
        mirflow.evaluate(REFERENCE, ESTIMATE, "chord", metrics=["majmim"])
    with pytest.raises(UnknownNameError, match="did you mean 'mirex2013'"):
        mirflow.evaluate(REFERENCE, ESTIMATE, "chord", convention="mirex2012")
    with pytest.raises(AnnotationError, match="two annotations or two collections"):
        mirflow.evaluate(REFERENCE, collect({"a": ESTIMATE}), "chord")
    with pytest.raises(AnnotationError, match="intervals need label, which is missing"):
        mirflow.evaluate([], ESTIMATE, "chord")
    with pytest.raises(MetricError, match="the task is missing: choose from"):
        mirflow.evaluate(Annotation("events", {"time": np.zeros(1)}), Annotation("events", {"time": np.zeros(1)}))


def test_extra_dims_come_along() -> None:
    one = mirflow.evaluate(REFERENCE, ESTIMATE, "chord", metrics=["majmin", "confusion@majmin"])
    assert float(one.confusion_majmin.sum()) == pytest.approx(4.0, abs=1e-12)


def test_evidence_adds_up_to_the_score() -> None:
    evidence = mirflow.explain(REFERENCE, ESTIMATE, "majmin", "chord")
    seconds = (evidence.end - evidence.start).groupby(evidence.verdict).sum()
    assert seconds.sel(verdict="right").item() == 2.0
    assert seconds.sel(verdict="wrong").item() == 2.0
    with pytest.raises(AnnotationError, match="one side is a collection"):
        mirflow.explain(collect({"a": REFERENCE}), ESTIMATE, "majmin", "chord")


def test_two_folders_are_scored_by_name_of_file(tmp_path: Path) -> None:
    write_dataset(tmp_path, tracks=3)
    (tmp_path / "est" / "ada" / "t01.lab").unlink()
    ds = mirflow.evaluate_paths(tmp_path / "ref", tmp_path / "est" / "ada", "chord")
    assert ds.system.values.tolist() == ["ada"]
    assert ds.status.values.tolist() == [[1, 2, 1]]
    alone = mirflow.evaluate_paths(tmp_path / "ref" / "t02.lab", tmp_path / "est" / "ada" / "t02.lab", "chord")
    np.testing.assert_array_equal(alone.score.values[0, 0], ds.score.sel(track="t02").values[0])


def test_a_file_against_itself_is_perfect(tmp_path: Path) -> None:
    write_dataset(tmp_path, tracks=1)
    path = tmp_path / "ref" / "t00.lab"
    ds = mirflow.evaluate_paths(path, path, "chord")
    np.testing.assert_allclose(ds.score, 1.0, atol=1e-12)


def test_paths_that_do_not_fit_are_errors(tmp_path: Path) -> None:
    write_dataset(tmp_path, tracks=1)
    with pytest.raises(AnnotationError, match="not one of each"):
        mirflow.evaluate_paths(tmp_path / "ref", tmp_path / "ref" / "t00.lab", "chord")
    (tmp_path / "nothing").mkdir()
    with pytest.raises(AnnotationError, match="no annotation files"):
        mirflow.evaluate_paths(tmp_path / "ref", tmp_path / "nothing", "chord")
    (tmp_path / "ref" / "t00.csv").write_text("0,1,C\n")
    with pytest.raises(AnnotationError, match="two files of track 't00'"):
        mirflow.evaluate_paths(tmp_path / "ref", tmp_path / "est" / "ada", "chord")


def test_files_of_folders_may_have_any_suffix_and_hidden_ones_are_left_out(tmp_path: Path) -> None:
    for side, suffix in (("ref", "beats"), ("est", "bpm")):
        folder = tmp_path / side / "a"
        folder.mkdir(parents=True)
        (folder / f"t1.{suffix}").write_text("6\n7\n8\n")
        for name in ("._t1.lab", ".DS_Store", "__MACOSX/t2.lab", "README.txt", "LICENSE", "cover.png", f"t1.{suffix}~"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("?")
    ds = mirflow.evaluate_paths(tmp_path / "ref", tmp_path / "est", "beat", metrics="f_measure")
    assert ds.track.values.tolist() == ["a/t1"]
    assert ds.score.item() == 1


class TestLazyCollections:
    """Collections whose files are read block by block while they are scored."""

    @pytest.fixture
    def folder(self, tmp_path):
        for side, labels in (("ref", ("C:maj", "G:7", "A:min")), ("est", ("C:maj", "G:maj", "F:maj"))):
            (tmp_path / side).mkdir()
            for track, label in enumerate(labels):
                (tmp_path / side / f"t{track}.lab").write_text(f"0 2 {label}\n2 3 N\n")
        return tmp_path

    def collection(self, folder, side, *, lazy, **how):
        return mirflow.load_collection(folder / side / "{track}.lab", "chord", lazy=lazy, **how)

    @pytest.mark.parametrize(("left", "right"), [(True, True), (True, False), (False, True)])
    def test_they_are_scored_as_if_they_had_been_read(self, folder, left, right):
        lazily = [self.collection(folder, *one[:1], lazy=one[1]) for one in (("ref", left), ("est", right))]
        at_once = [self.collection(folder, side, lazy=False) for side in ("ref", "est")]
        xr.testing.assert_identical(mirflow.evaluate(*lazily, "chord"), mirflow.evaluate(*at_once, "chord"))

    def test_a_file_that_cannot_be_read_is_a_track_without_scores(self, folder):
        lazy = [self.collection(folder, side, lazy=True) for side in ("ref", "est")]
        (folder / "est" / "t1.lab").write_text("0 x C:maj\n")
        scores = mirflow.evaluate(*lazy, "chord", metrics=["majmin"])
        assert scores.score.chunks is not None
        scores = scores.compute()
        with pytest.warns(MirflowWarning, match=r"1 of 3 cells has no score .*track 't1': .*t1.lab:1"):
            assert mirflow.evaluate(lazy[0].compute(), lazy[1], "chord", metrics=["majmin"]).equals(scores)
        assert scores.status.values.tolist() == [CODES["ok"], CODES["invalid"], CODES["ok"]]
        assert scores.message.values[1].count("t1.lab:1: end is not a number: 'x'") == 1
        assert scores.score.isnull().sum() == 1

    def test_scores_of_several_lazy_systems_are_lazy(self, folder):
        ref, est = (self.collection(folder, side, lazy=True) for side in ("ref", "est"))
        lazy = mirflow.score(ref, {"A": est, "B": ref.isel(track=[2, 0])}, "chord", metrics=["majmin"], block=2)
        (folder / "ref" / "t1.lab").unlink()
        assert lazy.score.chunks == ((2,), (2, 1), (1,))
        assert float(lazy.score.sel(system="B", track="t2", metric="majmin")) == 1
        assert lazy.mirflow.query("majmin", "mean", missing="skip", lazy=True).value.chunks is not None
        sides = ref.sel(track=["t0"]).compute(), {"A": est.sel(track=["t0"]).compute()}
        eager = mirflow.score(*sides, "chord", metrics=["majmin"])
        xr.testing.assert_identical(lazy.score.sel(system="A", track="t0"), eager.score.sel(system="A", track="t0"))

    @pytest.mark.parametrize("lazy", [True, False])
    def test_each_track_is_explained_when_it_is_asked_for(self, folder, lazy):
        ref, est = (self.collection(folder, side, lazy=lazy) for side in ("ref", "est"))
        explained = mirflow.explain(ref, est.isel(track=[2, 1]), "sevenths", "chord")
        if lazy:
            (folder / "ref" / "t2.lab").unlink()
        assert (list(explained), len(explained), "t0" in explained) == (["t1", "t2"], 2, False)
        assert "Explanations: 2 tracks of intervals" in repr(explained)
        single = mirflow.explain(
            *(mirflow.load(folder / side / "t1.lab", "chord") for side in ("ref", "est")), "sevenths"
        )
        xr.testing.assert_identical(explained["t1"], single)
        with pytest.raises(UnknownNameError, match="unknown track 't0'"):
            explained["t0"]
        with pytest.raises(UnknownNameError, match="unknown metric 'seventh'"):
            mirflow.explain(ref, est, "seventh", "chord")
        with pytest.raises(AnnotationError, match="have no track in common"):
            mirflow.explain(ref.isel(track=[0]), est.isel(track=[1]), "sevenths", "chord")
        with pytest.raises(AnnotationError, match="one side is a collection: select its track"):
            mirflow.explain(ref, mirflow.load(folder / "est" / "t1.lab", "chord"), "sevenths", "chord")

    def test_one_that_is_lazy_and_a_single_annotation_do_not_meet(self, folder):
        single = mirflow.load(folder / "est" / "t0.lab", "chord")
        with pytest.raises(AnnotationError, match="two annotations or two collections, not one of each"):
            mirflow.evaluate(self.collection(folder, "ref", lazy=True), single, "chord")


class TestWhatIsUndefined:
    """A score without a value weighs nothing, whatever the task."""

    @pytest.mark.filterwarnings("ignore:2 items left out")
    @pytest.mark.parametrize(
        ("task", "kind", "reference", "estimate", "metric"),
        [
            ("beat", "events", {"time": [6.0, 7.0, 8.0]}, {"time": [6.0, 6.0, 6.0]}, "information_gain"),
            ("alignment", "events", {"time": [1.0, 2.0]}, {"time": []}, "mean_absolute_error"),
            ("tempo", "tempo", {"tempo": [120.0]}, {"tempo": []}, "aoe1"),
        ],
    )
    def test_in_tasks_of_numbers(self, task: str, kind: str, reference: Any, estimate: Any, metric: str) -> None:
        sides = [
            Annotation(kind, {name: np.array(values) for name, values in side.items()})
            for side in (reference, estimate)
        ]
        ds = mirflow.evaluate(*sides, task, metrics=[metric])
        assert np.isnan(ds.score.item())
        assert ds.weight.item() == 0

    def test_a_list_without_any_relevant_item_has_no_first_one(self) -> None:
        sides = [Annotation("ranking", {}, [name]) for name in "ab"]
        ds = mirflow.evaluate(*sides, "retrieval", metrics=["rank_of_first", "reciprocal_rank"])
        assert np.isnan(ds.score.sel(metric="rank_of_first"))
        assert ds.weight.values.tolist() == [0.0, 1.0]

    def test_an_estimate_that_is_missing_keeps_the_weight_of_an_empty_one(self, tmp_path: Path) -> None:
        for name in ("r/a", "r/b", "e/a"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / f"{name}.txt").write_text("1\n2\n")
        ds = mirflow.evaluate_paths(tmp_path / "r", tmp_path / "e", "alignment", metrics=["mean_absolute_error"])
        assert ds.weight.values.ravel().tolist() == [2.0, 2.0]

    def test_what_cannot_be_compared_is_missing_and_reported(self) -> None:
        notes = {"start": np.array([0.0]), "end": np.array([1.0]), "pitch": np.array([440.0])}
        sides = Annotation("notes", {**notes, "velocity": np.array([64.0])}), Annotation("notes", notes)
        with pytest.warns(MirflowWarning, match=r"some metrics \(velocity_recall\) have no score .* has no velocity"):
            ds = mirflow.evaluate(*sides, "transcription", metrics=["velocity_recall", "recall"])
        assert ds.weight.values.tolist() == [1.0, 1.0]
        assert "a note has no velocity" in ds.message.item()


class TestNothingToMeasure:
    """A score of 0 that is no measurement comes with a warning, and with weight 0."""

    EARLY = np.arange(0.5, 4.5, 0.5)

    @pytest.mark.parametrize("convention", ["mir_eval", "mirex"])
    def test_beats_that_are_all_left_out_as_they_are_early(self, convention):
        with pytest.warns(MirflowWarning, match=r"all beats of both sides are before 5 s .*: trim=0 counts them"):
            scores = mirflow.evaluate(self.EARLY, self.EARLY, "beat", metrics=["f_measure"], convention=convention)
        assert (scores.score.item(), scores.weight.item()) == (0.0, 0.0)
        counted = mirflow.evaluate(self.EARLY, self.EARLY, "beat", metrics=["f_measure(trim=0)"], convention=convention)
        assert counted.score.item() == 1.0

    def test_a_reference_without_a_beat_that_counts(self):
        with pytest.warns(MirflowWarning, match="all beats of the reference are before 5 s"):
            found = mirflow.evaluate(self.EARLY, np.append(self.EARLY, 5.5), "beat", metrics=["f_measure"])
        assert found.score.item() == 0.0
        # None that an estimate finds is a score like any other.
        found = mirflow.evaluate(np.append(self.EARLY, 5.5), self.EARLY, "beat", metrics=["f_measure"])
        assert found.weight.item() > 0

    def test_a_metric_with_other_parameters_that_counts_them(self):
        metrics = ["f_measure", "f_measure(trim=0)"]
        with pytest.warns(MirflowWarning, match="nothing to measure for f_measure: the weight is 0"):
            scores = mirflow.evaluate(self.EARLY, self.EARLY, "beat", metrics=metrics)
        assert scores.score.values.tolist() == [0.0, 1.0]

    def test_a_reference_outside_of_a_vocabulary(self):
        sus = chords((0, 4, "C:sus4"))
        with pytest.warns(MirflowWarning, match="nothing to measure for majmin: "):
            assert mirflow.evaluate(sus, sus, "chord", metrics=["majmin", "root"]).score.values.tolist() == [0.0, 1.0]

    def test_tracks_among_others_are_undefined_without_a_warning(self):
        sides = [collect({"a": chords((0, 4, "C:sus4")), "b": REFERENCE})] * 2
        assert mirflow.evaluate(*sides, "chord", metrics=["majmin"]).weight.values.ravel().tolist() == [0.0, 4.0]
