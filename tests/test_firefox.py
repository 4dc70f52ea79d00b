"""Pages in Firefox, which the other tests of pages do not open: a report with a timeline, and a notebook's frame."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import mirflow

from .datasets import write_dataset
from .firefox import Firefox

pytestmark = pytest.mark.slow
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


def test_a_report_draws_its_parts_and_a_timeline(firefox: Firefox, tmp_path: Path) -> None:
    mirflow.run(write_dataset(tmp_path))
    mirflow.report(tmp_path / "store.zarr", tmp_path / "report.html")
    firefox.do("WebDriver:Navigate", url=(tmp_path / "report.html").as_uri())
    firefox.until("'loaded' in document.documentElement.dataset")
    assert firefox.run("return document.querySelectorAll('.forest tbody tr').length") == 2
    assert firefox.run("return document.documentElement.scrollWidth <= innerWidth")
    firefox.run("document.querySelector('#tracks button.link').click()")
    firefox.until("document.querySelector('dialog[open] canvas[tabindex]') !== null")
    firefox.until(DRAWN)


def test_the_timeline_of_a_notebook_runs_in_its_frame(firefox: Firefox, tmp_path: Path) -> None:
    made = mirflow.timeline([0.5, 1.0, 1.5], {"oak": [0.52, 1.0]}, task="onset")
    (tmp_path / "cell.html").write_text(f"<!doctype html><title>cell</title>{made._repr_html_()}")
    firefox.do("WebDriver:Navigate", url=(tmp_path / "cell.html").as_uri())
    firefox.do("WebDriver:SwitchToFrame", id=0)
    firefox.until("'loaded' in document.documentElement.dataset")
    firefox.until(DRAWN)
    firefox.do("WebDriver:SwitchToFrame", id=None)
