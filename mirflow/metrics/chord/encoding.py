"""The distinct chords of both sides of a batch, encoded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...ragged import Int, Ragged
from ...theory.chords import ChordTable, encode_vocabulary
from ...theory.harte import NO_CHORD


@dataclass(frozen=True, slots=True)
class Chords:
    """The distinct chords of a batch.

    Parameters
    ----------
    table : ChordTable
        One row a distinct chord, extended chords not reduced, as the comparison rules want them.
    merged : int64 (chords,)
        Chords with equal numbers are the same once extended chords are reduced: neighbours of one run.
    reference, estimate : int64 (intervals + 1,)
        The chord of each flat interval of a side; the last element is no-chord, for the item -1.
    """

    table: ChordTable
    merged: Int
    reference: Int
    estimate: Int

    def __len__(self) -> int:
        return len(self.table)


def encode_sides(references: Ragged, estimates: Ragged) -> Chords:
    """The distinct chords of two sides.

    Labels that cannot be encoded count as no chord: `clean` is where they are found.
    """
    vocabulary = list(dict.fromkeys([NO_CHORD, *references.labels, *estimates.labels]))
    place = {label: index for index, label in enumerate(vocabulary)}
    full, reduced = encode_vocabulary(vocabulary), encode_vocabulary(vocabulary, reduce_extended=True)
    keys = np.column_stack([_packed(full), _packed(reduced)])
    _, row, chord = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    merged = np.unique(keys[row, 1], return_inverse=True)[1]
    chord = chord.reshape(-1).astype(np.int64)

    def of(side: Ragged) -> Int:
        codes: Int = chord[[place[label] for label in side.labels] + [place[NO_CHORD]]]
        items: Int = codes[np.append(side.columns["label"], -1)]
        return items

    return Chords(full.take(row), merged, of(references), of(estimates))


def encode_runs(labels: Sequence[str]) -> Int:
    """Equal numbers for labels that are the same chord once extended chords are reduced: int64 (labels,)."""
    packed = _packed(encode_vocabulary(labels, reduce_extended=True))
    _, runs = np.unique(packed, return_inverse=True)
    return np.asarray(runs, dtype=np.int64)


def _packed(table: ChordTable) -> Int:
    root, bass = table.root.astype(np.int64) + 1, table.bass.astype(np.int64) + 1
    return (root << 4 | bass) << 12 | table.pitches
