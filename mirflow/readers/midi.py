"""Names of the 128 programs of General MIDI, counted from 0."""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError, UnreadableError
from ..ragged import Float, Int
from ..theory.pitch import to_hertz
from .options import Reading

if TYPE_CHECKING:
    import mido

DRUMS = "Drums"
"""Label of the notes of channel 10, where they are taken."""

PROGRAMS: tuple[str, ...] = (
    *("Acoustic Grand Piano", "Bright Acoustic Piano", "Electric Grand Piano", "Honky-tonk Piano"),
    *("Electric Piano 1", "Electric Piano 2", "Harpsichord", "Clavinet"),
    *("Celesta", "Glockenspiel", "Music Box", "Vibraphone", "Marimba", "Xylophone", "Tubular Bells", "Dulcimer"),
    *("Drawbar Organ", "Percussive Organ", "Rock Organ", "Church Organ"),
    *("Reed Organ", "Accordion", "Harmonica", "Tango Accordion"),
    *("Acoustic Guitar (nylon)", "Acoustic Guitar (steel)", "Electric Guitar (jazz)", "Electric Guitar (clean)"),
    *("Electric Guitar (muted)", "Overdriven Guitar", "Distortion Guitar", "Guitar Harmonics"),
    *("Acoustic Bass", "Electric Bass (finger)", "Electric Bass (pick)", "Fretless Bass"),
    *("Slap Bass 1", "Slap Bass 2", "Synth Bass 1", "Synth Bass 2"),
    *("Violin", "Viola", "Cello", "Contrabass"),
    *("Tremolo Strings", "Pizzicato Strings", "Orchestral Harp", "Timpani"),
    *("String Ensemble 1", "String Ensemble 2", "Synth Strings 1", "Synth Strings 2"),
    *("Choir Aahs", "Voice Oohs", "Synth Choir", "Orchestra Hit"),
    *("Trumpet", "Trombone", "Tuba", "Muted Trumpet", "French Horn", "Brass Section", "Synth Brass 1", "Synth Brass 2"),
    *("Soprano Sax", "Alto Sax", "Tenor Sax", "Baritone Sax", "Oboe", "English Horn", "Bassoon", "Clarinet"),
    *("Piccolo", "Flute", "Recorder", "Pan Flute", "Blown Bottle", "Shakuhachi", "Whistle", "Ocarina"),
    *("Lead 1 (square)", "Lead 2 (sawtooth)", "Lead 3 (calliope)", "Lead 4 (chiff)"),
    *("Lead 5 (charang)", "Lead 6 (voice)", "Lead 7 (fifths)", "Lead 8 (bass + lead)"),
    *("Pad 1 (new age)", "Pad 2 (warm)", "Pad 3 (polysynth)", "Pad 4 (choir)"),
    *("Pad 5 (bowed)", "Pad 6 (metallic)", "Pad 7 (halo)", "Pad 8 (sweep)"),
    *("FX 1 (rain)", "FX 2 (soundtrack)", "FX 3 (crystal)", "FX 4 (atmosphere)"),
    *("FX 5 (brightness)", "FX 6 (goblins)", "FX 7 (echoes)", "FX 8 (sci-fi)"),
    *("Sitar", "Banjo", "Shamisen", "Koto", "Kalimba", "Bagpipe", "Fiddle", "Shanai"),
    *("Tinkle Bell", "Agogo", "Steel Drums", "Woodblock", "Taiko Drum", "Melodic Tom", "Synth Drum", "Reverse Cymbal"),
    *("Guitar Fret Noise", "Breath Noise", "Seashore", "Bird Tweet"),
    *("Telephone Ring", "Helicopter", "Applause", "Gunshot"),
)

_DRUM_CHANNEL = 9  # channel 10 of the standard, which counts from 1
_DEFAULT_TEMPO = 500_000  # microseconds a beat, until the file sets another
MOST_BYTES = 2**22
"""Larger files hold millions of messages, each of which takes some microseconds and 300 bytes when decoded."""
_MOST_TICKS = 2**28
"""More than the four bytes of a number can hold."""
# Each byte of a number that goes on for ever makes it larger, and the next one slower. Text may have such bytes, too.
_ENDLESS = re.compile(rb"[\x80-\xff]{4096}")

_HEADER = b"MThd"
_BROKEN = (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, struct.error)


def parse_midi(data: bytes, reading: Reading, name: str | Path = "<bytes>") -> Annotation:
    """The notes in the bytes of a MIDI file.

    Parameters
    ----------
    reading : Reading
        ``drums``: whether percussion is taken; ``instrument``: what labels the notes.
    name : path
        Name of the file in messages, and its ``source``.

    Returns
    -------
    Annotation
        Of kind ``notes``, by start and pitch, with velocities and the instruments as labels. A note that ends when it
        starts has no length.
    """
    if reading.kind != "notes":
        raise InvalidAnnotationError(f"a MIDI file holds notes, not {reading.kind}", path=name)
    file = _decode(data, name)
    if file.type == 2 and len(file.tracks) > 1:
        raise InvalidAnnotationError(f"holds {len(file.tracks)} pieces (a MIDI file of type 2), not one", path=name)
    found = [note for track in file.tracks for note in _notes(track, reading.drums, reading.instrument)]
    found.sort(key=lambda note: (note.start, note.pitch))
    clock = _Clock.of(file, name)
    columns = {
        "start": clock.seconds(np.array([note.start for note in found], dtype=np.int64)),
        "end": clock.seconds(np.array([note.end for note in found], dtype=np.int64)),
        "pitch": to_hertz(np.array([note.pitch for note in found], dtype=np.float64), "notes", "MIDI"),
        "velocity": np.array([note.velocity for note in found], dtype=np.float64),
    }
    # A MIDI file has no lines that an error could name.
    return Annotation("notes", columns, [note.instrument for note in found], lines=(), attrs={"source": str(name)})


