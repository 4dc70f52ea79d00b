"""Commands that read a result store: ``query`` and ``show``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..analysis.query_options import BESIDE, OPTIONS
from .common_options import (
    LEVEL,
    Command,
    Decorated,
    label_stores,
    open_evaluations,
    option,
    query_options,
    store_argument,
    stores_argument,
)
from .output import choose_format, echo, emit, for_people, given_options, output_options

if TYPE_CHECKING:
    from ..analysis.missing import CellProblem
    from ..reports.tables import Tabulation


class _OptionalLevels(Command):
    """A command whose options may have an optional number; other values after them are arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the defaults of such options if no number follows."""
        defaults = {
            flag: str(param.flag_value)
            for param in self.params
            if isinstance(param, click.Option) and not param.is_flag and isinstance(param.flag_value, float)
            for flag in param.opts
        }
        end = args.index("--") if "--" in args else len(args)
        given = [
            f"{arg}={defaults[arg]}" if arg in defaults and not _is_number(after) else arg
            for arg, after in zip_longest(args[:end], args[1:end], fillvalue="")
        ]
        return super().parse_args(ctx, [*given, *args[end:]])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _optional_level(name: str) -> Callable[[Decorated], Decorated]:
    words = f"{BESIDE[name].help} Default level: 0.95."
    return option(name, words, type=LEVEL, is_flag=False, flag_value=0.95, metavar="[LEVEL]")


@click.command(
    "query", cls=_OptionalLevels, section="ask", place=1, short_help="Aggregate scores: means, recalls, groups."
)
@stores_argument
@query_options(
    *OPTIONS, undefined="Treatment of scores with nothing to measure. Default: keep; with --worst and --best: skip."
)
@option("group")
@output_options
@click.option(
    "--primary", is_flag=True, help="Print one table: the headline metric of each evaluation, with systems as columns."
)
@click.option(
    "--all", "every", is_flag=True, help="All metrics. Default without --metric: the main ones; in other formats all."
)
@click.option("--worst", type=click.IntRange(1), metavar="N", help="List the N worst tracks of each system.")
@click.option("--best", type=click.IntRange(1), metavar="N", help="List the N best tracks of each system.")
@option("agreement")
@click.option("--overall", is_flag=True, help="With --worst and --best: by the mean over the systems.")
@_optional_level("ci")
@option("cluster")
@option("method")
@_optional_level("significance")
@_optional_level("ranks")
@option("oracle", is_flag=True)
@option("against", metavar="COORDINATE|duration|others|METRIC")
@click.option(
    "--pivot", type=click.Choice(("metric", "system", "group")), help="Columns of the table; in csv, one column each."
)
@click.option("--stacked", is_flag=True, help="In LaTeX: intervals below their values.")
@click.option("--caption", help="In LaTeX: the caption, as LaTeX. Default: the contents of the table.")
@click.option("--tex-label", help="In LaTeX: the label of the table.")
@option("names")
@option("percent")
@option("label")
@click.option("--signatures", is_flag=True, help="Print the signatures of the numbers below a table (see verify).")
def query_command(
    stores: tuple[Path, ...],
    labels: tuple[str, ...],
    style: str | None,
    output: Path | None,
    signatures: bool,
    every: bool,
    **options: Any,
) -> None:
    """Aggregate the scores in STORE over tracks; several stores are queried as one.

    Every result names its aggregate, the number of tracks (n), the numbers of cells without a score (missing) or
    with nothing to measure (undefined), and their treatment.
    """
    style = choose_format(style, output)
    latex = _latex(options, style)
    given = given_options(options)
    given["main"] = style == "table" and not every
    from ..api import query, takes

    if not for_people(style) and takes("sort", given):  # programs rely on the store's order
        given.setdefault("sort", "stored")

    result = query(label_stores(stores, labels), **given)
    for note in () if for_people(style) else result.notes:
        echo(note, err=True)
    emit(result, style, output, latex, signed=signatures)


def _latex(options: dict[str, Any], style: str) -> dict[str, Any]:
    """Remove the options of LaTeX tables from all options, and return them."""
    from ..reports.tables import NAMES

    given = {name: options.pop(name) for name in ("stacked", "caption", "tex_label", "names")}
    for name, value in given.items():
        if value not in (None, False) and style != "latex":
            raise click.UsageError(f"--{name.replace('_', '-')} needs --format latex")
    if given["stacked"] and options["ci"] is None:
        raise click.UsageError("--stacked puts intervals below their values; add --ci")
    if given["names"] and options["overall"]:
        raise click.UsageError("--overall has no column with the name of a metric and takes no --names")
    return {
        "stacked": given["stacked"],
        "caption": given["caption"],
        "label": given["tex_label"],
        "names": given["names"] or NAMES[0],
    }


@click.command("show", cls=Command, section="ask", place=2, short_help="List the contents of a store.")
@store_argument
@option("group", "The evaluation. Default: all.")
@click.option("--pipeline", is_flag=True, help="Print only the pipeline file of the store.")
@click.option("--problems", is_flag=True, help="List all cells without a score or with an empty file, with the reason.")
@output_options
def show_command(
    store: Path, group: str | None, pipeline: bool, problems: bool, style: str | None, output: Path | None
) -> None:
    """List the contents of STORE: evaluations, systems, tracks, metrics, coverage and provenance."""
    if pipeline:
        from ..analysis.queries import choose

        boards = choose(open_evaluations([store]), None, group)
        text = next(iter(boards.values())).attrs.get("pipeline", "")
        if not text:
            raise click.UsageError(f"{store}: the store was not made by a pipeline")
        echo(text, nl=False)
        return
    style = choose_format(style, output)
    from ..api import problems as list_problems
    from ..api import show

    if problems:
        _emit_problems(list_problems(store, group), style, output)
    else:
        emit(show(store, group), style, output)


def _emit_problems(found: Tabulation[CellProblem], style: str, output: Path | None) -> None:
    """Print the cells with problems as one table, and the warnings."""
    from ..analysis.missing import count_scored

    people = for_people(style)
    if people and all(one.scored == "yes" for one in found):
        echo("; ".join(filter(None, ("every cell has a score", count_scored(found.items)))), err=True)
    if not people or not len(found):
        for note in found.notes:
            echo(note, err=True)
    if not people or len(found):
        emit(found, style, output)
