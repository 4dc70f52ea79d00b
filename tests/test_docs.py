"""The pages say what happens: examples run, outputs are what commands print, snippets are valid, all have a place."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from filelock import FileLock

from mirflow import plugins
from mirflow.annotations.account import RULES
from mirflow.cli import cli
from mirflow.engine.plausibility import every_doubt
from mirflow.metrics.base import get_task, tasks
from mirflow.readers.formats import FORMATS

from .documentation import ROOT, Block, blocks, check_yaml, commands, is_shown, run

DOCS = ROOT / "docs"
PAGES = sorted(
    page.relative_to(DOCS).as_posix() for page in DOCS.glob("**/*.md") if not {"_build", "tasks"} & {*page.parts}
)
ELSEWHERE = {"A campaign with a server"}
"""Sections whose commands need people between them: tests/campaign/server/test_walkthrough.py."""
EXAMPLES = [page for page in PAGES if any(block.is_example for block in blocks(DOCS / page))]
LONG = {
    "budget.md",
    "diff.md",
    "figures.md",
    "mirex.md",
    "queries.md",
    "report.md",
    "serve.md",
    "site.md",
    "store.md",
    "systems.md",
}
"""Pages that take several seconds."""
SERVED = {"campaign.md", "grading.md", "safety.md", "serve.md", "site.md"}
"""Pages whose examples need the extra ``serve``."""
_STORE = re.compile(r"stores/([\w-]+)\.zarr")
_DATA = re.compile(r"^\$ mirflow evaluate \w+/ref\d|shared/data", re.MULTILINE)

Stores = Callable[[str], Path]


BUNDLED = {"demo", "mirex-demo", "tunes"}
"""Pipelines that come along with their data."""


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A copy of what a checkout has, beside real data where there is any; one for all processes of a test run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "documentation" / "main"
    with FileLock(f"{folder.parent}.lock"):
        if not folder.exists():
            shutil.copytree(ROOT / "pipelines", folder / "pipelines")
            (folder / "stores").mkdir()
    return folder


@pytest.fixture(scope="session")
def worker_id(request: pytest.FixtureRequest) -> str:
    """The name of the process where tests run in several, else ``master``."""
    return getattr(request.config, "workerinput", {}).get("workerid", "master")


@pytest.fixture(scope="session")
def stores(checkout: Path) -> Stores:
    """Results of pipelines by name; each is computed once."""

    def get(name: str) -> Path:
        store = checkout / "stores" / f"{name}.zarr"
        with FileLock(f"{store}.lock"):
            if not store.exists():
                command = ["run", str(_pipeline(checkout, name)), "--store", str(store), "--quiet"]
                result = CliRunner().invoke(cli, command)
                assert result.exit_code in (0, 3), result.output
        return store.resolve()

    return get


def _pipeline(folder: Path, name: str) -> Path:
    """The pipeline of a name, also of those that papers need."""
    path = folder / f"pipelines/{name}.yaml"
    return path if path.exists() else folder / f"pipelines/papers/{name}.yaml"


@pytest.fixture
def workspace(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own checkout for the examples of a page, which may write into it."""
    folder = tmp_path / "main"
    shutil.copytree(checkout / "pipelines", folder / "pipelines")
    (folder / "stores").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")
    # Tasks and readers of a page's plugins end with it.
    monkeypatch.setattr(plugins, "_declared", {group: dict(names) for group, names in plugins._declared.items()})
    return folder


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.slow) if page in LONG else page for page in EXAMPLES]
)
def test_examples_do_what_the_page_shows(
    page: str, checkout: Path, workspace: Path, stores: Stores, request: pytest.FixtureRequest
) -> None:
    if page in SERVED:
        pytest.importorskip("starlette", reason="this page needs the extra serve")
    found = [block for block in blocks(DOCS / page) if not block.not_executed and block.chapter not in ELSEWHERE]
    text = "\n".join(block.before + block.body for block in found if block.file or block.language != "yaml")
    made = set(re.findall(r"mirflow run pipelines/(?:papers/)?([\w-]+)\.yaml", text)) | _own_stores(found)
    needed = {name for name in _STORE.findall(text) if _pipeline(checkout, name).exists()}
    if (needed | made) - _own_stores(found) - BUNDLED or _DATA.search(text):
        _lay_beside(request.getfixturevalue("shared_data"), checkout, workspace)
    for name in needed - made:
        (workspace / "stores" / f"{name}.zarr").symlink_to(stores(name))
    names: dict[str, Any] = {}
    absent = {block.needs for block in found if block.needs and importlib.util.find_spec(block.needs) is None}
    for block in found:
        if block.needs not in absent:
            with warnings.catch_warnings():
                if block.needs:  # deprecations within a package are not in the page's hands
                    warnings.simplefilter("ignore")
                _do(block, page, names)
    if absent:
        pytest.skip(f"all other examples hold; some need {', '.join(sorted(absent))}")


