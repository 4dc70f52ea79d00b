"""Delimited text row by row: headers, comments, quotes, other column orders, and the line of what is wrong."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..annotations.annotation import Annotation, Attribute
from ..annotations.schema import KINDS
from ..errors import InvalidAnnotationError, suggest
from ..ragged import Column, Float
from .headings import WAYS, demand_read, is_known, named_columns
from .hertz import to_hertz
from .layouts import NEEDED, demand_columns, guess_task, is_number, look
from .options import COLUMNS, KEYS, DelimitedOptions, Last

_SHOWN = 60
"""Characters of a row that a message shows."""

_QUOTED = re.compile(r'"[^"]*"')
_DECIMAL = re.compile(r"[+-]?\d+,\d+")
_DEFAULT = {
    "events": {"time": 0, "label": 1},
    "positions": {"time": 0, "label": 1},
    "bars": {"time": 0, "label": 1, "bar": 2},
    "intervals": {"start": 0, "end": 1, "label": 2},
    "notes": {"start": 0, "end": 1, "pitch": 2},
    "series": {"time": 0, "frequency": 1},
    "labels": {"label": 0, "value": 1},
    "ranking": {"label": 0},
    "judgements": {"label": 0, "grader": 1, "broad": 2, "value": 3},
    "following": {"time": 0, "detected": 1, "position": 2, "pitch": 3},
}
# What rows of at most so many columns hold: the lists of systems, and alignments without times of detection.
_NARROW = {
    "judgements": (2, {"label": 0, "value": 1}),
    "following": (3, {"time": 0, "position": 1, "pitch": 2}),
}
_LISTS = ("labels", "ranking", "judgements", "following")
"""Kinds of which the rows may end before the optional columns."""
_TEXTS = ("grader", "broad")
_TIMES = ("time", "start", "end", "duration", "detected", "position")
_PITCHES = ("pitch", "frequency")
# Kinds of which a further column may be one thing or another, so that it is not guessed at.
_UNCLEAR = {"ranking": "the rank, the score or the grade"}


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each column stands, how a line is split, and how many splits keep the last column whole."""

    places: Mapping[str, int]
    separator: str
    splits: int

    def split(self, line: str) -> list[str]:
        """The fields of a line, without blanks around them."""
        if self.separator == "whitespace":
            fields = line.split(None, self.splits)
            # Blanks may belong to a label, tabs do not: what follows one is a further column.
            return [field.partition("\t")[0].strip() for field in fields]
        if '"' in line:
            try:
                fields = next(csv.reader([line], delimiter=self.separator, skipinitialspace=True))
            except csv.Error as error:
                raise InvalidAnnotationError(f"a row cannot be split: {error}: {line[:_SHOWN]!r}...") from None
            return [field.strip() for field in fields]
        return [field.strip() for field in line.split(self.separator, self.splits)]


def parse_rows(
    text: str,
    kind: str,
    separator: str | None,
    options: DelimitedOptions,
    attrs: Mapping[str, Attribute],
    name: str | Path,
    layout: str = "",
    *,
    task: str | None = None,
    numbered: bool = True,
) -> Annotation:
    """An annotation from decoded text, whatever its layout; see :func:`mirflow.readers.delimited.parse_delimited`.

    Rows without a header hold columns of the `task` and no others. Where numbers beside names count (`numbered`), a
    column of them has to be known or declared.
    """
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if options.comment:
        lines = [(number, line) for number, line in lines if not line.lstrip().startswith(options.comment)]
    if not lines:
        return without_rows(kind, attrs)
    places, has_header = find_layout(lines[0][1], kind, separator, options, name, lines[0][0], layout, task=task)
    if has_header and numbered:
        demand_numbers_read(lines, kind, places, options, name)
    rows = [(number, places.split(line)) for number, line in lines[has_header:]]
    if kind == "events":
        _demand_points(rows, places, options, name)
    if options.columns:
        return as_annotation(kind, rows, places, options, attrs, name)
    if not has_header and layout != "bars":  # who asks for bars says what the columns are
        split = Layout({}, places.separator, -1).split if kind in NEEDED else places.split
        whole = [(number, split(line)) for number, line in lines]
        demand_columns(whole, kind, task, max(places.places.values()) + 1, name)
    try:
        return as_annotation(kind, rows, places, options, attrs, name)
    except InvalidAnnotationError as error:
        hint = look(guess_task([fields for _, fields in rows]), kind)
        raise InvalidAnnotationError(error.message + hint, path=error.path, line=error.line) from None


