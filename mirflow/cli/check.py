"""The command ``check``, which lists the problems of annotation files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ..errors import counted, place_of, shorten_quotes, visible, without_values
from .common_options import LocalPath, ReadingCommand, check_existing, option
from .output import FAILED, choose_format, echo, emit, output_options

if TYPE_CHECKING:
    from ..evaluation.linter import FileCheck, FileProblem


@click.command(
    "check",
    cls=ReadingCommand,
    sides=("reference", "beside"),
    section="first",
    place=2,
    short_help="List the problems of annotation files.",
)
@click.argument("paths", nargs=-1, required=True, type=LocalPath(), metavar="PATH...", callback=check_existing)
@option("task", "Task of the annotations. Default: that of the namespaces of JAMS files; chord for .lab files.")
@option("convention", "Convention with the rules of errors.")
@click.option("--schema/--no-schema", default=True, help="Validate JAMS files against their schemas (slow).")
@option("annotator", "For JAMS files with several annotators: a number or an identifier. Default: all.")
@click.option(
    "--reference",
    type=LocalPath(exists=True),
    help="Reference of PATH, a file or a folder, to warn about implausible estimates.",
)
@click.option(
    "--role",
    type=click.Choice(["reference", "estimate"]),
    help="Role of PATH: references are also scored against themselves. Default: estimate with --reference, and below "
    "folders such as est, preds or systems.",
)
@click.option(
    "--beside",
    type=click.Path(path_type=Path, exists=True),
    help="Annotations of the same tracks to check references beside: keys for chords, beats for sections.",
)
@click.option("--beside-task", metavar="TASK", help="Task of the annotations in --beside.")
@click.option("--worst", type=click.IntRange(min=1), metavar="N", help="Only the N strongest probable mistakes.")
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
    role: Literal["reference", "estimate"] | None,
    beside: Path | None,
    beside_task: str | None,
    worst: int | None,
    options: Mapping[str, Any],
    style: str | None,
    output: Path | None,
) -> None:
    """List the problems of annotation files and folders, with file and line, or those of a pipeline's references.

    Of a campaign or benchmark file, its problems are listed.

    Annotations with an error cannot be scored; those with a warning are repaired or scored as empty; those with a
    note are scored unchanged.

    Options of reading (--columns, --time-unit, ...) also apply to the --reference; with the prefix --reference-, as in
    --reference-time-unit ms, to the reference only, and with --beside- to the annotations beside.
    """
    keys = _keys_of(paths[0]) if len(paths) == 1 else None
    if keys is not None and "benchmark" in keys:
        from ..published.benchmark_file import load_benchmark

        load_benchmark(paths[0])
        echo(f"{paths[0]}: no problems", err=True)
        return
    if keys is not None and ("evaluations" not in keys or {"campaign", "splits"} & keys):
        from ..plugins import DOCUMENTS, find

        find(DOCUMENTS, "campaign").check(paths[0])
        return
    from ..reports.checked_files import check

    words: dict[str, Any] = {"convention": convention, "schema": schema, "annotator": annotator, "reference": reference}
    words |= {"beside": beside, "beside_task": beside_task, "worst": worst}
    checks = check(paths, task, role=role, **words, **options)
    style = choose_format(style, output)
    if style == "table" and output is None and worst is None:
        for line in lines_of_checks(checks.items):
            click.echo(shorten_quotes(line))
    else:
        emit([checks.rows()], style, output)
    for note in checks.notes:
        echo(note, err=True)
    if any(one.worst == "error" for one in checks):
        context.exit(FAILED)


def _keys_of(path: Path) -> set[str] | None:
    from ..pipeline.document import read_document

    if path.suffix.lower() not in (".yaml", ".yml"):
        return None
    data = read_document(path).data
    return set(data) if isinstance(data, Mapping) else set()


_LONG = 40  # lines from which problems of several files are one line


def lines_of_checks(checks: Sequence[FileCheck]) -> list[str]:
    """A line for each cause in each file, or in all files of a long list; with a place that editors can jump to. Lines
    are coloured, so they must not be escaped again."""
    causes: dict[tuple[str, ...], dict[str, list[FileProblem]]] = {}
    for check in checks:
        for one in check.problems:
            cause = one.severity, one.rule, one.annotator, without_values(one.message)
            causes.setdefault(cause, {}).setdefault(check.path, []).append(one)
    together = sum(map(len, causes.values())) > _LONG
    order: dict[str, int] = {}
    for check in checks:
        order.setdefault(check.path, len(order))
    lines: list[tuple[int, int, str]] = []
    for files in causes.values():
        for path, problems in files.items():
            first = problems[0]
            more = [counted(len(problems) - 1, "more line")] if problems[1:] else []
            if together and len(files) > 1:
                others = sum(map(len, files.values())) - len(problems)
                more.append(f"{counted(others, 'line')} of {counted(len(files) - 1, 'more file')}")
            also = f" (and {' and '.join(more)})" if more else ""
            who = f" (annotator {first.annotator})" if first.annotator else ""
            severity = click.style(first.severity, fg="red") if first.severity == "error" else first.severity
            text = visible(f"{first.message}{who} [{first.rule}]{also}")
            place = visible(place_of(path, first.line))
            lines.append((order[path], first.line or 0, f"{place}: {severity}: {text}"))
            if together:
                break
    return [line for *_, line in sorted(lines, key=lambda one: one[:2])]
