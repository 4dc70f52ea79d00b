"""Scores of one pair of arrays, source by source, that mir_eval does not have: uSDR, SI-SDR, and spectra."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...annotations.audio import HeldSignal
from ...ragged import Float
from ..pair import documented
from ..util import Array
from .kernel import Recording, scale_invariant, whole_track_ratios
from .metrics import MDX
from .spectra import spectral_distances

_METRICS = [metric for metric in MDX.metrics if not metric.dims]

_documented = documented(
    """
    Parameters
    ----------
    reference_sources, estimated_sources : (sources, samples) or (sources, samples, channels)
        Sources in the same order on both sides; a single source may be (samples,).

    Raises
    ------
    ValueError
        If the shapes differ or samples are not finite.
    """,
    _METRICS,
)


def _each(reference: Array, estimate: Array, compute: Callable[[Recording, Recording], Float]) -> Float:
    """Values of the sources; NaN if silent in the reference."""
    sides = [np.atleast_2d(np.asarray(side, dtype=np.float64)) for side in (reference, estimate)]
    if sides[0].shape != sides[1].shape or sides[0].ndim > 3:
        raise ValueError(
            f"sources must have equal shapes (sources, samples) or (sources, samples, channels) on both sides, "
            f"not {sides[0].shape} and {sides[1].shape}"
        )
    left, right = map(_recording, sides)
    sounding = np.setdiff1d(np.arange(len(left)), left.silent())
    values = np.full(len(left), np.nan)
    if len(sounding):
        try:
            values[sounding] = compute(left.take(sounding.tolist()), right.take(sounding.tolist()))
        except FloatingPointError as error:
            raise ValueError(str(error)) from None
    return values


def _recording(sources: Array) -> Recording:
    """Wrap sources in memory; samples are copied piece by piece when read."""
    stacked = np.atleast_3d(sources)
    return Recording(tuple(HeldSignal(source.T, 1.0) for source in stacked), stacked.shape[2], stacked.shape[1])


@_documented
def usdr(reference_sources: Array, estimated_sources: Array, eps: float = 1e-7) -> Float:
    """Ratio of the energy of each source to that of its difference from the estimate, in the whole track.

    Returns
    -------
    float64 (sources,), dB
        NaN for silent references.

    Examples
    --------
    >>> source = np.sin(np.arange(1000.0))
    >>> usdr(source, 0.9 * source).round(6).tolist()
    [20.0]
    """
    return _each(reference_sources, estimated_sources, partial(whole_track_ratios, eps=eps))


@_documented
def si_sdr(reference_sources: Array, estimated_sources: Array, zero_mean: bool = False) -> Float:
    """Ratio of the energy of each optimally scaled source to that of everything else.

    Returns
    -------
    float64 (sources,), dB
        NaN for sources that are silent on either side.

    Examples
    --------
    >>> source, noise = np.array([1.0, 0.0, -1.0, 0.0]), np.array([0.0, 0.1, 0.0, -0.1])
    >>> si_sdr(source, 0.5 * source + 0.5 * noise).round(6).tolist()
    [20.0]
    """

    def compute(reference: Recording, estimate: Recording) -> Float:
        return np.diag(scale_invariant(reference, estimate, zero_mean))

    values = _each(reference_sources, estimated_sources, compute)
    values[_recording(np.atleast_2d(estimated_sources)).silent()] = np.nan
    return values


@_documented
def mrstft(
    reference_sources: Array,
    estimated_sources: Array,
    convergence: float = 1.0,
    logarithmic: float = 1.0,
    linear: float = 0.0,
    eps: float = 1e-8,
) -> Float:
    """Distance of the magnitude spectra of each source at three resolutions.

    Returns
    -------
    float64 (sources,)
        NaN for silent references and signals of at most 1024 samples.

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=4000)
    >>> mrstft(noise, noise).tolist()
    [0.0]
    """

    def compute(reference: Recording, estimate: Recording) -> Float:
        distances = spectral_distances(reference, estimate, eps)
        total: Float = (
            convergence * distances.convergence + logarithmic * distances.logarithmic + linear * distances.linear
        )
        return total

    return _each(reference_sources, estimated_sources, compute)
