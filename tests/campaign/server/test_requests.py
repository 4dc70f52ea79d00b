"""Whatever is asked, the answer is one: no internal error, no traceback, no secret, no memory that grows."""

from __future__ import annotations

import random
import socket
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from ...waiting import PATIENCE
from . import requests
from .requests import Outcome, Target, ask, draw, make_target, run, wrong
from .running import running


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Target:
    return make_target(tmp_path_factory.mktemp("target"))


def told(outcome: Outcome) -> str:
    """What to read of findings; a case is drawn again by its seed and number."""
    return "\n".join(outcome.findings[:20])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_three_hundred_requests(target):
    outcome = run(target, 0, range(300))
    assert not outcome.findings, told(outcome)
    assert {200, 400, 401, 403, 404, 405, 413, 421} <= set(outcome.statuses)  # they get past the first check


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore")
def test_ten_thousand_requests(target):
    outcome = run(target, 1, range(10_000))
    assert not outcome.findings, told(outcome)
    assert outcome.slowest < 10
    early, late = outcome.megabytes[10], outcome.megabytes[-1]
    assert late < early + 150, f"{early:.0f} MB after 2000 requests, {late:.0f} MB at the end"


def test_a_leak_is_found(target):
    """The fuzzer itself sees what it is to see."""
    import asyncio

    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response

    from mirflow.campaign.server.app import create_app
    from mirflow.campaign.server.security import GuardedRoute

    def leak(request: Request) -> Response:
        return PlainTextResponse(f"the reference has {requests.SECRET}")

    def crash(request: Request) -> Response:
        raise ZeroDivisionError

    app = create_app(target.service)
    for endpoint, what in ((leak, "tells"), (crash, "status 500")):
        app.router.routes.insert(0, GuardedRoute("/new", endpoint, role=None))
        case = requests.Case(0, "GET", b"/new", ((b"host", b"localhost"),), b"")
        assert what in next(wrong(target, case, asyncio.run(ask(app, case))))


def test_bytes_of_requests_that_were_changed(target):
    """Over a real connection, where a request may be no request at all."""
    chance = random.Random(5)
    with running(target.app) as address:
        parts = urlsplit(address)
        for number in range(100):
            case = draw(target, 5, number)
            lines = [b"%s %s HTTP/1.1" % (case.method.encode(), case.target or b"/")]
            lines += [name + b": " + value for name, value in case.headers]
            data = bytearray(b"\r\n".join(lines) + b"\r\n\r\n" + case.body[:5000])
            for _ in range(chance.randrange(4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE) as client:
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                answer = b""
                try:
                    while len(answer) < 10**6 and (piece := client.recv(65536)):
                        answer += piece
                except ConnectionResetError:
                    pass
            status = answer[9:12]
            assert status in (b"", *(b"%d" % one for one in range(200, 500)), b"503"), (number, answer[:300])
            assert not [kept for kept in target.kept if kept in answer], number
        with urlopen(f"{address}/health") as still:
            assert still.status == 200
