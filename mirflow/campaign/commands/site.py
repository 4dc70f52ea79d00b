"""Commands for results sites: ``site``, and ``archive`` for the years of a campaign."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from ...analysis.query_options import DEFAULT_LEVEL
from ...cli.common_options import LEVEL, Command, LocalPath, label_stores, stores_argument
from ...cli.output import choose_format, echo, emit, output_options
from . import default_option


@click.command(
    "site",
    cls=Command,
    section="campaign",
    place=1,
    short_help="Write a results site about stores: static pages in a folder.",
)
@stores_argument
@default_option(
    "--output", "-o", default=Path("site"), type=LocalPath(), help="Output folder; an existing site is replaced."
)
@click.option("--title", default="Evaluation results", show_default=True, help="Title of the site.")
@click.option("--url", default="", help="Future address of the site, for its feed and previews of links.")
@click.option("--note", default="", help="Footer of every page, such as the licence of the data.")
@click.option(
    "--label",
    "labels",
    multiple=True,
    help="Name for each of several STOREs in addresses of pages. Default: name of the folder.",
)
@click.option(
    "--timelines",
    default="auto",
    show_default=True,
    help="Timelines of the reports, and pictures on pages of tracks: all, worst, none, a number, or auto.",
)
@click.option(
    "--root",
    "roots",
    type=LocalPath(),
    multiple=True,
    help="Folder of the annotations, if they were moved. One for all stores, or one for each.",
)
@click.option(
    "--archive",
    type=LocalPath(),
    help="A table of years, as for `mirflow archive`. Default: the years of the systems, if stores have them.",
)
@default_option("--level", default=DEFAULT_LEVEL, type=LEVEL, help="Confidence level of the intervals.")
@click.option("--without-references", is_flag=True, help="Leave out references and messages that may quote them.")
@click.option("--only-aggregates", is_flag=True, help="Leave out scores by track, and names and pages of tracks.")
def site_command(stores: tuple[Path, ...], output: Path, labels: tuple[str, ...], **options: Any) -> None:
    """Write a site about each STORE to a folder that works from disk and from any web server.

    The site has a front page with the leaders, recent changes and all systems by all evaluations; a report for each
    store; a page for every evaluation, system and track; every table as JSON; and a feed of changes.
    """
    from ...progress import progress_for
    from ..site.build import write_site

    begun = time.perf_counter()
    label_stores(stores, labels)
    named = dict(zip(labels, stores, strict=True)) if labels else stores
    options |= {"references": not options.pop("without_references"), "root": options.pop("roots") or None}
    made = write_site(named, output, progress=progress_for(), **options)
    for text in made.notes:
        echo(text, err=True)
    for change in made.changes:
        echo(f"changed: {change.title}", err=True)
    seconds = time.perf_counter() - begun
    amount = f"{made.pages} pages, {made.size / 1e6:.1f} MB ({seconds:.1f} s)"
    echo(f"{made.path / 'index.html'} written: {amount}", err=True)


@click.command(
    "archive",
    cls=Command,
    section="campaign",
    place=2,
    short_help="Tabulate the years of a campaign: tasks, runs, best values.",
)
@click.argument("table", type=LocalPath())
@output_options
def archive_command(table: Path, style: str | None, output: Path | None) -> None:
    """Show the years in TABLE: task sets and runs, and the best value of each task by its primary metric.

    TABLE is a CSV file with a header, or a YAML list: a year and a store in each row, or results published elsewhere.
    """
    from ..site.archive import read_archive

    chosen = choose_format(style, output)
    emit(read_archive(table).tabulation(), chosen, output)
