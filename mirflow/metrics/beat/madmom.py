"""Convention madmom: beats and downbeats as scored by madmom's evaluation, reported for most neural trackers.

All beats count, including those of the first seconds unless ``skip`` is set; metrical levels include triple ones; an
empty estimate of an empty reference is right. Functions over one pair are `evaluate` and one for each metric that is a
single number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...annotations.annotation import Annotation
from ...errors import MetricError
from ...kernels.ragged_ops import medians, search_rows, sum_by
from ...kernels.ratios import Scored
from ...kernels.ratios import information_gain as gain_of
from ...ragged import Column, Float, Int, offsets_of, ranges
from ..base import (
    Convention,
    Grid,
    Pairs,
    Scores,
    Shared,
    Sparse,
    computed_by,
    computed_once,
    refuse_unjudged,
    score_by,
)
from ..cleaning import usable_pair
from ..events import (
    MADMOM,
    Detected,
    Events,
    clean,
    events_of,
    matched,
    metrics_of_detections,
    rows_of_times,
    tabulate,
    validate_pair,
)
from ..measures import Measure, Parameter, Value, Weight, family, metric, metrics_in
from ..pair import EVERY, PairFunctions, documented
from ..util import Array
from .kernel import place_in, variations


@dataclass(eq=False)
class Towards:
    """Beats of pairs relative to a target, which is not empty in pairs with beats."""

    target: Events
    beats: Events

    @cached_property
    def near(self) -> Int:
        """Index of the nearest target of each beat, the later of two equally near ones: int64 (beats,).

        Indices are into the flat target. Of equal nearest times, the second is chosen, or the last if no later ones
        follow.
        """
        target, beats, times = self.target, self.beats, self.target.times
        point = search_rows(times, target.counts, beats.times, beats.counts)
        first, last = target.offsets[:-1][beats.pair], target.offsets[1:][beats.pair] - 1
        after = np.minimum(np.maximum(point, first + 1), last)
        before = np.maximum(after - 1, first)
        return np.where(beats.times - times[before] < times[after] - beats.times, before, after)

    @cached_property
    def error(self) -> Float:
        """Seconds from the nearest time of the target to each beat: float64 (beats,)."""
        return self.beats.times - self.target.times[self.near]

    @cached_property
    def relative_error(self) -> Float:
        """Error as a share of the target's enclosing interval, of which it needs one; infinite or NaN if that is 0."""
        before, after = self.target.intervals
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(self.error / np.where(self.error > 0, after[self.near], before[self.near]))


