"""Delivery of notifications: signed requests to the organisers' webhook, and mail to submitters.

The server sends them rather than the worker, which sees hidden references and only needs to reach the database.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
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
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from importlib.metadata import version
from typing import Protocol
from urllib.parse import urlsplit

from sqlalchemy.exc import SQLAlchemyError

from ...errors import MirflowError
from ..file import Mail, Webhook
from .service import Service, address_of
from .submissions.notifications import Channel, Message, claim, is_due, mark_failed, mark_sent, one_line

SECONDS = 10.0
"""Seconds without data after which an attempt fails."""
MOST_SECONDS = 30.0
"""Seconds after which a request to the webhook fails in any case."""
POLL = 1.0
"""Seconds between two looks for messages."""
_PORTS = {"starttls": 587, "tls": 465, "none": 25}
_LOG = logging.getLogger("mirflow.server")


class DeliveryError(MirflowError):
    """A message was not delivered.

    `final`: whether another attempt would fail in the same way.
    """

    def __init__(self, message: str, *, final: bool = False) -> None:
        self.final = final
        super().__init__(message)


class Courier(Protocol):
    """A delivery channel."""

    def send(self, message: Message, now: dt.datetime) -> None:
        """Deliver a message; raises `DeliveryError` if the receiver has not accepted it."""


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
        body, url = message.as_json(), self._url
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
        # The URL may contain a secret: messages name only the host.
        try:
            connection.request("POST", path, body.encode(), headers)
            status = connection.getresponse().status
        except ssl.SSLCertVerificationError as error:
            raise DeliveryError(f"{url.hostname}: its certificate is not valid: {error.verify_message}") from None
        except (HTTPException, OSError) as error:
            reason = str(error) or type(error).__name__
            raise DeliveryError(
                f"{url.hostname}: cannot be reached, or the connection was lost: {one_line(reason)}"
            ) from None
        finally:
            timer.cancel()
            connection.close()
        if not 200 <= status < 300:
            raise DeliveryError(f"{url.hostname}: answers {status}")


class MailCourier:
    """Mail to submitters.

    `password` empty: no login.
    `account_url`: page on which receivers can remove their address.
    """

    def __init__(self, mail: Mail, password: str, account_url: str) -> None:
        self._mail, self._password, self._account_url = mail, password, account_url

    def send(self, message: Message, now: dt.datetime) -> None:
        """Send a message; errors do not quote the address, since organisers read them."""
        mail, context, server = self._mail, ssl.create_default_context(), self._mail.server
        port = mail.port or _PORTS[mail.encryption]
        try:
            if mail.encryption == "tls":
                opened: smtplib.SMTP = smtplib.SMTP_SSL(server, port, timeout=SECONDS, context=context)
            else:
                opened = smtplib.SMTP(server, port, timeout=SECONDS)
            with opened as connection:
                if mail.encryption == "starttls":
                    connection.starttls(context=context)
                if mail.user:
                    connection.login(mail.user, self._password)
                connection.send_message(message.as_mail(mail.sender, self._account_url), mail.sender, [message.address])
        except smtplib.SMTPRecipientsRefused as error:
            code = next((code for code, _ in error.recipients.values()), 0)
            raise DeliveryError(f"{server}: refuses the account's address ({code})", final=code >= 500) from None
        except smtplib.SMTPResponseException as error:
            text = error.smtp_error
            text = text.decode(errors="replace") if isinstance(text, bytes) else text
            text = re.sub(re.escape(message.address), "ADDRESS", one_line(text), flags=re.IGNORECASE)
            raise DeliveryError(f"{server}: answers {error.smtp_code}: {text}") from None
        except ssl.SSLCertVerificationError as error:
            raise DeliveryError(f"{server}: its certificate is not valid: {error.verify_message}") from None
        except (smtplib.SMTPException, OSError) as error:
            reason = str(error) or type(error).__name__
            raise DeliveryError(
                f"{server}: cannot be reached, or the connection was lost: {one_line(reason)}"
            ) from None


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


class Sender:
    """Sends the messages of a channel one by one."""

    def __init__(self, service: Service, channel: Channel, courier: Courier) -> None:
        assert service.database is not None
        self.service, self.database, self.channel, self.courier = service, service.database, channel, courier

    def step(self) -> bool:
        """Try to deliver the message that is due first; False if none is due."""
        with self.database.read() as session:
            if not is_due(session, self.channel, self.service.clock()):
                return False
        with self.database.write() as session:
            message = claim(session, self.service, self.channel, self.service.clock())
        if message is None:
            return False
        try:
            self.courier.send(message, self.service.clock())
        except DeliveryError as error:
            self._fail(message, error)
        except Exception:  # one message must not hold up the others
            _LOG.exception("notification %s", message.key)
            self._fail(message, DeliveryError("internal error of the server"))
        else:
            with self.database.write() as session:
                mark_sent(session, message.key, self.service.clock())
        return True

    def _fail(self, message: Message, error: DeliveryError) -> None:
        with self.database.write() as session:
            lost = mark_failed(session, message.key, str(error), self.service.clock(), final=error.final)
        what = "is given up" if lost else "is tried again"
        _LOG.warning("notification %s (%s of %s) %s: %s", message.key, message.type, message.submission, what, error)

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
