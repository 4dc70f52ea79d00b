"""Chords and keys of scores: MusicXML, and kern with harmonies, read by music21 or, keys of MusicXML, by partitura.

Times follow from the tempo marks, in seconds. Repeats are not played.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation
from ..errors import InvalidAnnotationError
from ..ragged import Float
from ..theory.harte import NO_CHORD, degree_of_note
from ..theory.spelling import label_of_degrees
from .content import decode
from .options import Reading
from .score_libraries import ParsedScore, ScorePart, spelled, where_is
from .sheet_music import demand_spines, load_score, reading_score

KINDS_OF_HARMONY = {
    "major": "3 5",
    "minor": "b3 5",
    "augmented": "3 #5",
    "diminished": "b3 b5",
    "dominant-seventh": "3 5 b7",
    "major-seventh": "3 5 7",
    "minor-seventh": "b3 5 b7",
    "diminished-seventh": "b3 b5 bb7",
    "augmented-seventh": "3 #5 b7",
    "half-diminished-seventh": "b3 b5 b7",
    "minor-major-seventh": "b3 5 7",
    "major-sixth": "3 5 6",
    "minor-sixth": "b3 5 6",
    "dominant-ninth": "3 5 b7 9",
    "major-ninth": "3 5 7 9",
    "minor-ninth": "b3 5 b7 9",
    "dominant-11th": "3 5 b7 9 11",
    "major-11th": "3 5 7 9 11",
    "minor-11th": "b3 5 b7 9 11",
    "dominant-13th": "3 5 b7 9 11 13",
    "major-13th": "3 5 7 9 11 13",
    "minor-13th": "b3 5 b7 9 11 13",
    "suspended-second": "2 5",
    "suspended-fourth": "4 5",
    "power": "5",
    "pedal": "",
}
"""Kinds of MusicXML harmonies, by music21's names, and their degrees above the root."""
_ROMAN = "VII|VI|V|IV|III|II|I|vii|vi|v|iv|iii|ii|i"
_NUMERAL = re.compile(
    rf"(?P<sign>[#-])?(?P<numeral>{_ROMAN})(?P<quality>[o+])?(?P<seventh>7)?(?P<inversion>[bcd])?(?P<of>/(?:{_ROMAN}))?"
)
_SEVENTHS_MAJOR, _SEVENTHS_MINOR = ("I", "ii", "iii", "IV", "V", "vi"), ("iv", "V", "VI", "viio")


def parse_score(data: bytes, reading: Reading, format: str, name: str | Path = "<bytes>") -> Annotation:
    """Read chords or keys from the bytes of a score: MusicXML, perhaps compressed, or kern.

    Tasks are ``chord`` (harmonies, or a spine ``**harm``), ``key`` and ``local_key`` (key signatures with a mode, or
    key designations such as ``*C:``); `score_tempo` replaces the tempo marks. Each chord or key lasts until the next
    one, the last one until the end.
    """
    if reading.task not in ("chord", "key", "local_key"):
        raise InvalidAnnotationError(
            f"scores can be read as chords or keys, not as {reading.task or reading.kind}", path=name
        )
    spines, own = 0, reading
    if format == "kern":
        text = decode(data, name, reading.delimited.encoding)
        demand_spines(text, name)
        lines = text.rstrip("\n").split("\n")
        start = next((place for place, line in enumerate(lines) if line.startswith("**")), None)
        if start is not None:
            # music21 needs numbers of staves to find harmonies. Unless chords are read they become text, as it fails at
            # unknown ones.
            kinds, chords = lines[start].split("\t"), reading.task == "chord"
            every = "/".join(str(index + 1) for index, kind in enumerate(kinds) if kind == "**kern")
            staves = (f"*staff{place + 1 if kind == '**kern' else every}" for place, kind in enumerate(kinds))
            head = "\t".join(kinds if chords else (kind.replace("**harm", "**text") for kind in kinds))
            spines = _count_harmonies(lines[start + 1 :], kinds, start + 2, name) if chords else 0
            text = "\n".join([*lines[:start], head, "\t".join(staves), *lines[start + 1 :], ""])
        data, own = text.encode(), replace(reading, delimited=replace(reading.delimited, encoding="utf-8"))
    with reading_score(own, format, name):
        score = load_score(data, own, format, name)
        found = _chords(score, name) if reading.task == "chord" else _keys(score, name)
        if format == "kern" and reading.task == "chord" and len(found) != spines:
            message = (
                f"{len(found)} of {spines} harmonies in **harm are aligned with a note; the others cannot be timed"
            )
            raise InvalidAnnotationError(message, path=name)
        attrs, labels = {"source": str(name)}, [label for _, label in found]
        if reading.kind == "key":
            return Annotation("key", {}, labels, lines=(), attrs=attrs)
        offsets = np.array([*(offset for offset, _ in found), score.end], dtype=np.float64)
        times = _clock(score, reading.score_tempo, name)(offsets if found else offsets[:0])
    return Annotation("intervals", {"start": times[:-1], "end": times[1:]}, labels, lines=(), attrs=attrs)


