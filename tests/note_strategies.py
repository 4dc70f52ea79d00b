"""Transcriptions for tests: on grids where distances are just the tolerances, with chords, repeats and duplicates."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from mirflow.annotations.annotation import Annotation

Notes = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Intervals (n, 2) in seconds, pitches in Hz, velocities."""

_starts = st.one_of(
    st.integers(0, 12).map(lambda tick: tick * 0.025),
    st.integers(0, 30).map(lambda tick: round(tick * 0.01, 2)),
    st.floats(0.0, 1.5, allow_nan=False),
    st.sampled_from([0.0, 0.04995, 0.05, 0.05005, 0.1 + 2**-50, 1e-9, 29999.95]),
)
_durations = st.one_of(
    st.integers(1, 12).map(lambda tick: tick * 0.025), st.floats(1e-3, 3.0), st.sampled_from([0.25, 0.5, 1.0, 30.0])
)
_pitches = st.one_of(
    st.integers(57, 60).map(lambda midi: 440.0 * 2 ** ((midi - 69) / 12)),
    st.sampled_from([440.0, 440.0 * 2 ** (50 / 1200), 440.0 * 2 ** (-50 / 1200), 880.0, 452.9, 0.01]),
)
_velocities = st.integers(0, 127) | st.sampled_from([0, 10, 20, 100])


@st.composite
def transcriptions(draw: st.DrawFn, most: int = 12) -> Notes:
    """Any number of notes, in any order."""
    rows = draw(st.lists(st.tuples(_starts, _durations, _pitches, _velocities), max_size=most))
    if rows and draw(st.booleans()):
        rows += draw(st.lists(st.sampled_from(rows), max_size=3))
    start, duration, pitch, velocity = (
        (np.array(column) for column in zip(*rows, strict=True)) if rows else [np.zeros(0)] * 4
    )
    end = np.maximum(start + duration, np.nextafter(start, np.inf))
    return np.column_stack([start, end]), pitch, velocity


pairs = st.tuples(transcriptions(), transcriptions())


def to_annotation(notes: Notes, labels: list[str] | None = None, velocities: bool = True) -> Annotation:
    """A transcription as an annotation."""
    intervals, pitches, loud = notes
    columns = {"start": intervals[:, 0].copy(), "end": intervals[:, 1].copy(), "pitch": pitches}
    if velocities:
        columns["velocity"] = loud.astype(np.float64)
    return Annotation("notes", columns, labels)
