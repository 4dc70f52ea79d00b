"""Long signals through short filters, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..ragged import Float
from .correlations import Blocks, Reader

Bank = tuple[slice, Float]
"""The rows that go in, and the filters: float64 (outputs, rows that go in, taps)."""


class Filters:
    """Banks of filters for recordings of one length, transformed once.

    Parameters
    ----------
    frames : int
        Samples of the recordings.
    banks : sequence of (slice, float64 (outputs, inputs, taps))
        All with the same number of taps.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0, 2.0]])
    >>> filters = Filters(3, [(slice(0, 1), np.array([[[1.0, 0.5]]]))])
    >>> [(start, out[0].round(9).tolist()) for start, _, (out,) in filters.run(lambda a, b: x[:, a:b])]
    [(0, [[1.0, 0.5, 2.0, 1.0]])]
    """

    def __init__(self, frames: int, banks: Sequence[Bank]) -> None:
        from scipy.fft import rfft

        self.blocks = Blocks.of(frames, banks[0][1].shape[-1])
        self._inputs = [rows for rows, _ in banks]
        self._responses = [rfft(taps, self.blocks.size, axis=-1, workers=1) for _, taps in banks]

    def run(
        self, read: Reader, groups: Sequence[Sequence[int]] | None = None
    ) -> Iterator[tuple[int, int, list[Float]]]:
        """Outputs of the banks for consecutive stretches of time, the filters' ringing after the end included.

        Parameters
        ----------
        read : callable
            Reader of the recording.
        groups : sequence of sequences of int or None
            Banks that are transformed back together, with equally many outputs; None: all of them.

        Yields
        ------
        start, stop : int
            The last stretch goes on for one sample less than the filters have taps after the recording's end.
        outputs : list of float64 (banks, outputs, stop - start)
            One for each group.
        """
        from scipy.fft import irfft, rfft

        size, tail, frames = self.blocks.size, self.blocks.lags - 1, self.blocks.frames
        groups = [range(len(self._responses))] if groups is None else groups
        ringing = [np.zeros((len(group), len(self._responses[group[0]]), tail)) for group in groups]
        for start, stop in self.blocks:
            spectra = rfft(read(start, stop), size, axis=-1, workers=1)
            end = stop + tail if stop == frames else stop
            outputs = []
            for number, group in enumerate(groups):
                out = irfft(np.stack([self._meet(bank, spectra) for bank in group]), size, axis=-1, workers=1)
                out[..., :tail] += ringing[number]
                ringing[number] = out[..., stop - start : stop - start + tail].copy()
                outputs.append(out[..., : end - start])
            yield start, end, outputs

    def _meet(self, bank: int, spectra: np.ndarray[tuple[int, ...], np.dtype[np.complex128]]) -> Float:
        """The spectra of the outputs of a bank."""
        response, inputs = self._responses[bank], spectra[self._inputs[bank]]
        total = response[:, 0] * inputs[0]
        product = np.empty_like(total)
        for row in range(1, len(inputs)):
            total += np.multiply(response[:, row], inputs[row], out=product)
        summed: Float = total
        return summed
