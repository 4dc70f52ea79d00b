"""The command that brings published scores into a store: ``import``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("import", short_help="Bring published scores into a store.")
@click.argument("table", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--mapping",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A YAML file: which metric stands in which column.",
)
@click.option("--store", "-o", required=True, type=click.Path(path_type=Path), help="Where the scores go.")
@click.option("--root", type=click.Path(file_okay=False, path_type=Path), help="Where the mapping's patterns start.")
@click.option("--overwrite", is_flag=True, help="Replace groups that another mapping brought.")
def import_command(table: Path | None, mapping: Path, store: Path, root: Path | None, overwrite: bool) -> None:
    """Bring the scores of published tables into a store of their own.

    TABLE stands in for the one that the mapping names; without it, the mapping's own paths are read.
    """
    from ..errors import counted
    from ..importing import import_scores

    if table is not None and root is not None:
        raise click.UsageError("--root is for the mapping's own paths; leave it out beside a TABLE")
    report = import_scores(mapping, store, root=root, table=table, overwrite=overwrite)
    for name, (systems, tracks, metrics) in report.shapes.items():
        lost = report.missing[name]
        without = f", {counted(lost, 'cell')} without a score" if lost else ""
        shape = f"{counted(systems, 'system')} x {counted(tracks, 'track')} x {counted(metrics, 'metric')}"
        click.echo(f"{name}: {shape}{without}", err=True)
    click.echo(f"{store} written", err=True)
