"""Commands ``bench list``, ``bench show``, ``bench run`` and ``bench digests``: benchmarks by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .common_options import CommandFamily, LocalPath
from .output import FAILED, choose_format, echo, emit, for_people, output_options


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
    found = run_benchmark(name, progress=progress_for(quiet=quiet), guarded=True, **given)
    if not for_people(style) or output is not None:
        for note in found.notes:
            echo(note, err=True)
    emit(found, style, output)
    if any(row.own and row.missing for row in found):
        context.exit(FAILED)


@bench_command.command("digests")
@click.argument("name", metavar="NAME|FILE")
@click.option("--data", type=LocalPath(), help="Folder of the data.")
def digests_command(name: str, data: Path | None) -> None:
    """Print the digests of the data of a benchmark, which are the value of data.files in its file."""
    from ..pipeline.document import dump_document
    from ..published.benchmark_catalogue import digests_of, find_benchmark

    echo(dump_document({"files": digests_of(find_benchmark(name), data)}), nl=False)
