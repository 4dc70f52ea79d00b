"""Keys and tempi: kinds whose annotation of a track is one row, of a file of its own or of a table of tracks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ..annotations.account import Account
from ..annotations.annotation import Annotation, Attribute
from ..annotations.schema import KINDS
from ..errors import InvalidAnnotationError
from ..theory.keys import key_in_row
from .delimited import Layout, Row, find_place, split_line
from .layouts import TRACK_NAMES, has_only_names, heading, is_beside, is_number
from .options import KEYS, SINGLE_ROWS, Reading
from .unread_columns import report_header

ROW_HEADINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "key": ("key", "global_key", "manual_key", "tonic", "label"),
        "mode": ("mode", "scale"),
        "tempo": ("tempo", "bpm", "tempo1", "tempo_1", "t1", "bpm1", "bpm_1"),
        "second": ("tempo2", "tempo_2", "t2", "bpm2", "bpm_2"),
        "strength": ("strength", "salience", "relative_strength"),
    }
)
"""Names of columns in headers, in order of preference."""
NOTHING = frozenset(("", "-", "nan", "null", "none", "na", "n/a"))
"""Texts that say that a track has no key or no tempo."""
_ABOUT_KEYS = ("strength", "salience", "c")
"""Columns beside keys that are left out by declaration: their confidence."""


class SingleRow(Layout):
    """Layout of rows each of which is the annotation of a track."""

    def annotation(self, rows: Sequence[Row], attrs: Mapping[str, Attribute]) -> Annotation:
        """The key or the tempi in the only row of a track."""
        kind, name = self.kind.name, self.name
        if len(rows) > 1:
            line, fields = rows[1]
            message = f"expected one row of each track, but found another one: {' '.join(fields)!r}"
            raise InvalidAnnotationError(message, path=name, line=line)
        account = Account(name)
        if self.header is not None and self.unread:
            report_header(self.kind, self.header, self.places, self.unread, rows, account)
        line, fields = rows[0]
        held = {column: fields[place] if place < len(fields) else "" for column, place in self.places.items()}
        if kind == "key":
            text = held.get("key", held.get("label", ""))
            return key_of(f"{text} {held.get('mode', '')}".strip(), line, attrs, account)
        numbers = [held.get(column, "") for column in SINGLE_ROWS[kind]]
        return tempo_of(numbers, line, self.reading, name, attrs, account)


def key_of(text: str, line: int, attrs: Mapping[str, Attribute], account: Account | None = None) -> Annotation:
    """The key in the text of a row; no item if it says that there is none."""
    key = key_in_row(text.replace('"', ""))  # no key has quotes
    labels = [] if key.strip().lower() in NOTHING else [" ".join(key.split())]
    remarks = () if account is None else account.remarks
    return Annotation("key", {}, labels, lines=[line] * len(labels), attrs=attrs, account=remarks)


def tempo_of(
    fields: Sequence[str],
    line: int,
    reading: Reading,
    name: str,
    attrs: Mapping[str, Attribute],
    account: Account | None = None,
) -> Annotation:
    """One tempo or two, and perhaps the strength of the first, in the fields of a row.

    A text that says that there is none, such as ``nan``, is 0.

    Examples
    --------
    >>> both = tempo_of(["60", "nan", "1"], 1, Reading.of("tempo"), "a.txt", {})
    >>> both.columns["tempo"].tolist(), both.columns["salience"].tolist()
    ([60.0, 0.0], [1.0, 0.0])
    """
    first, second, strength = (*(text.strip() for text in fields), "", "")[:3]
    if reading.delimited.decimal == ",":
        first, second, strength = (text.replace(",", ".") for text in (first, second, strength))
    texts = [first, *([second] if second else [])] if first else []
    numbers = []
    for text in texts:
        if not is_number(text) and text.lower() not in NOTHING:
            raise InvalidAnnotationError(f"tempo is not a number: {text!r}", path=name, line=line)
        numbers.append(0.0 if text.lower() in NOTHING else float(text))
    columns = {"tempo": np.array(numbers, dtype=np.float64)}
    if strength and numbers:
        if not is_number(strength) or not 0 <= float(strength) <= 1:
            message = f"the strength of the first tempo is not between 0 and 1: {strength}"
            raise InvalidAnnotationError(message, path=name, line=line)
        columns["salience"] = np.array([float(strength), 1 - float(strength)])[: max(len(numbers), 1)]
    remarks = () if account is None else account.remarks
    return Annotation("tempo", columns, lines=[line] * len(numbers), attrs=attrs, account=remarks)


def find_single_row(
    first: str, line: int, reading: Reading, separator: str, name: str, *, keyed: bool = False
) -> SingleRow | None:
    """The layout of rows with declared columns, or below a header; None for a file of a bare row."""
    options, kind = reading.delimited, reading.kind
    head = split_line(first, separator)
    declared = dict(options.columns)
    named = [
        column for column in SINGLE_ROWS[kind] if any(heading(field) in ROW_HEADINGS.get(column, ()) for field in head)
    ]
    has_header = options.header
    if has_header is None:
        by_name = any(isinstance(where, str) for where in declared.values())
        has_header = by_name or (bool(named) and has_only_names([*head, ""]))
    header = head if has_header else None
    if declared:
        places = {column: find_place(column, where, header, name, line) for column, where in declared.items()}
    elif has_header:
        headings = [heading(field) for field in head]
        places = {
            column: next(headings.index(one) for one in ROW_HEADINGS[column] if one in headings) for column in named
        }
        if keyed:
            track = next((one for one in TRACK_NAMES if one in headings), None)
            places |= {"track": headings.index(track)} if track else {}
    else:
        return None
    if not {"key", "label", "tempo"} & places.keys():
        message = f"no column holds the {kind}; declare it in columns, such as columns: {{{kind}: 0}}"
        raise InvalidAnnotationError(message, path=name, line=line)
    unread = (
        ()
        if declared or header is None
        else tuple(
            place
            for place, text in enumerate(map(heading, header))
            if place not in places.values() and not is_beside(text, tracks=True) and text not in (*_ABOUT_KEYS, *KEYS)
        )
    )
    return SingleRow(KINDS[kind], reading, name, separator, places, -1, header, len(head), unread)
