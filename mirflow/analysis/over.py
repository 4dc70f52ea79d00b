"""Along extra dims of a metric, within each track: the median over the frames, the mean over sources, or one label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..ragged import Float


def _sum(values: Float) -> Float:
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):  # of both infinities there is no sum, and NaN says so
        total = np.where(there, values, 0.0).sum(axis=0)
    return np.where(there.any(axis=0), total, np.nan)


def _mean(values: Float) -> Float:
    count = (~np.isnan(values)).sum(axis=0)
    return np.asarray(_sum(values) / np.maximum(count, 1))


def _median(values: Float) -> Float:
    if not len(values):
        return np.full(values.shape[1:], np.nan)
    ordered, count = np.sort(values, axis=0), (~np.isnan(values)).sum(axis=0, keepdims=True)
    low = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis=0)
    high = np.take_along_axis(ordered, np.minimum(count // 2, len(values) - 1), axis=0)
    with np.errstate(invalid="ignore"):
        middle = (low + high)[0] / 2
    return np.asarray(middle)


def _least(values: Float) -> Float:
    return np.asarray(np.fmin.reduce(values, axis=0, initial=np.nan))


def _most(values: Float) -> Float:
    return np.asarray(np.fmax.reduce(values, axis=0, initial=np.nan))


REDUCTIONS: Mapping[str, Callable[[Float], Float]] = MappingProxyType(
    {"mean": _mean, "median": _median, "sum": _sum, "min": _least, "max": _most}
)
"""What can be done along a dim; what has no value is left out, and of nothing there is none."""


def reduce_along(values: Float, axis: int, how: str) -> Float:
    """One reduction along an axis; NaN stands for no value and is left out.

    Parameters
    ----------
    values : float64
    axis : int
    how : str
        A name of :data:`REDUCTIONS`.

    Returns
    -------
    float64, with one axis less
        NaN where there is no value.

    Examples
    --------
    >>> values = np.array([[1.0, 2.0, np.nan], [np.nan, np.nan, np.nan]])
    >>> [reduce_along(values, 1, how).tolist() for how in ("mean", "median", "sum", "max")]
    [[1.5, nan], [1.5, nan], [3.0, nan], [2.0, nan]]
    """
    return REDUCTIONS[how](np.moveaxis(values, axis, 0))


def check_over(metric: str, labels: Mapping[str, Sequence[str]], over: Mapping[str, str]) -> None:
    """Refuse dims that a metric does not have, and what is neither a reduction nor a label.

    Parameters
    ----------
    metric : str
    labels : mapping of str to sequence of str
        The labels along each dim.
    over : mapping of str to str

    Raises
    ------
    QueryError
        If there are no dims at all.
    UnknownNameError
        With a suggestion.
    """
    for dim, how in over.items():
        if not labels:
            raise QueryError(f"over {dim!r}: metric {metric!r} is one number for each track, and has no dims to reduce")
        if dim not in labels:
            raise UnknownNameError(f"dim of {metric}", dim, labels)
        if how not in REDUCTIONS and how not in labels[dim]:
            raise UnknownNameError(f"reduction or {dim}", how, [*REDUCTIONS, *labels[dim]])


def reduce_over(values: Float, labels: Mapping[str, Sequence[str]], over: Mapping[str, str]) -> Float:
    """Reductions along some dims, or the choice of one label, one after the other.

    Parameters
    ----------
    values : float64 (tracks, dims)
    labels : mapping of str to sequence of str
        The dims after the first, with their labels.
    over : mapping of str to str
        In the order of the reductions. What names a reduction is one, even if a label is called so too.
    """
    left = list(labels)
    for dim, how in over.items():
        place = left.index(dim)
        if how in REDUCTIONS:
            values = reduce_along(values, place + 1, how)
        else:
            values = np.asarray(values.take(list(labels[dim]).index(how), axis=place + 1))
        left.pop(place)
    return values
