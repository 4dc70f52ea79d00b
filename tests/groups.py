"""Groups of a result store in memory, for the tests of what asks them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from mirflow.metrics.base import Sparse
from mirflow.store.cells import Cells, Status
from mirflow.store.format import GroupContent
from mirflow.store.write import StoreWriter

RECALL = "mean median pooled wcsr wcsr_tn wcsr_total"
CODES = {status.name: int(status) for status in Status}
"""Statuses by name, as a store keeps them."""
STATUSES = tuple(CODES)


def make_group(
    score: Any,
    weight: Any = 1.0,
    *,
    status: Any = "ok",
    duration: Any = 100.0,
    systems: list[str] | None = None,
    tracks: list[str] | None = None,
    metrics: list[str] | None = None,
    standard: list[str] | None = None,
    aggregates: list[str] | None = None,
    orientation: list[str] | None = None,
    unit: list[str] | None = None,
    track_meta: dict[str, Any] | None = None,
    **attrs: Any,
) -> xr.Dataset:
    """A group as the store lays it out, from scores (system, track, metric); the rest broadcasts against them.

    A status is a name, or a code as text.
    """
    score = np.asarray(score, dtype=np.float64)
    s, t, m = score.shape
    systems = systems or [f"S{i}" for i in range(s)]
    tracks = tracks or [f"t{i}" for i in range(t)]
    metrics = metrics or ["majmin", "root", "seg", "sevenths"][:m]
    cells = ("system", "track")
    coords = {
        "system": systems,
        "track": tracks,
        "metric": metrics,
        "title": ("metric", [name.title() for name in metrics]),
        "unit": ("metric", unit or [""] * m),
        "orientation": ("metric", orientation or ["higher"] * m),
        "pooling": ("metric", ["exact"] * m),
        "standard_aggregate": ("metric", standard or ["wcsr"] * m),
        "aggregates": ("metric", aggregates or [RECALL] * m),
        "version": ("metric", [1] * m),
        "weight_unit": ("metric", ["s"] * m),
        **{name: ("track", values) for name, values in (track_meta or {}).items()},
    }
    variables = {
        "score": ((*cells, "metric"), score),
        "weight": ((*cells, "metric"), np.broadcast_to(np.asarray(weight, dtype=np.float64), score.shape).copy()),
        "status": (cells, np.broadcast_to(codes(status), (s, t)).copy()),
        "repairs": (cells, np.zeros((s, t), dtype=np.int32)),
        "message": (cells, np.full((s, t), "")),
        "duration": ("track", np.broadcast_to(np.asarray(duration, dtype=np.float64), (t,)).copy()),
    }
    own = {"task": "chord", "convention": "mir_eval", "grid": "union", **attrs}
    return xr.Dataset(variables, coords, own)


def codes(status: Any) -> np.ndarray:
    """Statuses given by name (or already as codes), as int8."""
    return np.vectorize(lambda one: CODES[one] if one in CODES else int(one), otypes=[np.int8])(status)


def random_group(systems: int, tracks: int, metrics: int, /, seed: int = 0, **keywords: Any) -> xr.Dataset:
    """A complete group of random scores and weights."""
    rng = np.random.default_rng(seed)
    shape = (systems, tracks, metrics)
    weight = rng.uniform(1, 300, shape)
    return make_group(rng.uniform(0, 1, shape), weight, duration=rng.uniform(300, 400, tracks), **keywords)


def write_store(path: Path, groups: dict[str, xr.Dataset], **attrs: Any) -> Path:
    """A result store on disk with these groups."""
    contents = [_content(name, ds) for name, ds in groups.items()]
    with StoreWriter(path) as writer:
        writer.publish(contents, attrs)
    return path


def write_stores(folder: Path, parts: Mapping[str, xr.Dataset], group: str = "chord") -> list[Path]:
    """A store of one group for each of some datasets, named as these."""
    return [write_store(folder / f"{name}.zarr", {group: ds}) for name, ds in parts.items()]


def _content(name: str, ds: xr.Dataset) -> GroupContent:
    systems, tracks, metrics = (tuple(map(str, ds[dim].values.tolist())) for dim in ("system", "track", "metric"))
    count = len(systems) * len(tracks)
    cells = Cells(
        tuple(system for system in systems for _ in tracks),
        tracks * len(systems),
        metrics,
        ds["score"].values.reshape(count, -1),
        ds["weight"].values.reshape(count, -1),
        ds["status"].values.reshape(count),
        ds["repairs"].values.reshape(count),
        tuple(map(str, ds["message"].values.reshape(count).tolist())),
        tuple(map(str, ds["digest"].values.reshape(count).tolist())) if "digest" in ds else ("",) * count,
        np.zeros(count, dtype=np.int64),
        np.tile(ds["duration"].values, len(systems)),
        {
            str(name): _sparse(one)
            for name, one in ds.data_vars.items()
            if set(one.dims) - {"system", "track", "metric"}
        },
    )
    along = {
        dim: {str(c): ds[c].values.tolist() for c in ds.coords if ds[c].dims == (dim,) and c != dim}
        for dim in ("metric", "system", "track")
    }
    return GroupContent(name, systems, tracks, cells, along["metric"], along["system"], along["track"], ds.attrs)


def _sparse(values: xr.DataArray) -> Sparse:
    """A variable (system, track, further dims) as a run hands it to the store."""
    dims = tuple(map(str, values.dims[2:]))
    shape = (-1, *values.shape[2:])
    index = np.stack([place.ravel() for place in np.indices(values.values.reshape(shape).shape)], axis=1)
    labels = tuple(tuple(map(str, values[dim].values.tolist())) for dim in dims)
    fill = np.nan if np.isnan(values.values).any() else 0.0
    return Sparse(dims, labels, index, values.values.ravel().astype(np.float64), values.attrs, fill)
