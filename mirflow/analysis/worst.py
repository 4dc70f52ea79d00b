"""The tracks with the worst scores, the best, or the largest changes: where to look and listen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import QueryError
from ..ragged import Bool, Float, Int
from .aggregation import POLICIES, free_names, origin_of, select
from .inference.sample import differences, settle
from .query_options import Query
from .scores import Array, coords_of, names_of
from .selection import counted_scores

if TYPE_CHECKING:
    import xarray as xr


_TAKEN = (
    *("system", "track", "rank", "value", "score", "weight", "n", "tied"),
    *("baseline", "gain", "baseline_value", "better", "worse"),
)


def extremes(
    ds: xr.Dataset, query: Query, count: int = 10, *, best: bool = False, overall: bool = False, group: str = ""
) -> xr.Dataset:
    """The tracks with the worst scores of one metric, of each system or over all of them.

    `query`: with one metric, and without options of aggregation. Without a policy what is missing is left out for each
    system, and overall only tracks take part that every system has. `overall`: by the mean over the systems, instead of
    each system's own. `group`: a name of the evaluation to carry along. Returns ``track``, ``value`` and ``weight``
    over (system, rank); overall ``track`` and ``value`` over (rank), ``score`` and ``weight`` over (system, rank).
    Where a system has fewer tracks, ``track`` is empty. ``n`` is the number of tracks that take part, ``tied`` how many
    have the value of the last one. The tracks' coordinates, and ``annotator`` where annotators are asked for, lie along
    with ``track``. Raises `QueryError` for several metrics, one with extra dims, one of which neither high nor low
    values are better, or options that single tracks do not have. Raises `UnknownNameError` for a name that is not
    there, with a suggestion.
    """
    import xarray as xr

    order = "best" if best else "worst"
    part = _select_one(ds, replace(query, missing=query.missing or ("common" if overall else "skip")), count)
    orientation = names_of(part, "orientation")[0]
    score, weight = counted_scores(part)[..., 0], part["weight"].values[..., 0]
    included = ~np.isnan(score)
    ordered = score if (orientation == "lower") == best else -score
    with np.errstate(invalid="ignore"):
        values = ordered.mean(axis=0, keepdims=True) if overall else ordered
    counted = np.asarray(included.all(axis=0, keepdims=True)) if overall else included
    chosen = _each(values, counted, count)
    lists = zip(values, counted, chosen, strict=True)
    ties = [int((there & (row == row[own[-1]])).sum()) if len(own) else 0 for row, there, own in lists]
    coords = _coords(part, chosen, overall)
    attrs = {**_about(part, group, order), "left_out": str(int((~included).sum())), "orientation": orientation}
    if overall:
        both = {name: (("system", "rank"), one[:, chosen[0]]) for name, one in (("score", score), ("weight", weight))}
        value = ("rank", score[:, chosen[0]].mean(axis=0))
        number_of = {"n": ((), int(included.all(axis=0).sum())), "tied": ((), ties[0])}
        return xr.Dataset({"value": value, **both, **number_of}, coords, attrs)
    cells = {
        name: (("system", "rank"), _listed((row[own] for row, own in zip(one, chosen, strict=True)), np.nan))
        for name, one in (("value", score), ("weight", weight))
    }
    return xr.Dataset({**cells, "n": ("system", included.sum(axis=1)), "tied": ("system", ties)}, coords, attrs)


def changes(
    ds: xr.Dataset, query: Query, baselines: Mapping[str, str], count: int = 10, *, best: bool = False, group: str = ""
) -> xr.Dataset:
    """The tracks on which systems lose most against a baseline by one metric, or gain most.

    `query`: with one metric, whose aggregate does not matter. `baselines`: the baseline of each system; see
    :func:`mirflow.analysis.inference.noninferiority.baselines_of`. `count`: how many tracks of each system, at most.
    Tracks without a loss, or without a gain, are not listed. `best`: the gains instead. `group`: a name of the
    evaluation to carry along. Returns ``track``, ``gain`` (the change towards better values), ``value`` (the system's
    score) and ``baseline_value`` over (system, rank). Where a system has fewer tracks, ``track`` is empty. Over
    (system) ``n``, the number of tracks that system and baseline both have, ``better`` and ``worse``, on how many of
    them it gains and loses. The coordinate ``baseline`` lies along ``system``, those of the tracks along with
    ``track``. Raises `QueryError` for several metrics, one with extra dims, or one of which neither high nor low values
    are better. Raises `UnknownNameError` for a name that is not there, with a suggestion.
    """
    import xarray as xr

    systems = list(dict.fromkeys([*baselines, *baselines.values()]))
    # Each system has its own tracks in common with its baseline.
    policy = "skip" if query.missing in (None, "common") else query.missing
    part = _select_one(ds, replace(query, system=systems, missing=policy, sort=None), count)
    own, other = (np.array([systems.index(name) for name in side]) for side in (baselines, baselines.values()))
    score = counted_scores(part)[..., 0]
    included = ~np.isnan(score)
    both = included[own] & included[other]
    gain = differences(score[own], score[other]) * (-1 if names_of(part, "orientation")[0] == "lower" else 1)
    better, worse = both & (settle(gain) > 0), both & (settle(gain) < 0)
    chosen = _each(-gain, better, count) if best else _each(gain, worse, count)
    cells = {
        name: (("system", "rank"), _listed((row[places] for row, places in zip(one, chosen, strict=True)), np.nan))
        for name, one in (("gain", gain), ("value", score[own]), ("baseline_value", score[other]))
    }
    counts = {name: ("system", one.sum(axis=1)) for name, one in (("n", both), ("better", better), ("worse", worse))}
    coords = _coords(part.isel(system=own), chosen, overall=False)
    coords["baseline"] = ("system", list(baselines.values()))
    attrs = _about(part, group, "best" if best else "worst")
    return xr.Dataset({**cells, **counts}, coords, {**attrs, "missing": "common" if policy == "skip" else policy})


def _select_one(ds: xr.Dataset, query: Query, count: int) -> xr.Dataset:
    """Select the scores of one metric by which so many tracks can be listed."""
    if count < 1:
        raise QueryError(f"invalid number of tracks {count}: expected at least one")
    part = select(ds, replace(query, aggregate="mean"), single=True)
    metrics = names_of(part, "metric")
    if len(metrics) != 1:
        raise QueryError(f"tracks are listed by one metric; name one of: {', '.join(metrics)}")
    if names_of(part, "orientation") == ["none"]:
        raise QueryError(f"metric {metrics[0]!r}: neither high nor low values of it are better")
    return part


def _about(part: xr.Dataset, group: str, order: str) -> dict[str, Any]:
    """Attributes of a list of tracks."""
    attrs = {**origin_of(part, group), **{name: part.attrs[name] for name in POLICIES if name in part.attrs}}
    attrs |= {"order": order, "metric": names_of(part, "metric")[0], "unit": names_of(part, "unit")[0]}
    return {**attrs, "title": str(part["title"].values[0]) if "title" in part.coords else ""}


def _coords(part: xr.Dataset, chosen: list[Int], overall: bool) -> dict[str, Any]:
    """Ranks and systems, and along with them names and coordinates of the listed tracks."""
    longest = max(map(len, chosen), default=0)
    coords: dict[str, Any] = {"rank": np.arange(1, longest + 1), "system": part["system"].values}
    along = {"track": part["track"].values, **free_names(coords_of(part, "track"), _TAKEN, "track_")}
    for name, values in along.items():
        number = values.dtype.kind in "if"
        values = values if number else np.array(values.tolist(), dtype=str)
        column = _listed((values[own] for own in chosen), np.nan if number else "")
        coords[name] = ("rank", column[0]) if overall else (("system", "rank"), column)
    return coords


def _listed(columns: Iterable[Array], fill: object) -> Array:
    """Columns of different lengths as rows of one array."""
    columns = list(columns)
    kind = np.concatenate(columns).dtype if columns else np.dtype(np.float64)
    longest = max(map(len, columns), default=0)
    whole = np.full((len(columns), longest), fill, dtype=np.result_type(kind, np.asarray(fill).dtype))
    for row, column in zip(whole, columns, strict=True):
        row[: len(column)] = column
    return whole


def _each(ordered: Float, included: Bool, count: int) -> list[Int]:
    """The first tracks of each system in ascending order; equal ones in the order of the tracks."""
    found = []
    for row, there in zip(ordered, included, strict=True):
        places = np.flatnonzero(there)
        found.append(places[np.argsort(row[places], kind="stable")][:count].astype(np.int64))
    return found
