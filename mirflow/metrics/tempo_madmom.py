"""Convention madmom of tempo estimation: any number of tempi on both sides, within 4 % of the reference's.

Functions over one pair are `evaluate` and one for each metric that is a single number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from ..annotations.annotation import Annotation
from ..kernels.ragged_ops import sum_by
from ..kernels.ratios import Scored, divide
from ..ragged import Bool, Column, Float, Int, Ragged, offsets_of, ranges, rows_of
from .base import Convention, Pairs, Shared, computed_by, computed_once, read_pair, refuse_unjudged, score_by
from .cleaning import Cleaned, Problem, empty_rows, set_aside, usable_pair
from .measures import Measure, Parameter, Value, Weight, family, metrics_in
from .pair import EVERY, PairFunctions, documented
from .util import Array


def clean(rows: Ragged, further: Sequence[Problem] = ()) -> Cleaned:
    """Find rows that are not valid tempo annotations, and empty those of zeros; any number of tempi is allowed.

    Tempi are finite, and neither they nor saliences are negative; `further`: more problems.
    """
    tempo = rows.columns["tempo"]
    problems: list[Problem] = [
        (~np.isfinite(tempo), lambda item: f"tempo is not finite: {tempo[item]}"),
        (tempo < 0, lambda item: f"tempo is negative: {tempo[item]} beats per minute"),
    ]
    if "salience" in rows.columns:
        salience = rows.columns["salience"]
        wrong = (salience < 0) | np.isinf(salience)
        problems.append((wrong, lambda item: f"salience must be 0 or more, but is {salience[item]}"))
    cleaned = set_aside(rows, [*problems, *further])
    # Files of several formats write zeros where a track has no tempo.
    kept = cleaned.rows
    mask = np.zeros(len(kept), dtype=np.bool_)
    mask[rows_of(kept.counts[0])[kept.columns["tempo"] != 0]] = True
    silent = ~mask & (kept.counts[0] > 0)
    return replace(cleaned, rows=empty_rows(kept, silent)) if silent.any() else cleaned


@dataclass(frozen=True)
class Ranked:
    """The tempi of one side of pairs, the strongest first."""

    tempo: Float  # float64 (tempi,), beats per minute
    strength: Float  # Strengths, which sum to 1 for each pair: float64 (tempi,)
    counts: Int
    pair: Int
    """int64 (pairs,), int64 (tempi,)"""

    @classmethod
    def of(cls, rows: Ragged, chosen: Int, ranked: bool, most: int) -> Ranked:
        """Take the tempi of rows, at most `most` (0: all) of each.

        If `ranked`, they are sorted by strength; equal ones, and tempi without strengths, keep their order.
        """
        if len(rows) == len(chosen) == 1:
            return cls._of_one(rows, ranked, most)
        rows = rows.take(chosen)
        counts, tempo, pair = rows.counts[0], rows.columns["tempo"], rows_of(rows.counts[0])
        strength = np.zeros(len(tempo))
        if "salience" in rows.columns:
            # The table has either strengths for all rows or none, so missing ones are NaN.
            strength = rows.columns["salience"]
            unknown = np.isnan(strength)
            if np.count_nonzero(unknown):
                lacking = np.bincount(pair[unknown], minlength=len(counts)) > 0
                strength = np.where(lacking[pair], 0.0, strength)
            if ranked:
                order = np.lexsort((-strength, pair))
                tempo, strength = tempo[order], strength[order]
        if most:
            mask = np.arange(len(pair)) - offsets_of(counts)[:-1][pair] < most
            tempo, strength, pair, counts = tempo[mask], strength[mask], pair[mask], np.minimum(counts, most)
        total = sum_by(pair, strength, len(counts))[pair]
        share = divide(strength, total, 1 / counts[pair])
        return cls(tempo, share, counts, pair)

    @classmethod
    def _of_one(cls, rows: Ragged, ranked: bool, most: int) -> Ranked:
        """Take the few tempi of a single row, with Python numbers."""
        tempo: list[float] = rows.columns["tempo"].tolist()
        strength: list[float] = rows.columns["salience"].tolist() if "salience" in rows.columns else []
        if any(map(math.isnan, strength)):
            strength = []
        if strength and ranked:
            order = sorted(range(len(tempo)), key=lambda index: -strength[index])
            tempo, strength = [tempo[index] for index in order], [strength[index] for index in order]
        if most:
            tempo, strength = tempo[:most], strength[:most]
        count, total = len(tempo), reduce(add, strength, 0.0)  # the same order of summation as for several rows
        share = [value / total for value in strength] if total > 0 else [1 / max(count, 1)] * count
        return cls(np.array(tempo), np.array(share), np.array([count]), np.zeros(count, dtype=np.int64))


def is_near(reference: Float, estimate: Float, tolerance: float) -> Bool:
    """True if an estimate deviates from the reference by at most a share of it; False for a reference of 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(np.abs(1 - estimate / reference) <= tolerance)


