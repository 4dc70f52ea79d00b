"""mir_eval's multipitch functions for one pair: its checks, then the kernels of a batch of one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import refuse_unknown, warn_caller
from ...ragged import Float, Int, Ragged
from ..base import Pairs
from ..pair import PairFunctions, documented
from ..util import BOUNDED, Array, are_times, validate_events, validate_frequencies
from .kernel import Pitches, count_true_positives, frame_of_estimate, nearest_frame, to_midi
from .metrics import MAX_FREQ, MAX_TIME, METRICS, MIN_FREQ, MIR_EVAL, count

_NO_REFERENCE, _NO_ESTIMATE = "Reference frequencies are all empty.", "Estimate frequencies are all empty."
_SIDES = ("ref_time", "ref_freqs", "est_time", "est_freqs")
Frequencies = Sequence[Array]  # The frequencies of each frame

_scores = PairFunctions(METRICS, MIR_EVAL.score_pair)

_ARRAYS = """
    Parameters
    ----------
    ref_time, est_time : (n,) and (m,), seconds
        Ascending.
    ref_freqs, est_freqs : sequences of n and m arrays, Hz
    times : (n,), seconds
        Ascending.
    target_times : (m,), seconds
    frequencies : sequence of arrays, Hz
    frequencies_midi : sequence of arrays, MIDI numbers
    ref_frequency : float, Hz
        Frequency of MIDI number 69.
    chroma : bool
        Whether to ignore octaves.
    true_positives, n_ref, n_est : (frames,)
        Numbers of pitches.
