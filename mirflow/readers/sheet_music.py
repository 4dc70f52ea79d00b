"""Sheet music in MusicXML, kern and MIDI: notes in their voices, sub-beats, meters, keys and chord symbols.

Notations in MusicXML and kern have half a second per quarter note. Chords and keys of these formats can be read alone,
by music21 or, keys of MusicXML, by partitura; their times follow from the tempo marks. Chord symbols and Roman numerals
then become labels of chords. Repeats are not played, grace notes are left out, and tied notes are one.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from io import BytesIO
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import unescape

import numpy as np

from ..annotations.account import Account
from ..annotations.annotation import Annotation
from ..errors import AnnotationError, InvalidAnnotationError, MirflowError, UnreadableError, counted
from ..ragged import Float
from ..theory.harte import NO_CHORD, PITCH_CLASSES, degree_of_note
from ..theory.spelling import label_of_degrees
from .content import decode, is_hidden
from .formats import FORMATS
from .midi import Clock, decode_midi, messages_of, pitched_notes
from .options import Reading

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
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_FIFTHS = "FCGDAEB"
_FIFTHS_OF_MODES = {
    "lydian": -1,
    "major": 0,
    "ionian": 0,
    "mixolydian": 1,
    "dorian": 2,
    "minor": 3,
    "aeolian": 3,
    "phrygian": 4,
    "locrian": 5,
}
"""Fifths from the tonic of the major key with the same signature up to that of a mode."""
_MOST_FIFTHS = 14
"""Double sharps or flats of all steps."""


class ScoreNote(NamedTuple):
    """A note with its voice within the part."""

    offset: float
    quarters: float
    pitch: float
    voice: str


class NotatedBar(NamedTuple):
    """A measure with its time signature, 0/0 if there is none yet."""

    offset: float
    quarters: float
    numerator: int
    denominator: int


class NotatedKey(NamedTuple):
    """A key signature; one without a mode has the tonic of its major key."""

    offset: float
    tonic: str
    mode: str
    where: str


@dataclass(frozen=True)
class _Music21Part:
    """A part of a score as music21 reads it."""

    part: Any
    name: str
    """Its name, or else its id."""

    def notes(self) -> Iterator[ScoreNote]:
        """Notes, including those of chords."""
        from music21 import harmony, stream

        whole = self.part.stripTies()
        for note in whole.recurse().notes:
            if not isinstance(note, harmony.ChordSymbol) and not note.duration.isGrace:
                site = note.activeSite
                voice = str(site.id) if isinstance(site, stream.Voice) else "1"
                start = float(note.getOffsetInHierarchy(whole))
                for pitch in getattr(note, "pitches", ()):
                    yield ScoreNote(start, float(note.quarterLength), pitch.midi, voice)

    def measures(self) -> Iterator[NotatedBar]:
        from music21 import stream

        for measure in self.part.getElementsByClass(stream.Measure):
            signature = measure.timeSignature or measure.getContextByClass("TimeSignature")
            meter = (signature.numerator, signature.denominator) if signature is not None else (0, 0)
            yield NotatedBar(float(measure.offset), float(measure.duration.quarterLength), *meter)

    def harmonies(self) -> Sequence[tuple[float, Any, str]]:
        """Chord symbols and Roman numerals, with their offsets and places."""
        return placed(self.part, ("ChordSymbol", "RomanNumeral"))

    def key_signatures(self) -> Iterator[NotatedKey]:
        for offset, one, where in placed(self.part, ("KeySignature",)):
            key = one if hasattr(one, "tonic") else one.asKey("major")
            yield NotatedKey(offset, spelled(key.tonic), key.mode if key is one else "", where)

    def tempi(self) -> Iterator[tuple[float, float]]:
        """Offsets and quarter notes per minute of the tempo marks with a number."""
        for offset, mark, _ in placed(self.part, ("MetronomeMark",)):
            # Words alone, such as Andante, do not state a tempo.
            if mark.numberSounding is not None or (mark.number is not None and not mark.numberImplicit):
                yield offset, float(mark.getQuarterBPM(useNumberSounding=True))

    @property
    def transposing(self) -> bool:
        """True if it is written for a transposing instrument, other than one that transposes by octaves."""
        intervals = (instrument.transposition for instrument in self.part.recurse().getElementsByClass("Instrument"))
        return any(interval is not None and round(interval.semitones) % 12 != 0 for interval in intervals)


def placed(score: Any, classes: Sequence[str]) -> list[tuple[float, Any, str]]:
    """Elements of classes of music21 with their offsets in the score or part, sorted by these, and places in words."""
    found = []
    for element in score.recurse().getElementsByClass(classes):
        offset, number = float(element.getOffsetInHierarchy(score)), element.measureNumber
        where = f"in measure {number}" if number is not None else f"at quarter note {offset:g}"
        found.append((offset, element, where))
    return sorted(found, key=itemgetter(0))


def spelled(pitch: Any) -> str:
    """The name of a pitch of music21, with b for flats."""
    return str(pitch.name).replace("-", "b")


@dataclass(frozen=True)
class _PartituraPart:
    """A part of a score as partitura reads it, with the module of its elements; chord symbols are not kept in full."""

    part: Any
    name: str
    elements: Any

    def quarters(self, times: Any) -> Any:
        """Offsets of positions; partitura counts from the end of a pickup."""
        return self.part.quarter_map(times) - float(self.part.quarter_map(0))

    def _placed(self, kind: Any) -> Iterator[tuple[float, Any]]:
        found = list(self.part.iter_all(kind))
        return zip(self.quarters(np.array([element.start.t for element in found])).tolist(), found, strict=True)

    def notes(self) -> Iterator[ScoreNote]:
        found = [note for note in self.part.notes_tied if not isinstance(note, self.elements.GraceNote)]
        times = np.array([(note.start.t, note.start.t + note.duration_tied) for note in found]).reshape(-1, 2)
        for note, (start, end) in zip(found, self.quarters(times).tolist(), strict=True):
            yield ScoreNote(start, end - start, float(note.midi_pitch), f"{note.staff} {note.voice}")

    def measures(self) -> Iterator[NotatedBar]:
        signatures = list(self.part.iter_all(self.elements.TimeSignature))
        bars = list(self.part.measures)
        times = self.quarters(np.array([(bar.start.t, bar.end.t) for bar in bars]).reshape(-1, 2))
        for bar, (start, end) in zip(bars, times.tolist(), strict=True):
            inside = [signature for signature in signatures if bar.start.t <= signature.start.t < bar.end.t][:1]
            known = inside or [signature for signature in signatures if signature.start.t < bar.start.t][-1:]
            meter = (known[0].beats, known[0].beat_type) if known else (0, 0)
            yield NotatedBar(start, end - start, *meter)

    def harmonies(self) -> Sequence[tuple[float, Any, str]]:
        return ()

    def key_signatures(self) -> Iterator[NotatedKey]:
        for offset, one in self._placed(self.elements.KeySignature):
            mode = str(one.mode).lower() if str(one.mode).lower() in _FIFTHS_OF_MODES else ""
            bar = next((bar for bar in self.part.measures if bar.start.t <= one.start.t < bar.end.t), None)
            where = f"in measure {bar.name}" if bar is not None else f"at quarter note {offset:g}"
            yield NotatedKey(offset, tonic_of(int(one.fifths or 0), mode or "major"), mode, where)

    def tempi(self) -> Iterator[tuple[float, float]]:
        for offset, one in self._placed(self.elements.Tempo):
            yield offset, 60e6 / one.microseconds_per_quarter

    @property
    def transposing(self) -> bool:
        return any((element.chromatic or 0) % 12 for element in self.part.iter_all(self.elements.Transposition))


def tonic_of(fifths: int, mode: str) -> str:
    """Tonic of a key signature with so many sharps (negative: flats) and a mode.

    Examples
    --------
    >>> tonic_of(-2, "minor"), tonic_of(0, "dorian"), tonic_of(7, "major"), tonic_of(-7, "major")
    ('G', 'D', 'C#', 'Cb')
    """
    if abs(fifths) > _MOST_FIFTHS:
        raise ValueError(f"a key signature of {fifths} fifths")
    accidentals, step = divmod(fifths + _FIFTHS_OF_MODES[mode] + 1, len(_FIFTHS))
    return _FIFTHS[step] + ("#" if accidentals > 0 else "b") * abs(accidentals)


@dataclass(frozen=True)
class ParsedScore:
    """The parts of a score."""

    parts: Sequence[_Music21Part | _PartituraPart]
    end: float
    """Offset of its end, in quarter notes."""


def _notation(
    notes: Sequence[tuple[float, ...]], marks: Sequence[tuple[float, str]], reading: Reading, account: Account
) -> Annotation:
    """Notes (start, end, pitch and voice) and, with their times alone, other rows of a notation."""
    table = np.full((len(notes) + len(marks), 5), np.nan)
    table[: len(notes), 1:] = np.array(notes, dtype=np.float64).reshape(-1, 4)
    table[:, 0] = [*(note[0] for note in notes), *(time for time, _ in marks)]
    names = ("time", "notated_start", "notated_end", "pitch", "voice")
    columns = {name: table[:, index].copy() for index, name in enumerate(names)}
    labels, attrs = ["note"] * len(notes) + [label for _, label in marks], {"source": str(account.path)}
    return Annotation(reading.kind, columns, labels, lines=(), attrs=attrs, account=account.remarks)


def parse_midi_score(data: bytes, reading: Reading, format: str = "midi", name: str | Path = "<bytes>") -> Annotation:
    """Read the notation in the bytes of a quantised MIDI file.

    Each channel of each track is a voice. Sub-beats follow from the time signatures, by default 4/4, which begin bars;
    a pickup cannot be distinguished from a bar. Chords are not available.
    """
    from mido import MetaMessage

    account = Account(str(name), FORMATS["midi"].silent)
    file = decode_midi(data, name, account)
    notes, marks = list[tuple[float, ...]](), list[tuple[float, str]]()
    clock = Clock.of(file, name)
    voices: dict[tuple[int, int], int] = {}
    last = 0
    for note in pitched_notes(file, reading, clock, account, in_order=True):
        start, end = clock.seconds(np.array([note.start, note.end])).tolist()
        notes.append((start, end, note.pitch, voices.setdefault((note.track, note.channel), len(voices))))
        last = max(last, note.end)
    signatures = {0: MetaMessage("time_signature")} | dict(
        sorted(messages_of(file, "time_signature"), key=itemgetter(0))
    )
    for (tick, signature), end in zip(signatures.items(), [*list(signatures)[1:], last], strict=False):
        quarter = file.ticks_per_beat
        beats, sub_beats, length = _divide(signature.numerator, signature.denominator)
        marks.append((float(clock.seconds(np.array([tick]))[0]), f"meter {beats} {sub_beats} 1 0"))
        ticks = _tatums(tick, end + (end == last), length * quarter, name)
        for time in clock.seconds(np.rint(ticks).astype(np.int64)).tolist():
            marks.append((time, "tatum"))
    for tick, message in sorted(messages_of(file, "key_signature"), key=itemgetter(0)):
        tonic = PITCH_CLASSES[message.key[0]] + message.key.count("#") - message.key.count("b")
        marks.append(
            (float(clock.seconds(np.array([tick]))[0]), f"key {tonic % 12} {_MODES[message.key.endswith('m')]}")
        )
    return _notation(notes, marks, reading, account)


def _divide(numerator: int, denominator: int) -> tuple[int, int, float]:
    """Beats per bar, sub-beats per beat, and quarter notes per sub-beat; beats of compound meters have three."""
    if numerator > 3 and numerator % 3 == 0:
        return numerator // 3, 3, 4 / denominator
    return numerator, 2, 2 / denominator


def parse_notation(data: bytes, reading: Reading, format: str = "musicxml", name: str | Path = "<bytes>") -> Annotation:
    """Read the notation in the bytes of a MusicXML or kern file, with half a second per quarter note.

    Voices are those of each part. Repeats are not expanded, and grace notes are omitted.
    """
    notes, marks, voices = list[tuple[float, ...]](), list[tuple[float, str]](), dict[tuple[int, str], int]()
    if format == "kern":
        demand_spines(decode(data, name, reading.delimited.encoding), name)
    with open_score(data, reading, format, name) as score:
        parts = score.parts
        for number, part in enumerate(parts):
            for start, quarters, pitch, voice in part.notes():
                begin = QUARTER * start
                notes.append(
                    (begin, begin + QUARTER * quarters, pitch, voices.setdefault((number, voice), len(voices)))
                )
        for part in parts[:1]:
            # Sub-beats of each measure, and the meters, including measures shorter or longer than their meter.
            meter, whole, last = "", True, 0.0
            for number, (start, quarters, numerator, denominator) in enumerate(part.measures()):
                if not numerator:
                    continue
                beats, sub_beats, length = _divide(numerator, denominator)
                bar = beats * sub_beats * length
                pickup = round(quarters / length) if not number and quarters < bar else 0
                named = f"meter {beats} {sub_beats} 1 {pickup}"
                if named != meter or not whole:
                    marks.append((QUARTER * start, named))
                meter, whole, last = named, quarters == bar or bool(pickup), start + quarters
                for place in _tatums(0, quarters, length, name).tolist():
                    marks.append((QUARTER * (start + place), "tatum"))
            if meter:
                marks.append((QUARTER * last, "tatum"))
            for quarter, tonic, mode, _ in part.key_signatures():  # those without a mode count as major
                pitch = PITCH_CLASSES[tonic[0]] + tonic.count("#") - tonic.count("b")
                marks.append((QUARTER * quarter, f"key {pitch % 12} {mode or 'major'}"))
        for part in parts:
            for quarter, symbol, _ in part.harmonies():
                if "ChordSymbol" in symbol.classes:
                    marks.append((QUARTER * quarter, f"chord {str(symbol.figure).replace('-', 'b')}"))
    return _notation(notes, marks, reading, Account(str(name), FORMATS[format].silent))


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
def open_score(data: bytes, reading: Reading, format: str, name: str | Path) -> Iterator[ParsedScore]:
    """Parse a score with music21 or partitura; what they raise, also later, is an error of the file."""
    library = reading.score_library
    if library == "auto":
        library = "partitura" if find_spec("music21") is None and find_spec("partitura") is not None else "music21"
    if find_spec(library) is None:
        extra = "scores" if library == "music21" else "partitura"
        raise AnnotationError(f"scores need {library}: pip install 'mirflow[{extra}]'")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield _parse(data, reading, library, format, name)
    except (MirflowError, MemoryError):
        raise
    except Exception as error:  # the libraries raise various errors
        message = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise UnreadableError(f"{library} cannot read it as {format}: {message}", path=name) from None


def _parse(data: bytes, reading: Reading, library: str, format: str, name: str | Path) -> ParsedScore:
    """Parse MusicXML (perhaps compressed) or kern.

    By default, the encoding that MusicXML declares is used. Chord symbols need music21, as partitura keeps neither
    their kinds nor their basses.
    """
    encoding = reading.delimited.encoding
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
    if library == "music21":
        from music21 import converter, stream

        score = converter.parseData(text, format="humdrum" if format == "kern" else format)
        if isinstance(score, stream.Score) and score.recurse().notesAndRests:
            parts = [_Music21Part(part, str(part.partName or part.id)) for part in score.parts]
            return ParsedScore(parts, float(score.highestTime))
    else:
        without_chords = reading.task in ("key", "local_key") or _HARMONY.search(text) is None
        if format == "kern" or not without_chords:
            what = "kern needs" if format == "kern" else "chord symbols need"
            raise AnnotationError(f"{what} music21: pip install 'mirflow[scores]', and omit score_library", path=name)
        from partitura import load_musicxml
        from partitura import score as elements

        found = load_musicxml(BytesIO(_DECLARATION.sub("", text, count=1).encode())).parts
        read = [_PartituraPart(part, str(part.part_name or part.id), elements) for part in found]
        ends = [float(part.quarters(part.part.last_point.t)) for part in read if part.part.last_point is not None]
        if max(ends, default=0.0) > 0:
            return ParsedScore(read, max(ends))
    raise UnreadableError("holds no score", path=name)


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
                own = (member for member in names if not (member.startswith("META-INF") or is_hidden(member)))
                scores = [member for member in own if member.lower().endswith("xml")]
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


KINDS_OF_HARMONY = {
    "major": "3 5",
    "minor": "b3 5",
    "augmented": "3 #5",
    "diminished": "b3 b5",
    "dominant-seventh": "3 5 b7",
    "major-seventh": "3 5 7",
    "minor-seventh": "b3 5 b7",
    "diminished-seventh": "b3 b5 bb7",
    "augmented-seventh": "3 #5 b7",
    "half-diminished-seventh": "b3 b5 b7",
    "minor-major-seventh": "b3 5 7",
    "major-sixth": "3 5 6",
    "minor-sixth": "b3 5 6",
    **{
        f"{quality}-{name}": f"{seventh} {degrees}"
        for name, degrees in (("ninth", "9"), ("11th", "9 11"), ("13th", "9 11 13"))
        for quality, seventh in (("dominant", "3 5 b7"), ("major", "3 5 7"), ("minor", "b3 5 b7"))
    },
    "suspended-second": "2 5",
    "suspended-fourth": "4 5",
    "power": "5",
    "pedal": "",
}
"""Kinds of MusicXML harmonies, by music21's names, and their degrees above the root."""
_ROMAN = "VII|VI|V|IV|III|II|I|vii|vi|v|iv|iii|ii|i"
_NUMERAL = re.compile(
    rf"(?P<sign>[#-])?(?P<numeral>{_ROMAN})(?P<quality>[o+])?(?P<seventh>7)?(?P<inversion>[bcd])?(?P<of>/(?:{_ROMAN}))?"
)
_SEVENTHS_MAJOR, _SEVENTHS_MINOR = ("I", "ii", "iii", "IV", "V", "vi"), ("iv", "V", "VI", "viio")


