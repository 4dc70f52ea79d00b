"""Stores that are not as most stores are: what a page makes of them."""

from __future__ import annotations

import json
import math
import os
import shutil
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirflow
from mirflow.errors import QueryError
from mirflow.reports.page import write_page
from tests.datasets import score_files, write_dataset
from tests.groups import make_group, random_group, write_store

from ...commands import printed
from .reading import block_of, choose, contents_of, values_in

INFINITY = "\N{INFINITY}"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    mirflow.run(write_dataset(tmp_path))
    return tmp_path / "store.zarr"


def held_of(page: Path, track: str, evaluation: int = 0) -> dict[str, Any]:
    """What a page holds of a track."""
    number = dict(contents_of(page)["timelines"])[track]
    return dict(json.loads(block_of(page, number))["evaluations"])[evaluation]


class TestScores:
    def test_infinite_scores_are_not_missing(self, tmp_path, visit):
        score = np.random.default_rng(0).normal(5, 3, (3, 9, 1))
        score[0, 2], score[1, 3], score[2, :6] = np.inf, -np.inf, np.inf
        words = {"metrics": ["sdr"], "unit": ["dB"], "standard": ["mean"], "aggregates": ["mean median pooled"]}
        group = make_group(score, **words)
        write_page(write_store(tmp_path / "s.zarr", {"separation": group}), tmp_path / "p.html")
        page = visit(tmp_path / "p.html")
        for aggregate in ("mean", "median", "pooled"):
            choose(page, "aggregate", aggregate)
            expected = group.mirflow.query("sdr", aggregate)["value"].values[:, 0]
            shown = [values_in(page)[system][0] for system in group["system"].values]
            assert shown == pytest.approx(expected, abs=1e-12)
            assert page.locator("#leaderboard td.strong").first.inner_text() == INFINITY
        assert page.locator("#leaderboard tbody tr").last.locator("td").first.inner_text() == "3"

    def test_an_interval_that_ends_nowhere(self, tmp_path, visit):
        score = np.full((2, 9, 1), 5.0)
        score[0, :4] = np.inf
        score[1, 0] = 6.0
        group = make_group(score, metrics=["sdr"], unit=["dB"], standard=["median"], aggregates=["mean median"])
        write_page(write_store(tmp_path / "s.zarr", {"separation": group}), tmp_path / "p.html")
        page = visit(tmp_path / "p.html")
        assert INFINITY in " ".join(page.locator("#leaderboard td.interval").all_inner_texts())

    @pytest.mark.parametrize(("value", "ends"), [(1.0, ("0.000", "1.000")), (0.0, ("0.000", "1.000"))])
    def test_all_the_same(self, value, ends, tmp_path, visit):
        write_page(
            write_store(tmp_path / "s.zarr", {"chord": make_group(np.full((2, 6, 1), value))}), tmp_path / "p.html"
        )
        page = visit(tmp_path / "p.html")
        legend = page.locator("#heatmap .legend").inner_text()
        assert all(end in legend for end in ends)
        ticks = [float(one) for one in page.locator("#distributions .ticks span").all_inner_texts()]
        assert (min(ticks) >= 0, max(ticks) <= 1, ticks == sorted(set(ticks))) == (True, True, True)
        places = (
            page.locator("#tracks tbody tr")
            .first.locator("circle")
            .evaluate_all("dots => dots.map(dot => dot.getAttribute('cx'))")
        )
        assert len(set(places)) == 1

    def test_systems_and_tracks_that_tie_are_noted_to(self, tmp_path, visit):
        score = np.array([[0.9, 0.5], [0.0, 0.5], [0.0, 0.5], [0.0, 0.3], [0.9, 0.0]])[..., np.newaxis]
        score[:, 1] = score[:, 0][::-1]
        group = make_group(score, systems=["ada", "birch", "cedar", "dora", "elm"])
        write_page(write_store(tmp_path / "s.zarr", {"chord": group}), tmp_path / "p.html")
        page = visit(tmp_path / "p.html")
        strip = page.locator("#tracks tbody tr").first.locator("svg.dots").get_attribute("aria-label")
        assert strip == "ada 0.900, elm 0.900, birch 0.000, cedar 0.000, dora 0.000"
        assert "2 tracks tie at 0.360" in page.locator("#tracks").inner_text()
        ways = page.locator("#tracks select option").all_inner_texts()
        assert ways == ["the worst first", "the largest spread over systems first", "by name"]

    def test_all_failed(self, tmp_path, visit):
        group = make_group(np.full((3, 4, 2), np.nan), 0.0, status="failed")
        write_page(write_store(tmp_path / "s.zarr", {"chord": group}), tmp_path / "p.html")
        page = visit(tmp_path / "p.html")
        assert all(math.isnan(row[0]) for row in values_in(page).values())
        assert "12 of 12 cells" in page.locator("#coverage").inner_text()

    def test_lower_is_better(self, tmp_path, visit):
        score = np.array([[3.0, 4.0], [1.0, 2.0], [9.0, 9.0]])[..., np.newaxis]
        group = make_group(score, metrics=["error"], orientation=["lower"], standard=["mean"], aggregates=["mean"])
        write_page(write_store(tmp_path / "s.zarr", {"beat": group}), tmp_path / "p.html")
        page = visit(tmp_path / "p.html")
        assert list(values_in(page)) == ["S1", "S0", "S2"]
        assert page.locator("#leaderboard tbody td.quiet").first.inner_text() == "1"

    def test_hundreds_of_metrics(self, tmp_path, visit):
        names = [f"f_measure@{place / 100}" for place in range(300)]
        group = random_group(3, 12, 300, metrics=names)
        write_page(write_store(tmp_path / "s.zarr", {"onset": group}), tmp_path / "p.html")
        assert len(contents_of(tmp_path / "p.html")["evaluations"][0]["inference"]) == 20
        page = visit(tmp_path / "p.html")
        choose(page, "metric", "299")
        assert page.locator("#leaderboard td.interval").count() == 0
        assert page.locator("#leaderboard thead th").count() < 20


