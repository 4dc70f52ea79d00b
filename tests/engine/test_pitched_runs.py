"""Melody, multipitch and transcription from files of every format, through pipelines, packs and the command line."""

from __future__ import annotations

import bz2
import json
from pathlib import Path

import numpy as np
import pytest
from mido import Message, MidiFile, MidiTrack

import mirflow
from mirflow.annotations.annotation import Annotation

from ..commands import invoke, problems
from ..groups import CODES, STATUSES

NOTES = [(0.0, 0.5, 60, 64), (0.5, 1.0, 64, 80), (0.5, 1.5, 67, 100)]
MELODY = [(i / 100, 440.0 if i % 7 else 0.0) for i in range(60)]
FRAMES = [(i / 100, [220.0, 330.0][: i % 3]) for i in range(60)]

pytestmark = pytest.mark.filterwarnings("ignore:Passing a schema to Validator:DeprecationWarning")


def midi(notes: list[tuple[float, float, int, int]]) -> MidiFile:
    """Notes at 1000 ticks a second."""
    changes = [(round(1000 * start), "note_on", pitch, velocity) for start, _, pitch, velocity in notes]
    changes += [(round(1000 * end), "note_off", pitch, 0) for _, end, pitch, _ in notes]
    track, now = MidiTrack(), 0
    for tick, kind, pitch, velocity in sorted(changes):
        track.append(Message(kind, note=pitch, velocity=velocity, time=tick - now))
        now = tick
    return MidiFile(tracks=[track], ticks_per_beat=500)


def write_notes(folder: Path, track: str) -> None:
    """The same notes as MIDI, as text in Hz and in MIDI numbers, and as JAMS."""
    for name in ("midi", "hertz", "numbers", "jams"):
        (folder / name).mkdir(exist_ok=True)
    midi(NOTES).save(folder / "midi" / f"{track}.mid")
    rows = [(start, end, 440 * 2 ** ((pitch - 69) / 12), pitch, velocity) for start, end, pitch, velocity in NOTES]
    text = "".join(f"{start}\t{end}\t{hertz!r}\t{velocity}\n" for start, end, hertz, _, velocity in rows)
    (folder / "hertz" / f"{track}.txt").write_text(text)
    table = "".join(f"{start},{end - start},{pitch}\n" for start, end, _, pitch, _ in rows)
    (folder / "numbers" / f"{track}.csv").write_text("onset,duration,pitch\n" + table)
    columns = {name: np.array([row[i] for row in rows]) for i, name in enumerate(("start", "end", "pitch"))}
    jam = mirflow.to_jams(Annotation("notes", columns), task="transcription")
    (folder / "jams" / f"{track}.jams").write_text(jam.dumps())


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    for track in ("a", "b"):
        write_notes(tmp_path, track)
    return tmp_path


@pytest.fixture
def melodies(tmp_path: Path) -> Path:
    for track in ("a", "b"):
        text = "".join(f"{time} {hertz}\r\n" for time, hertz in MELODY)
        (tmp_path / f"{track}.txt").write_text(text)
        points = "".join(f'<point frame="{round(time * 1000)}" value="{hertz}"/>' for time, hertz in MELODY)
        model = '<model id="1" sampleRate="1000" type="sparse" dimensions="2" dataset="0"/>'
        layer = f"<sv><data>{model}<dataset id='0'>{points}</dataset></data></sv>"
        (tmp_path / f"{track}.svl").write_text(layer)
        (tmp_path / f"{track}.sv").write_bytes(bz2.compress(layer.encode()))
        columns = {"time": np.array([t for t, _ in MELODY]), "frequency": np.array([f for _, f in MELODY])}
        (tmp_path / f"{track}.jams").write_text(mirflow.to_jams(Annotation("series", columns), task="melody").dumps())
    return tmp_path


def run(folder: Path, evaluation: dict[str, object]) -> object:
    """The scores of the one evaluation of a pipeline."""
    pipeline = folder / "pipeline.yaml"
    whole = {"name": "x", "evaluations": [evaluation], "store": str(folder / "s.zarr")}
    pipeline.write_text(json.dumps(whole))
    report = mirflow.run(pipeline, scheduler="serial")
    (group,) = mirflow.open_store(report.store).children.values()
    return group.to_dataset().load()


