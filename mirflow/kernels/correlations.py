"""Correlations of long signals at short lags, block by block: memory does not grow with their length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..ragged import Float

Reader = Callable[[int, int], Float]
"""Samples from one place to another of all rows of a recording: float64 (rows, stop - start)."""

_LONGEST = 2**14
"""Samples of a block at most, so that the transforms of a block stay in the cache."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """How a signal is cut for transforms; it depends on the length and the number of lags alone.

    Parameters
    ----------
    frames, lags : int
        Samples of the signal, and lags (or taps of filters).
    block : int
        Samples of a block; the last one may be shorter.
    size : int
        Length of the transforms: no block wraps around into itself.

    Examples
    --------
    >>> blocks = Blocks.of(40000, 512)
    >>> blocks.block, list(blocks)
    (13334, [(0, 13334), (13334, 26668), (26668, 40000)])
    """

    frames: int
    lags: int
    block: int
    size: int

    @classmethod
    def of(cls, frames: int, lags: int) -> Blocks:
        """Blocks of nearly equal length."""
        from scipy.fft import next_fast_len

        longest = max(_LONGEST, 4 * lags)
        count = max(1, -(-frames // longest))
        block = max(1, -(-frames // count))
        return cls(frames, lags, block, int(next_fast_len(block + lags - 1, real=True)))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for start in range(0, self.frames, self.block):
            yield start, min(start + self.block, self.frames)


def correlate(first: Reader, second: Reader, frames: int, lags: int) -> Float:
    """Correlations of all rows of two recordings, as if silence preceded and followed them.

    Parameters
    ----------
    first, second : callable
        Readers of the recordings.
    frames, lags : int
        Samples of both, and the number of lags.

    Returns
    -------
    float64 (rows of first, rows of second, lags)
        At ``[i, j, k]`` the sum over n of ``first[i, n] * second[j, n + k]``.

    Examples
    --------
    >>> one, other = np.array([[1.0, 2.0, 0.0]]), np.array([[0.0, 1.0, 3.0]])
    >>> correlate(lambda a, b: one[:, a:b], lambda a, b: other[:, a:b], 3, 3).round(9).tolist()
    [[[2.0, 7.0, 3.0]]]
    """
    from scipy.fft import irfft, rfft

    blocks = Blocks.of(frames, lags)
    rows = len(first(0, 0)), len(second(0, 0))
    total = np.zeros((*rows, blocks.size // 2 + 1), dtype=np.complex128)
    product = np.empty(total.shape[1:], dtype=np.complex128)
    for start, stop in blocks:
        # The first recording is silent outside its block; what follows the block in the second meets its last samples.
        left = rfft(first(start, stop), blocks.size, axis=-1, workers=1)
        right = rfft(second(start, min(stop + lags - 1, frames)), blocks.size, axis=-1, workers=1)
        np.conjugate(left, out=left)
        for row, spectrum in enumerate(left):
            total[row] += np.multiply(spectrum, right, out=product)
    found: Float = irfft(total, blocks.size, axis=-1, workers=1)[..., :lags]
    return np.ascontiguousarray(found)