class TestExtraDims:
    def test_values_are_those_of_a_query(self, tmp_path, visit):
        write_dataset(tmp_path)
        store = score_files(tmp_path, "chord", metrics=["majmin", "confusion"])
        write_page(store, tmp_path / "p.html")
        expected = mirflow.open_store(store).mirflow.query("confusion")["value"]
        (extra,) = contents_of(tmp_path / "p.html")["evaluations"][0]["extras"]
        (_, rows), (_, columns) = extra["dims"]
        planes = np.frombuffer(block_of(tmp_path / "p.html", extra["value"]), np.uint8).reshape(8, -1)
        shape = (expected.sizes["system"], len(rows), len(columns))
        value = np.ascontiguousarray(planes.T).view("<f8").reshape(shape)
        assert np.array_equal(value, expected.sel(ref_class=rows, est_class=columns))
        assert value.sum() == pytest.approx(expected.sum().item())
        page = visit(tmp_path / "p.html")
        cells = values_in(page, "#extras .matrix")
        assert [cells[row] for row in rows] == value[0].tolist()
        first = page.locator("#extras .matrix td").first.get_attribute("title")
        assert first.startswith(f"reference class {rows[0]}, estimated class {columns[0]}: ")
        page.select_option("#extras select[name=system]", "1")
        page.wait_for_function("() => document.querySelector('#extras select[name=system]').value === '1'")

    def test_they_may_be_all_there_is(self, tmp_path, visit):
        write_dataset(tmp_path)
        store = score_files(tmp_path, "chord", metrics=["confusion"])
        write_page(store, tmp_path / "p.html")
        page = visit(tmp_path / "p.html")
        assert "no metric that is a single number" in page.locator("#leaderboard").inner_text()
        assert page.locator("#extras .matrix").count() == 1

    def test_too_many_values_are_noted(self, tmp_path, visit, monkeypatch):
        write_dataset(tmp_path)
        store = score_files(tmp_path, "chord", metrics=["majmin", "confusion"])
        for limit, value in (("VALUES", 10), ("LABELS", {1: 2}), ("LABELS", {1: 2, 2: 2})):
            with monkeypatch.context() as patch:
                patch.setattr(f"mirflow.reports.page.data.{limit}", value)
                write_page(store, tmp_path / "p.html")
            (extra,) = contents_of(tmp_path / "p.html")["evaluations"][0]["extras"]
            assert extra["why"].endswith("values for each system, too many for this page.")
        assert extra["why"] in visit(tmp_path / "p.html").locator("#extras").inner_text()


