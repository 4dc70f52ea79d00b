"""The best, mean or worst of several systems or runs on each track, and the one that another score chooses.

Groups of systems are the runs of a model, such as those of several seeds, and systems that share a coordinate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..metrics.aggregates import NEGLIGIBLE
from ..ragged import Bool, Float, Int
from ..store.cells import Status
from .dims import reduce_along, say_over
from .query_options import Query
from .scores import computed, coords_of, names_of, numbers_of, show_span
from .selected import SelectedScores, SelectionTotals
from .selection import find_single

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


def reduce_groups(result: xr.Dataset, coordinate: str, reductions: Reductions) -> xr.Dataset:
    """Reduce the systems of a result that share a value of a coordinate, which takes the place of the system.

    `result`: of a query: each run is a system. `coordinate`: ``model`` of runs, or another. `reductions`: those of
    :data:`mirflow.analysis.queries.ACROSS` that are asked for, such as ``mean`` and ``std``. Returns a model (or value)
    a system, with the dim ``run`` of their names in front of all groups; ``n`` is the largest of the runs, the other
    counts are sums. The coordinate ``n_runs`` has the number of systems of each.
    """
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


SYSTEM = "system"
BEST, WORST = "best", "worst"
_WORDS = (WORST, "mean", "median", BEST)
_COMMA = re.compile(r",(?![^()\[\]]*[)\]])")
"""A comma that is not among the parameters of a metric."""


def split_over(over: Mapping[str, str] | None) -> tuple[dict[str, str], dict[str, str]]:
    """Reductions over systems, or the runs of each, and those over dims of metrics.

    Examples
    --------
    >>> split_over({"frame": "median", "system": "best"})
    ({'system': 'best'}, {'frame': 'median'})
    """
    systems = {dim: how for dim, how in (over or {}).items() if dim in (SYSTEM, RUN)}
    return systems, {dim: how for dim, how in (over or {}).items() if dim not in systems}


def refuse_over_systems(query: Query, name: str) -> None:
    """Refuse reductions over systems beside an option that names stored ones."""
    systems, _ = split_over(query.over)
    if systems:
        raise QueryError(f"{name!r} is about stored systems: leave out over {next(iter(systems))!r}")


def over_systems(
    ds: xr.Dataset, kinds: Mapping[int, str], query: Query, over: Mapping[str, str]
) -> tuple[xr.Dataset, dict[int, str]]:
    """Reduce systems on each track, by themselves or as runs of their models.

    `kinds`: the aggregates of its metrics, by their positions. `over`: ``system`` or ``run`` to words with commas
    between: ``worst``, ``mean``, ``median``, ``best``, or a metric, by which the best system of each track is chosen. A
    number behind it, as in ``likelihood:50``, keeps the tracks on which the metric is best, and leaves out the others.
    Returns `ds`: a system for each word (and each model), with the weights of the systems chosen, or the same reduction
    of weights. `kinds`: the aggregates of its metrics.
    """
    if len(over) > 1:
        raise QueryError(f"systems are reduced over 'system' or over 'run', not over both: {say_over(over)}")
    ((dim, text),) = over.items()
    words = [word.strip() for word in _COMMA.split(text)]
    places = list(kinds)
    _check_words(ds, dim, words, places)
    selected = SelectedScores.of(ds, kinds, query)
    cells, totals = selected.cells(), SelectionTotals(selected)
    totals.add(cells)
    totals.check()
    names, codes = group_systems(ds, MODEL) if dim == RUN else ([""], np.zeros(ds.sizes[SYSTEM], dtype=np.int64))
    sign = np.array([-1.0 if way == "lower" else 1.0 for way in names_of(ds, "orientation", places)])
    counted = np.where(cells["_included"] & (cells["weight"] != NEGLIGIBLE), cells["score"], np.nan)
    labels, firsts, score, weight = [], [], [], []
    for group, name in enumerate(names):
        rows = np.flatnonzero(codes == group)
        for word in words:
            values = counted[rows] * sign, cells["weight"][rows]
            value, weighs = _reduce(*values, word, None if word in _WORDS else _judges(ds, word, rows))
            score.append(value * sign)
            weight.append(np.where(np.isnan(value), cells["weight"][rows[0]], weighs))
            said = f"{word} of {len(rows)}" if word in _WORDS else f"by {word}"
            labels.append(f"{name}, {said}" if name and len(words) > 1 else name or said)
            firsts.append(int(rows[0]))
    result = _like(ds.isel(metric=places), dim, labels, firsts, np.stack(score), np.stack(weight))
    reduced = "; ".join(filter(None, (str(ds.attrs.get("over", "")), f"{dim}={','.join(words)}")))
    return result.assign_attrs(over=reduced), dict(enumerate(kinds.values()))


def _check_words(ds: xr.Dataset, dim: str, words: Sequence[str], places: Sequence[int]) -> None:
    for word in words:
        if word in (BEST, WORST):
            judging = list(places)
        elif word not in _WORDS:
            metric, number = _metric_of(word)
            metrics = names_of(ds, "metric")
            if number == 0:
                raise QueryError(f"over {dim!r}: {word!r} keeps no track; expected at least one")
            try:
                judging = [find_single(ds, metric)]
            except UnknownNameError:
                raise UnknownNameError(f"word or metric for {dim}", metric, [*_WORDS, *metrics]) from None
        else:
            continue
        for metric, way in zip(names_of(ds, "metric", judging), names_of(ds, "orientation", judging), strict=True):
            if way == "none":
                raise QueryError(f"over {dim!r}: neither high nor low values of {metric!r} are better; choose mean")


def _judges(ds: xr.Dataset, word: str, rows: Int) -> Float:
    """Scores by which a system is chosen on each track, high ones being better: float64 (systems, tracks)."""
    metric, number = _metric_of(word)
    place = find_single(ds, metric)
    score = numbers_of(computed(ds), [place])[0][rows, :, 0]
    score = -score if names_of(ds, "orientation", [place]) == ["lower"] else score
    if number is not None:
        best = np.where(np.isnan(score), -np.inf, score).max(axis=0, initial=-np.inf)
        score = np.where(np.isin(np.arange(len(best)), np.argsort(-best, kind="stable")[:number]), score, np.nan)
    return score


def _metric_of(word: str) -> tuple[str, int | None]:
    """A metric that chooses, and how many tracks are kept; None: all."""
    metric, _, number = word.rpartition(":")
    return (metric, int(number)) if metric and number.isdecimal() else (word, None)


def _reduce(value: Float, weight: Float, word: str, judges: Float | None) -> tuple[Float, Float]:
    """The score and weight of each track and metric, of values (systems, tracks, metrics) of which high are better."""
    there = ~np.isnan(value)
    if judges is None and word not in (BEST, WORST):
        return reduce_along(value, 0, word), reduce_along(np.where(there, weight, np.nan), 0, word)
    order = value if judges is None else np.broadcast_to(judges[..., np.newaxis], value.shape)
    # A system that is chosen without a score of its own leaves the track without one.
    usable: Bool = there if judges is None else ~np.isnan(order)
    row = np.where(usable, -order if word == WORST else order, -np.inf).argmax(axis=0)
    score, weighs = (np.take_along_axis(one, row[np.newaxis], axis=0)[0] for one in (value, weight))
    return np.where(usable.any(axis=0), score, np.nan), weighs


def _like(
    ds: xr.Dataset, dim: str, labels: Sequence[str], firsts: Sequence[int], score: Float, weight: Float
) -> xr.Dataset:
    """An evaluation with other systems; a track of which none has a score keeps the status of the first system."""
    status = np.array(ds["status"].values[list(firsts)])
    status[~np.isnan(score).all(axis=2)] = int(Status.ok)
    variables: dict[str, Any] = {"score": score, "weight": weight}
    dims = ("system", "track", "metric")
    coords: dict[str, Any] = {SYSTEM: np.array(labels, dtype=str)}
    for other in dims[1:]:
        coords |= {other: ds[other].values, **{name: (other, coord) for name, coord in coords_of(ds, other).items()}}
    cells = {name: (dims, values) for name, values in variables.items()}
    import xarray as xr

    more = {"status": (dims[:2], status), "duration": ("track", ds["duration"].values)}
    return xr.Dataset({**cells, **more}, coords, ds.attrs)
