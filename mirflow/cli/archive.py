"""The command that tabulates the years of a campaign: ``archive``."""

from __future__ import annotations

from pathlib import Path

import click

from .common_options import Command
from .output import choose_format, emit, output_options


@click.command("archive", cls=Command, place=7, short_help="Tabulate the years of a campaign: tasks, runs, the best.")
@click.argument("table", type=click.Path(path_type=Path))
@output_options
def archive_command(table: Path, style: str | None, output: Path | None) -> None:
    """Show the years in TABLE: task sets and runs of each, and the best value of each task by its primary metric.

    TABLE is a csv file with a header, or a YAML list: a year and a store in each row, or what was published elsewhere.
    """
    from ..site.archive import read_archive

    chosen = choose_format(style, output)
    emit(read_archive(table).tabulation(), chosen, output)
