"""MIDI files: notes, hits and pedals of all tracks are read, in seconds; notes and hits are written.

Damaged files are refused, and unknown chunks skipped with a remark. Notes that end under the sustain pedal may be
extended. Other readers decode files, convert ticks and find pedals by functions from here.
"""

from __future__ import annotations

import os
import re
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..annotations.account import Account, Remark
from ..annotations.annotation import Annotation
from ..annotations.labelled import from_dataset
from ..errors import AnnotationError, InvalidAnnotationError, UnreadableError, counted
from ..ragged import Column, Float, Int
from ..theory.general_midi import BENT, DRUMS, FAMILIES, PEDALS, PROGRAMS, SUSTAIN, WHEEL
from ..theory.pitch import hz_to_midi, to_hertz
from .formats import FORMATS
from .options import Instrument, Reading

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

_HEADER, _TRACK = b"MThd", b"MTrk"
_SYSEX, _META = (0xF0, 0xF7), 0xFF
_SOUND_OFF = 120
_NOTES_OFF = (_SOUND_OFF, 123, 124, 125, 126, 127)
"""Controllers that end all notes of a channel: all sound off, all notes off, and changes of mode, which imply it."""
_BROKEN = (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, struct.error)


def parse_midi(data: bytes, reading: Reading, format: str = "midi", name: str | Path = "<bytes>") -> Annotation:
    """Read notes, hits or pedals from the bytes of a MIDI file.

    Notes are sorted by start and pitch, with velocities, programs, a column for percussion, and instruments as labels;
    the attribute ``pedal`` says how the sustain pedal was treated, if it is used. Hits are the notes of channel 10,
    sorted by time and pitch, with velocities and with pitches as labels. Pedals are intervals, sorted by start.
    """
    if reading.kind not in ("notes", "hits", "pedals"):
        raise InvalidAnnotationError(f"MIDI files hold notes, not {reading.kind}", path=name)
    account = Account(str(name), FORMATS["midi"].silent)
    file = decode_midi(data, name, account)
    if file.type == 2 and len(file.tracks) > 1:
        raise InvalidAnnotationError(f"holds {len(file.tracks)} pieces (a MIDI file of type 2), not one", path=name)
    if reading.kind == "hits":
        return _hits(file, name, account)
    clock = Clock.of(file, name)
    last, extend = 0, reading.pedal == "extend"
    if extend or reading.kind == "pedals":
        last = max((sum(int(message.time) for message in track) for track in file.tracks), default=0)
    if reading.kind == "pedals":
        moved = {pedal: controls(file, number) for pedal, number in PEDALS.items()}
        for pedal, events in moved.items():
            final = {channel: (tick, value) for tick, channel, value in sorted(events, key=itemgetter(0))}
            if held := [tick for tick, value in final.values() if value >= DOWN]:
                since = clock.seconds(np.array(held)).max()
                message = f"the {pedal} pedal that is down from {since:.6g} s on is not released: it ends with the file"
                account.add("unended", message)
        return replace(pedals_down(moved, last, clock.seconds, name), account=account.remarks)
    presses = controls(file, SUSTAIN)
    found = pitched_notes(file, reading, clock, account, in_order=extend)
    if extend:
        table = np.array([(note.start, note.end, note.channel, note.pitch) for note in found], dtype=np.int64)
        starts, given, channels, keys = table.reshape(-1, 4).T
        voices = channels * 128 + keys
        ends = extend_ends(starts.astype(float), given.astype(float), voices, channels, presses, float(last))
        for tick, muted, _ in controls(file, _SOUND_OFF):  # ends them under the pedal, too
            ends = np.where((channels == muted) & (ends > tick) & (given <= tick), tick, ends)
        found = [note._replace(end=int(tick)) for note, tick in zip(found, ends.tolist(), strict=True)]
    found.sort(key=itemgetter(0, 2))  # start and pitch
    start, end, pitch, velocity, program, channel, *_ = zip(*found, strict=True) if found else [()] * 6
    times = {"start": clock.seconds(np.array(start, np.int64)), "end": clock.seconds(np.array(end, np.int64))}
    drum = np.array(channel) == _DRUM_CHANNEL
    numbers: dict[str, Any] = {"pitch": pitch, "velocity": velocity, "program": program, "drum": drum}
    columns = times | {name: np.array(values, dtype=np.float64) for name, values in numbers.items()}
    columns["pitch"] = to_hertz(columns["pitch"], "notes", "MIDI")
    treated, remarks = told_pedal(presses, extended=extend)
    # MIDI files have no lines that errors could name.
    names: dict[tuple[int, int, str], str] = {}
    labels = [names.get(key := note[4:7]) or names.setdefault(key, note.label(reading.instrument)) for note in found]
    attrs = {"source": str(name), **treated}
    return Annotation("notes", columns, labels, lines=(), attrs=attrs, account=(*remarks, *account.remarks))


