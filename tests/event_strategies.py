"""Sequences of events for tests: regular, jittered, on coarse grids with repeats, short, empty."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from mirflow.ragged import Ragged

_fine = st.floats(0.0, 40.0, allow_nan=False).map(lambda time: round(time, 6) + 0.0)
_coarse = st.integers(0, 80).map(lambda number: number / 4)
_odd = st.sampled_from([0.0, 5e-324, 0.1, 0.1 + 2**-50, 0.3, 1 / 3, 5.0, 12.5, 39.0])


@st.composite
def beat_like(draw: st.DrawFn) -> np.ndarray:
    """A regular pulse with jitter and missing beats, at one of several tempi."""
    period = draw(st.sampled_from([0.25, 0.5, 1.0, 0.4999, 0.75, 2.0]))
    start = draw(st.sampled_from([0.0, 0.25, 5.0, 0.07, 3.3]))
    count = draw(st.integers(2, 30))
    times = start + period * np.arange(count)
    jitter = draw(st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.05, -0.05, 0.07, 0.2]), min_size=count, max_size=count))
    kept = draw(st.lists(st.sampled_from([True, True, True, False]), min_size=count, max_size=count))
    return np.sort(np.maximum(times + np.array(jitter) * period, 0.0)[np.array(kept)])


@st.composite
def sequences(draw: st.DrawFn, min_size: int = 0) -> np.ndarray:
    """Any sequence of event times in order."""
    if draw(st.booleans()):
        times = draw(beat_like())
        if len(times) >= min_size:
            return times
    element = draw(st.sampled_from([_fine, _coarse, _odd, _fine | _coarse | _odd]))
    return np.sort(np.array(draw(st.lists(element, min_size=min_size, max_size=25)), dtype=np.float64))


pairs = st.tuples(sequences(), sequences())


def to_rows(*side: np.ndarray) -> Ragged:
    """Sequences as the rows of one side."""
    counts = np.array([len(times) for times in side], dtype=np.int64)
    return Ragged({"time": np.concatenate([np.zeros(0), *side])}, (counts,))
