"""Servers of test sets that are not public: what stands in every answer, parts of reports included."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin

import numpy as np
import pytest
from starlette.testclient import TestClient

import mirflow
from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.http_api import OPERATIONS
from mirflow.campaign.server.service import Service, open_service
from mirflow.store.read import read_scores
from tests.datasets import write_hidden

from ...groups import random_group, write_store
from .accounts import BASE, program
from .campaigns import CAMPAIGN, write_campaign

LABEL, BROKEN = "Gb:minmaj7", "SECRET"
SONGS = [f"secret-song-{number}" for number in range(8)]


def followed(client: TestClient) -> dict[str, str]:
    """The text of every page that a link leads to, with all parts of reports."""
    found: dict[str, str] = {}
    pending = {"/"}
    while pending:
        address = pending.pop()
        answer = client.get(address)
        assert answer.status_code == 200, address
        found[address] = answer.text
        if answer.headers["content-type"].startswith("text/html"):
            named = {
                urljoin(address, one.partition("#")[0]) for one in re.findall(r'(?:href|src)="([^"]+)"', answer.text)
            }
            pending |= named - found.keys()
        if address.endswith("/report/contents.json"):
            for block in set(re.findall(r'"(blocks/[^"]+)"', answer.text)):
                part = client.get(urljoin(address, block))
                assert part.status_code == 200, block
                found[block] = zlib.decompress(part.content).decode("latin-1")
    return found


def asked(client: TestClient, store: str, evaluation: str, track: str) -> Iterator[tuple[str, Any]]:
    """Answers to all that is not linked: the API, timelines, and files of the store."""
    for one in OPERATIONS:
        path = "/api/v1" + one.path.format(store=store, evaluation=evaluation)
        for style in ("", *(f"?format={style}" for style in one.formats if style in ("csv", "arrow"))):
            yield path + style, client.get(path + style)
        for chosen in ("by=track", f"track={track}", f"where=track=='{track}'", "missing=zero", "undefined=zero"):
            if one.parameters:
                yield f"{path}?{chosen}", client.get(f"{path}?{chosen}")
    for path in (
        f"/stores/{store}/{evaluation}/tracks/",
        f"/stores/{store}/{evaluation}/tracks/{quote(track)}/",
        f"/stores/{store}/{evaluation}/tracks/{quote(track)}/lanes.png",
        f"/stores/{store}/report/tracks/{quote(track)}.json",
        f"/stores/{store}.zarr/zarr.json",
        f"/stores/{store}.zarr/{evaluation}/zarr.json",
        f"/stores/{store}.zarr/{evaluation}/score/c/0/0/0",
    ):
        yield path, client.get(path)


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    return write_hidden(tmp_path, LABEL, BROKEN)


@pytest.fixture
def songs(tmp_path: Path) -> Path:
    meta = {"artist": [f"singer-{name}" for name in SONGS]}
    return write_store(tmp_path / "s.zarr", {"chord": random_group(3, 8, 2, tracks=SONGS, track_meta=meta)})


@pytest.mark.slow
def test_without_references_no_answer_holds_a_label_of_one_or_a_message_that_quotes_it(hidden):
    whole = TestClient(create_app(Service("All", {"store": hidden})))
    told = "".join(followed(whole).values())
    told += "".join(one.text for track in ("t00", "t01") for _, one in asked(whole, "store", "chord", track))
    assert LABEL in told
    assert BROKEN in told
    client = TestClient(create_app(Service("Some", {"store": hidden}, without_references=True)))
    pages = followed(client)
    for address, text in pages.items():
        assert not [one for one in (LABEL, BROKEN, "70.123", "77.777") if one in text], address
    assert any(address.endswith("/tracks/t01/") for address in pages)
    answers: dict[str, Any] = {}
    for track in ("t00", "t01"):  # each from a server of its own, as the questions take what a reader may ask at once
        client = TestClient(create_app(Service("Some", {"store": hidden}, without_references=True)))
        answers |= asked(client, "store", "chord", track)
    for address, answer in answers.items():
        # Scores have their weights, which are lengths of tracks.
        secrets = (LABEL, BROKEN, "70.123", *(["77.777"] if "/scores" not in address else []))
        assert not [one for one in secrets if one.encode() in answer.content], address
        withheld = ".zarr/" in address or address.endswith(".png")
        assert withheld == (answer.status_code == 404), (address, answer.text)
    problems = answers["/api/v1/stores/store/problems"].json()
    assert "not shown here, as it may quote a reference" in str(problems)
    assert json.loads(answers["/stores/store/report/tracks/t01.json"].text)["annotations"] == []


def test_with_aggregates_only_no_answer_holds_a_track_or_a_score_of_one(songs):
    client = TestClient(create_app(Service("Some", {"s": songs}, only_aggregates=True)))
    score = read_scores(songs)["chord"]["score"].values
    figures = {f"{one:.4f}" for one in score.ravel()} | {repr(float(one)) for one in score.ravel()}
    raw = [np.float64(one).tobytes() for one in score.ravel()]
    extremes = {f"{one:.4f}" for one in (*score.min(axis=1).ravel(), *score.max(axis=1).ravel())}
    aggregates = extremes | {f"{one:.4f}" for one in mirflow.query(songs, ci=0.95).dataset["value"].values.ravel()}
    answers = {address: text.encode("latin-1", "replace") for address, text in followed(client).items()}
    refused = {}
    for address, answer in asked(client, "s", "chord", SONGS[3]):
        if answer.status_code == 200:
            answers[address] = answer.content
        else:
            refused[address] = answer
            assert answer.status_code in (400, 403, 404), address
            assert not [one for one in (*SONGS[:3], "singer") if one in answer.text], address
    for address, content in answers.items():
        assert not [one for one in (*SONGS, "singer") if one.encode() in content], address
        text = content.decode("latin-1")
        assert not {one for one in figures - aggregates if re.search(rf"(?<!\d){re.escape(one)}(?!\d)", text)}, address
        if not address.startswith("blocks/"):  # statistics such as the least score are aggregates
            assert not [one for one in raw if one in content], address
    api = "/api/v1/stores/s"
    assert {f"{api}/query", f"{api}/compare", f"{api}/leaderboard", f"{api}/evaluations/chord"} <= answers.keys()
    assert refused[f"{api}/query?by=track"].json()["detail"].endswith("are public: leave out by")
    assert refused[f"{api}/evaluations/chord/scores"].json()["title"] == "Not public"
    assert {f"{api}/problems", f"/stores/s/report/tracks/{SONGS[3]}.json", "/stores/s.zarr/zarr.json"} <= refused.keys()


def test_a_campaign_says_what_it_withholds_of_stores_and_of_splits(songs, tmp_path):
    text = CAMPAIGN.replace("dev: dev", "dev: {root: dev, only_aggregates: true}")
    text += f"stores: [{songs}]\nwithout_references: true\naudio: {{pattern: '{{track}}.flac', who: public}}\n"
    (tmp_path / "campaign").mkdir()
    service = open_service([write_campaign(tmp_path / "campaign", text)], BASE)
    assert service.disclosure("s").by_track
    assert not service.disclosure("s").references
    assert not service.disclosure("dev").by_track
    assert service.disclosure("dev").references
    (tmp_path / "campaign" / "dev" / "dev0.flac").write_bytes(b"fLaC")
    assert service.recordings.of_track("dev", "dev0", None) is None
    store = write_store(tmp_path / "dev.zarr", {"chord": random_group(2, 8, 2, tracks=SONGS, systems=["oak", "elm"])})
    (service.folder_of("stores") / "dev.zarr").symlink_to(store)
    (service.folder_of("public") / "dev.zarr").symlink_to(store)
    for client in (program(service, "eve", "organiser"), TestClient(create_app(service), base_url=BASE)):
        for address, answer in asked(client, "dev", "chord", SONGS[3]):
            assert not [one for one in SONGS if one in answer.text], address
        assert client.get("/stores/s/chord/tracks/secret-song-3/").status_code == 200
        assert client.get("/stores/s.zarr/zarr.json").status_code == 404
