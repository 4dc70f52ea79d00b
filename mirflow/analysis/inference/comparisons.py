"""Comparisons of every two systems on their common units, and marks beside those that do not differ from the best."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ...errors import QueryError, counted
from ...ragged import Bool, Float, Int
from ..aggregation import EVERY, POLICIES, UNTESTED, add_variables, origin_of, reduce, show_span
from ..per_class import TableSelection, rated_kind
from ..policies import alpha_of
from ..queries import is_deviation, names_across
from ..query_options import Query
from ..scores import Array, names_of
from ..system_groups import RUN
from .confidence_intervals import clusters_of, difference_bounds, select_rates
from .paired import (
    DEFAULT_TEST,
    Compared,
    choose_correction,
    choose_tests,
    comparison_dataset,
    correct_pairs,
    effects,
    empty_arrays,
    fill_pairs,
    least_of,
    p_values,
    pairs_by_units,
    swap_pairs,
    swap_rates,
    swap_scores,
)
from .repeated_runs import compare_runs, is_about_runs
from .resampling import Rates, Resampling, Seed, add_up, draw, ratio_of, statistics_of
from .sample import TRACK, Sample, recount, sample_of, select_numbers

if TYPE_CHECKING:
    import xarray as xr


def compare(
    ds: xr.Dataset,
    query: Query | None = None,
    *,
    test: str = "auto",
    correction: str = "auto",
    level: float = 0.95,
    method: str = "bca",
    replicates: int = 10_000,
    unit: str = TRACK,
    cluster: str | None = None,
    rng: Seed = 0,
    group: str = "",
    sizes: bool = True,
) -> xr.Dataset:
    """Compare every two systems by their aggregates.

    Parameters
    ----------
    ds : xr.Dataset
    query : Query or None
        As for :func:`mirflow.analysis.queries.aggregate`, without groups of tracks. Each name means one metric:
        where several parameters are stored, for the default ones.
    test : {"auto", "permutation", "wilcoxon", "t"}
        ``permutation`` swaps what two systems have on a unit (score times weight, and weight), and looks at the
        difference of the aggregates; for a mean that is the sign-flip test. All swaps are tried where they are no more
        than twice the replicates, otherwise random ones. Wilcoxon's signed ranks and Student's t compare the
        units' scores, each counted once, and are refused for weighted aggregates. ``auto`` is ``permutation``.
    correction : {"auto", "max-t", "holm", "bh", "none"}
        Over all pairs of systems, for each metric. ``max-t`` swaps the same units in all pairs at once, and asks how
        often the largest difference of all is as large (Westfall and Young's step-down); it needs ``permutation``,
        whose ``auto`` it is. Of the other tests ``auto`` is ``holm``.
    level : float
        Of the intervals, and of significance.
    method, replicates, unit, cluster, rng, group
        As for :func:`mirflow.analysis.inference.confidence_intervals.intervals`. The interval of a difference is that
        of paired units.
    sizes : bool
        Whether intervals and effect sizes are wanted; who differs from whom is known without them, in half the time.

    Returns
    -------
    xr.Dataset
        Over (system, other, metric) ``difference``, ``low``, ``high``, ``p``, ``p_corrected``, ``significant``,
        ``superiority``, ``dz``, ``rank_biserial``, ``cliffs_delta``, ``n``, ``wins`` and ``ties``; over (system,
        metric) ``value`` and ``letters``; over (metric) ``least_p_corrected``. Values of classes and tags (``recall``,
        ...) and those along dims, which the attribute ``along`` names, are separate metrics, and have neither wins
        nor effect sizes. Without sizes, intervals and effect sizes
        are NaN and all counts but ``n`` 0.

    Raises
    ------
    QueryError
        For fewer than two systems, a test that does not fit the value, and as for intervals.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    query = query or Query()
    how = Resampling.of(level, method, replicates, rng)
    attrs = {**how.attrs(), "test": test, "unit_of_comparison": unit}
    if is_about_runs(ds, query):
        return compare_runs(ds, query, how, attrs, correction, cluster, group, sizes=sizes)
    if rated_kind(ds, query) is not None:
        return _compare_rates(ds, query, how, attrs, correction, cluster, group, sizes=sizes)
    part = comparable(ds, query)
    sample = sample_of(part, unit, cluster)
    if cluster is None and sample.repeats:
        cluster = TRACK
    metrics = names_of(part, "metric")
    tests = choose_tests(test, sample.kinds, metrics, cluster)
    correction = choose_correction(correction, tests)
    arrays, least = empty_arrays(part.sizes["system"], len(metrics)), np.ones(len(metrics))
    for metric, orientation in enumerate(names_of(part, "orientation")):
        words = (sample, metric, tests[metric], correction, how, arrays)
        least[metric] = _compare_scores(*words, sizes=sizes, lower=orientation == "lower")
    attrs |= {"correction": correction, "cluster": cluster or "", **origin_of(part, group)}
    attrs |= {name: part.attrs[name] for name in POLICIES if name in part.attrs}
    along = {"aggregate": names_of(part, "_aggregate"), "test": tests}
    return comparison_dataset(part, sample.values(), arrays, least, along, attrs)


def _compare_scores(
    sample: Sample,
    metric: int,
    test: str,
    correction: str,
    how: Resampling,
    arrays: dict[str, Array],
    *,
    sizes: bool,
    lower: bool,
) -> float:
    """Compare every two systems by one metric; the smallest corrected p-value that is possible."""
    patterns = [(pairs, units, sample.take(units)) for pairs, units in pairs_by_units(sample.included[..., metric])]
    for pairs, units, own in patterns:
        found: dict[str, Array] = {"n": np.full(len(pairs), len(units), dtype=np.int64)}
        if sizes:
            found |= _compare_pairs(own, metric, pairs, how)
            found |= effects(own.score[..., metric], pairs, lower_is_better=lower)
        fill_pairs(arrays, metric, pairs, found)
    parts = [Compared(pairs, np.unique(sample.cluster[units])) for pairs, units, _ in patterns]
    if test == "permutation":
        some = [index for index, (_, units, _) in enumerate(patterns) if len(units)]
        swaps = [swap_scores(patterns[place][2], metric, patterns[place][0]) for place in some]
        swap_pairs(arrays, [metric], [parts[place] for place in some], swaps, correction, how)
    else:
        for pairs, _, own in patterns:
            fill_pairs(arrays, metric, pairs, {"p": p_values(test, own, metric, pairs, how)})
        correct_pairs(arrays, metric, correction)
    return least_of(test, correction, parts, how)


def comparable(ds: xr.Dataset, query: Query) -> xr.Dataset:
    """Select scores on which systems can be compared."""
    _check_groups(query)
    part = select_numbers(ds, query, single=True)
    _check_systems(part)
    return part


def _check_groups(query: Query) -> None:
    if query.by:
        raise QueryError("systems are compared on all tracks of a question; name those of one group as tracks")


def _check_systems(part: xr.Dataset) -> None:
    if part.sizes["system"] < 2:
        raise QueryError(f"{counted(part.sizes['system'], 'system')} to compare; at least two are needed")


def _compare_pairs(sample: Sample, metric: int, pairs: Int, how: Resampling) -> dict[str, Array]:
    """Differences of the values of pairs that have all units of a sample, with intervals."""
    every = np.ones((*sample.score.shape[:2], 1), dtype=bool)
    score, weight = sample.score[..., [metric]], sample.weight[..., metric : metric + 1]
    value = reduce(np.where(np.isnan(score), 0.0, score), weight, sample.duration, sample.kinds[metric], every)[:, 0]
    systems = np.unique(pairs)
    place = np.searchsorted(systems, pairs)
    if len(sample.duration):
        statistics = statistics_of(sample, [(system, metric) for system in systems.tolist()])
        if statistics.clusters >= how.least:
            drawn = draw(statistics, len(systems), how)
            return difference_bounds(value[systems], drawn, statistics.left_out(), place, how)
    return difference_bounds(value[systems], None, None, place, how)


def _compare_rates(
    ds: xr.Dataset,
    query: Query,
    how: Resampling,
    attrs: dict[str, str],
    correction: str,
    cluster: str | None,
    group: str,
    *,
    sizes: bool,
) -> xr.Dataset:
    """Compare every two systems by values of classes or tags: what each adds up on a track is swapped.

    Each value is a metric of the result: that of each class or tag, or what is across them.
    """
    _check_groups(query)
    selection, result = select_rates(ds, query, attrs["unit_of_comparison"], group)
    part, kind = selection.ds, selection.kind
    _check_swapping(selection)
    _check_systems(part)
    tests = _tests_of_rates(attrs["test"], kind, result.attrs["metric"], cluster)
    correction = choose_correction(correction, tests)
    value = result["value"].values.reshape(part.sizes["system"], -1)
    arrays, columns = empty_arrays(*value.shape), value.shape[1]
    ratio, codes = ratio_of(selection, names_across(query.across)), clusters_of(selection, cluster)
    entries = np.stack([selection.read_all(row) for row in range(len(value))])
    parts, swaps = [], []
    for pairs, tracks in pairs_by_units(part["_included"].values):
        systems = np.unique(pairs)
        counts = np.stack([add_up(entries[row, tracks], recount(codes[tracks])) for row in systems.tolist()])
        rates, places = Rates(counts, ratio), np.searchsorted(systems, pairs)
        parts.append(Compared(pairs, np.unique(codes[tracks])))
        if rates.clusters:
            swaps.append(swap_rates(rates, places))
        found = _differences(rates, places, how) if sizes and rates.clusters else {}
        number = np.full(len(pairs), len(tracks), dtype=np.int64)
        for column in range(columns):
            own: dict[str, Array] = {name: values[:, column] for name, values in found.items()}
            fill_pairs(arrays, column, pairs, {**own, "n": number})
    tested = [one for one in parts if len(one.clusters)]
    swap_pairs(arrays, range(columns), tested, swaps, correction, how)
    least = np.full(columns, least_of(tests[0], correction, parts, how))
    attrs |= {"correction": correction, "cluster": cluster or "", **origin_of(part, group)}
    attrs |= {name: result.attrs[name] for name in ("missing", "over", "across") if name in result.attrs}
    attrs |= {"undefined": query.undefined, "left_out": "", "along": ", ".join(map(str, result["value"].dims[1:]))}
    along = {"aggregate": [kind] * columns, "test": tests * columns}
    return comparison_dataset(_frame_of(part, result), value, arrays, least, along, attrs)


def _check_swapping(selection: TableSelection) -> None:
    if not selection.adds_up:
        raise QueryError(
            f"aggregate {selection.kind!r}: affinities of two systems have different scales, and cannot be swapped for "
            "a test; rank the systems on each tag instead (friedman with unit tag, --friedman --unit tag)"
        )


def _tests_of_rates(test: str, kind: str, metric: str, cluster: str | None) -> list[str]:
    """The test of a metric with dims, which can only be a permutation test."""
    tests = choose_tests(test, [kind], [metric], cluster)
    if tests != [DEFAULT_TEST]:
        raise QueryError(
            f"test {tests[0]!r} needs one number per track, and metric {metric!r} has dims; choose test permutation, "
            "or reduce them (over, --over)"
        )
    return tests


def _frame_of(part: xr.Dataset, result: xr.Dataset) -> xr.Dataset:
    """Systems, and a metric for each value of classes or tags: named with the class or tag that it is about."""
    dims = [str(dim) for dim in result["value"].dims[1:]]
    labels = list(product(*(result[dim].values.tolist() for dim in dims)))
    # Of deviations neither high nor low ones are better.
    deviates = [is_deviation(result.attrs, dict(zip(dims, place, strict=True))) for place in labels]
    orientation = ["none" if one else result.attrs["orientation"] for one in deviates]
    names = [", ".join([result.attrs["metric"], *label]) for label in labels]
    along = {"orientation": ("metric", np.array(orientation)), "unit": ("metric", np.array([""] * len(names)))}
    return part.drop_dims(["track", "metric"]).assign_coords({"metric": np.array(names, dtype=str), **along})


def _differences(rates: Rates, pairs: Int, how: Resampling) -> dict[str, Float]:
    """Differences of all values of some pairs with their intervals: (pairs, values) each."""
    value = rates.values()
    shape = (len(value), value.shape[1], -1)
    enough = rates.clusters >= how.least
    drawn = draw(rates, value.size, how).reshape(shape) if enough else None
    left_out = rates.left_out().T.reshape(shape) if enough else None
    columns = [
        difference_bounds(
            value[:, column],
            None if drawn is None else drawn[:, column],
            None if left_out is None else left_out[:, column].T,
            pairs,
            how,
        )
        for column in range(value.shape[1])
    ]
    return {name: np.stack([one[name] for one in columns], axis=1) for name in columns[0]}


def tells_apart(compared: xr.Dataset) -> Bool:
    """True if a comparison has enough units for a significant difference: bool (metrics,)."""
    enough: Bool = compared["least_p_corrected"].values < alpha_of(compared.attrs)
    return enough


def like_best(compared: xr.Dataset) -> Bool:
    """Find the systems that do not differ significantly from the best one, itself among them.

    Parameters
    ----------
    compared : xr.Dataset
        Of :func:`compare`.

    Returns
    -------
    bool (systems, metrics)
        False for all systems where nothing can be told apart, or no value is better than another.
    """
    value, significant, tells = compared["value"].values, compared["significant"].values, tells_apart(compared)
    marks: Bool = np.zeros(value.shape, dtype=np.bool_)
    for metric, orientation in enumerate(names_of(compared, "orientation")):
        own = value[:, metric]
        if orientation != "none" and tells[metric] and not np.isnan(own).all():
            best = int(np.nanargmin(own) if orientation == "lower" else np.nanargmax(own))
            marks[:, metric] = ~significant[best, :, metric] & ~np.isnan(own)
    return marks


def mark_best(
    ds: xr.Dataset,
    query: Query,
    result: xr.Dataset,
    *,
    level: float = 0.95,
    correction: str = "auto",
    cluster: str | None = None,
) -> xr.Dataset:
    """Mark the systems that do not differ significantly from the best one, itself among them.

    Parameters
    ----------
    ds : xr.Dataset
    query : Query
    result : xr.Dataset
        Of the query. Each class or tag has its best system.
    level, correction, cluster
        As for :func:`mirflow.analysis.inference.comparisons.compare`.

    Returns
    -------
    xr.Dataset
        The result with ``like_best``.
    """
    if set(result["n_tracks"].dims) - {RUN}:
        raise QueryError("significance is that of values over all tracks; ask without groups (by, --by)")
    names = result.attrs["metric"] if "metric" in result.attrs else names_of(result, "metric")
    systems = query.system if is_about_runs(ds, query) else names_of(result, "system")
    same = replace(query, metric=names, exact=True, system=systems, sort=None)
    found = compare(ds, same, level=level, correction=correction, cluster=cluster, sizes=False)
    tells, marks = tells_apart(found), like_best(found)
    counts = found["n"].values[np.triu_indices(len(marks), 1)]
    attrs = {"test": ", ".join(dict.fromkeys(names_of(found, "test"))), "correction": found.attrs["correction"]}
    attrs |= {"test_level": f"{level:g}", "tested_units": show_span(counts)}
    few = names_of(found, "metric", np.flatnonzero(~tells))
    if few:
        attrs[UNTESTED] = EVERY if len(few) == len(tells) else "\n".join(few)
    if RUN in result["value"].dims:
        order = [names_of(found, "system").index(name) for name in names_of(result, "system")]
        marks = np.stack([marks[order] & (name == "mean") for name in names_of(result, RUN)], axis=1)
    return add_variables(result, like_best=marks.reshape(result["value"].shape)).assign_attrs(attrs)
