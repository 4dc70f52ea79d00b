"""The tracks with the worst scores, or the best: where to look and listen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import QueryError
from ..ragged import Bool, Float, Int
from .aggregation import name_dims, origin_of, select
from .scores import Array, coords_of, names_of, texts_of
from .selection import Question

if TYPE_CHECKING:
    import xarray as xr


_TAKEN = ("system", "track", "rank", "value", "score", "weight", "n", "tied")


@dataclass(frozen=True)
class Extremes:
    """Tracks in the order of their scores, the worst (or the best) first.

    Parameters
    ----------
    metric, unit, orientation : str
    systems : list of str
    track : list of lists of str
        For each system its tracks; one list for all where the mean over the systems counts.
    score, weight : list of float64 (systems, tracks)
        Of the tracks of each list; of one system (systems being 1) where each has its own.
    value : list of float64 (tracks,)
        What the tracks are ordered by.
    coords : mapping of str to list of array (tracks,)
        Coordinates of the tracks.
    n : list of int
        How many tracks take part, of each list.
    tied : list of int
        How many tracks have the value of the last one of each list; 1 where it is alone, 0 where there is none.
    left_out : int
        Scores that do not take part: missing, or with nothing to measure where these are left out.
    overall, best : bool
    attrs : mapping of str to str
    """

    metric: str
    unit: str
    orientation: str
    systems: list[str]
    track: list[list[str]]
    score: list[Float]
    weight: list[Float]
    value: list[Float]
    coords: Mapping[str, list[Array]]
    n: list[int]
    tied: list[int]
    left_out: int
    overall: bool
    best: bool
    attrs: Mapping[str, str]

    def to_dataset(self) -> xr.Dataset:
        """``track``, ``value`` and ``weight`` over (system, rank); overall ``track``, ``value`` over rank.

        Overall ``score`` and ``weight`` are over (system, rank). Where a system has fewer tracks, ``track`` is empty.
        ``n`` is the number of tracks that take part, ``tied`` how many have the value of the last one. The tracks'
        coordinates, and ``annotator`` where annotators are asked for, lie along with ``track``.
        """
        import xarray as xr

        longest = max(map(len, self.track), default=0)

        def padded(columns: list[Array], fill: object) -> Array:
            kind = np.concatenate(columns).dtype if columns else np.dtype(np.float64)
            whole = np.full((len(columns), longest), fill, dtype=np.result_type(kind, np.asarray(fill).dtype))
            for row, column in zip(whole, columns, strict=True):
                row[: len(column)] = column
            return whole

        dims, shown = (("rank",), 0) if self.overall else (("system", "rank"), slice(None))
        along: dict[str, list[Array]] = {"track": [np.array(names, dtype=str) for names in self.track]}
        for name, columns in name_dims(self.coords, _TAKEN).items():
            numbers = all(column.dtype.kind in "if" for column in columns)
            along[name] = columns if numbers else [np.array(column.tolist(), dtype=str) for column in columns]
        coords: dict[str, Any] = {
            name: (dims, padded(columns, np.nan if columns and columns[0].dtype.kind in "if" else "")[shown])
            for name, columns in along.items()
        }
        coords |= {"rank": np.arange(1, longest + 1), "system": np.array(self.systems, dtype=str)}
        value = padded(self.value, np.nan)
        attrs = {**self.attrs, "metric": self.metric, "unit": self.unit, "left_out": str(self.left_out)}
        attrs["orientation"] = self.orientation
        if self.overall:
            both = ("system", "rank")
            scores = {"score": (both, self.score[0]), "weight": (both, self.weight[0])}
            one = {"n": ((), self.n[0]), "tied": ((), self.tied[0])}
            return xr.Dataset({"value": (dims, value[0]), **scores, **one}, coords, attrs)
        weight = padded([one[0] for one in self.weight], np.nan)
        counts = {"n": ("system", self.n), "tied": ("system", self.tied)}
        return xr.Dataset({"value": (dims, value), "weight": (dims, weight), **counts}, coords, attrs)


def extremes(
    ds: xr.Dataset,
    question: Question,
    count: int = 10,
    *,
    best: bool = False,
    overall: bool = False,
    group: str = "",
) -> Extremes:
    """The tracks with the worst scores of one metric, of each system or over all of them.

    Parameters
    ----------
    ds : xr.Dataset
    question : Question
        With one metric; its aggregate is not looked at. Without a policy what is missing is left out for each system,
        and overall only tracks take part that every system has.
    count : int
        How many tracks, at most.
    best : bool
        The best ones instead.
    overall : bool
        By the mean over the systems, instead of each system's own.
    group : str
        A name of the evaluation to carry along.

    Raises
    ------
    QueryError
        For several metrics, one with extra dims, or one of which neither high nor low values are better.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    if count < 1:
        raise QueryError(f"tracks to list: {count}; ask for one at least")
    part = _one_metric(ds, question, overall)
    score, weight, included = (part[name].values for name in ("score", "weight", "included"))
    lower = texts_of(part, "orientation")[0] == "lower"
    ordered = score[..., 0] if lower == best else -score[..., 0]
    chosen = _overall(ordered, included[..., 0], count) if overall else _each(ordered, included[..., 0], count)
    systems, names = names_of(part, "system"), names_of(part, "track")
    ties = _ties(ordered, included[..., 0], chosen, overall)
    rows = [slice(None)] if overall else [slice(row, row + 1) for row in range(len(systems))]
    scores = [score[row][:, own, 0] for row, own in zip(rows, chosen, strict=True)]
    attrs = {**origin_of(part, group, systems), **{name: part.attrs[name] for name in ("missing", "undefined")}}
    return Extremes(
        names_of(part, "metric")[0],
        texts_of(part, "unit")[0],
        texts_of(part, "orientation")[0],
        systems,
        [[names[place] for place in own.tolist()] for own in chosen],
        scores,
        [weight[row][:, own, 0] for row, own in zip(rows, chosen, strict=True)],
        [own.mean(axis=0) for own in scores],
        {name: [values[own] for own in chosen] for name, values in coords_of(part, "track").items()},
        [int(included[..., 0].all(axis=0).sum())] if overall else included[..., 0].sum(axis=1).tolist(),
        ties,
        int((~included).sum()),
        overall,
        best,
        {**attrs, "order": "best" if best else "worst"},
    )


