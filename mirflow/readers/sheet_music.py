"""Sheet music in MusicXML and MIDI: notes in their voices, sub-beats, meters, keys and chord symbols."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat
from xml.sax.saxutils import unescape

import numpy as np

from ..annotations.account import Account
from ..annotations.annotation import Annotation
from ..errors import AnnotationError, InvalidAnnotationError, MirflowError, UnreadableError, counted
from ..ragged import Float
from ..theory.harte import PITCH_CLASSES
from .content import decode, is_hidden
from .formats import FORMATS
from .midi import Clock, decode_midi, pitched_notes
from .options import Reading
from .score_libraries import (
    ParsedScore,
    ScorePart,
    chosen_library,
    demand_library,
    parse_with_music21,
    parse_with_partitura,
)

if TYPE_CHECKING:
    from mido import MidiFile

QUARTER = 0.5
"""Seconds per quarter note; scores are read without their tempo."""
_CONTAINER, _LONGEST_CONTAINER = "META-INF/container.xml", 2**16
_ROOT_FILE = re.compile(r"""<rootfile\s[^<>]*?full-path\s*=\s*["']([^"']+)["']""")
_DECLARED = re.compile(
    rb"""<\?xml[^>]*?\sencoding\s*=\s*["']((?:iso-8859|windows|cp|us-ascii|koi8|shift|euc|gb|big5)[\w.-]*)["']""",
    re.IGNORECASE,
)
_MODES = ("major", "minor")
_HARMONY = re.compile(r"<harmony[\s>]")


