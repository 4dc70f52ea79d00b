"""Commands that ask a result store: ``query`` and ``show``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..analysis.names import AGGREGATES, MISSING, TABLE_AGGREGATES, UNDEFINED
from .output import choose_format, emit, for_people, output_options, tables_of

if TYPE_CHECKING:
    from ..analysis.scoreboard import Scoreboard

store_argument = click.argument("store", type=click.Path(path_type=Path))


@click.command("query", short_help="Ask a store for means, recalls, groups.")
@store_argument
@click.option("--metric", "-m", "metrics", multiple=True, help="Repeat for several. Default: all.")
@click.option(
    "--aggregate",
    "-a",
    type=click.Choice(tuple(dict.fromkeys([*AGGREGATES, *TABLE_AGGREGATES]))),
    help="Default: the one that the field reports for each metric.",
)
@click.option("--system", "-s", "systems", multiple=True, help="Repeat for several. Default: all.")
@click.option(
    "--by",
    "-b",
    "by",
    multiple=True,
    help="Group tracks by a coordinate (genre, ...) or by annotator, or list each: track.",
)
@click.option(
    "--missing",
    type=click.Choice(tuple(MISSING)),
    help="Cells without a score. Default: common (tracks that every system has) for several systems, else skip.",
)
@click.option(
    "--undefined",
    type=click.Choice(tuple(UNDEFINED)),
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
    from ..analysis.query import answers, choose
    from ..analysis.question import Question
    from ..analysis.scoreboard import read_store

    style = choose_format(style, output)
    question = Question(metrics or None, aggregate, by or None, systems or None, missing=missing, undefined=undefined)
    boards = choose(read_store(store), question.metric, group)
    found = [answer for name, board in boards.items() for answer in answers(board, question, name)]
    emit([table for answer in found for table in tables_of(answer, style, percent)], style, output)


@click.command("show", short_help="Say what is in a store.")
@store_argument
@click.option("--group", "-g", help="Which evaluation. Default: all.")
@click.option("--pipeline", is_flag=True, help="Print the pipeline file that made the store, and nothing else.")
@click.option("--problems", is_flag=True, help="List every cell without a score, with the reason.")
@output_options
def show_command(
    store: Path, group: str | None, pipeline: bool, problems: bool, style: str | None, output: Path | None
) -> None:
    """Say what is in STORE: evaluations, systems, tracks, metrics, coverage and where they come from."""
    from ..analysis.query import choose
    from ..analysis.scoreboard import read_store
    from ..report.contents import contents_table, coverage_table

    boards = choose(read_store(store), None, group)
    if pipeline:
        click.echo(next(iter(boards.values())).attrs.get("pipeline", ""), nl=False)
        return
    style = choose_format(style, output)
    if problems:
        _emit_problems(boards, style, output)
        return
    coverage = [coverage_table(name, board) for name, board in boards.items()]
    if for_people(style):
        contents = [contents_table(name, board) for name, board in boards.items()]
        coverage = [table for pair in zip(contents, coverage, strict=True) for table in pair]
    emit(coverage, style, output)


def _emit_problems(boards: Mapping[str, Scoreboard], style: str, output: Path | None) -> None:
    """The cells without a score of all evaluations, as one table."""
    from ..analysis.problems import find_problems
    from ..report.problems import problems_table
    from ..report.tables import merge

    tables = [problems_table(name, find_problems(board), cut=for_people(style)) for name, board in boards.items()]
    emit([replace(merge(tables), folds=tables[0].folds)], style, output)
