"""Pages about real collections and about a large one, opened and walked through."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from mirflow.reports.page import write_page
from tests.groups import random_group, write_store

from .reading import choose, values_in

PIPELINES = Path(__file__).parents[3] / "pipelines"
REAL = (
    "mirex2013-ace",
    "harmonix",
    "mir_eval-fixtures",
    "adc2004-melody",
    "mirex2015-transcription",
    "jku-patterns",
    "giantsteps-key",
    "salami",
    "casd",
)


LISTEN = """() => { window.heard = 0; const usual = AudioContext.prototype.createOscillator;
AudioContext.prototype.createOscillator = function (...a) { window.heard += 1; return usual.apply(this, a); }; }"""


FOCUSED = "() => document.activeElement.title || document.activeElement.textContent"
"""The track of a button, whose text lacks what the names of all tracks begin with, and may be cut in the middle."""


def look_and_listen(page) -> None:
    """The track whose button has the focus: opened, zoomed, played and closed, by keys alone."""
    name = page.evaluate(FOCUSED)
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    assert page.locator("#timeline-title").text_content() == name
    lanes = page.locator("dialog canvas[tabindex]")
    if lanes.count():
        seen = lanes.evaluate("canvas => canvas.toDataURL()")
        page.keyboard.press("+")
        page.wait_for_function(
            "seen => document.querySelector('dialog canvas[tabindex]').toDataURL() !== seen", arg=seen
        )
        page.keyboard.press("PageDown")  # many recordings begin with silence
    play = page.locator("dialog button.play")
    if play.count() and play.is_enabled():  # large pages lack the timelines of some tracks
        # On the lanes Space plays; where there are none the button has the focus.
        page.keyboard.press("Space")
        page.wait_for_function(
            "() => window.heard > 0 || document.querySelector('dialog .clock').textContent > '0:00.30'"
        )
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    assert page.evaluate(FOCUSED) == name


def walk_through(page) -> None:
    """Every evaluation: another metric, groups where there are any, a track to look at and to listen to."""
    page.evaluate(LISTEN)
    evaluations = page.locator("#controls select[name=evaluation] option").count() or 1
    for evaluation in range(evaluations):
        if evaluations > 1:
            choose(page, "evaluation", str(evaluation))
        metrics = page.locator("#controls select[name=metric] option").count()
        choose(page, "metric", str(metrics - 1))
        groups = page.locator("#controls select[name=by] option").evaluate_all("all => all.map(one => one.value)")
        for value in groups[1:2]:
            choose(page, "by", value)
            assert page.locator("#groups tbody tr").count() == page.locator("#leaderboard tbody tr").count() / 2
        page.locator("#tracks button.link").first.focus()
        look_and_listen(page)
    assert page.evaluate("() => window.heard") > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_a_page_about_real_data(name, shipped_store, tmp_path, visit):
    report = write_page(shipped_store(name), tmp_path / "page.html")
    assert report.tracks > 0
    assert report.size < 15e6
    walk_through(visit(tmp_path / "page.html"))


@pytest.mark.slow
def test_a_campaign_by_keys_alone(shipped_store, tmp_path, visit):
    """From the top of the page about MIREX 2013: another metric, then a track, without a pointer."""
    write_page(shipped_store("mirex2013-ace"), tmp_path / "page.html", timelines=3)
    page = visit(tmp_path / "page.html", unfolded=False)
    page.evaluate(LISTEN)

    def tab_to(selector: str, key: str = "Tab") -> None:
        for _ in range(12):
            page.keyboard.press(key)
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"no {key} leads to {selector}")

    first = values_in(page)
    tab_to("#controls select[name=metric]")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => document.querySelector('#controls select[name=metric]').value !== '0'")
    page.wait_for_function(
        "old => Number(document.querySelector('#leaderboard td.strong').dataset.value) !== old",
        arg=max(first.values())[0],
    )
    assert values_in(page).keys() == first.keys()
    tab_to("#tabs button[aria-current]", "Shift+Tab")
    tab_to("#tabs button:nth-of-type(3)")
    page.keyboard.press("Enter")
    tab_to("#tracks button.link")
    look_and_listen(page)
    assert page.evaluate("() => window.heard") > 0


@pytest.mark.slow
def test_the_official_values_are_on_the_page(shipped_store, tmp_path, visit):
    write_page(shipped_store("mirex2013-ace"), tmp_path / "page.html", timelines="none", metrics=["majmin"])
    page = visit(tmp_path / "page.html")
    page.select_option("#controls select[name=evaluation]", label="chord_mirex2013")
    page.wait_for_function("() => document.querySelector('#provenance dd').textContent === 'chord_mirex2013'")
    assert values_in(page)["KO2"][0] == pytest.approx(0.7926, abs=5e-5)


@pytest.mark.slow
def test_fifty_systems_and_two_thousand_tracks(tmp_path, visit):
    genres = [f"genre {track % 9}" for track in range(2000)]
    store = write_store(tmp_path / "big.zarr", {"chord": random_group(50, 2000, 4, track_meta={"genre": genres})})
    began = time.perf_counter()
    report = write_page(store, tmp_path / "big.html")
    took = time.perf_counter() - began
    page = visit(tmp_path / "big.html")
    loaded = float(page.locator("html").get_attribute("data-loaded"))
    changes = []
    for metric in ("1", "2", "3"):
        choose(page, "metric", metric)
        changes.append(float(page.locator("html").get_attribute("data-drawn")))
    choose(page, "by", "genre")
    assert page.locator("#groups tbody tr").count() == 50
    page.locator("#heatmap canvas[tabindex]").focus()
    page.keyboard.press("End")
    first = page.locator("#heatmap .names span").first.inner_text()
    assert f" {first}: " in page.locator("#heatmap-cell").inner_text()
    # Measured, not judged: a busy machine is no mistake of the page.
    print(f"written in {took:.1f} s, {report.size / 1e6:.1f} MB")
    print(f"loaded in {loaded:.0f} ms, a change of metric in at most {max(changes):.0f} ms")
