"""An account is deleted with its personal data; what others see of its submissions stays, without its name."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from mirflow.campaign.server.account_pages import forget_addresses
from mirflow.campaign.server.accounts import AuditError
from mirflow.campaign.server.service import Service, open_service
from mirflow.campaign.server.submissions.submission_tables import Submission, SubmissionFinding

from ...commands import invoke, refused
from .accounts import BASE, Browser, Clock, account
from .campaigns import CAMPAIGN, estimates, submit, write_bare_campaign
from .databases import stored, with_database
from .test_submission_pages import change


@pytest.fixture
def service(tmp_path: Path) -> Service:
    service = open_service([write_bare_campaign(tmp_path, with_database(CAMPAIGN))], BASE)
    service.clock = Clock()
    return service


def states(service: Service) -> dict[str, tuple[str, bool]]:
    """State of each submission, and whether it is withdrawn."""
    return {one.name: (one.state, one.withdrawn is not None) for one in stored(service.database, select(Submission))}


def finding(number: int) -> SubmissionFinding:
    fixed = {"line": 5, "severity": "error", "rule": "label", "message": "no chord"}
    return SubmissionFinding(submission_id=number, path="Ada/thesis.lab", **fixed)


def fill(service: Service) -> Browser:
    """An account that has sent submissions that got to several states."""
    ada = Browser(service, "Ada L.", "submitter")
    for name, visibility in (("shown", "public"), ("alone", "private"), ("waits", "public"), ("wrong", "public")):
        submit(service, name, estimates(splits=["dev"]), who="Ada L.", splits=["dev"], visibility=visibility)
    change(service, "shown", finding, state="scored")
    change(service, "alone", state="scored")
    change(service, "wrong", finding, state="refused", reason="/home/ada is no track")
    return ada


def test_the_owner_deletes_the_account(service):
    ada = fill(service)
    token = account(service, "Ada L.", "submitter", "token")
    assert ada.submit("/account/delete", name="Ada").status_code == 400
    assert ada.get("/account").status_code == 200
    gone = ada.submit("/account/delete", name="Ada L.")
    assert (gone.status_code, gone.headers["location"]) == (303, "/")
    assert ada.get("/account").status_code == 401
    assert Browser(service).get("/account", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert states(service) == {
        "shown": ("scored", False),
        "alone": ("scored", True),
        "waits": ("received", True),
        "wrong": ("refused", False),
    }
    page = Browser(service).get("/submissions/").text
    assert "shown" in page
    assert "deleted account " in page
    assert "alone" not in page


def test_nothing_personal_is_left(service, tmp_path):
    ada = fill(service)
    Browser(service, "Bob")
    ada.submit("/account/delete", name="Ada L.")
    log = service.audit.path.read_text()
    assert "Ada" not in log
    lines = list(map(json.loads, log.splitlines()))
    assert [line["actor"] for line in lines if line["action"] == "log in"] == ["******", "Bob"]
    assert [line["address"] for line in lines if line["action"] == "log in"] == ["*" * len("testclient"), "testclient"]
    assert lines[-1]["action"] == "delete account"
    if service.database is not None and service.database.is_sqlite:
        assert service.folder is not None
        with closing(sqlite3.connect(service.folder / "campaign.db")) as database:
            text = "\n".join(database.iterdump())
        assert "Ada" not in text
        assert "/home/ada" not in text


def test_a_disqualified_system_stays_so_without_the_reason(service):
    ada, gil = fill(service), Browser(service, "gil", "organiser")
    ids = {one.name: one.id for one in stored(service.database, select(Submission))}
    gil.submit(f"/submissions/{ids['shown']}/disqualify", reason="Ada had the test set")
    other = submit(service, "other", estimates(splits=["dev"]), who="bob", splits=["dev"])
    gil.submit(f"/submissions/{other}/disqualify", reason="the same file twice")
    ada.submit("/account/delete", name="Ada L.")
    kept = {one.name: one.disqualified for one in stored(service.database, select(Submission)) if one.disqualified}
    assert kept == {"shown": "the reason was deleted with the account", "other": "the same file twice"}
    logged = [line["reason"] for line in service.audit.read() if line["action"] == "disqualify"]
    assert logged == ["*" * len("Ada had the test set"), "the same file twice"]
    assert "the reason was deleted with the account" in gil.get(f"/submissions/{ids['shown']}/").text


def test_a_deletion_that_the_log_refuses_is_none(service, monkeypatch):
    ada = fill(service)
    csrf = ada.csrf()

    def fail(*_: object) -> None:
        raise AuditError("audit.jsonl: personal data cannot be masked: Operation not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(service.audit, "mask", fail)
        assert ada.post("/account/delete", data={"csrf": csrf, "name": "Ada L."}).status_code == 503
    assert ada.get("/account").status_code == 200
    assert states(service)["waits"] == ("received", False)


def test_the_operator_deletes_an_account(service):
    fill(service)
    path = service.path
    assert "unknown account 'Eve'" in refused("serve", "users", "delete", path, "Eve", "--yes")
    assert invoke("serve", "users", "delete", path, "Ada L.").exit_code != 0  # nobody confirms it
    assert "Ada L." in invoke("serve", "users", "list", path).stdout
    assert "Ada L.: deleted" in invoke("serve", "users", "delete", path, "Ada L.", "--yes", code=0).stderr
    listed = invoke("serve", "users", "list", path).stdout
    assert "Ada" not in listed
    assert "deleted account 1" in listed
    invoke("serve", "users", "add", path, "Ada L.", code=0)
    assert "reserved for deleted accounts" in refused("serve", "users", "add", path, "deleted account 9")


def test_addresses_are_forgotten_after_their_time(service):
    Browser(service, "ada")
    assert isinstance(service.clock, Clock)
    service.clock.advance(days=80)
    Browser(service, "bob")
    service.clock.advance(days=11)
    size = service.audit.path.stat().st_size
    for _ in range(2):
        forget_addresses(service)
    service.audit.record("eve", "submit", submission="3f")
    lines = list(service.audit.read())
    assert [line.get("address") for line in lines] == ["**********", "testclient", None]
    assert [line["actor"] for line in lines] == ["ada", "bob", "eve"]
    assert service.audit.path.read_bytes()[:size].endswith(b"\n")
