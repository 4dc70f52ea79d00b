"""Confidence intervals of every aggregate, by resampling the contributions of units; of many units, normal ones.

Values of classes and tags have intervals, too, and so has the difference of two systems.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...errors import QueryError
from ...metrics.aggregates import CLASS_AGGREGATES, STATISTICS
from ...ragged import Bool, Float, Int
from ..aggregation import add_variables, aggregate_in_blocks, reduce, select_scores
from ..lookup import show_parameters
from ..per_class import MEAN, SIDE, TableSelection, aggregate_table, rated_kind, rated_variable, select_table
from ..queries import across, names_across
from ..query_options import AUTO, DEFAULT_LEVEL, NORMAL, Query, as_names
from ..scores import coords_of, group_tracks, members_of
from .blocks import SampleBlocks
from .interval_ends import difference_errors, influence, normal_bounds
from .repeated_runs import intervals_of_runs, is_about_runs
from .resampling import (
    Orders,
    Rates,
    Resampling,
    Seed,
    Statistics,
    accelerations,
    add_up,
    bounds,
    draw,
    finish_values,
    ratio_of,
    statistics_of,
)
from .sample import TRACK, Sample, check_numbers, codes_of, columns_by_pattern, recount

if TYPE_CHECKING:
    import xarray as xr


def intervals(
    ds: xr.Dataset,
    query: Query | None = None,
    *,
    level: float = DEFAULT_LEVEL,
    method: str = AUTO,
    replicates: int = 10_000,
    unit: str = TRACK,
    cluster: str | None = None,
    rng: Seed = 0,
    group: str = "",
) -> xr.Dataset:
    """Aggregate scores over the tracks, with confidence intervals.

    Parameters
    ----------
    ds : xr.Dataset
    query : Query or None
        As for :func:`mirflow.analysis.queries.aggregate`.
    level : float
        The share of such intervals that hold the true value.
    method : {"auto", "bca", "percentile", "normal"}
        Bias-corrected and accelerated (Efron 1987), or plain quantiles of the replicates; or normal, with standard
        errors by the delta method, for means and weighted ratios only. ``auto``: normal where such a value has 20,000
        units (clusters) or more, otherwise ``bca``.
    replicates : int
        How often the collection is drawn again.
    unit : str
        What is drawn: ``track``, or a coordinate along the tracks; then the value is the mean (or the median, where
        that is the aggregate) of the values of its values, each counted once.
    cluster : str or None
        A coordinate along the tracks (artist, album) whose tracks are drawn together; the value is the same. Where
        several annotators of a track are in one value they are drawn together, as if it were ``track``.
    rng : int or numpy.random.Generator
        The seed; the same one gives the same intervals.
    group : str
        A name of the evaluation to carry along.

    Returns
    -------
    xr.Dataset
        The result of the query with ``low`` and ``high``: NaN where there are fewer units (clusters) than
        :func:`mirflow.analysis.inference.resampling.least_units` (6 at 95 %), or a score in a mean is infinite.
        Each value is resampled over its own tracks, so that an interval does not depend on what else was asked, the
        policy `common` aside.

    Raises
    ------
    QueryError
        For an invalid level or number of replicates, a metric with extra dims of which no aggregate is read off all
        tracks together (of scores their mean), values across groups of tracks, and as a plain query.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    query = query or Query()
    how = Resampling.of(level, method, replicates, rng)
    grouped = [name for name in as_names(query.by) or [] if name in coords_of(ds, "system")]
    if any(name not in coords_of(ds, "track") for name in grouped):
        raise QueryError(
            f"by {grouped[0]!r} are means over systems, without intervals; runs have some (across run=mean)"
        )
    if is_about_runs(ds, query):
        return intervals_of_runs(ds, query, how, unit, cluster, group)
    if rated_kind(ds, query) is not None:
        table, result = select_rates(ds, query, unit, group)
        how.check_normal([table.kind], [result.attrs["metric"]])
        low, high = _of_rates(table, result, query, cluster, how)
        shape = result["value"].shape
        bounded = add_variables(result, low=low.reshape(shape), high=high.reshape(shape))
        return bounded.assign_attrs({**how.attrs(), "unit": unit, "cluster": cluster or ""})
    check_numbers(ds, query)
    selection = select_scores(ds, query)
    how.check_normal(selection.aggregates, selection.names("metric"))
    result, frame, totals = aggregate_in_blocks(selection, query.by, group)
    blocks = SampleBlocks.of(selection, frame, totals, unit, cluster)
    value = result["value"].values.copy()
    flat = value.reshape(*value.shape[:2], -1)
    low, high, normal = np.full_like(flat, np.nan), np.full_like(flat, np.nan), np.zeros(flat.shape, dtype=np.bool_)
    groups = members_of(group_tracks(frame, as_names(query.by) or [])[1])
    parts = blocks.parts()
    how = replace(how, kept={} if len(parts) > 1 else None)
    for systems in parts:
        cells = blocks.cells(systems)
        for place, members in groups.items():
            sample = blocks.sample(cells, tracks=None if len(members) == frame.sizes["track"] else members)
            if cluster is None and sample.repeats:
                cluster = TRACK
            if unit != TRACK:
                flat[systems, :, place] = sample.values()
            ends = interval_of(sample, flat[systems, :, place], how)
            low[systems, :, place], high[systems, :, place], normal[systems, :, place] = ends
    if unit != TRACK:
        result["value"].values = value
    bounded = add_variables(result, low=low.reshape(value.shape), high=high.reshape(value.shape))
    defined = ~np.isnan(low)
    attrs = how.attrs(normal[defined] if defined.any() else normal)
    if attrs["method"] == NORMAL:
        attrs["replicates"] = "0"
    return bounded.assign_attrs({**attrs, "unit": unit, "cluster": cluster or ""})


