"""Commands about published numbers: ``bench``, ``verify``, ``cite`` and ``metrics``.

``bench`` has subcommands that list, show and run benchmarks, and print digests of their data.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from ..errors import MetricError, UnknownNameError
from .common_options import Command, CommandFamily, LocalPath, label_stores, option
from .output import FAILED, FOR_PEOPLE, choose_format, echo, emit, output_options


@click.group("bench", cls=CommandFamily, section="score", place=6, short_help="Score a system on a benchmark.")
def bench_command() -> None:
    """Score a system on a benchmark, and show it among published baselines.

    A benchmark is a file with references' digests, an evaluation, a headline metric and published scores: one of
    mirflow, of an installed package, or the path of a file.
    """


@bench_command.command("list")
@output_options
def list_command(style: str | None, output: Path | None) -> None:
    """List the benchmarks: task, tracks, headline metric, baselines, and whether the data are here."""
    from ..workflows.benchmarking import benchmarks

    emit(benchmarks(), choose_format(style, output), output)


@bench_command.command("show")
@click.argument("name", metavar="NAME|FILE")
@output_options
def show_command(name: str, style: str | None, output: Path | None) -> None:
    """Describe a benchmark: rules, baselines, what to cite, and how to get the data."""
    from ..workflows.benchmarking import benchmark

    emit(benchmark(name), choose_format(style, output), output)


@bench_command.command("run")
@click.argument("name", metavar="NAME|FILE")
@click.option("--estimates", required=True, type=LocalPath(), help="Folder with the system's files.")
@click.option(
    "--data",
    type=LocalPath(),
    help="Folder of the data. Default: the one of the benchmark's name in the folder MIRFLOW_DATA, or mirdata's.",
)
@click.option("--system", help="Name of the system. Default: that of the folder of its files.")
@click.option("--store", type=click.Path(path_type=Path), help="Default: stores/BENCHMARK/SYSTEM.zarr.")
@click.option(
    "--missing",
    type=click.Choice(("zero", "skip", "raise")),
    help="Treatment of tracks without an estimate. Default: that of the benchmark.",
)
@output_options
@click.option("--quiet", "-q", is_flag=True, help="Do not print progress.")
@click.pass_context
def run_command(
    context: click.Context, /, name: str, style: str | None, output: Path | None, quiet: bool, **given: Any
) -> None:
    """Score a system, and print it among the published baselines, the best first.

    The data are compared with the digests of the benchmark first. Only what changed since the last run is computed.
    The exit code is 3 if a track has no score.
    """
    from ..progress import progress_for
    from ..workflows.benchmarking import run_benchmark

    style = choose_format(style, output)
    result = run_benchmark(name, progress=progress_for(quiet=quiet), guarded=True, **given)
    if style not in FOR_PEOPLE or output is not None:
        for note in result.notes:
            echo(note, err=True)
    emit(result, style, output)
    if any(row.own and row.missing for row in result):
        context.exit(FAILED)


@bench_command.command("digests")
@click.argument("name", metavar="NAME|FILE")
@click.option("--data", type=LocalPath(), help="Folder of the data.")
def digests_command(name: str, data: Path | None) -> None:
    """Print the digests of the data of a benchmark, which are the value of data.files in its file."""
    from ..pipeline.document import dump_document
    from ..published.benchmark_file import digests_of, find_benchmark

    echo(dump_document({"files": digests_of(find_benchmark(name), data)}), nl=False)


DIFFERENT = 1


@click.command(
    "verify", cls=Command, section="stores", place=7, short_help="Compute the signed numbers of a paper again."
)
@click.argument("document")
@click.option("--store", type=click.Path(path_type=Path), help="Aggregate the scores in a store.")
@click.option(
    "--pipeline",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Score the estimates of a pipeline file again.",
)
@click.option("--reference", metavar="FOLDER|PATTERN", help="Score estimates against these references.")
@click.option(
    "--estimates",
    metavar="FOLDER|PATTERN",
    help="The estimates: a folder with a folder for each system, or a pattern with {system} and {track}.",
)
@option("root", "Base folder of the pipeline's patterns.")
@click.option("--all", "every", is_flag=True, help="List every number, not only those that differ.")
@output_options
def verify_command(document: str, style: str | None, output: Path | None, **given: Any) -> None:
    """Compute the signed numbers of DOCUMENT again, and list those that differ.

    DOCUMENT is a file with tables that mirflow wrote (LaTeX, Markdown, HTML, CSV or JSON), or a signature. A number is
    equal if the computed one rounds to it; a cell that is not just a number cannot be computed. The exit code is 1 if a
    number differs, 3 if one cannot be computed.
    """
    from ..workflows.verification import DIFFERENT as DIFFERS
    from ..workflows.verification import UNKNOWN, verify

    style = choose_format(style, output)
    checks = verify(document, **given)
    for note in () if style in FOR_PEOPLE else checks.notes:
        echo(note, err=True)
    emit(checks, style, output)
    verdicts = {check.verdict for check in checks}
    if DIFFERS in verdicts:
        click.get_current_context().exit(DIFFERENT)
    if UNKNOWN in verdicts:
        click.get_current_context().exit(FAILED)


@click.command("cite", cls=Command, section="show", place=4, short_help="Print references to cite.")
@click.argument("stores", type=click.Path(path_type=Path), nargs=-1, metavar="[STORE...]")
@click.option("--format", "style", type=click.Choice(("text", "bibtex")), default="text", show_default=True)
@click.option("--output", "-o", type=LocalPath(dir_okay=False), help="Write to a file.")
def cite_command(stores: tuple[Path, ...], style: str, output: Path | None) -> None:
    """Print the reference of mirflow, and those of the metrics and conventions in STORE.

    In text output, each is followed by the evaluations and metrics that it defines.
    """
    from importlib.metadata import version

    from ..analysis.lookup import find_measures
    from ..analysis.queries import evaluations_of
    from ..metrics.base import get_task
    from ..metrics.measures import Measure, cited, parse, spell_out, to_bibtex

    release = version("mirflow")
    uses: dict[str, dict[str, dict[str, None]]] = {}
    for name, ds in (evaluations_of(label_stores(stores, ())) if stores else {}).items():
        convention = str(ds.attrs.get("convention", ""))
        measures: list[Measure] = []
        cited_by: list[tuple[str, str]] = []
        with suppress(UnknownNameError):
            rules = get_task(str(ds.attrs.get("task", ""))).convention(convention)
            cited_by += [(key, f"convention {convention}") for key in cited(rules.literature)]
            for identity in map(str, ds["metric"].values.tolist()):
                with suppress(UnknownNameError, MetricError):  # declared by a user's module, or by another version
                    measures.append(parse(identity, rules.metrics))
        for measure in (*measures, *find_measures(ds).values()):
            cited_by += [(key, measure.metric.name) for key in cited(measure.metric.literature)]
        for key, use in cited_by:
            uses.setdefault(key, {}).setdefault(name, {})[use] = None
    if style == "bibtex":
        text = "\n\n".join((to_bibtex("mirflow", version=release), *map(to_bibtex, uses)))
    else:
        entries = [f"{spell_out('@mirflow')}, version {release}"]
        for key, definitions in uses.items():
            where = "; ".join(f"{name}: {', '.join(defined)}" for name, defined in definitions.items())
            entries.append(f"{spell_out('@' + key)}\n  {where}")
        text = "\n".join(entries)
    if output is None:
        echo(text)
    else:
        output.write_text(f"{text}\n", encoding="utf-8")


@click.command("metrics", cls=Command, section="tools", place=2, short_help="List the metrics and their definitions.")
@click.argument("task", required=False)
@option("convention", "Default: all conventions of the task.")
@output_options
def metrics_command(task: str | None, convention: str | None, style: str | None, output: Path | None) -> None:
    """List the metrics of TASK, or of all tasks: range, weight, parameters, aggregates, sources.

    Metrics of installed packages are included, with the name of the package.
    """
    from ..metrics.base import get_task, tasks
    from ..plugins import TASKS, find_all
    from ..reports.summaries import full_table, short_table
    from ..reports.tables import Table

    style = choose_format(style, output)
    make = short_table if style in FOR_PEOPLE else full_table
    if task is None:
        find_all(TASKS)
    chosen = [get_task(name) for name in ([task] if task else tasks())]
    conventions = [
        (declared.name, declared.convention(name).with_installed())
        for declared in chosen
        for name in ([convention] if convention else declared.conventions)
    ]
    tables = [make(name, rules) for name, rules in conventions]
    if style in FOR_PEOPLE and len(conventions) > 1:
        rows = tuple((name, rules.name, len(rules.metrics), rules.summary) for name, rules in conventions)
        tables.insert(0, Table(("task", "convention", "metrics", "rules"), rows, folds=("rules",)))
    emit(tables, style, output)
