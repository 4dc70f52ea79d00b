"""Annotations from delimited text: lab, txt, csv and tsv files of events and intervals.

Well-formed files take the fast path, little more than splitting lines and converting numbers; anything irregular goes
to :mod:`mirflow.readers.fields`, which reads row by row and knows the line of every problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..annotations.annotation import Annotation, Attribute
from ..ragged import Float
from .content import decode
from .fields import boundaries, find_separator, parse_rows
from .layouts import are_plain
from .options import DelimitedOptions

_PLAIN = {"events": ("time",), "positions": ("time",), "bars": ("time",), "intervals": ("start", "end")}
_SNIFFED = DelimitedOptions()


def parse_delimited(
    data: bytes,
    kind: str,
    format: str,
    options: DelimitedOptions = _SNIFFED,
    name: str | Path = "<bytes>",
    *,
    layout: str = "",
    task: str | None = None,
) -> Annotation:
    """An annotation from the bytes of a delimited file.

    Parameters
    ----------
    data : bytes
    kind : {"events", "intervals"}
    format : {"lab", "txt", "csv", "tsv"}
    options : DelimitedOptions
    name : path
        What to call the file in messages, and its ``source``.
    layout : {"", "positions", "bars"}
        Of events: the second column is a position in the bar, so that a blank ends it; the third a bar's number.
    task : str or None
        Whose columns rows without a header have; None: any of the kind.

    Returns
    -------
    Annotation
        Times in seconds, as they stand: not sorted, not checked. Without a label column intervals have empty labels and
        events none; a file without rows gives no items.

    Raises
    ------
    UnreadableError
        If the bytes are not text.
    InvalidAnnotationError
        For a row with too few columns or others than the task has, or a time that is not a number, with its line.

    Examples
    --------
    >>> chords = parse_delimited(b"0.0 1.5 C:maj\\n1.5 2.0 N\\n", "intervals", "lab")
    >>> chords.columns["end"].tolist(), chords.labels
    ([1.5, 2.0], ['C:maj', 'N'])
    """
    text = decode(data, name, options.encoding)
    attrs: dict[str, Attribute] = {"source": str(name)}
    separator = find_separator(text, format, options)
    names = _plain_names(kind, options, layout)
    if names is not None:
        plain = _parse_plain(text, kind, names, separator, options, attrs, layout, task)
        if plain is not None:
            return plain
    return parse_rows(text, kind, separator, options, attrs, name, layout, task=task)


def _plain_names(kind: str, options: DelimitedOptions, layout: str) -> tuple[str, ...] | None:
    """The numbers that come first in every row, if the file is laid out so; the label then follows them."""
    if options.header:
        return None
    if not options.columns:
        return _PLAIN[layout or kind]
    return ("start",) if dict(options.columns) == {"start": 0, "label": 1} else None


def _parse_plain(
    text: str,
    kind: str,
    names: tuple[str, ...],
    separator: str | None,
    options: DelimitedOptions,
    attrs: Mapping[str, Attribute],
    layout: str,
    task: str | None,
) -> Annotation | None:
    """The fast path: every line a row of equal width, with the times first; None if the text is not like that."""
    text = text.rstrip()
    bare = None if layout == "bars" else _numbers(text, kind)
    if bare is not None:
        return Annotation(kind, {"time": options.seconds(bare)}, attrs=attrs)
    width = len(names)
    rows = _split(text, separator, width if not layout else width + 2)
    try:
        fields = list(zip(*rows, strict=True))
        columns = {
            name: options.seconds(np.array(list(map(float, column)), dtype=np.float64))
            for name, column in zip(names, fields, strict=False)
        }
        if layout == "bars":
            columns["bar"] = np.array(list(map(float, fields[width + 1])), dtype=np.float64)
    except (ValueError, IndexError):
        return None
    if len(columns) < width:
        return None
    labels = _labels(fields[width], separator) if len(fields) > width else _unlabelled(kind, len(rows))
    if labels is None and len(fields) > width:
        return None
    if not options.columns and not _is_of_task(fields[width:], kind, separator, task):
        return None
    if names == ("start",):
        columns, labels = boundaries(columns["start"], labels or [], options.last)
    return Annotation(kind, columns, labels, attrs=attrs)


def _is_of_task(fields: Sequence[Sequence[str]], kind: str, separator: str | None, task: str | None) -> bool:
    """Whether what follows the times are clearly labels of the task, and perhaps numbers of bars."""
    if not fields:
        return kind == "events"
    whole = all(number.isdecimal() for column in fields[1:] for number in set(column))
    comma = kind == "events" and separator == ","  # which may be that of decimals
    return not comma and (kind != "events" or whole) and are_plain(set(fields[0]), kind, task)


def _numbers(text: str, kind: str) -> Float | None:
    """Times that stand alone on their lines; None if the text is not like that."""
    if kind != "events":
        return None
    try:
        return np.array(list(map(float, text.split("\n"))), dtype=np.float64)
    except ValueError:
        return None


def _unlabelled(kind: str, rows: int) -> list[str] | None:
    return None if kind == "events" else [""] * rows


def _split(text: str, separator: str | None, times: int) -> list[list[str]]:
    lines = text.split("\n")
    if separator is None or separator == "whitespace":
        if " " not in text and "\t\t" not in text:
            return [line.split("\t") for line in lines]
        return [line.split(None, times) for line in lines]
    if separator == "\t":
        return [line.split("\t") for line in lines]
    return [line.split(separator, times) for line in lines]


def _labels(column: Sequence[str], separator: str | None) -> list[str] | None:
    """Labels as they stand, or None where one is quoted, padded, or followed by another column."""
    joined = "\n".join(column)
    if "\t" in joined or " \n" in joined or "\n " in joined or joined[:1] == " " or joined[-1:] == " ":
        return None
    if separator not in (None, "whitespace") and '"' in joined:
        return None
    return list(column)
