"""Delimited text: rows under headers or by position, and the line of what is wrong; events and intervals."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..annotations.annotation import Annotation, Attribute
from ..annotations.schema import KINDS
from ..errors import InvalidAnnotationError, suggest
from ..ragged import Column, Float
from ..theory.pitch import to_hertz
from .content import decode
from .layouts import NEEDED, are_plain, demand_columns, guess_task, is_number, look
from .options import COLUMNS, KEYS, DelimitedOptions, Last

# In the order of preference.
_HEADINGS = {
    "time": ("time", "t", "seconds", "onset", "start", "beat", "timestamp", "time_s", "onset_time"),
    "start": ("start", "begin", "onset", "from", "start_time", "onset_time", "start_s", "time", "t", "t_start"),
    "end": ("end", "stop", "offset", "to", "end_time", "offset_time", "end_s", "t_end"),
    "duration": ("duration", "dur", "length", "duration_s"),
    "label": (
        *("label", "labels", "value", "chord", "segment", "section", "function", "key", "text", "name", "position"),
        "instrument",
    ),
    "bar": ("bar", "bar_number", "measure"),
    # Not among them: names that say MIDI, for which the unit has to be declared, and a confidence, which is no voicing.
    "frequency": ("frequency", "f0", "freq", "hz", "pitch", "f0_hz", "frequency_hz"),
    "pitch": ("pitch", "frequency", "freq", "f0", "hz", "pitch_hz", "frequency_hz"),
    "voicing": ("voicing", "voiced"),
    "velocity": ("velocity", "vel", "midi_velocity"),
}
_DECISIONS = ("present", "relevant", "rel")
"""What a truth calls its numbers, and an estimate a truth that it was written beside."""
_GRADES = ("weight", "degree", "grade")
# Where a kind has other names for a column, or gives a name another meaning.
_HEADINGS_OF: dict[str, dict[str, tuple[str, ...]]] = {
    "events": {
        # The number of a beat in its bar, where another column has the time.
        "label": (*_HEADINGS["label"], "beat", "beat_number", "beat_position", "position_in_bar", "word"),
    },
    "labels": {
        "label": (
            *("tag", "tags", "label", "labels", "class", "genre", "mood", "artist", "composer", "category"),
            *("instrument", "prediction", "name"),
        ),
        "value": (
            *("value", "affinity", "score", "probability", "confidence", "relevance", "prob", "p", "likelihood"),
            *("activation", "similarity", "sim", *_DECISIONS, *_GRADES),
        ),
    },
    "ranking": {
        "track": ("query", "query_id", "qid", "topic", "track", "track_id", "clip", "file", "filename", "path", "id"),
        "label": (
            *("item", "item_id", "candidate", "candidate_id", "document", "doc", "doc_id", "docid", "result", "answer"),
            *("label", "track", "track_id", "song", "piece"),
        ),
        "value": (
            *("score", "similarity", "relevance", "grade", "value", "sim", "confidence", "affinity", "probability"),
            *("prob", "p", "likelihood", "activation", *_DECISIONS, "weight", "degree"),
        ),
        "rank": ("rank", "ranking", "position"),
    },
    "judgements": {
        "label": ("candidate", "candidate_id", "label", "result", "item", "document"),
        "grader": ("grader", "grader_id", "judge", "evaluator", "user"),
        "broad": ("broad", "broad_score", "category"),
        "value": ("fine", "fine_score", "value", "score", "similarity"),
        "rank": ("rank",),
    },
    "following": {
        "time": ("time", "onset", "onset_time", "estimated", "estimated_onset", "performance"),
        "detected": ("detected", "detection", "detection_time", "reported"),
        "position": ("position", "score", "score_time", "score_onset", "note_start"),
        "pitch": ("pitch", "midi", "note", "midi_note", "midi_pitch"),
    },
}
_TRACK = (
    *("track", "track_id", "clip", "clip_id", "query", "query_id", "piece", "song", "song_id", "file", "filename"),
    *("path", "id"),
)
# A letter alone is as good a name of a track or tag as of a column.
_NO_EVIDENCE = ("p",)
_KNOWN = frozenset(name for column, names in _HEADINGS.items() if column != "bar" for name in names)
_LARGER_IS_FARTHER = ("distance", "distances", "dist", "cost", "dissimilarity", "divergence", "d")
# Numbers of rows, which tables of pandas have, and other names of what rows are about.
_BESIDE = frozenset({"", "index", "row", *_TRACK, *KEYS})
_WITHOUT_NUMBERS: Mapping[str, tuple[Collection[str], str]] = {
    "labels": (("value",), "the numbers of the tags"),
    "ranking": (("value", "rank"), "the scores or grades of the items"),
    "judgements": (("value", "rank", "broad"), "the fine judgements"),
}
"""Kind -> columns of which any says how the names of a row are meant, and what its numbers would be."""
_PLAIN_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_NEVER_READ = ("confidence", "conf", "comment", "comments", "remark", "remarks", "color", "colour")
"""What no kind reads unless it is declared, and what changes no score."""


def heading(text: str) -> str:
    """The name in a header, without a unit in brackets.

    Examples
    --------
    >>> heading("Onset Time [s]")
    'onset_time'
    """
    return text.partition("(")[0].partition("[")[0].strip().lower().replace(" ", "_")


def is_known(field: str, kind: str, *, keyed: bool) -> bool:
    """Whether a field is a usual name of a column of the kind, and nothing else."""
    known = _KNOWN.union(*_HEADINGS_OF.get(kind, {}).values(), _TRACK if keyed else ())
    return heading(field) in known.difference(_NO_EVIDENCE)


def find_columns(kind: str, columns: Iterable[str], header: Sequence[str]) -> dict[str, int]:
    """Where columns stand, by the names in a header; those that it does not name are left out.

    Examples
    --------
    >>> find_columns("labels", ("track", "label", "value"), ["tag", "clip", "prob"])
    {'track': 1, 'label': 0, 'value': 2}
    """
    headings = [heading(field) for field in header]
    usual = {"track": _TRACK, **_HEADINGS, **_HEADINGS_OF.get(kind, {})}
    places: dict[str, int] = {}
    for column in columns:
        found = next((h for h in usual[column] if h in headings and headings.index(h) not in places.values()), None)
        if found is not None:
            places[column] = headings.index(found)
    return places


def named_columns(
    kind: str, header: Sequence[str], task: str | None, name: str | Path, line: int, *, keyed: bool = False
) -> dict[str, int]:
    """Where the columns of a kind stand by a header, which has to name them so that none is taken for another.

    Parameters
    ----------
    kind : str
    header : sequence of str
        It stands on that line.
    task : str or None
        What the file is read for, for messages.
    name : path
        What to call the file in messages.
    line : int
    keyed : bool
        Whether there has to be a column of tracks.

    Raises
    ------
    InvalidAnnotationError
        If a column that is needed is not named, or a name is unknown and may be that of a column that is not.

    Examples
    --------
    >>> named_columns("intervals", ["chord", "onset", "duration"], "chord", "a.csv", 1)
    {'start': 1, 'duration': 2, 'label': 0}
    >>> named_columns("events", ["time", "frequency"], "beat", "a.csv", 1)
    Traceback (most recent call last):
        ...
    mirflow.errors.InvalidAnnotationError: a.csv:1: the header has a column 'frequency', and beat has none; the file \
