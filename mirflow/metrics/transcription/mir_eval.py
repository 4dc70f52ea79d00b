"""Functions for one pair: mir_eval's, with its checks, and those of active pitches and of deviations."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...errors import refuse_unknown, warn_caller
from ...ragged import Float, Ragged
from ..base import read_pair
from ..measures import Measure, Value
from ..pair import documented, row_of_intervals
from ..util import BOUNDED, Array, are_times
from ..util import validate_intervals as validate_one
from .kernel import NO_OFFSET, VELOCITY, NoteBatch, Notes, Rule
from .metrics import METRICS, MIR_EVAL, MOST_PAIRS

Matching = list[tuple[int, int]]  # Indices of matched notes in the reference and the estimate, ascending

ARRAYS = """
    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        Start and end of each note.
    ref_pitches, est_pitches : (n,) and (m,), Hz
    ref_velocities, est_velocities : (n,) and (m,)
        From 0 to 127, as in MIDI. Reference velocities are scaled to [0, 1], and estimated ones mapped to them by a
        line fitted to the matched notes.
    offset_ratio : float or None
        Largest distance of the ends as a share of the reference note's duration; None, if allowed, ignores ends.
"""
_checked = documented(
    f"""{ARRAYS}
    Raises
    ------
    ValueError
        For arrays of wrong shapes, times that are negative or not finite, notes of zero length, and pitches that differ
        in number or are not positive and finite.

    Warns
    -----
    MirflowWarning
        For an empty side.
    """,
    METRICS,
)
_matched = documented(
    f"""{ARRAYS}
    Raises
    ------
    ValueError
        For times that are not finite.
    """,
    METRICS,
)


@_checked
def validate(ref_intervals: Array, ref_pitches: Array, est_intervals: Array, est_pitches: Array) -> None:
    """Check both sides of a pair.

    Examples
    --------
    >>> validate(np.array([[0.0, 1.0]]), np.array([440.0]), np.array([[0.1, 0.9]]), np.array([441.0]))
    """
    validate_intervals(ref_intervals, est_intervals)
    sides = (("Reference", ref_intervals, ref_pitches), ("Estimate", est_intervals, est_pitches))
    for name, intervals, pitches in sides:
        if intervals.shape[0] != pitches.shape[0]:
            raise ValueError(f"{name.replace('mate', 'mated')} intervals and pitches have different lengths.")
    for name, _, pitches in sides:
        if pitches.size > 0 and np.min(pitches) <= 0:
            raise ValueError(f"{name} contains at least one non-positive pitch value")
        if not np.isfinite(pitches).all():
            raise ValueError(f"{name} contains a pitch that is not finite")


@_checked
def validate_intervals(ref_intervals: Array, est_intervals: Array) -> None:
    """Check the times of both sides of a pair."""
    for intervals, name in ((ref_intervals, "Reference"), (est_intervals, "Estimated")):
        if intervals.size == 0:
            warn_caller(f"{name} notes are empty.")
    for intervals in (ref_intervals, est_intervals):
        validate_one(intervals)
        if not are_times(intervals):
            raise ValueError(f"Interval times {BOUNDED}")


@_matched
def match_note_offsets(
    ref_intervals: Array,
    est_intervals: Array,
    offset_ratio: float = 0.2,
    offset_min_tolerance: float = 0.05,
    strict: bool = False,
) -> Matching:
    """Find a largest matching of notes by their ends only.

    Returns
    -------
    list of (int, int)
        Indices of matched notes in the reference and the estimate.

    Examples
    --------
    >>> match_note_offsets(np.array([[0.0, 1.0], [0.0, 2.0]]), np.array([[1.0, 1.7], [0.0, 1.1]]))
    [(0, 1), (1, 0)]
    """
    rule = Rule(ratio=offset_ratio, least=offset_min_tolerance, strict=strict)
    return _match(ref_intervals, None, est_intervals, None, rule)


@_matched
def match_note_onsets(
    ref_intervals: Array, est_intervals: Array, onset_tolerance: float = 0.05, strict: bool = False
) -> Matching:
    """Find a largest matching of notes by their onsets only.

    Returns
    -------
    list of (int, int)
        Indices of matched notes in the reference and the estimate.

    Examples
    --------
    >>> match_note_onsets(np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([[1.04, 1.1]]))
    [(1, 0)]
    """
    return _match(ref_intervals, None, est_intervals, None, Rule(onset=onset_tolerance, strict=strict))


@_matched
def match_notes(
    ref_intervals: Array,
    ref_pitches: Array,
    est_intervals: Array,
    est_pitches: Array,
    onset_tolerance: float = 0.05,
    pitch_tolerance: float = 50.0,
    offset_ratio: float | None = 0.2,
    offset_min_tolerance: float = 0.05,
    strict: bool = False,
) -> Matching:
    """Find a largest matching of notes by onset, pitch and, unless `offset_ratio` is None, end.

    Returns
    -------
    list of (int, int)
        Indices of matched notes in the reference and the estimate. Among several largest matchings, it is the one found
        by mir_eval.

    Examples
    --------
    >>> times, pitches = np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([440.0, 550.0])
    >>> match_notes(times, pitches, times, pitches[::-1])
    [(0, 1), (1, 0)]
    """
    least = 0.0 if offset_ratio is None else offset_min_tolerance
    rule = Rule(onset_tolerance, pitch_tolerance, offset_ratio, least, strict)
    return _match(ref_intervals, ref_pitches, est_intervals, est_pitches, rule)


def _match(
    ref_intervals: Array, ref_pitches: Array | None, est_intervals: Array, est_pitches: Array | None, rule: Rule
) -> Matching:
    sides = []
    for intervals, pitches in ((ref_intervals, ref_pitches), (est_intervals, est_pitches)):
        if not are_times(intervals):
            raise ValueError(f"Interval times {BOUNDED}")
        sides.append(notes_of(one_row(intervals, pitches)))
    matches = NoteBatch(sides[0], sides[1]).matches(rule, False)
    return list(zip(matches.reference.tolist(), matches.estimate.tolist(), strict=True))


def notes_of(row: Ragged) -> Notes:
    """The notes of a single row, with velocities if it has them."""
    start, end, pitch = (row.columns[name] for name in ("start", "end", "pitch"))
    extra = {"velocity": row.columns["velocity"]} if "velocity" in row.columns else {}
    return Notes(start, end, np.log2(pitch), row.counts[0], extra)


def one_row(intervals: Array, pitches: Array | None = None, velocities: Array | None = None) -> Ragged:
    """Make a ragged row of a single transcription; notes without given pitch are at 1 Hz."""
    row = row_of_intervals(intervals)
    columns: dict[str, Float] = dict(row.columns)
    columns["pitch"] = np.ones(len(columns["start"])) if pitches is None else np.asarray(pitches, dtype=np.float64)
    if velocities is not None:
        columns["velocity"] = np.asarray(velocities, dtype=np.float64)
    return Ragged(columns, row.counts)


@documented(ARRAYS)
def average_overlap_ratio(ref_intervals: Array, est_intervals: Array, matching: Sequence[tuple[int, int]]) -> float:
    """Mean overlap ratio of matched notes.

    Parameters
    ----------
    matching : list of (int, int)
        Result of `match_notes`.

    Returns
    -------
    float
        Overlap of two notes over the time from the first start to the last end, averaged over matches; 0 without a
        match.

    References
    ----------
    J. Salamon, "Melody extraction from polyphonic music signals", PhD thesis, Universitat Pompeu Fabra, 2013.

    Examples
    --------
    >>> average_overlap_ratio(np.array([[0.0, 2.0]]), np.array([[1.0, 4.0]]), [(0, 0)])
    0.25
    """
    if not len(matching):
        return 0.0
    index = np.asarray(matching, dtype=np.int64).reshape(-1, 2)
    left, right = np.asarray(ref_intervals)[index[:, 0]], np.asarray(est_intervals)[index[:, 1]]
    shared = np.minimum(left[:, 1], right[:, 1]) - np.maximum(left[:, 0], right[:, 0])
    whole = np.maximum(left[:, 1], right[:, 1]) - np.minimum(left[:, 0], right[:, 0])
    return float(np.mean(shared / whole))


RATES = ("precision", "recall", "f_measure")
_NOTES = (*RATES, "average_overlap_ratio")
_METRICS = {metric.name: metric for metric in METRICS}
_DEFAULTS = tuple(measure.metric.name for measure in MIR_EVAL.select())
_SIDES = ("ref_intervals", "ref_pitches", "est_intervals", "est_pitches")
PARAMETERS = ("onset_tolerance", "pitch_tolerance", "offset_ratio", "offset_min_tolerance", "strict", "beta")


@lru_cache(maxsize=64)
def _measures(names: tuple[str, ...], given: tuple[tuple[str, Value | None], ...]) -> tuple[Measure, ...]:
    """The named metrics with their parameters; the same measures for the same ones, as these keep what they derive."""
    values = dict(given)
    measures = []
    for name in names:
        metric = _METRICS[name]
        parameters_of_metric = (values.get(parameter.name, parameter.default) for parameter in metric.parameters)
        measures.append(Measure(metric, tuple(value for value in parameters_of_metric if value is not None)))
    return tuple(measures)


def score_one(reference: Ragged, estimate: Ragged, names: list[str], given: Mapping[str, Value | None]) -> list[float]:
    """Score one pair with the named metrics, passing the given parameters to metrics that have them."""
    try:
        measures = _measures(tuple(names), tuple(given.items()))
    except TypeError:  # an array, which is refused elsewhere
        measures = _measures.__wrapped__(tuple(names), tuple(given.items()))
    needs = {measure.metric.needs for measure in measures} - {""}
    if needs == {VELOCITY}:  # which all notes may have
        velocities = [row.columns.get("velocity", np.full(1, np.nan)) for row in (reference, estimate)]
        if all(((velocity >= 0) & (velocity < np.inf)).all() for velocity in velocities):
            needs = set()
    if not needs and int(reference.counts[0][0]) * int(estimate.counts[0][0]) <= MOST_PAIRS:
        return read_pair(measures, NoteBatch(notes_of(reference), notes_of(estimate)))
    scores: list[float] = MIR_EVAL.score_pair(reference, estimate, measures).tolist()
    return scores


@_checked
def precision_recall_f1_overlap(
    ref_intervals: Array,
    ref_pitches: Array,
    est_intervals: Array,
    est_pitches: Array,
    onset_tolerance: float = 0.05,
    pitch_tolerance: float = 50.0,
    offset_ratio: float | None = 0.2,
    offset_min_tolerance: float = 0.05,
    strict: bool = False,
    beta: float = 1.0,
) -> tuple[float, float, float, float]:
    """Precision, recall, F-measure and average overlap ratio of the notes that match in onset, pitch and end.

    Returns
    -------
    precision, recall, f_measure, avg_overlap_ratio : float
        0 if a side is empty.

    References
    ----------
    @bay2009; @mirex2015notes; @raffel2014

    Examples
    --------
    >>> reference, estimate = np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([[0.0, 1.0]])
    >>> precision_recall_f1_overlap(reference, np.array([440.0, 220.0]), estimate, np.array([445.0]))
    (1.0, 0.5, 0.6666666666666666, 1.0)
    """
    validate(ref_intervals, ref_pitches, est_intervals, est_pitches)
    tolerances = onset_tolerance, pitch_tolerance, offset_ratio, offset_min_tolerance
    parameters = dict(zip(PARAMETERS, (*tolerances, strict, beta), strict=True))
    names = [name + ("" if offset_ratio is not None else NO_OFFSET) for name in _NOTES]
    sides = one_row(ref_intervals, ref_pitches), one_row(est_intervals, est_pitches)
    precision, recall, f, overlap = score_one(*sides, names, parameters)
    return precision, recall, f, overlap


@_checked
def onset_precision_recall_f1(
    ref_intervals: Array, est_intervals: Array, onset_tolerance: float = 0.05, strict: bool = False, beta: float = 1.0
) -> tuple[float, float, float]:
    """Precision, recall and F-measure of the notes that match in onset, regardless of pitch.

    Returns
    -------
    precision, recall, f_measure : float
        0 if a side is empty.

    References
    ----------
    @raffel2014; @molina2014

    Examples
    --------
    >>> onset_precision_recall_f1(np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([[0.03, 0.5]]))
    (1.0, 0.5, 0.6666666666666666)
    """
    parameters = {"onset_tolerance": onset_tolerance, "strict": strict, "beta": beta}
    return _of_times("onset", ref_intervals, est_intervals, parameters)


@_checked
def offset_precision_recall_f1(
    ref_intervals: Array,
    est_intervals: Array,
    offset_ratio: float = 0.2,
    offset_min_tolerance: float = 0.05,
    strict: bool = False,
    beta: float = 1.0,
) -> tuple[float, float, float]:
    """Precision, recall and F-measure of the notes that match in their end, regardless of pitch.

    Returns
    -------
    precision, recall, f_measure : float
        0 if a side is empty.

    References
    ----------
    @raffel2014

    Examples
    --------
    >>> offset_precision_recall_f1(np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([[0.5, 1.15]]))
    (1.0, 0.5, 0.6666666666666666)
    """
    parameters = {"offset_ratio": offset_ratio, "offset_min_tolerance": offset_min_tolerance}
    return _of_times("offset", ref_intervals, est_intervals, {**parameters, "strict": strict, "beta": beta})


def _of_times(
    which: str, ref_intervals: Array, est_intervals: Array, given: Mapping[str, Value]
) -> tuple[float, float, float]:
    validate_intervals(ref_intervals, est_intervals)
    names = [f"{which}_{name}" for name in RATES]
    precision, recall, f = score_one(one_row(ref_intervals), one_row(est_intervals), names, given)
    return precision, recall, f


@_checked
def evaluate(
    ref_intervals: Array, ref_pitches: Array, est_intervals: Array, est_pitches: Array, **kwargs: Any
) -> OrderedDict[str, float]:
    """Compute all transcription scores of one estimate.

    Parameters
    ----------
    **kwargs
        Parameters of `precision_recall_f1_overlap`. With ``offset_ratio=None``, scores that depend on ends are left
        out.

    Examples
    --------
    >>> notes = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> scores = evaluate(notes, np.array([440.0, 220.0]), notes, np.array([440.0, 330.0]), offset_ratio=None)
    >>> scores["F-measure_no_offset"], scores["Onset_F-measure"]
    (0.5, 1.0)
    """
    refuse_unknown("evaluate", kwargs, (*_SIDES, *PARAMETERS))
    validate(ref_intervals, ref_pitches, est_intervals, est_pitches)
    names = list(_DEFAULTS)
    if kwargs.get("offset_ratio", 0.2) is None:
        names = [name for name in names if name.endswith(NO_OFFSET) or name.startswith("onset_")]
    scores = score_one(one_row(ref_intervals, ref_pitches), one_row(est_intervals, est_pitches), names, kwargs)
    return OrderedDict((_METRICS[name].key, value) for name, value in zip(names, scores, strict=True))


_of_frames_and_times = documented(
    """
    Raises
    ------
    ValueError
        As in :func:`mirflow.metrics.transcription.validate`, which also warns.

    References
    ----------
    C. Hawthorne et al., "Onsets and frames: dual-objective piano transcription", ISMIR 2018; MIREX, Polyphonic
    Transcription, 2024.
    """,
    METRICS,
)


@_of_frames_and_times
def frame_precision_recall_f1(
    reference: Sequence[Array], estimate: Sequence[Array], frames: str = "active", hop: float = 0.0
) -> tuple[float, float, float, float]:
    """Precision, recall, F-measure and accuracy of active pitches, in continuous time or in frames.

    Parameters
    ----------
    reference, estimate : tuple of arrays
        Intervals (n, 2) in seconds, pitches in Hz and, for ``loud``, velocities from 0 to 127.
    frames : {"active", "cut", "decoded", "loud"}
        Definition of active pitches: while notes sound; until the next note of their pitch, with 1e-8 s added to
        denominators; by the labels of Onsets and Frames; above velocity 30 in the reference, as in MT3.
    hop : float, seconds
        Distance of frames; 0: 32 ms if decoded, 16 ms if loud, else none.

    Returns
    -------
    precision, recall, f_measure, accuracy : float
        0 if a side is empty.

    Examples
    --------
    >>> import numpy as np
    >>> pitch = np.array([440.0])
    >>> frame_precision_recall_f1((np.array([[0.0, 2.0]]), pitch), (np.array([[1.0, 3.0]]), pitch))
    (0.5, 0.5, 0.5, 0.3333333333333333)
    """
    validate(*reference[:2], *estimate[:2])
    sides = one_row(*reference), one_row(*estimate)
    names = [f"frame_{name}" for name in (*RATES, "accuracy")]
    precision, recall, f_measure, accuracy = score_one(*sides, names, {"frames": frames, "hop": hop})
    return precision, recall, f_measure, accuracy


@_of_frames_and_times
def deviations(
    reference: tuple[Array, Array],
    estimate: tuple[Array, Array],
    onset_tolerance: float = 0.05,
    pitch_tolerance: float = 50.0,
    strict: bool = False,
    statistic: str = "mean_absolute",
) -> dict[str, float]:
    """Deviations of the onsets and ends of notes that match in onset and pitch.

    Parameters
    ----------
    reference, estimate : tuple of arrays
        Intervals (n, 2) in seconds, and pitches in Hz.
    statistic : {"mean_absolute", "median_absolute", "standard_deviation"}
        Statistic of the deviations; biases are mean differences, estimate minus reference.

    Returns
    -------
    dict of str to float, seconds
        ``onset_deviation``, ``onset_bias``, ``offset_deviation`` and ``offset_bias``; NaN without a match.

    Examples
    --------
    >>> import numpy as np
    >>> pitch = np.array([440.0])
    >>> deviations((np.array([[0.0, 2.0]]), pitch), (np.array([[0.03125, 1.5]]), pitch))["offset_bias"]
    -0.5
    """
    validate(*reference, *estimate)
    sides = one_row(*reference), one_row(*estimate)
    names = [f"{part}_{what}" for part in ("onset", "offset") for what in ("deviation", "bias")]
    parameters = {"onset_tolerance": onset_tolerance, "pitch_tolerance": pitch_tolerance, "strict": strict}
    scores = score_one(*sides, names, {**parameters, "statistic": statistic})
    return dict(zip(names, scores, strict=True))
