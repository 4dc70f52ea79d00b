"""Aggregates over tracks on plain arrays, in the form that resampling can use again."""

from __future__ import annotations

import numpy as np

from ..errors import QueryError
from ..ragged import Bool, Float


def track_weights(kind: str, weight: Float, duration: Float) -> tuple[Float, Float]:
    """What a track's score is multiplied by above, and what is added up below, the fraction line of an aggregate.

    Parameters
    ----------
    kind : {"mean", "pooled", "wcsr", "wcsr_tn", "wcsr_total"}
        Every aggregate that is a ratio of sums over tracks; the median is none.
    weight : float64 (systems, tracks, metrics)
        The scores' own weights.
    duration : float64 (tracks,), seconds
        Durations of the references.

    Returns
    -------
    (above, below) : float64 (systems, tracks, metrics)
        The aggregate is ``sum(score * above) / sum(below)``. A bootstrap multiplies both sums' terms by how often
        each track was drawn.

    Raises
    ------
    QueryError
        For a `kind` that is not a ratio of sums.
    """
    if kind == "mean":
        ones = np.ones_like(weight)
        return ones, ones
    if kind in ("pooled", "wcsr"):
        return weight, weight
    seconds = np.broadcast_to(duration[:, np.newaxis], weight.shape)
    if kind == "wcsr_tn":
        return seconds, seconds
    if kind == "wcsr_total":
        return weight, seconds
    raise QueryError(f"aggregate {kind!r} is not a ratio of sums over tracks; choose mean")


def reduce(score: Float, weight: Float, duration: Float, kind: str, included: Bool) -> Float:
    """One aggregate over the tracks.

    Parameters
    ----------
    score, weight : float64 (systems, tracks, metrics)
        What is not included may hold anything, NaN too.
    duration : float64 (tracks,), seconds
        Durations of the references; only ``wcsr_tn`` and ``wcsr_total`` look at it.
    kind : str
        A name of :data:`mirflow.analysis.names.AGGREGATES`.
    included : bool (systems, tracks, metrics)
        The scores that count.

    Returns
    -------
    float64 (systems, metrics)
        NaN where nothing is included or nothing weighs.

    Examples
    --------
    >>> score = np.array([[[1.0], [0.0]]])
    >>> weight = np.array([[[30.0], [10.0]]])
    >>> duration, both = np.array([40.0, 60.0]), np.ones((1, 2, 1), dtype=bool)
    >>> kinds = ("mean", "wcsr", "wcsr_tn", "wcsr_total")
    >>> [reduce(score, weight, duration, kind, both).item() for kind in kinds]
    [0.5, 0.75, 0.4, 0.3]
    """
    if kind == "median":
        return _median(score, included)
    above, below = track_weights(kind, weight, duration)
    # The same products in the same order as xarray's weighted mean, so that a pooled score equals it to the bit.
    # What weighs nothing adds nothing, an infinite score too.
    known = np.where(included & (above != 0), score, 0.0)
    with np.errstate(invalid="ignore"):  # of both infinities there is no mean, and NaN says so
        total: Float = np.einsum("stm,stm->sm", known, np.where(included, above, 0.0))
    whole: Float = np.einsum("stm,stm->sm", included.astype(np.float64), np.where(included, below, 0.0))
    return np.divide(total, whole, out=np.full_like(total, np.nan), where=whole != 0)


def _median(score: Float, included: Bool) -> Float:
    """The median of what is included; NaN where that is nothing."""
    systems, tracks, metrics = score.shape
    if tracks == 0:
        return np.full((systems, metrics), np.nan)
    ordered = np.sort(np.where(included, score, np.nan), axis=1)
    count = included.sum(axis=1, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis=1)
    high = np.take_along_axis(ordered, count // 2, axis=1)
    with np.errstate(invalid="ignore"):
        middle = (low + high)[:, 0] / 2
    return np.asarray(middle)
