"""What can be taken away of the pages of a site: the same menu as in reports."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands import printed
from tests.groups import make_group, write_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(5)
    score = rng.uniform(0.4, 0.7, (1, 30, 1)) + rng.normal(0, 0.03, (3, 30, 1))
    group = make_group(score, metrics=["majmin"], systems=["oak", "elm", "fir"], weight=np.ones(score.shape))
    folder = tmp_path_factory.mktemp("site")
    path = write_store(folder / "x.zarr", {"chord": group})
    printed("site", path, "-o", folder / "site", "--timelines", "none")
    return path


def copied(page: Any, menu: Any, form: str) -> str:
    page.evaluate("() => { window.copied = ''; }")
    menu.evaluate("menu => { menu.open = true; }")
    menu.get_by_role("button", name=form, exact=True).click()
    page.wait_for_function("() => window.copied")
    return str(page.evaluate("() => window.copied"))


def test_tables_have_all_digits_and_the_command_gives_them(store, browser, monkeypatch):
    context = browser.new_context()
    page = context.new_page()
    page.goto((store.parent / "site/stores/x/chord/index.html").as_uri())
    page.evaluate("() => { navigator.clipboard.writeText = async text => { window.copied = text; }; }")
    menus = page.locator("details.take")
    assert menus.count() == page.locator("#main table").count()
    monkeypatch.chdir(store.parent)
    words = shlex.split(copied(page, menus.first, "Command"))
    values = {row["system"]: row for row in json.loads(printed(*words[1:], "--format", "json"))}
    chart, table = (list(csv.DictReader(copied(page, menus.nth(at), "CSV").splitlines())) for at in (0, 1))
    for row in (*chart, *table):
        assert float(row.get("Value", row.get("Majmin"))) == pytest.approx(values[row["System"]]["value"], abs=1e-9)
    for row in table:
        for end in ("low", "high"):
            assert float(row[f"95 % interval, {end}"]) == pytest.approx(values[row["System"]][end], abs=1e-9)
    leader, *others = chart
    assert [leader[f"Difference to the leader, {end}"] for end in ("low", "high")] == ["", ""]
    for row in others:
        gap = values[row["System"]]["value"] - values[leader["System"]]["value"]
        low, high = (float(row[f"Difference to the leader, {end}"]) for end in ("low", "high"))
        assert low <= gap <= high
    assert len(chart) == len(table) == len(values)
    assert values["oak"]["signature"] in copied(page, menus.first, "Cite")
    menus.nth(1).locator("summary").click()
    assert page.locator("details.take[open]").count() == 1, "menus close each other"
    context.close()