looks like melody (time, frequency): say task melody; or declare columns: {time: time}
    """
    places = find_columns(kind, ("track", *COLUMNS[kind]) if keyed else COLUMNS[kind], header)
    needed = [("track",) * keyed + tuple(way) for way in KINDS[kind].headings]
    if not any(set(way) <= set(places) for way in needed):
        raise InvalidAnnotationError(_unnamed(kind, header, needed[0], places), path=name, line=line)
    if "end" in places:
        places.pop("duration", None)
    if not KINDS[kind].listed:
        _demand_known(kind, header, places, task, name, line)
    return places


def demand_frames(header: Sequence[str], name: str | Path, line: int) -> None:
    """Raise unless a header is that of several pitches over time: a time, then nothing but pitches.

    Raises
    ------
    InvalidAnnotationError

    Examples
    --------
    >>> demand_frames(["time", "f0_1", "f0_2"], "a.csv", 1)
    >>> demand_frames(["start", "end", "pitch"], "a.csv", 1)
    Traceback (most recent call last):
        ...
    mirflow.errors.InvalidAnnotationError: a.csv:1: of the header 'end' is no time or pitch; the file looks like \
transcription (start, end, pitch, velocity): say task transcription; or declare header: true to leave it out
    """
    first, *others = (re.sub(r"[\W_]*\d*$", "", heading(field)) or heading(field) for field in header)
    pitches = {one for column in ("frequency", "pitch") for one in _HEADINGS[column]} | {"f", "midi", "note"}
    pitches |= {f"{one}s" for one in pitches} | {"frequencies", "pitches"}
    odd = [field for field, one in zip(header[1:], others, strict=True) if one not in pitches and one != "f"]
    if first not in _HEADINGS["time"]:
        odd = [header[0], *odd]
    if odd:
        own = _kind_of(header)
        hint = look(_task_of(own, header), "multipitch") if own and own != "series" else ""
        message = f"of the header {odd[0]!r} is no time or pitch{hint}; or declare header: true to leave it out"
        raise InvalidAnnotationError(message, path=name, line=line)


def _unnamed(kind: str, header: Sequence[str], needed: Sequence[str], places: Mapping[str, int]) -> str:
    """What to do about a header that does not name what is needed."""
    known = [header[place] for place in places.values()]
    others = [field for field in header if field not in known]
    missing = [column for column in needed if column not in places]
    named = {column: header[place] for column, place in places.items() if column in needed}
    told = f"of the header only {', '.join(map(repr, known))} is known" if known else "nothing in the header is known"
    message = f"{told}, and no column is called {' or '.join(missing)}: {', '.join(map(repr, others))}"
    own = _kind_of(header)
    if own and own != kind:
        message += look(_task_of(own, header), kind)
    elif kind == "labels" and len(others) > 1 and "track" in places:
        message += "; of a table with a column for each tag write a row for each clip and tag"
    given = dict(zip(missing, others if len(others) == len(missing) else ["NAME"] * len(missing), strict=True))
    declare = _declared({column: {**named, **given}[column] for column in needed})
    return f"{message}; declare {declare}, or header: false if the row is none"


def _demand_known(
    kind: str, header: Sequence[str], places: Mapping[str, int], task: str | None, name: str | Path, line: int
) -> None:
    """Raise if a column is left that the kind does not have, or that may be one that it lacks."""
    headings = [heading(field) for field in header]
    usual = {**_HEADINGS, **_HEADINGS_OF.get(kind, {})}
    read = {*places, *(("end", "duration") if {"end", "duration"} & set(places) else ())}
    own = {one for column in read for one in usual[column]}
    lacking = [column for column in COLUMNS[kind] if column not in (*read, "bar", "detected")]
    for place, one in enumerate(headings):
        if place in places.values() or one in own or one in _NEVER_READ or _is_beside(one):
            continue
        declare = _declared({column: header[where] for column, where in places.items()})
        if one in _KNOWN:
            other = _kind_of(header)
            message = f"the header has a column {header[place]!r}, and {task or kind} has none"
            message += look(_task_of(other, header), kind) if other else ""
            raise InvalidAnnotationError(f"{message}; or declare {declare}", path=name, line=line)
        if lacking:
            message = f"the column {header[place]!r} of the header is not known, and may be the {' or '.join(lacking)}"
            more = _declared({**{column: header[where] for column, where in places.items()}, lacking[0]: header[place]})
            raise InvalidAnnotationError(f"{message}: declare {more}, else {declare}", path=name, line=line)


def _kind_of(header: Sequence[str]) -> str:
    """The kind of which a header names most columns; empty if it names what no kind has."""
    found = {}
    for kind in ("intervals", "notes", "series", "events", "labels"):
        places = find_columns(kind, COLUMNS[kind], header)
        if any(set(way) <= set(places) for way in KINDS[kind].headings):
            found[kind] = len(places)
    return max(found, key=lambda kind: found[kind]) if found else ""


def _task_of(kind: str, header: Sequence[str]) -> str:
    if kind == "intervals":
        return "chord" if "chord" in map(heading, header) else "segment"
    if kind == "labels":
        return "tagging" if "value" in find_columns(kind, COLUMNS[kind], header) else "classification"
    return KINDS[kind].tasks[0]


def demand_read(
    kind: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    places: Mapping[str, int],
    name: str | Path,
    line: int,
) -> None:
    """Raise if numbers beside names, which scores depend on, would be left out because of what their column is called.

    Parameters
    ----------
    kind : str
    header : sequence of str
        It stands on that line.
    rows : iterable of sequence of str
    places : mapping of str to int
        Where the columns stand that are read.
    name : path
        What to call the file in messages.
    line : int

    Raises
    ------
    InvalidAnnotationError

    Examples
    --------
    >>> demand_read("labels", ["tag", "loudness"], [["slow", "0.2"]], {"label": 0}, "a.csv", 1)
    Traceback (most recent call last):
        ...
    mirflow.errors.InvalidAnnotationError: a.csv:1: the column 'loudness' holds numbers and would not be read: \
