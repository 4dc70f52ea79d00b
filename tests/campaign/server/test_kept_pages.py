"""Pages are kept for each reader until something changes that they show; nobody is given those of somebody else."""

from __future__ import annotations

import datetime as dt
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from sqlalchemy import event, select
from starlette.testclient import TestClient

import mirflow
from mirflow.campaign.server import http_api, result_pages
from mirflow.campaign.server.accounts import find_user, revoke
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.cache import Content
from mirflow.campaign.server.database import Base, Session, User
from mirflow.campaign.server.service import Service, open_service
from mirflow.campaign.server.submissions.submission_tables import Released, Submission, SubmissionProgress, WorkerReport
from mirflow.store.read import read_scores

from ...waiting import PATIENCE
from .accounts import BASE, BEGIN, Browser, Clock, account
from .campaigns import member
from .databases import stored, with_database
from .processes import Server

CAMPAIGN = """\
campaign: Onsets
evaluations:
  - {task: onset, reference: "reference/{track}.txt", estimates: "{track}.txt"}
splits:
  dev: dev
  test: {root: test, hidden: true, final: {frozen: "2027-01-10T00:00Z", published: "2027-02-01T00:00Z"}}
"""
# Sender and visibility; the last one is in the stores before it is scored.
SYSTEMS = {"oak": ("ada", "public"), "elm": ("bob", "lab"), "ash": ("ada", "private"), "yew": ("bob", "public")}
READERS = {"ada": "submitter", "bob": "submitter", "eve": "reader", "org": "organiser"}
LABS = {"ada": "Oslo", "bob": "Bonn"}
EVERYBODY = {"", *READERS}
FOLLOWED = (
    "/", "/feed.xml", "/stores/test/onset/", "/stores/test.json", "/stores/dev/onset/",
    "/stores/dev/report/contents.json", "/api/v1/stores/dev/leaderboard?intervals=false",
)  # fmt: skip
PAGES = (
    *FOLLOWED, "/stores/test/", "/stores/test/onset.json", "/stores/test/onset/systems/oak/", "/stores/dev.json",
    "/stores/dev/", "/stores/dev/onset.json", "/stores/dev/onset/systems/oak/", "/stores/dev/onset/tracks/",
    "/stores/dev/onset/tracks/t1/", "/stores/dev/report/tracks/t1.json",
)  # fmt: skip


