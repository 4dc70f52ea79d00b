"""Notifications: messages about submissions, from the event to the row that waits for delivery.

A message is a row written in the transaction of its event, so messages are neither lost nor sent for events that were
rolled back. A message contains no scores; it links to a page that shows those its reader may see.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from types import MappingProxyType
from typing import Literal

from sqlalchemy import ColumnElement, and_, case, delete, func, select
from sqlalchemy.orm import Session

from ....errors import counted
from ...file import Campaign, mail_address
from ..accounts import AccountError
from ..database import User
from ..service import Service
from .submission_tables import Notification, Submission

Channel = Literal["webhook", "mail"]
CHANNELS: tuple[Channel, ...] = ("webhook", "mail")
Event = Literal["accepted", "refused", "failed", "scored", "withdrawn", "disqualified"]
EVENTS: Mapping[Event, str] = MappingProxyType(
    {
        "accepted": "passed the check and is waiting to be scored",
        "refused": "was refused by the check; its page lists the findings",
        "failed": "could not be scored; its page gives the reason",
        "scored": "was scored; its page shows the released scores",
        "withdrawn": "was withdrawn",
        "disqualified": "was disqualified; its page gives the reason",
    }
)
"""Events with their descriptions in mails."""
LEASE = dt.timedelta(minutes=2)
"""Time after which a message is sent again if its sender was killed."""
FIRST_WAIT = dt.timedelta(seconds=10)
"""Time between the first two attempts; each further wait is four times as long."""
LONGEST_WAIT = dt.timedelta(hours=6)
"""Longest time between two attempts."""
GIVEN_UP = dt.timedelta(days=3)
"""Age of the event after which delivery is abandoned."""
SHOWN = dt.timedelta(days=7)
"""How long organisers see that a message was not delivered."""
KEPT = dt.timedelta(days=30)
"""Age after which a message is deleted."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message for its receiver."""

    key: str
    """Identifier, the same for all attempts."""
    type: str
    """``submission.`` and the event, or ``test``."""
    date: dt.datetime
    """Date of the event."""
    campaign: str
    """Title of the campaign."""
    words: str
    """A sentence for people."""
    url: str
    """Page that shows more."""
    submission: str = ""
    system: str = ""
    account: str = ""
    """Id and name of the submission, and name of its account; empty in a test message."""
    splits: tuple[str, ...] = ()
    address: str = ""
    """Receiver's address, for mail only."""

    def as_json(self) -> str:
        """Format the message for a webhook."""
        names = ("campaign", "submission", "system", "account", "splits", "url")
        data = {name: getattr(self, name) for name in names}
        return json.dumps({"type": self.type, "timestamp": self.date.isoformat(), "data": data})

    def as_mail(self, sender: str, account_url: str) -> EmailMessage:
        """Format the message as mail.

        `account_url`: page on which the receiver can remove the address.
        """
        mail = EmailMessage(policy=SMTP.clone(cte_type="7bit"))
        mail["From"], mail["To"] = sender, self.address
        mail["Subject"] = one_line(f"{self.campaign}: {self.system or 'test'} {self.words.partition(';')[0]}")
        mail["Date"] = format_datetime(self.date)
        mail["Message-ID"] = f"<{self.key}@{sender.rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-generated"
        about = f"{self.system} {self.words}." if self.system else f"This is a test: {self.words}."
        mail.set_content(
            f"{one_line(about)}\n{self.url}\n\n"
            f"{one_line(self.campaign)} sent this mail to the address on your account page,\n"
            f"where you can remove it: {account_url}\n"
        )
        return mail


def one_line(text: str) -> str:
    """Remove line ends and control characters, to prevent the injection of mail headers and log lines.

    Examples
    --------
    >>> one_line("Chords\\r\\nBcc: eve@lab.org")
    'Chords Bcc: eve@lab.org'
    """
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def announce(
    session: Session, campaign: Campaign, submission: Submission, event: Event, now: dt.datetime, *, mail: bool = True
) -> None:
    """Write the messages about an event, in the transaction of the event.

    `mail`: False if the submitter caused the event and needs no mail about it.
    """
    settings = campaign.notifications
    if settings is None:
        return
    fixed = {"event": event, "submission_id": submission.number, "date": now, "due": now}
    if settings.webhook is not None:
        session.add(Notification(channel="webhook", **fixed))
    user = submission.user
    if settings.mail is not None and mail and user.mail and user.revoked is None:
        session.add(Notification(channel="mail", user_id=user.id, **fixed))


