"""Notifications: messages about submissions, from the event to their delivery to a webhook or by mail.

A message is a row written in the transaction of its event, so messages are neither lost nor sent for events that were
rolled back; threads deliver the rows. A message contains no scores; it links to a page that shows those its reader may
see.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
import logging
import os
import re
import secrets
import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from importlib.metadata import version
from types import MappingProxyType
from typing import Literal
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, and_, delete, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from ....errors import MirflowError, counted
from ...file import Campaign, Mail, Webhook, mail_address
from ..accounts import AccountError
from ..database import User
from ..service import Service, address_of
from .submission_tables import Notification, Submission

Channel = Literal["webhook", "mail"]
CHANNELS: tuple[Channel, ...] = ("webhook", "mail")
Event = Literal["accepted", "refused", "failed", "scored", "withdrawn", "disqualified"]
# Events with their descriptions in mails.
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
LEASE = dt.timedelta(minutes=2)  # time after which a message is sent again if its sender was killed
FIRST_WAIT = dt.timedelta(seconds=10)  # time between the first two attempts; each further wait is four times as long
LONGEST_WAIT = dt.timedelta(hours=6)  # longest time between two attempts
GIVEN_UP = dt.timedelta(days=3)  # age of the event after which delivery is abandoned
SHOWN = dt.timedelta(days=7)  # how long organisers see that a message was not delivered
KEPT = dt.timedelta(days=30)  # age after which a message is deleted


@dataclass(frozen=True, slots=True)
class Message:
    """A message for its receiver."""

    key: str  # identifier, the same for all attempts
    type: str  # ``submission.`` and the event, or ``test``
    date: dt.datetime  # date of the event
    campaign: str  # title of the campaign
    words: str  # a sentence for people
    url: str  # page that shows more
    submission: str = ""
    system: str = ""
    account: str = ""  # id and name of the submission, and name of its account; empty in a test message
    splits: tuple[str, ...] = ()
    address: str = ""  # receiver's address, for mail only


def one_line(text: str) -> str:
    """Remove line ends and control characters, to prevent the injection of mail headers and log lines."""
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
        session.execute(delete(Notification).where(Notification.user_id == user.id))
    user.mail = address


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
                key=row.key,
                type=f"submission.{row.event}",
                date=row.date,
                campaign=service.title,
                words=EVENTS[row.event],  # type: ignore[index]
                url=service.origin + service.links.url("submission", submission=sent.id),
                submission=sent.id,
                system=sent.name,
                account=sent.user.name,
                splits=sent.split_names,
                address=row.user.mail if row.user is not None else "",
            )
        session.delete(row)
        session.flush()
    return None


def _waiting(channel: Channel) -> tuple[ColumnElement[bool], ...]:
    return Notification.channel == channel, Notification.sent.is_(None), Notification.lost.is_(None)


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


SECONDS = 10.0  # seconds without data after which an attempt fails
MOST_SECONDS = 30.0  # seconds after which a request to the webhook fails in any case
POLL = 1.0  # seconds between two looks for messages
_PORTS = {"starttls": 587, "tls": 465, "none": 25}
_LOG = logging.getLogger("mirflow.server")


class DeliveryError(MirflowError):
    """A message was not delivered."""


class FinalDeliveryError(DeliveryError):
    """A message was not delivered, and another attempt would fail in the same way."""


@contextmanager
def _reaching(host: str | None) -> Iterator[None]:
    """Report that a host cannot be reached; it is all that is named, as an address may contain a secret."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise DeliveryError(f"{host}: its certificate is not valid: {error.verify_message}") from None
    except (HTTPException, OSError) as error:  # as are those of smtplib
        reason = one_line(str(error) or type(error).__name__)
        raise DeliveryError(f"{host}: cannot be reached, or the connection was lost: {reason}") from None


