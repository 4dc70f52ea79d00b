"""The server answers, and refuses what other sites and strangers ask for."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.service import Service, open_service
from mirflow.errors import MirflowError

from .campaigns import write_bare_campaign


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return open_service([write_bare_campaign(tmp_path)])


def test_every_answer_says_what_a_page_may_load(service):
    client = TestClient(create_app(service))
    for address in ("/health", "/nowhere"):
        answer = client.get(address)
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["referrer-policy"] == "same-origin"


def test_a_request_for_another_host_is_refused(service):
    answer = TestClient(create_app(service)).get("/health", headers={"Host": "attacker.example"})
    assert answer.status_code == 421


def test_stores_are_not_served_beside_a_campaign(tmp_path):
    with pytest.raises(MirflowError, match="cannot serve a campaign file together with other files"):
        open_service([tmp_path / "a.yaml", tmp_path / "b.zarr"])
