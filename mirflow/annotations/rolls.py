"""Piano rolls: notes, frames with pitches and pedals on a time grid, read back, and notes as multiple pitches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import InvalidAnnotationError
from ..ragged import Bool, Column, Float, Int, Ragged, offsets_of, ranges, rows_of
from ..theory.general_midi import PEDALS, pedal_of
from ..theory.pitch import hz_to_midi, midi_to_hz
from .annotation import Annotation
from .grids import MIDI_NUMBERS, GridArrays, GridForm, GridOptions, TimeGrid, Variables, codes_at, intervals_from_grid

_DIMS = ("time", "pitch")
HOP = 0.01
"""Default hop of the frames of MIDI files, in seconds."""
_MOST = 2**23
"""Maximum number of frames, and of pitches in them, of one annotation."""


def semitones(frequency: Float) -> Float:
    """Nearest MIDI numbers: float64 (n,); NaN or infinite if there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.rint(hz_to_midi(frequency))


def outside(frequency: Float) -> Bool:
    """Mask of frequencies above 0 that are outside of a roll: bool (n,)."""
    midi = semitones(frequency)
    return np.asarray((frequency > 0) & ((midi < 0) | (midi >= MIDI_NUMBERS)))


def notes_on_grid(rows: Ragged, grid: TimeGrid, options: GridOptions | None = None) -> Variables:
    """Make piano rolls of notes with pitches from MIDI 0 to 127, rounded to semitones.

    A note covers the stretches from the one in which it starts to before the one in which it ends, and at least one. Of
    overlapping notes of one pitch, the one that starts last is used. Variables are ``active`` and ``onset``, bool
    (rows, n, 128), and for notes with velocities ``velocity``, float32 (rows, n, 128), 0 if nothing sounds.
    """
    shape = (len(rows), len(grid), MIDI_NUMBERS)
    with_velocity = "velocity" in rows.columns
    active, onset = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    velocity = np.zeros(shape if with_velocity else 0, dtype=np.float32)
    first, stop = grid.frame_of(rows.columns["start"]), grid.frame_of(rows.columns["end"])
    kept = np.flatnonzero((first < len(grid)) & ((first >= 0) | (stop > 0)))
    kept = kept[np.argsort(rows.columns["start"][kept], kind="stable")]
    row, first, stop = rows_of(rows.counts[0])[kept], first[kept], stop[kept]
    pitch = semitones(rows.columns["pitch"][kept]).astype(np.int64)
    begun = first >= 0
    onset[row[begun], first[begun], pitch[begun]] = True
    first = np.maximum(first, 0)
    length = np.clip(stop, first + 1, len(grid)) - first
    frame = ranges(first, length)
    cell = (np.repeat(row, length) * len(grid) + frame) * MIDI_NUMBERS + np.repeat(pitch, length)
    active.reshape(-1)[cell] = True
    variables: Variables = {
        "active": (_DIMS, active, {"long_name": "whether a note sounds"}),
        "onset": (_DIMS, onset, {"long_name": "whether a note starts"}),
    }
    if with_velocity:
        velocity.reshape(-1)[cell] = np.repeat(rows.columns["velocity"][kept], length)
        variables["velocity"] = (_DIMS, velocity, {"long_name": "MIDI velocity of the note that sounds"})
    return variables


def pitches_on_grid(rows: Ragged, frames: Int, shape: tuple[int, int], voices: int) -> Variables:
    """Make piano rolls of frames with several pitches.

    `frames` has the frame at each time of the grid for each row, as an index into all frames; -1 for none. Variables
    are ``active``, bool (rows, n, 128), and ``frequency``, float64 (rows, n, `voices`): the pitches of a frame in Hz,
    then zeros.
    """
    active = np.zeros((*shape, MIDI_NUMBERS), dtype=np.bool_)
    counts = np.append(rows.counts[1], 0)[frames]
    item = ranges(np.append(offsets_of(rows.counts[1])[:-1], 0)[frames], counts)
    pitch = semitones(rows.columns["frequency"])[item].astype(np.int64)
    frame = np.repeat(np.arange(len(frames)), counts)
    active.reshape(-1)[frame * MIDI_NUMBERS + pitch] = True
    frequency = np.zeros((*shape, voices))
    frequency.reshape(-1)[frame * voices + ranges(np.zeros_like(counts), counts)] = rows.columns["frequency"][item]
    return {
        "active": (_DIMS, active, {"long_name": "whether a pitch sounds"}),
        "frequency": (("time", "voice"), frequency, {"long_name": "fundamental frequency, 0 for none", "units": "Hz"}),
    }


def notes_from_grid(arrays: GridArrays) -> Ragged:
    """Convert piano rolls to notes, sorted by start and pitch.

    A note starts at each ``onset``, if there is such an array, and whenever a pitch becomes ``active``; it lasts until
    the pitch ends or the next onset. Its ``velocity`` is taken at its start.
    """
    # Time is the last dim, so that sorted starts and stops belong to the same notes.
    active = arrays.values["active"].astype(np.bool_).transpose(0, 2, 1)
    starts = np.zeros(active.shape, dtype=np.bool_)
    if "onset" in arrays.values:
        starts |= arrays.values["onset"].astype(np.bool_).transpose(0, 2, 1)
        active = active | starts
    starts[..., :1] |= active[..., :1]
    starts[..., 1:] |= active[..., 1:] & ~active[..., :-1]
    stops = active.copy()
    stops[..., :-1] &= ~active[..., 1:] | starts[..., 1:]
    row, pitch, first = np.nonzero(starts)
    last = np.nonzero(stops)[2]
    order = np.lexsort((pitch, first, row))
    row, pitch, first, last = row[order], pitch[order], first[order], last[order]
    columns: dict[str, Column] = {
        "start": arrays.times[first],
        "end": arrays.ends[last],
        "pitch": np.asarray(midi_to_hz(arrays.pitches))[pitch],
    }
    if "velocity" in arrays.values:
        columns["velocity"] = arrays.values["velocity"][row, first, pitch].astype(np.float64)
    return Ragged(columns, (np.bincount(row, minlength=len(active)).astype(np.int64),))


