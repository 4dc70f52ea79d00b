"""Note transcription with velocities: mir_eval's functions for one pair; datasets use task ``transcription``.

The scores equal its metrics that begin with ``velocity_``.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from ..errors import refuse_unknown
from .pair import documented
from .transcription.kernel import NO_OFFSET, Matches, agree
from .transcription.metrics import METRICS
from .transcription.mir_eval import ARRAYS, PARAMETERS, RATES, Matching, notes_of, one_row, score_one
from .transcription.mir_eval import match_notes as match_without_velocities
from .transcription.mir_eval import validate as validate_notes
from .util import Array

__all__ = ["evaluate", "match_notes", "precision_recall_f1_overlap", "validate"]
_SIDES = ("ref_intervals", "ref_pitches", "ref_velocities", "est_intervals", "est_pitches", "est_velocities")
_KEYS = ("Precision", "Recall", "F-measure", "Average_Overlap_Ratio")
_NOTES = tuple(f"velocity_{name}" for name in (*RATES, "average_overlap_ratio"))

_documented = documented(
    f"""{ARRAYS}    velocity_tolerance : float
        Scaled velocities must differ by less than this.

    Raises
    ------
    ValueError
        As in :func:`mirflow.metrics.transcription.validate`, which also warns, and for velocities that are negative,
        not finite or differ in number.

    References
    ----------
    C. Hawthorne et al., "Onsets and frames: dual-objective piano transcription", ISMIR 2018.
    """,
    METRICS,
)


@_documented
def validate(
    ref_intervals: Array,
    ref_pitches: Array,
    ref_velocities: Array,
    est_intervals: Array,
    est_pitches: Array,
    est_velocities: Array,
) -> None:
    """Check both sides of a pair."""
    validate_notes(ref_intervals, ref_pitches, est_intervals, est_pitches)
    sides = (("Reference", ref_velocities, ref_pitches), ("Estimated", est_velocities, est_pitches))
    for name, velocities, pitches in sides:
        if velocities.shape[0] != pitches.shape[0]:
            raise ValueError(f"{name} velocities must have the same length as pitches and intervals.")
    for name, velocities, _ in sides:
        if velocities.size > 0 and np.min(velocities) < 0:
            raise ValueError(f"{name} velocities must be positive.")
        if not np.isfinite(velocities).all():
            raise ValueError(f"{name} velocities must be finite.")


@_documented
def match_notes(
    ref_intervals: Array,
    ref_pitches: Array,
    ref_velocities: Array,
    est_intervals: Array,
    est_pitches: Array,
    est_velocities: Array,
    onset_tolerance: float = 0.05,
    pitch_tolerance: float = 50.0,
    offset_ratio: float | None = 0.2,
    offset_min_tolerance: float = 0.05,
    strict: bool = False,
    velocity_tolerance: float = 0.1,
) -> Matching:
    """Match notes by onset, pitch and end, and keep those whose velocities agree.

    Returns
    -------
    list of (int, int)
        Indices of matched notes in the reference and the estimate.

    Examples
    --------
    >>> notes, pitches = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]), np.array([440.0, 220.0, 330.0])
    >>> loud, half = np.array([20, 60, 100]), np.array([10, 30, 50])
    >>> match_notes(notes, pitches, loud, notes, pitches, half)
    [(0, 0), (1, 1), (2, 2)]
    """
    sides = one_row(ref_intervals, ref_pitches, ref_velocities), one_row(est_intervals, est_pitches, est_velocities)
    tolerances = onset_tolerance, pitch_tolerance, offset_ratio, offset_min_tolerance
    pairs = match_without_velocities(ref_intervals, ref_pitches, est_intervals, est_pitches, *tolerances, strict)
    if not pairs:
        return []
    indices = np.array(pairs, dtype=np.int64)
    matches = Matches(indices[:, 0], indices[:, 1], np.zeros(len(indices), dtype=np.int64))
    agreeing = agree(notes_of(sides[0]), notes_of(sides[1]), matches, velocity_tolerance)
    return [pair for pair, agrees in zip(pairs, agreeing.tolist(), strict=True) if agrees]


@_documented
def precision_recall_f1_overlap(
    ref_intervals: Array,
    ref_pitches: Array,
    ref_velocities: Array,
    est_intervals: Array,
    est_pitches: Array,
    est_velocities: Array,
    onset_tolerance: float = 0.05,
    pitch_tolerance: float = 50.0,
    offset_ratio: float | None = 0.2,
    offset_min_tolerance: float = 0.05,
    strict: bool = False,
    velocity_tolerance: float = 0.1,
    beta: float = 1.0,
) -> tuple[float, float, float, float]:
    """Precision, recall, F-measure and average overlap ratio of the notes that match, including velocities.

    Returns
    -------
    precision, recall, f_measure, avg_overlap_ratio : float
        0 if a side is empty.

    Examples
    --------
    >>> notes, pitches, velocities = np.array([[0.0, 1.0]]), np.array([440.0]), np.array([64])
    >>> precision_recall_f1_overlap(notes, pitches, velocities, notes, pitches, velocities)
    (1.0, 1.0, 1.0, 1.0)
    """
    sides = (ref_intervals, ref_pitches, ref_velocities), (est_intervals, est_pitches, est_velocities)
    validate(*sides[0], *sides[1])
    tolerances = onset_tolerance, pitch_tolerance, offset_ratio, offset_min_tolerance
    parameters = dict(zip(PARAMETERS, (*tolerances, strict, beta), strict=True))
    names = [name + ("" if offset_ratio is not None else NO_OFFSET) for name in _NOTES]
    rows = one_row(*sides[0]), one_row(*sides[1])
    precision, recall, f, overlap = score_one(*rows, names, {**parameters, "velocity_tolerance": velocity_tolerance})
    return precision, recall, f, overlap


@_documented
def evaluate(
    ref_intervals: Array,
    ref_pitches: Array,
    ref_velocities: Array,
    est_intervals: Array,
    est_pitches: Array,
    est_velocities: Array,
    **kwargs: Any,
) -> OrderedDict[str, float]:
    """Compute all transcription scores with velocities of one estimate.

    Parameters
    ----------
    **kwargs
        Parameters of `precision_recall_f1_overlap`. With ``offset_ratio=None``, scores that depend on ends are left
        out.

    Examples
    --------
    >>> notes, pitches, velocities = np.array([[0.0, 1.0]]), np.array([440.0]), np.array([64])
    >>> list(evaluate(notes, pitches, velocities, notes, pitches, velocities, offset_ratio=None))[:2]
    ['Precision_no_offset', 'Recall_no_offset']
    """
    refuse_unknown("evaluate", kwargs, (*_SIDES, *PARAMETERS, "velocity_tolerance"))
    sides = (ref_intervals, ref_pitches, ref_velocities), (est_intervals, est_pitches, est_velocities)
    validate(*sides[0], *sides[1])
    endings = (NO_OFFSET,) if kwargs.get("offset_ratio", 0.2) is None else ("", NO_OFFSET)
    names = [name + ending for ending in endings for name in _NOTES]
    scores = score_one(one_row(*sides[0]), one_row(*sides[1]), names, kwargs)
    keys = [key + ending for ending in endings for key in _KEYS]
    return OrderedDict(zip(keys, scores, strict=True))