if they are the numbers of the tags, declare columns: {label: tag, value: loudness}, else columns: {label: tag}
    """
    if kind not in _WITHOUT_NUMBERS:
        return
    excuses, what = _WITHOUT_NUMBERS[kind]
    headings = [heading(field) for field in header]
    left = [place for place in range(len(header)) if place not in places.values() and not _is_beside(headings[place])]
    if "value" in places and kind != "judgements":
        left = [place for place in left if headings[place] in _DECISIONS]
    elif any(column in places for column in excuses):
        return
    place = next(iter(_of_numbers(left, rows)), None)
    if place is not None:
        named = {column: header[where] for column, where in places.items() if where < len(header)}
        cure = _cure(header[place], named, what, ranked="rank" in excuses)
        message = f"the column {header[place]!r} holds numbers and would not be read: {cure}"
        raise InvalidAnnotationError(message, path=name, line=line)


def _cure(unread: str, named: Mapping[str, str], what: str, *, ranked: bool) -> str:
    """What to do about a column, where others are read under those names."""
    without = {column: name for column, name in named.items() if column != "value"}
    own, bare = _declared({**without, "value": unread}), _declared(without)
    if "value" in named:
        return f"say whether {what} are these or those of {named['value']!r}: declare {own} or {_declared(named)}"
    if heading(unread) in _LARGER_IS_FARTHER:
        turned = "-x, or a column of ranks," if ranked else "1 - x"
        told = f"smaller is better there, and larger is in {what}: write {turned} under another name"
        return f"{told}; or, if they do not count, declare {bare}"
    return f"if they are {what}, declare {own}, else {bare}"


def _is_beside(name: str) -> bool:
    return name in _BESIDE or name.endswith("_id") or name.startswith("unnamed")


def _of_numbers(places: Sequence[int], rows: Iterable[Sequence[str]]) -> list[int]:
    """Those of the places at which all fields are numbers, and there is one."""
    left, filled = list(places), set()
    for row in rows:
        for place in list(left):
            text = row[place] if place < len(row) else ""
            try:
                float(text or "0")
            except ValueError:
                left.remove(place)
                continue
            filled |= {place} if text else set()
        if not left:
            break
    return [place for place in left if place in filled]


def _declared(columns: Mapping[str, str]) -> str:
    named = (f"{column}: {name if _PLAIN_NAME.fullmatch(name) else repr(name)}" for column, name in columns.items())
    return f"columns: {{{', '.join(named)}}}"


_SHOWN = 60
"""Characters of a row that a message shows."""

_QUOTED = re.compile(r'"[^"]*"')
_DECIMAL = re.compile(r"[+-]?\d+,\d+")
# Of beats with positions in the bar, and with numbers of bars.
_ORDERS = {"positions": ("time", "label"), "bars": ("time", "label", "bar")}
_LISTS = ("labels", "ranking", "judgements", "following")
"""Kinds of which the rows may end before the optional columns."""
_TEXTS = ("grader", "broad")
_TIMES = ("time", "start", "end", "duration", "detected", "position")
_PITCHES = ("pitch", "frequency")
# Kinds of which a further column may be one thing or another, so that it is not guessed at.
_UNCLEAR = {"ranking": "the rank, the score or the grade"}


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each column stands, how a line is split, and how many splits keep the last column whole."""

    places: Mapping[str, int]
    separator: str
    splits: int

    def split(self, line: str) -> list[str]:
        """The fields of a line, without blanks around them."""
        if self.separator == "whitespace":
            fields = line.split(None, self.splits)
            # Blanks may belong to a label, tabs do not: what follows one is a further column.
            return [field.partition("\t")[0].strip() for field in fields]
        if '"' in line:
            try:
                fields = next(csv.reader([line], delimiter=self.separator, skipinitialspace=True))
            except csv.Error as error:
                raise InvalidAnnotationError(f"a row cannot be split: {error}: {line[:_SHOWN]!r}...") from None
            return [field.strip() for field in fields]
        return [field.strip() for field in line.split(self.separator, self.splits)]


