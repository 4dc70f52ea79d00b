"""Commands that read a result store: ``query`` and ``show``."""

from __future__ import annotations

from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..analysis.query_options import OPTIONS
from ..reports.tables import NAMES
from .common_options import (
    LEVEL,
    Command,
    label_stores,
    open_evaluations,
    option,
    query_options,
    store_argument,
    stores_argument,
)
from .output import choose_format, echo, emit, for_people, given_options, names_option, output_options

if TYPE_CHECKING:
    from ..analysis.missing import CellProblem
    from ..reports.tabulation import Tabulation


class _OptionalLevels(Command):
    """A command of which some options may have a number: what follows them and is none is left to the arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write out the defaults of such options where no number follows."""
        defaults = {
            flag: str(one.flag_value)
            for one in self.params
            if isinstance(one, click.Option) and not one.is_flag and isinstance(one.flag_value, float)
            for flag in one.opts
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


_OPTIONAL_LEVEL: dict[str, Any] = {"type": LEVEL, "is_flag": False, "flag_value": 0.95, "metavar": "[LEVEL]"}


@click.command(
    "query", cls=_OptionalLevels, section="ask", place=1, short_help="Aggregate scores: means, recalls, groups."
)
@stores_argument
@query_options(
    *OPTIONS, undefined="Treatment of scores with nothing to measure. Default: keep; with --worst and --best: skip."
)
@option("group")
@output_options
@click.option("--primary", is_flag=True, help="One table: the headline metric of each evaluation, systems across.")
@click.option("--worst", type=click.IntRange(1), metavar="N", help="List the N worst tracks of each system.")
@click.option("--best", type=click.IntRange(1), metavar="N", help="List the N best tracks of each system.")
@click.option(
    "--agreement",
    type=click.Choice(("metric", "annotator", "system")),
    help="How much alike metrics or annotators rank the systems, or systems the tracks: Kendall's tau.",
)
@click.option("--overall", is_flag=True, help="For --worst and --best: by the mean over the systems.")
@click.option("--ci", **_OPTIONAL_LEVEL, help="Confidence intervals by bootstrap over the tracks. Default level: 0.95.")
@option("cluster", "For --ci, --significance: a coordinate (artist) whose tracks are drawn together.")
@click.option(
    "--significance",
    **_OPTIONAL_LEVEL,
    help="Mark the systems that are not told apart from the best. Default level: 0.95.",
)
@click.option(
    "--pivot", type=click.Choice(("metric", "system", "group")), help="What runs across; in csv a column each."
)
@click.option("--stacked", is_flag=True, help="In LaTeX: intervals below their values.")
@click.option("--caption", help="In LaTeX: the caption, as LaTeX. Default: what the table holds.")
@click.option("--tex-label", help="In LaTeX: the label to refer to the table by.")
@click.option("--no-notes", is_flag=True, help="In LaTeX: nothing below the table.")
@names_option("In LaTeX; default: titles.")
@option("percent")
@option("label")
def query_command(
    stores: tuple[Path, ...], labels: tuple[str, ...], style: str | None, output: Path | None, **options: Any
) -> None:
    """Aggregate the scores in STORE over tracks; several stores are queried as one.

    Every result names its aggregate, the number of tracks (n), the numbers of cells without a score (missing) or
    with nothing to measure (undefined), and their treatment.
    """
    style = choose_format(style, output)
    latex = _latex(options, style)
    given = given_options(options)
    if not for_people(style):  # programs count on the store's order
        given.setdefault("sort", "stored")
    import_module("xarray")
    from ..api import query

    result = query(label_stores(stores, labels), **given)
    for note in () if for_people(style) else result.notes:
        echo(note, err=True)
    emit(result, style, output, latex)


def _latex(options: dict[str, Any], style: str) -> dict[str, Any]:
    """Take the options of LaTeX tables out of all options."""
    given = {name: options.pop(name) for name in ("stacked", "caption", "tex_label", "no_notes", "names")}
    for name, value in given.items():
        if value not in (None, False) and style != "latex":
            raise click.UsageError(f"--{name.replace('_', '-')} is about LaTeX; add --format latex")
    return {
        "stacked": given["stacked"],
        "caption": given["caption"],
        "label": given["tex_label"],
        "notes": not given["no_notes"],
        "names": given["names"] or NAMES[0],
    }


@click.command("show", cls=Command, section="ask", place=2, short_help="List the contents of a store.")
@store_argument
@option("group", "The evaluation. Default: all.")
@click.option("--pipeline", is_flag=True, help="Print the pipeline file that made the store, and nothing else.")
@click.option("--problems", is_flag=True, help="List every cell without a score, or of an empty file, with the reason.")
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
            raise click.UsageError(f"{store}: no pipeline made this store")
        echo(text, nl=False)
        return
    style = choose_format(style, output)
    import_module("xarray")
    from ..api import problems as list_problems
    from ..api import show

    if problems:
        _emit_problems(list_problems(store, group), style, output)
    else:
        emit(show(store, group), style, output)


def _emit_problems(found: Tabulation[CellProblem], style: str, output: Path | None) -> None:
    """The cells that are not as one takes for granted, as one table; and what was warned of."""
    from ..analysis.missing import count_scored

    people = for_people(style)
    if people and all(one.scored == "yes" for one in found):
        echo("; ".join(filter(None, ("every cell has a score", count_scored(found.items)))), err=True)
    if not people or not len(found):
        for note in found.notes:
            echo(note, err=True)
    if not people or len(found):
        emit(found, style, output)
