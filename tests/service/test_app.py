"""The server answers, and refuses what other sites and strangers ask for."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from mirflow.errors import MirflowError
from mirflow.service.accounts import add_user, find_user, find_viewer, issue, revoke
from mirflow.service.app import create_app
from mirflow.service.service import Service, open_service

from .campaigns import write_bare_campaign


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return open_service([write_bare_campaign(tmp_path)])


def test_every_answer_says_what_a_page_may_load(service: Service) -> None:
    client = TestClient(create_app(service))
    for address in ("/health", "/nowhere"):
        answer = client.get(address)
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["referrer-policy"] == "same-origin"


def test_a_request_for_another_host_is_refused(service: Service) -> None:
    answer = TestClient(create_app(service)).get("/health", headers={"Host": "attacker.example"})
    assert answer.status_code == 421


def test_a_secret_is_found_until_it_expires_or_is_revoked(service: Service) -> None:
    assert service.database is not None
    now = service.clock()
    with service.database.write() as session:
        user = add_user(session, "ada", "submitter", now)
        secret = issue(session, user, "token", now, dt.timedelta(days=1))
    with service.database.write() as session:
        assert find_viewer(session, secret, "link", now) is None
        assert find_viewer(session, secret, "token", now + dt.timedelta(days=1)) is None
        found = find_viewer(session, secret, "token", now)
        assert found is not None
        assert found.may("reader")
        assert not found.may("organiser")
        revoke(session, find_user(session, "ada"), now)
        session.flush()
        assert find_viewer(session, secret, "token", now) is None


def test_stores_are_not_served_beside_a_campaign(tmp_path: Path) -> None:
    with pytest.raises(MirflowError, match="serve one campaign file, or stores"):
        open_service([tmp_path / "a.yaml", tmp_path / "b.zarr"])
