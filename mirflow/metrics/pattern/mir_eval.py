"""mir_eval's functions for one pair of sets of patterns: its checks, then the kernel that scores batches."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import MirflowWarning
from ...ragged import Ragged
from ..base import Measure, PairDoor, refuse_unknown
from ..util import BOUNDED, are_times
from .metrics import METRICS, MIR_EVAL

Patterns = Sequence[Sequence[Sequence[Any]]]
"""Patterns of occurrences of notes, each note an onset (quarter notes) and a pitch (MIDI)."""

_CARDINALITY = "cardinality_score"
_KEYS = (
    *("F", "P", "R", "F_est", "P_est", "R_est", "F_occ.5", "P_occ.5", "R_occ.5"),
    *("F_occ.75", "P_occ.75", "R_occ.75", "F_3", "P_3", "R_3", "FFP", "FFTP_est"),
)


def validate(reference_patterns: Patterns, estimated_patterns: Patterns) -> None:
    """Check two sets of patterns that are to be compared.

    Parameters
    ----------
    reference_patterns, estimated_patterns : sequence of sequences of sequences of (onset, pitch)
        Patterns of occurrences of notes.

    Raises
    ------
    ValueError
        If a pattern has no occurrence, or a note is not two finite numbers.

    Warns
    -----
    MirflowWarning
        For each side without a note.

    Examples
    --------
    >>> validate([[[(0.0, 60.0), (1.0, 62.0)]]], [[[(0.0, 60.0)]]])
    """
    _validate(reference_patterns, estimated_patterns, 3)


def _validate(reference: Patterns, estimate: Patterns, stacklevel: int) -> tuple[Ragged, Ragged]:
    """Both sides as rows, with warnings for empty ones at the caller's line."""
    for side, patterns in (("Reference", reference), ("Estimated", estimate)):
        if not any(len(occurrence) for pattern in patterns for occurrence in pattern):
            warnings.warn(f"{side} patterns are empty.", MirflowWarning, stacklevel=stacklevel)
    return _to_row(reference), _to_row(estimate)


def _to_row(patterns: Patterns) -> Ragged:
    """A set of patterns as a row."""
    if not all(len(pattern) for pattern in patterns):
        raise ValueError("Each pattern must contain at least one occurrence.")
    occurrences = [occurrence for pattern in patterns for occurrence in pattern]
    notes = [note for occurrence in occurrences for note in occurrence]
    if set(map(len, notes)) - {2}:
        raise ValueError("The (onset, midi) tuple must contain exactly 2 elements.")
    flat = np.array(notes, dtype=np.float64).reshape(-1, 2)
    if not are_times(flat):
        raise ValueError(f"Onsets and pitches {BOUNDED}")
    counts = [
        np.array(one, dtype=np.int64)
        for one in ([len(patterns)], list(map(len, patterns)), list(map(len, occurrences)))
    ]
    return Ragged({"onset": flat[:, 0], "pitch": flat[:, 1]}, tuple(counts))


_DOOR = PairDoor(METRICS, MIR_EVAL.score_pair)


def _refuse_similarity(given: dict[str, Any]) -> None:
    if given.pop("similarity_metric", _CARDINALITY) != _CARDINALITY:
        raise ValueError(f"The similarity metric can only be: {_CARDINALITY!r}.")


def _three(function: str, reference: Patterns, estimate: Patterns, **given: Any) -> tuple[float, float, float]:
    _refuse_similarity(given)
    f_measure, precision, recall = _DOOR.call(function, *_validate(reference, estimate, 4), **given)
    return f_measure, precision, recall


