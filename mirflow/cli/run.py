"""Commands that score: ``run`` and ``evaluate``; and ``pack``, which makes their input faster to read."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import counted
from ..interruption import Interrupted
from .options import Command, ReadingCommand, check_existing, chosen_annotator, option, typed
from .output import FAILED, choose_format, emit, for_people, output_options, tables_of

if TYPE_CHECKING:
    import xarray as xr

    from ..analysis.aggregation import Answer
    from ..analysis.scoreboard import Scoreboard
    from ..engine.runs import EvaluationReport, RunReport
    from ..report.tables import Table

_NAMED = 5
"""Metrics that a line names, and cells that are told one by one, before it says that there are more."""


def _check_scheduler(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """A scheduler's name by the rules of pipeline files."""
    if value is None or context.resilient_parsing:
        return value
    from ..pipeline.model import SCHEDULERS, Execution

    try:
        return Execution(scheduler=value).scheduler
    except ValueError:
        raise click.BadParameter(f"must be one of {', '.join(SCHEDULERS)} or tcp://host:port, not {value!r}") from None


@click.command("run", cls=Command, place=1, short_help="Score what a pipeline file names.")
@click.argument("pipeline", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@option("root", "Where its patterns start.")
@click.option("--store", type=click.Path(path_type=Path), help="Where the scores go.")
@click.option("--scheduler", callback=_check_scheduler, help="auto, serial, processes, threads, or tcp://host:port.")
@click.option("--workers", type=click.IntRange(min=1), help="How many processes or threads. Default: one a core.")
@click.option("--on-error", type=click.Choice(("record", "ignore", "raise")), help="What a failed cell means.")
@click.option("--dry-run", is_flag=True, help="Say what would be computed, and compute nothing.")
@click.option("--force", is_flag=True, help="Compute everything again.")
@click.option("--prune", is_flag=True, help="Cells that PIPELINE no longer names may leave the store.")
@click.option("--primary", is_flag=True, help="Print one table: the headline metric of each evaluation.")
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
    prune: bool,
    primary: bool,
    quiet: bool,
) -> None:
    """Score what PIPELINE (a YAML file) names, into its store.

    The options take the place of what the file says. Only what changed since the last run is computed; a run that
    was stopped goes on where it was.
    """
    from ..engine.runs import preview, run
    from ..progress import progress_for

    if workers is not None and scheduler is not None and "://" in scheduler:
        raise click.UsageError(f"--workers: the cluster at {scheduler} has the workers it has; leave it out")
    if dry_run:
        click.echo(preview(pipeline, root=root, store=store, force=force, on_error=on_error))
        return
    try:
        report = run(
            pipeline,
            root=root,
            store=store,
            scheduler=scheduler,
            workers=workers,
            force=force,
            on_error=on_error,
            prune=prune or (_ask if sys.stdin.isatty() and sys.stderr.isatty() else False),
            progress=progress_for(quiet=quiet),
            guarded=True,
        )
    except (Interrupted, KeyboardInterrupt) as stop:
        stop = stop if isinstance(stop, Interrupted) else Interrupted()
        click.echo(f"{stop}; what was computed is kept: run the same command to go on", err=True)
        context.exit(stop.code)
    _print_report(report, quiet, primary)
    if report.failed:
        context.exit(FAILED)


def _ask(said: str) -> bool:
    """Whether what would leave the store may go."""
    if click.confirm(f"{said}. Go on", err=True):
        return True
    raise click.ClickException("nothing was run, and the store is as it was")


def _print_report(report: RunReport, quiet: bool, primary: bool) -> None:
    """The scores, what was computed, and why cells have no score, which is said under ``--quiet`` too."""
    from ..analysis.missing import find_problems
    from ..analysis.scoreboard import from_content
    from ..report.summaries import problem_lines

    contents = sorted((one.content for one in report.evaluations), key=lambda content: content.name)
    boards = {content.name: from_content(content) for content in contents}
    idle = not report.published and not any(map(_has_computed, report.evaluations))
    shown = _print_results(report.store, boards, primary) if not quiet and (primary or not idle) else {}
    for evaluation in report.evaluations:
        if not quiet and not idle:
            _print_summary(evaluation, shown.get(evaluation.plan.name))
        if _worth_telling(evaluation) and not idle:
            name = evaluation.plan.name
            for line in problem_lines(name, find_problems(boards[name])):
                click.echo(f"  {line}", err=True)
    if idle:
        if not quiet or report.failed:
            click.echo(_idle_line(report), err=True)
        return
    if any(map(_worth_telling, report.evaluations)):
        click.echo(f"  all of them: mirflow show {_quoted(report.store)} --problems", err=True)
    if not quiet:
        state = "written" if report.published else "unchanged"
        click.echo(f"{_below(report.store)} {state} ({report.seconds:.1f} s, {report.scheduler})", err=True)


