"""Results of inference as labelled datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..answer import beside
from ..scoreboard import Array

if TYPE_CHECKING:
    import xarray as xr


class Result(Protocol):
    """What all results have."""

    @property
    def systems(self) -> list[str]:
        """The systems."""
        ...

    @property
    def metrics(self) -> list[str]:
        """The metrics."""
        ...

    @property
    def system_coords(self) -> Mapping[str, Array]:
        """Further coordinates of the systems."""
        ...

    @property
    def metric_coords(self) -> Mapping[str, Array]:
        """Further coordinates of the metrics."""
        ...

    @property
    def attrs(self) -> Mapping[str, str]:
        """Where the numbers come from."""
        ...


def dataset_of(
    result: Result,
    variables: Mapping[str, tuple[tuple[str, ...], Array]],
    along_metric: Mapping[str, Sequence[str]],
    long_names: Mapping[str, str],
) -> xr.Dataset:
    """Variables under the names of systems and metrics; ``other`` holds the systems or metrics of a second dim."""
    import xarray as xr

    systems, metrics = (np.array(names, dtype=str) for names in (result.systems, result.metrics))
    used = {dim for dims, _ in variables.values() for dim in dims}
    coords: dict[str, object] = {"metric": metrics}
    taken = (*variables, *along_metric)
    coords |= {name: ("metric", values) for name, values in beside(result.metric_coords, taken).items()}
    coords |= {name: ("metric", np.array(values, dtype=str)) for name, values in along_metric.items()}
    if "system" in used:
        coords["system"] = systems
        coords |= {name: ("system", values) for name, values in beside(result.system_coords, taken).items()}
    if "other" in used:
        coords["other"] = systems if "system" in used else metrics
    described = {name: (dims, array, {"long_name": long_names[name]}) for name, (dims, array) in variables.items()}
    return xr.Dataset(described, coords, dict(result.attrs))