def parse_score(data: bytes, reading: Reading, format: str, name: str | Path = "<bytes>") -> Annotation:
    """Read chords or keys from the bytes of a score: MusicXML, perhaps compressed, or kern.

    Tasks are ``chord`` (harmonies, or a spine ``**harm``), ``key`` and ``local_key`` (key signatures with a mode, or
    key designations such as ``*C:``); `score_tempo` replaces the tempo marks. Each chord or key lasts until the next
    one, the last one until the end.
    """
    if reading.task not in ("chord", "key", "local_key"):
        message = f"scores can be read as chords or keys, not as {reading.task or reading.kind}"
        raise InvalidAnnotationError(message, path=name)
    spines, own = 0, reading
    if format == "kern":
        text = decode(data, name, reading.delimited.encoding)
        demand_spines(text, name)
        lines = text.rstrip("\n").split("\n")
        start = next((place for place, line in enumerate(lines) if line.startswith("**")), None)
        if start is not None:
            # music21 needs numbers of staves to find harmonies. Unless chords are read they become text, as it fails at
            # unknown ones.
            kinds, chords = lines[start].split("\t"), reading.task == "chord"
            every = "/".join(str(index + 1) for index, kind in enumerate(kinds) if kind == "**kern")
            staves = (f"*staff{place + 1 if kind == '**kern' else every}" for place, kind in enumerate(kinds))
            head = "\t".join(kinds if chords else (kind.replace("**harm", "**text") for kind in kinds))
            spines = _count_harmonies(lines[start + 1 :], kinds, start + 2, name) if chords else 0
            text = "\n".join([*lines[:start], head, "\t".join(staves), *lines[start + 1 :], ""])
        data, own = text.encode(), replace(reading, delimited=replace(reading.delimited, encoding="utf-8"))
    with open_score(data, own, format, name) as score:
        found = _spans(score, "chords" if reading.task == "chord" else "keys", name)
        if format == "kern" and reading.task == "chord" and len(found) != spines:
            message = f"{len(found)} of {spines} harmonies in **harm are aligned with a note"
            message += "; the others cannot be timed"
            raise InvalidAnnotationError(message, path=name)
        attrs, labels = {"source": str(name)}, [label for _, label in found]
        if reading.kind == "key":
            return Annotation("key", {}, labels, lines=(), attrs=attrs)
        offsets = np.array([*(offset for offset, _ in found), score.end], dtype=np.float64)
        tempo = reading.score_tempo
        marks = dict(mark for part in score.parts for mark in part.tempi()) if tempo is None else {0.0: tempo}
        if 0.0 not in marks:
            message = "the score does not begin with a tempo mark, so times in seconds are unknown; declare "
            raise InvalidAnnotationError(f"{message}score_tempo: 60 for times in quarter notes", path=name)
        moments = np.array(sorted(marks))
        rates = np.array([60.0 / marks[moment] for moment in moments.tolist()])
        lengths = [rate * (after - before) for rate, (before, after) in zip(rates, pairwise(moments), strict=False)]
        begin = np.concatenate([[0.0], np.cumsum(lengths)])
        offsets = offsets if found else offsets[:0]
        place = np.searchsorted(moments, offsets, side="right") - 1
        times = begin[place] + (offsets - moments[place]) * rates[place]
    return Annotation("intervals", {"start": times[:-1], "end": times[1:]}, labels, lines=(), attrs=attrs)


