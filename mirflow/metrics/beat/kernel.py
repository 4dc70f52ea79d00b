"""Kernels of the beat metrics: batches of pairs, metrical levels, and the scores of pairs with their denominators.

These are the F-measure, Cemgil's and Goto's scores, P-score, continuity and information gain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ...errors import MetricError
from ...kernels.matching import nearest
from ...kernels.ragged_ops import advance, retreat, search_rows, sum_by
from ...kernels.ratios import Scored, rate
from ...ragged import Bool, Float, Int
from ..base import Shared, computed_by, computed_once
from ..events import MATCHINGS, Events
from ..measures import Measure

LEVELS = ("annotated", "off_beat", "double", "half_odd", "half_even")
"""All variations, the annotated one first; as in the Beat Evaluation Toolbox and mir_eval."""

CHOICES = {"mir_eval": LEVELS, "harmonix": ("annotated", "double", "half_odd", "half_even")}
"""Sets of variations over which best scores are taken."""


def variations(beats: Events) -> dict[str, Events]:
    """Compute all variations of sequences with at least one beat.

    They are ``annotated``; ``off_beat``, half way between neighbours; ``double``, both of these; ``half_odd`` and
    ``half_even``, every second beat from the first or the second one.
    """
    times, counts, position = beats.times, beats.counts, place_in(beats)
    inner = np.ones(len(times), dtype=np.bool_)
    inner[beats.offsets[1:] - 1] = False
    first = np.flatnonzero(inner)
    # As in linear interpolation, half the step is added to the beat, so that times are equal to the bit.
    off_beat = (times[first + 1] - times[first]) * 0.5 + times[first]
    double = np.empty(2 * len(times) - len(counts))
    at = 2 * np.arange(len(times), dtype=np.int64) - beats.pair
    double[at] = times
    double[at[first] + 1] = off_beat
    odd = position % 2 == 0
    return {
        "annotated": beats,
        "off_beat": Events(off_beat, counts - 1),
        "double": Events(double, 2 * counts - 1),
        "half_odd": Events(times[odd], (counts + 1) // 2),
        "half_even": Events(times[~odd], counts // 2),
    }


def place_in(events: Events) -> Int:
    """Index of each event within its pair: int64 (events,)."""
    return np.arange(len(events.times), dtype=np.int64) - events.offsets[:-1][events.pair]


@dataclass(eq=False)
class Batch(Shared):
    """Pairs with at least one beat on each side."""

    reference: Events
    estimate: Events

    @cached_property
    def levels(self) -> dict[str, Events]:
        """The reference at every metrical level."""
        return variations(self.reference)

    @cached_property
    def _places(self) -> dict[str, Int]:
        """Insertion points of the estimated beats at every level, computed from those in the doubled beats."""
        double, estimate = self.levels["double"], self.estimate
        points = search_rows(double.times, double.counts, estimate.times, estimate.counts)
        before = points - double.offsets[:-1][estimate.pair]
        annotated = (before + 1) >> 1
        inside = {
            "annotated": annotated,
            "off_beat": before >> 1,
            "half_odd": (annotated + 1) >> 1,
            "half_even": annotated >> 1,
        }
        indices = {name: number + self.levels[name].offsets[:-1][estimate.pair] for name, number in inside.items()}
        return indices | {"double": points}

    @computed_once
    def nearest_reference(self, level: str) -> Int:
        """Index of the nearest beat at a level of the reference for each estimated beat; levels must not be empty."""
        beats, estimate = self.levels[level], self.estimate
        return nearest(beats.times, beats.counts, estimate.times, estimate.counts, self._places[level])

    @computed_once
    def place_in_estimate(self, level: str) -> Int:
        """Insertion point of each annotated beat or off-beat into the estimated beats."""
        beats, estimate = self.levels[level], self.estimate
        return search_rows(estimate.times, estimate.counts, beats.times, beats.counts)

    @computed_once
    def nearest_estimate(self, level: str) -> Int:
        """Index of the nearest estimated beat for each annotated beat or off-beat."""
        beats, estimate = self.levels[level], self.estimate
        return nearest(estimate.times, estimate.counts, beats.times, beats.counts, self.place_in_estimate(level))


def at_level(best: bool, score: Float, denominator: Float) -> Scored:
    """Score and denominator, float64 (pairs, levels) each, of the annotated or of the best level, the first on ties."""
    if not best:
        return score[:, 0], denominator[:, 0]
    chosen = score.argmax(axis=1)[:, np.newaxis]
    return np.take_along_axis(score, chosen, 1)[:, 0], np.take_along_axis(denominator, chosen, 1)[:, 0]


def f_measure(batch: Batch, measure: Measure) -> Scored:
    """F-measure and its denominator, the mean number of beats of both sides, at the annotated level, or at the
    best one for ``f_measure_best``."""
    estimates, window, matching = batch.estimate, float(measure["window"]), str(measure["matching"])
    best = measure.metric.name == "f_measure_best"
    scores, denominators = [], []
    for level in CHOICES[str(measure["levels"])] if best else ("annotated",):
        beats = batch.reference if level == "annotated" else batch.levels[level]
        sides = beats.times, beats.counts, estimates.times, estimates.counts
        hits = batch.once(("hits", window, matching, level), partial(MATCHINGS[matching], *sides, window)).counts
        score, weight = rate("f_measure", hits, beats.counts, estimates.counts)
        scores.append(score)
        denominators.append(weight)
    return at_level(best, np.array(scores).T, np.array(denominators).T)


@computed_by("sigma")
def cemgil(batch: Batch, sigma: float) -> tuple[Float, Float]:
    """Cemgil's score at every metrical level and its denominator, the mean number of beats: float64 (pairs, levels)."""
    closeness, total = {}, {}
    for level in ("annotated", "off_beat"):
        beats = batch.levels[level]
        error = beats.times - batch.estimate.times[batch.nearest_estimate(level)]
        with np.errstate(divide="ignore", invalid="ignore"):
            closeness[level] = np.exp(-(error**2) / (2.0 * sigma**2))
        total[level] = sum_by(beats.pair, closeness[level], len(beats.counts))
    total["double"] = total["annotated"] + total["off_beat"]
    annotated = batch.reference
    odd = place_in(annotated) % 2 == 0
    for level, chosen in (("half_odd", odd), ("half_even", ~odd)):
        total[level] = sum_by(annotated.pair[chosen], closeness["annotated"][chosen], len(annotated.counts))
    counts = np.column_stack([batch.levels[level].counts for level in LEVELS])
    denominator = 0.5 * (batch.estimate.counts[:, np.newaxis] + counts).astype(np.float64)
    return np.column_stack([total[level] for level in LEVELS]) / denominator, denominator


