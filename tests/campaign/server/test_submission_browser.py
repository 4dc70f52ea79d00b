"""Submitters in a real browser and at the command line, with a server and a worker that score what they send."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mirflow.campaign.server.service import Service, open_service

from ...accessibility import PHONE, assert_accessible, assert_fits
from ...commands import invoke
from ...waiting import MILLISECONDS
from .accounts import account
from .campaigns import estimates, member, submit, write_campaign
from .processes import Server
from .test_submission_pages import change

pytestmark = pytest.mark.slow
SCORED = 2 * MILLISECONDS  # in which a submission is scored


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(write_campaign(tmp_path), tmp_path / "server.log") as server:
        yield server
    assert "Traceback" not in server.log.read_text()


@pytest.fixture
def service(tmp_path: Path, server: Server) -> Service:
    return open_service([tmp_path / "campaign.yaml"])


@pytest.fixture
def enter(browser: Any, server: Server, service: Service) -> Iterator[Callable[..., Any]]:
    """Logs an account in by its link; at the end nothing must have been loaded from elsewhere, and no script failed."""
    contexts, troubles = [], []

    def begin(name: str = "ada", role: str = "submitter", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda message: troubles.append(message.text) if "policy" in message.text.lower() else None)
        page.on("request", lambda asked: None if asked.url.startswith(server.address) else troubles.append(asked.url))
        member(service, name, role, lab="oak")
        page.goto(f"{server.address}/login/{account(service, name, role)}")
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"{server.address}/")
        return page

    yield begin
    for context in contexts:
        context.close()
    assert troubles == []


def write_files(folder: Path, files: dict[str, str]) -> list[str]:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return [str(folder / name) for name in files]


def test_from_findings_to_a_score(enter, server, tmp_path):
    page = enter()
    page.get_by_role("link", name="Submit").click()
    assert_accessible(page)
    page.get_by_role("link", name="Submit a system").click()
    assert_accessible(page)
    page.get_by_role("button", name="Submit").click()  # nothing was chosen
    page.get_by_label("Name of the system").fill("draft-1")
    page.get_by_role("button", name="Submit").click()
    assert "Choose files" in page.get_by_role("alert").inner_text()
    bad = write_files(tmp_path / "bad", {**estimates(), "dev3.lab": "0 10 H:moll\n"})
    page.get_by_label("A zip or tar file, or files").set_input_files(bad)
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/submissions/*/")
    page.get_by_text("Refused").wait_for(timeout=SCORED)
    assert "H:moll" in page.get_by_role("table").inner_text()
    assert_accessible(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="All as CSV").click()
    assert "dev3.lab,1,error" in download.value.path().read_text()

    page.goto(f"{server.address}/submissions/new")
    page.get_by_label("Name of the system").fill("draft-1")
    good = write_files(tmp_path / "good", estimates(wrong=2))
    page.get_by_label("A zip or tar file, or files").set_input_files(good)
    page.get_by_label("private").check()
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("heading", name="Scores on dev").wait_for(timeout=SCORED)
    assert_accessible(page)
    page.get_by_label("Seen by").select_option("lab")
    page.get_by_role("button", name="Change").click()
    assert page.get_by_label("Seen by").input_value() == "lab"
    reader = enter("bob", "reader")
    reader.goto(page.url)
    reader.get_by_role("heading", name="draft-1").wait_for()
    page.get_by_text("Withdraw", exact=True).click()
    page.get_by_role("button", name="Withdraw draft-1").click()
    page.get_by_text("Withdrawn on").wait_for()
    for address in ("/account", "/nowhere", "/login/x", "/submissions/"):
        page.goto(server.address + address)
        assert_accessible(page)


def test_the_steps_follow_the_progress(browser, tmp_path):
    path = write_campaign(tmp_path)
    with Server(path, tmp_path / "server.log", "--no-worker") as server:
        service = open_service([path])
        with ThreadPoolExecutor(1) as elsewhere:  # the browser has the loop of this thread
            id = elsewhere.submit(submit, service, "oak", estimates()).result()
        page = browser.new_page()
        page.goto(f"{server.address}/login/{account(service, 'ada', 'submitter')}")
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url(f"{server.address}/")
        page.goto(f"{server.address}/submissions/{id}/")
        steps = page.locator(".steps small")
        assert steps.all_inner_texts() == ["done", "now", "to come", "to come"]
        change(service, "oak", state="scoring")
        page.locator(".steps [aria-current]", has_text="Scored").wait_for(timeout=MILLISECONDS)
        assert steps.all_inner_texts() == ["done", "done", "now", "to come"]
        page.context.close()


def test_the_form_is_beside_what_to_send_where_there_is_room(enter, server):
    page = enter()
    page.goto(f"{server.address}/submissions/new")
    rules, form = page.get_by_role("region", name="Expected files"), page.locator("form#upload")
    for width, is_beside in ((1280, True), (900, True), (899, False), (320, False)):
        page.set_viewport_size({"width": width, "height": 900})
        left, right = rules.bounding_box(), form.bounding_box()
        assert (right["x"] >= left["x"] + left["width"], right["y"] < left["y"] + left["height"]) == (is_beside,) * 2
        assert_fits(page)
        for box in form.locator("fieldset, input, textarea").all():
            if box.is_visible():
                edge = box.bounding_box()
                assert edge["x"] + edge["width"] <= right["x"] + right["width"] + 1, (width, box)


def test_without_scripts(enter, server, tmp_path):
    page = enter(java_script_enabled=False)
    page.goto(f"{server.address}/submissions/new")
    page.get_by_label("Name of the system").fill("draft-1")
    page.get_by_label("A zip or tar file, or files").set_input_files(write_files(tmp_path / "good", estimates()))
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/submissions/*/")
    page.get_by_role("heading", name="Scores on dev").wait_for(timeout=SCORED)  # the page loads itself again


def test_a_folder_on_a_phone(enter, server, tmp_path):
    page = enter(viewport=PHONE)
    page.goto(f"{server.address}/submissions/new")
    assert_fits(page)
    page.get_by_label("Name of the system").fill("draft-1")
    write_files(tmp_path / "good", estimates())
    page.get_by_label("or a folder").set_input_files(str(tmp_path / "good"))
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("heading", name="Scores on dev").wait_for(timeout=SCORED)
    assert_fits(page)
    for address in ("/account", "/submissions/", "/nowhere"):
        page.goto(server.address + address)
        assert_fits(page)


def test_the_command_line(server, service, tmp_path):
    token = account(service, "ada", "submitter", "token")
    write_files(tmp_path / "bad", {**estimates(), "dev3.lab": "0 10 H:moll\n"})
    refused = invoke("submit", server.address, tmp_path / "bad", "--name", "draft-1", code=3, MIRFLOW_TOKEN=token)
    assert "dev3.lab:1: error: not a chord: 'H:moll'" in refused.stderr
    write_files(tmp_path / "draft-1", estimates(wrong=2))
    words = ("submit", server.address, tmp_path / "draft-1", "--split", "dev", "--split", "test", "--format", "json")
    rows = json.loads(invoke(*words, code=0, MIRFLOW_TOKEN=token).stdout)
    assert {(row["split"], row["metric"]) for row in rows} >= {("dev", "majmin"), ("test", "majmin")}
    assert all(row["low"] is None for row in rows if row["split"] == "test")
    again = invoke(*words, code=2, MIRFLOW_TOKEN=token)
    assert "there is already a submission 'draft-1'" in again.stderr
