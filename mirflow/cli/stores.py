"""Commands about stores: ``import`` of published scores, ``export`` for other platforms, ``history``.

``history`` lists the commits of a store at an address, or gives a version a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..analysis.query_options import DEFAULT_LEVEL
from .common_options import LEVEL, Command, LocalPath, label_option, label_stores, option, query_options, store_argument
from .output import choose_format, echo, emit, given_options, output_options


@click.command("import", cls=Command, section="score", place=5, short_help="Import published scores into a store.")
@click.argument("table", required=False, type=LocalPath(exists=True, dir_okay=False))
@click.option(
    "--mapping",
    required=True,
    type=LocalPath(exists=True, dir_okay=False),
    help="A YAML file that assigns columns to metrics.",
)
@click.option("--store", "-o", required=True, type=click.Path(path_type=Path), help="Path of the store.")
@option("root", "Base folder of the mapping's patterns.")
@click.option("--overwrite", is_flag=True, help="Replace groups imported with another mapping.")
def import_command(table: Path | None, mapping: Path, store: Path, root: Path | None, overwrite: bool) -> None:
    """Import the scores of published tables into a separate store.

    TABLE replaces the path in the mapping.
    """
    from ..errors import counted
    from ..published.score_tables import import_scores
    from ..remote import as_given

    if table is not None and root is not None:
        raise click.UsageError("--root applies to the mapping's paths; omit it if you give a TABLE")
    report = import_scores(mapping, store, root=root, table=table, overwrite=overwrite)
    for name, (systems, tracks, metrics) in report.shapes.items():
        lost = report.missing[name]
        without = f", {counted(lost, 'cell')} without a score" if lost else ""
        shape = f"{counted(systems, 'system')} x {counted(tracks, 'track')} x {counted(metrics, 'metric')}"
        echo(f"{name}: {shape}{without}", err=True)
    echo(f"{as_given(store)} written", err=True)


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
@label_option
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
    from ..analysis.queries import choose, evaluations_of
    from ..analysis.query_options import Query
    from ..reports.leaderboard import leaderboard, to_codabench, to_eval_results, to_json, to_model_index

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
    evaluations = choose(evaluations_of(label_stores(stores, labels)), query.metric, group)
    title = title or " + ".join(store.name.removesuffix(".zarr") for store in stores)
    with_intervals = style == "leaderboard" and not no_intervals
    board = leaderboard(evaluations, query, title=title, level=level if with_intervals else None)
    for name in evaluations.keys() - {evaluation.name for evaluation in board.evaluations}:
        echo(f"{name}: skipped, as no metric has one number per track", err=True)
    left_out: Sequence[str] = ()
    if style == "leaderboard":
        text = to_json(board)
    elif style == "codabench":
        text, left_out = to_codabench(board)
    else:
        from ..pipeline.document import dump_document

        values: Any
        if style == "eval-results":
            values, left_out = to_eval_results(board, dataset or title)
        else:
            values = to_model_index(board, dataset or title)
        text = dump_document(values)
    for key in left_out:
        echo(f"{key}: skipped, as it has no finite value", err=True)
    if str(output) == "-":
        echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
        echo(f"{output} written", err=True)


@click.command(
    "history", cls=Command, section="stores", place=5, short_help="List the versions of a store at an address."
)
@store_argument
@click.option("--tag", metavar="NAME", help="Give the latest version, or the one that the address names, a name.")
@output_options
def history_command(store: Path, tag: str | None, style: str | None, output: Path | None) -> None:
    """List the commits of a store at an address, the latest first.

    STORE is an address such as s3://bucket/stores/x. Every command reads an earlier version at ADDRESS@VERSION, where
    VERSION is a tag, a commit, or a date.
    """
    from ..reports.tables import Table
    from ..store.repositories import history, tag_version

    style = choose_format(style, output)
    if tag is not None:
        echo(f"{tag_version(store, tag)}")
        return
    rows = tuple(
        (
            commit.id,
            commit.time.isoformat(" ", "seconds"),
            commit.pipeline,
            commit.message,
            ", ".join(commit.tags) or None,
            commit.versions.get("mirflow"),
        )
        for commit in history(store)
    )
    emit([Table(("commit", "time", "pipeline", "written", "tags", "mirflow"), rows, folds=("written",))], style, output)
