"""Onsets by class, as in drum detection: each class is matched on its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.sums import sum_by
from ...ragged import Float, Int, Ragged, rows_of
from ..base.task import Sparse
from ..events import MATCHINGS, f_measure_of

COUNTED = ("matched", "reference", "estimate")
"""What is counted of each class."""

UNNAMED = ""
"""The class of onsets without a label."""


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """Onsets of each class that occurs on either side of each pair.

    Parameters
    ----------
    classes : tuple of str
        Those that occur anywhere, sorted.
    pair, number : int64 (n,)
        The pair and the class of each entry, in this order ascending.
    matched, reference, estimate : int64 (n,)
        How many there are.
    """

    classes: tuple[str, ...]
    pair: Int
    number: Int
    matched: Int
    reference: Int
    estimate: Int

    def mean_f_measure(self, pairs: int) -> tuple[Float, Float]:
        """The mean F-measure over the classes of each pair, and their number: float64 (pairs,) each."""
        number = np.bincount(self.pair, minlength=pairs).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            single = f_measure_of(self.matched, self.reference, self.estimate)
        total = sum_by(self.pair, single, pairs)
        return np.divide(total, number, out=np.zeros(pairs), where=number > 0), number


def count_classes(
    references: Ragged, estimates: Ragged, reference_row: Int, estimate_row: Int, window: float, matching: str
) -> ClassCounts:
    """Match the onsets of each class of each pair.

    Parameters
    ----------
    references, estimates : Ragged
        Columns time (float64, seconds) and label, if there are any; events without one are a class of their own.
    reference_row, estimate_row : int64 (pairs,)
    window : float, seconds
    matching : {"optimal", "greedy"}

    Returns
    -------
    ClassCounts
    """
    sides = references.take(reference_row), estimates.take(estimate_row)
    names = [[*side.labels, UNNAMED] if "label" in side.columns else [UNNAMED] for side in sides]
    classes = tuple(sorted({name for side in names for name in side}))
    numbered = {name: number for number, name in enumerate(classes)}
    times, keys = [], []
    for side, labels in zip(sides, names, strict=True):
        codes = np.array([numbered[label] for label in labels], dtype=np.int64)
        # A code of -1, for no label, takes the last entry.
        number = (
            codes[side.columns["label"]] if "label" in side.columns else np.repeat(codes, len(side.columns["time"]))
        )
        key = rows_of(side.counts[0]) * len(classes) + number
        order = np.argsort(key, kind="stable")
        times.append(side.columns["time"][order])
        keys.append(key[order])
    distinct = np.unique(np.concatenate(keys))
    counts = [np.bincount(np.searchsorted(distinct, key), minlength=len(distinct)) for key in keys]
    found = MATCHINGS[matching](times[0], counts[0], times[1], counts[1], window)
    used = np.unique(distinct % len(classes))
    number = np.searchsorted(used, distinct % len(classes))
    return ClassCounts(
        tuple(classes[one] for one in used.tolist()), distinct // len(classes), number, found.counts, *counts
    )


def to_sparse(counts: ClassCounts) -> Sparse:
    """The counts over the dims ``class`` and ``count``."""
    entries = len(counts.pair)
    index = np.column_stack(
        [
            np.repeat(counts.pair, len(COUNTED)),
            np.repeat(counts.number, len(COUNTED)),
            np.tile(np.arange(len(COUNTED), dtype=np.int64), entries),
        ]
    )
    value = np.column_stack([counts.matched, counts.reference, counts.estimate]).astype(np.float64).ravel()
    attrs = {"long_name": "onsets by class", "units": "1"}
    return Sparse(("class", "count"), (counts.classes, COUNTED), index[value > 0], value[value > 0], attrs)
