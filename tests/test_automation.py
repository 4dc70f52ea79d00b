"""What others run: completion in a shell, the pre-commit hook, and the workflow and the image of the documentation."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import mirflow

from .datasets import write_dataset
from .documentation import ROOT, blocks, run
from .waiting import PATIENCE

FILES = {block.file: yaml.safe_load(block.body) for block in blocks(ROOT / "docs/cli.md") if block.file}


def complete(words: str, place: int) -> list[str]:
    """The completions of the word at a place."""
    environment = {**os.environ, "_MIRFLOW_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(place)}
    command = [sys.executable, "-m", "mirflow"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE)
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell: str) -> None:
    environment = {**os.environ, "_MIRFLOW_COMPLETE": f"{shell}_source"}
    command = [sys.executable, "-m", "mirflow"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert f"_MIRFLOW_COMPLETE={shell}_complete" in done.stdout


def test_commands_options_and_choices_are_completed() -> None:
    assert {"run", "query", "report", "demo", "init", "cite"} <= set(complete("mirflow ", 1))
    assert complete("mirflow query --ag", 2) == ["--aggregate"]
    assert "wcsr" in complete("mirflow query x.zarr --aggregate ", 4)


def test_names_in_the_store_of_the_line_are_completed(tmp_path: Path) -> None:
    mirflow.run(write_dataset(tmp_path, tracks=1), scheduler="serial")
    line = f"mirflow query {tmp_path / 'store.zarr'} "
    assert complete(f"{line}-g ", 4) == ["chord"]
    assert complete(f"{line}--group chord --system a", 6) == ["ada"]
    assert {"majmin", "majmin_inv"} <= set(complete(f"{line}-m majmin", 4))
    assert not any(complete(f"mirflow query {tmp_path} -m ", 4))


def test_the_hook_takes_files_of_the_formats_that_are_checked() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["id"] == FILES[".pre-commit-config.yaml"]["repos"][0]["hooks"][0]["id"]
    assert hook["entry"].split()[0] == "mirflow"
    assert all(re.search(hook["files"], name) for name in ("a/b.lab", "b.jams", "c.mid", "d.key", "e.svl"))
    assert not re.search(hook["files"], "README.md")


@pytest.mark.slow
def test_the_steps_of_the_workflow_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "pipelines/tunes/reference", tmp_path / "reference")
    shutil.copytree(ROOT / "pipelines/tunes/estimates/oak", tmp_path / "estimates/oak")
    assert run(f"mirflow init {tmp_path}")[1] == 0
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    steps = FILES[".github/workflows/scores.yml"]["jobs"]["scores"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert commands[0] == "pip install mirflow"
    for command in commands[1:]:
        printed, code = run(command)
        assert code == 0, f"{command}\n{printed}"
    assert "| oak |" in (tmp_path / "summary.md").read_text()
    assert (tmp_path / "report.html").exists()


def test_the_image_gets_all_that_the_wheel_is_made_of() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    kept = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    project = (ROOT / "pyproject.toml").read_text()
    forced = re.findall(r'^"(\S+)" = "mirflow/', project, re.MULTILINE)
    assert {"mirflow", "pyproject.toml", "README.md", "LICENSE", *forced} <= kept
    assert all((ROOT / name).exists() for name in kept)
    assert not fnmatch.filter(kept, "tests*")
