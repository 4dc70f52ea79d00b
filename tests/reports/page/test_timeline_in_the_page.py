"""Timelines in a real browser: opened, walked, zoomed, heard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mirflow
from mirflow.reports.page import write_page
from tests.datasets import score_files, write_dataset, write_patterns, write_pipeline

from .reading import choose, let_draw


@pytest.fixture(scope="module")
def chords(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chords")
    pipeline = write_dataset(folder)
    (folder / "est" / "bob" / "t03.lab").unlink()
    mirflow.run(pipeline)
    write_page(folder / "store.zarr", folder / "page.html")
    return folder / "page.html"


def open_first(page, row=0):
    page.locator("#tracks button.link").nth(row).click()
    page.wait_for_selector("dialog[open]")
    return page.locator("dialog")


def picture(page) -> str:
    """What the canvas shows now, and again once it has been drawn."""
    page.wait_for_selector("dialog canvas[tabindex]")
    let_draw(page)
    return page.locator("dialog canvas[tabindex]").evaluate("canvas => canvas.toDataURL()")


def test_a_track_shows_the_reference_and_every_system(chords, visit):
    page = visit(chords)
    dialog = open_first(page)
    assert sorted(dialog.locator(".lanename b").all_inner_texts()) == ["ada", "bob", "reference"]
    assert "judged by" in dialog.inner_text()
    assert len(set(dialog.locator(".lanename .value").all_inner_texts())) > 0
    drawn = dialog.locator("canvas[tabindex]").evaluate(
        "canvas => new Set(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data).size"
    )
    assert drawn > 20


def test_a_missing_estimate_is_noted_in_its_lane(chords, visit):
    page = visit(chords, "#filter=[[%22find%22,%22t03%22]]")
    assert open_first(page).locator(".lanename").nth(2).locator(".value").inner_text() == "no estimate"


@pytest.mark.slow
def test_what_is_right_under_the_pointer_is_noted(chords, visit):
    page = visit(chords)
    dialog = open_first(page)
    canvas = dialog.locator("canvas[tabindex]")
    message = set()
    for share in range(1, 20):
        canvas.hover(position={"x": canvas.bounding_box()["width"] * share / 20, "y": 60})
        message |= {text.split(" · ")[-1] for text in dialog.locator("button .value").all_inner_texts()}
    assert {"right", "wrong"} <= message


def test_a_line_marks_the_time_under_the_pointer_that_names_and_clock_are_of(chords, visit):
    page = visit(chords)
    dialog = open_first(page)
    before, values = picture(page), dialog.locator(".value").all_inner_texts()
    dialog.locator("canvas[tabindex]").hover(position={"x": 400, "y": 60})
    assert dialog.locator(".clock").inner_text() != "0:00.00"
    assert picture(page) != before
    dialog.locator("h2").hover()
    assert dialog.locator(".clock").inner_text() == "0:00.00"
    assert dialog.locator(".value").all_inner_texts() == values
    assert picture(page) == before


def test_a_click_on_a_lane_chooses_its_system_and_moves_the_cursor(chords, visit):
    page = visit(chords)
    dialog = open_first(page)
    canvas = dialog.locator("canvas[tabindex]")
    canvas.click(position={"x": 200, "y": canvas.bounding_box()["height"] * 0.75})
    name = dialog.locator("button.lanename b").nth(1).inner_text()
    assert dialog.locator("[aria-pressed=true] b").inner_text() == name
    page.wait_for_function("name => location.hash.includes(`ear=${name}`) && location.hash.includes('time=')", arg=name)


@pytest.mark.parametrize("turned", [False, True])
def test_the_two_that_are_compared_are_chosen_and_next_to_each_other(chords, visit, turned):
    of, against = ("ada", "bob")[:: -1 if turned else 1]
    page = visit(chords, f"#gains={of}&against={against}")
    page.locator("#gains th button.link").first.click()
    page.wait_for_selector("dialog[open]")
    assert page.locator("dialog .heard b").inner_text() == of
    assert page.locator("dialog button.lanename b").all_inner_texts() == [of, against]
    assert f"ear={of}&beside={against}" in page.evaluate("() => location.hash")
    page.reload()
    page.wait_for_selector("dialog[open]")
    assert page.locator("dialog button.lanename b").all_inner_texts() == [of, against]


def test_a_cell_of_the_heat_map_opens_its_system(chords, visit):
    page = visit(chords)
    canvas = page.locator("#heatmap .heat canvas").first
    canvas.click(position={"x": 3, "y": canvas.bounding_box()["height"] * 0.75})
    page.wait_for_selector("dialog[open]")
    name = page.locator("#heatmap .names *").last.inner_text()
    assert page.locator("dialog .heard b").inner_text() == name


def test_of_events_near_the_cursor_the_nearest_is_named(tmp_path, visit):
    for name in ("ref", "est/a"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "t.txt").write_text("0\n0.1\n0.2\n20\n")
    store = score_files(tmp_path, "onset", "ref/{track}.txt", "est/{system}/{track}.txt")
    write_page(store, tmp_path / "page.html")
    assert "0.000 s" in open_first(visit(tmp_path / "page.html")).inner_text()


def test_wheel_buttons_and_keys_zoom_and_pan(chords, visit):
    page = visit(chords)
    dialog = open_first(page)
    pictures = [picture(page)]
    canvas = dialog.locator("canvas[tabindex]")
    canvas.hover(position={"x": 200, "y": 60})
    page.mouse.wheel(0, -300)
    pictures.append(picture(page))
    page.mouse.down()
    page.mouse.move(500, 300, steps=4)
    page.mouse.up()
    pictures.append(picture(page))
    canvas.focus()
    for key in ("+", "Shift+ArrowRight", "End", "ArrowLeft"):
        page.keyboard.press(key)
        pictures.append(picture(page))
    assert len(set(pictures)) == len(pictures)
    page.keyboard.press("Home")
    page.keyboard.press("0")
    whole = picture(page)
    dialog.get_by_role("button", name="Zoom in").click()
    assert picture(page) != whole
    dialog.get_by_role("button", name="All").click()
    assert picture(page) == whole


def test_play_builds_sound_for_both_ears(chords, visit):
    page = visit(chords)
    page.evaluate(
        """() => { window.made = []; for (const name of ['createOscillator', 'createChannelMerger']) {
        const usual = AudioContext.prototype[name];
        AudioContext.prototype[name] = function (...a) { window.made.push(name); return usual.apply(this, a); }; } }"""
    )
    dialog = open_first(page)
    play = dialog.locator("button.play")
    play.click()
    assert play.inner_text() == "Stop"
    page.wait_for_function("() => window.made.filter(name => name === 'createOscillator').length > 3")
    page.wait_for_function("() => document.querySelector('dialog .clock').textContent > '0:00.30'")
    dialog.locator("select[name=ear]").select_option("1")
    assert play.inner_text() == "Stop"
    play.click()
    assert play.inner_text() == "Play"
    assert page.evaluate("() => window.made.filter(name => name === 'createChannelMerger').length") == 2


def test_the_keyboard_alone_will_do(chords, visit):
    page = visit(chords)
    page.locator("#tracks button.link").first.focus()
    page.keyboard.press("ArrowDown")
    name = page.evaluate("() => document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    assert page.locator("#timeline-title").inner_text() == name
    assert page.evaluate("() => document.activeElement.tagName") == "CANVAS"
    assert page.locator("dialog .heard b").inner_text() == page.locator("dialog button b").first.inner_text()
    page.keyboard.press("ArrowDown")
    assert page.locator("dialog .heard b").inner_text() == page.locator("dialog button b").nth(1).inner_text()
    page.keyboard.press("Space")
    assert page.locator("dialog button.play").inner_text() == "Stop"
    page.keyboard.press("Space")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    assert page.evaluate("() => document.activeElement.textContent") == name


def test_the_heat_map_is_walked_by_keys_and_opens_a_track(chords, visit):
    page = visit(chords)
    page.locator("#heatmap canvas[tabindex]").focus()
    before = page.locator("#heatmap-cell").inner_text()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    after = page.locator("#heatmap-cell").inner_text()
    assert before != after
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    assert page.locator("#timeline-title").inner_text() == after.split(" · ")[0]


def test_the_next_track_is_a_button_away(chords, visit):
    page = visit(chords)
    dialog = open_first(page)
    first = page.locator("#timeline-title").inner_text()
    dialog.get_by_role("button", name="Next track").click()
    page.wait_for_function("name => document.querySelector('#timeline-title').textContent !== name", arg=first)
    dialog.get_by_role("button", name="Previous track").click()
    page.wait_for_function("name => document.querySelector('#timeline-title').textContent === name", arg=first)


def test_tabs_reach_every_control_and_the_order_is_that_of_the_page(chords, visit):
    page = visit(chords)
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("() => document.activeElement.closest('nav, section, footer')?.id ?? ''"))
    met = list(dict.fromkeys(filter(None, seen)))
    order = page.locator("#tabs, #controls, main section").evaluate_all("parts => parts.map(part => part.id)")
    assert met == [name for name in order if name in met]
    assert {"controls", "leaderboard", "heatmap", "gains"} <= set(met)


def test_several_rules_can_be_chosen(tmp_path, visit):
    pipeline = write_dataset(tmp_path)
    mirflow.run(pipeline)
    write_page(tmp_path / "store.zarr", tmp_path / "page.html", metrics=["root", "sevenths"])
    page = visit(tmp_path / "page.html")
    assert page.locator("#leaderboard h2").inner_text().startswith("Systems by Root")
    dialog = open_first(page)
    first = picture(page)
    dialog.get_by_label("Judged by").select_option("1")
    assert picture(page) != first


def test_dark_and_print_and_small_screens(chords, visit):
    dark = visit(chords, color_scheme="dark")
    light = visit(chords)
    ground = "() => getComputedStyle(document.documentElement).backgroundColor"
    assert dark.evaluate(ground) != light.evaluate(ground)
    light.emulate_media(media="print")
    assert not light.locator("#controls").is_visible()
    assert light.locator("#leaderboard table").first.is_visible()
    dark.set_viewport_size({"width": 380, "height": 760})
    assert dark.evaluate("() => document.documentElement.scrollWidth") <= 380
    # A canvas keeps its width until the next frame, which a busy machine draws late.
    canvases = dark.locator(".heat canvas")
    canvases.evaluate_all("all => all.forEach((canvas) => { canvas.style.width = '1100px' })")
    assert dark.evaluate("() => document.documentElement.scrollWidth") <= 380


def test_sorting_and_choosing_keep_the_focus(chords, visit):
    page = visit(chords)
    page.locator("#controls select[name=metric]").focus()
    choose(page, "metric", "1")
    assert page.evaluate("() => document.activeElement.getAttribute('name')") == "metric"
    page.locator("#leaderboard [data-sort=system]").click()
    names = page.locator("#leaderboard tbody th")
    page.wait_for_function("() => document.querySelector('#leaderboard tbody th').textContent === 'ada'")
    page.locator("#leaderboard [data-sort=system]").click()
    page.wait_for_function("() => document.querySelector('#leaderboard tbody th').textContent === 'bob'")
    assert names.count() == 2


def test_the_best_system_has_the_first_lane(chords, visit):
    page = visit(chords)
    dialog = open_first(page)
    for _ in range(6):
        scores = dialog.locator("button.lanename .score").all_inner_texts()
        # What has no score is the last.
        assert scores == sorted(scores, key=lambda one: float(one) if one[0].isdigit() else -1.0, reverse=True)
        walk_on(page)
    assert dialog.locator(".lanename b").first.inner_text() == "reference"
    assert dialog.locator(".corner").inner_text() == "Major/minor"


def test_scores_and_marks_name_their_metrics_and_a_metric_without_evidence_says_so(tmp_path, visit):
    write_dataset(tmp_path, tracks=2)
    mirflow.run(write_pipeline(tmp_path, metrics="[majmin, sevenths, class_recall]"))
    write_page(tmp_path / "store.zarr", tmp_path / "page.html")
    page = visit(tmp_path / "page.html")
    marks = open_first(page).locator(".marks")
    message = [marks.inner_text()]
    for value in ("1", "2"):
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")
        choose(page, "metric", value)
        open_first(page)
        message.append(marks.inner_text())
    title = page.locator("#controls select[name=metric] option").nth(2).inner_text()
    assert message == [
        "Scores and items are judged by Major/minor.",
        "Scores: Sevenths. Items are judged by Major/minor: write the page with -m sevenths to see them judged by it.",
        f"Scores: {title}. Items are judged by Major/minor: {title} has no evidence of single items.",
    ]


def test_bands_follow_the_chosen_metric_where_the_page_has_them(chords, tmp_path, visit):
    write_page(chords.parent / "store.zarr", tmp_path / "page.html", metrics=["majmin", "sevenths"])
    page = visit(tmp_path / "page.html", "#metric=sevenths")
    dialog = open_first(page)
    assert dialog.locator("select[name=rule]").evaluate("one => one.selectedOptions[0].text") == "Sevenths"
    assert dialog.locator(".marks").inner_text() == "Scores and items are judged by Sevenths."
    dialog.get_by_label("Judged by").select_option(label="Major/minor")
    assert dialog.locator(".marks").inner_text() == "Scores: Sevenths. Items are judged by Major/minor."


def walk_on(page) -> str:
    before = page.locator("#timeline-title").inner_text()
    page.locator("dialog").get_by_role("button", name="Next track").click()
    page.wait_for_function("name => document.querySelector('#timeline-title').textContent !== name", arg=before)
    return page.locator("#timeline-title").inner_text()


@pytest.mark.slow
def test_the_arrows_follow_the_list_that_was_clicked(chords, visit):
    page = visit(chords)
    names = page.locator("#tracks button.link").all_inner_texts()
    assert names != sorted(names)
    dialog = open_first(page)
    assert dialog.locator(".place").inner_text() == "1 of 6, the worst first"
    assert [walk_on(page) for _ in names] == [*names[1:], names[0]]
    page.keyboard.press("Escape")
    page.locator("#tracks select").select_option("name")
    page.wait_for_function("() => document.querySelector('#tracks button.link').textContent === 't00'")
    open_first(page, 5)
    assert walk_on(page) == "t00"
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    page.locator("#heatmap canvas[tabindex]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    assert page.locator("#timeline-title").inner_text() == names[1]
    assert walk_on(page) == names[2]


def test_cursor_moves_are_announced(chords, visit):
    page = visit(chords)
    dialog = open_first(page)
    noted = dialog.locator("[aria-live=polite]")
    assert noted.inner_text() == ""
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('dialog [aria-live=polite]').textContent")
    first, heard = noted.inner_text(), dialog.locator(".heard b").inner_text()
    time, reference, system = first.split("; ")
    assert time == dialog.locator(".clock").inner_text()
    assert reference.startswith("reference: ")
    assert system.startswith(f"{heard}: ")
    page.keyboard.press("ArrowDown")
    page.wait_for_function(
        "text => document.querySelector('dialog [aria-live=polite]').textContent !== text", arg=first
    )
    assert noted.inner_text().split("; ")[2].startswith(f"{dialog.locator('.heard b').inner_text()}: ")


@pytest.fixture(scope="module")
def beats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Beats that begin after 40 seconds."""
    folder = tmp_path_factory.mktemp("beats")
    for name, first in (("ref", 40.0), ("est/a", 40.02)):
        (folder / name).mkdir(parents=True)
        (folder / name / "t.txt").write_text("".join(f"{first + place / 2}\n" for place in range(20)))
    write_page(score_files(folder, "beat", "ref/{track}.txt", "est/{system}/{track}.txt"), folder / "page.html")
    return folder / "page.html"


