"""Annotations of the McGill Billboard project (``salami_chords.txt``): chords, bars, beats and sections.

A line is a phrase: its time, a tab, and elements separated by commas; the element between bar lines holds the chords.
Bars are spread evenly over the time to the next line, in proportion to their notated lengths, as in the project's
tables.

References
----------
Burgoyne, Wild and Fujinaga, An expert ground truth set for audio chord recognition and music analysis, ISMIR 2011.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..annotations.account import Account
from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError, counted
from ..theory.harte import NO_CHORD, X_CHORD
from .content import decode
from .delimited import SILENCE
from .formats import FORMATS
from .options import Reading
from .positions import select_beats

_METRE = re.compile(r"\(?(?P<beats>\d{1,2})/(?P<unit>1|2|4|8|16|32)\)?")
_COMMENT = re.compile(r"#\s*(?P<key>\w+):\s*(?P<value>.*)")
_LETTER = re.compile(r"[A-Z]'*")
_PHRASE = re.compile(r"(?P<head>[^|]*)(?:\|(?P<bars>.*)\|)?(?P<tail>[^|]*)")
_REPEAT = re.compile(r"\s*x\s*(\d{1,3})\b")
_SAME, _PAUSE, _UNKNOWN = ".", "&pause", "*"
_MOST_BARS = 10_000
_END, _NO_HARMONY = "end", "Z"
"""Words in place of chords: the end of the piece, which is silence, and passages without harmony."""
_NOT_MUSIC = ("noise", "applause", "talking", "fadeout", "pre-intro")
"""Label of passages without harmony, even if their letter is missing."""
LABELS = ("letter", "function")
"""Labels of sections: letters of similar music (``A'``), or functions (``verse``)."""


class Metre(NamedTuple):
    """A time signature."""

    number: int
    unit: int
    length: Fraction
    """Of a bar, in whole notes."""
    beats: int
    """Of a bar; 6/8, 9/8 and 12/8 have dotted beats."""


class WrittenBar(NamedTuple):
    """One bar: its metre and its chords."""

    metre: Metre
    chords: tuple[str, ...]
    length: Fraction
    """In whole notes, with the pauses: beats beyond the metre."""


@dataclass(slots=True)
class Phrase:
    """One line: its start, its labels, and its bars, with repeats written out."""

    time: float
    line: int
    name: str = ""  # silence, or none
    letter: str = ""
    function: str = ""
    bars: list[WrittenBar] = field(default_factory=list)


def parse_billboard(
    data: bytes, reading: Reading, format: str = "billboard", name: str | Path = "<bytes>"
) -> Annotation:
    """Read chords, sections, beats or downbeats from a file of the McGill Billboard project.

    Tasks are ``chord``, ``segment`` (letters, or functions with ``columns: {label: function}``), ``beat`` (with
    positions in the bar) and ``downbeat`` (bars). Silence and passages without harmony are ``N``; pauses, phrases
    without chords and passages too fast to notate are ``X``.
    """
    phrases = _phrases(decode(data, name, reading.delimited.encoding), name)
    if reading.kind == "events":
        found = select_beats(_annotation("events", _rows(phrases, "beat"), phrases, name), reading, name)
    elif reading.kind == "intervals" and reading.task == "chord":
        found = _annotation("intervals", _rows(phrases, "chord"), phrases, name)
    elif reading.kind == "intervals" and reading.task == "segment":
        declared = dict(reading.delimited.columns)
        wanted = str(declared.pop("label", LABELS[0]))
        if declared or wanted not in LABELS:
            message = f"for Billboard files, columns must be {{label: {' or '.join(LABELS)}}}"
            raise InvalidAnnotationError(message, path=name)
        found = _annotation("intervals", _rows(phrases, wanted), phrases, name)
    else:
        message = f"chords, segments, beats and downbeats, not {reading.task or reading.kind}"
        raise InvalidAnnotationError(f"Billboard files hold {message}", path=name)
    account = Account(str(name), FORMATS["billboard"].silent)
    without = [one.line for one, after in pairwise(phrases) if one.bars and one.time == after.time]
    if without:
        message = f"{counted(len(without), 'phrase')} without a length: the next line has the same time"
        account.add("repeated_rows", message, line=without[0], count=len(without))
    return replace(found, account=(*found.account, *account.remarks))


def _phrases(text: str, name: str | Path) -> list[Phrase]:
    """All phrases, the last of which is the end."""
    phrases: list[Phrase] = []
    metre: Metre | None = None
    for line, row in enumerate(text.split("\n"), 1):
        try:
            if row.startswith("#"):
                comment = _COMMENT.match(row)
                if comment is not None and comment["key"].lower() in ("metre", "meter"):
                    metre = _metre(comment["value"].strip())
            elif row.strip():
                phrases.append(_phrase(row, line, metre))
                if len(phrases) > 1 and phrases[-1].time < phrases[-2].time:
                    raise InvalidAnnotationError(f"is at {phrases[-1].time:g} s, before the line above it")
        except InvalidAnnotationError as error:
            raise InvalidAnnotationError(error.message, path=name, line=line) from None
    if phrases and not phrases[-1].name:
        message = "the last line must be 'end' or 'silence'; its end is unknown otherwise"
        raise InvalidAnnotationError(message, path=name, line=phrases[-1].line)
    return phrases


def _metre(text: str) -> Metre:
    found = _METRE.fullmatch(text)
    if found is None or not int(found["beats"]):
        raise InvalidAnnotationError(f"invalid metre {text!r}: write metres as 4/4")
    number, unit = int(found["beats"]), int(found["unit"])
    dotted = unit >= 8 and number > 3 and number % 3 == 0
    return Metre(number, unit, Fraction(number, unit), number // 3 if dotted else number)


def _phrase(row: str, line: int, default: Metre | None) -> Phrase:
    stamp, _, rest = row.strip().partition("\t")
    try:
        time = float(stamp)
    except ValueError:
        time = math.nan
    if not (math.isfinite(time) and time >= 0):
        raise InvalidAnnotationError(f"expected a time and a tab, not {row.strip()[:40]!r}")
    form = _PHRASE.fullmatch(rest)
    if form is None:
        raise InvalidAnnotationError(f"bar lines do not enclose the chords: {rest!r}")
    phrase = Phrase(time, line)
    for element in filter(None, map(str.strip, form["head"].split(","))):
        if element.lower() in (SILENCE, _END):
            phrase.name = SILENCE
        elif _LETTER.fullmatch(element):
            phrase.letter = element
        elif not element.startswith("(") and not element.endswith(")") and element != "->" and not phrase.function:
            phrase.function = element
    if form["bars"] is not None:
        repeat, bars = _REPEAT.match(form["tail"]), list[WrittenBar]()
        for tokens in map(str.split, form["bars"].split("|")):
            metre = default
            if tokens and _METRE.fullmatch(tokens[0]):
                metre = _metre(tokens.pop(0))
            if metre is None:
                raise InvalidAnnotationError("no line '# metre: 4/4' precedes the first bar")
            if not tokens:
                raise InvalidAnnotationError("a bar is empty")
            chords = [X_CHORD if token == _UNKNOWN else token for token in tokens if token != _PAUSE]
            halves = [2] if metre.beats % 2 == 0 else []
            if len(chords) not in (0, 1, metre.beats, metre.number, *halves):
                held = f"{len(chords)} chords and periods: {' '.join(tokens)!r}"
                wanted = f"expected 1 or {metre.beats}{', or 2 for the halves of the bar' * bool(halves)}"
                raise InvalidAnnotationError(f"a bar of {metre.number}/{metre.unit} has {held}; {wanted}")
            pauses = tokens.count(_PAUSE) if chords else 0
            length = metre.length * (1 + Fraction(pauses, metre.beats))
            bars.append(WrittenBar(metre, tuple(chords) or (X_CHORD,), length))
        if bars[0].chords[0] == _SAME:
            raise InvalidAnnotationError("the phrase begins with a period, without a chord before it")
        times = int(repeat[1]) if repeat is not None else 1
        if not 0 < times * len(bars) <= _MOST_BARS:
            raise InvalidAnnotationError(f"{len(bars)} bars are repeated {times} times")
        phrase.bars = bars * times
    return phrase


Rows = list[tuple[float, str, int]]
"""Time, label and line."""


def _rows(phrases: Sequence[Phrase], what: str) -> Rows:
    """The chords, the beats with their positions, or the sections by one of `LABELS`."""
    rows: Rows = []
    for phrase, after in pairwise(phrases):
        if what in LABELS:  # a section lasts until the next line that names one
            words = (phrase.letter, phrase.function) if what == "letter" else (phrase.function, phrase.letter)
            label = phrase.name or words[0] or words[1]
            rows += [(phrase.time, label, phrase.line)] if label or not rows else []
            continue
        if what == "chord" and not phrase.bars:
            unmusical = not phrase.letter and phrase.function.lower() in _NOT_MUSIC
            silent = phrase.name or unmusical or phrase.letter.rstrip("'") == _NO_HARMONY
            rows.append((phrase.time, NO_CHORD if silent else X_CHORD, phrase.line))
        # Bars are spread evenly over the time to the next line.
        length, passed = sum((bar.length for bar in phrase.bars), Fraction(0)), Fraction(0)
        lasts = after.time - phrase.time
        for bar in phrase.bars:
            start, whole = phrase.time + lasts * float(passed / length), lasts / float(length)
            passed += bar.length
            # Chords, or beats, are spread evenly over each bar; beyond its metre are pauses.
            labels = bar.chords if what == "chord" else [str(beat + 1) for beat in range(bar.metre.beats)]
            step = bar.metre.length / len(labels)
            places = [(step * index, label) for index, label in enumerate(labels) if label != _SAME]
            places += [(bar.metre.length, X_CHORD)] if what == "chord" and bar.length > bar.metre.length else []
            rows += [(start + whole * float(place), label, phrase.line) for place, label in places]
    return rows


def _annotation(kind: str, rows: Rows, phrases: Sequence[Phrase], name: str | Path) -> Annotation:
    """Events, or intervals that last until the next row, or until the end of the file."""
    times = np.array([row[0] for row in rows], dtype=np.float64)
    columns = {"time": times}
    if kind == "intervals":
        columns = {"start": times, "end": np.append(times[1:], phrases[-1].time if rows else [])}
    labels, lines = [row[1] for row in rows], [row[2] for row in rows]
    return Annotation(kind, columns, labels, lines=lines, attrs={"source": str(name)})