def _count_harmonies(lines: Sequence[str], kinds: list[str], first: int, name: str | Path) -> int:
    """Count the harmonies in ``**harm`` spines; raise for an unsupported one."""
    count, minor = 0, False
    for number, line in enumerate(lines, first):
        tokens = line.split("\t")
        if line.startswith("!!"):
            continue
        for token, kind in zip(tokens, kinds, strict=False):
            if kind != "**harm" or token == "." or not token or token[0] in "!=":
                continue
            if token.startswith("*"):
                minor = token[1:2].islower() if token.endswith(":") else minor
                continue
            count += 1
            # music21 silently drops the figures of other tokens (V9, N), or reads them in the scale of another key.
            form = _NUMERAL.fullmatch(token)
            clear = form is not None and form["inversion"] != "d"
            if form is not None and form["seventh"]:
                numeral = f"{form['numeral']}{form['quality'] or ''}"
                diatonic = numeral in (_SEVENTHS_MINOR if minor else _SEVENTHS_MAJOR)
                clear = numeral == "V" if form["of"] else form["sign"] is None and diatonic
            if not clear:
                message = f"unsupported harmony {token!r}: Roman numerals must be triads or diatonic sevenths"
                raise InvalidAnnotationError(message, path=name, line=number)
        if line.startswith("*"):  # spines split by *^ and join by *v
            paths = zip(["", *tokens], tokens, kinds, strict=False)
            counts = [(kind, 2 if path == "*^" else int(not path == before == "*v")) for before, path, kind in paths]
            kinds = [kind for kind, times in counts for _ in range(times)]
    return count


