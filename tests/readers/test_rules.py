"""Each rule of remarks is there for something: a file that it is reported of, or what formats declare."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import mido
import pandas as pd
import pytest

from mirflow.annotations.account import RULES
from mirflow.errors import AnnotationError
from mirflow.readers import read
from mirflow.readers.formats import FORMATS
from mirflow.readers.objects import to_annotation


def midi(*messages: mido.Message, chunk: bytes = b"") -> bytes:
    file = mido.MidiFile()
    file.tracks.append(mido.MidiTrack(messages))
    data = BytesIO()
    file.save(file=data)
    return data.getvalue()[:14] + chunk + data.getvalue()[14:]


def jams(**annotation: object) -> bytes:
    usual = {"time": 0, "duration": 9, "data": []}
    return json.dumps({"annotations": [{"namespace": "chord", **usual}, {**usual, **annotation}]}).encode()


ON, OFF = mido.Message("note_on", note=60), mido.Message("note_off", note=60, time=480)
CHORDS = [{"time": 0, "duration": None, "value": "C"}, {"time": 2, "duration": 1, "value": "G"}]
BEATS = "".join(f"{beat / 2} {beat % 4 + 1}\n" for beat in range(16))
FILES: dict[str, tuple[str, str, bytes | str]] = {
    "content_columns": ("local_key", "a.csv", "start,end,key,mode,scale,quality\n0,1,A,x,y,minor\n"),
    "columns": ("chord", "a.csv", "start,end,chord,other\n0,1,C,9\n"),
    "positions": ("downbeat", "a.txt", BEATS.replace("1.0 3", "1.0 2")),
    "unvoiced": ("melody", "a.txt", "0 nan\n0.01 0\n0.02 220\n0.03 221\n"),
    "odd_columns": ("downbeat", "a.txt", BEATS.replace(" 4", " 0")),
    "rows": (
        "beat",
        "a.svl",
        '<sv><data><model id="1" sampleRate="9" type="sparse" dimensions="1" dataset="2"/><dataset id="2">'
        '<point frame="9"/></dataset><layer id="1" type="timeinstants" model="1"/>'
        '<dataset id="99"><point frame="1"/></dataset></data></sv>',
    ),
    "repeated_rows": ("onset", "a.txt", "1.5\n2.5\n1.5\n2.5\n"),
    "leading_count": ("onset", "a.txt", "5\n0.5\n1.25\n2.5\n3.0\n4.5\n"),
    "unmapped": ("segment", "a.txt", "0 1 q\n1 2 w\n2 3 z\n"),
    "text_form": ("segment", "a.txt", "0 1 re\u0301frain\n1 2 b\n"),
    "durations": ("chord", "a.jams", jams(namespace="chord", data=CHORDS).replace(b'"chord"', b'"beat"', 1)),
    "bends": ("transcription", "a.mid", midi(mido.Message("pitchwheel", pitch=8000), ON, OFF)),
    "channels": ("drums", "a.mid", midi(ON, OFF, ON.copy(channel=2), OFF.copy(channel=2))),
    "percussion": ("transcription", "a.mid", midi(ON.copy(channel=9), OFF.copy(channel=9))),
    "unended": ("transcription", "a.mid", midi(ON, OFF, ON)),
    "chunks": ("transcription", "a.mid", midi(ON, OFF, chunk=b"XXXX\x00\x00\x00\x00")),
    "namespaces": ("chord", "a.jams", jams(namespace="chord_harte2", data=CHORDS)),
    "pedal": ("transcription", "a.mid", midi(ON, mido.Message("control_change", control=64, value=127, time=9), OFF)),
}
"""Task, name and content of a file of which a rule is reported."""


@pytest.mark.parametrize("rule", FILES)
def test_each_rule_is_reported_of_a_file(rule: str, tmp_path: Path) -> None:
    task, name, content = FILES[rule]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    options = {"labels": "functions7"} if rule == "unmapped" else {}
    if RULES[rule].severity == "error":
        with pytest.raises(AnnotationError, match="may mean something else"):
            read(tmp_path / name, task=task)
        return
    assert rule in {remark.rule for remark in read(tmp_path / name, task=task, **options).account}


def test_no_rule_is_without_a_use() -> None:
    frame = pd.DataFrame({"start": [0.0, 1.0], "end": [1.0, 2.0], "label": ["a", 3]})
    in_memory = {remark.rule for remark in to_annotation(frame, "segment").account}
    declared = {rule for one in FORMATS.values() for rule in one.silent}
    in_archives = {"layers"}  # of other arrays: see the tests of matrices
    assert {*RULES} == {*FILES} | in_memory | declared | in_archives
    assert not in_memory & {*FILES}
    reported = {rule for one in FORMATS.values() for rule in one.reports}
    assert {*FILES} - {"unvoiced"} <= reported | {"rows"}
