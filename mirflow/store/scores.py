"""The scores of a store as plain arrays, for questions that need neither labels nor the rest of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .columns import Array
from .generations import from_current
from .layout import DIMS
from .reading import open_checked, reading
from .siblings import array_of, dims_of, labels_of

if TYPE_CHECKING:
    import zarr


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
    return from_current(path, lambda folder: _read(folder, path))


def _read(folder: Path, path: str | Path) -> dict[str, StoredScores]:
    with reading(path):
        root = open_checked(folder, path)
        return {name: _scores(group, path) for name, group in sorted(root.groups())}


def _scores(group: zarr.Group, path: str | Path) -> StoredScores:
    from .backends import read_whole

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