def _spans(score: ParsedScore, what: str, name: str | Path) -> list[tuple[float, str]]:
    """The ``chords`` or ``keys`` of a score with their offsets in quarter notes, ascending; raise if parts disagree."""
    found: list[tuple[float, str, str]] = []
    bare: dict[float, str] = {}  # signatures without a mode
    for part in score.parts:
        if what == "keys":
            keys = part.key_signatures()
            rows: Iterable[tuple[float, Any, str]] = (
                (key.offset, key.mode and f"{key.tonic} {key.mode}", key.where) for key in keys
            )
        else:
            rows = part.harmonies()
        for offset, symbol, where in rows:
            if what == "keys" and not symbol:
                bare.setdefault(offset, where)
                continue
            if part.transposing:
                message = f"part {part.name!r} is written for a transposing instrument; provide a score in C"
                raise InvalidAnnotationError(message, path=name)
            try:
                found.append((offset, symbol if what == "keys" else _label_of(symbol), where))
            except ValueError as error:
                raise InvalidAnnotationError(f"{error}, {where}", path=name) from None
    for offset in sorted(bare.keys() - {offset for offset, _, _ in found}):
        message = f"the key signature has no mode, so the key is unknown, {bare[offset]}"
        raise InvalidAnnotationError(message, path=name)
    if not found:
        raise InvalidAnnotationError(f"the score has no {'key' if what == 'keys' else 'harmonies'}", path=name)
    by_offset: dict[float, str] = {}
    for offset, label, where in found:
        known = by_offset.setdefault(offset, label)
        if known != label:
            raise InvalidAnnotationError(f"two {what} at the same time {where}: {known} and {label}", path=name)
    spans = sorted(by_offset.items())
    if what == "chords":
        return spans
    return [span for span, before in zip(spans, [None, *spans], strict=False) if before is None or before[1] != span[1]]


