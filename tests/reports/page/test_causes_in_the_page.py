"""Causes of low scores are on the first screen, in a table of their own, and beside the tracks that they explain."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import mirflow
from mirflow.causes.diagnosis import Diagnosis
from mirflow.reports.page import write_page
from mirflow.reports.page.live import LivePage

from .reading import contents_of, let_draw

CHORDS = ("C:maj", "G:maj", "A:min", "F:maj", "D:min", "E:7")
BELOW = {"C": "B", "G": "F#", "A": "G#", "F": "E", "D": "C#", "E": "Eb"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four tracks; the reference of one is displaced by five seconds, and one system is a semitone low on another.

    There another system is late. The first one also has some wrong chords on the last track.
    """
    folder = tmp_path_factory.mktemp("causes")
    rng = np.random.default_rng(7)
    for side in ("ref", "est/ada", "est/bob", "est/cleo"):
        (folder / side).mkdir(parents=True)
    for track in "abcd":
        times = np.cumsum(rng.uniform(1, 3, 60))
        labels = rng.choice(CHORDS, 60)
        for side in ("ref", "est/ada", "est/bob", "est/cleo"):
            off = {("ref", "b"): 5.0, ("est/cleo", "c"): 4.0}.get((side, track), 0.0)
            low = (side, track) == ("est/bob", "c")
            own = [BELOW[label[0]] + label[1:] if low else label for label in labels]
            if (side, track) == ("est/bob", "d"):
                own[:12] = own[1:13]
            rows = zip(times + off, [*(times[1:] + off), times[-1] + off + 2], own, strict=True)
            lines = [f"0 {times[0] + off:.3f} N", *(f"{start:.3f} {end:.3f} {label}" for start, end, label in rows)]
            (folder / side / f"{track}.lab").write_text("\n".join(lines) + "\n")
    (folder / "p.yaml").write_text(
        "evaluations:\n- task: chord\n  reference: ref/{track}.lab\n  estimates: est/{system}/{track}.lab\n"
        "  metrics: [majmin]\nstore: p.zarr\n"
    )
    mirflow.run(folder / "p.yaml", scheduler="serial")
    return folder / "p.zarr"


def test_a_page_holds_what_diagnose_finds(store: Path, tmp_path: Path) -> None:
    write_page(store, tmp_path / "page.html")
    (evaluation,) = contents_of(tmp_path / "page.html")["evaluations"]
    assert evaluation["causes"]["suspect"] == 1
    found = {(track, system, side) for track, system, side, *_ in evaluation["causes"]["rows"]}
    assert found == {("b", "*", "reference"), ("c", "bob", "estimate"), ("c", "cleo", "estimate")}
    dataset = mirflow.diagnose(store).items[0]
    for (_, _, _, statement, *_), sentence in zip(evaluation["causes"]["rows"], dataset.sentence.values, strict=True):
        assert sentence.startswith(f"{statement}: ")
    text = (tmp_path / "page.html").read_text()
    assert "1 reference suspect</p>" in text
    assert '<div id="listen" data-track="c"' in text, "the track on which the two differ most"
    write_page(store, tmp_path / "without.html", references=False)
    assert "causes" not in contents_of(tmp_path / "without.html")["evaluations"][0]


@pytest.mark.slow
def test_a_worker_process_finds_the_same_causes(store: Path, tmp_path: Path, monkeypatch) -> None:
    write_page(store, tmp_path / "here.html")
    monkeypatch.setattr("mirflow.reports.causes._FEW", 1)
    # Would this process look for them, it would find none.
    monkeypatch.setattr("mirflow.reports.causes.find_causes", lambda *_, **__: Diagnosis([], 0, 0))
    write_page(store, tmp_path / "there.html", guarded=True)
    assert (tmp_path / "there.html").read_bytes() == (tmp_path / "here.html").read_bytes()