def goto(batch: Batch, measure: Measure) -> Scored:
    """Goto's score, 1 or 0, and 1 for each pair: float64 (pairs,).

    The threshold is the largest error of a correct beat, in half intervals of the reference, below 1; mu and sigma are
    the upper limits of the mean and the standard deviation of the absolute errors in the section.
    """
    threshold, mu, sigma = (float(measure[name]) for name in ("threshold", "mu", "sigma"))
    if not threshold < 1:
        raise MetricError(f"goto: the threshold must be below 1, got {threshold}")
    beats, estimates = batch.reference, batch.estimate.times
    # Error of each beat in half intervals; 1 if no estimate or several are around it.
    error = np.ones(len(beats.times))
    inner = np.ones(len(beats.times), dtype=np.bool_)
    inner[beats.offsets[:-1]] = inner[beats.offsets[1:] - 1] = False
    beat = np.flatnonzero(inner)
    if len(beat):
        times, number = beats.times[beat], beat - beats.pair[beat]
        before, after = 0.5 * (times - beats.times[beat - 1]), 0.5 * (beats.times[beat + 1] - times)
        start, stop = (bound[beats.pair[beat]] for bound in (batch.estimate.offsets[:-1], batch.estimate.offsets[1:]))
        # The off-beats around a beat delimit its window, except for rounding, which is corrected.
        off_beat = batch.place_in_estimate("off_beat")
        low, high = times - before, times + after
        first = advance(estimates, retreat(estimates, start, off_beat[number - 1], low), stop, low, "left")
        last = advance(estimates, retreat(estimates, start, off_beat[number], high), stop, high, "left")
        single = last - first == 1
        offset = estimates[first[single]] - times[single]
        error[beat[single]] = offset / np.where(offset < 0, before[single], after[single])
    wrong = np.flatnonzero(np.abs(error) > threshold)
    counts = np.bincount(beats.pair[wrong], minlength=len(beats.counts))
    # Section of each pair to examine, as a range of beats, and whether it is long enough
    begins = np.cumsum(counts) - counts
    begin, end = np.zeros_like(counts), np.zeros_like(counts)
    long_enough = np.zeros(len(counts), dtype=np.bool_)
    whole = np.flatnonzero(counts == 2)  # all beats except the first and the last are right
    begin[whole], end[whole] = wrong[begins[whole]] + 1, wrong[begins[whole] + 1] - 1
    long_enough[whole] = True
    broken = counts > 2
    pair = np.repeat(np.arange(len(counts)), counts)
    left = np.flatnonzero((pair[:-1] == pair[1:]) & broken[pair[:-1]])
    gap = wrong[left + 1] - wrong[left]
    if len(left):
        rows = np.flatnonzero(broken)
        sizes = counts[rows] - 1
        starts = np.cumsum(sizes) - sizes
        longest = np.maximum.reduceat(gap, starts)
        chosen = np.flatnonzero(gap == np.repeat(longest, sizes))
        chosen = chosen[np.searchsorted(chosen, starts)]  # the first of the longest
        begin[rows], end[rows] = wrong[left[chosen]], wrong[left[chosen] + 1] + 1
        long_enough[rows] = longest - 1 > 0.25 * (beats.counts[rows] - 2)
    score = np.zeros(len(beats.counts))
    # One section per pair: summed by numpy, so that means exactly at the limit are judged as in mir_eval.
    for row in np.flatnonzero(long_enough & (end - begin > 1)).tolist():
        stretch = error[begin[row] : end[row]]
        score[row] = np.mean(np.abs(stretch)) < mu and np.std(stretch, ddof=1) < sigma
    return score, np.ones(len(beats.counts))


