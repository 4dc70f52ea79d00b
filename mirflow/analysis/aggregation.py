"""Aggregates over the tracks of a collection, which say how they came about."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..errors import QueryError, UnknownNameError, counted
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
from .dims import check_over, derive, refuse_annotators
from .missing import Gaps, are_apart, check_policies, find_gaps, included_scores
from .query_options import BEST, NAME, ORDERS, STORED, Names, Query, as_names
from .scores import ANNOTATOR, Array, Loaded, Scores, Status8, arrays_of, coords_of, group_tracks, members_of, names_of
from .selection import (
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

if TYPE_CHECKING:
    import xarray as xr

Named = TypeVar("Named")


def reduce(score: Float, weight: Float, duration: Float, kind: str, included: Bool) -> Float:
    """One aggregate over the tracks.

    Parameters
    ----------
    score, weight : float64 (systems, tracks, metrics)
        What is not included may hold anything, NaN too.
    duration : float64 (tracks,), seconds
        Durations of the references, which some aggregates need.
    kind : str
        A name of :data:`mirflow.metrics.aggregates.AGGREGATES`.
    included : bool (systems, tracks, metrics)
        The scores that count.

    Returns
    -------
    float64 (systems, metrics)
        NaN where nothing is included or nothing weighs.

    Examples
    --------
    >>> score = np.array([[[1.0], [0.0]]])
    >>> weight = np.array([[[30.0], [10.0]]])
    >>> duration, both = np.array([40.0, 60.0]), np.ones((1, 2, 1), dtype=bool)
    >>> kinds = ("mean", "wcsr", "wcsr_tn", "wcsr_total")
    >>> [reduce(score, weight, duration, kind, both).item() for kind in kinds]
    [0.5, 0.75, 0.4, 0.3]
    """
    aggregate = DECLARED[kind]
    if isinstance(aggregate, Statistic):
        ordered = np.moveaxis(np.sort(np.where(included, score, np.nan), axis=1), 1, -1)
        return aggregate.of_ordered(ordered, included.sum(axis=1))
    assert isinstance(aggregate, RatioOfSums)
    above, below = aggregate.factors(weight, duration)
    # The same products in the same order as xarray's weighted mean, so that a pooled score equals it to the bit.
    # What weighs nothing adds nothing, an infinite score too.
    known = np.where(included & (above != 0), score, 0.0)
    with np.errstate(invalid="ignore"):  # the mean of both infinities is NaN
        total: Float = np.einsum("stm,stm->sm", known, np.where(included, above, 0.0))
    whole: Float = np.einsum("stm,stm->sm", included.astype(np.float64), np.where(included, below, 0.0))
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


def system_coordinates(ds: xr.Dataset, groupings: Collection[str], taken: Collection[str]) -> dict[str, Any]:
    """Coordinates of systems under names that nothing else has."""
    named = free_names(free_names(coords_of(ds, "system"), groupings, "system_"), taken)
    return {name: ("system", values) for name, values in named.items()}


def add_variables(result: xr.Dataset, **arrays: Array) -> xr.Dataset:
    """Put ``low``, ``high`` or ``like_best`` beside the values of a result, over the same dims."""
    value = result["value"]
    more = {name: (value.dims, array, {**value.attrs, "long_name": LONG_NAMES[name]}) for name, array in arrays.items()}
    if "like_best" in more:
        more["like_best"][2].pop("units", None)
    found = result.assign(more)
    return found if "n_values" in found else found[[name for name in LONG_NAMES if name in found]]


def show_span(counts: Int) -> str:
    """A count that is the same everywhere, or the fewest and the most."""
    low, high = int(counts.min(initial=counts.max(initial=0))), int(counts.max(initial=0))
    return str(low) if low == high else f"{low}-{high}"


_SHOWN = 5


def select(ds: xr.Dataset, query: Query, *, single: bool = False) -> xr.Dataset:
    """Select scores, and read them once.

    Parameters
    ----------
    ds : xr.Dataset
    query : Query
    single : bool
        Take one metric for each name, as comparisons do: of several parameters the default ones.

    Returns
    -------
    xr.Dataset
        ``score`` (what is missing being 0 under ``zero``), ``weight``, ``_included`` (whether a score counts),
        ``_missing`` and ``_undefined`` over (system, track, metric), ``status`` over (system, track) and ``duration``
        over (track); a row for each annotation where annotators are asked for. The coordinate ``_aggregate`` lies along
        ``metric``; attributes are those of the evaluation, the policies ``missing`` and ``undefined``, ``left_out``
        (metrics without such an aggregate, where none was named), and which scores with nothing to measure are NaN.

    Raises
    ------
    QueryError
        If the query makes no sense here: an aggregate that a metric does not define, cells missing under
        ``raise``, a lower-is-better metric under ``zero``, durations that are not known.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    by_annotator = query.annotator is not None or ANNOTATOR in (as_names(query.by) or [])
    if by_annotator:
        variables = split_names(ds, query.metric, exact=query.exact)[1]
        if variables:
            refuse_annotators(ds, query, find_tables(ds)[variables[0]])
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
        ds, places = _default_metrics(ds, asked.metric, places)
    if asked.over and (query.sort in (None, *ORDERS) or not split_names(stored, query.sort)[1]):
        check_over(", ".join(names_of(ds, "metric")[place] for place in places[:1]), {}, asked.over)
    kinds, left_out = _kinds(ds, places, query.aggregate, named=query.metric is not None)
    part = _counted(ds, kinds, query)
    part.attrs["left_out"] = " ".join(left_out)
    if query.sort != BEST:
        return part
    first = headline_metric(stored) if query.metric is None else None
    metrics, cells = names_of(part, "metric"), {name: part[name].values for name in CELLS[:3]}
    aggregates, orientations = names_of(part, "_aggregate"), names_of(part, "orientation")
    place = metrics.index(first) if first in metrics else 0
    return part.isel(system=best_first(cells, part["duration"].values, aggregates, orientations, place))