def test_a_page_that_a_server_sends_holds_the_same(store: Path, tmp_path: Path) -> None:
    write_page(store, tmp_path / "page.html")
    sent = json.loads(LivePage(store, "g1").contents())
    assert sent["evaluations"][0]["causes"] == contents_of(tmp_path / "page.html")["evaluations"][0]["causes"]
    hidden = json.loads(LivePage(store, "g1", references=False).contents())
    assert "causes" not in hidden["evaluations"][0]


@pytest.mark.slow
def test_causes_are_where_people_look(store, tmp_path, visit):
    write_page(store, tmp_path / "page.html")
    page = visit(tmp_path / "page.html", unfolded=False)
    assert page.locator("#listen .lanename b").all_inner_texts()[0] == "reference"
    cause = page.locator("#ranking .cause")
    assert cause.count() == 1
    assert cause.inner_text().startswith("bob: 1 semitone")
    assert cause.get_attribute("title").startswith("bob: the estimate is 1 semitone")
    page.locator("#listen a", has_text="All").click()
    page.wait_for_selector("dialog[open] canvas[tabindex]")
    assert "track=c" in page.url
    page = visit(tmp_path / "page.html")
    page.locator("#tabs button", has_text="1 suspect").click()
    rows = page.locator("#caused tbody tr")
    assert [text.split("\t")[:2] for text in rows.all_inner_texts()] == [
        ["b", "the reference (or the recording) is 5 s late"],
        ["c", "the estimate is 1 semitone too low"],
        ["c", "the estimate is 4 s late"],
    ]
    assert rows.locator("td:nth-child(3)").all_inner_texts() == ["3 of 3 ada, bob, cleo", "bob", "cleo"]
    fine = rows.first.get_by_role("button", name="fine")
    fine.click()
    assert fine.get_attribute("aria-pressed") == "true"
    with page.expect_download() as download:
        page.get_by_role("button", name="Export verdicts").click()
    assert "b,fine,," in Path(download.value.path()).read_text()
    page.reload()
    page.wait_for_selector("html[data-loaded]", state="attached")
    assert fine.get_attribute("aria-pressed") == "true", "verdicts are kept"
    assert page.locator("#tracks small.cause").count() == 2
    page.select_option("#gains select[name=of]", label="bob")
    page.wait_for_selector("#gains small.cause")
    assert page.locator("#gains small.cause").first.inner_text().startswith("bob: the estimate is 1 semitone")
    assert "b" not in page.locator("#doubted tbody th").all_inner_texts()
    page.locator("#caused tbody tr").nth(1).locator("button").click()
    page.wait_for_selector("dialog[open] canvas[tabindex]")
    assert "ear=bob" in page.url
    box = page.get_by_label("Draw without the cause")
    box.check()
    assert re.search(r"0\.\d\d\d → 1\.000", page.locator("label", has=box).inner_text())
    let_draw(page)
    first = [
        page.locator("dialog .lanename", has_text=name).locator(".value").first.inner_text()
        for name in ("reference", "bob")
    ]
    assert first[0].split(":")[0] == first[1].split(":")[0]
    page.wait_for_url(re.compile("track=c&.*without=cause"))
    page.get_by_role("button", name="Next").click()
    page.wait_for_url(re.compile("track=(?!c)"))
    assert "without" not in page.url


@pytest.mark.slow
def test_errors_lead_to_suspect_references_last(store, tmp_path, visit):
    write_page(store, tmp_path / "page.html")
    page = visit(tmp_path / "page.html", unfolded=False)
    page.locator("#tabs button", has_text="Errors").click()
    page.select_option("#errors select[name=of]", label="bob")
    # On track b the reference is suspect; errors of kinds that are on another track as well are looked at there.
    kinds = page.locator("#errors tbody tr").evaluate_all(
        "rows => rows.map(row => [row.querySelector('button').textContent, row.children[4].textContent])"
    )
    both = [name for name, tracks in kinds if tracks == "2"]
    assert both
    for name in both:
        page.locator("#errors tbody button").filter(has_text=re.compile(f"^{re.escape(name)}$")).click()
        page.wait_for_selector("dialog[open]")
        assert re.search("track=[cd]", page.url)
        page.keyboard.press("Escape")
