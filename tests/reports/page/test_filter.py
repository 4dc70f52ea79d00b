"""The filter of a page: all numbers are of the tracks and systems that its chips leave, and equal those of queries."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import pytest
import xarray as xr

import mirflow
from tests.accessibility import assert_accessible, assert_fits
from tests.commands import printed
from tests.groups import make_group, write_store

from .reading import choose, values_in
from .test_paper_and_phones import PHONE

SYSTEMS = ["oak", "elm", "fir", "yew"]


def scores_of(tracks: int = 60) -> xr.Dataset:
    """Random scores and weights; the system yew lacks every tenth track, and every seventh track has no year."""
    rng = np.random.default_rng(5)
    score = rng.uniform(0, 1, (1, tracks, 1)) / 2 + rng.uniform(0, 0.5, (4, tracks, 2))
    status = np.full((4, tracks), "ok", dtype=object)
    status[3, ::10], score[3, ::10] = "missing_estimate", np.nan
    year = np.where(np.arange(tracks) % 7, 1950.0 + np.arange(tracks), np.nan)
    genre = [["rock", "jazz", "R & B", ""][place % 4] for place in range(tracks)]
    return make_group(
        score,
        rng.uniform(1, 300, score.shape),
        status=status,
        metrics=["root", "majmin"],
        systems=SYSTEMS,
        track_meta={"genre": genre, "year": year.tolist(), "live": [place % 3 == 0 for place in range(tracks)]},
        duration=rng.uniform(300, 400, tracks),
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a second evaluation that has no metadata; its report is beside it."""
    folder = tmp_path_factory.mktemp("filter")
    plain = make_group(np.linspace(0, 1, 8).reshape(1, 8, 1), systems=["oak"])
    written = write_store(folder / "x.zarr", {"chord": scores_of(), "plain": plain})
    mirflow.report(written, folder / "report.html")
    return written


def link(*chips: Any, more: str = "") -> str:
    return f"#filter={quote(json.dumps(chips))}{more}"


def show(visit: Any, store: Path, *chips: Any, more: str = "") -> Any:
    """The page with a filter, which has no interval and no test of its own."""
    page = visit(store.parent / "report.html", link(*chips, more=more))
    page.wait_for_selector("#leaderboard > .note:has-text('Intervals and tests are of all tracks and systems')")
    return page


def filter_of(page: Any) -> Any:
    """The chips that the address has."""
    return json.loads(parse_qs(urlsplit(page.url).fragment)["filter"][0])


def test_every_number_is_that_of_the_query_of_these_tracks_and_systems(store: Path, visit: Any) -> None:
    chips = [["is", "genre", ["rock", "R & B", ""]], ["from", "year", 1955, 2000], ["systems", ["oak", "fir", "yew"]]]
    page = show(visit, store, *chips)
    where = "(genre in ['rock', 'R & B'] or genre is None) and 1955 <= year <= 2000"
    for aggregate, missing in (("wcsr", "common"), ("wcsr_total", "zero"), ("median", "skip")):
        choose(page, "aggregate", aggregate)
        choose(page, "missing", missing)
        asked = {"where": where, "system": ["oak", "fir", "yew"], "missing": missing}
        found = mirflow.query(store, "majmin", group="chord", aggregate=aggregate, **asked).dataset
        shown = values_in(page)
        assert list(shown) == found["system"].values[np.argsort(-found["value"].values[:, 0])].tolist()
        for system, (value, *_) in shown.items():
            assert value == pytest.approx(float(found["value"].sel(system=system).item()), rel=1e-12)
        pair = "all => all.map(one => one.selectedOptions[0].textContent)"
        assert page.locator("#gains select").evaluate_all(pair) == list(shown)[:2], "the two best of these tracks"
        counts = page.locator("#leaderboard td.count").all_inner_texts()[: len(shown)]
        assert counts == [str(found["n"].sel(system=system).item()) for system in shown]


