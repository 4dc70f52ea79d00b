"""Queries drawn from a collection at random, or as many from each genre; clips of recordings; CSV tables of grading.

Other modules of grading read and write their tables by functions from here. Comments above the header of a table are
notes, such as the seed of a draw.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ...analysis.lookup import Column, holds
from ...errors import GradingError, InvalidAnnotationError, UnreadableError, counted, suggest
from ...pipeline.load import typed
from ...readers.content import decode, read_bytes
from ...readers.delimited import find_separator
from ...readers.options import MAX_BYTES, DelimitedOptions

COMMENT = "#"
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # first characters of texts that spreadsheets interpret as formulas


@dataclass(frozen=True, slots=True)
class CsvTable:
    """Rows of texts with named columns."""

    name: str  # name of the file for messages
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # rows with a field for every column, stripped of whitespace
    lines: tuple[int, ...]  # line numbers of the rows in the file, from 1
    # Contents of the comments above the header, such as ``# seed: 7``.
    notes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

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
        stripped = ((start + reader.line_num, [text.strip() for text in row]) for row in reader)
        parsed = [(line, row) for line, row in stripped if any(row)]
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


# Possible names of the column with pieces, most likely first.
NAMES = ("piece", "track", "track_id", "item", "query", "candidate", "song", "file", "path", "id")
_COUNT = re.compile(r"0*[1-9][0-9]{0,8}")


@dataclass(frozen=True)
class PieceTable:
    """The pieces of a collection with their metadata."""

    table: CsvTable
    key: str  # column with the names of the pieces

    @property
    def names(self) -> list[str]:
        """Names of the pieces, in the order of the table."""
        return self.table.column(self.key)

    def values(self, column: str) -> dict[str, str]:
        """Return the values of a column by piece; empty if missing."""
        return dict(zip(self.names, self.table.column(column), strict=True))

    def chosen(self, expression: str) -> set[str]:
        """Select pieces by an expression over the columns, such as ``genre == 'Rock' and year < 1980``."""
        columns: dict[str, Column] = {}
        for name in self.table.columns:
            texts = self.table.column(name)
            values = typed(texts)
            # Numbers if all values that are not empty are numbers, else texts.
            if all(value is None or isinstance(value, int | float) for value in values) and any(texts):
                columns[name] = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
            else:
                columns[name] = np.array(texts, dtype=np.str_)
        mask = holds(expression, columns, len(self.names))
        return {name for name, chosen in zip(self.names, mask.tolist(), strict=True) if chosen}


def read_pieces(path: str | os.PathLike[str], key: str | None = None) -> PieceTable:
    """Read a table with one piece per row.

    `key`: column with the names of the pieces; None: the first of `NAMES` in the table.
    """
    table = read_table(path)
    column = key or next((name for name in NAMES if name in table.columns), None)
    if column is None:
        message = f"no column with names of pieces: name it {NAMES[0]}, or choose from {', '.join(table.columns)}"
        raise InvalidAnnotationError(message, path=table.name)
    first: dict[str, int] = {}
    for line, name in zip(table.lines, table.filled(column), strict=True):
        if name in first:
            message = f"{name!r} occurs twice, first on line {first[name]}"
            raise InvalidAnnotationError(message, path=table.name, line=line)
        first[name] = line
    return PieceTable(table, column)


def read_each(text: str) -> int | dict[str, int]:
    """Parse the number of queries per value of a column: one number, or one for each value.

    Examples
    --------
    >>> read_each("10"), read_each("Essen=6, RISM=5")
    (10, {'Essen': 6, 'RISM': 5})
    """
    if _COUNT.fullmatch(text.strip()):
        return int(text)
    pairs = [(value.strip(), number.strip()) for value, _, number in (part.rpartition("=") for part in text.split(","))]
    if not all(value and _COUNT.fullmatch(number) for value, number in pairs):
        raise GradingError(f"{text!r} is neither a number from 1 nor VALUE=NUMBER,...")
    numbers = {value: int(number) for value, number in pairs}
    if len(numbers) < len(pairs):
        raise GradingError(f"duplicate value in {text!r}: expected a form like Essen=6,RISM=5")
    return numbers


def draw(
    pieces: PieceTable,
    number: int | None = None,
    *,
    each: int | Mapping[str, int] | None = None,
    by: str | None = None,
    seed: int = 0,
    where: str | None = None,
    exclude: Collection[str] = (),
) -> list[str]:
    """Draw queries from a collection without replacement.

    `number`: number of queries to draw at random.
    `each`: number of queries per value of the column `by`, instead of `number`; a mapping gives it for each value.
      Pieces without a value, or with a value missing from the mapping, are not drawn.
    `by`: a column, such as ``genre``.
    Returns: in the order of the table, so that the order reveals nothing. The selection does not depend on the order of
      rows.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010:
    60 queries at random in AMS 2006, 6, 5 and 6 of three collections in SMS 2006 (section 4.2), ten of each of ten
    genres in AMS 2007 (section 4.3).
    """
    if (number is None) == (each is None) or (each is None) != (by is None):
        raise GradingError("give the number of queries, or the number per value of a column")
    names = pieces.names
    known = set(names)
    unknown = next((name for name in exclude if name not in known), None)
    if unknown is not None:
        raise GradingError(f"cannot leave out {unknown!r}: not a piece of {pieces.table.name}")
    free = (pieces.chosen(where) if where else known) - set(exclude)
    values = pieces.values(by) if by is not None else dict.fromkeys(names, "")
    groups: dict[str, list[str]] = {}
    for name in sorted(free):
        if by is None or values[name]:
            groups.setdefault(values[name], []).append(name)
    if not groups:
        raise GradingError(f"no pieces left to draw from {pieces.table.name}")
    if isinstance(each, Mapping):
        unknown = next((value for value in each if value not in groups), None)
        if unknown is not None:
            raise GradingError(f"no piece to draw from has the {by} {unknown!r}; {suggest(unknown, groups)}")
        wanted = dict(each)
    else:
        wanted = dict.fromkeys(groups, number if number is not None else each or 0)
    rng = np.random.default_rng(seed)
    drawn: set[str] = set()
    for value, many in sorted(wanted.items()):
        group = groups[value]
        if many < 1:
            raise GradingError(f"invalid number of queries {many}: expected at least one")
        if len(group) < many:
            of = f" of {by} {value!r}" if by is not None else ""
            raise GradingError(f"{counted(len(group), 'piece')}{of} to draw {many} from: draw fewer, or leave it out")
        drawn |= {group[place] for place in rng.choice(len(group), many, replace=False).tolist()}
    return [name for name in names if name in drawn]


def write_queries(
    pieces: PieceTable,
    names: Sequence[str],
    path: str | os.PathLike[str],
    *,
    drawn_from: str,
    seed: int,
    each: int | Mapping[str, int] | None = None,
    by: str | None = None,
    where: str | None = None,
) -> None:
    """Write the rows of some pieces with their names first, as ``query``, and notes on how they were drawn."""
    many = ", ".join(f"{value}={number}" for value, number in each.items()) if isinstance(each, Mapping) else each
    drawn = {"seed": seed, "drawn from": drawn_from, "of each": f"{many} by {by}" if by else None, "where": where}
    notes = {name: value for name, value in drawn.items() if value not in (None, "")}
    others = [column for column in pieces.table.columns if column not in (pieces.key, "query")]
    columns = [pieces.values(column) for column in others]
    rows = [(name, *(values[name] for values in columns)) for name in names]
    write_table(path, ["query", *others], rows, notes)


def read_queries(path: str | os.PathLike[str]) -> list[str]:
    """Read the queries in a table in order; see `read_pieces` for the names of their column."""
    table = read_table(path)
    return read_pieces(path, "query" if "query" in table.columns else None).names


def read_names(path: str | os.PathLike[str]) -> list[str]:
    """Read names of pieces from a table, or from a file with one name per line."""
    table = read_table(path)
    if len(table.columns) == 1 and table.columns[0] not in NAMES:
        return [table.columns[0], *table.column(table.columns[0])]
    return read_pieces(path).names


_BLOCK = 65536  # frames to copy at a time


def clip(recording: Path, output: Path, seconds: float) -> float:
    """Write the middle of a recording, or all of a shorter one, in the format of the suffix of `output`.

    `recording`: any format that libsndfile reads.
    Returns: start of the clip in the recording, in seconds.

    References
    ----------
    J. S. Downie et al., "The Music Information Retrieval Evaluation eXchange: some observations and insights", 2010,
    section 4.3: clips of 30 seconds in AMS 2007, so that graders listen to what the systems were given.
    """
    import soundfile

    if output.exists() and output.samefile(recording):
        raise GradingError(f"{output} is the recording itself: choose another folder")
    try:
        source = soundfile.SoundFile(recording)
    except (OSError, soundfile.SoundFileError) as error:
        raise UnreadableError(f"cannot read the recording: {error}", path=recording) from None
    with source:
        wanted = min(round(seconds * source.samplerate), source.frames)
        start = (source.frames - wanted) // 2
        source.seek(start)
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            with soundfile.SoundFile(output, "w", source.samplerate, source.channels) as written:
                for at in range(0, wanted, _BLOCK):
                    written.write(source.read(min(_BLOCK, wanted - at)))
        except (OSError, TypeError, ValueError, soundfile.SoundFileError) as error:
            raise GradingError(f"cannot write {output}: {error}") from None
        return float(start / source.samplerate)
