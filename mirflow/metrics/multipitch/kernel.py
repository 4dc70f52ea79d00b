"""Frames of reference and estimate side by side, and how many of their pitches find each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...kernels.intervals import batches
from ...kernels.matching import match_edges
from ...kernels.ragged_ops import nearest
from ...ragged import Bool, Float, Int, Ragged, offsets_of, ranges, rows_of
from ..base import Pairs

_AT_ONCE = 2**15
"""Pairs of pitches that are compared at once."""

Way = tuple[float, bool]
"""A window in semitones, and whether octaves are left aside."""


@dataclass(frozen=True)
class Pitches:
    """Frames with any number of pitches each.

    Parameters
    ----------
    midi, chroma : float64 (pitches,)
        Fractions of semitones included; chroma from 0 to less than 12.
    first, counts : int64 (frames,)
        Starts of the pitches of each frame, and their numbers.
    """

    midi: Float
    chroma: Float
    first: Int
    counts: Int

    def take(self, frames: Int) -> Pitches:
        """Some of the frames, of the same pitches."""
        return replace(self, first=self.first[frames], counts=self.counts[frames])

    @classmethod
    def of(cls, midi: Float, counts: Int) -> Pitches:
        """Pitches that lie one frame after the other."""
        chroma = np.mod(midi, 12.0)
        chroma[chroma == 12.0] = 0.0  # what is just below 0 is rounded to 12
        return cls(midi, chroma, offsets_of(counts)[:-1], counts)


def to_midi(frequencies: Float, ref_frequency: float = 440.0) -> Float:
    """MIDI numbers with fractions.

    Examples
    --------
    >>> to_midi(np.array([220.0, 440.0])).tolist()
    [57.0, 69.0]
    """
    return np.asarray(69.0 + 12.0 * np.log2(frequencies / ref_frequency))


def pitches_of(rows: Ragged) -> Pitches:
    """The frames of all rows."""
    return Pitches.of(to_midi(rows.columns["frequency"]), rows.counts[1])


def frame_of_estimate(pairs: Pairs) -> Int:
    """The frame of the estimate beside each frame of the reference, -1 for none: int64 (frames of all pairs,).

    Times that are those of the reference, but for rounding, are taken as they are. Otherwise it is the nearest frame,
    of two that are equally near the earlier one, and none before the first and after the last frame of the estimate.
    """
    (references, reference_row), (estimates, estimate_row) = pairs.sides
    counts, theirs = pairs.counts
    found = np.full(int(counts.sum()), -1, dtype=np.int64)
    same = _have_same_times(pairs)
    starts = offsets_of(counts)[:-1]
    groups = np.flatnonzero(same)
    found[ranges(starts[groups], counts[groups])] = ranges(estimates.offsets[estimate_row[groups]], counts[groups])
    groups = np.flatnonzero(~same & (theirs > 0))
    if len(groups):
        times = references.columns["time"][ranges(references.offsets[reference_row[groups]], counts[groups])]
        found[ranges(starts[groups], counts[groups])] = nearest_frame(
            estimates, estimate_row[groups], times, counts[groups]
        )
    return found


def _have_same_times(pairs: Pairs) -> Bool:
    counts, theirs = pairs.counts
    same = counts == theirs
    groups = np.flatnonzero(same)
    own, other = (rows.columns["time"][ranges(rows.offsets[row[groups]], counts[groups])] for rows, row in pairs.sides)
    apart = offsets_of((~(np.abs(other - own) <= 1e-8 + 1e-5 * np.abs(own))).astype(np.int64))
    ends = offsets_of(counts[groups])
    same[groups] = apart[ends[1:]] == apart[ends[:-1]]
    return np.asarray(same)


def nearest_frame(rows: Ragged, row: Int, times: Float, counts: Int) -> Int:
    """The nearest frame of a row for each time, -1 outside."""
    distinct, place = np.unique(row, return_inverse=True)
    own = rows.take(distinct)
    frames = own.counts[0]
    axis = nearest(np.insert(own.columns["time"], np.cumsum(frames), np.inf), frames)
    found = axis.find(place, times, counts) - np.repeat(axis.first[place], counts)
    found += np.repeat(rows.offsets[row], counts)
    first, last = (rows.columns["time"][at] for at in (rows.offsets[row], rows.offsets[row + 1] - 1))
    outside = (times < np.repeat(first, counts)) | (times > np.repeat(last, counts))
    found[outside] = -1
    return found


def beside(estimates: Pitches, frame: Int) -> Pitches:
    """The frames of estimates beside those of the references; -1 is one without pitches."""
    first, counts = (np.append(column, 0)[frame] for column in (estimates.first, estimates.counts))
    return replace(estimates, first=first, counts=counts)


def within(reference: Float, estimate: Float, window: float, chroma: bool) -> Bool:
    """Pitches that may be matched: no further apart than a window in semitones, around the octave for `chroma`.

    The sums are formed as mir_eval forms them, so that what is decided at the very edge of the window is the same.
    """
    if not chroma:
        found = estimate - window <= reference
        found &= reference <= estimate + window
        return np.asarray(found)
    apart = reference - estimate
    np.abs(apart, out=apart)
    return np.asarray(np.minimum(apart, 12.0 - apart) <= window)


def matched(references: Pitches, estimates: Pitches, ways: Sequence[Way]) -> Iterator[tuple[Way, tuple[Int, Int, Int]]]:
    """Largest matchings of the pitches of frames side by side, some frames at a time, in each way.

    Yields
    ------
    way : (float, bool)
    frame, reference, estimate : int64 (matches,)
        The frame of each match, and which pitches found each other, as indices into `midi`.
    """
    products = references.counts * estimates.counts
    filled = np.flatnonzero(products)
    for part in batches(products[filled], _AT_ONCE):
        frames = filled[part]
        ours, theirs = references.take(frames), estimates.take(frames)
        first, second = ranges(ours.first, ours.counts), ranges(theirs.first, theirs.counts)
        row = rows_of(ours.counts)
        repeats = theirs.counts[row]
        left = np.repeat(np.arange(len(first), dtype=np.int64), repeats)
        right = ranges(offsets_of(theirs.counts)[:-1][row], repeats)
        for way in ways:
            one, other = (side.chroma if way[1] else side.midi for side in (references, estimates))
            edges = np.flatnonzero(within(np.repeat(one[first], repeats), other[second][right], *way))
            joined = left[edges], right[edges]
            found = match_edges(*joined, len(first), len(second))
            yield way, (frames[row[joined[0][found]]], first[joined[0][found]], second[joined[1][found]])


def count_true_positives(references: Pitches, estimates: Pitches, ways: Sequence[Way]) -> dict[Way, Int]:
    """Numbers of pitches of each frame that find each other: int64 (frames,) for each way."""
    found = {way: np.zeros(len(references.counts), dtype=np.int64) for way in ways}
    for way, (frame, _, _) in matched(references, estimates, ways):
        found[way] += np.bincount(frame, minlength=len(found[way]))
    return found