def _count_harmonies(lines: Sequence[str], kinds: list[str], first: int, name: str | Path) -> int:
    """Count the harmonies in ``**harm`` spines; raise for an unsupported one."""
    count, minor = 0, False
    for number, line in enumerate(lines, first):
        tokens = line.split("\t")
        if line.startswith("!!"):
            continue
        for token, kind in zip(tokens, kinds, strict=False):
            if kind != "**harm" or token == "." or not token or token[0] in "!=":
                continue
            if token.startswith("*"):
                minor = token[1:2].islower() if token.endswith(":") else minor
                continue
            count += 1
            # music21 silently drops the figures of other tokens (V9, N), or reads them in the scale of another key.
            form = _NUMERAL.fullmatch(token)
            clear = form is not None and form["inversion"] != "d"
            if form is not None and form["seventh"]:
                numeral = f"{form['numeral']}{form['quality'] or ''}"
                diatonic = numeral in (_SEVENTHS_MINOR if minor else _SEVENTHS_MAJOR)
                clear = numeral == "V" if form["of"] else form["sign"] is None and diatonic
            if not clear:
                message = f"unsupported harmony {token!r}: Roman numerals must be triads or diatonic sevenths"
                raise InvalidAnnotationError(message, path=name, line=number)
        if line.startswith("*"):  # spines split by *^ and join by *v
            paths = zip(["", *tokens], tokens, kinds, strict=False)
            counts = [(kind, 2 if path == "*^" else int(not path == before == "*v")) for before, path, kind in paths]
            kinds = [kind for kind, times in counts for _ in range(times)]
    return count


Found = list[tuple[float, str]]
"""Offsets in quarter notes, and labels, ascending."""


def _refuse_transposed(part: ScorePart, name: str | Path) -> None:
    if part.transposing:
        message = f"part {part.name!r} is written for a transposing instrument; provide a score in C"
        raise InvalidAnnotationError(message, path=name)


def _merged(found: list[tuple[float, str, str]], what: str, name: str | Path) -> Found:
    """Labels by offset; raise if parts disagree."""
    by_offset: dict[float, tuple[str, str]] = {}
    for offset, label, where in found:
        known = by_offset.setdefault(offset, (label, where))
        if known[0] != label:
            raise InvalidAnnotationError(f"two {what} at the same time {where}: {known[0]} and {label}", path=name)
    return [(offset, label) for offset, (label, _) in sorted(by_offset.items())]


def _chords(score: ParsedScore, name: str | Path) -> Found:
    found = []
    for part in score.parts:
        for offset, one in part.harmonies():
            where = where_is(one, offset)
            _refuse_transposed(part, name)
            try:
                label = _of_numeral(one) if "RomanNumeral" in one.classes else _of_symbol(one)
            except ValueError as error:
                raise InvalidAnnotationError(f"{error}, {where}", path=name) from None
            found.append((offset, label, where))
    if not found:
        raise InvalidAnnotationError("the score has no harmonies", path=name)
    return _merged(found, "chords", name)


