"""MIDI files: notes, hits and pedals of all tracks are read, in seconds; notes and hits are written."""

from __future__ import annotations

import os
import re
import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.labelled import from_dataset
from ..errors import AnnotationError, InvalidAnnotationError, UnreadableError
from ..ragged import Float, Int
from ..theory.general_midi import DRUMS, FAMILIES, PEDALS, PROGRAMS, SUSTAIN
from ..theory.pitch import hz_to_midi, to_hertz
from .options import Instrument, Reading
from .sustain import extend_ends, stretches, told_pedal

if TYPE_CHECKING:
    import mido
    import xarray as xr

_DRUM_CHANNEL = 9  # channel 10 of the standard, counted from 1
_DEFAULT_TEMPO = 500_000  # microseconds a beat, until the file sets another
MOST_BYTES = 2**22
"""Larger files hold millions of messages; decoding takes some microseconds and 300 bytes for each."""
_MOST_TICKS = 2**28
"""More than the four bytes of a number can hold."""
# Decoding an endless number takes quadratic time. Text may contain such bytes, too.
_ENDLESS = re.compile(rb"[\x80-\xff]{4096}")

_HEADER = b"MThd"
_BROKEN = (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, struct.error)


def parse_midi(data: bytes, reading: Reading, format: str = "midi", name: str | Path = "<bytes>") -> Annotation:
    """Read notes, hits or pedals from the bytes of a MIDI file.

    Notes are sorted by start and pitch, with velocities, programs, a column for percussion, and instruments as labels;
    the attribute ``pedal`` says how the sustain pedal was treated, if it is used. Hits are the notes of channel 10,
    sorted by time and pitch, with velocities and with pitches as labels. Pedals are intervals, sorted by start.
    """
    if reading.kind not in ("notes", "hits", "pedals"):
        raise InvalidAnnotationError(f"MIDI files hold notes, not {reading.kind}", path=name)
    file = decode_midi(data, name)
    if file.type == 2 and len(file.tracks) > 1:
        raise InvalidAnnotationError(f"holds {len(file.tracks)} pieces (a MIDI file of type 2), not one", path=name)
    if reading.kind == "hits":
        return _hits(file, name)
    if reading.kind == "pedals":
        return _pedals(file, name)
    presses, extend = controls(file, SUSTAIN), reading.pedal == "extend"
    found = [note for track in file.tracks for note in notes_of(track, in_order=extend)]
    if extend:
        found = _extended(found, presses, _last(file))
    found = [note for note in found if reading.drums or not note.drum]
    found.sort(key=lambda note: (note.start, note.pitch))
    clock = Clock.of(file, name)
    columns = {
        "start": clock.seconds(np.array([note.start for note in found], dtype=np.int64)),
        "end": clock.seconds(np.array([note.end for note in found], dtype=np.int64)),
        "pitch": to_hertz(np.array([note.pitch for note in found], dtype=np.float64), "notes", "MIDI"),
        "velocity": np.array([note.velocity for note in found], dtype=np.float64),
        "program": np.array([note.program for note in found], dtype=np.float64),
        "drum": np.array([note.drum for note in found], dtype=np.float64),
    }
    attrs = {"source": str(name), **told_pedal(presses, extended=extend)}
    # MIDI files have no lines that errors could name.
    labels = [note.label(reading.instrument) for note in found]
    return Annotation("notes", columns, labels, lines=(), attrs=attrs)


def _last(file: mido.MidiFile) -> int:
    return max((sum(int(message.time) for message in track) for track in file.tracks), default=0)


def _pedals(file: mido.MidiFile, name: str | Path) -> Annotation:
    """Times at which the pedals are down, by start and name."""
    held = {pedal: stretches(controls(file, number), _last(file)) for pedal, number in PEDALS.items()}
    found = sorted((*ends, pedal) for pedal, several in held.items() for ends in several)
    ticks = np.array([ends for *ends, _ in found], dtype=np.int64).reshape(-1, 2)
    clock = Clock.of(file, name)
    columns = {"start": clock.seconds(ticks[:, 0]), "end": clock.seconds(ticks[:, 1])}
    return Annotation("pedals", columns, [pedal for *_, pedal in found], lines=(), attrs={"source": str(name)})


