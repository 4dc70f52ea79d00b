"""The command that compares two stores, two of their evaluations, or a store and a published table: ``diff``."""

from __future__ import annotations

from pathlib import Path

import click

from .exits import FAILED
from .output import choose_format, emit, for_people, output_options

TOLERANCE = "tolerance"


def _check_limit(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """A number that is not negative, or the word for what agrees."""
    try:
        if value is None or value == TOLERANCE or 0 <= float(value) < float("inf"):
            return value
    except ValueError:
        pass
    raise click.BadParameter(f"must be a number, 0 or more, or {TOLERANCE}, not {value!r}")


@click.command("diff", short_help="Say how far two sets of scores are apart.")
@click.argument("a")
@click.argument("b")
@click.option("--metric", "-m", "metrics", multiple=True, help="Repeat for several. Default: all that both have.")
@click.option("--system", "-s", "systems", multiple=True, help="Repeat for several. Default: all that both have.")
@click.option("--track", "-t", "tracks", multiple=True, help="Repeat for several. Default: all that both have.")
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    help="Up to which scores agree. Default: half of the last printed digit of a table, at least 1e-9.",
)
@click.option("--worst", type=click.IntRange(1), metavar="N", help="List the N cells of each metric that differ most.")
@click.option(
    "--fail-above",
    callback=_check_limit,
    metavar="X",
    help=f"Exit code {FAILED} where scores differ by more than X (a number, or tolerance), or only one side has one.",
)
@click.option("--root", type=click.Path(file_okay=False, path_type=Path), help="Where a mapping's patterns start.")
@output_options
@click.pass_context
def diff_command(
    context: click.Context,
    a: str,
    b: str,
    metrics: tuple[str, ...],
    systems: tuple[str, ...],
    tracks: tuple[str, ...],
    tolerance: float | None,
    worst: int | None,
    fail_above: str | None,
    root: Path | None,
    style: str | None,
    output: Path | None,
) -> None:
    """Compare the scores of A and B, track by track.

    Each is a store, one evaluation of a store (stores/x.zarr:chord), or a mapping file (.yaml) that says what stands
    in published tables. Evaluations, systems, tracks and metrics are matched by name.
    """
    from ..analysis.comparison import differences
    from ..report.differences import difference_long_table, difference_table, worst_table

    style = choose_format(style, output)
    chosen = {"metric": metrics or None, "system": systems or None, "track": tracks or None}
    found, left = differences(a, b, **chosen, tolerance=tolerance, root=root)
    alone = [f"evaluations only in {side}: {', '.join(names)}" for side, names in zip("ab", left, strict=True) if names]
    tables = []
    for place, one in enumerate(found):
        if for_people(style):
            tables.append(difference_table(one, alone if place == len(found) - 1 else ()))
            tables += [worst_table(one, worst)] if worst else []
        else:
            tables.append(worst_table(one, worst, long=True) if worst else difference_long_table(one))
    emit(tables, style, output)
    if fail_above is None:
        return
    most = None if fail_above == TOLERANCE else float(fail_above)
    too_far = [f"{one.sides[0].label}: {', '.join(names)}" for one in found if (names := one.exceeds(most))]
    for line in too_far:
        click.echo(f"differ by more than {fail_above}, or have a score on one side only: {line}", err=True)
    if too_far:
        context.exit(FAILED)
