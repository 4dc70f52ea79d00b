"""The journal: finished blocks of a run, each one immutable, checksummed file, until they are published.

A whole evaluation can be kept in such a file, too, until it is joined to a store. A `CellFile` is for cells that the
same process reads again: it has no checksum, and nothing waits for the disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..errors import StoreError
from ..metrics.base import Sparse
from .cells import Cells, Entry, GroupContent
from .generations import remove, storing, write_atomically

_MAGIC = b"MIRFLOWJ\x00\x01"
_MAGIC_CONTENT = b"MIRFLOWG\x00\x01"
_CHECKSUM = 16


class _Array(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """An array as msgpack: the name of its type, its shape, its bytes (little endian)."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


class _Sparse(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    dims: tuple[str, ...]
    coords: tuple[tuple[str, ...], ...]
    index: _Array
    value: _Array
    attrs: dict[str, str]
    fill: float


class _Block(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    evaluation: str
    signature: str
    system: tuple[str, ...]
    track: tuple[str, ...]
    measures: tuple[str, ...]
    score: _Array
    weight: _Array
    status: _Array
    repairs: _Array
    message: tuple[str, ...]
    digest: tuple[str, ...]
    stamp: _Array
    duration: _Array
    extras: dict[str, _Sparse]


class _Content(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    cells: _Block
    systems: tuple[str, ...]
    tracks: tuple[str, ...]
    coords: tuple[dict[str, list[Entry]], dict[str, list[Entry]], dict[str, list[Entry]]]
    attrs: dict[str, Any]


class Journal:
    """Blocks of results in one folder.

    Parameters
    ----------
    folder : path
        Made on the first append.

    Attributes
    ----------
    torn, foreign : int
        How many files the last `read` passed over: damaged ones, and those of another signature.

    Examples
    --------
    >>> import tempfile
    >>> none = np.zeros(1, dtype=np.int64)
    >>> cells = Cells(("KO1",), ("a",), ("root",), np.array([[0.8]]), np.array([[60.0]]), none.astype(np.int8) + 1,
    ...               none.astype(np.int32), ("",), ("1f:2e",), none, np.array([60.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = Journal(Path(folder))
    ...     journal.append("chord", "v1", cells)
    ...     [block.score.item() for block in journal.read("chord", "v1")]
    ...     [*journal.read("chord", "v2")], journal.foreign
    [0.8]
    ([], 1)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.torn = 0
        self.foreign = 0
        numbers = (path.name.partition("-")[0] for path in folder.glob("*.cells"))
        self._next = 1 + max((int(number) for number in numbers if number.isdecimal()), default=0)

    def append(self, evaluation: str, signature: str, cells: Cells) -> None:
        """Keep one block; when this returns, the disk has it.

        Results depend on the `signature` and the input files; blocks of another signature are not read.
        """
        data = _sealed(_MAGIC, _Block(evaluation, signature, *_packed("", cells)))
        with storing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.folder / f"{self._next:08d}-{evaluation}.cells", data)
        self._next += 1

    def read(self, evaluation: str, signature: str) -> Iterator[Cells]:
        """Yield the blocks of an evaluation, in the order in which they were appended.

        Damaged files and those of another signature are passed over and counted: their cells are computed again. So
        is whatever cannot be read, such as a folder that bears the name of a block.
        """
        self.torn = self.foreign = 0
        for path in sorted(self.folder.glob(f"*-{evaluation}.cells")):
            payload = _payload(path, _MAGIC)
            block = None if payload is None else msgspec.msgpack.decode(payload, type=_Block)
            if block is None:
                self.torn += 1
            elif (block.evaluation, block.signature) != (evaluation, signature):
                self.foreign += 1
            else:
                yield _unpacked(block)

    def clear(self) -> None:
        """Forget everything."""
        with storing(self.folder):
            for path in [*self.folder.glob("*.cells"), *self.folder.glob(".*.tmp")]:
                remove(path)


@dataclass
class CellFile:
    """Cells in a file that the process which writes it reads again; the disk need not have them."""

    path: Path

    def append(self, number: int, cells: Cells) -> None:
        """Keep cells, with a number."""
        data = msgspec.msgpack.encode(_Block(str(number), "", *_packed("", cells)))
        with storing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(len(data).to_bytes(8, "little") + data)

    def read(self) -> Iterator[tuple[int, Cells]]:
        """Yield the numbers and the cells, in order; nothing if none were kept."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            while size := int.from_bytes(file.read(8), "little"):
                block = msgspec.msgpack.decode(file.read(size), type=_Block)
                yield int(block.evaluation), _unpacked(block)


_DTYPES = {"status": "int8", "repairs": "int32", "stamp": "int64", "index": "int64"}


def write_content(path: Path, content: GroupContent) -> None:
    """Write an evaluation as one file; when this returns, the disk has it."""
    sides = content.metric_coords, content.system_coords, content.track_coords
    metric, system, track = ({name: list(values) for name, values in side.items()} for side in sides)
    block = _Block(content.name, "", *_packed("", content.cells))
    systems, tracks = _packed("", content.systems), _packed("", content.tracks)
    data = _sealed(_MAGIC_CONTENT, _Content(block, systems, tracks, (metric, system, track), dict(content.attrs)))
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)


def read_content(path: Path) -> GroupContent:
    """Read an evaluation from a file of :func:`write_content`; raises a StoreError if the file is damaged."""
    payload = _payload(path, _MAGIC_CONTENT)
    try:
        kept = None if payload is None else msgspec.msgpack.decode(payload, type=_Content)
    except msgspec.MsgspecError:
        kept = None
    if kept is None:
        raise StoreError(f"{path}: cannot be read: the scores are damaged")
    names, cells = (kept.cells.evaluation, kept.systems, kept.tracks), _unpacked(kept.cells)
    return GroupContent(*names, cells, *kept.coords, kept.attrs)


def _sealed(magic: bytes, kept: _Block | _Content) -> bytes:
    payload = msgspec.msgpack.encode(kept)
    return magic + hashlib.blake2b(payload, digest_size=_CHECKSUM).digest() + payload


def _packed(name: str, value: Any) -> Any:
    """A field of cells or of a sparse result as msgpack takes it; of cells all fields."""
    if isinstance(value, Cells):
        return [_packed(field.name, getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, np.ndarray):
        dtype = _DTYPES.get(name, "float64")
        plain = np.ascontiguousarray(value, dtype=np.dtype(dtype).newbyteorder("<"))
        return _Array(dtype, value.shape, plain.tobytes())
    if isinstance(value, Sparse):
        return _Sparse(*(_packed(field.name, getattr(value, field.name)) for field in fields(value)))
    if name == "extras":
        return {key: _packed("", sparse) for key, sparse in value.items()}
    if isinstance(value, tuple) and name not in ("dims", "coords"):
        # Stray bytes of file names become escapes, as in the store.
        return tuple(t if t.isascii() else t.encode("utf-8", "backslashreplace").decode("utf-8") for t in value)
    return dict(value) if name == "attrs" else value


def _payload(path: Path, magic: bytes) -> bytes | None:
    """Read what a file seals; None if it cannot be read, is damaged or of another kind."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head = len(magic) + _CHECKSUM
    payload = data[head:]
    checksum = hashlib.blake2b(payload, digest_size=_CHECKSUM).digest()
    return payload if len(data) >= head and data[:head] == magic + checksum else None


def _unpacked(value: Any) -> Any:
    """What was packed: the cells of a block, and in it results and arrays."""
    if isinstance(value, _Block):
        return Cells(*map(_unpacked, msgspec.structs.astuple(value)[2:]))
    if isinstance(value, _Sparse):
        return Sparse(*map(_unpacked, msgspec.structs.astuple(value)))
    if isinstance(value, _Array):
        values = np.frombuffer(value.data, dtype=np.dtype(value.dtype).newbyteorder("<"))
        # A buffer of bytes is read-only; the copy is the caller's.
        return values.reshape(value.shape).astype(value.dtype)
    return {key: _unpacked(item) for key, item in value.items()} if isinstance(value, dict) else value