def _demand_points(
    rows: Sequence[tuple[int, Sequence[str]]], layout: Layout, options: DelimitedOptions, name: str | Path
) -> None:
    """Raise if commas between times and labels may as well stand before the decimals of the times."""
    if layout.separator != "," or options.delimiter is not None or options.columns:
        return
    whole = [fields for _, fields in rows if len(fields) == 2 and all(field.isdecimal() for field in fields)]
    if len(whole) == len(rows) and len({fields[0] for fields in whole}) < len(rows):
        message = "commas may stand before decimals or between columns: declare decimal: ',' or delimiter: comma"
        raise InvalidAnnotationError(f"{message}: {','.join(whole[0])!r}", path=name, line=rows[0][0])


def without_rows(kind: str, attrs: Mapping[str, Attribute]) -> Annotation:
    """The annotation of a file that holds nothing."""
    needed = [name for name in KINDS[kind].required if name != "label"]
    labels: list[str] | None = [] if "label" in KINDS[kind].required else None
    return Annotation(kind, {column: np.zeros(0) for column in needed}, labels, lines=(), attrs=attrs)


def find_layout(
    first: str,
    kind: str,
    separator: str | None,
    options: DelimitedOptions,
    name: str | Path,
    line: int,
    layout: str = "",
    *,
    task: str | None = None,
    keyed: bool = False,
) -> tuple[Layout, bool]:
    """How a file is laid out, by its first row (on that line), and whether this is a header.

    In a `keyed` file columns tell which track, system or annotator each row is about. The `task` is for messages.
    """
    separator = separator or sniff(first.replace(",", ".") if options.decimal == "," else first)
    head = Layout({}, separator, -1).split(first)
    has_header = is_header(head, kind, keyed=keyed) if options.header is None else options.header
    places = _places(kind, layout, options, head, task, name, line, header=has_header, keyed=keyed)
    return _layout(kind, layout, separator, places, head if has_header else None, name), has_header


def demand_numbers_read(
    lines: Sequence[tuple[int, str]], kind: str, layout: Layout, options: DelimitedOptions, name: str | Path
) -> None:
    """Raise if a header, the first of some lines, keeps numbers from being read that scores depend on.

    Who declares columns says which are read.
    """
    if not options.columns:
        number, header = lines[0]
        rows = (layout.split(line) for _, line in lines[1:])
        demand_read(kind, layout.split(header), rows, layout.places, name, number)


def boundaries(starts: Float, labels: list[str], last: Last) -> tuple[dict[str, Column], list[str]]:
    """Intervals that last until the next one starts, and their labels."""
    if last == "keep":
        return {"start": starts, "end": np.append(starts[1:], starts[-1:])}, labels
    return {"start": starts[:-1], "end": starts[1:]}, labels[:-1]


def find_separator(text: str, format: str, options: DelimitedOptions) -> str | None:
    """What stands between columns, as declared or by the format of a file; None where `sniff` has to tell.

    Examples
    --------
    >>> find_separator("0.5,kick", "csv", DelimitedOptions()), find_separator("0,5;kick", "csv", DelimitedOptions())
    (',', ';')
    """
    if options.separator is not None or format not in ("csv", "tsv"):
        return options.separator
    if format == "tsv":
        return "\t"
    for separator in (";", "\t"):
        if separator in text:
            first = next((row for row in text.split("\n") if row.strip() and not _is_comment(row, options)), "")
            start, found, _ = _QUOTED.sub("", first).partition(separator)
            # Of a comma in front of it this is a comma between columns, unless it stands before decimals.
            if found and ("," not in start or _DECIMAL.fullmatch(start.strip())):
                return separator
    return "whitespace" if options.decimal == "," else ","


def _is_comment(line: str, options: DelimitedOptions) -> bool:
    return bool(options.comment) and line.lstrip().startswith(options.comment)


def sniff(line: str) -> str:
    """Blanks, unless the line only makes sense split by another separator.

    Examples
    --------
    >>> sniff("0.0 1.5 C:maj"), sniff("0.0,1.5,C:maj(9,11)"), sniff("0,0;1,5;C:maj"), sniff("0,0 1,5 C:maj")
    ('whitespace', ',', ';', 'whitespace')
    """
    for separator in ("whitespace", ";", ","):
        fields = Layout({}, separator, -1).split(line)
        decimal = len(fields) > 1 and _DECIMAL.fullmatch(fields[0])
        if is_number(fields[0]) or decimal or (separator != "whitespace" and is_header(fields)):
            return separator
    return "whitespace"


