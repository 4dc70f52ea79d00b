"""Note transcription with General MIDI programs and percussion, for one pair; datasets use task ``transcription``.

The scores are those of MT3 (Gardner et al., 2022); `evaluate` returns all columns except those of frames. They equal
the metrics of datasets that begin with ``program_``, ``drum_``, ``nondrum_`` and ``tolerance_``, and those of the
convention ``mt3``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from ..errors import UnknownNameError, refuse_unknown
from ..ragged import Column, Ragged
from .base import Pairs
from .measures import Measure
from .pair import documented, row_of_intervals
from .transcription.kernel import GRANULARITIES, NO_OFFSET
from .transcription.metrics import MT3, clean_all
from .transcription.mir_eval import RATES
from .util import Array

__all__ = ["NoteOptions", "evaluate", "precision_recall_f1"]
Side = tuple[Array, Array, Array, Array]
"""Intervals (n, 2) in seconds, pitches in Hz, General MIDI programs (kits for percussion), and whether a note is
percussion.
"""
SideWithVelocities = tuple[Array, Array, Array, Array, Array]
"""Intervals, pitches, velocities from 0 to 127, programs, and whether a note is percussion."""

_METRICS = {metric.name: metric for metric in MT3.metrics}
_PREFIX = {"all": "program_", "nondrum": "nondrum_program_", "drum": "drum_"}


class NoteOptions(TypedDict, total=False):
    """Parameters of the metrics; without `offset_ratio` (None) ends are ignored."""

    granularity: str
    onset_tolerance: float
    pitch_tolerance: float
    offset_ratio: float | None
    offset_min_tolerance: float
    strict: bool
    beta: float


_documented = documented(
    """
    Raises
    ------
    ValueError
        For arrays of different lengths, times that are negative or not finite, reversed notes, pitches that are not
        above 0, and unknown programs.

    References
    ----------
    J. Gardner et al., "MT3: Multi-task multitrack music transcription", ICLR 2022.
    """
)


def _rows(reference: Sequence[Array], estimate: Sequence[Array]) -> tuple[Ragged, Ragged]:
    """Clean rows of both sides from intervals, pitches, optional velocities, programs and drums."""
    rows = []
    for side, (intervals, *others) in (("reference", reference), ("estimate", estimate)):
        names = ("pitch", "velocity", "program", "drum") if len(others) == 4 else ("pitch", "program", "drum")
        row = row_of_intervals(intervals)
        columns: dict[str, Column] = dict(row.columns)
        for name, values in zip(names, others, strict=True):
            columns[name] = np.asarray(values, dtype=np.float64)
            if columns[name].shape != columns["start"].shape:
                shape = columns[name].shape
                raise ValueError(f"{side}: {len(columns['start'])} intervals, but {name} of shape {shape}")
        cleaned = clean_all(Ragged(columns, row.counts))
        for flaw in cleaned.flaws.values():
            raise ValueError(f"{side}: note {flaw.item}: {flaw.message}")
        rows.append(cleaned.rows)
    return rows[0], rows[1]


@_documented
def precision_recall_f1(
    reference: Side, estimate: Side, notes: Literal["all", "nondrum", "drum"] = "all", **options: Unpack[NoteOptions]
) -> tuple[float, ...]:
    """Precision, recall and F-measure of notes that match in onset, pitch, program and (except percussion) end.

    Parameters
    ----------
    reference, estimate : tuple of arrays
        Intervals (n, 2) in seconds, pitches in Hz, General MIDI programs from 0 to 127 (kits for percussion), and
        whether a note is percussion.
    notes : {"all", "nondrum", "drum"}
        Notes that are scored.
    **options
        `granularity` ("flat", "midi_class" or "full"), `onset_tolerance` and `offset_min_tolerance` in seconds,
        `pitch_tolerance` in cents, `offset_ratio` (share of the reference note's duration; None ignores ends),
        `strict` and `beta`; see the metrics of the task. Percussion has neither `granularity` nor options of ends.

    Returns
    -------
    precision, recall, f_measure : float
        0 if a side is empty.

    Examples
    --------
    >>> notes, pitches, drums = np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([440.0, 220.0]), np.array([0, 0])
    >>> cello, viola = (notes, pitches, np.array([40, 42]), drums), (notes, pitches, np.array([40, 41]), drums)
    >>> precision_recall_f1(cello, viola)
    (0.5, 0.5, 0.5)
    >>> precision_recall_f1(cello, viola, granularity="midi_class")
    (1.0, 1.0, 1.0)
    """
    if notes not in _PREFIX:
        raise UnknownNameError("notes", notes, _PREFIX)
    names = [f"{_PREFIX[notes]}{rate}" for rate in RATES]
    refuse_unknown("precision_recall_f1", options, (parameter.name for parameter in _METRICS[names[-1]].parameters))
    values: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    ending = NO_OFFSET if options.get("offset_ratio", 0.0) is None else ""
    measures = [_METRICS[f"{name}{ending}"].measure(**values) for name in names]
    return tuple(MT3.score_pair(*_rows(reference, estimate), measures).tolist())


@_documented
def evaluate(reference: SideWithVelocities, estimate: SideWithVelocities) -> OrderedDict[str, float]:
    """Compute all scores of MT3 except those of frames, under the names of its columns.

    Parameters
    ----------
    reference, estimate : tuple of arrays
        Intervals (n, 2) in seconds, pitches in Hz, velocities from 0 to 127, General MIDI programs, and whether a note
        is percussion. Notes of zero length only count in the scores at several tolerances.

    Returns
    -------
    OrderedDict of str to float
        0 if a side is empty.

    Examples
    --------
    >>> notes, pitches = np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([440.0, 55.0])
    >>> one = notes, pitches, np.array([64, 80]), np.array([40, 0]), np.array([False, True])
    >>> found = evaluate(one, one)
    >>> found["Onset + offset + program F1 (midi_class)"], found["Drum onset F1 (full)"], found["Onset F1"]
    (1.0, 1.0, 1.0)
    """
    measures = MT3.select()
    scores = MT3.score(Pairs.in_order(*_rows(reference, estimate)), measures, MT3.grids[0])
    for message in (*scores.refused.values(), *scores.partly.values()):
        raise ValueError(message)
    values = zip(measures, scores.score[0].tolist(), strict=True)
    return OrderedDict((name, value) for measure, value in values for name in column_names(measure))


def column_names(measure: Measure) -> tuple[str, ...]:
    """Names of the columns of MT3 for a measure; percussion is equal under each granularity."""
    name = _METRICS[measure.metric.name.removeprefix("tolerance_")].aliases[-1]
    parameters = measure.parameters
    if "granularity" in parameters or "tolerance" in parameters:
        return (f"{name} ({parameters.get('granularity', parameters.get('tolerance'))})",)
    return tuple(f"{name} ({granularity})" for granularity in GRANULARITIES) if name.startswith("Drum ") else (name,)