def _label_of(symbol: Any) -> str:
    """The label of a chord symbol or a Roman numeral of music21."""
    if "RomanNumeral" in symbol.classes:
        root, bass = spelled(symbol.root()), spelled(symbol.bass())
        steps = dict.fromkeys(degree_of_note(root, spelled(pitch)) for pitch in symbol.pitches)
        steps.pop("1", None)
        if any(step.lstrip("#b") == "7" for step in steps):  # with a seventh, a second is a ninth, and so on
            wide = {step: step.count("#") - step.count("b") for step in steps if step[-1] in "246"}
            degrees = [_altered(int(step[-1]) + 7, wide[step]) if step in wide else step for step in steps]
        else:
            degrees = list(steps)
        return label_of_degrees(root, degrees, degree_of_note(root, bass))
    if "NoChord" in symbol.classes:
        return NO_CHORD
    kind = str(symbol.chordKind)
    if kind not in KINDS_OF_HARMONY or symbol.root() is None:
        raise ValueError(f"unsupported chord kind {kind!r} ({symbol.figure!r})")
    degrees = KINDS_OF_HARMONY[kind].split()
    # As in MusicXML, added degrees are relative to a dominant chord.
    for change in symbol.getChordStepModifications():
        how, number = str(change.modType), int(change.degree)
        alter = round(change.interval.semitones) if change.interval else 0
        held = next((degree for degree in degrees if degree.lstrip("#b") == str(number)), None)
        if how == "add":
            if number == 7 and alter < 0:  # programs use it for b7 and for bb7
                raise ValueError("the harmony adds a seventh altered by -1, which is ambiguous (b7 or bb7)")
            degrees.append(_altered(number, alter - (number == 7)))
        elif held is None:
            raise ValueError(f"the harmony has no degree {number} to {how}")
        elif how == "subtract":
            degrees.remove(held)
        else:
            degrees[degrees.index(held)] = _altered(number, alter + held.count("#") - held.count("b"))
    root, bass = spelled(symbol.root()), spelled(symbol.bass())
    return label_of_degrees(root, degrees, degree_of_note(root, bass))


def _altered(number: int, alter: int) -> str:
    return ("#" * alter if alter > 0 else "b" * -alter) + str(number)
