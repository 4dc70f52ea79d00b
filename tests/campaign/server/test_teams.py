"""Labs are teams: they share quota, ladder and what is for the lab; an account without a lab is a team by itself."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select

from mirflow.campaign.server.database import User
from mirflow.campaign.server.service import Service
from mirflow.campaign.server.submissions.entries import SubmissionError, disqualify, quotas, withdraw
from mirflow.campaign.server.submissions.releases import release, rivals
from mirflow.campaign.server.submissions.submission_tables import Submission

from ...commands import invoke, refused
from .accounts import Browser
from .campaigns import CAMPAIGN, estimates, member, open_campaign, scores, submit

LABS = {"ada": "Queen Mary", "bob": " queen  mary ", "eve": "IRCAM", "zoe": "", "yan": ""}


@pytest.fixture
def service(tmp_path: Path) -> Service:
    service = open_campaign(tmp_path)
    for name, lab in LABS.items():
        member(service, name, lab=lab)
    return service


def scored(service: Service, name: str, value: float, who: str, visibility: str = "public") -> str:
    """Enter a submission, and release a score of it on the hidden split as a worker does."""
    id = submit(service, name, estimates(1), splits=["test"], who=who, visibility=visibility)
    one = {"metric": "majmin", "orientation": "higher", "tracks": 6, "asked": 6, "low": None, "high": None}
    with service.database.write() as session:
        row = session.scalars(select(Submission).where(Submission.id == id)).one()
        row.state, row.finished = "scored", service.clock()
        values = {"chord": [{**one, "value": value}]}
        release(session, row, "test", service.campaign.splits["test"], values, "2027-01", service.clock())
    return id


def submit_or_say(service: Service, name: str, who: str) -> str:
    """Enter a submission to the hidden split; why it is refused, or nothing."""
    try:
        submit(service, name, estimates(), splits=["test"], who=who)
    except SubmissionError as error:
        return str(error)
    return ""


def test_what_is_for_a_lab_is_seen_by_its_members_alone(service):
    id = scored(service, "canary", 0.7, "ada", "lab")
    seen = {"ada": True, "bob": True, "eve": False, "zoe": False, "org": True, "": False}
    for who, sees in seen.items():
        browser = Browser(service, who, "organiser" if who == "org" else "submitter")
        assert (browser.get(f"/submissions/{id}/").status_code == 200) is sees, who
        for address in ("/", "/submissions/", "/stores/test/", "/stores/test.json"):
            assert ("canary" in browser.get(address).text) is sees, (who, address)
    shown = Browser(service, "bob").get("/stores/test/chord/").text
    assert "seen by your lab and organisers" in shown
    assert "seen by its sender&#39;s lab and organisers" in Browser(service, "org").get("/stores/test/chord/").text


def test_a_lab_has_one_quota(service):
    for name, who in (("a", "ada"), ("b", "bob"), ("c", "ada"), ("d", "eve"), ("e", "zoe")):
        submit(service, name, estimates(), splits=["test"], who=who)
    with pytest.raises(SubmissionError, match="3 of 3 submissions to test in this month are used"):
        submit(service, "f", estimates(), splits=["test"], who="bob")
    left = {}
    with service.database.read() as session:
        for name in LABS:
            user = session.scalars(select(User).where(User.name == name)).one().id
            left[name] = quotas(session, service.campaign, user, service.clock())["test"].left
    assert left == {"ada": 0, "bob": 0, "eve": 2, "zoe": 2, "yan": 3}


def test_a_lab_has_one_ladder(service):
    first = scored(service, "first", 0.9, "ada", "private")
    others = [scored(service, f"of-{who}", 0.8, who) for who in ("bob", "eve", "zoe", "yan")]
    values = [scores(service, id, "test")["majmin"].value for id in (first, *others)]
    assert values == [0.9, None, 0.8, 0.8, 0.8]


def test_rivals_are_what_the_sender_sees(service):
    scored(service, "lab-of-ada", 0.6, "ada", "lab")
    scored(service, "private-of-ada", 0.7, "ada", "private")
    scored(service, "lab-of-eve", 0.95, "eve", "lab")
    scored(service, "public-of-zoe", 0.55, "zoe")
    id = scored(service, "mine", 0.8, "bob")
    with service.database.read() as session:
        row = session.scalars(select(Submission).where(Submission.id == id)).one()
        names = {relation: one.name for relation, one in rivals(session, row, "test")["chord"].items()}
    assert names == {"own": "lab-of-ada", "leader": "public-of-zoe"}


def test_a_name_that_is_taken_tells_of_no_system_that_one_does_not_see(service):
    scored(service, "canary", 0.7, "ada", "private")
    scored(service, "shared", 0.7, "ada", "lab")
    scored(service, "known", 0.8, "ada")
    explicit = "there is already a submission '{}', and submissions cannot be changed"
    for who, name, message in (
        ("ada", "canary", explicit),
        ("bob", "Canary", "the name '{}' is taken; choose another one, such as {}-2"),
        ("bob", "shared", explicit),
        ("eve", "shared", "the name '{}' is taken"),
        ("zoe", "known", explicit),
    ):
        with pytest.raises(SubmissionError, match=message.format(name, name)):
            submit(service, name, estimates(), who=who)


def test_only_an_account_that_could_send_a_system_learns_whether_a_name_is_free(service):
    scored(service, "canary", 0.7, "ada", "private")
    assert submit_or_say(service, "canary", "eve").startswith("the name 'canary' is taken")
    for name in ("a", "b", "c"):
        assert submit_or_say(service, name, "eve") == ""
    used = {submit_or_say(service, name, "eve") for name in ("canary", "other")}
    assert [one.partition(";")[0] for one in used] == ["3 of 3 submissions to test in this month are used"]


def test_a_name_of_another_team_is_refused_alike_whatever_became_of_it(service):
    waiting = submit(service, "waiting", estimates(), who="ada")
    given_up = submit(service, "given-up", estimates(), who="ada")
    hidden, off = scored(service, "hidden", 0.7, "ada", "private"), scored(service, "off", 0.8, "ada")
    refused = submit(service, "refused", estimates(), who="ada")
    ada, org = member(service, "ada"), member(service, "org", "organiser")
    with service.database.write() as session:
        rows = {one.id: one for one in session.scalars(select(Submission))}
        withdraw(rows[given_up], ada, service.clock())
        disqualify(rows[off], org, "trained on it", service.clock())
        rows[refused].state = "refused"
    assert {rows[id].state for id in (waiting, given_up)} == {"received"}
    assert {rows[id].state for id in (hidden, off)} == {"scored"}
    for name in ("waiting", "given-up", "hidden", "off"):
        message = submit_or_say(service, name, "eve")
        assert message == f"the name {name!r} is taken; choose another one, such as {name}-2"
    assert submit_or_say(service, "refused", "eve") == ""


def test_of_two_teams_that_race_for_a_name_one_gets_it_and_the_other_learns_nothing_else(service):
    start = threading.Barrier(2)

    def race(who: str) -> str:
        start.wait()
        return submit_or_say(service, "oak", who)

    with ThreadPoolExecutor(2) as pool:
        told = sorted(pool.map(race, ("ada", "eve")))
    assert told == ["", "the name 'oak' is taken; choose another one, such as oak-2"]


def test_a_suggested_name_is_one(service):
    name = "n" * 64
    assert submit_or_say(service, name, "ada") == ""
    assert submit_or_say(service, name, "eve").endswith(f"such as {'n' * 62}-2")
    assert submit_or_say(service, f"{'n' * 62}-2", "eve") == ""


def test_an_account_without_a_lab_sends_nothing_for_a_lab(service, tmp_path):
    with pytest.raises(SubmissionError, match="the account has no lab: choose private or public"):
        submit(service, "oak", estimates(), who="zoe", visibility="lab")
    forms = {who: Browser(service, who).get("/submissions/new").text for who in ("zoe", "ada")}
    assert 'value="lab"' not in forms["zoe"]
    assert "lab: only your lab and the organisers" in forms["ada"]
    id = submit(service, "oak", estimates(), who="zoe")
    zoe = Browser(service, "zoe")
    assert zoe.submit(f"/submissions/{id}/visibility", visibility="lab").status_code == 400
    other = open_campaign(tmp_path / "usual", CAMPAIGN.replace("visibility: public", "visibility: lab"))
    member(other, "ada", lab="oak")
    for who in ("ada", "zoe"):
        submit(other, f"of-{who}", estimates(), who=who)
    with other.database.read() as session:
        kept = dict(session.execute(select(Submission.name, Submission.visibility)).all())
    assert kept == {"of-ada": "lab", "of-zoe": "private"}


def test_organisers_name_the_lab_of_an_account(service):
    assert service.path is not None
    first = scored(service, "before", 0.9, "yan")
    invoke("serve", "users", "lab", service.path, "yan", "  IRCAM ", code=0)
    assert "IRCAM" in invoke("serve", "users", "list", service.path, code=0).stdout
    assert "unknown account 'yen'" in refused("serve", "users", "lab", service.path, "yen", "IRCAM")
    second = scored(service, "after", 0.8, "yan", "lab")
    # What was sent before stays with the team that it was sent by.
    assert scores(service, first, "test")["majmin"].value == 0.9
    assert scores(service, second, "test")["majmin"].value == 0.8
    assert Browser(service, "eve").get(f"/submissions/{second}/").status_code == 200
