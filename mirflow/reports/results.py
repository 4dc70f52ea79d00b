"""The parts of a query's dataset that tables, captions and figures show, as arrays and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress, product
from typing import Any

import numpy as np

from ..analysis.scores import Array, Results
from ..metrics.aggregates import CLASS_AGGREGATES
from ..ragged import Int
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


@dataclass(frozen=True)
class ResultAxes:
    """What runs along the axes of the result of a query."""

    metrics: list[str]
    """As tables head them: beside other values of a parameter with that of the default."""
    groupings: list[str]
    """The coordinates that group the tracks."""
    groups: list[tuple[object, ...]]
    """The values of the groupings for each group that has tracks; one empty tuple where nothing is grouped."""
    sizes: Int
    """Numbers of tracks of the groups: int64 (groups,)."""
    tracks: int
    """How many tracks the query is about; each counts once, in however many groups it is."""
    labels: dict[str, list[str]]
    """The labels along each axis behind the groups: ``metric``, or the dims of one metric. A metric without any dim
    left has an axis without a name."""


def axes_of(ds: Results) -> ResultAxes:
    """Read the axes of the result of a query."""
    metrics, groupings = column_of(ds, "metric"), [str(dim) for dim in ds["n_tracks"].dims]
    if any("@" in name for name in metrics):
        along = {str(name): coord.values.tolist() for name, coord in ds.coords.items() if coord.dims == ("metric",)}
        metrics = with_defaults(metrics, along)
    groups: list[tuple[object, ...]] = [()]
    sizes = ds["n_tracks"].values.reshape(-1)
    if groupings:
        every = product(*(ds[name].values.tolist() for name in groupings))
        groups, sizes = [*compress(every, sizes > 0)], sizes[sizes > 0]
    tracks = int(ds["n_tracks"].values.sum()) // int(ds.attrs.get("repeats", 1))
    dims = [str(dim) for dim in ds["value"].dims if dim not in ("system", *groupings)]
    labels = {dim: [str(value) for value in ds[dim].values.tolist()] for dim in dims}
    if not dims:
        kind = ds.attrs["aggregate"]
        labels = {"": [kind if kind in CLASS_AGGREGATES else str(ds.attrs["metric"])]}
    return ResultAxes(metrics, groupings, groups, sizes, tracks, labels)


def values_of(ds: Results, name: str = "value") -> Array:
    """A variable over (systems, groups that have tracks, labels of each axis)."""
    own, groupings = ds[name], ds["n_tracks"].dims
    inner = [dim for dim in ds["value"].dims if dim != "system" and dim not in groupings]
    values = own.values.transpose([own.dims.index(dim) for dim in ("system", *groupings, *inner) if dim in own.dims])
    sizes = values.shape[1 + len(groupings) :] or (1,)
    n_tracks = ds["n_tracks"].values.reshape(-1)
    values = values.reshape(len(values), len(n_tracks), *sizes)
    return np.ascontiguousarray(values[:, n_tracks > 0] if groupings else values)


def is_whole(ds: Results) -> bool:
    """True if values of a metric with dims are counts of things, or numbers that are names."""
    if ds.attrs["orientation"] != "none" or ds["value"].attrs.get("units"):
        return False
    known = ds["value"].values[np.isfinite(ds["value"].values)]
    return bool((known == np.round(known)).all())


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
