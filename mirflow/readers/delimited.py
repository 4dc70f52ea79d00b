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
from .fields import parse_rows
from .options import DelimitedOptions

_SEPARATORS = {"csv": ",", "tsv": "\t"}
_TIMES = {"events": ("time",), "intervals": ("start", "end")}
_SNIFFED = DelimitedOptions()


def parse_delimited(
    data: bytes, kind: str, format: str, options: DelimitedOptions = _SNIFFED, name: str | Path = "<bytes>"
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

    Returns
    -------
    Annotation
        Times in seconds, as they stand: not sorted, not checked. Without a label column every label is empty; a file
        without rows gives no items.

    Raises
    ------
    UnreadableError
        If the bytes are not text.
    InvalidAnnotationError
        For a row with too few columns or a time that is not a number, with its line.

    Examples
    --------
    >>> chords = parse_delimited(b"0.0 1.5 C:maj\\n1.5 2.0 N\\n", "intervals", "lab")
    >>> chords.columns["end"].tolist(), chords.labels
    ([1.5, 2.0], ['C:maj', 'N'])
    """
    text = decode(data, name, options.encoding)
    attrs: dict[str, Attribute] = {"source": str(name)}
    separator = options.separator or _SEPARATORS.get(format)
    if not options.columns and not options.header:
        plain = _parse_plain(text, kind, separator, options.divisor, attrs)
        if plain is not None:
            return plain
    return parse_rows(text, kind, separator, options, attrs, name)


def _parse_plain(
    text: str, kind: str, separator: str | None, divisor: float, attrs: Mapping[str, Attribute]
) -> Annotation | None:
    """The fast path: every line a row of equal width, with the times first; None if the text is not like that."""
    names = _TIMES[kind]
    rows = _split(text.rstrip(), separator, len(names))
    try:
        fields = list(zip(*rows, strict=True))
        times = [np.array(list(map(float, column)), dtype=np.float64) for column in fields[: len(names)]]
    except ValueError:
        return None
    if len(times) < len(names):
        return None
    labels = _labels(fields[len(names)], separator) if len(fields) > len(names) else [""] * len(rows)
    if labels is None:
        return None
    return Annotation(kind, dict(zip(names, _seconds(times, divisor), strict=True)), labels, attrs=attrs)


def _split(text: str, separator: str | None, times: int) -> list[list[str]]:
    lines = text.split("\n")
    if separator is None or separator == "whitespace":
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


def _seconds(times: Sequence[Float], divisor: float) -> Sequence[Float]:
    return times if divisor == 1.0 else [time / divisor for time in times]
