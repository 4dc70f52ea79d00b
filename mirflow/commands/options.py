"""The options of questions to stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from ..analysis.names import AGGREGATES, CLASS_AGGREGATES, MISSING, TABLE_AGGREGATES, UNDEFINED
from .output import output_options

Command = TypeVar("Command", bound=Callable[..., Any])

store_argument = click.argument("store", type=click.Path(path_type=Path))
stores_argument = click.argument("stores", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="STORE...")
label_option = click.option(
    "--label", "labels", multiple=True, help="A name for each of several STOREs, put before its systems."
)
_KINDS = tuple(dict.fromkeys([*AGGREGATES, *TABLE_AGGREGATES, *CLASS_AGGREGATES]))


def label_stores(stores: Sequence[Path], labels: Sequence[str]) -> dict[str, str | Path] | list[str | Path]:
    """Several stores to be opened as one, by their labels if they have some."""
    if labels and len(labels) != len(stores):
        raise click.UsageError(f"{len(labels)} labels for {len(stores)} stores; give each store one, or none")
    if len(set(labels)) < len(labels):
        raise click.UsageError("two stores have the same label")
    return dict(zip(labels, stores, strict=True)) if labels else [*stores]


def _pairs(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """``name=value``, in the order given."""
    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise click.BadParameter(f"write it as name=value, not {text!r}")
        if name in pairs:
            raise click.BadParameter(f"{name} is given twice")
        pairs[name] = value
    return pairs


param_option = click.option(
    "--param", multiple=True, callback=_pairs, metavar="NAME=VALUE", help="Only metrics with this parameter."
)
over_option = click.option(
    "--over",
    multiple=True,
    callback=_pairs,
    metavar="DIM=HOW",
    help="Of metrics with extra dims, in each track: mean, median, sum, min, max, or one label. In the order given.",
)


across_option = click.option(
    "--across",
    multiple=True,
    callback=_pairs,
    metavar="DIM=HOW",
    help="Across the figures of groups or classes: mean, std, median, min, max. fold=mean,std gives both.",
)
aggregate_option = click.option(
    "--aggregate", "-a", type=click.Choice(_KINDS), help="Default: the one that the field reports for each metric."
)


def choosing_options(command: Command) -> Command:
    """What a question is about: metrics, systems, tracks, annotators, parameters, policies."""
    options = [
        click.option("--metric", "-m", multiple=True, help="Repeat for several. Default: all."),
        aggregate_option,
        click.option(
            "--systems", "--system", "-s", "system", multiple=True, help="Names or patterns (*). Repeat for several."
        ),
        click.option(
            "--tracks", "--track", "-t", "tracks", multiple=True, help="Names or patterns (*). Repeat for several."
        ),
        click.option(
            "--where", "-w", help="Only tracks for which it holds: \"genre == 'Rock' and year < 1980\". See the docs."
        ),
        click.option("--annotator", multiple=True, help="Only scores against this annotator. Repeat for several."),
        param_option,
        click.option(
            "--by",
            "-b",
            multiple=True,
            help="Group tracks by a coordinate (genre, ...) or by annotator, or list each: track.",
        ),
        over_option,
        click.option(
            "--missing",
            type=click.Choice(tuple(MISSING)),
            help="Cells without a score. Default: common (tracks that all systems have) for several, else skip.",
        ),
        click.option(
            "--undefined",
            type=click.Choice(tuple(UNDEFINED)),
            help="Scores with nothing to measure. Default: keep; of --worst and --best: skip.",
        ),
        click.option("--group", "-g", help="Which evaluation. Default: every one that has the metrics."),
        click.option(
            "--sort",
            metavar="METRIC|best|name|stored",
            help="Order of the systems. Default: best (by the first metric) in tables for people, else stored.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


class OptionalLevels(click.Command):
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
            for arg, after in zip(args[:end], [*args[1:end], ""], strict=True)
        ]
        return super().parse_args(ctx, [*given, *args[end:]])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def showing_options(command: Command) -> Command:
    """What stands beside the figures, and how they are laid out."""
    options = [
        across_option,
        click.option(
            "--primary", is_flag=True, help="One table: the headline metric of each evaluation, systems across."
        ),
        click.option("--worst", type=click.IntRange(1), metavar="N", help="List the N worst tracks of each system."),
        click.option("--best", type=click.IntRange(1), metavar="N", help="List the N best tracks of each system."),
        click.option("--overall", is_flag=True, help="For --worst and --best: by the mean over the systems."),
        click.option(
            "--ci",
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            is_flag=False,
            flag_value=0.95,
            metavar="[LEVEL]",
            help="Confidence intervals by bootstrap over the tracks. Default level: 0.95.",
        ),
        click.option(
            "--cluster", help="For --ci, --significance: a coordinate (artist) whose tracks are drawn together."
        ),
        click.option(
            "--significance",
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            is_flag=False,
            flag_value=0.95,
            metavar="[LEVEL]",
            help="Mark the systems that are not told apart from the best. Default level: 0.95.",
        ),
        click.option(
            "--pivot", type=click.Choice(("metric", "system", "group")), help="What runs across tables for people."
        ),
        click.option("--stacked", is_flag=True, help="In LaTeX: intervals below their figures."),
        click.option("--caption", help="In LaTeX: what stands above, as LaTeX. Default: what the table holds."),
        click.option("--tex-label", help="In LaTeX: the label to refer to the table by."),
        click.option("--no-notes", is_flag=True, help="In LaTeX: nothing below the table."),
        click.option("--percent", is_flag=True, help="Ratios as percentages, in tables for people."),
    ]
    for option in reversed(options):
        command = option(command)
    return output_options(command)
