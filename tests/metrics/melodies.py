"""Melodies for tests: on even, uneven and late grids, with silence, guesses, graded voicing and pitches at the edge."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from mirflow.ragged import Ragged

Melody = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Times, frequencies, and voicing if it is given."""

_FREQUENCIES = st.sampled_from(
    [0.0, 0.0, 220.0, -220.0, 440.0, 880.0, 221.0, 10.0, 5.0, 220 * 2 ** (50 / 1200), 220 * 2 ** (0.5), -330.0, 1234.5]
)
_HOPS = st.sampled_from([0.01, 0.0058, 0.01000000001, 1 / 35, 0.1])


@st.composite
def melodies(draw: st.DrawFn, graded: bool = True) -> Melody:
    """Any series of at least one sample, in order of time, without repeated times."""
    count = draw(st.integers(1, 30))
    times = draw(st.sampled_from([0.0, 0.0, 0.005, 1.0])) + draw(_HOPS) * np.arange(count)
    if draw(st.booleans()):
        times = np.round(times, 3)
    if draw(st.booleans()):
        kept = draw(st.lists(st.sampled_from([True, True, False]), min_size=count, max_size=count))
        times = times[np.array(kept) | (np.arange(count) == 0)]
    times = np.unique(times)
    size = len(times)
    frequencies = np.array(draw(st.lists(_FREQUENCIES, min_size=size, max_size=size)))
    if not graded or draw(st.booleans()):
        return times, frequencies, None
    levels = st.sampled_from([0.0, 1.0, 0.5, 0.25]) if draw(st.booleans()) else st.sampled_from([0.0, 1.0])
    return times, frequencies, np.array(draw(st.lists(levels, min_size=size, max_size=size)))


def to_rows(side: list[Melody]) -> Ragged:
    """Melodies as the rows of one side; NaN where only some have voicing."""
    columns = {"time": np.concatenate([one[0] for one in side]), "frequency": np.concatenate([one[1] for one in side])}
    if any(one[2] is not None for one in side):
        voicing = [np.full(len(one[0]), np.nan) if one[2] is None else one[2] for one in side]
        columns["voicing"] = np.concatenate(voicing)
    return Ragged(columns, (np.array([len(one[0]) for one in side], dtype=np.int64),))
