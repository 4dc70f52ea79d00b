"""Pages of a site in a real browser, opened from disk: styles, links, keyboard, phones, print, and without barriers."""

from __future__ import annotations

import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from mirflow.campaign.site.build import write_site

from ...accessibility import PHONE, assert_accessible, assert_fits, assert_prints_whole
from ...groups import make_group, random_group, write_store
from ...waiting import until
from .test_archive import MIREX

pytestmark = pytest.mark.slow
PAGES = (
    "index.html",
    "all/index.html",
    "archive/index.html",
    "stores/tunes/index.html",
    "stores/tunes/chord/index.html",
    "stores/tunes/chord/systems/ash/index.html",
    "stores/tunes/chord/tracks/index.html",
    "stores/tunes/chord/tracks/auld-lang-syne/index.html",
    "stores/many/chord/index.html",
)


@pytest.fixture(scope="module")
def stores(demo_store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("browsed")
    tunes = folder / "tunes.zarr"
    tunes.symlink_to(demo_store)
    names = [f"a rather long name of system {number}" for number in range(12)]
    return [tunes, write_store(folder / "many.zarr", {"chord": random_group(12, 4, 4, systems=names)})]


@pytest.fixture(scope="module")
def site(stores):
    folder = stores[0].parent / "site"
    write_site(stores, folder, archive=MIREX)
    return folder


@pytest.fixture
def open_page(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    troubles: list[str] = []

    def open_page(path, at="", **size):
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("requestfailed", lambda request: troubles.append(request.url))
        if size:
            page.set_viewport_size(size)
        page.goto(path.as_uri() + at)
        if page.locator("script#contents").count():  # a report, which is drawn after it was loaded
            page.wait_for_selector("html[data-loaded]", state="attached")
        return page

    yield open_page
    context.close()
    assert troubles == []


@pytest.mark.parametrize("given", ["all", "aggregates"])
def test_every_page_has_no_barriers_fits_on_a_phone_and_prints_whole(stores, site, open_page, tmp_path, given):
    folder = site
    if given == "aggregates":
        folder = tmp_path / "guarded"
        write_site(stores[:1], folder, references=False, only_aggregates=True)
    files = sorted({*folder.rglob("*.html")} - {folder / "404.html"})  # its links begin at the root of a host
    assert {*PAGES} <= {file.relative_to(folder).as_posix() for file in files} or given == "aggregates"
    for file in files:
        page = open_page(file)
        assert page.evaluate("getComputedStyle(document.body).maxWidth") == (
            "1352px" if page.locator("#tabs").count() else "1180px"
        )
        assert_accessible(page)
        assert_prints_whole(page)
        page.set_viewport_size(PHONE)
        assert_fits(page)
        page.close()


def test_a_reader_goes_from_the_front_page_to_a_second_of_a_track(site, open_page):
    page = open_page(site / "index.html")
    page.locator("h3 a[href='stores/tunes/chord/index.html']").click()
    page.get_by_role("link", name="All 7 tracks").click()
    page.get_by_role("link", name="amazing-grace").click()
    assert page.get_by_role("heading", level=1).inner_text() == "amazing-grace"
    page.get_by_role("link", name="Timeline in the report").click()
    page.wait_for_selector("dialog[open]")
    assert "amazing-grace" in page.locator("dialog h2").inner_text()
    second = open_page(site / "stores/tunes/index.html", "#track=amazing-grace&time=3.5")
    second.wait_for_selector("dialog[open]")
    assert "0:03.5" in second.locator("dialog .clock").inner_text()
    second.keyboard.press("Escape")
    second.get_by_role("navigation", name="Other pages").get_by_role("link", name="Results").click()
    assert second.get_by_role("heading", level=1).inner_text() == "Evaluation results"


def test_everything_is_reached_by_keyboard(site, open_page):
    page = open_page(site / "stores/many/chord/index.html", width=600, height=800)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("(document.activeElement.ariaLabel || document.activeElement.textContent).trim()"))
    assert "Systems by Majmin" in seen
    assert "a rather long name of system 3" in seen
    region = page.get_by_role("region", name="All metrics of all systems")
    region.focus()
    page.keyboard.press("ArrowRight")
    until(lambda: page.evaluate("document.activeElement.scrollLeft > 0"))


def test_a_search_is_by_keyboard_and_forgives_typing_errors(site, open_page):
    page = open_page(site / "stores/tunes/chord/tracks/index.html")
    page.keyboard.press("/")
    page.keyboard.type("amaz")
    page.get_by_role("option", name="amazing-grace", selected=True).wait_for()
    page.keyboard.press("Escape")
    assert page.get_by_role("option").count() == 0
    page.locator("form.search input").fill("amazing-gr")
    page.get_by_role("option", name="amazing-grace", selected=True).wait_for()
    page.locator("form.search input").fill("lang-s")  # not the beginning of a name
    page.get_by_role("option", name="auld-lang-syne", selected=True).wait_for()
    page.locator("form.search input").fill("long system 1")
    page.get_by_text("3 pages.").wait_for()  # 1, 10 and 11
    assert_accessible(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.get_by_role("option", selected=True).inner_text().startswith("a rather long name of system 1")
    page.locator("form.search input").fill("greenslevees")
    page.get_by_text("No page has this name. The nearest:").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/tracks/greensleeves/index.html")


class Host(SimpleHTTPRequestHandler):
    """A host of static pages, which answers with 404.html where there is no file."""

    def log_message(self, *words): ...

    def send_error(self, code, message=None, explain=None):
        data = (Path(self.directory) / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(data)


def test_an_address_without_a_page_offers_those_with_similar_names(site, browser):
    with ThreadingHTTPServer(("localhost", 0), partial(Host, directory=site)) as host:
        Thread(target=host.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"http://localhost:{host.server_port}/stores/tunes/chord/tracks/greenslevees/index.html")
        page.get_by_role("link", name="greensleeves").wait_for()
        assert page.get_by_role("heading", level=1).inner_text() == "Page not found"
        assert_accessible(page)
        page.get_by_role("link", name="greensleeves").click()
        page.wait_for_url("**/stores/tunes/chord/tracks/greensleeves/index.html")
        page.close()
        host.shutdown()


def test_heads_sort_tables_and_long_ones_are_cut(open_page, tmp_path):
    scores = np.arange(130.0)[None, :, None] / 130
    write_site([write_store(tmp_path / "s.zarr", {"chord": make_group(scores)})], tmp_path / "site", timelines="none")
    page = open_page(tmp_path / "site/stores/s/chord/tracks/index.html")
    rows, mean = page.locator("tbody tr:visible th"), page.get_by_role("columnheader", name="Mean")
    assert (rows.count(), rows.first.inner_text()) == (100, "t0")
    for order, first in (("descending", "t129"), ("ascending", "t0"), (None, "t0")):
        mean.get_by_role("button").press("Enter")
        assert (mean.get_attribute("aria-sort"), rows.first.inner_text()) == (order, first)
    page.get_by_role("columnheader", name="Track").get_by_role("button").press("Enter")
    assert rows.nth(10).inner_text() == "t10"
    page.get_by_role("button", name="Show all 130 rows").click()
    assert rows.count() == 130


def test_printed_tables_are_whole_and_without_navigation(site, open_page):
    page = open_page(site / "stores/many/chord/index.html")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.table')).overflowX") == "visible"
    assert not page.locator(".top nav").is_visible()
    assert page.locator("table").first.is_visible()


def test_a_site_is_moved_as_it_is(site, open_page, tmp_path):
    moved = shutil.copytree(site, tmp_path / "a folder" / "é")
    page = open_page(moved / "stores/tunes/chord/index.html")
    page.get_by_role("link", name="oak").first.click()
    assert page.get_by_role("heading", level=1).inner_text() == "oak Chord estimation"
