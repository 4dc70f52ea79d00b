"""Scores: sheet music from the text of MV2H, MIDI and MusicXML, chords and keys from MusicXML and kern."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from pathlib import Path

import mido
import numpy as np
import pytest

import mirflow
from mirflow import evaluate
from mirflow.annotations.annotation import Annotation
from mirflow.errors import AnnotationError, InvalidAnnotationError, UnreadableError
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


NOTE = "<note><pitch><step>C</step><octave>4</octave></pitch><duration>8</duration></note>"
MAJOR = "<key><fifths>0</fifths><mode>major</mode></key>"
TEMPO = '<direction><sound tempo="120"/></direction>'


def harmony(kind: str, root: str = "C", alter: int = 0, bass: str = "", degrees: str = "") -> str:
    below = f"<bass><bass-step>{bass}</bass-step></bass>" if bass else ""
    name = f"<root><root-step>{root}</root-step><root-alter>{alter}</root-alter></root>"
    return f"<harmony>{name}<kind>{kind}</kind>{below}{degrees}</harmony>"


def degree(value: int, alter: int, how: str) -> str:
    parts = {"value": value, "alter": alter, "type": how}
    return f"<degree>{''.join(f'<degree-{key}>{one}</degree-{key}>' for key, one in parts.items())}</degree>"


def score(*measures: str, tempo: str = TEMPO, key: str = MAJOR, extra: str = "") -> str:
    """A part with a whole note in each measure."""
    time = "<time><beats>4</beats><beat-type>4</beat-type></time>"
    first = f"<attributes><divisions>2</divisions>{key}{time}{extra}</attributes>{tempo}"
    body = "".join(
        f'<measure number="{number}">{first if number == 1 else ""}{one}{NOTE}</measure>'
        for number, one in enumerate(measures, 1)
    )
    part = '<part-list><score-part id="P1"><part-name>Lead</part-name></score-part></part-list>'
    return f'<?xml version="1.0"?><score-partwise version="4.0">{part}<part id="P1">{body}</part></score-partwise>'


def load(tmp_path: Path, text: str, task: str, suffix: str = "musicxml", **options: object) -> object:
    path = tmp_path / f"a.{suffix}"
    path.write_text(text)
    return mirflow.load(path, task=task, **options)


def rows(found: object) -> list[tuple[float, float, str]]:
    columns = (found[name].values.tolist() for name in ("start", "end", "label"))  # type: ignore[index]
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize(
    ("symbol", "label"),
    [
        (harmony("major"), "C"),
        (harmony("minor-seventh", "B", -1), "Bb:min7"),
        (harmony("dominant", "F", 1, bass="A"), "F#:7/b3"),
        (harmony("half-diminished"), "C:hdim7"),
        (harmony("augmented-seventh"), "C:aug7"),
        (harmony("major-ninth"), "C:maj9"),
        (harmony("major-11th"), "C:(3,5,7,9,11)"),
        (harmony("power"), "C:5"),
        (harmony("pedal"), "C:1"),
        (harmony("none"), "N"),
        (harmony("dominant", degrees=degree(9, -1, "add")), "C:(3,5,b7,b9)"),
        (harmony("dominant", degrees=degree(5, 1, "alter")), "C:aug7"),
        (harmony("diminished", degrees=degree(5, 1, "alter")), "C:min"),
        (harmony("major", degrees=degree(5, 0, "subtract")), "C:(3)"),
        # What is added is counted from a dominant chord, in which the seventh is minor.
        (harmony("suspended-fourth", degrees=degree(7, 0, "add")), "C:(4,5,b7)"),
        (harmony("minor", degrees=degree(7, 1, "add")), "C:minmaj7"),
    ],
)
def test_harmonies_of_musicxml(tmp_path: Path, symbol: str, label: str) -> None:
    assert rows(load(tmp_path, score(symbol), "chord")) == [(0.0, 2.0, label)]


def test_chords_last_until_the_next_one_and_tempo_marks_give_seconds(tmp_path: Path) -> None:
    slower = '<direction><sound tempo="60"/></direction>'
    text = score(harmony("major"), "", slower + harmony("minor", "A"), harmony("none"))
    expected = [(0.0, 4.0, "C"), (4.0, 8.0, "A:min"), (8.0, 12.0, "N")]
    assert rows(load(tmp_path, text, "chord")) == expected
    in_quarters = rows(load(tmp_path, text, "chord", score_tempo=60))
    assert [start for start, _, _ in in_quarters] == [0.0, 8.0, 12.0]


def test_keys_of_a_score(tmp_path: Path) -> None:
    change = "<attributes><key><fifths>-3</fifths><mode>minor</mode></key></attributes>"
    text = score("", change, "")
    assert rows(load(tmp_path, text, "local_key")) == [(0.0, 2.0, "C major"), (2.0, 6.0, "C minor")]
    assert load(tmp_path, score(""), "key").label.values.tolist() == ["C major"]  # type: ignore[attr-defined]


def test_compressed_scores(tmp_path: Path) -> None:
    path = tmp_path / "a.mxl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("META-INF/container.xml", "<container/>")
        archive.writestr("score.xml", score(harmony("major")))
    assert rows(mirflow.load(path, task="chord")) == [(0.0, 2.0, "C")]


def test_of_several_scores_in_a_compressed_file_the_one_that_it_names_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.mxl"
    named = '<container><rootfiles><rootfile full-path="whole &amp; all.xml" media-type="x"/></rootfiles></container>'
    for container in (named, "<container/>"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("META-INF/container.xml", container)
            archive.writestr("part.musicxml", score(harmony("minor")))
            archive.writestr("whole & all.xml", score(harmony("major")))
        if container == named:
            assert rows(mirflow.load(path, task="chord")) == [(0.0, 2.0, "C")]
    with pytest.raises(UnreadableError, match=r"a\.mxl: does not hold exactly one score, and does not declare"):
        mirflow.load(path, task="chord")


@pytest.mark.parametrize("encoding", ["utf-16", "UTF-16", "iso-8859-1", "utf-8"])
def test_a_score_may_say_its_encoding(tmp_path: Path, encoding: str) -> None:
    head = f"<?xml version='1.0' encoding='{encoding}'?><!-- Dvořák -->".replace(
        "ř", "ř" if "u" in encoding.lower() else "r"
    )
    path = tmp_path / "a.xml"
    path.write_bytes(score(harmony("major")).replace('<?xml version="1.0"?>', head).encode(encoding))
    assert rows(mirflow.load(path, task="chord")) == [(0.0, 2.0, "C")]


def test_utf8_is_read_whatever_a_score_says_and_a_declared_encoding_holds(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    for said in ("utf-16", "iso-8859-1"):  # what is UTF-8 is read as that
        path.write_text(score(harmony("major")).replace("?>", f" encoding='{said}'?>", 1))
        assert rows(mirflow.load(path, task="chord")) == [(0.0, 2.0, "C")]
    path.write_bytes(score().replace("?>", " encoding='punycode'?><!-- Dvořák -->", 1).encode("iso-8859-2"))
    with pytest.raises(UnreadableError, match=r"cannot be decoded: byte 0xf8 on line 1 is not utf-8; declare its enc"):
        mirflow.load(path, task="key")
    path.with_suffix(".krn").write_bytes(f"!!!COM: Dvo\xe9\n{KERN}".encode("latin-1"))
    assert len(mirflow.load(path.with_suffix(".krn"), task="chord", encoding="latin-1").label)


KERN = "\n".join(
    [
        "**kern\t**kern\t**harm",
        "*M4/4\t*M4/4\t*",
        "*k[]\t*k[]\t*",
        "*C:\t*C:\t*C:",
        "*MM120\t*MM120\t*",
        "=1\t=1\t=1",
        "2c\t4e\tI",
        ".\t4f\tV7",
        "*\t*^\t*",
        "2F\t2a\t2cc\tIVb",
        "*\t*v\t*v\t*",
        "=2\t=2\t=2",
        "*k[f#]\t*k[f#]\t*",
        "*G:\t*G:\t*G:",
        "2g\t2b\tI",
        "2d\t2d\tV7c/V",
        "==\t==\t==",
        "*-\t*-\t*-",
    ]
)


def test_kern_with_harmonies(tmp_path: Path) -> None:
    chords = [(0.0, 0.5, "C"), (0.5, 1.0, "G:7"), (1.0, 2.0, "F/3"), (2.0, 3.0, "G"), (3.0, 4.0, "A:7/5")]
    assert rows(load(tmp_path, KERN, "chord", "krn")) == chords
    assert rows(load(tmp_path, KERN, "local_key", "krn")) == [(0.0, 2.0, "C major"), (2.0, 4.0, "G major")]


@pytest.mark.parametrize("task", ["chord", "key", "audio_to_score"])
def test_a_line_of_kern_that_is_in_no_spine_is_refused(tmp_path: Path, task: str) -> None:
    """music21 reads it, and moves all that follows."""
    lines = ["**kern\t**harm", "*C:\t*C:", "=1\t=1", "1c\tI", "1g\tV", "*-\t*-"]
    text = "\n".join([*lines[:4], "by hand", *lines[4:]])
    with pytest.raises(InvalidAnnotationError, match=r"a\.krn:5: has 1 column, but there are 2 spines: 'by hand'"):
        load(tmp_path, text, task, "krn")


@pytest.mark.parametrize("token", ["V9", "N", "IV6", "iio7", "bVII", "viio7", "V7/V7", "?"])
def test_harmonies_that_the_library_would_read_as_others_are_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=r"a\.krn:8: unsupported harmony"):
        load(tmp_path, KERN.replace("V7\n", f"{token}\n", 1), "chord", "krn")
    assert len(rows(load(tmp_path, KERN.replace("V7\n", f"{token}\n", 1), "local_key", "krn"))) == 2


@pytest.mark.parametrize(
    ("numeral", "key", "label"),
    [
        ("viio", "C", "B:dim"),
        ("ii7b", "C", "D:min7/b3"),
        ("viio7", "c", "B:dim7"),
        ("-II", "C", "Db"),
        ("VI", "c", "Ab"),
        ("iv7", "c", "F:min7"),
        ("V/ii", "C", "A"),
        ("Ic", "C", "C/5"),
    ],
)
def test_numerals_in_their_keys(tmp_path: Path, numeral: str, key: str, label: str) -> None:
    text = f"**kern\t**harm\n*M4/4\t*\n*k[]\t*\n*{key}:\t*{key}:\n*MM60\t*\n=1\t=1\n1c\t{numeral}\n==\t==\n*-\t*-\n"
    assert rows(load(tmp_path, text, "chord", "krn")) == [(0.0, 4.0, label)]


TRANSPOSED = "<transpose><diatonic>-1</diatonic><chromatic>-2</chromatic></transpose>"


@pytest.mark.parametrize(
    ("text", "task", "message"),
    [
        (score(harmony("other")), "chord", r"unsupported chord kind 'other' \(.*\), in measure 1"),
        (score(harmony("Neapolitan")), "chord", "unsupported chord kind 'Neapolitan'"),
        (score(harmony("major", degrees=degree(7, -1, "add"))), "chord", "a seventh altered by -1, .* measure 1"),
        (score(""), "chord", "the score has no harmonies"),
        (score(harmony("major"), tempo=""), "chord", "declare score_tempo: 60 for times in quarter notes"),
        (score("", key="<key><fifths>0</fifths></key>"), "key", "the key signature has no mode, so the key is unknown"),
        (score(harmony("major"), extra=TRANSPOSED), "chord", "is written for a transposing instrument"),
        (score(harmony("major") + harmony("minor")), "chord", "two chords at the same time in measure 1: C and C:min"),
        (score(""), "beat", "scores can be read as chords or keys, not as beat"),
    ],
)
def test_what_leaves_a_chord_or_key_open_is_refused(tmp_path: Path, text: str, task: str, message: str) -> None:
    with pytest.raises(InvalidAnnotationError, match=message):
        load(tmp_path, text, task)


@pytest.mark.parametrize(
    ("text", "suffix", "message"),
    [
        ("no xml", "musicxml", "a.musicxml:1: is not a MusicXML score"),
        ("<score-partwise/>", "musicxml", "holds no score|is not musicxml that"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "musicxml", "declares XML entities"),
        ("no kern", "krn", "holds no score|cannot read it as kern"),
        ("PK\x03\x04", "mxl", "is not valid compressed MusicXML"),
    ],
)
def test_what_is_no_score_is_unreadable(tmp_path: Path, text: str, suffix: str, message: str) -> None:
    with pytest.raises(UnreadableError, match=message):
        load(tmp_path, text, "chord", suffix)


def test_a_tempo_that_cannot_be_is_refused() -> None:
    with pytest.raises(AnnotationError, match="invalid score_tempo 0"):
        mirflow.load("a.krn", task="chord", score_tempo=0)
