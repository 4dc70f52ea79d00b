"""Aggregates over the tracks of a collection, which say how they came about."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..cells import Status
from ..errors import QueryError, UnknownNameError, counted
from ..metrics.aggregates import AGGREGATES, CLASS_AGGREGATES, DECLARED, allowed_aggregates, table_aggregates
from ..ragged import Bool, Float, Int
from ..store.format import WARNINGS
from .combine import REFERENCES_DIFFER, told_cautions
from .dims import check_over, derive, refuse_annotators
from .missing import Gaps, are_apart, check_policies, find_gaps, included_scores
from .scores import Array, Grouping, Status8, arrays_of, coords_of, filled_groups, group_values, names_of, texts_of
from .selection import (
    BEST,
    CHOSEN,
    NAME,
    ORDERS,
    STORED,
    Names,
    Question,
    as_names,
    choose_metrics,
    choose_tracks,
    find_labels,
    find_measures,
    find_metrics,
    find_single,
    find_tables,
    headline_metric,
    spell_out,
    split_names,
)

if TYPE_CHECKING:
    import xarray as xr


def reduce(score: Float, weight: Float, duration: Float, kind: str, included: Bool) -> Float:
    """One aggregate over the tracks.

    Parameters
    ----------
    score, weight : float64 (systems, tracks, metrics)
        What is not included may hold anything, NaN too.
    duration : float64 (tracks,), seconds
        Durations of the references, which some aggregates need.
    kind : str
        A name of :data:`mirflow.metrics.aggregates.AGGREGATES`.
    included : bool (systems, tracks, metrics)
        The scores that count.

    Returns
    -------
    float64 (systems, metrics)
        NaN where nothing is included or nothing weighs.

    Examples
    --------
    >>> score = np.array([[[1.0], [0.0]]])
    >>> weight = np.array([[[30.0], [10.0]]])
    >>> duration, both = np.array([40.0, 60.0]), np.ones((1, 2, 1), dtype=bool)
    >>> kinds = ("mean", "wcsr", "wcsr_tn", "wcsr_total")
    >>> [reduce(score, weight, duration, kind, both).item() for kind in kinds]
    [0.5, 0.75, 0.4, 0.3]
    """
    aggregate = AGGREGATES[kind]
    if aggregate.statistic is not None:
        ordered = np.moveaxis(np.sort(np.where(included, score, np.nan), axis=1), 1, -1)
        return aggregate.of_ordered(ordered, included.sum(axis=1))
    above, below = aggregate.factors(weight, duration)
    # The same products in the same order as xarray's weighted mean, so that a pooled score equals it to the bit.
    # What weighs nothing adds nothing, an infinite score too.
    known = np.where(included & (above != 0), score, 0.0)
    with np.errstate(invalid="ignore"):  # of both infinities there is no mean, and NaN says so
        total: Float = np.einsum("stm,stm->sm", known, np.where(included, above, 0.0))
    whole: Float = np.einsum("stm,stm->sm", included.astype(np.float64), np.where(included, below, 0.0))
    return np.divide(total, whole, out=np.full_like(total, np.nan), where=whole != 0)


UNTESTED = "untested"
"""The attribute of an answer that lists, a line each, figures of too few units for any two systems to be told apart."""
EVERY = "*"
"""Stands there for all of them."""
COUNTS = ("n", "n_missing", "n_undefined")
LONG_NAMES = {
    "value": "aggregate over tracks",
    "n": "number of scores that count",
    "n_missing": "number of cells without a score",
    "n_undefined": "number of scores with nothing to measure",
    "n_tracks": "number of tracks asked for",
    "low": "lower end of the confidence interval",
    "high": "upper end of the confidence interval",
    "like_best": "whether the system is the best one, or not told apart from it by the test",
}


def beside(coords: Mapping[str, Array], taken: Collection[str]) -> dict[str, Array]:
    """Coordinates under names that they can have beside variables: of a parameter ``n``, ``meta_n``.

    Examples
    --------
    >>> list(beside({"n": np.array([5]), "window": np.array([0.05])}, ["value", "n"]))
    ['meta_n', 'window']
    """
    return {f"meta_{name}" if name in taken else name: values for name, values in coords.items()}


Named = TypeVar("Named")


@dataclass(frozen=True)
class Answer:
    """Figures over tracks.

    Parameters
    ----------
    systems, metrics, aggregates : list of str
        ``aggregates`` is along the metrics.
    system_coords, metric_coords : mapping of str to array
    groupings : mapping of str to array
        The distinct values of each coordinate that groups the tracks; the groups are their product.
    value : float64 (systems, metrics, groups)
    counts : mapping of str to int64 (systems, metrics, groups)
        ``n``, ``n_missing`` and ``n_undefined``.
    n_tracks : int64 (groups,)
    attrs : mapping of str to str
        Where the numbers come from (``group``, ``task``, ``convention``, ``grid``), the policies (``missing``,
        ``undefined``), and ``left_out``, the metrics that have no such aggregate; with intervals also how these came
        about (``level``, ``method``, ``replicates``, ``unit``, ``cluster``).
    low, high : float64 (systems, metrics, groups) or None
        The ends of confidence intervals, where they were asked for.
    like_best : bool (systems, metrics, groups) or None
        Whether a system is not told apart from the best one, where that was asked for.
    """

    systems: list[str]
    metrics: list[str]
    aggregates: list[str]
    system_coords: Mapping[str, Array]
    metric_coords: Mapping[str, Array]
    groupings: Mapping[str, Array]
    value: Float
    counts: Mapping[str, Int]
    n_tracks: Int
    attrs: Mapping[str, str]
    low: Float | None = None
    high: Float | None = None
    like_best: Bool | None = None

    @property
    def n_counted(self) -> Int:
        """How many tracks count in all groups together, for each system and metric: int64 (systems, metrics)."""
        return np.asarray(self.counts["n"].sum(axis=-1))

    def cells_with(self, policy: str) -> int:
        """How many cells, pairs of a system and a track, a policy is about: ``missing`` or ``undefined``.

        A cell counts once, however many of the metrics lack a score of it.
        """
        return int(self.attrs[f"{policy}_cells"])

    @property
    def ends(self) -> dict[str, Float]:
        """The ends of the intervals by name; empty where none were asked for."""
        return {} if self.low is None or self.high is None else {"low": self.low, "high": self.high}

    @property
    def units(self) -> list[str]:
        """Units of the metrics; empty for ratios."""
        return [str(unit) for unit in self.metric_coords["unit"].tolist()]

    @property
    def filled(self) -> list[int]:
        """The groups that have tracks; the only one where nothing is grouped."""
        return filled_groups(self.groupings, self.n_tracks)

    def group(self, group: int) -> tuple[object, ...]:
        """The values that make a group."""
        return group_values(self.groupings, group)

    def cells(self) -> Iterator[tuple[int, int, int]]:
        """Every (system, metric, group) whose group has tracks, metric by metric."""
        filled = self.filled
        for metric in range(len(self.metrics)):
            for system in range(len(self.systems)):
                for group in filled:
                    yield system, metric, group

    def to_dataset(self) -> xr.Dataset:
        """The answer over (system, metric, and a dim for each grouping).

        A grouping that has the name of something else is ``track_<name>``; a coordinate of systems that has the name
        of a grouping is ``system_<name>``.
        """
        import xarray as xr

        names: dict[str, Array] = {
            "system": np.array(self.systems, dtype=str),
            "metric": np.array(self.metrics, dtype=str),
        }
        taken = ("value", *self.ends, "like_best", *self.counts, "n_tracks")
        coords = {name: ("metric", values) for name, values in beside(self.metric_coords, taken).items()}
        coords["aggregate"] = ("metric", np.array(self.aggregates, dtype=str))
        groupings = name_dims(self.groupings, (*taken, *coords, *names))
        coords |= system_coordinates(self.system_coords, groupings, taken)
        dims = ("system", "metric", *groupings)
        sizes = tuple(len(values) for values in groupings.values())
        variables, marks = {}, {} if self.like_best is None else {"like_best": self.like_best}
        figures: dict[str, Array] = {"value": self.value, **self.ends, **marks, **self.counts}
        for name, array in {**figures, "n_tracks": self.n_tracks}.items():
            own = dims[2:] if name == "n_tracks" else dims
            variables[name] = (own, array.reshape((*array.shape[:-1], *sizes)), {"long_name": LONG_NAMES[name]})
        return xr.Dataset(variables, {**names, **coords, **groupings}, dict(self.attrs))


def name_dims(coords: Mapping[str, Named], taken: Collection[str]) -> dict[str, Named]:
    """Coordinates of tracks under names that no variable and no other coordinate has."""
    return {f"track_{name}" if name in taken else name: values for name, values in coords.items()}


def system_coordinates(
    coords: Mapping[str, Array], groupings: Collection[str], taken: Collection[str]
) -> dict[str, tuple[str, Array]]:
    """Coordinates of systems under names that nothing else has."""
    named = {f"system_{name}" if name in groupings else name: values for name, values in coords.items()}
    return {name: ("system", values) for name, values in beside(named, taken).items()}


def show_span(counts: Int) -> str:
    """A count that is the same everywhere, or the fewest and the most."""
    low, high = int(counts.min(initial=counts.max(initial=0))), int(counts.max(initial=0))
    return str(low) if low == high else f"{low}-{high}"


_SHOWN = 5


def select(ds: xr.Dataset, question: Question, *, single: bool = False) -> xr.Dataset:
    """Select scores, and read them once.

    Parameters
    ----------
    ds : xr.Dataset
    question : Question
    single : bool
        Each name stands for one metric, as where systems are compared: of several parameters for the default ones.

    Returns
    -------
    xr.Dataset
        ``score`` (what is missing being 0 under ``zero``) and ``weight``, ``included`` (whether a score counts),
        ``missing`` and ``undefined`` over (system, track, metric), ``status`` over (system, track) and ``duration``
        over (track); a row for each annotation where annotators are asked for. The coordinate ``aggregate`` lies along
        ``metric``; attributes are those of the evaluation, the policies ``missing`` and ``undefined``, ``left_out``
        (metrics without such an aggregate, where none was named), and which scores with nothing to measure are NaN.

    Raises
    ------
    QueryError
        If the question makes no sense here: an aggregate that a metric does not define, cells missing under
        ``raise``, a lower-is-better metric under ``zero``, durations that are not known.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    over_sort = question.sort not in (None, *ORDERS) and bool(split_names(ds, question.sort)[1])
    variables = split_names(ds, question.metric, exact=question.exact)[1]
    if variables:
        refuse_annotators(ds, question, find_tables(ds)[variables[0]])
    systems, headline = find_labels(ds, "system", sort_systems(ds, question)), headline_metric(ds)
    ds, asked = derive(choose_tracks(ds, question).isel(system=systems), question)
    ds, places = _metrics(ds, asked, single)
    if not over_sort:
        check_over(", ".join(names_of(ds, "metric")[place] for place in places[:1]), {}, asked.over or {})
    kinds, left_out = _kinds(ds, places, question.aggregate, named=question.metric is not None)
    part = _counted(ds, kinds, question)
    part.attrs["left_out"] = " ".join(left_out)
    if question.sort != BEST:
        return part
    return _best_first(part, headline if question.metric is None else None)


