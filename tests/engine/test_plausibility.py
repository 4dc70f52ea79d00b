"""Estimates whose times are not those of their track: scored like all others, and told in every door."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.annotations.annotation import Annotation, to_ragged
from mirflow.annotations.schema import KINDS
from mirflow.annotations.spacing import extents
from mirflow.engine.plausibility import implausible
from mirflow.evaluation.linter import check_paths
from mirflow.reports.page import write_page

from ..commands import invoke
from ..reports.page.reading import block_of, contents_of

BEATS = np.arange(1, 240) * 0.5
LATE = "E/ms/long.txt: the estimate ends at 11950 s, the reference at 119.5 s: are both in seconds, and of the same"


def write(path: Path, times: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{time:.10g}\n" for time in times))


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Beats of two systems; one of them counts frames of 10 ms in one track, and another recording in the next."""
    monkeypatch.chdir(tmp_path)
    for track in ("long", "other", "fine"):
        write(tmp_path / "R" / f"{track}.txt", BEATS)
        for system in ("ms", "good"):
            write(tmp_path / "E" / system / f"{track}.txt", BEATS + 0.01)
    write(tmp_path / "E/ms/long.txt", BEATS * 100)
    write(tmp_path / "E/ms/other.txt", BEATS + 300)
    evaluation = {"task": "beat", "reference": "R/{track}.txt", "estimates": "E/{system}/{track}.txt"}
    path = tmp_path / "beats.yaml"
    path.write_text(json.dumps({"store": "beats.zarr", "evaluations": [evaluation]}))
    return path


@pytest.fixture
def store(pipeline: Path) -> Path:
    return mirflow.run(pipeline, scheduler="serial").store


def test_a_run_tells_each_kind_and_succeeds(pipeline: Path) -> None:
    result = invoke("run", pipeline)
    assert result.exit_code == 0
    assert f"  beat: 1 cell: with a score: {LATE}" in result.stderr
    assert "all of the estimate, from 300.5 to 419.5 s, is after the reference ends (119.5 s)" in result.stderr
    assert "without some metrics" not in result.stderr
    assert "all reasons: mirflow problems" in result.stderr


def test_a_run_says_it_again_when_nothing_is_computed(pipeline: Path, store: Path) -> None:
    again = mirflow.run(pipeline, scheduler="serial")
    (report,) = again.evaluations
    assert (report.counts["reused"], report.warned, report.partly, report.failed) == (6, 2, 0, 0)
    assert not again.published


def test_the_store_keeps_them_beside_scores_that_count(store: Path) -> None:
    with xr.open_zarr(store, group="beat", chunks=None) as ds:
        cell = ds.sel(system="ms", track="long")
        assert cell.status.item() == 1
        assert cell.message.item().startswith(f"warning (pair): {LATE}")
        assert np.isfinite(cell.score).all()
        assert (ds.sel(system="good").message == "").all()


def test_show_lists_them_as_scored(store: Path) -> None:
    shown = invoke("problems", store)
    assert "every cell has a score\nscored yes: 2 with a warning" in shown.stdout
    rows = list(csv.DictReader(io.StringIO(invoke("problems", store, "--format", "csv").stdout)))
    found = [(row["track"], row["status"], row["scored"]) for row in rows]
    assert found == [("long", "ok", "yes"), ("other", "ok", "yes")]


def test_the_report_lists_them_as_scored(store: Path, tmp_path: Path) -> None:
    write_page(store, tmp_path / "page.html")
    page = tmp_path / "page.html"
    problems = json.loads(block_of(page, contents_of(page)["evaluations"][0]["problems"]))
    assert [row[2:4] for row in problems["rows"]] == [["ok", "yes"]] * 2


@pytest.mark.parametrize("sides", [("R", "E/ms"), ("R/long.txt", "E/ms/long.txt")])
def test_evaluate_says_it_before_the_table(pipeline: Path, sides: tuple[str, str]) -> None:
    result = invoke("evaluate", *sides, "--task", "beat")
    assert result.exit_code == 0
    assert f"track 'long': warning: {LATE}" in result.stderr


def test_check_says_it_where_it_is_reported_the_reference(pipeline: Path) -> None:
    assert invoke("check", "E/ms", "--task", "beat").stdout == ""
    noted = invoke("check", "E/ms", "--task", "beat", "--reference", "R")
    assert noted.exit_code == 0
    assert f"E/ms/long.txt: warning: {LATE.removeprefix('E/ms/long.txt: ')}" in noted.stdout
    assert "[implausible]" in noted.stdout
    assert noted.stderr == "3 files, 1 track: 0 errors, 3 warnings, 0 notes\n"
    assert "a reference needs a task" in invoke("check", "E/ms", "--reference", "R").stderr


def test_check_keeps_what_else_is_wrong_with_the_file(pipeline: Path) -> None:
    write(Path("E/ms/long.txt"), np.append(BEATS * 100, 5.0))
    (found,) = check_paths(["E/ms/long.txt"], "beat", reference="R/long.txt")
    assert [one.rule for one in found.problems] == ["cause", "implausible", "unsorted"]


