"""The scores of one evaluation as plain arrays, in groups of tracks and by annotator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from ..cells import SCORED, GroupContent, Status
from ..errors import QueryError, UnknownNameError
from ..ragged import Bool, Float, Int
from ..store.format import nested_attrs

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
    """The evaluations of a store, by name.

    Raises
    ------
    StoreError
        If there is no such store, or it cannot be read.
    """
    from ..store.read import read_scores

    return {name: from_dataset(ds) for name, ds in read_scores(path).items()}


def from_content(content: GroupContent) -> Scoreboard:
    """The scores of an evaluation that is in memory, as its group of a store holds them.

    Parameters
    ----------
    content : GroupContent
        With each cell at most once.
    """
    from ..store.read import dataset_of

    return from_dataset(dataset_of(content))


@dataclass(frozen=True)
class Grouping:
    """The product of the values of some coordinates.

    Parameters
    ----------
    values : mapping of str to array
        The distinct values of each coordinate, sorted; an empty text and NaN are values like others, and the last.
    codes : int64 (tracks,)
        The group of each track, counted through the product with the last coordinate fastest.
    """

    values: dict[str, npt.NDArray[Any]]
    codes: Int

    @classmethod
    def of(cls, board: Scoreboard, tracks: Sequence[int], names: Sequence[str]) -> Grouping:
        """The groups that some coordinates make of some tracks; without any, one group of all.

        Raises
        ------
        QueryError
            For a coordinate along another dim.
        UnknownNameError
            For a name that is no coordinate.
        """
        codes = np.zeros(len(tracks), dtype=np.int64)
        values = {}
        for name in names:
            column = _track_coordinate(board, name)[list(tracks)]
            values[name], inverse = _distinct(column)
            codes = codes * len(values[name]) + inverse
        return cls(values, codes)

    @property
    def count(self) -> int:
        """How many groups the product has, those without tracks too."""
        return int(np.prod([len(values) for values in self.values.values()], dtype=np.int64))

    def members(self) -> dict[int, Int]:
        """Positions of the tracks of every group that has any."""
        order = np.argsort(self.codes, kind="stable")
        codes, starts = np.unique(self.codes[order], return_index=True)
        return dict(zip(codes.tolist(), np.split(order, starts[1:]), strict=True)) if len(order) else {}


def filled_groups(groupings: Mapping[str, npt.NDArray[Any]], n_tracks: Int) -> list[int]:
    """The groups that have tracks; the only one where nothing is grouped."""
    return np.flatnonzero(n_tracks).tolist() if groupings else [0]


def group_values(groupings: Mapping[str, npt.NDArray[Any]], group: int) -> tuple[object, ...]:
    """The values that make a group."""
    shape = [len(values) for values in groupings.values()]
    places = np.unravel_index(group, shape) if shape else ()
    return tuple(values[place].item() for values, place in zip(groupings.values(), places, strict=True))


def _distinct(column: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Int]:
    """The values of a coordinate, sorted, what stands for no value last; and the place of each entry among them."""
    values, inverse = np.unique(column, return_inverse=True)
    places = inverse.astype(np.int64)
    if values.dtype.kind == "U" and len(values) and values[0] == "":
        return np.roll(values, -1), (places - 1) % len(values)
    return values, places


def _track_coordinate(board: Scoreboard, name: str) -> npt.NDArray[Any]:
    along = {"track": np.array(board.tracks, dtype=str), **board.coords["track"]}
    if name not in along:
        for dim in ("system", "metric"):
            if name == dim or name in board.coords[dim]:
                known = ", ".join(sorted(along))
                raise QueryError(f"by {name!r}: it lies along {dim}; tracks can be grouped by: {known}")
        raise UnknownNameError("track coordinate", name, along)
    column = along[name]
    return np.array([str(value) for value in column.tolist()]) if column.dtype.kind in "OT" else np.asarray(column)


@dataclass(frozen=True)
class _SomeTracks:
    """Some tracks of a result with extra dims."""

    whole: Sibling
    places: Int

    @property
    def dims(self) -> tuple[str, ...]:
        return self.whole.dims

    @property
    def attrs(self) -> Mapping[str, Any]:
        return self.whole.attrs

    def labels(self) -> tuple[tuple[str, ...], ...]:
        return self.whole.labels()

    def read(self, system: int, tracks: slice) -> Array:
        chosen = self.places[tracks]
        if not len(chosen):
            return self.whole.read(system, slice(0, 0))
        low, high = int(chosen.min()), int(chosen.max())
        return self.whole.read(system, slice(low, high + 1))[chosen - low]


def take_tracks(board: Scoreboard, places: Int) -> Scoreboard:
    """An evaluation of some of its tracks.

    Parameters
    ----------
    board : Scoreboard
    places : int64 (tracks,)
        Positions of the tracks.
    """

    def load(systems: Systems) -> Loaded:
        score, weight, status, duration = board.load(systems)
        return score[:, places], weight[:, places], status[:, places], duration[places]

    def texts(read: Callable[[], Array]) -> Array:
        found = read()
        return np.broadcast_to(found, (len(board.systems), len(board.tracks)))[:, places] if found.ndim else found

    return replace(
        board,
        tracks=[board.tracks[place] for place in places.tolist()],
        coords={**board.coords, "track": {name: values[places] for name, values in board.coords["track"].items()}},
        load=load,
        siblings={name: _SomeTracks(one, places) for name, one in board.siblings.items()},
        messages=partial(texts, board.messages),
        digests=partial(texts, board.digests),
    )


ANNOTATOR = "annotator"
SCORE, WEIGHT = "score_by_annotator", "weight_by_annotator"
"""Variables over (system, track, annotator, metric)."""


def has_annotators(board: Scoreboard) -> bool:
    """Whether an evaluation keeps the scores of each annotator."""
    return SCORE in board.siblings and WEIGHT in board.siblings


def by_annotator(board: Scoreboard, tracks: list[int]) -> Scoreboard:
    """An evaluation with a row for each annotation of some tracks, and the coordinate ``annotator`` along them.

    Parameters
    ----------
    board : Scoreboard
    tracks : list of int
        Positions of the tracks.

    Returns
    -------
    Scoreboard
        Over the annotations that any system has a score for: what nobody scored is known of the whole track only. A
        track's duration and its statuses are those of the whole track.

    Raises
    ------
    QueryError
        If the evaluation does not keep scores by annotator.
    """
    if not has_annotators(board):
        raise QueryError(f"by {ANNOTATOR!r}: this evaluation keeps no scores by annotator; run it with combine: each")
    annotators = board.siblings[SCORE].labels()[0]
    every = np.array([_exists(board, system)[tracks] for system in range(len(board.systems))])
    row, own = np.nonzero(every.any(axis=0)) if len(every) else (np.zeros(0, int), np.zeros(0, int))
    place = np.array(tracks, dtype=np.int64)[row]

    def load(systems: Systems) -> Loaded:
        _, _, status, duration = board.load(systems)
        score, weight = (_read(board, name, systems)[:, place, own] for name in (SCORE, WEIGHT))
        status = status[:, place]
        score[~np.isin(status, [int(one) for one in SCORED])] = np.nan
        return score, weight, status, duration[place]

    part = take_tracks(board, place)
    coords = {**part.coords["track"], ANNOTATOR: np.array(annotators, dtype=str)[own]}
    return replace(part, coords={**part.coords, "track": coords}, load=load, siblings={})


def _exists(board: Scoreboard, system: int) -> Bool:
    """Whether a system has a score for an annotation: bool (tracks, annotators)."""
    score, weight = (_values(board, board.siblings[name], system) for name in (SCORE, WEIGHT))
    return np.asarray(((weight > 0) | ~np.isnan(score)).any(axis=2))


def _read(board: Scoreboard, name: str, systems: Systems) -> Float:
    sizes = (len(board.tracks), *map(len, board.siblings[name].labels()))
    values = [_values(board, board.siblings[name], system) for system in systems]
    return np.array(values).reshape(len(values), *sizes)


def _values(board: Scoreboard, sibling: Sibling, system: int) -> Array:
    """Values of a system with its metrics in the order of the evaluation: float64 (tracks, annotators, metrics)."""
    labels = sibling.labels()[1]
    values = sibling.read(system, slice(None))
    if list(labels) == board.metrics:
        return values
    return values[..., [labels.index(name) for name in board.metrics]]
