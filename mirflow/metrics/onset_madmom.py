"""Convention madmom of onset detection: a window of 25 ms, and close reference onsets are combined.

Functions over one pair are `evaluate` and one for each metric that is a single number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..annotations.annotation import Annotation
from ..ragged import Column
from .base import Convention, Pairs, Shared, computed_by, read_pair, refuse_unjudged, score_by
from .cleaning import usable_pair
from .events import (
    MADMOM,
    Detected,
    Events,
    clean,
    events_of,
    matched,
    metrics_of_detections,
    rows_of_times,
    validate_pair,
)
from .measures import Measure, Parameter, Value
from .pair import EVERY, PairFunctions, documented
from .util import Array

_SLACK = 1e-12  # Seconds added to the largest distance of combined onsets


def combine(events: Events, distance: float) -> Events:
    """Replace close neighbours by their mean, from left to right, and continue with the mean.

    Events keep their order, which may be any. The distance is in seconds; 0: none are combined.
    """
    times, limit = events.times, distance + _SLACK
    if distance == 0 or len(times) < 2:
        return events
    inside, step = events.pair[1:] == events.pair[:-1], np.diff(times)
    # A mean is earlier than the latest time, so later events that are too far from the latter are too far from the
    # mean.
    unsorted = np.unique(events.pair[1:][inside & (step < 0)])
    close = inside & ((step <= limit) | np.isin(events.pair[1:], unsorted))
    begins = np.flatnonzero(close & ~np.append(False, close[:-1]))
    ends = np.flatnonzero(close & ~np.append(close[1:], False)) + 2
    combined, mask = times.copy(), np.ones(len(times), dtype=np.bool_)
    for first, end in zip(begins.tolist(), ends.tolist(), strict=True):
        last = first
        for item in range(first + 1, end):
            if combined[item] - combined[last] <= limit:
                combined[last] = 0.5 * (combined[last] + combined[item])
                mask[item] = False
            else:
                last = item
    counts = np.bincount(events.pair[mask], minlength=len(events.counts)).astype(np.int64, copy=False)
    return Events(combined[mask], counts)


_BATCH = 2**16  # Onsets of both sides that are handled at once, so that what is computed from them stays in the cache


@dataclass(eq=False)
class OnsetPairs(Shared):
    """The unsorted onsets of pairs."""

    pairs: Pairs

    @computed_by("window", "combine", "delay")
    def detected(self, window: float, combined: float, delay: float) -> Detected:
        """Detections of onsets after combining those of the reference and delaying those of the estimate."""
        reference, estimate = (events_of(rows, row) for rows, row in self.pairs.sides)
        sides = []
        for events in (combine(reference, combined), Events(estimate.times + delay, estimate.counts)):
            times = events.times
            if len(events.counts) > 1 or (times[1:] < times[:-1]).any():
                times = times[np.lexsort((times, events.pair))]
            sides.append(Events(times, events.counts))
        return Detected.of(sides[0], sides[1], window)


METRICS = metrics_of_detections(
    OnsetPairs.detected,
    "onsets",
    (
        Parameter("window", 0.025, "s", help="largest distance of matched onsets", least=0.0),
        Parameter("combine", 0.0, "s", help="largest distance of combined reference onsets", least=0.0),
        Parameter("delay", 0.0, "s", help="added to the times of the estimate"),
    ),
    "@bock2016madmom; @bock2012onsets",
    perfect_exceptions="less than 1 if reference onsets are combined",
)


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return the onsets of both sides with verdicts, combined ones at their mean; see `matched`."""
    refuse_unjudged(measure, METRICS, "onsets")
    one, other = (rows.columns["time"] for rows in usable_pair(reference, estimate, _clean))
    combined = combine(Events(one, np.array([len(one)], dtype=np.int64)), float(measure["combine"])).times
    return matched(np.sort(combined), np.sort(other), float(measure["window"]), MADMOM, float(measure["delay"]))


_clean = partial(clean, sort=False)
CONVENTION = Convention(
    "madmom",
    "madmom's evaluation: within 25 ms, close reference onsets combined on request; two empty sides are right",
    METRICS,
    _clean,
    partial(score_by, OnsetPairs, at_once=_BATCH),
    explain=evidence,
    literature="@bock2016madmom",
)
_scores = PairFunctions(
    METRICS,
    lambda reference, estimate, measures: read_pair(
        measures, OnsetPairs(Pairs.in_order(*rows_of_times(reference, estimate)))
    ),
    lambda reference, estimate, measures: validate_pair(reference, estimate, "onsets"),
)


@documented(EVERY)
def evaluate(reference: Array, estimate: Array, **parameters: Value) -> dict[str, float]:
    """Compute all scores of one estimate.

    Parameters
    ----------
    reference, estimate : (n,) and (m,), seconds
        In order of time.
    **parameters
        ``window``, ``combine`` and ``delay``, in seconds.

    Raises
    ------
    ValueError
        For times that are not finite, later than 30,000 s or unordered, and arrays that are not one-dimensional.

    Examples
    --------
    >>> evaluate(np.array([1.0, 1.02, 2.0]), np.array([1.01, 2.02]), combine=0.03)["f_measure"]
    1.0
    """
    return _scores.every(reference, estimate, parameters)


globals().update(_scores.functions("Times in seconds, in ascending order."))
