"""Objects of the jams package: read as files are, given back, and judged by its schemas; pitch, notes and back."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import jams
import numpy as np
import pytest

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.labelled import to_dataset
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnreadableError
from mirflow.readers import NAMESPACES, is_jams, read, read_all, schema_problems, to_jams
from mirflow.theory.pitch import midi_to_hz

from ..commands import invoke, printed

# jams itself calls jsonschema in a way that is deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:Passing a schema to Validator:DeprecationWarning")

CHORDS = Annotation(
    "intervals",
    {"start": np.array([0.0, 1.5]), "end": np.array([1.5, 2.0])},
    ["C:maj", "N"],
    attrs={"annotator": "A1", "title": "T", "namespace": "chord"},
)
BEATS = Annotation("events", {"time": np.array([0.5, 1.0])}, ["1", ""])


def test_objects_are_reported_without_importing_jams() -> None:
    code = "import sys; from mirflow.readers import is_jams; assert not is_jams('a'); assert 'jams' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert is_jams(jams.JAMS())
    assert is_jams(jams.Annotation("chord"))


def test_there_and_back() -> None:
    jam = to_jams([CHORDS, to_dataset(CHORDS)])
    assert jam.validate()
    assert (jam.file_metadata.title, jam.file_metadata.duration) == ("T", 2.0)
    for back in (read(jam, task="chord", annotator=0), read(jam.annotations[0], task="chord")):
        assert back.labels == CHORDS.labels
        assert back.columns["end"].tolist() == [1.5, 2.0]
        assert back.attrs["annotator"] == "A1"
    assert [one.attrs["annotator"] for one in read_all(jam, task="chord")] == ["A1", "A1 (2)"]


def test_beats_are_written_as_numbers() -> None:
    assert to_jams(CHORDS, task="segment").annotations[0].namespace == "segment_open"
    jam = to_jams(BEATS, task="beat")
    assert jam.validate()
    assert [row.value for row in jam.annotations[0].data] == [1, None]
    assert read(jam, task="beat").labels == ["1", ""]


def test_positions_of_beats_are_written_as_beats() -> None:
    positions = Annotation("events", BEATS.columns, ["1", "2"], attrs={"namespace": "beat_position"})
    jam = to_jams(positions)
    assert jam.validate()
    assert jam.annotations[0].namespace == "beat"


@pytest.mark.parametrize(
    ("annotation", "asked", "message"),
    [
        (BEATS, {}, "no JAMS namespace is given; events can be written as beat, "),
        (BEATS, {"task": "chord"}, "'chord' holds intervals, not events"),
        (BEATS, {"task": "alignment"}, "no JAMS namespace is given"),
        (BEATS, {"task": "melody"}, "'pitch_contour' holds series, not events"),
    ],
)
def test_a_namespace_is_needed_that_holds_the_kind(annotation: Annotation, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(AnnotationError, match=message):
        to_jams(annotation, **asked)


def as_text(annotation: Annotation) -> str:
    """Everything but the name of the file."""
    columns = {name: column.tolist() for name, column in annotation.columns.items()}
    counts = [count.tolist() for count in annotation.inner_counts]
    attrs = sorted((name, value) for name, value in annotation.attrs.items() if name != "source")
    return repr((annotation.kind, columns, annotation.labels, counts, attrs))


def drawn(namespace: str, random: Random) -> Iterator[dict[str, Any]]:
    """Observations by a jams annotation's own rules: in any order, with any confidence."""
    form = NAMESPACES[namespace].value
    for time in random.sample([0.0, 0.5, 0.75, 1.5, 3.1], random.randrange(5)):
        value = {
            "text": "A",
            "tag": random.choice(["rock", "pop"]),
            "number": 2,
            "hz": random.choice([220.0, -3.5, 0]),
            "midi": random.choice([60, 61.5]),
            "position": {"position": 1, "measure": 1, "num_beats": 4, "beat_units": 4},
            "level": {"label": "A", "level": random.randrange(3)},
            "note": {"midi_pitch": 60, "morph_pitch": 0, "staff": 0, "pattern_id": 2, "occurrence_id": 1},
            "contour": {"index": 0, "frequency": 220.0, "voiced": random.random() < 0.5},
            "json": [{"tonic": "Eb", "chord": "V7/ii"}, ["a  b", 2], -0.1, None, "caf\u00e9"],
        }[form]
        confidence = random.choice([None, 0.5, 1])
        yield {"time": time, "duration": random.choice([0.25, 1]), "value": value, "confidence": confidence}