def test_play_begins_at_the_first_sound_and_each_ear_has_clicks_of_its_own_pitch(beats, visit):
    page = visit(beats)
    page.evaluate(
        """() => {
        window.pitches = new Map();
        window.gains = new Map();
        const connect = AudioNode.prototype.connect;
        AudioNode.prototype.connect = function (to, output, input) {
          if (to instanceof ChannelMergerNode) window.gains.set(this, input);
          if (this instanceof OscillatorNode) this.into = to;
          else if (!(to instanceof ChannelMergerNode)) this.into = to;
          return connect.apply(this, arguments);
        };
        const start = OscillatorNode.prototype.start;
        OscillatorNode.prototype.start = function (when) {
          const ear = window.gains.get(this.into.into.into);
          if (!window.pitches.has(ear)) window.pitches.set(ear, []);
          window.pitches.get(ear).push([this.frequency.value, when - this.context.currentTime]);
          return start.apply(this, arguments);
        }; }"""
    )
    dialog = open_first(page)
    dialog.locator("button.play").click()
    page.wait_for_function(
        "() => window.pitches.size === 2 && [...window.pitches.values()].every(one => one.length > 2)"
    )
    assert dialog.locator(".clock").inner_text() >= "0:40.00"
    heard = page.evaluate("() => [0, 1].map(ear => window.pitches.get(ear))")
    assert all(ear[0][1] < 0.5 for ear in heard)
    assert [{pitch for pitch, _ in ear} for ear in heard] == [{1000}, {1500}]


