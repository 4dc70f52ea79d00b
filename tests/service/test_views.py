"""Everybody sees public systems, who is logged in more of them; of hidden splits there is only what was told."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import mirflow
from mirflow.service.accounts import add_user, issue
from mirflow.service.app import create_app
from mirflow.service.service import Service, open_service
from mirflow.service.submissions.submission_tables import Released, Submission

CAMPAIGN = """\
campaign: Onsets all the year round
evaluations:
  - {task: onset, reference: "reference/{track}.txt", estimates: "{track}.txt"}
splits: {dev: dev, test: {root: test, hidden: true}}
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
    assert service.database is not None
    with service.database.write() as session:
        users = {name: add_user(session, name, "submitter", NOW) for name in ("ada", "bob")}
        users["eve"] = add_user(session, "eve", "organiser", NOW)
        for place, (name, owner, visibility) in enumerate(SYSTEMS):
            about = {"splits": "dev,test", "visibility": visibility, "received": NOW, "sent_digest": "", "size": 1}
            about |= {"rules": "1", "mirflow": "0", "state": "scored", "digest": name}
            one = Submission(user_id=users[owner].id, name=name, key=name, **about)
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
                session.add(
                    Released(submission_id=one.number, value=value, headline=headline, improved=place != 2, **told)
                )
    references = {f"t{number}": [1.0, 2.0, 3.0] for number in range(8)}
    estimates = {
        name: {track: times[: 1 + place % 3] for track, times in references.items()}
        for place, (name, _, _) in enumerate(SYSTEMS)
    }
    scores = mirflow.score(references, estimates, "onset")
    mirflow.save(scores, service.stores_folder / "dev.zarr")
    mirflow.save(scores.sel(system=["open-1"]), service.public_folder / "dev.zarr")
    # Nobody who answers requests may open this.
    hidden = service.stores_folder / "test.zarr"
    hidden.mkdir()
    (hidden / "zarr.json").write_text(CANARY)
    return service


@pytest.fixture
def client(service: Service) -> TestClient:
    return TestClient(create_app(service))


def token(service: Service, name: str) -> dict[str, str]:
    from mirflow.service.accounts import find_user

    assert service.database is not None
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
def test_a_board_has_the_systems_that_somebody_may_see(
    client: TestClient, service: Service, who: str, seen: set[str], split: str
) -> None:
    headers = token(service, who) if who else {}
    board = client.get(f"/stores/{split}/onset.json", headers=headers).json()
    assert {one["name"] for one in board["evaluations"][0]["systems"]} == seen
    addresses = ["/", f"/stores/{split}/", f"/stores/{split}/onset/"]
    addresses += ["/stores/dev/onset/tracks/t1/", "/stores/dev/report/contents.json"] * (split == "dev")
    for address in addresses:
        answer = client.get(address, headers=headers)
        assert answer.status_code == 200
        assert ("no-store" in answer.headers["cache-control"]) == bool(who or address.startswith("/stores/test/"))
        for name, _, _ in SYSTEMS:
            shown = name in answer.text
            assert shown <= (name in seen), (address, name)
    page = client.get(f"/stores/{split}/onset/", headers=headers).text
    assert ("only you see it" in page) == (who in ("ada", "bob"))


def test_the_leader_of_a_hidden_split_is_by_what_was_released(client: TestClient, service: Service) -> None:
    board = client.get("/stores/test/onset.json", headers=token(service, "eve")).json()["evaluations"][0]
    assert [(one["rank"], one["name"]) for one in board["systems"]] == [
        (1, "bobs"),
        (2, "draft-7"),
        (3, "lab-1"),
        (4, "open-1"),
    ]
    assert board["metrics"][0]["title"] == "F-measure"
    assert board["systems"][1]["metadata"]["note"] == "not better than its sender's best before, which is shown"
    assert board["systems"][0]["scores"]["recall"]["value"] is None


def test_what_is_released_is_seen_at_the_next_request(client: TestClient, service: Service) -> None:
    before = client.get("/").text
    assert "0.5000" in before
    assert service.database is not None
    with service.database.write() as session:
        session.query(Submission).filter_by(name="bobs").update({"visibility": "public"})
    assert "bobs" not in before
    assert "bobs" in client.get("/").text


def test_a_report_of_private_systems_is_its_senders_alone(client: TestClient, service: Service) -> None:
    own = token(service, "ada")
    contents = client.get("/stores/dev/report/contents.json", headers=own).json()
    assert contents["evaluations"][0]["systems"] == ["open-1", "lab-1", "draft-7"]
    assert "bobs" not in str(contents)
    assert str(service.folder) not in str(contents)
    block = f"/stores/dev/report/{contents['evaluations'][0]['metrics'][0]['score']}"
    answer = client.get(block, headers=own)
    assert answer.headers["cache-control"].startswith("private")
    assert client.get(block).status_code == 404
    assert client.get(block, headers=token(service, "bob")).status_code == 404


@pytest.mark.parametrize("who", ["", "ada", "eve"])
def test_nothing_opens_the_store_of_a_hidden_split(client: TestClient, service: Service, who: str) -> None:
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
    ):
        answer = client.get(address, headers=headers)
        assert answer.status_code == 404, address
        assert CANARY not in answer.text
    assert [one["name"] for one in client.get("/api/v1/stores", headers=headers).json()["stores"]] == ["dev"]


def test_views_that_are_kept_are_few(service: Service) -> None:
    from mirflow.service.accounts import Viewer
    from mirflow.service.views import MOST_VIEWS, Views

    views = Views(service)
    for user in range(1, 40):
        views.contents("dev", Viewer(user, "x", "submitter" if user > 2 else "organiser", 1))
    assert len(views._views) <= MOST_VIEWS
