"""mir_eval's transcription scores for one pair: its checks, then the batched kernel with a batch of one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...ragged import Ragged
from ..base.arguments import refuse_unknown
from ..base.identity import Measure
from ..base.record import Value
from ..checks import Array
from .pair import one_row, validate_notes, validate_times
from .records import MIR_EVAL
from .rules import NO_OFFSET
from .scoring import score

RATES = ("precision", "recall", "f_measure")
_NOTES = (*RATES, "average_overlap_ratio")
_METRICS = {metric.name: metric for metric in MIR_EVAL.metrics}
_SIDES = ("ref_intervals", "ref_pitches", "est_intervals", "est_pitches")
PARAMETERS = ("onset_tolerance", "pitch_tolerance", "offset_ratio", "offset_min_tolerance", "strict", "beta")


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

    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        Start and end of each note.
    ref_pitches, est_pitches : (n,) and (m,), Hz
    onset_tolerance : float, seconds
        Largest distance of the onsets.
    pitch_tolerance : float, cents
        Largest distance of the pitches.
    offset_ratio : float or None
        Largest distance of the ends, as a share of the reference note's duration; None: ends do not matter.
    offset_min_tolerance : float, seconds
        That distance is at least this.
    strict : bool
        Whether distances must be smaller than their tolerance.
    beta : float
        How many times as much recall counts.

    Returns
    -------
    precision, recall, f_measure, avg_overlap_ratio : float
        0 if a side is empty.

    Raises
    ------
    ValueError
        As :func:`mirflow.metrics.transcription.validate`, which also warns.

    References
    ----------
    C. Raffel et al., "mir_eval: a transparent implementation of common MIR metrics", ISMIR 2014.

    Examples
    --------
    >>> reference, estimate = np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([[0.0, 1.0]])
    >>> precision_recall_f1_overlap(reference, np.array([440.0, 220.0]), estimate, np.array([445.0]))
    (1.0, 0.5, 0.6666666666666666, 1.0)
    """
    validate_notes(ref_intervals, ref_pitches, est_intervals, est_pitches, stacklevel=2)
    given = dict(zip(PARAMETERS, (onset_tolerance, pitch_tolerance, offset_ratio), strict=False))
    given |= {"offset_min_tolerance": offset_min_tolerance, "strict": strict, "beta": beta}
    names = [name + ("" if offset_ratio is not None else NO_OFFSET) for name in _NOTES]
    sides = one_row(ref_intervals, ref_pitches), one_row(est_intervals, est_pitches)
    precision, recall, f, overlap = score_one(*sides, names, given)
    return precision, recall, f, overlap


def onset_precision_recall_f1(
    ref_intervals: Array,
    est_intervals: Array,
    onset_tolerance: float = 0.05,
    strict: bool = False,
    beta: float = 1.0,
) -> tuple[float, float, float]:
    """Precision, recall and F-measure of the notes that match in onset, whatever their pitch.

    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        Start and end of each note.
    onset_tolerance : float, seconds
        Largest distance of the onsets.
    strict : bool
        Whether the distance must be smaller than that.
    beta : float
        How many times as much recall counts.

    Returns
    -------
    precision, recall, f_measure : float
        0 if a side is empty.

    Raises
    ------
    ValueError
        As :func:`mirflow.metrics.transcription.validate_intervals`, which also warns.

    Examples
    --------
    >>> onset_precision_recall_f1(np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([[0.03, 0.5]]))
    (1.0, 0.5, 0.6666666666666666)
    """
    validate_times(ref_intervals, est_intervals, stacklevel=2)
    given = {"onset_tolerance": onset_tolerance, "strict": strict, "beta": beta}
    names = [f"onset_{name}" for name in RATES]
    precision, recall, f = score_one(one_row(ref_intervals), one_row(est_intervals), names, given)
    return precision, recall, f


def offset_precision_recall_f1(
    ref_intervals: Array,
    est_intervals: Array,
    offset_ratio: float = 0.2,
    offset_min_tolerance: float = 0.05,
    strict: bool = False,
    beta: float = 1.0,
) -> tuple[float, float, float]:
    """Precision, recall and F-measure of the notes that match in their end, whatever their pitch.

    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        Start and end of each note.
    offset_ratio : float
        Largest distance of the ends, as a share of the reference note's duration.
    offset_min_tolerance : float, seconds
        That distance is at least this.
    strict : bool
        Whether the distance must be smaller than that.
    beta : float
        How many times as much recall counts.

    Returns
    -------
    precision, recall, f_measure : float
        0 if a side is empty.

    Raises
    ------
    ValueError
        As :func:`mirflow.metrics.transcription.validate_intervals`, which also warns.

    Examples
    --------
    >>> offset_precision_recall_f1(np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([[0.5, 1.15]]))
    (1.0, 0.5, 0.6666666666666666)
    """
    validate_times(ref_intervals, est_intervals, stacklevel=2)
    given = {"offset_ratio": offset_ratio, "offset_min_tolerance": offset_min_tolerance}
    given |= {"strict": strict, "beta": beta}
    names = [f"offset_{name}" for name in RATES]
    precision, recall, f = score_one(one_row(ref_intervals), one_row(est_intervals), names, given)
    return precision, recall, f


def evaluate(
    ref_intervals: Array, ref_pitches: Array, est_intervals: Array, est_pitches: Array, **kwargs: Any
) -> OrderedDict[str, float]:
    """All transcription scores of one estimate.

    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        Start and end of each note.
    ref_pitches, est_pitches : (n,) and (m,), Hz
    **kwargs
        Parameters of `precision_recall_f1_overlap`. Without an ``offset_ratio`` (None) the scores that look at the ends
        are left out.

    Returns
    -------
    OrderedDict of str to float

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        As :func:`mirflow.metrics.transcription.validate`, which also warns.

    Examples
    --------
    >>> notes = np.array([[0.0, 1.0], [1.0, 2.0]])
    >>> scores = evaluate(notes, np.array([440.0, 220.0]), notes, np.array([440.0, 330.0]), offset_ratio=None)
    >>> scores["F-measure_no_offset"], scores["Onset_F-measure"]
    (0.5, 1.0)
    """
    refuse_unknown("evaluate", kwargs, (*_SIDES, *PARAMETERS))
    validate_notes(ref_intervals, ref_pitches, est_intervals, est_pitches, stacklevel=2)
    names = [measure.metric.name for measure in MIR_EVAL.select()]
    if kwargs.get("offset_ratio", 0.2) is None:
        names = [name for name in names if name.endswith(NO_OFFSET) or name.startswith("onset_")]
    sides = one_row(ref_intervals, ref_pitches), one_row(est_intervals, est_pitches)
    found = score_one(*sides, names, kwargs)
    return OrderedDict((_METRICS[name].key, value) for name, value in zip(names, found, strict=True))


def score_one(reference: Ragged, estimate: Ragged, names: list[str], given: Mapping[str, Value | None]) -> list[float]:
    """Scores of one pair under the metrics of some names, with the parameters that they have among those given."""
    measures = []
    for name in names:
        metric = _METRICS[name]
        values = (given.get(parameter.name, parameter.default) for parameter in metric.parameters)
        measures.append(Measure(metric, tuple(value for value in values if value is not None)))
    only = np.zeros(1, dtype=np.int64)
    scores = score(reference, estimate, only, only, measures)
    for message in scores.refused.values():
        raise ValueError(message)
    found: list[float] = scores.score[0].tolist()
    return found
