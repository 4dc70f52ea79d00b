"""Groups of items that are relevant to each other, such as cliques of covers or pieces of one genre."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...annotations.annotation import Annotation, CodedLabels
from ...errors import InvalidAnnotationError
from ...ragged import Int
from ...theory.text_form import normal_form
from ..content import decode, digest_of, read_bytes
from ..delimited import find_place, find_separator, number_lines, split_line
from ..options import Reading
from .table import RowKey, TrackTable

_HEADINGS = {
    "track": ("track", "track_id", "item", "query", "piece", "song", "song_id", "file", "filename", "path", "id"),
    "label": ("group", "clique", "work", "set", "cover_set", "label", "class", "genre", "mood", "artist"),
}
_NO_GROUP = -1


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

    @property
    def held(self) -> int:
        """About how many bytes of memory it takes."""
        return 500 * len(self.items)

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
    text = decode(read_bytes(path, reading.max_bytes, name), name, options.encoding)
    rows = number_lines(text, options.comment)
    first = rows[0][1] if rows else ""
    usual = find_separator(first, path.rpartition(".")[2].lower(), options)
    separator = usual or next((one for one in "\t,;" if one in first), "whitespace")
    fields = [(number, split_line(line, separator)) for number, line in rows]
    known = {heading for names in _HEADINGS.values() for heading in names}
    headed = any(one.lower() in known for one in fields[0][1]) if fields else False
    headed = headed if options.header is None else options.header
    header = fields[0][1] if fields and headed else None
    places = _places(reading, header, name)
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


def _places(reading: Reading, header: Sequence[str] | None, name: str) -> tuple[int, int, int | None]:
    """Columns of the item, of its group, and of the value whose equal items are excluded."""
    declared: dict[str, int | str] = dict(reading.delimited.columns)
    lowered = [heading.lower() for heading in header or ()]
    found: list[int] = []
    for column, usual in (("track", 0), ("label", 1)):
        if column in declared:
            found.append(find_place("", declared[column], header, name))
            continue
        named = next((lowered.index(heading) for heading in _HEADINGS[column] if heading in lowered), None)
        if header and named is None:
            message = f"no column holds {column!r}; declare it in columns: {', '.join(header)}"
            raise InvalidAnnotationError(message, path=name)
        found.append(usual if named is None else named)
    same = None if reading.exclude_same is None else find_place("", reading.exclude_same, header, name)
    return found[0], found[1], same


def _group(name: str, rows: Sequence[tuple[int, str, str, str]], *, without_self: bool) -> GroupTable:
    first: dict[str, int] = {}
    for line, item, _, _ in rows:
        if item in first:
            message = f"item {item!r} occurs twice, first on line {first[item]}"
            raise InvalidAnnotationError(message, path=name, line=line)
        first[item] = line
    items = tuple(first)
    group, members = _numbered([row[2] for row in rows])
    same, alike = _numbered([row[3] for row in rows])
    both = Counter(zip(group.tolist(), same.tolist(), strict=True))
    places = {}
    for index, (item, own, other) in enumerate(zip(items, group.tolist(), same.tolist(), strict=True)):
        gone = 1 if other == _NO_GROUP else both[own, other]
        if own != _NO_GROUP and len(members[own]) > gone:
            places[RowKey(item)] = index
    digests = _digests(items, members), _digests(items, alike)
    lines = np.array([row[0] for row in rows], dtype=np.int64)
    return GroupTable(name, items, lines, group, same, members, alike, without_self, places, digests)


def _numbered(names: Sequence[str]) -> tuple[Int, dict[int, Int]]:
    """A number for each name, -1 for an empty one; and the positions of each number."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(filter(None, names)))}
    codes = np.array([numbers.get(name, _NO_GROUP) for name in names], dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    cuts = np.searchsorted(codes[order], np.arange(len(numbers) + 1))
    return codes, {number: order[cuts[number] : cuts[number + 1]] for number in numbers.values()}


def _digests(items: Sequence[str], members: Mapping[int, Int]) -> dict[int, str]:
    return {
        number: digest_of("\0".join(sorted(items[place] for place in places.tolist())).encode())
        for number, places in members.items()
    }
