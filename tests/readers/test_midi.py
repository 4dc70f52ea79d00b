"""MIDI files: notes, what the sustain pedal does to them, and what is written."""

from __future__ import annotations

import contextlib
import json
import struct
import warnings
from io import BytesIO
from pathlib import Path

import numpy as np
import pretty_midi
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mido import Message, MetaMessage, MidiFile, MidiTrack

import mirflow
from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, InvalidAnnotationError, MirflowWarning, UnreadableError
from mirflow.readers import Reading, read
from mirflow.readers.formats import FORMATS
from mirflow.readers.midi import extend_ends, parse_midi
from mirflow.readers.objects import to_annotation
from mirflow.theory.pitch import hz_to_midi
from tests.commands import invoke, printed, problems, refused

NOTES = Reading.of(task="transcription")


def saved(*tracks: list[Message | MetaMessage], kind: int = 1, division: int = 100) -> bytes:
    """The bytes of a MIDI file."""
    file = MidiFile(type=kind, ticks_per_beat=division)
    file.tracks.extend(MidiTrack(track) for track in tracks)
    held = BytesIO()
    file.save(file=held)
    return held.getvalue()


def on(pitch: int, wait: int = 0, velocity: int = 64, channel: int = 0) -> Message:
    return Message("note_on", note=pitch, velocity=velocity, time=wait, channel=channel)


def off(pitch: int, wait: int, channel: int = 0) -> Message:
    return Message("note_off", note=pitch, time=wait, channel=channel)


def tempo(seconds_a_beat: float, wait: int = 0) -> MetaMessage:
    return MetaMessage("set_tempo", tempo=round(seconds_a_beat * 1e6), time=wait)


def remarks(notes: Annotation) -> list[str]:
    return [one.message for one in notes.account]


def spans(notes: Annotation) -> list[tuple[float, float]]:
    return list(zip(notes.columns["start"].tolist(), notes.columns["end"].tolist(), strict=True))


def test_notes_have_times_pitches_velocities_and_instruments() -> None:
    track = [Message("program_change", program=40), on(69, velocity=100), off(69, 100), on(57, 100, 1), on(57, 50, 0)]
    notes = parse_midi(saved(track), NOTES)
    assert spans(notes) == [(0.0, 0.5), (1.0, 1.25)]
    assert notes.columns["pitch"].tolist() == [440.0, 220.0]
    assert notes.columns["velocity"].tolist() == [100.0, 1.0]
    assert notes.labels == ["Violin", "Violin"]
    assert notes.columns["program"].tolist() == [40.0, 40.0]
    assert notes.columns["drum"].tolist() == [0.0, 0.0]
    assert notes.line(0) is None


def test_notes_keep_the_program_at_their_onset_and_percussion_is_marked() -> None:
    change = Message("program_change", program=33), Message("program_change", program=8, channel=9)
    track = [on(60), change[0], change[1], on(36, channel=9), off(60, 100), on(62), off(62, 100), off(36, 0, channel=9)]
    notes = parse_midi(saved(track), Reading.of("transcription", drums=True))
    assert notes.columns["program"].tolist() == [8.0, 0.0, 33.0]
    assert notes.columns["drum"].tolist() == [1.0, 0.0, 0.0]
    assert notes.labels == ["Drums", "Acoustic Grand Piano", "Electric Bass (finger)"]


def test_labels_may_be_families_of_instruments() -> None:
    track = [Message("program_change", program=41), on(69), off(69, 100), on(36, 0, channel=9), off(36, 1, channel=9)]
    notes = parse_midi(saved(track), Reading.of("transcription", drums=True, instrument="family"))
    assert notes.labels == ["Strings", "Drums"]


def test_tempi_are_honoured_whatever_track_they_stand_in() -> None:
    melody = [on(60), off(60, 100), on(62), off(62, 200), on(64), off(64, 100)]
    conductor = [tempo(1.0), tempo(0.25, 200)]
    expected = [(0.0, 1.0), (1.0, 2.25), (2.25, 2.5)]
    assert spans(parse_midi(saved(conductor, melody), NOTES)) == expected
    assert spans(parse_midi(saved(melody, conductor), NOTES)) == expected


