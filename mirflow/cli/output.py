"""Output of commands: exit codes, format, width and destination of tables, and lines about checked files."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from ..errors import counted, place_of, visible, without_values
from .common_options import LocalPath

if TYPE_CHECKING:
    from ..evaluation.linter import FileCheck, FileProblem
    from ..reports.tables import Table, Tabulation

OK = 0
INTERNAL = 1
BAD_INPUT = 2
FAILED = 3
STORE = 4
HUNG_UP = 129
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143

MEANINGS = {
    OK: "done",
    INTERNAL: "numbers that differ (verify); otherwise an error inside mirflow, whose traceback --debug shows",
    BAD_INPUT: "invalid command, pipeline or file; unknown name; or unreachable scheduler",
    FAILED: "cells without score (run, evaluate, verify), bad files (check), "
    "scores that differ (diff) or are worse (compare)",
    STORE: "the store is locked by another run, damaged, or not a store",
    HUNG_UP: "the terminal was closed (SIGHUP); computed scores are kept",
    INTERRUPTED: "interrupted (Ctrl-C); computed scores are kept",
    BROKEN_PIPE: "the program that read the output has exited",
    TERMINATED: "terminated (SIGTERM); computed scores are kept",
}

Command = TypeVar("Command", bound=Callable[..., Any])

REPAIRED = "irregular items (mirflow check lists them), or an estimate that starts late or ends early"

FORMATS = ("table", "markdown", "latex", "csv", "json", "parquet")
_SUFFIXES = {
    ".csv": "csv",
    ".json": "json",
    ".md": "markdown",
    ".parquet": "parquet",
    ".tex": "latex",
    ".txt": "table",
    "": "table",
}


FOR_PEOPLE = ("table", "markdown", "latex")
"""Formats for people, who want few columns, not for programs, which want all."""
_NOTES = "mirflow.notes"
"""Key of the context's `meta`: whether tables have all notes, or none; None: those about these numbers."""


def output_options(command: Command) -> Command:
    """``--format``, ``--output`` and ``--notes``, which `emit` looks at."""
    command = click.option(
        "--notes/--no-notes",
        default=None,
        expose_value=False,
        callback=lambda ctx, _, value: ctx.meta.update({_NOTES: value}),
        help="Explain columns and methods below tables, as files do; or no notes. CSV, JSON and Parquet have none.",
    )(command)
    command = click.option("--output", "-o", type=LocalPath(dir_okay=False), help="Write to a file.")(command)
    return click.option(
        "--format", "style", type=click.Choice(FORMATS), help="Default: by the suffix of the output file, else table."
    )(command)


def choose_format(style: str | None, output: Path | None) -> str:
    """The chosen format, otherwise that of the file's suffix, otherwise a table for people."""
    if style == "parquet" and output is None:
        raise click.UsageError("parquet is a binary format: give a file with --output")
    if style is not None or output is None:
        return style or "table"
    suffix = output.suffix.lower()
    if suffix not in _SUFFIXES:
        known = ", ".join(filter(None, _SUFFIXES))
        message = f"{output}: unknown suffix {suffix!r}; known: {known} (or give --format)"
        raise click.BadParameter(message, param_hint="'--output'")
    return _SUFFIXES[suffix]


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given; 0 counts as given, unset flags and empty lists do not."""
    return {name: value for name, value in options.items() if value not in (None, (), {}) and value is not False}


def check_figure(path: Path) -> None:
    """Refuse an unsupported file for a figure before computing anything."""
    from ..reports.figures.canvas import format_of, need_matplotlib

    format_of(path)
    need_matplotlib().use("agg")  # files are written, and there may be no display


def shows_styles(stream: TextIO) -> bool:
    """True if a stream is a terminal and colours are not disabled (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


_SIMPLER = str.maketrans({"─": "-", "├": "|", "┤": "|", "●": "o", "→": ">"})


def _simplify(error: UnicodeError) -> tuple[str, int]:
    """Replace what an encoding lacks: rules and marks of tables by similar characters, others by question marks."""
    assert isinstance(error, UnicodeEncodeError)
    simpler = error.object[error.start : error.end].translate(_SIMPLER)
    return simpler.encode("ascii", "replace").decode(), error.end


SIMPLER = "mirflow.simpler"
"""The error handler of streams in encodings that lack characters of tables or names."""
codecs.register_error(SIMPLER, _simplify)


def echo(text: str = "", *, nl: bool = True, err: bool = False) -> None:
    """Print a line; control characters, which names in files may contain, are escaped on terminals and in messages."""
    click.echo(visible(text) if err or sys.stdout.isatty() else text, nl=nl, err=err)


def emit(
    shown: Tabulation[Any] | Sequence[Table],
    style: str,
    output: Path | None = None,
    latex: Mapping[str, Any] = {},
    *,
    signed: bool = False,
) -> None:
    """Print tables, or write them to a file; for programs, all rows are joined to one table. In text numbers are signed
    in files, and on terminals if `signed`; in other formats always."""
    from ..reports.tables import Tabulation

    whole = shown if isinstance(shown, Tabulation) else Tabulation((), lambda width: shown, lambda: shown)
    notes = click.get_current_context().meta.get(_NOTES)
    if notes is not None and style not in FOR_PEOPLE:
        raise click.UsageError(f"--{'' if notes else 'no-'}notes is about tables: {style} has no notes")
    made = whole
    if notes is False:
        bare = (lambda width: [replace(one, bare=True) for one in whole.tables(width)]), lambda: [whole.rows()]
        made = Tabulation(whole.items, *bare, text=whole.text)
    if style == "parquet":
        assert output is not None
        made.to_parquet(output)
        return
    if style == "latex":
        text = made.to_latex(**latex)
    elif style == "table":
        terminal = output is None and sys.stdout.isatty()
        bold = terminal and shows_styles(sys.stdout)
        written = output is not None
        details = bool(notes) or written
        text = made.to_text(bold=bold, signed=signed or written, charts=terminal, short=terminal, details=details)
    else:
        text = {"csv": made.to_csv, "json": made.to_json, "markdown": made.to_markdown}[style]()
    if output is None:
        # Tables are already escaped, and may be bold.
        (click.echo if style == "table" else echo)(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8", newline="\n")


_LONG = 40  # lines from which problems of several files are one line


def lines_of_checks(checks: Sequence[FileCheck]) -> list[str]:
    """A line for each cause in each file, or in all files of a long list; with a place that editors can jump to. Lines
    are coloured, so they must not be escaped again."""
    causes: dict[tuple[str, ...], dict[str, list[FileProblem]]] = {}
    for check in checks:
        for problem in check.problems:
            cause = problem.severity, problem.rule, problem.annotator, without_values(problem.message)
            causes.setdefault(cause, {}).setdefault(check.path, []).append(problem)
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
    return [line for *_, line in sorted(lines, key=lambda line: line[:2])]
