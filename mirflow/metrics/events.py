"""Events of many pairs: cleaning, ways of matching, evidence, and metrics of detected events as in madmom.

Beats and onsets share all of these and the checks of one pair. Drums, boundaries of segments, alignments and notes use
parts of it; metrics by class of any task share counts and tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..annotations.annotation import Annotation
from ..annotations.schema import LATEST
from ..errors import warn_caller
from ..kernels.matching import Matching, match, match_greedily, match_nearest_first, within_distance
from ..kernels.ragged_ops import sum_by
from ..kernels.ratios import Scored, divide, rate, share
from ..ragged import Bool, Column, Float, Int, Ragged, offsets_of, ranges, rows_of
from .base import Sparse, refuse_unjudged
from .cleaning import Cleaned, in_order, inspected, set_aside, usable_pair
from .measures import Measure, Metric, Parameter, Weight, family
from .util import BOUNDED, Array, are_times, validate_events

MAX_TIME = 30000.0  # Latest time in seconds; later ones are taken for a wrong unit
COUNTED = ("matched", "reference", "estimate")  # Counts of each class, instrument or mark
OF_COUNTS: Mapping[str, Any] = MappingProxyType(
    {"range": (0.0, float("inf")), "orientation": "none", "pooling": "none", "perfect": None}
)
"""Fields of metrics that are tables of counts."""

CLOSE = "less than 1 if events are so close together that a window contains several of them"
"""Exception to the perfect score of a reference against itself, for greedy matching."""


def clean(rows: Ragged, sort: bool = True) -> Cleaned:
    """Clean rows of events and, with `sort`, order them by time.

    Flaws are times that are not finite or later than `MAX_TIME`. Events that are unordered, negative or simultaneous
    with the previous one are counted in `repairs`; all events are kept.
    """
    times = rows.columns["time"]
    findings, problems, irregular = inspected("events", rows, counted=("negative", "unsorted", "duplicate"))
    late = f"time is later than {MAX_TIME:.0f} s, so it may not be in seconds"
    problems.append((times > MAX_TIME, lambda item: f"{late}: {times[item]}"))
    cleaned = set_aside(rows, problems, irregular)
    return in_order(cleaned) if sort and "unsorted" in findings else cleaned


@dataclass(frozen=True)
class Events:
    """Concatenated event times of pairs."""

    times: Float  # Times, ascending within each pair: float64 (events,), seconds
    counts: Int  # int64 (pairs,)

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def offsets(self) -> Int:
        """Offset of each pair's events: int64 (pairs + 1,)."""
        return offsets_of(self.counts)

    @cached_property
    def pair(self) -> Int:
        """The pair of each event: int64 (events,)."""
        return rows_of(self.counts)

    @cached_property
    def intervals(self) -> tuple[Float, Float]:
        """Intervals before and after each event, of two or more in each pair: float64 (events,) each.

        At the ends, both are the only existing one.
        """
        before, after = np.empty(len(self.times)), np.empty(len(self.times))
        after[:-1] = before[1:] = np.diff(self.times)
        first, last = self.offsets[:-1], self.offsets[1:] - 1
        before[first], after[last] = after[first], before[last]
        return before, after


def events_of(rows: Ragged, chosen: Int) -> Events:
    """Take the events of rows."""
    times = rows.columns["time"]
    if len(chosen) == len(rows) == 1:
        return Events(times, rows.counts[0])
    counts = rows.counts[0][chosen]
    starts = rows.offsets[chosen]
    if len(chosen) and (chosen[1:] == chosen[:-1] + 1).all():  # consecutive rows need no copy
        return Events(times[starts[0] : starts[-1] + counts[-1]], counts)
    return Events(times[ranges(starts, counts)], counts)


def rows_of_times(reference: Array, estimate: Array) -> tuple[Ragged, Ragged]:
    """Make a row of the event times of each side."""
    sides = (np.asarray(times, dtype=np.float64) for times in (reference, estimate))
    left, right = (Ragged({"time": times}, (np.array([len(times)], dtype=np.int64),)) for times in sides)
    return left, right


