"""Values of classes and tags: counts, ratios and confusions over the tracks of an evaluation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..kernels.agreement import COUNTED, NONE, Outcomes
from ..kernels.ranking import Ordered
from ..metrics.aggregates import (
    CLASS_AGGREGATES,
    DECLARED,
    ORDER_AGGREGATES,
    RATIO_AGGREGATES,
    Aggregate,
    table_aggregates,
)
from ..metrics.measures import Measure
from ..ragged import Bool, Float, Int
from .aggregation import LONG_NAMES, list_missing, name_dims, origin_of, sort_systems, system_coordinates
from .dims import TRACKS, over_of, own_dims, reduce_over, refuse_annotators, refuse_nominal, say_over
from .missing import are_apart, check_policies, find_gaps, included_scores
from .scores import Array, Grouping, arrays_of, coords_of, filled_groups, group_values, labels_of, names_of
from .selection import (
    BEST,
    ORDERS,
    Names,
    Question,
    as_names,
    choose_tracks,
    find_labels,
    find_measures,
    has_parameters,
    split_names,
)

if TYPE_CHECKING:
    import xarray as xr

CONFUSED = ("ref_class", "est_class")
OUTCOME, SIDE, CLASS, COUNT = "outcome", "side", "class", "count"

Labels = Mapping[str, tuple[str, ...]]


def rate(kind: str, outcomes: Float) -> Float:
    """A ratio of each class or tag from outcomes that were added up over tracks.

    Parameters
    ----------
    kind : str
        A name of :data:`mirflow.metrics.aggregates.RATIO_AGGREGATES`.
    outcomes : float64 (..., 4)
        As :func:`tell_outcomes` gives them, or sums of these.

    Returns
    -------
    float64 (...)
        NaN where there is nothing to measure.
    """
    of_outcomes = RATIO_AGGREGATES[kind].outcomes
    assert of_outcomes is not None
    return of_outcomes(Outcomes.of_counts(outcomes, outcomes.ndim - 1))


def tell_outcomes(
    kind: str, metric: str, counts: Float, labels: Labels, own: Mapping[str, str]
) -> tuple[Float, Labels]:
    """What the ratios of classes or tags are read off: far less than a confusion matrix, and it adds up like it.

    Parameters
    ----------
    kind, metric : str
        For messages.
    counts : float64 (n, dims)
        Of single tracks, or sums over tracks.
    labels : mapping of str to tuple of str
        The dims that are left, in order.
    own : mapping of str to str
        The metric's own names of the dims, by the names that they have in the store.

    Returns
    -------
    outcomes : float64 (n, dims that are left, 4)
        In the order of :data:`mirflow.kernels.agreement.COUNTED`.
    labels : mapping of str to tuple of str
        Confusions are left with the dim ``class``, outcomes without their own.

    Raises
    ------
    QueryError
        If a dim that the ratio is read off was reduced.
    """
    names = [own.get(dim, dim) for dim in labels]
    if OUTCOME in names:
        axis = names.index(OUTCOME)
        place = list(labels.values())[axis]
        counts = np.take(counts, [place.index(one) for one in COUNTED], axis=1 + axis)
        kept = {dim: one for dim, one in labels.items() if own.get(dim, dim) != OUTCOME}
        return np.moveaxis(counts, 1 + axis, -1), kept
    if COUNT in names:
        return _of_matches(counts, labels, names.index(COUNT))
    if names != list(CONFUSED):
        raise QueryError(f"aggregate {kind!r} is read off all of {metric}: reduce none of its classes or outcomes")
    classes, square = _square(counts, *labels.values())
    found = Outcomes.of_confusion(square)
    named = [place for place, name in enumerate(classes) if name != NONE]
    told = np.stack([found.hit, found.false_alarm, found.miss, found.rejection], axis=-1)[:, named]
    return told, {CLASS: tuple(classes[place] for place in named)}


def _of_matches(counts: Float, labels: Labels, axis: int) -> tuple[Float, Labels]:
    """Outcomes of events or notes: what was matched, and what each side has; nothing is rightly left out."""
    dim = list(labels)[axis]
    matched, reference, estimate = (
        np.take(counts, labels[dim].index(name), axis=1 + axis) for name in ("matched", "reference", "estimate")
    )
    found = {"hit": matched, "false_alarm": estimate - matched, "miss": reference - matched}
    outcomes = [found.get(name, np.zeros_like(matched)) for name in COUNTED]
    return np.stack(outcomes, axis=-1), {name: one for name, one in labels.items() if name != dim}


def _square(counts: Float, reference: Sequence[str], estimate: Sequence[str]) -> tuple[list[str], Float]:
    """A confusion over the same classes on both sides."""
    classes = list(dict.fromkeys([*reference, *estimate]))
    square = np.zeros((len(counts), len(classes), len(classes)))
    rows, columns = ([classes.index(name) for name in side] for side in (reference, estimate))
    square[:, np.array(rows, dtype=np.int64)[:, np.newaxis], columns] = counts
    return classes, square


def order(kind: str, values: Float, side: int) -> tuple[Float, Int]:
    """A figure of each tag over some clips, by relevance and affinity.

    Parameters
    ----------
    kind : str
        A name of :data:`mirflow.metrics.aggregates.ORDER_AGGREGATES`.
    values : float64 (tracks, dims)
        NaN where a track is not about a tag.
    side : int
        The axis that holds relevance and affinity.

    Returns
    -------
    value : float64 (tags,)
        NaN where there is nothing to order.
    number : int64 (tags,)
        How many tracks are about the tag.
    """
    relevance, affinity = np.moveaxis(values, side, 0)
    tags = relevance.shape[1]
    there = ~np.isnan(relevance)
    row = np.broadcast_to(np.arange(tags), relevance.shape)[there]
    ordered = Ordered.of(row, relevance[there] > 0, affinity[there], tags)
    of_ordered = ORDER_AGGREGATES[kind].ordered
    assert of_ordered is not None
    return of_ordered(ordered), there.sum(axis=0).astype(np.int64)


@dataclass(frozen=True)
class Entries:
    """The entries of a metric with extra dims, ready to be aggregated over tracks.

    Parameters
    ----------
    table : xr.DataArray
    over : mapping of str to str
        Reductions within each track.
    kind : str
        ``sum``, or an aggregate of scores or affinities.
    score : bool
        Whether NaN is left out of what counts; else it is 0, as of a class that does not occur.
    """

    table: xr.DataArray
    over: Mapping[str, str]
    kind: str
    score: bool

    def over_tracks(self, system: int, tracks: Int, groups: Int, count: int) -> tuple[Float, Int]:
        """The aggregate of each group of tracks, and how many tracks have a value: (groups, dims left) each."""
        if self.kind in ORDER_AGGREGATES:
            return self._ordered(system, tracks, groups, count)
        inner = self._sizes()
        total: Float = np.zeros((count, *inner))
        number: Int = np.zeros(total.shape, dtype=np.int64)
        kept: list[tuple[Int, Float]] = []
        statistic = DECLARED[self.kind].statistic
        for own, values in self._read(system, tracks, groups):
            there = ~np.isnan(values)
            if statistic:
                kept.append((own, values))
            for group in np.unique(own).tolist():
                inside = own == group
                with np.errstate(invalid="ignore"):
                    total[group] += np.where(there[inside], values[inside], 0.0).sum(axis=0)
                number[group] += there[inside].sum(axis=0)
        if statistic:
            return self._statistics(kept, total), number
        divisor = number.astype(np.float64) if self.kind == "mean" else np.ones(total.shape)
        return total / np.where(number > 0, divisor, np.nan), number

    def each(self, system: int, tracks: Int, tell: Callable[[Float], Float] | None = None) -> Float:
        """What each track says: float64 (tracks, dims left); NaN, or of what is counted 0, where it says nothing.

        Parameters
        ----------
        system : int
        tracks : int64 (n,)
        tell : callable or None
            What is made of some tracks at a time, so that all of it fits the memory.
        """
        tell = tell or _as_it_is
        found: Float = np.zeros((len(tracks), *tell(np.zeros((0, *self._sizes()))).shape[1:]))
        for place, values in self._read(system, tracks, np.arange(len(tracks))):
            found[place] = tell(values)
        return found

    @property
    def side(self) -> int:
        """The axis, counted after that of the tracks, along which relevance and affinity lie."""
        return list(own_dims(self.table).values()).index(SIDE)

    def _sizes(self) -> list[int]:
        return [len(own) for dim, own in labels_of(self.table).items() if dim not in self.over]

    def _read(self, system: int, tracks: Int, groups: Int) -> Iterator[tuple[Int, Float]]:
        """Groups and entries of some tracks at a time: dense values are large."""
        labels = labels_of(self.table)
        for start in range(0, int(tracks.max(initial=-1)) + 1, TRACKS):
            here = (tracks >= start) & (tracks < start + TRACKS)
            if here.any():
                values = self.table[system, start : start + TRACKS].values[tracks[here] - start]
                values = values if self.score else np.nan_to_num(values)
                yield groups[here], reduce_over(values, labels, self.over)

    def _ordered(self, system: int, tracks: Int, groups: Int, count: int) -> tuple[Float, Int]:
        """A figure of each tag over the tracks of each group in order of affinity."""
        sizes = list(map(len, labels_of(self.table).values()))
        parts = list(self._read(system, tracks, groups))
        own = np.concatenate([np.zeros(0, dtype=np.int64), *(part for part, _ in parts)])
        values = np.concatenate([np.zeros((0, *sizes)), *(part for _, part in parts)])
        found = [order(self.kind, values[own == group], 1 + self.side) for group in range(count)]
        return np.stack([value for value, _ in found]), np.stack([number for _, number in found])

    def _statistics(self, kept: list[tuple[Int, Float]], like: Float) -> Float:
        found = np.full_like(like, np.nan)
        if kept:
            groups, values = (np.concatenate(parts) for parts in zip(*kept, strict=True))
            for group in np.unique(groups).tolist():
                ordered = np.moveaxis(np.sort(values[groups == group], axis=0), 0, -1)
                found[group] = DECLARED[self.kind].of_ordered(ordered, (~np.isnan(ordered)).sum(axis=-1))
        return found


def _as_it_is(values: Float) -> Float:
    return values


_MEANS = frozenset(("macro", "normalised", "normalized", "balanced", "unweighted"))
_MICRO = "micro"


def rated_kind(ds: xr.Dataset, question: Question) -> str | None:
    """The aggregate of a question about figures that are read off all tracks together; None for any other question.

    Parameters
    ----------
    ds : xr.Dataset
    question : Question
        Where it names no aggregate, that of its metric counts, which of affinities is the area under the curve.
    """
    if question.aggregate is not None:
        return question.aggregate if question.aggregate in CLASS_AGGREGATES else None
    numbers, variables = split_names(ds, question.metric, exact=question.exact)
    if numbers or not variables:
        return None
    measures = find_measures(ds)
    kinds = {next(iter(_aggregates(ds, one))) for one in variables if measures[one].metric.orientation == "none"}
    return kinds.pop() if len(kinds) == 1 and kinds <= {*ORDER_AGGREGATES} else None


def rated_variables(ds: xr.Dataset, question: Question) -> list[str]:
    """The variables of a question about metrics with classes or tags: those of all stored parameters, or of its own.

    Empty where it also names metrics that are one number.
    """
    numbers, variables = split_names(ds, question.metric, exact=question.exact)
    measures = find_measures(ds)
    return [] if numbers else [one for one in variables if has_parameters(measures[one], question.param)]


def rated_variable(ds: xr.Dataset, question: Question) -> str | None:
    """The one variable of such a question: where several parameters are stored that of the default ones."""
    variables = rated_variables(ds, question)
    if len(variables) > 1:
        measures = find_measures(ds)
        variables = [one for one in variables if str(measures[one]) == measures[one].metric.name]
    return variables[0] if len(variables) == 1 else None


def has_classes(ds: xr.Dataset, variable: str) -> bool:
    """Whether figures of classes or tags are read off a metric."""
    return not CLASS_AGGREGATES.keys().isdisjoint(_aggregates(ds, variable))


def explain_name(name: str, boards: Iterable[xr.Dataset]) -> str:
    """How to ask for what is no metric but a figure of a metric with classes or tags: of a ``balanced_accuracy``.

    Parameters
    ----------
    name : str
        As others call it: macro and micro averages, class-normalised and balanced accuracy.
    boards : iterable of xr.Dataset
        What was asked.

    Returns
    -------
    str
        Empty where the name is none of these, or nothing was counted that it could be read off.
    """
    words = {word for word in re.split(r"[^a-z0-9]+", name.lower()) if word}
    kind, mean = _aggregate_named(words), bool(words & _MEANS)
    if kind is None or mean == (_MICRO in words):
        return ""
    found = [said for ds in boards for said in _sayings(ds, kind, words, mean)]
    return f"it is read off all tracks together: {' or '.join(dict.fromkeys(found))}" if found else ""


def _aggregate_named(words: set[str]) -> str | None:
    """The aggregate that some words are about."""
    if "auc" in words:
        return "roc_auc"
    if {"average", "precision"} <= words or "map" in words:
        return "average_precision"
    if words & {"f", "f1", "fscore", "fmeasure", "f1score"}:
        return "f_measure"
    return next((kind for kind in ("precision", "recall", "accuracy") if kind in words), None)


def _sayings(ds: xr.Dataset, kind: str, words: set[str], mean: bool) -> Iterable[str]:
    """The questions to one evaluation that answer."""
    for variable, measure in find_measures(ds).items():
        dims = measure.metric.dims
        if kind not in _aggregates(ds, variable):
            continue
        if "tag" in dims:
            reduced = "--across tag=mean" if mean else "--over tag=sum"
            if mean or kind in RATIO_AGGREGATES:
                yield f"-m {measure} -a {kind} {reduced}"
        elif mean:
            # The accuracy of a class is that of its own tracks, which is their recall.
            yield f"-m {measure} -a {'recall' if kind == 'accuracy' else kind} --across class=mean"


def _aggregates(ds: xr.Dataset, variable: str) -> Mapping[str, Aggregate]:
    metric = find_measures(ds)[variable].metric
    return table_aggregates(metric.orientation, metric.dims)


@dataclass(frozen=True)
class ExtraAnswer:
    """Figures over tracks of one metric with extra dims.

    Parameters
    ----------
    metric, aggregate, unit : str
    systems : list of str
    system_coords : mapping of str to array
    groupings : mapping of str to array
        As in :class:`mirflow.analysis.aggregation.Answer`.
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

        A grouping that has the name of something else is ``track_<name>``; a coordinate of systems that has the name
        of a grouping is ``system_<name>``.
        """
        import xarray as xr

        taken = ("n_values", "value", "n", "n_missing", "n_tracks", "low", "high", "like_best")
        groupings = name_dims(self.groupings, (*taken, *self.labels, "system"))
        sizes = tuple(len(values) for values in groupings.values())
        outer = ("system", *groupings)
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
        coords = {"system": np.array(self.systems, dtype=str), **groupings}
        coords |= {name: np.array(labels, dtype=str) for name, labels in self.labels.items()}
        along = system_coordinates(self.system_coords, groupings, (*taken, *self.labels))
        about = {"metric": self.metric, "aggregate": self.aggregate, "orientation": self.orientation}
        about |= {"nominal": "yes"} if self.nominal else {}
        return xr.Dataset(variables, {**along, **coords}, {**self.attrs, **about})


@dataclass(frozen=True)
class Chosen:
    """What a question selects of a metric with extra dims.

    Parameters
    ----------
    ds : xr.Dataset
        The systems and tracks, in the order of the answer.
    measure : Measure
    table : xr.DataArray
        Values over (system, track, extra dims).
    kind : str
        The aggregate over tracks.
    over : mapping of str to str
        Reductions within each track, by the dims of the variable.
    labels : mapping of str to tuple of str
        The dims that are left, with their labels.
    missing : str
        The policy.
    included, lacking : bool (systems, tracks)
        The cells that count, and those without a score.
    grouping : Grouping
    """

    ds: xr.Dataset
    measure: Measure
    table: xr.DataArray
    kind: str
    over: Mapping[str, str]
    labels: Mapping[str, tuple[str, ...]]
    missing: str
    included: Bool
    lacking: Bool
    grouping: Grouping

    @property
    def is_ratio(self) -> bool:
        """Whether the figures are ratios of what was counted."""
        return self.kind in RATIO_AGGREGATES

    @property
    def entries(self) -> Entries:
        """The entries, ready to be aggregated."""
        metric = self.measure.metric
        valued = self.kind in ORDER_AGGREGATES or metric.nominal or metric.orientation != "none"
        return Entries(self.table, self.over, "sum" if self.is_ratio else self.kind, valued)

    def outcomes(self, counts: Float) -> tuple[Float, Mapping[str, tuple[str, ...]]]:
        """What the ratios are read off, from counts (n, dims left): (n, dims, 4), and the labels of these dims."""
        return tell_outcomes(self.kind, str(self.measure), counts, self.labels, own_dims(self.table))

    def rates(self, counts: Float) -> tuple[Float, Mapping[str, tuple[str, ...]]]:
        """The ratios of counts (systems, groups, dims left), and the labels of what is left then."""
        told, labels = self.outcomes(counts.reshape(counts.shape[0] * counts.shape[1], *counts.shape[2:]))
        found = rate(self.kind, told)
        return found.reshape(*counts.shape[:2], *found.shape[1:]), labels


def choose_extra(ds: xr.Dataset, variable: str, question: Question) -> Chosen:
    """What a question selects of a metric with extra dims; parameters and exceptions are those of :func:`ask_extra`."""
    measure, table = find_measures(ds)[variable], ds[variable]
    kind, over = _aggregate_of(question.aggregate, measure), over_of(table, str(measure), question)
    systems = find_labels(ds, "system", _sorted_systems(ds, variable, question))
    refuse_annotators(ds, question, str(measure))
    ds = choose_tracks(ds, replace(question, param=None)).isel(system=systems)
    table = ds[variable]
    if measure.metric.nominal and ds.sizes["track"] > 1 and "track" not in (as_names(question.by) or []):
        raise QueryError(refuse_nominal(measure))
    _, _, status, duration = arrays_of(ds.isel(metric=[]))
    missing = question.policy(len(systems), apart=are_apart(ds.attrs, status))
    check_policies(missing, question.undefined)
    # There is no weight here; what has a reference that lasts would have had one.
    weight = np.broadcast_to((duration > 0)[:, np.newaxis], (*status.shape, 1)).astype(np.float64)
    gaps = find_gaps(np.zeros_like(weight), weight, status, duration)
    lacking = gaps.missing[..., 0]
    if missing == "raise" and lacking.any():
        raise QueryError(list_missing(names_of(ds, "system"), names_of(ds, "track"), lacking, status))
    included = included_scores(np.zeros_like(weight), weight, gaps, missing, "keep")[1][..., 0]
    scored = kind in CLASS_AGGREGATES or measure.metric.orientation != "none"
    if missing == "zero" and lacking.any() and scored:
        raise QueryError(f"metric {measure}: it is not known what missing scores count for; choose skip or common")
    labels = {dim: own for dim, own in labels_of(table).items() if dim not in over}
    if kind in ORDER_AGGREGATES:
        if over:
            raise QueryError(f"aggregate {kind!r} puts all tracks in order: nothing can be reduced within them before")
        labels = {dim: own for dim, own in labels.items() if own_dims(table)[dim] != SIDE}
    grouping = Grouping.of(ds, as_names(question.by) or [])
    return Chosen(ds, measure, table, kind, over, labels, missing, included, lacking, grouping)


def ask_extra(ds: xr.Dataset, variable: str, question: Question, group: str = "") -> ExtraAnswer:
    """A metric with extra dims over the tracks: of counts the sum or the mean, of scores the mean or the median.

    Parameters
    ----------
    ds : xr.Dataset
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
    return answer_extra(choose_extra(ds, variable, question), group)