def is_header(fields: Sequence[str], kind: str = "", *, keyed: bool = False) -> bool:
    """Whether fields are names of columns: none is a number, and one is a usual name."""
    return not any(map(is_number, fields)) and any(is_known(field, kind, keyed=keyed) for field in fields)


def _places(
    kind: str,
    layout: str,
    options: DelimitedOptions,
    first: Sequence[str],
    task: str | None,
    name: str | Path,
    line: int,
    *,
    header: bool,
    keyed: bool,
) -> dict[str, int]:
    """Where the columns stand: as declared, else as the header names them, else in the usual order."""
    names = first if header else None
    if options.columns:
        places = {column: _place(column, where, names, name, line) for column, where in options.columns}
    elif header:
        places = named_columns(kind, first, task, name, line, keyed=keyed)
    else:
        _demand_clear(kind, first, name, line, keyed=keyed)
        places = _usual(layout or kind, kind, first, keyed=keyed)
    if layout != "bars":
        places.pop("bar", None)
    known = (*COLUMNS[kind], *KEYS) if keyed else COLUMNS[kind]
    for column in places:
        if column not in known:
            raise InvalidAnnotationError(f"{kind} have no column {column!r}; {suggest(column, known)}", path=name)
    _demand_declared(kind, places, options, name, line)
    return places


def _demand_declared(
    kind: str, places: Mapping[str, int], options: DelimitedOptions, name: str | Path, line: int
) -> None:
    """Raise unless the columns are there that rows of the kind cannot do without."""
    counted = {"time"} if kind == "series" and options.hop else set()  # frames that are counted need no times
    ways = (("start",),) if kind in ("intervals", "hierarchy") else WAYS[kind]  # a list of boundaries has no ends
    wanted = [set(names) - counted for names in ways]
    if not any(names <= places.keys() for names in wanted):
        missing = min((sorted(names - places.keys()) for names in wanted), key=len)
        message = f"no column holds {' and '.join(map(repr, missing))}; declare it in columns"
        raise InvalidAnnotationError(message, path=name, line=line)


def _demand_clear(kind: str, first: Sequence[str], name: str | Path, line: int, *, keyed: bool) -> None:
    """Raise if columns are neither declared nor named, and may be one thing or another."""
    width = len(_DEFAULT[kind]) + keyed if kind in _UNCLEAR else len(first)
    if len(first) > width:
        message = f"{len(first)} columns without names, and {_UNCLEAR[kind]} may be meant: declare columns"
        raise InvalidAnnotationError(f"{message}: {' '.join(first)!r}", path=name, line=line)


def _usual(layout: str, kind: str, first: Sequence[str], *, keyed: bool) -> dict[str, int]:
    """The usual order of columns: of those that an annotation can do without, as many as the first row has."""
    width, narrow = _NARROW.get(layout, (0, {}))
    usual = narrow if len(first) - keyed <= width else _DEFAULT[layout]
    places = {column: place + keyed for column, place in usual.items()}
    if keyed:
        places = {"track": 0, **places}
    if kind not in _LISTS:
        return places
    optional = {variable.name for variable in KINDS[kind].variables if variable.optional}
    return {column: place for column, place in places.items() if column not in optional or place < len(first)}


def _layout(
    kind: str, layout: str, separator: str, places: Mapping[str, int], header: Sequence[str] | None, name: str | Path
) -> Layout:
    last = max(places.values())
    if separator == "\t" or layout:
        splits = -1
    elif header is not None:
        splits = max(len(header) - 1, last)
    else:
        # The label takes the rest of the line if it is the last column; else what follows is split off.
        splits = last if places.get("label") == last else last + 1
    return Layout(places, separator, splits)


def _place(column: str, where: int | str, header: Sequence[str] | None, name: str | Path, line: int) -> int:
    if isinstance(where, int):
        return where
    if header is None:
        raise InvalidAnnotationError(
            f"no header, so no column {where!r} for {column!r}; count columns from 0", path=name
        )
    if where not in header:
        raise InvalidAnnotationError(
            f"no column {where!r} for {column!r}; {suggest(where, header)}", path=name, line=line
        )
    return list(header).index(where)


