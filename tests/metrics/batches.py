"""Pairs of annotations scored together and alone, for the tests of batched conventions."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np

from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.metrics.base import Convention, Pairs, Scores
from mirflow.metrics.measures import Measure

Pair = tuple[Annotation, Annotation]


def score_pairs(convention: Convention, pairs: Sequence[Pair], measures: Sequence[Measure] | None = None) -> Scores:
    """Scores of pairs in one batch, without cleaning."""
    references, estimates = (to_ragged(side) for side in zip(*pairs, strict=True))
    return convention.score(Pairs.in_order(references, estimates), measures or convention.select(), convention.grids[0])


def assert_batches_do_not_matter(
    convention: Convention, pairs: Sequence[Pair], measures: Sequence[Measure], random: Random
) -> None:
    """Each pair alone equals the same pair in a batch in any order, to the bit."""
    order = list(range(len(pairs)))
    random.shuffle(order)
    together = score_pairs(convention, [pairs[index] for index in order], measures)
    for place, index in enumerate(order):
        alone = score_pairs(convention, [pairs[index]], measures)
        assert alone.score[0].tobytes() == together.score[place].tobytes()
        assert alone.weight[0].tobytes() == together.weight[place].tobytes()
        assert alone.refused.get(0) == together.refused.get(place)
    assert np.isfinite(together.weight).all()
