"""Scores on frames of a common length, in place of the times of both annotations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..annotations.grids import GridForm, too_late
from ..annotations.schema import KINDS
from ..kernels.intervals import MOST_FRAMES
from .base import FRAMES, Grid, Pairs, Scorer, Scores
from .measures import Measure

GRIDS = ("union", FRAMES)
_TOO_LONG = f"{{}}: ends too late for frames of {{:g}} s (more than {MOST_FRAMES}); are its times in seconds?"


def with_frames(score: Callable[..., Scores], kind: str, form: GridForm) -> Scorer:
    """Score pairs also on frames of a hop in seconds: both sides are sampled as by :func:`mirflow.align`.

    `score`: scores (pairs, measures) on the default grid.
    """
    return partial(_score, score, kind, form)


def _score(
    score: Callable[..., Scores], kind: str, form: GridForm, pairs: Pairs, measures: Sequence[Measure], grid: Grid
) -> Scores:
    if isinstance(grid, str):
        return score(pairs, measures)
    hop, own = grid, KINDS[kind]
    refused = {
        pair: _TOO_LONG.format(name, hop)
        for name, (rows, row) in zip(("estimate", "reference"), reversed(pairs.sides), strict=True)
        for pair in np.flatnonzero(too_late(own, rows, hop)[row]).tolist()
    }
    references, estimates = (form.sample(own, rows, hop) for rows, _ in pairs.sides)
    in_frames = []  # the measures of the same quantities if a frame takes a second
    for measure in measures:
        parameters = zip(measure.metric.parameters, measure.values, strict=True)
        values = (round(v / hop, 9) if p.unit == "s" and isinstance(v, float) else v for p, v in parameters)
        in_frames.append(Measure(measure.metric, tuple(values)))
    scores = score(replace(pairs, references=references, estimates=estimates), in_frames)
    scores.score[list(refused)] = np.nan
    units = [measure.metric.weight_unit for measure in measures if not measure.metric.dims]
    weight = scores.weight * np.array([hop if unit == "s" else 1.0 for unit in units])
    return replace(scores, weight=weight, refused={**scores.refused, **refused})
