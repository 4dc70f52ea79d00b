"""Kernels of multiple F0 estimation: aligned frames of reference and estimate, and their matched pitches.

The form of such frames on a time grid, a piano roll, is here, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...annotations import rolls
from ...annotations.grids import GridForm, GridOptions, TimeGrid, Variables
from ...kernels.intervals import batches
from ...kernels.matching import match_edges
from ...kernels.ragged_ops import SortedRows
from ...ragged import Float, Int, Ragged, offsets_of, ranges, rows_of
from ..base import Pairs

_AT_ONCE = 2**15  # Pairs of pitches compared at once

Way = tuple[float, bool]  # A window in semitones, and whether to ignore octaves


@dataclass(frozen=True)
class Pitches:
    """Frames with any number of pitches."""

    midi: Float
    chroma: Float  # float64 (pitches,): MIDI numbers with fractions; chroma from 0 to below 12
    first: Int
    counts: Int  # Offset and number of the pitches of each frame: int64 (frames,)

    def take(self, frames: Int) -> Pitches:
        """Select frames, sharing the pitches."""
        return replace(self, first=self.first[frames], counts=self.counts[frames])

    @classmethod
    def of(cls, midi: Float, counts: Int) -> Pitches:
        """Make frames of concatenated pitches."""
        chroma = np.mod(midi, 12.0)
        chroma[chroma == 12.0] = 0.0  # values just below 0 are rounded to 12
        return cls(midi, chroma, offsets_of(counts)[:-1], counts)


def pitches_of(rows: Ragged) -> Pitches:
    """Collect the frames of all rows."""
    return Pitches.of(69.0 + 12.0 * np.log2(rows.columns["frequency"] / 440.0), rows.counts[1])


def frame_of_estimate(pairs: Pairs) -> Int:
    """Frame of the estimate for each frame of the reference, -1 for none: int64 (frames of all pairs,).

    If times are equal except for rounding, frames correspond by index. Otherwise it is the nearest frame (the earlier
    of two equally near ones), and none before the first and after the last frame of the estimate.
    """
    (references, reference_row), (estimates, estimate_row) = pairs.sides
    counts, theirs = pairs.counts
    frame = np.full(int(counts.sum()), -1, dtype=np.int64)
    same = counts == theirs
    groups = np.flatnonzero(same)
    left, right = (rows.columns["time"][ranges(rows.offsets[row[groups]], counts[groups])] for rows, row in pairs.sides)
    apart = offsets_of((~(np.abs(right - left) <= 1e-8 + 1e-5 * np.abs(left))).astype(np.int64))
    ends = offsets_of(counts[groups])
    same[groups] = apart[ends[1:]] == apart[ends[:-1]]
    starts = offsets_of(counts)[:-1]
    groups = np.flatnonzero(same)
    frame[ranges(starts[groups], counts[groups])] = ranges(estimates.offsets[estimate_row[groups]], counts[groups])
    groups = np.flatnonzero(~same & (theirs > 0))
    if len(groups):
        times = references.columns["time"][ranges(references.offsets[reference_row[groups]], counts[groups])]
        index = ranges(starts[groups], counts[groups])
        frame[index] = nearest_frame(estimates, estimate_row[groups], times, counts[groups])
    return frame


def nearest_frame(rows: Ragged, row: Int, times: Float, counts: Int) -> Int:
    """Nearest frame of a row for each time; -1 outside."""
    distinct, index = np.unique(row, return_inverse=True)
    own = rows.take(distinct)
    frames = own.counts[0]
    axis = SortedRows.of(np.insert(own.columns["time"], np.cumsum(frames), np.inf), frames, nearest=True)
    frame = axis.find(index, times, counts) - np.repeat(axis.first[index], counts)
    frame += np.repeat(rows.offsets[row], counts)
    first, last = (rows.columns["time"][at] for at in (rows.offsets[row], rows.offsets[row + 1] - 1))
    outside = (times < np.repeat(first, counts)) | (times > np.repeat(last, counts))
    frame[outside] = -1
    return frame


def _on_grid(rows: Ragged, grid: TimeGrid, options: GridOptions) -> Variables:
    """Pitches of the nearest frame, of two the earlier; none before a row's first frame and after its last one."""
    frames = np.full((len(rows), len(grid)), -1, dtype=np.int64)
    filled = np.flatnonzero(rows.counts[0])
    if len(filled) and len(grid):
        ends = rows.offsets[filled], rows.offsets[filled + 1] - 1
        first, last = (rows.columns["time"][place][:, np.newaxis] for place in ends)
        times = np.where((grid.times < first) & (grid.times >= first - grid.rounding), first, grid.times)
        times = np.where((times > last) & (times <= last + grid.rounding), last, times)
        counts = np.full(len(filled), len(grid), dtype=np.int64)
        frames[filled] = nearest_frame(rows, filled, times.ravel(), counts).reshape(times.shape)
    return rolls.pitches_on_grid(rows, frames.ravel(), frames.shape, options.size)


FORM = GridForm(
    _on_grid,
    rolls.frames_from_grid,
    ("active",),
    ("frequency",),
    ("time", "pitch"),
    {"valid": ("time",), "frequency": ("time", "voice")},
    task="multipitch",
    sized=1,
)
"""The form of frames on a time grid."""


def beside(estimates: Pitches, frame: Int) -> Pitches:
    """Take the frames of estimates for those of the references; -1 is a frame without pitches."""
    first, counts = (np.append(column, 0)[frame] for column in (estimates.first, estimates.counts))
    return replace(estimates, first=first, counts=counts)


def matched(references: Pitches, estimates: Pitches, ways: Sequence[Way]) -> Iterator[tuple[Way, tuple[Int, Int, Int]]]:
    """Find largest matchings of the pitches of corresponding frames in each way, in blocks of frames.

    Each way comes with the frame of each match, and the matched pitches of both sides as indices into `midi`.
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
            window, chroma = way
            one, other = (side.chroma if chroma else side.midi for side in (references, estimates))
            one, other = np.repeat(one[first], repeats), other[second][right]
            if chroma:
                apart = one - other
                np.abs(apart, out=apart)
                near = np.minimum(apart, 12.0 - apart) <= window
            else:  # sums are computed as in mir_eval, so that decisions at the edge of the window are equal
                near = other - window <= one
                near &= one <= other + window
            edges = np.flatnonzero(near)
            joined = left[edges], right[edges]
            found = match_edges(*joined, len(first), len(second))
            yield way, (frames[row[joined[0][found]]], first[joined[0][found]], second[joined[1][found]])


def count_true_positives(references: Pitches, estimates: Pitches, ways: Sequence[Way]) -> dict[Way, Int]:
    """Number of matched pitches of each frame: int64 (frames,) for each way."""
    counts = {way: np.zeros(len(references.counts), dtype=np.int64) for way in ways}
    for way, (frame, _, _) in matched(references, estimates, ways):
        counts[way] += np.bincount(frame, minlength=len(counts[way]))
    return counts
