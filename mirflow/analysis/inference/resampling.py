"""Drawing units again: how often each is drawn, and intervals from the figures that this gives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import QueryError, UnknownNameError
from ...ragged import Bool, Float, Int

METHODS = {
    "bca": "bias-corrected and accelerated (Efron 1987)",
    "percentile": "quantiles of the replicates",
}
Seed = int | np.random.Generator
_CHUNK = 1 << 22
_KEPT = 1 << 27
"""Bytes of counts that are kept for samples of the same size."""
_NEAR = 1e-12


@dataclass(frozen=True)
class Resampling:
    """How intervals are made.

    Parameters
    ----------
    level : float
        The share of intervals that are to hold the true figure.
    method : {"bca", "percentile"}
    replicates : int
    seed : int
        Every bootstrap starts from it, so that the same question gives the same answer.
    """

    level: float
    method: str
    replicates: int
    seed: int
    _drawn: dict[int, npt.NDArray[np.unsignedinteger]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def of(cls, level: float, method: str, replicates: int, rng: Seed) -> Resampling:
        """Check what was asked for.

        Raises
        ------
        QueryError
            For a level outside of (0, 1), or no replicates.
        UnknownNameError
            For an unknown method.
        """
        check_level(level)
        if method not in METHODS:
            raise UnknownNameError("interval method", method, METHODS)
        if replicates < 1:
            raise QueryError(f"replicates {replicates}: at least one is needed, and thousands for an interval")
        seed = int(rng.integers(1 << 62)) if isinstance(rng, np.random.Generator) else int(rng)
        if seed < 0:
            raise QueryError(f"rng {seed}: a seed is not negative")
        return cls(float(level), method, int(replicates), seed)

    @property
    def least(self) -> int:
        """The fewest units (clusters) that have an interval; see :func:`least_units`."""
        return least_units(self.level)

    def attrs(self) -> dict[str, str]:
        """What an answer says about its intervals."""
        told = {"level": f"{self.level:.15g}", "method": self.method, "replicates": str(self.replicates)}
        return {**told, "least_units": str(self.least)}

    def counts(self, units: int) -> Iterator[Float]:
        """How often each unit was drawn, in chunks of replicates: float64 (some replicates, units)."""
        if units in self._drawn:
            yield self._drawn[units].astype(np.float64)
            return
        for counts in self._draw(units):
            # Pairs of systems that lack different tracks often have the same number of them.
            if len(counts) == self.replicates and sum(one.nbytes for one in self._drawn.values()) < _KEPT:
                self._drawn[units] = counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
            yield counts

    def _draw(self, units: int) -> Iterator[Float]:
        rng = np.random.default_rng(self.seed)
        narrow = np.min_scalar_type(max(units - 1, 1))
        for size in _sizes(self.replicates, units):
            counts = np.empty((size, units))
            for row in counts:
                row[:] = np.bincount(rng.integers(0, units, units, dtype=narrow), minlength=units)
            yield counts

    def signs(self, units: int, pairs: int = 1) -> tuple[Iterator[Float], bool]:
        """Who is swapped: chunks of +1 and -1 float64 (some replicates, units), and whether these are all there are.

        Chunks are small enough for as many results of each replicate as there are pairs.

        The same with all signs changed gives the same difference the other way round, so that the first unit keeps
        its sign where all are listed.
        """
        exact = self.lists_signs(units)
        return (self._every_sign(units, pairs) if exact else self._random_signs(units, pairs)), exact

    def lists_signs(self, units: int) -> bool:
        """Whether so few units are swapped in every way there is, instead of at random."""
        return units <= 1 or (units <= 62 and 1 << (units - 1) <= self.replicates)

    def _every_sign(self, units: int, pairs: int) -> Iterator[Float]:
        bit, start = np.arange(units, dtype=np.int64)[::-1], 0
        for size in _sizes(1 << max(units - 1, 0), max(units, pairs)):
            number = np.arange(start, start + size, dtype=np.int64)[:, np.newaxis]
            yield _sign((number >> bit) & 1)
            start += size

    def _random_signs(self, units: int, pairs: int) -> Iterator[Float]:
        rng = np.random.default_rng(self.seed)
        # Whole words for each replicate, so that the size of a chunk does not change what is drawn.
        width = 4 * -(-units // 32)
        for size in _sizes(self.replicates, max(units, pairs)):
            bits = rng.integers(0, 256, (size, width), dtype=np.uint8)
            yield _sign(np.unpackbits(bits, axis=1, count=units))


def _sign(bits: npt.NDArray[Any]) -> Float:
    """0 and 1 as +1 and -1."""
    return np.where(bits == 0, 1.0, -1.0)


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
    """Refuse a confidence level that is none."""
    if not 0 < level < 1:
        raise QueryError(f"level {level:g}: a confidence level lies between 0 and 1, as 0.95")


def chunks(replicates: int, width: int) -> Iterator[slice]:
    """Consecutive replicates of which so many numbers each take a bounded amount of memory."""
    step = max(1, _CHUNK // max(width, 1))
    for start in range(0, replicates, step):
        yield slice(start, min(start + step, replicates))


def _sizes(replicates: int, units: int) -> Iterator[int]:
    return (part.stop - part.start for part in chunks(replicates, units))


def bounds(replicates: Float, value: Float, acceleration: Float, how: Resampling) -> tuple[Float, Float]:
    """The ends of the intervals of some figures.

    Parameters
    ----------
    replicates : float64 (figures, replicates)
        Sorted in place. Those that are undefined (NaN) are left out.
    value : float64 (figures,)
    acceleration : float64 (figures,)
    how : Resampling

    Returns
    -------
    low, high : float64 (figures,)
        A figure that is the same in all replicates has an interval without width.
    """
    replicates.sort(axis=1)
    tail = (1 - how.level) / 2
    low, high = np.full(len(value), tail), np.full(len(value), 1 - tail)
    if how.method == "bca":
        low, high = _bca(replicates, value, acceleration, tail)
    ends = _quantile(replicates, low), _quantile(replicates, high)
    # By the replicates, not by leaving units out: no single track moves a median that several tracks share.
    first, last = _quantile(replicates, np.zeros(len(value))), _quantile(replicates, np.ones(len(value)))
    with np.errstate(invalid="ignore"):  # the difference of infinite medians
        fixed = np.maximum(np.abs(first - value), np.abs(last - value)) <= _NEAR * np.abs(value)
    low, high = (np.where(fixed, value, end) for end in ends)
    # Where there is no figure there is no interval, though some replicates may have one.
    return np.where(np.isnan(value), np.nan, low), np.where(np.isnan(value), np.nan, high)


def _bca(replicates: Float, value: Float, acceleration: Float, tail: float) -> tuple[Float, Float]:
    """Where among the replicates the ends lie (Efron 1987; Efron and Tibshirani 1993, equations 14.9 to 14.14)."""
    from scipy.special import ndtr, ndtri

    near: Float = np.where(np.isfinite(value), _NEAR * np.abs(value), 0.0)
    number = np.maximum((~np.isnan(replicates)).sum(axis=1), 1)
    less = _below(replicates, value - near, "left")
    half = (less + _below(replicates, value + near, "right")) / (2 * number)
    # A figure outside of all replicates would move the ends infinitely far.
    bias = ndtri(np.clip(half, 0.5 / number, 1 - 0.5 / number))
    ends = []
    for normal in (ndtri(tail), ndtri(1 - tail)):
        moved = bias + normal
        # Beyond the pole of the fraction an end would come back from the other side.
        ends.append(np.asarray(ndtr(bias + moved / np.maximum(1 - acceleration * moved, _NEAR))))
    return ends[0], ends[1]


def _below(ordered: Float, limits: Float, side: str) -> Int:
    """How many of each sorted row lie below a limit (or at it, by side)."""
    found = ordered < limits[:, np.newaxis] if side == "left" else ordered <= limits[:, np.newaxis]
    return np.asarray(found.sum(axis=1))


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

    Parameters
    ----------
    left_out : float64 (units, figures)
        The figures without each of the units; NaN where nothing is left.

    Returns
    -------
    float64 (figures,)
        0 where no unit moves the figure.
    """
    known: Bool = np.isfinite(left_out)
    number = np.maximum(known.sum(axis=0), 1)
    middle = np.where(known, left_out, 0.0).sum(axis=0) / number
    away = middle - np.where(known, left_out, middle)
    squares = (away**2).sum(axis=0)
    cubes = (away**3).sum(axis=0)
    below = 6 * squares**1.5
    return np.asarray(np.divide(cubes, below, out=np.zeros_like(cubes), where=below > 0))
