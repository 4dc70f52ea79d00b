"""Score following: the estimate reports the notes of a score while they are performed.

The reference is the onset of each note of the score in the performance, in seconds. mir_eval does not have this task.
`evaluate` scores one performance; `TASK` holds the metrics of whole datasets.

Conventions
-----------
* ``mirex2006`` (default): MIREX 2006: notes that are off by more than 2000 ms are misaligned.
* ``cont2007``: the example of the paper: notes that are off by more than 300 ms.
* ``asynchrony``: by default the shares of notes within 25, 50, 100 and 200 ms, the median asynchrony and missed notes.

Metrics
-------
* ``overall_precision``, ``piecewise_precision``: share of the notes that are aligned, over all notes and by piece.
* ``missed``, ``misaligned``, ``completion``: shares of missed and misaligned notes, and of the score that was followed.
* ``mean_offset``, ``mean_absolute_offset``, ``std_offset``: time of detection minus onset, in seconds.
* ``mean_error``, ``mean_absolute_error``, ``std_error``: estimated minus reference onset.
* ``mean_latency``, ``std_latency``: time of detection minus estimated onset.
* ``median_asynchrony``, under ``asynchrony``: median distance of the reported notes from their onsets.

References
----------
Cont, Schwarz, Schnell and Raphael, Evaluation of real-time audio-to-score alignment, ISMIR 2007; Peter, Online symbolic
music alignment with offline reinforcement learning, ISMIR 2023.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..annotations.annotation import Annotation, to_ragged
from ..annotations.schema import KINDS, LATEST
from ..annotations.validation import inspect
from ..errors import InvalidAnnotationError
from ..kernels.matching import nearest
from ..kernels.ragged_ops import medians, sum_by
from ..kernels.ratios import Scored, divide
from ..ragged import Column, Float, Int, Ragged, rows_of
from .base import Convention, Grid, Pairs, Scores, Shared, Task, by_name
from .cleaning import Cleaned, Problem, set_aside, usable, usable_pair
from .measures import Measure, Parameter, Weight, family, metric, metrics_in, select
from .pair import PairFunctions, documented

__all__ = ["TASK", "evaluate"]


def clean(rows: Ragged) -> Cleaned:
    """Find rows with invalid times; nothing is repaired or reordered because the first report of a note counts.

    Rows have the columns time, position (float64, seconds), detected (seconds) and pitch (MIDI), NaN if missing. Flaws
    are onsets that are negative, not finite or too large for seconds, positions and times of detection that are not
    finite or too large, and infinite pitches.
    """
    findings = inspect(KINDS["following"], rows)
    problems: list[Problem] = [(finding.items, partial(finding.describe, rows)) for finding in findings.values()]
    nothing = np.full(len(rows.columns["time"]), np.nan)
    columns: dict[str, Float] = {
        name: rows.columns.get(name, nothing) for name in ("time", "detected", "position", "pitch")
    }
    position, detected, pitch = columns["position"], columns["detected"], columns["pitch"]
    problems += [
        (~np.isfinite(position), lambda item: f"the position in the score is not finite: {position[item]}"),
        (np.abs(position) > LATEST, lambda item: f"the position in the score is not in seconds: {position[item]}"),
        (np.isinf(detected), lambda item: f"the time of detection is not finite: {detected[item]}"),
        (np.abs(detected) > LATEST, lambda item: f"the time of detection is not in seconds: {detected[item]}"),
        (np.isinf(pitch), lambda item: f"the pitch is not finite: {pitch[item]}"),
    ]
    return set_aside(Ragged(columns, rows.counts), problems)


_DIGITS = 9  # Resolution of comparisons with tolerances, as milliseconds in files have no exact values in seconds


@dataclass(frozen=True)
class Followed:
    """The reference notes of many pairs with their reports."""

    pair: Int  # int64 (notes,)
    counts: Int  # Notes of each pair: int64 (pairs,)
    time: Float
    position: Float
    pitch: Float
    """float64 (notes,): onset in the performance and in the score, in seconds; MIDI number, NaN if unknown."""
    report: Int  # int64 (notes,): index of the note's report; -1 if missed
    estimated: Float
    detected: Float
    """float64 (notes,): reported onset in the performance, and time of detection, in seconds; NaN if unknown."""
    unknown: Int  # Reports that match no note or one reported earlier: int64 (reports left over,)
    left_over: Int  # Number of these of each pair: int64 (pairs,)
    reports: Ragged  # All reports, concatenated


def follow(pairs: Pairs, tolerance: float) -> Followed:
    """Find the report of each note.

    A report belongs to the note of its pitch that is nearest in the score, within the tolerance in seconds; if a side
    has no pitches, to any such note. The first of several reports of a note counts. Several notes with equal pitch and
    position take one report each, in the order of the files.
    """
    notes, reports = pairs.lay_out()
    pair, other = rows_of(notes.counts[0]), rows_of(reports.counts[0])
    group, group_of_report = _groups(notes, reports, pair, other)
    groups = int(group.max(initial=-1)) + 1
    position = notes.columns["position"]
    order = np.lexsort((position, group))
    asked = np.flatnonzero(group_of_report >= 0)
    asked = asked[np.argsort(group_of_report[asked], kind="stable")]
    sizes = np.bincount(group, minlength=groups)
    queries = np.bincount(group_of_report[asked], minlength=groups)
    wanted = reports.columns["position"][asked]
    note = nearest(position[order], sizes, wanted, queries)
    near = np.round(np.abs(position[order][note] - wanted), _DIGITS) <= tolerance
    asked, note = asked[near], note[near]
    # Add to each note the number of earlier reports of the same one.
    by_note = np.argsort(note, kind="stable")
    index = np.empty_like(note)
    index[by_note] = note[by_note] + np.arange(len(note)) - np.searchsorted(note[by_note], note[by_note])
    inside = index < len(order)
    same = inside.copy()
    same[inside] = (group[order][index[inside]] == group[order][note[inside]]) & (
        position[order][index[inside]] == position[order][note[inside]]
    )
    report = np.full(len(order), -1, dtype=np.int64)
    report[order[index[same]]] = asked[same]
    left = np.ones(len(other), dtype=np.bool_)
    left[asked[same]] = False
    estimated, detected = (
        np.append(reports.columns[name], np.nan)[report]  # the last one, at -1, is for missed notes
        for name in ("time", "detected")
    )
    unknown = np.flatnonzero(left)
    left_over = np.bincount(other[unknown], minlength=len(notes)).astype(np.int64)
    found_of_notes = report, estimated, detected, unknown, left_over, reports
    return Followed(pair, notes.counts[0], notes.columns["time"], position, notes.columns["pitch"], *found_of_notes)


def _groups(notes: Ragged, reports: Ragged, pair: Int, other: Int) -> tuple[Int, Int]:
    """Number the pairs and pitches of notes and of reports, -1 if no note has them."""
    sides = [side.columns["pitch"] for side in (notes, reports)]
    pairs = len(notes)
    pitchless = np.zeros(pairs, dtype=np.bool_)
    for owner, pitch in zip((pair, other), sides, strict=True):
        pitchless |= np.bincount(owner, np.isnan(pitch), minlength=pairs) > 0
    own, reported = (np.where(pitchless[owner], 0.0, pitch) for owner, pitch in zip((pair, other), sides, strict=True))
    pitches = np.unique(own)
    keys = pair * max(len(pitches), 1) + np.searchsorted(pitches, own)
    distinct, group = np.unique(keys, return_inverse=True)
    if not len(distinct):
        return group, np.full(len(other), -1, dtype=np.int64)
    number = np.minimum(np.searchsorted(pitches, reported), len(pitches) - 1)
    key = np.where(pitches[number] == reported, other * len(pitches) + number, -1)
    index = np.minimum(np.searchsorted(distinct, key), len(distinct) - 1)
    return group, np.where(distinct[index] == key, index, -1)


class JudgedNotes:
    """The notes of many pairs as aligned, misaligned or missed.

    `threshold` is the largest distance of an aligned note in seconds, and `by` says whether it applies to the
    ``"estimated"`` onset or the time at which the note is ``"detected"``. Arrays have one element for each note:
    `error` is the estimated minus the true onset, `latency` the time of detection minus the estimated onset, and
    `offset` the time of detection minus the true onset, in seconds; NaN if missed or not given.
    """

    def __init__(self, notes: Followed, threshold: float, by: str) -> None:
        self.notes, self.reported = notes, notes.report >= 0
        self.error, self.latency = notes.estimated - notes.time, notes.detected - notes.estimated
        self.offset = notes.detected - notes.time
        self.distance = self.error if by == "estimated" else self.offset  # To which the threshold applies
        self.aligned = np.round(np.abs(self.distance), _DIGITS) <= threshold  # Reported within the threshold

    def mean(self, values: Float) -> tuple[Float, Float]:
        """Mean over the aligned notes of each pair that have a value, and their number."""
        chosen = self.aligned & ~np.isnan(values)
        pair, size = self.notes.pair[chosen], len(self.notes.counts)
        number = np.bincount(pair, minlength=size).astype(np.float64)
        return divide(sum_by(pair, values[chosen], size), number, np.nan), number


_NOTES = Weight("number of notes of the reference", "notes")
_BY = Parameter(
    "by", "estimated", choices=("estimated", "detected"), help="whether to judge estimated onsets or times of detection"
)
_TOLERANCE = Parameter("tolerance", 0.001, "s", least=0.0, help="largest difference of positions in the score")
_THRESHOLD = Parameter("threshold", 2.0, "s", least=0.0, help="largest distance of a correctly aligned note")
_INFINITE = float("inf")


_SHARE: dict[str, Any] = {"orientation": "lower", "perfect": 0.0}
_ALIGNED = "share of the notes that are reported close enough to their onset"


@family(
    {
        **dict.fromkeys(("overall_precision", "missed", "misaligned", "completion"), _NOTES),
        "piecewise_precision": Weight("1 for each piece", "pieces"),
    },
    {
        "overall_precision": {
            "title": "Overall precision",
            "summary": f"{_ALIGNED}, over all notes of the collection",
            "aliases": ("precision", "total_precision"),
            "standard_aggregate": "pooled",
        },
        "piecewise_precision": {
            "title": "Piecewise precision",
            "summary": f"{_ALIGNED}; every piece has the same weight",
            "pooling": "micro",
        },
        "missed": {
            "title": "Missed notes",
            "summary": "share of the notes that are not reported",
            "aliases": ("miss_rate", "missed_notes"),
            **_SHARE,
        },
        "misaligned": {
            "title": "Misaligned notes",
            "summary": "share of the notes that are reported too far from their onset",
            "aliases": ("misalign_rate", "misaligned_notes", "false_positives"),
            **_SHARE,
        },
        "completion": {
            "title": "Piece completion",
            "summary": "share of the notes up to the last one that is correctly aligned, after which the follower "
            "is lost",
            "aliases": ("piece_completion",),
            "pooling": "micro",
        },
    },
    parameters=(_THRESHOLD, _BY, _TOLERANCE),
    literature="@cont2007",
)
def _rates(what: str, judged: JudgedNotes, measure: Measure) -> Scored:
    """Share of some notes in each pair."""
    chosen, pair, position = judged.aligned, judged.notes.pair, judged.notes.position
    if what == "missed":
        chosen = ~judged.reported
    elif what == "misaligned":
        chosen = judged.reported & ~judged.aligned
    elif what == "completion":
        last = np.full(len(judged.notes.counts), -np.inf)
        np.maximum.at(last, pair[judged.aligned], position[judged.aligned])
        chosen = position <= last[pair]
    counts = judged.notes.counts.astype(np.float64)
    share = divide(np.bincount(pair[chosen], minlength=len(counts)), counts, np.nan)
    return share, (counts > 0).astype(np.float64) if what == "piecewise_precision" else counts


_STATISTICS = {
    "mean_offset": ("Mean offset", "mean time from an onset to its report"),
    "mean_absolute_offset": ("Mean absolute offset", "mean absolute time from an onset to its report"),
    "std_offset": ("Deviation of offset", "standard deviation of the time from an onset to its report"),
    "mean_error": ("Mean error", "mean of the estimated minus the true onset"),
    "mean_absolute_error": ("Mean absolute error", "mean absolute difference of the estimated and the true onset"),
    "std_error": ("Deviation of error", "standard deviation of the estimated minus the true onset"),
    "mean_latency": ("Mean latency", "mean time from an estimated onset to its report"),
    "std_latency": ("Deviation of latency", "standard deviation of the time from an estimated onset to its report"),
}


@family(
    Weight("number of correctly aligned notes", "notes"),
    {
        name: {
            "title": title,
            "summary": f"{summary}, over the correctly aligned notes",
            "aliases": ("imprecision",) if name == "mean_absolute_error" else (),
            "range": (-_INFINITE if name in ("mean_offset", "mean_error", "mean_latency") else 0.0, _INFINITE),
            "orientation": "none" if name in ("mean_offset", "mean_error") else "lower",
            "pooling": "none" if name.startswith("std") else "exact",
            "perfect_exceptions": "" if name.endswith("error") else "a note is reported after its onset",
        }
        for name, (title, summary) in _STATISTICS.items()
    },
    unit="s",
    perfect=0.0,
    parameters=(_THRESHOLD, _BY, _TOLERANCE),
    literature="@cont2007",
)
def _statistics(name: str, judged: JudgedNotes, measure: Measure) -> Scored:
    """Mean, mean absolute value or population standard deviation of a difference of times."""
    statistic, quantity = name.rsplit("_", 1)
    values: Float = getattr(judged, quantity)
    if statistic != "std":
        return judged.mean(values if statistic == "mean" else np.abs(values))
    mean, _ = judged.mean(values)
    variance, number = judged.mean((values - mean[judged.notes.pair]) ** 2)
    return np.sqrt(variance), number


@metric(
    "Median asynchrony",
    Weight("number of reported notes", "notes"),
    range=(0.0, _INFINITE),
    orientation="lower",
    unit="s",
    pooling="none",
    perfect=0.0,
    parameters=(_BY, _TOLERANCE),
    default=False,
    literature="@peter2023",
)
def _median_asynchrony(judged: JudgedNotes, measure: Measure) -> Scored:
    """Median distance between the estimated and the true onset, over all reported notes."""
    dated = judged.reported & ~np.isnan(judged.distance)
    counts = np.bincount(judged.notes.pair[dated], minlength=len(judged.notes.counts))
    return medians(np.abs(judged.distance[dated]), counts), counts.astype(np.float64)


METRICS = metrics_in(globals())


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score reports of followers.

    Rates are weighted by the notes of the reference, the piecewise precision by pieces, and statistics of correctly
    aligned notes by the number of these (NaN with weight 0 if there are none). Unmatched reports are counted in
    `repairs`.
    """
    values, unknown = np.zeros((2, len(pairs), len(measures))), np.zeros(len(pairs), dtype=np.int64)
    shared, refused = Shared(), dict[int, str]()
    for column, measure in enumerate(measures):
        tolerance, by = float(measure["tolerance"]), str(measure["by"])
        threshold = float(measure.parameters.get("threshold", np.inf))
        notes = shared.once(tolerance, partial(follow, pairs, tolerance))
        judged = shared.once((tolerance, threshold, by), partial(JudgedNotes, notes, threshold, by))
        values[:, :, column] = measure.read(judged)
        unknown = np.maximum(unknown, notes.left_over)
        if by == "detected":
            undated = np.unique(notes.pair[judged.reported & np.isnan(judged.offset)]).tolist()
            refused |= dict.fromkeys(undated, "a report has no time of detection; add it, or choose by=estimated")
    values[0, list(refused)] = np.nan
    return Scores(values[0], values[1], refused=refused, repairs=unknown)


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return the notes of the score and unmatched reports, for any measure.

    Columns, in order of time: ``reference``, ``estimate``, ``detected`` and ``position`` (seconds; NaN for none),
    ``pitch`` (MIDI number) and ``verdict``: ``aligned``, ``misaligned``, ``missed``, or ``extra`` for an unmatched
    report.
    """
    notes = follow(Pairs.in_order(*usable_pair(reference, estimate, clean)), float(measure["tolerance"]))
    judged = JudgedNotes(notes, float(measure.parameters.get("threshold", np.inf)), str(measure["by"]))
    verdict = np.where(judged.aligned, "aligned", np.where(judged.reported, "misaligned", "missed"))
    left = {name: column[notes.unknown] for name, column in notes.reports.columns.items()}
    nothing = np.full(len(notes.unknown), np.nan)
    columns = {
        "reference": np.concatenate([notes.time, nothing]),
        "estimate": np.concatenate([notes.estimated, left["time"]]),
        "detected": np.concatenate([notes.detected, left["detected"]]),
        "position": np.concatenate([notes.position, left["position"]]),
        "pitch": np.concatenate([notes.pitch, left["pitch"]]),
        "verdict": np.concatenate([verdict, np.full(len(nothing), "extra")]),
    }
    moment = np.where(np.isnan(columns["reference"]), columns["estimate"], columns["reference"])
    order = np.argsort(moment, kind="stable")
    return {name: column[order] for name, column in columns.items()}


MIREX2006 = Convention(
    "mirex2006",
    "MIREX 2006: notes that are off by more than 2000 ms are misaligned",
    METRICS,
    clean,
    score,
    explain=evidence,
    literature="@downie2010",
)
CONT2007 = replace(
    MIREX2006,
    name="cont2007",
    summary="Cont et al. 2007: notes that are off by more than 300 ms are misaligned",
    metrics=tuple(record.with_defaults(threshold=0.3) for record in METRICS),
    literature="@cont2007",
)
ASYNCHRONY = replace(
    MIREX2006,
    name="asynchrony",
    summary="shares of notes within 25, 50, 100 and 200 ms, the median asynchrony and missed notes",
    default_measures=select(("overall_precision@[0.025,0.05,0.1,0.2]", "median_asynchrony", "missed"), METRICS),
    literature="@peter2023",
)

TASK = Task("score_following", "Score following", by_name(MIREX2006, CONT2007, ASYNCHRONY), ("overall_precision",))


@documented(
    """
    Returns
    -------
    OrderedDict of str to float
        Scores by metric; statistics of aligned notes are NaN if there are none.

    References
    ----------
    Cont, Schwarz, Schnell and Raphael, Evaluation of real-time audio-to-score alignment, ISMIR 2007
    """,
    METRICS,
)
def evaluate(
    reference: npt.ArrayLike,
    estimate: npt.ArrayLike,
    *,
    threshold: float = 2.0,
    by: str = "estimated",
    tolerance: float = 0.001,
) -> OrderedDict[str, float]:
    """Score the reports of a follower for one performance.

    Parameters
    ----------
    reference : (notes, 3)
        Onset in the performance and in the score, in seconds, and MIDI number.
    estimate : (reports, 4)
        Estimated onset in the performance, time of detection and onset in the score, in seconds, and MIDI number. These
        are the columns of MIREX, but in seconds instead of milliseconds.

    Raises
    ------
    AnnotationError
        For arrays of wrong shape and times that are negative or not finite.
    MetricError
        For invalid parameters.

    Examples
    --------
    >>> found = evaluate([[0.0, 0.0, 60], [1.0, 0.5, 62]], [[0.25, 0.5, 0.0, 60]])
    >>> found["overall_precision"], found["missed"], found["mean_offset"], found["mean_latency"]
    (0.5, 0.5, 0.5, 0.25)
    """
    return OrderedDict(_scores.every(reference, estimate, {"threshold": threshold, "by": by, "tolerance": tolerance}))


def score_pair(reference: npt.ArrayLike, estimate: npt.ArrayLike, measures: Sequence[Measure]) -> Float:
    """Check one pair of arrays and score it."""
    sides = []
    for side, values in (("reference", reference), ("estimate", estimate)):
        names = ("time", *(("detected",) if side == "estimate" else ()), "position", "pitch")
        table = np.asarray(values, dtype=np.float64)
        if table.size == 0:
            table = table.reshape(0, len(names))
        if table.ndim != 2 or table.shape[1] != len(names):
            raise InvalidAnnotationError(
                f"{side}: expected the columns {', '.join(names)}, got an array of shape {table.shape}"
            )
        annotation = Annotation("following", {name: table[:, column] for column, name in enumerate(names)})
        sides.append(usable(annotation, clean(to_ragged([annotation])), side))
    try:
        return MIREX2006.score_pair(sides[0], sides[1], measures)
    except ValueError as error:
        raise InvalidAnnotationError(str(error)) from None


_scores = PairFunctions(METRICS, score_pair)
globals().update(_scores.functions("As for `evaluate`."))
