"""Delimited text, read and written: rows under a header or in the usual order.

The separator and the layout of the columns are declared, or found from the first row; times and pitches become seconds
and Hz. Regular files are parsed at once; others row by row, so that errors name the line. The readers of tables finish
annotations here, too: beats are selected, chords and keys translated, lists sorted.
"""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..annotations.account import Account, Remark
from ..annotations.annotation import Annotation, Attribute, stack_levels
from ..annotations.arrays import is_number
from ..annotations.labelled import from_dataset
from ..annotations.schema import KINDS, Kind
from ..errors import AnnotationError, InvalidAnnotationError, suggest
from ..ragged import Column, Float
from ..theory.keys import key_in_row
from ..theory.pitch import HIGHEST_MIDI, hz_to_midi, midi_to_hz, note_number, to_hertz
from .content import decode
from .doubts import MODES, report_fields, report_header, tell_odd_numbers, tell_odd_rows, unread_places
from .label_maps import in_harte
from .layouts import (
    CLOCK,
    are_numbers_of,
    are_plain,
    demand_columns,
    demand_read,
    demand_tags,
    demand_units,
    guess_task,
    has_only_names,
    heading,
    is_header,
    look,
    named_columns,
)
from .options import HARTE, KEYS, DelimitedOptions, Reading
from .positions import select_beats
from .ranks import order_names

if TYPE_CHECKING:
    import xarray as xr

Row = tuple[int, Sequence[str]]
"""The fields of a row and its line."""
Attrs = Mapping[str, Attribute]

_SHOWN = 60
"""Characters of a row that a message shows."""
_QUOTED = re.compile(r'"[^"]*"')
_DECIMAL = re.compile(r"[+-]?\d+,\d+")
_FREQUENCIES = "\\\t"
"""Beginning of the second line of a label of Audacity that has a range of frequencies."""
SILENCE = "silence"
"""Word in place of a key or a chord."""
_FLAGS = {"true": 1.0, "false": 0.0}
ROW_KINDS = {name: KINDS[kind.level] if kind.level else kind for name, kind in KINDS.items()}
"""The kind of rows of each kind; for a hierarchy, that of its levels."""
_UNITS = {
    name: {variable.name: variable.units for variable in kind.variables} | {"duration": "s"}
    for name, kind in KINDS.items()
}
_NOTES = 3
"""Minimum number of notes to judge the order of columns."""
_VELOCITIES = Remark(
    "columns", "the column after the pitch is not read: if it holds velocities, name it in columns (velocity: 3)"
)


