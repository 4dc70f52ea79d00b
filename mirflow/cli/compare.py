"""The command that compares systems: ``compare``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..metrics.aggregates import CLASS_AGGREGATES
from .common_options import LEVEL, Command, open_evaluations, option, stores_argument
from .output import FAILED, choose_format, emit, for_people, output_options

if TYPE_CHECKING:
    import xarray as xr

    from ..analysis.selection import Query
    from ..reports.tables import Table


@click.command("compare", cls=Command, place=3, short_help="Test the differences of systems.")
@stores_argument
@option("metric", "Repeat for several.")
@click.option("--primary", is_flag=True, help="The headline metric of each evaluation, one after the other.")
@option("aggregate")
@option("system")
@option("tracks")
@option("where", "Only tracks for which it holds: \"genre == 'Rock' and year < 1980\".")
@option("param")
@option("over")
@option("across")
@click.option(
    "--test",
    type=click.Choice(("auto", "permutation", "wilcoxon", "t")),
    help="Default: auto, a permutation test of the value itself.",
)
@click.option(
    "--correction",
    type=click.Choice(("auto", "max-t", "holm", "bh", "none")),
    help="For the many pairs of systems. Default: auto, max-t for permutation tests and holm for others.",
)
@click.option("--friedman", "by_ranks", is_flag=True, help="Friedman's test with Tukey-Kramer HSD, as MIREX.")
@click.option(
    "--unit",
    default="track",
    show_default=True,
    help="What counts once: a coordinate of the tracks; for --friedman also a dim of the metric (tag).",
)
@option("cluster", "A coordinate of the tracks (artist, album) to draw and to swap together.")
@click.option(
    "--baseline", metavar="SYSTEM|LABEL", help="Compare with this system, or with those of one of the STOREs."
)
@click.option(
    "--not-worse",
    type=click.FloatRange(0),
    metavar="MARGIN",
    help="Exit with 3 unless every other system is shown to be no worse than the baseline by more than this.",
)
@click.option("--level", type=LEVEL, default=0.95, show_default=True, help="Of intervals, and 1 - level of tests.")
@click.option("--replicates", type=click.IntRange(1), help="Of bootstrap and permutation. Default: 10000.")
@click.option("--rng", type=click.IntRange(0), help="The seed. Default: 0.")
@option("missing", "Cells without a score. Default: common.")
@option("undefined", "", default="keep", show_default=True)
@option("group")
@option("percent")
@option("label")
@output_options
def compare_command(
    stores: tuple[Path, ...],
    metric: tuple[str, ...],
    primary: bool,
    aggregate: str | None,
    system: tuple[str, ...],
    tracks: tuple[str, ...],
    where: str | None,
    param: dict[str, str],
    over: dict[str, str],
    across: dict[str, str],
    test: str | None,
    correction: str | None,
    by_ranks: bool,
    unit: str,
    cluster: str | None,
    level: float,
    replicates: int | None,
    rng: int | None,
    missing: str | None,
    undefined: str,
    group: str | None,
    percent: bool,
    baseline: str | None,
    not_worse: float | None,
    labels: tuple[str, ...],
    style: str | None,
    output: Path | None,
) -> None:
    """Compare every two systems in STORE; several stores are queried as one.

    Differences come with bootstrap intervals and corrected p-values over the tracks that the systems have in
    common; systems that share a letter are not told apart.
    """
    from ..analysis.queries import choose
    from ..analysis.selection import Query, headline_metric

    style = choose_format(style, output)
    given: dict[str, Any] = {
        "test": test,
        "correction": correction,
        "cluster": cluster,
        "replicates": replicates,
        "rng": rng,
    }
    how = {name: value for name, value in given.items() if value is not None}
    if by_ranks and how:
        raise click.UsageError(f"--friedman goes by ranks alone and takes no --{next(iter(how))}")
    _check_metrics(metric, primary, param, over)
    _check_gate(baseline, not_worse, by_ranks=by_ranks, test=test, correction=correction)
    chosen = system or None, tracks or None
    narrowed: dict[str, Any] = {"where": where, "param": param or None, "over": over or None, "across": across or None}
    query = Query(metric, aggregate, None, *chosen, missing=missing, undefined=undefined, **narrowed)
    found: list[Table] = []
    refused: list[str] = []
    for name, ds in choose(open_evaluations(stores, labels), None if primary else metric, group).items():
        if primary and not ds.sizes["metric"]:
            click.echo(f"{name}: left out, without a metric that is one number a track", err=True)
            continue
        if primary:
            query = replace(query, metric=headline_metric(ds), exact=True)
        asked: dict[str, Any] = {**how, "unit": unit, "level": level, "group": name}
        if baseline is not None:
            table, sentences = _gate(
                ds, query, baseline, not_worse or 0.0, asked, people=for_people(style), percent=percent
            )
            found, refused = [*found, table], [*refused, *sentences]
            continue
        found += _tables(ds, query, asked, by_ranks=by_ranks, people=for_people(style), percent=percent)
    emit(found, style, output)
    for sentence in refused if not_worse is not None else ():
        click.echo(sentence, err=True)
    if refused and not_worse is not None:
        click.get_current_context().exit(FAILED)


def _tables(
    ds: xr.Dataset, query: Query, how: dict[str, Any], *, by_ranks: bool, people: bool, percent: bool
) -> list[Table]:
    """The comparison of the systems of one evaluation."""
    from ..analysis.inference import compare, friedman
    from ..analysis.inference.repeated_runs import is_about_runs
    from ..analysis.per_class import rated_kind
    from ..reports import comparisons_tables as tables

    if query.across and rated_kind(ds, query) is None and not is_about_runs(ds, query):
        raise click.UsageError(
            f"--across is about runs, or classes and tags; add --aggregate {'|'.join(CLASS_AGGREGATES)}"
        )
    if by_ranks:
        ranks = friedman(ds, query, **how)
        return tables.friedman_tables(ranks) if people else [tables.friedman_long_table(ranks)]
    pairs = compare(ds, query, **how)
    return tables.comparison_tables(pairs, percent=percent) if people else [tables.comparison_long_table(pairs)]


def _gate(
    ds: xr.Dataset,
    query: Query,
    baseline: str,
    margin: float,
    how: dict[str, Any],
    *,
    people: bool,
    percent: bool,
) -> tuple[Table, list[str]]:
    """The comparison of systems with a baseline, and a sentence for each that is not shown to be as good."""
    from ..analysis.inference.noninferiority import noninferiority
    from ..reports import comparisons_tables as tables

    found = noninferiority(ds, query, baseline, margin, **how)
    table = tables.noninferiority_table(found, percent=percent) if people else tables.noninferiority_long_table(found)
    return table, tables.noninferiority_sentences(found, percent=percent)


def _check_gate(
    baseline: str | None, not_worse: float | None, *, by_ranks: bool, test: str | None, correction: str | None
) -> None:
    """Refuse a margin without a baseline, and options of tests beside one, which goes by intervals."""
    if not_worse is not None and baseline is None:
        raise click.UsageError("--not-worse is about a baseline; add --baseline")
    for name, given in (("friedman", by_ranks), ("test", test), ("correction", correction)):
        if baseline is not None and given:
            raise click.UsageError(f"--baseline goes by intervals of differences and takes no --{name}")


def _check_metrics(metrics: tuple[str, ...], primary: bool, param: dict[str, str], over: dict[str, str]) -> None:
    """Refuse a comparison of nothing, or of two things."""
    if not metrics and not primary:
        raise click.UsageError("say which metric to compare by: --metric NAME, or --primary")
    for name, given in (("metric", metrics), ("param", param), ("over", over)):
        if primary and given:
            raise click.UsageError(
                f"--primary compares by the headline metric of each evaluation and takes no --{name}"
            )
