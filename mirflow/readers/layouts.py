"""Columns that rows without a header have in files of each task, and the task that a file of other columns looks like.

A row of a chord begins with a number, as one of a beat does: read as beats it would have a score. So whatever stands
in a row and is no column of the task is an error, and so are numbers that can only be those of another task.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ..annotations.schema import KINDS, TASK_KINDS
from ..errors import InvalidAnnotationError
from ..ragged import Float

_BEATS = ("time", "position", "bar")
_LABELLED = ("start", "end", "label")
COLUMNS_OF = MappingProxyType(
    {
        "beat": _BEATS,
        "downbeat": _BEATS,
        "onset": ("time", "label"),
        "alignment": ("time", "label"),
        "chord": _LABELLED,
        "segment": _LABELLED,
        "hierarchy": _LABELLED,
        "transcription": ("start", "end", "pitch", "velocity"),
        "melody": ("time", "frequency"),
        "multipitch": ("time", "frequencies"),
        "tempo": ("tempo", "tempo", "strength"),
        "key": ("tonic", "mode"),
        "pattern": ("onset", "pitch"),
        "classification": ("label",),
        "tagging": ("label", "value"),
        "retrieval": ("item",),
        "similarity": ("candidate", "grader", "broad", "fine"),
        "score_following": ("time", "detected", "position", "pitch"),
    }
)
"""Task -> what the columns of a row without a header hold."""

NEEDED = {"events": 1, "intervals": 2, "hierarchy": 2, "notes": 3, "series": 2, "multipitch": 1}
"""Kind -> how many numbers begin a row; what follows is told by `_is_odd`."""
SAMPLE = 200
"""Rows by which a task is told."""
_NUMBER = re.compile(r"[+-]?\.?\d")
_CHORD = re.compile(r"(N|X|[A-G][b#]*(:[^\s/]+)?(/\S+)?)")
_KEY = re.compile(r"[A-G][b#]?\s+(maj|min|other)\w*", re.IGNORECASE)
_SLOWEST_FRAME = 0.1
"""Seconds: what is written at equal distances below it are frames, and no beats."""
_MOST_BEATS = 32
"""In a bar."""
_ON_BEATS = ("beat", "downbeat")
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
"""Of numbers by which a task is told: others are no times and no pitches."""


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def demand_columns(
    rows: Sequence[tuple[int, Sequence[str]]], kind: str, task: str | None, width: int, name: str | Path
) -> None:
    """Raise if rows without a header hold what a task does not have.

    Parameters
    ----------
    rows : sequence of (int, sequence of str)
        Fields with the lines that they stand on.
    kind : str
    task : str or None
        None: any that has such annotations.
    width : int
        How many columns are read.
    name : path
        What to call the file in messages.

    Raises
    ------
    InvalidAnnotationError
        With the line, and the task that the file looks like.

    Examples
    --------
    >>> demand_columns([(1, ["0.0", "1.5 C:maj"])], "events", "onset", 2, "a.lab")
    Traceback (most recent call last):
        ...
    mirflow.errors.InvalidAnnotationError: a.lab:1: not a row of onset (time, label): '0.0 1.5 C:maj'; the file looks \
