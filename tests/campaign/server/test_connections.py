"""Clients that are slow, silent or confused cost the server a connection for a while, and nothing else."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from mirflow.campaign.server import limits
from mirflow.campaign.server.app import HEAD_BYTES, create_app
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


def test_a_body_that_does_not_come(address, service, monkeypatch):
    monkeypatch.setattr(limits, "IDLE", 0.3)
    token = account(service, "ada", "submitter", "token")
    head = f"POST /submissions/new?name=x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    head += "Content-Type: application/zip\r\nContent-Length: 90000\r\n\r\nPK"
    with connect(address) as client:
        client.sendall(head.encode())
        assert b" 408 " in read(client)
    assert list(service.folder_of("submissions").iterdir()) == []


def test_half_an_upload_leaves_nothing(address, service):
    token = account(service, "ada", "submitter", "token")
    head = f"POST /submissions/new?name=x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    head += "Content-Type: application/zip\r\nContent-Length: 90000\r\n\r\n"
    with connect(address) as client:
        client.sendall(head.encode() + b"P" * 40_000)
        until(lambda: list(service.folder_of("submissions").iterdir()))
    until(lambda: not list(service.folder_of("submissions").iterdir()))


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
def test_what_is_no_request(address, sent):
    with connect(address) as client:
        try:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
        except OSError:
            return  # closed before all was sent
        answer = read(client)
    if answer:
        assert answer.startswith(b"HTTP/1.1 400 ")
    with urlopen(f"{address}/health") as still:
        assert still.status == 200


LONG = 16 * HEAD_BYTES  # more than a server reads at once


@pytest.mark.parametrize(
    "head",
    [
        b"GET /health?" + b"a" * LONG + b" HTTP/1.1\r\nHost: localhost\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * LONG + b"\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * (LONG // 6),
    ],
    ids=["address", "header", "many headers"],
)
def test_a_long_head_is_refused(address, head):
    with connect(address) as client:
        with suppress(OSError):  # closed before all was sent
            client.sendall(head + b"\r\n")
        assert read(client)[:13] in (b"HTTP/1.1 400 ", b"")


def test_short_requests_of_one_connection_are_not_added_up(address):
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (HEAD_BYTES // 3) + b"\r\n\r\n"
    with connect(address) as client:
        for _ in range(4):
            client.sendall(request)
            read_until(client, HEALTHY)


def test_a_request_in_another_one_is_none(address):
    """Two lengths, or chunks within a length, could be read otherwise by a proxy."""
    sent = b"POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
    sent += b"0\r\n\r\nGET /account HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect(address) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        assert b"/account" not in read(client)


def test_further_connections_are_answered_by_503(service, monkeypatch):
    monkeypatch.setattr("mirflow.campaign.server.app.CONNECTIONS", 3)
    with running(create_app(service)) as address, ExitStack() as stack:
        clients = [stack.enter_context(connect(address)) for _ in range(3)]
        until(lambda: answer_to(address).startswith(b"HTTP/1.1 503 "))
        for client in clients:
            client.close()
        until(lambda: answer_to(address).startswith(b"HTTP/1.1 200 "))


def answer_to(address: str) -> bytes:
    with connect(address) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return read(client)


def test_a_server_that_ends_does_not_wait_for_those_who_watch(service):
    token, told = account(service, "ada", "submitter", "token"), []
    watch = logging.Handler()
    watch.emit = lambda record: told.append(record.getMessage())
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
