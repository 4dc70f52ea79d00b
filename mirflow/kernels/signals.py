"""Long signals: correlations at short lags, short filters, least squares with delayed signals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..ragged import Float, Int

Reader = Callable[[int, int], Float]
"""(start, stop) -> samples of all rows of a recording: float64 (rows, stop - start)."""

_LONGEST = 2**14
"""Largest number of samples of a block, so that its transforms fit into the cache."""


@dataclass(frozen=True, slots=True)
class SignalBlocks:
    """Blocks of a signal for transforms, which only depend on its length and the number of lags.

    Examples
    --------
    >>> blocks = SignalBlocks.of(40000, 512)
    >>> blocks.block, list(blocks)
    (13334, [(0, 13334), (13334, 26668), (26668, 40000)])
    """

    frames: int
    lags: int
    """Number of samples of the signal, and of lags (or filter taps)."""
    block: int
    size: int
    """Number of samples of a block (the last one may be shorter), and of transforms, which do not wrap around."""

    @classmethod
    def of(cls, frames: int, lags: int) -> SignalBlocks:
        """Make blocks of nearly equal length."""
        from scipy.fft import next_fast_len

        longest = max(_LONGEST, 4 * lags)
        count = max(1, -(-frames // longest))
        block = max(1, -(-frames // count))
        return cls(frames, lags, block, int(next_fast_len(block + lags - 1, real=True)))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for start in range(0, self.frames, self.block):
            yield start, min(start + self.block, self.frames)


def correlate(first: Reader, second: Reader, frames: int, lags: int) -> Float:
    """Correlate all rows of two recordings, as if silence preceded and followed them.

    Element ``[i, j, k]`` of the result is the sum over n of ``first[i, n] * second[j, n + k]``.

    Examples
    --------
    >>> one, other = np.array([[1.0, 2.0, 0.0]]), np.array([[0.0, 1.0, 3.0]])
    >>> correlate(lambda a, b: one[:, a:b], lambda a, b: other[:, a:b], 3, 3).round(9).tolist()
    [[[2.0, 7.0, 3.0]]]
    """
    from scipy.fft import irfft, rfft

    blocks = SignalBlocks.of(frames, lags)
    rows = len(first(0, 0)), len(second(0, 0))
    total = np.zeros((*rows, blocks.size // 2 + 1), dtype=np.complex128)
    product = np.empty(total.shape[1:], dtype=np.complex128)
    for start, stop in blocks:
        # The first recording is silent outside its block; the last samples of the block overlap with the following ones
        # of the second recording.
        left = rfft(first(start, stop), blocks.size, axis=-1, workers=1)
        right = rfft(second(start, min(stop + lags - 1, frames)), blocks.size, axis=-1, workers=1)
        np.conjugate(left, out=left)
        for row, spectrum in enumerate(left):
            total[row] += np.multiply(spectrum, right, out=product)
    correlation: Float = irfft(total, blocks.size, axis=-1, workers=1)[..., :lags]
    return np.ascontiguousarray(correlation)


Bank = tuple[slice, Float]
"""Input rows, and filters: float64 (outputs, input rows, taps)."""


class Filters:
    """Banks of filters for recordings of one length, transformed once.

    Banks are slices of input rows with filters, float64 (outputs, inputs, taps), of equal numbers of taps.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0, 2.0]])
    >>> filters = Filters(3, [(slice(0, 1), np.array([[[1.0, 0.5]]]))])
    >>> [(start, out[0].round(9).tolist()) for start, _, (out,) in filters.run(lambda a, b: x[:, a:b])]
    [(0, [[1.0, 0.5, 2.0, 1.0]])]
    """

    def __init__(self, frames: int, banks: Sequence[Bank]) -> None:
        from scipy.fft import rfft

        self.blocks = SignalBlocks.of(frames, banks[0][1].shape[-1])
        self._inputs = [rows for rows, _ in banks]
        self._responses = [rfft(taps, self.blocks.size, axis=-1, workers=1) for _, taps in banks]

    def run(
        self, read: Reader, groups: Sequence[Sequence[int]] | None = None
    ) -> Iterator[tuple[int, int, list[Float]]]:
        """Compute the outputs of the banks for consecutive stretches of time, including the filters' ringing at the
        end.

        Banks of a group have equal numbers of outputs and are transformed back together; None: all banks. Stretches are
        given as start, stop and a float64 (banks, outputs, stop - start) of each group. The last one extends beyond the
        recording by the number of taps minus one.
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
        """Spectra of the outputs of a bank."""
        response, inputs = self._responses[bank], spectra[self._inputs[bank]]
        total = response[:, 0] * inputs[0]
        product = np.empty_like(total)
        for row in range(1, len(inputs)):
            total += np.multiply(response[:, row], inputs[row], out=product)
        summed: Float = total
        return summed


