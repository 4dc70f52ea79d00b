"""The sample of a row that holds at a time, or is nearest to it, for many times of many rows at once.

Series of measurements have nearly even steps, so the place of a time is guessed from the mean step of its row, and
what decides is the comparison with the samples around it. Only where the guess is wrong is anything searched. Nothing
depends on another row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..ragged import Bool, Float, Int, offsets_of


@dataclass(frozen=True, slots=True)
class Axis:
    """Rows of ascending keys, each followed by an infinite one, with what the first guess needs.

    Sample i of a row is in force from its key on, up to the next one. Use `holding` or `nearest` to make one.

    Parameters
    ----------
    keys : float64 (samples + rows,)
        The last one of each row is infinite.
    first, last : int64 (rows,)
        Where the first and the last sample of each row stand among the keys; rows have at least one sample.
    origin, rate : float64 (rows,)
        Time of the first sample, and samples a second.
    closed : bool
        Whether a sample is in force at its own key already.
    """

    keys: Float
    first: Int
    last: Int
    origin: Float
    rate: Float
    closed: bool

    def find(self, row: Int, times: Float, counts: Int) -> Int:
        """The sample in force at each of some times; before a row's first sample that one.

        Parameters
        ----------
        row : int64 (groups,)
            The row that each group of times is looked up in.
        times : float64 (sum of counts,)
        counts : int64 (groups,)

        Returns
        -------
        int64 (sum of counts,)
            Index into `keys`.
        """
        first, last = self.first[row], self.last[row]
        with np.errstate(invalid="ignore", over="ignore"):
            offset = first - self.origin[row] * self.rate[row]
            steps = times * np.repeat(self.rate[row], counts)
            steps += np.repeat(offset, counts)
        for bound, limit in ((first, np.fmax), (last, np.fmin)):  # what is no number becomes the row's first
            limit(steps, np.repeat(bound.astype(np.float64), counts), out=steps)
        guess = steps.astype(np.int64)
        reached: Callable[[Float, Float], Bool] = np.less_equal if self.closed else np.less
        wrong = reached(self.keys.take(guess + 1, mode="clip"), times)
        wrong |= ~reached(self.keys.take(guess, mode="clip"), times)
        places = np.flatnonzero(wrong)
        if len(places):
            group = np.searchsorted(np.cumsum(counts), places, side="right")
            guess[places] = self._search(guess[places], first[group], last[group], times[places], reached)
        return guess

    def _search(self, guess: Int, first: Int, last: Int, times: Float, reached: Callable[[Float, Float], Bool]) -> Int:
        """Samples in force from guesses that are known to be wrong, or to lie before the first sample."""
        up = reached(self.keys[guess + 1], times)
        place = np.clip(np.where(up, guess + 1, guess - 1), first, last)
        wrong = reached(self.keys[place + 1], times) | ~reached(self.keys[place], times)
        far = np.flatnonzero(wrong & (place > first) | reached(self.keys[place + 1], times))
        low, high, times = first[far], last[far], times[far]
        while (low < high).any():
            middle = (low + high + 1) >> 1
            fits = reached(self.keys[middle], times)
            low, high = np.where(fits, middle, low), np.where(fits, high, np.maximum(middle - 1, low))
        place[far] = low
        return place


def holding(times: Float, counts: Int) -> Axis:
    """The axis on which a sample holds from its time up to that of the next one.

    Parameters
    ----------
    times : float64, seconds
        Ascending within each row, and infinite at its end. Of samples at one time the last one holds.
    counts : int64 (rows,)
        How many samples each row has, without the infinite one; at least 1.

    Examples
    --------
    >>> axis = holding(np.array([0.0, 1.0, 2.0, np.inf, 0.0, np.inf]), np.array([3, 1]))
    >>> axis.find(np.array([1, 0]), np.array([0.5, -1.0, 0.9, 1.0, 7.0]), np.array([1, 4])).tolist()
    [4, 0, 0, 1, 2]
    """
    first = offsets_of(counts + 1)[:-1]
    last = first + counts - 1
    return Axis(times, first, last, *_pace(times, first, last), closed=True)


def nearest(times: Float, counts: Int) -> Axis:
    """The axis on which the nearest sample is in force, of two that are equally near the earlier one.

    The middle between two samples is ``a / 2 + b / 2``, computed like that. Parameters are those of :func:`holding`.

    Examples
    --------
    >>> axis = nearest(np.array([0.0, 1.0, 2.0, np.inf]), np.array([3]))
    >>> axis.find(np.array([0]), np.array([0.5, 0.6, 9.0]), np.array([3])).tolist()
    [0, 1, 2]
    """
    first = offsets_of(counts + 1)[:-1]
    last = first + counts - 1
    half = times / 2.0
    middles = np.empty_like(times)
    np.add(half[1:], half[:-1], out=middles[1:])
    middles[first] = -np.inf
    middles[last + 1] = np.inf
    origin, rate = _pace(times, first, last)
    origin -= np.divide(0.5, rate, out=np.zeros_like(rate), where=rate > 0)
    return Axis(middles, first, last, origin, rate, closed=False)


def _pace(times: Float, first: Int, last: Int) -> tuple[Float, Float]:
    """Time of the first sample and samples a second."""
    origin = times[first]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return origin, np.where(last > first, (last - first) / (times[last] - origin), 0.0)
