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


def test_a_folder_with_files_is_left_alone(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    result = invoke("demo", ".")
    assert result.exit_code == 2
    assert "is not empty" in result.stderr
    assert [one.name for one in folder.iterdir()] == ["notes.txt"]