class TestWithoutATimeAxis:
    def test_what_has_no_times_cannot_be_played(self, tmp_path, visit):
        for side, key in (("ref", "A minor"), ("est/x", "X")):
            (tmp_path / side).mkdir(parents=True)
            (tmp_path / side / "a.txt").write_text(f"{key}\n")
            (tmp_path / side / "b.txt").write_text("X\n")
        write_page(score_files(tmp_path, "key", "ref/{track}.txt", "est/{system}/{track}.txt"), tmp_path / "p.html")
        page = visit(tmp_path / "p.html")
        for track, able in (("a", True), ("b", False)):
            page.locator("#tracks button.link", has_text=track).click()
            page.wait_for_selector("dialog[open]")
            buttons = page.locator("dialog button.play")
            assert buttons.is_enabled() if able else buttons.count() == 0
            assert page.locator("dialog table.texts tbody tr").count() == 2
            page.keyboard.press("Escape")
            page.wait_for_selector("dialog", state="detached")

    def test_items_are_chips_that_look_like_their_verdicts(self, tmp_path, visit):
        for side, tags in (("ref", "rock\nloud\n"), ("est/x", "rock\nslow\n")):
            (tmp_path / side).mkdir(parents=True)
            (tmp_path / side / "a.txt").write_text(tags)
        write_page(score_files(tmp_path, "tagging", "ref/{track}.txt", "est/{system}/{track}.txt"), tmp_path / "p.html")
        page = visit(tmp_path / "p.html", "#track=a")
        page.wait_for_selector("dialog .chips li")
        chips = page.locator("dialog tr:nth-child(2) .chips li")
        # The verdict is said to those who do not see it, and a line divides what the system says from the rest.
        assert [(chip.text_content(), chip.get_attribute("class")) for chip in chips.all()] == [
            ("rock, hit", "hit"),
            ("slow, extra", "extra"),
            ("", "divide"),
            ("loud, missed", "missed"),
        ]
        # Nothing sounds: there is nothing to play, and there are no ears.
        assert page.locator("dialog button.play, dialog select[name=ear]").count() == 0
        assert all(head.inner_text() for head in page.locator("dialog thead th").all())

    def test_rankings_are_strips_with_the_first_hit(self, tmp_path, visit):
        (tmp_path / "ref.tsv").write_text("q\ta\nq\tb\nq\tz\n")
        (tmp_path / "x.tsv").write_text("q\tc\nq\ta\nq\td\nq\tb\n")
        write_page(score_files(tmp_path, "retrieval", "ref.tsv", "{system}.tsv", systems=["x"]), tmp_path / "p.html")
        page = visit(tmp_path / "p.html", "#track=q")
        boxes = page.locator("dialog .strip li")
        boxes.first.wait_for()
        assert boxes.all_text_contents() == ["1", "2, relevant", "3", "4, relevant"]
        assert page.locator("dialog .strip b").all_inner_texts() == ["2"]
        assert page.locator("dialog .strip + .note").inner_text() == "first hit: 2; 2 of 3 found; missed: z"


class TestFilesThatChanged:
    def test_nothing_is_noted_where_nothing_changed(self, stored, tmp_path, visit):
        write_page(stored, tmp_path / "p.html")
        assert held_of(tmp_path / "p.html", "t00")["changed"] == []
        page = visit(tmp_path / "p.html")
        page.locator("#tracks button.link").first.click()
        page.wait_for_selector("dialog[open]")
        assert page.locator("dialog .warning").count() == 0

    def test_it_is_noted_which(self, stored, tmp_path, visit):
        for path in ("ref/t01.lab", "est/bob/t01.lab"):
            text = (tmp_path / path).read_text()
            (tmp_path / path).write_text(text + "\n")
        write_page(stored, tmp_path / "p.html")
        assert held_of(tmp_path / "p.html", "t01")["changed"] == [-1, 1]
        assert held_of(tmp_path / "p.html", "t00")["changed"] == []
        page = visit(tmp_path / "p.html")
        page.locator("#tracks button.link", has_text="t01").click()
        page.wait_for_selector("dialog[open]")
        assert "Changed since it was scored: the reference, bob." in page.locator("dialog .warning").inner_text()

    def test_an_estimate_that_is_gone_has_changed(self, stored, tmp_path):
        (tmp_path / "est" / "ada" / "t02.lab").unlink()
        write_page(stored, tmp_path / "p.html")
        assert held_of(tmp_path / "p.html", "t02")["changed"] == [0]
        assert held_of(tmp_path / "p.html", "t02")["estimates"][0] == "no estimate"

    def test_systems_that_came_or_went_do_not_move_the_others(self, stored, tmp_path, visit):
        shutil.copytree(tmp_path / "est" / "ada", tmp_path / "est" / "aaa")
        write_page(stored, tmp_path / "p.html")
        one = held_of(tmp_path / "p.html", "t00")
        assert (len(one["estimates"]), one["changed"]) == (2, [])
        shutil.rmtree(tmp_path / "est" / "ada")
        write_page(stored, tmp_path / "p.html")
        one = held_of(tmp_path / "p.html", "t00")
        assert one["estimates"][0] == "the pipeline no longer has this system"
        assert (isinstance(one["estimates"][1], int), one["changed"]) == (True, [0])
        page = visit(tmp_path / "p.html")
        page.locator("#tracks button.link").first.click()
        page.wait_for_selector("dialog[open]")
        assert page.locator("dialog .lanename b").all_inner_texts() == ["reference", "bob", "ada"]

    def test_a_store_that_does_not_name_its_folder(self, tmp_path, visit):
        text = "name: x\nevaluations:\n  - task: chord\n    reference: a/{track}.lab\n    estimates: b/{track}.lab\n"
        store = write_store(tmp_path / "s.zarr", {"chord": random_group(1, 3, 1, pipeline=text)}, pipeline=text)
        report = write_page(store, tmp_path / "p.html")
        (note,) = report.notes
        assert note.startswith("The annotations are not looked for, as no run of yours wrote this store here;")
        assert note.endswith("name the folder of the annotations with --root.")
        visit(tmp_path / "p.html")


