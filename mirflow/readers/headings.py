"""Names of columns in the headers of delimited text, and the refusal of headers that may be misread."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..annotations.schema import HEADINGS, KINDS, Kind
from ..errors import InvalidAnnotationError
from .layouts import is_number, look
from .options import KEYS

_TRACK = (
    *("track", "track_id", "clip", "clip_id", "query", "query_id", "piece", "song", "song_id", "file", "filename"),
    *("path", "id"),
)
# A letter alone is as good a name of a track or tag as of a column.
_NO_EVIDENCE = ("p",)
_KNOWN = frozenset(name for column, names in HEADINGS.items() if column != "bar" for name in names)
_DECISIONS = ("present", "relevant", "rel")
"""Names of the numbers of a reference; in an estimate those of a reference that it was written beside."""
_LARGER_IS_FARTHER = ("distance", "distances", "dist", "cost", "dissimilarity", "divergence", "d")
# Numbers of rows, which tables of pandas have, and other names of what rows are about.
_BESIDE = frozenset({"", "index", "row", *_TRACK, *KEYS})
_PLAIN_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_NEVER_READ = ("confidence", "conf", "comment", "comments", "remark", "remarks", "color", "colour")
"""Columns that no kind reads unless they are declared, and that change no score."""


def heading(text: str) -> str:
    """The name in a header, without a unit in brackets.

    Examples
    --------
    >>> heading("Onset Time [s]")
    'onset_time'
    """
    return text.partition("(")[0].partition("[")[0].strip().lower().replace(" ", "_")


def is_header(fields: Sequence[str], kind: Kind | None = None, *, keyed: bool = False) -> bool:
    """True if fields are names of columns: none is a number, and one is a usual name."""
    return not any(map(is_number, fields)) and any(is_known(field, kind, keyed=keyed) for field in fields)


def is_known(field: str, kind: Kind | None, *, keyed: bool) -> bool:
    """True if a field is a usual name of a column of the kind, and nothing else."""
    own = kind.headings.values() if kind else ()
    name = heading(field)
    known = name in _KNOWN or any(name in names for names in own) or (keyed and name in _TRACK)
    return known and name not in _NO_EVIDENCE


def find_columns(kind: Kind, header: Sequence[str], *, keyed: bool = False) -> dict[str, int]:
    """Places of columns by the names in a header; those that it does not name are left out.

    Examples
    --------
    >>> find_columns(KINDS["labels"], ["tag", "clip", "prob"], keyed=True)
    {'track': 1, 'label': 0, 'value': 2}
    """
    headings = [heading(field) for field in header]
    usual = {"track": _TRACK, **HEADINGS, **kind.headings}
    places: dict[str, int] = {}
    for column in ("track", *kind.columns) if keyed else kind.columns:
        found = next((h for h in usual[column] if h in headings and headings.index(h) not in places.values()), None)
        if found is not None:
            places[column] = headings.index(found)
    return places


def named_columns(
    kind: Kind, header: Sequence[str], task: str | None, name: str | Path, line: int, *, keyed: bool = False
) -> dict[str, int]:
    """Places of the columns of a kind by a header, which has to name them so that none is taken for another.

    Parameters
    ----------
    task : str or None
        What the file is read for, for messages.
    name : path
        Name of the file in messages.
    line : int
        Of the header.
    keyed : bool
        Whether there has to be a column of tracks.

    Examples
    --------
    >>> named_columns(KINDS["intervals"], ["chord", "onset", "duration"], "chord", "a.csv", 1)
    {'start': 1, 'duration': 2, 'label': 0}
    >>> named_columns(KINDS["events"], ["time", "frequency"], "beat", "a.csv", 1)
    Traceback (most recent call last):
        ...
    mirflow.errors.InvalidAnnotationError: a.csv:1: the header has a column 'frequency', and beat has none; the file \
