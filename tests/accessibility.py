"""Pages without barriers, as far as axe-core finds any."""

from __future__ import annotations

from typing import Any

import pytest

OPTIONS = {"resultTypes": ["violations"], "preload": False}
"""Style sheets are not fetched again, which a browser refuses for files."""
SCHEMES = ("light", "dark")
OF_COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
"""What another colour scheme can change."""
PHONE = {"width": 390, "height": 844}


def assert_accessible(page: Any, *, schemes: tuple[str, ...] = SCHEMES) -> None:
    """Fail with what axe-core finds on a page of Playwright, in each colour scheme; the page's own policy may forbid
    scripts, as axe-core comes through the browser's debugger.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is missing").Axe()
    found = {}
    for number, scheme in enumerate(schemes):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        for one in axe.run(page, options={**OPTIONS, **(OF_COLOURS if number else {})}).response["violations"]:
            places = "\n".join(f"    {node['html'][:200]}\n      {node['failureSummary']}" for node in one["nodes"][:5])
            found[scheme, one["id"]] = f"{scheme}: {one['id']}: {one['help']}\n{places}"
    page.emulate_media(color_scheme=None)
    assert not found, f"{page.url}\n" + "\n".join(found.values())


def assert_fits(page: Any) -> None:
    """Fail if a page has to be scrolled sideways; what is wide scrolls in a box of its own."""
    width, room = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width <= room, f"{page.url}: {width} px wide on a screen of {room} px"


PAPER = {"width": 718, "height": 1046}
"""What a browser prints on, in the pixels of style sheets: A4 without margins."""
SHRUNK = 1.6
"""How much a browser may make a page smaller so that its width is that of the paper; it does so up to 2."""
_CUT = """() => [...document.querySelectorAll("table, figure, svg, pre")].flatMap((whole) => {
  if (!whole.checkVisibility()) return [];
  const cut = [];
  for (let box = whole.parentElement; box && box !== document.documentElement; box = box.parentElement)
    if (getComputedStyle(box).overflowX !== "visible" && box.scrollWidth > box.clientWidth + 1)
      cut.push(`${box.className || box.tagName} cuts ${box.scrollWidth - box.clientWidth} px`);
  for (const cell of whole.querySelectorAll("th, td"))
    if (getComputedStyle(cell).overflowX !== "visible" && cell.scrollWidth > cell.clientWidth + 1)
      cut.push(`cell cut: ${cell.textContent.trim()}`);
  return cut;
})"""


def assert_prints_whole(page: Any) -> None:
    """Fail if a table or figure is cut on paper, or is wider than a browser makes it fit."""
    before = page.viewport_size
    page.emulate_media(media="print")
    page.set_viewport_size(PAPER)
    cut = page.evaluate(_CUT)
    width = page.evaluate("document.documentElement.scrollWidth")
    page.emulate_media(media="screen")
    page.set_viewport_size(before)
    assert not cut, f"{page.url}, printed: {cut[:5]}"
    assert width <= SHRUNK * PAPER["width"], f"{page.url}: printed {width} px wide on {PAPER['width']} px of paper"
