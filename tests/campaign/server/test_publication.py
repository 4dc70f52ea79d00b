"""What a worker publishes: copies of what is public, readings, and the feed; nothing else of what was sent."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from sqlalchemy import delete, select

from mirflow.campaign.server.service import Service, open_service
from mirflow.campaign.server.submissions.entries import SubmissionError, set_visibility, withdraw
from mirflow.campaign.server.submissions.submission_tables import Released, Scored, Submission, Verdict
from mirflow.campaign.server.views import Views
from mirflow.store.read import read_scores, read_store

from .accounts import BASE, Browser
from .campaigns import estimates, member, open_campaign, submit, work_off, worker_of


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return open_campaign(tmp_path)


@pytest.mark.slow
def test_what_is_public_is_copied_and_nothing_else(service, confinement):
    worker, copy = worker_of(service, confinement), service.folder_of("public") / "dev.zarr"
    ids = [submit(service, name, estimates(), visibility=seen) for name, seen in (("a", "public"), ("b", "private"))]
    work_off(worker)
    ds = read_scores(copy)["chord"]
    assert ds["system"].values.tolist() == ["a"]
    assert ds["submitted"].values.tolist() == ["2027-01-01"]
    for path in copy.resolve().rglob("zarr.json"):
        assert str(service.folder) not in path.read_text()
    viewer = member(service)
    with service.database.write() as session:
        for id in ids:
            row = session.scalars(select(Submission).where(Submission.id == id)).one()
            for unknown in ("", "all"):
                with pytest.raises(SubmissionError, match="unknown visibility"):
                    set_visibility(service.campaign, row, viewer, unknown, service.clock())
            set_visibility(service.campaign, row, viewer, "public", service.clock())
            if row.name == "a":
                withdraw(row, viewer, service.clock())
    assert work_off(worker) == 1
    ds = read_scores(copy)["chord"]
    assert ds["system"].values.tolist() == ["a", "b"]
    assert ds["withdrawn"].values.tolist() == ["2027-01-01", ""]
    assert work_off(worker) == 0
    generation = copy.resolve()
    submit(service, "c", estimates(wrong=1), visibility="private")
    work_off(worker)
    assert copy.resolve() == generation  # nothing that readers see has changed


@pytest.mark.parametrize("name", ["lab #2", "lab: 2", "lab's"])
def test_no_copy_and_no_view_names_the_folder_of_the_campaign(tmp_path, confinement, name):
    folder = tmp_path / name
    folder.mkdir()
    service = open_campaign(folder)
    submit(service, "oak", estimates())
    submit(service, "elm", estimates(wrong=1), visibility="private")
    work_off(worker_of(service, confinement))
    held = [path.read_text() for path in (service.folder_of("public") / "dev.zarr").resolve().rglob("zarr.json")]
    held.append(Views(service).ask("dev", member(service), lambda seen: json.dumps(seen.nodes)))
    assert len(held) > 1
    for text in held:
        assert json.dumps(str(tmp_path))[1:-1] not in text
        assert name not in text


@pytest.mark.slow
def test_what_was_sent_is_parsed_in_confined_processes_alone(service, confinement):
    for name, wrong in (("oak", 2), ("elm", 0)):
        submit(service, name, estimates(wrong=wrong))
    work_off(worker_of(service, confinement))
    client, address = Browser(service), "/stores/dev/report/tracks/dev0.json"
    before = client.get(address).json()
    assert [place for _, one in before["evaluations"] for place in one["estimates"]] == [1, 2]
    assert next(len(one["evidence"][0]) for _, one in before["evaluations"]) == 2
    scores = read_scores(service.folder_of("stores") / "dev.zarr")["chord"]["score"].values
    # From now on whatever opens a file that was sent fails, but for the confined process that reads it.
    for path in service.folder_of("systems").rglob("*.lab"):
        path.write_bytes(b"\x00")
    again = open_service([str(service.path)], BASE)
    assert Browser(again).get(address).json() == before
    (service.folder_of("stores") / "dev.zarr").unlink()
    for one in ("oak", "elm"):
        rescored = [row.name for row in released_again(service, one)]
        assert rescored == [one]
    work_off(worker_of(again, confinement))
    assert read_scores(service.folder_of("stores") / "dev.zarr")["chord"]["score"].values.tolist() == scores.tolist()


def released_again(service: Service, name: str) -> list[Submission]:
    """Let a submission be scored again as if it had just been checked."""
    with service.database.write() as session:
        rows = session.scalars(select(Submission).where(Submission.name == name)).all()
        for row in rows:
            for other in (Verdict, Released, Scored):
                session.execute(delete(other).where(other.submission_id == row.number))
            row.state = "accepted"
        return [*rows]


@pytest.mark.slow
def test_what_is_no_longer_public_is_in_no_generation_of_the_copy(service, confinement):
    worker, client = worker_of(service, confinement), Browser(service)
    submit(service, "oak", estimates(wrong=2))
    id = submit(service, "elm", estimates())
    work_off(worker)
    token = client.get("/api/v1/stores/dev", headers={"Accept": "application/json"}).json()["generation"]
    pinned, viewer = f"/stores/dev@{token}.zarr/chord/zarr.json", member(service)
    assert client.get(pinned).status_code == 200
    assert "elm" in client.get("/feed.xml").text
    picture = "/stores/dev/chord/tracks/dev0/lanes.png"
    both = client.get(picture)
    with service.database.write() as session:
        row = session.scalars(select(Submission).where(Submission.id == id)).one()
        set_visibility(service.campaign, row, viewer, "private", service.clock())
    work_off(worker)
    assert client.get(pinned).status_code == 410
    assert len([*(service.folder_of("public") / ".dev.zarr.d").glob("generation-*")]) == 1
    assert "elm" not in client.get("/feed.xml").text
    assert height(client.get(picture, headers={"If-None-Match": both.headers["etag"]})) < height(both)
    own = Browser(service, "ada").get(picture)
    assert (height(own), own.headers["cache-control"]) == (height(both), "private, no-store")
    assert client.get(picture.replace("dev", "test")).status_code == 404


def height(answer: Any) -> int:
    """The height of a picture of a track, in which each system has a lane."""
    assert answer.content.startswith(b"\x89PNG")
    return int.from_bytes(answer.content[20:24], "big")


@pytest.mark.slow
def test_the_feed_keeps_what_earlier_publications_changed(service, confinement):
    worker, client, viewer = worker_of(service, confinement), Browser(service), member(service)
    ids = {}

    def entries() -> dict[str, str]:
        root = ElementTree.fromstring(client.get("/feed.xml").text)
        atom = "{http://www.w3.org/2005/Atom}"
        return {
            one.findtext(f"{atom}id", ""): f"{one.findtext(f'{atom}title')}: {one.findtext(f'{atom}content')}"
            for one in root.iter(f"{atom}entry")
        }

    seen: dict[str, str] = {}
    for number, name in enumerate(("oak", "elm", "ash", "fir")):
        ids[name] = submit(service, name, estimates(wrong=number), visibility="public")
        work_off(worker)
        assert seen.items() <= entries().items(), "an entry stays what it was"
        seen = entries()
        assert len(seen) == number + 1
    told = list(seen.values())
    assert [sum(f"new: {name}" in one for one in told) for name in ids] == [0, 1, 1, 1]
    assert sum("new, 1 system on 6 tracks" in one and "leads: oak" in one for one in told) == 1
    for name, change in (("elm", withdraw), ("ash", partial(set_visibility, service.campaign, visibility="private"))):
        with service.database.write() as session:
            row = session.scalars(select(Submission).where(Submission.id == ids[name])).one()
            change(row, viewer=viewer, now=service.clock())
        work_off(worker)
        assert name not in " ".join(entries().values())
        assert name not in json.dumps(
            read_store(service.folder_of("public") / "dev.zarr", lambda root: root.attrs["changes"])
        )
    assert any("new: fir" in one for one in entries().values())
    assert entries().items() <= seen.items()


@pytest.mark.slow
def test_what_a_publication_changed_is_not_guessed_if_the_generation_before_is_gone(service, confinement):
    worker, copy = worker_of(service, confinement), service.folder_of("public") / "dev.zarr"
    for number, name in enumerate(("oak", "elm", "ash")):
        submit(service, name, estimates(wrong=number), visibility="public")
        if name == "ash":
            shutil.rmtree(service.folder_of("public") / ".dev.zarr.d" / "generation-000001")
        work_off(worker)
    (first,) = read_store(copy, lambda root: root.attrs["changes"])
    assert "leads: oak" in json.dumps(first)


def test_messages_of_what_is_public_name_no_folder_of_the_server(service, confinement):
    submit(service, "a", estimates() | {"dev0.lab": ""}, visibility="public")
    work_off(worker_of(service, confinement))
    messages = read_scores(service.folder_of("public") / "dev.zarr")["chord"]["message"].values.ravel().tolist()
    told = [one for one in messages if one]
    assert told
    for one in told:
        assert one.startswith("reason (estimate): a/dev0.lab:")
        assert ".." not in one
