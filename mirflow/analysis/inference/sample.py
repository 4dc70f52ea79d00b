"""Samples for inference: scores of systems on drawn units, and results as labelled datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from ...errors import QueryError, UnknownNameError, counted
from ...metrics.aggregates import AGGREGATES, RATIO_AGGREGATES
from ...ragged import Bool, Float, Int
from ..aggregation import beside, reduce_kinds, select
from ..per_class import CLASS, CONFUSED, ExtraAnswer, ask_extra, has_classes, rated_kind, rated_variable
from ..queries import across, across_of
from ..scores import Array, Grouping, coords_of, names_of, texts_of
from ..selection import Question

if TYPE_CHECKING:
    import xarray as xr


class Result(Protocol):
    """What all results have."""

    @property
    def systems(self) -> list[str]:
        """The systems."""
        ...

    @property
    def metrics(self) -> list[str]:
        """The metrics."""
        ...

    @property
    def system_coords(self) -> Mapping[str, Array]:
        """Further coordinates of the systems."""
        ...

    @property
    def metric_coords(self) -> Mapping[str, Array]:
        """Further coordinates of the metrics."""
        ...

    @property
    def attrs(self) -> Mapping[str, str]:
        """Where the numbers come from."""
        ...


def dataset_of(
    result: Result,
    variables: Mapping[str, tuple[tuple[str, ...], Array]],
    along_metric: Mapping[str, Sequence[str]],
    long_names: Mapping[str, str],
) -> xr.Dataset:
    """Variables under the names of systems and metrics; ``other`` holds the systems or metrics of a second dim."""
    import xarray as xr

    systems, metrics = (np.array(names, dtype=str) for names in (result.systems, result.metrics))
    used = {dim for dims, _ in variables.values() for dim in dims}
    coords: dict[str, object] = {"metric": metrics}
    taken = (*variables, *along_metric)
    coords |= {name: ("metric", values) for name, values in beside(result.metric_coords, taken).items()}
    coords |= {name: ("metric", np.array(values, dtype=str)) for name, values in along_metric.items()}
    if "system" in used:
        coords["system"] = systems
        coords |= {name: ("system", values) for name, values in beside(result.system_coords, taken).items()}
    if "other" in used:
        coords["other"] = systems if "system" in used else metrics
    described = {name: (dims, array, {"long_name": long_names[name]}) for name, (dims, array) in variables.items()}
    return xr.Dataset(described, coords, dict(result.attrs))


TRACK = "track"
_DECIMALS = 10


@dataclass(frozen=True)
class Sample:
    """Scores on units (tracks, or folds, classes, queries, ... whose tracks were aggregated before).

    Parameters
    ----------
    kinds : list of str
        The aggregate over the units, of each metric.
    score, weight : float64 (systems, units, metrics)
    included : bool (systems, units, metrics)
    duration : float64 (units,), seconds
    cluster : int64 (units,)
        Units of the same cluster are drawn together; counted from 0, each unit its own where nothing is clustered.
    """

    kinds: list[str]
    score: Float
    weight: Float
    included: Bool
    duration: Float
    cluster: Int

    def values(self) -> Float:
        """The figures: float64 (systems, metrics)."""
        return reduce_kinds(self.score, self.weight, self.included, self.duration, self.kinds)

    @property
    def repeats(self) -> bool:
        """Whether several units are drawn together."""
        return len(np.unique(self.cluster)) < len(self.cluster)

    def take(self, units: Int) -> Sample:
        """Some of the units."""
        three = (self.score[:, units], self.weight[:, units], self.included[:, units])
        return Sample(self.kinds, *three, self.duration[units], recount(self.cluster[units]))

    def terms(self, system: int, metric: int) -> tuple[Float, Float]:
        """What a ratio adds up over the units, above and below the fraction line: float64 (units,) each."""
        weight = self.weight[system, :, metric][np.newaxis, :, np.newaxis]
        above, below = (each[0, :, 0] for each in AGGREGATES[self.kinds[metric]].factors(weight, self.duration))
        included = self.included[system, :, metric]
        # What weighs nothing adds nothing, an infinite score too.
        score = np.where(included & (above != 0), self.score[system, :, metric], 0.0)
        return score * np.where(included, above, 0.0), np.where(included, below, 0.0)


def select_numbers(ds: xr.Dataset, question: Question, *, single: bool = False) -> xr.Dataset:
    """What a question selects, if it is about metrics that are one number; `single` as for ``select``.

    Raises
    ------
    QueryError
        For a metric of which dims are left, and as :func:`mirflow.analysis.aggregation.select`.
    """
    if not ds.sizes["metric"] and question.metric is None:
        raise QueryError("inference needs metrics that are one number for each track, and here are none")
    return select(ds, question, single=single)


def sample_of(part: xr.Dataset, unit: str = TRACK, cluster: str | None = None, tracks: Int | None = None) -> Sample:
    """The units that a question is about.

    Parameters
    ----------
    part : xr.Dataset
        As :func:`mirflow.analysis.aggregation.select` gives it.
    unit : str
        ``track``, or a coordinate along the tracks: the scores of its tracks are aggregated to one for each value, and
        the figure is the plain mean over them, or the median (another statistic) where that is the aggregate.
    cluster : str or None
        A coordinate along the tracks, whose values are drawn as a whole. A track without a value is drawn alone. What
        several annotators have of a track is always drawn together.
    tracks : int64 (n,) or None
        Positions in `part`; None: all.

    Raises
    ------
    QueryError
        For a track without a value of `unit`, or a cluster of units that are no tracks.
    UnknownNameError
        For a name that is no coordinate, with a suggestion.
    """
    if unit != TRACK and cluster is not None:
        raise QueryError(f"clusters are made of tracks: choose cluster {cluster!r} or unit {unit!r}, not both")
    # The track of each row, counted in order: rows are tracks, or what several annotators have of them.
    seen: dict[str, int] = {}
    codes = np.array([seen.setdefault(name, len(seen)) for name in names_of(part, "track")], dtype=np.int64)
    if cluster not in (None, TRACK):
        codes = clusters(part, str(cluster), codes)
    score, weight, included = (part[name].values for name in ("score", "weight", "included"))
    whole = Sample(texts_of(part, "aggregate"), score, weight, included, part["duration"].values, codes)
    sample = whole if tracks is None else whole.take(tracks)
    return sample if unit == TRACK else by_unit(part if tracks is None else part.isel(track=tracks), sample, unit)


def by_unit(part: xr.Dataset, sample: Sample, unit: str = TRACK) -> Sample:
    """The figures of each value of a coordinate as the scores of units, by track for what several annotators have."""
    grouping = Grouping.of(part, [unit])
    lacking = _lacking(grouping)
    if lacking.any():
        first = names_of(part, "track")[int(np.flatnonzero(lacking)[0])]
        raise QueryError(
            f"unit {unit!r}: {counted(int(lacking.sum()), 'track')} without a value of it, {first!r} among them; "
            "name the tracks to compare"
        )
    members = grouping.members()
    shape = (sample.score.shape[0], len(members), sample.score.shape[2])
    score: Float = np.empty(shape)
    for place, group in enumerate(members.values()):
        score[:, place] = sample.take(group).values()
    kinds = [kind if AGGREGATES[kind].statistic else "mean" for kind in sample.kinds]
    included = ~np.isnan(score)
    if part.attrs["missing"] == "common":
        included &= included.all(axis=0, keepdims=True)
    ones = np.ones(shape)
    return Sample(kinds, score, ones, included, ones[0, :, 0], np.arange(len(members), dtype=np.int64))


def clusters(ds: xr.Dataset, name: str, alone: Int) -> Int:
    """The cluster of each track, counted from 0.

    Parameters
    ----------
    ds : xr.Dataset
    name : str
        A coordinate along the tracks.
    alone : int64 (tracks,)
        What is drawn together where there is no value of it.
    """
    grouping = Grouping.of(ds, [name])
    lacking = _lacking(grouping)
    codes = grouping.codes.copy()
    codes[lacking] = grouping.count + alone[lacking]
    return recount(codes)


def _lacking(grouping: Grouping) -> Bool:
    """Which tracks have no value of the one coordinate."""
    (values,) = grouping.values.values()
    empty = np.array([value == "" or value != value for value in values.tolist()], dtype=bool)
    return empty[grouping.codes]


def recount(codes: Int) -> Int:
    """Codes from 0 without gaps."""
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def settle(values: Float) -> Float:
    """Scores or their differences without what rounding leaves behind: those that should be equal then are.

    The same right and wrong seconds, added up in another order, may differ in the last bit, and ranks would make a
    difference of it.
    """
    return np.round(values, _DECIMALS)


def signs_of(metrics: list[str], orientations: list[str]) -> Float:
    """1 for metrics of which high values are better, -1 where low ones are.

    Raises
    ------
    QueryError
        For a metric of which neither are.
    """
    for name, orientation in zip(metrics, orientations, strict=True):
        if orientation == "none":
            raise QueryError(f"metric {name!r} ranks nobody: neither high nor low values of it are better; name others")
    return np.array([-1.0 if orientation == "lower" else 1.0 for orientation in orientations])


def differences(first: Float, second: Float) -> Float:
    """Differences of scores; equal ones differ by 0, infinite ones too."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(first == second, 0.0, first - second))


