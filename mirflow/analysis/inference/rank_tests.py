"""Ranks of systems: those that a test does not exclude, the chances of being first, and Friedman's test of mean ranks.

Chances are shares of bootstrap replicates. Friedman's test has Tukey-Kramer comparisons, as MIREX publishes them; two
systems are compared by the exact sign test.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import QueryError
from ...kernels.ratios import divide
from ...ragged import Bool, Float
from ..aggregation import POLICIES, origin_of
from ..per_class import rated_kind, rated_variable
from ..query_options import AUTO, DEFAULT_LEVEL, Query, alpha_of
from ..scores import Array, coords_of, names_of
from .blocks import SampleBlocks, replicates_of
from .comparisons import comparable, compare_blocks, compared_blocks
from .paired import letters, significance_groups
from .resampling import Resampling, Seed, check_level
from .sample import DIMS, TRACK, by_unit, dataset_of, sample_of, settle, signs_of, values_of_units

if TYPE_CHECKING:
    import xarray as xr

_LONG_NAMES = {
    "statistic": "Friedman's chi-square, corrected for ties",
    "dof": "degrees of freedom",
    "p": "p-value of Friedman's test",
    "n": "number of units that every system has",
    "f_statistic": "Iman and Davenport's F",
    "f_p": "p-value of Iman and Davenport's F",
    "concordance": "Kendall's coefficient of concordance",
    "critical_difference": "difference of mean ranks from which on two systems differ",
    "mean_rank": "mean rank over the units, 1 being the best",
    "low": "mean rank minus half of the critical difference",
    "high": "mean rank plus half of the critical difference",
    "letters": "systems that share a letter are not told apart by the test",
    "rank_difference": "mean rank of system minus mean rank of other",
    "rank_low": "lower end of the simultaneous confidence interval of the difference of mean ranks",
    "rank_high": "upper end of the simultaneous confidence interval of the difference of mean ranks",
    "p_pair": "p-value of Tukey and Kramer's comparison of mean ranks",
    "significant": "whether the p-value of the pair is below 1 - level",
}


_OWN = ("metric", "aggregate", "orientation", "nominal")
"""Attributes that are coordinates here."""


@dataclass(frozen=True)
class Ranks:
    """Friedman's test and Tukey-Kramer comparisons on plain arrays, for several metrics.

    `statistic`, `p`, `f_statistic`, `f_p`, `concordance`, `critical_difference` (float64 (metrics,)), `dof`, `n` (int64
    (metrics,)), `mean_rank` (float64 (systems, metrics)): 1 is the best. `p_pair` (float64 (systems, systems,
    metrics)): NaN on the diagonal.
    """

    statistic: Float
    dof: Array
    p: Float
    n: Array
    f_statistic: Float
    f_p: Float
    concordance: Float
    critical_difference: Float
    mean_rank: Float
    p_pair: Float


def friedman(
    ds: xr.Dataset, query: Query | None = None, *, unit: str = TRACK, level: float = DEFAULT_LEVEL, group: str = ""
) -> xr.Dataset:
    """Rank the systems on each unit, test whether the ranks differ at all, and which systems' mean ranks do.

    Parameters
    ----------
    ds : xr.Dataset
    query : Query or None
        As for :func:`mirflow.analysis.queries.aggregate`, without groups of tracks. Ranks need every system on a unit,
        so `missing` is ``common`` (the default), ``zero`` or ``raise``.
    unit : str
        ``track``, or a coordinate along the tracks (fold, class, query, ...) within whose values the scores are
        aggregated before they are ranked; so are the scores of several annotators of a track. Of a metric with extra
        dims it may be one of these, or ``class``, ``tag``: values over all tracks are ranked on each of its labels;
        values of classes and tags are also ranked on the values of a coordinate, each over its tracks.
    level : float
        1 minus the chance of any false difference.
    group : str
        A name of the evaluation to carry along.

    Returns
    -------
    xr.Dataset
        ``statistic``, ``dof``, ``p``, ``n``, ``f_statistic``, ``f_p``, ``concordance`` and ``critical_difference`` over
        (metric); ``mean_rank``, ``low``, ``high`` and ``letters`` over (system, metric); ``rank_difference``,
        ``p_pair``, ``rank_low``, ``rank_high`` and ``significant`` over (system, other, metric). Without ties
        the comparisons are Nemenyi's; with ties the variance of the ranks is that of the ranks at hand, as in
        MATLAB's ``multcompare``, which MIREX used.

    Raises
    ------
    QueryError
        For fewer than two systems, the policy ``skip``, a metric of which neither high nor low values are better, and
        as a plain query.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    query = query or Query()
    check_level(level)
    if query.missing == "skip":
        raise QueryError("ranks need every system on a unit; choose missing common or zero (--missing)")
    query = replace(query, missing=query.missing or "common")
    variable = rated_variable(ds, query)
    inner = unit not in coords_of(ds, "track")
    # Else scores of tracks are ranked, or what is computed from them.
    if variable is not None and unit != TRACK and (inner or rated_kind(ds, query) is not None):
        frame, score = values_of_units(ds, variable, query, unit, group)
        attrs = {name: value for name, value in frame.attrs.items() if name not in _OWN}
        attrs |= {"undefined": query.undefined, "left_out": ""}
        kinds, orientation = [frame.attrs["aggregate"]], frame.attrs["orientation"]
        along = {"orientation": [orientation], "unit": [frame["value"].attrs["units"]]}
        frame = frame.assign_coords(metric=[frame.attrs["metric"]])
        frame = frame.assign_coords({name: ("metric", np.array(own)) for name, own in along.items()})
        scores, complete = score[..., np.newaxis], np.asarray(~np.isnan(score).any(axis=0))[:, np.newaxis]
    else:
        frame = comparable(ds, query)
        sample = sample_of(frame, unit)
        if sample.repeats:
            sample = by_unit(frame, sample)
        kinds, scores, complete = names_of(frame, "_aggregate"), sample.score, np.asarray(sample.included.all(axis=0))
        attrs = {**origin_of(frame, group), **{name: frame.attrs[name] for name in POLICIES if name in frame.attrs}}
    signs = signs_of(names_of(frame, "metric"), names_of(frame, "orientation"))
    attrs |= {"level": f"{level:.15g}", "unit_of_comparison": unit}
    ranks = rank_systems(-signs * scores, complete, level)
    mean = ranks.mean_rank
    difference = np.asarray(mean[:, np.newaxis] - mean[np.newaxis])
    significant = np.asarray(ranks.p_pair < alpha_of(attrs))
    half, systems = ranks.critical_difference / 2, len(mean)
    columns = []
    for metric in range(mean.shape[1]):
        # None where mean ranks that are as far apart as they can be would not differ.
        tells = ranks.n[metric] and ranks.critical_difference[metric] <= systems - 1
        order = np.argsort(mean[:, metric], kind="stable").tolist() if tells else []
        columns.append(letters(significance_groups(significant[..., metric], order), systems))
    alone = ("statistic", "dof", "p", "n", "f_statistic", "f_p", "concordance", "critical_difference")
    arrays: dict[str, Array] = {name: getattr(ranks, name) for name in alone}
    lettered = np.array(columns, dtype=str).reshape(mean.shape[::-1]).T
    arrays |= {"mean_rank": mean, "low": mean - half, "high": mean + half, "letters": lettered}
    arrays |= {"rank_difference": difference, "p_pair": ranks.p_pair}
    arrays |= {"rank_low": difference - 2 * half, "rank_high": difference + 2 * half, "significant": significant}
    return dataset_of(arrays, frame, {"aggregate": kinds}, _LONG_NAMES, attrs)