MADMOM = "madmom"
MATCHINGS: Mapping[str, Callable[[Float, Int, Float, Int, float], Matching]] = {
    "optimal": match,
    "greedy": match_greedily,
    "nearest": match_nearest_first,
    MADMOM: partial(match, reach=within_distance),
}
"""Ways of matching events within a window: a largest matching, or the greedy one of the Beat Evaluation Toolbox. madmom
compares differences of times; the others add the window to a time.
"""


class ClassCounts(NamedTuple):
    """Numbers of events of each class (label, instrument) on either side, sorted by pair and class: int64 (n,)."""

    pair: Int
    number: Int  # Index of the class
    matched: Int
    reference: Int
    estimate: Int

    @classmethod
    def join(cls, parts: Iterable[ClassCounts]) -> ClassCounts:
        """Concatenate counts, such as those of consecutive blocks of pairs."""
        none = (np.zeros(0, dtype=np.int64),) * 5
        return cls(*map(np.concatenate, zip(none, *parts, strict=True)))

    def take(self, kept: Bool | Int) -> ClassCounts:
        """Select entries by a mask or indices."""
        return ClassCounts(*(column[kept] for column in self))

    def used(self, names: Sequence[str]) -> tuple[Int, tuple[str, ...]]:
        """Index of each entry's class among the classes that occur, and the names of these."""
        used, number = np.unique(self.number, return_inverse=True)
        return number, tuple(names[index] for index in used.tolist())

    def tabulate(self, names: Sequence[str], dim: str, what: str) -> Sparse:
        """Make a table along a dim of classes and ``count``; `names` are those of all classes."""
        number, labels = self.used(names)
        value = np.column_stack([self.matched, self.reference, self.estimate]).astype(np.float64).ravel()
        counts = np.tile(np.arange(len(COUNTED), dtype=np.int64), len(number))
        index = np.column_stack([np.repeat(self.pair, len(COUNTED)), np.repeat(number, len(COUNTED)), counts])
        attrs = {"long_name": f"{what} by {dim}", "units": "1"}
        return Sparse((dim, "count"), (labels, COUNTED), index[value > 0], value[value > 0], attrs)


def count_keys(keys: Sequence[Int]) -> tuple[Int, list[Int]]:
    """Distinct keys of several arrays, sorted, and the number of each in each array."""
    distinct = np.unique(np.concatenate(keys))
    return distinct, [np.bincount(np.searchsorted(distinct, key), minlength=len(distinct)) for key in keys]


def tabulate(
    values: Float | Int, dims: tuple[str, ...], labels: tuple[tuple[str, ...], ...], name: str, unit: str = "1"
) -> Sparse:
    """Make a sparse table from values of shape (pairs, labels of each dim), leaving out zeros."""
    index = np.argwhere(values).astype(np.int64, copy=False)
    value = values[tuple(index.T)].astype(np.float64, copy=False)
    return Sparse(dims, labels, index, value, {"long_name": name, "units": unit})


def matched(references: Float, estimates: Float, window: float, matching: str, delay: float = 0.0) -> dict[str, Column]:
    """Return the events of one pair with verdicts; estimates are delayed before matching.

    Columns are ``reference`` and ``estimate`` (seconds; NaN if not matched), in order of time, and ``verdict``:
    ``hit``, ``missed`` or ``extra``.
    """
    reference_count, estimate_count = (np.array([len(side)], dtype=np.int64) for side in (references, estimates))
    matches = MATCHINGS[matching](references, reference_count, estimates + delay, estimate_count, window)
    missed, extra = np.delete(references, matches.reference), np.delete(estimates, matches.estimate)
    reference = np.concatenate([references[matches.reference], missed, np.full(len(extra), np.nan)])
    estimate = np.concatenate([estimates[matches.estimate], np.full(len(missed), np.nan), extra])
    verdict = np.repeat(["hit", "missed", "extra"], [len(matches.reference), len(missed), len(extra)])
    order = np.argsort(np.where(np.isnan(reference), estimate, reference), kind="stable")
    return {"reference": reference[order], "estimate": estimate[order], "verdict": verdict[order]}