RATE = 100  # Frames per second of the impulse trains
TOO_CLOSE = "all reference beats are in one frame of 10 ms, so beat intervals are undefined"


def p_score(batch: Batch, measure: Measure) -> tuple[Float, Float, Bool]:
    """P-score of pairs with at least two beats on each side: score, denominator, and whether it is measurable.

    The window is a share of the reference's median interval to either side. With ``remove_offset``, impulse trains
    start at the first beat of either side instead of 0 s. The denominator is the larger number of beats or of impulses;
    windows with a fraction of half a frame are rounded as ``rounding`` says. If all reference beats are in one frame,
    the pair is not measurable and its score 0.
    """
    reference, estimate = batch.reference, batch.estimate
    offset = np.zeros(len(reference.counts))
    if measure["remove_offset"]:
        offset = np.minimum(reference.times[reference.offsets[:-1]], estimate.times[estimate.offsets[:-1]])
    trains = []  # distinct frames of the beats, as whole numbers
    for beats in (reference, estimate):
        frames = np.ceil((beats.times - np.repeat(offset, beats.counts)) * RATE)
        fresh = np.ones(len(frames), dtype=np.bool_)
        np.not_equal(frames[1:], frames[:-1], out=fresh[1:])
        fresh[beats.offsets[:-1][beats.counts > 0]] = True
        counts = np.bincount(beats.pair[fresh], minlength=len(beats.counts)).astype(np.int64, copy=False)
        trains.append(Events(frames[fresh], counts))
    train = trains[0]
    steps = np.empty(len(train.times))
    steps[:-1] = train.times[1:] - train.times[:-1]
    # The last impulse of a pair has no successor; it is sorted after all steps.
    steps[train.offsets[1:] - 1] = np.inf
    ordered = steps[np.lexsort((steps, train.pair))]
    upper = train.offsets[:-1] + (train.counts - 1) // 2
    lower = train.offsets[:-1] + np.maximum(train.counts - 2, 0) // 2
    width = np.where(train.counts > 1, (ordered[lower] + ordered[upper]) / 2, 0.0) * float(measure["window"])
    width = np.floor(width + 0.5) if measure["rounding"] == "half_up" else np.round(width)
    measurable = train.counts > 1
    # Pairs of impulses that are at most a window apart.
    other, wide = trains[1], np.where(measurable, width, 0.0)[trains[1].pair]
    low = search_rows(train.times, train.counts, other.times - wide, other.counts)
    high = search_rows(train.times, train.counts, other.times + wide, other.counts, "right")
    coincidences = np.where(measurable, np.bincount(other.pair, high - low, minlength=len(other.counts)), 0.0)
    items = [reference, estimate] if measure["normaliser"] == "beats" else trains
    denominator = np.maximum(items[0].counts, items[1].counts).astype(np.float64)
    return coincidences / denominator, denominator, measurable


