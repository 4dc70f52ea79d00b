"""What a release needs agrees with itself, and its steps work in a clone."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from mirflow.metrics.base import tasks

ROOT = Path(__file__).parents[1]
HOME = "https://example.org/mirflow"


def release(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(folder / ".ci" / "release.py"), *words], capture_output=True, text=True, cwd=folder
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files that a release reads, in a repository of their own."""
    for name in ("pyproject.toml", "CITATION.cff", ".zenodo.json", "CHANGELOG.md", "SECURITY.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in (".ci", "recipe", ".github"):
        shutil.copytree(ROOT / name, tmp_path / name)
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
    left = [path.name for path in files if HOME in path.read_text() or "security@example.org" in path.read_text()]
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


def test_the_recipe_has_the_lower_bounds_of_the_package() -> None:
    text = re.sub(r"\{%.*?%\}\n|\{\{.*?\}\}", "", (ROOT / "recipe" / "meta.yaml").read_text())
    listed = yaml.safe_load(text)["requirements"]["run"]
    elsewhere = {"msgspec-python": "msgspec", "pysoundfile": "soundfile"}
    found = {elsewhere.get(name, name): bound for name, bound in (one.split(" ") for one in listed)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = dict(re.fullmatch(r"([a-z]+)(?:\[.*\])?(>=\S+)", one).groups() for one in project["dependencies"])
    assert found == {"python": project["requires-python"], **needed}


def test_files_about_the_project_agree() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    zenodo = json.loads((ROOT / ".zenodo.json").read_text())
    assert zenodo["title"] == citation["title"]
    assert zenodo["description"] == citation["abstract"]
    assert zenodo["license"] == citation["license"]
    assert [one["name"] for one in zenodo["creators"]] == [one["name"] for one in citation["authors"]]


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
    assert counts == {len(tasks())}
    shares = set(re.findall(r"\d+ of \d+", text)) & set(re.findall(r"\d{3} of \d{3}", text))
    assert shares >= {"137 of 140", "207 of 240"}
    assert shares <= set(re.findall(r"\d+ of \d+", table_of_agreement()))


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.stem)
def test_actions_of_workflows_are_pinned_to_a_commit(workflow: Path) -> None:
    used = re.findall(r"uses: (\S+)", workflow.read_text(encoding="utf-8"))
    assert used
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) for action in used)