@dataclass(slots=True, eq=False)
class Layout:
    """Positions of the columns in the rows of a file, and how lines are split."""

    kind: Kind
    reading: Reading
    name: str
    """Name of the file in messages."""
    separator: str
    """A character, or ``whitespace``."""
    places: Mapping[str, int]
    splits: int
    """Maximum number of splits of a line, so that the last column stays whole; -1: no maximum."""
    header: Sequence[str] | None
    held: int = 0
    """Number of fields of the first row."""
    unread: Sequence[int] = ()
    """Columns of the header that are neither read nor left out by declaration."""
    usual: bool = False
    """Whether columns are neither declared nor named, so that rows must look like rows of the task."""
    mode: int = -1
    """The column with the mode of a key, beside its tonic; -1: the label holds both."""

    def split(self, line: str) -> list[str]:
        """The fields of a line, stripped, without empty ones after the last."""
        fields = split_line(line, self.separator, self.splits)
        if fields and self.separator != "whitespace":
            fields[-1] = fields[-1].rstrip(f"{self.separator} ")
            while len(fields) > 1 and not fields[-1]:
                fields.pop()
        return fields

    def annotation(self, rows: Sequence[Row], attrs: Attrs) -> Annotation:
        """The annotation in rows of a file or of one track in it."""
        options = self.reading.delimited
        columns: dict[str, Column] = {}
        if options.decimal is None and options.has_decimal_commas(self.separator):
            # Of points and commas one may separate thousands.
            texts = {*KEYS, "label", *self.kind.texts}
            places = [place for column, place in self.places.items() if column not in texts]
            numbers = [(line, fields[place]) for line, fields in rows for place in places if place < len(fields)]
            point = next(((line, text) for line, text in numbers if "." in text), None)
            if point is not None and any(_DECIMAL.fullmatch(text) for _, text in numbers):
                message = f"other numbers have decimal commas, this one has a point: {point[1]!r}; if all commas are "
                message += "decimal separators, declare decimal: ',' (--decimal ,); if all points are, declare "
                raise InvalidAnnotationError(f"{message}decimal: '.' (--decimal .)", path=self.name, line=point[0])
        if self.usual and self.reading.task == "local_key":
            keys = ["\t".join(fields[2:]) for _, fields in rows]
            rows = [
                (line, fields if (named := key_in_row(key)) == key else [*fields[:2], named])
                for (line, fields), key in zip(rows, keys, strict=True)
            ]
        for column, place in self.places.items():
            if column == "label" or column in KEYS:
                continue
            if column in self.kind.texts:
                columns[column] = np.array([_text(fields, place) for _, fields in rows], dtype=np.str_)
            else:
                values = [self._number(fields, column, line) for line, fields in rows]
                columns[column] = np.array(values, dtype=np.float64)
        place = self.places.get("label", -1)
        labels: list[str] | None = None
        if self.mode >= 0 or (place >= 0 and any(place < len(fields) for _, fields in rows)):
            labels = [_text(fields, place) for _, fields in rows]
            if self.mode >= 0:
                modes = (_text(fields, self.mode) for _, fields in rows)
                labels = [f"{label} {mode}".rstrip() for label, mode in zip(labels, modes, strict=True)]
        annotation = annotation_of(self, columns, labels, [line for line, _ in rows], attrs)
        # What the rows hold beside the columns that are read.
        account, kind, width = Account(self.name), self.kind, max(self.places.values()) + 1
        if self.unread and self.header is not None:
            report_header(kind, self.header, self.places, self.unread, rows, account)
        if not self.reading.delimited.columns and (kind.numbers or self.header is not None):
            usual = len(kind.row(self.reading.task)) if self.header is None else len(self.header)
            if kind.followed_by == "velocity" and self.header is None:
                # An instrument may follow the velocity, but is none in its place.
                louder = [fields[usual - 1] for _, fields in rows if len(fields) >= usual]
                loud = all(is_number((field or "0").split()[0]) for field in louder)
                if loud and any(louder):
                    account.add(_VELOCITIES.rule, _VELOCITIES.message)
                usual += 1 if loud else -1
            width = max(width, usual)
            report_fields(kind, self.places, width, rows, account, self.header)
        return replace(annotation, account=account.remarks)

    def _number(self, fields: Sequence[str], column: str, line: int) -> float:
        place = self.places[column]
        try:
            return float(fields[place])
        except (ValueError, IndexError):
            pass
        if place >= len(fields):
            needed = ", ".join(sorted(self.places.keys() - {"label"}, key=self.places.__getitem__))
            counted = f"{len(fields)} column{'s' if len(fields) != 1 else ''}"
            message = f"has {counted}, needs {needed}: {' '.join(fields)!r}"
            message += "; write 0 for frames without a pitch" if column == "frequency" else ""
            raise InvalidAnnotationError(message, path=self.name, line=line)
        text, hint, options = fields[place], "", self.reading.delimited
        midi = note_number(text) if column in ("pitch", "frequency") else None
        if midi is not None:
            hertz = _UNITS[self.kind.name].get(column) == "Hz" and options.pitch_unit == "Hz"
            return float(midi_to_hz(midi)) if hertz else midi
        if text.lower() in _FLAGS and column in self.kind.flags:
            return _FLAGS[text.lower()]
        if _DECIMAL.fullmatch(text):
            if options.has_decimal_commas(self.separator):
                return float(text.replace(",", "."))
            hint = "; if commas are decimal separators, declare decimal: ',' (--decimal ,)"
        elif clock := CLOCK.fullmatch(text):
            hours, minutes, seconds = (float((part or "0").replace(",", ".")) for part in clock.groups())
            hint = f"; write times in seconds, such as {3600 * hours + 60 * minutes + seconds:g}"
        elif column == "end" and "label" in self.places:  # phrases of McGill Billboard, or starts and labels
            phrase = any("|" in field for field in fields)
            if phrase or text == SILENCE:
                hint = "; if this is a McGill Billboard file, declare format: billboard (--input-format billboard)"
            if not phrase:
                hint += "; if rows hold a start and a label, declare columns: {start: 0, label: 1} (--columns "
                hint += "start=0,label=1)"
        elif self.header is not None and list(fields) == list(self.header):
            hint = "; this row is the header again: were several files joined?"
        elif len(fields) > 1 and options.header is None and not options.columns and not any(map(is_number, fields)):
            hint = "; if this is a header, its names are unknown: declare columns"
        elif options.columns and options.header is None and has_only_names(fields):
            hint = "; if this row is a header, declare header: true (--header), or the columns by its names"
        raise InvalidAnnotationError(f"{column} is not a number: {text!r}{hint}", path=self.name, line=line)


