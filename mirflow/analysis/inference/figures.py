"""Figures over units that can be computed again from how often each unit was drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...ragged import Float, Int
from .sample import Sample


class Figures(Protocol):
    """Some figures over the same clusters of units."""

    @property
    def clusters(self) -> int:
        """How many clusters there are to draw."""
        ...

    def again(self, counts: Float) -> Float:
        """The figures of replicates, float64 (figures, replicates), by counts float64 (replicates, clusters)."""
        ...

    def left_out(self) -> Float:
        """The figures without each of the clusters: float64 (clusters, figures)."""
        ...


@dataclass(frozen=True)
class Ratios:
    """Figures that are ratios of sums over units: all aggregates but the median.

    Parameters
    ----------
    above : float64 (clusters, figures)
    below : float64 (clusters, different denominators)
        Systems often share their denominators, as that of a chord symbol recall depends on the reference alone.
    denominator : int64 (figures,)
        The column of `below` of each figure.
    """

    above: Float
    below: Float
    denominator: Int

    @classmethod
    def of(cls, sample: Sample, columns: list[tuple[int, int]]) -> Ratios:
        """The figures of some (system, metric) of a sample."""
        count = int(sample.cluster.max(initial=-1)) + 1
        above = np.empty((count, len(columns)))
        different: dict[bytes, int] = {}
        denominators: list[Float] = []
        denominator = np.empty(len(columns), dtype=np.int64)
        for place, column in enumerate(columns):
            top, bottom = (_add_up(each, sample.cluster, count) for each in sample.terms(*column))
            # An infinite score is in no sum: NaN, so that there is no interval and no test.
            above[:, place] = top if np.isfinite(top).all() else np.nan
            denominator[place] = different.setdefault(bottom.tobytes(), len(denominators))
            if denominator[place] == len(denominators):
                denominators.append(bottom)
        return cls(above, np.stack(denominators, axis=1) if denominators else np.empty((count, 0)), denominator)

    @property
    def clusters(self) -> int:
        """How many clusters there are to draw."""
        return len(self.above)

    def again(self, counts: Float) -> Float:
        """The figures of replicates."""
        return _divide((counts @ self.above).T, (counts @ self.below).T[self.denominator])

    def left_out(self) -> Float:
        """The figures without each of the clusters."""
        above = self.above.sum(axis=0) - self.above
        below = self.below.sum(axis=0) - self.below
        # What is left of a sum after taking away all of it is rounding.
        below[below <= 1e-12 * np.abs(self.below).sum(axis=0)] = 0.0
        return _divide(above, below[:, self.denominator])


@dataclass(frozen=True)
class Medians:
    """Medians over units.

    Parameters
    ----------
    ordered : float64 (figures, units)
        Scores from the smallest to the largest.
    order : int64 (figures, units)
        The cluster that each of them belongs to.
    clusters : int
    """

    ordered: Float
    order: Int
    clusters: int

    @classmethod
    def of(cls, sample: Sample, columns: list[tuple[int, int]]) -> Medians:
        """The medians of some (system, metric) of a sample, whose units all count."""
        score = np.array([sample.score[system, :, metric] for system, metric in columns])
        order = np.argsort(score, axis=1, kind="stable")
        count = int(sample.cluster.max(initial=-1)) + 1
        return cls(np.take_along_axis(score, order, axis=1), sample.cluster[order], count)

    def again(self, counts: Float) -> Float:
        """The figures of replicates."""
        drawn = np.ascontiguousarray(counts.T).astype(np.int32)
        found = np.empty((len(self.ordered), counts.shape[0]))
        for place, (values, order) in enumerate(zip(self.ordered, self.order, strict=True)):
            reached = np.cumsum(drawn[order], axis=0, dtype=np.int32)
            total = reached[-1]
            middle = [(reached <= rank).sum(axis=0) for rank in ((total - 1) // 2, total // 2)]
            known = total > 0
            low, high = (values[np.where(known, each, 0)] for each in middle)
            found[place] = np.where(known, _halfway(low, high), np.nan)
        return found

    def left_out(self) -> Float:
        """The figures without each of the clusters."""
        units = self.ordered.shape[1]
        if self.clusters < units:
            parts = np.array_split(np.arange(self.clusters), max(1, self.clusters * units >> 22))
            counts = (1.0 - (np.arange(self.clusters) == part[:, np.newaxis]) for part in parts)
            return np.concatenate([self.again(each) for each in counts], axis=1).T
        found = np.full((units, len(self.ordered)), np.nan)
        if units > 1:
            place = np.arange(units)
            low, high = (units - 2) // 2, (units - 1) // 2
            for figure, values in enumerate(self.ordered):
                rest = _halfway(values[low + (place <= low)], values[high + (place <= high)])
                found[self.order[figure], figure] = rest
        return found


def _halfway(low: Float, high: Float) -> Float:
    with np.errstate(invalid="ignore"):  # of both infinities there is no mean, and NaN says so
        return np.asarray((low + high) / 2)


def _add_up(values: Float, cluster: Int, clusters: int) -> Float:
    return np.asarray(np.bincount(cluster, values, clusters), dtype=np.float64)


def _divide(above: Float, below: Float) -> Float:
    """The ratio; NaN where nothing weighs."""
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below != 0)
