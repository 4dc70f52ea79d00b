"""Names of columns met in headers of public data sets, and columns of numbers that nobody would read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from ..errors import InvalidAnnotationError
from .options import KEYS

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
