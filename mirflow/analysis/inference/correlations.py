"""Agreement of rankings by metrics, annotators and systems, and scores against something known of each track.

Do metrics, or annotators, agree on which systems are better, and systems on which tracks are hard? How do scores go
with a tempo, a year, a length, or how hard other systems find a track?
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import QueryError, UnknownNameError
from ...kernels.ratios import divide
from ...metrics.aggregates import RATIOS
from ...ragged import Float, Int
from ..aggregation import POLICIES, aggregate_scores, origin_of
from ..lookup import DURATION
from ..query_options import AUTO, DEFAULT_LEVEL, Query
from ..scores import ANNOTATOR, Array, coords_of, names_of
from ..selection import counted_scores
from .resampling import Rates, Resampling, Seed, accelerations, bounds, chunks, draw, statistics_of
from .sample import TRACK, codes_of, dataset_of, differences, recount, sample_of, select_numbers, settle, signs_of

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
    kinds, dims = names_of(result, "aggregate"), (between, "other")
    if between == "metric":
        return dataset_of(arrays, part, {"aggregate": kinds}, long_names, {**result.attrs, **attrs}, {2: dims})
    described = {name: (dims, array, {"long_name": long_names[name]}) for name, array in arrays.items()}
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
        values = [sign * own[:, some] for sign, own in zip(signs, drawn, strict=True)]
        # Two systems of which one has no value are in no order.
        gaps = [settle(np.nan_to_num(differences(value[first], value[second]), nan=0.0)) for value in values]
        ordered = [np.sign(gap) for gap in gaps]
        for row, (one, other) in enumerate(zip(*pairs, strict=True)):
            both = (ordered[one] * ordered[other]).sum(axis=0)
            apart = np.sqrt((ordered[one] ** 2).sum(axis=0) * (ordered[other] ** 2).sum(axis=0))
            taus[row, some] = divide(both, apart, np.nan, where=apart > 0)
    low[pairs], high[pairs] = bounds(taus, tau[pairs], np.zeros(len(taus)), how)
    low.T[pairs], high.T[pairs] = low[pairs], high[pairs]
    return low, high


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


OTHERS = "others"
"""The covariate that is the mean score of all other systems: how easy they find a track."""

_COVARIATE_NAMES = {
    "r": "Pearson's correlation of scores and covariate",
    "low": "lower end of its confidence interval",
    "high": "upper end of its confidence interval",
    "tau": "Kendall's tau-b of scores and covariate",
    "n": "tracks with a score and a value of the covariate",
}


def correlations(
    ds: xr.Dataset,
    covariate: str,
    query: Query | None = None,
    *,
    level: float = DEFAULT_LEVEL,
    method: str = AUTO,
    replicates: int = 10_000,
    cluster: str | None = None,
    rng: Seed = 0,
    group: str = "",
) -> xr.Dataset:
    """Correlate the scores of each system with a covariate of the tracks.

    `covariate`: a numeric coordinate of the tracks; ``duration`` (of the references, in seconds); ``others``, the mean
    score of all other systems on the track by the same metric; or another metric, such as an imported one, by its name.
    `query`: as for :func:`mirflow.analysis.queries.aggregate`, without groups of tracks. Each track counts once.
    Returns a result over (system, metric): ``r``, Pearson's correlation, with ``low`` and ``high``; ``tau``, Kendall's
    tau-b; and ``n``. NaN where either side is the same on all tracks, intervals also for too few tracks. Raises
    `QueryError` for a coordinate that is not numeric, groups of tracks, metrics with extra dims, and as a plain query.
    Raises `UnknownNameError` for a name that is not there, with a suggestion.
    """
    query = query or Query()
    for name in ("aggregate", "by", "across"):
        if getattr(query, name):
            raise QueryError(f"scores of single tracks are correlated with a covariate: leave out {name}")
    how = Resampling.of(level, method, replicates, rng)
    how.check_normal(["correlation"], [covariate])
    part = select_numbers(ds, query)
    score = counted_scores(part)
    score[~np.isfinite(score)] = np.nan
    beside = None
    if covariate in names_of(ds, "metric") and covariate not in coords_of(ds, "track"):
        other = select_numbers(ds, replace(query, metric=[covariate], exact=True))
        beside = counted_scores(other)[[names_of(other, "system").index(name) for name in names_of(part, "system")]]
    values = covariate_values(part, covariate, score) if beside is None else np.broadcast_to(beside, score.shape)
    codes = codes_of(part, TRACK, cluster)
    shape = score.shape[0], score.shape[2]
    arrays = {name: np.full(shape, np.nan) for name in ("r", "low", "high", "tau")}
    number = np.zeros(shape, dtype=np.int64)
    for at in np.ndindex(shape):
        own, beside = score[at[0], :, at[1]], values[at[0], :, at[1]]
        tracks = np.flatnonzero(~np.isnan(own) & ~np.isnan(beside))
        number[at] = len(tracks)
        if len(tracks) < 2 or not np.ptp(own[tracks]) or not np.ptp(beside[tracks]):
            continue
        # Standardised, so that squares lose no digits.
        x, y = ((values - values.mean()) / values.std() for values in (own[tracks], beside[tracks]))
        terms = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
        clustered = recount(codes[tracks])
        sums = np.zeros((1, int(clustered.max()) + 1, terms.shape[1]))
        np.add.at(sums[0], clustered, terms)
        moments = Rates(sums, correlation_of)
        arrays["r"][at] = moments.again(np.ones((1, moments.clusters)))[0, 0]
        arrays["tau"][at] = rank_correlations(np.stack([own[tracks], beside[tracks]], axis=1))[0][0, 1]
        if moments.clusters >= how.least:
            drawn = draw(moments, 1, how)
            low, high = bounds(drawn, arrays["r"][at][np.newaxis], accelerations(moments.left_out()), how)
            arrays["low"][at], arrays["high"][at] = low[0], high[0]
    attrs = {**how.attrs(), "covariate": covariate, "cluster": cluster or "", **origin_of(part, group)}
    attrs |= {name: part.attrs[name] for name in POLICIES if name in part.attrs}
    return dataset_of({**arrays, "n": number}, part, {}, _COVARIATE_NAMES, attrs)


def covariate_values(part: xr.Dataset, name: str, score: Float) -> Float:
    """Values of a covariate for each score: float64 (systems, tracks, metrics), NaN where it is not known."""
    if name == OTHERS:
        if len(score) < 2:
            raise QueryError(f"covariate {OTHERS!r} is the mean of other systems, and there is one system")
        defined = ~np.isnan(score)
        filled = np.where(defined, score, 0.0)
        return divide(filled.sum(axis=0) - filled, defined.sum(axis=0) - defined, np.nan)
    coords = coords_of(part, "track")
    numeric = {key: values for key, values in coords.items() if values.dtype.kind in "iuf"}
    numeric[DURATION] = part["duration"].values
    if name not in numeric:
        if name in coords:
            numbers = ", ".join([*numeric, OTHERS])
            raise QueryError(f"covariate {name!r} is text; group by it (by, --by), or choose a number: {numbers}")
        raise UnknownNameError("covariate", name, [*numeric, OTHERS])
    values = numeric[name].astype(np.float64)
    return np.broadcast_to(np.where(np.isfinite(values), values, np.nan)[:, np.newaxis], score.shape)


def correlation_of(sums: Float) -> Float:
    """Pearson's correlation of two variables x and y, from sums of 1, x, y, xx, yy and xy.

    `sums` (float64 (n, 6)). Returns float64 (n, 1): NaN where one of the variables has no spread.

    Examples
    --------
    >>> x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 4.0, 3.0])
    >>> sums = np.array([[4, x.sum(), y.sum(), x @ x, y @ y, x @ y]])
    >>> correlation_of(sums).round(12).tolist(), round(float(np.corrcoef(x, y)[0, 1]), 12)
    ([[0.6]], 0.6)
    """
    number, x, y, xx, yy, xy = sums.T
    number = np.where(number > 0, number, np.nan)
    spread = (xx / number - (x / number) ** 2) * (yy / number - (y / number) ** 2)
    coefficient = divide(
        xy / number - x * y / number**2, np.sqrt(np.maximum(spread, 0.0)), np.nan, where=spread > 1e-18
    )
    return np.clip(coefficient, -1.0, 1.0)[:, np.newaxis]