def _counted(ds: xr.Dataset, kinds: Mapping[int, str], query: Query) -> xr.Dataset:
    """Some metrics of an evaluation, with what counts under the policies of a query."""
    from ..lazy_array import plain_dataset

    arrays = arrays_of(ds)
    status, duration = arrays[2:]
    apart = STORES in ds.attrs and are_apart(ds.attrs, status)
    missing = query.policy(ds.sizes["system"], apart=apart)
    cells, policies = count_scores(arrays, kinds, missing, query.undefined)
    dims = ("system", "track", "metric")
    variables: dict[str, Any] = {name: (dims, values) for name, values in cells.items()}
    variables |= {"status": (dims[:2], status), "duration": (dims[1:2], duration)}
    coords: dict[str, Any] = {"_aggregate": ("metric", np.array([*kinds.values()], dtype=str))}
    for dim in dims:
        own = {dim: ds[dim].values, **coords_of(ds, dim)}
        coords |= {name: (dim, one[list(kinds)] if dim == "metric" else one) for name, one in own.items()}
    part = plain_dataset(variables, coords, {**ds.attrs, **policies})
    if policies["missing"] in ("raise", "zero"):
        _check(part)
    if np.isnan(duration).any():
        check_durations(kinds.values(), cells["_included"], duration, names_of(part, "track"))
    return part


CELLS = ("score", "weight", "_included", "_missing", "_undefined")
"""Variables over (system, track, metric) of selected scores: in a store no name begins with an underscore."""


def count_scores(
    arrays: Loaded, metrics: Iterable[int], missing: str, undefined: str
) -> tuple[dict[str, Array], dict[str, str]]:
    """Choose metrics by their positions, and find out which of their scores count under two policies.

    Returns
    -------
    cells : dict of str to array (systems, tracks, metrics)
        Those of `CELLS`; missing scores are 0 under ``zero``.
    attrs : dict of str to str
        The policies, and which scores with nothing to measure are NaN.
    """
    check_policies(missing, undefined)
    score, weight, status, duration = arrays
    places = list(metrics)
    # Whether a track has a reference shows in the weights of all metrics, not only those of the query.
    gaps = find_gaps(score, weight, status, duration)
    gaps = Gaps(gaps.missing[..., places], gaps.undefined[..., places], gaps.without_reference)
    # Sums depend on the memory layout in their last bits; xarray's own come from contiguous arrays.
    score, weight = np.ascontiguousarray(score[..., places]), np.ascontiguousarray(weight[..., places])
    known = ~np.isnan(score[gaps.undefined])
    attrs = {"missing": missing, "undefined": undefined}
    if not known.all():
        attrs[VALUELESS] = "some" if known.any() else "all"
    score, included = included_scores(score, weight, gaps, missing, undefined)
    return dict(zip(CELLS, (score, weight, included, gaps.missing, gaps.undefined), strict=True)), attrs


