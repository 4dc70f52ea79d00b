"""Intervals and comparisons of the statistics of classes and tags: precision, recall, areas under the curve."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, cast

import numpy as np

from ...errors import QueryError, counted
from ...metrics.aggregates import CLASS_AGGREGATES
from ...ragged import Float, Int
from ..aggregation import origin_of
from ..per_class import Chosen, ExtraAnswer, answer_extra, choose_extra, rated_kind, rated_variable
from ..queries import across, is_deviation, names_across
from ..scores import Array, names_of
from ..selection import Question, show_parameters
from .confidence_intervals import difference_bounds, draw
from .paired import (
    Compared,
    Comparison,
    choose_correction,
    choose_tests,
    empty_arrays,
    fill_pairs,
    least_of,
    pairs_by_units,
    swap_pairs,
    swap_rates,
)
from .resampling import Orders, Rates, Resampling, Seed, Statistics, accelerations, add_up, bounds, finish, ratio_of
from .sample import TRACK, clusters, recount

if TYPE_CHECKING:
    import xarray as xr


def rate_intervals(
    ds: xr.Dataset,
    question: Question,
    *,
    level: float = 0.95,
    method: str = "bca",
    replicates: int = 10_000,
    unit: str = TRACK,
    cluster: str | None = None,
    rng: Seed = 0,
    group: str = "",
) -> ExtraAnswer:
    """Figures of classes and tags, which are read off all tracks together, with confidence intervals.

    Parameters
    ----------
    ds : xr.Dataset
    question : Question
        About one metric with classes or tags, with one of :data:`mirflow.metrics.aggregates.CLASS_AGGREGATES`; also
        across them (``across={"class": "mean"}``), but not across groups of tracks.
    level, method, replicates, cluster, rng, group
        As for :func:`mirflow.analysis.inference.confidence_intervals.intervals`.
    unit : str
        Tracks alone are drawn again.

    Returns
    -------
    ExtraAnswer
        With ``low`` and ``high``; NaN where there are too few tracks (clusters).

    Raises
    ------
    QueryError
        For another unit, several metrics, figures across groups, and as a plain question.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    how = Resampling.of(level, method, replicates, rng)
    chosen, answer = _answered(ds, question, unit, group)
    codes, asked = _clusters(chosen, cluster), names_across(question.across)
    low, high = np.full_like(answer.value, np.nan), np.full_like(answer.value, np.nan)
    members = chosen.grouping.members()
    for row in range(chosen.ds.sizes["system"]):
        entries = _entries(chosen, row)
        for place, own in members.items():
            tracks = own[chosen.included[row, own]]
            figures = _figures(chosen, asked, entries[tracks], recount(codes[tracks]))
            if figures.clusters >= how.least:
                value, shape = answer.value[row, place].ravel(), answer.value.shape[2:]
                drawn = draw(figures, len(value), how)
                ends = bounds(drawn, value, accelerations(figures.left_out()), how)
                low[row, place], high[row, place] = (end.reshape(shape) for end in ends)
    attrs = {**answer.attrs, **how.attrs(), "unit": unit, "cluster": cluster or ""}
    return replace(answer, low=low, high=high, attrs=attrs)


def _figures(chosen: Chosen, asked: Mapping[str, Sequence[str]], entries: Float, cluster: Int) -> Statistics:
    """The figures of one system, as they can be computed again from what its tracks say."""
    if chosen.is_ratio:
        return Rates(add_up(entries, cluster)[np.newaxis], ratio_of(chosen, asked))
    dims = list(chosen.labels)
    return Orders.of(entries, chosen.entries.side, cluster, chosen.kind, lambda found: finish(found, dims, asked))


@dataclass(frozen=True)
class ComparisonOptions:
    """How systems are compared: see :func:`mirflow.analysis.inference.comparisons.compare`."""

    test: str = "auto"
    correction: str = "auto"
    unit: str = TRACK
    cluster: str | None = None
    sizes: bool = True


