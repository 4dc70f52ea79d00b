"""Seconds by class of the reference and class of the estimate, and what is read off them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...kernels.sums import sum_by
from ...ragged import Bool, Float, Int
from ...theory.chords import OCTAVE, ChordTable
from ..base.task import Sparse
from .cutting import Cut
from .vocabularies import VOCABULARIES, get_vocabulary, to_25


@dataclass(frozen=True, slots=True)
class Confusion:
    """Seconds in which the reference is of one class and the estimate of one, sparse.

    Parameters
    ----------
    pair, reference, estimate : int64 (n,)
        Sorted by these three; every combination at most once.
    seconds : float64 (n,)
        Above 0.
    pairs : int
        How many pairs there are.
    """

    pair: Int
    reference: Int
    estimate: Int
    seconds: Float
    pairs: int

    def sum(self, index: Int, size: int, right_only: bool = False) -> Float:
        """Seconds by an index of the entries, all or only those where both classes are the same: float64 (size,)."""
        weights = np.where(self.reference == self.estimate, self.seconds, 0.0) if right_only else self.seconds
        return sum_by(index, weights, size)


Classifier = Callable[[ChordTable], Int]


def classifier(name: str) -> tuple[Classifier, int]:
    """How chords fall into classes, and how many there are; ``25`` is the mapping of 2008."""
    if name == "25":
        return to_25, 2 * OCTAVE + 1
    vocabulary = get_vocabulary(name)
    return vocabulary.classify, len(vocabulary.classes)


def add_up(batch: Cut, classes: Int, size: int) -> Confusion:
    """The confusion of the classes of one batch; `classes` are those of the distinct chords."""
    key = (batch.pair * size + classes[batch.reference_chord]) * size + classes[batch.estimate_chord]
    distinct, place = np.unique(key, return_inverse=True)
    seconds = sum_by(place.reshape(-1), batch.seconds, len(distinct))
    some = seconds > 0
    distinct = distinct[some]
    pair, rest = np.divmod(distinct, size * size)
    return Confusion(pair, rest // size, rest % size, seconds[some], len(batch))


def join(parts: Sequence[Confusion]) -> Confusion:
    """The confusions of consecutive batches as one."""
    starts = np.cumsum([0, *(part.pairs for part in parts)])
    shifted = [part.pair + start for part, start in zip(parts, starts, strict=False)]
    empty = np.zeros(0, dtype=np.int64)
    return Confusion(
        np.concatenate([empty, *shifted]),
        np.concatenate([empty, *(part.reference for part in parts)]),
        np.concatenate([empty, *(part.estimate for part in parts)]),
        np.concatenate([np.zeros(0), *(part.seconds for part in parts)]),
        int(starts[-1]),
    )


def overlap(confusion: Confusion) -> tuple[Float, Float]:
    """Seconds in which both classes are the same, and all seconds: float64 (pairs,) each."""
    return (
        confusion.sum(confusion.pair, confusion.pairs, right_only=True),
        confusion.sum(confusion.pair, confusion.pairs),
    )


def class_recall(confusion: Confusion, vocabulary: str) -> tuple[Float, Float]:
    """Mean over the reference's qualities of the share that is right, and the number of those qualities.

    Parameters
    ----------
    confusion : Confusion
        Of that vocabulary.
    vocabulary : str

    Returns
    -------
    score, weight : float64 (pairs,)
        ``N`` is a quality like others; what is in no class of the vocabulary is left out. 0 with weight 0 where the
        reference has no quality of the vocabulary.
    """
    quality = VOCABULARIES[vocabulary].quality_of_class()[confusion.reference]
    inside = quality >= 0
    chosen = Confusion(
        confusion.pair[inside],
        confusion.reference[inside],
        confusion.estimate[inside],
        confusion.seconds[inside],
        confusion.pairs,
    )
    kinds = int(VOCABULARIES[vocabulary].quality_of_class().max()) + 1
    index = chosen.pair * kinds + quality[inside]
    seconds = chosen.sum(index, confusion.pairs * kinds)
    right = chosen.sum(index, confusion.pairs * kinds, right_only=True)
    occurs = seconds > 0
    share = np.divide(right, seconds, out=np.zeros_like(right), where=occurs).reshape(confusion.pairs, kinds)
    number = np.count_nonzero(occurs.reshape(confusion.pairs, kinds), axis=1).astype(np.float64)
    total = np.cumsum(share, axis=1)[:, -1]  # one after the other, whatever the number of pairs
    return np.divide(total, number, out=np.zeros_like(total), where=number > 0), number


def to_sparse(confusion: Confusion, vocabulary: str, pairs: Int, kept: Bool) -> Sparse:
    """Confusion matrices as a result with extra dims.

    Parameters
    ----------
    confusion : Confusion
    vocabulary : str
    pairs : int64 (pairs,)
        The number of each of its pairs in the whole call.
    kept : bool (pairs,)
        The pairs that have a result.
    """
    classes = get_vocabulary(vocabulary).classes
    chosen = kept[confusion.pair]
    return Sparse(
        ("ref_class", "est_class"),
        (classes, classes),
        np.column_stack([pairs[confusion.pair], confusion.reference, confusion.estimate])[chosen],
        confusion.seconds[chosen],
        {"long_name": f"time by chord class of the reference and of the estimate ({vocabulary})", "units": "s"},
    )