def test_chords_are_the_shepard_tones_of_sonify(chords, visit):
    page = visit(chords)
    page.evaluate(
        """() => {
        window.made = [];
        const start = OscillatorNode.prototype.start;
        const connect = AudioNode.prototype.connect;
        AudioNode.prototype.connect = function (to) { this.into = to; return connect.apply(this, arguments); };
        OscillatorNode.prototype.start = function (when) {
          window.made.push([when, this.frequency.value, this.into.gain.value]);
          return start.apply(this, arguments);
        }; }"""
    )
    open_first(page).locator("button.play").click()
    page.wait_for_function("() => window.made.length > 8")
    made = page.evaluate("() => window.made")
    first = sorted({(pitch, weight) for when, pitch, weight in made if when == made[0][0]})
    midi = np.array([69 + 12 * np.log2(pitch / 440) for pitch, _ in first])
    np.testing.assert_allclose(midi, np.round(midi), atol=1e-4)
    np.testing.assert_allclose([weight for _, weight in first], np.exp(-((midi - 72) ** 2) / 72), atol=1e-6)
    assert len({round(one) % 12 for one in midi.tolist()}) >= 3


def test_what_was_missed_has_no_rank(tmp_path, visit):
    (tmp_path / "ref.csv").write_text("query,item\nq,a\nq,b\n")
    (tmp_path / "one.csv").write_text("query,item,rank\nq,a,1\n")
    store = score_files(tmp_path, "retrieval", "ref.csv", "{system}.csv", systems=["one"])
    write_page(store, tmp_path / "page.html")
    text = open_first(visit(tmp_path / "page.html")).inner_text()
    assert "missed" in text
    assert "nan" not in text.lower()