def select_rates(ds: xr.Dataset, query: Query, unit: str, group: str) -> tuple[TableSelection, xr.Dataset]:
    """Select and aggregate the sums behind values of classes or tags, or behind means along dims."""
    kind = rated_kind(ds, query)
    if unit != TRACK:
        what = f"aggregate {kind!r} is read off all tracks"
        if kind == MEAN:
            what = "values along the dims of a metric are read off all tracks together"
        raise QueryError(
            f"{what}, so only tracks are resampled; unit {unit!r} is for metrics with one number per "
            "track, and for ranks (test friedman, --friedman)"
        )
    variable = rated_variable(ds, query)
    if variable is None:
        some = f" of those with {show_parameters(query.param)}" if query.param else ""
        raise QueryError(f"aggregate {kind!r} needs one metric with classes or tags{some}; name it alone (metric)")
    selection = select_table(ds, variable, query)
    if selection.kind not in CLASS_AGGREGATES and not selection.adds_up:
        raise QueryError(f"intervals and tests take {', '.join(CLASS_AGGREGATES)}, and not {selection.kind!r}")
    for dim in query.across or {}:
        if dim in (as_names(query.by) or []):
            raise QueryError(f"across {dim!r}: statistics across groups of tracks have no intervals and no tests")
    result = aggregate_table(selection, query.by, group)
    return selection, across(result, query.across) if query.across else result


def _of_rates(
    selection: TableSelection, result: xr.Dataset, query: Query, cluster: str | None, how: Resampling
) -> tuple[Float, Float]:
    """Ends of the intervals of values of classes or tags: float64 (systems, groups, values)."""
    codes, asked = codes_of(selection.ds, TRACK, cluster), names_across(query.across)
    groups, included = group_tracks(selection.ds, as_names(query.by) or [])[1], selection.ds["_included"].values
    value = result["value"].values
    value = value.reshape(len(included), result["n_tracks"].size, math.prod(value.shape[1 + result["n_tracks"].ndim :]))
    low, high = np.full_like(value, np.nan), np.full_like(value, np.nan)
    for row in range(len(included)):
        entries = selection.read_all(row)
        for place, members in members_of(groups).items():
            tracks = members[included[row, members]]
            own, cluster_codes = entries[tracks], recount(codes[tracks])
            drawn: Statistics
            if selection.adds_up:
                drawn = Rates(add_up(own, cluster_codes)[np.newaxis], ratio_of(selection, asked))
            else:
                finish = partial(finish_values, dims=list(selection.labels), asked=asked)
                together = bool(selection.classes)
                side = list(selection.inner).index(SIDE)
                drawn = Orders.of(own, side, cluster_codes, selection.kind, finish, together=together)
            if drawn.clusters >= how.least:
                ends = value[row, place], accelerations(drawn.left_out())
                low[row, place], high[row, place] = bounds(draw(drawn, len(ends[0]), how), *ends, how)
    return low, high


