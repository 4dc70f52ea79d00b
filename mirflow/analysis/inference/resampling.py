"""Resampling of units: its options, draws and swaps, statistics of drawn units, and the ends of bootstrap intervals.

A statistic can be computed again from how often each unit was drawn. There are ratios of sums, statistics of sorted
scores such as the median, values of classes, and values of tags by the order of their affinities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import QueryError, UnknownNameError
from ...kernels.ratios import divide
from ...metrics.aggregates import ORDER_AGGREGATES, RATIOS, STATISTICS, Statistic
from ...ragged import Bool, Float, Int
from ..dims import name_dim
from ..per_class import TableSelection, rate
from ..queries import ACROSS
from ..query_options import ANYTIME, AUTO, DEFAULT_LEVEL, METHODS, NORMAL, NORMAL_UNITS, SEQUENCE
from .interval_ends import FIRST_LOOK
from .sample import Sample

Seed = int | np.random.Generator
Counts = npt.NDArray[np.unsignedinteger]
_CHUNK = 1 << 22
_KEPT = 32
"""Sample sizes of which the counts are kept: a few megabytes each at most."""
_KEPT_COUNTS = 10_000 * NORMAL_UNITS
"""Counts that are kept at most while the blocks of systems of one query are resampled, of a byte each."""
_NEAR = 1e-12


@dataclass(frozen=True)
class Resampling:
    """Options of intervals."""

    level: float
    """The share of intervals that are to hold the true value."""
    alpha: float
    """The level of significance, such as 0.05 for 0.95, without rounding errors."""
    method: str
    """{"auto", "bca", "percentile", "normal"}."""
    replicates: int
    seed: int
    """Every bootstrap starts from it, so that the same query gives the same answer."""
    kept: dict[int, Counts] | None = field(default=None, compare=False, repr=False)
    """The counts of the last number of units, where several blocks of systems are to have the same; None: they are
    drawn for each block."""
    anytime: int | None = None
    """Units at which confidence sequences are narrowest, which take the place of intervals; None: intervals."""

    @classmethod
    def of(
        cls,
        level: float = DEFAULT_LEVEL,
        method: str = AUTO,
        replicates: int = 10_000,
        rng: Seed = 0,
        anytime: int | None = None,
    ) -> Resampling:
        """Check the options."""
        check_level(level)
        if anytime is not None and anytime < 1:
            raise QueryError(f"invalid anytime {anytime}: expected the units at which sequences are to be narrowest")
        if method not in (AUTO, *METHODS):
            raise UnknownNameError("interval method", method, [AUTO, *METHODS])
        if replicates < 1:
            raise QueryError(f"invalid replicates {replicates}: expected at least one (thousands for an interval)")
        seed = int(rng.integers(1 << 62)) if isinstance(rng, np.random.Generator) else int(rng)
        if seed < 0:
            raise QueryError(f"rng {seed}: a seed is not negative")
        alpha = round(1 - float(level), 12)
        return cls(float(level), alpha, method, int(replicates), seed, anytime=anytime)

    @property
    def least(self) -> int:
        """The fewest units (clusters) that have an interval; see :func:`least_units`."""
        return least_units(self.level) if self.anytime is None else max(least_units(self.level), FIRST_LOOK)

    def attrs(self, normal: Bool | None = None) -> dict[str, str]:
        """Attributes of a result about its intervals.

        `normal` (bool array or None): whether each interval is normal; None: all are drawn.
        """
        if self.anytime is not None:
            kept = {"level": f"{self.level:.15g}", "method": SEQUENCE, "replicates": "0"}
            return {**kept, ANYTIME: str(self.anytime), "least_units": str(self.least)}
        drawn = "bca" if self.method in (AUTO, NORMAL) else self.method
        method = drawn
        if normal is not None and normal.any():
            method = NORMAL if normal.all() else f"{NORMAL}, {drawn}"
        described = {"level": f"{self.level:.15g}", "method": method, "replicates": str(self.replicates)}
        return {**described, "least_units": str(self.least)}

    def is_normal(self, kind: str, units: int) -> bool:
        """True if the interval of an aggregate over so many units (clusters) is normal.

        This depends on its own units alone, so that what else is asked does not change an interval.
        """
        return (
            self.anytime is not None
            or self.method == NORMAL
            or (self.method == AUTO and units >= NORMAL_UNITS and kind in RATIOS)
        )

    def check_normal(self, kinds: Sequence[str], names: Sequence[str]) -> None:
        """Raise a QueryError if normal intervals are asked for of what is no ratio of sums."""
        for kind, name in zip(kinds, names, strict=True):
            if self.anytime is not None and kind not in RATIOS:
                raise QueryError(f"anytime is for means and weighted ratios, not for the {kind} of {name!r}")
            if self.method == NORMAL and kind not in RATIOS:
                raise QueryError(
                    f"method {NORMAL!r} is for means and weighted ratios, not for the {kind} of {name!r}; choose bca"
                )

    def counts(self, units: int) -> Iterator[Float]:
        """Number of draws of each unit, in chunks of replicates: float64 (some replicates, units)."""
        if self.replicates * max(units, 1) <= _CHUNK:
            yield _counts_at_once(self.seed, self.replicates, units).astype(np.float64)
        elif self.kept is None or self.replicates * units > _KEPT_COUNTS:
            yield from _draw_counts(self.seed, self.replicates, units)
        else:
            if units not in self.kept:
                self.kept.clear()
                # A byte each: of n draws no unit has more than n, and 256 of one unit do not happen by chance.
                table = np.empty((self.replicates, units), dtype=np.uint8)
                start = 0
                for counts in _draw_counts(self.seed, self.replicates, units):
                    table[start : start + len(counts)] = counts
                    start += len(counts)
                self.kept[units] = table
            for part in chunks(self.replicates, units):
                yield self.kept[units][part].astype(np.float64)

    def signs(self, units: int, pairs: int = 1) -> tuple[Iterator[Float], bool]:
        """Swaps: chunks of +1 and -1 float64 (some replicates, units), and whether these are all possible ones.

        Chunks are small enough for as many results of each replicate as there are pairs.

        The same with all signs changed gives the same difference the other way round, so that the first unit keeps
        its sign where all are listed.
        """
        listed = self.lists_signs(units)
        parts = chunks(1 << max(units - 1, 0) if listed else self.replicates, max(units, pairs))
        bits: Iterator[npt.NDArray[Any]]
        if listed:
            bit = np.arange(units, dtype=np.int64)[::-1]
            bits = ((np.arange(part.start, part.stop)[:, np.newaxis] >> bit) & 1 for part in parts)
        else:
            rng = np.random.default_rng(self.seed)
            # Whole words for each replicate, so that the size of a chunk does not change what is drawn.
            size = 4 * -(-units // 32)
            words = (rng.integers(0, 256, (part.stop - part.start, size), np.uint8) for part in parts)
            bits = (np.unpackbits(word, axis=1, count=units) for word in words)
        return (np.where(flipped == 0, 1.0, -1.0) for flipped in bits), listed

    def lists_signs(self, units: int) -> bool:
        """True if so few units are swapped in every way there is, instead of at random."""
        return units <= 1 or (units <= 62 and 1 << (units - 1) <= self.replicates)


def _draw_counts(seed: int, replicates: int, units: int) -> Iterator[Float]:
    rng = np.random.default_rng(seed)
    narrow = np.min_scalar_type(max(units - 1, 1))
    for part in chunks(replicates, units):
        counts = np.empty((part.stop - part.start, units))
        for row in counts:
            row[:] = np.bincount(rng.integers(0, units, units, dtype=narrow), minlength=units)
        yield counts


@lru_cache(maxsize=_KEPT)
def _counts_at_once(seed: int, replicates: int, units: int) -> Counts:
    """The same in one chunk. Many evaluations, and pairs of systems that lack different tracks, draw as many units."""
    counts = next(_draw_counts(seed, replicates, units), np.empty((0, units)))
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))


def least_units(level: float) -> int:
    """The fewest units that have a confidence interval of a level.

    The smallest and the largest of n values hold the median that they were drawn from between them with a probability
    of 1 - 2 ** (1 - n). Where that is less than the level, no interval inside the range of the values is one, and a
    bootstrap gives none outside of it; neither has a permutation test of n units a p-value as small.

    Examples
    --------
    >>> [least_units(level) for level in (0.9, 0.95, 0.99)]
    [5, 6, 8]
    """
    return max(2, 1 + math.ceil(-math.log2(1 - level) - 1e-9))


def check_level(level: float) -> None:
    """Raise a QueryError for a level outside of (0, 1)."""
    if not 0 < level < 1:
        raise QueryError(f"level {level:g}: a confidence level lies between 0 and 1, as 0.95")


def chunks(replicates: int, width: int) -> Iterator[slice]:
    """Consecutive replicates of which so many numbers each take a bounded amount of memory."""
    step = max(1, _CHUNK // max(width, 1))
    for start in range(0, replicates, step):
        yield slice(start, min(start + step, replicates))


def bounds(replicates: Float, value: Float, acceleration: Float, how: Resampling) -> tuple[Float, Float]:
    """The ends of the intervals of some statistics.

    `replicates` (float64 (statistics, replicates)): sorted in place. Those that are undefined (NaN) are left out.
    `value` (float64 (statistics,)). `acceleration` (float64 (statistics,)). Returns `low`, `high` (float64
    (statistics,)): a value that is the same in all replicates has an interval without width.
    """
    from scipy.special import ndtr, ndtri

    replicates.sort(axis=1)
    tail = (1 - how.level) / 2
    low, high = np.full(len(value), tail), np.full(len(value), 1 - tail)
    if how.method != "percentile":
        # Efron 1987; Efron and Tibshirani 1993, equations 14.9 to 14.14.
        near = _NEAR * np.where(np.isfinite(value), np.abs(value), 0.0)
        number = np.maximum((~np.isnan(replicates)).sum(axis=1), 1)
        less = (replicates < (value - near)[:, np.newaxis]).sum(axis=1)
        half = (less + (replicates <= (value + near)[:, np.newaxis]).sum(axis=1)) / (2 * number)
        # A value outside of all replicates would move the ends infinitely far.
        bias = ndtri(np.clip(half, 0.5 / number, 1 - 0.5 / number))
        # Beyond the pole of the fraction an end would come back from the other side.
        moved = [bias + normal for normal in (ndtri(tail), ndtri(1 - tail))]
        low, high = (ndtr(bias + end / np.maximum(1 - acceleration * end, _NEAR)) for end in moved)
    ends = _quantile(replicates, low), _quantile(replicates, high)
    # By the replicates, not by leaving units out: no single track moves a median that several tracks share.
    first, last = _quantile(replicates, np.zeros(len(value))), _quantile(replicates, np.ones(len(value)))
    with np.errstate(invalid="ignore"):  # the difference of infinite medians
        fixed = np.maximum(np.abs(first - value), np.abs(last - value)) <= _NEAR * np.abs(value)
    low, high = (np.where(fixed, value, end) for end in ends)
    # A missing value has no interval, though some replicates may have a value.
    return np.where(np.isnan(value), np.nan, low), np.where(np.isnan(value), np.nan, high)


def _quantile(ordered: Float, share: Float) -> Float:
    """A quantile of each sorted row, between neighbours linearly; NaN stands last and does not count."""
    number = (~np.isnan(ordered)).sum(axis=1)
    place = share * np.maximum(number - 1, 0)
    floor = np.floor(place).astype(np.int64)
    rows = np.arange(len(ordered))
    left, right = ordered[rows, floor], ordered[rows, np.minimum(floor + 1, np.maximum(number - 1, 0))]
    with np.errstate(invalid="ignore"):  # between infinite medians
        between = np.where((left == right) | (place == floor), left, left + (place - floor) * (right - left))
    return np.asarray(np.where(number > 0, between, np.nan))


def accelerations(left_out: Float) -> Float:
    """Acceleration by the jackknife.

    `left_out` (float64 (units, values)): the values without each of the units; NaN where nothing is left. Returns
    float64 (values,): 0 where no unit moves the value.
    """
    finite: Bool = np.isfinite(left_out)
    number = np.maximum(finite.sum(axis=0), 1)
    middle = np.where(finite, left_out, 0.0).sum(axis=0) / number
    away = middle - np.where(finite, left_out, middle)
    squares = (away**2).sum(axis=0)
    cubes = (away**3).sum(axis=0)
    below = 6 * squares**1.5
    return divide(cubes, below)


@dataclass(frozen=True)
class Ratios:
    """Values that are ratios of sums over units."""

    above: Float
    """float64 (clusters, values)."""
    below: Float
    """Systems often share their denominators, as that of a chord symbol recall depends on the reference alone: float64
    (clusters, different denominators)."""
    denominator: Int
    """The column of `below` of each value: int64 (values,)."""
    clusters: int
    """Number of clusters to draw."""

    @classmethod
    def of(cls, sample: Sample, columns: list[tuple[int, int]]) -> Ratios:
        """The values of some (system, metric) of a sample."""
        count = sample.clusters
        above = np.empty((count, len(columns)))
        different: dict[bytes, int] = {}
        denominators: list[Float] = []
        denominator = np.empty(len(columns), dtype=np.int64)
        for index, column in enumerate(columns):
            above[:, index], bottom = sample.sums(*column)
            denominator[index] = different.setdefault(bottom.tobytes(), len(denominators))
            if denominator[index] == len(denominators):
                denominators.append(bottom)
        return cls(above, np.stack(denominators, axis=1) if denominators else np.empty((count, 0)), denominator, count)

    def again(self, counts: Float) -> Float:
        """The values of replicates."""
        below = (counts @ self.below)[:, self.denominator]
        return divide(counts @ self.above, below, np.nan, where=below != 0).T

    def left_out(self) -> Float:
        """The values without each of the clusters."""
        above = self.above.sum(axis=0) - self.above
        below = self.below.sum(axis=0) - self.below
        # What is left of a sum after taking away all of it is rounding.
        below[below <= 1e-12 * np.abs(self.below).sum(axis=0)] = 0.0
        below = below[:, self.denominator]
        return divide(above, below, np.nan, where=below != 0)


@dataclass(frozen=True)
class OrderedScores:
    """Statistics over units that are not ratios of sums, such as the median."""

    aggregate: Statistic
    ordered: Float
    """Scores from the smallest to the largest: float64 (values, units)."""
    order: Int
    """The cluster that each of them belongs to: int64 (values, units)."""
    clusters: int

    @classmethod
    def of(cls, sample: Sample, columns: list[tuple[int, int]]) -> OrderedScores:
        """The statistic of some (system, metric) of a sample, whose units all count and whose aggregate is the same."""
        score = np.array([sample.score[system, :, metric] for system, metric in columns])
        order = np.argsort(score, axis=1, kind="stable")
        count = sample.clusters
        aggregate = STATISTICS[sample.kinds[columns[0][1]]]
        return cls(aggregate, np.take_along_axis(score, order, axis=1), sample.cluster[order], count)

    def again(self, counts: Float) -> Float:
        """The values of replicates."""
        drawn = counts.astype(np.int64)
        found = np.empty((len(self.ordered), counts.shape[0]))
        for index, (values, order) in enumerate(zip(self.ordered, self.order, strict=True)):
            times = drawn[:, order]
            number = times.sum(axis=1)
            drawn_scores = np.repeat(np.broadcast_to(values, times.shape).ravel(), times.ravel())
            if (number == number[:1]).all():
                repeated = drawn_scores.reshape(len(counts), -1)
            else:
                repeated = np.full((len(counts), int(number.max())), np.nan)
                repeated[np.arange(repeated.shape[1]) < number[:, np.newaxis]] = drawn_scores
            found[index] = self.aggregate.of_ordered(repeated, number)
        return found

    def left_out(self) -> Float:
        """The values without each of the clusters."""
        units = self.ordered.shape[1]
        without_each = self.aggregate.without_each
        if self.clusters < units or without_each is None:
            parts = np.array_split(np.arange(self.clusters), max(1, self.clusters * units >> 22))
            counts = (1.0 - (np.arange(self.clusters) == part[:, np.newaxis]) for part in parts)
            return np.concatenate([self.again(each) for each in counts], axis=1).T
        found = np.full((units, len(self.ordered)), np.nan)
        if units > 1:
            for column, values in enumerate(self.ordered):
                found[self.order[column], column] = without_each(values)
        return found


_CANCELLED = 1e-12


@dataclass(frozen=True)
class Rates:
    """Sums of some systems over the same clusters of tracks."""

    counts: Float
    """float64 (systems, clusters, entries)."""
    ratio: Callable[[Float], Float]
    """The values, float64 (n, values), of sums of entries, float64 (n, entries); NaN where there are none."""

    @property
    def clusters(self) -> int:
        """Number of clusters to draw."""
        clusters: int = self.counts.shape[1]
        return clusters

    def again(self, counts: Float) -> Float:
        """The values of replicates, one system after the other."""
        found = []
        for own in self.counts:
            parts = chunks(len(counts), own.shape[1])
            found.append(np.concatenate([self.ratio(counts[part] @ own).T for part in parts], axis=1))
        return np.concatenate(found)

    def left_out(self) -> Float:
        """The values without each of the clusters, one system after the other."""
        found = [self.ratio(without_rounding(own.sum(axis=0) - own, np.abs(own).sum(axis=0))) for own in self.counts]
        return np.concatenate(found, axis=1)


def without_rounding(sums: Float, scale: Float) -> Float:
    """Sums of entries, with 0 for those that differ from it by rounding only, after all terms were taken away."""
    sums[np.abs(sums) <= _CANCELLED * scale] = 0.0
    return sums


def ratio_of(selection: TableSelection, asked: Mapping[str, Sequence[str]]) -> Callable[[Float], Float]:
    """Compute values from sums of outcomes, and finally their statistics across classes or tags.

    `asked`: dims of the values, and names of :data:`mirflow.analysis.queries.ACROSS`.
    """
    nothing, labels = selection.outcomes(np.zeros((0, *map(len, selection.labels.values()))))

    def ratio(sums: Float) -> Float:
        value = rate(selection.kind, sums.reshape(len(sums), *nothing.shape[1:]))
        return finish_values(value, list(labels), asked)

    return ratio


def finish_values(values: Float, dims: Sequence[str], asked: Mapping[str, Sequence[str]]) -> Float:
    """Reductions across values (n, dims), one dim after the other: float64 (n, values)."""
    for dim, names in asked.items():
        axis = 1 + list(dims).index(name_dim(dim, dims))
        moved = np.moveaxis(values, axis, 0)
        values = np.moveaxis(np.stack([ACROSS[name](moved) for name in names]), 0, axis)
    return values.reshape(len(values), -1)


def add_up(entries: Float, cluster: Int) -> Float:
    """Entries (tracks, ...) of each cluster, flat: float64 (clusters, entries)."""
    flat = entries.reshape(len(entries), int(np.prod(entries.shape[1:])))
    if len(np.unique(cluster)) == len(cluster):
        return flat
    sums = np.zeros((int(cluster.max(initial=-1)) + 1, flat.shape[1]))
    np.add.at(sums, cluster, flat)
    return sums


@dataclass(frozen=True)
class Tag:
    """The tracks that are about a tag, from the highest affinity to the lowest."""

    cluster: Int
    """int64 (tracks,)."""
    relevant: Bool
    """bool (tracks,)."""
    ends: Int
    """Where the last track of each affinity stands: int64 (different affinities,)."""


@dataclass(frozen=True)
class Orders:
    """The values of the tags of one system."""

    tags: tuple[Tag, ...]
    reached: Callable[[Float, Float], Float]
    """As that of an aggregate."""
    clusters: int
    finish: Callable[[Float], Float]
    """Statistics across the values, which are float64 (n, tags)."""

    @classmethod
    def of(
        cls, values: Float, side: int, cluster: Int, kind: str, finish: Callable[[Float], Float], *, together: bool
    ) -> Orders:
        """From relevance and affinity along one axis of (tracks, dims); `side` is counted after the tracks.

        The decisions of all tags are one order if `together`.
        """
        relevance, affinity = np.moveaxis(values, 1 + side, 0)
        if together:
            cluster = np.repeat(cluster, relevance.shape[1])
            relevance, affinity = relevance.reshape(-1, 1), affinity.reshape(-1, 1)
        tags = []
        for having, affinities in zip(relevance.T, affinity.T, strict=True):
            there = np.flatnonzero(~np.isnan(having))  # tracks that are about the tag
            there = there[np.argsort(-affinities[there], kind="stable")]
            differs = affinities[there][1:] != affinities[there][:-1]
            ends = np.flatnonzero(np.append(differs, True)) if len(there) else there
            tags.append(Tag(cluster[there], having[there] > 0, ends))
        return cls(tuple(tags), ORDER_AGGREGATES[kind].reached, int(cluster.max(initial=-1)) + 1, finish)

    def again(self, counts: Float) -> Float:
        """The values of replicates: float64 (values, replicates)."""
        found = []
        for part in chunks(len(counts), max([self.clusters, *(len(tag.cluster) for tag in self.tags)])):
            values = np.full((part.stop - part.start, len(self.tags)), np.nan)
            for column, tag in enumerate(self.tags):
                if len(tag.ends):
                    # Tracks of at least each affinity, those that have the tag and all.
                    drawn = counts[part][:, tag.cluster]
                    both = np.where(tag.relevant, drawn, 0.0), drawn
                    having, every = (np.cumsum(counted, axis=1)[:, tag.ends] for counted in both)
                    values[:, column] = self.reached(having, every)
            found.append(self.finish(values))
        return np.concatenate(found).T

    def left_out(self) -> Float:
        """The values without each of the clusters: float64 (clusters, values)."""
        every = np.arange(self.clusters)
        parts = chunks(self.clusters, self.clusters)
        return np.concatenate([self.again(1.0 - (every == every[part, np.newaxis])).T for part in parts])


Statistics = Ratios | OrderedScores | Rates | Orders
"""Some values over the same clusters of units: `again` computes those of replicates, float64 (values, replicates), from
counts float64 (replicates, clusters); `left_out` those without each of the clusters, float64 (clusters, values)."""


def statistics_of(sample: Sample, columns: list[tuple[int, int]]) -> Statistics:
    """Some (system, metric) of a sample, all ratios or all of one statistic, in the form that can be computed again."""
    ordered = sample.kinds[columns[0][1]] in STATISTICS
    return OrderedScores.of(sample, columns) if ordered else Ratios.of(sample, columns)


def draw(statistics: Statistics, number: int, how: Resampling) -> Float:
    """The replicates of some values: float64 (values, replicates)."""
    drawn = np.empty((number, how.replicates))
    start = 0
    for counts in how.counts(statistics.clusters):
        drawn[:, start : start + len(counts)] = statistics.again(counts)
        start += len(counts)
    return drawn