def _has_computed(evaluation: EvaluationReport) -> bool:
    """Whether anything was scored, or had been by an interrupted run."""
    return any(count for name, count in evaluation.counts.items() if name not in ("reused", "removed"))


def _idle_line(report: RunReport) -> str:
    """What there is where nothing had to be done."""
    cells = sum(sum(evaluation.status.values()) for evaluation in report.evaluations)
    store = _quoted(report.store)
    told = {"without a score": 0, "with an empty side": 0, "with some scores only": 0}
    for evaluation in report.evaluations:
        for kind, count in zip(told, (evaluation.failed, evaluation.empty, evaluation.partly), strict=True):
            told[kind] += count
    some = ", ".join(f"{count} {kind}" for kind, count in told.items() if count)
    lacking = f" ({some}: mirflow show {store} --problems)" if some else ""
    held = f"{_below(report.store)} has all {counted(cells, 'cell')}{lacking}"
    return f"nothing to do: {held}; mirflow query {store} shows them ({report.seconds:.1f} s)"


def _worth_telling(evaluation: EvaluationReport) -> bool:
    """Whether some cells are not what one takes for granted: a score of what somebody found."""
    return bool(evaluation.failed or evaluation.partly or evaluation.empty or evaluation.warned)


def _print_results(store: Path, boards: Mapping[str, Scoreboard], primary: bool) -> dict[str, Answer]:
    """The figures that each evaluation is about, and how to see the others; or only the headline of each.

    Returns
    -------
    dict of str to Answer
        What was printed, by the name of its evaluation.
    """
    from ..analysis.aggregation import ask
    from ..analysis.queries import headline_metrics, primary_answers
    from ..analysis.selection import BEST, Question
    from ..report.summaries import primary_table

    if primary:
        found, bare = primary_answers(boards, Question(sort=BEST))
        emit([primary_table(found, left_out=bare)], "table")
        return {answer.attrs["group"]: answer for answer in found}
    tables, shown = [], {}
    for name, board in boards.items():
        notes = _more(store, name, board, headline_metrics(board))
        if board.metrics:
            question = Question(headline_metrics(board), exact=True, sort=BEST)
            shown[name] = ask(board, question, name)
            tables += tables_of(shown[name], "table", notes=notes)
        else:
            click.echo("\n".join(f"{name}: {note}" for note in notes))
    emit(tables, "table")
    return shown


def _more(store: Path, name: str, board: Scoreboard, shown: Sequence[str]) -> list[str]:
    """What a store holds besides the metrics that are shown, and the command that shows it."""
    from ..analysis.scoreboard import has_annotators
    from ..analysis.selection import find_measures

    command = f"mirflow query {_quoted(store)} --group {name}"
    left = [metric for metric in board.metrics if metric not in shown]
    notes = []
    if left:
        some = ", ".join(left[:_NAMED]) + (", ..." if len(left) > _NAMED else "")
        notes.append(f"{len(left)} of {len(board.metrics)} metrics are not shown ({some}): {command}")
    for measure in find_measures(board).values():
        listed = " --by track" if measure.metric.nominal else ""
        notes.append(f"the store also holds {measure}: {command} --metric {shlex.quote(str(measure))}{listed}")
    if has_annotators(board):
        notes.append(f"the store also holds the scores of each annotator: {command} --by annotator")
    return notes


def _below(store: Path) -> Path:
    """A store's path, relative where it lies below the working folder."""
    here = Path.cwd()
    return store.relative_to(here) if store.is_relative_to(here) else store


def _quoted(store: Path) -> str:
    """The same as one types it."""
    return shlex.quote(str(_below(store)))


def _print_summary(evaluation: EvaluationReport, shown: Answer | None) -> None:
    """What was computed and what became of it; cells with nothing to measure are those of the figures above."""
    counts = ", ".join(f"{count} {name}" for name, count in evaluation.counts.items() if count)
    status = ", ".join(f"{count} {one.name}" for one, count in evaluation.status.items())
    name = evaluation.plan.name
    click.echo(f"{name}: cells: {counts or 'none'}; now: {status or 'none'}", err=True)
    count = 0 if shown is None else shown.cells_with("undefined")
    if shown is not None and count:
        cells = counted(count, "cell")
        what = f"one or more of {len(shown.metrics)} metrics" if shown.metrics[1:] else shown.metrics[0]
        note = f"had nothing to measure for {what} and count with the score that they have (--undefined skip: not)"
        click.echo(f"  {name}: {cells} {note}", err=True)


