"""Discovery of repeated patterns: reference and estimate are sets of patterns with their occurrences.

An occurrence is a set of notes with onsets in quarter notes and MIDI pitches. The functions are those
of ``mir_eval.pattern``, with the same arguments, results and errors; `TASK` holds the metrics of whole datasets.

Conventions
-----------
* ``mir_eval`` (default and only one): mir_eval 0.8.2 and the MIREX task, with occurrence metrics at 0.5 and 0.75.

Metrics
-------
* ``precision``, ``recall``, ``f_measure`` (`standard_FPR`): prototypes found exactly, or shifted.
* ``establishment_precision``, ``establishment_recall``, ``establishment_f_measure`` (`establishment_FPR`): patterns
  with at least one found occurrence.
* ``occurrence_precision``, ``occurrence_recall``, ``occurrence_f_measure`` (`occurrence_FPR`): found occurrences of
  established patterns.
* ``three_layer_precision``, ``three_layer_recall``, ``three_layer_f_measure`` (`three_layer_FPR`): both combined.
* ``first_n_three_layer_precision`` (`first_n_three_layer_P`) and ``first_n_target_proportion_recall``
  (`first_n_target_proportion_R`): scores of the first five estimated patterns.

References
----------
Collins, Discovery of repeated themes and sections, MIREX 2013 and 2014; Meredith, COSIATEC and SIATECCompress, MIREX
2013.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.schema import LATEST
from ..errors import AnnotationError, MetricError, refuse_unknown, warn_caller
from ..kernels import ratios
from ..kernels.intervals import rank
from ..kernels.ragged_ops import common
from ..kernels.ratios import divide, harmonic_mean
from ..ragged import Column, Float, Int, Ragged, offsets_of, row_of_items, rows_of
from .base import Convention, Grid, Pairs, Scores, Shared, Task, by_name, computed_once
from .cleaning import Cleaned, empty_rows, set_aside, usable_pair
from .measures import Family, Measure, Parameter, Weight, family, metric, select
from .pair import PairFunctions, documented
from .util import BOUNDED, are_times

__all__ = ["TASK", "establishment_FPR", "evaluate", "first_n_target_proportion_R", "first_n_three_layer_P"]
__all__ += ["occurrence_FPR", "standard_FPR", "three_layer_FPR", "validate"]


@dataclass(frozen=True, slots=True)
class TrackPatterns:
    """The patterns of one track."""

    onset: Float
    pitch: Float  # float64 (notes,)
    note: Int  # Number of each distinct onset and pitch in the batch: int64 (notes,)
    occurrences: Int  # int64 (patterns,): number of occurrences of each pattern; at least one
    notes: Int  # Number of notes of each occurrence: int64 (occurrences,)


Fraction = tuple[float, float]  # A score and its weight


@dataclass(eq=False)
class PatternComparison(Shared):
    """Results for a pair, computed on first use. `standard` etc. are precision and recall, each with its weight."""

    reference: TrackPatterns
    estimate: TrackPatterns

    def both(self, kind: str, measure: Measure) -> tuple[Fraction, Fraction]:
        """Precision and recall of a kind; 0 if one side has no notes, but weighted by the patterns of the other."""
        count = int(measure["n"]) if "n" in measure.parameters else None  # of estimated patterns; None: all
        if len(self.reference.note) and len(self.estimate.note):
            if kind == "standard":
                compute = partial(self.standard, measure)
            elif kind == "occurrence":
                compute = partial(self.occurrence, measure)
            else:
                compute = partial(self.nearest, kind, count)
            return self.once((kind, measure.values), compute)
        if kind == "occurrence":
            return (0.0, 0.0), (0.0, 0.0)
        considered = self.estimate.occurrences[:count]
        return (0.0, float(len(considered))), (0.0, float(len(self.reference.occurrences)))

    @computed_once
    def layer(self, by_notes: bool) -> Layer:
        """Compare patterns by the occurrences of both sides.

        The likeness of occurrences is their common notes over those of the longer one; `by_notes`: the F-measure of
        the notes.
        """
        reference, estimate = self.reference, self.estimate
        arguments = reference.note, reference.notes, estimate.note, estimate.notes
        shared = self.once("common", partial(common, *arguments))
        size, other_size = reference.notes[:, None].astype(np.float64), estimate.notes.astype(np.float64)
        if by_notes:
            likeness = harmonic_mean(divide(shared, size), divide(shared, other_size))
        else:
            likeness = divide(shared, np.maximum(size, other_size))
        rows, columns = offsets_of(reference.occurrences)[:-1], offsets_of(estimate.occurrences)[:-1]
        best_row = np.maximum.reduceat(likeness, rows, axis=0)
        by_estimate = np.add.reduceat(best_row, columns, axis=1) / estimate.occurrences
        best_column = np.maximum.reduceat(likeness, columns, axis=1)
        by_reference = np.add.reduceat(best_column, rows, axis=0) / reference.occurrences[:, None]
        return Layer(np.maximum.reduceat(best_row, columns, axis=1), by_estimate, by_reference)

    def standard(self, measure: Measure) -> tuple[Fraction, Fraction]:
        """Shares of patterns whose prototype equals one of the other side after a shift in time and pitch."""
        tolerance = float(measure["tol"])
        sides: list[list[Float]] = []
        for patterns in (self.reference, self.estimate):
            # The first occurrence of a pattern is its prototype.
            first = offsets_of(patterns.occurrences)[:-1]
            start, size = offsets_of(patterns.notes)[first].tolist(), patterns.notes[first].tolist()
            notes = np.column_stack([patterns.onset, patterns.pitch])
            sides.append([notes[low : low + count] for low, count in zip(start, size, strict=True)])
        number = 0
        for prototype in sides[0]:
            others = [other for other in sides[1] if len(other) == len(prototype)]
            if others and len(prototype) > 1:
                change = np.abs(np.diff(prototype - np.stack(others), axis=1))
                number += bool((change.max(axis=(1, 2)) < tolerance).any())
            else:
                number += bool(others) and len(prototype) == 1
        references, estimates = len(sides[0]), len(sides[1])
        return (number / estimates, float(estimates)), (number / references, float(references))

    def nearest(self, kind: str, count: int | None) -> tuple[Fraction, Fraction]:
        """Likeness of the most similar pattern of the other side, averaged over estimated and over reference patterns.

        It is that of the most similar occurrences, or the F-measure over occurrences and their notes. `count`: number
        of estimated patterns to use; None: all.
        """
        layer = self.layer(kind == "three_layer")
        likeness = harmonic_mean(layer.by_estimate, layer.by_reference) if kind == "three_layer" else layer.best
        likeness = likeness[:, :count]
        references, estimates = likeness.shape
        if not estimates:
            return (0.0, 0.0), (0.0, float(references))
        best, best_opposite = likeness.max(axis=0), likeness.max(axis=1)
        return (float(np.mean(best)), float(estimates)), (float(np.mean(best_opposite)), float(references))

    def occurrence(self, measure: Measure) -> tuple[Fraction, Fraction]:
        """Means over pairs of sufficiently similar patterns; a pattern counts once per similar pattern."""
        layer = self.layer(False)
        alike = layer.best >= float(measure["thres"])
        pairs = float(alike.sum())
        if not pairs:
            return (0.0, 0.0), (0.0, 0.0)
        by_estimate = np.where(alike, layer.by_estimate, 0.0).max(axis=0)
        by_reference = np.where(alike, layer.by_reference, 0.0).max(axis=1)
        precision = (by_estimate * alike.sum(axis=0)).sum() / pairs
        recall = (by_reference * alike.sum(axis=1)).sum() / pairs
        return (float(precision), pairs), (float(recall), pairs)


class Layer(NamedTuple):
    """Comparison of each pair of patterns by their occurrences: float64 (reference patterns, estimated ones) each."""

    best: Float  # Likeness of the most similar occurrences
    by_estimate: Float
    by_reference: Float  # Greatest likeness of each occurrence of that side's pattern, averaged over its occurrences


def compare(pairs: Pairs) -> Iterator[PatternComparison]:
    """Compare the patterns of pairs of clean rows."""
    sides = pairs.references, pairs.estimates
    onsets, pitches = (rank(*(rows.columns[name] for rows in sides))[1] for name in ("onset", "pitch"))
    size = max(int(pitch.max(initial=0)) for pitch in pitches) + 1
    offsets = [[offsets_of(counts) for counts in rows.counts] for rows in sides]
    for chosen in zip(pairs.reference_row.tolist(), pairs.estimate_row.tolist(), strict=True):
        tracks = []
        for rows, onset, pitch, levels, row in zip(sides, onsets, pitches, offsets, chosen, strict=True):
            low, high = row, row + 1
            bounds = []
            for level in levels:
                low, high = int(level[low]), int(level[high])
                bounds.append(slice(low, high))
            patterns, occurrences, notes = bounds
            note = onset[notes] * size + pitch[notes]
            times, midi = rows.columns["onset"][notes], rows.columns["pitch"][notes]
            tracks.append(TrackPatterns(times, midi, note, rows.counts[1][patterns], rows.counts[2][occurrences]))
        yield PatternComparison(*tracks)


def clean(rows: Ragged) -> Cleaned:
    """Clean rows of patterns.

    Occurrences without notes are dropped and counted; a row without notes is empty. Flaws are onsets and pitches that
    are not finite, and patterns without notes in rows with notes.
    """
    patterns, occurrences, notes = rows.counts
    filled = notes > 0
    owner = rows_of(occurrences)
    counts = np.bincount(owner[filled], minlength=len(occurrences)).astype(np.int64)
    repairs = np.bincount(rows_of(patterns)[owner[~filled]], minlength=len(rows)).astype(np.int64)
    mended = Ragged(rows.columns, (patterns, counts, notes[filled]), rows.labels, rows.depths)
    mended = empty_rows(mended, np.bincount(row_of_items(mended), minlength=len(rows)) == 0)
    onset, pitch = mended.columns["onset"], mended.columns["pitch"]
    # The first pattern without occurrences, by the index of the note that follows it.
    first_note, first_pattern = offsets_of(mended.counts[2])[offsets_of(mended.counts[1])], mended.offsets
    hollow: dict[int, int] = {}
    for pattern in np.flatnonzero(mended.counts[1] == 0).tolist():
        row = int(np.searchsorted(first_pattern, pattern, side="right")) - 1
        last_note = int(first_note[first_pattern[row + 1]]) - 1
        hollow.setdefault(min(int(first_note[pattern]), last_note), pattern - int(first_pattern[row]) + 1)
    beside_hollow = np.zeros(len(onset), dtype=np.bool_)
    beside_hollow[list(hollow)] = True
    impossible = ~((np.abs(onset) <= LATEST) & (np.abs(pitch) <= LATEST))
    problems = (
        (impossible, lambda item: f"onset and pitch of a note {BOUNDED}: {onset[item]}, {pitch[item]}"),
        (beside_hollow, lambda item: f"pattern {hollow[item]} has no notes"),
    )
    cleaned = set_aside(mended, problems)
    repairs[list(cleaned.flaws)] = 0
    return Cleaned(cleaned.rows, repairs, cleaned.flaws)


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score pairs as mir_eval does; all scores are 0 if either side has no notes."""
    values = np.zeros((2, len(pairs), len(measures)))
    for number, pair in enumerate(compare(pairs)):
        for column, measure in enumerate(measures):
            values[:, number, column] = measure.read(pair)
    return Scores(values[0], values[1])