@pytest.mark.slow
def test_numerators_over_a_weight_of_0_count_as_in_queries(tmp_path: Path, visit: Any) -> None:
    score, weight = np.full((2, 8, 1), 0.25), np.full((2, 8, 1), 4.0)
    weight[:, ::3] = 0.0
    ds = make_group(score, weight, standard=["pooled"], aggregates=["mean pooled"], orientation=["lower"])
    numerator = np.where(weight == 0, [[[3.0]], [[0.0]]], 0.0)
    ds["numerator"] = ("system", "track", "metric"), numerator
    ds["score"] = ds["score"].where(ds["weight"] > 0)
    path = write_store(tmp_path / "x.zarr", {"chord": ds})
    mirflow.report(path, tmp_path / "report.html")
    for tracks in ([f"t{place}" for place in range(8)], ["t0", "t1", "t3"], ["t0", "t3"]):
        asked = {"group": "chord", "where": f"track in {tracks}"}
        expected = mirflow.query(path, "majmin", **asked).dataset.isel(metric=0)
        page = visit(tmp_path / "report.html", link(["tracks", tracks]) if len(tracks) < 8 else "")
        shown = {row.locator("th").inner_text(): row for row in page.locator(".board").first.locator("tbody tr").all()}
        for system, row in shown.items():
            exact = float(row.locator("td.strong").get_attribute("data-value") or "nan")
            assert exact == pytest.approx(float(expected["value"].sel(system=system)), rel=1e-12, nan_ok=True)
            assert row.locator("td.count").inner_text() == str(expected["n"].sel(system=system).item())


