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
    """The page with a filter, once the intervals are there."""
    page = visit(store.parent / "report.html", link(*chips, more=more))
    page.wait_for_selector("#leaderboard > .note:has-text('computed in the page')")
    return page


def filter_of(page: Any) -> Any:
    """The chips that the address has."""
    return json.loads(parse_qs(urlsplit(page.url).fragment)["filter"][0])


def draw_units(units: int, draws: int) -> np.ndarray:
    """Units drawn by xoshiro128** (Blackman and Vigna 2021), from 1, 2, 3, 4 as its state."""
    a, b, c, d = 1, 2, 3, 4
    full, found = 0xFFFFFFFF, np.empty(draws * units)
    for place in range(len(found)):
        turned = b * 5 & full
        found[place] = ((turned << 7 | turned >> 25) & full) * 9 & full
        shifted = b << 9 & full
        c, d = c ^ a, d ^ b
        a, b = a ^ d, b ^ c
        c, d = c ^ shifted, (d << 11 | d >> 21) & full
    return (found / 2**32 * units).astype(int).reshape(draws, units)


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
    assert words[-4:] == ["--ci", "0.95", "--method", "percentile"]
    assert "draws anew" in page.inner_text("#leaderboard > .take small")
    told = [line.split() for line in printed(*words[: words.index("--ci")]).splitlines()]
    rows = page.locator("#leaderboard table").first.locator("tbody tr").all()
    exact = [(row.locator("th").inner_text(), float(row.locator("td.strong").get_attribute("title"))) for row in rows]
    assert {(name, f"{value:.4f}") for name, value in exact} == {
        tuple(one[:2]) for one in told if one[:1] and one[0] in SYSTEMS
    }
    assert [row.locator("td.strong").inner_text() for row in rows] == [f"{value:.3f}" for _, value in exact]


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
    assert page.locator("#heatmap .names span").count() == page.locator(".forest tbody tr").count() == 2
    assert f"of {len(chosen)} tracks." in page.inner_text("#gains > .note")
    assert f"the best value of these {len(chosen)} tracks, " in page.inner_text("#standings .lead")
    weights = "all => all.map(one => getComputedStyle(one).fontWeight)"
    for table in (".forest", "#leaderboard table"):
        assert page.locator(f"{table} td.strong").evaluate_all(weights) == ["650", "400"]
    assert page.inner_text("#overview > .note") == "Results of all evaluations are shown without a filter only."
    assert page.locator("#leaderboard td.letters").count() == 0
    assert set(page.locator(".shown").all_inner_texts()) == {f"Shown: {len(chosen)} of 60 tracks, 2 of 4 systems."}
    following = page.locator("section:has(> .shown)").evaluate_all("parts => parts.map(part => part.id)")
    assert following == ["distributions", "heatmap", "gains", "tracks", "difficulty", "coverage"]


def test_intervals_are_quantiles_of_a_seeded_bootstrap(store: Path, visit: Any) -> None:
    ds = scores_of()
    known = ds["score"].sel(system="yew", metric="majmin").notnull()
    own = ds.isel(track=np.flatnonzero((ds["year"] <= 1975) & known)).sel(system="elm", metric="majmin")
    score, weight = own["score"].values, own["weight"].values
    picks = draw_units(len(score), 1000)
    drawn = (score * weight)[picks].sum(axis=1) / weight[picks].sum(axis=1)
    expected = [f"{end:.3f}" for end in np.quantile(drawn, [0.025, 0.975])]
    for _ in range(2):
        page = show(visit, store, ["from", "year", None, 1975])
        row = page.locator("#leaderboard table").first.locator("tbody tr", has_text="elm")
        assert row.locator("td.interval").inner_text() == f"[{', '.join(expected)}]"
        assert "computed in the page (percentile bootstrap" in page.inner_text(".forest caption")


