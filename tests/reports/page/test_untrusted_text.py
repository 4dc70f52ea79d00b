"""Names and labels come from files: nothing in them runs, and all of it is shown as it is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mirflow
from mirflow.reports.drawing import style_sheet
from mirflow.reports.page import write_page
from mirflow.reports.page.assembly import read_asset, script
from tests.datasets import score_files, write_lab

IMAGE = "<img src=x onerror=alert(1)>"
CLOSING = "</script><script>alert(2)<!--"
TRACKS = ("__proto__", "constructor", IMAGE, "${alert(3)} $title", "&lt;b&gt; 'quoted\"")
SYSTEMS = ("__proto__", "hasOwnProperty", "<b>bold<!--")


def write_segments(path: Path, label: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"0.0\t4.0\t{label}\n4.0\t9.0\t{CLOSING}\n9.0\t12.0\t{IMAGE}\n")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    for place, track in enumerate(TRACKS):
        write_segments(folder / "ref" / f"{track}.lab", IMAGE)
        for system in SYSTEMS:
            write_segments(folder / "est" / system / f"{track}.lab", f"{CLOSING} {place}")
    (folder / "est" / SYSTEMS[2] / f"{IMAGE}.lab").write_text(f"0.0\tnot a number\t{IMAGE}\n")
    quoted = [track.replace('"', '""') for track in TRACKS]
    genres = [IMAGE, "__proto__", "__proto__", "constructor", "constructor"]
    rows = [f'"{track}","{genre}"' for track, genre in zip(quoted, genres, strict=True)]
    (folder / "meta.csv").write_text("\n".join(["track,genre", *rows]) + "\n")
    (folder / "p.yaml").write_text(
        f"# {CLOSING} {IMAGE} $title\nname: '{IMAGE}'\nevaluations:\n  - task: segment\n"
        "    reference: ref/{track}.lab\n    estimates: est/{system}/{track}.lab\n    tracks: meta.csv\n"
        f"store: {folder / 'store.zarr'}\n"
    )
    mirflow.run(folder / "p.yaml")
    write_page(folder / "store.zarr", folder / "page.html", title=f"{IMAGE}{CLOSING}")
    return folder / "page.html"


def test_names_are_shown_as_they_are(hostile, visit):
    page = visit(hostile)
    assert page.locator("#provenance > dl dd").last.inner_text() == f"{IMAGE}{CLOSING}"
    assert page.title() == f"{IMAGE}{CLOSING}"
    assert set(page.locator("#leaderboard tbody th").all_text_contents()) == set(SYSTEMS)
    titles = page.locator("#tracks tbody th button").evaluate_all("all => all.map(one => one.title)")
    assert set(titles) == set(TRACKS)
    assert page.locator("img").count() == 0
    assert page.locator("b:text-is('bold')").count() == 0


def test_groups_may_be_called_anything(hostile, visit):
    page = visit(hostile)
    page.select_option("#controls select[name=by]", "genre")
    page.wait_for_selector("#groups")
    headings = page.locator("#groups thead th").all_text_contents()
    assert {re.sub(r"\d+ tracks?$", "", heading) for heading in headings[1:]} >= {IMAGE, "__proto__", "constructor"}


def test_labels_messages_and_the_pipeline_are_text(hostile, visit):
    page = visit(hostile)
    page.locator("#provenance summary", has_text="pipeline").click()
    assert f"# {CLOSING} {IMAGE} $title" in page.locator("#provenance pre").inner_text()
    assert IMAGE in page.locator("#problems").inner_text()
    for name in TRACKS:
        page.locator("#tracks").get_by_title(name, exact=True).first.click()
        page.wait_for_selector("dialog[open]")
        assert page.locator("#timeline-title").text_content() == name
        values = page.locator("dialog .lanename .value").all_text_contents()
        assert values[0] == IMAGE
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")
    assert page.locator("img").count() == 0


def test_the_policy_refuses_what_is_not_of_the_page(hostile, browser):
    page = browser.new_page()
    page.goto(hostile.as_uri())
    page.wait_for_selector("html[data-loaded]", state="attached")
    refused = page.evaluate(
        """() => new Promise(resolve => {
        document.addEventListener("securitypolicyviolation", event => resolve(event.violatedDirective));
        const node = document.createElement("script");
        node.textContent = "document.title = 'run'";
        document.body.append(node);
        setTimeout(() => resolve("nothing"), 1000); })"""
    )
    assert refused.startswith("script-src")
    assert page.title() != "run"
    page.close()


ODD = ("]]>", "a b c", "\u202eturned", "\u2066isolated", "\x1b[31mred", "\ufffe\uffff", "x" * 100_000)


def test_odd_characters_and_endless_labels(tmp_path, visit):
    lines = "".join(f"{place}.0\t{place + 1}.0\t{label}\n" for place, label in enumerate(ODD))
    for track in ODD[:-2]:
        for side in ("ref", "est/\u202esystem"):
            (tmp_path / side).mkdir(parents=True, exist_ok=True)
            (tmp_path / side / f"{track.replace('/', '')}.lab").write_text(lines)
    size = write_page(score_files(tmp_path, "segment"), tmp_path / "p.html").size
    assert size - len(script()) - len(style_sheet(read_asset("page.css"))) < 50_000
    page = visit(tmp_path / "p.html")
    assert set(page.locator("#tracks tbody th").all_text_contents()) == set(ODD[:-2])
    page.locator("#tracks button.link").first.click()
    page.wait_for_selector("dialog[open]")
    canvas = page.locator("dialog canvas[tabindex]")
    message = set()
    for place in range(len(ODD)):
        width = canvas.bounding_box()["width"]
        canvas.hover(position={"x": width * (place + 0.5) / len(ODD), "y": 30})
        message.add(page.locator("dialog .lanename .value").first.text_content())
    assert message == {*ODD[:-1], ODD[-1][:297] + "..."}


def test_labels_of_chords_too(tmp_path, visit):
    rng = np.random.default_rng(0)
    write_lab(tmp_path / "ref" / "a.lab", rng)
    (tmp_path / "est" / "x").mkdir(parents=True)
    (tmp_path / "est" / "x" / "a.lab").write_text(f"0.0\t4.0\t{IMAGE}\n")
    write_page(score_files(tmp_path, "chord"), tmp_path / "p.html")
    page = visit(tmp_path / "p.html")
    assert IMAGE in page.locator("#problems").inner_text()
    page.locator("#tracks button.link").click()
    page.wait_for_selector("dialog[open]")
    assert IMAGE in page.locator("dialog .lanename .value").last.inner_text()
