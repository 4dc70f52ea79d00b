"""The scores of a store as plain arrays, for questions that need neither labels nor the rest of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .columns import Array
from .generations import from_current
from .layout import DIMS
from .reading import open_checked, reading
from .siblings import dims_of

if TYPE_CHECKING:
    import zarr


@dataclass(frozen=True)
class StoredScores:
    """One evaluation of a store.

    Parameters
    ----------
    systems, tracks, metrics : tuple of str
    arrays : mapping of str to array
        ``score`` and ``weight`` (systems, tracks, metrics), ``status`` (systems, tracks), ``duration`` (tracks,).
    coords : mapping of str to mapping
        For each dim its further coordinates.
    siblings : mapping of str to tuple of str
        The dims of results with extra dims, which are not read.
    attrs : mapping
        Attributes of the group.
    """

    systems: tuple[str, ...]
    tracks: tuple[str, ...]
    metrics: tuple[str, ...]
    arrays: Mapping[str, Array]
    coords: Mapping[str, Mapping[str, Array]]
    siblings: Mapping[str, tuple[str, ...]]
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
        return {name: _scores(group) for name, group in sorted(root.groups())}


def _scores(group: zarr.Group) -> StoredScores:
    from .backends import read_whole

    dims = {name: dims_of(group, name) for name in sorted(group.array_keys())}
    coords: dict[str, dict[str, Array]] = {dim: {} for dim in DIMS}
    for key in str(group.attrs.get("coordinates", "")).split():
        coords[dims[key][0]][key] = read_whole(group, key)
    systems, tracks, metrics = (tuple(read_whole(group, dim).tolist()) for dim in DIMS)
    return StoredScores(
        systems,
        tracks,
        metrics,
        {name: read_whole(group, name) for name in ("score", "weight", "status", "duration")},
        coords,
        {name: along for name, along in dims.items() if along[:2] == DIMS[:2] and len(along) > 2 and along != DIMS},
        dict(group.attrs),
    )
