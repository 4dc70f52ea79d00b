"""Variables of several stores as one, which are read part by part when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import QueryError
from .derived import OWN_DIMS
from .scoreboard import Array

if TYPE_CHECKING:
    import xarray as xr

CELL = ("system", "track")
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


def lazy_variable(
    key: str, parts: Sequence[Part], labels: Mapping[str, Sequence[str]], coords: dict[str, Any], taken: Collection[str]
) -> xr.Variable:
    """A variable over cells that is read part by part.

    Parameters
    ----------
    key : str
        Its name; all parts have it, with the same dims by the metric's own names.
    parts : sequence of Part
    labels : mapping of str to sequence of str
        Those of the dims that all of an evaluation is about.
    coords : dict
        Of the whole; it gets the labels of extra dims.
    taken : collection of str
        Names that no dim may have.

    Raises
    ------
    QueryError
        If there is no name for a dim.
    """
    import xarray as xr
    from xarray.core import indexing

    like = parts[0].ds[key]
    named = [extra_dims(part.ds[key]) for part in parts]
    own = list(named[0])
    whole = [list(labels[dim]) if dim in labels else _union_of(dim, parts, named) for dim in own]
    dims = [dim if dim in labels else _put(key, dim, one, coords, taken) for dim, one in zip(own, whole, strict=True)]
    readers = []
    for part, stored in zip(parts, named, strict=True):
        inner = [places_of(names_of(part.ds, stored[dim]), one) for dim, one in zip(own, whole, strict=True)]
        values = part.ds[key].transpose(*CELL, *(stored[dim] for dim in own))
        readers.append(([*(part.places[dim] for dim in CELL), *inner], values))
    shape = (*(len(labels[dim]) for dim in CELL), *map(len, whole))
    text = like.dtype.kind in "OTU"
    fill: object = "" if text else _FILLS.get(key, _fill_of(like))
    dtype = np.dtype(np.dtypes.StringDType()) if text else like.dtype
    array = _joined_array(shape, dtype, fill, readers)
    attrs = {name: value for name, value in like.attrs.items() if name != OWN_DIMS}
    if dims != own:
        attrs[OWN_DIMS] = own
    return xr.Variable((*CELL, *dims), indexing.LazilyIndexedArray(array), attrs)


def extra_dims(values: xr.DataArray) -> dict[str, str]:
    """The extra dims of a variable, by the metric's own names, as the store calls them."""
    stored = [str(dim) for dim in values.dims if dim not in CELL]
    return dict(zip(map(str, values.attrs.get(OWN_DIMS, stored)), stored, strict=True))


def _union_of(dim: str, parts: Sequence[Part], named: Sequence[Mapping[str, str]]) -> list[str]:
    return union(names_of(part.ds, stored[dim]) for part, stored in zip(parts, named, strict=True))


def _put(key: str, dim: str, names: Sequence[str], coords: dict[str, Any], taken: Collection[str]) -> str:
    """What a dim is called in the whole: its own name, or with the variable's in front as in a store."""
    for name in (dim, f"{key}_{dim}"):
        if name not in coords and name not in taken:
            coords[name] = np.array(names, dtype=str)
            return name
        there = coords.get(name)
        if isinstance(there, np.ndarray) and there.tolist() == list(names):
            return name
    raise QueryError(f"{key}: its dim {dim!r} cannot be joined, both {dim!r} and {key}_{dim} are taken")


def names_of(ds: xr.Dataset, dim: str) -> list[str]:
    """The labels along a dim."""
    return [str(name) for name in ds[dim].values.tolist()]


def union(names: Iterable[Sequence[str]]) -> list[str]:
    """All labels, each once."""
    return list(dict.fromkeys(name for several in names for name in several))


def places_of(names: Sequence[str], whole: Sequence[str]) -> Array:
    """The place of each label in the whole; -1 for one that is not in it."""
    at = {name: place for place, name in enumerate(whole)}
    return np.array([at.get(name, -1) for name in names], dtype=np.int64)


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
