"""Scores selected and aggregated over the tracks of each group; the results say how they came about.

Systems are aggregated a block at a time, which bounds the memory, and can be sorted from the best to the worst. Names
of coordinates, and attributes that describe the origin of results, are made here, too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..kernels.ratios import divide
from ..metrics.aggregates import (
    AGGREGATES,
    CLASS_AGGREGATES,
    DECLARED,
    RatioOfSums,
    Statistic,
    allowed_aggregates,
    table_aggregates,
)
from ..ragged import Bool, Float, Int
from ..store.cells import Status
from ..store.format import REFERENCES_DIFFER, WARNINGS, list_cautions
from .dims import RUN, SYSTEM, check_over, derive, over_systems, refuse_annotators
from .lookup import (
    CHOSEN,
    choose_metrics,
    choose_tracks,
    find_labels,
    find_measures,
    find_metrics,
    find_single,
    find_tables,
    headline_metric,
    spell_out,
    split_names,
)
from .query_options import BEST, NAME, ORDERS, STORED, Names, Query, as_names
from .scores import ANNOTATOR, Array, Scores, Status8, coords_of, group_tracks, members_of, names_of
from .selection import (
    CELLS,
    COSTLIEST,
    EMPTY_COUNTED,
    STORES,
    UNCOUNTED,
    VALUELESS,
    ScoreSelection,
    SelectionTotals,
    has_score,
)

if TYPE_CHECKING:
    import xarray as xr

Named = TypeVar("Named")


def reduce(score: Float, weight: Float, duration: Float, kinds: str | Sequence[str], included: Bool) -> Float:
    """The aggregate of each metric over the tracks.

    `score`, `weight` (float64 (systems, tracks, metrics)): what is not included may hold anything, NaN too. `duration`
    (float64 (tracks,), seconds): durations of the references, which some aggregates need. `kinds`: one aggregate, or
    that of each metric. `included` (bool (systems, tracks, metrics)): the scores that count. Returns float64 (systems,
    metrics): NaN where nothing is included or nothing weighs.
    """
    different = [kinds] if isinstance(kinds, str) else list(dict.fromkeys(kinds))
    if len(different) != 1:
        value: Float = np.full((score.shape[0], score.shape[2]), np.nan)
        for kind in different:
            columns = [index for index, one in enumerate(kinds) if one == kind]
            # Contiguous like the whole, as sums depend on it in their last bits.
            scores, weights = (np.ascontiguousarray(array[..., columns]) for array in (score, weight))
            value[:, columns] = reduce(scores, weights, duration, kind, included[..., columns])
        return value
    aggregate = DECLARED[different[0]]
    if isinstance(aggregate, Statistic):
        ordered = np.moveaxis(np.sort(np.where(included, score, np.nan), axis=1), 1, -1)
        return aggregate.of_ordered(ordered, included.sum(axis=1))
    assert isinstance(aggregate, RatioOfSums)
    above, below = aggregate.factors(weight, duration)
    # The same products in the same order as xarray's weighted mean, so that a pooled score equals it to the bit.
    # What weighs nothing adds nothing, an infinite score too.
    known = np.where(included & (above != 0), score, 0.0)
    products = (known, np.where(included, above, 0.0)), (included.astype(np.float64), np.where(included, below, 0.0))
    # The buffer of `einsum` would end in the middle of systems: of many tracks it takes a system at a time, so that the
    # sum of one is the same whatever others there are.
    step = 1 if score.shape[1] > np.getbufsize() else max(len(score), 1)
    parts = [slice(start, start + step) for start in range(0, len(score), step)] or [slice(0)]
    with np.errstate(invalid="ignore"):  # the mean of both infinities is NaN
        total, whole = (
            np.concatenate([np.einsum("stm,stm->sm", values[part], weights[part]) for part in parts])
            for values, weights in products
        )
    return divide(total, whole, np.nan, where=whole != 0)


UNTESTED = "untested"
"""The attribute of a result that lists, a line each, values of too few units for any two systems to differ."""
EVERY = "*"
"""Stands there for all of them."""
COUNTS = ("n", "n_missing", "n_undefined")
LONG_NAMES = {
    "value": "aggregate over tracks",
    "low": "lower end of the confidence interval",
    "high": "upper end of the confidence interval",
    "like_best": "whether the system is the best one, or not told apart from it by the test",
    "n": "number of scores that count",
    "n_missing": "number of cells without a score",
    "n_undefined": "number of scores with nothing to measure",
    "n_empty": "number of scores of empty estimates that count",
    "n_tracks": "number of tracks asked for",
}


def free_names(coords: Mapping[str, Named], taken: Collection[str], prefix: str = "meta_") -> dict[str, Named]:
    """Coordinates under names that they can have beside variables: of a parameter ``n``, ``meta_n``.

    Examples
    --------
    >>> list(free_names({"n": np.array([5]), "window": np.array([0.05])}, ["value", "n"]))
    ['meta_n', 'window']
    """
    return {f"{prefix}{name}" if name in taken else name: values for name, values in coords.items()}


def add_variables(result: xr.Dataset, **arrays: Array) -> xr.Dataset:
    """Put ``low``, ``high`` or ``like_best`` beside the values of a result, over the same dims."""
    from ..lazy_array import plain_variable

    value = result["value"]
    more = {
        name: plain_variable(value.dims, array, {**value.attrs, "long_name": LONG_NAMES[name]})
        for name, array in arrays.items()
    }
    if "like_best" in more:
        more["like_best"].attrs.pop("units", None)
    wider = result.assign(more)
    return wider if "n_values" in wider else wider[[name for name in LONG_NAMES if name in wider]]


def select(ds: xr.Dataset, query: Query, *, single: bool = False) -> xr.Dataset:
    """Select scores, and read them all.

    `single`: take one metric for each name, as comparisons do: of several parameters the default ones. Returns
    ``score`` (what is missing being 0 under ``zero``), ``weight``, ``_included`` (whether a score counts), ``_missing``
    and ``_undefined`` over (system, track, metric), ``status`` over (system, track) and ``duration`` over (track); a
    row for each annotation where annotators are asked for. The coordinate ``_aggregate`` lies along ``metric``;
    attributes are those of the evaluation, the policies ``missing`` and ``undefined``, ``left_out`` (metrics without
    such an aggregate, where none was named), and which scores with nothing to measure are NaN. Raises `QueryError` if
    the query makes no sense here: an aggregate that a metric does not define, cells missing under ``raise``, a
    lower-is-better metric under ``zero``, durations that are not known. Raises `UnknownNameError` for a name that is
    not there, with a suggestion.
    """
    from ..lazy_array import plain_variable

    selection = select_scores(ds, query, single=single)
    cells, totals = selection.cells(), SelectionTotals(selection)
    totals.add(cells)
    policies = totals.check()
    dims = ("system", "track", "metric")
    variables = {name: plain_variable(dims, values) for name, values in cells.items()}
    variables |= {"status": plain_variable(dims[:2], selection.status)}
    variables |= {"duration": plain_variable(dims[1:2], selection.duration)}
    part = selection.frame(policies).assign(variables)
    if selection.first is None:
        return part
    first, kind = [selection.first], selection.aggregates[selection.first]
    score, weight, included = (np.ascontiguousarray(cells[name][..., first]) for name in CELLS[:3])
    value = reduce(score, weight, selection.duration, kind, included)[:, 0]
    return part.isel(system=ranked(value, selection.names("orientation")[selection.first]))


def select_scores(ds: xr.Dataset, query: Query, *, single: bool = False) -> ScoreSelection:
    """Select scores, which are read when they are needed; arguments and errors of names as for :func:`select`."""
    by_annotator = query.annotator is not None or ANNOTATOR in (as_names(query.by) or [])
    if by_annotator:
        variables = split_names(ds, query.metric, exact=query.exact)[1]
        if variables:
            refuse_annotators(ds, query, find_tables(ds)[variables[0]])
    systems_over = {dim: how for dim, how in (query.over or {}).items() if dim in (SYSTEM, RUN)}
    if systems_over:
        over = {dim: how for dim, how in (query.over or {}).items() if dim not in systems_over}
        query = replace(query, over=over or None, missing=query.missing or "skip")
    stored, asked = ds, query
    chosen = query.system is not None or query.sort not in (None, BEST, STORED)
    systems = find_labels(ds, "system", sort_systems(ds, query)) if chosen else None
    if by_annotator or query.tracks is not None or query.where is not None or query.param:
        ds = choose_tracks(ds, query)
    if systems is not None:
        ds = ds.isel(system=systems)
    if query.over:
        ds, asked = derive(ds, query)
    places = find_metrics(ds, asked.metric, exact=asked.exact)
    if asked.param:
        places = choose_metrics(ds, places, asked.param)
    if single and asked.metric is not None and not asked.exact:
        # One metric for each name, of several parameters the default ones; the attribute ``default`` names these.
        named = [name for name in as_names(asked.metric) or [] if set(find_metrics(ds, name)) & set(places)]
        singles = list(dict.fromkeys(find_single(ds, name, places) for name in named))
        if len(singles) < len(places):
            metrics = names_of(ds, "metric")
            several = [row for row in singles if len({*find_metrics(ds, metrics[row])}.intersection(places)) > 1]
            words = ", ".join(spell_out(ds, row) for row in several)
            ds = ds.assign_attrs({"default": words} if several else {})
        places = singles
    if asked.over and (query.sort in (None, *ORDERS) or not split_names(stored, query.sort)[1]):
        check_over(", ".join(names_of(ds, "metric")[metric] for metric in places[:1]), {}, asked.over)
    kind, refused, standard = query.aggregate, list[int](), names_of(ds, "standard_aggregate")
    kinds = {place: kind or standard[place] for place in places}
    if kind is not None:
        if kind not in DECLARED:
            raise UnknownNameError("aggregate", kind, AGGREGATES)
        allowed = [allowed_aggregates(text) for text in names_of(ds, "aggregates")]
        refused = [place for place in places if kind not in allowed[place]]
        if refused and (query.metric is not None or len(refused) == len(places)):
            name, has = names_of(ds, "metric")[refused[0]], ", ".join(allowed[refused[0]])
            measures = find_measures(ds).values() if kind in CLASS_AGGREGATES else ()
            others = [str(m) for m in measures if kind in table_aggregates(m.metric.orientation, m.metric.dims)]
            more = f"; {kind} is read off {', '.join(others)}, which is asked for alone (--metric)" if others else ""
            raise QueryError(f"aggregate {kind!r} is not defined for metric {name!r}; it has: {has}{more}")
        kinds = {place: kind for place in places if place not in refused}
    first = None
    if query.sort == BEST:
        # The headline or the first metric, or the first one of which high or low values are better.
        metrics = names_of(ds, "metric", kinds)
        headline = headline_metric(stored) if query.metric is None else None
        ways = names_of(ds, "orientation", kinds)
        ranking = [index for index, way in enumerate(ways) if way != "none"]
        first = metrics.index(headline) if headline in metrics else 0
        first = first if first in ranking else next(iter(ranking), None)
    left_out = " ".join(names_of(ds, "metric", refused))
    if systems_over:
        ds, kinds = over_systems(ds, kinds, query, systems_over)
    return ScoreSelection.of(ds.assign_attrs(left_out=left_out), kinds, query, first)


class Aggregates(NamedTuple):
    """Aggregates of selected scores, with systems in the order that was asked for."""

    arrays: dict[str, Array]
    """As those of :func:`aggregate_cells`."""
    order: list[int]
    """The places of the systems in the selection."""
    policies: dict[str, str]
    gaps: dict[str, str]
    """Attributes: the policies for missing and undefined scores, and the numbers of cells with such."""
    totals: SelectionTotals


def aggregate_selection(selection: ScoreSelection, codes: Int, groups: int = 1) -> Aggregates:
    """Aggregate selected scores over the tracks of each group, a block of systems at a time.

    `codes` (int64 (tracks,)): the group of each track.
    """
    blocks = selection.blocks(groups)
    shared: Bool | None = None
    if selection.missing == "common" and len(blocks) > 1:
        # What all systems have, as far as statuses say.
        scored = np.asarray(has_score(selection.status).all(axis=0))
        shared = np.repeat(scored[:, np.newaxis], len(selection.metrics), axis=1)
    while True:
        parts, deciding, totals = list[dict[str, Array]](), list[Float](), SelectionTotals(selection)
        for systems in blocks:
            cells, status = selection.cells(systems, shared), selection.status[systems]
            totals.add(cells, systems)
            parts.append(aggregate_cells(cells, status, selection.duration, selection.aggregates, codes, groups))
            if selection.first is not None:
                first, kind = [selection.first], selection.aggregates[selection.first]
                score, weight, included = (np.ascontiguousarray(cells[name][..., first]) for name in CELLS[:3])
                deciding.append(reduce(score, weight, selection.duration, kind, included)[:, 0])
        if shared is None or (totals.shared == shared).all():
            break
        # Metrics lack scores of cells that have others, so that less is shared than statuses say.
        shared = totals.shared
    policies = totals.check()
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = list(range(len(arrays["value"])))
    if selection.first is not None:
        order = ranked(np.concatenate(deciding), selection.names("orientation")[selection.first])
    arrays = {name: own[order] for name, own in arrays.items()}
    gaps = {name: str(number) for name, number in totals.gaps.items()}
    return Aggregates(arrays, order, policies, gaps, totals)


def aggregate_cells(
    cells: Mapping[str, Array], status: Status8, duration: Float, kinds: Sequence[str], codes: Int, groups: int = 1
) -> dict[str, Array]:
    """Aggregate scores over the tracks of each group.

    `cells` (mapping of str to array (systems, tracks, metrics)): those of `CELLS`. `status` (int8 (systems,
    tracks)), `duration` (float64 (tracks,), seconds), `codes` (int64 (tracks,)): the group of each track. Returns dict
    of str to array (systems, metrics, groups): ``value`` float64; ``n``, ``n_missing``, ``n_undefined`` and ``n_empty``
    int64.
    """
    score, weight, included, missing, undefined = (cells[name] for name in CELLS)
    shape = (score.shape[0], score.shape[2], groups)
    arrays: dict[str, Array] = {"value": np.full(shape, np.nan)}
    flags = dict(zip(COUNTS, (included, missing, undefined), strict=True))
    arrays |= {name: np.zeros(shape, dtype=np.int64) for name in (*flags, "n_empty")}
    empty = status == Status.empty_estimate
    flags |= {"n_empty": included & empty[..., np.newaxis]} if empty.any() else {}
    every: Mapping[int, Int | slice] = {0: slice(None)} if groups == 1 else members_of(codes)
    for group, members in every.items():
        parts = [array[:, members] for array in (score, weight, included)]
        arrays["value"][..., group] = reduce(parts[0], parts[1], duration[members], kinds, parts[2])
        for name, flag in flags.items():
            arrays[name][..., group] = np.einsum("stm->sm", flag[:, members], dtype=np.int64)
    return arrays


def ranked(value: Float, orientation: str) -> list[int]:
    """Sort values stably from the best to the worst, NaN last."""
    places: list[int] = np.argsort(value if orientation == "lower" else -value, kind="stable").tolist()
    return places


def sort_systems(ds: xr.Dataset, query: Query) -> Names:
    """The systems of a query in the order that it asks for."""
    if query.sort is None or query.sort in (BEST, STORED):
        return query.system
    every = names_of(ds, "system")
    names = [every[row] for row in find_labels(ds, "system", query.system)]
    if query.sort == NAME:
        return sorted(names)
    over = query.over if split_names(ds, query.sort)[1] else None
    by = replace(query, metric=query.sort, system=names, by=None, sort=None, over=over, exact=False)
    selection = select_scores(ds, by, single=True)
    (orientation,) = selection.names("orientation")
    if orientation == "none":
        raise QueryError(f"sort {query.sort!r}: neither high nor low values of it are better")
    value = aggregate_selection(selection, np.zeros(len(selection.duration), dtype=np.int64)).arrays["value"][:, 0, 0]
    return [names[row] for row in ranked(value, orientation)]


_ORIGIN = ("task", "convention", "grid")


def aggregate_scores(part: xr.Dataset, by: Names = None, group: str = "") -> xr.Dataset:
    """Aggregate selected scores over the tracks of each group that some coordinates make.

    `group`: a name of the evaluation to carry. Returns ``value`` float64, ``n``, ``n_missing``, ``n_undefined`` and
    ``n_empty`` int64 over (system, metric, and a dim for each grouping), ``n_tracks`` over the groupings. A grouping
    that has the name of something else is ``track_<name>``; a coordinate of systems that has the name of a grouping is
    ``system_<name>``. Raises `QueryError` for a coordinate that does not lie along the tracks. Raises
    `UnknownNameError` for a coordinate that is not there, with a suggestion.
    """
    groupings, codes = group_tracks(part, as_names(by) or [])
    cells, kinds = {name: part[name].values for name in CELLS}, names_of(part, "_aggregate")
    states = part["status"].values, part["duration"].values
    arrays = aggregate_cells(cells, *states, kinds, codes, math.prod(map(len, groupings.values())))
    gaps = {"missing_cells": cells["_missing"], "undefined_cells": cells["_undefined"]}
    attrs = {name: str(int(flag.any(axis=2).sum())) for name, flag in gaps.items()}
    return _result(part, arrays, groupings, codes, group, attrs)


def aggregate_query(ds: xr.Dataset, query: Query, group: str = "") -> xr.Dataset:
    """Aggregate the scores that a query selects, in memory for few systems at a time; as :func:`aggregate_scores`."""
    return aggregate_in_blocks(select_scores(ds, query), query.by, group)[0]


def aggregate_in_blocks(
    selection: ScoreSelection, by: Names = None, group: str = ""
) -> tuple[xr.Dataset, xr.Dataset, Aggregates]:
    """Aggregate selected scores, in memory for few systems at a time.

    Returns `result`: as that of :func:`aggregate_scores`. `frame`: the coordinates of the selection, with systems in
    the order of the result, and its policies as attributes. `found`.
    """
    frame = selection.frame({})
    groupings, codes = group_tracks(frame, as_names(by) or [])
    arrays = aggregate_selection(selection, codes, math.prod(map(len, groupings.values())))
    frame = frame.isel(system=arrays.order).assign_attrs(arrays.policies)
    return _result(frame, arrays.arrays, groupings, codes, group, arrays.gaps), frame, arrays


def _result(
    part: xr.Dataset,
    arrays: Mapping[str, Array],
    groupings: dict[str, Array],
    codes: Int,
    group: str,
    gaps: Mapping[str, str],
) -> xr.Dataset:
    """Aggregates (systems, metrics, groups) of a selection as a dataset; its attributes say where it is from."""
    from ..lazy_array import plain_dataset

    sizes = tuple(map(len, groupings.values()))
    along = {name.removeprefix("_"): values for name, values in coords_of(part, "metric").items()}
    labels = {dim: part[dim].values for dim in ("system", "metric")}
    coords: dict[str, Any] = {name: ("metric", values) for name, values in free_names(along, LONG_NAMES).items()}
    groupings = free_names(groupings, (*LONG_NAMES, *coords, *labels), "track_")
    systems = free_names(free_names(coords_of(part, "system"), groupings, "system_"), LONG_NAMES)
    coords |= {name: ("system", values) for name, values in systems.items()}
    dims = ("system", "metric", *groupings)
    variables: dict[str, Any] = {
        name: (dims, values.reshape(*values.shape[:2], *sizes), {"long_name": LONG_NAMES[name]})
        for name, values in arrays.items()
    }
    n_tracks = np.bincount(codes, minlength=math.prod(sizes)).astype(np.int64).reshape(sizes)
    variables["n_tracks"] = (dims[2:], n_tracks, {"long_name": LONG_NAMES["n_tracks"]})
    policies = {name: part.attrs[name] for name in POLICIES if name in part.attrs}
    attrs = {**origin_of(part, group), **policies, **gaps}
    return plain_dataset(variables, {**labels, **coords, **groupings}, attrs)


POLICIES = ("missing", "undefined", "left_out", VALUELESS, EMPTY_COUNTED, UNCOUNTED, COSTLIEST)
"""Attributes of a result that name what was done about scores that are missing or measure nothing."""


def origin_of(ds: Scores, group: str = "", systems: Sequence[str] | None = None) -> dict[str, str]:
    """Collect the attributes that describe the origin of results about some systems, and the warnings of their runs."""
    origin = {name: str(ds.attrs.get(name, "")) for name in _ORIGIN}  # imported scores may have no task
    origin |= {name: str(ds.attrs[name]) for name in (STORES, REFERENCES_DIFFER, *CHOSEN) if name in ds.attrs}
    if WARNINGS in ds.attrs:
        cautions = "\n".join(list_cautions(ds.attrs, names_of(ds, "system") if systems is None else systems))
        origin |= {WARNINGS: cautions} if cautions else {}
    return {"group": group, **origin} if group else origin
