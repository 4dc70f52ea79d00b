"""Files of one row: a track's key, or its tempi."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..annotations.annotation import Annotation, Attribute
from ..errors import InvalidAnnotationError
from ..ragged import Column
from .content import decode
from .layouts import guess_task, look
from .options import DelimitedOptions

_SNIFFED = DelimitedOptions()


def parse_key(data: bytes, options: DelimitedOptions = _SNIFFED, name: str | Path = "<bytes>") -> Annotation:
    """The key in the bytes of a file such as ``C minor``.

    Returns
    -------
    Annotation
        Of kind ``key``: the label is what stands there, with one blank for several.

    Raises
    ------
    InvalidAnnotationError
        If there is more than one row, or one of tempi.

    Examples
    --------
    >>> parse_key(b"Gb\\tmajor\\n").labels
    ['Gb major']
    """
    rows = _rows(data, options, name, "key", "a key")
    attrs: dict[str, Attribute] = {"source": str(name)}
    labels = [" ".join(text.split()) for _, text in rows]
    guess = guess_task([label.split() for label in labels])
    if guess == "tempo":
        raise InvalidAnnotationError(f"not a key: {labels[0]!r}{look(guess, 'key')}", path=name, line=rows[0][0])
    return Annotation("key", {}, labels, lines=[line for line, _ in rows], attrs=attrs)


def parse_tempo(data: bytes, options: DelimitedOptions = _SNIFFED, name: str | Path = "<bytes>") -> Annotation:
    """The tempi in the bytes of a file such as ``60 120 0.25``.

    Returns
    -------
    Annotation
        Of kind ``tempo``: one tempo, or two; in beats a minute. A third number is the relative strength of the first:
        their ``salience`` is then that number and what it lacks of 1.

    Raises
    ------
    InvalidAnnotationError
        If there is more than one row, other than one to three numbers, or a strength outside of 0 to 1.

    Examples
    --------
    >>> both = parse_tempo(b"60.0\\t120.0\\t0.25\\n")
    >>> both.columns["tempo"].tolist(), both.columns["salience"].tolist()
    ([60.0, 120.0], [0.25, 0.75])
    """
    rows = _rows(data, options, name, "tempo", "the tempi of a track")
    attrs: dict[str, Attribute] = {"source": str(name)}
    if not rows:
        return Annotation("tempo", {"tempo": np.zeros(0)}, attrs=attrs, lines=())
    line, text = rows[0]
    separator = options.separator or (";" if ";" in text else None)
    if options.has_decimal_commas(separator or ""):
        text = text.replace(",", ".")
    fields = (text.replace(",", " ") if separator in (None, "whitespace") else text.replace(separator, " ")).split()
    try:
        numbers = [float(field) for field in fields]
    except ValueError:
        raise InvalidAnnotationError(f"not one or two tempi and a strength: {text!r}", path=name, line=line) from None
    if len(numbers) > 3:
        raise InvalidAnnotationError(f"one or two tempi and a strength, not {text!r}", path=name, line=line)
    columns: dict[str, Column] = {"tempo": np.array(numbers[:2], dtype=np.float64)}
    if len(numbers) == 3:
        strength = numbers[2]
        if not 0 <= strength <= 1:
            message = f"the strength of the first tempo is not between 0 and 1: {fields[2]}"
            raise InvalidAnnotationError(message, path=name, line=line)
        columns["salience"] = np.array([strength, 1 - strength])
    return Annotation("tempo", columns, lines=[line] * len(columns["tempo"]), attrs=attrs)


def _rows(data: bytes, options: DelimitedOptions, name: str | Path, kind: str, what: str) -> list[tuple[int, str]]:
    """The one row of a file with its line; none if it is empty."""
    lines = enumerate(decode(data, name, options.encoding).split("\n"), 1)
    rows = [(number, line.strip()) for number, line in lines if line.strip()]
    if options.comment:
        rows = [(number, text) for number, text in rows if not text.startswith(options.comment)]
    if len(rows) > 1:
        hint = look(guess_task([text.replace(",", " ").split() for _, text in rows]), kind)
        message = f"a file holds {what} in one row, but here is another: {rows[1][1]!r}{hint}"
        raise InvalidAnnotationError(message, path=name, line=rows[1][0])
    return rows
