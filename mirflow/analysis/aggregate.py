"""Scores of tracks -> figures of a collection, as labelled datasets that say how they came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import QueryError, UnknownNameError
from ..ragged import Float
from ..status import Status
from .grouping import Grouping
from .policies import Gaps, check_policies, find_gaps, included_scores
from .reduction import AGGREGATES, reduce
from .selection import Names, as_names, check_group, find_labels, find_metrics, labels_of

if TYPE_CHECKING:
    import xarray as xr

_SHOWN = 5


def aggregate(
    ds: xr.Dataset,
    metric: Names = None,
    aggregate: str | None = None,
    by: Names = None,
    *,
    system: Names = None,
    tracks: Names = None,
    missing: str | None = None,
    undefined: str = "keep",
) -> xr.Dataset:
    """Figures over the tracks of one evaluation, one for each system, metric and group of tracks.

    Parameters
    ----------
    ds : xr.Dataset
        A group of a result store: ``score`` and ``weight`` over (system, track, metric), ``status`` over (system,
        track), ``duration`` over (track) in seconds, and the metrics' coordinates.
    metric : str, sequence of str or None
        Identities, aliases or bare names of metrics; None: all.
    aggregate : {"mean", "median", "pooled", "wcsr", "wcsr_tn", "wcsr_total"} or None
        None: each metric's standard one. Without a `metric`, those metrics answer for which it is defined.
    by : str, sequence of str or None
        Coordinates along ``track`` whose values make groups; each becomes a dim of the answer. ``track`` itself gives
        the single tracks.
    system, tracks : str, sequence of str or None
        Which ones; None: all.
    missing : {"raise", "zero", "skip", "common"} or None
        What is done about cells without a score. ``zero`` counts them as 0 with the weight of an empty estimate
        (tracks without a reference are left out all the same); ``common`` takes only tracks that every system of the
        question has. None: ``common`` where several systems are compared, else ``skip``.
    undefined : {"keep", "skip"}
        Whether scores with nothing to measure (weight 0) count with their stored value, usually 0.

    Returns
    -------
    xr.Dataset
        ``value`` float64, ``n`` (scores that count), ``n_missing`` and ``n_undefined`` int64, all over (system, metric,
        groups), and ``n_tracks`` over the groups. The coordinate ``aggregate`` along ``metric`` names what was
        computed; the attributes ``missing`` and ``undefined`` name the policies, ``left_out`` the metrics that have no
        such aggregate.

    Raises
    ------
    QueryError
        If the question makes no sense here: an aggregate that a metric does not define, cells missing under
        ``raise``, a lower-is-better metric under ``zero``.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    check_group(ds)
    places = find_metrics(ds, metric)
    kinds, left_out = _kinds(ds, places, aggregate, named=metric is not None)
    part = _Part.of(ds, find_labels(ds, "system", system), find_labels(ds, "track", tracks), list(kinds))
    missing = missing or ("common" if len(part.systems) > 1 else "skip")
    check_policies(missing, undefined)
    part.check_missing(missing)
    grouping = Grouping.of(part.ds, as_names(by) or [])
    answer = _compute(part, list(kinds.values()), grouping, missing, undefined)
    attrs = {name: ds.attrs[name] for name in ("task", "convention", "grid", "name") if name in ds.attrs}
    return _label(part, answer, list(kinds.values()), grouping).assign_attrs(
        attrs, missing=missing, undefined=undefined, left_out=" ".join(left_out)
    )


def _kinds(ds: xr.Dataset, places: list[int], kind: str | None, *, named: bool) -> tuple[dict[int, str], list[str]]:
    """The aggregate of each metric, by its position, and the metrics left out."""
    if kind is not None and kind not in AGGREGATES:
        raise UnknownNameError("aggregate", kind, AGGREGATES)
    standard = [str(value) for value in ds["standard_aggregate"].values.tolist()]
    if kind is None:
        return {place: standard[place] for place in places}, []
    allowed = [str(value).split() for value in ds["aggregates"].values.tolist()]
    labels = labels_of(ds, "metric")
    refused = [labels[place] for place in places if kind not in allowed[place]]
    if refused and (named or len(refused) == len(places)):
        place = labels.index(refused[0])
        raise QueryError(
            f"aggregate {kind!r} is not defined for metric {refused[0]!r}; it has: {', '.join(allowed[place])}"
        )
    return {place: kind for place in places if kind in allowed[place]}, refused


