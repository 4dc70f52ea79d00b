"""Annotations of other kinds in delimited text: pitch, notes, patterns, keys, tempi, tags, judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

import numpy as np

from ..annotations.annotation import Annotation, Attribute
from ..errors import InvalidAnnotationError
from ..ragged import Column, Float, Int
from ..theory.pitch import to_hertz
from .content import decode
from .delimited import (
    Layout,
    demand_frames,
    find_layout,
    find_separator,
    in_units,
    is_header,
    parse_rows,
    sniff,
    without_rows,
)
from .layouts import SAMPLE, demand_numbers, guess_task, look
from .options import KEYS, DelimitedOptions, Reading


def demand_tag_numbers(annotation: Annotation, name: str | Path) -> Annotation:
    """The annotation, if none of its values is NaN: among numbers that stands for a label without one.

    Raises
    ------
    InvalidAnnotationError
        With the line and the label.

    Examples
    --------
    >>> tags = Annotation("labels", {"value": np.array([0.5, np.nan])}, ["slow", "loud"])
    >>> demand_tag_numbers(tags, "a.tsv")
    Traceback (most recent call last):
        ...
    mirflow.errors.InvalidAnnotationError: a.tsv:2: the number of 'loud' is NaN
    """
    for item in np.flatnonzero(np.isnan(annotation.columns.get("value", np.zeros(0)))).tolist():
        text = (annotation.labels or [""])[item]
        raise InvalidAnnotationError(f"the number of {text!r} is NaN", path=name, line=annotation.line(item))
    return annotation


def has_numbers(reading: Reading) -> bool:
    """Whether numbers that stand beside names count: a class is told without one, whatever else a table says.

    Examples
    --------
    >>> has_numbers(Reading.of(task="tagging")), has_numbers(Reading.of(task="classification"))
    (True, False)
    """
    return reading.task != "classification"


def are_no_tags(kind: str, rows: Sequence[tuple[int, Sequence[str]]], layout: Layout) -> bool:
    """Whether the rows of a track say that it has no tags: there is one, and it names nothing but the track.

    Examples
    --------
    >>> layout = Layout({"track": 0, "label": 1, "value": 2}, ",", 2)
    >>> are_no_tags("labels", [(5, ["c04", "", ""])], layout), are_no_tags("labels", [(5, ["c04", "", "1"])], layout)
    (True, False)
    """
    if kind != "labels" or len(rows) != 1:
        return False
    fields, places = rows[0][1], (place for column, place in layout.places.items() if column not in KEYS)
    return not any(fields[place] for place in places if place < len(fields))


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


def parse_motifs(data: bytes, options: DelimitedOptions = _SNIFFED, name: str | Path = "<bytes>") -> Annotation:
    """Patterns from the bytes of a MIREX pattern file.

    Parameters
    ----------
    data : bytes
    options : DelimitedOptions
        Of which ``comment`` and ``encoding`` matter.
    name : path
        What to call the file in messages, and its ``source``.

    Returns
    -------
    Annotation
        Of kind ``patterns``: onsets in quarter notes (they may be negative), pitches as MIDI numbers.

    Raises
    ------
    UnreadableError
        If the bytes are not text.
    InvalidAnnotationError
        For a line that is none of the three, with its number.

    Examples
    --------
    >>> found = parse_motifs(b"pattern1\\noccurrence1\\n0, 60\\n1.5, 62\\noccurrence2\\n8, 60\\n")
    >>> found.columns["pitch"].tolist(), [counts.tolist() for counts in found.inner_counts]
    ([60.0, 62.0, 60.0], [[2], [2, 1]])
    """
    onsets: list[float] = []
    pitches: list[float] = []
    lines: list[int] = []
    # Where, counted in notes, each pattern and each occurrence starts; occurrences belong to the last pattern.
    occurrences: list[tuple[int, int]] = []
    pattern = -1
    for number, line in enumerate(decode(data, name, options.encoding).split("\n"), 1):
        text = line.strip()
        if not text or (options.comment and text.startswith(options.comment)):
            continue
        word = text[:10].lower()
        if word.startswith("pattern"):
            pattern += 1
            occurrences.append((pattern, len(onsets)))
        elif word.startswith("occurrence"):
            occurrences.append((max(pattern, 0), len(onsets)))
        else:
            onset, pitch = _note(text, bool(occurrences), name, number)
            onsets.append(onset)
            pitches.append(pitch)
            lines.append(number)
    columns = {"onset": np.array(onsets, dtype=np.float64), "pitch": np.array(pitches, dtype=np.float64)}
    counts = _counts(occurrences, len(onsets))
    attrs: dict[str, Attribute] = {"source": str(name)}
    return Annotation("patterns", columns, inner_counts=counts, lines=lines, attrs=attrs)


def _note(text: str, inside: bool, name: str | Path, line: int) -> tuple[float, float]:
    try:
        onset, pitch, *_ = text.replace(",", " ").split()
        note = float(onset), float(pitch)
    except ValueError:
        message = f"neither a pattern, an occurrence nor an onset and a pitch: {text!r}"
        raise InvalidAnnotationError(message, path=name, line=line) from None
    if not inside:
        raise InvalidAnnotationError(f"a note outside of any occurrence: {text!r}", path=name, line=line)
    return note


def _counts(occurrences: Sequence[tuple[int, int]], notes: int) -> tuple[Int, Int]:
    """Occurrences of each pattern and notes of each occurrence, without empty ones."""
    starts = np.array([start for _, start in occurrences] + [notes], dtype=np.int64)
    owner = np.array([pattern for pattern, _ in occurrences], dtype=np.int64)
    sizes = np.diff(starts)
    owner = owner[sizes > 0]
    _, per_pattern = np.unique(owner, return_counts=True)
    return per_pattern.astype(np.int64), sizes[sizes > 0]


def parse_listed(
    data: bytes, kind: str, format: str, options: DelimitedOptions = _SNIFFED, name: str | Path = "<bytes>"
) -> Annotation:
    """The annotation in a file that is about one query or one performance.

    Parameters
    ----------
    data : bytes
    kind : {"judgements", "following"}
        Rows of candidate, grader, broad category and fine judgement, or of a candidate and perhaps a score; of onset,
        time of detection, position in the score and MIDI number, or without the time of detection; unless `options` or
        a header say otherwise.
    format : {"lab", "txt", "csv", "tsv"}
    options : DelimitedOptions
    name : path
        What to call the file in messages, and its ``source``.

    Raises
    ------
    UnreadableError
        If the bytes are not text.
    InvalidAnnotationError
        For a row with too few columns, a field that is not a number, or a rank that occurs twice, with its line.

    Examples
    --------
    >>> judged = parse_listed(b"candidate,grader,broad,fine\\nb011647,g1,VS,9.5\\n", "judgements", "csv")
    >>> judged.labels, judged.columns["broad"].tolist(), judged.columns["value"].tolist()
    (['b011647'], ['VS'], [9.5])
    >>> heard = parse_listed(b"350 400 0 60\\n", "following", "txt", DelimitedOptions(time_unit="ms"))
    >>> {column: values.tolist() for column, values in heard.columns.items()}
    {'time': [0.35], 'detected': [0.4], 'position': [0.0], 'pitch': [60.0]}
    """
    text = decode(data, name, options.encoding)
    attrs: dict[str, Attribute] = {"source": str(name)}
    separator = find_separator(text, format, options)
    return check_listed(parse_rows(text, kind, separator, options, attrs, name), str(name))


def check_listed(annotation: Annotation, name: str) -> Annotation:
    """An annotation as it is, but in the order of its ranks where it has some.

    Raises
    ------
    InvalidAnnotationError
        For a rank that is no positive whole number or occurs twice, and onsets without a position in the score.

    Examples
    --------
    >>> check_listed(Annotation("judgements", {"rank": np.array([2.0, 1.0])}, ["a", "b"]), "a.csv").labels
    ['b', 'a']
    """
    if annotation.kind == "following" and "position" not in annotation.columns:
        raise InvalidAnnotationError("no column holds 'position', the onset in the score; declare it", path=name)
    if "rank" not in annotation.columns:
        return annotation
    columns = dict(annotation.columns)
    rank: Float = columns.pop("rank")
    order = np.argsort(rank, kind="stable")
    _check_ranks(annotation, rank, order, name)
    labels = None if annotation.labels is None else [annotation.labels[item] for item in order.tolist()]
    lines = [annotation.line(item) or 0 for item in order.tolist()]
    moved = {column: values[order] for column, values in columns.items()}
    return Annotation(annotation.kind, moved, labels, lines=lines, attrs=annotation.attrs)


def _check_ranks(
    annotation: Annotation, rank: Float, order: np.ndarray[tuple[int], np.dtype[np.intp]], name: str
) -> None:
    for item in np.flatnonzero(~(rank >= 1) | (rank != np.floor(rank))).tolist():
        message = f"not a rank: {rank[item]:g}; ranks count from 1"
        raise InvalidAnnotationError(message, path=name, line=annotation.line(item))
    twice = np.flatnonzero(rank[order][1:] == rank[order][:-1])
    for place in twice[:1].tolist():
        item, first = int(order[place + 1]), int(order[place])
        message = f"rank {rank[item]:g} occurs twice, first on line {annotation.line(first)}"
        raise InvalidAnnotationError(message, path=name, line=annotation.line(item))
