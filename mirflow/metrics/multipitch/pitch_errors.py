"""Kinds of errors of several pitches at once, in the frames of the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...ragged import Bool, Column, Int, Ragged, ranges, rows_of
from ..base import Pairs
from ..edits import RIGHT, ErrorBudget, ErrorKind
from ..measures import Measure
from .kernel import Pitches, beside, frame_of_estimate, matched, pitches_of

_KINDS = (
    ErrorKind("octave", "a pitch in another octave"),
    ErrorKind("missing", "pitches of the reference without an estimate"),
    ErrorKind("extra", "estimated pitches without one of the reference"),
)
_OCTAVE, _MISSING, _EXTRA = range(len(_KINDS))


@dataclass(frozen=True)
class PitchEdits:
    """Edits of pitches in the frames of the reference."""

    time: Column
    frame: Int
    """Frame of each pitch, ascending."""
    frequency: Column
    of_reference: Bool
    kind: Int

    @property
    def present(self) -> Int:
        """The kinds that occur, ascending."""
        found: Int = np.unique(self.kind[self.kind >= 0])
        return found

    @property
    def size(self) -> int:
        """Number of frames and of pitches of both sides."""
        return len(self.time) + len(self.frame)

    def mend(self, kinds: Bool) -> Ragged:
        """Mend sets of kinds: a row for each set."""
        mended = np.column_stack([kinds, np.zeros(len(kinds), dtype=np.bool_)])
        row, item = np.nonzero(mended[:, self.kind] == self.of_reference)
        frames = len(self.time)
        counts = np.bincount(row * frames + self.frame[item], minlength=len(kinds) * frames).astype(np.int64)
        columns = {"time": np.tile(self.time, len(kinds)), "frequency": self.frequency[item]}
        return Ragged(columns, (np.full(len(kinds), frames, dtype=np.int64), counts), depths={"time": 1})


def _align(reference: Ragged, estimate: Ragged, measure: Measure, exact: bool) -> PitchEdits:
    frames = int(reference.counts[0][0])
    frame = frame_of_estimate(Pairs.in_order(reference, estimate))[:frames]
    sides = [pitches_of(reference), beside(pitches_of(estimate), frame)]
    # A frame of the estimate may be the nearest to several of the reference.
    items = [ranges(side.first, side.counts) for side in sides]
    owners = [rows_of(side.counts) for side in sides]
    kinds = [np.full(len(items[0]), _MISSING), np.full(len(items[1]), _EXTRA)]
    for kind, octaves in ((RIGHT, False), (_OCTAVE, True)):
        left = np.flatnonzero(kinds[0] == _MISSING), np.flatnonzero(kinds[1] == _EXTRA)
        lone = [
            Pitches.of(side.midi[item[own]], np.bincount(owner[own], minlength=frames).astype(np.int64))
            for side, item, owner, own in zip(sides, items, owners, left, strict=True)
        ]
        for _, (_, one, other) in matched(lone[0], lone[1], [(float(measure.parameters.get("window", 0.5)), octaves)]):
            kinds[0][left[0][one]] = kinds[1][left[1][other]] = kind
    hertz = [rows.columns["frequency"][item] for rows, item in zip((reference, estimate), items, strict=True)]
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    of_reference = np.arange(len(owner)) < len(items[0])
    of_pitch = owner[order], np.concatenate(hertz)[order], of_reference[order], np.concatenate(kinds)[order]
    return PitchEdits(reference.columns["time"], *of_pitch)


PITCHES = ErrorBudget(_KINDS, _align)
