"""Scales of the page: numbers are where their values are, and everything is in sight or says that it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirflow.reports.page import write_page
from tests.groups import make_group, write_store

from .reading import choose, let_draw

SIZES = [{"width": 1400, "height": 900}, {"width": 390, "height": 844}]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two evaluations, one of more tracks than a screen has pixels."""
    folder, rng = tmp_path_factory.mktemp("many"), np.random.default_rng(3)
    groups = {"beat": make_group(0.5 + 0.4 * rng.random((3, 2000, 1))), "chord": make_group(rng.random((4, 12, 1)))}
    write_page(write_store(folder / "many.zarr", groups), folder / "many.html")
    return folder / "many.html"


def middle(box: dict[str, float]) -> float:
    return box["x"] + box["width"] / 2


@pytest.mark.parametrize("size", SIZES, ids=["screen", "phone"])
def test_numbers_of_an_axis_are_below_their_values(many: Path, visit: Any, size: dict[str, int]) -> None:
    page = visit(many, viewport=size)
    labels = page.locator("#distributions .ticks span").all()
    values = [float(label.get_attribute("data-value")) for label in labels]
    lines = page.locator("#distributions svg").first.locator("line.rail").all()
    assert len(lines) == len(labels) >= 4
    for label, line in zip(labels, lines, strict=True):
        assert middle(label.bounding_box()) == pytest.approx(middle(line.bounding_box()), abs=1)
    # The median of the first row is at its value on the same scale.
    row = page.locator("#distributions .row").first
    median = float(row.locator("svg").get_attribute("aria-label").split("median ")[1].split(",")[0])
    ends = [middle(label.bounding_box()) for label in (labels[0], labels[-1])]
    expected = ends[0] + (ends[1] - ends[0]) * (median - values[0]) / (values[-1] - values[0])
    assert middle(row.locator("line.middle").bounding_box()) == pytest.approx(expected, abs=1)


def test_numbers_of_an_axis_are_round_and_short(many: Path, visit: Any) -> None:
    page = visit(many)
    assert page.locator("#distributions .ticks span").all_inner_texts() == ["0.5", "0.6", "0.7", "0.8", "0.9"]
    page.get_by_label("Percent").check()
    let_draw(page)
    assert page.locator("#distributions .ticks span").all_inner_texts() == ["50", "60", "70", "80", "90"]


def test_all_tracks_of_the_heat_map_are_in_sight(many: Path, visit: Any) -> None:
    page = visit(many)
    frame = page.locator("#heatmap .heat")
    assert frame.evaluate("frame => frame.scrollWidth <= frame.clientWidth")
    assert "A column is the mean of up to" in page.locator("#heatmap .note").inner_text()
    canvas = frame.locator("canvas")
    canvas.focus()
    page.keyboard.press("End")
    last = page.locator("#heatmap-cell").inner_text()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 0.5, box["y"] + 4)
    assert page.locator("#tip b").inner_text() == last.split(" · ")[0]
    choose(page, "evaluation", "1")
    assert "A column is" not in page.locator("#heatmap .note").inner_text()


def test_the_head_counts_what_the_evaluation_holds(many: Path, visit: Any) -> None:
    page = visit(many)
    assert page.locator("#controls .size").inner_text() == "2,000 tracks"
    choose(page, "evaluation", "1")
    assert page.locator("#controls .size").inner_text() == "12 tracks"


def test_a_table_that_goes_on_beyond_its_box_has_a_shadow(many: Path, visit: Any) -> None:
    page = visit(many, viewport=SIZES[1])
    box = page.locator("#leaderboard .scroll").first
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    attachments = box.evaluate("box => getComputedStyle(box).backgroundAttachment")
    assert attachments == "local, local, scroll, scroll"
