"""Answers as the long table that csv and json hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..analysis.answer import COUNTS, Answer
from ..analysis.references import REFERENCES_DIFFER
from .tables import Entry, Table

ORIGIN = ("group", "task", "convention", "grid")
NARROWED = ("stores", REFERENCES_DIFFER, "where", "annotator", "param", "over", "across")
_NAMES = ("metric", "aggregate", "system")
_FIGURES = ("value", "unit", *COUNTS, "n_tracks", "missing", "undefined")
INTERVAL = ("low", "high", "level", "method", "replicates", "resampled")
MARKS = ("like_best", "test", "correction", "test_level")


def long_table(answer: Answer) -> Table:
    """One row for each value, with everything needed to read it alone; what csv and json hold.

    Parameters
    ----------
    answer : Answer
    """
    # Without a store there is no group, and no column for it.
    told = told_of(answer.attrs)
    origin = tuple(answer.attrs.get(name, "") for name in told)
    named = track_columns(answer.groupings, (*ORIGIN, *NARROWED, *_NAMES, *_FIGURES, *INTERVAL, *MARKS))
    ends = tuple(answer.ends.values())
    how = interval_columns(answer.attrs) if ends else ()
    marks = answer.like_best
    units, groups = answer.units, {group: tuple(map(plain_entry, answer.group(group))) for group in answer.filled}
    rows = tuple(
        (
            *(*origin, answer.metrics[cell[1]], answer.aggregates[cell[1]], answer.systems[cell[0]]),
            *groups[cell[2]],
            *(float(answer.value[cell]), units[cell[1]]),
            *(int(answer.counts[name][cell]) for name in COUNTS),
            *(int(answer.n_tracks[cell[2]]), answer.attrs["missing"], answer.attrs["undefined"]),
            *(float(end[cell]) for end in ends),
            *how,
            *(() if marks is None else (int(marks[cell]), *mark_columns(answer.attrs))),
        )
        for cell in answer.cells()
    )
    more = (*(INTERVAL if ends else ()), *(() if marks is None else MARKS))
    return Table((*told, *_NAMES, *named, *_FIGURES, *more), rows)


def interval_columns(attrs: Mapping[str, str]) -> tuple[Entry, ...]:
    """How intervals came about."""
    return float(attrs["level"]), attrs["method"], int(attrs["replicates"]), resampled(attrs)


def mark_columns(attrs: Mapping[str, str]) -> tuple[Entry, ...]:
    """How it was found which systems are like the best."""
    return attrs["test"], attrs["correction"], float(attrs["test_level"])


def told_of(attrs: Mapping[str, str]) -> list[str]:
    """What to say of where numbers come from: not the group where there is none, and what narrowed them down."""
    fixed = [name for name in ORIGIN if name != "group" or name in attrs]
    return [*fixed, *(name for name in NARROWED if name in attrs)]


def resampled(attrs: Mapping[str, str]) -> str:
    """What was drawn again: tracks, the values of a coordinate, or clusters of tracks."""
    return attrs.get("cluster") or attrs.get("unit") or attrs.get("unit_of_comparison", "track")


def track_columns(groupings: Iterable[str], taken: Sequence[str]) -> list[str]:
    """Columns for coordinates of tracks, whose names may be those of other columns."""
    return [f"track_{name}" if name in taken else name for name in groupings]


def plain_entry(value: object) -> Entry:
    """A coordinate's value for a table; years that are floats only because one is missing become integers again."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int | float) else str(value)
