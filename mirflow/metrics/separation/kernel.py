"""Kernels of source separation: filters of long signals, ratios of energies in dB, and distances of spectra.

Recordings are read piece by piece. Estimates are projected onto delayed references and matched with these in the best
order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...annotations.audio import HeldSignal, Signal
from ...ragged import Float, Int
from ..util import Array

Reader = Callable[[int, int], Float]
"""(start, stop) -> samples of all rows of a recording: float64 (rows, stop - start)."""

_LONGEST = 2**14  # Largest number of samples of a block, so that its transforms fit into the cache


def blocks_of(frames: int, lags: int) -> tuple[int, list[tuple[int, int]]]:
    """Size of transforms that do not wrap around, and start and stop of the blocks of a signal that are transformed.

    Blocks are of nearly equal length, and only depend on the numbers of samples and of lags (or filter taps).
    """
    from scipy.fft import next_fast_len

    count = max(1, -(-frames // max(_LONGEST, 4 * lags)))
    block = max(1, -(-frames // count))
    size = int(next_fast_len(block + lags - 1, real=True))
    return size, [(start, min(start + block, frames)) for start in range(0, frames, block)]


def correlate(first: Reader, second: Reader, frames: int, lags: int) -> Float:
    """Correlate all rows of two recordings, as if silence preceded and followed them.

    Element ``[i, j, k]`` of the result is the sum over n of ``first[i, n] * second[j, n + k]``.
    """
    from scipy.fft import irfft, rfft

    size, blocks = blocks_of(frames, lags)
    rows = len(first(0, 0)), len(second(0, 0))
    total = np.zeros((*rows, size // 2 + 1), dtype=np.complex128)
    product = np.empty(total.shape[1:], dtype=np.complex128)
    for start, stop in blocks:
        # The first recording is silent outside its block; the last samples of the block overlap with the following ones
        # of the second recording.
        left = rfft(first(start, stop), size, axis=-1, workers=1)
        right = rfft(second(start, min(stop + lags - 1, frames)), size, axis=-1, workers=1)
        np.conjugate(left, out=left)
        for row, spectrum in enumerate(left):
            total[row] += np.multiply(spectrum, right, out=product)
    correlation: Float = irfft(total, size, axis=-1, workers=1)[..., :lags]
    return np.ascontiguousarray(correlation)


Bank = tuple[slice, Float]  # Input rows, and filters: float64 (outputs, input rows, taps)


class Filters:
    """Banks of filters for recordings of one length, transformed once.

    Banks are slices of input rows with filters, float64 (outputs, inputs, taps), of equal numbers of taps.
    """

    def __init__(self, frames: int, banks: Sequence[Bank]) -> None:
        from scipy.fft import rfft

        self.frames, self._lags = frames, banks[0][1].shape[-1]
        self._size, self._blocks = blocks_of(frames, self._lags)
        self._inputs = [rows for rows, _ in banks]
        self._responses = [rfft(taps, self._size, axis=-1, workers=1) for _, taps in banks]

    def run(self, read: Reader, groups: Sequence[Sequence[int]]) -> Iterator[tuple[int, int, list[Float]]]:
        """Compute the outputs of the banks for consecutive stretches of time, including the filters' ringing at the
        end.

        Banks of a group have equal numbers of outputs and are transformed back together. Stretches are given as start,
        stop and a float64 (banks, outputs, stop - start) of each group. The last one extends beyond the recording by
        the number of taps minus one.
        """
        from scipy.fft import irfft, rfft

        size, tail = self._size, self._lags - 1
        ringing = [np.zeros((len(group), len(self._responses[group[0]]), tail)) for group in groups]
        for start, stop in self._blocks:
            spectra = rfft(read(start, stop), size, axis=-1, workers=1)
            end = stop + tail if stop == self.frames else stop
            outputs = []
            for number, group in enumerate(groups):
                met = []  # Spectra of the outputs of each bank
                for response, inputs in ((self._responses[bank], spectra[self._inputs[bank]]) for bank in group):
                    met.append(response[:, 0] * inputs[0])
                    product = np.empty_like(met[-1])
                    for row in range(1, len(inputs)):
                        met[-1] += np.multiply(response[:, row], inputs[row], out=product)
                out = irfft(np.stack(met), size, axis=-1, workers=1)
                out[..., :tail] += ringing[number]
                ringing[number] = out[..., stop - start : stop - start + tail].copy()
                outputs.append(out[..., : end - start])
            yield start, end, outputs


class DelaySpan:
    """The space spanned by signals and their delays, for projections onto it.

    The normal equations are solved by a Cholesky decomposition. If signals are silent, equal or (up to rounding)
    linearly dependent, it is pivoted, and redundant delays get filters of 0: the filters of such a system are not
    unique, but the projection is.

    `correlations` are those of the signals with themselves, see `correlate`.
    """

    def __init__(self, correlations: Float) -> None:
        from scipy.linalg.lapack import dpotrf, dpstrf

        rows, _, self._lags = correlations.shape
        energy = correlations[np.arange(rows), np.arange(rows), 0]
        # Unit energy distinguishes dependent signals from quiet ones.
        with np.errstate(invalid="ignore"):
            self._scale = np.where(energy > 0, 1 / np.sqrt(np.where(energy > 0, energy, 1.0)), 1.0)
        self._order: Int | None = None
        correlations = correlations * self._scale[:, None, None] * self._scale[None, :, None]
        factor, failed = dpotrf(to_gram(correlations), lower=1, clean=0, overwrite_a=1)
        if failed:
            del factor  # may be large, and another one follows
            factor, pivots, rank, _ = dpstrf(to_gram(correlations), lower=1, overwrite_a=1)
            self._order = pivots[:rank].astype(np.int64) - 1
            factor = np.asfortranarray(factor[:rank, :rank])
        self._factor: Float = factor
        self.rank = len(factor)
        """Dimension of the space."""

    def filters(self, products: Float) -> Float:
        """Compute filters of the projections of recordings: float64 (others, rows, lags).

        `products` are the signals' correlations with the recordings, (rows, others, lags). The projection of a
        recording is the sum of the filtered signals over rows.
        """
        from scipy.linalg.lapack import dpotrs

        rows, others, lags = products.shape
        scaled = products * self._scale[:, None, None]
        right = np.asfortranarray(scaled.transpose(0, 2, 1).reshape(rows * lags, others))
        solution = np.zeros_like(right)
        if self._order is None:
            solution, _ = dpotrs(self._factor, right, lower=1)
        elif len(self._order):
            solution[self._order], _ = dpotrs(self._factor, np.asfortranarray(right[self._order]), lower=1)
        taps = solution.reshape(rows, lags, others) * self._scale[:, None, None]
        return np.ascontiguousarray(taps.transpose(2, 0, 1))


def to_gram(correlations: Float) -> Float:
    """Inner products of all delays of all signals: a symmetric matrix of Toeplitz blocks, in Fortran's order."""
    rows, _, lags = correlations.shape
    gram = np.empty((rows * lags, rows * lags), order="F")
    for i in range(rows):
        for j in range(rows):
            # The product of delay a of signal i and delay b of signal j is the correlation at lag a - b; at negative
            # lags, the signals are swapped.
            both = np.concatenate([correlations[j, i, :0:-1], correlations[i, j]])
            block = np.lib.stride_tricks.sliding_window_view(both, lags)[:, ::-1]
            gram[i * lags : (i + 1) * lags, j * lags : (j + 1) * lags] = block
    return gram


