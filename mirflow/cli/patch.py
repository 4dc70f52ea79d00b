"""The command ``patch``: makes patches of references, and shows what they do to scores and ranks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from .common_options import ReadingCommand, check_existing, option, query_options
from .output import choose_format, echo, emit, output_options


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
