"""Results with extra dims beside the scores: dense in Zarr, sparse everywhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StoreError
from ..metrics.base.task import Sparse
from ..ragged import Int
from .columns import strings
from .content import WRITTEN

if TYPE_CHECKING:
    import zarr

_MAX_TRACKS, _MAX_VALUES = 256, 2**19
_NAMED = "own_dims"


def write_sibling(group: zarr.Group, name: str, sparse: Sparse, rows: Int, shape: tuple[int, int]) -> None:
    """Write a result with extra dims as a dense variable, a chunk at a time; chunks without entries are not written.

    Parameters
    ----------
    group : zarr.Group
        The evaluation's group, with its dims written.
    name : str
        Name of the variable.
    sparse : Sparse
        The first index column is the cell.
    rows : int64 (cells,)
        Flat (system, track) place of each cell; -1 for cells that are left out.
    shape : (int, int)
        Number of systems and tracks.
    """
    from .backends import create_array

    inner = tuple(len(labels) for labels in sparse.coords)
    dims = tuple(_write_dim(group, name, dim, labels) for dim, labels in zip(sparse.dims, sparse.coords, strict=True))
    per_chunk = max(1, min(_MAX_TRACKS, shape[1], _MAX_VALUES // max(1, int(np.prod(inner)))))
    attrs: dict[str, Any] = dict(sparse.attrs)
    if dims != tuple(sparse.dims):
        attrs[_NAMED] = list(sparse.dims)
    array = create_array(
        group,
        name,
        (*shape, *inner),
        np.dtype(np.float64),
        (1, per_chunk, *inner),
        sparse.fill,
        ("system", "track", *dims),
        attrs,
        sparse=True,
    )
    place = rows[sparse.index[:, 0]]
    order = np.argsort(place, kind="stable")[np.count_nonzero(place < 0) :]
    place, inside, values = place[order], sparse.index[order, 1:], sparse.value[order]
    for system in range(shape[0]):
        for start in range(0, shape[1], per_chunk):
            stop = min(start + per_chunk, shape[1])
            low, high = np.searchsorted(place, (system * shape[1] + start, system * shape[1] + stop))
            if low < high:
                block = np.full((stop - start, *inner), sparse.fill)
                track = place[low:high] - system * shape[1] - start
                block[(track, *inside[low:high].T)] = values[low:high]
                array[system, start:stop] = block
    array.update_attributes({WRITTEN: array.nchunks_initialized})


def _write_dim(group: zarr.Group, variable: str, dim: str, labels: tuple[str, ...]) -> str:
    """Write the labels of an extra dim once; a dim of the same name with other labels gets the variable's in front."""
    from .backends import create_array

    for name in (dim, f"{variable}_{dim}"):
        if name not in group:
            values = strings(labels)
            array = create_array(group, name, values.shape, values.dtype, values.shape, "", (name,), {"long_name": dim})
            if labels:
                array[...] = values
            return name
        if dims_of(group, name) == (name,) and labels_of(group, name) == labels:
            return name
    raise StoreError(f"{variable}: its dim {dim!r} cannot be stored, both {dim!r} and {variable}_{dim} are taken")


def array_of(group: zarr.Group, name: str) -> zarr.Array[Any]:
    """The array of that name."""
    import zarr

    node = group[name]
    if not isinstance(node, zarr.Array):
        raise StoreError(f"{name}: is a group where an array is expected")
    return node


def dims_of(group: zarr.Group, name: str) -> tuple[str, ...]:
    """The dims of an array."""
    metadata: Any = array_of(group, name).metadata
    return tuple(str(dim) for dim in metadata.dimension_names or ())


def labels_of(group: zarr.Group, name: str) -> tuple[str, ...]:
    """The labels along a dim."""
    from .backends import read_whole

    return tuple(read_whole(group, name).tolist())


def read_sibling(group: zarr.Group, name: str, cell_at: Int) -> Sparse:
    """A variable with extra dims as coordinates and values.

    Parameters
    ----------
    group : zarr.Group
    name : str
    cell_at : int64 (systems * tracks,)
        Cell at each flat (system, track) place; -1 where there is none.
    """
    array, dims = array_of(group, name), dims_of(group, name)[2:]
    attrs: dict[str, Any] = dict(array.attrs)
    attrs.pop(WRITTEN, None)
    named = tuple(attrs.pop(_NAMED, dims))
    tracks, per_chunk, fill = array.shape[1], array.chunks[1], float(array.fill_value)
    indices, values = [np.empty((0, 1 + len(dims)), np.int64)], [np.empty(0)]
    for system in range(array.shape[0]):
        for start in range(0, tracks, per_chunk):
            block = np.asarray(array[system, start : start + per_chunk])
            at = np.nonzero(~np.isnan(block) if np.isnan(fill) else block != fill)
            cells = cell_at[system * tracks + start + at[0]]
            known = cells >= 0
            indices.append(np.column_stack([cells, *at[1:]])[known].astype(np.int64))
            values.append(block[at][known])
    coords = tuple(labels_of(group, dim) for dim in dims)
    return Sparse(named, coords, np.concatenate(indices), np.concatenate(values), attrs, fill)
