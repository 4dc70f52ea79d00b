"""Output of commands: exit codes, format, width and destination of tables."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

if TYPE_CHECKING:
    import xarray as xr

    from ..reports.results import Result
    from ..reports.tables import Table

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
    INTERNAL: "an error inside mirflow; --debug shows the traceback",
    BAD_INPUT: "the command, a pipeline or a file is wrong, a name is unknown, or a scheduler cannot be reached",
    FAILED: "cells without score (run, evaluate), bad files (check), scores that differ (diff) or are worse (compare)",
    STORE: "the store is locked by another run, damaged, or none",
    HUNG_UP: "the terminal went away (SIGHUP); what was computed is kept",
    INTERRUPTED: "interrupted (Ctrl-C); what was computed is kept",
    BROKEN_PIPE: "the program that read the output went away",
    TERMINATED: "terminated (SIGTERM); what was computed is kept",
}

Command = TypeVar("Command", bound=Callable[..., Any])

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


@dataclass(frozen=True)
class Latex:
    """Options of LaTeX tables: intervals below their values, another caption, a label, no notes."""

    stacked: bool = False
    caption: str | None = None
    label: str | None = None
    notes: bool = True

    def options(self, place: int) -> dict[str, Any]:
        """For one of several tables: labels must be different."""
        label = f"{self.label}-{place + 1}" if self.label and place else self.label
        return {"stacked": self.stacked, "caption": self.caption, "label": label, "notes": self.notes}


def output_options(command: Command) -> Command:
    """``--format`` and ``--output``."""
    command = click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write to a file.")(
        command
    )
    return click.option(
        "--format", "style", type=click.Choice(FORMATS), help="Default: by the suffix of the output file, else table."
    )(command)


def choose_format(style: str | None, output: Path | None) -> str:
    """The chosen format, else that of the file's suffix, else a table for people.

    Raises
    ------
    click.BadParameter
        For an unknown suffix.
    """
    if style == "parquet" and output is None:
        raise click.UsageError("parquet is no text: say which file to write, with --output")
    if style is not None or output is None:
        return style or "table"
    suffix = output.suffix.lower()
    if suffix not in _SUFFIXES:
        known = ", ".join(filter(None, _SUFFIXES))
        message = f"{output}: unknown suffix {suffix!r}; known: {known} (or say --format)"
        raise click.BadParameter(message, param_hint="'--output'")
    return _SUFFIXES[suffix]


def check_figure(path: Path) -> None:
    """Refuse an unsupported file for a figure, before anything is computed."""
    from ..reports.figures.canvas import format_of, need_matplotlib

    format_of(path)
    need_matplotlib().use("agg")  # files are written, and there may be no display


def for_people(style: str) -> bool:
    """True if a format is read by people, who want few columns, and not by programs, who want all."""
    return style in ("table", "markdown", "latex")


def shows_styles(stream: TextIO) -> bool:
    """True if a stream is a terminal whose user has nothing against colours (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_width() -> int:
    """Columns to fill; 120 where there is no terminal and COLUMNS is not set."""
    return shutil.get_terminal_size((120, 24)).columns


def tables_of(
    ds: xr.Dataset | Result,
    style: str,
    percent: bool = False,
    notes: Sequence[str] = (),
    across: str | None = None,
) -> list[Table]:
    """The result of a query as the tables that a format wants; notes, and what runs across, are for people only."""
    from ..reports.layout import long_table, readable_tables
    from ..reports.results import Result

    if for_people(style) or isinstance(ds, Result):
        return readable_tables(ds, percent=percent, width=terminal_width(), notes=notes, across=across)
    return [long_table(ds)]


def emit(tables: Sequence[Table], style: str, output: Path | None = None, latex: Latex | None = None) -> None:
    """Print tables, or write them to a file; programs get the rows of all of them as one table."""
    from ..reports.tables import merge, to_csv, to_json, to_latex, to_markdown, to_text

    if style == "parquet":
        from ..reports.tables import write_parquet

        if output is not None:
            write_parquet(merge(tables), output)
        return
    if style == "csv":
        text = to_csv(merge(tables))
    elif style == "json":
        text = to_json(merge(tables))
    elif style == "markdown":
        text = "\n".join(to_markdown(table) for table in tables)
    elif style == "latex":
        latex = latex or Latex()
        text = "\n".join(to_latex(table, **latex.options(place)) for place, table in enumerate(tables))
    else:
        bold = output is None and shows_styles(sys.stdout)
        text = "\n".join(to_text(table, terminal_width(), bold=bold) for table in tables)
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
