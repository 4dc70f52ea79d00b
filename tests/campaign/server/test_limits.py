"""Requests are limited in number, size and time, and so is the memory that this takes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.exceptions import HTTPException

from mirflow.campaign.server import limits
from mirflow.campaign.server.limits import BoundedBody, RateLimits


class Seconds:
    """A clock that tests move."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_is_filled_again_at_its_rate():
    clock = Seconds()
    rates = RateLimits({"login": (2, 0.5)}, clock)
    rates.take("login", "192.0.2.7")
    rates.take("login", "192.0.2.7")
    with pytest.raises(HTTPException) as refused:
        rates.take("login", "192.0.2.7")
    assert refused.value.headers == {"Retry-After": "2"}
    rates.take("login", "192.0.2.8")
    clock.now = 2.0
    rates.take("login", "192.0.2.7")
    with pytest.raises(HTTPException):
        rates.take("login", "192.0.2.7")


def test_only_so_many_clients_are_remembered():
    rates = RateLimits({"login": (1, 0.001)}, Seconds(), kept=100)
    for number in range(1000):
        rates.take("login", str(number))
    assert len(rates._left) == 100


def scope_of(**headers: str) -> dict[str, Any]:
    return {"type": "http", "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}


def test_a_length_that_is_announced_counts_at_once():
    async def never() -> Any:
        raise AssertionError("nothing may be read")

    for length in ("101", "9" * 5000):
        with pytest.raises(HTTPException, match="at most 100 bytes"):
            BoundedBody(scope_of(**{"content-length": length}), never, 100)


@pytest.mark.parametrize(("pause", "parts"), [(0.2, 3), (0.02, 100)], ids=["a long pause", "a byte now and then"])
def test_a_slow_body_is_given_up(monkeypatch, pause, parts):
    monkeypatch.setattr(limits, "IDLE", 0.1)
    monkeypatch.setattr(limits, "PATIENCE", 0.3)

    async def slow() -> Any:
        await asyncio.sleep(pause)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def read() -> None:
        body = BoundedBody(scope_of(), slow, 1000)
        for _ in range(parts):
            await body()

    with pytest.raises(HTTPException, match="too slowly"):
        asyncio.run(read())


def test_the_end_of_a_connection_is_waited_for():
    async def silent() -> Any:
        await asyncio.sleep(0.2)
        return {"type": "http.disconnect"}

    async def read() -> Any:
        body = BoundedBody(scope_of(), silent, 1000)
        body._ended = True
        return await body()

    assert asyncio.run(read()) == {"type": "http.disconnect"}