class WebhookCourier:
    """Requests to the webhook, signed according to Standard Webhooks 1.0.

    `secret`: ``whsec_`` and base64 of 24 to 64 bytes.
    Raises `MirflowError`: if the secret is malformed; it is not quoted.
    """

    def __init__(self, webhook: Webhook, secret: str) -> None:
        from standardwebhooks import Webhook as Signer

        try:
            length = len(base64.b64decode(secret.removeprefix("whsec_"), validate=True))
        except (binascii.Error, ValueError):
            length = 0
        if not 24 <= length <= 64:
            raise MirflowError(
                f"{webhook.secret}: invalid secret: expected whsec_ followed by 24 to 64 random bytes in base64: "
                'echo "whsec_$(openssl rand -base64 32)"'
            )
        self._signer, self._url = Signer(secret), urlsplit(webhook.url)

    def send(self, message: Message, now: dt.datetime) -> None:
        """Post a message; any status other than 2xx, including redirects, is an error."""
        names = ("campaign", "submission", "system", "account", "splits", "url")
        data = {name: getattr(message, name) for name in names}
        body = json.dumps({"type": message.type, "timestamp": message.date.isoformat(), "data": data})
        url = self._url
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"mirflow/{version('mirflow')}",
            "webhook-id": message.key,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self._signer.sign(message.key, now, body),
        }
        kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
        connection = kind(url.hostname or "", url.port, timeout=SECONDS)
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")

        def cut() -> None:
            if connection.sock is not None:
                with suppress(OSError):
                    # A duplicate of the socket below the encryption: another thread reads from that.
                    socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)

        timer = threading.Timer(MOST_SECONDS, cut)  # even if data still arrive
        timer.daemon = True
        timer.start()
        try:
            with _reaching(url.hostname):
                connection.request("POST", path, body.encode(), headers)
                status = connection.getresponse().status
        finally:
            timer.cancel()
            connection.close()
        if not 200 <= status < 300:
            raise DeliveryError(f"{url.hostname}: answers {status}")


@dataclass(frozen=True)
class MailCourier:
    """Mail to submitters."""

    mail: Mail
    password: str = field(repr=False)  # empty: no login
    account_url: str  # page on which receivers can remove their address

    def send(self, message: Message, now: dt.datetime) -> None:
        """Send a message; errors do not quote the address, since organisers read them."""
        mail, context, server = self.mail, ssl.create_default_context(), self.mail.server
        port = mail.port or _PORTS[mail.encryption]
        sent, system = EmailMessage(policy=SMTP.clone(cte_type="7bit")), message.system
        sent["From"], sent["To"] = mail.sender, message.address
        sent["Subject"] = one_line(f"{message.campaign}: {system or 'test'} {message.words.partition(';')[0]}")
        sent["Date"] = format_datetime(message.date)
        sent["Message-ID"] = f"<{message.key}@{mail.sender.rpartition('@')[2]}>"
        sent["Auto-Submitted"] = "auto-generated"
        about = f"{system} {message.words}." if system else f"This is a test: {message.words}."
        sent.set_content(
            f"{one_line(about)}\n{message.url}\n\n"
            f"{one_line(message.campaign)} sent this mail to the address on your account page,\n"
            f"where you can remove it: {self.account_url}\n"
        )
        with _reaching(server):
            try:
                if mail.encryption == "tls":
                    opened: smtplib.SMTP = smtplib.SMTP_SSL(server, port, timeout=SECONDS, context=context)
                else:
                    opened = smtplib.SMTP(server, port, timeout=SECONDS)
                with opened as connection:
                    if mail.encryption == "starttls":
                        connection.starttls(context=context)
                    if mail.user:
                        connection.login(mail.user, self.password)
                    connection.send_message(sent, mail.sender, [message.address])
            except smtplib.SMTPRecipientsRefused as error:
                code = next((code for code, _ in error.recipients.values()), 0)
                kind = FinalDeliveryError if code >= 500 else DeliveryError
                raise kind(f"{server}: refuses the account's address ({code})") from None
            except smtplib.SMTPResponseException as error:
                text = error.smtp_error
                text = text.decode(errors="replace") if isinstance(text, bytes) else text
                text = re.sub(re.escape(message.address), "ADDRESS", one_line(text), flags=re.IGNORECASE)
                raise DeliveryError(f"{server}: answers {error.smtp_code}: {text}") from None


Courier = WebhookCourier | MailCourier


