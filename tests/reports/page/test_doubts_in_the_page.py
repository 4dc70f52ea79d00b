"""References that all systems contradict: listed, opened where they are, judged, and exported as a patch."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

import mirflow
from mirflow.reports.page import write_page
from mirflow.reports.page.live import LivePage
from tests.browser import ALL_TABS

from .reading import choose, contents_of
from .serving import serving

TRUTH = "0 4 C:maj\n4 8 G:maj\n8 12 A:min\n12 16 F:maj\n16 20 C:maj\n"
BEATS = "6\t1\n7\t2\n8\t3\n9\t4\n10\t1\n11\t2\n"
WRONG = "0 4 C:maj\n4 12 G:maj\n12 16 D:min\n16 20 C:maj\n"


SUFFIXES = {"chord": "lab", "beat": "txt", "key": "key"}
METRICS = {"chord": "majmin", "beat": "f_measure", "key": "weighted_score"}


def pipeline(folder: Path, patch: str = "") -> Path:
    evaluations = [
        f"- task: {task}\n  reference: {{path: 'ref/{{track}}.{suffix}'{patch and f', patch: {task}-{patch}'}}}\n"
        f"  estimates: 'est/{{system}}/{{track}}.{suffix}'\n  metrics: [{METRICS[task]}]\n"
        for task, suffix in SUFFIXES.items()
    ]
    (folder / "p.yaml").write_text(f"evaluations:\n{''.join(evaluations)}store: p.zarr\n")
    mirflow.run(folder / "p.yaml", scheduler="serial")
    return folder / "p.zarr"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tracks with two wrong chords each; in the first, one of them is part of a longer row."""
    folder = tmp_path_factory.mktemp("doubts")
    for side in ("ref", "est/ada", "est/bob"):
        (folder / side).mkdir(parents=True)
        for track in ("a", "b"):
            wrong = side == "ref"
            (folder / side / f"{track}.lab").write_text(WRONG if wrong else TRUTH)
            (folder / side / f"{track}.txt").write_text(BEATS.replace("9\t4\n", "9.4\t4\n") if wrong else BEATS)
            (folder / side / f"{track}.key").write_text("C major" if wrong else "A minor")
    write_page(pipeline(folder), folder / "page.html")
    return folder


def export(page, folder, task):
    with page.expect_download() as download:
        page.locator("#doubts button.export").click()
    assert download.value.suggested_filename == f"{task}-patch.json"
    download.value.save_as(folder / f"{task}-patch.json")


@pytest.mark.slow
def test_places_open_the_timeline_and_verdicts_become_a_patch(folder, visit):
    page = visit(folder / "page.html")
    rows = page.locator("#doubted tbody tr")
    assert rows.count() == 4
    assert rows.first.inner_text().split("\t")[:6] == ["a", "0:08.00", "0:12.00", "G:maj", "A:min", "2 of 2"]
    rows.first.locator("button.link").click()
    page.wait_for_selector("dialog[open] canvas[tabindex]")
    assert "time=8" in page.url
    assert "seen=4-16" in page.url
    assert "ear=ada" in page.url
    page.keyboard.press("Escape")
    page.locator("#doubts button.export").click()
    assert "Choose" in page.locator("#doubts [role=status] >> nth=0").inner_text()
    for place, verdict in enumerate(("consensus", "consensus", "reference", "unclear")):
        rows.nth(place).locator(f"button[value={verdict}]").click()
    page.locator("#doubts button.export").click()
    assert "Enter your name" in page.locator("#doubts [role=status] >> nth=0").inner_text()
    page.locator("#doubts input[name=author]").fill("Ada L.")
    export(page, folder, "chord")
    for number, task in ((1, "beat"), (2, "key")):
        choose(page, "evaluation", str(number))
        rows.nth(0).locator("button[value=consensus]").click()
        export(page, folder, task)
    page.reload()
    page.wait_for_selector("html[data-loaded]", state="attached")
    assert rows.first.locator("[aria-pressed=true]").all_inner_texts() == ["consensus right"]
    patch = json.loads((folder / "chord-patch.json").read_text())
    assert [(one["track"], one["author"], len(one["rows"])) for one in patch["tracks"]] == [("a", "Ada L.", 2)]
    assert "2 of 2 systems agree on A:min, not G:maj, at 8.00 s" in patch["tracks"][0]["reason"]
    left = mirflow.consensus(pipeline(folder, "patch.json"))
    assert {one.attrs["task"]: set(one.track.values.tolist()) for one in left} == {task: {"b"} for task in SUFFIXES}
    fixed = {
        task: mirflow.apply_patch(mirflow.load(folder / "ref" / f"a.{suffix}", task), folder / f"{task}-patch.json")
        for task, suffix in SUFFIXES.items()
    }
    assert fixed["chord"].label.values.tolist() == ["C:maj", "G:maj", "A:min", "F:maj", "C:maj"]
    assert fixed["beat"].time.values.tolist() == [6, 7, 8, 9, 10, 11]
    assert fixed["key"].label.values.tolist() == ["A minor"]
    write_page(folder / "p.zarr", folder / "patched.html")
    shown = visit(folder / "patched.html").locator("#provenance").inner_text()
    assert "chord-patch.json" in shown


