"""Commands ``metrics`` and ``schema``, which need no data, and ``patch``, which makes and tries patches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from .common_options import Command, ReadingCommand, check_existing, option, query_options
from .output import choose_format, echo, emit, for_people, output_options


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
    from ..reports.summaries import full_table, short_table, tasks_overview_table

    style = choose_format(style, output)
    make = short_table if for_people(style) else full_table
    if task is None:
        find_all(TASKS)
    chosen = [get_task(name) for name in ([task] if task else tasks())]
    conventions = [
        (one.name, one.convention(name).with_installed())
        for one in chosen
        for name in ([convention] if convention else one.conventions)
    ]
    tables = [make(name, rules) for name, rules in conventions]
    if for_people(style) and len(conventions) > 1:
        tables.insert(0, tasks_overview_table(conventions))
    emit(tables, style, output)


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
