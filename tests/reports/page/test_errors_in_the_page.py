"""What goes wrong: errors over all tracks by kind, whose totals are those of the scores, and their places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import mirflow
from tests.accessibility import assert_accessible

from .reading import block_of, contents_of

CHORDS = "0 4 C:maj\n4 8 G:7\n8 12 A:min\n12 16 N\n"
# The other key, transposed: the same kinds of errors at other pitches.
TRANSPOSED = "0 4 D:maj\n4 8 A:7\n8 12 B:min\n12 16 N\n"
ADA = ("0 4 C:maj\n4 8 G:7\n8 12 C:maj\n12 16 C:maj\n", "0 4 D:maj\n4 8 A:7\n8 10 D:maj\n10 12 B:min\n12 16 N\n")
BOB = ("0 3 F:maj\n3 4 C:maj\n4 8 G:7\n8 12 A:min\n12 16 N\n", TRANSPOSED)
BEATS = [*np.arange(6.0, 16.0, 0.5)]
TAGS = "a\trock\na\tloud\nb\tjazz\n"


def lists_of(page: Path, group: str) -> dict:
    """The errors of an evaluation, as a page has them."""
    described = next(one for one in contents_of(page)["evaluations"] if one["name"] == group)
    ((_, part, _),) = described["errors"]
    return json.loads(block_of(page, part))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("errors")
    for side in ("ref", "ada", "bob"):
        (folder / side).mkdir()
    for track, reference, ada, bob in zip("ab", (CHORDS, TRANSPOSED), ADA, BOB, strict=True):
        for side, text in (("ref", reference), ("ada", ada), ("bob", bob)):
            (folder / side / f"{track}.lab").write_text(text)
        for side, beats in (("ref", BEATS), ("ada", BEATS[::2]), ("bob", [*BEATS[:-1], 15.7])):
            (folder / side / f"{track}.txt").write_text("".join(f"{beat}\n" for beat in beats))
    (folder / "ref.tsv").write_text(TAGS)
    (folder / "ada.tsv").write_text("a\trock\na\tsad\nb\tjazz\n")
    (folder / "bob.tsv").write_text(TAGS)
    (folder / "p.yaml").write_text(
        "evaluations:\n"
        "- {task: chord, reference: 'ref/{track}.lab', estimates: '{system}/{track}.lab', systems: [ada, bob]}\n"
        "- {task: beat, reference: 'ref/{track}.txt', estimates: '{system}/{track}.txt', systems: [ada, bob]}\n"
        "- {task: tagging, reference: ref.tsv, estimates: '{system}.tsv', systems: [ada, bob]}\n"
        "store: p.zarr\n"
    )
    mirflow.run(folder / "p.yaml", scheduler="serial")
    mirflow.report(folder / "p.zarr", folder / "page.html")
    return folder


def test_chords_are_kinds_by_quality_and_distance_of_roots(folder):
    found = lists_of(folder / "page.html", "chord")
    ada, bob = found["systems"]
    told = [(kind["name"], kind["amount"], kind["tracks"]) for kind in ada["kinds"]]
    assert told == [("min → maj, a minor third above", 6.0, 2), ("no chord → maj", 4.0, 1)]
    assert [kind["name"] for kind in bob["kinds"]] == ["maj → maj, a fourth above"]
    assert (ada["wrong"], ada["judged"], found["unit"]) == (10.0, 32.0, "s")
    # What bob has right of it: all.
    assert ada["instead"] == [0.0, 10.0]


def test_beats_are_kinds_of_the_error_budget(folder):
    ada, bob = lists_of(folder / "page.html", "beat")["systems"]
    assert [(kind["name"], kind["amount"], kind["places"]) for kind in ada["kinds"]] == [("half tempo", 20.0, 2)]
    # The late beat is one of both sides.
    assert [(kind["name"], kind["amount"]) for kind in bob["kinds"]] == [("late", 4.0)]
    assert ada["instead"] == [0.0, 18.0]


def test_tags_are_named_with_what_is_wrong(folder):
    ada, bob = lists_of(folder / "page.html", "tagging")["systems"]
    assert sorted(kind["name"] for kind in ada["kinds"]) == ["loud: missing", "sad: extra"]
    assert bob["kinds"] == []


def compare_totals(store: Path, page: Path, group: str, sides: int) -> None:
    """Totals are those of scores and weights: of beats the weight is the mean of both sides."""
    found = lists_of(page, group)
    ds = mirflow.open_store(store)[group].to_dataset().sel(metric=found["rule"], track=found["tracks"])
    weight = sides * ds.weight.where(ds.score.notnull())
    judged, lost = (one.sum("track").values.tolist() for one in (weight, (1 - ds.score) * weight))
    for own, whole, wrong in zip(found["systems"], judged, lost, strict=True):
        kinds = sum(kind["amount"] for kind in own["kinds"]) + own["left"][1]
        assert (own["judged"], own["wrong"], kinds) == pytest.approx((whole, wrong, wrong), abs=1e-9)
    by_track = ((1 - ds.score) * weight).fillna(0.0).values
    for totals, lost in zip(found["byTrack"], by_track, strict=True):
        own = np.zeros(len(lost))
        for steps, amounts in (*totals["kinds"], totals["left"]):
            own[np.cumsum(steps, dtype=int)] += amounts
        assert own == pytest.approx(lost, abs=1e-9)


def test_totals_are_those_of_the_scores(folder, demo_store, tmp_path, monkeypatch):
    compare_totals(folder / "p.zarr", folder / "page.html", "beat", 2)
    # Tracks without a timeline count, and no place leads to them.
    mirflow.report(demo_store, tmp_path / "demo.html", timelines=1)
    compare_totals(demo_store, tmp_path / "demo.html", "chord", 1)
    found = lists_of(tmp_path / "demo.html", "chord")
    assert len(found["tracks"]) > 1
    kinds = [kind for own in found["systems"] for kind in own["kinds"]]
    assert max(kind["tracks"] for kind in kinds) > 1
    assert not any(track for kind in kinds for track in kind["track"])
    # Many cells: the tracks that have a timeline, and the page says so.
    monkeypatch.setattr("mirflow.reports.page.COUNTED", 1)
    mirflow.report(demo_store, tmp_path / "demo.html", timelines=1)
    assert len(lists_of(tmp_path / "demo.html", "chord")["tracks"]) == 1
    compare_totals(demo_store, tmp_path / "demo.html", "chord", 1)


@pytest.mark.slow
def test_totals_are_those_of_the_scores_of_mirex_2013(mirex2013_store, tmp_path):
    mirflow.report(mirex2013_store, tmp_path / "page.html", timelines="all")
    for group in ("chord", "chord_mirex2013"):
        compare_totals(mirex2013_store, tmp_path / "page.html", group, 1)


def filter_to(tracks: list[str]) -> str:
    return "filter=" + quote(json.dumps([["tracks", tracks]]))


@pytest.mark.slow
def test_totals_follow_the_filter(demo_store, tmp_path, visit):
    mirflow.report(demo_store, tmp_path / "page.html")
    ds = mirflow.open_store(demo_store)["chord"].to_dataset().sel(metric="majmin", system="elm")
    judged = ds.track.values[ds.score.notnull()].tolist()
    page = visit(tmp_path / "page.html", f"#wrong=elm&{filter_to(judged[1:4])}")
    while (more := page.locator("#errors .more")).count():
        more.click()
    amounts = page.locator("#errors td[data-value]").evaluate_all("all => all.map(one => Number(one.dataset.value))")
    own = ds.sel(track=judged[1:4])
    assert sum(amounts) == pytest.approx(float(((1 - own.score) * own.weight).sum()), abs=1e-9)
    share = f"{100 * sum(amounts) / float(own.weight.sum()):.1f} % of {float(own.weight.sum()):,.0f} s is wrong"
    note = page.locator("#errors .note").first.inner_text()
    assert share in note
    assert " on 3 of " in note
    assert "all tracks" not in page.inner_text("#errors") + page.inner_text("#filter")


def test_totals_of_all_tracks_say_so_under_a_filter(folder: Path, tmp_path: Path, visit: Any, monkeypatch: Any):
    page = visit(folder / "page.html", f"#wrong=ada&right=bob&{filter_to(['a'])}")
    said = "These totals are of all tracks; the filter limits the places."
    assert page.locator("#errors .note").first.inner_text().endswith(said), "what bob has right is not kept by track"
    monkeypatch.setattr("mirflow.reports.page.contents.TOTALS", 10)
    mirflow.report(folder / "p.zarr", tmp_path / "small.html")
    page = visit(tmp_path / "small.html", f"#wrong=ada&{filter_to(['a'])}")
    assert page.locator("#errors .note").first.inner_text().endswith(said)
    assert page.inner_text("#filter .status").endswith("The totals of errors are of all tracks.")


@pytest.mark.slow
def test_a_kind_leads_through_its_places_by_keys_and_links(folder, visit):
    page = visit(folder / "page.html", "#wrong=ada")
    rows = page.locator("#errors tbody tr")
    assert rows.first.inner_text().split("\t")[0] == "min → maj, a minor third above"
    assert page.locator("#errors thead th").first.inner_text() == "Error: reference → system"
    assert "31.3 % of 32 s is wrong" in page.locator("#errors .note").first.inner_text()
    rows.first.locator("button").press("Enter")
    page.wait_for_selector("dialog[open] canvas[tabindex]")
    place = page.locator("dialog .place")
    assert place.inner_text() == "1 of 2, ada: min → maj, a minor third above, the largest first"
    assert page.locator("#timeline-title").inner_text() == "a"
    page.keyboard.press("n")
    page.wait_for_function("() => document.querySelector('#timeline-title').textContent === 'b'")
    assert "from=errors&error=min" in page.url
    assert "place=2&time=8&seen=4-14&ear=ada" in page.url
    page.reload()
    page.wait_for_selector("dialog[open] canvas[tabindex]")
    assert place.inner_text().startswith("2 of 2, ada: min")
    page.keyboard.press("p")
    page.wait_for_function("() => document.querySelector('#timeline-title').textContent === 'a'")
    page.keyboard.press("Escape")
    page.select_option("#errors select[name=right]", label="bob")
    page.wait_for_function("() => location.hash.includes('right=bob')")
    assert "10 s that bob has right: 100.0 % of its errors" in page.locator("#errors .note").first.inner_text()
    assert_accessible(page, schemes=("light",))
    assert page.inner_text("#errors h2") == "What goes wrong"
    page.select_option("#controls select[name=metric]", label="Root")
    page.wait_for_selector("#errors h2:text-is('What goes wrong (by Major/minor)')")


def test_items_without_times_open_their_tracks(folder, visit):
    page = visit(folder / "page.html", "#evaluation=tagging&wrong=ada")
    page.locator("#errors button", has_text="sad: extra").click()
    page.wait_for_selector("dialog[open]")
    assert page.locator("#timeline-title").inner_text() == "a"
    assert "2" not in page.locator("dialog .place").inner_text().split(",")[0]


@pytest.mark.slow
def test_nothing_is_offered_without_files_or_references(folder, tmp_path):
    for options in ({"references": False}, {"only_aggregates": True}, {"timelines": "none"}):
        mirflow.report(folder / "p.zarr", tmp_path / "page.html", **options)
        assert not any(one.get("errors") for one in contents_of(tmp_path / "page.html")["evaluations"])


def test_tracks_without_a_timeline_are_marked_in_the_list(folder, tmp_path, visit, monkeypatch):
    mirflow.report(folder / "p.zarr", tmp_path / "page.html", timelines=1)
    page = visit(tmp_path / "page.html")
    rows = page.locator("#tracks tbody th").all_inner_texts()
    assert sorted(row.split("\n")[-1] for row in rows) == ["a", "no timeline"]
    note = page.locator("#errors .note").first.inner_text()
    assert "on all 2 tracks. Click a kind to hear its longest case among the tracks that have a timeline" in note
    page.locator("#tracks [data-track]", has_text="b").click()
    page.wait_for_selector("dialog[open]")
    assert "This track has no timeline." in page.locator("dialog .note").first.inner_text()
    monkeypatch.setattr("mirflow.reports.page.COUNTED", 1)
    mirflow.report(folder / "p.zarr", tmp_path / "page.html", timelines=1)
    page = visit(tmp_path / "page.html")
    assert "on the 1 hardest of 2 tracks. " in page.locator("#errors .note").first.inner_text()