def _counted(ds: xr.Dataset, kinds: Mapping[int, str], question: Question) -> xr.Dataset:
    """Some metrics of an evaluation, with what counts under the policies of a query."""
    import xarray as xr

    metrics = list(kinds)
    score, weight, status, duration = arrays_of(ds)
    missing = question.policy(ds.sizes["system"], apart=are_apart(ds.attrs, status))
    # Whether a track has a reference shows in the weights of all metrics, not only those of the question.
    gaps = find_gaps(score, weight, status, duration)
    gaps = Gaps(gaps.missing[..., metrics], gaps.undefined[..., metrics], gaps.without_reference)
    # Sums depend on the memory layout in their last bits; xarray's own come from contiguous arrays.
    score, weight = np.ascontiguousarray(score[..., metrics]), np.ascontiguousarray(weight[..., metrics])
    check_policies(missing, question.undefined)
    known = ~np.isnan(score[gaps.undefined])
    attrs = {"missing": missing, "undefined": question.undefined}
    if not known.all():
        attrs[VALUELESS] = "some" if known.any() else "all"
    score, included = included_scores(score, weight, gaps, missing, question.undefined)
    dims = ("system", "track", "metric")
    cells = {"score": score, "weight": weight, "included": included}
    cells |= {"missing": gaps.missing, "undefined": gaps.undefined}
    coords: dict[str, Any] = {dim: ds[dim].values[metrics] if dim == "metric" else ds[dim].values for dim in dims}
    for dim in dims:
        own = beside(coords_of(ds, dim), (*cells, "status", "duration", "aggregate"))
        coords |= {name: (dim, one[metrics] if dim == "metric" else one) for name, one in own.items()}
    coords["aggregate"] = ("metric", np.array(list(kinds.values()), dtype=str))
    variables: dict[str, Any] = {name: (dims, values) for name, values in cells.items()}
    variables |= {"status": (dims[:2], status), "duration": ("track", duration)}
    part = xr.Dataset(variables, coords, {**ds.attrs, **attrs})
    _check_missing(part)
    _check_durations(part)
    return part


