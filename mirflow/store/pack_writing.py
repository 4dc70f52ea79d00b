"""Writing packs."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..annotations.annotation import Attribute
from ..annotations.collection import CODE, VOCABULARY
from ..annotations.schema import KINDS, Kind
from ..errors import StoreError
from ..ragged import Ragged
from .columns import Array, column, safe_name, strings
from .content import Coords
from .files import storing, sync_folder, sync_tree
from .pack import DIGEST, FORMAT, FORMAT_KEY, Pack, row_digests, size_name
from .pack_reading import read_pack_attrs

if TYPE_CHECKING:
    import zarr

_RESERVED = (FORMAT_KEY, "kind", "coordinates")
_CHUNK = 2**20


def write_pack(
    path: str | Path,
    kind: str,
    tracks: Sequence[str],
    rows: Ragged,
    attrs: Mapping[str, Attribute] | None = None,
    track_attrs: Coords | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write a collection of annotations, whole or not at all.

    Parameters
    ----------
    path : str or path
        Where to; by custom ``*.zarr``.
    kind : str
        A name of :data:`mirflow.annotations.schema.KINDS`.
    tracks : sequence of str
        One name a row, all different.
    rows : Ragged
        See :func:`mirflow.annotations.annotation.to_ragged`.
    attrs : mapping or None
        What holds for all annotations: ``annotator`` or ``system``, ``namespace``, ...
    track_attrs : mapping of str to sequence or None
        What is known of each track, one value a row; None where it is unknown.
    overwrite : bool
        Whether a pack that is there already is replaced.

    Raises
    ------
    StoreError
        If the path is taken, the arguments contradict each other, or the disk refuses.

    Examples
    --------
    >>> import tempfile
    >>> from mirflow.store import read_pack
    >>> rows = Ragged({"time": np.array([0.5, 1.0, 0.7])}, (np.array([2, 1]),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_pack(f"{folder}/beats.zarr", "events", ["a", "b"], rows, {"annotator": "GT"})
    ...     pack = read_pack(f"{folder}/beats.zarr")
    >>> pack.tracks, pack.rows.counts[0].tolist(), dict(pack.attrs)
    (('a', 'b'), [2, 1], {'annotator': 'GT'})
    """
    from .backends import consolidate, new_root

    path, pack = Path(path), Pack(kind, tuple(tracks), rows, attrs or {}, track_attrs or {})
    _check(path, pack)
    _refuse_taken(path, overwrite)
    building = path.with_name(f".{path.name}.{os.getpid()}.building")
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _clean_up(path, "building")
        try:
            _write(root := new_root(building, _attrs(pack)), pack)
            consolidate(root)
            sync_tree(building)
            _put_in_place(building, path)
            _clean_up(path, "old")
        finally:
            shutil.rmtree(building, ignore_errors=True)


def _clean_up(path: Path, what: str) -> None:
    """Remove what writers left that were killed; the previous pack (``old``) only once there is a new one."""
    for left in path.parent.iterdir():
        match = re.fullmatch(rf"\.{re.escape(path.name)}\.(\d+)\.{what}", left.name)
        if match and not _is_alive(int(match[1])):
            shutil.rmtree(left, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # a process of another user
    return True


def _check(path: Path, pack: Pack) -> None:
    kind = KINDS.get(pack.kind)
    if kind is None or not kind.dims:
        raise StoreError(f"{path}: kind {pack.kind!r} cannot be packed; known: {', '.join(KINDS)}")
    if pack.kind == "audio":
        raise StoreError(f"{path}: sound stays in its files: it cannot be packed")
    if len(pack.rows.counts) != len(kind.dims):
        raise StoreError(f"{path}: {pack.kind} is ragged along {', '.join(kind.dims)}, the rows have other counts")
    if len(pack.tracks) != len(pack.rows) or len(set(pack.tracks)) != len(pack.tracks):
        raise StoreError(f"{path}: {len(pack.rows)} rows need as many different tracks, not {len(set(pack.tracks))}")
    for name, values in pack.track_attrs.items():
        if len(values) != len(pack.tracks):
            raise StoreError(f"{path}: {name!r} has {len(values)} values for {len(pack.tracks)} tracks")
    if len(set(map(_coord_name, pack.track_attrs))) != len(pack.track_attrs):
        raise StoreError(f"{path}: attributes of the tracks have the same name: {', '.join(pack.track_attrs)}")
    for name in pack.attrs:
        if name in _RESERVED:
            raise StoreError(f"{path}: the attribute {name!r} is the pack's own; choose another name")


def _refuse_taken(path: Path, overwrite: bool) -> None:
    if not os.path.lexists(path):
        return
    if not overwrite:
        raise StoreError(f"{path}: is there already; --overwrite (in Python overwrite=True) replaces it")
    if path.is_symlink():
        raise StoreError(f"{path}: is a link, a result store perhaps; a pack cannot replace it")
    read_pack_attrs(path)


def _put_in_place(building: Path, path: Path) -> None:
    old = path.with_name(f".{path.name}.{os.getpid()}.old")
    if path.exists():
        path.rename(old)
    building.rename(path)
    sync_folder(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def _write(root: zarr.Group, pack: Pack) -> None:
    kind, rows = KINDS[pack.kind], pack.rows
    names = ("track", *kind.dims)
    _put(root, "track", strings(pack.tracks), "track", {"long_name": "track"})
    for depth, counts in enumerate(rows.counts):
        inner = kind.dims[depth]
        attrs = {"long_name": f"number of {inner}s", "sample_dimension": inner}
        _put(root, size_name(kind, depth), np.asarray(counts, np.int64), names[depth], attrs)
    _put(root, DIGEST, strings(row_digests(pack.kind, rows)), "track", {"long_name": "digest of the contents"})
    for name in sorted(rows.columns):
        _put(root, name, *_stored(kind, name, rows))
    if "label" in rows.columns:
        _put(root, VOCABULARY, strings(rows.labels), CODE, {"long_name": "text of each label code"})
    for name, values in pack.track_attrs.items():
        _put(root, _coord_name(name), column(values), "track", {"long_name": name, "track_attribute": name})


def _attrs(pack: Pack) -> dict[str, Any]:
    coordinates = " ".join(_coord_name(name) for name in pack.track_attrs)
    return {FORMAT_KEY: FORMAT, "kind": pack.kind, **pack.attrs, "coordinates": coordinates}


def _coord_name(name: str) -> str:
    """Track attributes share the group with the kind's variables, so all of them get a prefix."""
    return f"track_{safe_name(name)}"


def _stored(kind: Kind, name: str, rows: Ragged) -> tuple[Array, str, dict[str, str]]:
    """Values, dim and attributes of a column."""
    values, dim = rows.columns[name], kind.dims[rows.depth(name) - 1]
    if name == "label":
        attrs = {"long_name": "code of the label, -1 for none", "vocabulary": VOCABULARY}
        return values.astype(np.int32), dim, attrs
    variable = kind.variable(name)
    attrs = {"long_name": variable.long_name, **({"units": variable.units} if variable.units else {})}
    return strings(map(str, values)) if values.dtype.kind in "OTU" else np.asarray(values), dim, attrs


def _put(root: zarr.Group, name: str, values: Array, dim: str, attrs: Mapping[str, Any]) -> None:
    from .backends import create_array

    fill = {"T": "", "b": False, "f": np.nan}.get(values.dtype.kind, 0)
    chunks = (min(len(values), _CHUNK),)
    array = create_array(root, name, values.shape, values.dtype, chunks, fill, (dim,), attrs)
    if values.size:
        array[...] = values
