"""The command that reads published tables into a store: ``import``."""

from __future__ import annotations

from pathlib import Path

import click

from .common_options import Command, LocalPath, option
from .output import echo


@click.command("import", cls=Command, section="score", place=5, short_help="Import published scores into a store.")
@click.argument("table", required=False, type=LocalPath(exists=True, dir_okay=False))
@click.option(
    "--mapping",
    required=True,
    type=LocalPath(exists=True, dir_okay=False),
    help="A YAML file that assigns columns to metrics.",
)
@click.option("--store", "-o", required=True, type=click.Path(path_type=Path), help="Path of the store.")
@option("root", "Base folder of the mapping's patterns.")
@click.option("--overwrite", is_flag=True, help="Replace groups imported with another mapping.")
def import_command(table: Path | None, mapping: Path, store: Path, root: Path | None, overwrite: bool) -> None:
    """Import the scores of published tables into a separate store.

    TABLE replaces the path in the mapping.
    """
    from ..errors import counted
    from ..published.score_tables import import_scores
    from ..remote import as_given

    if table is not None and root is not None:
        raise click.UsageError("--root applies to the mapping's paths; omit it if you give a TABLE")
    report = import_scores(mapping, store, root=root, table=table, overwrite=overwrite)
    for name, (systems, tracks, metrics) in report.shapes.items():
        lost = report.missing[name]
        without = f", {counted(lost, 'cell')} without a score" if lost else ""
        shape = f"{counted(systems, 'system')} x {counted(tracks, 'track')} x {counted(metrics, 'metric')}"
        echo(f"{name}: {shape}{without}", err=True)
    echo(f"{as_given(store)} written", err=True)
