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
from ..status import Status
from ..store.columns import nested_attrs

if TYPE_CHECKING:
    import xarray as xr

Array = npt.NDArray[Any]
Status8 = npt.NDArray[np.int8]
Systems = Sequence[int]
Loaded = tuple[Float, Float, Status8, Float]

_COORDINATES = ("system", "track", "metric", "aggregates", "standard_aggregate", "orientation", "unit")
_VARIABLES = ("score", "weight", "status")
_DIMS = ("system", "track", "metric")


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
        If it lacks some of them, or a dim.
    """
    _check_variables(ds)

    def load(systems: Systems) -> Loaded:
        names = [*_VARIABLES, *(["duration"] if "duration" in ds.data_vars else [])]
        # All in one call: scores, weights and statuses of a lazy dataset come from the same computation.
        part = ds[names].isel(system=list(systems)).compute().transpose("system", "track", "metric")
        duration = np.full(part.sizes["track"], np.nan)
        if "duration" in part.data_vars:  # over systems too, where datasets were joined along them
            lengths = part["duration"]
            duration = (lengths.max("system") if "system" in lengths.dims else lengths).values
        # Cells that xarray filled when it joined or masked datasets are those that nobody has computed.
        weight, status = part["weight"].fillna(0).values, part["status"].fillna(Status.not_computed).values
        return part["score"].values, weight, status.astype(np.int8), duration

    coords: dict[str, dict[str, Array]] = {dim: {} for dim in _DIMS}
    for name, coord in ds.coords.items():
        if len(coord.dims) == 1 and coord.dims[0] in coords and name not in _DIMS:
            coords[str(coord.dims[0])][str(name)] = _filled_text(coord.values)

    def text_of(name: str) -> Array:
        if name not in ds.data_vars:
            return _no_text()
        return _filled_text(ds[name].transpose("system", "track").values)

    extra = {
        str(name): _Variable(array.transpose("system", "track", ...))
        for name, array in ds.data_vars.items()
        if {"system", "track"} < set(array.dims) != set(_DIMS)
    }
    return Scoreboard(
        _names(ds, "system"),
        _names(ds, "track"),
        _names(ds, "metric"),
        coords,
        nested_attrs({str(name): value for name, value in ds.attrs.items()}),
        load,
        extra,
        partial(text_of, "message"),
        partial(text_of, "digest"),
    )


def _check_variables(ds: xr.Dataset) -> None:
    lacking = [name for name in (*_VARIABLES, *_COORDINATES) if name not in ds.variables and name not in _DIMS]
    if lacking:
        raise QueryError(f"not the scores of an evaluation: no {', '.join(lacking)} in this dataset")
    for dim in _DIMS:
        if dim not in ds["score"].dims:
            how = f"choose it with a list, sel({dim}=['x'])" if dim in ds.coords else f"expand_dims({dim}=['x'])"
            raise QueryError(f"these scores have no dim {dim!r}: {how} gives them one")


def _filled_text(values: Array) -> Array:
    """A coordinate's values with empty text where xarray filled text with NaN."""
    if values.dtype.kind != "O":
        return values
    known = [isinstance(one, str) for one in values.flat]
    if not any(known) or not all(one != one for one, text in zip(values.flat, known, strict=True) if not text):
        return values
    return np.where(np.reshape(known, values.shape), values, "")


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
