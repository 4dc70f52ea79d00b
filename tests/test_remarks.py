"""What a file holds beside its annotation is told at each door, once."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirflow
from mirflow.cli.output import lines_of_checks
from mirflow.errors import MirflowWarning
from mirflow.evaluation.linter import FileCheck, FileProblem
from mirflow.store.cells import read_message
from tests.commands import invoke

TOLD = "the column 'mood' is not read"
TIMES = np.arange(6.0, 12.0, 0.5)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for path in ("refs/a.csv", "refs/b.csv", "est/s/a.csv", "est/s/b.csv"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"{time},1,0.5\n" for time in TIMES) if path.startswith("refs") else "\n".join(map(str, TIMES))
        Path(path).write_text(f"time,beat,mood\n{rows}" if path.startswith("refs") else f"time\n{rows}")
    Path("p.yaml").write_text(
        "evaluations: [{task: beat, reference: 'refs/{track}.csv', estimates: 'est/{system}/{track}.csv'}]\n"
        "store: s.zarr\n"
    )
    return tmp_path


def accumulate() -> None:
    running = mirflow.Accumulator("beat", metrics=["f_measure"])
    for _ in range(3):
        running.update("refs/a.csv", "est/s/a.csv")
        running.compute()


DOORS: dict[str, Callable[[], Any]] = {
    "load": lambda: mirflow.load("refs/a.csv", "beat"),
    "load_collection": lambda: mirflow.load_collection("refs/{track}.csv", "beat"),
    "lazy collection": lambda: mirflow.load_collection("refs/{track}.csv", "beat", lazy=True).compute(),
    "collection": lambda: mirflow.collection("beat", {"a": "refs/a.csv", "b": "refs/b.csv"}),
    "evaluate": lambda: mirflow.evaluate("refs/a.csv", "est/s/a.csv", "beat"),
    "score": lambda: mirflow.score({"a": "refs/a.csv"}, {"a": "est/s/a.csv"}, "beat"),
    "Accumulator": accumulate,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.usefixtures("folder")
def test_python_warns_once_per_call(door: str) -> None:
    with pytest.warns(MirflowWarning, match=TOLD) as caught:
        DOORS[door]()
    assert len(caught) == 1


@pytest.mark.usefixtures("folder")
def test_what_was_loaded_keeps_it_and_scores_have_it() -> None:
    with pytest.warns(MirflowWarning, match=TOLD):
        loaded = mirflow.load("refs/a.csv", "beat")
    assert loaded.attrs["account"].startswith("columns")
    with pytest.warns(MirflowWarning, match=TOLD):
        scores = mirflow.evaluate(loaded, "est/s/a.csv", "beat")
    assert [(one.kind, one.side) for one in read_message(scores.message.item())] == [("note", "reference")]


@pytest.mark.usefixtures("folder")
def test_a_run_counts_files_in_a_line_and_the_store_lists_them() -> None:
    result = invoke("run", "p.yaml")
    (line,) = [line for line in result.stderr.splitlines() if "not read whole" in line]
    assert line == "  2 files not read whole: mirflow problems s.zarr"
    listed = list(csv.DictReader(io.StringIO(invoke("problems", "s.zarr", "--format", "csv").stdout)))
    assert [(row["track"], row["kind"], row["side"]) for row in listed] == [(t, "note", "reference") for t in "ab"]
    assert TOLD in listed[0]["message"]
    shown = invoke("problems", "s.zarr").stdout
    assert shown.count("mood") == 1, "one row a cause"
    assert "mood" not in invoke("query", "s.zarr").stdout


@pytest.mark.usefixtures("folder")
def test_check_prints_it_with_the_file_and_no_notes_on_references_for_folders_of_estimates() -> None:
    result = invoke("check", "refs", "est", "--task", "beat")
    assert [line for line in result.stdout.splitlines() if "mood" in line and line.startswith("refs/a.csv:")]
    assert "est/" not in result.stdout
    gap = "0.5\n1.0\n1.5\n2.0\n2.5\n4.0\n4.5\n5.0\n5.5\n6.0\n"
    for name in ("refs", "Preds"):
        Path(name).mkdir(exist_ok=True)
        Path(name, "c.txt").write_text(gap)
    told = invoke("check", "refs", "Preds", "--task", "beat").stdout.splitlines()
    assert [line.split(":")[0] for line in told if "is a beat missing" in line] == ["refs/c.txt"]


def late(lines: int, severity: Any = "error") -> tuple[FileProblem, ...]:
    return tuple(
        FileProblem(severity, "value", f"time is later than 30000 s: {30000.5 + line}", line)
        for line in range(1, lines + 1)
    )


def test_a_cause_in_a_file_is_one_line() -> None:
    other = FileProblem("warning", "empty", "the annotation is empty")
    lines = lines_of_checks([FileCheck("a.txt", (*late(38), other)), FileCheck("b.txt", late(1)), FileCheck("c.txt")])
    assert [line.partition(": ")[0] for line in lines] == ["a.txt", "a.txt:1", "b.txt:1"]
    assert lines[1].endswith("later than 30000 s: 30001.5 [value] (and 37 more lines)")


def test_a_cause_in_many_files_is_one_line_of_a_long_list() -> None:
    checks = [FileCheck(f"{number}.txt", late(2, "note")) for number in range(50)]
    assert len(lines_of_checks(checks[:40])) == 40
    (line,) = lines_of_checks(checks)
    assert line.endswith("(and 1 more line and 98 lines of 49 more files)")


class TestOptionsOfBothSides:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("r.txt").write_text("".join(f"{time}\n" for time in TIMES))
        Path("ms.txt").write_text("".join(f"{1000 * time:.0f}\n" for time in TIMES))
        Path("ms.csv").write_text("idx,beat_ms\n" + "".join(f"{n},{1000 * time}\n" for n, time in enumerate(TIMES)))

    def test_a_unit_that_one_side_has_is_doubted_with_the_option_of_that_side(self) -> None:
        words = "evaluate", "r.txt", "ms.txt", "--task", "onset", "-m", "f_measure"
        for options in ([], ["--time-unit", "ms"]):
            assert "(--estimate-time-unit ms)" in " ".join(invoke(*words, *options).stderr.split())
        assert "1.0000" in invoke(*words, "--estimate-time-unit", "ms").stdout

    def test_columns_that_one_side_has_are_proposed_for_it_once_they_are_tried(self) -> None:
        words, both = ("evaluate", "r.txt", "ms.csv", "--task", "beat", "-m", "f_measure"), ["--time-unit", "ms"]
        failed = invoke(*words, "--columns", "time=beat_ms", *both)
        cure = "the estimate alone can be read so: --estimate-columns time=beat_ms, --estimate-time-unit ms"
        assert failed.stderr.splitlines()[-1] == cure
        assert "1.0000" in invoke(*words, *cure.partition(": ")[2].replace(",", "").split()).stdout
        assert "can be read so" not in invoke(*words, "--columns", "time=absent", *both).stderr


def test_evaluate_tells_what_cleaning_left_out_of_a_pair(tmp_path: Path) -> None:
    (tmp_path / "r.lab").write_text("0 1 C\n1 2 G\n")
    (tmp_path / "e.csv").write_text("start,end,chord\n0,1,C\n1,1,G\n")
    files = tmp_path / "r.lab", tmp_path / "e.csv"
    printed = invoke("evaluate", *map(str, files), "--task", "chord", "-m", "majmin").stderr
    assert "2 repairs: irregular items (mirflow check lists them), or an estimate that starts late" in " ".join(
        printed.split()
    )
