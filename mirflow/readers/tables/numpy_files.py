"""Arrays in numpy files, with names of rows and columns in the archive or in a text file next to it.

Tables of tracks x tags are read here: binary references, and activations of a system.
"""

from __future__ import annotations

import lzma
import math
import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from ...annotations.account import Remark
from ...annotations.annotation import Annotation
from ...annotations.schema import KINDS
from ...errors import InvalidAnnotationError, UnreadableError
from ...theory.text_form import normal_form
from ..content import decode, digest_of, open_file, read_bytes
from ..delimited import finish, number_lines, split_line
from ..downloads import local_path
from ..layouts import find_columns
from ..names import name_items
from ..options import Reading
from .table import RowKey, TrackTable, tag_name_files

Names = tuple[str, ...]
_TRACKS = (
    *("tracks", "track", "track_ids", "track_id", "clips", "clip_ids", "clip_id", "songs", "song_ids", "files"),
    *("filenames", "paths", "ids", "items", "rows", "index", "names"),
)
_TAGS = ("tags", "tag", "tag_names", "tag_list", "labels", "label_names", "classes", "class_names", "columns")
"""Names of the lists of names in an archive; the first that exists is used."""


@dataclass(frozen=True, kw_only=True)
class ArrayTable(TrackTable):
    """An array of numbers with a row for each key."""

    name: str
    values: npt.NDArray[Any]
    of_key: Mapping[RowKey, int]
    head: bytes
    remarks: tuple[Remark, ...]
    """Remarks about other arrays in the file."""

    @property
    def held(self) -> int:
        """Estimated memory in bytes; mapped arrays do not count."""
        return 500 * len(self.of_key) + (0 if isinstance(self.values, np.memmap) else self.values.nbytes)

    def data(self, key: RowKey) -> bytes:
        """The bytes of a row."""
        self.demand(key)
        return bytes(self.values[self.of_key[key]].tobytes())


@dataclass(frozen=True)
class NamedArray:
    """The table of numbers in a file, and the lists of names in its archive."""

    values: npt.NDArray[Any]
    key: str = ""
    """Name of the table in the archive; empty if the file is not an archive."""
    names: Mapping[str, Names] = field(default_factory=dict)
    """Lists by their names in the archive, in lower case."""
    others: tuple[str, ...] = ()
    """Names of other arrays in the archive, but for single values."""

    @property
    def shape(self) -> str:
        """The size of the table, for messages."""
        return " x ".join(map(str, self.values.shape)) or "one number"

    def named(self, keys: Sequence[str]) -> Names | None:
        """The list with the first of the given names that exists."""
        return next((self.names[key] for key in keys if key in self.names), None)

    def unread(self, *axes: Sequence[str]) -> tuple[Remark, ...]:
        """A remark about the arrays that are neither the table nor the names of one of its axes."""
        used = [next((key for key in keys if key in self.names), None) for keys in axes]
        left = sorted({*self.others, *(key for key in self.names if key not in used)})
        if not left:
            return ()
        message = f"other arrays of the archive are not read: {', '.join(map(repr, left))}"
        return (Remark("layers", message, count=len(left)),)


