"""Reductions within each track: along the dims of a metric, and over several systems or runs.

Dims of metrics become a mean, a median, or one label. Of systems, or of the runs of a model, there is the best, the
mean or the worst one, and the one that another score chooses. Systems that share a coordinate are groups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..metrics.aggregates import NEGLIGIBLE, table_aggregates
from ..metrics.measures import Measure, describe
from ..ragged import Bool, Float, Int
from ..store.cells import Status
from ..store.format import OWN_DIMS
from .lookup import CLASS, classes_of, explain_dims, find_measures, find_single, split_names
from .query_options import Query, as_names
from .scores import ANNOTATOR, Array, arrays_of, computed, coords_of, labels_of, names_of, numbers_of, show_span
from .selection import ScoreSelection, SelectionTotals

if TYPE_CHECKING:
    import xarray as xr


def _sum(values: Float) -> Float:
    there = ~np.isnan(values)
    with np.errstate(invalid="ignore"):  # the sum of both infinities is NaN
        total = np.where(there, values, 0.0).sum(axis=0)
    return np.where(there.any(axis=0), total, np.nan)


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
        "mean": lambda values: np.asarray(_sum(values) / np.maximum((~np.isnan(values)).sum(axis=0), 1)),
        "median": _median,
        "sum": _sum,
        "min": lambda values: np.asarray(np.fmin.reduce(values, axis=0, initial=np.nan)),
        "max": lambda values: np.asarray(np.fmax.reduce(values, axis=0, initial=np.nan)),
    }
)
"""Reductions along the first axis (float64), without NaN; the reduction of no value at all is NaN."""


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
            values = REDUCTIONS[how](np.moveaxis(values, place + 1, 0))
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
    # Coordinates of all metrics; NaN or an empty text where there is none.
    about = [measures[variable].metric for variable in variables]
    more: dict[str, Array] = dict(describe([measures[variable] for variable in variables]))
    allowed = [table_aggregates(metric.orientation, metric.dims) for metric in about]
    more["aggregates"] = np.array([" ".join(kinds) for kinds in allowed])
    more["standard_aggregate"] = np.array(
        [
            next(iter(kinds)) if metric.orientation == "none" else metric.standard_aggregate
            for kinds, metric in zip(allowed, about, strict=True)
        ]
    )
    own, sizes, coords = coords_of(ds, "metric"), (ds.sizes["metric"], len(about)), dict[str, Array]()
    for name in dict.fromkeys([*own, *more]):
        both = own.get(name), more.get(name)
        numeric = all(column is None or column.dtype.kind in "iuf" for column in both)
        sides = zip(both, sizes, strict=True)
        blank = np.nan if numeric else ""
        column = [value for one, n in sides for value in ([blank] * n if one is None else one.tolist())]
        coords[name] = np.array(column) if numeric else np.array(list(map(str, column)), dtype=str)
    coords.pop("metric", None)
    labels = {"metric": np.array([*names_of(ds, "metric"), *names], dtype=str)}
    derived = derived.assign_coords({**labels, **{name: ("metric", values) for name, values in coords.items()}})
    text = ", ".join(f"{dim}={how}" for dim, how in query.over.items())
    return derived.assign_attrs(over=text), replace(query, metric=[*numbers, *names], over=None)


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


Reductions = Mapping[str, Callable[[Float], Float]]
"""Functions from (systems, ...) to (...), by name."""
RUN, MODEL = "run", "model"
"""The coordinates of systems that are runs: the number or name of the run, and the name of the model."""
RUNS, EACH, GROUPED = "runs", "runs_of_each", "systems_by"
"""Attributes of a result: the number of systems that were grouped, how many each group has (``5`` or ``3-5``), and the
coordinate that they have in common."""


def has_runs(ds: xr.Dataset) -> bool:
    """True if systems are runs of models."""
    return {RUN, MODEL} <= coords_of(ds, "system").keys()


def group_systems(ds: xr.Dataset, coordinate: str) -> tuple[list[str], Int]:
    """The values of a coordinate of the systems in order of appearance, and the place of each system's among them."""
    coords = coords_of(ds, "system")
    if coordinate not in coords:
        how = "a pattern of estimates with {run} names runs" if coordinate == MODEL else "metadata of systems name it"
        raise QueryError(f"the systems have no coordinate {coordinate!r}; {how}")
    values = [str(value) for value in coords[coordinate].tolist()]
    if "" in values or "nan" in values:
        lacking = ds["system"].values[[value in ("", "nan") for value in values]][0]
        raise QueryError(f"system {lacking!r} has no value of {coordinate!r}; name the systems that have (system)")
    names = list(dict.fromkeys(values))
    return names, np.array([names.index(value) for value in values], dtype=np.int64)


