"""Judgements as they arrive (out of order, repeatedly, from several windows): their checks, storage and state.

Fine judgements that contradict their broad category are found here. Other actions of graders, such as playing a
candidate, are read as events.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from ....errors import GradingError
from ....metrics.similarity import BROAD
from .grading_tables import StoredAssignment, StoredJudgement

KINDS = ("came", "went", "played", "paused", "seeked")  # events sent by pages; judgements are stored separately
BATCH = 100  # most events in a request
MOST_EVENTS = 50_000  # most events stored per grader and round; in MIREX 2006 a grader had about 1,600
_LONGEST_AGO = 86_400.0
LARGEST = 10.0  # largest fine judgement
STEP = 0.1
MOST_CHANGES = 2000  # most changes stored for a judgement; a page that sends more is broken or hostile
_ENOUGH = 3  # least number of judgements to define a range
_CLIENT = re.compile(r"[0-9A-Za-z-]{8,64}")
_LARGEST_WHOLE = 2**31
FIELDS = ("broad", "fine", "unplayable", "known")


class JudgementError(GradingError):
    """Input is not a valid judgement."""


@dataclass(frozen=True, slots=True)
class JudgementChange:
    """Fields of a judgement changed in one window."""

    client: str  # the window
    number: int  # number of the change in that window; later ones are larger
    # The changed fields among `broad`, `fine`, `unplayable` and `known`; None clears a judgement.
    values: Mapping[str, Any]
    heard: float | None = None  # seconds of the candidate played so far; None if the page cannot tell


@dataclass(frozen=True, slots=True)
class State:
    """Current state of a judgement."""

    broad: str | None = None
    fine: float | None = None
    unplayable: bool = False
    known: bool = False
    heard: float | None = None


def read_values(content: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the fields of a change."""
    values: dict[str, Any] = {}
    for name, value in content.items():
        if name == "broad":
            if value not in (None, "") and value not in BROAD:
                raise JudgementError(f"invalid broad: choose from {', '.join(BROAD)}")
            values[name] = value or None
        elif name == "fine":
            values[name] = None
            if value not in (None, ""):
                is_number = isinstance(value, (int, float, str)) and not isinstance(value, bool)
                try:
                    number = float(value) if is_number else math.nan
                except (ValueError, OverflowError):
                    number = math.nan
                values[name] = round(number, 1) if math.isfinite(number) else math.nan
                if not 0 <= values[name] <= LARGEST or abs(values[name] - number) > STEP / 100:
                    raise JudgementError(f"invalid fine: expected a number from 0 to {LARGEST:g} in steps of {STEP:g}")
        elif name in FIELDS:
            if not isinstance(value, bool):
                raise JudgementError(f"invalid {name}: expected true or false")
            values[name] = value
        else:
            raise JudgementError(f"unknown field of a judgement: choose from {', '.join(FIELDS)}")
    return values


def read_change(body: bytes) -> tuple[int, JudgementChange]:
    """Parse the assignment and the change in a JSON request."""
    content = _read_object(body)
    values = content.get("values")
    if not isinstance(values, dict):
        raise JudgementError("invalid values: expected the changed fields")
    window = _read(content, "client", str), _read(content, "number", int)
    change = JudgementChange(*window, read_values(values), _read(content, "heard", float, optional=True))
    return _read(content, "assignment", int), change