def check_durations(kinds: Iterable[str], included: Bool, duration: Float, tracks: Sequence[str]) -> None:
    """Raise a QueryError for an aggregate over durations of which some are not known."""
    for kind in dict.fromkeys(kind for kind in kinds if AGGREGATES[kind].needs_duration):
        unknown = np.isnan(duration) & included.any(axis=(0, 2))
        if unknown.any():
            track = tracks[int(np.flatnonzero(unknown)[0])]
            raise QueryError(
                f"aggregate {kind!r} needs the durations of the references, and that of track {track!r} is not "
                "known here; choose wcsr, or ask a store that holds `duration`"
            )


def best_first(
    cells: Mapping[str, Array], duration: Float, kinds: Sequence[str], orientations: Sequence[str], first: int = 0
) -> list[int]:
    """Order systems by one metric, or, where neither high nor low values of it are better, by the first such metric."""
    places = [index for index, orientation in enumerate(orientations) if orientation != "none"]
    systems = len(cells["score"])
    if not places or systems < 2:
        return list(range(systems))
    place = first if first in places else places[0]
    score, weight, included = (np.ascontiguousarray(cells[name][..., [place]]) for name in CELLS[:3])
    value = reduce(score, weight, duration, kinds[place], included)[:, 0]
    return ranked(value, orientations[place])


def aggregate_cells(
    cells: Mapping[str, Array], duration: Float, kinds: Sequence[str], codes: Int, groups: int = 1
) -> dict[str, Array]:
    """Aggregate scores over the tracks of each group.

    Parameters
    ----------
    cells : mapping of str to array (systems, tracks, metrics)
        Those of `CELLS`.
    duration : float64 (tracks,), seconds
    kinds : sequence of str
        The aggregate of each metric.
    codes : int64 (tracks,)
        The group of each track.
    groups : int

    Returns
    -------
    dict of str to array (systems, metrics, groups)
        ``value`` float64; ``n``, ``n_missing`` and ``n_undefined`` int64.
    """
    score, weight, included, missing, undefined = (cells[name] for name in CELLS)
    shape = (score.shape[0], score.shape[2], groups)
    found: dict[str, Array] = {"value": np.full(shape, np.nan)}
    flags = dict(zip(COUNTS, (included, missing, undefined), strict=True))
    found |= {name: np.zeros(shape, dtype=np.int64) for name in flags}
    every: Mapping[int, Int | slice] = {0: slice(None)} if groups == 1 else members_of(codes)
    for group, members in every.items():
        own = [one[:, members] for one in (score, weight, included)]
        found["value"][..., group] = reduce_kinds(own[0], own[1], own[2], duration[members], kinds)
        for name, flag in flags.items():
            found[name][..., group] = np.einsum("stm->sm", flag[:, members], dtype=np.int64)
    return found


def count_gaps(missing: Bool, undefined: Bool) -> dict[str, str]:
    """Numbers of cells as attributes: a cell counts once, however many metrics it lacks."""
    gaps = {"missing_cells": missing, "undefined_cells": undefined}
    return {name: str(int(flag.any(axis=2).sum())) for name, flag in gaps.items()}


def ranked(value: Float, orientation: str) -> list[int]:
    """Sort values stably from the best to the worst, NaN last."""
    places: list[int] = np.argsort(value if orientation == "lower" else -value, kind="stable").tolist()
    return places


def _default_metrics(ds: xr.Dataset, asked: Names, places: list[int]) -> tuple[xr.Dataset, list[int]]:
    """One metric for each name, of several parameters the default ones; the attribute ``default`` names these."""
    left = [name for name in as_names(asked) or [] if set(find_metrics(ds, name)) & set(places)]
    found = list(dict.fromkeys(find_single(ds, name, places) for name in left))
    if len(found) == len(places):
        return ds, found
    metrics = names_of(ds, "metric")
    several = [place for place in found if len({*find_metrics(ds, metrics[place])}.intersection(places)) > 1]
    return ds.assign_attrs({"default": ", ".join(spell_out(ds, place) for place in several)} if several else {}), found


