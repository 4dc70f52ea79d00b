"""Distances of magnitude spectra at several resolutions, computed piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...ragged import Float
from .kernel import NOT_FINITE, Recording

Resolution = tuple[int, int, int]  # Samples of a transform, of the hop, and of the centred window
RESOLUTIONS: tuple[Resolution, ...] = ((1024, 120, 600), (2048, 240, 1200), (512, 50, 240))
"""The usual resolutions, from Parallel WaveGAN."""
_VALUES = 2**18  # Number of spectral values in memory at once


@dataclass(frozen=True, slots=True)
class SpectralDistances:
    """Distances of each source, averaged over resolutions and channels."""

    convergence: Float  # Norm of the difference of the magnitudes over the norm of the reference's: float64 (sources,)
    logarithmic: Float
    linear: Float
    """Mean absolute differences of log magnitudes and of magnitudes: float64 (sources,)."""


def spectral_distances(references: Recording, estimates: Recording, floor: float) -> SpectralDistances:
    """Distances of the magnitude spectra of each source; NaN if a recording is too short to be mirrored.

    Frames are centred on multiples of the hop, signals are mirrored at their ends, and windows are periodic Hann
    windows. Both sides have equal numbers of sources, channels and samples; `floor` is the smallest square of a
    magnitude.

    Source: Yamamoto, Song and Kim, Parallel WaveGAN, ICASSP 2020; Steinmetz and Reiss, auraloss, DMRN+15, 2020.
    """
    rows = len(references) * references.channels
    total = np.zeros((3, rows))
    for resolution in RESOLUTIONS:
        total += _at(references, estimates, resolution, floor)
    means = (total / len(RESOLUTIONS)).reshape(3, len(references), references.channels).mean(axis=2)
    return SpectralDistances(*means)


@np.errstate(all="ignore")  # samples that are not finite are refused
def _at(references: Recording, estimates: Recording, resolution: Resolution, floor: float) -> Float:
    """The three distances of each row at one resolution: float64 (3, rows)."""
    rows = len(references) * references.channels
    if references.frames <= resolution[0] // 2:
        return np.full((3, rows), np.nan)
    sums, count = np.zeros((4, rows)), 0
    for first, second in zip(*(_magnitudes(side, resolution, floor) for side in (references, estimates)), strict=True):
        difference = first - second
        logs = np.log(first) - np.log(second)
        for index, values in enumerate((difference**2, first**2, np.abs(logs), np.abs(difference))):
            sums[index] += values.sum(axis=(1, 2))
        count += first.shape[1] * first.shape[2]
    if not np.isfinite(sums).all():
        raise FloatingPointError(NOT_FINITE)
    return np.array([np.sqrt(sums[0] / sums[1]), sums[2] / count, sums[3] / count])


def _magnitudes(side: Recording, resolution: Resolution, floor: float) -> Iterator[Float]:
    """Magnitudes of consecutive frames: float64 (rows, frames, size // 2 + 1)."""
    from scipy.fft import rfft

    size, hop, width = resolution
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(width) / width)
    rows, frames = len(side) * side.channels, 1 + side.frames // hop
    step = max(1, _VALUES // (rows * (size // 2 + 1)))
    last = side.frames - 1

    def read(start: int, stop: int) -> Float:
        """Mirror the signal at its ends without repeating the first and last sample."""
        parts = []
        if start < 0:
            parts.append(side.read(1, 1 - start)[:, ::-1][:, : stop - start])
        if start <= last and stop > 0:
            parts.append(side.read(max(start, 0), min(stop, last + 1)))
        if stop > last + 1:
            parts.append(side.read(2 * last + 1 - stop, last)[:, ::-1][:, max(0, start - last - 1) :])
        return np.concatenate(parts, axis=1)

    for begin in range(0, frames, step):
        end = min(begin + step, frames)
        # Samples outside of the window do not contribute, and a shift does not change magnitudes.
        start = begin * hop - width // 2
        samples = read(start, start + (end - begin - 1) * hop + width)
        cut = np.lib.stride_tricks.sliding_window_view(samples, width, axis=1)[:, ::hop]
        spectrum = rfft(cut * window, size, axis=-1, workers=1)
        yield np.sqrt(np.maximum(spectrum.real**2 + spectrum.imag**2, floor))
