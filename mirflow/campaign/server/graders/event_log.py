"""Log of graders' actions other than judging."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from .grading_tables import Participation, StoredEvent
from .judging import JudgementError, read_client, read_number, read_whole

KINDS = ("came", "went", "played", "paused", "seeked")
"""Events sent by pages; judgements are stored separately."""
BATCH = 100
"""Most events in a request."""
MOST = 50_000
"""Most events stored per grader and round; in MIREX 2006 a grader had about 1,600."""
_LONGEST_AGO = 86_400.0


@dataclass(frozen=True, slots=True)
class Sent:
    """An event as a page sent it."""

    number: int
    """Number of the event in its window."""
    kind: str
    ago: float
    """Seconds since it happened, so that clocks need not agree."""
    assignment: int | None
    position: float | None
    """Seconds in the recording."""


def read_events(given: Mapping[str, Any]) -> tuple[str, int, list[Sent]]:
    """Parse the window, the page and the events of a request."""
    events = given.get("events")
    if not isinstance(events, list) or len(events) > BATCH:
        raise JudgementError(f"invalid events: expected a list of at most {BATCH}")
    return read_client(given), read_whole(given, "page"), [_read_event(one) for one in events]


def _read_event(one: Any) -> Sent:
    if not isinstance(one, dict) or one.get("kind") not in KINDS:
        raise JudgementError(f"unknown kind of event: choose from {', '.join(KINDS)}")
    assignment, position = one.get("assignment"), one.get("position")
    return Sent(
        read_whole(one, "number"),
        one["kind"],
        min(read_number(one, "ago"), _LONGEST_AGO),
        None if assignment is None else read_whole(one, "assignment"),
        None if position is None else read_number(one, "position"),
    )


def keep_events(
    session: Session, participation: Participation, client: str, page: int, events: Sequence[Sent], now: dt.datetime
) -> int:
    """Store new events, up to `MOST` per grader; returns how many were new."""
    own = StoredEvent.participation_id == participation.id
    there = set(session.scalars(select(StoredEvent.number).where(own, StoredEvent.client == client)))
    left = MOST - int(session.scalar(select(func.count()).where(own)) or 0)
    known = {one.id for one in participation.assignments}
    fresh = {one.number: one for one in events if one.number not in there}
    for one in list(fresh.values())[: max(left, 0)]:
        session.add(
            StoredEvent(
                participation_id=participation.id,
                assignment_id=one.assignment if one.assignment in known else None,
                page=page,
                client=client,
                number=one.number,
                kind=one.kind,
                received=now - dt.timedelta(seconds=one.ago),
                position=one.position,
            )
        )
    return len(fresh)