def couriers_of(service: Service, environment: Mapping[str, str] = os.environ) -> dict[Channel, Courier]:
    """Make the delivery channels that a campaign configures."""
    settings = None if service.campaign is None else service.campaign.notifications
    couriers: dict[Channel, Courier] = {}

    def secret(name: str, what: str) -> str:
        value = environment.get(name, "")
        if not value:
            raise MirflowError(
                f"{service.path}: the environment variable {name} is not set: it holds the {what} of notifications "
                "and has to be set for the server"
            )
        return value

    if settings is not None and settings.webhook is not None:
        couriers["webhook"] = WebhookCourier(settings.webhook, secret(settings.webhook.secret, "secret of the webhook"))
    if settings is not None and settings.mail is not None:
        variable = settings.mail.password
        password = "" if variable is None else secret(variable, "password of the mail server")
        address = address_of(service).rstrip("/").removesuffix(service.prefix) + service.links.url("account")
        couriers["mail"] = MailCourier(settings.mail, password, address)
    return couriers


@dataclass
class Sender:
    """Sends the messages of a channel one by one."""

    service: Service
    channel: Channel
    courier: Courier

    def step(self) -> bool:
        """Try to deliver the message that is due first; False if none is due."""
        _, database = self.service.demand_campaign()
        due = select(Notification.id).where(*_waiting(self.channel), Notification.due <= self.service.clock())
        with database.read() as session:
            if session.scalar(due.limit(1)) is None:
                return False
        with database.write() as session:
            message = claim(session, self.service, self.channel, self.service.clock())
        if message is None:
            return False
        refusal: DeliveryError | None = None
        try:
            self.courier.send(message, self.service.clock())
        except DeliveryError as error:
            refusal = error
        except Exception:  # one message must not hold up the others
            _LOG.exception("notification %s", message.key)
            refusal = DeliveryError("internal error of the server")
        with database.write() as session:
            now, key = self.service.clock(), message.key
            row = session.scalar(select(Notification).where(Notification.key == key))
            if refusal is None:
                if row is not None:
                    row.sent, row.error = now, ""
                session.execute(delete(Notification).where(Notification.date < now - KEPT))
                return True
            lost = False
            if row is not None and row.sent is None:
                wait = min(LONGEST_WAIT, FIRST_WAIT * int(4 ** min(row.tries - 1, 10)))
                row.error, row.due = str(refusal)[:500], now + wait
                if isinstance(refusal, FinalDeliveryError) or now - row.date >= GIVEN_UP:
                    row.lost = now
                lost = row.lost is not None
        what = "is given up" if lost else "is tried again"
        _LOG.warning("notification %s (%s of %s) %s: %s", key, message.type, message.submission, what, refusal)
        return True

    def run(self, ended: threading.Event) -> None:
        """Send messages until the event is set."""
        wait = POLL
        while not ended.is_set():
            try:
                if self.step():
                    continue
                wait = POLL
            except (SQLAlchemyError, OSError) as error:
                wait = min(60.0, 2 * wait)
                _LOG.warning("notifications by %s wait: %s", self.channel, getattr(error, "orig", None) or error)
            ended.wait(wait)


@contextmanager
def sending(service: Service) -> Iterator[None]:
    """Send the notifications of a campaign from threads, one per channel, until the block ends."""
    ended = threading.Event()
    threads = [
        threading.Thread(target=Sender(service, channel, courier).run, args=(ended,), name=channel, daemon=True)
        for channel, courier in couriers_of(service).items()
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            # Interrupted deliveries are tried again.
            thread.join(MOST_SECONDS / 6)


def send_test(service: Service, mail_to: str = "") -> dict[Channel, str]:
    """Send a test message on all channels: to the webhook, and to the address if one is given.

    Returns: errors by channel; empty for success.
    """
    couriers, now, errors = couriers_of(service), service.clock(), dict[Channel, str]()
    for channel, courier in couriers.items():
        if channel == "mail" and not mail_to:
            continue
        words, url = "notifications of this campaign arrive", address_of(service)
        key = f"msg_{secrets.token_hex(16)}"
        message = Message(key, "test", now, service.title, words, url, address=mail_to)
        try:
            courier.send(message, now)
            errors[channel] = ""
        except DeliveryError as error:
            errors[channel] = str(error)
    return errors
