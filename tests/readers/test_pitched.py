"""Notes, pitch over time and several pitches over time from text."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import mir_eval
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.annotations.rolls import frames_of
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnknownNameError
from mirflow.readers import Reading, read
from mirflow.readers.delimited import parse_delimited, to_lab
from mirflow.readers.midi import parse_midi
from mirflow.readers.single_layout import parse_multipitch
from mirflow.readers.sources import parse_file
from mirflow.theory.pitch import to_hertz
from tests.commands import printed
from tests.readers.test_midi import off, on, saved


def write(folder: Path, text: str, suffix: str = "txt") -> Path:
    path = folder / f"a.{suffix}"
    path.write_bytes(text.encode())
    return path


def columns(annotation: Annotation) -> dict[str, list[float]]:
    return {name: column.tolist() for name, column in annotation.columns.items()}


MELODY = {"time": [0.0, 0.5, 1.0], "frequency": [440.0, -220.0, 0.0]}
NOTES = {"start": [0.5, 0.25], "end": [1.0, 2.0], "pitch": [440.0, 220.0]}


@pytest.mark.parametrize(
    ("text", "suffix", "asked"),
    [
        ("0 440\n0.5 -220\n1 0\n", "txt", {}),
        ("0.0     440\t \r\n0.5\t-220\r\n1 0\r\n", "txt", {}),
        ("0,440\n0.5, -220\n1,0\n", "csv", {}),
        ("0\t440\n0.5\t-220\n1\t0\n", "tsv", {}),
        ("0,440\n0.5,-220\n1,0\n", "txt", {}),
        ("0;440\n0.5;-220\n1;0\n", "lab", {}),
        ("\n# time f0\n\n0 440\n0.5 -220\n1 0\n", "txt", {}),
        ("0 440\n\n0.5 -220\n# half\n1 0\n", "txt", {}),
        ("time,frequency,confidence\n0,440,.9\n0.5,-220,.5\n1,0,.1\n", "csv", {}),
        ("f0 (Hz),time (s)\n440,0\n-220,.5\n0,1\n", "csv", {}),
        ("0 440 x\n0.5 -220 y y\n1 0\n", "txt", {"columns": {"time": 0, "frequency": 1}}),
        ("x 440 0\nx -220 0.5\nx 0 1\n", "txt", {"columns": {"time": 2, "frequency": 1}}),
        ("0 440\n500 -220\n1000 0\n", "txt", {"time_unit": "ms"}),
        ("0 440\n50 -220\n100 0\n", "txt", {"time_unit": "frames@0.01"}),
        ("0 440\n8000 -220\n16000 0\n", "txt", {"time_unit": "samples@16000"}),
        ("440\n-220\n0\n", "txt", {"columns": {"frequency": 0}, "time_unit": "frames@0.5"}),
        ("0 69\n0.5 -57\n1 0\n", "txt", {"pitch_unit": "MIDI"}),
    ],
)
def test_a_melody_is_read_as_it_is_written(tmp_path: Path, text: str, suffix: str, asked: dict[str, Any]) -> None:
    assert columns(read(write(tmp_path, text, suffix), task="melody", **asked)) == MELODY


def test_a_degree_of_voicing_is_a_third_column_that_is_declared_or_named(tmp_path: Path) -> None:
    asked = {"columns": {"time": 0, "frequency": 1, "voicing": 2}}
    expected = {"time": [0.0, 1.0], "frequency": [440.0, 220.0], "voicing": [0.75, 0.25]}
    assert columns(read(write(tmp_path, "0 440 .75\n1 220 .25\n"), task="melody", **asked)) == expected
    named = write(tmp_path, "time,frequency,voicing\n0,440,.75\n1,220,.25\n", "csv")
    assert columns(read(named, task="melody")) == expected


@pytest.mark.parametrize(
    ("text", "suffix", "asked"),
    [
        ("0.5 1 440\n.25 2 220\n", "txt", {}),
        ("0.5\t1\t440\r\n.25\t2\t220\r\n", "txt", {}),
        ("0.5,1,440\n.25,2,220\n", "txt", {}),
        ("0.5,1,440,99\n.25,2,220,98\n", "csv", {}),
        ("onset,offset,pitch\n0.5,1,440\n.25,2,220\n", "csv", {}),
        ("pitch,onset,duration\n440,.5,.5\n220,.25,1.75\n", "csv", {}),
        ("0.5 .5 440\n.25 1.75 220\n", "txt", {"columns": {"start": 0, "duration": 1, "pitch": 2}}),
        ("0.5 1 69\n.25 2 57\n", "txt", {"pitch_unit": "MIDI"}),
    ],
)
def test_notes_are_read_as_they_are_written(tmp_path: Path, text: str, suffix: str, asked: dict[str, Any]) -> None:
    notes = read(write(tmp_path, text, suffix), task="transcription", **asked)
    assert (columns(notes), notes.labels) == (NOTES, None)


def test_velocities_and_instruments_of_notes_are_declared_or_named(tmp_path: Path) -> None:
    expected = {**NOTES, "velocity": [64.0, 80.0]}
    asked = {"columns": {"start": 0, "end": 1, "pitch": 2, "velocity": 3}}
    text = write(tmp_path, "0.5 1 440 64\n.25 2 220 80\n")
    assert columns(read(text, task="transcription", **asked)) == expected
    named = "onset,offset,pitch,velocity,instrument\n.5,1,440,64,Violin\n.25,2,220,80,Church Organ\n"
    notes = read(write(tmp_path, named, "csv"), task="transcription")
    assert (columns(notes), notes.labels) == (expected, ["Violin", "Church Organ"])


@pytest.mark.parametrize(("yes", "no"), [("1", "0"), ("True", "False"), ("true", "false")])
def test_programs_and_percussion_are_columns_of_a_header(tmp_path: Path, yes: str, no: str) -> None:
    text = f"start,end,pitch,velocity,program,is_drum\n0.5,1,440,64,40,{no}\n.25,2,220,80,0,{yes}\n"
    notes = read(write(tmp_path, text, "csv"), task="transcription")
    assert columns(notes) == {**NOTES, "velocity": [64.0, 80.0], "program": [40.0, 0.0], "drum": [0.0, 1.0]}
    again = tmp_path / "again.tsv"
    to_lab(notes, again)
    assert columns(read(again, task="transcription")) == columns(notes)


def test_a_program_that_is_a_text_is_an_error_with_its_line(tmp_path: Path) -> None:
    text = "start,end,pitch,program,drum\n0,1,440,40,0\n1,2,220,Violin,0\n"
    with pytest.raises(InvalidAnnotationError, match=r"a\.csv:3: program is not a number: 'Violin'"):
        read(write(tmp_path, text, "csv"), task="transcription")


@pytest.mark.parametrize(
    ("text", "asked", "message"),
    [
        ("0 440\n0.1 abc\n", {"task": "melody"}, "a.txt:2: frequency is not a number: 'abc'"),
        ("# x\n0 440\n\n0.1\n", {"task": "melody"}, "a.txt:4: has 1 column, needs time, frequency: '0.1'"),
        ("0 1 440\n0 1\n", {"task": "transcription"}, "a.txt:2: has 2 columns, needs start, end, pitch"),
        ("0 1 440\n0 1 La4\n", {"task": "transcription"}, "a.txt:2: pitch is not a number: 'La4'"),
        ("0 440\nx 440\n", {"task": "multipitch"}, "a.txt:2: time is not a number: 'x'"),
        ("0 440\n\n1 440 ? 220\n", {"task": "multipitch"}, r"a.txt:3: frequency is not a number: '\?'"),
        ("440\n", {"task": "melody", "columns": {"frequency": 0}}, "no column holds 'time'; declare it"),
        ("1 1\n", {"task": "melody", "columns": {"time": 0, "label": 1}}, "series have no column 'label'"),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_line(
    tmp_path: Path, text: str, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidAnnotationError, match=message):
        read(write(tmp_path, text), **asked)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"task": "chord", "pitch_unit": "MIDI"}, "intervals have no pitch"),
        ({"task": "melody", "pitch_unit": "midi"}, "invalid pitch_unit 'midi': expected Hz or MIDI"),
        ({"task": "melody", "time_unit": "frames@0"}, "invalid time_unit 'frames@0'"),
        ({"task": "multipitch", "columns": {"time": 0}}, "have a fixed layout"),
        ({"task": "melody", "drums": True}, "notes of MIDI files"),
        ({"task": "transcription", "instrument": "name"}, "unknown instrument 'name'"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path: Path, asked: dict[str, Any], message: str) -> None:
    with pytest.raises((AnnotationError, UnknownNameError), match=message):
        read(write(tmp_path, "0 1\n"), **asked)


@pytest.mark.parametrize("task", ["melody", "transcription", "multipitch"])
@pytest.mark.parametrize("text", ["", "\n \n", "# nothing\n", "time,frequency\n"])
def test_a_file_without_rows_is_an_empty_annotation(tmp_path: Path, task: str, text: str) -> None:
    if task == "transcription":
        text = text.replace("time,frequency", "start,end,pitch")
    empty = read(write(tmp_path, text, "csv"), task=task)
    assert len(empty) == 0
    assert set(empty.columns) == set(empty.schema.required)
    assert all(len(column) == 0 for column in empty.columns.values())


def test_lines_are_known_where_rows_are_not_lines(tmp_path: Path) -> None:
    melody = read(write(tmp_path, "# one\ntime,frequency\n0,1\n0.5,2\n", "csv"), task="melody")
    assert [melody.line(item) for item in range(2)] == [3, 4]
    frames = read(write(tmp_path, "# one\n0 1 2\n\n0.5\n1 3\n"), task="multipitch")
    assert [frames.line(item) for item in range(3)] == [2, 4, 5]


def test_frames_of_multipitch_may_be_silent_and_ragged(tmp_path: Path) -> None:
    for text, suffix in (("0\t220\t440\r\n0.1\t\r\n0.2\t330\r\n", "txt"), ("0,220,440\n0.1,,\n0.2,330\n", "csv")):
        frames = read(write(tmp_path, text, suffix), task="multipitch")
        assert columns(frames) == {"time": [0.0, 0.1, 0.2], "frequency": [220.0, 440.0, 330.0]}
        assert frames.inner_counts[0].tolist() == [2, 0, 1]


def test_a_header_of_multipitch_is_left_out(tmp_path: Path) -> None:
    assert len(read(write(tmp_path, "time f0\n0 220 440\n"), task="multipitch")) == 1
    assert len(read(write(tmp_path, "a b\n0 220 440\n"), task="multipitch", header=True)) == 1


_numbers = st.floats(allow_nan=False, allow_infinity=False).map(repr)


@given(rows=st.lists(st.lists(_numbers, min_size=1, max_size=5).map("\t".join), min_size=1))
def test_multipitch_is_what_mir_eval_loads(rows: list[str]) -> None:
    text = "\n".join(rows)
    times, values = mir_eval.io.load_ragged_time_series(StringIO(text))
    ours = parse_multipitch(text.encode(), Reading.of("multipitch"))
    assert ours.columns["time"].tolist() == times.tolist()
    assert ours.inner_counts[0].tolist() == list(map(len, values))
    assert ours.columns["frequency"].tolist() == [value for row in values for value in row]


# Of a single row, which may look like two tempi and a strength, more is asked.
@given(rows=st.lists(st.tuples(_numbers, _numbers, _numbers), min_size=2))
def test_tables_are_what_mir_eval_loads(rows: list[tuple[str, str, str]]) -> None:
    text = "\n".join(map("\t ".join, rows))
    starts, ends, pitches = mir_eval.io.load_delimited(StringIO(text), [float] * 3)
    assert columns(parse_delimited(text.encode(), Reading.of("transcription"), "txt")) == {
        "start": starts,
        "end": ends,
        "pitch": pitches,
    }


def test_real_files_are_what_mir_eval_loads(shared_data: Path) -> None:
    for path in sorted((shared_data / "adc2004-melody").rglob("*.txt")):
        times, values = mir_eval.io.load_time_series(str(path))
        assert columns(read(path, task="melody")) == {"time": times.tolist(), "frequency": values.tolist()}
    for path in sorted((shared_data / "mir_eval-fixtures" / "multipitch").glob("*.txt")):
        times, rows = mir_eval.io.load_ragged_time_series(str(path))
        frames = read(path, task="multipitch")
        assert frames.columns["time"].tolist() == times.tolist()
        assert frames.columns["frequency"].tolist() == np.concatenate(rows).tolist()
    notes = shared_data / "mirex2015-su-transcription"
    fixtures = shared_data / "mir_eval-fixtures" / "transcription"
    for path in (*sorted(notes.rglob("*.txt")), *sorted(fixtures.glob("*.txt"))):
        delimiter = "," if "gt_textfrommidi" in path.parts else r"\s+"
        intervals, values = mir_eval.io.load_valued_intervals(str(path), delimiter)
        ours = read(path, task="transcription").columns
        assert np.column_stack([ours["start"], ours["end"]]).tolist() == intervals.tolist()
        assert ours["pitch"].tolist() == values.tolist()


def test_numbers_that_are_no_midi_pitch_become_infinite() -> None:
    assert to_hertz(np.array([1e300]), "notes", "MIDI").tolist() == [np.inf]


spans = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9), st.sampled_from([220.0, 440.0])), max_size=6)


@given(spans)
def test_frames_are_those_of_a_walk_over_all_of_them(notes: list[tuple[int, int, float]]) -> None:
    start, length, pitch = np.array(notes, dtype=np.float64).reshape(-1, 3).T
    found = frames_of(Annotation("notes", {"start": start / 10, "end": (start + length) / 10, "pitch": pitch}), 0.1)
    last = max((one + more for one, more, _ in notes), default=-1)
    wanted = [sorted({hertz for one, more, hertz in notes if one <= frame < one + more}) for frame in range(last + 1)]
    assert found.inner_counts[0].tolist() == [len(frame) for frame in wanted]
    assert found.columns["frequency"].tolist() == [hertz for frame in wanted for hertz in frame]


def test_midi_files_are_frames_of_10_ms_or_another_hop() -> None:
    data = saved([on(69), off(69, 100)])
    assert len(parse_file(data, Reading.of("multipitch"), "midi")) == 51
    frames = parse_file(data, Reading.of("multipitch", hop=0.125), "midi")
    assert (frames.columns["time"].tolist(), frames.inner_counts[0].tolist()) == (
        [0, 0.125, 0.25, 0.375, 0.5],
        [1] * 4 + [0],
    )
    assert len(parse_midi(data, Reading.of("transcription"))) == 1


def test_text_with_notes_is_read_where_a_hop_is_given(tmp_path: Path) -> None:
    (tmp_path / "ref.csv").write_text("start,end,pitch\n0,1,69\n0,2,57\n")
    (tmp_path / "est.txt").write_text("0.0 220 440\n0.5 220 440\n1.0 220\n1.5 220\n2.0\n")
    frames = read(tmp_path / "ref.csv", task="multipitch", hop=0.5, pitch_unit="MIDI")
    assert frames.inner_counts[0].tolist() == [2, 2, 1, 1, 0]
    words = "evaluate", tmp_path / "ref.csv", tmp_path / "est.txt", "--task", "multipitch", "-m", "f_measure"
    assert "1.0000" in printed(*words, "--reference-hop", "0.5", "--reference-pitch-unit", "MIDI")
    options = {"reference_hop": 0.5, "reference_pitch_unit": "MIDI"}
    found = mirflow.evaluate(tmp_path / "ref.csv", tmp_path / "est.txt", "multipitch", metrics=["accuracy"], **options)
    assert found.score.item() == 1.0


def test_bad_input(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("start,end,pitch\n0,1,440\n2,1,440\n")
    with pytest.raises(InvalidAnnotationError, match=r"a\.csv:3: cannot convert a note from 2 to 1 s to frames"):
        read(tmp_path / "a.csv", task="multipitch", hop=0.1)
    (tmp_path / "a.csv").write_text("start,end,pitch\n0,1e8,440\n")
    with pytest.raises(InvalidAnnotationError, match=r"a\.csv: more than 8388608 frames .* use a larger hop"):
        read(tmp_path / "a.csv", task="multipitch", hop=0.1)
    with pytest.raises(AnnotationError, match=r"invalid hop 0: expected seconds from 0\.001 to 10"):
        Reading.of("multipitch", hop=0)
    with pytest.raises(AnnotationError, match="hop applies to frames of multiple pitches, not to events"):
        Reading.of("beat", hop=0.1)
