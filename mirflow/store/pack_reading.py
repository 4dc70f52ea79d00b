"""Reading packs, with all lengths checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..annotations.collection import VOCABULARY
from ..annotations.schema import KINDS
from ..errors import DamagedError, StoreError
from ..ragged import Ragged
from .columns import Array, entries
from .content import Entry
from .generations import resolve
from .pack import DIGEST, FORMAT, FORMAT_KEY, Pack, size_name
from .reading import reading

if TYPE_CHECKING:
    import zarr

_REMEDY = "pack the annotations again"


def read_pack_attrs(path: str | Path) -> dict[str, Any]:
    """The attributes of a pack's root, its kind among them.

    Raises
    ------
    StoreError
        If there is no pack, or one of another version.
    """
    with reading(path, _REMEDY):
        return _attrs_of(_open(path), path)


def _open(path: str | Path) -> zarr.Group:
    from .backends import open_root

    return open_root(resolve(path))


def _attrs_of(root: zarr.Group, path: str | Path) -> dict[str, Any]:
    attrs: dict[str, Any] = dict(root.attrs)
    version = attrs.pop(FORMAT_KEY, None)
    if version is None:
        what = "a result store" if "mirflow_store" in attrs else "Zarr"
        raise StoreError(f"{path}: is {what}, not a pack of annotations; `mirflow pack` makes packs")
    if version != FORMAT or attrs.get("kind") not in KINDS:
        raise StoreError(
            f"{path}: has format {version} and kind {attrs.get('kind')!r}, this mirflow reads format {FORMAT}; "
            f"upgrade mirflow, or pack again"
        )
    return attrs


def read_pack(path: str | Path) -> Pack:
    """Read a whole pack; all lengths and codes are checked.

    Raises
    ------
    StoreError
        If there is no pack, or its arrays do not fit together.
    """
    with reading(path, _REMEDY):
        root = _open(path)
        attrs = _attrs_of(root, path)
        kind = KINDS[str(attrs.pop("kind"))]
        attrs.pop("coordinates", None)
        counts = tuple(_whole(root, size_name(kind, depth)) for depth in range(len(kind.dims)))
        if any((level < 0).any() for level in counts):
            raise DamagedError(path, "a count is negative", _REMEDY)
        labels: tuple[str, ...] = ()
        columns = {v.name: _column(root, v.name) for v in kind.variables if v.name in root or not v.optional}
        if "label" in columns:
            labels = tuple(_whole(root, _vocabulary_of(root)).tolist())
            codes = columns["label"]
            if codes.size and not (codes.min() >= -1 and codes.max() < len(labels)):
                raise DamagedError(path, "a label's code is outside the vocabulary", _REMEDY)
        depths = {name: depth for name, depth in kind.depths.items() if name in columns}
        rows = Ragged(columns, counts, labels, depths)
        tracks, digests = (tuple(_whole(root, name).tolist()) for name in ("track", DIGEST))
        if {len(tracks), len(digests)} != {len(rows)}:
            what = f"{len(tracks)} tracks, {len(digests)} digests, {len(rows)} rows"
            raise DamagedError(path, what, _REMEDY)
        return Pack(kind.name, tracks, rows, attrs, _track_attrs(root, len(rows)), digests)


def _vocabulary_of(root: zarr.Group) -> str:
    """The variable with the texts, which the codes name: packs of early versions call it ``label_vocabulary``."""
    return str(root["label"].attrs.get("vocabulary", VOCABULARY))


def _whole(root: zarr.Group, name: str) -> Array:
    from .backends import read_whole

    return read_whole(root, name)


def _column(root: zarr.Group, name: str) -> Array:
    values = _whole(root, name)
    if name == "label":
        return values.astype(np.int64)
    return np.array(values.tolist(), dtype=np.str_) if values.dtype.kind == "T" else values


def _track_attrs(root: zarr.Group, count: int) -> dict[str, tuple[Entry, ...]]:
    found: dict[str, tuple[Entry, ...]] = {}
    for key, array in sorted(root.arrays()):
        name = array.attrs.get("track_attribute")
        if isinstance(name, str):
            found[name] = entries(_whole(root, key))
            if len(found[name]) != count:
                raise ValueError(f"{name!r} has {len(found[name])} values for {count} tracks")
    return found
