"""Values of classes and tags, with the intervals of a query, in a table that sorts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mirflow

from .reading import values_in

LABELS = ("rock", "jazz", "folk")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty-four tracks of three genres, which `ada` confuses in one of eight and `bob` in one of four."""
    folder = tmp_path_factory.mktemp("classes")
    for name, wrong in (("ref", 99), ("ada", 8), ("bob", 4)):
        rows = [(track, LABELS[(track + (track % wrong == wrong - 1)) % 3]) for track in range(24)]
        (folder / f"{name}.tsv").write_text("".join(f"t{track:02}\t{label}\n" for track, label in rows))
    (folder / "p.yaml").write_text(
        "evaluations:\n- {task: classification, reference: ref.tsv, estimates: '{system}.tsv', systems: [ada, bob],\n"
        "   metrics: [accuracy, confusion]}\nstore: p.zarr\n"
    )
    mirflow.run(folder / "p.yaml", scheduler="serial")
    mirflow.report(folder / "p.zarr", folder / "page.html")
    return folder


def rows_of(page) -> list[str]:
    return page.locator("#classes tbody th").all_inner_texts()


def test_values_are_those_of_a_query_with_intervals(folder, visit):
    page = visit(folder / "page.html")
    (found,) = mirflow.query(folder / "p.zarr", metric="confusion", aggregate="f_measure", ci=0.95)
    shown = values_in(page, "#classes table")
    for label in LABELS:
        assert shown[label] == found.value.sel({"class": label}).values.tolist()
    one = found.sel(system="bob", **{"class": "jazz"})
    told = page.locator("#classes tbody tr", has_text="jazz").locator("td").nth(2).inner_text()
    assert told == f"{float(one.value):.3f} [{float(one.low):.3f}, {float(one.high):.3f}]"
    assert page.locator("#classes tbody tr", has_text="jazz").locator("td").first.inner_text() == "8"


def test_they_sort_by_any_column_and_a_link_keeps_it(folder, visit):
    page = visit(folder / "page.html")
    assert page.locator("#classes thead th").all_inner_texts() == ["Class", "In references", "ada", "bob"]
    page.locator("#classes [data-sort=bob]").click()
    page.wait_for_function("location.hash.includes('classes=bob')")
    shown = values_in(page, "#classes table")
    assert [shown[label][1] for label in rows_of(page)] == sorted((own[1] for own in shown.values()), reverse=True)
    assert page.locator("#classes [data-sort=bob]").evaluate("button => button === document.activeElement")
    page.select_option("#extras select[name=rate]", label="Recall")
    page.wait_for_function("location.hash.includes('rate=recall')")
    page.reload()
    page.wait_for_selector("html[data-loaded]", state="attached")
    assert page.locator("#classes .note").first.inner_text().startswith("Recall: ")
    recall = [float(np.mean([(track + (track % 4 == 3)) % 3 == 0 for track in range(0, 24, 3)]))]
    assert values_in(page, "#classes table")["rock"][1:] == recall