def parse_rows(
    text: str,
    kind: str,
    separator: str | None,
    options: DelimitedOptions,
    attrs: Mapping[str, Attribute],
    name: str | Path,
    layout: str = "",
    *,
    task: str | None = None,
    numbered: bool = True,
) -> Annotation:
    """An annotation from decoded text, whatever its layout; see :func:`mirflow.readers.delimited.parse_delimited`.

    Rows without a header hold columns of the `task` and no others. Where numbers beside names count (`numbered`), a
    column of them has to be known or declared.
    """
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if options.comment:
        lines = [(number, line) for number, line in lines if not line.lstrip().startswith(options.comment)]
    if not lines:
        return without_rows(kind, attrs)
    places, has_header = find_layout(lines[0][1], kind, separator, options, name, lines[0][0], layout, task=task)
    if has_header and numbered:
        demand_numbers_read(lines, kind, places, options, name)
    rows = [(number, places.split(line)) for number, line in lines[has_header:]]
    if kind == "events":
        _demand_points(rows, places, options, name)
    if options.columns:
        return as_annotation(kind, rows, places, options, attrs, name)
    if not has_header and layout != "bars":  # who asks for bars says what the columns are
        split = Layout({}, places.separator, -1).split if kind in NEEDED else places.split
        whole = [(number, split(line)) for number, line in lines]
        demand_columns(whole, kind, task, max(places.places.values()) + 1, name)
    try:
        return as_annotation(kind, rows, places, options, attrs, name)
    except InvalidAnnotationError as error:
        hint = look(guess_task([fields for _, fields in rows]), kind)
        raise InvalidAnnotationError(error.message + hint, path=error.path, line=error.line) from None


