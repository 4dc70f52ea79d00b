"""Command ``cite``: references for the software and for the contents of a store."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import MetricError, UnknownNameError
from .common_options import Command, LocalPath, open_evaluations
from .output import echo

if TYPE_CHECKING:
    import xarray as xr


@click.command("cite", cls=Command, section="show", place=4, short_help="Print references to cite.")
@click.argument("stores", type=click.Path(path_type=Path), nargs=-1, metavar="[STORE...]")
@click.option("--format", "style", type=click.Choice(("text", "bibtex")), default="text", show_default=True)
@click.option("--output", "-o", type=LocalPath(dir_okay=False), help="Write to a file.")
def cite_command(stores: tuple[Path, ...], style: str, output: Path | None) -> None:
    """Print the reference of mirflow, and those of the metrics and conventions in STORE.

    In text output, each is followed by the evaluations and metrics that it defines.
    """
    from importlib.metadata import version

    from ..metrics.literature import spell_out, to_bibtex

    release = version("mirflow")
    uses: dict[str, dict[str, None]] = {}
    for name, ds in (open_evaluations(stores) if stores else {}).items():
        for key, use in _uses(ds):
            uses.setdefault(key, {})[f"{name}: {use}"] = None
    if style == "bibtex":
        text = "\n\n".join((to_bibtex("mirflow", version=release), *map(to_bibtex, uses)))
    else:
        entries = [f"{spell_out('@' + key)}\n  {_merge(list(own))}" for key, own in uses.items()]
        text = "\n".join((f"{spell_out('@mirflow')}, version {release}", *entries))
    if output is None:
        echo(text)
    else:
        output.write_text(f"{text}\n", encoding="utf-8")


def _uses(ds: xr.Dataset) -> list[tuple[str, str]]:
    from ..analysis.selection import find_measures
    from ..metrics.base import get_task
    from ..metrics.literature import cited
    from ..metrics.measures import Measure, parse

    name = str(ds.attrs.get("convention", ""))
    found: list[tuple[str, str]] = []
    measures: list[Measure] = []
    with suppress(UnknownNameError):
        rules = get_task(str(ds.attrs.get("task", ""))).convention(name)
        found += [(key, f"convention {name}") for key in cited(rules.literature)]
        for identity in map(str, ds["metric"].values.tolist()):
            with suppress(UnknownNameError, MetricError):  # declared by a user's module, or by another version
                measures.append(parse(identity, rules.metrics))
    for measure in (*measures, *find_measures(ds).values()):
        found += [(key, measure.metric.name) for key in cited(measure.metric.literature)]
    return found


def _merge(uses: list[str]) -> str:
    merged: dict[str, list[str]] = {}
    for use in uses:
        name, _, what = use.partition(": ")
        merged.setdefault(name, []).append(what)
    return "; ".join(f"{name}: {', '.join(what)}" for name, what in merged.items())