def test_ticks_may_be_frames_of_film() -> None:
    data = bytearray(saved([on(60, 500), off(60, 1000)]))
    data[12:14] = struct.pack(">bB", -25, 40)
    assert spans(parse_midi(bytes(data), NOTES)) == [(0.5, 1.5)]


def test_drums_are_left_out_unless_they_are_wanted() -> None:
    data = saved([on(60), on(38, channel=9), off(38, 10, channel=9), off(60, 10)])
    assert parse_midi(data, NOTES).labels == ["Acoustic Grand Piano"]
    assert parse_midi(data, Reading.of(task="transcription", drums=True)).labels == ["Drums", "Acoustic Grand Piano"]


def test_notes_can_be_labelled_by_their_track() -> None:
    data = saved([MetaMessage("track_name", name="Cello I "), on(60), off(60, 10)], [on(70), off(70, 10)])
    tracks = Reading.of(task="transcription", instrument="track")
    assert parse_midi(data, tracks).labels == ["Cello I", "Acoustic Grand Piano"]


def test_overlapping_notes_of_a_pitch_end_together() -> None:
    assert spans(parse_midi(saved([on(60), on(60, 100), off(60, 100), off(60, 100)]), NOTES)) == [(0, 1), (0.5, 1)]


def test_a_note_that_starts_where_another_ends_goes_on() -> None:
    assert spans(parse_midi(saved([on(60), on(60, 100), off(60, 0), off(60, 100)]), NOTES)) == [(0, 0.5), (0.5, 1)]


def test_a_note_without_an_end_is_left_out_and_reported() -> None:
    notes = parse_midi(saved([on(60, 50), on(62, 100), off(62, 100)]), NOTES)
    assert spans(notes) == [(0.75, 1.25)]
    assert remarks(notes) == ["1 note without an end, left out; the first starts at 0.25 s"]


@pytest.mark.parametrize("control", [120, 123, 124, 125, 126, 127])
def test_all_notes_of_a_channel_end_where_it_is_silenced(control: int) -> None:
    silence = Message("control_change", control=control, time=100)
    track = [on(60), on(62), on(60, 0, 50, 1), silence, off(60, 100, 1), off(60, 0)]
    expected = [(0, 0.5), (0, 1.0), (0, 0.5)]
    for pedal in ("ignore", "extend"):
        notes = parse_midi(saved(track), Reading.of("transcription", pedal=pedal))
        assert (sorted(spans(notes)), notes.account) == (sorted(expected), ())


def test_all_sound_off_ends_notes_under_the_pedal_too() -> None:
    pedal, ends = Message("control_change", control=64, value=127), {}
    for control in (120, 123):
        silence = Message("control_change", control=control, time=100)
        track = [pedal, on(60), off(60, 50), silence, on(62, 100), off(62, 100)]
        ends[control] = parse_midi(saved(track), Reading.of("transcription", pedal="extend")).columns["end"].tolist()
    assert ends == {120: [0.75, 1.75], 123: [1.75, 1.75]}


def test_a_note_may_end_in_another_track_of_its_channel() -> None:
    for kind in ("note_off", "control_change"):
        end = off(60, 100) if kind == "note_off" else Message("control_change", control=123, time=100)
        notes = parse_midi(saved([on(60), on(64), off(64, 300)], [end]), NOTES)
        assert (sorted(spans(notes)), notes.account) == ([(0, 0.5), (0, 1.5)], ())
    strange = parse_midi(saved([on(60), on(64), off(64, 300)], [off(60, 100, channel=1)]), NOTES)
    assert [one.rule for one in strange.account] == ["unended"]


def test_tracks_of_one_channel_do_not_end_each_others_notes() -> None:
    notes = parse_midi(saved([on(60), off(60, 400)], [on(60, 100), off(60, 100)]), NOTES)
    assert spans(notes) == [(0, 2.0), (0.5, 1.0)]


def test_a_tempo_of_nothing_is_invalid() -> None:
    data = saved([on(60), off(60, 100), tempo(0.0)])
    with pytest.raises(InvalidAnnotationError, match=r"a\.mid: invalid tempo of 0 microseconds a beat at tick 100"):
        parse_midi(data, NOTES, name="a.mid")


