"""Deviations of matched notes: onsets, ends, and velocities."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ...kernels.ragged_ops import medians, sum_by
from ...kernels.ratios import divide
from ...ragged import Float, Int
from ..measures import Family, Measure, Parameter, Weight, family
from .kernel import VELOCITY, NoteBatch, parts_of

STATISTICS = ("mean_absolute", "median_absolute", "standard_deviation")
_STATISTIC = Parameter(
    "statistic",
    "mean_absolute",
    choices=STATISTICS,
    help="statistic of differences: mean or median of their absolute values, or their standard deviation",
)


def statistic_of(differences: Float, pair: Int, number: Int, statistic: str) -> Float:
    """Compute a statistic of the differences of each pair, sorted by pair: float64 (pairs,), NaN without differences.

    Examples
    --------
    >>> statistic_of(np.array([0.1, -0.3]), np.zeros(2, dtype=np.int64), np.array([2, 0]), "mean_absolute").tolist()
    [0.2, nan]
    """
    if statistic == "median_absolute":
        return medians(np.abs(differences), number)

    def mean(values: Float) -> Float:
        total = sum_by(pair, values, len(number))
        return divide(total, number, np.nan)

    if statistic == "standard_deviation":
        return np.asarray(np.sqrt(mean((differences - mean(differences)[pair]) ** 2)))
    return mean(differences if statistic == "mean" else np.abs(differences))


def _read(key: tuple[str, bool], block: NoteBatch, measure: Measure) -> tuple[Float, Float]:
    what, signed = key
    ((part, rule),) = parts_of(measure, block.usual)
    block = block.part(part)
    matches = block.matches(rule)
    number = np.bincount(matches.pair, minlength=len(block)).astype(np.int64)
    statistic = "mean" if signed else str(measure["statistic"])
    left, right = (
        getattr(side, what) if hasattr(side, what) else np.asarray(side.extra[what])
        for side in (block.reference, block.estimate)
    )
    difference = np.asarray(right[matches.estimate] - left[matches.reference], dtype=np.float64)
    return statistic_of(difference, matches.pair, number, statistic), number.astype(np.float64)


_WORDS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "start": ("onset", "onsets", "s"),
        "end": ("offset", "offsets", "s"),
        "velocity": ("velocity", "velocities", ""),
    }
)


def deviations(parameters: tuple[Parameter, ...]) -> Family:
    """The metrics of matched notes, under the conditions of a match."""
    members: dict[Any, dict[str, Any]] = {}
    for what, (word, plural, unit) in _WORDS.items():
        error = "error" if what == "velocity" else "deviation"
        common = {"unit": unit, "needs": VELOCITY if what == "velocity" else ""}
        members[what, False] = {
            **common,
            "name": f"{word}_{error}",
            "title": f"{word.capitalize()} {error}",
            "summary": f"deviation of the {plural} of notes that match in onset and pitch",
            "range": (0.0, float("inf")),
            "orientation": "lower",
            "parameters": (_STATISTIC, *parameters),
        }
        members[what, True] = {
            **common,
            "name": f"{word}_bias",
            "title": f"{word.capitalize()} bias",
            "summary": f"mean of estimate minus reference of the {plural} of notes that match in onset and pitch",
            "range": (-float("inf"), float("inf")),
            "orientation": "none",
            "parameters": parameters,
        }
    declare = family(
        Weight("number of matched notes", "notes"),
        members,
        pooling="micro",
        perfect=0.0,
        perfect_exceptions="not 0 if notes that could match each other are matched crosswise",
        default=False,
        literature="@yan2021",
    )
    return declare(_read)
