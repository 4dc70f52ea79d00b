"""A group of a result store as plain data again: what an incremental run starts from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cells import Cells
from ..errors import DamagedError, StoreError, UnknownNameError
from .columns import Array, entries
from .content import Entry, GroupContent
from .generations import from_current
from .layout import DIMS
from .siblings import read_sibling

if TYPE_CHECKING:
    import zarr

FORMAT = 1
FORMAT_KEY = "mirflow_store"
CREATED = "created"


def read_group(path: str | Path, name: str) -> GroupContent:
    """One evaluation of a store.

    Parameters
    ----------
    path : str or path
        The store, by the path that the user named, or a copy of it.
    name : str
        The group.

    Returns
    -------
    GroupContent
        Its cells are those with a status, system by system. What was written as missing comes back as NaN or "".

    Raises
    ------
    StoreError
        If there is no such store, or it cannot be read.
    UnknownNameError
        If the store has no such group.
    """
    return from_current(path, lambda folder: _read(folder, path, name))


def group_names(path: str | Path) -> tuple[str, ...]:
    """Names of the evaluations of a store.

    Raises
    ------
    StoreError
        If there is no such store, or it cannot be read.
    """

    def names(folder: Path) -> tuple[str, ...]:
        with reading(path):
            return tuple(sorted(open_checked(folder, path).group_keys()))

    return from_current(path, names)


def _read(folder: Path, path: str | Path, name: str) -> GroupContent:
    with reading(path):
        root = open_checked(folder, path)
        names = sorted(root.group_keys())
        if name not in names:
            raise UnknownNameError(f"group of {path}", name, names)
        return _content(root, name)


@contextmanager
def reading(path: str | Path, remedy: str = "remove it and run the pipeline again") -> Iterator[None]:
    """Turn whatever damaged data makes zarr raise into one StoreError that names the store."""
    try:
        yield
    except DamagedError as error:
        raise DamagedError(path, error.what, remedy) from error
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        # Codecs, JSON and metadata of damaged files fail in many ways; our own errors pass as they are.
        if isinstance(error, UnknownNameError):
            raise
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise DamagedError(path, f"{kind}{error}", remedy) from error


def open_checked(folder: Path, path: str | Path) -> zarr.Group:
    """The root group, if it is a result store of a version that this package reads."""
    from .backends import open_root

    root = open_root(folder)
    version = root.attrs.get(FORMAT_KEY)
    if version is None:
        packed = "a pack of annotations: `mirflow check` says what is in it"
        what = packed if "mirflow_pack" in root.attrs else "Zarr, but not a result store of mirflow"
        raise StoreError(f"{path}: is {what}; `mirflow run` makes result stores")
    if version != FORMAT:
        raise StoreError(f"{path}: has format {version}, this mirflow reads format {FORMAT}; upgrade mirflow")
    return root


def _content(root: zarr.Group, name: str) -> GroupContent:
    from .backends import read_whole

    node: Any = root[name]
    arrays: dict[str, Any] = dict(node.arrays())
    systems, tracks, measures = (tuple(read_whole(node, dim).tolist()) for dim in DIMS)
    coords: dict[str, dict[str, tuple[Entry, ...]]] = {dim: {} for dim in DIMS}
    attrs = dict(node.attrs)
    for key in str(attrs.pop("coordinates", "")).split():
        (dim,) = arrays[key].metadata.dimension_names
        coords[dim][arrays[key].attrs["long_name"]] = entries(read_whole(node, key))
    attrs.pop(CREATED, None)
    cells = _cells(node, arrays, systems, tracks, measures)
    return GroupContent(name, systems, tracks, cells, coords["metric"], coords["system"], coords["track"], attrs)


def _cells(
    group: zarr.Group,
    arrays: dict[str, Any],
    systems: tuple[str, ...],
    tracks: tuple[str, ...],
    measures: tuple[str, ...],
) -> Cells:
    from .backends import read_whole

    def whole(name: str) -> Array:
        return read_whole(group, name)

    status = whole("status").reshape(-1)
    at = np.flatnonzero(status)
    cell_at = np.full(len(status), -1, dtype=np.int64)
    cell_at[at] = np.arange(len(at))
    system, track = np.divmod(at, max(1, len(tracks)))
    siblings = sorted(key for key, a in arrays.items() if a.metadata.dimension_names[:2] == DIMS[:2] and a.ndim > 2)
    return Cells(
        tuple(systems[i] for i in system.tolist()),
        tuple(tracks[i] for i in track.tolist()),
        measures,
        whole("score").reshape(len(status), len(measures))[at],
        whole("weight").reshape(len(status), len(measures))[at],
        status[at],
        whole("repairs").reshape(-1)[at],
        tuple(whole("message").reshape(-1)[at].tolist()),
        tuple(whole("digest").reshape(-1)[at].tolist()),
        whole("stamp").reshape(-1)[at],
        whole("duration")[track],
        {key: read_sibling(group, key, cell_at) for key in siblings if key not in ("score", "weight")},
    )
