"""What a release needs agrees with itself, and its steps work in a clone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from .commands import listed_tasks

ROOT = Path(__file__).parents[1]
RELEASE = (ROOT / ".ci" / "release.py").read_text(encoding="utf-8")
HOME, MAIL = re.search(r'^HOME, MAIL = "(\S+)", "(\S+)"$', RELEASE, re.MULTILINE).groups()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def release(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(folder / ".ci" / "release.py"), *words], capture_output=True, text=True, cwd=folder
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files that a release reads, in a repository of their own, with placeholders for addresses."""
    for name in ("pyproject.toml", "CITATION.cff", ".zenodo.json", "CHANGELOG.md", "SECURITY.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in (".ci", "recipe", ".github"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (mail,) = re.findall(r"Write to (\S+@\S+),", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    for path in (path for path in tmp_path.rglob("*") if path.is_file() and path.name != "release.py"):
        text = path.read_text(encoding="utf-8").replace(PROJECT["urls"]["Source"], HOME).replace(mail, MAIL)
        path.write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    return tmp_path


def date(clone: Path) -> None:
    changelog = clone / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## Unreleased", "## 0.1.0 (2027-01-31)"))


def test_one_command_says_where_the_project_lives(clone: Path) -> None:
    done = release(clone, "fill", "https://forge.example/lab/mirflow", "safe@forge.example")
    assert done.returncode == 0, done.stderr
    assert "pyproject.toml" in done.stdout.split()
    files = [path for path in clone.rglob("*") if path.is_file() and ".git" not in path.parts[len(clone.parts) :][:1]]
    left = [path.name for path in files if HOME in path.read_text() or MAIL in path.read_text()]
    assert left == ["release.py"], "the placeholders are left where they are declared, and nowhere else"
    urls = tomllib.loads((clone / "pyproject.toml").read_text())["project"]["urls"]
    assert urls["Source"] == "https://forge.example/lab/mirflow"


@pytest.mark.parametrize("words", [("forge.example", "a@b"), ("https://forge.example/x", "nobody")])
def test_what_is_no_address_is_refused(clone: Path, words: tuple[str, str]) -> None:
    done = release(clone, "fill", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("expected a URL and a mail address: ")


def test_a_tag_is_compared_with_every_file_that_has_the_version(clone: Path) -> None:
    done = release(clone, "check", "v0.1.0")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "CHANGELOG.md: has no version, not 0.1.0",
        f"pyproject.toml: has the placeholder {HOME}; `python .ci/release.py fill URL MAIL` replaces it",
    ]
    date(clone)
    release(clone, "fill", "https://forge.example/lab/mirflow", "safe@forge.example")
    assert release(clone, "check", "v0.1.0").returncode == 0
    later = release(clone, "check", "v0.2.0")
    assert later.returncode == 1
    names = ["pyproject.toml", "CITATION.cff", "recipe/meta.yaml", ".zenodo.json", "CHANGELOG.md"]
    assert later.stderr.splitlines() == [f"{name}: has 0.1.0, not 0.2.0" for name in names]


def test_the_notes_of_a_version_are_short(clone: Path) -> None:
    assert release(clone, "notes", "v0.1.0").stderr == "CHANGELOG.md: has no notes of v0.1.0\n"
    date(clone)
    notes = release(clone, "notes", "v0.1.0").stdout
    assert notes.startswith("The first version of mirflow.")
    assert len(notes.splitlines()) <= 20


@pytest.fixture(scope="module")
def recipe() -> dict[str, Any]:
    """The recipe for conda, without the parts that a template fills."""
    text = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(re.sub(r"\{%.*?%\}\n|\{\{.*?\}\}", "", text))
    return found


def test_the_recipe_is_that_of_the_package(recipe: dict[str, Any]) -> None:
    elsewhere = {"msgspec-python": "msgspec", "pysoundfile": "soundfile"}
    listed = (one.split(" ") for one in recipe["requirements"]["run"])
    found = {elsewhere.get(name, name): bound for name, bound in listed}
    needed = dict(re.fullmatch(r"([a-z]+)(?:\[.*\])?(>=\S+)", one).groups() for one in PROJECT["dependencies"])
    assert found == {"python": PROJECT["requires-python"], **needed}
    assert recipe["build"]["entry_points"] == [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    (builder,) = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert builder.replace(">=", " >=") in recipe["requirements"]["host"]
    smoke = re.search(r"for words in (\(.*?\)):\n", RELEASE)[1]
    assert all(f'"{command.removeprefix("mirflow ")}"' in smoke for command in recipe["test"]["commands"])


def test_files_about_the_project_agree(recipe: dict[str, Any]) -> None:
    """What pyproject.toml says first, the files for citations, archives, conda and the paper repeat."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    zenodo = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    paper = yaml.safe_load((ROOT / "paper" / "paper.md").read_text(encoding="utf-8").split("---\n")[1])
    description, (author,) = PROJECT["description"], (one["name"] for one in PROJECT["authors"])
    assert {citation["abstract"], zenodo["description"], recipe["about"]["summary"]} == {description}
    assert {citation["license"], zenodo["license"], recipe["about"]["license"]} == {PROJECT["license"]}
    for people in (citation["authors"], zenodo["creators"], paper["authors"]):
        assert [one["name"] for one in people] == [author]
    assert {str(citation["version"]), zenodo["version"]} == {PROJECT["version"]}
    assert {title.lower() for title in (zenodo["title"], citation["title"], paper["title"])} == {paper["title"].lower()}
    assert zenodo["keywords"] == citation["keywords"]
    assert set(citation["keywords"]) <= set(PROJECT["keywords"])
    assert {citation["url"], citation["repository-code"], recipe["about"]["home"]} == {PROJECT["urls"]["Source"]}
    assert f"{citation['date-released']:%-d %B %Y}" == paper["date"]


def test_workflows_run_what_is_there() -> None:
    workflows = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").glob("*.yml")}
    assert sorted(workflows) == ["docs", "release", "tests"]
    steps = [step for one in workflows.values() for job in one["jobs"].values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    called = {name for one in commands for name in re.findall(r"\.ci/\S+", one)}
    assert called == {".ci/run", ".ci/release.py"}
    assert all((ROOT / name).is_file() for name in called)
    known = set(re.findall(r'add_parser\(\s*"(\w+)"', (ROOT / ".ci" / "release.py").read_text()))
    assert {found[1] for one in commands if (found := re.search(r"release\.py (\w+)", one))} <= known
    assert not [step for step in steps if "secrets." in str(step)], "publishing needs no password"


def test_forms_for_issues_are_complete() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text())
        if path.stem == "config":
            continue
        assert set(form) == {"name", "description", "labels", "body"}
        questions = [one for one in form["body"] if one["type"] != "markdown"]
        assert all(one["attributes"]["label"] for one in questions)
        assert len({one["id"] for one in questions}) == len(questions)


def test_the_paper_cites_what_it_lists() -> None:
    text = (ROOT / "paper" / "paper.md").read_text()
    listed = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(), re.MULTILINE)
    assert sorted(set(re.findall(r"@(\w+)", text.partition("# Summary")[2]))) == sorted(listed)
    pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", text)
    assert all((ROOT / "paper" / picture).is_file() for picture in pictures)
    assert pictures


def table_of_agreement() -> str:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return readme[readme.index("## Agreement with published scores") : readme.index("## Speed")]


@pytest.mark.parametrize("page", ["paper/paper.md", "CHANGELOG.md"])
def test_numbers_of_tasks_and_of_reproduced_scores_are_those_of_the_package_and_the_readme(page: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    counts = {int(count) for count in re.findall(r"(\d+) tasks (?:of music|with all)", text)}
    assert counts == {len(listed_tasks())}
    shares = set(re.findall(r"\d+ of \d+", text)) & set(re.findall(r"\d{3} of \d{3}", text))
    assert shares >= {"137 of 140", "207 of 240"}
    assert shares <= set(re.findall(r"\d+ of \d+", table_of_agreement()))


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.stem)
def test_actions_of_workflows_are_pinned_to_a_commit(workflow: Path) -> None:
    used = re.findall(r"uses: (\S+)", workflow.read_text(encoding="utf-8"))
    assert used
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) for action in used)
