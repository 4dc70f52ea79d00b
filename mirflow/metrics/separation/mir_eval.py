"""mir_eval's separation metrics for one pair of arrays: its checks, then the kernel that datasets use too."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

import numpy as np

from ...errors import MirflowWarning, refuse_unknown
from ...ragged import Float
from ..util import Array
from .kernel import FILTERS_LENGTH, NAMES, ReferenceSources, from_arrays, measure_frames, measure_whole

MAX_SOURCES = 100
"""More sources than that are taken for a mistake: sources and samples may have changed places."""

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
Results = tuple[Array, ...]


def validate(reference_sources: Array, estimated_sources: Array) -> None:
    """Check both sides of a pair.

    Parameters
    ----------
    reference_sources, estimated_sources : (sources, samples) or (sources, samples, channels)

    Raises
    ------
    ValueError
        If the shapes differ or have more than three dims, a source is silent (all samples are 0 when the channels are
        added up), or there are more than `MAX_SOURCES`.

    Warns
    -----
    MirflowWarning
        For an empty side.
    """
    shapes = f"reference_sources.shape = {reference_sources.shape}, estimated_sources.shape = {estimated_sources.shape}"
    if reference_sources.shape != estimated_sources.shape:
        raise ValueError(f"The shape of estimated sources and the true sources should match. {shapes}")
    if reference_sources.ndim > 3:
        raise ValueError(f"The number of dimensions is too high (must be less than 3). {shapes}")
    for name, sources in (("reference", reference_sources), ("estimated", estimated_sources)):
        if sources.size == 0:
            text = f"{name}_sources is empty, should be of size (nsrc, nsample); there is nothing to score"
            warnings.warn(text, MirflowWarning, stacklevel=3)
        elif from_arrays(sources).silent():
            raise ValueError(f"All the {name} sources should be non-silent (not all-zeros), but at least one is all 0s")
    if len(reference_sources) > MAX_SOURCES:
        raise ValueError(f"The supplied matrices should be of shape (nsrc, nsampl), with up to {MAX_SOURCES}. {shapes}")


def bss_eval_sources(
    reference_sources: Array, estimated_sources: Array, compute_permutation: bool = True
) -> tuple[Array, Array, Array, Array]:
    """SDR, SIR and SAR of estimated sources, for which filtered references count as right.

    Parameters
    ----------
    reference_sources, estimated_sources : (sources, samples) or (samples,)
    compute_permutation : bool
        Whether to look for the order of the estimates with the largest mean SIR.

    Returns
    -------
    sdr, sir, sar : float64 (sources,), dB
    perm : int64 (sources,)
        The estimated source that was held against each reference source.

    Raises
    ------
    ValueError
        As `validate`, which also warns; and for sources with several channels.

    Warns
    -----
    FutureWarning
        Because mir_eval announces the end of this function, for those who use both.

    ReferenceSources
    ----------
    E. Vincent, R. Gribonval and C. Fevotte, "Performance measurement in blind audio source separation", 2006.

    Examples
    --------
    >>> import warnings
    >>> rng = np.random.default_rng(0)
    >>> sources = rng.normal(size=(2, 8000))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", FutureWarning)
    ...     sdr, sir, sar, perm = bss_eval_sources(sources, sources[::-1] + 0.1 * rng.normal(size=(2, 8000)))
    >>> sdr.round(1).tolist(), perm.tolist()
    ([20.3, 20.3], [1, 0])
    """
    _announce("bss_eval_sources")
    sides = _flat(reference_sources), _flat(estimated_sources)
    validate(*sides)
    return _four(_whole(*sides, compute_permutation, _SOURCES))


def bss_eval_sources_framewise(
    reference_sources: Array,
    estimated_sources: Array,
    window: int = _WINDOW,
    hop: int = _HOP,
    compute_permutation: bool = False,
) -> tuple[Array, Array, Array, Array]:
    """`bss_eval_sources` of stretches of time.

    Parameters
    ----------
    reference_sources, estimated_sources : (sources, samples) or (samples,)
    window, hop : int
        Samples of a stretch, and from one to the next. Recordings with less than two are one stretch.
    compute_permutation : bool
        Whether each stretch has its own order of the estimates.

    Returns
    -------
    sdr, sir, sar : float64 (sources, stretches), dB
        NaN in stretches in which a source is silent.
    perm : (sources, stretches)

    Raises
    ------
    ValueError
        As `bss_eval_sources`, which also warns.
    """
    _announce("bss_eval_sources_framewise")
    sides = _flat(reference_sources), _flat(estimated_sources)
    validate(*sides)
    return _four(_frames(*sides, window, hop, compute_permutation, _SOURCES))


def bss_eval_images(
    reference_sources: Array, estimated_sources: Array, compute_permutation: bool = True
) -> tuple[Array, Array, Array, Array, Array]:
    """SDR, ISR, SIR and SAR of estimated images of sources, of any number of channels.

    Parameters
    ----------
    reference_sources, estimated_sources : (sources, samples, channels), (sources, samples) or (samples,)
    compute_permutation : bool
        Whether to look for the order of the estimates with the largest mean SIR.

    Returns
    -------
    sdr, isr, sir, sar : float64 (sources,), dB
    perm : int64 (sources,)
        The estimated source that was held against each reference source.

    Raises
    ------
    ValueError
        As `validate`, which also warns.

    Warns
    -----
    FutureWarning
        Because mir_eval announces the end of this function, for those who use both.

    ReferenceSources
    ----------
    E. Vincent et al., "The Signal Separation Evaluation Campaign (2007-2010): achievements and remaining challenges",
    Signal Processing 92, 2012.
    """
    _announce("bss_eval_images")
    sides = np.atleast_3d(reference_sources), np.atleast_3d(estimated_sources)
    validate(*sides)
    return _five(_whole(*sides, compute_permutation, _IMAGES))


def bss_eval_images_framewise(
    reference_sources: Array,
    estimated_sources: Array,
    window: int = _WINDOW,
    hop: int = _HOP,
    compute_permutation: bool = False,
) -> tuple[Array, Array, Array, Array, Array]:
    """`bss_eval_images` of stretches of time.

    Parameters
    ----------
    reference_sources, estimated_sources : (sources, samples, channels), (sources, samples) or (samples,)
    window, hop : int
        Samples of a stretch, and from one to the next. Recordings with less than two are one stretch.
    compute_permutation : bool
        Whether each stretch has its own order of the estimates.

    Returns
    -------
    sdr, isr, sir, sar : float64 (sources, stretches), dB
        NaN in stretches in which a source is silent, the ISR too.
    perm : (sources, stretches)

    Raises
    ------
    ValueError
        As `bss_eval_images`, which also warns.
    """
    _announce("bss_eval_images_framewise")
    sides = np.atleast_3d(reference_sources), np.atleast_3d(estimated_sources)
    validate(*sides)
    return _five(_frames(*sides, window, hop, compute_permutation, _IMAGES))


def evaluate(reference_sources: Array, estimated_sources: Array, **kwargs: Any) -> OrderedDict[str, list[Any]]:
    """All separation scores of one estimate.

    Parameters
    ----------
    reference_sources, estimated_sources : (sources, samples) or (sources, samples, channels)
    **kwargs
        ``compute_permutation``, ``window`` and ``hop``: see `bss_eval_images_framewise`.

    Returns
    -------
    OrderedDict of str to list
        The results of all four functions; those for sources only if there is no dim of channels.

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        As `validate`, which also warns.
    """
    known = ("reference_sources", "estimated_sources", "compute_permutation", "window", "hop")
    refuse_unknown("evaluate", kwargs, known)
    _announce("evaluate")
    sides = np.atleast_3d(reference_sources), np.atleast_3d(estimated_sources)
    validate(*sides)
    whole = _whole(*sides, kwargs.get("compute_permutation", True), (*_IMAGES, *_SOURCES))
    window, hop = kwargs.get("window", _WINDOW), kwargs.get("hop", _HOP)
    frames = _frames(*sides, window, hop, kwargs.get("compute_permutation", False), (*_IMAGES, *_SOURCES))
    scores: OrderedDict[str, list[Any]] = OrderedDict()
    _put(scores, "Images", _IMAGES, (*whole[:4], whole[-1]))
    _put(scores, "Images Frames", _IMAGES, (*frames[:4], frames[-1]))
    if reference_sources.ndim < 3:
        _put(scores, "Sources Frames", _SOURCES, frames[4:])
        _put(scores, "Sources", _SOURCES, whole[4:])
    return scores


def _put(scores: OrderedDict[str, list[Any]], group: str, names: tuple[str, ...], found: Results) -> None:
    for title, values in zip((*(_TITLES[name] for name in names), "Source permutation"), found, strict=True):
        scores[f"{group} - {title}"] = values.tolist()


def _announce(name: str) -> None:
    text = f"mir_eval 0.8 deprecates separation.{name}, and mir_eval 0.9 will not have it; mirflow keeps it"
    warnings.warn(text, FutureWarning, stacklevel=3)


def _flat(sources: Array) -> Array:
    """Sources of one channel."""
    if sources.ndim == 3:
        raise ValueError(f"sources have one channel, but the shape is {sources.shape}; images may have several")
    return sources[np.newaxis, :] if sources.ndim == 1 else sources


def _whole(reference: Array, estimate: Array, permutation: bool, names: tuple[str, ...]) -> Results:
    if reference.size == 0:
        return (np.array([]),) * (len(names) + 1)
    references = ReferenceSources(from_arrays(reference), FILTERS_LENGTH)
    return _chosen(*measure_whole(references, from_arrays(estimate), permutation), names)


def _frames(
    reference: Array, estimate: Array, window: int, hop: int, permutation: bool, names: tuple[str, ...]
) -> Results:
    if reference.size == 0:
        return (np.array([]),) * (len(names) + 1)
    sides = from_arrays(reference), from_arrays(estimate)
    return _chosen(*measure_frames(*sides, window, hop, permutation, FILTERS_LENGTH), names)


def _chosen(ratios: Float, order: Array, names: tuple[str, ...]) -> Results:
    return (*(ratios[NAMES.index(name)] for name in names), order)


def _four(found: Results) -> tuple[Array, Array, Array, Array]:
    one, two, three, four = found
    return one, two, three, four


def _five(found: Results) -> tuple[Array, Array, Array, Array, Array]:
    one, two, three, four, five = found
    return one, two, three, four, five
