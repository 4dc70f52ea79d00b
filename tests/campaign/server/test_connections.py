"""Clients that are slow, silent or confused cost the server a connection for a while, and nothing else."""

from __future__ import annotations

import asyncio
import logging
import re
import select
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from mirflow.campaign.server import connections, limits
from mirflow.campaign.server.app import create_app, networks
from mirflow.campaign.server.connections import Punctual
from mirflow.campaign.server.security import HEADERS
from mirflow.campaign.server.service import Service, open_service

from ...waiting import PATIENCE, until
from .accounts import account
from .campaigns import zipped
from .running import running
from .test_submission_pages import CAMPAIGN


@pytest.fixture
def service(tmp_path: Path) -> Service:
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN.replace("2027-12-31", "2099-12-31"))
    return open_service([tmp_path / "campaign.yaml"])


@pytest.fixture
def address(service: Service) -> Iterator[str]:
    with running(create_app(service)) as found:
        yield found


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the heads of requests for tenths of seconds."""
    monkeypatch.setattr(Punctual, "head_seconds", 0.3)


def connect(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE)


def read(client: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    found = b""
    try:
        while piece := client.recv(65536):
            found += piece
    except ConnectionResetError:
        pass
    return found


HEALTHY = rb'200 OK(?s:.*)\r\n\r\n{"ok":true.*}'


def read_until(client: socket.socket, pattern: bytes) -> re.Match[bytes]:
    """What comes up to a pattern; heads and bodies of answers may come one after the other."""
    found = b""
    while (match := re.search(pattern, found)) is None:
        piece = client.recv(65536)
        assert piece, found
        found += piece
    return match


@pytest.mark.parametrize("start", [b"", b"G", b"GET /health HTTP/1.1\r\n", b"GET /health HTTP/1.1\r\nHost: local"])
def test_heads_that_do_not_come(impatient: None, address: str, start: bytes) -> None:
    with connect(address) as client:
        with suppress(OSError):  # closed before anything was sent
            client.sendall(start)
        assert read(client) == b""


def test_a_head_that_comes_byte_by_byte(impatient: None, address: str) -> None:
    with connect(address) as client:
        end = time.monotonic() + PATIENCE
        with pytest.raises(OSError):  # noqa: PT011, PT012
            while time.monotonic() < end:
                client.sendall(b"X")
                time.sleep(0.05)


def test_a_second_request_that_does_not_come(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect(address) as client:
        client.sendall(request)
        read_until(client, HEALTHY)
        monkeypatch.setattr(Punctual, "head_seconds", 0.3)
        time.sleep(0.5)  # an idle connection is kept
        client.sendall(request)
        read_until(client, HEALTHY)
        client.sendall(b"GET /hea")
        assert read(client) == b""


def test_a_body_that_does_not_come(address: str, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "IDLE", 0.3)
    token = account(service, "ada", "submitter", "token")
    head = f"POST /submissions/new?name=x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    head += "Content-Type: application/zip\r\nContent-Length: 90000\r\n\r\nPK"
    with connect(address) as client:
        client.sendall(head.encode())
        assert b" 408 " in read(client)
    assert list(service.submissions_folder.iterdir()) == []


def test_half_an_upload_leaves_nothing(address: str, service: Service) -> None:
    token = account(service, "ada", "submitter", "token")
    head = f"POST /submissions/new?name=x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    head += "Content-Type: application/zip\r\nContent-Length: 90000\r\n\r\n"
    with connect(address) as client:
        client.sendall(head.encode() + b"P" * 40_000)
        until(lambda: list(service.submissions_folder.iterdir()))
    until(lambda: not list(service.submissions_folder.iterdir()))


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHo st: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20_000,
        b"\r\n" * 40_000,
    ],
    ids=["TLS", "blank in a name", "NUL", "version", "two lengths", "negative", "many headers", "empty lines"],
)
def test_what_is_no_request(address: str, sent: bytes) -> None:
    with connect(address) as client:
        try:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
        except OSError:
            return  # closed before all was sent
        answer = read(client)
    if answer:
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert f"content-security-policy: {HEADERS['Content-Security-Policy']}".encode() in answer
    with urlopen(f"{address}/health") as still:
        assert still.status == 200


LONG = connections.HEAD_BYTES


@pytest.mark.parametrize(
    "head",
    [
        b"GET /health?" + b"a" * LONG + b" HTTP/1.1\r\nHost: localhost\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * LONG + b"\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * (LONG // 6),
    ],
    ids=["address", "header", "many headers"],
)
def test_a_long_head_is_refused_also_where_it_comes_in_one_piece(address: str, head: bytes) -> None:
    with connect(address) as client:
        client.sendall(head + b"\r\n")
        assert read(client).startswith(b"HTTP/1.1 400 ")


def test_short_requests_of_one_connection_are_not_added_up(address: str) -> None:
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (LONG // 3) + b"\r\n\r\n"
    with connect(address) as client:
        for _ in range(4):
            client.sendall(request)
            read_until(client, HEALTHY)


def test_a_request_in_another_one_is_none(address: str) -> None:
    """Two lengths, or chunks within a length, could be read otherwise by a proxy."""
    sent = b"POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
    sent += b"0\r\n\r\nGET /account HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect(address) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        assert b"/account" not in read(client)


def test_only_so_many_connections(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST", 5)
    monkeypatch.setattr(Punctual, "head_seconds", 2 * PATIENCE)
    clients = [connect(address) for _ in range(8)]
    try:
        until(lambda: len(ended(clients)) >= 3)
        time.sleep(0.1)  # the others stay
        assert len(ended(clients)) == 3
    finally:
        for client in clients:
            client.close()


def ended(clients: Sequence[socket.socket]) -> list[socket.socket]:
    """Connections that the server, which says nothing by itself, has closed."""
    return select.select(clients, [], [], 0)[0]


@pytest.mark.parametrize(("proxies", "open_after"), [((), 3), (("127.0.0.0/8",), 6)])
def test_one_address_does_not_take_all_connections(
    service: Service, monkeypatch: pytest.MonkeyPatch, proxies: Sequence[str], open_after: int
) -> None:
    monkeypatch.setattr(connections, "MOST_OF_ADDRESS", 3)
    monkeypatch.setattr(connections, "LOOPBACK", ())
    with running(create_app(service), networks(proxies)) as address:
        clients = [connect(address) for _ in range(6)]
        try:
            assert sum([answers(client) for client in clients]) == open_after
        finally:
            for client in clients:
                client.close()


def answers(client: socket.socket) -> bool:
    try:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return client.recv(65536).startswith(b"HTTP/1.1 200")
    except (ConnectionResetError, BrokenPipeError):
        return False


def test_an_answer_that_is_not_taken(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.responses import StreamingResponse

    from mirflow.campaign.server.security import GuardedRoute

    monkeypatch.setattr(Punctual, "taken_seconds", 0.3)
    given_up = []

    async def endless(request: object) -> StreamingResponse:
        async def parts():  # type: ignore[no-untyped-def]
            try:
                while True:
                    yield b"x" * 65536
                    await asyncio.sleep(0)
            finally:
                given_up.append(True)

        return StreamingResponse(parts())

    app = create_app(service)
    app.router.routes.append(GuardedRoute("/endless", endless, role=None))
    with running(app) as own, connect(own) as client:
        client.sendall(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: given_up)


def test_a_server_that_ends_does_not_wait_for_those_who_watch(service: Service) -> None:
    token, told = account(service, "ada", "submitter", "token"), []
    watch = logging.Handler()
    watch.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    with ExitStack() as open_longer, running(create_app(service)) as address:
        client = open_longer.enter_context(connect(address))
        logging.getLogger("uvicorn.error").addHandler(watch)
        data = zipped({"a.lab": "0 1 C\n"})
        head = f"Host: localhost\r\nAuthorization: Bearer {token}\r\n"
        sent = f"POST /submissions/new?name=draft-1 HTTP/1.1\r\n{head}Content-Type: application/zip\r\n"
        client.sendall(f"{sent}Accept: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
        id = read_until(client, rb'"id": ?"(\w+)".*\}')[1].decode()
        asked = f"GET /submissions/{id}/progress HTTP/1.1\r\n{head}Accept: text/event-stream\r\n\r\n"
        client.sendall(asked.encode())
        read_until(client, rb"event: progress")
    logging.getLogger("uvicorn.error").removeHandler(watch)
    assert [one for one in told if "Cancel" in one or "Exception" in one] == []
