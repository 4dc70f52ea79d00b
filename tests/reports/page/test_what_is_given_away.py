"""Pages about test sets that are not public: what stands in the file, compressed parts included."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import mirflow
from mirflow.errors import MirflowWarning
from mirflow.reports.page import write_page
from mirflow.reports.page.live import LivePage
from mirflow.store.read import read_scores
from tests.datasets import score_files, write_dataset, write_hidden, write_lab

from ...commands import printed
from .reading import block_of, contents_of, values_in

LABEL, BROKEN = "Gb:minmaj7", "SECRET"


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    return write_hidden(tmp_path, LABEL, BROKEN)


def everything(page: Path) -> str:
    """What stands in a page, its compressed parts unpacked."""
    blocks = re.findall(r'id="block-(\d+)"', page.read_text())
    parts = [block_of(page, int(number)).decode("latin-1") for number in blocks]
    return "\n".join([json.dumps(contents_of(page)), *parts])


class TestWithoutReferences:
    def test_no_reference_annotation_is_in_the_file(self, hidden, tmp_path):
        whole, page = tmp_path / "whole.html", tmp_path / "p.html"
        write_page(hidden, whole)
        assert all(secret in everything(whole) for secret in (LABEL, BROKEN))
        printed("report", hidden, "-o", page, "--without-references")
        assert not any(secret in everything(page) for secret in (LABEL, BROKEN))
        for name, number in contents_of(page)["timelines"]:
            track = json.loads(block_of(page, number))
            (_, noted), *_ = track["evaluations"]
            assert (noted["references"], noted["evidence"]) == ([], [])
            assert len(track["annotations"]) == 2, name

    def test_estimates_are_shown_and_played_with_the_reason_that_nothing_is_judged(self, hidden, tmp_path, visit):
        write_page(hidden, tmp_path / "p.html", references=False)
        page = visit(tmp_path / "p.html")
        page.locator("#tracks button.link").first.click()
        page.wait_for_selector("dialog[open]")
        assert sorted(page.locator("dialog .lanename b").all_inner_texts()) == ["ada", "bob"]
        assert "nothing is judged, as this page was written without references" in page.locator(".marks").inner_text()
        page.locator("dialog button.play").click()
        assert page.locator("dialog button.play").inner_text() == "Stop"

    def test_annotators_who_are_scored_against_each_other_are_references_too(self, tmp_path):
        rng = np.random.default_rng(2)
        for name in ("ann", "ben"):
            write_lab(tmp_path / "by" / name / "t.lab", rng)
        people = {"path": "by/{annotator}/{track}.lab", "combine": "each"}
        write_page(
            score_files(tmp_path, "chord", people, "by/{system}/{track}.lab"), tmp_path / "p.html", references=False
        )
        contents = contents_of(tmp_path / "p.html")
        track = json.loads(block_of(tmp_path / "p.html", contents["timelines"][0][1]))
        (_, noted), *_ = track["evaluations"]
        assert noted["estimates"] == ["left out: it is a reference"] * 2
        assert track["annotations"] == []

    @pytest.mark.filterwarnings("ignore::mirflow.errors.MirflowWarning")
    def test_warnings_that_quote_true_labels_say_that_they_are_left_out(self, tmp_path):
        (tmp_path / "gt.txt").write_text("a jazz\nb jazz\n")
        (tmp_path / "est.txt").write_text("a Jazz\nb Jazz\n")
        with pytest.warns(MirflowWarning, match="the reference has 'jazz'"):
            store = score_files(tmp_path, "classification", "gt.txt", "{system}.txt", systems=["est"])
        write_page(store, tmp_path / "whole.html", timelines="none")
        write_page(store, tmp_path / "p.html", timelines="none", references=False)
        assert "the reference has 'jazz'" in everything(tmp_path / "whole.html")
        (warning,) = contents_of(tmp_path / "p.html")["evaluations"][0]["warnings"]
        assert warning.startswith("there is a warning about system 'est'")
        assert "the reference has" not in everything(tmp_path / "p.html")


class TestOnlyAggregates:
    def test_nothing_about_a_single_track_is_in_the_file(self, hidden, tmp_path):
        whole, page = tmp_path / "whole.html", tmp_path / "p.html"
        write_page(hidden, whole)
        printed("report", hidden, "-o", page, "--only-aggregates")
        secrets = (LABEL, BROKEN, "t00", "t01", "t02", ".lab", str(tmp_path), "estimates:")
        assert all(secret in everything(whole) for secret in secrets if secret != LABEL)
        assert [secret for secret in secrets if secret in everything(page)] == []
        (one,) = contents_of(page)["evaluations"]
        assert (one["tracks"], one["trackCoords"], one["groupings"], one["duration"]) == ([], [], [], None)
        assert not any({"score", "weight", "flags", "statistics"} & set(metric) for metric in one["metrics"])
        assert contents_of(page)["timelines"] == []

    def test_no_number_in_it_is_the_score_weight_or_duration_of_a_track(self, hidden, tmp_path):
        write_page(hidden, tmp_path / "p.html", only_aggregates=True)
        (ds,) = read_scores(hidden).values()
        single = {*ds["score"].values.ravel().tolist(), *ds["weight"].values.ravel().tolist()}
        # What every number of tracks may be by chance.
        single -= {float(number) for number in range(4)}
        (one,) = contents_of(tmp_path / "p.html")["evaluations"]
        blocks = [block_of(tmp_path / "p.html", metric["values"]) for metric in one["metrics"]]
        numbers = [np.frombuffer(np.frombuffer(data, np.uint8).reshape(8, -1).T.tobytes(), "<f8") for data in blocks]
        kinds = [metric["aggregates"] for metric in one["metrics"]]
        means = [data.reshape(-1, 2)[3 + names.index("mean")] for data, names in zip(numbers, kinds, strict=True)]
        assert len(means) == ds.sizes["metric"]
        assert not single & set(np.concatenate(means).tolist())

    def test_one_policy_is_there_as_two_would_differ_by_single_tracks(self, hidden, tmp_path):
        write_page(hidden, tmp_path / "p.html", only_aggregates=True)
        (one,) = contents_of(tmp_path / "p.html")["evaluations"]
        assert {tuple(metric["policies"]) for metric in one["metrics"]} == {("common",)}

    def test_its_table_is_that_of_the_whole_page(self, hidden, tmp_path, visit):
        write_page(hidden, tmp_path / "whole.html")
        write_page(hidden, tmp_path / "p.html", only_aggregates=True)
        page = visit(tmp_path / "p.html")
        whole = values_in(visit(tmp_path / "whole.html"))
        shown = values_in(page)
        assert shown.keys() == whole.keys()
        for system, values in whole.items():
            assert shown[system] == pytest.approx(values, rel=1e-12)
        assert page.locator("section").evaluate_all("all => all.map((one) => one.id)") == [
            "leaderboard",
            "coverage",
            "provenance",
        ]
        assert "3 tracks" in page.inner_text("#controls")
        assert "2 of 6 cells" in page.inner_text("#coverage")

    def test_intervals_and_letters_stay(self, tmp_path, visit):
        mirflow.run(write_dataset(tmp_path, tracks=12))
        write_page(tmp_path / "store.zarr", tmp_path / "p.html", only_aggregates=True)
        page = visit(tmp_path / "p.html")
        assert page.locator("#leaderboard td.interval").count() == 2
        page.select_option("#controls select[name=aggregate]", "median")
        page.wait_for_function("() => document.querySelector('#leaderboard').textContent.includes('median')")
        assert page.locator("#leaderboard td.strong").count() == 2

    @pytest.mark.slow
    def test_of_a_live_page_the_same_holds(self, hidden):
        page = LivePage(hidden, "g", only_aggregates=True)
        assert not any(secret in page.contents().decode() for secret in (LABEL, BROKEN, "t00", ".lab", "estimates:"))
        for what in ("0/0/score", "0/0/weight", "0/0/flags", "0/0/median", "0/duration"):
            assert page.block(f"g/{what}") is None
        assert page.block("g/0/0/values") is not None
        assert page.timeline("t00", audio="/audio/1") is None