@pytest.mark.slow
def test_a_page_without_references_has_no_such_places(folder, tmp_path):
    assert "doubts" in contents_of(folder / "page.html")["evaluations"][0]
    for options in ({"references": False}, {"only_aggregates": True}, {"timelines": "none"}):
        write_page(folder / "p.zarr", tmp_path / "page.html", **options)
        assert "doubts" not in contents_of(tmp_path / "page.html")["evaluations"][0]


def test_a_served_page_reads_them_when_they_are_asked_for(folder, browser):
    live = LivePage(folder / "p.zarr", "g1")
    evaluation, *_ = json.loads(live.contents())["evaluations"]
    found = json.loads(zlib.decompress(live.block(evaluation["doubts"].removeprefix("blocks/"))))
    assert {row["track"] for row in found["rows"]} <= {"a", "b"}
    assert found["task"] == "chord"
    hidden = LivePage(folder / "p.zarr", "g1", references=False)
    assert not {"doubts", "errors"} & set(json.loads(hidden.contents())["evaluations"][0])
    assert hidden.block("g1/0/doubts") is None
    assert hidden.block("g1/0/errors") is None
    with serving(live, None) as site, browser.new_context() as context:
        context.add_init_script(f"({ALL_TABS})()")
        page = context.new_page()
        page.goto(site.address)
        page.locator("#doubts button", has_text="Find these places").click()
        page.wait_for_selector("#doubted")
        assert page.locator("#doubted tbody tr").count() == len(found["rows"])
        page.locator("#errors button", has_text="List what goes wrong").click()
        page.wait_for_selector("#errors tbody tr")
        assert page.locator("#errors tbody tr").first.inner_text().startswith("maj → min")


def test_evaluations_of_the_same_files_share_these_places(folder, tmp_path):
    evaluation = (
        f"task: key, reference: '{folder}/ref/{{track}}.key', estimates: '{folder}/est/{{system}}/{{track}}.key', "
        "metrics: [weighted_score]"
    )
    text = f"evaluations:\n- {{name: one, {evaluation}}}\n- {{name: two, {evaluation}}}\nstore: keys.zarr\n"
    (tmp_path / "keys.yaml").write_text(text)
    mirflow.run(tmp_path / "keys.yaml", scheduler="serial")
    write_page(tmp_path / "keys.zarr", tmp_path / "page.html")
    served = json.loads(LivePage(tmp_path / "keys.zarr", "g1").contents())
    for contents in (contents_of(tmp_path / "page.html"), served):
        one, two = contents["evaluations"]
        assert one["doubts"] == two["doubts"]
