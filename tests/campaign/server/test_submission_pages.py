"""Submitting in a browser: the form, the findings, the progress, the scores, who sees them, and withdrawing."""

from __future__ import annotations

import asyncio
import io
import json
import re
import threading
import zipfile
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from mirflow.campaign.server import submission_pages
from mirflow.campaign.server.accounts import find_user, revoke
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.service import Service, open_service
from mirflow.campaign.server.submissions import entries
from mirflow.campaign.server.submissions.releases import NO_BETTER
from mirflow.campaign.server.submissions.submission_tables import (
    Released,
    Submission,
    SubmissionFinding,
    SubmissionProgress,
    Verdict,
)

from ...waiting import PATIENCE
from .accounts import Browser, Clock, account, program
from .campaigns import member, write_bare_campaign
from .databases import stored
from .requests import Case, ask

CAMPAIGN = """\
campaign: Chords
rules: "2027-01"
opens: 2026-01-01
closes: 2027-12-31
limits: {size: 100 kB, files: 5}
evaluations:
  - task: chord
    reference: reference/{track}.jams
    estimates: "{track}.lab"
splits:
  dev: dev
  test: {root: test, hidden: true, quota: 1}
"""


@pytest.fixture
def service(tmp_path: Path) -> Service:
    service = open_service([write_bare_campaign(tmp_path, CAMPAIGN)])
    service.clock = Clock()
    return service