def levels_of(beats: Events, offbeat: bool, double: bool, triple: bool) -> list[Events]:
    """Beats at other metrical levels, some of which may be empty; there is at least one beat per pair.

    Levels are off-beats; double and half tempo; triple tempo and a third of it.
    """
    levels = []
    by_two = variations(beats) if offbeat or double else {}
    if offbeat:
        levels.append(by_two["off_beat"])
    if double:
        levels += [by_two[name] for name in ("double", "half_odd", "half_even")]
    if triple:
        counts = 3 * beats.counts - 2
        # Thirds of a beat are counted and interpolated as in madmom, so that times are equal to the bit.
        third = ranges(np.zeros_like(counts), counts) * (1 / 3)
        whole = third.astype(np.int64)
        index = np.repeat(beats.offsets[:-1], counts) + whole
        step = np.append(np.diff(beats.times), 0.0)[index]
        step[offsets_of(counts)[1:] - 1] = 0.0  # there is none at the last beat
        levels.append(Events(step * (third - whole) + beats.times[index], counts))
        position = place_in(beats)
        for first in range(3):
            chosen = position % 3 == first
            levels.append(Events(beats.times[chosen], (beats.counts + 2 - first) // 3))
    return levels


def continuity(judged: Towards, phase: float, period: float) -> tuple[Int, Int]:
    """Length of the longest run of correct beats, and number of correct beats: int64 (pairs,) each.

    Estimates are relative to a reference, with at least two beats per pair on both sides. Simultaneous estimates count
    as one, which is right if one of them is close enough and one follows the right interval. `phase` and `period` are
    the largest errors of a beat and of the interval before it, as shares of the reference's interval before its beat.
    """
    estimate = judged.beats
    interval, own = judged.target.intervals[0][judged.near], estimate.intervals[0]
    in_phase = np.abs(judged.error) <= phase * interval
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        in_tempo = np.abs(1 - own / interval) <= period
    fresh = np.ones(len(estimate.times), dtype=np.bool_)
    fresh[1:] = (estimate.times[1:] != estimate.times[:-1]) | (estimate.pair[1:] != estimate.pair[:-1])
    first = np.flatnonzero(fresh)
    if not len(first):
        return np.zeros(len(estimate.counts), dtype=np.int64), np.zeros(len(estimate.counts), dtype=np.int64)
    if len(first) < len(fresh):
        in_phase, in_tempo = (np.logical_or.reduceat(near, first) for near in (in_phase, in_tempo))
    right = first[in_phase & in_tempo]
    pair = estimate.pair[right]
    start, length = _runs(right, pair)
    longest = np.zeros(len(estimate.counts), dtype=np.int64)
    np.maximum.at(longest, pair[start], length)
    return longest, np.bincount(pair, minlength=len(estimate.counts)).astype(np.int64, copy=False)


def _runs(index: Int, pair: Int) -> tuple[Int, Int]:
    """Start and length of each run of indices of one pair that grow by exactly 1."""
    breaks = np.ones(len(index), dtype=np.bool_)
    breaks[1:] = (np.diff(index) != 1) | (pair[1:] != pair[:-1])
    start = np.flatnonzero(breaks)
    return start, np.diff(np.append(start, len(index)))


_BATCH = 2**16  # Beats of both sides processed at once, so that results fit into the cache
SINGLE = "p_score and goto: the reference has a single beat, so beat intervals are undefined"


class EventBatch(Shared):
    """Pairs with any number of beats on each side, and those with enough beats for a score."""

    def __init__(self, pairs: Pairs) -> None:
        reference, estimate = (events_of(rows, row) for rows, row in pairs.sides)
        self.reference, self.estimate = reference, estimate
        self.counts = np.stack([reference.counts, estimate.counts])
        # Weights: the larger number of beats of both sides, and 1 for each pair with a reference beat
        self.larger = self.counts.max(axis=0, initial=0).astype(np.float64)
        self.tracks = (reference.counts > 0).astype(np.float64)
        self._having: dict[int, tuple[Int, Towards, Towards]] = {}

    def having(self, references: int, estimates: int) -> tuple[Int, Towards, Towards]:
        """Select pairs by minimum numbers of beats, with estimates relative to references and vice versa."""
        enough = np.flatnonzero((self.counts[0] >= references) & (self.counts[1] >= estimates))
        # Equal numbers mean equal pairs, as pairs with more beats are a subset of those with fewer.
        if len(enough) not in self._having:
            reference, estimate = _take(self.reference, enough), _take(self.estimate, enough)
            self._having[len(enough)] = enough, Towards(reference, estimate), Towards(estimate, reference)
        return self._having[len(enough)]

    def neither(self, perfect: float = 1.0) -> Float:
        """Scores of pairs with too few beats: 0, or perfect if both sides are empty."""
        return np.where(self.larger == 0, perfect, 0.0)

    @computed_by("window", "delay")
    def detected(self, window: float, delay: float) -> Detected:
        """Detections of beats after delaying the estimates."""
        delayed = Events(self.estimate.times + delay, self.estimate.counts)
        return Detected.of(self.reference, delayed, window)


def _take(events: Events, chosen: Int) -> Events:
    if len(chosen) == len(events.counts):
        return events
    counts = events.counts[chosen]
    return Events(events.times[ranges(events.offsets[:-1][chosen], counts)], counts)


@computed_once
def _correct_level(batch: EventBatch, limits: tuple[float, float]) -> tuple[Float, Float]:
    pairs, forward, _ = batch.having(2, 2)
    runs, totals = batch.neither(), batch.neither()
    if len(pairs):
        runs[pairs], totals[pairs] = (number / batch.larger[pairs] for number in continuity(forward, *limits))
    return runs, totals


_ENOUGH = 0.5  # Other levels are tried if the share of beats in the longest run at the annotated level is at most this


@computed_once
def _any_level(batch: EventBatch, limits: tuple[float, float], levels: tuple[bool, bool, bool]) -> tuple[Float, ...]:
    """Best runs and totals, and their denominators."""
    runs, totals = (scores.copy() for scores in _correct_level(batch, limits))
    denominators = batch.larger.copy(), batch.larger.copy()
    pairs, forward, _ = batch.having(2, 2)
    tried = np.flatnonzero(runs[pairs] <= _ENOUGH)
    every = _take(forward.beats, tried)
    for level in levels_of(_take(forward.target, tried), *levels) if len(tried) else ():
        there = np.flatnonzero(level.counts > 1)
        if not len(there):
            continue
        judged = Towards(_take(level, there), _take(every, there))
        larger = np.maximum(judged.target.counts, judged.beats.counts).astype(np.float64)
        row = pairs[tried[there]]
        for score, of, number in zip((runs, totals), denominators, continuity(judged, *limits), strict=True):
            share = number / larger
            better = share > score[row]
            score[row[better]], of[row[better]] = share[better], larger[better]
    return runs, denominators[0], totals, denominators[1]


@computed_once
def _histogram(batch: EventBatch, bins: int) -> tuple[Float, Float]:
    """Information gain in bits, and its histogram: (pairs,) and (pairs, bins)."""
    pairs, forward, backward = batch.having(2, 2)
    gain = batch.neither(float(np.log2(bins)))
    counts = np.repeat(batch.larger[:, np.newaxis] / bins, bins, axis=1)
    sides = []
    edges = np.linspace(-0.5 - 0.5 / bins, 0.5 + 0.5 / bins, bins + 2)
    for judged in (forward, backward) if len(pairs) else ():
        # Beats are counted by their error, from -0.5 to 0.5 intervals; the first bin is around -0.5 and 0.5.
        with np.errstate(invalid="ignore"):
            wrapped = np.mod(judged.relative_error + 0.5, -1) + 0.5
        mask, pair = ~np.isnan(wrapped), judged.beats.pair
        if not mask.all():
            wrapped, pair = wrapped[mask], pair[mask]
        # Edges are equidistant except for rounding, which decides about errors next to an edge.
        number = ((wrapped - edges[0]) * bins).astype(np.int64)
        number -= wrapped < edges[number]
        number += wrapped >= edges[number + 1]
        number[number == bins] = 0
        counted = np.bincount(pair * bins + number, minlength=len(pairs) * bins)
        sides.append(counted.reshape(len(pairs), bins).astype(np.float64))
    if sides:
        gains = gain_of(sides[0]), gain_of(sides[1])
        worse = gains[0] < gains[1]
        gain[pairs], counts[pairs] = np.where(worse, *gains), np.where(worse[:, np.newaxis], *sides)
    return gain, counts


_LITERATURE = "@bock2016madmom"
_SKIP = Parameter("skip", 0.0, "s", help="leave out beats up to this time, unless it is 0", least=0.0)
_LARGER = Weight("the larger number of beats of both sides", "beats")
_TRACKS = Weight("number of tracks with reference beats", "tracks")


_RATES = metrics_of_detections(
    EventBatch.detected,
    "beats",
    (
        Parameter("window", 0.07, "s", help="largest distance of matched beats", least=0.0),
        Parameter("delay", 0.0, "s", help="added to the times of the estimate"),
        _SKIP,
    ),
    f"{_LITERATURE}; @dixon2007; @davies2009",
)


@metric(
    "P-score",
    _LARGER,
    needs="intervals",
    range=(0.0, 1.0),
    parameters=(Parameter("window", 0.2, help="half width as a share of the median interval", least=0.0), _SKIP),
    pooling="micro",
    literature=f"{_LITERATURE}; @mckinney2007",
)
def _p_score(batch: EventBatch, measure: Measure) -> Scored:
    """Number of estimated beats within a share of the median interval around a reference beat, over the larger number
    of beats; several may be close to the same one.
    """
    pairs, forward, _ = batch.having(2, 1)
    reference, estimate = forward.target, forward.beats
    score = batch.neither()
    if len(pairs):
        steps = np.diff(reference.times)[place_in(reference)[1:] > 0]
        limit = float(measure["window"]) * medians(steps, reference.counts - 1)
        right = np.abs(forward.error) <= limit[estimate.pair]
        hits = np.bincount(estimate.pair[right], minlength=len(pairs))
        score[pairs] = hits / np.maximum(reference.counts, estimate.counts)
    return score, batch.larger


@metric(
    "Cemgil",
    Weight("mean of the numbers of beats of both sides", "beats"),
    range=(0.0, 2.0),
    parameters=(Parameter("sigma", 0.04, "s", help="width of the Gaussian", above=0.0), _SKIP),
    perfect_exceptions="",
    literature=f"{_LITERATURE}; @cemgil2000; @davies2009",
)
def _cemgil(batch: EventBatch, measure: Measure) -> Scored:
    """Closeness of each estimated beat to the nearest reference beat under a Gaussian, over the mean number of beats;
    above 1 if estimates are repeated.
    """
    pairs, forward, _ = batch.having(1, 1)
    score, mean = batch.neither(), 0.5 * batch.counts.sum(axis=0)
    if len(pairs):
        closeness = np.exp(-(forward.error**2) / (2.0 * float(measure["sigma"]) ** 2))
        score[pairs] = sum_by(forward.beats.pair, closeness, len(pairs)) / mean[pairs]
    return score, mean


@metric(
    "Goto",
    _TRACKS,
    needs="intervals",
    parameters=(
        Parameter("threshold", 0.175, help="largest error of a correct beat, in intervals", least=0.0),
        Parameter("mu", 0.1, help="largest mean absolute error in the run", least=0.0),
        Parameter("sigma", 0.1, help="largest standard deviation of the errors in the run", least=0.0),
        _SKIP,
    ),
    pooling="micro",
    perfect_exceptions="0 if reference beats are repeated too often",
    literature=f"{_LITERATURE}; @goto1997; @davies2009",
)
def _goto(batch: EventBatch, measure: Measure) -> Scored:
    """1 if the longest run of correct estimates covers a quarter of the reference beats and is precise; else 0."""
    pairs, forward, backward = batch.having(2, 1)
    score = batch.neither()
    score[pairs] = 0.0
    error, reference, nearest = forward.relative_error, forward.target, backward.near
    with np.errstate(invalid="ignore"):
        mask = np.abs(error[nearest]) <= float(measure["threshold"])
    nearest, pair = nearest[mask], reference.pair[mask]
    start, length = _runs(nearest, pair)
    owner = pair[start]
    longest = np.zeros(len(reference.counts), dtype=np.int64)
    np.maximum.at(longest, owner, length)
    chosen = np.flatnonzero((length == longest[owner]) & (length >= 0.25 * reference.counts[owner]))
    _, index = np.unique(owner[chosen], return_index=True)  # the first of the longest
    for run in chosen[index].tolist():
        stretch = error[nearest[start[run] : start[run] + length[run]]]
        precise = np.mean(np.abs(stretch)) <= float(measure["mu"]) and np.std(stretch) <= float(measure["sigma"])
        score[pairs[owner[run]]] = precise
    return score, batch.tracks


_TOLERANCES = (
    Parameter("phase", 0.175, help="largest deviation of a beat as a share of the interval", least=0.0),
    Parameter("period", 0.175, help="largest deviation of an interval as a share of it", least=0.0),
)
_LEVELS = (
    Parameter("offbeat", True, help="whether to include the off-beat level"),
    Parameter("double", True, help="whether to include double and half tempo"),
    Parameter("triple", True, help="whether to include triple tempo and a third of it"),
)
_BEST = replace(_LARGER, words=f"{_LARGER.words}, at the best level")
_NINE = "at nine metrical levels, including triple ones"
_CONTINUITY = {
    "cmlc": "longest run of correct beats at the annotated level, over the larger number of beats",
    "cmlt": "number of correct beats at the annotated level, over the larger number of beats",
    "amlc": f"largest CMLc {_NINE}; CMLc itself if that is above 0.5",
    "amlt": f"largest CMLt {_NINE}; CMLt itself if CMLc is above 0.5",
}


@family(
    {name: _LARGER if name.startswith("cml") else _BEST for name in _CONTINUITY},
    {
        name: {
            "title": name[:3].upper() + name[3],
            "aliases": (name[:3].upper() + name[3],),
            "summary": summary,
            "parameters": (*_TOLERANCES, *(() if name.startswith("cml") else _LEVELS), _SKIP),
        }
        for name, summary in _CONTINUITY.items()
    },
    needs="intervals",
    pooling="micro",
    perfect_exceptions="0 if the reference has a single beat; less than 1 if reference beats are repeated",
    literature=f"{_LITERATURE}; @hainsworth2004; @klapuri2006; @davies2009",
)
def _continuities(what: str, batch: EventBatch, measure: Measure) -> Scored:
    """Longest run, or number, of correct beats at the annotated or at any level."""
    limits, total = (float(measure["phase"]), float(measure["period"])), int(what.endswith("t"))
    if what.startswith("cml"):
        return _correct_level(batch, limits)[total], batch.larger
    levels = bool(measure["offbeat"]), bool(measure["double"]), bool(measure["triple"])
    best = _any_level(batch, limits, levels)
    return best[2 * total], best[2 * total + 1]


@family(
    {"information_gain": _TRACKS, "error_histogram": Weight("none", "beats")},
    {
        "information_gain": {
            "title": "Information gain",
            "summary": "distance of the histogram of beat errors from a uniform one, in bits, for the worse of both "
            "directions",
            "aliases": ("D",),
            "unit": "bit",
        },
        "error_histogram": {
            "title": "Beat error histogram",
            "summary": "numbers of beats by their error in intervals, for the worse of both directions; their sum over "
            "tracks gives the global information gain",
            "dims": ("bin",),
            "orientation": "none",
            "default": False,
        },
    },
    needs="intervals",
    range=(0.0, float("inf")),
    pooling="none",
    perfect=None,
    parameters=(Parameter("bins", 40, help="even number of bins of the histogram", least=2), _SKIP),
    literature=f"{_LITERATURE}; @davies2011",
)
def _errors(what: str, batch: EventBatch, measure: Measure) -> Scored | Sparse:
    """Information gain, or the histogram."""
    bins = int(measure["bins"])
    if bins % 2:
        raise MetricError(f"{measure}: the number of bins must be even, got {bins}")
    gain, counts = _histogram(batch, bins)
    if what == "information_gain":
        return gain, batch.tracks
    labels = tuple(f"{number / bins - 0.5:g}" for number in range(bins))
    return tabulate(counts, ("bin",), (labels,), "beats by their error, in intervals")


METRICS = (*_RATES, *metrics_in(globals()))


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score pairs of beat sequences by madmom's rules: a `Scorer`.

    If both sides are empty, all scores are perfect. If one side is empty, they are 0, except that the precision without
    estimates and the recall without references are 1. If the reference has a single beat, P-score and Goto's score are
    undefined, and other scores that need intervals are 0.
    """
    scalars = [measure for measure in measures if not measure.metric.dims]
    values = np.zeros((2, len(pairs), len(scalars)))
    extras: dict[str, Sparse] = {}
    partly: dict[int, str] = {}
    for skip in dict.fromkeys(float(measure["skip"]) for measure in measures):
        left, right = (rows.keep((rows.columns["time"] > skip) | (skip == 0)) for rows, _ in pairs.sides)
        late = replace(pairs, references=left, estimates=right)
        some = [measure for measure in measures if float(measure["skip"]) == skip]
        scores = score_by(EventBatch, late, some, at_once=_BATCH)
        columns = [scalars.index(measure) for measure in some if not measure.metric.dims]
        values[:, :, columns] = scores.score, scores.weight
        extras |= scores.extras
        # P-score and Goto's score are undefined if the reference has a single beat.
        single = np.flatnonzero((late.counts[0] == 1) & (late.counts[1] > 0))
        undefined = [column for column in columns if scalars[column].metric.name in ("p_score", "goto")]
        if undefined and len(single):
            values[0, single[:, np.newaxis], undefined] = np.nan
            partly |= dict.fromkeys(single.tolist(), SINGLE)
    return Scores(values[0], values[1], extras, partly=partly)


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return the beats of both sides with verdicts; see :func:`mirflow.metrics.events.matched`."""
    refuse_unjudged(measure, METRICS, "beats")
    skip, sides = float(measure["skip"]), (rows.columns["time"] for rows in usable_pair(reference, estimate, clean))
    references, estimates = (times[(times > skip) | (skip == 0)] for times in sides)
    return matched(references, estimates, float(measure["window"]), MADMOM, float(measure["delay"]))


CONVENTION = Convention(
    "madmom",
    "madmom's evaluation: all beats count, triple levels, two empty sides are right, information gain in bits",
    METRICS,
    clean,
    score,
    explain=evidence,
    literature="@bock2016madmom",
)
_scores = PairFunctions(
    METRICS,
    lambda reference, estimate, measures: CONVENTION.score_pair(*rows_of_times(reference, estimate), measures),
    lambda reference, estimate, measures: validate_pair(reference, estimate, "beats"),
)


@documented(EVERY)
def evaluate(reference: Array, estimate: Array, **parameters: Value) -> dict[str, float]:
    """Compute all scores of one estimate.

    Parameters
    ----------
    reference, estimate : (n,) and (m,), seconds
        In order of time.
    **parameters
        Parameters such as ``skip`` or ``triple``, for all metrics that take them, except those that have different
        meanings in different metrics, such as ``window``.

    Raises
    ------
    ValueError
        For times that are not finite, later than 30,000 s or unordered, and arrays that are not one-dimensional.

    Examples
    --------
    >>> found = evaluate(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.5, 2.5, 3.5]))
    >>> found["cmlt"], found["amlt"]
    (0.0, 1.0)
    """
    return _scores.every(reference, estimate, parameters)


globals().update(_scores.functions("Times in seconds, in ascending order."))