def standard_FPR(
    reference_patterns: Patterns, estimated_patterns: Patterns, tol: float = 1e-5
) -> tuple[float, float, float]:
    """Reference patterns whose prototypes were found, shifted in time and pitch at most.

    Parameters
    ----------
    reference_patterns, estimated_patterns : sequence of sequences of sequences of (onset, pitch)
        Patterns of occurrences of notes; the first occurrence of a pattern is its prototype.
    tol : float
        The shifts of any two neighbouring notes must differ by less.

    Returns
    -------
    f_measure, precision, recall : float

    Raises
    ------
    ValueError
        If a pattern has no occurrence, or a note is not two finite numbers.

    Warns
    -----
    MirflowWarning
        For each side without a note; the score is then 0.

    References
    ----------
    T. Collins, "Discovery of repeated themes and sections", MIREX 2013.

    Examples
    --------
    >>> standard_FPR([[[(0, 60), (1, 62)]]], [[[(4, 55), (5, 57)]], [[(0, 60), (2, 62)]]])
    (0.6666666666666666, 0.5, 1.0)
    """
    return _three("standard_FPR", reference_patterns, estimated_patterns, tol=tol)


def establishment_FPR(
    reference_patterns: Patterns, estimated_patterns: Patterns, similarity_metric: str = "cardinality_score"
) -> tuple[float, float, float]:
    """How alike the most alike occurrences of the patterns are.

    Parameters
    ----------
    reference_patterns, estimated_patterns : sequence of sequences of sequences of (onset, pitch)
        Patterns of occurrences of notes; the first occurrence of a pattern is its prototype.
    similarity_metric : str
        Only ``cardinality_score``: notes in common over those of the longer occurrence.

    Returns
    -------
    f_measure, precision, recall : float

    Raises
    ------
    ValueError
        If a pattern has no occurrence, or a note is not two finite numbers, or for another similarity.

    Warns
    -----
    MirflowWarning
        For each side without a note; the score is then 0.

    References
    ----------
    T. Collins, "Discovery of repeated themes and sections", MIREX 2013.

    Examples
    --------
    >>> establishment_FPR([[[(0, 60), (1, 62)]]], [[[(0, 60), (1, 62)]], [[(0, 60), (2, 62)]]])
    (0.8571428571428571, 0.75, 1.0)
    """
    return _three("establishment_FPR", reference_patterns, estimated_patterns, similarity_metric=similarity_metric)


def occurrence_FPR(
    reference_patterns: Patterns,
    estimated_patterns: Patterns,
    thres: float = 0.75,
    similarity_metric: str = "cardinality_score",
) -> tuple[float, float, float]:
    """How well the occurrences of those patterns were found that were found at all.

    Parameters
    ----------
    reference_patterns, estimated_patterns : sequence of sequences of sequences of (onset, pitch)
        Patterns of occurrences of notes; the first occurrence of a pattern is its prototype.
    thres : float
        How alike the most alike occurrences of two patterns must be for the patterns to count.
    similarity_metric : str
        Only ``cardinality_score``: notes in common over those of the longer occurrence.

    Returns
    -------
    f_measure, precision, recall : float

    Raises
    ------
    ValueError
        If a pattern has no occurrence, or a note is not two finite numbers, or for another similarity.

    Warns
    -----
    MirflowWarning
        For each side without a note; the score is then 0.

    References
    ----------
    T. Collins, "Discovery of repeated themes and sections", MIREX 2013.

    Examples
    --------
    >>> occurrence_FPR([[[(0, 60)], [(4, 60)]]], [[[(0, 60)]]])
    (0.6666666666666666, 1.0, 0.5)
    """
    given = {"thres": thres, "similarity_metric": similarity_metric}
    return _three("occurrence_FPR", reference_patterns, estimated_patterns, **given)


def three_layer_FPR(reference_patterns: Patterns, estimated_patterns: Patterns) -> tuple[float, float, float]:
    """F-measures over notes, of these over occurrences, and of these over patterns.

    Parameters
    ----------
    reference_patterns, estimated_patterns : sequence of sequences of sequences of (onset, pitch)
        Patterns of occurrences of notes; the first occurrence of a pattern is its prototype.

    Returns
    -------
    f_measure, precision, recall : float

    Raises
    ------
    ValueError
        If a pattern has no occurrence, or a note is not two finite numbers.

    Warns
    -----
    MirflowWarning
        For each side without a note; the score is then 0.

    References
    ----------
    D. Meredith, "COSIATEC and SIATECCompress", MIREX 2013.

    Examples
    --------
    >>> three_layer_FPR([[[(0, 60)], [(4, 60)]]], [[[(0, 60)]]])
    (0.6666666666666666, 0.6666666666666666, 0.6666666666666666)
    """
    return _three("three_layer_FPR", reference_patterns, estimated_patterns)


