"""Commands ``export``, which writes results for other platforms, and ``bench``, which scores systems on benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..analysis.query_options import DEFAULT_LEVEL
from .common_options import LEVEL, Command, CommandFamily, LocalPath, open_evaluations, option, query_options
from .output import FAILED, choose_format, echo, emit, for_people, given_options, output_options

if TYPE_CHECKING:
    from ..reports.leaderboard import Leaderboard

SUFFIXES = {
    "leaderboard": (".json",),
    "codabench": (".json",),
    "model-index": (".yaml", ".yml", ".md"),
    "eval-results": (".yaml", ".yml"),
}
"""Formats, with the suffixes of their files."""


@click.command(
    "export", cls=Command, section="show", place=3, short_help="Write a leaderboard as JSON, or for other platforms."
)
@click.argument("stores", type=click.Path(path_type=Path), nargs=-1, metavar="STORE...")
@click.argument("output", type=LocalPath(allow_dash=True))
@click.option(
    "--format",
    "style",
    type=click.Choice(tuple(SUFFIXES)),
    default="leaderboard",
    show_default=True,
    help="JSON with every system; scores.json of a scoring program; YAML for model cards, or for .eval_results of the "
    "Hugging Face Hub.",
)
@query_options(
    "metric",
    "system",
    "tracks",
    "where",
    "missing",
    "undefined",
    metric="Metrics by name or alias. Repeat for several. Default: all with one number per track.",
)
@option("group")
@option("label")
@click.option(
    "--level", type=LEVEL, default=DEFAULT_LEVEL, show_default=True, help="Level of the confidence intervals."
)
@click.option("--no-intervals", is_flag=True, help="Omit intervals and comparisons with the best system.")
@click.option("--title", help="Title of the leaderboard. Default: the name of the store.")
@click.option(
    "--dataset",
    help="Model cards: name of the collection (default: the title); eval-results: of the data set on the Hub.",
)
def export_command(
    stores: tuple[Path, ...],
    output: Path,
    labels: tuple[str, ...],
    style: str,
    level: float,
    no_intervals: bool,
    title: str | None,
    dataset: str | None,
    group: str | None,
    **words: Any,
) -> None:
    """Write the aggregates in STORE to OUTPUT (- for the terminal), systems ranked by the headline metric.

    `mirflow schema --leaderboard` prints the JSON Schema of the leaderboard.
    """
    from ..analysis.queries import choose
    from ..analysis.query_options import Query
    from ..reports.leaderboard import leaderboard

    if output.suffix == ".zarr" or output.is_dir():
        raise click.UsageError(f"Missing argument 'OUTPUT' after {output}: a file to write, or - to print")
    if not stores:
        raise click.UsageError(f"Missing argument 'STORE...' before {output}")
    suffixes = SUFFIXES[style]
    if str(output) != "-" and output.suffix.lower() not in suffixes:
        raise click.UsageError(f"{output}: the suffix for {style} must be {' or '.join(suffixes)}; or use - to print")
    if dataset is not None and style not in ("model-index", "eval-results"):
        raise click.UsageError("--dataset needs --format model-index or eval-results")
    if dataset is None and style == "eval-results":
        raise click.UsageError("--format eval-results needs --dataset, the name of the benchmark on the Hub")
    query = Query(**given_options(words))
    evaluations = choose(open_evaluations(stores, labels), query.metric, group)
    title = title or " + ".join(store.name.removesuffix(".zarr") for store in stores)
    with_intervals = style == "leaderboard" and not no_intervals
    board = leaderboard(evaluations, query, title=title, level=level if with_intervals else None)
    for name in evaluations.keys() - {evaluation.name for evaluation in board.evaluations}:
        echo(f"{name}: skipped, as no metric has one number per track", err=True)
    text = _text(board, style, dataset or title)
    if str(output) == "-":
        echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
        echo(f"{output} written", err=True)


def _text(board: Leaderboard, style: str, dataset: str) -> str:
    from ..reports.leaderboard import to_codabench, to_eval_results, to_json, to_model_index

    if style == "leaderboard":
        return to_json(board)
    if style == "model-index":
        from ..pipeline.document import dump_document

        return dump_document(to_model_index(board, dataset))
    if style == "eval-results":
        from ..pipeline.document import dump_document

        results, left_out = to_eval_results(board, dataset)
        text = dump_document(results)
    else:
        text, left_out = to_codabench(board)
    for key in left_out:
        echo(f"{key}: skipped, as it has no finite value", err=True)
    return text


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
    from ..published.benchmark_file import digests_of, find_benchmark

    echo(dump_document({"files": digests_of(find_benchmark(name), data)}), nl=False)
