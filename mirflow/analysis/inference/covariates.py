"""Scores of tracks against something known of each: a tempo, a year, a length, how hard other systems find it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import QueryError, UnknownNameError
from ...kernels.ratios import divide
from ...ragged import Float, Int
from ..policies import AUTO
from ..query_options import Query
from ..scores import coords_of, names_of
from ..selected import counted_scores
from ..selection import DURATION
from .metric_agreement import rank_correlations
from .resampling import Resampling, Seed, accelerations, bounds, draw
from .sample import TRACK, codes_of, dataset_of, recount, select_numbers

if TYPE_CHECKING:
    import xarray as xr

OTHERS = "others"
"""The covariate that is the mean score of all other systems: how easy they find a track."""

_LONG_NAMES = {
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
    level: float = 0.95,
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
        moments = Moments.of(own[tracks], beside[tracks], recount(codes[tracks]))
        arrays["r"][at] = moments.again(np.ones((1, moments.clusters)))[0, 0]
        arrays["tau"][at] = rank_correlations(np.stack([own[tracks], beside[tracks]], axis=1))[0][0, 1]
        if moments.clusters >= how.least:
            drawn = draw(moments, 1, how)
            low, high = bounds(drawn, arrays["r"][at][np.newaxis], accelerations(moments.left_out()), how)
            arrays["low"][at], arrays["high"][at] = low[0], high[0]
    variables = {name: (("system", "metric"), values) for name, values in {**arrays, "n": number}.items()}
    from ..aggregation import POLICIES, origin_of

    attrs = {**how.attrs(), "covariate": covariate, "cluster": cluster or "", **origin_of(part, group)}
    attrs |= {name: part.attrs[name] for name in POLICIES if name in part.attrs}
    return dataset_of(variables, part, {}, _LONG_NAMES, attrs)


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


@dataclass(frozen=True)
class Moments:
    """Sums of two variables over clusters of tracks, of which a correlation is made.

    Examples
    --------
    >>> x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 4.0, 3.0])
    >>> moments = Moments.of(x, y, np.arange(4))
    >>> moments.again(np.ones((1, 4))).round(12).tolist(), round(float(np.corrcoef(x, y)[0, 1]), 12)
    ([[0.6]], 0.6)
    """

    sums: Float
    """Number, x, y, xx, yy and xy: float64 (clusters, 6), of variables that were standardised."""

    @classmethod
    def of(cls, x: Float, y: Float, cluster: Int) -> Moments:
        """Of pairs of values, and the cluster of each."""
        # Standardised, so that squares lose no digits.
        x, y = ((one - one.mean()) / one.std() for one in (x, y))
        terms = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
        sums = np.zeros((int(cluster.max()) + 1, terms.shape[1]))
        np.add.at(sums, cluster, terms)
        return cls(sums)

    @property
    def clusters(self) -> int:
        """Number of clusters to draw."""
        return len(self.sums)

    def again(self, counts: Float) -> Float:
        """The correlation in replicates."""
        return _correlation(counts @ self.sums)[np.newaxis]

    def left_out(self) -> Float:
        """The correlation without each of the clusters."""
        return _correlation(self.sums.sum(axis=0) - self.sums)[:, np.newaxis]


def _correlation(sums: Float) -> Float:
    """Pearson's correlation of sums (n, 6); NaN where one of the variables has no spread."""
    number, x, y, xx, yy, xy = sums.T
    number = np.where(number > 0, number, np.nan)
    spread = (xx / number - (x / number) ** 2) * (yy / number - (y / number) ** 2)
    coefficient = divide(
        xy / number - x * y / number**2, np.sqrt(np.maximum(spread, 0.0)), np.nan, where=spread > 1e-18
    )
    return np.clip(coefficient, -1.0, 1.0)
