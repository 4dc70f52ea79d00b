"""Delimited text with a column for the track of each row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...annotations.annotation import Annotation
from ...annotations.schema import KINDS, Kind
from ...errors import AnnotationError, InvalidAnnotationError
from ..content import decode, demand_no_json, read_bytes
from ..delimited import (
    Layout,
    demand_numbers_read,
    find_layout,
    find_separator,
    finish,
    has_numbers,
    number_lines,
    sniff,
)
from ..layouts import SAMPLE, demand_columns, demand_width, is_header
from ..options import COLUMNS, KEYS, Reading
from .distance_matrix import name_items
from .table import RowKey, TrackTable

_QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True)
class RowTable(TrackTable):
    """A delimited file, its rows grouped by what they are about.

    Parameters
    ----------
    header : str
        The line with the names of the columns; empty: there is none.
    of_key : mapping of RowKey to list of (int, str)
        Lines with their numbers, counted from 1.
    size : int
        About how many bytes it takes.
    """

    name: str
    layout: Layout
    header: str
    of_key: Mapping[RowKey, Sequence[tuple[int, str]]]
    size: int

    @property
    def held(self) -> int:
        """About how many bytes of memory it takes."""
        return self.size

    def data(self, key: RowKey) -> bytes:
        """The rows about a key, under the header."""
        self.demand(key)
        return "\n".join([self.header, *(line for _, line in self.of_key[key])]).encode()

    def annotation(self, key: RowKey, data: bytes) -> Annotation:
        """The annotation that the rows about a key make."""
        layout, reading, kind = self.layout, self.layout.reading, KINDS[self.layout.reading.kind]
        rows = [(number, layout.split(line)) for number, line in self.of_key[key]]
        if has_numbers(reading) and kind.recognised and kind.listed and _name_track_alone(rows, layout):
            rows = []
        if layout.usual:
            demand_width(rows, layout.kind, reading.task, layout.width, self.name)
        return finish(layout.annotation(rows, {"source": self.name}), reading, self.name)


def open_rows(path: str, reading: Reading, name: str) -> RowTable:
    """The table in a delimited file.

    Parameters
    ----------
    reading : Reading
        Its columns are those of the kind, and ``track``, ``system`` and ``annotator``. Where none are declared and
        there is no header, the track comes first.
    name : str
        Name of the file in messages.
    """
    if reading.kind not in COLUMNS:
        raise AnnotationError(f"files of many tracks can hold {', '.join(COLUMNS)}, not {reading.kind}", path=name)
    options = reading.delimited
    data = read_bytes(path, reading.max_bytes, name)
    demand_no_json(data, name)
    lines = number_lines(decode(data, name, options.encoding), options.comment)
    if not lines:
        return RowTable(name, Layout(KINDS[reading.kind], reading, name, "\t", {}, -1, None), "", {}, 0)
    number, first = lines[0]
    separator = find_separator(first, reading.format_of(path), options)
    separator = separator or _separator(first, KINDS[reading.kind])
    layout = find_layout(first, number, reading, separator, name, keyed=True)
    has_header = layout.header is not None
    if has_header and has_numbers(reading):
        demand_numbers_read(lines, layout)
    if layout.usual:
        some = [(number, layout.split(line)) for number, line in lines[:SAMPLE]]
        demand_columns(some, layout.kind, reading.task, layout.width, name)
    rows = _without_folders(group_rows(lines[has_header:], layout, name))
    # Text, its lines as objects, and the pairs and lists that hold them.
    return RowTable(name, layout, first if has_header else "", rows, len(data) + 200 * len(lines))


def group_rows(lines: Sequence[tuple[int, str]], layout: Layout, name: str) -> dict[RowKey, list[tuple[int, str]]]:
    """Lines with their numbers by what they are about.

    Examples
    --------
    >>> layout = find_layout("a,jazz", 1, Reading.of("classification"), ",", "genres.csv", keyed=True)
    >>> [key.track for key in group_rows([(1, "a,jazz"), (2, "b,rock")], layout, "genres.csv")]
    ['a', 'b']
    """
    places = [layout.places.get(name) for name in KEYS]
    groups: dict[RowKey, list[tuple[int, str]]] = {}
    for number, line in lines:
        fields = layout.split(line)
        key = RowKey(*("" if place is None or place >= len(fields) else fields[place] for place in places))
        if not key.track:
            raise InvalidAnnotationError(f"the row names no track; columns: {', '.join(KEYS)}", path=name, line=number)
        groups.setdefault(key, []).append((number, line))
    return groups


def _name_track_alone(rows: Sequence[tuple[int, Sequence[str]]], layout: Layout) -> bool:
    """True if a track has no tags: its only row names nothing but the track."""
    if len(rows) != 1:
        return False
    fields = rows[0][1]
    places = (place for column, place in layout.places.items() if column not in KEYS)
    return not any(fields[place] for place in places if place < len(fields))


def _without_folders(rows: dict[RowKey, list[tuple[int, str]]]) -> dict[RowKey, list[tuple[int, str]]]:
    """The same with the names of tracks for their paths, which MIREX's lists have; as it is where no name is a path.

    Examples
    --------
    >>> list(_without_folders({RowKey("/audio/x.wav"): [(1, "/audio/x.wav\\tjazz")]}))
    [RowKey(track='x', system='', annotator='')]
    """
    paths = list(dict.fromkeys(key.track for key in rows))
    if not any("/" in path or "\\" in path for path in paths):
        return rows
    named = dict(zip(paths, name_items(paths), strict=True))
    return {key._replace(track=named[key.track]): lines for key, lines in rows.items()}


def _separator(first: str, kind: Kind) -> str:
    """The separator of the columns of a file with any suffix, by its first row."""
    if "\t" in first:
        return "\t"
    bare = _QUOTED.sub("", first).strip()
    for separator in (",", ";"):
        if separator in bare and (" " not in bare or is_header(first.split(separator), kind, keyed=True)):
            return separator
    return sniff(first)
