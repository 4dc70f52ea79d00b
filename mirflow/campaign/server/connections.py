"""Connections of clients: limits of their number, the size of heads, and the time to send and receive."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Sequence
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .limits import Network, bucket_of, lies_in
from .security import HEADERS

HEAD_SECONDS = 10.0
"""Seconds within which the request line and headers have to arrive."""
KEPT_SECONDS = 15
"""Seconds for which an idle connection is kept open."""
TAKEN_SECONDS = 60.0
"""Seconds within which a client has to read part of a response."""
HEAD_BYTES = 32 * 1024
"""Longest request line with headers, in bytes."""
MOST = 1000
"""Most connections at a time; further ones are closed immediately."""
MOST_OF_ADDRESS = 250
"""Most connections from an address, except from this machine and proxies."""
ENDLESS = "endless"
"""Key in the state of a request whose response lasts until the client disconnects."""

LOOPBACK: tuple[Network, ...] = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


class Punctual(HttpToolsProtocol):
    """HTTP/1.1 with time limits for the head of a request and for reading a response.

    The bodies of requests are limited by their routes.
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
        """Start waiting for the first request."""
        super().connection_made(transport)
        if len(self.connections) > MOST or self._are_many():
            transport.abort()
            return
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Keep or stop waiting for the rest of a head; refuse one that is too long."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("")
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_awaiting_head()
        elif self._head is None:
            self._await_head()

    def on_message_begin(self) -> None:
        """Measure the head of a request from here; a single read may contain several."""
        self._parsed_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Add a part of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header or a trailer."""
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def _count(self, size: int) -> None:
        self._parsed_bytes += size
        if self._parsed_bytes > HEAD_BYTES:
            raise ValueError("the head of the request is too long")  # stops the parser, as an invalid request would

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
        """Close an idle connection, even if the client has not read all of the last response."""
        super().timeout_keep_alive_handler()
        self._await_taking()

    def pause_writing(self) -> None:
        """Begin to wait for the client."""
        super().pause_writing()
        self._await_taking()

    def resume_writing(self) -> None:
        """Stop waiting: the client has read some data."""
        _stop(self._taken)
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._stop_awaiting_head()
        _stop(self._taken)
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Finish the current response, unless it is marked as endless."""
        super().shutdown()
        if self.cycle is not None and not self.cycle.response_complete and self.cycle.scope["state"].get(ENDLESS):
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer an invalid request with the usual headers."""
        if self.cycle is None or self.cycle.response_complete:
            text = "Invalid HTTP/1.1 request.\n"
            kind = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(text))}
            lines = [f"{name.lower()}: {value}" for name, value in {**HEADERS, **kind, "Connection": "close"}.items()]
            self.transport.write("\r\n".join(["HTTP/1.1 400 Bad Request", *lines, "", text]).encode("ascii"))
        self.transport.close()

    def _are_many(self) -> bool:
        """True if the client's address has too many connections."""
        if len(self.connections) <= MOST_OF_ADDRESS or self.client is None or lies_in(self.client[0], self.unbounded):
            return False
        mine = bucket_of(self.client[0])
        hosts = [
            connection.client[0]
            for connection in self.connections
            if isinstance(connection, HttpToolsProtocol) and connection.client
        ]
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
    """Make the protocol of a server behind proxies, which hold the connections of all their clients."""
    return type("PunctualBehindProxies", (Punctual,), {"unbounded": (*LOOPBACK, *proxies)})


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
