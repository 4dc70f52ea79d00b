"""The tables of a round of grading as files: csv with a header, and notes in comments above it."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from ...errors import InvalidAnnotationError, UnreadableError, suggest
from ...readers.content import decode, read_bytes
from ...readers.delimited import find_separator
from ...readers.options import MAX_BYTES, DelimitedOptions

COMMENT = "#"
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of texts that spreadsheets take for formulas."""


@dataclass(frozen=True, slots=True)
class CsvTable:
    """Rows of texts under named columns."""

    name: str
    """Of the file in messages."""
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Each has a field for every column, without blanks around it."""
    lines: tuple[int, ...]
    """Lines of the rows in the file, from 1."""
    notes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What the comments above the header say, as ``# seed: 7``."""

    def column(self, name: str) -> list[str]:
        """The fields of a column, one a row."""
        if name not in self.columns:
            raise InvalidAnnotationError(f"no column {name!r}; {suggest(name, self.columns)}", path=self.name)
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def optional(self, name: str) -> list[str]:
        """The same; empty texts where there is no such column."""
        return self.column(name) if name in self.columns else [""] * len(self.rows)

    def filled(self, name: str) -> list[str]:
        """The fields of a column in which none is empty."""
        found = self.column(name)
        for line, text in zip(self.lines, found, strict=True):
            if not text:
                raise InvalidAnnotationError(f"the row names no {name}", path=self.name, line=line)
        return found


def read_table(path: str | os.PathLike[str]) -> CsvTable:
    """The table in a csv or tsv file."""
    name = os.fspath(path)
    text = decode(read_bytes(name, MAX_BYTES), name)
    head, start, notes = text.split("\n"), 0, {}
    while start < len(head) and (not head[start].strip() or head[start].startswith(COMMENT)):
        key, colon, value = head[start].lstrip(f"{COMMENT} ").partition(":")
        if colon:
            notes[key.strip()] = value.strip()
        start += 1
    body = "\n".join(head[start:])
    separator = find_separator(body, "tsv" if name.endswith(".tsv") else "csv", DelimitedOptions(comment="")) or ","
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=separator, strict=True)
    try:
        found = [(start + reader.line_num, [one.strip() for one in row]) for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        raise UnreadableError(f"is not a table: {error}", path=name, line=start + reader.line_num) from None
    if not found:
        raise UnreadableError("has no rows: the first names the columns", path=name)
    (line, header), rows = found[0], found[1:]
    twice = next((one for one in header if header.count(one) > 1), None)
    if twice is not None:
        raise InvalidAnnotationError(f"two columns are called {twice!r}", path=name, line=line)
    for line, row in rows:
        if len(row) != len(header):
            message = f"has {len(row)} columns, and the header has {len(header)}: {', '.join(row)!r}"
            raise InvalidAnnotationError(message, path=name, line=line)
    return CsvTable(name, tuple(header), tuple(tuple(row) for _, row in rows), tuple(line for line, _ in rows), notes)


def write_table(
    path: str | os.PathLike[str],
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    notes: Mapping[str, object] = MappingProxyType({}),
    *,
    private: bool = False,
) -> None:
    """Write rows as csv, with notes in comments above the header; the folder is made where there is none.

    A file of that name stays as it is until the whole table is written.

    Parameters
    ----------
    rows : iterable of sequences
        Texts, numbers, or None for nothing.
    notes : mapping of str to object
        Names without a colon.
    private : bool
        True: only the owner may read the file, from its first byte on.
    """
    text = io.StringIO(newline="")
    for name, value in notes.items():
        text.write(f"{COMMENT} {name}: {' '.join(str(value).split())}\n")
    plain = csv.writer(text, lineterminator="\n")
    # A name that begins like a comment is told from one by its quotes.
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in (columns, *rows):
        (quoted if str(row[0]).startswith(COMMENT) else plain).writerow(row)
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    new = place.with_name(f".{place.name}.new")
    new.unlink(missing_ok=True)
    new.touch(0o600 if private else 0o666, exist_ok=False)
    new.write_bytes(text.getvalue().encode())
    new.replace(place)