def _read(kind: str, name: str, pair: PatternComparison, measure: Measure) -> Fraction:
    precision, recall = pair.both(kind, measure)
    if name != "f_measure":
        return precision if name == "precision" else recall
    score, weight = ratios.f_measure(precision, recall)
    return float(score), float(weight)


_SHIFTS = "tolerance of shifts in quarter notes or MIDI numbers"
_TOLERANCE = Parameter("tol", 1e-5, help=_SHIFTS, least=0.0, mir_eval="tol")
_THRESHOLD = Parameter("thres", 0.75, help="smallest likeness of occurrences of counted patterns", least=0.0)
_FIRST = Parameter("n", 5, "patterns", help="number of estimated patterns to use, in order", least=1, mir_eval="n")
_REFERENCES = Weight("number of reference patterns", "patterns")
_WEIGHTS = {
    "f_measure": Weight("half the number of all patterns", "patterns"),
    "precision": Weight("number of estimated patterns", "patterns"),
    "recall": _REFERENCES,
}
_ALIKE = Weight("number of pairs of a reference pattern and a sufficiently similar estimated one", "pairs of patterns")
_TWICE = "below 1 if an occurrence contains a note twice"
_COMMON: dict[str, Any] = {"pooling": "micro", "perfect_exceptions": _TWICE, "literature": "@collins2014"}


