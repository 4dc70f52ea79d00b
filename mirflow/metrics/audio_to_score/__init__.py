"""Audio-to-score transcription: reference and estimate are notations, with notes in voices, meter, keys and chords.

`evaluate` scores one pair of texts in the format of MV2H; `TASK` holds the metrics of whole datasets, with
verdicts on notes and a warning of missing keys and chords.

Conventions
-----------
* ``mv2h`` (default): McLeod and Steedman 2018: the estimate uses the times of the recording.
* ``mv2h_unaligned``: McLeod 2019: scores are aligned first, as their tempi differ.
* ``mv2h_program``: the same, with the results of the program.

Metrics
-------
* ``multipitch``, ``voice``, ``meter``, ``value``, ``harmony``: notes, their voices, bars and beats, notated durations,
  keys and chords.
* ``mv2h``: the mean of the five.

References
----------
McLeod and Steedman, Evaluating automatic polyphonic music transcription, ISMIR 2018; McLeod, Evaluating non-aligned
musical score transcriptions with MV2H, arXiv:1906.00566, 2019.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...annotations.annotation import Annotation, to_ragged
from ...annotations.arrays import from_columns
from ...annotations.schema import KINDS, LATEST
from ...errors import InvalidAnnotationError
from ...ragged import Bool, Column, Float, Ragged
from ..base import Convention, Doubt, Grid, Pairs, Scores, Shared, Task, by_name, read_scores, refuse_unjudged
from ..cleaning import Cleaned, Problem, inspected, set_aside, usable, usable_pair
from ..measures import Measure, Parameter, Weight, family, metrics_in
from ..pair import PairFunctions
from .kernel import Judgement, Notation, Tolerances, judge, judge_unaligned, notations_of

__all__ = ["TASK", "evaluate"]


NUMBERS = ("time", "notated_start", "notated_end", "pitch", "voice")
"""The columns of notations; all except the time are only used for notes."""


def clean(rows: Ragged) -> Cleaned:
    """Find notations that cannot be scored; nothing is repaired, and the order of rows is irrelevant.

    Flaws are times that are not finite or too large for seconds, notes without pitch or voice or with reversed times,
    and rows whose label is not a note, tatum, meter, key or chord.
    """
    label = rows.columns["label"]
    texts = [*rows.labels, ""]
    nothing = np.full(len(label), np.nan)
    columns: dict[str, Column] = {name: rows.columns.get(name, nothing) for name in NUMBERS} | {"label": label}
    of_note = np.array([text == "note" for text in texts], dtype=np.bool_)[label]
    unknown = np.array([not _is_known(text) for text in texts], dtype=np.bool_)[label]
    _, problems, _ = inspected("sheet_music", rows)

    def missing(name: str) -> Problem:
        column = columns[name]
        what = name.replace("_", " ")
        return of_note & ~(np.abs(column) <= LATEST), lambda item: f"a note without a {what}: {column[item]}"

    problems += [(unknown, lambda item: f"neither note, tatum, meter, key nor chord: {texts[label[item]]!r}")]
    problems += [missing(name) for name in NUMBERS]
    start, end = columns["notated_start"], columns["notated_end"]
    with np.errstate(invalid="ignore"):
        reversed_: Bool = of_note & (end < start)
    problems.append((reversed_, lambda item: f"a note ends before it starts: {start[item]} to {end[item]} s"))
    return set_aside(Ragged(columns, rows.counts, rows.labels), problems)


def _is_known(label: str) -> bool:
    what, _, rest = label.partition(" ")
    words = rest.split()
    if what in ("note", "tatum"):
        return not words
    # Few enough digits for a plausible count.
    numbers = [int(word) for word in words if word.isascii() and word.isdigit() and len(word) < 7]
    if what == "meter":
        return len(words) == len(numbers) == 4 and all(numbers[:3])
    if what == "key":
        return len(words) == 2 and len(numbers) == 1 and numbers[0] < 12 and words[1] in ("major", "minor")
    return what == "chord" and bool(rest)


@dataclass(eq=False)
class NotationPairs(Shared):
    """The notations of both sides of pairs, compared on one time axis or after alignment."""

    reference: Sequence[Notation]
    estimate: Sequence[Notation]
    unaligned: bool = False
    as_program: bool = True

    def judged(self, measure: Measure) -> Sequence[Judgement]:
        """The five scores of each pair."""
        parameters, sides = measure.parameters, list(zip(self.reference, self.estimate, strict=True))
        within = Tolerances(
            *(round(1000 * float(parameters[f"{name}_tolerance"])) for name in ("onset", "value", "grouping"))
        )
        if not self.unaligned:
            return self.once(within, lambda: [judge(*pair, within) for pair in sides])
        penalty, most = float(parameters["penalty"]), int(parameters["alignments"])
        return self.once(
            (within, penalty, most),
            lambda: [judge_unaligned(*pair, within, penalty, most, self.as_program) for pair in sides],
        )


_TOLERANCES = tuple(
    Parameter(f"{name}_tolerance", default, "s", least=0.0, help=f"largest difference of {what}")
    for name, default, what in (
        ("onset", 0.05, "onsets"),
        ("value", 0.1, "notated durations"),
        ("grouping", 0.05, "both ends of bars, beats and sub-beats"),
    )
)
_ALIGNMENT = (
    Parameter("penalty", 1.0, least=0.0, help="cost of a time at which only one side notates notes"),
    Parameter("alignments", 100, least=1, help="largest number of equally good alignments to try"),
)
_MEMBERS: dict[str, dict[str, Any]] = {
    "multipitch": {
        "title": "Multi-pitch",
        "summary": "harmonic mean of precision and recall of the notes, of equal pitch and near onsets",
        "aliases": ("Multi-pitch",),
        "itemwise": True,
        "perfect_exceptions": "0 without notes",
    },
    "voice": {
        "title": "Voice",
        "summary": "harmonic mean of precision and recall of the links from matched notes to those that follow in "
        "their voice",
        "perfect_exceptions": "0 without two notes of a voice in succession",
    },
    "meter": {
        "title": "Meter",
        "summary": "harmonic mean of precision and recall of the bars, beats and sub-beats, both ends of which must be "
        "close",
        "perfect_exceptions": "0 without a whole sub-beat",
    },
    "value": {
        "title": "Value",
        "summary": "mean score of the notated durations, over matched notes that are correctly linked in their voice",
        "perfect_exceptions": "0 without notes",
    },
    "harmony": {
        "title": "Harmony",
        "summary": "mean of the score of keys, with credit for related ones, and of the time share of equal chords",
        "perfect_exceptions": "0 without keys and chords",
    },
    "mv2h": {
        "title": "MV2H",
        "summary": "mean of the scores of multi-pitch, voice, meter, value and harmony",
        "perfect_exceptions": "less if one of the five scores is 0",
    },
}


@family(
    Weight("number of tracks with a reference", "tracks"),
    _MEMBERS,
    pooling="micro",
    parameters=_TOLERANCES,
    literature="@mcleod2018; @mcleod2019",
)
def _scores(name: str, pairs: NotationPairs, measure: Measure) -> tuple[Float, Float]:
    values = np.array([getattr(one, name) for one in pairs.judged(measure)], dtype=np.float64)
    return values, np.array([bool(one.notes or one.tatums) for one in pairs.reference], dtype=np.float64)


METRICS = metrics_in(globals())


def score(
    pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union", *, unaligned: bool = False, as_program: bool = True
) -> Scores:
    """Score pairs of notations; a `Scorer` once the last two arguments are bound.

    Source: A. McLeod and M. Steedman, "Evaluating automatic polyphonic music transcription", ISMIR 2018.
    """
    sides = []
    for rows, row in pairs.sides:
        used, index = np.unique(row, return_inverse=True)
        notations = notations_of(rows.take(used))
        sides.append([notations[number] for number in index.tolist()])
    return read_scores(measures, NotationPairs(sides[0], sides[1], unaligned, as_program), len(pairs))


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return the notes of both sides with their verdicts: an `Explainer` for `multipitch` on one time axis.

    Columns, in order of time: ``reference`` and ``estimate`` (onsets in seconds; NaN if not matched), ``pitch`` (MIDI
    number) and ``verdict``: ``hit``, ``missed`` or ``extra``.
    """
    refuse_unjudged(measure, METRICS, "notes")
    left, right = (notations_of(rows)[0] for rows in usable_pair(reference, estimate, clean))
    judged = NotationPairs([left], [right]).judged(measure)[0]
    rows: list[tuple[float, float, float, str]] = []
    for index, number in judged.matches:
        rows.append((left.notes[index].onset, right.notes[number].onset, left.notes[index].pitch, "hit"))
    matched, taken = ({pair[side] for pair in judged.matches} for side in (0, 1))
    nothing = float("nan")
    rows += [(n.onset, nothing, n.pitch, "missed") for index, n in enumerate(left.notes) if index not in matched]
    rows += [(nothing, n.onset, n.pitch, "extra") for index, n in enumerate(right.notes) if index not in taken]
    rows.sort(key=lambda row: row[1] if np.isnan(row[0]) else row[0])
    columns = {
        name: np.array([row[index] for row in rows], dtype=np.float64)
        for index, name in enumerate(("reference", "estimate", "pitch"))
    }
    columns["reference"] /= 1000
    columns["estimate"] /= 1000
    return {**columns, "verdict": np.array([row[3] for row in rows], dtype=np.str_)}