_TIMES, _PARTS = np.array([[1.0], [2.0], [1.0], [3.0], [1.0]]), np.array([[1.0], [1.0], [2.0], [1.0], [3.0]])
"""Metrical levels of a tempo: a factor and a divisor."""


class ManyTempi(Shared):
    """Tempi of both sides of pairs."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        references, estimates = pairs.counts
        self.weight = np.ones(len(references))
        self.count = references + estimates
        self.any_empty = np.count_nonzero(self.count) < len(self.count)

    @computed_once
    def sides(self, sort: bool, max_len: int) -> tuple[Ranked, Ranked]:
        """Tempi selected by the parameters of a measure."""
        left, right = (Ranked.of(rows, chosen, sort, max_len) for rows, chosen in self._pairs.sides)
        return left, right

    @computed_by("tol", "sort", "max_len")
    def hits(self, tolerance: float, sort: bool, max_len: int) -> Bool:
        """Mark the tempi of the references that were found: bool (tempi,)."""
        reference, estimate = self.sides(sort, max_len)
        pair = reference.pair
        if len(reference.counts) == 1:
            near = is_near(reference.tempo[:, np.newaxis], estimate.tempo, tolerance)
            return np.asarray(np.logical_or.reduce(near, axis=1))
        number = estimate.counts[pair]
        tempo = np.arange(len(pair)).repeat(number)
        other = estimate.tempo[ranges(offsets_of(estimate.counts)[:-1][pair], number)]
        near = is_near(reference.tempo[tempo], other, tolerance)
        hit = np.zeros(len(pair), dtype=np.bool_)
        hit[tempo[near]] = True
        return hit

    @computed_by("tol", "sort", "max_len")
    def levels(self, tolerance: float, sort: bool, max_len: int) -> Bool:
        """Whether the first tempo of the estimate is the reference's, twice, half, three times or a third of it.

        bool (5, pairs), False if a side is empty.
        """
        first = np.full((2, len(self.count)), np.nan)
        for tempi, side in zip(first, self.sides(sort, max_len), strict=True):
            tempi[side.pair[::-1]] = side.tempo[::-1]  # in reverse order, so that the first is written last
        with np.errstate(over="ignore"):
            return is_near(first[0] * _TIMES / _PARTS, first[1], tolerance)


_TOL = Parameter("tol", 0.04, least=0.0, help="largest deviation, as a share of the reference")
_SORT = Parameter("sort", True, help="whether to sort the tempi of both sides by strength")
_MOST = Parameter("max_len", 0, help="largest number of tempi of both sides; 0: all", least=0)
_DOUBLE = Parameter("double", True, help="whether twice and half the tempo are right")
_TRIPLE = Parameter("triple", True, help="whether three times and a third of the tempo are right")


_MCKINNEY: dict[str, Any] = {"itemwise": True, "literature": "@bock2016madmom; @mckinney2007"}
_FIRST = "1 if the first (strongest) tempo of the estimate is that of the reference"


@family(
    Weight("number of tracks", "tracks"),
    {
        "p_score": {
            "title": "P-score",
            "summary": "share of the strength of the reference's tempi that were found",
            **_MCKINNEY,
        },
        "any_correct": {
            "title": "Any correct",
            "summary": "1 if the estimate has at least one of the reference's tempi",
            "aliases": ("any",),
            **_MCKINNEY,
        },
        "all_correct": {
            "title": "All correct",
            "summary": "1 if the estimate has all tempi of the reference",
            "aliases": ("all",),
            **_MCKINNEY,
        },
        "accuracy1": {"title": "Accuracy 1", "summary": _FIRST, "aliases": ("Accuracy1", "acc1")},
        "accuracy2": {
            "title": "Accuracy 2",
            "summary": f"{_FIRST}, or a multiple of it",
            "aliases": ("Accuracy2", "acc2"),
            "parameters": (_TOL, _DOUBLE, _TRIPLE, _SORT, _MOST),
        },
    },
    parameters=(_TOL, _SORT, _MOST),
    pooling="micro",
    version=2,
    perfect_exceptions="0 if a tempo is 0",
    literature="@bock2016madmom; @gouyon2006",
)
def _comparisons(what: str, tempi: ManyTempi, measure: Measure) -> Scored:
    """Scores of pairs, 1 if both sides are empty, with weight 1 each: madmom's mean is over all files."""
    reference, _ = tempi.sides(bool(measure["sort"]), int(measure["max_len"]))
    score: Column
    if what == "p_score":
        score = sum_by(reference.pair, np.where(tempi.hits(measure), reference.strength, 0.0), len(reference.counts))
    elif what in ("any_correct", "all_correct"):
        found = np.bincount(reference.pair[tempi.hits(measure)], minlength=len(reference.counts))
        score = (found > 0) if what == "any_correct" else (found == reference.counts) & (reference.counts > 0)
    elif what == "accuracy1":
        score = tempi.levels(measure)[0]
    else:
        counted = [0, *((1, 2) if measure["double"] else ()), *((3, 4) if measure["triple"] else ())]
        score = np.logical_or.reduce(tempi.levels(measure)[counted])
    return (np.where(tempi.count == 0, 1.0, score) if tempi.any_empty else score.astype(np.float64)), tempi.weight


