"""Notes by instrument: the labels of the notes, each matched on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...ragged import Float, Int, Ragged
from ..base.task import Sparse
from .notes import Block
from .rules import Rule

COUNTED = ("matched", "reference", "estimate")
"""What is counted of each instrument."""

UNNAMED = ""
"""The instrument of notes without a label."""


@dataclass(frozen=True, slots=True)
class InstrumentCounts:
    """Notes of each instrument that occurs on either side of each pair.

    Parameters
    ----------
    pair, number : int64 (n,)
        The pair and the instrument of each entry, in this order ascending.
    matched, reference, estimate : int64 (n,)
        How many notes there are.
    """

    pair: Int
    number: Int
    matched: Int
    reference: Int
    estimate: Int


def number_labels(references: Ragged, estimates: Ragged) -> tuple[tuple[str, ...], Ragged, Ragged]:
    """All labels of both sides, sorted, and the sides with their notes' places among them as ``label``."""
    sides = references, estimates
    names = tuple(sorted({UNNAMED, *references.labels, *estimates.labels}))
    place = {name: number for number, name in enumerate(names)}
    numbered = []
    for side in sides:
        # A code of -1, for no label, takes the last entry.
        codes = np.array([place[name] for name in (*side.labels, UNNAMED)], dtype=np.int64)
        none = np.full(len(side.columns["start"]), -1, dtype=np.int64)
        label = codes[side.columns.get("label", none)]
        numbered.append(Ragged({**side.columns, "label": label}, side.counts, side.labels))
    return names, numbered[0], numbered[1]


def count_instruments(block: Block, rule: Rule, first: int, names: int) -> InstrumentCounts:
    """Match the notes of each instrument of each pair of a block.

    Parameters
    ----------
    block : Block
        Notes with ``label``.
    rule : Rule
        That asks for equal labels.
    first : int
        The number of the block's first pair in the whole call.
    names : int
        How many labels there are.
    """
    matches = block.matches(rule)
    sides = block.reference, block.estimate
    keys = [side.pair * names + side.extra["label"] for side in sides]
    keys.insert(0, keys[0][matches.reference])
    distinct = np.unique(np.concatenate(keys))
    counts = [np.bincount(np.searchsorted(distinct, key), minlength=len(distinct)) for key in keys]
    return InstrumentCounts(distinct // names + first, distinct % names, *counts)


def join(parts: Sequence[InstrumentCounts]) -> InstrumentCounts:
    """The counts of consecutive blocks as one."""
    if not parts:
        return InstrumentCounts(*[np.zeros(0, dtype=np.int64)] * 5)
    fields = ("pair", "number", "matched", "reference", "estimate")
    return InstrumentCounts(*(np.concatenate([getattr(part, name) for part in parts]) for name in fields))


def counts_to_sparse(counts: InstrumentCounts, names: tuple[str, ...]) -> Sparse:
    """The counts over the dims ``instrument`` and ``count``."""
    used, number = np.unique(counts.number, return_inverse=True)
    columns = (counts.matched, counts.reference, counts.estimate)
    value = np.column_stack(columns).astype(np.float64).ravel()
    kinds = np.arange(len(COUNTED), dtype=np.int64)
    entries = len(counts.pair)
    index = np.column_stack([np.repeat(counts.pair, 3), np.repeat(number, 3), np.tile(kinds, entries)])
    attrs = {"long_name": "notes by instrument", "units": "1"}
    labels = tuple(names[one] for one in used.tolist())
    return Sparse(("instrument", "count"), (labels, COUNTED), index[value > 0], value[value > 0], attrs)


def scores_to_sparse(counts: InstrumentCounts, names: tuple[str, ...], score: Float, weight: Float) -> Sparse:
    """A score of each instrument over the dim ``instrument``; NaN where there is nothing to measure it on."""
    used, number = np.unique(counts.number, return_inverse=True)
    index = np.column_stack([counts.pair, number])
    some = weight > 0
    labels = tuple(names[one] for one in used.tolist())
    attrs = {"long_name": "score by instrument", "units": "1"}
    return Sparse(("instrument",), (labels,), index[some], score[some], attrs, float("nan"))
