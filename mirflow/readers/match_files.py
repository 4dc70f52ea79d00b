"""Match files: performances aligned note by note with scores, as in the Vienna 4x22 and Batik data sets and in ASAP.

The alignment is read, or the notes or pedals of the performance.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..annotations.account import Account
from ..annotations.annotation import Annotation, Attribute
from ..errors import InvalidAnnotationError, UnreadableError, counted
from ..ragged import Column, Float, Int
from ..theory.general_midi import PEDALS
from ..theory.harte import PITCH_CLASSES
from ..theory.pitch import HIGHEST_MIDI, to_hertz
from .content import decode
from .formats import FORMATS
from .midi import extend_ends, pedals_down, told_pedal
from .options import Reading

_KINDS = ("notes", "note_alignment", "pedals")
# Nothing may be matched by two parts in turn: long lines would take quadratic time.
_ALIGNED = re.compile(
    r"(?:snote\((?P<score>[^,()]+),.*\[(?P<attributes>[^\[\]]*)\]\)"
    r"|(?P<ornament>trill|ornament)\((?P<anchor>[^,()]+)(?:[,(].*)?\)"
    r"|(?P<alone>insertion|hammer_bounce|trailing_played_note)"
    r"|virtualSnote\([^()]*\))"
    r"-(?:note\((?P<note>[^()]*)\)|(?P<lacking>deletion|trailing_score_note|no_played_note)|virtualPnote\([^()]*\))\.?"
)
_CONTROL = re.compile(r"(sustain|soft)\(([^,()]+),([^,()]+)\)\.?")
_INFO = re.compile(r"info\((\w+),(.+)\)\.?")
_BESIDE = re.compile(r"(?:scoreprop|section|omittedSection|stime|ptime|meta)\(.*\)\.?")
"""Lines about meters, sections and beats, which are not read."""
_SPELLED = re.compile(r"\[ *([A-Ga-g]) *, *(n|[#b]{1,3}|x|##x) *\], *(-?\d{1,2}) *")
"""Pitch of a note before version 1: step, accidental and octave."""
_LARGEST = 2.0**53
"""Least number that is too large for ticks, which are whole."""
_TIED = "leftOutTied"
"""Attribute of notes that are tied to the one before, and therefore not struck."""


@dataclass
class _Performance:
    """The entries, notes and pedals of a match file."""

    name: str | Path
    info: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Text and line of each attribute."""
    entries: list[tuple[str, str, str, int]] = field(default_factory=list)
    """Label, note of the score, note of the performance, and line."""
    notes: dict[str, tuple[tuple[float, ...], int]] = field(default_factory=dict)
    """Onset and end (ticks), MIDI number and velocity, and line, of each note of the performance."""
    controls: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)
    """Tick, channel and value of the events of each pedal."""

    def read(self, text: str, line: int) -> None:
        """Read a line."""
        aligned, control, info = (form.fullmatch(text) for form in (_ALIGNED, _CONTROL, _INFO))
        if aligned is not None:
            score = (aligned["score"] or "").strip()
            played = "" if aligned["note"] is None else self._note(aligned["note"], line)
            if aligned["ornament"]:
                label, score = "ornament", aligned["anchor"].strip()
            elif aligned["alone"]:
                label = "insertion"
            elif score and aligned["lacking"]:
                label = "" if _TIED in aligned["attributes"] else "deletion"
            else:  # virtual notes are not played
                label = "match" if score and played else ""
            if (label == "deletion") == bool(played) and label:
                which = "a" if played else "no"
                message = f"a line of a match file with {which} note of the performance: {aligned[0][:80]!r}"
                raise UnreadableError(message, path=self.name, line=line)
            if label:
                self.entries.append((label, score, played, line))
        elif control is not None:
            tick, value = (int(self._number(number, line)) for number in control.groups()[1:])
            self.controls.setdefault(control[1], []).append((tick, 0, value))
        elif info is not None:
            self.info[info[1]] = info[2].strip(), line
            version = info[2].strip()
            # Versions are 1.x.y, 0.x.y, or x.y, which is short for the latter.
            if info[1] == "matchFileVersion" and not re.fullmatch(r"(0*[01]\.)?\d+\.\d+", version):
                message = f"unknown version {version!r} of match files: versions up to 1 are read, such as 1.0.0 or 5.0"
                raise UnreadableError(message, path=self.name, line=line)
        elif not _BESIDE.fullmatch(text):
            raise UnreadableError(f"not a line of a match file: {text[:80]!r}", path=self.name, line=line)

    def _note(self, text: str, line: int) -> str:
        """Read a note of the performance; return its name."""
        id, _, rest = text.partition(",")
        spelled = _SPELLED.match(rest)
        fields = (rest if spelled is None else rest[spelled.end() + 1 :]).split(",")
        # With a spelled pitch: onset, end, perhaps the end of the pedal, velocity; else pitch, onset, end, velocity,
        # channel and track.
        if not id.strip() or len(fields) not in ((6,) if spelled is None else (3, 4)):
            raise UnreadableError(f"not a note of a match file: {text[:80]!r}", path=self.name, line=line)
        numbers = [self._number(one, line) for one in fields]
        if spelled is None:
            pitch, onset, end, velocity = numbers[:4]
        else:
            (onset, end), velocity = numbers[:2], numbers[-1]
            step, accidental, octave = spelled.groups()
            alter = accidental.count("#") - accidental.count("b") + 2 * accidental.count("x")
            pitch = 12.0 * (int(octave) + 1) + PITCH_CLASSES[step.upper()] + alter
        if not 0 <= pitch <= HIGHEST_MIDI:
            message = f"not a MIDI number from 0 to {HIGHEST_MIDI}: {pitch:.6g}"
            raise InvalidAnnotationError(message, path=self.name, line=line)
        name = id.strip() if id.strip().startswith("n") else f"n{id.strip()}"
        note = onset, end, pitch, velocity
        known, first = self.notes.setdefault(name, (note, line))
        if known != note:
            message = f"the note {id.strip()!r} of the performance has other values on line {first}"
            raise InvalidAnnotationError(message, path=self.name, line=line)
        return name

    def _number(self, text: str, line: int) -> float:
        try:
            number = float(text)
        except ValueError:
            number = np.nan
        if not abs(number) < _LARGEST:
            raise InvalidAnnotationError(f"not a number, or too large: {text.strip()!r}", path=self.name, line=line)
        return number

    def seconds(self, ticks: Float | Int) -> Float:
        """Times of ticks, by the constant tempo of the file."""
        clock = []
        for name in ("midiClockRate", "midiClockUnits"):
            if name not in self.info:
                raise InvalidAnnotationError(f"no info({name},...), so times in seconds are unknown", path=self.name)
            text, line = self.info[name]
            clock.append(self._number(text, line))
            if clock[-1] <= 0:
                message = f"invalid {name} {text}: expected a positive number"
                raise InvalidAnnotationError(message, path=self.name, line=line)
        return np.asarray(clock[0] * ticks / (1e6 * clock[1]), dtype=np.float64)


