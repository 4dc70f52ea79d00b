"""A site on disk: whole, replaced as a whole, without broken links, the same whenever it is built."""

from __future__ import annotations

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import mirflow.campaign.site.build as build
from mirflow.campaign.site.build import write_site
from mirflow.campaign.site.front_page import MOST, Entry, SearchIndex
from mirflow.campaign.site.pages import environment, file_of
from mirflow.errors import QueryError, StoreError
from mirflow.progress import Progress

from ...commands import invoke, printed, refused
from ...groups import make_group, random_group, write_store

ATOM = "{http://www.w3.org/2005/Atom}"
HOSTILE = ["<script>alert(1)</script>", 'a"><img src=x onerror=alert(1)>', "../../x/y", "\x00\ud7ff&amp;", "ab‮txt"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    groups = {"chord": random_group(4, 12, 3), "beat": random_group(3, 10, 2, seed=1)}
    return write_store(tmp_path_factory.mktemp("site") / "campaign.zarr", groups)


@pytest.fixture(scope="module")
def site(store, demo_store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("built") / "site"
    write_site([store, demo_store], folder, timelines=1)
    return folder


class Links(HTMLParser):
    """The links and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Keep the tag and where it leads."""
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src", "action", "data-index") and value]
        assert not [name for name, _ in attrs if name == "style" or name.startswith("on")]
        assert tag != "script" or "src" in dict(attrs) or "type" in dict(attrs)

    def handle_data(self, data):
        """Keep the text."""
        self.text += data


def files_of(folder: Path) -> list[Path]:
    return sorted(one for one in folder.rglob("*") if one.is_file())


def crawl(folder: Path) -> set[Path]:
    """All files that links lead to from the front page; there must be none that leads nowhere.

    Hosts serve 404.html at addresses without a file.
    """
    seen, waiting = {folder / "404.html"}, [folder / "index.html"]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        assert page.is_file(), page
        seen.add(page)
        # The report is one page by itself.
        if page.suffix != ".html" or 'id="contents"' in (text := page.read_text()):
            continue
        for link in Links(text).links:
            path, _, _ = link.partition("#")
            if not path:
                continue
            assert "://" not in path
            assert not path.startswith("/")
            waiting.append(Path(os.path.normpath(page.parent / urllib.parse.unquote(path))))
    return seen


@pytest.mark.slow
def test_every_file_is_reached_by_links_that_lead_somewhere(site):
    assert crawl(site) == {*files_of(site)} - {site / "site.json"}
    assert len(files_of(site)) > 40


@pytest.mark.slow
def test_pages_of_tracks_have_a_picture_of_those_most_worth_looking_at(site, tmp_path, demo_store):
    pictures = sorted((site / "stores/tunes/chord/tracks").rglob("*.png"))
    assert len(pictures) == 1
    assert pictures[0].read_bytes().startswith(b"\x89PNG")
    page = (pictures[0].parent / "index.html").read_text()
    assert 'src="lanes.png"' in page
    assert re.search(
        r'#evaluation=chord&amp;track=[\w-]+&amp;time=[\d.]+&amp;ear=\w+">Open at \d+:\d\d, where \w+ is worst', page
    )
    assert "og:image" not in page
    assert 'href="../../../chord_mirex2013/tracks/' in page
    # Previews of links need full addresses.
    write_site([demo_store], tmp_path / "site", timelines=1, url="https://lab.org/tunes")
    name = f"stores/tunes/chord/tracks/{pictures[0].parent.name}/"
    page = (tmp_path / "site" / name / "index.html").read_text()
    for meta in (f'og:image" content="https://lab.org/tunes/{name}lanes.png"', f'href="https://lab.org/tunes/{name}"'):
        assert meta in page
    assert "tunes/stores/tunes/chord/standings.png" in (tmp_path / "site/stores/tunes/chord/index.html").read_text()


def test_tables_as_json_are_those_of_exports(site, store):
    exported = json.loads(printed("export", store, "-"))
    assert json.loads((site / "stores/campaign.json").read_text()) == exported
    for evaluation in exported["evaluations"]:
        own = json.loads((site / f"stores/campaign/{evaluation['name']}.json").read_text())
        assert own["evaluations"] == [evaluation]
        page = Links((site / f"stores/campaign/{evaluation['name']}/index.html").read_text()).text
        for system in evaluation["systems"]:
            assert system["name"] in page
            assert f"{system['scores'][evaluation['headline']]['value']:.3f}" in page


@pytest.mark.slow
def test_the_same_stores_make_the_same_site_built_anew_or_over_itself(site, store, demo_store, tmp_path):
    again = tmp_path / "again"
    for _ in range(2):
        report = write_site([store, demo_store], again, timelines=1)
        assert report.changes == []
        assert [one.relative_to(again) for one in files_of(again)] == [one.relative_to(site) for one in files_of(site)]
        for one in files_of(site):
            assert filecmp.cmp(one, again / one.relative_to(site), shallow=False), one


def test_what_changed_since_the_site_before_is_on_the_front_page_and_in_the_feed(tmp_path):
    before = {"chord": make_group([[[0.5]], [[0.75]]], systems=["ash", "elm"])}
    after = {"chord": make_group([[[0.5]], [[0.7]], [[0.875]]], systems=["ash", "elm", "oak"])}
    path, folder = tmp_path / "s.zarr", tmp_path / "site"
    write_site([write_store(path, before)], folder, url="https://example.org/results")
    first = ElementTree.parse(folder / "feed.xml").getroot()
    shutil.rmtree(path, ignore_errors=True)
    report = write_site([write_store(tmp_path / "new" / "s.zarr", after)], folder, url="https://example.org/results")
    (change,) = report.changes
    assert change.title == "chord (s): 1 new system, another leader, other scores of 1 system"
    assert change.details == [
        "new: oak, 0.875, rank 1 of 3",
        "leads: oak; before: elm",
        "elm: majmin 0.700, before 0.750 (-0.050)",
    ]
    front = Links((folder / "index.html").read_text()).text
    assert all(line in front for line in (change.title, *change.details))
    feed = ElementTree.parse(folder / "feed.xml").getroot()
    entries = feed.findall(f"{ATOM}entry")
    assert [one.findtext(f"{ATOM}title") for one in entries] == [change.title, "chord (s): new, 2 systems on 1 track"]
    assert entries[1].findtext(f"{ATOM}id") == first.find(f"{ATOM}entry").findtext(f"{ATOM}id")
    assert feed.findtext(f"{ATOM}id") == first.findtext(f"{ATOM}id")
    assert entries[0].find(f"{ATOM}link").get("href") == "https://example.org/results/stores/s/chord/index.html"
    # The history stays when nothing changes, and names what is gone.
    assert write_site({"t": tmp_path / "new" / "s.zarr"}, folder).changes[-1].title == "chord (s): removed"
    assert len(ElementTree.parse(folder / "feed.xml").getroot().findall(f"{ATOM}entry")) == 4


def test_the_feed_has_what_atom_demands(site):
    feed = ElementTree.parse(site / "feed.xml").getroot()
    assert feed.tag == f"{ATOM}feed"
    assert feed.findtext(f"{ATOM}author/{ATOM}name")
    ids = [feed.findtext(f"{ATOM}id")]
    for one in (feed, *feed.findall(f"{ATOM}entry")):
        assert len(one.findall(f"{ATOM}title")) == len(one.findall(f"{ATOM}updated")) == 1
        assert np.datetime64(one.findtext(f"{ATOM}updated").removesuffix("+00:00"))
        assert one.findtext(f"{ATOM}updated").endswith("+00:00")
        ids += [own.text for own in one.findall(f"{ATOM}id")][: one is not feed]
        (alternate,) = [own for own in one.findall(f"{ATOM}link") if own.get("rel") == "alternate"]
        assert (site / alternate.get("href")).is_file()
    assert len(set(ids)) == len(ids) == 5
    assert all(one.startswith("tag:localhost,20") for one in ids)


def test_names_are_text_and_no_markup_and_no_paths(tmp_path):
    group = make_group(np.random.default_rng(0).random((3, 5, 1)), systems=HOSTILE[:3], tracks=HOSTILE)
    path = write_store(tmp_path / "s.zarr", {"chord": group})
    write_site([path], tmp_path / "site", title=HOSTILE[0], note=HOSTILE[1])
    found = files_of(tmp_path / "site")
    assert len(crawl(tmp_path / "site")) == len(found) - 1
    assert all(len(one.relative_to(tmp_path / "site").parts) <= 6 for one in found)
    for one in found:
        if one.suffix == ".html" and one.parent.name != "s":
            page = Links(one.read_text())
            assert page.tags.count("script") == 2
            assert "img" not in page.tags
            assert "script-src 'self'; style-src 'self';" in one.read_text()
            assert HOSTILE[0] in page.text
    ElementTree.parse(tmp_path / "site" / "feed.xml")


@pytest.mark.slow
def test_pages_of_names_that_differ_in_case_alone_are_different_files_on_any_disk(tmp_path):
    group = make_group(np.random.default_rng(0).random((2, 2, 1)), systems=["KO1", "ko1"], tracks=["a", "A"])
    stores = {name: write_store(tmp_path / f"{name}.zarr", {"chord": group}) for name in ("x", "X")}
    write_site(stores, tmp_path / "site")
    found = {str(one).casefold() for one in files_of(tmp_path / "site")}
    assert len(found) == len(files_of(tmp_path / "site"))
    assert len(crawl(tmp_path / "site")) == len(found) - 1
    # The next site finds the tables of this one, in which nothing has changed.
    assert write_site(stores, tmp_path / "site").changes == []


def test_what_is_not_a_site_is_never_replaced(store, tmp_path):
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter.tex").write_text("years of work")
    with pytest.raises(
        QueryError, match=r"contains files that are not a mirflow site \(chapter.tex\); choose a new folder"
    ):
        write_site([store], folder)
    (folder / "site.json").write_text('{"schema": "another"}')
    with pytest.raises(QueryError, match="is not the record of a site"):
        write_site([store], folder)
    with pytest.raises(QueryError, match="is a file"):
        write_site([store], folder / "chapter.tex")
    with pytest.raises(QueryError, match="does not exist"):
        write_site([store], tmp_path / "a" / "b")
    assert (folder / "chapter.tex").read_text() == "years of work"
    assert [one.name for one in tmp_path.iterdir()] == ["thesis"]


@pytest.mark.slow
def test_files_of_the_user_stay_in_the_folder(store, tmp_path):
    folder = tmp_path / "site"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref")
    write_site([store], folder)
    (folder / "CNAME").write_text("example.org")
    (folder / "stores" / "old.json").write_text("{}")
    write_site([store], folder)
    assert (folder / ".git" / "HEAD").read_text() == "ref"
    assert (folder / "CNAME").read_text() == "example.org"
    assert not (folder / "stores" / "old.json").exists()
    assert [one.name for one in tmp_path.iterdir()] == ["site"]


@pytest.mark.slow
def test_a_site_stays_as_it_was_where_the_next_one_fails(site, store, tmp_path, monkeypatch):
    folder = tmp_path / "site"
    shutil.copytree(site, folder)
    with pytest.raises(StoreError, match="no such store"):
        write_site([store, tmp_path / "none.zarr"], folder)
    # The power may fail between any two steps; the next build begins with what is there.
    (folder / "CNAME").write_text("example.org")
    for step in ("rename", "rmtree"):
        with monkeypatch.context() as patched:
            if step == "rename":
                patched.setattr(
                    build, "put_in_place", lambda new, old: old.rename(old.with_name(f".{old.name}.previous"))
                )
            else:
                patched.setattr(build.shutil, "rmtree", lambda path: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt) if step == "rmtree" else _nothing():
                write_site([store], folder)
        write_site([store], folder)
        assert (folder / "CNAME").read_text() == "example.org"
        assert {*crawl(folder)} | {folder / "site.json", folder / "CNAME"} == {*files_of(folder)}
        assert [one.name for one in tmp_path.iterdir()] == ["site"]


class _nothing:
    def __enter__(self): ...
    def __exit__(self, *error): ...


def test_what_a_killed_build_left_is_removed_by_the_next_one(store, tmp_path):
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    left, alive = (tmp_path / f".site.{pid}.new" for pid in (int(dead.stdout), os.getppid()))
    for folder in (left, alive):
        (folder / "stores").mkdir(parents=True)
    write_site([store], tmp_path / "site", timelines="none")
    assert not left.exists()
    assert alive.exists()


@pytest.mark.slow
def test_the_command_says_what_it_wrote_and_what_changed(store, tmp_path):
    first = invoke("site", store, "-o", tmp_path / "site", "--title", "Chords, all the year round", code=0)
    assert "changed" not in first.output
    assert "index.html written: " in first.output
    assert "Chords, all the year round" in (tmp_path / "site" / "index.html").read_text()
    again = invoke("site", store, "-o", tmp_path / "site", "--label", "autumn", code=0)
    assert "changed: chord (autumn): new, 4 systems on 12 tracks" in again.output
    assert (tmp_path / "site" / file_of("evaluation", store="autumn", evaluation="chord")).is_file()
    assert "expected a full URL such as https://" in refused(
        "site", store, "-o", tmp_path / "site", "--url", "example.org"
    )
    assert "1 labels for 2 stores" in refused("site", store, store, "-o", tmp_path / "x", "--label", "a")


@pytest.mark.slow
def test_the_store_at_work_is_named_with_its_number(store, tmp_path):
    told = []

    class Told(Progress):
        def stage(self, name):
            told.append(f"{self.about}{name}")

    write_site({"a": store, "b": store}, tmp_path / "site", timelines="none", progress=Told())
    assert {"a (1 of 2): writing the tables", "b (2 of 2): reading the scores", "writing the front page"} <= {*told}


def test_without_jinja2_the_command_says_what_to_install(store, tmp_path, monkeypatch):
    environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert "pages of results need Jinja2: pip install 'mirflow[serve]'" in refused("site", store, "-o", tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_stores_of_any_name_have_pages(store, tmp_path):
    named = tmp_path / os.fsdecode(b"caf\xe9 & more.zarr")
    named.symlink_to(os.path.realpath(store))
    write_site([named], tmp_path / "site", timelines="none")
    assert len(crawl(tmp_path / "site")) == len(files_of(tmp_path / "site")) - 1
    assert "caf? &amp; more" in (tmp_path / "site" / "index.html").read_text()


def test_a_search_says_how_many_names_it_leaves_out():
    index = SearchIndex()
    index.add(Entry("track", f"t{at}", "tunes", f"tunes/t{at}/index.html") for at in range(MOST["track"] + 3))
    ((_, _, _, _, names),) = json.loads(index.script().partition(" = ")[2].rstrip(";\n"))["groups"]
    assert (len(names), names[-1]) == (20_000, "t19999")
    assert '"left":{"track":3}' in index.script()
