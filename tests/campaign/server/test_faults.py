"""A full disk and a busy database: requests are answered 503 with one line in the log, and nothing is lost."""

from __future__ import annotations

import errno
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from httpx2 import Response
from sqlalchemy import event
from starlette.testclient import TestClient

from mirflow.campaign.server.service import Service, open_service

from .accounts import BASE, Browser, Clock, account, program
from .campaigns import CAMPAIGN, estimates, write_bare_campaign, zipped
from .databases import VARIABLE

ZIP = {"Content-Type": "application/zip"}


def send(client: TestClient) -> Response:
    """Submit a system."""
    address = "/submissions/new?name=oak&split=dev"
    return client.post(address, content=zipped(estimates(splits=["dev"])), headers=ZIP)


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("mirflow.campaign.server.database.WAIT", 0.2)
    service = open_service([write_bare_campaign(tmp_path, CAMPAIGN)], BASE)
    service.clock = Clock()
    return service


@contextmanager
def locked(service: Service) -> Iterator[None]:
    """Another program writes to the database, and does not end."""
    assert service.folder is not None
    with closing(sqlite3.connect(service.folder / "campaign.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def full(service: Service) -> Iterator[None]:
    """The database cannot grow."""
    engine = service.database.engine

    def bound(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA max_page_count=1")  # SQLite takes the number of pages that there are

    engine.dispose()
    event.listen(engine, "connect", bound)
    yield
    event.remove(engine, "connect", bound)
    engine.dispose()


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines of the log, none of which has a traceback."""
    assert all(record.exc_info is None for record in caplog.records)
    return [record.getMessage() for record in caplog.records]


def test_a_busy_database_is_said_and_what_was_sent_is_taken_later(service, caplog):
    ada = program(service, "ada")
    assert ada.get("/submissions/").status_code == 200
    with locked(service):
        busy = send(ada)
        assert busy.status_code == 503
        assert busy.headers["Retry-After"] == "10"
        assert busy.json() == {"error": "The server cannot read or save data at the moment. Try again in a minute."}
        assert ada.get("/submissions/").status_code == 200
    assert told(caplog) == ["POST /submissions/new: the database cannot be used now: database is locked"]
    assert [*service.folder_of("submissions").iterdir()] == []
    assert send(ada).is_success


def test_a_reader_gets_the_first_page_of_a_token_while_the_database_is_locked(service, caplog):
    ada = program(service, "ada", "reader")
    with locked(service):
        assert ada.get("/account", headers={"Accept": "text/html"}).status_code == 200
    assert told(caplog) == ["cannot record when a token was used: database is locked"]


def test_a_full_database_is_said_on_a_page(service, caplog):
    ada = Browser(service, "ada")
    csrf = ada.csrf()
    with full(service):
        answers = [ada.post("/account/tokens", data={"csrf": csrf, "days": "1"}) for _ in range(40)]
    assert answers[-1].status_code == 503
    assert "Try again in a minute" in answers[-1].text
    assert {one.status_code for one in answers} == {200, 503}
    made = sum(one.status_code == 200 for one in answers)
    assert ada.get("/account").text.count("token</t") == made
    assert "POST /account/tokens: the database cannot be used now: database or disk is full" in told(caplog)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_keeps_nothing_of_an_upload(service, caplog, monkeypatch, code):
    ada = program(service, "ada")

    def fail(*_: object) -> None:
        raise OSError(code, "no room", "/srv/state/submissions/x")

    with monkeypatch.context() as patch:
        patch.setattr("mirflow.campaign.server.submissions.uploads.write_synced", fail)
        answer = send(ada)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
    assert "/srv" not in answer.text
    assert told(caplog) == ["POST /submissions/new: the disk is full: /srv/state/submissions/x"]
    assert ada.get("/submissions/").json() == {"submissions": []}
    assert [*service.folder_of("submissions").iterdir()] == []


def test_an_audit_log_that_cannot_be_written_asks_to_come_again(service, caplog):
    ada = Browser(service, "ada")
    service.audit.path.unlink()
    service.audit.path.mkdir()
    answer = ada.submit("/account/tokens", days="1")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
    assert len(told(caplog)) == 1


def test_other_errors_are_still_the_servers_own(service, caplog, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(errno.EACCES, "denied")

    ada = program(service, "ada")
    monkeypatch.setattr("mirflow.campaign.server.submission_pages.wants_json", fail)
    with caplog.at_level(logging.ERROR):
        assert ada.get("/submissions/").status_code == 500
    assert caplog.records[-1].exc_info is not None
    assert account(service, "bob", "reader")