def archive(**files: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as written:
        for name, text in files.items():
            written.writestr(f"{name}.lab", text)
    return made.getvalue()


def send(client: TestClient, name: str, data: bytes | None = None, **fields: Any) -> Any:
    """Send a submission as a browser does, or as a program."""
    if isinstance(client, Browser):
        fields = {"csrf": client.csrf("/submissions/new"), **fields}
    files = {"files": ("draft.zip", archive(a="0 1 C\n") if data is None else data)}
    return client.post("/submissions/new", data={**fields, "name": name}, files=files)


def change(service: Service, name: str, *rows: Callable[[int], Any], **columns: Any) -> Submission:
    """Do what a worker does: change a submission, and add rows about it."""
    with service.database.write() as session:
        found = session.scalars(select(Submission).where(Submission.name == name)).one()
        for column, value in columns.items():
            setattr(found, column, value)
        session.add_all(make(found.number) for make in rows)
        return found


def score(value: float, split: str = "dev", **more: Any) -> Callable[[int], Released]:
    fixed = {"split": split, "evaluation": "chord", "metric": "majmin", "rules": "2027-01", "tracks": 3}
    ends = {"low": value - 0.1, "high": value + 0.1} if split == "dev" else {}
    date = Clock()()
    return lambda number: Released(submission_id=number, value=value, headline=True, date=date, **fixed, **ends, **more)


def verdict(other: Submission, relation: str) -> Callable[[int], Verdict]:
    fixed = {"split": "dev", "evaluation": "chord", "metric": "majmin", "outcome": "not told apart", "tracks": 3}
    return lambda number: Verdict(
        submission_id=number, other_id=other.number, relation=relation, difference=0.01, p=0.5, **fixed
    )


def test_a_form_is_sent_and_leads_to_the_page(service):
    member(service, "ada", lab="oak")
    ada = Browser(service, "ada", "submitter")
    form = ada.get("/submissions/new").text
    assert "unlimited submissions" in form
    assert "1 of 1 left in this month" in form
    answer = send(ada, "draft-1", split=["dev", "test"], visibility="lab")
    assert answer.status_code == 303
    page = ada.get(answer.headers["location"]).text
    assert "<h1>draft-1</h1>" in page
    assert "Waiting to be checked" in page
    assert '<meta http-equiv="refresh"' in page
    assert "0 of 1 left in this month, the next from 2027-02-01" in ada.get("/submissions/new").text
    assert [line["action"] for line in service.audit.read()] == ["log in", "submit"]


@pytest.mark.parametrize(
    ("name", "fields", "data", "said"),
    [
        ("a/b", {}, None, "invalid system name"),
        ("<b>x</b>", {}, None, "invalid system name &#39;&lt;b&gt;x"),
        ("x", {"split": "tset"}, None, "did you mean &#39;test&#39;"),
        ("x", {"visibility": "secret"}, None, "unknown visibility"),
        ("x", {}, b"x" * 150_000, "too large: at most 0.1 MB"),
    ],
)
def test_what_cannot_be_taken_is_said_in_the_form(service, name, fields, data, said):
    ada = Browser(service, "ada", "submitter")
    answer = send(ada, name, data, **fields)
    assert answer.status_code in (400, 413)
    assert said in answer.text
    assert [one.name for one in service.folder_of("submissions").iterdir()] == []


def test_a_form_of_another_site_takes_nothing(service):
    ada = Browser(service, "ada", "submitter")
    for csrf in ("", "0" * 64, Browser(service, "eve", "submitter").csrf()):
        assert send(ada, "draft-1", csrf=csrf).status_code == 403
    late = {"files": ("a.zip", archive(a="")), "csrf": (None, ada.csrf())}
    assert ada.post("/submissions/new", files=late).status_code == 403  # before a byte of the file was written
    assert send(Browser(service, "bob", "submitter"), "draft-1").status_code == 303
    assert len(list(service.folder_of("submissions").iterdir())) == 1


def test_a_name_is_taken_once(service):
    assert send(Browser(service, "ada", "submitter"), "draft-1").status_code == 303
    answer = send(Browser(service, "bob", "submitter"), "Draft-1")
    assert answer.status_code == 400
    assert "is taken" in answer.text
    assert 'value="Draft-1"' in answer.text


def test_findings_are_a_table_and_csv_for_their_owner(service):
    ada, bob = Browser(service, "ada", "submitter"), Browser(service, "bob", "submitter")
    address = send(ada, "draft-1", visibility="public").headers["location"]
    bad = {"path": "=a<b>.lab", "line": 5, "severity": "error", "rule": "label", "message": "not a chord: 'H:<i>'"}
    change(service, "draft-1", lambda number: SubmissionFinding(submission_id=number, **bad), state="refused", errors=1)
    page = ada.get(address).text
    assert "not a chord: &#39;H:&lt;i&gt;&#39;" in page
    assert "<b>.lab" not in page
    table = ada.get(f"{address}findings.csv")
    assert table.headers["content-disposition"] == 'attachment; filename="draft-1-findings.csv"'
    head, finding = table.text.splitlines()
    assert head == "path,line,severity,rule,message"
    assert finding.startswith("'=a<b>.lab,5,error")
    for stranger in (bob, Browser(service)):
        assert stranger.get(address).status_code == 404
        assert stranger.get(f"{address}findings.csv").status_code in (401, 404)


def test_scores_are_shown_to_whom_they_are_for(service):
    for name, role in (("ada", "submitter"), ("bob", "reader")):
        member(service, name, role, lab="oak")
    ada, bob, nobody = Browser(service, "ada", "submitter"), Browser(service, "bob", "reader"), Browser(service)
    address = send(ada, "draft-1", split=["dev", "test"]).headers["location"]
    secret = send(Browser(service, "eve", "submitter"), "secret-1").headers["location"]
    leader = change(service, "secret-1", score(0.9), state="scored")
    held = score(None, "test", improved=False)
    change(service, "draft-1", score(0.75), held, verdict(leader, "leader"), state="scored")

    def seen() -> list[int]:
        return [browser.get(address).status_code for browser in (ada, bob, nobody)]

    assert seen() == [200, 404, 404]
    for visibility, codes in (("lab", [200, 200, 404]), ("public", [200, 200, 200]), ("private", [200, 404, 404])):
        assert ada.submit(f"{address}visibility", visibility=visibility).status_code == 303
        assert seen() == codes
    assert ada.submit(f"{address}visibility", visibility="all").status_code == 400
    page = ada.get(address).text
    assert "[0.650, 0.850]" in page
    assert f"- <small>{NO_BETTER}</small>" in unescape(page)
    assert "secret-1" not in page
    assert "Against others" not in page
    seen_by_all = Browser(service, "org", "organiser").get(address).text
    assert "too few tracks (3; 6 are needed)" in seen_by_all
    assert "3 tracks, rules 2027-01." in seen_by_all
    assert Browser(service, "org", "organiser").get(secret).status_code == 200


def test_a_submission_says_how_far_it_is(service):
    ada = Browser(service, "ada", "submitter")
    address = send(ada, "draft-7").headers["location"]

    def steps(**columns: Any) -> list[tuple[str, str, str]]:
        change(service, "draft-7", **columns)
        shown = re.search(r'<ol class="steps".*?</ol>', ada.get(address).text, re.DOTALL)
        assert shown is not None
        return re.findall(r"<b>(\w+)</b> <small>([\w ]+)</small>(?:<br>(.*?))?</li>", shown[0])

    now = steps()
    assert [one[:2] for one in now] == [
        ("Sent", "done"),
        ("Checked", "now"),
        ("Scored", "to come"),
        ("Compared", "to come"),
    ]
    assert now[0][2].endswith(" bytes")
    scoring = steps(state="scoring", files=3, warnings=2)
    assert [one[1] for one in scoring] == ["done", "done", "now", "to come"]
    assert scoring[0][2].startswith("3 files, ")
    assert scoring[1][2] == "2 warnings"
    refused = steps(state="refused", errors=1)
    assert [one[1] for one in refused] == ["done", "refused", "not reached", "not reached"]
    assert refused[1][2] == "1 error, 2 warnings"
    assert [one[1] for one in steps(state="failed")] == ["done", "done", "failed", "not reached"]
    assert [one[1] for one in steps(state="withdrawn")] == ["done", "done", "withdrawn", "not reached"]
    unchecked = steps(state="withdrawn", files=0)
    assert [one[1:] for one in unchecked][1:] == [("withdrawn", ""), ("not reached", ""), ("not reached", "")]
    assert steps(state="scored")[3] == ("Compared", "done", "with nothing yet")


def test_only_who_sent_it_changes_a_submission(service):
    ada, bob = Browser(service, "ada", "submitter"), Browser(service, "bob", "submitter")
    address = send(ada, "draft-1", visibility="public").headers["location"]
    change(service, "draft-1", score(0.75), state="scored")
    for what in ("withdraw", "visibility"):
        assert bob.submit(f"{address}{what}", visibility="private").status_code == 403
        assert Browser(service).post(f"{address}{what}").status_code == 401
    assert "Withdraw" not in bob.get(address).text
    assert ada.submit(f"{address}withdraw").status_code == 303
    assert "Withdrawn on 1 Jan 2027" in bob.get(address).text
    assert "<strong>withdrawn</strong>" in bob.get("/submissions/").text
    assert [line["action"] for line in service.audit.read()][-1] == "withdraw"


def test_the_same_files_under_another_name_are_noted_for_whom_they_are_for(service):
    ada, bob = Browser(service, "ada", "submitter"), Browser(service, "bob", "submitter")
    data = archive(a="0 1 C\n")
    pages = {name: send(who, name, data).headers["location"] for name, who in (("1", ada), ("2", ada), ("3", bob))}
    assert "Identical to the files of" in ada.get(pages["2"]).text, "by what was sent, before it is checked"
    change(service, "1", state="scored", digest="a" * 64)
    change(service, "2", state="scored", digest="a" * 64, visibility="public")
    change(service, "3", state="scored", digest="a" * 64)
    told = {name: f'Identical to the files of <a href="{pages[name]}">{name}</a>' for name in pages}
    assert told["1"] in ada.get(pages["2"]).text
    assert program(service, "ada").get(pages["2"]).json()["same_as"] == "1"
    for who, name in ((ada, "1"), (bob, "3"), (bob, "2")):  # the first, another account's, and of one that is private
        assert "Identical to the files" not in who.get(pages[name]).text
    assert program(service, "bob").get(pages["2"]).json()["same_as"] == ""


def test_a_system_has_a_description_and_links(service):
    ada = Browser(service, "ada", "submitter")
    about = {"description": "CRNN <b>\nwith a CRF", "paper": "https://lab.org/a?b=1&c", "code": "http://lab.org/code"}
    address = send(ada, "draft-1", **about, runtime="412.5").headers["location"]
    page = ada.get(address).text
    assert "<dt>Run time</dt><dd>412 s (6:52)</dd>" in page
    assert "CRNN &lt;b&gt;\nwith a CRF" in page
    assert '<a href="https://lab.org/a?b=1&amp;c" rel="nofollow noopener">' in page
    described = program(service, "ada").get(address).json()
    assert {name: described[name] for name in (*about, "runtime")} == {**about, "runtime": 412.5}
    change(service, "draft-1", score(0.5, "test"), splits="test", state="scored", visibility="public")
    nobody = Browser(service)
    assert "CRNN &lt;b&gt;" in nobody.get(address).text
    link = '<a href="http://lab.org/code" rel="nofollow noopener">'
    assert link in nobody.get("/stores/test/chord/systems/draft-1/").text
    (board,) = nobody.get("/stores/test/chord.json").json()["evaluations"]
    assert board["systems"][0]["metadata"]["runtime"] == "412.5"
    assert ada.submit("/account/delete", name="ada").status_code == 303
    assert "CRNN" not in nobody.get(address).text
    assert "lab.org" not in nobody.get("/stores/test/chord/systems/draft-1/").text


@pytest.mark.parametrize(
    "about",
    [
        {"paper": "javascript:alert(1)"}, {"code": "lab.org/code"}, {"paper": "https://a b"}, {"code": "data:,x"},
        {"paper": "https://"}, {"paper": "https://lab.org/" + "a" * 500}, {"code": 'https://lab.org/"onclick="x'},
        {"description": "x" * 2001}, {"paper": "https://[::1"}, {"runtime": "7 min"}, {"runtime": "0"},
        {"runtime": "inf"}, {"runtime": "-3"}, {"runtime": "9999999999"}, {"runtime": "1e3"},
    ],
)  # fmt: skip
def test_what_is_no_link_is_refused_before_the_files_are_read(service, about):
    ada = program(service, "ada")
    answer = send(ada, "draft-1", **about)
    if "onclick" in str(about):  # a strange address, which pages escape
        page = ada.get(answer.headers["location"], headers={"Accept": "text/html"}).text
        assert 'href="https://lab.org/&#34;onclick=&#34;x"' in page
        return
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(next(iter(about)) if "description" not in about else "the description has")
    assert list(service.folder_of("submissions").iterdir()) == []


def test_programs_have_json(service):
    ada = program(service, "ada")
    terms = ada.get("/submissions/new").json()
    assert terms["limits"] == {"size": 100_000, "files": 5, "seconds": 120.0}
    assert terms["splits"][1] == {
        "name": "test", "hidden": True, "most": 1, "left": 1, "per": "month", "renewed": "2027-02-01",
        "opens": "2026-01-01 00:00 UTC", "closes": "2027-12-31 23:59 UTC", "published": None, "embargo": None,
        "is_open": True, "is_closed": False,
    }  # fmt: skip
    answer = send(ada, "draft-1")
    assert answer.status_code == 201
    found = ada.get(answer.headers["location"]).json()
    assert (found["name"], found["state"], found["visibility"]) == ("draft-1", "received", "private")
    assert send(ada, "draft-1").json()["error"].startswith("there is already a submission 'draft-1'")
    raw = ada.post(
        "/submissions/new?name=draft-2&filename=a.zip",
        content=archive(a=""),
        headers={"Content-Type": "application/zip"},
    )
    assert raw.status_code == 201


def test_progress_is_events_that_go_on_where_they_broke_off(service, monkeypatch):
    monkeypatch.setattr(submission_pages, "LOOK_SECONDS", 0.01)
    ada = Browser(service, "ada", "submitter")
    address = send(ada, "draft-1").headers["location"]
    clock = service.clock
    change(
        service,
        "draft-1",
        lambda number: SubmissionProgress(submission_id=number, stage="tracks", done=1, total=3, updated=clock()),
        state="scoring",
    )
    looks = []
    look = submission_pages._status

    def looked(session: Any, submission: Submission) -> dict[str, Any]:
        looks.append(submission.state)
        if len(looks) == 3:
            session.close()
            submission = change(service, "draft-1", state="scored")
        return look(session, submission)

    monkeypatch.setattr(submission_pages, "_status", looked)
    events = {"Accept": "text/event-stream"}
    told = ada.get(f"{address}progress", headers=events).text
    ids = re.findall(r"^id: (.+)$", told, re.MULTILINE)
    assert ids == ["scoring-tracks-1-0", "scored--0-0", "scored--0-0"]
    assert json.loads(re.findall(r"^data: (.+)$", told, re.MULTILINE)[0])["total"] == 3
    assert told.endswith("\n\n")
    again = ada.get(f"{address}progress", headers={**events, "Last-Event-ID": "scored--0-0"}).text
    assert "event: progress" not in again
    assert "event: end" in again
    assert ada.get(f"{address}progress", headers={"Accept": "application/json"}).json()["open"] is False
    assert not submission_pages._watched


def test_who_is_revoked_watches_no_longer(service, monkeypatch):
    monkeypatch.setattr(submission_pages, "LOOK_SECONDS", 0.01)
    ada = Browser(service, "ada", "submitter")
    address = send(ada, "draft-1").headers["location"]
    look, looks = submission_pages._status, []

    def looked(session: Any, submission: Submission) -> dict[str, Any]:
        looks.append(look(session, submission))
        if len(looks) == 2:
            session.close()
            with service.database.write() as writing:
                revoke(writing, find_user(writing, "ada"), service.clock())
        return looks[-1]

    monkeypatch.setattr(submission_pages, "_status", looked)
    told = ada.get(f"{address}progress", headers={"Accept": "text/event-stream"}).text
    assert "event: progress" in told
    assert "event: end" not in told
    assert len(looks) == 2


def test_who_is_revoked_during_an_upload_has_submitted_nothing(service, monkeypatch):
    receive = submission_pages.receive

    async def received(*args: Any, **options: Any) -> Any:
        upload = await receive(*args, **options)
        with service.database.write() as writing:
            revoke(writing, find_user(writing, "ada"), service.clock())
        return upload

    ada = Browser(service, "ada", "submitter")
    csrf = ada.csrf("/submissions/new")
    monkeypatch.setattr(submission_pages, "receive", received)
    answer = ada.post(
        "/submissions/new",
        data={"csrf": csrf, "name": "draft-1", "split": "dev"},
        files={"files": ("a.zip", archive(a="0 1 C\n"), "application/zip")},
    )
    assert answer.status_code == 401
    assert stored(service.database, select(Submission)) == []
    assert list(service.folder_of("submissions").iterdir()) == []


def test_nobody_watches_too_much(service, monkeypatch):
    monkeypatch.setattr(submission_pages, "WATCHED", 0)
    ada = Browser(service, "ada", "submitter")
    address = send(ada, "draft-1").headers["location"]
    assert ada.get(f"{address}progress", headers={"Accept": "text/event-stream"}).status_code == 429


def test_what_is_watched_at_the_same_moment_counts(monkeypatch):
    async def watch() -> list[str]:
        streams = [submission_pages._events({"open": True}, None, "", "user 1", None) for _ in range(5)]
        begun = [await anext(one, "") for one in streams]
        for one in streams:
            await one.aclose()
        return begun

    monkeypatch.setattr(submission_pages, "WATCHED", 2)
    assert sum(map(bool, asyncio.run(watch()))) == 2
    assert not +submission_pages._watched


def test_forms_let_in_just_what_the_server_takes(service):
    ada, gil = Browser(service, "ada", "submitter"), Browser(service, "gil", "organiser")
    made = {"name": "n".ljust, "description": "d".ljust, "paper": "https://lab.org/".ljust, "code": "http://a.b/".ljust}
    most = longest(ada.get("/submissions/new").text)
    assert set(most) == set(made)
    for name, text in made.items():
        fields = {"name": f"draft-{name}", name: text(most[name], "x")}
        address = send(ada, **fields).headers["location"]
        refused = send(ada, **{**fields, "name": f"again-{name}", name: text(most[name] + 1, "x")})
        assert (refused.status_code, longest(refused.text)) == (400, most)
    reason = longest(gil.get(address).text)["reason"]
    for length, code in ((reason + 1, 400), (reason, 303)):
        assert gil.submit(f"{address}disqualify", reason="r" * length).status_code == code


def longest(page: str) -> dict[str, int]:
    """By the name of a field the number of characters that a form lets in."""
    fields = re.findall(r'name="(\w+)"[^>]* maxlength="(\d+)"', page)
    return {name: int(length) for name, length in fields}


def test_a_campaign_without_results_says_so(service):
    text = Browser(service).get("/").text
    assert "There are no results yet." in text
    assert '<a href="/submissions/#login">Log in</a>' in text
    assert 'id="login">To log in, open the personal link' in Browser(service).get("/submissions/").text


def test_the_list_is_what_one_may_see(service):
    ada = Browser(service, "ada", "submitter")
    send(ada, "mine-1")
    send(Browser(service, "bob", "submitter"), "other-1")
    assert "mine-1" in ada.get("/submissions/").text
    assert "other-1" not in ada.get("/submissions/").text
    assert "Submit a system" in ada.get("/submissions/").text
    assert "mine-1" not in Browser(service).get("/submissions/").text
    assert "Submit a system" not in Browser(service, "eve", "grader").get("/submissions/").text
    assert [one["name"] for one in program(service, "ada").get("/submissions/").json()["submissions"]] == ["mine-1"]


@pytest.mark.parametrize("id", ["x", "%2e%2e", "0" * 16, "%00", "'; DROP TABLE submission"])
def test_submissions_that_are_not_there(service, id):
    assert Browser(service, "ada", "submitter").get(f"/submissions/{id}/").status_code == 404


def test_a_server_that_ends_keeps_what_it_has_just_entered(service, monkeypatch):
    token = account(service, "ada", "submitter", "token")
    headers = (
        (b"host", b"localhost"),
        (b"authorization", f"Bearer {token}".encode()),
        (b"accept", b"application/json"),
    )
    zipped = (b"content-type", b"application/zip")
    case = Case(0, "POST", b"/submissions/new?name=draft-1", (*headers, zipped), archive(a="0 1 C\n"))
    begun, go_on, usual = threading.Event(), threading.Event(), entries.enter

    def enter_slowly(*words: Any, **more: Any) -> Submission:
        begun.set()
        assert go_on.wait(PATIENCE)
        return usual(*words, **more)

    async def end_meanwhile() -> None:
        answering = asyncio.create_task(ask(create_app(service), case))
        await asyncio.to_thread(begun.wait, PATIENCE)
        answering.cancel()  # as a server does that has waited long enough for the last answers
        await asyncio.sleep(0.1)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await answering

    monkeypatch.setattr(entries, "enter", enter_slowly)
    asyncio.run(end_meanwhile())
    (entered,) = stored(service.database, select(Submission))
    assert (service.folder_of("submissions") / entered.id / "names.json").exists()


def test_only_what_is_listed_is_described(service, monkeypatch):
    ada = Browser(service, "ada", "submitter")
    for number in range(3):
        send(ada, f"draft-{number}")
    described, describe = [], submission_pages._summary
    monkeypatch.setattr(submission_pages, "MOST_LISTED", 1)
    monkeypatch.setattr(
        submission_pages, "_summary", lambda row, viewer: described.append(row) or describe(row, viewer)
    )
    assert "draft-2" in ada.get("/submissions/").text
    assert [row.name for row in described] == ["draft-2"]
