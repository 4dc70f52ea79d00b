"""Metrics with extra dims along these dims, within each track: a mean, a median, or one label."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..metrics.aggregates import table_aggregates
from ..metrics.measures import Measure, describe
from ..ragged import Float
from ..store.format import OWN_DIMS
from .query_options import Query, as_names
from .scores import ANNOTATOR, Array, arrays_of, coords_of, labels_of, names_of
from .selection import CLASS, classes_of, explain_dims, find_measures, split_names

if TYPE_CHECKING:
    import xarray as xr


def _sum(values: Float) -> Float:
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):  # the sum of both infinities is NaN
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


REDUCTIONS: Mapping[str, Callable[[Float], Float]] = MappingProxyType(
    {
        "mean": _mean,
        "median": _median,
        "sum": _sum,
        "min": lambda values: np.asarray(np.fmin.reduce(values, axis=0, initial=np.nan)),
        "max": lambda values: np.asarray(np.fmax.reduce(values, axis=0, initial=np.nan)),
    }
)
"""Reductions along a dim, without NaN; the reduction of no value at all is NaN."""


def reduce_along(values: Float, axis: int, how: str) -> Float:
    """Reduce an axis, leaving out NaN.

    `values` (float64). Returns float64, with one axis less: NaN without any value.

    Examples
    --------
    >>> values = np.array([[1.0, 2.0, np.nan], [np.nan, np.nan, np.nan]])
    >>> [reduce_along(values, 1, how).tolist() for how in ("mean", "median", "sum", "max")]
    [[1.5, nan], [1.5, nan], [3.0, nan], [2.0, nan]]
    """
    return REDUCTIONS[how](np.moveaxis(values, axis, 0))


def check_over(metric: str, labels: Mapping[str, Sequence[str]], over: Mapping[str, str]) -> None:
    """Refuse dims that a metric does not have, and values that are neither a reduction nor a label."""
    for dim, how in over.items():
        if not labels:
            raise QueryError(f"over {dim!r}: metric {metric!r} is one number for each track, and has no dims to reduce")
        if dim not in labels:
            raise UnknownNameError(f"dim of {metric}", dim, labels)
        if how not in REDUCTIONS and how not in labels[dim]:
            raise UnknownNameError(f"reduction or {dim}", how, [*REDUCTIONS, *labels[dim]])


def reduce_over(values: Float, labels: Mapping[str, Sequence[str]], over: Mapping[str, str]) -> Float:
    """Reductions along some dims, or the choice of one label, one after the other.

    `values` (float64 (tracks, dims)), `labels`: the dims after the first, with their labels. `over`: in the order of
    the reductions. What names a reduction is one, even if a label is called so too.
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


TRACKS = 256
"""How many tracks are read at a time: dense values are large."""


def table_of(ds: xr.Dataset, variable: str) -> xr.DataArray:
    """Rename the extra dims of a result to the metric's names."""
    # A dim whose labels differ from another variable's is stored with the variable's name in front.
    table = ds[variable]
    dims = [str(dim) for dim in table.dims[2:]]
    renamed = {dim: own for dim, own in zip(dims, table.attrs.get(OWN_DIMS, dims), strict=True) if dim != own}
    return table.reset_coords(drop=True).rename(renamed) if renamed else table


def name_dim(asked: str, dims: Collection[str]) -> str:
    """A dim as a metric calls it, where ``class`` is that of its classes, whatever they are.

    Examples
    --------
    >>> name_dim("class", ["instrument", "count"]), name_dim("count", ["instrument", "count"])
    ('instrument', 'count')
    """
    return (classes_of(dims) or asked) if asked == CLASS and asked not in dims else asked


def over_of(table: xr.DataArray, metric: str, query: Query) -> dict[str, str]:
    """The reductions and choices within each track, by the dims of the variable."""
    labels = labels_of(table)
    over = {name_dim(dim, labels): how for dim, how in (query.over or {}).items()}
    check_over(metric, labels, over)
    return over


def say_over(over: Mapping[str, str]) -> str:
    """Reductions within each track, as text."""
    return ", ".join(f"{dim}={how}" for dim, how in over.items())


