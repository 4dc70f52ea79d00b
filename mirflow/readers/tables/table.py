"""Files with the annotations of many tracks: how they are recognized, opened and cached, and the source of each track.

Each format extends `TrackTable`; one that reads a file track by track extends `SpanTable`, which knows the bytes of
each track's rows. The rows of a track may be in several files, whose sources are joined.
"""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ...annotations.annotation import Annotation
from ...annotations.schema import KINDS
from ...annotations.source import Source
from ...errors import AnnotationError, InvalidAnnotationError, UnreadableError, problems_of, together
from ..content import TWO_BYTES, digest_of, file_stat, opened
from ..doubts import demand_one_subject
from ..formats import FORMATS, TABLES, WHOLE, load_reader
from ..label_maps import in_normal_form
from ..layouts import SEPARATING, heading
from ..options import Reading
from ..patterns import Match, Pattern
from ..remedies import read_advised, with_advice

ARRAYS = (".npy", ".npz")
"""Suffixes of numpy files."""
HELD = 2**29
"""Limit of the memory of open tables that a process caches, in bytes."""

_ROWS, _TAGS = ".tables.rows:open_rows", ".tables.matrices:open_tags"


class RowKey(NamedTuple):
    """Track, system and annotator of an annotation; empty if the table has no such column."""

    track: str
    system: str = ""
    annotator: str = ""


def demand_one_key(
    column: str, rows: Mapping[RowKey, Sequence[tuple[int, str]]], columns: Mapping[str, str], name: str
) -> None:
    """Raise if the rows of a track name several systems, annotators or the like, in a column that is not declared.

    `rows` (mapping of RowKey to sequence of (int, str)): line and value of each row. `columns`: the columns that are
    read, for the message.
    """
    role = SEPARATING[heading(column)]
    named = {"track": columns["track"], **({role: column} if role else {}), **columns}
    declared = ", ".join(f"{one}: {where}" for one, where in named.items())
    remedy = f"declare columns: {{{declared}}}" if role else ""
    for key, values in rows.items():
        demand_one_subject(column, values, name, track=key.track, remedy=remedy)


class TrackTable:
    """An open file of many tracks.

    Invalid rows of one track raise an error when it is read and do not affect other tracks.
    """

    name: str
    """Name of the file in messages."""
    head: bytes = b""
    """Hash of the parts of the file that all annotations depend on."""

    of_key: Mapping[RowKey, Any]
    """Rows of each annotation, or their positions, in file order."""

    @property
    def held(self) -> int:
        """About how many bytes of memory it takes."""
        return 500 * len(self.of_key)

    def data(self, key: RowKey) -> bytes:
        """The bytes of one key."""
        raise NotImplementedError

    def annotation(self, key: RowKey, data: bytes) -> Annotation:
        """The annotation of one key."""
        raise NotImplementedError

    def stamp(self, key: RowKey) -> tuple[int, int]:
        """Number of bytes of one key, and a hash of them that fits in 63 bits."""
        data = self.data(key)
        return len(data), int(digest_of(self.head + data), 16) >> 1

    def read(self, key: RowKey) -> tuple[Annotation, str]:
        """The annotation of one key, and the digest of its bytes."""
        data = self.data(key)
        return self.annotation(key, data), digest_of(self.head + data)

    def joined(self, others: Sequence[TrackTable], key: RowKey) -> TrackTable:
        """The table of the rows of a key in this and other files, in order; raise if the format has no such tables."""
        files = ", ".join(one.name for one in (self, *others))
        message = f"all rows of track {key.track!r} must be in the same file, not in several: {files}"
        raise InvalidAnnotationError(message)

    def demand(self, key: RowKey) -> None:
        """Raise unless the file has a key; it may have changed since it was listed."""
        if not self.of_key:
            raise UnreadableError("the file has no rows", path=self.name)
        if key not in self.of_key:
            raise UnreadableError(f"has no rows of {', '.join(filter(None, key))!r}", path=self.name)