@pytest.mark.parametrize("namespace", sorted(jams.schema.__NAMESPACE__))
def test_what_jams_loads_is_read_alike_and_survives_the_way_back(namespace: str, tmp_path: Path) -> None:
    for seed, suffix in enumerate((".jams", ".jamz", ".jams.gz", ".json")):
        file, annotator = tmp_path / f"a{suffix}", {"annotation_metadata": {"annotator": {"id": f"A{seed}"}}}
        rows = [*drawn(namespace, Random(seed))]
        columns = {name: [row[name] for row in rows] for name in ("time", "duration", "value", "confidence")}
        held = {"namespace": namespace, "data": columns if rows and seed % 2 else rows, **annotator}
        about = {"file_metadata": {"duration": 4.0, "title": "T", "artist": "B"}, "annotations": [held]}
        data = json.dumps(about).encode()
        file.write_bytes(gzip.compress(data) if suffix in (".jamz", ".jams.gz") else data)
        options = {"format": "jams"} if suffix == ".json" else {}
        ours, theirs = read(file, **options), jams.load(str(file), validate=False)
        assert as_text(ours) == as_text(read(theirs))
        back = read(to_jams(ours))
        written = {"beat_position": "beat", "pitch_hz": "pitch_contour", "pitch_midi": "pitch_contour"}
        expected = {**ours.attrs, "namespace": written.get(namespace, namespace)}
        columns_back = {name: column for name, column in ours.columns.items() if name != "bar"}
        assert as_text(back) == as_text(replace(ours, columns=columns_back, attrs=expected))


@pytest.mark.slow
def test_all_real_files_are_read_as_jams_loads_them(shared_data: Path) -> None:
    for file in sorted(shared_data.rglob("*.jams")):
        theirs = jams.load(str(file), validate=False)
        for namespace in {annotation.namespace for annotation in theirs.annotations}:
            ours, others = (read_all(one, namespace=namespace) for one in (file, theirs))
            assert [*map(as_text, ours)] == [*map(as_text, others)], file


def test_a_file_that_leaves_one_choice_needs_no_task(tmp_path: Path) -> None:
    chords, beats = to_jams(CHORDS), to_jams(BEATS, task="beat")
    assert mirflow.load(chords).attrs["task"] == mirflow.load(chords.annotations[0]).attrs["task"] == "chord"
    chords.annotations.append(jams.Annotation("blob"))
    assert read(chords).labels == CHORDS.labels
    chords.annotations.extend(beats.annotations)
    for name, jam in (("one", chords), ("other", to_jams(CHORDS))):
        jam.save(str(tmp_path / f"{name}.jams"), strict=False)
    others = r"blob without an annotator \(number 0\), beat without an annotator \(number 0\)"
    held = rf"holds chord by A1, {others}: choose a task \(chord, beat\) or a namespace"
    with pytest.raises(InvalidAnnotationError, match=held):
        read(chords)
    assert read(chords, annotator="A1").labels == CHORDS.labels
    whole, part = tmp_path / "one.jams", tmp_path / "other.jams"
    assert mirflow.evaluate(whole, part).attrs["task"] == "chord"
    printed("evaluate", whole, part, "--metric", "majmin")
    result = invoke("evaluate", whole, whole)
    assert "error: the task is missing: choose from chord, beat" in result.output
    for name, file in (("ref", part), ("est", part)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.jams").write_bytes(file.read_bytes())
    printed("evaluate", tmp_path / "ref", tmp_path / "est", "--metric", "majmin")
    beats.save(str(tmp_path / "beats.jams"), strict=False)
    result = invoke("evaluate", part, tmp_path / "beats.jams")
    assert f"the two sides name none together: {part} holds chord by A1; {tmp_path}/beats.jams" in result.output


def test_an_object_without_such_an_annotation() -> None:
    with pytest.raises(InvalidAnnotationError, match="holds no annotation for 'beat'; it holds chord by A1"):
        read(to_jams(CHORDS), task="beat")


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "valid.jams"
    to_jams(CHORDS).save(str(file))
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_schema_problems_have_places(tmp_path: Path, document: dict[str, Any]) -> None:
    file = tmp_path / "a.jams"
    file.write_text(json.dumps(document))
    assert schema_problems(file) == []
    assert read(file, task="chord", validate=True).labels == CHORDS.labels
    document["annotations"][0]["data"][1]["value"] = "H:foo"
    document["annotations"].append({"namespace": "chrod", "data": [], "annotation_metadata": {}})
    del document["annotations"][0]["annotation_metadata"]
    file.write_text(json.dumps(document))
    assert [str(problem) for problem in schema_problems(file)] == [
        "annotations[0]: 'annotation_metadata' is a required property",
        "annotations[0].data[1].value: not a valid value: 'H:foo'",
        "annotations[1].namespace: unknown to JAMS: 'chrod'",
    ]
    with pytest.raises(
        InvalidAnnotationError, match=r"does not match its JAMS schema: annotations\[0\].* \(and 2 more\)"
    ):
        read(file, task="chord", validate=True)


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"{\n]", r"a\.jams:2: is not JSON"), (b"\xff", "is not JSON"), (b"[" * 100_000, "nested too deeply")],
)
def test_schemas_judge_json_only(tmp_path: Path, data: bytes, message: str) -> None:
    file = tmp_path / "a.jams"
    file.write_bytes(data)
    with pytest.raises(UnreadableError, match=message):
        schema_problems(file)


