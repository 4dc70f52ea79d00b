"""Boards of hidden splits: no score under a name that did not get it, and the true ones when they are due."""

from __future__ import annotations

import csv
import datetime as dt
import io
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from mirflow.campaign.file import load_campaign
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.service import Service
from mirflow.campaign.server.submissions.entries import SubmissionError, withdraw
from mirflow.campaign.server.submissions.releases import release
from mirflow.campaign.server.submissions.submission_tables import Released, Submission, Verdict
from mirflow.errors import PipelineError

from .accounts import BASE, Browser, program
from .campaigns import CAMPAIGN, estimates, member, open_campaign, submit

FINAL = CAMPAIGN.replace(
    "ladder: 0.005", 'ladder: 0.005, final: {frozen: "2027-01-10 23:59 AoE", published: "2027-02-01T09:00:00+01:00"}'
)
JUNK, GOOD, HONEST = 0.54412, 0.91637, 0.81749  # scores that no text has by chance


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return open_campaign(tmp_path, FINAL)


def scored(service: Service, name: str, value: float, who: str, visibility: str = "public") -> int:
    """Enter a submission, and release a score of it on the hidden split as a worker does."""
    id = submit(service, name, estimates(1), splits=["test"], who=who, visibility=visibility)
    one = {"orientation": "higher", "tracks": 6, "asked": 6, "low": value - 0.1, "high": value + 0.1}
    values = {"chord": [{"metric": metric, "value": value, **one} for metric in ("majmin", "root")]}
    with service.database.write() as session:
        row = session.scalars(select(Submission).where(Submission.id == id)).one()
        row.state, row.finished = "scored", service.clock()
        release(session, row, "test", service.campaign.splits["test"], values, "2027-01", service.clock())
        return row.number


def play(service: Service) -> None:
    """A junk system after a good private one of the same account, and an honest one of another."""
    scored(service, "honest", HONEST, "bob")
    scored(service, "good", GOOD, "ada", "private")
    scored(service, "junk", JUNK, "ada")


def withdraw_now(service: Service, name: str) -> None:
    organiser = member(service, "org", "organiser")
    with service.database.write() as session:
        withdraw(session.scalars(select(Submission).where(Submission.name == name)).one(), organiser, service.clock())


def board(client: TestClient) -> dict[str, tuple[Any, Any]]:
    """Rank and score of each system by the headline metric."""
    (one,) = client.get("/stores/test.json").json()["evaluations"]
    return {each["name"]: (each["rank"], each["scores"][one["headline"]]["value"]) for each in one["systems"]}


def everywhere(client: TestClient, service: Service) -> str:
    """All that a reader finds of the campaign."""
    with service.database.read() as session:
        ids = session.scalars(select(Submission.id)).all()
        names = session.scalars(select(Submission.name)).all()
    pages = ["/", "/feed.xml", "/submissions/", "/stores/test/", "/stores/test.json", "/stores/test/chord/"]
    pages += ["/stores/test/chord.json", "/api/v1/stores", "/archive/", "/true-scores/test/", "/true-scores/test.csv"]
    pages += [f"/stores/test/chord/systems/{name}/" for name in names] + [f"/submissions/{id}/" for id in ids]
    kinds = ("text/html", "application/json")
    return "".join(client.get(page, headers={"Accept": kind}).text for page in pages for kind in kinds)


@pytest.mark.parametrize("who", ["", "eve", "ada", "org"])
def test_a_junk_system_is_never_shown_with_the_score_of_a_private_one(service, who):
    play(service)
    role = "organiser" if who == "org" else "submitter"
    client: TestClient = Browser(service, who, role)
    for when in ("before", "after"):
        seen = board(client)
        assert seen["junk"] == (None, None)
        knows = who in ("ada", "org")
        assert seen["honest"] == (2 if knows and when == "before" else 1, 0.817)
        assert seen.get("good") == ({"before": (1, 0.916), "after": (None, None)}[when] if knows else None)
        told = everywhere(client, service)
        if not knows:
            assert not [one for one in ("0.916", "0.91637", "0.544", "0.54412", "0.81749") if one in told]
            assert "good" not in told
        if who == "ada":
            assert not [one for one in ("0.91637", "0.544", "0.54412", "0.81749") if one in told]
        if who == "org":
            assert "0.54412" in told
        assert "no better than the sender" in told
        withdraw_now(service, "good")
    # One more public system is kept back by the withdrawn one, and has no score either.
    scored(service, "junk-2", JUNK + 0.1, "ada")
    assert board(client)["junk-2"] == (None, None)


