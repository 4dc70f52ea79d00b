"""Monitoring: health, figures for Prometheus, and what people read while no worker runs."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select
from starlette.testclient import TestClient

from mirflow.campaign.server import app
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.service import Service, open_service
from mirflow.campaign.server.submissions.jobs import LEASE, last_report, reporting
from mirflow.campaign.server.submissions.submission_tables import Submission, Trouble
from mirflow.campaign.server.submissions.worker import Worker

from ...waiting import until
from .accounts import BASE, BEGIN, Browser, Clock, program
from .campaigns import CAMPAIGN, estimates, submit, write_bare_campaign
from .databases import VARIABLE, with_database

IDLE_WORKER = {"scoring": False, "seconds_in_trouble": None}
IDLE = "No worker has reported for"


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr(app, "CHECKED", -1.0)
    service = open_service([write_bare_campaign(tmp_path, with_database(CAMPAIGN))], BASE)
    service.clock = Clock()
    return service


def clock(service: Service) -> Clock:
    assert isinstance(service.clock, Clock)
    return service.clock


def client_of(service: Service) -> TestClient:
    return TestClient(create_app(service), base_url=BASE)


def health(client: TestClient) -> tuple[int, dict[str, dict[str, object]]]:
    answer = client.get("/health")
    return answer.status_code, answer.json()


def report(service: Service) -> None:
    """A worker reports once."""
    with reporting(service, "host:1:a"):
        until(lambda: last_report(service.database) == service.clock())


def test_health_of_stores_alone(tmp_path):
    assert health(client_of(Service("Results", {}))) == (200, {"ok": True})


def test_a_worker_that_reports_is_healthy_until_it_is_silent(service):
    client = client_of(service)
    report(service)
    clock(service).advance(minutes=4)
    status, parts = health(client)
    assert status == 200
    assert parts["worker"] == {**IDLE_WORKER, "ok": True, "seconds_since_report": 240.0}
    assert parts["database"] == {"ok": True}
    assert parts["disk"]["ok"]
    clock(service).advance(minutes=2)
    status, parts = health(client)
    assert (status, parts["ok"]) == (503, False)
    assert parts["worker"] == {**IDLE_WORKER, "ok": False, "seconds_since_report": 360.0}


def test_a_server_that_begins_waits_for_its_worker(service):
    app = client_of(service)
    assert app.get("/health").json()["worker"] == {**IDLE_WORKER, "ok": True, "seconds_since_report": None}
    clock(service).advance(minutes=5)
    answer = app.get("/health")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")


def test_health_says_whether_a_worker_scores(service):
    client = client_of(service)
    submit(service, "oak", estimates())
    report(service)
    assert not health(client)[1]["worker"]["scoring"]
    with service.database.write() as session:
        row = session.scalars(select(Submission)).one()
        row.state, row.worker, row.lease = "scoring", "host:1:a", service.clock() + LEASE
    assert health(client)[1]["worker"]["scoring"]
    clock(service).now += LEASE  # of which nothing was heard since
    assert health(client)[1]["worker"] == {**IDLE_WORKER, "ok": True, "seconds_since_report": LEASE.total_seconds()}


def test_health_tells_a_worker_that_reports_from_one_that_can_work(service):
    client = client_of(service)
    with service.database.write() as session:
        session.add(Trouble(id=1, message="/srv/secret: the disk is full", since=BEGIN))
    clock(service).advance(seconds=90)
    report(service)
    answer = client.get("/health")
    assert answer.json()["worker"] == {**IDLE_WORKER, "ok": True, "seconds_since_report": 0, "seconds_in_trouble": 90}
    assert "secret" not in answer.text


def test_a_full_disk_is_not_healthy(service, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=999_999_999))
    status, parts = health(client_of(service))
    assert status == 503
    assert parts["disk"] == {"ok": False, "free_bytes": 999_999_999}


def test_a_locked_database_is_not_healthy(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(app, "_WAIT", 0.05)
    service = open_service([write_bare_campaign(tmp_path, CAMPAIGN)], BASE)
    assert service.folder is not None
    with closing(sqlite3.connect(service.folder / "campaign.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        status, parts = health(client_of(service))
    assert status == 503
    assert parts["database"] == {"ok": False}
    assert parts["worker"]["ok"]


def test_the_database_is_asked_every_few_seconds_at_most(service, monkeypatch):
    monkeypatch.setattr(app, "CHECKED", 1000.0)
    client = client_of(service)
    first = client.get("/health").json()
    clock(service).advance(days=1)
    assert client.get("/health").json() == first


def test_a_worker_reports_while_it_works(service):
    worker = Worker(service)

    def step() -> bool:
        until(lambda: last_report(service.database) == BEGIN)
        worker.stop()
        return False

    worker.step = step
    confinement = SimpleNamespace(run=lambda *_: {"held": []}, close=lambda: None)
    worker.jobs.confinement = confinement
    worker.run()
    assert last_report(service.database) == BEGIN


def test_a_worker_that_cannot_report_goes_on(service, monkeypatch, caplog):
    def fail(wait: float) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(service.database, "write", fail)
    with reporting(service, "host:1:a"):
        until(lambda: bool(caplog.records))
    assert caplog.messages == ["worker host:1:a cannot report: [Errno 28] No space left on device"]


def test_people_who_submit_see_that_no_worker_runs(service):
    ada, olga = Browser(service, "ada", "submitter"), Browser(service, "olga", "organiser")
    eve, reader = Browser(service), Browser(service, "rita")
    id = submit(service, "oak", estimates(), who="ada", visibility="public")
    report(service)
    pages = ["/submissions/", "/submissions/new", f"/submissions/{id}/"]
    assert not any(IDLE in ada.get(page).text for page in pages)
    clock(service).advance(minutes=7)
    assert all(f"{IDLE} 7 min: submissions are queued until" in ada.get(page).text for page in pages)
    assert IDLE in olga.get("/submissions/").text
    assert not any(IDLE in other.get("/submissions/").text for other in (eve, reader))


def test_figures_for_prometheus(service):
    submit(service, "oak", estimates())
    clock(service).advance(seconds=90)
    submit(service, "elm", estimates())
    report(service)
    clock(service).advance(seconds=10)
    prometheus = program(service, "prometheus", "reader")
    prometheus.get("/nowhere")
    answer = prometheus.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert found["mirflow_submissions", "received"] == 2
    assert found["mirflow_submissions", "scoring"] == 0
    assert found["mirflow_submission_age_seconds", "received"] == 100
    assert found["mirflow_worker_report_age_seconds",] == 10
    assert found["mirflow_requests_total", "4xx"] == 1
    assert found["mirflow_disk_free_bytes",] > 0
    assert "oak" not in answer.text


def test_figures_are_not_the_publics(service):
    assert client_of(service).get("/metrics").status_code == 401
