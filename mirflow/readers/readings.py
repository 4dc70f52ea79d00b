"""Readings: annotations that one process has read from files, stored so that other processes need not parse the files.

A server reads submitted files in a confined process, then scores and draws the stored annotations. Readings are not
trusted either: they hold JSON and plain arrays, without compression or code, and all lengths are checked. They keep the
digest, size and time of each file, and the error if it could not be read, so that scores are the same as those of the
file in value, status and message.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np

from ..annotations.account import read_account, write_account
from ..annotations.annotation import Annotation, Attribute, CodedLabels, texts_at
from ..annotations.schema import KINDS
from ..annotations.source import Source
from ..errors import AnnotationError, InvalidAnnotationError, UnreadableError
from ..ragged import Column, Int

_MAGIC = b"mirflow readings 1\n"
_END = struct.Struct("<QQ")
"""Offset and length of the table of contents, at the end of the file."""
_DTYPES = {"f8": np.float64, "f4": np.float32, "i8": np.int64, "i4": np.int32, "b1": np.bool_}
_BROKEN = (msgspec.MsgspecError, ValueError, RecursionError)
"""Errors raised for damaged JSON."""
_HELD = 64
"""Number of open files that a process caches."""


class _Row(msgspec.Struct, array_like=True):
    """An entry for a source: placeholders, name, annotator, key, size and time, and its position in the file."""

    values: dict[str, str]
    label: str
    annotator: str | int | None
    track: str
    size: int
    modified: int
    offset: int
    head: int
    length: int


class _Contents(msgspec.Struct):
    kind: str
    rows: list[_Row]
    problems: list[tuple[list[str], str]]
    vocabularies: list[tuple[int, int]]


class _Column(msgspec.Struct, array_like=True):
    """A column: its type and length, or its texts."""

    dtype: str
    length: int
    texts: list[str] = []


class _Head(msgspec.Struct):
    """An annotation without its arrays of numbers, which follow in the order of these fields."""

    digest: str = ""
    error: tuple[str, str, str | None, int | None] | None = None
    columns: dict[str, _Column] = {}
    counts: list[int] = []
    lines: int | None = None
    labels: list[str] | None = None
    vocabulary: int | None = None
    codes: int = 0
    attrs: list[tuple[str, str, str]] = []
    files: list[str] = []
    account: str = ""


@dataclass(frozen=True, slots=True)
class KeptSource(Source):
    """The stored annotation of a source, with the name, size and time of the source."""

    path: str
    """The file of readings; absolute if other processes read it."""
    number: int
    """Position in the file."""
    name: str
    """Name of the source."""
    annotator: str | int | None = None
    track: str = ""
    """Key of the annotation in its file; empty if the file holds one annotation."""
    found: tuple[int, int] = field(default=(0, 0), compare=False)
    """Size and time of the source."""

    def read(self) -> tuple[Annotation, str]:
        """The annotation and the digest of its file's bytes; raises the error of reading that file."""
        return open_readings(self.path).read(self.number)


