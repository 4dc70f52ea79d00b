"""Notes by instrument: by label, or by General MIDI program at a given granularity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache

import numpy as np

from ...ragged import Bool, Column, Float, Int, Ragged
from ...theory.general_midi import DRUMS, FAMILIES, PROGRAMS
from ..base import Sparse
from ..events import COUNTED
from ..measures import Measure
from .kernel import FLAT, FULL, GRANULARITIES, NoteBatch, Parts, Rule, rate

UNNAMED = ""
"""Instrument of notes without a label."""


@dataclass(frozen=True, slots=True)
class InstrumentCounts:
    """Numbers of notes of each instrument on either side, sorted by pair and instrument: int64 (n,)."""

    pair: Int
    number: Int
    matched: Int
    reference: Int
    estimate: Int

    def leave_out(self, pairs: Sequence[int]) -> InstrumentCounts:
        """Remove pairs."""
        if not pairs:
            return self
        kept = ~np.isin(self.pair, pairs)
        return InstrumentCounts(*(getattr(self, one.name)[kept] for one in fields(self)))


Counted = tuple[InstrumentCounts, tuple[str, ...]]
"""Counts by instrument, and the names of all instruments."""


def count_instruments(block: NoteBatch, parts: Parts, first: int) -> InstrumentCounts:
    """Match the notes of each instrument of each pair of a block, in some parts of the notes.

    `first` is the index of the block's first pair in the whole call.
    """
    found = join([_count(block.part(part), rule, first) for part, rule in parts])
    if len(parts) == 1:
        return found
    order = np.lexsort((found.number, found.pair))
    return InstrumentCounts(*(getattr(found, one.name)[order] for one in fields(found)))


def _count(block: NoteBatch, rule: Rule, first: int) -> InstrumentCounts:
    matches = block.matches(rule)
    sides = block.reference, block.estimate
    numbers = [side.extra[rule.by or FLAT] for side in sides]
    names = 1 + max(int(number.max(initial=0)) for number in numbers)
    keys = [side.pair * names + number for side, number in zip(sides, numbers, strict=True)]
    keys.insert(0, keys[0][matches.reference])
    distinct = np.unique(np.concatenate(keys))
    counts = [np.bincount(np.searchsorted(distinct, key), minlength=len(distinct)) for key in keys]
    return InstrumentCounts(distinct // names + first, distinct % names, *counts)


def join(parts: Sequence[InstrumentCounts]) -> InstrumentCounts:
    """Join the counts of consecutive blocks, or of several parts of the notes."""
    none = np.zeros(0, dtype=np.int64)
    columns = ([none, *(getattr(part, one.name) for part in parts)] for one in fields(InstrumentCounts))
    return InstrumentCounts(*map(np.concatenate, columns))


def number_labels(rows: Ragged, names: Sequence[str]) -> Int:
    """Indices of the labels of notes in all names; notes without a label get that of `UNNAMED`."""
    place = {name: number for number, name in enumerate(names)}
    # The code -1, for no label, selects the last entry.
    codes = np.array([place[name] for name in (*rows.labels, UNNAMED)], dtype=np.int64)
    return codes[rows.columns.get("label", np.full(len(rows.columns["start"]), -1))]


def number_programs(rows: Ragged) -> dict[str, Column]:
    """Number the programs of notes under each granularity, int64, and mark percussion (``drum``).

    Programs of percussion, which are kits, follow all others. Invalid programs are 0.

    Examples
    --------
    >>> columns = {"start": np.zeros(3), "program": np.array([0.0, 41.0, 0.0]), "drum": np.array([0.0, 0.0, 1.0])}
    >>> found = number_programs(Ragged(columns, (np.array([3]),)))
    >>> [found[name].tolist() for name in GRANULARITIES], found["drum"].tolist()
    ([[0, 0, 128], [0, 40, 128], [0, 41, 128]], [False, False, True])
    """
    drum = are_drums(rows)
    program = np.clip(np.nan_to_num(programs_of(rows)), 0, len(PROGRAMS) - 1).astype(np.int64)
    size = len(PROGRAMS) // len(FAMILIES)
    numbers = dict(zip(GRANULARITIES, (np.zeros_like(program), size * (program // size), program), strict=True))
    found: dict[str, Column] = {
        name: np.where(drum, len(PROGRAMS) + program, number) for name, number in numbers.items()
    }
    return found | {"drum": drum}


def are_drums(rows: Ragged) -> Bool:
    """Mask of percussion: bool (notes,)."""
    return np.asarray(_column(rows, "drum") > 0)


def lack_programs(rows: Ragged) -> dict[str, Bool]:
    """Mask notes with missing and with invalid programs; percussion without a program uses the standard kit."""
    program, pitched = programs_of(rows), ~are_drums(rows)
    missing = np.isnan(program)
    known = (program >= 0) & (program < len(PROGRAMS)) & (program == np.floor(program))
    return {"no program": missing & pitched, "a program outside 0 to 127": ~known & ~missing & pitched}


def programs_of(rows: Ragged) -> Float:
    """Programs of notes; NaN if missing."""
    return _column(rows, "program")


def _column(rows: Ragged, name: str) -> Float:
    column: Float = rows.columns.get(name, np.full(len(rows.columns["start"]), np.nan))
    return column


@cache
def program_names(granularity: str) -> tuple[str, ...]:
    """Names of the numbers of `number_programs`.

    Examples
    --------
    >>> program_names("midi_class")[40], program_names("full")[40], program_names("full")[128:130]
    ('Strings', 'Violin', ('Drums', 'Drums (program 1)'))
    """
    families = tuple(FAMILIES[program // 8] for program in range(len(PROGRAMS)))
    pitched = {FLAT: ("Pitched",) * len(PROGRAMS), FULL: PROGRAMS}.get(granularity, families)
    return (*pitched, DRUMS, *(f"{DRUMS} (program {kit})" for kit in range(1, len(PROGRAMS))))


def _places(counts: InstrumentCounts, names: tuple[str, ...]) -> tuple[Int, tuple[str, ...]]:
    """Indices of instruments among those that occur, and the names of these."""
    used, number = np.unique(counts.number, return_inverse=True)
    return number, tuple(names[one] for one in used.tolist())


def read_instruments(what: str, counted: Counted, measure: Measure) -> Sparse:
    """Score of each instrument along the dim ``instrument``; NaN without notes to score."""
    counts, names = counted
    beta = float(measure.parameters.get("beta", 1.0))
    score, weight = rate(what, counts.matched, counts.reference, counts.estimate, beta)
    number, labels = _places(counts, names)
    some = weight > 0
    attrs = {"long_name": "score by instrument", "units": "1"}
    index = np.column_stack([counts.pair, number])[some]
    return Sparse(("instrument",), (labels,), index, score[some], attrs, float("nan"))


def read_counts(counted: Counted, measure: Measure) -> Sparse:
    """Numbers of matched, reference and estimated notes of each instrument."""
    counts, names = counted
    number, labels = _places(counts, names)
    value = np.column_stack([counts.matched, counts.reference, counts.estimate]).astype(np.float64).ravel()
    kinds = np.tile(np.arange(len(COUNTED), dtype=np.int64), len(number))
    index = np.column_stack([np.repeat(counts.pair, 3), np.repeat(number, 3), kinds])
    attrs = {"long_name": "notes by instrument", "units": "1"}
    return Sparse(("instrument", "count"), (labels, COUNTED), index[value > 0], value[value > 0], attrs)