def parse_delimited(data: bytes, reading: Reading, format: str, name: str | Path = "<bytes>") -> Annotation:
    """Parse the bytes of a delimited file.

    Times are in seconds and pitches in Hz, neither sorted nor checked. Without a label column, intervals have empty
    labels and events have none; a file without rows gives no items. `name` is the file's name in messages and the
    attribute ``source``.
    """
    text = decode(data, name, reading.delimited.encoding)
    attrs: Attrs = {"source": str(name)}
    lines = text.rstrip().split("\n")
    start = first_row(lines, reading.delimited.comment)
    if start == len(lines):
        kind = ROW_KINDS[reading.kind]
        columns = {column: np.zeros(0) for column in kind.required if column != "label"}
        labels: list[str] | None = [] if "label" in kind.required else None
        return finish(Annotation(kind.name, columns, labels, lines=(), attrs=attrs), reading, name)
    layout = find_layout(lines[start], start + 1, reading, find_separator(text, format, reading.delimited), str(name))
    regular = _all_at_once(text, lines, start, layout, attrs)
    if regular is not None:
        return finish(regular, reading, name)
    # Row by row, so that errors name the line of the first invalid one.
    kind, numbered = layout.kind, number_lines(text, reading.delimited.comment)
    demand_numbers_read(numbered, layout)
    rows = [(line, layout.split(row)) for line, row in numbered[layout.header is not None :]]
    if kind.followed_by == "position" and layout.separator == "," and reading.delimited.delimiter is None:
        commas = [fields for _, fields in rows if len(fields) == 2 and all(field.isdecimal() for field in fields)]
        alike = len({fields[0] for fields in commas}) < len(rows) == len(commas)
        if alike and not reading.delimited.columns:
            message = f"commas may be decimal or column separators: {','.join(commas[0])!r}; if they are decimal "
            message += "separators, declare decimal: ',' (--decimal ,); if they separate columns, declare delimiter: "
            raise InvalidAnnotationError(f"{message}comma (--delimiter comma)", path=layout.name, line=rows[0][0])
    if layout.usual and "bar" not in layout.places:  # selection by bars defines the columns
        whole: list[Row] = [(line, split_line(row, layout.separator)) for line, row in numbered]
        whole = whole if kind.numbers else [*rows]
        place = layout.places.get("pitch", -1)
        for index, (line, fields) in enumerate(whole if place >= 0 else ()):  # names of notes
            number = note_number(fields[place]) if place < len(fields) else None
            if number is not None:
                whole[index] = line, [*fields[:place], repr(midi_to_hz(number)), *fields[place + 1 :]]
        demand_columns(whole, kind, reading.task, max(layout.places.values()) + 1, layout.name)
        demand_tags(rows, layout.places, reading.task, layout.name)
    try:
        annotation = layout.annotation(rows, attrs)
    except InvalidAnnotationError as error:
        hint = "" if reading.delimited.columns else look(guess_task([fields for _, fields in rows]), kind)
        raise InvalidAnnotationError(error.message + hint, path=error.path, line=error.line) from None
    return finish(annotation, reading, name)


def finish(annotation: Annotation, reading: Reading, name: str | Path) -> Annotation:
    """Select beats, translate chords and keys, sort a list, or make a hierarchy of one level."""
    kind = KINDS[reading.kind]
    if kind.pitched and reading.delimited.pitch_unit == "MIDI":
        demand_midi(annotation, name)
    schema = annotation.schema
    if schema.times and len(schema.dims) == 1:
        annotation = tell_odd_rows(annotation)
    if kind.adjacent or kind.name in ("notes", "series"):
        annotation = tell_odd_numbers(annotation, reading)
    if kind.level:
        return stack_levels([annotation])
    if "bar" in kind.columns:
        return select_beats(annotation, reading, name)
    if kind.listed:
        return order_names(annotation, name)
    if reading.task == "local_key" and annotation.labels is not None and any(map(is_odd_key, set(annotation.labels))):
        # Isophonics has rows without a key.
        keys = ["N" if label.lower() == SILENCE else key_in_row(label) for label in annotation.labels]
        return replace(annotation, labels=keys)
    return annotation if reading.notation == HARTE else in_harte(annotation, name)


