"""Estimates whose times are in milliseconds: scored like all others, and told in every door."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import mirflow
from mirflow.evaluation.linter import check_paths
from mirflow.reports.page import write_page

from ..commands import invoke
from ..reports.page.reading import block_of, contents_of

BEATS = np.arange(1, 240) * 0.5
LATE = "E/ms/long.txt: 239 items in 23800 s, one every 100 s: are the times in ms"


def write(path: Path, times: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{time:.10g}\n" for time in times))


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Beats of two systems, one of which has milliseconds in two tracks."""
    monkeypatch.chdir(tmp_path)
    for track in ("long", "other", "fine"):
        write(tmp_path / "R" / f"{track}.txt", BEATS)
        for system in ("ms", "good"):
            write(tmp_path / "E" / system / f"{track}.txt", BEATS + 0.01)
    for track in ("long", "other"):
        write(tmp_path / "E/ms" / f"{track}.txt", BEATS * 200)
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
    assert f"  beat: 2 cells: with a score: such as {LATE}" in result.stderr
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
        assert cell.message.item().startswith(f"warning (estimate): {LATE}")
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
    noted = invoke("check", "E/ms", "--task", "beat", "--reference", "R")
    assert noted.exit_code == 0
    assert f"E/ms/long.txt: warning: {LATE.removeprefix('E/ms/long.txt: ')}" in noted.stdout
    assert "[time_unit]" in noted.stdout
    assert noted.stderr == "3 files: 0 errors, 2 warnings, 0 notes\n"
    assert "a reference needs a task" in invoke("check", "E/ms", "--reference", "R").stderr


def test_check_keeps_what_else_is_wrong_with_the_file(pipeline: Path) -> None:
    write(Path("E/ms/long.txt"), np.append(BEATS * 200, 5.0))
    (found,) = check_paths(["E/ms/long.txt"], "beat", reference="R/long.txt")
    assert [one.rule for one in found.problems] == ["time_unit", "unsorted"]


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