def doubt_harmony(measures: Sequence[Measure], reference: Annotation, estimate: Annotation) -> str:
    """Report a side without keys and chords, for which harmony is 0 and MV2H at most 0.8."""
    if not any(measure.metric.name in ("harmony", "mv2h") for measure in measures):
        return ""
    wanted, given = (
        {what for what in ("key", "chord") if any(label.startswith(f"{what} ") for label in side.labels or ())}
        for side in (reference, estimate)
    )
    if wanted & given:
        return ""
    if len(wanted) == 1:
        lack = f"the estimate has no {min(wanted)}s, the only harmony of the reference"
    else:
        whose = "estimate" if wanted else "reference"
        lack = f"the {whose} has neither keys nor chords, as MIDI files without key signatures"
    return f"{lack}: harmony is 0, and mv2h at most 0.8"


_DOUBTS = (
    Doubt(
        "harmony",
        "a written score has no keys or chords that the other side has, or neither side has any, and harmony is scored",
        of_pair=doubt_harmony,
    ),
)
MV2H = Convention(
    "mv2h",
    "McLeod and Steedman 2018: the estimate uses the times of the recording",
    METRICS,
    clean,
    score,
    explain=evidence,
    doubts=_DOUBTS,
    literature="@mcleod2018",
)
_SCORE_TO_SCORE = tuple(
    replace(record, parameters=(*record.parameters, *_ALIGNMENT), itemwise=False).with_defaults(
        onset_tolerance=0.0, value_tolerance=0.02, grouping_tolerance=0.02
    )
    for record in METRICS
)
UNALIGNED = Convention(
    "mv2h_unaligned",
    "McLeod 2019: scores are compared on the time axis of the reference after the best alignment",
    _SCORE_TO_SCORE,
    clean,
    partial(score, unaligned=True, as_program=False),
    doubts=_DOUBTS,
    literature="@mcleod2018; @mcleod2019",
)
PROGRAM = replace(
    UNALIGNED,
    name="mv2h_program",
    summary="the same as MV2H 2.2 computes it: groupings count twice, and the order of alignments matters",
    metrics=tuple(
        replace(record, perfect=None, perfect_exceptions="") if record.name in ("meter", "mv2h") else record
        for record in _SCORE_TO_SCORE
    ),
    score=partial(score, unaligned=True, as_program=True),
    literature="@mcleod2018; @mcleod2019",
)

