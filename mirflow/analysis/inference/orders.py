"""Areas under the curve and average precisions of tags over all tracks, so that they can be computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ...ragged import Bool, Float, Int
from .resampling import chunks


@dataclass(frozen=True)
class Tag:
    """The tracks that are about a tag, from the highest affinity to the lowest.

    Parameters
    ----------
    cluster : int64 (tracks,)
    relevant : bool (tracks,)
    ends : int64 (different affinities,)
        Where the last track of each affinity stands.
    """

    cluster: Int
    relevant: Bool
    ends: Int

    @classmethod
    def of(cls, relevance: Float, affinity: Float, cluster: Int) -> Tag:
        """From tracks in any order; those of which the relevance is NaN are not about the tag."""
        there = np.flatnonzero(~np.isnan(relevance))
        there = there[np.argsort(-affinity[there], kind="stable")]
        differs = affinity[there][1:] != affinity[there][:-1]
        ends = np.flatnonzero(np.append(differs, True)) if len(there) else there
        return cls(cluster[there], relevance[there] > 0, ends)

    def reached(self, counts: Float) -> tuple[Float, Float]:
        """Tracks of at least each affinity, those that have the tag and all: float64 (replicates, affinities)."""
        drawn = counts[:, self.cluster]
        both = np.where(self.relevant, drawn, 0.0), drawn
        having, every = (np.cumsum(one, axis=1)[:, self.ends] for one in both)
        return having, every


def roc_auc(having: Float, every: Float) -> Float:
    """Share of the pairs of a track with the tag and one without it that are in the right order; ties count half."""
    other = every - having
    gained, passed = (np.diff(one, axis=1, prepend=0.0) for one in (having, other))
    above = (gained * (other[:, -1:] - other + passed / 2)).sum(axis=1)
    return _ratio(above, having[:, -1] * other[:, -1])


def average_precision(having: Float, every: Float) -> Float:
    """The mean of the precision at each track that has the tag, those of one affinity taken in at once."""
    precision = np.divide(having, every, out=np.zeros_like(having), where=every > 0)
    return _ratio((np.diff(having, axis=1, prepend=0.0) * precision).sum(axis=1), having[:, -1])


ORDERS: dict[str, Callable[[Float, Float], Float]] = {"roc_auc": roc_auc, "average_precision": average_precision}


@dataclass(frozen=True)
class Orders:
    """The figures of the tags of one system.

    Parameters
    ----------
    tags : tuple of Tag
    kind : {"roc_auc", "average_precision"}
    clusters : int
    finish : callable
        What is done across the figures, float64 (n, tags).
    """

    tags: tuple[Tag, ...]
    kind: str
    clusters: int
    finish: Callable[[Float], Float]

    @classmethod
    def of(cls, values: Float, side: int, cluster: Int, kind: str, finish: Callable[[Float], Float]) -> Orders:
        """From relevance and affinity along one axis of (tracks, dims); `side` is counted after the tracks."""
        relevance, affinity = np.moveaxis(values, 1 + side, 0)
        tags = (Tag.of(*both, cluster) for both in zip(relevance.T, affinity.T, strict=True))
        return cls(tuple(tags), kind, int(cluster.max(initial=-1)) + 1, finish)

    def again(self, counts: Float) -> Float:
        """The figures of replicates: float64 (figures, replicates)."""
        return np.concatenate([self.finish(self._figures(counts[part])) for part in self._parts(len(counts))]).T

    def left_out(self) -> Float:
        """The figures without each of the clusters: float64 (clusters, figures)."""
        parts = list(self._parts(self.clusters))
        kept = (1.0 - (np.arange(self.clusters) == np.arange(part.start, part.stop)[:, np.newaxis]) for part in parts)
        return np.concatenate([self.finish(self._figures(one)) for one in kept])

    def _figures(self, counts: Float) -> Float:
        figure = ORDERS[self.kind]
        found = [figure(*tag.reached(counts)) if len(tag.ends) else np.full(len(counts), np.nan) for tag in self.tags]
        return np.stack(found, axis=1) if found else np.empty((len(counts), 0))

    def _parts(self, rows: int) -> Iterator[slice]:
        return chunks(rows, max([self.clusters, *(len(tag.cluster) for tag in self.tags)]))


def _ratio(above: Float, below: Float) -> Float:
    found: Float = np.full(len(above), np.nan)
    return np.divide(above, below, out=found, where=below > 0)
