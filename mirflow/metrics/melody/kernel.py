"""Kernels of the melody metrics: series of samples, common frames, and agreement on frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...kernels.ragged_ops import SortedRows, sum_by
from ...kernels.ratios import divide
from ...ragged import Bool, Float, Int, Ragged, offsets_of, ranges

RESAMPLINGS = ("linear", "nearest", "hold")  # Methods of interpolation between samples

_DECIMALS = 10  # Decimals to which times are rounded before a series is resampled, as in mir_eval

Sampled = tuple[Float, Float]  # Cents (0: no pitch) and degrees of voicing


@dataclass
class Melodies:
    """Concatenated melodies of rows; each row starts at 0 s or before."""

    times: Float  # Ascending within a row, and infinite after its last sample: float64 (samples + rows,), seconds
    cents: Float  # float64 (samples + rows,): cents above the base frequency; 0 without pitch and after the last sample
    voicing: Float  # Voicing from 0 (unvoiced, and after the last sample) to 1: float64 (samples + rows,)
    counts: Int  # Numbers of samples, at least 1: int64 (rows,)
    graded: Bool  # Whether any voicing of the row is neither 0 nor 1: bool (rows,)
    gap: int = 1  # Number of elements after the last sample of each row: 0 if the series is not resampled

    first: Int = field(init=False)  # Start of each row: int64 (rows,)
    last: Int = field(init=False)  # Index of the last sample of each row: int64 (rows,)

    def __post_init__(self) -> None:
        self.first = offsets_of(self.counts + self.gap)[:-1]
        self.last = self.first + self.counts - 1

    @cached_property
    def rounded(self) -> Float:
        """Times rounded for resampling."""
        return np.asarray(np.round(self.times, _DECIMALS))

    @cached_property
    def slope(self) -> Float:
        """Cents per second from each sample to the next, 0 if either has no pitch."""
        slope, pitched = np.zeros(len(self.times)), self.cents != 0
        joined = pitched[1:] & pitched[:-1]  # rows end in silence, so they are never joined
        with np.errstate(divide="ignore", invalid="ignore"):
            rise, step = (column[1:] - column[:-1] for column in (self.cents, self.rounded))
            slope[:-1] = divide(rise, step, where=joined)
        return slope


def to_cents(frequencies: Float, base_frequency: float) -> Float:
    """Convert frequencies to cents above a base frequency, ignoring signs; 0 Hz remains 0."""
    ratio = np.abs(frequencies) / base_frequency
    ratio += frequencies == 0  # the logarithm is then 0
    np.log2(ratio, out=ratio)
    ratio *= 1200.0
    return ratio


def series_of(rows: Ragged, chosen: Int, base_frequency: float, resampled: bool = True) -> Melodies:
    """Take the melodies of nonempty rows, with a gap after each if they are to be `resampled`.

    In rows that start after 0 s, the first sample is repeated at 0 s. If there is no column ``voicing``, or a row of it
    is all NaN, positive frequencies are voiced; otherwise signs are ignored.
    """
    starts = rows.offsets[chosen]
    late = rows.columns["time"][starts] > 0
    counts = rows.counts[0][chosen] + late
    gap = int(resampled or late.any() or bool((np.diff(chosen) != 1).any()))
    if not gap:
        item: Int | slice = slice(int(starts[0]), int(starts[-1] + counts[-1]))
    else:
        behind = np.cumsum(counts + 1) - 1
        first = (behind - counts)[late]
        item = ranges(starts - late, counts + 1)
        item[behind] -= 1
        item[first] += 1
    times, frequency = rows.columns["time"][item], rows.columns["frequency"][item]
    if gap:
        times[behind], times[first], frequency[behind] = np.inf, 0.0, 0.0
    voicing, graded = (frequency > 0).astype(np.float64), np.zeros(len(counts), dtype=np.bool_)
    if "voicing" in rows.columns:
        given, sizes = rows.columns["voicing"][item], counts + gap
        np.copyto(voicing, given, where=np.repeat(~np.isnan(given[offsets_of(sizes)[:-1]]), sizes))
        voicing[frequency == 0] = 0.0
        graded = is_graded(voicing, sizes)
    return Melodies(times, to_cents(frequency, base_frequency), voicing, counts, graded, gap)


def is_graded(voicing: Float, counts: Int) -> Bool:
    """Mask of rows with voicing other than 0 and 1: bool (rows,)."""
    between = offsets_of(((voicing != 0) & (voicing != 1)).astype(np.int64))
    ends = offsets_of(counts)
    return np.asarray(between[ends[1:]] > between[ends[:-1]])


def is_on_grid(series: Melodies, row: Int, times: Float, counts: Int) -> Bool:
    """Mask of groups of times that equal the times of their rows, except for rounding: bool (groups,).

    The tolerance is 1e-8 s plus 1e-5 of the time.
    """
    same = np.asarray(series.counts[row] == counts)
    groups = np.flatnonzero(same)
    if len(groups):
        wanted = times[ranges(offsets_of(counts)[groups], counts[groups])]
        own = series.times[ranges(series.first[row[groups]], counts[groups])]
        apart = ~(np.abs(own - wanted) <= 1e-8 + 1e-5 * np.abs(wanted))
        ends = offsets_of(counts[groups])
        total = offsets_of(apart.astype(np.int64))
        same[groups] = total[ends[1:]] == total[ends[:-1]]
    return same


def resample(series: Melodies, row: Int, times: Float, counts: Int, resampling: str) -> Sampled:
    """Resample cents and voicing of series as in mir_eval.

    If the times equal those of the series, samples are unchanged. If the series ends before the last time, a silent
    sample is appended there. Between a sample with and one without pitch, the former is held. Voicing is resampled like
    frequencies, except that binary voicing is held instead of interpolated.

    Groups of times ascend, with at least one time each, and none before the first sample of the group's row.
    """
    same = is_on_grid(series, row, times, counts)
    if same.all():
        item = ranges(series.first[row], counts)
        return series.cents[item], series.voicing[item]
    axis = SortedRows.of(series.rounded, series.counts, nearest=resampling == "nearest")
    wanted = np.round(times, _DECIMALS)
    sample = axis.find(row, wanted, counts)
    # Bounds need no check because the indices are those of samples.
    cents, voicing = (column.take(sample, mode="clip") for column in (series.cents, series.voicing))
    if resampling == "linear":
        step = wanted - series.rounded.take(sample, mode="clip")
        step *= series.slope.take(sample, mode="clip")
        cents += step
        if series.graded[row].any():  # binary voicing is held
            item = np.flatnonzero(np.repeat(series.graded[row], counts))
            begin, level = sample[item], series.voicing
            step = series.rounded[begin + 1] - series.rounded[begin]
            slope = divide(level[begin + 1] - level[begin], step, where=np.isfinite(step))
            voicing[item] += slope * (wanted[item] - series.rounded[begin])
    # After the last sample, values are filled in up to a silent one at the last time.
    ends, last = np.cumsum(counts), series.last[row]
    final, end = wanted[ends - 1], series.rounded[last]
    item = np.flatnonzero(sample == np.repeat(np.where(final > end, last, -1), counts))
    if len(item):
        group = np.searchsorted(ends, item, side="right")
        time, final, end = wanted[item], final[group], end[group]
        if resampling == "linear":
            fading = series.graded[row][group]
            level = voicing[item[fading]]
            voicing[item[fading]] = level + (0.0 - level) / (final - end)[fading] * (time - end)[fading]
        silent = item[time > end / 2.0 + final / 2.0] if resampling == "nearest" else item[time == final]
        cents[silent] = voicing[silent] = 0.0
    if same.any():
        groups = np.flatnonzero(same)
        into = ranges(offsets_of(counts)[groups], counts[groups])
        item = ranges(series.first[row[groups]], counts[groups])
        cents[into], voicing[into] = series.cents[item], series.voicing[item]
    return cents, voicing


Classes = npt.NDArray[np.uint8]
MOST_FRAMES = 2**21  # Allowed frames of a series with few samples: almost six hours of 10 ms
FRAMES_A_SAMPLE = 16
"""Allowed frames for each sample of a longer series. A single late sample would produce millions of frames, so melodies
that need more are refused; their times are probably not in seconds."""


@dataclass(frozen=True)
class Frames:
    """Concatenated frames of pairs; cents are 0 without pitch.

    `graded` tells for both sides whether any voicing is neither 0 nor 1.
    """

    reference_cents: Float
    reference_voicing: Float
    estimate_cents: Float
    estimate_voicing: Float
    counts: Int
    times: Float
    graded: tuple[bool, bool]


def hop_counts(ends: Float, hop: float) -> Int:
    """Number of frames from 0 s up to each end: int64 (n,)."""
    return np.floor(np.round(ends, _DECIMALS) / hop).astype(np.int64) + 1


def hop_times(counts: Int, hop: float) -> Float:
    """Times of frames from 0 s on, rounded to 10 decimals: float64 (sum of counts,), seconds."""
    intervals = counts - 1
    stop = hop * intervals
    step = divide(stop, intervals)
    times = ranges(np.zeros(len(counts), dtype=np.int64), counts) * np.repeat(step, counts)
    times[np.cumsum(counts) - 1] = stop
    return np.asarray(np.round(times, _DECIMALS))


def on_reference(references: Melodies, estimates: Melodies, reference: Int, estimate: Int, resampling: str) -> Frames:
    """Resample both sides of pairs, except `unreached` ones, at the times of the reference."""
    counts = references.counts[reference]
    in_order = not references.gap and np.array_equal(reference, np.arange(len(references.counts)))
    item: Int | slice = slice(None) if in_order else ranges(references.first[reference], counts)
    times = references.times[item]
    sampled = resample(estimates, estimate, times, counts, resampling)
    own = references.cents[item], references.voicing[item]
    return Frames(*own, *sampled, counts, times, (bool(references.graded.any()), bool(estimates.graded.any())))


def on_hop(
    references: Melodies, estimates: Melodies, reference: Int, estimate: Int, hop: float, resampling: str
) -> Frames:
    """Resample both sides of pairs on frames from 0 s to the end of the reference.

    Each side is resampled up to its own end; the estimate is silent afterwards.
    """
    frames = []
    for series in (references, estimates):
        counts = hop_counts(series.times[series.last], hop)
        times = hop_times(counts, hop)
        frames.append((counts, times, *resample(series, np.arange(len(counts)), times, counts, resampling)))
    (counts, times, *own), (theirs, _, *other) = frames
    wanted = counts[reference]
    in_order = np.array_equal(reference, np.arange(len(counts)))
    item: Int | slice = slice(None) if in_order else ranges(offsets_of(counts)[reference], wanted)
    shared = np.minimum(wanted, theirs[estimate])
    into, origin = ranges(offsets_of(wanted)[:-1], shared), ranges(offsets_of(theirs)[estimate], shared)
    cents, voicing = np.zeros((2, int(wanted.sum())))
    cents[into], voicing[into] = other[0][origin], other[1][origin]
    graded = bool(references.graded.any()), bool(estimates.graded.any())
    return Frames(own[0][item], own[1][item], cents, voicing, wanted, times[item], graded)


VOICED, PITCH, CHROMA, ESTIMATED = 1, 2, 4, 8
"""Bits of the class of a frame: reference voiced, pitch right, chroma right, estimate voiced."""
_CLASSES = 16
_CLASSES_WITH = {
    (bit, unset): np.array([one for one in range(_CLASSES) if one & bit == bit and not one & unset])
    for bit in (0, VOICED, PITCH, CHROMA)
    for unset in (0, VOICED)
}
"""The classes of frames with one bit set and another one unset."""


def classes_of(frames: Frames, tolerance: float) -> Classes:
    """Class of each frame: uint8 (frames,); right pitches deviate by less than the tolerance in cents."""
    distance = frames.reference_cents - frames.estimate_cents
    np.abs(distance, out=distance)
    comparable = frames.reference_cents != 0
    comparable &= frames.estimate_cents != 0
    right = distance < tolerance
    right &= comparable
    other = np.flatnonzero(comparable ^ right)
    apart = distance[other]
    classes = right.view(np.uint8) * np.uint8(PITCH + CHROMA)
    classes[other[np.abs(apart - 1200.0 * np.floor(apart / 1200.0 + 0.5)) < tolerance]] = CHROMA
    classes += frames.reference_voicing > 0
    classes += (frames.estimate_voicing > 0).view(np.uint8) * np.uint8(ESTIMATED)
    return classes


@dataclass(frozen=True)
class FrameTally:
    """Sums over the frames of each class of pairs."""

    sums: Mapping[str, Float]
    """``frames``: their number; ``reference``, ``estimate`` and ``both``: sums of the voicing of a side and of the
    product of both."""

    @classmethod
    def of(cls, frames: Frames, tolerance: float) -> FrameTally:
        """Count the frames of each class; sums of pairs with binary voicing are exact."""
        pairs = len(frames.counts)
        key = np.repeat(np.arange(pairs, dtype=np.int64) * _CLASSES, frames.counts)
        key += classes_of(frames, tolerance)
        number = np.bincount(key, minlength=pairs * _CLASSES).astype(np.float64).reshape(pairs, _CLASSES)
        of_reference, of_estimate = (np.arange(_CLASSES) & bit > 0 for bit in (VOICED, ESTIMATED))
        sums = {"frames": number, "reference": of_reference * number, "estimate": of_estimate * number}
        sums["both"] = of_reference * sums["estimate"]
        graded = dict(zip(("reference", "estimate", "both"), (*frames.graded, any(frames.graded)), strict=True))
        for name in (name for name, is_graded in graded.items() if is_graded):
            one, other = frames.reference_voicing, frames.estimate_voicing
            weights = {"reference": one, "estimate": other}[name] if name != "both" else one * other
            sums[name] = sum_by(key, weights, pairs * _CLASSES).reshape(pairs, _CLASSES)
        return cls(sums)

    def sum(self, what: str, bit: int = 0, unset: int = 0) -> Float:
        """Sum over the classes with one bit set and another one unset: float64 (pairs,)."""
        # Added one after another whatever the number of pairs, so that a pair's sum is equal to the bit in any batch.
        return np.add.accumulate(self.sums[what][:, _CLASSES_WITH[bit, unset]], axis=1)[:, -1]
