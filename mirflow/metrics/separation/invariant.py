"""Scale-invariant SDR: the only distortion that is forgiven is a gain."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...ragged import Float
from .measuring import NOT_FINITE
from .ratios import decibels
from .recording import Recording

_BLOCK = 2**15


def scale_invariant(references: Recording, estimates: Recording, zero_mean: bool) -> Float:
    """SI-SDR of each estimated source against each reference source.

    Parameters
    ----------
    references, estimates : Recording
        As many sources, channels and samples on both sides. All channels of a source have one gain.
    zero_mean : bool
        Whether each channel's mean is taken off first.

    Returns
    -------
    float64 (estimated sources, reference sources), dB
        NaN against a reference of which nothing is left without its mean.

    Raises
    ------
    FloatingPointError
        If a sample is not finite.

    References
    ----------
    J. Le Roux, S. Wisdom, H. Erdogan and J. R. Hershey, "SDR - half-baked or well done?", ICASSP 2019.

    Examples
    --------
    >>> from mirflow.metrics.separation.recording import from_arrays
    >>> source, noise = np.array([1.0, 0.0, -1.0, 0.0]), np.array([0.0, 0.1, 0.0, -0.1])
    >>> heard = from_arrays(np.array([0.5 * source + 0.5 * noise]))
    >>> scale_invariant(from_arrays(source[None]), heard, zero_mean=False).round(9).tolist()
    [[20.0]]
    """
    sides = references, estimates
    means = [_mean(side) if zero_mean else np.zeros((len(side), side.channels, 1)) for side in sides]
    count = len(references)
    energy, product = np.zeros(count), np.zeros((count, count))
    for true, heard in _pieces(sides, means):
        energy += np.einsum("sn,sn->s", true, true)
        product += np.einsum("en,sn->es", heard, true)
    if not (np.isfinite(energy).all() and np.isfinite(product).all()):
        raise FloatingPointError(NOT_FINITE)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = product / energy
    error = np.zeros((count, count))
    for true, heard in _pieces(sides, means):
        for source in range(count):
            rest = heard - gain[:, source, None] * true[source]
            error[:, source] += np.einsum("en,en->e", rest, rest)
    return decibels(gain**2 * energy, error)


def _mean(side: Recording) -> Float:
    total = np.zeros((len(side) * side.channels, 1))
    for start in range(0, side.frames, _BLOCK):
        total += side.read(start, min(start + _BLOCK, side.frames)).sum(axis=1, keepdims=True)
    return (total / max(1, side.frames)).reshape(len(side), side.channels, 1)


def _pieces(sides: tuple[Recording, Recording], means: list[Float]) -> Iterator[tuple[Float, Float]]:
    """Both sides' samples, all channels of a source in one row."""
    for start in range(0, sides[0].frames, _BLOCK):
        stop = min(start + _BLOCK, sides[0].frames)
        heard = [
            (side.read(start, stop).reshape(len(side), side.channels, stop - start) - mean).reshape(len(side), -1)
            for side, mean in zip(sides, means, strict=True)
        ]
        yield heard[0], heard[1]