def is_odd_key(label: str) -> bool:
    """True if the label of a local key is written in another form than that of keys."""
    return label.lower() == SILENCE or key_in_row(label) != label


def demand_midi(annotation: Annotation, name: str | Path) -> None:
    """Raise if a pitch declared as a MIDI number is above the highest one: it may be a frequency.

    Examples
    --------
    >>> demand_midi(Annotation("series", {"time": np.zeros(1), "frequency": np.array([440.0])}), "a.txt")
    """
    pitch = np.abs(annotation.pitches)
    wrong = np.flatnonzero(pitch >= midi_to_hz(HIGHEST_MIDI + 0.5))
    if len(wrong):
        item = int(wrong[0])
        outer = annotation.inner_counts  # lines of multiple pitches are those of the frames
        row = item if not outer else int(np.searchsorted(np.cumsum(outer[0]), item, side="right"))
        number = float(hz_to_midi(pitch[item]))
        message = f"not a MIDI number from 0 to {HIGHEST_MIDI}: {number:.6g}; if the pitches are in Hz, declare "
        raise InvalidAnnotationError(f"{message}pitch_unit: Hz (--pitch-unit Hz)", path=name, line=annotation.line(row))


def has_numbers(reading: Reading) -> bool:
    """True if numbers next to names affect scores; for classes they do not."""
    return reading.task != "classification"


def number_lines(text: str, comment: str) -> list[tuple[int, str]]:
    """The lines with their numbers, without blank lines, comments, and ranges of frequencies in labels of Audacity."""
    lines = enumerate(text.split("\n"), 1)
    rows = [(number, line) for number, line in lines if line.strip() and not line.startswith(_FREQUENCIES)]
    return [row for row in rows if not row[1].lstrip().startswith(comment)] if comment else rows


def first_row(lines: Sequence[str], comment: str) -> int:
    """The index of the first line that is neither blank nor a comment."""
    rows = enumerate(map(str.strip, lines))
    return next((at for at, row in rows if row and not (comment and row.startswith(comment))), len(lines))


def _all_at_once(text: str, lines: Sequence[str], start: int, layout: Layout, attrs: Attrs) -> Annotation | None:
    """The annotation in rows of equal width that clearly belong to the task; None for other rows."""
    kind, places = layout.kind, layout.places
    start += layout.header is not None
    decimal = kind.followed_by == "position" and layout.separator == ","  # perhaps a decimal comma
    if not kind.numbers or start == len(lines) or decimal or layout.unread or layout.mode >= 0:
        return None
    rows = lines[start:] if start else lines
    place = places.get("label", sys.maxsize)
    held = layout.held if layout.header is None or place == sys.maxsize else len(layout.split(rows[0]))
    labels: list[str] | None = None
    account: tuple[Remark, ...] = ()
    columns = {name: at for name, at in places.items() if name != "label"}
    separator = None if layout.separator == "whitespace" else layout.separator
    try:
        if place < held:
            tabs = separator is None and " " not in text and "\t\t" not in text
            separator, splits = ("\t", -1) if tabs else (separator, layout.splits)
            fields = list(zip(*[row.split(separator, splits) for row in rows], strict=True))
            labels = list(fields[place])
            numbers = {name: np.fromiter(map(float, fields[at]), float, len(rows)) for name, at in columns.items()}
        else:  # rows that hold only numbers, or whose other columns are not read
            if len(columns) == layout.held == 1 and layout.header is None:
                table = np.fromiter(map(float, rows), np.float64, len(rows))[:, np.newaxis]
            else:
                width = len(layout.header or ())
                if width and any(
                    (row.count(separator) + 1 if separator else len(row.split())) != width for row in rows
                ):
                    return None
                if place != sys.maxsize and not layout.usual:  # a later row may have a label
                    return None
                lines_of_numbers, usecols = StringIO("\n".join(rows)), None if layout.usual else [*columns.values()]
                table = np.loadtxt(lines_of_numbers, comments=None, delimiter=separator, usecols=usecols, ndmin=2)
                if not layout.usual:
                    columns = {name: at for at, name in enumerate(columns)}
                elif not are_numbers_of(table, kind, split_line(rows[0], layout.separator)):
                    return None
                if len(table) != len(rows):  # blank lines
                    return None
            numbers = {name: np.ascontiguousarray(table[:, at]) for name, at in columns.items()}
            account = remarks_on_table(table, layout)
    except (ValueError, IndexError):
        return None
    if labels is not None:
        # Quoted, padded, or followed by another column; Unicode has more blanks.
        joined, after = "\n".join(labels), f"{layout.separator}\n"
        odd = any(mark in joined for mark in ("\t", " \n", "\n ", '"')) or " " in (joined[:1], joined[-1:])
        odd = odd or (layout.separator != "whitespace" and after in f"{joined}\n")
        if odd or (layout.header is not None and not joined.isascii()):
            return None
        if layout.usual:  # the labels clearly belong to the task, and further columns are bar numbers
            width = max(places.values()) + 1
            more = fields[width:]
            if width + len(more) > len(kind.row(layout.reading.task)) and any(map(any, more)):
                return None
            if kind.followed_by == "position" and not all(text.isdecimal() for column in more for text in {*column}):
                return None
            if not are_plain({*labels}, kind, layout.reading.task):
                return None
    found = annotation_of(layout, numbers, labels, range(start + 1, len(lines) + 1), attrs)
    return replace(found, account=account) if account else found


