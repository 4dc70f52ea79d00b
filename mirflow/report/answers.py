"""Answers as the long table that csv and json hold."""

from __future__ import annotations

from ..analysis.answer import COUNTS, Answer
from .tables import Entry, Table

_FIXED = (
    *("group", "task", "convention", "grid", "metric", "aggregate", "system", "value", "unit"),
    *(*COUNTS, "n_tracks", "missing", "undefined"),
)


def long_table(answer: Answer) -> Table:
    """One row for each value, with everything needed to read it alone; what csv and json hold.

    Parameters
    ----------
    answer : Answer
    """
    named = [f"track_{name}" if name in _FIXED else name for name in answer.groupings]
    place = _FIXED.index("value")
    origin = tuple(answer.attrs.get(name, "") for name in ("group", "task", "convention", "grid"))
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
    return Table((*_FIXED[:place], *named, *_FIXED[place:]), rows)


def plain_entry(value: object) -> Entry:
    """A coordinate's value for a table; years that are floats only because one is missing become integers again."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int | float) else str(value)
