"""Notes by instrument: by label, or by General MIDI program at a given granularity."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from ...kernels.ratios import rate
from ...ragged import Bool, Column, Float, Int, Ragged
from ...theory.general_midi import DRUMS, FAMILIES, PROGRAMS
from ..base import Sparse
from ..events import ClassCounts, count_keys
from ..measures import Measure
from .kernel import FLAT, FULL, GRANULARITIES, NoteBatch, Parts, Rule

UNNAMED = ""  # Instrument of notes without a label


Counted = tuple[ClassCounts, tuple[str, ...]]  # Counts by instrument, and the names of all instruments


def count_instruments(block: NoteBatch, parts: Parts, first: int) -> ClassCounts:
    """Match the notes of each instrument of each pair of a block, in some parts of the notes.

    `first` is the index of the block's first pair in the whole call.
    """
    counts = ClassCounts.join(_count(block.part(part), rule, first) for part, rule in parts)
    return counts if len(parts) == 1 else counts.take(np.lexsort((counts.number, counts.pair)))


def _count(block: NoteBatch, rule: Rule, first: int) -> ClassCounts:
    matches = block.matches(rule)
    sides = block.reference, block.estimate
    numbers = [side.extra[rule.by or FLAT] for side in sides]
    names = 1 + max(int(number.max(initial=0)) for number in numbers)
    keys = [side.pair * names + number for side, number in zip(sides, numbers, strict=True)]
    distinct, counts = count_keys([keys[0][matches.reference], *keys])
    return ClassCounts(distinct // names + first, distinct % names, *counts)


def number_labels(rows: Ragged, names: Sequence[str]) -> Int:
    """Indices of the labels of notes in all names; notes without a label get that of `UNNAMED`."""
    index = {name: number for number, name in enumerate(names)}
    # The code -1, for no label, selects the last entry.
    codes = np.array([index[name] for name in (*rows.labels, UNNAMED)], dtype=np.int64)
    return codes[rows.columns.get("label", np.full(len(rows.columns["start"]), -1))]


def number_programs(rows: Ragged) -> dict[str, Column]:
    """Number the programs of notes under each granularity, int64, and mark percussion (``drum``).

    Programs of percussion, which are kits, follow all others. Invalid programs are 0.
    """
    drum = are_drums(rows)
    program = np.clip(np.nan_to_num(programs_of(rows)), 0, len(PROGRAMS) - 1).astype(np.int64)
    size = len(PROGRAMS) // len(FAMILIES)
    numbers = dict(zip(GRANULARITIES, (np.zeros_like(program), size * (program // size), program), strict=True))
    columns: dict[str, Column] = {
        name: np.where(drum, len(PROGRAMS) + program, number) for name, number in numbers.items()
    }
    return columns | {"drum": drum}


def are_drums(rows: Ragged) -> Bool:
    """Mask of percussion: bool (notes,)."""
    return np.asarray(_column(rows, "drum") > 0)


def lack_programs(rows: Ragged) -> dict[str, Bool]:
    """Mask notes with missing and with invalid programs; percussion without a program uses the standard kit."""
    program, pitched = programs_of(rows), ~are_drums(rows)
    missing = np.isnan(program)
    mask = (program >= 0) & (program < len(PROGRAMS)) & (program == np.floor(program))
    return {"no program": missing & pitched, "a program outside 0 to 127": ~mask & ~missing & pitched}


def programs_of(rows: Ragged) -> Float:
    """Programs of notes; NaN if missing."""
    return _column(rows, "program")


def _column(rows: Ragged, name: str) -> Float:
    column: Float = rows.columns.get(name, np.full(len(rows.columns["start"]), np.nan))
    return column


@cache
def program_names(granularity: str) -> tuple[str, ...]:
    """Names of the numbers of `number_programs`."""
    families = tuple(FAMILIES[program // 8] for program in range(len(PROGRAMS)))
    pitched = {FLAT: ("Pitched",) * len(PROGRAMS), FULL: PROGRAMS}.get(granularity, families)
    return (*pitched, DRUMS, *(f"{DRUMS} (program {kit})" for kit in range(1, len(PROGRAMS))))


def read_instruments(what: str, counted: Counted, measure: Measure) -> Sparse:
    """Score of each instrument along the dim ``instrument``; NaN without notes to score."""
    counts, names = counted
    beta = float(measure.parameters.get("beta", 1.0))
    score, weight = rate(what, counts.matched, counts.reference, counts.estimate, beta=beta)
    number, labels = counts.used(names)
    mask = weight > 0
    attrs = {"long_name": "score by instrument", "units": "1"}
    index = np.column_stack([counts.pair, number])[mask]
    return Sparse(("instrument",), (labels,), index, score[mask], attrs, float("nan"))


def read_counts(counted: Counted, measure: Measure) -> Sparse:
    """Numbers of matched, reference and estimated notes of each instrument."""
    counts, names = counted
    return counts.tabulate(names, "instrument", "notes")
