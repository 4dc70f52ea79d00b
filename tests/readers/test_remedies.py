"""Remedies in messages of readers work when they are typed, and are not printed where they would not."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

import mirflow
from mirflow import readers
from mirflow.errors import AnnotationError, MirflowWarning
from mirflow.readers.options import OPTIONS
from mirflow.readers.remedies import options_in

from ..commands import invoke

CHORD = {"namespace": "chord", "data": [{"time": 0, "duration": 2, "value": "C:maj", "confidence": None}]}
WORKING = {
    "a start and a label": ("chord", "a.txt", "0.5 C:maj\n1.0 N\n2.0 G\n", "--columns start=0,label=1"),
    "McGill Billboard": (
        "chord",
        "a.txt",
        "# title: x\n# metre: 4/4\n# tonic: C\n\n0.0\tsilence\n1.0\tA, intro, | C:maj | G:maj |\n3.0\tend\n",
        "--input-format billboard",
    ),
    "decimal commas": ("onset", "a.tsv", "0,5\n0,75\n1,25\n", "--decimal ,"),
    "milliseconds in a header": ("onset", "a.csv", "time (ms)\n500\n900\n", "--time-unit ms"),
    "MIDI numbers in a header": (
        "transcription",
        "a.csv",
        "start,end,pitch (MIDI)\n0,1,60\n1,2,64\n",
        "--pitch-unit MIDI",
    ),
    "names of columns": (
        "chord",
        "a.csv",
        "start_s,stop_s,chord\n0,1,C\n1,2,G\n",
        "--columns start=start_s,end=stop_s,label=chord",
    ),
    "names of columns in ms": (
        "beat",
        "a.csv",
        "idx,beat_ms\n1,500\n2,1000\n",
        "--columns time=beat_ms --time-unit ms",
    ),
    "names of columns with units": (
        "transcription",
        "a.csv",
        "onset_ms,offset_ms,midi\n500,900,60\n1000,1500,62\n",
        "--columns start=onset_ms,end=offset_ms,pitch=midi --time-unit ms --pitch-unit MIDI",
    ),
    "another task": ("beat", "a.lab", "0.5 1.0 C:maj\n1.0 2.0 N\n", "--task chord"),
    "another task of JAMS": ("beat", "a.jams", json.dumps({"annotations": [CHORD]}), "--task chord"),
    "several keys": ("key", "a.txt", "0.0 1.0 Key\tC\n1.0 5.0 Key\tG\n", "--task local_key"),
    "JAMS of another suffix": ("chord", "a.json", json.dumps({"annotations": [CHORD]}), "--input-format jams"),
    "subtitles": ("lyrics", "a.txt", "1\n00:00:01,000 --> 00:00:02,000\nhello you\n", "--input-format srt"),
    "point labels": ("onset", "a.txt", "0.5\t0.5\tkick\n1.0\t1.0\tsnare\n", "--columns time=0,label=2"),
    "regions": (
        "segment",
        "a.txt",
        "0.2\t5\t57.0\tTheme\n57.2\t6\t30.0\tCoda\n",
        "--columns start=0,duration=2,label=3",
    ),
    "marks of downbeats": (
        "downbeat",
        "a.txt",
        "".join(f"{beat / 2}\t{beat / 2}\t{'b' if beat % 4 else 'db'}\n" for beat in range(12)),
        "--columns time=0,label=2 --downbeat db",
    ),
}
"""Task, name and text of a file that cannot be read as it is, and the remedy that its message has."""


@pytest.mark.parametrize("case", WORKING)
def test_remedies_work_when_they_are_typed(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    task, name, text, typed = WORKING[case]
    Path(name).write_text(text)
    with pytest.raises(AnnotationError) as error:
        mirflow.load(name, task)
    printed = f"use {typed.removeprefix('--')}" if "--task" in typed else typed
    assert printed in str(error.value)
    chosen = typed if "--task" in typed else f"--task {task} {typed}"
    assert invoke("evaluate", name, name, *shlex.split(chosen)).exit_code == 0


FAILING = {
    "a start and a label that is no chord": ("chord", "a.txt", "0.5 Hello\n1.0 N\n2.0 G\n"),
    "a start and a label, out of order": ("segment", "a.txt", "9.0 intro\n1.0 verse\n2.0 coda\n"),
    "decimal commas beside points": ("onset", "a.tsv", "0,5\n0.75\n1,x\n"),
    "milliseconds in a header, of too late times": ("onset", "a.csv", "time (ms)\n500\n9e9\n"),
    "names of columns with text": ("chord", "a.csv", "start_s,stop_s,chord\nx,1,C\n1,2,G\n"),
    "chords with a flaw": ("beat", "a.lab", "0.5 1.0 C:maj\nx 2.0 N\n"),
    "chords of JAMS with a flaw": (
        "beat",
        "a.jams",
        json.dumps({"annotations": [{**CHORD, "data": [{"time": 3, "duration": -1, "value": "C"}]}]}),
    ),
    "JSON that is not JAMS": ("chord", "a.json", '{"chords": []}'),
    "subtitles with a flaw": ("lyrics", "a.txt", "1\n00:00:01,000 --> 00:00:02,000\nhey\n2\nx --> 00:00\nyou\n"),
    "regions that overlap": ("segment", "a.txt", "0.2\t5\t157.0\tTheme\n57.2\t6\t30.0\tCoda\n"),
    "point labels out of order": ("beat", "a.txt", "5.5\t5.5\tkick\n1.0\t1.0\tsnare\nx\tx\tkick\n"),
}
"""Files of the same kinds, for which the remedy would not help."""


@pytest.mark.parametrize("case", FAILING)
def test_remedies_that_do_not_work_are_not_printed(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    task, name, text = FAILING[case]
    Path(name).write_text(text)
    with pytest.raises(AnnotationError) as error:
        mirflow.load(name, task)
    assert not re.search(r"\(--|use task|declare", str(error.value))
    assert str(error.value).startswith(f"{name}:")


def test_bare_times_are_downbeats_if_they_are_as_far_apart(tmp_path: Path) -> None:
    for step, remedy in ((2.0, "; if all its times are downbeats, declare select: all"), (0.5, "$")):
        (tmp_path / "a.txt").write_text("".join(f"{step * beat}\n" for beat in range(20)))
        with pytest.raises(AnnotationError, match=f"by which downbeats are chosen{remedy}"):
            mirflow.load(tmp_path / "a.txt", "downbeat", select="downbeat")


def test_remedies_of_remarks_are_tried_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("0.66,220.0,0.29\n1.01,246.94,0.30\n")
    with pytest.warns(MirflowWarning, match="then declare columns: {start: 0, pitch: 1, duration: 2}"):
        mirflow.load(tmp_path / "a.csv", "transcription")
    (tmp_path / "a.csv").write_text("0.66,220.0,0.29\n-1.01,246.94,0.30\n")
    with pytest.warns(MirflowWarning, match="the columns may be start, pitch, duration$"):
        mirflow.load(tmp_path / "a.csv", "transcription")


def test_every_option_that_a_reader_proposes_can_be_read_from_the_message() -> None:
    """A remedy that the grammar does not know would be printed untried."""
    proposed = re.compile(rf"declare ({'|'.join(OPTIONS)}): ([\w\[{{]+|'.')")
    for path in Path(readers.__file__).parent.rglob("*.py"):
        for found in proposed.finditer(path.read_text(encoding="utf-8")):
            text = re.sub(r"(?<={)\w+(?=})", "x", found[0])
            assert options_in(f"{text}: 0}}" if found[1] == "columns" else text), f"{path}: {found[0]}"


@pytest.mark.parametrize(
    ("task", "name", "text", "message"),
    [
        ("beat", "a.txt", "0:01.5\n0:02.0\n", "time is not a number: '0:01.5'; write times in seconds, such as 1.5"),
        ("chord", "a.txt", "1:00:02 1:00:04 C\n", "start is not a number: '1:00:02'; .* such as 3602"),
        ("melody", "a.csv", "time,f0\n0.0,\n0.01,220\n", "needs time, frequency: '0.0'; write 0 for frames without"),
        ("lyrics", "a.txt", "WEBVTT\n\n00:01.000 --> 00:02.000\nhello\n", "is subtitles .WebVTT.*convert it to .srt"),
    ],
)
def test_forms_that_no_option_reads_are_named(task: str, name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(AnnotationError, match=message):
        mirflow.load(tmp_path / name, task)


def test_a_name_with_an_open_quote_is_a_name() -> None:
    assert options_in("declare columns: {label: 'x, start: 0}")["columns"]["label"] == "'x"
