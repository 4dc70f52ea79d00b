"""Scores of one evaluation as a labelled dataset: its arrays, its annotators, and groups of its tracks.

Datasets of users are checked and brought into the form that a store gives. Scores of single cells can become a data
frame. Results of queries about evaluations in memory have classes that do without xarray.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import QueryError, UnknownNameError
from ..ragged import Bool, Float, Int
from ..store.cells import NUMERATOR, SCORED, GroupContent, Status, with_measures
from ..store.format import dense_cells, extra_entries, nested_attrs, strings, usable_text

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Array = npt.NDArray[Any]
Status8 = npt.NDArray[np.int8]
Loaded = tuple[Float, Float, Status8, Float]
Scores: TypeAlias = "xr.Dataset | GroupContent"
"""The scores of an evaluation: a dataset, or, where xarray need not be loaded, what a run has in memory."""


class VariableInMemory(NamedTuple):
    """A variable of a result in memory."""

    dims: tuple[str, ...]
    values: Array
    attrs: Mapping[str, Any] = {}


class ResultInMemory(dict[str, VariableInMemory]):
    """The variables of a query about an evaluation in memory, by name, made and read without importing xarray."""

    coords: Mapping[str, VariableInMemory]
    attrs: Mapping[str, str]


Results: TypeAlias = "xr.Dataset | ResultInMemory"
"""The dataset of a query, or its equal in memory."""

_COORDINATES = ("system", "track", "metric", "aggregates", "standard_aggregate", "orientation", "unit")
_VARIABLES = ("score", "weight", "status")
_DIMS = ("system", "track", "metric")


def as_scores(ds: xr.Dataset) -> xr.Dataset:
    """Check the scores of an evaluation, and bring them into the form that a store gives; values stay unread.

    `ds`: a group of a result store: ``score`` and ``weight`` over (system, track, metric), ``status`` over (system,
    track), perhaps ``duration`` over (track), and the metrics' coordinates. Returns a result with ``system`` and
    ``track`` in front, text where xarray filled coordinates with NaN, and nested attributes.
    """
    lacking = [name for name in (*_VARIABLES, *_COORDINATES) if name not in ds.variables and name not in _DIMS]
    if lacking:
        raise QueryError(f"not the scores of an evaluation: no {', '.join(lacking)} in this dataset")
    for dim in _DIMS:
        if dim not in ds["score"].dims:
            how = f"choose it with a list, sel({dim}=['x'])" if dim in ds.coords else f"expand_dims({dim}=['x'])"
            raise QueryError(f"these scores have no dim {dim!r}: {how} gives them one")
    from ..lazy_array import plain_variable

    # True if systems and tracks, as far as there are any, come first.
    ordered = all(
        dims[: len({*_DIMS[:2]} & {*dims})] == tuple(dim for dim in _DIMS[:2] if dim in dims)
        for dims in (variable.dims for variable in ds.variables.values())
    )
    ds = ds.copy(deep=False) if ordered else ds.transpose("system", "track", ...)
    coords = {name: ds.variables[name] for name in ds.coords if name not in ds.dims}
    texts = {name: coord for name, coord in coords.items() if coord.dtype.kind == "O" and coord.ndim == 1}
    filled = {name: plain_variable(text.dims, _filled_text(text.values)) for name, text in texts.items()}
    ds = ds.assign_coords(filled) if filled else ds
    ds.attrs = nested_attrs({str(name): value for name, value in ds.attrs.items()})
    return ds


def names_of(ds: Scores | Results, name: str, places: Iterable[int] | None = None) -> list[str]:
    """Labels along a dim, or a coordinate as text, of all places or of some."""
    if isinstance(ds, GroupContent):
        labels = {"system": ds.systems, "track": ds.tracks, "metric": ds.measures}
        entries = labels.get(name) or ds.metric_coords.get(name, ())
        names = strings("" if entry is None else str(entry) for entry in entries).tolist()
    else:
        names = [str(value) for value in ds[name].values.tolist()]
    return names if places is None else [names[index] for index in places]


def coords_of(ds: xr.Dataset, dim: str) -> dict[str, Array]:
    """Further coordinates along a dim."""
    return {str(name): coord.values for name, coord in ds.coords.items() if coord.dims == (dim,) and name != dim}


def arrays_of(ds: Scores) -> Loaded:
    """Score and weight float64 (systems, tracks, metrics), status int8 (systems, tracks), duration float64 (tracks,).

    Unknown durations are NaN. Cells that xarray filled when it joined or masked datasets are not computed.
    """
    ds = computed(ds)
    return *numbers_of(ds, range(len(names_of(ds, "metric")))), *states_of(ds)


def computed(ds: Scores) -> Scores:
    """The scores in memory if dask computes them, all in one call: scores and statuses come from the same computation.

    Others stay unread.
    """
    if isinstance(ds, GroupContent) or not any(ds.variables[name].chunks for name in _VARIABLES):
        return ds
    names = [*_VARIABLES, *(name for name in ("duration", NUMERATOR) if name in ds.data_vars)]
    return ds.assign(ds[names].compute().data_vars)


def numbers_of(ds: Scores, metrics: Sequence[int], systems: slice = slice(None)) -> tuple[Float, Float]:
    """Score and weight float64 (systems, tracks, metrics) of some metrics, of all systems or of neighbours."""
    if isinstance(ds, GroupContent):
        part = ds if systems == slice(None) else ds.part(ds.systems[systems])
        chosen = tuple(ds.measures[metric] for metric in metrics)
        if chosen != ds.measures:
            part = replace(part, cells=with_measures(part.cells, chosen))
        dense = dense_cells(part, _VARIABLES[:2])
        return dense["score"], dense["weight"]
    first = metrics[0] if metrics else 0
    neighbours = slice(first, first + len(metrics))
    # Of neighbours a store reads less, and an array in memory is not copied.
    places = neighbours if list(metrics) == list(range(neighbours.start, neighbours.stop)) else np.array(metrics)
    chosen_values = (ds.variables[name].isel(system=systems, metric=places) for name in _VARIABLES[:2])
    score, weight = (values.transpose(*_DIMS).values for values in chosen_values)
    filled = np.isnan(weight)
    return score, np.where(filled, 0.0, weight) if filled.any() else weight


def numerators_of(ds: Scores, metrics: Sequence[int], systems: slice = slice(None)) -> Float | None:
    """Numerators of scores whose weight is 0, over (systems, tracks, metrics) as in `numbers_of`; None without any."""
    if isinstance(ds, GroupContent):
        if NUMERATOR not in ds.cells.extras:
            return None
        part = ds if systems == slice(None) else ds.part(ds.systems[systems])
        entries = extra_entries(part, NUMERATOR)
        dense = np.zeros((len(part.systems) * len(part.tracks), len(ds.measures)))
        dense[tuple(entries.index.T)] = entries.value
        return dense.reshape(len(part.systems), len(part.tracks), -1)[..., list(metrics)]
    if NUMERATOR not in ds.data_vars:
        return None
    chosen = ds.variables[NUMERATOR].isel(system=systems, metric=np.array(metrics, dtype=np.int64))
    values: Float = np.nan_to_num(chosen.transpose(*_DIMS).values)
    return values


def states_of(ds: Scores) -> tuple[Status8, Float]:
    """Status int8 (systems, tracks) and duration float64 (tracks,), as those of :func:`arrays_of`."""
    if isinstance(ds, GroupContent):
        dense = dense_cells(ds, ["status", "duration"])
        return dense["status"], dense["duration"]
    duration = np.full(ds.sizes["track"], np.nan)
    if "duration" in ds.data_vars:  # over systems too, where datasets were joined along them
        lengths = ds["duration"]
        duration = (lengths.max("system") if "system" in lengths.dims else lengths).values
    status = ds["status"].values
    if status.dtype.kind == "f":
        status = np.where(np.isnan(status), Status.not_computed, status)
    return status.astype(np.int8, copy=False), duration


def cell_texts(ds: Scores, name: str) -> Array:
    """Text of the cells (systems, tracks), such as ``message`` or ``digest``; empty where there is none."""
    if isinstance(ds, GroupContent):
        return usable_text(dense_cells(ds, [name])[name])
    if name not in ds.data_vars:
        return np.full((ds.sizes["system"], ds.sizes["track"]), "")
    return _filled_text(ds[name].values)


def coordinate_columns(coordinates: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Names of columns for coordinates of tracks, which may have the names of other columns."""
    return [f"track_{name}" if name in taken else name for name in coordinates]


