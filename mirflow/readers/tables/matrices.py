"""Matrices with names of rows and columns: distances of queries to all items, and tables of tracks x tags.

Distances are in text or numpy files, and each row is a ranking; what looks like similarities is refused unless an
archive names it so. Tags are in numpy files: binary references, and activations of a system. Names of an array are in
its archive, or in text files next to it.
"""

from __future__ import annotations

import lzma
import math
import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BufferedIOBase
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from ...annotations.account import Remark
from ...annotations.annotation import Annotation, CodedLabels
from ...annotations.arrays import is_number
from ...annotations.schema import KINDS
from ...errors import InvalidAnnotationError, MirflowError, UnreadableError
from ...kernels.ragged_ops import ascending
from ...ragged import Float, Int
from ...theory.text_form import normal_form
from ..content import decode, digest_of, open_file, opened, read_bytes
from ..delimited import finish, number_lines, split_line
from ..downloads import local_path
from ..layouts import find_columns
from ..names import name_items, name_tracks
from ..options import Reading
from .table import ARRAYS, RowKey, SameLine, SpanTable, TrackTable, demand_line_ends, index_rows, name_files

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
        return super().held + (0 if isinstance(self.values, np.memmap) else self.values.nbytes)

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
    files, held = name_files(path)[1:], [array.named(keys) for keys in (_TRACKS, _TAGS)]
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
    return TagMatrix(
        name=name,
        reading=reading,
        tags=tags,
        values=array.values,
        of_key={RowKey(track): index for index, track in enumerate(name_tracks(tracks))},
        head=digest_of("\0".join([*tags, array.values.dtype.str]).encode()).encode(),
        remarks=array.unread(_TRACKS, _TAGS),
    )


_CORNER = "q/r"
_ITEMS = ("items", "item_ids", "names", "tracks", "track_ids", "songs", "ids", "files", "labels", "columns")
_QUERIES = ("queries", "query_ids", "rows")
_DISTANCES = ("distances", "distance", "dist", "distance_matrix")
_SIMILARITIES = ("similarities", "similarity", "sim", "similarity_matrix", "scores")
"""Names of the arrays and lists in an archive."""
_LOOKED_AT = 100
"""Number of rows used to recognise a matrix."""
_SAMPLED = 10
"""The same of text, whose rows take longer."""
_FEW_ITEMS = 3


class Head(NamedTuple):
    """The head of a matrix, above its rows."""

    columns: tuple[str, ...]
    rows: Mapping[str, str] | None
    """The names of the rows by their first field; None: that field itself."""
    separator: str
    line: int
    stop: int
    """Number of the first row, and its position."""


def read_head(file: BufferedIOBase, reading: Reading, name: str) -> Head:
    """Read the names of the columns and rows of a matrix."""
    files: dict[str, str] = {}
    names: dict[str, str] | None = None
    line, stop, title = 0, 0, True
    while True:
        text, line, stop = _line_below(file, line, stop, reading, name)
        if text is None and not files and line == 0:
            raise InvalidAnnotationError("is empty; a matrix must name its items", path=name)
        if text is None:
            raise InvalidAnnotationError("is not a matrix: no line begins with Q/R", path=name)
        separator = reading.delimited.separator or next((c for c in "\t,;" if c in text), "whitespace")
        fields = split_row(text, separator) or [""]
        if fields[0].lower() == _CORNER and files:
            # MIREX's layout: columns and rows have the numbers of files.
            listed, names = fields[1:], dict(zip(files, name_items(list(files.values())), strict=True))
            if (unknown := next((number for number in listed if number not in names), None)) is not None:
                raise InvalidAnnotationError(f"no file has the number {unknown!r} of this column", path=name, line=line)
            columns = tuple(normal_form(names[number]) for number in listed)
            break
        following = _line_below(file, line, stop, reading, name)[0] if title else None
        below = None if following is None else split_row(following, separator)
        if (
            title
            and len(fields) > 2
            and (below is None or (len(below) in (len(fields), len(fields) + 1) and is_number(below[-1])))
        ):
            # The names of the columns in the first line of a table, perhaps after a corner cell.
            cornerless = below is not None and len(below) > len(fields)
            listed = list(map(normal_form, fields if cornerless else fields[1:]))
            if not cornerless and all(map(is_number, fields)):
                message = "does not name its items: the first line must hold them, and each row must begin with its "
                raise InvalidAnnotationError(f"{message}query", path=name, line=line)
            columns = tuple(listed)
            break
        number, _, path = text.strip().replace("\t", " ").partition(" ")
        # A title may also begin with a number: it belongs to a file if the next line has the next number.
        is_file = bool(number.isdigit() and path.strip())
        if is_file and title:
            start = (below or [""])[0].split(None, 1)
            is_file = bool(start) and start[0].isdigit() and int(start[0]) == int(number) + 1
        if is_file and number in files:
            raise InvalidAnnotationError(f"two files have the number {number}", path=name, line=line)
        if is_file:
            files[number] = path.strip()
        elif not title:
            message = f"expected a number and a file, or the line Q/R, not {text.strip()[:80]!r}"
            raise InvalidAnnotationError(message, path=name, line=line)
        title = False
    if len(set(listed)) < len(listed):
        twice = next(name for index, name in enumerate(listed) if name in listed[:index])
        raise InvalidAnnotationError(f"two columns are called {twice!r}", path=name, line=line)
    return Head(columns, names, separator, line + 1, stop)