looks like melody (time, frequency): say task melody; or declare columns: {time: time}
    """
    places = find_columns(kind, header, keyed=keyed)
    needed = [("track",) * keyed + way for way in kind.needed]
    if not any(set(way) <= set(places) for way in needed):
        raise InvalidAnnotationError(_unnamed(kind, header, needed[0], places), path=name, line=line)
    if "end" in places:
        places.pop("duration", None)
    problem = "" if kind.listed else _unknown(kind, header, places, task)
    if problem:
        raise InvalidAnnotationError(problem, path=name, line=line)
    return places


def demand_frames(header: Sequence[str], kind: Kind, name: str | Path, line: int) -> None:
    """Raise unless a header is that of several pitches over time: a time, then nothing but pitches.

    Examples
    --------
    >>> demand_frames(["time", "f0_1", "f0_2"], KINDS["multipitch"], "a.csv", 1)
    >>> demand_frames(["start", "end", "pitch"], KINDS["multipitch"], "a.csv", 1)
    Traceback (most recent call last):
        ...
    mirflow.errors.InvalidAnnotationError: a.csv:1: of the header 'end' is no time or pitch; the file looks like \
transcription (start, end, pitch, velocity): say task transcription; or declare header: true to leave it out
    """
    first, *others = (re.sub(r"[\W_]*\d*$", "", heading(field)) or heading(field) for field in header)
    pitches = {one for column in ("frequency", "pitch") for one in HEADINGS[column]} | {"f", "midi", "note"}
    pitches |= {f"{one}s" for one in pitches} | {"frequencies", "pitches"}
    odd = [field for field, one in zip(header[1:], others, strict=True) if one not in pitches]
    if first not in HEADINGS["time"]:
        odd = [header[0], *odd]
    if odd:
        guess = _guess(header)
        hint = "" if guess in kind.alike else look(guess, kind)
        message = f"of the header {odd[0]!r} is no time or pitch{hint}; or declare header: true to leave it out"
        raise InvalidAnnotationError(message, path=name, line=line)


def _unnamed(kind: Kind, header: Sequence[str], needed: Sequence[str], places: Mapping[str, int]) -> str:
    """Message about a header that lacks needed names, with the remedy."""
    known = [header[place] for place in places.values()]
    others = [field for field in header if field not in known]
    missing = [column for column in needed if column not in places]
    named = {column: header[place] for column, place in places.items() if column in needed}
    found = f"of the header only {', '.join(map(repr, known))} is known" if known else "nothing in the header is known"
    message = f"{found}, and no column is called {' or '.join(missing)}: {', '.join(map(repr, others))}"
    guess = _guess(header)
    if guess and guess not in kind.tasks:
        message += look(guess, kind)
    elif kind.listed and kind.recognised and len(others) > 1 and "track" in places:
        message += "; of a table with a column for each tag write a row for each clip and tag"
    given = dict(zip(missing, others if len(others) == len(missing) else ["NAME"] * len(missing), strict=True))
    declare = _declared({column: {**named, **given}[column] for column in needed})
    return f"{message}; declare {declare}, or header: false if the row is none"


def _unknown(kind: Kind, header: Sequence[str], places: Mapping[str, int], task: str | None) -> str:
    """Message about a column that the kind does not have, or that may be one that is missing."""
    usual = {**HEADINGS, **kind.headings}
    read = {*places, *(("end", "duration") if {"end", "duration"} & set(places) else ())}
    own = {one for column in read for one in usual[column]}
    lacking = [column for column in kind.columns if column not in (*read, "bar", "detected")]
    named = {column: header[where] for column, where in places.items()}
    for place, one in enumerate(map(heading, header)):
        if place in places.values() or one in own or one in _NEVER_READ or _is_beside(one):
            continue
        if one in _KNOWN:
            hint = look(_guess(header), kind)
            message = f"the header has a column {header[place]!r}, and {task or kind.name} has none{hint}"
            return f"{message}; or declare {_declared(named)}"
        if lacking:
            message = f"the column {header[place]!r} of the header is not known, and may be the {' or '.join(lacking)}"
            return f"{message}: declare {_declared({**named, lacking[0]: header[place]})}, else {_declared(named)}"
    return ""


def _guess(header: Sequence[str]) -> str:
    """The task of the kind of which a header names most columns; empty if it names what no kind has."""
    found = {}
    for kind in KINDS.values():
        places = find_columns(kind, header) if kind.recognised else {}
        if any(set(way) <= set(places) for way in kind.needed):
            found[kind.name] = places
    if not found:
        return ""
    kind = max(map(KINDS.__getitem__, found), key=lambda kind: (len(found[kind.name]), kind.numbers))
    if kind.adjacent and "chord" not in map(heading, header):
        return kind.tasks[-1]
    return kind.tasks[-1] if "value" in found[kind.name] else kind.tasks[0]


def demand_read(
    kind: Kind,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    places: Mapping[str, int],
    name: str | Path,
    line: int,
) -> None:
    """Raise if numbers beside names, which scores depend on, would be left out because of their column's name.

    Parameters
    ----------
    places : mapping of str to int
        Of the columns that are read.
    name : path
        Name of the file in messages.
    line : int
        Of the header.

    Examples
    --------
    >>> demand_read(KINDS["labels"], ["tag", "loudness"], [["slow", "0.2"]], {"label": 0}, "a.csv", 1)
    Traceback (most recent call last):
        ...
    mirflow.errors.InvalidAnnotationError: a.csv:1: the column 'loudness' holds numbers and would not be read: \
