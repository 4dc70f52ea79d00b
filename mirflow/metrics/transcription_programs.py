"""Note transcription with General MIDI programs and percussion, for one pair; datasets use task ``transcription``.

The scores are those of MT3 (Gardner et al., 2022); `evaluate` returns all columns except those of frames. They equal
the metrics of datasets that begin with ``program_``, ``drum_``, ``nondrum_`` and ``tolerance_``, and those of the
convention ``mt3``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from ..ragged import Column, Ragged
from .base import Pairs
from .measures import Measure, Value
from .pair import documented, row_of_intervals
from .transcription.kernel import GRANULARITIES, NO_OFFSET
from .transcription.metrics import METRICS, MT3, clean_all
from .transcription.mir_eval import PARAMETERS, RATES
from .util import Array

__all__ = [
    "drum_precision_recall_f1",
    "evaluate",
    "nondrum_precision_recall_f1",
    "precision_recall_f1",
]

_METRICS = {metric.name: metric for metric in MT3.metrics}

_documented = documented(
    """
    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        Start and end of each note; notes of zero length only count in the scores at several tolerances.
    ref_pitches, est_pitches : (n,) and (m,), Hz
    ref_velocities, est_velocities : (n,) and (m,)
        From 0 to 127, as in MIDI.
    ref_programs, est_programs : (n,) and (m,)
        General MIDI programs, from 0 to 127; kits for percussion.
    ref_drums, est_drums : (n,) and (m,), bool
        Whether a note is percussion.
    offset_ratio : float or None
        Largest distance of the ends as a share of the reference note's duration; None ignores ends.

    Returns
    -------
    precision, recall, f_measure : float
        0 if a side is empty.

    Raises
    ------
    ValueError
        For arrays of different lengths, times that are negative or not finite, reversed notes, pitches that are not
        above 0, and unknown programs.

    References
    ----------
    J. Gardner et al., "MT3: Multi-task multitrack music transcription", ICLR 2022.
    """,
    METRICS,
)


def _sides(reference: Sequence[Array], estimate: Sequence[Array]) -> tuple[Ragged, Ragged]:
    """Clean rows of both sides from intervals, pitches, optional velocities, programs and drums."""
    names = ("pitch", "velocity", "program", "drum") if len(reference) == 5 else ("pitch", "program", "drum")
    rows = []
    for side, (intervals, *others) in (("reference", reference), ("estimate", estimate)):
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


def _score(
    names: str, reference: Sequence[Array], estimate: Sequence[Array], given: Mapping[str, Value | None]
) -> tuple[float, ...]:
    ending = NO_OFFSET if given.get("offset_ratio", 0.0) is None else ""
    values = {name: value for name, value in given.items() if value is not None}
    measures = [_METRICS[f"{names.format(rate)}{ending}"].measure(**values) for rate in RATES]
    return tuple(MT3.score_pair(*_sides(reference, estimate), measures).tolist())


@_documented
def precision_recall_f1(
    ref_intervals: Array,
    ref_pitches: Array,
    ref_programs: Array,
    ref_drums: Array,
    est_intervals: Array,
    est_pitches: Array,
    est_programs: Array,
    est_drums: Array,
    granularity: str = "full",
    onset_tolerance: float = 0.05,
    pitch_tolerance: float = 50.0,
    offset_ratio: float | None = 0.2,
    offset_min_tolerance: float = 0.05,
    strict: bool = False,
    beta: float = 1.0,
) -> tuple[float, ...]:
    """Precision, recall and F-measure of notes that match in onset, pitch, program and (except percussion) end.

    Examples
    --------
    >>> notes, pitches, drums = np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([440.0, 220.0]), np.zeros(2)
    >>> cello, viola = np.array([40, 42]), np.array([40, 41])
    >>> precision_recall_f1(notes, pitches, cello, drums, notes, pitches, viola, drums)
    (0.5, 0.5, 0.5)
    >>> precision_recall_f1(notes, pitches, cello, drums, notes, pitches, viola, drums, granularity="midi_class")
    (1.0, 1.0, 1.0)
    """
    reference = ref_intervals, ref_pitches, ref_programs, ref_drums
    estimate = est_intervals, est_pitches, est_programs, est_drums
    tolerances = onset_tolerance, pitch_tolerance, offset_ratio, offset_min_tolerance
    given = dict(zip(PARAMETERS, (*tolerances, strict, beta), strict=True))
    return _score("program_{}", reference, estimate, given | {"granularity": granularity})


@_documented
def nondrum_precision_recall_f1(
    ref_intervals: Array,
    ref_pitches: Array,
    ref_programs: Array,
    ref_drums: Array,
    est_intervals: Array,
    est_pitches: Array,
    est_programs: Array,
    est_drums: Array,
    granularity: str = "full",
    onset_tolerance: float = 0.05,
    pitch_tolerance: float = 50.0,
    offset_ratio: float | None = 0.2,
    offset_min_tolerance: float = 0.05,
    strict: bool = False,
    beta: float = 1.0,
) -> tuple[float, ...]:
    """Precision, recall and F-measure of notes that match in onset, pitch, end and program, without percussion.

    Examples
    --------
    >>> notes, pitches, programs = np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([440.0, 55.0]), np.zeros(2)
    >>> nondrum_precision_recall_f1(notes, pitches, programs, [0, 1], notes[:1], pitches[:1], programs[:1], [0])
    (1.0, 1.0, 1.0)
    """
    reference = ref_intervals, ref_pitches, ref_programs, ref_drums
    estimate = est_intervals, est_pitches, est_programs, est_drums
    tolerances = onset_tolerance, pitch_tolerance, offset_ratio, offset_min_tolerance
    given = dict(zip(PARAMETERS, (*tolerances, strict, beta), strict=True))
    return _score("nondrum_program_{}", reference, estimate, given | {"granularity": granularity})


@_documented
def drum_precision_recall_f1(
    ref_intervals: Array,
    ref_pitches: Array,
    ref_programs: Array,
    ref_drums: Array,
    est_intervals: Array,
    est_pitches: Array,
    est_programs: Array,
    est_drums: Array,
    onset_tolerance: float = 0.05,
    pitch_tolerance: float = 50.0,
    strict: bool = False,
    beta: float = 1.0,
) -> tuple[float, ...]:
    """Precision, recall and F-measure of percussion that matches in onset, pitch and kit.

    Examples
    --------
    >>> notes, pitches, kit = np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([55.0, 110.0]), np.zeros(2)
    >>> drum_precision_recall_f1(notes, pitches, kit, [1, 1], notes[:1], pitches[:1], kit[:1], [1])
    (1.0, 0.5, 0.6666666666666666)
    """
    reference = ref_intervals, ref_pitches, ref_programs, ref_drums
    estimate = est_intervals, est_pitches, est_programs, est_drums
    given = {"onset_tolerance": onset_tolerance, "pitch_tolerance": pitch_tolerance, "strict": strict, "beta": beta}
    return _score("drum_{}", reference, estimate, given)


@_documented
def evaluate(
    ref_intervals: Array,
    ref_pitches: Array,
    ref_velocities: Array,
    ref_programs: Array,
    ref_drums: Array,
    est_intervals: Array,
    est_pitches: Array,
    est_velocities: Array,
    est_programs: Array,
    est_drums: Array,
) -> OrderedDict[str, float]:
    """Compute all scores of MT3 except those of frames, under the names of its columns.

    Returns
    -------
    OrderedDict of str to float

    Examples
    --------
    >>> notes, pitches = np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([440.0, 55.0])
    >>> one = notes, pitches, np.array([64, 80]), np.array([40, 0]), np.array([False, True])
    >>> found = evaluate(*one, *one)
    >>> found["Onset + offset + program F1 (midi_class)"], found["Drum onset F1 (full)"], found["Onset F1"]
    (1.0, 1.0, 1.0)
    """
    measures = _columns()
    reference = ref_intervals, ref_pitches, ref_velocities, ref_programs, ref_drums
    estimate = est_intervals, est_pitches, est_velocities, est_programs, est_drums
    scores = MT3.score(Pairs.in_order(*_sides(reference, estimate)), measures, MT3.grids[0])
    for message in (*scores.refused.values(), *scores.partly.values()):
        raise ValueError(message)
    columns = [(name, value) for m, value in zip(measures, scores.score[0].tolist(), strict=True) for name in _names(m)]
    return OrderedDict(columns)


@cache
def _columns() -> tuple[Measure, ...]:
    """Measures of all columns, parsed once."""
    return MT3.select()


def _names(measure: Measure) -> tuple[str, ...]:
    """Names of the columns of MT3 for a measure; percussion is equal under each granularity."""
    name = _METRICS[measure.metric.name.removeprefix("tolerance_")].aliases[-1]
    given = measure.parameters
    if "granularity" in given or "tolerance" in given:
        return (f"{name} ({given.get('granularity', given.get('tolerance'))})",)
    return tuple(f"{name} ({one})" for one in GRANULARITIES) if name.startswith("Drum ") else (name,)
