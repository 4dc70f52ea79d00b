"""Samples: the scores of a selection on the units that inference draws; and results as labelled datasets.

Units are tracks, or the values of a coordinate (such as folds) or of an extra dim of the metric (such as classes), over
each of which the tracks are aggregated first. Units of one cluster are drawn together. Differences that are only
rounding errors are removed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import QueryError, UnknownNameError, counted
from ...metrics.aggregates import CLASS_AGGREGATES, RATIO_AGGREGATES, RATIOS, STATISTICS, table_aggregates
from ...ragged import Bool, Float, Int
from ..aggregation import free_names, reduce, select
from ..lookup import CLASS
from ..per_class import CONFUSED, aggregate_table, rated_kind, select_table
from ..queries import across, names_across
from ..query_options import Query
from ..scores import Array, coords_of, group_tracks, members_of, names_of, without_value

if TYPE_CHECKING:
    import xarray as xr


DIMS = {1: ("metric",), 2: ("system", "metric"), 3: ("system", "other", "metric")}


def dataset_of(
    arrays: Mapping[str, Array],
    frame: xr.Dataset,
    along_metric: Mapping[str, Sequence[str]],
    long_names: Mapping[str, str],
    attrs: Mapping[str, str],
    dims_of: Mapping[int, tuple[str, ...]] = DIMS,
) -> xr.Dataset:
    """Arrays under the names of systems and metrics of a frame; ``other`` is a second dim of systems or metrics.

    `dims_of`: the dims of an array, by their number.
    """
    from ...lazy_array import plain_dataset

    used = {dim for array in arrays.values() for dim in dims_of[array.ndim]}
    taken = (*arrays, *along_metric)
    coords: dict[str, Any] = {}
    for dim in ("metric", "system"):
        if dim in used:
            own = {name: values for name, values in coords_of(frame, dim).items() if not name.startswith("_")}
            coords |= {dim: frame[dim].values, **{name: (dim, v) for name, v in free_names(own, taken).items()}}
    coords |= {name: ("metric", np.array(values, dtype=str)) for name, values in along_metric.items()}
    if "other" in used:
        coords["other"] = coords["system" if "system" in used else "metric"]
    variables = {name: (dims_of[array.ndim], array, {"long_name": long_names[name]}) for name, array in arrays.items()}
    return plain_dataset(variables, coords, dict(attrs))


TRACK = "track"
_DECIMALS = 10


@dataclass(frozen=True)
class Sample:
    """Scores of a selection on units (tracks, or folds, classes, queries, ... whose tracks were aggregated before)."""

    kinds: list[str]
    """The aggregate over the units, of each metric."""
    score: Float
    weight: Float
    """float64 (systems, units, metrics)."""
    included: Bool
    """bool (systems, units, metrics)."""
    duration: Float
    """float64 (units,), seconds."""
    cluster: Int
    """int64 (units,). Units of the same cluster are drawn together; counted from 0, each unit its own where nothing is
    clustered."""

    def values(self) -> Float:
        """The values: float64 (systems, metrics)."""
        return reduce(self.score, self.weight, self.duration, self.kinds, self.included)

    @property
    def repeats(self) -> bool:
        """True if several units are drawn together."""
        return len(np.unique(self.cluster)) < len(self.cluster)

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return int(self.cluster.max(initial=-1)) + 1

    def take(self, units: Int, systems: Int | None = None) -> Sample:
        """Some of the units, in order, of some or all systems."""
        rows = slice(None) if systems is None else systems
        columns = slice(None) if len(units) == len(self.duration) else units
        score, weight = (each[rows][:, columns] for each in (self.score, self.weight))
        included = self.included[rows][:, columns]
        return Sample(self.kinds, score, weight, included, self.duration[units], recount(self.cluster[units]))

    def sums(self, system: int, metric: int) -> tuple[Float, Float]:
        """The terms of a ratio, above and below the fraction line, added up by cluster: float64 (clusters,) each."""
        count, weight = self.clusters, self.weight[system, :, metric][np.newaxis, :, np.newaxis]
        above, below = (each[0, :, 0] for each in RATIOS[self.kinds[metric]].factors(weight, self.duration))
        included = self.included[system, :, metric]
        # What weighs nothing adds nothing, an infinite score too.
        score = np.where(included & (above != 0), self.score[system, :, metric], 0.0)
        above, below = score * np.where(included, above, 0.0), np.where(included, below, 0.0)
        if not np.array_equal(self.cluster, np.arange(count)):
            above, below = (np.bincount(self.cluster, each, count).astype(np.float64) for each in (above, below))
        # An infinite score makes the sum NaN, so that the value has neither interval nor test.
        return above if np.isfinite(above).all() else np.full(count, np.nan), below


def select_numbers(ds: xr.Dataset, query: Query, *, single: bool = False) -> xr.Dataset:
    """Selection of a query of metrics that are one number; `single` as for ``select``."""
    check_numbers(ds, query)
    return select(ds, query, single=single)


def check_numbers(ds: xr.Dataset, query: Query) -> None:
    """Raise a QueryError for a query of an evaluation without a metric that is one number."""
    if not ds.sizes["metric"] and query.metric is None:
        raise QueryError("inference needs a metric with one number per track")


def codes_of(frame: xr.Dataset, unit: str = TRACK, cluster: str | None = None) -> Int:
    """The cluster of each track, counted from 0.

    `cluster`: a coordinate along the tracks, whose values are drawn as a whole. A track without a value is drawn alone.
    What several annotators have of a track is always drawn together.
    """
    if unit != TRACK and cluster is not None:
        raise QueryError(f"clusters are made of tracks: choose cluster {cluster!r} or unit {unit!r}, not both")
    # The track of each row, counted in order: rows are tracks, or what several annotators have of them.
    names, seen = names_of(frame, "track"), dict[str, int]()
    codes = np.arange(len(names), dtype=np.int64)
    if len(set(names)) < len(names):
        codes = np.array([seen.setdefault(name, len(seen)) for name in names], dtype=np.int64)
    if cluster is None or cluster == TRACK:
        return codes
    values, groups = group_tracks(frame, [cluster])
    lacking = without_value(values[cluster])[groups]
    return recount(np.where(lacking, len(values[cluster]) + codes, groups))


def sample_of(part: xr.Dataset, unit: str = TRACK, cluster: str | None = None, tracks: Int | None = None) -> Sample:
    """The units that a query is about.

    `unit`: ``track``, or a coordinate along the tracks: the scores of its tracks are aggregated to one for each value,
    and the value is the plain mean over them, or the median (another statistic) where that is the aggregate. `tracks`
    (int64 (n,) or None): positions in `part`; None: all.
    """
    codes = codes_of(part, unit, cluster)
    score, weight, included = (part[name].values for name in ("score", "weight", "_included"))
    whole = Sample(names_of(part, "_aggregate"), score, weight, included, part["duration"].values, codes)
    sample = whole if tracks is None else whole.take(tracks)
    return sample if unit == TRACK else by_unit(part if tracks is None else part.isel(track=tracks), sample, unit)


def by_unit(part: xr.Dataset, sample: Sample, unit: str = TRACK) -> Sample:
    """The values of each value of a coordinate as the scores of units, by track for what several annotators have."""
    values, codes = group_tracks(part, [unit])
    lacking = without_value(values[unit])[codes]
    if lacking.any():
        first = names_of(part, "track")[int(np.flatnonzero(lacking)[0])]
        raise QueryError(
            f"unit {unit!r}: {counted(int(lacking.sum()), 'track')} without a value of it, {first!r} among them; "
            "name the tracks to compare"
        )
    members = members_of(codes)
    shape = (sample.score.shape[0], len(members), sample.score.shape[2])
    score: Float = np.empty(shape)
    for index, group in enumerate(members.values()):
        score[:, index] = sample.take(group).values()
    # Over units it is the mean of their values, or the same statistic of them.
    kinds = [kind if kind in STATISTICS else "mean" for kind in sample.kinds]
    included = ~np.isnan(score)
    if part.attrs["missing"] == "common":
        included &= included.all(axis=0, keepdims=True)
    ones = np.ones(shape)
    return Sample(kinds, score, ones, included, ones[0, :, 0], np.arange(len(members), dtype=np.int64))


def recount(codes: Int) -> Int:
    """Codes from 0 without gaps."""
    if (codes[1:] > codes[:-1]).all():
        return np.arange(len(codes), dtype=np.int64)
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def settle(values: Float) -> Float:
    """Round scores or their differences so that those which differ only by rounding errors are equal.

    The same right and wrong seconds, added up in another order, may differ in the last bit, and ranks would make a
    difference of it.
    """
    return np.round(values, _DECIMALS)


def signs_of(metrics: list[str], orientations: list[str]) -> Float:
    """1 for metrics of which high values are better, -1 where low ones are."""
    for name, orientation in zip(metrics, orientations, strict=True):
        if orientation == "none":
            raise QueryError(
                f"metric {name!r} cannot rank systems: neither high nor low values of it are better; name others"
            )
    return np.array([-1.0 if orientation == "lower" else 1.0 for orientation in orientations])


def differences(first: Float, second: Float) -> Float:
    """Differences of scores; equal ones differ by 0, infinite ones too."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(first == second, 0.0, first - second))


