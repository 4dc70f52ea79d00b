"""The sources of one side as one recording that is read piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...annotations.signal import HeldSignal, Signal
from ...ragged import Float, Ragged
from ..checks import Array

_BLOCK = 2**16


@dataclass(frozen=True, slots=True)
class Recording:
    """Some sources with equally many channels, one after the other, in a stretch of time.

    Parameters
    ----------
    signals : tuple of Signal
    channels, frames : int
        Channels of each source, and samples of the stretch; a signal that ends early is followed by silence.
    start : int
        First sample of the stretch.

    Examples
    --------
    >>> recording = from_arrays(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    >>> recording.window(1, 3).read(0, 2).tolist()
    [[2.0, 3.0], [5.0, 6.0]]
    """

    signals: tuple[Signal, ...]
    channels: int
    frames: int
    start: int = 0

    def __len__(self) -> int:
        return len(self.signals)

    def read(self, start: int, stop: int) -> Float:
        """Samples of all rows, a row being a channel of a source: float64 (rows, stop - start)."""
        found = np.zeros((len(self.signals), self.channels, stop - start))
        for rows, signal in zip(found, self.signals, strict=True):
            first, last = self.start + start, min(self.start + stop, signal.frames)
            if first < last:
                rows[:, : last - first] = signal.read(first, last)
        return found.reshape(len(self.signals) * self.channels, stop - start)

    def rows(self, source: int) -> slice:
        """The rows of a source."""
        return slice(source * self.channels, (source + 1) * self.channels)

    def window(self, start: int, stop: int) -> Recording:
        """A stretch of it."""
        return replace(self, start=self.start + start, frames=stop - start)

    def take(self, sources: Sequence[int]) -> Recording:
        """Some of the sources, in the given order."""
        return replace(self, signals=tuple(self.signals[source] for source in sources))

    def silent(self) -> list[int]:
        """The sources of which no sample differs from 0, the channels added up, as in mir_eval."""
        waiting = list(range(len(self.signals)))
        for start in range(0, self.frames, _BLOCK):
            if not waiting:
                break
            heard = self.take(waiting).read(start, min(start + _BLOCK, self.frames))
            sums = heard.reshape(len(waiting), self.channels, heard.shape[1]).sum(axis=1)
            waiting = [source for source, still in zip(waiting, (sums == 0).all(axis=1), strict=True) if still]
        return waiting


def from_arrays(sources: Array) -> Recording:
    """Sources in memory: (sources, samples) or (sources, samples, channels)."""
    stacked = np.atleast_3d(sources)
    # Samples of a channel lie together, and are numbers of one kind.
    channels = np.ascontiguousarray(stacked.transpose(0, 2, 1), dtype=np.float64)
    return Recording(tuple(HeldSignal(one, 1.0) for one in channels), stacked.shape[2], stacked.shape[1])


def from_row(rows: Ragged, row: int, frames: int | None = None) -> Recording:
    """The sources of a row of signals, as long as the first unless told, with its number of channels."""
    first, last = rows.offsets[row : row + 2]
    signals = tuple(rows.columns["signal"][first:last].tolist())
    if not signals:
        return Recording((), 1, 0)
    return Recording(signals, signals[0].channels, signals[0].frames if frames is None else frames)
