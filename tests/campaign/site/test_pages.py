"""Addresses lead to the same pages on disk and on a server, whatever names are made of."""

from __future__ import annotations

import posixpath
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from mirflow.campaign.site.pages import (
    ADDRESSES,
    DiskLinks,
    LiveLinks,
    Pages,
    asset_name,
    asset_names,
    file_of,
    slug,
    twins,
)

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=300)
SAFE = frozenset(string.ascii_letters + string.digits + "-_.~")


@given(st.lists(NAMES, min_size=2, max_size=8, unique=True))
def test_files_of_different_names_differ_and_have_names_that_every_system_takes(names):
    slugs = [slug(name) for name in names]
    assert len(set(slugs)) == len(names)
    for one in slugs:
        assert set(one) <= SAFE
        assert 0 < len(one.encode()) < 200
        assert not one.startswith(".")
        assert not one.endswith(".")


@given(st.lists(st.sampled_from(["KO1", "ko1", "Ko1", "CB3", "ß", "SS"]), min_size=1, unique=True))
def test_files_differ_where_a_disk_ignores_case(names):
    own = twins(names)
    assert len({slug(name, twin=name in own).lower() for name in names}) == len(names)


@pytest.mark.parametrize("name", ["..", ".", "con", "NUL.txt", "index.html", "a/b", "chord.json", "", "x.", "~2E"])
def test_names_that_would_be_other_files_are_encoded(name):
    assert slug(name) not in ("", ".", "..", name)


@given(NAMES, NAMES, NAMES)
def test_links_on_disk_lead_from_any_page_to_the_file_of_another(store, evaluation, track):
    here = file_of("track", store=store, evaluation=evaluation, track=track)
    links = DiskLinks(here)
    for name, parts in (
        ("front", {}),
        ("store", {"store": store}),
        ("store", {"store": evaluation}),
        ("tracks", {"store": store, "evaluation": evaluation}),
        ("track", {"store": store, "evaluation": evaluation, "track": store}),
    ):
        found = posixpath.normpath(posixpath.join(posixpath.dirname(here), links.url(name, **parts)))
        assert found == file_of(name, **parts)


def test_links_of_a_server_are_the_addresses_with_names_as_one_segment():
    links = LiveLinks("/results")
    assert links.url("front") == "/results/"
    assert links.url("track", store="a b", evaluation="c/d", track="é?#") == (
        "/results/stores/a%20b/c%2Fd/tracks/%C3%A9%3F%23/"
    )
    assert links.url("asset", name="site.css") == f"/results/static/{asset_name('site.css')}"
    assert all(address.startswith("/") for address in ADDRESSES.values())


def test_assets_are_named_by_their_contents():
    for name in asset_names():
        stem, _, suffix = name.rpartition(".")
        named = asset_name(name)
        assert named.startswith(f"{stem}.")
        assert named.endswith(f".{suffix}")
        assert len(named) == len(name) + 13


def test_text_is_escaped_and_names_that_a_template_lacks_are_errors():
    pages = Pages(LiveLinks(), "<b>Chords & more</b>", live=True)
    with pytest.raises(UndefinedError):
        pages.render("front.html")
    viewer = {"name": "<i>ada</i>", "role": "reader", "csrf": "token"}
    base = pages.render("base.html", viewer=viewer, here="front")
    assert "<b>" not in base
    assert "<i>" not in base
    assert "&lt;b&gt;Chords &amp; more&lt;/b&gt;" in base
    assert '<a href="/" aria-current="page">Results</a>' in base
