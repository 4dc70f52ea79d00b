"""Packs: collections of annotations as contiguous ragged arrays, written, read, and used as sources.

A pack is written whole or not at all. It has a digest of each row, and its lengths and codes are checked when it is
read.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..annotations.account import ACCOUNT
from ..annotations.annotation import Annotation, Attribute, from_ragged
from ..annotations.collection import PER_TRACK, VOCABULARY, Collection, to_variables
from ..annotations.schema import KINDS
from ..annotations.source import Source
from ..errors import AnnotationError, DamagedError, StoreError, UnreadableError
from ..ragged import Int, Ragged
from .cells import Coords
from .format import Array, column, safe_name, strings
from .generations import demand_path, reading, remove_left, resolve, storing, sync_folder, target_of

if TYPE_CHECKING:
    import zarr

FORMAT = 1
FORMAT_KEY = "mirflow_pack"
DIGEST = "digest"


@dataclass(frozen=True, repr=False, eq=False)
class Pack(Collection):
    """A collection of annotations in a file, as it is there: all attributes, and a digest of each row.

    What is selected from it is a plain `Collection`: digests are those of what the file has.
    """

    digests: tuple[str, ...] = ()
    """Digest of each row's contents, equal for equal annotations in any pack."""

    def as_collection(self) -> Collection | None:
        """Return what `collect` makes of the annotations, without a copy; None if readers remarked on any of them."""
        if ACCOUNT in self.metadata:
            return None
        metadata = {}
        for name, missing in PER_TRACK.items():
            if name in self.attrs or name in self.metadata:
                values = self.metadata[name].tolist() if name in self.metadata else [None] * len(self)
                usual = self.attrs.get(name, missing)
                metadata[name] = np.array(
                    [usual if value in (None, "") or value != value else value for value in values]
                )
        return Collection(self.kind, self.tracks, self.rows, metadata)

    def row(self, row: int) -> Ragged:
        """One row, as views of the whole."""
        rows, bounds = self.rows, self.rows.bounds
        outer = (np.arange(len(self.tracks) + 1, dtype=np.int64), *bounds)
        counts = tuple(c[b[row] : b[row + 1]] for c, b in zip(rows.counts, outer, strict=False))
        columns = {
            name: values[(b := bounds[rows.depth(name) - 1])[row] : b[row + 1]] for name, values in rows.columns.items()
        }
        return Ragged(columns, counts, rows.labels, rows.depths)

    def stat(self, row: int) -> tuple[int, int]:
        """Number of items of a row, and a number made from the digest of its contents."""
        return int(self.rows.counts[0][row]), int(self.digests[row], 16) >> 1


def row_digests(kind: str, rows: Ragged) -> tuple[str, ...]:
    """A digest of the contents of each row, whatever else the pack holds: 16 hexadecimal digits."""
    names = [
        hashlib.blake2b(label.encode("utf-8", "backslashreplace"), digest_size=8).digest() for label in rows.labels
    ]
    # The last one, which the code -1 finds, is that of no label.
    table = np.frombuffer(b"".join([*names, bytes(8)]), dtype="<u8")
    parts: list[tuple[Array, Int]] = []
    for counts, bound in zip(rows.counts[1:], rows.bounds, strict=False):
        parts.append((counts.astype("<i8"), bound))
    for name in sorted(rows.columns):
        values = rows.columns[name]
        if name == "label":
            values = table[values]
        elif values.dtype.kind in "OTU":
            values = np.array([hashlib.blake2b(str(v).encode(), digest_size=8).digest() for v in values], dtype="S8")
        values = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")))
        parts.append((values, rows.bounds[rows.depth(name) - 1]))
    head = f"{kind} {' '.join(sorted(rows.columns))}".encode()
    flat = [(np.ascontiguousarray(v).view(np.uint8).data, (bound * v.itemsize).tolist()) for v, bound in parts]
    digests = []
    for row in range(len(rows)):
        state = hashlib.blake2b(head, digest_size=8)
        for data, bound in flat:
            state.update((bound[row + 1] - bound[row]).to_bytes(8, "little"))
            state.update(data[bound[row] : bound[row + 1]])
        digests.append(state.hexdigest())
    return tuple(digests)


_REMEDY = "pack the annotations again"


def _open(path: str | Path) -> tuple[zarr.Group, dict[str, Any]]:
    """The root group of a pack, read only, and its attributes; raises a StoreError for other Zarr."""
    import zarr

    from .zarr_io import GenerationStore

    root = zarr.open_group(GenerationStore(resolve(path), read_only=True), mode="r", zarr_format=3)
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
    return root, attrs


