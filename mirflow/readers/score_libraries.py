"""Parts of a score as music21 or partitura reads them: notes, measures, harmonies, keys and tempi.

Offsets and durations are in quarter notes from the beginning. Repeats are not written out, grace notes are left out,
and tied notes are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from io import BytesIO
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import AnnotationError

LIBRARIES = ("music21", "partitura")
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_FIFTHS = "FCGDAEB"
_MODES = {
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


class ScorePart(Protocol):
    """A part of a score."""

    @property
    def name(self) -> str:
        """Its name, or else its id."""

    def notes(self) -> Iterator[ScoreNote]:
        """Notes, including those of chords."""

    def measures(self) -> Iterator[NotatedBar]:
        """Measures."""

    def harmonies(self) -> Sequence[tuple[float, Any]]:
        """Chord symbols and Roman numerals of music21, with their offsets; partitura does not keep them in full."""

    def key_signatures(self) -> Iterator[NotatedKey]:
        """Key signatures."""

    def tempi(self) -> Iterator[tuple[float, float]]:
        """Offsets and quarter notes per minute of the tempo marks with a number."""

    @property
    def transposing(self) -> bool:
        """True if it is written for a transposing instrument, other than one that transposes by octaves."""


@dataclass(frozen=True)
class ParsedScore:
    """The parts of a score."""

    parts: Sequence[ScorePart]
    end: float
    """Offset of its end."""


def chosen_library(wanted: str) -> str:
    """The library that reads scores: the wanted one, or else the first installed one."""
    if wanted != "auto":
        return wanted
    return next((name for name in LIBRARIES if find_spec(name) is not None), LIBRARIES[0])


def demand_library(name: str) -> None:
    """Raise if a library is not installed."""
    if find_spec(name) is None:
        extra = "scores" if name == "music21" else "partitura"
        raise AnnotationError(f"scores need {name}: pip install 'mirflow[{extra}]'")


@dataclass(frozen=True)
class _Music21Part:
    part: Any
    name: str

    def notes(self) -> Iterator[ScoreNote]:
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

    def harmonies(self) -> Sequence[tuple[float, Any]]:
        return placed(self.part, ("ChordSymbol", "RomanNumeral"))

    def key_signatures(self) -> Iterator[NotatedKey]:
        for offset, one in placed(self.part, ("KeySignature",)):
            key = one if hasattr(one, "tonic") else one.asKey("major")
            yield NotatedKey(offset, spelled(key.tonic), key.mode if key is one else "", where_is(one, offset))

    def tempi(self) -> Iterator[tuple[float, float]]:
        for offset, mark in placed(self.part, ("MetronomeMark",)):
            # Words alone, such as Andante, do not state a tempo.
            if mark.numberSounding is not None or (mark.number is not None and not mark.numberImplicit):
                yield offset, float(mark.getQuarterBPM(useNumberSounding=True))

    @property
    def transposing(self) -> bool:
        intervals = (one.transposition for one in self.part.recurse().getElementsByClass("Instrument"))
        return any(interval is not None and round(interval.semitones) % 12 != 0 for interval in intervals)


def placed(score: Any, classes: Sequence[str]) -> list[tuple[float, Any]]:
    """Elements of classes of music21 with their offsets in the score or part, sorted by offset."""
    found = [(float(one.getOffsetInHierarchy(score)), one) for one in score.recurse().getElementsByClass(classes)]
    return sorted(found, key=lambda one: one[0])


def where_is(element: Any, offset: float) -> str:
    """Describe the place of an element of music21."""
    number = element.measureNumber
    return f"in measure {number}" if number is not None else f"at quarter note {offset:g}"


def spelled(pitch: Any) -> str:
    """The name of a pitch of music21, with b for flats."""
    return str(pitch.name).replace("-", "b")


def parse_with_music21(text: str, format: str) -> ParsedScore | None:
    """Parse MusicXML or kern; None if it holds no score."""
    from music21 import converter, stream

    score = converter.parseData(text, format="humdrum" if format == "kern" else format)
    if not isinstance(score, stream.Score) or not score.recurse().notesAndRests:
        return None
    parts = [_Music21Part(part, str(part.partName or part.id)) for part in score.parts]
    return ParsedScore(parts, float(score.highestTime))


@dataclass(frozen=True)
class _PartituraPart:
    part: Any
    name: str

    @cached_property
    def _library(self) -> Any:
        from partitura import score

        return score

    def _quarters(self, times: Any) -> Any:
        """Offsets of positions; partitura counts from the end of a pickup."""
        return self.part.quarter_map(times) - float(self.part.quarter_map(0))

    def _placed(self, kind: Any) -> Iterator[tuple[float, Any]]:
        found = list(self.part.iter_all(kind))
        return zip(self._quarters(np.array([one.start.t for one in found])).tolist(), found, strict=True)

    def notes(self) -> Iterator[ScoreNote]:
        found = [one for one in self.part.notes_tied if not isinstance(one, self._library.GraceNote)]
        times = np.array([(one.start.t, one.start.t + one.duration_tied) for one in found]).reshape(-1, 2)
        for one, (start, end) in zip(found, self._quarters(times).tolist(), strict=True):
            yield ScoreNote(start, end - start, float(one.midi_pitch), f"{one.staff} {one.voice}")

    def measures(self) -> Iterator[NotatedBar]:
        signatures = list(self.part.iter_all(self._library.TimeSignature))
        bars = list(self.part.measures)
        times = self._quarters(np.array([(one.start.t, one.end.t) for one in bars]).reshape(-1, 2))
        for bar, (start, end) in zip(bars, times.tolist(), strict=True):
            inside = [one for one in signatures if bar.start.t <= one.start.t < bar.end.t][:1]
            known = inside or [one for one in signatures if one.start.t < bar.start.t][-1:]
            meter = (known[0].beats, known[0].beat_type) if known else (0, 0)
            yield NotatedBar(start, end - start, *meter)

    def harmonies(self) -> Sequence[tuple[float, Any]]:
        return ()

    def key_signatures(self) -> Iterator[NotatedKey]:
        for offset, one in self._placed(self._library.KeySignature):
            mode = str(one.mode).lower() if str(one.mode).lower() in _MODES else ""
            bar = next((bar for bar in self.part.measures if bar.start.t <= one.start.t < bar.end.t), None)
            where = f"in measure {bar.name}" if bar is not None else f"at quarter note {offset:g}"
            yield NotatedKey(offset, tonic_of(int(one.fifths or 0), mode or "major"), mode, where)

    def tempi(self) -> Iterator[tuple[float, float]]:
        for offset, one in self._placed(self._library.Tempo):
            yield offset, 60e6 / one.microseconds_per_quarter

    @property
    def transposing(self) -> bool:
        return any((one.chromatic or 0) % 12 for one in self.part.iter_all(self._library.Transposition))


def tonic_of(fifths: int, mode: str) -> str:
    """Tonic of a key signature with so many sharps (negative: flats) and a mode.

    Examples
    --------
    >>> tonic_of(-2, "minor"), tonic_of(0, "dorian"), tonic_of(7, "major"), tonic_of(-7, "major")
    ('G', 'D', 'C#', 'Cb')
    """
    if abs(fifths) > _MOST_FIFTHS:
        raise ValueError(f"a key signature of {fifths} fifths")
    accidentals, step = divmod(fifths + _MODES[mode] + 1, len(_FIFTHS))
    return _FIFTHS[step] + ("#" if accidentals > 0 else "b") * abs(accidentals)


def parse_with_partitura(text: str) -> ParsedScore | None:
    """Parse MusicXML; None if it holds no score."""
    import partitura

    score = partitura.load_musicxml(BytesIO(_DECLARATION.sub("", text, count=1).encode()))
    parts = [_PartituraPart(part, str(part.part_name or part.id)) for part in score.parts]
    ends = [float(part._quarters(part.part.last_point.t)) for part in parts if part.part.last_point is not None]
    return ParsedScore(parts, max(ends)) if ends and max(ends) > 0 else None
