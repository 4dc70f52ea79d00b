"""Participation of graders in a round: consent, assignments, progress and withdrawal."""

from __future__ import annotations

import datetime as dt
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy import delete as delete_rows
from sqlalchemy.orm import Session, selectinload

from ...grading import assignment as plan
from ..accounts import Viewer
from ..service import Service
from .grading_tables import Participation, Round, StoredAssignment, StoredEvent, StoredJudgement, StoredPair
from .judging import is_done
from .rounds import OpenRound, Rounds

HELD = dt.timedelta(hours=24)
"""How long a pair is reserved for a grader who has not judged it."""
COUNTED_FOR = dt.timedelta(seconds=10)
"""How long counts on the front page are reused, unless a round is opened or closed."""
_SEEDS = 2**63


def find_participation(session: Session, opened: OpenRound, user: int) -> Participation | None:
    """Find a grader's participation in a round with all assignments; None before the consent."""
    query = select(Participation).where(Participation.round_id == opened.id, Participation.user_id == user)
    return session.scalar(query.options(selectinload(Participation.assignments).joinedload(StoredAssignment.pair)))


def consent(session: Session, opened: OpenRound, user: int, now: dt.datetime) -> Participation:
    """Record a grader's consent to the current text; this also undoes a withdrawal."""
    participation = find_participation(session, opened, user)
    if participation is None:
        participation = Participation(
            round_id=opened.id,
            user_id=user,
            seed=secrets.randbelow(_SEEDS),
            code=secrets.randbelow(_SEEDS),
            consent=opened.version,
            consented=now,
        )
        session.add(participation)
    elif participation.consent != opened.version or participation.withdrawn is not None:
        participation.consent, participation.consented, participation.withdrawn = opened.version, now, None
    session.flush()
    return participation


def withdraw(session: Session, opened: OpenRound, participation: Participation, now: dt.datetime, delete: bool) -> None:
    """Withdraw a grader; the judgements are kept, or deleted with all other data on the grader in this round."""
    if not delete:
        participation.withdrawn = now
        return
    assigned = select(StoredAssignment.id).where(StoredAssignment.participation_id == participation.id)
    session.execute(delete_rows(StoredEvent).where(StoredEvent.participation_id == participation.id))
    session.execute(delete_rows(StoredJudgement).where(StoredJudgement.assignment_id.in_(assigned)))
    session.execute(delete_rows(StoredAssignment).where(StoredAssignment.participation_id == participation.id))
    session.execute(delete_rows(Participation).where(Participation.id == participation.id))
    session.get_one(Round, opened.id).deleted += 1


def pages_of(participation: Participation) -> dict[int, list[StoredAssignment]]:
    """Group a grader's assignments by page."""
    pages: dict[int, list[StoredAssignment]] = {}
    for assignment in participation.assignments:
        pages.setdefault(assignment.page, []).append(assignment)
    return pages


def open_page(session: Session, opened: OpenRound, participation: Participation, now: dt.datetime) -> int | None:
    """Return the grader's current page: the first unfinished one, else a new one.

    `session`: a write transaction, so that no two graders get the same assignment.
    Returns: number of the page; None if there is nothing left to judge.
    """
    pages = pages_of(participation)
    listen = opened.config.listen
    for number, assigned in pages.items():
        if not all(is_done(row, listen) for row in assigned):
            return number
    new = _training(session, opened, participation) or _given(session, opened, participation, now)
    if not new:
        return None
    number = max(pages, default=0) + 1
    order = np.random.default_rng([participation.seed, number]).permutation(len(new))
    for place, index in enumerate(order.tolist()):
        pair, repeat = new[index]
        participation.assignments.append(StoredAssignment(pair=pair, repeat=repeat, page=number, place=place, made=now))
    session.flush()
    return number


def has_more(session: Session, opened: OpenRound, participation: Participation, now: dt.datetime) -> bool:
    """True if there is more to judge for a grader who has finished all pages."""
    return bool(_training(session, opened, participation) or _given(session, opened, participation, now))


def _training(session: Session, opened: OpenRound, participation: Participation) -> list[tuple[StoredPair, bool]]:
    """Return the next query of the training, if any is left."""
    had = {row.pair_id for row in participation.assignments}
    training = select(StoredPair).where(StoredPair.round_id == opened.id, StoredPair.training).order_by(StoredPair.id)
    left = [pair for pair in session.scalars(training) if pair.id not in had]
    # Graders who have started are not sent back to the training.
    if not left or any(not assignment.pair.training for assignment in participation.assignments):
        return []
    return [(pair, False) for pair in left if pair.query == left[0].query]


def _given(
    session: Session, opened: OpenRound, participation: Participation, now: dt.datetime
) -> Sequence[tuple[StoredPair, bool]]:
    """Return the least judged pairs of a query that the grader has not seen, or hidden repeats."""
    rows = session.scalars(select(StoredPair).where(StoredPair.round_id == opened.id, ~StoredPair.training)).all()
    pairs = {plan.Pair(row.query, row.candidate): row for row in rows}
    counted, config = counts(session, opened, now), opened.config
    history = [
        plan.Assignment(assignment.pair.query, assignment.pair.candidate, assignment.repeat)
        for assignment in participation.assignments
        if not assignment.pair.training
    ]
    number = {pair: counted[row.id] for pair, row in pairs.items()}
    # Graders who are ahead of the others continue rather than wait.
    for spread in (1, config.graders_per_pair):
        seed, repeats = participation.seed, config.repeats
        assigned = plan.next_assignments(
            number, history, config.graders_per_pair, repeats=repeats, seed=seed, spread=spread
        )
        if assigned:
            break
    return [(pairs[row.pair], row.repeat) for row in assigned]


