"""What is shown is in the address: a link, a reload and the way back show it again, from disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import mirflow
from mirflow.reports.page import write_page
from tests.datasets import write_dataset

from .reading import choose, let_draw


@pytest.fixture(scope="module")
def store_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("address")
    write_dataset(folder)
    rows = "".join(f"t{number:02d},{'pop' if number % 2 else 'jazz & blues'}\n" for number in range(6))
    (folder / "tracks.csv").write_text(f"track,genre\n{rows}")
    sides = "    reference: ref/{track}.lab\n    estimates: est/{system}/{track}.lab\n    tracks: tracks.csv\n"
    (folder / "p.yaml").write_text(
        f"name: a\nevaluations:\n  - task: chord\n{sides}  - task: chord\n    name: chord_mirex2013\n"
        f"    convention: mirex2013\n{sides}store: {folder / 's.zarr'}\n"
    )
    mirflow.run(folder / "p.yaml")
    write_page(folder / "s.zarr", folder / "page.html")
    return folder / "page.html"


def state_of(page: Any) -> dict[str, str]:
    """What the address says."""
    return {name: value for name, (value,) in parse_qs(urlsplit(page.url).fragment).items()}


def wait_for_state(page: Any, name: str, value: str | None) -> None:
    page.wait_for_function(
        "([name, value]) => new URLSearchParams(location.hash.slice(1)).get(name) === value", arg=[name, value]
    )


def filter_by_text(page: Any, text: str) -> None:
    page.locator("[name='add filter']").click()
    page.get_by_label("Contains").fill(text)
    page.get_by_label("Contains").press("Enter")
    page.wait_for_selector("#filter li")


def shown(page: Any) -> dict[str, Any]:
    """What a reader sees of every choice."""
    selects = page.locator("#controls select, #heatmap select, #tracks select")
    return {
        "selects": selects.evaluate_all("all => all.map(one => one.selectedOptions[0].text)"),
        "percent": page.locator("#controls input[name=percent]").is_checked(),
        "systems": page.locator("#leaderboard table").first.locator("tbody").inner_text(),
        "tracks": page.locator("#tracks tbody").inner_text(),
        "filter": page.locator("#filter li").all_inner_texts(),
    }


@pytest.mark.slow
def test_every_choice_is_in_the_address_and_a_link_shows_it_again(store_page, visit):
    page = visit(store_page)
    assert state_of(page) == {}
    choose(page, "evaluation", "1")
    choose(page, "metric", "2")
    choose(page, "aggregate", "median")
    choose(page, "by", "genre")
    choose(page, "missing", "zero")
    page.locator("#controls input[name=percent]").check()
    page.locator("#leaderboard [data-sort=system]").click()
    wait_for_state(page, "systems", "system")
    page.get_by_label("Sort tracks by").select_option("1")
    page.locator("#tracks select").select_option("name")
    filter_by_text(page, "jazz & b")
    state = state_of(page)
    metric = page.locator("#provenance details tbody th").nth(2).text_content()
    assert state == {
        "evaluation": "chord_mirex2013",
        "metric": metric,
        "aggregate": "median",
        "group": "genre",
        "missing": "zero",
        "percent": "yes",
        "systems": "system",
        "across": "system bob",
        "list": "name",
        "filter": '[["find","jazz & b"]]',
    }
    assert shown(visit(store_page, f"#{urlsplit(page.url).fragment}")) == shown(page)


def test_an_open_track_its_time_and_what_is_seen_of_it_are_in_the_address(store_page, visit):
    page = visit(store_page)
    page.locator("#tracks button.link").nth(1).click()
    page.wait_for_selector("dialog[open]")
    name = page.locator("#timeline-title").inner_text()
    assert state_of(page) == {"track": name}
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    heard = page.locator("dialog .heard b").inner_text()
    wait_for_state(page, "ear", heard)
    assert {*state_of(page)} == {"track", "time", "seen", "ear"}
    picture = "canvas => canvas.toDataURL()"
    page.wait_for_selector("dialog canvas[tabindex]")
    let_draw(page)
    before = page.locator("dialog canvas[tabindex]").evaluate(picture), page.locator("dialog .clock").inner_text()
    page.reload()
    page.wait_for_selector("dialog[open]")
    page.wait_for_selector("dialog canvas[tabindex]")
    let_draw(page)
    assert page.locator("#timeline-title").inner_text() == name
    assert page.locator("dialog .heard b").inner_text() == heard
    assert page.locator("dialog .clock").inner_text() == before[1] != "0:00.00"
    assert page.locator("dialog canvas[tabindex]").evaluate(picture) == before[0]


def test_the_way_back_leads_through_what_was_chosen(store_page, visit):
    page = visit(store_page)
    first = page.locator("#leaderboard h2").inner_text()
    choose(page, "metric", "1")
    second = page.locator("#leaderboard h2").inner_text()
    page.locator("#tracks button.link").first.click()
    page.wait_for_selector("dialog[open]")
    page.go_back()
    page.wait_for_selector("dialog", state="detached")
    assert page.locator("#leaderboard h2").inner_text() == second
    page.go_back()
    page.wait_for_function("text => document.querySelector('#leaderboard h2').innerText === text", arg=first)
    page.go_forward()
    page.wait_for_function("text => document.querySelector('#leaderboard h2').innerText === text", arg=second)
    page.go_forward()
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    assert "track" not in state_of(page)


def test_a_text_that_tracks_have_is_one_step_back(store_page, visit):
    page = visit(store_page)
    filter_by_text(page, "pop")
    choose(page, "metric", "1")
    page.go_back()
    wait_for_state(page, "metric", None)
    assert state_of(page) == {"filter": '[["find","pop"]]'}
    page.wait_for_function("() => document.querySelectorAll('#tracks tbody tr').length === 3")


def test_the_link_can_be_copied(store_page, visit):
    page = visit(store_page, permissions=["clipboard-read", "clipboard-write"])
    choose(page, "metric", "1")
    page.locator("#tabs").get_by_role("button", name="Share").click()
    page.get_by_text("Copied").wait_for()
    assert page.evaluate("() => navigator.clipboard.readText()") == page.url
    page.locator("#tracks button.link").first.click()
    page.locator("dialog").get_by_role("button", name="Copy link").click()
    page.locator("dialog").get_by_text("Copied").wait_for()
    assert "track=" in page.evaluate("() => navigator.clipboard.readText()")


def test_where_nothing_can_be_copied_the_link_is_there_to_be_taken(store_page, visit):
    page = visit(store_page)
    page.evaluate("() => Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    choose(page, "metric", "1")
    page.locator("#tabs").get_by_role("button", name="Share").click()
    assert page.locator("#tabs").get_by_label("Text to copy").input_value() == page.url


def test_a_link_to_what_the_page_does_not_have_says_so_and_shows_the_rest(store_page, visit):
    wrong = "metric=__proto__&group=constructor&across=system+x&list=toString&track=%3Cb%3E&time=NaN&seen=5-1&ear=y"
    page = visit(store_page, f"#{wrong}&percent=yes")
    message = page.locator("header .warning").inner_text()
    assert "metric __proto__" in message
    assert "track <b>" in message
    assert page.locator("#controls input[name=percent]").is_checked()
    assert page.locator("dialog").count() == 0
    choose(page, "metric", "1")
    assert page.locator("header .warning").count() == 0


def test_the_way_past_the_controls_keeps_the_address(store_page, visit):
    page = visit(store_page, "#percent=yes")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "leaderboard"
    assert state_of(page) == {"percent": "yes"}


def test_tabs_and_tracks_are_one_choice_away(store_page, visit):
    page = visit(store_page, unfolded=False)
    sections = (
        "[...document.querySelectorAll('#main section')].filter((part) => part.checkVisibility()).map(({ id }) => id)"
    )
    assert page.evaluate(sections) == ["leaderboard"]
    tabs = page.get_by_role("navigation", name="Parts of the page")
    tabs.get_by_role("button", name="Tracks").click()
    page.wait_for_function(f"() => {sections}.includes('tracks')")
    assert not {"leaderboard", "gains"} & set(page.evaluate(sections))
    assert tabs.bounding_box()["height"] <= 52
    assert page.evaluate("() => document.activeElement.name") == "tab tracks"
    assert state_of(page) == {"tab": "tracks"}
    page.get_by_label("Open a track").fill("t03")
    page.get_by_label("Open a track").press("Enter")
    page.wait_for_selector("#timeline[open]")
    assert state_of(page)["track"] == "t03"
