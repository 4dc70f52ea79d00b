"""JAMS files: every layout that is met, which annotation is meant, and what is wrong with the rest."""

from __future__ import annotations

import codecs
import contextlib
import json
import math
import os
import re
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import jams
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnreadableError
from mirflow.readers import NAMESPACES, FileSource, Reading, list_annotators, read, read_all
from mirflow.readers.jams import decode_jams, open_jams, open_objects
from mirflow.readers.namespaces import OTHERS
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


VALUES: dict[str, Any] = {
    "text": "C:maj",
    "tag": "rock",
    "number": 2,
    "hz": 220.0,
    "midi": 60,
    "position": {"position": 1, "measure": 1, "num_beats": 4, "beat_units": 4},
    "level": {"label": "A", "level": 0},
    "note": {"midi_pitch": 60, "morph_pitch": 0, "staff": 0, "pattern_id": 1, "occurrence_id": 1},
    "contour": {"index": 0, "frequency": 220.0, "voiced": True},
    "json": {"tonic": "C", "chord": "V7/ii"},
}
"""A value of each form."""
MISSING = object()


def written(
    namespace: str, times: Sequence[float], durations: Sequence[Any], layout: str = "rows", **about: Any
) -> bytes:
    """A file with one annotation; `MISSING` durations have no field."""
    value = VALUES[NAMESPACES[namespace].value]
    rows = [
        {"time": time, "value": value, "confidence": None} | ({} if length is MISSING else {"duration": length})
        for time, length in zip(times, durations, strict=True)
    ]
    data: Any = rows
    if layout == "columns":
        data = {name: [row.get(name) for row in rows] for name in ("time", "duration", "value", "confidence")}
    header = {"namespace": namespace, "data": data, "annotation_metadata": {}, "sandbox": {}, **about}
    return json.dumps({"annotations": [header], "file_metadata": {}, "sandbox": {}}).encode()


def opened(data: bytes, namespace: str, kind: str | None = None) -> Annotation:
    return decode_jams(data, "a.jams").select(Reading.of(None, kind=kind, namespace=namespace))


READ_AS = [(name, kind) for name, namespace in NAMESPACES.items() for kind in namespace.kinds]


@pytest.mark.parametrize(("namespace", "kind"), READ_AS)
@given(
    place=st.integers(0, 2),
    lack=st.sampled_from([None, math.nan, MISSING]),
    layout=st.sampled_from(["rows", "columns"]),
)
def test_an_observation_without_a_duration_lasts_until_the_next_one(
    namespace: str, kind: str, place: int, lack: Any, layout: str
) -> None:
    whole = opened(written(namespace, [0.0, 1.0, 2.0], [1.0, 1.0, 1.0], layout), namespace, kind)
    lengths: list[Any] = [1.0, 1.0, 1.0]
    lengths[place] = lack
    data = written(namespace, [0.0, 1.0, 2.0], lengths, layout, time=0, duration=3.0)
    if kind == "notes":
        with pytest.raises(InvalidAnnotationError, match=rf"annotations\[0\]\.data\[{place}\]\.duration: missing"):
            opened(data, namespace, kind)
        return
    found = opened(data, namespace, kind)
    assert {name: column.tolist() for name, column in found.columns.items()} == {
        name: column.tolist() for name, column in whole.columns.items()
    }
    assert [remark.rule for remark in found.account] == (["durations"] if "end" in found.columns else [])


@pytest.mark.parametrize("namespace", [name for name, kind in READ_AS if kind in ("intervals", "hierarchy")])
def test_the_last_observation_needs_an_end(namespace: str) -> None:
    for about in ({}, {"duration": None}, {"time": 0, "duration": 1.0}):
        with pytest.raises(InvalidAnnotationError, match=r"a\.jams: annotations\[0\]\.data\[1\]\.duration: missing"):
            opened(written(namespace, [0.0, 1.0], [1.0, None], **about), namespace)


def test_the_length_of_the_track_ends_an_annotation_without_its_own() -> None:
    data = json.loads(written("chord", [0.0, 1.0], [1.0, None]))
    data["file_metadata"]["duration"] = 2.5
    assert opened(json.dumps(data).encode(), "chord").columns["end"].tolist() == [1.0, 2.5]


@given(st.lists(st.tuples(st.integers(0, 20), st.none() | st.integers(1, 5)), min_size=1, max_size=8))
def test_missing_durations_end_at_the_next_time_by_a_plain_search(rows: list[tuple[int, int | None]]) -> None:
    times, lengths = [float(time) for time, _ in rows], [length for _, length in rows]
    found = opened(written("segment_open", times, lengths, time=0, duration=30.0), "segment_open")
    ends = [
        time + length if length is not None else min([other for other in times if other > time], default=30.0)
        for time, length in sorted(zip(times, lengths, strict=True), key=itemgetter(0))
    ]
    assert found.columns["end"].tolist() == ends
    assert sum(remark.count for remark in found.account) == lengths.count(None)


