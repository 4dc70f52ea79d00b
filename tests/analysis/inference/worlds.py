"""Evaluations with known properties, for the tests of inference."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from mirflow.analysis.inference import compare
from mirflow.analysis.query_options import OPTIONS, Query

from ...groups import make_group

KINDS = ("mean", "median", "pooled", "wcsr", "wcsr_tn", "wcsr_total")


def group_of(score: Any, weight: Any = 1.0, **keywords: Any) -> xr.Dataset:
    """An evaluation of scores (system, track, metric); NaN is a missing estimate."""
    score = np.asarray(score, dtype=np.float64)
    status = np.where(np.isnan(score).any(axis=2), "missing_estimate", "ok")
    return make_group(score, weight, status=status, **keywords)


def random_scores(systems: int, tracks: int, metrics: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores and weights that depend on each other: long tracks are harder."""
    rng = np.random.default_rng(seed)
    weight = rng.uniform(1, 300, (systems, tracks, metrics))
    score = np.clip(rng.beta(4, 2, (systems, tracks, metrics)) - weight / 3000, 0, 1)
    return score, weight


def random_world(systems: int, tracks: int, metrics: int = 1, seed: int = 0, **keywords: Any) -> xr.Dataset:
    """An evaluation of such scores, with durations."""
    score, weight = random_scores(systems, tracks, metrics, seed)
    duration = np.random.default_rng(seed + 1).uniform(300, 400, tracks)
    return group_of(score, weight, duration=duration, **keywords)


def value_of(kind: str, score: np.ndarray, weight: np.ndarray, duration: np.ndarray) -> np.ndarray:
    """An aggregate over the last axis, the tracks, by its definition."""
    if kind == "median":
        return np.median(score, axis=-1)
    above = {"mean": 1.0, "wcsr_tn": duration}.get(kind, weight)
    below = {"mean": 1.0, "pooled": weight, "wcsr": weight}.get(kind, duration)
    return (score * above).sum(axis=-1) / np.broadcast_to(below, score.shape).sum(axis=-1)


def compared(ds: xr.Dataset, metric=None, aggregate=None, **words) -> xr.Dataset:
    """A comparison of all metrics of a query."""
    asked = {name: words.pop(name) for name in OPTIONS.keys() & words.keys()}
    return compare(ds, Query(metric, aggregate, **asked), **words)