def compare_rates(
    ds: xr.Dataset,
    question: Question,
    how: Resampling,
    choice: ComparisonOptions,
    group: str = "",
) -> Comparison:
    """Compare every two systems by such figures: what each adds up on a track is swapped with the other's.

    The words are those of :func:`mirflow.analysis.inference.comparisons.compare`. Each figure is a metric of the
    result: that of each class or tag, or what is across them.
    """
    if question.by:
        raise QueryError("systems are compared on all tracks of a question; name those of one group as tracks")
    chosen, answer = _answered(ds, question, choice.unit, group)
    if not chosen.is_ratio:
        raise QueryError(
            f"aggregate {chosen.kind!r}: affinities of two systems have different scales, and cannot be swapped for a "
            "test; rank the systems on each tag instead (friedman with unit tag, --friedman --unit tag)"
        )
    if chosen.ds.sizes["system"] < 2:
        raise QueryError(f"{counted(chosen.ds.sizes['system'], 'system')} to compare; at least two are needed")
    tests = choose_tests(choice.test, [answer.aggregate], [answer.metric], choice.cluster)
    correction = choose_correction(choice.correction, tests)
    value = answer.value.reshape(chosen.ds.sizes["system"], -1)
    arrays = empty_arrays(*value.shape)
    ratio, codes = ratio_of(chosen, names_across(question.across)), _clusters(chosen, choice.cluster)
    entries = np.stack([_entries(chosen, row) for row in range(chosen.ds.sizes["system"])])
    parts, swaps = [], []
    for pairs, tracks in pairs_by_units(chosen.included):
        systems = np.unique(pairs)
        counts = np.stack([add_up(entries[row, tracks], recount(codes[tracks])) for row in systems.tolist()])
        rates, places = Rates(counts, ratio), np.searchsorted(systems, pairs)
        parts.append(Compared(pairs, np.unique(codes[tracks])))
        if rates.clusters:
            swaps.append(swap_rates(rates, places))
        found = _differences(rates, places, how) if choice.sizes and rates.clusters else {}
        number = np.full(len(pairs), len(tracks), dtype=np.int64)
        for figure in range(value.shape[1]):
            own: dict[str, Array] = {name: values[:, figure] for name, values in found.items()}
            fill_pairs(arrays, figure, pairs, {**own, "n": number})
    tested = [part for part in parts if len(part.clusters)]
    swap_pairs(arrays, range(value.shape[1]), tested, swaps, correction, how)
    least = np.full(value.shape[1], least_of(tests[0], correction, parts, how))
    names = _names(answer)
    along = {"orientation": np.array(_orientations(answer)), "unit": np.array([""] * len(names))}
    attrs = {**origin_of(chosen.ds, group, names_of(chosen.ds, "system")), **how.attrs(), "correction": correction}
    attrs |= {"test": choice.test, "unit_of_comparison": choice.unit, "cluster": choice.cluster or ""}
    attrs |= {name: answer.attrs[name] for name in ("missing", "over", "across") if name in answer.attrs}
    attrs |= {"undefined": question.undefined, "left_out": ""}
    every = (names, [answer.aggregate] * len(names), tests * len(names))
    return Comparison(answer.systems, *every, answer.system_coords, along, value, arrays, least, attrs, unitwise=False)


def _answered(ds: xr.Dataset, question: Question, unit: str, group: str) -> tuple[Chosen, ExtraAnswer]:
    """What a question selects, and the figures, of which replicates are to be made."""
    kind = rated_kind(ds, question)
    if unit != TRACK:
        raise QueryError(
            f"aggregate {kind!r} is read off all tracks, so that nothing but the track is drawn again; "
            f"unit {unit!r} is for metrics that are one number a track, and for ranks (test friedman, --friedman)"
        )
    variable = rated_variable(ds, question)
    if variable is None:
        said = f" of those with {show_parameters(question.param)}" if question.param else ""
        raise QueryError(
            f"aggregate {kind!r} is read off one metric with classes or tags{said}; name it alone (metric)"
        )
    chosen = choose_extra(ds, variable, question)
    if chosen.kind not in CLASS_AGGREGATES:
        raise QueryError(f"intervals and tests take {', '.join(CLASS_AGGREGATES)}, and not {chosen.kind!r}")
    answer = answer_extra(chosen, group)
    for dim in question.across or {}:
        if dim in answer.groupings:
            raise QueryError(f"across {dim!r}: statistics across groups of tracks have no intervals and no tests")
    return chosen, cast(ExtraAnswer, across(answer, question.across)) if question.across else answer


def _clusters(chosen: Chosen, name: str | None) -> Int:
    """The cluster of each track of a question."""
    alone = np.arange(chosen.ds.sizes["track"], dtype=np.int64)
    return alone if name in (None, TRACK) else clusters(chosen.ds, str(name), alone)


def _entries(chosen: Chosen, row: int) -> Float:
    """What each track of a question says of one system: float64 (tracks, dims), 0 where it does not count."""
    included = np.flatnonzero(chosen.included[row])
    there = chosen.entries.each(row, included, _tell(chosen))
    found = np.zeros((chosen.ds.sizes["track"], *there.shape[1:]))
    found[included] = there
    return found


def _tell(chosen: Chosen) -> Callable[[Float], Float] | None:
    """What is kept of a track: of confusion matrices, which may be large, the outcomes of each class."""
    return (lambda values: chosen.outcomes(values)[0]) if chosen.is_ratio else None


def _differences(rates: Rates, pairs: Int, how: Resampling) -> dict[str, Float]:
    """Differences of all figures of some pairs with their intervals: (pairs, figures) each."""
    value = rates.values()
    shape = (len(value), value.shape[1], -1)
    enough = rates.clusters >= how.least
    drawn = draw(rates, value.size, how).reshape(shape) if enough else None
    left_out = rates.left_out().T.reshape(shape) if enough else None
    columns = [
        difference_bounds(
            value[:, figure],
            None if drawn is None else drawn[:, figure],
            None if left_out is None else left_out[:, figure].T,
            pairs,
            how,
        )
        for figure in range(value.shape[1])
    ]
    return {name: np.stack([one[name] for one in columns], axis=1) for name in columns[0]}


def _orientations(answer: ExtraAnswer) -> list[str]:
    """Which way is better, for each figure."""
    places = (dict(zip(answer.labels, place, strict=True)) for place in product(*answer.labels.values()))
    return ["none" if is_deviation(answer.attrs, place) else answer.orientation for place in places]


def _names(answer: ExtraAnswer) -> list[str]:
    """A name for each figure: the metric, with the class or tag that it is about."""
    labels: list[Sequence[str]] = list(answer.labels.values())
    return [", ".join([answer.metric, *place]) for place in product(*labels)]
