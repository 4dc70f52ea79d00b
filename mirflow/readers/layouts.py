"""Layouts of delimited text: names and units of columns in headers, and the task that rows without a header look like.

Rows of chords begin with a number, as rows of beats do: read as beats, they would get a score. Therefore, fields that
are not columns of the task are errors, and so are numbers that can only belong to another task, and headers whose
columns or units are unclear. The errors name the remedy: columns to declare, or the other task. The names of columns
that identify or describe tracks, or separate rows of one track, are listed here, too.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ..annotations.arrays import is_number
from ..annotations.schema import HEADINGS, KINDS, TASK_KINDS, Kind, kind_of
from ..errors import InvalidAnnotationError
from ..ragged import Float
from .options import AUTO, KEYS, OPTIONS, Reading

Rows = Sequence[tuple[int, Sequence[str]]]
"""Fields of rows with their lines."""

SAMPLE = 200
"""Number of rows used to recognise a task."""
_NUMBER = re.compile(r"[+-]?\.?\d")
_CHORD = re.compile(r"(N|X|[A-G][b#]*(:[^\s/]+)?(/\S+)?)")
_KEY = re.compile(r"[A-G][b#]?\s+(maj|min|other)\w*", re.IGNORECASE)
_SLOWEST_FRAME = 0.1
"""Seconds. Times at smaller, equal distances are frames, not beats."""
_MOST_BEATS = 32
"""In a bar."""
_KINDS_OF_BEATS = 3
_SECTIONS = frozenset(
    (
        *("silence", "intro", "verse", "prechorus", "chorus", "refrain", "bridge", "solo", "interlude", "break"),
        *("instrumental", "inst", "transition", "theme", "main_theme", "outro", "coda", "end", "fade-out"),
    )
)
_LOWEST = 20.0
"""Hz, of pitches, and beats a minute, of tempi."""
_LARGEST = 1e9
"""Limit of the numbers used to recognise a task: larger ones are neither times nor pitches."""
TRACK_NAMES = (
    *("track", "track_id", "clip", "clip_id", "query", "query_id", "piece", "song", "song_id", "file", "filename"),
    *("path", "id"),
)
"""Names of the column of tracks in headers, in order of preference."""
# A single letter may name a track or a tag as well as a column.
_NO_EVIDENCE = ("p",)
_KNOWN = frozenset(name for column, names in HEADINGS.items() if column != "bar" for name in names)
_DECISIONS = ("present", "relevant", "rel")
"""Names of the numbers of a reference; tables of estimates may contain a copy of the reference."""
_LARGER_IS_FARTHER = ("distance", "distances", "dist", "cost", "dissimilarity", "divergence", "d")
# Row numbers, as in tables of pandas, and other names of the subject of rows.
_BESIDE = frozenset({"", "index", "idx", "row", *TRACK_NAMES, *KEYS})
_PLAIN_NAME = re.compile(r"[A-Za-z_][\w.-]*|\d+")
_BY_NAME_ALONE = ("bar", "detected", "program", "drum")
"""Columns that only their own names in a header may denote."""
_NEVER_READ = ("confidence", "conf", "comment", "comments", "remark", "remarks", "color", "colour")
"""Columns that are read only if declared, and do not affect scores."""
SEPARATING: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("system", "model", "model_name", "method", "algorithm", "algo", "approach"), "system"),
        **dict.fromkeys(("annotator", "annotator_id", "rater"), "annotator"),
        **dict.fromkeys(("run", "run_id", "seed", "trial", "epoch", "checkpoint", "iteration"), ""),
        **dict.fromkeys(("split", "fold", "subset", "partition"), ""),
    }
)
"""Names of columns whose values separate rows of one track that do not belong together, with the key that they are."""
ABOUT_TRACKS = (
    *("path", "file", "filename", "url", "_id", "title", "artist", "album", "split", "fold", "comment"),
    *("duration", "length", "index", "row", "year"),
)
"""Endings of the names of columns that describe the track of a row."""


CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d+(?:[.,]\d+)?)(?::\d+)?")
"""A time as of a clock, such as 1:02.5 or 00:01:02.5, perhaps with the number of a frame."""


def _is_any_number(text: str) -> bool:
    return is_number(text) or is_number(text.replace(",", ".", 1)) or CLOCK.fullmatch(text) is not None


def has_only_names(fields: Sequence[str]) -> bool:
    """True for two or more fields without a number."""
    return len(fields) > 1 and not any(map(_is_any_number, fields))


def heading(text: str) -> str:
    """The name in a header, without a unit in brackets."""
    return text.partition("(")[0].partition("[")[0].strip().lower().replace(" ", "_")


_IN_BRACKETS = re.compile(r"[(\[]\s*([^)\]]+?)\s*[)\]]")
_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("sample", "samples"), "samples@44100, with the rate,"),
    **dict.fromkeys(("frame", "frames"), "frames@0.01, with the hop,"),
    **dict.fromkeys(("min", "minute", "minutes", "us", "\u00b5s", "beats", "ticks", "quarters"), ""),
}
"""Units of times that headers name, and the option by which they are read; empty: none."""
_OF_PITCHES = {
    **dict.fromkeys(("midi", "semitone", "semitones"), "MIDI"),
    **dict.fromkeys(("cent", "cents", "log2"), ""),
}


def demand_units(
    header: Sequence[str], places: Mapping[str, int], reading: Reading, name: str | Path, line: int | None
) -> None:
    """Raise if a header names a unit other than that in which a column is read, unless a unit of times is declared.

    `places` are the columns that are read; `name` and `line` (of the header) are used in messages.
    """
    of_time, of_pitch = reading.delimited.time_unit, reading.delimited.pitch_unit
    units = {one.name: one.units for one in KINDS[reading.kind].variables} | {"duration": "s"}
    for column, place in places.items():
        bracket = _IN_BRACKETS.search(header[place]) if place < len(header) else None
        written = bracket[1].lower() if bracket is not None else ""
        if units.get(column) == "s" and written in _UNITS:
            unit, right = _UNITS[written], of_time if of_time != AUTO else "s"
            if unit == right or of_time not in (AUTO, "ms") or (of_time == "ms" and reading.kind != "following"):
                continue
            message = f"the header has {header[place]!r}, but times are read in {right}: "
            message += f"declare time_unit: {unit} (--time-unit {unit.partition(',')[0]})" if unit else "convert them"
            raise InvalidAnnotationError(message, path=name, line=line)
        if units.get(column) == "Hz" and written in _OF_PITCHES and _OF_PITCHES[written] != of_pitch:
            message = f"the header has {header[place]!r}, but pitches are read in {of_pitch}: "
            message += "declare pitch_unit: MIDI (--pitch-unit MIDI)" if _OF_PITCHES[written] else "convert them"
            raise InvalidAnnotationError(message, path=name, line=line)


def is_header(fields: Sequence[str], kind: Kind | None = None, *, keyed: bool = False) -> bool:
    """True if fields are names of columns: none is a number, and at least one is a usual name."""
    return not any(map(_is_any_number, fields)) and any(is_known(field, kind, keyed=keyed) for field in fields)


def is_known(field: str, kind: Kind | None, *, keyed: bool) -> bool:
    """True if a field is a usual name of a column of the kind and has no other meaning."""
    own = kind.headings.values() if kind else ()
    name = heading(field)
    known = name in _KNOWN or any(name in names for names in own) or (keyed and name in TRACK_NAMES)
    return known and name not in _NO_EVIDENCE


def find_columns(kind: Kind, header: Sequence[str], *, keyed: bool = False) -> dict[str, int]:
    """Positions of the columns that a header names."""
    headings = [heading(field) for field in header]
    usual = {"track": TRACK_NAMES, **HEADINGS, **kind.headings}
    places: dict[str, int] = {}
    for column in ("track", *kind.columns) if keyed else kind.columns:
        found = next((h for h in usual[column] if h in headings and headings.index(h) not in places.values()), None)
        if found is not None:
            places[column] = headings.index(found)
    return places


def named_columns(
    kind: Kind, header: Sequence[str], task: str | None, name: str | Path, line: int, *, keyed: bool = False
) -> dict[str, int]:
    """Positions of the columns of a kind by a header; raise if the header is incomplete or ambiguous.

    `keyed` headers must name a column of tracks. `task`, `name` and `line` (of the header) are used in messages.
    """
    places = find_columns(kind, header, keyed=keyed)
    needed = [("track",) * keyed + way for way in kind.needed]
    if not any(set(way) <= set(places) for way in needed):
        raise InvalidAnnotationError(_unnamed(kind, header, needed, places), path=name, line=line)
    if "end" in places:
        places.pop("duration", None)
    usual = {**HEADINGS, **kind.headings}
    read = {*places, *(("end", "duration") if {"end", "duration"} & set(places) else ())}
    own = {one for column in read for one in usual.get(column, ())}
    lacking = [column for column in kind.columns if column not in (*read, *_BY_NAME_ALONE)]
    named = {column: header[where] for column, where in places.items()}
    for index, one in enumerate(map(heading, () if kind.listed else header)):
        if index in places.values() or one in own or one in SEPARATING or is_beside(one):
            continue
        if one in _KNOWN:  # a column of another kind
            hint = look(_guess(header), kind)
            message = f"the header has a column {header[index]!r}, which {task or kind.name} does not have{hint}"
            raise InvalidAnnotationError(f"{message}; or declare {declare_columns(named)}", path=name, line=line)
        if lacking:  # it may be a missing one
            message = f"unknown column {header[index]!r} in the header, which may be the {' or '.join(lacking)}"
            message += f": declare {declare_columns({**named, lacking[0]: header[index]})}; if it is not, declare "
            raise InvalidAnnotationError(message + declare_columns(named), path=name, line=line)
    return places


def demand_frames(header: Sequence[str], kind: Kind, name: str | Path, line: int) -> None:
    """Raise unless a header belongs to multiple pitches over time: a time, then only pitches.

    Examples
    --------
    >>> demand_frames(["time", "f0_1", "f0_2"], KINDS["multipitch"], "a.csv", 1)
    >>> demand_frames(["start", "end", "pitch"], KINDS["multipitch"], "a.csv", 1)
    Traceback (most recent call last):
        ...
    mirflow.errors.InvalidAnnotationError: a.csv:1: the header has 'end', which is neither a time nor a pitch; the \