def derive(ds: xr.Dataset, query: Query) -> tuple[xr.Dataset, Query]:
    """Put the metrics with one number per track by ``over`` among all others.

    Returns `ds`: the same one where nothing is reduced. `query`: without ``over`` if that was used.
    """
    if not query.over or query.metric is None:
        return ds, query
    numbers, variables = split_names(ds, query.metric, exact=query.exact)
    if not variables:
        return ds, query
    measures = find_measures(ds)
    score, weight, status, duration = arrays_of(ds)
    scores, weights = [score], [weight]
    for variable in variables:
        table, measure = table_of(ds, variable), measures[variable]
        over = over_of(table, str(measure), query)
        if len(over) < len(table.dims[2:]):
            raise QueryError(explain_dims(ds, variable, over))
        if measure.metric.nominal:
            raise QueryError(refuse_nominal(measure))
        values, dims = np.empty(table.shape[:2]), labels_of(table)
        for system, start in product(range(table.shape[0]), range(0, table.shape[1], TRACKS)):
            part = np.asarray(table[system, start : start + TRACKS].values, dtype=np.float64)
            part = part if measure.metric.orientation != "none" else np.nan_to_num(part)
            values[system, start : start + TRACKS] = reduce_over(part, dims, over)
        # A track of which no system has a value, as one without that instrument, has nothing to measure.
        there = np.broadcast_to(~np.isnan(values).all(axis=0), values.shape)
        scores.append(values[..., np.newaxis])
        weights.append(there[..., np.newaxis].astype(np.float64))
    names = [str(measures[variable]) for variable in variables]
    rest = ds.drop_vars([*variables, "score", "weight"]).drop_dims("metric")
    cells = {"score": np.concatenate(scores, axis=2), "weight": np.concatenate(weights, axis=2)}
    derived = rest.assign({name: (("system", "track", "metric"), values) for name, values in cells.items()})
    derived = derived.assign(status=(("system", "track"), status), duration=("track", duration))
    coords = _coords(ds, [measures[variable] for variable in variables])
    labels = {"metric": np.array([*names_of(ds, "metric"), *names], dtype=str)}
    derived = derived.assign_coords({**labels, **{name: ("metric", values) for name, values in coords.items()}})
    return derived.assign_attrs(over=say_over(query.over)), replace(query, metric=[*numbers, *names], over=None)


def refuse_annotators(ds: xr.Dataset, query: Query, metric: str) -> None:
    """Refuse annotators, for whom only scores are kept."""
    asked = query.annotator is not None or ANNOTATOR in (as_names(query.by) or [])
    if asked and ANNOTATOR not in coords_of(ds, "track"):
        raise QueryError(f"annotators: only scores are kept for each of them, and metric {metric!r} has extra dims")


def refuse_nominal(measure: Measure) -> str:
    """Refuse an aggregate over tracks of nominal results."""
    return (
        f"metric {str(measure)!r}: its numbers are names ({measure.metric.summary}), which have no sum and no mean; "
        "list them by track (by, --by track)"
    )


def _coords(ds: xr.Dataset, measures: Sequence[Measure]) -> dict[str, Array]:
    """Coordinates of the metrics, with those of some more; NaN or an empty text where there is none."""
    more: dict[str, Array] = dict(describe(measures))
    allowed = [table_aggregates(measure.metric.orientation, measure.metric.dims) for measure in measures]
    more["aggregates"] = np.array([" ".join(names) for names in allowed])
    standard = [measure.metric.standard_aggregate for measure in measures]
    counted = [measure.metric.orientation == "none" for measure in measures]
    more["standard_aggregate"] = np.array(
        [next(iter(names)) if sums else own for names, own, sums in zip(allowed, standard, counted, strict=True)]
    )
    own, sizes = coords_of(ds, "metric"), (ds.sizes["metric"], len(measures))
    coords = {}
    for name in dict.fromkeys([*own, *more]):
        both = own.get(name), more.get(name)
        numeric = all(one is None or one.dtype.kind in "iuf" for one in both)
        blank = np.nan if numeric else ""
        sides = zip(both, sizes, strict=True)
        values = [value for one, n in sides for value in ([blank] * n if one is None else one.tolist())]
        coords[name] = np.array(values) if numeric else np.array(list(map(str, values)), dtype=str)
    coords.pop("metric", None)
    return coords