def enter(session: Session, service: Service, name: str, *, scored: bool = True) -> None:
    """Add a submission, with a score on the hidden split."""
    sender, visibility = SYSTEMS[name]
    user, place = find_user(session, sender), [*SYSTEMS].index(name)
    about = {"splits": "dev,test", "visibility": visibility, "received": BEGIN, "sent_digest": name, "size": 1}
    about |= {"team": f"lab {LABS[sender].lower()}", "rules": "1", "mirflow": "0", "state": "scored", "digest": name}
    row = Submission(user_id=user.id, name=name, key=name, **about)
    session.add(row)
    session.flush()
    value = 0.5 + place / 10
    told = {"split": "test", "evaluation": "onset", "metric": "f_measure", "rules": "1", "tracks": 9, "date": BEGIN}
    session.add(Released(submission_id=row.number, value=value, true_value=value + 0.0004, headline=True, **told))


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of all systems."""
    references = {f"t{number}": [1.0, 2.0, 3.0] for number in range(4)}
    estimates = {
        name: {track: times[: 1 + place % 3] for track, times in references.items()}
        for place, name in enumerate(SYSTEMS)
    }
    scores = mirflow.score(references, estimates, "onset")
    store = tmp_path_factory.mktemp("scored") / "dev.zarr"
    mirflow.save(scores, store)
    return store


@pytest.fixture
def service(tmp_path: Path, scored: Path) -> Service:
    path = tmp_path / "campaign.yaml"
    path.write_text(with_database(CAMPAIGN))
    service = open_service([path], BASE)
    service.clock = Clock()
    for name, role in READERS.items():
        member(service, name, role, LABS.get(name, ""))
    with service.database.write() as session:
        for name in [*SYSTEMS][:3]:
            enter(session, service, name)
    shutil.copytree(scored, service.folder_of("stores") / "dev.zarr")
    mirflow.save(read_scores(scored)["onset"].sel(system=["oak"]), service.folder_of("public") / "dev.zarr")
    return service


def opened_again(service: Service) -> Service:
    """The same campaign as another process has it, with a connection of its own and nothing kept."""
    assert service.path is not None
    other = open_service([service.path], BASE)
    other.clock = service.clock
    return other


class Readers:
    """All readers of one server, and somebody who is not logged in."""

    def __init__(self, service: Service) -> None:
        self.client = TestClient(create_app(service), base_url=BASE)
        self.headers: dict[str, dict[str, str]] = {"": {}}
        for name, role in READERS.items():
            secret = account(service, name, role, "token")
            self.headers[name] = {"Authorization": f"Bearer {secret}"}

    def get(self, who: str, address: str) -> tuple[int, str]:
        """Status and body of a page."""
        answer = self.client.get(address, headers={**self.headers[who], "Accept": "text/html, */*"})
        return answer.status_code, answer.text

    def look(self) -> dict[str, dict[str, tuple[int, str]]]:
        """What everybody is given."""
        return {who: {address: self.get(who, address) for address in FOLLOWED} for who in self.headers}


@contextmanager
def asked_tables(service: Service) -> Iterator[set[str]]:
    """Tables that are read."""
    found: set[str] = set()

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        found.update(re.findall(r'(?:FROM|JOIN) "?(\w+)"?', statement))

    event.listen(service.database.engine, "before_cursor_execute", note)
    yield found
    event.remove(service.database.engine, "before_cursor_execute", note)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Content]:
    """Contents that were made for pages and the API."""
    found: list[Content] = []

    def note(*values: Any, **named: Any) -> Content:
        found.append(Content(*values, **named))
        return found[-1]

    for module in (result_pages, http_api):
        monkeypatch.setattr(module, "Content", note)
    return found


@pytest.mark.parametrize("who", ["", "ada", "org"])
def test_a_page_is_made_once_and_then_only_the_state_is_looked_up(service, made, who):
    readers = Readers(service)
    for address in PAGES:
        first = readers.get(who, address)
        assert first[0] == 200, address
        made.clear()
        with asked_tables(service) as tables:
            assert readers.get(who, address) == first
        assert made == [], address
        assert tables <= ({"page_state", "token", "user"} if who else {"page_state"}), address


@pytest.mark.slow
def test_kept_pages_of_several_readers_take_no_more_memory_than_all_may(service):
    readers = Readers(service)
    service.answers._most_bytes = 30_000
    for _ in range(2):
        for who in EVERYBODY:
            assert all(readers.get(who, address)[0] == 200 for address in FOLLOWED)
    kept = service.answers.kept.items()
    assert 0 < sum(sum(map(len, key)) + len(one.body) + len(one.compressed or b"") for key, one in kept) <= 30_000


def by_row(change: Callable[[Submission], object], name: str = "oak") -> Callable[[Service], None]:
    def make(service: Service) -> None:
        with service.database.write() as session:
            change(session.scalars(select(Submission).where(Submission.name == name)).one())

    return make


def by_form(who: str, name: str, action: str, **fields: str) -> Callable[[Service], None]:
    def make(service: Service) -> None:
        (id,) = stored(service.database, select(Submission.id).where(Submission.name == name))
        browser = Browser(service, who, READERS[who])
        assert browser.submit(f"/submissions/{id}/{action}", **fields).status_code == 303

    return make


def by_account(name: str, change: Callable[[Session, User], object]) -> Callable[[Service], None]:
    def make(service: Service) -> None:
        with service.database.write() as session:
            change(session, find_user(session, name))

    return make


def score_one_more(service: Service) -> None:
    with service.database.write() as session:
        enter(session, service, "yew")


def publish(service: Service) -> None:
    scores = read_scores(service.folder_of("stores") / "dev.zarr")["onset"].sel(system=["oak", "yew"])
    mirflow.save(scores, service.folder_of("public") / "dev.zarr", overwrite=True)


def move_to(time: str) -> Callable[[Service], None]:
    def make(service: Service) -> None:
        service.clock.now = dt.datetime.fromisoformat(time)

    return make


# What happens in a campaign, and whose pages it changes.
CHANGES: dict[str, tuple[Callable[[Service], None], set[str]]] = {
    "scored": (score_one_more, EVERYBODY),
    "withdrawn": (by_form("ada", "oak", "withdraw"), EVERYBODY),
    "withdrawn, private": (by_form("ada", "ash", "withdraw"), {"ada", "org"}),
    "made public": (by_form("ada", "ash", "visibility", visibility="public"), EVERYBODY),
    "made private": (by_form("ada", "oak", "visibility", visibility="private"), EVERYBODY),
    "end of embargo": (by_row(lambda row: setattr(row, "visibility", "public"), "ash"), EVERYBODY),
    "disqualified": (by_form("org", "oak", "disqualify", reason="copied"), EVERYBODY),
    "described": (by_row(lambda row: setattr(row, "paper", "https://lab.org/paper")), EVERYBODY),
    "lab": (by_account("eve", lambda _, user: setattr(user, "lab", "Bonn")), {"eve"}),
    "role": (by_account("eve", lambda _, user: setattr(user, "role", "organiser")), {"eve"}),
    "name": (by_account("eve", lambda _, user: setattr(user, "name", "Eva")), {"eve"}),
    "name of a sender": (by_account("ada", lambda _, user: setattr(user, "name", "Ada L.")), EVERYBODY),
    "account revoked": (by_account("ada", lambda session, user: revoke(session, user, BEGIN)), {"ada"}),
    "final ranking": (move_to("2027-02-01T00:00:00+00:00"), EVERYBODY),
}  # fmt: skip


# Changes that are tried at once; the others, which touch the same tables, take as long.
USUAL = {"scored", "withdrawn, private", "made private", "role", "account revoked", "final ranking"}


@pytest.mark.parametrize(
    "what", [one if one in USUAL else pytest.param(one, marks=pytest.mark.slow) for one in CHANGES]
)
def test_what_another_process_changes_is_on_the_next_page(service, what):
    change, whose = CHANGES[what]
    readers = Readers(service)
    before = readers.look()
    change(opened_again(service))
    after = readers.look()
    assert {who for who in EVERYBODY if after[who] != before[who]} == whose
    fresh = Readers.__new__(Readers)
    fresh.client, fresh.headers = TestClient(create_app(opened_again(service)), base_url=BASE), readers.headers
    assert after == fresh.look()


@pytest.mark.slow
def test_a_moment_before_the_final_ranking_nothing_of_it_is_shown(service):
    readers = Readers(service)
    before = readers.look()
    move_to("2027-01-31T23:59:59+00:00")(service)
    assert readers.look() == before
    move_to("2027-02-01T00:00:00+00:00")(service)
    assert "0.5004" in readers.get("", "/stores/test/onset/")[1]
    move_to("2027-01-31T23:59:59+00:00")(service)
    assert readers.look() == before


@pytest.mark.slow
def test_a_new_public_copy_is_seen_by_all(service):
    readers = Readers(service)
    before = readers.look()
    publish(opened_again(service))
    after = readers.look()
    assert "yew" in after[""]["/stores/dev/onset/"][1]
    assert all(after[who]["/feed.xml"] != before[who]["/feed.xml"] for who in EVERYBODY)


def test_no_reader_is_given_the_pages_of_another(service):
    readers = Readers(service)
    seen = {"": {"oak"}, "ada": {"oak", "ash"}, "bob": {"oak", "elm"}, "eve": {"oak"}, "org": {"oak", "elm", "ash"}}
    for _ in range(2):
        for who, names in seen.items():
            for address in ("/", "/stores/test/onset/", "/stores/dev/onset/"):
                text = readers.get(who, address)[1]
                assert {name for name in SYSTEMS if f"/{name}/" in text or f">{name}<" in text} == names, (who, address)
                shown = re.findall(r'<p class="viewer"><a[^>]*>([^<]*)</a>', text)
                assert shown == ([who] if who else []), address


def test_who_logs_out_gets_the_pages_of_everybody(service):
    app = create_app(service)
    ada = Browser(service, "ada", "submitter")
    ada.app = app
    own = {address: ada.get(address).text for address in FOLLOWED[:5]}
    assert "ash" in own["/stores/dev/onset/"]
    cookies = dict(ada.cookies)
    assert ada.submit("/logout").status_code == 303
    replayed = TestClient(app, base_url=BASE, cookies=cookies)
    everybody = TestClient(app, base_url=BASE)
    for address, text in own.items():
        answer = replayed.get(address, headers={"Accept": "text/html"})
        assert answer.text == everybody.get(address, headers={"Accept": "text/html"}).text
        assert answer.text != text or address == "/feed.xml"


def test_sessions_of_an_account_share_pages_without_a_token_of_theirs(service, made):
    first, second = (Browser(service, "ada", "submitter") for _ in range(2))
    for one in (first, second):
        one.headers["Accept"] = "text/html, */*"
    pages = {address: first.get(address) for address in PAGES}
    made.clear()
    for address, answer in pages.items():
        assert "no-store" in answer.headers["cache-control"]
        assert first.csrf() not in answer.text
        assert second.get(address).text == answer.text
    assert made == []


def test_tags_tell_nothing_of_what_a_page_does_not_show(service, made):
    client = TestClient(create_app(service), base_url=BASE)
    tags = {address: client.get(address).headers["etag"] for address in FOLLOWED[:4]}
    by_row(lambda row: setattr(row, "paper", "https://lab.org/secret"), "ash")(service)
    made.clear()
    for address, tag in tags.items():
        answer = client.get(address, headers={"If-None-Match": tag})
        assert (answer.status_code, answer.headers["etag"], answer.content) == (304, tag, b""), address
    assert len(made) == len(tags)


@pytest.mark.slow
def test_kept_pages_read_only_tables_whose_changes_are_noticed(service):
    unseen = {name for name, table in Base.metadata.tables.items() if table.info.get("unseen")}
    assert {"progress", "worker", "grading_event"} <= unseen
    readers = Readers(service)
    with asked_tables(service) as tables:
        for who in EVERYBODY:
            assert all(readers.get(who, address)[0] == 200 for address in PAGES)
    assert {"submission", "released", "rules"} <= tables
    assert tables & unseen == {"token"}  # by which a reader is found at each request


@pytest.mark.slow
def test_reports_of_workers_and_the_progress_of_scoring_renew_no_page(service, made):
    readers = Readers(service)
    readers.look()
    made.clear()
    with service.database.write() as session:
        session.merge(WorkerReport(name="host:1:a", began=BEGIN, seen=BEGIN))
        session.merge(SubmissionProgress(submission_id=1, stage="scoring", done=1, total=2, updated=BEGIN))
    readers.look()
    assert made == []


@pytest.mark.slow
def test_a_server_that_runs_shows_what_this_process_changes(service, tmp_path):
    assert service.path is not None
    addresses = ("/", "/stores/test/onset/", "/stores/dev/onset/")
    with Server(service.path, tmp_path / "log", "--no-worker") as server:
        secret = account(service, "ada", "submitter", "token")

        def look(headers: dict[str, str]) -> list[bytes]:
            found = []
            for one in addresses:
                with urlopen(Request(server.address + one, headers=headers), timeout=PATIENCE) as answer:
                    found.append(answer.read())
            return found

        for headers in ({}, {"Authorization": f"Bearer {secret}"}):
            before = look(headers)
            assert look(headers) == before
            by_row(lambda row: setattr(row, "paper", f"https://lab.org/{len(row.paper)}"))(service)
            after = look(headers)
            assert [one != two for one, two in zip(before, after, strict=True)] == [False, True, bool(headers)]
