"""Types: what a type checker sees of mirflow, and what it finds in code of a user."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mirflow
import mirflow.typing

ROOT = Path(__file__).parents[1]

SCRIPT = """\
import numpy as np
import mirflow
from mirflow.typing import EstimatesLike, MetricLike, ScoresLike, TracksLike

references: TracksLike = {"a": np.array([0.5])}
estimates: EstimatesLike = {"ours": {"a": [0.5]}}
metrics: list[MetricLike] = ["f_measure"]
scores: ScoresLike = mirflow.score(references, estimates, "onset", metrics=metrics)
mirflow.score((track, [0.5], [0.6]) for track in "ab").sizes
print(mirflow.query(scores, "f_measure").to_csv(), mirflow.__version__)
mirflow.load_collection("{track}.lab", "chord").sel(track="a").dataset
mirflow.load_collection("{track}.lab", "chord", lazy=True).compute()
mirflow.evaluate("a.lab", mirflow.load("b.lab", "chord"), "chord")
mirflow.evaluate((np.zeros((1, 2)), ["C"]), {"intervals": np.zeros((1, 2)), "labels": ["C"]}, "chord")
mirflow.qury(scores)  # planted: "qury"
mirflow.query(scores, metrc="f_measure")  # planted: "metrc"
mirflow.score(5, references)  # planted: Argument 1 to "score"
mirflow.score(references, references, 5)  # planted: Argument 3 to "score"
mirflow.evaluate("a.lab", 3.0, "chord")  # planted: Argument 2 to "evaluate"
mirflow.load_collection("{track}.lab", "chord").compute()  # planted: "compute"
mirflow.run("a.yaml", progress="bar")  # planted: Argument "progress" to "run"
"""


@pytest.mark.slow
def test_a_type_checker_finds_the_errors_of_a_script_and_no_others(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), str(script)]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    found = re.findall(r"script\.py:(\d+): error: (.*)", printed)
    planted = [(n, text) for n, line in enumerate(SCRIPT.splitlines(), 1) if (text := line.partition("planted: ")[2])]
    assert [int(line) for line, _ in found] == [line for line, _ in planted], printed
    assert all(text in message for (_, message), (_, text) in zip(found, planted, strict=True)), printed


def test_a_type_checker_sees_all_public_names_and_no_others() -> None:
    body = ast.parse((ROOT / "mirflow/__init__.py").read_text()).body
    block = next(one for one in body if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING")
    seen = {name.asname for one in block.body if isinstance(one, ast.ImportFrom) for name in one.names}
    assert seen == {*mirflow.__all__, *mirflow._MODULES} - {"annotations"}  # the name of the import from __future__


def test_aliases_are_explained_and_there_after_a_bare_import() -> None:
    assert {"AnnotationLike", "EstimatesLike", "MetricLike", "ScoresLike", "TracksLike"} <= {*mirflow.typing.__all__}
    assert all(hasattr(mirflow.typing, name) for name in mirflow.typing.__all__)


def test_help_names_the_public_modules_first() -> None:
    assert mirflow.__doc__ is not None
    named = mirflow.__doc__.partition("Public modules are ")[2]
    assert all(f"``{name}``" in named for name in mirflow._MODULES)