def columns_by_pattern(included: Bool) -> Iterable[tuple[Bool, list[int]]]:
    """The columns of a bool (columns, units) that hold the same units, with these units.

    A figure is resampled over its own units alone, so that what else is asked does not change its interval.
    """
    found: dict[bytes, list[int]] = {}
    for place, row in enumerate(np.packbits(included, axis=1)):
        found.setdefault(row.tobytes(), []).append(place)
    return [(included[places[0]], places) for places in found.values()]


def figures_as_units(ds: xr.Dataset, question: Question, unit: str) -> str | None:
    """The variable whose figures are ranked; None where the scores of tracks are, or what is made of them."""
    variable = rated_variable(ds, question)
    if unit == TRACK or variable is None:
        return None
    own = unit not in coords_of(ds, "track")
    return variable if own or rated_kind(ds, question) is not None else None


def ask_units(
    ds: xr.Dataset, variable: str, question: Question, unit: str, group: str = ""
) -> tuple[ExtraAnswer, Float]:
    """Figures over tracks, one for each system and unit.

    Parameters
    ----------
    ds : xr.Dataset
    variable : str
        A metric with extra dims.
    question : Question
    unit : str
        A dim of the figures, or a coordinate along the tracks.
    group : str

    Returns
    -------
    answer : ExtraAnswer
    score : float64 (systems, units)

    Raises
    ------
    QueryError
        For fewer than two systems, further dims, groups, tracks without a value of the coordinate, and as a question.
    UnknownNameError
        For a name that is not there, with a suggestion.
    """
    if question.by:
        raise QueryError(f"systems are ranked on each {unit} over all tracks of a question; name those of one group")
    answer, by = ask_extra(ds, variable, replace(question, across=None), group), None
    if unit not in answer.labels and unit in coords_of(ds, "track"):
        answer, by = ask_extra(ds, variable, replace(question, by=unit, across=None), group), unit
    if question.aggregate is None and rated_kind(ds, question) is None and has_classes(ds, variable):
        _want_aggregate(answer, unit)
    if unit not in (*answer.labels, *answer.groupings):
        raise UnknownNameError("unit", unit, [TRACK, *coords_of(ds, "track"), *answer.labels])
    if len(answer.systems) < 2:
        raise QueryError(f"{counted(len(answer.systems), 'system')} to compare; at least two are needed")
    if unit in (question.across or {}):
        raise QueryError(f"across {unit!r}: the values of the units are ranked one by one")
    if by is not None:
        _check_values(answer, unit)
    if question.across:
        answer = cast(ExtraAnswer, across(answer, question.across))
    _check_across(answer)
    left = [dim for dim, labels in answer.labels.items() if dim != unit and (len(labels) > 1 or by is None)]
    if left:
        raise QueryError(
            f"unit {unit!r}: metric {answer.metric!r} has further dims ({', '.join(left)}); reduce them (over, across)"
        )
    return answer, answer.value.reshape(len(answer.systems), -1)


