"""Tables of submissions: what was sent by whom, what was found in it, and what may be told of its scores."""

from __future__ import annotations

import datetime as dt
import secrets
from typing import Literal

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from ..database import UNSEEN, Base, User

State = Literal[
    "received",
    "checking",
    "refused",
    "accepted",
    "scoring",
    "computed",
    "releasing",
    "scored",
    "failed",
    "withdrawn",
]
"""Of a submission, in the order in which it goes through them; the last is refused, scored, failed or withdrawn."""
OPEN: tuple[State, ...] = ("received", "checking", "accepted", "scoring", "computed", "releasing")
"""States of submissions that the worker still has to do something with."""
CLOSED: tuple[State, ...] = ("refused", "failed")
"""States that give a submission's name back."""
Severity = Literal["error", "warning", "note"]
Relation = Literal["own", "leader"]
Outcome = Literal["better", "worse", "not told apart"]


class Submission(Base):
    """A submission as it was sent; only its state, its visibility and its withdrawal ever change.

    ``number`` is the order of arrival. ``digest`` is the SHA-256 of the sorted names and bytes of its files,
    ``sent_digest`` of what was sent, such as a zip file. ``rules`` and ``mirflow`` are the versions that were in force
    when it arrived. ``key`` is the name without regard to case, which no two submissions share. ``team`` is that of the
    account when it arrived, as :func:`.accounts.team_of` names it. ``disqualified`` is the organisers'
    reason; such a submission is withdrawn, too. One that is ``held`` is private until the embargo of its splits ends,
    and public then.
    """

    __tablename__ = "submission"
    __table_args__ = (
        Index(
            "submission_key",
            "key",
            unique=True,
            sqlite_where=text("state NOT IN ('refused', 'failed')"),
            postgresql_where=text("state NOT IN ('refused', 'failed')"),
        ),
        Index("submission_state", "state", "number"),
        {"sqlite_autoincrement": True},
    )

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True, default=lambda: secrets.token_hex(8))
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id"), index=True)
    team: Mapped[str] = mapped_column(index=True)
    name: Mapped[str]
    key: Mapped[str]
    splits: Mapped[str]
    visibility: Mapped[str]
    held: Mapped[bool] = mapped_column(default=False)
    description: Mapped[str] = mapped_column(default="")
    paper: Mapped[str] = mapped_column(default="")
    code: Mapped[str] = mapped_column(default="")
    received: Mapped[dt.datetime]
    sent_digest: Mapped[str]
    size: Mapped[int]
    rules: Mapped[str]
    mirflow: Mapped[str]
    state: Mapped[str] = mapped_column(default="received")
    reason: Mapped[str] = mapped_column(default="")
    digest: Mapped[str] = mapped_column(default="")
    files: Mapped[int] = mapped_column(default=0)
    errors: Mapped[int] = mapped_column(default=0)
    warnings: Mapped[int] = mapped_column(default=0)
    notes: Mapped[int] = mapped_column(default=0)
    finished: Mapped[dt.datetime | None]
    withdrawn: Mapped[dt.datetime | None]
    disqualified: Mapped[str] = mapped_column(default="")
    worker: Mapped[str] = mapped_column(default="")
    lease: Mapped[dt.datetime | None]
    tries: Mapped[int] = mapped_column(default=0)
    user: Mapped[User] = relationship()

    @property
    def split_names(self) -> tuple[str, ...]:
        """The splits that it is to be scored on."""
        return tuple(filter(None, self.splits.split(",")))

    @property
    def marks(self) -> dict[str, str]:
        """Coordinates of its system in tables: the days of submission and withdrawal, the rules, and links."""
        marks = {"submitted": self.received.date().isoformat(), "rules": self.rules}
        marks |= {name: link for name, link in (("paper", self.paper), ("code", self.code)) if link}
        return marks if self.withdrawn is None else {**marks, "withdrawn": self.withdrawn.date().isoformat()}


class SubmissionFinding(Base):
    """A finding in a file of a submission: its severity, place and message."""

    __tablename__ = "finding"

    id: Mapped[int] = mapped_column(primary_key=True)
    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.number"), index=True)
    path: Mapped[str]
    line: Mapped[int | None]
    severity: Mapped[str]
    rule: Mapped[str]
    message: Mapped[str]


class SubmissionProgress(Base):
    """Progress of the worker with a submission: files that are checked, or tracks that are scored."""

    __tablename__ = "progress"
    __table_args__ = UNSEEN

    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.number"), primary_key=True)
    stage: Mapped[str]
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)
    updated: Mapped[dt.datetime]