def test_a_metric_is_kept_back_by_itself(service):
    scored(service, "first", GOOD, "ada")
    number = scored(service, "second", JUNK, "ada")
    with service.database.write() as session:
        row = session.scalars(select(Released).where(Released.submission_id == number, Released.headline)).one()
        row.value, row.improved = 0.95, True
    (one,) = Browser(service).get("/stores/test.json").json()["evaluations"]
    second = one["systems"][0]
    assert (second["name"], second["rank"]) == ("second", 1)
    assert second["metadata"]["note"] == "no better than the sender's best by root"
    assert second["scores"]["root"]["value"] is None
    page = Browser(service).get("/stores/test/chord/").text
    assert "no better than the sender&#39;s best by root" in page


def test_a_withdrawn_system_stays_on_the_board_without_scores_or_rank(service):
    scored(service, "cheat", GOOD, "eve")
    scored(service, "honest", HONEST, "bob")
    withdraw_now(service, "cheat")
    client = Browser(service)
    assert board(client) == {"honest": (1, 0.817), "cheat": (None, None)}
    assert "withdrawn" in client.get("/stores/test/chord/").text
    assert "0.916" not in everywhere(client, service)


def test_comparisons_with_what_a_reader_does_not_see_are_left_out(service):
    leader = scored(service, "leader", HONEST, "bob")
    mine = scored(service, "mine", GOOD, "ada")
    fixed = {"split": "test", "evaluation": "chord", "metric": "majmin", "outcome": "better", "tracks": 6}
    with service.database.write() as session:
        session.add(Verdict(submission_id=mine, other_id=leader, relation="leader", difference=0.098, **fixed))
        id = session.get_one(Submission, mine).id
    client = Browser(service)
    assert "+0.098" in client.get(f"/submissions/{id}/").text
    withdraw_now(service, "leader")
    assert "Against others" not in client.get(f"/submissions/{id}/").text
    assert "Against others" in Browser(service, "org", "organiser").get(f"/submissions/{id}/").text


def true_scores(service: Service) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = program(service, "org", "organiser").get("/true-scores/test/").json()["scores"]
    return [one for one in found if one["metric"] == "majmin"]


def test_organisers_see_the_true_scores(service):
    play(service)
    withdraw_now(service, "good")
    listed = [(one["rank"], one["system"], one["value"], one["released"]) for one in true_scores(service)]
    assert listed == [(1, "honest", HONEST, 0.817), (2, "junk", JUNK, None), (None, "good", GOOD, 0.916)]
    organiser = Browser(service, "org", "organiser")
    page = organiser.get("/true-scores/test/").text
    assert [one for one in ("0.544", "0.916", "0.817", "kept back", "withdrawn", "private") if one not in page] == []
    assert "/true-scores/test/" in organiser.get("/submissions/").text
    rows = list(csv.DictReader(io.StringIO(organiser.get("/true-scores/test.csv").text)))
    assert [(one["metric"], one["system"], one["value"]) for one in rows[:2]] == [
        ("majmin", "honest", repr(HONEST)),
        ("majmin", "junk", repr(JUNK)),
    ]
    for address in ("/true-scores/dev/", "/true-scores/none.csv"):
        assert organiser.get(address).status_code == 404
    for client, status in ((Browser(service), 401), (Browser(service, "ada", "submitter"), 403)):
        for address in ("/true-scores/test/", "/true-scores/test.csv"):
            assert client.get(address).status_code == status
        assert "true-scores" not in client.get("/submissions/").text


def test_a_final_ranking_is_published_at_its_time_and_not_before(service):
    play(service)
    app = create_app(service)
    client = TestClient(app, base_url=BASE)
    secret = ("0.544", "0.81749", "Final ranking", "final ranking")
    service.clock.now = dt.datetime(2027, 2, 1, 7, 59, 59, tzinfo=dt.UTC)
    assert not [one for one in secret if one in everywhere(client, service)]
    service.clock.advance(seconds=1)
    # The server that answered before the time answers after it: nothing is started again.
    assert board(client) == {"honest": (1, HONEST), "junk": (2, JUNK)}
    (one,) = client.get("/stores/test.json").json()["evaluations"]
    assert (one["final"], one["level"]) == ("2027-02-01T08:00:00+00:00", 0.95)
    assert one["systems"][1]["scores"]["majmin"]["low"] == pytest.approx(JUNK - 0.1)
    page = client.get("/stores/test/chord/", headers={"Accept": "text/html"}).text
    assert [one for one in ("final ranking", "0.544", "0.81749", "[0.717, 0.917]") if one not in page] == []
    front = client.get("/", headers={"Accept": "text/html"}).text
    assert "Final ranking of test" in front
    assert "true scores, published" in front
    feed = client.get("/feed.xml").text
    assert "chord (test): final ranking of 2 systems" in feed
    assert "1 honest, 0.817" in feed
    assert "2 junk, 0.544" in feed
    told = everywhere(client, service)
    assert "0.916" not in told  # it is private
    assert "no better than" not in told
    assert "good" not in told
    own = Browser(service, "ada", "submitter")
    assert board(own)["good"] == (1, GOOD)


