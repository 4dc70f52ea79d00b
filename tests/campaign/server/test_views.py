"""Everybody sees public systems, who is logged in more of them; of hidden splits there is only what was told."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import mirflow
from mirflow.campaign.server.accounts import add_user, issue, team_of
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.service import Service, open_service
from mirflow.campaign.server.submissions.submission_tables import Released, Submission
from mirflow.store.read import read_scores

from .running import running

CAMPAIGN = """\
campaign: Onsets all the year round
evaluations:
  - {task: onset, reference: "reference/{track}.txt", estimates: "{track}.txt"}
splits: {dev: dev, test: {root: test, hidden: true, round: 0.01}}
"""
NOW = dt.datetime(2027, 3, 1, tzinfo=dt.UTC)
SYSTEMS = (
    ("open-1", "bob", "public"),
    ("lab-1", "bob", "lab"),
    ("draft-7", "ada", "private"),
    ("bobs", "bob", "private"),
)
CANARY = "canary-4711"


@pytest.fixture
def service(tmp_path: Path) -> Service:
    path = tmp_path / "campaign.yaml"
    path.write_text(CAMPAIGN)
    service = open_service([path])
    with service.database.write() as session:
        users = {name: add_user(session, name, "submitter", NOW, "oak") for name in ("ada", "bob")}
        users["eve"] = add_user(session, "eve", "organiser", NOW)
        for place, (name, owner, visibility) in enumerate(SYSTEMS):
            about = {"splits": "dev,test", "visibility": visibility, "received": NOW, "sent_digest": "", "size": 1}
            about |= {"rules": "1", "mirflow": "0", "state": "scored", "digest": name}
            one = Submission(user_id=users[owner].id, team=team_of(users[owner]), name=name, key=name, **about)
            session.add(one)
            session.flush()
            for metric, value in (("f_measure", 0.5 + place / 10), ("recall", None)):
                told = {
                    "split": "test",
                    "evaluation": "onset",
                    "metric": metric,
                    "rules": "1",
                    "tracks": 9,
                    "date": NOW,
                }
                headline = metric == "f_measure"
                session.add(Released(submission_id=one.number, value=value, headline=headline, **told))
    references = {f"t{number}": [1.0, 2.0, 3.0] for number in range(8)}
    estimates = {
        name: {track: times[: 1 + place % 3] for track, times in references.items()}
        for place, (name, _, _) in enumerate(SYSTEMS)
    }
    scores = mirflow.score(references, estimates, "onset")
    mirflow.save(scores, service.folder_of("stores") / "dev.zarr")
    mirflow.save(scores.sel(system=["open-1"]), service.folder_of("public") / "dev.zarr")
    # Nobody who answers requests may open this.
    hidden = service.folder_of("stores") / "test.zarr"
    hidden.mkdir()
    (hidden / "zarr.json").write_text(CANARY)
    return service


@pytest.fixture
def client(service: Service) -> TestClient:
    return TestClient(create_app(service))


def token(service: Service, name: str) -> dict[str, str]:
    from mirflow.campaign.server.accounts import find_user

    with service.database.write() as session:
        return {"Authorization": f"Bearer {issue(session, find_user(session, name), 'token', NOW, None)}"}


@pytest.mark.parametrize(
    ("who", "seen"),
    [
        ("", {"open-1"}),
        ("ada", {"open-1", "lab-1", "draft-7"}),
        ("bob", {"open-1", "lab-1", "bobs"}),
        ("eve", {"open-1", "lab-1", "draft-7", "bobs"}),
    ],
)
@pytest.mark.parametrize("split", ["dev", "test"])
def test_a_board_has_the_systems_that_somebody_may_see(client, service, who, seen, split):
    headers = token(service, who) if who else {}
    board = client.get(f"/stores/{split}/onset.json", headers=headers).json()
    assert {one["name"] for one in board["evaluations"][0]["systems"]} == seen
    addresses = ["/", f"/stores/{split}/", f"/stores/{split}/onset/"]
    addresses += ["/stores/dev/onset/tracks/t1/", "/stores/dev/report/contents.json"] * (split == "dev")
    for address in addresses:
        answer = client.get(address, headers=headers)
        assert answer.status_code == 200
        assert ("no-store" in answer.headers["cache-control"]) == bool(who)
        for name, _, _ in SYSTEMS:
            shown = name in answer.text
            assert shown <= (name in seen), (address, name)
    page = client.get(f"/stores/{split}/onset/", headers=headers).text
    assert ("seen by you and organisers" in page) == (who in ("ada", "bob"))


@pytest.mark.slow
def test_the_report_says_in_words_who_sees_a_system(browser, service):
    with running(create_app(service)) as address:
        page = browser.new_context(extra_http_headers=token(service, "ada")).new_page()
        page.goto(f"{address}/stores/dev/")
        page.get_by_text("seen by you and organisers").first.wait_for()
        assert "seen_by" not in page.inner_text("body")
        page.context.close()


def test_scores_of_a_hidden_split_have_the_digits_of_its_rounding(client, service):
    headers = token(service, "ada")
    sent = client.get("/submissions/", headers={**headers, "Accept": "application/json"}).json()["submissions"]
    own = next(f"/submissions/{one['id']}/" for one in sent if one["name"] == "draft-7")
    for address in ("/", "/stores/test/", "/stores/test/onset/", "/stores/test/onset/systems/draft-7/", own):
        page = client.get(address, headers=headers).text
        assert ">0.70" in page
        assert "0.700" not in page
        assert "grid ." not in page
    assert "test, onset 0.70" in client.get("/", headers=headers).text


def test_the_leader_of_a_hidden_split_is_by_what_was_released(client, service):
    board = client.get("/stores/test/onset.json", headers=token(service, "eve")).json()["evaluations"][0]
    assert [(one["rank"], one["name"]) for one in board["systems"]] == [
        (1, "bobs"),
        (2, "draft-7"),
        (3, "lab-1"),
        (4, "open-1"),
    ]
    assert board["metrics"][0]["title"] == "F-measure"
    assert board["systems"][0]["scores"]["recall"]["value"] is None


def test_what_is_released_is_seen_at_the_next_request(client, service):
    before = client.get("/").text
    assert ">0.500" in before
    with service.database.write() as session:
        session.query(Submission).filter_by(name="bobs").update({"visibility": "public"})
    assert "bobs" not in before
    assert "bobs" in client.get("/").text


def test_a_report_of_private_systems_is_its_senders_alone(client, service):
    own = token(service, "ada")
    contents = client.get("/stores/dev/report/contents.json", headers=own).json()
    assert contents["evaluations"][0]["systems"] == ["open-1", "lab-1", "draft-7"]
    assert "bobs" not in str(contents)
    assert str(service.folder) not in str(contents)
    block = f"/stores/dev/report/{contents['evaluations'][0]['metrics'][0]['score']}"
    answer = client.get(block, headers=own)
    assert answer.headers["cache-control"] == "private, no-store"
    assert client.get(block).status_code == 404
    assert client.get(block, headers=token(service, "bob")).status_code == 404


DEV = "/api/v1/stores/dev"
API = (
    "/api/v1/stores",
    DEV,
    f"{DEV}/evaluations/onset",
    f"{DEV}/evaluations/onset/scores?metric=f_measure",
    f"{DEV}/query?metric=f_measure",
    f"{DEV}/compare?metric=f_measure",
    f"{DEV}/problems",
    f"{DEV}/leaderboard",
)
SEEN = {
    "": {"open-1"},
    "ada": {"open-1", "lab-1", "draft-7"},
    "bob": {"open-1", "lab-1", "bobs"},
    "eve": {"open-1", "lab-1", "draft-7", "bobs"},
}


def test_the_api_shows_each_person_their_own_systems(client, service):
    people = {who: token(service, who) if who else {} for who in SEEN}
    tags: dict[str, set[str]] = {}
    # In turns, and again: what is kept for one must not be given to another.
    for who in [*SEEN, *reversed(SEEN)]:
        for address in API:
            answer = client.get(address, headers=people[who])
            if not who and "/compare" in address:
                assert answer.status_code == 400  # of one system
                continue
            assert answer.status_code == 200, answer.text
            keep = "private, no-store" if who else "no-cache"
            assert answer.headers["cache-control"] == keep
            assert {"cookie", "authorization"} <= set(answer.headers["vary"].split(", "))
            tags.setdefault(who, set()).add(answer.headers["etag"])
            for name in SEEN["eve"]:
                assert (name in answer.text) <= (name in SEEN[who]), (who, address, name)
        listed = client.get(f"{DEV}/evaluations/onset", headers=people[who]).json()["systems"]
        assert {one["name"] for one in listed} == SEEN[who]
        rows = client.get(f"{DEV}/evaluations/onset/scores?format=csv", headers=people[who]).text
        assert {line.split(",")[0] for line in rows.splitlines()[1:]} == SEEN[who]
    for who, own in tags.items():
        assert not any(own & others for other, others in tags.items() if other != who)


def test_a_tag_of_somebody_else_is_not_known(client, service):
    ada, bob = token(service, "ada"), token(service, "bob")
    for address in API:
        tag = client.get(address, headers=ada).headers["etag"]
        again = client.get(address, headers={**ada, "If-None-Match": tag})
        assert (again.status_code, again.headers["cache-control"]) == (304, "private, no-store")
        assert client.get(address, headers={**bob, "If-None-Match": tag}).status_code == 200
        assert client.get(address, headers={"If-None-Match": tag}).status_code in (200, 400)


def test_a_system_that_is_made_private_is_gone_from_the_api_at_once(client, service):
    ada = token(service, "ada")
    assert "lab-1" in client.get(f"{DEV}/query?metric=f_measure", headers=ada).text
    with service.database.write() as session:
        session.query(Submission).filter_by(name="lab-1").update({"visibility": "private"})
    assert "lab-1" not in client.get(f"{DEV}/query?metric=f_measure", headers=ada).text


def test_who_sees_nothing_of_a_split_is_told_what_anybody_is_told(client, service):
    with service.database.write() as session:
        session.query(Submission).update({"visibility": "private"})
        bob = session.query(Submission).filter_by(name="bobs").one().user_id
        session.query(Submission).update({"user_id": bob})
    (service.folder_of("public") / "dev.zarr").unlink()
    for headers in ({}, token(service, "ada")):
        assert client.get("/api/v1/stores", headers=headers).json()["stores"] == []
        for address in (DEV, f"{DEV}/query", "/stores/dev/", "/stores/dev/onset/", "/stores/dev.json"):
            assert client.get(address, headers=headers).status_code == 404, address
    stores = client.get("/api/v1/stores", headers=token(service, "bob")).json()["stores"]
    assert [one["name"] for one in stores] == ["dev"]


def test_warnings_about_other_peoples_systems_are_theirs(client, service):
    warned = [{"text": f"a warning about {name}", "system": name} for name in ("bobs", "draft-7")]
    store = service.folder_of("stores") / "dev.zarr"
    (scores,) = read_scores(store).values()
    scores.attrs["warnings"] = warned
    store.unlink()
    mirflow.save(scores, store)
    for who in ("ada", "bob", "eve"):
        told = client.get(f"{DEV}/evaluations/onset", headers=token(service, who)).json()["warnings"]
        own = {"ada": ["draft-7"], "bob": ["bobs"], "eve": ["bobs", "draft-7"]}[who]
        assert told == [f"a warning about {name}" for name in own]


def test_the_zarr_of_a_split_has_public_systems_whoever_asks(client, service):
    answers = {client.get("/stores/dev.zarr/zarr.json", headers=token(service, who)).text for who in ("ada", "eve")}
    assert answers == {client.get("/stores/dev.zarr/zarr.json").text}
    for name in SEEN["eve"] - {"open-1"}:
        assert name not in str(answers)
    assert client.get(DEV).json()["zarr"] == "/stores/dev.zarr"
    assert client.get(DEV, headers=token(service, "ada")).json()["zarr"] is None


@pytest.mark.parametrize("who", ["", "ada", "eve"])
def test_nothing_opens_the_store_of_a_hidden_split(client, service, who):
    headers = token(service, who) if who else {}
    for address in (
        "/stores/test.zarr/zarr.json",
        "/stores/..%2Fstores%2Ftest.zarr/zarr.json",
        "/api/v1/stores/test",
        "/api/v1/stores/test/query",
        "/stores/test/report/contents.json",
        "/stores/test/report/tracks/t1.json",
        "/stores/test/report/blocks/1-0/0/0/score",
        "/stores/test/onset/tracks/",
        "/stores/test/onset/tracks/t1/",
        "/stores/test/onset/tracks/t1/lanes.png",
    ):
        answer = client.get(address, headers=headers)
        assert answer.status_code == 404, address
        assert CANARY not in answer.text
    assert [one["name"] for one in client.get("/api/v1/stores", headers=headers).json()["stores"]] == ["dev"]


def test_views_that_are_kept_are_few(service):
    from mirflow.campaign.server.accounts import Viewer
    from mirflow.campaign.server.views import MOST_VIEWS, Views

    views = Views(service)
    for user in range(1, 40):
        views.contents("dev", Viewer(user, "x", "submitter" if user > 2 else "organiser", 1))
    assert len(views._views) <= MOST_VIEWS
