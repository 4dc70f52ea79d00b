"""Data sets of mirdata: what its loaders read, as collections, objects and references of pipelines."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mir_eval
import numpy as np
import pytest
import yaml

import mirflow
from mirflow.annotations.collection import Collection
from mirflow.engine.lazy import LazyCollection
from mirflow.errors import AnnotationError, MetricError, MirflowWarning, PipelineError, UnknownNameError
from mirflow.metrics.base import get_task

from ..mirdata_sets import FILES, write_dataset

mirdata = pytest.importorskip("mirdata", reason="the extra mirdata is not installed")
from mirdata import annotations  # noqa: E402

Arguments = Callable[[Any], Sequence[Any]]
SETS: list[tuple[str, str, str, Arguments]] = [
    ("beatles", "beats", "onset", lambda one: [one.times]),
    ("beatles", "chords", "chord", lambda one: [one.intervals, one.labels]),
    ("beatles", "sections", "segment", lambda one: [one.intervals, one.labels]),
    ("beatles", "key", "key", lambda one: {"E": ["E major"], "C#:minor": ["C# minor"]}[one.keys[0]]),
    ("giantsteps_key", "key", "key", lambda one: [one.strip()]),
    ("giantsteps_tempo", "tempo", "tempo", lambda one: [one.tempos, one.confidence[0]]),
    ("medleydb_melody", "melody1", "melody", lambda one: one.to_mir_eval()[:2]),
    ("medleydb_melody", "melody3", "multipitch", lambda one: [one.to_mir_eval()[0], one.to_mir_eval()[1]]),
    ("ikala", "lyrics", "alignment", lambda one: [one.intervals[:, 0]]),
    ("vocadito", "notes_a1", "transcription", lambda one: one.to_mir_eval()[:2]),
]


def read(folder: Path, name: str, annotation: str, task: str | None = None, **options: Any) -> Any:
    """The collection of a data set that is written first."""
    index = write_dataset(folder, name)
    return mirflow.from_mirdata(name, annotation, task, data_home=folder, index=index, **options)


def values_of(folder: Path, name: str, annotation: str) -> dict[str, Any]:
    """What mirdata reads."""
    dataset = mirdata.initialize(name, data_home=str(folder))
    dataset.index_path = str(write_dataset(folder, name))
    return {track: getattr(dataset.track(track), annotation) for track in dataset.track_ids}


@pytest.mark.parametrize(("name", "annotation", "task", "arguments"), SETS)
def test_scores_are_those_of_mir_eval_from_what_mirdata_reads(
    name: str, annotation: str, task: str, arguments: Arguments, tmp_path: Path
) -> None:
    references = read(tmp_path, name, annotation, task)
    values = values_of(tmp_path, name, annotation)
    assert references.tracks == tuple(values)
    others = dict(zip(values, reversed(values.values()), strict=True))
    expected = {}
    for track, value in values.items():
        reference, estimate = (list(arguments(one)) for one in (value, others[track]))
        if task == "tempo":
            estimate = estimate[:1]
        expected[track] = getattr(mir_eval, task).evaluate(*reference, *estimate)
    if name == "giantsteps_key":
        values, others = ({track: (one,) for track, one in side.items()} for side in (values, others))
    for given in (references, values):
        scores = mirflow.score(given, others, task)
        keys = {str(one): one.metric.key for one in get_task(task).convention(None).select() if one.metric.key}
        shared = {metric: key for metric, key in keys.items() if key in expected[references.tracks[0]]}
        assert len(shared) > 2 or task == "key"
        for track, wanted in expected.items():
            found = scores.score.sel(system="estimate", track=track, metric=list(shared)).values
            np.testing.assert_allclose(found, [wanted[key] for key in shared.values()], rtol=0, atol=1e-9)


def test_scalar_attributes_are_coordinates(tmp_path: Path) -> None:
    songs = read(tmp_path, "medleydb_melody", "melody1")
    assert isinstance(songs, Collection)
    assert {name: values.tolist() for name, values in songs.metadata.items()} == {
        "artist": ["A", "B"],
        "title": ["One", "Two"],
        "genre": ["Rock", "Pop"],
        "is_excerpt": [False, True],
        "is_instrumental": [True, True],
        "n_sources": [4, 7],
    }
    assert songs.dataset.artist.dims == ("track",)
    some = read(tmp_path, "medleydb_melody", "melody1", metadata=["genre"], tracks=["b"])
    assert (some.tracks, list(some.metadata), some["b"].attrs["genre"]) == (("b",), ["genre"], "Pop")


@pytest.mark.slow
def test_a_collection_is_lazy_on_request(tmp_path: Path) -> None:
    lazy = read(tmp_path, "beatles", "beats", "downbeat", lazy=True)
    assert isinstance(lazy, LazyCollection)
    (tmp_path / "a/beat.txt").write_text("3.5 1\n4.0 2\n")
    for scheduler in ("synchronous", "processes"):
        assert lazy.compute(scheduler=scheduler).annotation("a").columns["time"].tolist() == [3.5]


def test_a_data_set_may_be_an_object(tmp_path: Path) -> None:
    dataset = mirdata.initialize("beatles", data_home=str(tmp_path))
    with pytest.raises(AnnotationError, match=r"mirdata's index of beatles is missing: .*\.json"):
        mirflow.from_mirdata(dataset, "chords")
    dataset.index_path = str(write_dataset(tmp_path, "beatles"))
    assert mirflow.from_mirdata(dataset, "chords").rows.labels == ("C", "G:min7/b3", "N", "A:min", "D")
    for thing, options in ((dataset, {"version": "1.2"}), (annotations, {})):
        with pytest.raises(
            AnnotationError, match=r"is already initialized: omit data_home|or an initialized one, not module"
        ):
            mirflow.from_mirdata(thing, "chords", **options)


def test_plain_values_are_keys_classes_and_tempi(tmp_path: Path) -> None:
    genres = read(tmp_path, "ballroom", "genre", "classification")
    assert [genres[track].label.item() for track in genres] == ["a", "b"]
    tempi = read(tmp_path, "ballroom", "tempo", "tempo")
    assert tempi.rows.columns["tempo"].tolist() == [120.5, 90.0]
    with pytest.raises(MetricError, match="genre of ballroom is str: name its task"):
        read(tmp_path, "ballroom", "genre")


def test_values_of_a_table_that_is_missing_name_it(tmp_path: Path) -> None:
    genres = read(tmp_path, "medleydb_melody", "genre", "classification")
    assert genres["b"].label.values.tolist() == ["Pop"]
    (tmp_path / "medleydb_melody_metadata.json").unlink()
    with pytest.raises(AnnotationError, match=r"medleydb_melody/a/genre: Metadata not found.*; download the data with"):
        mirflow.from_mirdata(
            "medleydb_melody", "genre", "classification", data_home=tmp_path, index=tmp_path / "index.json"
        )


def test_one_of_several_annotators_is_chosen(tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match=r"salami/2/sections_uppercase: choose an annotator: it holds 5, 8"):
        read(tmp_path, "salami", "sections_uppercase")
    second = read(tmp_path, "salami", "sections_uppercase", annotator="8", tracks=["2"])
    assert second["2"].start.values.tolist() == [0.0, 0.6, 12.0]
    assert read(tmp_path, "salami", "sections_uppercase", annotator=0)["3"].label.values.tolist() == ["A", "C"]


def test_tracks_without_the_annotation_are_left_out(tmp_path: Path) -> None:
    with pytest.warns(MirflowWarning, match="1 track of salami without sections_annotator_2_uppercase left out: 3"):
        songs = read(tmp_path, "salami", "sections_annotator_2_uppercase")
    assert songs.tracks == ("2",)


INTERVALS = np.array([[0.0, 500.0], [500.0, 900.0]])


@pytest.mark.parametrize(
    ("task", "value", "column", "expected"),
    [
        ("beat", annotations.BeatData(INTERVALS[:, 1], "ms", None, "bar_index"), "time", [0.5, 0.9]),
        ("segment", annotations.SectionData(INTERVALS, "ms", ["a", "b"], "open"), "end", [0.5, 0.9]),
        ("onset", annotations.EventData(INTERVALS, "ms", ["kick", "snare"], "open"), "time", [0.0, 0.5]),
        (
            "transcription",
            annotations.NoteData(INTERVALS, "ms", np.array([69.0, 57.0]), "midi", np.array([99.0, 1.0]), "velocity"),
            "pitch",
            [440.0, 220.0],
        ),
        (
            "melody",
            annotations.F0Data(INTERVALS[0], "ms", np.array([0.0, 69.0]), "midi", np.array([0.0, 0.5]), "likelihood"),
            "frequency",
            [0.0, 440.0],
        ),
        ("multipitch", annotations.MultiF0Data(INTERVALS[0], "ms", [[69.0], [0.0]], "midi"), "frequency", [440.0]),
    ],
)
def test_units_are_converted(task: str, value: Any, column: str, expected: list[float]) -> None:
    np.testing.assert_allclose(mirflow.annotation(task, value)[column].values, expected, rtol=1e-12)


NOTES = annotations.NoteData(INTERVALS, "ticks", np.array([60.0, 62.0]), "midi")
FRAMES = np.array([0.0, 0.5])
GLOBAL = annotations.BeatData(FRAMES, "s", np.array([1, 2]), "global_index")


@pytest.mark.parametrize(
    ("task", "value", "message"),
    [
        ("transcription", NOTES, "cannot convert times in ticks to seconds"),
        (
            "melody",
            annotations.F0Data(FRAMES, "s", np.array(["A4", "B4"]), "note_name", np.ones(2), "binary"),
            "cannot convert pitches in note_name to Hz",
        ),
        (
            "multipitch",
            annotations.F0Data(FRAMES, "s", np.array([1.0, 2.0]), "hz", np.array([0.2, 0.9]), "likelihood"),
            "a voicing in likelihood does not say which frames sound",
        ),
        (
            "tempo",
            annotations.TempoData(FRAMES[np.newaxis], "s", np.array([99.0]), "bpm", np.array([3.0]), "energy"),
            "the confidence of tempi is in energy",
        ),
        ("downbeat", GLOBAL, "downbeats need positions in the bar (bar_index), but positions are in global_index"),
        ("segment", annotations.SectionData(INTERVALS, "s"), "SectionData has no labels"),
        ("chord", GLOBAL, "BeatData holds events, but the task compares intervals"),
        ("beat", mirdata, "module"),
    ],
)
def test_what_cannot_be_converted_is_refused_by_name(task: str, value: Any, message: str) -> None:
    with pytest.raises(AnnotationError, match=re.escape(message)):
        mirflow.annotation(task, value)


@pytest.mark.parametrize(
    ("name", "annotation", "options", "message"),
    [
        ("beatls", "chords", {}, "unknown data set of mirdata 'beatls'; did you mean 'beatles'?"),
        ("beatles", "chord", {}, "unknown annotation of beatles 'chord'; did you mean 'chords'?"),
        ("beatles", "chords", {"tracks": ["c"]}, "unknown track of beatles 'c'"),
        ("beatles", "chords", {"split": "test"}, "beatles has no splits: omit 'test'"),
        ("beatles", "chords", {"version": "9"}, "unknown version of beatles '9'"),
        ("beatles", "chords", {"index": "none.json"}, '.download(["index"])'),
        ("beatles", "chords", {"metadata": ["year"]}, "unknown attribute of tracks of beatles 'year'"),
        ("beatles", "chords", {"data_home": "nowhere"}, "mirdata.initialize('beatles', 'nowhere').download()"),
    ],
)
def test_errors_name_what_is_wrong(
    name: str, annotation: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    options = {"data_home": tmp_path, "index": write_dataset(tmp_path, "beatles"), **options}
    with pytest.raises((AnnotationError, UnknownNameError), match=re.escape(message)):
        mirflow.from_mirdata(name, annotation, **options)


def test_every_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    index = write_dataset(tmp_path, "beatles")
    (tmp_path / "a/chords.lab").unlink()
    (tmp_path / "b/chords.lab").write_text("0.0\t1.0\tA\n1.0\tx\tB\n")
    with pytest.raises(AnnotationError, match="2 problems") as caught:
        mirflow.from_mirdata("beatles", "chords", data_home=tmp_path, index=index)
    first, second = str(caught.value).splitlines()[1:]
    assert re.search(r"mirdata:beatles/a/chords: the file '.*a/chords\.lab' does not exist; download the data", first)
    assert re.search(r"mirdata:beatles/b/chords: mirdata cannot read '.*b/chords\.lab': ValueError", second)


def write_pipeline(folder: Path, task: str, estimates: Sequence[str], **reference: Any) -> Path:
    """A pipeline with a data set of mirdata, and estimates of some tracks in the folder est/ours."""
    write_dataset(folder, reference["mirdata"] if reference["mirdata"] in FILES else "beatles")
    reference = {"data_home": ".", "index": "index.json", **reference}
    evaluation = {"task": task, "reference": reference, "estimates": "est/{system}/{track}.lab"}
    (folder / "p.yaml").write_text(yaml.safe_dump({"evaluations": [evaluation], "store": "s.zarr"}))
    (folder / "est/ours").mkdir(parents=True)
    for track in estimates:
        (folder / f"est/ours/{track}.lab").write_text("0.0 1.0 C\n1.0 3.0 A:min\n")
    return folder / "p.yaml"


def counts(pipeline: Path) -> dict[str, int]:
    """Cells of a run by what became of them."""
    report = mirflow.run(pipeline, store=pipeline.parent / "s.zarr")
    return {name: count for name, count in report.evaluations[0].counts.items() if count}


def test_references_of_a_pipeline(tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path, "chord", "ab", mirdata="beatles", annotation="chords")
    assert counts(pipeline) == {"new": 2}
    scores = mirflow.open_store(tmp_path / "s.zarr")["chord"]
    assert scores.meta_title.values.tolist() == ["sections", "sections"]
    estimates = {track: tmp_path / f"est/ours/{track}.lab" for track in ("a", "b")}
    references = mirflow.from_mirdata("beatles", "chords", data_home=tmp_path, index=tmp_path / "index.json")
    wanted = mirflow.score(references, estimates, "chord").score.sel(system="estimate").load()
    found = scores.score.sel(system="ours", track=["a", "b"], metric=wanted.metric)
    np.testing.assert_array_equal(found.values, wanted.values)
    assert counts(pipeline) == {"reused": 2}
    (tmp_path / "b/chords.lab").write_text("0.0\t2.0\tC\n2.0\t3.0\tA:min\n")
    assert counts(pipeline) == {"changed": 1, "reused": 1}
    (tmp_path / "a/chords.lab").unlink()
    report = mirflow.run(pipeline, store=tmp_path / "s.zarr")
    assert any("mirdata:beatles/a/chords: the file" in one for one in report.evaluations[0].messages)
    assert (report.evaluations[0].counts["changed"], report.evaluations[0].failed) == (1, 1)


def test_annotators_of_a_data_set_are_combined(tmp_path: Path) -> None:
    options = {"annotator": "all", "combine": "each", "tracks": ["2"]}
    pipeline = write_pipeline(tmp_path, "segment", "23", mirdata="salami", annotation="sections_uppercase", **options)
    assert counts(pipeline) == {"new": 1}
    scores = mirflow.open_store(tmp_path / "s.zarr")["segment"]
    assert scores.annotator.values.tolist() == ["5", "8"]
    assert scores.artist.values.tolist() == ["RHCP"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"annotation": "chord"}, "unknown annotation of beatles 'chord'; did you mean 'chords'?"),
        ({"annotation": None}, "a data set of mirdata needs an annotation, as annotation: chords"),
        ({"mirdata": "beatls"}, "unknown data set of mirdata 'beatls'; did you mean 'beatles'?"),
        ({"mirdata": None}, "annotation applies only to data sets of mirdata: name one, such as mirdata: beatles"),
        ({"path": "ref/{track}.lab"}, "a data set of mirdata needs no path"),
        ({"header": True}, "mirdata reads its own files: leave header out"),
        ({"data_home": "nowhere"}, "beatles has no file of chords in"),
    ],
)
def test_problems_of_a_pipeline_are_named(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    pipeline = write_pipeline(tmp_path, "chord", "ab", **{"mirdata": "beatles", "annotation": "chords", **changes})
    with pytest.raises(PipelineError, match=re.escape(message)):
        mirflow.run(pipeline, store=tmp_path / "s.zarr")


def test_real_sections_and_keys_are_those_of_the_files(shared_data: Path, tmp_path: Path) -> None:
    """Those of SALAMI, whose table of metadata is not there, and of GiantSteps."""
    keys = ("annotator_1_uppercase", "annotator_1_lowercase", "annotator_2_uppercase", "annotator_2_lowercase")
    empty: dict[str, Any] = {key: [None, None] for key in ("audio", *keys)}
    folders = sorted(one.name for one in (shared_data / "salami").iterdir() if one.is_dir())
    sections = {name: {**empty, keys[0]: [f"{name}/textfile1_uppercase.txt", ""]} for name in folders}
    index = tmp_path / "index.json"
    index.write_text(json.dumps({"tracks": sections}))
    with pytest.warns(MirflowWarning, match=r"metadata of salami cannot be read and are omitted: Metadata not found"):
        ours = mirflow.from_mirdata(
            "salami", "sections_annotator_1_uppercase", data_home=shared_data / "salami", index=index
        )
    for track in folders:
        times, _ = mir_eval.io.load_labeled_events(str(shared_data / f"salami/{track}/textfile1_uppercase.txt"))
        assert ours.annotation(track).columns["start"].tolist() == np.unique(times)[:-1].tolist()
    names = sorted(file.stem for file in (shared_data / "giantsteps-key/key").glob("*.key"))
    files = {name: {"audio": [f"{name}.mp3", ""], "key": [f"key/{name}.key", ""], "meta": [None, ""]} for name in names}
    index.write_text(json.dumps({"tracks": files}))
    found = mirflow.from_mirdata("giantsteps_key", "key", "key", data_home=shared_data / "giantsteps-key", index=index)
    assert [found.annotation(name).labels for name in names] == [
        [mir_eval.io.load_key(str(shared_data / f"giantsteps-key/key/{name}.key"))] for name in names
    ]


@pytest.mark.slow
def test_mirdata_is_imported_for_its_own_objects_alone() -> None:
    code = "import sys, mirflow; mirflow.annotation('beat', [0.5]); assert 'mirdata' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_mirdata_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mirdata", None)
    with pytest.raises(AnnotationError, match=r"data sets of mirdata need mirdata: pip install 'mirflow\[mirdata\]'"):
        mirflow.from_mirdata("beatles", "chords")


def test_every_set_is_read() -> None:
    assert {name for name, *_ in SETS} | {"salami", "ballroom"} == set(FILES)
