"""Queries to an evaluation or to a whole result store, which is opened here: aggregates in memory or as lazy arrays.

A query chooses evaluations, aggregates their metrics over tracks, and reduces the results across groups or classes.
Numbers of cells by status and the headline metrics of short tables are here, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast

import numpy as np

from ..errors import QueryError, UnknownNameError, counted
from ..notebook import show_stores
from ..ragged import Float, Int
from ..remote import as_given
from ..store.cells import NUMERATOR, GroupContent, Status
from ..store.read import read_scores
from .aggregation import (
    LONG_NAMES,
    aggregate_in_blocks,
    aggregate_selection,
    free_names,
    origin_of,
    ranked,
    select_scores,
    sort_systems,
)
from .dims import MODEL, REDUCTIONS, RUN, has_runs, name_dim, reduce_groups
from .lookup import (
    choose_tracks,
    find_labels,
    find_measures,
    find_metrics,
    find_tables,
    has_parameters,
    headline_metric,
    metric_names,
    show_parameters,
    split_names,
)
from .per_class import aggregate_table, explain_name, select_table
from .query_options import NAME, STORED, Names, Query, QueryOptions, as_names, make_query
from .scores import (
    ANNOTATOR,
    ResultInMemory,
    Scores,
    VariableInMemory,
    as_scores,
    computed,
    coords_of,
    names_of,
    states_of,
    without_value,
)
from .selection import COSTLIEST, EMPTY_COUNTED, UNCOUNTED, VALUELESS, ScoreSelection

if TYPE_CHECKING:
    import xarray as xr

Stores: TypeAlias = "str | Path | Sequence[str | Path] | Mapping[str, str | Path | xr.DataTree | xr.Dataset]"
Boards: TypeAlias = "Mapping[str, xr.Dataset]"
"""The scores of evaluations by name."""
ScoresLike: TypeAlias = "Stores | xr.DataTree | xr.Dataset"
"""Scores: stores by their paths, an opened tree, or the dataset of one evaluation."""


def evaluations_of(scores: ScoresLike) -> dict[str, xr.Dataset]:
    """The evaluations of scores in any form, by name; the name of a single dataset is empty.

    Raises `StoreError` if a path is not a result store. Raises `QueryError` for anything else, and if stores cannot be
    joined.
    """
    if isinstance(scores, str | Path):
        return read_scores(scores)
    import xarray as xr

    if isinstance(scores, xr.DataTree):
        return boards_of(scores)
    if isinstance(scores, xr.Dataset):
        return {"": as_scores(scores)}
    if not isinstance(scores, Sequence | Mapping):
        raise QueryError(f"not scores: {type(scores).__name__}; give a store's path, its tree or a dataset of it")
    return boards_of(open_store(cast(Stores, scores)))


def open_store(path: Stores) -> xr.DataTree:
    """A result store, or several as one, as a lazy tree whose ``.mirflow`` accessor answers queries.

    Parameters
    ----------
    path : str or path, sequence of these, or mapping of str to these, xr.DataTree or xr.Dataset
        The store, or a plain copy of one. Several stores, such as the campaigns of several years, are joined along
        systems and tracks where groups have the same name; the coordinate ``store`` along tracks says where each comes
        from. The keys of a mapping are put before the systems' names, ``2013/KO1``, so that the same system may be in
        several stores. Open trees and datasets in memory are joined in the same way; a single dataset is the group of
        its task, as :func:`mirflow.save` names it.

    Returns
    -------
    xarray.DataTree
        One group an evaluation, of the generation that is current now; see :func:`mirflow.store.read.read_tree`.
        Values are read when they are asked for.

    Raises
    ------
    StoreError
        If nothing is there, or not a result store, or one of a later version, or a damaged one.
    QueryError
        If stores cannot be joined: their groups differ in settings, or two hold the same cell; see
        :func:`mirflow.analysis.combine.join_trees`.
    """
    show_stores()
    if isinstance(path, str | Path):
        return _tree_of(path)
    from .combine import join_trees

    label = isinstance(path, Mapping)
    named = path if isinstance(path, Mapping) else name_stores(path)
    return join_trees({name: _tree_of(one) for name, one in named.items()}, label=label)


def _tree_of(scores: str | Path | xr.DataTree | xr.Dataset) -> xr.DataTree:
    """A store by its path, or what is open already, as a tree."""
    import xarray as xr

    from ..store.read import read_tree

    if isinstance(scores, xr.DataTree):
        return scores
    if isinstance(scores, xr.Dataset):
        return xr.DataTree.from_dict({f"/{scores.attrs.get('task') or 'scores'}": as_scores(scores)})
    return read_tree(scores)


def name_stores(paths: Sequence[str | Path]) -> dict[str, str | Path]:
    """Stores by the names of their folders, or by their paths where these are alike."""
    if not paths:
        raise QueryError("no store to open")
    if not all(isinstance(path, str | Path) for path in paths):
        raise QueryError("scores in memory have no names; give a mapping of labels to them and to stores")
    stems = [Path(path).name.removesuffix(".zarr") for path in paths]
    names = stems if len(set(stems)) == len(stems) else [as_given(path) for path in paths]
    if len(set(names)) < len(names):
        raise QueryError(f"the same store twice: {next(name for name in names if names.count(name) > 1)}")
    return dict(zip(names, paths, strict=True))


Across = Mapping[str, str | Sequence[str]]


UNGROUPED = "ungrouped"
"""The attribute that says which tracks are in no group."""


def _deviation(values: Float) -> Float:
    """The standard deviation of a sample; NaN of fewer than two."""
    there = ~np.isnan(values)
    count = there.sum(axis=0)
    mean = np.where(there, values, 0.0).sum(axis=0) / np.maximum(count, 1)
    with np.errstate(invalid="ignore"):  # the deviation of infinities is NaN
        square = np.where(there, (values - mean) ** 2, 0.0).sum(axis=0)
    return np.where(count > 1, np.sqrt(square / np.maximum(count - 1, 1)), np.nan)


ACROSS: Mapping[str, Callable[[Float], Float]] = MappingProxyType({**REDUCTIONS, "std": _deviation})
"""What can be done across the values of groups or classes; values that are NaN are left out."""


def across(result: xr.Dataset, asked: Across, others: Sequence[str] = ()) -> xr.Dataset:
    """Reduce dims of groups or classes of a result, one after the other.

    `asked`: a grouping, or a dim of the metric, to names of :data:`ACROSS`, perhaps several, with commas between.
    `others`: what else there is to reduce, for messages. Returns the result with those names in the place of the groups
    or classes. Tracks without a value of a coordinate are in none of its groups and do not count; the attribute
    ``ungrouped`` says how many these are.
    """
    from ..lazy_array import plain_dataset

    groupings = {str(dim).removeprefix("track_"): str(dim) for dim in result["n_tracks"].dims}
    groupings |= {dim: dim for dim in groupings.values()}
    dims = [str(dim) for dim in result["value"].dims if dim not in ("system", "metric")]
    for dim in (groupings[dim] for dim in asked if dim in groupings):
        # Tracks without a value of a coordinate are not a fold.
        lacking, own = without_value(result[dim].values), dim.removeprefix("track_")
        known = result.isel({dim: np.flatnonzero(~lacking)})
        lost = int(result["n_tracks"].values.sum() - known["n_tracks"].values.sum())
        if lacking.any():
            why = f"{counted(lost, 'track')} without a value of {own} {'is' if lost == 1 else 'are'} in no {own}"
            said = "; ".join(filter(None, (result.attrs.get(UNGROUPED, ""), why)))
            result = known.assign_attrs({UNGROUPED: said})
    reductions = names_across(asked)
    for dim, names in reductions.items():
        for name in names:
            if name not in ACROSS:
                raise UnknownNameError("reduction", name, ACROSS)
        if not dims and not others:
            raise QueryError(
                f"across {dim!r}: the answer has no groups, classes or runs of systems; add by, --by, or for runs "
                "{run} in the pattern of the estimates"
            )
        dim_of_groups = groupings.get(dim, name_dim(dim, dims))
        if dim_of_groups not in dims:
            raise UnknownNameError("dim of the answer", dim, (*others, *dims))
        grouped = dim_of_groups in result["n_tracks"].dims
        variables: dict[str, Any] = {}
        for key, variable in result.data_vars.items():
            values = variable.values
            axis = variable.dims.index(dim_of_groups) if dim_of_groups in variable.dims else None
            if axis is not None and key == "value":
                moved = np.moveaxis(values, axis, 0)
                values = np.moveaxis(np.stack([ACROSS[name](moved) for name in names]), 0, axis)
            elif axis is not None:
                # Counts are those of all of the dim together: groups are of different tracks, labels of the same.
                total = values.sum(axis, keepdims=True) if grouped else values.max(axis, keepdims=True, initial=0)
                values = np.repeat(total, len(names), axis=axis)
            variables[str(key)] = (variable.dims, values, variable.attrs)
        named = {str(name): coord for name, coord in result.coords.items() if dim_of_groups not in coord.dims}
        coords: dict[str, Any] = {name: (coord.dims[0], coord.values) for name, coord in named.items()}
        coords[dim_of_groups] = np.array(names, dtype=str)
        result = plain_dataset(variables, coords, result.attrs)
    # Each of several values is about the same tracks: ``repeats`` says in how many groups each track is.
    times = math.prod(len(names) for dim, names in reductions.items() if dim in groupings)
    words = {dim if dim in groupings else name_dim(dim, dims): names for dim, names in reductions.items()}
    text = "; ".join(f"{dim}={','.join(names)}" for dim, names in words.items())
    return result.assign_attrs(across=text, repeats=str(times))


def names_across(asked: Across | None) -> dict[str, list[str]]:
    """Names of the reductions of each dim, which may be a text with commas between."""
    return {
        dim: [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
        for dim, names in (asked or {}).items()
    }


def across_of(attrs: Mapping[str, str]) -> dict[str, list[str]]:
    """Reductions across the values of a result, from its attributes: names of :data:`ACROSS` for each dim.

    Examples
    --------
    >>> across_of({"across": "class=mean; fold=mean,std"})
    {'class': ['mean'], 'fold': ['mean', 'std']}
    """
    said = (part.partition("=") for part in attrs.get("across", "").split("; ") if part)
    return {dim: names.split(",") for dim, _, names in said}


def boards_of(tree: xr.DataTree) -> dict[str, xr.Dataset]:
    """The evaluations of a store, by name; of a single node, that one."""
    boards = {}
    for node in tree.subtree:
        if "score" in node.data_vars:
            name = node.path.strip("/") or str(node.name or "scores")
            boards[name] = as_scores(node.to_dataset())
    return boards


def choose(boards: Mapping[str, xr.Dataset], metric: Names = None, group: str | None = None) -> dict[str, xr.Dataset]:
    """The evaluations that a query is about: the one of that name, else all that have the metrics."""
    if not boards:
        raise QueryError("the store has no scores")
    every = boards
    if group is not None:
        if group not in boards:
            raise UnknownNameError("group", group, boards)
        boards = {group: boards[group]}
    wanted = metric_names(metric) or []
    chosen = dict(boards)
    for name in wanted:
        having = set()
        for other, ds in boards.items():
            with suppress(UnknownNameError):
                find_metrics(ds, split_names(ds, name)[0])
                having.add(other)
        if not having:
            elsewhere: Mapping[str, xr.Dataset] = {}
            with suppress(QueryError, UnknownNameError):
                elsewhere = {} if group is None else choose(every, name)
            if elsewhere:
                raise QueryError(f"group {group!r} has no metric {name!r}; groups that have it: {', '.join(elsewhere)}")
            said = explain_name(name, boards.values())
            if said:
                raise QueryError(f"unknown metric {name!r}; {said}")
            tables = {label for ds in boards.values() for label in find_tables(ds).values()}
            known = {label for ds in boards.values() for label in names_of(ds, "metric")} | tables
            raise UnknownNameError("metric", name, known)
        chosen = {other: ds for other, ds in chosen.items() if other in having}
    if not chosen:
        raise QueryError(f"no group has all of these metrics: {', '.join(wanted)}; groups: {', '.join(boards)}")
    return chosen


def choose_one(
    boards: Mapping[str, xr.Dataset], metric: Names = None, group: str | None = None
) -> tuple[str, xr.Dataset]:
    """The only evaluation that a query can be about, with its name."""
    chosen = choose(boards, metric, group)
    if len(chosen) > 1:
        listed = ", ".join(f"{name!r} (convention {one.attrs.get('convention', '?')})" for name, one in chosen.items())
        raise QueryError(f"several groups match: {listed}; choose one (group, --group)")
    return next(iter(chosen.items()))


def evaluate_query(ds: xr.Dataset, query: Query, group: str = "") -> list[xr.Dataset]:
    """Aggregate all metrics of a query: those with one number per track together, others each alone.

    Without a metric those that are one number answer; where there is none, the others.
    """
    by = as_names(query.by) or []
    # What is about groups of systems is done with the results.
    grouped = [name for name in by if name in coords_of(ds, "system") and name not in coords_of(ds, "track")]
    over_runs = RUN in (query.across or {}) and has_runs(ds)
    if len(grouped) + over_runs > 1:
        raise QueryError(
            f"systems can be grouped by only one coordinate at a time, not by {', '.join([*grouped, RUN])}"
        )
    words = names_across(query.across)[RUN] if over_runs else ["mean"]
    for name in words:
        if name not in ACROSS:
            raise UnknownNameError("reduction", name, ACROSS)
    if grouped or over_runs:
        others = {dim: how for dim, how in (query.across or {}).items() if not (over_runs and dim == RUN)}
        query = replace(query, by=[name for name in by if name not in grouped] or None, across=others or None)
    numbers, variables = split_names(ds, query.metric, exact=query.exact)
    if query.metric is None and not ds.sizes["metric"]:
        listed = "track" in (as_names(query.by) or [])
        variables = [name for name, measure in find_measures(ds).items() if listed or not measure.metric.nominal]
    if query.param and variables:
        measures = find_measures(ds)
        variables = [variable for variable in variables if has_parameters(measures[variable], query.param)]
        if not numbers and not variables:
            raise QueryError(f"no metric of the question has {show_parameters(query.param)}")
    results = []
    if numbers or not variables:
        selection = select_scores(ds, replace(query, metric=numbers or query.metric))
        results.append(aggregate_in_blocks(selection, query.by, group)[0])
    results += [aggregate_table(select_table(ds, variable, query), query.by, group) for variable in variables]
    if query.across:
        results = [across(result, query.across, (RUN,) if has_runs(ds) else ()) for result in results]
    for index, result in enumerate(results) if grouped or over_runs else ():
        coordinate = MODEL if over_runs else grouped[0]
        result = reduce_groups(result, coordinate, {name: ACROSS[name] for name in words})
        # Systems were in the order of their own values, and now those of groups matter.
        if query.sort == NAME and "metric" in result.dims:
            result = result.isel(system=np.argsort(result["system"].values, kind="stable"))
        elif query.sort not in (None, STORED) and "metric" in result.dims:
            metrics = names_of(result, "metric")
            place = metrics.index(query.sort) if query.sort in metrics else 0
            value = result["value"].isel(metric=place).transpose("system", ...).values
            first = value.reshape(len(value), -1)[:, 0]
            result = result.isel(system=ranked(first, names_of(result, "orientation")[place]))
        text = "; ".join(filter(None, (f"{RUN}={','.join(words)}", result.attrs.get("across", ""))))
        about = {"across": text, "repeats": str(int(result.attrs.get("repeats", 1)) * len(words))}
        results[index] = result.assign_attrs(about) if over_runs else result.isel({RUN: 0}, drop=True)
    return results


def only_answer(found: Sequence[xr.Dataset]) -> xr.Dataset:
    """The one result of a query."""
    if len(found) > 1:
        names = ", ".join(result.attrs["metric"] for result in found if "metric" in result.attrs)
        raise QueryError(f"each of these metrics has extra dims; query one of them: {names}")
    return found[0]


def aggregate(
    ds: xr.Dataset,
    metric: Names = None,
    aggregate: str | None = None,
    by: Names = None,
    **options: Unpack[QueryOptions],
) -> xr.Dataset:
    """Aggregates over the tracks of one evaluation, one for each system, metric and group of tracks.

    Parameters
    ----------
    ds : xr.Dataset
        A group of a result store: ``score`` and ``weight`` over (system, track, metric), ``status`` over (system,
        track), ``duration`` over (track) in seconds, and the metrics' coordinates.
    metric, aggregate, by, **options
        What is asked: see :class:`mirflow.analysis.query_options.Query`.

    Returns
    -------
    xr.Dataset
        ``value`` float64, ``n`` (scores that count), ``n_missing``, ``n_undefined`` and ``n_empty`` (those of empty
        estimates among ``n``) int64, over (system, metric, groups), and ``n_tracks`` over the groups. The coordinate
        ``aggregate`` along ``metric`` names what was computed; the attributes ``missing`` and ``undefined`` name the
        policies, ``left_out`` the metrics that have no such aggregate. Of a metric with extra dims: ``value`` over
        (system, groups, extra dims), ``n``, ``n_missing`` and ``n_empty`` over (system, groups); metric and aggregate
        are attributes.

    Raises
    ------
    QueryError
        If the query makes no sense here: an aggregate that a metric does not define, cells missing under
        ``raise``, a lower-is-better metric under ``zero``, durations that are not known.
    UnknownNameError
        For a name that is not there, with a suggestion.

    Examples
    --------
    >>> import xarray as xr
    >>> names = {"system": ["A"], "track": ["x", "y"], "metric": ["majmin"]}
    >>> about = {"aggregates": "mean wcsr", "standard_aggregate": "wcsr", "orientation": "higher", "unit": ""}
    >>> ds = xr.Dataset(
    ...     {
    ...         "score": (("system", "track", "metric"), [[[1.0], [0.5]]]),
    ...         "weight": (("system", "track", "metric"), [[[30.0], [10.0]]]),
    ...         "status": (("system", "track"), [[1, 1]]),
    ...     },
    ...     names | {name: ("metric", [value]) for name, value in about.items()},
    ... )
    >>> aggregate(ds)["value"].item(), aggregate(ds, "majmin", "mean")["value"].item()
    (0.875, 0.75)
    """
    return only_answer(evaluate_query(as_scores(ds), make_query("query", metric, aggregate, by, **options)))


def count_statuses(ds: xr.Dataset) -> Int:
    """Numbers of cells of each system by status: int64 (systems, statuses)."""
    status, _ = states_of(computed(ds))
    return np.stack([(status == state).sum(axis=1) for state in Status], axis=1).astype(np.int64)


def coverage(ds: xr.Dataset) -> xr.Dataset:
    """Numbers of the cells of one evaluation by system and status.

    Returns ``cells`` int64 (system, status): how many cells of each system have each status.
    """
    from ..lazy_array import plain_dataset

    ds = as_scores(ds)
    cells = (("system", "status"), count_statuses(ds), {"long_name": "number of cells"})
    statuses = np.array([status.name for status in Status])
    return plain_dataset({"cells": cells}, {"system": np.array(names_of(ds, "system")), "status": statuses})


def query_content(content: GroupContent, metrics: Sequence[str]) -> ResultInMemory:
    """Aggregate metrics of an evaluation in memory over all its tracks, the best system first."""
    columns = {name: names_of(content, name) for name in ("metric", "unit", "orientation", "title")}
    places = [columns["metric"].index(name) for name in metrics]
    coords = {name: [texts[place] for place in places] for name, texts in columns.items() if texts}
    standard, systems = names_of(content, "standard_aggregate"), names_of(content, "system")
    kinds, tracks = [standard[place] for place in places], len(content.tracks)
    by_place = dict(zip(places, kinds, strict=True))
    first = next((index for index, way in enumerate(coords["orientation"]) if way != "none"), None)
    selection = ScoreSelection.of(content, by_place, Query(), first)
    arrays, order, policies, gaps, _ = aggregate_selection(selection, np.zeros(tracks, dtype=np.int64))
    kept: dict[str, Sequence[object]] = {"aggregate": kinds, **coords}
    kept = {
        name: [metric_coord[place] for place in places] for name, metric_coord in content.metric_coords.items()
    } | kept
    along = {name: np.array(entries, dtype=object) for name, entries in free_names(kept, LONG_NAMES).items()}
    of_metrics = {name: VariableInMemory(("metric",), entries) for name, entries in along.items()}
    ordered = np.array([systems[row] for row in order], dtype=object)
    values = {name: VariableInMemory(("system", "metric"), array[..., 0]) for name, array in arrays.items()}
    result = ResultInMemory(values, n_tracks=VariableInMemory((), np.array(tracks)))
    result.coords = {"system": VariableInMemory(("system",), ordered), **of_metrics}
    result.attrs = {**origin_of(content, content.name), **policies, **gaps, "left_out": ""}
    result.update(result.coords)
    return result


def primary_results(
    boards: Mapping[str, xr.Dataset],
    query: Query,
    ask: Callable[[xr.Dataset, Query, str], Sequence[xr.Dataset]] = evaluate_query,
) -> tuple[list[xr.Dataset], dict[str, str]]:
    """Query the headline metric of each evaluation.

    Returns `results`, `left_out`: evaluations without a result, and what they lack: a metric with one number per track,
    a coordinate to group by that others have, or runs.
    """
    columns = {name: {"track", ANNOTATOR, *coords_of(ds, "track")} for name, ds in boards.items()}
    for name, ds in boards.items():
        columns[name] |= {RUN} if has_runs(ds) else set()
    # What no evaluation has is a mistake, and an error.
    asked = [*(as_names(query.by) or []), *(dim for dim in query.across or {} if dim == RUN)]
    wanted = [name for name in asked if any(name in names for names in columns.values())]
    results: list[xr.Dataset] = []
    left_out: dict[str, str] = {}
    for name, ds in boards.items():
        lacking = [coordinate for coordinate in wanted if coordinate not in columns[name]]
        if not ds.sizes["metric"]:
            left_out[name] = NO_NUMBER
        elif lacking:
            left_out[name] = lacking[0]
        else:
            results += ask(ds, replace(query, metric=headline_metric(ds), exact=True), name)
    return results, left_out


NO_NUMBER = "a metric with one number per track"
"""What an evaluation lacks that has metrics with extra dims only."""

_NAMED = 5
"""Metrics that are named of those that a table leaves out."""
_RECALLS = ("root", "majmin", "majmin_inv", "sevenths", "sevenths_inv")
"""The chord recalls that campaigns publish since 2013."""


def say_left_out(metrics: Sequence[str], shown: Sequence[str]) -> str:
    """Which metrics a short table leaves out; nothing if it has all."""
    left = [metric for metric in metrics if metric not in shown]
    some = ", ".join(left[:_NAMED]) + (", ..." if len(left) > _NAMED else "")
    return f"not shown: {len(left)} of {counted(len(metrics), 'metric')} ({some})" if left else ""


def headline_metrics(ds: Scores, most: int = 12) -> list[str]:
    """The metrics that a short table shows: the headline, and the recalls of the field, else all, of many the first."""
    standard = names_of(ds, "standard_aggregate")
    recalls = [label for label, kind in zip(names_of(ds, "metric"), standard, strict=True) if kind == "wcsr"]
    names = recalls or names_of(ds, "metric")
    if len(names) > most or recalls:
        names = [label for label in names if "@" not in label and "(" not in label] or names
    if len(names) > most and set(_RECALLS) < set(names):
        names = [label for label in names if label in _RECALLS]
    first = headline_metric(ds)
    return list(dict.fromkeys([*([] if first is None else [first]), *names]))[:most]


_OF_VALUES = ("missing_cells", "undefined_cells", EMPTY_COUNTED, UNCOUNTED, COSTLIEST, VALUELESS)
"""Attributes of an answer that depend on the scores, which are not known yet."""
_STAND_INS = {"score": 0.5, "weight": 1.0, "status": int(Status.ok), "duration": 1.0}


def lazy_query(ds: xr.Dataset, query: Query, group: str = "") -> xr.Dataset:
    """The answer to a query as lazy arrays: one task gathers the scores that are asked for, and aggregates them.

    Returns a result as :func:`mirflow.analysis.queries.aggregate`, equal to the bit once it is computed, without the
    attributes that count missing and undefined cells, which ``n_missing`` and ``n_undefined`` hold. Raises `QueryError`
    if labels of the answer depend on the scores. What only the scores can tell, such as cells missing under ``raise``,
    raises when the answer is computed.
    """
    import xarray as xr

    from ..lazy_array import plain_variable

    ds = as_scores(ds)
    asked = {
        f"sort={query.sort!r}": query.sort not in (None, NAME, STORED),
        f"where={query.where!r}": query.where is not None and bool(re.search(r"\bduration\b", query.where)),
        "annotator": query.annotator is not None or ANNOTATOR in (as_names(query.by) or []),
    }
    for said in (said for said, unknown in asked.items() if unknown):
        raise QueryError(
            f"{said}: a lazy answer has its labels now, and these depend on the scores; leave it out, or ask without "
            "lazy=True"
        )
    if query.system is not None or query.sort == NAME:
        ds = ds.isel(system=find_labels(ds, "system", sort_systems(ds, query)))
    if query.tracks is not None or query.where is not None:
        ds = choose_tracks(ds, query)
    tables = split_names(ds, query.metric, exact=query.exact)[1]
    names = [name for name in (*_STAND_INS, NUMERATOR, *tables) if name in ds.data_vars]
    stored = [ds.variables[name] for name in names]
    frame = ds.drop_vars(list(ds.data_vars))

    def answer(*values: Any) -> xr.Dataset:
        held = {
            name: plain_variable(like.dims, value, like.attrs)
            for name, like, value in zip(names, stored, values, strict=True)
        }
        return only_answer(evaluate_query(frame.assign(held), query, group))

    like = answer(*(np.full(one.shape, _STAND_INS.get(name, 0.0)) for name, one in zip(names, stored, strict=True)))
    outputs = [name for name in like.data_vars if name != "n_tracks"]
    sizes = {f"_{dim}": size for dim, size in like.sizes.items()}
    arrays = xr.apply_ufunc(
        lambda *values: tuple(answer(*values)[name].values for name in outputs),
        *(xr.Variable(variable.dims, variable.data) for variable in stored),
        input_core_dims=[variable.dims for variable in stored],
        output_core_dims=[[f"_{dim}" for dim in like[name].dims] for name in outputs],
        dask="parallelized",
        output_dtypes=[like[name].dtype for name in outputs],
        dask_gufunc_kwargs={"allow_rechunk": True, "output_sizes": sizes},
    )
    lazy = dict(zip(outputs, arrays, strict=True))
    result = like.assign({name: (like[name].dims, lazy[name].data, like[name].attrs) for name in outputs})
    result.attrs = {name: value for name, value in like.attrs.items() if name not in _OF_VALUES}
    return result
