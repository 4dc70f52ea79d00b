"""Commands ``init``, which drafts a pipeline file for a folder, and ``demo``, which writes and scores an example."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import click

from .common_options import Command, LocalPath
from .output import echo
from .run import run_command


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
