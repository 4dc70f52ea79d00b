"""What inference is about: the scores of systems on units that were drawn, and the figures made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import QueryError, counted
from ...ragged import Bool, Float, Int
from ..aggregate import reduce_kinds
from ..grouping import Grouping
from ..part import Part, select
from ..question import Question
from ..reduction import track_weights
from ..scoreboard import Scoreboard

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
        above, below = (each[0, :, 0] for each in track_weights(self.kinds[metric], weight, self.duration))
        included = self.included[system, :, metric]
        # What weighs nothing adds nothing, an infinite score too.
        score = np.where(included & (above != 0), self.score[system, :, metric], 0.0)
        return score * np.where(included, above, 0.0), np.where(included, below, 0.0)


def select_numbers(board: Scoreboard, question: Question, *, single: bool = False) -> Part:
    """What a question selects, if it is about metrics that are one number; `single` as for ``select``.

    Raises
    ------
    QueryError
        For a metric of which dims are left, and as :func:`mirflow.analysis.part.select`.
    """
    if not board.metrics and question.metric is None:
        raise QueryError("inference needs metrics that are one number for each track, and here are none")
    return select(board, question, single=single)


def sample_of(part: Part, unit: str = TRACK, cluster: str | None = None, tracks: Int | None = None) -> Sample:
    """The units that a question is about.

    Parameters
    ----------
    part : Part
    unit : str
        ``track``, or a coordinate along the tracks: the scores of its tracks are aggregated to one for each value, and
        the figure is the plain mean over them, or the median where that is the aggregate.
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
    score, included = part.scores()
    own = np.arange(len(part.tracks), dtype=np.int64)
    codes = _tracks(part)
    if cluster not in (None, TRACK):
        codes = clusters(part.board, part.tracks, str(cluster), codes)
    whole = Sample(part.kinds, score, part.weight, included, part.duration, codes)
    sample = whole if tracks is None else whole.take(tracks)
    return sample if unit == TRACK else _by_unit(part, sample, unit, own if tracks is None else tracks)


def by_track(part: Part, sample: Sample) -> Sample:
    """A sample with one row for each track: what several annotators have of it is aggregated."""
    return _by_unit(part, sample, TRACK, np.arange(len(part.tracks), dtype=np.int64))


def _by_unit(part: Part, sample: Sample, unit: str, tracks: Int) -> Sample:
    """The figures of each value of a coordinate as the scores of units."""
    names = [part.track_names[place] for place in tracks.tolist()]
    grouping = Grouping.of(part.board, [part.tracks[place] for place in tracks.tolist()], [unit])
    bare = [name for name, lacks in zip(names, _lacking(grouping), strict=True) if lacks]
    if bare:
        raise QueryError(
            f"unit {unit!r}: {counted(len(bare), 'track')} without a value of it, {bare[0]!r} among them; "
            "name the tracks to compare"
        )
    members = grouping.members()
    shape = (sample.score.shape[0], len(members), sample.score.shape[2])
    score: Float = np.empty(shape)
    for place, group in enumerate(members.values()):
        score[:, place] = sample.take(group).values()
    kinds = ["median" if kind == "median" else "mean" for kind in sample.kinds]
    included = ~np.isnan(score)
    if part.missing == "common":
        included &= included.all(axis=0, keepdims=True)
    ones = np.ones(shape)
    return Sample(kinds, score, ones, included, ones[0, :, 0], np.arange(len(members), dtype=np.int64))


def clusters(board: Scoreboard, tracks: Sequence[int], name: str, alone: Int) -> Int:
    """The cluster of each track, counted from 0.

    Parameters
    ----------
    board : Scoreboard
    tracks : sequence of int
        Positions on the board.
    name : str
        A coordinate along the tracks.
    alone : int64 (tracks,)
        What is drawn together where there is no value of it.
    """
    grouping = Grouping.of(board, tracks, [name])
    lacking = _lacking(grouping)
    codes = grouping.codes.copy()
    codes[lacking] = grouping.count + alone[lacking]
    return recount(codes)


def _tracks(part: Part) -> Int:
    """The track of each row, counted in order: rows are tracks, or what several annotators have of them."""
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(name, len(seen)) for name in part.track_names], dtype=np.int64)


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
