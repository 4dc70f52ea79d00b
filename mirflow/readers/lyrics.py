"""Lyrics: plain text, and text with times from LRC, subtitles (SRT) and TextGrid files of Praat.

Text with times can also be read as events or intervals. SRT and TextGrid files need pysubs2 and praatio. Plain text
that looks like subtitles, or like rows with times, is refused.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation, intervals_of_text
from ..annotations.arrays import is_number
from ..annotations.schema import KINDS
from ..errors import InvalidAnnotationError, UnreadableError
from ..ragged import Column
from ..theory.text_form import normalize_lyrics
from .content import decode, demand_no_json
from .layouts import SAMPLE, guess_task, look
from .options import Reading

Piece = tuple[str, float, float, int | None]
"""Text, start and end in seconds (NaN if unknown), and the number of its line."""
Times = tuple[list[Piece], list[int]]
"""Pieces, and the line of the file of each."""
_STAMP = re.compile(r"\[(\d{1,6}):(\d{1,6}(?:[.:,]\d{1,9})?)\]\s*")
_WORD_STAMP = re.compile(r"[<\[](\d{1,6}):(\d{1,6}(?:[.:,]\d{1,9})?)[>\]]")
_HEAD = re.compile(r"^\[([A-Za-z#][\w# -]*):(.*)\]$")
_ARROW = re.compile(r"\s*(\d\d?:\d\d?:\d\d?[.,]\d{1,3})\s*-->\s*(\d\d?:\d\d?:\d\d?[.,]\d{1,3})(\s.*)?")
_VTT = re.compile(r"\s*(?:\d+:)?\d\d?:\d\d?[.,]\d{1,3}\s*-->")
_COUNTER = re.compile(r"\s*(?:\d+\s*)?")
_BEFORE_ZERO = re.compile(r"\s*(?:(?:xmin|xmax|number|time)\s*=\s*)?-(?=[\d.]*[1-9])[\d.]+\s*")
_SIZE = re.compile(r"^[^\S\n]*(?:intervals|points):\s*size\s*=\s*(\d{1,12})", re.MULTILINE)
_NUMBER = re.compile(r"[-+]?\d+\.\d+")
_FEW = 3
_TIMES_FROM = 100
"""A whole number from which two at the beginning of all lines are times, not counted beats."""


def parse_text(data: bytes, reading: Reading, format: str = "txt", name: str | Path = "<bytes>") -> Annotation:
    """Parse lyrics in the format ``lrc``, ``srt`` or ``textgrid``, or plain text.

    The annotation has a piece for each line, including empty ones, or for each word, with the number of its line, if
    words have times.
    """
    demand_no_json(data, name)
    if format in ("csv", "tsv"):
        message = f"lyrics can be read from text, LRC, SRT, TextGrid and JAMS files, not from {format}"
        raise InvalidAnnotationError(message, path=name)
    text, attrs = decode(data, name, reading.delimited.encoding), {"source": str(name)}
    if format in TIMED:
        pieces, lines = TIMED[format](text, reading, name)
        found = Annotation("text", columns_of(pieces), [piece[0] for piece in pieces], lines=lines, attrs=attrs)
        return as_declared(found, reading)
    # Subtitles, or lines that all begin with times, as in annotations of other tasks, are no words.
    sample = text.split("\n", SAMPLE)[:SAMPLE]
    arrow = next((number for number, line in enumerate(sample, 1) if _ARROW.fullmatch(line)), None)
    if arrow is None and (sample[0].startswith("WEBVTT") or any(map(_VTT.match, sample))):
        message = "is subtitles (WebVTT), whose times would count as words: convert it to .srt, whose times are read"
        raise InvalidAnnotationError(message, path=name, line=1)
    if arrow is not None:
        message = f"is subtitles, whose times would count as words: {sample[arrow - 1].strip()!r}; declare "
        message += "format: srt (--input-format srt), or save it as .srt"
        raise InvalidAnnotationError(message, path=name, line=arrow)
    rows = [line.split() for line in sample if line.strip()]
    decimal = len(rows) >= _FEW and all(_NUMBER.fullmatch(row[0].rstrip(",;")) for row in rows)
    # A start and an end in whole numbers, such as milliseconds, and a word.
    whole = bool(rows) and all(len(row) > 2 and row[0].isdecimal() and row[1].isdecimal() for row in rows)
    spans = [(int(row[0]), int(row[1])) for row in rows] if whole else []
    rising = spans == sorted(spans, key=itemgetter(0)) and all(start < end for start, end in spans)
    if decimal or (spans and rising and spans[-1][1] >= _TIMES_FROM):
        hint = look(guess_task(rows), KINDS["text"]) or "; use the task of its contents"
        if not decimal:
            hint = "; remove the times, or save the text as .lrc, .srt or .TextGrid, whose times are read"
        raise InvalidAnnotationError(f"not lyrics: {' '.join(rows[0])!r}{hint}", path=name, line=1)
    labels = text.split("\n") if text else []
    if labels and not labels[-1]:
        labels.pop()
    return as_declared(Annotation("text", {}, labels, attrs=attrs), reading)


def parse_timed(data: bytes, reading: Reading, format: str, name: str | Path) -> Annotation:
    """Read pieces of text with times as another kind: events at their starts, or intervals."""
    demand_no_json(data, name)
    if reading.kind not in ("events", "intervals"):
        held = "text, events and intervals"
        raise InvalidAnnotationError(f"{format} files can be read as {held}, not as {reading.kind}", path=name)
    pieces, lines = TIMED[format](decode(data, name, reading.delimited.encoding), reading, name)
    every = [label for label, *_ in pieces]
    text = Annotation("text", columns_of(pieces), every, lines=lines, attrs={"source": str(name)})
    if reading.kind == "intervals":
        return intervals_of_text(text) if len(text) else replace(text, kind="intervals", columns=_NO_TIMES)
    kept = [index for index, (label, *_) in enumerate(pieces) if label]
    times = np.array([pieces[place][1] for place in kept], dtype=np.float64)
    labels, numbers = [pieces[place][0] for place in kept], [lines[place] for place in kept]
    return replace(text, kind="events", columns={"time": times}, labels=labels, lines=numbers)


_NO_TIMES: Mapping[str, Column] = MappingProxyType({"start": np.zeros(0), "end": np.zeros(0)})


def as_declared(annotation: Annotation, reading: Reading) -> Annotation:
    """Apply the declared language and normalization to text."""
    if reading.normalize is not None:
        if "line" in annotation.columns:
            path = annotation.attrs.get("source")
            message = "normalize needs lines, but this text is read word by word"
            raise InvalidAnnotationError(message, path=None if path is None else str(path))
        annotation = replace(annotation, labels=[normalize_lyrics(line) for line in annotation.labels or ()])
    if reading.language is not None:
        column = np.full(len(annotation), reading.language)
        annotation = replace(annotation, columns={**annotation.columns, "language": column})
    return annotation


def pieces_of(texts: Sequence[str], start: Column, end: Column) -> list[Piece]:
    """Texts with times as pieces: words of one line if none contains a blank, otherwise lines."""
    words = all(len(text.split()) < 2 for text in texts)
    times = zip(texts, start.tolist(), end.tolist(), strict=True)
    return [(text, first, last, 1 if words else None) for text, first, last in times]


def columns_of(pieces: Sequence[Piece]) -> dict[str, Column]:
    """Columns of pieces: starts and ends if all are known, and line numbers if pieces are words."""
    columns: dict[str, Column] = {}
    for name, place in (("start", 1), ("end", 2)):
        column = np.array([piece[place] for piece in pieces], dtype=np.float64)
        if len(column) and not np.isnan(column).any():
            columns[name] = column
    if pieces and all(piece[3] is not None for piece in pieces):
        columns["line"] = np.array([piece[3] for piece in pieces], dtype=np.float64)
    return columns


def _parse_lrc(text: str, reading: Reading, name: str | Path) -> Times:
    """Parse lines with times in brackets before them, and words with times in angle or square brackets.

    A line may have several times. It lasts until the next line begins; a time without text ends a section.
    """
    shift, found = 0.0, []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        head = _HEAD.match(line)
        if head and head[1].lower() == "offset":
            if head[2].strip() and not re.fullmatch(r"\s*[-+]?\d{1,9}(\.\d+)?\s*", head[2]):
                message = f"offset is not a number of milliseconds: {head[2]!r}"
                raise InvalidAnnotationError(message, path=name, line=number)
            shift = float(head[2].strip() or 0) / 1000
        if not line or head:
            continue
        stamps, begin = [], 0
        while stamp := _STAMP.match(line, begin):
            stamps.append(_seconds(stamp[1], stamp[2]))
            begin = stamp.end()
        if not stamps:
            raise InvalidAnnotationError(f"no time such as [00:12.00] before {line!r}", path=name, line=number)
        found += [(start, number, line[begin:]) for start in stamps]
    found.sort(key=itemgetter(0))
    pieces: list[Piece] = []
    lines: list[int] = []
    by_word = any(_WORD_STAMP.search(rest) for _, _, rest in found)
    ends = [*(start for start, _, _ in found), np.nan][1:]
    for index, ((start, number, rest), end) in enumerate(zip(found, ends, strict=True), 1):
        parts = _WORD_STAMP.split(rest) if by_word else [rest]
        stamps = [start, *map(_seconds, parts[1::3], parts[2::3])]
        words = zip(map(str.strip, parts[::3]) if by_word else parts, stamps, [*stamps[1:], end], strict=True)
        line_of = index if by_word else None
        held = [(text, first - shift, last - shift, line_of) for text, first, last in words if text or not by_word]
        pieces += held
        lines += [number] * len(held)
    return pieces, lines


def _seconds(minutes: str, seconds: str) -> float:
    return 60 * int(minutes) + float(re.sub("[:,]", ".", seconds))


def _parse_srt(text: str, reading: Reading, name: str | Path) -> Times:
    """Parse the lines of subtitles, sorted by time and without markup; lines of one subtitle share its times."""
    arrows: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if "-->" in line:
            if not _ARROW.fullmatch(line):
                message = f"invalid times of a subtitle: {line.strip()[:60]!r}; write 00:00:01,000 --> 00:00:02,000"
                raise InvalidAnnotationError(message, path=name, line=number)
            arrows.append(number)
    first = text.split("\n")[: arrows[0] - 1] if arrows else []
    before = next((place for place, line in enumerate(first) if not _COUNTER.fullmatch(line)), None)
    if before is not None:
        message = f"text before the times of the first subtitle: {first[before].strip()[:60]!r}"
        raise InvalidAnnotationError(message, path=name, line=before + 1)
    subtitles = _package("pysubs2", name).SSAFile.from_string(text, format_="srt")
    if len(subtitles) != len(arrows):
        message = f"has {len(arrows)} lines with --> and two times, but {len(subtitles)} subtitles"
        raise InvalidAnnotationError(message, path=name)
    if text.strip() and not arrows:
        raise InvalidAnnotationError("holds no subtitles (a number, 00:00:01,000 --> 00:00:02,000, text)", path=name)
    rows: list[tuple[Piece, int]] = []
    for subtitle, number in zip(subtitles, arrows, strict=True):
        shown = enumerate(map(str.strip, subtitle.plaintext.split("\n")), number + 1)
        rows += [((line, subtitle.start / 1000, subtitle.end / 1000, None), place) for place, line in shown if line]
    rows.sort(key=lambda row: row[0][1])
    return [piece for piece, _ in rows], [place for _, place in rows]


def _parse_textgrid(text: str, reading: Reading, name: str | Path) -> Times:
    """Parse the intervals of the declared tier, or of the only one; intervals without text are silence."""
    for number, line in enumerate(text.split("\n"), 1):
        if _BEFORE_ZERO.fullmatch(line):  # the parser ignores the sign
            raise InvalidAnnotationError(f"a time is negative: {line.strip()!r}", path=name, line=number)
    module = _package("praatio.utilities.textgrid_io", name)
    try:
        every = module.parseTextgridStr(text, includeEmptyIntervals=True)["tiers"]
    except Exception:  # the parser raises various errors
        raise UnreadableError("is not a Praat TextGrid, or is truncated", path=name) from None
    declared, held = sum(map(int, _SIZE.findall(text))), sum(len(tier["entries"]) for tier in every)
    if held < declared:
        raise UnreadableError(f"is truncated: it holds {held} of {declared} intervals and points", path=name)
    tiers = [(tier["name"], list(tier["entries"])) for tier in every if tier["class"] == "IntervalTier"]
    names = [tier for tier, _ in tiers]
    usual = (tier for tier in ("words", "lyrics", *(names if len(names) == 1 else ())) if tier in names)
    named = reading.tier if reading.tier is not None else next(usual, None)
    if named is None or names.count(named) != 1:
        what = "declare the tier to read" if named is None else f"has no tier of intervals {named!r}"
        if named in names:
            what = f"has {names.count(named)} tiers of intervals {named!r}; names must be unique"
        raise InvalidAnnotationError(f"{what}; it holds {', '.join(names) or 'none'}", path=name)
    rows = [row for row in tiers[names.index(named)][1] if row[2].strip()]
    odd = next((time for row in rows for time in row[:2] if not is_number(time)), None)  # the parser takes any text
    if odd is not None:
        raise InvalidAnnotationError(f"a time is not a number: {odd!r}", path=name)
    start, end = (np.array([float(row[place]) for row in rows], dtype=np.float64) for place in (0, 1))
    texts = [re.sub(r"\s*\n\s*", " ", row[2].strip()) for row in rows]
    return pieces_of(texts, start, end), list(range(1, len(rows) + 1))


def _package(module: str, name: str | Path) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        package = module.partition(".")[0]
        raise UnreadableError(f"needs the package {package}: pip install 'mirflow[lyrics]'", path=name) from None


TIMED: Mapping[str, Callable[[str, Reading, str | Path], Times]] = MappingProxyType(
    {"lrc": _parse_lrc, "srt": _parse_srt, "textgrid": _parse_textgrid}
)
"""Parsers of formats with times."""
