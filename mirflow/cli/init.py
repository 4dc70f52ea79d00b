"""Command ``init``: a pipeline file for the annotations in a folder."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from .common_options import Command, LocalPath
from .output import echo


@click.command("init", cls=Command, section="first", place=4, short_help="Draft a pipeline file for a folder.")
@click.argument("folder", type=LocalPath(exists=True, file_okay=False), default=".")
@click.option("--reference", multiple=True, metavar="FOLDER", help="A folder of references, by name or path. Repeat.")
@click.option("--estimates", multiple=True, metavar="FOLDER", help="A folder of estimates, by name or path. Repeat.")
@click.option("--output", "-o", type=LocalPath(dir_okay=False), help="The file. Default: pipeline.yaml in FOLDER.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
def init_command(
    folder: Path, reference: tuple[str, ...], estimates: tuple[str, ...], output: Path | None, force: bool
) -> None:
    """Write a pipeline file for the references and estimates in FOLDER (default: the working directory).

    Sides are recognised by names of folders or files (reference, annotations, gt; estimates, systems, preds, ...),
    tasks by suffixes and the contents of some files. A few tracks are scored. Comments in the file say what was found
    and scored, what is uncertain, and what is not used and why.
    """
    path = folder / "pipeline.yaml" if output is None else output
    if path.exists() and not force:
        raise click.UsageError(f"{path} exists; overwrite it with --force, or choose another file with --output")
    if not path.parent.is_dir():
        raise click.UsageError(f"{path.parent}: no such folder; create it, or choose another file with --output")
    from ..pipeline.draft import draft_pipeline

    text = draft_pipeline(folder, reference=reference, estimates=estimates, place=path.parent)
    path.write_text(text, encoding="utf-8")
    echo(text, nl=False)
    echo(f"{path} written; next: mirflow run {shlex.quote(str(path))}", err=True)
