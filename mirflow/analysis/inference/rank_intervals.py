"""Ranks of systems: the ones that a test does not exclude, and the chances of being first and of being better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import QueryError
from ...ragged import Float
from ..per_class import rated_kind
from ..policies import AUTO
from ..query_options import Query
from ..scores import names_of
from .blocks import SampleBlocks, replicates_of
from .comparisons import compare_blocks, compared_blocks
from .resampling import Resampling, Seed
from .sample import TRACK, signs_of

if TYPE_CHECKING:
    import xarray as xr

_LONG_NAMES = {
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
    level: float = 0.95,
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
    columns = {"rank": _rank(value), "rank_low": low, "rank_high": high, "first": first, "better": better}
    result = compared[["value", "n", "least_p_corrected"]]
    dims = "system", "other", "metric"
    described = {
        name: (dims if values.ndim == 3 else dims[::2], values, {"long_name": _LONG_NAMES[name]})
        for name, values in columns.items()
    }
    return result.assign(described)


def _rank(value: Float) -> Float:
    """Ranks of values (systems, metrics), of which the largest is the best."""
    above = (value[np.newaxis] > value[:, np.newaxis]).sum(axis=1)
    return np.asarray(np.where(np.isnan(value), np.nan, 1.0 + above))


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