class Released(Base):
    """A score and what is released of it: of a hidden split a rounded value, if the ladder allows, without interval.

    ``improved`` is false where the ladder keeps a score back, and `value` is null. ``true_value``, ``true_low`` and
    ``true_high`` are the true score on a hidden split, for organisers and for the final ranking. ``rules`` is the
    version of the rules that the score belongs to; a row is never overwritten.
    """

    __tablename__ = "released"
    __table_args__ = (UniqueConstraint("submission_id", "split", "evaluation", "metric"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.number"), index=True)
    split: Mapped[str]
    evaluation: Mapped[str]
    metric: Mapped[str]
    rules: Mapped[str]
    value: Mapped[float | None]
    low: Mapped[float | None]
    high: Mapped[float | None]
    true_value: Mapped[float | None]
    true_low: Mapped[float | None]
    true_high: Mapped[float | None]
    tracks: Mapped[int]
    lower_is_better: Mapped[bool] = mapped_column(default=False)
    headline: Mapped[bool] = mapped_column(default=False)
    improved: Mapped[bool] = mapped_column(default=True)
    date: Mapped[dt.datetime]
    submission: Mapped[Submission] = relationship()


class Verdict(Base):
    """Comparison of a submission, when it was scored, with an earlier one of the account or with the leader.

    Of a hidden split `difference` is that of the released scores, and there is neither interval nor p.
    """

    __tablename__ = "verdict"
    __table_args__ = (UniqueConstraint("submission_id", "split", "evaluation", "metric", "relation"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.number"), index=True)
    other_id: Mapped[int] = mapped_column(ForeignKey("submission.number"))
    relation: Mapped[str]
    split: Mapped[str]
    evaluation: Mapped[str]
    metric: Mapped[str]
    outcome: Mapped[str]
    difference: Mapped[float | None]
    low: Mapped[float | None]
    high: Mapped[float | None]
    p: Mapped[float | None]
    tracks: Mapped[int]
    other: Mapped[Submission] = relationship(foreign_keys=[other_id])


class RulesVersion(Base):
    """A version of the rules with the evaluations that it means; what it means never changes."""

    __tablename__ = "rules"

    version: Mapped[str] = mapped_column(primary_key=True)
    evaluations: Mapped[str]
    date: Mapped[dt.datetime]


class PublicCopy(Base):
    """Digest of what the public copy of a split was made of, so that it is made again when that changes."""

    __tablename__ = "public_copy"

    split: Mapped[str] = mapped_column(primary_key=True)
    digest: Mapped[str]
    date: Mapped[dt.datetime]


class Trouble(Base):
    """The reason for which the worker cannot go on, for organisers: a broken store, a full disk; one row at most."""

    __tablename__ = "trouble"

    id: Mapped[int] = mapped_column(primary_key=True)
    message: Mapped[str]
    since: Mapped[dt.datetime]


class WorkerReport(Base):
    """A worker, and when it last reported that it works."""

    __tablename__ = "worker"
    __table_args__ = UNSEEN

    name: Mapped[str] = mapped_column(primary_key=True)
    began: Mapped[dt.datetime]
    seen: Mapped[dt.datetime]


class Scored(Base):
    """Record that a submission was scored on a split by a version of the rules."""

    __tablename__ = "scored"

    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.number"), primary_key=True)
    split: Mapped[str] = mapped_column(primary_key=True)
    rules: Mapped[str] = mapped_column(primary_key=True)
    date: Mapped[dt.datetime]


class Notification(Base):
    """A message on what happened to a submission, to be sent on a channel: to the organisers' webhook, or by mail.

    ``key`` identifies the message for its receiver. It is sent from ``due`` on, which moves on with each try, and is
    waiting until it is ``sent`` or given up (``lost``). ``error`` says why the last try failed. The address of a mail
    is that which ``user`` has when it is sent.
    """

    __tablename__ = "notification"
    __table_args__ = (Index("notification_due", "channel", "due"), UNSEEN)

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(unique=True, default=lambda: f"msg_{secrets.token_hex(16)}")
    channel: Mapped[str]
    event: Mapped[str]
    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.number"), index=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user.id"), index=True)
    date: Mapped[dt.datetime]
    due: Mapped[dt.datetime]
    tries: Mapped[int] = mapped_column(default=0)
    error: Mapped[str] = mapped_column(default="")
    sent: Mapped[dt.datetime | None]
    lost: Mapped[dt.datetime | None]
    submission: Mapped[Submission] = relationship()
    user: Mapped[User | None] = relationship()
