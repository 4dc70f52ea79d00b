"""Command ``demo``: copy the bundled example to a folder, and score it."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import click

from .common_options import Command, LocalPath
from .output import echo
from .run import run_command

_ON_PURPOSE = "Some files of the example are missing, empty or broken on purpose, to show how they are counted."
_NEXT = """\
Next, in {folder}:
  mirflow query stores/demo.zarr --group chord --metric majmin --by track
  mirflow compare stores/demo.zarr --group chord --metric majmin
  mirflow problems stores/demo.zarr
  mirflow report stores/demo.zarr --output report.html
The pipeline is demo.yaml, its files are in demo/. For your own files: mirflow init FOLDER"""


@click.command("demo", cls=Command, section="first", place=1, short_help="Write and score a small example.")
@click.argument("folder", type=LocalPath(file_okay=False), default="mirflow-demo")
@click.option("--quiet", "-q", is_flag=True, help="Do not print progress and results.")
@click.pass_context
def demo_command(context: click.Context, folder: Path, quiet: bool) -> None:
    """Write a small example to FOLDER (default: mirflow-demo), and score it.

    It has a pipeline file and chords of six tunes by three fictional systems; some files are missing or broken on
    purpose. FOLDER must be new or empty.
    """
    from ..published.benchmark_catalogue import demonstration

    source = demonstration()
    if folder.is_dir() and any(folder.iterdir()):
        raise click.UsageError(f"the folder {str(folder)!r} is not empty; name another one: mirflow demo FOLDER")
    folder.mkdir(parents=True, exist_ok=True)
    # In a checkout, pipelines/ is next to stores/; here the pipeline is in the folder above stores/.
    text = (source / "demo.yaml").read_text(encoding="utf-8").replace("\nstore: ../", "\nstore: ")
    (folder / "demo.yaml").write_text(text, encoding="utf-8")
    shutil.copytree(source / "demo", folder / "demo")
    context.invoke(run_command, pipeline=folder / "demo.yaml", quiet=quiet, on_purpose=_ON_PURPOSE)
    if not quiet:
        echo(_NEXT.format(folder=shlex.quote(str(folder))), err=True)