def test_the_final_ranking_marks_the_best_system_of_each_team(tmp_path):
    service = open_campaign(tmp_path, FINAL.replace("quota: 3", "quota: 9"))
    member(service, "ada", lab="Oak")
    member(service, "cai", lab="oak")
    for name, value, who in (
        ("first", 0.6, "ada"),
        ("second", 0.8, "cai"),
        ("again", 0.8, "ada"),
        ("other", 0.7, "eve"),
    ):
        scored(service, name, value, who)
    scored(service, "secret", 0.95, "ada", "private")
    scored(service, "gone", 0.9, "ada")
    withdraw_now(service, "gone")
    assert not [one for one in notes(TestClient(create_app(service), base_url=BASE)).values() if "team" in one]
    service.clock.now = dt.datetime(2027, 2, 1, 8, tzinfo=dt.UTC)
    best = "its team's best"
    expected = {"second": best, "again": "", "other": best, "first": "", "gone": ""}
    anybody = TestClient(create_app(service), base_url=BASE)
    assert notes(anybody) == expected
    assert notes(Browser(service, "ada", "submitter")) == {**expected, "secret": ""}
    page = anybody.get("/stores/test/chord/", headers={"Accept": "text/html"}).text
    assert page.count("<small>its team&#39;s best</small>") == 2
    withdraw_now(service, "second")
    assert notes(anybody)["again"] == best
    withdraw_now(service, "again")
    assert set(notes(anybody).values()) == {""}  # no team has several any more


def notes(client: TestClient) -> dict[str, str]:
    """The note beside each system of the board."""
    (one,) = client.get("/stores/test.json").json()["evaluations"]
    return {each["name"]: each["metadata"].get("note", "") for each in one["systems"]}


def test_a_frozen_split_takes_no_submissions(service):
    submit(service, "oak", estimates(), splits=["test"])
    service.clock.now = dt.datetime(2027, 1, 11, 11, 59, tzinfo=dt.UTC)
    with pytest.raises(SubmissionError, match="submissions to test closed at 2027-01-10 23:59 UTC-12:00"):
        submit(service, "elm", estimates(), splits=["test"])
    submit(service, "elm", estimates(), splits=["dev"])
    page = Browser(service, "ada", "submitter").get("/submissions/new").text
    assert "Closed 2027-01-10 23:59 UTC-12:00; true scores are published 2027-02-01 09:00 UTC+01:00" in page


@pytest.mark.parametrize(
    ("final", "message"),
    [
        ('{frozen: 2027-01-10, published: "2027-02-01T00:00Z"}', "expected a time with its zone"),
        ('{frozen: "2027-01-10T00:00", published: "2027-02-01T00:00Z"}', "expected a time with its zone"),
        ('{frozen: "2027-02-10T00:00Z", published: "2027-02-01T00:00Z"}', "before submissions end at"),
        ('{frozen: "2027-01-10T00:00Z"}', "published"),
    ],
)
def test_a_final_ranking_names_times_with_zones(tmp_path, final, message):
    path = tmp_path / "campaign.yaml"
    path.write_text(CAMPAIGN.replace("ladder: 0.005", f"ladder: 0.005, final: {final}"))
    with pytest.raises(PipelineError, match=message):
        load_campaign(path)
    path.write_text(CAMPAIGN.replace("dev: dev", f"dev: {{root: dev, final: {final}}}"))
    with pytest.raises(PipelineError, match=message):
        load_campaign(path)


def test_an_open_split_has_no_final_ranking(tmp_path):
    path = tmp_path / "campaign.yaml"
    final = 'final: {frozen: "2027-01-10T00:00Z", published: "2027-02-01T00:00Z"}'
    path.write_text(CAMPAIGN.replace("dev: dev", f"dev: {{root: dev, {final}}}"))
    with pytest.raises(PipelineError, match="final: only for hidden splits"):
        load_campaign(path)