class TestOutput:
    def test_a_missing_folder_is_noted_before_the_work(self, stored, tmp_path):
        with pytest.raises(QueryError, match="cannot find the folder"):
            write_page(stored, tmp_path / "none" / "p.html")

    def test_a_folder_is_no_file(self, stored, tmp_path):
        with pytest.raises(QueryError, match=r"is a folder; name a file"):
            write_page(stored, tmp_path)

    def test_a_page_that_is_there_is_replaced(self, stored, tmp_path):
        (tmp_path / "p.html").write_text("before")
        write_page(stored, tmp_path / "p.html", timelines="none")
        assert (tmp_path / "p.html").read_text().startswith("<!DOCTYPE html>")

    def test_a_link_stays_one(self, stored, tmp_path):
        (tmp_path / "link.html").symlink_to("real.html")
        write_page(stored, tmp_path / "link.html", timelines="none")
        assert (tmp_path / "link.html").is_symlink()
        assert (tmp_path / "real.html").read_text().startswith("<!DOCTYPE html>")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
    def test_a_named_pipe_is_written_to_and_not_replaced(self, stored, tmp_path):
        path = tmp_path / "pipe"
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with ThreadPoolExecutor(1) as threads:
            written = threads.submit(write_page, stored, path, timelines="none")
            page = b""
            while not written.done() or not page.rstrip().endswith(b"</html>"):
                with suppress(BlockingIOError):
                    page += os.read(reader, 1 << 16)
        os.close(reader)
        written.result()
        assert page.startswith(b"<!DOCTYPE html>")
        assert stat.S_ISFIFO(path.stat().st_mode)

    def test_standard_output(self, stored):
        page = printed("report", stored, "-o", "-", "--timelines", "none")
        assert page.startswith("<!DOCTYPE html>")
        assert page.rstrip().endswith("</html>")


def test_empty_files_are_listed_by_name_and_have_a_score(tmp_path: Path, visit: Any) -> None:
    pipeline = write_dataset(tmp_path, tracks=3)
    for name in ("est/ada/t01.lab", "ref/t02.lab"):
        (tmp_path / name).write_text("")
    (tmp_path / "est/bob/t00.lab").unlink()
    write_page(mirflow.run(pipeline, scheduler="serial").store, tmp_path / "p.html")
    page = visit(tmp_path / "p.html")
    message = page.locator("#coverage .note").first.inner_text()
    assert message.startswith("1 of 6 cells (systems \N{MULTIPLICATION SIGN} tracks) has no score.")
    assert message.endswith("3 of an empty estimate or reference, or with a warning, have one and count.")
    rows = page.locator("#problems tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => (cell.querySelector('summary') ?? cell).textContent))"
    )
    assert [(what, cells, where) for what, _, cells, where in rows] == [
        ("empty reference (with a score)", "2", "ada: t02 and 1 more"),
        ("empty estimate (with a score)", "1", "ada: t01"),
        ("missing estimate", "1", "bob: t00"),
    ]
    assert rows[1][1] == "system … has an empty estimate of track …"


def test_warnings_are_with_the_systems_and_with_coverage_as_text(tmp_path: Path, visit: Any) -> None:
    text = "no item of system 'S0' occurs in the reference: '<img src=x>' is listed, 'a' is true"
    group = random_group(2, 3, 1, warnings=[{"text": text, "system": "S0"}])
    write_page(write_store(tmp_path / "s.zarr", {"chord": group}), tmp_path / "p.html")
    page = visit(tmp_path / "p.html")
    for section in ("leaderboard", "coverage"):
        assert page.locator(f"#{section} .warning").inner_text() == f"Warning: {text}."
