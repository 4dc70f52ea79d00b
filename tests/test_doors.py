"""Behaviour is tested through the public doors: the share of test files that import what lies behind them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .commands import listed_tasks

TESTS = Path(__file__).parent
REFERENCE = TESTS.parent / "docs" / "reference" / "python.md"


def documented() -> set[str]:
    """The modules whose names users import: those of the reference of Python, of the tasks, and the command's."""
    named = set(re.findall(r"mirflow(?:\.\w+)*", REFERENCE.read_text(encoding="utf-8")))
    classes = {name.rpartition(".")[0] for name in named if name.rpartition(".")[2].istitle()}
    tasks = {f"mirflow.metrics.{task}" for task in listed_tasks()}
    return named | classes | tasks | {"mirflow.cli", "mirflow.metrics", "mirflow.typing"}


def imported(path: Path, doors: set[str]) -> Iterator[str]:
    """The modules of mirflow that a file imports; a door that is imported from its package is itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.partition(".")[0] == "mirflow")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "mirflow":
            names = (f"{node.module}.{one.name}" for one in node.names)
            yield from (name if name in doors else str(node.module) for name in names)


UPPER = {"analysis", "cli", "engine", "published", "reports"}
"""Folders of what users call. The files beside this one belong to them, but for those of modules built on by others."""
LOWER = {"test_cells.py", "test_interruption.py", "test_lazy_array.py", "test_progress.py", "test_ragged.py"}


def is_upper(path: Path) -> bool:
    """Whether a file tests what users call. Kernels, metrics and readers are tested by their modules."""
    return path.parts[0] in UPPER or (len(path.parts) == 1 and path.name not in LOWER)


@pytest.mark.parametrize(("upper", "share"), [(True, 0.5), (False, 0.75)], ids=["what users call", "all"])
def test_few_test_files_import_internals(upper: bool, share: float) -> None:
    doors = documented()
    files = [path.relative_to(TESTS) for path in sorted(TESTS.rglob("test_*.py"))]
    files = [path for path in files if is_upper(path) or not upper]
    behind = [str(path) for path in files if set(imported(TESTS / path, doors)) - doors]
    assert len(behind) <= share * len(files), f"{len(behind)} of {len(files)}: {', '.join(behind)}"
