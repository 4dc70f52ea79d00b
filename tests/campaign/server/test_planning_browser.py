"""A round by the pages alone, in a real browser: from a table of pieces to tables that are scored."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.service import Service, open_service

from ...accessibility import PHONE, assert_accessible, assert_fits
from ...commands import printed
from ...waiting import MILLISECONDS
from .accounts import account
from .campaigns import zipped
from .rounds import tone
from .running import running
from .test_planning import PIECES, lists, pieces, write_campaign

pytestmark = pytest.mark.slow


@pytest.fixture
def service(tmp_path: Path) -> Service:
    for place, piece in enumerate(PIECES):
        tone(tmp_path / "audio" / f"{piece}.wav", 220 + 20 * place, seconds=2)
    return open_service([write_campaign(tmp_path)])


@pytest.fixture
def address(service: Service) -> Iterator[str]:
    with running(create_app(service)) as address:
        yield address


@pytest.fixture
def enter(browser: Any, address: str, service: Service) -> Iterator[Callable[..., Any]]:
    """Logs somebody in; at the end there must have been no error of a script or of the policy of a page."""
    contexts, troubles = [], []

    def told(message: Any) -> None:
        # A browser tells of a page that says what is wrong, too.
        if message.type == "error" and "400 (Bad Request)" not in message.text:
            troubles.append(message.text)

    def begin(name: str, role: Any, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", told)
        page.goto(f"{address}/login/{account(service, name, role)}")
        page.get_by_role("button").first.click()
        page.wait_for_url(lambda address: "/login/" not in address)
        return page

    yield begin
    for context in contexts:
        context.close()
    assert troubles == []


def plan(page: Any, address: str, folder: Path, check: Callable[[], None]) -> None:
    """Go from the list of rounds to a plan that is ready to be opened."""
    (folder / "collection.csv").write_text(pieces())
    (folder / "lists.zip").write_bytes(zipped(lists()))
    page.goto(f"{address}/grading/")
    check()
    page.get_by_role("link", name="Plan a round").click()
    check()
    page.get_by_label("Name of the round").fill("ams")
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("heading", name="ams: plan").wait_for()
    check()
    page.get_by_label("Table (csv").set_input_files(folder / "collection.csv")
    page.get_by_role("button", name="Send the table").click()
    page.get_by_text("12 pieces of collection.csv, with genre, artist.").wait_for()
    page.get_by_label("Number of queries").fill("1")
    page.get_by_label("Drawn", exact=True).select_option(label="this many of each genre")
    page.get_by_role("button", name="Draw", exact=True).click()
    page.get_by_role("row", name="queries of genre folk 1").wait_for()
    page.locator("#lists").get_by_label("Files").set_input_files(folder / "lists.zip")
    page.get_by_role("button", name="Send the lists").click()
    page.get_by_text("Uploaded: S0, S1.").wait_for()
    page.get_by_label("Candidates of each system").fill("2")
    assert page.get_by_label("artist", exact=True).is_checked()
    page.get_by_role("button", name="Pool", exact=True).click()
    page.get_by_role("row", name="unique pairs 8").wait_for()
    check()
    page.get_by_label("Graders", exact=True).fill("1")
    page.locator("#assign").get_by_label("Graders of a pair").fill("2")
    page.get_by_role("button", name="Assign", exact=True).click()
    page.get_by_role("alert").get_by_text("each pair needs 2 graders, but there are only 1").wait_for()
    page.get_by_label("Graders", exact=True).fill("2")
    page.get_by_role("button", name="Assign", exact=True).click()
    page.get_by_role("row", name="judgements 16").wait_for()
    page.locator("summary", has_text="Assignments").click()
    check()


def open_round(page: Any) -> None:
    page.get_by_label("Displayed title").fill("Which are alike?")
    page.locator("#open").get_by_label("Graders of a pair").fill("1")
    page.get_by_label("judges twice").fill("0")
    page.get_by_label("Seconds to listen").fill("0")
    page.get_by_role("button", name="Open the round").click()
    page.get_by_text("The round is open, so its plan cannot be changed").wait_for()


def judge_all(page: Any, address: str) -> int:
    """Judge all candidates of a grader without scripts; returns their number."""
    page.goto(f"{address}/grading/")
    page.get_by_role("link", name="Which are alike?").click()
    page.get_by_role("button", name="I agree").click()
    judged = 0
    while number := page.locator(".candidate").count():
        for one in range(number):
            candidate = page.locator(".candidate").nth(one)
            candidate.locator("input[type=radio]").nth(one % 3).check()
            candidate.locator("input[type=number]").fill(str(1 + 3 * (one % 3)))
        page.get_by_role("button", name="Save and go to the next query").click()
        page.wait_for_load_state()
        judged += number
    return judged


@pytest.mark.parametrize("scripts", [True, False])
def test_a_round_by_the_pages_alone(enter, address, tmp_path, scripts, monkeypatch):
    organiser = enter("olga", "organiser", java_script_enabled=scripts)

    def check() -> None:
        if scripts:  # which look at a page, and are not those of the page
            assert_accessible(organiser)
            organiser.set_viewport_size(PHONE)
            assert_fits(organiser)
            organiser.set_viewport_size({"width": 1280, "height": 900})

    plan(organiser, address, tmp_path, check)
    open_round(organiser)
    check()
    assert judge_all(enter("gil", "grader", java_script_enabled=False), address) == 8
    organiser.get_by_role("link", name="the overview").click()
    organiser.get_by_role("link", name="Close the round").click()
    check()
    organiser.get_by_role("button", name="Close the round").click()
    organiser.get_by_role("alert").get_by_text("confirm that grading ends").wait_for()
    organiser.get_by_label("End grading for all graders").check()
    organiser.get_by_role("button", name="Close the round").click()
    organiser.get_by_text("Closed at").wait_for()
    check()
    with organiser.expect_download() as download:
        organiser.get_by_role("link", name="Download the tables").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    scored = printed("run", tmp_path / "out" / "ams" / "similarity.yaml")
    assert "S0" in scored
    assert "fine@2" in scored
