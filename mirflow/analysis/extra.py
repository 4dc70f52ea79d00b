"""Metrics with extra dims, such as confusion matrices, over the tracks of an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..metrics.base import Measure
from ..ragged import Bool, Float, Int
from .aggregate import origin_of
from .choosing import choose_tracks
from .derived import TRACKS, over_of, own_dims, refuse_annotators, refuse_nominal, say_over
from .grouping import Grouping, filled_groups, group_values
from .names import AGGREGATES, CLASS_AGGREGATES, ORDER_AGGREGATES, RATIO_AGGREGATES, TABLE_AGGREGATES, table_aggregates
from .over import reduce_along, reduce_over
from .part import list_missing, sort_systems
from .policies import are_apart, check_policies, find_gaps, included_scores
from .question import Names, Question
from .ratios import SIDE, order, rate
from .scoreboard import Array, Scoreboard, Sibling
from .selection import as_names, find_labels, find_measures, split_names

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class ExtraAnswer:
    """Figures over tracks of one metric with extra dims.

    Parameters
    ----------
    metric, aggregate, unit : str
    systems : list of str
    system_coords : mapping of str to array
    groupings : mapping of str to array
        As in :class:`mirflow.analysis.answer.Answer`.
    labels : mapping of str to tuple of str
        Labels along each extra dim.
    value : float64 (systems, groups, extra dims)
        NaN where no track counts.
    n, n_missing : int64 (systems, groups)
        Tracks that count, and tracks without a score.
    n_tracks : int64 (groups,)
    attrs : mapping of str to str
    n_values : int64 (systems, groups, extra dims)
        Tracks with a value: of scores, some have none for a class or an instrument.
    orientation : str
        Which way is better; ``none`` for what is counted, such as a confusion matrix.
    nominal : bool
        Whether the numbers are names, those of single tracks.
    """

    metric: str
    aggregate: str
    unit: str
    systems: list[str]
    system_coords: Mapping[str, Array]
    groupings: Mapping[str, Array]
    labels: Mapping[str, tuple[str, ...]]
    value: Float
    n: Int
    n_missing: Int
    n_tracks: Int
    attrs: Mapping[str, str]
    n_values: Int
    orientation: str = "none"
    nominal: bool = False

    @property
    def is_score(self) -> bool:
        """Whether NaN is no entry, as of scores, and not 0, as of counts or seconds, which add up."""
        return self.orientation != "none" or self.nominal

    @property
    def filled(self) -> list[int]:
        """The groups that have tracks; the only one where nothing is grouped."""
        return filled_groups(self.groupings, self.n_tracks)

    def group(self, group: int) -> tuple[object, ...]:
        """The values that make a group."""
        return group_values(self.groupings, group)

    def to_dataset(self) -> xr.Dataset:
        """``value`` over (system, groupings, extra dims), ``n`` and ``n_missing`` over (system, groupings).

        Raises
        ------
        QueryError
            If a grouping has the name of another coordinate.
        """
        import xarray as xr

        for name in self.groupings:
            if name in self.labels or name in self.system_coords:
                raise QueryError(f"by {name!r}: the name is taken by a coordinate of the answer")
        sizes = tuple(len(values) for values in self.groupings.values())
        outer = ("system", *self.groupings)
        count = (len(self.systems), *sizes)
        value = self.value.reshape(*count, *self.value.shape[2:])
        number = self.n_values.reshape(value.shape)
        variables = {
            "n_values": ((*outer, *self.labels), number, {"long_name": "number of tracks with a value"}),
            "value": ((*outer, *self.labels), value, {"long_name": "aggregate over tracks", "units": self.unit}),
            "n": (outer, self.n.reshape(count), {"long_name": "number of tracks that count"}),
            "n_missing": (outer, self.n_missing.reshape(count), {"long_name": "number of cells without a score"}),
            "n_tracks": (outer[1:], self.n_tracks.reshape(sizes), {"long_name": "number of tracks asked for"}),
        }
        coords = {"system": np.array(self.systems, dtype=str), **self.groupings}
        coords |= {name: np.array(labels, dtype=str) for name, labels in self.labels.items()}
        along = {name: ("system", values) for name, values in self.system_coords.items()}
        said = {"metric": self.metric, "aggregate": self.aggregate}
        return xr.Dataset(variables, {**along, **coords}, {**self.attrs, **said})


def ask_extra(board: Scoreboard, variable: str, question: Question, group: str = "") -> ExtraAnswer:
    """A metric with extra dims over the tracks: of counts the sum or the mean, of scores the mean or the median.

    Parameters
    ----------
    board : Scoreboard
    variable : str
        One of :func:`mirflow.analysis.selection.find_tables`.
    question : Question
        Its metric and its parameters are not looked at. ``zero`` lets missing cells count as tracks without any time;
        of scores it is refused where something is missing.
    group : str
        A name of the evaluation to carry along.

    Raises
    ------
    QueryError
        For an aggregate that such a metric does not have, cells missing under ``raise``, or annotators.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    measure, sibling = find_measures(board)[variable], board.siblings[variable]
    kind, over = _kind(question.aggregate, measure), over_of(sibling, str(measure), question)
    systems = find_labels(board, "system", _sorted_systems(board, variable, question))
    refuse_annotators(board, question, str(measure))
    board, tracks = choose_tracks(board, replace(question, param=None))
    if measure.metric.nominal and len(tracks) > 1 and "track" not in (as_names(question.by) or []):
        raise QueryError(refuse_nominal(measure))
    missing = question.policy(len(systems), apart=are_apart(board.attrs, board.load(systems)[2][:, tracks]))
    check_policies(missing, question.undefined)
    included, lacking = _included(board, systems, tracks, missing)
    rated = kind in CLASS_AGGREGATES
    if missing == "zero" and lacking.any() and (rated or measure.metric.orientation != "none"):
        raise QueryError(f"metric {measure}: it is not known what missing scores count for; choose skip or common")
    grouping = Grouping.of(board, tracks, as_names(question.by) or [])
    labels = {dim: own for dim, own in zip(sibling.dims[2:], sibling.labels(), strict=True) if dim not in over}
    if kind in ORDER_AGGREGATES:
        if over:
            raise QueryError(f"aggregate {kind!r} puts all tracks in order: nothing can be reduced within them before")
        labels = {dim: own for dim, own in labels.items() if own_dims(sibling)[dim] != SIDE}
    shape = (len(systems), grouping.count)
    value: Float = np.empty((*shape, *map(len, labels.values())))
    number: Int = np.empty(value.shape, dtype=np.int64)
    counts: Int = np.zeros((2, *shape), dtype=np.int64)
    gathered = "sum" if kind in RATIO_AGGREGATES else kind
    valued = measure.metric.nominal or measure.metric.orientation != "none"
    table = Entries(sibling, over, gathered, kind in ORDER_AGGREGATES or valued)
    for row, system in enumerate(systems):
        for flag, count in zip((included, lacking), counts, strict=True):
            count[row] = np.bincount(grouping.codes[flag[row]], minlength=shape[1])
        inside = np.array(tracks, dtype=np.int64)[included[row]], grouping.codes[included[row]]
        value[row], number[row] = table.over_tracks(system, *inside, shape[1])
    if kind in RATIO_AGGREGATES:
        value, rated_labels = rate(kind, str(measure), value, labels, own_dims(sibling))
        labels = dict(rated_labels)
        number = np.broadcast_to(counts[0].reshape(*shape, *[1] * len(labels)), value.shape)
    said = say_over(over)
    return ExtraAnswer(
        str(measure),
        kind,
        "" if rated else str(sibling.attrs.get("units", "")).removeprefix("1"),
        [board.systems[place] for place in systems],
        {name: values[systems] for name, values in board.coords["system"].items()},
        grouping.values,
        labels,
        value,
        counts[0],
        counts[1],
        np.bincount(grouping.codes, minlength=grouping.count).astype(np.int64),
        {**origin_of(board, group), **({"over": said} if said else {}), "missing": missing},
        number,
        "higher" if rated else measure.metric.orientation,
        measure.metric.nominal,
    )