def _one_metric(ds: xr.Dataset, question: Question, overall: bool) -> xr.Dataset:
    missing = question.missing or ("common" if overall else "skip")
    part = select(ds, replace(question, by=None, aggregate="mean", missing=missing), single=True)
    metrics = names_of(part, "metric")
    if len(metrics) != 1:
        raise QueryError(f"tracks are listed by one metric; name one of: {', '.join(metrics)}")
    if texts_of(part, "orientation")[0] == "none":
        raise QueryError(f"metric {metrics[0]!r}: neither high nor low values of it are better")
    return part


def _each(ordered: Float, included: Bool, count: int) -> list[Int]:
    """The first tracks of each system in ascending order; equal ones in the order of the tracks."""
    found = []
    for row, there in zip(ordered, included, strict=True):
        places = np.flatnonzero(there)
        found.append(places[np.argsort(row[places], kind="stable")][:count].astype(np.int64))
    return found


def _overall(ordered: Float, included: Bool, count: int) -> list[Int]:
    """The first tracks by the mean over the systems, of those that all have."""
    places = np.flatnonzero(included.all(axis=0))
    with np.errstate(invalid="ignore"):
        mean = ordered[:, places].mean(axis=0)
    return [places[np.argsort(mean, kind="stable")][:count].astype(np.int64)]


def _ties(ordered: Float, included: Bool, chosen: list[Int], overall: bool) -> list[int]:
    """How many tracks have the value of the last one that is listed."""
    with np.errstate(invalid="ignore"):
        values = ordered.mean(axis=0, keepdims=True) if overall else ordered
    known = np.asarray(included.all(axis=0, keepdims=True)) if overall else included
    lists = zip(values, known, chosen, strict=True)
    return [int((there & (row == row[own[-1]])).sum()) if len(own) else 0 for row, there, own in lists]
