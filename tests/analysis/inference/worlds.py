"""Evaluations with known properties, for the tests of inference."""

from __future__ import annotations

from typing import Any

import numpy as np

from mirflow.analysis.scoreboard import Scoreboard, from_dataset
from mirflow.cells import Status

from ...groups import make_group

KINDS = ("mean", "median", "pooled", "wcsr", "wcsr_tn", "wcsr_total")


def board_of(score: Any, weight: Any = 1.0, **keywords: Any) -> Scoreboard:
    """An evaluation of scores (system, track, metric); NaN is a missing estimate."""
    score = np.asarray(score, dtype=np.float64)
    missing = np.isnan(score).any(axis=2)
    status = np.where(missing, int(Status.missing_estimate), int(Status.ok))
    return from_dataset(make_group(score, weight, status=status, **keywords))


def random_scores(systems: int, tracks: int, metrics: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores and weights that hang together: long tracks are harder."""
    rng = np.random.default_rng(seed)
    weight = rng.uniform(1, 300, (systems, tracks, metrics))
    score = np.clip(rng.beta(4, 2, (systems, tracks, metrics)) - weight / 3000, 0, 1)
    return score, weight


def random_board(systems: int, tracks: int, metrics: int = 1, seed: int = 0, **keywords: Any) -> Scoreboard:
    score, weight = random_scores(systems, tracks, metrics, seed)
    duration = np.random.default_rng(seed + 1).uniform(300, 400, tracks)
    return board_of(score, weight, duration=duration, **keywords)
