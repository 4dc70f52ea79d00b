"""The page on paper, on a phone, and for eyes that need contrast."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirflow
from mirflow.reports.drawing import DARK, LIGHT, PAPER
from mirflow.reports.page import write_page
from tests.datasets import score_files, write_dataset, write_lab, write_pipeline
from tests.reports.page.reading import choose, contents_of, let_draw

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
LONG = "a_system_with_a_name_that_is_far_too_long_for_a_phone_2013_final_v2"
CONTRAST = 4.5


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve systems, one of them with a long name."""
    folder = tmp_path_factory.mktemp("wide")
    write_dataset(folder, systems=(LONG, *(f"sys{number:02d}" for number in range(11))))
    (folder / "est" / "sys03" / "t02.lab").unlink()
    write_lab(folder / "ref" / f"{LONG}.lab", np.random.default_rng(1))
    mirflow.run(write_pipeline(folder, on_error="ignore"))
    write_page(folder / "store.zarr", folder / "page.html")
    return folder / "page.html"


def box(locator: Any) -> dict[str, float]:
    found = locator.bounding_box()
    assert found is not None
    return found


def open_first(page: Any) -> Any:
    page.locator("#tracks button.link").first.click()
    page.wait_for_selector("dialog[open]")
    let_draw(page)
    return page.locator("dialog")


class TestPrint:
    def test_names_of_the_heat_map_are_beside_their_rows(self, wide, visit):
        page = visit(wide)
        page.emulate_media(media="print")
        # As when it is printed, nothing is drawn anew for the width of the paper.
        canvas, names = page.evaluate(
            """() => {
            Object.assign(document.body.style, { width: "700px", margin: "0" });
            const box = (one) => one.getBoundingClientRect().toJSON();
            const names = [...document.querySelectorAll("#heatmap .names span")];
            return [box(document.querySelector("#heatmap .heat canvas")), names.map(box)]; }"""
        )
        for row, name in enumerate(names):
            assert name["y"] == pytest.approx(canvas["y"] + row * canvas["height"] / len(names), abs=1)
        assert canvas["right"] <= 700

    def test_legend_and_order_are_there_and_the_controls_are_not(self, wide, visit):
        page = visit(wide)
        page.get_by_label("Sort tracks by").select_option("name")
        page.emulate_media(media="print")
        assert page.locator("#heatmap .legend").is_visible()
        assert "Tracks by name." in page.locator("#heatmap").inner_text()
        assert not page.get_by_label("Sort tracks by").is_visible()
        assert not page.get_by_role("button", name="Share").is_visible()

    def test_an_open_timeline_is_printed_whole(self, wide, visit):
        page = visit(wide)
        dialog = open_first(page)
        page.emulate_media(media="print")
        assert not page.locator("#leaderboard").is_visible()
        assert dialog.evaluate("dialog => dialog.scrollHeight <= dialog.clientHeight")
        assert dialog.locator(".legend").is_visible()


