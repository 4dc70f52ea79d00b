"""Tracks that several people annotated: whose word counts can be chosen, and is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mirflow.reports.page import write_page
from tests.datasets import score_files, write_lab

from .reading import choose, let_draw, values_in

TRACKS, PEOPLE = ("one", "two", "three"), ("ann", "ben", "cy")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    rng = np.random.default_rng(5)
    for name in (*PEOPLE, "machine"):
        for track in TRACKS:
            write_lab(folder / "by" / name / f"{track}.lab", rng)
    (folder / "est").mkdir()
    (folder / "by" / "machine").rename(folder / "est" / "machine")
    people = {"path": "by/{annotator}/{track}.lab", "combine": "each"}
    write_page(score_files(folder, "chord", people, metrics=["majmin"]), folder / "page.html")
    return folder / "page.html"


def open_track(page, name):
    page.locator("#tracks button.link", has_text=name).first.click()
    page.wait_for_selector("dialog[open]")
    return page.locator("dialog")


def picture(page) -> str:
    page.wait_for_selector("dialog canvas[tabindex]")
    let_draw(page)
    return page.locator("dialog canvas[tabindex]").evaluate("canvas => canvas.toDataURL()")


def test_each_reference_has_a_lane_and_each_can_judge(judged, visit):
    page = visit(judged)
    dialog = open_track(page, "one")
    lanes = dialog.locator(".lanename b").all_inner_texts()
    assert lanes == [*(f"reference ({name})" for name in PEOPLE), "machine"]
    pictures = set()
    for place, name in enumerate(PEOPLE):
        dialog.get_by_label("Reference, left ear").select_option(str(place))
        assert dialog.locator(".heard b").all_inner_texts() == [f"reference ({name})", "machine"]
        pictures.add(picture(page))
    assert len(pictures) == len(PEOPLE)


def test_the_scores_by_annotator_are_an_evaluation_of_their_own(judged, visit):
    page = visit(judged)
    together = values_in(page)["machine"][0]
    page.select_option("#controls select[name=evaluation]", label="chord by annotator")
    page.wait_for_function("() => document.querySelector('#provenance dd').textContent === 'chord by annotator'")
    assert "9 tracks" in page.locator("#controls .size").inner_text()
    choose(page, "by", "annotator")
    headings = page.locator("#groups thead th").all_inner_texts()[1:]
    assert [heading.split("\n")[0] for heading in headings] == list(PEOPLE)
    assert len(set(values_in(page, "#groups")["machine"])) == len(PEOPLE)
    assert 0 < together < 1
    chosen = set()
    for row in page.locator("#tracks tbody tr").all()[:3]:
        row.click()
        page.wait_for_selector("dialog[open]")
        select = page.locator("dialog").get_by_label("Reference, left ear")
        name = select.evaluate("one => one.selectedOptions[0].textContent")
        assert f"annotator {name}" in page.locator("dialog .details").inner_text()
        chosen.add(name)
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")
    assert chosen <= set(PEOPLE)


def test_a_track_is_found_among_those_that_the_filter_leaves(judged, visit):
    page = visit(judged)
    page.select_option("#controls select[name=evaluation]", label="chord by annotator")
    choose(page, "by", "annotator")
    page.locator("#groups thead button", has_text="ben").click()
    page.wait_for_selector("#tracks .shown", state="attached")
    assert page.locator("#names-of-tracks option").count() == len(TRACKS)
    page.locator("#tracks input[type=search]").evaluate(
        "field => { field.value = 'one'; field.dispatchEvent(new Event('change')); }"
    )
    page.wait_for_selector("dialog[open] .details")
    assert "annotator ben" in page.locator("dialog .details").inner_text()
