"""Samples of the scores of some systems at a time; and replicates, the values of all systems on units drawn again.

This way the memory of inference follows a block of systems and not the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...kernels.ratios import divide
from ...metrics.aggregates import RATIOS, STATISTICS
from ...ragged import Bool, Float, Int
from ..aggregation import Aggregates
from ..scores import Array
from ..selection import CELLS, ScoreSelection
from .resampling import Resampling, draw, statistics_of
from .sample import TRACK, Sample, by_unit, codes_of

if TYPE_CHECKING:
    import xarray as xr

_BLOCK = 1 << 22
"""Scores in a block: many more than in one that is only added up, as each block multiplies all replicates."""


@dataclass(frozen=True)
class SampleBlocks:
    """The scores of a query on drawn units, of which those of some systems are read when they are needed."""

    selection: ScoreSelection
    frame: xr.Dataset
    """Systems in the order of the result, tracks and metrics with their coordinates, and the policies."""
    order: Sequence[int]
    """The place of each system in the selection."""
    shared: Bool | None
    """Scores that count under the policy ``common``: bool (tracks, metrics)."""
    alike: Bool
    """Whether the same scores of a metric count for all systems: bool (metrics,)."""
    unit: str
    cluster: Int
    """The cluster of each track, counted from 0: int64 (tracks,)."""

    @classmethod
    def of(
        cls, selection: ScoreSelection, frame: xr.Dataset, found: Aggregates, unit: str, cluster: str | None
    ) -> SampleBlocks:
        """The samples of a selection that has been aggregated."""
        totals = found.totals
        common = selection.missing == "common"
        alike = (totals.counting_everywhere == totals.counting).all(axis=0)
        if unit != TRACK:
            alike = np.full(len(alike), common)
        shared = totals.shared if common else None
        return cls(selection, frame, found.order, shared, alike, unit, codes_of(frame, unit, cluster))

    @property
    def kinds(self) -> list[str]:
        """The aggregate over the units, of each metric."""
        kinds = self.selection.aggregates
        return [kind if self.unit == TRACK or kind in STATISTICS else "mean" for kind in kinds]

    @property
    def repeats(self) -> bool:
        """True if several tracks are drawn together."""
        return self.unit == TRACK and int(self.cluster.max(initial=-1)) + 1 < len(self.cluster)

    def most(self, metrics: int) -> int:
        """Systems of which the scores by so many metrics are a block; at least two."""
        # Which values of other units than tracks count depends on what all systems have, so that these are one block.
        systems, tracks = len(self.order), len(self.cluster)
        return max(systems, 2) if self.unit != TRACK else max(2, _BLOCK // max(1, tracks * metrics))

    def parts(self) -> list[Int]:
        """All systems in blocks, those of a block beside each other in the selection."""
        every = np.argsort(self.order, kind="stable")
        step = self.most(len(self.selection.metrics))
        return [every[start : start + step] for start in range(0, len(every), step)]

    def cells(self, systems: Int, metric: int | None = None) -> dict[str, Array]:
        """Read the scores of some systems by all metrics or one, as :meth:`ScoreSelection.cells`."""
        places = [self.order[system] for system in systems.tolist()]
        if metric is None:
            return self.selection.cells(places, self.shared)
        shared = None if self.shared is None else self.shared[:, [metric]]
        return self.by_metric[metric].cells(places, shared)

    @cached_property
    def by_metric(self) -> list[ScoreSelection]:
        """The selection of each metric alone."""
        both = zip(self.selection.metrics, self.selection.aggregates, strict=True)
        return [replace(self.selection, metrics=[place], aggregates=[kind]) for place, kind in both]

    def sample(self, cells: Mapping[str, Array], metric: int | None = None, tracks: Int | None = None) -> Sample:
        """The sample of scores that were read, on all tracks or some."""
        kinds = self.selection.aggregates if metric is None else [self.selection.aggregates[metric]]
        score, weight, included = (cells[name] for name in CELLS[:3])
        whole = Sample(kinds, score, weight, included, self.selection.duration, self.cluster)
        sample = whole if tracks is None else whole.take(tracks)
        if self.unit == TRACK:
            return sample
        return by_unit(self.frame if tracks is None else self.frame.isel(track=tracks), sample, self.unit)


class Replicates(NamedTuple):
    """Values of systems by one metric, drawn again on the units that all of them have."""

    systems: Int
    """Those with any score: int64 (n,)."""
    drawn: Float
    """float64 (n, replicates); without any where there are fewer clusters of units than intervals need."""
    clusters: int
    """Their number."""
    shares: Float
    """Sums of the squared and of the cubed shares of the weights that clusters have: float64 (2, n)."""


def replicates_of(blocks: SampleBlocks, metric: int, how: Resampling) -> Replicates:
    """Replicates of the values of all systems by one metric, drawn on the units that all of them have."""
    parts = blocks.parts()
    how = replace(how, kept={} if len(parts) > 1 else None)
    there: list[Int] = []
    whole: Bool | None = None
    for systems in parts:
        included = blocks.sample(blocks.cells(systems, metric), metric).included[..., 0]
        has_any = included.any(axis=1)
        there.append(systems[has_any])
        if has_any.any():
            own: Bool = np.asarray(included[has_any].all(axis=0))
            whole = own if whole is None else np.asarray(whole & own)
    every = np.sort(np.concatenate(there))
    units = np.flatnonzero(whole) if whole is not None else np.empty(0, dtype=np.int64)
    drawn, clusters, shares = np.empty((len(every), 0)), 0, np.full((2, len(every)), np.nan)
    for systems in there if len(units) else ():
        sample = blocks.sample(blocks.cells(systems, metric), metric).take(units)
        clusters = sample.clusters
        if clusters < how.least:
            break
        if not drawn.size:
            drawn = np.empty((len(every), how.replicates))
        rows = np.searchsorted(every, systems)
        statistics = statistics_of(sample, [(row, 0) for row in range(len(systems))])
        drawn[rows] = draw(statistics, len(systems), how)
        for row, place in enumerate(rows.tolist()):
            share = np.full(clusters, 1 / clusters)
            if sample.kinds[0] in RATIOS:
                below = sample.sums(row, 0)[1]
                share = divide(below, below.sum(), np.nan)
            shares[:, place] = (share**2).sum(), (share**3).sum()
    return Replicates(every, drawn, clusters, shares)


def tiles(pairs: Int, most: int) -> Iterator[tuple[Int, Int]]:
    """Pairs of systems (pairs, 2) in blocks of at most so many systems: the systems and the rows of each block."""
    part = np.zeros_like(pairs) if len(np.unique(pairs)) <= most else pairs // (most // 2)
    keys, inverse = np.unique(part, axis=0, return_inverse=True)
    for key in range(len(keys)):
        rows = np.flatnonzero(inverse.ravel() == key)
        yield np.unique(pairs[rows]), rows
