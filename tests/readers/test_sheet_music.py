"""Sheet music from the text of MV2H, MIDI and MusicXML."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import mido
import numpy as np
import pytest

from mirflow import evaluate
from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, InvalidAnnotationError
from mirflow.readers.options import Reading
from mirflow.readers.sources import parse_file

READING = Reading.of("audio_to_score")
PART = """<?xml version="1.0" encoding="UTF-8"?>
<score-partwise version="3.1"><part-list><score-part id="P1"><part-name>x</part-name></score-part></part-list>
<part id="P1"><measure number="0" implicit="yes"><attributes><divisions>2</divisions>
<key><fifths>-2</fifths><mode>minor</mode></key><time><beats>3</beats><beat-type>4</beat-type></time></attributes>
<note><pitch><step>D</step><octave>5</octave></pitch><duration>2</duration><voice>1</voice></note></measure>
<measure number="1"><harmony><root><root-step>B</root-step><root-alter>-1</root-alter></root>
<kind>minor-seventh</kind><bass><bass-step>A</bass-step><bass-alter>-1</bass-alter></bass></harmony>
<note><pitch><step>G</step><octave>4</octave></pitch><duration>4</duration><voice>1</voice></note>
<note><chord/><pitch><step>B</step><octave>4</octave></pitch><duration>4</duration><voice>1</voice></note>
<note><pitch><step>A</step><octave>4</octave></pitch><duration>2</duration><tie type="start"/><voice>1</voice></note>
<backup><duration>6</duration></backup>
<note><pitch><step>C</step><octave>3</octave></pitch><duration>6</duration><voice>2</voice></note></measure>
<measure number="2"><note><pitch><step>A</step><octave>4</octave></pitch><duration>6</duration><tie type="stop"/>
<voice>1</voice></note></measure></part></score-partwise>
"""


def parse(text: str, format: str = "txt") -> Annotation:
    return parse_file(text.encode(), READING, format, f"a.{format}")


def notes_of(one: Annotation) -> list[tuple[float, float, float, float]]:
    names = ("notated_start", "notated_end", "pitch", "voice")
    rows = zip(one.labels or (), *(one.columns[name].tolist() for name in names), strict=True)
    return [row[1:] for row in rows if row[0] == "note"]


def others_of(one: Annotation, *kinds: str) -> list[tuple[float, str]]:
    rows = zip(one.columns["time"].tolist(), one.labels or (), strict=True)
    return [(time, label) for time, label in rows if label.split()[0] in kinds]


def midi(signature: tuple[int, int] = (6, 8), key: str = "Bbm") -> bytes:
    file = mido.MidiFile(ticks_per_beat=480)
    for channel, pitch in ((0, 60), (1, 48)):
        track = mido.MidiTrack()
        if not channel:
            track.append(mido.MetaMessage("time_signature", numerator=signature[0], denominator=signature[1]))
            track.append(mido.MetaMessage("key_signature", key=key))
        track.append(mido.Message("note_on", note=pitch, channel=channel))
        track.append(mido.Message("note_off", note=pitch, channel=channel, time=1440))
        file.tracks.append(track)
    held = io.BytesIO()
    file.save(file=held)
    return held.getvalue()


class TestText:
    def test_lines_in_any_order_and_case_with_their_numbers(self) -> None:
        found = parse(
            "# a comment\nKey 7 MAJ 500\nnote 60 12 0 500 3\n\nHierarchy 3,2 4 a=2\nChord 0 G sus\nTatum -20\n"
        )
        assert found.labels == ["key 7 major", "note", "meter 3 2 4 2", "chord G sus", "tatum"]
        assert found.columns["time"].tolist() == [0.5, 0.012, 0.0, 0.0, -0.02]
        assert notes_of(found) == [(0.0, 0.5, 60.0, 3.0)]
        assert np.isnan(found.columns["pitch"][[0, 2, 3, 4]]).all()
        assert list(found.lines or ()) == [2, 3, 5, 6, 7]

    @pytest.mark.parametrize(
        "line", ["Note 60 0 0 500", "Tatum", "Hierarchy 3 2 4", "Key H Maj", "Key 7 dorian", "0 1 C"]
    )
    def test_other_lines_are_refused_with_their_number(self, line: str) -> None:
        with pytest.raises(InvalidAnnotationError, match=r"a.txt:2: expected a note, a tatum, .* or a chord"):
            parse(f"Tatum 0\n{line}\n")


class TestMidi:
    def test_channels_are_voices_and_signatures_give_meter_and_key(self) -> None:
        found = parse_file(midi(), READING, "midi", "a.mid")
        assert notes_of(found) == [(0.0, 1.5, 60.0, 0.0), (0.0, 1.5, 48.0, 1.0)]
        assert others_of(found, "meter", "key") == [(0.0, "meter 2 3 1 0"), (0.0, "key 10 minor")]
        assert [time for time, _ in others_of(found, "tatum")] == [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5]

    def test_without_signatures_it_is_in_four_four_and_has_no_key(self) -> None:
        file = mido.MidiFile(file=io.BytesIO(midi()))
        file.tracks[0] = mido.MidiTrack(message for message in file.tracks[0] if not message.is_meta)
        held = io.BytesIO()
        file.save(file=held)
        found = parse_file(held.getvalue(), READING, "midi", "a.mid")
        assert others_of(found, "meter", "key") == [(0.0, "meter 4 2 1 0")]

    def test_signatures_with_countless_sub_beats_are_refused(self) -> None:
        with pytest.raises(InvalidAnnotationError, match=r"a.mid: a time signature divides the music into more than"):
            parse_file(midi((4, 2**40)), READING, "midi", "a.mid")

    @pytest.mark.parametrize(("key", "label"), [("C", "key 0 major"), ("F#m", "key 6 minor"), ("Cb", "key 11 major")])
    def test_keys(self, key: str, label: str) -> None:
        assert others_of(parse_file(midi(key=key), READING, "midi", "a.mid"), "key") == [(0.0, label)]


class TestMusicxml:
    def test_ties_chords_voices_pickup_key_and_chord_symbols(self) -> None:
        found = parse(PART, "musicxml")
        expected = [(0, 0.5, 74, 0), (0.5, 1.5, 67, 1), (0.5, 1.5, 71, 1), (1.5, 3.5, 69, 1), (0.5, 2.0, 48, 2)]
        assert {row[:3] for row in notes_of(found)} == {row[:3] for row in expected}
        assert others_of(found, "meter") == [(0.0, "meter 3 2 1 2"), (0.5, "meter 3 2 1 0")]
        assert others_of(found, "key", "chord") == [(0.0, "key 7 minor"), (0.5, "chord Bbm7/Ab")]
        assert Counter(found.labels)["tatum"] == 2 + 6 + 6 + 1

    def test_a_score_against_itself_has_all_bars_and_beats(self, tmp_path: Path) -> None:
        (tmp_path / "a.musicxml").write_text(PART)
        pair = [str(tmp_path / "a.musicxml")] * 2
        found = evaluate(*pair, "audio_to_score", convention="mv2h_unaligned")
        assert {name: float(found["score"].sel(metric=name).item()) for name in ("multipitch", "meter", "harmony")} == {
            "multipitch": 1.0,
            "meter": 1.0,
            "harmony": 1.0,
        }

    @pytest.mark.parametrize("text", ["", "no xml", "<score/>", PART[:900]])
    def test_what_music21_does_not_read_is_refused(self, text: str) -> None:
        with pytest.raises(
            AnnotationError, match=r"a.musicxml:.* (is not a MusicXML score|cannot read it as musicxml|holds no score)"
        ):
            parse(text, "musicxml")
