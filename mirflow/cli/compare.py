"""The command that compares systems: ``compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .common_options import LEVEL, Command, label_stores, option, query_options, stores_argument
from .output import FAILED, choose_format, echo, emit, given_options, output_options


@click.command("compare", cls=Command, section="first", place=7, short_help="Test the differences of systems.")
@stores_argument
@query_options("metric", metric="Metrics by name or alias. Repeat for several.")
@click.option("--primary", is_flag=True, help="Compare by the headline metric of each evaluation.")
@query_options("aggregate", "system", "tracks", "where", "param", "over", "across")
@click.option(
    "--test",
    type=click.Choice(("auto", "permutation", "wilcoxon", "t")),
    help="Default: auto, a permutation test of the value itself.",
)
@option("correction")
@click.option("--friedman", "by_ranks", is_flag=True, help="Friedman's test with Tukey-Kramer HSD, as MIREX.")
@click.option(
    "--unit",
    default="track",
    show_default=True,
    help="Unit of observation: a coordinate of the tracks; for --friedman also a dim of the metric (tag).",
)
@option("cluster")
@click.option("--baseline", metavar="SYSTEM|LABEL", help="Compare with this system, or with the systems of one STORE.")
@click.option(
    "--not-worse",
    type=click.FloatRange(0),
    metavar="MARGIN",
    help="Exit with 3 unless every other system is shown to be no worse than the baseline by more than this.",
)
@click.option("--worst", type=click.IntRange(1), metavar="N", help="List N tracks that lose most from the baseline.")
@click.option("--best", type=click.IntRange(1), metavar="N", help="List N tracks that gain most from the baseline.")
@click.option("--level", type=LEVEL, default=0.95, show_default=True, help="Level of intervals; tests use 1 - level.")
@click.option(
    "--anytime",
    type=click.IntRange(1),
    metavar="N",
    help="Intervals and tests that hold at every look while tracks are added, narrowest at N tracks.",
)
@click.option("--replicates", type=click.IntRange(1), help="Replicates of the permutation test. Default: 10000.")
@click.option("--rng", type=click.IntRange(0), help="The seed. Default: 0.")
@query_options("missing", "undefined", missing="Treatment of cells without a score. Default: common.")
@option("group")
@option("percent")
@click.option(
    "--all-pairs",
    is_flag=True,
    help="List all pairs of systems, not only those with the best system; of more than 100, compare all.",
)
@option("label")
@option("names")
@output_options
def compare_command(
    stores: tuple[Path, ...],
    labels: tuple[str, ...],
    by_ranks: bool,
    not_worse: float | None,
    percent: bool,
    all_pairs: bool,
    names: str | None,
    style: str | None,
    output: Path | None,
    **options: Any,
) -> None:
    """Compare all pairs of systems in STORE; several stores are queried as one.

    Differences come with intervals and corrected p-values over the tracks that the systems have in common. Systems
    that share a letter do not differ significantly. Tables show the best system with each other one, csv and json
    all pairs. Of more than 100 systems only the best one is compared with each other one, unless you ask for all.
    """
    style = choose_format(style, output)
    if names is not None and style != "latex":
        raise click.UsageError("--names needs --format latex")
    if not_worse is not None and options["baseline"] is None:
        raise click.UsageError("--not-worse needs --baseline")
    from ..reports.comparisons_tables import noninferiority_sentences
    from ..reports.tables import NAMES
    from ..system_comparisons import compare

    result = compare(
        label_stores(stores, labels),
        friedman=by_ranks,
        margin=not_worse or 0.0,
        percent=percent,
        all_pairs=all_pairs,
        **given_options(options),
    )
    for note in result.notes:
        echo(note, err=True)
    emit(result, style, output, {"names": names or NAMES[0]})
    if not_worse is None:
        return
    refused = [
        sentence for ds in result if "verdict" in ds for sentence in noninferiority_sentences(ds, percent=percent)
    ]
    for sentence in refused:
        echo(sentence, err=True)
    if refused:
        click.get_current_context().exit(FAILED)
