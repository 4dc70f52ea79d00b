"""The command that lists the contents of a store: ``show``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .common_options import Command, open_evaluations, option, store_argument
from .output import choose_format, echo, emit, for_people, output_options

if TYPE_CHECKING:
    from ..analysis.missing import CellProblem
    from ..reports.tables import Tabulation


@click.command("show", cls=Command, section="stores", place=2, short_help="List the contents of a store.")
@store_argument
@option("group", "The evaluation. Default: all.")
@click.option("--pipeline", is_flag=True, help="Print only the pipeline file of the store.")
@click.option("--problems", is_flag=True, help="List all cells without a score or with an empty file, with the reason.")
@output_options
def show_command(
    store: Path, group: str | None, pipeline: bool, problems: bool, style: str | None, output: Path | None
) -> None:
    """List the contents of STORE: evaluations, systems, tracks, metrics, coverage and provenance."""
    if pipeline:
        from ..analysis.queries import choose

        boards = choose(open_evaluations([store]), None, group)
        text = next(iter(boards.values())).attrs.get("pipeline", "")
        if not text:
            raise click.UsageError(f"{store}: the store was not made by a pipeline")
        echo(text, nl=False)
        return
    style = choose_format(style, output)
    from ..api import problems as list_problems
    from ..api import show

    if problems:
        _emit_problems(list_problems(store, group), style, output)
    else:
        emit(show(store, group), style, output)


def _emit_problems(found: Tabulation[CellProblem], style: str, output: Path | None) -> None:
    """Print the cells with problems as one table, and the warnings."""
    from ..analysis.missing import count_scored

    people = for_people(style)
    if people and all(one.scored == "yes" for one in found):
        echo("; ".join(filter(None, ("every cell has a score", count_scored(found.items)))), err=True)
    if not people or not len(found):
        for note in found.notes:
            echo(note, err=True)
    if not people or len(found):
        emit(found, style, output)