def interval_of(sample: Sample, value: Float, how: Resampling) -> tuple[Float, Float, Bool]:
    """The intervals of all values of a sample.

    `value` (float64 (systems, metrics)). Returns `low`, `high` (float64 (systems, metrics)), `normal` (bool (systems,
    metrics)): whether they are normal.
    """
    low, high, normal = np.full_like(value, np.nan), np.full_like(value, np.nan), np.zeros(value.shape, dtype=np.bool_)
    systems, metrics = value.shape
    forms = [kind if kind in STATISTICS else "" for kind in sample.kinds]
    repeats = sample.repeats
    for form in sorted(set(forms)):
        chosen = [metric for metric in range(metrics) if forms[metric] == form]
        columns = [(system, metric) for metric in chosen for system in range(systems)]
        if not columns:
            continue
        included = np.array([sample.included[system, :, metric] for system, metric in columns])
        for units, places in columns_by_pattern(included):
            own = np.flatnonzero(units)
            inside = [columns[index] for index in places]
            clusters = len(np.unique(sample.cluster[own])) if repeats else len(own)
            if clusters < how.least:
                continue
            at = tuple(np.array(inside).T)
            kind = sample.kinds[inside[0][1]]
            if how.is_normal(kind, clusters):
                errors = np.sqrt([np.square(influence(sample, *column)).sum() for column in inside])
                low[at], high[at] = normal_bounds(value[at], errors, how.level)
                normal[at] = True
            else:
                rows, renumbered = np.unique(at[0], return_inverse=True)
                drawn_from = sample.take(own, None if len(rows) == systems else rows)
                statistics = statistics_of(drawn_from, list(zip(renumbered.tolist(), at[1].tolist(), strict=True)))
                drawn = draw(statistics, len(inside), how)
                low[at], high[at] = bounds(drawn, value[at], accelerations(statistics.left_out()), how)
    return low, high, normal


def difference_interval(sample: Sample, how: Resampling) -> tuple[Float, Float, Float, bool]:
    """The difference of two systems over all units of a sample of one metric, with its interval.

    Returns `difference`, `low`, `high` (float64 (1,)), and whether the interval is normal.
    """
    both = np.array([[0, 1]])
    difference = differences_of_values(sample, 0, both)
    if sample.clusters < how.least:
        return difference, np.full(1, np.nan), np.full(1, np.nan), False
    if how.is_normal(sample.kinds[0], sample.clusters):
        errors = difference_errors(sample, 0, both)
        return difference, *normal_bounds(difference, errors, how.level), True
    statistics = statistics_of(sample, [(0, 0), (1, 0)])
    drawn, left_out = draw(statistics, 2, how), statistics.left_out()
    with np.errstate(invalid="ignore"):
        again, acceleration = drawn[:1] - drawn[1:], accelerations(left_out[:, :1] - left_out[:, 1:])
    return difference, *bounds(again, difference, acceleration, how), False


def differences_of_values(sample: Sample, metric: int, pairs: Int) -> Float:
    """The differences of pairs (pairs, 2) of systems by one metric over all units of a sample, which all of them have.

    Of two infinite values, NaN says that they have no difference.
    """
    every = np.ones((*sample.score.shape[:2], 1), dtype=bool)
    score, weight = sample.score[..., [metric]], sample.weight[..., metric : metric + 1]
    score = np.where(np.isnan(score), 0.0, score)
    value = reduce(score, weight, sample.duration, sample.kinds[metric], every)[:, 0]
    with np.errstate(invalid="ignore"):
        return np.asarray(value[pairs[:, 0]] - value[pairs[:, 1]])
