"""Metrics of detected events (beats, onsets, notes) as in madmom: rates, errors and counts of matched events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from ..kernels.ragged_ops import sum_by
from ..kernels.ratios import Scored, divide, rate, share
from ..ragged import Float, Int, rows_of
from .base import Sparse
from .events import COUNTED, MADMOM, MATCHINGS, Events, tabulate
from .measures import Measure, Metric, Parameter, Weight, family

MOMENTS = ("count", "sum", "sum of squares")
"""Sums of powers of the errors of matched events, from which the deviation over many tracks is computed."""


@dataclass(frozen=True, slots=True)
class Detected:
    """Detected events of pairs."""

    hits: Int
    references: Int
    estimates: Int
    """Numbers of matched events and of the events of either side: int64 (pairs,)."""
    total: Float
    squares: Float
    """Sum of the errors of matched estimates, in seconds, and of their squares: float64 (pairs,)."""
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


Detect = Callable[[Any, Measure], Detected]
"""(results of the task's kernel, measure) -> detections under the measure's parameters."""


def _read(detect: Detect, name: str, computed: Any, measure: Measure) -> Scored:
    detected = detect(computed, measure)
    if name == "accuracy":
        return share(detected.hits, detected.references + detected.estimates - detected.hits, 1.0)
    if name == "mean_error":
        return share(detected.total, detected.hits, np.nan)
    if name == "std_error":
        return detected.deviation, detected.hits.astype(np.float64)
    return rate(name, detected.hits, detected.references, detected.estimates, otherwise=1.0)


def _tabulate(detect: Detect, what: str, name: str, computed: Any, measure: Measure) -> Sparse:
    found = detect(computed, measure)
    if name == "counts":
        values = np.column_stack([found.hits, found.references, found.estimates]).astype(np.float64)
        return tabulate(values, ("count",), (COUNTED,), f"matched {what}, and {what} of both sides")
    values = np.column_stack([found.hits.astype(np.float64), found.total, found.squares])
    return tabulate(values, ("moment",), (MOMENTS,), f"sums of powers of the errors of matched {what}", "s")


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
    weights = {
        "f_measure": f"mean of the numbers of {what} of both sides",
        "precision": f"number of estimated {what}",
        "recall": f"number of reference {what}",
        "accuracy": f"number of {what} of either side, matched ones once",
        **dict.fromkeys(("mean_error", "std_error"), f"number of matched {what}"),
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
    unscored = {"orientation": "none", "pooling": "none", "perfect": None, "default": False}
    return (
        *family({name: Weight(words, what) for name, words in weights.items()}, members, **common)(
            partial(_read, detect)
        ),
        *family(Weight("none", what), tables, **(common | unscored))(partial(_tabulate, detect, what)),
    )
