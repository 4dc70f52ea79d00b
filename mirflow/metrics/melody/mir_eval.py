"""mir_eval's melody functions for one pair: checks, conversion to cents and voicing on common frames, and scores."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import warn_caller
from ...ragged import Float, Ragged
from ..measures import Measure
from ..pair import PairFunctions, documented
from ..util import BOUNDED, Array, are_times
from . import kernel
from .metrics import METRICS, ways_of

KINDS = {"linear": "linear", "nearest": "nearest", "zero": "hold"}  # Kinds of resampling in mir_eval and in mirflow

_NOT_UNIFORM = (
    "Non-uniform timescale passed to resample_melody_series. Pitch will be interpolated between neighbouring samples, "
    "which is wrong if missing samples indicate silence; use frequencies of 0 or less instead."
)
_OTHER_LENGTH = "Reference and estimated voicing arrays should be the same length."
_OF_ARRAYS = ("base_frequency", "hop", "kind")

_of_series = documented(
    """
    Parameters
    ----------
    freq_hz : (n,), Hz
        The sign is ignored.
    ref_time, est_time : (n,) and (m,), seconds
        Ascending.
    ref_freq, est_freq : (n,) and (m,), Hz
        0 is silence; negative values are guesses in unvoiced frames.
    est_voicing : (m,) or None
        Voicing of each sample of the estimate, from 0 to 1; None: determined by the sign.
    ref_reward : (n,) or None
        Weight of each sample of the reference, from 0 to 1; None: 1 for voiced ones.
    base_frequency : float, Hz
        Frequency of 0 cents.
    hop : float or None, seconds
        Distance of the frames; None: those of the reference.
    kind : {"linear", "nearest", "zero"}
        Linear interpolation, nearest or previous sample. Silence is never interpolated.

    Raises
    ------
    ValueError
        For an unknown `kind`, times that are not finite or unordered, arrays of different lengths, repeated times
        unless `kind` is ``nearest``, and new times before the first one.

    Warns
    -----
    MirflowWarning
        If the times are not evenly spaced.
    """,
    METRICS,
)
_VOICING = """
    Parameters
    ----------
    ref_voicing, est_voicing : (n,)
        From 0 to 1.
    ref_cent, est_cent : (n,), cents
        0 without pitch.
    Raises
    ------
    ValueError
        If arrays differ in length{}