def test_running_status_ends_with_a_system_exclusive_event() -> None:
    data = saved([on(60), Message("sysex", data=[1, 2]), on(62, 100), off(60, 10), off(62, 10)])
    assert len(parse_midi(data, NOTES)) == 2
    status = data.index(b"\x90", data.index(b"\xf0"))
    length = struct.unpack(">L", data[18:22])[0] - 1
    running = data[:18] + struct.pack(">L", length) + data[22:status] + data[status + 1 :]
    with pytest.raises(UnreadableError, match=rf"running status after a system-exclusive message \(byte {status}\)"):
        parse_midi(running, NOTES)


def chunk(name: bytes, size: int) -> bytes:
    return name + struct.pack(">L", size) + bytes(size)


def test_unknown_chunks_are_skipped_and_reported() -> None:
    data = saved([on(60), off(60, 100)], [on(62), off(62, 100)])
    second = data.rindex(b"MTrk")
    for place in (14, second, len(data)):
        notes = parse_midi(data[:place] + chunk(b"XFIH", 5) + data[place:], NOTES)
        assert spans(notes) == [(0, 0.5), (0, 0.5)]
        assert remarks(notes) == ["1 chunk of an unknown type skipped: 'XFIH'"]
    assert remarks(parse_midi(data + b"\0\0\0", NOTES)) == ["3 bytes after the last track not read"]
    fewer = data[:11] + b"\1" + data[12:]
    notes = parse_midi(fewer, NOTES)
    assert (len(notes), remarks(notes)) == (1, ["1 track beyond the 1 of the header not read"])
    with pytest.raises(UnreadableError, match="truncated"):
        parse_midi(data[:11] + b"\3" + data[12:], NOTES)


@pytest.mark.parametrize(
    ("wheel", "sensitivity", "told"),
    [
        (4096, None, ["2 notes that start bent by up to +1 semitones; bends are not applied"]),
        (-2048, None, ["2 notes that start bent by up to -0.5 semitones; bends are not applied"]),
        (1000, None, []),
        (1000, 12, ["2 notes that start bent by up to +1.46 semitones; bends are not applied"]),
    ],
)
def test_notes_that_start_bent_are_reported(wheel: int, sensitivity: int | None, told: list[str]) -> None:
    values = {} if sensitivity is None else {101: 0, 100: 0, 6: sensitivity}
    track = [Message("control_change", control=control, value=value) for control, value in values.items()]
    bend = Message("pitchwheel", pitch=wheel)
    notes = parse_midi(
        saved([*track, bend, on(60), on(62, 10), off(60, 10), off(62, 0), on(60, 0, 50, 1), off(60, 9, 1)]), NOTES
    )
    assert (len(notes), remarks(notes)) == (3, told)
    assert notes.columns["pitch"][0] == pytest.approx(261.6255653)


def test_notes_that_a_task_does_not_read_are_reported() -> None:
    data = saved([on(60), on(36, channel=9), off(36, 10, channel=9), on(38, channel=9), off(60, 10)])
    struck = saved([on(36, channel=9), off(36, 10, channel=9), on(38, channel=9), off(38, 10, channel=9)])
    for task in ("transcription", "multipitch"):
        left = "2 notes of percussion (channel 10) left out; drums: true (--drums) reads them"
        assert remarks(parse_midi(struck, Reading.of(task, kind="notes"))) == [left]
        assert remarks(parse_midi(data, Reading.of(task, kind="notes"))) == []  # declared by the format
    assert remarks(parse_midi(data, Reading.of("transcription", drums=True)))[0].startswith("1 note without an end")
    assert parse_midi(data, Reading.of("drums")).account == ()
    hits = parse_midi(saved([on(60), off(60, 10), on(62, 0, 50, 2), off(62, 10, 2)]), Reading.of("drums"))
    assert remarks(hits) == ["2 notes of other channels than percussion not read (channels 1, 3)"]


