"""How small a difference of systems so many tracks can show, and how many tracks show one of a given size.

Where several annotators are scored, the tracks are planned for several numbers of annotators a track.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import QueryError
from ...kernels.agreement import variance_components
from ...metrics.aggregates import RATIOS
from ...ragged import Float
from ..aggregation import origin_of
from ..per_class import rated_kind
from ..query_options import DEFAULT_LEVEL, MAX_T, MOST_SYSTEMS, SEQUENCE, Query
from ..scores import ANNOTATOR, Array, by_annotator, names_of
from .blocks import Replicates, SampleBlocks, replicates_of
from .comparisons import comparable, compare, compare_blocks, compared_blocks
from .paired import DEFAULT_TEST, choose_correction, every_pair
from .repeated_runs import is_about_runs
from .resampling import Resampling, Seed
from .sample import TRACK, dataset_of

if TYPE_CHECKING:
    import xarray as xr

POWER = 0.8
"""The probability with which a difference is to be shown, by convention (Cohen 1988, section 2.4)."""

_LONG_NAMES = {
    "value": "aggregate over the units",
    "difference": "difference of the values",
    "error": "standard error of the difference",
    "resolution": "smallest difference that a test shows with the power",
    "needed": "units that show the difference with the power",
    "critical": "number of standard errors that no difference exceeds by chance",
    "n": "units of which the error was estimated",
}


def resolution(
    ds: xr.Dataset,
    query: Query | None = None,
    *,
    difference: float | None = None,
    power: float = POWER,
    level: float = DEFAULT_LEVEL,
    correction: str = "auto",
    replicates: int = 10_000,
    unit: str = TRACK,
    cluster: str | None = None,
    rng: Seed = 0,
    group: str = "",
) -> xr.Dataset:
    """The smallest difference of every two systems that their tracks can show, and the tracks that show another one.

    A true difference of ``(s + z) * error`` is significant with the probability `power`, where ``z`` is the normal
    quantile of the power, ``error`` the standard error of the difference, and ``s`` the number of standard errors from
    which on the permutation test of these units calls a difference significant (:func:`significant_from`). The error
    falls with the root of the number of units.

    `query`: as for :func:`mirflow.analysis.inference.comparisons.compare`. `difference`: the difference that is to be
    shown, in the unit of the metric; None: that of the two systems in these scores. `power`: the probability with which
    it is to be significant. `level`, `correction`: of the comparison that is planned: of all these systems. ``max-t``
    (``auto``) takes ``critical`` from the largest of all standardised differences in the replicates. `replicates`,
    `unit`, `cluster`, `rng`, `group`: as for ``compare``. Standard errors are those of a bootstrap over the units that
    all systems have. Returns over (system, other, metric): ``difference``, ``error``, ``resolution``, and ``needed``,
    the number of units (clusters), infinite for equal systems. Over (system, metric): ``value``; over (metric):
    ``critical`` and ``n``. Raises `QueryError` for a power outside of (0, 1), a difference that is not positive, too
    few units for an interval, a metric with extra dims, and as for ``compare``. Raises `UnknownNameError` for a name
    that is not there, with a suggestion.

    References
    ----------
    Cohen, *Statistical Power Analysis for the Behavioral Sciences*, 1988, chapter 2; Card et al., "With little power
    comes great responsibility", EMNLP 2020.
    """
    query = query or Query()
    if not 0 < power < 1:
        raise QueryError(f"power {power:g}: a probability lies between 0 and 1, as 0.8")
    if difference is not None and not 0 < difference < np.inf:
        raise QueryError(f"difference {difference:g}: a difference to be shown is larger than 0")
    if query.across or rated_kind(ds, query) is not None:
        raise QueryError("only metrics with one number per track have a resolution; leave out across, or reduce dims")
    how = Resampling.of(level, "percentile", replicates, rng)
    return _resolution_of(
        *compared_blocks(ds, query, unit, cluster), how, correction, difference, power, cluster, group
    )


def compare_with_resolution(
    ds: xr.Dataset,
    query: Query,
    *,
    test: str = "auto",
    correction: str = "auto",
    unit: str = TRACK,
    cluster: str | None = None,
    group: str = "",
    all_pairs: bool = False,
    **drawn: Any,
) -> xr.Dataset:
    """A comparison with the smallest difference of every two systems that its test shows with the usual power.

    The scores are selected once for both.

    Returns that of ``compare``, with ``resolution`` over (system, other, metric) and the attribute ``power``; without
    these where it is not known: for signed ranks, confidence sequences, values of classes, runs, more than 100 systems,
    pairs that have different units, and too few.
    """
    if is_about_runs(ds, query) or rated_kind(ds, query) is not None:
        words: dict[str, Any] = {"test": test, "correction": correction, "unit": unit, "cluster": cluster, **drawn}
        return compare(ds, query, **words, group=group, all_pairs=all_pairs)
    how = Resampling.of(**drawn)
    blocks, value = compared_blocks(ds, query, unit, cluster)
    compared = compare_blocks(blocks, value, how, test, correction, cluster, group, all_pairs=all_pairs)
    pairs = np.triu_indices(compared.sizes["system"], 1)
    counts, tests = compared["n"].values[pairs], names_of(compared, "test")
    if compared.sizes["system"] > MOST_SYSTEMS or {"wilcoxon", SEQUENCE} & {*tests} or (counts != counts[:1]).any():
        return compared
    try:
        found = _resolution_of(
            blocks, value, replace(how, method="percentile"), compared.attrs["correction"], None, POWER, cluster, group
        )
    except QueryError:  # of so few units that nothing is known
        return compared
    return compared.assign(resolution=found["resolution"]).assign_attrs(power=found.attrs["power"])


def _resolution_of(
    blocks: SampleBlocks,
    value: Float,
    how: Resampling,
    correction: str,
    difference: float | None,
    power: float,
    cluster: str | None,
    group: str,
) -> xr.Dataset:
    """The resolution of systems by scores that are already selected."""
    from scipy.special import ndtri

    metrics = names_of(blocks.frame, "metric")
    correction = choose_correction(correction, [DEFAULT_TEST] * len(metrics))
    shape = (len(value), *value.shape)
    error, evenness = np.full(shape, np.nan), np.full(shape, np.nan)
    critical, number = np.full(len(metrics), np.nan), np.zeros(len(metrics), np.int64)
    for metric in range(len(metrics)):
        replicates = replicates_of(blocks, metric, how)
        number[metric] = replicates.clusters
        if number[metric] < how.least:
            units = "tracks" if blocks.unit == TRACK else f"values of {blocks.unit}"
            raise QueryError(
                f"{metrics[metric]}: {number[metric]} {units} that all systems have do not say how much scores differ; "
                f"it takes {how.least} or more"
            )
        every = np.ix_(replicates.systems, replicates.systems)
        error[..., metric][every], evenness[..., metric][every], critical[metric] = _errors(replicates, correction, how)
    found = value[:, np.newaxis] - value[np.newaxis]
    wanted = np.abs(found) if difference is None else np.full_like(found, difference)
    arrays: dict[str, Array] = {"difference": found, "error": error}
    arrays["resolution"] = (significant_from(critical, number * evenness) + ndtri(power)) * error
    arrays["needed"] = needed_units(error * np.sqrt(number), wanted, critical, power, evenness)
    arrays |= {"value": value, "critical": critical, "n": number}
    part = blocks.frame
    attrs: dict[str, Any] = {"level": f"{how.level:.15g}", "power": f"{power:.15g}", "correction": correction}
    attrs |= {"wanted": "" if difference is None else f"{difference:.15g}", "replicates": str(how.replicates)}
    attrs |= {"test": DEFAULT_TEST, "unit_of_comparison": cluster or blocks.unit, **origin_of(part, group)}
    attrs["missing"] = part.attrs["missing"]
    return dataset_of(arrays, part, {"aggregate": names_of(part, "_aggregate")}, _LONG_NAMES, attrs)


def significant_from(critical: Float, units: Array) -> Float:
    """Standard errors from which on a permutation test of so many units calls a difference significant.

    The test compares a difference with its swaps, whose spread has the difference itself in it: of n units that differ
    by d with a variance of v it is (v + d²) / n instead of v / n.

    Examples
    --------
    >>> significant_from(np.array([1.96, 1.96]), np.array([20, 2000])).round(3).tolist()
    [2.181, 1.962]
    """
    share = critical**2 / units
    return np.asarray(np.where(share < 1, critical / np.sqrt(np.where(share < 1, 1 - share, 1.0)), np.inf))


def needed_units(spread: Float, wanted: Float, critical: Float, power: float, evenness: Float | float = 1.0) -> Float:
    """Units that show a difference.

    `spread`, `wanted` (float64 (..., n)): standard deviation of the difference of a single unit, and the difference.
    `critical` (float64 (n,) or number): standard errors that are significant, of many units. `evenness` (float64 (...,
    n) or number): the share of the units that would spread as much if they weighed the same. Returns float64 (..., n).
    """
    from scipy.special import ndtri

    strength = float(ndtri(power))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (spread / wanted) ** 2
        found = ratio * (critical + strength) ** 2
        # More units make the test a little stronger, by which a few fewer are needed: this settles at once.
        for _ in range(20):
            units = np.maximum(found * evenness, critical**2 + 1)
            found = ratio * (significant_from(critical, units) + strength) ** 2
    return np.asarray(np.where(np.isnan(spread), np.nan, np.ceil(np.maximum(found, np.ceil(critical**2 / evenness)))))


def _errors(replicates: Replicates, correction: str, how: Resampling) -> tuple[Float, Float, float]:
    """Standard errors of differences, the evenness of weights (systems, systems), and how many errors are significant.

    A bootstrap spreads by what the units have, not by what the collection that they are drawn from has: a variance is
    too small by the share 1/n of n units, and more where few of them weigh much, as the values follow these. With
    shares p of the weights it is that of 1 + the sum of p² - 2 (the sum of p³) / (the sum of p²), for differences that
    spread alike on all units.
    """
    from scipy.special import ndtri

    drawn, size, alpha = replicates.drawn, len(replicates.drawn), 1 - how.level
    square, cube = ((each[:, np.newaxis] + each) / 2 for each in replicates.shares)
    scale = np.sqrt(1 + square - 2 * cube / square)
    error, largest = np.full((size, size), np.nan), np.zeros(drawn.shape[1])
    for row in range(size - 1):
        away = drawn[row] - drawn[row + 1 :]
        away -= away.mean(axis=1, keepdims=True)
        spread = away.std(axis=1, ddof=1)
        error[row, row + 1 :] = error[row + 1 :, row] = spread / scale[row, row + 1 :]
        np.abs(away, out=away)
        np.divide(away, spread[:, np.newaxis], out=away, where=(spread > 0)[:, np.newaxis])
        if (spread > 0).any():
            np.maximum(largest, away[spread > 0].max(axis=0), out=largest)
    evenness = 1 / (replicates.clusters * square)
    if correction == MAX_T:
        return error, evenness, float(np.quantile(largest, how.level))
    pairs = size * (size - 1) // 2
    return error, evenness, float(ndtri(1 - alpha / (2 * (pairs if correction == "holm" else 1))))


_FEWEST = 6
"""Tracks with two annotators or more from which components are estimated."""
_EFFORT_NAMES = {
    "track_variance": "variance of the difference of two systems between tracks",
    "annotator_variance": "variance of the difference between annotators",
    "residual_variance": "variance of the difference between annotators, in other ways on other tracks",
    "needed_with": "tracks that show the difference with the power, by the number of annotators of each",
}


def annotation_effort(ds: xr.Dataset, query: Query | None = None, *, annotations: int, **options: Any) -> xr.Dataset:
    """The resolution of a comparison, and the tracks that show a difference, for several numbers of annotators a track.

    The difference of two systems on a track against one annotator is the sum of the difference of their values and of
    effects of the track, the annotator, and of both together, whose variances are estimated from tracks with several
    annotators. With k annotators a track, who are others on other tracks, the variance of the mean of n tracks is the
    track's and a k-th of the sum of both others, over n. Annotators who annotate all tracks would add a k-th of their
    variance, however many tracks there are.

    `ds`: of an evaluation that keeps the scores of each annotator (``combine: each``). `query`: as for
    :func:`mirflow.analysis.inference.resolution.resolution`; the aggregates are means and weighted ratios. Returns that
    of ``resolution``, with ``track_variance``, ``annotator_variance`` and ``residual_variance`` over (system, other,
    metric), in squares of the metric's unit, and ``needed_with`` over these and ``annotators``. Raises `QueryError` if
    the evaluation has no scores of single annotators, fewer than six tracks have two, or an aggregate is neither a mean
    nor a weighted ratio.

    References
    ----------
    Brennan, *Generalizability Theory*, 2001, chapters 2 and 4; Urbano, Marrero and Martín, "On the measurement of test
    collection reliability", SIGIR 2013.
    """
    query = query or Query()
    if annotations < 1:
        raise QueryError(f"invalid annotations {annotations}: expected at least 1 annotator a track")
    if (options.get("unit") or TRACK) != TRACK or options.get("cluster"):
        raise QueryError("annotators of tracks are planned for tracks: leave out unit and cluster")
    result = resolution(ds, query, **options)
    part = comparable(by_annotator(ds), query)
    kinds, names = names_of(part, "_aggregate"), names_of(part, "metric")
    for kind, name in zip(kinds, names, strict=True):
        if kind not in RATIOS:
            raise QueryError(f"annotators are planned for means and weighted ratios, not for the {kind} of {name!r}")
    systems, metrics = part.sizes["system"], len(names)
    pairs = every_pair(systems)
    shape = (systems, systems, metrics)
    variances = {name: np.full(shape, np.nan) for name in list(_EFFORT_NAMES)[:3]}
    needed = np.full((*shape, annotations), np.nan)
    wanted = (
        result["difference"].values if not result.attrs["wanted"] else np.full(shape, float(result.attrs["wanted"]))
    )
    counts = np.arange(1, annotations + 1)
    for metric in range(metrics):
        included = part["_included"].values[..., metric].all(axis=0)
        tracks, annotators = (
            np.unique(np.array(names_of(part, name))[included], return_inverse=True)[1] for name in ("track", ANNOTATOR)
        )
        several = int((np.bincount(tracks) > 1).sum()) if len(tracks) else 0
        if several < _FEWEST:
            raise QueryError(
                f"{names[metric]}: {several} tracks have scores against two annotators or more; it "
                f"takes {_FEWEST} to say how much annotators differ"
            )
        score, weight = (part[name].values[:, included, metric] for name in ("score", "weight"))
        factors = RATIOS[kinds[metric]].factors(weight[..., np.newaxis], part["duration"].values[included])
        above, below = (np.broadcast_to(factor[..., 0], score.shape) for factor in factors)
        # What annotations add to a system's mean, to first order: its variance is that of the ratio (delta method).
        ratio = (above * score).sum(axis=1, keepdims=True) / below.sum(axis=1, keepdims=True)
        moved = ratio + (above * score - ratio * below) / below.mean(axis=1, keepdims=True)
        components = variance_components((moved[pairs[:, 0]] - moved[pairs[:, 1]]).T, tracks, annotators)
        for name, values in zip(variances, components, strict=True):
            variances[name][pairs[:, 0], pairs[:, 1], metric] = values
            variances[name][pairs[:, 1], pairs[:, 0], metric] = values
        spread = np.sqrt(np.stack([components.of_one(count) for count in counts.tolist()], axis=1))
        size = np.abs(wanted[pairs[:, 0], pairs[:, 1], metric])[:, np.newaxis]
        units = needed_units(spread, size, result["critical"].values[metric], float(result.attrs["power"]))
        needed[pairs[:, 0], pairs[:, 1], metric] = needed[pairs[:, 1], pairs[:, 0], metric] = units
    dims = ("system", "other", "metric")
    arrays = {name: (dims, values, {"long_name": _EFFORT_NAMES[name]}) for name, values in variances.items()}
    more = {"needed_with": ((*dims, "annotators"), needed, {"long_name": _EFFORT_NAMES["needed_with"]})}
    return result.assign({**arrays, **more}).assign_coords(annotators=counts)