@dataclass(frozen=True)
class Readings:
    """The contents of a file of readings."""

    path: str
    kind: str
    rows: Sequence[_Row]
    problems: Sequence[tuple[Sequence[str], str]]
    """Problems of the files as a whole: a place within an evaluation, and the reason."""
    _vocabularies: Sequence[tuple[int, int]]
    _known: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def sources(self) -> list[tuple[KeptSource, dict[str, str]]]:
        """The sources, with the values of their placeholders and columns."""
        return [
            (KeptSource(self.path, index, row.label, row.annotator, row.track, (row.size, row.modified)), row.values)
            for index, row in enumerate(self.rows)
        ]

    def read(self, number: int) -> tuple[Annotation, str]:
        """The annotation of a row and its digest; raises the error of reading its file."""
        row = self.rows[number]
        data = self._bytes(row.offset, row.length)
        try:
            head = msgspec.json.decode(data[: row.head], type=_Head)
        except _BROKEN as error:
            raise _damaged(self.path, str(error)) from None
        if head.error is not None:
            name, message, path, line = head.error
            raise (InvalidAnnotationError if name == "invalid" else UnreadableError)(message, path=path, line=line)
        numbers, kind = _Numbers(data, row.head), KINDS[self.kind]
        try:
            columns: dict[str, Column] = {}
            for name, array in head.columns.items():
                columns[name] = (
                    texts_at(array.texts) if array.dtype == "text" else numbers.take(array.dtype, array.length)
                )
            counts: tuple[Int, ...] = tuple(numbers.take("i8", length) for length in head.counts)
            lines = None if head.lines is None else numbers.take("i8", head.lines).tolist()
            labels: Sequence[str] | None = head.labels
            if head.vocabulary is not None:  # the same object for all annotations that share it
                if head.vocabulary not in self._known:
                    texts = msgspec.json.decode(self._bytes(*self._vocabularies[head.vocabulary]), type=list[str])
                    self._known[head.vocabulary] = tuple(texts)
                codes = numbers.take("i8", head.codes)
                labels = CodedLabels(self._known[head.vocabulary], codes)
                if codes.size and not 0 <= codes.min() <= codes.max() < len(labels.vocabulary):
                    raise ValueError("a code is outside of its vocabulary")
            attrs = {name: _TYPES[type_](text) for name, type_, text in head.attrs}
            account = read_account(head.account)
            made = Annotation(self.kind, columns, labels, counts, lines, attrs, tuple(head.files), account)
            # Columns whose lengths do not match their dims are refused.
            dims = len(kind.dims)
            if len(counts) != max(dims - 1, 0) or any((level < 0).any() for level in counts):
                raise ValueError("the counts do not fit the kind")
            sizes = [len(made) if dims else 1]
            for level in counts:
                if len(level) != sizes[-1]:
                    raise ValueError("the counts do not fit each other")
                sizes.append(int(level.sum()))
            lengths = {name: len(column) for name, column in columns.items()}
            lengths |= {} if labels is None else {"label": len(labels)}
            for name, length in lengths.items():
                if length != sizes[kind.depths.get(name, dims) - 1]:
                    raise ValueError(f"{name!r} has {length} values")
            return made, head.digest
        except (*_BROKEN, LookupError, OverflowError, AnnotationError) as error:
            raise _damaged(self.path, str(error)) from None

    def _bytes(self, offset: int, length: int) -> bytes:
        try:
            with Path(self.path).open("rb") as file:
                file.seek(offset)
                return file.read(length)
        except OSError as error:
            raise UnreadableError(f"cannot be read: {error.strerror}", path=self.path) from None


@dataclass
class _Numbers:
    """The arrays of numbers after a head, in order."""

    data: bytes
    place: int

    def take(self, dtype: str, length: int) -> Column:
        size = length * np.dtype(_DTYPES[dtype]).itemsize
        if length < 0 or self.place + size > len(self.data):
            raise ValueError("an array is longer than the file")
        found = np.frombuffer(self.data, np.dtype(_DTYPES[dtype]).newbyteorder("<"), length, self.place)
        self.place += size
        return found.astype(_DTYPES[dtype])


_TYPES: Mapping[str, Callable[[str], Attribute]] = {"s": str, "f": float.fromhex, "i": int, "b": "True".__eq__}


def _damaged(path: str, why: str) -> UnreadableError:
    return UnreadableError(f"is a damaged file of readings: {why}", path=path)


def write_readings(
    path: Path,
    kind: str,
    sources: Iterable[tuple[Source, Mapping[str, str]]],
    problems: Sequence[tuple[Sequence[str], str]] = (),
) -> None:
    """Read sources one by one and store their annotations in a new file, whose name ends in ``.readings``.

    Sources come with the values of their placeholders. Audio cannot be stored.
    """
    with path.open("xb") as file:
        file.write(_MAGIC)
        rows: list[_Row] = []
        vocabularies: dict[int, tuple[int, tuple[str, ...]]] = {}
        places: list[tuple[int, int]] = []
        for source, values in sources:
            head, arrays = _read(source, vocabularies, places, file)
            text, offset = msgspec.json.encode(head), file.tell()
            file.write(text)
            for array in arrays:
                file.write(array)
            annotator, track = getattr(source, "annotator", None), str(getattr(source, "track", ""))
            length = file.tell() - offset
            rows.append(_Row(dict(values), source.label, annotator, track, *source.stat(), offset, len(text), length))
        contents = msgspec.json.encode(_Contents(kind, rows, [([*place], why) for place, why in problems], places))
        offset = file.tell()
        file.write(contents)
        file.write(_END.pack(offset, len(contents)))
        file.flush()
        os.fsync(file.fileno())