"""
_of_voicing = documented(_VOICING.format("."), METRICS)
_of_frames = documented(
    _VOICING.format(", or voicing is not from 0 to 1.")
    + """
    Warns
    -----
    MirflowWarning
        If a side is empty or has nothing voiced.
    """,
    METRICS,
)


def hz2cents(freq_hz: Array, base_frequency: float = 10.0) -> Float:
    """Convert frequencies to cents above a base frequency; 0 Hz remains 0.

    Parameters
    ----------
    freq_hz : (n,), Hz
        The sign is ignored.
    base_frequency : float, Hz

    Returns
    -------
    float64 (n,), cents

    Examples
    --------
    >>> hz2cents(np.array([0.0, 20.0, 5.0])).tolist()
    [0.0, 1200.0, -1200.0]
    """
    return kernel.to_cents(np.asarray(freq_hz, dtype=np.float64), base_frequency)


def freq_to_voicing(frequencies: Array, voicing: Array | None = None) -> tuple[Array, Array]:
    """Split signed frequencies into absolute frequencies and voicing.

    Parameters
    ----------
    frequencies : (n,), Hz
        0 is silence; negative values are guesses in unvoiced frames.
    voicing : (n,) or None
        Voicing in [0, 1]; None: frequencies above 0 are voiced. The result is always 0 for frequency 0.

    Returns
    -------
    frequencies : (n,), Hz
    voicing : (n,)
        A new array.

    Examples
    --------
    >>> [column.tolist() for column in freq_to_voicing(np.array([0.0, 100.0, -132.0]))]
    [[0.0, 100.0, 132.0], [0.0, 1.0, 0.0]]
    """
    if voicing is None:
        voiced: Array = (frequencies > 0).astype(np.float64)
    else:
        voiced = np.array(voicing)
        voiced[frequencies == 0] = 0
    return np.abs(frequencies), voiced


def constant_hop_timebase(hop: float, end_time: float) -> Float:
    """Return times from 0 s to an end, separated by a hop.

    Parameters
    ----------
    hop, end_time : float, seconds

    Returns
    -------
    float64 (n,), seconds

    Examples
    --------
    >>> constant_hop_timebase(0.1, 0.35).tolist()
    [0.0, 0.1, 0.2, 0.3]
    """
    return kernel.hop_times(kernel.hop_counts(np.array([end_time], dtype=np.float64), hop), hop)


@_of_series
def resample_melody_series(
    times: Array, frequencies: Array, voicing: Array, times_new: Array, kind: str = "linear"
) -> tuple[Array, Array]:
    """Resample frequencies and voicing.

    Parameters
    ----------
    times, frequencies, voicing : (n,)
        Times in ascending order; frequencies in any unit, 0 is silence.
    times_new : (m,), seconds

    Returns
    -------
    frequencies_resampled, voicing_resampled : (m,)
        The given arrays if the times are equal.

    Examples
    --------
    >>> cents, voicing = resample_melody_series(
    ...     np.array([0.0, 1.0, 2.0]), np.array([2.0, 4.0, 0.0]), np.array([1.0, 1.0, 0.0]), np.array([0.5, 1.5, 2.5]))
    >>> cents.tolist(), voicing.tolist()
    ([3.0, 4.0, 0.0], [1.0, 1.0, 0.0])
    """
    _check_arguments(kind, times, times_new)
    if times.shape == times_new.shape and np.allclose(times, times_new):
        return frequencies, voicing
    if not times_new.size:
        return np.zeros(0), np.zeros(0)
    count = np.array([len(times)])
    columns = (np.append(column, end) for column, end in ((times, np.inf), (frequencies, 0.0), (voicing, 0.0)))
    time, value, voiced = (column.astype(np.float64) for column in columns)
    series = kernel.Melodies(time, value, voiced, count, kernel.is_graded(voiced, count + 1))
    order = np.argsort(times_new, kind="stable")
    _check_resampling(series, float(times_new.min()), kind)
    sampled = kernel.resample(
        series, np.zeros(1, dtype=np.int64), times_new[order], np.array([len(times_new)]), KINDS[kind]
    )
    back = np.argsort(order, kind="stable")
    return sampled[0][back], sampled[1][back]


@_of_series
def to_cent_voicing(
    ref_time: Array,
    ref_freq: Array,
    est_time: Array,
    est_freq: Array,
    est_voicing: Array | None = None,
    ref_reward: Array | None = None,
    base_frequency: float = 10.0,
    hop: float | None = None,
    kind: str = "linear",
) -> tuple[Float, Float, Float, Float]:
    """Convert reference and estimate to cents and voicing on common frames.

    Returns
    -------
    ref_voicing, ref_cent, est_voicing, est_cent : float64 (k,)
        One value per frame of the reference. An estimate without samples is silent.

    Examples
    --------
    >>> times, later = np.array([0.0, 1.0]), np.array([0.0, 2.0])
    >>> found = to_cent_voicing(times, np.array([20.0, 0.0]), later, np.array([40.0, 80.0]))
    >>> [column.tolist() for column in found]
    [[1.0, 0.0], [1200.0, 0.0], [1.0, 1.0], [2400.0, 3000.0]]
    """
    sides = (ref_time, ref_freq, ref_reward), (est_time, est_freq, est_voicing)
    for name, (time, frequency, voicing) in zip(("Reference", "Estimated"), sides, strict=True):
        for column in (frequency, *([] if voicing is None else [voicing])):
            if column.shape != time.shape or time.ndim != 1:
                raise ValueError(f"{name} times, frequencies and voicing must be 1-d arrays of the same length")
        _check_arguments(kind, time)
        if not np.isfinite(frequency).all():
            raise ValueError(f"{name} frequencies must be finite")
    if hop is not None and not 0 < hop < np.inf:
        raise ValueError(f"hop must be above 0 s, got {hop}")
    if not ref_time.size:
        return np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0)
    if not est_time.size:
        sides = sides[0], (np.zeros(1), np.zeros(1), None)
    only = np.zeros(1, dtype=np.int64)
    series = []
    for time, frequency, voicing in sides:
        columns = {"time": time, "frequency": frequency} | ({} if voicing is None else {"voicing": voicing})
        floats = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
        series.append(kernel.series_of(Ragged(floats, (np.array([len(time)]),)), only, base_frequency))
    reference, estimate = series
    if hop is None:
        if not kernel.is_on_grid(estimate, only, reference.times[:-1], reference.counts)[0]:
            _check_resampling(estimate, float(reference.times[0]), kind)
        frames = kernel.on_reference(reference, estimate, only, only, KINDS[kind])
    else:
        for side in series:
            end, most = side.times[side.last], max(kernel.FRAMES_A_SAMPLE * side.counts[0], kernel.MOST_FRAMES)
            if not -hop < end[0] <= most * hop or not (counts := kernel.hop_counts(end, hop))[0]:
                frames_from = f"on frames from 0 s with a hop of {hop} s"
                raise ValueError(f"A series that ends at {end[0]} s cannot be resampled {frames_from}")
            if not kernel.is_on_grid(side, only, kernel.hop_times(counts, hop), counts)[0]:
                _check_resampling(side, 0.0, kind)
        frames = kernel.on_hop(reference, estimate, only, only, hop, KINDS[kind])
    return frames.reference_voicing, frames.reference_cents, frames.estimate_voicing, frames.estimate_cents


def _check_arguments(kind: str, *series: Array) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    for times in series:
        if not are_times(times):
            raise ValueError(f"Times {BOUNDED}")
    if (np.diff(series[0]) < 0).any():
        raise ValueError("Times must be in ascending order")


def _check_resampling(series: kernel.Melodies, begin: float, kind: str) -> None:
    rounded, times = series.rounded[:-1], series.times[:-1]
    if kind != "nearest" and (np.diff(rounded) == 0).any():
        raise ValueError("A series with repeated times cannot be resampled")
    if round(begin, 10) < rounded[0]:
        raise ValueError(f"A value ({begin}) of the new times is below the first time of the series ({rounded[0]})")
    # Warn about uneven steps, unless it is only the first, which may be due to an inserted sample at 0 s.
    steps = np.diff(times)
    others = [steps, steps[1:]] if len(steps) and series.cents[0] == series.cents[1] else [steps]
    if not any(not some.size or np.allclose(some, some.mean()) for some in others):
        warn_caller(_NOT_UNIFORM)


@_of_frames
def validate_voicing(ref_voicing: Array, est_voicing: Array) -> None:
    """Check the voicing of both sides."""
    for voicing, name in ((ref_voicing, "Reference"), (est_voicing, "Estimated")):
        if voicing.size == 0:
            warn_caller(f"{name} voicing array is empty.")
    for voicing, name in ((ref_voicing, "Reference"), (est_voicing, "Estimated")):
        if voicing.sum() == 0:
            warn_caller(f"{name} melody has no voiced frames.")
    if ref_voicing.shape[0] != est_voicing.shape[0]:
        raise ValueError(_OTHER_LENGTH)
    for voicing in (ref_voicing, est_voicing):
        if not ((voicing >= 0) & (voicing <= 1)).all():
            raise ValueError("Voicing arrays must be between 0 and 1.")


@_of_frames
def validate(ref_voicing: Array, ref_cent: Array, est_voicing: Array, est_cent: Array) -> None:
    """Check that all arrays have the same length."""
    for cents, name in ((ref_cent, "Reference"), (est_cent, "Estimated")):
        if cents.size == 0:
            warn_caller(f"{name} frequency array is empty.")
    if not ref_voicing.shape[0] == ref_cent.shape[0] == est_cent.shape[0] == est_voicing.shape[0]:
        raise ValueError("All voicing and frequency arrays must have the same length.")


_Side = tuple[Array, Array]  # Voicing and cents


def check_pair(reference: _Side, estimate: _Side, measures: Sequence[Measure]) -> None:
    """Check both sides of a pair for measures."""
    if all(measure.metric.name in ("voicing_recall", "voicing_false_alarm") for measure in measures):
        if reference[0].size and estimate[0].size and reference[0].shape != estimate[0].shape:
            raise ValueError(_OTHER_LENGTH)
        return
    validate_voicing(reference[0], estimate[0])
    validate(*reference, *estimate)


def score_pair(reference: _Side, estimate: _Side, measures: Sequence[Measure]) -> Float:
    """Score voicing and cents on common frames: float64 (measures,), 0 without frames."""
    scores = np.zeros(len(measures))
    if not reference[0].size or not estimate[0].size:
        return scores
    voicing, cents, other_voicing, other_cents = (np.asarray(one, dtype=np.float64) for one in (*reference, *estimate))
    counts = np.array([len(voicing)])
    graded = bool(kernel.is_graded(voicing, counts)[0]), bool(kernel.is_graded(other_voicing, counts)[0])
    frames = kernel.Frames(cents, voicing, other_cents, other_voicing, counts, np.zeros(len(voicing)), graded)
    for (_, _, tolerance), columns in ways_of(measures).items():
        tally = kernel.FrameTally.of(frames, tolerance)
        scores[columns] = [measures[column].read(tally)[0][0] for column in columns]
    return scores


_score = PairFunctions(METRICS, score_pair, check_pair)


@_of_voicing
def voicing_recall(ref_voicing: Array, est_voicing: Array) -> float:
    """Voicing of the estimate on voiced frames of the reference.

    Returns
    -------
    float
        1 if nothing is voiced, 0 without frames.

    Examples
    --------
    >>> voicing_recall(np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0]))
    0.5
    """
    return _score("voicing_recall", *((voicing, np.zeros(len(voicing))) for voicing in (ref_voicing, est_voicing)))[0]


@_of_voicing
def voicing_false_alarm(ref_voicing: Array, est_voicing: Array) -> float:
    """Voicing of the estimate on unvoiced frames of the reference.

    Returns
    -------
    float
        0 if everything is voiced or there are no frames.

    Examples
    --------
    >>> voicing_false_alarm(np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0]))
    0.5
    """
    sides = ((voicing, np.zeros(len(voicing))) for voicing in (ref_voicing, est_voicing))
    return _score("voicing_false_alarm", *sides)[0]


@_of_frames
def voicing_measures(ref_voicing: Array, est_voicing: Array) -> tuple[float, float]:
    """Voicing recall and voicing false alarm.

    Returns
    -------
    recall, false_alarm : float

    References
    ----------
    @salamon2014; @poliner2007; with continuous voicing @bittner2019

    Examples
    --------
    >>> voicing_measures(np.array([1, 1, 0, 0]), np.array([1, 0, 0.5, 0]))
    (0.5, 0.25)
    """
    validate_voicing(ref_voicing, est_voicing)
    return voicing_recall(ref_voicing, est_voicing), voicing_false_alarm(ref_voicing, est_voicing)


@_of_frames
def raw_pitch_accuracy(
    ref_voicing: Array, ref_cent: Array, est_voicing: Array, est_cent: Array, cent_tolerance: float = 50
) -> float:
    """Share of the reference's voicing on frames with the right pitch, regardless of estimated voicing.

    Returns
    -------
    float
        0 if nothing is voiced.

    Examples
    --------
    >>> raw_pitch_accuracy(np.ones(2), np.array([6000.0, 6000.0]), np.ones(2), np.array([6049.0, 7200.0]))
    0.5
    """
    sides = (ref_voicing, ref_cent), (est_voicing, est_cent)
    return _score("raw_pitch_accuracy", *sides, cent_tolerance=cent_tolerance)[0]


@_of_frames
def raw_chroma_accuracy(
    ref_voicing: Array, ref_cent: Array, est_voicing: Array, est_cent: Array, cent_tolerance: float = 50
) -> float:
    """Like `raw_pitch_accuracy`, but ignoring octaves.

    Returns
    -------
    float
        0 if nothing is voiced.

    Examples
    --------
    >>> raw_chroma_accuracy(np.ones(2), np.array([6000.0, 6000.0]), np.ones(2), np.array([6049.0, 7200.0]))
    1.0
    """
    sides = (ref_voicing, ref_cent), (est_voicing, est_cent)
    return _score("raw_chroma_accuracy", *sides, cent_tolerance=cent_tolerance)[0]


@_of_frames
def overall_accuracy(
    ref_voicing: Array, ref_cent: Array, est_voicing: Array, est_cent: Array, cent_tolerance: float = 50
) -> float:
    """Share of the frames that are right: voiced with the right pitch, or unvoiced on both sides.

    Returns
    -------
    float
        0 without frames.

    Examples
    --------
    >>> overall_accuracy(np.array([1, 0]), np.array([6000.0, 0.0]), np.array([1, 1]), np.array([6010.0, 6010.0]))
    0.5
    """
    sides = (ref_voicing, ref_cent), (est_voicing, est_cent)
    return _score("overall_accuracy", *sides, cent_tolerance=cent_tolerance)[0]


@_of_series
def evaluate(
    ref_time: Array,
    ref_freq: Array,
    est_time: Array,
    est_freq: Array,
    est_voicing: Array | None = None,
    ref_reward: Array | None = None,
    **kwargs: Any,
) -> OrderedDict[str, float]:
    """Compute all melody scores of one estimate.

    Parameters
    ----------
    **kwargs
        ``base_frequency``, ``hop`` and ``kind`` of `to_cent_voicing`; ``cent_tolerance`` of `raw_pitch_accuracy`.

    Examples
    --------
    >>> times = np.array([0.0, 0.01, 0.02])
    >>> scores = evaluate(times, np.array([220.0, 220.0, 0.0]), times, np.array([221.0, 440.0, -220.0]))
    >>> scores["Raw Pitch Accuracy"], scores["Raw Chroma Accuracy"], scores["Voicing False Alarm"]
    (0.5, 1.0, 0.0)
    """
    names = ("ref_time", "ref_freq", "est_time", "est_freq", "est_voicing", "ref_reward", *_OF_ARRAYS)
    _score.measures(kwargs, *names)
    to_arrays = {name: kwargs[name] for name in _OF_ARRAYS if name in kwargs}
    arrays = to_cent_voicing(ref_time, ref_freq, est_time, est_freq, est_voicing, ref_reward, **to_arrays)
    return _score.evaluate(arrays[:2], arrays[2:], kwargs, *_OF_ARRAYS)