METRICS = metrics_in(globals())


def evidence(reference: Annotation, estimate: Annotation, measure: Measure) -> dict[str, Column]:
    """Return the selected tempi of the reference with the nearest estimates, shares and verdicts."""
    refuse_unjudged(measure, METRICS, "tempi")
    tempi = ManyTempi(Pairs.in_order(*usable_pair(reference, estimate, clean)))
    left, right = tempi.sides(bool(measure["sort"]), int(measure["max_len"]))
    nearest = np.full(len(left.tempo), np.nan)
    if len(right.tempo):
        nearest = right.tempo[np.abs(left.tempo[:, np.newaxis] - right.tempo).argmin(axis=1)]
    verdict = np.where(tempi.hits(measure), "right", "wrong")
    return {"reference": left.tempo, "estimate": nearest, "share": left.strength, "verdict": verdict}


CONVENTION = Convention(
    "madmom",
    "madmom's evaluation: any number of tempi, within 4 %; two empty sides are right",
    METRICS,
    clean,
    partial(score_by, ManyTempi),
    explain=evidence,
    literature="@bock2016madmom",
)


def score_pair(reference: Array, estimate: Array, measures: Sequence[Measure]) -> list[float]:
    """Check one pair of arrays and score it."""
    rows = []
    for side, tempi in (("reference", reference), ("estimate", estimate)):
        values = np.asarray(tempi, dtype=np.float64)
        if values.ndim not in (1, 2) or (values.ndim == 2 and values.shape[1] > 2):
            raise ValueError(f"expected tempi (n,), or tempi and strengths (n, 2), got shape {values.shape}")
        columns = dict(zip(("tempo", "salience"), values.T if values.ndim == 2 else [values], strict=False))
        rows.append(Ragged(columns, (np.array([len(values)]),)))
        if not all(0 <= value < math.inf for value in values.ravel().tolist()):
            clean(rows[-1]).checked(side)
    return read_pair(measures, ManyTempi(Pairs.in_order(*rows)))


_scores = PairFunctions(METRICS, score_pair)


@documented(EVERY)
def evaluate(reference: Array, estimate: Array, **parameters: Value) -> dict[str, float]:
    """Compute all scores of one estimate.

    Parameters
    ----------
    reference, estimate : (n,) or (n, 2)
        Tempi in beats per minute, optionally with strengths in a second column.
    **parameters
        ``tol``, ``sort``, ``max_len``, ``double`` and ``triple``, for all metrics that take them.

    Raises
    ------
    ValueError
        For tempi or strengths that are negative or not finite.

    Examples
    --------
    >>> scores = evaluate(np.array([[60.0, 0.75], [120.0, 0.25]]), np.array([121.0, 59.0, 180.0]))
    >>> scores["p_score"], scores["accuracy1"], scores["accuracy2"]
    (1.0, 0.0, 1.0)
    """
    return _scores.every(reference, estimate, parameters)


globals().update(_scores.functions("Tempi in beats per minute (n,), or with strengths (n, 2)."))
