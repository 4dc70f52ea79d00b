"""Judgements as they arrive: in any order, twice, from several windows; and the state that they make."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from ....errors import GradingError
from ....metrics.similarity import BROAD
from .grading_tables import Participation, StoredAssignment, StoredJudgement

LARGEST = 10.0
"""Of fine judgements."""
STEP = 0.1
MOST_CHANGES = 2000
"""Changes of one judgement that are kept; more of them are a broken or a hostile page."""
_ENOUGH = 3
"""Judgements that make a range."""
_CLIENT = re.compile(r"[0-9A-Za-z-]{8,64}")
_LARGEST_WHOLE = 2**31
FIELDS = ("broad", "fine", "unplayable", "known")


class JudgementError(GradingError):
    """Input that is no judgement."""


@dataclass(frozen=True, slots=True)
class JudgementChange:
    """Fields of a judgement that were changed in one window."""

    client: str
    """The window."""
    number: int
    """Of the change in that window; a later one is larger."""
    values: Mapping[str, Any]
    """`broad`, `fine`, `unplayable` and `known`, as far as they were changed; None takes a judgement back."""
    heard: float | None = None
    """Seconds of the candidate that were heard so far; None if the page cannot tell."""


@dataclass(frozen=True, slots=True)
class State:
    """A judgement as it stands."""

    broad: str | None = None
    fine: float | None = None
    unplayable: bool = False
    known: bool = False
    heard: float | None = None


def read_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a change, as they are kept.

    Examples
    --------
    >>> read_values({"broad": "SS", "fine": "6.1"})
    {'broad': 'SS', 'fine': 6.1}
    """
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name == "broad":
            if value not in (None, "") and value not in BROAD:
                raise JudgementError(f"broad: needs one of {', '.join(BROAD)}")
            values[name] = value or None
        elif name == "fine":
            values[name] = None if value in (None, "") else _fine(value)
        elif name in FIELDS:
            if not isinstance(value, bool):
                raise JudgementError(f"{name}: needs true or false")
            values[name] = value
        else:
            raise JudgementError(f"a judgement has the fields {', '.join(FIELDS)}, and no other")
    return values


def _fine(value: Any) -> float:
    try:
        number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    rounded = round(number, 1) if math.isfinite(number) else math.nan
    if not 0 <= rounded <= LARGEST or abs(rounded - number) > STEP / 100:
        raise JudgementError(f"fine: needs a number from 0 to {LARGEST:g} in steps of {STEP:g}")
    return rounded


def read_change(body: bytes) -> tuple[int, JudgementChange]:
    """The assignment and the change that a page sent as JSON."""
    given = read_object(body)
    values, heard = given.get("values"), given.get("heard")
    if not isinstance(values, dict):
        raise JudgementError("values: needs the fields that were changed")
    change = JudgementChange(
        read_client(given),
        read_whole(given, "number"),
        read_values(values),
        None if heard is None else read_number(given, "heard"),
    )
    return read_whole(given, "assignment"), change


