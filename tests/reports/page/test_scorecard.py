"""Systems by evaluations: values, the best of each, and what is not told apart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirflow
from tests.groups import make_group, write_store

NAMES = ("beat", "key")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A store of two evaluations, of which the second has a system more, and its report."""
    folder = tmp_path_factory.mktemp("scorecard")
    rng = np.random.default_rng(5)
    easy = rng.uniform(0.4, 0.6, 40)
    score = [[easy + shift + rng.normal(0, 0.05, 40) for shift in shifts] for shifts in ((0.2, 0.0), (0.0, 0.01, -0.3))]
    systems = (["oak", "elm"], ["oak", "elm", "<i>fir</i>"])
    groups = {
        name: make_group(np.stack(own)[..., np.newaxis], systems=names)
        for name, own, names in zip(NAMES, score, systems, strict=True)
    }
    store = write_store(folder / "x.zarr", groups)
    mirflow.report(store, folder / "report.html")
    return store, folder / "report.html"


def cells_of(page: Any) -> dict[tuple[str, str], tuple[str, str]]:
    """Of each evaluation and system what is below the value, and the class of the cell."""
    found = page.locator(".scorecard td[data-system]").evaluate_all(
        """cells => cells.map(cell => [
            cell.closest("table").querySelectorAll("thead th")[cell.cellIndex].dataset.evaluation,
            cell.dataset.system, cell.querySelector("small").textContent, cell.className])"""
    )
    return {(name, system): (text, kind) for name, system, text, kind in found}


def expected(store: Path) -> dict[tuple[str, str], tuple[str, bool]]:
    """The same by a comparison of the store: text, and whether the cell is hatched."""
    cells = {}
    for name in NAMES:
        found = mirflow.open_store(store)[name].mirflow.compare().isel(metric=0)
        value, letters = (
            dict(zip(found.system.values, found[key].values, strict=True)) for key in ("value", "letters")
        )
        base = max(value, key=value.get)
        for system, own in value.items():
            alike = system != base and bool(set(letters[system]) & set(letters[base]))
            text = f"{own - value[base]:+.3f}".replace("-", "\N{MINUS SIGN}")
            shown = "best" if system == base else f"({text})" if alike else text
            cells[name, system] = shown, alike
    return cells


def test_cells_have_the_differences_of_a_comparison(report: Any, visit: Any) -> None:
    store, path = report
    shown = cells_of(visit(path))
    wanted = expected(store)
    assert {place: text for place, (text, _) in shown.items()} == {place: text for place, (text, _) in wanted.items()}
    assert {place for place, (_, kind) in shown.items() if "unsure" in kind} == {
        p for p, (_, own) in wanted.items() if own
    }
    assert "worse4" in shown["key", "<i>fir</i>"][1], "the largest difference has the strongest colour"


@pytest.mark.slow
def test_it_needs_no_scripts_and_leads_to_evaluations(report: Any, visit: Any, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(report[1].absolute().as_uri())
    assert cells_of(plain) == cells_of(visit(report[1])), "the script writes what Python has written"
    context.close()
    page = visit(report[1])
    page.locator(".scorecard td[data-system=elm] a").nth(1).press("Enter")
    page.wait_for_function("() => document.querySelector('#controls [name=evaluation]').value === '1'")
    page.get_by_label("Percent").check()
    page.wait_for_function("() => document.querySelector('.scorecard data').textContent.length === 4")
    gaps = {place: text for place, (text, _) in cells_of(page).items()}
    for place, (text, _) in expected(report[0]).items():
        number = re.search(r"0\.\d+", text)
        assert gaps[place] == (text if number is None else text.replace(number[0], f"{100 * float(number[0]):.1f}"))