like chord (start, end, label): ...
    """
    demand_width(rows, kind, task, width, name)
    if not rows or (kind not in (*NEEDED, "following") and not _have_times(rows)):
        return
    line, fields = rows[0]
    if len(fields) < NEEDED.get(kind, 1):  # which is told where it is read
        return
    guess = guess_task([fields for _, fields in rows[:SAMPLE]])
    if _contradicts(guess, kind) or (task in _ON_BEATS and _have_names(rows)):
        raise InvalidAnnotationError(_refused(kind, task, fields, guess), path=name, line=line)


def demand_numbers(
    table: Float, kind: str, task: str | None, first: Sequence[str], line: int, name: str | Path
) -> None:
    """As `demand_columns`, for rows of numbers alone: all of them, and the fields of the first and its line.

    Raises
    ------
    InvalidAnnotationError
    """
    guess = _of_numbers(table[:SAMPLE])
    if _contradicts(guess, kind) or _is_odd(kind, task, first, table.shape[1]):
        raise InvalidAnnotationError(_refused(kind, task, first, guess), path=name, line=line)


def demand_width(
    rows: Sequence[tuple[int, Sequence[str]]], kind: str, task: str | None, width: int, name: str | Path
) -> None:
    """As `demand_columns`, but of each row alone, and not by what all look like.

    Raises
    ------
    InvalidAnnotationError
    """
    odd = next(((line, fields) for line, fields in rows if _is_odd(kind, task, fields, width)), None)
    if odd is not None:
        line, fields = odd
        guess = guess_task([fields for _, fields in rows[:SAMPLE]])
        raise InvalidAnnotationError(_refused(kind, task, fields, guess), path=name, line=line)


def _refused(kind: str, task: str | None, fields: Sequence[str], guess: str) -> str:
    tasks = KINDS[kind].tasks
    own = task or tasks[0]
    called = own if task or len(tasks) == 1 else kind
    message = f"not a row of {called} ({', '.join(COLUMNS_OF[own])}): {' '.join(fields)!r}{look(guess, kind)}"
    needed = {"labels": "{label: 0}", "ranking": "{label: 0}", "judgements": "{label: 0}", "series": _SERIES}
    usual = ", ".join(f"{column}: {place}" for place, column in enumerate(COLUMNS_OF[own][: NEEDED.get(kind, 1)]))
    if kind == "multipitch" or len(_leading(fields)) < NEEDED.get(kind, 0):
        return message
    return f"{message}; or declare which columns to read, such as columns: {needed.get(kind, f'{{{usual}}}')}"


_SERIES = "{time: 0, frequency: 1}"


def look(guess: str, kind: str) -> str:
    """What to do about a file that looks like one of another task, after a semicolon; empty if it does not.

    Examples
    --------
    >>> look("melody", "events"), look("beat", "events")
    ('; the file looks like melody (time, frequency): say task melody', '')
    """
    if not guess or TASK_KINDS[guess] == kind:
        return ""
    if guess == "onset":  # which times alone do not tell from beats
        return "; the file looks like onset or beat (time): say task onset or task beat"
    return f"; the file looks like {guess} ({', '.join(COLUMNS_OF[guess])}): say task {guess}"


def _contradicts(guess: str, kind: str) -> bool:
    """Whether rows in which every column may be one of the kind can only be those of another task."""
    same = {"hierarchy": "intervals"}.get(kind, kind)
    return bool(guess) and TASK_KINDS[guess] != same and (kind, guess) not in _LIKEWISE


# At each time of several pitches there may be one or none; a performance is told by two times and a pitch of a note.
_LIKEWISE = (
    ("multipitch", "melody"),
    ("multipitch", "onset"),
    ("following", "transcription"),
    ("following", "segment"),
)


def _have_times(rows: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Whether the first fields are times, and not names of tracks or classes that happen to be numbers."""
    first = [number for _, fields in rows[:SAMPLE] for number in _leading(fields[:1])]
    return not all(number.is_integer() for number in first)