@pytest.mark.parametrize(
    "estimates",
    [
        {"path": "hertz/{track}.txt"},
        {"path": "hertz/{track}.txt", "columns": {"start": 0, "end": 1, "pitch": 2, "velocity": 3}},
        {"path": "numbers/{track}.csv", "pitch_unit": "MIDI"},
        {"path": "jams/{track}.jams"},
        {"path": "midi/{track}.mid", "drums": True, "instrument": "track"},
    ],
)
def test_notes_of_every_format_are_the_same(notes: Path, estimates: dict[str, object]) -> None:
    ds = run(notes, {"task": "transcription", "reference": "midi/{track}.mid", "estimates": estimates})
    assert (ds.status.values == CODES["ok"]).all()
    assert ds.score.values.tolist() == np.ones_like(ds.score.values).tolist()


@pytest.mark.parametrize("suffix", ["svl", "sv", "jams", "txt"])
def test_melodies_of_every_format_are_the_same(melodies: Path, suffix: str) -> None:
    ds = run(melodies, {"task": "melody", "reference": "{track}.txt", "estimates": f"{{track}}.{suffix}"})
    assert ds.score.sel(metric="overall_accuracy").values.tolist() == [[1.0, 1.0]]


def test_broken_and_empty_files_have_a_status_each(notes: Path) -> None:
    whole = (notes / "midi" / "a.mid").read_bytes()
    for name, content in {"cut": whole[:-9], "text": b"0 1 440\n"}.items():
        (notes / "midi" / f"{name}.mid").write_bytes(content)
    midi([]).save(notes / "midi" / "silent.mid")
    short = midi(NOTES)
    short.tracks[0][:0] = [Message("note_on", note=72, time=0), Message("note_off", note=72, time=0)]
    short.save(notes / "midi" / "short.mid")
    for name in ("cut", "text", "silent", "short"):
        (notes / "hertz" / f"{name}.txt").write_bytes((notes / "hertz" / "a.txt").read_bytes())
    ds = run(notes, {"task": "transcription", "reference": "hertz/{track}.txt", "estimates": "midi/{track}.mid"})
    found = {track: STATUSES[ds.status.sel(track=track).item()] for track in ds.track.values.tolist()}
    expected = {
        "a": "ok",
        "b": "ok",
        "cut": "unreadable",
        "text": "unreadable",
        "silent": "empty_estimate",
        "short": "ok",
    }
    assert found == expected
    assert ds.repairs.sel(track="short").item() == 1
    assert "midi/cut.mid: is not a complete MIDI file" in ds.message.sel(track="cut").item()


def test_multipitch_packs_and_runs(tmp_path: Path) -> None:
    for track in ("a", "b"):
        (tmp_path / f"{track}.txt").write_text("".join("\t".join(map(str, (t, *f))) + "\n" for t, f in FRAMES))
    packed = invoke("pack", tmp_path / "{track}.txt", tmp_path / "refs.zarr", "--task", "multipitch")
    assert packed.exit_code == 0, packed.output
    ds = run(tmp_path, {"task": "multipitch", "reference": "refs.zarr", "estimates": "{track}.txt"})
    assert ds.score.sel(metric="accuracy").values.tolist() == [[1.0, 1.0]]
    loaded = mirflow.load(tmp_path / "a.txt", task="multipitch")
    assert loaded.pitch_size.values.tolist() == [i % 3 for i in range(60)]


def test_files_are_evaluated_with_the_options_of_the_command_line(notes: Path) -> None:
    pair = (notes / "midi" / "a.mid", notes / "jams" / "a.jams")
    result = invoke("evaluate", *pair, "--task", "transcription", "-m", "f_measure", "--format", "json")
    assert (result.exit_code, json.loads(result.stdout)[0]["score"]) == (0, 1.0)
    numbers = notes / "numbers"
    asked = ("--task", "transcription", "-m", "f_measure", "--pitch-unit", "MIDI", "--format", "json")
    assert json.loads(invoke("evaluate", numbers, numbers, *asked).stdout)[0]["value"] == 1.0
    velocity = ("--task", "transcription", "-m", "velocity_f_measure", "--columns", "start=0,end=1,pitch=2,velocity=3")
    result = invoke("evaluate", notes / "hertz", notes / "midi", *velocity, "--format", "json")
    assert (result.exit_code, json.loads(result.stdout)[0]["value"]) == (0, 1.0), result.output


@pytest.mark.parametrize("columns", ["start", "start=", "=1", "start=0,,end=1"])
def test_columns_that_say_nothing_are_refused(notes: Path, columns: str) -> None:
    path = notes / "hertz" / "a.txt"
    result = invoke("evaluate", path, path, "--task", "transcription", "--columns", columns)
    assert result.exit_code == 2
    assert "expected name=column,..." in result.stderr


