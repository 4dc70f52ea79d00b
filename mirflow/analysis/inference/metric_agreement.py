"""Do metrics, or annotators, agree on which systems are better, and systems on which tracks are hard?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import QueryError, UnknownNameError
from ...kernels.ratios import divide
from ...metrics.aggregates import RATIOS
from ...ragged import Float, Int
from ..aggregation import aggregate_scores
from ..query_options import Query
from ..scores import ANNOTATOR, Array, names_of
from ..selected import counted_scores
from .resampling import Resampling, Seed, bounds, chunks, draw, statistics_of
from .sample import TRACK, dataset_of, differences, sample_of, select_numbers, settle, signs_of

if TYPE_CHECKING:
    import xarray as xr

BETWEEN = {"metric": "systems", "annotator": "systems", "system": "tracks"}
"""Whose rankings are compared, and what they rank."""
_LONG_NAMES = {
    "tau": "Kendall's tau-b of the rankings of the {}",
    "p": "p-value of no association",
    "n": "number of {} that both have a value for",
    "r": "Pearson's correlation of the scores of the {}",
    "low": "lower end of the interval of tau over the tracks",
    "high": "upper end of the interval of tau over the tracks",
}


def agreement(
    ds: xr.Dataset,
    query: Query | None = None,
    *,
    between: str = "metric",
    level: float | None = None,
    replicates: int = 10_000,
    cluster: str | None = None,
    rng: Seed = 0,
    group: str = "",
) -> xr.Dataset:
    """Kendall's tau-b between the rankings of the systems by every two metrics, or by every two annotators.

    Between systems it is that of the tracks' scores: whether two systems find the same tracks hard.

    Parameters
    ----------
    ds : xr.Dataset
    query : Query or None
        As for :func:`mirflow.analysis.queries.aggregate`, without groups of tracks. A metric of which lower values are
        better ranks the other way round. Between annotators and systems it is about one metric.
    between : {"metric", "annotator", "system"}
        ``annotator`` is for evaluations that keep the scores of each.
    level : float or None
        Between metrics: of intervals of tau, the quantiles of what bootstrap replicates of the tracks give; None: no
        intervals.
    replicates, cluster, rng
        As for :func:`mirflow.analysis.inference.confidence_intervals.intervals`.
    group : str
        A name of the evaluation to carry along.

    Returns
    -------
    xr.Dataset
        ``tau`` (1: the same order; -1: the reverse one; NaN where one gives all of them the same value), ``p`` and
        ``n`` over (metric, other), or over (annotator, other) or (system, other). Between systems also ``r``, Pearson's
        correlation of the scores of the tracks, and with a level between metrics ``low`` and ``high``, NaN for too few
        tracks.

    Raises
    ------
    QueryError
        For fewer than two systems, a metric of which neither high nor low values are better, several metrics where one
        is needed, an evaluation without annotators, and as a plain query.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    import xarray as xr

    query = query or Query()
    if query.by:
        raise QueryError("metrics are compared over all tracks of a question; name those of one group as tracks")
    if between not in BETWEEN:
        raise UnknownNameError("between", between, BETWEEN)
    if level is not None and between != "metric":
        raise QueryError(f"agreement between {between}s has no intervals; leave out level")
    by = ANNOTATOR if between == ANNOTATOR else None
    part = select_numbers(ds, replace(query, by=by), single=between != "metric")
    if between != "metric" and part.sizes["metric"] != 1:
        known = ", ".join(names_of(part, "metric"))
        raise QueryError(f"agreement between {between}s is that of one metric; name one of: {known}")
    result = aggregate_scores(part, by, group)
    if result.sizes["system"] < 2:
        raise QueryError(f"{result.sizes['system']} system to rank; at least two are needed")
    signs, names = signs_of(names_of(result, "metric"), names_of(result, "orientation")), names_of(result, between)
    value = result["value"].values
    if between == "system":
        value = counted_scores(part)[..., 0].T
    elif between == ANNOTATOR:
        value = value[:, 0]
    arrays: dict[str, Array] = dict(zip(("tau", "p", "n"), rank_correlations(settle(value * signs)), strict=True))
    if between == "system":
        arrays["r"] = correlations_of(value)
    attrs = {}
    if level is not None:
        how = Resampling.of(level, "percentile", replicates, rng)
        arrays["low"], arrays["high"] = _tau_intervals(part, signs, arrays["tau"], how, cluster)
        attrs = {**how.attrs(), "cluster": cluster or ""}
    long_names = {name: text.format(BETWEEN[between]) for name, text in _LONG_NAMES.items()}
    variables = {name: ((between, "other"), array) for name, array in arrays.items()}
    kinds = names_of(result, "aggregate")
    if between == "metric":
        return dataset_of(variables, part, {"aggregate": kinds}, long_names, {**result.attrs, **attrs})
    described = {name: (dims, array, {"long_name": long_names[name]}) for name, (dims, array) in variables.items()}
    about = {**result.attrs, "metric": names_of(result, "metric")[0], "aggregate": kinds[0]}
    return xr.Dataset(described, {between: names, "other": names}, about)


