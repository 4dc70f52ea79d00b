"""Kinds of errors of chords: pieces of time on which both sides have the same chords, and the errors there."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...ragged import Bool, Float, Int, Ragged
from ..edits import RIGHT, Edits, ErrorBudget, ErrorKind
from ..measures import Measure
from .rules import Chords, encode_sides

_KINDS = (
    ErrorKind("no_chord", "No chord", "no chord, or a gap, where the reference has a chord, or the other way round"),
    ErrorKind("root", "Root", "a chord with another root"),
    ErrorKind("quality", "Quality", "a chord with the right root and other tones"),
    ErrorKind("bass", "Bass", "a chord with the right root and tones, and another bass"),
    ErrorKind(
        "boundaries",
        "Boundaries",
        "a change of chords that is early or late, or none of the reference, between chords that are right",
    ),
)
_NO_CHORD, _ROOT, _QUALITY, _BASS, _BOUNDARIES = range(len(_KINDS))


class _Side:
    """The intervals of one side, in order of time and without overlaps; with `carry`, also without gaps."""

    def __init__(self, rows: Ragged, chord: Int, carry: bool) -> None:
        order = np.argsort(rows.columns["start"], kind="stable")
        self.start: Float = rows.columns["start"][order]
        self.end: Float = rows.columns["end"][order]
        self.label: Int = rows.columns["label"][order]
        self.chord = np.append(chord[order], chord[-1])  # the last one for nothing
        if carry:
            self.end[:-1] = self.start[1:]
        else:
            self.end[:-1] = np.minimum(self.end[:-1], self.start[1:])

    def at(self, times: Float) -> Int:
        """The interval at each time; -1: none."""
        place = np.searchsorted(self.start, times, side="right") - 1
        return np.where((place >= 0) & (times < np.append(self.end, -np.inf)[place]), place, -1)


def _align(reference: Ragged, estimate: Ragged, measure: Measure, carry: bool) -> Edits:
    chords = encode_sides(reference, estimate)
    own, other = _Side(reference, chords.reference, carry), _Side(estimate, chords.estimate, carry)
    low, high = (own.start[0], own.end.max()) if len(own.start) else (0.0, 0.0)
    cuts = np.unique(np.clip(np.concatenate([own.start, own.end, other.start, other.end]), low, high))
    start, end = cuts[:-1], cuts[1:]
    left, right = own.at(start), other.at(start)
    kind = _classify(chords, own.chord[left], other.chord[right])
    kind[_displaced(own, other, start, end, left, right)] = _BOUNDARIES
    same = (left >= 0) & (right >= 0) & (kind == _BOUNDARIES)
    same[same] = (own.start[left[same]] == other.start[right[same]]) & (own.end[left[same]] == other.end[right[same]])
    kind[same & (own.chord[left] == other.chord[right])] = RIGHT
    pieces, kinds, origins = [], [], []
    for side, rows, item in ((own, reference, left), (other, estimate, right)):
        there = item >= 0
        columns = {"start": start[there], "end": end[there], "label": side.label[item[there]]}
        pieces.append(Ragged(columns, (np.array([there.sum()], dtype=np.int64),), rows.labels))
        kinds.append(kind[there])
        origins.append(item[there])
    return Edits(pieces[0], pieces[1], kinds[0], kinds[1], origin=(origins[0], origins[1]))


def _classify(chords: Chords, reference: Int, estimate: Int) -> Int:
    """The first thing that is wrong with each chord; `_BOUNDARIES` where nothing is."""
    one, other = chords.table.take(reference), chords.table.take(estimate)
    silent = (one.pitches == 0) != (other.pitches == 0)
    wrong = silent, one.root != other.root, one.pitches != other.pitches, one.bass != other.bass
    return np.select(wrong, [_NO_CHORD, _ROOT, _QUALITY, _BASS], _BOUNDARIES).astype(np.int64)


def _displaced(own: _Side, other: _Side, start: Float, end: Float, left: Int, right: Int) -> Bool:
    """Whether a piece is at an end of an interval of the reference, and the estimate has the chord beyond that end.

    The estimate's interval goes beyond the end, and the piece does not fill the reference's interval: that is a chord
    which is not found.
    """
    found = np.zeros(len(start), dtype=np.bool_)
    for step in (-1, 1):
        beyond = left + step
        inside = (left >= 0) & (right >= 0) & (beyond >= 0) & (beyond < len(own.start))
        piece = np.flatnonzero(inside)
        one, next_one, item = left[piece], beyond[piece], right[piece]
        partial_piece = (start[piece] > own.start[one]) | (end[piece] < own.end[one])
        if step < 0:
            at_end = (start[piece] == own.start[one]) & (other.start[item] < start[piece])
        else:
            at_end = (end[piece] == own.end[one]) & (other.end[item] > end[piece])
        found[piece] |= partial_piece & at_end & (own.chord[next_one] == other.chord[item])
    return found


ERRORS = ErrorBudget(_KINDS, partial(_align, carry=True))
"""Of conventions in which a chord lasts through the gap after it."""
ERRORS_WITH_GAPS = ErrorBudget(_KINDS, partial(_align, carry=False))
"""Of conventions that take gaps for no chord."""