def _sorted_systems(board: Scoreboard, variable: str, question: Question) -> Names:
    """The systems in the order asked for, which may be that of the metric's own figures."""
    if question.sort is None or variable not in split_names(board, question.sort)[1]:
        return sort_systems(board, question)
    found = ask_extra(board, variable, replace(question, sort=None, by=None))
    if found.labels:
        left = ", ".join(found.labels)
        raise QueryError(f"sort {question.sort!r}: it has dims of its own ({left}); reduce them with over, --over")
    if not found.is_score:
        raise QueryError(f"sort {question.sort!r}: neither high nor low values of it are better")
    value = found.value[:, 0]
    order = np.argsort(value if found.orientation == "lower" else -value, kind="stable")
    return [found.systems[place] for place in order]


def _kind(kind: str | None, measure: Measure) -> str:
    """The aggregate over tracks."""
    metric = measure.metric
    allowed = table_aggregates(metric.orientation, metric.dims)
    if kind is None:
        return next(iter(allowed)) if metric.orientation == "none" else metric.standard_aggregate
    if kind not in allowed:
        if kind not in {**AGGREGATES, **TABLE_AGGREGATES, **CLASS_AGGREGATES}:
            raise UnknownNameError("aggregate", kind, allowed)
        raise QueryError(f"aggregate {kind!r} is not defined for metric {str(measure)!r}; it has: {', '.join(allowed)}")
    return kind


