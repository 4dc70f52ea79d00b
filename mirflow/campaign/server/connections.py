"""Connections of clients: how long a request may take to arrive, and an answer to be taken."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Sequence
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .limits import Network, bucket_of, lies_in
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
MOST_OF_ADDRESS = 250
"""Connections of an address, which is not this machine's and not that of a proxy."""
ENDLESS = "endless"
"""Name in the state of a request whose answer goes on until somebody leaves."""

LOOPBACK: tuple[Network, ...] = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


class Punctual(HttpToolsProtocol):
    """HTTP/1.1 that does not wait for ever: neither for the head of a request, nor for an answer to be taken.

    The bodies of requests are the routes' to bound.
    """

    head_seconds = HEAD_SECONDS
    taken_seconds = TAKEN_SECONDS
    unbounded: tuple[Network, ...] = ()
    _head: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _parsed_bytes = 0
    _in_head = True
    _taken: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        if len(self.connections) > MOST or self._are_many():
            transport.abort()
            return
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a head, or no longer; give up one that is too long."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("")
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_awaiting_head()
        elif self._head is None:
            self._await_head()

    def on_message_begin(self) -> None:
        """Count the head of a request from here on; many of them may have come in one piece."""
        self._parsed_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or a trailer."""
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._parsed_bytes += size
        if self._parsed_bytes > HEAD_BYTES:
            raise ValueError("the head of the request is too long")  # the parser ends, as at what is no request

    def on_headers_complete(self) -> None:
        """Expect a body."""
        self._in_head, self._head_bytes = False, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Expect another head."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_complete()

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

    def shutdown(self) -> None:
        """Let the answer end that is being given, but for one that says of itself that it has no end."""
        super().shutdown()
        if self.cycle is not None and not self.cycle.response_complete and self.cycle.scope["state"].get(ENDLESS):
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request with the headers of every answer."""
        if self.cycle is None or self.cycle.response_complete:
            text = "This is not a request of HTTP/1.1.\n"
            kind = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(text))}
            lines = [f"{name.lower()}: {value}" for name, value in {**HEADERS, **kind, "Connection": "close"}.items()]
            self.transport.write("\r\n".join(["HTTP/1.1 400 Bad Request", *lines, "", text]).encode("ascii"))
        self.transport.close()

    def _are_many(self) -> bool:
        """True if the client's address has more connections than one may have."""
        if len(self.connections) <= MOST_OF_ADDRESS or self.client is None or lies_in(self.client[0], self.unbounded):
            return False
        mine = bucket_of(self.client[0])
        hosts = [one.client[0] for one in self.connections if isinstance(one, HttpToolsProtocol) and one.client]
        return sum(bucket_of(host) == mine for host in hosts) > MOST_OF_ADDRESS

    def _await_taking(self) -> None:
        _stop(self._taken)
        self._taken = self.loop.call_later(self.taken_seconds, self.transport.abort)

    def _await_head(self) -> None:
        self._head = self.loop.call_later(self.head_seconds, self.transport.abort)

    def _stop_awaiting_head(self) -> None:
        _stop(self._head)
        self._head = None


def punctual(proxies: Sequence[Network] = ()) -> type[Punctual]:
    """The protocol of a server behind some proxies, which hold the connections of all their clients."""
    return type("PunctualBehindProxies", (Punctual,), {"unbounded": (*LOOPBACK, *proxies)})


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
