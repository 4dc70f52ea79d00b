"""Chord symbol recall under every rule: seconds right and seconds comparable, from one look-up per segment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...kernels.sums import sum_by
from ...ragged import Float, Int
from .encoding import Chords
from .rules import RULES, compare

_LARGEST_TABLE = 1 << 22


class Verdicts:
    """What the rules say of segments, summed by pattern.

    A pattern is the outcome of all rules together, right, wrong or not comparable under each. There are far fewer
    patterns than chord pairs, so each segment's seconds are added once, to its pattern, and not once a rule. The sums
    over patterns are then taken in the order of the patterns' own codes, which does not depend on the batch.

    Parameters
    ----------
    chords : Chords
        The distinct chords of the batch; each pair of them is compared when it first occurs.
    """

    def __init__(self, chords: Chords) -> None:
        self._chords = chords
        size = len(chords) ** 2
        self._table = np.full(size, -1, dtype=np.int32) if size <= _LARGEST_TABLE else None
        self._place: dict[int, int] = {}

    def add_up(self, pair: Int, pairs: int, reference: Int, estimate: Int, seconds: Float) -> Float:
        """Seconds of each pattern in each pair: float64 (patterns so far, pairs)."""
        patterns = self._patterns(reference * len(self._chords) + estimate)
        sums = sum_by(patterns * pairs + pair, seconds, len(self._place) * pairs)
        return sums.reshape(len(self._place), pairs)

    def _patterns(self, joint: Int) -> Int:
        if self._table is None:
            distinct, inverse = np.unique(joint, return_inverse=True)
            return self._compare(distinct)[inverse.reshape(-1)]
        found = self._table[joint]
        unseen = found < 0
        if unseen.any():
            new = np.unique(joint[unseen])
            self._table[new] = self._compare(new)
            found = self._table[joint]
        return found.astype(np.int64)

    def _compare(self, joint: Int) -> Int:
        """The pattern of each pair of chords, as its place among the patterns met so far."""
        reference = self._chords.table.take(joint // len(self._chords))
        estimate = self._chords.table.take(joint % len(self._chords))
        code = np.zeros(len(joint), dtype=np.int64)
        for position, rule in enumerate(RULES):
            verdict = compare(reference, estimate, rule)
            code |= ((verdict > 0).astype(np.int64) << 2 * position) | (
                (verdict >= 0).astype(np.int64) << 2 * position + 1
            )
        codes, inverse = np.unique(code, return_inverse=True)
        places = [self._place.setdefault(pattern, len(self._place)) for pattern in codes.tolist()]
        return np.array(places, dtype=np.int64)[inverse.reshape(-1)]

    def by_rule(self, parts: Sequence[Float]) -> tuple[Float, dict[str, tuple[Float, Float]]]:
        """All seconds, and for each rule the seconds right and the seconds comparable: float64 (pairs,) each.

        Parameters
        ----------
        parts : sequence of float64 (patterns, pairs)
            What `add_up` gave, one batch after the other.
        """
        pairs = sum(part.shape[1] for part in parts)
        seconds = np.zeros((len(self._place), pairs))
        stop = 0
        for part in parts:
            start, stop = stop, stop + part.shape[1]
            seconds[: len(part), start:stop] = part
        every = np.zeros(pairs)
        right, comparable = np.zeros((len(RULES), pairs)), np.zeros((len(RULES), pairs))
        for code, place in sorted(self._place.items()):
            every += seconds[place]
            for position in range(len(RULES)):
                if code >> 2 * position + 1 & 1:
                    comparable[position] += seconds[place]
                    if code >> 2 * position & 1:
                        right[position] += seconds[place]
        return every, {rule: (right[position], comparable[position]) for position, rule in enumerate(RULES)}
