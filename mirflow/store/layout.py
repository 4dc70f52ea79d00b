"""How the result of one evaluation stands in Zarr: dims, variables, chunks, attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cells import CELL_ATTRS, Cells
from ..errors import StoreError
from .columns import Array, column, safe_name, strings
from .content import Coords, GroupContent
from .siblings import write_sibling

if TYPE_CHECKING:
    import zarr

DIMS = ("system", "track", "metric")
TRACKS_PER_CHUNK = 20_000


def write_group(root: zarr.Group, content: GroupContent, attrs: Mapping[str, Any]) -> None:
    """Write one evaluation as a group.

    Parameters
    ----------
    root : zarr.Group
        The root of a store that is being built.
    content : GroupContent
    attrs : mapping
        Attributes beside the content's own, such as the time of creation.

    Raises
    ------
    StoreError
        If the content contradicts itself: names given twice, arrays of the wrong shape.
    """
    check(content)
    names = set(DIMS) | set(CELL_ATTRS) | set(content.cells.extras)
    coords = list(_coords(content, names))
    group_attrs = {**content.attrs, **attrs, "coordinates": " ".join(name for name, *_ in coords)}
    group = root.create_group(content.name, attributes=group_attrs)
    for dim, values in zip(DIMS, (content.systems, content.tracks, content.measures), strict=True):
        put(group, dim, strings(values), (dim,), {"long_name": dim})
    for name, array, dim, original in coords:
        put(group, name, array, (dim,), {"long_name": original})
    place, last = _places(content)
    _write_cells(group, content, content.cells, place, last)
    for name in sorted(content.cells.extras):
        rows = np.full(len(content.cells), -1, dtype=np.int64)
        rows[last] = place[last]
        write_sibling(group, name, content.cells.extras[name], rows, (len(content.systems), len(content.tracks)))


def check(content: GroupContent) -> None:
    """Refuse content that would be written as something else than it says."""
    name, cells = content.name, content.cells
    if not name.isidentifier():
        raise StoreError(f"group {name!r}: the name must be an identifier (letters, digits, underscores)")
    for dim, values in zip(DIMS, (content.systems, content.tracks, content.measures), strict=True):
        if len(set(values)) != len(values):
            twice = next(value for value in values if values.count(value) > 1)
            raise StoreError(f"group {name!r}: {dim} {twice!r} is given twice")
    per_cell = (cells.track, cells.status, cells.repairs, cells.message, cells.digest, cells.stamp, cells.duration)
    expected = (len(cells), len(content.measures))
    if any(len(values) != len(cells) for values in per_cell) or {cells.score.shape, cells.weight.shape} != {expected}:
        raise StoreError(f"group {name!r}: the arrays of its cells differ in length")
    if np.isnan(cells.weight).any():
        raise StoreError(f"group {name!r}: a weight is NaN; a cell without a score has weight 0 or an empty estimate's")
    sizes = (len(content.systems), len(content.tracks), len(content.measures))
    for coords, size in zip((content.system_coords, content.track_coords, content.metric_coords), sizes, strict=True):
        for key, given in coords.items():
            if len(given) != size:
                raise StoreError(f"group {name!r}: coordinate {key!r} has {len(given)} values, not {size}")


def _coords(content: GroupContent, taken: set[str]) -> Iterator[tuple[str, Array, str, str]]:
    """Name, values, dim and original name of every further coordinate; a name that is taken gets its dim in front."""
    sides: tuple[tuple[str, Coords], ...] = (
        ("metric", content.metric_coords),
        ("track", content.track_coords),
        ("system", content.system_coords),
    )
    for dim, coords in sides:
        for original, values in coords.items():
            name = safe_name(original)
            if name in taken:
                name = f"{dim}_{name}"
            if name in taken:
                raise StoreError(f"group {content.name!r}: coordinate {original!r} of {dim} is given twice as {name!r}")
            taken.add(name)
            yield name, column(values), dim, original


def _places(content: GroupContent) -> tuple[Array, Array]:
    """The flat (system, track) place of each cell, -1 where the group does not hold it, and the cells that count."""
    system = {name: i for i, name in enumerate(content.systems)}
    track = {name: i for i, name in enumerate(content.tracks)}
    cells, count = content.cells, len(content.cells)
    rows = np.fromiter((system.get(name, -1) for name in cells.system), dtype=np.int64, count=count)
    cols = np.fromiter((track.get(name, -1) for name in cells.track), dtype=np.int64, count=count)
    place = np.where((rows < 0) | (cols < 0), -1, rows * len(content.tracks) + cols)
    places, first_from_end = np.unique(place[::-1], return_index=True)
    last = count - 1 - first_from_end[places >= 0]
    return place, last


def _write_cells(group: zarr.Group, content: GroupContent, cells: Cells, place: Array, last: Array) -> None:
    shape = (len(content.systems), len(content.tracks))
    at = place[last]

    def grid(values: Array, fill: float, tail: tuple[int, ...] = ()) -> Array:
        full = np.full((shape[0] * shape[1], *tail), fill, dtype=values.dtype)
        full[at] = values[last]
        return full.reshape(*shape, *tail)

    def text(values: tuple[str, ...]) -> Array:
        full = np.full(shape[0] * shape[1], "", dtype=np.dtypes.StringDType())
        full[at] = strings(values[i] for i in last.tolist())
        return full.reshape(shape)

    measures = (len(content.measures),)
    put(group, "score", grid(np.asarray(cells.score, np.float64), np.nan, measures), DIMS, CELL_ATTRS["score"])
    put(group, "weight", grid(np.asarray(cells.weight, np.float64), 0.0, measures), DIMS, CELL_ATTRS["weight"])
    columns = {
        "status": grid(np.asarray(cells.status, np.int8), 0),
        "repairs": grid(np.asarray(cells.repairs, np.int32), 0),
        "message": text(cells.message),
        "digest": text(cells.digest),
        "stamp": grid(np.asarray(cells.stamp, np.int64), 0),
    }
    for name, values in columns.items():
        put(group, name, values, DIMS[:2], CELL_ATTRS[name])
    duration = np.full(shape[1], np.nan)
    np.fmax.at(duration, at % max(shape[1], 1), cells.duration[last])
    put(group, "duration", duration, ("track",), CELL_ATTRS["duration"])


def put(group: zarr.Group, name: str, values: Array, dims: tuple[str, ...], attrs: Mapping[str, Any]) -> None:
    """Write one whole variable, a system and up to 20,000 tracks a chunk."""
    from .backends import create_array

    per_chunk = {"system": 1 if len(dims) > 1 else len(values), "track": TRACKS_PER_CHUNK}
    chunks = tuple(min(size, per_chunk.get(dim, size)) for dim, size in zip(dims, values.shape, strict=True))
    fill = {"T": "", "b": False, "f": 0.0 if name == "weight" else np.nan}.get(values.dtype.kind, 0)
    array = create_array(group, name, values.shape, values.dtype, chunks, fill, dims, attrs)
    if values.size:
        array[...] = values
