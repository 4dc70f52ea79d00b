"""Tables: files that hold the annotations of many tracks, as sources of one annotation each.

Which layouts there are is told by `_OPENERS`: a format's name, and the function that opens a file of it.
"""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from ..annotations.annotation import Annotation
from ..errors import AnnotationError, InvalidAnnotationError, UnreadableError
from .content import file_stat
from .options import KEYS, TABLES, Reading
from .patterns import Match, Pattern

LISTED = ("labels", "ranking", "judgements")
"""Kinds whose files hold many tracks wherever their path does not name one."""
WHOLE = ("matrix",)
"""Formats that have rows of all items of a collection: those count that the other side asks for."""
ROWS = "rows"
HELD = 2**29
"""Bytes of opened tables that a process keeps."""

_OPENERS = MappingProxyType(
    {
        ROWS: "rowtables:open_rows",
        "run": "trec:open_run",
        "qrels": "trec:open_qrels",
        "lists": "rankings:open_lists",
        "groups": "groups:open_groups",
        "matrix": "matrix:open_matrix",
    }
)


class Key(NamedTuple):
    """What tells the annotations of a table apart; a name is empty where the table has no column for it."""

    track: str
    system: str = ""
    annotator: str = ""


class Keyed(Protocol):
    """Something that is about tracks."""

    @property
    def keys(self) -> Collection[Key]:
        """What it has annotations of, each once, in the order of the file."""
        ...


class Table(Keyed, Protocol):
    """An opened file of many tracks.

    What is wrong with the rows of one track is told by `read`, and spoils no other track.
    """

    @property
    def held(self) -> int:
        """About how many bytes of memory it takes."""
        ...

    def stamp(self, key: Key) -> tuple[int, int]:
        """Size in bytes of what the file says of one key, and a fingerprint of it that fits in 63 bits."""
        ...

    def read(self, key: Key) -> tuple[Annotation, str]:
        """The annotation of one key, and the digest of what the file says of it.

        Raises :class:`mirflow.errors.InvalidAnnotationError` or :class:`mirflow.errors.UnreadableError`.
        """
        ...


class Opener(Protocol):
    """Opens a file of one format; raises what :meth:`Table.read` raises if it is not of it as a whole."""

    def __call__(self, path: str, reading: Reading, name: str) -> Table:
        """The table in the file at `path`, called `name` in messages."""
        ...


@dataclass(frozen=True, slots=True)
class TableSource:
    """The annotation of one track in a file of many.

    Parameters
    ----------
    path : str
        Where the file is.
    key : Key
    reading : Reading
    name : str
        What to call the file in messages; empty: its path.
    found : (int, int) or None
        Size and fingerprint of the track's own rows, where the listing of the file told them.

    Examples
    --------
    >>> TableSource("/data/genres.tsv", Key("a"), Reading.of(task="classification"), "genres.tsv").label
    'genres.tsv [a]'
    """

    path: str
    key: Key
    reading: Reading
    name: str = ""
    found: tuple[int, int] | None = field(default=None, compare=False)

    @property
    def label(self) -> str:
        """The file's name, with what is taken from it in brackets."""
        return f"{self.name or self.path} [{', '.join(filter(None, self.key))}]"

    @property
    def track(self) -> str:
        """What tells it apart from the other annotations of the file."""
        return "/".join(filter(None, self.key))

    @property
    def annotator(self) -> str | None:
        """Who annotated, where the file says so."""
        return self.key.annotator or None

    def stat(self) -> tuple[int, int]:
        """Size of the track's own rows and a fingerprint of them, so that a changed row concerns its track only."""
        return self._table().stamp(self.key) if self.found is None else self.found

    def read(self) -> tuple[Annotation, str]:
        """The annotation, and the digest of the track's own rows."""
        return self._table().read(self.key)

    def _table(self) -> Table:
        return open_table(self.path, self.reading, self.name or self.path)


