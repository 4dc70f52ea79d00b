"""Accounts are made, listed and revoked where the campaign is."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from mirflow.campaign.server.accounts import find_viewer
from mirflow.campaign.server.app import listen
from mirflow.campaign.server.service import noting_address, open_service
from mirflow.errors import MirflowError

from ...commands import invoke, printed, refused, rows
from ..server.campaigns import BARE, write_bare_campaign


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    return write_bare_campaign(tmp_path)


def secrets(text: str) -> list[str]:
    return [line.rpartition("/" if "/login/" in line else " ")[2] for line in text.splitlines()]


def is_good(campaign: Path, secret: str, kind: str) -> bool:
    service = open_service([campaign])
    with service.database.read() as session:
        return find_viewer(session, secret, kind, service.clock()) is not None


def test_users(campaign):
    made = printed(
        "serve", "users", "add", campaign, "ada", "--role", "submitter", "--token", "--base-url", "https://a/"
    )
    assert made.startswith("https://a/login/")
    link, token = secrets(made)
    assert is_good(campaign, link, "link")
    assert is_good(campaign, token, "token")
    (newer,) = secrets(printed("serve", "users", "link", campaign, "ada", "--days", "7"))
    assert is_good(campaign, newer, "link")
    assert not is_good(campaign, link, "link")
    assert is_good(campaign, token, "token")
    (row,) = rows("serve", "users", "list", campaign)
    assert (row["name"], row["role"], row["links"], row["tokens"], row["revoked"]) == ("ada", "submitter", 1, 1, None)
    invoke("serve", "users", "revoke", campaign, "ada", code=0)
    assert not is_good(campaign, newer, "link")
    assert not is_good(campaign, token, "token")
    kept = (campaign.parent / "state" / "audit.jsonl").read_text()
    kept += (campaign.parent / "state" / "campaign.db").read_bytes().decode("latin-1")
    assert not [secret for secret in (link, token, newer) if secret in kept]


def test_users_that_cannot_be(campaign):
    printed("serve", "users", "add", campaign, "ada")
    assert "account 'ada' already exists" in refused("serve", "users", "add", campaign, "ada")
    assert "did you mean 'ada'?" in refused("serve", "users", "revoke", campaign, "adda")
    assert "1 to 100 printable characters" in refused("serve", "users", "add", campaign, "a\nb")
    assert "is not a campaign file" in refused("serve", "users", "list", __file__)


@pytest.mark.slow
def test_headers_of_nobody_in_particular_are_not_trusted(campaign):
    assert "needs --trust-proxy" in refused("serve", campaign, "--port", 0, "--trust-proxy-user", "Remote-User")
    assert "invalid address or network 'localhost'" in refused(
        "serve", campaign, "--port", 0, "--trust-proxy", "localhost"
    )


def test_accounts_are_added_by_the_dozen(campaign):
    links = printed("serve", "users", "add", campaign, "grader", "--role", "grader", "--count", 12).split()
    assert len(set(links)) == 12
    names = [row["name"] for row in rows("serve", "users", "list", campaign)]
    assert names == [f"grader{number:02}" for number in range(1, 13)]


def test_what_is_no_store_is_not_served(tmp_path):
    assert "is not a store of mirflow (it has no zarr.json)" in invoke("serve", tmp_path, code=4).output


def test_a_port_of_another_server_is_refused_before_anything_begins(tmp_path):
    campaign = write_bare_campaign(tmp_path, f"{BARE}limits: {{confinement: required}}\n")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        told = refused("serve", campaign, "--port", port)
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use; see --host and --port" in told
    assert "http://" not in told
    assert not (tmp_path / "state").exists()


def test_a_server_listens_on_addresses_of_this_machine_alone():
    with listen("127.0.0.1", 0) as listening:
        (address,) = {one.getsockname() for one in listening}
        assert address[1] > 0
        socket.create_connection(address).close()
    with pytest.raises(MirflowError, match=r"cannot listen on 192\.0\.2\.1:8765: Cannot assign"), listen("192.0.2.1"):
        pass


def test_links_lead_to_the_server_that_runs(tmp_path):
    campaign = write_bare_campaign(tmp_path)
    assert printed("serve", "users", "add", campaign, "ada").startswith("http://127.0.0.1:8765/login/")
    service = open_service([campaign])
    service.base_url = "http://127.0.0.1:4711/"
    with noting_address(service):
        assert printed("serve", "users", "add", campaign, "bob").startswith("http://127.0.0.1:4711/login/")
    assert printed("serve", "users", "link", campaign, "bob").startswith("http://127.0.0.1:8765/login/")


def test_links_lead_to_the_address_of_the_campaign_file(tmp_path):
    campaign = write_bare_campaign(tmp_path, f"{BARE}url: https://results.example/ace/\n")
    assert printed("serve", "users", "add", campaign, "ada").startswith("https://results.example/ace/login/")
    assert open_service([campaign]).prefix == "/ace"
    wrong = write_bare_campaign(tmp_path, f"{BARE}url: results.example\n")
    assert "expected a full URL such as https://" in refused("serve", "users", "list", wrong)


def test_a_report_is_served_at_an_address_that_can_be_sent(monkeypatch, demo_store):
    served: dict[str, object] = {}
    monkeypatch.setattr("mirflow.campaign.server.app.listen", lambda host, port: listen(host, 0))
    monkeypatch.setattr(
        "mirflow.campaign.server.app.serve", lambda paths, *words, **more: served.update(more, paths=paths)
    )
    told = invoke("report", demo_store, "--serve", "--only-aggregates", code=0).stderr
    assert re.search(r"^http://127\.0\.0\.1:\d+/stores/tunes/\n", told)
    assert (served["paths"], served["only_aggregates"]) == ((demo_store,), True)
    assert "--serve shows all of each store and takes no --title" in refused(
        "report", demo_store, "--serve", "--title", "T"
    )