def test_a_number_of_thousands_of_digits_breaks_no_check(tmp_path: Path) -> None:
    path = tmp_path / "a.jams"
    path.write_text('{"annotations": [], "file_metadata": {"duration": ' + "9" * 5000 + '}, "sandbox": {}}')
    assert isinstance(schema_problems(path), list)


Row = tuple[float, float, Any]


def write_rows(folder: Path, namespace: str, rows: list[Row]) -> Path:
    data = [{"time": t, "duration": d, "value": v, "confidence": None} for t, d, v in rows]
    path = folder / "a.jams"
    path.write_text(json.dumps({"annotations": [{"namespace": namespace, "data": data}], "file_metadata": {}}))
    return path


def point(frequency: float | None, voiced: bool, index: int = 0) -> dict[str, Any]:
    return {"index": index, "frequency": frequency, "voiced": voiced}


CONTOUR: list[Row] = [(0.0, 0, point(440, True)), (0.1, 0, point(220.5, False)), (0.2, 0, point(0, False))]


@pytest.mark.parametrize(
    ("namespace", "rows", "expected"),
    [
        ("pitch_contour", CONTOUR, [440.0, -220.5, 0.0]),
        ("pitch_contour", [(0, 0, point(None, False)), (1, 0, point(5, True, 1))], [0.0, 5.0]),
        ("pitch_contour", CONTOUR[::-1], [440.0, -220.5, 0.0]),
        ("pitch_hz", [(0, 0, 440), (0.1, 0, -220.5), (0.2, 0, 0)], [440.0, -220.5, 0.0]),
        ("pitch_midi", [(0, 0, 69), (0.1, 0, -57), (0.2, 0, 0)], [440.0, -220.0, 0.0]),
    ],
)
def test_a_melody_is_in_order_of_time(tmp_path: Path, namespace: str, rows: list[Row], expected: list[float]) -> None:
    melody = read(write_rows(tmp_path, namespace, rows), task="melody")
    assert melody.columns["frequency"].tolist() == expected
    assert melody.columns["time"].tolist() == sorted(row[0] for row in rows)
    assert not np.signbit(melody.columns["frequency"][melody.columns["frequency"] == 0]).any()


def test_several_pitches_at_a_time_are_frames_of_multipitch(tmp_path: Path) -> None:
    rows: list[Row] = [(0.1, 0, point(330, True, 1)), *CONTOUR, (0.0, 0, point(220, True, 1))]
    frames = read(write_rows(tmp_path, "pitch_contour", rows), task="multipitch")
    assert frames.columns["time"].tolist() == [0.0, 0.1, 0.2]
    assert frames.columns["frequency"].tolist() == [440.0, 220.0, 330.0]
    assert frames.inner_counts[0].tolist() == [2, 1, 0]