def _demand_points(
    rows: Sequence[tuple[int, Sequence[str]]], layout: Layout, options: DelimitedOptions, name: str | Path
) -> None:
    """Raise if commas between times and labels may as well stand before the decimals of the times."""
    if layout.separator != "," or options.delimiter is not None or options.columns:
        return
    whole = [fields for _, fields in rows if len(fields) == 2 and all(field.isdecimal() for field in fields)]
    if len(whole) == len(rows) and len({fields[0] for fields in whole}) < len(rows):
        message = "commas may precede decimals or separate columns: declare decimal: ',' or delimiter: comma"
        raise InvalidAnnotationError(f"{message}: {','.join(whole[0])!r}", path=name, line=rows[0][0])


def without_rows(kind: str, attrs: Mapping[str, Attribute]) -> Annotation:
    """The annotation of a file that holds nothing."""
    needed = [name for name in KINDS[kind].required if name != "label"]
    labels: list[str] | None = [] if "label" in KINDS[kind].required else None
    return Annotation(kind, {column: np.zeros(0) for column in needed}, labels, lines=(), attrs=attrs)


def find_layout(
    first: str,
    kind: str,
    separator: str | None,
    options: DelimitedOptions,
    name: str | Path,
    line: int,
    layout: str = "",
    *,
    task: str | None = None,
    keyed: bool = False,
) -> tuple[Layout, bool]:
    """How a file is laid out, by its first row (on that line), and whether this is a header.

    In a `keyed` file columns tell which track, system or annotator each row is about. The `task` is for messages.
    """
    separator = separator or sniff(first.replace(",", ".") if options.decimal == "," else first)
    head = Layout({}, separator, -1).split(first)
    has_header = is_header(head, kind, keyed=keyed) if options.header is None else options.header
    places = _places(kind, layout, options, head, task, name, line, header=has_header, keyed=keyed)
    return _layout(kind, layout, separator, places, head if has_header else None, name), has_header


def demand_numbers_read(
    lines: Sequence[tuple[int, str]], kind: str, layout: Layout, options: DelimitedOptions, name: str | Path
) -> None:
    """Raise if a header, the first of some lines, keeps numbers from being read that scores depend on.

    Who declares columns says which are read.
    """
    if not options.columns:
        number, header = lines[0]
        rows = (layout.split(line) for _, line in lines[1:])
        demand_read(kind, layout.split(header), rows, layout.places, name, number)


def boundaries(starts: Float, labels: list[str], last: Last) -> tuple[dict[str, Column], list[str]]:
    """Intervals that last until the next one starts, and their labels."""
    if last == "keep":
        return {"start": starts, "end": np.append(starts[1:], starts[-1:])}, labels
    return {"start": starts[:-1], "end": starts[1:]}, labels[:-1]


def find_separator(text: str, format: str, options: DelimitedOptions) -> str | None:
    """What stands between columns, as declared or by the format of a file; None where `sniff` has to tell.

    Examples
    --------
    >>> find_separator("0.5,kick", "csv", DelimitedOptions()), find_separator("0,5;kick", "csv", DelimitedOptions())
    (',', ';')
    """
    if options.separator is not None or format not in ("csv", "tsv"):
        return options.separator
    if format == "tsv":
        return "\t"
    for separator in (";", "\t"):
        if separator in text:
            first = next((row for row in text.split("\n") if row.strip() and not _is_comment(row, options)), "")
            start, found, _ = _QUOTED.sub("", first).partition(separator)
            # Of a comma in front of it this is a comma between columns, unless it stands before decimals.
            if found and ("," not in start or _DECIMAL.fullmatch(start.strip())):
                return separator
    return "whitespace" if options.decimal == "," else ","


def _is_comment(line: str, options: DelimitedOptions) -> bool:
    return bool(options.comment) and line.lstrip().startswith(options.comment)


def sniff(line: str) -> str:
    """Blanks, unless the line only makes sense split by another separator.

    Examples
    --------
    >>> sniff("0.0 1.5 C:maj"), sniff("0.0,1.5,C:maj(9,11)"), sniff("0,0;1,5;C:maj"), sniff("0,0 1,5 C:maj")
    ('whitespace', ',', ';', 'whitespace')
    """
    for separator in ("whitespace", ";", ","):
        fields = Layout({}, separator, -1).split(line)
        decimal = len(fields) > 1 and _DECIMAL.fullmatch(fields[0])
        if is_number(fields[0]) or decimal or (separator != "whitespace" and is_header(fields)):
            return separator
    return "whitespace"


