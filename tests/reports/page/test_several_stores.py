"""One page about several stores: joined as a query joins them, with the files of each."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mirflow
from mirflow.cli import cli
from mirflow.errors import MirflowWarning, QueryError
from mirflow.reports.page import write_page
from tests.datasets import write_dataset
from tests.groups import random_group, write_store

from .reading import block_of, contents_of, values_in

YEARS = {"2012": ("ada", "bob"), "2013": ("cyn",)}


def campaign(folder: Path, year: str) -> None:
    """A campaign with files of its own in a folder of its own."""
    (folder / year).mkdir(parents=True)
    pipeline = write_dataset(folder / year, tracks=4, systems=YEARS[year])
    if year != "2012":
        shutil.rmtree(folder / year / "ref")
        shutil.copytree(folder / "2012" / "ref", folder / year / "ref")
        anew = folder / year / "ref" / "t01.lab"
        anew.write_text(re.sub(r"\S+\n", "C:maj\n", anew.read_text()))
        for name in ("ref", "est/cyn"):
            (folder / year / name / "t03.lab").unlink()
    pipeline.write_text(pipeline.read_text().replace(str(folder / year / "store.zarr"), str(folder / f"{year}.zarr")))
    mirflow.run(pipeline)


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaigns")
    for year in YEARS:
        campaign(folder, year)
    return folder


def stores_of(folder: Path) -> list[Path]:
    return [folder / f"{year}.zarr" for year in YEARS]


def write_both(folder: Path, output: Path, **options):
    with pytest.warns(MirflowWarning, match="1 of 3 shared tracks comes from different files in 2012 and 2013"):
        return write_page(stores_of(folder), output, **options)


@pytest.fixture(scope="module")
def both(campaigns: Path) -> Path:
    report = write_both(campaigns, campaigns / "both.html")
    assert (report.tracks, report.notes) == (4, ())
    return campaigns / "both.html"


def track_of(path: Path, name: str) -> dict:
    """What the page's first evaluation says of a track."""
    track = json.loads(block_of(path, dict(contents_of(path)["timelines"])[name]))
    return dict(track["evaluations"])[0]


def open_track(page, name):
    page.locator("#tracks button.link", has_text=name).first.click()
    page.wait_for_selector("dialog[open]")
    return page.locator("dialog")


class TestFigures:
    def test_are_those_of_a_query_of_the_stores_as_one(self, campaigns, both, visit):
        with pytest.warns(MirflowWarning):
            answer = mirflow.open_store(stores_of(campaigns)).mirflow.query("majmin")
        shown = values_in(visit(both))
        for system in ("ada", "bob", "cyn"):
            np.testing.assert_allclose(shown[system][0], answer["value"].sel(system=system).item(), atol=1e-12)

    def test_are_below_a_warning_where_references_differ(self, both, visit):
        message = visit(both).locator("#leaderboard .warning").inner_text()
        assert message.startswith(
            "References: the reference of 1 of 3 shared tracks comes from different files in 2012 and 2013 (track"
        )

    def test_cannot_count_as_0_what_no_store_has(self, both, visit):
        page = visit(both)
        assert page.locator("#controls select[name=missing] option").all_inner_texts() == ["common", "skip"]
        assert re.search(
            r"Every one of 11 cells \(.*\) that the stores hold has", page.locator("#coverage").inner_text()
        )

    def test_are_of_each_store_alone_where_no_track_is_common(self, tmp_path, visit):
        whole = random_group(4, 12, 1)
        parts = {"a": whole.isel(system=[0, 1], track=slice(0, 6)), "b": whole.isel(system=[2, 3], track=slice(6, 12))}
        paths = [write_store(tmp_path / f"{name}.zarr", {"chord": ds}) for name, ds in parts.items()]
        write_page(paths, tmp_path / "p.html")
        page = visit(tmp_path / "p.html")
        answer = mirflow.open_store(paths).mirflow.query("majmin")
        assert answer.attrs["missing"] == "skip"
        shown = values_in(page)
        for system in answer["system"].values.tolist():
            np.testing.assert_allclose(shown[system][0], answer["value"].sel(system=system).item(), atol=1e-12)
        assert page.locator("#controls select[name=missing]").input_value() == "skip"
        assert page.locator("#leaderboard td.interval").count() == 4

    def test_of_the_same_system_need_labels(self, campaigns, tmp_path):
        paths = dict.fromkeys(("x", "y"), campaigns / "2012.zarr")
        write_page(paths, tmp_path / "p.html")
        assert contents_of(tmp_path / "p.html")["evaluations"][0]["systems"] == ["x/ada", "x/bob", "y/ada", "y/bob"]


