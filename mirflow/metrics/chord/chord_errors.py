"""Kinds of errors of chords: the first difference of a chord and the one of the reference."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...ragged import Int, Ragged
from ..edits import RIGHT, Edits, ErrorBudget, ErrorKind, LabelRows
from ..interval_errors import align_pieces
from ..measures import Measure
from .rules import Chords, encode_sides, number_chords

_KINDS = (
    ErrorKind("no_chord", "no chord, or a gap, where the reference has a chord, or the other way round"),
    ErrorKind("root", "a chord with another root"),
    ErrorKind("quality", "a chord with the right root and other tones"),
    ErrorKind("bass", "a chord with the right root and tones, and another bass"),
    ErrorKind(
        "boundaries",
        "a change of chords that is early or late, or none of the reference, between chords that are right",
    ),
)
_NO_CHORD, _ROOT, _QUALITY, _BASS, _BOUNDARIES = range(len(_KINDS))


def _align(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool, carry: bool) -> Edits:
    chords = encode_sides(reference, estimate)
    codes = chords.reference, chords.estimate
    return align_pieces(reference, estimate, codes, partial(_classify, chords), _BOUNDARIES, carry)


def _classify(chords: Chords, reference: Int, estimate: Int) -> Int:
    """The first difference of each two chords."""
    left, right = chords.table.take(reference), chords.table.take(estimate)
    silent = (left.pitches == 0) != (right.pitches == 0)
    wrong = silent, left.root != right.root, left.pitches != right.pitches, left.bass != right.bass
    return np.select(wrong, [_NO_CHORD, _ROOT, _QUALITY, _BASS], RIGHT).astype(np.int64)


_ROWS = LabelRows(number_chords, (("C:maj", "C"), ("G:maj", "G"), ("A:min", "A:min")))
ERRORS = ErrorBudget(_KINDS, partial(_align, carry=True), _ROWS, version=2)
"""Of conventions in which a chord lasts through the gap after it."""
ERRORS_WITH_GAPS = ErrorBudget(_KINDS, partial(_align, carry=False), _ROWS, version=2)
"""Of conventions that take gaps for no chord."""
