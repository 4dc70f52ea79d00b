"""What is in a result store, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..analysis.query import coverage
from ..analysis.selection import labels_of
from .tables import Entry, Table

if TYPE_CHECKING:
    import xarray as xr

_SOME = 12


def contents_table(name: str, ds: xr.Dataset) -> Table:
    """What one evaluation is: its systems, tracks, metrics, coordinates, siblings and provenance.

    Parameters
    ----------
    name : str
        Of the group.
    ds : xr.Dataset
        A group of scores.
    """
    attrs = ds.attrs
    versions = attrs.get("versions", {})
    rows = [(key, str(attrs[key])) for key in ("task", "convention", "grid", "combine") if attrs.get(key)]
    for dim in ("system", "track", "metric"):
        labels = labels_of(ds, dim)
        rows.append((f"{dim}s ({len(labels)})", _some(labels)))
        along = [str(coord) for coord in ds.coords if ds[coord].dims == (dim,) and coord != dim]
        if along and dim != "metric":
            rows.append((f"{dim} coordinates", ", ".join(along)))
    siblings = [f"{key}({', '.join(map(str, ds[key].dims))})" for key in ds.data_vars if ds[key].ndim > 3]
    if siblings:
        rows.append(("more than scalars", ", ".join(siblings)))
    if attrs.get("created"):
        rows.append(("created", str(attrs["created"])))
    if isinstance(versions, Mapping):
        rows += [("versions", ", ".join(f"{key} {value}" for key, value in versions.items()))] if versions else []
    return Table(("group", name), tuple(rows), folds=(name,))


def coverage_table(name: str, ds: xr.Dataset) -> Table:
    """How many cells of each system have each status, without the statuses that do not occur."""
    cells = coverage(ds)["cells"]
    occurring = [str(status) for status in cells["status"].values.tolist() if int(cells.sel(status=status).sum())]
    rows: list[tuple[Entry, ...]] = []
    for system in cells["system"].values.tolist():
        counts = cells.sel(system=system, status=occurring).values.tolist()
        rows.append((name, str(system), *map(int, counts)))
    return Table(("group", "system", *occurring), tuple(rows))


def _some(names: Sequence[str]) -> str:
    """All of a few names, the ends of many."""
    if len(names) <= _SOME:
        return ", ".join(names)
    return f"{', '.join(names[: _SOME // 2])}, ..., {names[-1]}"
