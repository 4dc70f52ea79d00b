"""The parts of a query's dataset that tables, captions and figures show, as arrays and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np

from ..analysis.aggregation import COUNTS
from ..analysis.queries import across_of, repeats
from ..analysis.scores import Array, Results
from ..metrics.aggregates import CLASS_AGGREGATES
from ..ragged import Float, Int
from ..store.format import REFERENCES_DIFFER

COLUMNS = ("metric", "title", "aggregate", "orientation", "unit")
"""Columns of the metrics of a result."""
ORIGIN = ("group", "task", "convention", "grid")
NARROWED = ("stores", REFERENCES_DIFFER, "where", "annotator", "param", "over", "across")
INTERVAL = ("low", "high", "level", "method", "replicates", "resampled")
MARKS = ("like_best", "test", "correction", "test_level")
"""Columns of rows for programs: what scores are of, how they were narrowed, intervals, and marks of significance."""


def column_of(ds: Results, name: str) -> list[str]:
    """The metrics, or their aggregates, units, orientations or titles; of a metric with dims the only one."""
    if "metric" in ds.attrs:
        # The attribute `unit` names the unit that intervals were drawn from.
        return [str(ds["value"].attrs.get("units", "") if name == "unit" else ds.attrs.get(name, ""))]
    if name == "title" and name not in ds.coords:
        return [""] * len(ds["metric"].values)
    return [str(value) for value in ds[name].values.tolist()]


def shown_metrics(ds: Results) -> list[str]:
    """The metrics as tables head them: beside other values of a parameter with that of the default."""
    metrics = column_of(ds, "metric")
    if not any("@" in name for name in metrics):
        return metrics
    along = {str(name): coord.values.tolist() for name, coord in ds.coords.items() if coord.dims == ("metric",)}
    return with_defaults(metrics, along)


def groupings_of(ds: Results) -> list[str]:
    """The coordinates that group the tracks."""
    return [str(dim) for dim in ds["n_tracks"].dims]


def groups_of(ds: Results) -> list[tuple[object, ...]]:
    """The values of the groupings for each group that has tracks; one empty tuple where nothing is grouped."""
    groupings = groupings_of(ds)
    if not groupings:
        return [()]
    every = product(*(ds[name].values.tolist() for name in groupings))
    return [group for group, count in zip(every, ds["n_tracks"].values.ravel().tolist(), strict=True) if count]


def group_sizes(ds: Results) -> Int:
    """Numbers of tracks: int64 (groups,)."""
    sizes: Int = ds["n_tracks"].values.reshape(-1)
    return sizes[sizes > 0] if groupings_of(ds) else sizes


def count_tracks(ds: Results) -> int:
    """How many tracks a query is about; each counts once, in however many groups it is."""
    return int(ds["n_tracks"].values.sum()) // repeats(ds.attrs)


def labels_of(ds: Results) -> dict[str, list[str]]:
    """The labels along each axis behind the groups: ``metric``, or the dims of one metric.

    A metric without any dim left has an axis without a name.
    """
    outer = ("system", *ds["n_tracks"].dims)
    dims = [str(dim) for dim in ds["value"].dims if dim not in outer]
    if dims:
        return {dim: [str(value) for value in ds[dim].values.tolist()] for dim in dims}
    kind = ds.attrs["aggregate"]
    return {"": [kind if kind in CLASS_AGGREGATES else str(ds.attrs["metric"])]}


def values_of(ds: Results, name: str = "value") -> Array:
    """A variable over (systems, groups that have tracks, labels of each axis)."""
    own, groupings = ds[name], ds["n_tracks"].dims
    inner = [dim for dim in ds["value"].dims if dim != "system" and dim not in groupings]
    values = own.values.transpose([own.dims.index(dim) for dim in ("system", *groupings, *inner) if dim in own.dims])
    sizes = values.shape[1 + len(groupings) :] or (1,)
    n_tracks = ds["n_tracks"].values.reshape(-1)
    values = values.reshape(len(values), len(n_tracks), *sizes)
    return np.ascontiguousarray(values[:, n_tracks > 0] if groupings else values)


def counts_of(ds: Results) -> dict[str, Int]:
    """Scores that count (``n``), of metrics that are one number also ``n_missing`` and ``n_undefined``."""
    return {"n": values_of(ds, "n_values")} if "metric" in ds.attrs else {name: values_of(ds, name) for name in COUNTS}


def adds_up(ds: Results) -> bool:
    """True if values of a metric with dims are counts or seconds, of which those that are 0 do not occur."""
    return ds.attrs["orientation"] == "none" and "nominal" not in ds.attrs


def is_whole(ds: Results) -> bool:
    """True if values of a metric with dims are counts of things, or numbers that are names."""
    if ds.attrs["orientation"] != "none" or ds["value"].attrs.get("units"):
        return False
    known = ds["value"].values[np.isfinite(ds["value"].values)]
    return bool((known == np.round(known)).all())


def best_of(ds: Results, value: Float) -> Float:
    """The best value of all systems, NaN where there are not two or none is better: float64 (groups, ...)."""
    known = ~np.isnan(value)
    lowest = np.where(known, value, np.inf).min(axis=0, initial=np.inf)
    largest = np.where(known, value, -np.inf).max(axis=0, initial=-np.inf)
    ways = np.array(column_of(ds, "orientation"))
    best: Float = np.where(ways == "lower", lowest, largest)
    best[(known.sum(axis=0) < 2) | (ways == "none")] = np.nan
    if "across" in ds.attrs:
        # Of deviations neither high nor low ones are better.
        groupings, labels = groupings_of(ds), labels_of(ds)
        for dim, names in across_of(ds.attrs).items():
            if "std" in names and dim in groupings:
                best[[group[groupings.index(dim)] == "std" for group in groups_of(ds)]] = np.nan
            elif "std" in names:
                axis = 1 + list(labels).index(dim)
                np.moveaxis(best, axis, 0)[[label == "std" for label in labels[dim]]] = np.nan
    return best


def with_defaults(metrics: Sequence[str], coords: Mapping[str, Sequence[Any]]) -> list[str]:
    """Names of metrics, of those beside other values of their parameter with that of the default.

    `coords`: coordinates along the metrics, those of their parameters among them.

    Examples
    --------
    >>> with_defaults(["hits@0.03", "hits", "rate"], {"window": [0.03, 0.05, 0.05]})
    ['hits@0.03', 'hits@0.05', 'rate']
    """
    found = list(metrics)
    for index, name in enumerate(metrics):
        values = {
            at: metric.removeprefix(f"{name}@") for at, metric in enumerate(metrics) if metric.startswith(f"{name}@")
        }
        plain = {at: value for at, value in values.items() if "(" not in value}
        numbers: dict[int, float] = {}
        for at, value in plain.items():
            with suppress(ValueError):
                numbers[at] = float(value)
        for column in coords.values() if plain else ():
            if all(str(column[at]) == value or numbers.get(at) == column[at] for at, value in plain.items()):
                own = column[index]
                whole = isinstance(own, float) and own.is_integer() and all("." not in one for one in plain.values())
                found[index] = f"{name}@{int(own) if whole else own}"
                break
    return found
