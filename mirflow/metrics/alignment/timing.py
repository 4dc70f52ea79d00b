"""Timestamps of both sides of many pairs, one by one, and what can be measured on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels.medians import medians
from ...kernels.sums import sum_by
from ...ragged import Float, Int, offsets_of, rows_of

_SKEWNESS, _LOCATION, _SCALE, _LARGEST = 1.12244251, -0.22270315, 0.29779424, 1.6857


@dataclass(frozen=True)
class Timestamps:
    """Events of pairs, the n-th of the reference beside the n-th of the estimate.

    Parameters
    ----------
    reference, estimate : float64 (events,), seconds
        Flat, pair after pair, in order of time within a pair.
    counts : int64 (pairs,)
        How many events each pair has; at least one.
    """

    reference: Float
    estimate: Float
    counts: Int

    @cached_property
    def owner(self) -> Int:
        """The pair of each event: int64 (events,)."""
        return rows_of(self.counts)

    @cached_property
    def error(self) -> Float:
        """Seconds between the two sides of each event: float64 (events,)."""
        return np.abs(self.reference - self.estimate)

    def add_up(self, values: Float) -> Float:
        """Sums over the events of each pair: float64 (pairs,)."""
        return sum_by(self.owner, values, len(self.counts))

    def mean(self, values: Float) -> Float:
        """Means over the events of each pair: float64 (pairs,)."""
        return self.add_up(values) / self.counts


def mean_error(stamps: Timestamps) -> Float:
    """Mean absolute error of each pair: float64 (pairs,), seconds."""
    return stamps.mean(stamps.error)


def median_error(stamps: Timestamps) -> Float:
    """Median absolute error of each pair: float64 (pairs,), seconds."""
    return medians(stamps.error, stamps.counts)


def share_correct(stamps: Timestamps, window: float) -> Float:
    """Share of the events that lie at most a window apart: float64 (pairs,).

    Examples
    --------
    >>> stamps = Timestamps(np.array([1.0, 2.0]), np.array([1.2, 2.5]), np.array([2]))
    >>> share_correct(stamps, 0.3).tolist()
    [0.5]
    """
    return stamps.mean((stamps.error <= window).astype(np.float64))


def segments(stamps: Timestamps, duration: float | None = None) -> tuple[Float, Float]:
    """How long the segments between events overlap with their counterparts.

    Parameters
    ----------
    stamps : Timestamps
    duration : float or None
        Length of the recording in seconds: then the stretches before the first event and after the last one are
        segments, too. None: they are left out.

    Returns
    -------
    overlap, total : float64 (pairs,), seconds
        The total is the duration, or the time from the first to the last event of the reference.

    References
    ----------
    H. Fujihara et al., "LyricSynchronizer", IEEE Journal of Selected Topics in Signal Processing 5(6), 2011; without a
    duration: MIREX 2020, automatic lyrics-to-audio alignment.

    Examples
    --------
    >>> stamps = Timestamps(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 4.0]), np.array([3]))
    >>> [seconds.tolist() for seconds in segments(stamps)]
    [[2.0], [3.0]]
    >>> [seconds.tolist() for seconds in segments(stamps, 5.0)]
    [[4.0], [5.0]]
    """
    offsets = offsets_of(stamps.counts)
    first, last = offsets[:-1], offsets[1:] - 1
    starts = np.maximum(stamps.reference, stamps.estimate)
    ends = np.minimum(stamps.reference, stamps.estimate)
    lasting = np.zeros_like(starts)
    lasting[:-1] = np.maximum(ends[1:] - starts[:-1], 0.0)
    lasting[last] = 0.0 if duration is None else np.maximum(duration - starts[last], 0.0)
    overlap = stamps.add_up(lasting)
    if duration is None:
        return overlap, stamps.reference[last] - stamps.reference[first]
    return overlap + ends[first], np.full(len(overlap), duration)


def perceived_synchrony(stamps: Timestamps) -> Float:
    """How synchronous listeners find the events of each pair, on average: float64 (pairs,).

    The judgement of one event is the density of a skewed normal distribution at its offset, divided by the largest
    value of that density. An event that comes early is judged more kindly than one that is late.

    References
    ----------
    N. Lize-Masclef, A. Vaglio, M. Moussallam, "User-centered evaluation of lyrics-to-audio alignment", ISMIR 2021.

    Examples
    --------
    >>> stamps = Timestamps(np.array([1.0, 1.0]), np.array([1.0, 1.3]), np.array([1, 1]))
    >>> perceived_synchrony(stamps).round(3).tolist()
    [0.961, 0.332]
    """
    from scipy.special import ndtr

    place = (stamps.estimate - stamps.reference - _LOCATION) / _SCALE
    density = 2 / _SCALE / math.sqrt(2 * math.pi) * np.exp(-(place**2) / 2) * ndtr(_SKEWNESS * place)
    return stamps.mean(density / _LARGEST)
