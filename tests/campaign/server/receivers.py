"""Receivers of notifications on this machine: a webhook and a mail server, which are stopped and started again."""

from __future__ import annotations

import base64
import hmac
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from .processes import free_port

KEY = b"secret" * 5
SECRET = "whsec_" + base64.b64encode(KEY).decode()  # of the webhook
PATH = "/hook?token=in-the-address"


class Hook:
    """A webhook at an address that stays the same; it takes what is signed."""

    def __init__(self) -> None:
        self.status, self.port = 204, free_port()
        self.got: list[dict[str, Any]] = []
        self.keys: list[str] = []  # identifiers of all requests, also of those that it refused
        self.may_answer = threading.Event()
        self.may_answer.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATH}"

    def take(self, path: str, headers: Any, body: bytes) -> int:
        """Check a request; the status of the answer."""
        self.keys.append(headers["webhook-id"])
        self.may_answer.wait()
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        signature = base64.b64encode(hmac.digest(KEY, signed, "sha256")).decode()
        if path != PATH or headers["webhook-signature"] != f"v1,{signature}":
            return 401
        if self.status < 300:
            self.got.append(json.loads(body))
        return self.status

    @contextmanager
    def running(self) -> Iterator[None]:
        """Take requests until the block ends."""
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(hook.take(self.path, self.headers, body))
                self.send_header("Location", hook.url)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        with ThreadingHTTPServer(("127.0.0.1", self.port), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            try:
                yield
            finally:
                self.may_answer.set()
                server.shutdown()
                thread.join()


class Post:
    """A mail server at an address that stays the same, for the account `mirflow` with the password `sesame`.

    Parameters
    ----------
    authority : trustme.CA
        Of its certificate.
    name : str
        That the certificate is for.
    """

    def __init__(self, authority: trustme.CA, name: str = "127.0.0.1") -> None:
        self.port, self.refuses = free_port(), ""
        self.got: list[tuple[list[str], EmailMessage]] = []
        self.logins: list[str] = []
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert(name).configure_cert(self._context)

    def authenticate(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        if data != LoginPassword(b"mirflow", b"sesame"):
            return AuthResult(success=False, handled=False)
        self.logins.append("mirflow")
        return AuthResult(success=True)

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.refuses:
            return f"{self.refuses} <{address}>: no such account"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        message = message_from_bytes(envelope.content, policy=default)
        assert isinstance(message, EmailMessage)
        self.got.append((envelope.rcpt_tos, message))
        return "250 OK"

    @contextmanager
    def running(self, *, encryption: str = "starttls") -> Iterator[None]:
        """Take mail until the block ends."""
        secured: dict[str, Any] = {"auth_require_tls": False}
        if encryption == "starttls":
            secured = {"tls_context": self._context, "require_starttls": True, "auth_required": True}
        controller = Controller(
            self,
            "127.0.0.1",
            self.port,
            ssl_context=self._context if encryption == "tls" else None,
            authenticator=self.authenticate,
            **secured,
        )
        controller.start()
        try:
            yield
        finally:
            controller.stop()
