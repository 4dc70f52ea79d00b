"""Answers of a store as plain lists, and as the long table that csv and json hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ragged import Float, Int
from .tables import Entry, Table

if TYPE_CHECKING:
    import xarray as xr

COUNTS = ("n", "n_missing", "n_undefined")
_FIXED = (
    *("group", "task", "convention", "grid", "metric", "aggregate", "system", "value", "unit"),
    *(*COUNTS, "n_tracks", "missing", "undefined"),
)


@dataclass(frozen=True)
class Answer:
    """What :func:`mirflow.analysis.aggregate.aggregate` gives, as arrays over (system, metric, group of tracks).

    Parameters
    ----------
    systems, metrics, aggregates, units : list of str
    groupings : list of str
        The coordinates that make the groups.
    groups : list of tuples
        Their values in each group that has tracks; one empty tuple where nothing is grouped.
    value : float64 (systems, metrics, groups)
    counts : mapping of str to int64 (systems, metrics, groups)
        ``n``, ``n_missing`` and ``n_undefined``.
    n_tracks : int64 (groups,)
    attrs : mapping of str to str
        Where the numbers come from (``group``, ``task``, ``convention``, ``grid``) and the policies.
    """

    systems: list[str]
    metrics: list[str]
    aggregates: list[str]
    units: list[str]
    groupings: list[str]
    groups: list[tuple[Entry, ...]]
    value: Float
    counts: dict[str, Int]
    n_tracks: Int
    attrs: dict[str, str]

    @classmethod
    def of(cls, answer: xr.Dataset) -> Answer:
        """The arrays of a labelled answer, without the groups that no track is in."""
        groupings = [str(dim) for dim in answer["value"].dims if dim not in ("system", "metric")]
        n_tracks = answer["n_tracks"].transpose(*groupings).values.reshape(-1)
        filled = np.flatnonzero(n_tracks) if groupings else np.array([0])
        places = np.unravel_index(filled, [answer.sizes[name] for name in groupings]) if groupings else ()
        columns = [answer[name].values[place].tolist() for name, place in zip(groupings, places, strict=True)]
        flat = answer.transpose("system", "metric", *groupings)
        shape = (answer.sizes["system"], answer.sizes["metric"], len(n_tracks))
        arrays = {name: flat[name].values.reshape(shape)[..., filled] for name in ("value", *COUNTS)}
        attrs = {name: str(answer.attrs.get(name, "")) for name in ("task", "convention", "grid", "left_out")}
        return cls(
            *(_texts(answer, "system"), _texts(answer, "metric"), _texts(answer, "aggregate"), _texts(answer, "unit")),
            groupings,
            [tuple(map(_plain, row)) for row in zip(*columns, strict=True)] if groupings else [()],
            arrays["value"],
            {name: arrays[name] for name in COUNTS},
            n_tracks[filled],
            {
                "group": str(answer.attrs.get("group") or answer.attrs.get("name") or ""),
                **attrs,
                **{name: str(answer.attrs[name]) for name in ("missing", "undefined")},
            },
        )

    def cells(self) -> Iterator[tuple[int, int, int]]:
        """Every (system, metric, group), metric by metric."""
        for metric in range(len(self.metrics)):
            for system in range(len(self.systems)):
                for group in range(len(self.groups)):
                    yield system, metric, group


def _texts(answer: xr.Dataset, name: str) -> list[str]:
    return [str(value) for value in answer[name].values.tolist()]


def _plain(value: Any) -> Entry:
    """A coordinate's value for a table; years that are floats only because one is missing become integers again."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int | float) else str(value)


def long_table(answer: xr.Dataset) -> Table:
    """One row for each value, with everything needed to read it alone; what csv and json hold.

    Parameters
    ----------
    answer : xr.Dataset
        What :func:`mirflow.analysis.aggregate.aggregate` gives.
    """
    one = Answer.of(answer)
    named = [f"track_{name}" if name in _FIXED else name for name in one.groupings]
    place = _FIXED.index("value")
    origin = tuple(one.attrs[name] for name in ("group", "task", "convention", "grid"))
    rows = tuple(
        (
            *(*origin, one.metrics[cell[1]], one.aggregates[cell[1]], one.systems[cell[0]]),
            *one.groups[cell[2]],
            *(float(one.value[cell]), one.units[cell[1]]),
            *(int(one.counts[name][cell]) for name in COUNTS),
            *(int(one.n_tracks[cell[2]]), one.attrs["missing"], one.attrs["undefined"]),
        )
        for cell in one.cells()
    )
    return Table((*_FIXED[:place], *named, *_FIXED[place:]), rows)
