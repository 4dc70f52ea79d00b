"""Empty estimates and references have a score that counts, and are named wherever problems are."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import mirflow

from ..commands import invoke
from ..datasets import write_dataset
from ..groups import CODES

ESTIMATE = "est/ada/t01.lab: system 'ada' has an empty estimate of track 't01'"
REFERENCE = "ref/t02.lab: track 't02' has an empty reference"


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    """Chords of two systems, one of which found nothing in a track, and a track of which nobody wrote anything down."""
    path = write_dataset(tmp_path, tracks=3)
    for name in ("est/ada/t01.lab", "ref/t02.lab"):
        (tmp_path / name).write_text("# nothing\n")
    return path


@pytest.fixture
def store(pipeline: Path) -> Path:
    return mirflow.run(pipeline, scheduler="serial").store


@pytest.mark.parametrize("options", [[], ["--quiet"]])
def test_a_run_names_one_of_each_and_ends_well(pipeline: Path, options: list[str]) -> None:
    result = invoke("run", pipeline, *options)
    assert result.exit_code == 0
    assert f"  chord: 2 cells: empty_reference, with a score: {REFERENCE}\n" in result.stderr
    assert f"  chord: 1 cell: empty_estimate, with a score: {ESTIMATE}\n" in result.stderr
    assert "all reasons: mirflow problems" in result.stderr


def test_a_run_counts_them_again_in_the_one_line_of_nothing_to_do(pipeline: Path, store: Path) -> None:
    result = invoke("run", pipeline)
    (line,) = result.stderr.splitlines()
    assert line.startswith("nothing to do: ")
    assert "store.zarr has all 6 cells (3 with an empty side: mirflow problems " in line


def test_in_python_they_are_counted_apart_from_failures(pipeline: Path) -> None:
    (done,) = mirflow.run(pipeline, scheduler="serial").evaluations
    assert (done.empty, done.failed, done.partly, done.messages) == (3, 0, 0, ())


def test_show_lists_each_with_its_file_and_says_that_every_cell_has_a_score(store: Path) -> None:
    shown = invoke("problems", store)
    assert "every cell has a score\n" in shown.stdout
    assert "scored yes: 1 of an empty estimate, 2 of an empty reference" in shown.stdout
    listed = list(csv.DictReader(io.StringIO(invoke("problems", store, "--format", "csv").stdout)))
    assert [tuple(row.values())[1:] for row in listed if row["kind"] == "reason"] == [
        ("ada", "t01", "empty_estimate", "yes", "reason", "estimate", ESTIMATE),
        ("ada", "t02", "empty_reference", "yes", "reason", "reference", REFERENCE),
        ("bob", "t02", "empty_reference", "yes", "reason", "reference", REFERENCE),
    ]


def test_beside_missing_files_they_are_distinguished(pipeline: Path) -> None:
    (pipeline.parent / "est/bob/t00.lab").unlink()
    assert invoke("run", pipeline).exit_code == 3
    shown = invoke("problems", pipeline.parent / "store.zarr")
    assert shown.stderr == ""
    rows = [line.split() for line in shown.stdout.splitlines() if line.startswith("chord") and " reason " in line]
    assert sorted((row[1], row[2], row[3]) for row in rows) == [
        ("1", "empty_estimate", "yes"),
        ("1", "missing_estimate", "no"),
        ("2", "empty_reference", "yes"),
    ]


def test_rows_for_programs_count_the_empty_estimates_among_those_that_count(store: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(invoke("query", store, "--format", "csv").stdout)))
    assert {(row["system"], row["n_empty"]) for row in rows} == {("ada", "1"), ("bob", "0")}
    for row in json.loads(invoke("query", store, "--by", "track", "--format", "json").stdout):
        assert row["n_empty"] == (row["system"] == "ada" and row["track"] == "t01")


def test_evaluating_two_folders_names_the_empty_file(pipeline: Path) -> None:
    folder = pipeline.parent
    result = invoke("evaluate", folder / "ref", folder / "est/ada", "--task", "chord", "-m", "majmin")
    assert result.exit_code == 0
    assert "ada/t01.lab: system 'ada' has an empty estimate of track 't01'" in result.stderr
    assert "t02.lab: track 't02' has an empty reference" in result.stderr


class TestEmptyAfterRepair:
    """Rows that are left out because they have no length leave as much as an empty file does."""

    @pytest.fixture
    def repaired(self, tmp_path: Path) -> Path:
        path = write_dataset(tmp_path, tracks=3)
        (tmp_path / "est/ada/t01.lab").write_text("0 0 N\n")
        (tmp_path / "ref/t02.lab").write_text("0 0 N\n")
        return path

    def test_a_run_counts_both_as_empty_and_says_what_was_left(self, repaired: Path) -> None:
        result = invoke("run", repaired)
        assert result.exit_code == 0
        left = ": nothing is left of its rows after repairs\n"
        assert f"  chord: 1 cell: empty_estimate, with a score: {ESTIMATE}{left}" in result.stderr
        assert f"  chord: 2 cells: empty_reference, with a score: {REFERENCE}{left}" in result.stderr

    def test_scores_are_those_of_empty_files(self, repaired: Path) -> None:
        found = []
        for text in ("0 0 N\n", ""):
            (repaired.parent / "est/ada/t01.lab").write_text(text)
            (repaired.parent / "ref/t02.lab").write_text(text)
            with mirflow.open_store(mirflow.run(repaired, scheduler="serial").store) as tree:
                found.append(tree["chord"].to_dataset()[["score", "weight", "status"]].load())
        assert found[0].equals(found[1])
        status = found[0].status.sel(system="ada").values.tolist()
        assert status == [CODES["ok"], CODES["empty_estimate"], CODES["empty_reference"]]

    @pytest.mark.parametrize(
        ("task", "text"), [("chord", "0 0 N\n"), ("segment", "3 3 verse\n"), ("transcription", "1 1 440\n")]
    )
    def test_check_and_evaluate_agree_that_it_is_scored_as_empty(self, tmp_path: Path, task: str, text: str) -> None:
        rows = {"chord": "0 9 C\n", "segment": "0 9 verse\n", "transcription": "1 2 440\n"}
        full, gone = tmp_path / "full.txt", tmp_path / "gone.txt"
        full.write_text(rows[task])
        gone.write_text(text)
        result = invoke("evaluate", full, gone, "--task", task)
        assert result.exit_code == 0
        assert "system 'gone' has an empty estimate of track 'full': nothing is left" in result.stderr
        checked = invoke("check", gone, "--task", task)
        assert checked.exit_code == 0
        assert "warning: nothing is left of the annotation after repairs [empty]" in checked.stdout
        assert checked.stderr == "1 file: 0 errors, 2 warnings, 0 notes\n"
