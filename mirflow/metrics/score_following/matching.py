"""Which report of a follower is of which note of the score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.nearest import nearest
from ...ragged import Float, Int, Ragged, rows_of

_DIGITS = 9
"""Distances are compared with tolerances to the nanosecond: files are in milliseconds, which have no exact seconds."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The notes of the references of many pairs, with what was reported of them.

    Parameters
    ----------
    pair : int64 (notes,)
    counts : int64 (pairs,)
        Notes of each pair.
    time, position, pitch : float64 (notes,)
        Onset in the performance and in the score, in seconds; MIDI number, NaN where unknown.
    report : int64 (notes,)
        Which of all reports is the note's; -1: it was missed.
    estimated, detected : float64 (notes,)
        Onset in the performance by the report, and when it was reported, in seconds; NaN where unknown.
    unknown : int64 (reports left over,)
        Reports of no note, or of one that was reported before.
    reports : Ragged
        All reports, pair after pair.
    """

    pair: Int
    counts: Int
    time: Float
    position: Float
    pitch: Float
    report: Int
    estimated: Float
    detected: Float
    unknown: Int
    reports: Ragged


def follow(references: Ragged, estimates: Ragged, reference_row: Int, estimate_row: Int, tolerance: float) -> Followed:
    """Find the report of each note.

    A report is of the note of its pitch that is nearest in the score and not further than the tolerance; without
    pitches on either side, of any note there. Of several reports of a note the first counts; of several notes of one
    pitch at one position each takes a report, in the order of the files.

    Parameters
    ----------
    references, estimates : Ragged
        As :func:`mirflow.metrics.score_following.cleaning.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
    tolerance : float, seconds
        Of positions in the score.

    Examples
    --------
    >>> notes = Ragged({"time": np.array([0.1, 1.2]), "detected": np.full(2, np.nan), "position": np.array([0.0, 1.0]),
    ...                 "pitch": np.array([60.0, 62.0])}, (np.array([2]),))
    >>> heard = Ragged({"time": np.array([1.3]), "detected": np.array([1.4]), "position": np.array([1.0004]),
    ...                 "pitch": np.array([62.0])}, (np.array([1]),))
    >>> follow(notes, heard, np.array([0]), np.array([0]), 0.001).estimated.tolist()
    [nan, 1.3]
    """
    notes, reports = references.take(reference_row), estimates.take(estimate_row)
    pair, other = rows_of(notes.counts[0]), rows_of(reports.counts[0])
    group, group_of_report, groups = _groups(notes, reports, pair, other)
    position = notes.columns["position"]
    order = np.lexsort((position, group))
    asked = np.flatnonzero(group_of_report >= 0)
    asked = asked[np.argsort(group_of_report[asked], kind="stable")]
    sizes = np.bincount(group, minlength=groups)
    queries = np.bincount(group_of_report[asked], minlength=groups)
    wanted = reports.columns["position"][asked]
    found = nearest(position[order], sizes, wanted, queries)
    near = np.round(np.abs(position[order][found] - wanted), _DIGITS) <= tolerance
    asked, found = asked[near], found[near]
    place = found + _occurrence(found)
    inside = place < len(order)
    same = inside.copy()
    same[inside] = (group[order][place[inside]] == group[order][found[inside]]) & (
        position[order][place[inside]] == position[order][found[inside]]
    )
    report = np.full(len(order), -1, dtype=np.int64)
    report[order[place[same]]] = asked[same]
    left = np.ones(len(other), dtype=np.bool_)
    left[asked[same]] = False
    estimated, detected = (
        np.append(reports.columns[name], np.nan)[report]  # the last one, which -1 finds, is that of missed notes
        for name in ("time", "detected")
    )
    columns = notes.columns
    return Followed(
        pair,
        notes.counts[0],
        columns["time"],
        position,
        columns["pitch"],
        report,
        estimated,
        detected,
        np.flatnonzero(left),
        reports,
    )


def _groups(notes: Ragged, reports: Ragged, pair: Int, other: Int) -> tuple[Int, Int, int]:
    """Numbers for the pair and pitch of each note and of each report, -1 for one that no note has, and how many."""
    sides = [side.columns["pitch"] for side in (notes, reports)]
    pairs = len(notes)
    deaf = np.zeros(pairs, dtype=np.bool_)
    for owner, pitch in zip((pair, other), sides, strict=True):
        deaf |= np.bincount(owner, np.isnan(pitch), minlength=pairs) > 0
    own, heard = (np.where(deaf[owner], 0.0, pitch) for owner, pitch in zip((pair, other), sides, strict=True))
    pitches = np.unique(own)
    keys = pair * max(len(pitches), 1) + np.searchsorted(pitches, own)
    distinct, group = np.unique(keys, return_inverse=True)
    if not len(distinct):
        return group, np.full(len(other), -1, dtype=np.int64), 0
    number = np.minimum(np.searchsorted(pitches, heard), len(pitches) - 1)
    key = np.where(pitches[number] == heard, other * len(pitches) + number, -1)
    place = np.minimum(np.searchsorted(distinct, key), len(distinct) - 1)
    return group, np.where(distinct[place] == key, place, -1), len(distinct)


def _occurrence(values: Int) -> Int:
    """How many times each value stood before it in the array.

    Examples
    --------
    >>> _occurrence(np.array([4, 2, 4, 4])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    fresh = np.ones(len(values), dtype=np.bool_)
    fresh[1:] = ascending[1:] != ascending[:-1]
    starts = np.flatnonzero(fresh)[np.cumsum(fresh) - 1] if len(values) else order
    counted = np.empty(len(values), dtype=np.int64)
    counted[order] = np.arange(len(values)) - starts
    return counted


def within(distance: Float, threshold: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether times are near enough; NaN is not.

    Examples
    --------
    >>> within(np.array([1.3 - 1.0, -0.31, np.nan]), 0.3).tolist()
    [True, False, False]
    """
    return np.asarray(np.round(np.abs(distance), _DIGITS) <= threshold)