def _decode(data: bytes, name: str | Path) -> mido.MidiFile:
    import mido

    if not data:
        raise UnreadableError("is empty, not a MIDI file", path=name)
    if not data.startswith(_HEADER):
        raise UnreadableError("is not a MIDI file: it does not begin with a MIDI header (MThd)", path=name)
    if len(data) > MOST_BYTES:
        limit = f"{len(data) / 2**20:.0f} MB is over the limit of {MOST_BYTES / 2**20:.0f} MB for MIDI files"
        raise UnreadableError(f"too large: {limit}", path=name)
    if _ENDLESS.search(data):
        raise UnreadableError("is not a MIDI file: holds a number that does not end", path=name)
    try:
        file = mido.MidiFile(file=BytesIO(data))
    except EOFError:
        raise UnreadableError("is not a whole MIDI file: it ends in the middle", path=name) from None
    except (*_BROKEN, mido.KeySignatureError) as error:
        raise UnreadableError(f"is not a MIDI file: {error}", path=name) from None
    if any(message.time >= _MOST_TICKS for track in file.tracks for message in track):
        raise UnreadableError("is not a MIDI file: holds a time of more than four bytes", path=name)
    return file


@dataclass(frozen=True, slots=True)
class _Note:
    """One note, in ticks."""

    start: int
    end: int
    pitch: int
    velocity: int
    instrument: str


def _notes(track: mido.MidiTrack, drums: bool, instrument: str) -> Iterator[_Note]:
    programs: dict[int, int] = defaultdict(int)
    title = track.name.strip() if instrument == "track" else ""
    sounding: dict[tuple[int, int], list[tuple[int, int, str]]] = defaultdict(list)
    tick = 0
    for message in track:
        tick += message.time
        kind = message.type
        if kind == "note_on" and message.velocity:
            channel = message.channel
            if drums or channel != _DRUM_CHANNEL:
                label = title or (DRUMS if channel == _DRUM_CHANNEL else PROGRAMS[programs[channel]])
                sounding[channel, message.note].append((tick, message.velocity, label))
        elif kind in ("note_off", "note_on"):
            started = sounding.pop((message.channel, message.note), ())
            earlier = [note for note in started if note[0] < tick]
            # What starts at the tick at which others end is the next note, not another end of it.
            if earlier and len(earlier) < len(started):
                sounding[message.channel, message.note] = [note for note in started if note[0] == tick]
            for start, velocity, label in earlier or started:
                yield _Note(start, tick, message.note, velocity, label)
        elif kind == "program_change":
            programs[message.channel] = message.program
    for (_, pitch), started in sounding.items():
        for start, velocity, label in started:
            yield _Note(start, tick, pitch, velocity, label)


@dataclass(frozen=True)
class _Clock:
    """The times of ticks: from each change of the tempo on, seconds go by at another rate."""

    ticks: Int
    times: Float
    rates: Float

    @classmethod
    def of(cls, file: mido.MidiFile, name: str | Path) -> _Clock:
        """The clock of a file, whose tempi may be in any of its tracks."""
        division = file.ticks_per_beat
        if division > 0:
            # Of several changes at one tick the last holds.
            ordered = sorted(_tempi(file), key=itemgetter(0))
            changes = {0: _DEFAULT_TEMPO} | dict(ordered)
            per_tick = {tick: tempo / 1e6 / division for tick, tempo in changes.items()}
        else:  # minus the frames of film a second, and ticks a frame
            ticks_a_second = -(division >> 8) * (division & 0xFF)
            if not ticks_a_second:
                raise UnreadableError("is not a MIDI file: no ticks a beat", path=name)
            per_tick = {0: 1 / ticks_a_second}
        ticks_of, rates = np.array(list(per_tick), dtype=np.int64), np.array(list(per_tick.values()))
        times = np.concatenate([[0.0], np.cumsum(np.diff(ticks_of) * rates[:-1])])
        return cls(ticks_of, times, rates)

    def seconds(self, ticks: Int) -> Float:
        """Times of ticks, seconds."""
        change = np.searchsorted(self.ticks, ticks, side="right") - 1
        return np.asarray(self.times[change] + (ticks - self.ticks[change]) * self.rates[change], dtype=np.float64)


def _tempi(file: mido.MidiFile) -> Iterator[tuple[int, int]]:
    """Ticks at which the tempo changes, and the tempo in microseconds a beat."""
    for track in file.tracks:
        tick = 0
        for message in track:
            tick += message.time
            if message.type == "set_tempo":
                yield tick, message.tempo
