"""The entries of a metric with extra dims, track by track, and what they come to over tracks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..ragged import Float, Int
from .derived import TRACKS, own_dims
from .names import ORDER_AGGREGATES
from .over import reduce_along, reduce_over
from .ratios import SIDE, order
from .scoreboard import Sibling


@dataclass(frozen=True)
class Entries:
    """The entries of a metric with extra dims, ready to be aggregated over tracks.

    Parameters
    ----------
    sibling : Sibling
    over : mapping of str to str
        Reductions within each track.
    kind : {"sum", "mean", "median", "roc_auc", "average_precision"}
    score : bool
        Whether NaN is left out of what counts; else it is 0, as of a class that does not occur.
    """

    sibling: Sibling
    over: Mapping[str, str]
    kind: str
    score: bool

    def over_tracks(self, system: int, tracks: Int, groups: Int, count: int) -> tuple[Float, Int]:
        """The aggregate of each group of tracks, and how many tracks have a value: (groups, dims left) each."""
        if self.kind in ORDER_AGGREGATES:
            return self._ordered(system, tracks, groups, count)
        inner = self._sizes()
        total: Float = np.zeros((count, *inner))
        number: Int = np.zeros(total.shape, dtype=np.int64)
        kept: list[tuple[Int, Float]] = []
        for own, values in self._read(system, tracks, groups):
            there = ~np.isnan(values)
            if self.kind == "median":
                kept.append((own, values))
            for group in np.unique(own).tolist():
                inside = own == group
                with np.errstate(invalid="ignore"):
                    total[group] += np.where(there[inside], values[inside], 0.0).sum(axis=0)
                number[group] += there[inside].sum(axis=0)
        if self.kind == "median":
            return self._medians(kept, total), number
        divisor = number.astype(np.float64) if self.kind == "mean" else np.ones(total.shape)
        return total / np.where(number > 0, divisor, np.nan), number

    def each(self, system: int, tracks: Int, tell: Callable[[Float], Float] | None = None) -> Float:
        """What each track says: float64 (tracks, dims left); NaN, or of what is counted 0, where it says nothing.

        Parameters
        ----------
        system : int
        tracks : int64 (n,)
        tell : callable or None
            What is made of some tracks at a time, so that all of it fits the memory.
        """
        tell = tell or _as_it_is
        found: Float = np.zeros((len(tracks), *tell(np.zeros((0, *self._sizes()))).shape[1:]))
        for place, values in self._read(system, tracks, np.arange(len(tracks))):
            found[place] = tell(values)
        return found

    @property
    def side(self) -> int:
        """The axis, counted after that of the tracks, along which relevance and affinity lie."""
        return [own_dims(self.sibling)[dim] for dim, _ in self._labels()].index(SIDE)

    def _sizes(self) -> list[int]:
        return [len(own) for dim, own in self._labels() if dim not in self.over]

    def _labels(self) -> list[tuple[str, tuple[str, ...]]]:
        return list(zip(self.sibling.dims[2:], self.sibling.labels(), strict=True))

    def _read(self, system: int, tracks: Int, groups: Int) -> Iterator[tuple[Int, Float]]:
        """Groups and entries of some tracks at a time: dense values are large."""
        labels = dict(self._labels())
        for start in range(0, int(tracks.max(initial=-1)) + 1, TRACKS):
            here = (tracks >= start) & (tracks < start + TRACKS)
            if here.any():
                values = self.sibling.read(system, slice(start, start + TRACKS))[tracks[here] - start]
                values = values if self.score else np.nan_to_num(values)
                yield groups[here], reduce_over(values, labels, self.over)

    def _ordered(self, system: int, tracks: Int, groups: Int, count: int) -> tuple[Float, Int]:
        """A figure of each tag over the tracks of each group in order of affinity."""
        sizes = [len(own) for _, own in self._labels()]
        parts = list(self._read(system, tracks, groups))
        own = np.concatenate([np.zeros(0, dtype=np.int64), *(part for part, _ in parts)])
        values = np.concatenate([np.zeros((0, *sizes)), *(part for _, part in parts)])
        found = [order(self.kind, values[own == group], 1 + self.side) for group in range(count)]
        return np.stack([value for value, _ in found]), np.stack([number for _, number in found])

    def _medians(self, kept: list[tuple[Int, Float]], like: Float) -> Float:
        found = np.full_like(like, np.nan)
        if kept:
            groups, values = (np.concatenate(parts) for parts in zip(*kept, strict=True))
            for group in np.unique(groups).tolist():
                found[group] = reduce_along(values[groups == group], 0, "median")
        return found


def _as_it_is(values: Float) -> Float:
    return values
