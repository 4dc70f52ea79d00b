"""The command that lists the contents of a store: ``show``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .common_options import Command, open_evaluations, option, store_argument
from .output import choose_format, echo, emit, output_options

if TYPE_CHECKING:
    pass


@click.command("show", cls=Command, section="stores", place=2, short_help="List the contents of a store.")
@store_argument
@option("group", "The evaluation. Default: all.")
@click.option("--pipeline", is_flag=True, help="Print only the pipeline file of the store.")
@output_options
def show_command(store: Path, group: str | None, pipeline: bool, style: str | None, output: Path | None) -> None:
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
    from ..api import show

    emit(show(store, group), style, output)
