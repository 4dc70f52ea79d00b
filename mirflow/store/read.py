"""A result store read: groups as plain data, scores for queries, and the tree.

Evaluations in memory are converted to datasets, and datasets of scores back to evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..errors import StoreError, UnknownNameError
from ..metrics.base import Sparse
from ..ragged import Int
from ..remote import as_given, parse_address
from .cells import CELL_ATTRS, Entry, GroupContent
from .format import (
    DENSE,
    DIMS,
    FINGERPRINTS,
    OWN_DIMS,
    Array,
    StoredVariable,
    cells_of_arrays,
    dense_cells,
    layout,
    loaded,
    nested_attrs,
    plain_attrs,
    too_long,
    usable_text,
)
from .generations import reading, resolve
from .stored import CREATED, FORMAT, FORMAT_KEY, StoredGroup, check_attributes

if TYPE_CHECKING:
    import xarray as xr
    import zarr

T = TypeVar("T")


def read_group(path: str | Path, name: str) -> GroupContent:
    """One evaluation of a store, by the path that the user named, or of a copy of it.

    The cells of the result are those with a status, system by system. Missing values are NaN or "". Raises `StoreError`
    if there is no such store, or it cannot be read. Raises `UnknownNameError` if the store has no such group.
    """

    def read(root: zarr.Group) -> GroupContent:
        names = sorted(root.group_keys())
        if name not in names:
            raise UnknownNameError(f"group of {path}", name, names)
        return loaded(StoredGroup(root, name, path).content)

    return read_store(path, read)


def open_groups(path: str | Path) -> dict[str, GroupContent]:
    """All evaluations of a store, by name, whose results are read when they are needed, system by system. Errors are
    those of :func:`read_group`. They belong to the generation that is current now."""
    return read_store(
        path, lambda root: {name: StoredGroup(root, name, path).content for name in sorted(root.group_keys())}
    )


def read_store(path: str | Path, read: Callable[[zarr.Group], T]) -> T:
    """Read from the generation that a path leads to; once more where it was replaced and removed meanwhile. Errors are
    those of :func:`read_group`."""
    import zarr

    from .repositories import open_version
    from .zarr_io import SERVER_REMEDY, GenerationStore, open_url

    address = parse_address(path)
    name, folder = path if address is None else as_given(path), None
    remedy = "remove it and run the pipeline again"
    if address is not None:
        remedy = SERVER_REMEDY if address.is_plain else "go back to an earlier version, which `mirflow history` lists"
    while True:
        if address is None:
            folder = resolve(path)
        try:
            with reading(name, remedy):
                if folder is not None:
                    root = zarr.open_group(GenerationStore(folder, read_only=True), mode="r", zarr_format=3)
                else:
                    root = open_url(path) if address is not None and address.is_plain else open_version(path)
                version = root.attrs.get(FORMAT_KEY)
                if version is None:
                    packed = "a pack of annotations: `mirflow check` says what is in it"
                    what = packed if "mirflow_pack" in root.attrs else "Zarr, but not a result store of mirflow"
                    raise StoreError(f"{name}: is {what}; `mirflow run` makes result stores")
                if version != FORMAT:
                    raise StoreError(
                        f"{name}: has format {version}, this mirflow reads format {FORMAT}; upgrade mirflow"
                    )
                check_attributes(root.attrs.asdict())
                return read(root)
        except StoreError:
            if folder is None or folder.exists():
                raise


def read_scores(path: str | Path) -> dict[str, xr.Dataset]:
    """Return all evaluations of a store, or of a plain copy, by name: statuses and durations in memory. They are those
    of :func:`read_tree`, with nested attributes and with coordinates in the order of the store. Other values are read
    on access, only those that are selected; scores and weights stay in memory once all are read."""
    return read_store(path, lambda root: {name: _dataset(group, scores=True) for name, group in sorted(root.groups())})


_NEEDED = ("score", "weight", "status", "duration")
_LARGE = ("score", "weight")
_DESCRIBED = ("aggregates", "standard_aggregate", "orientation", "unit")
"""Variables and coordinates of metrics that every evaluation has."""


def _dataset(group: zarr.Group, *, scores: bool = False) -> xr.Dataset:
    """The arrays of a group by name, read on access but for labels; `scores`: in the form for queries."""
    import xarray as xr

    from ..lazy_array import lazy_variable, plain_variable
    from .zarr_io import StoredArray

    attrs = dict(group.attrs)
    arrays = dict(sorted(group.arrays()))
    listed = check_attributes(attrs, arrays)
    named = {*DIMS, *listed}
    data: dict[str, xr.Variable] = {}
    coords: dict[str, xr.Variable] = {}
    for name, array in arrays.items():
        if name == FINGERPRINTS:
            continue
        metadata: Any = array.metadata
        large = name in _LARGE
        dims, stored = metadata.dimension_names, StoredArray(array, kept=scores and large)
        if dims == (name,) or (scores and not large and (array.ndim == 1 or name in _NEEDED)):
            values = stored((slice(None),) * array.ndim)
            if dims == (name,) and values.dtype.kind == "O" and (message := too_long(values.tolist())):
                raise ValueError(message)
            variable = plain_variable(dims, values, dict(array.attrs))
        else:
            variable = lazy_variable(dims, array.shape, stored.dtype, stored, dict(array.attrs))
        (coords if name in named or dims == (name,) else data)[name] = variable
    astray = [name for name in _DESCRIBED if name in data]
    if astray:
        raise ValueError(f"its attribute 'coordinates' does not name {astray[0]!r}")
    if scores:
        coords = {name: coords[name] for name in dict.fromkeys([*listed, *coords]) if name in coords}
        lacking = [name for name in (*_NEEDED, *_DESCRIBED) if name not in data and name not in coords]
        if lacking:
            raise ValueError(f"it lacks the variable {lacking[0]!r}")
    ds = xr.Dataset(data, coords, attrs if scores else plain_attrs(attrs))
    store: Any = group.store
    ds.encoding["source"] = str(store.root if hasattr(store, "root") else store.address)  # as of datasets of xarray
    return ds


def dataset_of(content: GroupContent) -> xr.Dataset:
    """Return the dataset of an evaluation in memory, the same as that of its group in a store; each cell occurs at most
    once. None of its results are stored."""
    import xarray as xr

    from ..lazy_array import lazy_variable, plain_variable

    place, shape = content.places, content.shape
    coords, extras = layout(content)
    dense = dense_cells(content, [name for name in CELL_ATTRS if name != FINGERPRINTS]).items()
    data = [*(StoredVariable(name, DENSE[name], values, CELL_ATTRS[name]) for name, values in dense), *extras]
    variables: dict[str, xr.Variable] = {}
    for stored in (*data, *coords):
        dims, values, attrs = stored.dims, stored.values, stored.attrs
        if isinstance(values, Sparse):
            full = (*shape, *map(len, values.coords))
            read = partial(_read_sparse, values, place, full)
            variables[stored.name] = lazy_variable(dims, full, np.float64, read, attrs)
        else:
            variables[stored.name] = plain_variable(dims, usable_text(values), attrs)
    labels = {coord.name: variables.pop(coord.name) for coord in coords}
    return xr.Dataset(variables, labels, plain_attrs(content.attrs))


def content_of(ds: xr.Dataset, name: str | None = None) -> GroupContent:
    """Return the evaluation that a dataset holds: the inverse of `dataset_of`, also of a part of its cells and metrics.
    Arrays that it lacks beside scores, weights and statuses are empty. Without a name, it is that of the task."""
    missing = [one for one in ("score", "weight", "status") if one not in ds.data_vars]
    missing += [dim for dim in DIMS if dim not in ds.dims or dim not in ds.coords]
    if missing:
        raise StoreError(f"not the scores of an evaluation: no {', '.join(missing)} in this dataset")
    # All variables at once: of lazy scores, those of a cell come from the same task.
    ds = ds.transpose(*DIMS, ...).compute()
    systems, tracks, measures = (tuple(map(str, ds[dim].values.tolist())) for dim in DIMS)
    attrs = {str(key): value for key, value in nested_attrs(ds.attrs).items() if key != CREATED}
    shape, durations = (len(systems), len(tracks)), np.full(len(tracks), np.nan)
    arrays = {key: ds[key].values if key in ds.data_vars else np.full(shape, fill) for key, fill in _ABSENT.items()}
    for filled in ("status", "weight", "repairs"):  # NaN where xarray filled cells when it joined datasets
        arrays[filled] = np.nan_to_num(arrays[filled])
    if "duration" in ds.data_vars:
        lengths = ds["duration"]
        durations = np.asarray(
            (lengths.max("system") if "system" in lengths.dims else lengths).values, dtype=np.float64
        )
    arrays |= {"score": ds["score"].values, "stamp": np.zeros(shape, dtype=np.int64), "duration": durations}
    extras = {
        str(key): _to_sparse(variable)
        for key, variable in ds.data_vars.items()
        if variable.dims[:2] == DIMS[:2] and len(variable.dims) > 2 and variable.dims != DIMS
    }
    cells = cells_of_arrays(systems, tracks, measures, arrays, extras)
    coords: dict[str, dict[str, list[Entry]]] = {dim: {} for dim in DIMS}
    for key, coord in ds.coords.items():
        if coord.ndim == 1 and coord.dims[0] in DIMS and key != coord.dims[0]:
            coords[str(coord.dims[0])][str(coord.attrs.get("long_name", key))] = coord.values.tolist()
    group = name or str(attrs.get("task", ""))
    return GroupContent(group, systems, tracks, cells, coords["metric"], coords["system"], coords["track"], attrs)


_ABSENT: Mapping[str, Any] = {"status": 0, "weight": 0.0, "repairs": 0, "message": "", "digest": ""}
"""Variables of scores, with what they are where there is none."""


def _to_sparse(variable: xr.DataArray) -> Sparse:
    """A variable with extra dims as places over (system, track) and labels, and values, read a system at a time."""
    dims = tuple(map(str, variable.dims[2:]))
    attrs = {str(key): value for key, value in variable.attrs.items() if key != OWN_DIMS}
    tracks = variable.sizes["track"]
    blocks = [variable[system].values for system in range(variable.sizes["system"])]
    fill = np.nan if any(np.isnan(block).any() for block in blocks) else 0.0
    indices, values = [np.empty((0, 1 + len(dims)), np.int64)], [np.empty(0)]
    for system, block in enumerate(blocks):
        at = np.nonzero(~np.isnan(block) if np.isnan(fill) else block)
        indices.append(np.column_stack([system * tracks + at[0], *at[1:]]).astype(np.int64))
        values.append(block[at])
    coords = tuple(tuple(map(str, variable[dim].values.tolist())) for dim in dims)
    named = tuple(variable.attrs.get(OWN_DIMS, dims))
    return Sparse(named, coords, np.concatenate(indices), np.concatenate(values), attrs, fill)


def _read_sparse(sparse: Sparse, place: Int, shape: tuple[int, ...], key: tuple[Any, ...]) -> Array:
    """The product of some places of a result with extra dims, whose cells have flat (system, track) places."""
    chosen = [np.arange(size)[one] for size, one in zip(shape, key, strict=True)]
    (systems, row), (tracks, column) = (np.unique(one, return_inverse=True) for one in chosen[:2])
    at = np.full(shape[:2], -1, dtype=np.int64)
    at[np.ix_(systems, tracks)] = np.arange(len(systems) * len(tracks)).reshape(len(systems), len(tracks))
    cell = np.where(place < 0, -1, at.reshape(-1)[place])[sparse.index[:, 0]]
    dense = np.full((len(systems) * len(tracks), *shape[2:]), sparse.fill)
    dense[(cell[cell >= 0], *sparse.index[cell >= 0, 1:].T)] = sparse.value[cell >= 0]
    product = np.ix_(*(np.atleast_1d(one) for one in (row, column, *chosen[2:])))
    values: Array = dense.reshape(len(systems), len(tracks), *shape[2:])[product]
    return values.reshape([len(one) for one in chosen if one.ndim])


def read_tree(path: str | Path) -> xr.DataTree:
    """A result store as a lazy tree, one group an evaluation.

    The tree belongs to the generation that is current now: a run that publishes meanwhile does not change it, and
    opening again shows the new one. A tree that is still held after two such runs raises when it is read.

    `path`: the store, or a plain copy of one. Values are read when they are asked for, without dask. Raises
    `StoreError` if nothing is there, or not a result store, or one of a later version, or a damaged one.

    Examples
    --------
    >>> import tempfile
    >>> from mirflow.store.write import StoreWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with StoreWriter(Path(folder) / "x.zarr") as writer:
    ...         _ = writer.publish([], {"name": "demo"})
    ...     read_tree(Path(folder) / "x.zarr").attrs["name"]
    'demo'
    """
    import xarray as xr

    attrs, datasets = read_store(
        path, lambda root: (plain_attrs(root.attrs), {name: _dataset(group) for name, group in sorted(root.groups())})
    )
    return xr.DataTree.from_dict({"/": xr.Dataset(attrs=attrs), **datasets})
