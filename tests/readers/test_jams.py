"""JAMS files: every layout that is met, which annotation is meant, and what is wrong with the rest."""

from __future__ import annotations

import json
import os
import re
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.errors import InvalidAnnotationError, UnreadableError
from mirflow.readers import FileSource, Reading, list_annotators, read, read_all
from mirflow.readers.jams import decode_jams, open_jams
from mirflow.theory.text_form import normal_form


def observation(time: float | None, duration: float | None, value: Any) -> dict[str, Any]:
    return {"time": time, "duration": duration, "value": value, "confidence": None}


CHORDS = [observation(0.0, 1.5, "C:maj"), observation(1.5, 0.5, "N")]


def annotation(namespace: str, data: Any, annotator: Any = None) -> dict[str, Any]:
    return {"namespace": namespace, "data": data, "annotation_metadata": {"annotator": annotator or {}}, "sandbox": {}}


def write(path: Path, *annotations: dict[str, Any], **metadata: Any) -> Path:
    path.write_text(json.dumps({"file_metadata": metadata, "annotations": annotations}))
    return path


def rows(annotation: Annotation) -> list[tuple[float, float, str]]:
    assert annotation.labels is not None
    columns = annotation.columns
    return list(zip(columns["start"].tolist(), columns["end"].tolist(), annotation.labels, strict=True))


@pytest.mark.parametrize(
    "data",
    [CHORDS, {"time": [0.0, 1.5], "duration": [1.5, 0.5], "value": ["C:maj", "N"], "confidence": [None, None]}],
    ids=["observations", "columns"],
)
@pytest.mark.parametrize("namespace", ["chord", "chord_harte"])
def test_both_layouts_are_the_same(tmp_path: Path, data: Any, namespace: str) -> None:
    file = write(tmp_path / "a.jams", annotation(namespace, data, {"id": "A1"}), title="T", artist="", duration=2)
    chords = read(file, task="chord")
    assert rows(chords) == [(0.0, 1.5, "C:maj"), (1.5, 2.0, "N")]
    expected = {"source": str(file), "namespace": namespace, "annotator": "A1", "title": "T", "duration": 2.0}
    assert chords.attrs == expected


@pytest.mark.parametrize(
    ("namespace", "values", "labels"),
    [
        ("beat", [1, 2.0, 2.5, None], ["1", "2", "2.5", ""]),
        ("beat_position", [{"position": 1, "measure": 7}, {"position": 2.0}], ["1", "2"]),
        ("onset", [None, 0], ["", "0"]),
    ],
)
def test_values_of_events_become_text(tmp_path: Path, namespace: str, values: list[Any], labels: list[str]) -> None:
    data = [observation(float(time), 0.0, value) for time, value in enumerate(values)]
    events = read(write(tmp_path / "a.jams", annotation(namespace, data)), namespace=namespace)
    assert (events.kind, events.labels) == ("events", labels)
    assert events.columns["time"].tolist() == [float(time) for time in range(len(values))]


@pytest.mark.parametrize(
    "namespace", ["segment_open", "segment_salami_function", "segment_tut", "segment_isophonics", "key_mode", "lyrics"]
)
def test_other_namespaces_of_intervals(tmp_path: Path, namespace: str) -> None:
    file = write(tmp_path / "a.jams", annotation(namespace, [observation(0.5, 1.0, "C:minor")]))
    assert rows(read(file, namespace=namespace)) == [(0.5, 1.5, "C:minor")]


def test_no_observations_are_an_annotation_without_items(tmp_path: Path) -> None:
    assert len(read(write(tmp_path / "a.jams", annotation("chord", [])), task="chord")) == 0


def test_ends_that_miss_the_next_start_by_rounding_meet_it(tmp_path: Path) -> None:
    data = [observation(0.1, 0.2, "C"), observation(0.3, 1.0, "G"), observation(1.3001, 1.0, "N")]
    chords = read(write(tmp_path / "a.jams", annotation("chord", data)), task="chord")
    assert 0.1 + 0.2 != 0.3
    assert chords.columns["end"].tolist() == [0.3, 1.3, 2.3001]


