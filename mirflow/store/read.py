"""A result store read: groups as plain data, scores for queries, and the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cells import Cells
from ..errors import DamagedError, StoreError, UnknownNameError
from .format import (
    DIMS,
    Array,
    Entry,
    GroupContent,
    array_of,
    dims_of,
    entries,
    labels_of,
    read_sibling,
)
from .generations import from_current

if TYPE_CHECKING:
    import xarray as xr
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
    return from_current(path, lambda folder: _read_group(folder, path, name))


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


def _read_group(folder: Path, path: str | Path, name: str) -> GroupContent:
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
    from .zarr_io import open_root

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
    from .zarr_io import read_whole

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
    from .zarr_io import read_whole

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


@dataclass(frozen=True)
class StoredSibling:
    """A result with extra dims, which is read when it is asked for.

    Parameters
    ----------
    path : str or path
        The store, for messages.
    group : zarr.Group
    name : str
    dims : tuple of str
        ``system``, ``track`` and the extra ones.
    """

    path: str | Path
    group: zarr.Group
    name: str
    dims: tuple[str, ...]

    @property
    def attrs(self) -> Mapping[str, Any]:
        """Attributes of the variable."""
        return dict(array_of(self.group, self.name).attrs)

    def labels(self) -> tuple[tuple[str, ...], ...]:
        """Labels along each extra dim."""
        with reading(self.path):
            return tuple(labels_of(self.group, dim) for dim in self.dims[2:])

    def read(self, system: int, tracks: slice) -> Array:
        """Values of some tracks of a system: float64 (tracks, extra dims)."""
        with reading(self.path):
            return np.asarray(array_of(self.group, self.name)[system, tracks])


@dataclass(frozen=True)
class StoredScores:
    """One evaluation of a store.

    Parameters
    ----------
    systems, tracks, metrics : tuple of str
    arrays : mapping of str to array
        ``score`` and ``weight`` (systems, tracks, metrics), ``status`` (systems, tracks), ``duration`` (tracks,).
    messages, digests : callable
        Why cells have no score, and digests of what was scored: text (systems, tracks); read when it is asked for.
    coords : mapping of str to mapping
        For each dim its further coordinates.
    siblings : mapping of str to StoredSibling
        Results with extra dims.
    attrs : mapping
        Attributes of the group.
    """

    systems: tuple[str, ...]
    tracks: tuple[str, ...]
    metrics: tuple[str, ...]
    arrays: Mapping[str, Array]
    messages: Callable[[], Array]
    digests: Callable[[], Array]
    coords: Mapping[str, Mapping[str, Array]]
    siblings: Mapping[str, StoredSibling]
    attrs: Mapping[str, Any]


def read_scores(path: str | Path) -> dict[str, StoredScores]:
    """All evaluations of a store, by name.

    Parameters
    ----------
    path : str or path
        The store, or a plain copy of one.

    Raises
    ------
    StoreError
        If there is no such store, or it cannot be read.
    """
    return from_current(path, lambda folder: _read_scores(folder, path))


def _read_scores(folder: Path, path: str | Path) -> dict[str, StoredScores]:
    with reading(path):
        root = open_checked(folder, path)
        return {name: _scores(group, path) for name, group in sorted(root.groups())}


def _scores(group: zarr.Group, path: str | Path) -> StoredScores:
    from .zarr_io import read_whole

    dims = {name: dims_of(group, name) for name in sorted(group.array_keys())}
    coords: dict[str, dict[str, Array]] = {dim: {} for dim in DIMS}
    for key in str(group.attrs.get("coordinates", "")).split():
        coords[dims[key][0]][key] = read_whole(group, key)

    def text_of(name: str) -> Array:
        with reading(path):
            return read_whole(group, name)

    extra = [name for name, along in dims.items() if along[:2] == DIMS[:2] and len(along) > 2 and along != DIMS]
    systems, tracks, metrics = (tuple(read_whole(group, dim).tolist()) for dim in DIMS)
    return StoredScores(
        systems,
        tracks,
        metrics,
        {name: read_whole(group, name) for name in ("score", "weight", "status", "duration")},
        partial(text_of, "message"),
        partial(text_of, "digest"),
        coords,
        {name: StoredSibling(path, group, name, dims[name]) for name in extra},
        dict(group.attrs),
    )


def open_store(path: str | Path) -> xr.DataTree:
    """A result store as a lazy tree, one group an evaluation.

    The tree belongs to the generation that is current now: a run that publishes meanwhile does not change it, and
    opening again shows the new one. A tree that is still held after two such runs raises when it is read.

    Parameters
    ----------
    path : str or path
        The store, or a plain copy of one.

    Returns
    -------
    xarray.DataTree
        Values are read when they are asked for; no dask.

    Raises
    ------
    StoreError
        If nothing is there, or not a result store, or one of a later version, or a damaged one.

    Examples
    --------
    >>> import tempfile
    >>> from mirflow.store.write import StoreWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with StoreWriter(Path(folder) / "x.zarr") as writer:
    ...         _ = writer.publish([], {"name": "demo"})
    ...     open_store(Path(folder) / "x.zarr").attrs["name"]
    'demo'
    """
    return from_current(path, lambda folder: _open(folder, path))


def _open(folder: Path, path: str | Path) -> xr.DataTree:
    with reading(path):
        open_checked(folder, path)
        import xarray as xr

        from .zarr_io import GenerationStore

        # xarray takes any Zarr store, though its types say paths and files.
        store: Any = GenerationStore(folder)
        return xr.open_datatree(store, engine="zarr", chunks=None)