MAX_SOURCES = 100  # Largest number of sources; more are likely due to swapped axes of sources and samples
_BLOCK = 2**16


@dataclass(frozen=True, slots=True)
class Recording:
    """An excerpt of several sources with equal numbers of channels."""

    signals: tuple[Signal, ...]
    channels: int
    frames: int
    """Channels of each source, and samples of the excerpt; shorter signals are followed by silence."""
    start: int = 0  # First sample of the excerpt

    def __len__(self) -> int:
        return len(self.signals)

    def read(self, start: int, stop: int) -> Float:
        """Read samples of all rows, one row per channel of a source: float64 (rows, stop - start)."""
        samples = np.zeros((len(self.signals), self.channels, stop - start))
        for rows, signal in zip(samples, self.signals, strict=True):
            first, last = self.start + start, min(self.start + stop, signal.frames)
            if first < last:
                rows[:, : last - first] = signal.read(first, last)
        return samples.reshape(len(self.signals) * self.channels, stop - start)

    def rows(self, source: int) -> slice:
        """The rows of a source."""
        return slice(source * self.channels, (source + 1) * self.channels)

    def take(self, sources: Sequence[int]) -> Recording:
        """Select sources in the given order."""
        return replace(self, signals=tuple(self.signals[source] for source in sources))

    def silent(self) -> list[int]:
        """Indices of sources whose sum of channels is 0 at all samples, as in mir_eval."""
        waiting = list(range(len(self.signals)))
        for start in range(0, self.frames, _BLOCK):
            if not waiting:
                break
            samples = self.take(waiting).read(start, min(start + _BLOCK, self.frames))
            sums = samples.reshape(len(waiting), self.channels, samples.shape[1]).sum(axis=1)
            waiting = [source for source, still in zip(waiting, (sums == 0).all(axis=1), strict=True) if still]
        return waiting


