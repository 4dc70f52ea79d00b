"""What can be copied of a report: tables, commands, frames, citations."""

from __future__ import annotations

import csv
import itertools
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import mirflow
from tests.commands import printed
from tests.groups import make_group, write_store

from .reading import copied, menu

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


def test_tables_are_copied_with_all_digits(page: Any, scores: xr.Dataset) -> None:
    def rows(part: str) -> dict[str, dict[str, str]]:
        table = copied(page, part, "CSV").split("\n\n")[0]
        return {row["System"]: row for row in csv.DictReader(table.splitlines())}

    score = scores.score.sel(metric="majmin")
    values, compared = scores.mirflow.query("majmin", ci=0.95), scores.mirflow.compare("majmin").isel(metric=0)
    correlations = rows("alike")
    for one, other in itertools.permutations(SYSTEMS, 2):
        expected = np.corrcoef(score.sel(system=one), score.sel(system=other))[0, 1]
        assert float(correlations[one][other]) == pytest.approx(expected, abs=1e-12)
    for name, row in rows("leaderboard").items():
        own = values.sel(system=name, metric="majmin")
        shown = [float(number) for number in list(row.values())[2:5]]
        assert shown == pytest.approx([own[end].item() for end in ("value", "low", "high")], abs=1e-9)
    (leader, first), *others = rows("standings").items()
    assert float(first["Value"]) == pytest.approx(values.value.max().item(), abs=1e-9)
    for name, row in others:
        pair = compared.sel(system=name, other=leader)
        ends = [float(row[f"Difference to the leader, {end}"]) for end in ("low", "high")]
        assert ends == pytest.approx([pair[end].item() for end in ("low", "high")], abs=1e-9)
    of, against = page.locator("#gains select").evaluate_all(
        "all => all.map(one => one.selectedOptions[0].textContent)"
    )
    cells = "row => [...row.children].map(cell => cell.dataset.value ?? cell.querySelector('button').title)"
    for track, gain, *both in page.locator("#gains tr.open").evaluate_all(f"rows => rows.map({cells})"):
        expected = [score.sel(system=system, track=track).item() for system in (of, against)]
        assert [float(value) for value in both] == expected
        assert float(gain) == pytest.approx(expected[0] - expected[1], abs=1e-12)


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


def test_a_list_that_was_made_longer_is_copied_whole(page: Any) -> None:
    page.evaluate("() => document.querySelector('#tracks button.more').click()")
    rows = list(csv.DictReader(copied(page, "tracks", "CSV").splitlines()))
    assert len(rows) == page.locator("#tracks tbody tr").count() == 30
