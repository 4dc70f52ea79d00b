"""The bundled example: written into a folder, scored, and ready for the commands that are printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import mirflow

from ..commands import invoke


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_is_written_and_scored_and_the_printed_commands_run(monkeypatch: pytest.MonkeyPatch) -> None:
    result = invoke("demo")
    assert result.exit_code == 0
    assert "chord: task chord" in result.stdout
    assert set(mirflow.open_store("mirflow-demo/stores/demo.zarr").children) == {"chord", "chord_mirex2013"}
    monkeypatch.chdir("mirflow-demo")
    commands = re.findall(r"^  mirflow (.*)$", result.stderr.partition("Next")[2], re.MULTILINE)
    assert len(commands) == 4
    assert [invoke(*shlex.split(one)).exit_code for one in commands] == [0] * 4
    assert Path("report.html").exists()
    assert "nothing to do" in invoke("run", "demo.yaml").stderr


def test_one_line_says_that_files_are_missing_and_broken_on_purpose() -> None:
    lines = invoke("demo").stderr.splitlines()
    assert [line for line in lines if "missing, empty or broken on purpose" in line]
    assert not [
        line for line in lines if "not a chord" in line or "has no estimate" in line or "mirflow problems" in line
    ][1:]


def test_the_first_suggestion_shows_every_score_that_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    command = re.search(r"^  mirflow (query .*)$", invoke("demo").stderr, re.MULTILINE)
    assert command is not None
    monkeypatch.chdir("mirflow-demo")
    shown = invoke(*shlex.split(command[1])).stdout
    assert re.search(r"oak +auld-lang-syne +0\.\d{4} +1 +0\n", shown)  # though that of another system is broken
    assert not re.search(r" - +0 +0\n", shown)


def test_a_folder_with_files_is_left_alone(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    result = invoke("demo", ".")
    assert result.exit_code == 2
    assert "is not empty" in result.stderr
    assert [one.name for one in folder.iterdir()] == ["notes.txt"]
