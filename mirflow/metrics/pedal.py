"""Piano pedals: reference and estimate are stretches with start, end (seconds) and the name of a pedal.

A pedal is ``sustain`` (also 64 or no name), ``sostenuto`` (66) or ``soft`` (67); each is scored separately. `evaluate`
scores one pedal of one pair; `TASK` holds the metrics of whole datasets, with kinds of errors; the metrics are those of
note transcription without pitches.

Conventions
-----------
* ``transkun`` (default and only one): the score of a pedal that the reference does not use is NaN.

Metrics
-------
* ``precision``, ``recall``, ``f_measure``, ``average_overlap_ratio``: onset and offset.
* ``precision_no_offset``, ``recall_no_offset``, ``f_measure_no_offset``, ``average_overlap_ratio_no_offset``: onset.
* ``frame_precision``, ``frame_recall``, ``frame_f_measure``, ``frame_accuracy``: time in which a pedal is down.

References
----------
Yan, Cwitkowitz and Duan, Skipping the frame-level: event-based piano transcription with neural semi-CRFs, 2021.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.rolls import PEDALS_DOWN
from ..errors import AnnotationError
from ..ragged import Column, Int, Ragged
from ..theory import general_midi
from ..theory.general_midi import pedal_of
from ..theory.pitch import midi_to_hz
from .base import GRIDS, Convention, Grid, Pairs, Scores, Task, by_name, score_on_frames
from .cleaning import NO_TIMES, Cleaned, drop_items, inspected, set_aside, usable_pair
from .edits import RIGHT, Edits, ErrorBudget
from .measures import Measure, Metric, Parameter, Value
from .pair import PairFunctions, clean_row
from .transcription.conventions import MIREX2024, NOTES, OF_TIMES
from .transcription.metrics import RATES
from .transcription.metrics import evidence as evidence_of_notes
from .transcription.metrics import score as score_notes
from .util import Array

__all__ = ["PEDALS", "TASK", "evaluate"]
PEDALS = tuple(general_midi.PEDALS)
_PITCH = 440.0
"""Pitch in Hz of all stretches when they are scored as notes."""


def clean(rows: Ragged) -> Cleaned:
    """Clean rows of stretches.

    Stretches of zero length are dropped and counted in `repairs`. Flaws are unknown pedals, and invalid times as in
    transcription.
    """
    _, problems, short = inspected("pedals", rows, (*NO_TIMES, "reversed", "negative"), ("zero_length",))
    code = rows.columns["label"]
    names = "known: sustain (64), sostenuto (66), soft (67)"
    problems.append((_pedals(rows) < 0, lambda item: f"not a pedal: {rows.labels[code[item]]!r}; {names}"))
    return set_aside(rows, problems, short, drop=True)


def _pedals(rows: Ragged) -> Int:
    """Index of the pedal of each stretch; -1 for none."""
    return np.array([pedal_of(label) for label in (*rows.labels, "")], dtype=np.int64)[rows.columns["label"]]


def of_pedal(rows: Ragged, pedal: str) -> Ragged:
    """Convert the stretches of one pedal to notes of the same pitch."""
    some = drop_items(rows, _pedals(rows) != PEDALS.index(pedal))
    columns: dict[str, Column] = {name: some.columns[name] for name in ("start", "end")}
    return Ragged({**columns, "pitch": np.full(len(columns["start"]), _PITCH)}, some.counts)


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score pairs of pedals; NaN if the reference does not use the pedal: a `Scorer`."""
    values = np.zeros((2, len(pairs), len(measures)))
    refused: dict[int, str] = {}
    for pedal in dict.fromkeys(str(measure["pedal"]) for measure in measures):
        columns = [column for column, measure in enumerate(measures) if measure["pedal"] == pedal]
        references, estimates = (of_pedal(rows, pedal) for rows in (pairs.references, pairs.estimates))
        chosen = replace(pairs, references=references, estimates=estimates)
        notes = [_BY_NAME[measures[column].metric.name].measure(**measures[column].parameters) for column in columns]
        scores = score_notes(chosen, notes)
        unused = chosen.counts[0] == 0
        values[0][:, columns] = np.where(unused[:, np.newaxis], np.nan, scores.score)
        values[1][:, columns] = np.where(unused[:, np.newaxis], 0.0, scores.weight)
        refused |= scores.refused
    return Scores(values[0], values[1], refused=refused)


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return the stretches of one pedal on both sides with verdicts, as in transcription: an `Explainer`."""
    pedal = str(measure["pedal"])
    sides = [of_pedal(rows, pedal) for rows in usable_pair(reference, estimate, clean)]
    if not sides[0].counts[0].sum():
        raise AnnotationError(f"the reference has no {pedal} pedal, so there is nothing to explain")
    notes = [Annotation("notes", side.columns) for side in sides]
    columns = evidence_of_notes(notes[0], notes[1], _BY_NAME[measure.metric.name].measure(**measure.parameters))
    return {name: column for name, column in columns.items() if not name.endswith("_pitch")}


_PEDAL = Parameter("pedal", "sustain", choices=PEDALS, help="pedal to score")
_TAKEN = (
    *(f"{name}{suffix}" for suffix in ("_no_offset", "") for name in (*RATES, "average_overlap_ratio")),
    *(f"frame_{name}" for name in (*RATES, "accuracy")),
)
_LEFT = ("pitch_tolerance", "chroma")
"""Parameters of notes that do not apply to pedals."""


def _of_pedals(metric: Metric) -> Metric:
    what = "a pedal's onset and offset" if metric.name in (*RATES, "average_overlap_ratio") else "a pedal's onset"
    about: dict[str, Any] = {"title": metric.title.replace("onset, pitch, offset", "onset, offset")}
    about["title"] = about["title"].replace("onset, pitch", "onset")
    summary = metric.summary.replace("notes", "stretches").replace("note", "stretch")
    about["summary"] = summary.replace("onset, pitch, offset", what).replace("onset, pitch", what)
    if metric.name.startswith("frame_"):
        about["title"] = metric.title.replace("(frames)", "(time)")
        about["summary"] = summary.replace("pitches", "stretches").replace("over all time", "over all time of a pedal")
    return replace(
        metric,
        **about,
        pooling="micro",  # pairs whose reference does not use the pedal are left out
        surplus=False,
        weight=metric.weight.replace("notes", "stretches").replace("pitches", "pedals"),
        weight_unit=metric.weight_unit.replace("notes", "stretches"),
        parameters=(_PEDAL, *(parameter for parameter in metric.parameters if parameter.name not in _LEFT)),
        key="",
        aliases=(),
        default=True,
        perfect_exceptions="below 1 if close stretches are matched crosswise, and as in `frames=cut`",
        literature="@yan2021",
    )


_BY_NAME = {metric.name: metric for metric in MIREX2024.metrics}
METRICS = tuple(_of_pedals(_BY_NAME[name]) for name in _TAKEN)

TRANSKUN = Convention(
    "transkun",
    "Transkun: stretches are matched like notes; pedals that the reference does not use are not scored",
    METRICS,
    clean,
    partial(score_on_frames, score, "pedals", PEDALS_DOWN),
    GRIDS,
    tuple(name for name in _TAKEN if name.startswith("frame_")),
    explain=evidence,
    literature="@yan2021",
)


def find_errors(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> Edits:
    """Find the edits of the stretches of one pedal, as those of notes with a pitch for each pedal."""
    sides, own = [], []
    for rows in (reference, estimate):
        pedal = _pedals(rows)
        times = {name: rows.columns[name] for name in ("start", "end")}
        sides.append(Ragged({**times, "pitch": midi_to_hz(60.0 + 5 * pedal)}, rows.counts))
        own.append(pedal == PEDALS.index(str(measure["pedal"])))
    edits = NOTES.align(sides[0], sides[1], measure, exact)
    assert isinstance(edits, Edits)
    changed = {name: np.where(own[1], edits.changed[name], RIGHT) for name in ("start", "end")}
    inserted, removed = np.where(own[0], edits.inserted, RIGHT), np.where(own[1], edits.removed, RIGHT)
    return replace(edits, reference=reference, estimate=estimate, inserted=inserted, removed=removed, changed=changed)


TASK = Task(
    "pedal",
    "Piano pedals",
    by_name(TRANSKUN),
    ("f_measure", "f_measure_no_offset"),
    errors=ErrorBudget(OF_TIMES, find_errors),
)


_scores = PairFunctions(METRICS, partial(TRANSKUN.score_arrays, partial(clean_row, clean)))


def evaluate(
    ref_intervals: Array, ref_pedals: Sequence[str], est_intervals: Array, est_pedals: Sequence[str], **kwargs: Value
) -> OrderedDict[str, float]:
    """Compute all scores of one pedal.

    Parameters
    ----------
    ref_intervals, est_intervals : (n, 2) and (m, 2), seconds
        Start and end of each stretch.
    ref_pedals, est_pedals : sequence of str
        Pedal of each stretch, by name or controller.
    **kwargs
        ``pedal``, and other parameters of the metrics.

    Returns
    -------
    OrderedDict of str to float
        Scores by metric; NaN if the reference does not use the pedal.

    Raises
    ------
    ValueError
        For unknown pedals and invalid times.

    References
    ----------
    Yan, Cwitkowitz and Duan, Skipping the frame-level: event-based piano transcription with neural semi-CRFs, 2021.

    Examples
    --------
    >>> held = np.array([[0.0, 1.0], [2.0, 3.0]])
    >>> evaluate(held, ["sustain"] * 2, held[:1], ["64"])["recall"]
    0.5
    """
    return OrderedDict(_scores.every((ref_intervals, ref_pedals), (est_intervals, est_pedals), kwargs))


globals().update(_scores.functions("(intervals, pedals): (n, 2), seconds, and n names."))
