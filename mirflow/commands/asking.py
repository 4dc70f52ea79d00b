"""Commands that ask a result store: ``query`` and ``show``."""

from __future__ import annotations

from pathlib import Path

import click

from .output import choose_format, emit, for_people, output_options, terminal_width

_AGGREGATES = ("mean", "median", "pooled", "wcsr", "wcsr_tn", "wcsr_total")
_MISSING = ("raise", "zero", "skip", "common")

store_argument = click.argument("store", type=click.Path(path_type=Path))


@click.command("query", short_help="Ask a store for means, recalls, groups.")
@store_argument
@click.option("--metric", "-m", "metrics", multiple=True, help="Repeat for several. Default: all.")
@click.option(
    "--aggregate", "-a", type=click.Choice(_AGGREGATES), help="Default: the one that the field reports for each metric."
)
@click.option("--system", "-s", "systems", multiple=True, help="Repeat for several. Default: all.")
@click.option("--by", "-b", "by", multiple=True, help="Group tracks by a coordinate (genre, ...), or list each: track.")
@click.option(
    "--missing",
    type=click.Choice(_MISSING),
    help="Cells without a score. Default: common (tracks that every system has) for several systems, else skip.",
)
@click.option(
    "--undefined",
    type=click.Choice(("keep", "skip")),
    default="keep",
    show_default=True,
    help="Scores with nothing to measure.",
)
@click.option("--group", "-g", help="Which evaluation. Default: every one that has the metrics.")
@click.option("--percent", is_flag=True, help="Ratios as percentages, in tables for people.")
@output_options
def query_command(
    store: Path,
    metrics: tuple[str, ...],
    aggregate: str | None,
    systems: tuple[str, ...],
    by: tuple[str, ...],
    missing: str | None,
    undefined: str,
    group: str | None,
    percent: bool,
    style: str | None,
    output: Path | None,
) -> None:
    """Aggregate the scores in STORE over tracks.

    Every answer says which aggregate it is, over how many tracks (n), how many cells had no score (missing) or
    nothing to measure (undefined), and what was done about them.
    """
    from ..analysis.aggregate import ask
    from ..analysis.query import choose
    from ..analysis.scoreboard import read_store
    from ..report.answers import long_table
    from ..report.layouts import readable_table

    style = choose_format(style, output)
    answers = [
        ask(
            board,
            metrics or None,
            aggregate,
            by or None,
            system=systems or None,
            missing=missing,
            undefined=undefined,
            group=name,
        )
        for name, board in choose(read_store(store), metrics or None, group).items()
    ]
    if for_people(style):
        tables = [readable_table(answer, percent=percent, width=terminal_width()) for answer in answers]
    else:
        tables = [long_table(answer) for answer in answers]
    emit(tables, style, output)


@click.command("show", short_help="Say what is in a store.")
@store_argument
@click.option("--group", "-g", help="Which evaluation. Default: all.")
@click.option("--pipeline", is_flag=True, help="Print the pipeline file that made the store, and nothing else.")
@output_options
def show_command(store: Path, group: str | None, pipeline: bool, style: str | None, output: Path | None) -> None:
    """Say what is in STORE: evaluations, systems, tracks, metrics, coverage and where they come from."""
    from ..analysis.query import choose
    from ..analysis.scoreboard import read_store
    from ..report.contents import contents_table, coverage_table

    boards = choose(read_store(store), None, group)
    if pipeline:
        click.echo(next(iter(boards.values())).attrs.get("pipeline", ""), nl=False)
        return
    style = choose_format(style, output)
    coverage = [coverage_table(name, board) for name, board in boards.items()]
    if for_people(style):
        contents = [contents_table(name, board) for name, board in boards.items()]
        coverage = [table for pair in zip(contents, coverage, strict=True) for table in pair]
    emit(coverage, style, output)