def _want_aggregate(answer: ExtraAnswer, unit: str) -> None:
    """Refuse counts where it is figures of classes or tags that are ranked."""
    if unit != CLASS and unit not in answer.labels:
        return
    own = CLASS if unit in CONFUSED else unit
    kinds = ", ".join(RATIO_AGGREGATES)
    raise QueryError(
        f"unit {unit!r}: metric {answer.metric!r} holds counts, and what is ranked is a value of each {own}; "
        f"choose an aggregate: {kinds} (--aggregate recall --unit {own})"
    )


def _check_across(answer: ExtraAnswer) -> None:
    """Refuse several figures across the same dim, and deviations, of which neither high nor low ones are better."""
    for dim, names in across_of(answer.attrs).items():
        if len(names) > 1 or "std" in names:
            raise QueryError(
                f"across {dim!r}: systems are ranked by one value that can be better; choose mean or median"
            )


def _check_values(answer: ExtraAnswer, unit: str) -> None:
    """Refuse tracks that are in no unit."""
    lacking = np.array([value == "" or value != value for value in answer.groupings[unit].tolist()], dtype=bool)
    lost = int(answer.n_tracks[lacking].sum())
    if lost:
        raise QueryError(f"unit {unit!r}: {counted(lost, 'track')} without a value of it; name the tracks to compare")