def scores_frame(ds: xr.Dataset) -> pd.DataFrame:
    """The scores of single cells as a data frame, a row for each system, track and metric."""
    status, _ = states_of(computed(ds))
    about = {
        "unit": ("metric", names_of(ds, "unit")),
        "status": (_DIMS[:2], [[Status(state).name for state in row] for row in status.tolist()]),
        "message": (_DIMS[:2], cell_texts(ds, "message")),
    }
    coords = coords_of(ds, "track")
    named = coordinate_columns([*coords], (*_DIMS, "score", "weight", *about))
    about |= {name: ("track", values) for name, values in zip(named, coords.values(), strict=True)}
    part = ds[["score", "weight"]].reset_coords(drop=True).compute().assign(about)
    return part.to_dataframe(list(_DIMS)).reset_index()


def show_span(counts: Int) -> str:
    """A count that is the same everywhere, or the fewest and the most."""
    low, high = int(counts.min(initial=counts.max(initial=0))), int(counts.max(initial=0))
    return str(low) if low == high else f"{low}-{high}"


def tables_of(ds: xr.Dataset) -> dict[str, xr.DataArray]:
    """Results with extra dims beside the scores, by the names of their variables."""
    variables = ((str(name), var) for name, var in ds.data_vars.items())
    return {name: one for name, one in variables if {"system", "track"} < set(one.dims) != set(_DIMS)}