def change_mail(session: Session, user: User, address: str) -> None:
    """Set the address of an account for mail; empty: remove it together with pending mail."""
    if address:
        try:
            mail_address(address)
        except ValueError as error:
            raise AccountError(f"mail: {error}") from None
    else:
        forget_mail(session, user.id)
    user.mail = address


def forget_mail(session: Session, user: int) -> None:
    """Delete the mail to an account."""
    session.execute(delete(Notification).where(Notification.user_id == user))


def claim(session: Session, service: Service, channel: Channel, now: dt.datetime) -> Message | None:
    """Claim the due message of a channel, so that no other process sends it; None if none is due.

    Mail to accounts that were revoked or have no address any more is deleted.
    """
    waiting = select(Notification).where(*_waiting(channel), Notification.due <= now)
    first = waiting.order_by(Notification.due, Notification.id).limit(1)
    while (row := session.scalar(first)) is not None:
        if channel == "webhook" or (row.user is not None and row.user.mail and row.user.revoked is None):
            row.tries, row.due = row.tries + 1, now + LEASE
            sent = row.submission
            return Message(
                row.key,
                f"submission.{row.event}",
                row.date,
                service.title,
                EVENTS[row.event],  # type: ignore[index]
                service.origin + service.links.url("submission", submission=sent.id),
                sent.id,
                sent.name,
                sent.user.name,
                sent.split_names,
                row.user.mail if row.user is not None else "",
            )
        session.delete(row)
        session.flush()
    return None


def is_due(session: Session, channel: Channel, now: dt.datetime) -> bool:
    """True if a message of a channel is due."""
    due = select(Notification.id).where(*_waiting(channel), Notification.due <= now).limit(1)
    return session.scalar(due) is not None


def mark_sent(session: Session, key: str, now: dt.datetime) -> None:
    """Record that a message was delivered, and delete old ones."""
    row = session.scalar(select(Notification).where(Notification.key == key))
    if row is not None:
        row.sent, row.error = now, ""
    session.execute(delete(Notification).where(Notification.date < now - KEPT))


def mark_failed(session: Session, key: str, error: str, now: dt.datetime, *, final: bool = False) -> bool:
    """Record a failed attempt, and schedule the next one.

    `final`: whether another attempt would fail in the same way.
    Returns: whether delivery is abandoned.
    """
    row = session.scalar(select(Notification).where(Notification.key == key))
    if row is None or row.sent is not None:
        return False
    row.error = error[:500]
    row.due = now + wait_after(row.tries)
    if final or now - row.date >= GIVEN_UP:
        row.lost = now
    return row.lost is not None


def wait_after(tries: int) -> dt.timedelta:
    """Return the time until the next attempt.

    Examples
    --------
    >>> [wait_after(tries).total_seconds() for tries in (1, 2, 3, 4, 50)]
    [10.0, 40.0, 160.0, 640.0, 21600.0]
    """
    return min(LONGEST_WAIT, FIRST_WAIT * int(4 ** min(tries - 1, 10)))


def _waiting(channel: Channel) -> tuple[ColumnElement[bool], ...]:
    return Notification.channel == channel, Notification.sent.is_(None), Notification.lost.is_(None)


def counts(session: Session) -> dict[tuple[str, str], int]:
    """Count messages by channel and state: waiting, failing, sent or lost."""
    state = case(
        (Notification.sent.is_not(None), "sent"),
        (Notification.lost.is_not(None), "lost"),
        (Notification.error != "", "failing"),
        else_="waiting",
    ).label("state")
    rows = session.execute(select(Notification.channel, state, func.count()).group_by(Notification.channel, state))
    return {(channel, name): number for channel, name, number in rows}


def undelivered(session: Session, now: dt.datetime) -> list[str]:
    """Describe channels that fail to deliver, for organisers."""
    sentences = []
    for channel in CHANNELS:
        failing = and_(*_waiting(channel), Notification.error != "")
        lost = and_(Notification.channel == channel, Notification.lost > now - SHOWN)
        rows = session.scalars(select(Notification).where(failing | lost).order_by(Notification.id)).all()
        if rows:
            given_up = sum(row.lost is not None for row in rows)
            sentences.append(
                f"Notifications by {channel} fail: {counted(len(rows) - given_up, 'message')} to be tried again, "
                f"{counted(given_up, 'message')} given up in the last {SHOWN.days} days. The latest error, on "
                f"{rows[-1].date:%Y-%m-%d %H:%M} (UTC): {rows[-1].error}"
            )
    return sentences