def rank_systems(score: Float, complete: Bool, level: float = DEFAULT_LEVEL) -> Ranks:
    """Friedman's test and Tukey-Kramer comparisons.

    `score` (float64 (systems, units, metrics)): the lowest is the best. `complete` (bool (units, metrics)): the units
    that count. Where all systems are equal on all units, the statistic is 0 and every p-value 1;
    without a unit they are NaN. Two systems are compared by the exact sign test, on the units where they differ.

    References
    ----------
    Friedman 1937 and 1940; Nemenyi 1963; Iman and Davenport 1980; Demsar 2006; Downie et al. 2010.
    """
    from scipy.stats import binom, chi2, f, rankdata, studentized_range

    systems, _, metrics = score.shape
    middle, dof = (systems + 1) / 2, systems - 1
    mean_rank, spread = np.full((systems, metrics), np.nan), np.full(metrics, np.nan)
    n = complete.sum(axis=0)
    exact = {}
    for metric in np.flatnonzero(n).tolist():
        rank = rankdata(settle(score[:, complete[:, metric], metric]), axis=0)
        if systems == 2:
            untied = int((rank[0] != rank[1]).sum())
            wins = np.arange((untied + 1) // 2, untied + 2)
            chance = np.minimum(1.0, 2 * binom.sf(wins - 1, untied, 0.5))
            least = wins[np.argmax(chance < round(1 - level, 12))]
            # A win moves the difference of mean ranks by two, so that the critical one lies between two possible ones.
            exact[metric] = (
                chance[(untied + abs(int((rank[0] - rank[1]).sum()))) // 2 - wins[0]],
                2 * least - untied - 1,
            )
        mean_rank[:, metric] = rank.mean(axis=1)
        spread[metric] = ((rank - middle) ** 2).sum() / (n[metric] * dof)
    between = n * ((mean_rank - middle) ** 2).sum(axis=0)
    statistic = divide(between, spread, np.where(n > 0, 0.0, np.nan))
    with np.errstate(divide="ignore", invalid="ignore"):
        concordance = statistic / (n * dof)
        f_statistic = (n - 1) * statistic / np.maximum(n * dof - statistic, 0.0)
        error = np.sqrt(spread / n)
    f_p = np.where(n > 1, f.sf(f_statistic, dof, np.maximum(dof * (n - 1), 1)), np.nan)
    distance = np.abs(mean_rank[:, np.newaxis] - mean_rank[np.newaxis])
    ratio = divide(distance, error, np.where(np.isnan(distance), np.nan, 0.0))
    upper = np.triu_indices(systems, 1)
    p_pair = np.full(distance.shape, np.nan)
    p_pair[upper] = p_pair[upper[1], upper[0]] = studentized_range.sf(ratio[upper], systems, np.inf)
    critical = studentized_range.ppf(level, systems, np.inf) * error
    dofs = np.full(metrics, dof, dtype=np.int64)
    p = chi2.sf(statistic, dof)
    for metric, (chance, distance) in exact.items():
        p[metric] = p_pair[0, 1, metric] = p_pair[1, 0, metric] = chance
        critical[metric] = distance / n[metric]
    return Ranks(statistic, dofs, p, n, f_statistic, f_p, concordance, critical, mean_rank, p_pair)


_RANK_NAMES = {
    "rank": "rank by the value",
    "rank_low": "the best rank that the test does not exclude",
    "rank_high": "the worst rank that the test does not exclude",
    "first": "share of replicates in which the system is the best",
    "better": "share of replicates in which the system is better than the other",
}


def ranks(
    ds: xr.Dataset,
    query: Query | None = None,
    *,
    level: float = DEFAULT_LEVEL,
    correction: str = "auto",
    replicates: int = 10_000,
    unit: str = TRACK,
    cluster: str | None = None,
    rng: Seed = 0,
    group: str = "",
) -> xr.Dataset:
    """Rank systems by their aggregates, and say how sure the ranks are.

    Parameters
    ----------
    ds : xr.Dataset
    query : Query or None
        As for :func:`mirflow.analysis.inference.comparisons.compare`.
    level : float
        With this probability all intervals hold the true ranks of their systems together, if the correction bounds the
        chance of any false difference (``max-t``, ``holm``).
    correction, replicates, unit, cluster, rng, group
        As for :func:`mirflow.analysis.inference.comparisons.compare`, whose permutation test decides.

    Returns
    -------
    xr.Dataset
        Over (system, metric): ``value``; ``rank``, 1 for the best, the same for equal values; ``rank_low`` and
        ``rank_high``, from one more than the number of systems that are significantly better, to the number of systems
        without those that are significantly worse; ``first``, the share of bootstrap replicates in which the system is
        the best. Over (system, other, metric): ``better``, the share of replicates in which the system is better than
        the other. Ties count in equal parts. NaN without a value. All systems are drawn on the units that all of them
        have. As of ``compare``: ``n`` over (system, other, metric), ``least_p_corrected`` over (metric).

    Raises
    ------
    QueryError
        For a metric of which neither high nor low values are better, or with extra dims, and as for ``compare``.
    UnknownNameError
        For a name that is not there, with a suggestion.

    References
    ----------
    Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks with applications to mobility across neighbourhoods and
    academic achievement across countries", Review of Economic Studies 91(1), 2024, section 3: ranks by simultaneous
    tests of all differences. Quantiles of bootstrapped ranks are too narrow where systems are alike (section 4; Hall
    and Miller, "Using the bootstrap to quantify the authority of an empirical ranking", Annals of Statistics 37(6B),
    2009). Chances of ranks: Goldstein and Spiegelhalter, "League tables and their limitations", JRSS A 159(3), 1996.
    """
    query = query or Query()
    if query.across or rated_kind(ds, query) is not None:
        raise QueryError("only metrics with one number per track rank systems; leave out across, or reduce dims (over)")
    how = Resampling.of(level, AUTO, replicates, rng)
    blocks, value = compared_blocks(ds, query, unit, cluster)
    signs = signs_of(names_of(blocks.frame, "metric"), names_of(blocks.frame, "orientation"))
    compared = compare_blocks(blocks, value, how, "auto", correction, cluster, group, sizes=False, all_pairs=True)
    value = signs * value
    low, high = rank_bounds(compared)
    first, better = np.full_like(value, np.nan), np.full((len(value), *value.shape), np.nan)
    for metric, sign in enumerate(signs.tolist()):
        first[:, metric], better[..., metric] = _shares(blocks, metric, sign, how, pairs=True)
    # The largest value is the best.
    above = (value[np.newaxis] > value[:, np.newaxis]).sum(axis=1)
    rank = np.asarray(np.where(np.isnan(value), np.nan, 1.0 + above))
    columns = {"rank": rank, "rank_low": low, "rank_high": high, "first": first, "better": better}
    result = compared[["value", "n", "least_p_corrected"]]
    return result.assign(
        {name: (DIMS[values.ndim], values, {"long_name": _RANK_NAMES[name]}) for name, values in columns.items()}
    )


def rank_bounds(compared: xr.Dataset) -> tuple[Float, Float]:
    """The best and the worst rank of each system that a comparison does not exclude.

    `compared`: of :func:`mirflow.analysis.inference.comparisons.compare`. Pairs that were not compared exclude no
    ranks. Returns `low`, `high` (float64 (systems, metrics)): NaN without a value, and where neither high nor low
    values are better.
    """
    value, significant = compared["value"].values, compared["significant"].values
    turn = {"higher": 1.0, "lower": -1.0}
    gain = np.array([turn.get(way, np.nan) for way in names_of(compared, "orientation")]) * value
    defined = ~np.isnan(gain)
    above = significant & (gain[np.newaxis] > gain[:, np.newaxis])
    below = significant & (gain[np.newaxis] < gain[:, np.newaxis])
    low, high = 1.0 + above.sum(axis=1), defined.sum(axis=0) - below.sum(axis=1).astype(np.float64)
    return np.where(defined, low, np.nan), np.where(defined, high, np.nan)


def first_shares(blocks: SampleBlocks, how: Resampling) -> Float:
    """The shares of replicates in which systems are the best: float64 (systems, metrics); see :func:`ranks`."""
    signs = signs_of(names_of(blocks.frame, "metric"), names_of(blocks.frame, "orientation"))
    columns = [_shares(blocks, metric, sign, how, pairs=False)[0] for metric, sign in enumerate(signs.tolist())]
    return np.stack(columns, axis=1)


def _shares(blocks: SampleBlocks, metric: int, sign: float, how: Resampling, *, pairs: bool) -> tuple[Float, Float]:
    """The shares of replicates in which systems are first (systems,), and, if asked for, better than each other."""
    size = len(blocks.order)
    first, better = np.full(size, np.nan), np.full((size, size), np.nan)
    systems, drawn, *_ = replicates_of(blocks, metric, how)
    if not drawn.size:
        return first, better
    # Of ratios of sums the last bits differ where systems are equal.
    drawn = np.where(np.isnan(drawn), -np.inf, np.round(sign * drawn, 12))
    best = drawn == drawn.max(axis=0)
    first[systems] = (best / best.sum(axis=0)).mean(axis=1)
    for index, system in enumerate(systems.tolist() if pairs else ()):
        above, equal = drawn[index] > drawn, drawn[index] == drawn
        better[system, systems] = (above + equal / 2).mean(axis=1)
        better[system, system] = np.nan
    return first, better
