"""How many tracks show a difference of systems if each has one annotator, two, or more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import QueryError
from ...kernels.variance_components import Components, variance_components
from ...metrics.aggregates import DECLARED, RATIOS, RatioOfSums
from ...ragged import Int
from ..query_options import Query
from ..scores import ANNOTATOR, by_annotator, names_of
from .comparisons import comparable
from .paired import every_pair
from .resolution import needed_units, resolution
from .sample import TRACK

if TYPE_CHECKING:
    import xarray as xr

_FEWEST = 6
"""Tracks with two annotators or more from which components are estimated."""
_LONG_NAMES = {
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

    Parameters
    ----------
    ds : xr.Dataset
        Of an evaluation that keeps the scores of each annotator (``combine: each``).
    query : Query or None
        As for :func:`mirflow.analysis.inference.resolution.resolution`; the aggregates are means and weighted ratios.
    annotations : int
        The largest number of annotators a track.
    **options
        Of ``resolution``, without `unit` and `cluster`.

    Returns
    -------
    xr.Dataset
        That of ``resolution``, with ``track_variance``, ``annotator_variance`` and ``residual_variance`` over (system,
        other, metric), in squares of the metric's unit, and ``needed_with`` over these and ``annotators``.

    Raises
    ------
    QueryError
        If the evaluation has no scores of single annotators, fewer than six tracks have two, or an aggregate is neither
        a mean nor a weighted ratio.

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
    found = resolution(ds, query, **options)
    part = comparable(by_annotator(ds), query)
    kinds, names = names_of(part, "_aggregate"), names_of(part, "metric")
    for kind, name in zip(kinds, names, strict=True):
        if kind not in RATIOS:
            raise QueryError(f"annotators are planned for means and weighted ratios, not for the {kind} of {name!r}")
    systems, metrics = part.sizes["system"], len(names)
    pairs = every_pair(systems)
    shape = (systems, systems, metrics)
    variances = {name: np.full(shape, np.nan) for name in list(_LONG_NAMES)[:3]}
    needed = np.full((*shape, annotations), np.nan)
    wanted = found["difference"].values if not found.attrs["wanted"] else np.full(shape, float(found.attrs["wanted"]))
    counts = np.arange(1, annotations + 1)
    for metric in range(metrics):
        components = _components(part, metric, kinds[metric], pairs)
        for name, values in zip(variances, components, strict=True):
            variances[name][pairs[:, 0], pairs[:, 1], metric] = values
            variances[name][pairs[:, 1], pairs[:, 0], metric] = values
        spread = np.sqrt(np.stack([components.of_one(count) for count in counts.tolist()], axis=1))
        size = np.abs(wanted[pairs[:, 0], pairs[:, 1], metric])[:, np.newaxis]
        units = needed_units(spread, size, found["critical"].values[metric], float(found.attrs["power"]))
        needed[pairs[:, 0], pairs[:, 1], metric] = needed[pairs[:, 1], pairs[:, 0], metric] = units
    dims = ("system", "other", "metric")
    arrays = {name: (dims, values, {"long_name": _LONG_NAMES[name]}) for name, values in variances.items()}
    more = {"needed_with": ((*dims, "annotators"), needed, {"long_name": _LONG_NAMES["needed_with"]})}
    return found.assign({**arrays, **more}).assign_coords(annotators=counts)


def _components(part: xr.Dataset, metric: int, kind: str, pairs: Int) -> Components:
    """Variance components of the differences of pairs of systems by one metric."""
    included = part["_included"].values[..., metric].all(axis=0)
    tracks = np.unique(np.array(names_of(part, "track"))[included], return_inverse=True)[1]
    annotators = np.unique(np.array(names_of(part, ANNOTATOR))[included], return_inverse=True)[1]
    several = int((np.bincount(tracks) > 1).sum()) if len(tracks) else 0
    if several < _FEWEST:
        raise QueryError(
            f"{names_of(part, 'metric')[metric]}: {several} tracks have scores against two annotators or more; it "
            f"takes {_FEWEST} to say how much annotators differ"
        )
    score, weight = (part[name].values[:, included, metric] for name in ("score", "weight"))
    aggregate = DECLARED[kind]
    assert isinstance(aggregate, RatioOfSums)
    above, below = aggregate.factors(weight[..., np.newaxis], part["duration"].values[included])
    above, below = (np.broadcast_to(factor[..., 0], score.shape) for factor in (above, below))
    # What annotations add to the mean of a system, to first order: its variance is that of the ratio (delta method).
    ratio = (above * score).sum(axis=1, keepdims=True) / below.sum(axis=1, keepdims=True)
    values = ratio + (above * score - ratio * below) / below.mean(axis=1, keepdims=True)
    return variance_components((values[pairs[:, 0]] - values[pairs[:, 1]]).T, tracks, annotators)
