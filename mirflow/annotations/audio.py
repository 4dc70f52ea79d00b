"""Recorded signals: the protocol for reading them piece by piece, signals in memory, and checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from ..errors import AnnotationError
from ..ragged import Float


@runtime_checkable
class Signal(Protocol):
    """One recorded source: a file or an array in memory. Immutable and picklable."""

    rate: float
    """Sampling rate in Hz."""
    channels: int
    """Number of channels."""
    frames: int
    """Number of samples of each channel."""

    def read(self, start: int, stop: int) -> Float:
        """Read samples of all channels, 0 <= start <= stop <= frames: float64 (channels, stop - start)."""
        ...


class HeldSignal:
    """A signal in memory: `amplitude` is float (channels, frames), `rate` in Hz."""

    __slots__ = ("amplitude", "channels", "frames", "rate")

    def __init__(self, amplitude: Float, rate: float) -> None:
        if amplitude.ndim != 2:
            raise AnnotationError(f"invalid signal of {amplitude.ndim} dims: expected channels and samples")
        self.amplitude, self.rate = amplitude, rate
        self.channels, self.frames = amplitude.shape

    def read(self, start: int, stop: int) -> Float:
        """Samples `start` to `stop` of all channels: float64 (channels, stop - start)."""
        return np.asarray(self.amplitude[:, start:stop], dtype=np.float64)


def unlike(signals: Sequence[Signal], names: Sequence[str]) -> str | None:
    """Describe how the rates, lengths or channels of signals differ; None if they are equal."""
    for what, unit, values in (
        ("rate", " Hz", [f"{signal.rate:g}" for signal in signals]),
        ("channels", "", [str(signal.channels) for signal in signals]),
        ("length", " samples", [str(signal.frames) for signal in signals]),
    ):
        for name, value in zip(names, values, strict=True):
            if value != values[0]:
                return f"sources differ in their {what}: {names[0]} has {values[0]}{unit}, {name} has {value}{unit}"
    return None


PIECE = 2**18
"""Samples examined at once."""


def first_not_finite(signal: Signal) -> int | None:
    """Index of the first sample that is not finite in any channel; None if all are finite.

    Examples
    --------
    >>> first_not_finite(HeldSignal(np.array([[0.0, np.nan, 1.0]]), 8000.0))
    1
    """
    for start in range(0, signal.frames, PIECE):
        piece = signal.read(start, min(start + PIECE, signal.frames))
        wrong = ~np.isfinite(piece).all(axis=0)
        if wrong.any():
            return start + int(wrong.argmax())
    return None


def is_silent(signal: Signal) -> bool:
    """True if all samples are 0.

    Examples
    --------
    >>> is_silent(HeldSignal(np.zeros((2, 100)), 8000.0))
    True
    """
    pieces = (signal.read(start, min(start + PIECE, signal.frames)) for start in range(0, signal.frames, PIECE))
    return not any(piece.any() for piece in pieces)
