"""What a swap of two systems on a track moves a quantile, against all the swaps that there are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mirflow.analysis.inference import permutation
from mirflow.analysis.inference.permutation import PooledScores
from mirflow.analysis.inference.sample import Sample
from mirflow.metrics.aggregates import Statistic


def moves(kind: str, first: np.ndarray, second: np.ndarray, shift: float = 0.0) -> np.ndarray:
    score = np.stack([first, second])[..., np.newaxis]
    every = np.ones_like(score)
    sample = Sample([kind], score, every, every > 0, np.ones(len(first)), np.arange(len(first)))
    return PooledScores(sample, 0, np.array([[0, 1]])).moves(np.array([shift]))[0]


@pytest.fixture
def quantile(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    share: float = request.param
    declared = {"quantile": Statistic("quantile", "a quantile", np.median, quantile=share)}
    monkeypatch.setattr(permutation, "STATISTICS", declared)
    return share


@pytest.mark.parametrize("quantile", [0.0, 0.25, 0.3, 0.5, 0.9, 1.0], indirect=True)
@pytest.mark.parametrize("tracks", [1, 2, 5, 6])
def test_a_track_counts_the_share_of_swaps_with_the_quantile_between_its_scores(quantile: float, tracks: int) -> None:
    first, second = np.random.default_rng(tracks).integers(0, 6, (2, tracks)) / 8  # with equal ones
    pooled = np.sort([np.where(swap, first, second) for swap in product([True, False], repeat=tracks)], axis=1)
    place = quantile * (tracks - 1)
    lower, share = int(place), place - int(place)

    def below(score: float) -> float:
        ends = [(lower, 1 - share), *([(lower + 1, share)] if share else [])]
        halves = ((pooled[:, rank] < score).mean() + (pooled[:, rank] <= score).mean() for rank, _ in ends)
        return sum(weight * half / 2 for (_, weight), half in zip(ends, halves, strict=True))

    expected = [below(one) - below(other) for one, other in zip(first, second, strict=True)]
    np.testing.assert_allclose(moves("quantile", first, second), expected, atol=1e-12)
    np.testing.assert_allclose(moves("quantile", first, second - 0.25, 0.25), expected, atol=1e-12)


def test_a_track_counts_how_far_its_scores_move_another_statistic(monkeypatch: pytest.MonkeyPatch) -> None:
    squares = Statistic("squares", "mean of squares", lambda ordered, count: (ordered**2).sum(axis=-1) / count)
    monkeypatch.setattr(permutation, "STATISTICS", {"squares": squares})
    first, second = np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.2, 0.9])
    # Means of squares without either differ by a fifth of the difference of the two squares.
    np.testing.assert_allclose(moves("squares", first, second), (first**2 - second**2) / 5, atol=1e-12)