def _own_stores(found: list[Block]) -> set[str]:
    """Stores of pipelines that the page itself writes."""
    texts = [block.body for block in found if block.file.endswith(".yaml")]
    return {name for text in texts for name in _STORE.findall(text)}


def _lay_beside(data: Path, checkout: Path, workspace: Path) -> None:
    """Put real data where pipelines look for it, and mir_eval's fixtures where pages name them."""
    for folder in (checkout, workspace):
        beside = folder.parent / "shared" / "data"
        beside.parent.mkdir(exist_ok=True)
        if not beside.exists():
            beside.symlink_to(data)
    for folder in (data / "mir_eval-fixtures").iterdir():
        if folder.is_dir():
            (workspace / folder.name).symlink_to(folder)


def _do(block: Block, page: str, names: dict[str, Any]) -> None:
    place = f"{page}:{block.line}"
    if block.before:
        exec(compile(block.before, place, "exec"), names)
    if block.file:
        Path(block.file).parent.mkdir(parents=True, exist_ok=True)
        Path(block.file).write_text(block.body)
    if block.language == "python":
        _python(block, place, names)
    elif block.language == "yaml":
        check_yaml(block.body)
    elif block.is_console:
        for command, shown in commands(block.body):
            printed, code = run(command)
            # An error is shown by its words, not by dots alone, which stand for whatever is printed.
            assert code in (0, 3) or shown.replace("...", "").strip(), f"{place}: {command}\n{printed}"
            assert is_shown(shown, printed) or not shown.strip(), f"{place}: {command}\n{printed}"