def _of_kind(
    kind: str,
    suffix: str,
    precision: str,
    recall: str,
    weights: Mapping[str, Weight] = _WEIGHTS,
    most: tuple[float, float, float] = (1.0, 1.0, 1.0),
    **common: Any,
) -> Family:
    """F-measure, precision and recall of one kind, by the suffix of mir_eval's keys and two summaries."""
    summaries = "harmonic mean of precision and recall", precision, recall
    members = {
        name: {
            "name": name if kind == "standard" else f"{kind}_{name}",
            "title": f"{kind.capitalize().replace('_', '-')} {name.replace('f_m', 'F-m')}",
            "summary": summary,
            "key": f"{name[0].upper()}{suffix}",
            "range": (0.0, largest),
        }
        for name, summary, largest in zip(_WEIGHTS, summaries, most, strict=True)
    }
    return family(weights, members, **{**_COMMON, "mir_eval": f"{kind}_FPR", **common})(partial(_read, kind))


_LAYERS = "largest F-measure over occurrences and their notes, averaged over {} patterns"
METRICS = (
    *_of_kind(
        "standard",
        "",
        "reference patterns whose prototype, shifted at most, is an estimated one; over estimated patterns: above "
        "1 where an estimated pattern is several of the reference",
        "the same over reference patterns",
        parameters=(_TOLERANCE,),
        perfect_exceptions="",
        most=(2.0, float("inf"), 1.0),  # reference patterns are what is counted, so that only recall is a share
    ),
    *_of_kind(
        "establishment",
        "_est",
        "largest likeness of an occurrence to one of the reference, averaged over estimated patterns",
        "largest likeness of an occurrence to one of the estimate, averaged over reference patterns",
    ),
    *_of_kind(
        "occurrence",
        "_occ.75",
        "likeness of estimated occurrences of established patterns to those of the reference",
        "likeness of reference occurrences of established patterns to those of the estimate",
        dict.fromkeys(_WEIGHTS, _ALIKE),
        parameters=(_THRESHOLD,),
        perfect_exceptions="below 1, or 0, if an occurrence contains a note twice; 0 for a threshold above 1",
    ),
    *_of_kind(
        "three_layer", "_3", _LAYERS.format("estimated"), _LAYERS.format("reference"), literature="@meredith2013"
    ),
    metric(
        "First-n three-layer precision",
        Weight("number of estimated patterns considered", "patterns"),
        name="first_n_three_layer_precision",
        summary="three-layer precision of the first n estimated patterns",
        key="FFP",
        mir_eval="first_n_three_layer_P",
        **(_COMMON | {"parameters": (_FIRST,)}),
    )(partial(_read, "three_layer", "precision")),
    metric(
        "First-n target proportion recall",
        _REFERENCES,
        name="first_n_target_proportion_recall",
        summary="establishment recall of the first n estimated patterns",
        key="FFTP_est",
        mir_eval="first_n_target_proportion_R",
        **(_COMMON | {"parameters": (_FIRST,), "perfect_exceptions": f"below 1 with more than n patterns; {_TWICE}"}),
    )(partial(_read, "establishment", "recall")),
)


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return each estimated pattern with the most similar reference pattern: an `Explainer`.

    Columns are ``reference`` and ``estimate``: numbers of the patterns from 1, NaN for none; ``likeness``: that of the
    two most similar occurrences; and ``verdict``: ``hit`` if it reaches the threshold of the measure, else ``extra``.
    Reference patterns without such an estimate follow as ``missed``, with their greatest likeness.
    """
    if _THRESHOLD.name not in measure.parameters:
        raise MetricError(f"metric {measure} does not match patterns; the occurrence metrics do")
    sides = usable_pair(reference, estimate, clean)
    (pair,) = compare(Pairs.in_order(*sides))
    for side, patterns in (("reference", pair.reference), ("estimate", pair.estimate)):
        if not len(patterns.note):
            raise AnnotationError(f"the {side} has no patterns, so there is nothing to explain")
    likeness = pair.layer(False).best
    least = float(measure[_THRESHOLD.name])
    best = likeness.max(axis=0)
    missed = np.flatnonzero(likeness.max(axis=1) < least)
    return {
        "reference": np.concatenate([np.where(best >= least, likeness.argmax(axis=0) + 1.0, np.nan), missed + 1.0]),
        "estimate": np.concatenate([np.arange(len(best)) + 1.0, np.full(len(missed), np.nan)]),
        "likeness": np.concatenate([best, likeness.max(axis=1)[missed]]),
        "verdict": np.concatenate([np.where(best >= least, "hit", "extra"), np.full(len(missed), "missed")]),
    }


_EVALUATED = (
    *("f_measure", "precision", "recall"),
    *("establishment_f_measure", "establishment_precision", "establishment_recall"),
    *("occurrence_f_measure@0.5", "occurrence_precision@0.5", "occurrence_recall@0.5"),
    *("occurrence_f_measure", "occurrence_precision", "occurrence_recall"),
    *("three_layer_f_measure", "three_layer_precision", "three_layer_recall"),
    *("first_n_three_layer_precision", "first_n_target_proportion_recall"),
)
"""Scores of mir_eval's evaluate, in order."""

MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2 and the MIREX task, with the occurrence metrics at both thresholds",
    METRICS,
    clean,
    score,
    default_measures=select(_EVALUATED, METRICS),
    explain=evidence,
    literature="@raffel2014",
)

TASK = Task(
    "pattern",
    "Discovery of repeated patterns",
    by_name(MIR_EVAL),
    ("three_layer_f_measure", "establishment_f_measure", "f_measure"),
)


Patterns = Sequence[Sequence[Sequence[Any]]]
"""Patterns of occurrences of notes, which are pairs of onset (quarter notes) and pitch (MIDI)."""

_CARDINALITY = "cardinality_score"
_KEYS = (
    *("F", "P", "R", "F_est", "P_est", "R_est", "F_occ.5", "P_occ.5", "R_occ.5"),
    *("F_occ.75", "P_occ.75", "R_occ.75", "F_3", "P_3", "R_3", "FFP", "FFTP_est"),
)

_documented = documented(
    """
    Parameters
    ----------
    reference_patterns, estimated_patterns : sequence of sequences of sequences of (onset, pitch)
        Patterns of occurrences of notes; the first occurrence of a pattern is its prototype.
    ref_patterns, est_patterns : sequence of sequences of sequences of (onset, pitch)
        Patterns of occurrences of notes; the first occurrence of a pattern is its prototype.
    similarity_metric : str
        Only ``cardinality_score``: common notes over those of the longer occurrence.

    Raises
    ------
    ValueError
        If a pattern has no occurrences, a note is not a pair of finite numbers, or for another similarity.

    Warns
    -----
    MirflowWarning
        For each side without notes; scores are then 0.
    """,
    METRICS,
)


