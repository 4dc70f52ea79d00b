"""Tables of submissions: uploads, findings, released scores and comparisons, and messages about them.

Others hold the state of workers and of public copies, and the versions of the rules.
"""

from __future__ import annotations

import datetime as dt
import secrets
from typing import Literal

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from ...site.pages import RUNTIME
from ..database import UNSEEN, Base, User

# States of a submission in order; the last one is refused, scored, failed or withdrawn.
State = Literal[
    "received", "checking", "refused", "accepted", "scoring", "computed", "releasing", "scored", "failed", "withdrawn"
]
# States that need further work by a worker.
OPEN: tuple[State, ...] = ("received", "checking", "accepted", "scoring", "computed", "releasing")
CLOSED: tuple[State, ...] = ("refused", "failed")  # states that free the name of a submission
Relation = Literal["own", "leader"]
Outcome = Literal["better", "worse", "not told apart"]


class Submission(Base):
    """A submission as sent; only its state, visibility and withdrawal ever change.

    ``number`` is the order of arrival. ``digest`` is the SHA-256 of the sorted names and contents of the files,
    ``sent_digest`` that of the upload, such as a zip file. ``rules`` and ``mirflow`` are the versions in force on
    arrival. ``key`` is the case-folded name, which is unique. ``team`` is that of the account on arrival (see
    :func:`.accounts.team_of`). ``disqualified`` is the organisers' reason; such a submission is also withdrawn. A
    submission that is ``held`` is private until the embargo of its splits ends, and public afterwards.
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
    runtime: Mapped[float | None]
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
        """The splits on which it is to be scored."""
        return tuple(filter(None, self.splits.split(",")))

    @property
    def marks(self) -> dict[str, str]:
        """Coordinates of its system in tables: dates of submission and withdrawal, rules, links, and run time."""
        marks = {"submitted": self.received.date().isoformat(), "rules": self.rules}
        marks |= {name: link for name, link in (("paper", self.paper), ("code", self.code)) if link}
        marks |= {} if self.runtime is None else {RUNTIME: f"{self.runtime:.10g}"}
        return marks if self.withdrawn is None else {**marks, "withdrawn": self.withdrawn.date().isoformat()}


class SubmissionFinding(Base):
    """A finding in a file of a submission: severity, place and message."""

    __tablename__ = "finding"

    id: Mapped[int] = mapped_column(primary_key=True)
    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.number"), index=True)
    path: Mapped[str]
    line: Mapped[int | None]
    severity: Mapped[str]
    rule: Mapped[str]
    message: Mapped[str]


class SubmissionProgress(Base):
    """Progress of the worker on a submission: files checked, or tracks scored."""

    __tablename__ = "progress"
    __table_args__ = UNSEEN

    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.number"), primary_key=True)
    stage: Mapped[str]
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)
    updated: Mapped[dt.datetime]


class Released(Base):
    """A score and its released value: on a hidden split rounded, subject to the ladder, and without interval.

    ``improved`` is false if the ladder withholds the score; `value` is then null. ``true_value``, ``true_low`` and
    ``true_high`` are the exact score on a hidden split, for organisers and the final ranking. ``rules`` is the version
    of the rules that the score belongs to; a row is never overwritten.
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
    """Comparison of a submission, at the time of scoring, with an earlier one of the account or with the leader.

    On a hidden split, `difference` is that of the released scores, without interval and p.
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
    """A version of the rules and its evaluations, which never change."""

    __tablename__ = "rules"

    version: Mapped[str] = mapped_column(primary_key=True)
    evaluations: Mapped[str]
    date: Mapped[dt.datetime]


class PublicCopy(Base):
    """Digest of the contents of a split's public copy, which is made again when the digest changes."""

    __tablename__ = "public_copy"

    split: Mapped[str] = mapped_column(primary_key=True)
    digest: Mapped[str]
    date: Mapped[dt.datetime]


class Trouble(Base):
    """The reason why the worker cannot continue, for organisers, such as a full disk; at most one row."""

    __tablename__ = "trouble"

    id: Mapped[int] = mapped_column(primary_key=True)
    message: Mapped[str]
    since: Mapped[dt.datetime]


class WorkerReport(Base):
    """A worker, and the time of its last report."""

    __tablename__ = "worker"
    __table_args__ = UNSEEN

    name: Mapped[str] = mapped_column(primary_key=True)
    began: Mapped[dt.datetime]
    seen: Mapped[dt.datetime]


class Scored(Base):
    """Records that a submission was scored on a split by a version of the rules."""

    __tablename__ = "scored"

    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.number"), primary_key=True)
    split: Mapped[str] = mapped_column(primary_key=True)
    rules: Mapped[str] = mapped_column(primary_key=True)
    date: Mapped[dt.datetime]


class Notification(Base):
    """A message about a submission for a channel: the organisers' webhook, or mail.

    ``key`` identifies the message for its receiver. It is sent from ``due`` on, which is postponed by each failed
    attempt, until it is ``sent`` or abandoned (``lost``). ``error`` is the reason for the last failure. Mail goes to
    the address that ``user`` has at the time of sending.
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
