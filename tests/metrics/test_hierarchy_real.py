"""The nine scores of two listeners' hierarchies, against mir_eval."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from .hierarchies import Hierarchy, before, mir_eval_scores, salami
from .test_hierarchy_scoring import score_pairs

Pairs = list[tuple[Hierarchy, Hierarchy]]


def check(pairs: Pairs) -> None:
    found = score_pairs(pairs)
    assert not found.refused
    for score, (reference, estimate) in zip(found.score, pairs, strict=True):
        end = max(times.max() for times in reference[0])
        expected = list(mir_eval_scores(reference, before(end, estimate)).values())
        np.testing.assert_allclose(score, expected, rtol=0, atol=1e-9)


def test_a_listener_against_another_on_the_shortest_song(shared_data: Path) -> None:
    check([min(salami(shared_data), key=lambda pair: pair[0][0][0].max())])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_sample_of_songs_both_ways_round(seed: int, shared_data: Path) -> None:
    pairs = salami(shared_data)
    assert len(pairs) == 120
    check(random.Random(seed).sample([*pairs, *((other, one) for one, other in pairs)], 6))


def test_all_songs_in_one_batch_equal_single_songs_to_the_bit(shared_data: Path) -> None:
    pairs = salami(shared_data)
    together = score_pairs(pairs)
    for place in range(0, len(pairs), 17):
        alone = score_pairs([pairs[place]])
        assert alone.score[0].tobytes() == together.score[place].tobytes()
        assert alone.weight[0].tobytes() == together.weight[place].tobytes()