DRUMS = "0.5\t36\n0.5\t42\n1.0\t38\n1.5\tCowbell\n"
PEDALS = "0.0\t1.0\tsustain\n0.5\t2.0\t67\n"
SCORE = "Note 60 0 0 500 0\nNote 64 500 500 1000 0\nTatum 0\nTatum 500\nHierarchy 4,2 1 a=0 0\nKey 0 Maj 0\nChord 0 C\n"


@pytest.mark.parametrize(
    ("task", "text", "at", "values"),
    [
        ("drums", DRUMS, "0.5", ["0.500 s 36 42", "0.500 s 36 42 · hit"]),
        ("pedal", PEDALS, "0.7", ["sustain 67", "sustain 67"]),
        ("audio_to_score", SCORE, "0.5", ["E4", "E4 · hit"]),
    ],
)
def test_drums_pedals_and_scores_have_forms_of_their_own(tmp_path, visit, task, text, at, values):
    for name in ("ref", "est/a"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "t.txt").write_text(text)
    store = score_files(tmp_path, task, "ref/{track}.txt", "est/{system}/{track}.txt")
    write_page(store, tmp_path / "page.html")
    page = visit(tmp_path / "page.html", f"#track=t&time={at}")
    page.wait_for_selector("dialog canvas[tabindex]")
    assert page.locator("dialog .lanename .value").all_inner_texts() == values
    assert page.locator("dialog .legend .good").inner_text() in ("| hit", "▬ hit")