def counts(session: Session, opened: OpenRound, now: dt.datetime) -> Counter[int]:
    """Count judgements of each pair that are valid or recently assigned, by id."""
    held = and_(
        ~_done(opened),
        ~StoredAssignment.unplayable,
        Participation.withdrawn.is_(None),
        StoredAssignment.made > now - HELD,
    )
    return Counter(dict(_count(session, opened, or_(_counting(opened), held))))


def _done(opened: OpenRound) -> ColumnElement[bool]:
    """SQL condition of `is_done` for assignments that could be played."""
    heard = StoredAssignment.heard.is_(None) | (StoredAssignment.heard >= opened.config.listen)
    return and_(StoredAssignment.broad.is_not(None), StoredAssignment.fine.is_not(None), heard)


def _counting(opened: OpenRound) -> ColumnElement[bool]:
    """SQL condition for assignments whose judgements count."""
    return and_(_done(opened), ~StoredAssignment.unplayable)


def _count(session: Session, opened: OpenRound, which: ColumnElement[bool]) -> list[tuple[int, int]]:
    """Count assignments by pair, without repeats and training."""
    query = (
        select(StoredAssignment.pair_id, func.count())
        .join(Participation)
        .join(StoredPair, StoredAssignment.pair_id == StoredPair.id)
        .where(Participation.round_id == opened.id, ~StoredAssignment.repeat, ~StoredPair.training, which)
        .group_by(StoredAssignment.pair_id)
    )
    return [(pair, number) for pair, number in session.execute(query)]


@dataclass(frozen=True, slots=True)
class GraderProgress:
    """Progress of a grader and of the round."""

    done: int
    pages: int
    """Number of finished candidates and pages."""
    share: float
    """Share of the required judgements."""


def progress(session: Session, opened: OpenRound, participation: Participation) -> GraderProgress:
    """Progress of a grader and of the round."""
    listen = opened.config.listen
    pages = pages_of(participation).values()
    return GraderProgress(
        done=sum(is_done(assignment, listen) for assignment in participation.assignments),
        pages=sum(all(is_done(row, listen) for row in assigned) for assigned in pages),
        share=share_judged(session, opened),
    )


def share_judged(session: Session, opened: OpenRound) -> float:
    """Return the share of the required judgements that exist, from 0 to 1."""
    return progress_of(session, opened).share


@dataclass(frozen=True, slots=True)
class OpenRoundProgress:
    """Anonymous progress of a round."""

    name: str
    title: str
    pairs: int
    judged: int
    """Number of pairs, and of those with the required number of judgements."""
    graders: int
    """Required judgements per pair."""
    share: float
    """Share of the required judgements, from 0 to 1."""
    closes: dt.datetime | None
    """Closing time."""
    public: bool
    """Whether the progress is public."""


def progress_of(session: Session, opened: OpenRound) -> OpenRoundProgress:
    """Progress of a round."""
    config, most = opened.config, opened.config.graders_per_pair
    every = select(func.count()).select_from(StoredPair).where(StoredPair.round_id == opened.id, ~StoredPair.training)
    pairs = int(session.scalar(every) or 0)
    counted = [number for _, number in _count(session, opened, _counting(opened))]
    judged, made = sum(number >= most for number in counted), sum(min(number, most) for number in counted)
    share = made / (pairs * most) if pairs else 1.0
    return OpenRoundProgress(
        config.name, config.title or config.name, pairs, judged, most, share, config.closes, config.public
    )


def is_closed(session: Session, opened: OpenRound, now: dt.datetime) -> bool:
    """True if a round was closed, or is not open at the given time."""
    return session.get_one(Round, opened.id).closed is not None or not opened.is_open(now)


class OpenRoundsProgress:
    """Progress of the open rounds for busy pages; recomputed every few seconds."""

    def __init__(self, service: Service, rounds: Rounds) -> None:
        self._service, self._rounds = service, rounds
        self._counted: tuple[str, dt.datetime, dt.datetime, list[OpenRoundProgress]] | None = None

    def seen_by(self, viewer: Viewer | None) -> list[OpenRoundProgress]:
        """Return the progress of public rounds, and of all rounds for viewers who may grade."""
        may_grade = viewer is not None and viewer.may("grader")
        return [summary for summary in self._current() if summary.public or may_grade]

    def _current(self) -> list[OpenRoundProgress]:
        assert self._service.database is not None
        now, state, counted = self._service.clock(), self._service.database.page_state(), self._counted
        if counted is None or counted[0] != state or not counted[1] <= now < counted[2]:
            rounds = self._rounds.all()
            with self._service.database.read() as session:
                listed = [progress_of(session, opened) for opened in rounds if not is_closed(session, opened, now)]
            times = [time for opened in rounds for time in (opened.config.opens, opened.config.closes) if time]
            until = min([now + COUNTED_FOR, *(time for time in times if time > now)])
            counted = self._counted = state, now, until, listed
        return counted[3]
