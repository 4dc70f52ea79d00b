"""Metadata of tracks and systems: columns of one type each, under names that a store can hold."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import suggest
from ..plan import Entry, Metadata

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


def read_tracks(path: str | Path, tracks: Sequence[str]) -> Metadata:
    """Columns of a csv file about the given tracks, in their order.

    Parameters
    ----------
    path : path
        With a header, and a column ``track``.
    tracks : sequence of str

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
    rows = [row for row in csv.reader(text.splitlines()) if any(field.strip() for field in row)]
    header = [field.strip() for field in rows[0]] if rows else []
    if "track" not in header:
        raise MetadataError(f"{str(path)!r} has no column 'track'; {suggest('track', header)}")
    key = header.index("track")
    table: dict[str, list[str]] = {}
    for row in rows[1:]:
        name = row[key].strip() if key < len(row) else ""
        if name in table:
            raise MetadataError(f"{str(path)!r} has the track {name!r} twice")
        table[name] = row
    if tracks and not any(track in table for track in tracks):
        example = next(iter(table), "")
        raise MetadataError(f"{str(path)!r} has none of the tracks: it has {example!r}, the files {tracks[0]!r}")
    columns: dict[str, tuple[Entry, ...]] = {}
    for place, title in enumerate(header):
        if place != key and title:
            texts = [table[track][place] if place < len(table.get(track, ())) else "" for track in tracks]
            columns[column_name(title)] = typed(texts)
    return columns


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
