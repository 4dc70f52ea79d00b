"""Pitches as they are written, as frequencies."""

from __future__ import annotations

import numpy as np

from ..ragged import Float
from ..theory.pitch import midi_to_hz


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
    with np.errstate(over="ignore"):  # numbers that are no MIDI pitches become infinite, and are told of when scored
        if kind == "notes":
            return np.asarray(midi_to_hz(pitch), dtype=np.float64)
        return np.asarray(np.sign(pitch) * midi_to_hz(np.abs(pitch)), dtype=np.float64)
