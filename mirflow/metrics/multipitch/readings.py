"""The fourteen measures and their weights, read off five counts of each pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ...kernels.sums import sum_by
from ...ragged import Float, Int


@dataclass(frozen=True)
class Counts:
    """What is counted over the frames of some pairs: float64 (pairs,) each.

    Parameters
    ----------
    hits : pitches that find each other
    reference, estimate : pitches of each side
    fewer, more : the smaller and the larger of both numbers of each frame
    """

    hits: Float
    reference: Float
    estimate: Float
    fewer: Float
    more: Float

    @classmethod
    def of(cls, hits: Int, reference: Int, estimate: Int, pair: Int, pairs: int) -> Counts:
        """Sum the numbers of frames by pair.

        Parameters
        ----------
        hits, reference, estimate, pair : int64 (frames,)
            Numbers of pitches of each frame, and the pair it belongs to.
        pairs : int
        """
        fewer, more = np.minimum(reference, estimate), np.maximum(reference, estimate)
        columns = (hits, reference, estimate, fewer, more)
        return cls(*(sum_by(pair, column.astype(np.float64), pairs) for column in columns))


Reading = tuple[Float, Float]
"""Scores, and their denominators in pitches."""


def _over(part: Float, whole: Float) -> Reading:
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0), whole


READINGS: MappingProxyType[str, Callable[[Counts], Reading]] = MappingProxyType(
    {
        "precision": lambda counts: _over(counts.hits, counts.estimate),
        "recall": lambda counts: _over(counts.hits, counts.reference),
        "accuracy": lambda counts: _over(counts.hits, counts.estimate + counts.reference - counts.hits),
        "substitution_error": lambda counts: _over(counts.fewer - counts.hits, counts.reference),
        "miss_error": lambda counts: _over(counts.reference - counts.fewer, counts.reference),
        "false_alarm_error": lambda counts: _over(counts.estimate - counts.fewer, counts.reference),
        "total_error": lambda counts: _over(counts.more - counts.hits, counts.reference),
    }
)
"""How each measure is read off the counts; those of chroma are read off counts of chroma."""
CHROMA = "chroma_"
