"""Similarity of occurrences and patterns between two sets of patterns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels.intervals import rank
from ...kernels.ragged_ops import common
from ...kernels.ratios import divide, harmonic_mean
from ...ragged import Float, Int, Ragged, offsets_of


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of one track."""

    onset: Float
    pitch: Float
    """float64 (notes,)"""
    note: Int
    """Number of each distinct onset and pitch in the batch: int64 (notes,)."""
    occurrences: Int
    """int64 (patterns,): number of occurrences of each pattern; at least one."""
    notes: Int
    """Number of notes of each occurrence: int64 (occurrences,)."""

    @property
    def is_empty(self) -> bool:
        """True if there are no notes."""
        return len(self.note) == 0

    @property
    def first(self) -> Int:
        """Index of the first occurrence of each pattern, its prototype."""
        return offsets_of(self.occurrences)[:-1]


class PatternSide:
    """Patterns of each row of one side, with the note numbers of `number_notes`."""

    def __init__(self, rows: Ragged, note: Int) -> None:
        self._rows, self._note = rows, note
        self._offsets = [offsets_of(counts) for counts in rows.counts]

    def __getitem__(self, row: int) -> Patterns:
        low, high = row, row + 1
        bounds = []
        for offsets in self._offsets:
            low, high = int(offsets[low]), int(offsets[high])
            bounds.append(slice(low, high))
        patterns, occurrences, notes = bounds
        columns, counts = self._rows.columns, self._rows.counts
        note = self._note[notes]
        return Patterns(
            columns["onset"][notes], columns["pitch"][notes], note, counts[1][patterns], counts[2][occurrences]
        )


def number_notes(references: Ragged, estimates: Ragged) -> tuple[Int, Int]:
    """Number the distinct onsets and pitches of both sides."""
    numbers = []
    for name in ("onset", "pitch"):
        numbers.append(rank(references.columns[name], estimates.columns[name])[1])
    (left_onset, right_onset), (left_pitch, right_pitch) = numbers
    pitches = int(max(left_pitch.max(initial=0), right_pitch.max(initial=0))) + 1
    return left_onset * pitches + left_pitch, right_onset * pitches + right_pitch


class PatternComparison:
    """Results for a pair with notes on both sides, computed on first use."""

    def __init__(self, reference: Patterns, estimate: Patterns) -> None:
        self.reference, self.estimate = reference, estimate

    @cached_property
    def _common(self) -> Float:
        """Number of common notes: float64 (occurrences of the reference, occurrences of the estimate)."""
        return common(self.reference.note, self.reference.notes, self.estimate.note, self.estimate.notes)

    @cached_property
    def cardinality(self) -> Layer:
        """Common notes over those of the longer occurrence."""
        longer = np.maximum(self.reference.notes[:, None], self.estimate.notes)
        return self._layer(divide(self._common, longer.astype(np.float64)))

    @cached_property
    def second_layer(self) -> Float:
        """F-measure of each pair of patterns: float64 (patterns of the reference, of the estimate)."""
        precision = divide(self._common, self.reference.notes[:, None].astype(np.float64))
        recall = divide(self._common, self.estimate.notes.astype(np.float64))
        first = self._layer(harmonic_mean(precision, recall))
        return harmonic_mean(first.by_estimate, first.by_reference)

    def _layer(self, likeness: Float) -> Layer:
        return Layer(likeness, self.reference.occurrences, self.estimate.occurrences)

    def translated(self, tolerance: float) -> int:
        """Number of reference patterns whose prototype equals one of the estimate's after a shift in time and pitch."""
        left, right = _prototypes(self.reference), _prototypes(self.estimate)
        return sum(_is_translated(one, [other for other in right if len(other) == len(one)], tolerance) for one in left)


class Layer:
    """Comparison of patterns by their occurrences.

    Parameters
    ----------
    likeness : float64 (occurrences of the reference, occurrences of the estimate)
    reference, estimate : int64 (patterns,)
        Number of occurrences of each pattern.
    """

    def __init__(self, likeness: Float, reference: Int, estimate: Int) -> None:
        self._rows, self._columns = offsets_of(reference)[:-1], offsets_of(estimate)[:-1]
        self._reference, self._estimate = reference, estimate
        self._best_row = np.maximum.reduceat(likeness, self._rows, axis=0)
        self._best_column = np.maximum.reduceat(likeness, self._columns, axis=1)

    @cached_property
    def best(self) -> Float:
        """Likeness of the most similar occurrences of each pair of patterns."""
        return np.maximum.reduceat(self._best_row, self._columns, axis=1)

    @cached_property
    def by_estimate(self) -> Float:
        """Greatest likeness of each occurrence of the estimated pattern, averaged over its occurrences."""
        return np.add.reduceat(self._best_row, self._columns, axis=1) / self._estimate

    @cached_property
    def by_reference(self) -> Float:
        """Greatest likeness of each occurrence of the reference pattern, averaged over its occurrences."""
        return np.add.reduceat(self._best_column, self._rows, axis=0) / self._reference[:, None]


def _prototypes(patterns: Patterns) -> list[Float]:
    """Notes of each pattern's first occurrence: float64 (notes, 2)."""
    start = offsets_of(patterns.notes)[patterns.first].tolist()
    size = patterns.notes[patterns.first].tolist()
    notes = np.column_stack([patterns.onset, patterns.pitch])
    return [notes[low : low + count] for low, count in zip(start, size, strict=True)]


def _is_translated(one: Float, others: list[Float], tolerance: float) -> bool:
    """True if a point set, in given order, equals one of others after a shift."""
    if not others or len(one) < 2:
        return bool(others) and len(one) == 1
    change = np.abs(np.diff(one - np.stack(others), axis=1))
    return bool((change.max(axis=(1, 2)) < tolerance).any())