def _best_first(part: xr.Dataset, headline: str | None) -> xr.Dataset:
    """The systems in the order of the headline, else of the first metric of which high or low values are better."""
    orientations = texts_of(part, "orientation")
    places = [place for place, one in enumerate(orientations) if one != "none"]
    if not places or part.sizes["system"] < 2:
        return part
    names = names_of(part, "metric")
    place = next((place for place in places if names[place] == headline), places[0])
    one = [np.ascontiguousarray(part[name].values[..., [place]]) for name in ("score", "weight", "included")]
    value = reduce(one[0], one[1], part["duration"].values, texts_of(part, "aggregate")[place], one[2])[:, 0]
    return part.isel(system=_ranked(value, orientations[place]))


def _ranked(value: Float, orientation: str) -> list[int]:
    """The best first. The sort is stable: what is equal stays in order, and what has no figure comes last."""
    places: list[int] = np.argsort(value if orientation == "lower" else -value, kind="stable").tolist()
    return places


def _metrics(ds: xr.Dataset, question: Question, single: bool) -> tuple[xr.Dataset, list[int]]:
    """Positions of the metrics of a query; the attribute ``default`` names those of which the defaults were taken."""
    places = choose_metrics(ds, find_metrics(ds, question.metric, exact=question.exact), question.param)
    if not single or question.exact or question.metric is None:
        return ds, places
    names = as_names(question.metric) or []
    left = [name for name in names if set(find_metrics(ds, name)) & set(places)]
    found = list(dict.fromkeys(find_single(ds, name, places) for name in left))
    if len(found) == len(places):
        return ds, found
    metrics = names_of(ds, "metric")
    several = [place for place in found if len({*find_metrics(ds, metrics[place])}.intersection(places)) > 1]
    return ds.assign_attrs({"default": ", ".join(spell_out(ds, place) for place in several)} if several else {}), found


