"""What a search of a site finds, and what a page that is not there offers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ...commands import printed
from ...groups import random_group, write_store


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("searched")
    tracks = {"tracks": ["a b", "t1"], "track_meta": {"title": ["Été", None], "genre": ["Pop", "Jazz"]}}
    groups = {name: random_group(2, 2, 1, systems=["KO1", "x/y"], **tracks) for name in ("chord", "key")}
    store = write_store(folder / "tunes.zarr", groups)
    printed("site", store, "-o", folder / "site", "--timelines", "none", "--url", "https://lab.org/tunes/")
    return folder / "site"


def index_of(site: Path) -> dict[str, object]:
    before, _, text = (site / "search.js").read_text().partition(" = ")
    assert before == "globalThis.searchIndex"
    return json.loads(text.rstrip(";\n"))


def test_the_index_has_each_page_once_with_its_address_and_the_titles_of_tracks(site):
    index = index_of(site)
    assert index["left"] == {}
    found = {}
    for kind, where, before, after, names in index["groups"]:
        for given in names:
            name, own, *words = [given, given] if isinstance(given, str) else given
            assert where == "tunes"
            assert (site / (before + own + after)).is_file()
            found[kind, name] = (before + own + after, *words)
    assert found["evaluation", "key"] == ("stores/tunes/key/index.html", "Chord estimation")
    assert found["system", "x/y"] == ("stores/tunes/chord/systems/x~2Fy/index.html",)
    assert found["track", "a b"] == ("stores/tunes/chord/tracks/a~20b/index.html", "Été")
    assert len(found) == 6


def test_without_scripts_all_names_are_on_a_page(site):
    text = (site / "all/index.html").read_text()
    for name in ("../stores/tunes/key/systems/KO1/index.html", "../stores/tunes/key/tracks/index.html"):
        assert f'href="{name}"' in text


def test_the_page_for_addresses_without_a_file_has_links_from_the_root_of_the_host(site):
    text = (site / "404.html").read_text()
    for link in ('action="/tunes/all/"', 'data-index="/tunes/search.js"', 'href="/tunes/static/site.'):
        assert link in text
    assert '="static/' not in text
