"""Metrics with extra dims, such as confusion matrices, over the tracks of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..metrics.base import Measure
from ..ragged import Bool, Float, Int
from .aggregate import origin_of
from .answer import LONG_NAMES
from .choosing import choose_tracks
from .derived import over_of, own_dims, refuse_annotators, refuse_nominal, say_over
from .entries import Entries
from .grouping import Grouping, filled_groups, group_values
from .names import AGGREGATES, CLASS_AGGREGATES, ORDER_AGGREGATES, RATIO_AGGREGATES, TABLE_AGGREGATES, table_aggregates
from .part import list_missing, sort_systems
from .policies import are_apart, check_policies, find_gaps, included_scores
from .question import ORDERS, Names, Question
from .ratios import SIDE, rate, tell_outcomes
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
    low, high : float64 (systems, groups, extra dims) or None
        Ends of confidence intervals, NaN where there is none.
    like_best : bool (systems, groups, extra dims) or None
        Whether a system is not told apart from the best one.
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
    low: Float | None = None
    high: Float | None = None
    like_best: Bool | None = None

    @property
    def is_score(self) -> bool:
        """Whether NaN is no entry, as of scores, and not 0, as of counts or seconds, which add up."""
        return self.orientation != "none" or self.nominal

    @property
    def n_counted(self) -> Int:
        """How many tracks count in all groups together, for each system: int64 (systems,)."""
        return np.asarray(self.n.sum(axis=-1))

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
        variables: dict[str, tuple[tuple[str, ...], Array, dict[str, str]]] = {
            "n_values": ((*outer, *self.labels), number, {"long_name": "number of tracks with a value"}),
            "value": ((*outer, *self.labels), value, {"long_name": "aggregate over tracks", "units": self.unit}),
            "n": (outer, self.n.reshape(count), {"long_name": "number of tracks that count"}),
            "n_missing": (outer, self.n_missing.reshape(count), {"long_name": "number of cells without a score"}),
            "n_tracks": (outer[1:], self.n_tracks.reshape(sizes), {"long_name": "number of tracks asked for"}),
        }
        for name, ends in (("low", self.low), ("high", self.high)):
            if ends is not None:
                about = {"long_name": LONG_NAMES[name], "units": self.unit}
                variables[name] = ((*outer, *self.labels), ends.reshape(value.shape), about)
        if self.like_best is not None:
            marks = self.like_best.reshape(value.shape)
            variables["like_best"] = ((*outer, *self.labels), marks, {"long_name": LONG_NAMES["like_best"]})
        coords = {"system": np.array(self.systems, dtype=str), **self.groupings}
        coords |= {name: np.array(labels, dtype=str) for name, labels in self.labels.items()}
        along = {name: ("system", values) for name, values in self.system_coords.items()}
        said = {"metric": self.metric, "aggregate": self.aggregate}
        return xr.Dataset(variables, {**along, **coords}, {**self.attrs, **said})


@dataclass(frozen=True)
class Chosen:
    """What a question selects of a metric with extra dims.

    Parameters
    ----------
    board : Scoreboard
    measure : Measure
    sibling : Sibling
    kind : str
        The aggregate over tracks.
    over : mapping of str to str
        Reductions within each track, by the dims of the variable.
    labels : mapping of str to tuple of str
        The dims that are left, with their labels.
    systems, tracks : list of int
        Positions on the board, in the order of the answer.
    missing : str
        The policy.
    included, lacking : bool (systems, tracks)
        The cells that count, and those without a score.
    grouping : Grouping
    """

    board: Scoreboard
    measure: Measure
    sibling: Sibling
    kind: str
    over: Mapping[str, str]
    labels: Mapping[str, tuple[str, ...]]
    systems: list[int]
    tracks: list[int]
    missing: str
    included: Bool
    lacking: Bool
    grouping: Grouping

    @property
    def is_ratio(self) -> bool:
        """Whether the figures are ratios of what was counted."""
        return self.kind in RATIO_AGGREGATES

    @property
    def system_names(self) -> list[str]:
        """The systems by name."""
        return [self.board.systems[place] for place in self.systems]

    @property
    def entries(self) -> Entries:
        """The entries, ready to be aggregated."""
        metric = self.measure.metric
        valued = self.kind in ORDER_AGGREGATES or metric.nominal or metric.orientation != "none"
        return Entries(self.sibling, self.over, "sum" if self.is_ratio else self.kind, valued)

    def outcomes(self, counts: Float) -> tuple[Float, Mapping[str, tuple[str, ...]]]:
        """What the ratios are read off, from counts (n, dims left): (n, dims, 4), and the labels of these dims."""
        return tell_outcomes(self.kind, str(self.measure), counts, self.labels, own_dims(self.sibling))

    def rates(self, counts: Float) -> tuple[Float, Mapping[str, tuple[str, ...]]]:
        """The ratios of counts (systems, groups, dims left), and the labels of what is left then."""
        told, labels = self.outcomes(counts.reshape(counts.shape[0] * counts.shape[1], *counts.shape[2:]))
        found = rate(self.kind, told)
        return found.reshape(*counts.shape[:2], *found.shape[1:]), labels


def choose_extra(board: Scoreboard, variable: str, question: Question) -> Chosen:
    """What a question selects of a metric with extra dims; parameters and exceptions are those of :func:`ask_extra`."""
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
    scored = kind in CLASS_AGGREGATES or measure.metric.orientation != "none"
    if missing == "zero" and lacking.any() and scored:
        raise QueryError(f"metric {measure}: it is not known what missing scores count for; choose skip or common")
    labels = {dim: own for dim, own in zip(sibling.dims[2:], sibling.labels(), strict=True) if dim not in over}
    if kind in ORDER_AGGREGATES:
        if over:
            raise QueryError(f"aggregate {kind!r} puts all tracks in order: nothing can be reduced within them before")
        labels = {dim: own for dim, own in labels.items() if own_dims(sibling)[dim] != SIDE}
    grouping = Grouping.of(board, tracks, as_names(question.by) or [])
    cells = (systems, tracks, missing, included, lacking)
    return Chosen(board, measure, sibling, kind, over, labels, *cells, grouping)


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
    return answer_extra(choose_extra(board, variable, question), group)


def answer_extra(chosen: Chosen, group: str = "") -> ExtraAnswer:
    """The figures of what was selected."""
    grouping, metric, labels = chosen.grouping, chosen.measure.metric, chosen.labels
    shape = (len(chosen.systems), grouping.count)
    value: Float = np.empty((*shape, *map(len, labels.values())))
    number: Int = np.empty(value.shape, dtype=np.int64)
    counts: Int = np.zeros((2, *shape), dtype=np.int64)
    table, tracks = chosen.entries, np.array(chosen.tracks, dtype=np.int64)
    for row, system in enumerate(chosen.systems):
        for flag, count in zip((chosen.included, chosen.lacking), counts, strict=True):
            count[row] = np.bincount(grouping.codes[flag[row]], minlength=shape[1])
        inside = tracks[chosen.included[row]], grouping.codes[chosen.included[row]]
        value[row], number[row] = table.over_tracks(system, *inside, shape[1])
    if chosen.is_ratio:
        value, labels = chosen.rates(value)
        number = np.broadcast_to(counts[0].reshape(*shape, *[1] * len(labels)), value.shape)
    said, rated = say_over(chosen.over), chosen.kind in CLASS_AGGREGATES
    attrs = {**origin_of(chosen.board, group, chosen.system_names), "missing": chosen.missing}
    return ExtraAnswer(
        str(chosen.measure),
        chosen.kind,
        "" if rated else str(chosen.sibling.attrs.get("units", "")).removeprefix("1"),
        chosen.system_names,
        {name: values[chosen.systems] for name, values in chosen.board.coords["system"].items()},
        grouping.values,
        labels,
        value,
        counts[0],
        counts[1],
        np.bincount(grouping.codes, minlength=grouping.count).astype(np.int64),
        {**attrs, "over": said} if said else attrs,
        number,
        "higher" if rated else metric.orientation,
        metric.nominal,
    )


def _sorted_systems(board: Scoreboard, variable: str, question: Question) -> Names:
    """The systems in the order asked for, which may be that of the metric's own figures."""
    if question.sort in (None, *ORDERS) or variable not in split_names(board, question.sort)[1]:
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