@pytest.mark.parametrize(("namespace", "pitch"), [("note_hz", 440.0), ("note_midi", 69)])
def test_notes(tmp_path: Path, namespace: str, pitch: float) -> None:
    notes = read(write_rows(tmp_path, namespace, [(0.5, 0.25, pitch), (0.0, 1.0, pitch)]), task="transcription")
    assert {name: column.tolist() for name, column in notes.columns.items()} == {
        "start": [0.0, 0.5],
        "end": [1.0, 0.75],
        "pitch": [440.0, 440.0],
    }
    assert notes.labels is None


@pytest.mark.parametrize(
    ("namespace", "value", "message"),
    [
        ("pitch_hz", None, r"annotations\[0\].data\[1\].value: not a number"),
        ("note_midi", "A4", r"annotations\[0\].data\[1\].value: not a number: 'A4'"),
        ("pitch_contour", {"voiced": True}, r"annotations\[0\].data\[1\].value: not a number"),
    ],
)
def test_what_is_no_pitch_is_reported_with_its_place(tmp_path: Path, namespace: str, value: Any, message: str) -> None:
    good = point(1, True) if namespace == "pitch_contour" else 1
    path = write_rows(tmp_path, namespace, [(0, 1, good), (1, 1, value)])
    task = "transcription" if namespace.startswith("note") else "melody"
    with pytest.raises(InvalidAnnotationError, match=message):
        read(path, task=task)


def test_an_empty_annotation_has_its_columns(tmp_path: Path) -> None:
    for namespace, task in (("pitch_contour", "melody"), ("pitch_hz", "multipitch"), ("note_hz", "transcription")):
        empty = read(write_rows(tmp_path, namespace, []), task=task)
        assert len(empty) == 0
        assert set(empty.columns) == set(empty.schema.required)


def test_nan_for_what_is_not_voiced_is_no_pitch(tmp_path: Path) -> None:
    path = write_rows(tmp_path, "pitch_contour", [(0, 0, point(1, False))])
    path.write_text(path.read_text().replace('"frequency": 1', '"frequency": NaN'))
    assert read(path, task="melody").columns["frequency"].tolist() == [0.0]


MELODY = Annotation("series", {"time": np.array([0.0, 0.1, 0.2]), "frequency": np.array([440.0, -220.5, 0.0])})
FRAMES = Annotation(
    "multipitch",
    {"time": np.array([0.0, 0.1, 0.2]), "frequency": np.array([440.0, 220.0, 330.0])},
    inner_counts=(np.array([2, 0, 1]),),
)
NOTES = Annotation(
    "notes", {"start": np.array([0.5, 0.25]), "end": np.array([0.75, 1.0]), "pitch": midi_to_hz(np.array([60.0, 72.0]))}
)


@pytest.mark.parametrize(
    ("annotation", "task", "namespace"),
    [
        (MELODY, "melody", "pitch_contour"),
        (MELODY, "melody", "pitch_midi"),
        (FRAMES, "multipitch", "pitch_contour"),
        (NOTES, "transcription", "note_hz"),
        (NOTES, "transcription", "note_midi"),
    ],
)
def test_what_is_written_reads_the_same(annotation: Annotation, task: str, namespace: str) -> None:
    jam = to_jams(annotation, namespace=namespace)
    assert jam.validate()
    assert jam.annotations[0].namespace == namespace.replace("pitch_midi", "pitch_contour")
    back = read(jam, task=task)
    order = np.argsort(annotation.columns["start"]) if task == "transcription" else slice(None)
    for name, column in annotation.columns.items():
        np.testing.assert_allclose(back.columns[name], column[order], rtol=1e-14)
    assert [counts.tolist() for counts in back.inner_counts] == [c.tolist() for c in annotation.inner_counts]


def test_files_and_objects_read_alike(tmp_path: Path) -> None:
    for annotation, task in ((MELODY, "melody"), (FRAMES, "multipitch"), (NOTES, "transcription")):
        jam = to_jams(annotation, task=task)
        path = tmp_path / f"{task}.jams"
        jam.save(str(path))
        ours, theirs = read(path, task=task), read(jams.load(str(path)), task=task)
        assert {n: c.tolist() for n, c in ours.columns.items()} == {n: c.tolist() for n, c in theirs.columns.items()}
