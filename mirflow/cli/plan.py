"""The command that plans collections: ``plan``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .common_options import LEVEL, Command, label_stores, option, query_options, stores_argument
from .output import choose_format, echo, emit, for_people, given_options, output_options


@click.command(
    "plan", cls=Command, section="systems", place=4, short_help="Estimate how many tracks a difference takes."
)
@stores_argument
@click.option(
    "--difference",
    type=click.FloatRange(0, min_open=True),
    metavar="SIZE",
    help="The difference to be shown, in the unit of the metric. Default: that of the systems in STORE.",
)
@click.option(
    "--power",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.8,
    show_default=True,
    help="Probability with which it is to be shown.",
)
@query_options("metric", metric="Metrics by name or alias. Repeat for several. Default: the headline.")
@click.option(
    "--annotations",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Tracks for 1 to N annotators of each, from a STORE with the scores of each annotator (combine: each).",
)
@query_options("aggregate", "system", "tracks", "where", "annotator", "param", "over")
@option("correction")
@option("cluster")
@click.option("--level", type=LEVEL, default=0.95, show_default=True, help="Tests use 1 - level.")
@query_options("missing", "undefined", missing="Treatment of cells without a score. Default: common.")
@option("group")
@option("percent")
@option("all_pairs")
@option("label")
@output_options
def plan_command(
    stores: tuple[Path, ...], labels: tuple[str, ...], style: str | None, output: Path | None, **options: Any
) -> None:
    """Estimate the smallest difference that the tracks in STORE show, and how many tracks another one takes.

    STORE has scores of systems on tracks like those of the collection that is planned. The numbers are for the
    permutation test of ``compare`` between all systems of the query. With --annotations, variances between tracks and
    between annotators say how many annotators a track should have.
    """
    style = choose_format(style, output)
    from ..system_comparisons import plan

    result = plan(label_stores(stores, labels), **given_options(options))
    for note in () if for_people(style) else result.notes:
        echo(note, err=True)
    emit(result, style, output)