def _line_below(file: BufferedIOBase, line: int, stop: int, reading: Reading, name: str) -> tuple[str | None, int, int]:
    """The next line that is not blank, its number and where it ends; None at the end of the file."""
    file.seek(stop)
    while data := file.readline():
        line, stop = line + 1, stop + len(data)
        demand_line_ends(data, name, line)
        if data.strip():
            return decode(data, name, reading.delimited.encoding), line, stop
    return None, line, stop


def split_row(text: str, separator: str) -> list[str]:
    """The fields of a line; an empty last field is dropped."""
    if separator == "whitespace":
        return text.split()
    fields = [field.strip().strip('"') for field in text.rstrip("\n").split(separator)]
    return fields[:-1] if len(fields) > 1 and not fields[-1] else fields


@dataclass(frozen=True)
class Ranker:
    """Converts rows of distances to rankings."""

    items: tuple[str, ...]
    """The names of the columns."""
    without_self: bool
    """Whether an item is excluded from its own ranking."""
    places: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", {item: index for index, item in enumerate(self.items)})

    def rank(self, query: str, distances: Float, line: int, name: str) -> Annotation:
        """The items from the nearest to the farthest; ties in column order."""
        odd = np.flatnonzero(~np.isfinite(distances))
        if len(odd):
            place = int(odd[0])
            message = f"the distance from {query!r} to {self.items[place]!r} is not finite: {distances[place]}"
            raise InvalidAnnotationError(message, path=name, line=line or None)
        order: Int = ascending(distances)
        own = self.places.get(query)
        if self.without_self and own is not None:
            order = order[order != own]
        lines = SameLine(line, len(order))
        return Annotation("ranking", {}, CodedLabels(self.items, order), lines=lines, attrs={"source": name})


_NUMBERS = msgspec.json.Decoder(list[float])


@dataclass(frozen=True)
class TextMatrix(SpanTable):
    """A matrix in a text file, with the rows of the queries."""

    ranker: Ranker
    separator: str
    """A character, or ``whitespace``."""
    head: bytes
    """Hash of the names of the columns."""

    @property
    def held(self) -> int:
        """About how many bytes of memory it takes."""
        return super().held + 300 * len(self.ranker.items)

    def annotation(self, key: RowKey, data: bytes) -> Annotation:
        """The ranking that a row makes."""
        line = self.of_key[key][0].line
        return self.ranker.rank(key.track, self.distances(data, line), line, self.name)

    def distances(self, data: bytes, line: int) -> Float:
        """The numbers of a row."""
        row = data.rstrip()
        if self.separator == ";":  # such tables have decimal commas
            row = row.replace(b",", b".")
        try:
            if self.separator == "whitespace":
                body = b",".join(row.split()[1:])
            else:
                body = row.partition(self.separator.encode())[2].replace(self.separator.encode(), b",")
            numbers = _NUMBERS.decode(b"[" + body + b"]")
        except msgspec.DecodeError:  # numbers in Python's syntax only, or invalid numbers
            numbers = []
            fields = split_row(decode(row, self.name, self.reading.delimited.encoding), self.separator)
            for index, text in enumerate(fields[1:]):
                if not is_number(text):
                    item = self.ranker.items[min(index, len(self.ranker.items) - 1)]
                    message = f"the distance to {item!r} is not a number: {text!r}"
                    raise InvalidAnnotationError(message, path=self.name, line=line) from None
                numbers.append(float(text))
        if len(numbers) != len(self.ranker.items):
            message = f"has {len(numbers)} distances, but needs one for each of the {len(self.ranker.items)} items"
            raise InvalidAnnotationError(message, path=self.name, line=line)
        return np.array(numbers, dtype=np.float64)


