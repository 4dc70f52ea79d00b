"""Several stores as one: evaluations of the same name and settings, joined along systems and tracks.

Names, statuses and what belongs to whole tracks are read at once; scores are read where they lie when they are asked
for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MirflowWarning, QueryError
from ..status import Status
from .references import DURATION, REFERENCES_DIFFER, TOLERANCE, differing_references
from .scoreboard import Array

if TYPE_CHECKING:
    import xarray as xr

STORE = "store"
"""The coordinate along tracks that says where they come from."""

_SETTINGS = ("task", "convention", "grid", "combine")
_CELL = ("system", "track")
_FILLS: Mapping[str, object] = {"score": np.nan, "weight": 0.0, "status": 0, "repairs": 0, "stamp": 0}


@dataclass(frozen=True)
class Part:
    """One evaluation of one store, and where its systems, tracks and metrics are in the whole.

    Parameters
    ----------
    store : str
        Its name.
    ds : xr.Dataset
    places : mapping of str to int64
        For each dim, the place in the whole of each of its labels; -1 for one that is not in it.
    """

    store: str
    ds: xr.Dataset
    places: Mapping[str, Array]


def join_trees(trees: Mapping[str, xr.DataTree], *, label: bool = False) -> xr.DataTree:
    """Stores as one tree.

    Parameters
    ----------
    trees : mapping of str to xr.DataTree
        Opened stores by name.
    label : bool
        Put the store's name before its systems, ``2013/KO1``, so that the same system may be in several.

    Returns
    -------
    xr.DataTree
        A group for each name of a group. A cell that no store has is ``not_computed``. Where stores scored the same
        track against different references, the attribute ``references_differ`` says so, and a duration that differs is
        NaN.

    Raises
    ------
    QueryError
        If groups of the same name differ in task, convention, grid or combination, a metric in its version, a track in
        a coordinate, or if two stores hold the same cell.

    Warns
    -----
    MirflowWarning
        Once for each group, where references differ, and where only some stores have a metric.
    """
    import xarray as xr

    groups: dict[str, dict[str, xr.Dataset]] = {}
    for store, tree in trees.items():
        for node in tree.subtree:
            if "score" in node.data_vars:
                ds = node.to_dataset()
                groups.setdefault(node.path.strip("/"), {})[store] = _labelled(ds, store) if label else ds
    joined = {}
    for name, parts in groups.items():
        joined[f"/{name}"] = join_group(name, parts)
    return xr.DataTree.from_dict(joined)


def _labelled(ds: xr.Dataset, store: str) -> xr.Dataset:
    return ds.assign_coords(system=[f"{store}/{name}" for name in _names(ds, "system")])


def join_group(name: str, given: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """One evaluation of several stores as one dataset; see :func:`join_trees`."""
    import xarray as xr

    _check_settings(name, given)
    labels = {dim: _union(_names(ds, dim) for ds in given.values()) for dim in _CELL}
    labels["metric"] = _common_metrics(name, given)
    parts = [
        Part(store, ds, {dim: _places(_names(ds, dim), own) for dim, own in labels.items()})
        for store, ds in given.items()
    ]
    _check_cells(name, parts, labels)
    coords: dict[str, Any] = {dim: np.array(own, dtype=str) for dim, own in labels.items()}
    for dim in labels:
        coords |= {key: (dim, values) for key, values in _coordinates(name, parts, dim, labels[dim]).items()}
    coords.setdefault(STORE, ("track", _origin(parts, len(labels["track"]))))
    variables: dict[str, Any] = {}
    for key in parts[0].ds.data_vars:
        if not all(key in part.ds.data_vars for part in parts):
            continue
        if set(parts[0].ds[key].dims) == {"track"}:
            values = _along_tracks(name, str(key), parts, labels["track"])
            variables[str(key)] = ("track", values, parts[0].ds[key].attrs)
        elif set(_CELL) <= set(parts[0].ds[key].dims):
            variables[str(key)] = _lazy(str(key), parts, labels, coords)
    same = {key: value for key, value in parts[0].ds.attrs.items() if all(p.ds.attrs.get(key) == value for p in parts)}
    return xr.Dataset(variables, coords, {**same, **_references(name, given), "stores": ", ".join(given)})


def _references(name: str, given: Mapping[str, xr.Dataset]) -> dict[str, str]:
    """What there is to say of references that differ, which is also warned of."""
    said = differing_references(given)
    if not said:
        return {}
    hint = "score them again with the same references, or ask the stores one by one"
    warnings.warn(f"group {name!r}: {said}; {hint}", MirflowWarning, stacklevel=5)
    return {REFERENCES_DIFFER: said}


def _names(ds: xr.Dataset, dim: str) -> list[str]:
    return [str(name) for name in ds[dim].values.tolist()]


def _union(names: Iterable[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for several in names for name in several))


def _places(names: Sequence[str], whole: Sequence[str]) -> Array:
    at = {name: place for place, name in enumerate(whole)}
    return np.array([at.get(name, -1) for name in names], dtype=np.int64)


def _check_settings(name: str, given: Mapping[str, xr.Dataset]) -> None:
    (first, one), *others = given.items()
    for store, ds in others:
        for key in _SETTINGS:
            own, other = str(one.attrs.get(key, "")), str(ds.attrs.get(key, ""))
            if own != other:
                raise QueryError(
                    f"group {name!r}: {key} is {own!r} in {first} and {other!r} in {store}, so that they cannot be "
                    "opened as one; ask them one by one"
                )


def _common_metrics(name: str, given: Mapping[str, xr.Dataset]) -> list[str]:
    """The metrics that all stores have, by the same version; a warning names the others."""
    versions: dict[str, dict[str, int]] = {}
    for store, ds in given.items():
        own = ds["version"].values.tolist() if "version" in ds.coords else [0] * ds.sizes["metric"]
        for metric, version in zip(_names(ds, "metric"), own, strict=True):
            versions.setdefault(metric, {})[store] = version
    for metric, found in versions.items():
        if len(set(found.values())) > 1:
            told = ", ".join(f"{version} in {store}" for store, version in found.items())
            raise QueryError(f"group {name!r}: metric {metric!r} has version {told}; run the older pipeline again")
    common = [metric for metric, found in versions.items() if len(found) == len(given)]
    partly = [metric for metric in versions if metric not in common]
    if partly:
        text = f"group {name!r}: not in all stores and left out: {', '.join(partly)}"
        warnings.warn(text, MirflowWarning, stacklevel=5)
    return common


def _check_cells(name: str, parts: Sequence[Part], labels: Mapping[str, Sequence[str]]) -> None:
    """Refuse a cell that two stores hold: which one counts would be chance."""
    owner = np.full((len(labels["system"]), len(labels["track"])), -1)
    for number, part in enumerate(parts):
        held = part.ds["status"].transpose(*_CELL).values != Status.not_computed
        at = np.ix_(part.places["system"], part.places["track"])
        both = held & (owner[at] >= 0)
        if both.any():
            system, track = np.argwhere(both)[0].tolist()
            one, two = parts[int(owner[at][system, track])].store, part.store
            cell = f"system {_names(part.ds, 'system')[system]!r}, track {_names(part.ds, 'track')[track]!r}"
            raise QueryError(
                f"group {name!r}: {cell} is in {one} and in {two} ({int(both.sum())} such cells); give the stores "
                "labels, which are put before their systems"
            )
        owner[at] = np.where(held, number, owner[at])


def _coordinates(name: str, parts: Sequence[Part], dim: str, labels: Sequence[str]) -> dict[str, Array]:
    """Coordinates along a dim, from all stores that have them."""
    keys = _union(
        [str(key) for key, one in part.ds.coords.items() if one.dims == (dim,) and key != dim] for part in parts
    )
    found = {}
    for key in keys:
        entries: list[Any] = [None] * len(labels)
        for part in parts:
            if key not in part.ds.coords:
                continue
            for place, value in zip(part.places[dim].tolist(), part.ds[key].values.tolist(), strict=True):
                if place < 0 or value == "" or value != value:
                    continue
                if entries[place] is not None and entries[place] != value:
                    both = f"{entries[place]!r} in one store and {value!r} in {part.store}"
                    raise QueryError(f"group {name!r}: {dim} {labels[place]!r} has {key} {both}")
                entries[place] = value
        found[key] = _column(entries)
    return found


def _column(entries: Sequence[Any]) -> Array:
    """Values as one array; gaps are NaN among numbers, else empty."""
    there = {type(value) for value in entries if value is not None}
    if there and there <= {int, float}:
        whole = there == {int} and None not in entries
        return np.array(entries if whole else [np.nan if one is None else float(one) for one in entries])
    if there == {bool} and None not in entries:
        return np.array(entries)
    return np.array(["" if one is None else str(one) for one in entries], dtype=str)


def _origin(parts: Sequence[Part], count: int) -> Array:
    """The stores that each track is in."""
    names: list[list[str]] = [[] for _ in range(count)]
    for part in parts:
        for place in part.places["track"].tolist():
            names[place].append(part.store)
    return np.array([" + ".join(own) for own in names], dtype=str)


def _along_tracks(name: str, key: str, parts: Sequence[Part], tracks: Sequence[str]) -> Array:
    """Values of whole tracks, which all stores that know them have alike, but for durations of references.

    Of a duration that differs nobody can say which one counts: it is NaN, as one that is not known.
    """
    found, differing = np.full(len(tracks), np.nan), np.zeros(len(tracks), dtype=bool)
    for part in parts:
        places, values = part.places["track"], part.ds[key].values
        differ = np.abs(found[places] - values) > TOLERANCE
        if key == DURATION:  # which is 0 where no reference was usable
            differ &= (found[places] > 0) & (values > 0)
        if differ.any() and key != DURATION:
            track = tracks[int(places[np.flatnonzero(differ)[0]])]
            raise QueryError(f"group {name!r}: track {track!r} has another {key} in {part.store}")
        differing[places] |= differ
        found[places] = np.fmax(found[places], values)
    found[differing] = np.nan
    return found


def _lazy(key: str, parts: Sequence[Part], labels: Mapping[str, Sequence[str]], coords: dict[str, Any]) -> xr.Variable:
    """A variable over cells that is read part by part; labels of extra dims are put together in `coords`."""
    import xarray as xr
    from xarray.core import indexing

    like = parts[0].ds[key]
    dims = ("system", "track", *(str(dim) for dim in like.dims if dim not in _CELL))
    for dim in dims[2:]:
        if dim not in labels and dim not in coords:
            coords[dim] = np.array(_union(_names(part.ds, dim) for part in parts), dtype=str)
    shape = tuple(len(coords[dim]) for dim in dims)
    readers = []
    for part in parts:
        places = [
            part.places[dim] if dim in labels else _places(_names(part.ds, dim), coords[dim].tolist()) for dim in dims
        ]
        readers.append((places, part.ds[key].transpose(*dims)))
    text = like.dtype.kind in "OTU"
    fill: object = "" if text else _FILLS.get(key, _fill_of(like))
    dtype = np.dtype(np.dtypes.StringDType()) if text else like.dtype
    array = _joined_array(shape, dtype, fill, readers)
    return xr.Variable(dims, indexing.LazilyIndexedArray(array), like.attrs)


def _fill_of(values: xr.DataArray) -> float:
    """What stands where there is no entry: as the store says, and 0 for counts of old ones."""
    fill = values.encoding.get("_FillValue", 0.0)
    return float(fill)


Readers = Sequence[tuple[list[Array], "xr.DataArray"]]


def _joined_array(shape: tuple[int, ...], dtype: Any, fill: object, readers: Readers) -> Any:
    """An array for xarray's lazy indexing; its class is made here, as xarray is imported only where it is used."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    class Joined(BackendArray):
        def __init__(self) -> None:
            self.shape, self.dtype = shape, dtype

        def __getitem__(self, key: Any) -> Any:
            support = indexing.IndexingSupport.OUTER
            return indexing.explicit_indexing_adapter(key, shape, support, _reader(shape, dtype, fill, readers))

    return Joined()