@pytest.mark.parametrize(
    "chips",
    [
        [["from", "year", None, 1990], ["is", "genre", ["jazz"]]],
        [["score", "majmin", "system elm", 0.5, None], ["find", "T1"], ["systems", ["oak", "elm"]]],
    ],
)
def test_the_command_beside_the_table_prints_the_same_numbers(
    store: Path, visit: Any, monkeypatch: Any, chips: Any
) -> None:
    monkeypatch.chdir(store.parent)
    page = show(visit, store, *chips, more="&aggregate=mean")
    page.evaluate("() => Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.locator("#leaderboard > .take summary").click()
    page.locator("#leaderboard > .take").get_by_role("button", name="Command").click()
    program, *words = shlex.split(page.locator("#leaderboard > .take textarea").input_value())
    assert program == "mirflow"
    assert words[-2:] == ["--ci", "--significance"]
    told = [line.split() for line in printed(*words[: words.index("--ci")]).splitlines()]
    rows = page.locator("#leaderboard table").first.locator("tbody tr").all()
    exact = [(row.locator("th").inner_text(), float(row.locator("td.strong").get_attribute("title"))) for row in rows]
    assert {(name, f"{value:.4f}") for name, value in exact} == {
        tuple(one[:2]) for one in told if one[:1] and one[0] in SYSTEMS
    }
    assert [row.locator("td.strong").inner_text() for row in rows] == [f"{value:.2f}" for _, value in exact]


def test_tracks_are_chosen_by_scores_and_all_parts_follow(store: Path, visit: Any) -> None:
    score = scores_of()["score"].values[:2, :, 1]
    mean, spread = score.mean(axis=0), np.ptp(score, axis=0)
    chosen = np.flatnonzero((mean <= 0.5) & (spread >= 0.1))
    limits = [["score", "majmin", "mean", None, 0.5], ["score", "majmin", "spread", 0.1, None]]
    page = show(visit, store, *limits, ["systems", ["oak", "elm"]])
    assert f"{len(chosen)} of 60 tracks, 2 of 4 systems shown. The numbers below" in page.inner_text(
        "#filter [role=status]"
    )
    names = page.locator("#tracks tbody th").all_inner_texts()
    assert names == [f"t{track}" for track in chosen[np.argsort(mean[chosen])]][:15]
    assert page.locator("#distributions .row svg").first.get_attribute("aria-label").endswith(f", n {len(chosen)}")
    assert page.locator("#heatmap .names span").count() == 2
    assert f"on {len(chosen)} tracks." in page.inner_text("#gains > .note")
    assert f"the best value of these {len(chosen)} tracks, " in page.inner_text("h1")
    weights = "all => all.map(one => getComputedStyle(one).fontWeight)"
    assert page.locator("#leaderboard table td.strong").evaluate_all(weights) == ["650", "400"]
    assert page.inner_text("#overview > .note") == "Results of all evaluations are shown without a filter only."
    assert page.locator("#leaderboard td.letters").count() == 0
    assert set(page.locator(".shown").all_inner_texts()) == {f"Shown: {len(chosen)} of 60 tracks, 2 of 4 systems."}
    following = page.locator("section:has(> .shown)").evaluate_all("parts => parts.map(part => part.id)")
    assert following == ["gains", "tracks", "difficulty", "distributions", "heatmap", "coverage"]


def test_the_form_adds_a_chip_by_keyboard_and_back_takes_it_away(store: Path, visit: Any) -> None:
    page = visit(store.parent / "report.html")
    page.locator("[name='add filter']").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("[name='filter field']:focus")
    for key in ("ArrowDown", "Tab", "Space", "Tab", "Tab", "Space", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("#filter li")
    assert page.evaluate("() => document.activeElement.getAttribute('name')") == "add filter"
    assert filter_of(page) == [["is", "genre", ["", "R & B"]]]
    page.keyboard.press("Enter")
    page.get_by_label("Filter by").select_option("score")
    page.get_by_label("At least").fill("0.7")
    page.get_by_label("At most").fill("0.2")
    page.get_by_role("button", name="Apply").click()
    assert page.inner_text("#filter [role=alert]") == "The first number is larger than the second."
    page.get_by_label("At least").fill("")
    page.get_by_label("At most").press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#filter li').length === 2")
    assert filter_of(page)[1] == ["score", "majmin", "mean", None, 0.2]
    page.get_by_role("button", name="Remove the filter genre").click()
    page.wait_for_function("() => document.querySelectorAll('#filter li').length === 1")
    for left in (2, 1, 0):
        page.go_back()
        page.wait_for_function("left => document.querySelectorAll('#filter li').length === left", arg=left)
    assert "best value of these" not in page.inner_text("h1")


def test_a_click_on_a_group_keeps_its_tracks_alone(store: Path, visit: Any) -> None:
    page = visit(store.parent / "report.html", "#group=genre")
    page.locator("#groups thead button", has_text="(none)").click()
    page.wait_for_selector("#filter li")
    assert filter_of(page) == [["is", "genre", [""]]]
    assert "15 of 60 tracks" in page.inner_text("#filter [role=status]")


@pytest.mark.parametrize(
    ("chips", "left"),
    [
        ('[["find","t1"]', 0),
        ('{"find": "t1"}', 0),
        (json.dumps([["is", "no_such", ["x"]], ["__proto__"], 7, ["from", "year", 9, 1], ["find", "t1"]]), 1),
    ],
)
def test_links_with_conditions_that_mean_nothing_here_say_so(store: Path, visit: Any, chips: str, left: int) -> None:
    page = visit(store.parent / "report.html", f"#filter={quote(chips)}")
    assert "The link names what this page does not have: filter " in page.inner_text("header .warning")
    assert page.locator("#filter li").count() == left


def test_another_evaluation_keeps_the_conditions_that_it_knows_and_says_which_it_does_not(
    store: Path, visit: Any
) -> None:
    page = visit(store.parent / "report.html", link(["is", "genre", ["rock", "jazz"]], ["find", "t1"]))
    choose(page, "evaluation", "1")
    text = page.inner_text("#filter [role=status]")
    assert text.startswith("1 of 8 tracks shown. The numbers below are of this track. Without genre: rock or jazz")
    assert filter_of(page) == [["find", "t1"]]


def test_where_no_track_is_left_the_page_says_so(store: Path, visit: Any) -> None:
    page = visit(store.parent / "report.html", link(["find", "zzz"]))
    assert page.inner_text("#leaderboard h2") == "No track is left"
    page.get_by_role("button", name="Remove the filter “zzz”").click()
    page.wait_for_selector("#standings")


@pytest.mark.slow
def test_chips_and_form_are_accessible_on_any_screen(store: Path, visit: Any) -> None:
    chips = [["is", "genre", ["rock", ""]], ["score", "majmin", "system elm", 0.1, 0.9], ["systems", SYSTEMS[:3]]]
    for options in (PHONE, {"viewport": {"width": 1024, "height": 900}}):
        page = visit(store.parent / "report.html", link(*chips), **options)
        page.locator("[name='add filter']").click()
        for field in ("systems", "score"):
            page.get_by_label("Filter by").select_option(field)
            assert_accessible(page)
            assert_fits(page)


def drag(page: Any, selector: str, *ends: tuple[float, float]) -> None:
    """Drag from one place to another one, each as shares of the width and of the height of an element."""
    target = page.locator(selector).first
    # Clear of the bar that stays at the top.
    target.evaluate("one => one.scrollIntoView({ block: 'center' })")
    box = target.bounding_box()
    (start, *rest) = [(box["x"] + across * box["width"], box["y"] + down * box["height"]) for across, down in ends]
    page.mouse.move(*start)
    page.mouse.down()
    for place in rest:
        page.mouse.move(*place, steps=4)


@pytest.mark.slow
def test_a_drag_over_a_chart_sets_chips_and_escape_gives_it_up(store: Path, visit: Any) -> None:
    page = visit(store.parent / "report.html", "#aggregate=mean")
    ds = scores_of()["score"].sel(metric="majmin")
    ranked = mirflow.query(store, "majmin", group="chord", aggregate="mean").dataset["value"].isel(metric=0)
    rows = ranked["system"].values[np.argsort(-ranked.values)].tolist()
    drag(page, "#heatmap .heat canvas", (0.1, 0.1), (0.5, 0.3))
    page.keyboard.press("Escape")
    page.mouse.up()
    assert "filter=" not in page.url
    drag(page, "#heatmap .heat canvas", (10.5 / 60, 0.02), (19.5 / 60, 0.2))
    page.mouse.up()
    page.wait_for_selector("#filter li")
    ((kind, metric, of, low, high),) = filter_of(page)
    assert (kind, metric, of) == ("score", "majmin", "mean")
    means = np.sort(ds.mean("system").values)[10:20]
    assert (low, high) == pytest.approx((means[0], means[-1]), abs=2e-3)
    assert page.locator("dialog").count() == 0, "a drag is no click"
    page.get_by_role("button", name="Remove the filter").click()
    page.wait_for_selector("#filter li", state="detached")
    drag(page, "#heatmap .heat canvas", (0.0, 0.3), (0.3, 0.7))
    page.mouse.up()
    page.wait_for_function("() => document.querySelectorAll('#filter li').length === 2")
    systems, tracks = filter_of(page)
    assert systems == ["systems", rows[1:3]]
    assert set(tracks[1]) == {f"t{place}" for place in np.argsort(ds.mean("system").values)[: len(tracks[1])]}
    page.get_by_role("button", name="Remove all").click()
    page.wait_for_selector("#filter li", state="detached")
    drag(page, "#distributions .row svg", (0.2, 0.5), (0.6, 0.5))
    page.mouse.up()
    page.wait_for_selector("#filter li")
    drag(page, "#difficulty svg", (0.1, 0.05), (0.95, 0.85))
    page.mouse.up()
    page.wait_for_function("() => document.querySelectorAll('#filter li').length === 3")
    assert [chip[2] for chip in filter_of(page)] == [f"system {rows[0]}", "mean", "spread"]
