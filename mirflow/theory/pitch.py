"""Pitch: conversion between frequencies, MIDI numbers and names of notes such as ``C4``."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ragged import Float

HIGHEST_MIDI = 127  # The highest MIDI pitch and velocity


def hz_to_midi(freqs: npt.ArrayLike) -> npt.NDArray[np.float64] | np.float64:
    """Convert frequencies in Hz to MIDI numbers with fractions; A4, 440 Hz, is 69.

    `freqs` (array or number, Hz). Returns float64, same shape.

    Examples
    --------
    >>> hz_to_midi(np.array([440.0, 880.0])).tolist()
    [69.0, 81.0]
    """
    number: npt.NDArray[np.float64] | np.float64 = 12.0 * (np.log2(freqs) - np.log2(440.0)) + 69.0
    return number


def midi_to_hz(midi: Any) -> Any:
    """Convert MIDI numbers to frequencies; 69 is A4, 440 Hz.

    Returns same shape, Hz.

    Examples
    --------
    >>> midi_to_hz(81)
    880.0
    """
    return 440.0 * (2.0 ** ((midi - 69.0) / 12.0))


_STEPS = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
_NOTE = re.compile(r"([A-Ga-g])([#\u266f]{0,2}|[b\u266d]{0,2})(-?\d)")


def note_number(name: str) -> float | None:
    """The MIDI number of a note by its name and octave; None for other texts. C4, the middle C, is 60."""
    match = _NOTE.fullmatch(name)
    if match is None:
        return None
    step, signs, octave = match.groups()
    shift = len(signs) * (-1 if signs[:1] in ("b", "\u266d") else 1)
    return float(12 * (int(octave) + 1) + _STEPS[step.upper()] + shift)


def to_hertz(pitch: Float, kind: str, unit: str) -> Float:
    """Convert pitches of a file, in Hz or MIDI numbers, to Hz: float64 (n,).

    Every number of a note is a pitch. In series and multipitch, 0 is silence, and negative numbers are guesses in
    unvoiced frames, whose signs are kept in either unit.
    """
    if unit == "Hz":
        return pitch
    with np.errstate(over="ignore"):  # invalid MIDI pitches become infinite, which scoring refuses
        if kind == "notes":
            return np.asarray(midi_to_hz(pitch), dtype=np.float64)
        return np.asarray(np.sign(pitch) * midi_to_hz(np.abs(pitch)), dtype=np.float64)
