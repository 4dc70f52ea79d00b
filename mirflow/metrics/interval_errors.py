"""Errors of labels over time: pieces on which neither side changes, and the kind of error of each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ragged import Float, Int, Ragged
from .edits import RIGHT, Edits

Classify = Callable[[Int, Int], Int]
"""Labels of the reference and of the estimate on each piece, as codes -> kinds of errors; `RIGHT` for none."""


class LabelSpans:
    """The intervals of one side, in order of time and without overlaps; with `carry`, without gaps as well.

    `code` is a number for the label of each interval, and one more for times without an interval.
    """

    def __init__(self, rows: Ragged, code: Int, carry: bool) -> None:
        order = np.argsort(rows.columns["start"], kind="stable")
        self.start: Float = rows.columns["start"][order]
        self.end: Float = rows.columns["end"][order]
        self.label: Int = rows.columns["label"][order]
        self.code = np.append(code[:-1][order], code[-1])
        self.end[:-1] = self.start[1:] if carry else np.minimum(self.end[:-1], self.start[1:])

    def at(self, times: Float) -> Int:
        """The interval at each time; -1: none."""
        index = np.searchsorted(self.start, times, side="right") - 1
        return np.where((index >= 0) & (times < np.append(self.end, -np.inf)[index]), index, -1)


def align_pieces(
    reference: Ragged, estimate: Ragged, codes: tuple[Int, Int], classify: Classify, boundaries: int, carry: bool
) -> Edits:
    """Find the edits of labels over time.

    `codes` ((int64, int64)): numbers of the labels; see `LabelSpans`. Equal numbers are right. `boundaries`: the kind
    of wrong labels that are due to a boundary that is early or late, and of boundaries between labels that are right.
    `carry`: whether a label lasts through the gap after its interval.
    """
    own, other = LabelSpans(reference, codes[0], carry), LabelSpans(estimate, codes[1], carry)
    low, high = (own.start[0], own.end.max()) if len(own.start) else (0.0, 0.0)
    cuts = np.unique(np.clip(np.concatenate([own.start, own.end, other.start, other.end]), low, high))
    start, end = cuts[:-1], cuts[1:]
    left, right = own.at(start), other.at(start)
    kind = classify(own.code[left], other.code[right])
    # A piece at an end of an interval of the reference is displaced if the estimate has the label beyond that end, its
    # interval goes beyond the end, and the piece does not fill the reference's interval: the label would not be found.
    displaced = np.zeros(len(start), dtype=np.bool_)
    for step in (-1, 1):
        inside = (left >= 0) & (right >= 0) & (left + step >= 0) & (left + step < len(own.start))
        piece = np.flatnonzero(inside)
        interval, item = left[piece], right[piece]
        part = (start[piece] > own.start[interval]) | (end[piece] < own.end[interval])
        if step < 0:
            at_end = (start[piece] == own.start[interval]) & (other.start[item] < start[piece])
        else:
            at_end = (end[piece] == own.end[interval]) & (other.end[item] > end[piece])
        displaced[piece] |= part & at_end & (own.code[interval + step] == other.code[item])
    kind[(kind == RIGHT) | displaced] = boundaries
    same = (left >= 0) & (right >= 0) & (own.code[left] == other.code[right])
    same[same] = (own.start[left[same]] == other.start[right[same]]) & (own.end[left[same]] == other.end[right[same]])
    kind[same] = RIGHT
    pieces, kinds, origins = [], [], []
    for side, rows, item in ((own, reference, left), (other, estimate, right)):
        mask = item >= 0
        columns = {"start": start[mask], "end": end[mask], "label": side.label[item[mask]]}
        pieces.append(Ragged(columns, (np.array([mask.sum()], dtype=np.int64),), rows.labels))
        kinds.append(kind[mask])
        origins.append(item[mask])
    return Edits(pieces[0], pieces[1], kinds[0], kinds[1], origin=(origins[0], origins[1]))
