"""Objects of the jams package: read as files are, given back, and judged by its schemas."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jams
import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation
from mirflow.annotations.labelled import to_dataset
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnreadableError
from mirflow.readers import is_jams, read, read_all, schema_problems, to_jams

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


def test_files_and_objects_read_alike(shared_data: Path) -> None:
    file = shared_data / "casd" / "12.jams"
    jam = jams.load(str(file), validate=False)
    for annotator in ("A1", "A3"):
        ours, theirs = read(file, task="chord", annotator=annotator), read(jam, task="chord", annotator=annotator)
        assert ours.labels == theirs.labels
        assert ours.columns["start"].tolist() == theirs.columns["start"].tolist()
        assert ours.columns["end"].tolist() == theirs.columns["end"].tolist()
        assert {**ours.attrs, "source": ""} == {**theirs.attrs, "source": ""}


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