class TestTimelines:
    def test_show_the_systems_of_all_stores_from_the_files_of_each(self, both, visit):
        dialog = open_track(visit(both), "t02")
        lanes = dialog.locator(".lanename b").all_inner_texts()
        assert (lanes[0], sorted(lanes[1:])) == ("reference", ["ada", "bob", "cyn"])
        assert all(one not in dialog.inner_text() for one in ("no estimate", "its store"))

    def test_have_one_lane_for_a_reference_that_stores_have_in_common(self, both):
        noted = track_of(both, "t02")
        assert len(noted["references"]) == 1
        assert all(judged[0] is not None for judged in noted["evidence"][0])

    def test_have_a_lane_for_each_where_references_differ_which_judges_the_systems_of_its_store(self, both, visit):
        noted = track_of(both, "t01")
        assert [bool(judged) for judged in noted["evidence"][0]] == [True, True, False]
        assert [bool(judged) for judged in noted["evidence"][1]] == [False, False, True]
        dialog = open_track(visit(both), "t01")
        assert dialog.locator(".lanename b").all_inner_texts()[:2] == ["reference (2012)", "reference (2013)"]
        dialog.get_by_label("Reference, left ear").select_option(label="2013")
        assert dialog.locator(".heard b").first.inner_text() == "reference (2013)"
        assert dialog.locator(".lanename b").first.inner_text() == "reference (2013)"

    def test_have_one_lane_for_a_reference_that_one_store_reads_from_a_pack(self, tmp_path):
        (tmp_path / "files").mkdir()
        pipeline = write_dataset(tmp_path / "files", tracks=2, systems=("ada",))
        mirflow.run(pipeline)
        mirflow.pack(str(tmp_path / "files/ref/{track}.lab"), tmp_path / "files/ref.zarr", task="chord")
        text = pipeline.read_text().replace("ref/{track}.lab", "ref.zarr").replace("/store.zarr", "/packed.zarr")
        pipeline.write_text(text)
        mirflow.run(pipeline)
        stores = {"files": tmp_path / "files/store.zarr", "pack": tmp_path / "files/packed.zarr"}
        with pytest.warns(MirflowWarning, match="come from different files in files and pack"):
            write_page(stores, tmp_path / "p.html")
        noted = track_of(tmp_path / "p.html", "t00")
        assert [annotator for _, annotator in noted["references"]] == [""]
        assert all(judged[0] is not None for judged in noted["evidence"][0])

    def test_judge_each_system_by_the_classes_of_its_own_store(self, tmp_path):
        genres = {"one": ["jazz", "rock"], "more": ["jazz", "rock", "pop"]}
        for store, names in genres.items():
            (tmp_path / store).mkdir()
            (tmp_path / store / "truth.csv").write_text("track,class\nt0,rock\n")
            (tmp_path / store / f"{store}.tsv").write_text(f"t0\t{names[-1]}\n")
            evaluation = {"task": "classification", "reference": "truth.csv", "estimates": "{system}.tsv"}
            whole = {"store": str(tmp_path / f"{store}.zarr"), "evaluations": [{**evaluation, "classes": names}]}
            (tmp_path / store / "pipeline.yaml").write_text(json.dumps(whole))
            mirflow.run(tmp_path / store / "pipeline.yaml")
        write_page([tmp_path / f"{store}.zarr" for store in genres], tmp_path / "p.html")
        noted = track_of(tmp_path / "p.html", "t0")
        message = [dict(evidence["x"][0]) for (evidence,) in noted["evidence"][0]]
        assert [(one["estimate"], one["verdict"]) for one in message] == [("rock", "right"), ("pop", "wrong")]

    def test_say_of_a_system_that_its_store_does_not_have_the_track(self, both, visit):
        assert track_of(both, "t03")["estimates"][2] == "its store does not have this track"
        dialog = open_track(visit(both), "t03")
        assert dialog.locator(".lanename .value").all_inner_texts()[-1] == "its store does not have this track"

    def test_of_labelled_systems_are_of_the_files_of_their_store(self, campaigns, tmp_path):
        page = tmp_path / "p.html"
        with pytest.warns(MirflowWarning, match="in A and B"):
            write_page(dict(zip("AB", stores_of(campaigns), strict=True)), page)
        noted = track_of(page, "t01")
        assert contents_of(page)["evaluations"][0]["systems"] == ["A/ada", "A/bob", "B/cyn"]
        assert [annotator for _, annotator in noted["references"]] == ["A", "B"]
        assert noted["changed"] == []
        assert [bool(judged) for judged in noted["evidence"][1]] == [False, False, True]

    def test_name_what_has_changed_since_in_any_store(self, tmp_path):
        for year in YEARS:
            campaign(tmp_path, year)
        for path in ("2013/ref/t02.lab", "2012/est/bob/t02.lab"):
            (tmp_path / path).write_text("0.0\t9.0\tC:maj\n")
        write_both(tmp_path, tmp_path / "p.html")
        assert track_of(tmp_path / "p.html", "t02")["changed"] == [-1, 1]

    def test_say_of_which_store_the_files_are_gone_and_where_they_are_now(self, tmp_path, visit):
        for year in YEARS:
            campaign(tmp_path, year)
        shutil.move(tmp_path / "2013", tmp_path / "moved")
        report = write_both(tmp_path, tmp_path / "p.html")
        assert report.notes == (
            "2013: The folder of the annotations is gone; name the one where they are now with --root.",
        )
        assert track_of(tmp_path / "p.html", "t02")["estimates"][2] == "the annotations of its store cannot be found"
        found = write_both(tmp_path, tmp_path / "q.html", root=[tmp_path / "2012", tmp_path / "moved"])
        assert found.notes == ()
        assert isinstance(track_of(tmp_path / "q.html", "t02")["estimates"][2], int)

    def test_take_one_root_for_all_or_one_for_each(self, campaigns, tmp_path):
        with pytest.raises(QueryError, match="3 roots for 2 stores; give one for all of them, or one for each"):
            write_page(stores_of(campaigns), tmp_path / "p.html", root=[tmp_path] * 3)


