"""Metrics, tasks and readers of Python files and of installed packages."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mirflow
from mirflow.errors import MetricError, MirflowWarning, PipelineError, PluginError, UnknownNameError
from mirflow.metrics.base import get_task
from mirflow.metrics.pair_metrics import installed_metrics
from mirflow.plugins import METRICS, declared, import_module, installed
from mirflow.readers.options import Reading
from tests.commands import invoke, printed, refused, rows

GROUPS = ("mirflow.tasks", "mirflow.readers", "mirflow.commands", "mirflow.documents")
LAB = '''
import click
import mirflow
from mirflow.metrics.measures import Weight, metric

NAMES = []


@click.command("clap")
def clap_command():
    """Clap once."""
    click.echo("clap")


@mirflow.pair_metric(title="Swing error", unit="s", orientation="lower", tasks=["beat"], values=["early", "late"],
                     parameters={"window": {"unit": "s", "least": 0.0}})
def swing(reference, estimate, window=0.05):
    """Distance of the first and the last beat."""
    return {"early": abs(reference[0] - estimate[0]) + window, "late": abs(reference[-1] - estimate[-1])}


def count_error(reference, estimate):
    return abs(len(reference) - len(estimate))


def three(a, b, c):
    return 0


def with_choice(reference, estimate, *, how):
    return 0


@mirflow.pair_metric(orientation="up")
def upwards(reference, estimate):
    return 0


@metric("Batched", Weight("beats", "beats"))
def batched(batch, measure):
    """Nothing."""


f_measure = count_error


@mirflow.declare_reader("claps")
def read_claps(data):
    times = [int(line) / 1000 for line in data.split()]
    return {"time": times} if times else {"tme": times}


TASK = mirflow.pair_task("claps", kind="events", metrics=[count_error], title="Hand claps")
'''
ENTRY_POINTS = """
[mirflow.metrics]
swing = my_lab:swing
count_error = my_lab:count_error

[mirflow.tasks]
claps = my_lab:TASK

[mirflow.readers]
claps = my_lab:read_claps

[mirflow.commands]
clap = my_lab:clap_command
names = my_lab:NAMES
"""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A folder with a module."""
    (tmp_path / "my_lab.py").write_text(LAB)
    return tmp_path