if they are the numbers of the tags, declare columns: {label: tag, value: loudness}, else columns: {label: tag}
    """
    if not kind.values:
        return
    headings = [heading(field) for field in header]
    left = [place for place in range(len(header)) if place not in places.values() and not _is_beside(headings[place])]
    if "value" in places and "broad" not in kind.ordered_by:
        left = [place for place in left if headings[place] in _DECISIONS]
    elif any(column in places for column in kind.ordered_by):
        return
    place = next(iter(_places_of_numbers(left, rows)), None)
    if place is not None:
        named = {column: header[where] for column, where in places.items() if where < len(header)}
        message = f"the column {header[place]!r} holds numbers and would not be read: "
        raise InvalidAnnotationError(message + _remedy(header[place], named, kind), path=name, line=line)


def _remedy(unread: str, named: Mapping[str, str], kind: Kind) -> str:
    """Remedy for a column that is to be read or left out."""
    without = {column: name for column, name in named.items() if column != "value"}
    own, bare = _declared({**without, "value": unread}), _declared(without)
    if "value" in named:
        return (
            f"say whether {kind.values} are these or those of {named['value']!r}: declare {own} or {_declared(named)}"
        )
    if heading(unread) in _LARGER_IS_FARTHER:
        turned = "-x, or a column of ranks," if "rank" in kind.ordered_by else "1 - x"
        reversed_ = f"smaller is better there, and larger is in {kind.values}: write {turned} under another name"
        return f"{reversed_}; or, if they do not count, declare {bare}"
    return f"if they are {kind.values}, declare {own}, else {bare}"


def _is_beside(name: str) -> bool:
    return name in _BESIDE or name.endswith("_id") or name.startswith("unnamed")


def _places_of_numbers(places: Sequence[int], rows: Iterable[Sequence[str]]) -> list[int]:
    """Those of the places at which all fields are numbers, and there is one."""
    left, filled = list(places), set()
    for row in rows:
        for place in list(left):
            text = row[place] if place < len(row) else ""
            if not is_number(text or "0"):
                left.remove(place)
            elif text:
                filled.add(place)
        if not left:
            break
    return [place for place in left if place in filled]


def _declared(columns: Mapping[str, str]) -> str:
    named = (f"{column}: {name if _PLAIN_NAME.fullmatch(name) else repr(name)}" for column, name in columns.items())
    return f"columns: {{{', '.join(named)}}}"
