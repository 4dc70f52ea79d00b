"""Source separation: reference and estimate are the recorded sources of a track, as signals.

The functions are those of ``mir_eval.separation``, with the same arguments, results and errors, and further ones
for other metrics; `TASK` holds the metrics of whole datasets, which read audio piece by piece.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2: means over the sources of a track, with the best permutation of the estimates.
* ``museval``: museval 0.4.1, BSS Eval v4: images, one set of filters per track, medians over frames of 1 s.
* ``mdx``: the Music and Sound Demixing Challenges: ratios of whole tracks.

Metrics
-------
* ``sdr``, ``sir``, ``sar`` (`bss_eval_sources`): ratios to distortion, interference and artifacts, in dB; ``museval``
  adds ``isr``.
* ``image_sdr``, ``image_isr``, ``image_sir``, ``image_sar`` (`bss_eval_images`): the same for spatial images.
* ``si_sdr``: scale-invariant ratio of signal to distortion.
* ``usdr``: ratio of signal to difference in the whole track (MDX, SDX); on request in other conventions.
* ``mrstft``, on request: multi-resolution STFT distance.
* ``source_sdr``, ``frame_sdr`` and others, ``source_permutation``, on request: by source and by frame.

References
----------
Vincent, Gribonval and Févotte, Performance measurement in blind audio source separation, 2006; Vincent et al. 2012; Le
Roux et al., SDR: half-baked or well done?, ICASSP 2019; Stöter, Liutkus and Ito 2018; Mitsufuji et al., Music Demixing
Challenge 2021, 2022; Yamamoto, Song and Kim, Parallel WaveGAN, ICASSP 2020.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...errors import refuse_unknown, warn_caller
from ...ragged import Float
from ..pair import documented
from ..util import Array
from .kernel import (
    FILTERS_LENGTH,
    MAX_SOURCES,
    NAMES,
    Recording,
    ReferenceSources,
    from_arrays,
    measure_frames,
    measure_whole,
    scale_invariant,
    spectral_distances,
    whole_track_ratios,
)
from .metrics import KEYS, MDX, TASK

__all__ = ["MAX_SOURCES", "TASK", "bss_eval_images", "bss_eval_images_framewise", "bss_eval_sources"]
__all__ += ["bss_eval_sources_framewise", "evaluate", "mrstft", "si_sdr", "usdr", "validate"]


_WINDOW, _HOP = 30 * 44100, 15 * 44100
_SOURCES = ("sdr", "sir", "sar")
_IMAGES = ("image_sdr", "image_isr", "sir", "sar")
_TITLES = {name: key.partition(" - ")[2] for name, key in KEYS.items()}

_documented = documented(
    """
    Parameters
    ----------
    reference_sources, estimated_sources : (samples,), (sources, samples) or, for images, (sources, samples, channels)
    compute_permutation : bool
        Whether to use the permutation of the estimates with the largest mean SIR, separately in each frame.
    window, hop : int
        Samples of a frame and between frames. Recordings with fewer than two frames are treated as one frame.
    **kwargs
        ``compute_permutation``, ``window`` and ``hop``.

    Raises
    ------
    ValueError
        If the shapes differ or have more than three dims, a source is silent (the sum of its channels is 0 at all
        samples), there are more than `MAX_SOURCES`, or sources that are not images have several channels.

    Warns
    -----
    MirflowWarning
        For an empty side.
    FutureWarning
        Because mir_eval has deprecated these functions.

    References
    ----------
    Vincent, Gribonval and Févotte, Performance measurement in blind audio source separation, 2006
    Vincent et al., The Signal Separation Evaluation Campaign (2007-2010), Signal Processing 92, 2012

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", FutureWarning)
    >>> rng = np.random.default_rng(0)
    >>> sources = rng.normal(size=(2, 2000))
    >>> estimates = sources[::-1] + 0.1 * rng.normal(size=(2, 2000))
    """
)


@_documented
def validate(reference_sources: Array, estimated_sources: Array) -> None:
    """Check both sides of a pair."""
    shapes = f"reference_sources.shape = {reference_sources.shape}, estimated_sources.shape = {estimated_sources.shape}"
    if reference_sources.shape != estimated_sources.shape:
        raise ValueError(f"The shape of estimated sources and the true sources should match. {shapes}")
    if reference_sources.ndim > 3:
        raise ValueError(f"The number of dimensions is too high (must be less than 3). {shapes}")
    for name, sources in (("reference", reference_sources), ("estimated", estimated_sources)):
        if sources.size == 0:
            warn_caller(f"{name}_sources is empty, should be of size (nsrc, nsample); there is nothing to score")
        elif from_arrays(sources).silent():
            raise ValueError(f"All the {name} sources should be non-silent (not all-zeros), but at least one is all 0s")
    if len(reference_sources) > MAX_SOURCES:
        raise ValueError(f"The supplied matrices should be of shape (nsrc, nsampl), with up to {MAX_SOURCES}. {shapes}")


def _checked(function: str, reference: Array, estimate: Array, *, images: bool) -> tuple[Array, Array]:
    """Both sides as sources or as images."""
    text = f"separation.{function} is deprecated in mir_eval 0.8 and removed in mir_eval 0.9; mirflow keeps it"
    warn_caller(text, FutureWarning)
    sides = [np.atleast_3d(side) if images else np.atleast_2d(side) for side in (reference, estimate)]
    for side in sides:
        if not images and side.ndim == 3:
            raise ValueError(f"expected sources with one channel, got shape {side.shape}; images may have several")
    validate(sides[0], sides[1])
    return sides[0], sides[1]


def _ratios(
    sides: tuple[Array, Array], permutation: bool, names: tuple[str, ...], window: int | None = None, hop: int = _HOP
) -> list[Array]:
    """The named ratios and the order of the sources, of whole recordings or, with a window, of frames."""
    if sides[0].size == 0:
        return [np.array([])] * (len(names) + 1)
    reference, estimate = map(from_arrays, sides)
    order: Array
    if window is None:
        ratios, order = measure_whole(ReferenceSources(reference, FILTERS_LENGTH), estimate, permutation)
    else:
        ratios, order = measure_frames(reference, estimate, window, hop, permutation, FILTERS_LENGTH)
    return [*(ratios[NAMES.index(name)] for name in names), order]


@_documented
def bss_eval_sources(
    reference_sources: Array, estimated_sources: Array, compute_permutation: bool = True
) -> tuple[Array, Array, Array, Array]:
    """SDR, SIR and SAR of estimated sources, allowing for filtered references.

    Returns
    -------
    sdr, sir, sar : float64 (sources,), dB
    perm : int64 (sources,)
        Estimated source compared with each reference source.

    Examples
    --------
    >>> sdr, sir, sar, perm = bss_eval_sources(sources, estimates)
    >>> sdr.round(1).tolist(), perm.tolist()
    ([20.9, 21.2], [1, 0])
    """
    sides = _checked("bss_eval_sources", reference_sources, estimated_sources, images=False)
    sdr, sir, sar, order = _ratios(sides, compute_permutation, _SOURCES)
    return sdr, sir, sar, order


@_documented
def bss_eval_sources_framewise(
    reference_sources: Array,
    estimated_sources: Array,
    window: int = _WINDOW,
    hop: int = _HOP,
    compute_permutation: bool = False,
) -> tuple[Array, Array, Array, Array]:
    """`bss_eval_sources` of frames.

    Returns
    -------
    sdr, sir, sar : float64 (sources, frames), dB
        NaN in frames in which a source is silent.
    perm : (sources, frames)

    Examples
    --------
    >>> bss_eval_sources_framewise(sources, sources, window=1000, hop=500)[0].shape
    (2, 3)
    """
    sides = _checked("bss_eval_sources_framewise", reference_sources, estimated_sources, images=False)
    sdr, sir, sar, order = _ratios(sides, compute_permutation, _SOURCES, window, hop)
    return sdr, sir, sar, order


@_documented
def bss_eval_images(
    reference_sources: Array, estimated_sources: Array, compute_permutation: bool = True
) -> tuple[Array, Array, Array, Array, Array]:
    """SDR, ISR, SIR and SAR of estimated images of sources, with any number of channels.

    Returns
    -------
    sdr, isr, sir, sar : float64 (sources,), dB
    perm : int64 (sources,)
        Estimated source compared with each reference source.

    Examples
    --------
    >>> bss_eval_images(sources, estimates)[0].round(1).tolist()
    [19.8, 20.1]
    """
    sides = _checked("bss_eval_images", reference_sources, estimated_sources, images=True)
    sdr, isr, sir, sar, order = _ratios(sides, compute_permutation, _IMAGES)
    return sdr, isr, sir, sar, order


@_documented
def bss_eval_images_framewise(
    reference_sources: Array,
    estimated_sources: Array,
    window: int = _WINDOW,
    hop: int = _HOP,
    compute_permutation: bool = False,
) -> tuple[Array, Array, Array, Array, Array]:
    """`bss_eval_images` of frames.

    Returns
    -------
    sdr, isr, sir, sar : float64 (sources, frames), dB
        NaN in frames in which a source is silent, including the ISR.
    perm : (sources, frames)

    Examples
    --------
    >>> bss_eval_images_framewise(sources, sources, window=1000, hop=500)[0].shape
    (2, 3)
    """
    sides = _checked("bss_eval_images_framewise", reference_sources, estimated_sources, images=True)
    sdr, isr, sir, sar, order = _ratios(sides, compute_permutation, _IMAGES, window, hop)
    return sdr, isr, sir, sar, order


@_documented
def evaluate(reference_sources: Array, estimated_sources: Array, **kwargs: Any) -> OrderedDict[str, list[Any]]:
    """All separation scores of one estimate.

    Returns
    -------
    OrderedDict of str to list
        Results of all four functions; those for sources only without a dim for channels.

    Examples
    --------
    >>> evaluate(sources, estimates, window=1000, hop=500)["Sources - Source permutation"]
    [1, 0]
    """
    known = ("reference_sources", "estimated_sources", "compute_permutation", "window", "hop")
    refuse_unknown("evaluate", kwargs, known)
    sides = _checked("evaluate", reference_sources, estimated_sources, images=True)
    whole = _ratios(sides, kwargs.get("compute_permutation", True), (*_IMAGES, *_SOURCES))
    window, hop = kwargs.get("window", _WINDOW), kwargs.get("hop", _HOP)
    frames = _ratios(sides, kwargs.get("compute_permutation", False), (*_IMAGES, *_SOURCES), window, hop)
    groups: list[tuple[str, tuple[str, ...], list[Array]]] = [
        ("Images", _IMAGES, [*whole[:4], whole[-1]]),
        ("Images Frames", _IMAGES, [*frames[:4], frames[-1]]),
    ]
    if reference_sources.ndim < 3:
        groups += [("Sources Frames", _SOURCES, frames[4:]), ("Sources", _SOURCES, whole[4:])]
    return OrderedDict(
        (f"{group} - {title}", values.tolist())
        for group, names, found in groups
        for title, values in zip((*(_TITLES[name] for name in names), "Source permutation"), found, strict=True)
    )


_METRICS = [metric for metric in MDX.metrics if not metric.dims]

_of_sources = documented(
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
    left, right = map(from_arrays, sides)
    sounding = np.setdiff1d(np.arange(len(left)), left.silent())
    values = np.full(len(left), np.nan)
    if len(sounding):
        try:
            values[sounding] = compute(left.take(sounding.tolist()), right.take(sounding.tolist()))
        except FloatingPointError as error:
            raise ValueError(str(error)) from None
    return values


@_of_sources
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


@_of_sources
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
    values = _each(
        reference_sources, estimated_sources, lambda left, right: np.diag(scale_invariant(left, right, zero_mean))
    )
    values[from_arrays(np.atleast_2d(estimated_sources)).silent()] = np.nan
    return values


@_of_sources
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
    weights = np.array([[convergence], [logarithmic], [linear]])
    return _each(
        reference_sources,
        estimated_sources,
        lambda left, right: (weights * spectral_distances(left, right, eps)).sum(axis=0),
    )