def _rows(reference: Patterns, estimate: Patterns) -> tuple[Ragged, Ragged]:
    """Check both sides and make rows of them."""
    for side, patterns in (("Reference", reference), ("Estimated", estimate)):
        if not any(len(occurrence) for pattern in patterns for occurrence in pattern):
            warn_caller(f"{side} patterns are empty.")
    rows = []
    for patterns in (reference, estimate):
        if not all(len(pattern) for pattern in patterns):
            raise ValueError("Each pattern must contain at least one occurrence.")
        occurrences = [occurrence for pattern in patterns for occurrence in pattern]
        notes = [note for occurrence in occurrences for note in occurrence]
        if set(map(len, notes)) - {2}:
            raise ValueError("The (onset, midi) tuple must contain exactly 2 elements.")
        flat = np.array(notes, dtype=np.float64).reshape(-1, 2)
        if not are_times(flat):
            raise ValueError(f"Onsets and pitches {BOUNDED}")
        sizes = [len(patterns)], list(map(len, patterns)), list(map(len, occurrences))
        counts = tuple(np.array(size, dtype=np.int64) for size in sizes)
        rows.append(Ragged({"onset": flat[:, 0], "pitch": flat[:, 1]}, counts))
    return rows[0], rows[1]


_scores = PairFunctions(
    METRICS, lambda reference, estimate, measures: MIR_EVAL.score_pair(*_rows(reference, estimate), measures)
)


def _refuse_similarity(name: str) -> None:
    if name != _CARDINALITY:
        raise ValueError(f"The similarity metric can only be: {_CARDINALITY!r}.")


@_documented
def validate(reference_patterns: Patterns, estimated_patterns: Patterns) -> None:
    """Check two sets of patterns before they are compared.

    Examples
    --------
    >>> validate([[[(0.0, 60.0), (1.0, 62.0)]]], [[[(0.0, 60.0)]]])
    """
    _rows(reference_patterns, estimated_patterns)


@_documented
def standard_FPR(
    reference_patterns: Patterns, estimated_patterns: Patterns, tol: float = 1e-5
) -> tuple[float, float, float]:
    """F-measure, precision and recall of prototypes found exactly or shifted in time and pitch.

    Returns
    -------
    f_measure, precision, recall : float

    Examples
    --------
    >>> standard_FPR([[[(0, 60), (1, 62)]]], [[[(4, 55), (5, 57)]], [[(0, 60), (2, 62)]]])
    (0.6666666666666666, 0.5, 1.0)
    """
    f_measure, precision, recall = _scores("standard_FPR", reference_patterns, estimated_patterns, tol=tol)
    return f_measure, precision, recall


