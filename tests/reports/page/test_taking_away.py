"""What can be taken away of a report: pictures, specifications, commands, citations."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import xarray as xr

import mirflow
from tests.commands import printed
from tests.groups import make_group, write_store

from .reading import copied, menu, specification

SVG = "{http://www.w3.org/2000/svg}"
SYSTEMS = ["oak", "elm & ash", "fir"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems that are alike, and one that is worse, on 30 tracks."""
    rng = np.random.default_rng(5)
    score = rng.uniform(0.4, 0.7, (1, 30, 1)) + rng.normal(0, 0.03, (3, 30, 1))
    score[2] -= 0.2
    group = make_group(score, metrics=["majmin"], systems=SYSTEMS, weight=np.ones(score.shape))
    return write_store(tmp_path_factory.mktemp("taken") / "x.zarr", {"chord": group})


@pytest.fixture(scope="module")
def report(store: Path) -> Path:
    mirflow.report(store, store.parent / "report.html")
    return store.parent / "report.html"


@pytest.fixture(scope="module")
def scores(store: Path) -> xr.Dataset:
    return mirflow.open_store(store)["chord"].to_dataset()


@pytest.fixture
def page(report: Path, visit: Any) -> Any:
    opened = visit(report)
    opened.evaluate("() => { navigator.clipboard.writeText = async text => { window.copied = text; }; }")
    return opened


def saved(page: Any, part: str, form: str) -> bytes:
    """The file that a menu saves."""
    with page.expect_download() as download:
        menu(page, part).get_by_role("button", name=form, exact=True).click()
    return Path(download.value.path()).read_bytes()


def test_charts_are_specifications_of_vega_lite_with_all_digits(page: Any, scores: xr.Dataset) -> None:
    parts = ("standings", "leaderboard", "distributions", "heatmap", "gains", "alike", "difficulty")
    found = {part: specification(page, part) for part in parts}
    score = scores.score.sel(metric="majmin")
    for part in ("distributions", "heatmap"):
        rows = found[part]["data"]["values"]
        assert len(rows) == score.size
        assert all(row["value"] == score.sel(system=row["system"], track=row["track"]) for row in rows)
    values, compared = scores.mirflow.query("majmin", ci=0.95), scores.mirflow.compare("majmin").isel(metric=0)
    for row in found["alike"]["data"]["values"]:
        one, other = (score.sel(system=row[name]) for name in ("system", "other"))
        assert row["value"] == pytest.approx(np.corrcoef(one, other)[0, 1], abs=1e-12)
    for row in found["leaderboard"]["data"]["values"]:
        own = values.sel(system=row["system"], metric="majmin")
        assert [row[name] for name in ("value", "low", "high")] == pytest.approx(
            [own[name].item() for name in ("value", "low", "high")], abs=1e-9
        )
    leader, *others = found["standings"]["data"]["values"]
    for row in others:
        pair = compared.sel(system=row["system"], other=leader["system"])
        ends = [leader["value"] + pair[name].item() for name in ("low", "high")]
        assert [row["low"], row["high"]] == pytest.approx(ends, abs=1e-9)
    of, _, against = found["gains"]["title"].partition(" against ")
    for row in found["gains"]["data"]["values"]:
        gain = score.sel(system=of, track=row["track"]) - score.sel(system=against, track=row["track"])
        assert row["gain"] == pytest.approx(gain.item(), abs=1e-12)
    for row in found["difficulty"]["data"]["values"]:
        own = score.sel(track=row["track"])
        assert [row["mean"], row["spread"]] == pytest.approx([own.mean().item(), np.ptp(own.values)], abs=1e-12)


def test_pictures_have_title_and_caption_and_png_is_twice_as_fine(page: Any) -> None:
    drawn = ElementTree.fromstring(saved(page, "standings", "SVG"))
    texts = [text.text or "" for text in drawn.iter(f"{SVG}text")]
    assert texts[0] == "Majmin: chord, x"
    assert "is not told apart from it; fir is worse." in " ".join(texts[1:3])
    assert set(SYSTEMS) <= set(texts)
    key = "Lines: 95 % intervals of the difference to the leader, of all systems together."
    assert key in " ".join(texts)
    assert len([*drawn.iter(f"{SVG}path")]) > 3 * len(SYSTEMS)
    png = saved(page, "standings", "PNG")
    assert int.from_bytes(png[16:20], "big") == 2 * int(drawn.get("width", "0"))
    # What is drawn on a canvas is an image in the picture: the legend and the scores.
    heat = ElementTree.fromstring(saved(page, "heatmap", "SVG"))
    assert [one.get("href", "")[:22] for one in heat.iter(f"{SVG}image")] == ["data:image/png;base64,"] * 2
    # The title of a chart, which a pointer shows, is no shape of it.
    dots = page.locator("#tracks .dots circle").count()
    assert len([*ElementTree.fromstring(saved(page, "tracks", "SVG")).iter(f"{SVG}path")]) > dots > 0