TASK = Task("audio_to_score", "Audio-to-score transcription", by_name(MV2H, UNALIGNED, PROGRAM), ("mv2h",))


def row_of(side: str, columns: Mapping[str, Any]) -> Ragged:
    """Make a clean row of the columns of a notation."""
    try:
        annotation = from_columns(KINDS["sheet_music"], columns)
    except InvalidAnnotationError as error:
        raise InvalidAnnotationError(f"{side}: {error}") from None
    return usable(annotation, clean(to_ragged([annotation])), side)


_functions = PairFunctions(METRICS, partial(MV2H.score_arrays, row_of))
FUNCTIONS = _functions.functions("As for `evaluate`.")  # Functions of one pair, by metric


def evaluate(
    reference: Mapping[str, Any],
    estimate: Mapping[str, Any],
    *,
    onset_tolerance: float = 0.05,
    value_tolerance: float = 0.1,
    grouping_tolerance: float = 0.05,
) -> OrderedDict[str, float]:
    """Score one transcription that uses the times of its reference.

    Parameters
    ----------
    reference, estimate : mapping of str to array or sequence
        ``time`` (float64 (n,), seconds; of notes the performed onset), ``notated_start``, ``notated_end`` (float64
        (n,), seconds), ``pitch`` (float64 (n,), MIDI numbers) and ``voice`` (float64 (n,)), NaN in rows that are not
        notes; ``label``: n strings: ``note``, ``tatum``, ``meter 3 2 4 0`` (beats per bar, sub-beats per beat, tatums
        per sub-beat, tatums of the pickup), ``key 7 major`` (semitones above C) or ``chord G:maj``.
    onset_tolerance, value_tolerance, grouping_tolerance : float, seconds
        Largest differences of onsets, notated durations, and both ends of bars, beats and sub-beats.

    Returns
    -------
    OrderedDict of str to float
        Scores by metric.

    Raises
    ------
    InvalidAnnotationError
        For columns of different lengths, unknown labels, and notes with missing numbers.
    MetricError
        For a negative tolerance.

    References
    ----------
    A. McLeod and M. Steedman, "Evaluating automatic polyphonic music transcription", ISMIR 2018.

    Examples
    --------
    >>> one = {"time": [0.0, 1.0], "notated_start": [0.0, 1.0], "notated_end": [1.0, 2.0], "pitch": [60, 62],
    ...        "voice": [0, 0], "label": ["note", "note"]}
    >>> found = evaluate(one, {**one, "pitch": [60, 64]})
    >>> found["multipitch"], round(found["mv2h"], 3)
    (0.5, 0.1)
    """
    tolerances = {
        "onset_tolerance": onset_tolerance,
        "value_tolerance": value_tolerance,
        "grouping_tolerance": grouping_tolerance,
    }
    return OrderedDict(_functions.every(reference, estimate, tolerances))


globals().update(FUNCTIONS)