def _read_object(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise JudgementError("invalid request: expected a JSON object")
    return content


def _read(content: Mapping[str, Any], name: str, kind: type, *, optional: bool = False) -> Any:
    """Read the random name of a window (str), a whole number (int), or seconds (float)."""
    value: Any = content.get(name)
    if value is None and optional:
        return None
    if kind is str:
        valid, words = isinstance(value, str) and bool(_CLIENT.fullmatch(value)), "8 to 64 letters and digits"
    else:
        is_number = isinstance(value, (int, kind)) and not isinstance(value, bool)
        valid, words = is_number and 0 <= value < _LARGEST_WHOLE, "a number of seconds"
        words = "a whole number" if kind is int else words
    if not valid:
        raise JudgementError(f"invalid {name}: expected {words}")
    return kind(value)


def fold(changes: Iterable[JudgementChange]) -> State:
    """Fold changes into the resulting state.

    The newest change of a field wins: within a window the one with the largest number, regardless of arrival; between
    windows the last to arrive. A late or repeated change therefore never undoes a newer one.

    `changes`: in the order of arrival.

    Examples
    --------
    >>> fold([JudgementChange("w", 2, {"broad": "VS"}), JudgementChange("w", 1, {"broad": "NS", "known": True})])
    State(broad='VS', fine=None, unplayable=False, known=True, heard=None)
    """
    latest: dict[tuple[str, str], int] = {}
    values: dict[str, Any] = {}
    heard: float | None = None
    for change in changes:
        if change.heard is not None:
            heard = max(change.heard, heard or 0.0)
        for name, value in change.values.items():
            if change.number > latest.get((change.client, name), -1):
                latest[change.client, name] = change.number
                values[name] = value
    return State(**values, heard=heard)


def record(session: Session, assignment: StoredAssignment, change: JudgementChange, now: dt.datetime) -> bool:
    """Store a change of a judgement, unless it is already stored. `change`: with values from `read_values`. Returns:
    whether the change was new.
    """
    stored = assignment.judgements
    if any((row.client, row.number) == (change.client, change.number) for row in stored):
        return False
    if len(stored) >= MOST_CHANGES:
        raise JudgementError(f"this judgement was changed {MOST_CHANGES} times and cannot be changed again")
    window = {"client": change.client, "number": change.number}
    stored.append(StoredJudgement(**window, received=now, values=dict(change.values), heard=change.heard))
    session.flush()
    state = fold(JudgementChange(row.client, row.number, row.values, row.heard) for row in stored)
    for name in (*FIELDS, "heard"):
        setattr(assignment, name, getattr(state, name))
    assignment.saved = now
    return True


def is_heard(assignment: StoredAssignment, seconds: float) -> bool:
    """True if a candidate was played for this long, or for an unknown time."""
    return assignment.heard is None or assignment.heard >= seconds


def is_done(assignment: StoredAssignment, seconds: float) -> bool:
    """True if a candidate has both judgements and was heard, or cannot be played."""
    both = assignment.broad is not None and assignment.fine is not None
    return assignment.unplayable or (both and is_heard(assignment, seconds))


def contradicted(
    broad: str | None, fine: float | None, others: Sequence[tuple[str | None, float | None]]
) -> str | None:
    """Return the other category whose range contains a fine judgement, if the range of its category does not.

    Ranges are those of the grader's other judgements; with too few of them nothing is contradicted. Categories may
    overlap, and the overlap is a result, so a grader may be asked but is never corrected.

    `others`: the other judgements of the grader.

    Examples
    --------
    >>> others = [("NS", 1.0), ("NS", 2.0), ("NS", 0.5), ("VS", 8.0), ("VS", 9.0), ("VS", 8.5)]
    >>> contradicted("NS", 8.2, others), contradicted("NS", 3.0, others)
    ('VS', None)
    """
    if broad is None or fine is None:
        return None
    values: dict[str, list[float]] = {}
    for category, value in others:
        if category is not None and value is not None:
            values.setdefault(category, []).append(value)
    extents = {name: (min(fines), max(fines)) for name, fines in values.items() if len(fines) >= _ENOUGH}
    extent = extents.pop(broad, None)
    if extent is None or extent[0] <= fine <= extent[1]:
        return None
    return next((name for name, (least, most) in extents.items() if least <= fine <= most), None)


def read_events(body: bytes) -> tuple[str, int, list[dict[str, Any]]]:
    """Parse the window, the page and the events of a JSON request, which are some seconds ``ago`` as clocks differ."""
    content = _read_object(body)
    rows = content.get("events")
    if not isinstance(rows, list) or len(rows) > BATCH:
        raise JudgementError(f"invalid events: expected a list of at most {BATCH}")
    client, page, events = _read(content, "client", str), _read(content, "page", int), []
    for row in rows:
        if not isinstance(row, dict) or row.get("kind") not in KINDS:
            raise JudgementError(f"unknown kind of event: choose from {', '.join(KINDS)}")
        number, ago = _read(row, "number", int), min(_read(row, "ago", float), _LONGEST_AGO)
        event = {"number": number, "kind": row["kind"], "ago": ago}
        event["assignment"] = _read(row, "assignment", int, optional=True)
        events.append({**event, "position": _read(row, "position", float, optional=True)})
    return client, page, events
