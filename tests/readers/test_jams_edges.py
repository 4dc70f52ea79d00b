"""JAMS files: nothing in a file passes in silence, in any namespace, layout and encoding."""

from __future__ import annotations

import codecs
import contextlib
import json
import math
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import jams
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnreadableError
from mirflow.readers import NAMESPACES, Reading
from mirflow.readers.jams import decode_jams, open_objects
from mirflow.readers.namespaces import OTHERS

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