def from_arrays(sources: Array) -> Recording:
    """Wrap sources in memory: (sources, samples) or (sources, samples, channels)."""
    stacked = np.atleast_3d(sources)
    # Samples of a channel are contiguous and have channel dtype.
    channels = np.ascontiguousarray(stacked.transpose(0, 2, 1), dtype=np.float64)
    return Recording(tuple(HeldSignal(channel, 1.0) for channel in channels), stacked.shape[2], stacked.shape[1])


FILTERS_LENGTH = 512  # Taps of the filters that count as spatial distortion, in mir_eval and earlier toolboxes
Meeting = tuple[int, int]  # An estimated source and a reference source


class ReferenceSources:
    """Reference sources with the projections that the estimates of all systems share.

    `finite` is False if a sample or its square is infinite or NaN.
    """

    def __init__(self, recording: Recording, lags: int) -> None:
        self.recording, self.lags = recording, lags
        self._correlations = correlate(recording.read, recording.read, recording.frames, lags)
        self.finite = bool(np.isfinite(self._correlations).all())
        self._spans: dict[int | None, DelaySpan] = {}

    def span(self, source: int | None = None) -> DelaySpan:
        """Space of the delays of one source; None: of all sources."""
        source = None if len(self.recording) == 1 else source
        if source not in self._spans:
            rows = slice(None) if source is None else self.recording.rows(source)
            self._spans[source] = DelaySpan(self._correlations[rows, rows])
        return self._spans[source]