file looks like transcription (start, end, pitch, velocity): use task transcription; or declare header: true to skip it
    """
    first, *others = (re.sub(r"[\W_]*\d*$", "", heading(field)) or heading(field) for field in header)
    pitches = {one for column in ("frequency", "pitch") for one in HEADINGS[column]} | {"f", "midi", "note"}
    pitches |= {f"{pitch}s" for pitch in pitches} | {"frequencies", "pitches"}
    odd = [field for field, other in zip(header[1:], others, strict=True) if other not in pitches]
    if first not in HEADINGS["time"]:
        odd = [header[0], *odd]
    if odd:
        guess = _guess(header)
        hint = "" if guess in kind.alike else look(guess, kind)
        message = f"the header has {odd[0]!r}, which is neither a time nor a pitch{hint}; or declare header: true to "
        message += "skip it"
        raise InvalidAnnotationError(message, path=name, line=line)


def _unnamed(kind: Kind, header: Sequence[str], needed: Sequence[Sequence[str]], places: Mapping[str, int]) -> str:
    """Message about a header that lacks required names, with the remedy."""
    known = [header[place] for place in places.values()]
    others = [field for field in header if field not in known]
    missing = [column for column in needed[0] if column not in places]
    named = {column: header[place] for column, place in places.items() if column in needed[0]}
    unknown = f"only {', '.join(map(repr, known))} is known, not" if known else "unknown names"
    message = f"the header has no column {' or '.join(missing)}: {unknown} {', '.join(map(repr, others))}"
    # The columns of a header of unusual names, by the words in them.
    parts = [[*map(str.lower, _WORD.findall(field))] for field in header]
    usual = {"track": TRACK_NAMES, **HEADINGS, **kind.headings}
    options: dict[str, Any] = {}
    for way in needed:
        chosen: dict[str, int] = {}
        for column in (*way, *(["label"] if "label" in kind.columns and "label" not in way else [])):
            fitting = (
                place
                for whole in (True, False)  # "word" before "word_end"
                for name in (*usual[column], *_SYNONYMS.get(column, ()))
                for place, words in enumerate(parts)
                if (name == heading(header[place]) if whole else name in words) and place not in chosen.values()
                if column != "label" or _OF_TIMES.isdisjoint(words)  # word_end is no label
            )
            if (place := next(fitting, None)) is not None:
                chosen[column] = place
        if {*way} <= chosen.keys():
            options = {"columns": {column: header[place] for column, place in chosen.items()}}
            break
    guess = _guess(header)
    if guess and guess not in kind.tasks and not options:
        message += look(guess, kind)
    elif kind.listed and kind.recognised and len(others) > 1 and "track" in places:
        message += "; convert a table with one column per tag to one row per clip and tag"
    if not options:
        given = dict(zip(missing, others if len(others) == len(missing) else ["NAME"] * len(missing), strict=True))
        options = {"columns": {column: {**named, **given}[column] for column in needed[0]}}
        if "label" in places:
            options["columns"]["label"] = header[places["label"]]
    # The units that the names of columns contain.
    named_by = {column: [*map(str.lower, _WORD.findall(str(name)))] for column, name in options["columns"].items()}
    times = [named_by[column] for column in ("time", "start", "end", "duration") if column in named_by]
    if times and all(not _THOUSANDTHS.isdisjoint(words) for words in times):
        options["time_unit"] = "ms"
    if any("midi" in named_by.get(column, ()) for column in ("pitch", "frequency")):
        options["pitch_unit"] = "MIDI"
    return f"{message}; declare {spell(options)}; if the row is not a header, declare header: false (--no-header)"


_WORD = re.compile(r"[A-Z]*[a-z]+|[A-Z]+")
"""A word in the name of a column, such as those of wordEnd and of WORD_END."""
_SYNONYMS = MappingProxyType(
    {"start": ("first", "on"), "end": ("finish", "until", "till", "last", "off"), "pitch": ("midi", "note")}
)
"""Words in names of columns that have other meanings elsewhere, so that only proposals use them."""
_OF_TIMES = frozenset(("start", "begin", "onset", "end", "stop", "offset", "time", "duration"))
_THOUSANDTHS = frozenset(("ms", "msec", "millis", "milliseconds"))


def spell(options: Mapping[str, Any]) -> str:
    """Options of reading as keys of a pipeline and, in brackets, as they are typed.

    Examples
    --------
    >>> spell({"format": "csv", "header": False, "columns": {"label": 0}})
    'format: csv and header: false and columns: {label: 0} (--input-format csv --no-header --columns label=0)'
    """
    keys, typed = [], []
    for name, value in options.items():
        flag = OPTIONS[name].spelling or name.replace("_", "-")
        if name == "columns":
            keys.append(declare_columns(value))
            text = ",".join(f"{column}={where}" for column, where in value.items())
        elif isinstance(value, bool):
            keys.append(f"{name}: {str(value).lower()}")
            typed.append(f"--{flag}" if value else f"--no-{flag}")
            continue
        else:
            text = ",".join(value) if isinstance(value, list) else str(value)
            keys.append(f"{name}: [{text}]" if isinstance(value, list) else f"{name}: {text}")
        typed.append(f"--{flag} {shlex.quote(text)}")
    return f"{' and '.join(keys)} ({' '.join(typed)})"


def _guess(header: Sequence[str]) -> str:
    """The task whose columns a header names best; empty if it has names unknown to all kinds."""
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
    """Raise if a column of numbers that scores may depend on would be skipped because of its name.

    `places` are the columns that are read; `name` and `line` (of the header) are used in messages.
    """
    if not kind.values:
        return
    headings = [heading(field) for field in header]
    beside = [is_beside(name) and name not in _NEVER_READ for name in headings]
    left = [place for place in range(len(header)) if place not in places.values() and not beside[place]]
    if "value" in places and "broad" not in kind.ordered_by:
        left = [place for place in left if headings[place] in _DECISIONS]
    elif any(column in places for column in kind.ordered_by):
        return
    numbered = set[int]()
    for row in rows:  # the columns of numbers, and of those the ones that hold any
        if not left:
            break
        left = [place for place in left if is_number((row[place] if place < len(row) else "") or "0")]
        numbered.update(place for place in left if place < len(row) and row[place])
    place = next((place for place in left if place in numbered), None)
    if place is not None:
        named = {column: header[where] for column, where in places.items() if where < len(header)}
        without = {column: one for column, one in named.items() if column != "value"}
        own, bare = declare_columns({**without, "value": header[place]}), declare_columns(without)
        remedy = f"if they are {kind.values}, declare {own}; if not, declare {bare}"
        if "value" in named:
            others = f"if they are those of {named['value']!r}, declare {declare_columns(named)}"
            remedy = f"if these are the {kind.values.removeprefix('the ')}, declare {own}; {others}"
        elif heading(header[place]) in _LARGER_IS_FARTHER:
            turned = "-x, or a column of ranks," if "rank" in kind.ordered_by else "1 - x"
            remedy = f"smaller numbers are better there, unlike in {kind.values}: write {turned} under another name; "
            remedy += f"or, to ignore them, declare {bare}"
        message = f"the column {header[place]!r} holds numbers and would not be read: {remedy}"
        raise InvalidAnnotationError(message, path=name, line=line)


def is_beside(name: str, *, tracks: bool = False) -> bool:
    """True if a column of this name is left out by declaration; of tables of `tracks`, also what describes a track."""
    usual = name in _BESIDE or name in _NEVER_READ or name.endswith("_id") or name.startswith("unnamed")
    return usual or (tracks and name.endswith(ABOUT_TRACKS))


def declare_columns(columns: Mapping[str, Any]) -> str:
    """The option that declares columns."""
    names = {column: name if _PLAIN_NAME.fullmatch(str(name)) else repr(name) for column, name in columns.items()}
    return f"columns: {{{', '.join(f'{column}: {name}' for column, name in names.items())}}}"


def demand_columns(rows: Rows, kind: Kind, task: str | None, width: int, name: str | Path) -> None:
    """Raise if rows without a header hold more than the columns of a task.

    `width` is the number of columns that are read; without a `task`, any task with such annotations will do.

    Examples
    --------
    >>> demand_columns([(1, ["0.0", "1.5 C:maj"])], kind_of("onset"), "onset", 2, "a.lab")
    Traceback (most recent call last):
        ...
    mirflow.errors.InvalidAnnotationError: a.lab:1: not a row of onset (time, label): '0.0 1.5 C:maj'; the file looks \