def _of_symbol(symbol: Any) -> str:
    if "NoChord" in symbol.classes:
        return NO_CHORD
    kind = str(symbol.chordKind)
    if kind not in KINDS_OF_HARMONY or symbol.root() is None:
        raise ValueError(f"unsupported chord kind {kind!r} ({symbol.figure!r})")
    degrees = KINDS_OF_HARMONY[kind].split()
    for change in symbol.getChordStepModifications():
        _change(
            degrees, str(change.modType), int(change.degree), round(change.interval.semitones) if change.interval else 0
        )
    root, bass = spelled(symbol.root()), spelled(symbol.bass())
    return label_of_degrees(root, degrees, degree_of_note(root, bass))


def _change(degrees: list[str], how: str, number: int, alter: int) -> None:
    """Add, alter or subtract a degree; as in MusicXML, added degrees are relative to a dominant chord."""
    held = next((degree for degree in degrees if degree.lstrip("#b") == str(number)), None)
    if how == "add":
        if number == 7 and alter < 0:  # programs use it for b7 and for bb7
            raise ValueError("the harmony adds a seventh altered by -1, which is ambiguous (b7 or bb7)")
        degrees.append(_altered(number, alter - (number == 7)))
        return
    if held is None:
        raise ValueError(f"the harmony has no degree {number} to {how}")
    place = degrees.index(held)
    if how == "subtract":
        del degrees[place]
    else:
        degrees[place] = _altered(number, alter + held.count("#") - held.count("b"))


def _altered(number: int, alter: int) -> str:
    return ("#" * alter if alter > 0 else "b" * -alter) + str(number)


def _of_numeral(numeral: Any) -> str:
    root = spelled(numeral.root())
    degrees = dict.fromkeys(degree_of_note(root, spelled(pitch)) for pitch in numeral.pitches)
    degrees.pop("1", None)
    seventh = any(degree.lstrip("#b") == "7" for degree in degrees)  # with it a second is a ninth, and so on
    found = [
        _altered(int(one[-1]) + 7, one.count("#") - one.count("b")) if seventh and one[-1] in "246" else one
        for one in degrees
    ]
    return label_of_degrees(root, found, degree_of_note(root, spelled(numeral.bass())))


def _keys(score: ParsedScore, name: str | Path) -> Found:
    found: list[tuple[float, str, str]] = []
    bare: dict[float, str] = {}
    for part in score.parts:
        for offset, tonic, mode, where in part.key_signatures():
            if not mode:
                bare.setdefault(offset, where)
                continue
            _refuse_transposed(part, name)
            found.append((offset, f"{tonic} {mode}", where))
    named = {offset for offset, _, _ in found}
    for offset, where in sorted(bare.items()):
        if offset not in named:
            raise InvalidAnnotationError(f"the key signature has no mode, so the key is unknown, {where}", path=name)
    if not found:
        raise InvalidAnnotationError("the score has no key", path=name)
    merged = _merged(found, "keys", name)
    return [one for one, before in zip(merged, [None, *merged], strict=False) if before is None or before[1] != one[1]]


def _clock(score: ParsedScore, tempo: float | None, name: str | Path) -> Callable[[Float], Float]:
    marks = dict(mark for part in score.parts for mark in part.tempi()) if tempo is None else {0.0: tempo}
    if 0.0 not in marks:
        raise InvalidAnnotationError(
            "the score does not begin with a tempo mark, so times in seconds are unknown; declare score_tempo: 60 for "
            "times in quarter notes",
            path=name,
        )
    offsets = np.array(sorted(marks))
    rates = np.array([60.0 / marks[offset] for offset in offsets.tolist()])
    begin = np.concatenate(
        [[0.0], np.cumsum([rate * (b - a) for rate, (a, b) in zip(rates, pairwise(offsets), strict=False)])]
    )

    def seconds(given: Float) -> Float:
        place = np.searchsorted(offsets, given, side="right") - 1
        return np.asarray(begin[place] + (given - offsets[place]) * rates[place], dtype=np.float64)

    return seconds
