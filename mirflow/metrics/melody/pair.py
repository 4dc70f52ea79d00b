"""mir_eval's melody metrics for one pair: its checks, then the tally of frames of a batch of one."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import MirflowWarning
from ...ragged import Float
from ..base.arguments import refuse_unknown
from ..checks import Array
from . import readings
from .arrays import to_cent_voicing
from .frames import Frames, Tally
from .readings import READINGS
from .records import METRICS
from .series import is_graded

_OF_ARRAYS = ("base_frequency", "hop", "kind")


def validate_voicing(ref_voicing: Array, est_voicing: Array) -> None:
    """Check the voicing of both sides.

    Parameters
    ----------
    ref_voicing, est_voicing : (n,)
        From 0 to 1.

    Raises
    ------
    ValueError
        If they differ in length or hold other values.

    Warns
    -----
    MirflowWarning
        If a side is empty or has nothing voiced.
    """
    for voicing, name in ((ref_voicing, "Reference"), (est_voicing, "Estimated")):
        if voicing.size == 0:
            _warn(f"{name} voicing array is empty.")
    for voicing, name in ((ref_voicing, "Reference"), (est_voicing, "Estimated")):
        if voicing.sum() == 0:
            _warn(f"{name} melody has no voiced frames.")
    if ref_voicing.shape[0] != est_voicing.shape[0]:
        raise ValueError("Reference and estimated voicing arrays should be the same length.")
    for voicing in (ref_voicing, est_voicing):
        if not ((voicing >= 0) & (voicing <= 1)).all():
            raise ValueError("Voicing arrays must be between 0 and 1.")


def validate(ref_voicing: Array, ref_cent: Array, est_voicing: Array, est_cent: Array) -> None:
    """Check that all arrays have the same length.

    Parameters
    ----------
    ref_voicing, ref_cent, est_voicing, est_cent : (n,)

    Raises
    ------
    ValueError
        If they have not.

    Warns
    -----
    MirflowWarning
        If there are no frames.
    """
    for cents, name in ((ref_cent, "Reference"), (est_cent, "Estimated")):
        if cents.size == 0:
            _warn(f"{name} frequency array is empty.")
    if not ref_voicing.shape[0] == ref_cent.shape[0] == est_cent.shape[0] == est_voicing.shape[0]:
        raise ValueError("All voicing and frequency arrays must have the same length.")


def _warn(message: str) -> None:
    """Warn the caller of the function that called the check."""
    warnings.warn(message, MirflowWarning, stacklevel=4)


def _frames(ref_voicing: Array, ref_cent: Array, est_voicing: Array, est_cent: Array) -> Frames:
    arrays = (ref_cent, ref_voicing, est_cent, est_voicing)
    cents, voicing, other_cents, other_voicing = (np.asarray(one, dtype=np.float64) for one in arrays)
    counts = np.array([len(ref_voicing)], dtype=np.int64)
    graded = bool(is_graded(voicing, counts)[0]), bool(is_graded(other_voicing, counts)[0])
    return Frames(cents, voicing, other_cents, other_voicing, counts, np.zeros(len(ref_voicing)), graded)


def _of_voicing(read: Callable[[Tally], readings.Reading], ref_voicing: Array, est_voicing: Array) -> float:
    if ref_voicing.size == 0 or est_voicing.size == 0:
        return 0.0
    if ref_voicing.shape != est_voicing.shape:
        raise ValueError("Reference and estimated voicing arrays should be the same length.")
    silent: Float = np.zeros(len(ref_voicing))
    return float(read(Tally.of(_frames(ref_voicing, silent, est_voicing, silent), 0.0))[0][0])


def voicing_recall(ref_voicing: Array, est_voicing: Array) -> float:
    """Voicing of the estimate on voiced frames of the reference.

    Parameters
    ----------
    ref_voicing, est_voicing : (n,)
        From 0 to 1.

    Returns
    -------
    float
        1 where nothing is voiced, 0 without frames.

    Raises
    ------
    ValueError
        If they differ in length.

    Examples
    --------
    >>> voicing_recall(np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0]))
    0.5
    """
    return _of_voicing(readings.voicing_recall, ref_voicing, est_voicing)


def voicing_false_alarm(ref_voicing: Array, est_voicing: Array) -> float:
    """Voicing of the estimate on unvoiced frames of the reference.

    Parameters
    ----------
    ref_voicing, est_voicing : (n,)
        From 0 to 1.

    Returns
    -------
    float
        0 where all is voiced and without frames.

    Raises
    ------
    ValueError
        If they differ in length.

    Examples
    --------
    >>> voicing_false_alarm(np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0]))
    0.5
    """
    return _of_voicing(readings.voicing_false_alarm, ref_voicing, est_voicing)


def voicing_measures(ref_voicing: Array, est_voicing: Array) -> tuple[float, float]:
    """Voicing recall and voicing false alarm.

    Parameters
    ----------
    ref_voicing, est_voicing : (n,)
        From 0 to 1.

    Returns
    -------
    recall, false_alarm : float

    Raises
    ------
    ValueError
        As `validate_voicing`, which also warns.

    Examples
    --------
    >>> voicing_measures(np.array([1, 1, 0, 0]), np.array([1, 0, 0.5, 0]))
    (0.5, 0.25)
    """
    validate_voicing(ref_voicing, est_voicing)
    return voicing_recall(ref_voicing, est_voicing), voicing_false_alarm(ref_voicing, est_voicing)


def _of_pitch(
    read: Callable[[Tally], readings.Reading],
    arrays: tuple[Array, Array, Array, Array],
    cent_tolerance: float,
) -> float:
    if not arrays[0].size:
        return 0.0
    return float(read(Tally.of(_frames(*arrays), cent_tolerance))[0][0])


def raw_pitch_accuracy(
    ref_voicing: Array, ref_cent: Array, est_voicing: Array, est_cent: Array, cent_tolerance: float = 50
) -> float:
    """Share of the reference's voicing on frames where the pitch is right, whether it is called voiced or not.

    Parameters
    ----------
    ref_voicing, est_voicing : (n,)
        From 0 to 1.
    ref_cent, est_cent : (n,), cents
        0 where there is no pitch.
    cent_tolerance : float, cents
        A right pitch is less than so far off.

    Returns
    -------
    float
        0 where nothing is voiced.

    Raises
    ------
    ValueError
        As `validate_voicing` and `validate`, which also warn.

    Examples
    --------
    >>> raw_pitch_accuracy(np.ones(2), np.array([6000.0, 6000.0]), np.ones(2), np.array([6049.0, 7200.0]))
    0.5
    """
    validate_voicing(ref_voicing, est_voicing)
    validate(ref_voicing, ref_cent, est_voicing, est_cent)
    arrays = ref_voicing, ref_cent, est_voicing, est_cent
    return _of_pitch(readings.raw_pitch_accuracy, arrays, cent_tolerance)


def raw_chroma_accuracy(
    ref_voicing: Array, ref_cent: Array, est_voicing: Array, est_cent: Array, cent_tolerance: float = 50
) -> float:
    """As `raw_pitch_accuracy`, but pitches that are octaves apart count as equal.

    Parameters, returns and errors are those of `raw_pitch_accuracy`.

    Examples
    --------
    >>> raw_chroma_accuracy(np.ones(2), np.array([6000.0, 6000.0]), np.ones(2), np.array([6049.0, 7200.0]))
    1.0
    """
    validate_voicing(ref_voicing, est_voicing)
    validate(ref_voicing, ref_cent, est_voicing, est_cent)
    arrays = ref_voicing, ref_cent, est_voicing, est_cent
    return _of_pitch(readings.raw_chroma_accuracy, arrays, cent_tolerance)


def overall_accuracy(
    ref_voicing: Array, ref_cent: Array, est_voicing: Array, est_cent: Array, cent_tolerance: float = 50
) -> float:
    """Share of the frames that are right: voiced with the right pitch, or unvoiced on both sides.

    Parameters and errors are those of `raw_pitch_accuracy`.

    Returns
    -------
    float
        0 without frames.

    Examples
    --------
    >>> overall_accuracy(np.array([1, 0]), np.array([6000.0, 0.0]), np.array([1, 1]), np.array([6010.0, 6010.0]))
    0.5
    """
    validate_voicing(ref_voicing, est_voicing)
    validate(ref_voicing, ref_cent, est_voicing, est_cent)
    arrays = ref_voicing, ref_cent, est_voicing, est_cent
    return _of_pitch(readings.overall_accuracy, arrays, cent_tolerance)


def evaluate(
    ref_time: Array,
    ref_freq: Array,
    est_time: Array,
    est_freq: Array,
    est_voicing: Array | None = None,
    ref_reward: Array | None = None,
    **kwargs: Any,
) -> OrderedDict[str, float]:
    """All melody scores of one estimate.

    Parameters
    ----------
    ref_time, ref_freq, est_time, est_freq, est_voicing, ref_reward
        As for `to_cent_voicing`.
    **kwargs
        ``base_frequency``, ``hop`` and ``kind`` of `to_cent_voicing`; ``cent_tolerance`` of `raw_pitch_accuracy`.

    Returns
    -------
    OrderedDict of str to float

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        As `to_cent_voicing`, `validate_voicing` and `validate`, which also warn.

    Examples
    --------
    >>> times = np.array([0.0, 0.01, 0.02])
    >>> scores = evaluate(times, np.array([220.0, 220.0, 0.0]), times, np.array([221.0, 440.0, -220.0]))
    >>> scores["Raw Pitch Accuracy"], scores["Raw Chroma Accuracy"], scores["Voicing False Alarm"]
    (0.5, 1.0, 0.0)
    """
    known = ("ref_time", "ref_freq", "est_time", "est_freq", "est_voicing", "ref_reward", *_OF_ARRAYS, "cent_tolerance")
    refuse_unknown("evaluate", kwargs, known)
    to_arrays = {name: value for name, value in kwargs.items() if name in _OF_ARRAYS}
    arrays = to_cent_voicing(ref_time, ref_freq, est_time, est_freq, est_voicing, ref_reward, **to_arrays)
    ref_voicing, ref_cent, est_voicing, est_cent = arrays
    validate_voicing(ref_voicing, est_voicing)
    validate(ref_voicing, ref_cent, est_voicing, est_cent)
    if not ref_voicing.size:
        return OrderedDict((metric.key, 0.0) for metric in METRICS)
    tally = Tally.of(_frames(*arrays), kwargs.get("cent_tolerance", 50))
    return OrderedDict((metric.key, float(READINGS[metric.name](tally)[0][0])) for metric in METRICS)