def sort_systems(ds: xr.Dataset, question: Question) -> Names:
    """The systems of a question in the order that it asks for.

    Raises
    ------
    QueryError
        If the metric to sort by is several without default parameters, or none of its values is better than another.
    UnknownNameError
        For a metric that is not there, with a suggestion.
    """
    if question.sort is None or question.sort in (BEST, STORED):
        return question.system
    every = names_of(ds, "system")
    names = [every[place] for place in find_labels(ds, "system", question.system)]
    if question.sort == NAME:
        return sorted(names)
    over = question.over if split_names(ds, question.sort)[1] else None
    by = replace(question, metric=question.sort, system=names, by=None, sort=None, over=over, exact=False)
    part = select(ds, by, single=True)
    (orientation,), (kind,) = texts_of(part, "orientation"), texts_of(part, "aggregate")
    if orientation == "none":
        raise QueryError(f"sort {question.sort!r}: neither high nor low values of it are better")
    score, weight, included = (part[name].values for name in ("score", "weight", "included"))
    value = reduce(score, weight, part["duration"].values, kind, included)[:, 0]
    return [names[place] for place in _ranked(value, orientation)]


def _kinds(ds: xr.Dataset, places: list[int], kind: str | None, *, named: bool) -> tuple[dict[int, str], list[str]]:
    """The aggregate of each metric, by its position, and the metrics left out."""
    if kind is not None and kind not in DECLARED:
        raise UnknownNameError("aggregate", kind, AGGREGATES)
    if kind is None:
        standard = texts_of(ds, "standard_aggregate")
        return {place: standard[place] for place in places}, []
    metrics = names_of(ds, "metric")
    allowed = [allowed_aggregates(text) for text in texts_of(ds, "aggregates")]
    refused = [place for place in places if kind not in allowed[place]]
    if refused and (named or len(refused) == len(places)):
        name, has = metrics[refused[0]], ", ".join(allowed[refused[0]])
        others = _with_figures(ds, kind) if kind in CLASS_AGGREGATES else []
        more = f"; {kind} is read off {', '.join(others)}, which is asked for alone (--metric)" if others else ""
        raise QueryError(f"aggregate {kind!r} is not defined for metric {name!r}; it has: {has}{more}")
    return {place: kind for place in places if kind in allowed[place]}, names_of(ds, "metric", refused)