def _have_names(rows: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Whether labels name more than kinds of beats."""
    names = {row[1] for _, row in rows if len(row) > 1 and not _NUMBER.match(row[1])}
    return len(names) > _KINDS_OF_BEATS


def _is_odd(kind: str, task: str | None, fields: Sequence[str], width: int) -> bool:
    """Whether a row holds something that is no column of the task."""
    if kind not in NEEDED:
        return any(fields[width:])
    rest = [word for field in fields[NEEDED[kind] :] for word in field.split()]
    numbers = _leading(rest)
    if kind == "multipitch":
        return len(numbers) < len(rest)
    if kind == "series":
        return bool(rest)
    if kind == "notes":  # a velocity and an instrument may follow
        return len(numbers) > 1
    if not numbers:  # a text may be any label
        return False
    if kind == "events":
        most = 1 if task in ("onset", "alignment") else len(_BEATS) - 1
        counted = len(numbers) == 1 or all(number.is_integer() for number in numbers)
        return len(rest) > len(numbers) or len(numbers) > most or not counted
    # Segments may be numbered, chords are not.
    return task == "chord" or len(numbers) > 1 or not numbers[0].is_integer()


def are_plain(labels: Collection[str], kind: str, task: str | None) -> bool:
    """Whether labels are clearly those of a task, so that rows need not be looked at one by one.

    Examples
    --------
    >>> are_plain(["C:maj", "N"], "intervals", "chord"), are_plain(["440.0"], "intervals", "segment")
    (True, False)
    """
    texts = not any(_NUMBER.match(label) for label in labels)
    if kind != "events":
        return texts
    if texts:
        return not _of_labels(1, labels, 2) and (task not in _ON_BEATS or len(labels) <= _KINDS_OF_BEATS)
    if task not in _ON_BEATS or len(labels) > _MOST_BEATS:
        return False
    return all(label.isdecimal() and int(label) <= _MOST_BEATS for label in labels)


def guess_task(rows: Sequence[Sequence[str]]) -> str:
    """The task whose files look like rows of fields; empty where that is not clear.

    Examples
    --------
    >>> guess_task([["0.0", "1.5", "C:maj"], ["1.5", "2.0", "N"]]), guess_task([["0", "1", "intro"]])
    ('chord', 'segment')
    >>> guess_task([["60", "120", "0.25"]]), guess_task([["0.5", "1.0", "440.0"], ["0.7", "1.0", "220.0"]])
    ('tempo', 'transcription')
    """
    words = [found for row in rows[:SAMPLE] if (found := [word for field in row for word in field.split()])]
    if not words:
        return ""
    numbers = list(map(_leading, words))
    texts = [" ".join(row[len(head) :]) for row, head in zip(words, numbers, strict=True)]
    (width, labelled), _ = Counter(
        (len(head), bool(text)) for head, text in zip(numbers, texts, strict=True)
    ).most_common(1)[0]
    if labelled:
        labels = {text for head, text in zip(numbers, texts, strict=True) if len(head) == width and text}
        return _of_labels(width, labels, len(rows))
    if any(texts) or not width:
        return ""
    if len(set(map(len, numbers))) > 1:
        times = np.array([head[0] for head in numbers])
        return "multipitch" if (np.abs(times) <= _LARGEST).all() and _are_frames(times) else ""
    return _of_numbers(np.array(numbers, dtype=np.float64))


def _of_labels(width: int, labels: Collection[str], rows: int) -> str:
    """The task of rows that begin with so many numbers and end with labels."""
    if width in (1, 2) and _are_chords(labels):
        return "chord"
    if width == 2 or (width == 1 and 2 * sum(label.lower() in _SECTIONS for label in labels) >= len(labels)):
        return "segment"
    if width == 0 and any(label.lower().startswith(("pattern", "occurrence")) for label in labels):
        return "pattern"
    return "key" if width == 0 and rows == 1 and all(map(_KEY.fullmatch, labels)) else ""


def _of_numbers(table: Float) -> str:
    """The task of rows of numbers."""
    rows, width = table.shape
    if not (np.abs(table) <= _LARGEST).all():
        return ""
    if rows == 1:
        tempi = width == 3 and (table[0, :2] >= _LOWEST).all() and 0 < table[0, 2] < 1
        return "tempo" if tempi else ""
    if width == 1:
        times = (np.diff(table[:, 0]) > 0).all() and (table != np.floor(table)).any()
        return "onset" if times and not _are_frames(table[:, 0]) else ""
    time, other, third = table[:, 0], table[:, 1], table[:, min(2, width - 1)]
    ordered = bool((other >= time).all())
    if width > 2 and width < 5 and ordered and (third >= _LOWEST).all() and not (other - time >= _LOWEST).all():
        return "transcription"
    counted = (other == np.floor(other)).all() and (np.diff(other) == 1).all()  # as are beats at whole seconds
    if width < 4 and ordered and rows > 2 and np.isclose(other[:-1], time[1:]).all() and not counted:
        return "segment"
    if width < 4 and _are_positions(time, other) and (width == 2 or _are_bars(third)):
        return "beat"
    pitches = bool(((np.abs(other) >= _LOWEST) | (other == 0)).all())
    if pitches and _are_frames(time):
        return "melody" if width == 2 else "multipitch"
    return ""


def _are_positions(time: Float, other: Float) -> bool:
    """Whether the second of two columns counts the beats of bars."""
    whole = bool((other == np.floor(other)).all()) and other.min() >= 0 and other.max() <= _MOST_BEATS
    step = np.diff(time)
    beats = len(time) > 3 and bool((step > 0).all()) and float(np.median(step)) >= _SLOWEST_FRAME
    return whole and beats and bool((other == 1).any())


def _are_bars(number: Float) -> bool:
    return bool((number == np.floor(number)).all() and np.isin(np.diff(number), (0, 1)).all())


def _are_frames(time: Float) -> bool:
    """Whether times are those of frames: many at equal distances, but for rounding to 1 ms."""
    step = np.diff(time)
    if len(step) < 9 or not (step > 0).all():
        return False
    middle = float(np.median(step))
    return middle < _SLOWEST_FRAME and float(np.ptp(step)) <= max(0.002, middle / 10)


def _are_chords(labels: Collection[str]) -> bool:
    """Whether labels are chords, and not letters of segments."""
    return all(map(_CHORD.fullmatch, labels)) and any(any(sign in label for sign in ":/#b") for label in labels)


def _leading(words: Sequence[str]) -> list[float]:
    """The numbers that come first."""
    numbers: list[float] = []
    for word in words:
        if not _NUMBER.match(word) or not is_number(word):
            break
        numbers.append(float(word))
    return numbers
