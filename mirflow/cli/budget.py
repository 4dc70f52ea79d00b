"""The command that splits losses among kinds of errors: ``budget``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import QueryError
from .common_options import LEVEL, Command, label_stores, option, query_options, stores_argument
from .output import choose_format, echo, emit, for_people, given_options, output_options

if TYPE_CHECKING:
    import xarray as xr

    from ..reports.tables import Tabulation


@click.command(
    "budget", cls=Command, section="tracks", place=5, short_help="Split what systems lose by kinds of errors."
)
@stores_argument
@click.option("--metric", "-m", help="The metric whose loss is split. Default: the headline metric.")
@query_options("aggregate", "by", "system", "tracks", "where")
@query_options("missing", "undefined", missing="Treatment of cells without a score: common, skip or raise.")
@option("group")
@option("ci", type=LEVEL, metavar="LEVEL")
@option("cluster")
@click.option("--compare", "versus", nargs=2, metavar="A B", help="Test the differences of two systems, by kind.")
@option("root", "Folder of the annotations, if they are no longer where they were.")
@click.option(
    "--save", type=click.Path(path_type=Path), metavar="STORE", help="Write the losses of all tracks to a store."
)
@option("percent")
@option("label")
@output_options
def budget_command(
    stores: tuple[Path, ...],
    labels: tuple[str, ...],
    metric: str | None,
    root: Path | None,
    versus: tuple[str, str] | None,
    save: Path | None,
    style: str | None,
    output: Path | None,
    **options: Any,
) -> None:
    """Split what the systems in STORE lose among kinds of errors.

    STORE may be a pipeline file as well. The annotations are read again. The share of a kind is what mending all of
    its errors adds to the score, averaged over all orders in which the kinds may be mended (Shapley value); the score
    and all shares sum to the score of the reference by itself. A store written by --save answers every command about
    stores.
    """
    import xarray as xr

    from ..questions.query import query
    from ..reports.error_budgets import budgets, costly
    from ..store.write import save as write

    style = choose_format(style, output)
    given = given_options(options)
    if given.get("missing") == "zero":
        raise QueryError(
            "missing 'zero': a missing estimate has no errors to split its loss among; choose common or skip"
        )
    chosen = {name: given[name] for name in ("group", "tracks", "where") if name in given}
    found = budgets(label_stores(stores, labels), metric, root=root, guarded=True, **chosen)
    if save is not None:
        write(xr.DataTree.from_dict(found), save)
    idle: dict[str, list[str]] = {}
    if for_people(style):
        for name, ds in found.items():
            found[name], idle[name] = costly(ds)
    if versus is None:
        tree = xr.DataTree.from_dict(found)
        result = query(tree, **{"sort": "best" if for_people(style) else "stored"} | given)
    else:
        result = _compare(found, versus, given)
    for note in result.notes if not for_people(style) else ():
        echo(note, err=True)
    emit(_with_idle(result, idle), style, output)


def _with_idle(result: Tabulation[xr.Dataset], idle: dict[str, list[str]]) -> Tabulation[xr.Dataset]:
    """Name below the tables for people the kinds of errors that cost nothing."""
    from ..reports.tables import Table, Tabulation

    notes = [f"{name}: nothing is lost by {', '.join(kinds)}" for name, kinds in idle.items() if kinds]
    more = [Table((), (), notes=tuple(notes))] if notes else []
    return Tabulation(result.items, lambda width: [*result.tables(width), *more], lambda: [result.rows()], result.notes)


def _compare(found: dict[str, xr.Dataset], systems: tuple[str, str], given: dict[str, Any]) -> Tabulation[xr.Dataset]:
    """The differences of two systems by kind, in one table for each evaluation."""
    import xarray as xr

    from ..analysis.inference.paired import correct_metrics
    from ..questions.compare import compare
    from ..reports.comparisons_tables import comparison_long_table, kinds_table
    from ..reports.tables import Tabulation

    for name in ("by", "ci", "system"):
        if name in given:
            raise click.UsageError(f"--compare takes no --{name}")
    percent = given.pop("percent", False)
    compared: list[xr.Dataset] = []
    notes: list[str] = []
    for name, losses in found.items():
        metrics = losses["metric"].values.tolist()
        ask = partial(
            compare, xr.DataTree.from_dict({name: losses}), metrics, system=systems, correction="none", **given
        )
        result = ask()
        notes += result.notes
        for ds in result:
            kinds = ds["kind"].values != ""
            compared.append(correct_metrics(ds, kinds, lambda level, ask=ask: next(iter(ask(level=level)))))  # type: ignore[misc]
    return Tabulation(
        compared,
        lambda width: [kinds_table(ds, percent=percent) for ds in compared],
        lambda: [comparison_long_table(ds) for ds in compared],
        notes,
    )