# Headers are Python literals, so a damaged one raises errors of numpy or of Python's parser; members of archives may
# also raise errors of zipfile (encrypted, or an unknown compression).
_FAULTS = (
    *(OSError, ValueError, EOFError, KeyError, TypeError, AttributeError, SyntaxError, MemoryError, OverflowError),
    *(RuntimeError, tokenize.TokenError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


def load_array(path: str, reading: Reading, name: str, kinds: str = "fiu") -> NamedArray:
    """The only table of numbers in a numpy file; an ``.npy`` is memory-mapped.

    Its dtype is of one of the `kinds`. Archives larger than ``max_bytes`` when decompressed are unreadable.
    """
    open_file(path, name).close()
    local = str(local_path(path, name))
    try:
        if path.lower().endswith(".npz"):
            return _from_archive(local, reading, name, kinds)
        values = np.load(local, mmap_mode="r", allow_pickle=False)
    except _FAULTS as error:
        if isinstance(error, UnreadableError):
            raise
        message = f"cannot be read as an array: {str(error)[:200] or type(error).__name__}"
        raise UnreadableError(message, path=name) from None
    if not isinstance(values, np.ndarray):
        values.close()
        raise UnreadableError("is an archive of arrays, not a single array; rename it to .npz", path=name)
    if values.dtype.kind not in kinds:
        raise UnreadableError(f"is an array of {values.dtype}, not of numbers", path=name)
    return NamedArray(values)


def _from_archive(path: str, reading: Reading, name: str, kinds: str) -> NamedArray:
    tables: dict[str, npt.NDArray[Any]] = {}
    names: dict[str, Names] = {}
    others, seen = list[str](), set[str]()
    with zipfile.ZipFile(path) as packed:
        members = packed.infolist()
        size = sum(one.file_size for one in members)
        if size > reading.max_bytes:
            limit = f"{size / 2**20:.0f} MB is over the limit of {reading.max_bytes / 2**20:.0f} MB"
            raise UnreadableError(f"too large: {limit} (max_bytes raises it)", path=name)
        for member in members:
            key = member.filename.removesuffix(".npy")
            if key.lower() in seen:
                raise UnreadableError(f"holds two arrays called {key!r}", path=name)
            seen.add(key.lower())
            with packed.open(member) as file:
                version = npy.read_magic(file)
                read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                shape, _, dtype = read(file)
                declared, held = math.prod(shape) * dtype.itemsize, member.file_size - file.tell()
            if dtype.hasobject:
                message = f"the array {key!r} holds Python objects: save numpy.array({key}, dtype=str)"
                raise UnreadableError(message, path=name)
            if declared != held:  # memory is allocated only for what is there
                raise UnreadableError(
                    f"the array {key!r} holds {held} bytes, but its header says {declared}", path=name
                )
            with packed.open(member) as file:
                one: npt.NDArray[Any] = npy.read_array(file, allow_pickle=False)
            if one.ndim == 1 and one.dtype.kind in "USiu":
                if one.dtype.kind == "S":
                    one = np.char.decode(one, "utf-8")
                names[key.lower()] = tuple(normal_form(str(text)) for text in one.tolist())
            elif one.ndim == 2 and one.dtype.kind in kinds:
                tables[key] = one
            elif one.ndim:
                others.append(key)
    if len(tables) != 1:
        what = f"{len(tables)} tables of numbers ({', '.join(tables)})" if tables else "no table of numbers"
        message = f"holds {what}; expected one two-dimensional array, and optional lists of names"
        raise UnreadableError(message, path=name)
    key, values = next(iter(tables.items()))
    return NamedArray(values, key, names, tuple(others))


def read_names(file: Path, name: str, reading: Reading) -> Names:
    """The names in a text file next to an array: one per line, or the column of tracks of a ``.tsv`` with a header."""
    listed = str(Path(name).with_name(file.name))
    text = decode(read_bytes(file, reading.max_bytes, listed), listed, reading.delimited.encoding)
    if file.suffix != ".tsv":
        return tuple(filter(None, map(normal_form, text.split("\n"))))
    lines = number_lines(text, "")
    header = split_line(lines[0][1], "\t") if lines else []
    place = find_columns(KINDS["labels"], header, keyed=True).get("track")
    if place is None:
        message = f"the header has no column of tracks: {', '.join(header)}; rename it to track_id"
        raise InvalidAnnotationError(message, path=listed, line=1)
    rows = [(number, split_line(line, "\t")) for number, line in lines[1:]]
    short = next((number for number, fields in rows if len(fields) <= place or not fields[place]), None)
    if short is not None:
        raise InvalidAnnotationError("the row has no track", path=listed, line=short)
    return tuple(normal_form(fields[place]) for _, fields in rows)


def names_along(
    array: NamedArray, keys: Sequence[str], files: Sequence[Path], reading: Reading, name: str
) -> tuple[Names, str] | None:
    """The names in a list of the archive, or in the first file that exists, and where they are; None without any."""
    found = array.named(keys)
    if found is not None:
        return found, name
    file = next((file for file in files if file.exists()), None)
    return None if file is None else (read_names(file, name, reading), str(Path(name).with_name(file.name)))


def demand_distinct(names: Sequence[str], what: str, listed: str) -> None:
    """Raise if a name occurs twice or is empty."""
    if len(set(names)) < len(names):
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        raise InvalidAnnotationError(f"names {twice!r} twice", path=listed)
    if "" in names:
        raise InvalidAnnotationError(f"one of the {what} has no name", path=listed)


@dataclass(frozen=True, kw_only=True)
class TagMatrix(ArrayTable):
    """An array with a row for each track and a column for each tag."""

    reading: Reading
    tags: Names

    def annotation(self, key: RowKey, data: bytes) -> Annotation:
        """All tags of a track, with their values."""
        value = np.array(self.values[self.of_key[key]], dtype=np.float64)
        attrs = {"source": self.name}
        found = Annotation("labels", {"value": value}, list(self.tags), attrs=attrs, account=self.remarks)
        return finish(found, self.reading, self.name)


def open_tags(path: str, reading: Reading, name: str) -> TagMatrix:
    """Open an ``.npy`` or ``.npz`` file of tracks x tags.

    An archive holds the array and two lists of names, such as ``tracks`` and ``tags``. Missing lists, and both lists of
    an ``.npy``, are read from text files next to it: for ``x.npy`` from ``x.tracks.txt`` and ``x.tags.txt``, or from
    ``tracks.txt`` and ``tags.txt``, with one name per line, or from a ``.tsv`` with a column of tracks, such as a split
    of MTG-Jamendo.
    """
    if reading.task != "tagging":
        message = f"arrays hold values of tags, which {reading.task or reading.kind} does not have: write a text table"
        raise UnreadableError(message, path=name)
    array = load_array(path, reading, name, "fiub")
    files, held = tag_name_files(path), [array.named(keys) for keys in (_TRACKS, _TAGS)]
    lacking = [axis for axis in (0, 1) if held[axis] is None and not any(file.exists() for file in files[axis])]
    if lacking:
        what = [("tracks", "tags")[axis] for axis in lacking]
        beside = [list(dict.fromkeys(one.name for one in files[axis])) for axis in lacking]
        texts = [f"the {one} to {', '.join(own[:-1])} or {own[-1]}" for one, own in zip(what, beside, strict=True)]
        inside = f" save {' and '.join(map(repr, what))} in it, or" if array.key else ""
        message = f"is {array.shape} and names no {' and no '.join(what)}:{inside} write {' and '.join(texts)} next "
        raise UnreadableError(f"{message}to it, one per line", path=name)
    along = (names_along(array, keys, own, reading, name) for keys, own in zip((_TRACKS, _TAGS), files, strict=True))
    (tracks, of_tracks), (tags, of_tags) = filter(None, along)
    if array.values.shape != (len(tracks), len(tags)):
        lists = " and ".join(dict.fromkeys(one for one in (of_tracks, of_tags) if one != name)) or "its lists"
        message = f"is {array.shape}, but {lists} name {len(tracks)} tracks and {len(tags)} tags"
        turned = array.values.shape == (len(tags), len(tracks))
        raise InvalidAnnotationError(message + "; save its transpose" * turned, path=name)
    demand_distinct(tags, "tags", of_tags)
    demand_distinct(tracks, "tracks", of_tracks)
    plain = name_items(tracks) if any("/" in track or "\\" in track for track in tracks) else tracks
    return TagMatrix(
        name=name,
        reading=reading,
        tags=tags,
        values=array.values,
        of_key={RowKey(track): index for index, track in enumerate(plain)},
        head=digest_of("\0".join([*tags, array.values.dtype.str]).encode()).encode(),
        remarks=array.unread(_TRACKS, _TAGS),
    )
