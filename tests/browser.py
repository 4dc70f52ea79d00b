"""A real browser, and pages to look at in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .waiting import MILLISECONDS

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless browser of the system; tests that need it are skipped where there is none.

    It keeps an event loop running as long as it is open, and tests of other modules may have to run their own.
    """
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        yield launched
        launched.close()


ALL_TABS = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("#main > .away { display: block !important; } .counted > div { position: static !important; } " +
    ".counted::details-content { content-visibility: visible; block-size: auto; }");
  document.adoptedStyleSheets = [sheet];
}"""


def unfold(page: Any) -> None:
    """Show all tabs at once, all choices, and the table of systems, which is folded below the chart."""
    page.evaluate(ALL_TABS)
    page.evaluate("document.querySelector('#leaderboard details:not([open], .take) > summary')?.click()")


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a file; at the end of the test there must have been no error and nothing loaded but the file."""
    opened = []
    troubles: list[str] = []
    requests: list[str] = []
    files: set[str] = set()

    def open_file(path: Path, at: str = "", *, unfolded: bool = True, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        opened.append(context)
        if unfolded:
            context.add_init_script(f"({ALL_TABS})()")
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.on("console", lambda message: troubles.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        files.add(path.absolute().as_uri())
        page.goto(path.absolute().as_uri() + at)
        page.wait_for_selector("html[data-loaded]", state="attached")
        if unfolded:
            unfold(page)
        return page

    yield open_file
    for context in opened:
        context.close()
    assert troubles == []
    # What begins with "blob:" was made by the page, or given to it by its visitor.
    assert {url.partition("#")[0] for url in requests if not url.startswith("blob:")} == files