class Projections:
    """Filters that project estimates onto single references (for `meetings`) and onto all of them."""

    def __init__(self, references: ReferenceSources, estimates: Recording, meetings: Sequence[Meeting]) -> None:
        recording, self.finite, self.meetings = references.recording, references.finite, tuple(meetings)
        self._filters: Filters | None = None
        if not self.finite:
            return
        correlation = correlate(recording.read, estimates.read, recording.frames, references.lags)
        self.finite = bool(np.isfinite(correlation).all())
        if not self.finite:
            return
        self._all = references.span().filters(correlation)
        self._alone = [
            references.span(source).filters(correlation[recording.rows(source), estimates.rows(estimate)])
            for estimate, source in self.meetings
        ]

    def ratios(self, references: Recording, estimates: Recording) -> Float:
        """Ratios of the energies of the parts of estimated sources: float64 (5, meetings), dB, with rows as in `NAMES`.

        They are those of the whole recording or of an excerpt that is treated as a recording. Energies are summed over
        time from the parts themselves, because differences of energies would suffer from rounding from 60 dB on.
        """
        several = len(references) > 1
        if self._filters is None or self._filters.frames != references.frames:
            # Banks of the projections onto single sources, then those onto all sources.
            banks: list[Bank] = [
                (references.rows(source), taps) for (_, source), taps in zip(self.meetings, self._alone, strict=True)
            ]
            if several:
                banks += [(slice(None), self._all[estimates.rows(estimate)]) for estimate in range(len(estimates))]
            self._filters = Filters(references.frames, banks)
        # Meetings of each estimated source; the first bank of their group is that of all sources.
        members: dict[int, list[int]] = {}
        for number, (estimate, _) in enumerate(self.meetings):
            members.setdefault(estimate, []).append(number)
        groups = [[len(self.meetings) + estimate] * several + numbers for estimate, numbers in members.items()]
        sums = np.zeros((8, len(self.meetings)))
        for start, stop, outputs in self._filters.run(references.read, groups):
            inside = min(stop, references.frames)
            left, right = (
                np.pad(side.read(start, inside), ((0, 0), (0, stop - inside))) for side in (references, estimates)
            )
            for numbers, projected in zip(members.values(), outputs, strict=True):
                for index, meeting in enumerate(numbers):
                    estimate, source = self.meetings[meeting]
                    filtered = projected[index + several]
                    parts = left[references.rows(source)], right[estimates.rows(estimate)], filtered, projected[0]
                    sums[:, meeting] += _energies(*parts)
        source_energy, of_filtered, of_joint, image_error, spatial, residual, interference, artifacts = sums
        over = of_filtered, of_filtered, of_joint, source_energy, source_energy
        under = residual, interference, artifacts, image_error, spatial
        return decibels(np.array(over), np.array(under))


def _energies(source: Float, estimated: Float, filtered: Float, joint: Float) -> list[float]:
    """Energies of the parts of an estimated source e relative to a reference source s.

    `filtered` is the projection p of e onto the delays of s (all its channels), `joint` the projection q onto the
    delays of all sources. Parts are s, p, q, e - s, p - s, e - p, q - p and e - q.
    """
    # A function of its own, so that the arrays of one meeting are gone when those of the next one are made.
    spatial, residual = filtered - source, estimated - filtered
    parts = (source, filtered, joint, estimated - source, spatial, residual, joint - filtered, estimated - joint)
    return [float(np.einsum("ij,ij->", part, part)) for part in parts]


NAMES = ("sdr", "sir", "sar", "image_sdr", "image_isr")
"""The rows of a table of ratios; images have the same interference and artifacts as sources."""

_FEW = 7  # Largest number of sources for which all permutations are tried, as in mir_eval