@dataclass(frozen=True, slots=True)
class TableSource(Source):
    """The annotation of one track in a file of many."""

    path: str
    key: RowKey
    reading: Reading
    name: str = ""
    """Name of the file in messages; defaults to its path."""
    found: tuple[int, int] | None = field(default=None, compare=False)
    """Size and hash of the track's rows, if known from listing the file."""

    @property
    def label(self) -> str:
        """The file's name, with the key in brackets."""
        return f"{self.name or self.path} [{', '.join(filter(None, self.key))}]"

    @property
    def track(self) -> str:
        """Track, system and annotator, unique in the file."""
        return "/".join(filter(None, self.key))

    @property
    def annotator(self) -> str | None:
        """The annotator, if the file has a column for it."""
        return self.key.annotator or None

    def table(self, reading: Reading) -> TrackTable:
        """Open the table by a reading."""
        return open_table(self.path, reading, self.name or self.path)

    def stat(self) -> tuple[int, int]:
        """Size and hash of the track's rows, so that a changed row affects only its track."""
        return self.table(self.reading).stamp(self.key) if self.found is None else self.found

    def read(self, reading: Reading | None = None) -> tuple[Annotation, str]:
        """The annotation, and the digest of the track's rows; messages have the remedies that work.

        By a given `reading`, with which remedies are tried, messages have all of them.
        """
        if reading is None:
            return read_advised(self.read, self.reading)
        annotation, digest = self.table(reading).read(self.key)
        return in_normal_form(annotation, reading.labels), digest


@dataclass(frozen=True, slots=True)
class ShardedSource(TableSource):
    """The annotation of one track whose rows are in several files, as in one file with the rows of all."""

    shards: tuple[TableSource, ...] = ()
    """The rows in each file."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files with its rows."""
        return tuple(source.path for source in self.shards)

    def table(self, reading: Reading) -> TrackTable:
        """Open the rows of the track in all files as one table."""
        first, *others = (source.table(reading) for source in self.shards)
        return first.joined(others, self.key)


SHARD = "shard"
"""Placeholder for the parts of a table in several files."""


def join_shards(found: Iterable[tuple[TableSource, dict[str, str]]]) -> list[tuple[TableSource, dict[str, str]]]:
    """Join the sources whose files differ only in ``{shard}``, in the order of the shards.

    `found` (iterable of (TableSource, dict of str to str)): sources with the values of placeholders and keys. Returns
    list of (TableSource, dict of str to str): without the values of ``{shard}``.
    """
    parts: dict[tuple[tuple[str, str], ...], list[tuple[str, TableSource]]] = {}
    for source, values in found:
        others = {name: value for name, value in values.items() if name != SHARD}
        parts.setdefault(tuple(others.items()), []).append((values.get(SHARD, ""), source))
    joined = []
    for apart, own in parts.items():
        shards = tuple(source for _, source in sorted(own, key=lambda one: (len(one[0]), one[0])))
        first = shards[0]
        whole = ShardedSource(first.path, first.key, first.reading, first.name, shards=shards)
        joined.append((whole if len(shards) > 1 else first, dict(apart)))
    return joined


def holds_tracks(path: str, reading: Reading) -> bool:
    """True if the files of a path or pattern hold many tracks each.

    They do in certain formats, if a column of tracks is declared, or if they list labels, ranks or judgements and
    their path has no ``{track}``.
    """
    pattern = Pattern(path)
    if pattern.is_pack:
        return False
    format = reading.format_of(path)
    if format in TABLES or "track" in dict(reading.delimited.columns):
        return True
    listed = KINDS[reading.kind].listed or bool(format in FORMATS and FORMATS[format].table)
    return listed and "track" not in pattern.names and format != "jams"


def is_table(path: Path, reading: Reading) -> bool:
    """True if a file holds many tracks; of formats that may also hold one, only if a column names the tracks."""
    if not holds_tracks(path.name, reading):
        return False
    declared = FORMATS.get(reading.format_of(path.name))
    if declared is None or not (declared.table and declared.parser):
        return True
    try:
        open_table(str(path), reading, str(path))
    except InvalidAnnotationError:  # also if other columns are unclear, which the parser reports
        return False
    return True


