"""Keys and tempi: files of one row, and JAMS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnreadableError
from mirflow.readers import read, read_all, schema_problems, to_jams

# jams itself calls jsonschema in a way that is deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:Passing a schema to Validator:DeprecationWarning")


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def write_jams(folder: Path, namespace: str, *rows: tuple[Any, Any]) -> Path:
    data = [{"time": 0.0, "duration": 9.0, "value": value, "confidence": confidence} for value, confidence in rows]
    return write(folder, "a.jams", json.dumps({"annotations": [{"namespace": namespace, "data": data}]}))


@pytest.mark.parametrize("text", ["C minor", "C minor\n", "# by ear\nC\tminor\n", "  C   minor  \r\n", "\ufeffC minor"])
@pytest.mark.parametrize("name", ["a.key", "a.txt", "a.lab"])
def test_a_key_file(tmp_path: Path, name: str, text: str) -> None:
    key = read(write(tmp_path, name, text), task="key")
    assert (key.kind, key.labels, dict(key.columns), len(key)) == ("key", ["C minor"], {}, 1)
    assert key.line(0) == (2 if text.startswith("#") else 1)


def test_key_files_that_are_empty_or_hold_two(tmp_path: Path) -> None:
    assert len(read(write(tmp_path, "a.key", ""), task="key")) == 0
    with pytest.raises(InvalidAnnotationError, match=r"a\.key:2: expected a key in a single row, .*: 'G major'"):
        read(write(tmp_path, "a.key", "C minor\nG major\n"), task="key")
    with pytest.raises(UnreadableError, match="binary"):
        read(write(tmp_path, "a.key", "C\0"), task="key")


def test_a_key_in_jams_is_a_key_for_the_task_and_else_intervals(tmp_path: Path) -> None:
    file = write_jams(tmp_path, "key_mode", ("C:minor", 1.0))
    assert (read(file, task="key").kind, read(file, task="key").labels) == ("key", ["C:minor"])
    assert read(file, namespace="key_mode").kind == "intervals"
    assert len(read_all(file, task="key")) == 1


@pytest.mark.parametrize(
    ("text", "tempi", "salience"),
    [
        ("60.0\t120.0\t0.25\n", [60.0, 120.0], [0.25, 0.75]),
        ("# MIREX\n60 120 1\n", [60.0, 120.0], [1.0, 0.0]),
        ("60,120,0.5\n", [60.0, 120.0], [0.5, 0.5]),
        ("127.5\n", [127.5], None),
        ("60 120\n", [60.0, 120.0], None),
        ("-60 nan\n", [-60.0, np.nan], None),
        ("", [], None),
    ],
)
def test_a_tempo_file(tmp_path: Path, text: str, tempi: list[float], salience: list[float] | None) -> None:
    tempo = read(write(tmp_path, "a.txt", text), task="tempo")
    assert np.array_equal(tempo.columns["tempo"], tempi, equal_nan=True)
    assert (tempo.columns["salience"].tolist() if "salience" in tempo.columns else None) == salience


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("60 120 0.5\n60 120 0.5\n", r"a\.txt:2: expected the tempi of a track in a single row"),
        ("60 120 -3\n", r"a\.txt:1: the strength of the first tempo is not between 0 and 1: -3"),
        ("60 120 nan\n", "not between 0 and 1: nan"),
        ("fast\n", r"a\.txt:1: expected one or two tempi and a strength, not 'fast'"),
        ("1 2 3 4\n", r"a\.txt:1: expected one or two tempi and a strength, not '1 2 3 4'"),
    ],
)
def test_a_tempo_file_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=message):
        read(write(tmp_path, "a.txt", text), task="tempo")


def test_tempi_in_jams_have_their_confidence_as_salience(tmp_path: Path) -> None:
    both = read(write_jams(tmp_path, "tempo", (60, 0.25), (120.0, 0.75)), task="tempo")
    assert (both.columns["tempo"].tolist(), both.columns["salience"].tolist()) == ([60.0, 120.0], [0.25, 0.75])
    unsure = read(write_jams(tmp_path, "tempo", (60, 0.25), (120.0, None)), task="tempo")
    assert set(unsure.columns) == {"tempo"}
    with pytest.raises(InvalidAnnotationError, match=r"a\.jams: annotations\[0\]\.data\[0\]\.value: not a number: 'x'"):
        read(write_jams(tmp_path, "tempo", ("x", 1)), task="tempo")


def test_written_jams_follows_its_schema_and_is_read_back(tmp_path: Path) -> None:
    tempo = Annotation("tempo", {"tempo": np.array([60.0, 120.0]), "salience": np.array([0.25, 0.75])})
    key = Annotation("key", {}, ["C minor"])
    for annotation, task in ((tempo, "tempo"), (key, "key")):
        to_jams(annotation, task=task).save(str(tmp_path / "a.jams"))
        assert schema_problems(tmp_path / "a.jams") == []
        back = read(tmp_path / "a.jams", task=task)
        assert {name: column.tolist() for name, column in back.columns.items()} == {
            name: column.tolist() for name, column in annotation.columns.items()
        }
        assert back.labels == (["C:minor"] if task == "key" else None)


def test_such_files_have_no_columns_to_declare(tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match="'tempo' have a fixed layout"):
        read(write(tmp_path, "a.txt", "60"), task="tempo", columns={"time": 0})


def test_every_key_of_giantsteps_in_both_notations(shared_data: Path) -> None:
    folder = shared_data / "giantsteps-key"
    files = sorted((folder / "key").glob("*.key"))
    assert len(files) == 150
    for file in files:
        (text,) = read(file, task="key").labels or []
        assert read(folder / "jams" / f"{file.stem}.jams", task="key").labels == [text.replace(" ", ":")]
