"""Commands about pipeline files: ``init``, ``demo``, ``schema``, ``run`` and ``publish``.

``run`` prints scores, numbers of cells, the reasons of missing scores, and causes of low ones. ``schema`` also prints
the schemas of campaigns, benchmarks, leaderboards, patches, and mappings of published tables.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..analysis.query_options import say_undefined
from ..errors import RunError, counted, visible
from ..interruption import Interrupted
from .common_options import Command, LocalPath, option
from .output import FAILED, REPAIRED, echo, emit

if TYPE_CHECKING:
    from ..analysis.scores import ResultInMemory
    from ..engine.runs import EvaluationReport, RunReport
    from ..pipeline.plan import Prune


@click.command("init", cls=Command, section="first", place=4, short_help="Draft a pipeline file for a folder.")
@click.argument("folder", type=LocalPath(exists=True, file_okay=False), default=".")
@click.option("--reference", multiple=True, metavar="FOLDER", help="A folder of references, by name or path. Repeat.")
@click.option("--estimates", multiple=True, metavar="FOLDER", help="A folder of estimates, by name or path. Repeat.")
@click.option("--output", "-o", type=LocalPath(dir_okay=False), help="The file. Default: pipeline.yaml in FOLDER.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
def init_command(
    folder: Path, reference: tuple[str, ...], estimates: tuple[str, ...], output: Path | None, force: bool
) -> None:
    """Write a pipeline file for the references and estimates in FOLDER (default: the working directory).

    Sides are recognised by names of folders or files (reference, annotations, gt; estimates, systems, preds, ...),
    tasks by suffixes and the contents of some files. A few tracks are scored. Comments in the file say what was found
    and scored, what is uncertain, and what is not used and why.
    """
    path = folder / "pipeline.yaml" if output is None else output
    if path.exists() and not force:
        raise click.UsageError(f"{path} exists; overwrite it with --force, or choose another file with --output")
    if not path.parent.is_dir():
        raise click.UsageError(f"{path.parent}: no such folder; create it, or choose another file with --output")
    from ..pipeline.draft import draft_pipeline

    text = draft_pipeline(folder, reference=reference, estimates=estimates, place=path.parent)
    path.write_text(text, encoding="utf-8")
    echo(text, nl=False)
    echo(f"{path} written; next: mirflow run {shlex.quote(str(path))}", err=True)


_NAMED = 5  # maximum number of metrics named in a line, and of cells listed; the rest is counted


def _check_scheduler(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is None or context.resilient_parsing:
        return value
    from ..pipeline.model import SCHEDULERS, Execution

    try:
        return Execution(scheduler=value).scheduler
    except ValueError:
        raise click.BadParameter(
            f"unknown scheduler {value!r}: choose from {', '.join(SCHEDULERS)}, tcp://host:port"
        ) from None


def _only_pipeline(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    if value is not None or context.resilient_parsing:
        return value
    from ..pipeline.load import find_pipelines

    files = find_pipelines(Path())
    if len(files) == 1:
        return files[0]
    which = f"there are {len(files)}: {', '.join(map(str, files[:_NAMED]))}" if files else "this folder has none"
    hint = "" if files else "; `mirflow init FOLDER` drafts one, `mirflow demo` writes an example"
    raise click.UsageError(f"name a pipeline file, as {which}{' and more' * (len(files) > _NAMED)}{hint}")


def _check_part(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is None or context.resilient_parsing:
        return value
    from ..engine.parts import Part

    try:
        return str(Part.parse(value))
    except RunError as error:
        raise click.BadParameter(str(error)) from None


_store_option = click.option("--store", type=click.Path(path_type=Path), help="Path of the store. Default: the file's.")
_prune_option = click.option("--prune", is_flag=True, help="Remove stored cells that PIPELINE no longer names.")
_primary_option = click.option(
    "--primary", is_flag=True, help="Print one table: the headline metric of each evaluation."
)
_quiet_option = click.option("--quiet", "-q", is_flag=True, help="Do not print progress and results.")


@click.command("run", cls=Command, section="first", place=5, short_help="Score the evaluations of a pipeline file.")
@click.argument("pipeline", type=LocalPath(exists=True, dir_okay=False), required=False, callback=_only_pipeline)
@option("root")
@_store_option
@click.option(
    "--scheduler",
    envvar="MIRFLOW_SCHEDULER",
    show_envvar=True,
    callback=_check_scheduler,
    help="auto, serial, processes, threads, or tcp://host:port.",
)
@click.option(
    "--workers",
    envvar="MIRFLOW_WORKERS",
    show_envvar=True,
    type=click.IntRange(min=1),
    help="Number of processes or threads. Default: one per core.",
)
@click.option("--on-error", type=click.Choice(("record", "ignore", "raise")), help="Treatment of failed cells.")
@click.option("--part", metavar="I/N", callback=_check_part, help="Only compute the I-th of N parts, for `publish`.")
@click.option("--dry-run", is_flag=True, help="Print the cells to compute without computing them.")
@click.option(
    "--graph",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the dask graph into this file (.mmd, .md: Mermaid; .svg, .png, .pdf: graphviz) without computing it.",
)
@click.option("--force", is_flag=True, help="Compute everything again.")
@_prune_option
@_primary_option
@click.option(
    "--diagnose",
    type=click.Choice(("low", "all", "none")),
    default="low",
    show_default=True,
    help="Cells of which causes of low scores are looked for: the lowest ones, for about a twentieth of what the run "
    "costs; all low ones; none.",
)
@_quiet_option
@click.pass_context
def run_command(
    context: click.Context,
    /,
    pipeline: Path,
    part: str | None,
    dry_run: bool,
    graph: Path | None,
    prune: bool,
    primary: bool,
    diagnose: str,
    quiet: bool,
    on_purpose: str = "",
    **how: Any,
) -> None:
    """Score the evaluations of PIPELINE (a YAML file) into its store; without one, of the only pipeline file here.

    Options override the keys of the file. Only cells that changed since the last run are computed; an interrupted
    run is resumed.
    """
    from ..engine.runs import preview, run
    from ..progress import progress_for

    if how["workers"] is not None and "://" in (how["scheduler"] or ""):
        raise click.UsageError(f"--workers does not apply to the cluster at {how['scheduler']}; omit it")
    for name, is_set in {"--force": how["force"], "--prune": prune, "--primary": primary}.items():
        if part is not None and is_set:
            raise click.UsageError(f"{name} does not apply to a part, which computes what the store lacks; omit it")
    if graph is not None:
        from ..engine.drawing import draw_pipeline

        draw_pipeline(pipeline, graph, root=how["root"])
        return
    if dry_run:
        planned = {name: how[name] for name in ("root", "store", "force", "on_error")}
        echo(preview(pipeline, part=part, **planned))
        return
    try:
        may_prune = part is None and _may_prune(prune)
        report = run(pipeline, prune=may_prune, progress=progress_for(quiet=quiet), guarded=True, part=part, **how)
    except (Interrupted, KeyboardInterrupt) as stop:
        stop = stop if isinstance(stop, Interrupted) else Interrupted()
        echo(f"{stop}; computed scores are kept: run the same command to continue", err=True)
        context.exit(stop.code)
    _print_report(report, quiet, primary, on_purpose, diagnose)
    if report.failed:
        context.exit(FAILED)


@click.command("publish", cls=Command, section="score", place=3, short_help="Publish a run that was computed in parts.")
@click.argument("pipeline", type=LocalPath(exists=True, dir_okay=False))
@option("root")
@_store_option
@click.option("--incomplete", is_flag=True, help="Publish although parts are missing or unfinished.")
@_prune_option
@_primary_option
@_quiet_option
@click.pass_context
def publish_command(
    context: click.Context, /, pipeline: Path, prune: bool, primary: bool, quiet: bool, **how: Any
) -> None:
    """Join the parts that `mirflow run PIPELINE --part I/N` computed, and write them into the store.

    Parts that are published are removed. If some are missing, nothing is written, and the message names them.
    """
    from ..engine.publishing import publish
    from ..progress import progress_for

    report = publish(pipeline, prune=_may_prune(prune), progress=progress_for(quiet=quiet), **how)
    _print_report(report, quiet, primary, "")
    if report.failed:
        context.exit(FAILED)


def _may_prune(prune: bool) -> Prune:
    def ask(query: str) -> bool:
        if click.confirm(visible(f"{query}. Go on"), err=True):
            return True
        raise click.ClickException("nothing was run, and the store is unchanged")

    return prune or (ask if sys.stdin.isatty() and sys.stderr.isatty() else False)


def _print_report(report: RunReport, quiet: bool, primary: bool, on_purpose: str, diagnose: str = "none") -> None:
    """Print the scores, the numbers of computed cells, and the reasons of missing scores (these despite ``--quiet``).
    If they have none on purpose, one line replaces the reasons. At last, who has the best value by the first metric of
    few evaluations, and how many cells lack a score."""
    path, here = report.store, Path.cwd()
    if isinstance(path, Path) and path.is_relative_to(here):
        path = path.relative_to(here)
    store = shlex.quote(str(path))
    scored = {name for one in report.evaluations for name, count in one.counts.items() if count}
    idle = not report.published and scored <= {"reused", "removed"}
    incomplete = {one.plan.name for one in report.evaluations if one.failed or one.partly or one.empty or one.warned}
    failed = sum(one.failed for one in report.evaluations)
    shown = {}
    if not quiet and not report.part and (primary or not idle):
        shown = _print_results(store, report.evaluations, primary)
    if idle and not report.part:
        if not quiet or report.failed:
            cells = sum(sum(one.status.values()) for one in report.evaluations)
            lacking = {
                "without a score": failed,
                "with an empty side": sum(one.empty for one in report.evaluations),
                "with some scores only": sum(one.partly for one in report.evaluations),
            }
            counts = ", ".join(f"{count} {kind}" for kind, count in lacking.items() if count)
            held = f"{path} has all {counted(cells, 'cell')}" + (
                f" ({counts}: mirflow problems {store})" * bool(counts)
            )
            echo(f"nothing to do: {held}; mirflow query {store} shows them ({report.seconds:.1f} s)", err=True)
            _print_broken(report.evaluations)
        return
    _print_cells(report, shown, store, quiet, set() if on_purpose else incomplete, diagnose)
    if incomplete and on_purpose:
        echo(f"  {on_purpose}", err=True)
    elif incomplete and quiet and not report.part:
        echo(f"  all reasons: mirflow problems {store}", err=True)
    if quiet:
        return
    took = f"{report.seconds:.1f} s, {report.scheduler}"
    if report.part:
        echo(f"{path}: part {report.part} computed ({took}); `mirflow publish` joins all parts", err=True)
        return
    echo(f"{path} {'written' if report.published else 'unchanged'} ({took})", err=True)
    from ..reports.standings import rank_result

    for name, result in shown.items() if len(shown) <= _NAMED else ():
        standings = rank_result(result, tracks=int(result["n_tracks"].values))
        echo(f"{name}, {result['metric'].values[0]}: {standings.sentence()}", err=True)
    if incomplete and not on_purpose:
        without = f"without a score: {counted(failed, 'cell')}; " if failed else ""
        echo(f"{without}all reasons: mirflow problems {store}", err=True)


def _print_broken(evaluations: Sequence[EvaluationReport]) -> None:
    for evaluation in evaluations:
        cells = counted(sum(evaluation.status.values()), "cell")
        for metric, (count, reason) in evaluation.broken.items():
            echo(f"  {evaluation.plan.name}: metric {metric!r} failed in {count} of {cells}, as in {reason}", err=True)


def _print_cells(
    report: RunReport,
    shown: Mapping[str, ResultInMemory],
    store: str,
    quiet: bool,
    explained: Collection[str],
    diagnose: str,
) -> None:
    """Print the numbers of computed cells, the reasons in the evaluations that are to be explained, and the causes."""
    from ..analysis.selection import VALUELESS, find_problems
    from ..reports.summaries import problem_lines

    problems: list[str] = []
    for evaluation in report.evaluations:
        name = evaluation.plan.name
        result = None if quiet else shown.get(name)
        if not quiet:
            echo(str(evaluation), err=True)
        if result is not None and (count := int(result.attrs["undefined_cells"])):
            metrics = result["metric"].values.tolist()
            what = f"one or more of {len(metrics)} metrics" if metrics[1:] else metrics[0]
            treatment = say_undefined(result.attrs["undefined"], result.attrs.get(VALUELESS, ""))
            echo(f"  {name}: {counted(count, 'cell')} had nothing to measure for {what}; {treatment}", err=True)
        if name in explained:
            lines = problem_lines(name, find_problems(evaluation.content))
            problems += lines
            for line in lines:
                echo(f"  {line}", err=True)
    _print_broken(report.evaluations)
    if quiet:
        return
    noted = sum(one.noted for one in report.evaluations)
    repairs = sum(one.repairs for one in report.evaluations)
    remarks = [f"{counted(noted, 'file')} not read whole: mirflow problems {store}"] if noted else []
    remarks += [f"{counted(repairs, 'repair')}: {REPAIRED}"] if repairs else []
    if remarks:
        echo(f"  {'; '.join(remarks)}", err=True)
    if diagnose == "none" or report.part:
        return
    from ..causes.low_cells import causes_of_run, describe

    rows = []
    for one in report.evaluations:
        computed = sum(one.counts.values()) - one.counts["reused"] - one.counts["removed"]
        rows.append((one.plan, one.content, computed))
    findings, _, left = causes_of_run(rows, everything=diagnose == "all")
    for line in describe(findings, doubts=problems):
        echo(f"  {line}", err=True)
    if findings:
        some = f" ({counted(left, 'low cell')} not looked at here)" if left else ""
        echo(f"  all causes: mirflow diagnose {store}{some}", err=True)


def _print_results(store: str, evaluations: Sequence[EvaluationReport], primary: bool) -> dict[str, ResultInMemory]:
    """Print the main metrics of each evaluation, and how to see the others; or only the headline of each. Returns the
    printed results by evaluation."""
    from ..analysis.queries import NO_NUMBER, headline_metrics, query_content, say_left_out
    from ..analysis.scores import has_annotators
    from ..reports.layout import readable_tables
    from ..reports.summaries import primary_table
    from ..reports.tables import Tabulation

    laid: list[tuple[ResultInMemory, list[str]]] = []
    shown: dict[str, ResultInMemory] = {}
    left_out: dict[str, str] = {}
    for evaluation in sorted(evaluations, key=lambda one: one.content.name):
        content = evaluation.content
        headline = headline_metrics(content)[: 1 if primary else None]
        if headline:
            shown[content.name] = query_content(content, headline)
        if primary:
            left_out |= {} if headline else {content.name: NO_NUMBER}
            continue
        command, left = f"mirflow query {store} --group {content.name}", say_left_out(list(content.measures), headline)
        notes = [f"{left}: {command} --all"] if left else []
        stored = [one for one in evaluation.plan.measures if one.metric.dims and one.variable in content.cells.extras]
        for measure in sorted(stored, key=lambda one: one.variable):
            listed = " --by track" if measure.metric.nominal else ""
            notes.append(f"the store also holds {measure}: {command} --metric {shlex.quote(str(measure))}{listed}")
        if has_annotators(content):
            notes.append(f"the store also holds the scores of each annotator: {command} --by annotator")
        if headline:
            laid.append((shown[content.name], notes))
        else:
            echo("\n".join(f"{content.name}: {note}" for note in notes))
    if primary:
        emit([primary_table(list(shown.values()), left_out=left_out)], "table")
        return shown
    tables: Tabulation[ResultInMemory] = Tabulation(
        (),
        lambda width: [table for result, notes in laid for table in readable_tables(result, width=width, notes=notes)],
        list,
    )
    emit(tables, "table")
    return shown


_ON_PURPOSE = "A file of the example is missing and one is empty on purpose, to show how they are counted."

_NEXT = """\
Next, in {folder}:
  mirflow compare stores/demo.zarr -g chord         who is better, and how sure that is
  mirflow diagnose stores/demo.zarr                 what would make low scores right
  mirflow consensus stores/demo.zarr -g chord       where all systems contradict a reference
  mirflow report stores/demo.zarr -o report.html    one page with all of it, to open in a browser
