"""Results of queries as arrays, for tables, captions and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..analysis.aggregation import (
    COUNTS,
    aggregate_cells,
    best_first,
    check_durations,
    count_gaps,
    count_scores,
    origin_of,
)
from ..analysis.queries import across_of, repeats
from ..analysis.query_options import Query
from ..analysis.scores import arrays_of, names_of
from ..metrics.aggregates import CLASS_AGGREGATES
from ..ragged import Bool, Float, Int
from ..store.cells import GroupContent

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Result:
    """The arrays of a dataset of a query.

    The metrics that are one number a track lie along the last axis, as do the labels of the last dim of another metric.
    """

    attrs: Mapping[str, Any]
    """Those of the dataset."""
    has_dims: bool
    """Whether the result is that of one metric with extra dims."""
    adds_up: bool
    """Whether entries are counts or seconds along extra dims, of which those that are 0 do not occur."""
    metrics: list[str]
    """The metrics, or the one that has dims."""
    systems: list[str]
    groupings: list[str]
    """The coordinates that group the tracks."""
    groups: list[tuple[object, ...]]
    """The values of these coordinates, for each group that has tracks; one empty tuple where nothing is grouped."""
    labels: dict[str, list[str]]
    """The labels along each axis behind the groups: ``metric``, or the dims of one metric. A metric without any dim
    left has an axis without a name."""
    aggregates: list[str]
    units: list[str]
    orientations: list[str]
    """One of each metric; of a metric with dims one for all entries."""
    titles: list[str]
    """What the literature calls the metrics; empty where that is not known."""
    shown: list[str]
    """The metrics as tables head them: beside other values of a parameter with that of the default."""
    value: Float
    """float64 (systems, groups, ...)."""
    counts: dict[str, Int]
    """mapping of str to int64 (systems, groups, ...). ``n``, scores that count; of metrics that are one number also
    ``n_missing`` and ``n_undefined``."""
    n_tracks: Int
    """int64 (groups,)."""
    tracks: int
    """How many tracks the query is about; each counts once, in however many groups it is."""
    n_counted: Int
    n_missing: Int
    """Tracks that count, and tracks without a score: int64 (systems, groups, metrics or 1)."""
    ends: tuple[Float, ...]
    """The lower and the upper ends of intervals, if any: tuple of float64 (systems, groups, ...)."""
    like_best: Bool | None
    """Whether a system does not differ significantly from the best one: bool (systems, groups, ...) or None."""

    @classmethod
    def of(cls, ds: xr.Dataset) -> Result:
        """Take the arrays out of a dataset."""
        attrs = {str(name): value for name, value in ds.attrs.items()}
        groupings = [str(dim) for dim in ds["n_tracks"].dims]
        has_dims = "metric" in attrs
        inner = [str(dim) for dim in ds["value"].dims if dim != "system" and dim not in groupings]
        groups = list(product(*(ds[name].values.tolist() for name in groupings)))
        n_tracks = ds["n_tracks"].values.ravel()
        filled = np.flatnonzero(n_tracks) if groupings else np.zeros(1, dtype=np.int64)

        def array(name: str) -> npt.NDArray[Any]:
            """Systems, groups that have tracks, and what else there is."""
            order = [dim for dim in ("system", *groupings, *inner) if dim in ds[name].dims]
            own = ds[name].transpose(*order).values
            sizes = own.shape[1 + len(groupings) :]
            return np.ascontiguousarray(own.reshape(len(own), len(groups), *(sizes or (1,)))[:, filled])

        def texts(name: str) -> list[str]:
            return [str(one) for one in ds[name].values.tolist()]

        # The attribute of the name says what intervals were drawn from.
        about = {**attrs, "unit": ds["value"].attrs.get("units", "")}
        kinds, units, ways = (
            [str(about[name])] if has_dims else texts(name) for name in ("aggregate", "unit", "orientation")
        )
        labels = {name: texts(name) for name in inner}
        if not inner:
            labels[""] = [kinds[0] if kinds[0] in CLASS_AGGREGATES else str(attrs["metric"])]
        metrics = [str(attrs["metric"])] if has_dims else labels["metric"]
        along = {str(name): one.values.tolist() for name, one in ds.coords.items() if one.dims == ("metric",)}
        return cls(
            attrs,
            has_dims,
            has_dims and ways == ["none"] and "nominal" not in attrs,
            metrics,
            texts("system"),
            groupings,
            [groups[place] for place in filled.tolist()],
            labels,
            kinds,
            units,
            ways,
            texts("title") if "title" in ds.coords and not has_dims else [""] * len(kinds),
            with_defaults(metrics, along),
            array("value"),
            {"n": array("n_values")} if has_dims else {name: array(name) for name in COUNTS},
            n_tracks[filled],
            int(n_tracks.sum()) // repeats(attrs),
            array("n"),
            array("n_missing"),
            tuple(array(name) for name in ("low", "high") if name in ds),
            array("like_best") if "like_best" in ds else None,
        )

    @classmethod
    def of_contents(cls, content: GroupContent, metrics: Sequence[str]) -> Result:
        """Aggregate metrics of an evaluation in memory over all its tracks, the best system first.

        The result is that of the dataset of a query, without importing xarray.

        Parameters
        ----------
        content : GroupContent
        metrics : sequence of str
            As they are stored.
        """
        columns = {name: names_of(content, name) for name in ("metric", "unit", "orientation", "title")}
        places = [columns["metric"].index(name) for name in metrics]
        own = {name: [texts[place] for place in places] for name, texts in columns.items() if texts}
        standard, systems = names_of(content, "standard_aggregate"), names_of(content, "system")
        kinds = [standard[place] for place in places]
        arrays, tracks = arrays_of(content), len(content.tracks)
        duration = arrays[3]
        cells, policies = count_scores(arrays, places, Query().policy(len(systems)), "keep")
        check_durations(kinds, cells["_included"], duration, content.tracks)
        order = best_first(cells, duration, kinds, own["orientation"])
        cells = {name: one[order, :, :] for name, one in cells.items()}
        found = aggregate_cells(cells, duration, kinds, np.zeros(tracks, dtype=np.int64))
        found = {name: np.ascontiguousarray(one.transpose(0, 2, 1)) for name, one in found.items()}
        gaps = count_gaps(cells["_missing"], cells["_undefined"])
        return cls(
            attrs={**origin_of(content, content.name), **policies, **gaps, "left_out": ""},
            has_dims=False,
            adds_up=False,
            metrics=own["metric"],
            systems=[systems[place] for place in order],
            groupings=[],
            groups=[()],
            labels={"metric": own["metric"]},
            aggregates=kinds,
            units=own["unit"],
            orientations=own["orientation"],
            titles=own.get("title", [""] * len(places)),
            shown=with_defaults(
                own["metric"], {key: [one[place] for place in places] for key, one in content.metric_coords.items()}
            ),
            value=found["value"],
            counts={name: found[name] for name in COUNTS},
            n_tracks=np.array([tracks]),
            tracks=tracks,
            n_counted=found["n"],
            n_missing=found["n_missing"],
            ends=(),
            like_best=None,
        )

    def take(self, systems: Sequence[int]) -> Result:
        """The result of some of the systems, by their positions."""
        return replace(
            self,
            systems=[self.systems[place] for place in systems],
            value=self.value[systems],
            counts={name: counts[systems] for name, counts in self.counts.items()},
            n_counted=self.n_counted[systems],
            n_missing=self.n_missing[systems],
            ends=tuple(end[systems] for end in self.ends),
            like_best=None if self.like_best is None else self.like_best[systems],
        )

    def without_grouping(self, groups: Sequence[int]) -> Result:
        """The result without its first grouping, of which the groups at some positions stay."""
        repeated = len(self.groups) // len(groups)
        return replace(
            self,
            attrs={**self.attrs, "repeats": str(repeats(self.attrs) // repeated)},
            groupings=self.groupings[1:],
            groups=[self.groups[place][1:] for place in groups],
            value=self.value[:, groups],
            counts={name: counts[:, groups] for name, counts in self.counts.items()},
            n_tracks=self.n_tracks[groups],
            n_counted=self.n_counted[:, groups],
            n_missing=self.n_missing[:, groups],
            ends=tuple(end[:, groups] for end in self.ends),
            like_best=None if self.like_best is None else self.like_best[:, groups],
        )

    def as_shown(self) -> Result:
        """The result with the names of metrics as tables head them."""
        labels = {**self.labels, "metric": self.shown} if "metric" in self.labels else self.labels
        return replace(self, metrics=self.shown, labels=labels)

    @property
    def dims(self) -> list[str]:
        """The extra dims of the metric."""
        return [dim for dim in self.labels if self.has_dims and dim]

    @property
    def is_whole(self) -> bool:
        """True if entries are counts of things, or numbers that are names."""
        known = self.value[np.isfinite(self.value)]
        plain = self.has_dims and self.orientations == ["none"] and not self.units[0]
        return plain and bool((known == np.round(known)).all())

    def best(self) -> Float:
        """The best value of all systems, NaN where there are not two or none is better: float64 (groups, ...)."""
        known = ~np.isnan(self.value)
        lowest = np.where(known, self.value, np.inf).min(axis=0, initial=np.inf)
        largest = np.where(known, self.value, -np.inf).max(axis=0, initial=-np.inf)
        ways = np.array(self.orientations)
        best: Float = np.where(ways == "lower", lowest, largest)
        best[(known.sum(axis=0) < 2) | (ways == "none")] = np.nan
        for dim, names in across_of(self.attrs).items():  # of deviations neither high nor low ones are better
            if "std" in names and dim in self.groupings:
                best[[group[self.groupings.index(dim)] == "std" for group in self.groups]] = np.nan
            elif "std" in names:
                axis = 1 + list(self.labels).index(dim)
                np.moveaxis(best, axis, 0)[[label == "std" for label in self.labels[dim]]] = np.nan
        return best


def with_defaults(metrics: Sequence[str], coords: Mapping[str, Sequence[Any]]) -> list[str]:
    """Names of metrics, of those beside other values of their parameter with that of the default.

    Parameters
    ----------
    metrics : sequence of str
        Identities.
    coords : mapping of str to sequence
        Coordinates along the metrics, those of their parameters among them.

    Examples
    --------
    >>> with_defaults(["hits@0.03", "hits", "rate"], {"window": [0.03, 0.05, 0.05]})
    ['hits@0.03', 'hits@0.05', 'rate']
    """
    found = list(metrics)
    for place, name in enumerate(metrics):
        values = {at: one.removeprefix(f"{name}@") for at, one in enumerate(metrics) if one.startswith(f"{name}@")}
        plain = {at: value for at, value in values.items() if "(" not in value}
        for column in coords.values() if plain else ():
            if all(str(column[at]) == value or _number(value) == column[at] for at, value in plain.items()):
                own = column[place]
                whole = isinstance(own, float) and own.is_integer() and all("." not in one for one in plain.values())
                found[place] = f"{name}@{int(own) if whole else own}"
                break
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
