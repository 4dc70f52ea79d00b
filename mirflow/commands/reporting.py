"""The command that writes a page about a result store: ``report``."""

from __future__ import annotations

import time
from pathlib import Path

import click

from .options import label_option, label_stores, stores_argument


@click.command("report", short_help="Write one HTML page about a store, or several.")
@stores_argument
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The file to write; - for standard output.",
)
@click.option(
    "--metric", "-m", "metrics", multiple=True, help="What is shown first and judged in timelines. Repeat for several."
)
@click.option(
    "--timelines",
    default="auto",
    show_default=True,
    help="Tracks to look at and listen to: all, worst, none, a number; auto keeps the page reasonably small.",
)
@click.option(
    "--root",
    "roots",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Where the annotations are, if they were moved. Of several stores one for all, or one for each.",
)
@click.option("--title", help="Default: what was evaluated, and how many systems and tracks.")
@click.option(
    "--without-references",
    is_flag=True,
    help="Leave out the references and what is judged by them, item by item; for test sets that are not public.",
)
@label_option
def report_command(
    stores: tuple[Path, ...],
    output: Path,
    metrics: tuple[str, ...],
    timelines: str,
    roots: tuple[Path, ...],
    title: str | None,
    without_references: bool,
    labels: tuple[str, ...],
) -> None:
    """Write a page about STORE that needs nothing else: no server, no network; several stores are asked as one.

    Tables with intervals, distributions, the tracks to look at, what failed and why, and timelines of the annotations
    that can be listened to.
    """
    from ..progress import progress_for
    from ..report.page import write_page

    begun = time.perf_counter()
    named = label_stores(stores, labels)
    page = write_page(
        named,
        output,
        timelines=timelines,
        metrics=metrics,
        root=roots or None,
        title=title,
        references=not without_references,
        progress=progress_for(),
    )
    for note in page.notes:
        click.echo(note, err=True)
    seconds = time.perf_counter() - begun
    tracks = f"{page.tracks} track{'s' if page.tracks != 1 else ''} with a timeline"
    click.echo(f"{page.path} written: {page.size / 1e6:.1f} MB, {tracks} ({seconds:.1f} s)", err=True)
