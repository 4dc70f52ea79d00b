"""Oracles: what a choice of the best system on each track could reach, and which systems it would need.

The result is a dataset: the order in which systems add most, on how many tracks each is the best, and the gain over the
best single system with its interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import QueryError
from ...ragged import Float
from ..aggregation import POLICIES, origin_of, reduce
from ..query_options import AUTO, DEFAULT_LEVEL, Query
from ..scores import Array, names_of
from .comparisons import comparable
from .confidence_intervals import difference_interval
from .resampling import Resampling, Seed
from .sample import TRACK, Sample, codes_of, dataset_of, settle, signs_of

if TYPE_CHECKING:
    import xarray as xr

_LONG_NAMES = {
    "value": "aggregate over tracks",
    "best_on": "number of tracks on which the system is the best, ties in equal parts",
    "step": "place in the order in which systems add most",
    "together": "aggregate of the best on each track of the systems up to this step",
    "oracle": "aggregate of the best of all systems on each track",
    "gain": "oracle minus the best single system, towards better values",
    "low": "lower end of the interval of the gain",
    "high": "upper end of the interval of the gain",
    "n": "number of tracks that every system has",
}


STEPS = 30
"""Systems whose order is found; of more, the others add little."""


def oracle(
    ds: xr.Dataset,
    query: Query | None = None,
    *,
    level: float = DEFAULT_LEVEL,
    method: str = AUTO,
    replicates: int = 10_000,
    cluster: str | None = None,
    rng: Seed = 0,
    group: str = "",
) -> xr.Dataset:
    """Combine systems by an oracle, which takes the score and weight of the best one on each track.

    Parameters
    ----------
    ds : xr.Dataset
    query : Query or None
        As for :func:`mirflow.analysis.queries.aggregate`, without groups of tracks; on the tracks that every system
        has (``common``), or with a missing score as 0 (``zero``).
    level, method, replicates, cluster, rng, group
        As for :func:`mirflow.analysis.inference.confidence_intervals.intervals`.

    Returns
    -------
    xr.Dataset
        Over (system, metric): ``value``; ``best_on``, the number of tracks on which the system is the best, ties in
        equal parts; ``step``, its place in the order in which systems add most to those before, the best single one
        first (0 behind the first 30); and ``together``, the value of the best on each track of the systems up to this
        step. Over (metric):
        ``oracle``, the value of all of them; ``gain``, how much better than the best single system it is, with its
        interval ``low`` and ``high``; and ``n``.

    Raises
    ------
    QueryError
        For fewer than two systems, a metric of which neither high nor low values are better, groups of tracks, another
        policy, metrics with extra dims, and as a plain query.
    UnknownNameError
        For a name that is not there, with a suggestion.

    Notes
    -----
    An oracle is an upper bound: it knows the scores, and gains even from systems that differ by chance.

    Examples
    --------
    >>> import mirflow
    >>> references = {"a": [1.0, 2.0], "b": [1.0, 2.0]}
    >>> estimates = {"first": {"a": [1.0, 2.0], "b": [1.0]}, "last": {"a": [1.0], "b": [1.0, 2.0]}}
    >>> found = oracle(mirflow.score(references, estimates, "onset"), Query("recall"))
    >>> found["oracle"].item(), found["gain"].item(), found["together"].values.ravel().tolist()
    (1.0, 0.25, [0.75, 1.0])
    """
    query = query or Query()
    if query.across:
        raise QueryError("an oracle chooses among systems on each track: leave out across")
    if query.missing not in (None, "common", "zero", "raise"):
        raise QueryError(
            f"an oracle is compared with single systems on the same tracks: choose missing common or zero, not "
            f"{query.missing!r}; over system=best is the best of those that a track has"
        )
    how = Resampling.of(level, method, replicates, rng)
    part = comparable(ds, query)
    how.check_normal(names_of(part, "_aggregate"), names_of(part, "metric"))
    signs = signs_of(names_of(part, "metric"), names_of(part, "orientation"))
    codes, shape = codes_of(part, TRACK, cluster), (part.sizes["system"], part.sizes["metric"])
    arrays: dict[str, Array] = {name: np.full(shape, np.nan) for name in ("value", "best_on", "together")}
    arrays["step"] = np.zeros(shape, dtype=np.int64)
    arrays |= {name: np.full(shape[1], np.nan) for name in ("oracle", "gain", "low", "high")}
    number, normal = np.zeros(shape[1], dtype=np.int64), []
    for metric, kind in enumerate(names_of(part, "_aggregate")):
        score, weight, included = (part[name].values[..., [metric]] for name in ("score", "weight", "_included"))
        tracks = np.flatnonzero(included.all(axis=(0, 2)))
        number[metric] = len(tracks)
        if not len(tracks):
            continue
        every = Sample([kind], score, weight, included, part["duration"].values, codes).take(tracks)
        order, together, chosen = _combine(every, kind, signs[metric])
        ordered = settle(every.score[..., 0] * signs[metric])
        best = ordered == ordered.max(axis=0)
        arrays["value"][:, metric] = every.values()[:, 0]
        arrays["best_on"][:, metric] = (best / best.sum(axis=0)).sum(axis=1)
        arrays["step"][order, metric] = np.arange(1, len(order) + 1)
        arrays["together"][order, metric] = together
        scores, weights = (
            np.stack([own, one[order[0]]]) for own, one in zip(chosen, (every.score, every.weight), strict=True)
        )
        both = np.ones(scores.shape, dtype=np.bool_)
        pair = Sample([kind], scores, weights, both, every.duration, every.cluster)
        *interval, is_normal = difference_interval(pair, how)
        normal.append(is_normal)
        ends = [float(signs[metric] * end[0]) for end in interval]
        arrays["oracle"][metric] = pair.values()[0, 0]
        arrays["gain"][metric], arrays["low"][metric], arrays["high"][metric] = ends[0], min(ends[1:]), max(ends[1:])
    attrs = {**how.attrs(np.array(normal) if normal else None), "cluster": cluster or ""}
    attrs |= {**origin_of(part, group), **{name: part.attrs[name] for name in POLICIES if name in part.attrs}}
    along = {"aggregate": names_of(part, "_aggregate")}
    return dataset_of({**arrays, "n": number}, part, along, _LONG_NAMES, attrs)


def _combine(sample: Sample, kind: str, sign: float) -> tuple[list[int], list[float], tuple[Float, Float]]:
    """The order in which systems add most, the values of the best of the first ones, and what the oracle chooses.

    `sample`: of one metric, on units that all systems have. `sign`: -1 where low values are better. Returns `order`,
    `together`, `chosen` (float64 (units, 1) twice): scores and weights of the best systems.
    """
    left = list(range(len(sample.score)))
    order: list[int] = []
    together: list[float] = []
    score, weight = np.full_like(sample.score[0], -sign * np.inf), np.zeros_like(sample.weight[0])
    while left and len(order) < STEPS:
        better = sample.score[left] * sign > score * sign
        scores, weights = np.where(better, sample.score[left], score), np.where(better, sample.weight[left], weight)
        values = sign * reduce(scores, weights, sample.duration, kind, np.ones(scores.shape, dtype=np.bool_))[:, 0]
        best = int(np.argmax(settle(np.where(np.isnan(values), -np.inf, values))))
        score, weight = scores[best], weights[best]
        order.append(left.pop(best))
        together.append(float(sign * values[best]))
    if left:
        row = (sample.score[left] * sign).argmax(axis=0)[np.newaxis]
        rest = [np.take_along_axis(array[left], row, axis=0)[0] for array in (sample.score, sample.weight)]
        better = rest[0] * sign > score * sign
        score, weight = (np.where(better, *pair) for pair in zip(rest, (score, weight), strict=True))
    return order, together, (score, weight)
