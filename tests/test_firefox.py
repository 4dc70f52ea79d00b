"""Pages in Firefox, which the other tests of pages do not open: a report with a timeline, and a notebook's frame."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mirflow

from .datasets import write_dataset
from .firefox import Firefox

pytestmark = pytest.mark.slow
TABS = "[...document.querySelectorAll('#tabs a, #tabs button')]"
"""The tabs of a report, and the button that copies its address."""
WORDS = """[...document.querySelectorAll("h1, h2, h3, p, li, th, td, dt, dd, button, a, summary, text, label, output")]
    .filter(element => element.checkVisibility()).map(element => element.textContent.replace(/\\s+/g, " ").trim())"""
"""What can be seen, text by text: browsers differ in what they call the text of a whole page."""
DRAWN = """(() => {
    const canvas = document.querySelector('canvas[tabindex]');
    return canvas && new Set(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data).size > 9;
})()"""


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    found = shutil.which("firefox-esr") or shutil.which("firefox")
    if found is None:
        pytest.skip("no Firefox is installed")
    opened = Firefox(found, tmp_path_factory.mktemp("firefox") / "profile")
    yield opened
    opened.close()


@pytest.fixture
def address(firefox: Firefox, tmp_path: Path) -> str:
    """The address of a report, which Firefox shows."""
    mirflow.run(write_dataset(tmp_path))
    report = mirflow.report(tmp_path / "store.zarr", tmp_path / "report.html").path.as_uri()
    firefox.do("WebDriver:Navigate", url=report)
    firefox.until("'loaded' in document.documentElement.dataset")
    return report


@pytest.mark.usefixtures("address")
def test_a_report_draws_its_parts_and_a_timeline(firefox: Firefox) -> None:
    assert firefox.run("return document.querySelectorAll('.forest tbody tr').length") == 2
    assert firefox.run("return document.documentElement.scrollWidth <= innerWidth")
    firefox.run("document.querySelector('#tracks button.link').click()")
    firefox.until("document.querySelector('dialog[open] canvas[tabindex]') !== null")
    firefox.until(DRAWN)


def test_every_tab_reads_as_in_chromium(firefox: Firefox, browser: Any, address: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)
    page.wait_for_selector("html[data-loaded]", state="attached")
    names = firefox.run(f"return {TABS}.map(tab => tab.textContent)")
    assert len(names) >= 6
    for index, name in enumerate(names[:-1]):
        firefox.run(f"{TABS}[{index}].click()")
        page.evaluate(f"{TABS}[{index}].click()")
        assert firefox.run(f"return {WORDS}") == page.evaluate(WORDS), name
        assert firefox.run("return document.documentElement.scrollWidth <= innerWidth"), name
    page.close()


@pytest.mark.usefixtures("address")
def test_keys_of_the_timeline(firefox: Firefox) -> None:
    firefox.run(f"{TABS}.find(tab => tab.textContent == 'Tracks').click()")
    firefox.run("document.querySelector('#tracks button.link').click()")
    firefox.until("document.querySelector('dialog[open] canvas[tabindex]') !== null")
    firefox.press("w")
    firefox.until("location.hash.includes('loop=')")
    firefox.press(" ")
    firefox.until("[...document.querySelectorAll('dialog[open] button')].some(button => button.textContent == 'Stop')")
    firefox.press("\ue00c")
    firefox.until("document.querySelector('dialog[open]') === null")


def test_the_timeline_of_a_notebook_runs_in_its_frame(firefox: Firefox, tmp_path: Path) -> None:
    made = mirflow.timeline([0.5, 1.0, 1.5], {"oak": [0.52, 1.0]}, task="onset")
    (tmp_path / "cell.html").write_text(f"<!doctype html><title>cell</title>{made._repr_html_()}")
    firefox.do("WebDriver:Navigate", url=(tmp_path / "cell.html").as_uri())
    firefox.do("WebDriver:SwitchToFrame", id=0)
    firefox.until("'loaded' in document.documentElement.dataset")
    firefox.until(DRAWN)
    firefox.do("WebDriver:SwitchToFrame", id=None)