def remarks_on_table(table: Float, layout: Layout) -> tuple[Remark, ...]:
    """A remark on rows of a start, an end and two numbers: velocities may precede pitches, or else are not read."""
    if layout.kind.followed_by != "velocity" or not layout.usual or table.shape[1] <= len(layout.places):
        return ()
    third, fourth = table[:, 2], table[:, 3]
    low = bool((third == third.round()).all()) and 0 <= third.min() <= third.max() <= HIGHEST_MIDI
    varied = fourth.min() >= 0 and len(np.unique(fourth)) >= _NOTES
    same = third.min() == third.max()
    if len(table) < _NOTES or not low or not varied or (fourth.max() <= HIGHEST_MIDI and not same):
        return (_VELOCITIES,)
    what = f"only {third.min():.0f}" if same else f"whole numbers from {third.min():.0f} to {third.max():.0f}"
    doubt = (
        f"the third column has {what}, the fourth numbers up to {fourth.max():g}: the columns may be start, end, "
        "velocity, pitch; then declare columns: {start: 0, end: 1, velocity: 2, pitch: 3} (--columns "
        "start=0,end=1,velocity=2,pitch=3)"
    )
    return (Remark("odd_columns", doubt),)


def annotation_of(
    layout: Layout, numbers: dict[str, Column], labels: Sequence[str] | None, lines: Sequence[int], attrs: Attrs
) -> Annotation:
    """The annotation in columns of a file, with the numbers as they are in it.

    Intervals without ends last until the next one starts.
    """
    kind, options, columns = layout.kind, layout.reading.delimited, numbers
    if labels is None and "label" in kind.required:
        labels = [""] * len(lines)
    units = _UNITS[kind.name]
    for name, column in columns.items():
        if units.get(name) == "s":
            columns[name] = options.seconds(column, lengths=name == "duration")
        elif units.get(name) == "Hz":
            columns[name] = to_hertz(column, kind.name, options.pitch_unit)
    if "duration" in columns:
        columns["end"] = columns["start"] + columns.pop("duration")
    if options.hop and kind.dims == ("time",) and "time" not in columns:  # one frame per row
        columns["time"] = options.seconds(np.arange(len(lines), dtype=np.float64))
    if kind.adjacent and "end" not in columns:
        starts, labels = columns["start"], labels or []
        if options.last == "keep":
            columns = {"start": starts, "end": np.append(starts[1:], starts[-1:])}
        else:
            columns, labels = {"start": starts[:-1], "end": starts[1:]}, labels[:-1]
        lines = lines[: len(labels)]
    return Annotation(kind.name, columns, labels, lines=lines, attrs=attrs)


def demand_numbers_read(lines: Sequence[tuple[int, str]], layout: Layout) -> None:
    """Raise if scores depend on numbers that would be skipped because of the header in the first line."""
    if layout.header is not None and has_numbers(layout.reading) and not layout.reading.delimited.columns:
        rows = (layout.split(line) for _, line in lines[1:])
        demand_read(layout.kind, layout.split(lines[0][1]), rows, layout.places, layout.name, lines[0][0])


