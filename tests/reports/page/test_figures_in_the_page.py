"""The page computes aggregates from scores and weights: the same ones as every other door."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirflow.reports.page import write_page
from tests.groups import make_group, write_store

from .reading import choose, values_in

AGGREGATES = ("mean", "median", "pooled", "wcsr", "wcsr_tn", "wcsr_total")
DASH = "\N{EN DASH}"
POLICIES = ("common", "skip", "zero")


def nasty_group() -> Any:
    """Scores with everything that can be missing or undefined."""
    rng = np.random.default_rng(7)
    shape = (4, 40, 2)
    score, weight = rng.uniform(0, 1, shape), rng.uniform(1, 300, shape)
    status = np.full(shape[:2], "ok", dtype=object)
    for cell, kind in {(0, 1): "missing_estimate", (2, 5): "invalid", (3, 7): "unreadable"}.items():
        status[cell] = kind
        score[cell] = np.nan
    status[:, 9], score[:, 9], weight[:, 9] = "missing_reference", np.nan, 0.0
    score[1, 3, 0], weight[1, 3, 0] = 0.0, 0.0  # nothing to measure
    score[1, 4, 1], weight[1, 4, 1] = np.nan, 0.0
    score[2, 6, 0] = np.nan  # no score although there was something to measure
    duration = rng.uniform(300, 400, shape[1])
    duration[9] = np.nan
    genres = ["rock", "", "jazz", "pop"] * 10
    return make_group(score, weight, status=status, duration=duration, track_meta={"genre": genres})


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    folder = tmp_path_factory.mktemp("nasty")
    group = nasty_group()
    write_page(write_store(folder / "nasty.zarr", {"chord": group}), folder / "nasty.html")
    return group, folder / "nasty.html"


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_every_aggregate_is_that_of_a_query(nasty, visit, policy):
    group, path = nasty
    page = visit(path)
    for metric in range(2):
        choose(page, "metric", str(metric))
        choose(page, "missing", policy)
        for aggregate in AGGREGATES:
            choose(page, "aggregate", aggregate)
            name = group["metric"].values[metric]
            expected = group.mirflow.query(name, aggregate, missing=policy)["value"].values[:, 0]
            shown = [values_in(page)[system][0] for system in group["system"].values]
            assert shown == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_groups_are_those_of_a_query(nasty, visit):
    group, path = nasty
    page = visit(path)
    choose(page, "by", "genre")
    choose(page, "missing", "skip")
    expected = group.mirflow.query("majmin", by="genre", missing="skip")
    order = [page.locator("#groups thead th").nth(place).text_content() for place in range(1, 5)]
    shown = values_in(page, "#groups")
    names = [str(value) or "(none)" for value in expected["genre"].values.tolist()]
    for at, heading in enumerate(order):
        column = next(place for place, name in enumerate(names) if heading.startswith(name))
        for place, system in enumerate(expected["system"].values):
            assert shown[system][at] == pytest.approx(expected["value"].values[place, 0, column], abs=1e-12)


def test_counts_are_those_of_a_query(nasty, visit):
    group, path = nasty
    page = visit(path)
    choose(page, "missing", "skip")
    expected = group.mirflow.query("majmin", missing="skip")
    rows = page.locator("#leaderboard table:first-of-type tbody tr")
    shown = {row.locator("th").inner_text(): int(row.locator(".count").inner_text()) for row in rows.all()}
    assert shown == dict(zip(expected["system"].values, expected["n"].values[:, 0], strict=True))


def test_intervals_are_those_of_inference(nasty, visit):

    group, path = nasty
    page = visit(path)
    found = group.mirflow.query("majmin", ci=0.95).sel(metric="majmin")
    rows = page.locator("#leaderboard table:first-of-type tbody tr")
    for row in rows.all():
        own = found.sel(system=row.locator("th").inner_text())
        low, high = (float(row.locator(".interval").get_attribute(f"data-{end}")) for end in ("low", "high"))
        assert row.locator(".interval").inner_text() == f"[{low:.2f}, {high:.2f}]"  # as wide as they are
        assert (low, high) == pytest.approx((own["low"].item(), own["high"].item()), abs=1e-12)
    choose(page, "aggregate", "median")
    assert page.locator(".interval").count() == 0


def test_gains_and_losses_are_those_of_a_comparison(nasty, visit):
    group, path = nasty
    page = visit(path, "#missing=skip&gains=S2&against=S0")
    for title, best in (("Gains most", True), ("Loses most", False)):
        rows = page.locator(f"#gains .pair > div:has-text('{title}') tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.children].map(cell => cell.title || cell.textContent))"
        )
        found = group.mirflow.changes("majmin", n=5, gains=best, system="S2", baseline="S0").isel(system=0)
        assert [name for name, *_ in rows] == found["track"].values.tolist()
        assert [float(gain) for _, gain, *_ in rows] == pytest.approx(found["gain"].values, abs=1e-12)
    better = int(page.inner_text("#gains .sides .good").split()[-1])
    more = page.locator("#gains .pair > div:first-child button.more")
    assert more.count() == (better > 5)
    if better > 5:
        more.click()
        assert page.locator("#gains .pair > div:first-child tbody tr").count() == better
    page.select_option("#gains select[name=against]", "1")
    page.wait_for_function("location.hash.includes('against=S1')")


def test_systems_that_are_alike_and_what_the_best_of_each_track_reaches(nasty, visit):
    group, path = nasty
    page = visit(path)
    shown = values_in(page, "#alike table")
    r = group.mirflow.agreement("majmin", between="system")["r"].to_pandas()
    for one, values in shown.items():
        expected = [math.nan if one == other else r.loc[one, other] for other in shown]
        assert values == pytest.approx(expected, abs=1e-12, nan_ok=True)
    found = group.mirflow.oracle("majmin")
    told = page.locator("#second .difference span").get_attribute("title")
    assert told == f"Picking the best system for each track would score {found['oracle'].item():.2f}."
    page.locator("#alike tbody tr").nth(1).locator("td").nth(3).click()
    page.wait_for_function(
        "name => new URLSearchParams(location.hash.slice(1)).get('gains') === name", arg=list(shown)[1]
    )


def test_percent_only_changes_how_numbers_are_written(nasty, visit):
    _, path = nasty
    page = visit(path)
    before = values_in(page)
    text = page.locator("#leaderboard td.strong").first.inner_text()
    page.locator("#controls input[name=percent]").check()
    page.wait_for_function("text => document.querySelector('#leaderboard td.strong').innerText !== text", arg=text)
    assert float(page.locator("#leaderboard td.strong").first.inner_text()) == pytest.approx(
        100 * float(text), abs=0.01
    )
    assert values_in(page) == before


def test_nan_is_shown_as_nothing(tmp_path, visit):
    group = make_group(np.full((2, 3, 1), np.nan), 0.0, status="missing_reference", duration=np.nan)
    write_page(write_store(tmp_path / "s.zarr", {"chord": group}), tmp_path / "s.html")
    page = visit(tmp_path / "s.html")
    assert all(math.isnan(value) for values in values_in(page).values() for value in values)
    assert page.locator("#leaderboard td.strong").first.inner_text() == DASH
    assert "6 of 6 cells" in page.locator("#coverage").inner_text()
