"""Tables of grading rounds as files: CSV with a header, and notes in comments above it."""

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
"""First characters of texts that spreadsheets interpret as formulas."""


@dataclass(frozen=True, slots=True)
class CsvTable:
    """Rows of texts with named columns."""

    name: str
    """Name of the file for messages."""
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Rows with a field for every column, stripped of whitespace."""
    lines: tuple[int, ...]
    """Line numbers of the rows in the file, from 1."""
    notes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Contents of the comments above the header, such as ``# seed: 7``."""

    def column(self, name: str) -> list[str]:
        """Return the fields of a column, one per row."""
        if name not in self.columns:
            raise InvalidAnnotationError(f"no column {name!r}; {suggest(name, self.columns)}", path=self.name)
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def optional(self, name: str) -> list[str]:
        """Return the fields of a column; empty texts if it does not exist."""
        return self.column(name) if name in self.columns else [""] * len(self.rows)

    def filled(self, name: str) -> list[str]:
        """Return the fields of a column, none of which may be empty."""
        texts = self.column(name)
        for line, text in zip(self.lines, texts, strict=True):
            if not text:
                raise InvalidAnnotationError(f"missing value in column {name!r}", path=self.name, line=line)
        return texts


def read_table(path: str | os.PathLike[str]) -> CsvTable:
    """Read a table from a CSV or TSV file."""
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
        parsed = [
            (start + reader.line_num, [text.strip() for text in row]) for row in reader if any(map(str.strip, row))
        ]
    except csv.Error as error:
        raise UnreadableError(f"not a table: {error}", path=name, line=start + reader.line_num) from None
    if not parsed:
        raise UnreadableError("empty table: expected a header with the names of the columns", path=name)
    (line, header), rows = parsed[0], parsed[1:]
    twice = next((text for text in header if header.count(text) > 1), None)
    if twice is not None:
        raise InvalidAnnotationError(f"duplicate column {twice!r}", path=name, line=line)
    for line, row in rows:
        if len(row) != len(header):
            message = f"has {len(row)} columns, but the header has {len(header)}: {', '.join(row)!r}"
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
    """Write rows as CSV, with notes in comments above the header; creates the folder if necessary.

    An existing file stays intact until the whole table is written.

    `rows`: texts, numbers, or None for empty fields.
    `notes`: notes; names must not contain a colon.
    `private`: restrict reading to the owner, from the creation of the file on.
    """
    text = io.StringIO(newline="")
    for name, value in notes.items():
        text.write(f"{COMMENT} {name}: {' '.join(str(value).split())}\n")
    plain = csv.writer(text, lineterminator="\n")
    # Quotes distinguish a name that begins like a comment from a comment.
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