def _text(fields: Sequence[str], place: int) -> str:
    return fields[place] if 0 <= place < len(fields) else ""


def find_layout(
    first: str, line: int, reading: Reading, separator: str | None, name: str, *, keyed: bool = False
) -> Layout:
    """Find the layout of a file from its first row, on line `line`.

    Without a `separator`, it is found from the row. `keyed` files have columns for the track, and perhaps the system
    and annotator, of each row.
    """
    kind, options = ROW_KINDS[reading.kind], reading.delimited
    head = split_line(first, separator or "whitespace")
    if separator is None:
        separator = "whitespace"
        if not is_number(head[0]):
            separator = sniff(first.replace(",", ".") if options.decimal == "," else first, kind)
            head = split_line(first, separator)
    elif separator == "\t" and separator not in first and options.delimiter is None and not kind.numbers:
        found = sniff(first, kind)  # names with numbers in a .tsv would be whole labels
        if found in (",", ";"):
            separator, head = found, split_line(first, found)
    declared, selection = dict(options.columns), reading.selection
    has_header = options.header
    if has_header is None and is_number(head[0]):
        has_header = False
    elif has_header is None:
        # Rows of such kinds begin with numbers; only a header begins with names.
        names = [where for where in declared.values() if isinstance(where, str)]
        named = bool(names) or (kind.numbers > 0 and not declared)
        has_header = is_header(head, kind, keyed=keyed) or (named and not keyed and has_only_names(head))
        has_header = has_header or any(name in head for name in names)
    bars = "bar" in declared or (not declared and (selection or "").startswith("bar"))
    header = head if has_header else None
    if declared:
        places = {column: find_place(column, where, header, name, line) for column, where in declared.items()}
    elif has_header:
        places = named_columns(kind, head, reading.task, name, line, keyed=keyed)
    else:
        places = dict(_usual_places(kind.name, len(head), keyed=keyed))
        if not places:
            message = f"{len(head)} columns without names are ambiguous ({kind.unclear}): declare columns"
            raise InvalidAnnotationError(f"{message}: {' '.join(head)!r}", path=name, line=line)
        if bars:
            places["bar"] = 2
    if not bars:
        places.pop("bar", None)
    if has_header:
        demand_units(head, places, reading, name, line)
    if declared or has_header or not kind.numbers:
        demand_columns_of_kind(kind, places, options, name, line, keyed=keyed)
    last = max(places.values())
    if separator == "\t" or bars or (selection != "all" and not declared):
        splits = -1  # blanks separate a position in the bar from the next column
    elif has_header:
        final = next(column for column, place in places.items() if place == last)
        numbered = last == len(head) - 1 and final != "label" and final not in kind.texts
        splits = -1 if numbered else max(len(head) - 1, last)  # nothing belongs to a number
    else:
        # A label in the last column takes the rest of the line; otherwise, the columns after it are split off.
        splits = last if places.get("label") == last else last + 1
    held = len(head) if splits < 0 else min(len(head), splits + 1)
    layout = Layout(kind, reading, name, separator, places, splits, header, held, usual=header is None and not declared)
    if has_header and not declared:
        layout.unread = unread_places(kind, head, places, reading.task)
        modes = [place for place in layout.unread if heading(head[place]) in MODES]
        if reading.task == "local_key" and modes:
            layout.mode = modes[0]
            layout.unread = [place for place in layout.unread if place != layout.mode]
    return layout


@cache
def _usual_places(name: str, fields: int, *, keyed: bool) -> Mapping[str, int]:
    """Columns in the usual order, with as many optional columns as the first row has; none if they are ambiguous."""
    kind, width = KINDS[name], fields - keyed
    if kind.unclear and width > len(kind.usual_order):
        return {}
    narrow = width <= len(kind.narrow_order) and (width > 0 or kind.listed)
    usual = kind.narrow_order if narrow else kind.usual_order
    places = {"track": 0} if keyed else {}
    places |= {column: index for index, column in enumerate(usual, keyed)}
    if not kind.listed and not kind.narrow_order:
        return places
    optional = {variable.name for variable in kind.variables if variable.optional}
    return {column: place for column, place in places.items() if column not in optional or place < fields}


