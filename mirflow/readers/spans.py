"""Where in a large text file the rows of each key stand, so that they can be read alone and the file is never held."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from typing import overload

from ..errors import UnreadableError
from .content import decode, open_file, unreadable
from .tables import Key, demand


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive rows.

    Parameters
    ----------
    start, stop : int
        Where their bytes are.
    line : int
        Number of the first, counted from 1.
    lines : int
        How many lines there are, comments and blank ones between them included.
    """

    start: int
    stop: int
    line: int
    lines: int


@dataclass(frozen=True)
class Spans:
    """The rows of each key in a file.

    Parameters
    ----------
    path : str
    name : str
        What to call the file in messages.
    encoding : str
    max_bytes : int
        Of the rows of one key.
    of_key : mapping of Key to list of Span
    """

    path: str
    name: str
    encoding: str
    max_bytes: int
    of_key: Mapping[Key, list[Span]]

    @property
    def keys(self) -> Collection[Key]:
        """What rows are about, in the order of the file."""
        return self.of_key.keys()

    @property
    def held(self) -> int:
        """About how many bytes of memory it takes."""
        return sum(400 + 100 * len(spans) for spans in self.of_key.values())

    def data(self, key: Key) -> bytes:
        """The bytes of the rows of a key.

        Raises
        ------
        UnreadableError
            If there are none any more, or too many.
        """
        demand(self, key, self.name)
        spans = self.of_key[key]
        size = sum(span.stop - span.start for span in spans)
        if size > self.max_bytes:
            limit = f"{size / 2**20:.0f} MB of {key.track!r} are over the limit of {self.max_bytes / 2**20:.0f} MB"
            raise UnreadableError(f"too large: {limit} (max_bytes raises it)", path=self.name)
        try:
            with open_file(self.path, self.name) as file:
                return b"".join(_read(file, span) for span in spans)
        except OSError as error:
            raise unreadable(self.path, error, self.name) from None

    def text(self, data: bytes) -> str:
        """The text of some rows."""
        return decode(data, self.name, self.encoding)

    def numbered(self, key: Key, text: str) -> Iterator[tuple[int, str]]:
        """The lines of the text of a key, with their numbers in the file."""
        lines = iter(text.split("\n"))
        for span in self.of_key[key]:
            for number in range(span.line, span.line + span.lines):
                yield number, next(lines, "")

    def stamp(self, key: Key, more: bytes = b"") -> tuple[int, int]:
        """Size of the rows of a key in bytes, and a fingerprint of them and of `more`."""
        data = self.data(key)
        # Two checksums: a change that neither shows is out of the question, and they take a third of a digest's time.
        mixed = zlib.crc32(data, zlib.crc32(more)) << 31 ^ zlib.adler32(data)
        return len(data), mixed & (2**63 - 1)


class SameLine(Sequence[int]):
    """The lines of items that all stand on one.

    Examples
    --------
    >>> list(SameLine(7, 3))
    [7, 7, 7]
    """

    __slots__ = ("line", "size")

    def __init__(self, line: int, size: int) -> None:
        self.line = line
        self.size = size

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> SameLine: ...
    def __getitem__(self, place: int | slice) -> int | SameLine:
        if isinstance(place, slice):
            return SameLine(self.line, len(range(self.size)[place]))
        if not -self.size <= place < self.size:
            raise IndexError(place)
        return self.line


def _read(file: RawIOBase, span: Span) -> bytes:
    file.seek(span.start)
    return file.read(span.stop - span.start) or b""


def demand_line_ends(line: bytes, name: str, number: int) -> None:
    """Raise if a line holds others, whose ends are carriage returns alone: only its first would be found.

    Raises
    ------
    UnreadableError

    Examples
    --------
    >>> demand_line_ends(b"q1: a\\rq2: b\\r", "a.txt", 1)
    Traceback (most recent call last):
        ...
    mirflow.errors.UnreadableError: a.txt:1: lines end with a carriage return alone; convert ...
    """
    at = line.find(b"\r")
    if at >= 0 and line[at:].strip():
        message = "lines end with a carriage return alone; convert them to end with a line feed"
        raise UnreadableError(message, path=name, line=number)


def index_rows(
    path: str, name: str, key_of: Callable[[bytes, int], Key | None], start: int = 0, line: int = 1
) -> dict[Key, list[Span]]:
    """The rows of each key of a file.

    Parameters
    ----------
    path, name : str
    key_of : callable
        (line, its number) -> its key; None: the line is no row.
    start, line : int
        Where the first line begins, and its number.

    Raises
    ------
    UnreadableError
        If the file cannot be read.
    """
    found: dict[Key, list[Span]] = {}
    current: Key | None = None
    begin = first = stop = last = 0
    end = start
    try:
        with BufferedReader(open_file(path, name)) as file:
            file.seek(start)
            for number, text in enumerate(file, line):
                before, end = end, end + len(text)
                demand_line_ends(text, name, number)
                key = key_of(text, number)
                if key is None:
                    continue
                if key != current:
                    if current is not None:
                        found.setdefault(current, []).append(Span(begin, stop, first, last - first + 1))
                    current, begin, first = key, before, number
                stop, last = end, number
    except OSError as error:
        raise unreadable(path, error, name) from None
    if current is not None:
        found.setdefault(current, []).append(Span(begin, stop, first, last - first + 1))
    return found
