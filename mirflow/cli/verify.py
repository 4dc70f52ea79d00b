"""Command ``verify``: signed numbers computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .common_options import Command, option
from .output import FAILED, choose_format, echo, emit, for_people, output_options

DIFFERENT = 1


@click.command(
    "verify", cls=Command, section="stores", place=7, short_help="Compute the signed numbers of a paper again."
)
@click.argument("document")
@click.option("--store", type=click.Path(path_type=Path), help="Aggregate the scores in a store.")
@click.option(
    "--pipeline",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Score the estimates of a pipeline file again.",
)
@click.option("--reference", metavar="FOLDER|PATTERN", help="Score estimates against these references.")
@click.option(
    "--estimates",
    metavar="FOLDER|PATTERN",
    help="The estimates: a folder with a folder for each system, or a pattern with {system} and {track}.",
)
@option("root", "Base folder of the pipeline's patterns.")
@click.option("--all", "every", is_flag=True, help="List every number, not only those that differ.")
@output_options
def verify_command(document: str, style: str | None, output: Path | None, **given: Any) -> None:
    """Compute the signed numbers of DOCUMENT again, and list those that differ.

    DOCUMENT is a file with tables that mirflow wrote (LaTeX, Markdown, HTML, CSV or JSON), or a signature. A number is
    equal if the computed one rounds to it; a cell that is not just a number cannot be computed. The exit code is 1 if a
    number differs, 3 if one cannot be computed.
    """
    from ..workflows.verification import DIFFERENT as DIFFERS
    from ..workflows.verification import UNKNOWN, verify

    style = choose_format(style, output)
    found = verify(document, **given)
    for note in () if for_people(style) else found.notes:
        echo(note, err=True)
    emit(found, style, output)
    verdicts = {one.verdict for one in found}
    if DIFFERS in verdicts:
        click.get_current_context().exit(DIFFERENT)
    if UNKNOWN in verdicts:
        click.get_current_context().exit(FAILED)