def decibels(over: Float, under: Float) -> Float:
    """Convert ratios of energies to dB: infinite if the denominator is 0, minus infinity if the numerator is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Float = 10 * np.log10(over / under)
    return np.where(under == 0, np.inf, ratio)


def best_order(scores: Float) -> Int:
    """Find the permutation with the largest mean score: estimated source for each reference source, int64 (sources,).

    Scores are those of each estimated source (rows) with each reference source (columns). With up to 7 sources, it is
    the first of several equally good permutations. If a score is NaN, it is the identity.
    """
    count = len(scores)
    columns = np.arange(count)
    if np.isnan(scores).any():
        return columns
    if count <= _FEW:
        orders = np.array(list(itertools.permutations(range(count))), dtype=np.int64).reshape(-1, count)
        with np.errstate(invalid="ignore"):
            means = scores[orders, columns].mean(axis=1)
        chosen: Int = orders[int(np.argmax(means))]
        return chosen
    from scipy.optimize import linear_sum_assignment

    # Infinite scores are equally good; they are replaced by a number that outweighs all finite ones.
    finite = scores[np.isfinite(scores)]
    most = count * (1 + np.abs(finite).max(initial=0.0))
    rows, places = linear_sum_assignment(np.clip(scores, -most, most), maximize=True)
    order = np.empty(count, dtype=np.int64)
    order[places] = rows
    return order


NOT_FINITE = "a sample is not a finite number"


def measure_whole(references: ReferenceSources, estimates: Recording, permutation: bool) -> tuple[Float, Int]:
    """Ratios of whole recordings in dB, with rows as in `NAMES`, and the estimated source compared with each reference
    source.

    Ratios are NaN throughout if a sample is not finite. With `permutation`, sources are compared by the permutation
    with the largest mean SIR, else by their index.
    """
    count = len(references.recording)
    order = np.arange(count)
    meetings: list[Meeting] = [
        (estimate, source) for estimate in range(count) for source in range(count) if permutation or estimate == source
    ]
    projections = Projections(references, estimates, meetings)
    if not projections.finite:
        return np.full((len(NAMES), count), np.nan), order
    ratios = projections.ratios(references.recording, estimates)
    if not permutation:
        return ratios, order
    square = ratios.reshape(len(NAMES), count, count)
    order = best_order(square[NAMES.index("sir")])
    return square[:, order, np.arange(count)], order


def measure_frames(
    references: Recording,
    estimates: Recording,
    window: int,
    hop: int,
    permutation: bool,
    lags: int,
    mute: Sequence[int] = (),
) -> tuple[Float, Float]:
    """Ratios of frames in dB, each with separate filters, and the order of each frame's sources.

    `window` and `hop` are in samples. With fewer than two frames, the whole recording is one frame. With `permutation`,
    each frame has its own permutation of the estimates. `lags` is the number of taps of the filters, and `mute` lists
    the estimated sources that are entirely silent. Ratios, float64 (5, sources, frames), are NaN in frames in which
    another source is silent.
    """
    count = (references.frames - window + hop) // hop
    if count < 2:
        ratios, single = measure_whole(ReferenceSources(references, lags), estimates, permutation)
        return ratios[:, :, None], single[:, None].astype(np.float64)
    ratios = np.full((len(NAMES), len(references), count), np.nan)
    order = np.full((len(references), count), np.nan)
    for number, (left, right) in _sounding(references, estimates, window, hop, count, mute):
        ratios[:, :, number], order[:, number] = measure_whole(ReferenceSources(left, lags), right, permutation)
    return ratios, order


def _sounding(
    references: Recording, estimates: Recording, window: int, hop: int, count: int, mute: Sequence[int]
) -> Iterator[tuple[int, tuple[Recording, Recording]]]:
    """Frames, with their numbers, in which no source is silent but those that are mute throughout."""
    for number in range(count):
        left, right = (
            replace(side, start=side.start + number * hop, frames=window) for side in (references, estimates)
        )
        if not left.silent() and not set(right.silent()).difference(mute):
            yield number, (left, right)


def measure_frames_with_one_filter(
    references: ReferenceSources, estimates: Recording, window: int, hop: int, mute: Sequence[int] = ()
) -> Float:
    """Ratios of frames with the filters of the whole recording, as in the fourth version of BSS Eval.

    Parameters and ratios are those of `measure_frames`.
    """
    recording = references.recording
    window = min(window, recording.frames)
    count = (recording.frames - window + hop) // hop if window < recording.frames else 1
    projections = Projections(references, estimates, [(source, source) for source in range(len(recording))])
    if not projections.finite:
        raise FloatingPointError(NOT_FINITE)
    ratios = np.full((len(NAMES), len(recording), count), np.nan)
    for number, sides in _sounding(recording, estimates, window, hop, count, mute):
        ratios[:, :, number] = projections.ratios(*sides)
    return ratios


@np.errstate(all="ignore")  # samples that are not finite are refused
def whole_track_ratios(references: Recording, estimates: Recording, eps: float) -> Float:
    """Ratios of energies of sources and of differences from estimates, with `eps` added: float64 (sources,), dB."""
    energy, error = np.zeros(len(references)), np.zeros(len(references))
    for source, estimated in _pieces((references, estimates)):
        energy += np.einsum("sn,sn->s", source, source)
        rest = source - estimated
        error += np.einsum("sn,sn->s", rest, rest)
    if not np.isfinite(energy + error).all():
        raise FloatingPointError(NOT_FINITE)
    return decibels(energy + eps, error + eps)


_GAIN_BLOCK = 2**15
_FAINTEST, _LOUDEST = 1e-100, 1e100
"""Bounds of energies between which squares of samples neither overflow nor vanish."""


@np.errstate(all="ignore")  # samples that are not finite are refused
def scale_invariant(references: Recording, estimates: Recording, zero_mean: bool) -> Float:
    """SI-SDR in dB of each estimated source (rows) against each reference source; all channels of a source share one
    gain.

    Both sides have equal numbers of sources, channels and samples. With `zero_mean`, the mean of each channel is
    subtracted first. NaN if a reference is 0 after that.
    """
    sides = references, estimates
    means = [np.zeros((len(side), side.channels, 1)) for side in sides]
    for piece in _pieces(sides) if zero_mean else ():
        for mean, samples in zip(means, piece, strict=True):
            mean += samples.reshape(*mean.shape[:2], -1).sum(axis=2, keepdims=True)
    means = [mean / max(1, references.frames) for mean in means]
    energy, target, error = _gain_energies(sides, means)
    if not all(((energies > _FAINTEST) & (energies < _LOUDEST)).all() for energies in (energy, target + error)):
        # Binary exponents scale the largest sample of each source to about 1: scores do not depend on the scale, and
        # powers of two cause no rounding.
        peaks = np.zeros((2, len(references)))
        for piece in _pieces(sides, means):
            peaks = np.maximum(peaks, [np.abs(samples).max(axis=1, initial=0.0) for samples in piece])
        if not np.isfinite(peaks).all():
            raise FloatingPointError(NOT_FINITE)
        shifts = -np.frexp(peaks)[1].astype(np.int64)[:, :, None]
        energy, target, error = _gain_energies(sides, means, shifts)
    return decibels(target, error)


def _gain_energies(
    sides: tuple[Recording, Recording], means: Sequence[Float], shifts: Int | None = None
) -> tuple[Float, Float, Float]:
    """Energies of references (sources,), of scaled references and of the remainder (estimates, references)."""
    count = len(sides[0])
    energy, product, error = np.zeros(count), np.zeros((count, count)), np.zeros((count, count))
    for source_samples, estimated in _pieces(sides, means, shifts):
        energy += np.einsum("sn,sn->s", source_samples, source_samples)
        product += np.einsum("en,sn->es", estimated, source_samples)
    gain = product / energy
    for source_samples, estimated in _pieces(sides, means, shifts):
        for source, samples in enumerate(source_samples):
            rest = estimated - gain[:, source, None] * samples
            error[:, source] += np.einsum("en,en->e", rest, rest)
    return energy, gain**2 * energy, error


def _pieces(
    sides: tuple[Recording, Recording], means: Sequence[Float] = (), shifts: Int | None = None
) -> Iterator[tuple[Float, Float]]:
    """Samples of both sides without their means, scaled, with all channels of a source in one row."""
    for start in range(0, sides[0].frames, _GAIN_BLOCK):
        stop = min(start + _GAIN_BLOCK, sides[0].frames)
        samples = [side.read(start, stop).reshape(len(side), side.channels, stop - start) for side in sides]
        for values, mean in zip(samples, means, strict=False):
            values -= mean
        left, right = (values.reshape(len(values), -1) for values in samples)
        yield (left, right) if shifts is None else (np.ldexp(left, shifts[0]), np.ldexp(right, shifts[1]))


Resolution = tuple[int, int, int]  # Samples of a transform, of the hop, and of the centred window
RESOLUTIONS: tuple[Resolution, ...] = ((1024, 120, 600), (2048, 240, 1200), (512, 50, 240))
"""The usual resolutions, from Parallel WaveGAN."""
_VALUES = 2**18  # Number of spectral values in memory at once


@np.errstate(all="ignore")  # samples that are not finite are refused
def spectral_distances(references: Recording, estimates: Recording, floor: float) -> Float:
    """Distances of the magnitude spectra of each source, averaged over resolutions and channels: float64 (3, sources).

    They are the norm of the difference of the magnitudes over the norm of the reference's, and the mean absolute
    differences of log magnitudes and of magnitudes; NaN if a recording is too short to be mirrored. Frames are centred
    on multiples of the hop, signals are mirrored at their ends, and windows are periodic Hann windows. Both sides have
    equal numbers of sources, channels and samples; `floor` is the smallest square of a magnitude.
    Source: Yamamoto, Song and Kim, Parallel WaveGAN, ICASSP 2020; Steinmetz and Reiss, auraloss, DMRN+15, 2020.
    """
    rows = len(references) * references.channels
    total = np.zeros((3, rows))
    for resolution in RESOLUTIONS:
        if references.frames <= resolution[0] // 2:
            total += np.nan
            continue
        sums, count = np.zeros((4, rows)), 0
        sides = (_magnitudes(side, resolution, floor) for side in (references, estimates))
        for first, second in zip(*sides, strict=True):
            difference = first - second
            logs = np.log(first) - np.log(second)
            for index, values in enumerate((difference**2, first**2, np.abs(logs), np.abs(difference))):
                sums[index] += values.sum(axis=(1, 2))
            count += first.shape[1] * first.shape[2]
        if not np.isfinite(sums).all():
            raise FloatingPointError(NOT_FINITE)
        total += np.array([np.sqrt(sums[0] / sums[1]), sums[2] / count, sums[3] / count])
    distances: Float = (total / len(RESOLUTIONS)).reshape(3, len(references), references.channels).mean(axis=2)
    return distances


def _magnitudes(side: Recording, resolution: Resolution, floor: float) -> Iterator[Float]:
    """Magnitudes of consecutive frames: float64 (rows, frames, size // 2 + 1)."""
    from scipy.fft import rfft

    size, hop, width = resolution
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(width) / width)
    rows, frames = len(side) * side.channels, 1 + side.frames // hop
    step = max(1, _VALUES // (rows * (size // 2 + 1)))
    last = side.frames - 1
    for begin in range(0, frames, step):
        end = min(begin + step, frames)
        # Samples outside of the window do not contribute, and a shift does not change magnitudes.
        start = begin * hop - width // 2
        stop = start + (end - begin - 1) * hop + width
        # The signal is mirrored at its ends without repeating the first and last sample.
        parts = []
        if start < 0:
            parts.append(side.read(1, 1 - start)[:, ::-1][:, : stop - start])
        if start <= last and stop > 0:
            parts.append(side.read(max(start, 0), min(stop, last + 1)))
        if stop > last + 1:
            parts.append(side.read(2 * last + 1 - stop, last)[:, ::-1][:, max(0, start - last - 1) :])
        samples = np.concatenate(parts, axis=1)
        cut = np.lib.stride_tricks.sliding_window_view(samples, width, axis=1)[:, ::hop]
        spectrum = rfft(cut * window, size, axis=-1, workers=1)
        yield np.sqrt(np.maximum(spectrum.real**2 + spectrum.imag**2, floor))