class TestPoorSystemsAreNotTold:
    """What merely finds little, too much or nothing right has only its score."""

    @pytest.mark.parametrize(
        "times",
        [
            BEATS[:12],  # the first tenth
            np.array([0.2]),
            np.array([5.0, 200.0]),
            np.arange(1, 1100) * 1.0,  # nine times as long
            BEATS + 100,
            np.zeros(3),
        ],
    )
    def test_with_events(self, times: np.ndarray) -> None:
        sides = (extents(KINDS["events"], to_ragged([Annotation("events", {"time": side})])) for side in (BEATS, times))
        assert implausible("events", *sides) == {}

    def test_with_an_excerpt_of_a_second_and_chords_of_a_few(self) -> None:
        assert implausible("intervals", np.array([[0.0, 1.0, 1.0]]), np.array([[0.0, 25.0, 3.0]])) == {}

    def test_with_a_few_events_before_the_first_of_the_reference(self) -> None:
        # Fewer than a quarter of 100 have only missed what came later.
        assert implausible("events", np.array([[100.0, 200.0, 100.0]]), np.array([[10.0, 50.0, 24.0]])) == {}
        assert implausible("events", np.array([[100.0, 200.0, 100.0]]), np.array([[10.0, 50.0, 25.0]])).keys() == {0}

    def test_without_times(self) -> None:
        nothing = extents(KINDS["key"], to_ragged([Annotation("key", {}, ["C major"])]))
        assert implausible("key", nothing, nothing) == {}

    def test_of_levels_are_those_of_all_their_items(self) -> None:
        columns = {"start": np.array([0.0, 1.0, 0.5]), "end": np.array([2.0, 5.0, 1.0])}
        levels = Annotation("hierarchy", columns, ["a", "b", "c"], (np.array([1, 2]),))
        rows = to_ragged([levels, replace(levels, columns={**columns, "end": np.array([2.0, np.inf, 1.0])})])
        assert extents(KINDS["hierarchy"], rows)[0].tolist() == [0.0, 5.0, 3.0]
        assert np.isnan(extents(KINDS["hierarchy"], rows)[1]).all()


class TestKinds:
    def test_chords_that_stop_in_the_first_tenth_are_reported_however_few(self) -> None:
        noted = implausible("intervals", np.array([[0.0, 300.0, 90.0]]), np.array([[0.0, 5.0, 1.0]]))
        assert noted[0].startswith("the estimate ends at 5 s, the reference at 300 s")

    def test_as_many_beats_in_the_first_tenth_are(self) -> None:
        noted = implausible("events", np.array([[0.5, 300.0, 600.0]]), np.array([[0.005, 3.0, 600.0]]))
        assert "the estimate ends at 3 s" in noted[0]

    def test_an_estimate_that_is_over_before_the_reference_begins(self) -> None:
        noted = implausible("notes", np.array([[100.0, 160.0, 90.0]]), np.array([[0.0, 60.0, 90.0]]))
        assert "from 0 to 60 s, is before the reference begins (100 s)" in noted[0]

    def test_of_several_references_all_must_be_at_odds(self, tmp_path: Path) -> None:
        for annotator, end in (("whole", 300.0), ("excerpt", 20.0)):
            write(tmp_path / "R" / f"a_{annotator}.txt", np.arange(1.0, end))
        write(tmp_path / "E/s/a.txt", np.arange(1.0, 300.0))
        reference = {"path": "R/{track}_{annotator}.txt", "combine": "mean"}
        evaluation = {"task": "beat", "reference": reference, "estimates": "E/{system}/{track}.txt"}
        pipeline = tmp_path / "p.yaml"
        pipeline.write_text(json.dumps({"store": str(tmp_path / "s.zarr"), "evaluations": [evaluation]}))
        assert mirflow.run(pipeline, scheduler="serial").evaluations[0].warned == 0
        (tmp_path / "R/a_whole.txt").unlink()
        assert mirflow.run(pipeline, scheduler="serial").evaluations[0].warned == 1


class TestLabels:
    """Names of two lists that never meet, where a metric compares them."""

    @pytest.fixture
    def drums(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        for side, names in (("R", ("kick", "snare")), ("E/numbers", ("36", "38")), ("E/poor", ("kick", "36"))):
            (tmp_path / side).mkdir(parents=True)
            rows = [f"{0.5 * beat}\t{names[beat % 2]}\n" for beat in range(12)]
            (tmp_path / side / "song.txt").write_text("".join(rows))
        return tmp_path

    def run(self, folder: Path, *metrics: str) -> dict[str, str]:
        evaluation = {"task": "onset", "reference": "R/{track}.txt", "estimates": "E/{system}/{track}.txt"}
        path = folder / "drums.yaml"
        evaluations = [{**evaluation, "metrics": list(metrics)}]
        path.write_text(json.dumps({"store": str(folder / "drums.zarr"), "evaluations": evaluations}))
        with xr.open_zarr(mirflow.run(path, scheduler="serial").store, group="onset", chunks=None) as ds:
            return {name: ds.message.sel(system=name).values.item() for name in ("numbers", "poor")}

    def test_that_never_meet_are_reported_where_classes_are_scored(self, drums: Path) -> None:
        noted = self.run(drums, "f_measure", "class_f_measure")
        assert noted["numbers"] == (
            "warning (pair): E/numbers/song.txt: 12 of 12 labels of the estimate ('36', '38') are none of the "
            "reference ('kick', 'snare'): are both of one list?"
        )
        assert noted["poor"] == ""

    def test_do_not_matter_where_only_times_are_scored(self, drums: Path) -> None:
        assert self.run(drums, "f_measure")["numbers"] == ""

    def test_are_reported_by_check(self, drums: Path) -> None:
        (found,) = check_paths([drums / "E/numbers/song.txt"], task="onset", reference=drums / "R/song.txt")
        assert "are none of the reference" in str(found)
