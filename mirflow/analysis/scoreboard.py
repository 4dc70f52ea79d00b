"""The scores of one evaluation as plain arrays: what every question is asked of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import QueryError
from ..ragged import Float

if TYPE_CHECKING:
    import xarray as xr

Array = npt.NDArray[Any]
Status8 = npt.NDArray[np.int8]
Systems = Sequence[int]
Loaded = tuple[Float, Float, Status8, Float]

_COORDINATES = ("system", "track", "metric", "aggregates", "standard_aggregate", "orientation", "unit")
_VARIABLES = ("score", "weight", "status")


class Sibling(Protocol):
    """A result with extra dims beside the scores, which is read when it is asked for."""

    @property
    def dims(self) -> tuple[str, ...]:
        """``system``, ``track`` and the extra ones."""
        ...

    @property
    def attrs(self) -> Mapping[str, Any]:
        """``long_name`` and, for what is no ratio, ``units``."""
        ...

    def labels(self) -> tuple[tuple[str, ...], ...]:
        """Labels along each extra dim."""
        ...

    def read(self, system: int, tracks: slice) -> Array:
        """Values of some tracks of a system: float64 (tracks, extra dims)."""
        ...


def _no_text() -> Array:
    return np.array("")


@dataclass(frozen=True)
class Scoreboard:
    """The scores of one evaluation.

    Parameters
    ----------
    systems, tracks, metrics : list of str
    coords : mapping of str to mapping
        For each dim (``system``, ``track``, ``metric``) its further coordinates; those of ``metric`` hold at least
        ``aggregates``, ``standard_aggregate``, ``orientation`` and ``unit``.
    attrs : mapping
        ``task``, ``convention``, ``grid``, ...
    load : callable
        Positions of systems -> score and weight float64 (systems, tracks, metrics), status int8 (systems, tracks), and
        duration float64 (tracks,) in seconds, NaN where it is not known.
    siblings : mapping of str to Sibling
        Results with extra dims.
    messages, digests : callable
        Why cells have no score, and the digests of what was scored (``reference:estimate``, empty where they are not
        known): text that broadcasts to (systems, tracks).
    """

    systems: list[str]
    tracks: list[str]
    metrics: list[str]
    coords: Mapping[str, Mapping[str, Array]]
    attrs: Mapping[str, Any]
    load: Callable[[Systems], Loaded]
    siblings: Mapping[str, Sibling] = field(default_factory=dict)
    messages: Callable[[], Array] = _no_text
    digests: Callable[[], Array] = _no_text

    def names(self, dim: str) -> list[str]:
        """The names along ``system``, ``track`` or ``metric``."""
        return {"system": self.systems, "track": self.tracks, "metric": self.metrics}[dim]

    def texts(self, name: str) -> list[str]:
        """A coordinate of the metrics as text."""
        return [str(value) for value in self.coords["metric"][name].tolist()]


@dataclass(frozen=True)
class _Variable:
    """A result with extra dims in a dataset."""

    values: xr.DataArray

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(map(str, self.values.dims))

    @property
    def attrs(self) -> Mapping[str, Any]:
        return {str(name): value for name, value in self.values.attrs.items()}

    def labels(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(map(str, self.values[dim].values.tolist())) for dim in self.dims[2:])

    def read(self, system: int, tracks: slice) -> Array:
        return np.asarray(self.values[system, tracks].values)


def from_dataset(ds: xr.Dataset) -> Scoreboard:
    """The scores in a labelled dataset, which is read when a question is asked.

    Parameters
    ----------
    ds : xr.Dataset
        A group of a result store: ``score`` and ``weight`` over (system, track, metric), ``status`` over (system,
        track), perhaps ``duration`` over (track), and the metrics' coordinates.

    Raises
    ------
    QueryError
        If it lacks some of them.
    """
    lacking = [name for name in (*_VARIABLES, *_COORDINATES) if name not in ds.variables]
    if lacking:
        raise QueryError(f"not the scores of an evaluation: no {', '.join(lacking)} in this dataset")

    def load(systems: Systems) -> Loaded:
        names = [*_VARIABLES, *(["duration"] if "duration" in ds.data_vars else [])]
        # All in one call: scores, weights and statuses of a lazy dataset come from the same computation.
        part = ds[names].isel(system=list(systems)).compute().transpose("system", "track", "metric")
        known = "duration" in part.data_vars
        duration = part["duration"].values if known else np.full(part.sizes["track"], np.nan)
        return part["score"].values, part["weight"].values, part["status"].values, duration

    dims = ("system", "track", "metric")
    coords: dict[str, dict[str, Array]] = {dim: {} for dim in dims}
    for name, coord in ds.coords.items():
        if len(coord.dims) == 1 and coord.dims[0] in coords and name not in dims:
            coords[str(coord.dims[0])][str(name)] = coord.values

    def text_of(name: str) -> Array:
        return ds[name].transpose("system", "track").values if name in ds.data_vars else _no_text()

    extra = {
        str(name): _Variable(array.transpose("system", "track", ...))
        for name, array in ds.data_vars.items()
        if {"system", "track"} < set(array.dims) != set(dims)
    }
    return Scoreboard(
        _names(ds, "system"),
        _names(ds, "track"),
        _names(ds, "metric"),
        coords,
        ds.attrs,
        load,
        extra,
        partial(text_of, "message"),
        partial(text_of, "digest"),
    )


def _names(ds: xr.Dataset, dim: str) -> list[str]:
    return [str(name) for name in ds[dim].values.tolist()]


def read_store(path: str | Path) -> dict[str, Scoreboard]:
    """The evaluations of a store, by name, without xarray, whose import takes longer than most questions.

    Raises
    ------
    StoreError
        If there is no such store, or it cannot be read.
    """
    from ..store.scores import StoredScores, read_scores

    def board(stored: StoredScores) -> Scoreboard:
        score, weight, status, duration = (stored.arrays[name] for name in (*_VARIABLES, "duration"))

        def load(systems: Systems) -> Loaded:
            chosen = list(systems)
            return score[chosen], weight[chosen], status[chosen], duration

        names = (list(stored.systems), list(stored.tracks), list(stored.metrics))
        return Scoreboard(*names, stored.coords, stored.attrs, load, stored.siblings, stored.messages, stored.digests)

    return {name: board(stored) for name, stored in read_scores(path).items()}
