"""What goes into a page, and what it does without."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.errors import QueryError, StoreError, UnknownNameError
from mirflow.reports.page import write_page
from tests.datasets import write_dataset, write_lab
from tests.groups import make_group, random_group, write_store

from ...commands import invoke, printed
from .reading import block_of, contents_of, values_in


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    mirflow.run(write_dataset(tmp_path))
    return tmp_path / "store.zarr"


class TestPage:
    def test_it_needs_nothing_else(self, stored, tmp_path):
        write_page(stored, tmp_path / "p.html")
        text = (tmp_path / "p.html").read_text()
        links = re.findall(r'(?:src|href)="([^"]*)"', text.split('<script type="module">')[0])
        assert links[0] == "#leaderboard"
        assert all(link.startswith("#") for link in links)
        assert "default-src 'none'" in text
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")

    def test_its_title_says_what_was_evaluated_and_the_tab_of_which_pipeline(self, stored, tmp_path):
        write_page(stored, tmp_path / "p.html")
        contents = contents_of(tmp_path / "p.html")
        assert (contents["title"], contents["name"]) == ("Chord estimation: 2 systems, 6 tracks", "store")
        text = (tmp_path / "p.html").read_text()
        assert "<title>Chord estimation: 2 systems, 6 tracks (test)</title>" in text

    def test_the_same_store_gives_the_same_page(self, stored, tmp_path):
        for name in ("a", "b"):
            write_page(stored, tmp_path / f"{name}.html")
        assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()

    def test_the_page_itself_is_small(self, tmp_path):
        store = write_store(tmp_path / "s.zarr", {"chord": make_group(np.ones((1, 1, 1)))})
        assert write_page(store, tmp_path / "p.html").size < 350_000

    def test_scores_are_exact_to_the_bit(self, tmp_path):
        group = random_group(3, 5, 2)
        write_page(write_store(tmp_path / "s.zarr", {"chord": group}), tmp_path / "p.html")
        metric = contents_of(tmp_path / "p.html")["evaluations"][0]["metrics"][1]
        planes = np.frombuffer(block_of(tmp_path / "p.html", metric["score"]), np.uint8).reshape(8, -1)
        back = np.ascontiguousarray(planes.T).view("<f8").reshape(3, 5)
        assert np.array_equal(back, group.score.values[..., 1])

    def test_a_store_that_is_none_is_an_error(self, tmp_path):
        with pytest.raises(StoreError):
            write_page(tmp_path / "nothing.zarr", tmp_path / "p.html")
        assert not (tmp_path / "p.html").exists()

    def test_an_unknown_metric_is_an_error_with_a_suggestion(self, stored, tmp_path):
        with pytest.raises(UnknownNameError, match="did you mean 'majmin'"):
            write_page(stored, tmp_path / "p.html", metrics=["majmim"])

    def test_the_metric_that_is_asked_for_comes_first(self, stored, tmp_path):
        write_page(stored, tmp_path / "p.html", metrics=["root"])
        one = contents_of(tmp_path / "p.html")["evaluations"][0]
        assert one["metrics"][one["main"][0]]["name"] == "root"
        assert one["timeline"]["rules"] == ["root"]

    def test_one_system_and_one_track_are_enough(self, tmp_path, visit):
        group = make_group(np.full((1, 1, 1), 0.25))
        write_page(write_store(tmp_path / "s.zarr", {"chord": group}), tmp_path / "p.html")
        page = visit(tmp_path / "p.html")
        assert page.locator("#controls .size").inner_text() == "1 track"
        assert page.locator("#leaderboard td.strong").inner_text() == "0.250"


class TestTimelines:
    def test_all_tracks_of_a_small_store(self, stored, tmp_path):
        assert write_page(stored, tmp_path / "p.html").tracks == 6

    @pytest.mark.parametrize(("wanted", "tracks"), [("all", 6), ("worst", 6), ("none", 0), (2, 2), ("0", 0)])
    def test_as_many_as_are_asked_for(self, stored, tmp_path, wanted, tracks):
        assert write_page(stored, tmp_path / "p.html", timelines=wanted).tracks == tracks

    @pytest.mark.parametrize("wanted", ["some", "-1", "1.5", ""])
    def test_other_wishes_are_errors(self, stored, tmp_path, wanted):
        with pytest.raises(QueryError, match="choose one of auto, all, worst, none, or a number"):
            write_page(stored, tmp_path / "p.html", timelines=wanted)

    def test_where_the_annotations_are_gone_the_page_says_so(self, stored, tmp_path, visit):
        shutil.rmtree(tmp_path / "ref")
        report = write_page(stored, tmp_path / "p.html")
        assert report.tracks == 0
        assert "matches nothing" in report.notes[0]
        page = visit(tmp_path / "p.html")
        page.locator("#tracks button.link").first.click()
        page.wait_for_selector("dialog[open]")
        assert "cannot be found" in page.locator("dialog").inner_text()
        assert page.locator("dialog tbody tr").count() == 2

    def test_where_they_were_moved_the_root_tells(self, stored, tmp_path):
        moved = tmp_path / "moved"
        moved.mkdir()
        for name in ("ref", "est"):
            shutil.move(tmp_path / name, moved / name)
        assert write_page(stored, tmp_path / "p.html").tracks == 0
        assert write_page(stored, tmp_path / "p.html", root=moved).tracks == 6
        gone = write_page(stored, tmp_path / "p.html", root=tmp_path / "nowhere")
        assert gone.notes == ("The folder of the annotations is gone; name the one where they are now with --root.",)

    def test_a_store_without_a_pipeline_has_none(self, tmp_path):
        report = write_page(write_store(tmp_path / "s.zarr", {"chord": random_group(2, 3, 1)}), tmp_path / "p.html")
        assert report.notes == ("The store does not say which pipeline made it.",)

    def test_a_file_that_broke_since_is_noted_and_nothing_else_suffers(self, stored, tmp_path):
        (tmp_path / "est" / "ada" / "t00.lab").write_bytes(b"\xff\xfe\x00")
        write_page(stored, tmp_path / "p.html")
        contents = contents_of(tmp_path / "p.html")
        track = json.loads(block_of(tmp_path / "p.html", dict(contents["timelines"])["t00"]))
        (_, noted), *_ = track["evaluations"]
        assert isinstance(noted["estimates"][0], str)
        assert noted["evidence"][0][0] == []
        assert noted["evidence"][0][1][0] is not None


class TestSize:
    def test_a_track_that_is_too_large_is_left_out_and_the_others_are_not(self, stored, tmp_path, monkeypatch):
        rng = np.random.default_rng(1)
        for side in ("ref", "est/ada", "est/bob"):
            write_lab(tmp_path / side / "t01.lab", rng, segments=2_000)
        whole = write_page(stored, tmp_path / "whole.html", timelines="all")
        monkeypatch.setattr("mirflow.reports.page.BYTES", 10_000)
        report = write_page(stored, tmp_path / "p.html")
        assert (whole.tracks, report.tracks) == (6, 5)
        assert report.notes[-1] == "The timeline of 1 more track would make the page larger than it should be."
        places = dict(contents_of(tmp_path / "p.html")["timelines"])
        assert set(places) == {"t00", "t02", "t03", "t04", "t05"}
        assert all(json.loads(block_of(tmp_path / "p.html", place))["annotations"] for place in places.values())
        assert whole.size - report.size > 10_000


class TestCommand:
    def test_it_says_what_it_wrote(self, stored, tmp_path):
        path = tmp_path / "page.html"
        result = invoke("report", stored, "-o", path)
        assert re.fullmatch(
            rf"{re.escape(str(path))} written: 0\.\d MB, 6 tracks with a timeline \(\d+\.\d s\)\n", result.stderr
        )

    def test_options_reach_the_page(self, stored, tmp_path):
        path = tmp_path / "page.html"
        options = ["--timelines", "2", "-m", "root", "--title", "Autumn", "--root", str(tmp_path)]
        printed("report", stored, "-o", path, *options)
        contents = contents_of(path)
        assert contents["title"] == "Autumn"
        assert len(contents["timelines"]) == 2
        assert "2 of 6 tracks" in contents["evaluations"][0]["timeline"]["note"]


class TestSomeTracks:
    """A page about the tracks for which an expression holds."""

    @pytest.fixture
    def campaign(self, tmp_path: Path) -> Path:
        about = {"genre": ["Rock", "Pop", "Rock", "Pop", "Rock", "Pop"]}
        chords = random_group(3, 6, 2, seed=1, track_meta=about)
        return write_store(tmp_path / "c.zarr", {"chord": chords, "key": random_group(3, 6, 2, seed=2)})

    def test_has_these_alone_and_says_so(self, campaign, tmp_path, visit):
        made = write_page(campaign, tmp_path / "p.html", where="genre == 'Rock'")
        contents = contents_of(tmp_path / "p.html")
        (chord,) = contents["evaluations"]
        assert chord["tracks"] == ["t0", "t2", "t4"]
        assert contents["where"] == "genre == 'Rock'"
        (note,) = made.notes[:1]
        assert note.startswith("key: left out: ")
        page = visit(tmp_path / "p.html")
        assert "only tracks where genre == 'Rock'" in page.inner_text("#head")
        assert "3 tracks" in page.inner_text("#controls")
        assert "where genre == 'Rock'" in page.inner_text("#provenance")
        assert "where genre == 'Rock'" in page.title()

    def test_values_are_those_of_a_query(self, campaign, tmp_path, visit):
        write_page(campaign, tmp_path / "p.html", where="genre == 'Rock'")
        with xr.open_datatree(campaign, engine="zarr", chunks=None) as tree:
            asked = tree.mirflow.query("majmin", group="chord", where="genre == 'Rock'")
        shown = values_in(visit(tmp_path / "p.html"))
        names = asked["system"].values.tolist()
        assert {name: shown[name][0] for name in names} == {
            name: pytest.approx(asked["value"].sel(system=name).item(), rel=1e-12) for name in names
        }

    def test_of_tracks_that_are_not_there_is_refused(self, campaign, tmp_path):
        for where, message in [
            ("genre == 'Jazz'", "no track"),
            ("gener == 'Rock'", "did you mean 'genre'"),
            ("genre ==", "not an expression"),
        ]:
            with pytest.raises((QueryError, UnknownNameError), match=message):
                write_page(campaign, tmp_path / "p.html", where=where)
        assert not (tmp_path / "p.html").exists()

    @pytest.mark.slow
    def test_is_made_on_the_command_line(self, campaign, tmp_path):
        printed("report", campaign, "-o", tmp_path / "p.html", "--where", "genre == 'Pop'")
        assert len(contents_of(tmp_path / "p.html")["evaluations"][0]["tracks"]) == 3