def _read(
    source: Source, vocabularies: dict[int, tuple[int, tuple[str, ...]]], places: list[tuple[int, int]], file: BinaryIO
) -> tuple[_Head, list[bytes]]:
    """Read a source: its head and its arrays. A shared vocabulary is written only once."""
    try:
        annotation, digest = source.read()
    except AnnotationError as error:
        kind = "invalid" if isinstance(error, InvalidAnnotationError) else "unreadable"
        return _Head(error=(kind, error.message, error.path, error.line)), []
    except OSError as error:
        return _Head(error=("unreadable", str(error), None, None)), []
    head, arrays = _Head(digest, files=[*annotation.files], account=write_account(annotation.account)), []
    for name, column in annotation.columns.items():
        if column.dtype.kind in "OU":
            head.columns[name] = _Column("text", len(column), column.tolist())
        else:
            dtype = column.dtype.str[1:]
            head.columns[name] = _Column(dtype, len(column))
            arrays.append(np.ascontiguousarray(column, np.dtype(_DTYPES[dtype]).newbyteorder("<")).tobytes())
    head.counts = [len(level) for level in annotation.inner_counts]
    arrays += [level.astype("<i8").tobytes() for level in annotation.inner_counts]
    if annotation.lines is not None:
        head.lines = len(annotation.lines)
        arrays.append(np.array([*annotation.lines], dtype="<i8").tobytes())
    if isinstance(annotation.labels, CodedLabels):
        known = annotation.labels.vocabulary
        if id(known) not in vocabularies:
            vocabularies[id(known)] = len(places), known  # kept alive, so that its id stays unique
            text, offset = msgspec.json.encode([*known]), file.tell()
            file.write(text)
            places.append((offset, len(text)))
        head.vocabulary, head.codes = vocabularies[id(known)][0], len(annotation.labels.codes)
        arrays.append(annotation.labels.codes.astype("<i8").tobytes())
    elif annotation.labels is not None:
        head.labels = [*annotation.labels]
    for name, value in annotation.attrs.items():  # with their types: JSON has no NaN and does not tell 1.0 from 1
        if isinstance(value, float):
            head.attrs.append((name, "f", float(value).hex()))
        elif isinstance(value, bool | str):
            head.attrs.append((name, "b" if isinstance(value, bool) else "s", str(value)))
        else:
            head.attrs.append((name, "i", str(int(value))))
    return head, arrays


def open_readings(path: str | Path) -> Readings:
    """Open a file of readings."""
    try:
        status = os.stat(path)  # noqa: PTH116 - called for each source, with the path as text
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror}", path=path) from None
    return _open(str(path), status.st_ino, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=_HELD)
def _open(path: str, _inode: int, _changed: int, size: int) -> Readings:
    try:
        with Path(path).open("rb") as file:
            begins = file.read(len(_MAGIC))
            if begins != _MAGIC or size < len(_MAGIC) + _END.size:
                raise _damaged(path, "the header is missing")
            file.seek(-_END.size, os.SEEK_END)
            offset, length = _END.unpack(file.read(_END.size))
            if offset + length + _END.size != size:
                raise _damaged(path, "it is truncated")
            file.seek(offset)
            contents = msgspec.json.decode(file.read(length), type=_Contents)
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror}", path=path) from None
    except _BROKEN as error:
        raise _damaged(path, str(error)) from None
    parts = [(row.offset, row.length) for row in contents.rows] + contents.vocabularies
    outside = any(min(part) < 0 or sum(part) > offset for part in parts)
    if outside or contents.kind not in KINDS or any(not 0 <= row.head <= row.length for row in contents.rows):
        raise _damaged(path, "it points outside of itself")
    return Readings(path, contents.kind, contents.rows, contents.problems, contents.vocabularies)