def as_annotation(
    kind: str,
    rows: Sequence[tuple[int, list[str]]],
    layout: Layout,
    options: DelimitedOptions,
    attrs: Mapping[str, Attribute],
    name: str | Path,
) -> Annotation:
    """The rows of a file, or of one track in it, with their lines, as an annotation."""
    columns: dict[str, Column] = {}
    _demand_one_sign(rows, layout, options, name)
    for column in (column for column in layout.places if column != "label" and column not in KEYS):
        if column in _TEXTS:
            columns[column] = np.array([_text(fields, layout.places[column]) for _, fields in rows], dtype=np.str_)
            continue
        values = [_number(fields, layout, column, options, number, name) for number, fields in rows]
        columns[column] = np.array(values, dtype=np.float64)
    columns = in_units(columns, kind, options, len(rows))
    place = layout.places.get("label")
    labels: list[str] | None = [_text(fields, place) for _, fields in rows]
    if kind not in ("intervals", "labels", "ranking", "judgements") and (
        place is None or all(place >= len(fields) for _, fields in rows)
    ):
        labels = None
    lines = [number for number, _ in rows]
    if kind == "intervals" and "end" not in columns:
        columns, labels = boundaries(columns["start"], labels or [], options.last)
        lines = lines[: len(labels)]
    return Annotation(kind, columns, labels, lines=lines, attrs=attrs)


def _demand_one_sign(
    rows: Sequence[tuple[int, list[str]]], layout: Layout, options: DelimitedOptions, name: str | Path
) -> None:
    """Raise if some numbers have a point and others a comma, so that one of them may stand between thousands."""
    if options.decimal is not None or not options.has_decimal_commas(layout.separator):
        return
    places = [place for column, place in layout.places.items() if column not in (*KEYS, *_TEXTS, "label")]
    numbers = [(line, fields[place]) for line, fields in rows for place in places if place < len(fields)]
    point = next(((line, text) for line, text in numbers if "." in text), None)
    if point is not None and any(_DECIMAL.fullmatch(text) for _, text in numbers):
        message = f"other numbers have commas before their decimals, this one has a point: {point[1]!r}"
        raise InvalidAnnotationError(f"{message}; declare decimal: ',' or '.'", path=name, line=point[0])


def _text(fields: Sequence[str], place: int | None) -> str:
    return fields[place] if place is not None and place < len(fields) else ""


def in_units(columns: dict[str, Column], kind: str, options: DelimitedOptions, rows: int) -> dict[str, Column]:
    """Columns of a file in the units and the columns of the schema."""
    columns = {
        name: options.seconds(column)
        if name in _TIMES
        else to_hertz(column, kind, options.pitch_unit)
        if name in _PITCHES
        else column
        for name, column in columns.items()
    }
    if "duration" in columns:
        columns["end"] = columns["start"] + columns.pop("duration")
    if kind == "series" and "time" not in columns:
        columns["time"] = options.seconds(np.arange(rows, dtype=np.float64))
    return columns


def _number(
    fields: Sequence[str], layout: Layout, column: str, options: DelimitedOptions, line: int, name: str | Path
) -> float:
    place = layout.places[column]
    if place >= len(fields):
        needed = ", ".join(sorted(layout.places.keys() - {"label"}, key=layout.places.__getitem__))
        counted = f"{len(fields)} column{'s' if len(fields) != 1 else ''}"
        raise InvalidAnnotationError(f"has {counted}, needs {needed}: {' '.join(fields)!r}", path=name, line=line)
    text = fields[place]
    try:
        return float(text)
    except ValueError:
        pass
    has_comma = _DECIMAL.fullmatch(text)
    if has_comma and options.has_decimal_commas(layout.separator):
        return float(text.replace(",", "."))
    hint = "; if commas stand before decimals, declare decimal: ','" if has_comma else ""
    if column == "end" and "label" in layout.places and not has_comma:
        hint = "; if rows are a start and a label, declare columns: {start: 0, label: 1}"
    elif (
        len(fields) > 1
        and not any(map(is_number, fields))
        and options.header is None
        and not options.columns
        and not has_comma
    ):
        hint = "; if this is a header, none of its names is known: declare columns"
    raise InvalidAnnotationError(f"{column} is not a number: {text!r}{hint}", path=name, line=line)