def holds_tracks(path: str, reading: Reading) -> bool:
    """Whether the files of a path or pattern hold many tracks each.

    They do if their format says so, if a column is declared that holds the track, or if they list labels, ranks or
    judgements and their path has no ``{track}``.

    Examples
    --------
    >>> reading = Reading.of(task="classification")
    >>> holds_tracks("genres.tsv", reading), holds_tracks("genres/{track}.txt", reading)
    (True, False)
    """
    pattern = Pattern(path)
    if pattern.is_pack:
        return False
    format = format_of(path, reading)
    if format in TABLES or "track" in dict(reading.delimited.columns):
        return True
    return reading.kind in LISTED and "track" not in pattern.names and format != "jams"


def format_of(path: str, reading: Reading) -> str:
    """The format of a file, as declared or by its suffix."""
    return reading.format_of(path.rpartition(".")[2])


def open_table(path: str, reading: Reading, name: str) -> Table:
    """The table in a file; this process keeps it as long as the file stays as it is.

    Raises
    ------
    UnreadableError
        If the file is not there or not of its format.
    InvalidAnnotationError
        If it cannot be understood as a whole.
    """
    place = (path, reading, *file_stat(path, name), *_beside(path))
    if place not in _opened:
        try:
            _opened[place] = _open(path, reading, name)
        except AnnotationError as error:
            _opened[place] = error  # every track of the file asks again
        while len(_opened) > 1 and sum(map(_held, _opened.values())) > HELD:
            _opened.popitem(last=False)
    _opened.move_to_end(place)
    table = _opened[place]
    if isinstance(table, AnnotationError):
        raise table.with_traceback(None)
    return table


def _beside(path: str) -> list[tuple[str, int, int]]:
    """What is known of the files that name the items of an array."""
    if not path.endswith(".npy"):
        return []
    return [(str(file), *file_stat(file)) for file in name_files(path) if file.exists()]


def name_files(path: str) -> tuple[Path, Path]:
    """Where the names of the items of an array may stand: beside it under its name, or those of all arrays there.

    Examples
    --------
    >>> [file.as_posix() for file in name_files("a/x.npy")]
    ['a/x.txt', 'a/items.txt']
    """
    return Path(path).with_suffix(".txt"), Path(path).with_name("items.txt")


_opened: OrderedDict[tuple[object, ...], Table | AnnotationError] = OrderedDict()


def _held(table: Table | AnnotationError) -> int:
    return 0 if isinstance(table, AnnotationError) else table.held


def _open(path: str, reading: Reading, name: str) -> Table:
    format = format_of(path, reading)
    module, _, function = _OPENERS.get(format, _OPENERS[ROWS]).partition(":")
    opener: Opener = getattr(importlib.import_module(f"{__package__}.{module}"), function)
    return opener(path, reading, name)


def spread_table(match: Match, reading: Reading, tracks: Collection[str] | None = None) -> list[TableSource]:
    """One source for each annotation in a file that a pattern found.

    Parameters
    ----------
    match : Match
    reading : Reading
    tracks : collection of str or None
        Those that the other side has: of the formats in `WHOLE` no others are taken. None: all are.

    Raises
    ------
    UnreadableError, InvalidAnnotationError
        As `open_table`.
    """
    table = open_table(match.path, reading, match.name)
    asked = set(tracks) if tracks is not None and format_of(match.path, reading) in WHOLE else None
    keys = [key for key in table.keys if asked is None or key.track in asked]
    return [TableSource(match.path, key, reading, match.name, table.stamp(key)) for key in keys]


def demand(table: Keyed, key: Key, name: str) -> None:
    """Raise unless a table has a key: it had it when it was listed.

    Raises
    ------
    UnreadableError
    """
    if not table.keys:
        raise UnreadableError("the file has no rows", path=name)
    if key not in table.keys:
        raise UnreadableError(f"has no rows of {', '.join(filter(None, key))!r}", path=name)


def demand_key(key: Key, name: str, line: int) -> None:
    """Raise if the row on that line names no track.

    Raises
    ------
    InvalidAnnotationError
    """
    if not key.track:
        raise InvalidAnnotationError(f"the row names no track; columns: {', '.join(KEYS)}", path=name, line=line)