def read_pack(path: str | Path) -> Pack:
    """Read a whole pack; all lengths and codes are checked.

    Raises
    ------
    StoreError
        If the pack does not exist, or its arrays are inconsistent.
    """
    from .zarr_io import read_values

    with reading(path, _REMEDY):
        root, attrs = _open(path)
        kind = KINDS[str(attrs.pop("kind"))]
        attrs.pop("coordinates", None)
        counts = tuple(read_values(root, size) for size in kind.sizes)
        if any((level < 0).any() for level in counts):
            raise DamagedError(path, "a count is negative", _REMEDY)
        labels: tuple[str, ...] = ()
        columns: dict[str, Array] = {}
        for name in (v.name for v in kind.variables if v.name in root or not v.optional):
            values = read_values(root, name)
            columns[name] = np.array(values.tolist(), dtype=np.str_) if values.dtype.kind == "T" else values
        if "label" in columns:
            labels = tuple(read_values(root, VOCABULARY).tolist())
            codes = columns["label"] = columns["label"].astype(np.int64)
            if codes.size and not (codes.min() >= -1 and codes.max() < len(labels)):
                raise DamagedError(path, "a label's code is outside the vocabulary", _REMEDY)
        rows = Ragged(columns, counts, labels, kind.depths)
        tracks, digests = (tuple(read_values(root, name).tolist()) for name in ("track", DIGEST))
        if {len(tracks), len(digests)} != {len(rows)}:
            what = f"{len(tracks)} tracks, {len(digests)} digests, {len(rows)} rows"
            raise DamagedError(path, what, _REMEDY)
        metadata: dict[str, Array] = {}
        for key, array in sorted(root.arrays()):
            track_name: Any = array.attrs.get("track_attribute")
            if isinstance(track_name, str):
                values = read_values(root, key)
                metadata[track_name] = np.array(values.tolist(), dtype=object) if values.dtype.kind == "T" else values
        return Pack(kind.name, tracks, rows, metadata, attrs, digests=digests)


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
        Values for all annotations: ``annotator`` or ``system``, ``namespace``, ...
    track_attrs : mapping of str to sequence or None
        Metadata of each track, one value per row; None if unknown.
    overwrite : bool
        Whether an existing pack is replaced.

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
    from .zarr_io import building

    path = demand_path(path)
    pack = _pack(path, kind, tuple(tracks), rows, attrs or {}, track_attrs or {})
    if os.path.lexists(path):
        if not overwrite:
            raise StoreError(f"{path}: already exists; --overwrite (in Python overwrite=True) replaces it")
        if target_of(path):
            raise StoreError(f"{path}: is a link, a result store perhaps; a pack cannot replace it")
        with reading(path, _REMEDY):
            _open(path)  # other Zarr is not replaced
    folder, old = (path.with_name(f".{path.name}.{os.getpid()}.{what}") for what in ("building", "old"))
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_left(path, "building")
        try:
            coordinates = " ".join(map(_coord_name, pack.metadata))
            root_attrs = {FORMAT_KEY: FORMAT, "kind": pack.kind, **pack.attrs, "coordinates": coordinates}
            with building(folder, root_attrs) as root:
                _write(root, pack)
            for inner, _, _ in os.walk(folder):
                sync_folder(Path(inner))
            if path.exists():
                path.rename(old)
            folder.rename(path)
            sync_folder(path.parent)
            shutil.rmtree(old, ignore_errors=True)
            remove_left(path, "old")
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _pack(
    path: Path, name: str, tracks: tuple[str, ...], rows: Ragged, attrs: Mapping[str, Attribute], track_attrs: Coords
) -> Pack:
    """The pack to write, of arguments that do not contradict each other."""
    kind = KINDS.get(name)
    if kind is None or not kind.dims:
        raise StoreError(f"{path}: unknown kind {name!r}: choose from {', '.join(KINDS)}")
    if name == "audio":
        raise StoreError(f"{path}: audio stays in its files: it cannot be packed")
    if len(rows.counts) != len(kind.dims):
        raise StoreError(f"{path}: {name} is ragged along {', '.join(kind.dims)}, the rows have other counts")
    if len(tracks) != len(rows) or len(set(tracks)) != len(tracks):
        raise StoreError(f"{path}: {len(rows)} rows need as many different tracks, not {len(set(tracks))}")
    if len(set(map(_coord_name, track_attrs))) != len(track_attrs):
        raise StoreError(f"{path}: attributes of the tracks have the same name: {', '.join(track_attrs)}")
    if reserved := [key for key in attrs if key in _RESERVED]:
        raise StoreError(f"{path}: the attribute {reserved[0]!r} is the pack's own; choose another name")
    metadata = {key: np.array(list(values), dtype=object) for key, values in track_attrs.items()}
    try:
        return Pack(name, tracks, rows, metadata, attrs)
    except AnnotationError as error:
        raise StoreError(f"{path}: {error}") from None