@dataclass(frozen=True)
class _Part:
    """The systems, tracks and metrics of a question, as arrays."""

    ds: xr.Dataset
    score: Float
    weight: Float
    status: npt.NDArray[np.int8]
    duration: Float
    gaps: Gaps

    @classmethod
    def of(cls, ds: xr.Dataset, systems: list[int], tracks: list[int], metrics: list[int]) -> _Part:
        """Read what the question needs, once."""
        part = ds[["score", "weight", "status"]].isel(system=systems, track=tracks)
        if "duration" in ds.variables:
            part = part.assign(duration=ds["duration"].isel(track=tracks))
        # Everything in one call: scores, weights and statuses of a lazy group come from the same computation.
        part = part.compute().transpose("system", "track", "metric")
        weight = part["weight"].values
        status = part["status"].values
        known = "duration" in part.variables
        duration = part["duration"].values if known else np.full(part.sizes["track"], np.nan)
        gaps = find_gaps(part["score"].values, weight, status, duration)
        gaps = Gaps(gaps.missing[..., metrics], gaps.undefined[..., metrics], gaps.without_reference)
        part = part.isel(metric=metrics)
        # Sums depend on the memory layout in their last bits; xarray's own come from contiguous arrays.
        score, weight = (np.ascontiguousarray(part[name].values) for name in ("score", "weight"))
        return cls(part, score, weight, status, duration, gaps)

    @property
    def systems(self) -> list[str]:
        return labels_of(self.ds, "system")

    def check_missing(self, policy: str) -> None:
        """Refuse a policy that what is missing does not allow."""
        if policy == "raise" and self.gaps.missing.any():
            raise QueryError(self._list_missing())
        if policy == "zero":
            for place, orientation in enumerate(self.ds["orientation"].values.tolist()):
                if orientation == "lower" and self.gaps.missing[..., place].any():
                    raise QueryError(
                        f"metric {labels_of(self.ds, 'metric')[place]!r}: lower is better, so a missing score "
                        "cannot count as 0; choose missing: skip or common"
                    )

    def _list_missing(self) -> str:
        cells = np.argwhere(self.gaps.missing.any(axis=2))
        tracks = labels_of(self.ds, "track")
        lines = [
            f"  system {self.systems[s]!r}, track {tracks[t]!r}: {Status(int(self.status[s, t])).name}"
            for s, t in cells[:_SHOWN].tolist()
        ]
        if len(cells) > _SHOWN:
            lines.append(f"  and {len(cells) - _SHOWN} more")
        head = (
            f"{len(cells)} of {self.status.size} cells have no score; mend them or choose missing: zero, skip, common"
        )
        return "\n".join([head, *lines])


Answer = dict[str, npt.NDArray[Any]]


def _compute(part: _Part, kinds: list[str], grouping: Grouping, missing: str, undefined: str) -> Answer:
    """Values and counts: (systems, metrics, groups), tracks: (groups,), the groups in one flat axis."""
    score, included = included_scores(part.score, part.weight, part.gaps, missing, undefined)
    systems, _, metrics = score.shape
    groups = int(np.prod(grouping.shape, dtype=np.int64))
    value = np.full((systems, metrics, groups), np.nan)
    counts = {name: np.zeros((systems, metrics, groups), dtype=np.int64) for name in ("n", "n_missing", "n_undefined")}
    n_tracks = np.zeros(groups, dtype=np.int64)
    for group, members in grouping.members().items():
        inside = np.s_[:, members] if len(members) < score.shape[1] else np.s_[:, :]
        for kind in dict.fromkeys(kinds):
            chosen = np.array([place for place, one in enumerate(kinds) if one == kind])
            columns = np.s_[..., chosen] if len(chosen) < metrics else np.s_[...]
            value[:, chosen, group] = reduce(
                score[inside][columns],
                part.weight[inside][columns],
                part.duration[members],
                kind,
                included[inside][columns],
            )
        counts["n"][..., group] = included[inside].sum(axis=1)
        counts["n_missing"][..., group] = part.gaps.missing[inside].sum(axis=1)
        counts["n_undefined"][..., group] = part.gaps.undefined[inside].sum(axis=1)
        n_tracks[group] = len(members)
    return {"value": value, **counts, "n_tracks": n_tracks}


_LONG_NAMES = {
    "value": "aggregate over tracks",
    "n": "number of scores that count",
    "n_missing": "number of cells without a score",
    "n_undefined": "number of scores with nothing to measure",
    "n_tracks": "number of tracks asked for",
}


def _label(part: _Part, answer: Answer, kinds: list[str], grouping: Grouping) -> xr.Dataset:
    """The answer as a dataset, with the coordinates of its systems and metrics."""
    import xarray as xr

    dims = ("system", "metric", *grouping.values)
    variables = {}
    for name, array in answer.items():
        own = dims if name != "n_tracks" else dims[2:]
        shape = (*array.shape[:-1], *grouping.shape)
        variables[name] = (own, array.reshape(shape), {"long_name": _LONG_NAMES[name]})
    kept = {name: c.variable for name, c in part.ds.coords.items() if c.dims in (("system",), ("metric",))}
    dropped = set(grouping.values) & set(kept)
    if dropped:
        raise QueryError(f"by {sorted(dropped)[0]!r}: the name is taken by a coordinate of systems or metrics")
    return xr.Dataset(variables, {**kept, "aggregate": ("metric", kinds), **grouping.values})