def open_table(path: str, reading: Reading, name: str) -> TrackTable:
    """Open the table in a file; it is cached until the file changes."""
    beside: list[Path] = []  # what names the rows and columns of an array
    if path.lower().endswith(ARRAYS):
        beside = [*chain.from_iterable(name_files(path))]
    stats = ((str(file), *file_stat(file)) for file in beside if file.exists())
    place = (path, reading, *file_stat(path, name), *stats)
    if place not in _opened:
        try:
            _opened[place] = _open(path, reading, name)
        except AnnotationError as error:
            # Kept, as the file is opened again for every track.
            def read_first(changed: Reading) -> tuple[Annotation, str]:
                table = _open(path, changed, name)
                if not table.of_key:
                    raise UnreadableError("has no rows", path=table.name)
                return table.read(next(iter(table.of_key)))

            _opened[place] = with_advice(error, reading, read_first)
        while len(_opened) > 1 and sum(getattr(one, "held", 0) for one in _opened.values()) > HELD:
            _opened.popitem(last=False)
    _opened.move_to_end(place)
    table = _opened[place]
    if isinstance(table, AnnotationError):
        raise table.with_traceback(None)
    return table


def name_files(path: str) -> list[tuple[Path, ...]]:
    """Files next to an array that may name its items, its tracks, and its tags.

    They have the name of the array, or are common to all arrays in the folder.
    """
    own, folder = Path(path).with_suffix(""), Path(path).parent
    files: list[tuple[Path, ...]] = [(Path(path).with_suffix(".txt"), folder / "items.txt")]
    for names in (("tracks.txt", "tracks.tsv"), ("tags.txt",)):
        files.append((*(own.with_name(f"{own.name}.{name}") for name in names), *(folder / name for name in names)))
    return files


_opened: OrderedDict[tuple[object, ...], TrackTable | AnnotationError] = OrderedDict()


def _open(path: str, reading: Reading, name: str) -> TrackTable:
    if reading.kind == "labels" and path.lower().endswith(ARRAYS):
        address = _TAGS
    else:
        declared = FORMATS.get(reading.format_of(path))
        address = (declared and declared.table) or _ROWS
    table: TrackTable = load_reader(address)(path, reading, name)
    return table


def spread_table(match: Match, reading: Reading, tracks: Collection[str] | None = None) -> list[TableSource]:
    """One source for each annotation in a file that matches a pattern.

    For formats in `WHOLE`, only the `tracks` of the other side are kept, if given.
    """
    table = open_table(match.path, reading, match.name)
    wanted = set(tracks) if tracks is not None and reading.format_of(match.path) in WHOLE else None
    keys = [key for key in table.of_key if wanted is None or key.track in wanted]
    return [TableSource(match.path, key, reading, match.name, table.stamp(key)) for key in keys]


