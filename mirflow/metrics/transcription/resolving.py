"""Overlapping notes of one pitch: cut at the next onset, or decoded from frames of a piano roll."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...annotations.rolls import semitones
from ...kernels.ragged_ops import by_group_and_time
from ...ragged import Column, Float, Int, Ragged, ranges, rows_of
from ...theory.pitch import midi_to_hz

HOP = 512 / 16000  # Seconds between the frames of Onsets and Frames
PIANO = (21, 108)  # The MIDI numbers of the lowest and the highest key of a piano
_FIRST, _LAST, _NEXT = 3, 2, 1  # Labels of frames: the first of a note, the others, and the one after the last


def rate_of(hop: float) -> float:
    """Frames per second, such that the hop is the nearest double to their inverse."""
    return round(1 / hop, 9)


def voices_of(row: Int, pitch: Int) -> Int:
    """Integers from 0 that ascend with the row, and with the pitch within a row: int64 (notes,)."""
    if not len(pitch):
        return pitch
    low, high = int(pitch.min()), int(pitch.max())
    voice = row * (high - low + 1)
    voice += pitch
    voice -= low
    return voice


def cut_overlaps(row: Int, pitch: Int, start: Float, end: Float) -> Float:
    """Cut the ends of notes at the start of the next note of the same pitch: float64 (notes,).

    Simultaneous notes are ordered by their ends, so that all but the last have zero length.
    """
    order, voice, starts = by_group_and_time(voices_of(row, pitch), start)
    ends = end[order]
    follows = voice[1:] == voice[:-1]
    together = np.flatnonzero(follows & (starts[1:] == starts[:-1]))
    if len(together):
        at = np.union1d(together, together + 1)
        by_end = at[np.lexsort((ends[at], starts[at], voice[at]))]
        order[at], ends[at] = order[by_end], ends[by_end]
    follows &= starts[1:] < ends[:-1]
    cut = np.flatnonzero(follows)
    shortened = end.copy()
    shortened[order[cut]] = starts[cut + 1]
    return shortened


@dataclass(frozen=True, slots=True)
class Decoded:
    """Notes in frames, sorted by row, start and pitch: int64 (notes,) each, except for the velocity."""

    row: Int
    pitch: Int
    first: Int
    stop: Int
    velocity: Float

    @property
    def pair(self) -> Int:
        """The rows, if these are pairs."""
        return self.row


def decode(row: Int, pitch: Int, start: Float, end: Float, velocity: Float, hop: float = HOP) -> Decoded:
    """Decode notes from the labels of their frames.

    Each note writes a label to its first frame, another to its other frames, and a third to the frame after its last;
    later notes overwrite earlier ones. A note is decoded at each first frame that does not follow another one, and
    lasts until a frame with neither of these labels. Its velocity is the mean over all its first frames.

    Notes of a row are written in order; times and hop are in seconds.

    Source: C. Hawthorne et al., "Onsets and frames: dual-objective piano transcription", ISMIR 2018.
    """
    _, index, voice = np.unique(voices_of(row, pitch), return_index=True, return_inverse=True)
    left, right = (np.rint(times * rate_of(hop)).astype(np.int64) for times in (start, end))
    # Frames of all rows and pitches are concatenated, with two empty frames in between.
    sizes = np.zeros(len(index), dtype=np.int64)
    np.maximum.at(sizes, voice, right + 3)
    base = np.cumsum(sizes) - sizes
    left, right = base[voice] + left, base[voice] + right
    # Frames in which no note begins or ends have the label of the previous one, so runs of them are labelled at once.
    frame = np.concatenate([left, left + 1, right, right + 1])
    frame.sort()  # np.unique would take ten times as long
    frame = frame[np.diff(frame, prepend=frame[:1] - 1) > 0]
    left, right = np.searchsorted(frame, left), np.searchsorted(frame, right)
    labels = np.zeros(len(frame) + 1, dtype=np.int8)
    # In order of notes, and of frames within a note: the last label written to an index is kept.
    counts = np.maximum(right - left - 1, 0) + 2
    run = ranges(left, counts)
    label = np.full(len(run), _LAST, dtype=np.int8)
    begin, behind = np.cumsum(counts) - counts, np.cumsum(counts) - 1
    label[begin], label[behind] = _FIRST, _NEXT
    run[behind] = right
    labels[run] = label
    onset, active = labels == _FIRST, labels >= _LAST
    begins = np.flatnonzero(onset & ~np.append(False, onset[:-1]))
    ends = np.flatnonzero(active & ~np.append(active[1:], False)) + 1
    stop = ends[np.searchsorted(ends, begins, side="right")]
    loudness = _mean_velocity(np.flatnonzero(onset), left[::-1], velocity[::-1], begins, stop)
    first, stop = frame[begins], frame[stop]
    group = np.searchsorted(base, first, side="right") - 1
    row, pitch, first, stop = row[index[group]], pitch[index[group]], first - base[group], stop - base[group]
    order = np.lexsort((pitch, first, row))
    return Decoded(row[order], pitch[order], first[order], stop[order], loudness[order])


def _mean_velocity(onsets: Int, written: Int, velocity: Float, begins: Int, stop: Int) -> Float:
    """Mean velocity over the first frames within each note; for simultaneous notes, that of the last in the file.

    `onsets` are runs of first frames, `written` and `velocity` the first frame and velocity of each note of the file,
    the last note first. A decoded note lasts from the frame `begins` to before `stop`.
    """
    cells, last = np.unique(written, return_index=True)
    values = velocity[last][np.searchsorted(cells, onsets)]
    low, high = np.searchsorted(onsets, begins), np.searchsorted(onsets, stop)
    sums = np.add.reduceat(np.append(values, 0.0), np.column_stack([low, high]).ravel())[::2] if len(low) else low
    return np.asarray(sums / np.maximum(high - low, 1), dtype=np.float64)


def nearest_semitones(frequency: Float) -> Int:
    """MIDI numbers of frequencies, -1 for none: int64 (n,)."""
    midi = semitones(frequency)
    mask = np.isfinite(midi)
    return (midi if mask.all() else np.where(mask, midi, -1)).astype(np.int64)


def cut_rows(rows: Ragged) -> Ragged:
    """Cut notes at the start of the next note of the same pitch; see `cut_overlaps`."""
    row, pitch = rows_of(rows.counts[0]), nearest_semitones(rows.columns["pitch"])
    end = cut_overlaps(row, pitch, rows.columns["start"], rows.columns["end"])
    return Ragged({**rows.columns, "end": end}, rows.counts, rows.labels)


def decode_rows(rows: Ragged) -> Ragged:
    """Decode piano notes from the labels of frames of 32 ms; see `decode`.

    Times are multiples of the hop. Notes have no labels because several may have been merged.
    """
    velocity = rows.columns.get("velocity", np.full(len(rows.columns["start"]), np.nan))
    pitch = nearest_semitones(rows.columns["pitch"])
    indices = np.flatnonzero((pitch >= PIANO[0]) & (pitch <= PIANO[1]))
    times = rows.columns["start"][indices], rows.columns["end"][indices]
    notes = decode(rows_of(rows.counts[0])[indices], pitch[indices], *times, velocity[indices])
    columns: dict[str, Column] = {"start": notes.first * HOP, "end": notes.stop * HOP, "pitch": midi_to_hz(notes.pitch)}
    if "velocity" in rows.columns:
        columns["velocity"] = notes.velocity
    return Ragged(columns, (np.bincount(notes.row, minlength=len(rows)).astype(np.int64),))