def sort_systems(ds: xr.Dataset, query: Query) -> Names:
    """The systems of a query in the order that it asks for."""
    if query.sort is None or query.sort in (BEST, STORED):
        return query.system
    every = names_of(ds, "system")
    names = [every[place] for place in find_labels(ds, "system", query.system)]
    if query.sort == NAME:
        return sorted(names)
    over = query.over if split_names(ds, query.sort)[1] else None
    by = replace(query, metric=query.sort, system=names, by=None, sort=None, over=over, exact=False)
    part = select(ds, by, single=True)
    (orientation,), (kind,) = names_of(part, "orientation"), names_of(part, "_aggregate")
    if orientation == "none":
        raise QueryError(f"sort {query.sort!r}: neither high nor low values of it are better")
    score, weight, included = (part[name].values for name in ("score", "weight", "_included"))
    value = reduce(score, weight, part["duration"].values, kind, included)[:, 0]
    return [names[place] for place in ranked(value, orientation)]


def _kinds(ds: xr.Dataset, places: list[int], kind: str | None, *, named: bool) -> tuple[dict[int, str], list[str]]:
    """The aggregate of each metric, by its position, and the metrics left out."""
    if kind is not None and kind not in DECLARED:
        raise UnknownNameError("aggregate", kind, AGGREGATES)
    if kind is None:
        standard = names_of(ds, "standard_aggregate")
        return {place: standard[place] for place in places}, []
    metrics = names_of(ds, "metric")
    allowed = [allowed_aggregates(text) for text in names_of(ds, "aggregates")]
    refused = [place for place in places if kind not in allowed[place]]
    if refused and (named or len(refused) == len(places)):
        name, has = metrics[refused[0]], ", ".join(allowed[refused[0]])
        others = _with_figures(ds, kind) if kind in CLASS_AGGREGATES else []
        more = f"; {kind} is read off {', '.join(others)}, which is asked for alone (--metric)" if others else ""
        raise QueryError(f"aggregate {kind!r} is not defined for metric {name!r}; it has: {has}{more}")
    return {place: kind for place in places if kind in allowed[place]}, names_of(ds, "metric", refused)


def _with_figures(ds: xr.Dataset, kind: str) -> list[str]:
    """The metrics with extra dims that have an aggregate."""
    measures = find_measures(ds).values()
    return [
        str(measure)
        for measure in measures
        if kind in table_aggregates(measure.metric.orientation, measure.metric.dims)
    ]


def _check(part: xr.Dataset) -> None:
    """Refuse a policy that what is missing does not allow."""
    policy, missing, status = part.attrs["missing"], part["_missing"].values, part["status"].values
    if policy == "raise" and missing.any():
        names = names_of(part, "system"), names_of(part, "track")
        raise QueryError(list_missing(*names, np.asarray(missing.any(axis=2)), status))
    if policy == "zero":
        if STORES in part.attrs and (status == Status.not_computed).any():
            raise QueryError(
                "some systems and tracks are in different stores, so the weights of missing scores are "
                "unknown; choose missing skip or common (--missing)"
            )
        for column, orientation in enumerate(names_of(part, "orientation")):
            if orientation == "lower" and missing[..., column].any():
                raise QueryError(
                    f"metric {names_of(part, 'metric')[column]!r}: lower is better, so a missing score cannot count as "
                    "0; choose missing skip or common (--missing)"
                )


def list_missing(systems: Sequence[str], tracks: Sequence[str], missing: Bool, status: Status8) -> str:
    """List the cells (systems, tracks) without a score in a message with a remedy."""
    cells = np.argwhere(missing)
    lines = [
        f"  system {systems[s]!r}, track {tracks[t]!r}: {Status(int(status[s, t])).name}"
        for s, t in cells[:_SHOWN].tolist()
    ]
    if len(cells) > _SHOWN:
        lines.append(f"  and {len(cells) - _SHOWN} more")
    head = f"{len(cells)} of {counted(status.size, 'cell')} have no score; mend them"
    head += " or choose missing zero, skip or common (--missing)"
    return "\n".join([head, *lines])


_ORIGIN = ("task", "convention", "grid")
STORES = "stores"
"""The attribute of an evaluation that was joined from several stores."""

VALUELESS = "valueless"
"""The attribute of an answer that says which scores with nothing to measure are NaN: ``some`` or ``all``."""


