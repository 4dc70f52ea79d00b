"""Limits on the rate, size and speed of requests.

Rates are limited by account or IP address. Addresses are parsed and looked up in networks here, and sizes formatted.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from threading import Lock
from types import MappingProxyType

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

KEPT = 20_000  # most accounts and addresses that are tracked; the least recently active are forgotten first
IDLE = 20.0  # longest pause within a body, in seconds
SLOWEST = 8 * 1024  # minimum average speed of a long body, in bytes per second
PATIENCE = 30.0  # seconds allowed for any body, however short
SMALL = 64 * 1024  # default limit for the body of a request, in bytes
_CLOSE = {"Connection": "close"}


Rates = Mapping[str, tuple[float, float]]
# Requests at once, and per second in the long run, by name; plain pages are not limited.
RATES: Rates = MappingProxyType(
    {
        "login": (20, 0.2),  # per address, against guessing of links and tokens
        "upload": (100, 1.0),
        "change": (300, 10.0),  # after a connection loss, a grader's page sends an hour of judgements at once
        "query": (120, 20.0),  # computed tables
    }
)


@dataclass(eq=False)
class RateLimits:
    """Token buckets of accounts and addresses."""

    rates: Rates = field(default_factory=lambda: RATES)
    clock: Callable[[], float] = time.monotonic  # monotonic seconds
    kept: int = KEPT
    _left: OrderedDict[tuple[str, str], tuple[float, float]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def take(self, rate: str, who: str, cost: float = 1.0) -> None:
        """Take one request from the bucket of an account or an address."""
        (burst, per_second), now, key = self.rates[rate], self.clock(), (rate, who)
        with self._lock:
            left, seen = self._left.get(key, (burst, now))
            left = min(burst, left + (now - seen) * per_second)
            wait = 0.0 if left >= cost else (cost - left) / per_second
            self._left[key] = left if wait else left - cost, now
            self._left.move_to_end(key)
            if len(self._left) > self.kept:
                self._left.popitem(last=False)
        if wait > 0:
            raise HTTPException(429, "Too many requests. Wait a moment.", {"Retry-After": str(ceil(wait))})


def read_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an IP address; None if invalid. An IPv4-mapped IPv6 address becomes the IPv4 address.

    Examples
    --------
    >>> read_address("::ffff:192.0.2.7"), read_address("unknown")
    (IPv4Address('192.0.2.7'), None)
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def lies_in(address: str, networks: Iterable[Network]) -> bool:
    """True if an address is in one of the networks.

    Examples
    --------
    >>> lies_in("::ffff:10.0.0.1", [ipaddress.ip_network("10.0.0.0/8")])
    True
    """
    parsed = read_address(address)
    return parsed is not None and any(parsed.version == network.version and parsed in network for network in networks)


class BoundedBody:
    """The body of a request, limited in size and duration.

    Raises `HTTPException`: 413, if the announced length is too large.
    """

    def __init__(self, scope: Scope, receive: Receive, most: int) -> None:
        self._receive, self._most = receive, most
        self._begin: float | None = None
        self._bytes, self._ended = 0, False
        self._refusal = HTTPException(413, f"The request is too large: at most {shown_size(most)}.", _CLOSE)
        lengths = [value for name, value in scope["headers"] if name == b"content-length"]
        if any(length.isdigit() and int(length[:20]) > most for length in lengths):
            raise self._refusal

    async def __call__(self) -> Message:
        """Return the next part."""
        if self._ended:  # the next message is the end of the connection
            return await self._receive()
        loop = asyncio.get_running_loop()
        self._begin = loop.time() if self._begin is None else self._begin
        left = PATIENCE + self._bytes / SLOWEST - (loop.time() - self._begin)
        try:
            async with asyncio.timeout(max(0.0, min(IDLE, left))):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "The request was sent too slowly.", _CLOSE) from None
        self._ended = message["type"] != "http.request" or not message.get("more_body", False)
        self._bytes += len(message.get("body", b""))
        if self._bytes > self._most:
            raise self._refusal
        return message


def shown_size(count: int) -> str:
    """Format a number of bytes.

    Examples
    --------
    >>> shown_size(65536), shown_size(100_000_000)
    ('65.5 kB', '100 MB')
    """
    size, units = float(count), ["bytes", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size, _ = size / 1000, units.pop(0)
    return f"{size:.3g} {units[0]}"