def test_a_pedal_that_stays_down_is_reported() -> None:
    pedal = Message("control_change", control=67, value=127, time=100)
    pedals = parse_midi(saved([on(60), pedal, off(60, 100)]), Reading.of("pedal"))
    assert spans(pedals) == [(0.5, 1.0)]
    assert remarks(pedals) == ["the soft pedal that is down from 0.5 s on is not released: it ends with the file"]


CHANGES = [
    *(Message("control_change", control=control, value=127) for control in range(128)),
    *(Message(kind, note=60) for kind in ("note_on", "note_off", "polytouch")),
    *(Message("program_change", program=7), Message("aftertouch", value=9), Message("sysex", data=[1, 2])),
    *(Message("pitchwheel", pitch=pitch) for pitch in (8191, 1)),
    *(MetaMessage(kind) for kind in ("text", "lyrics", "marker", "copyright", "key_signature", "time_signature")),
    MetaMessage("set_tempo", tempo=250_000),
]
"""A message of each type, and of each controller."""


def test_each_message_is_taken_reported_or_declared() -> None:
    plain = [on(60, 10), on(62, 0, 60, 3), off(60, 100), on(60, 10), off(60, 100), off(62, 0, 3)]
    visible = set()
    for place in (0, 2):
        before, after = plain[:place], plain[place:]
        whole = parse_midi(saved([*before, MetaMessage("text", time=20), *after]), NOTES)
        for change in CHANGES:
            found = parse_midi(saved([*before, change.copy(time=20), *after]), NOTES)
            same = (spans(found), found.labels, found.attrs) == (spans(whole), whole.labels, whole.attrs)
            if not same or found.account:
                visible.add((change.type, getattr(change, "control", 0) or getattr(change, "pitch", 0)))
    controls = {("control_change", number) for number in (64, 120, *range(123, 128))}
    others = {(kind, 0) for kind in ("note_on", "note_off", "program_change", "set_tempo")}
    assert visible == {*controls, *others, ("pitchwheel", 8191)}
    assert "controllers other than pedals" in FORMATS["midi"].silent["events"]


def test_a_note_may_have_no_length() -> None:
    assert spans(parse_midi(saved([on(60, 100), off(60, 0)]), NOTES)) == [(0.5, 0.5)]


def test_the_pedal_changes_nothing() -> None:
    pedal = Message("control_change", control=64, value=127)
    assert spans(parse_midi(saved([pedal, on(60), off(60, 100), on(62), off(62, 100)]), NOTES)) == [(0, 0.5), (0.5, 1)]


