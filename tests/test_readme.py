"""The README says what happens: its examples run, its outputs are what the commands print."""

from __future__ import annotations

import contextlib
import doctest
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from mirflow.cli import cli

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
OUTPUTS = re.findall(r"<!-- output: mirflow (.*?) -->\n```\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"<!-- command: (.*?) -->\n```sh\n(.*?)\n```", README)


@pytest.fixture(scope="module", autouse=True)
def fresh_checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder like a checkout, in which the demonstration was run."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "pipelines").symlink_to(ROOT / "pipelines")
    with contextlib.chdir(folder):
        assert CliRunner().invoke(cli, ["run", "pipelines/demo.yaml", "-q"]).exit_code == 0
        yield


def test_python_examples_give_what_they_show(monkeypatch: pytest.MonkeyPatch) -> None:
    results = doctest.testfile(str(ROOT / "README.md"), module_relative=False, globs={"np": np})
    assert results.attempted > 15
    assert results.failed == 0


@pytest.mark.parametrize(("command", "shown"), OUTPUTS, ids=[command.split()[0] for command, _ in OUTPUTS])
def test_outputs_are_what_the_commands_print(command: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    output = CliRunner().invoke(cli, shlex.split(command)).output
    assert shown.strip() == output.strip()


def test_the_first_screen_has_a_picture_installation_three_commands_and_data_in_memory() -> None:
    first = README[: README.index("\n## ")]
    assert len(first.splitlines()) <= 60
    parts = [
        "![",
        "<!-- command: main job -->",
        "```sh\nmirflow compare",
        "mirflow.score(references",
        "docs/tutorial.md",
    ]
    assert sorted(parts, key=first.index) == parts


def test_the_pipeline_of_the_readme_is_that_of_the_demonstration() -> None:
    body = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)[0]
    shown, shipped = yaml.safe_load(body), yaml.safe_load((ROOT / "pipelines/demo.yaml").read_text())
    assert shown["evaluations"][0].items() <= shipped["evaluations"][0].items()


def test_set_up_is_two_single_line_commands() -> None:
    names = [name for name, _ in COMMANDS]
    assert names == ["main job", "tests"]
    assert all("\n" not in command for _, command in COMMANDS)


def test_links_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\((?!http|#)([^)#]+)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_what_is_installed_first_draws_the_figures_that_the_readme_speaks_of() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    installed = re.findall(r"install -q '\.\[(\w+)\]'", dict(COMMANDS)["main job"])
    assert "mirflow plot" in README
    assert any(need.startswith("matplotlib") for extra in installed for need in extras[extra])
