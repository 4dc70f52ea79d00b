"""Delimited text in which a column says which track each row is about."""

from __future__ import annotations

import importlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ...annotations.annotation import Annotation, stack_levels
from ...errors import AnnotationError
from ..columns import are_no_tags, has_numbers
from ..content import decode, demand_no_json, digest_of, read_bytes
from ..delimited import Layout, as_annotation, demand_numbers_read, find_layout, find_separator, is_header, sniff
from ..layouts import SAMPLE, demand_columns, demand_width
from ..options import COLUMNS, KEYS, Reading
from .distance_matrix import name_items
from .table import RowKey, demand, demand_key

_CHECKS: Mapping[str, str] = MappingProxyType(
    {
        "judgements": "..columns:check_listed",
        "following": "..columns:check_listed",
        "labels": "..columns:demand_tag_numbers",
        "ranking": ".rankings:in_order",
    }
)
"""Kind -> ``module:function`` that takes an annotation of one track and the file's name, and returns it or raises."""


_QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True)
class RowTable:
    """A delimited file, its rows grouped by what they are about.

    Parameters
    ----------
    name : str
        What to call the file in messages.
    reading : Reading
    layout : Layout
    header : str
        The line with the names of the columns; empty: there is none.
    rows : mapping of RowKey to list of (int, str)
        Lines with their numbers, counted from 1.
    held : int
    """

    name: str
    reading: Reading
    layout: Layout
    header: str
    rows: Mapping[RowKey, Sequence[tuple[int, str]]]
    held: int

    @property
    def keys(self) -> Collection[RowKey]:
        """What rows are about, in the order of the file."""
        return self.rows.keys()

    def stamp(self, key: RowKey) -> tuple[int, int]:
        """Size in bytes of the rows about a key, and a fingerprint of them and of the header."""
        data = self._data(key)
        return len(data), int(digest_of(data), 16) >> 1

    def read(self, key: RowKey) -> tuple[Annotation, str]:
        """The annotation that the rows about a key make, and the digest of them and of the header."""
        rows = [(number, self.layout.split(line)) for number, line in self._lines(key)]
        attrs = {"source": self.name}
        options = self.reading.delimited
        if has_numbers(self.reading) and are_no_tags(self.reading.kind, rows, self.layout):
            rows = []
        if not self.header and not options.columns:
            demand_width(rows, self.reading.kind, self.reading.task, max(self.layout.places.values()) + 1, self.name)
        kind = "intervals" if self.reading.kind == "hierarchy" else self.reading.kind
        annotation = as_annotation(kind, rows, self.layout, options, attrs, self.name)
        if self.reading.kind == "hierarchy":
            annotation = stack_levels([annotation])
        if self.reading.kind in _CHECKS:
            module, _, function = _CHECKS[self.reading.kind].partition(":")
            annotation = getattr(importlib.import_module(module, __package__), function)(annotation, self.name)
        return annotation, digest_of(self._data(key))

    def _lines(self, key: RowKey) -> Sequence[tuple[int, str]]:
        demand(self, key, self.name)
        return self.rows[key]

    def _data(self, key: RowKey) -> bytes:
        return "\n".join([self.header, *(line for _, line in self._lines(key))]).encode()


def open_rows(path: str, reading: Reading, name: str) -> RowTable:
    """The table in a delimited file.

    Parameters
    ----------
    path : str
    reading : Reading
        Its columns are those of the kind, and ``track``, ``system`` and ``annotator``. Where none are declared and
        there is no header, the track comes first.
    name : str
        What to call the file in messages.

    Raises
    ------
    UnreadableError
        If the file is not there, too large or not text.
    InvalidAnnotationError
        If a column is not there, or a row names no track.
    """
    if reading.kind not in COLUMNS:
        raise AnnotationError(f"files of many tracks can hold {', '.join(COLUMNS)}, not {reading.kind}", path=name)
    options = reading.delimited
    data = read_bytes(path, reading.max_bytes, name)
    demand_no_json(data, name)
    numbered = enumerate(decode(data, name, options.encoding).split("\n"), 1)
    lines = [(number, line) for number, line in numbered if line.strip()]
    if options.comment:
        lines = [(number, line) for number, line in lines if not line.lstrip().startswith(options.comment)]
    if not lines:
        return RowTable(name, reading, Layout({}, "\t", -1), "", {}, 0)
    number, first = lines[0]
    kind, task = reading.kind, reading.task
    separator = find_separator(first, reading.format_of(path.rpartition(".")[2]), options)
    separator = separator or _separator(first, kind)
    layout, has_header = find_layout(first, kind, separator, options, name, number, task=task, keyed=True)
    if has_header and has_numbers(reading):
        demand_numbers_read(lines, kind, layout, options, name)
    elif not has_header and not options.columns:
        some = [(number, layout.split(line)) for number, line in lines[:SAMPLE]]
        demand_columns(some, kind, task, max(layout.places.values()) + 1, name)
    rows = _without_folders(group_rows(lines[has_header:], layout, name))
    # Text, its lines as objects, and the pairs and lists that hold them.
    return RowTable(name, reading, layout, first if has_header else "", rows, len(data) + 200 * len(lines))


def group_rows(lines: Sequence[tuple[int, str]], layout: Layout, name: str) -> dict[RowKey, list[tuple[int, str]]]:
    """Lines with their numbers by what they are about.

    Raises
    ------
    InvalidAnnotationError
        If a row names no track.

    Examples
    --------
    >>> groups = group_rows([(1, "a,jazz"), (2, "b,rock")], Layout({"track": 0, "label": 1}, ",", 1), "genres.csv")
    >>> [key.track for key in groups]
    ['a', 'b']
    """
    places = [layout.places.get(name) for name in KEYS]
    groups: dict[RowKey, list[tuple[int, str]]] = {}
    for number, line in lines:
        fields = layout.split(line)
        key = RowKey(*("" if place is None or place >= len(fields) else fields[place] for place in places))
        demand_key(key, name, number)
        groups.setdefault(key, []).append((number, line))
    return groups


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


def _separator(first: str, kind: str) -> str:
    """What separates the columns of a file whose suffix does not tell, by its first row."""
    if "\t" in first:
        return "\t"
    bare = _QUOTED.sub("", first).strip()
    for separator in (",", ";"):
        if separator in bare and (" " not in bare or is_header(first.split(separator), kind, keyed=True)):
            return separator
    return sniff(first)
