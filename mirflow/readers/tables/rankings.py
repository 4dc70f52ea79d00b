"""Rankings in text: lists of items, runs and relevance judgements of TREC, and groups of items.

In groups, such as cliques of covers or pieces of one genre, items are relevant to each other. The query itself, and
items with the same value in a declared column, can be left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...annotations.annotation import Annotation, CodedLabels
from ...annotations.arrays import is_number
from ...annotations.schema import KINDS
from ...errors import InvalidAnnotationError, UnreadableError
from ...ragged import Int
from ...theory.text_form import normal_form
from ..content import decode, digest_of, opened, read_bytes
from ..delimited import find_place, find_separator, number_lines, split_line
from ..layouts import is_known
from ..options import Reading
from ..ranks import demand_numbers, order_by_score
from .table import RowKey, SameLine, SpanTable, TrackTable, index_rows

_HEADINGS_OF_GROUPS = {
    "track": ("track", "track_id", "item", "query", "piece", "song", "song_id", "file", "filename", "path", "id"),
    "label": ("group", "clique", "work", "set", "cover_set", "label", "class", "genre", "mood", "artist"),
}
_NO_GROUP = -1
_NAMED = re.compile(r"(\S+):\s+(.*)")


@dataclass(frozen=True)
class ListTable(SpanTable):
    """A file with a list of items for each query, one per line."""

    delimiter: str | None

    def annotation(self, key: RowKey, data: bytes) -> Annotation:
        """The list of a query."""
        numbered = self.numbered(key, decode(data, self.name, self.reading.delimited.encoding))
        rows = [(number, line) for number, line in numbered if line.strip()]
        (line, text), others = rows[0], rows[1:]
        if others:
            message = f"query {key.track!r} occurs twice, first on line {line}"
            raise InvalidAnnotationError(message, path=self.name, line=others[0][0])
        items = split_list(text, self.delimiter)[1:]
        return Annotation("ranking", {}, items, lines=SameLine(line, len(items)), attrs={"source": self.name})


def open_lists(path: str, reading: Reading, name: str) -> ListTable:
    """Open a file of the format ``lists``: each line has a query and its items, by rank."""
    options, delimiter = reading.delimited, reading.delimited.separator
    format = path.rpartition(".")[2].lower()
    if delimiter is None and format in ("csv", "tsv"):  # of other files it is found for each line
        with opened(path, name) as file:
            first = next((line for line in file if line.strip()), b"")
        delimiter = find_separator(first.decode(options.encoding, "replace"), format, options)
    comment = options.comment.encode()

    def key_of(line: bytes, number: int) -> RowKey | None:
        if not line.strip() or (comment and line.lstrip().startswith(comment)):
            return None
        try:
            text = line.decode(options.encoding).removeprefix("\ufeff")
        except UnicodeDecodeError:
            raise UnreadableError(f"line {number} is not {options.encoding}; declare its encoding", path=name) from None
        query, *items = split_list(text, delimiter)
        kind = KINDS[reading.kind]
        if number == 1 and items and all(is_known(field, kind, keyed=True) for field in (query, items[0])):
            message = f"lists have no header: remove it, or declare another format: {text.strip()!r}"
            raise InvalidAnnotationError(message, path=name, line=number)
        return RowKey(normal_form(query))

    return ListTable(path, name, reading, index_rows(path, name, key_of), delimiter)


def split_list(line: str, delimiter: str | None) -> list[str]:
    """Split a line into a query and its items.

    Without a delimiter, the query ends at a colon and a blank, at the only tab, or as items do. Items are separated by
    the first of tabs, commas, semicolons and blanks that occurs.
    """
    items, query = line.strip(), list[str]()
    if delimiter is None and (named := _NAMED.fullmatch(items)) is not None:
        query, items = [named[1]], named[2]
    elif delimiter is None and items.count("\t") == 1:
        query, items = items.split("\t")[:1], items.partition("\t")[2]
    fields = split_line(items, delimiter or next((one for one in "\t,;" if one in items), "whitespace"))
    if len(fields) > 1 and not fields[-1]:
        fields.pop()
    first, *others = [*query, *fields]
    return [first.strip('"').removesuffix(":").rstrip(), *others]


@dataclass(frozen=True)
class TrecTable(SpanTable):
    """A run or the judgements of many queries."""

    columns: tuple[str, ...]
    """Names of the columns of the format; ``_`` for ignored columns."""

    def annotation(self, key: RowKey, data: bytes) -> Annotation:
        """The ranking or the judgements of a query."""
        text = decode(data, self.name, self.reading.delimited.encoding)
        (first, *others), width = self.of_key[key], len(self.columns)
        column = "score" if "score" in self.columns else "grade"
        whole, place = text.split(), self.columns.index(column)
        values: list[float] = []
        # All rows at once, if they are regular: every `width`th field is the query only if all have that width.
        if not others and len(whole) == width * first.lines and whole[::width].count(key.track) == first.lines:
            with suppress(ValueError):
                values = list(map(float, whole[place::width]))
        if values:
            items = whole[self.columns.index("item") :: width]
            lines: Sequence[int] = range(first.line, first.line + first.lines)
        else:
            rows = [(number, line.split()) for number, line in self.numbered(key, text)]
            rows = [(number, fields) for number, fields in rows if fields and not fields[0].startswith("#")]
            items, lines = [self._field(number, fields, "item") for number, fields in rows], [line for line, _ in rows]
            for number, fields in rows:
                value = self._field(number, fields, column)
                if not is_number(value):
                    raise InvalidAnnotationError(f"{column} is not a number: {value!r}", path=self.name, line=number)
                values.append(float(value))
        columns = {"value": np.array(values, dtype=np.float64)}
        found = Annotation("ranking", columns, items, lines=lines, attrs={"source": self.name})
        demand_numbers(found, self.name)
        return order_by_score(found) if "score" in self.columns else found

    def _field(self, line: int, fields: Sequence[str], column: str) -> str:
        place = self.columns.index(column)
        if place >= len(fields):
            needed = ", ".join(name for name in self.columns if name != "_")
            message = f"has {len(fields)} columns, needs {needed}: {' '.join(fields)!r}"
            raise InvalidAnnotationError(message, path=self.name, line=line)
        if len(fields) > len(self.columns):
            message = f"has {len(fields)} columns, not {len(self.columns)}: {' '.join(fields)!r}"
            message += "; if it is a run, declare format: run" if "grade" in self.columns else ""
            raise InvalidAnnotationError(message, path=self.name, line=line)
        return fields[place]


def _open(path: str, reading: Reading, name: str, columns: tuple[str, ...]) -> TrecTable:
    encoding = reading.delimited.encoding
    known: dict[bytes, RowKey] = {}

    def key_of(line: bytes, number: int) -> RowKey | None:
        start = line.split(None, 1)
        if not start or start[0].startswith(b"#"):
            return None
        if start[0] not in known:
            known[start[0]] = RowKey(normal_form(decode(start[0], name, encoding)))
        return known[start[0]]

    return TrecTable(path, name, reading, index_rows(path, name, key_of), columns)


open_run = partial(_open, columns=("query", "_", "item", "_", "score", "_"))
"""Open a run; as in trec_eval, scores give the order and ranks are ignored."""
open_qrels = partial(_open, columns=("query", "_", "item", "grade"))
"""Open a file of relevance judgements."""


@dataclass(frozen=True)
class GroupTable(TrackTable):
    """The relevant items for each item of a list."""

    name: str
    items: tuple[str, ...]
    lines: Int
    group: Int
    same: Int
    """Value of each item in the column whose equal items are excluded; -1: none."""
    members: Mapping[int, Int]
    alike: Mapping[int, Int]
    """Items by the value of `same`; `members` are items by group."""
    without_self: bool
    """Whether an item is excluded from its own ranking."""
    of_key: Mapping[RowKey, int]
    """Items with relevant other items."""
    digests: tuple[Mapping[int, str], Mapping[int, str]]
    """Digests of the names of `members` and `alike`."""

    def data(self, key: RowKey) -> bytes:
        """The name of a query, and digests of its group and of the excluded items."""
        self.demand(key)
        own = self.of_key[key]
        of_group, of_same = self.digests
        left_out = of_same.get(int(self.same[own]), "")
        return "\0".join((key.track, of_group[int(self.group[own])], left_out, str(self.without_self))).encode()

    def stamp(self, key: RowKey) -> tuple[int, int]:
        """Number of items in a query's group, and a hash of them and of the excluded items."""
        _, fingerprint = super().stamp(key)
        return len(self.members[int(self.group[self.of_key[key]])]), fingerprint

    def annotation(self, key: RowKey, data: bytes) -> Annotation:
        """The relevant items of a query, followed by those excluded from rankings."""
        own = self.of_key[key]
        left_out = self.alike.get(int(self.same[own]), np.zeros(0, dtype=np.int64))
        left_out = left_out[left_out != own]
        relevant = self.members[int(self.group[own])]
        relevant = relevant[(relevant != own) & ~np.isin(relevant, left_out)]
        if self.without_self:
            left_out = np.append(left_out, own)
        items = np.concatenate([relevant, left_out])
        marks = np.repeat([0.0, 1.0], [len(relevant), len(left_out)])
        labels, lines = CodedLabels(self.items, items), self.lines[items].tolist()
        return Annotation("ranking", {"left_out": marks}, labels, lines=lines, attrs={"source": self.name})


