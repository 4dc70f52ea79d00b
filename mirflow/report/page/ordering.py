"""Which tracks are worth looking at: those that all systems do badly, and those on which they differ."""

from __future__ import annotations

from itertools import chain

import numpy as np

from ...analysis.scoreboard import Scoreboard
from ...ragged import Float


def order_tracks(board: Scoreboard, metric: int) -> list[int]:
    """Positions of all tracks: the worst, the one of the largest spread over the systems, the second worst, and so on.

    Parameters
    ----------
    board : Scoreboard
    metric : int
        Position of the metric that decides; with none in the board the tracks keep their order.
    """
    if not board.metrics:
        return list(range(len(board.tracks)))
    score = board.load(range(len(board.systems)))[0][..., metric]
    lower = board.texts("orientation")[metric] == "lower"
    worst = np.argsort(_mean(-score if lower else score), kind="stable")
    differing = np.argsort(-_spread(score), kind="stable")
    both = chain.from_iterable(zip(worst.tolist(), differing.tolist(), strict=True))
    return list(dict.fromkeys(both))


def _mean(score: Float) -> Float:
    """Mean over the systems that have a score; infinite, and so the last, where none has."""
    known = ~np.isnan(score)
    count = known.sum(axis=0)
    total = np.where(known, score, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.inf)


def _spread(score: Float) -> Float:
    """Best minus worst score of each track; 0 where there are none."""
    if not score.size:
        return np.zeros(score.shape[1])
    known = ~np.isnan(score)
    spread: Float = np.where(known, score, -np.inf).max(axis=0) - np.where(known, score, np.inf).min(axis=0)
    return np.where(np.isfinite(spread), spread, 0.0)