class TestPhone:
    def test_the_page_is_no_wider_than_the_screen(self, wide, visit):
        page = visit(wide, **PHONE)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
        open_first(page)
        assert page.locator("dialog").evaluate("dialog => dialog.scrollWidth") <= 390

    def test_the_signs_of_a_timeline_are_no_wider_than_the_screen(self, tmp_path, visit):
        melody = np.arange(3) * 0.01, np.array([220.0, -220.0, 0.0])
        mirflow.timeline(melody, {"oak": melody}, task="melody").save(tmp_path / "timeline.html")
        page = visit(tmp_path / "timeline.html", **PHONE)
        assert page.locator(".legend span").count() == 5
        assert page.locator("dialog").evaluate("dialog => dialog.scrollWidth") <= 390

    @pytest.mark.parametrize("section", ["leaderboard", "tracks", "coverage"])
    def test_the_names_stay_while_a_table_scrolls(self, wide, visit, section):
        page = visit(wide, **PHONE)
        frame = page.locator(f"#{section} .scroll").first
        name, number = frame.locator("tbody th").first, frame.locator("tbody td.number:visible").last
        before = box(number)["x"]
        frame.evaluate("frame => { frame.scrollLeft = 120; }")
        moved = before - box(number)["x"]
        assert box(name)["x"] == pytest.approx(box(frame)["x"], abs=1)
        assert moved > 0 or frame.evaluate("frame => frame.scrollWidth <= frame.clientWidth")
        middle = box(name)["x"] + 4, box(name)["y"] + box(name)["height"] / 2
        assert page.evaluate("([x, y]) => document.elementFromPoint(x, y)?.closest('th') !== null", middle)

    def test_long_names_are_clipped_and_leave_room_for_numbers(self, wide, visit):
        page = visit(wide, **PHONE)
        for name in page.locator("#leaderboard tbody th, #tracks tbody th, dialog .lanename b").all():
            assert box(name)["width"] <= 0.45 * 390
        assert "…" in page.locator(f"#leaderboard tbody th[title={LONG}]").inner_text()
        dialog = open_first(page)
        title = dialog.locator("#timeline-title")
        assert box(title)["height"] < 80
        assert box(dialog.locator(".close"))["x"] < 390

    @pytest.mark.slow
    def test_two_fingers_zoom_the_timeline(self, wide, visit):
        page = visit(wide, **PHONE)
        dialog = open_first(page)
        place = box(dialog.locator("canvas[tabindex]"))
        x, y = place["x"] + place["width"] / 2, place["y"] + 60
        touch = page.context.new_cdp_session(page)

        def put(kind: str, *offsets: float) -> None:
            points = [{"x": x + offset, "y": y, "id": at} for at, offset in enumerate(offsets)]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        put("touchStart", -30)
        put("touchStart", -30, 30)
        for step in range(1, 6):
            put("touchMove", -30 - 12 * step, 30 + 12 * step)
        put("touchEnd")
        page.wait_for_function("() => location.hash.includes('seen=')")
        seen = re.search(r"seen=([\d.]+)-([\d.]+)", page.url)
        assert seen is not None
        assert float(seen[1]) > 0
        before = page.url
        put("touchStart", -80, 80)
        for step in range(1, 6):
            put("touchMove", -80 + 12 * step, 80 - 12 * step)
        put("touchEnd")
        page.wait_for_function("url => location.href !== url", arg=before)
        wider = re.search(r"seen=([\d.]+)-([\d.]+)", page.url)
        assert wider is not None
        assert float(wider[2]) - float(wider[1]) > 1.5 * (float(seen[2]) - float(seen[1]))
        assert page.evaluate("() => visualViewport.scale") == pytest.approx(1)

    def test_axis_and_reference_stay_while_the_lanes_scroll(self, wide, visit):
        page = visit(wide, **PHONE | {"viewport": {"width": 390, "height": 560}})
        dialog = open_first(page)
        fixed = [dialog.locator("canvas.axis"), dialog.locator(".lanename").first]
        lane = dialog.locator("button.lanename").first
        places = []
        for left in (20, 0):
            dialog.evaluate("(it, left) => { it.scrollTop = it.scrollHeight - it.clientHeight - left; }", left)
            places.append([box(one)["y"] for one in (lane, *fixed)])
        assert places[1] == pytest.approx([places[0][0] - 20, *places[0][1:]], abs=1)
        assert places[1][1] == pytest.approx(0, abs=1)
        hit = box(fixed[0])
        over = page.evaluate(
            "([x, y]) => document.elementFromPoint(x, y).className", [hit["x"] + 60, hit["y"] + hit["height"] - 6]
        )
        assert over == "axis"

    def test_the_lane_that_is_chosen_by_key_is_not_below_the_reference(self, wide, visit):
        page = visit(wide, **PHONE | {"viewport": {"width": 390, "height": 560}})
        dialog = open_first(page)
        for key in ["ArrowDown"] * 11 + ["ArrowUp"] * 9:
            page.keyboard.press(key)
        head, heard = box(dialog.locator("canvas.axis")), box(dialog.locator("button.heard"))
        assert heard["y"] >= head["y"] + head["height"] - 1


def test_no_type_is_smaller_than_12_pixels(wide, visit):
    page = visit(wide, **PHONE)
    open_first(page)
    sizes = page.evaluate(
        """() => [...document.querySelectorAll("body *")].filter((one) => one.checkVisibility() &&
        [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()))
        .map((one) => parseFloat(getComputedStyle(one).fontSize))"""
    )
    assert len(sizes) > 100
    assert min(sizes) == pytest.approx(12, abs=1e-3)


@pytest.mark.parametrize("width", [390, 1280])
def test_no_number_is_broken_over_two_lines(width, tmp_path, visit):
    (tmp_path / "ref.csv").write_text(
        "track,label,value\n" + "".join(f"a,{'x' * 30}{at},{0.8067}\n" for at in range(9))
    )
    (tmp_path / "est.csv").write_text(
        "track,label,value\n" + "".join(f"a,{'x' * 30}{at},{0.1234}\n" for at in range(9))
    )
    store = score_files(tmp_path, "tagging", "ref.csv", "{system}.csv", systems=["est"])
    write_page(store, tmp_path / "p.html")
    page = visit(tmp_path / "p.html")
    page.set_viewport_size({"width": width, "height": 800})
    # A short heading leaves the column as narrow as may be.
    page.locator("#controls select[name=metric]").select_option(label="Recall")
    page.wait_for_function("() => document.querySelector('#leaderboard h2').textContent.includes('Recall')")
    open_first(page)
    broken = page.evaluate(
        """() => {
        const found = [];
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
          if (node.parentElement.closest("script, style, option")) continue;
          for (const { 0: text, index } of node.data.matchAll(/\\d+\\.\\d+/g)) {
            const range = document.createRange();
            range.setStart(node, index);
            range.setEnd(node, index + text.length);
            if (new Set([...range.getClientRects()].map((one) => Math.round(one.top))).size > 1) found.push(text);
          }
        }
        return found; }"""
    )
    assert broken == []


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2: from 1 to 21."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def asset(name: str) -> str:
    """A file that the page is made of."""
    return files("mirflow.reports.page").joinpath("assets", name).read_text(encoding="utf-8")