def controls(file: mido.MidiFile, number: int) -> list[tuple[int, int, int]]:
    """Tick, channel and value of each event of a controller, in track order."""
    found = []
    for track in file.tracks:
        tick = 0
        for message in track:
            tick += message.time
            if message.type == "control_change" and message.control == number:
                found.append((tick, message.channel, message.value))
    return found


def _extended(notes: list[_Note], presses: Sequence[tuple[int, int, int]], last: int) -> list[_Note]:
    start, end, channel, pitch = (
        np.array([getattr(note, name) for note in notes], dtype=np.int64)
        for name in ("start", "end", "channel", "pitch")
    )
    ends = extend_ends(start.astype(float), end.astype(float), channel * 128 + pitch, channel, presses, last)
    return [replace(note, end=int(tick)) for note, tick in zip(notes, ends.tolist(), strict=True)]


def _hits(file: mido.MidiFile, name: str | Path) -> Annotation:
    found, channels = [], set()
    for track in file.tracks:
        tick = 0
        for message in track:
            tick += message.time
            if message.type == "note_on" and message.velocity:
                channels.add(message.channel)
                if message.channel == _DRUM_CHANNEL:
                    found.append((tick, message.note, message.velocity))
    if len(channels) == 1 and not found:
        remedy = "put drums on channel 10, as pretty_midi does with is_drum=True"
        message = f"all notes are on channel {channels.pop() + 1}, none on the percussion channel 10: {remedy}"
        raise InvalidAnnotationError(message, path=name)
    ticks, pitch, velocity = np.array(sorted(found), dtype=np.int64).reshape(-1, 3).T
    columns = {"time": Clock.of(file, name).seconds(ticks), "velocity": velocity.astype(np.float64)}
    return Annotation("hits", columns, list(map(str, pitch.tolist())), lines=(), attrs={"source": str(name)})


def decode_midi(data: bytes, name: str | Path) -> mido.MidiFile:
    """Decode the bytes of a MIDI file."""
    import mido

    if not data:
        raise UnreadableError("is empty, not a MIDI file", path=name)
    if not data.startswith(_HEADER):
        raise UnreadableError("is not a MIDI file: it does not begin with a MIDI header (MThd)", path=name)
    if len(data) > MOST_BYTES:
        limit = f"{len(data) / 2**20:.0f} MB is over the limit of {MOST_BYTES / 2**20:.0f} MB for MIDI files"
        raise UnreadableError(f"too large: {limit}", path=name)
    if _ENDLESS.search(data):
        raise UnreadableError("is not a MIDI file: holds an endless number", path=name)
    try:
        file = mido.MidiFile(file=BytesIO(data))
    except EOFError:
        raise UnreadableError("is not a complete MIDI file: it is truncated", path=name) from None
    except (*_BROKEN, mido.KeySignatureError) as error:
        raise UnreadableError(f"is not a MIDI file: {error}", path=name) from None
    if any(message.time >= _MOST_TICKS for track in file.tracks for message in track):
        raise UnreadableError("is not a MIDI file: holds a time of more than four bytes", path=name)
    return file