def answer_extra(chosen: Chosen, group: str = "") -> ExtraAnswer:
    """The figures of what was selected."""
    grouping, metric, labels = chosen.grouping, chosen.measure.metric, chosen.labels
    systems = names_of(chosen.ds, "system")
    shape = (len(systems), grouping.count)
    value: Float = np.empty((*shape, *map(len, labels.values())))
    number: Int = np.empty(value.shape, dtype=np.int64)
    counts: Int = np.zeros((2, *shape), dtype=np.int64)
    table = chosen.entries
    for row in range(len(systems)):
        for flag, count in zip((chosen.included, chosen.lacking), counts, strict=True):
            count[row] = np.bincount(grouping.codes[flag[row]], minlength=shape[1])
        tracks = np.flatnonzero(chosen.included[row])
        value[row], number[row] = table.over_tracks(row, tracks, grouping.codes[tracks], shape[1])
    if chosen.is_ratio:
        value, labels = chosen.rates(value)
        number = np.broadcast_to(counts[0].reshape(*shape, *[1] * len(labels)), value.shape)
    said, rated = say_over(chosen.over), chosen.kind in CLASS_AGGREGATES
    attrs = {**origin_of(chosen.ds, group, systems), "missing": chosen.missing}
    return ExtraAnswer(
        str(chosen.measure),
        chosen.kind,
        "" if rated else str(chosen.table.attrs.get("units", "")).removeprefix("1"),
        systems,
        coords_of(chosen.ds, "system"),
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


def _sorted_systems(ds: xr.Dataset, variable: str, question: Question) -> Names:
    """The systems in the order asked for, which may be that of the metric's own values, over all of its dims."""
    if question.sort == BEST:
        return _best_first(ds, variable, question)
    if question.sort in (None, *ORDERS) or variable not in split_names(ds, question.sort)[1]:
        return sort_systems(ds, question)
    found = ask_extra(ds, variable, replace(question, sort=None, by=None))
    if found.labels:
        left = ", ".join(found.labels)
        raise QueryError(f"sort {question.sort!r}: it has dims of its own ({left}); reduce them with over, --over")
    if not found.is_score:
        raise QueryError(f"sort {question.sort!r}: neither high nor low values of it are better")
    value = found.value[:, 0]
    order = np.argsort(value if found.orientation == "lower" else -value, kind="stable")
    return [found.systems[place] for place in order]


def _best_first(ds: xr.Dataset, variable: str, question: Question) -> Names:
    """The systems by the mean of their values; of counts, and of what is neither better nor worse, as they are."""
    measure = find_measures(ds)[variable].metric
    if measure.orientation == "none" and question.aggregate not in CLASS_AGGREGATES:
        return question.system
    found = ask_extra(ds, variable, replace(question, sort=None, by=None))
    if not found.is_score or found.orientation == "none":
        return question.system
    value = found.value.reshape(len(found.systems), -1)
    known = ~np.isnan(value)
    with np.errstate(invalid="ignore"):  # infinite ones of both signs
        total, count = np.where(known, value, 0.0).sum(axis=1), known.sum(axis=1)
    mean = np.divide(total, count, out=np.full(len(value), np.nan), where=count > 0)
    order = np.argsort(mean if found.orientation == "lower" else -mean, kind="stable")
    return [found.systems[place] for place in order]


def _aggregate_of(kind: str | None, measure: Measure) -> str:
    """The aggregate over tracks."""
    metric = measure.metric
    allowed = table_aggregates(metric.orientation, metric.dims)
    if kind is None:
        return next(iter(allowed)) if metric.orientation == "none" else metric.standard_aggregate
    if kind not in allowed:
        if kind not in DECLARED:
            raise UnknownNameError("aggregate", kind, allowed)
        raise QueryError(f"aggregate {kind!r} is not defined for metric {str(measure)!r}; it has: {', '.join(allowed)}")
    return kind