def _included(board: Scoreboard, systems: list[int], tracks: list[int], missing: str) -> tuple[Bool, Bool]:
    """The cells that count, and those without a score: bool (systems, tracks) each."""
    _, _, status, duration = board.load(systems)
    status, duration = status[:, tracks], duration[tracks]
    # There is no weight here; what has a reference that lasts would have had one.
    weight = np.broadcast_to((duration > 0)[:, np.newaxis], (*status.shape, 1)).astype(np.float64)
    gaps = find_gaps(np.zeros_like(weight), weight, status, duration)
    if missing == "raise" and gaps.missing.any():
        names = [board.systems[place] for place in systems], [board.tracks[place] for place in tracks]
        raise QueryError(list_missing(*names, gaps.missing[..., 0], status))
    _, included = included_scores(np.zeros_like(weight), weight, gaps, missing, "keep")
    return included[..., 0], gaps.missing[..., 0]


@dataclass(frozen=True)
class Entries:
    """The entries of a metric with extra dims, ready to be aggregated over tracks.

    Parameters
    ----------
    sibling : Sibling
    over : mapping of str to str
        Reductions within each track.
    kind : {"sum", "mean", "median", "roc_auc", "average_precision"}
    score : bool
        Whether NaN is left out of what counts; else it is 0, as of a class that does not occur.
    """

    sibling: Sibling
    over: Mapping[str, str]
    kind: str
    score: bool

    def over_tracks(self, system: int, tracks: Int, groups: Int, count: int) -> tuple[Float, Int]:
        """The aggregate of each group of tracks, and how many tracks have a value: (groups, dims left) each."""
        if self.kind in ORDER_AGGREGATES:
            return self._ordered(system, tracks, groups, count)
        inner = [len(own) for dim, own in self._labels() if dim not in self.over]
        total: Float = np.zeros((count, *inner))
        number: Int = np.zeros(total.shape, dtype=np.int64)
        kept: list[tuple[Int, Float]] = []
        for own, values in self._read(system, tracks, groups):
            there = ~np.isnan(values)
            if self.kind == "median":
                kept.append((own, values))
            for group in np.unique(own).tolist():
                inside = own == group
                with np.errstate(invalid="ignore"):
                    total[group] += np.where(there[inside], values[inside], 0.0).sum(axis=0)
                number[group] += there[inside].sum(axis=0)
        if self.kind == "median":
            return self._medians(kept, total), number
        divisor = number.astype(np.float64) if self.kind == "mean" else np.ones(total.shape)
        return total / np.where(number > 0, divisor, np.nan), number

    def _labels(self) -> list[tuple[str, tuple[str, ...]]]:
        return list(zip(self.sibling.dims[2:], self.sibling.labels(), strict=True))

    def _read(self, system: int, tracks: Int, groups: Int) -> Iterator[tuple[Int, Float]]:
        """Groups and entries of some tracks at a time: dense values are large."""
        labels = dict(self._labels())
        for start in range(0, int(tracks.max(initial=-1)) + 1, TRACKS):
            here = (tracks >= start) & (tracks < start + TRACKS)
            if here.any():
                values = self.sibling.read(system, slice(start, start + TRACKS))[tracks[here] - start]
                values = values if self.score else np.nan_to_num(values)
                yield groups[here], reduce_over(values, labels, self.over)

    def _ordered(self, system: int, tracks: Int, groups: Int, count: int) -> tuple[Float, Int]:
        """A figure of each tag over the tracks of each group in order of affinity."""
        side = [own_dims(self.sibling)[dim] for dim, _ in self._labels()].index(SIDE)
        sizes = [len(own) for _, own in self._labels()]
        parts = list(self._read(system, tracks, groups))
        own = np.concatenate([np.zeros(0, dtype=np.int64), *(part for part, _ in parts)])
        values = np.concatenate([np.zeros((0, *sizes)), *(part for _, part in parts)])
        found = [order(self.kind, values[own == group], 1 + side) for group in range(count)]
        return np.stack([value for value, _ in found]), np.stack([number for _, number in found])

    def _medians(self, kept: list[tuple[Int, Float]], like: Float) -> Float:
        found = np.full_like(like, np.nan)
        if kept:
            groups, values = (np.concatenate(parts) for parts in zip(*kept, strict=True))
            for group in np.unique(groups).tolist():
                found[group] = reduce_along(values[groups == group], 0, "median")
        return found
