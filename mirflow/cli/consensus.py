"""The command that lists where systems agree against the reference: ``consensus``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .common_options import Command, label_stores, option, query_options, stores_argument
from .output import choose_format, echo, emit, given_options, output_options


@click.command(
    "consensus", cls=Command, section="tracks", place=6, short_help="List where systems agree against the reference."
)
@stores_argument
@query_options("system", "tracks")
@option("group")
@click.option(
    "--least",
    type=click.FloatRange(0.5, 1, min_open=True),
    metavar="SHARE",
    help="Share of the systems that must agree on a label. Default: 1, all of them.",
)
@click.option(
    "--shortest", type=click.FloatRange(0), metavar="SECONDS", help="Length from which labels count. Default: 0.3."
)
@click.option("--worst", type=click.IntRange(min=1), metavar="N", help="Only the N heaviest of each evaluation.")
@option("root", "Folder of the annotations, if they are no longer where they were.")
@option("label")
@output_options
def consensus_command(
    stores: tuple[Path, ...],
    labels: tuple[str, ...],
    root: Path | None,
    style: str | None,
    output: Path | None,
    **options: Any,
) -> None:
    """List where the systems in STORE agree with each other against the reference, the heaviest places first.

    The annotations are read again. Labels of systems are weighed by how reliable each system is about each class
    (Dawid and Skene); events must be those of all systems. The weight is the length, or the number of events, times
    the agreement.
    """
    style = choose_format(style, output)
    from ..reports.doubted_references import consensus

    result = consensus(label_stores(stores, labels), root=root, **given_options(options))
    for note in result.notes:
        echo(note, err=True)
    emit(result, style, output)
