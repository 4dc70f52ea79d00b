"""What CONTRIBUTING.md says of the code is so: files, names, commands and floors that it names are there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click
import pytest

from mirflow.cli import cli

from .documentation import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROSE = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
CODE = list(dict.fromkeys(re.sub(r"\s+", " ", span) for span in re.findall(r"`([^`]+)`", PROSE)))
MODULES = sorted((ROOT / "mirflow").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PATH = re.compile(r"[\w./{},-]+(?:/|\.(?:py|md|toml|ya?ml|bib|json))")
NAME = re.compile(r"_?[A-Z][A-Za-z_]{3,}|_?[a-z]+_[a-z_]+")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXAMPLE = "leads"
"""The question that the section about questions declares."""


def test_files_and_folders_are_there() -> None:
    paths = [
        path.relative_to(ROOT).as_posix() for folder in ("mirflow", "tests") for path in (ROOT / folder).rglob("*")
    ]
    ends = {part for path in paths for part in (path, path.partition("/")[2], path.rpartition("/")[2])}
    named = [span.rstrip("/") for span in CODE if PATH.fullmatch(span)]
    assert len(named) > 80
    missing = [path for path in named if path not in ends and not (ROOT / path).exists()]
    assert [path for path in missing if not any(end.endswith(f"/{path}") for end in paths)] == []


def test_names_are_those_of_the_code() -> None:
    words = {word for path in (*MODULES, *TESTS) for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    assert [name for name in CODE if NAME.fullmatch(name) and name not in words] == []


def test_commands_are_there() -> None:
    commands = {span.split()[1] for span in CODE if re.match(r"mirflow [a-z]", span)} - {EXAMPLE}
    assert commands <= set(cli.list_commands(click.Context(cli)))


@pytest.mark.parametrize("tests", re.findall(r"pytest ((?:tests|mirflow)\S*)", PROSE))
def test_tests_that_are_to_be_run_are_there(tests: str) -> None:
    assert (ROOT / tests.rstrip("`")).exists()


def test_every_room_has_a_floor() -> None:
    house = TEXT[TEXT.index("From the top:") : TEXT.index("The core never imports")]
    package = ROOT / "mirflow"
    rooms = {f"{path.name}/" for path in package.iterdir() if (path / "__init__.py").exists()}
    modules = {path.name for path in package.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert [room for room in sorted(rooms | modules) if f"`{room}`" not in house] == []


def test_layers_of_the_linter_are_the_floors() -> None:
    house = TEXT[TEXT.index("From the top:") : TEXT.index("The core never imports")]
    floors = re.findall(r"^\d\. .*(?:\n   .*)*", house, re.MULTILINE)
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers" and len(one["layers"]) >= len(floors))
    floor_of = {
        name.rstrip("/").removesuffix(".py"): number
        for number, floor in enumerate(floors)
        for name in re.findall(r"`([\w./]+)`", floor)
    }
    numbers = [
        floor_of[part.strip(" ()").rpartition(".")[2]]
        for layer in layers
        for part in re.split(r"[|:]", layer)
        if part.strip(" ()").rpartition(".")[2] in floor_of
    ]
    assert numbers == sorted(numbers)


def test_no_file_is_longer_than_it_may_be() -> None:
    (most,) = re.findall(r"at most (\d+)\s+lines", TEXT)
    long = {path.name: text.count("\n") for path in MODULES if (text := path.read_text()).count("\n") > int(most)}
    assert long == {}


def test_extras_are_those_of_the_package() -> None:
    named = set(re.findall(r"extra `(\w+)`|'\.\[(\w+)\]'", TEXT))
    assert {one or other for one, other in named} <= set(PROJECT["project"]["optional-dependencies"])


def test_sections_that_are_linked_are_there() -> None:
    anchors = {re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-") for name in re.findall(r"^#+ (.*)$", TEXT, re.M)}
    assert set(re.findall(r"\]\(#([\w-]+)\)", TEXT)) <= anchors


def test_paths_of_examples_are_short() -> None:
    """Numbers of lines that additions took name files that are there, or that the example adds."""
    added = {"docs/taps.md", "mirflow/metrics/taps.py", "tests/golden/taps-mirflow.json", "mirflow/readers/cue.py"}
    listed = re.findall(r"^ (\S+) +\| +\d+ ", TEXT, re.MULTILINE)
    assert len(listed) > 10
    assert [name for name in listed if not (ROOT / name).exists() and name not in added] == []


def test_the_readme_has_the_command_that_is_spoken_of() -> None:
    readme = Path(ROOT / "README.md").read_text(encoding="utf-8")
    assert "## Development" in readme
    assert "<!-- command: tests -->" in readme