def open_groups(path: str, reading: Reading, name: str) -> GroupTable:
    """Open a file of the format ``groups``: an item and its group in each row.

    The columns ``track`` and ``label`` (the group) are found by name in a header, otherwise they are the first two.
    Items without a group have no relevant items and are not relevant to others.
    """
    options = reading.delimited
    rows = number_lines(decode(read_bytes(path, reading.max_bytes, name), name, options.encoding), options.comment)
    first = rows[0][1] if rows else ""
    separator = find_separator(first, path.rpartition(".")[2].lower(), options)
    separator = separator or next((one for one in "\t,;" if one in first), "whitespace")
    fields = [(number, split_line(line, separator)) for number, line in rows]
    usual_names = {heading for names in _HEADINGS_OF_GROUPS.values() for heading in names}
    headed = any(one.lower() in usual_names for one in fields[0][1]) if fields else False
    headed = headed if options.header is None else options.header
    header = fields[0][1] if fields and headed else None
    # Columns of the item, of its group, and of the value whose equal items are excluded.
    declared: dict[str, int | str] = dict(options.columns)
    lowered = [heading.lower() for heading in header or ()]
    places: list[int | None] = []
    for column, index in (("track", 0), ("label", 1)):
        if column in declared:
            places.append(find_place("", declared[column], header, name))
            continue
        named = next((lowered.index(known) for known in _HEADINGS_OF_GROUPS[column] if known in lowered), None)
        if header and named is None:
            message = f"no column holds {column!r}; declare it in columns: {', '.join(header)}"
            raise InvalidAnnotationError(message, path=name)
        places.append(index if named is None else named)
    same_as = reading.exclude_same
    places.append(None if same_as is None else find_place("", same_as, header, name))
    chosen = []
    for line, row in fields[header is not None :]:
        if header is None and not options.columns and reading.exclude_same is None and any(row[2:]):
            message = f"{len(row)} columns without names, instead of an item and its group: declare columns: "
            raise InvalidAnnotationError(f"{message}{{track: 0, label: 1}}: {' '.join(row)!r}", path=name, line=line)
        item, group, same = ("" if place is None or place >= len(row) else normal_form(row[place]) for place in places)
        if not item:
            raise InvalidAnnotationError("the row has no item", path=name, line=line)
        chosen.append((line, item, group, same))
    return _group(name, chosen, without_self=reading.exclude == "self")


