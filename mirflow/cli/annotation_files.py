"""Commands about annotation files: ``check``, ``evaluate``, ``patch`` and ``pack``.

``check`` also takes pipeline, campaign and benchmark files. ``patch`` makes a patch, or shows what patches of a
pipeline do to scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import counted, shorten_quotes
from .common_options import (
    LocalPath,
    ReadingCommand,
    check_existing,
    number_or_name,
    number_or_word,
    option,
    query_options,
    typed,
)
from .output import FAILED, FOR_PEOPLE, REPAIRED, choose_format, echo, emit, lines_of_checks, output_options

if TYPE_CHECKING:
    import xarray as xr

    from ..reports.tables import Tabulation


@click.command(
    "check",
    cls=ReadingCommand,
    sides=("reference", "beside"),
    section="first",
    place=2,
    short_help="List the problems of annotation files.",
)
@click.argument("paths", nargs=-1, required=True, type=LocalPath(), metavar="PATH...", callback=check_existing)
@option("task", "Task of the annotations. Default: that of the namespaces of JAMS files; chord for .lab files.")
@option("convention", "Convention with the rules of errors.")
@click.option("--schema/--no-schema", default=True, help="Validate JAMS files against their schemas (slow).")
@option("annotator", "For JAMS files with several annotators: a number or an identifier. Default: all.")
@click.option(
    "--reference",
    type=LocalPath(exists=True),
    help="Reference of PATH, a file or a folder, to warn about implausible estimates.",
)
@click.option(
    "--role",
    type=click.Choice(["reference", "estimate"]),
    help="Role of PATH: references are also scored against themselves. Default: estimate with --reference, and below "
    "folders such as est, preds or systems.",
)
@click.option(
    "--beside",
    type=click.Path(path_type=Path, exists=True),
    help="Annotations of the same tracks to check references beside: keys for chords, beats for sections.",
)
@click.option("--beside-task", metavar="TASK", help="Task of the annotations in --beside.")
@click.option("--worst", type=click.IntRange(min=1), metavar="N", help="Only the N strongest probable mistakes.")
@output_options
@click.pass_context
def check_command(
    context: click.Context,
    /,
    paths: tuple[Path, ...],
    task: str | None,
    worst: int | None,
    options: Mapping[str, Any],
    style: str | None,
    output: Path | None,
    **words: Any,
) -> None:
    """List the problems of annotation files and folders, with file and line, or those of a pipeline's references.

    Of a campaign or benchmark file, its problems are listed.

    Annotations with an error cannot be scored; those with a warning are repaired or scored as empty; those with a
    note are scored unchanged.

    Options of reading (--columns, --time-unit, ...) also apply to the --reference; with the prefix --reference-, as in
    --reference-time-unit ms, to the reference only, and with --beside- to the annotations beside.
    """
    keys: set[str] | None = None  # of a YAML file
    if len(paths) == 1 and paths[0].suffix.lower() in (".yaml", ".yml"):
        from ..pipeline.document import read_document

        data = read_document(paths[0]).data
        keys = set(data) if isinstance(data, Mapping) else set()
    if keys is not None and "benchmark" in keys:
        from ..published.benchmark_file import load_benchmark

        load_benchmark(paths[0])
        echo(f"{paths[0]}: no problems", err=True)
        return
    if keys is not None and ("evaluations" not in keys or {"campaign", "splits"} & keys):
        from ..plugins import DOCUMENTS, find

        find(DOCUMENTS, "campaign").check(paths[0])
        return
    from ..reports.summaries import check

    checks = check(paths, task, worst=worst, **words, **options)
    style = choose_format(style, output)
    if style == "table" and output is None and worst is None:
        for line in lines_of_checks(checks.items):
            click.echo(shorten_quotes(line))
    else:
        emit([checks.rows()], style, output)
    for note in checks.notes:
        echo(note, err=True)
    if any(one.worst == "error" for one in checks):
        context.exit(FAILED)


@click.command(
    "evaluate",
    cls=ReadingCommand,
    sides=("reference", "estimate"),
    section="first",
    place=3,
    short_help="Score two files or two folders.",
)
@click.argument("reference", type=LocalPath(), callback=check_existing)
@click.argument("estimate", type=LocalPath(), callback=check_existing)
@option("task", help="Task of the annotations, for example chord. Default: what JAMS files say.")
@query_options("metric", metric="Metrics by name. Repeat for several. Default: the convention's.")
@option("convention")
@click.option("--grid", callback=number_or_word, help="union, reference, or the hop of frames in seconds.")
@option("percent")
@option("annotator")
@click.option("--estimate-annotator", callback=number_or_name, help="Annotator of the estimate, if it differs.")
@click.option(
    "--classes",
    type=LocalPath(exists=True, dir_okay=False),
    help="Vocabulary of classes or tags: a table of names; of class,parent; or of from,to,credit.",
)
@output_options
@click.pass_context
def evaluate_command(
    context: click.Context,
    reference: Path,
    estimate: Path,
    task: str | None,
    metric: tuple[str, ...],
    convention: str | None,
    grid: str | float | None,
    percent: bool,
    annotator: str | int | None,
    estimate_annotator: str | int | None,
    classes: Path | None,
    options: Mapping[str, Any],
    style: str | None,
    output: Path | None,
) -> None:
    """Score ESTIMATE against REFERENCE: two files, or two folders whose files have the same names.

    Two tables of many tracks are scored track by track.

    Options of reading (--columns, --time-unit, ...) apply to both sides; with the prefix --reference- or --estimate-,
    as in --estimate-time-unit ms, to one of them.
    """
    from ..analysis.scores import as_scores
    from ..analysis.selection import find_problems
    from ..evaluation.evaluate import evaluate_paths
    from ..readers.class_tables import read_classes
    from ..readers.options import OPTIONS, SIDES
    from ..reports.summaries import cell_remarks, problem_lines
    from ..store.cells import FAILED_METRICS
    from ..store.format import list_cautions, nested_attrs

    style = choose_format(style, output)
    score = partial(
        evaluate_paths,
        *(reference, estimate, task),
        metrics=metric or None,
        convention=convention,
        grid=grid,
        annotators=(annotator, annotator if estimate_annotator is None else estimate_annotator),
        classes=None if classes is None else read_classes(classes),
    )
    ds = score(**options)
    if options:  # not on standard output for programs: their tables begin with the header
        named = {"both sides": {name: value for name, value in options.items() if name in OPTIONS}}
        named |= {
            side: {name: options[f"{side}_{name}"] for name in OPTIONS if f"{side}_{name}" in options} for side in SIDES
        }
        said = "; ".join(f"{who} read with {typed(chosen)}" for who, chosen in named.items() if chosen)
        echo(said, err=style not in FOR_PEOPLE or output is not None)
    failed, partly = cell_remarks(ds)
    reasons = [*failed, *partly]
    few = len(reasons) <= 5  # longer lists are counted by cause
    for line in map(shorten_quotes, reasons) if few else problem_lines(ds.attrs["task"], find_problems(as_scores(ds))):
        echo(line, err=True)
    pair = ds.sizes["track"] == ds.sizes["system"] == 1
    for caution in list_cautions(nested_attrs(ds.attrs)) if pair or style not in FOR_PEOPLE else ():
        echo(f"warning: {caution}", err=True)
    if pair and not reasons and not ds.message.item() and ds.repairs.item():
        echo(f"{counted(ds.repairs.item(), 'repair')}: {REPAIRED}", err=True)
    if failed and pair and (cure := _cure_of_one_side(score, options, failed[0])):
        echo(cure, err=True)
    if not (failed and pair and style in FOR_PEOPLE):
        emit(_evaluated(ds, pair, style, percent), style, output)
    if failed or FAILED_METRICS in ds.data_vars:
        context.exit(FAILED)


def _cure_of_one_side(score: Callable[..., xr.Dataset], options: Mapping[str, Any], reason: str) -> str:
    """Options that were given for both sides, or that the reason of a failure proposes, as those of the side that can
    be read so; empty if there is none."""
    from ..errors import MirflowError
    from ..readers.options import OPTIONS, SIDES
    from ..readers.remedies import options_in
    from ..store.cells import Status, text_of

    common = {name: value for name, value in options.items() if name in OPTIONS}
    apart = {name: value for name, value in options.items() if name not in OPTIONS}
    if not common:
        common = {name: value for clause in reason.split("; ") for name, value in options_in(clause).items()}
    for side in SIDES if common and False not in common.values() else ():  # --no-header has no form for one side
        try:
            ds = score(**(apart | {f"{side}_{name}": value for name, value in common.items()}))
        except MirflowError:
            continue
        if int(ds.status.item()) == Status.ok and not text_of(str(ds.message.item()), "warning"):
            return f"the {side} alone can be read so: {typed(common).replace('--', f'--{side}-')}"
    return ""


def _evaluated(ds: xr.Dataset, pair: bool, style: str, percent: bool) -> Tabulation[Any]:
    from ..analysis.lookup import find_measures
    from ..analysis.per_class import aggregate_table, select_table
    from ..analysis.queries import evaluate_query
    from ..analysis.query_options import BEST, Query
    from ..analysis.scores import as_scores
    from ..reports.layout import long_table, readable_tables
    from ..reports.summaries import pair_table
    from ..reports.tables import Tabulation

    ds, query = as_scores(ds), Query(sort=BEST if style in FOR_PEOPLE else None)
    scalars = bool(ds.sizes["metric"])
    tables = [pair_table(ds, percent=percent, people=style in FOR_PEOPLE)] if pair and scalars else []
    results = evaluate_query(ds, query) if scalars and not pair else []
    # Programs get one table of one kind: entries of a matrix only if there is nothing else.
    extra: list[xr.Dataset] = []
    if style in FOR_PEOPLE or not scalars:
        named = [name for name, measure in find_measures(ds).items() if pair or not measure.metric.nominal]
        extra = [aggregate_table(select_table(ds, variable, query)) for variable in named]
    shown = [*((result, percent) for result in results), *((result, False) for result in extra)]
    return Tabulation(
        (),
        lambda width: [
            *tables,
            *chain.from_iterable(readable_tables(result, percent=way, width=width) for result, way in shown),
        ],
        lambda: [*tables, *(long_table(result) for result, _ in shown)],
    )


@click.command(
    "patch",
    cls=ReadingCommand,
    section="tools",
    place=2,
    short_help="Correct references, and show what it does to scores and ranks.",
)
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...", callback=check_existing
)
@option("task", "Task of the references to make a patch of.")
@click.option("--author", help="Who answers for the patch that is made.")
@click.option("--reason", help="Why the references are wrong.")
@click.option("--track", help="Name of the track. Default: the name of the file without suffix.")
@option("annotator", "Of the references, if a track has several.")
@query_options("metric", metric="Metrics by name or alias. Repeat for several. Default: the headline.")
@option("group")
@click.option("--root", type=click.Path(path_type=Path), help="Folder of the annotations, in place of the file's.")
@click.option("--store", type=click.Path(path_type=Path), help="Store of the scores, in place of the file's.")
@output_options
def patch_command(
    paths: tuple[Path, ...],
    task: str | None,
    author: str | None,
    reason: str | None,
    track: str | None,
    annotator: str | None,
    metric: tuple[str, ...],
    group: str | None,
    root: Path | None,
    store: Path | None,
    options: Mapping[str, Any],
    style: str | None,
    output: Path | None,
) -> None:
    """Show what the patches of PIPELINE [PATCH...] do to scores and ranks, or make one from ORIGINAL and EDITED.

    PIPELINE is a pipeline file; its patches are those of reference.patch, and the files PATCH to try. ORIGINAL and
    EDITED are a reference and a corrected copy, or folders of them: the patch is written as JSON to --output.
    """
    if paths[0].suffix.lower() in (".yaml", ".yml"):
        from ..workflows.corrections import patch_effects

        style = choose_format(style, output)
        emit(patch_effects(paths[0], paths[1:], metric=metric, group=group, root=root, store=store), style, output)
        return
    if len(paths) != 2 or not (task and author and reason):
        raise click.UsageError("a patch is made of ORIGINAL and EDITED with --task, --author and --reason")
    import json

    from ..store.generations import write_atomically
    from ..workflows.corrections import make_patch

    about: dict[str, Any] = {"author": author, "reason": reason, "track": track, "annotator": annotator or ""}
    text = json.dumps(make_patch(paths[0], paths[1], task, **about, **options), indent=1, ensure_ascii=False) + "\n"
    if output is None:
        echo(text, nl=False)
    else:
        write_atomically(output, text.encode())


@click.command("pack", cls=ReadingCommand, section="tools", place=4, short_help="Pack annotations for fast reading.")
@click.argument("pattern")
@click.argument("out", type=LocalPath())
@option("task", required=True)
@option("annotator", "For files with several annotators: a number or an identifier.")
@click.option("--overwrite", is_flag=True, help="Replace an existing pack.")
def pack_command(
    pattern: str, out: Path, task: str, annotator: str | int | None, overwrite: bool, options: Mapping[str, Any]
) -> None:
    """Pack the annotations that PATTERN (such as 'refs/{track}.jams') matches into one Zarr file OUT.

    A pack can replace any pattern of a pipeline, and is read many times faster than the files.
    """
    from ..evaluation.loading import pack

    tracks = pack(pattern, out, task, annotator=annotator, overwrite=overwrite, **options)
    echo(f"{out}: {counted(tracks, 'track')}", err=True)
