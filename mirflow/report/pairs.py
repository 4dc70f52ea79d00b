"""Scores of one pair, or of few, straight from the cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..status import FAILED, Status
from .tables import Entry, Table

if TYPE_CHECKING:
    import xarray as xr


def pair_table(ds: xr.Dataset, *, percent: bool = False) -> Table:
    """The scores of one estimate of one track, a row a metric.

    Parameters
    ----------
    ds : xr.Dataset
        A group of scores with one system and one track.
    percent : bool
        Ratios as percentages.
    """
    cell = ds.isel(system=0, track=0)
    names, units, weight_units = ([str(v) for v in cell[c].values.tolist()] for c in ("metric", "unit", "weight_unit"))
    rows: list[tuple[Entry, ...]] = []
    for place, name in enumerate(names):
        score, weight = float(cell["score"].values[place]), float(cell["weight"].values[place])
        shown = f"{100 * score:.2f}" if percent and not units[place] and score == score else score
        rows.append((name, shown, weight, weight_units[place]))
    attrs = ds.attrs
    parts = ("task", "convention", "grid")
    title = ", ".join(f"{part} {attrs[part]}" for part in parts if attrs.get(part))
    return Table(("metric", "score", "weight", "weight_unit"), tuple(rows), title, ("ratios in percent",) * percent)


def failed_cells(ds: xr.Dataset) -> list[str]:
    """A line for each cell without a score: which, what, why."""
    told = _told(ds)
    return [f"{where}: {status.name}: {message}" for where, status, message in told if status in FAILED]


def partial_cells(ds: xr.Dataset) -> list[str]:
    """A line for each scored cell without that of some metrics, with something empty, or with a warning: which, why."""
    return [f"{where}: {message}" for where, status, message in _told(ds) if status.scored and message]


def _told(ds: xr.Dataset) -> Iterator[tuple[str, Status, str]]:
    """Name, status and message of each cell; a message does not repeat the name."""
    part = ds[["status", "message"]].transpose("system", "track")
    for system, name in enumerate(part["system"].values.tolist()):
        for track, title in enumerate(part["track"].values.tolist()):
            both = f"system {name!r}, track {title!r}"
            where = f"track {title!r}" if part.sizes["system"] == 1 else both
            message = str(part["message"].values[system, track]).removeprefix(f"{both}: ")
            yield where, Status(int(part["status"].values[system, track])), message
