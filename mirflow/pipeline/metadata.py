"""Metadata of tracks and systems: columns of one type each, under names that a store can hold."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import AnnotationError, suggest
from ..plan import Entry, Metadata
from ..readers.content import decode, read_bytes
from ..readers.fields import find_separator
from ..readers.options import DelimitedOptions
from ..readers.patterns import Pattern

MAX_VALUE = 4096
"""Bytes that the file of one value may have."""

# Names that a store gives to its own variables and dims.
_TAKEN = frozenset(
    {"track", "system", "metric", "score", "weight", "status", "repairs", "message", "digest", "stamp", "duration"}
    | {
        "annotator",
        "title",
        "unit",
        "orientation",
        "pooling",
        "aggregates",
        "standard_aggregate",
        "version",
        "weight_unit",
    }
)
_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d{0,15})")


class MetadataError(ValueError):
    """A table of metadata cannot be used; the message says why."""


def column_name(name: str) -> str:
    """A column's name in a store: letters, digits and underscores, and none of the store's own names.

    Examples
    --------
    >>> column_name("Time Signature"), column_name("duration")
    ('Time_Signature', 'meta_duration')
    """
    plain = re.sub(r"\W+", "_", name.strip()).strip("_") or "column"
    return f"meta_{plain}" if plain in _TAKEN else plain


def typed(texts: Sequence[str]) -> tuple[Entry, ...]:
    """A column of texts as whole numbers, numbers, or text; empty ones as None. Leading zeros make text of it.

    Examples
    --------
    >>> typed(["1", "2", ""]), typed(["0.5", "1"]), typed(["007", "8"])
    ((1, 2, None), (0.5, 1.0), ('007', '8'))
    """
    texts = [text.strip() for text in texts]
    told = [text for text in texts if text]
    if told and all(_WHOLE.fullmatch(text) for text in told):
        return tuple(int(text) if text else None for text in texts)
    if told and all(_NUMBER.fullmatch(text) for text in told):
        return tuple(float(text) if text else None for text in texts)
    return tuple(text or None for text in texts)


def read_tracks(path: str | Path, tracks: Sequence[str], key: str = "track") -> Metadata:
    """Columns of a csv file about the given tracks, in their order.

    Parameters
    ----------
    path : path
        With a header.
    tracks : sequence of str
    key : str
        The column that holds the tracks' names.

    Raises
    ------
    MetadataError
        If there is no such file or column, a track stands twice, or none of the tracks is in it.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise MetadataError(f"{str(path)!r} cannot be read: {reason}") from None
    try:
        # The reader splits lines itself: other separators, such as U+2028, are text, and so are line ends in quotes.
        separator = find_separator(text, "csv", DelimitedOptions(comment="")) or ","
        table_rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        rows = [row for row in table_rows if any(field.strip() for field in row)]
    except csv.Error as error:
        raise MetadataError(f"{str(path)!r} cannot be read: {error}") from None
    header = [field.strip() for field in rows[0]] if rows else []
    if key not in header:
        raise MetadataError(f"{str(path)!r} has no column {key!r}; {suggest(key, header)}")
    named = header.index(key)
    table: dict[str, list[str]] = {}
    for row in rows[1:]:
        name = row[named].strip() if named < len(row) else ""
        if name in table:
            raise MetadataError(f"{str(path)!r} has the track {name!r} twice")
        table[name] = row
    if tracks and not any(track in table for track in tracks):
        example = next(iter(table), "")
        raise MetadataError(f"{str(path)!r} has none of the tracks: it has {example!r}, the files {tracks[0]!r}")
    columns: dict[str, tuple[Entry, ...]] = {}
    for place, title in enumerate(header):
        if place != named and title:
            texts = [table[track][place] if place < len(table.get(track, ())) else "" for track in tracks]
            columns[column_name(title)] = typed(with_points(texts) if separator == ";" else texts)
    return columns


def with_points(texts: Sequence[str]) -> Sequence[str]:
    """A column of numbers with points for the commas before decimals; other texts as they are.

    Examples
    --------
    >>> with_points(["0,5", "1"]), with_points(["0,5", "Queen"])
    (['0.5', '1'], ['0,5', 'Queen'])
    """
    points = [text.replace(",", ".") for text in texts]
    return points if all(not text.strip() or _NUMBER.fullmatch(text.strip()) for text in points) else texts


def read_values(pattern: str, root: str | Path, tracks: Sequence[str]) -> tuple[Entry, ...]:
    """A column whose values stand in one small text file for each track; None where a track has no file.

    Raises
    ------
    MetadataError
        If none of the tracks has a file, or a file cannot be read, is larger than a value may be, or is not UTF-8.
    """
    texts: dict[str, str] = {}
    try:
        for match in Pattern(pattern).find(root):
            data = read_bytes(match.path, MAX_VALUE, match.name)
            texts[match.values[0]] = " ".join(decode(data, match.name).split())
    except AnnotationError as error:
        raise MetadataError(str(error)) from None
    if tracks and not any(track in texts for track in tracks):
        raise MetadataError(f"no track has a file {pattern!r}; {Pattern(pattern).hint(root)}")
    return typed([texts.get(track, "") for track in tracks])


def tabulate(names: Sequence[str], entries: Mapping[str, Mapping[str, Entry]]) -> Metadata:
    """Metadata that stands by name as columns; a column of several types becomes text.

    Examples
    --------
    >>> tabulate(["KO1", "NG1"], {"KO1": {"year": 2013}})
    {'year': (2013, None)}
    """
    keys = dict.fromkeys(key for name in names for key in entries.get(name, {}))
    columns: dict[str, tuple[Entry, ...]] = {}
    for key in keys:
        values = [entries.get(name, {}).get(key) for name in names]
        types = {type(value) for value in values if value is not None}
        if types == {int, float}:
            values = [None if value is None else float(value) for value in values]
        elif len(types) > 1:
            values = [None if value is None else str(value) for value in values]
        columns[column_name(key)] = tuple(values)
    return columns