def read_object(body: bytes) -> dict[str, Any]:
    """A JSON object."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise JudgementError("this is no JSON object")
    return given


def read_client(given: Mapping[str, Any]) -> str:
    """The window that sent something, named at random by itself."""
    client = given.get("client")
    if not isinstance(client, str) or not _CLIENT.fullmatch(client):
        raise JudgementError("client: needs 8 to 64 letters and digits")
    return client


def read_whole(given: Mapping[str, Any], name: str) -> int:
    """A whole number of what was sent."""
    value = given.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LARGEST_WHOLE:
        raise JudgementError(f"{name}: needs a whole number")
    return value


def read_number(given: Mapping[str, Any], name: str) -> float:
    """A number of seconds of what was sent."""
    value = given.get(name)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < _LARGEST_WHOLE:
        raise JudgementError(f"{name}: needs a number of seconds")
    return float(value)


def fold(changes: Iterable[JudgementChange]) -> State:
    """The state after changes in the order of their arrival.

    The newest change of a field counts: within a window that of the largest number, whenever it arrived; between
    windows the one that arrived last. So a change that comes late, or twice, undoes nothing that came after it.

    Parameters
    ----------
    changes : iterable of JudgementChange
        In the order in which the server kept them.

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
    """Keep a change of a judgement; one that is there already is not kept again.

    Parameters
    ----------
    session : Session
        Of a write transaction.
    change : JudgementChange
        With values of `read_values`.

    Returns
    -------
    bool
        Whether it was new.
    """
    kept = assignment.judgements
    if any((one.client, one.number) == (change.client, change.number) for one in kept):
        return False
    if len(kept) >= MOST_CHANGES:
        raise JudgementError(f"this judgement was changed {MOST_CHANGES} times; it stays as it is")
    row = StoredJudgement(
        client=change.client, number=change.number, received=now, values=dict(change.values), heard=change.heard
    )
    kept.append(row)
    session.flush()
    _settle(assignment, now)
    return True


def _settle(assignment: StoredAssignment, now: dt.datetime) -> None:
    state = fold(JudgementChange(row.client, row.number, row.values, row.heard) for row in assignment.judgements)
    for name in (*FIELDS, "heard"):
        setattr(assignment, name, getattr(state, name))
    assignment.saved = now


def next_number(session: Session, assignment: StoredAssignment, client: str) -> int:
    """Number of the next change of a window that does not count itself, as a form without scripts."""
    largest = select(func.max(StoredJudgement.number)).where(
        StoredJudgement.assignment_id == assignment.id, StoredJudgement.client == client
    )
    return int(session.scalar(largest) or 0) + 1


def is_heard(assignment: StoredAssignment, seconds: float) -> bool:
    """True if a candidate was heard for so long, or the page could not tell."""
    return assignment.heard is None or assignment.heard >= seconds


def is_done(assignment: StoredAssignment, seconds: float) -> bool:
    """True if a candidate has both judgements and was heard, or cannot be heard."""
    both = assignment.broad is not None and assignment.fine is not None
    return assignment.unplayable or (both and is_heard(assignment, seconds))


def ranges(judged: Iterable[tuple[str | None, float | None]]) -> dict[str, tuple[float, float]]:
    """Least and largest fine judgement in each broad category that has at least three."""
    found: dict[str, list[float]] = {}
    for broad, fine in judged:
        if broad is not None and fine is not None:
            found.setdefault(broad, []).append(fine)
    return {broad: (min(fine), max(fine)) for broad, fine in found.items() if len(fine) >= _ENOUGH}


def contradicted(
    broad: str | None, fine: float | None, others: Sequence[tuple[str | None, float | None]]
) -> str | None:
    """The category whose range a fine judgement is in, if it lies outside of that of its own category.

    Ranges are those of the grader's other judgements; where there are too few, nothing is contradicted. Categories may
    well overlap, and how far they do is a result, so a grader may be asked but is never corrected.

    Parameters
    ----------
    others : sequence of (broad, fine)
        The other judgements of the grader.

    Examples
    --------
    >>> others = [("NS", 1.0), ("NS", 2.0), ("NS", 0.5), ("VS", 8.0), ("VS", 9.0), ("VS", 8.5)]
    >>> contradicted("NS", 8.2, others), contradicted("NS", 3.0, others)
    ('VS', None)
    """
    if broad is None or fine is None:
        return None
    known = ranges(others)
    own = known.pop(broad, None)
    if own is None or own[0] <= fine <= own[1]:
        return None
    return next((name for name, (least, most) in known.items() if least <= fine <= most), None)


def judged_by(participation: Participation, but: StoredAssignment) -> list[tuple[str | None, float | None]]:
    """The other judgements of a grader, training left out."""
    return [(one.broad, one.fine) for one in participation.assignments if one is not but and not one.pair.training]