def columns_by_pattern(included: Bool) -> Iterable[tuple[Bool, list[int]]]:
    """The columns of a bool (columns, units) that hold the same units, with these units.

    A value is resampled over its own units alone, so that what else is asked does not change its interval.
    """
    columns: dict[bytes, list[int]] = {}
    for index, row in enumerate(np.packbits(included, axis=1)):
        columns.setdefault(row.tobytes(), []).append(index)
    return [(included[places[0]], places) for places in columns.values()]


def values_of_units(
    ds: xr.Dataset, variable: str, query: Query, unit: str, group: str = ""
) -> tuple[xr.Dataset, Float]:
    """Aggregate a metric with extra dims to one value for each system and unit.

    `unit`: a dim of the values, or a coordinate along the tracks. Returns `result`, `score` (float64 (systems, units)).
    """
    if query.by:
        raise QueryError(f"systems are ranked on each {unit} over all tracks of a question; name those of one group")
    query, asked = replace(query, across=None), query.across or {}
    selection = select_table(ds, variable, query)
    result, by = aggregate_table(selection, None, group), None
    if unit not in result["value"].dims and unit in coords_of(ds, "track"):
        result, by = aggregate_table(selection, unit, group), unit
    labels, metric = [str(dim) for dim in result["value"].dims[1 if by is None else 2 :]], result.attrs["metric"]
    about = selection.measure.metric
    counts = not CLASS_AGGREGATES.keys().isdisjoint(table_aggregates(about.orientation, about.dims))
    counts = counts and query.aggregate is None and rated_kind(ds, query) is None
    if counts and unit in (CLASS, *labels):
        own = CLASS if unit in CONFUSED else unit
        raise QueryError(
            f"unit {unit!r}: metric {metric!r} holds counts, and what is ranked is a value of each {own}; "
            f"choose an aggregate: {', '.join(RATIO_AGGREGATES)} (--aggregate recall --unit {own})"
        )
    if unit not in labels and by is None:
        raise UnknownNameError("unit", unit, [TRACK, *coords_of(ds, "track"), *labels])
    if result.sizes["system"] < 2:
        raise QueryError(f"{counted(result.sizes['system'], 'system')} to compare; at least two are needed")
    if unit in asked:
        raise QueryError(f"across {unit!r}: the values of the units are ranked one by one")
    lost = 0
    if by is not None:
        (grouping,) = result["n_tracks"].dims
        lost = int(result["n_tracks"].values[without_value(result[grouping].values)].sum())
    if lost:
        raise QueryError(f"unit {unit!r}: {counted(lost, 'track')} without a value of it; name the tracks to compare")
    result = across(result, asked) if asked else result
    for dim, names in names_across(asked).items():
        if len(names) > 1 or "std" in names:
            raise QueryError(
                f"across {dim!r}: systems are ranked by one value that can be better; choose mean or median"
            )
    left = [dim for dim in labels if dim != unit and (result.sizes[dim] > 1 or by is None)]
    if left:
        raise QueryError(
            f"unit {unit!r}: metric {metric!r} has further dims ({', '.join(left)}); reduce them (over, across)"
        )
    return result, result["value"].values.reshape(result.sizes["system"], -1)