def reduce_groups(result: xr.Dataset, coordinate: str, reductions: Reductions) -> xr.Dataset:
    """Reduce the systems of a result that share a value of a coordinate, which takes the place of the system.

    `result`: of a query: each run is a system. `coordinate`: ``model`` of runs, or another. `reductions`: those of
    :data:`mirflow.analysis.queries.ACROSS` that are asked for, such as ``mean`` and ``std``. Returns a model (or value)
    a system, with the dim ``run`` of their names in front of all groups; ``n`` is the largest of the runs, the other
    counts are sums. The coordinate ``n_runs`` has the number of systems of each.
    """
    import xarray as xr

    names = list(reductions)
    groups, codes = group_systems(result, coordinate)
    members = [np.flatnonzero(codes == group) for group in range(len(groups))]
    variables: dict[str, Any] = {}
    for key, one in result.data_vars.items():
        if "system" not in one.dims:
            variables[str(key)] = ((RUN, *one.dims), np.stack([one.values] * len(names)), one.attrs)
            continue
        values = one.transpose("system", ...).values
        if key == "value":
            reduced = [np.stack([reduce(values[rows]) for reduce in reductions.values()]) for rows in members]
        else:
            total = np.max if key in ("n", "n_values") else np.sum
            reduced = [np.stack([total(values[rows], axis=0)] * len(names)) for rows in members]
        rest = [dim for dim in one.dims if dim != "system"]
        variables[str(key)] = (("system", RUN, *rest), np.stack(reduced), one.attrs)
    coords = {name: coord.variable for name, coord in result.coords.items() if "system" not in coord.dims}
    shared = {
        name: ("system", np.array([values[rows[0]] for rows in members]))
        for name, values in coords_of(result, "system").items()
        if name not in (coordinate, RUN) and all((values[rows] == values[rows[0]]).all() for rows in members)
    }
    counts = np.array([len(rows) for rows in members])
    own = {"system": np.array(groups, dtype=str), RUN: np.array(names, dtype=str), "n_runs": ("system", counts)}
    attrs = {**result.attrs, RUNS: str(len(codes)), EACH: show_span(counts), GROUPED: coordinate}
    return xr.Dataset(variables, {**coords, **shared, **own}, attrs)


SYSTEM = "system"
BEST, WORST = "best", "worst"
_WORDS = (WORST, "mean", "median", BEST)
_COMMA = re.compile(r",(?![^()\[\]]*[)\]])")
"""A comma that is not among the parameters of a metric."""


def refuse_over_systems(query: Query, name: str) -> None:
    """Refuse reductions over systems beside an option that names stored ones."""
    for dim in query.over or {}:
        if dim in (SYSTEM, RUN):
            raise QueryError(f"{name!r} is about stored systems: leave out over {dim!r}")


