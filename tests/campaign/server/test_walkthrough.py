"""The page about a campaign from beginning to end: its commands, and what people do in a browser between them."""

from __future__ import annotations

import csv
import io
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.accessibility import PHONE, assert_accessible, assert_fits
from tests.documentation import ROOT, Block, blocks, check_yaml, commands, is_shown
from tests.waiting import MILLISECONDS, PATIENCE, until

from .processes import free_port

PAGE = ROOT / "docs/campaign.md"
CHAPTER = "A campaign with a server"
_PORT = "8765"
PAPER = {"width": 794, "height": 1123}  # A4, in the pixels of style sheets


class Campaign:
    """The page's campaign in a folder, with its server on a free port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = str(free_port())
        self.address = f"http://127.0.0.1:{self.port}"
        self.server: subprocess.Popen[bytes] | None = None
        self.serving = ""
        self.sections: dict[str, list[Block]] = defaultdict(list)
        for block in blocks(PAGE):
            if block.chapter == CHAPTER:
                self.sections[block.section].append(block)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        # No token of the person who runs the tests, and no file of tokens.
        self.environment = {"PATH": path, "HOME": str(folder), "COLUMNS": "120", "LANG": "C.UTF-8"}

    def do(self, section: str) -> None:
        """Save the files of a section, run its commands, and compare what they print with the page."""
        for block in self.sections[section]:
            if block.file:
                (self.folder / block.file).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / block.file).write_text(block.body)
            if block.language == "yaml":
                check_yaml(block.body)
            if block.is_console:
                for command, shown in commands(block.body):
                    self.run(command, shown.replace(_PORT, self.port))

    def run(self, command: str, shown: str) -> None:
        command = command.replace(_PORT, self.port)
        if command.endswith("&"):
            self.serving = command.rstrip("& ").replace("lab/campaign.yaml", f"lab/campaign.yaml --port {self.port}")
            self.serve()
            return
        if "serve users add" in command:
            command = command.replace("lab/campaign.yaml", f"lab/campaign.yaml --base-url {self.address}")
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=4 * PATIENCE,
        )
        assert is_shown(shown, done.stdout) or not shown.strip(), f"{command}\n{done.stdout}"
        assert done.returncode == 0 or "refused" in shown, f"{command}\n{done.stdout}"

    def serve(self) -> None:
        """Start the server, and wait until it answers."""
        with (self.folder / "server.log").open("ab") as log:
            self.server = subprocess.Popen(
                ["bash", "-c", f"exec {self.serving}"],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        until(self._answers, (self.folder / "server.log").read_text)

    def _answers(self) -> bool:
        assert self.server is not None
        assert self.server.poll() is None, (self.folder / "server.log").read_text()
        try:
            with urllib.request.urlopen(self.address, timeout=5):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        """End the server and its worker as a power cut does."""
        if self.server is not None:
            os.killpg(self.server.pid, signal.SIGKILL)
            self.server.wait()
            self.server = None

    def link(self, name: str) -> str:
        """The personal link that a command of the page has saved."""
        return (self.folder / f"lab/{name}.txt").read_text().split()[0]


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[Campaign]:
    (tmp_path / "pipelines").symlink_to(ROOT / "pipelines")
    made = Campaign(tmp_path)
    yield made
    made.kill()


class Person:
    """Somebody with a browser window, who looks at pages with several eyes: axe-core, a phone, dark."""

    def __init__(self, browser: Any, campaign: Campaign, name: str, pictures: Path) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.page = self.context.new_page()
        self.page.set_default_timeout(MILLISECONDS)
        self.name, self.pictures, self.numbers = name, pictures, count(1)
        self.troubles: list[str] = []
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.goto(campaign.link(name))
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_url(lambda address: "/login/" not in address)

    def click(self, role: str, name: str) -> None:
        self.page.get_by_role(role, name=name, exact=True).first.click()

    def look(self) -> None:
        """Check the page, and take pictures of it for people to look at."""
        place = self.pictures / f"{self.name}-{next(self.numbers)}"
        assert_accessible(self.page)
        self.page.emulate_media(color_scheme="light")
        self.page.screenshot(path=f"{place}.png", full_page=True)
        self.page.emulate_media(color_scheme="dark")
        self.page.set_viewport_size(PHONE)
        self.page.wait_for_timeout(100)
        assert_fits(self.page)
        self.page.screenshot(path=f"{place}-phone.png", full_page=True)
        self.page.set_viewport_size(PAPER)
        self.page.emulate_media(media="print", color_scheme="light")
        self.page.screenshot(path=f"{place}-print.png", full_page=True)
        self.page.emulate_media(media="screen", color_scheme=None)
        self.page.set_viewport_size({"width": 1280, "height": 900})

    def leave(self) -> None:
        assert self.troubles == []
        self.context.close()


@pytest.mark.slow
def test_a_campaign_from_the_page(campaign, browser, tmp_path):
    pictures = Path(os.environ.get("MIRFLOW_PICTURES", tmp_path / "pictures"))
    pictures.mkdir(parents=True, exist_ok=True)
    for section in ("Set up", "People", "Serve", "Submit"):
        campaign.do(section)
    submit(campaign, Person(browser, campaign, "sam", pictures))
    read(campaign, Person(browser, campaign, "rita", pictures))
    campaign.do("Read")
    made = grade(campaign, Person(browser, campaign, "gil", pictures))
    organise(campaign, Person(browser, campaign, "ada", pictures))
    campaign.do("Close")
    assert judgements(campaign) == made
    after_closing(campaign, Person(browser, campaign, "ada", pictures))
    campaign.do("Backup")


def submit(campaign: Campaign, sam: Person) -> None:
    """A zip with a label that is none is refused with its line; mended, it has a score and is compared."""
    page, folder = sam.page, campaign.folder / "lab/tunes/estimates/ash"
    texts = {file.name: file.read_text() for file in sorted(folder.iterdir())}
    send(sam, texts)
    page.get_by_text("not a chord: 'H:moll'").wait_for()
    assert "auld-lang-syne.lab" in page.get_by_role("row").filter(has_text="H:moll").inner_text()
    sam.look()
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("CSV", re.IGNORECASE)).click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert [row["line"] for row in rows if "H:moll" in row["message"]] == ["5"]
    send(sam, {name: text.replace("H:moll", "B:min") for name, text in texts.items()})
    page.get_by_role("heading", name="Scores on dev").wait_for(timeout=MILLISECONDS)
    assert re.search(r"Major/minor\s+0\.\d{3}", page.get_by_role("table").first.inner_text())
    assert "your oak" in page.get_by_role("table").nth(1).inner_text()  # the one before
    sam.look()
    sam.leave()


def send(person: Person, texts: dict[str, str]) -> None:
    """Send files by the form, as a zip."""
    person.click("link", "Submit")
    person.click("link", "Submit a system")
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as packed:
        for name, text in texts.items():
            packed.writestr(name, text)
    person.page.get_by_label("Name of the system").fill("ash-2")
    person.page.get_by_label("A zip or tar file, or files").set_input_files(
        {"name": "ash-2.zip", "mimeType": "application/zip", "buffer": data.getvalue()}
    )
    person.look()
    person.page.get_by_role("button", name="Submit").click()
    person.page.wait_for_url(re.compile("/submissions/[0-9a-f]+/"))


def read(campaign: Campaign, rita: Person) -> None:
    """From the front page to an evaluation, a system, a track, and to the timeline at a second."""
    page = rita.page
    page.goto(campaign.address)
    rita.look()
    rita.click("link", "chord")
    page.get_by_role("link", name="oak").first.wait_for()
    assert "ash-2" not in page.content()  # Sam's alone
    rita.look()
    rita.click("link", "All 4 tracks")
    rita.click("link", "greensleeves")
    rita.look()
    page.get_by_role("link", name="Timeline in the report").click()
    page.wait_for_selector("html[data-loaded]", state="attached")
    page.locator("canvas:visible").first.wait_for()
    address = page.url
    assert "greensleeves" in address
    page.goto(campaign.address)
    page.goto(f"{address}&time=12.5")
    page.wait_for_selector("html[data-loaded]", state="attached")
    page.wait_for_timeout(500)
    assert "time=12.5" in page.url
    rita.look()
    hidden = page.request.get(f"{campaign.address}/stores/test/chord/tracks/wayfaring-stranger/")
    assert hidden.status == 404
    rita.leave()


def grade(campaign: Campaign, gil: Person) -> list[tuple[str, str]]:
    """Judge twenty pairs; in between the network and the server go, and nothing is lost."""
    page, made = gil.page, []
    page.get_by_role("link", name="Grade").click()
    gil.look()
    page.get_by_role("link", name="Which tunes are alike?").click()
    gil.look()
    page.get_by_role("button", name="I agree").click()
    places = ["NS", "SS", "VS"]
    for number in range(4):
        page.get_by_role("heading", name=f"Query {number + 1}").wait_for()
        candidates = page.locator("section.candidate")
        assert candidates.count() == 5
        for place in range(5):
            if (number, place) == (1, 2):
                gil.context.set_offline(True)
            if (number, place) == (2, 2):
                campaign.kill()
            one, fine = candidates.nth(place), f"{(5 * number + place) / 2 + 0.1:.1f}"
            if (number, place) not in ((1, 2), (1, 3), (1, 4), (2, 2), (2, 3), (2, 4)):
                hear(page, one)
            broad = places[(number + place) % 3]
            one.locator(f"input[value={broad}]").check()
            one.locator("input[type=number]").fill(fine)
            one.locator("input[type=number]").press("Tab")
            made.append((broad, fine))
        if number == 0:
            gil.look()
        if number == 1:
            page.get_by_text("not saved").first.wait_for()
            gil.context.set_offline(False)
        if number == 2:
            page.get_by_text("not saved").first.wait_for()
            campaign.serve()
        page.locator("#status").get_by_text(re.compile(r"^saved \d\d:\d\d")).wait_for(timeout=MILLISECONDS)
        while page.evaluate("Object.keys(localStorage).some((key) => key.startsWith('mirflow-grading:'))"):
            page.wait_for_timeout(100)
        # What could not be heard without a connection is heard now.
        for place in range(5):
            if "listened" in candidates.nth(place).locator(".told").inner_text():
                hear(page, candidates.nth(place))
        page.get_by_role("button", name="next query").click()
    gil.leave()
    return sorted(made)


def hear(page: Any, candidate: Any) -> None:
    """Play a candidate until it was heard for as long as is asked."""
    candidate.get_by_role("button").first.click()
    end = time.monotonic() + PATIENCE
    while (hint := candidate.locator(".told").inner_text()) != "heard":
        assert time.monotonic() < end, hint
        page.wait_for_timeout(50)
    candidate.get_by_role("button").first.click()


def judgements(campaign: Campaign) -> list[tuple[str, str]]:
    """The judgements of the closed round."""
    text = (campaign.folder / "lab/closed/judgements.csv").read_text()
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return sorted((row["broad"], f"{float(row['fine']):.1f}") for row in rows)


def organise(campaign: Campaign, ada: Person) -> None:
    """The overview tells how far the round is, and nobody's name."""
    page = ada.page
    page.goto(f"{campaign.address}/grading/similarity/overview")
    page.get_by_role("heading", level=1).wait_for()
    assert "gil" not in page.locator("main").inner_text()
    assert "20" in page.locator("main").inner_text()
    ada.look()
    page.goto(f"{campaign.address}/account")
    ada.look()
    page.goto(f"{campaign.address}/submissions/")
    ada.look()
    ada.leave()


def after_closing(campaign: Campaign, ada: Person) -> None:
    ada.page.goto(f"{campaign.address}/grading/")
    assert "closed" in ada.page.locator("main").inner_text()
    ada.leave()
