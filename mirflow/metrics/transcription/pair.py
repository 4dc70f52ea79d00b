"""mir_eval's checks and matchings of notes for one pair: the batched kernel with a batch of one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from ...errors import MirflowWarning
from ...ragged import Float, Ragged
from ..checks import BOUNDED, Array, are_times
from ..checks import validate_intervals as validate_one
from .notes import Block, Notes
from .rules import Rule

Matching = list[tuple[int, int]]
"""Places of matched notes in the reference and the estimate, ascending."""


def validate(ref_intervals: Array, ref_pitches: Array, est_intervals: Array, est_pitches: Array) -> None:
    """Check both sides of a pair.

    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        Start and end of each note.
    ref_pitches, est_pitches : (n,) and (m,), Hz

    Raises
    ------
    ValueError
        As `validate_intervals`; for pitches that are not above 0 or not finite, and another number of them.

    Warns
    -----
    MirflowWarning
        For an empty side.

    Examples
    --------
    >>> validate(np.array([[0.0, 1.0]]), np.array([440.0]), np.array([[0.1, 0.9]]), np.array([441.0]))
    """
    validate_notes(ref_intervals, ref_pitches, est_intervals, est_pitches, stacklevel=2)


def validate_notes(
    ref_intervals: Array, ref_pitches: Array, est_intervals: Array, est_pitches: Array, stacklevel: int
) -> None:
    """The same as `validate`, with the level of the warnings as seen from the caller."""
    validate_times(ref_intervals, est_intervals, stacklevel=stacklevel + 1)
    sides = (("Reference", ref_intervals, ref_pitches), ("Estimate", est_intervals, est_pitches))
    for name, intervals, pitches in sides:
        if intervals.shape[0] != pitches.shape[0]:
            raise ValueError(f"{name.replace('mate', 'mated')} intervals and pitches have different lengths.")
    for name, _, pitches in sides:
        if pitches.size > 0 and np.min(pitches) <= 0:
            raise ValueError(f"{name} contains at least one non-positive pitch value")
        if not np.isfinite(pitches).all():
            raise ValueError(f"{name} contains a pitch that is not finite")


def validate_intervals(ref_intervals: Array, est_intervals: Array) -> None:
    """Check the times of both sides of a pair.

    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        Start and end of each note.

    Raises
    ------
    ValueError
        For arrays of another shape, negative times or times that are not finite, and notes without a duration.

    Warns
    -----
    MirflowWarning
        For an empty side.
    """
    validate_times(ref_intervals, est_intervals, stacklevel=2)


def validate_times(ref_intervals: Array, est_intervals: Array, stacklevel: int) -> None:
    """The same as `validate_intervals`, with the level of the warnings as seen from the caller."""
    for intervals, name in ((ref_intervals, "Reference"), (est_intervals, "Estimated")):
        if intervals.size == 0:
            warnings.warn(f"{name} notes are empty.", MirflowWarning, stacklevel=stacklevel + 1)
    for intervals in (ref_intervals, est_intervals):
        validate_one(intervals)
        _refuse_infinite(intervals)


def _refuse_infinite(intervals: Array) -> None:
    if not are_times(intervals):
        raise ValueError(f"Interval times {BOUNDED}")


def match_note_offsets(
    ref_intervals: Array,
    est_intervals: Array,
    offset_ratio: float = 0.2,
    offset_min_tolerance: float = 0.05,
    strict: bool = False,
) -> Matching:
    """A largest matching of notes by their ends alone.

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

    Returns
    -------
    list of (int, int)
        Places of matched notes in the reference and the estimate.

    Raises
    ------
    ValueError
        For times that are not finite.

    Examples
    --------
    >>> match_note_offsets(np.array([[0.0, 1.0], [0.0, 2.0]]), np.array([[1.0, 1.7], [0.0, 1.1]]))
    [(0, 1), (1, 0)]
    """
    rule = Rule(ratio=offset_ratio, least=offset_min_tolerance, strict=strict)
    return _match(ref_intervals, None, est_intervals, None, rule)


def match_note_onsets(
    ref_intervals: Array, est_intervals: Array, onset_tolerance: float = 0.05, strict: bool = False
) -> Matching:
    """A largest matching of notes by their onsets alone.

    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        Start and end of each note.
    onset_tolerance : float, seconds
        Largest distance of the onsets.
    strict : bool
        Whether the distance must be smaller than that.

    Returns
    -------
    list of (int, int)
        Places of matched notes in the reference and the estimate.

    Raises
    ------
    ValueError
        For times that are not finite.

    Examples
    --------
    >>> match_note_onsets(np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([[1.04, 1.1]]))
    [(1, 0)]
    """
    return _match(ref_intervals, None, est_intervals, None, Rule(onset=onset_tolerance, strict=strict))


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
    """A largest matching of notes by onset, pitch and, unless `offset_ratio` is None, end.

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
        Largest distance of the ends, as a share of the reference note's duration.
    offset_min_tolerance : float, seconds
        That distance is at least this.
    strict : bool
        Whether distances must be smaller than their tolerance.

    Returns
    -------
    list of (int, int)
        Places of matched notes in the reference and the estimate. Of several largest matchings it is the one that
        mir_eval finds.

    Raises
    ------
    ValueError
        For times that are not finite.

    Examples
    --------
    >>> times, pitches = np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([440.0, 550.0])
    >>> match_notes(times, pitches, times, pitches[::-1])
    [(0, 1), (1, 0)]
    """
    rule = Rule(onset_tolerance, pitch_tolerance, offset_ratio, offset_min_tolerance, strict)
    if offset_ratio is None:
        rule = Rule(onset_tolerance, pitch_tolerance, strict=strict)
    return _match(ref_intervals, ref_pitches, est_intervals, est_pitches, rule)


def _match(
    ref_intervals: Array, ref_pitches: Array | None, est_intervals: Array, est_pitches: Array | None, rule: Rule
) -> Matching:
    sides = []
    for intervals, pitches in ((ref_intervals, ref_pitches), (est_intervals, est_pitches)):
        _refuse_infinite(intervals)
        rows = one_row(intervals, pitches)
        octave = np.log2(rows.columns["pitch"])
        sides.append(Notes(rows.columns["start"], rows.columns["end"], octave, rows.counts[0]))
    found = Block(sides[0], sides[1]).matches(rule)
    return list(zip(found.reference.tolist(), found.estimate.tolist(), strict=True))


def one_row(intervals: Array, pitches: Array | None = None, velocities: Array | None = None) -> Ragged:
    """A single transcription as a ragged row; notes whose pitch does not matter are at 1 Hz."""
    start, end = np.asarray(intervals, dtype=np.float64).reshape(-1, 2).T
    columns: dict[str, Float] = {"start": np.ascontiguousarray(start), "end": np.ascontiguousarray(end)}
    columns["pitch"] = np.ones(len(start)) if pitches is None else np.asarray(pitches, dtype=np.float64)
    if velocities is not None:
        columns["velocity"] = np.asarray(velocities, dtype=np.float64)
    return Ragged(columns, (np.array([len(start)], dtype=np.int64),))


def average_overlap_ratio(ref_intervals: Array, est_intervals: Array, matching: Sequence[tuple[int, int]]) -> float:
    """Mean overlap ratio of matched notes.

    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        Start and end of each note.
    matching : list of (int, int)
        As `match_notes` returns it.

    Returns
    -------
    float
        The time that two notes share over the time from the start of the first to the end of the last of them; 0
        without a match.

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
    place = np.asarray(matching, dtype=np.int64).reshape(-1, 2)
    one, other = np.asarray(ref_intervals)[place[:, 0]], np.asarray(est_intervals)[place[:, 1]]
    shared = np.minimum(one[:, 1], other[:, 1]) - np.maximum(one[:, 0], other[:, 0])
    whole = np.maximum(one[:, 1], other[:, 1]) - np.minimum(one[:, 0], other[:, 0])
    return float(np.mean(shared / whole))
