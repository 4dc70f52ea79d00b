"""The batched kernel of score following."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels.sums import sum_by
from ...ragged import Bool, Float, Int, Ragged
from ..base.arguments import refuse_grid
from ..base.identity import Measure
from ..base.task import Grid, Scores
from .matching import Followed, follow, within


def score(
    references: Ragged,
    estimates: Ragged,
    reference_row: Int,
    estimate_row: Int,
    measures: Sequence[Measure],
    grid: Grid = "union",
) -> Scores:
    """Scores of what followers report of performances.

    Parameters
    ----------
    references, estimates : Ragged
        Rows as :func:`mirflow.metrics.score_following.cleaning.clean` leaves them.
    reference_row, estimate_row : int64 (pairs,)
        The rows of each pair.
    measures : sequence of Measure
    grid : "union"
        Notes are compared one by one.

    Returns
    -------
    Scores
        Rates weigh by the notes of the reference, the piecewise precision by pieces, and what is measured of correctly
        aligned notes by their number; without any it is NaN with weight 0. Reports of no note are counted in `repairs`.

    Raises
    ------
    MetricError
        For any other grid.

    References
    ----------
    A. Cont, D. Schwarz, N. Schnell, C. Raphael, "Evaluation of real-time audio-to-score alignment", ISMIR 2007.

    Examples
    --------
    >>> from mirflow.metrics.base import get_task
    >>> notes = Ragged({"time": np.array([0.0, 1.0, 2.0]), "detected": np.full(3, np.nan),
    ...                 "position": np.array([0.0, 0.5, 1.0]), "pitch": np.full(3, 60.0)}, (np.array([3]),))
    >>> heard = Ragged({"time": np.array([0.25, 4.5]), "detected": np.array([0.375, 4.5]),
    ...                 "position": np.array([0.0, 1.0]), "pitch": np.full(2, 60.0)}, (np.array([2]),))
    >>> row, names = np.array([0]), ["missed", "misaligned", "mean_offset", "mean_latency"]
    >>> scores = score(notes, heard, row, row, get_task("score_following").convention().select(names))
    >>> scores.score.round(4).tolist(), scores.weight.tolist()
    ([[0.3333, 0.3333, 0.375, 0.125]], [[3.0, 3.0, 1.0, 1.0]])
    """
    refuse_grid(grid, "notes of a score")
    shape = len(reference_row), len(measures)
    scores, weights = np.zeros(shape), np.zeros(shape)
    followed: dict[float, Followed] = {}
    judged: dict[tuple[float, float, str], Judged] = {}
    refused: dict[int, str] = {}
    for column, measure in enumerate(measures):
        tolerance, threshold, by = float(measure["tolerance"]), float(measure["threshold"]), str(measure["by"])
        if tolerance not in followed:
            followed[tolerance] = follow(references, estimates, reference_row, estimate_row, tolerance)
        way = tolerance, threshold, by
        if way not in judged:
            judged[way] = Judged(followed[tolerance], threshold, by)
            for pair in judged[way].undated:
                refused[pair] = (
                    "a report has no time of detection, by which it is to be judged; add it, or choose by=estimated"
                )
        scores[:, column], weights[:, column] = READINGS[measure.metric.name](judged[way])
    scores[list(refused)] = np.nan
    unknown = [
        one.reports.counts[0] - np.bincount(one.pair[one.report >= 0], minlength=shape[0]) for one in followed.values()
    ]
    return Scores(
        scores, weights, refused=refused, repairs=np.max([np.zeros(shape[0], dtype=np.int64), *unknown], axis=0)
    )


@dataclass(frozen=True)
class Judged:
    """The notes of many pairs as aligned, misaligned or missed.

    Parameters
    ----------
    notes : Followed
    threshold : float, seconds
        The largest distance of an aligned note.
    by : {"estimated", "detected"}
        Whether it is the distance of the estimated onset, or of the time at which it was reported.
    """

    notes: Followed
    threshold: float
    by: str

    @cached_property
    def error(self) -> Float:
        """Estimated less true onset of each note, in seconds; NaN if missed."""
        return self.notes.estimated - self.notes.time

    @cached_property
    def latency(self) -> Float:
        """Time of detection less estimated onset of each note, in seconds; NaN if missed or not told."""
        return self.notes.detected - self.notes.estimated

    @cached_property
    def offset(self) -> Float:
        """Time of detection less true onset of each note, in seconds; NaN if missed or not told."""
        return self.notes.detected - self.notes.time

    @cached_property
    def reported(self) -> Bool:
        """The notes that were reported at all."""
        return np.asarray(self.notes.report >= 0)

    @cached_property
    def aligned(self) -> Bool:
        """The notes that were reported near enough."""
        return within(self.error if self.by == "estimated" else self.offset, self.threshold)

    @cached_property
    def undated(self) -> list[int]:
        """Pairs with a report that cannot be judged, as nothing says when it was made."""
        if self.by == "estimated":
            return []
        found: list[int] = np.unique(self.notes.pair[self.reported & np.isnan(self.offset)]).tolist()
        return found

    def rate(self, chosen: Bool) -> tuple[Float, Float]:
        """The share of some notes in each pair, and the number of notes."""
        counts = self.notes.counts.astype(np.float64)
        number = np.bincount(self.notes.pair[chosen], minlength=len(counts))
        return np.divide(number, counts, out=np.full(len(counts), np.nan), where=counts > 0), counts

    def mean(self, values: Float) -> tuple[Float, Float]:
        """The mean of values over the aligned notes of each pair that have one, and their number."""
        chosen = self.aligned & ~np.isnan(values)
        pair, size = self.notes.pair[chosen], len(self.notes.counts)
        number = np.bincount(pair, minlength=size).astype(np.float64)
        total = sum_by(pair, values[chosen], size)
        return np.divide(total, number, out=np.full(size, np.nan), where=number > 0), number

    def deviation(self, values: Float) -> tuple[Float, Float]:
        """The standard deviation (of the notes as the whole population), and the number of notes."""
        mean, _ = self.mean(values)
        variance, number = self.mean((values - mean[self.notes.pair]) ** 2)
        return np.sqrt(variance), number

    def completion(self) -> tuple[Float, Float]:
        """The share of notes up to the last position in the score where one is aligned."""
        pair, position = self.notes.pair, self.notes.position
        last = np.full(len(self.notes.counts), -np.inf)
        np.maximum.at(last, pair[self.aligned], position[self.aligned])
        return self.rate(position <= last[pair])

    def by_piece(self) -> tuple[Float, Float]:
        """The share of aligned notes of each pair, each piece with the same weight."""
        share, counts = self.rate(self.aligned)
        return share, (counts > 0).astype(np.float64)


READINGS: dict[str, Callable[[Judged], tuple[Float, Float]]] = {
    "overall_precision": lambda one: one.rate(one.aligned),
    "piecewise_precision": Judged.by_piece,
    "missed": lambda one: one.rate(~one.reported),
    "misaligned": lambda one: one.rate(one.reported & ~one.aligned),
    "completion": Judged.completion,
    "mean_offset": lambda one: one.mean(one.offset),
    "mean_absolute_offset": lambda one: one.mean(np.abs(one.offset)),
    "std_offset": lambda one: one.deviation(one.offset),
    "mean_error": lambda one: one.mean(one.error),
    "mean_absolute_error": lambda one: one.mean(np.abs(one.error)),
    "std_error": lambda one: one.deviation(one.error),
    "mean_latency": lambda one: one.mean(one.latency),
    "std_latency": lambda one: one.deviation(one.latency),
}
"""How each measure is read off the judged notes: score and weight of each pair."""