def first_n_three_layer_P(reference_patterns: Patterns, estimated_patterns: Patterns, n: int = 5) -> float:
    """Three-layer precision of the first estimated patterns.

    Parameters
    ----------
    reference_patterns, estimated_patterns : sequence of sequences of sequences of (onset, pitch)
        Patterns of occurrences of notes; the first occurrence of a pattern is its prototype.
    n : int
        How many of the estimated patterns are considered.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a pattern has no occurrence, or a note is not two finite numbers.

    Warns
    -----
    MirflowWarning
        For each side without a note; the score is then 0.

    References
    ----------
    T. Collins, "Discovery of repeated themes and sections", MIREX 2013.

    Examples
    --------
    >>> first_n_three_layer_P([[[(0, 60)]]], [[[(0, 60)]], [[(1, 60)]]], n=1)
    1.0
    """
    return _DOOR.call("first_n_three_layer_P", *_validate(reference_patterns, estimated_patterns, 3), n=n)[0]


def first_n_target_proportion_R(reference_patterns: Patterns, estimated_patterns: Patterns, n: int = 5) -> float:
    """Establishment recall of the first estimated patterns.

    Parameters
    ----------
    reference_patterns, estimated_patterns : sequence of sequences of sequences of (onset, pitch)
        Patterns of occurrences of notes; the first occurrence of a pattern is its prototype.
    n : int
        How many of the estimated patterns are considered.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a pattern has no occurrence, or a note is not two finite numbers.

    Warns
    -----
    MirflowWarning
        For each side without a note; the score is then 0.

    References
    ----------
    T. Collins, "Discovery of repeated themes and sections", MIREX 2013.

    Examples
    --------
    >>> first_n_target_proportion_R([[[(0, 60)]], [[(1, 60)]]], [[[(0, 60)]], [[(1, 60)]]], n=1)
    0.5
    """
    return _DOOR.call("first_n_target_proportion_R", *_validate(reference_patterns, estimated_patterns, 3), n=n)[0]


def evaluate(ref_patterns: Patterns, est_patterns: Patterns, **kwargs: Any) -> OrderedDict[str, float]:
    """All pattern scores of one estimate.

    Parameters
    ----------
    ref_patterns, est_patterns : sequence of sequences of sequences of (onset, pitch)
        Patterns of occurrences of notes; the first occurrence of a pattern is its prototype.
    **kwargs
        ``tol``, ``similarity_metric`` and ``n``, as for the functions of the single metrics.

    Returns
    -------
    OrderedDict of str to float
        Standard, establishment, occurrence at thresholds 0.5 and 0.75, and three-layer scores, F-measure first, then
        first-n three-layer precision and first-n target proportion recall.

    Raises
    ------
    TypeError
        For any other keyword argument.
    ValueError
        If a pattern has no occurrence, or a note is not two finite numbers, or for another similarity.

    Warns
    -----
    MirflowWarning
        For each side without a note; all scores are then 0.

    Examples
    --------
    >>> scores = evaluate([[[(0, 60)], [(4, 60)]]], [[[(0, 60)]]])
    >>> scores["F_est"], scores["R_occ.75"]
    (1.0, 0.5)
    """
    refuse_unknown("evaluate", kwargs, (*_DOOR.parameters, "similarity_metric"))
    _refuse_similarity(kwargs)
    rows = _validate(ref_patterns, est_patterns, 3)
    measures = [
        Measure(one.metric, tuple(kwargs.get(p.mir_eval, one[p.name]) for p in one.metric.parameters))
        for one in MIR_EVAL.select()
    ]
    return OrderedDict(zip(_KEYS, MIR_EVAL.score_pair(*rows, measures).tolist(), strict=True))