def test_levels_annotators_and_selections_of_the_command_line(tmp_path: Path) -> None:
    for side in ("ref", "est"):
        for level, rows in (("upper", "0 4 A\n"), ("lower", "0 2 a\n2 4 b\n")):
            (tmp_path / f"{side}_{level}.lab").write_text(rows)
    pair = (tmp_path / "ref_{level}.lab", tmp_path / "est_{level}.lab")
    result = invoke("evaluate", *pair, "--task", "hierarchy", "--levels", "upper, lower", "-m", "l_measure")
    assert result.exit_code == 0, result.output
    assert "1.0000" in result.stdout
    assert invoke("check", pair[0], "--task", "hierarchy", "--levels", "upper,lower").exit_code == 0
    beats = tmp_path / "beats.txt"
    beats.write_text("".join(f"{6 + 0.5 * i} {i % 4 + 1}\n" for i in range(20)))
    for select, count in (("all", 20), ("downbeat", 5)):
        packed = tmp_path / "beats_{track}.txt"
        (tmp_path / "beats_x.txt").write_bytes(beats.read_bytes())
        out = tmp_path / f"{select}.zarr"
        assert invoke("pack", packed, out, "--task", "beat", "--select", select).exit_code == 0
        assert len(mirflow.load_collection(out, "beat")["x"].time) == count
    wrong = invoke("evaluate", beats, beats, "--task", "beat", "--select", "downbeats")
    assert wrong.exit_code == 2
    assert "did you mean 'downbeat'" in wrong.stderr


def test_annotators_of_the_command_line(shared_data: Path) -> None:
    file = shared_data / "casd" / "12.jams"
    asked = ("--task", "chord", "-m", "majmin", "--format", "json")
    assert "choose an annotator" in invoke("evaluate", file, file, *asked).stderr
    same = invoke("evaluate", file, file, *asked, "--annotator", "A1")
    assert json.loads(same.stdout)[0]["score"] == 1.0
    others = invoke("evaluate", file, file, *asked, "--annotator", "A1", "--estimate-annotator", "A3")
    chords = [mirflow.load(file, task="chord", annotator=name) for name in ("A1", "A3")]
    assert json.loads(others.stdout)[0]["score"] == mirflow.evaluate(*chords, metrics=["majmin"]).score.item()
    checked = invoke("check", file, "--annotator", "A3", "--no-schema", "--format", "csv")
    assert {line.rpartition(",")[2] for line in checked.stdout.splitlines()[1:]} <= {"A3"}
    assert "has no annotator 'A9'; it has A1, A2" in invoke("check", file, "--annotator", "A9", "--no-schema").output


def test_check_names_the_lines_of_pitched_files(tmp_path: Path) -> None:
    def found(name: str, text: str, task: str) -> list[tuple[str, str, int | None]]:
        path = tmp_path / name
        path.write_text(text)
        return [(one["severity"], one["rule"], one["line"]) for one in problems(path, "--task", task)]

    assert found("a.txt", "0 440\n0.1 440\n", "melody") == []
    assert ("warning", "unsorted", 3) in found("a.txt", "# x\n0.1 440\n0 440\n", "melody")
    assert ("warning", "zero_length", 2) in found("a.txt", "0 1 440\n1 1 440\n1 2 440\n", "transcription")
    assert ("error", "reversed", 2) in found("a.txt", "0 1 440\n2 1 440\n", "transcription")
    assert ("error", "value", 2) in found("a.txt", "0 1 440\n1 2 -440\n", "transcription")
    assert found("a.txt", "0 440 220\n\n0.1\n0.2 330\n", "multipitch") == []
    assert any(
        rule == "not_finite" and line == 4 for _, rule, line in found("a.txt", "0 440\n\n0.1\nnan 3\n", "multipitch")
    )
    assert any(line == 3 for *_, line in found("a.txt", "0 440 220\n\n0.1 330 0.5\n", "multipitch"))


def test_check_takes_midi_files_for_transcriptions_and_finds_pitches_in_jams(notes: Path) -> None:
    checked = invoke("check", notes / "midi", notes / "jams", "--no-schema", code=0)
    assert checked.stderr == "4 files: 0 errors, 0 warnings, 0 notes\n"
    (notes / "midi" / "a.mid").write_bytes(b"no MIDI file")
    assert problems(notes / "midi" / "a.mid")[0]["message"].startswith("is not a MIDI file")
