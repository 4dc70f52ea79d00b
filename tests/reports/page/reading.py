"""What tests read off a page."""

from __future__ import annotations

import json
import math
import re
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any


def values_in(page: Any, table: str = "#leaderboard table:first-of-type") -> dict[str, list[float]]:
    """The exact numbers behind the cells of a table, by the name of the row."""
    rows = page.locator(f"{table} tbody tr").evaluate_all(
        """rows => rows.map(row => [row.querySelector("th").firstChild.textContent,
        [...row.querySelectorAll("[data-value]")].map(cell => cell.dataset.value)])"""
    )
    return {name: [float(value) if value != "NaN" else math.nan for value in values] for name, values in rows}


def let_draw(page: Any) -> None:
    """Wait until a timeline is drawn: sizes are measured in one frame, and the drawing is of the next."""
    page.evaluate("async () => { for (let frame = 0; frame < 4; frame++) await new Promise(requestAnimationFrame); }")


def choose(page: Any, name: str, value: str) -> None:
    """Choose in the bar on top, and wait until the page is drawn."""
    page.evaluate("() => { delete document.documentElement.dataset.drawn; }")
    page.select_option(f"#controls select[name={name}]", value)
    page.wait_for_selector("html[data-drawn]", state="attached")


def contents_of(path: Path) -> dict[str, Any]:
    """What a page knows at once."""
    found = re.search(r'<script type="application/json" id="contents">(.*?)</script>', path.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def block_of(path: Path, number: int) -> bytes:
    """One of the compressed parts of a page."""
    found = re.search(rf'id="block-{number}">([^<]*)<', path.read_text())
    assert found is not None
    return zlib.decompress(b64decode(found[1]))


def menu(page: Any, part: str) -> Any:
    box = page.locator(f"#{part} > details.take")
    if box.get_attribute("open") is None:
        box.locator("summary").click()
    return box


def copied(page: Any, part: str, form: str) -> str:
    """The text that a menu copies."""
    page.evaluate("() => { window.copied = ''; }")
    menu(page, part).get_by_role("button", name=form, exact=True).click()
    page.wait_for_function("() => window.copied")
    return str(page.evaluate("() => window.copied"))
