"""The command that writes results for other platforms: ``export``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .common_options import LEVEL, Command, LocalPath, open_evaluations, option, query_options
from .output import echo, given_options

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
@click.option("--level", type=LEVEL, default=0.95, show_default=True, help="Level of the confidence intervals.")
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
