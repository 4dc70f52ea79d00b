"""Kinds of errors of segments: of their boundaries and of their labels."""

from __future__ import annotations

import numpy as np

from ...kernels.matching import match_nearest_first
from ...ragged import Bool, Float, Int, Ragged
from ..edits import RIGHT, ErrorBudget, ErrorKind, LabelRows, Mending, kinds_in, number_texts
from ..event_errors import pair_up
from ..interval_errors import LabelSpans
from ..measures import Measure

_KINDS = (
    ErrorKind("shifted", "boundaries that are early or late by up to 3 s"),
    ErrorKind("missing", "boundaries of the reference without an estimate"),
    ErrorKind("extra", "estimated boundaries without one of the reference"),
    ErrorKind("labels", "labels of segments, whatever their boundaries"),
)
_SHIFTED, _MISSING, _EXTRA, _LABELS = range(len(_KINDS))


def _align(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> Mending:
    """Find the edits of boundaries, and of the side that the labels are taken from."""
    codes = {label: code for code, label in enumerate(dict.fromkeys((*reference.labels, *estimate.labels)))}
    sides = []
    for rows in (reference, estimate):
        numbers = np.array([*(codes[label] for label in rows.labels), -1], dtype=np.int64)
        sides.append(LabelSpans(rows, np.append(numbers[rows.columns["label"]], -1), carry=False))
    bounds = [np.unique(np.concatenate([side.start, side.end])) for side in sides]
    every = np.concatenate(bounds)
    order = np.argsort(every, kind="stable")
    window = 0.0 if exact else float(measure.parameters.get("window", 0.5))
    kind = np.concatenate(_classify(bounds[0], bounds[1], window))[order]
    boundaries, of_reference = every[order], (np.arange(len(every)) < len(bounds[0]))[order]

    def mend(kinds: Bool) -> Ragged:
        row, item = np.nonzero(kinds[:, kind] == of_reference)
        times = boundaries[item]
        follows = np.flatnonzero((row[1:] == row[:-1]) & (times[1:] > times[:-1]))
        start, end, row = times[follows], times[follows + 1], row[follows]
        places = [side.at((start + end) / 2) for side in sides]
        # Outside of the intervals of a side, its labels are those of the other one.
        from_reference = np.where(kinds[row, _LABELS], places[0] >= 0, places[1] < 0)
        label = np.where(from_reference, *(side.code[index] for side, index in zip(sides, places, strict=True)))
        either = (places[0] >= 0) | (places[1] >= 0)
        counts = np.bincount(row[either], minlength=len(kinds)).astype(np.int64)
        return Ragged({"start": start[either], "end": end[either], "label": label[either]}, (counts,), (*codes,))

    present = kinds_in(kind)
    if measure.metric.mir_eval not in ("detection", "deviation"):  # whose functions in mir_eval ignore labels
        present = np.append(present, _LABELS)
    return Mending(present, len(every), mend, (of_reference, boundaries, kind))


def _classify(reference: Float, estimate: Float, window: float) -> tuple[Int, Int]:
    """Kinds of the boundaries of both sides."""
    kinds = np.full(len(reference), _MISSING), np.full(len(estimate), _EXTRA)
    hit = pair_up(reference, estimate, window)
    kinds[0][hit[0]] = kinds[1][hit[1]] = RIGHT
    left = np.flatnonzero(kinds[0] == _MISSING), np.flatnonzero(kinds[1] == _EXTRA)
    # Boundaries within 3 s are shifted, and not missing.
    near = pair_up(reference[left[0]], estimate[left[1]], 3.0, match_nearest_first)
    kinds[0][left[0][near[0]]] = kinds[1][left[1][near[1]]] = _SHIFTED
    if len(reference) and len(estimate):  # the ends of both sides belong together, however far apart they are
        for end in (0, -1):
            if kinds[0][end] == _MISSING and kinds[1][end] == _EXTRA:
                kinds[0][end] = kinds[1][end] = _SHIFTED
    return kinds


_ROWS = LabelRows(number_texts, (("A", "A"), ("B", "B"), ("C", "C")), bounded=True)
SEGMENTS = ErrorBudget(_KINDS, _align, _ROWS, version=2)