def _reader(shape: tuple[int, ...], dtype: Any, fill: object, readers: Readers) -> Callable[[tuple[Any, ...]], Array]:
    def read(key: tuple[Any, ...]) -> Array:
        wanted = [np.atleast_1d(np.arange(size)[one]) for size, one in zip(shape, key, strict=True)]
        whole = np.full([len(one) for one in wanted], fill, dtype=dtype)
        for places, values in readers:
            # Where in the answer, and where in the part, are the labels that are in both.
            into, out = zip(*(_meet(one, own) for one, own in zip(wanted, places, strict=True)), strict=True)
            if all(map(len, into)):
                whole[np.ix_(*into)] = _merge(whole[np.ix_(*into)], values[out].values, fill)
        scalar = tuple(
            0 if np.ndim(np.arange(size)[one]) == 0 else slice(None) for size, one in zip(shape, key, strict=True)
        )
        return np.asarray(whole[scalar])

    return read


def _meet(wanted: Array, places: Array) -> tuple[Array, Array]:
    """Positions among what is wanted, and in the part, of what is in both."""
    at = np.full(max(int(wanted.max(initial=-1)), int(places.max(initial=-1))) + 1, -1, dtype=np.int64)
    known = np.flatnonzero(places >= 0)
    at[places[known]] = known
    found = at[wanted]
    return np.flatnonzero(found >= 0), found[found >= 0]


def _merge(old: Array, new: Array, fill: object) -> Array:
    """What a part has; where it has nothing, what stood there from another part."""
    if old.dtype.kind in "OTU":
        return np.where(np.asarray(new, dtype=old.dtype) == "", old, np.asarray(new, dtype=old.dtype))
    nothing = np.isnan(new) if isinstance(fill, float) and np.isnan(fill) else new == fill
    return np.where(nothing, old, new)
