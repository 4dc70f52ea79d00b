"""Problems of annotation files as a table: what ``mirflow check`` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ..errors import AnnotationError, counted
from ..evaluation.linter import FileCheck, check_paths, check_pipeline, count_by_severity
from .tables import Table, Tabulation


def check(
    paths: str | Path | Sequence[str | Path],
    task: str | None = None,
    *,
    convention: str | None = None,
    schema: bool = True,
    annotator: str | int | None = None,
    reference: str | Path | None = None,
    role: Literal["reference", "estimate"] | None = None,
    beside: str | Path | None = None,
    beside_task: str | None = None,
    worst: int | None = None,
    **options: Any,
) -> Tabulation[FileCheck]:
    """List the problems of annotation files, and of those in folders, with file and line.

    Parameters
    ----------
    paths : path or sequence of paths
        One pipeline file (.yaml): the references of its evaluations, those of several evaluations beside each other.
    task, convention, schema, annotator, reference, role, beside, beside_task, **options
        See :func:`mirflow.evaluation.linter.check_paths`.
    worst : int or None
        List so many of the notes about probable mistakes in the tables, the strongest first, and nothing else.

    Returns
    -------
    Tabulation of FileCheck
        One for each file, those without problems too; the tables have a row for each problem.

    Raises
    ------
    AnnotationError
        If a path does not exist, a folder holds no annotation file, or a reference is given without a task.
    """
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    words: dict[str, Any] = {"convention": convention, "schema": schema, "annotator": annotator, "beside": beside}
    words |= {"reference": reference, "role": role, "beside_task": beside_task}
    if len(listed) == 1 and Path(listed[0]).suffix.lower() in (".yaml", ".yml"):
        given = [name for name, value in {**words, **options}.items() if value is not None and name != "schema"]
        if given:
            raise AnnotationError(f"{given[0]} does not apply to a pipeline, which says how references are read")
        checks = list(check_pipeline(listed[0], task))
    else:
        checks = list(check_paths(listed, task, **words, **options))
    counts: tuple[Mapping[Any, int], ...] = (Counter(one.what for one in checks), count_by_severity(checks))
    summary = ": ".join(", ".join(counted(number, name) for name, number in one.items()) for one in counts)
    columns = ("file", "line", "severity", "rule", "message", "annotator", "track", "second", "strength")
    found = [(one, problem) for one in checks for problem in one.problems]
    if worst is not None:
        ranked = [(one, problem) for one, problem in found if problem.strength is not None]
        found = sorted(ranked, key=lambda pair: -(pair[1].strength or 0.0))[:worst]
    rows = tuple(
        (one.path, it.line, it.severity, it.rule, it.message, it.annotator, one.track, it.second, it.strength)
        for one, it in found
    )
    table = Table(columns, rows, folds=("message",))
    return Tabulation(checks, lambda width: [replace(table, notes=(summary,))], lambda: [table], (summary,))