def test_a_file_without_notes_is_an_empty_annotation(tmp_path: Path) -> None:
    for name in ("a.mid", "a.midi", "A.MID"):
        path = tmp_path / name
        path.write_bytes(saved([tempo(0.5)]))
        notes = read(path, task="transcription")
        assert (len(notes), sorted(notes.columns)) == (0, ["drum", "end", "pitch", "program", "start", "velocity"])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty, not a MIDI file"),
        (b"0 1 440\n", "is not a MIDI file"),
        (b"RIFF1234", "is not a MIDI file"),
        (saved([on(60), off(60, 10)])[:-9], "is truncated"),
        (saved([on(60), off(60, 10)])[:10], "is not a"),
        (saved([on(60)], division=1).replace(b"\0\1MTrk", b"\0\0MTrk"), "no ticks per beat"),
        (saved([on(60)]).replace(b"\x90\x3c\x40", b"\x90\xbc\x40"), "is not a MIDI file"),
        (saved([MetaMessage("key_signature", key="C")]).replace(b"Y\2\0\0", b"Y\2\0\7"), "Could not decode key"),
    ],
)
def test_what_is_no_midi_file_is_unreadable(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.mid"
    path.write_bytes(data)
    with pytest.raises(UnreadableError, match=rf"a\.mid: .*{message}"):
        read(path, task="transcription")


@given(data=st.data())
def test_damaged_files_never_end_in_another_error(data: st.DataObject) -> None:
    whole = bytearray(
        saved([MetaMessage("key_signature"), tempo(0.3), on(60), Message("sysex", data=[1, 2]), off(60, 1000)])
    )
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(UnreadableError, InvalidAnnotationError):
        parse_midi(bytes(whole[: data.draw(st.integers(0, len(whole)))]), NOTES)


def test_several_pieces_in_a_file_are_refused() -> None:
    with pytest.raises(InvalidAnnotationError, match="holds 2 pieces"):
        parse_midi(saved([on(60)], [on(60)], kind=2), NOTES)


def test_a_midi_file_holds_nothing_but_notes() -> None:
    with pytest.raises(InvalidAnnotationError, match="hold notes, not events"):
        parse_midi(saved([on(60)]), Reading.of(task="beat"))


_events = st.lists(
    st.tuples(st.sampled_from(["on", "off", "tempo"]), st.integers(58, 61), st.integers(0, 200), st.integers(0, 1)),
    max_size=25,
)


@settings(max_examples=40)
@given(first=_events, second=_events)
def test_notes_of_tracks_are_those_of_pretty_midi(
    first: list[tuple[str, int, int, int]], second: list[tuple[str, int, int, int]]
) -> None:
    # Each track has its channels: a track may end the notes of another one of its channel, which pretty_midi drops.
    tracks = [
        [
            on(pitch, wait, 50, channel + 2 * number) if kind == "on" else off(pitch, wait, channel + 2 * number)
            for kind, pitch, wait, channel in events
            if kind != "tempo"
        ]
        for number, events in enumerate((first, second))
    ]
    theirs = pretty_midi.PrettyMIDI(BytesIO(saved(*tracks)))
    expected = sorted((n.start, n.end) for one in theirs.instruments for n in one.notes)
    found = sorted(span for span in spans(parse_midi(saved(*tracks), NOTES)) if span[1] > span[0])
    assert len(found) == len(expected)
    np.testing.assert_allclose(np.ravel(found), np.ravel(expected), rtol=0, atol=1e-12)


@given(events=_events)
def test_notes_are_those_of_pretty_midi(events: list[tuple[str, int, int, int]]) -> None:
    track: list[Message | MetaMessage] = []
    for kind, pitch, wait, channel in events:
        if kind == "tempo":
            track.append(tempo(pitch / 100, wait))
        else:
            track.append(on(pitch, wait, 50, channel) if kind == "on" else off(pitch, wait, channel))
    data = saved(track)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = pretty_midi.PrettyMIDI(BytesIO(data))
    expected = sorted((n.start, n.end, n.pitch) for one in theirs.instruments for n in one.notes)
    ours = parse_midi(data, NOTES).columns
    found = sorted(zip(ours["start"].tolist(), ours["end"].tolist(), ours["pitch"].tolist(), strict=True))
    found = [note for note in found if note[1] > note[0]]  # those without length pretty_midi leaves out too
    assert len(found) == len(expected)
    np.testing.assert_allclose([note[:2] for note in found], [note[:2] for note in expected], rtol=0, atol=1e-12)
    hertz = [pretty_midi.note_number_to_hz(note[2]) for note in expected]
    np.testing.assert_allclose([note[2] for note in found], hertz, rtol=1e-14)


def test_the_names_of_programs_are_those_of_general_midi() -> None:
    data = saved(*([Message("program_change", program=n), on(60), off(60, 9)] for n in (0, 19, 40, 73, 127)))
    labels = parse_midi(data, NOTES).labels
    assert labels == [pretty_midi.program_to_instrument_name(n) for n in (0, 19, 40, 73, 127)]


def test_a_file_of_millions_of_messages_is_refused() -> None:
    with pytest.raises(UnreadableError, match=r"big\.mid: too large: 17 MB is over the limit of 4 MB"):
        parse_midi(b"MThd" + bytes(17 * 2**20), NOTES, name="big.mid")


@pytest.mark.parametrize("seed", range(5))
def test_notes_that_are_written_are_read_back(tmp_path, seed):
    rng = np.random.default_rng(seed)
    start = np.sort(rng.uniform(0, 300, 40))
    pitch = 440 * 2 ** ((rng.permutation(np.arange(40, 80)) - 69) / 12)  # each once, so that none cuts another
    columns = {"start": start, "end": start + rng.uniform(0.01, 2, 40), "pitch": pitch}
    columns |= {"velocity": rng.integers(1, 128, 40), "program": rng.integers(0, 5, 40), "drum": rng.random(40) < 0.2}
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
    mirflow.to_midi(Annotation("notes", columns), tmp_path / "a.mid")
    found = mirflow.load(tmp_path / "a.mid", "transcription", drums=True)
    for name in ("start", "end"):
        np.testing.assert_allclose(found[name].values, columns[name], rtol=0, atol=1.01e-5)
    np.testing.assert_allclose(found.pitch.values, columns["pitch"], rtol=1e-12)
    assert found.velocity.values.tolist() == columns["velocity"].tolist()
    assert found.drum.values.tolist() == columns["drum"].tolist()
    tuned = columns["drum"] == 0
    assert found.program.values[tuned].tolist() == columns["program"][tuned].tolist()


def test_hits_that_are_written_are_read_back(tmp_path):
    hits = Annotation("hits", {"time": np.array([0.5, 0.5, 1.25])}, ["36", "42", "38"])
    mirflow.to_midi(hits, tmp_path / "a.mid")
    found = mirflow.load(tmp_path / "a.mid", "drums")
    assert (found.time.values.tolist(), found.label.values.tolist()) == ([0.5, 0.5, 1.25], ["36", "42", "38"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"pitch": [60.0, 20000.0]}, "note 2: pitch 135 cannot be written: MIDI needs pitch from 0 to 127"),
        ({"velocity": [0.0, 1.0]}, "note 1: velocity 0 cannot be written"),
        ({"start": [-1.0, 1.0]}, "note 1: start -1 cannot be written"),
        ({"end": [1.0, np.inf]}, "note 2: end inf cannot be written"),
    ],
)
def test_notes_that_midi_does_not_have_are_refused(tmp_path, changed, message):
    columns = {"start": [0.0, 1.0], "end": [1.0, 2.0], "pitch": [220.0, 440.0], **changed}
    notes = Annotation("notes", {name: np.array(values) for name, values in columns.items()})
    with pytest.raises(AnnotationError, match=message):
        mirflow.to_midi(notes, tmp_path / "a.mid")