@pytest.fixture
def several(tmp_path: Path) -> Path:
    return write(
        tmp_path / "a.jams",
        annotation("chord", [observation(0, 1, "C")], {"id": "A1"}),
        annotation("beat", [observation(0, 0, 1)], {"id": "A1"}),
        annotation("chord", [observation(0, 1, "D")], {"name": "Eve"}),
        annotation("chord", [observation(0, 1, "E")]),
        annotation("chord", [observation(0, 1, "F")], {"id": "A1"}),
    )


@pytest.mark.parametrize(
    ("annotator", "label"), [("A1", "C"), ("Eve", "D"), ("2", "E"), ("A1 (2)", "F"), (0, "C"), (1, "D"), (3, "F")]
)
def test_an_annotator_is_chosen_by_id_name_or_position(several: Path, annotator: str | int, label: str) -> None:
    assert read(several, task="chord", annotator=annotator).labels == [label]


def test_all_annotators(several: Path) -> None:
    assert list_annotators(several, task="chord") == ["A1", "Eve", "2", "A1 (2)"]
    assert [one.labels for one in read_all(several, task="chord")] == [["C"], ["D"], ["E"], ["F"]]
    assert [one.attrs["annotator"] for one in read_all(several, task="chord")] == ["A1", "Eve", "2", "A1 (2)"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"task": "chord"}, r"holds 4 annotations for 'chord': chord by A1, chord by Eve, .*; choose an annotator"),
        ({"task": "chord", "annotator": "Evi"}, r"has no annotator 'Evi' for 'chord'; did you mean 'Eve'\?"),
        (
            {"task": "chord", "annotator": "all"},
            r"has no annotator 'all' for 'chord'; .*; to score all of them, write a pipeline with combine: each",
        ),
        ({"task": "chord", "annotator": 4}, "holds no annotation number 4; it holds chord by A1"),
        ({"task": "segment"}, "holds no annotation for 'segment'; it holds chord by A1, beat by A1"),
    ],
)
def test_a_choice_that_is_not_there_lists_what_is(several: Path, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=r"a\.jams: " + message):
        read(several, **asked)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([observation(0, 1, "C"), observation(None, 1, "G")], r"annotations\[0\]\.data\[1\]\.time: missing"),
        (
            [observation(0, 1, "C"), {"time": "x"}],
            r"annotations\[0\]\.data\[1\]\.time: Expected `float \| null`, got `str`",
        ),
        ({"time": [0, 1], "duration": [1], "value": ["C", "G"]}, "columns of different lengths: 2 times, 1 durations"),
        ("nothing", r"annotations\[0\]\.data: Expected"),
    ],
)
def test_broken_observations_are_invalid_with_their_place(tmp_path: Path, data: Any, message: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=message):
        read(write(tmp_path / "a.jams", annotation("chord", data)), task="chord")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{\n"annotations": [\n{"namespace": "cho', r"a\.jams:3: is not JSON: it ends in the middle"),
        (b'{\n"annotations": \n x}', r"a\.jams:3: is not JSON: JSON is malformed"),
        (b'{"annotations": [{"data": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"sandbox": NaN, "annotations": [{"data": ' + b"[" * 100_000, "nested too deeply"),
        (b"", "is empty"),
        (b"[1, 2]", "is not a JAMS file: Expected `object`"),
        (b'{"beat": []}', "is not a JAMS file: .*`annotations`"),
        (b"0.0 1.0 C:maj\n", "is not a JAMS file: Expected `object`"),
        (b'{"annotations": [{"namespace": "\xff"}]}', "is not JSON"),
        (b'{"annotations": [NaN}', "is not JSON"),
    ],
    ids=["truncated", "malformed", "deep", "deep constant", "empty", "list", "old", "lab", "latin", "constant"],
)
def test_what_is_no_jams_is_unreadable(tmp_path: Path, data: bytes, message: str) -> None:
    file = tmp_path / "a.jams"
    file.write_bytes(data)
    with pytest.raises(UnreadableError, match=message):
        read(file, task="chord")


def test_nan_where_it_does_not_matter_is_read_and_in_a_time_is_invalid(tmp_path: Path) -> None:
    row = '{"time": %s, "duration": 1, "value": "NaN", "confidence": NaN}'
    data = f'{{"annotations": [{{"namespace": "chord", "data": [{row}]}}]}}'
    file = tmp_path / "a.jams"
    file.write_text(data % "0")
    assert rows(read(file, task="chord")) == [(0.0, 1.0, "NaN")]
    file.write_text(data % "NaN")
    with pytest.raises(InvalidAnnotationError, match=r"data\[0\]\.time: missing, null or not a number"):
        read(file, task="chord")


def test_several_annotators_cost_one_decoding_until_the_file_changes(several: Path) -> None:
    name = str(several)
    first = open_jams(name, 2**20, name)
    assert open_jams(name, 2**20, name) is first
    os.utime(several, ns=(1, 1))
    assert open_jams(name, 2**20, name) is not first


def test_a_source_reads_and_digests(several: Path) -> None:
    reading = Reading.of(task="chord")
    (chords, digest), (other, same) = (FileSource(str(several), reading, name).read() for name in ("A1", "Eve"))
    assert (chords.labels, other.labels) == (["C"], ["D"])
    assert digest == same == decode_jams(several.read_bytes(), "a").digest


TIMES = st.floats(0, 1e4, allow_nan=False)
ROWS = st.lists(st.tuples(TIMES, TIMES, st.text(st.characters(blacklist_categories=("Cs",)))), max_size=8)


@given(table=ROWS)
def test_rows_survive_the_round_trip(table: list[tuple[float, float, str]]) -> None:
    data = [observation(time, duration, label) for time, duration, label in table]
    text = json.dumps({"annotations": [annotation("segment_open", data)]})
    read_back = decode_jams(text.encode(), "a").annotation(0, Reading.of(kind="intervals"))
    table = sorted(table, key=itemgetter(0))  # as in objects of the jams package
    assert read_back.columns["start"].tolist() == [time for time, _, _ in table]
    assert read_back.labels == [normal_form(label) for _, _, label in table]
    ends = [time + duration for time, duration, _ in table]
    assert read_back.columns["end"].tolist() == pytest.approx(ends, rel=0, abs=1e-9)


@given(st.binary(max_size=200))
def test_whatever_the_bytes_the_answer_is_a_file_or_our_error(data: bytes) -> None:
    with pytest.raises(UnreadableError):
        decode_jams(b"{" + data, "a.jams")


@pytest.mark.parametrize(
    ("namespace", "task", "expected"),
    [
        (
            "chord",
            "beat",
            "holds no annotation for 'beat'; it holds chord without an annotator (number 0): use task chord",
        ),
        ("lyrics", "beat", "it holds lyrics without an annotator (number 0): use task lyrics"),
        ("chord_roman", "chord", "which no task reads; 'chord' is read from chord, chord_harte"),
        ("mine", "tagging", "'tagging' is read from tag_open, "),
    ],
)
def test_a_wrong_namespace_says_what_to_write(tmp_path: Path, namespace: str, task: str, expected: str) -> None:
    data = [{"time": 0, "duration": 1, "value": "C:maj", "confidence": None}]
    (tmp_path / "a.jams").write_text(json.dumps({"annotations": [{"namespace": namespace, "data": data}]}))
    with pytest.raises(InvalidAnnotationError, match=re.escape(expected)):
        mirflow.load(tmp_path / "a.jams", task=task)