"""
_documented = documented(_ARRAYS, METRICS)
_checked = documented(
    f"""{_ARRAYS}
    Raises
    ------
    ValueError
        For times that are not finite, later than `MAX_TIME` or unordered, frequencies outside `MIN_FREQ` to `MAX_FREQ`,
        and different numbers of frames.

    Warns
    -----
    MirflowWarning
        For an empty side.
    """,
    METRICS,
)


@_checked
def validate(ref_time: Array, ref_freqs: Frequencies, est_time: Array, est_freqs: Frequencies) -> None:
    """Check both sides of a pair."""
    for time in (ref_time, est_time):
        validate_events(time, MAX_TIME)
        if not are_times(time):
            raise ValueError(f"Event times {BOUNDED}")
    for time, frequencies, name in ((ref_time, ref_freqs, "Reference"), (est_time, est_freqs, "Estimated")):
        if time.size == 0:
            warn_caller(f"{name} times are empty.")
        if len(frequencies) == 0:
            warn_caller(f"{name} frequencies are empty.")
    for time, frequencies, name in ((ref_time, ref_freqs, "Reference"), (est_time, est_freqs, "Estimate")):
        if time.size != len(frequencies):
            raise ValueError(f"{name} times and frequencies have unequal lengths.")
    for frequencies in (ref_freqs, est_freqs):
        for frame in frequencies:
            validate_frequencies(frame, MAX_FREQ, MIN_FREQ, allow_negatives=False)
            if not (frame > 0).all():
                raise ValueError("Frequencies must be finite and above 0 Hz")


@_documented
def resample_multipitch(times: Array, frequencies: Frequencies, target_times: Array) -> list[Array]:
    """Take the frames nearest to other times.

    Returns
    -------
    list of m arrays
        Frequencies of each frame; empty before the first and after the last time.

    Examples
    --------
    >>> frames = [np.array([200.0]), np.array([300.0, 400.0])]
    >>> [frame.tolist() for frame in resample_multipitch(np.array([0.0, 1.0]), frames, np.array([0.4, 0.6, 2.0]))]
    [[200.0], [300.0, 400.0], []]
    """
    if not times.size or not target_times.size:
        return [np.array([])] * target_times.size
    only = np.zeros(1, dtype=np.int64)
    wanted = np.asarray(target_times, dtype=np.float64)
    place = nearest_frame(_row(times, []), only, wanted, np.array([wanted.size], dtype=np.int64))
    one = [*frequencies, np.array([])]
    return [one[index] for index in place.tolist()]


@_documented
def frequencies_to_midi(frequencies: Frequencies, ref_frequency: float = 440.0) -> list[Float]:
    """Convert frequencies to MIDI numbers with fractions.

    Returns
    -------
    list of float64 arrays

    Examples
    --------
    >>> [frame.tolist() for frame in frequencies_to_midi([np.array([220.0, 440.0]), np.array([])])]
    [[57.0, 69.0], []]
    """
    return [to_midi(frame, ref_frequency) for frame in frequencies]


@_documented
def midi_to_chroma(frequencies_midi: Frequencies) -> list[Float]:
    """Reduce MIDI numbers to one octave.

    Returns
    -------
    list of float64 arrays
        From 0 to 12.

    Examples
    --------
    >>> [frame.tolist() for frame in midi_to_chroma([np.array([57.0, 69.5])])]
    [[9.0, 9.5]]
    """
    return [np.mod(frame, 12) for frame in frequencies_midi]


@_documented
def compute_num_freqs(frequencies: Frequencies) -> Int:
    """Count the frequencies of each frame.

    Returns
    -------
    int64 (frames,)

    Examples
    --------
    >>> compute_num_freqs([np.array([220.0, 440.0]), np.array([])]).tolist()
    [2, 0]
    """
    return np.array([frame.size for frame in frequencies], dtype=np.int64)


@_documented
def compute_num_true_positives(
    ref_freqs: Frequencies, est_freqs: Frequencies, window: float = 0.5, chroma: bool = False
) -> Float:
    """Compute the size of a largest matching of the pitches of each frame.

    Parameters
    ----------
    ref_freqs, est_freqs : sequences of arrays, MIDI numbers

    Returns
    -------
    float64 (frames of the reference,)

    Examples
    --------
    >>> compute_num_true_positives([np.array([57.0, 60.0])], [np.array([57.4, 61.0])]).tolist()
    [1.0]
    """
    shared = min(len(ref_freqs), len(est_freqs))
    counts = np.zeros(len(ref_freqs))
    ours, theirs = (
        Pitches.of(np.concatenate([np.zeros(0), *side]).astype(np.float64), compute_num_freqs(side))
        for side in (ref_freqs[:shared], est_freqs[:shared])
    )
    counts[:shared] = count_true_positives(ours, theirs, [(window, chroma)])[window, chroma]
    return counts


@_documented
def compute_accuracy(true_positives: Array, n_ref: Array, n_est: Array) -> tuple[float, float, float]:
    """Precision, recall and accuracy from numbers of pitches.

    Returns
    -------
    precision, recall, accuracy : float
        0 if the denominator is 0.

    Warns
    -----
    MirflowWarning
        If a side has no pitch.

    References
    ----------
    equation 2 of @downie2010; @dixon2000; @bay2009

    Examples
    --------
    >>> compute_accuracy(np.array([1, 0]), np.array([2, 0]), np.array([1, 1]))
    (0.5, 0.5, 0.3333333333333333)
    """
    if not n_est.sum() > 0:
        warn_caller(_NO_ESTIMATE)
    if not n_ref.sum() > 0:
        warn_caller(_NO_REFERENCE)
    precision, recall, accuracy = _read(true_positives, n_ref, n_est, "precision", "recall", "accuracy")
    return precision, recall, accuracy


@_documented
def compute_err_score(true_positives: Array, n_ref: Array, n_est: Array) -> tuple[float, float, float, float]:
    """Substitution, miss, false alarm and total error from numbers of pitches.

    Returns
    -------
    e_sub, e_miss, e_fa, e_tot : float
        0 if the reference has no pitch.

    Warns
    -----
    MirflowWarning
        If the reference has no pitch.

    References
    ----------
    @poliner2007piano; @bay2009

    Examples
    --------
    >>> compute_err_score(np.array([1, 0]), np.array([2, 0]), np.array([1, 1]))
    (0.0, 0.5, 0.5, 1.0)
    """
    if n_ref.sum() == 0:
        warn_caller(_NO_REFERENCE)
    names = "substitution_error", "miss_error", "false_alarm_error", "total_error"
    substitution, miss, false_alarm, total = _read(true_positives, n_ref, n_est, *names)
    return substitution, miss, false_alarm, total


def _read(true_positives: Array, n_ref: Array, n_est: Array, *names: str) -> list[float]:
    counts = count(true_positives, n_ref, n_est, np.zeros(len(n_ref), dtype=np.int64), 1)
    return [float(measure.read(counts)[0][0]) for measure in MIR_EVAL.select(names)]


@_checked
def metrics(
    ref_time: Array, ref_freqs: Frequencies, est_time: Array, est_freqs: Frequencies, **kwargs: Any
) -> tuple[float, ...]:
    """Compute all fourteen scores of one estimate.

    Returns
    -------
    tuple of 14 floats
        Precision, recall, accuracy, substitution, miss, false alarm and total error; then the same for chroma.

    Warns
    -----
    MirflowWarning
        If the estimate is resampled, and if a side has no pitches.

    References
    ----------
    @bay2009; @poliner2007piano; equation 2 of @downie2010; @dixon2000

    Examples
    --------
    >>> times, reference = np.array([0.0, 0.01]), [np.array([220.0]), np.array([330.0])]
    >>> metrics(times, reference, times, [np.array([221.0]), np.array([660.0])])[:3]
    (0.5, 0.5, 0.3333333333333333)
    """
    return tuple(_evaluate("metrics", kwargs, ref_time, ref_freqs, est_time, est_freqs).values())


def _evaluate(
    function: str, given: Mapping[str, Any], ref_time: Array, ref_freqs: Any, est_time: Array, est_freqs: Any
) -> OrderedDict[str, float]:
    refuse_unknown(function, given, (*_SIDES, *_scores.parameters))
    validate(ref_time, ref_freqs, est_time, est_freqs)
    if est_time.size != ref_time.size or not np.allclose(est_time, ref_time):
        warn_caller("Estimate times not equal to reference times. Resampling to common time base.")
    reference, estimate = _row(ref_time, ref_freqs), _row(est_time, est_freqs)
    used = frame_of_estimate(Pairs.in_order(reference, estimate))
    if not np.append(estimate.counts[1], 0)[used].any():
        warn_caller(_NO_ESTIMATE)
    if not reference.counts[1].any():
        warn_caller(_NO_REFERENCE)
    return _scores.evaluate(reference, estimate, given)


def _row(time: Array, frequencies: Frequencies) -> Ragged:
    """Make a ragged row of a single annotation; frames are empty without frequencies."""
    counts = compute_num_freqs(frequencies) if len(frequencies) else np.zeros(len(time), dtype=np.int64)
    pitches = np.concatenate([np.zeros(0), *frequencies]).astype(np.float64)
    columns = {"time": np.asarray(time, dtype=np.float64), "frequency": pitches}
    return Ragged(columns, (np.array([len(time)], dtype=np.int64), counts), depths={"time": 1})


@_checked
def evaluate(
    ref_time: Array, ref_freqs: Frequencies, est_time: Array, est_freqs: Frequencies, **kwargs: Any
) -> OrderedDict[str, float]:
    """Compute the scores of `metrics` by name, with its warnings.

    Examples
    --------
    >>> times, reference = np.array([0.0, 0.01]), [np.array([220.0]), np.array([330.0])]
    >>> scores = evaluate(times, reference, times, [np.array([221.0]), np.array([660.0])])
    >>> scores["Accuracy"], scores["Chroma Accuracy"]
    (0.3333333333333333, 1.0)
    """
    return _evaluate("evaluate", kwargs, ref_time, ref_freqs, est_time, est_freqs)
