"""Pitch and notes in JAMS files and objects, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jams
import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation
from mirflow.errors import InvalidAnnotationError
from mirflow.readers import read, to_jams
from mirflow.theory.pitch import midi_to_hz

pytestmark = pytest.mark.filterwarnings("ignore:Passing a schema to Validator:DeprecationWarning")

Row = tuple[float, float, Any]


def write(folder: Path, namespace: str, rows: list[Row]) -> Path:
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
    melody = read(write(tmp_path, namespace, rows), task="melody")
    assert melody.columns["frequency"].tolist() == expected
    assert melody.columns["time"].tolist() == sorted(row[0] for row in rows)
    assert not np.signbit(melody.columns["frequency"][melody.columns["frequency"] == 0]).any()


def test_several_pitches_at_a_time_are_frames_of_multipitch(tmp_path: Path) -> None:
    rows: list[Row] = [(0.1, 0, point(330, True, 1)), *CONTOUR, (0.0, 0, point(220, True, 1))]
    frames = read(write(tmp_path, "pitch_contour", rows), task="multipitch")
    assert frames.columns["time"].tolist() == [0.0, 0.1, 0.2]
    assert frames.columns["frequency"].tolist() == [440.0, 220.0, 330.0]
    assert frames.inner_counts[0].tolist() == [2, 1, 0]


@pytest.mark.parametrize(("namespace", "pitch"), [("note_hz", 440.0), ("note_midi", 69)])
def test_notes(tmp_path: Path, namespace: str, pitch: float) -> None:
    notes = read(write(tmp_path, namespace, [(0.5, 0.25, pitch), (0.0, 1.0, pitch)]), task="transcription")
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
    path = write(tmp_path, namespace, [(0, 1, good), (1, 1, value)])
    task = "transcription" if namespace.startswith("note") else "melody"
    with pytest.raises(InvalidAnnotationError, match=message):
        read(path, task=task)


def test_an_empty_annotation_has_its_columns(tmp_path: Path) -> None:
    for namespace, task in (("pitch_contour", "melody"), ("pitch_hz", "multipitch"), ("note_hz", "transcription")):
        empty = read(write(tmp_path, namespace, []), task=task)
        assert len(empty) == 0
        assert set(empty.columns) == set(empty.schema.required)


def test_nan_for_what_is_not_voiced_is_no_pitch(tmp_path: Path) -> None:
    path = write(tmp_path, "pitch_contour", [(0, 0, point(1, False))])
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