def parse_match(data: bytes, reading: Reading, format: str = "match", name: str | Path = "<bytes>") -> Annotation:
    """Read a match file: the alignment, or the notes or pedals of the performance.

    Names of notes of the performance begin with ``n``, as in partitura. Notes are sorted by start and pitch. Those of
    the score that are tied to another one are not part of the alignment.
    """
    if reading.kind not in _KINDS:
        held = "alignments of notes, notes of the performance and its pedals"
        raise InvalidAnnotationError(f"match files hold {held}, not {reading.task or reading.kind}", path=name)
    performance, first = _Performance(name), dict[str, int]()
    repeated: list[int] = []
    for number, line in enumerate(decode(data, name, reading.delimited.encoding).split("\n"), 1):
        text = line.strip()
        if text:
            performance.read(text, number)
        if "note(" in text and first.setdefault(text, number) != number:
            repeated.append(number)
    ticks = [end for (_, end, _, _), _ in performance.notes.values()]
    ticks += [tick for events in performance.controls.values() for tick, _, _ in events]
    last = max(ticks, default=0.0)
    if reading.kind == "pedals":
        presses = {pedal: performance.controls.get(pedal, []) for pedal in PEDALS}
        return pedals_down(presses, int(last), performance.seconds, name)
    if reading.kind == "note_alignment":
        labels, score, played, lines = zip(*performance.entries, strict=True) if performance.entries else [()] * 4
        ids = {"score_id": np.array(score, dtype=np.str_), "performance_id": np.array(played, dtype=np.str_)}
        found = Annotation("note_alignment", ids, list(labels), lines=list(lines), attrs={"source": str(name)})
    else:
        notes = sorted(performance.notes.values(), key=lambda note: (note[0][0], note[0][2]))
        start, end, pitch, velocity = np.array([note for note, _ in notes], dtype=np.float64).reshape(-1, 4).T
        sustain, extended = performance.controls.get("sustain", []), reading.pedal == "extend"
        if extended:
            voice = pitch.astype(np.int64)
            end = extend_ends(start, end, voice, np.zeros_like(voice), sustain, last)
        columns: dict[str, Column] = {
            "start": performance.seconds(start) if notes else start,
            "end": performance.seconds(end) if notes else end,
            "pitch": to_hertz(pitch, "notes", "MIDI"),
            "velocity": velocity.copy(),
        }
        treated, remarks = told_pedal(sustain, extended=extended)
        attrs: dict[str, Attribute] = {"source": str(name), **treated}
        found = Annotation("notes", columns, lines=[line for _, line in notes], attrs=attrs, account=tuple(remarks))
    account = Account(str(name), FORMATS["match"].silent)
    if repeated:
        message = f"repeats {counted(len(repeated), 'line')} of notes, each of which is read once"
        account.add("repeated_rows", message, line=repeated[0], count=len(repeated))
    return replace(found, account=(*found.account, *account.remarks))