def evidence(
    what: str, metrics: Sequence[Metric], reference: Annotation, estimate: Annotation, measure: Measure
) -> dict[str, Column]:
    """Return the events of both sides with verdicts, see `matched`; `what` names them in messages."""
    refuse_unjudged(measure, metrics, what)
    trim = float(measure.parameters.get("trim", -np.inf))
    sides = (rows.columns["time"] for rows in usable_pair(reference, estimate, clean))
    references, estimates = (times[times >= trim] for times in sides)
    return matched(references, estimates, float(measure["window"]), str(measure["matching"]))


CHECKS = """Raises
    ------
    ValueError
        For times that are not finite, later than `MAX_TIME` or unordered, and arrays that are not one-dimensional.

    Warns
    -----
    MirflowWarning
        For an empty side."""
"""Sections of the docstrings of functions that call `validate_pair`."""


def validate_pair(reference: Array, estimate: Array, what: str) -> None:
    """Check both sides of a pair of event sequences, which messages call `what`; see `validate` of beats."""
    for side, name in ((reference, "Reference"), (estimate, "Estimated")):
        if side.size == 0:
            warn_caller(f"{name} {what} are empty.")
    for side in map(np.asarray, (reference, estimate)):  # a pandas.Series compares by its index, not by position
        # For sorted times, checking both ends is enough and faster.
        ordered = side.ndim == 1 and (side[1:] >= side[:-1]).all()
        if ordered and (not len(side) or (side[0] >= -LATEST and side[-1] <= MAX_TIME)):
            continue
        validate_events(side, MAX_TIME)
        if not are_times(side):
            raise ValueError(f"Event times {BOUNDED}")


MOMENTS = ("count", "sum", "sum of squares")
"""Sums of powers of the errors of matched events, from which the deviation over many tracks is computed."""


@dataclass(frozen=True, slots=True)
class Detected:
    """Detected events of pairs."""

    hits: Int
    references: Int
    estimates: Int  # Numbers of matched events and of the events of either side: int64 (pairs,)
    total: Float
    squares: Float  # Sum of the errors of matched estimates, in seconds, and of their squares: float64 (pairs,)
    deviation: Float  # float64 (pairs,): standard deviation of these errors; NaN if there are none

    @classmethod
    def of(cls, reference: Events, estimate: Events, window: float) -> Detected:
        """Match the events of each pair that are at most a window apart."""
        sides = reference.times, reference.counts, estimate.times, estimate.counts
        matching = MATCHINGS[MADMOM](*sides, window)
        errors = estimate.times[matching.estimate] - reference.times[matching.reference]
        return cls.of_errors(errors, matching.counts, reference.counts, estimate.counts)

    @classmethod
    def of_errors(cls, errors: Float, hits: Int, references: Int, estimates: Int) -> Detected:
        """Make them from the concatenated errors of matched events."""
        pair, number = rows_of(hits), len(hits)
        total, squares = sum_by(pair, errors, number), sum_by(pair, errors**2, number)
        variance = divide(sum_by(pair, (errors - divide(total, hits)[pair]) ** 2, number), hits, np.nan)
        return cls(hits, references, estimates, total, squares, np.sqrt(variance))

    @classmethod
    def join(cls, parts: Sequence[Detected]) -> Detected:
        """Join consecutive pairs."""
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


def rates_of(what: str) -> tuple[dict[str, Weight], dict[str, tuple[str, str]]]:
    """Weights of the rates of events, such as "onsets", that match within a window, and their titles and summaries."""
    words = {"f_measure": f"mean of the numbers of {what} of both sides", "precision": f"number of estimated {what}"}
    words["recall"] = f"number of reference {what}"
    match = f"{what} that have a match within the window"
    rates = {
        "f_measure": ("F-measure", "harmonic mean of precision and recall"),
        "precision": ("Precision", f"share of the estimated {match}"),
        "recall": ("Recall", f"share of the reference {match}"),
    }
    return {name: Weight(text, what) for name, text in words.items()}, rates


