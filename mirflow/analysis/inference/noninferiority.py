"""Non-inferiority: whether systems are shown to be no worse than a baseline by more than a margin.

The baseline is a system, a model with several runs, or the system of the same name in another store. The result is a
dataset of gains with their intervals and a verdict for each system, which may be that tracks are too few or lacking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import QueryError, UnknownNameError
from ...metrics.aggregates import STATISTICS
from ...ragged import Bool, Float, Int
from ..aggregation import POLICIES, aggregate_query, aggregate_selection, origin_of, reduce, select_scores
from ..dims import MODEL, group_systems, has_runs, refuse_over_systems
from ..per_class import rated_kind
from ..query_options import BEST, INVERTED, Query
from ..scores import Array, names_of
from ..selection import SelectionTotals
from .blocks import SampleBlocks, tiles
from .comparisons import compare
from .confidence_intervals import differences_of_values
from .interval_ends import Spreads, difference_errors, invert, normal_bounds, sequence_bounds, skewed_bounds
from .paired import pairs_by_units
from .permutation import PooledScores, count_extremes, critical_of_each, swap_scores
from .repeated_runs import is_about_runs
from .resampling import Resampling
from .sample import TRACK, Sample, codes_of, differences, select_numbers, settle

if TYPE_CHECKING:
    import xarray as xr

PASSED = ("not worse", "better")
VERDICTS = (*PASSED, "worse", "perhaps worse", "too few tracks", "lacks tracks")
"""The possible verdicts; those of `PASSED` are no reason to refuse a system."""
_NAMES = ("before", "after", "gain", "low", "high", "skewness", "n", "n_lacking", "verdict")


def noninferiority(ds: xr.Dataset, query: Query, baseline: str, margin: float = 0.0, **options: Any) -> xr.Dataset:
    """Test systems for noninferiority to a baseline on the tracks that the two have in common.

    A system is *not worse* where the lower end of the interval of the difference (towards better values) is at least
    ``-margin``; as the interval is two-sided, its lower end at 95 % is a one-sided bound at 97.5 %. The interval holds
    the differences that a permutation test of the two systems does not exclude, as in a comparison of the two. An
    exchange of equal systems says little of one that is worse by the margin where its differences are skewed, so that
    of means and weighted ratios the interval also holds what :func:`.interval_ends.skewed_bounds` does not exclude; of
    20,000 tracks or more it is a normal one.

    `query`: metrics, tracks and policies; its systems are those to be judged, by default all others. `baseline`: a
    system; or the label of one of several stores, whose systems are the baselines of those with the same names; or, of
    a query across runs, a model. `margin`: how much worse a system may be, in the unit of the metric. `**options`:
    ``level``, ``replicates``, ``cluster``, ``rng``, ``unit``, ``anytime``: see
    :func:`mirflow.analysis.inference.comparisons.compare`. Returns a result over (system, metric): ``before`` and
    ``after``, the values of baseline and system on their common tracks; ``gain`` (the difference towards better
    values), ``low`` and ``high``, ``skewness`` (of the tracks' gains; NaN where the interval does not follow it), ``n``
    (common tracks), ``n_lacking`` (tracks that only the baseline has a score of) and ``verdict``: ``better`` (the whole
    interval is above 0), ``not worse``, ``worse`` (below 0), ``perhaps worse``, ``too few tracks`` for an interval, or
    ``lacks tracks``, unless the policy for missing scores is ``zero``. Over (system): ``baseline``.

    References
    ----------
    G. Piaggio et al., "Reporting of noninferiority and equivalence randomized trials", JAMA 308(24), 2012.
    """
    import xarray as xr

    if not margin >= 0:
        raise QueryError(f"the margin is how much worse a system may be, and not negative: {margin:g}")
    if is_about_runs(ds, query):
        every = _runs(ds, replace(query, system=None))
        if baseline not in every:
            raise UnknownNameError("baseline", baseline, every)
        members = {**_runs(ds, query), baseline: every[baseline]}
        pairs: Mapping[str, str] = {name: baseline for name in members if name != baseline}
        if not pairs:
            raise QueryError(f"no model to compare with the baseline {baseline!r}")
    else:
        pairs = baselines_of(ds, query, baseline)
        if options.get("unit", TRACK) == TRACK and rated_kind(ds, query) is None:
            return _judge_in_blocks(ds, query, pairs, margin, options)
        members = {name: [name] for name in (*pairs, *pairs.values())}
    verdicts = []
    for system, other in pairs.items():  # of a model, its runs
        own = members[system]
        asked = replace(query, system=[*own, *members[other]], sort=None)
        compared = compare(ds, asked, **options)
        _check_orientations(names_of(compared, "metric"), names_of(compared, "orientation"))
        lower = compared["orientation"].values == "lower"
        difference, low, high = (compared[name].values[0, 1] for name in ("difference", "low", "high"))
        included = select_numbers(ds, replace(asked, missing="skip", across=None))["_included"].values
        lacking = (included[len(own) :].any(axis=0) & ~included[: len(own)].all(axis=0)).sum(axis=0)
        ties, n = (compared[name].values[0, 1] for name in ("ties", "n"))
        columns = _verdicts(difference, low, high, lacking, ties == n, lower, margin, query.missing)
        columns |= {"n": n, "n_lacking": lacking, "skewness": np.full(len(difference), np.nan)}
        columns |= dict(zip(("after", "before"), compared["value"].values, strict=True))
        frame = compared.drop_vars(list(compared.data_vars))
        verdicts.append(frame.assign({name: ("metric", values) for name, values in columns.items()}))
    first = verdicts[0]
    coords: dict[str, Any] = {"system": list(pairs), "baseline": ("system", list(pairs.values()))}
    about = ("metric", "aggregate", "unit", "orientation", "title")
    coords |= {name: first[name].variable for name in about if name in first.coords}
    variables = {name: (("system", "metric"), np.stack([each[name].values for each in verdicts])) for name in _NAMES}
    attrs = {name: value for name, value in first.attrs.items() if name != "test"}
    attrs |= {"correction": "none"} if first.attrs["method"] == INVERTED else {}
    return xr.Dataset(variables, coords, {**attrs, "margin": margin})


def baselines_of(ds: xr.Dataset, query: Query, baseline: str) -> Mapping[str, str]:
    """The baseline of each system of a query: the system of that name, or of the store with that label."""
    refuse_over_systems(query, "baseline")
    every = names_of(ds, "system")
    ranked = query.sort == BEST
    asked = names_of(aggregate_query(ds, query), "system") if ranked else select_scores(ds, query).names("system")
    if baseline in every:
        pairs = {name: baseline for name in asked if name != baseline}
    elif has_runs(ds) and baseline in group_systems(ds, MODEL)[0]:
        raise QueryError(f"{baseline!r} is a model with several runs: compare models by them (across run=mean)")
    else:
        names = {name.removeprefix(f"{baseline}/"): name for name in every if name.startswith(f"{baseline}/")}
        if not names:
            raise UnknownNameError("baseline", baseline, every)
        others = [name for name in asked if name not in names.values()]
        pairs = {name: names[name.partition("/")[2]] for name in others if name.partition("/")[2] in names}
    if not pairs:
        raise QueryError(f"no system to compare with the baseline {baseline!r}")
    return pairs


def _runs(ds: xr.Dataset, query: Query) -> dict[str, list[str]]:
    """The runs of each model that is asked for."""
    systems = select_numbers(ds, replace(query, across=None))
    models, codes = group_systems(systems, MODEL)
    names = names_of(systems, "system")
    return {model: [names[row] for row in np.flatnonzero(codes == index)] for index, model in enumerate(models)}


def _verdicts(
    difference: Float,
    low: Float,
    high: Float,
    lacking: Int,
    equal: Bool,
    lower: Bool,
    margin: float,
    missing: str | None,
) -> dict[str, Array]:
    """Gains of systems over their baselines with intervals and verdicts: arrays (..., metrics).

    `difference`, `low`, `high` (float64 (..., metrics)), `lacking` (int64 (..., metrics)): tracks that only the
    baseline has a score of. `equal` (bool (..., metrics)): whether a system and its baseline are equal on every track.
    `lower` (bool (metrics,)): whether low values are better.
    """
    gain, low, high = (np.where(lower, -a, b) for a, b in ((difference, difference), (high, low), (low, high)))
    verdict = np.full(gain.shape, "perhaps worse", dtype=f"U{max(map(len, VERDICTS))}")
    verdict[high < 0] = "worse"
    verdict[low >= -margin] = "not worse"
    verdict[low > 0] = "better"
    verdict[np.isnan(low) | np.isnan(high)] = "too few tracks"
    verdict[(gain == 0) & equal] = "not worse"
    if missing != "zero":
        verdict[lacking > 0] = "lacks tracks"
    return {"gain": gain, "low": low, "high": high, "verdict": verdict}


def _judge_in_blocks(
    ds: xr.Dataset, query: Query, names: Mapping[str, str], margin: float, options: Mapping[str, Any]
) -> xr.Dataset:
    """Compare systems with their baselines, a block of systems at a time, each pair on the tracks that both have.

    Pairs that have the same tracks share their replicates, and those that have as many share the draws.
    """
    import xarray as xr

    drawn = ("level", "replicates", "rng", "anytime")
    how = Resampling.of(**{name: options[name] for name in drawn if name in options})
    systems = list(dict.fromkeys([*names, *names.values()]))
    # The tracks that two systems have in common are found pair by pair.
    policy = "skip" if query.missing in (None, "common") else query.missing
    selection = select_scores(ds, replace(query, system=systems, missing=policy, sort=None), single=True)
    _check_orientations(selection.names("metric"), selection.names("orientation"))
    how.check_normal(selection.aggregates, selection.names("metric"))
    cluster, totals = options.get("cluster"), SelectionTotals(selection)
    frame = selection.frame({})
    nothing = np.zeros(len(selection.metrics), dtype=np.bool_)
    blocks = SampleBlocks(selection, frame, range(len(systems)), None, nothing, TRACK, codes_of(frame, TRACK, cluster))
    if policy == "raise":  # before anything is computed
        aggregate_selection(selection, np.zeros(len(selection.duration), dtype=np.int64))
    pairs = np.array([[systems.index(name), systems.index(base)] for name, base in names.items()], dtype=np.int64)
    shape = (len(pairs), len(selection.metrics))
    floats = ("difference", "low", "high", "skewness", "before", "after")
    arrays: dict[str, Array] = {name: np.full(shape, np.nan) for name in floats}
    arrays |= {name: np.zeros(shape, dtype=np.int64) for name in ("n", "n_lacking")}
    arrays["equal"] = np.zeros(shape, dtype=np.bool_)
    parts = list(tiles(pairs, blocks.most(shape[1])))
    how = replace(how, kept={})
    for chosen, rows in parts:
        cells = blocks.cells(chosen)
        totals.add(cells, np.array([blocks.order[system] for system in chosen.tolist()]))
        sample, local = blocks.sample(cells), np.searchsorted(chosen, pairs[rows])
        scored = cells["_included"] & ~cells["_missing"]
        arrays["n_lacking"][rows] = [(scored[base] & ~scored[own]).sum(axis=0) for own, base in local.tolist()]
        for metric in range(shape[1]):
            patterns = sorted(pairs_by_units(sample.included[..., metric], local), key=lambda one: len(one[1]))
            for some, units in patterns:
                _fill(arrays, sample, metric, local[some], rows[some], units, how)
    policies = totals.check()
    lower = np.array([way == "lower" for way in selection.names("orientation")])
    difference, low, high = (arrays[name] for name in ("difference", "low", "high"))
    columns = _verdicts(difference, low, high, arrays["n_lacking"], arrays["equal"], lower, margin, query.missing)
    columns |= {name: arrays[name] for name in ("n", "n_lacking", "before", "after")}
    columns["skewness"] = np.where(lower, -1, 1) * arrays["skewness"]
    if cluster is None and blocks.repeats:
        cluster = TRACK
    first, base = next(iter(names.items()))
    missing = select_scores(ds, replace(query, system=[first, base], sort=None), single=True).missing
    attrs = how.attrs() if how.anytime is not None else {**how.attrs(), "method": INVERTED, "correction": "none"}
    attrs["unit_of_comparison"] = TRACK
    attrs |= {"cluster": cluster or "", **origin_of(frame, options.get("group", ""))}
    policies = {**frame.attrs, **policies, "missing": missing}
    attrs |= {name: policies[name] for name in POLICIES if name in policies}
    coords: dict[str, Any] = {"system": list(names), "baseline": ("system", list(names.values()))}
    coords |= {"metric": frame["metric"].variable, "aggregate": frame["_aggregate"].variable}
    coords |= {name: frame[name].variable for name in ("unit", "orientation", "title") if name in frame.coords}
    return xr.Dataset(
        {name: (("system", "metric"), columns[name]) for name in _NAMES}, coords, {**attrs, "margin": margin}
    )


def _fill(
    found: Mapping[str, Array], sample: Sample, metric: int, pairs: Int, rows: Int, units: Int, how: Resampling
) -> None:
    """Write the differences of pairs of systems that have the same units into their rows."""
    systems = np.unique(pairs)
    part, local = sample.take(units, systems), np.searchsorted(systems, pairs)
    bounds = difference_bounds(part, metric, local, how)
    for name, values in zip(("difference", "low", "high", "skewness"), bounds, strict=True):
        found[name][rows, metric] = values
    found["n"][rows, metric] = len(units)
    score, weight = (array[..., [metric]] for array in (part.score, part.weight))
    value = reduce(score, weight, part.duration, part.kinds[metric], part.included[..., [metric]])[:, 0]
    found["after"][rows, metric], found["before"][rows, metric] = value[local].T
    for row in rows[found["difference"][rows, metric] == 0].tolist():
        one, other = part.score[local[rows == row][0], :, metric]
        found["equal"][row, metric] = not settle(differences(one, other)).any()


def difference_bounds(sample: Sample, metric: int, pairs: Int, how: Resampling) -> tuple[Float, ...]:
    """Differences of the values of pairs of systems, each pair alone, with intervals and the skewness of the units.

    The result is four float64 (pairs,); the skewness is NaN where the interval does not follow it.
    """
    difference, kind = differences_of_values(sample, metric, pairs), sample.kinds[metric]
    unknown = np.full(len(pairs), np.nan)
    if sample.clusters < how.least:
        return difference, unknown, unknown, unknown
    if how.anytime is not None:
        errors = difference_errors(sample, metric, pairs)
        return difference, *sequence_bounds(difference, errors, sample.clusters, how.anytime, how.level), unknown
    if how.is_normal(kind, sample.clusters):
        return difference, *normal_bounds(difference, difference_errors(sample, metric, pairs), how.level), unknown
    swaps = swap_scores(sample, metric, pairs)
    spread = count_extremes(swaps, how)[1]
    critical = (critical_of_each(swaps, how, how.alpha) / spread)[:, 0]
    if kind in STATISTICS:
        return difference, *PooledScores(sample, metric, pairs).bounds(difference, critical), unknown
    low, high = invert(difference, spread[:, 0], critical, Spreads.of(sample, metric, pairs))
    lowest, highest, skewness = skewed_bounds(sample, metric, pairs, difference, how.alpha)
    return difference, np.minimum(low, lowest), np.maximum(high, highest), skewness


def _check_orientations(metrics: Sequence[str], orientations: Sequence[str]) -> None:
    """Raise a QueryError for a metric by which no system is better than another."""
    if "none" in orientations:
        metric = metrics[orientations.index("none")]
        raise QueryError(f"neither high nor low values of {metric!r} are better, and no system is worse by it")
