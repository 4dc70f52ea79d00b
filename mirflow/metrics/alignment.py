"""Alignment: reference and estimate are the times of the same events in the same order, such as the words of a song.

The n-th time of the estimate belongs to the n-th of the reference. The functions are those of ``mir_eval.alignment``,
with the same arguments, results and errors; `TASK` holds the metrics of whole datasets.

Conventions
-----------
* ``mir_eval`` (default): mir_eval 0.8.2.
* ``asynchrony``: the same metrics; by default the shares of events within 25, 50, 100 and 200 ms, and the median and
  mean asynchrony.

Metrics
-------
* ``percentage_correct`` (`percentage_correct`): share of the events within 0.3 s.
* ``median_absolute_error``, ``mean_absolute_error`` (`absolute_error`): absolute errors of the times, in seconds.
* ``percentage_correct_segments`` (`percentage_correct_segments`): overlap of the segments between events, as a share of
  the duration.
* ``karaoke_perceptual`` (`karaoke_perceptual_metric`): mean of the synchrony that listeners perceive.

References
----------
Mauch, Fujihara and Goto, SMC 2010; Fujihara et al., LyricSynchronizer, 2011; Lizé Masclef, Vaglio and Moussallam,
User-centered evaluation of lyrics-to-audio alignment, ISMIR 2021; MIREX automatic lyrics-to-audio alignment, 2020;
Peter, Online symbolic music alignment with offline reinforcement learning, ISMIR 2023.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.schema import LATEST
from ..errors import AnnotationError, refuse_unknown
from ..kernels.intervals import batches
from ..kernels.ragged_ops import medians, sum_by
from ..kernels.ratios import divide
from ..ragged import Column, Float, Int, Ragged, offsets_of, rows_of
from .base import Convention, Grid, Pairs, Scores, Task, by_name, read_pair
from .cleaning import NO_TIMES, Cleaned, inspected, set_aside, usable_pair
from .events import events_of
from .measures import Measure, Parameter, Value, Weight, family, metric, metrics_in, select
from .pair import PairFunctions, documented
from .util import BOUNDED, Array, are_times

__all__ = ["TASK", "absolute_error", "evaluate", "karaoke_perceptual_metric", "percentage_correct"]
__all__ += ["percentage_correct_segments", "validate"]

_SKEWNESS, _LOCATION, _SCALE, _LARGEST = 1.12244251, -0.22270315, 0.29779424, 1.6857


class Timestamps:
    """Events of pairs; the n-th of the reference corresponds to the n-th of the estimate.

    Times of all pairs are concatenated, in order of time within a pair: float64 (events,), seconds. `counts` are the
    events of each pair, at least one: int64 (pairs,).
    """

    def __init__(self, reference: Float, estimate: Float, counts: Int) -> None:
        self.reference, self.estimate, self.counts = reference, estimate, counts
        self.owner = rows_of(counts)  # The pair of each event: int64 (events,)
        self.error = np.abs(reference - estimate)  # Seconds between the two sides of each event: float64 (events,)

    def mean(self, values: Float) -> Float:
        """Means over the events of each pair: float64 (pairs,)."""
        return sum_by(self.owner, values, len(self.counts)) / self.counts


_EVENTS = Weight("number of events", "events")


@family(
    _EVENTS,
    {
        "percentage_correct": {
            "title": "Percentage correct",
            "summary": "share of the events within a window around their reference",
            "key": "pc",
            "aliases": ("PC", "percentage_of_correct_onsets"),
            "parameters": (
                Parameter("window", 0.3, "s", least=0.0, help="largest correct deviation", mir_eval="window"),
            ),
        },
        **{
            f"{statistic}_absolute_error": {
                "title": f"{statistic.capitalize()} absolute error",
                "summary": f"{statistic} of the absolute differences between the two times of each event",
                "key": key,
                "aliases": (f"{statistic}_asynchrony",),
                "range": (0.0, float("inf")),
                "orientation": "lower",
                "unit": "s",
                "perfect": 0.0,
                "pooling": pooling,
                "mir_eval": "absolute_error",
            }
            for statistic, key, pooling in (("median", "mae", "none"), ("mean", "aae", "exact"))
        },
    },
    literature="@mauch2010lyrics",
)
def _errors(name: str, stamps: Timestamps, measure: Measure) -> tuple[Float, Int]:
    """Share of small differences, or the median or mean of the absolute differences."""
    if name == "median_absolute_error":
        return medians(stamps.error, stamps.counts), stamps.counts
    correct = name == "percentage_correct"
    values = (stamps.error <= float(measure["window"])).astype(np.float64) if correct else stamps.error
    return stamps.mean(values), stamps.counts


@metric(
    "Percentage of correct segments",
    Weight("seconds from the first to the last event of the reference, or the duration", "s"),
    key="pcs",
    aliases=("PCS",),
    pooling="micro",
    perfect_exceptions="undefined if all events of the reference are at the same time",
    parameters=(
        Parameter(
            "duration",
            0.0,
            "s",
            least=0.0,
            help="length of the recordings; 0: from the first to the last event",
            mir_eval="duration",
        ),
    ),
    literature="@fujihara2011; @mirex2020lyrics",
)
def _percentage_correct_segments(stamps: Timestamps, measure: Measure) -> tuple[Float, Float]:
    """Share of the time in which the segment between two events overlaps with its counterpart."""
    duration, offsets = float(measure["duration"]), offsets_of(stamps.counts)
    first, last = offsets[:-1], offsets[1:] - 1
    starts = np.maximum(stamps.reference, stamps.estimate)
    ends = np.minimum(stamps.reference, stamps.estimate)
    lasting = np.zeros_like(starts)
    lasting[:-1] = np.maximum(ends[1:] - starts[:-1], 0.0)
    # A duration adds the segments before the first event and after the last one.
    lasting[last] = np.maximum(duration - starts[last], 0.0) if duration else 0.0
    overlap = sum_by(stamps.owner, lasting, len(stamps.counts))
    total = stamps.reference[last] - stamps.reference[first]
    if duration:
        overlap, total = overlap + ends[first], np.full(len(overlap), duration)
    return divide(overlap, total, np.nan), total


@metric(
    "Karaoke perceptual metric",
    _EVENTS,
    key="perceptual",
    mir_eval="karaoke_perceptual_metric",
    range=(0.0, 1.0001),
    perfect=0.9606239680360236,
    literature="@masclef2021",
)
def _karaoke_perceptual(stamps: Timestamps, measure: Measure) -> tuple[Float, Int]:
    """Mean perceived synchrony of the events, from a skewed normal distribution over the offset."""
    from scipy.special import ndtr

    # The density at the offset over its maximum: early events are judged more kindly than late ones.
    standardised = (stamps.estimate - stamps.reference - _LOCATION) / _SCALE
    density = 2 / _SCALE / math.sqrt(2 * math.pi) * np.exp(-(standardised**2) / 2) * ndtr(_SKEWNESS * standardised)
    return stamps.mean(density / _LARGEST), stamps.counts


METRICS = metrics_in(globals())
_BATCH = 1 << 14  # Events per round, so that its arrays fit into the processor's cache


def score(pairs: Pairs, measures: Sequence[Measure], grid: Grid = "union") -> Scores:
    """Score pairs of aligned timestamps as mir_eval does.

    As in mir_eval, pairs with different numbers of timestamps are refused, unless the estimate is empty: then errors
    are NaN and other scores 0. An empty reference has weight 0.
    """
    counts, others = pairs.counts
    comparable, refused = (counts > 0) & (others > 0), dict[int, str]()
    durations = (measure.parameters.get("duration") for measure in measures)
    spans = [float(duration) for duration in durations if duration]
    for (rows, row), side in zip(pairs.sides[::-1], ("estimated", "reference"), strict=True):
        latest = (
            rows.columns["time"][rows.offsets[1:][row] - 1] if spans and len(rows.columns["time"]) else counts * 0.0
        )
        for pair in np.flatnonzero(comparable & (latest > min(spans, default=np.inf))).tolist():
            refused[pair] = too_late(side, float(latest[pair]), min(spans))
    for pair in np.flatnonzero(comparable & (counts != others)).tolist():
        refused[pair] = differing(int(counts[pair]), int(others[pair]))
    fit = (others == counts) & (counts > 0)
    fit[list(refused)] = False
    scores = np.zeros((len(counts), len(measures)))
    scores[:, [measure.metric.orientation == "lower" for measure in measures]] = np.nan
    scores[list(refused)] = np.nan
    weights = np.zeros_like(scores)
    # Seconds from the first to the last event of the reference
    times, offsets, row = pairs.references.columns["time"], pairs.references.offsets, pairs.reference_row
    span = np.zeros(len(counts))
    filled = np.flatnonzero(counts)
    span[filled] = times[offsets[row[filled] + 1] - 1] - times[offsets[row[filled]]]
    for column, measure in enumerate(measures):
        seconds = np.where(counts > 0, float(measure.parameters.get("duration", 0.0)) or span, 0.0)
        weights[:, column] = seconds if measure.metric.weight_unit == "s" else counts
    scored = np.flatnonzero(fit)
    for part in batches(counts[scored], _BATCH):
        batch = scored[part]
        left, right = (events_of(rows, row).times for rows, row in pairs[batch].sides)
        stamps = Timestamps(left, right, counts[batch])
        for column, measure in enumerate(measures):
            scores[batch, column], weights[batch, column] = measure.read(stamps)
    return Scores(scores, weights, refused=refused)


def differing(reference: int, estimate: int) -> str:
    """Message for different numbers of timestamps."""
    return (
        "Number of timestamps must be the same in prediction and ground truth, but found "
        f"{estimate} in prediction and {reference} in ground truth"
    )


def too_late(side: str, latest: float, duration: float) -> str:
    """Message for timestamps after the end of the recording."""
    return f"Expected largest {side} timestamp {latest} to not be larger than duration {duration}"


_documented = documented(
    """
    Parameters
    ----------
    reference_timestamps, estimated_timestamps : (n,), seconds
        Times of the same events in the same order.
    duration : float or None
        Length of the recording in seconds, which adds the segments before the first event and after the last one. None:
        only the time from the first to the last event of the reference counts.

    Raises
    ------
    ValueError
        For arrays that are not one-dimensional, an empty reference, different numbers of times, and times that are
        decreasing, negative or not finite.
    """,
    METRICS,
)


@_documented
def validate(reference_timestamps: Array, estimated_timestamps: Array) -> None:
    """Check both sides of a pair.

    Examples
    --------
    >>> validate(np.array([0.5, 1.0]), np.array([0.6, 0.9]))
    """
    sides = (("Reference", reference_timestamps), ("Estimated", estimated_timestamps))
    for side, times in sides:
        if not isinstance(times, np.ndarray):
            raise ValueError(f"{side} timestamps need to be a numpy array, but got {type(times)}")
    for side, times in sides:
        if times.ndim != 1:
            raise ValueError(f"{side} timestamps need to be a one-dimensional vector, but got {times.ndim} dimensions")
    if reference_timestamps.size == 0:
        raise ValueError("Reference timestamps are empty.")
    if estimated_timestamps.size != reference_timestamps.size:
        raise ValueError(differing(reference_timestamps.size, estimated_timestamps.size))
    if all(times[0] >= 0 and times[-1] <= LATEST and (times[1:] >= times[:-1]).all() for _, times in sides):
        return
    for side, times in sides:
        if not (times[1:] >= times[:-1]).all():
            raise ValueError(f"{side} timestamps are not monotonically increasing!")
    for side, times in sides:
        if not (times >= 0).all():
            raise ValueError(f"{side} timestamps can not be below 0!")
    for side, times in sides:
        if not are_times(times[-1]):
            raise ValueError(f"{side} timestamps {BOUNDED}")


def score_pair(reference: Array, estimate: Array, measures: Sequence[Measure]) -> list[float]:
    """Check one pair of arrays and score it."""
    validate(reference, estimate)
    sides = np.asarray(reference, dtype=np.float64), np.asarray(estimate, dtype=np.float64)
    for measure in measures:
        duration = float(measure.parameters.get("duration", 0.0))
        if not duration:
            continue
        for side, times in zip(("reference", "estimated"), sides, strict=True):
            if times[-1] > duration:
                raise ValueError(too_late(side, float(times[-1]), duration))
    stamps = Timestamps(*sides, np.array([len(sides[0])], dtype=np.int64))
    scores = read_pair(measures, stamps)
    if any(map(math.isnan, scores)):
        raise ValueError("Reference timestamps are all identical, can not compute PCS metric!")
    return scores


_scores = PairFunctions(METRICS, score_pair)


def _given(duration: float | None) -> dict[str, Value]:
    if duration is not None and not float(duration) > 0:
        raise ValueError(f"Positive duration needs to be provided, but got {duration}")
    return {} if duration is None else {"duration": float(duration)}


@_documented
def absolute_error(reference_timestamps: Array, estimated_timestamps: Array) -> tuple[float, float]:
    """Median and mean of the absolute errors.

    Returns
    -------
    mae, aae : float, seconds

    Examples
    --------
    >>> absolute_error(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, 4.0]))
    (0.5, 0.5)
    """
    mae, aae = _scores("absolute_error", reference_timestamps, estimated_timestamps)
    return mae, aae


@_documented
def percentage_correct(reference_timestamps: Array, estimated_timestamps: Array, window: float = 0.3) -> float:
    """Share of the events within a window around their reference, in [0, 1].

    Examples
    --------
    >>> percentage_correct(np.array([1.0, 2.0]), np.array([1.2, 2.5]))
    0.5
    """
    return _scores("percentage_correct", reference_timestamps, estimated_timestamps, window=window)[0]


@_documented
def percentage_correct_segments(
    reference_timestamps: Array, estimated_timestamps: Array, duration: float | None = None
) -> float:
    """Share of the time in which the segments between events overlap with their counterparts, in [0, 1].

    Raises
    ------
    ValueError
        For a duration that is not positive or ends before the last event, and, without a duration, if all events of the
        reference are at the same time.

    Examples
    --------
    >>> percentage_correct_segments(np.array([0.0, 2.0, 4.0]), np.array([0.0, 1.0, 4.0]))
    0.75
    """
    length = _given(duration)
    return _scores("percentage_correct_segments", reference_timestamps, estimated_timestamps, **length)[0]


@_documented
def karaoke_perceptual_metric(reference_timestamps: Array, estimated_timestamps: Array) -> float:
    """Mean perceived synchrony of text and audio.

    Returns
    -------
    float
        In [0, 1]; 0.96 for a perfect alignment, because listeners prefer events that are 0.07 s early.

    Examples
    --------
    >>> round(karaoke_perceptual_metric(np.array([1.0, 2.0]), np.array([1.0, 2.0])), 4)
    0.9606
    """
    return _scores("karaoke_perceptual_metric", reference_timestamps, estimated_timestamps)[0]


@_documented
def evaluate(reference_timestamps: Array, estimated_timestamps: Array, **kwargs: Any) -> OrderedDict[str, float]:
    """All alignment scores of one estimate.

    Returns
    -------
    OrderedDict of str to float
        ``pc``, ``mae``, ``aae``, ``pcs`` and ``perceptual``.

    Examples
    --------
    >>> scores = evaluate(np.array([1.0, 2.0]), np.array([1.25, 2.5]))
    >>> scores["pc"], scores["aae"], scores["pcs"]
    (0.5, 0.375, 0.75)
    """
    refuse_unknown("evaluate", kwargs, ("reference_timestamps", "estimated_timestamps", *_scores.parameters))
    kwargs |= _given(kwargs.pop("duration", None))
    return _scores.evaluate(reference_timestamps, estimated_timestamps, kwargs)


def clean(rows: Ragged) -> Cleaned:
    """Find rows that cannot be aligned event by event; nothing is repaired, because the order pairs the events.

    Flaws are times that are negative, not finite or out of order. Repeated times are counted in `repairs`.
    """
    _, problems, repeated = inspected("events", rows, (*NO_TIMES, "negative", "unsorted"), ("duplicate",))
    return set_aside(rows, problems, repeated)


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return every event with its error, and its verdict for ``percentage_correct``.

    Columns are ``reference``, ``estimate`` and ``deviation`` (estimate - reference) in seconds; for
    ``percentage_correct`` also ``verdict``, ``right`` or ``wrong``.
    """
    left, right = (rows.columns["time"] for rows in usable_pair(reference, estimate, clean))
    if len(left) != len(right):
        raise AnnotationError(differing(len(left), len(right)))
    columns: dict[str, Column] = {"reference": left, "estimate": right, "deviation": right - left}
    if measure.metric.name == "percentage_correct":
        columns["verdict"] = np.where(np.abs(left - right) <= float(measure["window"]), "right", "wrong")
    return columns


MIR_EVAL = Convention(
    "mir_eval",
    "mir_eval 0.8.2: the n-th event of the estimate belongs to the n-th of the reference",
    METRICS,
    clean,
    score,
    explain=evidence,
    literature="@raffel2014",
)
ASYNCHRONY = replace(
    MIR_EVAL,
    name="asynchrony",
    summary="shares of events within 25, 50, 100 and 200 ms, median and mean asynchrony",
    default_measures=select(
        ("percentage_correct@[0.025,0.05,0.1,0.2]", "median_absolute_error", "mean_absolute_error"), METRICS
    ),
    literature="@peter2023",
)

TASK = Task("alignment", "Alignment", by_name(MIR_EVAL, ASYNCHRONY), ("percentage_correct",))