def _python(block: Block, place: str, names: dict[str, Any]) -> None:
    if ">>>" not in block.body:
        exec(compile(block.body, place, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.body, names, place, place, block.line)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, "".join(report)


def test_few_examples_are_not_executed_and_all_say_why() -> None:
    reasons = [(page, block.not_executed) for page in EXAMPLES for block in blocks(DOCS / page) if block.not_executed]
    assert all(len(reason) > 10 for _, reason in reasons)
    assert len(reasons) <= 8, reasons


def test_every_page_can_be_reached() -> None:
    lists = "\n".join(re.findall(r"```\{toctree\}(.*?)```", "".join((DOCS / page).read_text() for page in PAGES), re.S))
    for page in PAGES:
        name = page.removesuffix(".md").removeprefix("reference/")
        assert page == "index.md" or re.search(rf"\b{re.escape(name)}\b", lists), page


@pytest.mark.parametrize("task", tasks())
def test_each_task_has_a_page_and_a_reference(task: str, generated: Any) -> None:
    reference = generated.task_page(task, DOCS)
    assert f"<!-- generated: metrics {task} -->" in reference
    assert f"tasks/{task}\n" in generated.fill("<!-- generated: tasks -->")
    page = re.search(r"\]\(\.\./\.\./(\w+)\.md\)", reference)
    assert page is not None
    assert (DOCS / f"{page[1]}.md").exists()


def test_all_conventions_are_named_where_conventions_are_explained(generated: Any) -> None:
    page = generated.fill((DOCS / "concepts.md").read_text())
    for task in tasks():
        start = page.index(f"](reference/tasks/{task}.md)")
        rows = page[start : page.find("\n| [", start)]
        assert all(f"| `{name}` |" in rows for name in get_task(task).conventions), task


def test_all_kinds_of_errors_are_listed_where_budgets_are_explained(generated: Any) -> None:
    page = generated.fill((DOCS / "budget.md").read_text())
    kinds = {kind for task in tasks() if (errors := get_task(task).errors) for kind in errors.kinds}
    assert len(kinds) > 40
    assert [kind.name for kind in kinds if f"| `{kind.name}` | {kind.summary} |" not in page] == []


def test_all_doubts_are_listed_where_they_are_explained(generated: Any) -> None:
    page = generated.fill((DOCS / "concepts.md").read_text())
    listed = page[page.index("## Implausible annotations") : page.index("## Pooling")]
    signs = [line.removeprefix("- ") for line in listed.splitlines() if line.startswith("- ")]
    remarks = [rule.summary for rule in RULES.values() if rule.severity == "warning"]
    assert signs == [doubt.sign for doubt in every_doubt()] + remarks


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What makes parts of pages from the code."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    yield __import__("mirflow_docs")
    for name in [name for name in sys.modules if name.split(".")[0] == "mirflow_docs"]:
        del sys.modules[name]


@pytest.mark.parametrize("task", tasks())
def test_the_reference_of_a_task_says_all_that_its_records_say(task: str, generated: Any) -> None:
    text = generated.fill(f"<!-- generated: metrics {task} -->").replace("\\", "")
    for rules in get_task(task).conventions.values():
        assert rules.name in text
        for metric in rules.metrics:
            assert f"({task}-{rules.name}-{metric.name})=" in text
            facts = (metric.title, metric.weight, metric.key, metric.perfect_exceptions, metric.source)
            for fact in (*facts, *metric.aliases, *(one.help for one in metric.parameters)):
                assert fact in text, (metric.name, fact)


def test_the_reference_of_yaml_files_has_every_key(generated: Any) -> None:
    from mirflow.pipeline import Estimates, Evaluation, Execution, Pipeline, References
    from mirflow.published.benchmark_file import Baseline, Benchmark, BenchmarkData
    from mirflow.published.mapping import ScoreFile, ScoreGroup, TableMapping, Wide

    text = generated.fill("<!-- generated: pipeline -->")
    text += generated.fill("<!-- generated: mapping -->") + generated.fill("<!-- generated: benchmark -->")
    pipeline, benchmark = (Pipeline, Evaluation, References, Estimates, Execution), (Benchmark, BenchmarkData, Baseline)
    for model in (*pipeline, *benchmark, TableMapping, ScoreGroup, ScoreFile, Wide):
        for name in model.model_fields:
            assert re.search(rf"^\| `{name}` \| \S", text, re.MULTILINE), name


def test_the_reference_of_campaign_files_has_every_key(generated: Any) -> None:
    from mirflow.campaign.file import Campaign, GradingRound, Limits, Notifications, Planning, Split

    text = generated.fill("<!-- generated: campaign -->")
    for model in (Campaign, Split, Limits, GradingRound, Planning, Notifications):
        for name in model.model_fields:
            assert re.search(rf"^\| `{name}` \| \S", text, re.MULTILINE), name


def test_vocabularies_are_complete(generated: Any) -> None:
    from mirflow.annotations.schema import KINDS
    from mirflow.cli.output import MEANINGS
    from mirflow.theory.general_midi import DRUM_MAPS
    from mirflow.theory.leadsheet import SUFFIXES

    kinds = generated.fill("<!-- generated: kinds -->")
    assert all(
        f"| `{kind.name}` | {', '.join(kind.tasks)} | `{kind.variables[0].name}`" in kinds for kind in KINDS.values()
    )
    headings = generated.fill("<!-- generated: headings -->")
    assert "| `ranking` | `rank` | `rank`, `ranking`, `position` |" in headings
    namespaces = generated.fill("<!-- generated: namespaces -->")
    assert "| beat, downbeat | `beat`, `beat_position` |" in namespaces
    codes = generated.fill("<!-- generated: exits -->")
    assert re.findall(r"^\| (\d+) \| \S", codes, re.MULTILINE) == [str(code) for code in MEANINGS]
    symbols = generated.fill("<!-- generated: suffixes -->")
    assert all(f"`C{suffix}`" in symbols for suffix in SUFFIXES)
    assert "| `C:min7` | `Cm7`, `Cmin7`, `Cmi7`, `C-7` |" in symbols
    maps = generated.fill("<!-- generated: drum_maps -->")
    assert all(f"| `{name}` | BD 3" in maps for name in DRUM_MAPS)
    assert "BD 36; SD 37 38 40; CHH 22 42 44" in maps


def test_the_reference_of_commands_has_every_option(generated: Any) -> None:
    text = generated.fill("<!-- generated: commands -->")
    commands: dict[str, click.Command] = dict(cli.commands)
    for name in cli.list_commands(click.Context(cli)):
        command = cli.commands[name]
        assert f"\n## {name}\n" in text
        if isinstance(command, click.Group):
            commands |= {f"{name} {below}": own for below, own in command.commands.items()}
            assert all(f"\n### {name} {below}\n" in text for below in command.commands)
    for command in commands.values():
        listed = [one for one in command.get_params(click.Context(command)) if not getattr(one, "hidden", False)]
        options = {option for one in listed for option in one.opts if option.startswith("--")}
        assert {option for option in options if option not in text} <= {"--help"}


def test_the_reference_of_python_has_every_verb(generated: Any) -> None:
    import mirflow

    text = generated.fill("<!-- generated: public -->")
    assert all(f":: mirflow.{name}" in text for name in mirflow.__all__)


@pytest.mark.slow
def test_pictures_are_made_by_the_commands_above_them(generated: Any, tmp_path: Path) -> None:
    commands = "mirflow run pipelines/tunes.yaml -q\nmirflow plot stores/tunes.zarr heatmap -g chord -o heat.svg\n"
    page = f"```\n{commands}```\n\n<!-- made: heat.svg Tracks & systems -->\n"
    page += "```\nmirflow embed stores/tunes.zarr heatmap -g chord -o heat.html\n```\n"
    page += "<!-- frame: heat.html#a=1&b Click -->\n"
    shown = generated.show_made(page, "reference/page", tmp_path)
    assert f"```\n{commands}```" in shown
    assert 'src="../_made/heat.svg" alt="Tracks &amp; systems"' in shown
    assert "<svg" in (tmp_path / "_made/heat.svg").read_text()
    assert '<iframe src="../_made/heat.html#a=1&amp;b" title="Click"' in shown
    with pytest.raises(ValueError, match="nonesuch"):
        generated.show_made("```\nmirflow run nonesuch.yaml\n```\n\n<!-- made: x.svg -->", "page", tmp_path)


def test_every_kind_of_figure_is_shown() -> None:
    from mirflow.reports import figures

    # Those of judgements are shown where judgements are spoken of.
    kinds = {kind.name.replace("_", "-") for kind in figures.kinds()}
    assert len(kinds) >= 8
    page = (DOCS / "figures.md").read_text()
    assert [kind for kind in kinds if f"<!-- made: {kind}.svg " not in page] == []


def test_broken_examples_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```\n$ echo one\ntwo\n```\n\n```python\n>>> 1 + 1\n3\n```\n\n```yaml\ntask: chord\ntsk: x\n```\n")
    for block in blocks(page):
        with pytest.raises((AssertionError, ValueError)):
            _do(block, "page.md", {})
    assert is_shown("a\n...\nd (0.1 s, serial)", "a\nb\nc\nd (7.5 s, serial)\n")
    assert not is_shown("a\n...\nd", "a\nb\nc")


def test_examples_hold_where_a_machine_is_so_slow_that_progress_is_shown(
    workspace: Path, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = f"mirflow report {stores('tunes')} -o tunes.html"
    quick, _ = run(command)
    monkeypatch.setattr("mirflow.progress.LINE_SECONDS", 0.0)
    monkeypatch.setattr("mirflow.progress.Lines.stage_seconds", 1e-9)
    slow, _ = run(command)
    assert re.search(r"^\d+/\d+ tracks, ", slow, re.MULTILINE)
    assert is_shown(quick, slow)


@pytest.mark.slow
def test_the_build_gives_no_warning(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    command = f"{sys.executable} -m sphinx -q -W -E -b html docs {tmp_path / 'html'}"
    os.chdir(ROOT)
    printed, code = run(command)
    # Notebooks log which kernel runs them, and the kernel that it listens on this machine.
    lines = [line for line in printed.splitlines() if line and not re.match(r"\[IPKernelApp\]|# \S+ \S+ INFO ", line)]
    assert (code, lines) == (0, []), printed
    assert (tmp_path / "html/reference/tasks/onset.html").read_text().count("f_measure") > 10
    widths = (400, 1366, 1440, 1487)
    browser = request.getfixturevalue("browser")  # the build is checked even without one
    too_wide = [(name, width) for width in widths for name in wider_than(width, tmp_path / "html", browser)]
    assert too_wide == []


def wider_than(width: int, folder: Path, browser: Any) -> list[str]:
    """The pages that a window of some width shows with a horizontal scroll bar."""
    page = browser.new_page(viewport={"width": width, "height": 800})
    wide = []
    for path in sorted(folder.glob("*.html")):
        page.goto(path.as_uri())
        if page.evaluate("document.scrollingElement.scrollWidth > document.scrollingElement.clientWidth"):
            wide.append(path.name)
    page.close()
    return wide


def test_pages_link_to_what_a_checkout_shows() -> None:
    """The pages of `reference` are filled or written when the docs are built."""
    linked = {
        page.name: re.findall(r"\]\((reference/[^)#]+)", page.read_text()) for page in (ROOT / "docs").glob("*.md")
    }
    assert {name: links for name, links in linked.items() if links} == {}
    assert "<!-- frame: demo.html" in (ROOT / "docs/index.md").read_text()
    pictures = {"README.md": "docs/_static/first-screen"}
    pictures |= dict.fromkeys(("docs/tutorial.md", "docs/report.md"), "_static/first-screen")
    for page, picture in pictures.items():
        assert re.search(rf"!\[[^\]]+\]\({picture}\.png\)", (ROOT / page).read_text())


MARKDOWN = sorted(
    path.relative_to(ROOT).as_posix()
    for folder, deep in ((ROOT, "*.md"), (DOCS, "**/*.md"), (ROOT / "stores", "*.md"))
    for path in folder.glob(deep)
    if not {"_build", "tasks"} & {*path.parts}
)


UNBROKEN = ("|", "![", "<!-- frame:", '    --where "')
"""Rows of tables, pictures, live pages and quoted arguments of commands cannot be wrapped."""


def test_lines_have_at_most_120_characters_where_no_output_is_longer() -> None:
    long = [
        (page, line)
        for page in MARKDOWN
        for line in set((ROOT / page).read_text().splitlines()) - set(_printed_lines(ROOT / page))
        if len(line) > 120 and not line.startswith(UNBROKEN)
    ]
    assert long == []


def _printed_lines(page: Path) -> list[str]:
    """What commands of a page print, or files that they write hold."""
    shown = [text for block in blocks(page) if block.is_console for _, text in commands(block.body)]
    shown += [block.body for block in blocks(page) if block.language in ("latex", "mermaid")]
    return [line for text in shown for line in text.splitlines()]


def test_the_changelog_says_in_twenty_lines_what_the_first_version_has() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^##+ (.*)$", text, re.MULTILINE) == ["Unreleased"]
    assert len(text.splitlines()) <= 20


def test_the_table_of_formats_has_each_format_and_the_remarks_that_it_makes(generated: Any) -> None:
    page = generated.fill((DOCS / "annotations.md").read_text()).replace("\\", "")
    listed = page[page.index("### What is not read") : page.index("## Delimited text")]
    for name, one in FORMATS.items():
        row = next(line for line in listed.splitlines() if f"`{name}`" in line.split(" | ")[0])
        assert all(text.replace("\\", "") in row for text in (one.takes, *one.silent.values()))
        assert all(f"`{rule}`" in row for rule in one.reports)
    assert all(f"| `{name}` | {rule.severity} |" in listed for name, rule in RULES.items())