def over_systems(
    ds: xr.Dataset, kinds: Mapping[int, str], query: Query, over: Mapping[str, str]
) -> tuple[xr.Dataset, dict[int, str]]:
    """Reduce systems on each track, by themselves or as runs of their models.

    `kinds`: the aggregates of its metrics, by their positions. `over`: ``system`` or ``run`` to words with commas
    between: ``worst``, ``mean``, ``median``, ``best``, or a metric, by which the best system of each track is chosen. A
    number behind it, as in ``likelihood:50``, keeps the tracks on which the metric is best, and leaves out the others.
    Returns `ds`: a system for each word (and each model), with the weights of the systems chosen, or the same reduction
    of weights. `kinds`: the aggregates of its metrics.
    """
    import xarray as xr

    if len(over) > 1:
        both = ", ".join(f"{dim}={how}" for dim, how in over.items())
        raise QueryError(f"systems are reduced over 'system' or over 'run', not over both: {both}")
    ((dim, text),) = over.items()
    words = [word.strip() for word in _COMMA.split(text)]
    places = list(kinds)
    judges = _judges(ds, dim, words, places)
    selection = ScoreSelection.of(ds, kinds, query)
    cells, totals = selection.cells(), SelectionTotals(selection)
    totals.add(cells)
    totals.check()
    names, codes = group_systems(ds, MODEL) if dim == RUN else ([""], np.zeros(ds.sizes[SYSTEM], dtype=np.int64))
    sign = np.array([-1.0 if way == "lower" else 1.0 for way in names_of(ds, "orientation", places)])
    counted = np.where(cells["_included"] & (cells["weight"] != NEGLIGIBLE), cells["score"], np.nan)
    labels, firsts, score, weight = [], [], [], []
    for group, name in enumerate(names):
        rows = np.flatnonzero(codes == group)
        for word in words:
            own, weights = counted[rows] * sign, cells["weight"][rows]
            defined = ~np.isnan(own)
            if word in ("mean", "median"):
                value, weighs = REDUCTIONS[word](own), REDUCTIONS[word](np.where(defined, weights, np.nan))
            else:
                # A system that is chosen without a score of its own leaves the track without one.
                order = own
                if word in judges:
                    judging, number = judges[word][0][rows], judges[word][1]
                    if number is not None:
                        best = np.where(np.isnan(judging), -np.inf, judging).max(axis=0, initial=-np.inf)
                        first = np.argsort(-best, kind="stable")[:number]
                        judging = np.where(np.isin(np.arange(len(best)), first), judging, np.nan)
                    order = np.broadcast_to(judging[..., np.newaxis], own.shape)
                usable: Bool = ~np.isnan(order)
                row = np.where(usable, -order if word == WORST else order, -np.inf).argmax(axis=0)
                value, weighs = (np.take_along_axis(each, row[np.newaxis], axis=0)[0] for each in (own, weights))
                value = np.where(usable.any(axis=0), value, np.nan)
            score.append(value * sign)
            weight.append(np.where(np.isnan(value), weights[0], weighs))
            said = f"{word} of {len(rows)}" if word in _WORDS else f"by {word}"
            labels.append(f"{name}, {said}" if name and len(words) > 1 else name or said)
            firsts.append(int(rows[0]))
    # A track of which none of the systems has a score keeps the status of the first one.
    scores, status = np.stack(score), np.array(ds["status"].values[firsts])
    status[~np.isnan(scores).all(axis=2)] = int(Status.ok)
    dims = ("system", "track", "metric")
    coords: dict[str, Any] = {SYSTEM: np.array(labels, dtype=str)}
    for other, part in (("track", ds), ("metric", ds.isel(metric=places))):
        coords |= {other: part[other].values}
        coords |= {name: (other, coord) for name, coord in coords_of(part, other).items()}
    variables = {"score": (dims, scores), "weight": (dims, np.stack(weight)), "status": (dims[:2], status)}
    reduced = "; ".join(filter(None, (str(ds.attrs.get("over", "")), f"{dim}={','.join(words)}")))
    attrs = {**ds.attrs, "over": reduced}
    result = xr.Dataset({**variables, "duration": ("track", ds["duration"].values)}, coords, attrs)
    return result, dict(enumerate(kinds.values()))


def _judges(
    ds: xr.Dataset, dim: str, words: Sequence[str], places: Sequence[int]
) -> dict[str, tuple[Float, int | None]]:
    """Of words that are metrics: their scores, float64 (systems, tracks), high ones being better, and how many tracks
    are kept (None: all). Raises for a word that is none, and for metrics that cannot choose."""
    judges: dict[str, tuple[Float, int | None]] = {}
    for word in words:
        judging = list(places) if word in (BEST, WORST) else []
        if word not in _WORDS:
            metric, _, kept = word.rpartition(":")
            metric, number = (metric, int(kept)) if metric and kept.isdecimal() else (word, None)
            if number == 0:
                raise QueryError(f"over {dim!r}: {word!r} keeps no track; expected at least one")
            try:
                judging = [find_single(ds, metric)]
            except UnknownNameError:
                known = [*_WORDS, *names_of(ds, "metric")]
                raise UnknownNameError(f"word or metric for {dim}", metric, known) from None
        ways = names_of(ds, "orientation", judging)
        for metric, way in zip(names_of(ds, "metric", judging), ways, strict=True):
            if way == "none":
                raise QueryError(f"over {dim!r}: neither high nor low values of {metric!r} are better; choose mean")
        if word not in _WORDS:
            score = numbers_of(computed(ds), judging)[0][..., 0]
            judges[word] = (-score if ways == ["lower"] else score), number
    return judges