def open_matrix(path: str, reading: Reading, name: str) -> TrackTable:
    """Open a matrix of the format ``matrix``, which is read one row at a time.

    It has MIREX's layout (a title, numbered files, a line ``Q/R`` with numbers, a row for each query), is a table with
    the items in its first line and the query at the beginning of each row, or is a numpy file. ``max_bytes`` of the
    reading limits a row.
    """
    if path.lower().endswith(ARRAYS):
        return open_array(path, reading, name)
    with opened(path, name) as file:
        head = read_head(file, reading, name)
    first: dict[str, int] = {}

    def key_of(line: bytes, number: int) -> RowKey | None:
        if not line.strip():
            return None
        # Rows are long, so only the first field is split off.
        text = line.split(None, 1)[0] if head.separator == "whitespace" else line.partition(head.separator.encode())[0]
        own = split_row(decode(text, name, reading.delimited.encoding), head.separator)[0]
        if head.rows is not None and own not in head.rows:
            raise InvalidAnnotationError(f"no file has the number {own!r} of this row", path=name, line=number)
        query = normal_form(own if head.rows is None else head.rows[own])
        if query in first:
            message = f"query {query!r} occurs twice, first on line {first[query]}"
            raise InvalidAnnotationError(message, path=name, line=number)
        first[query] = number
        return RowKey(query)

    found = index_rows(path, name, key_of, head.stop, head.line)
    fingerprint = digest_of("\0".join(head.columns).encode()).encode()
    ranker = Ranker(head.columns, reading.exclude == "self")
    matrix = TextMatrix(path, name, reading, found, ranker, head.separator, fingerprint)
    # Each of the first rows of a square matrix of similarities is largest at the query itself.
    largest = len(head.columns) >= _FEW_ITEMS and {key.track for key in found} == ranker.places.keys()
    for key in list(found)[:_SAMPLED] if largest else ():
        try:
            row, own = matrix.distances(matrix.data(key), found[key][0].line), ranker.places[key.track]
            largest &= bool(np.isfinite(row).all() and np.delete(row, own).max() < row[own])
        except MirflowError:  # reported when the track is read
            largest = False
        if not largest:
            break
    if largest:
        message = "looks like similarities, as the diagonal has the largest numbers: write distances, such as "
        raise InvalidAnnotationError(f"{message}1 - similarity, with 0 on the diagonal", path=name)
    return matrix


@dataclass(frozen=True, kw_only=True)
class ArrayMatrix(ArrayTable):
    """A matrix in a numpy file, with a query for each row."""

    ranker: Ranker
    nearest_largest: bool
    """Whether its values are similarities, not distances."""

    def annotation(self, key: RowKey, data: bytes) -> Annotation:
        """The ranking that a row makes."""
        row = np.asarray(self.values[self.of_key[key]], dtype=np.float64)
        found = self.ranker.rank(key.track, -row if self.nearest_largest else row, 0, self.name)
        return replace(found, account=self.remarks)


def open_array(path: str, reading: Reading, name: str) -> ArrayMatrix:
    """Open a numpy file with a square matrix of distances, or with a row for each query.

    Names of the items are a list in an ``.npz``, or one per line in ``x.txt`` next to ``x.npy`` or in ``items.txt``. In
    an ``.npz``, the matrix is called ``distances`` or ``similarities``; a list ``queries`` is optional.
    """
    array = load_array(path, reading, name)
    own, common = name_files(path)[0]
    along = names_along(array, _ITEMS, (own, common), reading, name)
    if along is None:
        inside = f" save them in it as {_ITEMS[0]!r}, or" if array.key else ""
        message = f"does not name its items:{inside} write them to {own.name} or {common.name} next to it, one per line"
        raise UnreadableError(message, path=name)
    items, listed = along
    queries = array.named(_QUERIES) or items
    if array.values.shape != (len(queries), len(items)):
        lists = "it" if listed == name else listed
        named = f"{len(items)} items" if queries is items else f"{len(queries)} queries and {len(items)} items"
        raise InvalidAnnotationError(f"is {array.shape}, but {lists} names {named}", path=name)
    demand_distinct(items, "items", listed)
    demand_distinct(queries, "queries", name)
    similar = array.key.lower() in _SIMILARITIES
    if array.key and not similar and array.key.lower() not in _DISTANCES:
        message = f"cannot tell whether the array {array.key!r} holds distances: rename it to distances"
        raise InvalidAnnotationError(f"{message} or similarities", path=name)
    # Each of the first rows of a square matrix of similarities is largest on the diagonal.
    some = np.array(array.values[:_LOOKED_AT], dtype=np.float64)
    diagonal = np.diagonal(some).copy()
    np.fill_diagonal(some, -np.inf)
    largest = len(diagonal) > 1 and bool(np.isfinite(diagonal).all() and (some.max(axis=1) < diagonal).all())
    if not array.key and queries is items and largest:
        message = "looks like similarities, as the diagonal has the largest numbers: save the array as"
        message += " similarities in an .npz, or, if the numbers are distances, write 0 on the diagonal"
        raise InvalidAnnotationError(message, path=name)
    return ArrayMatrix(
        name=name,
        ranker=Ranker(items, reading.exclude == "self"),
        values=array.values,
        of_key={RowKey(query): index for index, query in enumerate(queries)},
        head=digest_of("\0".join(items).encode() + b"similarities" * similar).encode(),
        nearest_largest=similar,
        remarks=array.unread(_QUERIES, _ITEMS),
    )
