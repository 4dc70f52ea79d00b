"""mir_eval's separation metrics for one pair of arrays: its checks, then the kernel used for datasets."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from ...errors import refuse_unknown, warn_caller
from ..pair import documented
from ..util import Array
from .kernel import FILTERS_LENGTH, MAX_SOURCES, NAMES, ReferenceSources, from_arrays, measure_frames, measure_whole

_WINDOW, _HOP = 30 * 44100, 15 * 44100
_SOURCES = ("sdr", "sir", "sar")
_IMAGES = ("image_sdr", "image_isr", "sir", "sar")
_TITLES = {
    "sdr": "Source to Distortion",
    "image_sdr": "Source to Distortion",
    "image_isr": "Image to Spatial",
    "sir": "Source to Interference",
    "sar": "Source to Artifact",
}

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


def _whole(sides: tuple[Array, Array], permutation: bool, names: tuple[str, ...]) -> list[Array]:
    if sides[0].size == 0:
        return [np.array([])] * (len(names) + 1)
    reference, estimate = map(from_arrays, sides)
    ratios, order = measure_whole(ReferenceSources(reference, FILTERS_LENGTH), estimate, permutation)
    return [*(ratios[NAMES.index(name)] for name in names), order]


def _frames(
    sides: tuple[Array, Array], window: int, hop: int, permutation: bool, names: tuple[str, ...]
) -> list[Array]:
    if sides[0].size == 0:
        return [np.array([])] * (len(names) + 1)
    ratios, order = measure_frames(
        from_arrays(sides[0]), from_arrays(sides[1]), window, hop, permutation, FILTERS_LENGTH
    )
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
    sdr, sir, sar, order = _whole(sides, compute_permutation, _SOURCES)
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
    sdr, sir, sar, order = _frames(sides, window, hop, compute_permutation, _SOURCES)
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
    sdr, isr, sir, sar, order = _whole(sides, compute_permutation, _IMAGES)
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
    sdr, isr, sir, sar, order = _frames(sides, window, hop, compute_permutation, _IMAGES)
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
    whole = _whole(sides, kwargs.get("compute_permutation", True), (*_IMAGES, *_SOURCES))
    window, hop = kwargs.get("window", _WINDOW), kwargs.get("hop", _HOP)
    frames = _frames(sides, window, hop, kwargs.get("compute_permutation", False), (*_IMAGES, *_SOURCES))
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