@pytest.fixture
def package(lab: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same as an installed package."""
    about = lab / "my_lab-1.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-lab\nVersion: 1.5\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(lab)
    monkeypatch.setattr("mirflow.plugins._declared", {group: {} for group in GROUPS})
    monkeypatch.delitem(sys.modules, "my_lab", raising=False)
    return lab


def select(folder: Path, *asked: Any, task: str = "beat") -> list[str]:
    return [str(one) for one in get_task(task).convention().select(asked, folder)]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("my_lab.py:swing", ["swing.early", "swing.late"]),
        ("my_lab.py:swing.late", ["swing.late"]),
        ("my_lab.py:swing.late@0.1", ["swing.late@0.1"]),
        ("my_lab.py:swing(window=0.2)", ["swing.early@0.2", "swing.late@0.2"]),
        ("my_lab.py:swing.early@[0.05:0.1:0.05]", ["swing.early", "swing.early@0.1"]),
        ("./my_lab.py:count_error", ["count_error"]),
    ],
)
def test_a_metric_of_a_file_has_values_and_parameters(lab: Path, asked: str, expected: list[str]) -> None:
    assert select(lab, asked) == expected


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("other.py:swing", "other.py: cannot be read: No such file or directory"),
        ("my_lab.py:swng", "my_lab.py:swng: has no 'swng'; did you mean 'swing'"),
        ("my_lab.py:swing.lat", "my_lab.py:swing has no 'lat'; did you mean 'late'"),
        ("my_lab.py:NAMES", "my_lab.py:NAMES: is a list, neither a function over one pair nor a metric"),
        ("my_lab.py:three", r"takes 3 \(a, b, c\) in front, but functions over a pair of beat take 2: reference_times"),
        ("my_lab.py:with_choice", ": parameter 'how' needs a default"),
        ("my_lab.py:upwards", "orientation must be one of higher, lower, none, got 'up'"),
        ("my_lab.py:swing@x", "parameter 'window' needs a float, not 'x'"),
        ("my_lab.py:swing@-1", "parameter 'window' must be at least 0 s"),
        ("my_lab.py:swing(windw=1)", "unknown parameter of swing.early 'windw'; did you mean 'window'"),
        ("my_lab.py:f_measure", "has a metric 'count_error'|has a metric 'f_measure'"),
        ("no_such_lab:swing", "no module 'no_such_lab'; a file is named with its suffix: no_such_lab.py"),
        ("broken.py:swing", r"broken.py: cannot be imported: SyntaxError: .* \(broken.py:2\)"),
        ("raising.py:swing", r"raising.py: cannot be imported: KeyError: 'x' \(raising.py:1\)"),
        (3, "expected the name of a metric or a function over one pair, got 3"),
    ],
)
def test_a_metric_that_cannot_be_is_refused(lab: Path, asked: Any, message: str) -> None:
    (lab / "broken.py").write_text("\ndef swing(:\n")
    (lab / "raising.py").write_text("{}['x']\n")
    (lab / "my_lab.py").write_text(LAB.replace("f_measure = count_error", "def f_measure(a, b): ..."))
    with pytest.raises((MetricError, PluginError, UnknownNameError), match=message):
        select(lab, asked)


def test_metrics_of_one_name_and_of_other_tasks_are_refused(lab: Path) -> None:
    (lab / "other.py").write_text(LAB)
    with pytest.raises(MetricError, match=r"my_lab.py:count_error and other.py:count_error are both called"):
        select(lab, "my_lab.py:count_error", "other.py:count_error")
    with pytest.raises(MetricError, match="swing is a metric of beat, not of onset"):
        select(lab, "my_lab.py:swing", task="onset")
    rules = get_task("beat").convention()
    measures = rules.select(["my_lab.py:count_error"], lab)
    with pytest.raises(MetricError, match="count_error is a function over a pair, which cannot be scored on grid"):
        rules.on_grid(measures, 0.1)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "returned None (missing return statement?)"),
        ("high", "returned str 'high'; return a number, (score, weight), or a dict of these"),
        ((1.0, 2.0, 3.0), "returned tuple '(1.0, 2.0, 3.0)'; return a number"),
        (np.ones(2), "returned an array of shape (2,)"),
        ({"early": 1.0}, "returned a dict; declare its keys: @mirflow.pair_metric(values=[...])"),
        ((1.0, -2.0), "returned the weight -2; weights must be finite and at least 0"),
        ((1.0, float("nan")), "returned the weight nan"),
    ],
)
def test_a_result_that_is_no_score_is_a_failure(tmp_path: Path, result: Any, message: str) -> None:
    def odd(reference: Any, estimate: Any) -> Any:
        return result

    for side in "re":
        (tmp_path / f"{side}.txt").write_text("6.0\n6.5\n")
    found = mirflow.evaluate_paths(tmp_path / "r.txt", tmp_path / "e.txt", "beat", metrics=["f_measure", odd])
    assert f"the metric failed: odd {message}" in found.message.item()
    assert np.isnan(found.score.sel(metric="odd")).all()
    assert found.score.sel(metric="f_measure").item() == 1.0


def test_installed_packages_declare_metrics(package: Path) -> None:
    assert select(package, "swing@0.1", "count_error", "swing.late") == [
        "swing.early@0.1",
        "swing.late@0.1",
        "count_error",
        "swing.late",
    ]
    with pytest.raises(UnknownNameError, match="unknown metric 'swong'"):
        select(package, "swong")
    listed = rows("metrics", "beat")
    (swing,) = (one for one in listed if one["metric"] == "swing.early" and one["convention"] == "mir_eval")
    assert (swing["title"], swing["unit"], swing["parameters"]) == ("Swing error: early", "s", "window=0.05 s")
    assert swing["origin"] == "my-lab 1.5, my_lab:swing"
    assert "from my-lab 1.5, my_lab:swing: swing.early, swing.late" in printed("metrics", "beat")


def test_packages_are_scanned_once_until_their_folders_change(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scans, scan = [], importlib.metadata.entry_points
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: scans.append(group) or scan(group=group))
    assert "swing.early" in printed("metrics", "beat")  # the import of my_lab writes __pycache__ beside it
    scans.clear()
    printed("metrics", "beat")
    assert scans.count(METRICS) <= 1
    installed(METRICS)
    scans.clear()
    other = package / "other-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[mirflow.metrics]\nlater = my_lab:swing\n")
    assert {"swing", "later"} <= {point.name for point in installed(METRICS)}
    assert scans == [METRICS]


def test_entry_points_that_cannot_be_loaded_are_named(package: Path) -> None:
    more = ENTRY_POINTS.replace("swing =", "lost = my_lab:lost\nbatched = my_lab:batched\nswing =")
    (package / "my_lab-1.5.dist-info" / "entry_points.txt").write_text(more)
    with pytest.raises(PluginError, match=r"my-lab 1.5, my_lab:lost: has no 'lost'"):
        select(package, "lost")
    with pytest.raises(MetricError, match="batched does not declare its tasks"):
        select(package, "batched")
    with pytest.warns(MirflowWarning, match="has no 'lost'|declare its tasks"):
        assert {one.name for one in installed_metrics("onset")} == {"count_error"}


def test_installed_packages_declare_tasks_and_readers(package: Path) -> None:
    for side in ("ref", "est"):
        (package / side).mkdir()
        (package / side / "x.clap").write_text("500\n1000\n" if side == "ref" else "500\n")
    (package / "est" / "empty.clap").write_text("")
    (package / "ref" / "empty.clap").write_text("1")
    sides = {side: {"path": f"{side[:3]}/{{track}}.clap", "format": "claps"} for side in ("reference", "estimates")}
    store = package / "s.zarr"
    (package / "p.json").write_text(json.dumps({"evaluations": [{"task": "claps", **sides}], "store": str(store)}))
    report = mirflow.run(package / "p.json", scheduler="serial")
    assert report.evaluations[0].content.cells.score[1, 0] == 1.0
    assert report.evaluations[0].messages == ("est/empty.clap: events have no column 'tme'; did you mean 'time'?",)
    assert "claps" in printed("metrics", "claps")
    (row,) = rows("query", store)
    assert (row["metric"], row["value"]) == ("count_error", 1.0)


@pytest.mark.filterwarnings("default")
def test_installed_packages_declare_commands(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = ENTRY_POINTS.replace("[mirflow.commands]", "[mirflow.commands]\nabsent = my_lab:__doc__")  # None
    (package / "my_lab-1.5.dist-info" / "entry_points.txt").write_text(points)
    monkeypatch.setattr("mirflow.cli.cli.commands", {})
    assert printed("clap") == "clap\n"
    assert "No such command 'absent'" in refused("absent")
    assert "Clap once." in printed("clap", "--help")
    broken = "'names' in the entry points 'mirflow.commands' is a list, not a command"
    assert broken in refused("names")
    listed = invoke("--help", code=0)
    assert "Clap once." in listed.stdout
    assert broken in listed.stderr


@pytest.mark.slow
def test_a_pipeline_names_the_files_that_declare(lab: Path) -> None:
    (lab / "my_lab.py").write_text(f"{LAB}\nmirflow.declare_task(TASK)\n")
    for side in ("ref", "est"):
        (lab / f"{side}.clap").write_text("500\n1000\n" if side == "ref" else "500\n")
    sides = {side: {"path": f"{side[:3]}.clap", "format": "claps"} for side in ("reference", "estimates")}
    text = {"plugins": ["my_lab.py"], "evaluations": [{"task": "claps", **sides}], "store": str(lab / "s.zarr")}
    (lab / "p.json").write_text(json.dumps(text))
    done = subprocess.run(
        [sys.executable, "-m", "mirflow", "run", lab / "p.json", "--scheduler", "processes"], check=True
    )
    assert done.returncode == 0
    here = subprocess.run(
        [sys.executable, "-m", "mirflow", "query", lab / "s.zarr", "--format", "json"], check=True, capture_output=True
    )
    (row,) = json.loads(here.stdout)  # a process that does not know the task
    assert (row["metric"], row["value"]) == ("count_error", 1.0)
    report = [sys.executable, "-m", "mirflow", "report", lab / "s.zarr", "-o", lab / "page.html"]
    for words, tracks in (((), 0), (("--plugin", lab / "my_lab.py"), 1)):
        made = subprocess.run([*report, *words], check=True, capture_output=True, text=True)
        assert f", {tracks} track{'s' * (tracks != 1)} with a timeline" in made.stderr
        hint = "Python of the pipeline is run where --plugin names it: my_lab.py"
        assert (hint in (lab / "page.html").read_text()) == (tracks == 0)
    (lab / "p.json").write_text(json.dumps({**text, "plugins": ["other.py"]}))
    with pytest.raises(PipelineError, match=r"plugins\[0\]: .*other.py: cannot be read"):
        mirflow.run(lab / "p.json")


def test_declarations_that_cannot_be_are_refused() -> None:
    with pytest.raises(PluginError, match="mirflow already has a format"):
        mirflow.declare_reader("jams")
    with pytest.raises(PluginError, match="unknown kind of annotation 'event'; did you mean 'events'"):
        mirflow.declare_task(mirflow.pair_task("x", kind="event", metrics=[]))
    with pytest.raises(PluginError, match="not a task"):
        mirflow.declare_task(3)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown format 'clpas'"):
        Reading.of("beat", format="clpas")
    assert "x" not in declared("mirflow.tasks")


def test_a_file_is_imported_again_when_it_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text("X = 1\n")
    first = import_module(str(path))
    assert import_module(str(path)) is first
    path.write_text("X = 2\n")
    assert (first.X, import_module(str(path)).X) == (1, 2)