def _write(root: zarr.Group, pack: Pack) -> None:
    from .zarr_io import write_array

    kind, rows = KINDS[pack.kind], pack.rows
    arrays: list[tuple[str, Array, str, Mapping[str, Any]]] = [
        ("track", strings(pack.tracks), "track", {"long_name": "track"}),
        (DIGEST, strings(row_digests(pack.kind, rows)), "track", {"long_name": "digest of the contents"}),
    ]
    for name, (dim, values, attrs) in to_variables(kind, rows).items():
        if name == VOCABULARY:
            values = strings(rows.labels)  # the texts of numpy lose NUL characters at their ends
        elif name == "label":
            values = values.astype(np.int32)
        elif values.dtype.kind in "OTU":
            values = strings(map(str, values))
        arrays.append((name, np.asarray(values), dim, attrs))
    for name, entries in pack.metadata.items():
        about = {"long_name": name, "track_attribute": name}
        arrays.append((_coord_name(name), column(entries.tolist()), "track", about))
    for name, values, dim, described in arrays:
        write_array(root, name, values, (dim,), (min(len(values), _CHUNK),), None, described)


def _coord_name(name: str) -> str:
    """Track attributes share the group with the kind's variables, so all of them get a prefix."""
    return f"track_{safe_name(name)}"


@dataclass(frozen=True, slots=True)
class PackSource(Source):
    """The annotation of one track of a pack; immutable, hashable, picklable."""

    path: str
    """The pack; absolute if other processes read it."""
    track: str
    kind: str
    """Kind of the annotations in the pack."""
    name: str = ""
    """Name of the pack in messages; empty: its path."""
    found: tuple[int, int] | None = field(default=None, compare=False)
    """Result of `stat`, if the pack was open when the source was made."""

    @property
    def label(self) -> str:
        """The pack's name with the track in brackets."""
        return f"{self.name or self.path} [{self.track}]"

    def stat(self) -> tuple[int, int]:
        """Number of items, and a number made from the digest of the contents.

        The second takes the place of a file's time of modification: a track that is the same in a pack that was
        written again counts as unchanged.
        """
        if self.found is not None:
            return self.found
        pack, row = self._row()
        return pack.stat(row)

    def read(self) -> tuple[Annotation, str]:
        """The annotation and the digest of its contents."""
        pack, row = self._row()
        own = {name: values[row : row + 1].tolist()[0] for name, values in pack.metadata.items()}
        attrs: dict[str, Attribute] = {"source": self.label, "namespace": "", **pack.attrs}
        attrs |= {name: value for name, value in own.items() if value not in (None, "") and value == value}
        return from_ragged(pack.kind, pack.row(row), 0, attrs), pack.digests[row]

    def _row(self) -> tuple[Pack, int]:
        try:
            pack = opened_pack(self.path)
        except StoreError as error:
            raise UnreadableError(str(error)) from None
        if self.track not in pack:
            raise UnreadableError(f"the track {self.track!r} is not in this pack any more", path=self.name or self.path)
        return pack, pack.row_of(self.track)


def opened_pack(path: str) -> Pack:
    """A pack, read once per process for as long as it does not change."""
    try:
        status = (Path(path) / "zarr.json").stat()
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from None
    return _read(path, status.st_mtime_ns, status.st_ino)


_read = lru_cache(maxsize=8)(lambda path, changed, inode: read_pack(path))


def open_pack(path: str | Path, name: str = "") -> Mapping[str, PackSource]:
    """The annotations of a pack, by track, in the order of the pack.

    Parameters
    ----------
    path : str or path
    name : str
        What to call the pack in messages, such as its path below a root; empty: its absolute path.

    Raises
    ------
    StoreError
        If the pack does not exist or is damaged.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from mirflow.ragged import Ragged
    >>> from mirflow.store import write_pack
    >>> rows = Ragged({"time": np.array([0.5, 1.0, 0.7])}, (np.array([2, 1]),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_pack(f"{folder}/beats.zarr", "events", ["a", "b"], rows)
    ...     annotation, digest = open_pack(f"{folder}/beats.zarr")["b"].read()
    >>> annotation.columns["time"].tolist()
    [0.7]
    """
    where = str(Path(path).absolute())
    pack = opened_pack(where)
    return {track: PackSource(where, track, pack.kind, name, pack.stat(row)) for row, track in enumerate(pack.tracks)}