class DelaySpan:
    """The space spanned by signals and their delays, for projections onto it.

    The normal equations are solved by a Cholesky decomposition. If signals are silent, equal or (up to rounding)
    linearly dependent, it is pivoted, and redundant delays get filters of 0: the filters of such a system are not
    unique, but the projection is.

    `correlations` are those of the signals with themselves, see `correlate`.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0, 0.5, 0.0], [1.0, 0.0, 0.5, 0.0]])
    >>> span = DelaySpan(correlate(lambda a, b: x[:, a:b], lambda a, b: x[:, a:b], 4, 2))
    >>> span.rank
    2
    """

    def __init__(self, correlations: Float) -> None:
        rows, _, self._lags = correlations.shape
        energy = correlations[np.arange(rows), np.arange(rows), 0]
        # Unit energy distinguishes dependent signals from quiet ones.
        with np.errstate(invalid="ignore"):
            self._scale = np.where(energy > 0, 1 / np.sqrt(np.where(energy > 0, energy, 1.0)), 1.0)
        self._order: Int | None = None
        self._factor = self._decompose(correlations * self._scale[:, None, None] * self._scale[None, :, None])

    @property
    def rank(self) -> int:
        """Dimension of the space."""
        return len(self._factor) if self._order is None else len(self._order)

    def _decompose(self, correlations: Float) -> Float:
        from scipy.linalg.lapack import dpotrf, dpstrf

        factor, failed = dpotrf(to_gram(correlations), lower=1, clean=0, overwrite_a=1)
        if not failed:
            whole: Float = factor
            return whole
        del factor  # may be large, and another one follows
        factor, pivots, rank, _ = dpstrf(to_gram(correlations), lower=1, overwrite_a=1)
        self._order = pivots[:rank].astype(np.int64) - 1
        part: Float = np.asfortranarray(factor[:rank, :rank])
        return part

    def filters(self, products: Float) -> Float:
        """Compute filters of the projections of recordings: float64 (others, rows, lags).

        `products` are the signals' correlations with the recordings, (rows, others, lags). The projection of a
        recording is the sum of the filtered signals over rows.
        """
        from scipy.linalg.lapack import dpotrs

        rows, others, lags = products.shape
        scaled = products * self._scale[:, None, None]
        right = np.asfortranarray(scaled.transpose(0, 2, 1).reshape(rows * lags, others))
        solution = np.zeros_like(right)
        if self._order is None:
            solution, _ = dpotrs(self._factor, right, lower=1)
        elif len(self._order):
            solution[self._order], _ = dpotrs(self._factor, np.asfortranarray(right[self._order]), lower=1)
        taps = solution.reshape(rows, lags, others) * self._scale[:, None, None]
        return np.ascontiguousarray(taps.transpose(2, 0, 1))


def to_gram(correlations: Float) -> Float:
    """Inner products of all delays of all signals: a symmetric matrix of Toeplitz blocks, in Fortran's order.

    Examples
    --------
    >>> to_gram(np.array([[[2.0, 1.0]]])).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    rows, _, lags = correlations.shape
    gram = np.empty((rows * lags, rows * lags), order="F")
    for i in range(rows):
        for j in range(rows):
            # The product of delay a of signal i and delay b of signal j is the correlation at lag a - b; at negative
            # lags, the signals are swapped.
            both = np.concatenate([correlations[j, i, :0:-1], correlations[i, j]])
            block = np.lib.stride_tricks.sliding_window_view(both, lags)[:, ::-1]
            gram[i * lags : (i + 1) * lags, j * lags : (j + 1) * lags] = block
    return gram
