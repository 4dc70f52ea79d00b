"""The bundled example: written into a folder, scored, and ready for the commands that are printed."""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mirflow

from ..commands import invoke

PIPELINES = Path(__file__).parents[2] / "pipelines"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The folder that the command has written, and what it printed. No test may change it."""
    folder = tmp_path_factory.mktemp("example")
    with contextlib.chdir(folder):  # the working directory may have a store of the example already
        return folder / "mirflow-demo", invoke("demo", code=0)


@pytest.fixture(scope="module")
def store(example: tuple[Path, Any]) -> Path:
    """The scores of the example."""
    return example[0] / "stores/demo.zarr"


def test_the_example_is_written_and_scored_and_the_printed_commands_run(
    example: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, result = example
    assert "chord: task chord" in result.stdout
    monkeypatch.chdir(folder)
    commands = re.findall(r"^  mirflow (.*?)(?:   .*)?$", result.stderr.partition("Next")[2], re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["compare", "diagnose", "consensus", "report"]
    readme = (PIPELINES.with_name("README.md")).read_text()
    assert set(re.findall(r"^mirflow (.*)$", readme.partition("\n## ")[0], re.MULTILINE)[-3:]) <= set(commands)
    for command in commands:
        invoke(*shlex.split(command), code=0)
    assert Path("report.html").exists()
    assert "nothing to do" in invoke("run", "demo.yaml").stderr


def test_one_line_says_that_files_are_missing_and_empty_on_purpose(example: tuple[Path, Any]) -> None:
    assert example[1].stderr.count("missing and one is empty on purpose") == 1
    assert not re.search("has no estimate|mirflow problems", example[1].stderr)


def test_the_causes_that_are_found_are_those_planted(store: Path) -> None:
    beats, chords = mirflow.diagnose(store, group="beat"), mirflow.diagnose(store, group="chord")
    rows = [row for ds in (beats, chords) for row in ds.to_dataframe().itertuples()]
    assert sorted((row.system, row.track, row.side, row.cause, round(row.amount, 1)) for row in rows) == [
        ("ash", "water-is-wide", "estimate", "transposition", 1.0),
        ("fir", "skye-boat-song", "estimate", "displacement", -1.0),
        ("fir", "star-of-the-county-down", "estimate", "displacement", -1.0),
        ("yew", "*", "estimate", "metrical_level", 2.0),
    ]


def test_the_example_has_ties_ranks_a_wrong_reference_and_cells_without_score(store: Path) -> None:
    pairs = mirflow.compare(store, "majmin", group="chord").to_dataframe().query("system == 'oak'")
    assert set(pairs.other[pairs.p_corrected > 0.05]) == {"elm", "fir"}
    (place,) = mirflow.consensus(store, group="chord")
    assert (place.track, place.reference, place.consensus) == ("clementine", "A:min", "C:maj")
    lines = invoke("problems", store, "--format", "csv", code=0).stdout.splitlines()
    assert [line.split(",")[1:4] for line in lines[1:]] == [
        ["bay", "early-one-morning", "empty_estimate"], ["bay", "motherless-child", "missing_estimate"]
    ]  # fmt: skip


def test_the_data_are_what_the_script_writes_and_are_small(tmp_path: Path) -> None:
    subprocess.run([sys.executable, PIPELINES / "make_demo.py", tmp_path], check=True)
    written = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    folder = PIPELINES / "demo"
    assert written == {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert sum(map(len, written.values())) < 600_000


def test_a_folder_with_files_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    result = invoke("demo", ".")
    assert result.exit_code == 2
    assert "is not empty" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