def frames_from_grid(arrays: GridArrays) -> Ragged:
    """Convert piano rolls to frames with the ``active`` pitches at ``valid`` times.

    Pitches are those of ``frequency``, as long as they are the active ones.
    """
    valid = arrays.values["valid"].astype(np.bool_)
    row, frame = np.nonzero(valid)
    active = arrays.values["active"].astype(np.bool_)[row, frame]
    counts, frequency = active.sum(axis=1), np.asarray(midi_to_hz(arrays.pitches))[np.nonzero(active)[1]]
    if "frequency" in arrays.values and len(arrays.pitches):
        given = arrays.values["frequency"][row, frame]
        sounding = given > 0
        midi = semitones(given[sounding])
        place = np.minimum(np.searchsorted(arrays.pitches, midi), len(arrays.pitches) - 1)
        shown = np.zeros_like(active)
        shown[np.nonzero(sounding)[0], place] = True
        if (arrays.pitches[place] == midi).all() and (shown == active).all():
            counts, frequency = sounding.sum(axis=1), given[sounding]
    columns: dict[str, Column] = {"time": arrays.times[frame], "frequency": frequency}
    return Ragged(columns, (valid.sum(axis=1), counts), (), {"time": 1})


def pedals_on_grid(rows: Ragged, grid: TimeGrid, options: GridOptions | None = None) -> Variables:
    """Convert stretches of pedals to ``down``, bool (rows, n, 3): whether each pedal is down when a frame begins."""
    pedal = np.array([pedal_of(label) for label in (*rows.labels, "")], dtype=np.int64)[rows.columns["label"]]
    down = [codes_at(rows.keep(pedal == number), grid.points) >= 0 for number in range(len(PEDALS))]
    return {"down": (("time", "pedal"), np.stack(down, axis=-1), {"long_name": "whether a pedal is down"})}


def pedals_from_grid(arrays: GridArrays) -> Ragged:
    """Convert ``down`` to stretches of each pedal, in order of time."""
    down = arrays.values["down"].astype(np.bool_)
    parts = []
    for number in range(len(PEDALS)):
        codes = np.where(down[..., number], number, -1)
        parts.append(intervals_from_grid(replace(arrays, values={"code": codes}, labels=tuple(PEDALS))))
    row = np.concatenate([rows_of(part.counts[0]) for part in parts])
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
    order = np.lexsort((columns["label"], columns["start"], row))
    counts = np.bincount(row, minlength=len(down)).astype(np.int64)
    return Ragged({name: column[order] for name, column in columns.items()}, (counts,), tuple(PEDALS))


NOTES = GridForm(
    notes_on_grid, notes_from_grid, ("active",), ("onset", "velocity"), ("time", "pitch"), task="transcription"
)
PEDALS_DOWN = GridForm(pedals_on_grid, pedals_from_grid, ("down",), dims=("time", "pedal"), task="pedal")


def frames_of(notes: Annotation, hop: float = HOP) -> Annotation:
    """Convert notes to frames of kind ``multipitch``, with distinct pitches in Hz.

    A note covers the frames from round(start / hop) up to, but excluding, round(end / hop). The last frame follows all
    notes and has no pitch. `hop` is in seconds.
    """
    where = notes.attrs.get("source")
    path = None if where is None else str(where)
    times = np.stack([notes.columns["start"], notes.columns["end"]])
    wrong = ~np.isfinite(times).all(axis=0) | (times[0] < 0) | (times[1] < times[0])
    if wrong.any():
        item = int(np.flatnonzero(wrong)[0])
        message = f"cannot convert a note from {times[0, item]:.10g} to {times[1, item]:.10g} s to frames"
        raise InvalidAnnotationError(message, path=path, line=notes.line(item))
    first, stop = np.minimum(np.rint(times / hop), 2.0**60).astype(np.int64)
    size = int(stop.max()) + 1 if len(stop) else 0
    total = int(np.minimum(stop - first, _MOST + 1).sum())
    if max(size, total) > _MOST:
        raise InvalidAnnotationError(f"more than {_MOST} frames or pitches; use a larger hop", path=path)
    frame = ranges(first, stop - first)
    pitch = np.repeat(notes.columns["pitch"], stop - first)
    distinct = np.unique(np.column_stack([frame.astype(np.float64), pitch]), axis=0)
    counts = np.bincount(distinct[:, 0].astype(np.int64), minlength=size)
    columns = {"time": np.arange(size) * hop, "frequency": np.ascontiguousarray(distinct[:, 1])}
    attrs = {name: value for name, value in notes.attrs.items() if name in ("source", "pedal")}
    return Annotation("multipitch", columns, None, (counts.astype(np.int64),), (), attrs, account=notes.account)
