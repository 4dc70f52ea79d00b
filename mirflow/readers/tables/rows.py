"""Delimited text with a column for the track of each row.

Tables with a column for each tag, or with rows that end in lists of tags, are converted to such rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...annotations.annotation import Annotation
from ...annotations.arrays import is_number
from ...annotations.schema import KINDS
from ...errors import AnnotationError, InvalidAnnotationError
from ...theory.text_form import normal_form
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
    split_line,
)
from ..layouts import (
    ABOUT_TRACKS,
    SAMPLE,
    SEPARATING,
    demand_columns,
    demand_read,
    demand_tags,
    demand_width,
    find_columns,
    heading,
    is_header,
)
from ..names import name_tracks
from ..options import COLUMNS, KEYS, SINGLE_ROWS, Reading
from ..single_layout import find_single_row
from .table import RowKey, TrackTable, demand_one_key

_QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True)
class RowTable(TrackTable):
    """A delimited file, with rows grouped by key."""

    name: str
    layout: Layout
    header: str
    """The header line, or empty."""
    of_key: Mapping[RowKey, Sequence[tuple[int, str]]]
    """Lines with their numbers, counted from 1."""
    size: int
    """Estimated memory in bytes."""

    @property
    def held(self) -> int:
        """About how many bytes of memory it takes."""
        return self.size

    def data(self, key: RowKey) -> bytes:
        """The rows of a key, below the header."""
        self.demand(key)
        return "\n".join([self.header, *(line for _, line in self.of_key[key])]).encode()

    def annotation(self, key: RowKey, data: bytes) -> Annotation:
        """The annotation in the rows of a key."""
        layout, reading, kind = self.layout, self.layout.reading, KINDS[self.layout.reading.kind]
        rows = [(number, layout.split(line)) for number, line in self.of_key[key]]
        places = [place for column, place in layout.places.items() if column not in KEYS]
        alone = len(rows) == 1 and not any(rows[0][1][place] for place in places if place < len(rows[0][1]))
        if has_numbers(reading) and kind.recognised and kind.listed and alone:  # a track without tags
            rows = []
        width = len(layout.header or ())
        longer = (row for row in rows if any(row[1][width:]))
        if width and reading.kind == "labels" and not reading.delimited.columns and (row := next(longer, None)):
            message = f"has {len(row[1])} columns, but the header has {width}: {' '.join(row[1])!r}"
            raise InvalidAnnotationError(f"{message}; write one row per label", path=self.name, line=row[0])
        if layout.usual:
            demand_width(rows, layout.kind, reading.task, max(layout.places.values()) + 1, self.name)
        return finish(layout.annotation(rows, {"source": self.name}), reading, self.name)


def open_rows(path: str, reading: Reading, name: str) -> RowTable:
    """Open a delimited file with the columns of the kind, and ``track``, ``system`` and ``annotator``.

    Without declared columns and without a header, the track comes first.
    """
    known = (*COLUMNS, *SINGLE_ROWS)
    if reading.kind not in known:
        raise AnnotationError(f"files of many tracks can hold {', '.join(known)}, but not {reading.kind}", path=name)
    options = reading.delimited
    data = read_bytes(path, reading.max_bytes, name)
    demand_no_json(data, name)
    lines = number_lines(decode(data, name, options.encoding), options.comment)
    if not lines:
        return RowTable(name, Layout(KINDS[reading.kind], reading, name, "\t", {}, -1, None), "", {}, 0)
    number, first = lines[0]
    separator = find_separator(first, reading.format_of(path), options)
    if separator is None and "\t" in first:
        separator = "\t"
    elif separator is None:  # for any suffix
        bare, kind = _QUOTED.sub("", first).strip(), KINDS[reading.kind]
        for one in (",", ";"):
            if one in bare and (" " not in bare or is_header(first.split(one), kind, keyed=True)):
                separator = one
                break
        separator = separator or sniff(first)
    if reading.task == "tagging" and not options.columns and options.header is not False:
        tagged = _rows_of_tag_lists(lines, separator, name) or _rows_of_tags(lines, separator, name)
        if tagged:
            width = tagged[0][1].count("\t") + 1
            places = dict(zip(("track", "label", "value"), range(width), strict=False))
            layout = Layout(KINDS[reading.kind], reading, name, "\t", places, width - 1, [], width)
            rows = _without_folders(group_rows(tagged, layout, name))
            return RowTable(name, layout, first, rows, len(data) + 200 * len(tagged))
    single = None
    if reading.kind in SINGLE_ROWS:
        single = find_single_row(first, number, reading, separator, name, keyed=True)
    layout = single or find_layout(first, number, reading, separator, name, keyed=True)
    has_header = layout.header is not None
    demand_numbers_read(lines, layout)
    if layout.usual:
        some = [(number, layout.split(line)) for number, line in lines[:SAMPLE]]
        demand_columns(some, layout.kind, reading.task, max(layout.places.values()) + 1, name)
        demand_tags([(number, layout.split(line)) for number, line in lines], layout.places, reading.task, name)
    grouped = group_rows(lines[has_header:], layout, name)
    if has_header and not options.columns:
        # A column that separates annotations, such as systems, of which a track has several, has to be declared.
        header = layout.split(first)
        columns = {column: header[place] for column, place in layout.places.items()}
        for place, column in enumerate(header):
            if heading(column) in SEPARATING and place not in layout.places.values():
                held = {key: [(number, layout.split(row)) for number, row in own] for key, own in grouped.items()}
                values = {key: [(at, row[place]) for at, row in own if place < len(row)] for key, own in held.items()}
                demand_one_key(column, values, columns, layout.name)
    rows = _without_folders(grouped)
    # Text, its lines as objects, and their pairs and lists.
    return RowTable(name, layout, first if has_header else "", rows, len(data) + 200 * len(lines))


def _rows_of_tags(lines: Sequence[tuple[int, str]], separator: str, name: str) -> list[tuple[int, str]]:
    """Convert a table with one column per tag to rows of track, tag and number, separated by tabs.

    Empty for other tables. The header of such a table has tracks (or no name) first, then columns that tables of one
    tag per row do not have, at least two of which hold numbers. Columns about the track, such as its path, are ignored.

    Examples
    --------
    >>> _rows_of_tags([(1, "clip_id,slow,loud"), (2, "a,1,0.5")], ",", "tags.csv")
    [(2, 'a\\tslow\\t1'), (2, 'a\\tloud\\t0.5')]
    """
    head, *rows = ((number, split_line(line, separator)) for number, line in lines)
    tags, known = head[1], find_columns(KINDS["labels"], head[1], keyed=True)
    track = known.pop("track", -1 if tags[0] else 0)
    if len(tags) < 3 or not rows or known or track < 0:
        return []
    for number, fields in rows:
        if len(fields) != len(tags):
            message = f"has {len(fields)} columns, but the header has {len(tags)}"
            raise InvalidAnnotationError(message, path=name, line=number)
    # Tables of pandas begin with an unnamed column of numbers.
    others = [place for place in range(len(tags)) if place != track and (place or tags[0])]
    others = [place for place in others if not heading(tags[place]).endswith(ABOUT_TRACKS)]
    places = [other for other in others if any(is_number(fields[other]) for _, fields in rows)]
    if len(places) < 2:
        return []
    for place in others:
        for number, fields in rows:
            if not is_number(fields[place] or "0"):
                message = f"the value of the tag {tags[place]!r} is not a number: {fields[place]!r}"
                raise InvalidAnnotationError(message, path=name, line=number)
    places, named = others, [tags[place] for place in others]
    doubled = next((tag for tag in named if named.count(tag) > 1 or not tag), None)
    if doubled is not None:
        what = f"names the tag {doubled!r} twice" if doubled else "has an unnamed column of numbers"
        raise InvalidAnnotationError(f"the header {what}", path=name, line=head[0])
    filled = ((number, fields, place) for number, fields in rows for place in places if fields[place])
    return [(number, f"{fields[track]}\t{tags[place]}\t{fields[place]}") for number, fields, place in filled]


def _rows_of_tag_lists(lines: Sequence[tuple[int, str]], separator: str, name: str) -> list[tuple[int, str]]:
    """Convert a table of MTG-Jamendo, whose rows end with any number of tags, to rows of track and tag.

    Empty for other tables. The header of such a table names tracks and ends with ``tags``; rows are longer, or other
    columns about tracks precede ``tags``.

    Examples
    --------
    >>> _rows_of_tag_lists([(1, "clip\\tpath\\ttags"), (2, "a\\ta.mp3\\tgenre---rock\\tgenre---pop")], "\\t", "a.tsv")
    [(2, 'a\\tgenre---rock'), (2, 'a\\tgenre---pop')]
    """
    (first, header), *rows = ((number, split_line(line, separator)) for number, line in lines)
    places = find_columns(KINDS["labels"], header, keyed=True)
    last = len(header) - 1
    if separator != "\t" or heading(header[-1]) != "tags" or "track" not in places or "value" in places:
        return []
    about = [heading(field).endswith(ABOUT_TRACKS) for field in header]
    if not any(about[place] for place in range(last) if place != places["track"]) and not any(
        len(fields) > len(header) and any(fields[len(header) :]) for _, fields in rows
    ):
        return []
    others = ["" if beside else field for field, beside in zip(header, about, strict=True)]
    demand_read(KINDS["labels"], others, (fields for _, fields in rows), {**places, "label": last}, name, first)
    found = []
    for number, fields in rows:
        if len(fields) < last:
            message = f"has {len(fields)} columns, but the header has {len(header)}"
            raise InvalidAnnotationError(message, path=name, line=number)
        tags = [tag for tag in fields[last:] if tag] or [""]
        found += [(number, f"{fields[places['track']]}\t{tag}") for tag in tags]
    return found


def group_rows(lines: Sequence[tuple[int, str]], layout: Layout, name: str) -> dict[RowKey, list[tuple[int, str]]]:
    """Group lines, with their numbers, by key."""
    places = [layout.places.get(name) for name in KEYS]
    groups: dict[RowKey, list[tuple[int, str]]] = {}
    for number, line in lines:
        fields = layout.split(line)
        key = RowKey(*("" if place is None or place >= len(fields) else normal_form(fields[place]) for place in places))
        if not key.track:
            message = f"the row has no track; key columns are {', '.join(KEYS)}"
            raise InvalidAnnotationError(message, path=name, line=number)
        groups.setdefault(key, []).append((number, line))
    return groups


def _without_folders(rows: dict[RowKey, list[tuple[int, str]]]) -> dict[RowKey, list[tuple[int, str]]]:
    """Replace paths of tracks, as in MIREX's lists, with their names; unchanged unless a name is a path."""
    paths = list(dict.fromkeys(key.track for key in rows))
    named = dict(zip(paths, name_tracks(paths), strict=True))
    return {key._replace(track=named[key.track]): lines for key, lines in rows.items()}