def messages_of(file: mido.MidiFile, kind: str) -> Iterator[tuple[int, Any]]:
    """The messages of a type with their ticks, in track order."""
    for track in file.tracks:
        for tick, message in zip(accumulate(message.time for message in track), track, strict=True):
            if message.type == kind:
                yield tick, message


def controls(file: mido.MidiFile, number: int) -> list[tuple[int, int, int]]:
    """Tick, channel and value of each event of a controller, in track order."""
    events = messages_of(file, "control_change")
    return [(tick, message.channel, message.value) for tick, message in events if message.control == number]


def _hits(file: mido.MidiFile, name: str | Path, account: Account) -> Annotation:
    found, others = [], defaultdict[int, int](int)
    for tick, message in messages_of(file, "note_on"):
        if message.channel == _DRUM_CHANNEL and message.velocity:
            found.append((tick, message.note, message.velocity))
        elif message.velocity:
            others[message.channel] += 1
    if len(others) == 1 and not found:
        remedy = "put drums on channel 10, as pretty_midi does with is_drum=True"
        message = f"all notes are on channel {min(others) + 1}, none on the percussion channel 10: {remedy}"
        raise InvalidAnnotationError(message, path=name)
    if others and not found:
        count = sum(others.values())
        listed = ", ".join(str(channel + 1) for channel in sorted(others))
        message = f"{counted(count, 'note')} of other channels than percussion not read (channels {listed})"
        account.add("channels", message, count=count)
    ticks, pitch, velocity = np.array(sorted(found), dtype=np.int64).reshape(-1, 3).T
    columns = {"time": Clock.of(file, name).seconds(ticks), "velocity": velocity.astype(np.float64)}
    labels = list(map(str, pitch.tolist()))
    return Annotation("hits", columns, labels, lines=(), attrs={"source": str(name)}, account=account.remarks)


def decode_midi(data: bytes, name: str | Path, account: Account) -> mido.MidiFile:
    """Decode the bytes of a MIDI file; chunks of unknown types are skipped, as the standard says."""
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
    # The chunks that are neither the header nor one of the tracks that it announces are left out.
    place, announced = 8 + int.from_bytes(data[4:8]), int.from_bytes(data[10:12])
    parts, unknown, tracks = [data[:place]], list[str](), 0
    while len(data) - place >= 8:
        kind, end = data[place : place + 4], place + 8 + int.from_bytes(data[place + 4 : place + 8])
        if not (kind.isascii() and kind.decode("ascii").isprintable()):
            break
        if kind == _TRACK and tracks < announced:
            parts.append(data[place:end])
            tracks += 1
        else:
            unknown.append(kind.decode("ascii"))
        place = end
    beyond = unknown.count(_TRACK.decode())
    if beyond:
        account.add("chunks", f"{counted(beyond, 'track')} beyond the {announced} of the header not read")
    if len(unknown) > beyond:
        listed = ", ".join(dict.fromkeys(repr(chunk) for chunk in unknown if chunk != _TRACK.decode()))
        message = f"{counted(len(unknown) - beyond, 'chunk')} of an unknown type skipped: {listed}"
        account.add("chunks", message, count=len(unknown) - beyond)
    if tracks < announced:  # damaged, which decoding reports
        parts.append(data[place:])
    elif place < len(data):
        account.add("chunks", f"{counted(len(data) - place, 'byte')} after the last track not read")
    known = b"".join(parts)
    if any(byte in data for byte in _SYSEX):
        _demand_status(known, name)
    try:
        file = mido.MidiFile(file=BytesIO(known))
    except EOFError:
        raise UnreadableError("is not a complete MIDI file: it is truncated", path=name) from None
    except (*_BROKEN, mido.KeySignatureError) as error:
        raise UnreadableError(f"is not a MIDI file: {error}", path=name) from None
    if any(message.time >= _MOST_TICKS for track in file.tracks for message in track):
        raise UnreadableError("is not a MIDI file: holds a time of more than four bytes", path=name)
    return file