def _with_figures(ds: xr.Dataset, kind: str) -> list[str]:
    """The metrics with extra dims that have an aggregate."""
    measures = find_measures(ds).values()
    return [str(one) for one in measures if kind in table_aggregates(one.metric.orientation, one.metric.dims)]


def _check_missing(part: xr.Dataset) -> None:
    """Refuse a policy that what is missing does not allow."""
    policy, missing, status = part.attrs["missing"], part["missing"].values, part["status"].values
    if policy == "raise" and missing.any():
        names = names_of(part, "system"), names_of(part, "track")
        raise QueryError(list_missing(*names, np.asarray(missing.any(axis=2)), status))
    if policy == "zero":
        if STORES in part.attrs and (status == Status.not_computed).any():
            raise QueryError(
                "some systems and tracks are in different stores, so that what a missing score would count for is not "
                "known; choose missing skip or common (--missing)"
            )
        for column, orientation in enumerate(texts_of(part, "orientation")):
            if orientation == "lower" and missing[..., column].any():
                raise QueryError(
                    f"metric {names_of(part, 'metric')[column]!r}: lower is better, so a missing score cannot count as "
                    "0; choose missing skip or common (--missing)"
                )


def _check_durations(part: xr.Dataset) -> None:
    """Refuse an aggregate over seconds of references that are not known."""
    for kind in dict.fromkeys(kind for kind in texts_of(part, "aggregate") if AGGREGATES[kind].needs_duration):
        unknown = np.isnan(part["duration"].values) & part["included"].values.any(axis=(0, 2))
        if unknown.any():
            track = names_of(part, "track")[int(np.flatnonzero(unknown)[0])]
            raise QueryError(
                f"aggregate {kind!r} needs the durations of the references, and that of track {track!r} is not "
                "known here; choose wcsr, or ask a store that holds `duration`"
            )


def list_missing(systems: Sequence[str], tracks: Sequence[str], missing: Bool, status: Status8) -> str:
    """The cells (systems, tracks) without a score, as a message that says what to do."""
    cells = np.argwhere(missing)
    lines = [
        f"  system {systems[s]!r}, track {tracks[t]!r}: {Status(int(status[s, t])).name}"
        for s, t in cells[:_SHOWN].tolist()
    ]
    if len(cells) > _SHOWN:
        lines.append(f"  and {len(cells) - _SHOWN} more")
    head = f"{len(cells)} of {counted(status.size, 'cell')} have no score; mend them"
    head += " or choose missing zero, skip or common (--missing)"
    return "\n".join([head, *lines])


_ORIGIN = ("task", "convention", "grid")
STORES = "stores"
"""The attribute of an evaluation that was joined from several stores."""

VALUELESS = "valueless"
"""The attribute of an answer that says which scores with nothing to measure are NaN: ``some`` or ``all``."""