def demand_columns_of_kind(
    kind: Kind, places: Collection[str], options: DelimitedOptions, name: str, line: int | None, *, keyed: bool
) -> None:
    """Raise if a column is unknown to the kind, or a required column is missing.

    `places` has the names of the columns; `name` and `line` are used in messages.
    """
    known = (*kind.columns, *KEYS) if keyed else kind.columns
    for column in places:
        if column not in known:
            raise InvalidAnnotationError(f"{kind.name} have no column {column!r}; {suggest(column, known)}", path=name)
    counted = {"time"} if options.hop and kind.dims == ("time",) else set()  # counted frames need no times
    ways = [{"start"}] if kind.adjacent else [set(way) - counted for way in kind.needed]
    if not any(way <= {*places} for way in ways):
        missing = min((sorted(way - {*places}) for way in ways), key=len)
        message = f"no column holds {' and '.join(map(repr, missing))}; declare it in columns"
        raise InvalidAnnotationError(message, path=name, line=line)


def find_place(column: str, where: int | str, header: Sequence[str] | None, name: str, line: int | None = None) -> int:
    """The index of a column that is declared by its index or its name; messages name the column, if given."""
    if isinstance(where, int):
        return where
    wanted = f"no column {where!r}{f' for {column!r}' if column else ''}"
    if header is None:
        raise InvalidAnnotationError(f"the file has no header and {wanted}; count columns from 0", path=name)
    if where not in header:
        raise InvalidAnnotationError(f"{wanted}; {suggest(where, header)}", path=name, line=line)
    return list(header).index(where)


def split_line(line: str, separator: str, splits: int = -1) -> list[str]:
    """Split a line into fields, stripped.

    Examples
    --------
    >>> split_line("0.0 1.5 verse 1", "whitespace", 2), split_line('a, "b, c"', ",")
    (['0.0', '1.5', 'verse 1'], ['a', 'b, c'])
    >>> split_line('0.0 "verse 1"\\tA', "whitespace", 1)
    ['0.0', 'verse 1', 'A']
    """
    if separator == "whitespace":
        fields = line.split(None, splits)
        if splits >= 0 and fields:  # labels may contain blanks but not tabs: a tab begins another column
            fields[-1:] = fields[-1].rstrip().split("\t")
        fields = [field.strip() for field in fields]
        for place, field in enumerate(fields if '"' in line else ()):
            if len(field) > 1 and field[0] == field[-1] == '"' and '"' not in field[1:-1].replace('""', ""):
                fields[place] = field[1:-1].replace('""', '"').strip()
        return fields
    if '"' in line:
        try:
            fields = next(csv.reader([line], delimiter=separator, skipinitialspace=True))
        except csv.Error as error:
            raise InvalidAnnotationError(f"a row cannot be split: {error}: {line[:_SHOWN]!r}...") from None
        return [field.strip() for field in fields]
    return [field.strip() for field in line.split(separator, splits)]


def find_separator(text: str, format: str, options: DelimitedOptions) -> str | None:
    """The separator of columns, as declared or by the format of a file; None if `sniff` has to find it."""
    if options.separator is not None or format not in ("csv", "tsv"):
        return options.separator
    if format == "tsv":
        return "\t"
    for separator in (";", "\t"):
        if separator in text:
            lines = text.split("\n")
            first = [*lines, ""][first_row(lines, options.comment)]
            start, found, _ = _QUOTED.sub("", first).partition(separator)
            # A comma before it separates columns unless it is a decimal separator.
            if found and ("," not in start or _DECIMAL.fullmatch(start.strip())):
                return separator
    return "whitespace" if options.decimal == "," else ","


def sniff(line: str, kind: Kind | None = None) -> str:
    """Find the separator of a line: whitespace, unless only another separator yields valid fields.

    Rows of some kinds begin with names: there it separates names of columns, or a name from a number.

    Examples
    --------
    >>> sniff("0.0 1.5 C:maj"), sniff("0.0,1.5,C:maj(9,11)"), sniff("0,0;1,5;C:maj"), sniff("0,0 1,5 C:maj")
    ('whitespace', ',', ';', 'whitespace')
    >>> sniff("guitar;0,9", KINDS["labels"]), sniff("tag,score", KINDS["labels"]), sniff("guitar 0.9", KINDS["labels"])
    (';', ',', 'whitespace')
    """
    for separator in ("whitespace", ";", ","):
        fields = split_line(line, separator)
        decimal = len(fields) > 1 and _DECIMAL.fullmatch(fields[0])
        if is_number(fields[0]) or decimal or (len(fields) > 1 and separator != "whitespace" and is_header(fields)):
            return separator
    named = [field.strip() for field in line.split("\t")]
    if is_header(named, kind) and any(" " in field for field in named):  # units in brackets
        return "\t"
    for separator in ("\t", ";", ",") if kind is not None and not kind.numbers else ():
        fields = split_line(line, separator)
        numbers = any(is_number(field.replace(",", ".")) for field in fields[1:])
        if numbers or (len(fields) > 1 and is_header(fields, kind)):
            return separator
    return "whitespace"


