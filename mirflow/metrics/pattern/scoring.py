"""The scores of pairs of sets of patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...errors import MetricError
from ...ragged import Float, Int, Ragged
from ..base.identity import Measure
from ..base.record import Value
from ..base.task import Grid, Scores
from .similarity import Comparison, Patterns, Side, harmonic, number_notes

Fraction = tuple[float, float]
"""A score and its weight."""


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of pairs by mir_eval's rules.

    Parameters
    ----------
    references, estimates : Ragged
        Columns onset (quarter notes) and pitch (MIDI), float64; counts of patterns, of occurrences and of notes. The
        first occurrence of a pattern is its prototype.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        Patterns are compared note by note, not on a grid.

    Returns
    -------
    Scores
        Equal to mir_eval's functions. Without a note on either side all scores are 0. A pair's numbers do not depend
        on what it is batched with, to the bit.

    References
    ----------
    T. Collins, "Discovery of repeated themes and sections", MIREX 2013; D. Meredith, "COSIATEC and SIATECCompress",
    MIREX 2013.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> def row(*onsets):
    ...     notes = len(onsets)
    ...     return Ragged({"onset": np.array(onsets), "pitch": np.full(notes, 60.0)},
    ...                   (np.array([1]), np.array([1]), np.array([notes])))
    >>> only, wanted = np.array([0]), get_task("pattern").convention().select(["precision", "establishment_recall"])
    >>> score(row(0.0, 1.0, 2.0, 4.0), row(0.0, 1.0, 2.0), only, only, wanted).score.tolist()
    [[0.0, 0.75]]
    """
    if grid != "union":
        raise MetricError(f"patterns are compared note by note, not on grid {grid!r}")
    numbers = number_notes(references, estimates)
    left, right = Side(references, numbers[0]), Side(estimates, numbers[1])
    values = np.zeros((2, len(reference_row), len(measures)))
    for pair, (row, other) in enumerate(zip(reference_row.tolist(), estimate_row.tolist(), strict=True)):
        reference, estimate = left[row], right[other]
        reader = _read_nothing if reference.is_empty or estimate.is_empty else _reader
        read = reader(reference, estimate)
        for column, measure in enumerate(measures):
            values[:, pair, column] = read(measure)
    return Scores(values[0], values[1])


def _reader(reference: Patterns, estimate: Patterns) -> Callable[[Measure], Fraction]:
    pair = Comparison(reference, estimate)
    found: dict[tuple[Kind, tuple[Value, ...]], tuple[Fraction, Fraction]] = {}

    def read(measure: Measure) -> Fraction:
        kind, which = KINDS[measure.metric.name]
        key = kind, measure.values
        if key not in found:
            found[key] = kind(pair, measure)
        return _pick(which, *found[key])

    return read


def _read_nothing(reference: Patterns, estimate: Patterns) -> Callable[[Measure], Fraction]:
    """Scores of 0 where one side has no notes; the other's patterns still weigh."""
    references, estimates = float(len(reference.occurrences)), range(len(estimate.occurrences))

    def read(measure: Measure) -> Fraction:
        kind, which = KINDS[measure.metric.name]
        if kind is _occurrence:
            return 0.0, 0.0
        considered = estimates[: _first(measure)]
        return _pick(which, (0.0, float(len(considered))), (0.0, references))

    return read


def _pick(which: str, precision: Fraction, recall: Fraction) -> Fraction:
    if which == "precision":
        return precision
    if which == "recall":
        return recall
    score = harmonic(np.array([precision[0]]), np.array([recall[0]]))
    return float(score[0]), (precision[1] + recall[1]) / 2


def _means(likeness: Float) -> tuple[Fraction, Fraction]:
    """The mean over estimated, and over reference patterns, of how alike the most alike pattern opposite is."""
    references, estimates = likeness.shape
    if not estimates:
        return (0.0, 0.0), (0.0, float(references))
    best, best_opposite = likeness.max(axis=0), likeness.max(axis=1)
    return (float(np.mean(best)), float(estimates)), (float(np.mean(best_opposite)), float(references))


def _standard(pair: Comparison, measure: Measure) -> tuple[Fraction, Fraction]:
    found = pair.translated(float(measure["tol"]))
    references, estimates = len(pair.reference.occurrences), len(pair.estimate.occurrences)
    return (found / estimates, float(estimates)), (found / references, float(references))


def _establishment(pair: Comparison, measure: Measure) -> tuple[Fraction, Fraction]:
    return _means(pair.cardinality.best[:, : _first(measure)])


def _three_layer(pair: Comparison, measure: Measure) -> tuple[Fraction, Fraction]:
    return _means(pair.second_layer[:, : _first(measure)])


def _first(measure: Measure) -> int | None:
    """How many estimated patterns a measure considers; None: all."""
    return int(measure["n"]) if "n" in measure.parameters else None


def _occurrence(pair: Comparison, measure: Measure) -> tuple[Fraction, Fraction]:
    """Means over the pairs of patterns that are alike enough: a pattern counts once for each that it is like."""
    layer = pair.cardinality
    alike = layer.best >= float(measure["thres"])
    pairs = float(alike.sum())
    if not pairs:
        return (0.0, 0.0), (0.0, 0.0)
    by_estimate = np.where(alike, layer.by_estimate, 0.0).max(axis=0)
    by_reference = np.where(alike, layer.by_reference, 0.0).max(axis=1)
    precision = (by_estimate * alike.sum(axis=0)).sum() / pairs
    recall = (by_reference * alike.sum(axis=1)).sum() / pairs
    return (float(precision), pairs), (float(recall), pairs)


Kind = Callable[[Comparison, Measure], tuple[Fraction, Fraction]]
"""Precision and recall, each with its weight."""

KINDS: dict[str, tuple[Kind, str]] = {
    **{which: (_standard, which) for which in ("f_measure", "precision", "recall")},
    **{f"establishment_{which}": (_establishment, which) for which in ("f_measure", "precision", "recall")},
    **{f"occurrence_{which}": (_occurrence, which) for which in ("f_measure", "precision", "recall")},
    **{f"three_layer_{which}": (_three_layer, which) for which in ("f_measure", "precision", "recall")},
    "first_n_three_layer_precision": (_three_layer, "precision"),
    "first_n_target_proportion_recall": (_establishment, "recall"),
}
"""How each metric is computed, and which of the three numbers it is."""
