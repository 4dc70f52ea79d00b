"""Convert notes to frames of multiple pitches, so that multiple F0 estimation reads MIDI files and lists of notes."""

from __future__ import annotations

import numpy as np

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError
from ..ragged import ranges

HOP = 0.01
"""Default hop of the frames of MIDI files, in seconds."""
_MOST = 2**23
"""Maximum number of frames, and of pitches in them, of one annotation."""


def frames_of(notes: Annotation, hop: float = HOP) -> Annotation:
    """Convert notes to frames of kind ``multipitch``, with distinct pitches in Hz.

    A note covers the frames from round(start / hop) up to, but excluding, round(end / hop). The last frame follows all
    notes and has no pitch. `hop` is in seconds.

    Examples
    --------
    >>> columns = {"start": np.array([0.0, 0.1]), "end": np.array([0.2, 0.3]), "pitch": np.array([440.0, 220.0])}
    >>> found = frames_of(Annotation("notes", columns), 0.1)
    >>> found.columns["time"].round(3).tolist(), found.inner_counts[0].tolist()
    ([0.0, 0.1, 0.2, 0.3], [1, 2, 1, 0])
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
    found = np.unique(np.column_stack([frame.astype(np.float64), pitch]), axis=0)
    counts = np.bincount(found[:, 0].astype(np.int64), minlength=size)
    columns = {"time": np.arange(size) * hop, "frequency": np.ascontiguousarray(found[:, 1])}
    attrs = {name: value for name, value in notes.attrs.items() if name in ("source", "pedal")}
    return Annotation("multipitch", columns, None, (counts.astype(np.int64),), (), attrs)