class TestProvenance:
    def test_has_a_block_for_each_store(self, both, visit):
        page = visit(both)
        assert "2 stores" in page.locator("header").inner_text()
        blocks = page.locator("#provenance .store")
        assert blocks.locator("h3").all_inner_texts() == ["2012", "2013"]
        assert [text.split("\n")[1] for text in blocks.locator("dl").all_inner_texts()] == [
            "2 systems, 4 tracks",
            "1 system, 3 tracks",
        ]
        blocks.nth(1).locator("summary").click()
        assert "estimates: est/{system}/{track}.lab" in blocks.nth(1).locator("pre").inner_text()

    def test_is_that_of_the_stores_that_have_the_evaluation(self, campaigns, tmp_path):
        other = write_store(tmp_path / "beats.zarr", {"beat": random_group(1, 3, 1)})
        write_page([campaigns / "2012.zarr", other], tmp_path / "p.html")
        contents = contents_of(tmp_path / "p.html")
        assert [one["name"] for one in contents["stores"]] == ["2012", "beats"]
        assert {one["name"]: [each["store"] for each in one["stores"]] for one in contents["evaluations"]} == {
            "chord": [0],
            "beat": [1],
        }

    def test_of_one_store_in_a_list_is_that_of_the_store(self, campaigns, tmp_path):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            write_page([campaigns / "2012.zarr"], tmp_path / "list.html")
            write_page(campaigns / "2012.zarr", tmp_path / "alone.html")
        assert (tmp_path / "list.html").read_bytes() == (tmp_path / "alone.html").read_bytes()


class TestCommand:
    @pytest.mark.filterwarnings("always::mirflow.errors.MirflowWarning")
    def test_takes_several_stores_with_labels(self, campaigns, tmp_path):
        options = ["--label", "old", "--label", "new", "-o", str(tmp_path / "p.html")]
        result = CliRunner().invoke(cli, ["report", *map(str, stores_of(campaigns)), *options], catch_exceptions=False)
        assert result.exit_code == 0
        assert "1 of 3 shared tracks comes from different files in old and new" in result.stderr
        contents = contents_of(tmp_path / "p.html")
        assert (contents["name"], [one["name"] for one in contents["stores"]]) == ("old + new", ["old", "new"])

    @pytest.mark.slow
    def test_refuses_a_label_too_few(self, campaigns):
        result = CliRunner().invoke(cli, ["report", *map(str, stores_of(campaigns)), "--label", "old"])
        assert result.exit_code == 2
        assert "1 labels for 2 stores; give each store one, or none" in result.stderr
