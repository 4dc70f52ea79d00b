"""References that all systems contradict: listed, opened where they are, judged, and exported as a patch."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

import mirflow
from mirflow.reports.page import write_page
from mirflow.reports.page.live import LivePage

from .reading import contents_of
from .serving import serving

TRUTH = "0 4 C:maj\n4 8 G:maj\n8 12 A:min\n12 16 F:maj\n16 20 C:maj\n"
WRONG = "0 4 C:maj\n4 12 G:maj\n12 16 D:min\n16 20 C:maj\n"


def pipeline(folder: Path, reference: str) -> Path:
    (folder / "p.yaml").write_text(
        f"evaluations:\n- task: chord\n  reference: {reference}\n  estimates: 'est/{{system}}/{{track}}.lab'\n"
        "  metrics: [majmin]\nstore: p.zarr\n"
    )
    mirflow.run(folder / "p.yaml", scheduler="serial")
    return folder / "p.zarr"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tracks with two wrong chords each; in the first, one of them is part of a longer row."""
    folder = tmp_path_factory.mktemp("doubts")
    for side in ("ref", "est/ada", "est/bob"):
        (folder / side).mkdir(parents=True)
        for track in ("a", "b"):
            (folder / side / f"{track}.lab").write_text(WRONG if side == "ref" else TRUTH)
    write_page(pipeline(folder, "ref/{track}.lab"), folder / "page.html")
    return folder


def test_places_open_the_timeline_and_verdicts_become_a_patch(folder, visit):
    page = visit(folder / "page.html")
    rows = page.locator("#doubted tbody tr")
    assert rows.count() == 4
    assert rows.first.inner_text().split("\t")[:6] == ["a", "0:08.00", "0:12.00", "G:maj", "A:min", "2 of 2"]
    rows.first.locator("button").click()
    page.wait_for_selector("dialog[open] canvas[tabindex]")
    assert "time=8" in page.url
    assert "seen=4-16" in page.url
    assert "ear=ada" in page.url
    page.keyboard.press("Escape")
    page.locator("#doubts button.export").click()
    assert "Choose" in page.locator("#doubts [role=status]").inner_text()
    for place, verdict in enumerate(("consensus", "consensus", "reference", "unclear")):
        rows.nth(place).locator("select").select_option(verdict)
    page.locator("#doubts button.export").click()
    assert "Enter your name" in page.locator("#doubts [role=status]").inner_text()
    page.locator("#doubts input[name=author]").fill("Ada L.")
    with page.expect_download() as download:
        page.locator("#doubts button.export").click()
    assert download.value.suggested_filename == "chord-patch.json"
    download.value.save_as(folder / "fix.json")
    page.reload()
    page.wait_for_selector("html[data-loaded]", state="attached")
    assert rows.first.locator("select").input_value() == "consensus"
    patch = json.loads((folder / "fix.json").read_text())
    assert [(one["track"], one["author"], len(one["rows"])) for one in patch["tracks"]] == [("a", "Ada L.", 2)]
    assert "2 of 2 systems agree on A:min, not G:maj, at 8.00 s" in patch["tracks"][0]["reason"]
    (left,) = mirflow.consensus(pipeline(folder, "{path: 'ref/{track}.lab', patch: fix.json}"))
    assert left.track.values.tolist() == ["b", "b"]
    fixed = mirflow.apply_patch(mirflow.load(folder / "ref" / "a.lab", "chord"), folder / "fix.json")
    assert fixed.label.values.tolist() == ["C:maj", "G:maj", "A:min", "F:maj", "C:maj"]


def test_a_page_without_references_has_no_such_places(folder, tmp_path):
    assert "doubts" in contents_of(folder / "page.html")["evaluations"][0]
    for options in ({"references": False}, {"only_aggregates": True}, {"timelines": "none"}):
        write_page(folder / "p.zarr", tmp_path / "page.html", **options)
        assert "doubts" not in contents_of(tmp_path / "page.html")["evaluations"][0]


def test_a_served_page_reads_them_when_they_are_asked_for(folder, browser):
    live = LivePage(folder / "p.zarr", "g1")
    (evaluation,) = json.loads(live.contents())["evaluations"]
    found = json.loads(zlib.decompress(live.block(evaluation["doubts"].removeprefix("blocks/"))))
    assert {row["track"] for row in found["rows"]} <= {"a", "b"}
    assert found["task"] == "chord"
    hidden = LivePage(folder / "p.zarr", "g1", references=False)
    assert "doubts" not in json.loads(hidden.contents())["evaluations"][0]
    assert hidden.block("g1/0/doubts") is None
    with serving(live, None) as site, browser.new_context() as context:
        page = context.new_page()
        page.goto(site.address)
        page.locator("#doubts button").click()
        page.wait_for_selector("#doubted")
        assert page.locator("#doubted tbody tr").count() == len(found["rows"])
