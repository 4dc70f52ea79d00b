"""The first screen: who leads, who is not told apart, a chart of intervals, and two systems beside each other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import mirflow
from tests.groups import make_group, write_store

from .reading import choose

SYSTEMS = ["oak", "elm", "fir", "<b>yew</b>"]


def scores_of(tracks: int = 60) -> xr.Dataset:
    """Two systems that are alike, one that is worse, and one without any score in the second metric."""
    rng = np.random.default_rng(3)
    easy = rng.uniform(0.5, 0.8, (1, tracks, 1))
    score = np.repeat(easy, 4, axis=0) + rng.normal(0, 0.02, (4, tracks, 2))
    score[2:] -= 0.3
    genre = ["rock", "jazz"] * (tracks // 2)
    return make_group(
        score, metrics=["root", "majmin"], systems=SYSTEMS, track_meta={"genre": genre}, weight=np.ones(score.shape)
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A store and its report."""
    folder = tmp_path_factory.mktemp("first")
    store = write_store(folder / "x.zarr", {"chord": scores_of()})
    mirflow.report(store, folder / "report.html")
    return store, folder / "report.html"


def test_a_sentence_says_who_leads_who_is_not_told_apart_and_who_is_worse(report: Any, visit: Any) -> None:
    store, page = report
    ranked = mirflow.open_store(store)["chord"].mirflow.compare("majmin")
    best = ranked["value"].values[:, 0].max()
    opened = visit(page)
    assert f"leads with {best:.3f} — and another one could be first" in opened.inner_text("h1")
    text = opened.inner_text("#standings .lead")
    assert "is not told apart from it; " in text
    assert text.endswith(" are worse.")
    assert "<b>yew</b>" in text


def test_it_is_there_without_scripts(report: Any, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report[1].absolute().as_uri())
    assert "leads with" in page.inner_text("h1")
    assert page.locator(".forest tbody tr").count() == 4
    assert page.locator(".forest tbody b").count() == 0, "names are text"
    told = page.inner_text("#second .difference")
    assert re.match(r"\+0\.0\d\d not told apart · each track's best: 0\.\d\d\d", told)
    sides = re.findall(r"(\w+) better on (\d+)", page.inner_text("#second .sides"))
    assert ({name for name, _ in sides}, sum(int(number) for _, number in sides)) == ({"oak", "elm"}, 60)
    assert page.locator("#second .gains").is_visible()
    assert page.locator("#second .extremes a").count() == 2
    context.close()


def test_the_chart_shows_values_of_the_query_and_differences_of_the_comparison(report: Any, visit: Any) -> None:
    store, path = report
    found = mirflow.query(store, metric="majmin").dataset
    compared = mirflow.open_store(store)["chord"].mirflow.compare("majmin").isel(metric=0)
    page = visit(path)
    shown = page.locator(".forest tbody tr").evaluate_all(
        """rows => rows.map(row => [row.querySelector("th").title, Number(row.querySelector("data").dataset.value),
        row.querySelector("td.ends").textContent])"""
    )
    assert [name for name, *_ in shown][:2] in (["oak", "elm"], ["elm", "oak"])
    for name, value, interval in shown:
        assert value == pytest.approx(found["value"].sel(system=name).item(), abs=1e-9)
        pair = compared.sel(system=name, other=shown[0][0])
        ends = f"[{pair['low'].item():.3f}, {pair['high'].item():.3f}]"
        assert interval == (ends if name != shown[0][0] else "")


def test_a_line_of_the_chart_reaches_the_value_of_the_leader_where_the_two_are_not_told_apart(
    report: Any, visit: Any
) -> None:
    rows = (
        visit(report[1])
        .locator(".forest tbody tr")
        .evaluate_all(
            """rows => rows.map(row => [row.querySelector("td.test").firstChild?.textContent,
        ...["line.best", "line.whisker"].flatMap(kind => [...row.querySelectorAll(kind)]).flatMap(
        line => [line.x1, line.x2].map(end => end.baseVal.value))])"""
        )
    )
    assert [relation for relation, *_ in rows][:2] == ["leader", "not told apart"]
    for relation, leader, _, *ends in rows[1:]:
        assert (ends[0] <= leader <= ends[1]) == (relation == "not told apart")


