"""Groups of systems: the runs of a model, such as those of several seeds, and systems that share a coordinate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import QueryError
from ..ragged import Float, Int
from .scores import coords_of, show_span

if TYPE_CHECKING:
    import xarray as xr

Reductions = Mapping[str, Callable[[Float], Float]]
"""Functions from (systems, ...) to (...), by name."""
RUN, MODEL = "run", "model"
"""The coordinates of systems that are runs: the number or name of the run, and the name of the model."""
RUNS, EACH, GROUPED = "runs", "runs_of_each", "systems_by"
"""Attributes of a result: the number of systems that were grouped, how many each group has (``5`` or ``3-5``), and the
coordinate that they have in common."""


def has_runs(ds: xr.Dataset) -> bool:
    """True if systems are runs of models."""
    return {RUN, MODEL} <= coords_of(ds, "system").keys()


def group_systems(ds: xr.Dataset, coordinate: str) -> tuple[list[str], Int]:
    """The values of a coordinate of the systems in order of appearance, and the place of each system's among them."""
    coords = coords_of(ds, "system")
    if coordinate not in coords:
        how = "a pattern of estimates with {run} names runs" if coordinate == MODEL else "metadata of systems name it"
        raise QueryError(f"the systems have no coordinate {coordinate!r}; {how}")
    values = [str(one) for one in coords[coordinate].tolist()]
    if "" in values or "nan" in values:
        lacking = ds["system"].values[[value in ("", "nan") for value in values]][0]
        raise QueryError(f"system {lacking!r} has no value of {coordinate!r}; name the systems that have (system)")
    names = list(dict.fromkeys(values))
    return names, np.array([names.index(value) for value in values], dtype=np.int64)


def across_runs(result: xr.Dataset, reductions: Reductions) -> xr.Dataset:
    """Reduce the systems of a result to models.

    `result`: of a query: each run is a system. `reductions`: those of :data:`mirflow.analysis.queries.ACROSS` that are
    asked for, such as ``mean`` and ``std``. Returns a model a system, with the dim ``run`` of their names in front of
    all groups; ``n`` is the largest of the runs, the other counts are sums. The coordinate ``n_runs``
    has the number of runs of each model.
    """
    return _grouped(result, MODEL, reductions)


def mean_by(result: xr.Dataset, coordinate: str, mean: Callable[[Float], Float]) -> xr.Dataset:
    """Means over the systems of a result that share a value of a coordinate, which takes the place of the system."""
    return _grouped(result, coordinate, {"mean": mean}).isel({RUN: 0}, drop=True)


def _grouped(result: xr.Dataset, coordinate: str, reductions: Reductions) -> xr.Dataset:
    import xarray as xr

    names = list(reductions)
    groups, codes = group_systems(result, coordinate)
    members = [np.flatnonzero(codes == place) for place in range(len(groups))]
    variables: dict[str, Any] = {}
    for key, one in result.data_vars.items():
        if "system" not in one.dims:
            variables[str(key)] = ((RUN, *one.dims), np.stack([one.values] * len(names)), one.attrs)
            continue
        values = one.transpose("system", ...).values
        if key == "value":
            reduced = [np.stack([reduce(values[rows]) for reduce in reductions.values()]) for rows in members]
        else:
            total = np.max if key in ("n", "n_values") else np.sum
            reduced = [np.stack([total(values[rows], axis=0)] * len(names)) for rows in members]
        rest = [dim for dim in one.dims if dim != "system"]
        variables[str(key)] = (("system", RUN, *rest), np.stack(reduced), one.attrs)
    coords = {name: coord.variable for name, coord in result.coords.items() if "system" not in coord.dims}
    shared = {
        name: ("system", np.array([values[rows[0]] for rows in members]))
        for name, values in coords_of(result, "system").items()
        if name not in (coordinate, RUN) and all((values[rows] == values[rows[0]]).all() for rows in members)
    }
    counts = np.array([len(rows) for rows in members])
    own = {"system": np.array(groups, dtype=str), RUN: np.array(names, dtype=str), "n_runs": ("system", counts)}
    attrs = {**result.attrs, RUNS: str(len(codes)), EACH: show_span(counts), GROUPED: coordinate}
    return xr.Dataset(variables, {**coords, **shared, **own}, attrs)