def _group(name: str, rows: Sequence[tuple[int, str, str, str]], *, without_self: bool) -> GroupTable:
    first: dict[str, int] = {}
    for line, item, _, _ in rows:
        if item in first:
            message = f"item {item!r} occurs twice, first on line {first[item]}"
            raise InvalidAnnotationError(message, path=name, line=line)
        first[item] = line
    items = tuple(first)
    group, members, digests = _numbered([row[2] for row in rows], items)
    same, alike, digests_of_same = _numbered([row[3] for row in rows], items)
    both = Counter(zip(group.tolist(), same.tolist(), strict=True))
    places = {}
    for index, (item, own, other) in enumerate(zip(items, group.tolist(), same.tolist(), strict=True)):
        gone = 1 if other == _NO_GROUP else both[own, other]
        if own != _NO_GROUP and len(members[own]) > gone:
            places[RowKey(item)] = index
    lines = np.array([row[0] for row in rows], dtype=np.int64)
    return GroupTable(name, items, lines, group, same, members, alike, without_self, places, (digests, digests_of_same))


def _numbered(names: Sequence[str], items: Sequence[str]) -> tuple[Int, dict[int, Int], dict[int, str]]:
    """A number for each name, -1 for an empty one; the items of each number, and a digest of these."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(filter(None, names)))}
    codes = np.array([numbers.get(name, _NO_GROUP) for name in names], dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    cuts = np.searchsorted(codes[order], np.arange(len(numbers) + 1))
    members = {number: order[cuts[number] : cuts[number + 1]] for number in numbers.values()}
    listed = {number: sorted(items[place] for place in places.tolist()) for number, places in members.items()}
    return codes, members, {number: digest_of("\0".join(texts).encode()) for number, texts in listed.items()}
