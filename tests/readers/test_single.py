"""Keys and tempi: files of one row, and JAMS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnreadableError
from mirflow.readers import read, read_all, schema_problems, to_jams
from mirflow.store.cells import Status

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
        ("-60 nan\n", [-60.0, 0.0], None),
        ("100.16\tnan\t1.00\n", [100.16, 0.0], [1.0, 0.0]),
        ("tempo 0 126\n", [126.0], None),
        ("bpm\n126\n", [126.0], None),
        ("bpm,confidence\n126,0.5\n", [126.0], None),
        ("tempo1\ttempo2\tstrength\n60\t120\t0.25\n", [60.0, 120.0], [0.25, 0.75]),
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


def test_columns_of_keys_and_tempi_may_be_declared(tmp_path: Path) -> None:
    key = read(write(tmp_path, "a.txt", "x\tc\tminor\t2\n"), task="key", columns={"key": 1, "mode": 2})
    assert key.labels == ["c minor"]
    tempo = read(write(tmp_path, "a.csv", "x,126,0.5\n"), task="tempo", columns={"tempo": 1})
    assert tempo.columns["tempo"].tolist() == [126.0]
    with pytest.raises(AnnotationError, match="'multipitch' have a fixed layout"):
        read(write(tmp_path, "a.txt", "60"), task="multipitch", columns={"time": 0})
    with pytest.raises(InvalidAnnotationError, match="no column holds the tempo"):
        read(write(tmp_path, "a.txt", "60"), task="tempo", columns={"strength": 0})


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("c minor\t2\t\n", "c minor"),
        ("A\tminor\n", "A minor"),
        ("A,minor\n", "A minor"),
        ("A minor 0.8\n", "A minor"),
        ("key,scale\nA,minor\n", "A minor"),
        ("key,scale,strength\nA,minor,0.8\n", "A minor"),
        ("0.4\t83.1\tKey\tBb\n83.1\t90\tSilence\n", "Bb"),
        ("0.4 83.1 Key Bb\n83.1 90 Key Bb\n", "Bb"),
        ("H moll\n", "H moll"),
        ("X\n", "X"),
    ],
)
def test_forms_of_keys_in_public_files(tmp_path: Path, text: str, key: str) -> None:
    assert read(write(tmp_path, "a.csv" if text.startswith("key") else "a.txt", text), task="key").labels == [key]


def test_several_keys_are_not_one_and_other_columns_are_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidAnnotationError, match=r"a\.txt:1: holds 2 keys \(Bb, C\), .*use task local_key"):
        read(write(tmp_path, "a.txt", "0 1 Key Bb\n1 2 Key C\n"), task="key")
    with pytest.raises(InvalidAnnotationError, match=r"many tracks: declare columns: \{track: ID, key: KEY\}"):
        read(write(tmp_path, "a.csv", "ID,KEY\na,C\nb,D\n"), task="key")
    told = read(write(tmp_path, "a.csv", "key,chroma\nC,x\n"), task="key")
    assert [remark.rule for remark in told.account] == ["columns"]


NOTHING = ["", "nan\n", "0\n", "0.0 0.0 0.5\n", "nan nan 1\n", "tempo 0 0\n", "bpm\n0\n", "bpm\n", "none\n"]


@pytest.mark.parametrize("convention", ["mir_eval", "madmom"])
def test_a_track_without_a_tempo_has_one_status_in_every_form(tmp_path: Path, convention: str) -> None:
    files = [write(tmp_path, f"{place}.txt", text) for place, text in enumerate(NOTHING)]
    files += [write_jams(folder := tmp_path, "tempo", (0.0, 1.0)), *([folder / "b.jams"])]
    files[-1].write_text(json.dumps({"annotations": [{"namespace": "tempo", "data": []}]}))
    references = {file.name: file for file in files} | {"array": np.array([0.0])}
    estimates = {"x": dict.fromkeys(references, np.array([120.0]))}
    scores = mirflow.score(references, estimates, "tempo", convention=convention, metrics=["accuracy1"])
    assert set(scores["status"].values.ravel()) == {Status.empty_reference}
    assert set(scores["weight"].values.ravel()) == {float(convention == "madmom")}
    silent = mirflow.score(references, {"x": references}, "tempo", convention="madmom", metrics=["accuracy1"])
    assert (silent["score"].values == 1).all()


@pytest.mark.parametrize("text", ["", "nan\n", "-\n", "key,mode\n", "None\n"])
def test_a_track_without_a_key_is_empty(tmp_path: Path, text: str) -> None:
    assert read(write(tmp_path, "a.txt", text), task="key").labels == []


def test_tables_of_keys_and_tempi_have_a_row_for_each_track(tmp_path: Path) -> None:
    keys = write(tmp_path, "keys.csv", "ID,MANUAL KEY,C\nx,c minor,2\ny,nan,\nz,D\u266dx,1\n")
    found = mirflow.load_collection(str(keys), "key", columns={"track": "ID", "key": "MANUAL KEY"})
    assert [found[track]["label"].values.tolist() for track in "xy"] == [["c minor"], []]
    tempi = write(tmp_path, "tempi.tsv", "x\t60\t120\t0.25\ny\t90\t\t\n")
    columns = {"track": 0, "tempo": 1, "second": 2, "strength": 3}
    found = mirflow.load_collection(str(tempi), "tempo", columns=columns)
    assert found["x"]["salience"].values.tolist() == [0.25, 0.75]
    assert found["y"]["tempo"].values.tolist() == [90.0]
    twice = write(tmp_path, "twice.csv", "x,C\nx,D\n")
    with pytest.raises(AnnotationError, match=r"twice\.csv:2.*expected one row of each track.*'x D'"):
        mirflow.load_collection(str(twice), "key", columns={"track": 0, "key": 1})


def test_every_key_of_giantsteps_in_both_notations(shared_data: Path) -> None:
    folder = shared_data / "giantsteps-key"
    files = sorted((folder / "key").glob("*.key"))
    assert len(files) == 150
    for file in files:
        (text,) = read(file, task="key").labels or []
        assert read(folder / "jams" / f"{file.stem}.jams", task="key").labels == [text.replace(" ", ":")]