def is_header(fields: Sequence[str], kind: str = "", *, keyed: bool = False) -> bool:
    """Whether fields are names of columns: none is a number, and one is a usual name."""
    return not any(map(is_number, fields)) and any(is_known(field, kind, keyed=keyed) for field in fields)


def _places(
    kind: str,
    layout: str,
    options: DelimitedOptions,
    first: Sequence[str],
    task: str | None,
    name: str | Path,
    line: int,
    *,
    header: bool,
    keyed: bool,
) -> dict[str, int]:
    """Where the columns stand: as declared, else as the header names them, else in the usual order."""
    names = first if header else None
    if options.columns:
        places = {column: _place(column, where, names, name, line) for column, where in options.columns}
    elif header:
        places = named_columns(kind, first, task, name, line, keyed=keyed)
    else:
        _demand_clear(kind, first, name, line, keyed=keyed)
        places = _usual(layout or kind, kind, first, keyed=keyed)
    if layout != "bars":
        places.pop("bar", None)
    known = (*COLUMNS[kind], *KEYS) if keyed else COLUMNS[kind]
    for column in places:
        if column not in known:
            raise InvalidAnnotationError(f"{kind} have no column {column!r}; {suggest(column, known)}", path=name)
    _demand_declared(kind, places, options, name, line)
    return places


def _demand_declared(
    kind: str, places: Mapping[str, int], options: DelimitedOptions, name: str | Path, line: int
) -> None:
    """Raise unless the columns are there that rows of the kind cannot do without."""
    counted = {"time"} if kind == "series" and options.hop else set()  # frames that are counted need no times
    ways = (
        (("start",),) if kind in ("intervals", "hierarchy") else KINDS[kind].headings
    )  # a list of boundaries has no ends
    wanted = [set(names) - counted for names in ways]
    if not any(names <= places.keys() for names in wanted):
        missing = min((sorted(names - places.keys()) for names in wanted), key=len)
        message = f"no column holds {' and '.join(map(repr, missing))}; declare it in columns"
        raise InvalidAnnotationError(message, path=name, line=line)


def _demand_clear(kind: str, first: Sequence[str], name: str | Path, line: int, *, keyed: bool) -> None:
    """Raise if columns are neither declared nor named, and may be one thing or another."""
    width = len(KINDS[kind].usual_order) + keyed if kind in _UNCLEAR else len(first)
    if len(first) > width:
        message = f"{len(first)} columns without names, and {_UNCLEAR[kind]} may be meant: declare columns"
        raise InvalidAnnotationError(f"{message}: {' '.join(first)!r}", path=name, line=line)


def _usual(layout: str, kind: str, first: Sequence[str], *, keyed: bool) -> dict[str, int]:
    """The usual order of columns: of those that an annotation can do without, as many as the first row has."""
    narrow = KINDS[kind].narrow_order
    usual = narrow if len(first) - keyed <= len(narrow) else _ORDERS.get(layout, KINDS[kind].usual_order)
    places = {column: place for place, column in enumerate(usual, keyed)}
    if keyed:
        places = {"track": 0, **places}
    if kind not in _LISTS:
        return places
    optional = {variable.name for variable in KINDS[kind].variables if variable.optional}
    return {column: place for column, place in places.items() if column not in optional or place < len(first)}


def _layout(
    kind: str, layout: str, separator: str, places: Mapping[str, int], header: Sequence[str] | None, name: str | Path
) -> Layout:
    last = max(places.values())
    if separator == "\t" or layout:
        splits = -1
    elif header is not None:
        splits = max(len(header) - 1, last)
    else:
        # The label takes the rest of the line if it is the last column; else what follows is split off.
        splits = last if places.get("label") == last else last + 1
    return Layout(places, separator, splits)


def _place(column: str, where: int | str, header: Sequence[str] | None, name: str | Path, line: int) -> int:
    if isinstance(where, int):
        return where
    if header is None:
        raise InvalidAnnotationError(
            f"no header, so no column {where!r} for {column!r}; count columns from 0", path=name
        )
    if where not in header:
        raise InvalidAnnotationError(
            f"no column {where!r} for {column!r}; {suggest(where, header)}", path=name, line=line
        )
    return list(header).index(where)