@dataclass
class _Rows:
    """Collects rows of a notation; rows other than notes have NaN as numbers."""

    account: Account
    numbers: list[tuple[float, ...]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def note(self, start: float, end: float, pitch: float, voice: int) -> None:
        self.numbers.append((start, start, end, pitch, voice))
        self.labels.append("note")

    def other(self, time: float, label: str) -> None:
        self.numbers.append((time, *[float("nan")] * 4))
        self.labels.append(label)

    def annotation(self, reading: Reading, name: str | Path) -> Annotation:
        table = np.array(self.numbers, dtype=np.float64).reshape(-1, 5)
        names = ("time", "notated_start", "notated_end", "pitch", "voice")
        columns = {name: table[:, index].copy() for index, name in enumerate(names)}
        attrs = {"source": str(name)}
        return Annotation(reading.kind, columns, self.labels, lines=(), attrs=attrs, account=self.account.remarks)


def parse_midi_score(data: bytes, reading: Reading, format: str = "midi", name: str | Path = "<bytes>") -> Annotation:
    """Read the notation in the bytes of a quantised MIDI file.

    Each channel of each track is a voice. Sub-beats follow from the time signatures, by default 4/4, which begin bars;
    a pickup cannot be distinguished from a bar. Chords are not available.
    """
    from mido import MetaMessage

    account = Account(str(name), FORMATS["midi"].silent)
    file, rows = decode_midi(data, name, account), _Rows(account)
    clock = Clock.of(file, name)
    voices: dict[tuple[int, int], int] = {}
    last = 0
    for note in pitched_notes(file, reading, clock, account, in_order=True):
        start, end = clock.seconds(np.array([note.start, note.end])).tolist()
        rows.note(start, end, note.pitch, voices.setdefault((note.track, note.channel), len(voices)))
        last = max(last, note.end)
    signatures = {0: MetaMessage("time_signature")} | dict(_messages(file, "time_signature"))
    for (tick, signature), end in zip(signatures.items(), [*list(signatures)[1:], last], strict=False):
        quarter = file.ticks_per_beat
        beats, sub_beats, length = _divide(signature.numerator, signature.denominator)
        rows.other(float(clock.seconds(np.array([tick]))[0]), f"meter {beats} {sub_beats} 1 0")
        ticks = _tatums(tick, end + (end == last), length * quarter, name)
        for time in clock.seconds(np.rint(ticks).astype(np.int64)).tolist():
            rows.other(time, "tatum")
    for tick, message in _messages(file, "key_signature"):
        tonic = PITCH_CLASSES[message.key[0]] + message.key.count("#") - message.key.count("b")
        rows.other(float(clock.seconds(np.array([tick]))[0]), f"key {tonic % 12} {_MODES[message.key.endswith('m')]}")
    return rows.annotation(reading, name)


def _messages(file: MidiFile, kind: str) -> list[tuple[int, Any]]:
    """Messages of a kind with their ticks, in the order of time."""
    found = []
    for track in file.tracks:
        tick = 0
        for message in track:
            tick += message.time
            if message.type == kind:
                found.append((tick, message))
    return sorted(found, key=lambda one: one[0])


def _divide(numerator: int, denominator: int) -> tuple[int, int, float]:
    """Beats per bar, sub-beats per beat, and quarter notes per sub-beat; beats of compound meters have three."""
    if numerator > 3 and numerator % 3 == 0:
        return numerator // 3, 3, 4 / denominator
    return numerator, 2, 2 / denominator


def parse_notation(data: bytes, reading: Reading, format: str = "musicxml", name: str | Path = "<bytes>") -> Annotation:
    """Read the notation in the bytes of a MusicXML or kern file, with half a second per quarter note.

    Voices are those of each part. Repeats are not expanded, and grace notes are omitted.
    """
    rows, voices = _Rows(Account(str(name), FORMATS[format].silent)), dict[tuple[int, str], int]()
    if format == "kern":
        demand_spines(decode(data, name, reading.delimited.encoding), name)
    with reading_score(reading, format, name):
        parts = load_score(data, reading, format, name).parts
        for number, part in enumerate(parts):
            for start, quarters, pitch, voice in part.notes():
                begin = QUARTER * start
                rows.note(begin, begin + QUARTER * quarters, pitch, voices.setdefault((number, voice), len(voices)))
        for part in parts[:1]:
            for quarter, label in (*_meters(part, name), *_keys(part)):
                rows.other(QUARTER * quarter, label)
        for part in parts:
            for quarter, symbol in part.harmonies():
                if "ChordSymbol" in symbol.classes:
                    rows.other(QUARTER * quarter, f"chord {str(symbol.figure).replace('-', 'b')}")
    return rows.annotation(reading, name)


def demand_spines(text: str, name: str | Path) -> None:
    """Raise for a line of kern with more or fewer columns than spines: music21 skips it, or shifts all later times."""
    spines = 0
    for number, line in enumerate(text.split("\n"), 1):
        tokens = line.split("\t")
        if not line.strip() or line.startswith("!!"):
            continue
        if line.startswith("**") and not spines:
            spines = len(tokens)
        if spines and len(tokens) != spines:
            message = f"has {counted(len(tokens), 'column')}, but there are {counted(spines, 'spine')}: {line[:60]!r}"
            raise InvalidAnnotationError(message, path=name, line=number)
        if line.startswith("*"):
            joined = sum(one == other == "*v" for one, other in pairwise(tokens))
            spines += tokens.count("*^") + tokens.count("*+") - tokens.count("*-") - joined


@contextmanager
def reading_score(reading: Reading, format: str, name: str | Path) -> Iterator[None]:
    """Convert errors of the library that reads a score, and silence its warnings."""
    library = chosen_library(reading.score_library)
    demand_library(library)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (MirflowError, MemoryError):
        raise
    except Exception as error:  # the libraries raise various errors
        message = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise UnreadableError(f"{library} cannot read it as {format}: {message}", path=name) from None


def load_score(data: bytes, reading: Reading, format: str, name: str | Path) -> ParsedScore:
    """Parse a score, MusicXML (perhaps compressed) or kern, with music21 or partitura, inside of `reading_score`.

    By default, the encoding that MusicXML declares is used. Chord symbols need music21, as partitura keeps neither
    their kinds nor their basses.
    """
    library, encoding = chosen_library(reading.score_library), reading.delimited.encoding
    data = _unpacked(data, reading.max_bytes, name)
    declared = _DECLARED.match(data) if format == "musicxml" and encoding == "utf-8" else None
    if declared is not None:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            encoding = declared[1].decode("ascii").lower()
    text = decode(data, name, encoding)
    if format == "musicxml":

        def refuse(*_: object) -> None:
            raise UnreadableError("declares XML entities, which scores do not need", path=name)

        parser = expat.ParserCreate()
        parser.EntityDeclHandler = refuse
        try:
            parser.Parse(text, True)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            raise UnreadableError(f"is not a MusicXML score: {what}", path=name, line=error.lineno) from None
    without_chords = reading.task in ("key", "local_key")
    if library == "partitura" and (format == "kern" or not (without_chords or _HARMONY.search(text) is None)):
        what = "kern needs" if format == "kern" else "chord symbols need"
        raise AnnotationError(f"{what} music21: pip install 'mirflow[scores]', and omit score_library", path=name)
    score = parse_with_music21(text, format) if library == "music21" else parse_with_partitura(text)
    if score is None:
        raise UnreadableError("holds no score", path=name)
    return score


def _unpacked(data: bytes, max_bytes: int, name: str | Path) -> bytes:
    """Decompress the score in a compressed MusicXML file; other bytes are unchanged."""
    if not data.startswith(b"PK\x03\x04"):
        return data
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names, member = archive.namelist(), None
            if _CONTAINER in names:  # it declares its score; others are usually parts
                with archive.open(_CONTAINER) as file:
                    found = _ROOT_FILE.search(file.read(_LONGEST_CONTAINER).decode("utf-8", "replace"))
                member = unescape(found[1]) if found is not None and unescape(found[1]) in names else None
            if member is None:
                own = (one for one in names if not (one.startswith("META-INF") or is_hidden(one)))
                scores = [one for one in own if one.lower().endswith("xml")]
                member = scores[0] if len(scores) == 1 else None
            if member is None:
                raise UnreadableError("does not hold exactly one score, and does not declare its main score", path=name)
            with archive.open(member) as file:
                text = file.read(max_bytes + 1)
    except UnreadableError:
        raise
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise UnreadableError(f"is not valid compressed MusicXML: {error}", path=name) from None
    if len(text) > max_bytes:
        raise UnreadableError(f"too large: more than {max_bytes / 2**20:.0f} MB when decompressed", path=name)
    return text


_MOST_TATUMS = 2**20
"""Most tatums of a measure, or of a MIDI file between time signatures."""


def _tatums(start: float, end: float, length: float, name: str | Path) -> Float:
    if not end - start <= _MOST_TATUMS * length:
        message = f"a time signature divides the music into more than {_MOST_TATUMS} sub-beats"
        raise InvalidAnnotationError(message, path=name)
    return np.arange(start, end, length, dtype=np.float64)


def _meters(part: ScorePart, name: str | Path) -> Iterator[tuple[float, str]]:
    """The sub-beats of each measure, and the meters, including measures shorter or longer than their meter."""
    meter, whole, end = "", True, 0.0
    for number, (start, quarters, numerator, denominator) in enumerate(part.measures()):
        if not numerator:
            continue
        beats, sub_beats, length = _divide(numerator, denominator)
        bar = beats * sub_beats * length
        pickup = round(quarters / length) if not number and quarters < bar else 0
        named = f"meter {beats} {sub_beats} 1 {pickup}"
        if named != meter or not whole:
            yield start, named
        meter, whole, end = named, quarters == bar or bool(pickup), start + quarters
        for place in _tatums(0, quarters, length, name).tolist():
            yield start + place, "tatum"
    if meter:
        yield end, "tatum"


def _keys(part: ScorePart) -> Iterator[tuple[float, str]]:
    """Keys with their offsets in quarter notes; signatures without a mode count as major."""
    for offset, tonic, mode, _ in part.key_signatures():
        pitch = PITCH_CLASSES[tonic[0]] + tonic.count("#") - tonic.count("b")
        yield offset, f"key {pitch % 12} {mode or 'major'}"
