"""The front page tells what happened in a campaign, to everybody what they may know."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import pytest
from sqlalchemy import select

from mirflow.campaign.server.accounts import Viewer
from mirflow.campaign.server.service import Service
from mirflow.campaign.server.submissions.submission_tables import Released, RulesVersion, Submission
from mirflow.campaign.server.views import read_history

from .accounts import BEGIN, Browser, Clock
from .campaigns import CAMPAIGN, estimates, member, open_campaign, submit
from .requests import store_public

HOUR = dt.timedelta(hours=1)
STATES = {
    "oak": ("ada", "public", "scored"),
    "elm": ("bob", "lab", "scored"),
    "ash": ("bob", "private", "scored"),
    "yew": ("ada", "public", "refused"),
    "fir": ("bob", "public", "failed"),
    "box": ("ada", "public", "received"),
}


@pytest.fixture
def service(tmp_path: Path) -> Service:
    service = open_campaign(tmp_path, CAMPAIGN.replace("quota: 3", "quota: 9"))
    service.clock = Clock()
    for who in ("ada", "bob"):
        member(service, who, lab="oak")
    member(service, "rita", "reader", lab="oak")
    for name, (who, visibility, _) in STATES.items():
        submit(service, name, estimates(), who=who, visibility=visibility, splits=["dev", "test"])
    with service.database.write() as session:
        for number, row in enumerate(session.scalars(select(Submission).order_by(Submission.number))):
            row.state, row.errors = STATES[row.name][2], 2
            row.finished = BEGIN + number * HOUR
            if row.state == "scored":
                for split, value in (("dev", 0.8124567), ("test", 0.8)):
                    told = {"evaluation": "chord", "metric": "majmin", "rules": "1", "tracks": 6, "date": BEGIN}
                    session.add(Released(submission_id=row.number, split=split, value=value, headline=True, **told))
        session.add(RulesVersion(version="2027-02", evaluations="[]", date=BEGIN + 9 * HOUR))
    store_public(service)
    return service


def told(service: Service, viewer: Viewer | None, most: int = 20) -> list[str]:
    with service.database.read() as session:
        return [one.title for one in read_history(session, service.campaign, viewer, most, service.clock())]


OAK = "was scored: dev, chord 0.812; test, chord 0.800"


def test_everybody_is_told_what_they_may_know(service):
    rules = "Rules: version 2027-02"
    assert told(service, None) == [rules, f"oak of ada {OAK}"]
    reader = member(service, "rita", "reader")
    assert told(service, reader) == [rules, f"elm of bob {OAK}", f"oak of ada {OAK}"]
    ada = member(service, "ada")
    assert told(service, ada) == [rules, "Your yew was refused: 2 errors", f"elm of bob {OAK}", f"Your oak {OAK}"]
    organiser = member(service, "eve", "organiser")
    assert told(service, organiser, 3) == [rules, "fir of bob could not be scored", "yew of ada was refused: 2 errors"]
    assert len(told(service, organiser)) == 6


def test_the_front_page_shows_it_and_marks_what_is_ones_own(service):
    nobody, ada = Browser(service), Browser(service, "ada", "submitter")
    text = nobody.get("/").text
    assert f"oak of ada {OAK}" in text
    assert not re.search("yew|ash of|elm of|yours", text)
    own = ada.get("/").text
    assert "Your yew was refused" in own
    assert re.search(r'class="[a-z ]*own".*?>oak</a>\s*<small>\s*yours', own, re.DOTALL)
    page = re.search(r'<a href="(/submissions/\w+/)">Your yew was refused', own)
    assert page is not None
    assert "Refused" in ada.get(page[1]).text
    assert nobody.get(page[1]).status_code == 404


def test_a_withdrawal_is_seen_at_the_next_request(service):
    nobody = Browser(service)
    before = nobody.get("/")
    again = nobody.get("/", headers={"If-None-Match": before.headers["etag"]})
    assert again.status_code == 304
    with service.database.write() as session:
        session.scalars(select(Submission).where(Submission.name == "oak")).one().withdrawn = BEGIN + 10 * HOUR
    after = nobody.get("/", headers={"If-None-Match": before.headers["etag"]})
    assert after.status_code == 200
    assert "oak of ada was withdrawn" in after.text


def test_a_withdrawn_system_keeps_its_scores_on_open_splits_alone(service):
    with service.database.write() as session:
        session.scalars(select(Submission).where(Submission.name == "oak")).one().withdrawn = BEGIN + 10 * HOUR
    scored = "oak of ada was scored: dev, chord 0.812"
    assert told(service, None) == ["oak of ada was withdrawn", "Rules: version 2027-02", scored]