def as_annotation(
    kind: str,
    rows: Sequence[tuple[int, list[str]]],
    layout: Layout,
    options: DelimitedOptions,
    attrs: Mapping[str, Attribute],
    name: str | Path,
) -> Annotation:
    """The rows of a file, or of one track in it, with their lines, as an annotation."""
    columns: dict[str, Column] = {}
    _demand_one_sign(rows, layout, options, name)
    for column in (column for column in layout.places if column != "label" and column not in KEYS):
        if column in _TEXTS:
            columns[column] = np.array([_text(fields, layout.places[column]) for _, fields in rows], dtype=np.str_)
            continue
        values = [_number(fields, layout, column, options, number, name) for number, fields in rows]
        columns[column] = np.array(values, dtype=np.float64)
    columns = in_units(columns, kind, options, len(rows))
    place = layout.places.get("label")
    labels: list[str] | None = [_text(fields, place) for _, fields in rows]
    if kind not in ("intervals", "labels", "ranking", "judgements") and (
        place is None or all(place >= len(fields) for _, fields in rows)
    ):
        labels = None
    lines = [number for number, _ in rows]
    if kind == "intervals" and "end" not in columns:
        columns, labels = boundaries(columns["start"], labels or [], options.last)
        lines = lines[: len(labels)]
    return Annotation(kind, columns, labels, lines=lines, attrs=attrs)


def _demand_one_sign(
    rows: Sequence[tuple[int, list[str]]], layout: Layout, options: DelimitedOptions, name: str | Path
) -> None:
    """Raise if some numbers have a point and others a comma, so that one of them may stand between thousands."""
    if options.decimal is not None or not options.has_decimal_commas(layout.separator):
        return
    places = [place for column, place in layout.places.items() if column not in (*KEYS, *_TEXTS, "label")]
    numbers = [(line, fields[place]) for line, fields in rows for place in places if place < len(fields)]
    point = next(((line, text) for line, text in numbers if "." in text), None)
    if point is not None and any(_DECIMAL.fullmatch(text) for _, text in numbers):
        message = f"other numbers have commas before their decimals, this one has a point: {point[1]!r}"
        raise InvalidAnnotationError(f"{message}; declare decimal: ',' or '.'", path=name, line=point[0])


def _text(fields: Sequence[str], place: int | None) -> str:
    return fields[place] if place is not None and place < len(fields) else ""


def in_units(columns: dict[str, Column], kind: str, options: DelimitedOptions, rows: int) -> dict[str, Column]:
    """Columns of a file in the units and the columns of the schema."""
    columns = {
        name: options.seconds(column)
        if name in _TIMES
        else to_hertz(column, kind, options.pitch_unit)
        if name in _PITCHES
        else column
        for name, column in columns.items()
    }
    if "duration" in columns:
        columns["end"] = columns["start"] + columns.pop("duration")
    if kind == "series" and "time" not in columns:
        columns["time"] = options.seconds(np.arange(rows, dtype=np.float64))
    return columns


def _number(
    fields: Sequence[str], layout: Layout, column: str, options: DelimitedOptions, line: int, name: str | Path
) -> float:
    place = layout.places[column]
    if place >= len(fields):
        needed = ", ".join(sorted(layout.places.keys() - {"label"}, key=layout.places.__getitem__))
        counted = f"{len(fields)} column{'s' if len(fields) != 1 else ''}"
        raise InvalidAnnotationError(f"has {counted}, needs {needed}: {' '.join(fields)!r}", path=name, line=line)
    text = fields[place]
    try:
        return float(text)
    except ValueError:
        pass
    has_comma = _DECIMAL.fullmatch(text)
    if has_comma and options.has_decimal_commas(layout.separator):
        return float(text.replace(",", "."))
    hint = "; if commas precede decimals, declare decimal: ','" if has_comma else ""
    if column == "end" and "label" in layout.places and not has_comma:
        hint = "; if rows are a start and a label, declare columns: {start: 0, label: 1}"
    elif (
        len(fields) > 1
        and not any(map(is_number, fields))
        and options.header is None
        and not options.columns
        and not has_comma
    ):
        hint = "; if this is a header, none of its names is known: declare columns"
    raise InvalidAnnotationError(f"{column} is not a number: {text!r}{hint}", path=name, line=line)


_PLAIN = {"events": ("time",), "positions": ("time",), "bars": ("time",), "intervals": ("start", "end")}
_SNIFFED = DelimitedOptions()