def _demand_status(data: bytes, name: str | Path) -> None:
    """Raise if an event without a status follows a system-exclusive one, after which its status is unknown."""
    place, end, status = 8 + int.from_bytes(data[4:8]), 0, 0
    while place < len(data):
        if place >= end:  # the next track
            place, end, status = place + 8, place + 8 + int.from_bytes(data[place + 4 : place + 8]), 0
        while place < len(data) and data[place] >= 0x80:
            place += 1  # time
        place += 1
        if place >= len(data):
            return
        if data[place] < 0x80 and status in _SYSEX:
            message = f"running status after a system-exclusive message (byte {place})"
            raise UnreadableError(f"is not a MIDI file: {message}", path=name)
        current = data[place] if data[place] >= 0x80 else status
        place += data[place] >= 0x80
        if current == _META or current in _SYSEX:
            place += current == _META
            length = 0
            while place < len(data) and data[place] >= 0x80:
                length, place = length << 7 | data[place] & 0x7F, place + 1
            if place < len(data):
                place += 1 + (length << 7 | data[place])
        else:
            place += 1 if 0xC0 <= current < 0xE0 else 2
        status = status if current == _META else current


class _Note(NamedTuple):
    """A note, or an event that starts or ends notes."""

    start: int
    """Tick at which it starts, or of the event."""
    end: int
    pitch: int = 0
    velocity: int = 0
    program: int = 0
    channel: int = 0
    title: str = ""
    track: int = 0
    kind: str = "on"
    """``on``, ``off``, or ``silence``, which ends all notes of the channel."""
    bend: float = 0.0
    """Position of the wheel, as if it bent by two semitones at most."""

    def label(self, instrument: Instrument) -> str:
        """The name of its instrument."""
        if instrument == "track" and self.title:
            return self.title
        if self.channel == _DRUM_CHANNEL:
            return DRUMS
        return FAMILIES[self.program // 8] if instrument == "family" else PROGRAMS[self.program]


def pitched_notes(
    file: mido.MidiFile, reading: Reading, clock: Clock, account: Account, *, in_order: bool
) -> list[_Note]:
    """The notes of a file, in the order of their tracks and ends, and percussion if it is read.

    A note-off ends all notes of its pitch in its track and channel or, if `in_order`, the one that started first. Notes
    that have no end there end with another track of the channel, if they end at all.
    """
    notes, unended, spare, bends, struck = list[_Note](), list[_Note](), list[_Note](), list[float](), 0
    for number, track in enumerate(file.tracks):
        events = list(_events_of(track, number))
        if not reading.drums and any(event.channel == _DRUM_CHANNEL for event in events):
            struck += sum(event.channel == _DRUM_CHANNEL and event.kind == "on" for event in events)
            events = [event for event in events if event.channel != _DRUM_CHANNEL]
        spare += [event for event in events if event.kind == "silence"]
        bends += [bend for event in events if (bend := event.bend) and not -BENT < bend < BENT]
        ended, begun, unused = _paired(events, in_order=in_order)
        notes += ended
        unended += begun
        spare += unused
    if unended:
        merged = sorted([*unended, *spare], key=lambda event: (event.start, event.kind == "on"))
        ended, unended, _ = _paired(merged, in_order=in_order)
        notes += ended
    if unended:
        since = clock.seconds(np.array([min(event.start for event in unended)]))[0]
        message = f"{counted(len(unended), 'note')} without an end, left out; the first starts at {since:.6g} s"
        account.add("unended", message, count=len(unended))
    if bends:
        most = max(bends, key=abs) / WHEEL
        starts = "starts" if len(bends) == 1 else "start"
        bent = f"{counted(len(bends), 'note')} that {starts} bent by up to {most:+.3g} semitones"
        message = f"{bent}; bends are not applied"
        account.add("bends", message, count=len(bends))
    if struck and not notes:
        message = f"{counted(struck, 'note')} of percussion (channel 10) left out; drums: true (--drums) reads them"
        account.add("percussion", message, count=struck)
    return notes


def _events_of(track: mido.MidiTrack, number: int) -> Iterator[_Note]:
    """The events of a track that start or end notes, with the program and the bend at each start."""
    programs, wheels = defaultdict[int, int](int), defaultdict[int, int](int)
    parameters = defaultdict[int, dict[int, int]](dict)
    ranges = defaultdict[int, int](lambda: 2)
    title = track.name.strip()
    tick = 0
    for message in track:
        tick += message.time
        kind = message.type
        if kind == "note_on" and message.velocity:
            channel, program = message.channel, programs[message.channel]
            bend = wheels[channel] * ranges[channel] / 2 if wheels else 0.0
            yield _Note(tick, tick, message.note, message.velocity, program, channel, title, number, "on", bend)
        elif kind in ("note_on", "note_off"):
            yield _Note(tick, tick, message.note, channel=message.channel, kind="off")
        elif kind == "program_change":
            programs[message.channel] = message.program
        elif kind == "pitchwheel":
            wheels[message.channel] = message.pitch
        elif kind == "control_change" and message.control in _NOTES_OFF:
            yield _Note(tick, tick, channel=message.channel, kind="silence")
        elif kind == "control_change" and message.control in (100, 101):
            parameters[message.channel][message.control] = message.value
        elif kind == "control_change" and message.control == 6 and parameters[message.channel] == {100: 0, 101: 0}:
            ranges[message.channel] = message.value  # the range of bends


def _paired(events: Iterable[_Note], *, in_order: bool) -> tuple[list[_Note], list[_Note], list[_Note]]:
    """The notes that events form, the starts without an end, and the ends without a start."""
    notes, unused = list[_Note](), list[_Note]()
    sounding = defaultdict[tuple[int, int], list[_Note]](list)
    for event in events:
        kind, voice = event.kind, (event.channel, event.pitch)
        if kind == "on":
            sounding[voice].append(event)
            continue
        if kind == "off" and len(started := sounding.get(voice, [])) == 1:  # as usual
            notes.append(started[0]._replace(end=event.start))
            del sounding[voice]
        elif kind == "silence":
            for other in [voice for voice in sounding if voice[0] == event.channel]:
                notes += [note._replace(end=event.start) for note in sounding[other] if note.start < event.start]
                sounding[other] = [note for note in sounding[other] if note.start == event.start]
        elif not sounding.get(voice):
            unused.append(event)
        elif in_order:
            notes.append(sounding[voice].pop(0)._replace(end=event.start))
        else:
            started = sounding.pop(voice)
            earlier = [note for note in started if note.start < event.start]
            # A note that starts at the tick at which others end is not ended by them.
            if earlier and len(earlier) < len(started):
                sounding[voice] = [note for note in started if note.start == event.start]
            notes += [note._replace(end=event.start) for note in earlier or started]
    return notes, [note for started in sounding.values() for note in started], unused


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
            ordered = sorted(messages_of(file, "set_tempo"), key=itemgetter(0))
            changes = {0: _DEFAULT_TEMPO} | {tick: message.tempo for tick, message in ordered}
            halt = next((tick for tick, tempo in changes.items() if not tempo), None)
            if halt is not None:
                message = f"invalid tempo of 0 microseconds a beat at tick {halt}: expected a positive number"
                raise InvalidAnnotationError(message, path=name)
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
    programs: list[tuple[int, int]] = []  # of each channel
    if one.kind == "hits":
        labels = list(one.labels or ())
        odd = next((label for label in labels if not label.isdecimal()), None)
        if odd is not None:
            raise AnnotationError(f"cannot write the hit {odd!r}: labels must be General MIDI numbers of percussion")
        pitch, channel = np.array(labels, dtype=np.float64), np.full(len(labels), _DRUM_CHANNEL)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            pitch = np.round(hz_to_midi(one.columns["pitch"]))
        program = np.nan_to_num(one.columns.get("program", np.zeros(len(pitch))))
        drum = np.nan_to_num(one.columns.get("drum", np.zeros(len(pitch)))) > 0
        used = np.unique(program[~drum])
        free = [place for place in range(16) if place != _DRUM_CHANNEL]
        if len(used) > len(free):
            raise AnnotationError(f"cannot write {len(used)} programs: a MIDI file has {len(free)} channels for them")
        channel = np.full(len(pitch), _DRUM_CHANNEL, dtype=np.int64)
        channel[~drum] = np.array(free)[np.searchsorted(used, program[~drum])]
        programs = [(free[index], int(number)) for index, number in enumerate(used.tolist())]
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


DOWN = 64
"""Minimum value of a controller whose pedal is down."""


UNUSED = "has a sustain pedal (controller 64), which is ignored: its notes end with their keys (pedal: extend)"


def told_pedal(presses: Sequence[tuple[float, int, int]], *, extended: bool) -> tuple[dict[str, str], list[Remark]]:
    """The attribute of notes whose ends a sustain pedal extends, or a remark if it is ignored."""
    if all(value < DOWN for _, _, value in presses):
        return {}, []
    return ({"pedal": "extended"}, []) if extended else ({}, [Remark("pedal", UNUSED)])


def extend_ends(
    start: Float, end: Float, voice: Int, channel: Int, presses: Sequence[tuple[float, int, int]], last: float
) -> Float:
    """Return the ends of notes under the sustain pedal, in ticks or seconds.

    A note that ends while the pedal of its channel is down sounds until the pedal is released or the next note of its
    pitch starts, whichever comes first, or until the last event if the pedal stays down. Notes are never shortened. A
    voice is one number for each channel and pitch. Events of the pedal are in file order; at the same time, the last
    event of a channel counts.

    References
    ----------
    MIREX 2024, polyphonic transcription.
    """
    found = end.copy()
    for pedalled in {channel for _, channel, _ in presses}:
        times = np.array([time for time, number, _ in presses if number == pedalled], dtype=np.float64)
        down = np.array([value >= DOWN for _, number, value in presses if number == pedalled], dtype=np.bool_)
        order = np.argsort(times, kind="stable")
        times, down = times[order], down[order]
        # Next release of the pedal after each event; without one, the pedal is down until the last event.
        release = np.minimum.accumulate(np.append(np.where(down, np.inf, times), last)[::-1])[::-1]
        items = np.flatnonzero(channel == pedalled)
        state = np.searchsorted(times, end[items], side="right") - 1
        until = np.where((state >= 0) & down[state], release[state], end[items])
        # The next start of a note of the same voice after a note's start and not before its end; infinite if none.
        following = np.full(len(items), np.inf)
        by_voice = np.lexsort((start[items], voice[items]))
        for notes in np.split(by_voice, np.flatnonzero(np.diff(voice[items][by_voice])) + 1):
            begins, ends = np.append(start[items[notes]], np.inf), end[items[notes]]
            later = np.searchsorted(begins, begins[:-1], side="right")
            following[notes] = begins[np.maximum(np.searchsorted(begins, ends, side="left"), later)]
        found[items] = np.maximum(end[items], np.minimum(until, following))
    return found


def pedals_down(
    presses: Mapping[str, Sequence[tuple[int, int, int]]], last: int, seconds: Callable[[Int], Float], name: str | Path
) -> Annotation:
    """The intervals in which pedals are down, by start, end and name.

    `presses` are (tick, channel, value) by pedal, in file order; pedals that are never released end at the tick `last`.
    """
    intervals: list[tuple[int, int, str]] = []
    for pedal, events in presses.items():
        begun: dict[int, int] = {}
        for tick, channel, value in sorted(events, key=itemgetter(0)):
            if value >= DOWN:
                begun.setdefault(channel, tick)
            elif channel in begun:
                intervals.append((begun.pop(channel), tick, pedal))
        intervals += [(tick, max(last, tick), pedal) for tick in begun.values()]
    intervals.sort()
    ticks = np.array([ends for *ends, _ in intervals], dtype=np.int64).reshape(-1, 2)
    times = seconds(ticks) if intervals else np.zeros((0, 2))
    columns: dict[str, Column] = {"start": times[:, 0].copy(), "end": times[:, 1].copy()}
    return Annotation("pedals", columns, [pedal for *_, pedal in intervals], lines=(), attrs={"source": str(name)})