def labels_of(table: xr.DataArray) -> dict[str, tuple[str, ...]]:
    """Extra dims of a result and their labels."""
    return {str(dim): tuple(map(str, table[dim].values.tolist())) for dim in table.dims[2:]}


def _filled_text(values: Array) -> Array:
    """Text with nothing where xarray filled it with NaN."""
    if values.dtype.kind != "O":
        return values
    texts = [isinstance(value, str) for value in values.flat]
    if not any(texts) or not all(one != one for one, text in zip(values.flat, texts, strict=True) if not text):
        return values
    return np.where(np.reshape(texts, values.shape), values, "")


def group_tracks(ds: xr.Dataset, names: Sequence[str]) -> tuple[dict[str, Array], Int]:
    """Group the tracks by the product of the values of some coordinates.

    Returns `values`: the distinct values of each coordinate, sorted; an empty text and NaN are values like others, and
    the last. `codes` (int64 (tracks,)): the group of each track, counted through the product with the last coordinate
    fastest.
    """
    codes = np.zeros(ds.sizes["track"], dtype=np.int64)
    values = {}
    for name in names:
        along = {"track": np.array(names_of(ds, "track"), dtype=str), **coords_of(ds, "track")}
        if name not in along:
            for dim in ("system", "metric"):
                if name == dim or name in coords_of(ds, dim):
                    names_along = ", ".join(sorted(along))
                    raise QueryError(f"by {name!r}: it lies along {dim}; tracks can be grouped by: {names_along}")
            if len(along) == 1:
                raise QueryError(
                    f"unknown track coordinate {name!r}: the tracks have names only; metadata come from a table that "
                    f"the pipeline names (tracks: metadata.csv), or scores.assign_coords({name}=('track', [...]))"
                )
            raise UnknownNameError("track coordinate", name, along)
        column = along[name]
        entries = np.array([str(entry) for entry in column.tolist()]) if column.dtype.kind in "OT" else column
        distinct, inverse = np.unique(entries, return_inverse=True)
        places = inverse.astype(np.int64)
        if distinct.dtype.kind == "U" and len(distinct) and distinct[0] == "":  # the missing value is the last
            distinct, places = np.roll(distinct, -1), (places - 1) % len(distinct)
        values[name] = distinct
        codes = codes * len(distinct) + places
    return values, codes


def members_of(codes: Int) -> dict[int, Int]:
    """Positions of the tracks of every group that has any."""
    order = np.argsort(codes, kind="stable")
    groups, starts = np.unique(codes[order], return_index=True)
    return dict(zip(groups.tolist(), np.split(order, starts[1:]), strict=True)) if len(order) else {}


def without_value(values: Array) -> Bool:
    """Mark missing values of a coordinate: empty text and NaN."""
    return np.array([value == "" or value != value for value in values.tolist()], dtype=bool)


ANNOTATOR = "annotator"
SCORE, WEIGHT = "score_by_annotator", "weight_by_annotator"
"""Variables over (system, track, annotator, metric)."""


def has_annotators(ds: Scores) -> bool:
    """True if an evaluation keeps the scores of each annotator."""
    return {SCORE, WEIGHT} <= (ds.cells.extras if isinstance(ds, GroupContent) else ds.data_vars).keys()


def by_annotator(ds: xr.Dataset) -> xr.Dataset:
    """An evaluation with a row for each annotation of its tracks, and the coordinate ``annotator`` along them.

    Returns a result over the annotations that any system has a score for. Durations and statuses are those of the whole
    tracks.
    """
    if not has_annotators(ds):
        raise QueryError(f"by {ANNOTATOR!r}: this evaluation keeps no scores by annotator; run it with combine: each")
    metrics = names_of(ds, "metric")
    values = []
    for name in (SCORE, WEIGHT):
        labels = labels_of(ds[name]).values()
        annotators, own = (list(names) for names in labels)
        dense = np.asarray(ds[name].values)
        values.append(dense if own == metrics else dense[..., [own.index(metric) for metric in metrics]])
    score, weight = values
    exists = ((weight > 0) | ~np.isnan(score)).any(axis=(0, 3))
    row, annotator = np.nonzero(exists)
    part = ds.drop_vars(tables_of(ds)).drop_vars(ANNOTATOR, errors="ignore").isel(track=row)
    unscored = ~np.isin(part["status"].values, [int(state) for state in SCORED])
    score, weight = score[:, row, annotator], weight[:, row, annotator]
    score[unscored] = np.nan
    part = part.assign(score=(_DIMS, score), weight=(_DIMS, weight))
    return part.assign_coords({ANNOTATOR: ("track", np.array(annotators, dtype=str)[annotator])})
