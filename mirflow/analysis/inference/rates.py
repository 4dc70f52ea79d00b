"""Figures that are read off what tracks add up, such as the recall of each class, as they can be computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...ragged import Float, Int
from ..across import figures_across
from ..extra import Chosen
from ..ratios import rate
from .resampling import chunks

_NEAR = 1e-12


@dataclass(frozen=True)
class Rates:
    """What some systems add up over the same clusters of tracks.

    Parameters
    ----------
    counts : float64 (systems, clusters, entries)
    ratio : callable
        The figures, float64 (n, figures), of sums of entries, float64 (n, entries); NaN where there are none.
    """

    counts: Float
    ratio: Callable[[Float], Float]

    @property
    def clusters(self) -> int:
        """How many clusters there are to draw."""
        return len(self.counts[0])

    def values(self) -> Float:
        """The figures: float64 (systems, figures)."""
        return self.ratio(self.counts.sum(axis=1))

    def again(self, counts: Float) -> Float:
        """The figures of replicates, one system after the other."""
        found = []
        for own in self.counts:
            parts = [self.ratio(counts[part] @ own).T for part in self.parts(len(counts))]
            found.append(np.concatenate(parts, axis=1))
        return np.concatenate(found)

    def left_out(self) -> Float:
        """The figures without each of the clusters, one system after the other."""
        found = [self.ratio(without_rounding(own.sum(axis=0) - own, np.abs(own).sum(axis=0))) for own in self.counts]
        return np.concatenate(found, axis=1)

    def parts(self, rows: int, times: int = 1) -> Iterator[slice]:
        """Slices of rows of which `times` arrays of all entries take a bounded amount of memory."""
        return chunks(rows, self.counts.shape[2] * times)


def without_rounding(sums: Float, scale: Float) -> Float:
    """Sums of entries in which those that should be 0 are: what is left after taking away all of it is rounding."""
    sums[np.abs(sums) <= _NEAR * scale] = 0.0
    return sums


def ratio_of(chosen: Chosen, asked: Mapping[str, Sequence[str]]) -> Callable[[Float], Float]:
    """From sums of outcomes to figures, with what is done across classes or tags at the end.

    Parameters
    ----------
    chosen : Chosen
    asked : mapping of str to sequence of str
        Dims of the figures, and names of :data:`mirflow.analysis.across.ACROSS`.
    """
    nothing, labels = chosen.outcomes(np.zeros((0, *map(len, chosen.labels.values()))))

    def ratio(sums: Float) -> Float:
        value = rate(chosen.kind, sums.reshape(len(sums), *nothing.shape[1:]))
        return finish(value, list(labels), asked)

    return ratio


def finish(figures: Float, dims: Sequence[str], asked: Mapping[str, Sequence[str]]) -> Float:
    """What is done across figures (n, dims), one dim after the other: float64 (n, figures)."""
    for dim, names in asked.items():
        figures = figures_across(figures, 1 + list(dims).index(dim), names)
    return figures.reshape(len(figures), -1)


def add_up(entries: Float, cluster: Int) -> Float:
    """Entries (tracks, ...) of each cluster, flat: float64 (clusters, entries)."""
    flat = entries.reshape(len(entries), int(np.prod(entries.shape[1:])))
    if len(np.unique(cluster)) == len(cluster):
        return flat
    found = np.zeros((int(cluster.max(initial=-1)) + 1, flat.shape[1]))
    np.add.at(found, cluster, flat)
    return found
