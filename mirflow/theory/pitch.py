"""Pitch: frequencies, MIDI numbers, and pitches as they are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..ragged import Float

HIGHEST_MIDI = 127
"""The highest MIDI number of a pitch, and the highest velocity."""


def hz_to_midi(freqs: npt.ArrayLike) -> npt.NDArray[np.float64] | np.float64:
    """MIDI numbers, with fractions, of frequencies in Hz; A4, 440 Hz, is 69.

    Parameters
    ----------
    freqs : array or number, Hz

    Returns
    -------
    float64, same shape

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


def to_hertz(pitch: Float, kind: str, unit: str) -> Float:
    """Pitches of a file in Hz.

    Parameters
    ----------
    pitch : float64 (n,)
    kind : {"notes", "series", "multipitch"}
        Every number of a note is a pitch. In a series and in multipitch 0 means that nothing sounds, and a negative
        number is a guess at what does not sound: its sign is kept, in either unit.
    unit : {"Hz", "MIDI"}

    Returns
    -------
    float64 (n,), Hz

    Examples
    --------
    >>> to_hertz(np.array([69.0, 0.0, -81.0]), "series", "MIDI").tolist()
    [440.0, 0.0, -880.0]
    >>> to_hertz(np.array([69.0, -3.0]), "notes", "MIDI").tolist()
    [440.0, 6.875]
    """
    if unit == "Hz":
        return pitch
    with np.errstate(over="ignore"):  # what is no MIDI pitch becomes infinite, which is refused when scored
        if kind == "notes":
            return np.asarray(midi_to_hz(pitch), dtype=np.float64)
        return np.asarray(np.sign(pitch) * midi_to_hz(np.abs(pitch)), dtype=np.float64)