def test_two_systems_are_tested_as_by_compare(store: Path, visit: Any) -> None:
    page = show(visit, store, ["is", "genre", ["jazz"]], ["from", "year", None, 2000], more="&gains=fir&against=oak")
    text = page.locator("#gains .difference b")
    text.wait_for()
    where, chord = "genre == 'jazz' and year <= 2000", mirflow.open_store(store)["chord"]
    found = chord.mirflow.compare("majmin", where=where, system=["oak", "fir"])
    pair = found.sel(system="fir", other="oak").isel(metric=0)
    assert page.locator("#gains > .note").inner_text().endswith("of 11 tracks."), "few enough for all permutations"
    assert float(text.get_attribute("data-value")) == pytest.approx(float(pair["difference"]), abs=1e-12)
    assert float(text.get_attribute("data-p")) == pytest.approx(float(pair["p_corrected"]), abs=1e-12)
    ends = [float(end) for end in text.get_attribute("data-ends").split()]
    assert ends == pytest.approx([float(pair[name]) for name in ("low", "high")], abs=1e-9)


def test_the_form_adds_a_chip_by_keyboard_and_back_takes_it_away(store: Path, visit: Any) -> None:
    page = visit(store.parent / "report.html")
    page.get_by_role("button", name="Filter …").focus()
    page.keyboard.press("Enter")
    for key in ("ArrowDown", "Tab", "Space", "Tab", "Tab", "Space", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("#filter li")
    assert page.evaluate("() => document.activeElement.name") == "add filter"
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
    assert "best value of these" not in page.inner_text("#standings .lead")


EXPRESSIONS = [
    "genre == 'rock' and year < 1980",
    "not 1970 <= year <= 1979 or genre in ['jazz', \"R & B\"]",
    "'azz' in genre and not live",
    "genre is None and track not in ('t3', 't7', 't11')",
    "genre is not None and not (year >= 1.9_6e3 or live == True)",
    "duration > 350 and genre != 'rock'",
    "1960 < year <= 1965 < 2000",
    "track >= 't5' and year != -1",
    "(genre == 'r\\x6fck') and (year == 1954 or year is None)",
    "col('genre') in {'rock'} and year not in [1950, 1958]",
]


@pytest.mark.slow
def test_expressions_leave_the_same_tracks_as_in_queries(store: Path, visit: Any) -> None:
    page = visit(store.parent / "report.html")
    go = "text => { location.hash = `filter=${encodeURIComponent(text)}`; }"
    for expression in EXPRESSIONS:
        asked = {"group": "chord", "where": expression, "by": "track", "missing": "skip", "system": "oak"}
        expected = mirflow.query(store, "majmin", **asked).dataset["track"].values.tolist()
        page.evaluate(go, json.dumps([["where", expression]]))
        page.wait_for_selector(f"#filter li span:text-is({json.dumps(expression)})")
        assert page.inner_text("#filter .status").startswith(f"{len(expected)} of 60 tracks shown."), expression
        page.wait_for_selector(f"#tracks .shown:text-is('Shown: {len(expected)} of 60 tracks.')")
        assert set(page.locator("#tracks tbody th").all_inner_texts()) <= set(expected), expression


def test_a_typed_expression_becomes_chips_and_the_command_has_it(store: Path, visit: Any) -> None:
    page = visit(store.parent / "report.html", link(["find", "t"], ["is", "genre", ["jazz"]]))
    page.get_by_role("button", name="As text …").press("Enter")
    field = page.get_by_label("Tracks where")
    assert field.evaluate("one => one === document.activeElement")
    assert field.input_value() == 'genre in ["jazz"]', "what the chips say, as far as an expression can"
    field.fill(
        "genre in ['rock', 'jazz'] and 1955 <= year and (year < 1990 or live) and live == False and year != 1960"
    )
    field.press("Enter")
    page.wait_for_selector("#filter li:has-text('year != 1960')")
    assert filter_of(page) == [
        ["find", "t"],
        ["is", "genre", ["rock", "jazz"]],
        ["from", "year", 1955, None],
        ["where", "(year < 1990 or live)"],
        ["is", "live", ["False"]],
        ["where", "year != 1960"],
    ]
    page.get_by_role("button", name="Remove the filter “t”").click()
    page.get_by_role("button", name="As text …").click()
    typed = '(genre in ["rock", "jazz"]) and (1955 <= year) and ((year < 1990 or live)) and (live in [False])'
    assert field.input_value() == f"{typed} and (year != 1960)"
    page.evaluate("() => Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.locator("#leaderboard > .take summary").click()
    page.locator("#leaderboard > .take").get_by_role("button", name="Command").click()
    words = shlex.split(page.locator("#leaderboard > .take textarea").input_value())
    assert words[words.index("--where") + 1] == field.input_value()
    field.fill("")
    field.press("Enter")
    page.wait_for_selector("#filter li", state="detached")


MISTAKES = [
    ("gener == 'rock'", "gener", "no coordinate of this name."),
    ("genre = 'rock'", "=", "equality is ==."),
    ("year > 1960 and genre > 5", "genre", "text, which cannot be compared with a number."),
    ("year > 1960 and", "", "the expression is not complete."),
    ("genre in ['rock' 'jazz']", "'jazz'", "“,” or “]” is expected here."),
    ("year > 1960 & live", "&", "not part of an expression; there are names, texts in quotes, numbers"),
    ("genre == 'rock", "'", "the text has no second quote."),
    ("year", "year", "not a condition; compare it with a value."),
    ("open('x') == 1", "open", "only col('a name') can be called."),
]


def test_what_is_no_expression_is_selected_and_named(store: Path, visit: Any) -> None:
    page = visit(store.parent / "report.html")
    page.get_by_role("button", name="As text …").click()
    field, alert = page.get_by_label("Tracks where"), page.locator("#filter [role=alert]")
    for expression, place, said in MISTAKES:
        field.fill(expression)
        field.press("Enter")
        at = f"Character {(expression.index(place) if place else len(expression)) + 1}"
        assert alert.inner_text().startswith(f"{at}, “{place}”: {said}" if place else f"{at}: {said}")
        assert field.evaluate("one => one.value.slice(one.selectionStart, one.selectionEnd)") == place
    field.fill("not " * 200 + "live")
    field.press("Enter")
    assert "nested too deeply" in alert.inner_text()
    assert "filter=" not in page.url


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
    page.get_by_text("Intervals need at least 6 tracks.").wait_for()
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
        page.get_by_role("button", name="Filter …").click()
        for field in ("systems", "score"):
            page.get_by_label("Filter by").select_option(field)
            assert_accessible(page)
            assert_fits(page)


def drag(page: Any, selector: str, *ends: tuple[float, float]) -> None:
    """Drag from one place to another one, each as shares of the width and of the height of an element."""
    target = page.locator(selector).first
    target.scroll_into_view_if_needed()
    box = target.bounding_box()
    (start, *rest) = [(box["x"] + across * box["width"], box["y"] + down * box["height"]) for across, down in ends]
    page.mouse.move(*start)
    page.mouse.down()
    for place in rest:
        page.mouse.move(*place, steps=4)


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
    drag(page, "#difficulty canvas", (0.1, 0.05), (0.95, 0.85))
    page.mouse.up()
    page.wait_for_function("() => document.querySelectorAll('#filter li').length === 3")
    assert [chip[2] for chip in filter_of(page)] == [f"system {rows[0]}", "mean", "spread"]


def test_tracks_are_sorted_by_their_first_principal_component(store: Path, visit: Any) -> None:
    page = visit(store.parent / "report.html", "#aggregate=mean&missing=skip&across=pattern&colours=rank&group=genre")
    score = scores_of()["score"].sel(metric="majmin").values
    order = np.argsort(-np.nanmean(score, axis=1))
    centred = score[order] - np.nanmean(score, axis=0)
    centred = np.nan_to_num(centred - np.nanmean(centred, axis=1, keepdims=True))
    left, _, _ = np.linalg.svd(centred, full_matrices=False)
    component = np.sign(left[0, 0]) * left[:, 0] @ centred
    page.locator("#heatmap canvas[tabindex]").focus()
    ends = []
    for key in ("Home", "End"):
        page.keyboard.press(key)
        ends.append(page.inner_text("#heatmap-cell").split(" · ")[0])
    without, rock = np.arange(3, 60, 4), np.arange(0, 60, 4)  # the first and the last group
    assert ends == [f"t{without[component[without].argmin()]}", f"t{rock[component[rock].argmax()]}"]
    assert page.locator("#heatmap select").nth(1).input_value() == "rank"