def to_lab(annotation: Annotation | xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write an annotation as text that `mirflow.load` reads back: one row per item, columns separated by tabs.

    Parameters
    ----------
    annotation : Annotation or xr.Dataset
        Events, hits, intervals, notes, a series or multiple pitches over time. Columns are in the usual order of the
        kind, times in seconds and pitches in Hz, in full precision. A header is written only if there are further
        columns, such as velocities of notes.
    path : path
        An existing file is replaced. Readers expect the suffix ``.lab``, ``.txt`` or ``.tsv``.

    Raises
    ------
    AnnotationError
        If the kind cannot be written as text, or a label contains a tab or a line break.

    Examples
    --------
    >>> import tempfile
    >>> chords = Annotation("intervals", {"start": np.array([0.0, 1.5]), "end": np.array([1.5, 2.0])}, ["C:maj", "N"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_lab(chords, f"{folder}/a.lab")
    ...     Path(f"{folder}/a.lab").read_text()
    '0.0\\t1.5\\tC:maj\\n1.5\\t2.0\\tN\\n'
    """
    kind, heading, rows = _rows_of(annotation)
    odd = next((text for row in rows for text in row if isinstance(text, str) and set(text) & set("\t\r\n")), None)
    if odd is not None:
        raise AnnotationError(f"cannot write a label with a tab or a line break: {odd!r}; to_csv quotes it")
    if set(heading) - set(kind.usual_order):
        rows.insert(0, heading)
    text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
    Path(path).write_text(text, encoding="utf-8", newline="")


def to_csv(annotation: Annotation | xr.Dataset, path: str | os.PathLike[str]) -> None:
    """Write an annotation as CSV that `mirflow.load` and spreadsheets read: a header, and one row per item.

    Parameters
    ----------
    annotation : Annotation or xr.Dataset
        As for `to_lab`. Multiple pitches over time have one row per frame and no header.
    path : path
        An existing file is replaced. Readers expect the suffix ``.csv``.

    Raises
    ------
    AnnotationError
        If the kind cannot be written as a table.

    Examples
    --------
    >>> import tempfile
    >>> beats = Annotation("events", {"time": np.array([0.5, 1.0])}, ["1", "2"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_csv(beats, f"{folder}/a.csv")
    ...     Path(f"{folder}/a.csv").read_text()
    'time,label\\n0.5,1\\n1.0,2\\n'
    """
    kind, heading, rows = _rows_of(annotation)
    if not kind.dims[1:]:
        rows.insert(0, heading)
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    Path(path).write_text(text.getvalue(), encoding="utf-8", newline="")


def _rows_of(annotation: Annotation | xr.Dataset) -> tuple[Kind, list[str], list[Sequence[object]]]:
    """The kind, names of the columns in the usual order, and the rows; a row of multiple pitches is a frame."""
    plain = annotation if isinstance(annotation, Annotation) else from_dataset(annotation)
    writable = ("events", "hits", "intervals", "notes", "series", "multipitch")
    if plain.kind not in writable:
        raise AnnotationError(f"cannot write {plain.kind} as a table; supported kinds are {', '.join(writable)}")
    columns: dict[str, Sequence[object]] = {name: values.tolist() for name, values in plain.columns.items()}
    if plain.labels and any(plain.labels):
        columns["label"] = plain.labels
    usual = plain.schema.usual_order
    named = sorted(columns, key=lambda name: usual.index(name) if name in usual else len(usual))
    if plain.inner_counts:
        parts = np.split(plain.columns["frequency"], np.cumsum(plain.inner_counts[0])[:-1]) if len(plain) else []
        frames = zip(columns["time"], parts, strict=True)
        return plain.schema, ["time", "frequency"], [(time, *part.tolist()) for time, part in frames]
    return plain.schema, named, list(zip(*(columns[name] for name in named), strict=True))
