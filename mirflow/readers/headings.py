"""Names of columns met in headers of public data sets, and columns of numbers that nobody would read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from ..annotations.schema import KINDS
from ..errors import InvalidAnnotationError
from .layouts import look
from .options import COLUMNS, KEYS

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
_PLAIN = re.compile(r"[A-Za-z_][\w.-]*")
WAYS: Mapping[str, tuple[Collection[str], ...]] = {
    "notes": (("start", "end", "pitch"), ("start", "duration", "pitch")),
    "intervals": (("start", "end"), ("start", "duration")),
    "hierarchy": (("start", "end"), ("start", "duration")),
    "series": (("time", "frequency"),),
    "events": (("time",),),
    "labels": (("label",),),
    "ranking": (("label",),),
    "judgements": (("label",),),
    "following": (("time", "position"),),
}
"""Kind -> columns that a header has to name, in one of these ways."""
_LISTS = ("labels", "ranking", "judgements")
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
    needed = [("track",) * keyed + tuple(way) for way in WAYS[kind]]
    if not any(set(way) <= set(places) for way in needed):
        raise InvalidAnnotationError(_unnamed(kind, header, needed[0], places), path=name, line=line)
    if "end" in places:
        places.pop("duration", None)
    if kind not in _LISTS:
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
        if any(set(way) <= set(places) for way in WAYS[kind]):
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
    named = (f"{column}: {name if _PLAIN.fullmatch(name) else repr(name)}" for column, name in columns.items())
    return f"columns: {{{', '.join(named)}}}"