def test_values_of_another_metric_follow_percentages(report: Any, visit: Any) -> None:
    page = visit(report[1])
    page.get_by_label("Metric").select_option(label="Root")
    page.wait_for_function("() => document.querySelector('#leaderboard h2').textContent.includes('Root')")
    before = float(page.locator(".forest data").first.inner_text())
    page.get_by_label("Percent").check()
    page.wait_for_function("() => document.querySelector('.forest data').textContent.length === 4")
    assert float(page.locator(".forest data").first.inner_text()) == pytest.approx(100 * before, abs=0.06)
    assert page.inner_text("h1 data") == f"{100 * before:.1f} %"
    ends = page.locator(".forest td.ends").nth(1)
    exact = [100 * float(ends.get_attribute(f"data-{name}") or "") for name in ("low", "high")]
    assert ends.inner_text() == f"[{exact[0]:.1f}, {exact[1]:.1f}]"


def test_a_system_that_takes_tracks_from_all_is_named(tmp_path: Path) -> None:
    score = np.random.default_rng(5).uniform(0.4, 0.9, (14, 30, 1))
    score[3, ::3] = np.nan
    systems = [f"university_of_somewhere_submission_{number:02d}" for number in range(14)]
    mirflow.report(write_store(tmp_path / "x.zarr", {"beat": make_group(score, systems=systems)}), tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "20 of 30 tracks count: those that every system has. 03 lacks 10 tracks: without it 30 count." in text
    assert "2 more: " in text, "the chart has the best twelve"
    assert re.search(r'<th scope="row" title="university_of_somewhere_submission_\d\d" data-name="', text)


def test_of_many_systems_the_best_are_drawn_and_those_that_are_pinned(tmp_path: Path, visit: Any) -> None:
    score = np.random.default_rng(5).uniform(0, 0.1, (14, 30, 1)) - 0.02 * np.arange(14)[:, None, None] + 0.8
    store = write_store(
        tmp_path / "x.zarr", {"beat": make_group(score, systems=[f"s{number}" for number in range(14)])}
    )
    mirflow.report(store, tmp_path / "r.html")
    page = visit(tmp_path / "r.html")
    assert page.locator(".forest tbody tr:visible").count() == 13
    page.get_by_label("Find a system and pin it").fill("s13")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('pinned=s13')")
    page = visit(tmp_path / "r.html", page.url[page.url.index("#") :])
    assert page.locator("tr.pinned th").get_attribute("title") == "s13"
    assert page.locator("tr.pinned").is_visible()
    page.locator("tr.pinned").get_by_label("Pin s13").press("Enter")
    page.wait_for_function("() => !document.querySelector('tr.pinned')")


def test_the_table_is_folded_until_it_is_asked_for_and_stays_open(report: Any, visit: Any) -> None:
    page = visit(report[1], unfolded=False)
    assert not page.locator("#leaderboard table").first.is_visible()
    page.locator("#leaderboard summary").first.click()
    choose(page, "metric", "0")
    assert page.locator("#leaderboard table").first.is_visible()


def test_a_system_of_the_chart_is_compared_with_the_leader(report: Any, visit: Any) -> None:
    store, path = report
    page = visit(path)
    page.locator(".forest a", has_text="fir").click()
    page.wait_for_function("() => document.querySelector('#gains .note').textContent.includes('of fir against')")
    leader = page.locator("#gains select[name=against] option:checked").inner_text()
    pair = mirflow.open_store(store)["chord"].mirflow.compare("majmin").sel(system="fir", other=leader).isel(metric=0)
    text = page.locator("#gains .difference").inner_text()
    ends = ", ".join(f"{float(pair[name]):+.3f}" for name in ("low", "high"))
    assert text.startswith(f"{float(pair['difference']):+.3f} [{ends}], p < 0.001: told apart")
    assert text.endswith("those of all pairs of systems together.")
    assert "gains=fir" in page.url
    assert page.locator("#gains svg.waterfall").is_visible()
    assert "wrong=fir" in page.url, "its errors are one click away"


def test_the_pair_is_shown_by_group(report: Any, visit: Any) -> None:
    page = visit(report[1])
    choose(page, "by", "genre")
    rows = page.locator("#gains table").first.locator("tbody tr")
    assert rows.locator("th").all_inner_texts() == ["jazz", "rock"]
    assert rows.first.locator("td").first.inner_text() == "30"


def test_scores_of_few_values_are_counted(tmp_path: Path, visit: Any) -> None:
    score = np.array([[1.0] * 9 + [0.0], [0.0] * 10])[..., np.newaxis]
    store = write_store(tmp_path / "x.zarr", {"key": make_group(score, systems=["a", "b"])})
    mirflow.report(store, tmp_path / "report.html")
    page = visit(tmp_path / "report.html")
    assert page.locator("#distributions .row svg").first.get_attribute("aria-label") == "a, 0: 1 of 10, 1: 9 of 10"


def test_where_nothing_is_better_the_sentence_gives_the_range() -> None:
    from mirflow.reports.standings import Standing, Standings

    rows = [Standing("a", 0.25, 0.2, 0.3, ""), Standing("b", 0.5, 0.4, 0.6, "")]
    assert Standings(rows, "s", 0, 0.95, 9, 9).sentence() == (
        "The systems have 0.25 s to 0.5 s; neither high nor low is better."
    )


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report about three evaluations."""
    folder = tmp_path_factory.mktemp("three")
    groups = {name: scores_of() for name in ("chord", "chord_loose", "chord_strict")}
    mirflow.report(write_store(folder / "x.zarr", groups), folder / "report.html")
    return folder / "report.html"


def test_several_evaluations_are_in_a_tab_of_their_own_which_comes_first(three: Path, visit: Any) -> None:
    page = visit(three)
    assert page.locator("#tabs > div button").first.inner_text() == "Overview"
    page.locator("#overview a", has_text="chord_loose").first.click()
    page.wait_for_function("() => document.querySelector('select[name=evaluation]').value === '1'")
    assert "evaluation=chord_loose" in page.url


@pytest.mark.parametrize(
    ("form", "first", "row"),
    [
        ("CSV", '#,System,Value,"Difference to the leader, low","Difference to the leader, high",Test', "1,{0},{1},"),
        ("Markdown", "| # | System | Value | Difference to the leader | Test |", "| 1 | {0} | {2:.3f} |"),
        ("LaTeX", "\\begin{{tabular}}{{rlrll}}", "1 & {0} & \\textbf{{{2:.3f}}} & "),
    ],
)
def test_tables_can_be_copied(report: Any, visit: Any, form: str, first: str, row: str) -> None:
    page = visit(report[1])
    page.evaluate("() => { navigator.clipboard.writeText = async text => { window.copied = text; }; }")
    page.locator("#standings .take summary").click()
    page.locator("#standings .take button", has_text=form).click()
    lines = page.evaluate("() => window.copied").splitlines()
    name, value = page.locator(".forest tbody tr").first.evaluate(
        "row => [row.querySelector('th').title, row.querySelector('data').dataset.value]"
    )
    assert lines[3 if form == "LaTeX" else 0] == first.replace("{{", "{").replace("}}", "}")
    assert any(line.startswith(row.format(name, value, float(value))) and "leader" in line for line in lines)


def test_previews_of_links_say_who_leads(report: Any) -> None:
    text = report[1].read_text()
    told = re.search(r'<meta name="description" content="([^"]*)">', text)
    assert told is not None
    assert re.match(r"(oak|elm) leads with 0\.\d{3}\. (oak|elm) is not told apart from it; ", told[1])
    assert told[1].endswith(" 4 systems, 60 tracks.")
    assert f'<meta property="og:description" content="{told[1]}">' in text


def test_a_dot_of_the_difficulty_map_opens_its_track(report: Any, visit: Any) -> None:
    store, path = report
    score = mirflow.open_store(store)["chord"].score.sel(metric="majmin").values
    page = visit(path)
    hardest = int(score.mean(axis=0).argmin())
    page.locator("#difficulty circle").nth(hardest).click()
    name = mirflow.open_store(store)["chord"].track.values[hardest]
    page.wait_for_selector("dialog[open] h2")
    assert str(name) in page.locator("dialog h2").inner_text()
