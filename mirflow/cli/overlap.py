"""The command that scores systems with each other as references: ``overlap``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .common_options import Command, option, query_options, store_argument
from .output import choose_format, echo, emit, for_people, given_options, output_options


@click.command("overlap", cls=Command, section="systems", place=6, short_help="Score systems with each other.")
@store_argument
@query_options("metric", metric="The metric, by name or alias. Default: the headline.")
@query_options("aggregate", "system", "tracks", "where", "param", "undefined")
@option("group")
@option("root", "Folder of the annotations, if they were moved or the store was not written by your run.")
@option("percent")
@output_options
def overlap_command(store: Path, style: str | None, output: Path | None, **options: Any) -> None:
    """Score the estimates of each system in STORE with those of each other one as the reference.

    The files that the store's pipeline names are read again. Each two systems are compared on the tracks that both
    have.
    """
    style = choose_format(style, output)
    from ..progress import progress_for
    from ..system_comparisons import overlap

    result = overlap(store, progress=progress_for(), **given_options(options))
    for note in () if for_people(style) else result.notes:
        echo(note, err=True)
    emit(result, style, output)
