"""Notes, pitch over time and several pitches over time from delimited text.

Melodies and multiple pitches have ten thousands of rows, so tables of numbers are converted as a whole; what is
irregular goes row by row, to find the line of the problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from pathlib import Path

import numpy as np

from ..annotations.annotation import Annotation, Attribute
from ..errors import InvalidAnnotationError
from ..ragged import Column, Int
from .content import decode
from .fields import Layout, find_layout, find_separator, in_units, is_header, parse_rows, sniff, without_rows
from .headings import demand_frames
from .hertz import to_hertz
from .layouts import SAMPLE, demand_numbers, guess_task, look
from .options import DelimitedOptions

_SNIFFED = DelimitedOptions()


def parse_pitched(
    data: bytes,
    kind: str,
    format: str,
    options: DelimitedOptions = _SNIFFED,
    name: str | Path = "<bytes>",
    *,
    task: str | None = None,
) -> Annotation:
    """Notes or a pitch over time from the bytes of a delimited file.

    Parameters
    ----------
    data : bytes
    kind : {"notes", "series"}
        Rows of start, end and pitch, or of time and frequency, unless `options` or a header say otherwise.
    format : {"lab", "txt", "csv", "tsv"}
    options : DelimitedOptions
    name : path
        What to call the file in messages, and its ``source``.
    task : str or None
        Whose columns rows without a header have; None: any of the kind.

    Returns
    -------
    Annotation
        Times in seconds and pitches in Hz, in the order of the file, not checked.

    Raises
    ------
    UnreadableError
        If the bytes are not text.
    InvalidAnnotationError
        For a row with too few columns or others than the task has, or a field that is not a number, with its line.

    Examples
    --------
    >>> melody = parse_pitched(b"0.00 440.0\\n0.01 -220.0\\n", "series", "txt")
    >>> melody.columns["frequency"].tolist()
    [440.0, -220.0]
    >>> notes = parse_pitched(b"0.5,1.0,69\\n", "notes", "csv", DelimitedOptions(pitch_unit="MIDI"))
    >>> notes.columns["pitch"].tolist()
    [440.0]
    """
    text = decode(data, name, options.encoding)
    attrs: dict[str, Attribute] = {"source": str(name)}
    separator = find_separator(text, format, options)
    plain = _parse_plain(text, kind, separator, options, attrs, name, task)
    return parse_rows(text, kind, separator, options, attrs, name, task=task) if plain is None else plain


def _parse_plain(
    text: str,
    kind: str,
    separator: str | None,
    options: DelimitedOptions,
    attrs: Mapping[str, Attribute],
    name: str | Path,
    task: str | None,
) -> Annotation | None:
    """The fast path: after comments and perhaps a header, nothing but rows of numbers; None if it is not like that."""
    lines = text.rstrip().split("\n")
    start = _first_row(lines, options.comment)
    if start == len(lines):
        return without_rows(kind, attrs)
    layout, has_header = find_layout(lines[start], kind, separator, options, name, start + 1, task=task)
    start += has_header
    if "label" in layout.places or start == len(lines):
        return None
    delimiter = None if layout.separator == "whitespace" else layout.separator
    told = has_header or bool(options.columns)
    places = list(layout.places.values())
    try:
        table = np.loadtxt(
            StringIO("\n".join(lines[start:])),
            comments=None,
            delimiter=delimiter,
            usecols=tuple(places) if told else None,
            ndmin=2,
        )
    except ValueError:
        return None
    if told:
        places = list(range(len(places)))
    elif table.shape[1] < len(places):
        return None
    else:
        first = Layout({}, layout.separator, -1).split(lines[start])
        demand_numbers(table, kind, task, first, start + 1, name)
    if len(table) != len(lines) - start:  # blank lines, so that rows are not lines
        return None
    columns: dict[str, Column] = {
        column: np.ascontiguousarray(table[:, place]) for column, place in zip(layout.places, places, strict=True)
    }
    columns = in_units(columns, kind, options, len(table))
    return Annotation(kind, columns, lines=range(start + 1, len(lines) + 1), attrs=attrs)


def _first_row(lines: list[str], comment: str) -> int:
    """The first line that is neither blank nor a comment."""
    for place, line in enumerate(lines):
        row = line.strip()
        if row and not (comment and row.startswith(comment)):
            return place
    return len(lines)


def parse_multipitch(
    data: bytes, format: str, options: DelimitedOptions = _SNIFFED, name: str | Path = "<bytes>"
) -> Annotation:
    """Several pitches over time from the bytes of a delimited file: a time and any number of pitches in each row.

    Parameters
    ----------
    data, format, options, name
        As for `parse_pitched`; of the options `columns` has no meaning here.

    Returns
    -------
    Annotation
        Of kind ``multipitch``. A row that holds a time only is a frame in which nothing sounds. Pitches stand as they
        are written, zeros too.

    Raises
    ------
    UnreadableError
        If the bytes are not text.
    InvalidAnnotationError
        For a field that is not a number, with its line.

    Examples
    --------
    >>> frames = parse_multipitch(b"0.00 220.0 440.0\\n0.01\\n0.02 330.0\\n", "txt")
    >>> frames.columns["frequency"].tolist(), frames.inner_counts[0].tolist()
    ([220.0, 440.0, 330.0], [2, 0, 1])
    """
    lines = decode(data, name, options.encoding).rstrip().split("\n")
    attrs: dict[str, Attribute] = {"source": str(name)}
    start = _first_row(lines, options.comment)
    if start == len(lines):
        return _frames(np.zeros(0), np.zeros(0, dtype=np.int64), [], options, attrs)
    separator = find_separator(lines[start], format, options) or sniff(lines[start])
    if options.has_decimal_commas(separator):
        lines = [line.replace(",", ".") for line in lines]
    if separator not in ("whitespace", "\t"):
        lines = [line.replace(separator, " ") for line in lines]
    head = lines[start].split()
    has_header = options.header if options.header is not None else is_header(head)
    if has_header and options.header is None:
        demand_frames(head, name, start + 1)
    start += has_header
    rows = list(map(str.split, lines[start:]))
    if options.comment:
        rows = [[] if row and row[0].startswith(options.comment) else row for row in rows]
    counts = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    try:
        numbers = np.array([float(field) for row in rows for field in row], dtype=np.float64)
    except ValueError:
        raise _not_a_number(rows, start, name) from None
    filled = np.flatnonzero(counts)
    some = counts[filled[:SAMPLE]]
    if not has_header and len(some) and (some == some[0]).all():  # else they are no rows of another task
        table, first = numbers[: int(some.sum())].reshape(len(some), -1), int(filled[0])
        demand_numbers(table, "multipitch", "multipitch", rows[first], start + first + 1, name)
    return _frames(numbers, counts[filled], (filled + start + 1).tolist(), options, attrs)


def _frames(
    numbers: Column, counts: Int, lines: list[int], options: DelimitedOptions, attrs: Mapping[str, Attribute]
) -> Annotation:
    """Frames from the numbers of all rows one after the other: the first of each row is its time."""
    first = np.zeros(len(numbers), dtype=np.bool_)
    first[np.cumsum(counts) - counts] = True
    columns = {
        "time": options.seconds(numbers[first]),
        "frequency": to_hertz(numbers[~first], "multipitch", options.pitch_unit),
    }
    return Annotation("multipitch", columns, None, (counts - 1,), lines, attrs)


def _not_a_number(rows: list[list[str]], start: int, name: str | Path) -> InvalidAnnotationError:
    """What is wrong with the first field that is no number."""
    for line, row in enumerate(rows, start + 1):
        for place, field in enumerate(row):
            try:
                float(field)
            except ValueError:
                what = "frequency" if place else "time"
                message = f"{what} is not a number: {field!r}{look(guess_task(rows), 'multipitch')}"
                return InvalidAnnotationError(message, path=name, line=line)
    raise AssertionError("every field is a number")
