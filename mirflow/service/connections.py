"""Connections of clients: how long a request may take to arrive, and an answer to be taken."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from .security import HEADERS

HEAD_SECONDS = 10.0
"""Seconds in which the first line and the headers of a request have to arrive."""
KEPT_SECONDS = 15
"""Seconds that a connection is kept without a request."""
TAKEN_SECONDS = 60.0
"""Seconds in which a client has to take some of an answer."""
HEAD_BYTES = 32 * 1024
"""Longest first line with headers."""
MOST = 1000
"""Connections at a time; further ones are closed at once."""


class Punctual(H11Protocol):
    """HTTP/1.1 that does not wait for ever: neither for the head of a request, nor for an answer to be taken.

    The bodies of requests are the routes' to bound.
    """

    head_seconds = HEAD_SECONDS
    taken_seconds = TAKEN_SECONDS
    _head: asyncio.TimerHandle | None = None
    _taken: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
            return
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a head, or no longer."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_awaiting_head()
        elif self._head is None:
            self._await_head()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._stop_awaiting_head()
        super().on_response_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection without requests, also where the client has not taken all of the last answer."""
        super().timeout_keep_alive_handler()
        self._await_taking()

    def pause_writing(self) -> None:
        """Begin to wait for the client."""
        super().pause_writing()
        self._await_taking()

    def resume_writing(self) -> None:
        """The client has taken something."""
        _stop(self._taken)
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop_awaiting_head()
        _stop(self._taken)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request with the headers of every answer."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        text = b"This is not a request of HTTP/1.1.\n"
        headers = [(name.lower(), value) for name, value in HEADERS.items()]
        headers += [("content-type", "text/plain; charset=utf-8"), ("content-length", str(len(text)))]
        headers += [("connection", "close")]
        answer = (h11.Response(status_code=400, headers=headers, reason=b"Bad Request"), h11.Data(data=text))
        for event in (*answer, h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _await_taking(self) -> None:
        _stop(self._taken)
        self._taken = self.loop.call_later(self.taken_seconds, self.transport.abort)

    def _await_head(self) -> None:
        self._head = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _stop_awaiting_head(self) -> None:
        _stop(self._head)
        self._head = None


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
