"""Writing of an evaluation to a generation or a repository: chunks of new results, and what can stay as it is.

The files of systems that stay are linked in a generation; in a repository, their rows are not written again. The sizes
of chunks and shards are chosen here.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..metrics.base import Sparse
from .cells import CELL_ATTRS, GroupContent
from .format import DENSE, FILLS, TYPES, StoredVariable, dense_cells, extra_entries, layout
from .generations import SEPARATOR, write_synced
from .stored import StoredGroup

if TYPE_CHECKING:
    import zarr

_TRACKS_PER_CHUNK, _TRACKS_PER_FILE = 20_000, 100_000
"""Of scores and weights, whose chunks are read one by one; and of everything that lies along the tracks: each file of
each system is linked in each generation."""
_LEAST_PER_CHUNK = 2**13
"""Least values in a chunk of some metrics, 64 kB: smaller ones take longer to find than to read."""
_OFTEN_BLANK = ("message", "repairs")
"""Variables of which most systems have no value: a chunk without any has no file, as each costs time in each
generation."""
_SPARSE_TRACKS, _SPARSE_VALUES = 256, 2**19  # most tracks and values in a chunk of a result with extra dims


def write_group(root: zarr.Group, content: GroupContent, attrs: Mapping[str, Any]) -> None:
    """Write an evaluation, with further attributes, in an empty generation. Other results than those of `cells` are
    read only where their files cannot stay as they are, a few systems at a time: if tracks, metrics or labels
    changed."""
    from .zarr_io import WRITTEN

    coords, listed = layout(content)
    along = " ".join(coord.name for coord in coords if coord.dims != (coord.name,))  # as xarray expects it
    group = root.create_group(content.name, attributes={**content.attrs, **attrs, "coordinates": along})
    _write_labels(group, content, coords)
    extras = {variable.name: variable for variable in listed}
    arrays = {name: _create(group, name, content, extras.get(name)) for name in (*TYPES, *extras)}
    new = {name: set(range(len(content.systems))) for name in arrays}
    computed = set(content.cells.system)
    place: Any = getattr(root.store, "root", None)
    for name, array in arrays.items() if place is not None else ():  # a repository has no files to link
        folder: Path = place / array.path
        files_of: dict[StoredGroup, Mapping[int, Mapping[str, str]] | None] = {}
        for row, system in enumerate(content.systems):
            source = content.stored.get(system)
            if not isinstance(source, StoredGroup) or system in computed:
                continue
            if source not in files_of:
                files_of[source] = source.files(name) if _is_same(folder, name, source, content) else None
            files = files_of[source]
            if files is None:
                continue
            new[name].remove(row)
            start = f"{folder}{os.sep}c{SEPARATOR}{row}{SEPARATOR}"
            for rest, path in files.get(source.rows[system], {}).items():
                try:
                    os.link(path, f"{start}{rest}")
                except FileNotFoundError:
                    raise
                except OSError:  # the file system or the platform has no links
                    write_synced(Path(f"{start}{rest}"), Path(path).read_bytes())
    _write_results(arrays, new, content)
    for name, array in arrays.items():
        if name in extras or name in _OFTEN_BLANK:
            array.update_attributes({WRITTEN: array.nchunks_initialized})


def extend_group(group: zarr.Group, content: GroupContent, attrs: Mapping[str, Any]) -> None:
    """Write an evaluation over one, in a repository, whose systems come first and in the same order in it. Rows of
    systems whose results stay are not written, but where tracks, metrics or other labels differ."""
    from .zarr_io import read_values

    described: dict[str, Any] = {name: array.metadata for name, array in group.arrays()}
    kept = {name: tuple(metadata.dimension_names) for name, metadata in described.items()}
    old = {name: tuple(read_values(group, name).tolist()) for name, dims in kept.items() if dims == (name,)}
    coords, listed = layout(content)
    along = " ".join(coord.name for coord in coords if coord.dims != (coord.name,))
    group.attrs.put({**content.attrs, **attrs, "coordinates": along})
    for name in [name for name, dims in kept.items() if len(dims) == 1]:
        del group[name], kept[name]
    _write_labels(group, content, coords)
    extras = {variable.name: variable for variable in listed}
    for name in kept.keys() - TYPES.keys() - extras.keys():
        del group[name]
    labels = {one.name: tuple(np.asarray(one.values).tolist()) for one in coords if one.dims == (one.name,)}
    stays = {system for system in old["system"] if system in content.stored and system not in content.cells.system}
    new = {row for row, system in enumerate(content.systems) if system not in stays}
    arrays: dict[str, zarr.Array[Any]] = {}
    rows = {}
    for name in (*TYPES, *extras):
        dims = extras[name].dims if name in extras else DENSE[name]
        array: Any = group.get(name)
        same = kept.get(name) == dims and all(old[dim] == labels[dim] for dim in dims[1:])
        if same and name in extras:
            same = np.array_equal(array.fill_value, cast(Sparse, extras[name].values).fill, equal_nan=True)
        if same:
            array.resize((len(content.systems), *array.shape[1:]))
        elif array is not None:
            del group[name]
        arrays[name] = array if same else _create(group, name, content, extras.get(name))
        rows[name] = new if same else set(range(len(content.systems)))
    _write_results(arrays, rows, content)


def _write_labels(group: zarr.Group, content: GroupContent, coords: Sequence[StoredVariable]) -> None:
    from .zarr_io import write_array

    durations = dense_cells(content, ["duration"])["duration"]
    duration = StoredVariable("duration", DENSE["duration"], durations, CELL_ATTRS["duration"])
    for variable in (*coords, duration):
        values: Any = variable.values
        chunks = _chunks(variable.dims, values.shape)
        write_array(group, variable.name, values, variable.dims, *chunks, variable.attrs)


def _create(group: zarr.Group, name: str, content: GroupContent, extra: StoredVariable | None) -> zarr.Array[Any]:
    """An array for a variable of all cells, perhaps with the metrics, or for a result with extra dims, of which chunks
    without entries are not written."""
    from .zarr_io import create_array

    if extra is None:
        shape = (*content.shape, len(content.measures))[: len(DENSE[name])]
        chunks, shards = _chunks(DENSE[name], shape)
        about = FILLS.get(name, 0), DENSE[name], CELL_ATTRS[name]
        sparse = name in _OFTEN_BLANK
        return create_array(group, name, shape, TYPES[name], chunks, *about, shards=shards, sparse=sparse)
    values = cast(Sparse, extra.values)
    inner = tuple(map(len, values.coords))
    per_chunk = max(1, min(_SPARSE_TRACKS, content.shape[1], _SPARSE_VALUES // max(1, math.prod(inner))))
    full, chunks, number = (*content.shape, *inner), (1, per_chunk, *inner), np.dtype(np.float64)
    return create_array(group, name, full, number, chunks, values.fill, extra.dims, extra.attrs, sparse=True)


def _write_results(arrays: Mapping[str, zarr.Array[Any]], new: Mapping[str, set[int]], content: GroupContent) -> None:
    """Write the rows of the systems that are new, of each variable, a few systems at a time."""
    every = sorted(set().union(*new.values()))
    remaining = iter(every)
    for part in content.part([content.systems[row] for row in every]).blocks():
        systems = list(islice(remaining, len(part.systems)))
        dense = dense_cells(part, [name for name in TYPES if not new[name].isdisjoint(systems)])
        rows = {name: [(row, place) for place, row in enumerate(systems) if row in new[name]] for name in new}
        for name, values in dense.items():
            array, written = arrays[name], rows[name]
            # Neighbours are written together.
            starts = [index for index, (row, _) in enumerate(written) if index == 0 or row != written[index - 1][0] + 1]
            for start, stop in zip(starts, [*starts[1:], len(written)], strict=True) if array.size else ():
                (first, low), (last, high) = written[start], written[stop - 1]
                array[first : last + 1] = values[low : high + 1]
        for name in content.cells.extras:
            array, entries = arrays[name], extra_entries(part, name)
            tracks, per_chunk = array.shape[1], array.chunks[1]
            place, inside = entries.index[:, 0], entries.index[:, 1:]
            for (row, system), start in product(rows[name], range(0, tracks, per_chunk)):
                stop = min(start + per_chunk, tracks)
                low, high = np.searchsorted(place, (system * tracks + start, system * tracks + stop))
                if low < high:
                    block = np.full((stop - start, *array.shape[2:]), entries.fill)
                    block[(place[low:high] - system * tracks - start, *inside[low:high].T)] = entries.value[low:high]
                    array[row, start:stop] = block


def _chunks(dims: tuple[str, ...], shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Chunks and shards of a variable: one system and many tracks; in a shard of scores, chunks for each metric.

    Of few tracks a chunk has several metrics; where it has all of one file, there are no shards.

    Examples
    --------
    >>> _chunks(("system", "track", "metric"), (100, 50_000, 15))
    ((1, 20000, 1), (1, 60000, 15))
    >>> _chunks(("system", "track", "metric"), (100, 2000, 15)), _chunks(("system", "track", "metric"), (12, 217, 15))
    (((1, 2000, 5), (1, 2000, 15)), ((1, 217, 15), None))
    """
    per_file = {"system": 1 if len(dims) > 1 else shape[0], "track": _TRACKS_PER_FILE}
    whole = tuple(min(size, per_file.get(dim, size)) for dim, size in zip(dims, shape, strict=True))
    if len(shape) < 3 or 0 in shape:
        return whole, None
    system, tracks, metrics = whole
    several = min(tracks, _TRACKS_PER_CHUNK)
    columns = math.ceil(metrics / max(1, several * metrics // _LEAST_PER_CHUNK))
    chunks = (system, several, columns)
    file = (system, several * math.ceil(tracks / several), columns * math.ceil(metrics / columns))
    return chunks, None if chunks == file else file


_FORM = ("data_type", "chunk_grid", "codecs", "fill_value")
"""Metadata of arrays on which the bytes of chunks depend."""


def _is_same(array: Path, name: str, source: StoredGroup, content: GroupContent) -> bool:
    """True if the stored files of a variable say in a new array, at its labels, what they say in the old one."""
    labels: list[tuple[Any, Any]] = [(source.tracks, content.tracks)]
    if name in content.cells.extras:
        stored = source.extras.get(name)
        labels += [] if stored is None else [(stored.coords, content.cells.extras[name].coords)]
    elif "metric" in DENSE[name]:
        labels.append((source.measures, content.measures))
    if source.folder is None or not (source.folder / name).is_dir() or any(old != new for old, new in labels):
        return False
    old, new = (json.loads((folder / "zarr.json").read_bytes()) for folder in (source.folder / name, array))
    return old["shape"][1:] == new["shape"][1:] and all(old[key] == new[key] for key in _FORM)