Detect = Callable[[Any, Measure], Detected]
"""(results of the task's kernel, measure) -> detections under the measure's parameters."""


def _read(detect: Detect, what: str, name: str, computed: Any, measure: Measure) -> Scored | Sparse:
    detected = detect(computed, measure)
    if name == "accuracy":
        return share(detected.hits, detected.references + detected.estimates - detected.hits, 1.0)
    if name == "mean_error":
        return share(detected.total, detected.hits, np.nan)
    if name == "std_error":
        return detected.deviation, detected.hits.astype(np.float64)
    if name == "counts":
        values = np.column_stack([detected.hits, detected.references, detected.estimates]).astype(np.float64)
        return tabulate(values, ("count",), (COUNTED,), f"matched {what}, and {what} of both sides")
    if name == "error_moments":
        values = np.column_stack([detected.hits.astype(np.float64), detected.total, detected.squares])
        return tabulate(values, ("moment",), (MOMENTS,), f"sums of powers of the errors of matched {what}", "s")
    return rate(name, detected.hits, detected.references, detected.estimates, otherwise=1.0)


_INFINITE = float("inf")


def metrics_of_detections(
    detect: Detect, what: str, parameters: tuple[Parameter, ...], literature: str, **common: Any
) -> tuple[Metric, ...]:
    """Declare the metrics of detected events, such as "beats"; `detect` is a function of a module that counts
    detections.

    They are ``f_measure``, ``precision``, ``recall``, ``accuracy``, ``mean_error``, ``std_error``, and on request
    ``counts`` and ``error_moments``; `common` are other fields of `Metric`.
    """
    common = {"parameters": parameters, "literature": literature, **common}
    rates = {
        "f_measure": ("F-measure", "harmonic mean of precision and recall, 1 if both sides are empty"),
        "precision": ("Precision", f"share of the estimated {what} that are matched, 1 if there are none"),
        "recall": ("Recall", f"share of the reference {what} that are matched, 1 if there are none"),
        "accuracy": ("Accuracy", f"matched {what} over all {what} of either side, 1 if there are none"),
    }
    weights = rates_of(what)[0] | {
        "accuracy": Weight(f"number of {what} of either side, matched ones once", what),
        **dict.fromkeys(("mean_error", "std_error"), Weight(f"number of matched {what}", what)),
    }
    error = f"of the times from matched reference {what} to the estimated ones"
    of_errors: dict[str, dict[str, Any]] = {
        "mean_error": {"title": "Mean error", "summary": f"mean {error}", "orientation": "none"},
        "std_error": {"title": "Standard deviation of errors", "summary": f"standard deviation {error}"},
    }
    of_errors["mean_error"] |= {"range": (-_INFINITE, _INFINITE)}
    of_errors["std_error"] |= {"range": (0.0, _INFINITE), "orientation": "lower", "pooling": "none"}
    members = {
        **{name: {"title": title, "summary": summary, "itemwise": True} for name, (title, summary) in rates.items()},
        **{name: {"unit": "s", "perfect": 0.0, **about} for name, about in of_errors.items()},
    }
    counted = f"numbers of matched, reference and estimated {what}"
    summed = f"number of matched {what}, and the sums of their errors and squared errors"
    tables: dict[str, dict[str, Any]] = {
        "counts": {"title": "Counts", "summary": counted, "range": (0.0, _INFINITE), "dims": ("count",)},
        "error_moments": {"title": "Moments of errors", "summary": summed, "dims": ("moment",)},
    }
    tables["error_moments"] |= {"range": (-_INFINITE, _INFINITE)}
    read = partial(_read, detect, what)
    unscored = {"orientation": "none", "pooling": "none", "perfect": None, "default": False}
    return (
        *family(weights, members, **common)(read),
        *family(Weight("none", what), tables, **(common | unscored))(read),
    )