@click.command(
    "evaluate",
    cls=ReadingCommand,
    note="Applies to both sides.",
    place=7,
    short_help="Score two files or two folders.",
)
@click.argument("reference", type=click.Path(path_type=Path), callback=check_existing)
@click.argument("estimate", type=click.Path(path_type=Path), callback=check_existing)
@option("task", required=True)
@option("metric", "Repeat for several. Default: the convention's.")
@option("convention")
@click.option("--grid", help="union, reference, or the hop of frames in seconds.")
@option("percent")
@option("annotator")
@click.option("--estimate-annotator", help="The estimate's, where it is another one.")
@click.option(
    "--classes",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The classes or tags that there are: a table of names; of class,parent; or of from,to,credit.",
)
@output_options
@click.pass_context
def evaluate_command(
    context: click.Context,
    reference: Path,
    estimate: Path,
    task: str,
    metric: tuple[str, ...],
    convention: str | None,
    grid: str | None,
    percent: bool,
    annotator: str | None,
    estimate_annotator: str | None,
    classes: Path | None,
    options: Mapping[str, Any],
    style: str | None,
    output: Path | None,
) -> None:
    """Score ESTIMATE against REFERENCE: two files, or two folders whose files have the same names.

    Two tables of many tracks are scored track by track.
    """
    from ..evaluation import evaluate_paths
    from ..readers.class_tables import read_classes
    from ..report.summaries import failed_cells, partial_cells

    style = choose_format(style, output)
    annotators = chosen_annotator(annotator), chosen_annotator(estimate_annotator or annotator)
    ds = evaluate_paths(
        *(reference, estimate, task),
        metrics=metric or None,
        convention=convention,
        grid=_grid(grid),
        annotators=annotators,
        classes=None if classes is None else read_classes(classes),
        **options,
    )
    if options:  # on standard output only where that is read by people: tables for programs begin with their header
        click.echo(f"both sides read with {typed(options)}", err=not for_people(style) or output is not None)
    failed = failed_cells(ds)
    for line in _reasons(ds, [*failed, *partial_cells(ds)]):
        click.echo(line, err=True)
    if not (failed and _is_pair(ds) and for_people(style)):
        emit(_evaluated(ds, style, percent), style, output)
    if failed:
        context.exit(FAILED)


def _reasons(ds: xr.Dataset, lines: Sequence[str]) -> list[str]:
    """Why cells, or some of their metrics, have no score: each of few, or the most frequent kinds of reasons."""
    from ..analysis.missing import find_problems
    from ..analysis.scoreboard import from_dataset
    from ..report.summaries import problem_lines
    from ..report.tables import shorten

    if len(lines) <= _NAMED:
        return list(map(shorten, lines))
    return problem_lines(str(ds.attrs["task"]), find_problems(from_dataset(ds)))


def _is_pair(ds: xr.Dataset) -> bool:
    return bool(ds.sizes["track"] == ds.sizes["system"] == 1)


def _evaluated(ds: xr.Dataset, style: str, percent: bool) -> list[Table]:
    """The scores of a pair, or the figures over the tracks of two folders; and the results with extra dims."""
    from ..analysis.per_class import ask_extra
    from ..analysis.queries import answers
    from ..analysis.scoreboard import from_dataset
    from ..analysis.selection import BEST, Question, find_measures
    from ..report.summaries import pair_table

    board, question = from_dataset(ds), Question(sort=BEST if for_people(style) else None)
    if not _is_pair(ds):
        found = answers(board, question) if board.metrics else []
        tables = [table for answer in found for table in tables_of(answer, style, percent)]
    else:
        tables = [pair_table(ds, percent=percent and for_people(style))] if board.metrics else []
    # Programs get one table of one kind: the entries of a matrix only where nothing else was asked for.
    if for_people(style) or not tables:
        named = [name for name, one in find_measures(board).items() if _is_pair(ds) or not one.metric.nominal]
        extra = (ask_extra(board, variable, question) for variable in named)
        tables += [table for answer in extra for table in tables_of(answer, style)]
    return tables


def _grid(text: str | None) -> str | float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text


@click.command("pack", cls=ReadingCommand, place=13, short_help="Pack annotations for fast reading.")
@click.argument("pattern")
@click.argument("out", type=click.Path(path_type=Path))
@option("task", required=True)
@option("annotator", "Of files that hold several: a number or an identifier.")
@click.option("--overwrite", is_flag=True, help="Replace a pack that is there already.")
def pack_command(
    pattern: str, out: Path, task: str, annotator: str | None, overwrite: bool, options: Mapping[str, Any]
) -> None:
    """Pack the annotations that PATTERN (such as 'refs/{track}.jams') matches into one Zarr file OUT.

    A pipeline reads a pack wherever a pattern may stand, many times faster than the files.
    """
    from ..loading import pack

    tracks = pack(pattern, out, task, annotator=chosen_annotator(annotator), overwrite=overwrite, **options)
    click.echo(f"{out}: {counted(tracks, 'track')}", err=True)