@pytest.mark.slow
def test_the_commands_that_make_what_is_shown_give_its_numbers(
    page: Any, store: Path, scores: xr.Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(store.parent)

    def run(part: str, *more: str) -> str:
        words = shlex.split(copied(page, part, "Command"))
        assert words[0] == "mirflow"
        assert words[2] == "x.zarr"
        return printed(*words[1:], *more)

    for part in ("standings", "leaderboard"):
        printed_rows = {row["system"]: row for row in json.loads(run(part, "--format", "json"))}
        for name, value in page.locator("#standings .forest tbody tr").evaluate_all(
            "rows => rows.map(row => [row.querySelector('th').title, row.querySelector('data').dataset.value])"
        ):
            assert printed_rows[name]["value"] == pytest.approx(float(value), abs=1e-9)
    shown = page.locator("#gains .difference b")
    names = page.locator("#gains select").evaluate_all("all => all.map(one => one.selectedOptions[0].textContent)")
    rows = json.loads(run("gains", "--format", "json"))
    row = next(row for row in rows if {row["system"], row["other"]} == set(names))
    turn = 1 if row["system"] == names[0] else -1
    assert float(shown.get_attribute("data-value")) == pytest.approx(turn * row["difference"], abs=1e-9)
    assert shown.get_attribute("data-p") == f"{row['p_corrected']:.6g}"
    ends = [float(end) for end in shown.get_attribute("data-ends").split()]
    assert ends == sorted(float(f"{turn * row[end]:.6g}") for end in ("low", "high"))
    for part in ("tracks", "difficulty"):
        by_track = json.loads(run(part, "--format", "json"))
        table = np.array([[row[name] for name in SYSTEMS] for row in by_track])
        own = scores.score.sel(metric="majmin", system=SYSTEMS, track=[row["track"] for row in by_track])
        assert table == pytest.approx(own.values.T, abs=1e-12)
    # A map of colours weighs no tracks: its signature has another aggregate.
    for part, signed in (("distributions", signature(page)), ("heatmap", "chord/majmin;")):
        run(part, "-o", str(tmp_path / f"{part}.svg"))
        assert f"mirflow: {signed}" in (tmp_path / f"{part}.svg").read_text()


def signature(page: Any) -> str:
    """What the citation says of the computation."""
    note = next(line for line in copied(page, "standings", "Cite").splitlines() if line.startswith("  note = "))
    return note.removesuffix("},").split(", ", 2)[2]


def test_each_click_says_what_happened_and_links_of_files_what_they_need(page: Any) -> None:
    status = menu(page, "standings").locator(".status")
    words = {"CSV": "Copied as CSV", "LaTeX": "Copied as LaTeX", "Embed": "Copied as HTML. The link works"}
    for form, said in words.items():
        copied(page, "standings", form)
        assert status.inner_text().startswith(said)
    saved(page, "standings", "SVG")
    assert status.inner_text() == "Saved chord-standings.svg"
    page.locator("#tabs").get_by_role("button", name="Share").click()
    assert page.locator("#tabs .copy .status").inner_text().endswith("send the file, too.")


def test_latex_has_a_caption_and_bold_and_csv_a_column_for_each_end(page: Any) -> None:
    text = copied(page, "standings", "LaTeX")
    assert "\\caption{Majmin: chord, x}" in text
    assert "\\textbf{" in text
    heads = copied(page, "standings", "CSV").splitlines()[0]
    assert '"Difference to the leader, low","Difference to the leader, high"' in heads


def test_a_citation_has_the_signature_of_the_numbers(page: Any, store: Path) -> None:
    text = copied(page, "standings", "Cite")
    assert text.startswith("@software{mirflow,")
    assert "note = {Results of x, chord, " in text
    assert f"signature: {signature(page)}" in printed("query", store, "-m", "majmin", "--signatures")


def test_a_part_can_be_shown_alone_inside_of_another_page(page: Any, report: Path, browser: Any) -> None:
    context = browser.new_context(viewport={"width": 900, "height": 700})
    for part in ("distributions", "standings"):
        frame = copied(page, part, "Embed")
        host = report.with_name("host.html")
        host.write_text(f"<!DOCTYPE html><title>Host</title><p>{frame}</p>")
        other = context.new_page()
        other.goto(host.as_uri())
        inside = other.frame_locator("iframe")
        inside.locator(f"#{part}.alone").wait_for()
        shown = inside.locator("#main section, #standings, #tabs, #head, #controls").evaluate_all(
            "parts => parts.filter(part => part.checkVisibility()).map(part => part.id)"
        )
        assert [one for one in shown if one != "leaderboard"] == [part]
    context.close()
