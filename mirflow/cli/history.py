"""Command ``history``: the versions of a store at an address, and their tags."""

from __future__ import annotations

from pathlib import Path

import click

from .common_options import Command, store_argument
from .output import choose_format, echo, emit, output_options


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
