"""Commands ``history``, versions of a store at an address, and ``import``, which reads published tables into one."""

from __future__ import annotations

from pathlib import Path

import click

from .common_options import Command, LocalPath, option, store_argument
from .output import choose_format, echo, emit, output_options


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


@click.command(
    "history", cls=Command, section="stores", place=5, short_help="List the versions of a store at an address."
)
@store_argument
@click.option("--tag", metavar="NAME", help="Give the latest version, or the one that the address names, a name.")
@output_options
def history_command(store: Path, tag: str | None, style: str | None, output: Path | None) -> None:
    """List the commits of a store at an address, the latest first.

    STORE is an address such as s3://bucket/stores/x. Every command reads an earlier version at ADDRESS@VERSION, where
    VERSION is a tag, a commit, or a date.
    """
    from ..reports.tables import Table
    from ..store.repositories import history, tag_version

    style = choose_format(style, output)
    if tag is not None:
        echo(f"{tag_version(store, tag)}")
        return
    rows = tuple(
        (
            one.id,
            one.time.isoformat(" ", "seconds"),
            one.pipeline,
            one.message,
            ", ".join(one.tags) or None,
            one.versions.get("mirflow"),
        )
        for one in history(store)
    )
    emit([Table(("commit", "time", "pipeline", "written", "tags", "mirflow"), rows, folds=("written",))], style, output)
