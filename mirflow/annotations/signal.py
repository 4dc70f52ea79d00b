"""Recorded signals: sample values that are read piece by piece, so that long recordings need little memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ..errors import AnnotationError
from ..ragged import Float


@runtime_checkable
class Signal(Protocol):
    """One recorded source: a file, or an array that is held in memory. Immutable and picklable."""

    @property
    def rate(self) -> float:
        """Samples a second, Hz."""
        ...

    @property
    def channels(self) -> int:
        """Number of channels."""
        ...

    @property
    def frames(self) -> int:
        """Number of samples of each channel."""
        ...

    def read(self, start: int, stop: int) -> Float:
        """Samples `start` to `stop` of all channels, 0 <= start <= stop <= frames: float64 (channels, stop - start)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class HeldSignal:
    """A signal in memory.

    Parameters
    ----------
    amplitude : float (channels, frames)
    rate : float
        Hz.

    Examples
    --------
    >>> HeldSignal(np.array([[0.0, 0.5, 1.0]]), 8000.0).read(1, 3).tolist()
    [[0.5, 1.0]]
    """

    amplitude: Float
    rate: float

    def __post_init__(self) -> None:
        if self.amplitude.ndim != 2:
            raise AnnotationError(f"a signal has channels and samples, not {self.amplitude.ndim} dims")

    @property
    def channels(self) -> int:
        """Number of channels."""
        return int(self.amplitude.shape[0])

    @property
    def frames(self) -> int:
        """Number of samples of each channel."""
        return int(self.amplitude.shape[1])

    def read(self, start: int, stop: int) -> Float:
        """Samples `start` to `stop` of all channels: float64 (channels, stop - start)."""
        return np.asarray(self.amplitude[:, start:stop], dtype=np.float64)
