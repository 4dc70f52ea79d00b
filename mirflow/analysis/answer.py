"""The answer to a question, as plain arrays and as a labelled dataset."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QueryError
from ..ragged import Bool, Float, Int
from .grouping import filled_groups, group_values
from .scoreboard import Array

if TYPE_CHECKING:
    import xarray as xr

UNTESTED = "untested"
"""The attribute of an answer that lists, a line each, figures of too few units for any two systems to be told apart."""
EVERY = "*"
"""Stands there for all of them."""
COUNTS = ("n", "n_missing", "n_undefined")
LONG_NAMES = {
    "value": "aggregate over tracks",
    "n": "number of scores that count",
    "n_missing": "number of cells without a score",
    "n_undefined": "number of scores with nothing to measure",
    "n_tracks": "number of tracks asked for",
    "low": "lower end of the confidence interval",
    "high": "upper end of the confidence interval",
    "like_best": "whether the system is the best one, or not told apart from it by the test",
}


def beside(coords: Mapping[str, Array], taken: Collection[str]) -> dict[str, Array]:
    """Coordinates under names that they can have beside variables: of a parameter ``n``, ``meta_n``.

    Examples
    --------
    >>> list(beside({"n": np.array([5]), "window": np.array([0.05])}, ["value", "n"]))
    ['meta_n', 'window']
    """
    return {f"meta_{name}" if name in taken else name: values for name, values in coords.items()}


@dataclass(frozen=True)
class Answer:
    """Figures over tracks.

    Parameters
    ----------
    systems, metrics, aggregates : list of str
        ``aggregates`` is along the metrics.
    system_coords, metric_coords : mapping of str to array
    groupings : mapping of str to array
        The distinct values of each coordinate that groups the tracks; the groups are their product.
    value : float64 (systems, metrics, groups)
    counts : mapping of str to int64 (systems, metrics, groups)
        ``n``, ``n_missing`` and ``n_undefined``.
    n_tracks : int64 (groups,)
    attrs : mapping of str to str
        Where the numbers come from (``group``, ``task``, ``convention``, ``grid``), the policies (``missing``,
        ``undefined``), and ``left_out``, the metrics that have no such aggregate; with intervals also how these came
        about (``level``, ``method``, ``replicates``, ``unit``, ``cluster``).
    low, high : float64 (systems, metrics, groups) or None
        The ends of confidence intervals, where they were asked for.
    like_best : bool (systems, metrics, groups) or None
        Whether a system is not told apart from the best one, where that was asked for.
    """

    systems: list[str]
    metrics: list[str]
    aggregates: list[str]
    system_coords: Mapping[str, Array]
    metric_coords: Mapping[str, Array]
    groupings: Mapping[str, Array]
    value: Float
    counts: Mapping[str, Int]
    n_tracks: Int
    attrs: Mapping[str, str]
    low: Float | None = None
    high: Float | None = None
    like_best: Bool | None = None

    @property
    def n_counted(self) -> Int:
        """How many tracks count in all groups together, for each system and metric: int64 (systems, metrics)."""
        return np.asarray(self.counts["n"].sum(axis=-1))

    def cells_with(self, policy: str) -> int:
        """How many cells, pairs of a system and a track, a policy is about: ``missing`` or ``undefined``.

        A cell counts once, however many of the metrics lack a score of it.
        """
        return int(self.attrs[f"{policy}_cells"])

    @property
    def ends(self) -> dict[str, Float]:
        """The ends of the intervals by name; empty where none were asked for."""
        return {} if self.low is None or self.high is None else {"low": self.low, "high": self.high}

    @property
    def units(self) -> list[str]:
        """Units of the metrics; empty for ratios."""
        return [str(unit) for unit in self.metric_coords["unit"].tolist()]

    @property
    def filled(self) -> list[int]:
        """The groups that have tracks; the only one where nothing is grouped."""
        return filled_groups(self.groupings, self.n_tracks)

    def group(self, group: int) -> tuple[object, ...]:
        """The values that make a group."""
        return group_values(self.groupings, group)

    def cells(self) -> Iterator[tuple[int, int, int]]:
        """Every (system, metric, group) whose group has tracks, metric by metric."""
        filled = self.filled
        for metric in range(len(self.metrics)):
            for system in range(len(self.systems)):
                for group in filled:
                    yield system, metric, group

    def to_dataset(self) -> xr.Dataset:
        """The answer over (system, metric, and a dim for each grouping).

        Raises
        ------
        QueryError
            If a grouping has the name of another coordinate.
        """
        import xarray as xr

        names: dict[str, Array] = {
            "system": np.array(self.systems, dtype=str),
            "metric": np.array(self.metrics, dtype=str),
        }
        taken = ("value", *self.ends, "like_best", *self.counts, "n_tracks")
        coords = {name: ("system", values) for name, values in beside(self.system_coords, taken).items()}
        coords |= {name: ("metric", values) for name, values in beside(self.metric_coords, taken).items()}
        coords["aggregate"] = ("metric", np.array(self.aggregates, dtype=str))
        for name in self.groupings:
            if name in coords:
                raise QueryError(f"by {name!r}: the name is taken by a coordinate of systems or metrics")
        dims = ("system", "metric", *self.groupings)
        sizes = tuple(len(values) for values in self.groupings.values())
        variables, marks = {}, {} if self.like_best is None else {"like_best": self.like_best}
        figures: dict[str, Array] = {"value": self.value, **self.ends, **marks, **self.counts}
        for name, array in {**figures, "n_tracks": self.n_tracks}.items():
            own = dims[2:] if name == "n_tracks" else dims
            variables[name] = (own, array.reshape((*array.shape[:-1], *sizes)), {"long_name": LONG_NAMES[name]})
        return xr.Dataset(variables, {**names, **coords, **self.groupings}, dict(self.attrs))


def show_span(counts: Int) -> str:
    """A count that is the same everywhere, or the fewest and the most."""
    low, high = int(counts.min(initial=counts.max(initial=0))), int(counts.max(initial=0))
    return str(low) if low == high else f"{low}-{high}"
