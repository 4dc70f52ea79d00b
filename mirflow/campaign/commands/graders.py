"""Commands about graders: ``grading agreement``, from files of judgements, and ``grading workload``, from numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...cli.common_options import LEVEL, Command
from ...cli.output import check_figure, choose_format, echo, emit, for_people, output_options

if TYPE_CHECKING:
    import xarray as xr

    from ...annotations.collection import Collection
    from ...reports.tables import Entry, Table

_PLAIN = frozenset({"n", "mean", "median", "lowest", "highest", "q1", "q3"})
"""Columns that need no explanation."""
_FACTORS = (
    ("algorithms", "A", "Systems that return candidates."),
    ("queries", "Q", "Queries."),
    ("candidates", "C", "Candidates that each system returns for a query."),
    ("graders", "G", "People who judge."),
)


@click.command("agreement", cls=Command, short_help="Measure the agreement of graders.")
@click.argument(
    "paths",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    nargs=-1,
    required=True,
    metavar="JUDGEMENTS...",
)
@click.option(
    "--figure",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Box plots of the fine judgements within each category: .pdf, .png or .svg.",
)
@click.option(
    "--level", type=LEVEL, help="Level of intervals for weighted kappa, alpha and ICC, such as 0.95. Default: none."
)
@output_options
def agreement_command(
    paths: tuple[Path, ...], figure: Path | None, level: float | None, style: str | None, output: Path | None
) -> None:
    """Compute the agreement of graders, and the distribution of fine judgements within each broad category.

    Agreement is Fleiss's kappa; for pairs with several graders also Cohen's kappa with weights, Krippendorff's alpha
    and intraclass correlation. Each FILE has the columns query, candidate, grader, broad (NS, SS or VS) and fine.
    Several files, for example from several campaigns, get separate tables and a common figure.
    """
    from ...analysis.judgements import read_judgements

    style = choose_format(style, output)
    if figure is not None:
        check_figure(figure)
    judgements = {name: read_judgements(path) for name, path in _named(paths).items()}
    tables = [
        table for name, own in judgements.items() for table in agreement_tables(own, for_people(style), level, name)
    ]
    emit(tables, style, output)
    if figure is not None:
        from ...reports import figures

        echo(f"{figures.save(figures.graders(judgements), figure)} written", err=True)


def _named(paths: tuple[Path, ...]) -> dict[str, Path]:
    """Name files by their stems, or by as much of their paths as distinguishes them; a single file gets no name."""
    if len(paths) == 1:
        return {"": paths[0]}
    whole = [path.absolute() for path in paths]
    if len(set(whole)) < len(whole):
        raise click.UsageError(f"duplicate file: {next(path for path in paths if paths.count(path) > 1)}")
    names, parts = [path.stem for path in paths], 1
    while len(set(names)) < len(names):
        names = ["/".join(path.parts[-parts:]) for path in whole]
        parts += 1
    return dict(zip(names, paths, strict=True))


def agreement_tables(judgements: Collection, people: bool, level: float | None = None, name: str = "") -> list[Table]:
    """Tabulate the agreement of the graders in a file, and the distribution of fine judgements if there are any.

    Parameters
    ----------
    people : bool
        True: formatted with notes; False: plain values.
    level : float or None
        Level of the intervals.
    name : str
        Name of the file, if there are several.
    """
    from ...analysis.judgements import fine_within_broad, grader_agreement
    from ..grading.rater_agreement import reliability

    columns = judgements.rows.columns
    broad = "broad" in columns and bool((columns["broad"] != "").any())
    others = reliability(judgements, level)
    tables = []
    if broad or not others["compared"].any():  # also reports that there is nothing to compare
        agreement = grader_agreement(judgements)
        tables.append(_table(agreement, "agreement of graders", people, _graders(agreement), name))
    if others["compared"].any():
        tables.append(_reliability_table(others, people, name))
    if broad and "value" in columns:
        fine = fine_within_broad(judgements)
        tables.append(_table(fine, "fine judgements within broad categories", people, whose=name))
    return tables


def _reliability_table(found: xr.Dataset, people: bool, whose: str) -> Table:
    """Make a row for each measure that the judgements allow."""
    from ...reports.tables import Table

    columns = ("measure", "of", *(name for name in ("value", "low", "high", "compared") if name in found))
    places = [index for index, many in enumerate(found["compared"].values.tolist()) if many]
    rows = [
        (
            *([whose] if whose and not people else []),
            *(show_number(found[name].values[place].item(), people) for name in columns),
        )
        for place in places
    ]
    abouts = (f"{found['measure'].values[place]}: {found['about'].values[place]}" for place in places)
    notes: tuple[str, ...] = (*abouts, "compared: pairs of a query and a candidate with at least two judgements")
    if "low" in found:
        level, drawn = found.attrs["level"], found.attrs["replicates"]
        notes += (f"low, high: {level:.0%} interval, percentiles of {drawn} bootstraps over the queries",)
    title = "other measures of agreement"
    columns = (*(["judgements"] if whose and not people else []), *columns)
    return Table(columns, tuple(rows), f"{whose}: {title}" if whose else title, notes if people else ())


def _graders(agreement: xr.Dataset) -> tuple[str, ...]:
    least, most = agreement.attrs["least_graders"], agreement.attrs["most_graders"]
    many = str(most) if least == most else f"{least}-{most}"
    notes = [f"graders per pair of query and candidate: {many}"]
    if least != most:
        notes.append(
            "pairs have equal weight whatever their number of graders (Gwet); those with one only affect chance"
        )
    return tuple(notes)


def _table(found: xr.Dataset, title: str, people: bool, notes: tuple[str, ...] = (), whose: str = "") -> Table:
    """Make a row for each category or scheme; with several files also the name of the file."""
    from ...reports.tables import Table

    (dim,) = found.dims
    columns = (str(dim), *map(str, found.data_vars))
    named = (whose,) if whose and not people else ()
    rows = []
    for index, name in enumerate(found[dim].values.tolist()):
        entries = (found[column].values[index].item() for column in columns[1:])
        rows.append((*named, name, *(show_number(entry, people) for entry in entries)))
    if people:
        meanings = (f"{name}: {found[name].attrs['long_name']}" for name in columns[1:] if name not in _PLAIN)
        notes = (*notes, *meanings)
    title = f"{whose}: {title}" if whose else title
    return Table((*(["judgements"] if named else []), *columns), tuple(rows), title, notes)


def show_number(value: Any, people: bool) -> Entry:
    """Format a number with four digits for people; NaN becomes empty, other entries are unchanged."""
    if isinstance(value, float) and people:
        return None if value != value else f"{value:z.4f}"
    return value  # type: ignore[no-any-return]  # text or a number, as datasets hold them


def _plain(value: float, people: bool) -> Entry:
    """Format a number for people; whole numbers without a point."""
    if people:
        return f"{value:.10g}"
    return int(value) if value == int(value) else value


def _factor_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, letter, what in reversed(_FACTORS):
        kind = click.FloatRange(min=0, min_open=True)
        command = click.option(f"--{name}", f"-{letter}", type=kind, required=True, help=what)(command)
    return command


@click.command("workload", cls=Command, short_help="Compute the workload of graders.")
@_factor_options
@click.option(
    "--minutes",
    "-M",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="Minutes per judgement.",
)
@click.option(
    "--graders-per-pair",
    "-P",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="Graders per pair.",
)
@click.option(
    "--limit",
    type=click.FloatRange(min=0, min_open=True),
    default=240.0,
    show_default=True,
    help="Most minutes per grader.",
)
@output_options
def workload_command(style: str | None, output: Path | None, **factors: float) -> None:
    """Compute the minutes of work for each grader, (A * Q * C * M * P) / G, and the feasible limits.

    Candidates returned by several systems are judged once, so this is an upper bound.
    """
    from ...analysis.judgements import Workload
    from ...reports.tables import Table

    work = Workload(**factors)
    style = choose_format(style, output)
    people = for_people(style)
    known = ("algorithms", "queries", "candidates", "graders_per_pair")
    rows: list[tuple[Entry, ...]] = [
        ("minutes_per_grader", _plain(work.minutes_per_grader, people)),
        ("limit", _plain(work.limit, people)),
        ("feasible", "yes" if work.feasible else "no"),
        ("judgements", _plain(work.judgements, people)),
        ("fewest graders", work.least_graders),
        *((f"most {name}", work.most(name)) for name in known),
    ]
    emit([Table(("what", "value"), tuple(rows), "workload of graders")], style, output)