def aggregate_scores(part: xr.Dataset, by: Names = None, group: str = "") -> xr.Dataset:
    """Aggregate selected scores over the tracks of each group that some coordinates make.

    Parameters
    ----------
    part : xr.Dataset
        As :func:`select` gives it.
    by : str, sequence of str or None
    group : str
        A name of the evaluation to carry along.

    Returns
    -------
    xr.Dataset
        ``value`` float64, ``n``, ``n_missing`` and ``n_undefined`` int64 over (system, metric, and a dim for each
        grouping), ``n_tracks`` over the groupings. A grouping that has the name of something else is
        ``track_<name>``; a coordinate of systems that has the name of a grouping is ``system_<name>``.

    Raises
    ------
    QueryError
        For a coordinate that does not lie along the tracks.
    UnknownNameError
        For a coordinate that is not there, with a suggestion.
    """
    from ..lazy_array import plain_dataset

    none: dict[str, Array] = {}
    groupings, codes = group_tracks(part, as_names(by) or []) if by else (none, np.zeros(part.sizes["track"], np.int64))
    sizes = tuple(map(len, groupings.values()))
    cells = {name: part[name].values for name in CELLS}
    arrays = aggregate_cells(cells, part["duration"].values, names_of(part, "_aggregate"), codes, math.prod(sizes))
    along = {name.removeprefix("_"): values for name, values in coords_of(part, "metric").items()}
    labels = {dim: part[dim].values for dim in ("system", "metric")}
    coords: dict[str, Any] = {name: ("metric", values) for name, values in free_names(along, LONG_NAMES).items()}
    groupings = free_names(groupings, (*LONG_NAMES, *coords, *labels), "track_")
    coords |= system_coordinates(part, groupings, LONG_NAMES)
    dims = ("system", "metric", *groupings)
    variables: dict[str, Any] = {
        name: (dims, values.reshape(*values.shape[:2], *sizes), {"long_name": LONG_NAMES[name]})
        for name, values in arrays.items()
    }
    n_tracks = np.bincount(codes, minlength=math.prod(sizes)).astype(np.int64).reshape(sizes)
    variables["n_tracks"] = (dims[2:], n_tracks, {"long_name": LONG_NAMES["n_tracks"]})
    attrs = {**origin_of(part, group), **{name: part.attrs[name] for name in POLICIES if name in part.attrs}}
    attrs |= count_gaps(cells["_missing"], cells["_undefined"])
    return plain_dataset(variables, {**labels, **coords, **groupings}, attrs)


POLICIES = ("missing", "undefined", "left_out", VALUELESS)
"""Attributes of a result that name what was done about scores that are missing or measure nothing."""


def origin_of(ds: Scores, group: str = "", systems: Sequence[str] | None = None) -> dict[str, str]:
    """Collect the attributes that describe the origin of results about some systems, and the warnings of their runs."""
    kept = (*_ORIGIN, STORES, REFERENCES_DIFFER, *CHOSEN)
    origin = {name: str(ds.attrs[name]) for name in kept if name in ds.attrs}
    if WARNINGS in ds.attrs:
        cautions = "\n".join(list_cautions(ds.attrs, names_of(ds, "system") if systems is None else systems))
        origin |= {WARNINGS: cautions} if cautions else {}
    return {"group": group, **origin} if group else origin


def reduce_kinds(score: Float, weight: Float, included: Bool, duration: Float, kinds: Sequence[str]) -> Float:
    """The aggregate of each metric over the tracks.

    Parameters
    ----------
    score, weight : float64 (systems, tracks, metrics)
    included : bool (systems, tracks, metrics)
    duration : float64 (tracks,), seconds
    kinds : list of str
        The aggregate of each metric.

    Returns
    -------
    float64 (systems, metrics)
        As :func:`mirflow.analysis.aggregation.reduce`.
    """
    value: Float = np.full((score.shape[0], score.shape[2]), np.nan)
    for kind in dict.fromkeys(kinds):
        chosen = [index for index, one in enumerate(kinds) if one == kind]
        whole = len(chosen) == len(kinds)
        # Contiguous like the whole, as sums depend on it in their last bits.
        own = [each if whole else np.ascontiguousarray(each[..., chosen]) for each in (score, weight)]
        value[:, chosen] = reduce(own[0], own[1], duration, kind, included if whole else included[..., chosen])
    return value
