"""mir_eval's functions for one pair of sets of patterns: its checks, then the kernel that scores batches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import refuse_unknown, warn_caller
from ...ragged import Float, Ragged
from ..measures import Measure
from ..pair import PairFunctions, documented
from ..util import BOUNDED, are_times
from .metrics import METRICS, MIR_EVAL

Patterns = Sequence[Sequence[Sequence[Any]]]
"""Patterns of occurrences of notes, which are pairs of onset (quarter notes) and pitch (MIDI)."""

_CARDINALITY = "cardinality_score"
_KEYS = (
    *("F", "P", "R", "F_est", "P_est", "R_est", "F_occ.5", "P_occ.5", "R_occ.5"),
    *("F_occ.75", "P_occ.75", "R_occ.75", "F_3", "P_3", "R_3", "FFP", "FFTP_est"),
)

_documented = documented(
    """
    Parameters
    ----------
    reference_patterns, estimated_patterns : sequence of sequences of sequences of (onset, pitch)
        Patterns of occurrences of notes; the first occurrence of a pattern is its prototype.
    ref_patterns, est_patterns : sequence of sequences of sequences of (onset, pitch)
        Patterns of occurrences of notes; the first occurrence of a pattern is its prototype.
    similarity_metric : str
        Only ``cardinality_score``: common notes over those of the longer occurrence.

    Raises
    ------
    ValueError
        If a pattern has no occurrences, a note is not a pair of finite numbers, or for another similarity.

    Warns
    -----
    MirflowWarning
        For each side without notes; scores are then 0.
    """,
    METRICS,
)


def _rows(reference: Patterns, estimate: Patterns) -> list[Ragged]:
    """Check both sides and make rows of them."""
    for side, patterns in (("Reference", reference), ("Estimated", estimate)):
        if not any(len(occurrence) for pattern in patterns for occurrence in pattern):
            warn_caller(f"{side} patterns are empty.")
    rows = []
    for patterns in (reference, estimate):
        if not all(len(pattern) for pattern in patterns):
            raise ValueError("Each pattern must contain at least one occurrence.")
        occurrences = [occurrence for pattern in patterns for occurrence in pattern]
        notes = [note for occurrence in occurrences for note in occurrence]
        if set(map(len, notes)) - {2}:
            raise ValueError("The (onset, midi) tuple must contain exactly 2 elements.")
        flat = np.array(notes, dtype=np.float64).reshape(-1, 2)
        if not are_times(flat):
            raise ValueError(f"Onsets and pitches {BOUNDED}")
        sizes = [len(patterns)], list(map(len, patterns)), list(map(len, occurrences))
        counts = tuple(np.array(size, dtype=np.int64) for size in sizes)
        rows.append(Ragged({"onset": flat[:, 0], "pitch": flat[:, 1]}, counts))
    return rows


def _score(reference: Patterns, estimate: Patterns, measures: Sequence[Measure]) -> Float:
    left, right = _rows(reference, estimate)
    return MIR_EVAL.score_pair(left, right, measures)


_scores = PairFunctions(METRICS, _score)


def _refuse_similarity(name: str) -> None:
    if name != _CARDINALITY:
        raise ValueError(f"The similarity metric can only be: {_CARDINALITY!r}.")


@_documented
def validate(reference_patterns: Patterns, estimated_patterns: Patterns) -> None:
    """Check two sets of patterns before they are compared.

    Examples
    --------
    >>> validate([[[(0.0, 60.0), (1.0, 62.0)]]], [[[(0.0, 60.0)]]])
    """
    _rows(reference_patterns, estimated_patterns)


@_documented
def standard_FPR(
    reference_patterns: Patterns, estimated_patterns: Patterns, tol: float = 1e-5
) -> tuple[float, float, float]:
    """F-measure, precision and recall of prototypes found exactly or shifted in time and pitch.

    Returns
    -------
    f_measure, precision, recall : float

    Examples
    --------
    >>> standard_FPR([[[(0, 60), (1, 62)]]], [[[(4, 55), (5, 57)]], [[(0, 60), (2, 62)]]])
    (0.6666666666666666, 0.5, 1.0)
    """
    f_measure, precision, recall = _scores("standard_FPR", reference_patterns, estimated_patterns, tol=tol)
    return f_measure, precision, recall


@_documented
def establishment_FPR(
    reference_patterns: Patterns, estimated_patterns: Patterns, similarity_metric: str = "cardinality_score"
) -> tuple[float, float, float]:
    """F-measure, precision and recall from the most similar occurrences of patterns.

    Returns
    -------
    f_measure, precision, recall : float

    Examples
    --------
    >>> establishment_FPR([[[(0, 60), (1, 62)]]], [[[(0, 60), (1, 62)]], [[(0, 60), (2, 62)]]])
    (0.8571428571428571, 0.75, 1.0)
    """
    _refuse_similarity(similarity_metric)
    f_measure, precision, recall = _scores("establishment_FPR", reference_patterns, estimated_patterns)
    return f_measure, precision, recall


@_documented
def occurrence_FPR(
    reference_patterns: Patterns,
    estimated_patterns: Patterns,
    thres: float = 0.75,
    similarity_metric: str = "cardinality_score",
) -> tuple[float, float, float]:
    """F-measure, precision and recall of the occurrences of established patterns.

    Returns
    -------
    f_measure, precision, recall : float

    Examples
    --------
    >>> occurrence_FPR([[[(0, 60)], [(4, 60)]]], [[[(0, 60)]]])
    (0.6666666666666666, 1.0, 0.5)
    """
    _refuse_similarity(similarity_metric)
    f_measure, precision, recall = _scores("occurrence_FPR", reference_patterns, estimated_patterns, thres=thres)
    return f_measure, precision, recall


@_documented
def three_layer_FPR(reference_patterns: Patterns, estimated_patterns: Patterns) -> tuple[float, float, float]:
    """F-measure, precision and recall over notes, occurrences and patterns.

    Returns
    -------
    f_measure, precision, recall : float

    Examples
    --------
    >>> three_layer_FPR([[[(0, 60)], [(4, 60)]]], [[[(0, 60)]]])
    (0.6666666666666666, 0.6666666666666666, 0.6666666666666666)
    """
    f_measure, precision, recall = _scores("three_layer_FPR", reference_patterns, estimated_patterns)
    return f_measure, precision, recall


@_documented
def first_n_three_layer_P(reference_patterns: Patterns, estimated_patterns: Patterns, n: int = 5) -> float:
    """Three-layer precision of the first estimated patterns.

    Examples
    --------
    >>> first_n_three_layer_P([[[(0, 60)]]], [[[(0, 60)]], [[(1, 60)]]], n=1)
    1.0
    """
    return _scores("first_n_three_layer_P", reference_patterns, estimated_patterns, n=n)[0]


@_documented
def first_n_target_proportion_R(reference_patterns: Patterns, estimated_patterns: Patterns, n: int = 5) -> float:
    """Establishment recall of the first estimated patterns.

    Examples
    --------
    >>> first_n_target_proportion_R([[[(0, 60)]], [[(1, 60)]]], [[[(0, 60)]], [[(1, 60)]]], n=1)
    0.5
    """
    return _scores("first_n_target_proportion_R", reference_patterns, estimated_patterns, n=n)[0]


@_documented
def evaluate(ref_patterns: Patterns, est_patterns: Patterns, **kwargs: Any) -> OrderedDict[str, float]:
    """Compute all pattern scores of one estimate.

    Parameters
    ----------
    **kwargs
        ``tol``, ``similarity_metric`` and ``n``, as in the functions of single metrics.

    Returns
    -------
    OrderedDict of str to float
        Standard, establishment, occurrence at thresholds 0.5 and 0.75, and three-layer scores, F-measure first, then
        first-n three-layer precision and first-n target proportion recall.

    Examples
    --------
    >>> scores = evaluate([[[(0, 60)], [(4, 60)]]], [[[(0, 60)]]])
    >>> scores["F_est"], scores["R_occ.75"]
    (1.0, 0.5)
    """
    refuse_unknown("evaluate", kwargs, (*_scores.parameters, "similarity_metric"))
    _refuse_similarity(kwargs.pop("similarity_metric", _CARDINALITY))
    measures = [
        Measure(one.metric, tuple(kwargs.get(p.mir_eval, one[p.name]) for p in one.metric.parameters))
        for one in MIR_EVAL.select()
    ]
    return OrderedDict(zip(_KEYS, _score(ref_patterns, est_patterns, measures).tolist(), strict=True))
