"""The page that a server sends: the same tables and timelines, fetched, under a policy that allows nothing inline."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import mirflow
from mirflow.reports.page import write_page
from mirflow.reports.page.assembly import report_link
from mirflow.reports.page.live import ASSETS, LivePage, asset
from tests.accessibility import assert_accessible, assert_fits
from tests.audio_files import RATE, write
from tests.browser import ALL_TABS
from tests.datasets import score_files, write_dataset, write_lab
from tests.groups import make_group, random_group, write_store
from tests.waiting import MILLISECONDS

from .reading import block_of, choose, contents_of, values_in
from .serving import Site, serving
from .test_paper_and_phones import PHONE


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("live")
    mirflow.run(write_dataset(folder, tracks=12))
    return folder / "store.zarr"


@pytest.fixture
def browse(browser: Any) -> Iterator[Callable[..., tuple[Any, Site]]]:
    """Opens a page of a server; there must be no error, and no request but to that server."""
    troubles: list[str] = []
    requests: list[str] = []
    with ExitStack() as stack:
        sites = []

        def go(page: LivePage, at: str = "", recordings: Any = None, **options: Any) -> tuple[Any, Site]:
            site = stack.enter_context(serving(page, recordings))
            sites.append(site)
            context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
            stack.callback(context.close)
            context.add_init_script(f"({ALL_TABS})()")
            tab = context.new_page()
            tab.set_default_timeout(MILLISECONDS)
            tab.on("console", lambda message: troubles.append(message.text) if message.type != "log" else None)
            tab.on("pageerror", lambda error: troubles.append(str(error)))
            tab.on("request", lambda request: requests.append(request.url))
            tab.goto(site.address + at)
            tab.wait_for_selector("html[data-loaded]", state="attached")
            return tab, site

        yield go
        expected = [text for site in sites for text in ([site.fail] if site.fail else [])]
        assert [text for text in troubles if not expected] == []
        made = ("blob:", *(site.origin for site in sites))
        assert {url for url in requests if not url.startswith(made)} == set()


def settled(page: Any) -> Any:
    """Wait for the intervals, which come after the table."""
    page.wait_for_selector("#leaderboard td.interval")
    return page


def write_tone(path: Path, seconds: float = 40.0) -> Path:
    time = np.arange(int(seconds * RATE)) / RATE
    return write(path, 0.1 * np.sin(2 * np.pi * 440 * time)[:, np.newaxis])


class TestShell:
    def test_holds_no_script_no_style_and_no_data(self, stored):
        text = LivePage(stored, "g").shell({name: f"/static/{name}" for name in ASSETS}, links=[("<Results>", "/?a&b")])
        assert re.findall(r"<(script|style)[^>]*>([^<]*)", text) == [("script", "")]
        assert " style=" not in text
        assert not re.search(r"\son\w+=", text)
        assert "t00" not in text
        assert '<a href="/?a&amp;b">&lt;Results&gt;</a>' in text

    def test_its_files_are_the_same_for_every_page(self):
        assert asset("report.js") == asset("report.js")
        assert b"LanesView" in asset("report.js")
        assert asset("report.css").startswith(b":root")

    def test_files_that_the_page_does_not_have_are_errors(self):
        with pytest.raises(KeyError):
            asset("../embed.py")


class TestParts:
    def test_contents_are_the_same_each_time_and_hold_no_scores(self, stored):
        page = LivePage(stored, "g")
        contents = json.loads(page.contents())
        assert page.contents() == LivePage(stored, "g").contents()
        assert contents["evaluations"][0]["metrics"][0]["score"] == "blocks/g/0/0/score"
        assert set(contents["ahead"]) == {f"blocks/g/0/{main}/values" for main in contents["evaluations"][0]["main"]}

    def test_the_scorecard_is_that_of_the_page_in_one_file(self, stored, tmp_path):
        store = write_store(tmp_path / "s.zarr", {name: random_group(3, 9, 1) for name in ("a", "b")})
        page = LivePage(store, "g")
        assert json.loads(page.contents())["scorecard"] == "blocks/g/scorecard"
        mirflow.report(store, tmp_path / "page.html")
        served = json.loads(zlib.decompress(page.block("g/scorecard") or b""))
        assert served == contents_of(tmp_path / "page.html")["scorecard"] != []
        assert json.loads(LivePage(stored, "g").contents())["scorecard"] == []

    def test_scores_are_exact_to_the_bit(self, tmp_path):
        group = random_group(3, 5, 2)
        page = LivePage(write_store(tmp_path / "s.zarr", {"chord": group}), "7-a")
        planes = np.frombuffer(zlib.decompress(page.block("7-a/0/1/score") or b""), np.uint8).reshape(8, -1)
        assert np.array_equal(planes.T.copy().view("<f8").reshape(3, 5), group.score.values[..., 1])

    @pytest.mark.parametrize(
        "address", ["h/0/0/score", "g/0/99/score", "g/9/0/score", "g", "", "g/../../etc/passwd", "g/0/0/score/"]
    )
    def test_there_is_nothing_at_other_addresses(self, stored, address):
        assert LivePage(stored, "g").block(address) is None

    @pytest.mark.parametrize("track", ["t99", "", "../t00", "t00/"])
    def test_there_are_no_other_tracks(self, stored, track):
        assert LivePage(stored, "g").timeline(track) is None

    def test_a_track_has_labels_and_verdicts_of_its_own(self, stored):
        found = json.loads(LivePage(stored, "g").timeline("t03", "root", "/audio/7") or b"")
        ((number, one),) = found["evaluations"]
        assert (number, one["rules"], found["audio"]) == (0, ["root"], "/audio/7")
        assert "majmin" in one["able"]
        used = {code for annotation in found["annotations"] for code in annotation["l"]}
        assert used == set(range(len(found["vocabulary"])))
        assert set(found["verdicts"]) <= {"right", "wrong", "not comparable"}

    def test_another_metric_judges_where_the_one_that_is_asked_for_cannot(self, stored):
        page = LivePage(stored, "g")
        ((_, one),) = json.loads(page.timeline("t03", "no_such_metric") or b"")["evaluations"]
        assert one["rules"] == one["able"][:1]

    def test_a_timeline_is_that_of_the_page_in_one_file(self, stored, tmp_path):
        write_page(stored, tmp_path / "p.html", metrics=["root"])
        embedded = contents_of(tmp_path / "p.html")
        whole = json.loads(block_of(tmp_path / "p.html", dict(embedded["timelines"])["t05"]))
        live = json.loads(LivePage(stored, "g").timeline("t05", "root") or b"")
        ((_, one),), ((_, other),) = whole["evaluations"], live["evaluations"]
        assert {name: other[name] for name in one} == one
        labels = json.loads(block_of(tmp_path / "p.html", embedded["vocabulary"]))
        for mine, its in zip(live["annotations"], whole["annotations"], strict=True):
            assert [live["vocabulary"][code] for code in mine["l"]] == [labels[code] for code in its["l"]]
            assert (mine["s"], mine["n"]) == (its["s"], its["n"])

    def test_without_references_there_are_no_annotations_but_recordings(self, stored):
        found = json.loads(LivePage(stored, "g", references=False).timeline("t03", "", "/audio/7") or b"")
        assert (found["annotations"], found["evaluations"], found["audio"]) == ([], [], "/audio/7")

    def test_where_annotations_are_gone_there_are_none(self, tmp_path):
        page = LivePage(write_store(tmp_path / "s.zarr", {"chord": random_group(2, 3, 1)}), "g")
        assert json.loads(page.timeline("t0") or b"")["annotations"] == []
        (one,) = json.loads(page.contents())["evaluations"]
        assert one["timeline"]["note"] == "The annotations of these tracks are not on this server."

    def test_what_cannot_be_read_is_named_without_the_folder_of_the_server(self, tmp_path):
        mirflow.run(write_dataset(tmp_path, tracks=2))
        (tmp_path / "est" / "ada" / "t00.lab").write_text("0 1\nx\n")
        (tmp_path / "ref" / "t01.lab").write_text("1 x C\n")
        page = LivePage(tmp_path / "store.zarr", "g", name="chords")
        assert json.loads(page.contents())["name"] == "chords"
        (_, first), (_, second) = (json.loads(page.timeline(name) or b"")["evaluations"][0] for name in ("t00", "t01"))
        assert first["estimates"][0].startswith("est/ada/t00.lab:2: ")
        assert second["references"][0][0].startswith("ref/t01.lab:1: ")
        written = [page.contents(), page.timeline("t00"), page.block("g/0/problems")]
        assert not any(str(tmp_path.parent) in (one or b"").decode("latin-1") for one in written)
        assert "store.zarr" in json.loads(page.contents())["stores"][0]["pipeline"]

    @pytest.mark.slow
    def test_many_threads_get_the_same_and_old_parts_are_dropped(self, stored):
        page = LivePage(stored, "g", cache=20_000)
        names = [f"g/0/{metric}/{what}" for metric in range(5) for what in ("score", "weight", "flags", "values")] * 4
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(page.block, names))
            tracks = list(pool.map(page.timeline, [f"t{at % 12:02d}" for at in range(48)]))
        assert together == [LivePage(stored, "g").block(name) for name in names]
        assert len({bytes(one or b"") for one in tracks}) == 12
        assert page._recent._size < 20_000 + len(page.contents()) + 1_000

    def test_what_fails_is_tried_again(self, stored, monkeypatch):
        page = LivePage(stored, "g")
        monkeypatch.setattr(page, "_make_contents", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            page.contents()
        monkeypatch.undo()
        assert json.loads(page.contents())["name"] == "store"


class TestLinks:
    @pytest.mark.parametrize(
        ("link", "written"),
        [
            (report_link("chord", "t03", 12.5), "#evaluation=chord&track=t03&time=12.5"),
            (report_link(track="a/b c&d=é", seconds=60), "#track=a%2Fb+c%26d%3D%C3%A9&time=60"),
            (report_link(track="t", seconds=-1.0, metric="root", ear="ada"), "#metric=root&track=t&time=0&ear=ada"),
            (report_link(seconds=3.0, ear="ada"), ""),
            (report_link("beat"), "#evaluation=beat"),
        ],
    )
    def test_are_written_as_the_page_writes_them(self, link, written):
        assert link == written

    def test_lead_to_a_track_at_a_second(self, stored, browse):
        link = report_link(track="t03", seconds=7.5, metric="root", ear="bob")
        page, _ = browse(LivePage(stored, "g"), link)
        page.wait_for_selector("dialog .clock:text-is('0:07.50')")
        assert page.locator("#timeline-title").inner_text() == "t03"
        assert page.locator("dialog select[name=ear]").input_value() == "1"
        assert "judged by Root" in page.locator(".marks").inner_text()
        assert page.url.endswith(link)


class TestPage:
    @pytest.mark.slow
    def test_its_tables_are_those_of_the_page_in_one_file(self, stored, tmp_path, visit, browse):
        write_page(stored, tmp_path / "p.html")
        whole, (page, site) = visit(tmp_path / "p.html"), browse(LivePage(stored, "g"))
        settled(page)
        for name, value in [("metric", "1"), ("aggregate", "median"), ("missing", "skip"), ("missing", "common")]:
            choose(whole, name, value)
            choose(page, name, value)
            expected = values_in(whole)
            shown = values_in(page)
            assert shown.keys() == expected.keys()
            for system, values in expected.items():
                assert shown[system] == pytest.approx(values, rel=1e-12)
        for part in ("#distributions", "#tracks"):
            assert page.inner_text(part) == whole.inner_text(part)
        assert not any("static" not in path and "stores" not in path and "favicon" not in path for path in site.asked)

    @pytest.mark.slow
    def test_its_filter_is_that_of_the_page_in_one_file(self, stored, tmp_path, visit, browse):
        write_page(stored, tmp_path / "p.html")
        link = f"#aggregate=mean&filter={quote(json.dumps([['find', 't0']]))}"
        shown = []
        for page in (visit(tmp_path / "p.html", link), browse(LivePage(stored, "g"), link)[0]):
            page.wait_for_selector("#filter li")
            shown.append([page.text_content(part) for part in ("#leaderboard table", "h1", "#tracks table")])
        assert shown[0] == shown[1]
        assert "best value of these 10 tracks" in shown[0][1]

    @pytest.mark.slow
    def test_its_timelines_are_those_of_the_page_in_one_file(self, tmp_path, visit, browse):
        rng = np.random.default_rng(4)
        for side in ("ref/ann", "ref/ben", "est/ada", "est/bob"):
            for track in ("t0", "t1"):
                write_lab(tmp_path / side / f"{track}.lab", rng)
        people = {"path": "ref/{annotator}/{track}.lab", "combine": "each"}
        store = score_files(tmp_path, "chord", people)
        write_page(store, tmp_path / "p.html")
        shown = []
        for page in (visit(tmp_path / "p.html"), browse(LivePage(store, "g"))[0]):
            lanes = []
            for evaluation in ("0", "1"):
                choose(page, "evaluation", evaluation)
                page.locator("#tracks button.link").first.click()
                page.wait_for_selector("dialog canvas[tabindex]")
                lanes.append([page.locator(f"dialog {part}").all_inner_texts() for part in (".lanename", ".marks")])
                page.keyboard.press("Escape")
                page.wait_for_selector("dialog", state="detached")
            shown.append(lanes)
        assert shown[0] == shown[1]
        assert len(shown[0][0][0]) == 4

    def test_its_first_table_needs_no_scores(self, stored, browse):
        page, site = browse(LivePage(stored, "g"))
        settled(page)
        table = site.asked.index("/stores/s/report/contents.json")
        assert not any("blocks" in path for path in site.asked[: table + 1])
        assert not any(path.endswith("/values") for path in site.asked)
        assert len([path for path in site.asked if path.endswith("/score")]) == 1

    def test_intervals_that_come_later_keep_the_focus(self, stored, browse):
        page, _ = browse(LivePage(stored, "g"))
        settled(page)
        page.focus("#controls select[name=metric]")
        page.keyboard.press("ArrowDown")
        page.wait_for_function("() => document.querySelectorAll('#leaderboard td.interval').length > 0")
        assert page.evaluate("() => document.activeElement.getAttribute('name')") == "metric"

    def test_a_timeline_is_fetched_when_it_is_opened(self, stored, browse):
        page, site = browse(LivePage(stored, "g"))
        assert not any("/tracks/" in path for path in site.asked)
        button = page.locator("#tracks button.link").first
        track = button.inner_text()
        button.click()
        page.wait_for_selector("dialog canvas[tabindex]")
        assert [path for path in site.asked if "/tracks/" in path] == [
            f"/stores/s/report/tracks/{track}.json?metric=majmin"
        ]
        assert page.locator("dialog .lanename b").all_inner_texts()[0] == "reference"
        page.locator("dialog button[data-step='1']").click()
        page.wait_for_function("track => document.querySelector('#timeline-title').textContent !== track", arg=track)
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")

    def test_names_of_tracks_may_hold_anything(self, tmp_path, browse):
        name = "a ?&#%é\"<b>'"
        (tmp_path / "ref.csv").write_text(f'track,label\n"{name.replace(chr(34), chr(34) * 2)}",x\n')
        (tmp_path / "est.csv").write_text((tmp_path / "ref.csv").read_text())
        store = score_files(tmp_path, "tagging", "ref.csv", "{system}.csv", systems=["est"])
        page, _ = browse(LivePage(store, "g"), report_link(track=name))
        page.wait_for_selector("dialog table.texts")
        assert page.locator("#timeline-title").inner_text() == name

    def test_a_publish_meanwhile_asks_for_a_reload(self, stored, browse):
        page, site = browse(LivePage(stored, "g"))
        settled(page)
        site.fail = "/blocks/"
        page.select_option("#controls select[name=metric]", "3")
        page.wait_for_selector("#trouble")
        assert (
            page.inner_text("#trouble") == "The results have changed since this page was opened. Reload it to see them."
        )

    def test_a_timeline_that_cannot_be_loaded_says_so(self, stored, browse):
        page, site = browse(LivePage(stored, "g"))
        site.fail = "/tracks/"
        page.locator("#tracks button.link").first.click()
        page.wait_for_selector("dialog [role=alert]")
        assert "could not be loaded" in page.inner_text("dialog")
        page.get_by_role("button", name="Close").click()
        page.wait_for_selector("dialog", state="detached")

    def test_only_aggregates_need_no_scores_at_all(self, stored, browse):
        page, site = browse(LivePage(stored, "g", only_aggregates=True))
        page.wait_for_selector("#leaderboard td.interval", state="attached")
        assert not page.locator("#tracks, #heatmap, #distributions").count()
        assert not any(re.search(r"/(score|weight|flags|duration)$", path) for path in site.asked)

    def test_a_store_without_a_usual_metric_has_its_page(self, tmp_path, browse):
        store = write_store(tmp_path / "s.zarr", {"chord": make_group(np.full((1, 1, 1), 0.25))})
        page, _ = browse(LivePage(store, "g"))
        assert page.locator("#leaderboard td.strong").inner_text() == "0.250"

    @pytest.mark.slow
    def test_axe_finds_nothing_on_any_screen(self, stored, browse):
        page, _ = browse(LivePage(stored, "g"), **PHONE)
        assert_fits(settled(page))
        assert_accessible(page)
        page.locator("#tracks button.link").first.click()
        page.wait_for_selector("dialog canvas[tabindex]")
        assert_fits(page)
        assert_accessible(page)


@pytest.mark.slow
class TestRecordings:
    @pytest.fixture
    def opened(self, stored: Path, tmp_path: Path, browse: Any) -> tuple[Any, Site]:
        recordings = {f"t{at:02d}": tmp_path / "tone.wav" for at in range(12)}
        write_tone(tmp_path / "tone.wav")
        page, site = browse(LivePage(stored, "g"), report_link(track="t03", seconds=5), recordings)
        page.wait_for_selector("dialog canvas[tabindex]")
        return page, site

    def test_play_beside_the_sounds_from_the_cursor_on(self, opened):
        page, site = opened
        page.locator("dialog button.play").click()
        page.wait_for_function("() => document.querySelector('dialog .clock').textContent > '0:05.30'")
        assert page.locator("dialog button.play").inner_text() == "Stop"
        assert any(path.startswith("/audio/t03") for path in site.asked)
        page.locator("dialog button.play").click()
        assert page.locator("dialog button.play").inner_text() == "Play"

    def test_can_be_heard_alone_and_the_link_says_so(self, opened):
        page, _ = opened
        page.keyboard.press("r")
        page.keyboard.press("s")
        page.wait_for_function("() => location.hash.includes('mix=100-0-0')")
        page.locator("dialog button.play").click()
        page.wait_for_function("() => document.querySelector('dialog .clock').textContent > '0:05.30'")

    def test_are_drawn_when_asked(self, opened):
        page, _ = opened
        page.locator("dialog button[name=spectrum]").click()
        page.wait_for_function(
            "() => parseFloat(document.querySelector('dialog .lanes').style.getPropertyValue('--sound')) > 100"
        )

    def test_go_on_from_a_click(self, opened):
        page, _ = opened
        page.locator("dialog button.play").click()
        page.wait_for_function("() => document.querySelector('dialog .clock').textContent > '0:05.10'")
        box = page.locator("dialog canvas[tabindex]").bounding_box()
        page.mouse.click(box["x"] + box["width"] * 0.6, box["y"] + 20)
        page.wait_for_function("() => document.querySelector('dialog .clock').textContent > '0:07'")
        assert page.locator("dialog button.play").inner_text() == "Stop"

    def test_that_cannot_be_played_are_named_and_sounds_stay(self, stored, tmp_path, browse):
        (tmp_path / "no.wav").write_bytes(b"no sound")
        page, _ = browse(LivePage(stored, "g"), report_link(track="t03"), {"t03": tmp_path / "no.wav"})
        page.wait_for_selector("dialog p:has-text('The recording cannot be played')")
        assert page.locator("dialog button.play").is_enabled()

    def test_without_annotations_have_the_controls_of_the_browser(self, stored, tmp_path, browse):
        tone = write_tone(tmp_path / "tone.wav", 2.0)
        page, _ = browse(LivePage(stored, "g", references=False), report_link(track="t03"), {"t03": tone})
        page.wait_for_selector("dialog audio[controls]")
        assert "The references of these tracks are not public." in page.inner_text("dialog")
