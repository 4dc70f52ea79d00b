"""Commands for other scores: ``diff`` and ``import``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from .common_options import Command, LocalPath, option, query_options
from .output import FAILED, choose_format, echo, emit, given_options, output_options

TOLERANCE = "tolerance"
_APART = "differ by more than {}, or have a score on one side only"
_PAIR = re.compile(r"=(?![^()]*[)])")


def _check_limit(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """A nonnegative number, or the word for the tolerance."""
    try:
        if value is None or value == TOLERANCE or 0 <= float(value) < float("inf"):
            return value
    except ValueError:
        pass
    raise click.BadParameter(f"must be a number, 0 or more, or {TOLERANCE}, not {value!r}")


def _read_pairs(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Parse ``A=B``, where A and B may have parameters with equals signs in brackets."""
    pairs: dict[str, str] = {}
    for text in given:
        found = _PAIR.search(text)
        mine, other = (text[: found.start()].strip(), text[found.end() :].strip()) if found else ("", "")
        if not mine or not other:
            raise click.BadParameter(f"expected A=B, not {text!r}")
        if mine in pairs:
            raise click.BadParameter(f"{mine} is paired twice")
        pairs[mine] = other
    return pairs


@click.command("diff", cls=Command, section="stores", place=4, short_help="Compare two sets of scores.")
@click.argument("a")
@click.argument("b")
@query_options(
    "metric",
    "system",
    "tracks",
    metric="Metrics by name or alias. Repeat for several. Default: all common ones.",
    system="Systems, by name or pattern (*). Repeat for several. Default: all common ones.",
    tracks="Tracks, by name or pattern (*). Repeat for several. Default: all common ones.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    help="Tolerance of differences. Default: half of the last printed digit of a table, at least 1e-9.",
)
@click.option(
    "--worst", type=click.IntRange(1), metavar="N", help="List the N cells of each metric with the largest differences."
)
@click.option(
    "--fail-above",
    callback=_check_limit,
    metavar="X",
    help=f"Exit with {FAILED} if scores differ by more than X (a number, or tolerance), or only one side has one.",
)
@click.option("--worse", is_flag=True, help="With --fail-above: fail only if B is worse than A, or lacks its score.")
@click.option(
    "--pair",
    multiple=True,
    callback=_read_pairs,
    metavar="A=B",
    help="Compare metric A of A with metric B of B. Repeat for several; others only with --metric.",
)
@option("root", "Base folder of a mapping's patterns.")
@click.option("--all", "every", is_flag=True, help="List every metric, not only those that differ.")
@output_options
def diff_command(
    a: str,
    b: str,
    fail_above: str | None,
    worse: bool,
    style: str | None,
    output: Path | None,
    **options: Any,
) -> None:
    """Compare the scores of A and B, track by track.

    Each is a store, one evaluation of a store (stores/x.zarr:chord), or a mapping file (.yaml) that describes
    published tables. Evaluations, systems and tracks are matched by name, metrics by name and parameters.
    """
    from ..analysis.differences import exceeding
    from ..api import diff

    if worse and fail_above is None:
        raise click.UsageError("--worse needs --fail-above")
    style = choose_format(style, output)
    found = diff(a, b, **given_options(options))
    emit(found, style, output)
    if fail_above is None:
        return
    most = None if fail_above == TOLERANCE else float(fail_above)
    too_far = [f"{one.attrs['a']}: {', '.join(far)}" for one in found if (far := exceeding(one, most, worse=worse))]
    message = "are worse in b by more than {}, or have a score in a only" if worse else _APART
    for line in too_far:
        echo(f"{message.format(fail_above)}: {line}", err=True)
    for one in found if worse else ():
        names = one["metric"].values[one["orientation"].values == "none"].tolist()
        if names:
            echo(f"never worse, as neither high nor low values are better: {', '.join(names)}", err=True)
    if too_far:
        click.get_current_context().exit(FAILED)


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
    from ..addresses import as_given
    from ..errors import counted
    from ..published.score_tables import import_scores

    if table is not None and root is not None:
        raise click.UsageError("--root applies to the mapping's paths; omit it if you give a TABLE")
    report = import_scores(mapping, store, root=root, table=table, overwrite=overwrite)
    for name, (systems, tracks, metrics) in report.shapes.items():
        lost = report.missing[name]
        without = f", {counted(lost, 'cell')} without a score" if lost else ""
        shape = f"{counted(systems, 'system')} x {counted(tracks, 'track')} x {counted(metrics, 'metric')}"
        echo(f"{name}: {shape}{without}", err=True)
    echo(f"{as_given(store)} written", err=True)
