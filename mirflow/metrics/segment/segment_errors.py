"""Kinds of errors of segments: of their boundaries and of their labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.matching import match, match_nearest_first
from ...ragged import Bool, Float, Int, Ragged
from ..edits import RIGHT, ErrorBudget, ErrorKind, LabelRows, kinds_in, number_texts
from ..interval_errors import LabelSpans
from ..measures import Measure

_KINDS = (
    ErrorKind("shifted", "boundaries that are early or late by up to 3 s"),
    ErrorKind("missing", "boundaries of the reference without an estimate"),
    ErrorKind("extra", "estimated boundaries without one of the reference"),
    ErrorKind("labels", "labels of segments, whatever their boundaries"),
)
_SHIFTED, _MISSING, _EXTRA, _LABELS = range(len(_KINDS))
_NEAR = 3.0
"""Seconds within which a boundary is shifted, and not missing."""
_OF_BOUNDARIES = ("detection", "deviation")
"""Functions of mir_eval that ignore labels."""


@dataclass(frozen=True)
class SegmentEdits:
    """Edits of boundaries, and of the side that the labels are taken from."""

    sides: tuple[LabelSpans, LabelSpans]
    vocabulary: tuple[str, ...]
    """Of both sides: codes of `sides` are places in it."""
    times: Float
    """Boundaries of both sides in order: float64 (n,), seconds."""
    of_reference: Bool
    kind: Int

    present: Int
    size: int
    """See `Mending`."""

    def mend(self, kinds: Bool) -> Ragged:
        """Mend sets of kinds: a row for each set."""
        mended = np.column_stack([kinds, np.zeros(len(kinds), dtype=np.bool_)])
        row, item = np.nonzero(mended[:, self.kind] == self.of_reference)
        times = self.times[item]
        follows = np.flatnonzero((row[1:] == row[:-1]) & (times[1:] > times[:-1]))
        start, end, row = times[follows], times[follows + 1], row[follows]
        middle = (start + end) / 2
        places = [side.at(middle) for side in self.sides]
        codes = [side.code[index] for side, index in zip(self.sides, places, strict=True)]
        labels = mended[row, _LABELS]
        mask = np.where(labels, places[0] >= 0, places[1] >= 0)
        # Outside of the intervals of a side, its labels are those of the other one.
        label = np.where(mask == labels, codes[0], codes[1])
        label = np.where(mask, np.where(labels, codes[0], codes[1]), label)
        either = (places[0] >= 0) | (places[1] >= 0)
        counts = np.bincount(row[either], minlength=len(kinds)).astype(np.int64)
        return Ragged({"start": start[either], "end": end[either], "label": label[either]}, (counts,), self.vocabulary)


def _align(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> SegmentEdits:
    codes = {label: code for code, label in enumerate(dict.fromkeys((*reference.labels, *estimate.labels)))}
    sides = []
    for rows in (reference, estimate):
        numbers = np.array([*(codes[label] for label in rows.labels), -1], dtype=np.int64)
        sides.append(LabelSpans(rows, np.append(numbers[rows.columns["label"]], -1), carry=False))
    bounds = [np.unique(np.concatenate([side.start, side.end])) for side in sides]
    window = 0.0 if exact else float(measure.parameters.get("window", 0.5))
    kinds = _classify(bounds[0], bounds[1], window)
    times = np.concatenate(bounds)
    order = np.argsort(times, kind="stable")
    of_reference = np.arange(len(times)) < len(bounds[0])
    labelled = measure.metric.mir_eval not in _OF_BOUNDARIES
    kind = np.concatenate(kinds)[order]
    present = np.append(kinds_in(kind), _LABELS) if labelled else kinds_in(kind)
    of_boundary = times[order], of_reference[order], kind
    return SegmentEdits((sides[0], sides[1]), (*codes,), *of_boundary, present, len(times))


def _classify(reference: Float, estimate: Float, window: float) -> tuple[Int, Int]:
    """Kinds of the boundaries of both sides."""
    kinds = np.full(len(reference), _MISSING), np.full(len(estimate), _EXTRA)
    counts = np.array([len(reference)]), np.array([len(estimate)])
    hit = match(reference, counts[0], estimate, counts[1], window)
    kinds[0][hit.reference] = kinds[1][hit.estimate] = RIGHT
    left = np.flatnonzero(kinds[0] == _MISSING), np.flatnonzero(kinds[1] == _EXTRA)
    counts = np.array([len(left[0])]), np.array([len(left[1])])
    near = match_nearest_first(reference[left[0]], counts[0], estimate[left[1]], counts[1], _NEAR)
    kinds[0][left[0][near.reference]] = kinds[1][left[1][near.estimate]] = _SHIFTED
    if len(reference) and len(estimate):  # the ends of both sides belong together, however far apart they are
        for end in (0, -1):
            if kinds[0][end] == _MISSING and kinds[1][end] == _EXTRA:
                kinds[0][end] = kinds[1][end] = _SHIFTED
    return kinds


SEGMENTS = ErrorBudget(
    _KINDS, _align, LabelRows(number_texts, (("A", "A"), ("B", "B"), ("C", "C")), bounded=True), version=2
)
