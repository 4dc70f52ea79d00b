"""Reference and estimate on common frames, for many pairs, and what their frames agree on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...kernels.sums import sum_by
from ...ragged import Bool, Float, Int, offsets_of, ranges
from .series import Sampled, Series, is_on_grid, resample

Classes = npt.NDArray[np.uint8]

_DECIMALS = 10
MOST_FRAMES = 2**21
"""Of a series with few samples: almost six hours of 10 ms."""
_FRAMES_A_SAMPLE = 16


@dataclass(frozen=True)
class Frames:
    """The frames of some pairs, one pair after the other.

    Parameters
    ----------
    reference_cents, reference_voicing, estimate_cents, estimate_voicing : float64 (frames,)
        Cents are 0 where there is no pitch.
    counts : int64 (pairs,)
    times : float64 (frames,), seconds
    graded : (bool, bool)
        Whether the voicing of the reference, and that of the estimate, is anything but 0 and 1 somewhere.
    """

    reference_cents: Float
    reference_voicing: Float
    estimate_cents: Float
    estimate_voicing: Float
    counts: Int
    times: Float
    graded: tuple[bool, bool]


def mean_hop(series: Series) -> Float:
    """The mean distance of the samples of each row, 0 of a single one: float64 (rows,), seconds."""
    span = series.times[series.last] - series.times[series.first]
    steps = series.counts - 1
    return np.divide(span, steps, out=np.zeros(len(span)), where=steps > 0)


def most_frames(samples: Int) -> Int:
    """How many frames series of so many samples may be read on: int64 (n,).

    A single late sample would make millions of frames of a file of one line. What needs more is refused; its times are
    hardly in seconds.

    Examples
    --------
    >>> most_frames(np.array([1, 1_000_000])).tolist()
    [2097152, 16000000]
    """
    return np.maximum(_FRAMES_A_SAMPLE * samples, MOST_FRAMES)


def hop_counts(ends: Float, hop: float) -> Int:
    """How many frames from 0 s on fit before each end: int64 (n,)."""
    return np.floor(np.round(ends, _DECIMALS) / hop).astype(np.int64) + 1


def hop_times(counts: Int, hop: float) -> Float:
    """Times of frames from 0 s on, rounded to 10 decimals: float64 (sum of counts,), seconds.

    Examples
    --------
    >>> hop_times(np.array([3, 1]), 0.1).tolist()
    [0.0, 0.1, 0.2, 0.0]
    """
    intervals = counts - 1
    stop = hop * intervals
    step = np.divide(stop, intervals, out=np.zeros(len(counts)), where=intervals > 0)
    times = ranges(np.zeros(len(counts), dtype=np.int64), counts) * np.repeat(step, counts)
    times[np.cumsum(counts) - 1] = stop
    return np.asarray(np.round(times, _DECIMALS))


def unreached(references: Series, estimates: Series, reference: Int, estimate: Int) -> Bool:
    """Pairs whose reference starts, before 0 s, where the estimate says nothing yet: bool (pairs,)."""
    begin = np.round(references.times[references.first[reference]], _DECIMALS)
    early = np.asarray(begin < np.round(estimates.times[estimates.first[estimate]], _DECIMALS))
    if early.any():
        place = np.flatnonzero(early)
        rows, counts = reference[place], references.counts[reference[place]]
        times = references.times[ranges(references.first[rows], counts)]
        early[place] = ~is_on_grid(estimates, estimate[place], times, counts)
    return early


def on_reference(references: Series, estimates: Series, reference: Int, estimate: Int, resampling: str) -> Frames:
    """Both sides of pairs at the times of the reference.

    Parameters
    ----------
    references, estimates : Series
    reference, estimate : int64 (pairs,)
        The rows of each pair, none of which is `unreached`.
    resampling : {"linear", "nearest", "hold"}
    """
    counts = references.counts[reference]
    in_order = not references.gap and np.array_equal(reference, np.arange(len(references.counts)))
    item: Int | slice = slice(None) if in_order else ranges(references.first[reference], counts)
    times = references.times[item]
    sampled = resample(estimates, estimate, times, counts, resampling)
    own = references.cents[item], references.voicing[item]
    return Frames(*own, *sampled, counts, times, _graded(references, estimates))


def _graded(*sides: Series) -> tuple[bool, bool]:
    one, other = (bool(side.graded.any()) for side in sides)
    return one, other


def on_hop(references: Series, estimates: Series, reference: Int, estimate: Int, hop: float, resampling: str) -> Frames:
    """Both sides of pairs on frames of one hop from 0 s to the end of the reference.

    Each side is read on frames up to its own end; where an estimate has none left it is silent. Parameters are those
    of `on_reference`.
    """
    (counts, times, *own), (theirs, _, *other) = (
        _on_own_frames(side, hop, resampling) for side in (references, estimates)
    )
    wanted = counts[reference]
    in_order = np.array_equal(reference, np.arange(len(counts)))
    item: Int | slice = slice(None) if in_order else ranges(offsets_of(counts)[reference], wanted)
    heard = np.minimum(wanted, theirs[estimate])
    into, place = ranges(offsets_of(wanted)[:-1], heard), ranges(offsets_of(theirs)[estimate], heard)
    cents, voicing = np.zeros((2, int(wanted.sum())))
    cents[into], voicing[into] = other[0][place], other[1][place]
    return Frames(own[0][item], own[1][item], cents, voicing, wanted, times[item], _graded(references, estimates))


def _on_own_frames(series: Series, hop: float, resampling: str) -> tuple[Int, Float, Float, Float]:
    counts = hop_counts(series.times[series.last], hop)
    times = hop_times(counts, hop)
    sampled: Sampled = resample(series, np.arange(len(counts)), times, counts, resampling)
    return counts, times, *sampled


VOICED, PITCH, CHROMA, HEARD = 1, 2, 4, 8
"""Bits of the class of a frame: voiced in the reference, right pitch, right chroma, voiced in the estimate."""
_CLASSES = 16


def classes_of(frames: Frames, tolerance: float) -> Classes:
    """The class of each frame: uint8 (frames,).

    Parameters
    ----------
    frames : Frames
    tolerance : float, cents
        A pitch is right if it is less than so far from that of the reference.
    """
    distance = frames.reference_cents - frames.estimate_cents
    np.abs(distance, out=distance)
    comparable = frames.reference_cents != 0
    comparable &= frames.estimate_cents != 0
    right = distance < tolerance
    right &= comparable
    other = np.flatnonzero(comparable ^ right)
    apart = distance[other]
    found = right.view(np.uint8) * np.uint8(PITCH + CHROMA)
    found[other[np.abs(apart - 1200.0 * np.floor(apart / 1200.0 + 0.5)) < tolerance]] = CHROMA
    found += frames.reference_voicing > 0
    found += (frames.estimate_voicing > 0).view(np.uint8) * np.uint8(HEARD)
    return found


@dataclass(frozen=True)
class Tally:
    """Sums over the frames of each class of some pairs: float64 (pairs, 16) each.

    Parameters
    ----------
    frames : number of frames
    reference, estimate, both : sums of the reference's voicing, of the estimate's, and of their product
    """

    frames: Float
    reference: Float
    estimate: Float
    both: Float

    @classmethod
    def empty(cls, pairs: int) -> Tally:
        """Of pairs without frames."""
        return cls(*np.zeros((4, pairs, _CLASSES)))

    def put(self, pairs: Int, tally: Tally) -> None:
        """Write what was counted of some pairs."""
        for own, other in zip(self._sums(), tally._sums(), strict=True):
            own[pairs] = other

    def _sums(self) -> tuple[Float, Float, Float, Float]:
        return self.frames, self.reference, self.estimate, self.both

    @classmethod
    def of(cls, frames: Frames, tolerance: float) -> Tally:
        """Count the frames of each class; all sums of pairs with binary voicing are exact."""
        pairs = len(frames.counts)
        found = np.repeat(np.arange(pairs, dtype=np.int64) * _CLASSES, frames.counts)
        found += classes_of(frames, tolerance)
        number = np.bincount(found, minlength=pairs * _CLASSES).astype(np.float64).reshape(pairs, _CLASSES)
        voiced, heard = ((np.arange(_CLASSES) & bit > 0) * number for bit in (VOICED, HEARD))
        both = (np.arange(_CLASSES) & VOICED > 0) * heard

        def total(weights: Float) -> Float:
            return sum_by(found, weights, pairs * _CLASSES).reshape(pairs, _CLASSES)

        of_reference, of_estimate = frames.reference_voicing, frames.estimate_voicing
        graded = frames.graded
        return cls(
            number,
            total(of_reference) if graded[0] else voiced,
            total(of_estimate) if graded[1] else heard,
            total(of_reference * of_estimate) if any(graded) else both,
        )

    def sum(self, what: Float, bit: int = 0, unset: int = 0) -> Float:
        """Sums over the classes that have one bit set and another one unset: float64 (pairs,)."""
        # Added in this order whatever the number of pairs: a pair's sum is the same to the bit in any batch.
        total = np.zeros(len(what))
        for number in range(_CLASSES):
            if number & bit == bit and not number & unset:
                total += what[:, number]
        return total
