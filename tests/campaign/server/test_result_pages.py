"""Pages of results show what the stores hold now, under addresses that hold any name."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen
from xml.etree import ElementTree

import httpx2
import pytest
from starlette.testclient import TestClient

import mirflow
from mirflow.campaign.server.app import create_app, serve
from mirflow.campaign.server.cache import Answers, Pictures, Stores
from mirflow.campaign.server.service import Service, open_service
from mirflow.errors import MirflowError
from mirflow.reports.page.assembly import report_link

from ...datasets import write_dataset
from ...groups import make_group, write_store
from .processes import Server
from .running import running
from .test_stores_http import publish


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "onsets.zarr"
    publish(path, "ada", "50% b/c <b>")
    return path


@pytest.fixture
def service(store: Path, demo_store: Path) -> Service:
    return Service("Results of a lab", {"onsets": store, "tunes": demo_store})


@pytest.fixture
def client(service: Service) -> TestClient:
    return TestClient(create_app(service))


def links(text: str) -> set[str]:
    """Addresses that a page names, without places in them, and without pictures, which take long to draw."""
    return {one.partition("#")[0] for one in re.findall(r'(?:href|src)="([^"]*)"', text) if ".png" not in one} - {""}


@pytest.mark.slow
def test_every_link_leads_somewhere(client):
    seen, pending = set(), {"/"}
    while pending:
        address = pending.pop()
        seen.add(address)
        answer = client.get(address)
        assert answer.status_code == 200, address
        if answer.headers["content-type"].startswith("text/html"):
            pending |= {urljoin(address, one) for one in links(answer.text)} - seen
    assert "/stores/onsets/onset/systems/50%25%20b%2Fc%20%3Cb%3E/" in seen
    assert "/stores/onsets/onset/tracks/pop%2Fx/" in seen
    assert "/stores/tunes/chord_mirex2013/" in seen


def test_names_are_shown_as_text(client):
    page = client.get("/stores/onsets/onset/").text
    assert "50% b/c &lt;b&gt;" in page
    assert "<b>" not in page


def test_names_with_slashes_are_not_those_of_other_pages(client):
    assert client.get("/stores/onsets/onset/tracks/pop%2Fx/").status_code == 200
    for address in ("/stores/onsets/onset/tracks/pop/x/", "/stores/onsets/onset/tracks/pop%252Fx/"):
        assert client.get(address).status_code == 404


@pytest.mark.parametrize(
    "address", ["/stores/none/", "/stores/tunes/none/", "/stores/tunes/chord/systems/x/", "/static/none.css", "/%FF/"]
)
def test_what_is_not_there_is_not_found(client, address):
    answer = client.get(address)
    assert answer.status_code == 404
    assert "Traceback" not in answer.text


def test_a_search_finds_what_is_there_now(client, store):
    found = client.get("/search.js")
    assert found.headers["content-type"] == "text/javascript; charset=utf-8"
    assert found.headers["cross-origin-resource-policy"] == "same-origin"
    assert '["pop/x","pop%2Fx"]' in found.text
    publish(store, "new one")
    assert "new one" in client.get("/search.js").text
    assert 'data-index="/search.js"' in client.get("/all/").text


def test_an_address_like_that_of_a_page_leads_there(client):
    text = client.get("/reslts", headers={"Accept": "text/html"}).text
    assert 'Did you mean <a href="/">Results</a>?' in text
    assert 'data-index="/search.js"' in text


def test_a_publish_is_seen_at_the_next_request(client, store):
    address = "/stores/onsets/onset/"
    first = client.get(address)
    again = client.get(address, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["content-security-policy"].startswith("default-src 'none'")
    publish(store, "ada", "new one")
    second = client.get(address, headers={"If-None-Match": first.headers["etag"]})
    assert second.status_code == 200
    assert "new one" in second.text
    assert "50% b/c" not in second.text
    assert "new one" in client.get("/").text


def test_a_store_that_appears_is_on_the_front_page(tmp_path, demo_store):
    later = tmp_path / "later.zarr"
    client = TestClient(create_app(Service("Results", {"tunes": demo_store, "later": later})))
    assert client.get("/").text == client.get("/").text
    publish(later, "ada")
    assert "/stores/later/" in client.get("/").text
    shutil.rmtree(tmp_path / ".later.zarr.d")
    later.unlink()
    assert "/stores/later/" not in client.get("/").text


def test_a_request_under_way_ends_with_the_generation_that_it_began_with(service, store):
    shelf = service.shelf
    snapshot = shelf.ask("onsets", lambda one: one)
    for _ in range(3):
        publish(store, "later")
    assert not (snapshot.folder / "zarr.json").exists()
    ds = snapshot.boards["onset"]
    assert ds["system"].values.tolist() == ["ada", "50% b/c <b>"]
    assert ds["message"].values.tolist() == [[""] * 3] * 2
    assert shelf.ask("onsets", lambda one: one.boards["onset"]["system"].values.tolist()) == ["later"]


def test_the_front_page_and_the_feed_tell_what_the_last_publish_changed(client, store):
    assert "new, 2 systems on 3 tracks" in client.get("/feed.xml").text
    publish(store, "ada", "new one")
    feed = client.get("/feed.xml")
    assert feed.headers["content-type"] == "application/atom+xml"
    root = ElementTree.fromstring(feed.text)
    entries = [one.findtext("{*}title") or "" for one in root.iterfind("{*}entry")]
    assert any(text.startswith("onset (onsets): 1 new system") for text in entries)
    assert "1 new system" in client.get("/").text


def test_pages_are_compressed_for_those_who_take_that(client):
    plain = client.get("/stores/tunes/chord/", headers={"Accept-Encoding": "identity"})
    packed = client.get("/stores/tunes/chord/", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content)
    assert packed.text == plain.text
    refused = client.get("/stores/tunes/chord/", headers={"Accept-Encoding": "gzip;q=0, br"})
    assert "content-encoding" not in refused.headers
    assert refused.text == plain.text
    head = client.head("/stores/tunes/chord/", headers={"Accept-Encoding": "identity"})
    assert (head.content, head.headers["content-length"]) == (b"", str(len(plain.content)))


def test_assets_are_kept_for_good(client):
    address = next(one for one in links(client.get("/").text) if one.startswith("/static/site."))
    assert "immutable" in client.get(address).headers["cache-control"]


def test_the_report_fetches_scores_and_a_track_at_a_second(service, browser, demo_store):
    with running(create_app(service)) as address:
        page = browser.new_page()
        told: list[str] = []
        page.on("console", lambda message: told.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: told.append(str(error)))
        page.goto(f"{address}/stores/tunes/{report_link('chord', 'auld-lang-syne', 12.5)}")
        page.get_by_role("heading", name="auld-lang-syne").first.wait_for()
        page.locator("canvas:visible").first.wait_for()
        assert page.locator("#main section").count() > 1
        assert told == []
        page.close()


def test_the_report_of_a_generation_that_is_gone_is_not_mixed_with_another(client, store):
    contents = client.get("/stores/onsets/report/contents.json").json()
    block = f"/stores/onsets/report/{contents['evaluations'][0]['metrics'][0]['score']}"
    assert client.get(block).headers["cache-control"].endswith("immutable")
    publish(store, "zoe")
    assert client.get(block).status_code == 404


def test_the_leaderboard_of_a_store_and_of_an_evaluation(client):
    whole = client.get("/stores/tunes.json").json()
    part = client.get("/stores/tunes/chord.json").json()
    assert [one["name"] for one in whole["evaluations"]] == ["chord", "chord_mirex2013"]
    assert part["evaluations"] == whole["evaluations"][:1]


def test_memory_for_answers_is_bounded(client, service):
    answers = service.answers
    answers._most_bytes = 40_000
    for track in range(30):
        client.get(f"/api/v1/stores/tunes/evaluations/chord/scores?metric=majmin&where=tempo > {track}")
    assert answers._bytes <= 40_000
    assert answers._bytes == sum(
        sum(map(len, key)) + len(one.body) + len(one.compressed or b"") for key, one in answers.kept.items()
    )


def test_scores_in_memory_are_bounded(store, demo_store):
    shelf = Stores({"onsets": store, "tunes": demo_store}, most_bytes=1)
    first = shelf.ask("onsets", lambda one: one)
    shelf.ask("tunes", lambda one: one)
    assert "boards" not in first.__dict__
    assert first.boards["onset"].sizes["system"] == 2


def test_an_answer_is_made_once_for_all_who_wait(service):
    client, made, begun = TestClient(create_app(service)), [], threading.Barrier(6)

    def make(snapshot: object) -> list[int]:
        made.append(1)
        return made

    def look() -> None:
        begun.wait()
        assert service.shelf.current("tunes").once("made", lambda: make(None)) == [1]

    threads = [threading.Thread(target=look) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert client.get("/health").status_code == 200


def test_too_many_who_wait_are_told_to_come_again(client, service):
    service.answers._waiting = 10**6
    answer = client.get("/stores/tunes/chord_mirex2013/")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")


@pytest.mark.slow
def test_pictures_of_tracks_are_drawn_once_for_all_who_ask_at_the_same_time(service):
    service.base_url = "https://lab.org/"
    drawn, names = [], ["greensleeves", "amazing-grace"]
    make = service.pictures._make
    service.pictures._make = lambda key, draw: (drawn.append(key), make(key, draw))[1]
    with running(create_app(service)) as address, ThreadPoolExecutor(6) as visitors:
        places = [f"{address}/stores/tunes/chord/tracks/{name}/" for name in names]
        pages = [visitors.submit(httpx2.get, place) for place in places]
        answers = [visitors.submit(httpx2.get, f"{place}lanes.png").result for place in places * 3]
        found = {(one().status_code, one().headers["etag"], one().content[:8]) for one in answers}
        assert len(found) == len(drawn) == 2
        assert {(status, data) for status, _, data in found} == {(200, b"\x89PNG\r\n\x1a\n")}
        known = httpx2.get(f"{places[0]}lanes.png", headers={"If-None-Match": answers[0]().headers["etag"]})
        assert (known.status_code, known.content) == (304, b"")
        assert httpx2.get(f"{places[0]}lanes.png").content == answers[0]().content
        assert len(drawn) == 2
        for name, page in zip(names, pages, strict=True):
            where = f"stores/tunes/chord/tracks/{name}/lanes.png"
            assert f'<meta property="og:image" content="https://lab.org/{where}">' in page.result().text
            assert f'<img src="/{where}"' in page.result().text
        service.pictures._under_way = {str(number): None for number in range(20)}
        busy = httpx2.get(f"{address}/stores/tunes/chord/standings.png")
        assert (busy.status_code, busy.headers["retry-after"]) == (503, "5")


@pytest.mark.parametrize("page", ["chord/tracks/none/", "none/tracks/greensleeves/", "chord/none/"])
def test_what_is_not_there_has_no_picture(client, page):
    for name in ("lanes.png", "standings.png"):
        assert client.get(f"/stores/tunes/{page}{name}").status_code == 404


def test_pictures_that_were_asked_for_last_are_kept():
    pictures = Pictures(most_bytes=10)

    async def draw() -> None:
        for key in "abc":
            assert await pictures.draw(key, lambda: b"1234") == b"1234"
            pictures.find("a")
        assert await pictures.draw("d", lambda: None) is None

    with ThreadPoolExecutor(1) as other:  # this thread may have the loop of a browser
        other.submit(asyncio.run, draw()).result()
    assert [pictures.find(key) for key in "abcd"] == [b"1234", None, b"1234", None]


def test_a_store_and_a_split_have_different_names(tmp_path, demo_store):
    path = tmp_path / "campaign.yaml"
    path.write_text(
        "campaign: Chords\n"
        "evaluations: [{task: chord, reference: '{track}.jams', estimates: '{track}.lab'}]\n"
        f"splits: {{tunes: dev}}\nstores: ['{demo_store}']\n"
    )
    with pytest.raises(MirflowError, match="the name 'tunes' is used for a store and a split"):
        open_service([path])


def test_answers_of_other_titles_have_other_tags(service):
    other = Answers(service.shelf, "another title")
    assert service.answers.generation(["tunes"]) != other.generation(["tunes"])


@pytest.mark.slow
def test_addresses_that_anybody_may_write_take_no_memory(client, service):
    long = "a" * 20_000
    for number in range(20):
        assert client.get(f"/?x={number}{long}").status_code == 200
        assert client.get(
            "/api/v1/stores/tunes/query", params={"metric": "majmin", "where": f"{number} < 1{' ' * 1_900}"}
        )
    answers = service.answers
    assert len(answers.kept) == 21  # the front page, and each query
    assert sum(map(len, (part for address in answers.front for part in address))) < len(long)
    assert answers._bytes > 20 * 1_900


def years(path: Path, *names: str, years: list[float] | None = None) -> Path:
    group = make_group([[[0.5 + place / 4]] for place, _ in enumerate(names)], systems=list(names))
    return write_store(path, {"ACE": group if years is None else group.assign_coords(year=("system", years))})


def test_stores_whose_systems_have_years_have_an_archive(tmp_path, demo_store):
    store = years(tmp_path / "s.zarr", "A", "B", "C", years=[2012.0, 2012.0, 2014.0])
    client = TestClient(create_app(Service("Years", {"s": store})))
    assert '<a href="/archive/">Archive</a>' in client.get("/").text
    page = client.get("/archive/").text
    assert 'href="/stores/s/ACE/"' in page
    assert "2012: 0.750, 2014: 1.000" in page
    assert [row["year"] for row in client.get("/archive.json").json()] == [2012, 2014]
    without = TestClient(create_app(Service("Demo", {"tunes": demo_store})))
    assert "Archive" not in without.get("/").text
    assert without.get("/archive/").status_code == 404


@pytest.mark.slow
def test_an_archive_shows_the_years_of_a_table_as_it_is_now(tmp_path):
    stores = {name: years(tmp_path / f"{name}.zarr", *"AB"[: int(name) - 2011]) for name in ("2012", "2013")}
    table = tmp_path / "years.csv"
    table.write_text("year,store\n2012,2012.zarr\n2013,2013.zarr\n")
    service = Service("Years", {"last": stores["2013"]}, archive=table)
    client = TestClient(create_app(service))
    page = client.get("/archive/").text
    assert re.findall(r'href="(/stores/[^"]*)"', page) == ["/stores/last/ACE/"]
    assert "2012: 0.500, 2013: 0.750" in page
    table.write_text("year,store,task,best\n2013,2013.zarr,,\n2014,,ACE,0.9\n")
    assert [row["year"] for row in client.get("/archive.json").json()] == [2013, 2014]
    table.write_text("year\n")
    assert client.get("/archive/").status_code == 404
    assert "Archive" in client.get("/").text


@pytest.mark.slow
def test_annotations_of_a_store_that_came_from_elsewhere_are_where_the_organiser_says(tmp_path):
    mirflow.run(write_dataset(tmp_path, tracks=1))
    shutil.copytree(tmp_path / ".store.zarr.d", tmp_path / "elsewhere" / ".store.zarr.d", symlinks=True)
    shutil.copytree(tmp_path / "store.zarr", tmp_path / "elsewhere" / "store.zarr", symlinks=True)
    moved = tmp_path / "elsewhere" / "store.zarr"
    drawn = {}
    for options in ([], ["--root", str(tmp_path)]):
        with Server(moved, tmp_path / "log", *options) as server:
            answer = urlopen(f"{server.address}/stores/store/report/contents.json")
            with answer:
                drawn[len(options)] = json.load(answer)["evaluations"][0]["timeline"]["note"]
    assert drawn == {0: "The annotations of these tracks are not on this server.", 2: ""}
    with pytest.raises(MirflowError, match="2 roots for 3 stores; give one for all of them, or one for each"):
        serve(["a", "b", "c"], roots=[tmp_path, tmp_path])