def spread_tables(path: str, reading: Reading) -> dict[str, TableSource]:
    """Sources by track in the files of many tracks that match a path or pattern."""
    matcher = Pattern(path.lstrip("/"))
    root = "/" if path.startswith("/") else "."
    matches = [match._replace(name=match.path) for match in matcher.find(root)]
    if not matches:
        raise AnnotationError(f"the pattern {matcher.text!r} matches nothing; {matcher.hint(root)}")
    tables: list[tuple[TableSource, dict[str, str]]] = []

    def spread(match: Match) -> None:
        values = dict(zip(matcher.names, match.values, strict=True))
        tables.extend((source, {**values, **source.key._asdict()}) for source in spread_table(match, reading))

    problems = problems_of(matches, spread)
    if problems:
        raise together([*problems, *problems_of([source for source, _ in tables], TableSource.read)])
    sources: dict[str, TableSource] = {}
    for source, _ in join_shards(tables) if SHARD in matcher.names else tables:
        if source.key.track in sources:
            both = f"{sources[source.key.track].label} and {source.label}"
            raise AnnotationError(f"track {source.key.track!r} has two annotations: {both}")
        sources[source.key.track] = source
    if not sources:
        raise AnnotationError("has no rows with a track", path=matches[0].path)
    return sources


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive rows."""

    start: int
    stop: int
    """End of the rows, as `start` a position in bytes."""
    line: int
    """Number of the first line, counted from 1."""
    lines: int
    """Number of lines, including comments and blank lines."""


@dataclass(frozen=True)
class SpanTable(TrackTable):
    """A file that is read one key at a time."""

    path: str
    name: str
    reading: Reading
    """Reading whose ``max_bytes`` limits the rows of one key."""
    of_key: Mapping[RowKey, list[Span]]

    @property
    def held(self) -> int:
        """About how many bytes of memory it takes."""
        return sum(400 + 100 * len(spans) for spans in self.of_key.values())

    def data(self, key: RowKey) -> bytes:
        """The bytes of the rows of a key."""
        self.demand(key)
        spans, most = self.of_key[key], self.reading.max_bytes
        size = sum(span.stop - span.start for span in spans)
        if size > most:
            limit = f"{size / 2**20:.0f} MB of {key.track!r} are over the limit of {most / 2**20:.0f} MB"
            raise UnreadableError(f"too large: {limit} (max_bytes raises it)", path=self.name)
        parts = []
        with opened(self.path, self.name) as file:
            for span in spans:
                file.seek(span.start)
                parts.append(file.read(span.stop - span.start))
        return b"".join(parts)

    def numbered(self, key: RowKey, text: str) -> Iterator[tuple[int, str]]:
        """The lines of the text of a key, with their numbers in the file."""
        lines = iter(text.split("\n"))
        for span in self.of_key[key]:
            for number in range(span.line, span.line + span.lines):
                yield number, next(lines, "")

    def stamp(self, key: RowKey) -> tuple[int, int]:
        """Size of the rows of a key in bytes, and a hash of them and of the head."""
        data = self.data(key)
        # Two checksums together are reliable, and take a third of the time of a digest.
        mixed = zlib.crc32(data, zlib.crc32(self.head)) << 31 ^ zlib.adler32(data)
        return len(data), mixed & (2**63 - 1)


class SameLine(Sequence[int]):
    """Line numbers of items on the same line."""

    __slots__ = ("line", "size")

    def __init__(self, line: int, size: int) -> None:
        self.line = line
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return SameLine(self.line, len(range(self.size)[place]))
        if not -self.size <= place < self.size:
            raise IndexError(place)
        return self.line


def demand_line_ends(line: bytes, name: str, number: int) -> None:
    """Raise if a line contains carriage returns: only the first of its lines would be found."""
    at = line.find(b"\r")
    if at >= 0 and line[at:].strip():
        message = "lines end with a carriage return alone; convert them to end with a line feed"
        raise UnreadableError(message, path=name, line=number)


def index_rows(
    path: str, name: str, key_of: Callable[[bytes, int], RowKey | None], start: int = 0, line: int = 1
) -> dict[RowKey, list[Span]]:
    """Index the rows of each key of a file.

    `key_of` maps a line and its number to its key, or to None if it is not a row. `start` and `line` are the position
    and the number of the first line.
    """
    found: dict[RowKey, list[Span]] = {}
    current: RowKey | None = None
    begin = first = stop = last = 0
    end = start
    with opened(path, name) as file:
        file.seek(start)
        for number, text in enumerate(file, line):
            before, end = end, end + len(text)
            if not before and text.startswith(TWO_BYTES):
                raise UnreadableError("is UTF-16; a file of many tracks in this format must be UTF-8", path=name)
            demand_line_ends(text, name, number)
            key = key_of(text, number)
            if key is None:
                continue
            if key != current:
                if current is not None:
                    found.setdefault(current, []).append(Span(begin, stop, first, last - first + 1))
                current, begin, first = key, before, number
            stop, last = end, number
    if current is not None:
        found.setdefault(current, []).append(Span(begin, stop, first, last - first + 1))
    return found
