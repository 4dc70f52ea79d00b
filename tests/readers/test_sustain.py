"""The sustain pedal of MIDI files: what it does to notes, and who reads it."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import numpy as np
import pretty_midi
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mido import Message, MidiFile, MidiTrack

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.errors import MirflowWarning
from mirflow.readers import Reading, read
from mirflow.readers.midi import extend_ends, parse_midi
from mirflow.theory.pitch import hz_to_midi
from tests.commands import invoke, printed, problems, refused

EXTENDED = Reading.of(task="transcription", pedal="extend")
Row = tuple[float, float, float, float]


def saved(*tracks: list[Message]) -> bytes:
    """The bytes of a MIDI file with 200 ticks a second."""
    file = MidiFile(type=1, ticks_per_beat=100)
    file.tracks.extend(MidiTrack(track) for track in tracks)
    held = BytesIO()
    file.save(file=held)
    return held.getvalue()


def played(*events: tuple[int, str, int, int], channel: int = 0) -> list[Message]:
    """The messages of a track: tick, ``on``, ``off`` or ``pedal``, pitch, and value."""
    found, before = [], 0
    for tick, what, pitch, value in events:
        wait, before = tick - before, tick
        if what == "pedal":
            found.append(Message("control_change", control=64, value=value, time=wait, channel=channel))
        else:
            kind = f"note_{what}"
            found.append(Message(kind, note=pitch, velocity=value, time=wait, channel=channel))
    return found


UNDER_PEDAL = played((0, "on", 60, 80), (50, "pedal", 0, 127), (100, "off", 60, 0), (400, "pedal", 0, 0))


def spans(notes: Annotation) -> list[tuple[float, float]]:
    return list(zip(notes.columns["start"].tolist(), notes.columns["end"].tolist(), strict=True))


def rows(notes: Annotation) -> list[Row]:
    pitch = np.rint(hz_to_midi(notes.columns["pitch"]))
    columns = (notes.columns["start"], notes.columns["end"], pitch, notes.columns["velocity"])
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize(("pedal", "column"), [("extend", "mirex_text_rule ["), ("ignore", "raw(pretty_midi")])
def test_files_are_read_by_the_text_of_mirex_2024_or_as_by_pretty_midi(
    pedal: str, column: str, shared_data: Path
) -> None:
    folder = shared_data / "oracles/03_pedal"
    if not folder.is_dir():
        pytest.skip(f"no files with pedals in {folder}")
    for name, known in json.loads((folder / "expected.json").read_text()).items():
        found = rows(read(folder / f"inputs/{name}.mid", task="transcription", pedal=pedal, drums=True))
        (expected,) = (value for key, value in known.items() if key.startswith(column))
        assert len(found) == len(expected), name
        wanted = np.array(sorted(tuple(row[:4]) for row in expected)).reshape(-1, 4)
        np.testing.assert_allclose(np.array(found).reshape(-1, 4), wanted, rtol=0, atol=1e-9, err_msg=name)


def test_a_note_that_ends_under_the_pedal_sounds_until_it_goes_up() -> None:
    assert spans(parse_midi(saved(UNDER_PEDAL), EXTENDED)) == [(0.0, 2.0)]


def test_it_ends_where_its_pitch_starts_again() -> None:
    again = [*UNDER_PEDAL[:3], *played((100, "on", 60, 80), (150, "off", 60, 0))]
    assert spans(parse_midi(saved(again), EXTENDED)) == [(0.0, 1.0), (1.0, 1.25)]


def test_a_pedal_is_that_of_its_channel_in_all_tracks() -> None:
    notes = played((0, "on", 60, 80), (100, "off", 60, 0))
    for channel, end in ((0, 2.0), (1, 0.5)):
        pedal = played((50, "pedal", 0, 127), (400, "pedal", 0, 0), channel=channel)
        assert spans(parse_midi(saved(notes, pedal), EXTENDED)) == [(0.0, end)]


def test_without_the_option_the_file_says_that_its_pedal_was_ignored() -> None:
    notes = parse_midi(saved(UNDER_PEDAL), Reading.of(task="transcription"))
    assert (notes.columns["end"].tolist(), [one.rule for one in notes.account]) == ([0.5], ["pedal"])
    notes = parse_midi(saved(UNDER_PEDAL), EXTENDED)
    assert (notes.columns["end"].tolist(), notes.attrs["pedal"], notes.account) == ([2.0], "extended", ())
    assert "pedal" not in parse_midi(saved(UNDER_PEDAL[:1]), EXTENDED).attrs


def test_a_pedal_that_only_the_reference_has_is_warned_of_where_it_is_ignored(tmp_path: Path) -> None:
    for name, events in (("keys", UNDER_PEDAL), ("sounds", [UNDER_PEDAL[0], UNDER_PEDAL[2]])):
        (tmp_path / f"{name}.mid").write_bytes(saved(events))
    keys, sounds = tmp_path / "keys.mid", tmp_path / "sounds.mid"
    options = ("--task", "transcription", "-m", "f_measure")
    said = "the reference's sustain pedal is ignored, and the estimate has none"
    assert said in invoke("evaluate", keys, sounds, *options, code=0).stderr
    for quiet in ((keys, keys), (sounds, keys), (keys, sounds, "--pedal", "extend")):
        assert invoke("evaluate", *quiet, *options, code=0).stderr.count(said) == 0


def plainly(notes: list[tuple[int, int, int]], presses: list[tuple[int, int]], last: int) -> list[int]:
    """Ends under the pedal by the text of MIREX 2024, tick by tick."""
    found = []
    for start, end, pitch in notes:
        state = [value for tick, value in sorted(presses, key=lambda press: press[0]) if tick <= end][-1:]
        down, tick = bool(state) and state[0] >= 64, end
        while down and tick < last:
            if any(other == tick and tick > start and own == pitch for other, _, own in notes):
                break
            released = [value < 64 for at, value in presses if at == tick + 1]
            tick += 1
            down = not any(released)
        found.append(tick)
    return found


ticks = st.integers(0, 12)
melodies = st.lists(st.tuples(ticks, st.integers(0, 4), st.integers(60, 61)), max_size=6)
pedals = st.lists(st.tuples(st.integers(0, 20), st.sampled_from([0, 63, 64, 127])), max_size=6)


@given(melodies, pedals)
def test_ends_are_those_of_a_walk_over_all_ticks(
    melody: list[tuple[int, int, int]], pedal: list[tuple[int, int]]
) -> None:
    notes = [(start, start + length, pitch) for start, length, pitch in melody]
    table = np.array(notes, dtype=np.int64).reshape(-1, 3)
    presses = [(float(tick), 0, value) for tick, value in pedal]
    none = np.zeros(len(notes), dtype=np.int64)
    found = extend_ends(table[:, 0].astype(float), table[:, 1].astype(float), table[:, 2], none, presses, 25.0)
    assert found.tolist() == plainly(notes, pedal, 25)


class TestDoors:
    """A convention says how files are read where the options do not."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        (tmp_path / "ref").mkdir()
        (tmp_path / "est" / "mine").mkdir(parents=True)
        (tmp_path / "ref" / "a.mid").write_bytes(saved(UNDER_PEDAL))
        (tmp_path / "est" / "mine" / "a.csv").write_text("start,end,pitch\n0,2.0,261.6256\n")
        return tmp_path

    def test_evaluate(self, folder: Path) -> None:
        sides = folder / "ref/a.mid", folder / "est/mine/a.csv", "transcription"
        for convention, options in (("maestro", {}), ("mir_eval", {"pedal": "extend"})):
            found = mirflow.evaluate(*sides, metrics=["f_measure"], convention=convention, **options)
            assert found.score.item() == 1.0
        for convention, options in (("mir_eval", {}), ("maestro", {"reference_pedal": "ignore"})):
            with pytest.warns(MirflowWarning, match="the reference's sustain pedal is ignored"):
                found = mirflow.evaluate(*sides, metrics=["f_measure"], convention=convention, **options)
            assert found.score.item() == 0.0

    def test_score_of_paths_and_of_objects_of_pretty_midi(self, folder: Path) -> None:
        path = folder / "ref/a.mid"
        for thing in (path, pretty_midi.PrettyMIDI(str(path))):
            notes = {"a": thing}, {"a": folder / "est/mine/a.csv"}
            with pytest.warns(MirflowWarning, match="the reference's sustain pedal is ignored"):
                assert mirflow.score(*notes, "transcription", metrics=["f_measure"]).score.item() == 0.0
            found = mirflow.score(*notes, "transcription", metrics=["f_measure"], convention="maestro")
            assert found.score.item() == 1.0

    def test_the_command(self, folder: Path) -> None:
        words = "evaluate", folder / "ref", folder / "est/mine", "--task", "transcription", "-m", "f_measure"
        assert "1.0000" in printed(*words, "--pedal", "extend")
        assert "1.0000" in printed(*words, "--convention", "maestro")
        assert "0.0000" in printed(*words)
        assert "'hold'" in refused(*words, "--pedal", "hold")

    def test_a_store_tells_what_was_read(self, folder: Path) -> None:
        keys = "    reference: ref/{track}.mid\n    estimates: est/{system}/{track}.csv\n    metrics: [f_measure]\n"
        (folder / "p.yaml").write_text(
            f"evaluations:\n  - task: transcription\n    convention: maestro\n{keys}"
            f"  - task: transcription\n    name: plain\n{keys}store: x.zarr\n"
        )
        printed("run", folder / "p.yaml", "--store", folder / "x.zarr")
        tree = mirflow.open_store(folder / "x.zarr")
        assert [tree[name].score.item() for name in ("transcription", "plain")] == [1.0, 0.0]
        assert "reading" not in tree["plain"].attrs
        assert "pedal extend" in " ".join(printed("show", folder / "x.zarr").split())

    def test_check_notes_a_pedal_that_is_ignored(self, folder: Path) -> None:
        (note,) = problems(folder / "ref/a.mid")
        assert (note["severity"], note["rule"]) == ("note", "pedal")
        assert not problems(folder / "ref/a.mid", "--task", "transcription", "--convention", "maestro")

    def test_kinds_without_notes_have_no_pedal(self) -> None:
        with pytest.raises(mirflow.errors.AnnotationError, match="pedal applies to notes of MIDI files, not to events"):
            Reading.of("beat", pedal="extend")