@dataclass(frozen=True, slots=True)
class _Note:
    start: int
    end: int
    pitch: int
    velocity: int
    program: int
    channel: int
    title: str

    @property
    def drum(self) -> bool:
        """True if it is percussion."""
        return self.channel == _DRUM_CHANNEL

    def label(self, instrument: Instrument) -> str:
        """The name of its instrument."""
        if instrument == "track" and self.title:
            return self.title
        if self.drum:
            return DRUMS
        return FAMILIES[self.program // 8] if instrument == "family" else PROGRAMS[self.program]


def notes_of(track: mido.MidiTrack, *, in_order: bool) -> Iterator[_Note]:
    """The notes of a track. A note-off ends all notes of its pitch or, if `in_order`, the one that started first."""
    programs: dict[int, int] = defaultdict(int)
    title = track.name.strip()
    sounding: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    tick = 0
    for message in track:
        tick += message.time
        kind = message.type
        if kind == "note_on" and message.velocity:
            channel = message.channel
            sounding[channel, message.note].append((tick, message.velocity, programs[channel]))
        elif kind in ("note_off", "note_on") and in_order:
            for start, velocity, program in sounding[message.channel, message.note][:1]:
                del sounding[message.channel, message.note][0]
                yield _Note(start, tick, message.note, velocity, program, message.channel, title)
        elif kind in ("note_off", "note_on"):
            started = sounding.pop((message.channel, message.note), ())
            earlier = [note for note in started if note[0] < tick]
            # A note that starts at the tick at which others end is not ended by them.
            if earlier and len(earlier) < len(started):
                sounding[message.channel, message.note] = [note for note in started if note[0] == tick]
            for start, velocity, program in earlier or started:
                yield _Note(start, tick, message.note, velocity, program, message.channel, title)
        elif kind == "program_change":
            programs[message.channel] = message.program
    for (channel, pitch), started in sounding.items():
        for start, velocity, program in started:
            yield _Note(start, tick, pitch, velocity, program, channel, title)


@dataclass(frozen=True)
class Clock:
    """Converts ticks to seconds, piecewise linearly between tempo changes."""

    ticks: Int
    times: Float
    rates: Float

    @classmethod
    def of(cls, file: mido.MidiFile, name: str | Path) -> Clock:
        """The clock of a file; tempi may be in any track."""
        division = file.ticks_per_beat
        if division > 0:
            # Of several changes at one tick, the last one applies.
            ordered = sorted(_tempi(file), key=itemgetter(0))
            changes = {0: _DEFAULT_TEMPO} | dict(ordered)
            per_tick = {tick: tempo / 1e6 / division for tick, tempo in changes.items()}
        else:  # minus the film frames per second, and ticks per frame
            ticks_a_second = -(division >> 8) * (division & 0xFF)
            if not ticks_a_second:
                raise UnreadableError("is not a MIDI file: it has no ticks per beat", path=name)
            per_tick = {0: 1 / ticks_a_second}
        ticks_of, rates = np.array(list(per_tick), dtype=np.int64), np.array(list(per_tick.values()))
        times = np.concatenate([[0.0], np.cumsum(np.diff(ticks_of) * rates[:-1])])
        return cls(ticks_of, times, rates)

    def seconds(self, ticks: Int) -> Float:
        """Times of ticks, seconds."""
        change = np.searchsorted(self.ticks, ticks, side="right") - 1
        return np.asarray(self.times[change] + (ticks - self.ticks[change]) * self.rates[change], dtype=np.float64)


def _tempi(file: mido.MidiFile) -> Iterator[tuple[int, int]]:
    for track in file.tracks:
        tick = 0
        for message in track:
            tick += message.time
            if message.type == "set_tempo":
                yield tick, message.tempo


_TICKS_A_BEAT = 25_000
"""Ticks per half second: a tick lasts 0.02 ms."""


def to_midi(annotation: Annotation | xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write notes, or hits of drums, as a MIDI file that `mirflow.load` reads back.

    Parameters
    ----------
    annotation : Annotation or xr.Dataset
        Notes, or hits whose labels are General MIDI numbers of percussion. Frequencies are rounded to the nearest MIDI
        number, times to 0.02 ms; the default velocity is 64. Each program gets a separate channel, percussion channel
        10. Names of instruments are not written.
    path : path
        An existing file is replaced.

    Raises
    ------
    AnnotationError
        For other kinds, pitches or velocities outside the MIDI range, negative or infinite times, and more than 15
        programs.

    Examples
    --------
    >>> import tempfile
    >>> notes = Annotation("notes", {"start": np.array([0.5]), "end": np.array([1.0]), "pitch": np.array([440.0])})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_midi(notes, f"{folder}/a.mid")
    ...     read = parse_midi(Path(f"{folder}/a.mid").read_bytes(), Reading.of("transcription"))
    >>> read.columns["pitch"].tolist(), read.columns["end"].tolist()
    ([440.0], [1.0])
    """
    import mido

    one = annotation if isinstance(annotation, Annotation) else from_dataset(annotation)
    if one.kind not in ("notes", "hits"):
        raise AnnotationError(f"MIDI files hold notes, not {one.kind}; use to_jams, to_lab or to_csv")
    pitch, channel, programs = _keys_of(one)
    velocity = one.columns.get("velocity", np.full(len(pitch), 64.0))
    velocity = np.where(np.isnan(velocity), 64.0, velocity).round()
    start = one.columns["start" if one.kind == "notes" else "time"]
    end = one.columns["end"] if one.kind == "notes" else start + 0.05
    for what, values, least, most in (
        ("pitch", pitch, 0, 127),
        ("velocity", velocity, 1, 127),
        ("start", start, 0, _MOST_SECONDS),
        ("end", end, 0, _MOST_SECONDS),
    ):
        wrong = np.flatnonzero(~((values >= least) & (values <= most)))
        if len(wrong):
            item = f"note {wrong[0] + 1}: {what} {values[wrong[0]]:g}"
            raise AnnotationError(f"{item} cannot be written: MIDI needs {what} from {least} to {most}")
    ticks = [np.rint(times * 2 * _TICKS_A_BEAT).astype(np.int64).tolist() for times in (start, end)]
    events = []
    for on, off, key, place, force in zip(*ticks, pitch.tolist(), channel.tolist(), velocity.tolist(), strict=True):
        # At the same tick, notes end before others begin, except notes that begin and end there.
        events.append((on, 1, place, int(key), int(force)))
        events.append((max(on, off), 0 if off > on else 2, place, int(key), 0))
    track = mido.MidiTrack([mido.MetaMessage("set_tempo", tempo=_DEFAULT_TEMPO)])
    track += [mido.Message("program_change", channel=place, program=number) for place, number in programs]
    now = 0
    for tick, _, place, key, force in sorted(events):
        track.append(mido.Message("note_on", channel=place, note=key, velocity=force, time=tick - now))
        now = tick
    track.append(mido.MetaMessage("end_of_track"))
    mido.MidiFile(type=0, ticks_per_beat=_TICKS_A_BEAT, tracks=[track]).save(path)


_MOST_SECONDS = 5000
"""Limit of times in written files, whose ticks then stay below `_MOST_TICKS`."""


def _keys_of(annotation: Annotation) -> tuple[Float, Int, list[tuple[int, int]]]:
    """MIDI number and channel of each note, and the program of each channel."""
    if annotation.kind == "hits":
        labels = list(annotation.labels or ())
        odd = next((label for label in labels if not label.isdecimal()), None)
        if odd is not None:
            raise AnnotationError(f"cannot write the hit {odd!r}: labels must be General MIDI numbers of percussion")
        return np.array(labels, dtype=np.float64), np.full(len(labels), _DRUM_CHANNEL), []
    frequency = annotation.columns["pitch"]
    with np.errstate(divide="ignore", invalid="ignore"):
        pitch: Float = np.round(hz_to_midi(frequency))
    program = np.nan_to_num(annotation.columns.get("program", np.zeros(len(pitch))))
    drum = np.nan_to_num(annotation.columns.get("drum", np.zeros(len(pitch)))) > 0
    used = np.unique(program[~drum])
    free = [place for place in range(16) if place != _DRUM_CHANNEL]
    if len(used) > len(free):
        raise AnnotationError(f"cannot write {len(used)} programs: a MIDI file has {len(free)} channels for them")
    channel = np.full(len(pitch), _DRUM_CHANNEL, dtype=np.int64)
    channel[~drum] = np.array(free)[np.searchsorted(used, program[~drum])]
    return pitch, channel, [(free[index], int(number)) for index, number in enumerate(used.tolist())]