The pipeline is demo.yaml, its files are in demo/. For your own files: mirflow init FOLDER"""


@click.command("demo", cls=Command, section="first", place=1, short_help="Write and score a small example.")
@click.argument("folder", type=LocalPath(file_okay=False), default="mirflow-demo")
@click.option("--quiet", "-q", is_flag=True, help="Do not print progress and results.")
@click.pass_context
def demo_command(context: click.Context, folder: Path, quiet: bool) -> None:
    """Write a small example to FOLDER (default: mirflow-demo), and score it.

    It has a pipeline file, and chords and beats of thirty tunes by six fictional systems, each with a character: one is
    a second late on two tunes, one a semitone low on one, one taps every other beat, one lacks files. FOLDER must be
    new or empty.
    """
    from ..published.benchmark_file import demonstration

    source = demonstration()
    if folder.is_dir() and any(folder.iterdir()):
        raise click.UsageError(f"the folder {str(folder)!r} is not empty; name another one: mirflow demo FOLDER")
    folder.mkdir(parents=True, exist_ok=True)
    # In a checkout, pipelines/ is next to stores/; here the pipeline is in the folder above stores/.
    text = (source / "demo.yaml").read_text(encoding="utf-8").replace("\nstore: ../", "\nstore: ")
    (folder / "demo.yaml").write_text(text, encoding="utf-8")
    shutil.copytree(source / "demo", folder / "demo")
    context.invoke(run_command, pipeline=folder / "demo.yaml", quiet=quiet, on_purpose=_ON_PURPOSE, diagnose="all")
    if not quiet:
        echo(_NEXT.format(folder=shlex.quote(str(folder))), err=True)


@click.command("schema", cls=Command, section="tools", place=3, short_help="Print the JSON Schema of pipeline files.")
@click.option("--mapping", is_flag=True, help="Print the schema of mappings of published tables.")
@click.option("--benchmark", is_flag=True, help="Print the schema of benchmark files of `mirflow bench`.")
@click.option("--leaderboard", is_flag=True, help="Print the schema of files written by `mirflow export`.")
@click.option("--campaign", is_flag=True, help="Print the schema of campaign files of `mirflow serve`.")
@click.option("--patch", is_flag=True, help="Print the schema of patches of references.")
def schema_command(mapping: bool, benchmark: bool, leaderboard: bool, campaign: bool, patch: bool) -> None:
    """Print the JSON Schema of pipeline files, for editors."""
    import json

    if mapping + benchmark + leaderboard + campaign + patch > 1:
        raise click.UsageError("give only one of --mapping, --benchmark, --leaderboard, --campaign and --patch")
    if mapping:
        from ..published.score_tables import mapping_schema as json_schema
    elif benchmark:
        from ..published.benchmark_file import benchmark_schema as json_schema
    elif leaderboard:
        from ..reports.leaderboard import json_schema
    elif campaign:
        from ..plugins import DOCUMENTS, find

        json_schema = find(DOCUMENTS, "campaign").json_schema
    elif patch:
        from ..readers.patches import patch_schema as json_schema
    else:
        from ..pipeline import json_schema
    echo(json.dumps(json_schema(), indent=2))
