"""Text of kinds with a fixed layout: keys, tempi, multiple pitches over time, patterns, and notations.

Keys and tempi are one row of a track, in a file for each track or in a table of tracks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ..annotations.account import Account
from ..annotations.annotation import Annotation, Attribute
from ..annotations.arrays import is_number
from ..annotations.schema import KINDS
from ..errors import InvalidAnnotationError
from ..theory.keys import key_in_row
from ..theory.pitch import to_hertz
from .content import decode
from .delimited import Layout, Row, demand_midi, find_place, find_separator, first_row, number_lines, sniff, split_line
from .doubts import report_header
from .layouts import (
    SAMPLE,
    TRACK_NAMES,
    are_numbers_of,
    declare_columns,
    demand_frames,
    guess_task,
    has_only_names,
    heading,
    is_beside,
    is_header,
    look,
    refusal,
)
from .options import KEYS, SINGLE_ROWS, Reading


def parse_key(data: bytes, reading: Reading, format: str = "txt", name: str | Path = "<bytes>") -> Annotation:
    """Parse a key such as ``C minor``; runs of blanks become one.

    Tonic and mode may be two columns, and a confidence may follow, as may rows of Isophonics, if all have the same key.
    """
    attrs: dict[str, Attribute] = {"source": str(name)}
    rows = _rows_of_track(data, reading, format, name, "a key")
    if isinstance(rows, Annotation):
        return rows
    if not rows:
        return Annotation(reading.kind, {}, [], lines=[], attrs=attrs)
    line, text = rows[0]
    spans = [_SPAN_OF_KEY.fullmatch(text) for _, text in rows]
    if all(spans):
        keys = dict.fromkeys(span["key"].strip() for span in spans if span and span["key"])
        if len(keys) > 1:
            message = f"holds {len(keys)} keys ({', '.join(keys)}), but a track has one: use task local_key"
            raise InvalidAnnotationError(message, path=name, line=line)
        return key_of(next(iter(keys), ""), line, attrs)
    _demand_one_row(rows, reading, name, "a key")
    found = key_of(text, line, attrs)
    guess = guess_task([label.split() for label in found.labels or ()])
    if guess == "tempo":
        raise InvalidAnnotationError(f"not a key: {text!r}{look(guess, KINDS[reading.kind])}", path=name, line=line)
    return found


_SPAN_OF_KEY = re.compile(r"[\d.]+\s+[\d.]+\s+(?:[Kk]ey\s+(?P<key>\S.*)|[Ss]ilence)")
"""A row of Isophonics: start, end, the word Key, and the key; or silence."""
_ROW_OF_TEMPO = re.compile(r"tempo\s+\S+\s+(?P<tempo>\S+)", re.IGNORECASE)
"""A row of GiantSteps: the word tempo, a time, and the tempo from there on."""


def parse_tempo(data: bytes, reading: Reading, format: str = "txt", name: str | Path = "<bytes>") -> Annotation:
    """Parse one tempo or two, in beats per minute, such as ``60 120 0.25``.

    A third number is the relative strength of the first tempo: the values of ``salience`` are then that number and its
    difference from 1.
    """
    options, attrs = reading.delimited, {"source": str(name)}
    rows = _rows_of_track(data, reading, format, name, "the tempi of a track")
    if isinstance(rows, Annotation):
        return rows
    if not rows:
        return Annotation(reading.kind, {"tempo": np.zeros(0)}, attrs=attrs, lines=())
    _demand_one_row(rows, reading, name, "the tempi of a track")
    line, text = rows[0]
    separator = options.separator or (";" if ";" in text else None)
    if options.has_decimal_commas(separator or ""):
        text = text.replace(",", ".")
    words = _ROW_OF_TEMPO.fullmatch(text)
    comma = "," if separator in (None, "whitespace") else separator
    fields = [words["tempo"]] if words else text.replace(comma, " ").split()
    if len(fields) > 3 or not all(is_number(field) or field.lower() in NOTHING for field in fields):
        raise InvalidAnnotationError(f"expected one or two tempi and a strength, not {text!r}", path=name, line=line)
    return tempo_of(fields, line, reading, str(name), attrs)


def _rows_of_track(
    data: bytes, reading: Reading, format: str, name: str | Path, what: str
) -> list[tuple[int, str]] | Annotation:
    """The rows of a file; or its annotation, if columns are declared or named by a header."""
    text = decode(data, name, reading.delimited.encoding)
    rows = [(number, row.strip()) for number, row in number_lines(text, reading.delimited.comment)]
    if not rows:
        return []
    line, first = rows[0]
    separator = find_separator(text, format, reading.delimited)
    if separator is None:
        separator = next((one for one in "\t,;" if one in first), "whitespace")
    layout = find_single_row(first, line, reading, separator, str(name))
    if layout is None:
        return rows
    rows = rows[layout.header is not None :]
    track = next((field for field in layout.header or () if heading(field) in TRACK_NAMES), None)
    if len(rows) > 1 and track is not None and layout.header is not None:
        named = {column: layout.header[place] for column, place in layout.places.items()}
        message = f"holds keys or tempi of many tracks: declare {declare_columns({'track': track, **named})}"
        raise InvalidAnnotationError(message, path=name, line=line)
    _demand_one_row(rows, reading, name, what)
    if not rows:
        return []
    return layout.annotation([(number, layout.split(row)) for number, row in rows], {"source": str(name)})


def _demand_one_row(rows: list[tuple[int, str]], reading: Reading, name: str | Path, what: str) -> None:
    if len(rows) > 1:
        hint = look(guess_task([text.replace(",", " ").split() for _, text in rows]), KINDS[reading.kind])
        message = f"expected {what} in a single row, but found another row: {rows[1][1]!r}{hint}"
        raise InvalidAnnotationError(message, path=name, line=rows[1][0])


def parse_multipitch(data: bytes, reading: Reading, format: str = "txt", name: str | Path = "<bytes>") -> Annotation:
    """Parse multiple pitches over time: each row has a time and any number of pitches.

    A row with only a time is a silent frame. Pitches are kept as written, including zeros.

    Examples
    --------
    >>> frames = parse_multipitch(b"0.00 220.0 440.0\\n0.01\\n0.02 330.0\\n", Reading.of("multipitch"))
    >>> frames.columns["frequency"].tolist(), frames.inner_counts[0].tolist()
    ([220.0, 440.0, 330.0], [2, 0, 1])
    """
    options, kind = reading.delimited, KINDS[reading.kind]
    lines = decode(data, name, options.encoding).rstrip().split("\n")
    start = first_row(lines, options.comment)
    rows: list[list[str]] = []
    has_header = False
    if start < len(lines):
        separator = find_separator(lines[start], format, options) or sniff(lines[start])
        if options.has_decimal_commas(separator):
            lines = [line.replace(",", ".") for line in lines]
        if separator not in ("whitespace", "\t"):
            lines = [line.replace(separator, " ") for line in lines]
        head = lines[start].split()
        has_header = options.header if options.header is not None else is_header(head)
        if has_header and options.header is None:
            demand_frames(head, kind, name, start + 1)
        start += has_header
        rows = list(map(str.split, lines[start:]))
    if options.comment:
        rows = [[] if row and row[0].startswith(options.comment) else row for row in rows]
    counts = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    try:
        numbers = np.array([float(field) for row in rows for field in row], dtype=np.float64)
    except ValueError:
        wrong = ((line, place, field) for line, row in enumerate(rows, start + 1) for place, field in enumerate(row))
        line, place, field = next(one for one in wrong if not is_number(one[2]))
        message = f"{'frequency' if place else 'time'} is not a number: {field!r}{look(guess_task(rows), kind)}"
        raise InvalidAnnotationError(message, path=name, line=line) from None
    filled = np.flatnonzero(counts)
    some, counts = counts[filled[:SAMPLE]], counts[filled]
    if not has_header and len(some) and (some == some[0]).all():  # otherwise they cannot be rows of another task
        table, first = numbers[: int(some.sum())].reshape(len(some), -1), int(filled[0])
        if not are_numbers_of(table, kind, rows[first]):
            guess = guess_task([rows[place] for place in filled[:SAMPLE].tolist()])
            raise refusal(kind, None, rows[first], guess, start + first + 1, name)
    firsts = np.zeros(len(numbers), dtype=np.bool_)
    firsts[np.cumsum(counts) - counts] = True
    columns = {
        "time": options.seconds(numbers[firsts]),
        "frequency": to_hertz(numbers[~firsts], kind.name, options.pitch_unit),
    }
    lines_of_rows = (filled + start + 1).tolist()
    annotation = Annotation(kind.name, columns, None, (counts - 1,), lines_of_rows, {"source": str(name)})
    if options.pitch_unit == "MIDI":
        demand_midi(annotation, name)
    return annotation


def parse_patterns(data: bytes, reading: Reading, format: str = "txt", name: str | Path = "<bytes>") -> Annotation:
    """Parse a MIREX pattern file: onsets in quarter notes (possibly negative), and pitches as MIDI numbers."""
    notes: list[tuple[float, float]] = []
    lines: list[int] = []
    # The pattern of each occurrence, and its first note; occurrences belong to the last pattern.
    occurrences: list[tuple[int, int]] = []
    pattern = -1
    for number, line in number_lines(decode(data, name, reading.delimited.encoding), reading.delimited.comment):
        text = line.strip()
        word = text[:10].lower()
        if word.startswith("pattern"):
            pattern += 1
            occurrences.append((pattern, len(notes)))
        elif word.startswith("occurrence"):
            occurrences.append((max(pattern, 0), len(notes)))
        else:
            try:
                onset, pitch, *_ = map(float, text.replace(",", " ").split()[:2])
            except ValueError:
                message = f"expected a pattern, an occurrence, or an onset and a pitch, not {text!r}"
                raise InvalidAnnotationError(message, path=name, line=number) from None
            if not occurrences:
                message = f"the note is outside of all occurrences: {text!r}"
                raise InvalidAnnotationError(message, path=name, line=number)
            notes.append((onset, pitch))
            lines.append(number)
    table = np.array(notes, dtype=np.float64).reshape(-1, 2)
    columns = {"onset": table[:, 0].copy(), "pitch": table[:, 1].copy()}
    # Occurrences of each pattern and notes of each occurrence, without empty ones.
    sizes = np.diff(np.array([start for _, start in occurrences] + [len(notes)], dtype=np.int64))
    owner = np.array([pattern for pattern, _ in occurrences], dtype=np.int64)[sizes > 0]
    counts = np.unique(owner, return_counts=True)[1].astype(np.int64), sizes[sizes > 0].astype(np.int64)
    return Annotation(reading.kind, columns, inner_counts=counts, lines=lines, attrs={"source": str(name)})


def parse_sheet_music(data: bytes, reading: Reading, format: str = "txt", name: str | Path = "<bytes>") -> Annotation:
    """Parse a notation in the format of MV2H: notes, tatums, hierarchies, keys and chords, in file order.

    Times are converted from ms to seconds.
    """
    rows, labels, lines = [], [], []
    for number, line in number_lines(decode(data, name, reading.delimited.encoding), reading.delimited.comment):
        found = next(filter(None, (layout.fullmatch(line.strip()) for layout in _NOTATED)), None)
        if found is None:
            hint = look(guess_task([line.split()]), KINDS[reading.kind])
            message = f"expected a note, a tatum, a hierarchy, a key or a chord, not {line.strip()!r}{hint}"
            raise InvalidAnnotationError(message, path=name, line=number)
        fields = found.groupdict()
        rows.append([float(fields.get(column) or _NOTATION[column]) for column in _NOTATION])
        words = [fields[part] for part in ("bar", "beat", "sub_beat", "pickup", "tonic", "chord") if part in fields]
        what = "meter" if "bar" in fields else fields["what"].lower()
        labels.append(" ".join([what, *words, *(_MODES[fields[part].lower()] for part in ("mode",) if part in fields)]))
        lines.append(number)
    table = np.array(rows, dtype=np.float64).reshape(-1, len(_NOTATION))
    columns = {column: table[:, index].copy() for index, column in enumerate(_NOTATION)}
    for column in ("time", "notated_start", "notated_end"):
        columns[column] /= 1000
    return Annotation(reading.kind, columns, labels, lines=lines, attrs={"source": str(name)})


_NOTATION = {"time": 0.0, "notated_start": np.nan, "notated_end": np.nan, "pitch": np.nan, "voice": np.nan}
"""Columns of rows of a notation, and their default values."""
_MODES = {"maj": "major", "min": "minor"}
_NOTATED = tuple(
    re.compile(layout, re.ASCII | re.IGNORECASE)
    for layout in (
        r"(?P<what>note) +(?P<pitch>-?\d+) +(?P<time>-?\d+) +(?P<notated_start>-?\d+) +(?P<notated_end>-?\d+)"
        r" +(?P<voice>\d+)",
        r"(?P<what>tatum) +(?P<time>-?\d+)",
        r"(?P<what>hierarchy) +(?P<bar>\d+),(?P<beat>\d+) +(?P<sub_beat>\d+) +a=(?P<pickup>\d+)( +(?P<time>-?\d+))?",
        r"(?P<what>key) +(?P<tonic>\d+) +(?P<mode>maj|min)( +(?P<time>-?\d+))?",
        r"(?P<what>chord) +(?P<time>-?\d+) +(?P<chord>\S.*)",
    )
)


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
            found = key_of(f"{text} {held.get('mode', '')}".strip(), line, attrs)
        else:
            numbers = [held.get(column, "") for column in SINGLE_ROWS[kind]]
            found = tempo_of(numbers, line, self.reading, name, attrs)
        return replace(found, account=account.remarks)


def key_of(text: str, line: int, attrs: Mapping[str, Attribute]) -> Annotation:
    """The key in the text of a row; no item if it says that there is none."""
    key = key_in_row(text.replace('"', ""))  # no key has quotes
    labels = [] if key.strip().lower() in NOTHING else [" ".join(key.split())]
    return Annotation("key", {}, labels, lines=[line] * len(labels), attrs=attrs)


def tempo_of(
    fields: Sequence[str], line: int, reading: Reading, name: str, attrs: Mapping[str, Attribute]
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
    return Annotation("tempo", columns, lines=[line] * len(numbers), attrs=attrs)


def find_single_row(
    first: str, line: int, reading: Reading, separator: str, name: str, *, keyed: bool = False
) -> SingleRow | None:
    """The layout of rows with declared columns, or below a header; None for a file of a bare row."""
    options, kind = reading.delimited, reading.kind
    head = split_line(first, separator)
    declared = dict(options.columns)
    headings = [heading(field) for field in head]
    named = [column for column in SINGLE_ROWS[kind] if not {*headings}.isdisjoint(ROW_HEADINGS.get(column, ()))]
    has_header = options.header
    if has_header is None:
        by_name = any(isinstance(where, str) for where in declared.values())
        has_header = by_name or (bool(named) and has_only_names([*head, ""]))
    header = head if has_header else None
    if declared:
        places = {column: find_place(column, where, header, name, line) for column, where in declared.items()}
    elif has_header:
        usual = {**ROW_HEADINGS, "track": TRACK_NAMES}
        if keyed and not {*headings}.isdisjoint(TRACK_NAMES):
            named.append("track")
        places = {column: headings.index(next(one for one in usual[column] if one in headings)) for column in named}
    else:
        return None
    if not {"key", "label", "tempo"} & places.keys():
        message = f"no column holds the {kind}; declare it in columns, such as columns: {{{kind}: 0}}"
        raise InvalidAnnotationError(message, path=name, line=line)
    unread = tuple(
        place
        for place, text in enumerate(headings if header is not None and not declared else ())
        if place not in places.values() and not is_beside(text, tracks=True) and text not in (*_ABOUT_KEYS, *KEYS)
    )
    return SingleRow(KINDS[kind], reading, name, separator, places, -1, header, len(head), unread)