def test_matched_patterns_share_a_colour_and_unmatched_ones_are_grey(tmp_path, visit):
    write_patterns(tmp_path)
    store = score_files(tmp_path, "pattern", "ref/{track}.txt", "est/{system}/{track}.txt")
    write_page(store, tmp_path / "page.html")
    page = visit(tmp_path / "page.html", "#track=a")
    page.wait_for_selector("dialog canvas[tabindex]")
    let_draw(page)
    first, second = "#0072b2", "#e69f00"  # blue and orange
    assert {first, second} <= colours_in(page, "canvas.axis")
    none, faint = (
        page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}')")
        for name in ("none", "faint")
    )
    drawn = colours_in(page, "canvas[tabindex]")
    # The first estimated pattern is the second of the reference; the other is none of them.
    assert {second, none, faint} <= drawn
    assert first not in drawn
    legend = page.locator("dialog .legend").inner_text()
    assert legend.startswith("● matched: in the colour of the reference's pattern")
    assert legend.endswith("▬ the reference")


def colours_in(page, canvas: str) -> set[str]:
    """The opaque colours of a canvas of the timeline."""
    return set(
        page.locator(f"dialog {canvas}").evaluate(
            """canvas => {
              const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
              const hex = (at) => "#" + [0, 1, 2].map((part) => data[at + part].toString(16).padStart(2, "0")).join("");
              const pixels = Array.from({ length: data.length / 4 }, (_, at) => at * 4);
              return [...new Set(pixels.filter((at) => data[at + 3] === 255).map(hex))];
            }"""
        )
    )
