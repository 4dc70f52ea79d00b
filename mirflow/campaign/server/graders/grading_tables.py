"""Tables of grading in the database: rounds, consent, pairs of query and candidate, assignments, judgements, events.

A participation is a grader in a round. The measured loudness of recordings is kept here, too.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from sqlalchemy import JSON, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from ..database import UNSEEN, Base


class Round(Base):
    """A round of grading."""

    __tablename__ = "grading_round"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    opened: Mapped[dt.datetime]
    closed: Mapped[dt.datetime | None]
    deleted: Mapped[int] = mapped_column(default=0)  # number of graders who withdrew and had their data deleted


class ConsentText(Base):
    """A version of the text that graders agree to; old versions are kept."""

    __tablename__ = "grading_consent_text"
    __table_args__ = (UniqueConstraint("round_id", "version"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    round_id: Mapped[int] = mapped_column(ForeignKey("grading_round.id"))
    version: Mapped[str]
    text: Mapped[str]
    since: Mapped[dt.datetime]


class StoredPair(Base):
    """A query and a candidate to judge."""

    __tablename__ = "grading_pair"
    __table_args__ = (UniqueConstraint("round_id", "query", "candidate"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    round_id: Mapped[int] = mapped_column(ForeignKey("grading_round.id"), index=True)
    query: Mapped[str]
    candidate: Mapped[str]  # anonymised
    query_piece: Mapped[str]
    piece: Mapped[str]  # the recording to play
    training: Mapped[bool] = mapped_column(default=False)
    anchor_broad: Mapped[str | None]  # the organiser's judgement, shown during training
    anchor_fine: Mapped[float | None]


class Participation(Base):
    """A grader in a round."""

    __tablename__ = "grading_participation"
    __table_args__ = (UniqueConstraint("round_id", "user_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    round_id: Mapped[int] = mapped_column(ForeignKey("grading_round.id"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id"))
    seed: Mapped[int]  # seed for the order of candidates
    code: Mapped[int]  # random number; sorting by it numbers graders independently of their order of arrival
    consent: Mapped[str]  # version of the text that the grader agreed to
    consented: Mapped[dt.datetime]
    withdrawn: Mapped[dt.datetime | None]
    assignments: Mapped[list[StoredAssignment]] = relationship(
        back_populates="participation",
        cascade="all, delete-orphan",
        order_by="StoredAssignment.page, StoredAssignment.place",
    )
    events: Mapped[list[StoredEvent]] = relationship(cascade="all, delete-orphan")


class StoredAssignment(Base):
    """A pair assigned to a grader, with the current state of the judgement."""

    __tablename__ = "grading_assignment"
    __table_args__ = (UniqueConstraint("participation_id", "pair_id", "repeat"), UNSEEN)

    id: Mapped[int] = mapped_column(primary_key=True)
    participation_id: Mapped[int] = mapped_column(ForeignKey("grading_participation.id"), index=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("grading_pair.id"), index=True)
    repeat: Mapped[bool] = mapped_column(default=False)  # whether this is a hidden repeat of an earlier pair
    page: Mapped[int]  # number of the page, from 1; a page has a single query
    place: Mapped[int]  # position on the page, from 0, in the shuffled order
    made: Mapped[dt.datetime]
    broad: Mapped[str | None]
    fine: Mapped[float | None]
    unplayable: Mapped[bool] = mapped_column(default=False)  # the grader cannot hear the candidate
    known: Mapped[bool] = mapped_column(default=False)  # the grader knows the piece
    heard: Mapped[float | None]  # seconds of the candidate that were played, at least; None if the page could not tell
    saved: Mapped[dt.datetime | None]
    pair: Mapped[StoredPair] = relationship()
    participation: Mapped[Participation] = relationship(back_populates="assignments")
    judgements: Mapped[list[StoredJudgement]] = relationship(
        cascade="all, delete-orphan", order_by="StoredJudgement.id"
    )


class StoredJudgement(Base):
    """A change of a judgement as sent; rows are never changed."""

    __tablename__ = "grading_judgement"
    __table_args__ = (UniqueConstraint("assignment_id", "client", "number"), UNSEEN)

    id: Mapped[int] = mapped_column(primary_key=True)
    assignment_id: Mapped[int] = mapped_column(ForeignKey("grading_assignment.id"), index=True)
    client: Mapped[str]  # the window that sent it
    number: Mapped[int]  # number of the change in that window
    received: Mapped[dt.datetime]
    values: Mapped[dict[str, Any]] = mapped_column(JSON)
    heard: Mapped[float | None]


class StoredEvent(Base):
    """An action of a grader other than judging; rows are never changed."""

    __tablename__ = "grading_event"
    __table_args__ = (UniqueConstraint("participation_id", "client", "number"), UNSEEN)

    id: Mapped[int] = mapped_column(primary_key=True)
    participation_id: Mapped[int] = mapped_column(ForeignKey("grading_participation.id"), index=True)
    # The candidate; None for the query and the page.
    assignment_id: Mapped[int | None] = mapped_column(ForeignKey("grading_assignment.id"), index=True)
    page: Mapped[int | None]
    client: Mapped[str]
    number: Mapped[int]
    kind: Mapped[str]
    received: Mapped[dt.datetime]
    position: Mapped[float | None]  # seconds in the recording


class Loudness(Base):
    """Loudness of a recording, measured once for each version of its contents."""

    __tablename__ = "grading_loudness"
    __table_args__ = UNSEEN

    path: Mapped[str] = mapped_column(primary_key=True)
    size: Mapped[int]
    modified: Mapped[int]  # nanoseconds
    lufs: Mapped[float | None]  # None: too quiet or too short to measure, or unreadable
