"""mir_eval's functions for one pair: its checks, then the kernel with a batch of one."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from ..base.arguments import refuse_unknown
from ..checks import BOUNDED, Array, are_times
from .scoring import differing, too_late
from .timing import Timestamps, mean_error, median_error, perceived_synchrony, segments, share_correct


def validate(reference_timestamps: Array, estimated_timestamps: Array) -> None:
    """Check both sides of a pair.

    Parameters
    ----------
    reference_timestamps, estimated_timestamps : (n,), seconds

    Raises
    ------
    ValueError
        For what is no flat array, an empty reference, sides that differ in number, and times that decrease, are
        negative or not finite.

    Examples
    --------
    >>> validate(np.array([0.5, 1.0]), np.array([0.6, 0.9]))
    """
    sides = (("Reference", reference_timestamps), ("Estimated", estimated_timestamps))
    for side, times in sides:
        if not isinstance(times, np.ndarray):
            raise ValueError(f"{side} timestamps need to be a numpy array, but got {type(times)}")
    for side, times in sides:
        if times.ndim != 1:
            raise ValueError(f"{side} timestamps need to be a one-dimensional vector, but got {times.ndim} dimensions")
    if reference_timestamps.size == 0:
        raise ValueError("Reference timestamps are empty.")
    if estimated_timestamps.size != reference_timestamps.size:
        raise ValueError(differing(reference_timestamps.size, estimated_timestamps.size))
    for side, times in sides:
        if not (times[1:] >= times[:-1]).all():
            raise ValueError(f"{side} timestamps are not monotonically increasing!")
    for side, times in sides:
        if not (times >= 0).all():
            raise ValueError(f"{side} timestamps can not be below 0!")
    for side, times in sides:
        if not are_times(times[-1]):
            raise ValueError(f"{side} timestamps {BOUNDED}")


def _checked(reference_timestamps: Array, estimated_timestamps: Array) -> Timestamps:
    """The pair as a batch of one."""
    validate(reference_timestamps, estimated_timestamps)
    reference, estimate = (
        np.asarray(times, dtype=np.float64) for times in (reference_timestamps, estimated_timestamps)
    )
    return Timestamps(reference, estimate, np.array([len(reference)], dtype=np.int64))


def absolute_error(reference_timestamps: Array, estimated_timestamps: Array) -> tuple[float, float]:
    """Median and mean of the absolute errors.

    Parameters
    ----------
    reference_timestamps, estimated_timestamps : (n,), seconds
        The n-th of both belong together.

    Returns
    -------
    mae, aae : float, seconds
        Median and mean.

    Raises
    ------
    ValueError
        For what `validate` refuses.

    Examples
    --------
    >>> absolute_error(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, 4.0]))
    (0.5, 0.5)
    """
    stamps = _checked(reference_timestamps, estimated_timestamps)
    return float(median_error(stamps)[0]), float(mean_error(stamps)[0])


def percentage_correct(reference_timestamps: Array, estimated_timestamps: Array, window: float = 0.3) -> float:
    """Share of the events that lie near enough.

    Parameters
    ----------
    reference_timestamps, estimated_timestamps : (n,), seconds
    window : float, seconds
        Largest distance that is near enough.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ValueError
        For what `validate` refuses.

    Examples
    --------
    >>> percentage_correct(np.array([1.0, 2.0]), np.array([1.2, 2.5]))
    0.5
    """
    return float(share_correct(_checked(reference_timestamps, estimated_timestamps), window)[0])


def percentage_correct_segments(
    reference_timestamps: Array, estimated_timestamps: Array, duration: float | None = None
) -> float:
    """Share of the time in which the segments between events overlap with their counterparts.

    Parameters
    ----------
    reference_timestamps, estimated_timestamps : (n,), seconds
    duration : float or None
        Length of the recording in seconds: then the stretches before the first event and after the last one count as
        segments. None: the time from the first to the last event of the reference counts.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    ValueError
        For what `validate` refuses, a duration that is not positive or ends before the last event, and, without a
        duration, a reference whose events are all at one time.

    References
    ----------
    H. Fujihara et al., "LyricSynchronizer", IEEE Journal of Selected Topics in Signal Processing 5(6), 2011; without a
    duration: MIREX 2020, automatic lyrics-to-audio alignment.

    Examples
    --------
    >>> percentage_correct_segments(np.array([0.0, 2.0, 4.0]), np.array([0.0, 1.0, 4.0]))
    0.75
    """
    return _share_of_segments(_checked(reference_timestamps, estimated_timestamps), duration)


def _share_of_segments(stamps: Timestamps, duration: float | None) -> float:
    if duration is not None:
        duration = float(duration)
        if not duration > 0:
            raise ValueError(f"Positive duration needs to be provided, but got {duration}")
        for side, times in (("reference", stamps.reference), ("estimated", stamps.estimate)):
            if times[-1] > duration:
                raise ValueError(too_late(side, float(times[-1]), duration))
    overlap, total = segments(stamps, duration)
    if total[0] <= 0:
        raise ValueError("Reference timestamps are all identical, can not compute PCS metric!")
    return float(overlap[0] / total[0])


def karaoke_perceptual_metric(reference_timestamps: Array, estimated_timestamps: Array) -> float:
    """How synchronous listeners find text and audio.

    Parameters
    ----------
    reference_timestamps, estimated_timestamps : (n,), seconds

    Returns
    -------
    float
        In [0, 1]; 0.96 for a perfect alignment, because what comes 0.07 s early is judged best.

    Raises
    ------
    ValueError
        For what `validate` refuses.

    References
    ----------
    N. Lize-Masclef, A. Vaglio, M. Moussallam, "User-centered evaluation of lyrics-to-audio alignment", ISMIR 2021.

    Examples
    --------
    >>> round(karaoke_perceptual_metric(np.array([1.0, 2.0]), np.array([1.0, 2.0])), 4)
    0.9606
    """
    return float(perceived_synchrony(_checked(reference_timestamps, estimated_timestamps))[0])


def evaluate(reference_timestamps: Array, estimated_timestamps: Array, **kwargs: Any) -> OrderedDict[str, float]:
    """All alignment scores of one estimate.

    Parameters
    ----------
    reference_timestamps, estimated_timestamps : (n,), seconds
    **kwargs
        ``window``, see `percentage_correct`; ``duration``, see `percentage_correct_segments`.

    Returns
    -------
    OrderedDict of str to float
        ``pc``, ``mae``, ``aae``, ``pcs`` and ``perceptual``.

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        As `percentage_correct_segments`.

    Examples
    --------
    >>> scores = evaluate(np.array([1.0, 2.0]), np.array([1.25, 2.5]))
    >>> scores["pc"], scores["aae"], scores["pcs"]
    (0.5, 0.375, 0.75)
    """
    refuse_unknown("evaluate", kwargs, ("reference_timestamps", "estimated_timestamps", "window", "duration"))
    stamps = _checked(reference_timestamps, estimated_timestamps)
    return OrderedDict(
        pc=float(share_correct(stamps, kwargs.get("window", 0.3))[0]),
        mae=float(median_error(stamps)[0]),
        aae=float(mean_error(stamps)[0]),
        pcs=_share_of_segments(stamps, kwargs.get("duration")),
        perceptual=float(perceived_synchrony(stamps)[0]),
    )