@_documented
def establishment_FPR(
    reference_patterns: Patterns, estimated_patterns: Patterns, similarity_metric: str = "cardinality_score"
) -> tuple[float, float, float]:
    """F-measure, precision and recall from the most similar occurrences of patterns.

    Returns
    -------
    f_measure, precision, recall : float

    Examples
    --------
    >>> establishment_FPR([[[(0, 60), (1, 62)]]], [[[(0, 60), (1, 62)]], [[(0, 60), (2, 62)]]])
    (0.8571428571428571, 0.75, 1.0)
    """
    _refuse_similarity(similarity_metric)
    f_measure, precision, recall = _scores("establishment_FPR", reference_patterns, estimated_patterns)
    return f_measure, precision, recall


@_documented
def occurrence_FPR(
    reference_patterns: Patterns,
    estimated_patterns: Patterns,
    thres: float = 0.75,
    similarity_metric: str = "cardinality_score",
) -> tuple[float, float, float]:
    """F-measure, precision and recall of the occurrences of established patterns.

    Returns
    -------
    f_measure, precision, recall : float

    Examples
    --------
    >>> occurrence_FPR([[[(0, 60)], [(4, 60)]]], [[[(0, 60)]]])
    (0.6666666666666666, 1.0, 0.5)
    """
    _refuse_similarity(similarity_metric)
    f_measure, precision, recall = _scores("occurrence_FPR", reference_patterns, estimated_patterns, thres=thres)
    return f_measure, precision, recall


@_documented
def three_layer_FPR(reference_patterns: Patterns, estimated_patterns: Patterns) -> tuple[float, float, float]:
    """F-measure, precision and recall over notes, occurrences and patterns.

    Returns
    -------
    f_measure, precision, recall : float

    Examples
    --------
    >>> three_layer_FPR([[[(0, 60)], [(4, 60)]]], [[[(0, 60)]]])
    (0.6666666666666666, 0.6666666666666666, 0.6666666666666666)
    """
    f_measure, precision, recall = _scores("three_layer_FPR", reference_patterns, estimated_patterns)
    return f_measure, precision, recall


@_documented
def first_n_three_layer_P(reference_patterns: Patterns, estimated_patterns: Patterns, n: int = 5) -> float:
    """Three-layer precision of the first estimated patterns.

    Examples
    --------
    >>> first_n_three_layer_P([[[(0, 60)]]], [[[(0, 60)]], [[(1, 60)]]], n=1)
    1.0
    """
    return _scores("first_n_three_layer_P", reference_patterns, estimated_patterns, n=n)[0]


@_documented
def first_n_target_proportion_R(reference_patterns: Patterns, estimated_patterns: Patterns, n: int = 5) -> float:
    """Establishment recall of the first estimated patterns.

    Examples
    --------
    >>> first_n_target_proportion_R([[[(0, 60)]], [[(1, 60)]]], [[[(0, 60)]], [[(1, 60)]]], n=1)
    0.5
    """
    return _scores("first_n_target_proportion_R", reference_patterns, estimated_patterns, n=n)[0]


@_documented
def evaluate(ref_patterns: Patterns, est_patterns: Patterns, **kwargs: Any) -> OrderedDict[str, float]:
    """Compute all pattern scores of one estimate.

    Parameters
    ----------
    **kwargs
        ``tol``, ``similarity_metric`` and ``n``, as in the functions of single metrics.

    Returns
    -------
    OrderedDict of str to float
        Standard, establishment, occurrence at thresholds 0.5 and 0.75, and three-layer scores, F-measure first, then
        first-n three-layer precision and first-n target proportion recall.

    Examples
    --------
    >>> scores = evaluate([[[(0, 60)], [(4, 60)]]], [[[(0, 60)]]])
    >>> scores["F_est"], scores["R_occ.75"]
    (1.0, 0.5)
    """
    refuse_unknown("evaluate", kwargs, (*_scores.parameters, "similarity_metric"))
    _refuse_similarity(kwargs.pop("similarity_metric", _CARDINALITY))
    measures = [
        Measure(one.metric, tuple(kwargs.get(p.mir_eval, one[p.name]) for p in one.metric.parameters))
        for one in MIR_EVAL.select()
    ]
    scores = MIR_EVAL.score_pair(*_rows(ref_patterns, est_patterns), measures)
    return OrderedDict(zip(_KEYS, scores.tolist(), strict=True))