def ask(ds: xr.Dataset, question: Question | None = None, group: str = "") -> Answer:
    """Figures over the tracks of one evaluation, one for each system, metric and group of tracks.

    Parameters
    ----------
    ds : xr.Dataset
    question : Question or None
        None: all metrics with their standard aggregates.
    group : str
        A name of the evaluation to carry along.

    Returns
    -------
    Answer

    Raises
    ------
    QueryError
        If the question makes no sense here: an aggregate that a metric does not define, cells missing under
        ``raise``, a lower-is-better metric under ``zero``, durations that are not known.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    question = question or Question()
    return answer_of(select(ds, question), question.by, group)


def answer_of(part: xr.Dataset, by: Names = None, group: str = "") -> Answer:
    """The figures of what was selected, one for each group that some coordinates make of the tracks.

    Raises
    ------
    QueryError
        For a coordinate that does not lie along the tracks.
    UnknownNameError
        For a coordinate that is not there, with a suggestion.
    """
    grouping = Grouping.of(part, as_names(by) or [])
    value, counts, n_tracks = _compute(part, grouping)
    systems, metric_coords = names_of(part, "system"), coords_of(part, "metric")
    kinds = metric_coords.pop("aggregate").tolist()
    attrs = {**origin_of(part, group, systems), **{name: part.attrs[name] for name in POLICIES if name in part.attrs}}
    for name in ("missing", "undefined"):  # a cell counts once, however many metrics it is about
        attrs[f"{name}_cells"] = str(int(part[name].values.any(axis=2).sum()))
    names = (systems, names_of(part, "metric"), kinds, coords_of(part, "system"), metric_coords)
    return Answer(*names, grouping.values, value, counts, n_tracks, attrs)


POLICIES = ("missing", "undefined", "left_out", VALUELESS)


def origin_of(ds: xr.Dataset, group: str, systems: Sequence[str] = ()) -> dict[str, str]:
    """Where the numbers of an answer about some systems come from, and what was warned of when these were scored."""
    told = (*_ORIGIN, STORES, REFERENCES_DIFFER, *CHOSEN)
    origin = {name: str(ds.attrs[name]) for name in told if name in ds.attrs}
    cautions = "\n".join(told_cautions(ds.attrs, systems))
    return {**({"group": group} if group else {}), **origin, **({WARNINGS: cautions} if cautions else {})}


def _compute(part: xr.Dataset, grouping: Grouping) -> tuple[Float, dict[str, Int], Int]:
    """Values and counts (systems, metrics, groups), and tracks (groups,)."""
    three = [part[name].values for name in ("score", "weight", "included")]
    duration, kinds = part["duration"].values, texts_of(part, "aggregate")
    flags = {"n": three[2], "n_missing": part["missing"].values, "n_undefined": part["undefined"].values}
    shape = (part.sizes["system"], part.sizes["metric"], grouping.count)
    value: Float = np.full(shape, np.nan)
    counts: dict[str, Int] = {name: np.zeros(shape, dtype=np.int64) for name in flags}
    n_tracks: Int = np.zeros(grouping.count, dtype=np.int64)
    for group, members in grouping.members().items():
        whole = len(members) == part.sizes["track"]
        score, weight, included = three if whole else (each[:, members] for each in three)
        value[..., group] = reduce_kinds(score, weight, included, duration[members], kinds)
        for name, flag in flags.items():
            counts[name][..., group] = flag[:, members].sum(axis=1)
        n_tracks[group] = len(members)
    return value, counts, n_tracks


def reduce_kinds(score: Float, weight: Float, included: Bool, duration: Float, kinds: list[str]) -> Float:
    """The aggregate of each metric over the tracks.

    Parameters
    ----------
    score, weight : float64 (systems, tracks, metrics)
    included : bool (systems, tracks, metrics)
    duration : float64 (tracks,), seconds
    kinds : list of str
        The aggregate of each metric.

    Returns
    -------
    float64 (systems, metrics)
        As :func:`mirflow.analysis.aggregation.reduce`.
    """
    value: Float = np.full((score.shape[0], score.shape[2]), np.nan)
    for kind in dict.fromkeys(kinds):
        chosen = [place for place, one in enumerate(kinds) if one == kind]
        whole = len(chosen) == len(kinds)
        three = (score, weight, included) if whole else _columns((score, weight, included), chosen)
        value[:, chosen] = reduce(three[0], three[1], duration, kind, three[2])
    return value


def _columns(arrays: tuple[Float, Float, Bool], chosen: list[int]) -> tuple[Float, Float, Bool]:
    """Some metrics of scores, weights and what is included, contiguous like the whole."""
    score, weight, included = arrays
    return np.ascontiguousarray(score[..., chosen]), np.ascontiguousarray(weight[..., chosen]), included[..., chosen]