def test_only_notes_are_written_on_no_more_channels_than_there_are(tmp_path):
    span = np.arange(16.0)
    columns = {"start": span, "end": span + 1, "pitch": np.full(16, 440.0), "program": span}
    with pytest.raises(AnnotationError, match="16 programs: a MIDI file has 15 channels"):
        mirflow.to_midi(Annotation("notes", columns), tmp_path / "a.mid")
    with pytest.raises(AnnotationError, match="MIDI files hold notes, not events; use to_jams, to_lab or to_csv"):
        mirflow.to_midi(Annotation("events", {"time": span}), tmp_path / "a.mid")
    with pytest.raises(AnnotationError, match="cannot write the hit 'kick': labels must be General MIDI numbers"):
        mirflow.to_midi(Annotation("hits", {"time": span[:1]}, ["kick"]), tmp_path / "a.mid")


def test_a_file_without_tracks_has_no_notes() -> None:
    data = b"MThd\x00\x00\x00\x06\x00\x01\x00\x00\x01\xe0"
    for pedal in ("ignore", "extend"):
        assert len(parse_midi(data, Reading.of("transcription", pedal=pedal)).columns["pitch"]) == 0


def test_files_and_objects_of_pretty_midi_report_the_same() -> None:
    bend = Message("pitchwheel", pitch=4096)
    track = [on(64), off(64, 10), bend, on(60), on(36, channel=9), off(36, 10, channel=9), off(60, 10)]
    data = saved(track)
    for task in ("transcription", "drums"):
        file = parse_midi(data, Reading.of(task))
        held = to_annotation(pretty_midi.PrettyMIDI(BytesIO(data)), task)
        expected = {"transcription": ["bends"], "drums": []}[task]
        assert sorted((one.rule, one.count) for one in held.account) == sorted(
            (one.rule, one.count) for one in file.account
        )
        assert sorted(one.rule for one in file.account) == expected


EXTENDED = Reading.of(task="transcription", pedal="extend")
Row = tuple[float, float, float, float]


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