def schemes() -> dict[str, dict[str, str]]:
    """The colours of the style by their names: light, dark, and on paper."""
    full = {
        scheme: {name: value for name, value in colours.items() if value.startswith("#")}
        for scheme, colours in (("light", LIGHT), ("dark", DARK), ("print", PAPER))
    }
    doubled = re.compile(r"#(\w)(\w)(\w)")
    return {
        scheme: {
            name: "#{0}{0}{1}{1}{2}{2}".format(*short.groups()) if (short := doubled.fullmatch(value)) else value
            for name, value in colours.items()
        }
        for scheme, colours in full.items()
    }


class TestContrast:
    @pytest.mark.parametrize("scheme", ["light", "dark", "print"])
    def test_every_colour_of_text_contrasts_with_every_ground(self, scheme):
        colours = schemes()[scheme]
        pairs = product(["ink", "quiet", "accent", "good", "bad", "none"], ["paper", "card", "row-hover"])
        weak = {pair: ratio for pair in pairs if (ratio := contrast(*(colours[name] for name in pair))) < CONTRAST}
        assert weak == {}

    def test_labels_contrast_with_their_background(self, wide, browser):
        page = browser.new_page()
        contents = json.dumps({"colours": contents_of(wide)["colours"]})
        source = asset("colours.js").replace("export ", "")
        source = f"const CONTENTS = {contents};" + re.sub(r"^import .*$", "", source, flags=re.M)
        pairs = page.evaluate(
            f"""() => {{ {source}
            const context = new OffscreenCanvas(1, 1).getContext("2d", {{ willReadFrequently: true }});
            const seen = (colour) => {{
              context.fillStyle = colour;
              context.fillRect(0, 0, 1, 1);
              const parts = [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
              return "#" + parts.map((one) => one.toString(16).padStart(2, "0")).join("");
            }};
            const triads = [0, 0b10010001, 0b10001001, 0b10000001];
            const chords = [-1, ...Array(12).keys()].flatMap((root) => triads.map((one) => chordColour(root, one)));
            const labels = Array.from({{ length: 21 }}, (_, at) => labelColour(at));
            return [...chords, ...labels].map(({{ fill, ink }}) => [seen(ink), seen(fill)]);
            }}"""
        )
        page.close()
        assert len(pairs) == 13 * 4 + 21
        assert {tuple(pair) for pair in pairs if contrast(*pair) < CONTRAST} == set()

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_every_text_of_the_page_can_be_read(self, wide, visit, scheme):
        page = visit(wide, color_scheme=scheme)
        read = """() => {
            const alpha = (colour) => (colour.match(/[\\d.]+/g)[3] ?? "1") !== "0";
            const digits = (one) => Number(one).toString(16).padStart(2, "0");
            // Mixed colours have shares from 0 to 1.
            const shares = (colour) => colour.match(/[\\d.]+/g).map((one) => Math.round(one * 255));
            const parts = (colour) => (colour.startsWith("color(") ? shares(colour) : colour.match(/\\d+/g));
            const hex = (colour) => "#" + parts(colour).slice(0, 3).map(digits).join("");
            const says = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
            const found = new Set();
            for (const one of document.querySelectorAll("body *")) {
              const drawn = !one.closest("svg, script, noscript") && one.checkVisibility();
              if (one.disabled || !drawn || !says(one)) continue;
              let ground = one;
              while (ground && !alpha(getComputedStyle(ground).backgroundColor)) ground = ground.parentElement;
              const { backgroundColor } = getComputedStyle(ground ?? document.documentElement);
              found.add(`${hex(getComputedStyle(one).color)} ${hex(backgroundColor)}`);
            }
            return [...found]; }"""
        pairs = {*page.evaluate(read)}
        choose(page, "metric", "1")
        open_first(page)
        pairs |= {*page.evaluate(read)}
        assert len(pairs) > 4
        assert {pair for pair in pairs if contrast(*pair.split()) < CONTRAST} == set()
