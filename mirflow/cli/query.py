"""Commands that read a result store: ``query`` and ``show``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .common_options import LEVEL, Command, open_evaluations, option, store_argument, stores_argument
from .output import Latex, choose_format, emit, for_people, output_options, tables_of

if TYPE_CHECKING:
    import xarray as xr

    from ..analysis.selection import Query
    from ..reports.tables import Table


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


@click.command("query", cls=_OptionalLevels, place=2, short_help="Aggregate scores: means, recalls, groups.")
@stores_argument
@option("metric")
@option("aggregate")
@click.option("--systems", "--system", "-s", "system", multiple=True, help="Names or patterns (*). Repeat for several.")
@click.option("--tracks", "--track", "-t", "tracks", multiple=True, help="Names or patterns (*). Repeat for several.")
@option("where")
@option("annotator", "Only scores against this annotator. Repeat for several.", multiple=True, callback=None)
@option("param")
@click.option(
    "--by", "-b", multiple=True, help="Group tracks by a coordinate (genre, ...) or by annotator, or list each: track."
)
@option("over")
@option("missing", "Cells without a score. Default: common (tracks that all systems have) for several, else skip.")
@option("undefined", "Scores with nothing to measure. Default: keep; of --worst and --best: skip.")
@option("group")
@click.option(
    "--sort",
    metavar="METRIC|best|name|stored",
    help="Order of systems. Default: best (by the headline or first metric) in tables for people, else stored.",
)
@output_options
@option("across")
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
@click.option("--pivot", type=click.Choice(("metric", "system", "group")), help="What runs across tables for people.")
@click.option("--stacked", is_flag=True, help="In LaTeX: intervals below their values.")
@click.option("--caption", help="In LaTeX: the caption, as LaTeX. Default: what the table holds.")
@click.option("--tex-label", help="In LaTeX: the label to refer to the table by.")
@click.option("--no-notes", is_flag=True, help="In LaTeX: nothing below the table.")
@option("percent")
@option("label")
def query_command(
    stores: tuple[Path, ...], labels: tuple[str, ...], style: str | None, output: Path | None, **options: Any
) -> None:
    """Aggregate the scores in STORE over tracks; several stores are queried as one.

    Every result names its aggregate, the number of tracks (n), the numbers of cells without a score (missing) or
    with nothing to measure (undefined), and their treatment.
    """
    from ..analysis.queries import choose

    style = choose_format(style, output)
    _check_options(options, style)
    query = _query(options, style)
    boards = choose(open_evaluations(stores, labels), query.metric, options["group"])
    tables: list[Table] = _primary(boards, query, style, options) if options["primary"] else []
    for name, ds in {} if options["primary"] else boards.items():
        if options["agreement"]:
            tables.append(_agreement(ds, query, name, style, options["agreement"]))
            continue
        if options["worst"] or options["best"]:
            tables += _extremes(ds, query, name, style, options)
            continue
        for result in _results(ds, query, name, options):
            tables += tables_of(result, style, options["percent"], across=options["pivot"])
    latex = Latex(options["stacked"], options["caption"], options["tex_label"], not options["no_notes"])
    emit(tables, style, output, latex)


def _query(options: Mapping[str, Any], style: str) -> Query:
    from ..analysis.selection import BEST, Query

    plain = ("metric", "by", "system", "tracks", "annotator", "param", "over", "across")
    listed = bool(options["worst"] or options["best"])
    stored = listed or options["system"] or options["agreement"]
    words: dict[str, Any] = {name: options[name] or None for name in plain}
    words |= {name: options[name] for name in ("aggregate", "missing", "where", "sort")}
    # People look for the best one, unless they named systems in an order of their own; programs count on the store's.
    if words["sort"] is None and for_people(style) and not stored:
        words["sort"] = BEST
    return Query(
        **words,
        undefined=options["undefined"] or ("skip" if listed else "keep"),
    )


def _check_options(options: Mapping[str, Any], style: str) -> None:
    """Refuse what would not be looked at."""
    given = [name for name, value in options.items() if value not in (None, False, (), {})]
    listed = [name for name in ("worst", "best") if name in given]
    if len(listed) == 2:
        raise click.UsageError("--worst or --best, not both")
    if "overall" in given and not listed:
        raise click.UsageError("--overall is about listed tracks; add --worst or --best")
    for name in ("aggregate", "by", "across", "ci", "significance", "pivot"):
        if listed and name in given:
            raise click.UsageError(f"--{listed[0]} lists single tracks and takes no --{name}")
    alone = ("by", "across", "sort", "ci", "significance", "cluster", "pivot", "percent", "primary", *listed)
    for name in alone if "agreement" in given else ():
        if name in given:
            raise click.UsageError(f"--agreement compares rankings and takes no --{name}")
    for name in ("metric", "param", "over", "across", "sort", "pivot", *listed):
        if "primary" in given and name in given:
            raise click.UsageError(f"--primary shows the headline metric of each evaluation and takes no --{name}")
    if "cluster" in given and not {"ci", "significance"} & set(given):
        raise click.UsageError("--cluster is about intervals; add --ci or --significance")
    if "pivot" in given and not for_people(style):
        raise click.UsageError(f"{style} has a row for each value; --pivot is for tables that people read")
    for name in ("stacked", "caption", "tex_label", "no_notes"):
        if name in given and style != "latex":
            raise click.UsageError(f"--{name.replace('_', '-')} is about LaTeX; add --format latex")


def _results(ds: xr.Dataset, query: Query, name: str, options: Mapping[str, Any]) -> Sequence[xr.Dataset]:
    """The results of one evaluation, with intervals and marks if chosen."""
    from ..analysis.queries import evaluate_query

    ci, significance, cluster = options["ci"], options["significance"], options["cluster"]
    if ci is None and significance is None:
        return evaluate_query(ds, query, name)
    from ..analysis.aggregation import aggregate_scores, select
    from ..analysis.inference import intervals
    from ..analysis.inference.comparisons import mark_best
    from ..analysis.inference.repeated_runs import is_about_runs
    from ..analysis.per_class import rated_kind, rated_variables
    from ..analysis.selection import find_measures

    rated = not options["primary"] and rated_kind(ds, query) is not None
    if query.across and not rated and not is_about_runs(ds, query):
        first = "significance" if ci is None else "ci"
        raise click.UsageError(f"--across gives statistics of statistics, and --{first} is about tracks: leave one out")
    if ci is not None:
        named = [str(find_measures(ds)[one]) for one in rated_variables(ds, query)] if rated else []
        # Where there is none, or another metric beside it, the query raises the error.
        asked = [replace(query, metric=one, exact=True) for one in named] or [query]
        found = [intervals(ds, one, level=ci, cluster=cluster, group=name) for one in asked]
    elif rated or query.across:
        found = evaluate_query(ds, query, name)
    else:
        found = [aggregate_scores(select(ds, query), query.by, name)]
    if significance is None:
        return found
    return [mark_best(ds, query, one, level=significance, cluster=cluster) for one in found]


def _primary(boards: Mapping[str, xr.Dataset], query: Query, style: str, options: Mapping[str, Any]) -> list[Table]:
    """The headline metric of each evaluation: one table for people, the rows of all for programs."""
    from ..analysis.queries import primary_results
    from ..reports.results import Result
    from ..reports.summaries import primary_table

    found, bare = primary_results(boards, query, lambda ds, asked, name: _results(ds, asked, name, options))
    if for_people(style):
        return [primary_table([Result.of(one) for one in found], percent=options["percent"], left_out=bare)]
    for name, lacking in bare.items():
        click.echo(f"{name}: left out, without {lacking}", err=True)
    return [table for result in found for table in tables_of(result, style)]


def _agreement(ds: xr.Dataset, query: Query, name: str, style: str, between: str) -> Table:
    """Agreement of metrics (by default all that rank), annotators or systems (by default on the headline)."""
    from ..analysis.inference import agreement
    from ..analysis.selection import headline_metric
    from ..reports.comparisons_tables import agreement_long_table, agreement_table

    if query.metric is None:
        ranking = ds["metric"].values[ds["orientation"].values != "none"].tolist()
        query = replace(query, metric=ranking if between == "metric" else headline_metric(ds), exact=True)
    found = agreement(ds, query, between=between, group=name)
    return agreement_table(found) if for_people(style) else agreement_long_table(found)


def _extremes(ds: xr.Dataset, query: Query, name: str, style: str, options: Mapping[str, Any]) -> list[Table]:
    """The worst or the best tracks of one evaluation."""
    from ..analysis.worst import extremes
    from ..reports.summaries import extremes_long_table, extremes_table

    best = options["best"] is not None
    count = options["best"] or options["worst"]
    found = extremes(ds, query, count, best=best, overall=options["overall"], group=name)
    if for_people(style):
        return [extremes_table(found, percent=options["percent"])]
    return [extremes_long_table(found)]


@click.command("show", cls=Command, place=8, short_help="List the contents of a store.")
@store_argument
@option("group", "The evaluation. Default: all.")
@click.option("--pipeline", is_flag=True, help="Print the pipeline file that made the store, and nothing else.")
@click.option("--problems", is_flag=True, help="List every cell without a score, or of an empty file, with the reason.")
@output_options
def show_command(
    store: Path, group: str | None, pipeline: bool, problems: bool, style: str | None, output: Path | None
) -> None:
    """List the contents of STORE: evaluations, systems, tracks, metrics, coverage and provenance."""
    from ..analysis.queries import choose
    from ..reports.summaries import contents_table, coverage_table, store_overview_table

    boards = choose(open_evaluations([store]), None, group)
    if pipeline:
        click.echo(next(iter(boards.values())).attrs.get("pipeline", ""), nl=False)
        return
    style = choose_format(style, output)
    if problems:
        _emit_problems(boards, style, output)
        return
    coverage = [coverage_table(name, ds) for name, ds in boards.items()]
    if for_people(style):
        contents = [contents_table(name, ds) for name, ds in boards.items()]
        pairs = zip(contents, coverage, strict=True)
        coverage = [store_overview_table(boards), *(table for pair in pairs for table in pair)]
    emit(coverage, style, output)


def _emit_problems(boards: Mapping[str, xr.Dataset], style: str, output: Path | None) -> None:
    """The cells that are not as one takes for granted, of all evaluations as one table; and what was warned of."""
    from ..analysis.missing import count_scored, find_problems
    from ..reports.summaries import problems_table
    from ..reports.tables import merge
    from ..store.format import list_cautions

    found = {name: find_problems(ds) for name, ds in boards.items()}
    tables = [problems_table(name, problems, cut=for_people(style)) for name, problems in found.items()]
    every = [one for problems in found.values() for one in problems]
    scored = count_scored(every)
    notes = [f"warning: {name}: {text}" for name, ds in boards.items() for text in list_cautions(ds.attrs)]
    if for_people(style) and all(one.scored == "yes" for one in every):
        click.echo("; ".join(filter(None, ("every cell has a score", scored))), err=True)
    if not every or not for_people(style):
        for note in notes:
            click.echo(note, err=True)
    if every or not for_people(style):
        counts = [f"scored yes: {scored}, whose scores count"] if scored else []
        emit([replace(merge(tables), folds=tables[0].folds, notes=(*counts, *notes))], style, output)
