"""Answers as the long table that csv and json hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..analysis.answer import COUNTS, Answer
from .tables import Entry, Table

_ORIGIN = ("group", "task", "convention", "grid")
_NAMES = ("metric", "aggregate", "system")
_FIGURES = ("value", "unit", *COUNTS, "n_tracks", "missing", "undefined")


def long_table(answer: Answer) -> Table:
    """One row for each value, with everything needed to read it alone; what csv and json hold.

    Parameters
    ----------
    answer : Answer
    """
    # Without a store there is no group, and no column for it.
    told = [name for name in _ORIGIN if name != "group" or name in answer.attrs]
    origin = tuple(answer.attrs.get(name, "") for name in told)
    named = track_columns(answer.groupings, (*_ORIGIN, *_NAMES, *_FIGURES))
    units, groups = answer.units, {group: tuple(map(plain_entry, answer.group(group))) for group in answer.filled}
    rows = tuple(
        (
            *(*origin, answer.metrics[cell[1]], answer.aggregates[cell[1]], answer.systems[cell[0]]),
            *groups[cell[2]],
            *(float(answer.value[cell]), units[cell[1]]),
            *(int(answer.counts[name][cell]) for name in COUNTS),
            *(int(answer.n_tracks[cell[2]]), answer.attrs["missing"], answer.attrs["undefined"]),
        )
        for cell in answer.cells()
    )
    return Table((*told, *_NAMES, *named, *_FIGURES), rows)


def track_columns(groupings: Iterable[str], taken: Sequence[str]) -> list[str]:
    """Columns for coordinates of tracks, whose names may be those of other columns."""
    return [f"track_{name}" if name in taken else name for name in groupings]


def plain_entry(value: object) -> Entry:
    """A coordinate's value for a table; years that are floats only because one is missing become integers again."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int | float) else str(value)
