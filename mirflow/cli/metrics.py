"""Commands that need no data: ``metrics`` and ``schema``."""

from __future__ import annotations

from pathlib import Path

import click

from .common_options import Command, option
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
