"""Commands that score: ``run`` and ``evaluate``; and ``pack``, which makes their input faster to read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .exits import FAILED
from .output import choose_format, emit, for_people, output_options, terminal_width

if TYPE_CHECKING:
    from ..running import EvaluationReport, RunReport

_MESSAGES = 5


@click.command("run", short_help="Score what a pipeline file names.")
@click.argument("pipeline", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--root", type=click.Path(file_okay=False, path_type=Path), help="Where its patterns start.")
@click.option("--store", type=click.Path(path_type=Path), help="Where the scores go.")
@click.option("--scheduler", help="auto, serial, processes, threads, or tcp://host:port.")
@click.option("--workers", type=click.IntRange(min=1), help="How many processes or threads. Default: one a core.")
@click.option("--on-error", type=click.Choice(("record", "ignore", "raise")), help="What a failed cell means.")
@click.option("--dry-run", is_flag=True, help="Say what would be computed, and compute nothing.")
@click.option("--force", is_flag=True, help="Compute everything again.")
@click.option("--quiet", "-q", is_flag=True, help="No progress and no result table.")
@click.pass_context
def run_command(
    context: click.Context,
    pipeline: Path,
    root: Path | None,
    store: Path | None,
    scheduler: str | None,
    workers: int | None,
    on_error: str | None,
    dry_run: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Score what PIPELINE (a YAML file) names, into its store.

    The options take the place of what the file says. Only what changed since the last run is computed; a run that
    was stopped goes on where it was.
    """
    from ..progress import progress_for
    from ..running import preview, run

    if dry_run:
        click.echo(preview(pipeline, root=root, store=store, force=force, on_error=on_error))
        return
    report = run(
        pipeline,
        root=root,
        store=store,
        scheduler=scheduler,
        workers=workers,
        force=force,
        on_error=on_error,
        progress=progress_for(quiet=quiet),
        guarded=True,
    )
    if not quiet:
        _print_results(report)
    for evaluation in report.evaluations:
        _print_summary(evaluation, quiet)
    if not quiet:
        state = "written" if report.published else "unchanged"
        click.echo(f"{report.store} {state} ({report.seconds:.1f} s, {report.scheduler})", err=True)
    if report.failed:
        context.exit(FAILED)


def _print_results(report: RunReport) -> None:
    """The figures that each evaluation is about."""
    from ..analysis.aggregate import ask
    from ..analysis.query import headline_metrics
    from ..analysis.scoreboard import read_store
    from ..report.layouts import readable_table

    tables = []
    for name, board in read_store(report.store).items():
        answer = ask(board, headline_metrics(board), group=name)
        tables.append(readable_table(answer, width=terminal_width()))
    emit(tables, "table")


def _print_summary(evaluation: EvaluationReport, quiet: bool) -> None:
    """What was computed, what became of it, and the first reasons of failures."""
    if not quiet:
        counts = ", ".join(f"{count} {name}" for name, count in evaluation.counts.items() if count)
        status = ", ".join(f"{count} {one.name}" for one, count in evaluation.status.items())
        click.echo(f"{evaluation.plan.name}: cells: {counts or 'none'}; now: {status or 'none'}", err=True)
    if not evaluation.failed:
        return
    for message in evaluation.messages[:_MESSAGES]:
        click.echo(f"  {message}", err=True)
    if len(evaluation.messages) > _MESSAGES:
        click.echo(f"  and {len(evaluation.messages) - _MESSAGES} other reasons: see `message` in the store", err=True)


@click.command("evaluate", short_help="Score two files or two folders.")
@click.argument("reference", type=click.Path(exists=True, path_type=Path))
@click.argument("estimate", type=click.Path(exists=True, path_type=Path))
@click.option("--task", "-t", required=True, help="What the annotations are, for example chord.")
@click.option("--metric", "-m", "metrics", multiple=True, help="Repeat for several. Default: the convention's.")
@click.option("--convention", "-c", help="Default: mir_eval's.")
@click.option("--grid", help="union, or the hop of frames in seconds.")
@click.option("--percent", is_flag=True, help="Ratios as percentages, in tables for people.")
@output_options
@click.pass_context
def evaluate_command(
    context: click.Context,
    reference: Path,
    estimate: Path,
    task: str,
    metrics: tuple[str, ...],
    convention: str | None,
    grid: str | None,
    percent: bool,
    style: str | None,
    output: Path | None,
) -> None:
    """Score ESTIMATE against REFERENCE: two files, or two folders whose files have the same names."""
    from ..analysis.aggregate import ask
    from ..analysis.scoreboard import from_dataset
    from ..paths import evaluate_paths
    from ..report.answers import long_table
    from ..report.layouts import readable_table
    from ..report.pairs import failed_cells, pair_table

    style = choose_format(style, output)
    ds = evaluate_paths(reference, estimate, task, metrics=metrics or None, convention=convention, grid=_grid(grid))
    failed = failed_cells(ds)
    for line in failed:
        click.echo(line, err=True)
    if ds.sizes["track"] == ds.sizes["system"] == 1:
        table = pair_table(ds, percent=percent and for_people(style))
    elif for_people(style):
        table = readable_table(ask(from_dataset(ds)), percent=percent, width=terminal_width())
    else:
        table = long_table(ask(from_dataset(ds)))
    emit([table], style, output)
    if failed:
        context.exit(FAILED)


def _grid(text: str | None) -> str | float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text


@click.command("pack", short_help="Pack annotations for fast reading.")
@click.argument("pattern")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--task", "-t", required=True, help="What the annotations are, for example chord.")
@click.option("--annotator", help="Of files that hold several: a number or an identifier.")
@click.option("--overwrite", is_flag=True, help="Replace a pack that is there already.")
def pack_command(pattern: str, out: Path, task: str, annotator: str | None, overwrite: bool) -> None:
    """Pack the annotations that PATTERN (such as 'refs/{track}.jams') matches into one Zarr file OUT.

    A pipeline reads a pack wherever a pattern may stand, many times faster than the files.
    """
    from ..loading import pack

    chosen = int(annotator) if annotator is not None and annotator.isdecimal() else annotator
    tracks = pack(pattern, out, task, annotator=chosen, overwrite=overwrite)
    click.echo(f"{out}: {tracks} tracks", err=True)
