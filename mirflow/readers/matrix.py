"""Distances between all items of a collection, as MIREX's matrices and as tables: each row is a ranking.

A matrix is not held in memory. Opening one finds the names of its items and where its rows begin; a row is read when it
is scored.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from io import BufferedReader

import msgspec
import numpy as np

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError
from ..ragged import Float
from .content import decode, digest_of, open_file, unreadable
from .matrixhead import Head, split_row
from .options import Reading
from .ranker import Ranker
from .spans import Spans, index_rows
from .tables import Key, Table

_NUMBERS = msgspec.json.Decoder(list[float])


@dataclass(frozen=True)
class TextMatrix:
    """A matrix in a text file; see :class:`mirflow.readers.tables.Table`.

    Parameters
    ----------
    spans : Spans
        Its rows by query.
    ranker : Ranker
    separator : str
        A character, or ``whitespace``.
    head : bytes
        Fingerprint of the names of the columns.
    """

    spans: Spans
    ranker: Ranker
    separator: str
    head: bytes

    @property
    def keys(self) -> Collection[Key]:
        """The queries: the items that have a row."""
        return self.spans.keys

    @property
    def held(self) -> int:
        """About how many bytes of memory it takes."""
        return self.spans.held + 300 * len(self.ranker.items)

    def stamp(self, key: Key) -> tuple[int, int]:
        """Size and fingerprint of a row, and of the names of the columns."""
        return self.spans.stamp(key, self.head)

    def read(self, key: Key) -> tuple[Annotation, str]:
        """The ranking that a row makes, and the digest of the row and of the names of the columns."""
        data = self.spans.data(key)
        line = self.spans.of_key[key][0].line
        found = self.ranker.rank(key.track, self._distances(data, line), line, self.spans.name)
        return found, digest_of(self.head + data)

    def _distances(self, data: bytes, line: int) -> Float:
        row = data.rstrip()
        if self.separator == ";":  # of tables in which commas stand before decimals
            row = row.replace(b",", b".")
        try:
            if self.separator == "whitespace":
                body = b",".join(row.split()[1:])
            else:
                body = row.partition(self.separator.encode())[2].replace(self.separator.encode(), b",")
            numbers = _NUMBERS.decode(b"[" + body + b"]")
        except msgspec.DecodeError:  # numbers as only Python writes them, or no numbers at all
            numbers = self._by_field(row, line)
        if len(numbers) != len(self.ranker.items):
            message = f"has {len(numbers)} distances, needs one to each of the {len(self.ranker.items)} items"
            raise InvalidAnnotationError(message, path=self.spans.name, line=line)
        return np.array(numbers, dtype=np.float64)

    def _by_field(self, row: bytes, line: int) -> list[float]:
        fields = split_row(self.spans.text(row), self.separator)[1:]
        numbers = []
        for place, text in enumerate(fields):
            try:
                numbers.append(float(text))
            except ValueError:
                item = self.ranker.items[min(place, len(self.ranker.items) - 1)]
                message = f"distance to {item!r} is not a number: {text!r}"
                raise InvalidAnnotationError(message, path=self.spans.name, line=line) from None
        return numbers


def open_matrix(path: str, reading: Reading, name: str) -> Table:
    """The table in a matrix of the format ``matrix``, of which a row is read at a time.

    Parameters
    ----------
    path : str
        MIREX's layout (a line of title, numbered files, a line ``Q/R`` with numbers, a row for each query), a table
        with the items' names in its first line and each query's in front of its row, or an ``.npy`` file.
    reading : Reading
        ``exclude`` says whether an item is left out of its own ranking; ``max_bytes`` is the limit of a row.
    name : str
        What to call the file in messages.

    Raises
    ------
    UnreadableError
        If the file is not there, or is no matrix.
    InvalidAnnotationError
        If its rows or columns cannot be told apart.
    """
    if path.lower().endswith(".npy"):
        from .arrays import open_array

        return open_array(path, reading, name)
    try:
        with BufferedReader(open_file(path, name)) as file:
            head = Head(file, reading, name)
            columns, rows = head.read()
    except OSError as error:
        raise unreadable(path, error, name) from None
    first: dict[str, int] = {}

    def key_of(line: bytes, number: int) -> Key | None:
        if not line.strip():
            return None
        # A row is long, so only its first field is taken off it.
        text = line.split(None, 1)[0] if head.separator == "whitespace" else line.partition(head.separator.encode())[0]
        own = split_row(decode(text, name, reading.delimited.encoding), head.separator)[0]
        if rows is not None and own not in rows:
            raise InvalidAnnotationError(f"no file has the number {own!r} of this row", path=name, line=number)
        query = own if rows is None else rows[own]
        if query in first:
            message = f"a second row of {query!r}, first on line {first[query]}"
            raise InvalidAnnotationError(message, path=name, line=number)
        first[query] = number
        return Key(query)

    found = index_rows(path, name, key_of, head.stop, head.line)
    fingerprint = digest_of("\0".join(columns).encode()).encode()
    spans = Spans(path, name, reading.delimited.encoding, reading.max_bytes, found)
    return TextMatrix(spans, Ranker(columns, reading.exclude == "self"), head.separator, fingerprint)