def test_lyrics_may_have_starts_only() -> None:
    found = opened(written("lyrics", [0.0, 1.0], [None, None]), "lyrics", "text")
    assert (found.columns["start"].tolist(), "end" in found.columns, found.account) == ([0.0, 1.0], False, ())


def test_objects_are_read_as_files_are() -> None:
    for lack in (None, math.nan):
        held = jams.Annotation("chord", time=0, duration=4)
        for time, length in ((0.0, 2.0), (2.0, lack)):
            held.data.add(jams.Observation(time, length, "C:maj", None))
        found = open_objects(held).select(Reading.of("chord"), None)
        assert (found.columns["end"].tolist(), [remark.rule for remark in found.account]) == ([2.0, 4.0], ["durations"])
    held.data.clear()
    held.data.add(jams.Observation(0.5, "x", "C:maj", None))
    with pytest.raises(
        InvalidAnnotationError, match=r"annotations\[0\]\.data\[0\]\.duration: missing, null or not a number: 'x'"
    ):
        open_objects(held).select(Reading.of("chord"), None)


def test_columns_of_other_lengths_are_refused() -> None:
    data = json.loads(written("tag_open", [0.0, 1.0], [1.0, 1.0], "columns"))
    data["annotations"][0]["data"]["confidence"] = [0.5]
    with pytest.raises(InvalidAnnotationError, match=r"2 times, 2 durations, 2 values, 1 confidences"):
        opened(json.dumps(data).encode(), "tag_open")


@pytest.mark.parametrize("value", [{"label": "C"}, ["C"]])
def test_a_label_is_a_text_or_a_number(value: Any) -> None:
    rows = [{"time": 0.0, "duration": 1.0, "value": one} for one in ("C", value)]
    data = json.dumps({"annotations": [{"namespace": "segment_open", "data": rows}]}).encode()
    with pytest.raises(InvalidAnnotationError, match=r"data\[1\]\.value: neither a text nor a number"):
        opened(data, "segment_open")


def test_an_annotation_without_data_is_invalid() -> None:
    with pytest.raises(InvalidAnnotationError, match=r"a\.jams: annotations\[0\]\.data: missing"):
        opened(b'{"annotations": [{"namespace": "chord"}]}', "chord")


@pytest.mark.parametrize("namespace", sorted(jams.schema.__NAMESPACE__))
def test_each_namespace_of_jams_is_read(namespace: str) -> None:
    assert len(opened(written(namespace, [0.5], [1.0]), namespace)) == 1
    if namespace not in OTHERS:
        return
    with pytest.raises(
        AnnotationError, match=f"no task reads the namespace {namespace!r}, which holds {OTHERS[namespace]}"
    ):
        Reading.of("chord", namespace=namespace)
    data = b'{"annotations": [{"namespace": "%s", "data": []}]}' % namespace.encode()
    with pytest.raises(InvalidAnnotationError, match=f"; {namespace} holds {OTHERS[namespace]}, which no task reads"):
        decode_jams(data, "a.jams").select(Reading.of("chord"))


def test_a_namespace_whose_name_is_mistyped_is_reported_and_others_are_not() -> None:
    data = json.loads(written("chord", [0.0], [1.0]))
    for namespace, told in (("beat", []), ("chord_roman", []), ("mine", []), ("chrod", ["namespaces"])):
        document = {**data, "annotations": [*data["annotations"], {"namespace": namespace, "data": []}]}
        found = decode_jams(json.dumps(document).encode(), "a.jams").select(Reading.of("chord"))
        assert [remark.rule for remark in found.account] == told


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_is_skipped(encoding: str) -> None:
    text = written("segment_open", [0.5], [1.0]).decode().replace("C:maj", "Stro\u0301fa")
    mark = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}.get(encoding, b"")
    assert opened(mark + text.encode(encoding), "segment_open").labels == ["Str\u00f3fa"]


@settings(max_examples=20)
@given(st.lists(st.recursive(st.none() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=3), max_size=4))
def test_values_of_any_form_are_read_or_refused(values: list[Any]) -> None:
    rows = [{"time": 1.0 * item, "duration": 1.0, "value": value} for item, value in enumerate(values)]
    for namespace, kind in READ_AS:
        data = json.dumps({"annotations": [{"namespace": namespace, "data": rows}]}).encode()
        with contextlib.suppress(InvalidAnnotationError, UnreadableError):
            assert opened(data, namespace, kind).kind == kind
