"""The tags that a pair is about: which of them the reference has, and how strongly the estimate holds them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...annotations.classes import Classes
from ...kernels.affinities import Ordered
from ...kernels.outcomes import Outcomes
from ...kernels.sums import sum_by
from ...ragged import Bool, Float, Int, Ragged, ranges, rows_of
from ..labels import number_labels


@dataclass(frozen=True, slots=True)
class Decisions:
    """One entry for each tag of each pair: those that the estimate lists in its order, then the others.

    Parameters
    ----------
    tags : tuple of str
        All that there are.
    pair, tag : int64 (n,)
        ``pair`` ascending.
    degree : float64 (n,)
        How strongly the reference has the tag: its number, infinity without one, minus infinity if it does not list it.
    affinity : float64 (n,)
        The same of the estimate.
    pairs : int
    """

    tags: tuple[str, ...]
    pair: Int
    tag: Int
    degree: Float
    affinity: Float
    pairs: int

    @classmethod
    def of(
        cls, references: Ragged, estimates: Ragged, reference_row: Int, estimate_row: Int, classes: Classes | None
    ) -> Decisions:
        """Of cleaned rows. Without `classes` a pair is about the tags that either side lists."""
        tags, numbers = number_labels(references, estimates, classes)
        size, pairs = len(tags), len(reference_row)
        listed = [
            _spread(side, number, row, size)
            for side, number, row in zip((references, estimates), numbers, (reference_row, estimate_row), strict=True)
        ]
        told = np.concatenate([listed[0][0], listed[1][0]])
        every = np.unique(told) if classes is None else np.arange(pairs * size)
        held = np.full((2, len(every)), -np.inf)
        position = np.full(len(every), len(every), dtype=np.int64)
        for side, (key, value) in zip(held, listed, strict=True):
            side[np.searchsorted(every, key)] = value
        position[np.searchsorted(every, listed[1][0])] = np.arange(len(listed[1][0]))
        order = np.lexsort((position, every // max(size, 1)))
        pair, tag = every[order] // max(size, 1), every[order] % max(size, 1)
        return cls(tags, pair, tag, held[0][order], held[1][order], pairs)

    def relevant(self, least: float) -> Bool:
        """The tags that the reference has to that degree."""
        return np.asarray(self.degree >= least)

    def assigned(self, least: float) -> Bool:
        """The tags that the estimate has to that degree."""
        return np.asarray(self.affinity >= least)

    def outcomes(self, relevance: float, threshold: float) -> Outcomes:
        """Right and wrong decisions of each pair: float64 (pairs,) each."""
        counts = self.decided(relevance, threshold)
        return Outcomes(*(sum_by(self.pair, one, self.pairs) for one in counts))

    def decided(self, relevance: float, threshold: float) -> tuple[Float, Float, Float, Float]:
        """Which decision is a hit, a false alarm, a miss, a rejection: float64 (n,) each."""
        has, given = self.relevant(relevance), self.assigned(threshold)
        hit, alarm, miss, rejection = has & given, ~has & given, has & ~given, ~has & ~given
        return hit.astype(np.float64), alarm.astype(np.float64), miss.astype(np.float64), rejection.astype(np.float64)

    def ordered(self, relevance: float) -> Ordered:
        """The tags of each pair by affinity."""
        return Ordered.of(self.pair, self.relevant(relevance), self.affinity, self.pairs)


def _spread(side: Ragged, number: Int, row: Int, tags: int) -> tuple[Int, Float]:
    """Pair and tag, as one number, and the degree of each item of some rows."""
    counts = side.counts[0][row]
    items = ranges(side.offsets[:-1][row], counts)
    value: Float = side.columns["value"][items] if "value" in side.columns else np.full(len(items), np.nan)
    return rows_of(counts) * tags + number[items], np.where(np.isnan(value), np.inf, value)
