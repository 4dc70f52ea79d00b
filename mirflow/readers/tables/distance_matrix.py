"""Distances between all items of a collection, in text or numpy files: each row is a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from io import BufferedIOBase

import msgspec
import numpy as np

from ...annotations.annotation import Annotation, CodedLabels
from ...errors import InvalidAnnotationError, MirflowError, UnreadableError
from ...kernels.ragged_ops import ascending
from ...ragged import Float, Int
from ...theory.text_form import normal_form
from ..content import decode, digest_of, opened
from ..layouts import is_number
from ..names import name_items
from ..options import Reading
from .numpy_files import ArrayTable, demand_distinct, load_array, names_along
from .table import ARRAYS, RowKey, SameLine, SpanTable, TrackTable, demand_line_ends, index_rows, name_files

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


@dataclass
class Head:
    """The head of a matrix, above its rows."""

    file: BufferedIOBase
    reading: Reading
    name: str
    separator: str = "\t"
    line: int = 0
    stop: int = 0

    def read(self) -> tuple[tuple[str, ...], dict[str, str] | None]:
        """The names of the columns, and the names of the rows by their first field; None: that field itself.

        Afterwards, `stop` and `line` are the position of the first row.
        """
        files: dict[str, str] = {}
        title = True
        while (text := self._next()) is not None:
            self.separator = self.reading.delimited.separator or next((c for c in "\t,;" if c in text), "whitespace")
            fields = split_row(text, self.separator) or [""]
            if fields[0].lower() == _CORNER and files:
                # MIREX's layout: columns and rows have the numbers of files.
                names = dict(zip(files, name_items(list(files.values())), strict=True))
                for number in fields[1:]:
                    if number not in names:
                        message = f"no file has the number {number!r} of this column"
                        raise InvalidAnnotationError(message, path=self.name, line=self.line)
                self._demand_distinct(fields[1:])
                self.line += 1
                return tuple(normal_form(names[number]) for number in fields[1:]), names
            if title and len(fields) > 2:
                below = self._below()
                if below is None or (len(below) in (len(fields), len(fields) + 1) and is_number(below[-1])):
                    return self._named(fields, below), None
            number, _, path = text.strip().replace("\t", " ").partition(" ")
            # A title may also begin with a number: it belongs to a file if the next line has the next number.
            is_file = bool(number.isdigit() and path.strip())
            if is_file and title:
                below = (self._below() or [""])[0].split(None, 1)
                is_file = bool(below) and below[0].isdigit() and int(below[0]) == int(number) + 1
            if is_file:
                if number in files:
                    raise InvalidAnnotationError(f"two files have the number {number}", path=self.name, line=self.line)
                files[number] = path.strip()
            elif not title:
                message = f"expected a number and a file, or the line Q/R, not {text.strip()[:80]!r}"
                raise InvalidAnnotationError(message, path=self.name, line=self.line)
            title = False
        if not files and self.line == 0:
            raise InvalidAnnotationError("is empty; a matrix must name its items", path=self.name)
        raise InvalidAnnotationError("is not a matrix: no line begins with Q/R", path=self.name)

    def _next(self) -> str | None:
        while True:
            data = self.file.readline()
            if not data:
                return None
            self.line += 1
            self.stop += len(data)
            demand_line_ends(data, self.name, self.line)
            if data.strip():
                return decode(data, self.name, self.reading.delimited.encoding)

    def _below(self) -> list[str] | None:
        line, stop = self.line, self.stop
        text = self._next()
        self.line, self.stop = line, stop
        self.file.seek(stop)
        return None if text is None else split_row(text, self.separator)

    def _named(self, fields: Sequence[str], below: Sequence[str] | None) -> tuple[str, ...]:
        """The names of the columns in the first line of a table, perhaps after a corner cell."""
        cornerless = below is not None and len(below) > len(fields)
        names = list(map(normal_form, fields if cornerless else fields[1:]))
        if not cornerless and all(map(is_number, fields)):
            message = "does not name its items: the first line must hold them, and each row must begin with its query"
            raise InvalidAnnotationError(message, path=self.name, line=self.line)
        self._demand_distinct(names)
        self.line += 1
        return tuple(names)

    def _demand_distinct(self, names: Sequence[str]) -> None:
        if len(set(names)) < len(names):
            twice = next(name for index, name in enumerate(names) if name in names[:index])
            raise InvalidAnnotationError(f"two columns are called {twice!r}", path=self.name, line=self.line)


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
        return self.ranker.rank(key.track, self._distances(data, line), line, self.name)

    def looks_similar(self) -> bool:
        """True if each of the first rows of a square matrix is largest at the query itself."""
        items = self.ranker.places
        if len(items) < _FEW_ITEMS or {key.track for key in self.of_key} != items.keys():
            return False
        for key in list(self.of_key)[:_SAMPLED]:
            try:
                row = self._distances(self.data(key), self.of_key[key][0].line)
            except MirflowError:  # reported when the track is read
                return False
            own = items[key.track]
            others = np.delete(row, own)
            if not (np.isfinite(row).all() and others.max() < row[own]):
                return False
        return True

    def _distances(self, data: bytes, line: int) -> Float:
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
            for index, text in enumerate(split_row(self.text(row), self.separator)[1:]):
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
        head = Head(file, reading, name)
        columns, rows = head.read()
    first: dict[str, int] = {}

    def key_of(line: bytes, number: int) -> RowKey | None:
        if not line.strip():
            return None
        # Rows are long, so only the first field is split off.
        text = line.split(None, 1)[0] if head.separator == "whitespace" else line.partition(head.separator.encode())[0]
        own = split_row(decode(text, name, reading.delimited.encoding), head.separator)[0]
        if rows is not None and own not in rows:
            raise InvalidAnnotationError(f"no file has the number {own!r} of this row", path=name, line=number)
        query = normal_form(own if rows is None else rows[own])
        if query in first:
            message = f"query {query!r} occurs twice, first on line {first[query]}"
            raise InvalidAnnotationError(message, path=name, line=number)
        first[query] = number
        return RowKey(query)

    found = index_rows(path, name, key_of, head.stop, head.line)
    fingerprint = digest_of("\0".join(columns).encode()).encode()
    ranker = Ranker(columns, reading.exclude == "self")
    matrix = TextMatrix(path, name, reading, found, ranker, head.separator, fingerprint)
    if matrix.looks_similar():
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
    own, common = name_files(path)
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