def parse_delimited(
    data: bytes,
    kind: str,
    format: str,
    options: DelimitedOptions = _SNIFFED,
    name: str | Path = "<bytes>",
    *,
    layout: str = "",
    task: str | None = None,
) -> Annotation:
    """An annotation from the bytes of a delimited file.

    Parameters
    ----------
    data : bytes
    kind : {"events", "intervals"}
    format : {"lab", "txt", "csv", "tsv"}
    options : DelimitedOptions
    name : path
        What to call the file in messages, and its ``source``.
    layout : {"", "positions", "bars"}
        Of events: the second column is a position in the bar, so that a blank ends it; the third a bar's number.
    task : str or None
        Whose columns rows without a header have; None: any of the kind.

    Returns
    -------
    Annotation
        Times in seconds, as they stand: not sorted, not checked. Without a label column intervals have empty labels and
        events none; a file without rows gives no items.

    Raises
    ------
    UnreadableError
        If the bytes are not text.
    InvalidAnnotationError
        For a row with too few columns or others than the task has, or a time that is not a number, with its line.

    Examples
    --------
    >>> chords = parse_delimited(b"0.0 1.5 C:maj\\n1.5 2.0 N\\n", "intervals", "lab")
    >>> chords.columns["end"].tolist(), chords.labels
    ([1.5, 2.0], ['C:maj', 'N'])
    """
    text = decode(data, name, options.encoding)
    attrs: dict[str, Attribute] = {"source": str(name)}
    separator = find_separator(text, format, options)
    names = _plain_names(kind, options, layout)
    if names is not None:
        plain = _parse_plain(text, kind, names, separator, options, attrs, layout, task)
        if plain is not None:
            return plain
    return parse_rows(text, kind, separator, options, attrs, name, layout, task=task)


def _plain_names(kind: str, options: DelimitedOptions, layout: str) -> tuple[str, ...] | None:
    """The numbers that come first in every row, if the file is laid out so; the label then follows them."""
    if options.header:
        return None
    if not options.columns:
        return _PLAIN[layout or kind]
    return ("start",) if dict(options.columns) == {"start": 0, "label": 1} else None


def _parse_plain(
    text: str,
    kind: str,
    names: tuple[str, ...],
    separator: str | None,
    options: DelimitedOptions,
    attrs: Mapping[str, Attribute],
    layout: str,
    task: str | None,
) -> Annotation | None:
    """The fast path: every line a row of equal width, with the times first; None if the text is not like that."""
    text = text.rstrip()
    bare = None if layout == "bars" else _numbers(text, kind)
    if bare is not None:
        return Annotation(kind, {"time": options.seconds(bare)}, attrs=attrs)
    width = len(names)
    rows = _split(text, separator, width if not layout else width + 2)
    try:
        fields = list(zip(*rows, strict=True))
        columns = {
            name: options.seconds(np.array(list(map(float, column)), dtype=np.float64))
            for name, column in zip(names, fields, strict=False)
        }
        if layout == "bars":
            columns["bar"] = np.array(list(map(float, fields[width + 1])), dtype=np.float64)
    except (ValueError, IndexError):
        return None
    if len(columns) < width:
        return None
    labels = _labels(fields[width], separator) if len(fields) > width else _unlabelled(kind, len(rows))
    if labels is None and len(fields) > width:
        return None
    if not options.columns and not _is_of_task(fields[width:], kind, separator, task):
        return None
    if names == ("start",):
        columns, labels = boundaries(columns["start"], labels or [], options.last)
    return Annotation(kind, columns, labels, attrs=attrs)


def _is_of_task(fields: Sequence[Sequence[str]], kind: str, separator: str | None, task: str | None) -> bool:
    """Whether what follows the times are clearly labels of the task, and perhaps numbers of bars."""
    if not fields:
        return kind == "events"
    whole = all(number.isdecimal() for column in fields[1:] for number in set(column))
    comma = kind == "events" and separator == ","  # which may be that of decimals
    return not comma and (kind != "events" or whole) and are_plain(set(fields[0]), kind, task)


def _numbers(text: str, kind: str) -> Float | None:
    """Times that stand alone on their lines; None if the text is not like that."""
    if kind != "events":
        return None
    try:
        return np.array(list(map(float, text.split("\n"))), dtype=np.float64)
    except ValueError:
        return None


def _unlabelled(kind: str, rows: int) -> list[str] | None:
    return None if kind == "events" else [""] * rows


def _split(text: str, separator: str | None, times: int) -> list[list[str]]:
    lines = text.split("\n")
    if separator is None or separator == "whitespace":
        if " " not in text and "\t\t" not in text:
            return [line.split("\t") for line in lines]
        return [line.split(None, times) for line in lines]
    if separator == "\t":
        return [line.split("\t") for line in lines]
    return [line.split(separator, times) for line in lines]


def _labels(column: Sequence[str], separator: str | None) -> list[str] | None:
    """Labels as they stand, or None where one is quoted, padded, or followed by another column."""
    joined = "\n".join(column)
    if "\t" in joined or " \n" in joined or "\n " in joined or joined[:1] == " " or joined[-1:] == " ":
        return None
    if separator not in (None, "whitespace") and '"' in joined:
        return None
    return list(column)
