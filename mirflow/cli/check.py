"""The command ``check``, which lists the problems of annotation files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import counted, place_of
from .common_options import ReadingCommand, check_existing, option
from .output import FAILED, choose_format, emit, for_people, output_options

if TYPE_CHECKING:
    from ..linter import FileCheck
    from ..reports.tables import Table


@click.command(
    "check", cls=ReadingCommand, sides=("reference",), place=10, short_help="List the problems of annotation files."
)
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...", callback=check_existing
)
@option("task", "Task of the annotations. Default: that of the namespaces of JAMS files; chord for .lab files.")
@option("convention", "Convention with the rules of errors.")
@click.option("--schema/--no-schema", default=True, help="Validate JAMS files against their schemas (slow).")
@option("annotator", "Of JAMS files that hold several: a number or an identifier. Default: all.")
@click.option(
    "--reference",
    type=click.Path(path_type=Path, exists=True),
    help="Reference of PATH, a file or a folder: warn of implausible times.",
)
@output_options
@click.pass_context
def check_command(
    context: click.Context,
    paths: tuple[Path, ...],
    task: str | None,
    convention: str | None,
    schema: bool,
    annotator: str | int | None,
    reference: Path | None,
    options: Mapping[str, Any],
    style: str | None,
    output: Path | None,
) -> None:
    """List the problems of annotation files, and of those in folders, with file and line.

    An error cannot be scored, a warning is scored after a repair or as empty, a note is scored as it is.

    Options of reading (--columns, --time-unit, ...) apply to the --reference as well; with --reference- in front, as in
    --reference-time-unit ms, to it alone.
    """
    from ..linter import check_paths, count_by_severity

    checks = list(
        check_paths(
            paths, task, convention=convention, schema=schema, annotator=annotator, reference=reference, **options
        )
    )
    style = choose_format(style, output)
    counts = count_by_severity(checks)
    if for_people(style) and style == "table" and output is None:
        for one in checks:
            for line in _lines(one):
                click.echo(line)
    else:
        emit([_table(checks)], style, output)
    summary = _counted(counts)
    click.echo(f"{_counted(Counter(one.what for one in checks))}: {summary}", err=True)
    if counts["error"]:
        context.exit(FAILED)


def _counted(counts: Mapping[Any, int]) -> str:
    """``1 file, 2 tracks``."""
    return ", ".join(counted(count, name) for name, count in counts.items())


def _lines(check: FileCheck) -> list[str]:
    """A line for each problem, with a place that editors can jump to."""
    lines = []
    for problem in check.problems:
        place = place_of(check.path, problem.line)
        who = f" (annotator {problem.annotator})" if problem.annotator else ""
        severity = click.style(problem.severity, fg="red") if problem.severity == "error" else problem.severity
        lines.append(f"{place}: {severity}: {problem.message}{who} [{problem.rule}]")
    return lines


def _table(checks: list[FileCheck]) -> Table:
    from ..reports.tables import Table

    columns = ("file", "line", "severity", "rule", "message", "annotator")
    rows = tuple(
        (check.path, problem.line, problem.severity, problem.rule, problem.message, problem.annotator)
        for check in checks
        for problem in check.problems
    )
    return Table(columns, rows, folds=("message",))