@computed_by("phase", "period")
def continuity(batch: Batch, phase: float, period: float) -> tuple[Float, Float, Float]:
    """Shares of correct beats at every metrical level, for pairs with at least two beats on each side.

    `phase` and `period` are the largest deviations of a beat and of the interval before it, as shares of the
    reference's interval. Returns the length of the longest run of correct beats and their number, divided by the
    denominator, and the denominator, the larger number of beats of both sides: float64 (pairs, levels) each.
    """
    estimate = batch.estimate
    position, item = place_in(estimate), np.arange(len(estimate.times), dtype=np.int64)
    runs, totals = [], []
    for level in LEVELS:
        reference, near = batch.levels[level], batch.nearest_reference(level)
        # Correct beats are close to a beat that no earlier one has matched, in about its tempo.
        first, last = reference.offsets[:-1][estimate.pair], reference.offsets[1:][estimate.pair] - 1
        # The first beat of either side has no interval before it, so the one after it is used.
        forward = (position == 0) | (near == first)
        until = np.where(forward & (near < last), near + 1, near)
        since = np.where(until > near, near, np.maximum(near - 1, first))
        interval = reference.times[until] - reference.times[since]
        own_until = np.where(forward & (position != (estimate.counts - 1)[estimate.pair]), item + 1, item)
        own_interval = estimate.times[own_until] - estimate.times[own_until - 1]
        distance = np.abs(estimate.times - reference.times[near])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            phase_error, period_error = np.abs(distance / interval), np.abs(1 - own_interval / interval)
        none = interval == 0
        if none.any():
            phase_error[none] = np.where(distance[none] == 0, 1.0, np.inf)
            period_error[none] = np.where(own_interval[none] == 0, 0.0, np.inf)
        right: Bool = (phase_error < phase) & (period_error < period)
        chosen = np.flatnonzero(right)
        taker = np.empty(len(reference.times), dtype=np.int64)
        # The first of several beats that match the same one is right: in reverse order, it is written last.
        taker[near[chosen][::-1]] = chosen[::-1]
        right[chosen] = taker[near[chosen]] == chosen
        length = item + 1 - np.maximum.accumulate(np.where(right, estimate.offsets[:-1][estimate.pair], item + 1))
        runs.append(np.maximum.reduceat(length, estimate.offsets[:-1]).astype(np.float64))
        totals.append(sum_by(estimate.pair, right.astype(np.float64), len(estimate.counts)))
    counts = np.column_stack([batch.levels[level].counts for level in LEVELS])
    denominator = np.maximum(counts, estimate.counts[:, np.newaxis]).astype(np.float64)
    return np.column_stack(runs) / denominator, np.column_stack(totals) / denominator, denominator


def information_gain(batch: Batch, measure: Measure) -> Scored:
    """Information gain in bits or, normalised, as a share of its maximum, and 1 for each pair: float64 (pairs,).

    Bins are of equal width; with half ends, there is one more, and the first and last have half the width. Pairs have
    at least two beats on each side. NaN if all estimated beats are at the same time.
    """
    bins = int(measure["bins"])
    edges = np.linspace(-0.5, 0.5, bins + 1)
    if measure["edges"] == "half_ends":
        edges = np.concatenate([[-0.5], (np.arange(bins) + 0.5) / bins - 0.5, [0.5]])
    reference, estimate = batch.reference, batch.estimate
    bins, pairs, entropies = len(edges) - 1, len(reference.counts), []
    for target, beats, near in (
        (reference, estimate, batch.nearest_reference("annotated")),
        (estimate, reference, batch.nearest_estimate("annotated")),
    ):
        # Errors are relative to the nearest target, as a share of the enclosing interval, in (-0.5, 0.5].
        first, last = target.offsets[:-1][beats.pair], target.offsets[1:][beats.pair] - 1
        distance = beats.times - target.times[near]
        previous = (distance < 0) | (near == last)
        lower = np.where(previous, near - 1, near)
        # The "previous" target of the first one is the last, as by an index of -1.
        lower = np.where(lower < first, last, lower)
        upper = np.where(previous, near, near + 1)
        interval = 0.5 * (target.times[upper] - target.times[lower])
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = np.mod(0.5 * distance / interval + 0.5, -1) + 0.5
        mask = ~np.isnan(errors)
        number = np.minimum(np.searchsorted(edges, errors[mask], side="right") - 1, bins - 1)
        histogram = np.bincount(beats.pair[mask] * bins + number, minlength=pairs * bins).reshape(pairs, bins)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = histogram / histogram.sum(axis=1, keepdims=True)
        share[share == 0] = 1
        terms = share * np.log2(share)
        entropies.append(-sum_by(np.repeat(np.arange(pairs), bins), terms.ravel(), pairs))
    forward, backward = entropies
    largest = np.log2(bins)
    with np.errstate(invalid="ignore"):
        gain: Float = largest - np.where(forward > backward, forward, backward)
        return gain / largest if measure["normalise"] else gain, np.ones(pairs)
