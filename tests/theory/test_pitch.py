"""Frequencies and MIDI numbers."""

from __future__ import annotations

import mir_eval
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mirflow.theory.pitch import hz_to_midi, midi_to_hz


@given(frequency=st.floats(1.0, 20000.0))
def test_both_ways_are_mir_evals_and_each_others_inverse(frequency: float) -> None:
    assert hz_to_midi(frequency) == mir_eval.util.hz_to_midi(frequency)
    number = hz_to_midi(frequency)
    assert midi_to_hz(number) == mir_eval.util.midi_to_hz(number)
    np.testing.assert_allclose(midi_to_hz(number), frequency, rtol=1e-12)


def test_arrays_keep_their_shape() -> None:
    assert np.array_equal(hz_to_midi(np.array([[220.0], [440.0]])), [[57.0], [69.0]])