def _tau_intervals(
    part: xr.Dataset, signs: Float, tau: Float, how: Resampling, cluster: str | None
) -> tuple[Float, Float]:
    """Intervals of tau between every two metrics, which are drawn on the same tracks: float64 (metrics, metrics) twice.

    Medians and other statistics that are no ratios of sums are drawn on the tracks that count by every metric.
    """
    count = len(signs)
    low, high = np.full((count, count), np.nan), np.full((count, count), np.nan)
    sample = sample_of(part, TRACK, cluster)
    systems = range(len(sample.score))
    counting = np.any if all(kind in RATIOS for kind in sample.kinds) else np.all
    sample = sample.take(np.flatnonzero(counting(sample.included, axis=(0, 2))))
    if sample.clusters < how.least:
        return low, high
    drawn = [draw(statistics_of(sample, [(row, at) for row in systems]), len(systems), how) for at in range(count)]
    first, second = np.triu_indices(len(systems), 1)
    taus = np.empty((count * (count - 1) // 2, how.replicates))
    pairs = np.triu_indices(count, 1)
    for some in chunks(how.replicates, len(first) * count):
        ordered = [np.sign(_gaps(sign * own[:, some], first, second)) for sign, own in zip(signs, drawn, strict=True)]
        for row, (one, other) in enumerate(zip(*pairs, strict=True)):
            both = (ordered[one] * ordered[other]).sum(axis=0)
            apart = np.sqrt((ordered[one] ** 2).sum(axis=0) * (ordered[other] ** 2).sum(axis=0))
            taus[row, some] = divide(both, apart, np.nan, where=apart > 0)
    low[pairs], high[pairs] = bounds(taus, tau[pairs], np.zeros(len(taus)), how)
    low.T[pairs], high.T[pairs] = low[pairs], high[pairs]
    return low, high


def _gaps(value: Float, first: Int, second: Int) -> Float:
    """Differences of pairs of systems (pairs, replicates); 0 where one has no value."""
    return settle(np.nan_to_num(differences(value[first], value[second]), nan=0.0))


def correlations_of(value: Float) -> Float:
    """Pearson's correlation of every two columns of scores on the rows that both have, NaN where one is constant.

    Examples
    --------
    >>> correlations_of(np.array([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]])).round(12).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    count = value.shape[1]
    found = np.full((count, count), np.nan)
    for one, other in zip(*np.triu_indices(count), strict=True):
        both = value[np.isfinite(value[:, one]) & np.isfinite(value[:, other])][:, [one, other]]
        if len(both) > 1 and (np.ptp(settle(both), axis=0) > 0).all():
            matrix: Float = np.asarray(np.corrcoef(both.T))
            found[one, other] = found[other, one] = min(1.0, max(-1.0, float(matrix[0, 1])))
    return found


def rank_correlations(value: Float) -> tuple[Float, Float, Int]:
    """Kendall's tau-b of every two columns.

    `value` (float64 (systems, metrics)): higher is better; NaN where a value is missing. Returns `tau, p` (float64
    (metrics, metrics)), `n` (int64 (metrics, metrics)).

    Examples
    --------
    >>> rank_correlations(np.array([[0.1, 3.0], [0.2, 2.0], [0.3, 4.0]]))[0].round(3).tolist()
    [[1.0, 0.333], [0.333, 1.0]]
    """
    from scipy.stats import kendalltau

    count = value.shape[1]
    tau, p, n = np.full((count, count), np.nan), np.full((count, count), np.nan), np.zeros((count, count), np.int64)
    for one in range(count):
        for other in range(one + 1):
            both = ~np.isnan(value[:, one]) & ~np.isnan(value[:, other])
            n[one, other] = n[other, one] = both.sum()
            if both.sum() > 1:
                found = kendalltau(value[both, one], value[both, other])
                tau[one, other] = tau[other, one] = found.statistic
                p[one, other] = p[other, one] = found.pvalue
    return tau, p, n