like chord (start, end, label): ...
    """
    demand_width(rows, kind, task, width, name)
    if not rows:
        return
    first = [number for _, fields in rows[:SAMPLE] for number in _leading(fields[:1])]
    if kind.listed and all(number.is_integer() for number in first):  # numeric names of tracks or classes, not times
        return
    line, fields = rows[0]
    if len(fields) < kind.numbers:  # an error where the numbers are read
        return
    guess = guess_task([fields for _, fields in rows[:SAMPLE]])
    names = {row[1] for _, row in rows if len(row) > 1 and not _NUMBER.match(row[1])}
    if _contradicts(guess, kind) or ("position" in kind.rows.get(task or "", ()) and len(names) > _KINDS_OF_BEATS):
        raise refusal(kind, task, fields, guess, line, name)


def are_numbers_of(table: Float, kind: Kind, first: Sequence[str]) -> bool:
    """True if rows of numbers may be of a kind; `first` holds the fields of the first row."""
    return not _contradicts(_guess_from_numbers(table), kind) and not _is_odd(kind, None, first, table.shape[1])


def demand_width(rows: Rows, kind: Kind, task: str | None, width: int, name: str | Path) -> None:
    """Like `demand_columns`, but check each row separately."""
    for line, fields in rows:
        if _is_odd(kind, task, fields, width):
            guess = guess_task([fields for _, fields in rows[:SAMPLE]])
            raise refusal(kind, task, fields, guess, line, name, remedy_for_regions(rows, kind))


def demand_tags(rows: Rows, places: Mapping[str, int], task: str | None, name: str | Path) -> None:
    """Raise if all tags of rows without a header are numbers, as in a table with one column per tag.

    Only the task ``tagging`` is checked; `places` are the columns that are read.
    """
    if task != "tagging":
        return
    tags = [(line, fields[places["label"]]) for line, fields in rows if places["label"] < len(fields)]
    numbers = [one for one in tags if is_number(one[1])]
    first = rows[0][1] if len(rows) > 1 else ()
    header = len(first) > 1 and not any(map(is_number, first))  # with unknown names only
    if numbers and not any(tag and not is_number(tag) for _, tag in tags[header:]):
        line, tag = numbers[0]
        message = f"the tag would be a number: {tag!r}; a table with one column per tag needs a header "
        declare = f"columns: {{{', '.join(f'{column}: {place}' for column, place in places.items())}}}"
        message += f"(clip,guitar,slow); if tags are numbers, declare {declare}"
        raise InvalidAnnotationError(message, path=name, line=line)


def remedy_for_regions(rows: Rows, kind: Kind) -> str:
    """The remedy for rows of a start, a value, a duration and a label, as Sonic Visualiser exports regions.

    Empty unless each region would then end before the next one starts.
    """
    if not kind.adjacent or any(len(_leading(fields[:4])) != 3 or len(fields) < 4 for _, fields in rows):
        return ""
    table = np.array([_leading(fields[:3]) for _, fields in rows])
    start, duration = table[:, 0], table[:, 2]
    if (duration < 0).any() or (start[:-1] + duration[:-1] > start[1:] + _ROUNDING).any():
        return ""
    return (
        "for regions of Sonic Visualiser, declare columns: {start: 0, duration: 2, label: 3} (--columns "
        "start=0,duration=2,label=3)"
    )


_ROUNDING = 0.05
"""Seconds by which regions may overlap, as their times are rounded."""


def refusal(
    kind: Kind, task: str | None, fields: Sequence[str], guess: str, line: int, name: str | Path, remedy: str = ""
) -> InvalidAnnotationError:
    """The error for a row that does not belong to the task, with the task that the file looks like, or a `remedy`."""
    called = task or (kind.tasks[0] if len(kind.tasks) == 1 else kind.name)
    message = f"not a row of {called} ({', '.join(kind.row(task))}): {' '.join(fields)!r}"
    if remedy:
        return InvalidAnnotationError(f"{message}; {remedy}", path=name, line=line)
    leading = _leading(fields)
    if kind.name in ("events", "hits") and guess in ("segment", "") and len(leading) > 1 and leading[0] == leading[1]:
        message += "; for point labels, as of Audacity, declare columns: {time: 0, label: 2} (--columns time=0,label=2)"
        return InvalidAnnotationError(message, path=name, line=line)
    message += look(guess, kind)
    if kind.columns and len(leading) >= kind.numbers:
        places = {one: kind.usual_order.index(one) for one in kind.needed[0]}
        if "velocity" in kind.columns and len(leading) == len(places) + 1:
            places["velocity"] = len(places)
        usual = ", ".join(f"{column}: {place}" for column, place in places.items())
        message += f"; or declare the columns to read, such as columns: {{{usual}}}"
    return InvalidAnnotationError(message, path=name, line=line)


def look(guess: str, kind: Kind) -> str:
    """Remedy for a file that looks like another task, after a semicolon; empty for other files.

    Examples
    --------
    >>> look("melody", kind_of("beat")), look("beat", kind_of("beat"))
    ('; the file looks like melody (time, frequency): use task melody', '')
    """
    if not guess or guess in kind.tasks:
        return ""
    if guess == "onset":  # beats have only times, too
        return "; the file looks like onset or beat (time): use task onset or task beat"
    return f"; the file looks like {guess} ({', '.join(kind_of(guess).row(guess))}): use task {guess}"


def _contradicts(guess: str, kind: Kind) -> bool:
    """True if rows whose columns fit the kind can only belong to another task."""
    return bool(guess) and TASK_KINDS[guess] != kind.name and guess not in kind.alike


def _is_odd(kind: Kind, task: str | None, fields: Sequence[str], width: int) -> bool:
    """True if a row holds a field that is not a column of the task."""
    if not kind.numbers:
        return any(fields[width:])
    rest = [word for field in fields[kind.numbers :] for word in field.split()]
    numbers = _leading(rest)
    if kind.followed_by == "pitches":
        return len(numbers) < len(rest)
    if kind.followed_by == "velocity":  # an instrument may also follow the velocity
        return len(numbers) > 1
    if not kind.followed_by:
        return bool(rest)
    if not numbers:  # any text may be a label
        return False
    if kind.followed_by == "position":
        counted = len(numbers) == 1 or all(number.is_integer() for number in numbers)
        return len(rest) > len(numbers) or len(numbers) >= len(kind.row(task)) or not counted
    # Segments may be numbered, chords are not.
    if task == "chord" or len(numbers) > 1 or not numbers[0].is_integer():
        return True
    return len(rest) > 1 and "." in rest[0]  # a duration and a label


def are_plain(labels: Collection[str], kind: Kind, task: str | None) -> bool:
    """True if labels clearly belong to a task, so that rows need not be checked one by one."""
    texts, on_beats = not any(map(_NUMBER.match, labels)), "position" in kind.rows.get(task or "", ())
    if kind.followed_by == "label":
        return texts
    if texts:
        return not _guess_from_labels(1, labels, 2) and (not on_beats or len(labels) <= _KINDS_OF_BEATS)
    return (
        on_beats
        and len(labels) <= _MOST_BEATS
        and all(label.isdecimal() and float(label) <= _MOST_BEATS for label in labels)
    )


def guess_task(rows: Sequence[Sequence[str]]) -> str:
    """Guess the task from rows of fields; empty if they are ambiguous."""
    words = [found for row in rows[:SAMPLE] if (found := [word for field in row for word in field.split()])]
    if not words:
        return ""
    numbers = list(map(_leading, words))
    texts = [" ".join(row[len(head) :]) for row, head in zip(words, numbers, strict=True)]
    forms = Counter((len(head), bool(text)) for head, text in zip(numbers, texts, strict=True))
    (width, labelled), _ = forms.most_common(1)[0]
    if labelled:
        labels = {text for head, text in zip(numbers, texts, strict=True) if len(head) == width and text}
        return _guess_from_labels(width, labels, len(rows))
    if any(texts) or not width:
        return ""
    if len(set(map(len, numbers))) > 1:
        times = np.array([head[0] for head in numbers])
        return "multipitch" if (np.abs(times) <= _LARGEST).all() and _are_frames(times) else ""
    return _guess_from_numbers(np.array(numbers, dtype=np.float64))


def _guess_from_labels(width: int, labels: Collection[str], rows: int) -> str:
    # Letters alone name segments.
    chords = all(map(_CHORD.fullmatch, labels)) and any(any(sign in label for sign in ":/#b") for label in labels)
    if width in (1, 2) and chords:
        return "chord"
    if width == 2 or (width == 1 and 2 * sum(label.lower() in _SECTIONS for label in labels) >= len(labels)):
        return "segment"
    if width == 0 and any(label.lower().startswith(("pattern", "occurrence")) for label in labels):
        return "pattern"
    return "key" if width == 0 and rows == 1 and all(map(_KEY.fullmatch, labels)) else ""


def _guess_from_numbers(table: Float) -> str:
    """Guess the task from the first rows of numbers; empty if they are ambiguous."""
    table = table[:SAMPLE]
    rows, width = table.shape
    if not (np.abs(table) <= _LARGEST).all():
        return ""
    if rows == 1:
        return "tempo" if width == 3 and (table[0, :2] >= _LOWEST).all() and 0 < table[0, 2] < 1 else ""
    if width == 1:
        times = (np.diff(table[:, 0]) > 0).all() and (table != np.floor(table)).any()
        return "onset" if times and not _are_frames(table[:, 0]) else ""
    time, other, third = table[:, 0], table[:, 1], table[:, min(2, width - 1)]
    ordered = bool((other >= time).all())
    if width > 2 and width < 5 and ordered and (third >= _LOWEST).all() and not (other - time >= _LOWEST).all():
        return "transcription"
    counted = (other == np.floor(other)).all() and (np.diff(other) == 1).all()  # also true for beats at whole seconds
    lasting = ordered and bool((other > time).any())
    bars = (third == np.floor(third)).all() and np.isin(np.diff(third), (0, 1)).all()
    if width < 4 and lasting and rows > 2 and np.isclose(other[:-1], time[1:]).all() and not counted:
        return "segment"
    # Positions of beats in their bars.
    step = np.diff(time)
    beats = rows > 3 and bool((step > 0).all()) and float(np.median(step)) >= _SLOWEST_FRAME
    positions = (other == np.floor(other)).all() and other.min() >= 0 and other.max() <= _MOST_BEATS
    if width < 4 and beats and positions and (other == 1).any() and (width == 2 or bars):
        return "beat"
    pitches = bool(((np.abs(other) >= _LOWEST) | (other == 0)).all())
    if pitches and _are_frames(time):
        return "melody" if width == 2 else "multipitch"
    return ""


def _are_frames(time: Float) -> bool:
    """True if times are those of frames: many, at equal distances up to rounding to 1 ms."""
    step = np.diff(time)
    if len(step) < 9 or not (step > 0).all():
        return False
    middle = float(np.median(step))
    return middle < _SLOWEST_FRAME and float(np.ptp(step)) <= max(0.002, middle / 10)


def _leading(words: Sequence[str]) -> list[float]:
    numbers: list[float] = []
    for word in words:
        if not _NUMBER.match(word) or not is_number(word):
            break
        numbers.append(float(word))
    return numbers
