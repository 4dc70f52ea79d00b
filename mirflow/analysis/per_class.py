"""Values of classes and tags (counts, ratios and confusions), and of other metrics with extra dims, over the tracks.

Such metrics are selected and aggregated here: from outcomes that are added up, from the order of affinities, or by the
mean or median over the tracks. A name that others use, such as balanced accuracy, leads to a hint at the query.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import QueryError, UnknownNameError
from ..kernels.outcomes import COUNTED, NONE, Outcomes, margins
from ..kernels.ranking import Ordered
from ..kernels.ratios import divide
from ..metrics.aggregates import (
    CLASS_AGGREGATES,
    CLASSES,
    DECLARED,
    ORDER_AGGREGATES,
    RATIO_AGGREGATES,
    STATISTICS,
    table_aggregates,
)
from ..metrics.measures import Measure
from ..ragged import Float, Int
from ..store.cells import Status
from .aggregation import LONG_NAMES, free_names, origin_of, ranked, sort_systems
from .dims import REDUCTIONS, TRACKS, over_of, reduce_over, refuse_annotators, refuse_nominal, table_of
from .lookup import CLASS, choose_tracks, classes_of, find_labels, find_measures, has_parameters, split_names
from .query_options import BEST, ORDERS, Names, Query, as_names
from .scores import computed, coords_of, group_tracks, labels_of, names_of, states_of, tables_of
from .selection import count_scores, has_score, list_missing, missing_policy

if TYPE_CHECKING:
    import xarray as xr

CONFUSED = ("ref_class", "est_class")
OUTCOME, SIDE, COUNT = "outcome", "side", "count"

Labels = Mapping[str, tuple[str, ...]]


def rate(kind: str, outcomes: Float) -> Float:
    """A ratio of each class or tag from outcomes that were added up over tracks.

    `kind`: a name of :data:`mirflow.metrics.aggregates.RATIO_AGGREGATES`, or the mean of scores. `outcomes` (float64
    (..., 4), or the size of the dim that the aggregate is along; of scores (..., 2)): as :func:`tell_outcomes` gives
    them, or sums of these; of scores themselves and how many there are. Returns float64 (...): NaN where there is
    nothing to measure.
    """
    if kind == MEAN:
        total, number = np.moveaxis(outcomes, -1, 0)
        return divide(total, number, np.nan)
    return RATIO_AGGREGATES[kind].of_sums(outcomes)


def tell_outcomes(kind: str, metric: str, counts: Float, labels: Labels) -> tuple[Float, Labels]:
    """Outcomes of classes or tags, from which ratios are computed: smaller than a confusion matrix, and additive.

    `counts` (float64 (n, dims)): of single tracks, or sums over tracks. Returns `outcomes` (float64 (n, dims that are
    left, 4)): in the order of :data:`mirflow.kernels.outcomes.COUNTED`; for an aggregate along a dim, this dim comes
    last. `labels`: confusions are left with the dim ``class``, outcomes without their own.
    """
    names, along = list(labels), RATIO_AGGREGATES[kind].along
    if along in names:
        axis = names.index(along)
        return np.moveaxis(counts, 1 + axis, -1), {dim: label for dim, label in labels.items() if dim != along}
    if along == CLASSES and names == list(CONFUSED):
        return margins(_square(counts, *labels.values())[1]), {}
    if along:
        raise QueryError(f"aggregate {kind!r} is read off all of {metric}: reduce nothing along its {along}")
    if OUTCOME in names:
        axis = names.index(OUTCOME)
        place = list(labels.values())[axis]
        counts = np.take(counts, [place.index(outcome) for outcome in COUNTED], axis=1 + axis)
        others = {dim: label for dim, label in labels.items() if dim != OUTCOME}
        return np.moveaxis(counts, 1 + axis, -1), others
    if COUNT in names:
        # Of events or notes from the numbers of matches and of items of each side; without true negatives.
        sides = ("matched", "reference", "estimate")
        places = [labels[COUNT].index(name) for name in sides]
        matched, reference, estimate = (np.take(counts, place, axis=1 + names.index(COUNT)) for place in places)
        found = {"hit": matched, "false_alarm": estimate - matched, "miss": reference - matched}
        outcomes = np.stack([found.get(name, np.zeros_like(matched)) for name in COUNTED], axis=-1)
        return outcomes, {name: label for name, label in labels.items() if name != COUNT}
    if names != list(CONFUSED):
        raise QueryError(f"aggregate {kind!r} is read off all of {metric}: reduce none of its classes or outcomes")
    classes, square = _square(counts, *labels.values())
    told = Outcomes.of_confusion(square)
    named = [index for index, name in enumerate(classes) if name != NONE]
    values = np.stack([told.hit, told.false_alarm, told.miss, told.rejection], axis=-1)[:, named]
    return values, {CLASS: tuple(classes[index] for index in named)}


def _square(counts: Float, reference: Sequence[str], estimate: Sequence[str]) -> tuple[list[str], Float]:
    """A confusion over the same classes on both sides."""
    classes = list(dict.fromkeys([*reference, *estimate]))
    square = np.zeros((len(counts), len(classes), len(classes)))
    rows, columns = ([classes.index(name) for name in side] for side in (reference, estimate))
    square[:, np.array(rows, dtype=np.int64)[:, np.newaxis], columns] = counts
    return classes, square


def order(kind: str, values: Float, side: int) -> tuple[Float, Int]:
    """A value of each tag over some clips, by relevance and affinity.

    `kind`: a name of :data:`mirflow.metrics.aggregates.ORDER_AGGREGATES`. `values` (float64 (tracks, dims)): NaN where
    a track is not about a tag. `side`: the axis that holds relevance and affinity. Returns `value` (float64 (tags,)):
    NaN where there is nothing to order. `number` (int64 (tags,)): how many tracks are about the tag.
    """
    relevance, affinity = np.moveaxis(values, side, 0)
    tags = relevance.shape[1]
    there = ~np.isnan(relevance)
    row = np.broadcast_to(np.arange(tags), relevance.shape)[there]
    ordered = Ordered.of(row, relevance[there] > 0, affinity[there], tags)
    return ORDER_AGGREGATES[kind].ordered(ordered), there.sum(axis=0).astype(np.int64)


@dataclass(frozen=True)
class TableSelection:
    """Selection of a query of a metric with extra dims."""

    ds: xr.Dataset
    """Systems and tracks, with ``_included`` and ``_missing`` over (system, track): the cells that count, and those
    without a score."""
    table: xr.DataArray
    """Values over (system, all tracks of the evaluation, extra dims), which are read a slice of tracks at a time."""
    places: Int
    """Where the tracks are in the table: int64 (tracks,)."""
    measure: Measure
    kind: str
    """The aggregate over tracks."""
    over: Mapping[str, str]
    """Reductions within each track, by the dims of the variable."""
    classes: str = ""
    """Of ratios that are read off a confusion: ``sum`` adds up the outcomes of all classes, a class is the only one;
    empty: each has its own. Of orders of affinities, ``sum`` puts the decisions of all tags into one order."""

    @property
    def adds_up(self) -> bool:
        """True if values are read off sums over the tracks: ratios of counts, and means of scores."""
        return self.kind in RATIO_AGGREGATES or (self.kind == MEAN and self.measure.metric.orientation != "none")

    @property
    def inner(self) -> Labels:
        """The dims that are left within the tracks, with their labels."""
        return {dim: names for dim, names in labels_of(self.table).items() if dim not in self.over}

    @property
    def labels(self) -> Labels:
        """The dims of the values over tracks: of affinities without that of relevance and affinity."""
        ordered = self.kind in ORDER_AGGREGATES
        return {} if ordered and self.classes else {k: v for k, v in self.inner.items() if not (ordered and k == SIDE)}

    def outcomes(self, counts: Float) -> tuple[Float, Labels]:
        """Outcomes for ratios, from counts (n, dims left): (n, dims, 4), and the labels of these dims.

        Of scores themselves and how many there are: (n, dims, 2).
        """
        if self.kind not in RATIO_AGGREGATES:
            there = ~np.isnan(counts)
            return np.stack([np.where(there, counts, 0.0), there], axis=-1), self.labels
        values, labels = tell_outcomes(self.kind, str(self.measure), counts, self.labels)
        if not self.classes:
            return values, labels
        if self.classes == "sum":
            return values.sum(axis=1), {}
        return values[:, labels[CLASS].index(self.classes)], {}

    def read(self, system: int) -> Iterator[tuple[Int, Float]]:
        """The tracks that count and their entries, some tracks at a time: dense values are large.

        Scores and affinities are NaN where they lack an entry; counts, as of a class that does not occur, are 0.
        """
        metric = self.measure.metric
        valued = self.kind in ORDER_AGGREGATES or metric.nominal or metric.orientation != "none"
        tracks = np.flatnonzero(self.ds["_included"].values[system])
        places, table, labels = self.places[tracks], self.table.variable, labels_of(self.table)
        for start in range(0, int(places.max(initial=-1)) + 1, TRACKS):
            here = (places >= start) & (places < start + TRACKS)
            if here.any():
                values = table[system, start : start + TRACKS].values[places[here] - start]
                yield tracks[here], reduce_over(values if valued else np.nan_to_num(values), labels, self.over)

    def read_all(self, system: int) -> Float:
        """Contribution of each track: float64 (tracks, dims left), 0 where it does not count or has no entry.

        Of confusion matrices, which may be large, only the outcomes of each class are kept: (tracks, classes, 4). An
        infinite score is in no sum, and what it would be added to is NaN.
        """
        nothing = np.zeros((0, *map(len, self.inner.values())))
        found = np.zeros((len(self.places), *(self.outcomes(nothing)[0] if self.adds_up else nothing).shape[1:]))
        for tracks, values in self.read(system):
            found[tracks] = self.outcomes(values)[0] if self.adds_up else values
        if self.adds_up:
            found[:, ~np.isfinite(found).all(axis=0)] = np.nan
        return found

    def over_tracks(self, system: int, codes: Int, groups: int) -> tuple[Float, Int]:
        """The aggregate of each group of tracks, and how many tracks have a value: (groups, dims) each."""
        total: Float = np.zeros((groups, *map(len, self.labels.values())))
        number: Int = np.zeros(total.shape, dtype=np.int64)
        keeps = self.kind in ORDER_AGGREGATES or self.kind in STATISTICS
        kept = [(np.zeros(0, dtype=np.int64), np.zeros((0, *map(len, self.inner.values()))))]
        for tracks, values in self.read(system):
            there = ~np.isnan(values)
            if keeps:
                kept.append((codes[tracks], values))
                continue
            for group in np.unique(codes[tracks]).tolist():
                inside = codes[tracks] == group
                with np.errstate(invalid="ignore"):
                    total[group] += np.where(there[inside], values[inside], 0.0).sum(axis=0)
                number[group] += there[inside].sum(axis=0)
        if keeps:
            side = [*self.inner, SIDE].index(SIDE)
            own, entries = (np.concatenate(parts) for parts in zip(*kept, strict=True))
            for group in range(groups):
                values = entries[own == group]
                if self.kind in STATISTICS:
                    ordered = np.moveaxis(np.sort(values, axis=0), 0, -1)
                    number[group] = (~np.isnan(ordered)).sum(axis=-1)
                    total[group] = STATISTICS[self.kind].of_ordered(ordered, number[group])
                elif self.classes:
                    # The decisions of all tags are one order, in which each track counts once.
                    flat = np.moveaxis(values, 1 + side, -1).reshape(-1, 1, 2)
                    total[group] = order(self.kind, flat, 2)[0][0]
                    number[group] = (~np.isnan(values).all(axis=(1, 2))).sum()
                else:
                    total[group], number[group] = order(self.kind, values, 1 + side)
            return total, number
        divisor = number.astype(np.float64) if self.kind == "mean" else np.ones(total.shape)
        return total / np.where(number > 0, divisor, np.nan), number


MEAN = "mean"
_MOST_VALUES = 1024
"""Values of scores along their dims of which intervals are computed: not those of single frames."""
_MEANS = frozenset(("macro", "normalised", "normalized", "balanced", "unweighted"))
_MICRO = "micro"


def rated_kind(ds: xr.Dataset, query: Query) -> str | None:
    """The aggregate of a query about values that are read off all tracks together; None for any other query.

    Those are values of classes and tags, and means of scores along the dims that they are left with.

    `query`: where it names no aggregate, that of its metric counts, which of affinities is the area under the curve.
    """
    if query.aggregate in CLASS_AGGREGATES:
        return query.aggregate
    numbers, variables = split_names(ds, query.metric, exact=query.exact)
    if numbers or not variables:
        return None
    measures = find_measures(ds)
    for variable in variables:  # whether all are about the mean of scores along dims, of which some are left
        metric = measures[variable].metric
        scored = metric.orientation != "none" and not metric.nominal
        if not scored or (query.aggregate or metric.standard_aggregate) != MEAN:
            break
        table = table_of(ds, variable)
        over = over_of(table, str(measures[variable]), query)
        left = [len(names) for dim, names in labels_of(table).items() if dim not in over]
        if not left or math.prod(left) > _MOST_VALUES:
            break
    else:
        return MEAN
    kinds = {
        next(iter(table_aggregates("none", measures[variable].metric.dims)))
        for variable in variables
        if measures[variable].metric.orientation == "none"
    }
    return kinds.pop() if query.aggregate is None and len(kinds) == 1 and kinds <= {*ORDER_AGGREGATES} else None


def rated_variables(ds: xr.Dataset, query: Query) -> list[str]:
    """The variables of a query about metrics with classes or tags: all stored parameters or the named ones.

    Empty where it also names metrics that are one number.
    """
    numbers, variables = split_names(ds, query.metric, exact=query.exact)
    measures = find_measures(ds)
    return [] if numbers else [variable for variable in variables if has_parameters(measures[variable], query.param)]


def rated_variable(ds: xr.Dataset, query: Query) -> str | None:
    """The one variable of such a query: where several parameters are stored that of the default ones."""
    variables = rated_variables(ds, query)
    if len(variables) > 1:
        measures = find_measures(ds)
        variables = [variable for variable in variables if str(measures[variable]) == measures[variable].metric.name]
    return variables[0] if len(variables) == 1 else None


def explain_name(name: str, boards: Iterable[xr.Dataset]) -> str:
    """Hint at the query of a statistic of classes or tags that is not a metric: of a ``balanced_accuracy``.

    `name`: as others call it: macro and micro averages, class-normalised and balanced accuracy. Returns empty where the
    name is none of these, or nothing was counted that it could be read off.
    """
    words = {word for word in re.split(r"[^a-z0-9]+", name.lower()) if word}
    tables = [measure for ds in boards for measure in find_measures(ds).values()]
    if words & {"mcc", "matthews"}:
        counted = [str(measure) for measure in tables if measure.metric.dims == CONFUSED]
        return f"it is read off all tracks together: -m {counted[0]} -a mcc" if counted else ""
    if "auc" in words:
        kind = "roc_auc"
    elif {"average", "precision"} <= words or "map" in words:
        kind = "average_precision"
    elif words & {"f", "f1", "fscore", "fmeasure", "f1score"}:
        kind = "f_measure"
    else:
        kind = next((name for name in ("precision", "recall", "accuracy") if name in words), "")
    mean, meanings = bool(words & _MEANS), []
    for measure in tables if kind and mean != (_MICRO in words) else ():
        dims = measure.metric.dims
        dim = classes_of(dims)
        if dim and kind in table_aggregates(measure.metric.orientation, dims):
            # The accuracy of a class is the recall of its tracks; over all classes the two are the same.
            of = "recall" if kind == "accuracy" and dims == CONFUSED else kind
            meanings.append(f"-m {measure} -a {of} {f'--across {dim}=mean' if mean else f'--over {dim}=sum'}")
    return f"it is read off all tracks together: {' or '.join(dict.fromkeys(meanings))}" if meanings else ""


def select_table(ds: xr.Dataset, variable: str, query: Query) -> TableSelection:
    """Select a metric with extra dims.

    `query`: its metric and its parameters are not looked at. ``zero`` lets missing cells count as tracks without any
    time; of scores it is refused where something is missing.
    """
    measure, table = find_measures(ds)[variable], table_of(ds, variable)
    metric = measure.metric
    allowed = table_aggregates(metric.orientation, metric.dims)
    if query.aggregate is None:
        kind = next(iter(allowed)) if metric.orientation == "none" else metric.standard_aggregate
    else:
        if query.aggregate not in allowed:
            if query.aggregate not in DECLARED:
                raise UnknownNameError("aggregate", query.aggregate, allowed)
            why = f"is not defined for metric {str(measure)!r}; it has: {', '.join(allowed)}"
            raise QueryError(f"aggregate {query.aggregate!r} {why}")
        kind = query.aggregate
    if kind in ORDER_AGGREGATES:
        (tag,) = (dim for dim in labels_of(table) if dim != SIDE)
        if query.over and dict(query.over) != {tag: "sum"}:
            raise QueryError(
                f"aggregate {kind!r} puts all tracks in order: nothing can be reduced within them before, but over "
                f"{tag}=sum puts the decisions of all tags into one order (micro)"
            )
        classes, query = "sum" if query.over else "", replace(query, over=None)
    elif kind in RATIO_AGGREGATES and not RATIO_AGGREGATES[kind].along and tuple(labels_of(table)) == CONFUSED:
        # Over the classes of a confusion, of which ratios are read off, outcomes are summed, or one is chosen.
        left = dict(query.over or {})
        chosen = CLASS in left
        classes, query = left.pop(CLASS, ""), replace(query, over=left or None)
        every = [name for name in dict.fromkeys(chain(*labels_of(table).values())) if name != NONE]
        if classes in REDUCTIONS and classes != "sum":
            raise QueryError(
                f"over {CLASS!r}: counts of classes are summed (over {CLASS}=sum); for the {classes} of their "
                f"values take across {CLASS}={classes}"
            )
        if chosen and classes not in ("sum", *every):
            raise UnknownNameError(f"reduction or {CLASS}", classes, ["sum", *every])
    else:
        classes = ""
    over = over_of(table, str(measure), query)
    systems = find_labels(ds, "system", _sorted_systems(ds, variable, query))
    refuse_annotators(ds, query, str(measure))
    placed = ds.drop_vars(tables_of(ds)).assign(_place=("track", np.arange(ds.sizes["track"])))
    part = choose_tracks(placed, replace(query, param=None)).isel(system=systems, metric=[])
    if measure.metric.nominal and part.sizes["track"] > 1 and "track" not in (as_names(query.by) or []):
        raise QueryError(refuse_nominal(measure))
    status, duration = states_of(computed(part))
    missing = missing_policy(query, ds.attrs, status)
    # The table has no weights; every track with a reference of some duration would have one.
    weight = np.broadcast_to((duration > 0)[:, np.newaxis], (*status.shape, 1)).astype(np.float64)
    score = np.zeros_like(weight)
    counted = count_scores(score, weight, status, missing, "keep", bare=~has_score(status) & ~(duration > 0))
    included, lacking = counted["_included"][..., 0], counted["_missing"][..., 0]
    if missing == "raise" and lacking.any():
        raise QueryError(list_missing(names_of(part, "system"), names_of(part, "track"), lacking, status))
    if missing == "zero" and lacking.any() and (kind in CLASS_AGGREGATES or measure.metric.orientation != "none"):
        raise QueryError(f"metric {measure}: the weights of missing scores are unknown; choose skip or common")
    cells = {"_included": (("system", "track"), included), "_missing": (("system", "track"), lacking)}
    part = part.assign(cells).assign_attrs(missing=missing)
    places = part["_place"].values
    return TableSelection(part.drop_vars("_place"), table.isel(system=systems), places, measure, kind, over, classes)


def aggregate_table(selection: TableSelection, by: Names = None, group: str = "") -> xr.Dataset:
    """Aggregate a metric with extra dims over the tracks: of counts the sum or the mean, of scores a mean or a median.

    `group`: a name of the evaluation to carry along. Returns ``value`` and ``n_values`` (tracks with a value) over
    (system, a dim for each grouping, extra dims), ``n``, ``n_missing`` and ``n_empty`` over (system, groupings),
    ``n_tracks`` over the groupings. Groupings and coordinates of systems are named as
    :func:`mirflow.analysis.aggregation.aggregate_scores` does; ``metric``, ``aggregate`` and ``orientation`` are
    attributes, and ``nominal`` where numbers are names.
    """
    from ..lazy_array import plain_dataset

    part, metric, labels = selection.ds, selection.measure.metric, selection.labels
    groupings, codes = group_tracks(part, as_names(by) or [])
    sizes = tuple(map(len, groupings.values()))
    shape = (part.sizes["system"], math.prod(sizes))
    value: Float = np.empty((*shape, *map(len, labels.values())))
    number: Int = np.empty(value.shape, dtype=np.int64)
    counts: dict[str, Int] = {name: np.zeros(shape, dtype=np.int64) for name in ("n", "n_missing", "n_empty")}
    included = part["_included"].values
    empty = included & (part["status"].values == Status.empty_estimate)
    flags = dict(zip(counts, (included, part["_missing"].values, empty), strict=True))
    for row in range(shape[0]):
        for name, flag in flags.items():
            counts[name][row] = np.bincount(codes[flag[row]], minlength=shape[1])
        value[row], number[row] = selection.over_tracks(row, codes, shape[1])
    if selection.kind in RATIO_AGGREGATES:
        outcomes, labels = selection.outcomes(value.reshape(shape[0] * shape[1], *value.shape[2:]))
        value = rate(selection.kind, outcomes)
        value = value.reshape(*shape, *value.shape[1:])
        number = np.broadcast_to(counts["n"].reshape(*shape, *[1] * len(labels)), value.shape)
    rated = selection.kind in CLASS_AGGREGATES
    units = DECLARED[selection.kind].unit if rated else str(selection.table.attrs.get("units", "")).removeprefix("1")
    groupings = free_names(groupings, (*LONG_NAMES, "n_values", *labels, "system"), "track_")
    outer, whole = ("system", *groupings), (shape[0], *sizes, *value.shape[2:])
    n_tracks = np.bincount(codes, minlength=shape[1]).astype(np.int64).reshape(sizes)
    variables: dict[str, Any] = {
        "n_values": ((*outer, *labels), number.reshape(whole), {"long_name": "number of tracks with a value"}),
        "value": ((*outer, *labels), value.reshape(whole), {"long_name": LONG_NAMES["value"], "units": units}),
        "n": (outer, counts["n"].reshape(whole[: len(outer)]), {"long_name": "number of tracks that count"}),
        **{
            name: (outer, counts[name].reshape(whole[: len(outer)]), {"long_name": LONG_NAMES[name]})
            for name in ("n_missing", "n_empty")
        },
        "n_tracks": (outer[1:], n_tracks, {"long_name": LONG_NAMES["n_tracks"]}),
    }
    along = free_names(coords_of(part, "system"), groupings, "system_")
    along = free_names(along, (*LONG_NAMES, "n_values", *labels))
    coords: dict[str, Any] = {"system": part["system"].values, **groupings}
    coords |= {name: np.array(names, dtype=str) for name, names in labels.items()}
    attrs = {**origin_of(part, group), "missing": part.attrs["missing"]}
    dim = next(iter(selection.inner)) if selection.kind in ORDER_AGGREGATES else CLASS
    over = {**selection.over, **({dim: selection.classes} if selection.classes else {})}
    attrs |= {"over": ", ".join(f"{dim}={how}" for dim, how in over.items())} if over else {}
    attrs |= {"metric": str(selection.measure), "aggregate": selection.kind}
    attrs |= {
        "orientation": ("lower" if DECLARED[selection.kind].lower else "higher") if rated else metric.orientation,
        **({"nominal": "yes"} if metric.nominal else {}),
    }
    return plain_dataset(variables, {**{name: ("system", own) for name, own in along.items()}, **coords}, attrs)


def _sorted_systems(ds: xr.Dataset, variable: str, query: Query) -> Names:
    """The systems in the order asked for, which may be that of the metric's own values, over all of its dims."""
    best = query.sort == BEST
    if not best and (query.sort in (None, *ORDERS) or variable not in split_names(ds, query.sort)[1]):
        return sort_systems(ds, query)
    if best and find_measures(ds)[variable].metric.orientation == "none" and query.aggregate not in CLASS_AGGREGATES:
        return query.system
    table = aggregate_table(select_table(ds, variable, replace(query, sort=None, by=None)))
    if best:  # by the mean of their values; counts and metrics without orientation keep their order
        if table.attrs["orientation"] == "none":
            return query.system
        value = table["value"].values.reshape(table.sizes["system"], -1)
        return names_of(table, "system", ranked(REDUCTIONS["mean"](value.T), table.attrs["orientation"]))
    left = ", ".join(str(dim) for dim in table["value"].dims[1:])
    if left:
        raise QueryError(f"sort {query.sort!r}: it has extra dims ({left}); reduce them with over, --over")
    if table.attrs["orientation"] == "none" and "nominal" not in table.attrs:
        raise QueryError(f"sort {query.sort!r}: neither high nor low values of it are better")
    return names_of(table, "system", ranked(table["value"].values, table.attrs["orientation"]))
