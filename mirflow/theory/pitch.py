"""Pitch: frequencies and MIDI numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def hz_to_midi(freqs: npt.ArrayLike) -> npt.NDArray[np.float64] | np.float64:
    """MIDI numbers of frequencies; A4, 440 Hz, is 69.

    Parameters
    ----------
    freqs : array or number, Hz

    Returns
    -------
    float64, same shape
        With fractions.

    Examples
    --------
    >>> hz_to_midi(np.array([440.0, 880.0])).tolist()
    [69.0, 81.0]
    """
    number: npt.NDArray[np.float64] | np.float64 = 12.0 * (np.log2(freqs) - np.log2(440.0)) + 69.0
    return number


def midi_to_hz(midi: Any) -> Any:
    """Frequencies of MIDI numbers; 69 is A4, 440 Hz.

    Parameters
    ----------
    midi : array or number

    Returns
    -------
    same shape, Hz

    Examples
    --------
    >>> midi_to_hz(81)
    880.0
    """
    return 440.0 * (2.0 ** ((midi - 69.0) / 12.0))
